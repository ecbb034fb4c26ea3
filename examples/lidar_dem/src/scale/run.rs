//! Making tiles.
//!
//! A tile's file appears whole or not at all, and it has the same bytes whenever it is made. So a job may be
//! killed at any moment and run again, and two that make the same tile do no harm.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use geo_io::{Cells, Output, TiffOptions};
use gpu_core::{Device, Progress};
use programs::cloud::Cloud;
use programs::program;
use programs::report::Report;
use programs::stages::Stages;
use serde_json::json;
use tile_plan::Tile;

use crate::args::RunTileArgs;
use crate::extent::Extents;
use crate::interpolate;
use crate::scale::{Planned, require_unchanged};

/// Rows that are unpacked at once to see whether a file is whole.
const ROWS: usize = 256;

/// Makes one tile, or all that are not there.
pub fn run(args: &RunTileArgs) -> Result<()> {
    let planned = Planned::read(&args.plan)?;
    let count = planned.plan.tiles().len();
    let numbers = match args.tile {
        Some(number) => {
            planned.tile(number)?;
            number..number + 1
        }
        None => 0..count,
    };
    let device = Device::open(args.run.device)?;
    let mut stages = Stages::new(args.run.quiet);
    let folder = &planned.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut report = Report::default();
    report.device(&device, args.run.device);
    let (mut made, mut there, mut failed) = (Vec::new(), 0, Vec::new());
    stages.run("tiles", |progress| -> Result<()> {
        for number in numbers {
            if is_whole(&planned, number) {
                there += 1;
                continue;
            }
            match make(&planned, number, &device, progress) {
                Ok(()) => made.push(planned.path_of(number)),
                Err(error) if args.all => {
                    program::warn("lidar_dem", &anyhow!("tile {number}: {error:#}"));
                    failed.push(number);
                }
                Err(error) => return Err(error.context(format!("tile {number}"))),
            }
        }
        Ok(())
    })?;
    if !failed.is_empty() {
        let (bad, good) = (failed.len(), count - failed.len());
        bail!(
            "{bad} of {count} tiles failed: {failed:?}; the other {good} are there, run it again"
        );
    }
    report.line("tiles", format_args!("{} made, {there} were there", made.len()));
    report.field("tiles", json!({"made": made.len(), "there": there}));
    report.stages(stages.done());
    report.written(&made);
    report.print(&args.run, false);
    Ok(())
}

/// Whether a tile's file is there, and is what it is to be: its size, its place, and every value can be unpacked.
fn is_whole(planned: &Planned, number: usize) -> bool {
    let Ok(file) = planned.open(number) else { return false };
    let height = file.size().1;
    (0..height).step_by(ROWS).all(|first| file.rows(first, ROWS.min(height - first)).is_ok())
}

/// Makes a tile and writes it.
fn make(planned: &Planned, number: usize, device: &Device, progress: &dyn Progress) -> Result<()> {
    let tile = planned.tile(number)?;
    planned.plan.inputs_of(tile).try_for_each(require_unchanged)?;
    let mut cloud = read(planned, tile, progress)?;
    // What was read is what was planned with, even where a file was replaced meanwhile.
    planned.plan.inputs_of(tile).try_for_each(require_unchanged)?;
    let values = match cloud.x.is_empty() {
        true => vec![f32::NAN; tile.width as usize * tile.height as usize],
        false => heights(planned, tile, &mut cloud, device, progress)?,
    };
    let path = planned.path_of(number);
    let cells = Cells::Values { values: &values, nodata: f32::NAN };
    let (place, size) = (planned.place_of(tile)?, (tile.width, tile.height));
    geo_io::write_tiff(Output::from(&path), &place, size, cells, &TiffOptions::default())?;
    Ok(())
}

/// The points that count.
fn read(planned: &Planned, tile: &Tile, progress: &dyn Progress) -> Result<Cloud> {
    let recipe = &planned.recipe;
    let paths: Vec<PathBuf> =
        planned.plan.inputs_of(tile).map(|input| Path::new(&input.path).to_owned()).collect();
    let filter = recipe.filter(tile.read)?;
    // One system was settled on for all inputs.
    let crs = recipe.crs()?;
    let mut cloud = Cloud::read_some(&paths, &filter, &recipe.columns(), crs, progress)?;
    cloud.range = Some(recipe.heights);
    Ok(cloud)
}

/// The heights of a tile that some points reach.
fn heights(
    planned: &Planned,
    tile: &Tile,
    cloud: &mut Cloud,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Vec<f32>> {
    let [low, high] = planned.recipe.heights;
    let range = cloud.settle_heights().with_context(|| {
        format!(
            "a point lies outside the heights {low} to {high} that the headers of the inputs state"
        )
    })?;
    let extents = Extents::around(planned.plan.grid_of(tile), margins(planned, tile))?;
    let surface = planned.recipe.surface()?;
    let mut dem = interpolate(device, cloud, Some(range), extents, &surface, progress)?;
    Ok(dem.values.remove(0).into_values())
}

/// Cells around a tile over which it is made: the halo, as far as there is ground.
fn margins(planned: &Planned, tile: &Tile) -> [f64; 4] {
    let (grid, halo) = (planned.plan.grid(), planned.plan.halo());
    let beyond = match planned.recipe.ends_at_grid {
        true => [
            tile.column,
            tile.row,
            grid.width - tile.column - tile.width,
            grid.height - tile.row - tile.height,
        ],
        false => [u32::MAX; 4],
    };
    beyond.map(|cells| f64::from(cells.min(halo)))
}
