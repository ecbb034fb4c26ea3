//! What can go wrong with an interpolation.

use gpu_core::Shortest;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with an interpolation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The points have no column of values.
    #[error("the points have no values")]
    NoValues,
    /// A coordinate or a value of a point is infinite or NaN.
    #[error(
        "point {index} is not finite: ({}, {}), value {}",
        Shortest(*x),
        Shortest(*y),
        Shortest(*value)
    )]
    NotFinite {
        /// The point.
        index: usize,
        /// Its x.
        x: f64,
        /// Its y.
        y: f64,
        /// The value that is not finite, else the first.
        value: f64,
    },
    /// A value is beyond the range of f32, but results are f32.
    #[error("value {index} is {value:e}, beyond what an f32 holds: interpolate in f64")]
    Value {
        /// The point.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// The value for missing results is beyond the range of f32, but results are f32.
    #[error("the value {value:e} for missing results is beyond what an f32 holds")]
    Nodata {
        /// As given.
        value: f64,
    },
    /// The distance from a target to its nearest point is beyond the range of f32, but statistics are f32.
    #[error("the nearest point of target {index} is farther than an f32 holds: interpolate in f64")]
    Distance {
        /// The target.
        index: usize,
    },
    /// A latitude is beyond a pole.
    #[error("point {index}: latitude {latitude} is not between -90 and 90")]
    Latitude {
        /// The point.
        index: usize,
        /// As given.
        latitude: f64,
    },
    /// A target is infinite or NaN, or beyond a pole.
    #[error("target {index} is not a place: ({}, {})", Shortest(*x), Shortest(*y))]
    Target {
        /// The target.
        index: usize,
        /// Its x.
        x: f64,
        /// Its y.
        y: f64,
    },
    /// The square of a coordinate leaves the range of f64: it is beyond 1e150, or nearer to 0 than 1e-130
    /// and not 0. Not on the sphere.
    #[error(
        "{what} {index}: ({}, {}) has a coordinate that is neither 0 nor between 1e-130 and 1e150",
        Shortest(*x),
        Shortest(*y)
    )]
    Place {
        /// A point or a target.
        what: &'static str,
        /// Which.
        index: usize,
        /// Its x.
        x: f64,
        /// Its y.
        y: f64,
    },
    /// The radii must be finite, and both 0 (no limit) or both positive (at least 1e-130).
    #[error(
        "radii {} and {} must be finite, and both 0 or both at least 1e-130",
        Shortest(*radius1),
        Shortest(*radius2)
    )]
    Radius {
        /// As given.
        radius1: f64,
        /// As given.
        radius2: f64,
    },
    /// The value range is empty, not finite, or beyond the range of f32 if results are f32.
    #[error("the value range from {min:e} to {max:e} is empty, or beyond the results' type")]
    ValueRange {
        /// As given.
        min: f64,
        /// As given.
        max: f64,
    },
    /// The least number of points is above the greatest.
    #[error("the minimum of {min} points is above the maximum of {max}")]
    MinAboveMax {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// Two options exclude each other.
    #[error("{option} does not work with {with}")]
    Conflict {
        /// The option.
        option: &'static str,
        /// What it cannot be combined with.
        with: &'static str,
    },
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// The grid, the device or the memory failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
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
