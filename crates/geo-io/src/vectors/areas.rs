//! Areas as GeoJSON.

use geojson::feature::Id;
use geojson::{Feature, Geometry, Value};
use serde_json::Value as Json;

use crate::vectors::lines::{check, write_collection};
use crate::{Crs, Output, Properties, Result, Shape};

/// The polygons of one feature: for each, the outer ring and the holes, of (x, y). A ring ends with its first place.
///
/// Files have polygons that cross themselves, holes that lie outside, and parts that overlap. For such polygons, the
/// rules of `make_valid` in GEOS apply, which GDAL uses. They hold in all programs:
///
/// - A ring holds the places that it winds around an odd number of times, so a bow tie holds two triangles. Spikes,
///   repeated vertices, the direction, and a ring that is drawn several times over make no difference.
/// - A polygon holds the places in its outer ring that are in none of its holes. Holes may overlap.
/// - A hole that lies outside of the outer ring, without a common place, becomes a separate polygon.
///   [`read_polygons`](crate::read_polygons) makes it one.
/// - A feature is the union of its polygons.
///
/// The first rule is from `make_valid`'s method "linework", GDAL's default. The other rules are from its method
/// "structure". The method "linework" treats overlapping parts and holes as lines too, and keeps every second area. But
/// overlapping parts usually mean their union.
pub type Polygons = Vec<Vec<Vec<[f64; 2]>>>;

/// Writes areas as a GeoJSON FeatureCollection, each with its properties. One polygon becomes a Polygon, several
/// become a MultiPolygon.
///
/// RFC 7946 requires outer rings counterclockwise, holes clockwise, and nothing across the antimeridian. The caller
/// must ensure this, since coordinates are written unchanged. It writes reference systems as
/// [`write_lines`](crate::write_lines) does.
///
/// ```
/// use geo_io::{read_polygons, write_polygons};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("areas.geojson");
/// let triangle = vec![vec![vec![[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [0.0, 0.0]]]];
/// write_polygons(&path, [(vec![("area", 6.0)], triangle.clone())], None)?;
/// let found = read_polygons(&path)?;
/// assert_eq!(found.shapes, [triangle]);
/// assert_eq!(found.properties[0].get("area").and_then(|area| area.as_f64()), Some(6.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_lines`](crate::write_lines).
pub fn write_polygons<'a, P: Into<Properties>>(
    output: impl Into<Output<'a>>,
    features: impl IntoIterator<Item = (P, Polygons)>,
    crs: Option<&Crs>,
) -> Result<()> {
    let shapes = features.into_iter().map(|(of, polygons)| (of, Shape::Polygons(polygons)));
    write_shapes(output, shapes, crs)
}

/// Writes shapes of any kind as a GeoJSON FeatureCollection, as [`write_polygons`] does.
///
/// ```
/// use geo_io::{Shape, read_features, write_shapes};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("places.geojson");
/// let places = Shape::Points(vec![[8.5, 47.4]]);
/// write_shapes(&path, [(vec![("visits", 3)], places.clone())], None)?;
/// assert_eq!(read_features(&path)?.shapes, [Some(places)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_lines`](crate::write_lines).
pub fn write_shapes<'a, P: Into<Properties>>(
    output: impl Into<Output<'a>>,
    features: impl IntoIterator<Item = (P, Shape)>,
    crs: Option<&Crs>,
) -> Result<()> {
    let feature = |(properties, shape): (P, Shape)| {
        let Properties { id, named } = properties.into();
        let geometry = Some(Geometry::new(value(&shape)?));
        let id = id.and_then(|id| match id {
            Json::String(text) => Some(Id::String(text)),
            Json::Number(number) => Some(Id::Number(number)),
            _ => None,
        });
        Ok(Feature { geometry, id, properties: Some(named), ..Feature::default() })
    };
    write_collection(output.into(), features.into_iter().map(feature), crs)
}

fn value(shape: &Shape) -> Result<Value> {
    let place = |place: &[f64; 2]| place.to_vec();
    let line = |line: &Vec<[f64; 2]>| -> Result<Vec<Vec<f64>>> {
        check(0.0, line)?;
        Ok(line.iter().map(place).collect())
    };
    let lines = |all: &Vec<Vec<[f64; 2]>>| all.iter().map(line).collect::<Result<Vec<_>>>();
    Ok(match shape {
        Shape::Points(places) => match &line(places)?[..] {
            [one] => Value::Point(one.clone()),
            all => Value::MultiPoint(all.to_vec()),
        },
        Shape::Lines(all) => match &all[..] {
            [one] => Value::LineString(line(one)?),
            all => Value::MultiLineString(all.iter().map(line).collect::<Result<_>>()?),
        },
        Shape::Polygons(polygons) => match &polygons[..] {
            [rings] => Value::Polygon(lines(rings)?),
            several => Value::MultiPolygon(several.iter().map(lines).collect::<Result<_>>()?),
        },
        Shape::Several(parts) => {
            let part = |part| value(part).map(Geometry::new);
            Value::GeometryCollection(parts.iter().map(part).collect::<Result<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_polygons;
    use crate::{Error, write_rows};

    fn read(path: &std::path::Path) -> geojson::FeatureCollection {
        std::fs::read_to_string(path).unwrap().parse().unwrap()
    }

    #[test]
    fn rows_and_polygons_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write_rows(&path, "a,b", ["1,2", "3,4"]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a,b\n1,2\n3,4\n");

        let path = folder.path().join("areas.geojson");
        let outer = vec![[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 0.0]];
        let hole = vec![[1.0, 1.0], [1.0, 1.5], [1.5, 1.0], [1.0, 1.0]];
        let polygon = vec![outer, hole];
        let features = [
            (vec![("site", 3.0), ("area", 0.25)], vec![polygon.clone()]),
            (vec![], vec![polygon.clone(), polygon]),
            (vec![], vec![]),
        ];
        write_polygons(&path, features, None).unwrap();
        let found = read(&path);
        let first = &found.features[0];
        assert_eq!(first.property("site"), Some(&3.into()));
        assert_eq!(first.property("area"), Some(&0.25.into()));
        let values: Vec<_> =
            found.features.iter().map(|f| &f.geometry.as_ref().unwrap().value).collect();
        let [Value::Polygon(rings), Value::MultiPolygon(two), Value::MultiPolygon(none)] =
            values[..]
        else {
            panic!("{values:?}")
        };
        assert_eq!((rings.len(), rings[1][1][1], two.len(), none.len()), (2, 1.5, 2, 0));
    }

    #[test]
    fn polygons_that_are_written_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("areas.geojson");
        let ring = |x: f64| vec![[x, 0.0], [x + 4.0, 0.0], [x, 4.5], [x, 0.0]];
        let areas = vec![vec![vec![ring(0.0), ring(1.0)]], vec![vec![ring(9.0)]; 2], vec![]];
        let features = areas.iter().map(|polygons| (vec![("a", 1.0)], polygons.clone()));
        write_polygons(&path, features, None).unwrap();
        let found = read_polygons(&path).unwrap();
        assert_eq!((found.shapes, found.crs), (areas, None));
        // Properties that are read are written again.
        let mut properties = found.properties[0].clone();
        properties.set("points", 3.0);
        properties.set("id", u64::MAX);
        let all = [(properties, vec![vec![ring(0.0)]])];
        write_polygons(&path, all, Some(&Crs::parse("EPSG:32631").unwrap())).unwrap();
        let found = read_polygons(&path).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("18446744073709551615"));
        assert!(["a", "points"].iter().all(|name| found.properties[0].has(name)));
        assert_eq!(found.crs, Some(Crs::parse("EPSG:32631").unwrap()));
    }

    #[test]
    fn the_ids_of_features_come_back_beside_a_property_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids.geojson");
        let ids = [r#""id": "A7","#, r#""id": 18446744073709551615,"#, r#""id": null,"#, ""];
        let geometry = r#"{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 1], [0, 0]]]}"#;
        let of = |id| {
            format!(
                r#"{{"type": "Feature", {id} "properties": {{"id": "other"}}, "geometry": {geometry}}}"#
            )
        };
        let features = ids.map(of).join(",");
        let text = format!(r#"{{"type": "FeatureCollection", "features": [{features}]}}"#);
        std::fs::write(&path, text).unwrap();
        let wanted = [Some("A7".into()), Some(u64::MAX.into()), None, None];
        for _ in 0..2 {
            let found = read_polygons(&path).unwrap();
            let ids = found.properties.iter().map(|properties| properties.id().cloned());
            assert_eq!(ids.collect::<Vec<_>>(), wanted);
            assert!(found.properties.iter().all(|of| of.get("id") == Some(&"other".into())));
            write_polygons(&path, found.properties.into_iter().zip(found.shapes), None).unwrap();
        }
    }

    #[test]
    fn shapes_of_every_kind_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shapes.geojson");
        let line = |x: f64| vec![[x, 0.5], [x + 1.0, 2.0]];
        let ring = vec![[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 0.0]];
        let shapes = [
            Shape::Points(vec![[1.0, 2.0]]),
            Shape::Points(line(3.0)),
            Shape::Lines(vec![line(4.0)]),
            Shape::Lines(vec![line(5.0), line(6.0)]),
            Shape::Polygons(vec![vec![ring.clone()]]),
            Shape::Polygons(vec![vec![ring.clone()], vec![ring]]),
            Shape::Several(vec![Shape::Points(line(7.0)), Shape::Lines(vec![line(8.0)])]),
        ];
        let features = shapes.iter().map(|shape| (vec![("a", 1.5)], shape.clone()));
        write_shapes(&path, features, None).unwrap();
        let found = crate::read_features(&path).unwrap().shapes;
        assert_eq!(found, shapes.map(Some));
    }

    #[test]
    fn a_coordinate_that_is_not_finite_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("areas.geojson");
        let ring = vec![[0.0, 0.0], [f64::NAN, 0.0], [0.0, 0.0]];
        let error =
            write_polygons(&path, [(Properties::default(), vec![vec![ring]])], None).unwrap_err();
        assert!(matches!(error, Error::BadValue { .. }) && !path.exists(), "{error}");
    }
}
