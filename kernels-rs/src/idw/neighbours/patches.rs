//! Which query a thread has where a warp takes 32 that lie side by side.

use device_std::{thread, warp};

use super::search::Query;
use crate::idw::targets::Targets;

/// Columns of a grid's patch; it has four rows.
pub const PATCH_COLUMNS: u32 = 8;

/// Rows of a grid's patch.
pub const PATCH_ROWS: u32 = warp::SIZE / PATCH_COLUMNS;

/// Threads for the targets of a grid: 32 for each of its patches, those at its edges included.
pub const fn threads_of_grid(width: u32, height: u32) -> u64 {
    let across = width.div_ceil(PATCH_COLUMNS) as u64;
    across * height.div_ceil(PATCH_ROWS) as u64 * warp::SIZE as u64
}

/// Targets that warps take by patches: those of a grid, or places that are sorted along a curve.
#[derive(Clone, Copy)]
pub struct Patches {
    /// The targets.
    pub targets: Targets,
    /// Which target comes where along the curve; null for a grid.
    pub order: *const u32,
}

impl Patches {
    /// How many warps take them.
    #[inline(always)]
    pub fn warps(&self) -> u64 {
        let Targets { x, width, count, .. } = self.targets;
        if !x.is_null() {
            return count.div_ceil(warp::SIZE as u64);
        }
        let height = count.checked_div(width as u64).unwrap_or(0) as u32;
        threads_of_grid(width, height) / warp::SIZE as u64
    }

    /// Which of the targets, along the curve or in the grid, is that of a thread; the count where it has none.
    #[inline(always)]
    fn position(&self, thread: u64) -> u64 {
        let Targets { x, width, count, .. } = self.targets;
        if !x.is_null() {
            return u64::min(thread, count);
        }
        let across = width.div_ceil(PATCH_COLUMNS);
        let (patch, lane) = ((thread / warp::SIZE as u64) as u32, thread as u32 % warp::SIZE);
        let patch_row = patch.checked_div(across).unwrap_or(0);
        let patch_column = patch - patch_row * across;
        let column = patch_column * PATCH_COLUMNS + lane % PATCH_COLUMNS;
        let row = patch_row as u64 * PATCH_ROWS as u64 + (lane / PATCH_COLUMNS) as u64;
        let position = row * width as u64 + column as u64;
        if column < width { u64::min(position, count) } else { count }
    }

    /// The index of the target of a thread; the count where it has none.
    ///
    /// # Safety
    /// The order, unless null, has `count` elements.
    #[inline(always)]
    pub unsafe fn index(&self, thread: u64) -> u64 {
        let position = self.position(thread);
        if self.order.is_null() || position >= self.targets.count {
            return position;
        }
        // SAFETY: the position is below the count.
        unsafe { *self.order.add(position as usize) as u64 }
    }

    /// The query of this thread, unless it has none.
    ///
    /// # Safety
    /// As for [`index`](Self::index); the targets have `count` places.
    #[inline(always)]
    pub unsafe fn query(&self) -> Option<Query> {
        // SAFETY: passed on to the caller; an index is below the count.
        unsafe {
            let index = self.index(thread::index_1d());
            if index >= self.targets.count {
                return None;
            }
            Some(Query::new(index, &self.targets, core::ptr::null()))
        }
    }
}
