//! Points, lines and polygons from GeoJSON.

use std::path::Path;

use geojson::{Feature, GeoJson, Geometry, Value};

use crate::{Error, Polygons, Result};

/// What a feature is, in (x, y). A ring of a polygon ends with the place that it began with, as GeoJSON has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// Places.
    Points(Vec<[f64; 2]>),
    /// Lines from place to place.
    Lines(Vec<Vec<[f64; 2]>>),
    /// Polygons, each its outer ring and its holes.
    Polygons(Polygons),
    /// All of these together.
    Several(Vec<Shape>),
}

/// Reads the shape of each feature of a GeoJSON file, in their order; a geometry by itself is one feature. Heights are
/// left out.
///
/// # Errors
/// [`Error::Read`], [`Error::Empty`], [`Error::NotA`] for what is no GeoJSON, and [`Error::Malformed`] for a feature without
/// geometry or a position without two finite numbers, which it names.
pub fn read_shapes(path: &Path) -> Result<Vec<Shape>> {
    let bytes =
        std::fs::read(path).map_err(|reason| Error::Read { path: path.to_owned(), reason })?;
    if bytes.is_empty() {
        return Err(Error::Empty { path: path.to_owned() });
    }
    let document: GeoJson =
        parse(&bytes).ok_or_else(|| Error::NotA { path: path.to_owned(), format: "GeoJSON" })?;
    let malformed = |i: usize, reason: &str| Error::Malformed {
        path: path.to_owned(),
        reason: format!("feature {i} {reason}"),
    };
    let of_geometry =
        |i: usize, geometry: &Geometry| shape(&geometry.value).map_err(|r| malformed(i, r));
    let of_feature = |(i, feature): (usize, &Feature)| match &feature.geometry {
        Some(geometry) => of_geometry(i, geometry),
        None => Err(malformed(i, "has no geometry")),
    };
    match &document {
        GeoJson::Geometry(geometry) => Ok(vec![of_geometry(0, geometry)?]),
        GeoJson::Feature(feature) => Ok(vec![of_feature((0, feature))?]),
        GeoJson::FeatureCollection(all) => {
            all.features.iter().enumerate().map(of_feature).collect()
        }
    }
}

/// The document in a file's bytes.
fn parse(bytes: &[u8]) -> Option<GeoJson> {
    std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').parse().ok()
}

fn shape(value: &Value) -> Result<Shape, &'static str> {
    Ok(match value {
        Value::Point(position) => Shape::Points(vec![place(position)?]),
        Value::MultiPoint(positions) => Shape::Points(places(positions)?),
        Value::LineString(line) => Shape::Lines(vec![places(line)?]),
        Value::MultiLineString(lines) => Shape::Lines(all(lines, |line| places(line))?),
        Value::Polygon(rings) => Shape::Polygons(vec![all(rings, |ring| places(ring))?]),
        Value::MultiPolygon(polygons) => {
            Shape::Polygons(all(polygons, |rings| all(rings, |ring| places(ring)))?)
        }
        Value::GeometryCollection(geometries) => {
            Shape::Several(all(geometries, |geometry| shape(&geometry.value))?)
        }
    })
}

fn all<T, U>(
    items: &[T],
    each: impl Fn(&T) -> Result<U, &'static str>,
) -> Result<Vec<U>, &'static str> {
    items.iter().map(each).collect()
}

fn places(positions: &[Vec<f64>]) -> Result<Vec<[f64; 2]>, &'static str> {
    positions.iter().map(|position| place(position)).collect()
}

fn place(position: &[f64]) -> Result<[f64; 2], &'static str> {
    match position {
        [x, y, ..] if x.is_finite() && y.is_finite() => Ok([*x, *y]),
        _ => Err("has a position without two numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Shape>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.geojson");
        std::fs::write(&path, text).unwrap();
        read_shapes(&path)
    }

    #[test]
    fn every_kind_of_geometry_is_read() {
        let text = r#"{"type": "FeatureCollection", "features": [
            {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [1, 2, 300]}},
            {"type": "Feature", "properties": null, "geometry":
                {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}},
            {"type": "Feature", "properties": {}, "geometry":
                {"type": "MultiPolygon", "coordinates": [[[[0, 0], [1, 0], [0, 1], [0, 0]]]]}},
            {"type": "Feature", "properties": {}, "geometry": {"type": "GeometryCollection", "geometries": [
                {"type": "MultiPoint", "coordinates": [[5, 6]]},
                {"type": "MultiLineString", "coordinates": [[[7, 8], [9, 10]]]}]}}]}"#;
        let expected = vec![
            Shape::Points(vec![[1.0, 2.0]]),
            Shape::Lines(vec![vec![[1.0, 2.0], [3.0, 4.0]]]),
            Shape::Polygons(vec![vec![vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]]),
            Shape::Several(vec![
                Shape::Points(vec![[5.0, 6.0]]),
                Shape::Lines(vec![vec![[7.0, 8.0], [9.0, 10.0]]]),
            ]),
        ];
        assert_eq!(read(text).unwrap(), expected);
        let polygon = r#"{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 1], [0, 0]]]}"#;
        assert_eq!(read(polygon).unwrap(), expected[2..3]);
    }

    #[test]
    fn what_is_no_geojson_is_refused_in_a_line() {
        assert!(matches!(read("").unwrap_err(), Error::Empty { .. }));
        assert!(matches!(read("lon,lat\n1,2\n").unwrap_err(), Error::NotA { .. }));
        let feature = |geometry: &str| {
            let text =
                format!(r#"{{"type": "Feature", "properties": {{}}, "geometry": {geometry}}}"#);
            read(&text).unwrap_err()
        };
        assert!(feature("null").to_string().ends_with("feature 0 has no geometry"));
        let found = feature(r#"{"type": "LineString", "coordinates": [[1], [2, 3]]}"#);
        assert!(!found.to_string().contains('\n'), "{found}");
    }
}
