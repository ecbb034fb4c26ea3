//! Exact discrete Voronoi diagrams and Euclidean distance transforms of rasters.
//!
//! Given a raster in which some pixels are *sites*, [`voronoi`] finds for every pixel the site
//! whose centre is nearest to the pixel's own centre. Distances are in pixels and exact: they
//! are compared as integers, so no pixel is ever given to the second nearest site. Equal
//! distances go to the site with the lowest linear index (row x width + column), so the result
//! does not depend on the device, on the number of threads, or on the order of anything.
//!
//! Use it for distance maps and buffers around features, for filling each pixel from its nearest
//! sample, and as the first half of natural neighbour interpolation (crate `nni-grid`).
//!
//! [`Transform`] has all inputs and outputs: masks of bytes and bits, lists, labels; distances on the
//! ground, signed or cut off, values of the nearest site. [`voronoi`] is the short way for masks.
//!
//! ```
//! use gpu_core::{Device, DeviceChoice};
//! use pba_voronoi::{Outputs, voronoi};
//!
//! # fn main() -> Result<(), pba_voronoi::Error> {
//! let device = Device::open(DeviceChoice::Cpu)?;
//! let sites = [
//!     1, 0, 0, 0, //
//!     0, 0, 0, 0, //
//!     0, 0, 0, 1,
//! ];
//! let outputs = Outputs { squared_distance: true, ..Outputs::default() };
//! let diagram = voronoi(&device, &sites, 4, 3, outputs, &())?;
//! assert_eq!(diagram.nearest, [0, 0, 0, 11, 0, 0, 11, 11, 0, 11, 11, 11]);
//! assert_eq!(diagram.squared_distance.unwrap()[..4], [0, 1, 4, 4]);
//! # Ok(())
//! # }
//! ```
//!
//! # Method
//!
//! The diagram separates by dimension. Pass 1 finds in every row the nearest site of that row,
//! for every pixel. In pass 2 a column has then one candidate per row, the costs of the
//! candidates along the column are parabolas of equal shape, and the nearest sites of the
//! column's pixels are their lower envelope.
//!
//! [`Algorithm::Monotone`], the default, searches them from coarse rows to fine ones: down a column
//! the winner's row never decreases (the matrix of costs is totally monotone; Aggarwal, Klawe, Moran,
//! Shor and Wilber 1987, DOI 10.1007/BF01840359), so that between two rows only the candidates
//! between their winners count.
//!
//! [`Algorithm::ScanPrune`] does it as in Simin You and Jianting Zhang, *Constructing Natural
//! Neighbor Interpolation Based Grid DEM Using CUDA* (COM.Geo 2012), who built on the Parallel Banding
//! Algorithm of Cao, Tang, Mohamed and Tan (I3D 2010, DOI 10.1145/1730804.1730818): a forward
//! max-scan and a backward min-scan over site columns, iterative pruning of each column's
//! candidates by their bisectors with compaction, and assignment by intervals. On the CPU it is the
//! stack of Meijster, Roerdink and Hesselink (2000, DOI 10.1007/0-306-47025-X_36) and Felzenszwalb
//! and Huttenlocher (2012, DOI 10.4086/toc.2012.v008a019), which also serves what is far apart.
//! Where we differ from the papers: coordinates are 32-bit, ties are defined, and an envelope is
//! cut at the first *row* where a later candidate is strictly nearer, an integer, instead of at a
//! real intersection.
//!
//! All of them compare integers and give ties to the lowest index: the same bits.
//!
//! # Limits
//!
//! At most [`MAX_SIDE`] pixels on a side; in [`voronoi`] and `gpu::nearest_sites` at most [`MAX_PIXELS`]
//! in all. Beyond is an error.
#![deny(missing_docs)]

pub mod cpu;
mod error;
#[cfg(feature = "cuda")]
pub mod gpu;
mod metric;
mod params;
mod transform;

use gpu_core::{Device, Progress};

pub use error::{Error, Result};
pub use metric::Spacing;
pub use params::{Algorithm, MAX_PIXELS, MAX_SIDE, Outputs};
pub use transform::{Diagram, Input, Integers, Sites, Transform};

/// In [`Voronoi::nearest`]: there is no site at all.
pub const NONE: u32 = u32::MAX;

/// The Voronoi diagram of a raster. All arrays are row-major, `width * height` long.
#[derive(Clone, Debug, PartialEq)]
pub struct Voronoi {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Linear index (row * width + column) of each pixel's nearest site, or [`NONE`].
    pub nearest: Vec<u32>,
    /// Exact squared distance to it, in pixels; `u64::MAX` where there is no site.
    pub squared_distance: Option<Vec<u64>>,
    /// Distance to it, in pixels: the square root in `f64`, rounded to `f32`; infinite where
    /// there is no site.
    pub distance: Option<Vec<f32>>,
}

/// The exact Voronoi diagram of the sites (nonzero bytes) in a row-major mask.
///
/// O(pixels) work on the CPU. An empty raster gives an empty diagram, one without sites gives
/// [`NONE`] and infinite distances. `progress` is told of the stages `voronoi rows`,
/// `voronoi columns` and `distances`.
///
/// # Errors
/// [`Error::MaskLength`] unless the mask has `width * height` bytes, [`Error::TooLarge`] beyond
/// [`MAX_PIXELS`] or [`MAX_SIDE`], [`Error::Cancelled`] where `progress` breaks, and
/// [`Error::Core`] where memory or the device fails.
pub fn voronoi(
    device: &Device,
    sites: &[u8],
    width: u32,
    height: u32,
    outputs: Outputs,
    progress: &dyn Progress,
) -> Result<Voronoi> {
    match device {
        Device::Cpu => cpu::voronoi(sites, width, height, outputs, progress),
        #[cfg(feature = "cuda")]
        Device::Gpu(gpu) => gpu::voronoi(gpu, sites, width, height, outputs, progress),
        // Another crate of the program may switch gpu-core's `cuda` on, but not ours.
        #[allow(unreachable_patterns)]
        other => Err(gpu_core::Error::without_cuda(other).into()),
    }
}
