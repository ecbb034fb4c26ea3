//! Lines with their heights.

use std::path::Path;

use super::rows;
use crate::tables::{Geometry, Vertex};
use crate::{Crs, Result};

/// A line from place to place, each (x, y).
///
/// Example: see [`read_lines`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Line {
    /// The number of the line's feature in the file, from 0.
    pub feature: u64,
    /// Its vertices.
    pub places: Vec<[f64; 2]>,
    /// The height of each vertex; `None` if the file has no heights.
    pub heights: Option<Vec<f64>>,
}

/// The lines of a file.
///
/// Example: see [`read_lines`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Lines {
    /// In the file's order.
    pub lines: Vec<Line>,
    /// The coordinate system that the file states. GeoJSON without a system has longitudes and latitudes on WGS 84 (RFC
    /// 7946).
    pub crs: Option<Crs>,
    /// Notes, in words, on parts of the file that the reader ignored, and on what the file lacks.
    pub notes: Vec<String>,
}

/// Reads the lines of a file, with the heights of their vertices, in the formats of [`read_features`](crate::read_features).
/// LineString, MultiLineString and collections of both are lines.
///
/// ```
/// use geo_io::read_lines;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("ridge.geojson");
/// std::fs::write(&path, r#"{"type": "LineString", "coordinates": [[0, 0, 10], [4, 3, 20]]}"#)?;
/// let line = &read_lines(&path)?.lines[0];
/// assert_eq!(line.places, [[0.0, 0.0], [4.0, 3.0]]);
/// assert_eq!(line.heights, Some(vec![10.0, 20.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - The errors of `read_features`.
/// - [`Error::Malformed`](crate::Error::Malformed): a feature is not a line, has heights at some of its vertices only,
///   or has a coordinate that is not finite. The error names the feature, counted from 0.
pub fn read_lines(path: &Path) -> Result<Lines> {
    let (mut lines, mut number) = (Lines::default(), 0);
    let found = rows(path, false, &mut |geometry, _| {
        geometry.map_or(Ok(()), |geometry| add(&mut lines, number, geometry))?;
        number += 1;
        Ok(())
    })?;
    (lines.crs, lines.notes) = found;
    Ok(lines)
}

impl Lines {
    fn push(&mut self, feature: u64, vertices: &[Vertex]) -> Result<(), String> {
        let heights: Vec<f64> = vertices.iter().map(|v| v[2]).filter(|z| !z.is_nan()).collect();
        if !heights.is_empty() && heights.len() < vertices.len() {
            let (some, all) = (heights.len(), vertices.len());
            return Err(format!(
                "{some} of {all} vertices of a line have a height: give heights to all of them, \
                 or to none"
            ));
        }
        let places = vertices.iter().map(|&[x, y, _]| [x, y]).collect();
        let heights = (!heights.is_empty()).then_some(heights);
        self.lines.push(Line { feature, places, heights });
        Ok(())
    }
}

/// Adds the lines of a geometry.
fn add(lines: &mut Lines, feature: u64, geometry: Geometry) -> Result<(), String> {
    match geometry {
        Geometry::Lines(all) => all.iter().try_for_each(|line| lines.push(feature, line)),
        Geometry::Several(parts) => {
            parts.into_iter().try_for_each(|part| add(lines, feature, part))
        }
        other => Err(format!("a {} is not a line", other.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

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
            (r#"{"type": "Point", "coordinates": [1, 2]}"#, "feature 0: a point is not a line"),
            (
                r#"{"type": "LineString", "coordinates": [[1, 2, 3], [4, 5]]}"#,
                "feature 0: 1 of 2 vertices",
            ),
            (r#"{"type": "LineString", "coordinates": [[1, "a"]]}"#, "feature 0: position 0"),
            (r#"{"type": "LineString", "coordinates": [[1, 2, "x"]]}"#, "is not a position"),
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
