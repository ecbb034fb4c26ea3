//! Far points expanded in nodes, on the device: the items, and the launch that sums over them. See
//! [`crate::expansion`]; the kernels, with the plan of the algorithm, are in `kernels_rs::idw_tree`.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::idw_tree as kernels;

use super::DeviceTargets;
use super::index::Sorted;
use super::pairs::blocks_of;
use crate::expansion::{self, CHILDREN, LEAF, NODES};
use crate::{Params, Result};

const _: () = assert!(
    kernels::LEAF as usize == LEAF
        && kernels::CHILDREN as usize == CHILDREN
        && kernels::NODES as usize == NODES
);

/// Blocks that a launch should have. Where the targets make fewer, blocks share the items; in how many
/// parts depends on the number of targets alone, and not on the device.
const BLOCKS: u32 = 1024;

/// The most parts.
const MOST_PARTS: u32 = 32;

/// Elements of a vector.
const VECTOR: usize = 4;

/// Points and nodes with their boxes, on the device.
pub(super) struct Tree {
    points: usize,
    several: bool,
    /// The first item of each level, and the number of all.
    starts: Vec<u32>,
    levels: Column<u32>,
    sources: Column<u32>,
    all: Column<u32>,
    boxes: Column<u32>,
}

impl Tree {
    /// The tree over sorted points, with one of their values or several. Enqueues and returns.
    pub fn new(
        gpu: &Gpu,
        points: usize,
        several: bool,
        sorted: &Sorted,
        values: *const f64,
        setup: &Column<f64>,
    ) -> Result<Self> {
        let starts = expansion::levels(points);
        let items = starts[starts.len() - 1] as usize;
        let levels = gpu.enqueue_upload(&starts)?;
        let vectors = VECTOR * (points + items * NODES);
        // SAFETY: columns have the lengths that the kernels ask for; every source and box is written,
        // those of a level before the next one reads them.
        unsafe {
            let mut sources = gpu.uninitialized::<u32>(vectors)?;
            let mut all = gpu.uninitialized::<u32>(if several { vectors } else { 0 })?;
            let mut extents = gpu.uninitialized::<f64>(4 * items)?;
            let mut boxes = gpu.uninitialized::<u32>(VECTOR * (items + starts[1] as usize))?;
            gpu.launch(
                if several { kernels::stage_leaves_4 } else { kernels::stage_leaves_1 },
                Blocks::x(starts[1]),
                kernels::STAGE_SHARED,
                (
                    sorted.places.as_ptr(),
                    values,
                    points as u32,
                    items as u32,
                    setup.as_ptr(),
                    sources.as_mut_ptr(),
                    all.as_mut_ptr(),
                    extents.as_mut_ptr(),
                    boxes.as_mut_ptr(),
                ),
            )?;
            for level in 0..starts.len() - 1 {
                let (start, end) = (starts[level], starts[level + 1]);
                let below = if level > 0 { starts[level - 1] } else { 0 };
                gpu.launch(
                    if several { kernels::weigh_4 } else { kernels::weigh_1 },
                    Blocks::x(end - start),
                    kernels::WEIGH_SHARED[usize::from(several)],
                    (
                        points as u32,
                        items as u32,
                        start,
                        below,
                        start - below,
                        sources.as_mut_ptr(),
                        all.as_mut_ptr(),
                        extents.as_mut_ptr(),
                        boxes.as_mut_ptr(),
                    ),
                )?;
            }
            Ok(Self { points, several, starts, levels, sources, all, boxes })
        }
    }

    /// Enqueues the sums over all points for targets near each other; returns them, and in how many rows
    /// they are.
    pub fn sum(
        &self,
        gpu: &Gpu,
        targets: &DeviceTargets,
        params: &Params,
        sorted: &Sorted,
        setup: &Column<f64>,
    ) -> Result<(u32, Column<f64>)> {
        let per_thread = if self.several { kernels::QUERIES_SEVERAL } else { kernels::QUERIES };
        let group = if self.several { kernels::SEVERAL } else { 1 };
        let blocks = blocks_of(targets, per_thread)?;
        let rows = (BLOCKS / blocks).clamp(1, MOST_PARTS);
        // SAFETY: the columns have the lengths that the kernels ask for; each row of blocks writes the
        // sums of every target. The kernels only read the tree.
        unsafe {
            let sums = u64::from(rows) * u64::from(1 + group) * targets.count;
            let mut partial = gpu.uninitialized::<f64>(sums as usize)?;
            gpu.launch(
                kernel(targets.grid.is_some(), params.law(), self.several),
                Blocks { x: blocks, y: rows },
                kernels::SHARED[usize::from(self.several)],
                (
                    self.sources.as_ptr(),
                    self.all.as_ptr(),
                    self.boxes.as_ptr(),
                    self.points as u32,
                    sorted.places.as_ptr(),
                    sorted.reaches.as_ptr(),
                    self.levels.as_ptr(),
                    self.starts.len() as u32 - 2,
                    expansion::separation(params.power),
                    targets.places(),
                    targets.count,
                    targets.width(),
                    targets.height(),
                    setup.as_ptr(),
                    partial.as_mut_ptr(),
                ),
            )?;
            Ok((rows, partial))
        }
    }
}

/// Arguments of the kernels that sum.
type Expand = (
    *const u32,
    *const u32,
    *const u32,
    u32,
    *const f64,
    *const f32,
    *const u32,
    u32,
    f64,
    *const f64,
    u64,
    u32,
    u32,
    *const f64,
    *mut f64,
);

/// The kernel for targets, power and number of values.
fn kernel(grid: bool, law: u32, several: bool) -> device_std::host::Kernel<Expand> {
    match (grid, law, several) {
        (false, 1, false) => kernels::expand_scattered_1,
        (false, 2, false) => kernels::expand_scattered_2,
        (false, 3, false) => kernels::expand_scattered_3,
        (false, 4, false) => kernels::expand_scattered_4,
        (false, _, false) => kernels::expand_scattered_any,
        (true, 1, false) => kernels::expand_grid_1,
        (true, 2, false) => kernels::expand_grid_2,
        (true, 3, false) => kernels::expand_grid_3,
        (true, 4, false) => kernels::expand_grid_4,
        (true, _, false) => kernels::expand_grid_any,
        (false, 2, true) => kernels::expand_scattered_2_several,
        (false, _, true) => kernels::expand_scattered_any_several,
        (true, 2, true) => kernels::expand_grid_2_several,
        (true, _, true) => kernels::expand_grid_any_several,
    }
}
