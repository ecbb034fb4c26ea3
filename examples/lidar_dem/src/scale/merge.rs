//! Putting tiles together.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use geo_io::{Georeference, Output, RasterFile};
use programs::args::Format;
use programs::report::Report;
use programs::stages::Stages;
use serde_json::json;

use crate::args::MergeArgs;
use crate::scale::Planned;

/// Writes the DEM of all tiles, some rows at a time.
pub fn merge(args: &MergeArgs) -> Result<()> {
    Format::of("--output", &args.output, &[Format::GeoTiff])?;
    let planned = Planned::read(&args.plan)?;
    let output = Output { path: &args.output, existing: args.run.existing() };
    geo_io::check_distinct(std::slice::from_ref(&args.plan), &[&args.output])?;
    geo_io::check_output(output)?;
    let mut stages = Stages::new(args.run.quiet);
    stages.run("look", |_| require_all(&planned))?;
    let grid = *planned.plan.grid();
    let crs = planned.recipe.crs()?;
    let place = Georeference::of_grid(&grid, crs.as_ref());
    let size = (grid.width, grid.height);
    let mut mosaic = Mosaic { planned: &planned, open: HashMap::new() };
    stages.run("merge", |_| {
        let options = args.raster.options();
        let mut fill = |first: usize, rows: &mut [f32]| mosaic.fill(first, rows);
        geo_io::write_tiff_rows(output, &place, size, args.raster.nodata, &options, &mut fill)
    })?;
    let mut report = Report::default();
    let tiles = planned.plan.tiles().len();
    let (width, height, cell) = (grid.width, grid.height, grid.cell_size);
    report.line("dem", format_args!("{width} x {height} cells of {cell}, of {tiles} tiles"));
    report.field("dem", json!({"width": width, "height": height, "cell_size": cell}));
    report.field("tiles", tiles);
    report.crs(crs.as_ref());
    report.stages(stages.done());
    report.written([&args.output]);
    report.print(&args.run, false);
    Ok(())
}

/// Refuses a plan of which tiles are missing or are not its own.
fn require_all(planned: &Planned) -> Result<()> {
    let numbers = 0..planned.plan.tiles().len();
    let missing: Vec<usize> =
        numbers.clone().filter(|&number| !planned.path_of(number).is_file()).collect();
    if let Some(&first) = missing.first() {
        let (count, all) = (missing.len(), numbers.len());
        let path = planned.path_of(first);
        ensure!(
            count == 1,
            "{count} of {all} tiles are missing, the first is {}: lidar_dem run makes them",
            path.display()
        );
        anyhow::bail!("tile {first} is missing, {}: lidar_dem run makes it", path.display());
    }
    for number in numbers {
        planned.open(number)?;
    }
    Ok(())
}

/// The tiles, as one raster.
struct Mosaic<'a> {
    planned: &'a Planned,
    /// The files of the tiles that the last rows touched.
    open: HashMap<usize, RasterFile>,
}

impl Mosaic<'_> {
    /// Fills whole rows of the grid.
    fn fill(&mut self, first: usize, rows: &mut [f32]) -> geo_io::Result<()> {
        let plan = &self.planned.plan;
        let width = plan.grid().width as usize;
        let end = first + rows.len() / width;
        let touched = |tile: &tile_plan::Tile| {
            let (top, bottom) = (tile.row as usize, (tile.row + tile.height) as usize);
            (top < end && bottom > first).then_some(first.max(top)..end.min(bottom))
        };
        self.open.retain(|&number, _| touched(&plan.tiles()[number]).is_some());
        for (number, tile) in plan.tiles().iter().enumerate() {
            let Some(common) = touched(tile) else { continue };
            let file = match self.open.entry(number) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(RasterFile::open(&self.planned.path_of(number))?)
                }
            };
            let values = file.rows(common.start - tile.row as usize, common.len())?;
            let left = tile.column as usize;
            for (row, line) in common.zip(values.chunks_exact(tile.width as usize)) {
                let start = (row - first) * width + left;
                rows[start..start + line.len()].copy_from_slice(line);
            }
        }
        Ok(())
    }
}
