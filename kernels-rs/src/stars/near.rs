//! Stars of 32 sites that follow each other, from the sites around them in shared memory.
//!
//! ```text
//!   . window, MARGIN wider   .        lane 7: its site *, the list within reach (
//!   .   +-- 32 sites --+  .  .          p -> q known: the apex c is sure if the part of its circle
//!   . . |  . (. * .) . | .   .          on the left lies within reach; else the warp tests the window
//!   .   +--------------+    ..
//!   .  .   .    .     .   .  .        up to 255 sites in shared memory, f32 relative to one of them
//! ```
//!
//! 1. The warp brings the sites in a window around its own ones into shared memory, in f32 relative to one of them
//!    ([`Window`]).
//! 2. Each lane lists the sites nearest to its own one, up to a distance that leaves it some 20 ([`Nearby`]).
//! 3. Each lane makes a star: from the nearest site on, it finds the apex of each edge. Mostly its list is enough,
//!    which needs two conditions. The next best circle reaches farther by more than rounding in f32 can explain, or f64
//!    decides between the two. And the part of the circle on the left lies within the list's distance.
//! 4. If the list is not enough, the whole warp searches the window for that lane's corner, a site a lane
//!    ([`Window::apex`]).
//! 5. The site is listed for [`find_far_stars`](mod@super::find_far_stars) if neither f32 nor f64 decides, if the
//!    circle does not lie in the window, or if there is no corner. It is listed, too, if there are too many neighbours.
//!
//! So a star is either right or not made. The instance `quick` decides in f64 alone: around calls of exact decisions a
//! lane would save its registers. If most sites lie on circles but for rounding, as on a lattice with a spacing of 0.1,
//! exact decisions (`exact`) cost less than the kernels that would follow.

mod nearby;
mod reach;
mod window;

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::predicates::{Decide, Place, Predicates, Quick};
use super::rough::{LISTED, NONE, Rough, WRITTEN};
use crate::rtree::Tree;
use crate::rtree::group::Group;
use nearby::{Lane, Nearby};
use window::{Edge, Window};

/// Threads of a block.
const BLOCK: u32 = 64;

/// The most neighbours of a near star.
const LONGEST: u32 = 16;

/// In a trial, one of this many blocks makes near stars, to tell whether the others are worth it.
const TRIALS: u32 = 16;

/// Which sites a launch makes near stars for.
#[derive(Clone, Copy, PartialEq)]
pub enum Turn {
    /// All.
    Once,
    /// A few, which tell whether the others are worth it.
    Trial,
    /// The sites that are not in the trial.
    Rest,
}

impl Turn {
    /// How many blocks it takes for this number of sites.
    pub const fn blocks(self, sites: u32) -> u32 {
        let all = sites.div_ceil(BLOCK);
        let trial = all.div_ceil(TRIALS);
        match self {
            Self::Once => all,
            Self::Trial => trial,
            Self::Rest => all - trial,
        }
    }

    /// The most sites that this number of blocks has.
    pub const fn sites(blocks: u32) -> u32 {
        blocks * BLOCK
    }

    /// The number that a kernel takes for it.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Returns which of all blocks of sites a block has.
    #[inline(always)]
    fn block(number: u32, block: u32) -> u32 {
        if number == Self::Once as u32 {
            block
        } else if number == Self::Trial as u32 {
            block * TRIALS
        } else {
            block + block / (TRIALS - 1) + 1
        }
    }
}

const WARPS: u32 = BLOCK / warp::SIZE;

#[inline(always)]
const fn rooms(carver: &mut Carver) -> (window::Shared, nearby::Shared, SharedArray<u8>) {
    let window = window::Shared::carve(carver, WARPS);
    let lists = nearby::Shared::carve(carver, WARPS);
    (window, lists, carver.array(WARPS * LONGEST * warp::SIZE))
}

const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = rooms(&mut carver);
    carver.bytes()
};

/// Makes the missing stars of those sites whose neighbours are near, and lists the other sites. `turn` is a [`Turn`];
/// `unit` is the exponent of the unit of all coordinates. Grid: the turn's blocks.
///
/// # Safety
/// The tree is complete, and has points, no two at one place. [`Rough`] has an element for each, and six neighbours for
/// each.
// The spills cost less than fewer warps would.
#[kernel(
    block = BLOCK,
    shared = SHARED,
    resident = 16,
    instances(quick: <Quick>, spills = 250; exact: <Predicates>, spills = 1150)
)]
pub unsafe fn find_near_stars<D: Decide + From<Predicates>>(
    tree: Tree<'_, f64>,
    unit: i32,
    turn: u32,
    rough: Rough<'_>,
) {
    // From the block's index alone, so that it lies in a uniform register.
    let block = Turn::block(turn, thread::block_idx_x());
    let site = block * BLOCK + thread::thread_idx_x();
    let is_there = site < tree.points && rough.counts.load(site) == 0;
    let place = match is_there {
        true => [tree.x.get(site), tree.y.get(site)],
        false => [0.0; 2],
    };
    let (sites, lists, star) = rooms(&mut Carver::new());
    let star = star.skip(warp::warp_id() * LONGEST * warp::SIZE + warp::lane_id());
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        // The farthest place of the group is 1 to 2 units away: products of four lengths within the window stay within
        // f32.
        let Some(group) = Group::of_size(place, is_there, [place; 2], 0) else {
            return;
        };
        let window = Window::around(&tree, &group, sites.own());
        let mut count = 0;
        if window.count > 0 {
            let predicates = D::from(Predicates::new(unit));
            let lane = Lane { tree: &tree, predicates, group: &group, window: &window, place };
            let nearby = Nearby::of(&window, &group, site, is_there, lists.own());
            count = lane.make(&nearby, star);
        }
        write(&window, (site, is_there), (star, count), &rough);
    }
}

/// Writes the lanes' stars, and lists the sites without one.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn write(
    window: &Window,
    (site, is_there): (u32, bool),
    (star, count): (SharedArray<u8>, u32),
    rough: &Rough<'_>,
) {
    // SAFETY: passed on to the caller; each lane reads its own star.
    unsafe {
        let end = warp::inclusive_scan(count, |a, b| a + b);
        let all = warp::shuffle(warp::FULL, end, warp::SIZE - 1);
        let left = warp::ballot(warp::FULL, is_there && count == 0);
        let (mut start, mut listed) = (0, 0);
        if warp::lane_id() == 0 {
            start = rough.tallies.fetch_add(WRITTEN, all);
            listed = rough.tallies.fetch_add(LISTED, left.count_ones());
        }
        start = warp::shuffle(warp::FULL, start, 0) + end - count;
        listed = warp::shuffle(warp::FULL, listed, 0);
        if !is_there {
            return;
        }
        rough.counts.set(site, count);
        // The start of a listed site stays [`NONE`]: its star is not written.
        if count == 0 {
            rough.listed.set(listed + (left & warp::lanes_below()).count_ones(), site);
        } else {
            rough.starts.set(site, start);
        }
        let mut i = 0;
        while i < vector::unknown(count) {
            let number = window.number(u32::from(star.load(i * warp::SIZE)));
            rough.neighbours.set(start + i, number);
            i += 1;
        }
    }
}

impl<D: Decide> Lane<'_, D> {
    /// Makes the lane's star: writes the neighbours' places in the window, [`warp::SIZE`] elements apart. Returns their
    /// number, or 0 if the window does not tell them all.
    ///
    /// # Safety
    /// The whole warp comes to the same call; `star` has [`LONGEST`] elements.
    #[inline(always)]
    unsafe fn make(&self, nearby: &Nearby, star: SharedArray<u8>) -> u32 {
        // SAFETY: passed on to the caller; the star is the lane's own.
        unsafe {
            let first = nearby.nearest(self);
            let (mut neighbour, mut count, mut closes) = (first, 0, false);
            let mut goes_on = first != NONE;
            // All lanes stay until the last one is done: any of them may need the warp's help.
            while warp::any(warp::FULL, goes_on) {
                let (mut next, mut way) = (NONE, [0.0; 2]);
                if goes_on {
                    star.store(count * warp::SIZE, neighbour as u8);
                    count += 1;
                    let end = self.window.place(self.tree, neighbour);
                    way = self.way(end);
                    next = nearby.apex(self, neighbour, end, way);
                }
                let asks = goes_on && next == NONE;
                next = self.ask(asks, Edge { from: nearby.own, to: neighbour, way }, next);
                closes |= goes_on && next == first;
                neighbour = next;
                goes_on = goes_on && next != NONE && next != first && count < LONGEST;
            }
            if closes { count } else { 0 }
        }
    }

    /// The vector to a place, in the group's unit.
    #[inline(always)]
    fn way(&self, to: Place) -> [f32; 2] {
        let way = [to[0] - self.place[0], to[1] - self.place[1]];
        way.map(|along| self.group.origin.length(along))
    }

    /// Finds the third corners for those lanes that have `asks` set. The other lanes keep their answer.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the sites are those of the window.
    #[inline(always)]
    unsafe fn ask(&self, asks: bool, edge: Edge, mut answer: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe {
            // One lane's edge after the other, by all lanes.
            let mut left = warp::ballot(warp::FULL, asks);
            while left != 0 {
                let lane = left.trailing_zeros();
                left &= left - 1;
                let of = |site: u32| warp::shuffle(warp::FULL, site, lane);
                let way = edge.way.map(|along| warp::shuffle(warp::FULL, along, lane));
                let edge = Edge { from: of(edge.from), to: of(edge.to), way };
                let found = self.window.apex(edge);
                answer = if warp::lane_id() == lane { found } else { answer };
            }
        }
        answer
    }
}
