//! Natural neighbour interpolation onto a grid: crate `nni-grid`.
//!
//! 1. [`rasterise`]: points merge into the pixels of the Voronoi raster, one atomic a point, and
//!    occupied pixels become sites with a value.
//! 2. The Voronoi diagram of the sites (module `voronoi`).
//! 3. A query for each DEM cell, the sum over the pixels that the cell's centre would steal from
//!    their sites: by [`near`], pixel by pixel in shared memory, where the query circle is small;
//!    else by [`spans`], row by row; or by other [`weights`].
//! 4. Where it is asked for, [`finish`]: layers of quality, and the control of NODATA.
//!
//! Values are fixed-point integers (`ValueScale` in nni-grid), so sums are exact and the result
//! does not depend on order. Positions in the query are in half pixels, which makes pixel centres
//! and query points integers at every supersampling.

pub mod finish;
pub mod geometry;
pub mod near;
pub mod query;
pub mod rasterise;
pub mod spans;
pub mod weights;

pub use finish::*;
pub use near::*;
pub use query::*;
pub use rasterise::*;

/// `nearest` of a raster without sites, as module `voronoi` writes it.
const NONE: u32 = u32::MAX;

device_std::ptx_module! {
    "nni": accumulate_points, clear_crowded, accumulate_crowded, resolve_crowded, resolve_sites,
        query_near_1_36, query_near_1_100, query_near_2_64, query_near_2_144, query_spans,
        query_listed, gather_sums, query_weighted, estimate_gradients, row_extremes,
        finish_cells
}
