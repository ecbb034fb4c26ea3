//! Stars by search: a site's Delaunay neighbours, from a packed Hilbert R-tree, without any other star.
//!
//! The unit of work is [`apex`](Search::apex): of a Delaunay edge, the third corner of the triangle on its left. It is the
//! site on the left whose circle with the edge's ends has no site inside. A candidate shrinks the circle, and the search
//! goes down only into boxes that the circle, or the half plane while there is no candidate, may touch:
//!
//! ```text
//! first the leaves of the edge's two ends, which nearly always leave a small circle; to begin with, the site of the first leaf
//! whose circle is least by f64
//! then all boxes in the order of the tree: for a box that may hold a site inside the circle, its children
//! ```
//!
//! The first neighbour of a site is the nearest one: the circle over the way to it is empty. From it on, each neighbour
//! counter-clockwise is the apex of the edge to the one before, until the first comes again, or until there is none: then
//! the site is on the hull, and the neighbours clockwise of the first are found likewise, by the edges taken backwards.
//!
//! A circle through a place at the origin is `f(x, y) = w (x^2 + y^2) + u x + v y`, below 0 inside. No centre and no radius
//! are needed, which may be enormous for sites that are nearly in line. `f` costs three products, and its error is bounded
//! by [`Circle::bound`]; where f may be 0, [`Predicates`] decide. A search's cost is that of the boxes which the circle of its
//! answer touches. Circles that many boxes touch without a site inside, as when most sites lie on one circle, make it slow,
//! never wrong.

use device_std::vector;

use super::predicates::{Predicates, is_before};
use crate::rtree::layout::{FANOUT, is_repeated};

/// Stands for no site.
pub const NONE: u32 = u32::MAX;

/// Error bounds of `f`: 11 roundings at most go into each of its terms, and as many into what a box is compared by.
const ROUNDING: f64 = 32.0 / (1u64 << 53) as f64;

/// A place.
type P = [f64; 2];

/// Sites in the order of a tree, and its boxes: see [`Layout`](crate::rtree::layout::Layout).
pub trait Tree {
    /// The number of sites.
    fn sites(&self) -> u32;
    /// Where a site lies.
    fn place(&self, site: u32) -> P;
    /// A box of a level: the least x and y, then the greatest.
    fn bounds(&self, level: u32, of: u32) -> [f64; 4];
    /// The number of boxes of a level.
    fn count(&self, level: u32) -> u32;
    /// The highest level.
    fn top(&self) -> u32;
}

/// A search among the sites of a tree.
pub struct Search<'a, T> {
    /// The sites.
    pub tree: &'a T,
    /// The predicates for their coordinates.
    pub predicates: Predicates,
}

/// Which boxes a walk wants, and what it does with the sites of a leaf.
trait Visitor {
    fn wants(&self, bounds: [f64; 4]) -> bool;
    fn visit(&mut self, leaf: u32);
}

impl<T: Tree> Search<'_, T> {
    /// The nearest site that lies elsewhere; of those at one place the first in the tree. [`NONE`] if there is none.
    #[inline(always)]
    pub fn nearest(&self, site: u32) -> u32 {
        self.nearest_of(site, Which::All)
    }

    /// The nearest site elsewhere of those that count.
    #[inline(always)]
    fn nearest_of(&self, site: u32, which: Which) -> u32 {
        let at = self.tree.place(site);
        let mut nearest = Nearest { search: self, at, which, found: NONE, squared: f64::INFINITY };
        nearest.visit(site / FANOUT);
        self.walk(&mut nearest);
        nearest.found
    }

    /// The third corner of the Delaunay triangle to the left of the Delaunay edge between two sites; of sites at one place
    /// the first in the tree. [`NONE`] if there is none: then the edge is on the hull.
    #[inline(always)]
    pub fn apex(&self, from: u32, to: u32) -> u32 {
        let mut apex = Apex::beside(self, from, to);
        apex.guess(from / FANOUT);
        apex.visit(from / FANOUT);
        if to / FANOUT != from / FANOUT {
            apex.visit(to / FANOUT);
        }
        self.walk(&mut apex);
        apex.found
    }

    /// Shows the neighbours of a site one after the other, each of sites at one place by the first in the tree, and gives
    /// whether they go all around. They stand in counter-clockwise order: all of them, or, if they do not go all around,
    /// from the nearest on, and after these the others clockwise from the nearest. If all sites are in line: the nearest, and
    /// the one on the other side.
    #[inline(always)]
    pub fn star(&self, site: u32, mut show: impl FnMut(u32, bool)) -> bool {
        let first = self.nearest(site);
        if first == NONE {
            return false;
        }
        show(first, true);
        let (mut neighbour, mut is_alone) = (first, true);
        let mut turns_left = true;
        // Each neighbour is met once, so this ends.
        while vector::unknown(1) == 1 {
            let next =
                if turns_left { self.apex(site, neighbour) } else { self.apex(neighbour, site) };
            if next == first {
                return true;
            }
            if next != NONE {
                show(next, turns_left);
                (neighbour, is_alone) = (next, false);
            } else if turns_left {
                (turns_left, neighbour) = (false, first);
            } else {
                break;
            }
        }
        if is_alone {
            // No site lies beside the line through the two.
            let [at, first] = [site, first].map(|site| self.tree.place(site));
            let which = if is_before(first, at) { Which::After } else { Which::Before };
            let behind = self.nearest_of(site, which);
            if behind != NONE {
                show(behind, false);
            }
        }
        false
    }

    /// Walks the boxes in the order of the tree, down into those that are wanted. It keeps no stack: a box's parent and next
    /// sibling follow from its number.
    #[inline(always)]
    fn walk(&self, visitor: &mut impl Visitor) {
        let top = self.tree.top();
        let (mut level, mut node) = (top, 0);
        while vector::unknown(1) == 1 {
            if node >= self.tree.count(level) {
                if level == top {
                    return;
                }
                // Past the last box of the level: the parent is the last one of its own, and was visited.
                (level, node) = (level + 1, node.div_ceil(FANOUT));
                continue;
            }
            let bounds = self.tree.bounds(level, node);
            if !is_repeated(bounds) && visitor.wants(bounds) {
                if level > 0 {
                    (level, node) = (level - 1, node * FANOUT);
                    continue;
                }
                visitor.visit(node);
            }
            node += 1;
            while level < top && node % FANOUT == 0 {
                (level, node) = (level + 1, node / FANOUT);
            }
        }
    }

    #[inline(always)]
    fn each_of(&self, leaf: u32, mut see: impl FnMut(u32, P)) {
        let mut site = leaf * FANOUT;
        let end = u32::min(site + FANOUT, self.tree.sites());
        while site < vector::unknown(end) {
            see(site, self.tree.place(site));
            site += 1;
        }
    }
}

/// Which sites count: all, or those before or after one by x, then by y, which are its two sides on a line.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    All,
    Before,
    After,
}

/// The nearest site so far.
struct Nearest<'a, T> {
    search: &'a Search<'a, T>,
    at: P,
    which: Which,
    found: u32,
    /// Its squared distance, rounded up.
    squared: f64,
}

impl<T: Tree> Visitor for Nearest<'_, T> {
    #[inline(always)]
    fn wants(&self, [west, south, east, north]: [f64; 4]) -> bool {
        let x = f64::max(f64::max(west - self.at[0], self.at[0] - east), 0.0);
        let y = f64::max(f64::max(south - self.at[1], self.at[1] - north), 0.0);
        x * x + y * y <= self.squared
    }

    #[inline(always)]
    fn visit(&mut self, leaf: u32) {
        let (search, at) = (self.search, self.at);
        search.each_of(leaf, |site, place| {
            let [x, y] = [place[0] - at[0], place[1] - at[1]];
            let squared = x * x + y * y;
            let counts = match self.which {
                Which::All => true,
                Which::Before => is_before(place, at),
                Which::After => is_before(at, place),
            };
            if squared > self.squared || squared == 0.0 || !counts {
                return;
            }
            let is_nearer = self.found == NONE || {
                let found = search.tree.place(self.found);
                let order = search.predicates.nearer(at, place, found);
                order > 0 || order == 0 && place == found && site < self.found
            };
            if is_nearer {
                self.found = site;
                self.squared = squared * (1.0 + ROUNDING);
            }
        });
    }
}

/// A circle through the origin: `w (x^2 + y^2) + u x + v y` is below 0 inside it.
#[derive(Clone, Copy)]
struct Circle {
    u: f64,
    v: f64,
    w: f64,
    /// Bounds of the errors of the three.
    errors: [f64; 3],
}

impl Circle {
    /// That through the origin and two places to which the way turns left.
    #[inline(always)]
    fn through(a: P, b: P) -> Self {
        let (of_a, of_b) = (a[0] * a[0] + a[1] * a[1], b[0] * b[0] + b[1] * b[1]);
        let minors =
            [[of_b * a[1], of_a * b[1]], [of_a * b[0], of_b * a[0]], [a[0] * b[1], a[1] * b[0]]];
        let [u, v, w] = minors.map(|[left, right]| left - right);
        let errors = minors.map(|[left, right]| ROUNDING * (left.abs() + right.abs()));
        Self { u, v, w, errors }
    }

    /// `f` of a place.
    #[inline(always)]
    fn at(&self, [x, y]: P) -> f64 {
        self.w * (x * x + y * y) + self.u * x + self.v * y
    }

    /// The bound of the error of `f` where x and y are at most so large.
    #[inline(always)]
    fn bound(&self, [x, y]: P) -> f64 {
        self.errors[2] * (x * x + y * y) + self.errors[0] * x.abs() + self.errors[1] * y.abs()
    }

    /// Whether a box may hold a place inside.
    ///
    /// `f` is least in the box where the box is nearest to the centre. The bound is taken for the box's farthest corner, so
    /// that it holds for every place in it.
    #[inline(always)]
    fn may_meet(&self, [west, south, east, north]: [f64; 4]) -> bool {
        if self.w <= self.errors[2] {
            return true;
        }
        let scale = -0.5 / self.w;
        let x = f64::min(f64::max(self.u * scale, west), east);
        let y = f64::min(f64::max(self.v * scale, south), north);
        let far = [f64::max(west.abs(), east.abs()), f64::max(south.abs(), north.abs())];
        self.at([x, y]) <= self.bound(far)
    }
}

/// The best third corner so far of the triangle to the left of an edge.
struct Apex<'a, T> {
    search: &'a Search<'a, T>,
    from: P,
    to: P,
    /// The way between the two.
    way: P,
    found: u32,
    circle: Circle,
}

impl<'a, T: Tree> Apex<'a, T> {
    #[inline(always)]
    fn beside(search: &'a Search<'a, T>, from: u32, to: u32) -> Self {
        let (from, to) = (search.tree.place(from), search.tree.place(to));
        let way = [to[0] - from[0], to[1] - from[1]];
        // Until there is a candidate, `f` is below every bound.
        let circle = Circle { u: 0.0, v: 0.0, w: 0.0, errors: [0.0; 3] };
        Self { search, from, to, way, found: NONE, circle }
    }

    /// Takes the site of a leaf whose circle reaches least far to the left, as f64 has it: a candidate to begin with.
    ///
    /// The centres of circles through both ends lie on one line, each so far along it as a quotient says.
    #[inline(always)]
    fn guess(&mut self, leaf: u32) {
        let (search, from, [x, y]) = (self.search, self.from, self.way);
        let (mut best, mut over, mut under) = (NONE, 1.0, 0.0);
        search.each_of(leaf, |site, place| {
            let seen = [place[0] - from[0], place[1] - from[1]];
            let left = x * seen[1] - y * seen[0];
            let height = seen[0] * (seen[0] - x) + seen[1] * (seen[1] - y);
            if left > 0.0 && height * under < over * left {
                (best, over, under) = (site, height, left);
            }
        });
        if best != NONE {
            let place = search.tree.place(best);
            if search.predicates.orientation(from, self.to, place) > 0 {
                self.found = best;
                self.circle = Circle::through(self.way, [place[0] - from[0], place[1] - from[1]]);
            }
        }
    }

    /// Whether a place on the left is better than the one found, or the same and earlier in the tree.
    #[inline(always)]
    fn is_better(&self, site: u32, place: P) -> bool {
        let search = self.search;
        if self.found == NONE {
            return true;
        }
        let found = search.tree.place(self.found);
        if place == found {
            return site < self.found;
        }
        search.predicates.is_inside(self.from, self.to, found, place)
    }
}

impl<T: Tree> Visitor for Apex<'_, T> {
    #[inline(always)]
    fn wants(&self, [west, south, east, north]: [f64; 4]) -> bool {
        let [west, east] = [west - self.from[0], east - self.from[0]];
        let [south, north] = [south - self.from[1], north - self.from[1]];
        // The box's farthest corner to the left of the edge.
        let x = if self.way[1] > 0.0 { west } else { east };
        let y = if self.way[0] > 0.0 { north } else { south };
        let (along, across) = (self.way[0] * y, self.way[1] * x);
        along - across >= -ROUNDING * (along.abs() + across.abs())
            && self.circle.may_meet([west, south, east, north])
    }

    #[inline(always)]
    fn visit(&mut self, leaf: u32) {
        let (search, circle, from) = (self.search, self.circle, self.from);
        // Most sites of a leaf are outside: a loop that only compares.
        let mut inside = 0_u32;
        search.each_of(leaf, |site, place| {
            let seen = [place[0] - from[0], place[1] - from[1]];
            inside |= ((circle.at(seen) <= circle.bound(seen)) as u32) << (site % FANOUT);
        });
        while inside != 0 {
            let site = leaf * FANOUT + inside.trailing_zeros();
            inside &= inside - 1;
            let place = search.tree.place(site);
            let seen = [place[0] - from[0], place[1] - from[1]];
            if self.circle.at(seen) <= self.circle.bound(seen)
                && site != self.found
                && search.predicates.orientation(from, self.to, place) > 0
                && self.is_better(site, place)
            {
                self.found = site;
                self.circle = Circle::through(self.way, seen);
            }
        }
    }
}
