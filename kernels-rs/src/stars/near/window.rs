//! The window: the sites around 32 sites that follow each other along the curve, in shared memory, in f32 relative to
//! one of them.
//!
//! ```text
//! around:   bounds = box of the 32 sites, MARGIN mean distances wider on each side
//!           walk the tree, keep the sites within the bounds; if more than 255: half the margin, again
//! apex:     each lane tests every 32nd site; the least circle of the warp is right if it lies in the bounds
//! ```
//!
//! The window has all sites within the bounds. So a circle that lies in the bounds and holds no site of the window is
//! empty. If there are too many sites, the window is empty, and searches in the tree make its stars.

use device_std::shared::{Carver, SharedArray};
use device_std::{math, vector, warp};

use super::reach::{Chord, Least};
use crate::rtree::Tree;
use crate::rtree::descent::{Visitor, walk};
use crate::rtree::group::Group;
use crate::rtree::layout::FANOUT;
use crate::spatial::place::Bounds;
use crate::stars::predicates::Place;
use crate::stars::rough::NONE;

/// The most sites of a window: their places fit a byte.
pub const MAX_SITES: u32 = 255;

/// How much wider the window is on each side than the box around the warp's sites, in mean distances of these sites.
/// With 2.8 or 3.2 the kernel takes 10.4 ms in place of 9.1.
const MARGIN: f32 = 3.6;

/// How often a window of too many sites is made smaller.
const ATTEMPTS: u32 = 3;

/// Shared memory for the sites of a warp's window.
#[derive(Clone, Copy)]
pub struct Shared {
    /// x and y of each site relative to the group's origin, f32 each.
    places: SharedArray<u64>,
    numbers: SharedArray<u32>,
}

impl Shared {
    /// Takes shared memory for `warps` warps.
    #[inline(always)]
    pub const fn carve(carver: &mut Carver, warps: u32) -> Self {
        Self { places: carver.array(warps * MAX_SITES), numbers: carver.array(warps * MAX_SITES) }
    }

    /// The part of the warp.
    #[inline(always)]
    pub fn own(self) -> Self {
        let first = warp::warp_id() * MAX_SITES;
        Self { places: self.places.skip(first), numbers: self.numbers.skip(first) }
    }
}

/// The sites in a box around the warp's own sites.
pub struct Window {
    room: Shared,
    /// How many there are; 0 if they were too many.
    pub count: u32,
    /// The window has all sites within these bounds.
    bounds: [f32; 4],
    /// The bits of a squared distance from the group's box: nothing at this distance or beyond lies within the bounds.
    reach: u32,
}

/// An edge between two sites of the window, whose third corner is wanted.
#[derive(Clone, Copy)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// The vector from one site to the other.
    pub way: [f32; 2],
}

impl Window {
    /// Collects the sites around a group.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the shared memory is its own.
    #[inline(always)]
    pub unsafe fn around(tree: &Tree<'_, f64>, group: &Group, room: Shared) -> Self {
        let [[west, south], [east, north]] = group.bounds();
        let (width, height) = (east - west, north - south);
        // The mean distance of the warp's sites: the root of the area of one.
        let mean = math::sqrt_f32(width * height * (1.0 / FANOUT as f32));
        let (mut margin, mut attempts) = (MARGIN * mean, 0);
        let mut window = Self { room, count: 0, bounds: [0.0; 4], reach: 0 };
        // SAFETY: passed on to the caller.
        unsafe {
            while attempts < vector::unknown(ATTEMPTS) {
                // Other lanes may still write sites of the attempt before.
                warp::sync_warp(warp::FULL);
                window.count = 0;
                window.bounds = [west - margin, south - margin, east + margin, north + margin];
                let [left, below, right, above] = window.bounds;
                // Rounding keeps order: in f32 no place within the bounds is farther from the box than the bounds'
                // corners.
                let x = f32::max(west - left, right - east);
                let y = f32::max(south - below, above - north);
                window.reach = math::mul_add_f32(x, x, y * y).to_bits() + 1;
                walk(tree, group, &mut window);
                if window.count <= MAX_SITES {
                    break;
                }
                margin *= 0.5;
                attempts += 1;
            }
            warp::sync_warp(warp::FULL);
        }
        if window.count > MAX_SITES {
            window.count = 0;
        }
        window
    }

    /// The farthest that a coordinate is from the origin.
    #[inline(always)]
    pub fn reach(&self) -> f32 {
        let [west, south, east, north] = self.bounds;
        f32::max(f32::max(west.abs(), east.abs()), f32::max(south.abs(), north.abs()))
    }

    /// The mean area of a site.
    #[inline(always)]
    pub fn area_of_site(&self) -> f32 {
        let [west, south, east, north] = self.bounds;
        (east - west) * (north - south) / self.count as f32
    }

    /// The distance of a place from the nearest border; below 0 outside.
    #[inline(always)]
    pub fn room_around(&self, x: f32, y: f32) -> f32 {
        let [west, south, east, north] = self.bounds;
        f32::min(f32::min(x - west, east - x), f32::min(y - south, north - y))
    }

    /// Where a site lies, from the group's origin.
    ///
    /// # Safety
    /// `i` is below the count.
    #[inline(always)]
    pub unsafe fn site(&self, i: u32) -> [f32; 2] {
        // SAFETY: passed on to the caller.
        let place = unsafe { self.room.places.load(i) };
        [f32::from_bits(place as u32), f32::from_bits((place >> 32) as u32)]
    }

    /// The number of a site.
    ///
    /// # Safety
    /// `i` is below the count.
    #[inline(always)]
    pub unsafe fn number(&self, i: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe { self.room.numbers.load(i) }
    }

    /// Where a site lies.
    ///
    /// # Safety
    /// `i` is below the count.
    #[inline(always)]
    pub unsafe fn place(&self, tree: &Tree<'_, f64>, i: u32) -> Place {
        // SAFETY: passed on to the caller.
        let number = unsafe { self.number(i) };
        [tree.x.get(number), tree.y.get(number)]
    }

    /// Finds the third corner of the Delaunay triangle on the left of an edge; [`NONE`] if the window or f32 does not
    /// tell. All lanes have the same edge.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the sites are those of the window.
    #[inline(always)]
    pub unsafe fn apex(&self, edge: Edge) -> u32 {
        let chord = Chord::new(edge.way, self.reach());
        // SAFETY: passed on to the caller.
        unsafe {
            let from = self.site(edge.from);
            let (mut least, mut i) = (Least::NONE, warp::lane_id());
            while i < vector::unknown(self.count) {
                let [x, y] = self.site(i);
                let is_end = i == edge.from || i == edge.to;
                least.see(&chord, i, [x - from[0], y - from[1]], !is_end);
                i += warp::SIZE;
            }
            let least = least.of_warp();
            let most = least.most(&chord);
            if !least.is_sure(&chord, most) {
                return NONE;
            }
            // The greatest circle that the site may have, as f32 sees it, must lie in the bounds; 1e-5 is for rounding.
            let [x, y] = chord.centre(most);
            let slack = 1e-5 * (self.reach() + x.abs() + y.abs());
            let radius = 0.5 * math::sqrt_f32(chord.farthest_squared(most)) + slack;
            // False if a number is NaN.
            match self.room_around(from[0] + x, from[1] + y) >= radius {
                true => least.site,
                false => NONE,
            }
        }
    }
}

impl Visitor<f64> for Window {
    const NEAREST_FIRST: bool = false;
    const SKIPS_REPEATED: bool = false;

    #[inline(always)]
    fn reach(&self) -> u32 {
        // 0 ends a walk that has met too many sites.
        if self.count > MAX_SITES { 0 } else { self.reach }
    }

    #[inline(always)]
    fn wants(&self, _: &Group, [[west, south], [east, north]]: Bounds<f32, 2>) -> bool {
        let own = self.bounds;
        west <= own[2] && east >= own[0] && south <= own[3] && north >= own[1]
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, f64>, group: &Group, leaf: u32) {
        let (is_there, [x, y]) = tree.point(group, leaf);
        let is_inside = is_there && self.room_around(x, y) >= 0.0;
        // SAFETY: passed on to the caller; the lanes write different elements.
        unsafe {
            let inside = warp::ballot(warp::FULL, is_inside);
            let at = self.count + (inside & warp::lanes_below()).count_ones();
            if is_inside && at < MAX_SITES {
                let place = u64::from(x.to_bits()) | u64::from(y.to_bits()) << 32;
                self.room.places.store(at, place);
                self.room.numbers.store(at, leaf * FANOUT + warp::lane_id());
            }
            self.count += inside.count_ones();
        }
    }
}
