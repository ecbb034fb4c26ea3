//! Surfaces in tiles: a GeoTIFF of f32 for each band of each tile, and one for the whole.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use geo_io::{Bands, Cells, Crs, Georeference, Output, RasterFile, TiffOptions, ZarrTiles};
use serde_json::json;
use tile_plan::Tile;

use super::{MergeArgs, Mosaic, Planned, Recipe, part, require_whole};
use crate::args::Format;
use crate::report::Report;
use crate::stages::Stages;
use crate::tally::Tally;

/// A recipe whose tiles are surfaces.
pub trait SurfaceRecipe: Recipe {
    /// The name of the whole in the report.
    const WHOLE: &'static str;

    /// What the report calls the values of the first band if it has no description.
    const QUANTITY: &'static str;

    /// The coordinate system.
    ///
    /// # Errors
    /// The recipe was changed by hand.
    fn crs(&self) -> Result<Option<Crs>>;

    /// The descriptions of its bands, one at least.
    ///
    /// # Errors
    /// The recipe was changed by hand.
    fn bands(&self) -> Result<Vec<String>> {
        Ok(vec![String::new()])
    }
}

/// Writes the surface of all tiles, some rows at a time.
///
/// # Errors
/// A tile is missing or not the plan's, or the output cannot be written.
pub fn merge_surface<R: SurfaceRecipe>(args: &MergeArgs) -> Result<()> {
    let format = Format::of("--output", &args.output, &Format::BANDS)?;
    args.raster.check([&args.output])?;
    let planned = Planned::<R>::read(&args.plan)?;
    planned.require_files()?;
    let output = Output { path: &args.output, existing: args.run.existing() };
    planned.check_distinct(&args.plan, &[&args.output])?;
    geo_io::check_output(output)?;
    let mut stages = Stages::new(args.run.quiet);
    let tiles = planned.plan.tiles().len();
    stages.run("look", |_| -> Result<()> {
        require_whole(&planned)?;
        (0..tiles).try_for_each(|number| planned.open_surface(number))
    })?;
    let grid = *planned.plan.grid();
    let crs = planned.recipe.crs()?;
    let place = Georeference::of_grid(&grid, crs.as_ref());
    let size = (grid.width, grid.height);
    let names = planned.recipe.bands()?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let open = |band: usize| {
        let planned = &planned;
        move |number| RasterFile::open(&planned.path_of(number, &end_of(band)))
    };
    let open: Vec<_> = (0..names.len()).map(open).collect();
    let mut mosaics: Vec<_> = open.iter().map(|open| Mosaic::new(&planned.plan, open)).collect();
    let mut tallies: Vec<_> = names.iter().map(|_| Tally::default()).collect();
    stages.run("merge", |_| {
        let options = args.raster.options();
        let bands = Bands { names: &names, nodata: args.raster.nodata };
        let width = grid.width as usize;
        let mut bands_of: Vec<_> = mosaics.iter_mut().zip(&mut tallies).collect();
        let mut fill =
            |first: usize, rows: &mut [f32]| fill_bands(&mut bands_of, (first, width), rows);
        match format {
            Format::Zarr => {
                geo_io::write_zarr_rows(output, &place, size, &bands, &options, &mut fill)
            }
            _ => geo_io::write_tiff_rows(output, &place, size, &bands, &options, &mut fill),
        }
    })?;
    let mut report = Report::default();
    let (width, height, cell) = (grid.width, grid.height, grid.cell_size);
    report.line(R::WHOLE, format_args!("{width} x {height} cells of {cell}, of {tiles} tiles"));
    report.field(R::WHOLE, json!({"width": width, "height": height, "cell_size": cell}));
    report.field("tiles", tiles);
    for (tally, name) in tallies.iter().zip(names) {
        tally.report(&mut report, if name.is_empty() { R::QUANTITY } else { name }, None);
    }
    report.crs(crs.as_ref());
    report.stages(&stages);
    report.rasters_written([&args.output], crs.as_ref());
    report.print(&args.run);
    Ok(())
}

/// Fills whole rows of the grid, from `first` on, with the numbers of all bands, cell by cell, and counts them.
fn fill_bands(
    bands: &mut [(&mut Mosaic<RasterFile>, &mut Tally)],
    (first, width): (usize, usize),
    rows: &mut [f32],
) -> geo_io::Result<()> {
    if let [(mosaic, tally)] = bands {
        mosaic.fill(first, rows)?;
        tally.add(first, rows, width);
        return Ok(());
    }
    let count = bands.len();
    let mut of_band = vec![f32::NAN; rows.len() / count];
    for (band, (mosaic, tally)) in bands.iter_mut().enumerate() {
        mosaic.fill(first, &mut of_band)?;
        tally.add(first, &of_band, width);
        let numbers = rows.iter_mut().skip(band).step_by(count);
        numbers.zip(&of_band).for_each(|(number, value)| *number = *value);
    }
    Ok(())
}

/// The end of the name of the file of a tile's band.
fn end_of(band: usize) -> String {
    if band == 0 { ".tif".to_owned() } else { format!(".{band}.tif") }
}

impl<R: SurfaceRecipe> Planned<R> {
    /// The files of a tile, one for each band; only the first if somebody changed the recipe by hand.
    pub fn surface_paths(&self, number: usize) -> Vec<PathBuf> {
        if let (Ok(Some(store)), Ok(tile)) = (self.surface_store(), self.tile(number)) {
            return store.files(part(tile));
        }
        let bands = self.recipe.bands().map_or(1, |bands| bands.len());
        (0..bands).map(|band| self.path_of(number, &end_of(band))).collect()
    }

    /// Whether the files of a tile are there, are the plan's, and have the contents that were written.
    pub fn has_surface(&self, number: usize) -> bool {
        self.open_surface(number).is_ok() && self.check_sums(number).is_ok()
    }

    /// Writes the values of a tile, row by row for each band.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn write_surface(&self, number: usize, bands: &[Vec<f32>]) -> Result<()> {
        let tile = self.tile(number)?;
        if let Some(store) = self.surface_store()? {
            store.begin()?;
            for (band, values) in bands.iter().enumerate() {
                store.write(band, part(tile), values)?;
            }
            return self.write_sums(number);
        }
        let (place, size) = (self.surface_place(tile)?, (tile.width, tile.height));
        for (values, path) in bands.iter().zip(self.surface_paths(number)) {
            let cells = Cells::Values { values, nodata: f32::NAN };
            geo_io::write_tiff(Output::from(&path), &place, size, cells, &TiffOptions::default())?;
        }
        self.write_sums(number)
    }

    /// Opens the files of a tile, whose sizes and places must be the tile's.
    fn open_surface(&self, number: usize) -> Result<()> {
        if let Some(store) = self.surface_store()? {
            ensure!(store.has_begun(), "tile {number} is missing");
            return Ok(());
        }
        let place = self.surface_place(self.tile(number)?)?;
        let bands = self.recipe.bands()?.len();
        (0..bands).try_for_each(|band| self.open(number, &end_of(band), &place).map(drop))
    }

    /// The store that tiles are chunks of, if they are.
    fn surface_store(&self) -> Result<Option<ZarrTiles>> {
        let (crs, names) = (self.recipe.crs()?, self.recipe.bands()?);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.store(&Georeference::of_grid(self.plan.grid(), crs.as_ref()), &names)
    }

    /// Where a tile lies.
    fn surface_place(&self, tile: &Tile) -> Result<Georeference> {
        let crs = self.recipe.crs()?;
        Ok(Georeference::of_grid(&self.plan.grid_of(tile), crs.as_ref()))
    }
}
