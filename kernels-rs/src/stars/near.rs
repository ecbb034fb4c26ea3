//! Stars of 32 sites that follow each other, from the sites around them in shared memory.
//!
//! Plan:
//!
//! 1. The warp brings the sites in a window around its own ones into shared memory: in f32, relative to one of them.
//! 2. Each lane goes around its site. From the nearest site on it finds of each edge the third corner on its left: that whose
//!    circle with the edge's ends reaches least far, as f32 has it. If the next best reaches farther by more than rounding can
//!    explain, the corner is right. If not, f32 tells with a bound of its error which sites may lie inside of the circle
//!    after all, and [`Predicates`] decide.
//! 3. If the circle lies in the window, no other site can lie inside. If it does not, or there is no corner, or too many
//!    neighbours, the site is listed for [`find_far_stars`](mod@super::find_far_stars).
//!
//! All lanes look at the same site of the window at the same time, so nothing diverges but decisions.
//!
//! # How far a circle reaches
//!
//! The centres of circles through both ends `0` and `a` of an edge lie on the line through its middle across it: that of the
//! circle through a place `c` at `(a + t a') / 2`, with `a'` for `a` turned left, and `t = height / left`:
//!
//! ```text
//! left   = a x c           twice the area of the triangle
//! height = c . (c - a)
//! ```
//!
//! Places in the window are at most `W` from the origin along an axis, and rounded by `u = 2^-24` of that; so is the site's, and
//! their difference is wrong by `4 u W`. With `|a|` for the sum of its coordinates' magnitudes:
//!
//! - `left` is wrong by less than `12 u W |a|`;
//! - `height` of a place that is nearer to the site than `2 |a|`, by less than `28 u W |a|`; of one farther away, where it is
//!   at least half the square of its distance, by less than a part `28 u W / |a|`.
//!
//! Each place gets the least `t` that it may have so. Where that of the next best is above the greatest that the best may
//! have, f32 has decided.

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

/// Half a unit in the last place of 1.
const HALF_ULP: f32 = 1.0 / (1u32 << 24) as f32;

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
// What spills is around calls of exact decisions, to which few lanes come.
#[kernel(block = BLOCK, shared = SHARED, resident = 8, spills = 1300)]
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
        // Products of four lengths within the window stay within f32.
        let own = [place[0], place[1], place[0], place[1]];
        let Some(group) = Group::of_size(place, is_there, own, 0) else {
            return;
        };
        let window = Window::around(&tree, &group, room.skip(warp::warp_id() * MOST));
        let star =
            Star { tree: &tree, predicates: Predicates::new(unit), group: &group, site, place };
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
                // What another lane wrote in the attempt before is overwritten.
                warp::sync_warp(warp::FULL);
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
        let (mut least, mut next, mut found, mut i) = (f32::INFINITY, f32::INFINITY, NONE, 0);
        // SAFETY: passed on to the caller.
        unsafe {
            while i < vector::unknown(window.count) {
                let (x, y, _, number) = window.site(i);
                i += 1;
                let squared = self.group.squared(x, y);
                if number != self.site {
                    next = f32::min(next, f32::max(squared, least));
                    found = if squared < least { number } else { found };
                    least = f32::min(least, squared);
                }
            }
            let limit = self.group.bound(least);
            let [x, y] = [self.group.x, self.group.y];
            let radius = math::sqrt_f32(limit) * (1.0 + 1e-6) + 1e-6 * window.reach();
            // Also where it is not a number.
            if !(window.holds(x - radius, y - radius) && window.holds(x + radius, y + radius)) {
                return NONE;
            }
            if next > limit {
                return found;
            }
            let (mut place, mut i) = (self.place_of(found), 0);
            while i < vector::unknown(window.count) {
                let (x, y, _, number) = window.site(i);
                if self.group.squared(x, y) <= limit && number != self.site && number != found {
                    let other = self.place_of(number);
                    if self.predicates.nearer(self.place, other, place) > 0 {
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
        let way = self.way(end).map(|along| self.group.origin.length(along));
        // SAFETY: passed on to the caller.
        let corner = unsafe { self.corner(window, neighbour, way) };
        if corner.site == NONE {
            return NONE;
        }
        if !corner.is_sure {
            // SAFETY: passed on to the caller.
            return unsafe { self.decided(window, (neighbour, end), corner.site) };
        }
        let [x, y] = way;
        let [dx, dy] = [0.5 * (x - corner.reach * y), 0.5 * (y + corner.reach * x)];
        let error = corner.error * (x.abs() + y.abs()) + 1e-5 * window.reach();
        let radius = math::sqrt_f32(dx * dx + dy * dy) * (1.0 + 1e-5) + 2.0 * error;
        let [x, y] = [self.group.x + dx, self.group.y + dy];
        // False where something is not a number.
        let is_within =
            window.holds(x - radius, y - radius) && window.holds(x + radius, y + radius);
        if is_within { corner.site } else { NONE }
    }

    /// The site to the left of the way to a neighbour whose circle reaches least far, as f32 has it.
    ///
    /// # Safety
    /// The window has sites.
    #[inline(always)]
    unsafe fn corner(&self, window: &Window, neighbour: u32, [ax, ay]: [f32; 2]) -> Corner {
        let length = ax.abs() + ay.abs();
        let rounding = HALF_ULP * window.reach();
        let (of_height, of_left) = (28.0 * rounding * length, 12.0 * rounding * length);
        let (mut best, mut next, mut site) = (f32::INFINITY, f32::INFINITY, NONE);
        let (mut left_of_best, mut i) = (0.0, 0);
        while i < vector::unknown(window.count) {
            // SAFETY: passed on to the caller.
            let (x, y, _, number) = unsafe { window.site(i) };
            i += 1;
            let [x, y] = [x - self.group.x, y - self.group.y];
            let left = math::mul_add_f32(ax, y, -(ay * x));
            let height = math::mul_add_f32(x, x - ax, math::mul_add_f32(y, y - ay, -of_height));
            let divisor = f32::max(left + of_left.copysign(height), f32::MIN_POSITIVE);
            let t = height * math::reciprocal_f32(divisor);
            if left > -of_left && number != self.site && number != neighbour {
                next = f32::min(next, f32::max(t, best));
                (site, left_of_best) = if t < best { (number, left) } else { (site, left_of_best) };
                best = f32::min(best, t);
            }
        }
        let error =
            4.0 * (of_height + best.abs() * of_left) / left_of_best + 8.0 * HALF_ULP * best.abs();
        // That of places far away is a part.
        let next = f32::min(next, next * (1.0 - 40.0 * rounding / length));
        let is_sure = left_of_best > 4.0 * of_left && next > best + error;
        Corner { site, reach: best, error, is_sure }
    }

    /// The third corner where f32 does not tell which of some is the right one.
    ///
    /// # Safety
    /// The window has sites; `found` is one of them.
    #[inline(always)]
    unsafe fn decided(
        &self,
        window: &Window,
        (neighbour, end): (u32, Place),
        mut found: u32,
    ) -> u32 {
        let way = self.way(end);
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
        let [x, y] =
            [self.group.x as f64 + centre[0] * scale, self.group.y as f64 + centre[1] * scale];
        let [west, south, east, north] = window.bounds.map(|side| side as f64);
        // False where something is not a number.
        part < 1e-3
            && x - reach >= west
            && x + reach <= east
            && y - reach >= south
            && y + reach <= north
    }
}

/// A third corner of a triangle.
struct Corner {
    /// Which site; [`NONE`] where there is none.
    site: u32,
    /// How far its circle reaches at least, and how much farther it may.
    reach: f32,
    error: f32,
    /// Whether it is the right one, if no site beyond the window is.
    is_sure: bool,
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
