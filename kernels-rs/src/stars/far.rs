//! Stars by searches in the tree, each by a warp.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::natural::OPEN;
use super::predicates::Predicates;
use super::rough::{LISTED, Rough, SPENT, WRITTEN};
use super::search::{Budget, Leaves, ROOM, Search};
use crate::rtree::Tree;

/// Threads of a block.
pub const FAR_BLOCK: u32 = 128;

/// Neighbours of a star that is written from shared memory. A longer one is made twice: once to count them.
const KEPT: u32 = 256;

/// Sites that a warp takes one after the other. Those that follow each other in the list mostly lie near each other.
const RUN: u32 = 8;

const WARPS: u32 = FAR_BLOCK / warp::SIZE;

#[inline(always)]
const fn rooms(carver: &mut Carver) -> (SharedArray<u32>, SharedArray<u32>) {
    (carver.array(WARPS * ROOM), carver.array(WARPS * KEPT))
}

const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = rooms(&mut carver);
    carver.bytes()
};

/// Makes the stars of the listed sites. `unit` is the exponent of the unit of all coordinates. It ends early, with some stars
/// not made, when searches have visited `most` thousands of nodes and leaves. Grid: any number of warps, which take turns.
///
/// # Safety
/// The tree is whole, without points at one place; [`Rough`] has an element for each site, and room for six neighbours of each.
/// [`find_near_stars`](mod@super::find_near_stars) has run with the same ones.
// What spills is around calls of exact decisions.
#[kernel(block = FAR_BLOCK, shared = SHARED, resident = 4, spills = 1200)]
pub unsafe fn find_far_stars(tree: Tree<'_, f64>, unit: i32, most: u32, rough: Rough<'_>) {
    let (room, kept) = rooms(&mut Carver::new());
    let kept = kept.skip(warp::warp_id() * KEPT);
    let room = room.skip(warp::warp_id() * ROOM);
    let spent = rough.tallies.from(SPENT);
    let budget = Budget { spent, most, own: 0, is_over: false };
    let (predicates, leaves) = (Predicates::new(unit), Leaves::NONE);
    let mut search = Search { tree, predicates, room, leaves, budget, made: rough };
    let warps = thread::grid_dim_x() * WARPS;
    let mut i = (thread::index_1d() / warp::SIZE as u64) as u32 * RUN;
    let listed = rough.tallies.get(LISTED);
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        while i < vector::unknown(listed) && !search.budget.is_over {
            make(&mut search, rough.listed.get(i), kept, &rough);
            i += 1;
            if i.is_multiple_of(RUN) {
                i += (warps - 1) * RUN;
            }
        }
    }
}

/// How many neighbours a star has, and how many of them come counter-clockwise from the first.
#[derive(Clone, Copy)]
struct Length {
    all: u32,
    onward: u32,
}

impl Length {
    /// Where the neighbour goes that was found as number `i`: those clockwise from the first come before it.
    #[inline(always)]
    fn position(self, i: u32) -> u32 {
        if i < self.onward { self.all - self.onward + i } else { self.all - 1 - i }
    }

    /// Writes the neighbour that was found as number `i`, of a star that begins at `start`.
    #[inline(always)]
    fn write(self, rough: &Rough<'_>, start: u32, i: u32, neighbour: u32, is_open: bool) {
        let at = self.position(i);
        let mark = if is_open && at + 1 == self.all { OPEN } else { 0 };
        rough.neighbours.store(start + at, neighbour | mark);
    }
}

/// Makes the star of a site and writes it.
///
/// # Safety
/// As [`find_far_stars`]; the whole warp comes to the same call.
#[inline(always)]
unsafe fn make(search: &mut Search<'_>, site: u32, kept: SharedArray<u32>, rough: &Rough<'_>) {
    let lane = warp::lane_id();
    let mut length = Length { all: 0, onward: 0 };
    let (mut to, mut is_open) = (0, false);
    // SAFETY: passed on to the caller; the lanes write different elements.
    unsafe {
        // A long star comes a second time, when its length is known. A loop, so that the code stands once.
        while vector::unknown(1) == 1 {
            let (before, mut i, mut onward) = (length, 0, 0);
            let is_again = before.all > 0;
            let closes = search.star(site, |neighbour, turns_left| {
                if lane == 0 {
                    if is_again && i < before.all {
                        before.write(rough, to, i, neighbour, is_open);
                    } else if !is_again && i < KEPT {
                        kept.store(i, neighbour);
                    }
                }
                i += 1;
                onward += u32::from(turns_left);
            });
            if is_again || search.budget.is_over {
                return;
            }
            (length, is_open) = (Length { all: i, onward }, !closes);
            if lane == 0 {
                to = rough.tallies.fetch_add(WRITTEN, i);
                // In any order: whoever reads a word takes it as final, or as not written.
                rough.starts.store(site, to);
                rough.counts.store(site, i);
            }
            to = warp::shuffle(warp::FULL, to, 0);
            if i <= KEPT {
                break;
            }
        }
        warp::sync_warp(warp::FULL);
        let mut i = lane;
        while i < vector::unknown(length.all) {
            length.write(rough, to, i, kept.load(i), is_open);
            i += warp::SIZE;
        }
        warp::sync_warp(warp::FULL);
    }
}
