//! The points of all inputs, joined.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail, ensure};
use geo_io::{Crs, CsvColumns, Filter, MultiFileReader, PointCloud, ReadOn, Strays, Tally};
use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, Progress, Shortest, ValueRange};

use crate::args::{PointArgs, ending, is_stream};
use crate::ground::Ground;
use crate::middle::{Middle, SAMPLE};
use crate::report::dropped_in_words;
use crate::rounded::rounded;
use crate::scale::joined;
use crate::systems::{Shared, require_on_globe};

/// Points at once, where inputs are read anew.
const BATCH: usize = 1 << 16;

/// The points to interpolate, and where they come from.
#[derive(Default)]
pub struct Cloud {
    /// Easting of each point.
    pub x: Vec<f64>,
    /// Northing of each point.
    pub y: Vec<f64>,
    /// Height of each point, or what else was measured.
    pub z: Vec<f64>,
    /// Further values of each point, a column for each that the caller wants.
    pub values: Vec<Vec<f64>>,
    /// The number of each point among the rows of all inputs, from 0, one input after the other. `None` unless
    /// [`read_numbered`](Self::read_numbered) has read them, and if there are more than 2^32 - 1 rows.
    pub numbers: Option<Vec<u32>>,
    /// How many points each point stands for, if a caller has merged points.
    pub counts: Option<Vec<u32>>,
    /// The coordinate system, if any file or the caller names one.
    pub crs: Option<Crs>,
    /// The lowest and the highest value of the files, including points that were not kept.
    pub range: Option<[f64; 2]>,
    /// The range of each further value, in these files or in any file.
    pub ranges: Vec<Option<[f64; 2]>>,
    /// How many points were read and dropped, an entry for each file.
    pub tallies: Vec<Tally>,
    /// The points outside of the bounds in their file's header, an entry a file.
    pub strays: Vec<Strays>,
    /// Where the points of each file lie, including points that were not kept. `None` if that is not known.
    pub extents: Vec<Option<Bounds>>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Cloud {
    /// Reads the points within `bounds` from all files, and joins them.
    ///
    /// Fails if two files name different coordinate systems and `--crs` does not settle it, or if no point remains.
    pub fn read(
        paths: &[PathBuf],
        args: &PointArgs,
        bounds: Option<Bounds>,
        on: ReadOn,
    ) -> Result<Self> {
        let ground = bounds.as_ref().map(|bounds| bounds as &dyn Ground);
        Self::read_of(paths, (args, &args.columns.names()), ground, on)
    }

    /// Reads like [`read`](Self::read), for a ground that need not be a rectangle, and columns that may have further
    /// values.
    ///
    /// # Errors
    /// The errors of that function.
    pub fn read_of(
        paths: &[PathBuf],
        (args, columns): (&PointArgs, &CsvColumns),
        ground: Option<&dyn Ground>,
        on: ReadOn,
    ) -> Result<Self> {
        let filter = args.filter(ground.map(Ground::bounds));
        Self::read_by(paths, &filter, (args, columns), ground, on)
    }

    /// Reads like [`read_of`](Self::read_of), with the number of each point.
    ///
    /// # Errors
    /// The errors of that function.
    pub fn read_numbered(
        paths: &[PathBuf],
        (args, columns): (&PointArgs, &CsvColumns),
        ground: Option<&dyn Ground>,
        on: ReadOn,
    ) -> Result<Self> {
        let filter = Filter { numbered: true, ..args.filter(ground.map(Ground::bounds)) };
        Self::read_by(paths, &filter, (args, columns), ground, on)
    }

    fn read_by(
        paths: &[PathBuf],
        filter: &Filter,
        (args, columns): (&PointArgs, &CsvColumns),
        ground: Option<&dyn Ground>,
        on: ReadOn,
    ) -> Result<Self> {
        let given = args.crs()?;
        let mut cloud = Self { numbers: filter.numbered.then(Vec::new), ..Self::default() };
        let mut absent = filter.classes.clone().unwrap_or_default();
        let mut shared = Shared::new(given);
        let mut left_out = Vec::new();
        MultiFileReader::new(filter, columns).read(paths, on, |path, part| {
            shared.take(path, part.crs.as_ref())?;
            if let Some(crs) = shared.crs().filter(|crs| crs.is_geographic()) {
                require_on_globe(path, crs, Bounds::of(&part.x, &part.y))?;
            }
            absent.retain(|class| !part.class.iter().flatten().any(|c| c == class));
            let notes = part.notes.iter().map(|note| format!("{}: {note}", path.display()));
            cloud.notes.extend(notes);
            if part.strays.points > 0 {
                cloud.notes.push(format!("{}: {}", path.display(), part.strays));
            }
            if part.is_left_out {
                left_out.push(path.display().to_string());
            }
            cloud.append(part, ground);
            Ok::<_, anyhow::Error>(())
        })?;
        cloud.notes.extend(note_on_left_out(&left_out));
        cloud.notes.extend(shared.note());
        cloud.crs = shared.into_crs();
        let absent = absent.iter().map(|class| format!("no point has class {class}"));
        cloud.notes.extend(absent);
        cloud.require_points(paths, args)?;
        Ok(cloud)
    }

    /// Reads and joins the points of files that a filter and a ground keep. The files' coordinate system is already
    /// chosen.
    ///
    /// # Errors
    /// The error of a file.
    pub fn read_plain(
        paths: &[PathBuf],
        filter: &Filter,
        columns: &CsvColumns,
        ground: &dyn Ground,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let mut cloud = Self::default();
        MultiFileReader::new(filter, columns).read(paths, progress, |_, part| {
            cloud.append(part, Some(ground));
            Ok::<_, geo_io::Error>(())
        })?;
        Ok(cloud)
    }

    fn append(&mut self, part: PointCloud, ground: Option<&dyn Ground>) {
        let PointCloud { x, y, z, values, mut numbers, bounds, heights, ranges, .. } = part;
        let (mut tally, strays) = (part.tally, part.strays);
        let first = self.rows();
        if first + tally.read > u32::MAX.into() {
            numbers = None;
        }
        for number in numbers.iter_mut().flatten() {
            *number += first as u32;
        }
        let mut more = Self { x, y, z, values, numbers, ..Self::default() };
        if let Some(ground) = ground {
            let before = more.x.len();
            more.keep_of(ground);
            let dropped = (before - more.x.len()) as u64;
            (tally.kept, tally.dropped_outside) =
                (tally.kept - dropped, tally.dropped_outside + dropped);
        }
        self.extend(more);
        let joined = |a: Option<[f64; 2]>, b: Option<[f64; 2]>| match (a, b) {
            (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].max(b[1])]),
            (a, b) => a.or(b),
        };
        self.range = joined(self.range, heights);
        self.ranges.resize(ranges.len(), None);
        for (range, more) in self.ranges.iter_mut().zip(ranges) {
            *range = joined(*range, more);
        }
        self.tallies.push(tally);
        self.strays.push(strays);
        self.extents.push(bounds);
    }

    /// The number of rows of all inputs, including rows of points that were left out.
    pub fn rows(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.read).sum()
    }

    /// Says which row of which file a [number](Self::numbers) is, or which point of a LAS or LAZ file; both are counted
    /// from 1.
    pub fn row_of(&self, number: u32, inputs: &[PathBuf]) -> String {
        let mut row = u64::from(number);
        let mut files = inputs.iter().zip(&self.tallies);
        let file = files.find(|(_, tally)| {
            let is_here = row < tally.read;
            row -= if is_here { 0 } else { tally.read };
            is_here
        });
        file.map(|(path, _)| format!("{}: {} {}", path.display(), kind(path), row + 1))
            .unwrap_or_default()
    }

    /// The columns of x, y, z and further values.
    pub fn columns(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        [&mut self.x, &mut self.y, &mut self.z].into_iter().chain(&mut self.values)
    }

    /// Adds the points of another cloud with the same columns, and nothing else.
    pub fn extend(&mut self, mut more: Self) {
        self.values.resize(more.values.len(), Vec::new());
        for (all, more) in self.columns().zip(more.columns()) {
            // The columns of the first file, or the only one, are taken as they are.
            if all.is_empty() { std::mem::swap(all, more) } else { all.append(more) }
        }
        self.numbers = self.numbers.take().zip(more.numbers).map(|(mut all, mut more)| {
            all.append(&mut more);
            all
        });
    }

    /// Keeps the points that a ground holds.
    pub fn keep_of(&mut self, ground: &dyn Ground) {
        if !ground.is_rectangle() {
            self.keep(|cloud, i| ground.holds(cloud.x[i], cloud.y[i]));
        }
    }

    /// Keeps the points whose numbers satisfy a condition, in their order.
    pub fn keep(&mut self, is_kept: impl Fn(&Self, usize) -> bool) {
        let mut kept = 0;
        for i in 0..self.x.len() {
            if is_kept(self, i) {
                if kept < i {
                    self.columns().for_each(|column| column[kept] = column[i]);
                    self.whole_numbers().for_each(|column| column[kept] = column[i]);
                }
                kept += 1;
            }
        }
        self.columns().for_each(|column| column.truncate(kept));
        self.whole_numbers().for_each(|column| column.truncate(kept));
    }

    fn whole_numbers(&mut self) -> impl Iterator<Item = &mut Vec<u32>> {
        self.numbers.iter_mut().chain(&mut self.counts)
    }

    /// Where the points of all files lie, if that is known of each file with points.
    fn extent(&self) -> Option<Bounds> {
        let with_points = self.extents.iter().zip(&self.tallies).filter(|(_, t)| t.read > 0);
        let extents = with_points.map(|(extent, _)| *extent).collect::<Option<Vec<_>>>()?;
        extents.into_iter().reduce(joined)
    }

    fn require_points(&self, paths: &[PathBuf], args: &PointArgs) -> Result<()> {
        if !self.x.is_empty() {
            return Ok(());
        }
        let sum = |of: fn(&Tally) -> u64| self.tallies.iter().map(of).sum::<u64>();
        let read = sum(|t| t.read);
        ensure!(read > 0, "{}", without_points(paths));
        let reason = match &args.classes {
            Some(list) if sum(|t| t.dropped_class) == read => {
                format!("none of the {read} points has a class of {:?}", list.0)
            }
            _ => {
                let mut dropped = Tally::default();
                self.tallies.iter().for_each(|tally| dropped += *tally);
                let dropped =
                    dropped_in_words(&dropped).map(|(count, _, why)| format!("{count} {why}"));
                let dropped: Vec<_> = dropped.collect();
                let dropped = dropped.join(", ");
                format!("none of the {read} points remains: {dropped}{}", lying(self.extent()))
            }
        };
        Err(NoPoints { reason, crs: self.crs.clone() }.into())
    }

    /// Refuses points if none lies within the bounds, which follow from `--bounds`.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_points_within(&self, b: &Bounds) -> Result<()> {
        let is_within = |i: usize| {
            let (x, y) = (self.x[i], self.y[i]);
            b.min_x <= x && x <= b.max_x && b.min_y <= y && y <= b.max_y
        };
        match parallel::first(self.x.len(), FINE, is_within) {
            Some(_) => Ok(()),
            None => {
                let (count, extent) = (self.x.len(), self.bounds());
                let reason = format!("none of the {count} points lies there{}", lying(extent));
                Err(NoPoints { reason, crs: self.crs.clone() }.into())
            }
        }
    }

    /// Rounds heights to a step, and returns the range of the files, whose ends are multiples of the step as well.
    /// The step is a power of two: a fraction of a micrometre over the relief of a survey. It depends on the files
    /// alone, not on the part of their points that was kept.
    ///
    /// The interpolation converts values to integers by a scale that follows their range
    /// (`nni_grid::Params::value_range`). With the range of the files, a tile has the same cells as the whole, and
    /// multiples of the step are exact integers. If the files state a range that is too wide, or points lie outside of
    /// it, heights stay unchanged and there is no range.
    pub fn settle_heights(&mut self) -> Option<ValueRange> {
        settled(&mut self.z, self.range)
    }

    /// The range of each further value.
    pub fn settle_values(&mut self) -> Vec<Option<ValueRange>> {
        let columns = self.values.iter_mut().zip(&self.ranges);
        columns.map(|(column, range)| settled(column, *range)).collect()
    }

    /// Refuses values that no raster of f32 holds, and says which point of the inputs has such a value. It checks all
    /// further values, and the heights if the run uses them.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_values_of_f32(
        &self,
        inputs: &[PathBuf],
        args: &PointArgs,
        with_heights: bool,
    ) -> Result<()> {
        for column in with_heights.then_some(&self.z).into_iter().chain(&self.values) {
            let is_beyond = |i: usize| is_beyond_f32(column[i]) || column[i].is_nan();
            if let Some(i) = parallel::first(column.len(), FINE, is_beyond) {
                let (place, value) = (self.place_of(i, inputs, args), column[i]);
                // A field of a LAS file.
                ensure!(value.is_finite(), "{place}: the value {value} is not a finite number");
                bail!(
                    "{place}: the value {value:e} is beyond the range of f32, the type of the \
                     result"
                );
            }
        }
        Ok(())
    }

    /// Notes which columns' values an f32 result cannot show. Such values are too near to 0 for f32, or differ by less
    /// than the precision of f32 at their size. The function checks all further values, and at the heights if the run
    /// uses them.
    pub fn notes_on_f32(&self, with_heights: bool) -> Vec<String> {
        let columns = with_heights.then_some(&self.z).into_iter().chain(&self.values);
        columns
            .flat_map(|column| note_on_small_values(column).or_else(|| note_on_steps(column)))
            .collect()
    }

    /// Says which point of the inputs a point is: its file, and its row there, or its number in a LAS or LAZ file. Both
    /// are counted from one. Filters may have left points out, so this reads the inputs again up to that point. If an
    /// input cannot be read twice, the text has the point's coordinates.
    pub fn place_of(&self, point: usize, inputs: &[PathBuf], args: &PointArgs) -> String {
        self.places_of(&[point], inputs, &args.columns.names()).remove(0)
    }

    /// Does what [`place_of`](Self::place_of) does for several points. It reads the inputs once, with the same columns
    /// as before.
    pub fn places_of(
        &self,
        points: &[usize],
        inputs: &[PathBuf],
        columns: &CsvColumns,
    ) -> Vec<String> {
        let mut sought = Sought::of(self, points);
        // Noise counts too. A table without classes refuses a filter of classes.
        let all = Filter { classes: Some((0..=255).collect()), ..Filter::default() };
        for path in inputs.iter().filter(|path| !is_stream(path)) {
            let mut before = 0;
            let what = kind(path);
            let mut take = |part: &PointCloud| {
                for i in 0..part.len() {
                    let name = || format!("{}: {what} {}", path.display(), before + i + 1);
                    sought.meet([part.x[i], part.y[i], part.z[i]], name);
                }
                before += part.len();
                // That ends the reading.
                if sought.left == 0 { Err(geo_io::Error::Cancelled) } else { Ok(()) }
            };
            let mut read = |filter| {
                geo_io::read_batches(path, filter, columns, BATCH, &gpu_core::Silent, &mut take)
            };
            if matches!(read(&all), Err(geo_io::Error::NoAttribute { .. })) {
                // Errors do not matter: this only searches for the point.
                read(&Filter::default()).ok();
            }
            if sought.left == 0 {
                break;
            }
        }
        let named = points.iter().zip(sought.names);
        let name = |(&point, name): (&usize, Option<String>)| {
            name.unwrap_or_else(|| format!("the point at ({}, {})", self.x[point], self.y[point]))
        };
        named.map(name).collect()
    }

    /// Where the points lie.
    pub fn bounds(&self) -> Option<Bounds> {
        Bounds::of(&self.x, &self.y)
    }

    /// Returns the rectangle of the points.
    ///
    /// # Errors
    /// There is none: no point is finite, or a side is longer than any float.
    pub fn rectangle(&self) -> Result<Bounds> {
        let count = self.x.len();
        let bounds = self.bounds();
        let bounds = bounds.with_context(|| format!("none of {count} points is finite"))?;
        let sides = [bounds.max_x - bounds.min_x, bounds.max_y - bounds.min_y];
        ensure!(
            sides.iter().all(|side| side.is_finite()),
            "the points lie too far apart, {bounds}: --bounds leaves out stray points"
        );
        Ok(bounds)
    }

    /// Returns a note, if some points lie so far from nearly all others that most of their rectangle is empty. The
    /// note has their number, the place of the farthest one, and the `--bounds` that hold the others.
    pub fn note_on_strays(&self) -> Option<String> {
        let step = self.x.len().div_ceil(SAMPLE).max(1);
        let sample =
            [&self.x, &self.y].map(|column| column.iter().step_by(step).copied().collect());
        let mut middle = Middle::of(sample, &self.bounds()?)?;
        middle.add(&self.x, &self.y);
        middle.note()
    }
}

impl Cloud {
    /// Returns a note why the rectangle of the points is so large: because of strays, or because the points lie in few
    /// parts of it.
    pub fn note_on_emptiness(&self) -> Option<String> {
        self.note_on_strays().or_else(|| self.note_on_gaps())
    }

    /// Returns a note if the points lie in few of the equal parts of their rectangle. It has the `--bounds` of the
    /// fullest part.
    fn note_on_gaps(&self) -> Option<String> {
        const SIDE: usize = 64;
        // A line through the rectangle is no gap.
        const FEW: usize = SIDE / 2;
        let Bounds { min_x, min_y, max_x, max_y } = self.bounds()?;
        let along = |v: f64, low: f64, high: f64| {
            (((v - low) / (high - low) * SIDE as f64) as usize).min(SIDE - 1)
        };
        let part =
            |i: usize| along(self.y[i], min_y, max_y) * SIDE + along(self.x[i], min_x, max_x);
        let mut counts = vec![0usize; SIDE * SIDE];
        (0..self.x.len()).for_each(|i| counts[part(i)] += 1);
        let parts = counts.iter().filter(|&&count| count > 0).count();
        let (fullest, &most) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
        if parts > FEW || self.x.len() < 100 {
            return None;
        }
        let of = |column: &[f64]| -> Vec<f64> {
            (0..column.len()).filter(|&i| part(i) == fullest).map(|i| column[i]).collect()
        };
        let bounds = rounded(&Bounds::of(&of(&self.x), &of(&self.y))?)?;
        let [a, b, c, d] = [bounds.min_x, bounds.min_y, bounds.max_x, bounds.max_y].map(Shortest);
        Some(format!(
            "all {} points lie in {parts} of {SIDE} x {SIDE} equal parts of their rectangle, {:.0}% of them in \
             --bounds={a},{b},{c},{d}",
            self.x.len(),
            100.0 * most as f64 / self.x.len() as f64,
        ))
    }
}

/// Where points lie, for an error.
fn lying(extent: Option<Bounds>) -> String {
    extent.map(|extent| format!("; the points lie in {extent}")).unwrap_or_default()
}

/// No point is left of the points that were read: the cause of an error.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct NoPoints {
    reason: String,
    /// The coordinate system of the points.
    pub crs: Option<Crs>,
}

/// Adds the ground of an option to an error that says that no point is left ([`NoPoints`]).
pub fn on_ground(error: Error, option: &str, ground: Option<Bounds>) -> Error {
    match ground.filter(|_| error.is::<NoPoints>()) {
        Some(ground) => error.context(format!("the ground of {option} is {ground}")),
        None => error,
    }
}

/// Notes which files have no points.
pub fn without_points(paths: &[PathBuf]) -> String {
    match paths {
        [path] => format!("{} has no points", path.display()),
        [first, .., last] => format!(
            "none of {} files, from {} to {}, has points",
            paths.len(),
            first.display(),
            last.display()
        ),
        [] => "no files were given".to_owned(),
    }
}

/// Says which files were read only in part: the header and a sample of the points.
fn note_on_left_out(files: &[String]) -> Option<String> {
    let first = files.first()?;
    let others = match files.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    Some(format!(
        "{first}{others}: left out, as the header has all points outside of --bounds, and so has a sample of them"
    ))
}

/// What an input consists of.
fn kind(path: &Path) -> &'static str {
    match ending(path).as_str() {
        // A row of these may have several points.
        "las" | "laz" | "fgb" | "gpkg" | "shp" | "parquet" | "geoparquet" | "pq" => "point",
        _ => "row",
    }
}

/// Points whose rows the search must find among all points of the inputs.
struct Sought {
    /// For the bits of a point: how many equal points were kept before it, and its place in `names`.
    points: HashMap<[u64; 3], Vec<(usize, usize)>>,
    names: Vec<Option<String>>,
    /// The points without a name.
    left: usize,
}

impl Sought {
    fn of(cloud: &Cloud, points: &[usize]) -> Self {
        let key = |point: usize| bits([cloud.x[point], cloud.y[point], cloud.z[point]]);
        let mut all = HashMap::<_, Vec<_>>::new();
        for (at, &point) in points.iter().enumerate() {
            all.entry(key(point)).or_default().push((point, at));
        }
        let mut before = HashMap::<_, usize>::new();
        for point in 0..points.iter().max().map_or(0, |last| last + 1) {
            let Some(alike) = all.get_mut(&key(point)) else { continue };
            let before = before.entry(key(point)).or_default();
            let sought = alike.iter_mut().filter(|(number, _)| *number == point);
            sought.for_each(|(number, _)| *number = *before);
            *before += 1;
        }
        Self { points: all, names: vec![None; points.len()], left: points.len() }
    }

    /// Names the point that the next one of the inputs is, if it is sought.
    fn meet(&mut self, point: [f64; 3], name: impl Fn() -> String) {
        let Some(alike) = self.points.get_mut(&bits(point)) else { return };
        for (before, at) in alike {
            match before.checked_sub(1) {
                Some(fewer) => *before = fewer,
                None if self.names[*at].is_none() => {
                    self.names[*at] = Some(name());
                    self.left -= 1;
                }
                None => {}
            }
        }
    }
}

fn bits(point: [f64; 3]) -> [u64; 3] {
    point.map(f64::to_bits)
}

/// Rounds values to the step of a range that holds them. Returns the range, whose ends are multiples of the step.
fn settled(values: &mut [f64], range: Option<[f64; 2]>) -> Option<ValueRange> {
    let [low, high] = range?;
    let is_beyond = |i: usize| !(low..=high).contains(&values[i]);
    let within = parallel::first(values.len(), FINE, is_beyond).is_none();
    let step = step_of_heights([low, high]).filter(|_| within)?;
    if step == 0.0 {
        return Some(ValueRange { min: low, max: high });
    }
    parallel::for_each(values, FINE, |_, z| *z = (*z / step).round_ties_even() * step);
    let (min, max) = ((low / step).floor() * step, (high / step).ceil() * step);
    Some(ValueRange { min, max })
}

fn note_on_small_values(column: &[f64]) -> Option<String> {
    let least = f64::from(f32::MIN_POSITIVE);
    let count =
        parallel::count(column.len(), FINE, |i| column[i] != 0.0 && column[i].abs() < least);
    (count > 0).then(|| {
        format!(
            "values nearer to 0 than {least:.1e}: {count}; the result is in f32, which has few digits there or none, and \
             may be 0"
        )
    })
}

/// Values such as seconds since 1970 have more digits in common than f32 has.
fn note_on_steps(column: &[f64]) -> Option<String> {
    const FEWEST_STEPS: f64 = 100.0;
    let of_range = |range: Range<usize>| {
        column[range].iter().fold([f64::MAX, f64::MIN], |[low, high], &v| [low.min(v), high.max(v)])
    };
    let ranges = parallel::map_ranges(column.len(), FINE, &of_range);
    let [low, high] = ranges.into_iter().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
    let most = low.abs().max(high.abs()) as f32;
    let step = f64::from(most.next_up()) - f64::from(most);
    let is_coarse = low < high && (high - low) < FEWEST_STEPS * step;
    is_coarse.then(|| {
        let [low, high, step] = [low, high, step].map(Shortest);
        format!(
            "values from {low} to {high}: the result is in f32, which has steps of {step} there; take a number off the \
             values first that they have in common"
        )
    })
}

/// Whether a value is larger than any of f32.
pub fn is_beyond_f32(value: f64) -> bool {
    value.abs() > f64::from(f32::MAX)
}

/// Returns the step of heights in a range: 0 if all heights are equal, and `None` if the range is so wide that rounding
/// would show.
pub fn step_of_heights([low, high]: [f64; 2]) -> Option<f64> {
    const COARSEST: f64 = 1.0 / 1024.0;
    if low == high {
        return Some(0.0);
    }
    let step = 2f64.powi(((high - low) / f64::from(1 << 29)).log2().ceil() as i32);
    (step.is_normal() && step <= COARSEST).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_settled_by_the_files_range() {
        let heights = [180.003, 179.999, 181.25];
        let settled = |range| {
            let mut cloud = Cloud { z: heights.to_vec(), range, ..Cloud::default() };
            cloud.settle_heights();
            cloud.z
        };
        let step = 2f64.powi(-22);
        for (found, z) in settled(Some([100.0, 220.0])).iter().zip(heights) {
            assert!((found - z).abs() <= step / 2.0 && (found / step).fract() == 0.0, "{found}");
        }
        // A header that lies, and one of another world.
        for range in [None, Some([180.0, 181.0]), Some([-1e30, 1e30]), Some([180.0, 180.0])] {
            assert_eq!(settled(range), heights);
        }
    }

    #[test]
    fn what_f32_cannot_show_is_noted() {
        let notes = |z: &[f64], value: &[f64]| {
            let cloud = Cloud { z: z.to_vec(), values: vec![value.to_vec()], ..Cloud::default() };
            [true, false].map(|with_heights| cloud.notes_on_f32(with_heights).len())
        };
        let heights = [120.0, 120.5, 1e-9];
        for (values, count) in [
            (&[1.7e9, 1.7e9 + 60.0][..], 1),
            (&[1.7e9, 1.7e9 + 86_400.0][..], 0),
            (&[1.7e9, 1.7e9][..], 0),
            (&[-1e9, 1e9][..], 0),
            (&[0.0, 1e-40][..], 1),
            (&[0.0][..], 0),
            (&[][..], 0),
        ] {
            assert_eq!(notes(&heights, values), [count; 2], "{values:?}");
            assert_eq!(notes(values, &heights), [count, 0], "{values:?}");
        }
    }

    #[test]
    fn of_few_points_a_stray_is_noted_too() {
        let stations = |count: u32| Cloud {
            x: (0..count).map(|i| 5e5 + f64::from(i * 37 % 101)).collect(),
            y: (0..count).map(|i| 4e6 + f64::from(i * 53 % 97)).collect(),
            ..Cloud::default()
        };
        for count in [20, 40, 99, 150] {
            let mut cloud = stations(count - 1);
            assert_eq!(cloud.note_on_strays(), None);
            cloud.x.push(0.0);
            cloud.y.push(0.0);
            let note = cloud.note_on_strays().unwrap();
            assert!(note.starts_with(&format!("1 of {count} points lies far")), "{note}");
            assert!(note.contains("the farthest at 0 0: "), "{note}");
        }
        let mut few = stations(18);
        few.x.push(0.0);
        few.y.push(0.0);
        assert_eq!(few.note_on_strays(), None);
    }

    #[test]
    fn strays_are_noted_and_even_points_are_not() {
        let mut cloud = Cloud {
            x: (0..10_000).map(|i| f64::from(i % 100)).collect(),
            y: (0..10_000).map(|i| f64::from(i / 100)).collect(),
            ..Cloud::default()
        };
        assert_eq!(cloud.note_on_strays(), None);
        cloud.x.push(50.0);
        cloud.y.push(200_000.0);
        let note = cloud.note_on_strays().unwrap();
        assert!(note.starts_with("1 of 10001 points lies far from the others, "), "{note}");
        assert!(note.contains("the farthest at 50 200000: "), "{note}");
        assert!(note.contains("--bounds=-"), "{note}");
        cloud.x.push(5e11);
        cloud.y.push(50.0);
        let note = cloud.note_on_strays().unwrap();
        assert!(note.starts_with("2 of 10002 points lie far from the others, "), "{note}");
        assert!(note.contains("the farthest at 500000000000 50: "), "{note}");
        assert!(note.contains(" 1e13 times "), "{note}");
    }

    /// However small the ground is, as a tile in degrees, and however far from the origin.
    #[test]
    fn bounds_that_a_note_names_hold_the_points_that_it_says() {
        for (at, spacing) in [(8.5, 1e-7), (-123.456_789, 3e-6), (4_567_890.12, 0.5), (0.0, 1e4)] {
            let mut cloud = Cloud {
                x: (0..10_000).map(|i| at + spacing * f64::from(i % 100)).collect(),
                y: (0..10_000).map(|i| -at + spacing * f64::from(i / 100)).collect(),
                ..Cloud::default()
            };
            cloud.x.push(at + spacing * 1e6);
            cloud.y.push(-at);
            let note = cloud.note_on_strays().unwrap();
            let text = note.split("--bounds=").nth(1).unwrap().split(' ').next().unwrap();
            let b = text.parse::<crate::args::Extent>().unwrap().0;
            let is_in = |&i: &usize| {
                let (x, y) = (cloud.x[i], cloud.y[i]);
                b.min_x <= x && x <= b.max_x && b.min_y <= y && y <= b.max_y
            };
            assert_eq!((0..10_001).filter(is_in).count(), 10_000, "{note}");
            assert!(b.max_x - b.min_x < 130.0 * spacing, "{note}");
        }
    }

    #[test]
    fn points_farther_apart_than_floats_go_are_refused() {
        let of = |x: &[f64]| Cloud { x: x.to_vec(), y: vec![1.0; x.len()], ..Cloud::default() };
        let error = of(&[-1e308, 1e308]).rectangle().unwrap_err().to_string();
        assert_eq!(
            error,
            "the points lie too far apart, -1e308 1 to 1e308 1: --bounds leaves out stray points"
        );
        assert!(of(&[f64::NAN]).rectangle().is_err());
        assert!(of(&[-1e307, 1e307]).rectangle().is_ok());
    }

    #[test]
    fn points_in_few_places_far_apart_are_noted() {
        let far = |i: u32| if i.is_multiple_of(4) { 1e6 } else { 0.0 };
        let mut cloud = Cloud {
            x: (0..10_000).map(|i| far(i) + f64::from(i % 100)).collect(),
            y: (0..10_000).map(|i| far(i) + f64::from(i / 100)).collect(),
            ..Cloud::default()
        };
        assert_eq!(cloud.note_on_strays(), None);
        let note = cloud.note_on_emptiness().unwrap();
        assert!(note.starts_with("all 10000 points lie in 2 of 64 x 64 equal parts"), "{note}");
        assert!(note.ends_with("75% of them in --bounds=1,0,99,99"), "{note}");
        // A line.
        cloud.x = (0..10_000).map(f64::from).collect();
        cloud.y.clone_from(&cloud.x);
        assert_eq!(cloud.note_on_emptiness(), None);
    }
}
