//! What a warp looks for among sites: the nearest one, and the third corner of a Delaunay triangle.
//!
//! A [`Visitor`] is shown sites, a lane has one. f64 tells with a bound of its error which sites may be inside the present circle
//! ([`Circle`]). Of those the one whose circle reaches least far is the next candidate, until none is inside; [`Predicates`] decide.

use device_std::{math, vector, warp};

use super::angles::square;
use super::circle::{Circle, ROUNDING};
use super::predicates::{Place, Predicates, is_before};
use super::rough::NONE;

/// Stands for a lane that has nothing.
pub const DONE: u32 = u32::MAX;

/// Which boxes a walk wants, and what it does with the sites of a leaf. The same for all lanes.
pub trait Visitor {
    /// Whether a box may hold a site that counts.
    fn wants(&self, bounds: [f64; 4]) -> bool;

    /// Looks at sites, of which this lane has one, if `is_there`. Gives whether fewer boxes count now.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    unsafe fn visit(&mut self, site: u32, place: Place, is_there: bool) -> bool;

    /// What was found; [`NONE`] before there is something.
    fn found(&self) -> u32;
}

/// The bits of a number as f32, in the order of the numbers; below [`DONE`].
#[inline(always)]
fn key(number: f32) -> u32 {
    let bits = number.to_bits();
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    u32::min(ordered, DONE - 1)
}

/// The upper bits of a number of at least 0, in the order of the numbers; below [`DONE`].
#[inline(always)]
pub fn rank(number: f64) -> u32 {
    u32::min((number.to_bits() >> 32) as u32, DONE - 1)
}

/// The squared distance between a place and a box.
#[inline(always)]
pub fn squared(at: Place, [west, south, east, north]: [f64; 4]) -> f64 {
    let x = f64::max(f64::max(west - at[0], at[0] - east), 0.0);
    let y = f64::max(f64::max(south - at[1], at[1] - north), 0.0);
    x * x + y * y
}

#[inline(always)]
fn way(from: Place, to: Place) -> Place {
    [to[0] - from[0], to[1] - from[1]]
}

/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn shuffled(place: Place, lane: u32) -> Place {
    // SAFETY: passed on to the caller.
    place.map(|along| unsafe { warp::shuffle(warp::FULL, along, lane) })
}

/// Which sites count: all, or those before or after one by x, then by y, which are its two sides on a line.
#[derive(Clone, Copy, PartialEq)]
pub enum Which {
    /// Every site.
    All,
    /// Those before it.
    Before,
    /// Those after it.
    After,
}

/// The nearest site so far.
pub struct Nearest {
    predicates: Predicates,
    at: Place,
    site: u32,
    which: Which,
    /// Which site; [`NONE`] before there is one.
    pub found: u32,
    place: Place,
    /// Its squared distance, rounded up.
    squared: f64,
}

impl Nearest {
    /// Nothing found yet, around a site.
    #[inline(always)]
    pub fn new(predicates: Predicates, (site, at): (u32, Place), which: Which) -> Self {
        Self { predicates, at, site, which, found: NONE, place: at, squared: f64::INFINITY }
    }

    /// Whether a place is nearer than the present one. Of places as near the first by x, then by y, counts as nearer: so the
    /// same site is found whichever leaf comes first.
    #[inline(always)]
    fn is_nearer(&self, place: Place) -> bool {
        let order = self.predicates.nearer(self.at, place, self.place);
        order > 0 || order == 0 && is_before(place, self.place)
    }
}

impl Visitor for Nearest {
    #[inline(always)]
    fn found(&self) -> u32 {
        self.found
    }

    #[inline(always)]
    fn wants(&self, bounds: [f64; 4]) -> bool {
        squared(self.at, bounds) <= self.squared
    }

    #[inline(always)]
    unsafe fn visit(&mut self, site: u32, place: Place, is_there: bool) -> bool {
        let [x, y] = way(self.at, place);
        let squared = x * x + y * y;
        let counts = match self.which {
            Which::All => true,
            Which::Before => is_before(place, self.at),
            Which::After => is_before(self.at, place),
        };
        let mut is_open = is_there && counts && site != self.site;
        let (own, before) = (rank(squared), self.found);
        // SAFETY: passed on to the caller.
        unsafe {
            while vector::unknown(1) == 1 {
                // Each lane decides about its own site.
                is_open = is_open
                    && squared <= self.squared
                    && (self.found == NONE || self.is_nearer(place));
                let least = warp::min(if is_open { own } else { DONE });
                if least == DONE {
                    break;
                }
                let of = warp::ballot(warp::FULL, is_open && own == least).trailing_zeros();
                is_open = is_open && warp::lane_id() != of;
                self.found = warp::shuffle(warp::FULL, site, of);
                self.place = shuffled(place, of);
                self.squared = warp::shuffle(warp::FULL, squared, of) * (1.0 + ROUNDING);
            }
        }
        self.found != before
    }
}

/// The best third corner so far of the triangle to the left of an edge.
pub struct Apex {
    predicates: Predicates,
    /// Where the edge's ends lie.
    edge: [Place; 2],
    sites: [u32; 2],
    /// The way between the two.
    way: Place,
    /// Which site; [`NONE`] before there is one.
    pub found: u32,
    place: Place,
    /// The circle through the edge's ends and the corner, relative to the end nearer to the corner. Relative to a far end, rounding
    /// would hide where the circle passes.
    circle: Circle,
    /// Whether the circle is relative to the edge's first end.
    is_from_first: bool,
}

impl Apex {
    /// No corner yet for an edge between two sites.
    #[inline(always)]
    pub fn new(predicates: Predicates, sites: [u32; 2], edge: [Place; 2]) -> Self {
        let [from, to] = edge;
        let (circle, way) = (Circle::EVERYTHING, way(from, to));
        Self { predicates, edge, sites, way, found: NONE, place: to, circle, is_from_first: true }
    }

    /// Makes the circle that of the present corner.
    #[inline(always)]
    fn pass_through_corner(&mut self) {
        let [from, to] = self.edge;
        let (to_first, to_second) = (way(self.place, from), way(self.place, to));
        self.is_from_first = square(to_first) <= square(to_second);
        let [first, second] =
            if self.is_from_first { [to, self.place] } else { [self.place, from] };
        self.circle = Circle::through(way(self.origin(), first), way(self.origin(), second));
    }

    /// Returns the end of the edge that the circle is relative to.
    #[inline(always)]
    fn origin(&self) -> Place {
        if self.is_from_first { self.edge[0] } else { self.edge[1] }
    }

    /// The circle through the edge's ends and the corner, and the end that it is seen from.
    #[inline(always)]
    pub fn circle(&self) -> (Circle, u32) {
        (self.circle, if self.is_from_first { self.sites[0] } else { self.sites[1] })
    }
}

impl Visitor for Apex {
    #[inline(always)]
    fn found(&self) -> u32 {
        self.found
    }

    #[inline(always)]
    fn wants(&self, [west, south, east, north]: [f64; 4]) -> bool {
        let ([from, to], [x, y]) = (self.edge, self.way);
        let o = self.origin();
        let seen = [west - o[0], south - o[1], east - o[0], north - o[1]];
        // The box's farthest corner to the left of the edge.
        let corner = [if y > 0.0 { west } else { east }, if x > 0.0 { north } else { south }];
        self.circle.may_meet(seen) && self.predicates.orientation(from, to, corner) > 0
    }

    #[inline(always)]
    unsafe fn visit(&mut self, site: u32, place: Place, is_there: bool) -> bool {
        let ([from, to], [x, y]) = (self.edge, self.way);
        let seen = way(from, place);
        let mut is_open = is_there
            && site != self.sites[0]
            && site != self.sites[1]
            && self.circle.may_hold(way(self.origin(), place));
        // SAFETY: passed on to the caller.
        if unsafe { !warp::any(warp::FULL, is_open) } {
            return false;
        }
        // How far the circle's centre lies to the left, in lengths of the edge.
        let height = seen[0] * (seen[0] - x) + seen[1] * (seen[1] - y);
        let left = x * seen[1] - y * seen[0];
        let reach = height as f32 * math::reciprocal_f32(left as f32);
        let (own, before) = (key(reach), self.found);
        // SAFETY: passed on to the caller.
        unsafe {
            while vector::unknown(1) == 1 {
                // Each lane decides about its own site. One that is outside now is outside of all better circles.
                is_open = is_open
                    && self.circle.may_hold(way(self.origin(), place))
                    && self.predicates.orientation(from, to, place) > 0
                    && (self.found == NONE
                        || self.predicates.is_inside(from, to, self.place, place));
                let least = warp::min(if is_open { own } else { DONE });
                if least == DONE {
                    break;
                }
                let of = warp::ballot(warp::FULL, is_open && own == least).trailing_zeros();
                is_open = is_open && warp::lane_id() != of;
                self.found = warp::shuffle(warp::FULL, site, of);
                self.place = shuffled(place, of);
                self.pass_through_corner();
            }
        }
        self.found != before
    }
}
