//! What a query point takes from its natural neighbours, found by a walk round its Voronoi cell over the
//! rings of sites.
//!
//! Plan (the walk is that of Green and Sibson 1978, doi:10.1093/comjnl/21.2.168; nothing is inserted):
//!
//! 1. The query point takes a part of its nearest site's cell: what lies beyond their bisector, which cuts
//!    two sides of that cell. Beyond each of these lies the next natural neighbour to that side.
//! 2. There the same again, counterclockwise, until the first site is next. The query point's own cell has a
//!    side on each of these bisectors, and its corners are where two of them meet.
//! 3. What it takes from a site is the polygon of two such corners and the corners of the site's cell that
//!    are nearer to the query point than to the site. It is summed up from triangles round one of its
//!    corners. All are positive, so nothing cancels.
//!
//! Nothing is kept but the sums, so a cell may have any number of sides.
//!
//! A certificate guards the result. Where the walk leaves one site's cell for another's, the rings of both name each
//! other there: the ring of a site far from all others may lack some, for rounding. The bisectors found bound a polygon
//! that holds the query's cell, and the parts taken lie apart in that cell: so the polygon's area is the sum of the parts
//! only if no neighbour is missing. Where one of these fails, or a ring is missing, the query is left to the clipping of
//! [`search`](super::search).

use super::polygon::{Line, WINDOW, cross, diverge, meeting};
use super::rings::{Ring, Rings};
use super::search::Index;

/// A corner counts as taken where it is nearer to the query point than to its site by more than this, in
/// halves of the distance between the two: less is rounding.
const CLEARLY: f64 = 1.0 + 1e-11;

/// How much of its area a cell's parts may lack.
const LACK: f64 = 1e-8;

/// The most sides of a query's cell.
const MOST_STEPS: u32 = 1 << 12;

/// A natural neighbour of a query point, seen from there.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour {
    /// Which site.
    pub site: u32,
    /// The way to it.
    pub way: [f64; 2],
    /// What the query point takes from it: the area, doubled.
    pub area: f64,
    /// The ends of their border, counterclockwise.
    pub border: [[f64; 2]; 2],
}

/// Where a walk begins.
pub struct Walk<'a, P, S, R> {
    index: &'a Index<P, S>,
    rings: R,
    /// The query point.
    at: [f64; 2],
    /// The first neighbour.
    first: u32,
    /// The neighbour before it.
    last: u32,
    /// Half the side of the window that the cell must lie in.
    half_window: f64,
}

impl<'a, P: Fn(u32) -> [f64; 2], S: Fn(u32) -> u32, R: Rings> Walk<'a, P, S, R> {
    /// Begins at a site in whose cell the query point lies. `None` where that does not go.
    #[inline(always)]
    pub fn begin(
        index: &'a Index<P, S>,
        rings: R,
        at: [f64; 2],
        first: u32,
        half_window: f64,
    ) -> Option<Self> {
        let mut walk = Self { index, rings, at, first, last: WINDOW, half_window };
        let way = walk.way(first);
        let line = Line::of_site(way);
        let ring = rings.of(first);
        let sides = ring.sides();
        let mut was_taken = sides > 0 && is_taken(ring.corner(0), line);
        let mut i = 1;
        while i <= sides {
            let side = if i == sides { 0 } else { i };
            let taken = is_taken(ring.corner(side), line);
            if was_taken && !taken {
                walk.last = ring.neighbour(side);
            }
            was_taken = taken;
            i += 1;
        }
        (walk.last < WINDOW).then_some(walk)
    }

    #[inline(always)]
    fn way(&self, site: u32) -> [f64; 2] {
        let [x, y] = (self.index.place)(site);
        [x - self.at[0], y - self.at[1]]
    }

    /// Calls `visit` for every natural neighbour; `false` where the rings do not tell them all.
    #[inline(always)]
    pub fn each(&self, mut visit: impl FnMut(Neighbour)) -> bool {
        let (mut before, mut site, mut way) = (self.last, self.first, self.way(self.first));
        let last = Line::of_site(self.way(self.last));
        let Some(mut enter) = meeting(last, Line::of_site(way)) else {
            return false;
        };
        // Twice the area of the query's cell, and of what is taken.
        let (mut whole, mut taken) = (0.0, 0.0);
        let mut steps = 0;
        while steps < MOST_STEPS {
            let Some((next, to_next, leave, area)) = self.step(before, site, way, enter) else {
                return false;
            };
            if f64::max(leave[0].abs(), leave[1].abs()) > self.half_window {
                return false;
            }
            whole += cross(enter, leave);
            taken += area;
            visit(Neighbour { site, way, area, border: [enter, leave] });
            if next == self.first {
                return site == self.last && (whole - taken).abs() <= LACK * whole;
            }
            (before, site, way, enter) = (site, next, to_next, leave);
            steps += 1;
        }
        false
    }

    /// Whether a place in the cell of site `first` lies outside the hull of the sites, and its own cell opens by more
    /// than an angle there. Wide rings tell; `false` also where they do not.
    ///
    /// From the first site the walk goes both ways, until it would leave the window. The rays in which it does bound
    /// the opening.
    #[inline(always)]
    pub fn opens(index: &'a Index<P, S>, rings: R, at: [f64; 2], first: u32, angle: f64) -> bool {
        let walk = Self { index, rings, at, first, last: WINDOW, half_window: f64::INFINITY };
        let Some(before) = walk.last_before_opening(false) else { return false };
        let Some(behind) = walk.last_before_opening(true) else { return false };
        diverge(before, behind, angle)
    }

    /// The way to the last neighbour before the query point's cell opens, counterclockwise or clockwise from the
    /// first. `None` where it does not, or rings are missing.
    #[inline(always)]
    fn last_before_opening(&self, is_clockwise: bool) -> Option<[f64; 2]> {
        let (mut site, mut steps) = (self.first, 0);
        while steps < MOST_STEPS {
            let way = self.way(site);
            let next = self.beside(site, Line::of_site(way), is_clockwise)?;
            if next >= WINDOW {
                return Some(way);
            }
            if next == self.first {
                return None;
            }
            site = next;
            steps += 1;
        }
        None
    }

    /// The neighbour of a site into whose cell the bisector with the query point goes on, counterclockwise round that
    /// or clockwise.
    #[inline(always)]
    fn beside(&self, site: u32, line: Line, is_clockwise: bool) -> Option<u32> {
        let ring = self.rings.of(site);
        let sides = ring.sides();
        let mut was_taken = sides > 0 && is_taken(ring.corner(0), line);
        let (mut crossings, mut crossed, mut i) = (0, 0, 1);
        while i <= sides {
            let side = if i == sides { 0 } else { i };
            let taken = is_taken(ring.corner(side), line);
            if taken != was_taken && taken != is_clockwise {
                crossed = side;
                crossings += 1;
            }
            was_taken = taken;
            i += 1;
        }
        (crossings == 1).then(|| ring.neighbour(crossed))
    }

    /// What is taken from a site whose cell the border enters at `enter`, from that of the site `before`; the next site with the way there, the
    /// corner between both, and the area.
    #[inline(always)]
    fn step(
        &self,
        before: u32,
        site: u32,
        way: [f64; 2],
        enter: [f64; 2],
    ) -> Option<(u32, [f64; 2], [f64; 2], f64)> {
        let line = Line::of_site(way);
        let ring = self.rings.of(site);
        let sides = ring.sides();
        if sides == 0 {
            return None;
        }
        // From `enter`, where all triangles meet.
        let seen = |[x, y]: [f64; 2]| [x + way[0] - enter[0], y + way[1] - enter[1]];
        let corner = ring.corner(0);
        let (mut was_taken, mut last) = (is_taken(corner, line), seen(corner));
        let (mut area, mut runs, mut entry, mut exit) = (0.0, 0, 0, 0);
        let mut i = 1;
        while i <= sides {
            let side = if i == sides { 0 } else { i };
            let here = ring.corner(side);
            let (taken, to_here) = (is_taken(here, line), seen(here));
            if taken && was_taken {
                area += cross(last, to_here);
            }
            if taken && !was_taken {
                exit = side;
                runs += 1;
            }
            if was_taken && !taken {
                entry = side;
            }
            (was_taken, last) = (taken, to_here);
            i += 1;
        }
        if runs != 1 || ring.neighbour(entry) != before {
            return None;
        }
        let next = ring.neighbour(exit);
        if R::ARE_WIDE && next >= WINDOW {
            return None;
        }
        let to_next = self.way(next);
        let leave = meeting(line, Line::of_site(to_next))?;
        area += cross([leave[0] - enter[0], leave[1] - enter[1]], seen(ring.corner(exit)));
        Some((next, to_next, leave, f64::max(area, 0.0)))
    }
}

/// Whether the corner of a site's cell, seen from the site, is nearer to the query point. `line` is their
/// bisector, seen from the query point.
#[inline(always)]
fn is_taken([x, y]: [f64; 2], line: Line) -> bool {
    -(x * line.normal[0] + y * line.normal[1]) > line.room * CLEARLY
}
