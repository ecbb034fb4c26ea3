//! The runs of a mask's rows.

use device_std::{In, Out, kernel, thread, vector, warp};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;

/// Words of a run: row, first column, the column after the last.
pub const RUN: usize = 3;

/// Finds the runs of cells that are not 0 in the rows of a mask. Without `out` it counts each row's runs in `counts`.
/// With `out` it writes them, from where the scanned `counts` says. Grid: a warp for each row.
///
/// # Safety
/// `mask` has `width * height` cells, `counts` has an element for each row, and `out` has `room` runs of [`RUN`] words.
#[kernel(block = BLOCK)]
pub unsafe fn find_runs(
    mask: In<'_, u8>,
    width: u32,
    height: u32,
    counts: Out<'_, u32>,
    out: Option<Out<'_, u32>>,
    room: u32,
) {
    let row = thread::block_idx_x() * (BLOCK as u32 / warp::SIZE) + warp::warp_id();
    if row >= height {
        return;
    }
    let (lane, below) = (warp::lane_id(), warp::lanes_below());
    let line = mask.from(row as u64 * width as u64);
    let first = if out.is_none() { 0 } else { counts.get(row) };
    let put = |run: u32, word: usize, value: u32| {
        if let Some(out) = out
            && run < room
        {
            out.set(RUN * run as usize + word, value);
        }
    };
    let (mut begun, mut ended, mut before, mut from) = (0, 0, 0, 0);
    // One step further than the row, where a run ends at the latest.
    while from <= width {
        let column = from + lane;
        let is_in = column < width && line.get(column) != 0;
        // SAFETY: the whole warp has one row, and takes the same branches.
        let cells = unsafe { warp::ballot(warp::FULL, is_in) };
        let west = cells << 1 | before;
        let (begins, ends) = (cells & !west, !cells & west);
        if begins >> lane & 1 != 0 {
            let run = first + begun + (begins & below).count_ones();
            put(run, 0, row);
            put(run, 1, column);
        }
        if ends >> lane & 1 != 0 {
            put(first + ended + (ends & below).count_ones(), 2, column);
        }
        begun += begins.count_ones();
        ended += ends.count_ones();
        before = cells >> 31;
        from = vector::unknown(from + warp::SIZE);
    }
    if out.is_none() && lane == 0 {
        counts.set(row, begun);
    }
}
