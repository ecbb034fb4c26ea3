//! Polygons, as edges.

use gpu_core::Bounds;

use crate::{Error, Result};

/// Polygons in which to search for points.
///
/// A polygon is any number of rings, so it may have holes or several parts. A point is inside if it is inside an odd
/// number of rings. A ring need not repeat its first place at the end, and may turn either way.
///
/// A point on an edge belongs to one side of the edge. An edge counts for points to the west of it whose y is at least
/// its lower end's and below its upper end's. So if polygons share an edge, exactly one of them holds a point on it.
/// Sides are exact: no rounding decides.
///
/// Where two rings of a polygon overlap, they cancel each other. If parts may overlap or holes may lie outside, as in
/// files, make a polygon of each ring, and combine the lists, as `point_quadtree` does.
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::{Params, Polygons, Regions, build, list_in};
///
/// let square = |from: f64, to: f64| [[from, from], [to, from], [to, to], [from, to]];
/// let mut polygons = Polygons::new();
/// polygons.push([square(0.0, 9.0), square(3.0, 6.0)])?; // a square with a hole
/// let tree = build(&Device::Cpu, Points::new(&[1.0, 4.0, 8.0], &[1.0, 4.0, 8.0]), &Params::new())?;
/// let found = list_in(&Device::Cpu, &tree, Regions::Polygons(&polygons))?;
/// assert_eq!(found.of(0), [0, 2]); // point 1 lies in the hole
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polygons {
    /// The bounds of each polygon.
    pub(crate) bounds: Vec<Bounds>,
    /// x and y of both ends of each edge, the lower end first.
    pub(crate) edges: Vec<[f64; 4]>,
    /// The first edge of each, and the number of all.
    pub(crate) offsets: Vec<u64>,
}

impl Polygons {
    /// None.
    pub fn new() -> Self {
        Self { offsets: vec![0], ..Self::default() }
    }

    /// Adds a polygon of rings of places. A polygon without vertices holds no points.
    ///
    /// # Errors
    /// [`Error::Vertex`] for a place that is not finite; the polygons stay as they were.
    pub fn push<R: AsRef<[[f64; 2]]>>(&mut self, rings: impl IntoIterator<Item = R>) -> Result<()> {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        let (before, polygon) = (self.edges.len(), self.len() as u64);
        let mut bounds = NOTHING;
        for ring in rings {
            let ring = ring.as_ref();
            for (i, &[x, y]) in ring.iter().enumerate() {
                if !(x.is_finite() && y.is_finite()) {
                    self.edges.truncate(before);
                    return Err(Error::Vertex { polygon, x, y });
                }
                let [next_x, next_y] = ring[(i + 1) % ring.len()];
                let (from, to) = ([x, y], [next_x, next_y]);
                let [[ax, ay], [bx, by]] = if y < next_y { [from, to] } else { [to, from] };
                self.edges.push([ax, ay, bx, by]);
                bounds = Bounds {
                    min_x: bounds.min_x.min(x),
                    min_y: bounds.min_y.min(y),
                    max_x: bounds.max_x.max(x),
                    max_y: bounds.max_y.max(y),
                };
            }
        }
        self.bounds.push(bounds);
        self.offsets.push(self.edges.len() as u64);
        Ok(())
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.bounds.len()
    }

    /// Whether there are no polygons.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }
}

#[cfg(feature = "geo")]
impl Polygons {
    /// Takes each geometry as a polygon: a Polygon, Rect, Triangle or MultiPolygon of any crate. (Feature `geo`.)
    ///
    /// A MultiPolygon is one polygon, whose parts must not overlap.
    ///
    /// ```
    /// # fn main() -> quadtree_sort::Result<()> {
    /// use gpu_core::geo_types::{Geometry, Point, Polygon, Rect};
    /// use gpu_core::{ArrayPoints, Device};
    /// use quadtree_sort::{Params, Polygons, Regions, build};
    ///
    /// let places = [(0.5, 0.5), (9.5, 0.5), (1.0, 1.0), (9.0, 9.0), (5.0, 5.0)].map(Point::from);
    /// let points = ArrayPoints::from_geo(places)?;
    /// let tree = build(&Device::Cpu, points.points(), &Params::new().threshold(2))?;
    /// let triangle = Polygon::new(vec![(0.0, 0.0), (6.0, 0.0), (6.0, 6.0)].into(), vec![]);
    /// let window = Rect::new((8.0, 0.0), (10.0, 10.0));
    /// let polygons = Polygons::from_geo([Geometry::from(triangle), window.into()])?;
    /// // Three points lie on the triangle's western edge.
    /// assert_eq!(tree.count_in(Regions::Polygons(&polygons))?, [3, 2]);
    /// let leaves: Vec<Rect> = tree.leaves().map(|leaf| tree.cell(leaf).into()).collect();
    /// assert_eq!(leaves.len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`gpu_core::Error::Unfit`] with the row of a geometry that is not a polygon, or has more coordinates than x and
    /// y; [`Error::Vertex`].
    pub fn from_geo<G: gpu_core::geo_traits::GeometryTrait<T = f64>>(
        geometries: impl IntoIterator<Item = G>,
    ) -> Result<Self> {
        let mut polygons = Self::new();
        for (row, geometry) in geometries.into_iter().enumerate() {
            polygons.push(gpu_core::geo::polygons(row, &geometry)?.into_iter().flatten())?;
        }
        Ok(polygons)
    }
}

/// Bounds that grow to those of the first place.
const NOTHING: Bounds = Bounds {
    min_x: f64::INFINITY,
    min_y: f64::INFINITY,
    max_x: f64::NEG_INFINITY,
    max_y: f64::NEG_INFINITY,
};
