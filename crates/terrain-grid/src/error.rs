//! What can go wrong with a terrain product.

use gpu_core::Shortest;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a terrain product.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The grid has more cells than indices can number.
    #[error("a DEM of {width} x {height} cells is too large")]
    TooLarge {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// The levels of contour lines do not rise.
    #[error("contour level {value} does not rise above the one before it")]
    Levels {
        /// The first that does not.
        value: f64,
    },
    /// There are too many levels for [`Levels::Every`](crate::Levels).
    #[error(
        "contour lines every {} from {} to {} have more than {most} levels: take a larger interval, or state NODATA where an end means that",
        Shortest(*interval), Shortest(*low), Shortest(*high)
    )]
    TooManyLevels {
        /// As given.
        interval: f64,
        /// The lowest value.
        low: f64,
        /// The highest value.
        high: f64,
        /// The most.
        most: u32,
    },
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// A primitive failed on the device.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Scan(gpu_scan::Error),
    /// The grid, the device or the memory failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
}

#[cfg(feature = "cuda")]
gpu_core::wrap_errors! {
    gpu_scan::Error => Scan;
}
