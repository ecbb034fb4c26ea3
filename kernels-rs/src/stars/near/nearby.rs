//! The sites nearest to each lane's own site, in shared memory: enough for most of its star.
//!
//! A lane lists all sites of the window within a distance, its *reach*. About 23 sites suffice: each apex of its star
//! tests 23 sites in place of 255. An entry is a byte, the site's place in the window, so 32 lists take 1 KiB a warp.
//!
//! An answer is right if no site outside the list could change it:
//!
//! ```text
//! nearest   every site as near as the best, but for rounding, lies within the reach; none is in the circle over both
//! apex      the part of the circle on the left of the edge lies within the reach; on the right the circle is empty,
//!           since what it holds there the circle of the triangle before holds too
//! ```

use device_std::shared::{Carver, SharedArray};
use device_std::{math, vector, warp};

use super::reach::{Chord, HALF_ULP, Least};
use super::window::Window;
use crate::rtree::Tree;
use crate::rtree::group::Group;
use crate::stars::angles::{square, way};
use crate::stars::predicates::{Decide, Place};
use crate::stars::rough::NONE;

/// The most sites of a list.
const CAPACITY: u32 = 32;

/// How many sites a list has if sites are spread evenly. 19 are no faster, and 18 are too often not enough.
const WANTED: f32 = 23.0;

/// How often lists of too many sites are made again, each time within 0.6 of the area.
const ATTEMPTS: u32 = 6;

/// Shared memory for the lists of a warp.
#[derive(Clone, Copy)]
pub struct Shared(SharedArray<u8>);

impl Shared {
    /// Takes shared memory for `warps` warps.
    #[inline(always)]
    pub const fn carve(carver: &mut Carver, warps: u32) -> Self {
        Self(carver.array(warps * CAPACITY * warp::SIZE))
    }

    /// The part of the lane.
    #[inline(always)]
    pub fn own(self) -> Self {
        Self(self.0.skip(warp::warp_id() * CAPACITY * warp::SIZE + warp::lane_id()))
    }
}

/// What a lane needs to make the star of its site.
pub struct Lane<'a, D> {
    pub tree: &'a Tree<'a, f64>,
    pub predicates: D,
    pub group: &'a Group,
    pub window: &'a Window,
    /// Where the site lies.
    pub place: Place,
}

/// The sites nearest to a lane's own site.
pub struct Nearby {
    /// Their places in the window, each [`warp::SIZE`] elements after the one before.
    room: Shared,
    count: u32,
    /// All sites nearer than this are in the list.
    reach: f32,
    /// The place of the site itself in the window.
    pub own: u32,
}

impl Nearby {
    /// Lists the sites around a lane's site.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the window has sites, the lane's own one among them if it `is_there`.
    #[inline(always)]
    pub unsafe fn of(
        window: &Window,
        group: &Group,
        site: u32,
        is_there: bool,
        room: Shared,
    ) -> Self {
        let free = window.room_around(group.place[0], group.place[1]);
        // A circle around the site that lies in the window and holds about `WANTED` sites.
        let most = window.area_of_site() * (WANTED * core::f32::consts::FRAC_1_PI);
        let mut squared = if is_there { f32::min(free * free, most) } else { 0.0 };
        let mut list = Self { room, count: 0, reach: 0.0, own: NONE };
        let mut attempts = 0;
        // SAFETY: passed on to the caller; what is written is the lane's own.
        unsafe {
            while attempts < vector::unknown(ATTEMPTS) {
                list.fill(window, group, site, squared);
                let is_full = list.count > CAPACITY;
                if !warp::any(warp::FULL, is_full) {
                    break;
                }
                // Only lanes with too many sites shrink; the warp fills all lists again together.
                squared *= if is_full { 0.6 } else { 1.0 };
                attempts += 1;
            }
        }
        if list.count > CAPACITY {
            (list.count, squared) = (0, 0.0);
        }
        // A site outside the list has an f32 square above this. Its true distance may be less by a part of 1e-6, and by
        // the rounding of both places.
        list.reach = math::sqrt_f32(squared) * (1.0 - 1e-6) - 12.0 * HALF_ULP * window.reach();
        list
    }

    /// # Safety
    /// As [`of`](Self::of).
    #[inline(always)]
    unsafe fn fill(&mut self, window: &Window, group: &Group, site: u32, squared: f32) {
        let (mut count, mut i) = (0, 0);
        // SAFETY: passed on to the caller.
        unsafe {
            while i < vector::unknown(window.count) {
                let [x, y] = window.site(i);
                if group.squared([x, y]) <= squared {
                    if window.number(i) == site {
                        self.own = i;
                    } else {
                        if count < CAPACITY {
                            self.room.0.store(count * warp::SIZE, i as u8);
                        }
                        count += 1;
                    }
                }
                i += 1;
            }
        }
        self.count = count;
    }

    /// The place in the window of the site in a slot.
    ///
    /// # Safety
    /// There is such a slot.
    #[inline(always)]
    unsafe fn site(&self, slot: u32) -> u32 {
        // SAFETY: passed on to the caller.
        u32::from(unsafe { self.room.0.load(slot * warp::SIZE) })
    }

    /// Finds a neighbour, the nearest site or one that is as near but for rounding; [`NONE`] if the list does not tell.
    ///
    /// # Safety
    /// The list belongs to this lane.
    #[inline(always)]
    pub unsafe fn nearest(&self, lane: &Lane<'_, impl Decide>) -> u32 {
        let (group, window) = (lane.group, lane.window);
        let (mut least, mut next, mut found, mut slot) = (f32::INFINITY, f32::INFINITY, NONE, 0);
        // SAFETY: slots are below the count.
        unsafe {
            while slot < vector::unknown(self.count) {
                let site = self.site(slot);
                let [x, y] = window.site(site);
                let squared = group.squared([x, y]);
                next = f32::min(next, f32::max(squared, least));
                found = if squared < least { site } else { found };
                least = f32::min(least, squared);
                slot += 1;
            }
            let limit = group.bound(least);
            // No site beyond the reach may be as near. False if the distance is not a number.
            let is_known = math::sqrt_f32(limit) * (1.0 + 1e-6) <= self.reach;
            if !is_known {
                return NONE;
            }
            // f32 has decided: the second nearest is farther by more than rounding.
            if next > limit {
                return found;
            }
            self.nearest_of(lane, found, limit)
        }
    }

    /// Finds a neighbour among the sites whose f32 squares are at most a limit; `found` is one of these. [`NONE`] if rounding
    /// leaves it open.
    ///
    /// It takes the site that is nearest by rounded f64. That is a neighbour if the circle over both holds no other site,
    /// inside or on it. Whether another one is as near does not matter, since it is a neighbour too.
    ///
    /// # Safety
    /// The list belongs to this lane.
    #[inline(always)]
    unsafe fn nearest_of(&self, lane: &Lane<'_, impl Decide>, found: u32, limit: f32) -> u32 {
        // SAFETY: slots are below the count.
        unsafe {
            let place = |site: u32| lane.window.place(lane.tree, site);
            let is_listed = |slot: u32| {
                let [x, y] = lane.window.site(self.site(slot));
                lane.group.squared([x, y]) <= limit
            };
            let (mut found, mut least, mut slot) = (found, f64::INFINITY, 0);
            while slot < vector::unknown(self.count) {
                if is_listed(slot) {
                    let site = self.site(slot);
                    let squared = square(way(lane.place, place(site)));
                    (found, least) = if squared < least { (site, squared) } else { (found, least) };
                }
                slot += 1;
            }
            let (best, mut is_sure, mut slot) = (place(found), true, 0);
            while slot < vector::unknown(self.count) {
                let site = self.site(slot);
                if site != found && is_listed(slot) {
                    let (near, far) = (way(lane.place, place(site)), way(best, place(site)));
                    let products = [near[0] * far[0], near[1] * far[1]];
                    // Two differences and a product, and the sum: 4.
                    let bound = 4.0 * f64::EPSILON * (products[0].abs() + products[1].abs());
                    is_sure &= products[0] + products[1] > bound;
                }
                slot += 1;
            }
            if is_sure { found } else { NONE }
        }
    }

    /// Finds the third corner on the left of the edge to a neighbour; [`NONE`] if the list does not tell.
    ///
    /// # Safety
    /// The list belongs to this lane.
    #[inline(always)]
    pub unsafe fn apex(
        &self,
        lane: &Lane<'_, impl Decide>,
        neighbour: u32,
        end: Place,
        way: [f32; 2],
    ) -> u32 {
        let chord = Chord::new(way, lane.window.reach());
        let (mut least, mut slot) = (Least::NONE, 0);
        while slot < vector::unknown(self.count) {
            // SAFETY: the slot is below the count.
            let (site, place) = unsafe { self.seen(lane, slot) };
            least.see(&chord, site, place, site != neighbour);
            slot += 1;
        }
        let most = least.most(&chord);
        // Right of the edge the circle is empty: whatever it holds there, the circle of the triangle before holds too.
        // 1e-5 is for the rounding of the distance itself. False if a number is NaN.
        let is_known = math::sqrt_f32(chord.farthest_squared(most)) * (1.0 + 1e-5) <= self.reach;
        if !is_known {
            return NONE;
        }
        if least.is_sure(&chord, most) {
            return least.site;
        }
        let (mut found, mut place, mut slot) = (NONE, end, 0);
        while slot < vector::unknown(self.count) {
            // SAFETY: the slot is below the count.
            let (site, seen) = unsafe { self.seen(lane, slot) };
            // f64 only compares the sites that f32 cannot exclude: mostly two.
            if site != neighbour && chord.may_reach_less(seen, most) {
                // SAFETY: the site is one of the window.
                let other = unsafe { lane.window.place(lane.tree, site) };
                let is_better = match lane.predicates.side(lane.place, end, other) {
                    Ok(side) if side <= 0.0 => Ok(false),
                    Ok(_) if found == NONE => Ok(true),
                    Ok(_) => lane.predicates.is_within([lane.place, end, place], other),
                    Err(undecided) => Err(undecided),
                };
                match is_better {
                    Ok(true) => (found, place) = (site, other),
                    Ok(false) => {}
                    Err(_) => return NONE,
                }
            }
            slot += 1;
        }
        found
    }

    /// The site in a slot, and its place relative to the lane's own site.
    ///
    /// # Safety
    /// There is such a slot.
    #[inline(always)]
    unsafe fn seen(&self, lane: &Lane<'_, impl Decide>, slot: u32) -> (u32, [f32; 2]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let site = self.site(slot);
            let [x, y] = lane.window.site(site);
            (site, [x - lane.group.place[0], y - lane.group.place[1]])
        }
    }
}
