//! Contour lines in the formats of their names.

use std::path::Path;

use anyhow::{Result, bail};
use geo_io::{ColumnType, Crs, Output, Shape};
use serde_json::json;
use terrain_grid::Contour;

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

/// The format that the name of contour lines asks for.
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

/// Writes contour lines in a coordinate system.
///
/// # Errors
/// Those of writing.
pub fn write(output: Output, contours: &[Contour], crs: Option<&Crs>) -> Result<()> {
    let lines = contours.iter().map(|line| (line.level, &line.points[..]));
    match format(output.path)? {
        LinesFormat::GeoJson => geo_io::write_lines(output, lines, crs)?,
        LinesFormat::FlatGeobuf => geo_io::write_flatgeobuf(output, lines, crs)?,
        LinesFormat::GeoParquet => {
            let line = |(level, points): (f64, &[[f64; 2]])| {
                (vec![level.into()], Shape::Lines(vec![points.to_vec()]))
            };
            let columns = [("elevation", ColumnType::Real)];
            geo_io::write_geoparquet(output, &columns, lines.map(line), crs)?;
        }
    }
    Ok(())
}

/// Says how many lines there are and how far apart, and what the file does not say of their coordinate system.
pub fn report(
    report: &mut Report,
    path: &Path,
    crs: Option<&Crs>,
    (lines, interval): (usize, f64),
) {
    report.line("contours", format_args!("{lines} lines, one every {interval}"));
    report.field("contours", json!({"lines": lines, "interval": interval}));
    // GeoParquet states all of a system, or is not written.
    if format(path).is_ok_and(|format| format == LinesFormat::GeoParquet) {
        return;
    }
    if crs.is_some_and(|crs| !geo_io::is_named_in_geojson(crs)) {
        let path = path.display();
        report.note(format_args!("{path} names no coordinate system: this one has no EPSG code"));
    }
    let names_heights = |crs: &Crs| match format(path) {
        Ok(LinesFormat::GeoJson) => geo_io::has_named_heights(crs),
        _ => !crs.has_heights(),
    };
    if let Some(crs) = crs.filter(|crs| !names_heights(crs)) {
        report.note(format_args!(
            "{} names its horizontal system alone: its elevations are in {crs}",
            path.display()
        ));
    }
}
