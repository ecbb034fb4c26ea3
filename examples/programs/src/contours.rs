//! Contour lines in the formats of their names.

use std::path::Path;

use anyhow::{Result, bail};
use geo_io::{Crs, Output};
use gpu_core::Shortest;
use serde_json::json;

use crate::args::ending;
use crate::report::Report;

/// The formats of contour lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinesFormat {
    /// Text.
    GeoJson,
    /// Binary, with an index.
    FlatGeobuf,
    /// Binary, by columns.
    GeoParquet,
}

/// The format that the name of a file of contour lines means.
///
/// # Errors
/// It asks for none.
pub fn format(path: &Path) -> Result<LinesFormat> {
    match ending(path).as_str() {
        "geojson" | "json" => Ok(LinesFormat::GeoJson),
        "fgb" => Ok(LinesFormat::FlatGeobuf),
        "parquet" => Ok(LinesFormat::GeoParquet),
        _ => bail!(
            "--contours {}: the name must end in .geojson, .json, .fgb or .parquet",
            path.display()
        ),
    }
}

/// Writes contour lines, each with its level and its points, in a coordinate system. All lines together need not
/// fit the memory.
///
/// # Errors
/// The errors of lines, and of writing.
pub fn write<L: AsRef<[[f64; 2]]>>(
    output: Output,
    lines: impl IntoIterator<Item = geo_io::Result<(f64, L)>>,
    crs: Option<&Crs>,
) -> Result<()> {
    match format(output.path)? {
        LinesFormat::GeoJson => geo_io::write_lines(output, lines, crs)?,
        LinesFormat::FlatGeobuf => geo_io::write_flatgeobuf(output, lines, crs)?,
        LinesFormat::GeoParquet => geo_io::write_geoparquet_lines(output, lines, crs)?,
    }
    Ok(())
}

/// Reports how many lines there are and their interval, and what the file omits of their coordinate system.
pub fn report(
    report: &mut Report,
    path: &Path,
    crs: Option<&Crs>,
    (lines, interval): (usize, f64),
) {
    report.line("contours", format_args!("{lines} lines, one every {}", Shortest(interval)));
    report.field("contours", json!({"lines": lines, "interval": interval}));
    // GeoParquet states all of a system, or is not written.
    if format(path).is_ok_and(|format| format == LinesFormat::GeoParquet) {
        return;
    }
    if crs.is_some_and(|crs| !geo_io::is_named_in_geojson(crs)) {
        let path = path.display();
        report.note(format_args!(
            "{path} names no coordinate system: the points' system has no EPSG code"
        ));
    }
    let names_heights = |crs: &Crs| match format(path) {
        Ok(LinesFormat::GeoJson) => geo_io::has_named_heights(crs),
        _ => !crs.has_heights(),
    };
    if let Some(crs) = crs.filter(|crs| !names_heights(crs)) {
        report.note(format_args!(
            "{} names its horizontal system only: its elevations are in {crs}",
            path.display()
        ));
    }
}
