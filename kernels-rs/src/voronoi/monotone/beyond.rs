//! Adds the sites beyond a strip of columns to its candidates.
//!
//! ```text
//! one row    .x..x....x | ......x...... | ...x...x..
//!                     ^ before           ^ after         all others lie behind one of these two
//! ```
//!
//! A site west of the strip is nearest to a column of the strip only if it is the row's last one before the strip. A
//! site east of the strip must be the first one after it. So with two columns for every row, a strip has the candidates
//! that its columns have in the whole raster, and hence the results.

use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::{BLOCK, NONE};

/// Replaces the candidates of a strip, which [`nearest_columns`](mod@super::nearest_columns) gives, by the candidates
/// that its columns have in the whole raster. These are the sites of each row nearest to the column, the western one of
/// two. The whole has `whole` columns; `first` is the strip's first one there.
///
/// For each row, `before` has the last site before the strip, and `after` the first one after it, as its column in the
/// whole; [`NONE`] if there is none. A column that is not beyond the strip, or not in the whole, counts as none. Grid:
/// one thread an element of `nearest` in the raster's rows.
///
/// # Safety
/// `nearest` has `pitch * rows` elements, `before` and `after` `rows`.
#[kernel(block = BLOCK)]
pub unsafe fn reach_beyond(
    nearest: Out<'_, u32>,
    before: In<'_, u32>,
    after: In<'_, u32>,
    pitch: u32,
    width: u32,
    rows: u32,
    first: u32,
    whole: u32,
) {
    let at = thread::index_1d();
    if at >= pitch as u64 * rows as u64 {
        return;
    }
    let row = at / pitch.max(1) as u64;
    let x = first + (at - row * pitch as u64) as u32;
    let own = nearest.get(at);
    let (before, after) = (before.get(row), after.get(row));
    let mut site = if own == NONE { NONE } else { first + own };
    // `before` lies west of every other candidate: it wins a tie. `after` lies east of every other: it loses a tie.
    if before < first && (site == NONE || x - before <= x.abs_diff(site)) {
        site = before;
    }
    if after >= first + width
        && after < whole
        && (site == NONE || x.abs_diff(after) < x.abs_diff(site))
    {
        site = after;
    }
    nearest.set(at, site);
}
