//! Rasters and pictures in the formats of their names.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use geo_io::{Bands, Cells, Crs, Existing, Georeference, Output};
use gpu_core::parallel::{self, FINE};
use gpu_core::{GridSpec, Shortest};

use crate::args::{Format, RasterArgs, ending};

/// Refuses values beyond f32, in bands of cells whose centres `centre_of` gives. A band without a name has the values.
///
/// # Errors
/// In the case that the summary names.
pub fn require_finite<'a>(
    bands: impl IntoIterator<Item = (&'a String, &'a Vec<f32>)>,
    centre_of: impl Fn(usize) -> (f64, f64),
) -> Result<()> {
    for (name, band) in bands {
        if let Some(cell) = parallel::first(band.len(), FINE, |i| band[i].is_infinite()) {
            let name = if name.is_empty() { "value" } else { name };
            let (x, y) = centre_of(cell);
            let (x, y) = (Shortest(x), Shortest(y));
            bail!(
                "the {name} of the cell at {x}, {y} is beyond the range of f32, the type of the result: divide the values \
                 of the points by a number first"
            );
        }
    }
    Ok(())
}

/// Returns the centres of a grid's cells, by their number.
pub fn centres(grid: GridSpec) -> impl Fn(usize) -> (f64, f64) {
    let width = grid.width as usize;
    move |cell| grid.cell_centre((cell % width) as u32, (cell / width) as u32)
}

/// Properties that all products of a grid share.
#[derive(Clone, Copy)]
pub struct Products<'a> {
    /// Their cells.
    pub grid: &'a GridSpec,
    /// Their coordinate system.
    pub crs: Option<&'a Crs>,
    /// How they are written.
    pub how: &'a RasterArgs,
    /// What happens to output files that exist.
    pub existing: Existing,
}

impl<'a> Products<'a> {
    /// The formats of values.
    pub const VALUES: [Format; 4] = [Format::GeoTiff, Format::Zarr, Format::Npy, Format::Table];
    /// The formats of pictures.
    pub const PICTURES: [Format; 2] = [Format::Png, Format::GeoTiff];

    /// Where a product goes.
    pub fn output<'p>(&self, path: &'p Path) -> Output<'p> {
        Output { path, existing: self.existing }
    }

    fn place(&self) -> Georeference {
        Georeference::of_grid(self.grid, self.crs)
    }

    fn size(&self) -> (u32, u32) {
        (self.grid.width, self.grid.height)
    }

    /// Writes numbers.
    pub fn write_values(&self, option: &str, path: &Path, values: &[f32]) -> Result<()> {
        let (output, nodata) = (self.output(path), self.how.nodata);
        let format = Format::of(option, path, &Self::VALUES)?;
        let is_stated = format == Format::Table && ending(path) == "xyz";
        if is_stated && parallel::first(values.len(), FINE, |i| values[i] == nodata).is_some() {
            let (path, value) = (path.to_owned(), nodata);
            return Err(geo_io::Error::NodataTaken { path, value }.into());
        }
        match format {
            Format::Npy => {
                let (width, height) = (self.grid.width as usize, self.grid.height as usize);
                geo_io::write_npy(output, values, width, height)?;
            }
            Format::Table => geo_io::write_table(output, self.grid, values, nodata)?,
            Format::Zarr => {
                let (bands, options) = (Bands::one(nodata), self.how.options());
                geo_io::write_zarr(
                    output,
                    &self.place(),
                    self.size(),
                    &[values],
                    &bands,
                    &options,
                )?;
            }
            _ => {
                let cells = Cells::Values { values, nodata };
                let options = self.how.options();
                geo_io::write_tiff(output, &self.place(), self.size(), cells, &options)?;
            }
        }
        Ok(())
    }

    /// Writes numbers in bands; several bands need a GeoTIFF or Zarr. A single band without a name, or in another
    /// format, is written as by [`write_values`](Self::write_values).
    ///
    /// # Errors
    /// Another format's name, a value that is what stands for none, and the errors of writing.
    pub fn write_bands(
        &self,
        option: &str,
        path: &Path,
        names: &[String],
        bands: &[Vec<f32>],
    ) -> Result<()> {
        let format = Format::of(option, path, &Self::VALUES)?;
        if let ([name], [values]) = (names, bands)
            && (name.is_empty() || !Format::BANDS.contains(&format))
        {
            return self.write_values(option, path, values);
        }
        ensure!(
            Format::BANDS.contains(&format),
            "{option} {}: only GeoTIFF and Zarr hold several bands ({}): choose a name that ends \
             in .tif or .zarr",
            path.display(),
            names.join(", ")
        );
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let values: Vec<&[f32]> = bands.iter().map(Vec::as_slice).collect();
        let bands = Bands { names: &names, nodata: self.how.nodata };
        let (place, options, size) = (self.place(), self.how.options(), self.size());
        if format == Format::Zarr {
            return Ok(geo_io::write_zarr(
                self.output(path),
                &place,
                size,
                &values,
                &bands,
                &options,
            )?);
        }
        let cells = Cells::Bands { values: &values, bands };
        Ok(geo_io::write_tiff(self.output(path), &place, self.size(), cells, &options)?)
    }

    /// Writes brightness from 0 to 1 in grey.
    pub fn write_shade(&self, option: &str, path: &Path, brightness: &[f32]) -> Result<()> {
        let (output, (width, height)) = (self.output(path), self.size());
        match Format::of(option, path, &Self::PICTURES)? {
            Format::Png => geo_io::write_shade(output, brightness, width, height)?,
            _ => {
                let bytes = geo_io::shade_bytes(brightness);
                let (place, options) = (self.place(), self.how.options());
                geo_io::write_tiff(output, &place, self.size(), Cells::Grey(&bytes), &options)?;
            }
        }
        Ok(())
    }

    /// Writes values as colours, under this brightness.
    pub fn write_relief(
        &self,
        option: &str,
        path: &Path,
        values: &[f32],
        brightness: &[f32],
    ) -> Result<()> {
        let (output, (width, height)) = (self.output(path), self.size());
        match Format::of(option, path, &Self::PICTURES)? {
            Format::Png => geo_io::write_relief(output, values, brightness, width, height)?,
            _ => {
                let range = geo_io::finite_range(values);
                let colours = geo_io::relief_colours(values, brightness, range)?;
                let (place, options) = (self.place(), self.how.options());
                geo_io::write_tiff(
                    output,
                    &place,
                    self.size(),
                    Cells::Colours(&colours),
                    &options,
                )?;
            }
        }
        Ok(())
    }
}
