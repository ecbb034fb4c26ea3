//! Natural neighbours of a place, by a walk over the stars of a Delaunay triangulation (Green and Sibson 1978,
//! "Computing Dirichlet tessellations in the plane", doi:10.1093/comjnl/21.2.168).
//!
//! In: the stars of all sites, a place, and the triangle that holds it ([`locate`](super::locate)). Out: each natural
//! neighbour with its share, counter-clockwise.
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
//! begin      the triangle that holds the place has it in its circle: at a corner, to the end of its run
//! each       run at the site: sum its triangles' areas; next = neighbour at the end of the run
//!            find the site in next's star, go on from there, until next is the first site
//! ```
//!
//! # Why it is right
//!
//! - A new site at the place would replace exactly the triangles whose circles have it inside, and would be joined to
//!   all corners of their polygon. So the place sees these, and each corner has one run.
//! - Decisions about triangles are exact. Shares are rounded, and summed in one order: counter-clockwise from the first
//!   corner of the triangle that holds the place. So results do not depend on how the triangle was found.
//!
//! # What it costs
//!
//! The triangles whose circles have the place inside. Finding a site in a star takes its length, from 17 neighbours on
//! the logarithm. The walk stores nothing, so any number of neighbours will do. What does not depend on the place may be
//! [stored with the stars](Stars::kite).

use device_std::math;

use super::angles::{Edge, dot, kite, positive_cross, way};
use super::locate::{Query, Triangle};
use super::neighbours::{Stars, after, before};
use super::predicates::{Decide, Decided, Seen, Turn, is_before};

/// A place.
type P = [f64; 2];

/// How the shares of natural neighbours are defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shares {
    /// Eight times the area that a new site would take from the neighbour's cell (Sibson 1981).
    Areas,
    /// Twice the length of the border between both cells over their distance (Laplace's; Belikov et al. 1997).
    Borders,
}

/// Where a walk around a place begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Begin {
    /// A natural neighbour.
    pub site: u32,
    /// The slot of the site's neighbour that comes before it around the place.
    pub before: u32,
}

impl<S: Stars, D: Decide> Query<'_, S, D> {
    /// Finds where a walk around the place begins, from a triangle in which it lies.
    ///
    /// It is the triangle's first corner by x, then by y. If the place is on an edge, it is the edge's first end: so both
    /// triangles of the edge have the same walk.
    #[inline(always)]
    pub fn begin(&self, triangle: Triangle) -> Decided<Begin, D> {
        let Triangle { site, slot } = triangle;
        let [_, right, left] = self.corners(triangle);
        let [at_site, at_right, at_left] = [site, right, left].map(|end| self.stars.place(end));
        // The place is never on the edge from the site to the left corner: see `locate`.
        let is_on_right = self.predicates.side(at_site, at_right, self.at)? == 0.0;
        let is_on_far = self.predicates.side(at_right, at_left, self.at)? == 0.0;
        let is_site = !is_on_far && is_before(at_site, at_right);
        let first = if is_site { at_site } else { at_right };
        let is_left = !is_on_right && is_before(at_left, first);
        let twin = |slot: u32, end: u32| self.stars.twin(slot, || self.slot_of(end, site, at_site));
        let (site, mut at) = match (is_left, is_site) {
            (true, _) => (left, twin(after(slot, self.stars.star(site)), left)?),
            (_, true) => (site, slot),
            _ => (right, before(twin(slot, right)?, self.stars.star(right))),
        };
        // Counter-clockwise to the end of the run. It ends: the site is a corner of the polygon, so some triangle of
        // its star does not have the place inside.
        let from = self.stars.place(site);
        let star = self.stars.star(site);
        let is_on_hull = self.stars.is_on_hull(site);
        loop {
            let next = after(at, star);
            let beyond = after(next, star);
            if is_on_hull && beyond == star[0] || !self.is_within(from, next, beyond)? {
                return Ok(Begin { site, before: next });
            }
            at = next;
        }
    }

    /// Shows each natural neighbour of the place counter-clockwise: the site, its share, and the vector to it. The place
    /// lies inside the hull and on no site, and [`begin`](Self::begin) gave where the walk begins.
    #[inline(always)]
    pub fn each(
        &self,
        Begin { site: first, before }: Begin,
        shares: Shares,
        mut show: impl FnMut(u32, f64, P),
    ) -> Decided<(), D> {
        let (mut site, mut slot) = (first, before);
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
            if next == first {
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
            let at = before(run.end, [first, end]);
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

    /// Whether the circle of a site and two neighbours, which follow each other, has the place inside.
    #[inline(always)]
    fn is_within(&self, from: P, a: u32, b: u32) -> Decided<bool, D> {
        let [a, b] = [a, b].map(|slot| self.stars.place(self.stars.neighbour(slot)));
        let [own, of_a, of_b] = [from, a, b].map(|corner| Seen::from(self.at, corner));
        let turns = [Turn::of(&of_a, &of_b), Turn::of(&of_b, &own), Turn::of(&own, &of_a)];
        let places = || [from, a, b, self.at];
        Ok(self.predicates.seen_in_circle([&own, &of_a, &of_b], turns, places)? > 0.0)
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
