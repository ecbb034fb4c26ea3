//! A mask of the cells that satisfy all conditions.

use device_std::shared::Carver;
use device_std::{Out, kernel, thread, vector};

use super::super::{LEVELS, SIDE};
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::slots::{Shared, in_square};
use super::{
    BLOCK, ConditionSearch, HIT_PARTLY, HIT_WHOLE, NONE, OPEN, Question, SearchGrid, Window,
};
use crate::spatial::morton;

/// Sets each cell of a mask to 1 if it satisfies all conditions, else to 0. Grid: a block for each square, row by row.
///
/// # Safety
/// The slices have what [`Question`] says, and the rasters have the sides of the ground. `mask` has an element for each
/// of its cells. A condition that cuts bins has a raster.
#[kernel(block = BLOCK, carve = |carver| Shared::<N>::new(carver), key: usize = N, instances(
    one: <1>;
    two: <2>;
    four: <4>;
))]
pub unsafe fn paint<const N: usize>(question: Question<'_>, mask: Out<'_, u8>) {
    let search = ConditionSearch::<N>::new(question);
    let SearchGrid { width, height, .. } = search.ground;
    let shared = Shared::<N>::new(&mut Carver::new());
    let (square, _) = search.ground.square(thread::block_idx_x());
    let (mut positions, mut i) = ([0; N], 0);
    // SAFETY: all threads of the block take the same branches; a barrier stands between writing and reading.
    unsafe {
        if thread::thread_idx_x() == 0 {
            let end = search.reach(square);
            shared.what.store(0, end.verdict.what);
            while i < N {
                shared.what.store(1 + i as u32, end.positions[i]);
                i += 1;
            }
        }
        thread::sync_threads();
        let what = shared.what.load(0);
        i = 0;
        while i < N {
            positions[i] = shared.what.load(1 + i as u32);
            i += 1;
        }
        if what == OPEN {
            in_square(&search, square, positions, &shared);
        }
        // The square's rows one after the other, four at a time.
        let mut cell = thread::thread_idx_x();
        while cell < SIDE * SIDE {
            let (x, y) = (cell % SIDE, cell / SIDE);
            let (column, row) = (square.0 * SIDE + x, square.1 * SIDE + y);
            if column < width && row < height {
                let of_cell = match what {
                    OPEN => search.verdict_in_square((column, row), (x, y), &shared),
                    _ => what,
                };
                let at = Window { column0: column, row0: row, column1: column + 1, row1: row + 1 };
                let is_found = at.is_in(search.ground.window)
                    && (of_cell == HIT_WHOLE
                        || (of_cell == HIT_PARTLY && search.is_wanted((column, row))));
                mask.set(row as u64 * width as u64 + column as u64, is_found as u8);
            }
            cell = vector::unknown(cell + BLOCK as u32);
        }
    }
}

impl<const N: usize> ConditionSearch<'_, N> {
    /// The verdict on the quadrant that ended around a cell of a square, or on the cell itself.
    ///
    /// # Safety
    /// [`in_square`] was called before, and no thread writes slots any more.
    #[inline(always)]
    unsafe fn verdict_in_square(
        &self,
        (column, row): (u32, u32),
        (x, y): (u32, u32),
        shared: &Shared<N>,
    ) -> u32 {
        let slot = morton::encode(x / 2, y / 2) as u32;
        let bits = self.ground.bits;
        // SAFETY: passed on to the caller.
        unsafe {
            if shared.states.load(slot) as u32 == OPEN {
                let (corner, positions) = ((x & 1) | (y & 1) << 1, shared.positions(slot));
                let place = (column & !1, row & !1);
                let (cell, is_there) = self.child(place, bits - 1, positions, corner);
                return if is_there { self.judge((column, row), bits, cell).what } else { NONE };
            }
            let mut level = LEVELS;
            while level > 0 {
                level -= 1;
                let step = 2 * (LEVELS - 1 - level);
                let state = shared.states.load(slot >> step << step) as u32;
                if state != NONE && state != OPEN && state >> 2 == level {
                    return state & 3;
                }
            }
        }
        NONE
    }
}
