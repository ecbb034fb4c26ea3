//! What can go wrong.

use gpu_core::{Bounds, Shortest};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of building, reading and searching a tree.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The columns are invalid, or memory or the device failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// The threshold is 0, but a leaf holds at least one point.
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
        "bounds {bounds} are not finite, have their corners swapped, or have sides that are not \
         finite"
    )]
    Bounds {
        /// As given.
        bounds: Bounds,
    },
    /// A point lies beyond the bounds, and the parameters refuse such points.
    #[error("point {index}, ({}, {}), lies outside the bounds", Shortest(*x), Shortest(*y))]
    Outside {
        /// The first such point, from 0.
        index: u64,
        /// Its x.
        x: f64,
        /// Its y.
        y: f64,
    },
    /// The tree has more nodes than a node can number.
    #[error(
        "a tree of {nodes} nodes is too large, at most {most} fit: raise the threshold or lower \
         the level"
    )]
    TooManyNodes {
        /// As the points would need.
        nodes: u64,
        /// The most.
        most: u64,
    },
    /// The budget of device memory is too small.
    #[error("a budget of {bytes} bytes of device memory is too small: give at least {least}")]
    Budget {
        /// As given.
        bytes: u64,
        /// The least.
        least: u64,
    },
    /// A window is not a rectangle.
    #[error("window {index}, {window}, is not a rectangle")]
    Window {
        /// The first such window, from 0.
        index: u64,
        /// As given.
        window: Bounds,
    },
    /// A disc is not valid.
    #[error(
        "disc {index} around ({}, {}) has radius {}: centre and radius must be finite, and the \
         radius not negative",
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
    /// A vertex of a polygon is not finite.
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
    /// There are more places or regions than a search on the host can number.
    #[error("one search takes at most {most} {what}, not {count}: search in parts")]
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
    /// The file is not a tree, or is damaged.
    #[error("{path}: not a quadtree: {what}")]
    Damaged {
        /// Which.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// Indices that points cannot have among more.
    #[error(
        "{indices} indices for {points} of {given} points: give one index for each point, in \
         rising order, each below {given}"
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
        "\"{name}\" cannot name a column of values: a name must not be empty, longer than {} \
         bytes, or the name of another column",
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
