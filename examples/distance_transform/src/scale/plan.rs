//! Making a plan.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use geo_io::{Georeference, MaskFile};
use gpu_core::{Bounds, GridSpec};
use programs::args::ending;
use programs::inputs::Files;
use programs::report::{Report, note_on_zarr};
use programs::scale::{Planning, folder_name, name, stamp};
use serde_json::json;
use tile_plan::{Input, Plan, Reach, Shape};

use crate::args::Spacing;
use crate::globe::OnGlobe;
use crate::scale::args::PlanArgs;
use crate::scale::recipe::Recipe;

/// Reads the mask's header, divides the raster and writes the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    let files = Files::one_raster(&args.mask, &args.catalogues)?;
    let path = &files.paths[0];
    let (mask, of) = (path.display(), ending(path));
    ensure!(
        !["npz", "png"].contains(&&of[..]),
        "{mask}: a tile reads a part of the file, but a .{of} is compressed as a whole: give a \
         .npy, .tif, .vrt, .asc or .zarr"
    );
    if let Some(path) = args.store.zarr.as_ref().filter(|_| args.nearest) {
        bail!("--zarr {}: a Zarr store holds only distances: leave out --nearest", path.display());
    }
    let mut planning = Planning::begin(&files.read(), &args.output, &args.run)?;
    let (plan, notes) = planning.stages.run("divide", |_| divide(args, path))?;
    planning.end(&plan, report((args, &files), &plan, &notes))
}

/// The plan, and what is to be said of the mask.
fn divide(args: &PlanArgs, path: &Path) -> Result<(Plan, Vec<String>)> {
    let mask = path.display();
    // Before it is read: where it changes meanwhile a tile's job sees that.
    let about = stamp(path)?;
    let file = MaskFile::open(path)?;
    let side =
        |side: usize| u32::try_from(side).with_context(|| format!("{mask}: a side of {side}"));
    let (width, height) = (side(file.size().0)?, side(file.size().1)?);
    ensure!(width > 0 && height > 0, "{mask} has no pixels ({width} x {height})");
    let grid = GridSpec::of_pixels(width, height);
    let globe = OnGlobe::of(&args.globe, path, file.georeference(), file.notes())?;
    globe.map_or(Ok(()), |globe| globe.require_tiles(path, (width, height)))?;
    let sides = crate::sides_of(path, args.sites.spacing, file.georeference(), file.notes())?;
    // Without a place of its own the raster's south-west corner is (0, 0).
    let corner = || Georeference::north_up((0.0, f64::from(height) * sides.1), sides);
    let place = file.georeference().cloned().unwrap_or_else(corner);
    let recipe = Recipe::new(args, sides, (&place, globe), &file)?;
    let (kind, limit) = (recipe.kind(&grid), recipe.max_distance);
    let params = args.budget.params(grid, (kind.model(), kind.on_device()), recipe)?;
    let params = params.ends_at_grid(true);
    let params = match limit {
        Some(most) if globe.is_none() => {
            // A pixel more, for the rounding of the limit.
            let reach = (most / sides.0.min(sides.1)).ceil() + 1.0;
            // Farther than across the raster there is no pixel.
            let reach = reach.min(f64::from(width.max(height)));
            params.reach("--max-distance", Reach::Cells(reach))
        }
        _ => params.shape(Shape::Strips),
    };
    let Bounds { min_x, min_y, max_x, max_y } = grid.bounds();
    let all = Bounds { min_x, min_y, max_x, max_y };
    let input = Input::new(name(path)?).bounds(all).stamp(about);
    let plan = tile_plan::plan(&[input], &params).map_err(|error| match error {
        tile_plan::Error::NoDistance { .. } => {
            anyhow!("--max-distance {}: {error}", limit.unwrap_or_default())
        }
        _ => args.budget.explain(error),
    })?;
    let mut notes = file.notes().to_vec();
    if !args.globe.geodesic {
        let crs = file.georeference().and_then(|place| place.crs.as_ref());
        notes.extend(crate::globe::note_on_plane(crs));
    }
    notes.extend(note_on_zarr(args.store.zarr.as_ref(), place.crs.as_ref()));
    if args.sites.spacing == Spacing::Georeference {
        notes.extend(crate::globe::notes_on_lengths(file.georeference(), (width, height)));
    }
    Ok((plan, notes))
}

fn report((args, files): (&PlanArgs, &Files), plan: &Plan, notes: &[String]) -> Report {
    let mut report = Report::default();
    files.report(&mut report);
    notes.iter().for_each(|note| report.note(note));
    let (grid, tiles, halo) = (plan.grid(), plan.tiles(), plan.halo());
    let (width, height, count) = (grid.width, grid.height, tiles.len());
    report.line("raster", format_args!("{width} x {height} pixels"));
    report.field("raster", json!({"width": width, "height": height}));
    let last = count.max(1) - 1;
    let are_strips = tiles.iter().all(|tile| tile.height == height) && halo == 0;
    match are_strips {
        false => report.line(
            "tiles",
            format_args!("{count}, from 0 to {last}; {halo} pixels around each are read"),
        ),
        true => {
            report.line("tiles", format_args!("{count} strips of columns, from 0 to {last}"));
            report.note("run distance_transform scan before run: it reads the mask once");
        }
    }
    let most = |of: fn(&tile_plan::Tile) -> u64| tiles.iter().map(of).max().unwrap_or(0);
    let (bytes, on_device) = (most(|tile| tile.bytes), most(|tile| tile.device_bytes));
    let (host, card) = (bytes.div_ceil(1 << 20), on_device.div_ceil(1 << 20));
    report
        .line("memory", format_args!("{host} MiB a tile at most, estimated, of a card {card} MiB"));
    let sizes = json!({"count": count, "halo": halo, "bytes": bytes, "device_bytes": on_device});
    report.field("tiles", sizes);
    if args.globe.geodesic {
        report.note("distances are in metres");
    } else if args.sites.spacing == Spacing::Georeference {
        report.note("distances are in the unit of the mask's coordinate system");
    }
    report.field("folder", folder_name(plan));
    report
}
