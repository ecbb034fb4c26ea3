//! Making a plan. The program reads the DEM's header. It also reads all heights if colours depend on their range, for
//! contour lines, or if their type has numbers that 32-bit floats do not hold.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use gpu_core::{GridSpec, Progress};
use programs::args::ending;
use programs::inputs::Files;
use programs::report::{Report, note_on_zarr};
use programs::scale::{Planning, folder_name, name, stamp};
use serde_json::json;
use tile_plan::{Input, Plan, Reach};

use super::args::PlanArgs;
use super::recipe::Recipe;
use crate::choices::{Kind, Name};
use crate::dem::{Dem, HALO};

/// The most cells on a side of a tile: more than terrain-grid takes are in no square of this side and its halo.
const MOST_SIDE: u32 = 65_000;

/// Reads the DEM's size, place and units, divides the raster and writes the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    let files = Files::one_raster(&args.dem, &args.catalogues)?;
    let path = &files.paths[0];
    let of = ending(path);
    ensure!(
        !["npz", "png"].contains(&&of[..]),
        "{}: a tile reads a part of the file, but a .{of} is compressed as a whole: give a .npy, \
         .tif, .vrt, .asc or .zarr",
        path.display()
    );
    let products: Vec<Name> =
        Name::ALL.into_iter().filter(|name| args.product.contains(name)).collect();
    args.method.check(&products)?;
    args.drawing.check(&products)?;
    let drawn = products.iter().find(|name| name.kind() != Kind::Numbers);
    if let (Some(path), Some(name)) = (&args.store.zarr, drawn) {
        let (path, name) = (path.display(), name.word());
        bail!("--zarr {path}: {name} is not a raster of numbers: plan it without --zarr");
    }
    let mut read = files.read();
    read.extend(args.drawing.colours.iter().cloned());
    let mut planning = Planning::begin(&read, &args.output, &args.run)?;
    let (plan, dem) =
        planning.stages.run("divide", |progress| divide((args, path), products, progress))?;
    let mut report = report(&files, &plan, &dem);
    dem.note_on_lengths(args.product.iter().copied()).iter().for_each(|note| report.note(note));
    let of_zarr = note_on_zarr(args.store.zarr.as_ref(), dem.lie.place.crs.as_ref());
    of_zarr.iter().for_each(|note| report.note(note));
    planning.end(&plan, report)
}

fn divide(
    (args, path): (&PlanArgs, &Path),
    products: Vec<Name>,
    progress: &dyn Progress,
) -> Result<(Plan, Dem)> {
    // Before it is read: where it changes meanwhile a tile's job sees that.
    let about = stamp(path)?;
    let dem = Dem::open(path, args.place.cell_size)?;
    dem.require_lengths(products.iter().copied())?;
    dem.require_north_up(products.iter().copied())?;
    let (width, height) = dem.size();
    let grid = GridSpec::of_pixels(width as u32, height as u32);
    let drawing = args.drawing.of(&dem, &products, progress)?;
    if products.contains(&Name::Contours) {
        drawing.require_lines(&dem, progress).with_context(|| path.display().to_string())?;
    }
    // No tile knows the range of the whole DEM, beside which a loss shows.
    dem.measure_rounding(progress)?;
    let mut recipe = Recipe::new(products, (&args.method, drawing), &dem.lie, dem.file())?;
    recipe.zarr = args.store.planned(&args.output)?;
    let models = (recipe.model(), recipe.on_device());
    let params = args.budget.params(grid, models, recipe)?;
    let most_side = args.budget.tile_size.map_or(MOST_SIDE, |side| side.min(MOST_SIDE));
    let params = params.most_side(most_side);
    let params =
        params.ends_at_grid(true).reach("the neighbours of a cell", Reach::Cells(HALO.into()));
    let input = Input::new(name(path)?).bounds(grid.bounds()).stamp(about);
    let plan = tile_plan::plan(&[input], &params).map_err(|error| args.budget.explain(error))?;
    Ok((plan, dem))
}

fn report(files: &Files, plan: &Plan, dem: &Dem) -> Report {
    let mut report = Report::default();
    files.report(&mut report);
    crate::report_dem(&mut report, dem);
    dem.note_on_rounding().iter().for_each(|note| report.note(note));
    let (tiles, halo) = (plan.tiles(), plan.halo());
    let count = tiles.len();
    let last = count.max(1) - 1;
    report
        .line("tiles", format_args!("{count}, from 0 to {last}; {halo} cell around each is read"));
    let most = |of: fn(&tile_plan::Tile) -> u64| tiles.iter().map(of).max().unwrap_or(0);
    let (bytes, on_device) = (most(|tile| tile.bytes), most(|tile| tile.device_bytes));
    let (host, card) = (bytes.div_ceil(1 << 20), on_device.div_ceil(1 << 20));
    report
        .line("memory", format_args!("{host} MiB a tile at most, estimated, of a card {card} MiB"));
    let sizes = json!({"count": count, "halo": halo, "bytes": bytes, "device_bytes": on_device});
    report.field("tiles", sizes);
    report.field("folder", folder_name(plan));
    report
}
