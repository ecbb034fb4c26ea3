//! Sites that are points, arcs of great circles and polygons.

use gpu_core::host_memory;
use kernels_rs::sphere_qtm::shapes::{Element, INSIDE};
use kernels_rs::sphere_qtm::triangle::{Vector, add, dot, unit};

use crate::place::{cross, minus};
use crate::{Error, LonLat, Result};

/// What a site is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// A place.
    Point(LonLat),
    /// Arcs of great circles from each place to the next, two or more.
    Line(Vec<LonLat>),
    /// An outer ring and its holes. Their edges are arcs of great circles, which do not cross; a ring may end with the
    /// place that it began with. Each ring goes round the smaller part of the globe that it divides off, in either
    /// direction.
    Polygon(Vec<Vec<LonLat>>),
    /// All of these together.
    Several(Vec<Shape>),
}

/// The shapes of a diagram's sites, as arcs that are checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Shapes {
    elements: Vec<Element>,
    sites: u32,
}

impl Shapes {
    /// A site for each shape.
    ///
    /// # Errors
    /// [`Error::Arc`] for an arc of a line or an edge of a polygon whose ends are antipodes, so that it may go anywhere, and for one of
    /// a line whose ends are the same; [`Error::Shape`] for a line of fewer than two places, a ring with fewer than
    /// three different ones, and a shape without parts; [`Error::TooManySites`], also for more than 2^31 - 1
    /// arcs; [`Error::Core`] without memory.
    pub fn new(shapes: &[Shape]) -> Result<Self> {
        crate::params::check_count(shapes.len() as u64)?;
        let mut maker = Maker { elements: host_memory::with_capacity(shapes.len())?, parts: 0 };
        for (site, shape) in shapes.iter().enumerate() {
            let before = maker.elements.len();
            maker.push(site as u32, shape)?;
            if maker.elements.len() == before {
                return Err(Error::Shape { site: site as u64, why: "has no parts" });
            }
        }
        let (sites, most) = (maker.elements.len() as u64, u64::from(INSIDE) - 1);
        if sites > most {
            return Err(Error::TooManySites { sites, most });
        }
        Ok(Self { elements: maker.elements, sites: shapes.len() as u32 })
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

/// Makes elements.
struct Maker {
    elements: Vec<Element>,
    /// Parts so far.
    parts: u32,
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
                if places.len() < 2 {
                    let why = "has a line of fewer than two places";
                    return Err(Error::Shape { site: site.into(), why });
                }
                let part = self.part(false);
                for ends in places.windows(2) {
                    let element = arc(site, part, ends[0].into(), ends[1].into())?;
                    self.elements.push(element);
                }
            }
            Shape::Polygon(rings) => {
                let part = self.part(true);
                for (number, ring) in rings.iter().enumerate() {
                    self.push_ring(site, part, ring, number > 0)?;
                }
            }
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

    /// The edges of a ring, with the inside of the polygon to their left.
    fn push_ring(&mut self, site: u32, part: u32, ring: &[LonLat], is_hole: bool) -> Result<()> {
        let mut places = without_spikes(ring);
        if places.len() < 3 {
            let why = "has a ring of fewer than three different places";
            return Err(Error::Shape { site: site.into(), why });
        }
        if (area_to_the_left(&places) > 2.0 * std::f64::consts::PI) != is_hole {
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

/// How near to a half turn an arc may come, and an arc to none: the plane of such an arc is not known.
const LEAST_SINE: f64 = 1e-12;

fn arc(site: u32, part: u32, from: Vertex, to: Vertex) -> Result<Element> {
    let (a, b) = (from.vector, to.vector);
    // The difference is exact where the ends are near each other.
    let normal = cross(a, minus(b, a));
    let is_far = dot(a, b) < 0.0;
    let why = if a == b || normal == [0.0; 3] && !is_far {
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

/// A vector's direction, also of one whose square is no number.
fn scaled(v: Vector) -> Vector {
    let largest = v.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    unit(v.map(|x| x / largest))
}

/// A ring without what it goes back on the same way, as along the edge of a map and back, and without repeated
/// places.
fn without_spikes(ring: &[LonLat]) -> Vec<Vertex> {
    let mut places: Vec<Vertex> = ring.iter().map(|&place| place.into()).collect();
    loop {
        let count = places.len();
        let same = |i: usize, j: usize| places[i % count].vector == places[j % count].vector;
        let Some(i) = (0..count).find(|&i| same(i, i + 1) || same(i, i + 2)) else { return places };
        if count < 3 {
            return vec![];
        }
        // Of a place twice one goes; of there and back, the way there.
        let removed = (i + 1) % count;
        places.remove(removed);
    }
}

/// The area of the globe to the left of a ring, in steradians: the sum of the triangles of its first place and each
/// edge, but for whole globes.
fn area_to_the_left(places: &[Vertex]) -> f64 {
    let a = places[0].vector;
    let excess = |edge: &[Vertex]| {
        let (b, c) = (edge[0].vector, edge[1].vector);
        let volume = dot(a, cross(minus(b, a), minus(c, a)));
        2.0 * volume.atan2(1.0 + dot(a, b) + dot(b, c) + dot(c, a))
    };
    let sum: f64 = places[1..].windows(2).map(excess).sum();
    sum.rem_euclid(4.0 * std::f64::consts::PI)
}
