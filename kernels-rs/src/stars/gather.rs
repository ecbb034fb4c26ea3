//! Stars in the order of their sites.

use device_std::{In, Out, kernel, thread, vector};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::neighbours::OPEN;

/// Threads of a block.
const BLOCK: usize = 256;

/// Writes the stars of `sites` sites one after the other, from where each begins. A closed star begins with its lowest
/// neighbour. Grid: a thread for each site.
///
/// # Safety
/// `counts`, `from` and `starts` have an element for each site. The stars lie in `rough`, and `neighbours` has an
/// element for each of their neighbours.
#[kernel(block = BLOCK)]
pub unsafe fn gather_stars(
    counts: In<'_, u32>,
    from: In<'_, u32>,
    rough: In<'_, u32>,
    sites: u32,
    starts: In<'_, u32>,
    neighbours: Out<'_, u32>,
) {
    let site = thread::index_1d();
    if site >= sites as u64 {
        return;
    }
    let count = counts.get(site);
    let (star, to) = (rough.from(from.get(site)), neighbours.from(starts.get(site)));
    let mut first = 0;
    if count > 0 && star.get(count - 1) & OPEN == 0 {
        let (mut lowest, mut i) = (u32::MAX, 0);
        while i < vector::unknown(count) {
            let neighbour = star.get(i);
            (lowest, first) = if neighbour < lowest { (neighbour, i) } else { (lowest, first) };
            i += 1;
        }
    }
    let mut i = 0;
    while i < vector::unknown(count) {
        let at = if first + i < count { first + i } else { first + i - count };
        to.set(i, star.get(at));
        i += 1;
    }
}
