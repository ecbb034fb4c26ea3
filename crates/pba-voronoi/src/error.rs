//! What can go wrong with a Voronoi diagram.

use gpu_core::Shortest;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a Voronoi diagram.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// A strip is not a part of its whole.
    #[error(
        "a strip of {width} columns from column {first} on does not fit into a raster of {columns} columns"
    )]
    Strip {
        /// As given.
        first: u32,
        /// Columns of the strip.
        width: u32,
        /// As given: columns of the whole.
        columns: u32,
    },
    /// The input says that a site lies before or after a strip, but it does not.
    #[error(
        "row {row}: column {column} must lie before or after the strip of {width} columns from \
         column {first} on, as the input says, and be one of the raster's {columns}"
    )]
    NotBeyond {
        /// The row.
        row: usize,
        /// As given.
        column: u32,
        /// The strip's first column.
        first: u32,
        /// Columns of the strip.
        width: u32,
        /// Columns of the whole.
        columns: u32,
    },
    /// A side of a pixel is not a number that distances can be computed from.
    #[error(
        "pixels of {} x {} are too small or too large for distances: give sides from {:e} to \
         {:e}, in another unit if need be",
        Shortest(*x),
        Shortest(*y),
        crate::metric::LEAST_SIDE,
        crate::metric::MAX_SIDE
    )]
    Spacing {
        /// As given.
        x: f64,
        /// As given.
        y: f64,
    },
    /// Distances are wanted as `f32`, which does not hold them. As f64 they may.
    #[error(
        "distances in a raster of {width} x {height} pixels of {} x {} do not fit floats of 32 bits: give sides in \
         another unit",
        Shortest(*x),
        Shortest(*y)
    )]
    BeyondSingle {
        /// A pixel's width.
        x: f64,
        /// A pixel's height.
        y: f64,
        /// Columns of the raster, or of that which it is a part of.
        width: u32,
        /// Rows of it.
        height: u32,
    },
    /// A side of a pixel is too many times longer than the other for distances in a raster of this size.
    #[error(
        "pixels of {x} x {y} in a raster of {width} x {height}: one side may be at most {most} times the other"
    )]
    SideRatio {
        /// As given.
        x: f64,
        /// As given.
        y: f64,
        /// Columns of the raster, or of that which it is a part of.
        width: u32,
        /// Rows of it.
        height: u32,
        /// The largest ratio.
        most: f64,
    },
    /// Squared distances of pixels with these sides are not whole numbers of any unit.
    #[error(
        "squared distances of pixels of {x} x {y} are not whole numbers of one unit: take distances instead"
    )]
    SquaredDistance {
        /// As given.
        x: f64,
        /// As given.
        y: f64,
    },
    /// A raster with this place and size does not fit the globe.
    #[error(
        "a raster of {width} x {height} pixels of {} x {} degrees from longitude {}, latitude {} on: {what}",
        sides[0], sides[1], corner[0], corner[1]
    )]
    Globe {
        /// What must be.
        what: &'static str,
        /// As given.
        corner: [f64; 2],
        /// As given.
        sides: [f64; 2],
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// A globe in device memory was made for a raster of another shape.
    #[error(
        "this globe is for {} x {} pixels, but the raster has {} x {}: make a globe for the raster",
        given[0], given[1], expected[0], expected[1]
    )]
    GlobeShape {
        /// Columns and rows of the globe.
        given: [u32; 2],
        /// Columns and rows of the raster.
        expected: [u32; 2],
    },
    /// The caller wants an output or a parameter that distances on the globe do not have.
    #[error("distances on the globe have no {what}")]
    NotOnGlobe {
        /// What is wanted.
        what: &'static str,
    },
    /// The input for an output is missing.
    #[error(
        "the parameters ask for the {output} of the nearest site, but the input has no {input}"
    )]
    Missing {
        /// The output.
        output: &'static str,
        /// The input that is not there.
        input: &'static str,
    },
    /// The method does not support an output or a parameter.
    #[error("{method:?} cannot do {why}: use the default method")]
    Unsupported {
        /// As given.
        method: crate::Method,
        /// What it cannot do.
        why: &'static str,
    },
    /// The raster has a side beyond `i32`, or more pixels than the call can number. `nearest_sites` numbers them with
    /// 32 bits; for other calls memory is the limit.
    #[error(
        "a raster of {width} x {height} pixels is too large: at most {} on a side, and {} pixels where \
         indices have 32 bits",
        crate::MAX_SIDE,
        crate::MAX_PIXELS
    )]
    TooLarge {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// The device or the memory failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
}
