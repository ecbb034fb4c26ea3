//! Points on disk in bins: a program reads the points of a rectangle without reading all, in their original order.
//!
//! Files of points are compressed, and their order does not follow the ground: to find the points of a rectangle, a
//! program must unpack every file that touches it. A program that needs many rectangles, one after the other, first
//! sorts the points into bins. Then it reads each file once ([`read_batches`](crate::read_batches)), and for a
//! rectangle little more than its own points.
//!
//! **Runs.** A [`BinWriter`] takes points until its memory is full. It sorts them by the square block of ground in
//! which they lie, keeping their order within each block, and writes them as a file: a run. So there are few files, of
//! which one is open at a time, written from beginning to end. Memory is bounded by one run, for any number of blocks.
//! A run also stores each point's position in the run. A rectangle reads the blocks of each run that it touches, drops
//! the points outside, and sorts the rest by position: this restores the original order.
//!
//! **Whole or not.** A run appears whole under its name or not at all, and says where in the inputs it begins and ends.
//! So if a writer was killed, another writer continues after the last run ([`BinWriter::position`]). The last run says
//! that it is the last. Without it, the bins are incomplete. Header, index and blocks have checksums (CRC-32); a reader
//! names the damaged part.
//!
//! The format is little-endian: `format.rs` has its fields. A point takes 20 bytes and 8 for each of its values.

mod blocks;
mod format;
mod read;
mod write;

use std::fs;
use std::path::{Path, PathBuf};

use gpu_core::Bounds;

pub use format::Position;
pub use read::{Binned, Bins};
pub use write::BinWriter;

use crate::{Error, Result};
use blocks::Blocks;
use format::Header;

/// What bins are of.
///
/// Example: see [`remove_bins`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BinSpec {
    /// The id by which programs recognise the bins: at most 32 bytes.
    pub id: String,
    /// Where the points lie. The bounds of the blocks. Points outside go into the blocks at the edges.
    pub ground: Bounds,
    /// The approximate number of points, which decides the size of blocks.
    pub points: u64,
    /// Values of a point, beside x and y; 32,765 at most.
    pub values: usize,
}

impl BinSpec {
    /// Points of one value.
    pub fn new(id: impl Into<String>, ground: Bounds, points: u64) -> Self {
        Self { id: id.into(), ground, points, values: 1 }
    }

    /// Sets the field `values`: the number of values of a point.
    pub fn values(self, values: usize) -> Self {
        Self { values, ..self }
    }

    /// Returns the bytes of `points` points on disk, headers aside.
    pub fn bytes(&self, points: u64) -> u64 {
        points.saturating_mul(format::record(self.values) as u64)
    }
}

/// The file of a run.
fn run_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number}.points"))
}

/// The runs that are there, from the first on, and whether the last of all is among them.
///
/// Each must go on where the one before ends, and be of the same points and blocks.
fn runs(folder: &Path, id: &str) -> Result<(Vec<Header>, bool)> {
    let mut runs: Vec<Header> = Vec::new();
    loop {
        let number = runs.len() as u32;
        let path = run_path(folder, number);
        if !path.try_exists().map_err(|e| Error::read(&path, e))? {
            return Ok((runs, false));
        }
        let header = Header::read(&path)?;
        if header.id != id {
            return Err(Error::malformed(&path, "it holds other points than this run"));
        }
        let begin = runs.last().map_or(Position::default(), |last| last.end);
        let is_next = header.number == number
            && header.begin == begin
            && runs.first().is_none_or(|first| first.is_beside(&header));
        if !is_next {
            return Err(Error::malformed(
                &path,
                "it does not continue where the previous file ends",
            ));
        }
        let is_last = header.is_last;
        runs.push(header);
        if is_last {
            return Ok((runs, true));
        }
    }
}

/// Removes bins, and their folder if nothing else is in it; returns how many files it removed. Other files stay.
///
/// ```
/// use geo_io::{BinSpec, BinWriter, Bins, remove_bins};
/// use gpu_core::{Bounds, Silent};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("bins");
/// let ground = Bounds { min_x: 0.0, min_y: 0.0, max_x: 8.0, max_y: 8.0 };
/// std::fs::create_dir(&path)?;
/// let mut writer = BinWriter::open(&path, &BinSpec::new("survey", ground, 2), 1 << 20)?;
/// writer.push(&[1.0, 7.0], &[1.0, 7.0], &[&[10.0, 70.0]])?; // x, y and a value of each
/// writer.finish()?;
/// let bins = Bins::open(&path, "survey")?.expect("they are whole");
/// assert_eq!(bins.points(), 2);
/// assert_eq!(remove_bins(&path)?, 1); // a file
/// assert!(!path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Read`] for a folder that cannot be listed, [`Error::Write`] for a file that cannot be removed.
pub fn remove_bins(folder: &Path) -> Result<u64> {
    if !folder.is_dir() {
        return Ok(0);
    }
    let failed = |e: std::io::Error| Error::read(folder, e);
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".points"));
        numbers.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    // From the last on: what is left after any of them are bins that are not whole.
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    for &number in &numbers {
        let path = run_path(folder, number);
        fs::remove_file(&path).map_err(|e| Error::write(&path, e))?;
    }
    // It stays where there is something else in it, or it is a link.
    let _ = fs::remove_dir(folder);
    Ok(numbers.len() as u64)
}
