//! Queries of a triangulation in device memory: where places lie, values on the TIN, and the cells of all sites. A
//! thread takes one place or one site.

use device_std::{In, Out, arguments, kernel, thread, vector};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::angles::way;
use super::cell::{self, Polygon};
use super::linear;
use super::locate::{Located, Query};
use super::neighbours::Stars;
use super::predicates::{Place, Predicates, sure};
use super::rough::NONE;

/// Threads of a block.
const BLOCK: usize = 128;

/// A place on a site, the first corner.
pub const ON_SITE: u32 = 0;
/// A place on the edge between the first two corners.
pub const ON_EDGE: u32 = 1;
/// A place inside the triangle of the three corners.
pub const INSIDE: u32 = 2;
/// A place beyond the side of the hull between the first two corners.
pub const OUTSIDE: u32 = 3;
/// A place off the sites, which all lie on a line.
pub const NOWHERE: u32 = 4;

/// Sites and their stars.
#[arguments]
pub struct SiteColumns<'a> {
    /// Where each site lies.
    pub x: In<'a, f64>,
    /// As `x`.
    pub y: In<'a, f64>,
    /// The point that stands for each.
    pub points: In<'a, u32>,
    /// Where each star begins, and where the last one ends.
    pub starts: In<'a, u32>,
    /// The neighbours of all sites, star after star, as [`Stars::stored`] has them.
    pub neighbours: In<'a, u32>,
    /// How many sites.
    pub sites: u32,
}

impl Stars for SiteColumns<'_> {
    #[inline(always)]
    fn place(&self, site: u32) -> Place {
        [self.x.get(site), self.y.get(site)]
    }
    #[inline(always)]
    fn star(&self, site: u32) -> [u32; 2] {
        [self.starts.get(site), self.starts.get(site + 1)]
    }
    #[inline(always)]
    fn stored(&self, at: u32) -> u32 {
        self.neighbours.get(at)
    }
}

/// Places to locate or to interpolate at.
#[arguments]
pub struct Targets<'a> {
    /// `len` of them.
    pub x: In<'a, f64>,
    /// As `x`.
    pub y: In<'a, f64>,
    /// A site for each, best one near it.
    pub hints: In<'a, u32>,
    /// How many.
    pub len: u32,
    /// The exponent of the unit: all coordinates, of sites too, are multiples of it.
    pub unit: i32,
}

impl SiteColumns<'_> {
    /// Finds where a target lies. Returns its place, what it lies on (a site, an edge, a triangle), and the corners of
    /// that; missing corners are [`NONE`].
    ///
    /// The ends of an edge are in the order of their points. The corners of a triangle begin with the lowest point.
    #[inline(always)]
    fn locate(&self, targets: &Targets<'_>, i: u64) -> (Place, u32, [u32; 3]) {
        let predicates = Predicates::new(targets.unit);
        let at = [targets.x.get(i), targets.y.get(i)];
        let query = Query { stars: self, predicates: &predicates, at };
        let (kind, corners) = match sure(query.locate(targets.hints.get(i))) {
            Located::OnSite(site) => (ON_SITE, [site, NONE, NONE]),
            Located::Side([a, b]) if sure(query.is_on_side([a, b])) => {
                (ON_EDGE, self.ordered([a, b]))
            }
            Located::Side([a, _]) if sure(query.is_in_line(a)) => (NOWHERE, [NONE; 3]),
            Located::Side([a, b]) => (OUTSIDE, [a, b, NONE]),
            Located::Inside(triangle) => {
                let [a, b, c] = query.corners(triangle);
                let is_on = |a: u32, b: u32| sure(query.side([a, b])) == 0.0;
                if is_on(a, b) {
                    (ON_EDGE, self.ordered([a, b]))
                } else if is_on(b, c) {
                    (ON_EDGE, self.ordered([b, c]))
                } else if is_on(c, a) {
                    (ON_EDGE, self.ordered([c, a]))
                } else {
                    (INSIDE, self.rotated([a, b, c]))
                }
            }
        };
        (at, kind, corners)
    }

    /// The ends of an edge in the order of their points.
    #[inline(always)]
    fn ordered(&self, [a, b]: [u32; 2]) -> [u32; 3] {
        if self.points.get(a) < self.points.get(b) { [a, b, NONE] } else { [b, a, NONE] }
    }

    /// The corners of a triangle from the lowest point on.
    #[inline(always)]
    fn rotated(&self, [a, b, c]: [u32; 3]) -> [u32; 3] {
        let [of_a, of_b, of_c] = [a, b, c].map(|site| self.points.get(site));
        if of_a < of_b && of_a < of_c {
            [a, b, c]
        } else if of_b < of_c {
            [b, c, a]
        } else {
            [c, a, b]
        }
    }
}

/// Writes where each place lies: one of [`ON_SITE`] to [`NOWHERE`], and three corners, which are points or [`NONE`].
/// Grid: a thread for each place.
///
/// # Safety
/// The slices have what [`struct@SiteColumns`] and [`struct@Targets`] say, and there are sites; `kinds` has an element
/// for each place, `corners` three.
// The spills are around calls of exact decisions.
#[kernel(block = BLOCK, spills = 600)]
pub unsafe fn locate_places(
    sites: SiteColumns<'_>,
    targets: Targets<'_>,
    kinds: Out<'_, u32>,
    corners: Out<'_, u32>,
) {
    let i = thread::index_1d();
    if i >= targets.len as u64 {
        return;
    }
    let (_, kind, found) = sites.locate(&targets, i);
    kinds.set(i, kind);
    let to_point = |site: u32| if site == NONE { NONE } else { sites.points.get(site) };
    corners.set(3 * i, to_point(found[0]));
    corners.set(3 * i + 1, to_point(found[1]));
    corners.set(3 * i + 2, to_point(found[2]));
}

/// Writes the value at each place of the surface that is linear in each triangle; NaN outside the hull. Grid: a thread
/// for each place.
///
/// # Safety
/// As [`locate_places`](mod@locate_places); `values` has an element for each point, `results` one for each place.
// As for `locate_places`.
#[kernel(block = BLOCK, spills = 600)]
pub unsafe fn interpolate_places(
    sites: SiteColumns<'_>,
    targets: Targets<'_>,
    values: In<'_, f64>,
    results: Out<'_, f64>,
) {
    let i = thread::index_1d();
    if i >= targets.len as u64 {
        return;
    }
    let (at, kind, [a, b, c]) = sites.locate(&targets, i);
    let value = |site: u32| values.get(sites.points.get(site));
    let place = |site: u32| sites.place(site);
    results.set(
        i,
        match kind {
            ON_SITE => value(a),
            ON_EDGE => {
                let part = linear::part_of_edge(at, [place(a), place(b)]);
                linear::on_edge(part, [value(a), value(b)])
            }
            INSIDE => {
                let corners = [place(a), place(b), place(c)];
                linear::in_triangle(at, corners, [value(a), value(b), value(c)])
            }
            _ => f64::NAN,
        },
    );
}

/// Where the cells of sites go.
#[arguments]
pub struct CellColumns<'a> {
    /// The area of each site's cell.
    pub areas: Out<'a, f64>,
    /// x of each centre of gravity.
    pub centroid_x: Out<'a, f64>,
    /// y of each centre of gravity.
    pub centroid_y: Out<'a, f64>,
    /// For each neighbour in the stars, x of the cell's corner between it and the next neighbour.
    pub corner_x: Out<'a, f64>,
    /// y of that corner.
    pub corner_y: Out<'a, f64>,
}

/// Writes the Voronoi cells of all sites. Grid: a thread for each site.
///
/// `unit` is the exponent of the unit of all coordinates. Lengths are multiplied by both `factors`, one after the
/// other. An unbounded cell has an infinite area and NaN as its centre; the corner behind its last neighbour is NaN.
///
/// # Safety
/// The slices have what [`struct@SiteColumns`] and [`struct@CellColumns`] say.
#[kernel(block = BLOCK, spills = 600)]
pub unsafe fn find_cells(
    sites: SiteColumns<'_>,
    unit: i32,
    factors: [f64; 2],
    cells: CellColumns<'_>,
) {
    let i = thread::index_1d();
    if i >= sites.sites as u64 {
        return;
    }
    let site = i as u32;
    let (at, [first, end]) = (sites.place(site), sites.star(site));
    let is_bounded = !sites.is_on_hull(site);
    let predicates = Predicates::new(unit);
    let query = Query { stars: &sites, predicates: &predicates, at };
    let is_in_line = !is_bounded && sure(query.is_in_line(site));
    let scaled = |[x, y]: Place| [x * factors[0] * factors[1], y * factors[0] * factors[1]];
    let absolute = |[x, y]: Place| scaled([at[0] + x, at[1] + y]);
    let to = |slot: u32| way(at, sites.place(sites.neighbour(slot)));
    // Sums begin with the neighbour that has the lowest point, so that they do not depend on the numbers of sites.
    let start = if is_bounded { sites.lowest_slot(site) } else { first };
    let (mut slot, mut here) = (start, if first < end { to(start) } else { [0.0; 2] });
    let (mut polygon, mut first_corner, mut before) = (Polygon::default(), [0.0; 2], [0.0; 2]);
    let mut left = end - first;
    while left > vector::unknown(0) {
        let next = if slot + 1 == end { first } else { slot + 1 };
        let there = to(next);
        let has_corner = (is_bounded || slot + 1 != end) && !is_in_line;
        let corner = if has_corner { cell::centre(here, there) } else { [f64::NAN; 2] };
        let [x, y] = absolute(corner);
        cells.corner_x.set(slot, x);
        cells.corner_y.set(slot, y);
        if slot == start {
            first_corner = corner;
        } else {
            polygon.add(before, corner);
        }
        (before, here, slot) = (corner, there, next);
        left -= 1;
    }
    polygon.add(before, first_corner);
    let [area, centroid] = match is_bounded {
        true => [[polygon.area(), 0.0], polygon.centroid()],
        false => [[f64::INFINITY, 0.0], [f64::NAN; 2]],
    };
    let [x, y] = absolute(centroid);
    cells.areas.set(i, scaled(scaled(area))[0]);
    cells.centroid_x.set(i, x);
    cells.centroid_y.set(i, y);
}

impl SiteColumns<'_> {
    /// The slot of the neighbour, in a site's star, that has the lowest point.
    #[inline(always)]
    fn lowest_slot(&self, site: u32) -> u32 {
        let [first, end] = self.star(site);
        let (mut lowest, mut at, mut slot) = (u32::MAX, first, first);
        while slot < vector::unknown(end) {
            let point = self.points.get(self.neighbour(slot));
            (lowest, at) = if point < lowest { (point, slot) } else { (lowest, at) };
            slot += 1;
        }
        at
    }
}
