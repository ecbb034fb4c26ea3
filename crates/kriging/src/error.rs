//! What can go wrong.

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with kriging or a variogram.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The points have no column of values.
    #[error("the points have no values")]
    NoValues,
    /// The square of a coordinate is beyond f64.
    #[error(
        "{what} {index}: ({}, {}) has a coordinate beyond 1e150",
        gpu_core::Shortest(*x),
        gpu_core::Shortest(*y)
    )]
    Place {
        /// A point or a target.
        what: &'static str,
        /// Which.
        index: u64,
        /// Its x.
        x: f64,
        /// Its y.
        y: f64,
    },
    /// A value is so large that f64 may not hold its differences.
    #[error("value {index} is {value:e}, beyond 1e150")]
    Value {
        /// The point.
        index: u64,
        /// Its value.
        value: f64,
    },
    /// The least number of points is above the greatest.
    #[error("the minimum of {min} points is above the maximum of {max}")]
    MinAboveMax {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// A variogram without a sill: nothing varies.
    #[error("the variogram has no sill: the nugget and all structures are 0")]
    NoSill,
    /// A text that is not a variogram.
    #[error("{text:?} is not a variogram: {reason}")]
    Syntax {
        /// As given.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// An empirical variogram that no model can be fitted to.
    #[error("nothing to fit: {reason}")]
    Fit {
        /// What is wrong.
        reason: &'static str,
    },
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// The grid, the device or the memory failed, or a parameter or column is wrong.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
    /// A primitive failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Scan(gpu_scan::Error),
    /// The index of the points failed.
    #[error(transparent)]
    Index(quadtree_sort::Error),
}

gpu_core::wrap_errors! {
    quadtree_sort::Error => Index;
}

#[cfg(feature = "cuda")]
gpu_core::wrap_errors! {
    gpu_scan::Error => Scan;
}
