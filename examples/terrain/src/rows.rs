//! Products written some rows after the other.

use std::ops::Range;

use anyhow::{Context, Result};
use geo_io::{Bands, Crs, FillRows, Georeference, Output};
use gpu_core::{Device, Progress};
use programs::args::{Format, RasterArgs};
use programs::tally::Tally;
use terrain_grid::ProductParams;

use crate::args::format;
use crate::choices::{Kind, MethodArgs, Name};
use crate::dem::{Dem, Part, Strip};
use crate::drawing::Drawing;

/// A raster that is written, without its values.
pub struct Whole<'a> {
    /// The place of the raster.
    pub place: &'a Georeference,
    /// Columns and rows.
    pub size: (u32, u32),
    /// How it is written.
    pub how: &'a RasterArgs,
}

impl Whole<'_> {
    /// Writes a product whose rows `fill` gives, NaN where there is none.
    ///
    /// # Errors
    /// What `fill` gives, a value that is NODATA, and the errors of writing.
    pub fn write(&self, output: Output, name: Name, fill: &mut FillRows) -> Result<()> {
        let (place, size) = (&place_of(name, self.place), self.size);
        let options = match name {
            Name::Aspect => self.how.options_without_means(),
            _ => self.how.options(),
        };
        let (width, height) = (size.0 as usize, size.1 as usize);
        let format = format(name, output.path)?;
        if format == Format::Npy {
            geo_io::write_npy_rows(output, (width, height), fill)?;
        } else if format == Format::Zarr {
            let bands = Bands::one(self.how.nodata);
            geo_io::write_zarr_rows(output, place, size, &bands, &options, fill)?;
        } else if format == Format::Png {
            geo_io::write_shade_rows(output, size, fill)?;
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

    /// Writes colours whose rows `fill` gives.
    ///
    /// # Errors
    /// What `fill` gives, and the errors of writing.
    pub fn write_colours(&self, output: Output, name: Name, fill: &mut FillRows<u8>) -> Result<()> {
        match format(name, output.path)? {
            Format::Png => geo_io::write_colour_rows(output, self.size, fill)?,
            _ => {
                let (place, options) = (place_of(name, self.place), self.how.options());
                geo_io::write_tiff_colour_rows(output, &place, self.size, &options, fill)?;
            }
        }
        Ok(())
    }
}

/// Where a product of a DEM lies. No product has the datum of heights, and only differences of heights have their unit.
fn place_of(name: Name, dem: &Georeference) -> Georeference {
    match name {
        Name::Tri | Name::Tpi | Name::Roughness => {
            let crs = dem.crs.as_ref().map(Crs::of_relative_heights);
            Georeference { transform: dem.transform, crs }
        }
        _ => dem.without_heights(),
    }
}

/// A product that the program makes from a DEM some rows at a time.
pub struct Making<'a> {
    pub dem: &'a Dem,
    pub device: &'a Device,
    pub name: Name,
    /// Where it goes.
    pub output: Output<'a>,
    pub how: &'a RasterArgs,
}

impl Making<'_> {
    /// Computes numbers, writes them, and returns the range of their values.
    ///
    /// # Errors
    /// The errors of reading, computing and writing.
    pub fn numbers(&self, params: &ProductParams, progress: &dyn Progress) -> Result<Tally> {
        let (mut tally, width) = (Tally::default(), self.dem.size().0);
        let make = |part: &Part, heights: &[f32]| {
            let made = part.make((heights, &self.dem.lie), params, self.device)?;
            tally.add(part.first_row(), &made, width);
            Ok(made)
        };
        self.fill(progress, make, |whole, fill| whole.write(self.output, self.name, fill))?;
        Ok(tally)
    }

    /// Draws colours and writes them.
    ///
    /// # Errors
    /// The errors of [`numbers`](Self::numbers).
    pub fn colours(
        &self,
        (drawing, method): (&Drawing, &MethodArgs),
        progress: &dyn Progress,
    ) -> Result<()> {
        let make = |part: &Part, heights: &[f32]| {
            let how = (self.name, method);
            let colours = drawing.draw(part, (heights, &self.dem.lie), how, self.device)?;
            Ok(colours.into_flattened())
        };
        self.fill(progress, make, |whole, fill| whole.write_colours(self.output, self.name, fill))
    }

    /// Lets `write` take rows that `make` makes of the heights of their window.
    fn fill<T: Copy>(
        &self,
        progress: &dyn Progress,
        mut make: impl FnMut(&Part, &[f32]) -> Result<Vec<T>>,
        write: impl FnOnce(&Whole, &mut FillRows<T>) -> Result<()>,
    ) -> Result<()> {
        let Self { dem, how, .. } = self;
        let (width, height) = dem.size();
        let mut strip = Strip::new(dem);
        strip.require_first()?;
        let per_row = if self.name.kind() == Kind::Colours { 4 * width } else { width };
        let mut rows_of = |rows: Range<usize>| -> Result<Vec<T>> {
            progress.at("rows", rows.start as f64 / height as f64)?;
            let part = Part::new((width, height), rows, 0..width);
            let made = make(&part, strip.rows(part.window().0)?);
            made.with_context(|| dem.path().display().to_string())
        };
        // The writer knows its own errors alone.
        let mut failed = None;
        let mut fill =
            |first: usize, rows: &mut [T]| match rows_of(first..first + rows.len() / per_row) {
                Ok(made) => {
                    rows.copy_from_slice(&made);
                    Ok(())
                }
                Err(error) => {
                    failed = Some(error);
                    Err(geo_io::Error::Cancelled)
                }
            };
        let whole = Whole { place: &dem.lie.place, size: (width as u32, height as u32), how };
        let written = write(&whole, &mut fill);
        match failed {
            Some(error) => Err(error.context(self.name.option())),
            None => written,
        }
    }
}
