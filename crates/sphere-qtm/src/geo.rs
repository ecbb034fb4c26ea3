//! Places, sites and regions from and to types of `geo-types`: longitude is x, latitude y, in degrees. (Feature `geo`.)

use gpu_core::geo::Parts;
use gpu_core::geo_traits::GeometryTrait;
use gpu_core::geo_types;

use crate::{LonLat, Polygon, Result, Shape};

impl Shape {
    /// Takes each geometry as a shape: of any kind and any crate, in longitudes and latitudes. (Feature `geo`.)
    ///
    /// The edges of lines and polygons are arcs of great circles, as [`Shape`] says, not straight lines of a map.
    ///
    /// ```
    /// # fn main() -> sphere_qtm::Result<()> {
    /// use gpu_core::geo_types::{Geometry, Line, Point};
    /// use sphere_qtm::{Shape, Shapes};
    ///
    /// let sites: [Geometry; 2] = [Point::new(10.0, 50.0).into(), Line::new((0.0, 0.0), (5.0, 0.0)).into()];
    /// let shapes = Shapes::new(&Shape::from_geo(&sites)?)?;
    /// assert_eq!(shapes.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`gpu_core::Error::Unfit`] with the row of an empty Point or of a geometry with more than two coordinates a
    /// place; [`Error::Place`](crate::Error::Place) for coordinates that are not longitude and latitude.
    pub fn from_geo<G: GeometryTrait<T = f64>>(
        geometries: impl IntoIterator<Item = G>,
    ) -> Result<Vec<Self>> {
        let shape = |(row, geometry): (usize, G)| Self::of_parts(Parts::of(row, &geometry)?);
        geometries.into_iter().enumerate().map(shape).collect()
    }

    fn of_parts(parts: Parts) -> Result<Self> {
        let place = |[x, y]: [f64; 2]| LonLat::new(x, y);
        let line = |line: Vec<_>| line.into_iter().map(place).collect::<Result<Vec<_>>>();
        let rings = |rings: Vec<_>| rings.into_iter().map(line).collect::<Result<_>>();
        let mut shapes = match parts {
            Parts::Points(all) => collect(all, |at| Ok(Self::Point(place(at)?)))?,
            Parts::Lines(all) => collect(all, |of| Ok(Self::Line(line(of)?)))?,
            Parts::Polygons(all) => collect(all, |of| Ok(Self::Polygon(rings(of)?)))?,
            Parts::Several(all) => collect(all, Self::of_parts)?,
        };
        Ok(if shapes.len() == 1 { shapes.swap_remove(0) } else { Self::Several(shapes) })
    }
}

fn collect<P>(parts: Vec<P>, shape: impl Fn(P) -> Result<Shape>) -> Result<Vec<Shape>> {
    parts.into_iter().map(shape).collect()
}

/// The polygon on the map. (Feature `geo`.)
impl From<Polygon> for geo_types::Polygon<f64> {
    fn from(polygon: Polygon) -> Self {
        gpu_core::geo::polygon(std::iter::once(polygon.outer).chain(polygon.holes))
    }
}

/// Longitude and latitude. (Feature `geo`.)
impl From<LonLat> for geo_types::Coord<f64> {
    fn from(place: LonLat) -> Self {
        (place.longitude(), place.latitude()).into()
    }
}
