//! What can go wrong.

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of triangulations and of searches in them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The columns, or memory.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// The coordinates, as whole numbers of the least unit of which all are multiples, have too many bits.
    #[error(
        "coordinates between {least:e} and {greatest:e} in magnitude need {bits} bits in one \
         fixed-point number, more than {most}: round the smallest coordinates to 0"
    )]
    Range {
        /// The least magnitude but 0.
        least: f64,
        /// The greatest.
        greatest: f64,
        /// The number of bits from the highest to the lowest bit of all coordinates.
        bits: u32,
        /// The most.
        most: u32,
    },
    /// An index of some points of a larger set.
    #[error("the index names point {highest}, but has {points} points: index all points")]
    NotAllPoints {
        /// The greatest index of a point.
        highest: u32,
        /// How many points the index has.
        points: u64,
    },
    /// Lines cannot be divided by these lengths.
    #[error(
        "cannot divide lines into pieces of {longest} down to {least}: give lengths above 0 and finite, the second no \
         greater than the first"
    )]
    Splitting {
        /// The greatest length of a piece.
        longest: f64,
        /// The length below which pieces are not divided.
        least: f64,
    },
    /// A primitive failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Scan(gpu_scan::Error),
    /// The index of the points failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Index(quadtree_sort::Error),
}

#[cfg(feature = "cuda")]
gpu_core::wrap_errors! {
    gpu_scan::Error => Scan;
    quadtree_sort::Error => Index;
}
