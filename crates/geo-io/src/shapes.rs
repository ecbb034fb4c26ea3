//! Points, lines and polygons from GeoJSON.

use std::path::Path;

use geojson::{GeoJson, Geometry, Value};

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

/// Reads the shape of each feature of a GeoJSON file, in their order; a geometry by itself is one feature. One without
/// geometry, or whose geometry has no places, has no shape. Heights are left out.
///
/// # Errors
/// [`Error::Read`], [`Error::Empty`], [`Error::NotA`] for what is no GeoJSON, and [`Error::Malformed`] for a position without
/// two finite numbers, whose feature it names.
pub fn read_shapes(path: &Path) -> Result<Vec<Option<Shape>>> {
    let bytes =
        std::fs::read(path).map_err(|reason| Error::Read { path: path.to_owned(), reason })?;
    if bytes.is_empty() {
        return Err(Error::Empty { path: path.to_owned() });
    }
    let document: GeoJson =
        parse(&bytes).ok_or_else(|| Error::NotA { path: path.to_owned(), format: "GeoJSON" })?;
    let of = |(i, geometry): (usize, Option<&Geometry>)| {
        let value = geometry.map(|geometry| &geometry.value).filter(|value| !is_empty(value));
        value.map(shape).transpose().map_err(|reason| wrong(path, i, reason))
    };
    match &document {
        GeoJson::Geometry(geometry) => Ok(vec![of((0, Some(geometry)))?]),
        GeoJson::Feature(feature) => Ok(vec![of((0, feature.geometry.as_ref()))?]),
        GeoJson::FeatureCollection(all) => {
            let geometries = all.features.iter().map(|feature| feature.geometry.as_ref());
            geometries.enumerate().map(of).collect()
        }
    }
}

/// Whether a geometry has no coordinates, as programs write one that is empty; RFC 7946 lets it stand for none.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Point(position) => position.is_empty(),
        Value::MultiPoint(positions) | Value::LineString(positions) => positions.is_empty(),
        Value::MultiLineString(lines) | Value::Polygon(lines) => lines.is_empty(),
        Value::MultiPolygon(polygons) => polygons.is_empty(),
        Value::GeometryCollection(parts) => parts.iter().all(|part| is_empty(&part.value)),
    }
}

/// Reads the polygons of each feature of a GeoJSON file, in their order: Polygon, MultiPolygon, or collections of them;
/// a feature without geometry has none. Heights are left out, and coordinates taken as they are.
///
/// # Errors
/// As [`read_shapes`], and [`Error::Malformed`] for a feature with points or lines.
pub fn read_polygons(path: &Path) -> Result<Vec<Polygons>> {
    let of = |(i, shape): (usize, Option<Shape>)| {
        let mut all = Polygons::new();
        shape.map_or(Ok(()), |shape| collect(shape, &mut all)).map_err(|r| wrong(path, i, r))?;
        Ok(all)
    };
    read_shapes(path)?.into_iter().enumerate().map(of).collect()
}

/// Adds the polygons of a shape.
fn collect(shape: Shape, polygons: &mut Polygons) -> Result<(), &'static str> {
    match shape {
        Shape::Polygons(more) => polygons.extend(more),
        Shape::Several(parts) => parts.into_iter().try_for_each(|part| collect(part, polygons))?,
        Shape::Points(_) => return Err("has a point, which is no polygon"),
        Shape::Lines(_) => return Err("has a line, which is no polygon"),
    }
    Ok(())
}

/// The error of a feature.
fn wrong(path: &Path, feature: usize, reason: &str) -> Error {
    Error::Malformed { path: path.to_owned(), reason: format!("feature {feature} {reason}") }
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
            let parts = geometries.iter().map(|part| &part.value).filter(|part| !is_empty(part));
            Shape::Several(parts.map(shape).collect::<Result<_, _>>()?)
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

    fn read(text: &str) -> Result<Vec<Option<Shape>>> {
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
        let expected: Vec<_> = expected.into_iter().map(Some).collect();
        assert_eq!(read(text).unwrap(), expected);
        let polygon = r#"{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 1], [0, 0]]]}"#;
        assert_eq!(read(polygon).unwrap(), expected[2..3]);
    }

    #[test]
    fn a_feature_without_places_has_no_shape() {
        let empty = r#"{"type": "Polygon", "coordinates": []}"#;
        let points = r#"{"type": "MultiPoint", "coordinates": []}"#;
        let collection =
            |parts: &str| format!(r#"{{"type": "GeometryCollection", "geometries": [{parts}]}}"#);
        let nested = collection(&collection(points));
        for geometry in ["null", empty, points, &collection(""), &nested] {
            let text =
                format!(r#"{{"type": "Feature", "properties": {{}}, "geometry": {geometry}}}"#);
            assert_eq!(read(&text).unwrap(), [None], "{geometry}");
        }
        let part = r#"{"type": "Point", "coordinates": [1, 2]}"#;
        let found = read(&collection(&format!("{empty}, {part}, {points}"))).unwrap();
        assert_eq!(found, [Some(Shape::Several(vec![Shape::Points(vec![[1.0, 2.0]])]))]);
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
        let found = feature(r#"{"type": "LineString", "coordinates": [[1], [2, 3]]}"#);
        assert!(!found.to_string().contains('\n'), "{found}");
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
        assert_eq!(read(polygon).unwrap(), std::slice::from_ref(&wanted));
        assert_eq!(read(&feature(polygon)).unwrap(), std::slice::from_ref(&wanted));
        assert_eq!(read(&feature("null")).unwrap(), [Polygons::new()]);
        let both = format!(r#"{{"type":"GeometryCollection","geometries":[{polygon},{polygon}]}}"#);
        assert_eq!(read(&both).unwrap(), [[wanted.clone(), wanted.clone()].concat()]);
        let point = feature(r#"{"type":"Point","coordinates":[1,2]}"#);
        let two =
            format!(r#"{{"type":"FeatureCollection","features":[{},{point}]}}"#, feature(polygon));
        assert!(read(&two).unwrap_err().ends_with("feature 1 has a point, which is no polygon"));
        for bad in ["", "{", "[]", r#"{"type":"Polygon"}"#, r#"{"type":"Ring"}"#] {
            assert!(!read(bad).unwrap_err().contains('\n'), "{bad:?}");
        }
        let short = r#"{"type":"Polygon","coordinates":[[[0],[1,0],[0,1],[0,0]]]}"#;
        assert!(read(short).is_err());
        assert!(matches!(read_polygons(&path.with_extension("no")), Err(Error::Read { .. })));
    }
}
