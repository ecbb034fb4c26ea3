//! Natural neighbour interpolation onto a grid: crate `nni-grid`.
//!
//! 1. [`rasterise`]: points merge into the pixels of the Voronoi raster, one atomic a point and value, and
//!    occupied pixels become sites with values.
//! 2. The Voronoi diagram of the sites (module `voronoi`).
//! 3. A query for each DEM cell, the sums over the pixels that the cell's centre would steal from
//!    their sites: by [`near`], pixel by pixel in shared memory, where the query circle is small;
//!    else by [`spans`], row by row; or by other [`weights`].
//! 4. The same on the raster [`turned`] by half a circle, for ties without a lean, and the mean of both.
//! 5. Where it is asked for, [`finish`]: layers of quality, and the control of NODATA.
//!
//! Values are fixed-point integers (`ValueScale` in nni-grid), so sums are exact and the result
//! does not depend on order. Positions in the query are in half pixels, which makes pixel centres
//! and query points integers at every supersampling.
//!
//! Most kernels take all [`values`] of a point at once, of which there may be 1, 2 or 4: [`ONE`] has
//! those for one, module `nni_several` the others, so that whoever has one value loads no more.

pub mod finish;
pub mod geometry;
pub mod kernels;
pub mod near;
pub mod query;
pub mod rasterise;
pub mod spans;
pub mod turned;
pub mod values;
pub(crate) mod weighted;
pub mod weights;

pub use finish::*;
pub use near::*;
pub use query::*;
pub use rasterise::*;
pub use turned::*;

/// `nearest` of a raster without sites, as module `voronoi` writes it.
const NONE: u32 = u32::MAX;

#[cfg(feature = "nni")]
pub use one::*;

#[cfg(feature = "nni")]
mod one {
    #[cfg(not(target_arch = "nvptx64"))]
    use super::MODULE;
    use super::kernels::*;

    kernels_of! {
        ONE, 1, 3:
        accumulate_points, resolve_sites, query_spans, query_listed, estimate_gradients, query_weighted;
        query_near_1_36: 1, 36, 32, 4;
        query_near_1_100: 1, 100, 16, 4;
        query_near_2_64: 2, 64, 16, 4;
        query_near_2_144: 2, 144, 16, 4;
    }
}

#[cfg(feature = "nni")]
device_std::ptx_module! {
    "nni": accumulate_points, clear_crowded, accumulate_crowded, resolve_crowded, resolve_sites,
        query_near_1_36, query_near_1_100, query_near_2_64, query_near_2_144, query_spans,
        query_listed, gather_sums, query_weighted, estimate_gradients, row_extremes,
        finish_cells, turn_sites, unite_turned
}
