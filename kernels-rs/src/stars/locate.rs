//! Where a place lies among the triangles of a Delaunay triangulation, and the place of the hull nearest to it.
//!
//! In: the stars of all sites, a place, and any site to begin with. Out: the triangle that holds the place, or the side
//! of the hull that it is on or beyond; the nearest site.
//!
//! ```text
//!          left . . . . .      locate   site = any
//!         / |     beyond         loop
//!       /   |  x   .                turn around the site to the place's direction: between right and left
//!  site     |    .                  x is not beyond right-left: it lies in this triangle
//!       \   |  .                    right-left is a side of the hull: x is beyond it
//!         \ |.                      site = left
//!          right
//! ```
//!
//! # Why it is right
//!
//! - Each turn and each step crosses an edge that the place lies beyond. In a Delaunay triangulation no such walk comes
//!   back to a triangle (De Floriani, Falcidieno, Nagy and Pienovi 1991, "On sorting triangles in a Delaunay
//!   tessellation", doi:10.1007/BF01759057).
//! - At a site of the hull, a place in the gap of the star is beyond the first or the last side, since the hull is
//!   convex. A place in line with such a side and behind its other end is sought from that end.
//! - A site without a nearer neighbour is the nearest of all, since neighbours alone bound its Voronoi cell. Of sites
//!   at the same distance the first by x, then by y, counts as the nearest.
//!
//! # What it costs
//!
//! The triangles on the way. A turn around a site of more than 16 neighbours takes the logarithm of their number, and the
//! walk turns around such a site rather than around its neighbours.

use device_std::vector;

use super::angles::{dot, square, way};
use super::neighbours::{Stars, after};
use super::predicates::{Decide, Decided, Predicates, Seen, is_before};

/// In a star of more neighbours than this, a direction is found by bisection.
const FEW: u32 = 16;

/// A place.
type P = [f64; 2];

/// A triangle: one of its corners, and in the star of this site the slot of the next corner counter-clockwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// A corner.
    pub site: u32,
    /// The slot of the next corner.
    pub slot: u32,
}

/// Where a place lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Located {
    /// On a site.
    OnSite(u32),
    /// In a triangle or on its border, and on no site.
    Inside(Triangle),
    /// On a side of the hull or beyond it, from one site to the next counter-clockwise.
    Side([u32; 2]),
}

/// What a site of the hull tells of a place.
enum AtHull {
    /// A triangle of the site lies in the place's direction.
    Inside,
    /// The place is on this side or beyond it.
    Side([u32; 2]),
    /// The place is in line with a side of the site, beyond this other end.
    Onward(u32),
}

/// The place of the hull that is nearest to a place outside or on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnHull {
    /// The ends of the side of the hull.
    pub ends: [u32; 2],
    /// How far along the side the place lies: 0 and 1 are the side's ends.
    pub part: f64,
    /// Whether the place is not on the hull itself.
    pub is_outside: bool,
}

/// A place among stars. Answers are exact; an answer is an error if the predicates leave a decision open.
#[derive(Clone, Copy)]
pub struct Query<'a, S, D = Predicates> {
    /// The sites.
    pub stars: &'a S,
    /// The predicates for the coordinates of sites and places.
    pub predicates: &'a D,
    /// The place.
    pub at: P,
}

impl<S: Stars, D: Decide> Query<'_, S, D> {
    /// Finds the nearest site, from any other one: goes to nearer neighbours until none is nearer.
    #[inline(always)]
    pub fn nearest(&self, hint: u32) -> Decided<u32, D> {
        let mut best = hint;
        let mut seen = self.see(hint);
        // Each site is nearer than the one before, so this ends. A site without a nearer neighbour is the nearest of
        // all: its Voronoi cell is bounded by its neighbours alone, and holds the place.
        loop {
            let here = best;
            let [mut at, end] = self.stars.star(here);
            while at < vector::unknown(end) {
                let other = self.stars.neighbour(at);
                let there = self.see(other);
                let places = || [self.at, self.stars.place(other), self.stars.place(best)];
                let order = self.predicates.seen_nearer(&there, &seen, places)?;
                let is_first = || {
                    let [_, other, best] = places();
                    is_before(other, best)
                };
                if order > 0.0 || order == 0.0 && is_first() {
                    (best, seen) = (other, there);
                }
                at += 1;
            }
            if best == here {
                return Ok(best);
            }
        }
    }

    /// Finds where the place lies, from any site, best one near it.
    ///
    /// On an edge, either of the edge's triangles may be the answer. Beyond the hull any side that the place is beyond
    /// may be; if all sites lie on a line, any side.
    #[inline(always)]
    pub fn locate(&self, from: u32) -> Decided<Located, D> {
        // The slot from which the place's direction is sought counter-clockwise.
        let (mut site, mut slot) = (from, self.stars.star(from)[0]);
        loop {
            let here = self.stars.place(site);
            if here == self.at {
                return Ok(Located::OnSite(site));
            }
            let star = self.stars.star(site);
            if self.stars.is_on_hull(site) {
                match self.at_hull(site, star)? {
                    AtHull::Inside => {}
                    AtHull::Side(side) => return Ok(Located::Side(side)),
                    AtHull::Onward(end) => {
                        (site, slot) = (end, self.stars.star(end)[0]);
                        continue;
                    }
                }
            }
            slot = self.wedge(site, star, slot)?;
            let next = after(slot, star);
            let [right, left] = [slot, next].map(|slot| self.stars.neighbour(slot));
            let at_right = self.stars.place(right);
            let side = self.predicates.side(at_right, self.stars.place(left), self.at)?;
            if side > 0.0 {
                return Ok(Located::Inside(Triangle { site, slot }));
            }
            if side == 0.0 && at_right == self.at {
                return Ok(Located::OnSite(right));
            }
            let of_left = self.stars.star(left);
            if self.stars.is_on_hull(left) && self.stars.neighbour(of_left[1] - 1) == right {
                return Ok(Located::Side([right, left]));
            }
            if side == 0.0 {
                return Ok(Located::Inside(Triangle { site, slot }));
            }
            // Around a site of many neighbours it is one turn.
            let of_right = self.stars.star(right);
            if is_long(of_right) {
                (site, slot) = (right, of_right[0]);
            } else if is_long(of_left) {
                (site, slot) = (left, of_left[0]);
            } else {
                // The site's slot in the left one's star; the right one follows it.
                let twin = self.stars.twin(next, || self.slot_of(left, site, here))?;
                (site, slot) = (left, after(twin, of_left));
            }
        }
    }

    /// The corners of a triangle, counter-clockwise from its site.
    #[inline(always)]
    pub fn corners(&self, Triangle { site, slot }: Triangle) -> [u32; 3] {
        let next = after(slot, self.stars.star(site));
        [site, self.stars.neighbour(slot), self.stars.neighbour(next)]
    }

    /// What a site of the hull tells of the place, which is not on the site. If all sites lie on a line, but not the place,
    /// it is the side towards the place.
    #[inline(always)]
    fn at_hull(&self, site: u32, [first, end]: [u32; 2]) -> Decided<AtHull, D> {
        if first == end {
            return Ok(AtHull::Side([site, site]));
        }
        let from = self.stars.place(site);
        let [after, before] = [self.stars.neighbour(first), self.stars.neighbour(end - 1)];
        let [next, last] = [self.stars.place(after), self.stars.place(before)];
        let is_towards = |other: P| dot(way(from, other), way(from, self.at)) > 0.0;
        let in_line_with = |end: u32, place: P, side: [u32; 2]| {
            let is_on_side = self.at != place && is_between(self.at, place, from);
            if is_on_side { AtHull::Side(side) } else { AtHull::Onward(end) }
        };
        let [of_next, of_last] = [
            self.predicates.side(from, next, self.at)?,
            self.predicates.side(last, from, self.at)?,
        ];
        if of_last == 0.0 && is_towards(last) {
            return Ok(in_line_with(before, last, [before, site]));
        }
        if of_next == 0.0 && is_towards(next) {
            return Ok(in_line_with(after, next, [site, after]));
        }
        if end - first <= 2 && self.predicates.side(last, from, next)? == 0.0 {
            // All sites lie on a line, and the place does not.
            let is_last = end - first == 2 && !is_towards(next) && is_towards(last);
            return Ok(AtHull::Side(if is_last { [before, site] } else { [site, after] }));
        }
        if of_last < 0.0 {
            return Ok(AtHull::Side([before, site]));
        }
        if of_next < 0.0 {
            return Ok(AtHull::Side([site, after]));
        }
        Ok(AtHull::Inside)
    }

    /// Finds the slot of a neighbour in a site's star.
    #[inline(always)]
    pub(super) fn slot_of(&self, site: u32, neighbour: u32, place: P) -> Decided<u32, D> {
        let star @ [first, end] = self.stars.star(site);
        if is_long(star) {
            return self.bisect(site, star, place);
        }
        let mut at = first;
        while at + 1 < vector::unknown(end) && self.stars.neighbour(at) != neighbour {
            at += 1;
        }
        Ok(at)
    }

    /// Finds the last neighbour, counter-clockwise, whose direction is not after the place's direction, from any slot. If
    /// the star has a gap, the place does not lie in it.
    #[inline(always)]
    fn wedge(&self, site: u32, star: [u32; 2], slot: u32) -> Decided<u32, D> {
        if is_long(star) {
            return self.bisect(site, star, self.at);
        }
        let from = self.stars.place(site);
        let side = |slot: u32| {
            let there = self.stars.place(self.stars.neighbour(slot));
            self.predicates.side(from, there, self.at)
        };
        let (mut slot, mut here) = (slot, side(slot)?);
        loop {
            let next = after(slot, star);
            let there = side(next)?;
            if here >= 0.0 && there < 0.0 {
                return Ok(slot);
            }
            (slot, here) = (next, there);
        }
    }

    /// The slot in a site's star of the last neighbour, counter-clockwise, whose direction is not after the direction of
    /// a place. If the star has a gap, the place does not lie in it, or the last neighbour is the answer. By bisection.
    #[inline(always)]
    pub fn bisect(&self, site: u32, [first, end]: [u32; 2], towards: P) -> Decided<u32, D> {
        let from = self.stars.place(site);
        let start = self.stars.place(self.stars.neighbour(first));
        let is_forward = is_before(from, start);
        // Whether a direction is half a turn or more after the first neighbour's. Directions in the same half compare
        // by `side`.
        let half = |place: P| {
            let side = self.predicates.side(from, start, place)?;
            Ok(side < 0.0 || side == 0.0 && is_before(from, place) != is_forward)
        };
        let is_late = half(towards)?;
        let (mut low, mut high) = (first, end);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let there = self.stars.place(self.stars.neighbour(middle));
            let comes_after = match (half(there)?, is_late) {
                (false, true) => false,
                (true, false) => true,
                _ => self.predicates.side(from, there, towards)? < 0.0,
            };
            if comes_after {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(low)
    }

    /// Finds the nearest place of the hull, from a side that the place is beyond or on. Cost: the sides between.
    #[inline(always)]
    pub fn project(&self, side: [u32; 2]) -> Decided<OnHull, D> {
        if self.is_on_side(side)? {
            return Ok(self.on_edge(side));
        }
        let [mut a, mut b] = side;
        let is_in_line = self.is_in_line(a)?;
        let mut turns = 0;
        // The hull is convex: along it the distance falls, then rises.
        loop {
            let part = self.part(a, b);
            let turn = (part > 1.0) as i32 - (part < 0.0) as i32;
            // The last step went the other way: the nearest place is the corner between.
            let is_at_corner = turn * turns < 0;
            // Seen from so far away that rounding decides, the distance may fall all around. Then all of the hull is as
            // near.
            let is_around = turns != 0 && [a, b] == side;
            if turn == 0 || is_at_corner || is_around || is_in_line || a == b {
                let part = within_side(part);
                return Ok(OnHull { ends: [a, b], part, is_outside: true });
            }
            turns = turn;
            let [first, end] = self.stars.star(if turn > 0 { b } else { a });
            (a, b) = match turn > 0 {
                true => (b, self.stars.neighbour(first)),
                false => (self.stars.neighbour(end - 1), a),
            };
        }
    }

    /// A site, seen from the place.
    #[inline(always)]
    pub(super) fn see(&self, site: u32) -> Seen {
        Seen::from(self.at, self.stars.place(site))
    }

    /// On which side of the line from one site to another the place lies: positive on the left, negative on the right,
    /// 0 on the line.
    #[inline(always)]
    pub fn side(&self, [from, to]: [u32; 2]) -> Decided<f64, D> {
        self.predicates.side(self.stars.place(from), self.stars.place(to), self.at)
    }

    /// Whether the place lies between two sites, or on one.
    #[inline(always)]
    pub fn is_on_side(&self, side: [u32; 2]) -> Decided<bool, D> {
        let [from, to] = side.map(|end| self.stars.place(end));
        Ok(self.side(side)? == 0.0 && is_between(self.at, from, to))
    }

    /// A place on an edge, in the form of a place on the hull.
    #[inline(always)]
    pub fn on_edge(&self, ends: [u32; 2]) -> OnHull {
        let part = within_side(self.part(ends[0], ends[1]));
        OnHull { ends, part, is_outside: false }
    }

    /// Whether all sites lie on a line; `site` is one on the hull.
    #[inline(always)]
    pub fn is_in_line(&self, site: u32) -> Decided<bool, D> {
        let [first, end] = self.stars.star(site);
        let place = |slot: u32| self.stars.place(self.stars.neighbour(slot));
        Ok(match end - first {
            0 | 1 => true,
            2 => {
                let [next, last] = [place(first), place(end - 1)];
                self.predicates.side(next, self.stars.place(site), last)? == 0.0
            }
            _ => false,
        })
    }

    /// How far along a side the place's projection lies.
    #[inline(always)]
    fn part(&self, a: u32, b: u32) -> f64 {
        let from = self.stars.place(a);
        let side = way(from, self.stars.place(b));
        let squared = square(side);
        if squared > 0.0 { dot(side, way(from, self.at)) / squared } else { 0.0 }
    }
}

/// Whether a star has so many neighbours that directions are found by bisection.
#[inline(always)]
fn is_long([first, end]: [u32; 2]) -> bool {
    end - first > FEW
}

/// The nearest part of a side.
#[inline(always)]
fn within_side(part: f64) -> f64 {
    let part = f64::max(part, 0.0);
    f64::min(part, 1.0)
}

/// Whether a place on the line through two others lies between them, or on one.
#[inline(always)]
fn is_between(place: P, a: P, b: P) -> bool {
    is_before(place, a) != is_before(place, b) || place == a || place == b
}
