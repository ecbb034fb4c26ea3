//! Where the levels of trees begin.

use device_std::{In, Out, kernel, thread};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;

/// The most levels of a tree.
pub const MAX_LEVELS: usize = 31;

/// Writes where the levels of each tree begin, by the slots of their first squares in a tree's counts; after the last
/// tree, the number of all nodes. Grid: a thread for each tree.
///
/// # Safety
/// `starts` has `stride` elements for each of `trees`, `end` in all, and one more. `out` has `trees * levels + 1`.
#[kernel(block = BLOCK)]
pub unsafe fn find_levels(
    starts: In<'_, u32>,
    end: u64,
    stride: u32,
    slots: [u32; MAX_LEVELS],
    levels: u32,
    trees: u32,
    out: Out<'_, u32>,
) {
    let tree = thread::index_1d();
    if tree >= trees as u64 {
        return;
    }
    let mut i = 0;
    while i < MAX_LEVELS {
        if (i as u32) < levels {
            let slot = tree * stride as u64 + slots[i] as u64;
            out.set((tree * levels as u64) as usize + i, starts.get(slot));
        }
        i += 1;
    }
    if tree == 0 {
        out.set(trees * levels, starts.get(end));
    }
}
