//! What can go wrong.

use gpu_core::{Bounds, Shortest};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of building, reading and searching a tree.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The columns, memory or the device.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// A leaf must be allowed to hold a point.
    #[error("a threshold of 0: a leaf holds at least one point")]
    Threshold,
    /// A level beyond the deepest.
    #[error("level {level} is beyond the deepest, {most}")]
    MaxLevel {
        /// As given.
        level: u32,
        /// The deepest.
        most: u32,
    },
    /// Bounds that are not finite, the wrong way round, or too far apart to subtract.
    #[error(
        "bounds {bounds} are not finite, are the wrong way round, or have sides that are not finite"
    )]
    Bounds {
        /// As given.
        bounds: Bounds,
    },
    /// A point beyond the bounds, where that is refused.
    #[error("point {index}, ({}, {}), lies outside the bounds", Shortest(*x), Shortest(*y))]
    Outside {
        /// The first such point, from 0.
        index: u64,
        /// Its x.
        x: f64,
        /// Its y.
        y: f64,
    },
    /// More nodes than a node can name.
    #[error("{nodes} nodes; a tree holds at most {most}: raise the threshold or lower the level")]
    TooManyNodes {
        /// As the points would need.
        nodes: u64,
        /// The most.
        most: u64,
    },
    /// Too little device memory to do anything.
    #[error("a budget of {bytes} bytes of device memory is too small: give at least {least}")]
    Budget {
        /// As given.
        bytes: u64,
        /// The least.
        least: u64,
    },
    /// A window is not a rectangle.
    #[error("window {index}, {window}, is no rectangle")]
    Window {
        /// The first such window, from 0.
        index: u64,
        /// As given.
        window: Bounds,
    },
    /// A disc is not valid.
    #[error(
        "disc {index} around ({}, {}) has radius {}; all are finite, and no radius negative",
        Shortest(*x), Shortest(*y), Shortest(*radius)
    )]
    Disc {
        /// The first such disc, from 0.
        index: u64,
        /// x of its centre.
        x: f64,
        /// y of its centre.
        y: f64,
        /// Its radius.
        radius: f64,
    },
    /// A place of a polygon that is not finite.
    #[error("polygon {polygon} has a vertex ({x}, {y}) that is not finite")]
    Vertex {
        /// Which polygon, from 0.
        polygon: u64,
        /// x of the place.
        x: f64,
        /// y of the place.
        y: f64,
    },
    /// A place or point is not on the globe.
    #[error(
        "{what} {index}, ({}, {}), is not on the globe: longitudes are from -360 to 360 degrees, latitudes from -90 to 90",
        Shortest(*longitude), Shortest(*latitude)
    )]
    Globe {
        /// A place, or a point of the tree.
        what: &'static str,
        /// The first such one, as given, from 0.
        index: u64,
        /// Its longitude.
        longitude: f64,
        /// Its latitude.
        latitude: f64,
    },
    /// More places or regions than a search on the host can number.
    #[error("{count} {what} in one search are more than {most}: search in parts")]
    TooMany {
        /// Places or regions.
        what: &'static str,
        /// As given.
        count: u64,
        /// The most.
        most: u64,
    },
    /// No neighbours wanted.
    #[error("0 nearest points: ask for at least one")]
    NoNeighbours,
    /// A file cannot be read or written.
    #[error("{path}: {message}")]
    File {
        /// Which.
        path: String,
        /// The system's words.
        message: String,
    },
    /// The file is no tree, or a damaged one.
    #[error("{path}: not a quadtree: {what}")]
    Damaged {
        /// Which.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// Indices that points cannot have among more.
    #[error(
        "{indices} indices for {points} points among {given}: give one for each point, rising, each below {given}"
    )]
    Indices {
        /// As given.
        indices: u64,
        /// Points of the tree.
        points: u64,
        /// Points of all.
        given: u64,
    },
    /// A name that no column of values can have.
    #[error(
        "\"{name}\" cannot name a column of values: it is empty, longer than {} bytes, or another column's",
        crate::MAX_NAME
    )]
    ValuesName {
        /// As given, its first 64 characters.
        name: String,
    },
    /// The parts do not belong to one tree.
    #[error("part {part}: {what}")]
    Part {
        /// Which, from 0.
        part: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A primitive failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Scan(gpu_scan::Error),
}

impl Error {
    /// The error of a file.
    #[cfg(feature = "files")]
    pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), message: error.to_string() }
    }
}

#[cfg(feature = "cuda")]
gpu_core::wrap_errors! {
    gpu_scan::Error => Scan;
}
