//! What can go wrong with a Voronoi diagram.

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a Voronoi diagram.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The mask does not have one byte per pixel.
    #[error(
        "the site mask has {found} bytes, a raster of {width} x {height} pixels needs {expected}"
    )]
    MaskLength {
        /// Columns of the raster.
        width: u32,
        /// Rows of the raster.
        height: u32,
        /// Bytes needed.
        expected: u64,
        /// Bytes given.
        found: u64,
    },
    /// An array does not have the length that the raster asks for.
    #[error(
        "the {what} has {found} elements, a raster of {width} x {height} pixels needs {expected}"
    )]
    Length {
        /// The array.
        what: &'static str,
        /// Columns of the raster.
        width: u32,
        /// Rows of the raster.
        height: u32,
        /// Elements needed.
        expected: u64,
        /// Elements given.
        found: u64,
    },
    /// A listed site is not a pixel of the raster.
    #[error(
        "site {site} at column {column}, row {row} is outside the raster of {width} x {height} pixels"
    )]
    SiteOutside {
        /// Place in the list, from 0.
        site: usize,
        /// As given.
        column: u32,
        /// As given.
        row: u32,
        /// Columns of the raster.
        width: u32,
        /// Rows of the raster.
        height: u32,
    },
    /// The sides of a pixel are not positive and finite, or their ratio cannot be represented.
    #[error(
        "pixels of {x} x {y} cannot be measured: sides must be positive, finite and of comparable size"
    )]
    Spacing {
        /// As given.
        x: f64,
        /// As given.
        y: f64,
    },
    /// The largest distance is negative or NaN.
    #[error("the largest distance {max_distance} is not a number from 0 up")]
    MaxDistance {
        /// As given.
        max_distance: f64,
    },
    /// An output was asked for whose input is not there.
    #[error("the {output} of the nearest site was asked for, but the input has no {input}")]
    Missing {
        /// What was asked for.
        output: &'static str,
        /// What is not there.
        input: &'static str,
    },
    /// The algorithm cannot do what is asked.
    #[error("{algorithm:?} cannot do {why}: leave the choice of the algorithm open")]
    Unsupported {
        /// As asked for.
        algorithm: crate::Algorithm,
        /// What it cannot do.
        why: &'static str,
    },
    /// The raster has more pixels than a 32-bit index can name, or a side beyond `i32`.
    #[error(
        "a raster of {width} x {height} pixels is too large: at most {} pixels, {} on a side",
        crate::MAX_PIXELS,
        crate::MAX_SIDE
    )]
    TooLarge {
        /// Columns asked for.
        width: u32,
        /// Rows asked for.
        height: u32,
    },
    /// The progress callback ended the call.
    #[error("the Voronoi diagram was cancelled")]
    Cancelled,
    /// The device or the memory failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
}
