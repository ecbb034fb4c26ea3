//! Stars by searches in the tree, each by a warp.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::descent::{Budget, Descent, Leaves, ROOM};
use super::predicates::Predicates;
use super::rough::{ALL, LEFT, LISTED, Rough, SPENT};
use super::star::{KEPT, Search, Told};
use crate::rtree::Tree;

/// Threads of a block.
pub const FAR_BLOCK: u32 = 128;

/// Sites that a warp takes one after the other. Those that follow each other in the list mostly lie near each other.
pub const RUN: u32 = 8;

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

/// Makes the stars that are not made yet, of the sites that a tally counts, [`LISTED`] or [`LEFT`], or of [`ALL`]. `unit` is the exponent
/// of the unit of all coordinates.
///
/// Searches may visit `most` times [`VISITS`](super::VISITS) nodes and leaves; no limit if that is [`u32::MAX`]. Then they end, with some
/// stars not made. A star of more than [`KEPT`] neighbours is left to the last search, that of the sites that are left.
/// Grid: any number of warps, which take turns.
///
/// # Safety
/// The tree is whole, without points at one place; [`Rough`] has an element for each site, and room for six neighbours of each.
/// [`find_near_stars`](mod@super::find_near_stars) has run with the same ones.
// What spills is around calls of exact decisions.
#[kernel(block = FAR_BLOCK, shared = SHARED, resident = 4, spills = 1200)]
pub unsafe fn find_far_stars(
    tree: Tree<'_, f64>,
    unit: i32,
    most: u32,
    tally: u32,
    rough: Rough<'_>,
) {
    let (room, kept) = rooms(&mut Carver::new());
    let kept = kept.skip(warp::warp_id() * KEPT);
    let room = room.skip(warp::warp_id() * ROOM);
    let is_last = tally == LEFT;
    let budget = Budget { spent: rough.tallies.from(SPENT), most, own: 0, is_over: false };
    let (x, y, predicates) = (tree.x, tree.y, Predicates::new(unit));
    let source = Descent { tree, room, leaves: Leaves::NONE, budget };
    let told = Told::NOTHING;
    let mut search = Search { x, y, predicates, source, made: rough, kept, is_last, told };
    let warps = thread::grid_dim_x() * WARPS;
    // Sites that are left have long stars.
    let run = if tally == LEFT { 1 } else { RUN };
    let mut i = (thread::index_1d() / warp::SIZE as u64) as u32 * run;
    let len = if tally == ALL { tree.points } else { rough.tallies.get(tally) };
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        while i < vector::unknown(len) && !search.source.budget.is_over {
            let site = match tally {
                ALL => i,
                LISTED => rough.listed.get(i),
                _ => rough.left.get(i),
            };
            // The warp is the only one that makes this star.
            let is_made = rough.counts.load(site) > 0;
            if !is_made && !search.make(site) && warp::lane_id() == 0 {
                rough.leave(site);
            }
            i += 1;
            if i & (run - 1) == 0 {
                i += (warps - 1) * run;
            }
        }
    }
}
