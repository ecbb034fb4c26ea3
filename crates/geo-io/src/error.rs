//! What can go wrong with files.

use std::any::Any;
use std::fmt::Display;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use gpu_core::Shortest;

/// The result of geo-io's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong while a file is read or written. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is missing or unreadable, or the system failed while reading it.
    #[error("cannot read {}: {}", path.display(), plain(reason))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// The file has zero bytes.
    #[error("{} is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file does not start as its format does.
    #[error("{} is not a {format} file", path.display())]
    NotA {
        /// The file.
        path: PathBuf,
        /// The format expected.
        format: &'static str,
    },
    /// The caller expects a table, but the file has another format, whatever its name.
    #[error("{} is {format}", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// What it is, and what to do.
        format: &'static str,
    },
    /// The file's ending means no format that this call takes. Of an input: it exists, or is an address.
    #[error("{}: unknown file ending, use one of {known}", path.display())]
    UnknownEnding {
        /// The file.
        path: PathBuf,
        /// The endings known.
        known: &'static str,
    },
    /// This build of geo-io does not read the file's format.
    #[error("{}: this format needs geo-io's feature {feature}: build this program with it", path.display())]
    NotBuilt {
        /// The file.
        path: PathBuf,
        /// The feature that reads it.
        feature: &'static str,
    },
    /// The file contradicts itself, or uses its format in a way that is not supported.
    #[error("{} is damaged or not supported: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The file ends before its last point.
    #[error("{} is truncated: its header promises {expected} points, it holds {found}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Points that the header promises.
        expected: u64,
        /// Whole points before the end.
        found: u64,
    },
    /// A table has no column of that name.
    #[error("{} has no column \"{column}\"; its columns are {columns}", path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The name looked for.
        column: String,
        /// The names there, comma-separated.
        columns: String,
        /// Whether the column is for a further value ([`CsvColumns::values`](crate::CsvColumns::values)), not for a
        /// coordinate.
        is_value: bool,
    },
    /// A LAS or LAZ file has no such field.
    #[error("{} has no field \"{field}\"; its point format has {fields}", path.display())]
    NoField {
        /// The file.
        path: PathBuf,
        /// The name looked for.
        field: String,
        /// The names of those there, comma-separated.
        fields: String,
    },
    /// A table has several columns of that name.
    #[error(
        "{} has {count} columns of the name \"{column}\": rename all but one",
        path.display()
    )]
    AmbiguousColumn {
        /// The file.
        path: PathBuf,
        /// The name looked for.
        column: String,
        /// Columns that have it, in upper or lower case.
        count: usize,
    },
    /// A table's field is not a finite number, or is empty.
    #[error(
        "{}, row {row}{}, column \"{column}\": {}",
        path.display(),
        line.map(|line| format!(" (line {line})")).unwrap_or_default(),
        bad_field(text, expected)
    )]
    BadField {
        /// The file.
        path: PathBuf,
        /// Data row; the first below the column names is 1.
        row: u64,
        /// Line in the file, from 1; `None` for a format without lines.
        line: Option<u64>,
        /// The column's name.
        column: String,
        /// The field as it stands; empty for a null.
        text: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A filter needs an attribute that the points do not have.
    #[error("{} has no {what}, so its points cannot be chosen by it", path.display())]
    NoAttribute {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// A word that is not one of the choices.
    #[error("unknown {what} \"{text}\": use {known}")]
    UnknownChoice {
        /// What is chosen.
        what: &'static str,
        /// As given.
        text: String,
        /// The choices.
        known: &'static str,
    },
    /// A word that is not a number.
    #[error("\"{text}\" is not a number")]
    NotANumber {
        /// As given.
        text: String,
    },
    /// A coordinate reference system that is not of the form `EPSG:N`, or unknown.
    #[error("unknown coordinate reference system \"{text}\": {reason}")]
    UnknownCrs {
        /// As given.
        text: String,
        /// Why it was not taken.
        reason: &'static str,
    },
    /// An archive has no array of that name.
    #[error("{} has no array \"{name}\"; its arrays are {names}", path.display())]
    NoArray {
        /// The file.
        path: PathBuf,
        /// The name looked for.
        name: String,
        /// The names there, comma-separated.
        names: String,
    },
    /// An archive has no array or several, and the caller named none.
    #[error("{}: it must hold one array, or one named mask; it has {names}", path.display())]
    NotOneArray {
        /// The file.
        path: PathBuf,
        /// The names there, comma-separated.
        names: String,
    },
    /// Values and their stated shape disagree.
    #[error("{what}: {found} values, expected {expected}")]
    Shape {
        /// The argument.
        what: &'static str,
        /// Values expected.
        expected: u64,
        /// Values given.
        found: u64,
    },
    /// An array has other sides than the raster, or rows that do not lie one after the other.
    #[error(
        "array: {rows} x {columns} with strides {strides:?}, expected {height} rows and {width} columns that lie row after row: \
         copy other views first (as_standard_layout)"
    )]
    Array {
        /// Rows of the array.
        rows: usize,
        /// Its columns.
        columns: usize,
        /// Elements from one row to the next, and from one column to the next.
        strides: Vec<isize>,
        /// Columns of the raster.
        width: usize,
        /// Its rows.
        height: usize,
    },
    /// A value that cannot be used.
    #[error("{what} {} is not {expected}", Shortest(*value))]
    BadValue {
        /// The argument.
        what: &'static str,
        /// As given.
        value: f64,
        /// What it should be.
        expected: &'static str,
    },
    /// A value would be lost, since the same value stands for NODATA in the file.
    #[error("cannot write {}: a cell has the value {}, which stands for NODATA: choose another", path.display(), Shortest(*value))]
    NodataTaken {
        /// The file.
        path: PathBuf,
        /// The value.
        value: f32,
    },
    /// The data do not fit into memory.
    #[error(
        "{}: not enough memory: this takes {} MiB",
        path.display(), asked.div_ceil(1 << 20)
    )]
    OutOfMemory {
        /// The file.
        path: PathBuf,
        /// Bytes asked for.
        asked: u64,
    },
    /// The folder of an output does not exist.
    #[error("cannot write {}: the folder {} does not exist", path.display(), folder.display())]
    NoFolder {
        /// The output.
        path: PathBuf,
        /// The missing folder.
        folder: PathBuf,
    },
    /// The file could not be written. Nothing was left behind.
    #[error("cannot write {}: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The output's file exists already, and must stay.
    #[error("{} exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The output's file exists with other content, and nothing may replace it.
    #[error("{} exists already and differs from the new content", path.display())]
    Differs {
        /// The file.
        path: PathBuf,
    },
    /// An output would replace an input, or another output.
    #[error("the output {} is the same file as {role} {}", path.display(), other.display())]
    SameFile {
        /// The output.
        path: PathBuf,
        /// What the other is.
        role: &'static str,
        /// The other's name.
        other: PathBuf,
    },
    /// The caller's progress ended the work.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    pub(crate) fn read(path: &Path, reason: io::Error) -> Self {
        Self::Read { path: path.to_owned(), reason }
    }

    pub(crate) fn malformed(path: &Path, reason: impl Display) -> Self {
        Self::Malformed { path: path.to_owned(), reason: one_line(&reason) }
    }

    pub(crate) fn write(path: &Path, reason: impl Display) -> Self {
        Self::Write { path: path.to_owned(), reason: one_line(&reason) }
    }
}

/// What is wrong with a table's field.
fn bad_field(text: &str, expected: &str) -> String {
    match text {
        "" => format!("the field is empty: give it {expected}, or leave the row out"),
        _ => format!("\"{text}\" is not {expected}"),
    }
}

/// A reason without the number that the system has for it.
fn plain(reason: &io::Error) -> String {
    let text = reason.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Other libraries' messages may hold line breaks; a message of this crate is one line.
fn one_line(text: &impl Display) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a decoder of another crate that may panic on damaged data, and makes that an `Err`.
///
/// The decoder's state is not used again after a panic, hence the assertion of unwind safety.
/// The panic hook has printed the panic by then; programs that want silence set their own.
pub(crate) fn unwinding<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    let text = |panic: Box<dyn Any + Send>| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().map_or_else(|_| "?".to_owned(), |s| s.to_string()),
    };
    catch_unwind(AssertUnwindSafe(decode))
        .map_err(|panic| format!("the decoder failed ({})", one_line(&text(panic))))
}
