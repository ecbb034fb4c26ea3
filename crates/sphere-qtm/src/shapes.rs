//! Sites that are points, arcs of great circles and polygons.

mod mend;

use std::f64::consts::TAU;

use gpu_core::host_memory;
use kernels_rs::sphere_qtm::shapes::{Element, INSIDE};
use kernels_rs::sphere_qtm::triangle::{Vector, add, dot, unit};

use crate::place::{cross, minus};
use crate::{Error, LonLat, Result, UnitVector};

/// What a site is.
///
/// Example: see [`voronoi_of_shapes`](crate::voronoi_of_shapes()).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// A place.
    Point(LonLat),
    /// Arcs of great circles from each place to the next, two or more.
    Line(Vec<LonLat>),
    /// An outer ring and its holes, whose edges are arcs of great circles. A ring may repeat its first place at the
    /// end.
    ///
    /// A ring divides the globe into two sides, and goes round the smaller one. It holds the places that it goes
    /// round an odd number of times, in either direction. The polygon holds the places that are in the outer ring
    /// and in no hole.
    ///
    /// So a ring that crosses itself as a bow tie holds two triangles, and holes may overlap. A ring without area, of
    /// one or two places, holds nothing. A hole that has no place in common with the outer ring becomes a separate
    /// polygon, as in GEOS ([`Shapes::mended`]).
    Polygon(Vec<Vec<LonLat>>),
    /// All of these shapes together; polygons that overlap count as their union.
    Several(Vec<Shape>),
}

/// The shapes of a diagram's sites, as arcs that are checked.
///
/// Example: see [`voronoi_of_shapes`](crate::voronoi_of_shapes()).
#[derive(Clone, Debug, PartialEq)]
pub struct Shapes {
    elements: Vec<Element>,
    sites: u32,
    mended: Vec<u32>,
}

impl Shapes {
    /// Makes a site from each shape.
    ///
    /// # Errors
    /// - [`Error::Arc`] for an arc of a line, or an edge of a polygon, whose ends are antipodes: many arcs join
    ///   them.
    /// - [`Error::Shape`] for a line of fewer than two different places.
    /// - [`Error::Shape`] for a ring that divides the globe into halves.
    /// - [`Error::Shape`] for a shape without parts, such as one whose polygons hold nothing.
    /// - [`gpu_core::Error::TooMany`] for too many shapes, or for more than 2^31 - 1 arcs.
    /// - [`Error::Core`] where memory fails.
    pub fn new(shapes: &[Shape]) -> Result<Self> {
        crate::params::check_count(shapes.len() as u64)?;
        let elements = host_memory::with_capacity(shapes.len())?;
        let mut maker = Maker { elements, parts: 0, mended: Vec::new(), flat: false };
        for (site, shape) in shapes.iter().enumerate() {
            let before = maker.elements.len();
            maker.push(site as u32, shape)?;
            if maker.elements.len() == before {
                let why = if maker.flat { FLAT } else { "has no parts" };
                return Err(Error::Shape { site: site as u64, why });
            }
        }
        let arcs = maker.elements.len() as u64;
        gpu_core::require_at_most("arcs", arcs, u64::from(INSIDE) - 1)?;
        maker.mended.dedup();
        Ok(Self { elements: maker.elements, sites: shapes.len() as u32, mended: maker.mended })
    }

    /// Returns the sites that had a polygon mended, in their order. A polygon is mended if its rings cross or
    /// touch, if a hole lies outside its outer ring or in another hole, or if a ring has no area.
    pub fn mended(&self) -> &[u32] {
        &self.mended
    }

    /// The number of sites.
    pub fn len(&self) -> usize {
        self.sites as usize
    }

    /// Whether there are none: never.
    pub fn is_empty(&self) -> bool {
        self.sites == 0
    }

    pub(crate) fn elements(&self) -> &[Element] {
        &self.elements
    }
}

/// Why a site has no parts, where polygons of it hold nothing.
const FLAT: &str = "has polygons that hold nothing: a ring needs three places that are not one and the same on the globe \
                    (edges are arcs of great circles: give a rectangle of longitudes and latitudes places along its sides, every \
                    90 degrees or less), and more than its holes take away";

/// Makes elements.
struct Maker {
    elements: Vec<Element>,
    /// Parts so far.
    parts: u32,
    /// Sites with mended polygons.
    mended: Vec<u32>,
    /// Whether a polygon of the site holds nothing.
    flat: bool,
}

impl Maker {
    fn push(&mut self, site: u32, shape: &Shape) -> Result<()> {
        match shape {
            Shape::Point(place) => {
                let place = place.to_vector().to_array();
                let part = self.part(false);
                self.elements.push(Element {
                    from: place,
                    to: place,
                    normal: [0.0; 3],
                    at_from: [0.0; 3],
                    at_to: [0.0; 3],
                    site,
                    part,
                });
            }
            Shape::Line(places) => {
                let mut vertices: Vec<Vertex> = places.iter().map(|&place| place.into()).collect();
                vertices.dedup_by(|a, b| is_same(a.vector, b.vector));
                if vertices.len() < 2 {
                    let why = "has a line of fewer than two different places";
                    return Err(Error::Shape { site: site.into(), why });
                }
                let part = self.part(false);
                for ends in vertices.windows(2) {
                    self.elements.push(arc(site, part, ends[0], ends[1])?);
                }
            }
            Shape::Polygon(rings) => self.push_polygon(site, rings)?,
            Shape::Several(shapes) => {
                shapes.iter().try_for_each(|shape| self.push(site, shape))?;
            }
        }
        Ok(())
    }

    /// The number of the next part.
    fn part(&mut self, is_polygon: bool) -> u32 {
        self.parts += 1;
        self.parts << 1 | u32::from(is_polygon)
    }

    /// The edges of a polygon, with its inside to their left.
    fn push_polygon(&mut self, site: u32, rings: &[Vec<LonLat>]) -> Result<()> {
        let part = self.part(true);
        let all: Vec<Vec<Vertex>> = rings.iter().map(|ring| without_spikes(ring)).collect();
        let has_area = |ring: &Vec<Vertex>| ring.len() >= 3;
        if !all.first().is_some_and(has_area) {
            self.flat = true;
            return Ok(());
        }
        if !all.iter().all(has_area) {
            self.mended.push(site);
        }
        let rings: Vec<Vec<Vertex>> = all.into_iter().filter(has_area).collect();
        // Antipodes and halves are refused before anything is mended.
        for ring in &rings {
            let (first, next) = (ring.iter(), ring.iter().cycle().skip(1));
            first.zip(next).try_for_each(|(&a, &b)| arc(site, part, a, b).map(drop))?;
            if (area_to_the_left(ring) - TAU).abs() < HALF {
                let why = "has a ring that divides the globe into halves, and either may be meant";
                return Err(Error::Shape { site: site.into(), why });
            }
        }
        let vectors = |ring: &Vec<Vertex>| ring.iter().map(|vertex| vertex.vector).collect();
        let vectors: Vec<Vec<Vector>> = rings.iter().map(vectors).collect();
        let Some(edges) = mend::edges(&vectors) else {
            for (number, ring) in rings.into_iter().enumerate() {
                self.push_ring(site, part, ring, number > 0)?;
            }
            return Ok(());
        };
        self.mended.push(site);
        self.flat |= edges.is_empty();
        let vertex = |v: Vector| Vertex { place: UnitVector(v).to_lon_lat(), vector: v };
        for mend::Edge { from, to, at_from, at_to } in edges {
            let element = arc(site, part, vertex(from), vertex(to))?;
            self.elements.push(Element { at_from, at_to, ..element });
        }
        Ok(())
    }

    /// The edges of a ring, with the inside of the polygon to their left.
    fn push_ring(
        &mut self,
        site: u32,
        part: u32,
        mut places: Vec<Vertex>,
        is_hole: bool,
    ) -> Result<()> {
        if (area_to_the_left(&places) > TAU) != is_hole {
            places.reverse();
        }
        let (first, count) = (self.elements.len(), places.len());
        for i in 0..count {
            let element = arc(site, part, places[i], places[(i + 1) % count])?;
            self.elements.push(element);
        }
        let ring = &mut self.elements[first..];
        let normals: Vec<Vector> = ring.iter().map(|edge| edge.normal).collect();
        for (i, edge) in ring.iter_mut().enumerate() {
            edge.at_from = add(normals[(i + count - 1) % count], normals[i]);
            edge.at_to = add(normals[i], normals[(i + 1) % count]);
        }
        Ok(())
    }
}

/// A place as given, and its vector.
#[derive(Clone, Copy)]
struct Vertex {
    place: LonLat,
    vector: Vector,
}

impl From<LonLat> for Vertex {
    fn from(place: LonLat) -> Self {
        Self { place, vector: place.to_vector().to_array() }
    }
}

/// How near to half of the globe the area of a ring may come, in steradians.
const HALF: f64 = 1e-9;

/// How near to a half turn an arc may come, and an arc to none: the plane of such an arc is not known.
const LEAST_SINE: f64 = 1e-12;

/// Whether two places are one, or so near each other that no arc is known between them.
fn is_same(a: Vector, b: Vector) -> bool {
    a == b || cross(a, minus(b, a)) == [0.0; 3] && dot(a, b) > 0.0
}

fn arc(site: u32, part: u32, from: Vertex, to: Vertex) -> Result<Element> {
    let (a, b) = (from.vector, to.vector);
    // The difference is exact where the ends are near each other.
    let normal = cross(a, minus(b, a));
    let is_far = dot(a, b) < 0.0;
    let why = if is_same(a, b) {
        "the same place"
    } else if is_far && dot(normal, normal) < LEAST_SINE * LEAST_SINE {
        "antipodes"
    } else {
        let normal = scaled(normal);
        return Ok(Element {
            from: a,
            to: b,
            normal,
            at_from: [0.0; 3],
            at_to: [0.0; 3],
            site,
            part,
        });
    };
    let ends = [from, to].map(|v| [v.place.longitude(), v.place.latitude()]);
    Err(Error::Arc { site: site.into(), from: ends[0], to: ends[1], why })
}

/// A vector's direction, also of one whose square is not a number.
fn scaled(v: Vector) -> Vector {
    let largest = v.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    unit(v.map(|x| x / largest))
}

/// A ring without what it goes back on the same way, as along the edge of a map and back, and without repeated
/// places. What is left has three places or more, or none.
fn without_spikes(ring: &[LonLat]) -> Vec<Vertex> {
    let same = |a: Vertex, b: Vertex| is_same(a.vector, b.vector);
    let mut kept: Vec<Vertex> = Vec::with_capacity(ring.len());
    for vertex in ring.iter().map(|&place| Vertex::from(place)) {
        match kept[..] {
            [.., last] if same(last, vertex) => {}
            // There and back.
            [.., before, _] if same(before, vertex) => drop(kept.pop()),
            _ => kept.push(vertex),
        }
    }
    // The same where the ring closes.
    let mut rest = &kept[..];
    loop {
        rest = match rest {
            [first, between @ .., last] if same(*first, *last) => &rest[..=between.len()],
            [first, .., before, _] if same(*first, *before) => &rest[..rest.len() - 1],
            [_, second, .., last] if same(*second, *last) => &rest[1..],
            _ => break,
        };
    }
    if rest.len() < 3 { Vec::new() } else { rest.to_vec() }
}

/// The area of the globe to the left of a ring, in steradians: the sum of the triangles of a place and each edge, but for
/// whole globes. The place is a quarter turn from the first edge, so that no triangle of a great circle is flat.
fn area_to_the_left(places: &[Vertex]) -> f64 {
    let vector = |i: usize| places[i % places.len()].vector;
    let apex = scaled(cross(vector(0), minus(vector(1), vector(0))));
    let sum: f64 = (0..places.len()).map(|i| excess(apex, vector(i), vector(i + 1))).sum();
    sum.rem_euclid(2.0 * TAU)
}

/// The area to the left of a triangle's sides, in steradians, but for whole globes.
fn excess(a: Vector, b: Vector, c: Vector) -> f64 {
    let volume = dot(a, cross(minus(b, a), minus(c, a)));
    2.0 * volume.atan2(1.0 + dot(a, b) + dot(b, c) + dot(c, a))
}
