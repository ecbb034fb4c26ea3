//! Points from a file, whatever its format.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use gpu_core::Progress;

use crate::{Crs, Error, Result, csv, las};

/// Points as columns of equal length, in the units of their coordinate system.
#[derive(Clone, Debug, Default)]
pub struct PointCloud {
    /// Eastings.
    pub x: Vec<f64>,
    /// Northings.
    pub y: Vec<f64>,
    /// Elevations, or the values of a table's column.
    pub z: Vec<f64>,
    /// Classes as the ASPRS numbers them (2 is ground), where the format has them.
    pub class: Option<Vec<u8>>,
    /// The coordinate system, where the file has one that can be read.
    pub crs: Option<Crs>,
    /// What was read and what was left out.
    pub tally: Tally,
}

/// What was read and what was left out, in points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Points in the file.
    pub read: u64,
    /// Points that passed the filter.
    pub kept: u64,
    /// Left out by their class.
    pub dropped_class: u64,
    /// Left out by their return number.
    pub dropped_return: u64,
    /// Left out because the file marks them as withheld: not to be used.
    pub dropped_withheld: u64,
}

/// Which returns of a laser pulse to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// Every return.
    #[default]
    All,
    /// The first of each pulse.
    First,
    /// The last of each pulse.
    Last,
}

impl Returns {
    /// Whether return `number` of `count` is kept.
    pub(crate) fn keep(self, number: u8, count: u8) -> bool {
        match self {
            Self::All => true,
            Self::First => number <= 1,
            Self::Last => number >= count,
        }
    }
}

impl fmt::Display for Returns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all",
            Self::First => "first",
            Self::Last => "last",
        })
    }
}

impl FromStr for Returns {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "all" => Ok(Self::All),
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            _ => Err(Error::UnknownReturns { text: text.to_owned() }),
        }
    }
}

/// Which points of a LAS or LAZ file to keep. Withheld points are always left out, and counted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Classes to keep; `None` keeps all.
    pub classes: Option<Vec<u8>>,
    /// Returns to keep.
    pub returns: Returns,
}

/// The columns of a table that hold the points.
#[derive(Clone, Debug)]
pub struct CsvColumns {
    /// Name of the x column.
    pub x: String,
    /// Name of the y column.
    pub y: String,
    /// Name of the z column.
    pub z: String,
}

impl Default for CsvColumns {
    fn default() -> Self {
        Self { x: "x".into(), y: "y".into(), z: "z".into() }
    }
}

/// Reads a point file: LAS 1.0-1.4 and LAZ (`.las`, `.laz`) or a table (`.csv`, `.txt`).
///
/// A file with no points gives no points. The filter is for LAS and LAZ, the columns' names (in any
/// case) for tables.
///
/// # Errors
/// [`Error::Ending`], [`Error::Io`], [`Error::Empty`], [`Error::Format`], [`Error::Truncated`],
/// [`Error::Column`], [`Error::Number`], [`Error::Cancelled`] where `progress` breaks.
pub fn read_points(
    path: &Path,
    filter: &Filter,
    columns: &CsvColumns,
    progress: &dyn Progress,
) -> Result<PointCloud> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let read: fn(&Path, &Filter, &CsvColumns, &dyn Progress) -> Result<PointCloud> =
        match ending.as_str() {
            "las" | "laz" => |path, filter, _, progress| las::read(path, filter, progress),
            "csv" | "txt" => |path, _, columns, _| csv::read(path, columns),
            _ => {
                let expected = ".las, .laz, .csv, .txt";
                return Err(Error::Ending { path: path.to_owned(), expected });
            }
        };
    let size = std::fs::metadata(path).map_err(Error::io(path))?.len();
    if size == 0 {
        return Err(Error::Empty { path: path.to_owned() });
    }
    read(path, filter, columns, progress)
}
