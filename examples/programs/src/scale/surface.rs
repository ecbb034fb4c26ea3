//! Surfaces in tiles: a GeoTIFF of f32 for each, and one of the whole.

use std::path::PathBuf;

use anyhow::Result;
use geo_io::{Bands, Cells, Crs, Georeference, Output, RasterFile, TiffOptions};
use serde_json::json;
use tile_plan::Tile;

use super::{Mosaic, Planned, Recipe, require_whole};
use crate::args::{Format, RasterArgs, RunArgs};
use crate::report::Report;
use crate::stages::Stages;

/// A recipe each of whose tiles is a surface.
pub trait SurfaceRecipe: Recipe {
    /// What the report calls the whole.
    const WHOLE: &'static str;

    /// The coordinate system.
    ///
    /// # Errors
    /// The recipe was changed by hand.
    fn crs(&self) -> Result<Option<Crs>>;
}

/// What is put together, and where it goes.
pub struct MergeSurface<'a> {
    /// The plan.
    pub plan: &'a PathBuf,
    /// The GeoTIFF of the whole.
    pub output: &'a PathBuf,
    /// How it is written.
    pub raster: &'a RasterArgs,
    /// What every program has.
    pub run: &'a RunArgs,
}

/// Writes the surface of all tiles, some rows at a time.
///
/// # Errors
/// A tile is missing or not the plan's, or the output cannot be written.
pub fn merge_surface<R: SurfaceRecipe>(args: &MergeSurface<'_>) -> Result<()> {
    Format::of("--output", args.output, &[Format::GeoTiff])?;
    let planned = Planned::<R>::read(args.plan)?;
    let output = Output { path: args.output, existing: args.run.existing() };
    planned.check_distinct(args.plan, &[args.output])?;
    geo_io::check_output(output)?;
    let mut stages = Stages::new(args.run.quiet);
    let tiles = planned.plan.tiles().len();
    stages.run("look", |_| -> Result<()> {
        require_whole(&planned)?;
        (0..tiles).try_for_each(|number| planned.open_surface(number).map(drop))
    })?;
    let grid = *planned.plan.grid();
    let crs = planned.recipe.crs()?;
    let place = Georeference::of_grid(&grid, crs.as_ref());
    let size = (grid.width, grid.height);
    let open = |number| RasterFile::open(&planned.surface_path(number));
    let mut mosaic = Mosaic::new(&planned.plan, &open);
    stages.run("merge", |_| {
        let (bands, options) = (Bands::one(args.raster.nodata), args.raster.options());
        let mut fill = |first: usize, rows: &mut [f32]| mosaic.fill(first, rows);
        geo_io::write_tiff_rows(output, &place, size, &bands, &options, &mut fill)
    })?;
    let mut report = Report::default();
    let (width, height, cell) = (grid.width, grid.height, grid.cell_size);
    report.line(R::WHOLE, format_args!("{width} x {height} cells of {cell}, of {tiles} tiles"));
    report.field(R::WHOLE, json!({"width": width, "height": height, "cell_size": cell}));
    report.field("tiles", tiles);
    report.crs(crs.as_ref());
    report.stages(&stages);
    report.written([args.output]);
    report.print(args.run, false);
    Ok(())
}

impl<R: SurfaceRecipe> Planned<R> {
    /// The file of a tile.
    pub fn surface_path(&self, number: usize) -> PathBuf {
        self.path_of(number, ".tif")
    }

    /// Whether the file of a tile is there, is the plan's, and has the contents that were written.
    pub fn has_surface(&self, number: usize) -> bool {
        self.open_surface(number).is_ok() && self.check_sums(number).is_ok()
    }

    /// Writes the values of a tile, row by row.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write_surface(&self, number: usize, values: &[f32]) -> Result<()> {
        let (tile, path) = (self.tile(number)?, self.surface_path(number));
        let cells = Cells::Values { values, nodata: f32::NAN };
        let (place, size) = (self.surface_place(tile)?, (tile.width, tile.height));
        geo_io::write_tiff(Output::from(&path), &place, size, cells, &TiffOptions::default())?;
        self.write_sums(number)
    }

    /// Opens the file of a tile, whose size and place must be the tile's.
    fn open_surface(&self, number: usize) -> Result<RasterFile> {
        self.open(number, &self.surface_place(self.tile(number)?)?)
    }

    /// Where a tile lies.
    fn surface_place(&self, tile: &Tile) -> Result<Georeference> {
        let crs = self.recipe.crs()?;
        Ok(Georeference::of_grid(&self.plan.grid_of(tile), crs.as_ref()))
    }
}
