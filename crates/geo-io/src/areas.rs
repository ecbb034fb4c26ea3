//! Areas as GeoJSON.

use geojson::{Feature, Geometry, Value};

use crate::lines::{check, write_collection};
use crate::{Crs, Output, Result};

/// The polygons of one feature, each its outer ring and its holes, of (x, y); a ring ends with the place that it
/// began with.
pub type Polygons = Vec<Vec<Vec<[f64; 2]>>>;

/// Writes areas as a GeoJSON FeatureCollection, each with its properties: numbers by name. One polygon is a Polygon,
/// several are a MultiPolygon. RFC 7946 has outer rings counterclockwise, holes clockwise, and nothing across the
/// antimeridian; coordinates are written as they are, and reference systems as by
/// [`write_lines`](crate::write_lines).
///
/// # Errors
/// As [`write_lines`](crate::write_lines).
pub fn write_polygons<'a, 'n>(
    output: impl Into<Output<'a>>,
    features: impl IntoIterator<Item = (Vec<(&'n str, f64)>, Polygons)>,
    crs: Option<&Crs>,
) -> Result<()> {
    let features =
        features.into_iter().map(|(properties, polygons)| feature(properties, &polygons));
    write_collection(output.into(), features, crs)
}

fn feature(properties: Vec<(&str, f64)>, polygons: &Polygons) -> Result<Feature> {
    for ring in polygons.iter().flatten() {
        check(0.0, ring)?;
    }
    let ring = |ring: &Vec<[f64; 2]>| ring.iter().map(|place| place.to_vec()).collect();
    let rings = |polygon: &Vec<Vec<[f64; 2]>>| polygon.iter().map(ring).collect();
    let value = match &polygons[..] {
        [polygon] => Value::Polygon(rings(polygon)),
        several => Value::MultiPolygon(several.iter().map(rings).collect()),
    };
    // A number without a fraction is written as one.
    let number = |x: f64| if x.fract() == 0.0 { (x as i64).into() } else { x.into() };
    let properties = properties.into_iter().map(|(name, x)| (name.to_owned(), number(x)));
    Ok(Feature {
        geometry: Some(Geometry::new(value)),
        properties: Some(properties.collect()),
        ..Feature::default()
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
        assert_eq!(read_polygons(&path).unwrap(), areas);
    }

    #[test]
    fn a_coordinate_that_is_not_finite_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("areas.geojson");
        let ring = vec![[0.0, 0.0], [f64::NAN, 0.0], [0.0, 0.0]];
        let error = write_polygons(&path, [(vec![], vec![vec![ring]])], None).unwrap_err();
        assert!(matches!(error, Error::BadValue { .. }) && !path.exists(), "{error}");
    }
}
