//! The queries by Sibson's areas.

use device_std::shared::Carver;
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::tile::{BLOCK, Cells, LARGE, Left, MEDIUM, SMALL, Tile};
use crate::nni::pixels::query::{Areas, Scene, query_point};
use crate::nni::pixels::values::{Scales, Values};

impl<const N: usize> Scene<N> {
    /// Interpolates the cells of a tile, but for those that it puts into the list.
    ///
    /// # Safety
    /// As for [`mod@query_boxed`].
    #[inline(always)]
    unsafe fn query_tile<const REACH: i32>(&self, tile: u32, left: Left) {
        let cells = Cells::of_tile::<REACH>(tile, self.cells, self.supersample);
        let memory = Tile::<REACH>::carve(&mut Carver::new());
        // SAFETY: passed on to the caller; the whole block comes to the barrier, and the tile has the boxes of its cells.
        unsafe {
            let bounds = self.bounds();
            let base = cells.base(self.supersample);
            let tile = Tile::<REACH>::new(memory, base, bounds.extent, self.reciprocal);
            let has_sites = self.has_sites();
            if has_sites {
                tile.gather(self.nearest);
            }
            thread::sync_threads();
            cells.each(|cell| {
                let (mut is_left, mut number) = (false, 0);
                if let Some([column, row]) = cell {
                    let mut areas = Areas::NONE;
                    if has_sites {
                        let q = query_point(column, row, self.supersample);
                        let stolen = tile.stolen_by(q, bounds);
                        let values = |site: u32| self.values.of(site);
                        let before = None::<fn(usize) -> [i64; N]>;
                        areas = Areas::of(&stolen, self.site_limit, values, before);
                        is_left = !stolen.is_closed();
                    }
                    number = row * self.cells[0] + column;
                    if !is_left {
                        self.put(column, row, &areas);
                    }
                }
                left.append(is_left, number);
            });
        }
    }
}

/// Interpolates cells with a circle of any size, or none where `span_rows` is `i32::MAX`; those for which a box does not do
/// are put into a list, for [`mod@query_left`].
///
/// `spans` holds for each of the `span_rows` rows of the query circle, from the top, how many of its pixels
/// lie to the left of the query point, and as many to the right. Grid: one block for
/// [`boxed_cells`](super::boxed_cells), row by row of such tiles, from tile `first_tile` on.
///
/// # Safety
/// `tallies` has the number of sites, `nearest` an element for each pixel, `values` `N` for each, which lie as [`Values`] says, `spans`
/// `span_rows`, `counts` and `deviations` (unless null) one for each cell, `dem` as many for each value, one value after
/// the other. The raster has `supersample` times the cells' columns and rows; `reciprocal` is that of its
/// width. The two of `left_counts` are 0 at first, and `left` has room for all cells of the blocks.
#[kernel(
    block = BLOCK,
    carve = |carver| Tile::<REACH>::carve(carver),
    instances(
        one_small: <1, SMALL>, resident = 4;
        two_small: <2, SMALL>, resident = 4;
        four_small: <4, SMALL>, resident = 4;
        one_medium: <1, MEDIUM>, resident = 4;
        two_medium: <2, MEDIUM>, resident = 4;
        four_medium: <4, MEDIUM>, resident = 4;
        one_large: <1, LARGE>, resident = 3;
        two_large: <2, LARGE>, resident = 3;
        four_large: <4, LARGE>, resident = 3;
    )
)]
pub unsafe fn query_boxed<const N: usize, const REACH: i32>(
    tallies: *const u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
    spans: *const i32,
    span_rows: u32,
    site_limit: u64,
    cell_columns: u32,
    cell_rows: u32,
    reciprocal: u64,
    supersample: u32,
    first_tile: u32,
    scales: *const f64,
    dem: *mut f32,
    counts: *mut u32,
    deviations: *mut f32,
    left_counts: *mut u32,
    left: *mut u32,
) {
    let scene = Scene::<N> {
        tallies,
        nearest,
        values: Values { first: values, turned },
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
        deviations,
    };
    let left = Left { counts: left_counts, entries: left };
    // SAFETY: passed on to the caller.
    unsafe { scene.query_tile::<REACH>(first_tile + thread::block_idx_x(), left) };
}

/// Interpolates the cells of a list row by row. The spills are worth a third of the time: the walks wait for memory, and
/// more warps are there.
///
/// Grid: any; warps take cells until none is left.
///
/// # Safety
/// As for [`mod@query_boxed`], which has made the list. `sums` is null, or there is no site limit and it has what
/// [`gather_sums`](const@crate::nni::pixels::gather_sums) wrote, scanned; then `deviations` is null.
#[kernel(block = BLOCK, instances(
    one: <1>, resident = 3, spills = 24;
    two: <2>, resident = 2;
    four: <4>, resident = 2;
))]
pub unsafe fn query_left<const N: usize>(
    tallies: *const u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
    spans: *const i32,
    span_rows: u32,
    site_limit: u64,
    cell_columns: u32,
    cell_rows: u32,
    reciprocal: u64,
    supersample: u32,
    scales: *const f64,
    dem: *mut f32,
    counts: *mut u32,
    sums: *const i64,
    deviations: *mut f32,
    left_counts: *mut u32,
    left: *mut u32,
) {
    let scene = Scene::<N> {
        tallies,
        nearest,
        values: Values { first: values, turned },
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
    // SAFETY: passed on to the caller; the list names cells of the DEM.
    unsafe {
        Left { counts: left_counts, entries: left }.each(|cell| {
            let row = cell.checked_div(cell_columns).unwrap_or(0);
            scene.query(cell - row * cell_columns, row);
        });
    }
}
