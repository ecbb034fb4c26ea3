//! The declarations of the kernels that there are for 1, 2 and 4 values a point.

#[cfg(not(target_arch = "nvptx64"))]
use device_std::host::Kernel;

// What the declarations need, for whoever makes them.
pub(crate) use super::near;
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use super::near::NearShape;
pub(crate) use super::query::Scene;
pub(crate) use super::rasterise::{Points, Raster, Words};
pub(crate) use super::values::{Scales, Values};
pub(crate) use super::weighted::Weighted;
pub(crate) use device_std::{kernel, thread};

/// Declares them: for so many values; with the blocks that a multiprocessor is to hold of the queries
/// row by row; and for each kernel for small circles the supersampling, the circle, the cells of a tile
/// in y, and again the blocks.
macro_rules! kernels_of {
    (
        $set:ident, $values:literal, $spans_resident:literal:
        $accumulate_points:ident, $resolve_sites:ident, $query_spans:ident, $query_listed:ident,
        $estimate_gradients:ident, $query_weighted:ident;
        $($near:ident: $supersample:literal, $circle:literal, $rows:literal, $resident:literal;)+
    ) => {
        /// Merges every point into the words of its pixel, and counts the points outside the raster.
        ///
        /// `z` has the first value of the points, after `plane` elements the second, and so on.
        /// `words` starts filled with [`neutral_byte`](crate::nni::neutral_byte); `first` is the index
        /// of the first of these points among all. A point that is not finite or has a value beyond f32
        /// is counted as bad, and the index of the first of them put into `first_bad`. Grid: one thread a
        /// point.
        ///
        /// # Safety
        /// `x`, `y` and each value have `points` elements, `words` `width * height` for each value,
        /// `tallies` [`TALLIES`](crate::nni::TALLIES), `scales` one for each value
        /// ([`Scales`](crate::nni::values::Scales)).
        #[kernel(block = 256)]
        pub unsafe fn $accumulate_points(
            x: *const f64,
            y: *const f64,
            z: *const f64,
            plane: u64,
            points: u64,
            first: u64,
            origin_x: f64,
            origin_y: f64,
            pixel_size: f64,
            width: u32,
            height: u32,
            scales: *const f64,
            policy: u32,
            words: *mut i64,
            tallies: *mut u64,
            first_bad: *mut i64,
        ) {
            let raster = Raster { origin_x, origin_y, pixel_size, width, height };
            let scales = Scales(scales);
            let all = Points { x, y, z, plane, points, first, scales, policy };
            // SAFETY: passed on to the caller.
            unsafe { all.merge::<$values>(&raster, words, tallies, first_bad) };
        }

        /// Writes the site mask and the values of every site, and counts the sites and, with
        /// [`MEAN`](crate::nni::MEAN), the points in the words.
        ///
        /// Grid: one thread for every [`RESOLVED`](crate::nni::RESOLVED) words,
        /// [`SUM_SHARED`](crate::nni::SUM_SHARED) bytes of shared memory.
        ///
        /// # Safety
        /// `mask` has `pixels` elements, `words` and `values` one for each value of each; all start at
        /// multiples of 16 bytes. With [`FIRST`](crate::nni::FIRST) and [`LAST`](crate::nni::LAST) the
        /// words of occupied pixels are indices into each value of `z`.
        #[kernel(block = 256)]
        pub unsafe fn $resolve_sites(
            words: *const i64,
            z: *const f64,
            plane: u64,
            scales: *const f64,
            policy: u32,
            pixels: u64,
            mask: *mut u8,
            values: *mut i32,
            tallies: *mut u64,
        ) {
            let all = Words { words, z, plane, scales: Scales(scales), policy, pixels };
            // SAFETY: passed on to the caller.
            unsafe { all.resolve::<$values>(mask, values, tallies) };
        }

        /// Interpolates cells, as the kernels for small circles do, with a circle of any size, or none
        /// where `span_rows` is `i32::MAX`, and counts those without a value.
        ///
        /// `spans` holds for each of the `span_rows` rows of the query circle, from the top, how many of
        /// its pixels lie to the left of the query point, and as many to the right. Grid: one block for
        /// [`COLUMNS`](crate::nni::COLUMNS) by [`ROWS`](crate::nni::ROWS) cells, row by row, from block
        /// `first_block` on.
        ///
        /// # Safety
        /// `tallies` has the number of sites, `nearest` an element for each pixel, `values` one for each
        /// value of each, `spans` `span_rows`, `counts` (unless null) one for each cell, `dem` as many for
        /// each value, one value after the other. The raster has `supersample` times the cells'
        /// columns and rows; `reciprocal` is that of its width. `sums` is null, or there is no site
        /// limit and it has what `gather_sums` wrote, scanned; `deviations` is null, or has an element for
        /// each cell, and `sums` is null.
        #[kernel(block = 256, resident = $spans_resident)]
        pub unsafe fn $query_spans(
            tallies: *mut u64,
            nearest: *const u32,
            values: *const i32,
            spans: *const i32,
            span_rows: u32,
            site_limit: u64,
            cell_columns: u32,
            cell_rows: u32,
            reciprocal: u64,
            supersample: u32,
            first_block: u32,
            scales: *const f64,
            dem: *mut f32,
            counts: *mut u32,
            sums: *const i64,
            deviations: *mut f32,
        ) {
            let scene = Scene::<$values> {
                tallies,
                nearest,
                values: Values(values),
                spans,
                span_rows,
                site_limit,
                cells: [cell_columns, cell_rows],
                reciprocal,
                supersample,
                scales: Scales(scales),
                dem,
                counts,
                sums,
                deviations,
            };
            // SAFETY: passed on to the caller.
            unsafe { scene.query_block(first_block + thread::block_idx_x()) };
        }

        /// As `query_spans` for the cells of listed tiles, of `tile_columns` by `tile_rows` cells.
        /// `listed` has their number, then the tiles.
        ///
        /// Grid: any; each block takes [`COLUMNS`](crate::nni::COLUMNS) by [`ROWS`](crate::nni::ROWS)
        /// cells of a tile in turn.
        ///
        /// # Safety
        /// As for `query_spans`; the sides of a tile are multiples of those of a block.
        #[kernel(block = 256)]
        pub unsafe fn $query_listed(
            tallies: *mut u64,
            nearest: *const u32,
            values: *const i32,
            spans: *const i32,
            span_rows: u32,
            site_limit: u64,
            cell_columns: u32,
            cell_rows: u32,
            reciprocal: u64,
            supersample: u32,
            listed: *const u32,
            tile_columns: u32,
            tile_rows: u32,
            scales: *const f64,
            dem: *mut f32,
            counts: *mut u32,
        ) {
            let scene = Scene::<$values> {
                tallies,
                nearest,
                values: Values(values),
                spans,
                span_rows,
                site_limit,
                cells: [cell_columns, cell_rows],
                reciprocal,
                supersample,
                scales: Scales(scales),
                dem,
                counts,
                sums: core::ptr::null(),
                deviations: core::ptr::null_mut(),
            };
            // SAFETY: passed on to the caller.
            unsafe { scene.query_listed(listed, [tile_columns, tile_rows]) };
        }

        /// The gradients of every site, by [`gradients`](crate::nni::weights::gradients).
        ///
        /// Grid: one thread a pixel.
        ///
        /// # Safety
        /// `tallies` has the number of sites, `nearest` an element for each pixel, `values` one for each
        /// value of each, `gradients` two.
        #[kernel(block = 128)]
        pub unsafe fn $estimate_gradients(
            tallies: *mut u64,
            nearest: *const u32,
            values: *const i32,
            width: u32,
            height: u32,
            reciprocal: u64,
            gradients: *mut f32,
        ) {
            let (values, extent) = (Values::<$values>(values), [width as i32, height as i32]);
            let of_cells = core::ptr::null();
            let all = Weighted { tallies, nearest, values, gradients: of_cells, extent, reciprocal };
            // SAFETY: passed on to the caller.
            unsafe { all.estimate_gradients(gradients) };
        }

        /// Interpolates every cell by Laplace's weights, or where `gradients` is not null by Sibson's
        /// smooth interpolant, without a circle, and counts the cells without a value.
        ///
        /// Grid: one thread a cell.
        ///
        /// # Safety
        /// As for `query_spans`; `gradients` has two elements for each value of each pixel.
        #[kernel(block = 128)]
        pub unsafe fn $query_weighted(
            tallies: *mut u64,
            nearest: *const u32,
            values: *const i32,
            gradients: *const f32,
            site_limit: u64,
            cell_columns: u32,
            cell_rows: u32,
            reciprocal: u64,
            supersample: u32,
            scales: *const f64,
            dem: *mut f32,
        ) {
            let cells = [cell_columns, cell_rows];
            let values = Values::<$values>(values);
            let extent = cells.map(|side| (supersample * side) as i32);
            let all = Weighted { tallies, nearest, values, gradients, extent, reciprocal };
            // SAFETY: passed on to the caller.
            unsafe { all.query(site_limit, cells, supersample, Scales(scales), dem) };
        }

        $(
            /// Interpolates the cells of tiles, from tile `first_tile` on, row by row of tiles.
            ///
            /// The cell (column, row) asks from `supersample * (2 column + 1, 2 row + 1)`, in half
            /// pixels. A pixel counts when it is nearer to the query point than to its own site, within
            /// the circle of squared radius `circle_limit`, and its site is nearer to the query point
            /// than `site_limit` (squared). Where none counts the query point is on a site, or amid
            /// four: then the sites among the pixels that touch it count. Everywhere, if the raster
            /// has no sites, the cell is NaN. Tiles in which the site limit plays a part are not
            /// interpolated, but put into `listed`: their number, which starts at 0, then they.
            /// Grid: one block a tile, [`NearShape::shared_bytes`] of shared memory.
            ///
            /// # Safety
            /// As for `query_spans`; `listed` has one element more than there are tiles, and
            /// `circle_limit` is at most the shape's circle.
            #[kernel(block = 256, resident = $resident)]
            pub unsafe fn $near(
                tallies: *const u64,
                nearest: *const u32,
                values: *const i32,
                circle_limit: u32,
                site_limit: u64,
                cell_columns: u32,
                cell_rows: u32,
                reciprocal: u64,
                first_tile: u32,
                scales: *const f64,
                dem: *mut f32,
                counts: *mut u32,
                listed: *mut u32,
            ) {
                let scene = near::Scene::<$values> {
                    tallies,
                    nearest,
                    values: Values(values),
                    circle_limit,
                    site_limit,
                    cells: [cell_columns, cell_rows],
                    reciprocal,
                    first_tile,
                    scales: Scales(scales),
                    dem,
                    counts,
                    listed,
                };
                // SAFETY: passed on to the caller; the constants are those of the shape.
                unsafe { scene.interpolate::<$supersample, $circle, $rows>() };
            }
        )+

        /// The kernels for so many values.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const $set: KernelSet = KernelSet {
            values: $values,
            accumulate_points: $accumulate_points,
            resolve_sites: $resolve_sites,
            query_spans: $query_spans,
            query_listed: $query_listed,
            estimate_gradients: $estimate_gradients,
            query_weighted: $query_weighted,
            near: &[$((NearShape::new($values, $supersample, $circle, $rows), $near)),+],
        };
    };
}

pub(crate) use kernels_of;

/// The kernels for so many values a point.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy)]
pub struct KernelSet {
    /// How many.
    pub values: usize,
    /// Merges points into words.
    pub accumulate_points: Kernel<AccumulatePoints>,
    /// Makes sites of words.
    pub resolve_sites: Kernel<ResolveSites>,
    /// Queries row by row.
    pub query_spans: Kernel<QuerySpans>,
    /// Queries the tiles that those for small circles leave.
    pub query_listed: Kernel<QueryListed>,
    /// The gradients of sites.
    pub estimate_gradients: Kernel<EstimateGradients>,
    /// Queries by other weights than areas.
    pub query_weighted: Kernel<QueryWeighted>,
    /// Queries in small circles, for each shape that there is; smaller circles first.
    pub near: &'static [(NearShape, NearKernel)],
}

/// The types of a kernel's parameters.
#[cfg(not(target_arch = "nvptx64"))]
pub type AccumulatePoints = (
    *const f64,
    *const f64,
    *const f64,
    u64,
    u64,
    u64,
    f64,
    f64,
    f64,
    u32,
    u32,
    *const f64,
    u32,
    *mut i64,
    *mut u64,
    *mut i64,
);

/// The types of a kernel's parameters.
#[cfg(not(target_arch = "nvptx64"))]
pub type ResolveSites =
    (*const i64, *const f64, u64, *const f64, u32, u64, *mut u8, *mut i32, *mut u64);

/// The types of a kernel's parameters.
#[cfg(not(target_arch = "nvptx64"))]
pub type QuerySpans = (
    *mut u64,
    *const u32,
    *const i32,
    *const i32,
    u32,
    u64,
    u32,
    u32,
    u64,
    u32,
    u32,
    *const f64,
    *mut f32,
    *mut u32,
    *const i64,
    *mut f32,
);

/// The types of a kernel's parameters.
#[cfg(not(target_arch = "nvptx64"))]
pub type QueryListed = (
    *mut u64,
    *const u32,
    *const i32,
    *const i32,
    u32,
    u64,
    u32,
    u32,
    u64,
    u32,
    *const u32,
    u32,
    u32,
    *const f64,
    *mut f32,
    *mut u32,
);

/// The types of a kernel's parameters.
#[cfg(not(target_arch = "nvptx64"))]
pub type EstimateGradients = (*mut u64, *const u32, *const i32, u32, u32, u64, *mut f32);

/// The types of a kernel's parameters.
#[cfg(not(target_arch = "nvptx64"))]
pub type QueryWeighted =
    (*mut u64, *const u32, *const i32, *const f32, u64, u32, u32, u64, u32, *const f64, *mut f32);

/// A kernel for small circles.
#[cfg(not(target_arch = "nvptx64"))]
pub type NearKernel = Kernel<Near>;

/// The types of a kernel's parameters.
#[cfg(not(target_arch = "nvptx64"))]
pub type Near = (
    *const u64,
    *const u32,
    *const i32,
    u32,
    u64,
    u32,
    u32,
    u64,
    u32,
    *const f64,
    *mut f32,
    *mut u32,
    *mut u32,
);
