//! Text files of a program's own rows, and polygons as GeoJSON.

use std::fmt::Display;
use std::io::Write;

use geojson::{Feature, Geometry, JsonObject, Value};

use crate::output::{Output, write_atomic};
use crate::{Error, Result};

/// Writes a table of a program's own: a line of names, and a line for each row.
///
/// # Errors
/// Those of writing.
pub fn write_rows<'a>(
    output: impl Into<Output<'a>>,
    names: &str,
    rows: impl IntoIterator<Item = impl Display>,
) -> Result<()> {
    let output = output.into();
    write_atomic(output, |file| {
        let failed = |e: std::io::Error| Error::write(output.path, e);
        writeln!(file, "{names}").map_err(failed)?;
        rows.into_iter().try_for_each(|row| writeln!(file, "{row}")).map_err(failed)
    })
}

/// Polygons of one feature, each its outer ring and its holes, of (longitude, latitude); a ring ends with the place
/// that it began with.
pub type Polygons = Vec<Vec<Vec<[f64; 2]>>>;

/// Writes areas as a GeoJSON FeatureCollection of MultiPolygons, each with its properties: numbers by name. The
/// coordinates are degrees, as RFC 7946 has them: outer rings counterclockwise, holes clockwise, nothing across
/// the antimeridian.
///
/// # Errors
/// Those of writing.
pub fn write_polygons<'a, 'n>(
    output: impl Into<Output<'a>>,
    features: impl IntoIterator<Item = (Vec<(&'n str, f64)>, Polygons)>,
) -> Result<()> {
    let output = output.into();
    write_atomic(output, |file| {
        let failed = |e: std::io::Error| Error::write(output.path, e);
        write!(file, "{{\"type\":\"FeatureCollection\",\"features\":[").map_err(failed)?;
        for (i, (properties, polygons)) in features.into_iter().enumerate() {
            let separator = if i == 0 { "\n" } else { ",\n" };
            write!(file, "{separator}{}", feature(properties, &polygons)).map_err(failed)?;
        }
        writeln!(file, "\n]}}").map_err(failed)
    })
}

fn feature(properties: Vec<(&str, f64)>, polygons: &Polygons) -> Feature {
    let ring = |ring: &Vec<[f64; 2]>| ring.iter().map(|place| place.to_vec()).collect();
    let polygon = |rings: &Vec<Vec<[f64; 2]>>| rings.iter().map(ring).collect();
    let value = Value::MultiPolygon(polygons.iter().map(polygon).collect());
    // A number without a fraction is written as one.
    let number = |x: f64| if x.fract() == 0.0 { (x as i64).into() } else { x.into() };
    let properties: JsonObject =
        properties.into_iter().map(|(name, x)| (name.to_owned(), number(x))).collect();
    Feature {
        geometry: Some(Geometry::new(value)),
        properties: Some(properties),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_polygons_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write_rows(&path, "a,b", ["1,2", "3,4"]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a,b\n1,2\n3,4\n");

        let path = folder.path().join("areas.geojson");
        let outer = vec![[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 0.0]];
        let hole = vec![[1.0, 1.0], [1.0, 1.5], [1.5, 1.0], [1.0, 1.0]];
        let polygons = vec![vec![outer, hole]];
        let features = [(vec![("site", 3.0), ("area", 0.25)], polygons), (vec![], vec![])];
        write_polygons(&path, features).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let found: geojson::FeatureCollection = text.parse().unwrap();
        let first = &found.features[0];
        assert_eq!(first.property("site"), Some(&3.into()));
        assert_eq!(first.property("area"), Some(&0.25.into()));
        let Some(Geometry { value: Value::MultiPolygon(polygons), .. }) = &first.geometry else {
            panic!("{first:?}")
        };
        assert_eq!((polygons.len(), polygons[0].len(), polygons[0][1][1][1]), (1, 2, 1.5));
        assert_eq!(found.features.len(), 2);
    }
}
