//! Assigns targets to threads so that the 32 targets of a warp lie side by side.
//!
//! ```text
//! grid: a warp takes a patch of 8 x 4 cells       places: thread i takes the i-th along a curve
//!  0  1  2  3  4  5  6  7 | 32 33 ..
//!  8  9 10 ..             | 40
//! 16                      |
//! 24                   31 |
//! ```
//!
//! A walk costs what the box around the warp's places reaches, so the box should be small. A patch of 8 by 4
//! cells has a perimeter of 24 cells, a row of 32 has 66. Eight f32 of a row fill one sector of memory, 32 bytes.

use core::array;

use device_std::{In, arguments, thread, warp};

use crate::idw::targets::centre;

/// Columns of a grid's patch.
pub const PATCH_COLUMNS: u32 = 8;

/// Rows of a grid's patch.
pub const PATCH_ROWS: u32 = warp::SIZE / PATCH_COLUMNS;

/// Threads for the targets of a grid: 32 for each of its patches. Patches at the edges have threads without a cell.
pub const fn threads_of_grid(width: u32, height: u32) -> u64 {
    let across = width.div_ceil(PATCH_COLUMNS) as u64;
    across * height.div_ceil(PATCH_ROWS) as u64 * warp::SIZE as u64
}

/// Targets that warps take by patches: those of a grid, or places that are sorted along a curve.
#[arguments]
pub struct Patches<'a> {
    /// x of each target; `None` for the centres of the grid's cells.
    pub x: Option<In<'a, f64>>,
    /// y of each target.
    pub y: Option<In<'a, f64>>,
    /// z of each target, where it has one.
    pub z: Option<In<'a, f64>>,
    /// The targets in the order of the curve.
    pub order: Option<In<'a, u32>>,
    /// The number of targets.
    pub count: u64,
    /// Columns of the grid; 0 for targets that are no grid's cells.
    pub width: u32,
    /// x of the grid's west edge, y of its north edge, cell size.
    pub grid: [f64; 3],
    /// The targets that are wanted: a bit for each thread; `None` for all of them.
    pub wanted: Option<In<'a, u32>>,
}

/// The target of a thread.
#[derive(Clone, Copy)]
pub struct Target<const D: usize = 2> {
    /// Its index.
    pub index: u64,
    /// Its place.
    pub place: [f64; D],
}

impl<const D: usize> Target<D> {
    /// Whether all coordinates are finite.
    #[inline(always)]
    pub fn is_place(&self) -> bool {
        let (mut is_place, mut axis) = (true, 0);
        while axis < D {
            is_place &= self.place[axis].is_finite();
            axis += 1;
        }
        is_place
    }
}

impl Patches<'_> {
    /// Returns the cell of a grid that a thread has; `None` beyond the grid's edges.
    #[inline(always)]
    fn cell(&self, thread: u64) -> Option<[u32; 2]> {
        let across = self.width.div_ceil(PATCH_COLUMNS);
        let (patch, lane) = ((thread / warp::SIZE as u64) as u32, thread as u32 % warp::SIZE);
        // `checked_div`: a panic path is not allowed in a kernel, and without columns there is no cell anyway.
        let patch_row = patch.checked_div(across).unwrap_or(0);
        let patch_column = patch - patch_row * across;
        let column = patch_column * PATCH_COLUMNS + lane % PATCH_COLUMNS;
        let row = patch_row as u64 * PATCH_ROWS as u64 + (lane / PATCH_COLUMNS) as u64;
        let is_cell = column < self.width && row * self.width as u64 + (column as u64) < self.count;
        if is_cell { Some([column, row as u32]) } else { None }
    }

    /// The target of this thread, unless it has none.
    #[inline(always)]
    pub fn target<const D: usize>(&self) -> Option<Target<D>> {
        self.target_of(thread::index_1d())
    }

    /// The target of a thread, unless it has none.
    #[inline(always)]
    pub fn target_of<const D: usize>(&self, thread: u64) -> Option<Target<D>> {
        if let Some(wanted) = self.wanted {
            let word = wanted.get(thread / warp::SIZE as u64);
            if word >> (thread % warp::SIZE as u64) & 1 == 0 {
                return None;
            }
        }
        if self.width == 0 {
            if thread >= self.count {
                return None;
            }
            let index = self.order.map_or(thread, |order| order.get(thread) as u64);
            return Some(Target { index, place: self.place(index, [0; 2]) });
        }
        let [column, row] = self.cell(thread)?;
        let index = row as u64 * self.width as u64 + column as u64;
        Some(Target { index, place: self.place(index, [column, row]) })
    }

    /// The place of a target, or the centre of its cell.
    #[inline(always)]
    fn place<const D: usize>(&self, index: u64, [column, row]: [u32; 2]) -> [f64; D] {
        let centre = centre(self.grid, column as f64, row as f64);
        array::from_fn(|axis| match axis {
            0 => self.x.map_or(centre[0], |x| x.get(index)),
            1 => self.y.map_or(centre[1], |y| y.get(index)),
            _ => self.z.map_or(0.0, |z| z.get(index)),
        })
    }
}
