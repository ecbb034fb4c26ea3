//! Geometries of other crates, by the traits of `geo-traits`; results as types of `geo-types`. (Feature `geo`.)
//!
//! Every type that implements [`GeometryTrait`] goes in, such as the types of `geo-types`, `geoarrow`, `wkt` and `wkb`.
//! Coordinates are f64, and keep every bit. Geometries have only x and y. An error names the row, counted from 0, of
//! the first geometry with more.
//!
//! ```
//! # fn main() -> gpu_core::Result<()> {
//! use gpu_core::geo_types::{Geometry, Line, Point, Rect};
//! use gpu_core::{ArrayPoints, Bounds, geo};
//!
//! let places = ArrayPoints::from_geo(&[Point::new(0.5, 1.5), Point::new(9.5, 2.5)])?;
//! assert_eq!(places.points().x, [0.5, 9.5]);
//! let lines = geo::lines([Line::new((0.0, 1.0), (2.0, 3.0))])?;
//! assert_eq!(lines, [[[0.0, 1.0], [2.0, 3.0]]]);
//! let window = Bounds::from(Rect::new((0.0, 0.0), (5.0, 5.0)));
//! assert_eq!(window.max_x, 5.0);
//! let error = ArrayPoints::from_geo([Geometry::from(Rect::from(window))]).unwrap_err();
//! assert_eq!(error.to_string(), "row 0: found a Rect, expected a Point");
//! # Ok(())
//! # }
//! ```

use std::borrow::Cow;

use geo_traits::to_geo::ToGeoGeometry;
use geo_traits::{CoordTrait, Dimensions, GeometryTrait, GeometryType, PointTrait};
use geo_types::{Coord, Geometry, LineString, Polygon, Rect};

#[cfg(doc)]
use crate::Error;
use crate::error::unfit;
use crate::{ArrayPoints, Bounds, Grid, GridSpec, Result, cells_within};

/// The rings of a polygon, of (x, y): the outer one, then the holes. Each ring ends with its first place.
pub type Rings = Vec<Vec<[f64; 2]>>;

/// The parts of a geometry, in (x, y).
#[derive(Clone, Debug, PartialEq)]
pub enum Parts {
    /// A Point, or the points of a MultiPoint.
    Points(Vec<[f64; 2]>),
    /// A Line or LineString, or the lines of a MultiLineString.
    Lines(Vec<Vec<[f64; 2]>>),
    /// A Polygon, Rect or Triangle, or the polygons of a MultiPolygon.
    Polygons(Vec<Rings>),
    /// The parts of a GeometryCollection.
    Several(Vec<Parts>),
}

impl Parts {
    /// Divides a geometry into its parts. Errors name its row, `row`.
    ///
    /// # Errors
    /// [`Error::Unfit`] for a geometry with more coordinates than x and y, and for an empty Point.
    pub fn of(row: usize, geometry: &impl GeometryTrait<T = f64>) -> Result<Self> {
        check_dimensions(row, geometry)?;
        match geometry.try_to_geometry() {
            Some(geometry) => Ok(Self::of_geometry(geometry)),
            None => Err(unfit(at(row), "an empty Point", "a place")),
        }
    }

    fn of_geometry(geometry: Geometry<f64>) -> Self {
        match geometry {
            Geometry::Point(point) => Self::Points(vec![point.0.into()]),
            Geometry::MultiPoint(all) => {
                Self::Points(all.into_iter().map(|p| p.0.into()).collect())
            }
            Geometry::Line(line) => Self::Lines(vec![vec![line.start.into(), line.end.into()]]),
            Geometry::LineString(line) => Self::Lines(vec![places(line)]),
            Geometry::MultiLineString(all) => Self::Lines(all.into_iter().map(places).collect()),
            Geometry::Polygon(polygon) => Self::Polygons(vec![rings(polygon)]),
            Geometry::Rect(rect) => Self::Polygons(vec![rings(rect.to_polygon())]),
            Geometry::Triangle(triangle) => Self::Polygons(vec![rings(triangle.to_polygon())]),
            Geometry::MultiPolygon(all) => Self::Polygons(all.into_iter().map(rings).collect()),
            Geometry::GeometryCollection(all) => {
                Self::Several(all.into_iter().map(Self::of_geometry).collect())
            }
        }
    }
}

impl ArrayPoints<'static> {
    /// Copies the places of Points. (Feature `geo`.)
    ///
    /// # Errors
    /// [`Error::Unfit`] with the row of a geometry that is not a Point, is empty, or has more coordinates than x and y.
    pub fn from_geo<G: GeometryTrait<T = f64>>(
        points: impl IntoIterator<Item = G>,
    ) -> Result<Self> {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (row, point) in points.into_iter().enumerate() {
            check_dimensions(row, &point)?;
            let GeometryType::Point(place) = point.as_type() else {
                return Err(unfit(at(row), kind(&point), "a Point"));
            };
            let Some(place) = place.coord() else {
                return Err(unfit(at(row), "an empty Point", "a Point"));
            };
            x.push(place.x());
            y.push(place.y());
        }
        Self::new(Cow::Owned(x), Cow::Owned(y))
    }
}

/// Returns the vertices of each line, for functions that take lines. Geometries are Lines, LineStrings and
/// MultiLineStrings.
///
/// # Errors
/// [`Error::Unfit`] with the row of another geometry, or of one with more coordinates than x and y.
pub fn lines<G: GeometryTrait<T = f64>>(
    geometries: impl IntoIterator<Item = G>,
) -> Result<Vec<Vec<[f64; 2]>>> {
    let mut all = Vec::new();
    for (row, geometry) in geometries.into_iter().enumerate() {
        match Parts::of(row, &geometry)? {
            Parts::Lines(lines) => all.extend(lines),
            _ => {
                return Err(unfit(
                    at(row),
                    kind(&geometry),
                    "a Line, LineString or MultiLineString",
                ));
            }
        }
    }
    Ok(all)
}

/// Returns the polygons of one geometry: a Polygon, Rect, Triangle or MultiPolygon. `row` is its place among others, which an
/// error names.
///
/// # Errors
/// [`Error::Unfit`] for another geometry, or for one with more coordinates than x and y.
pub fn polygons(row: usize, geometry: &impl GeometryTrait<T = f64>) -> Result<Vec<Rings>> {
    match Parts::of(row, geometry)? {
        Parts::Polygons(polygons) => Ok(polygons),
        _ => Err(unfit(at(row), kind(geometry), "a Polygon, Rect, Triangle or MultiPolygon")),
    }
}

/// Returns the mask of polygons: 1 for each cell whose centre lies in a polygon (see [`cells_within`]), and 0 for the
/// others. Each geometry is a Polygon, Rect, Triangle or MultiPolygon.
///
/// ```
/// # fn main() -> gpu_core::Result<()> {
/// use gpu_core::geo_types::{Coord, Triangle};
/// use gpu_core::{GridSpec, geo};
///
/// let corners = [(0.0, 0.0), (3.0, 0.0), (0.0, 3.0)].map(Coord::from);
/// let mask = geo::mask(GridSpec::of_pixels(3, 3), [Triangle::from(corners)])?;
/// assert_eq!(mask.values(), [0, 0, 0, 1, 0, 0, 1, 1, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Unfit`] with the row of a geometry that is not a polygon; the errors of [`cells_within`] and of
/// [`GridSpec::check`].
pub fn mask<G: GeometryTrait<T = f64>>(
    grid: GridSpec,
    geometries: impl IntoIterator<Item = G>,
) -> Result<Grid<u8>> {
    grid.check()?;
    let mut all = Vec::new();
    for (row, geometry) in geometries.into_iter().enumerate() {
        all.append(&mut polygons(row, &geometry)?);
    }
    let x: Vec<f64> = (0..grid.width).map(|column| grid.cell_centre(column, 0).0).collect();
    let y: Vec<f64> = (0..grid.height).map(|row| grid.cell_centre(0, row).1).collect();
    Grid::new(cells_within(&x, &y, &all)?, grid)
}

/// Returns rings, the outer one first, as a Polygon. It closes open rings.
pub fn polygon<C: Into<Coord<f64>>>(rings: impl IntoIterator<Item = Vec<C>>) -> Polygon<f64> {
    let mut rings = rings.into_iter().map(LineString::from);
    Polygon::new(rings.next().unwrap_or(LineString(Vec::new())), rings.collect())
}

impl From<Rect<f64>> for Bounds {
    fn from(rect: Rect<f64>) -> Self {
        let (min, max) = (rect.min(), rect.max());
        Self { min_x: min.x, min_y: min.y, max_x: max.x, max_y: max.y }
    }
}

impl From<Bounds> for Rect<f64> {
    fn from(bounds: Bounds) -> Self {
        Self::new((bounds.min_x, bounds.min_y), (bounds.max_x, bounds.max_y))
    }
}

fn places(line: LineString<f64>) -> Vec<[f64; 2]> {
    line.0.into_iter().map(Into::into).collect()
}

fn rings(polygon: Polygon<f64>) -> Rings {
    let (outer, holes) = polygon.into_inner();
    std::iter::once(outer).chain(holes).map(places).collect()
}

fn at(row: usize) -> String {
    format!("row {row}")
}

fn check_dimensions(row: usize, geometry: &impl GeometryTrait<T = f64>) -> Result<()> {
    match geometry.dim() {
        Dimensions::Xy | Dimensions::Unknown(2) => Ok(()),
        other => {
            let found = format!("{} of {other:?}", kind(geometry));
            Err(unfit(at(row), found, "x and y alone: take heights as values, or drop them"))
        }
    }
}

/// Names the kind of a geometry.
fn kind(geometry: &impl GeometryTrait<T = f64>) -> &'static str {
    match geometry.as_type() {
        GeometryType::Point(_) => "a Point",
        GeometryType::LineString(_) => "a LineString",
        GeometryType::Polygon(_) => "a Polygon",
        GeometryType::MultiPoint(_) => "a MultiPoint",
        GeometryType::MultiLineString(_) => "a MultiLineString",
        GeometryType::MultiPolygon(_) => "a MultiPolygon",
        GeometryType::GeometryCollection(_) => "a GeometryCollection",
        GeometryType::Rect(_) => "a Rect",
        GeometryType::Triangle(_) => "a Triangle",
        GeometryType::Line(_) => "a Line",
    }
}

#[cfg(test)]
mod tests {
    use geo_types::{GeometryCollection, Line, MultiPoint, Point, Triangle};

    use super::*;

    /// A Point of another crate: with heights, or empty.
    struct Foreign(Option<[f64; 3]>, Dimensions);

    impl CoordTrait for Foreign {
        type T = f64;
        fn dim(&self) -> Dimensions {
            self.1
        }
        fn nth_or_panic(&self, n: usize) -> f64 {
            self.0.unwrap()[n]
        }
        fn x(&self) -> f64 {
            self.nth_or_panic(0)
        }
        fn y(&self) -> f64 {
            self.nth_or_panic(1)
        }
    }

    impl PointTrait for Foreign {
        type CoordType<'a> = Foreign;
        fn coord(&self) -> Option<Foreign> {
            self.0.map(|place| Foreign(Some(place), self.1))
        }
    }

    macro_rules! only_points {
        ($($name:ident: $other:ty,)+) => {
            impl GeometryTrait for Foreign {
                type T = f64;
                type PointType<'a> = Foreign;
                $(type $name<'a> = $other;)+
                fn dim(&self) -> Dimensions {
                    self.1
                }
                fn as_type(&self) -> GeometryType<'_, Foreign, $($other),+> {
                    GeometryType::Point(self)
                }
            }
        };
    }

    only_points! {
        LineStringType: LineString<f64>,
        PolygonType: Polygon<f64>,
        MultiPointType: MultiPoint<f64>,
        MultiLineStringType: geo_types::MultiLineString<f64>,
        MultiPolygonType: geo_types::MultiPolygon<f64>,
        GeometryCollectionType: GeometryCollection<f64>,
        RectType: Rect<f64>,
        TriangleType: Triangle<f64>,
        LineType: Line<f64>,
    }

    #[test]
    fn points_of_any_crate_keep_every_bit() {
        let odd = [-0.0, f64::MIN_POSITIVE / 3.0, 1e300, f64::NAN, f64::NEG_INFINITY, 0.1 + 0.2];
        let bits = |column: &[f64]| column.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let points = odd.map(|x| Point::new(x, -x));
        for found in [
            ArrayPoints::from_geo(points).unwrap(),
            ArrayPoints::from_geo(points.iter()).unwrap(),
            ArrayPoints::from_geo(MultiPoint::from(points.to_vec())).unwrap(),
            ArrayPoints::from_geo(points.map(Geometry::from)).unwrap(),
            ArrayPoints::from_geo(odd.map(|x| Foreign(Some([x, -x, 0.0]), Dimensions::Xy)))
                .unwrap(),
        ] {
            assert_eq!(bits(found.points().x), bits(&odd));
            assert_eq!(bits(found.points().y), bits(&odd.map(|x| -x)));
        }
        let none: [Point<f64>; 0] = [];
        assert!(ArrayPoints::from_geo(none).unwrap().points().is_empty());
    }

    #[test]
    fn what_is_no_point_is_refused_with_its_row() {
        let place = Geometry::from(Point::new(1.0, 2.0));
        let says = |second: Geometry<f64>| {
            ArrayPoints::from_geo([place.clone(), second]).unwrap_err().to_string()
        };
        let collection = GeometryCollection::from(vec![place.clone()]);
        assert_eq!(
            says(Geometry::GeometryCollection(collection)),
            "row 1: found a GeometryCollection, expected a Point"
        );
        assert_eq!(says(LineString(vec![]).into()), "row 1: found a LineString, expected a Point");
        let says = |foreign| ArrayPoints::from_geo([foreign]).unwrap_err().to_string();
        let empty = Foreign(None, Dimensions::Xy);
        assert_eq!(says(empty), "row 0: found an empty Point, expected a Point");
        let found = says(Foreign(Some([1.0, 2.0, 3.0]), Dimensions::Xyz));
        assert!(
            found.starts_with("row 0: found a Point of Xyz, expected x and y alone"),
            "{found}"
        );
        let empty = Parts::of(4, &Foreign(None, Dimensions::Xy)).unwrap_err().to_string();
        assert_eq!(empty, "row 4: found an empty Point, expected a place");
    }

    #[test]
    fn geometries_are_taken_apart_and_put_together() {
        let ring = |x: f64| vec![[x, -0.0], [x + 4.0, 0.0], [x, 4.5], [x, -0.0]];
        let shape = polygon([ring(0.0), ring(1.0)]);
        assert_eq!(polygons(0, &shape).unwrap(), [[ring(0.0), ring(1.0)]]);
        assert_eq!(polygons(0, &shape).unwrap()[0][0][0][1].to_bits(), (-0.0_f64).to_bits());
        assert_eq!(polygon([ring(0.0)[..3].to_vec()]), polygon([ring(0.0)])); // closed
        assert_eq!(polygon::<[f64; 2]>([]), Polygon::empty());
        let both = geo_types::MultiPolygon(vec![shape.clone(), shape.clone()]);
        assert_eq!(polygons(0, &both).unwrap().len(), 2);
        let rect = Rect::new((0.0, 1.0), (2.0, 3.0));
        assert_eq!(polygons(0, &rect).unwrap()[0][0].len(), 5);
        assert_eq!(Rect::from(Bounds::from(rect)), rect);
        let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)].map(Coord::from);
        assert_eq!(polygons(0, &Triangle::from(corners)).unwrap()[0][0].len(), 4);
        let line = LineString::from(ring(2.0));
        let several = geo_types::MultiLineString(vec![line.clone(), line.clone()]);
        assert_eq!(
            lines([Geometry::from(line.clone()), several.into()]).unwrap(),
            vec![ring(2.0); 3]
        );
        let error = lines([Geometry::from(line), shape.clone().into()]).unwrap_err().to_string();
        let wanted = "a Line, LineString or MultiLineString";
        assert_eq!(error, format!("row 1: found a Polygon, expected {wanted}"));
        let all =
            GeometryCollection::from(vec![Geometry::from(shape), Point::new(1.0, 2.0).into()]);
        let parts = vec![
            Parts::Polygons(vec![vec![ring(0.0), ring(1.0)]]),
            Parts::Points(vec![[1.0, 2.0]]),
        ];
        assert_eq!(Parts::of(0, &all), Ok(Parts::Several(parts)));
        assert!(polygons(7, &all).unwrap_err().to_string().starts_with("row 7: found a GeometryC"));
    }
}
