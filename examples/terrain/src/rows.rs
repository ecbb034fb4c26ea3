//! Products written some rows after the other.

use std::ops::Range;

use anyhow::{Context, Result};
use geo_io::{Bands, FillRows, Georeference, Output};
use gpu_core::{Device, Progress, host_memory};
use programs::args::{Format, RasterArgs};
use programs::report::{Report, digits};
use serde_json::json;
use terrain_grid::ProductParams;

use crate::args::format;
use crate::choices::Name;
use crate::dem::{Dem, Part, Strip};

/// A raster that is written, without its values.
pub struct Whole<'a> {
    /// Where it lies.
    pub place: &'a Georeference,
    /// Columns and rows.
    pub size: (u32, u32),
    /// How it is written.
    pub how: &'a RasterArgs,
}

impl Whole<'_> {
    /// Writes a product whose rows `fill` gives, NaN where there is none; of a picture all at once.
    ///
    /// # Errors
    /// What `fill` gives, a value that is NODATA, and those of writing.
    pub fn write(&self, output: Output, name: Name, fill: &mut FillRows) -> Result<()> {
        let (place, size, options) = (self.place, self.size, self.how.options());
        let (width, height) = (size.0 as usize, size.1 as usize);
        let format = format(name, output.path)?;
        if format == Format::Npy {
            geo_io::write_npy_rows(output, (width, height), fill)?;
        } else if format == Format::Png {
            let mut brightness = host_memory::filled(f32::NAN, width * height)?;
            fill(0, &mut brightness)?;
            geo_io::write_shade(output, &brightness, size.0, size.1)?;
        } else if name == Name::Hillshade {
            let mut brightness = Vec::new();
            let mut fill = |first: usize, rows: &mut [u8]| {
                brightness.resize(rows.len(), f32::NAN);
                fill(first, &mut brightness)?;
                rows.copy_from_slice(&geo_io::shade_bytes(&brightness));
                Ok(())
            };
            geo_io::write_tiff_rows(output, place, size, &Bands::one(0.0), &options, &mut fill)?;
        } else {
            let bands = Bands::one(self.how.nodata);
            geo_io::write_tiff_rows(output, place, size, &bands, &options, fill)?;
        }
        Ok(())
    }
}

/// Makes a product of a DEM and writes it, and gives the range of its values.
///
/// # Errors
/// Those of reading, making and writing.
pub fn make_and_write(
    (dem, device): (&Dem, &Device),
    (name, params): (Name, &ProductParams),
    (output, how): (Output, &RasterArgs),
    progress: &dyn Progress,
) -> Result<Tally> {
    let (width, height) = dem.size();
    let (mut strip, mut tally) = (Strip::new(dem), Tally::default());
    // The writer knows its own errors alone.
    let mut failed = None;
    let mut fill = |first: usize, rows: &mut [f32]| {
        let made = progress.at("rows", first as f64 / height as f64).map_err(Into::into);
        let count = rows.len() / width;
        match made.and_then(|()| make((dem, &mut strip), device, params, first..first + count)) {
            Ok(made) => {
                rows.copy_from_slice(&made);
                tally.add(first, rows, width);
                Ok(())
            }
            Err(error) => {
                failed = Some(error);
                Err(geo_io::Error::Cancelled)
            }
        }
    };
    let whole = Whole { place: &dem.lie.place, size: (width as u32, height as u32), how };
    let written = whole.write(output, name, &mut fill);
    match failed {
        Some(error) => Err(error.context(name.option())),
        None => written.map(|()| tally),
    }
}

/// Some rows of a product.
///
/// # Errors
/// Those of reading and making.
pub fn make(
    (dem, strip): (&Dem, &mut Strip),
    device: &Device,
    params: &ProductParams,
    rows: Range<usize>,
) -> Result<Vec<f32>> {
    let part = Part::new(dem.size(), rows, 0..dem.size().0);
    let heights = strip.rows(part.window().0)?;
    let made = part.make((heights, &dem.lie), params, device);
    made.with_context(|| dem.path().display().to_string())
}

/// How many cells have a value, and the lowest and the highest.
#[derive(Default)]
pub struct Tally {
    /// Rows that were counted: later passes over them are not.
    rows: usize,
    cells: u64,
    known: u64,
    range: Option<(f32, f32)>,
}

impl Tally {
    /// Counts rows, unless they were counted before.
    pub fn add(&mut self, first: usize, values: &[f32], width: usize) {
        if first != self.rows {
            return;
        }
        self.rows += values.len() / width;
        self.cells += values.len() as u64;
        for &value in values.iter().filter(|value| !value.is_nan()) {
            let (low, high) = self.range.unwrap_or((value, value));
            self.range = Some((low.min(value), high.max(value)));
            self.known += 1;
        }
    }

    /// Says the range.
    pub fn report(&self, report: &mut Report, name: Name, unit: &str) {
        let nodata = self.cells - self.known;
        let share = 100.0 * nodata as f64 / self.cells.max(1) as f64;
        match self.range {
            Some((low, high)) => {
                let [low, high] = digits([low.into(), high.into()], 2);
                let text = format!("{low} to {high} ({unit}), {share:.1}% NODATA");
                report.line(name.word(), text);
            }
            None => report.line(name.word(), "none: every cell is NODATA"),
        }
        let range = self.range.map(|(low, high)| [low, high]);
        report.field(name.word(), json!({"range": range, "nodata_cells": nodata}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_once() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.add(0, &[1.0, f32::NAN, -2.0, 4.0], 2);
            tally.add(2, &[7.0, 3.0], 2);
        }
        assert_eq!((tally.cells, tally.known, tally.range), (6, 5, Some((-2.0, 7.0))));
    }
}
