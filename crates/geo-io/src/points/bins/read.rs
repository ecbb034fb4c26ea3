//! Reading a rectangle of bins.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, Progress};

use super::format::{Entry, HEADER, Header, PIECE, record};
use super::{run_path, runs};
use crate::points::report;
use crate::{Error, Result};

/// Blocks that are worth a task of their own.
const BLOCKS: usize = 8;

/// All ground.
const EVERYWHERE: Bounds = Bounds {
    min_x: f64::NEG_INFINITY,
    min_y: f64::NEG_INFINITY,
    max_x: f64::INFINITY,
    max_y: f64::INFINITY,
};

/// Bins that are whole.
///
/// ```
/// use geo_io::{BinSpec, BinWriter, Bins};
/// use gpu_core::{Bounds, Silent};
///
/// # let folder = tempfile::tempdir()?;
/// let ground = Bounds { min_x: 0.0, min_y: 0.0, max_x: 8.0, max_y: 8.0 };
/// let mut writer = BinWriter::open(folder.path(), &BinSpec::new("survey", ground, 2), 1 << 20)?;
/// writer.push(&[1.0, 7.0], &[1.0, 7.0], &[&[10.0, 70.0]])?; // x, y and a value of each
/// writer.finish()?;
///
/// let bins = Bins::open(folder.path(), "survey")?.expect("they are whole");
/// let west = Bounds { max_x: 2.0, ..ground };
/// let found = bins.read(&west, &Silent)?;
/// assert_eq!((found.x, found.values), (vec![1.0], vec![vec![10.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bins {
    folder: PathBuf,
    runs: Vec<Header>,
}

/// Points of bins, in columns: entry `i` of each is point `i`.
///
/// Example: see [`Bins`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Binned {
    /// Eastings or longitudes.
    pub x: Vec<f64>,
    /// Northings or latitudes.
    pub y: Vec<f64>,
    /// Values, a column each.
    pub values: Vec<Vec<f64>>,
}

impl Bins {
    /// Opens the bins of a folder; `None` if there are none, or if their writer did not finish. Reads the header of
    /// each run.
    ///
    /// # Errors
    /// [`Error::NotA`] and [`Error::Malformed`] for a run that is damaged or has another id, and the errors of reading.
    pub fn open(folder: &Path, id: &str) -> Result<Option<Self>> {
        let (runs, is_whole) = runs(folder, id)?;
        Ok(is_whole.then(|| Self { folder: folder.to_owned(), runs }))
    }

    /// Points.
    pub fn points(&self) -> u64 {
        self.runs.iter().map(|run| run.points).sum()
    }

    /// Values of a point.
    pub fn values(&self) -> usize {
        self.runs.first().map_or(0, |run| run.values)
    }

    /// Reads the points within a rectangle, edges included, in the order in which they were written. It reports the
    /// share of the runs read to `progress`.
    ///
    /// All cores read the blocks that the rectangle touches, a quarter of a megabyte at a time. Memory: 8 bytes for
    /// each column of each point. For the points of one run at a time, it takes 4 more bytes, and 8 more for each
    /// column.
    ///
    /// # Errors
    /// - [`Error::Malformed`]: a run is damaged.
    /// - [`Error::OutOfMemory`], [`Error::Cancelled`], and the errors of reading.
    pub fn read(&self, bounds: &Bounds, progress: &dyn Progress) -> Result<Binned> {
        self.read_with(bounds, &(0..u64::MAX), progress, |_, _| {})
    }

    /// Reads the points of a range of numbers, in order. Points have numbers from 0, in the order of writing. Use it to
    /// process all points, some at a time. It reads runs with such points whole. Memory: as [`read`](Self::read).
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn read_range(&self, numbers: Range<u64>, progress: &dyn Progress) -> Result<Binned> {
        self.read_with(&EVERYWHERE, &numbers, progress, |_, _| {})
    }

    /// Reads like [`read`](Self::read), and also returns the number of each point among all written points, from 0.
    /// This takes 8 more bytes a point.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn read_numbered(
        &self,
        bounds: &Bounds,
        progress: &dyn Progress,
    ) -> Result<(Binned, Vec<u64>)> {
        let mut numbers = Vec::new();
        let all = 0..u64::MAX;
        let binned = self.read_with(bounds, &all, progress, |before, places| {
            numbers.extend(places.iter().map(|&place| before + u64::from(place)));
        })?;
        Ok((binned, numbers))
    }

    /// Reads, and shows of each run the points of those before it and the places of its own, in their order.
    fn read_with(
        &self,
        bounds: &Bounds,
        numbers: &Range<u64>,
        progress: &dyn Progress,
        mut show: impl FnMut(u64, &[u32]),
    ) -> Result<Binned> {
        let mut columns = vec![Vec::new(); 2 + self.values()];
        let mut before = 0;
        for (number, run) in self.runs.iter().enumerate() {
            report(progress, number as u64, self.runs.len() as u64)?;
            let places = numbers.start.saturating_sub(before)..numbers.end.saturating_sub(before);
            if touches(&run.bounds, bounds) && places.start < run.points && places.end > 0 {
                let path = run_path(&self.folder, number as u32);
                let part = Part { run, path: &path, bounds, places };
                show(before, &part.read_into(&mut columns)?);
            }
            before += run.points;
        }
        report(progress, 1, 1)?;
        let mut columns = columns.into_iter();
        let mut next = || columns.next().unwrap_or_default();
        Ok(Binned { x: next(), y: next(), values: columns.collect() })
    }
}

fn touches(a: &Bounds, b: &Bounds) -> bool {
    a.min_x <= b.max_x && a.max_x >= b.min_x && a.min_y <= b.max_y && a.max_y >= b.min_y
}

/// The part of a run within a rectangle, and with places in a range.
struct Part<'a> {
    run: &'a Header,
    path: &'a Path,
    bounds: &'a Bounds,
    places: Range<u64>,
}

impl Part<'_> {
    /// Appends the points to columns of x, y and values; gives their places, which rise.
    fn read_into(&self, columns: &mut [Vec<f64>]) -> Result<Vec<u32>> {
        let mut file = File::open(self.path).map_err(|e| Error::read(self.path, e))?;
        let entries = self.run.read_index(self.path, &mut file)?;
        let touched: Vec<Entry> = entries.into_iter().filter(|entry| self.has(entry)).collect();
        let parts = parallel::map_ranges(touched.len(), BLOCKS, &|range| {
            self.read_blocks(&touched[range], columns.len())
        });
        let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
        let points = parts.iter().map(|(_, places)| places.len()).sum();
        self.reserve(columns, points)?;
        let (first, mut places) = (columns[0].len(), Vec::with_capacity(points));
        for (of_part, of_places) in parts {
            for (column, part) in columns.iter_mut().zip(of_part) {
                column.extend_from_slice(&part);
            }
            places.extend(of_places);
        }
        sort_by_place(&mut places, columns, first);
        Ok(places)
    }

    /// The points of some blocks that are of the part, in columns, and their places in the run.
    fn read_blocks(&self, blocks: &[Entry], columns: usize) -> Result<(Vec<Vec<f64>>, Vec<u32>)> {
        let failed = |e: std::io::Error| Error::read(self.path, e);
        let mut file = File::open(self.path).map_err(failed)?;
        let (mut columns, mut places) = (vec![Vec::new(); columns], Vec::new());
        // Where the file stands: blocks that are neighbours in it are read without a jump.
        let mut at = None;
        for entry in blocks {
            if at != Some(entry.first) {
                let offset = HEADER as u64 + entry.first * record(self.run.values) as u64;
                file.seek(SeekFrom::Start(offset)).map_err(failed)?;
            }
            self.reserve(&mut columns, entry.points as usize)?;
            self.read_block(&mut file, entry, &mut columns, &mut places)?;
            at = Some(entry.first + u64::from(entry.points));
        }
        Ok((columns, places))
    }

    /// Whether a block may have points within the rectangle.
    fn has(&self, entry: &Entry) -> bool {
        let (blocks, b) = (&self.run.blocks, self.bounds);
        let (row, column) = (entry.block / blocks.columns, entry.block % blocks.columns);
        (blocks.column(b.min_x)..=blocks.column(b.max_x)).contains(&column)
            && (blocks.row(b.min_y)..=blocks.row(b.max_y)).contains(&row)
    }

    /// Room for more points.
    fn reserve(&self, columns: &mut [Vec<f64>], points: usize) -> Result<()> {
        let asked = (points * columns.len() * 8) as u64;
        let made = columns.iter_mut().try_for_each(|column| column.try_reserve(points));
        made.map_err(|_| Error::OutOfMemory { path: self.path.to_owned(), asked })
    }

    /// Appends the points of a block that are of the part, and their places in the run.
    fn read_block(
        &self,
        file: &mut File,
        entry: &Entry,
        columns: &mut [Vec<f64>],
        places: &mut Vec<u32>,
    ) -> Result<()> {
        let record = record(self.run.values);
        let mut left = entry.points as usize;
        let mut piece = vec![0; left.min(PIECE / record) * record];
        let mut checksum = crc32fast::Hasher::new();
        while left > 0 {
            let count = left.min(PIECE / record);
            let bytes = &mut piece[..count * record];
            file.read_exact(bytes).map_err(|e| Error::read(self.path, e))?;
            checksum.update(bytes);
            for point in bytes.chunks_exact(record) {
                let (words, place) = point.as_chunks::<8>();
                let [x, y] = [0, 1].map(|i| f64::from_le_bytes(words[i]));
                if !(x.is_finite() && y.is_finite()) {
                    return Err(Error::malformed(
                        self.path,
                        "one of its points has a coordinate that is not a number",
                    ));
                }
                let place = u32::from_le_bytes([place[0], place[1], place[2], place[3]]);
                if u64::from(place) >= self.run.points {
                    return Err(Error::malformed(
                        self.path,
                        "one of its points lies outside its blocks",
                    ));
                }
                let b = self.bounds;
                let is_within = x >= b.min_x && x <= b.max_x && y >= b.min_y && y <= b.max_y;
                if is_within && self.places.contains(&u64::from(place)) {
                    for (column, &word) in columns.iter_mut().zip(words) {
                        column.push(f64::from_le_bytes(word));
                    }
                    places.push(place);
                }
            }
            left -= count;
        }
        if checksum.finalize() != entry.checksum {
            return Err(Error::malformed(self.path, "its points are damaged"));
        }
        Ok(())
    }
}

/// Sorts the points from `first` on by their places, and these.
fn sort_by_place(places: &mut [u32], columns: &mut [Vec<f64>], first: usize) {
    if places.is_sorted() {
        return;
    }
    let numbered =
        places.iter().zip(0_u32..).map(|(&place, i)| (u64::from(place) << 32) | u64::from(i));
    let mut order: Vec<u64> = numbered.collect();
    parallel::sort(&mut order);
    for column in columns {
        let of = column[first..].to_vec();
        parallel::for_each(&mut column[first..], FINE, |i, value| {
            *value = of[order[i] as u32 as usize];
        });
    }
    places.iter_mut().zip(order).for_each(|(place, key)| *place = (key >> 32) as u32);
}
