//! Natural neighbour interpolation on the pixels of a raster, the published method: crate `nni-grid`.
//!
//! 1. [`rasterise`]: points merge into the pixels of the Voronoi raster, one atomic a point and value, and occupied
//!    pixels become `sites` with values.
//! 2. The Voronoi diagram of the sites (module `voronoi`).
//! 3. A query for each DEM cell sums over the pixels that the cell's centre would steal from their sites. If the query
//!    circle is small, `small_circles` sums pixel by pixel in shared memory. Otherwise, and with other [`weights`],
//!    `boxed` sums in shared memory if the stolen pixels are near, and [`spans`] row by row if not.
//! 4. The same on the raster turned by 180 degrees ([`tie_balance`]), so that ties favour no side, and the mean of
//!    both.
//! 5. If the parameters say so, [`finish`]: layers of quality, and the control of NODATA.
//!
//! Values are fixed-point integers (`ValueScale` in nni-grid), so sums are exact and the result
//! does not depend on order. Positions in the query are in half pixels, which makes pixel centres
//! and query points integers at every supersampling.
//!
//! Most kernels take all [`values`] of a point at once: an instance each for 1, 2 and 4 of them.

#[cfg(feature = "nni_boxed")]
pub mod boxed;
pub mod circle;
#[cfg(feature = "nni")]
pub mod crowded;
pub mod finish;
pub mod geometry;
pub mod query;
pub mod rasterise;
pub mod region;
#[cfg(feature = "nni")]
pub mod sites;
#[cfg(feature = "nni")]
pub mod small_circles;
pub mod spans;
pub mod tie_balance;
pub mod values;
pub mod weights;

#[cfg(feature = "nni_boxed")]
pub use boxed::*;
pub use circle::*;
#[cfg(feature = "nni")]
pub use crowded::*;
pub use finish::*;
pub use query::*;
pub use rasterise::*;
#[cfg(feature = "nni")]
pub use sites::*;
#[cfg(feature = "nni")]
pub use small_circles::*;
pub use tie_balance::*;

/// `nearest` of a raster without sites, as module `voronoi` writes it.
const NONE: u32 = u32::MAX;

#[cfg(feature = "nni")]
device_std::ptx_module! { "nni" }
