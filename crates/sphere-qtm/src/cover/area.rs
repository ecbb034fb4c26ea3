//! The areas that a cover can have: circles, boxes, polygons.

use kernels_rs::sphere_qtm::triangle::{Triangle, Vector, add, dot, unit};

use crate::cell::gnomonic;
use crate::place::{angle, cross, minus};
use crate::{Cell, Error, Result};

/// What rounding may take from an angle or a product of unit vectors: what is apart by less is not.
const SLACK: f64 = 4e-15;

/// How a cell lies to an area.
pub(super) enum Overlap<P> {
    /// They share nothing.
    Apart,
    /// The cell lies in the area.
    Inside,
    /// They share something; what matters of the area for the cell's children.
    Some(P),
}

/// An area of the globe.
pub(super) trait Area {
    /// The part of the area that matters within a cell.
    type Part;

    /// Returns the part that matters everywhere.
    fn all(&self) -> Self::Part;

    /// How a cell lies to it; of the last cells it must be exact which are apart.
    fn overlap(
        &self,
        part: &Self::Part,
        cell: Cell,
        triangle: &Triangle,
        is_last: bool,
    ) -> Overlap<Self::Part>;
}

/// The vertices, counterclockwise.
fn corners(cell: Cell, &Triangle { a, b, c }: &Triangle) -> [Vector; 3] {
    if cell.octant() < 4 { [a, b, c] } else { [a, c, b] }
}

/// On which side of the great circle from `u` to `v` a place lies, positive to the left: how far, for places that
/// are near. From differences, which are exact where things are small.
fn side(u: Vector, v: Vector, place: Vector) -> f64 {
    let along = minus(v, u);
    let length = dot(along, along).sqrt();
    if length > 0.0 { dot(cross(u, along), minus(place, u)) / length } else { 0.0 }
}

/// Whether a place lies in a triangle of counterclockwise corners, edges included.
fn holds(corners: &[Vector; 3], place: Vector) -> bool {
    (0..3).all(|i| side(corners[i], corners[(i + 1) % 3], place) >= -SLACK)
}

/// The distance from a place to an arc, as an angle.
fn to_arc(place: Vector, u: Vector, v: Vector) -> f64 {
    let normal = cross(u, minus(v, u));
    let length = dot(normal, normal).sqrt();
    let between = dot(cross(normal, u), place) > 0.0 && dot(cross(v, normal), place) > 0.0;
    if between && length > 0.0 {
        (dot(normal, minus(place, u)) / length).abs().min(1.0).asin()
    } else {
        angle(place, u).min(angle(place, v))
    }
}

/// The distance from a place to a triangle, as an angle.
fn to_triangle(place: Vector, corners: &[Vector; 3]) -> f64 {
    if holds(corners, place) {
        return 0.0;
    }
    let of_edge = |i: usize| to_arc(place, corners[i], corners[(i + 1) % 3]);
    of_edge(0).min(of_edge(1)).min(of_edge(2))
}

/// All within an angle of a place.
pub(super) struct Circle {
    centre: Vector,
    radius: f64,
}

impl Circle {
    pub(super) fn new(centre: Vector, radius: f64) -> Self {
        Self { centre, radius }
    }
}

impl Area for Circle {
    type Part = ();

    fn all(&self) {}

    fn overlap(&self, (): &(), cell: Cell, triangle: &Triangle, _: bool) -> Overlap<()> {
        let corners = corners(cell, triangle);
        if to_triangle(self.centre, &corners) > self.radius + SLACK {
            return Overlap::Apart;
        }
        // What is left of the globe is a circle around the antipode; of both the smaller is convex.
        let is_inside = if self.radius < std::f64::consts::FRAC_PI_2 {
            corners.iter().all(|&corner| angle(self.centre, corner) <= self.radius)
        } else {
            let antipode = self.centre.map(|x| -x);
            to_triangle(antipode, &corners) >= std::f64::consts::PI - self.radius
        };
        if is_inside { Overlap::Inside } else { Overlap::Some(()) }
    }
}

/// The area between two meridians and two parallels.
pub(super) struct Box {
    west: f64,
    width: f64,
    south: f64,
    north: f64,
}

impl Box {
    pub(super) fn new((west, east): (f64, f64), (south, north): (f64, f64)) -> Self {
        let width = if east - west >= 360.0 { 360.0 } else { (east - west).rem_euclid(360.0) };
        Self { west, width, south, north }
    }
}

/// Degrees that rounding may take from a longitude or a latitude.
const DEGREES: f64 = 1e-12;

impl Area for Box {
    type Part = ();

    fn all(&self) {}

    fn overlap(&self, (): &(), cell: Cell, triangle: &Triangle, _: bool) -> Overlap<()> {
        let (west, width) = longitudes(cell, triangle);
        let (south, north) = latitudes(triangle);
        let from_west = (west - self.west).rem_euclid(360.0);
        let reaches_east = from_west <= self.width + DEGREES;
        let reaches_west = (self.west - west).rem_euclid(360.0) <= width + DEGREES;
        // Where rounding makes a turn of nothing.
        let touches = from_west >= 360.0 - DEGREES;
        // A pole has every longitude.
        let pole = triangle.a[2];
        let meets_pole = pole == 1.0 && self.north == 90.0 || pole == -1.0 && self.south == -90.0;
        let between = reaches_east || reaches_west || touches || meets_pole;
        if !between || south > self.north + DEGREES || north < self.south - DEGREES {
            return Overlap::Apart;
        }
        let all_around = self.width == 360.0;
        let is_inside = (all_around || from_west + width <= self.width)
            && self.south <= south
            && north <= self.north;
        if is_inside { Overlap::Inside } else { Overlap::Some(()) }
    }
}

/// The western end of a cell in degrees, from 0 to 360, and its width.
fn longitudes(cell: Cell, triangle: &Triangle) -> (f64, f64) {
    let quarter = cell.octant() % 4;
    let (mut low, mut high) = (90.0f64, 0.0f64);
    for [x, y, _] in [triangle.a, triangle.b, triangle.c] {
        // From the octant's western meridian; a pole lies on all of them.
        let (x, y) =
            if quarter.is_multiple_of(2) { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
        if x > 0.0 || y > 0.0 {
            let degrees = y.atan2(x).to_degrees();
            (low, high) = (low.min(degrees), high.max(degrees));
        }
    }
    (f64::from(quarter) * 90.0 + low, high - low)
}

/// The least and the greatest latitude of a cell in degrees: those of its vertices, and the tops of its edges.
fn latitudes(triangle: &Triangle) -> (f64, f64) {
    let corners = [triangle.a, triangle.b, triangle.c];
    let (mut low, mut high) = (90.0f64, -90.0f64);
    let mut take = |[x, y, z]: Vector| {
        let degrees = z.atan2(x.hypot(y)).to_degrees();
        (low, high) = (low.min(degrees), high.max(degrees));
    };
    for i in 0..3 {
        let (u, v) = (corners[i], corners[(i + 1) % 3]);
        take(u);
        let n = cross(u, v);
        // Where the great circle is nearest to the poles.
        let top = [-n[0] * n[2], -n[1] * n[2], n[0] * n[0] + n[1] * n[1]];
        for top in [top, top.map(|x| -x)] {
            if dot(top, top) > 0.0 && dot(cross(n, u), top) > 0.0 && dot(cross(v, n), top) > 0.0 {
                take(top);
            }
        }
    }
    (low, high)
}

/// An area between rings of arcs.
pub(super) struct Polygon {
    edges: Vec<[Vector; 2]>,
    /// A plane onto which the half of the globe is projected that holds the rings.
    frame: [Vector; 3],
}

impl Polygon {
    /// The polygon of an outer ring and holes; none without rings.
    pub(super) fn new(rings: &[Vec<Vector>]) -> Result<Option<Self>> {
        let Some(outer) = rings.first() else { return Ok(None) };
        let wrong = |ring, why| Err(Error::Ring { ring, why });
        let sum = outer.iter().fold([0.0; 3], |sum, &vertex| add(sum, vertex));
        if dot(sum, sum) == 0.0 {
            return wrong(0, "does not fit into a hemisphere");
        }
        let up = unit(sum);
        let aside = if up[2].abs() < 0.9 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
        let east = unit(cross(aside, up));
        let frame = [east, cross(up, east), up];
        let mut edges = Vec::new();
        for (i, ring) in rings.iter().enumerate() {
            if ring.len() < 3 {
                return wrong(i, "has fewer than three vertices");
            }
            if ring.iter().any(|&vertex| dot(up, vertex) < 1e-6) {
                return wrong(i, "does not fit into the same hemisphere as the first ring");
            }
            let next = ring.iter().cycle().skip(1);
            edges.extend(ring.iter().zip(next).map(|(&u, &v)| [u, v]).filter(|[u, v]| u != v));
        }
        Ok(Some(Self { edges, frame }))
    }

    /// Whether a place is inside: arcs are straight on the plane.
    fn holds(&self, place: Vector) -> bool {
        let Some([x, y]) = gnomonic(&self.frame, place) else { return false };
        let crossings = self.edges.iter().filter(|[u, v]| {
            let (Some(u), Some(v)) = (gnomonic(&self.frame, *u), gnomonic(&self.frame, *v)) else {
                return false;
            };
            if (u[1] > y) == (v[1] > y) {
                return false;
            }
            let (low, high) = if u[1] < v[1] { (u, v) } else { (v, u) };
            let at = |[x, y]: [f64; 2]| robust::Coord { x, y };
            robust::orient2d(at(low), at(high), at([x, y])) > 0.0
        });
        crossings.count() % 2 == 1
    }
}

impl Area for Polygon {
    /// The edges near a cell.
    type Part = Vec<usize>;

    fn all(&self) -> Vec<usize> {
        (0..self.edges.len()).collect()
    }

    fn overlap(
        &self,
        part: &Vec<usize>,
        cell: Cell,
        triangle: &Triangle,
        is_last: bool,
    ) -> Overlap<Vec<usize>> {
        let (corners, centre) = (corners(cell, triangle), triangle.centre());
        let radius = corners.iter().map(|&corner| angle(centre, corner)).fold(0.0, f64::max);
        let edge = |i: usize| self.edges[i];
        let is_near = |&i: &usize| {
            let [u, v] = edge(i);
            to_arc(centre, u, v) <= radius + SLACK
        };
        let near: Vec<usize> = part.iter().copied().filter(is_near).collect();
        let meets = |&i: &usize| {
            let [u, v] = edge(i);
            holds(&corners, u) || (0..3).any(|i| cross_arcs(corners[i], corners[(i + 1) % 3], u, v))
        };
        if !near.is_empty() && (!is_last || near.iter().any(meets)) {
            return Overlap::Some(near);
        }
        // No edge comes in: all of it is inside, or nothing.
        if self.holds(centre) { Overlap::Inside } else { Overlap::Apart }
    }
}

/// Whether two arcs meet; where rounding leaves it open, they do.
fn cross_arcs(a: Vector, b: Vector, u: Vector, v: Vector) -> bool {
    let sides = [side(a, b, u), -side(a, b, v), -side(u, v, a), side(u, v, b)];
    // All four have one sign where they meet; where they meet each other's antipodes, two have each.
    sides.iter().all(|&side| side >= -SLACK) || sides.iter().all(|&side| side <= SLACK)
}
