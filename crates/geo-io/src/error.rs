//! What can go wrong with a file.

use std::path::{Path, PathBuf};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened, read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file has no bytes.
    #[error("{}: the file is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file's name has an ending that stands for no known format.
    #[error("{}: unknown ending, expected one of {expected}", path.display())]
    Ending {
        /// The file.
        path: PathBuf,
        /// The endings that are known here.
        expected: &'static str,
    },
    /// The file's content is not what its format asks for.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The file ends before the points that its header promises.
    #[error("{}: truncated: the header promises {promised} points, the file holds {found}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Points in the header.
        promised: u64,
        /// Points that could be read.
        found: u64,
    },
    /// A table lacks a column.
    #[error("{}: no column \"{column}\", there are: {there}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        column: String,
        /// The columns there.
        there: String,
    },
    /// A field of a table is not a finite number.
    #[error("{}: row {row}, column \"{column}\": \"{text}\" is not a finite number", path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// The row, counted from 1 after the header.
        row: u64,
        /// The column.
        column: String,
        /// The field.
        text: String,
    },
    /// A coordinate system that is not known.
    #[error(
        "unknown coordinate system \"{text}\": expected EPSG:N with a code of the EPSG registry"
    )]
    UnknownCrs {
        /// As given.
        text: String,
    },
    /// The folder of an output file does not exist.
    #[error("{}: the folder {} does not exist", path.display(), folder.display())]
    Folder {
        /// The output.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// A name that is none of `all`, `first`, `last`.
    #[error("unknown returns \"{text}\": use all, first or last")]
    UnknownReturns {
        /// As given.
        text: String,
    },
    /// The progress callback ended the call.
    #[error("reading was cancelled")]
    Cancelled,
    /// The host's memory does not suffice.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
}

impl Error {
    /// Names the file that an I/O error belongs to.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// Names the file whose content is wrong.
    pub(crate) fn format(path: &Path, reason: impl ToString) -> Self {
        Self::Format { path: path.to_owned(), reason: reason.to_string() }
    }
}
