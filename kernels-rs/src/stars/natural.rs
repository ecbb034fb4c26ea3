//! Natural neighbours of a place, by a walk over the stars of a Delaunay triangulation (Green and Sibson 1978,
//! "Computing Dirichlet tessellations in the plane", doi:10.1093/comjnl/21.2.168).
//!
//! In: the stars of all sites, a place, and any site to begin with. Out: the nearest site, the triangle that holds the
//! place, or each natural neighbour with its share, counter-clockwise from the nearest site.
//!
//! # Idea
//!
//! A place's natural neighbours are the corners of the triangles whose circles have it inside. These triangles make up
//! a polygon, and the place sees all of it. So the triangles at each of its corners are one *run* of the corner's star.
//! A walk around the polygon needs no memory: the end of a run is the next corner.
//!
//! ```text
//!     n3 ----- n2        star of n0, clockwise from n4:     n4    n2    n1    ..
//!    /      . / \        circle of the triangle holds x:       yes   yes   no
//!  n4   .  x /   n1      the run ends at n1, the next natural neighbour
//!    \      /   /        star of n1, clockwise from n0:     n0    n2    ..
//!     `-- n0 --'         circle of the triangle holds x:       yes   no          n2 is next, and so on to n0
//! ```
//!
//! ```text
//! nearest    go to a nearer neighbour until there is none
//! locate     from the nearest site straight to the place, from triangle to triangle; or beyond a side of the hull
//! begin      the triangle of the nearest site in the place's direction has it in its circle: to the end of its run
//! each       run at the site: sum its triangles' areas; next = neighbour at the end of the run
//!            find the site in next's star, go on from there, until next is the nearest site
//! project    outside the hull: along the hull to its place nearest to x
//! ```
//!
//! # Why it is right
//!
//! - A site without a nearer neighbour is the nearest of all, since neighbours alone bound its Voronoi cell. Of sites
//!   at the same distance the first by x, then by y, counts as the nearest.
//! - A new site at the place would replace exactly the triangles whose circles have it inside, and would be joined to
//!   all corners of their polygon. So the place sees these, and each corner has one run. The nearest site is one of the
//!   corners.
//! - Decisions about triangles are exact. Shares are rounded, and summed in one order: from the nearest site
//!   counter-clockwise. So results do not depend on the site that a walk begins with.
//!
//! # What it costs
//!
//! The triangles whose circles have the place inside, and those on the way. Finding a site in a star takes its length,
//! from 17 neighbours on the logarithm. The walk stores nothing, so any number of neighbours will do. What does not
//! depend on the place may be [stored with the stars](Stars::kite).

use device_std::{math, vector};

use super::angles::{Edge, dot, kite, positive_cross, square, way};
use super::predicates::{Decide, Decided, Predicates, Seen, Turn, is_before};

/// Set in the last neighbour of a site on the hull: no triangle follows it.
pub const OPEN: u32 = 1 << 31;

/// In a star of more neighbours than this, a direction is found by bisection.
const FEW: u32 = 16;

/// A place.
type P = [f64; 2];

/// The stars of all sites: their neighbours in the Delaunay triangulation, counter-clockwise.
///
/// The star of a site on the hull begins with the next site of the hull counter-clockwise, and ends with the next one
/// clockwise. If all sites lie on a line, a star has the next sites on the line, and all sites are on the hull. A
/// single site is on the hull, too.
pub trait Stars {
    /// Where a site lies.
    fn place(&self, site: u32) -> P;
    /// The first and the end of a site's star among the neighbours of all.
    fn star(&self, site: u32) -> [u32; 2];
    /// A neighbour; the last one of a site on the hull has the bit [`OPEN`].
    fn stored(&self, at: u32) -> u32;

    /// A neighbour.
    #[inline(always)]
    fn neighbour(&self, at: u32) -> u32 {
        self.stored(at) & !OPEN
    }

    /// Whether a site is on the hull.
    #[inline(always)]
    fn is_on_hull(&self, site: u32) -> bool {
        let [first, end] = self.star(site);
        first == end || self.stored(end - 1) & OPEN != 0
    }

    /// The [`kite`] of a site in the triangle of a slot's neighbour and the next one: stored, or computed by `compute`.
    #[inline(always)]
    fn kite(&self, _slot: u32, compute: impl FnOnce() -> f64) -> f64 {
        compute()
    }

    /// The slot of a site in the star of a slot's neighbour: stored, or found by `find`.
    #[inline(always)]
    fn twin<E>(&self, _slot: u32, find: impl FnOnce() -> Result<u32, E>) -> Result<u32, E> {
        find()
    }
}

/// How the shares of natural neighbours are defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shares {
    /// Eight times the area that a new site would take from the neighbour's cell (Sibson 1981).
    Areas,
    /// Twice the length of the border between both cells over their distance (Laplace's; Belikov et al. 1997).
    Borders,
}

/// Where a place lies among the triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Located {
    /// On the nearest site.
    OnSite,
    /// In a triangle or on its border, and on no site.
    Triangle {
        /// The slot of a neighbour of the nearest site. The place lies in the neighbour's direction, or follows it
        /// counter-clockwise.
        wedge: u32,
        /// The corners, counter-clockwise.
        corners: [u32; 3],
    },
    /// As [`Begin::Side`].
    Side([u32; 2]),
}

/// Where a walk around a place begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Begin {
    /// On the site.
    OnSite,
    /// Inside the hull: the slot of the nearest site's neighbour that comes before it around the place.
    Inside(u32),
    /// On the side of the hull, or beyond it, from one site to the next counter-clockwise.
    Side([u32; 2]),
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

    /// Finds where the place lies, from its nearest site. Cost: the triangles between.
    ///
    /// If the place is on an edge, either of the edge's triangles may be the answer.
    #[inline(always)]
    pub fn locate(&self, nearest: u32) -> Decided<Located, D> {
        let from = self.stars.place(nearest);
        if from[0] == self.at[0] && from[1] == self.at[1] {
            return Ok(Located::OnSite);
        }
        let star = self.stars.star(nearest);
        if self.stars.is_on_hull(nearest)
            && let Some(side) = self.side_at(nearest, star)?
        {
            return Ok(Located::Side(side));
        }
        let wedge = self.wedge(nearest, star, self.at)?;
        let sides = [wedge, after(wedge, star)].map(|slot| self.stars.neighbour(slot));
        self.walk_straight(nearest, from, sides, wedge)
    }

    /// Finds where a walk around the place begins, from its nearest site.
    #[inline(always)]
    pub fn begin(&self, nearest: u32) -> Decided<Begin, D> {
        let mut at = match self.locate(nearest)? {
            Located::OnSite => return Ok(Begin::OnSite),
            Located::Side(side) => return Ok(Begin::Side(side)),
            Located::Triangle { wedge, .. } => wedge,
        };
        let from = self.stars.place(nearest);
        let [first, end] = self.stars.star(nearest);
        let is_on_hull = self.stars.is_on_hull(nearest);
        // Counter-clockwise to the end of the run. It ends: the site is a corner of the polygon, so some triangle of
        // its star does not have the place inside.
        loop {
            let next = after(at, [first, end]);
            let beyond = after(next, [first, end]);
            if is_on_hull && beyond == first || !self.is_within(from, next, beyond)? {
                return Ok(Begin::Inside(next));
            }
            at = next;
        }
    }

    /// Returns the side of the hull at a site that the place is on or beyond; `None` if the place does not lie in the
    /// gap of the site's star.
    #[inline(always)]
    fn side_at(&self, site: u32, [first, end]: [u32; 2]) -> Decided<Option<[u32; 2]>, D> {
        if first == end {
            return Ok(Some([site, site]));
        }
        let from = self.stars.place(site);
        let [after, before] = [self.stars.neighbour(first), self.stars.neighbour(end - 1)];
        let [next, last] = [self.stars.place(after), self.stars.place(before)];
        let of_next = self.predicates.side(from, next, self.at)?;
        let of_last = self.predicates.side(last, from, self.at)?;
        let is_in_line = end - first <= 2 && self.predicates.side(last, from, next)? == 0.0;
        if is_in_line {
            // All sites lie on a line: take the neighbour towards which the place lies.
            let towards = |other: P| dot(way(from, other), way(from, self.at)) > 0.0;
            let is_last = end - first == 2 && !towards(next) && towards(last);
            return Ok(Some(if is_last { [before, site] } else { [site, after] }));
        }
        Ok(if of_last < 0.0 {
            Some([before, site])
        } else if of_next < 0.0 {
            Some([site, after])
        } else if of_last == 0.0 && (of_next > 0.0 || is_between(self.at, last, from)) {
            Some([before, site])
        } else if of_next == 0.0 {
            Some([site, after])
        } else {
            None
        })
    }

    /// Goes straight from a site to the place. Returns the triangle where the line ends, or the side of the hull by
    /// which it leaves the triangles, or that the place is on. The line goes between two neighbours of the site, the
    /// right one first, in the `wedge` of the right one. Cost: the triangles on the line.
    #[inline(always)]
    fn walk_straight(
        &self,
        site: u32,
        from: P,
        [mut right, mut left]: [u32; 2],
        wedge: u32,
    ) -> Decided<Located, D> {
        let mut behind = site;
        loop {
            let (r, l) = (self.stars.place(right), self.stars.place(left));
            let side = self.predicates.side(r, l, self.at)?;
            let triangle = Located::Triangle { wedge, corners: [behind, right, left] };
            if side > 0.0 {
                return Ok(triangle);
            }
            // The next triangle has the edge and the neighbour that follows the right end in the star of the left end.
            let star = self.stars.star(left);
            let slot = self.slot_of(left, right, r)?;
            if slot + 1 == star[1] && self.stars.is_on_hull(left) {
                return Ok(Located::Side([right, left]));
            }
            if side == 0.0 {
                return Ok(triangle);
            }
            let apex = self.stars.neighbour(after(slot, star));
            // The place is on the left of the line from the site to the apex, or on it: the line leaves by the left
            // edge.
            if self.predicates.side(from, self.stars.place(apex), self.at)? >= 0.0 {
                (behind, right) = (right, apex);
            } else {
                (behind, left) = (left, apex);
            }
        }
    }

    /// Shows each natural neighbour of a place, from the nearest site on, counter-clockwise: the site, its share, and
    /// the vector to it. The place lies inside the hull and on no site. `before` is what [`begin`](Self::begin) gave.
    #[inline(always)]
    pub fn each(
        &self,
        nearest: u32,
        before: u32,
        shares: Shares,
        mut show: impl FnMut(u32, f64, P),
    ) -> Decided<(), D> {
        let (mut site, mut slot) = (nearest, before);
        let mut behind = self.see(self.stars.neighbour(before));
        let mut here = self.see(site);
        // Each share has a part from the run, and one from each of the two new triangles with the place at its sides.
        // The second of these is carried to the next neighbour.
        let [_, mut carried] = new_triangle(&behind, &here, shares);
        loop {
            let run = self.run(site, &here, slot, &behind, shares)?;
            let next = self.stars.neighbour(run.end);
            let [own, of_next] = new_triangle(&here, &run.onward, shares);
            // A share is not negative: less than 0 is rounding.
            show(site, f64::max(run.area + (carried + own), 0.0), here.way);
            if next == nearest {
                return Ok(());
            }
            let find = || self.slot_of(next, site, self.stars.place(site));
            slot = self.stars.twin(run.end, find)?;
            (site, behind, here, carried) = (next, here, run.onward, of_next);
        }
    }

    /// Walks clockwise through the triangles of a star whose circles have the place inside, from a slot whose neighbour
    /// is seen `behind`. The first triangle is one of them.
    #[inline(always)]
    fn run(
        &self,
        site: u32,
        here: &Seen,
        slot: u32,
        behind: &Seen,
        shares: Shares,
    ) -> Decided<Run, D> {
        let [first, end] = self.stars.star(site);
        let is_on_hull = self.stars.is_on_hull(site);
        let place = |slot: u32| self.stars.place(self.stars.neighbour(slot));
        let mut run = Run { area: 0.0, end: slot, onward: *behind };
        // The site's edge to the neighbour, and the turn from there to the site.
        let from = self.stars.place(site);
        let (mut edge, mut turn) = (Edge::to(way(from, place(slot))), Turn::of(behind, here));
        loop {
            if run.end == first && is_on_hull {
                return Ok(run);
            }
            let at = if run.end == first { end - 1 } else { run.end - 1 };
            let there = place(at);
            let next = Seen::from(self.at, there);
            let to_next = Turn::of(here, &next);
            // The first triangle is known to have the place inside: [`begin`](Self::begin), or the run before, tested
            // it.
            if run.end != slot {
                let turns = [Turn::of(&next, &run.onward), turn, to_next];
                let corners = [here, &next, &run.onward];
                let places = || [self.stars.place(site), place(at), place(run.end), self.at];
                if self.predicates.seen_in_circle(corners, turns, places)? <= 0.0 {
                    return Ok(run);
                }
            }
            let next_edge = Edge::to(way(from, there));
            if shares == Shares::Areas {
                run.area += self.stars.kite(at, || kite(&next_edge, &edge));
            }
            (run.end, run.onward, edge, turn) = (at, next, next_edge, to_next.back());
        }
    }

    /// A site, seen from the place.
    #[inline(always)]
    fn see(&self, site: u32) -> Seen {
        Seen::from(self.at, self.stars.place(site))
    }

    /// Whether the circle of a site and two neighbours, which follow each other, has the place inside.
    #[inline(always)]
    fn is_within(&self, from: P, a: u32, b: u32) -> Decided<bool, D> {
        let [a, b] = [a, b].map(|slot| self.stars.place(self.stars.neighbour(slot)));
        let [own, of_a, of_b] = [from, a, b].map(|corner| Seen::from(self.at, corner));
        let turns = [Turn::of(&of_a, &of_b), Turn::of(&of_b, &own), Turn::of(&own, &of_a)];
        let places = || [from, a, b, self.at];
        Ok(self.predicates.seen_in_circle([&own, &of_a, &of_b], turns, places)? > 0.0)
    }

    /// Finds the slot of a neighbour in a site's star.
    #[inline(always)]
    pub(super) fn slot_of(&self, site: u32, neighbour: u32, place: P) -> Decided<u32, D> {
        let [first, end] = self.stars.star(site);
        if end - first > FEW {
            return self.bisect(site, [first, end], place);
        }
        let mut at = first;
        while at + 1 < vector::unknown(end) && self.stars.neighbour(at) != neighbour {
            at += 1;
        }
        Ok(at)
    }

    /// Finds the last neighbour, counter-clockwise, whose direction is not after the place's direction. If the star has
    /// a gap, the place does not lie in it.
    #[inline(always)]
    fn wedge(&self, site: u32, [first, end]: [u32; 2], towards: P) -> Decided<u32, D> {
        if end - first > FEW {
            return self.bisect(site, [first, end], towards);
        }
        let from = self.stars.place(site);
        let side = |slot: u32| {
            let there = self.stars.place(self.stars.neighbour(slot));
            self.predicates.side(from, there, towards)
        };
        let mut at = first;
        let mut here = side(first)?;
        while at + 1 < vector::unknown(end) {
            let next = side(at + 1)?;
            if here >= 0.0 && next < 0.0 {
                return Ok(at);
            }
            (at, here) = (at + 1, next);
        }
        Ok(at)
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

/// A run of triangles at a site whose circles have the place inside.
struct Run {
    /// The parts of the site's cell in these triangles; see [`kite`].
    area: f64,
    /// The slot where the run ends.
    end: u32,
    /// The neighbour there.
    onward: Seen,
}

/// The parts of two natural neighbours in their triangle with the place. Areas subtract these parts, borders add them.
#[inline(always)]
fn new_triangle(a: &Seen, b: &Seen, shares: Shares) -> [f64; 2] {
    let inverse = 1.0 / positive_cross(a.way, b.way);
    let edge = way(a.way, b.way);
    // Cotangents of the angles at both, times twice the area.
    let (at_a, at_b) = (-dot(a.way, edge), dot(b.way, edge));
    if shares == Shares::Borders {
        return [at_b * inverse, at_a * inverse];
    }
    // As in a kite; the third corner is the other neighbour.
    let third = -(dot(edge, edge) * dot(a.way, b.way));
    [(a.squared, at_b), (b.squared, at_a)]
        .map(|(squared, angle)| math::mul_add(-squared, angle, third) * inverse)
}

/// The next slot of a star, around.
#[inline(always)]
pub fn after(slot: u32, [first, end]: [u32; 2]) -> u32 {
    if slot + 1 == end { first } else { slot + 1 }
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
