//! The bins of a plan: a copy of its points in which each tile finds its own points quickly.
//!
//! A tile that reads the inputs must decompress each file that it touches. Bins are made in one pass over all inputs.
//! From the bins a tile reads little more than its own points. They have the order of the inputs, so the tile has the
//! same bits. The bins lie in the folder `bins-ID` beside the plan until the user removes them. A job that was killed
//! continues after its last complete file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use geo_io::{BinSpec, BinWriter, Filter, MultiFileReader, PointCloud, remove_bins};
use gpu_core::{Bounds, Progress, host_memory};
use serde_json::json;
use tile_plan::{Input, Plan};

use super::headers::joined;
use super::points::{PointRecipe, bounds_of};
use super::{BinArgs, FIXED, Planned, Recipe, require_unchanged};
use crate::report::Report;
use crate::stages::Stages;

/// The share of the memory that points take while they wait for their bins; the rest is the reader's.
const WAITING: (u64, u64) = (3, 4);

/// Bytes of a point that waits ([`BinWriter::open`]), and of each further value.
const A_POINT: (u64, u64) = (32, 8);

/// Bytes of the reader's memory for each point that it reads at once.
const A_POINT_READ: u64 = 150;

/// Points that a reader of one input reads at once, at least and at most.
const READ_AT_ONCE: (u64, u64) = (1 << 13, 1 << 22);

/// Makes the missing bins of a plan, or removes all bins.
///
/// # Errors
/// The plan or an input is damaged, or a file cannot be written; the error names the file.
pub fn bin<R: PointRecipe>(args: &BinArgs) -> Result<()> {
    let planned = Planned::<R>::read(&args.plan)?;
    if args.remove {
        return remove(&planned, args);
    }
    let folder = &planned.bins;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let spec = spec(&planned);
    // Where the plan has none, half of what is free: what is binned stays in the system's cache of files.
    let memory = planned.memory.or_else(|| host_memory::available().map(|free| free / 2));
    let memory = memory.unwrap_or(0).saturating_sub(FIXED);
    let waiting = memory / WAITING.1 * WAITING.0;
    // A run is a part, where tiles read these: so each reads no other.
    let a_point = A_POINT.0 + A_POINT.1 * (spec.values as u64 - 1);
    let part = planned.recipe.points_of_part().map_or(u64::MAX, |p| p.saturating_mul(a_point));
    let waiting = waiting.min(part);
    let mut writer =
        BinWriter::open(folder, &spec, waiting).map_err(|error| planned.with_mend(error.into()))?;
    let before = writer.points();
    let mut stages = Stages::new(args.run.quiet);
    stages
        .run("bin", |progress| {
            fill(&planned, &mut writer, memory - waiting, progress)?;
            let points = writer.points();
            writer.finish()?;
            Ok::<_, anyhow::Error>(points)
        })
        .map_err(|error| two_at_once(R::PROGRAM, error))
        .map(|points| report(args, &spec, folder, [before, points], &stages))
}

/// What an error of writing says where a file of bins that was missing is there: another job writes the same.
fn two_at_once(program: &str, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<geo_io::Error>() {
        Some(geo_io::Error::Exists { path }) => anyhow!(
            "another {program} bin of this plan has written {} at the same time: when it has \
             ended, run this again to complete the bins",
            path.display()
        ),
        _ => error,
    }
}

/// What bins are of: all points of the plan's ground, whatever their tile.
fn spec<R: PointRecipe>(planned: &Planned<R>) -> BinSpec {
    let plan = &planned.plan;
    let points = plan.inputs().iter().map(|input| input.points).fold(0, u64::saturating_add);
    let beyond = bounds_of(plan).filter(|_| planned.recipe.reads_beyond());
    let ground = ground(plan);
    let has_rows = planned.recipe.first_rows().is_some();
    let values = 1 + planned.recipe.columns().values.len() + usize::from(has_rows);
    BinSpec::new(&planned.id, beyond.map_or(ground, |all| joined(all, ground)), points)
        .values(values)
}

/// The ground of all tiles.
fn ground(plan: &Plan) -> Bounds {
    plan.tiles().iter().map(|tile| tile.read).fold(plan.grid().bounds(), joined)
}

/// Reads the inputs in their order, from where the bins end on: small ones several at once, of others some points at a
/// time.
fn fill<R: PointRecipe>(
    planned: &Planned<R>,
    writer: &mut BinWriter,
    memory: u64,
    progress: &dyn Progress,
) -> Result<()> {
    if writer.is_whole() {
        return Ok(());
    }
    let room = memory / A_POINT_READ;
    let small = room / rayon::current_num_threads() as u64;
    let begin = writer.position();
    let rest =
        usize::try_from(begin.input).ok().and_then(|first| planned.plan.inputs().get(first..));
    let mut rest = rest.with_context(|| {
        format!(
            "{} has points beyond the last input of the plan: remove it with --remove, and begin \
             again",
            planned.bins.display()
        )
    })?;
    let mut done = begin.kept;
    let inputs = planned.plan.inputs().len();
    while let Some(first) = rest.first() {
        let number = inputs - rest.len();
        let is_small = |input: &&Input| input.points <= small;
        let count = if done > 0 { 0 } else { rest.iter().take_while(is_small).count() };
        match count {
            0 | 1 => read_input(planned, (number, first), (writer, done), room, progress)?,
            _ => read_small(planned, (number, &rest[..count]), writer, progress)?,
        }
        rest = &rest[count.max(1)..];
        done = 0;
    }
    Ok(())
}

/// Puts the points of an input into bins, but for the first `done`, which lie there.
fn read_input<R: PointRecipe>(
    planned: &Planned<R>,
    (number, input): (usize, &Input),
    (writer, mut done): (&mut BinWriter, u64),
    room: u64,
    progress: &dyn Progress,
) -> Result<()> {
    require_unchanged(input)?;
    let (recipe, path) = (&planned.recipe, Path::new(&input.path));
    let (filter, row) = (filter(planned)?, first_row(planned, number)?);
    let most = room.clamp(READ_AT_ONCE.0, READ_AT_ONCE.1) as usize;
    geo_io::read_batches(path, &filter, &recipe.columns(), most, progress, &mut |cloud| {
        let first = done.min(cloud.len() as u64) as usize;
        done -= first as u64;
        push(writer, cloud, first, row)
    })?;
    end(planned, input, writer)
}

/// Puts the points of inputs into bins, several of which are read at the same time.
fn read_small<R: PointRecipe>(
    planned: &Planned<R>,
    (first, inputs): (usize, &[Input]),
    writer: &mut BinWriter,
    progress: &dyn Progress,
) -> Result<()> {
    inputs.iter().try_for_each(require_unchanged)?;
    let (filter, columns) = (filter(planned)?, planned.recipe.columns());
    let paths: Vec<PathBuf> = inputs.iter().map(|input| PathBuf::from(&input.path)).collect();
    let mut inputs = (first..).zip(inputs);
    MultiFileReader::new(&filter, &columns).within_headers().read(&paths, progress, |_, cloud| {
        let Some((number, input)) = inputs.next() else { return Ok(()) };
        push(writer, &cloud, 0, first_row(planned, number)?)?;
        end(planned, input, writer)
    })
}

/// Which points are kept, and whether they are numbered.
fn filter<R: PointRecipe>(planned: &Planned<R>) -> Result<Filter> {
    let numbered = planned.recipe.first_rows().is_some();
    Ok(Filter { numbered, ..planned.recipe.filter(kept_ground(planned))? })
}

/// The number of the first row of an input, where points are numbered.
fn first_row<R: PointRecipe>(planned: &Planned<R>, input: usize) -> Result<u64> {
    let rows = planned.recipe.first_rows();
    rows.map_or(Ok(0), |rows| rows.get(input).copied().context("this plan is damaged"))
}

/// Puts points into bins, from the one of a number on; with the numbers of their rows, the first of which is `row`, if
/// they have any.
fn push(writer: &mut BinWriter, cloud: &PointCloud, first: usize, row: u64) -> geo_io::Result<()> {
    let number = |&number: &u32| (row + u64::from(number)) as f64;
    let rows = cloud.numbers.iter().map(|rows| rows[first..].iter().map(number).collect());
    let rows: Vec<Vec<f64>> = rows.collect();
    let values = std::iter::once(&cloud.z).chain(&cloud.values).map(|column| &column[first..]);
    let values: Vec<&[f64]> = values.chain(rows.iter().map(|rows| &rows[..])).collect();
    writer.push(&cloud.x[first..], &cloud.y[first..], &values)
}

/// The ground whose points are kept: all, where tiles may need points beyond their own.
fn kept_ground<R: PointRecipe>(planned: &Planned<R>) -> Option<Bounds> {
    (!planned.recipe.reads_beyond()).then(|| ground(&planned.plan))
}

/// All points of an input are in bins.
fn end<R: Recipe>(planned: &Planned<R>, input: &Input, writer: &mut BinWriter) -> Result<()> {
    if let Err(error) = require_unchanged(input) {
        // Points of another file may be among them.
        remove_bins(&planned.bins)?;
        return Err(error);
    }
    writer.next_input();
    Ok(())
}

fn report(
    args: &BinArgs,
    spec: &BinSpec,
    folder: &Path,
    [before, points]: [u64; 2],
    stages: &Stages,
) {
    let mut report = Report::default();
    let bytes = spec.bytes(points);
    let new = points - before;
    report.line("points", format_args!("{new} put into bins, {before} were there"));
    report.field("points", json!({"binned": new, "there": before}));
    report.line("disk", format_args!("{} MiB", bytes.div_ceil(1 << 20)));
    report.field("bytes", bytes);
    report.stages(stages);
    report.written([&folder.to_owned()]);
    report.print(&args.run);
}

/// Removes the bins of a plan.
fn remove<R: PointRecipe>(planned: &Planned<R>, args: &BinArgs) -> Result<()> {
    let files = remove_bins(&planned.bins)?;
    let mut report = Report::default();
    let folder = planned.bins.display();
    report.line("removed", format_args!("{files} files of bins, {folder}"));
    report.field("removed", files);
    report.print(&args.run);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `bin` has no --overwrite, and the file of another `bin` is not to be replaced.
    #[test]
    fn of_two_at_once_the_second_says_to_run_it_again() {
        let exists = geo_io::Error::Exists { path: "bins-1/0.points".into() };
        let text = two_at_once("lidar_dem", exists.into()).to_string();
        assert!(
            text.contains("bins-1/0.points") && text.contains("another lidar_dem bin"),
            "{text}"
        );
        assert!(!text.contains("--overwrite"), "{text}");
        assert_eq!(two_at_once("lidar_dem", anyhow!("full")).to_string(), "full");
    }
}
