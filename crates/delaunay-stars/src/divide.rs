//! Divide and conquer: all edges of the triangulation of sites, on all cores.
//!
//! The method is by Guibas and Stolfi (1985, "Primitives for the manipulation of general subdivisions and the
//! computation of Voronoi diagrams", doi:10.1145/282918.282923). It divides the sites by a line, triangulates both
//! halves, and merges them from the lower common tangent to the upper one. Two things differ:
//!
//! - Sites lie along Morton's curve, and are divided where it leaves one half of a cell, by x and by y in turn. Nothing is
//!   sorted or selected on the way down. A merge visits few sites, as it does in halves across the longer side
//!   (Dwyer 1987, "A faster divide-and-conquer algorithm for constructing Delaunay triangulations",
//!   doi:10.1007/BF01840356).
//! - Predicates are exact and never tie ([`Predicates::is_inside`]). So the triangulation does not depend on how sites are
//!   divided, nor on the number of threads.
//!
//! ```text
//! triangulate(sites):
//!     2 or 3 sites: an edge, or two edges and, unless these are in line, a third
//!     4 to 16 sites: sort them along the longer side of their box, and halve them
//!     more: if they lie in one cell, give them a curve of their own; divide where the highest bit of cells changes
//!     triangulate both parts; then merge:
//!     base = the lower common tangent, from right to left
//!     repeat
//!         left  = of the edges at base's left end, the first whose circle with base has no site of the left half inside;
//!                 those before it go
//!         right = the same at the right end
//!         none: base is the upper tangent, done
//!         base = the edge from one end of base to the far end of left or right, whichever's circle is empty
//! ```
//!
//! An edge is a pair of directed edges, `e` and `e ^ 1`. Each directed edge knows its origin, and the next edges around
//! the origin. The triangulation of n sites has fewer than 3 n edges, so each half has its own part of one array, and
//! threads share nothing.
//!
//! Cost: 72 bytes a site for edges, and time O(n log n). Sites at many scales may take more: at worst O(n) for each scale
//! at which a few lie far from all others, of which there are at most 500.

use std::cmp::Ordering;

use gpu_core::parallel;
use kernels_rs::stars::predicates::Predicates;

use crate::sites::{Site, arrange};

/// Stands for no edge.
pub(crate) const NONE: u32 = u32::MAX;

/// Directed edges for each site.
pub(crate) const EDGES_OF_SITE: usize = 6;

/// One thread triangulates up to this many sites.
const SERIAL: usize = 4096;

/// Up to this many sites are sorted along one axis and divided along it from there on: cheaper than finding the longer
/// side each time.
const SORTED: usize = 16;

/// A directed edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The site that it leaves, by its position; [`NONE`] where there is no edge.
    pub(crate) origin: u32,
    /// The next edge of the same origin, counter-clockwise.
    pub(crate) next: u32,
    /// The next clockwise.
    previous: u32,
}

impl Edge {
    pub(crate) const FREE: Self = Self { origin: NONE, next: NONE, previous: NONE };
}

/// Triangulates sites, which are brought into another order, and gives an edge along the hull with the outside on its right;
/// [`NONE`] if there are fewer than two. `edges` are six for each site.
pub(crate) fn triangulate(sites: &mut [Site], edges: &mut [Edge], predicates: Predicates) -> u32 {
    if sites.len() < 2 {
        return NONE;
    }
    let mut part = Part { sites, edges, first_site: 0, predicates, free: Free::EMPTY };
    part.triangulate(None).0
}

/// The coordinate by which sites are divided. The order by y is that by x, turned by a quarter of a circle, so that the same
/// merge serves both.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    X,
    Y,
}

impl Axis {
    /// Without a branch: half of the answers cannot be foreseen.
    #[inline(always)]
    fn is_before(self, a: [f64; 2], b: [f64; 2]) -> bool {
        match self {
            Self::X => (a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1])),
            Self::Y => (a[1] < b[1]) | ((a[1] == b[1]) & (a[0] > b[0])),
        }
    }

    /// The order of sites.
    #[inline(always)]
    fn compare(self, a: &Site, b: &Site) -> Ordering {
        if self.is_before(a.place, b.place) {
            Ordering::Less
        } else if self.is_before(b.place, a.place) {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    /// Sorts sites. Each axis has a loop of its own.
    fn sort(self, sites: &mut [Site]) {
        match self {
            Self::X => sites.sort_unstable_by(|a, b| Self::X.compare(a, b)),
            Self::Y => sites.sort_unstable_by(|a, b| Self::Y.compare(a, b)),
        }
    }

    /// Along the longer side of the sites' bounding box.
    fn longer(sites: &[Site]) -> Self {
        let [mut least, mut greatest] = [sites[0].place; 2];
        for site in sites {
            for axis in 0..2 {
                let value = site.place[axis];
                least[axis] = if value < least[axis] { value } else { least[axis] };
                greatest[axis] = if value > greatest[axis] { value } else { greatest[axis] };
            }
        }
        if greatest[1] - least[1] > greatest[0] - least[0] { Self::Y } else { Self::X }
    }
}

/// Two hull edges: out of the first site along an axis, with the outside on its right; out of the last site, with the outside
/// on its left.
type Ends = (u32, u32);

/// Edges that are free, chained by `next`; each stands for the pair with its twin.
#[derive(Clone, Copy)]
struct Free {
    first: u32,
    last: u32,
}

impl Free {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

/// Some sites with their part of the edges.
struct Part<'a> {
    sites: &'a mut [Site],
    edges: &'a mut [Edge],
    first_site: usize,
    predicates: Predicates,
    free: Free,
}

impl Part<'_> {
    /// Triangulates, and gives the ends along the axis, or along any.
    fn triangulate(&mut self, wanted: Option<Axis>) -> Ends {
        let (axis, ends);
        if self.sites.len() <= SORTED {
            axis = Axis::longer(self.sites);
            axis.sort(self.sites);
            ends = self.sorted();
        } else {
            let middle;
            (axis, middle) = self.division();
            let [left, right] = self.in_parts(middle, |part| part.triangulate(Some(axis)));
            ends = self.merge(left, right);
        }
        match wanted {
            Some(wanted) if wanted != axis => self.ends(ends.0, wanted),
            _ => ends,
        }
    }

    /// The axis across which the curve's smallest cell around all sites is halved, and how many sites lie in the first
    /// half. Sites of one cell get a curve of their own. No half has a single site: it has one of the other half, too.
    fn division(&mut self) -> (Axis, usize) {
        let differing = |sites: &[Site]| sites[0].code ^ sites[sites.len() - 1].code;
        if differing(self.sites) == 0 {
            arrange(self.sites);
        }
        let bit = differing(self.sites).ilog2();
        let axis = if bit % 2 == 0 { Axis::X } else { Axis::Y };
        let (middle, len) =
            (self.sites.partition_point(|site| site.code >> bit & 1 == 0), self.sites.len());
        let compare = |&a: &usize, &b: &usize| axis.compare(&self.sites[a], &self.sites[b]);
        if middle == 1 {
            let first = (1..len).min_by(compare).unwrap_or(1);
            self.sites[1..=first].rotate_right(1);
            return (axis, 2);
        }
        if middle == len - 1 {
            let last = (0..middle).max_by(compare).unwrap_or(0);
            self.sites[last..middle].rotate_left(1);
            return (axis, middle - 1);
        }
        (axis, middle)
    }

    /// Triangulates sites that are in order along an axis, by that axis alone.
    fn sorted(&mut self) -> Ends {
        if self.sites.len() <= 3 {
            return self.few();
        }
        let [left, right] = self.in_parts(self.sites.len() / 2, |half| half.sorted());
        self.merge(left, right)
    }

    /// Does something with the sites before the middle and the others, at the same time if they are many.
    #[inline(always)]
    fn in_parts(
        &mut self,
        middle: usize,
        work: impl Fn(&mut Part<'_>) -> Ends + Sync,
    ) -> [Ends; 2] {
        let (len, first_site, predicates) = (self.sites.len(), self.first_site, self.predicates);
        let (left_sites, right_sites) = self.sites.split_at_mut(middle);
        let (left_edges, right_edges) = self.edges.split_at_mut(middle * EDGES_OF_SITE);
        let free = Free::EMPTY;
        let mut left = Part { sites: left_sites, edges: left_edges, first_site, predicates, free };
        let first_site = first_site + middle;
        let mut right =
            Part { sites: right_sites, edges: right_edges, first_site, predicates, free };
        let mut ends = [(NONE, NONE); 2];
        let [of_left, of_right] = &mut ends;
        if len < SERIAL {
            *of_left = work(&mut left);
            *of_right = work(&mut right);
        } else {
            parallel::join(|| *of_left = work(&mut left), || *of_right = work(&mut right));
        }
        let (left, right) = (left.free, right.free);
        self.free = self.joined(left, right);
        ends
    }

    /// Two or three sites in order.
    fn few(&mut self) -> Ends {
        self.free_all();
        let first = self.first_site as u32;
        let a = self.edge(first, first + 1);
        if self.sites.len() == 2 {
            return (a, a ^ 1);
        }
        let b = self.edge(first + 1, first + 2);
        self.splice(a ^ 1, b);
        match self.orientation(first, first + 1, first + 2) {
            0 => (a, b ^ 1),
            side => {
                let c = self.connect(b, a);
                if side > 0 { (a, b ^ 1) } else { (c ^ 1, c) }
            }
        }
    }

    /// Merges two halves.
    fn merge(&mut self, left: Ends, right: Ends) -> Ends {
        let (mut left_outer, mut left_inner) = left;
        let (mut right_inner, mut right_outer) = right;
        loop {
            let [l, r] = [self.origin(left_inner), self.origin(right_inner)];
            if self.orientation(l, self.end(left_inner), r) > 0 {
                left_inner = self.left_next(left_inner);
            } else if self.orientation(r, self.end(right_inner), l) < 0 {
                right_inner = self.next(right_inner ^ 1);
            } else {
                break;
            }
        }
        let mut base = self.connect(right_inner ^ 1, left_inner);
        if self.origin(left_inner) == self.origin(left_outer) {
            left_outer = base ^ 1;
        }
        if self.origin(right_inner) == self.origin(right_outer) {
            right_outer = base;
        }
        let (mut left, mut right) = (self.place(self.end(base)), self.place(self.origin(base)));
        loop {
            let left_candidate = self.candidate([left, right], base ^ 1, Self::next);
            let right_candidate = self.candidate([left, right], base, Self::previous);
            let (is_left, edge, apex) = match (left_candidate, right_candidate) {
                (None, None) => return (left_outer, right_outer),
                (Some((edge, apex)), None) => (true, edge, apex),
                (None, Some((edge, apex))) => (false, edge, apex),
                (Some(of_left), Some(of_right)) => {
                    let is_left = !self.predicates.is_inside(left, right, of_left.1, of_right.1);
                    let (edge, apex) = if is_left { of_left } else { of_right };
                    (is_left, edge, apex)
                }
            };
            if is_left {
                (base, left) = (self.connect(base ^ 1, edge ^ 1), apex);
            } else {
                (base, right) = (self.connect(edge, base ^ 1), apex);
            }
        }
    }

    /// Finds the next edge at one end of the base, and the place of the edge's far end. `None` if the edge does not lie above
    /// the base. `left` and `right` are the places of the base's ends.
    ///
    /// Edges are tried in their order around that end, beginning beside the base. An edge stays if the circle through it and
    /// the base does not hold the end of the next edge. An edge that does not stay is deleted.
    #[inline(always)]
    fn candidate(
        &mut self,
        [left, right]: [[f64; 2]; 2],
        from: u32,
        turned: impl Fn(&Self, u32) -> u32,
    ) -> Option<(u32, [f64; 2])> {
        let mut candidate = turned(self, from);
        let mut apex = self.place(self.end(candidate));
        if self.predicates.orientation(left, right, apex) <= 0 {
            return None;
        }
        loop {
            let following = turned(self, candidate);
            let next_apex = self.place(self.end(following));
            if !self.predicates.is_inside(left, right, apex, next_apex) {
                return Some((candidate, apex));
            }
            self.delete(candidate);
            (candidate, apex) = (following, next_apex);
        }
    }

    /// The ends along another axis, by a way around the hull.
    fn ends(&self, hull: u32, axis: Axis) -> Ends {
        let [mut first, mut last] = [hull, hull ^ 1];
        let mut edge = hull;
        loop {
            let place = self.place(self.origin(edge));
            if axis.is_before(place, self.place(self.origin(first))) {
                first = edge;
            }
            let end = self.place(self.end(edge));
            if axis.is_before(self.place(self.origin(last)), end) {
                last = edge ^ 1;
            }
            edge = self.next(edge ^ 1);
            if edge == hull {
                return (first, last);
            }
        }
    }
}

/// Sites and edges by their numbers among all.
impl Part<'_> {
    #[inline(always)]
    fn slot(&self, edge: u32) -> usize {
        edge as usize - self.first_site * EDGES_OF_SITE
    }

    fn place(&self, site: u32) -> [f64; 2] {
        self.sites[site as usize - self.first_site].place
    }

    fn origin(&self, edge: u32) -> u32 {
        self.edges[self.slot(edge)].origin
    }

    fn end(&self, edge: u32) -> u32 {
        self.origin(edge ^ 1)
    }

    fn next(&self, edge: u32) -> u32 {
        self.edges[self.slot(edge)].next
    }

    fn previous(&self, edge: u32) -> u32 {
        self.edges[self.slot(edge)].previous
    }

    /// The next edge around the face on the left.
    fn left_next(&self, edge: u32) -> u32 {
        self.previous(edge ^ 1)
    }

    fn orientation(&self, a: u32, b: u32, c: u32) -> i32 {
        self.predicates.orientation(self.place(a), self.place(b), self.place(c))
    }

    /// Makes all edges free.
    fn free_all(&mut self) {
        let first = (self.first_site * EDGES_OF_SITE) as u32;
        let len = self.edges.len() as u32;
        for (i, edge) in (0..len).zip(&mut *self.edges) {
            let next = if i + 2 < len { first + i + 2 } else { NONE };
            *edge = Edge { next, ..Edge::FREE };
        }
        self.free = Free { first, last: first + len - 2 };
    }

    /// The free edges of two halves.
    fn joined(&mut self, a: Free, b: Free) -> Free {
        if a.first == NONE {
            return b;
        }
        if b.first == NONE {
            return a;
        }
        let last = self.slot(a.last);
        self.edges[last].next = b.first;
        Free { first: a.first, last: b.last }
    }

    /// A new edge between two sites, beside no other.
    fn edge(&mut self, from: u32, to: u32) -> u32 {
        let edge = self.free.first;
        let slot = self.slot(edge);
        self.free.first = self.edges[slot].next;
        self.edges[slot] = Edge { origin: from, next: edge, previous: edge };
        self.edges[slot ^ 1] = Edge { origin: to, next: edge ^ 1, previous: edge ^ 1 };
        edge
    }

    /// Exchanges what follows two edges around their origin: joins two rings, or divides one.
    fn splice(&mut self, a: u32, b: u32) {
        let [after_a, after_b] = [self.next(a), self.next(b)];
        for (edge, next) in [(a, after_b), (b, after_a)] {
            let [slot, slot_of_next] = [self.slot(edge), self.slot(next)];
            self.edges[slot].next = next;
            self.edges[slot_of_next].previous = edge;
        }
    }

    /// A new edge from the end of one edge to the origin of another, with the same face on the left.
    fn connect(&mut self, a: u32, b: u32) -> u32 {
        let edge = self.edge(self.end(a), self.origin(b));
        self.splice(edge, self.left_next(a));
        self.splice(edge ^ 1, b);
        edge
    }

    fn delete(&mut self, edge: u32) {
        self.splice(edge, self.previous(edge));
        self.splice(edge ^ 1, self.previous(edge ^ 1));
        let edge = edge & !1;
        let slot = self.slot(edge);
        self.edges[slot] = Edge { next: self.free.first, ..Edge::FREE };
        self.edges[slot + 1] = Edge::FREE;
        if self.free.first == NONE {
            self.free.last = edge;
        }
        self.free.first = edge;
    }
}
