//! Shapes from and to geometries of other crates. (Feature `geo`.)

use gpu_core::geo::{self, Parts};
use gpu_core::geo_traits::GeometryTrait;
use gpu_core::geo_types::{
    Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point,
};

use crate::Shape;

impl Shape {
    /// Takes a geometry of any crate: it goes into [`write_shapes`](crate::write_shapes) and `write_geoparquet`. `row` is its place
    /// among others, which an error names. (Feature `geo`.)
    ///
    /// ```
    /// use geo_io::Shape;
    /// use gpu_core::geo_types::{Geometry, Line, LineString};
    ///
    /// # fn main() -> gpu_core::Result<()> {
    /// let shape = Shape::from_geo(0, &Line::new((0.0, 1.0), (2.0, 3.0)))?;
    /// assert_eq!(shape, Shape::Lines(vec![vec![[0.0, 1.0], [2.0, 3.0]]]));
    /// let line = LineString::from(vec![(0.0, 1.0), (2.0, 3.0)]);
    /// assert_eq!(Geometry::from(shape), line.into());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`gpu_core::Error::Unfit`] for an empty Point, and for a geometry with more coordinates than x and y.
    pub fn from_geo(row: usize, geometry: &impl GeometryTrait<T = f64>) -> gpu_core::Result<Self> {
        Ok(Parts::of(row, geometry)?.into())
    }
}

impl From<Parts> for Shape {
    fn from(parts: Parts) -> Self {
        match parts {
            Parts::Points(all) => Self::Points(all),
            Parts::Lines(all) => Self::Lines(all),
            Parts::Polygons(all) => Self::Polygons(all),
            Parts::Several(all) => Self::Several(all.into_iter().map(Self::from).collect()),
        }
    }
}

/// A shape that was read: of one part a Point, LineString or Polygon, of others their Multi. (Feature `geo`.)
impl From<Shape> for Geometry<f64> {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Points(all) => match &all[..] {
                &[[x, y]] => Point::new(x, y).into(),
                _ => MultiPoint::from(all).into(),
            },
            Shape::Lines(all) => {
                let mut lines: Vec<LineString> = all.into_iter().map(Into::into).collect();
                match lines.len() {
                    1 => lines.swap_remove(0).into(),
                    _ => MultiLineString::new(lines).into(),
                }
            }
            Shape::Polygons(all) => {
                let mut polygons: Vec<_> = all.into_iter().map(geo::polygon).collect();
                match polygons.len() {
                    1 => polygons.swap_remove(0).into(),
                    _ => MultiPolygon::new(polygons).into(),
                }
            }
            Shape::Several(parts) => {
                let parts = parts.into_iter().map(Self::from).collect();
                Self::GeometryCollection(GeometryCollection::new_from(parts))
            }
        }
    }
}
