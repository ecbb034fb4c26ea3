//! Lines with their heights, from GeoJSON and FlatGeobuf.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use flatgeobuf::{FallibleStreamingIterator, FgbReader, Geometry, GeometryType, Header};
use geojson::JsonObject;
use serde_json::Value;

use super::{all, kind, malformed, shown, system};
use crate::vectors::json_text::documents;
use crate::{Crs, Error, Result};

/// A line from place to place, each (x, y).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Line {
    /// The number of its feature in the file, from 0.
    pub feature: u64,
    /// Its vertices.
    pub places: Vec<[f64; 2]>,
    /// The height of each; `None` where the file has none.
    pub heights: Option<Vec<f64>>,
}

/// The lines of a file.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Lines {
    /// In the file's order.
    pub lines: Vec<Line>,
    /// The coordinate system that the file states. GeoJSON without one has longitudes and latitudes on WGS 84 (RFC 7946).
    pub crs: Option<Crs>,
}

/// Reads the lines of a file, with the heights of their vertices: FlatGeobuf by its ending .fgb, else GeoJSON. LineString,
/// MultiLineString and collections of both are lines.
///
/// # Errors
/// - [`Error::Read`], [`Error::Empty`] and [`Error::NotA`].
/// - [`Error::Malformed`]: a feature is not a line, has heights at some of its vertices only, or has a coordinate that is not
///   finite. The error names the feature, counted from 0.
pub fn read_lines(path: &Path) -> Result<Lines> {
    let is_binary = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("fgb"));
    if is_binary { of_flatgeobuf(path) } else { of_geojson(path) }
}

/// A vertex with its height, if it has one.
type Vertex = ([f64; 2], Option<f64>);

impl Lines {
    fn push(&mut self, feature: u64, vertices: &[Vertex]) -> Result<(), String> {
        let heights: Vec<f64> = vertices.iter().filter_map(|vertex| vertex.1).collect();
        if !heights.is_empty() && heights.len() < vertices.len() {
            let (some, all) = (heights.len(), vertices.len());
            return Err(format!(
                "{some} of {all} vertices of a line have a height: give all of them one, or none"
            ));
        }
        let places: Vec<[f64; 2]> = vertices.iter().map(|vertex| vertex.0).collect();
        if let Some(bad) = places.iter().flatten().chain(&heights).find(|v| !v.is_finite()) {
            return Err(format!("a line has a coordinate of {bad}, which is not finite"));
        }
        let heights = (!heights.is_empty()).then_some(heights);
        if !places.is_empty() {
            self.lines.push(Line { feature, places, heights });
        }
        Ok(())
    }
}

fn of_geojson(path: &Path) -> Result<Lines> {
    let (mut lines, mut number) = (Lines::default(), 0);
    for document in documents(path)? {
        add_document(&mut lines, &mut number, document)
            .map_err(|reason| malformed(path, reason))?;
    }
    Ok(lines)
}

fn add_document(lines: &mut Lines, number: &mut u64, document: Value) -> Result<(), String> {
    let Value::Object(object) = document else {
        return Err(format!("{} is no GeoJSON object", shown(&document)));
    };
    if let Some(member) = object.get("crs") {
        lines.crs = system(member)?;
    }
    let one = [Value::Object(object)];
    let features =
        match (kind(one[0].as_object().unwrap_or(&JsonObject::new()))?, one[0].get("features")) {
            ("FeatureCollection", Some(Value::Array(features))) => &features[..],
            ("FeatureCollection", _) => {
                return Err("its FeatureCollection has no list \"features\"".to_owned());
            }
            _ => &one[..],
        };
    for feature in features {
        let geometry = match feature.get("type").and_then(Value::as_str) {
            Some("Feature") => feature.get("geometry").unwrap_or(&Value::Null),
            _ => feature,
        };
        add_geometry(lines, *number, geometry)
            .map_err(|reason| format!("feature {number}: {reason}"))?;
        *number += 1;
    }
    Ok(())
}

fn add_geometry(lines: &mut Lines, feature: u64, geometry: &Value) -> Result<(), String> {
    let Value::Object(object) = geometry else {
        return match geometry {
            Value::Null => Ok(()),
            other => Err(format!("{} is no geometry", shown(other))),
        };
    };
    let at = object.get("coordinates").unwrap_or(&Value::Null);
    match kind(object)? {
        "LineString" => lines.push(feature, &all("position", at, vertex)?),
        "MultiLineString" => {
            let parts = all("line", at, |line| all("position", line, vertex))?;
            parts.iter().try_for_each(|part| lines.push(feature, part))
        }
        "GeometryCollection" => {
            let parts = object.get("geometries").and_then(Value::as_array);
            parts.into_iter().flatten().try_for_each(|part| add_geometry(lines, feature, part))
        }
        other => Err(format!("a {other} is no line")),
    }
}

/// Two numbers or three.
fn vertex(value: &Value) -> Result<Vertex, String> {
    let number = |i: usize| value.get(i).and_then(Value::as_f64);
    match (number(0), number(1), value.get(2)) {
        (Some(x), Some(y), None | Some(Value::Null)) => Ok(([x, y], None)),
        (Some(x), Some(y), Some(Value::Number(z))) => Ok(([x, y], z.as_f64())),
        _ => {
            Err(format!("{} is no position: expected numbers, as [8.5, 47.4, 430.0]", shown(value)))
        }
    }
}

fn of_flatgeobuf(path: &Path) -> Result<Lines> {
    let file = File::open(path).map_err(|reason| Error::Read { path: path.to_owned(), reason })?;
    if file.metadata().is_ok_and(|about| about.len() == 0) {
        return Err(Error::Empty { path: path.to_owned() });
    }
    let not_one = |_| Error::NotA { path: path.to_owned(), format: "FlatGeobuf" };
    let reader = FgbReader::open(BufReader::new(file)).map_err(not_one)?;
    let failed = |reason: String| malformed(path, reason);
    let mut lines = Lines { crs: system_of(&reader.header()).map_err(failed)?, ..Lines::default() };
    let of_all = reader.header().geometry_type();
    let mut features = reader.select_all_seq().map_err(|e| failed(e.to_string()))?;
    let mut number = 0;
    loop {
        let named = |reason: String| malformed(path, format!("feature {number}: {reason}"));
        let Some(feature) = features.next().map_err(|e| named(e.to_string()))? else {
            return Ok(lines);
        };
        if let Some(geometry) = feature.geometry() {
            add_flat(&mut lines, number, geometry, of_all).map_err(named)?;
        }
        number += 1;
    }
}

fn add_flat(
    lines: &mut Lines,
    feature: u64,
    geometry: Geometry<'_>,
    of_all: GeometryType,
) -> Result<(), String> {
    let kind = if of_all == GeometryType::Unknown { geometry.type_() } else { of_all };
    let places: Vec<f64> = geometry.xy().map(|xy| xy.iter().collect()).unwrap_or_default();
    let heights: Vec<f64> = geometry.z().map(|z| z.iter().collect()).unwrap_or_default();
    // Where a file has heights, vertices without one have NaN.
    let height = |i: usize| heights.get(i).copied().filter(|height| !height.is_nan());
    let vertices: Vec<Vertex> =
        places.chunks_exact(2).enumerate().map(|(i, p)| ([p[0], p[1]], height(i))).collect();
    match kind {
        GeometryType::LineString => lines.push(feature, &vertices),
        GeometryType::MultiLineString => {
            let ends: Vec<usize> = match geometry.ends() {
                Some(ends) => ends.iter().map(|end| end as usize).collect(),
                None => vec![vertices.len()],
            };
            let starts = std::iter::once(0).chain(ends.iter().copied());
            starts.zip(&ends).try_for_each(|(start, &end)| {
                let part =
                    vertices.get(start..end).ok_or("its parts have other ends than its list")?;
                lines.push(feature, part)
            })
        }
        GeometryType::GeometryCollection => {
            let parts = geometry.parts();
            parts
                .into_iter()
                .flatten()
                .try_for_each(|part| add_flat(lines, feature, part, GeometryType::Unknown))
        }
        other => Err(format!("a {} is no line", other.variant_name().unwrap_or("shape"))),
    }
}

/// The system that a file states: by its EPSG code, or as WKT.
fn system_of(header: &Header<'_>) -> Result<Option<Crs>, String> {
    let Some(stated) = header.crs() else { return Ok(None) };
    let is_epsg = stated.org().is_none_or(|org| org.eq_ignore_ascii_case("EPSG"));
    let of_code =
        (is_epsg && stated.code() > 0).then(|| Crs::parse(&format!("EPSG:{}", stated.code())).ok());
    let found = of_code.flatten().or_else(|| stated.wkt().and_then(Crs::from_wkt));
    match found {
        None if stated.code() > 0 || stated.wkt().is_some() => {
            Err("the coordinate system that it states is not known: write the file in one of the EPSG list".to_owned())
        }
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Lines> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.geojson");
        std::fs::write(&path, text).unwrap();
        read_lines(&path)
    }

    #[test]
    fn lines_have_the_heights_of_the_file() {
        let text = r#"{"type": "FeatureCollection", "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32631"}},
            "features": [{"type": "Feature", "properties": {}, "geometry": {"type": "LineString", "coordinates": [[1, 2, 5], [3, 4, 6.5]]}},
            {"type": "Feature", "properties": {}, "geometry": null},
            {"type": "Feature", "properties": null, "geometry": {"type": "MultiLineString", "coordinates": [[[1, 1], [2, 2]], [[3, 3], [4, 4]]]}}]}"#;
        let found = read_text(text).unwrap();
        assert_eq!(found.crs, Some(Crs::parse("EPSG:32631").unwrap()));
        let features: Vec<u64> = found.lines.iter().map(|line| line.feature).collect();
        assert_eq!(features, [0, 2, 2]);
        assert_eq!(found.lines[0].heights, Some(vec![5.0, 6.5]));
        assert_eq!(
            (&found.lines[2].places[..], &found.lines[2].heights),
            (&[[3.0, 3.0], [4.0, 4.0]][..], &None)
        );
    }

    #[test]
    fn lines_of_flatgeobuf_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.fgb");
        let (a, b) = ([[0.5, 1.0], [2.0, 3.25]], [[7.0, 8.0], [9.0, 10.0], [7.0, 8.0]]);
        let crs = Crs::parse("EPSG:26910").unwrap();
        crate::write_flatgeobuf(&path, [Ok((1.0, &a[..])), Ok((2.0, &b[..]))], Some(&crs)).unwrap();
        let found = read_lines(&path).unwrap();
        let mut places: Vec<_> = found.lines.iter().map(|line| line.places.clone()).collect();
        places.sort_by_key(Vec::len);
        assert_eq!(places, [a.to_vec(), b.to_vec()]);
        assert!(found.lines.iter().all(|line| line.heights.is_none()));
        assert_eq!(found.crs, Some(crs));
    }

    /// Heights of a file that GDAL has made of GeoJSON, where there is GDAL.
    #[test]
    fn heights_of_flatgeobuf_are_those_that_gdal_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let [json, fgb] = ["a.geojson", "a.fgb"].map(|name| folder.path().join(name));
        let text = r#"{"type": "Feature", "properties": {}, "geometry": {"type": "MultiLineString", "coordinates": [[[1, 2, 5], [3, 4, 6.5]], [[5, 5, 7], [6, 6, 8]]]}}"#;
        std::fs::write(&json, text).unwrap();
        let ran = std::process::Command::new("ogr2ogr").arg(&fgb).arg(&json).output();
        if ran.is_err() {
            println!("skipped: no ogr2ogr");
            return;
        }
        assert_eq!(read_lines(&fgb).unwrap().lines, read_lines(&json).unwrap().lines);
    }

    #[test]
    fn what_is_no_line_is_named() {
        let feature =
            |geometry: &str| format!("{{\"type\": \"Feature\", \"geometry\": {geometry}}}");
        for (text, words) in [
            (r#"{"type": "Point", "coordinates": [1, 2]}"#, "feature 0: a Point is no line"),
            (
                r#"{"type": "LineString", "coordinates": [[1, 2, 3], [4, 5]]}"#,
                "feature 0: 1 of 2 vertices",
            ),
            (r#"{"type": "LineString", "coordinates": [[1, "a"]]}"#, "feature 0: position 0"),
            (r#"{"type": "LineString", "coordinates": [[1, 2, "x"]]}"#, "is no position"),
        ] {
            for text in [text.to_owned(), feature(text)] {
                let error = read_text(&text).unwrap_err().to_string();
                assert!(error.contains(words), "{error}");
            }
        }
        assert!(matches!(read_text("[1]"), Err(Error::NotA { .. })));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.fgb");
        assert!(matches!(read_lines(&path), Err(Error::Read { .. })));
        std::fs::write(&path, "").unwrap();
        assert!(matches!(read_lines(&path), Err(Error::Empty { .. })));
        std::fs::write(&path, "{\"type\": \"Feature\"}").unwrap();
        assert!(matches!(read_lines(&path), Err(Error::NotA { .. })));
    }
}
