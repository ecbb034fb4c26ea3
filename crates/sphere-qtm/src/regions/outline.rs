//! The outlines of regions, as polygons in longitude and latitude.
//!
//! 1. The border of a region consists of the edges of its cells that have another region on the other side. All edges
//!    on the meridian of 180 degrees belong to it too, since this is an edge of the map. So no ring crosses this
//!    meridian, and on the map every region lies to the left of its border.
//! 2. From an edge, a walk goes around the edge's end from cell to cell of the region, until it finds the next edge of
//!    the border. It does not join cells that share only a vertex, so no ring crosses itself.
//! 3. Edges are arcs of great circles, and bend on the map, most of all near the poles. If the straight line between an
//!    edge's ends is too far from the arc, the outline gets further places on the arc.
//! 4. A pole is a line on the map. A ring through a pole follows that line from the longitude of its arrival to the
//!    longitude of its departure.
//! 5. Rings that turn counterclockwise on the map are outer rings. A hole belongs to the smallest outer ring that holds
//!    it.

use std::collections::BTreeMap;

use gpu_core::host_memory;
use kernels_rs::sphere_qtm::triangle::{Vector, add, unit};

use crate::place::angle;
use crate::{Cell, Diagram, LonLat, Result};

/// An area between rings, as in GeoJSON: longitudes from -180 to 180, the outer ring counterclockwise, holes clockwise.
/// Rings do not repeat their first vertex.
///
/// Example: see [`outlines`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Polygon {
    /// The outer ring.
    pub outer: Vec<LonLat>,
    /// The rings of its holes.
    pub holes: Vec<Vec<LonLat>>,
}

/// Returns the outlines of the sites' regions: for each site its polygons, and none for a site that is nearest to
/// no cell.
///
/// Vertices of the polygons are vertices of cells, and further places along edges that bend on the map. The true edges
/// are great-circle arcs. Straight lines between longitudes and latitudes, as in GeoJSON, differ from them by at most a
/// 64th of an edge.
///
/// With such lines the polygons cover the map without gap or overlap, and each cell's centre lies in the polygon of its
/// site. The meridian of 180 degrees cuts polygons, and polygons include the poles.
///
/// ```
/// use gpu_core::{Device, Points};
/// use sphere_qtm::{Level, Params, outlines, voronoi};
///
/// let poles = Points::new(&[0.0, 0.0], &[90.0, -90.0]);
/// let diagram = voronoi(&Device::Cpu, &poles, &Params::new(Level::new(2)?))?;
/// let north = &outlines(&diagram, 2)?[0];
/// assert_eq!(north.len(), 1); // one polygon, from the equator to the pole
/// assert!(north[0].outer.iter().all(|place| place.latitude() >= 0.0));
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// The errors of [`region_areas`](crate::region_areas).
pub fn outlines(diagram: &Diagram, sites: usize) -> Result<Vec<Vec<Polygon>>> {
    diagram.check(sites)?;
    let mut rings: BTreeMap<u32, Vec<Vec<LonLat>>> = BTreeMap::new();
    let mut seen = host_memory::filled(0u8, diagram.nearest.len())?;
    let border = Border { diagram };
    for (cell, site) in diagram.cells() {
        for edge in 0..3 {
            if seen[cell.index() as usize] >> edge & 1 == 0 && border.has(cell, edge) {
                rings.entry(site).or_default().push(border.follow(cell, edge, &mut seen));
            }
        }
    }
    let mut polygons = host_memory::with_capacity(sites)?;
    polygons.resize(sites, Vec::new());
    for (site, rings) in rings {
        polygons[site as usize] = assemble(rings);
    }
    Ok(polygons)
}

/// The borders of all regions.
struct Border<'a> {
    diagram: &'a Diagram,
}

impl Border<'_> {
    /// Whether an edge of a cell is border.
    fn has(&self, cell: Cell, edge: usize) -> bool {
        let site = |cell: Cell| self.diagram.nearest[cell.index() as usize];
        site(cell) != site(cell.across(edge).cell) || cell.is_on_antimeridian(edge)
    }

    /// The ring that an edge belongs to.
    fn follow(&self, cell: Cell, edge: usize, seen: &mut [u8]) -> Vec<LonLat> {
        let mut ring = Vec::new();
        let (mut at, mut side) = (cell, edge);
        loop {
            seen[at.index() as usize] |= 1 << side;
            ring.push(Corner::new(at, start_of(at, side)));
            side = next(at, side);
            while !self.has(at, side) {
                let across = at.across(side);
                (at, side) = (across.cell, next(across.cell, across.names[side]));
            }
            if (at, side) == (cell, edge) {
                return on_map(&ring);
            }
        }
    }
}

/// Whether a cell's vertices, as it names them, go counterclockwise.
fn is_counterclockwise(cell: Cell) -> bool {
    cell.octant() < 4
}

/// The vertex at which an edge begins that is gone along with the cell on the left.
fn start_of(cell: Cell, edge: usize) -> usize {
    if is_counterclockwise(cell) { (edge + 1) % 3 } else { (edge + 2) % 3 }
}

/// The edge after another, counterclockwise.
fn next(cell: Cell, edge: usize) -> usize {
    if is_counterclockwise(cell) { (edge + 1) % 3 } else { (edge + 2) % 3 }
}

/// How far from its arc an edge may be on the map, in parts of the arc.
const OFF: f64 = 1.0 / 64.0;

/// A vertex on the map.
#[derive(Clone, Copy)]
struct Corner {
    /// None at a pole, which has every longitude.
    longitude: Option<f64>,
    latitude: f64,
    vector: Vector,
    /// Which quarter of the globe its cell lies in.
    quarter: u32,
}

impl Corner {
    /// A vertex of a cell, with the longitude that it has in the cell's octant: at 180 degrees there are two.
    fn new(cell: Cell, vertex: usize) -> Self {
        Self::of_vector(cell.vertices()[vertex].to_array(), cell.octant() % 4)
    }

    /// A place in a quarter of the globe.
    fn of_vector(vector: Vector, quarter: u32) -> Self {
        let [x, y, z] = vector;
        let west = [0.0, 90.0, -180.0, -90.0][quarter as usize];
        let (along, across) =
            if quarter.is_multiple_of(2) { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
        let is_pole = x == 0.0 && y == 0.0;
        Self {
            longitude: (!is_pole).then(|| west + across.atan2(along).to_degrees()),
            latitude: z.atan2(x.hypot(y)).to_degrees(),
            vector,
            quarter,
        }
    }

    /// Adds the places along the arc to another corner that the map needs. From the other corner they are the same.
    fn bend(&self, other: &Self, places: &mut Vec<LonLat>) {
        let (Some(from), Some(to)) = (self.longitude, other.longitude) else { return };
        let middle = Self::of_vector(unit(add(self.vector, other.vector)), self.quarter);
        let Some(longitude) = middle.longitude.filter(|_| from != to) else { return };
        let ([low, south], [high, north]) = match from < to {
            true => ([from, self.latitude], [to, other.latitude]),
            false => ([to, other.latitude], [from, self.latitude]),
        };
        let on_line = south + (north - south) * ((longitude - low) / (high - low));
        let arc = angle(self.vector, other.vector).to_degrees();
        if (middle.latitude - on_line).abs() > OFF * arc {
            self.bend(&middle, places);
            places.push(LonLat::of_degrees(longitude, middle.latitude));
            middle.bend(other, places);
        }
    }
}

/// A ring's vertices in degrees.
fn on_map(ring: &[Corner]) -> Vec<LonLat> {
    let place = |longitude: f64, latitude: f64| LonLat::of_degrees(longitude, latitude);
    let mut places = Vec::with_capacity(ring.len() + 2);
    for (i, corner) in ring.iter().enumerate() {
        let Corner { longitude, latitude, .. } = *corner;
        if let Some(longitude) = longitude {
            places.push(place(longitude, latitude));
            corner.bend(&ring[(i + 1) % ring.len()], &mut places);
            continue;
        }
        let neighbours = [i + ring.len() - 1, i + 1].map(|k| ring[k % ring.len()].longitude);
        let mut longitudes: Vec<f64> = neighbours.into_iter().flatten().collect();
        longitudes.dedup();
        places.extend(longitudes.into_iter().map(|longitude| place(longitude, latitude)));
    }
    places
}

/// Twice the area of a ring on the map, positive where it turns counterclockwise.
fn turn(ring: &[LonLat]) -> f64 {
    let next = ring.iter().cycle().skip(1);
    let of =
        |(a, b): (&LonLat, &LonLat)| a.longitude() * b.latitude() - b.longitude() * a.latitude();
    ring.iter().zip(next).map(of).sum()
}

/// Whether a place on the map lies in a ring.
fn holds(ring: &[LonLat], [x, y]: [f64; 2]) -> bool {
    let next = ring.iter().cycle().skip(1);
    let crossings = ring.iter().zip(next).filter(|(a, b)| {
        let (low, high) = if a.latitude() < b.latitude() { (a, b) } else { (b, a) };
        if (low.latitude() > y) == (high.latitude() > y) {
            return false;
        }
        let at = |place: &LonLat| robust::Coord { x: place.longitude(), y: place.latitude() };
        robust::orient2d(at(low), at(high), robust::Coord { x, y }) > 0.0
    });
    crossings.count() % 2 == 1
}

/// Polygons of the rings of one region.
fn assemble(rings: Vec<Vec<LonLat>>) -> Vec<Polygon> {
    let (outer, holes): (Vec<_>, Vec<_>) = rings.into_iter().partition(|ring| turn(ring) > 0.0);
    let mut polygons: Vec<Polygon> =
        outer.into_iter().map(|outer| Polygon { outer, holes: Vec::new() }).collect();
    for hole in holes {
        // The middle of an edge lies on no other ring, as a vertex may.
        let (a, b) = (hole[0], hole[1 % hole.len()]);
        let middle = [0.5 * (a.longitude() + b.longitude()), 0.5 * (a.latitude() + b.latitude())];
        let around = polygons.iter_mut().filter(|polygon| holds(&polygon.outer, middle));
        let smallest = around.min_by(|p, q| turn(&p.outer).total_cmp(&turn(&q.outer)));
        if let Some(polygon) = smallest {
            polygon.holes.push(hole);
        }
    }
    polygons
}
