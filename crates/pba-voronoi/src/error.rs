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
