//! Point clouds in columns, filters, and counts of the dropped points.

pub(crate) mod bins;
pub(crate) mod chunk;
mod collect;
pub(crate) mod copc;
pub(crate) mod csv;
mod features;
pub(crate) mod las;
pub(crate) mod multi_file;
pub(crate) mod read;
pub(crate) mod read_on;

use std::fmt;
use std::ops::{AddAssign, Range};
use std::path::Path;
use std::str::FromStr;

use gpu_core::{Bounds, Progress, host_memory};

use crate::input::is_url;
use crate::{Crs, Error, Result};

/// Points in columns: entry `i` of every column is point `i`.
///
/// Coordinates are f64 in the units of the coordinate reference system, and finite.
///
/// Example: see [`read_points`](crate::read_points).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointCloud {
    /// Eastings or longitudes.
    pub x: Vec<f64>,
    /// Northings or latitudes.
    pub y: Vec<f64>,
    /// Elevations.
    pub z: Vec<f64>,
    /// ASPRS classes (2 ground, 9 water ...), where the file has them.
    pub class: Option<Vec<u8>>,
    /// Further values, a column for each that [`CsvColumns::values`](crate::CsvColumns::values) names.
    pub values: Vec<Vec<f64>>,
    /// If [`Filter::numbered`] is set, the number of each point in its file, from 0; in a table, the number of its row.
    /// After 2^32 points the numbers begin at 0 again.
    pub numbers: Option<Vec<u32>>,
    /// The coordinate reference system, where the file states one.
    pub crs: Option<Crs>,
    /// Where the points of the file lie, from its header or from all rows of its table. `None` if points lie outside of
    /// the header's bounds.
    pub bounds: Option<Bounds>,
    /// The lowest and the highest elevation in the file, from its header or from all rows of its table.
    pub heights: Option<[f64; 2]>,
    /// The range of each further value: for a table, the column's lowest and highest value; for a LAS file, the range
    /// of the field.
    pub ranges: Vec<Option<[f64; 2]>>,
    /// How many points were read, kept and dropped.
    pub tally: Tally,
    /// The number of points that lie outside of the bounds in their file's header.
    pub strays: Strays,
    /// Notes, in words, on parts of the file that the reader ignored.
    pub notes: Vec<String>,
    /// Whether the reader read only a sample of the points, since by the file's header all points lie outside of the
    /// filter's bounds.
    pub is_left_out: bool,
}

/// Points of which each column is copied by a thread of its own: one thread needs a millisecond for them.
const WORTH_THREADS: usize = 1 << 17;

impl PointCloud {
    /// Points in the columns.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// An empty cloud of a LAS file with memory for `room` points, `values` further values of each, and their numbers
    /// if the filter wants them.
    pub(crate) fn of_las(room: usize, values: usize, filter: &Filter) -> Self {
        let column = || Vec::with_capacity(room);
        let class = Some(Vec::with_capacity(room));
        let values = std::iter::repeat_with(column).take(values).collect();
        let numbers = filter.numbered.then(|| Vec::with_capacity(room));
        Self { x: column(), y: column(), z: column(), class, values, numbers, ..Self::default() }
    }

    /// The columns of floats.
    fn columns(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        [&mut self.x, &mut self.y, &mut self.z].into_iter().chain(&mut self.values)
    }

    /// Makes room for more points.
    pub(crate) fn reserve(&mut self, path: &Path, more: usize) -> Result<()> {
        let made = self.columns().try_for_each(|column| column.try_reserve(more));
        made.and_then(|()| self.class.iter_mut().try_for_each(|column| column.try_reserve(more)))
            .and_then(|()| self.numbers.iter_mut().try_for_each(|column| column.try_reserve(more)))
            .map_err(|_| {
                // A column that grows doubles.
                let a_point = bytes_of_point(self.values.len(), self.numbers.is_some());
                let asked = (2 * self.x.len() + more) as u64 * a_point;
                Error::OutOfMemory { path: path.to_owned(), asked }
            })
    }

    /// Reserves memory for the expected points in an empty cloud, if the system gives it. This memory is in large
    /// pages, while columns that grow have small ones. Memory for points that do not come costs nothing.
    pub(crate) fn expect(&mut self, points: u64) {
        let room = usize::try_from(points).unwrap_or(usize::MAX);
        for column in self.columns() {
            if let (true, Ok(with_room)) = (column.is_empty(), host_memory::with_capacity(room)) {
                *column = with_room;
            }
        }
    }

    /// Adds some points of another cloud with the same columns, numbered from `first` on. Does not add its tally.
    pub(crate) fn append(
        &mut self,
        path: &Path,
        (other, first): (&Self, u64),
        points: Range<usize>,
    ) -> Result<()> {
        self.reserve(path, points.len())?;
        let others = [&other.x, &other.y, &other.z].into_iter().chain(&other.values);
        for (column, more) in self.columns().zip(others) {
            column.extend_from_slice(&more[points.clone()]);
        }
        if let (Some(column), Some(more)) = (&mut self.class, &other.class) {
            column.extend_from_slice(&more[points.clone()]);
        }
        if let (Some(column), Some(more)) = (&mut self.numbers, &other.numbers) {
            column.extend(more[points].iter().map(|number| number.wrapping_add(first as u32)));
        }
        Ok(())
    }

    /// Adds all points of clouds with the same columns, in their order, as [`append`](Self::append) does for one: many
    /// points by a thread for each column. These are not threads of the pool, which decodes meanwhile: a wait there would
    /// take up chunks before it ends.
    pub(crate) fn append_all(&mut self, path: &Path, others: &[(Self, u64)]) -> Result<()> {
        let points = others.iter().map(|(other, _)| other.len()).sum();
        if points < WORTH_THREADS || rayon::current_num_threads() == 1 {
            return others
                .iter()
                .try_for_each(|(other, first)| self.append(path, (other, *first), 0..other.len()));
        }
        self.reserve(path, points)?;
        let (x, y, z) = (&mut self.x, &mut self.y, &mut self.z);
        std::thread::scope(|scope| {
            let columns = [x, y, z].into_iter().chain(&mut self.values);
            for (i, column) in columns.enumerate() {
                scope.spawn(move || {
                    for (other, _) in others {
                        let own = [&other.x, &other.y, &other.z].into_iter().chain(&other.values);
                        own.skip(i).take(1).for_each(|more| column.extend_from_slice(more));
                    }
                });
            }
            for (other, first) in others {
                if let (Some(column), Some(more)) = (&mut self.class, &other.class) {
                    column.extend_from_slice(more);
                }
                if let (Some(column), Some(more)) = (&mut self.numbers, &other.numbers) {
                    column.extend(more.iter().map(|number| number.wrapping_add(*first as u32)));
                }
            }
        });
        Ok(())
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }
}

/// The bytes of a point with a class, further values, and a number if points have one.
pub(crate) fn bytes_of_point(values: usize, is_numbered: bool) -> u64 {
    25 + 8 * values as u64 + 4 * u64::from(is_numbered)
}

/// How many points a reader read, kept and dropped, by reason. A dropped point counts once: as withheld, else as noise
/// or by its class, else by its return, else by its place. If a header says that a whole file or chunk lies outside,
/// all of its points count as dropped by place.
///
/// Example: see [`read_points`](crate::read_points).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Points in the file.
    pub read: u64,
    /// Points kept.
    pub kept: u64,
    /// Points dropped because of their class.
    pub dropped_class: u64,
    /// Points dropped as noise: class 7 or 18.
    pub dropped_noise: u64,
    /// Points dropped because of their return.
    pub dropped_return: u64,
    /// Points dropped because they are flagged as withheld, which in LAS means deleted.
    pub dropped_withheld: u64,
    /// Dropped: outside the bounds.
    pub dropped_outside: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        let Self {
            read,
            kept,
            dropped_class,
            dropped_noise,
            dropped_return,
            dropped_withheld,
            dropped_outside,
        } = more;
        self.read += read;
        self.kept += kept;
        self.dropped_class += dropped_class;
        self.dropped_noise += dropped_noise;
        self.dropped_return += dropped_return;
        self.dropped_withheld += dropped_withheld;
        self.dropped_outside += dropped_outside;
    }
}

/// How many points of a LAS or LAZ file lie outside of the bounds in its header, by more than a rounding. Kept points
/// and points dropped by place count; points dropped by class, return or flags do not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Strays {
    /// How many.
    pub points: u64,
    /// Where they lie.
    pub bounds: Option<Bounds>,
}

impl Strays {
    pub(crate) fn take(&mut self, x: f64, y: f64) {
        self.add(&Self {
            points: 1,
            bounds: Some(Bounds { min_x: x, min_y: y, max_x: x, max_y: y }),
        });
    }

    pub(crate) fn add(&mut self, more: &Self) {
        self.points += more.points;
        self.bounds = match (self.bounds, more.bounds) {
            (Some(a), Some(b)) => Some(Bounds {
                min_x: a.min_x.min(b.min_x),
                min_y: a.min_y.min(b.min_y),
                max_x: a.max_x.max(b.max_x),
                max_y: a.max_y.max(b.max_y),
            }),
            (a, b) => a.or(b),
        };
    }
}

impl fmt::Display for Strays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lie = if self.points == 1 { "lies" } else { "lie" };
        write!(f, "{} of its points {lie} outside of its header's bounds", self.points)?;
        match self.bounds {
            Some(bounds) => write!(f, ", from {bounds}"),
            None => Ok(()),
        }
    }
}

/// Classes of noise: low, and high.
pub const NOISE: [u8; 2] = [7, 18];

/// Which returns of a pulse to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// Every return.
    #[default]
    All,
    /// The first return of each pulse: number 1, or number 0 from a scanner that does not number returns.
    First,
    /// The last return of each pulse: its number is at least the number of returns.
    Last,
}

impl FromStr for Returns {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().as_str() {
            "all" => Ok(Self::All),
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            _ => Err(Error::UnknownChoice {
                what: "returns",
                text: text.to_owned(),
                known: "all, first or last",
            }),
        }
    }
}

impl fmt::Display for Returns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::All => "all",
            Self::First => "first",
            Self::Last => "last",
        })
    }
}

/// Which points a reader keeps. The default keeps all points except withheld points and noise.
///
/// Example: see [`read_points`](crate::read_points).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Classes to keep; `None` keeps all classes except [`NOISE`]. If all 256 are listed, a table needs no classes.
    pub classes: Option<Vec<u8>>,
    /// Returns to keep.
    pub returns: Returns,
    /// Keeps points within these, edges included; `None` keeps all.
    pub bounds: Option<Bounds>,
    /// Whether to keep the number of each point in its file ([`PointCloud::numbers`]).
    pub numbered: bool,
}

/// The attributes of a point that a filter checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub x: f64,
    pub y: f64,
    pub class: u8,
    pub return_number: u8,
    pub number_of_returns: u8,
    pub withheld: bool,
}

impl Filter {
    /// Whether it keeps points without a class.
    pub(crate) fn has_every_class(&self) -> bool {
        self.classes.as_ref().is_none_or(|classes| (0..=255).all(|class| classes.contains(&class)))
    }

    /// Whether the point stays; it is counted either way.
    pub(crate) fn keeps(&self, point: Attributes, tally: &mut Tally) -> bool {
        tally.read += 1;
        let is_noise = self.classes.is_none() && NOISE.contains(&point.class);
        let wanted_class = self.classes.as_ref().is_none_or(|c| c.contains(&point.class));
        let wanted_return = match self.returns {
            Returns::All => true,
            Returns::First => point.return_number <= 1,
            Returns::Last => point.return_number >= point.number_of_returns,
        };
        let counter = if point.withheld {
            &mut tally.dropped_withheld
        } else if is_noise {
            &mut tally.dropped_noise
        } else if !wanted_class {
            &mut tally.dropped_class
        } else if !wanted_return {
            &mut tally.dropped_return
        } else if !self.bounds.is_none_or(|b| contains(&b, point.x, point.y)) {
            &mut tally.dropped_outside
        } else {
            tally.kept += 1;
            return true;
        };
        *counter += 1;
        false
    }
}

fn contains(b: &Bounds, x: f64, y: f64) -> bool {
    x >= b.min_x && x <= b.max_x && y >= b.min_y && y <= b.max_y
}

/// The least number of points that are read at once: more than most chunks of a LAZ file have.
const LEAST_BATCH: usize = 1 << 16;

/// What a reader does with the points that it keeps.
pub(crate) enum Keep<'a> {
    /// They stay in its cloud.
    All {
        /// Files that are read at the same time.
        at_once: usize,
        /// Whether none may lie outside of the bounds that its file's header states.
        is_checked: bool,
    },
    /// They are handed on.
    Batches {
        /// Points at once, at most.
        most: usize,
        /// Gets them.
        take: &'a mut dyn FnMut(&PointCloud) -> Result<()>,
    },
}

impl Keep<'_> {
    /// Whether the reader passes points on before it has read all.
    pub fn is_by_batches(&self) -> bool {
        matches!(self, Self::Batches { .. })
    }

    /// Whether all points stay, wherever they lie.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::All { is_checked: false, .. })
    }

    /// How many points to read at once, if a reader of one file reads `usual`.
    pub fn batch(&self, usual: usize) -> usize {
        match self {
            Self::All { at_once, .. } => (usual / at_once).max(LEAST_BATCH),
            // The kept points of one batch wait for the next.
            Self::Batches { most, .. } => usual.min(most.div_ceil(2)),
        }
    }

    /// Returns how many points a cloud may take before the reader passes it on.
    pub fn room(&self, cloud: &PointCloud) -> usize {
        match self {
            Self::All { .. } => usize::MAX,
            Self::Batches { most, .. } => most.saturating_sub(cloud.len()).max(1),
        }
    }

    /// Whether to compare points with the bounds of their file's header now.
    pub fn is_to_check(&self, cloud: &PointCloud, is_last: bool) -> bool {
        match self {
            Self::All { is_checked, .. } => *is_checked && is_last,
            Self::Batches { .. } => self.is_due(cloud, is_last),
        }
    }

    /// Whether to pass on the kept points now: another batch might not fit beside them, or this was the last batch.
    pub fn is_due(&self, cloud: &PointCloud, is_last: bool) -> bool {
        let Self::Batches { most, .. } = self else { return false };
        !cloud.is_empty() && (is_last || cloud.len() >= most.div_ceil(2))
    }

    /// Passes on the kept points, if that is due.
    pub fn hand_on(&mut self, cloud: &mut PointCloud, is_last: bool) -> Result<()> {
        if !self.is_due(cloud, is_last) {
            return Ok(());
        }
        if let Self::Batches { take, .. } = self {
            take(cloud)?;
            cloud.columns().for_each(Vec::clear);
            cloud.class.iter_mut().for_each(Vec::clear);
            cloud.numbers.iter_mut().for_each(Vec::clear);
        }
        Ok(())
    }
}

/// The statements of a point file's header about all its points.
///
/// Example: see [`read_header`](crate::read_header).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Points.
    pub points: u64,
    /// Where they lie.
    pub bounds: Option<Bounds>,
    /// The lowest and the highest elevation.
    pub heights: Option<[f64; 2]>,
    /// The coordinate reference system.
    pub crs: Option<Crs>,
    /// Notes, in words, on statements of the file that contradict its points, and on parts that the reader ignored.
    pub notes: Vec<String>,
}

/// The part of the file name behind the last dot, in lower case.
pub(crate) fn ending(path: &Path) -> String {
    // In an address, the part before the question mark.
    let text = path.to_string_lossy();
    let path = match is_url(path) {
        true => Path::new(text.split(['?', '#']).next().unwrap_or_default()),
        false => path,
    };
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Tells the progress where the reading is.
pub(crate) fn report(progress: &dyn Progress, done: u64, total: u64) -> Result<()> {
    let fraction = if total == 0 { 1.0 } else { (done as f64 / total as f64).min(1.0) };
    match progress.report("Reading points", fraction) {
        std::ops::ControlFlow::Continue(()) => Ok(()),
        std::ops::ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_points;

    #[test]
    fn returns_are_words_both_ways() {
        for returns in [Returns::All, Returns::First, Returns::Last] {
            assert_eq!(returns.to_string().parse::<Returns>().unwrap(), returns);
        }
        assert!("second".parse::<Returns>().unwrap_err().to_string().contains("second"));
    }

    #[test]
    fn each_point_counts_once() {
        let bounds = Some(Bounds { min_x: 0.0, min_y: 0.0, max_x: 1.0, max_y: 1.0 });
        let filter =
            Filter { classes: Some(vec![2]), returns: Returns::Last, bounds, numbered: false };
        let mut tally = Tally::default();
        let point = Attributes {
            x: 0.0,
            y: 1.0,
            class: 2,
            return_number: 2,
            number_of_returns: 2,
            withheld: false,
        };
        assert!(filter.keeps(point, &mut tally));
        assert!(!filter.keeps(Attributes { withheld: true, class: 3, ..point }, &mut tally));
        assert!(!filter.keeps(Attributes { class: 3, return_number: 1, ..point }, &mut tally));
        assert!(!filter.keeps(Attributes { return_number: 1, ..point }, &mut tally));
        assert!(!filter.keeps(Attributes { x: 1.5, ..point }, &mut tally));
        let expected = Tally {
            read: 5,
            kept: 1,
            dropped_class: 1,
            dropped_noise: 0,
            dropped_return: 1,
            dropped_withheld: 1,
            dropped_outside: 1,
        };
        assert_eq!(tally, expected);
    }

    #[test]
    fn many_points_are_added_as_few_are() {
        let cloud = |from: usize| {
            let x: Vec<f64> = (from..from + WORTH_THREADS / 2).map(|i| i as f64).collect();
            let class = Some(x.iter().map(|&v| v as u8).collect());
            let (y, z) = (x.iter().map(|v| -v).collect(), x.iter().map(|v| 0.5 * v).collect());
            let numbers = Some((0..x.len() as u32).collect());
            let values = vec![x.iter().rev().copied().collect()];
            PointCloud { x, y, z, class, numbers, values, ..PointCloud::default() }
        };
        let clouds: Vec<_> = [0, 7, 91].map(|from| (cloud(from), 100_000 + from as u64)).into();
        let mut expected = cloud(3);
        let mut found = expected.clone();
        for (other, first) in &clouds {
            expected.append(Path::new("a"), (other, *first), 0..other.len()).unwrap();
        }
        found.append_all(Path::new("a"), &clouds).unwrap();
        assert!(found == expected);
        assert_eq!(found.len(), 2 * WORTH_THREADS);
    }

    #[test]
    fn noise_is_kept_only_where_it_is_asked_for() {
        let point = |class| Attributes {
            x: 0.0,
            y: 0.0,
            class,
            return_number: 1,
            number_of_returns: 1,
            withheld: false,
        };
        let asked = Filter { classes: Some(vec![2, 18]), ..Filter::default() };
        for (filter, kept, noise) in [(Filter::default(), 1, 2), (asked, 2, 0)] {
            let mut tally = Tally::default();
            for class in [2, 7, 18] {
                filter.keeps(point(class), &mut tally);
            }
            assert_eq!((tally.kept, tally.dropped_noise), (kept, noise));
        }
    }

    #[test]
    fn missing_empty_and_unknown_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| {
            read_points(
                &folder.path().join(name),
                &Filter::default(),
                &Default::default(),
                &gpu_core::Silent,
            )
            .unwrap_err()
        };
        std::fs::write(folder.path().join("empty.LAZ"), b"").unwrap();
        std::fs::write(folder.path().join("text.las"), b"not a cloud").unwrap();
        std::fs::write(folder.path().join("points.ply"), b"ply").unwrap();
        assert!(matches!(read("missing.las"), Error::Read { .. }));
        assert!(matches!(read("empty.LAZ"), Error::Empty { .. }));
        assert!(matches!(read("text.las"), Error::NotA { .. }));
        assert!(matches!(read("points.ply"), Error::UnknownEnding { .. }));
    }
}
