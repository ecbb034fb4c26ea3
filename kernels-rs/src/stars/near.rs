//! Stars of 32 sites that follow each other, from the sites around them in shared memory.
//!
//! Plan:
//!
//! 1. The warp brings the sites in a window around its own ones into shared memory: in f32, relative to one of them.
//! 2. Each lane goes around its site. From the nearest site on it finds of each edge the third corner on its left:
//!    - among all sites of the window that whose circle reaches least far, as f32 has it;
//!    - then f32 tells, with a bound of its error, which sites may lie inside of that circle after all. There is seldom one.
//!      [`Predicates`] decide.
//! 3. If the circle lies in the window, no other site can lie inside, and the corner is right. If it does not, or there is
//!    no corner, or too many neighbours, the site is listed for [`find_far_stars`](mod@super::find_far_stars).
//!
//! All lanes look at the same site of the window at the same time, so nothing diverges but decisions.

use device_std::shared::{Carver, SharedArray};
use device_std::vector::Vector;
use device_std::{kernel, math, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::circle::Circle;
use super::predicates::{Place, Predicates};
use super::rough::{LISTED, Rough, WRITTEN};
use super::search::NONE;
use crate::rtree::Tree;
use crate::rtree::descent::{Visitor, walk};
use crate::rtree::group::Group;
use crate::rtree::layout::FANOUT;

/// Threads of a block.
const BLOCK: u32 = 128;

/// Sites of a window.
const MOST: u32 = 192;

/// Neighbours of a star.
const LONGEST: u32 = 16;

/// How much wider the window is than the box around the warp's sites on each side, in mean distances of these.
const MARGIN: f32 = 2.6;

/// How often a window of too many sites is made smaller.
const ATTEMPTS: u32 = 3;

/// The error of a circle's value in f32, in parts of the sum of its terms: 12 roundings, and as much again.
const ERROR: f64 = 24.0 / (1u32 << 24) as f64;

const WARPS: u32 = BLOCK / warp::SIZE;

#[inline(always)]
const fn rooms(carver: &mut Carver) -> (SharedArray<Vector>, SharedArray<u32>) {
    (carver.array(WARPS * MOST), carver.array(WARPS * LONGEST * warp::SIZE))
}

const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = rooms(&mut carver);
    carver.bytes()
};

/// Makes the stars of those sites whose neighbours are near, and lists the others. `unit` is the exponent of the unit of all
/// coordinates. Grid: a thread for each site.
///
/// # Safety
/// The tree is whole, and has points, no two at one place; [`Rough`] has an element for each, and room for six neighbours of each.
#[kernel(block = BLOCK, shared = SHARED, resident = 5)]
pub unsafe fn find_near_stars(tree: Tree<'_, f64>, unit: i32, rough: Rough<'_>) {
    let site = thread::index_1d() as u32;
    let is_there = site < tree.points;
    let place = match is_there {
        true => [tree.x.get(site), tree.y.get(site)],
        false => [0.0; 2],
    };
    let (room, list) = rooms(&mut Carver::new());
    let list = list.skip(warp::warp_id() * LONGEST * warp::SIZE + warp::lane_id());
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        let Some(group) = Group::new(place, is_there, tree.extent) else {
            return;
        };
        let window = Window::around(&tree, &group, room.skip(warp::warp_id() * MOST));
        let star = Star { tree: &tree, predicates: Predicates::new(unit), group: &group, site, place };
        let count = star.make(&window, is_there, list);
        write(site, is_there, count, list, &rough);
    }
}

/// Writes the lanes' stars, and lists the sites without one.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn write(site: u32, is_there: bool, count: u32, list: SharedArray<u32>, rough: &Rough<'_>) {
    // SAFETY: passed on to the caller; each lane reads its own list.
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
        rough.starts.set(site, start);
        if count == 0 {
            rough.listed.set(listed + (left & warp::lanes_below()).count_ones(), site);
        }
        let mut i = 0;
        while i < vector::unknown(count) {
            rough.neighbours.set(start + i, list.load(i * warp::SIZE));
            i += 1;
        }
    }
}

/// The sites in a box around those of the warp.
struct Window {
    /// x and y of each relative to the group's origin, the square of both, and its number.
    sites: SharedArray<Vector>,
    /// How many there are; 0 where they were too many.
    count: u32,
    /// All sites within these bounds are there.
    bounds: [f32; 4],
}

impl Window {
    /// Collects them.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn around(tree: &Tree<'_, f64>, group: &Group, sites: SharedArray<Vector>) -> Self {
        let [west, south, east, north] = group.bounds();
        let (width, height) = (east - west, north - south);
        let mean = math::sqrt_f32(width * height * (1.0 / FANOUT as f32));
        let (mut margin, mut attempts) = (MARGIN * mean, 0);
        let mut window = Self { sites, count: 0, bounds: [0.0; 4] };
        // SAFETY: passed on to the caller.
        unsafe {
            while attempts < vector::unknown(ATTEMPTS) {
                window.count = 0;
                window.bounds = [west - margin, south - margin, east + margin, north + margin];
                walk(tree, group, &mut window);
                if window.count <= MOST {
                    break;
                }
                margin *= 0.5;
                attempts += 1;
            }
            warp::sync_warp(warp::FULL);
        }
        if window.count > MOST {
            window.count = 0;
        }
        window
    }

    #[inline(always)]
    fn holds(&self, x: f32, y: f32) -> bool {
        let [west, south, east, north] = self.bounds;
        x >= west && x <= east && y >= south && y <= north
    }

    /// The farthest that a coordinate is from the origin.
    #[inline(always)]
    fn reach(&self) -> f32 {
        let [west, south, east, north] = self.bounds;
        f32::max(f32::max(west.abs(), east.abs()), f32::max(south.abs(), north.abs()))
    }

    /// A site: x, y, the square, its number.
    ///
    /// # Safety
    /// There is such a one.
    #[inline(always)]
    unsafe fn site(&self, i: u32) -> (f32, f32, f32, u32) {
        // SAFETY: passed on to the caller.
        let [x, y, square, number] = unsafe { self.sites.load(i) };
        (f32::from_bits(x), f32::from_bits(y), f32::from_bits(square), number)
    }
}

impl Visitor<f64> for Window {
    const NEAREST_FIRST: bool = false;
    const SKIPS_REPEATED: bool = false;

    #[inline(always)]
    fn reach(&self) -> u32 {
        if self.count > MOST { 0 } else { u32::MAX }
    }

    #[inline(always)]
    fn wants(&self, _: &Group, [west, south, east, north]: [f32; 4]) -> bool {
        let own = self.bounds;
        west <= own[2] && east >= own[0] && south <= own[3] && north >= own[1]
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, f64>, group: &Group, leaf: u32) {
        let (is_there, x, y) = tree.point(group, leaf);
        let is_inside = is_there && self.holds(x, y);
        // SAFETY: passed on to the caller; the lanes write different elements.
        unsafe {
            let inside = warp::ballot(warp::FULL, is_inside);
            let at = self.count + (inside & warp::lanes_below()).count_ones();
            if is_inside && at < MOST {
                let square = math::mul_add_f32(x, x, y * y);
                let number = leaf * FANOUT + warp::lane_id();
                self.sites.store(at, [x.to_bits(), y.to_bits(), square.to_bits(), number]);
            }
            self.count += inside.count_ones();
        }
    }
}

/// The star of a lane's site.
struct Star<'a> {
    tree: &'a Tree<'a, f64>,
    predicates: Predicates,
    group: &'a Group,
    site: u32,
    place: Place,
}

impl Star<'_> {
    #[inline(always)]
    fn place_of(&self, site: u32) -> Place {
        [self.tree.x.get(site), self.tree.y.get(site)]
    }

    #[inline(always)]
    fn way(&self, to: Place) -> Place {
        [to[0] - self.place[0], to[1] - self.place[1]]
    }

    /// Writes the neighbours, each [`warp::SIZE`] elements after the one before, and gives their number: 0 where the window does
    /// not tell them all.
    ///
    /// # Safety
    /// The whole warp comes to the same call; there is room for [`LONGEST`] neighbours.
    #[inline(always)]
    unsafe fn make(&self, window: &Window, is_there: bool, list: SharedArray<u32>) -> u32 {
        if window.count == 0 {
            return 0;
        }
        // SAFETY: passed on to the caller; the list is the lane's own.
        unsafe {
            let first = if is_there { self.nearest(window) } else { NONE };
            let (mut neighbour, mut count, mut closes) = (first, 0, false);
            let mut goes_on = first != NONE;
            while warp::any(warp::FULL, goes_on) {
                if goes_on {
                    list.store(count * warp::SIZE, neighbour);
                    count += 1;
                    neighbour = self.apex(window, neighbour);
                    closes = neighbour == first;
                    goes_on = neighbour != NONE && !closes && count < LONGEST;
                }
            }
            if closes { count } else { 0 }
        }
    }

    /// The nearest site; [`NONE`] where the window does not tell.
    ///
    /// # Safety
    /// The window has sites.
    #[inline(always)]
    unsafe fn nearest(&self, window: &Window) -> u32 {
        let (mut least, mut i) = (f32::INFINITY, 0);
        // SAFETY: passed on to the caller.
        unsafe {
            while i < vector::unknown(window.count) {
                let (x, y, _, number) = window.site(i);
                let squared = self.group.squared(x, y);
                if squared < least && number != self.site {
                    least = squared;
                }
                i += 1;
            }
            let limit = self.group.bound(least);
            let [x, y] = [self.group.x, self.group.y];
            let radius = math::sqrt_f32(limit) * (1.0 + 1e-6) + 1e-6 * window.reach();
            // Also where it is not a number.
            if !(window.holds(x - radius, y - radius) && window.holds(x + radius, y + radius)) {
                return NONE;
            }
            let (mut found, mut place, mut i) = (NONE, self.place, 0);
            while i < vector::unknown(window.count) {
                let (x, y, _, number) = window.site(i);
                if self.group.squared(x, y) <= limit && number != self.site {
                    let other = self.place_of(number);
                    if found == NONE || self.predicates.nearer(self.place, other, place) > 0 {
                        (found, place) = (number, other);
                    }
                }
                i += 1;
            }
            found
        }
    }

    /// The third corner to the left of the edge to a neighbour; [`NONE`] where the window does not tell.
    ///
    /// # Safety
    /// The window has sites.
    #[inline(always)]
    unsafe fn apex(&self, window: &Window, neighbour: u32) -> u32 {
        let end = self.place_of(neighbour);
        let way = self.way(end);
        // SAFETY: passed on to the caller.
        let mut found = unsafe { self.guess(window, way) };
        if found == NONE {
            return NONE;
        }
        let mut place = self.place_of(found);
        if self.predicates.orientation(self.place, end, place) <= 0 {
            return NONE;
        }
        let mut circle = Circle::through(way, self.way(place));
        let mut test = Test::of(&circle, self, window);
        let mut i = 0;
        // A better corner's circle holds nothing on the left that the one before did not hold: one pass is enough.
        while i < vector::unknown(window.count) {
            // SAFETY: passed on to the caller.
            let (x, y, square, number) = unsafe { window.site(i) };
            i += 1;
            if test.tells_outside(x, y, square)
                || number == self.site
                || number == neighbour
                || number == found
            {
                continue;
            }
            let other = self.place_of(number);
            if self.predicates.orientation(self.place, end, other) > 0
                && self.predicates.is_inside(self.place, end, place, other)
            {
                (found, place) = (number, other);
                circle = Circle::through(way, self.way(place));
                test = Test::of(&circle, self, window);
            }
        }
        if self.lies_within(&circle, window) { found } else { NONE }
    }

    /// The site to the left of a way whose circle reaches least far, as f32 has it; [`NONE`] where there is none.
    ///
    /// The centres of circles through both ends lie on one line, each so far along it as a quotient says.
    ///
    /// # Safety
    /// The window has sites.
    #[inline(always)]
    unsafe fn guess(&self, window: &Window, way: Place) -> u32 {
        let [ax, ay] = way.map(|along| self.group.origin.length(along));
        let (mut best, mut over, mut under) = (NONE, 1.0, 0.0);
        let mut i = 0;
        while i < vector::unknown(window.count) {
            // SAFETY: passed on to the caller.
            let (x, y, _, number) = unsafe { window.site(i) };
            let [x, y] = [x - self.group.x, y - self.group.y];
            let left = math::mul_add_f32(ax, y, -(ay * x));
            let height = math::mul_add_f32(x, x - ax, y * (y - ay));
            if left > 0.0 && height * under < over * left {
                (best, over, under) = (number, height, left);
            }
            i += 1;
        }
        best
    }

    /// Whether a circle, seen from the site, lies in the window.
    #[inline(always)]
    fn lies_within(&self, circle: &Circle, window: &Window) -> bool {
        let half = 0.5 / circle.w;
        let centre = [-circle.u * half, -circle.v * half];
        let part = circle.errors[2] / circle.w;
        let error = (circle.errors[0] + circle.errors[1]) * half
            + (centre[0].abs() + centre[1].abs()) * part;
        let radius = math::sqrt(centre[0] * centre[0] + centre[1] * centre[1]);
        let scale = self.group.origin.scale();
        let slack = 1e-6 * window.reach() as f64;
        let reach = (radius * (1.0 + 1e-9) + 4.0 * error) * scale + slack;
        let [x, y] = [
            self.group.x as f64 + centre[0] * scale,
            self.group.y as f64 + centre[1] * scale,
        ];
        let [west, south, east, north] = window.bounds.map(|side| side as f64);
        // False where something is not a number.
        part < 1e-3
            && x - reach >= west
            && x + reach <= east
            && y - reach >= south
            && y + reach <= north
    }
}

/// A circle in f32, as a function of places relative to the group's origin: `square (x^2 + y^2) + x_factor x + y_factor y +
/// constant` is above `bound` for a place that is outside.
struct Test {
    square: f32,
    x: f32,
    y: f32,
    constant: f32,
    bound: f32,
}

impl Test {
    #[inline(always)]
    fn of(circle: &Circle, star: &Star<'_>, window: &Window) -> Self {
        let origin = &star.group.origin;
        let [x, y] = origin.way(star.place);
        let &Circle { u, v, w, .. } = circle;
        let [of_x, of_y] = [u - 2.0 * w * x, v - 2.0 * w * y];
        let constant = w * (x * x + y * y) - u * x - v * y;
        let unit = 1.0 / origin.scale();
        let reach = window.reach() as f64 * unit;
        let sum = w.abs() * 2.0 * reach * reach
            + (of_x.abs() + of_y.abs()) * reach
            + constant.abs()
            + (u.abs() + v.abs()) * reach;
        let part = 1.0 / sum;
        let far = 2.0 * reach;
        Self {
            square: (w * part * unit * unit) as f32,
            x: (of_x * part * unit) as f32,
            y: (of_y * part * unit) as f32,
            constant: (constant * part) as f32,
            bound: (ERROR + circle.bound([far, far]) * part * 2.0) as f32,
        }
    }

    /// Whether a place lies outside for sure.
    #[inline(always)]
    fn tells_outside(&self, x: f32, y: f32, square: f32) -> bool {
        let linear = math::mul_add_f32(self.x, x, math::mul_add_f32(self.y, y, self.constant));
        math::mul_add_f32(self.square, square, linear) > self.bound
    }
}
