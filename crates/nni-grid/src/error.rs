//! What can go wrong with an interpolation.

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with an interpolation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value is beyond the range of f32.
    #[error("value {index} is {value:e}, beyond what an f32 holds")]
    Value {
        /// The first such point, from 0.
        index: u64,
        /// As given.
        value: f64,
    },
    /// The range of values is empty, or beyond the range of f32.
    #[error("the range of values from {min:e} to {max:e} is empty, or does not fit an f32")]
    ValueRange {
        /// As given.
        min: f64,
        /// As given.
        max: f64,
    },
    /// The exact method has no region of influence.
    #[error(
        "region of influence {region_of_influence}: the exact method takes all natural neighbours; use max_distance, \
         or the method on pixels"
    )]
    ExactRegionOfInfluence {
        /// As given.
        region_of_influence: f64,
    },
    /// The exact method has no query radius.
    #[error(
        "query radius {query_radius}: the exact method takes all natural neighbours; use max_distance, or the method on \
         pixels"
    )]
    ExactQueryRadius {
        /// As given.
        query_radius: f64,
    },
    /// [`Dependence`](crate::Dependence) cannot tell which points a part of such a DEM depends on.
    #[error("Dependence does not support {what}: interpolate all points at once")]
    Dependence {
        /// What was asked for.
        what: &'static str,
    },
    /// These weights need an infinite query radius.
    #[error("{weights:?} weights need an infinite query radius, not {query_radius}")]
    WeightsRadius {
        /// As given.
        weights: crate::Weights,
        /// As given.
        query_radius: f64,
    },
    /// A TIN has no pixels.
    #[error("linear weights need the exact method: use Method::Exact")]
    LinearOnPixels,
    /// These weights do not support counts or deviations.
    #[error("counts and deviations need Sibson's weights, not {weights:?}")]
    WeightsLayers {
        /// As given.
        weights: crate::Weights,
    },
    /// Streaming supports only the method on pixels by Sibson's weights, with points of one value, and returns only
    /// values and counts.
    #[error("interpolate_into does not support {what}: use interpolate")]
    NotPlain {
        /// What it was to give.
        what: &'static str,
    },
    /// The Voronoi raster has more pixels than indices can number.
    #[error("a raster of {width} x {height} pixels is too large")]
    TooLarge {
        /// Pixels in x.
        width: u64,
        /// Pixels in y.
        height: u64,
    },
    /// The coordinates of points and cells, as whole numbers of the least unit of which all are multiples, have too many bits.
    #[error(
        "coordinates between {least:e} and {greatest:e} in magnitude need {bits} bits, but the \
         exact method takes at most {most}: leave out the farthest points, or round the smallest \
         coordinates to 0"
    )]
    Range {
        /// The least magnitude but 0.
        least: f64,
        /// The greatest.
        greatest: f64,
        /// From the highest bit of all coordinates to the lowest.
        bits: u32,
        /// The most.
        most: u32,
    },
    /// The name of an unknown policy.
    #[error("unknown policy \"{name}\" for points in one pixel: use mean, min, max, first or last")]
    UnknownDuplicates {
        /// As given.
        name: String,
    },
    /// The name of an unknown method.
    #[error("unknown method \"{name}\": use exact or pixels")]
    UnknownMethod {
        /// As given.
        name: String,
    },
    /// The name of unknown weights.
    #[error("unknown weights \"{name}\": use sibson, laplace, c1 or linear")]
    UnknownWeights {
        /// As given.
        name: String,
    },
    /// The progress callback ended the call.
    #[error("the caller cancelled the interpolation")]
    Cancelled(#[from] gpu_core::Cancelled),
    /// The triangulation of the points failed.
    #[error(transparent)]
    Stars(delaunay_stars::Error),
    /// The Voronoi diagram failed.
    #[error(transparent)]
    Voronoi(pba_voronoi::Error),
    /// A reduction on the device failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Scan(gpu_scan::Error),
    /// The index of the points on the device failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Index(quadtree_sort::Error),
    /// The grid, the device or the memory failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
}

impl From<pba_voronoi::Error> for Error {
    fn from(error: pba_voronoi::Error) -> Self {
        match error {
            pba_voronoi::Error::Cancelled(cancelled) => Self::Cancelled(cancelled),
            pba_voronoi::Error::Core(core) => Self::Core(core),
            other => Self::Voronoi(other),
        }
    }
}

impl From<delaunay_stars::Error> for Error {
    fn from(error: delaunay_stars::Error) -> Self {
        use delaunay_stars::Error as Stars;
        match error {
            Stars::Core(core) => Self::Core(core),
            Stars::Cancelled(cancelled) => Self::Cancelled(cancelled),
            Stars::Range { least, greatest, bits, most } => {
                Self::Range { least, greatest, bits, most }
            }
            other => Self::Stars(other),
        }
    }
}

#[cfg(feature = "cuda")]
gpu_core::wrap_errors! {
    gpu_scan::Error => Scan;
    quadtree_sort::Error => Index;
}
