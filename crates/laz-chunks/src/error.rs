//! What can go wrong.

use std::path::PathBuf;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of reading and decoding chunks.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read, or is not LAZ.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Chunks without layers.
    #[error("the points are not of a point format from 6 to 10: decode them with the crate laz")]
    NoLayers,
    /// A chunk that contradicts itself.
    #[error("chunk {chunk} is damaged: {reason}")]
    Damaged {
        /// Its number among the packed chunks, from 0.
        chunk: usize,
        /// What is wrong.
        reason: String,
    },
    /// More bytes than one call takes.
    #[error("chunks of {bytes} bytes are too many for one call, 4294967295 fit: pack fewer chunks")]
    TooManyBytes {
        /// All chunks together.
        bytes: u64,
    },
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// Memory or the device failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
}
