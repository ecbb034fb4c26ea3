//! Making a plan.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use geo_io::{Crs, Header, Output};
use gpu_core::{Bounds, GridSpec};
use nni_grid::Duplicates;
use programs::cloud::{require_same_crs, step_of_heights};
use programs::report::Report;
use programs::scale::{folder_name, name, report_reading, stamp};
use programs::stages::Stages;
use programs::units;
use serde_json::json;
use tile_plan::{Input, Params, Plan, Reach};

use crate::args::PlanArgs;
use crate::extent::{FARTHEST, snapped, too_large};
use crate::scale::Planned;
use crate::scale::needs::Kind;
use crate::scale::recipe::Recipe;

/// Reads headers, divides the DEM and writes the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    args.surface.check()?;
    let paths = args.points.files()?;
    ensure!(!paths.is_empty(), "a plan needs point files: give at least one");
    let has_stream = paths.iter().any(|path| path.as_os_str() == "-");
    ensure!(!has_stream, "a plan needs files, not standard input");
    geo_io::check_distinct(&paths, &[&args.output])?;
    let output = Output { path: &args.output, existing: args.run.existing() };
    geo_io::check_output(output)?;
    let mut stages = Stages::new(args.run.quiet);
    let survey = stages.run("headers", |_| Survey::read(&paths, args))?;
    let plan = stages.run("divide", |_| survey.plan(args))?;
    stages.run("write", |_| {
        geo_io::write_file(output, |file| file.write_all(plan.to_json().as_bytes()))
    })?;
    report(args, &plan, &survey, &stages);
    Ok(())
}

/// What the headers of the inputs say.
struct Survey {
    inputs: Vec<Input>,
    heights: [f64; 2],
    crs: Option<Crs>,
}

impl Survey {
    /// Reads headers; of tables, which have none, all points.
    fn read(paths: &[PathBuf], args: &PlanArgs) -> Result<Self> {
        let given = args.points.crs()?;
        let is_ordered = matches!(args.surface.duplicates, Duplicates::First | Duplicates::Last);
        let mut inputs = Vec::new();
        let mut heights: Option<[f64; 2]> = None;
        let mut first: Option<(&Path, Option<Crs>)> = None;
        for (i, path) in paths.iter().enumerate() {
            // Before it is read: where it changes meanwhile a tile's job sees that.
            let about = stamp(path)?;
            let header = header(path, args)?;
            if given.is_none() {
                let (other, crs) = first.get_or_insert((path, header.crs.clone()));
                require_same_crs((other, crs.as_ref()), (path, header.crs.as_ref()))?;
            }
            heights = match (heights, header.heights) {
                (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].max(b[1])]),
                (a, b) => a.or(b),
            };
            if header.points == 0 {
                continue;
            }
            let bounds = header.bounds;
            let bounds = bounds.with_context(|| {
                format!("{}: its header does not say where its points lie", path.display())
            })?;
            let rank = if is_ordered { i as u32 } else { 0 };
            let input = Input::new(name(path)?).bounds(bounds).points(header.points);
            inputs.push(input.stamp(about).rank(rank));
        }
        ensure!(!inputs.is_empty(), "the input has no points");
        let heights = heights.context(
            "the headers do not say between which heights the points lie: a tile cannot know",
        )?;
        let [low, high] = heights;
        ensure!(
            step_of_heights(heights).is_some(),
            "heights from {low} to {high}, as the headers have them, are too far apart for tiles with the bits of \
             the whole"
        );
        Ok(Self { inputs, heights, crs: given.or(first.and_then(|(_, crs)| crs)) })
    }

    fn plan(&self, args: &PlanArgs) -> Result<Plan> {
        let grid = self.grid(args)?;
        let recipe = Recipe::new(&args.points, &args.surface, self.heights, self.crs.as_ref())?;
        let (method, supersample) = (args.surface.method, args.surface.supersample);
        let kind = Kind { method, supersample };
        let params = Params::new(grid, args.budget.share()?, kind.model())
            .device_model(kind.on_device())
            .device_budget(args.budget.device_memory)
            .ends_at_grid(args.points.bounds.is_none())
            .most_side(args.budget.tile_size)
            .program(Planned::held(recipe, args.budget.memory)?);
        let reaches = args.surface.reaches();
        let params = reaches
            .iter()
            .fold(params, |params, &(name, cells)| params.reach(name, Reach::Cells(cells)));
        tile_plan::plan(&self.inputs, &params).map_err(|error| match error {
            tile_plan::Error::Unbounded { .. } => {
                anyhow!("{error}; a DEM in tiles needs --query-radius and --site-radius in cells")
            }
            _ => args.budget.explain(error),
        })
    }

    /// The whole grid: over `--bounds`, or over the bounds of the headers.
    fn grid(&self, args: &PlanArgs) -> Result<GridSpec> {
        let all = self.inputs.iter().filter_map(|input| input.bounds);
        let all = all.reduce(|a, b| Bounds {
            min_x: a.min_x.min(b.min_x),
            min_y: a.min_y.min(b.min_y),
            max_x: a.max_x.max(b.max_x),
            max_y: a.max_y.max(b.max_y),
        });
        let all = all.context("the input has no points")?;
        let cell = match args.surface.resolution {
            Some(cell) => cell,
            None => units::default_resolution(self.crs.as_ref())?,
        };
        let grid = match args.points.bounds {
            Some(extent) => snapped(extent.0, cell),
            None => GridSpec::covering(all, cell),
        };
        let grid = grid.map_err(|error| too_large(cell, error))?;
        if args.surface.resolution.is_none() && args.points.bounds.is_none() {
            let points: u64 = self.inputs.iter().map(|input| input.points).sum();
            units::check_default(&grid, &all, points as usize)?;
        }
        let b = grid.bounds();
        let farthest = [b.min_x, b.min_y, b.max_x, b.max_y].map(|v| (v / cell).abs());
        if farthest.into_iter().any(|cells| cells > FARTHEST) {
            bail!("--resolution {cell}: cells this small have no exact place in these coordinates");
        }
        Ok(grid)
    }
}

/// What a header says, or what a table has.
fn header(path: &Path, args: &PlanArgs) -> Result<Header> {
    if let Some(header) = geo_io::read_header(path)? {
        return Ok(header);
    }
    let (filter, columns) = (args.points.filter(None), args.points.columns.names());
    let cloud = geo_io::read_points(path, &filter, &columns, &())?;
    let (points, bounds) = (cloud.len() as u64, Bounds::of(&cloud.x, &cloud.y));
    Ok(Header { points, bounds, heights: cloud.heights, crs: cloud.crs })
}

fn report(args: &PlanArgs, plan: &Plan, survey: &Survey, stages: &Stages) {
    let mut report = Report::default();
    let (grid, tiles) = (plan.grid(), plan.tiles());
    let points: u64 = survey.inputs.iter().map(|input| input.points).sum();
    let files = survey.inputs.len();
    report.line("inputs", format_args!("{files} files, {points} points"));
    report.field("inputs", files);
    report.field("points", points);
    report.crs(survey.crs.as_ref());
    let (width, height, cell) = (grid.width, grid.height, grid.cell_size);
    report.line("dem", format_args!("{width} x {height} cells of {cell}"));
    let b = grid.bounds();
    report.line("extent", format_args!("{} {} to {} {}", b.min_x, b.min_y, b.max_x, b.max_y));
    let bounds = [b.min_x, b.min_y, b.max_x, b.max_y];
    let dem = json!({"width": width, "height": height, "cell_size": cell, "bounds": bounds});
    report.field("dem", dem);
    let (count, halo) = (tiles.len(), plan.halo());
    let bytes = tiles.iter().map(|tile| tile.bytes).max().unwrap_or(0);
    let on_device = tiles.iter().map(|tile| tile.device_bytes).max().unwrap_or(0);
    let last = count.max(1) - 1;
    report.line(
        "tiles",
        format_args!("{count}, from 0 to {last}; {halo} cells around each are read"),
    );
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let each = format_args!(
        "{} MiB a tile at most, estimated, of a card {} MiB",
        mib(bytes),
        mib(on_device)
    )
    .to_string();
    report.line("memory", each);
    let sizes = json!({"count": count, "halo": halo, "bytes": bytes, "device_bytes": on_device});
    report.field("tiles", sizes);
    report_reading::<Recipe>(plan, &mut report);
    let exactness = match args.surface.is_exact_in_parts() {
        true => "the bits of one run",
        false => "the heights of one run to rounding; --method pixels gives its bits",
    };
    report.line("mosaic", exactness);
    report.field("exact", args.surface.is_exact_in_parts());
    report.field("folder", folder_name(plan));
    report.stages(stages.done());
    report.written([&args.output]);
    report.print(&args.run, false);
}
