//! Connected regions of the results of a search: crate `ccq-tree`.
//!
//! A union-find over runs of cells, in which an atomic minimum hooks a root to a smaller one (Komura 2015,
//! doi:10.1016/j.cpc.2015.04.015). Each run begins as its own parent. [`join_runs`](const@join_runs) joins it with the
//! runs of the row above that it touches, and [`find_roots`](const@find_roots) gives each run its root. A parent is
//! never greater than its child, so the root of a region is its first run, whatever the order of the threads.

use device_std::{In, Out, kernel, thread};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Words of a run: row, first column, the column after the last.
pub const RUN: usize = 3;

/// Makes each run its own parent. Grid: a thread for each run.
///
/// # Safety
/// `parents` has `len` elements.
#[kernel(block = BLOCK)]
pub unsafe fn own_parents(len: u32, parents: Out<'_, u32>) {
    let i = thread::index_1d() as u32;
    if i < len {
        parents.set(i, i);
    }
}

/// Joins each run with the runs of the row above that it touches. These have a cell above one of its own, or with a
/// `reach` of 1 also diagonally above. Grid: a thread for each run.
///
/// # Safety
/// `runs` has `len` runs of [`RUN`] words, row by row and from west to east. `rows` has where the runs of each of
/// `height` rows begin, and at the end their number. `parents` has `len` elements, each at most its own number.
#[kernel(block = BLOCK)]
pub unsafe fn join_runs(
    runs: In<'_, u32>,
    len: u32,
    rows: In<'_, u32>,
    height: u32,
    reach: u32,
    parents: Out<'_, u32>,
) {
    let i = thread::index_1d() as u32;
    if i >= len {
        return;
    }
    let word = |run: u32, word: usize| runs.get(RUN * run as usize + word);
    let (row, column0, column1) = (word(i, 0), word(i, 1), word(i, 2));
    if row == 0 || row > height {
        return;
    }
    let (first, end) = (rows.get(row - 1), u32::min(rows.get(row), len));
    // The first run that ends beyond this run's beginning.
    let (mut low, mut high) = (first, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if word(middle, 2) + reach > column0 {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    while low < end && word(low, 1) < column1 + reach {
        join(parents, i, low);
        low += 1;
    }
}

/// Replaces each run's parent by its root. Grid: a thread for each run.
///
/// # Safety
/// As for [`join_runs`](const@join_runs), which was called before.
#[kernel(block = BLOCK)]
pub unsafe fn find_roots(len: u32, parents: Out<'_, u32>) {
    let i = thread::index_1d() as u32;
    if i < len {
        parents.store(i, root(parents, i));
    }
}

/// The root of a run at this moment.
#[inline(always)]
fn root(parents: Out<'_, u32>, run: u32) -> u32 {
    let mut at = run;
    loop {
        let parent = parents.load(at);
        // Parents fall on the way up, so the loop ends.
        if parent >= at {
            return at;
        }
        at = parent;
    }
}

/// Joins the regions of two runs.
#[inline(always)]
fn join(parents: Out<'_, u32>, a: u32, b: u32) {
    let (mut a, mut b) = (root(parents, a), root(parents, b));
    while a != b {
        if a < b {
            (a, b) = (b, a);
        }
        let before = parents.fetch_min(a, b);
        if before == a {
            return;
        }
        // Another thread hooked it to another run meanwhile, which is then of the same region.
        (a, b) = (root(parents, before), root(parents, b));
    }
}

device_std::ptx_module! { "ccq_regions" }
