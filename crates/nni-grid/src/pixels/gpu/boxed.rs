//! Queries that first try boxes of pixels, and go row by row where the boxes are too small: see
//! `kernels_rs::nni::pixels::boxed`.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::nni::pixels as kernels;

use crate::Result;

/// Which boxes the kernels take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Boxes {
    reach: i32,
}

impl Boxes {
    /// Returns the boxes that are large enough for nearly all cells, for this many points on this many pixels.
    pub fn of(points: u64, pixels: u64) -> Self {
        Self { reach: kernels::boxed_reach(points, pixels) }
    }

    /// Returns the key of the kernels for these boxes, and for this many values.
    pub fn key(self, values: usize) -> (usize, i32) {
        (values, self.reach)
    }

    /// Columns and rows of cells of a block.
    pub fn cells(self, supersample: u32) -> [u32; 2] {
        kernels::boxed_cells(self.reach, supersample)
    }

    /// The number of tiles that cover the cells, in whole rows of tiles.
    pub fn tiles(self, [columns, rows]: [u32; 2], supersample: u32) -> u32 {
        let [width, height] = self.cells(supersample);
        columns.div_ceil(width) * rows.div_ceil(height)
    }
}

/// A list of what does not end in its box.
pub(super) struct Left {
    /// How many there are, and how many were taken.
    counts: Column<u32>,
    entries: Column<u32>,
}

impl Left {
    /// An empty list with room for a number of entries.
    pub fn new(gpu: &Gpu, room: usize) -> Result<Self> {
        // SAFETY: only entries are read that the kernel has written which counts them.
        let entries = unsafe { gpu.uninitialized(room)? };
        Ok(Self { counts: gpu.zeroed(2)?, entries })
    }

    /// The list as an argument of kernels.
    pub fn output(&mut self) -> kernels::Left<'_> {
        kernels::Left { counts: self.counts.output(), entries: self.entries.output() }
    }

    /// The number of blocks of the kernel that takes the entries.
    pub fn blocks(gpu: &Gpu) -> Blocks {
        Blocks::x(gpu.multiprocessors() * 8)
    }
}
