//! Connected regions of what a query finds, written as outlines or as a table.

use anyhow::{Result, ensure};
use ccq_tree::Outline;
use geo_io::{ColumnType, Crs, Output, Polygons, Shape};
use gpu_core::Bounds;
use programs::args::ending;
use programs::mercator::note_on_lengths;
use programs::report::Report;
use programs::units::other_body;
use serde_json::json;

use crate::place::Place;

/// Regions, and where they lie.
pub struct Regions<'a> {
    found: &'a ccq_tree::Regions,
    place: &'a Place,
    areas: Vec<f64>,
}

impl<'a> Regions<'a> {
    /// Regions with their areas.
    ///
    /// # Errors
    /// The index is in degrees, but its rows do not run along parallels, so the area of cells is unknown.
    pub fn new(found: &'a ccq_tree::Regions, place: &'a Place) -> Result<Self> {
        let is_measured =
            place.is_along_axes() || place.crs.as_ref().and_then(Crs::degrees_per_unit).is_none();
        ensure!(
            is_measured,
            "--regions: the index is in degrees, but its rows do not run along parallels \
             ({place}): gdalwarp makes a raster whose rows do"
        );
        let areas = areas(found, place);
        Ok(Self { found, place, areas })
    }

    /// Writes the regions with their numbers, cells and areas.
    pub fn write(&self, output: Output<'_>) -> Result<()> {
        let (regions, areas) = (self.found.regions(), &self.areas);
        if ending(output.path) == "csv" {
            let row = |(i, region): (usize, &ccq_tree::Region)| {
                let ccq_tree::Region { row, column, cells } = region;
                format!("{i},{row},{column},{cells},{}", areas[i])
            };
            let rows = regions.iter().enumerate().map(row);
            return Ok(geo_io::write_rows(output, "region,row,col,cells,area", rows)?);
        }
        let outlines = self.found.outlines()?;
        let crs = self.place.crs.as_ref();
        if ending(output.path) == "parquet" {
            let columns = [
                ("region", ColumnType::Whole),
                ("cells", ColumnType::Whole),
                ("area", ColumnType::Real),
            ];
            let rows = outlines.iter().enumerate().map(|(i, outline)| {
                let numbers = vec![(i as u64).into(), regions[i].cells.into(), areas[i].into()];
                (numbers, Shape::Polygons(self.polygons(outline)))
            });
            return Ok(geo_io::write_geoparquet(output, &columns, rows, crs)?);
        }
        let features = outlines.iter().enumerate().map(|(i, outline)| {
            let (cells, area) = (regions[i].cells as f64, areas[i]);
            let properties = vec![("region", i as f64), ("cells", cells), ("area", area)];
            (properties, self.polygons(outline))
        });
        Ok(geo_io::write_polygons(output, features, crs)?)
    }

    /// Says how many there are, and which is the largest.
    pub fn describe(&self, report: &mut Report) {
        let (regions, areas) = (self.found.regions(), &self.areas);
        let largest = (0..areas.len()).max_by(|&a, &b| areas[a].total_cmp(&areas[b]));
        let text = match largest {
            Some(i) => {
                format!(
                    "{}, the largest is region {i} with {} cells, area {}",
                    regions.len(),
                    regions[i].cells,
                    areas[i]
                )
            }
            None => "none".to_owned(),
        };
        report.line("regions", text);
        let Bounds { min_y, max_y, .. } = self.place.bounds();
        let note = note_on_lengths("areas", self.place.crs.as_ref(), [min_y, max_y]);
        note.iter().for_each(|note| report.note(note));
        let area = largest.map(|i| areas[i]);
        report.field("regions", json!({"count": regions.len(), "largest": largest, "area": area}));
    }

    /// An outline in the units of the place.
    fn polygons(&self, outline: &Outline) -> Polygons {
        outline
            .iter()
            .map(|polygon| polygon.iter().map(|ring| self.place.ring(ring)).collect())
            .collect()
    }
}

/// The area of each region: in square units of the place; of longitudes and latitudes in square metres, on WGS 84 or on
/// the sphere of another body's equatorial radius.
fn areas(found: &ccq_tree::Regions, place: &Place) -> Vec<f64> {
    let [_, ax, bx, top, ay, by] = place.geotransform();
    let degrees = place.crs.as_ref().and_then(Crs::degrees_per_unit);
    let body = place.crs.as_ref().and_then(other_body);
    let zone = |latitude: f64| match body {
        Some(radius) => radius * radius * latitude.to_radians().sin(),
        None => zone(latitude),
    };
    let of_row = |row: u32| match degrees {
        Some(degrees) => {
            // Cells whose centres are the poles reach beyond them.
            let edge = |row: u32| {
                let latitude = top + f64::from(row) * by;
                (latitude * degrees).clamp(-90.0, 90.0)
            };
            ((ax * degrees).to_radians() * (zone(edge(row)) - zone(edge(row + 1)))).abs()
        }
        None => (ax * by - bx * ay).abs(),
    };
    let mut areas = vec![0.0; found.regions().len()];
    for (run, region) in found.runs() {
        areas[region as usize] += f64::from(run.column1 - run.column0) * of_row(run.row);
    }
    areas
}

/// The area of WGS 84 from the equator to a latitude in degrees, a radian wide, in square metres (Snyder 1987, equation
/// 3-12).
fn zone(degrees: f64) -> f64 {
    const AXIS: f64 = 6_378_137.0;
    const FLATTENING: f64 = 1.0 / 298.257_223_563;
    let squared = FLATTENING * (2.0 - FLATTENING);
    let (e, sine) = (squared.sqrt(), degrees.to_radians().sin());
    let both = sine / (1.0 - squared * sine * sine) + (e * sine).atanh() / e;
    AXIS * AXIS * (1.0 - squared) / 2.0 * both
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_zones_are_the_ellipsoid() {
        let all = std::f64::consts::TAU * (zone(90.0) - zone(-90.0));
        assert!((all / 510_065_621_724_088.0 - 1.0).abs() < 1e-12, "{all}");
    }
}
