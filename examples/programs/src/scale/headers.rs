//! The input of a plan of points.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use geo_io::{Crs, CsvColumns, Filter, Header, PointCloud};
use gpu_core::{Bounds, GridSpec, Progress, Silent};
use tile_plan::Input;

use super::{name, stamp};
use crate::args::{PointArgs, is_stream};
use crate::cloud::{Cloud, without_points};
use crate::ground::Ground;
use crate::middle::{Middle, SAMPLE};
use crate::report::Report;
use crate::systems::{Shared, require_on_globe};

/// The contents of the inputs' headers; for tables, which have no header, the same from their points.
pub struct Headers {
    /// The inputs that have points.
    pub inputs: Vec<Input>,
    /// For each of `inputs` the number of its first row among the rows of all inputs, from 0. Rows that are left
    /// out count too.
    pub firsts: Vec<u64>,
    /// Rows of all inputs.
    pub rows: u64,
    /// The lowest and the highest value, if all headers state them.
    range: Option<[f64; 2]>,
    /// The range of each further value.
    ranges: Vec<Option<[f64; 2]>>,
    /// Where the points lie.
    pub bounds: Bounds,
    /// The coordinate system, as given or as all inputs name it.
    pub crs: Option<Crs>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Headers {
    /// Reads headers, and the ranges of points' further values. If the order of the inputs counts it becomes a part
    /// of the plan.
    ///
    /// # Errors
    /// - A file cannot be read, or its header does not say where its points lie.
    /// - Two files have different coordinate systems and `--crs` chooses none, or a system is geocentric.
    /// - The inputs have no points, none that the filters keep, or are standard input.
    pub fn read(
        paths: &[PathBuf],
        (points, columns): (&PointArgs, &CsvColumns),
        is_ordered: bool,
    ) -> Result<Self> {
        ensure!(!paths.is_empty(), "a plan needs point files: give at least one");
        for path in paths {
            let is_pipe = std::fs::metadata(path).is_ok_and(|about| !about.is_file());
            let is_input = is_stream(path);
            ensure!(!is_input, "a plan needs files, not standard input");
            let name = path.display();
            ensure!(
                !is_pipe,
                "a plan needs files, since its tiles read them later: {name} is not a file"
            );
        }
        let given = points.crs()?;
        let (mut inputs, mut firsts, mut rows) = (Vec::new(), Vec::new(), 0);
        let mut range: Option<[f64; 2]> = None;
        let mut ranges = vec![None; columns.values.len()];
        let mut all: Option<Bounds> = None;
        let (mut shared, mut notes) = (Shared::new(given), Vec::new());
        for (i, path) in paths.iter().enumerate() {
            // Before it is read: where it changes meanwhile a tile's job sees that.
            let about = stamp(path)?;
            let (header, of_values, of_file) = header(path, (points, columns))?;
            let first = rows;
            rows += of_file;
            shared.take(path, header.crs.as_ref())?;
            if let Some(crs) = shared.crs() {
                require_on_globe(path, crs, header.bounds)?;
            }
            let told = header.notes.iter().map(|note| format!("{}: {note}", path.display()));
            notes.extend(told);
            let joined_ranges = |a: Option<[f64; 2]>, b: Option<[f64; 2]>| match (a, b) {
                (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].max(b[1])]),
                (a, b) => a.or(b),
            };
            range = joined_ranges(range, header.heights);
            for (range, more) in ranges.iter_mut().zip(of_values) {
                *range = joined_ranges(*range, more);
            }
            if header.points == 0 {
                continue;
            }
            let bounds = header.bounds.with_context(|| {
                let why = header.notes.last().map_or("its header does not say", String::as_str);
                format!("{}: a plan cannot know where its points lie: {why}", path.display())
            })?;
            all = Some(all.map_or(bounds, |all| joined(all, bounds)));
            let rank = if is_ordered { i as u32 } else { 0 };
            let input = Input::new(name(path)?).bounds(bounds).points(header.points);
            inputs.push(input.stamp(about).rank(rank));
            firsts.push(first);
        }
        require_kept(paths, &inputs, (points, columns), None)?;
        let bounds = all.with_context(|| without_points(paths))?;
        notes.extend(shared.note());
        let crs = shared.into_crs();
        Ok(Self { inputs, firsts, rows, range, ranges, bounds, crs, notes })
    }

    /// Refuses inputs without a point on a ground, of those that the filters keep. It reads up to the first such point,
    /// since headers do not tell where between their bounds points lie.
    ///
    /// # Errors
    /// The error of a run at once ([`on_ground`](crate::cloud::on_ground) names its option), or of reading an input.
    pub fn require_points_on(
        &self,
        of_points: (&PointArgs, &CsvColumns),
        ground: &dyn Ground,
    ) -> Result<()> {
        let paths = self.inputs.iter().map(|input| PathBuf::from(&input.path));
        require_kept(&paths.collect::<Vec<_>>(), &self.inputs, of_points, Some(ground))
    }

    /// The lowest and the highest value.
    ///
    /// # Errors
    /// The headers do not say.
    pub fn range(&self) -> Result<[f64; 2]> {
        self.range
            .context("the headers do not state the range of heights, so a tile cannot know it")
    }

    /// Returns the lowest and the highest of each further value, given their names.
    ///
    /// # Errors
    /// The name of a value whose range neither the files nor their format state.
    pub fn ranges(&self, names: &[String]) -> Result<Vec<[f64; 2]>> {
        let range = |(range, name): (&Option<[f64; 2]>, &String)| {
            range.with_context(|| {
                format!("neither the headers nor the format state the range of {name}, so a tile cannot know it")
            })
        };
        self.ranges.iter().zip(names).map(range).collect()
    }

    /// Notes points so far from nearly all others that most of the grid, which covers all points, is empty.
    ///
    /// Headers do not tell where most points lie, so this reads the points. It does so only if the grid has many more
    /// cells than there are points: then making the cells takes far longer than reading the points twice.
    ///
    /// # Errors
    /// The errors of reading an input.
    pub fn note_strays(
        &mut self,
        (points, columns): (&PointArgs, &CsvColumns),
        grid: &GridSpec,
        progress: &dyn Progress,
    ) -> Result<()> {
        /// Cells for each point.
        const MANY: u64 = 8;
        if grid.cells() <= self.points().saturating_mul(MANY) {
            return Ok(());
        }
        let paths: Vec<&Path> = self.inputs.iter().map(|input| Path::new(&input.path)).collect();
        let read = |take: &mut dyn FnMut(&PointCloud)| {
            paths.iter().try_for_each(|path| read_all(path, (points, columns), progress, take))
        };
        let step = self.points().div_ceil(SAMPLE as u64).max(1);
        let (mut sample, mut number) = ([Vec::new(), Vec::new()], 0_u64);
        read(&mut |cloud| {
            for (&x, &y) in cloud.x.iter().zip(&cloud.y) {
                if number.is_multiple_of(step) {
                    sample[0].push(x);
                    sample[1].push(y);
                }
                number += 1;
            }
        })?;
        if let Some(mut middle) = Middle::of(sample, &self.bounds) {
            read(&mut |cloud| middle.add(&cloud.x, &cloud.y))?;
            self.notes.extend(middle.note());
        }
        Ok(())
    }

    /// Says what the inputs are.
    pub fn report(&self, report: &mut Report) {
        let (files, points) = (self.inputs.len(), self.points());
        report.line("inputs", format_args!("{files} files, {points} points"));
        report.field("inputs", files);
        report.field("points", points);
    }

    /// Points of all inputs.
    pub fn points(&self) -> u64 {
        self.inputs.iter().map(|input| input.points).sum()
    }
}

/// A header, between what further values lie, and the rows of the file.
type OfFile = (Header, Vec<Option<[f64; 2]>>, u64);

/// What a header says, or what a table has.
fn header(path: &Path, (points, columns): (&PointArgs, &CsvColumns)) -> Result<OfFile> {
    if let Some(header) = geo_io::read_header(path)? {
        let ranges = geo_io::ranges_of_fields(path, &columns.values)?;
        let rows = header.points;
        return Ok((header, ranges, rows));
    }
    let cloud = geo_io::read_points(path, &points.filter(None), columns, &Silent)?;
    let (count, bounds) = (cloud.len() as u64, Bounds::of(&cloud.x, &cloud.y));
    let (heights, crs, notes) = (cloud.heights, cloud.crs, cloud.notes);
    Ok((Header { points: count, bounds, heights, crs, notes }, cloud.ranges, cloud.tally.read))
}

/// Refuses inputs of which the classes, the returns, the noise and the ground that count keep no point. It reads up to
/// the first point that is kept: a header counts the others too.
///
/// # Errors
/// The error of a run at once: it says what the filters dropped.
fn require_kept(
    paths: &[PathBuf],
    with_points: &[Input],
    (points, columns): (&PointArgs, &CsvColumns),
    ground: Option<&dyn Ground>,
) -> Result<()> {
    /// Points that are read at once.
    const FEW: usize = 1 << 10;
    let filter = points.filter(ground.map(Ground::bounds));
    let holds = |x, y| ground.is_none_or(|ground| ground.holds(x, y));
    let may_hold = |area: &Bounds| ground.is_none_or(|ground| ground.touches(area));
    for input in with_points.iter().filter(|input| input.bounds.as_ref().is_none_or(&may_hold)) {
        let mut is_kept = false;
        let mut take = |cloud: &PointCloud| {
            is_kept = cloud.x.iter().zip(&cloud.y).any(|(&x, &y)| holds(x, y));
            if is_kept { Err(geo_io::Error::Cancelled) } else { Ok(()) }
        };
        let (path, silent) = (Path::new(&input.path), &Silent);
        let read = geo_io::read_batches(path, &filter, columns, FEW, silent, &mut take);
        if is_kept {
            return Ok(());
        }
        read?;
    }
    Cloud::read_of(paths, (points, columns), ground, (&Silent).into()).map(drop)
}

/// Gives all points of an input to `take`, some at a time. A header counts noise and every class, and so does this.
fn read_all(
    path: &Path,
    (points, columns): (&PointArgs, &CsvColumns),
    progress: &dyn Progress,
    take: &mut dyn FnMut(&PointCloud),
) -> Result<()> {
    const AT_ONCE: usize = 1 << 16;
    let filter = match geo_io::read_header(path)? {
        Some(_) => Filter { classes: Some((0..=255).collect()), ..Filter::default() },
        None => points.filter(None),
    };
    let mut take = |cloud: &PointCloud| {
        take(cloud);
        Ok(())
    };
    geo_io::read_batches(path, &filter, columns, AT_ONCE, progress, &mut take)?;
    Ok(())
}

/// Returns the smallest rectangle that holds both.
pub fn joined(a: Bounds, b: Bounds) -> Bounds {
    Bounds {
        min_x: a.min_x.min(b.min_x),
        min_y: a.min_y.min(b.min_y),
        max_x: a.max_x.max(b.max_x),
        max_y: a.max_y.max(b.max_y),
    }
}
