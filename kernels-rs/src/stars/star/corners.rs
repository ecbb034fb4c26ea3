//! The two searches of a warp among sites: for the nearest one, and for the third corner of a Delaunay triangle.
//!
//! A [`Visitor`] gets up to 32 sites at a time, one a lane.
//!
//! ```text
//! visit(sites):
//!     each lane: may its site be inside the present circle?      f64 with a bound: a cheap filter
//!     while a predicate says that some lane's site is inside:
//!         of these the one whose circle reaches least far becomes the corner; the circle shrinks
//!     return whether the corner has changed: then fewer boxes are wanted
//! ```
//!
//! The approximate reach only chooses which site comes first, so it need not be exact. The loop ends when predicates
//! find no site inside, whatever the order was: so the corner is right. If a predicate leaves a decision open, the
//! answer does not count.

use device_std::{math, vector, warp};

use crate::spatial::place::Bounds;
use crate::stars::angles::{square, way};
use crate::stars::circle::{Circle, ROUNDING};
use crate::stars::predicates::{Decide, Decided, Place, Quick, Seen, is_before};
use crate::stars::rough::NONE;

/// The key of a lane without a site to offer: above all others.
pub const DONE: u32 = u32::MAX;

/// A search: it wants boxes that may hold a better site, and tests sites. Its answer is the same in all lanes.
pub trait Visitor {
    /// Whether a box may hold a site that counts.
    fn wants(&self, bounds: Bounds<f64, 2>) -> bool;

    /// Tests sites; this lane has one if `is_there`. Returns whether fewer boxes are wanted now.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    unsafe fn visit(&mut self, site: u32, place: Place, is_there: bool) -> bool;

    /// The best site so far; [`NONE`] before there is one.
    fn found(&self) -> u32;

    /// Whether a decision was left open. Then nothing more is wanted.
    fn is_undecided(&self) -> bool;
}

/// The bits of an f32, mapped so that they have the order of the numbers, negative ones too; below [`DONE`].
#[inline(always)]
fn key(number: f32) -> u32 {
    let bits = number.to_bits();
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    u32::min(ordered, DONE - 1)
}

/// The upper word of a number of at least 0, which has the order of the numbers; below [`DONE`]. A warp's minimum takes
/// 32 bits: numbers with the same upper word may come in any order.
#[inline(always)]
pub fn rank(number: f64) -> u32 {
    u32::min((number.to_bits() >> 32) as u32, DONE - 1)
}

/// The squared distance between a place and a box.
#[inline(always)]
pub fn squared(at: Place, [[west, south], [east, north]]: Bounds<f64, 2>) -> f64 {
    let x = f64::max(f64::max(west - at[0], at[0] - east), 0.0);
    let y = f64::max(f64::max(south - at[1], at[1] - north), 0.0);
    x * x + y * y
}

/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn shuffled(place: Place, lane: u32) -> Place {
    // SAFETY: passed on to the caller.
    place.map(|along| unsafe { warp::shuffle(warp::FULL, along, lane) })
}

/// Whether `is` holds in any lane.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn is_anywhere(is: bool) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { warp::any(warp::FULL, is) }
}

/// Which sites count: all, or those before or after the site by x, then by y. On a line these are its two sides.
#[derive(Clone, Copy, PartialEq)]
pub enum Which {
    /// Every site.
    All,
    /// The sites before it.
    Before,
    /// The sites after it.
    After,
}

/// The nearest site so far.
pub struct Nearest<D> {
    predicates: D,
    at: Place,
    site: u32,
    which: Which,
    /// The site; [`NONE`] before there is one.
    pub found: u32,
    place: Place,
    /// Its squared distance, rounded up.
    squared: f64,
    is_undecided: bool,
}

impl<D: Decide> Nearest<D> {
    /// Nothing found yet, around a site.
    #[inline(always)]
    pub fn new(predicates: D, (site, at): (u32, Place), which: Which) -> Self {
        let (found, squared) = (NONE, f64::INFINITY);
        Self { predicates, at, site, which, found, place: at, squared, is_undecided: false }
    }

    /// Whether a place is nearer than the present one. Of places at the same distance the first by x, then by y, counts
    /// as nearer: so the same site is found whichever leaf comes first.
    #[inline(always)]
    fn is_nearer(&self, place: Place) -> Decided<bool, D> {
        let [other, own] = [place, self.place].map(|place| Seen::from(self.at, place));
        let places = || [self.at, place, self.place];
        let order = self.predicates.seen_nearer(&other, &own, places)?;
        Ok(order > 0.0 || order == 0.0 && is_before(place, self.place))
    }
}

impl<D: Decide> Visitor for Nearest<D> {
    #[inline(always)]
    fn found(&self) -> u32 {
        self.found
    }

    #[inline(always)]
    fn wants(&self, bounds: Bounds<f64, 2>) -> bool {
        squared(self.at, bounds) <= self.squared && !self.is_undecided
    }

    #[inline(always)]
    fn is_undecided(&self) -> bool {
        self.is_undecided
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
                let decided = match is_open && squared <= self.squared {
                    true if self.found != NONE => self.is_nearer(place),
                    stays => Ok(stays),
                };
                self.is_undecided |= !D::IS_EXACT && is_anywhere(decided.is_err());
                is_open = matches!(decided, Ok(true)) && !self.is_undecided;
                let least = warp::min(if is_open { own } else { DONE });
                if least == DONE {
                    break;
                }
                // The nearest site of the lanes comes first, so that mostly one turn is enough.
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
pub struct Apex<D> {
    predicates: D,
    /// Where the edge's ends lie.
    edge: [Place; 2],
    sites: [u32; 2],
    /// The vector from the first end to the second.
    way: Place,
    /// The site; [`NONE`] before there is one.
    pub found: u32,
    place: Place,
    /// The circle through the edge's ends and the corner, relative to the end nearer to the corner. Relative to the far
    /// end of a long edge, rounding would widen the bound beyond the circle itself, and every box would be wanted.
    circle: Circle,
    /// Whether the circle is relative to the edge's first end.
    is_from_first: bool,
    is_undecided: bool,
}

impl<D: Decide> Apex<D> {
    /// No corner yet for an edge between two sites.
    #[inline(always)]
    pub fn new(predicates: D, sites: [u32; 2], edge: [Place; 2]) -> Self {
        let [from, to] = edge;
        Self {
            predicates,
            edge,
            sites,
            way: way(from, to),
            found: NONE,
            place: to,
            circle: Circle::EVERYTHING,
            is_from_first: true,
            is_undecided: false,
        }
    }

    /// Makes `circle` the circle through the present corner.
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

    /// Whether a place is a better corner than the present one.
    #[inline(always)]
    fn is_better(&self, place: Place) -> Decided<bool, D> {
        let [from, to] = self.edge;
        let is_left = self.predicates.side(from, to, place)? > 0.0;
        match is_left && self.found != NONE {
            true => self.predicates.is_within([from, to, self.place], place),
            false => Ok(is_left),
        }
    }
}

impl<D: Decide> Visitor for Apex<D> {
    #[inline(always)]
    fn found(&self) -> u32 {
        self.found
    }

    #[inline(always)]
    fn wants(&self, [[west, south], [east, north]]: Bounds<f64, 2>) -> bool {
        let ([from, to], [x, y]) = (self.edge, self.way);
        let o = self.origin();
        let seen = [[west - o[0], south - o[1]], [east - o[0], north - o[1]]];
        // The corner of the box that lies farthest to the left of the edge: if it is not on the left, no site of the
        // box is.
        let corner = [if y > 0.0 { west } else { east }, if x > 0.0 { north } else { south }];
        // A box is wanted if f64 does not decide: an extra box costs time, a missing one a wrong corner.
        let quick = Quick(*self.predicates.predicates());
        let is_left = quick.side(from, to, corner).map_or(true, |side| side > 0.0);
        self.circle.may_meet(seen) && is_left && !self.is_undecided
    }

    #[inline(always)]
    fn is_undecided(&self) -> bool {
        self.is_undecided
    }

    #[inline(always)]
    unsafe fn visit(&mut self, site: u32, place: Place, is_there: bool) -> bool {
        let ([from, _], [x, y]) = (self.edge, self.way);
        let seen = way(from, place);
        let mut is_open = is_there
            && site != self.sites[0]
            && site != self.sites[1]
            && self.circle.may_hold(way(self.origin(), place));
        // SAFETY: passed on to the caller.
        if unsafe { !warp::any(warp::FULL, is_open) } {
            return false;
        }
        // How far the circle's centre lies to the left, in halves of the edge's length: `t` of `near::reach`. In f32,
        // since it only orders the lanes.
        let height = seen[0] * (seen[0] - x) + seen[1] * (seen[1] - y);
        let left = x * seen[1] - y * seen[0];
        let reach = height as f32 * math::reciprocal_f32(left as f32);
        let (own, before) = (key(reach), self.found);
        // SAFETY: passed on to the caller.
        unsafe {
            while vector::unknown(1) == 1 {
                // Each lane decides about its own site. On the left circles only shrink: a site that is outside now
                // stays outside.
                let decided = match is_open && self.circle.may_hold(way(self.origin(), place)) {
                    true => self.is_better(place),
                    false => Ok(false),
                };
                self.is_undecided |= !D::IS_EXACT && is_anywhere(decided.is_err());
                is_open = matches!(decided, Ok(true)) && !self.is_undecided;
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
