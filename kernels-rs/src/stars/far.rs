//! Stars by searches in the tree, each by a warp.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::links::Sorted;
use super::predicates::{Predicates, Quick};
use super::rough::{ALL, LISTED, Rough, SPENT};
use super::star::descent::{Budget, Descent, Leaves, ROOM};
use super::star::{KEPT, StarSearch};
use crate::rtree::Tree;

/// Threads of a block.
pub const FAR_BLOCK: u32 = 128;

/// Sites that a warp takes one after the other. Neighbours in the list mostly lie near each other.
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

/// Makes the missing stars of [`ALL`] sites, or of the [`LISTED`] ones. `unit` is the exponent of the unit of all
/// coordinates.
///
/// Searches may visit `most` times [`VISITS`](super::VISITS) nodes and leaves; [`u32::MAX`] means no limit. At the
/// limit they end, with some stars not made. A star is left to later kernels if it has more than [`KEPT`] neighbours,
/// or if f64 does not decide it. Grid: any number of warps, which take turns.
///
/// # Safety
/// The tree is complete, with no two points at one place. [`Rough`] has an element for each site, and six neighbours
/// for each. [`find_near_stars`](mod@super::find_near_stars) has run with the same arguments.
#[kernel(block = FAR_BLOCK, shared = SHARED, resident = 4)]
pub unsafe fn find_far_stars(
    tree: Tree<'_, f64>,
    unit: i32,
    most: u32,
    which: u32,
    rough: Rough<'_>,
) {
    let len = if which == ALL { tree.points } else { rough.tallies.get(LISTED) };
    let mut search = search(tree, Quick(Predicates::new(unit)), most, rough);
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        each::<RUN>(len, |i| {
            let site = if which == ALL { i } else { rough.listed.get(i) };
            // The warp is the only one that makes this star.
            let is_made = rough.counts.load(site) > 0;
            if !is_made && !search.make(site) && warp::lane_id() == 0 {
                rough.leave(site);
            }
            !search.source.budget.is_over
        });
    }
}

/// Makes the missing stars of the listed sites: from `links` where it can, else by searches, unless `most` is a limit.
/// `unit` and `most` are as in [`find_far_stars`](mod@find_far_stars). Grid: any number of warps, which take turns.
///
/// # Safety
/// As for `find_far_stars`, with the links of all these sites.
// The spills are around calls of exact decisions.
#[kernel(block = FAR_BLOCK, shared = SHARED, resident = 4, spills = 1600)]
pub unsafe fn find_last_stars(
    tree: Tree<'_, f64>,
    unit: i32,
    most: u32,
    links: Sorted<'_>,
    rough: Rough<'_>,
) {
    let mut search = search(tree, Predicates::new(unit), most, rough);
    search.is_last = true;
    // SAFETY: as above.
    unsafe {
        each::<1>(rough.tallies.get(LISTED), |i| {
            let site = rough.listed.get(i);
            let is_made = rough.counts.load(site) > 0;
            if !is_made && !search.fill(site, &links.of(site)) && most == u32::MAX {
                search.make(site);
            }
            !search.source.budget.is_over
        });
    }
}

#[inline(always)]
fn search<'a, D>(
    tree: Tree<'a, f64>,
    predicates: D,
    most: u32,
    made: Rough<'a>,
) -> StarSearch<'a, Descent<'a>, D> {
    let (room, kept) = rooms(&mut Carver::new());
    let kept = kept.skip(warp::warp_id() * KEPT);
    let room = room.skip(warp::warp_id() * ROOM);
    let budget = Budget { spent: made.tallies.from(SPENT), most, own: 0, is_over: false };
    let (x, y) = (tree.x, tree.y);
    let source = Descent { tree, room, leaves: Leaves::NONE, budget };
    StarSearch { x, y, predicates, source, made, kept, is_last: false, is_undecided: false }
}

/// Shows the warp's share of the numbers below `len`, until `show` returns false. A share has runs of `RUN` successive
/// numbers.
#[inline(always)]
pub fn each<const RUN: u32>(len: u32, mut show: impl FnMut(u32) -> bool) {
    let warps = thread::grid_dim_x() * WARPS;
    let mut i = (thread::index_1d() / warp::SIZE as u64) as u32 * RUN;
    while i < vector::unknown(len) && show(i) {
        i += 1;
        if i.is_multiple_of(RUN) {
            i += (warps - 1) * RUN;
        }
    }
}
