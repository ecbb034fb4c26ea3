//! Areas as GeoJSON.

use std::io::Read;
use std::path::Path;

use geojson::{Feature, GeoJson, Geometry, Value};

use crate::lines::{check, write_collection};
use crate::points::open;
use crate::{Crs, Error, Output, Result};

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

/// Reads the areas of a GeoJSON file: those of each feature of a FeatureCollection, of one Feature, or one geometry.
/// Geometries are Polygon, MultiPolygon, or collections of them; a feature without geometry has no polygon. Heights
/// are left out, and coordinates taken as they are.
///
/// # Errors
/// [`Error::Read`], [`Error::Empty`], [`Error::Malformed`] for what is no GeoJSON, or has points or lines.
pub fn read_polygons(path: &Path) -> Result<Vec<Polygons>> {
    let mut text = String::new();
    let (mut file, _) = open(path)?;
    file.read_to_string(&mut text).map_err(|reason| Error::read(path, reason))?;
    let malformed = |reason: String| Error::malformed(path, reason);
    let of = |number: usize, geometry: Option<&Geometry>| {
        let mut polygons = Polygons::new();
        match geometry.map_or(Ok(()), |geometry| collect(&geometry.value, &mut polygons)) {
            Ok(()) => Ok(polygons),
            Err(reason) => Err(malformed(format!("feature {number}: {reason}"))),
        }
    };
    match text.parse::<GeoJson>().map_err(|error| malformed(error.to_string()))? {
        GeoJson::FeatureCollection(collection) => {
            let features = collection.features.iter().enumerate();
            features.map(|(number, feature)| of(number, feature.geometry.as_ref())).collect()
        }
        GeoJson::Feature(feature) => Ok(vec![of(0, feature.geometry.as_ref())?]),
        GeoJson::Geometry(geometry) => Ok(vec![of(0, Some(&geometry))?]),
    }
}

/// Adds the polygons of a geometry; gives what is wrong.
fn collect(geometry: &Value, polygons: &mut Polygons) -> Result<(), String> {
    let place = |position: &Vec<f64>| match position[..] {
        [x, y, ..] => Ok([x, y]),
        _ => Err("a position has less than two numbers".to_owned()),
    };
    let ring = |ring: &Vec<Vec<f64>>| ring.iter().map(place).collect::<Result<Vec<_>, _>>();
    let polygon =
        |rings: &Vec<Vec<Vec<f64>>>| rings.iter().map(ring).collect::<Result<Vec<_>, _>>();
    match geometry {
        Value::Polygon(rings) => polygons.push(polygon(rings)?),
        Value::MultiPolygon(parts) => {
            for rings in parts {
                polygons.push(polygon(rings)?);
            }
        }
        Value::GeometryCollection(parts) => {
            for part in parts {
                collect(&part.value, polygons)?;
            }
        }
        other => return Err(format!("a {} is no polygon", other.type_name())),
    }
    Ok(())
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
    fn every_form_of_geojson_with_polygons_is_read_and_others_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("areas.geojson");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_polygons(&path).map_err(|error| error.to_string())
        };
        let polygon = r#"{"type":"Polygon","coordinates":[[[0,0,7],[1,0,7],[0,1,7],[0,0,7]]]}"#;
        let wanted: Polygons = vec![vec![vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]];
        let feature = |geometry: &str| {
            format!(r#"{{"type":"Feature","properties":null,"geometry":{geometry}}}"#)
        };
        assert_eq!(read(polygon).unwrap(), [wanted.clone()]);
        assert_eq!(read(&feature(polygon)).unwrap(), [wanted.clone()]);
        assert_eq!(read(&feature("null")).unwrap(), [Polygons::new()]);
        let both = format!(r#"{{"type":"GeometryCollection","geometries":[{polygon},{polygon}]}}"#);
        assert_eq!(read(&both).unwrap(), [[wanted.clone(), wanted.clone()].concat()]);
        let point = feature(r#"{"type":"Point","coordinates":[1,2]}"#);
        let two =
            format!(r#"{{"type":"FeatureCollection","features":[{},{point}]}}"#, feature(polygon));
        assert!(read(&two).unwrap_err().ends_with("feature 1: a Point is no polygon"));
        for bad in ["", "{", "[]", r#"{"type":"Polygon"}"#, r#"{"type":"Ring"}"#] {
            assert!(!read(bad).unwrap_err().contains('\n'), "{bad:?}");
        }
        let short = r#"{"type":"Polygon","coordinates":[[[0],[1,0],[0,1],[0,0]]]}"#;
        assert!(read(short).is_err());
        assert!(matches!(read_polygons(&path.with_extension("no")), Err(Error::Read { .. })));
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
