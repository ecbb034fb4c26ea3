//! The queries by other [`weights`] than Sibson's areas, and the gradients that they want.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::tile::{BLOCK, Cells, LARGE, Left, MEDIUM, SMALL, Tile, boxed_cells};
use crate::nni::pixels::geometry::Width;
use crate::nni::pixels::query::query_point;
use crate::nni::pixels::region::{Bounds, Region};
use crate::nni::pixels::spans::Diagram;
use crate::nni::pixels::values::{Scales, Values};
use crate::nni::pixels::weights;
use crate::nni::tallies::SITES;

/// A raster, and what its weighted queries look at.
#[derive(Clone, Copy)]
struct Weighted<const N: usize> {
    tallies: *const u64,
    nearest: *const u32,
    values: Values<N>,
    /// Null, or two for each value.
    gradients: *mut f32,
    /// Columns and rows of the raster.
    extent: [i32; 2],
    reciprocal: u64,
}

impl<const N: usize> Weighted<N> {
    /// Whether the raster has a site.
    ///
    /// # Safety
    /// As for the kernels.
    #[inline(always)]
    unsafe fn has_sites(&self) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { *self.tallies.add(SITES) > 0 }
    }

    /// The diagram, without a circle.
    ///
    /// # Safety
    /// `nearest` has an element for each pixel of the raster, and the diagram is not asked for others.
    #[inline(always)]
    unsafe fn diagram(&self) -> Diagram<impl Fn(i32, i32) -> u32, impl Fn(i32) -> i32> {
        let (nearest, extent) = (self.nearest, self.extent);
        Diagram {
            // SAFETY: passed on to the caller.
            nearest: move |x: i32, y: i32| unsafe {
                *nearest.add((y as i64 * extent[0] as i64 + x as i64) as usize)
            },
            width: Width::new(extent[0] as u32, self.reciprocal),
            bounds: Bounds::of_raster(extent),
        }
    }

    /// The gradients at a site, whose cell this is.
    ///
    /// # Safety
    /// As for the kernels.
    #[inline(always)]
    unsafe fn gradients_at(&self, site: u32, cell: &impl Region) -> [[f32; 2]; N] {
        // SAFETY: the diagram's sites are pixels of the raster.
        let values = |site: u32| unsafe { self.values.of(site) };
        weights::gradients(cell, values(site), values)
    }

    /// Writes the gradients at a site.
    ///
    /// # Safety
    /// As for the kernels.
    #[inline(always)]
    unsafe fn put_gradients(&self, site: u32, gradients: [[f32; 2]; N]) {
        let mut k = 0;
        while k < N {
            let [east, south] = gradients[k];
            // SAFETY: passed on to the caller.
            unsafe {
                let at = self.gradients.add(2 * (N * site as usize + k));
                *at = east;
                *at.add(1) = south;
            }
            k += 1;
        }
    }

    /// Writes the gradients at the sites of a tile, but for those that it puts into the list.
    ///
    /// # Safety
    /// As for [`mod@gradients_boxed`].
    #[inline(always)]
    unsafe fn estimate_tile<const REACH: i32>(&self, tile: u32, left: Left) {
        let pixels = self.extent.map(|side| side as u32);
        let cells = Cells::of_tile::<REACH>(tile, pixels, 1);
        let mut carver = Carver::new();
        let memory = Tile::<REACH>::carve(&mut carver);
        let (places, count) = carve_sites::<REACH>(&mut carver);
        // SAFETY: passed on to the caller; the whole block comes to the barriers, and the tile has the boxes of its pixels.
        unsafe {
            if !self.has_sites() {
                return;
            }
            let base = cells.base(1);
            let tile = Tile::<REACH>::new(memory, base, self.extent, self.reciprocal);
            tile.gather(self.nearest);
            if thread::thread_idx_x() == 0 {
                count.store(0, 0);
            }
            thread::sync_threads();
            // Which pixels are sites, so that a warp's threads all have one.
            cells.each(|pixel| {
                if let Some([x, y]) = pixel
                    && let Some(_) = tile.site_at([x as i32, y as i32])
                {
                    let place = (y - base[1]) << 8 | (x - base[0]);
                    places.store(count.atomic_add(0, 1), place as u16);
                }
            });
            thread::sync_threads();
            let sites = count.load(0);
            let bounds = Bounds::of_raster(self.extent);
            let mut first = 0;
            while first < sites {
                let i = first + thread::thread_idx_x();
                let (mut is_left, mut site) = (false, 0);
                if i < sites {
                    let place = places.load(i) as u32;
                    let [x, y] = [base[0] + (place & 0xff), base[1] + (place >> 8)];
                    site = y * pixels[0] + x;
                    let cell = tile.cell_of(site, bounds);
                    let gradients = self.gradients_at(site, &cell);
                    is_left = !cell.is_closed();
                    if !is_left {
                        self.put_gradients(site, gradients);
                    }
                }
                left.append(is_left, site);
                first += BLOCK;
            }
        }
    }
}

/// The sites of a tile, as places from the first query point's pixel on, and their number.
const fn carve_sites<const REACH: i32>(
    carver: &mut Carver,
) -> (SharedArray<u16>, SharedArray<u32>) {
    let [columns, rows] = boxed_cells(REACH, 1);
    let count = carver.array(1);
    (carver.array(columns * rows), count)
}

/// The memory of a block that estimates gradients.
const fn carve_gradients<const REACH: i32>(carver: &mut Carver) {
    let _ = Tile::<REACH>::carve(carver);
    let _ = carve_sites::<REACH>(carver);
}

/// A DEM of weighted means.
#[derive(Clone, Copy)]
struct Dem<const N: usize> {
    of: Weighted<N>,
    site_limit: u64,
    cells: [u32; 2],
    supersample: u32,
    scales: Scales,
    dem: *mut f32,
}

impl<const N: usize> Dem<N> {
    /// The values of a cell that steals this; NaN where no site reaches it.
    ///
    /// # Safety
    /// As for the kernels.
    #[inline(always)]
    unsafe fn values_of(&self, stolen: &impl Region) -> [f32; N] {
        if stolen.is_beyond(self.site_limit) {
            return [f32::NAN; N];
        }
        // SAFETY: the diagram's sites are pixels of the raster.
        unsafe {
            let values = |site: u32| self.of.values.of(site);
            let means = if self.of.gradients.is_null() {
                weights::laplace(stolen, self.site_limit, values)
            } else {
                let gradients = |site: u32| {
                    let mut all = [[0.0; 2]; N];
                    let mut k = 0;
                    while k < N {
                        let at = self.of.gradients.add(2 * (N * site as usize + k));
                        all[k] = [*at, *at.add(1)];
                        k += 1;
                    }
                    all
                };
                weights::smooth(stolen, self.site_limit, values, gradients)
            };
            let scale = |k: usize| self.scales.of(k);
            weights::weighted_values(means, stolen, self.site_limit, values, scale)
        }
    }

    /// Writes the values of a cell.
    ///
    /// # Safety
    /// As for the kernels; the cell is in the DEM.
    #[inline(always)]
    unsafe fn put(&self, cell: u32, values: [f32; N]) {
        let mut k = 0;
        while k < N {
            let plane = k * (self.cells[0] as usize * self.cells[1] as usize);
            // SAFETY: passed on to the caller.
            unsafe { *self.dem.add(plane + cell as usize) = values[k] };
            k += 1;
        }
    }

    /// Interpolates the cells of a tile, but for those that it puts into the list.
    ///
    /// # Safety
    /// As for [`mod@weighted_boxed`].
    #[inline(always)]
    unsafe fn query_tile<const REACH: i32>(&self, tile: u32, left: Left) {
        let cells = Cells::of_tile::<REACH>(tile, self.cells, self.supersample);
        let memory = Tile::<REACH>::carve(&mut Carver::new());
        // SAFETY: passed on to the caller; the whole block comes to the barrier, and the tile has the boxes of its cells.
        unsafe {
            let (base, extent) = (cells.base(self.supersample), self.of.extent);
            let tile = Tile::<REACH>::new(memory, base, extent, self.of.reciprocal);
            let has_sites = self.of.has_sites();
            if has_sites {
                tile.gather(self.of.nearest);
            }
            thread::sync_threads();
            let bounds = Bounds::of_raster(extent);
            cells.each(|cell| {
                let (mut is_left, mut number) = (false, 0);
                if let Some([column, row]) = cell {
                    let mut values = [f32::NAN; N];
                    if has_sites {
                        let q = query_point(column, row, self.supersample);
                        let stolen = tile.stolen_by(q, bounds);
                        values = self.values_of(&stolen);
                        is_left = !stolen.is_closed();
                    }
                    number = row * self.cells[0] + column;
                    if !is_left {
                        self.put(number, values);
                    }
                }
                left.append(is_left, number);
            });
        }
    }
}

/// The gradients of every site, by [`gradients`](weights::gradients); sites whose cells do not end in a box are put into
/// a list, for [`mod@gradients_left`].
///
/// Grid: one block for [`boxed_cells`] of a supersampling of 1, in pixels, row by row of such tiles.
///
/// # Safety
/// `tallies` has the number of sites, `nearest` an element for each pixel, `values` `N` for each, which lie as
/// [`Values`] says, `gradients` two for each value. The two of `left_counts` are 0 at first, and `left` has room for all sites.
#[kernel(
    block = BLOCK,
    carve = |carver| carve_gradients::<REACH>(carver),
    instances(
        one_small: <1, SMALL>, resident = 3;
        two_small: <2, SMALL>, resident = 3;
        four_small: <4, SMALL>, resident = 2;
        one_medium: <1, MEDIUM>, resident = 3;
        two_medium: <2, MEDIUM>, resident = 3;
        four_medium: <4, MEDIUM>, resident = 2;
        one_large: <1, LARGE>, resident = 3;
        two_large: <2, LARGE>, resident = 3;
        four_large: <4, LARGE>, resident = 2;
    )
)]
pub unsafe fn gradients_boxed<const N: usize, const REACH: i32>(
    tallies: *const u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
    width: u32,
    height: u32,
    reciprocal: u64,
    gradients: *mut f32,
    left_counts: *mut u32,
    left: *mut u32,
) {
    let values = Values::<N> { first: values, turned };
    let extent = [width as i32, height as i32];
    let all = Weighted { tallies, nearest, values, gradients, extent, reciprocal };
    let left = Left { counts: left_counts, entries: left };
    // SAFETY: passed on to the caller.
    unsafe { all.estimate_tile::<REACH>(thread::block_idx_x(), left) };
}

/// The gradients of the sites of a list. Grid: any; warps take sites until none is left.
///
/// # Safety
/// As for [`mod@gradients_boxed`], which has made the list.
#[kernel(block = 128, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn gradients_left<const N: usize>(
    tallies: *const u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
    width: u32,
    height: u32,
    reciprocal: u64,
    gradients: *mut f32,
    left_counts: *mut u32,
    left: *mut u32,
) {
    let values = Values::<N> { first: values, turned };
    let extent = [width as i32, height as i32];
    let all = Weighted { tallies, nearest, values, gradients, extent, reciprocal };
    // SAFETY: passed on to the caller; the walk keeps within the raster.
    unsafe {
        Left { counts: left_counts, entries: left }.each(|site| {
            let diagram = all.diagram();
            all.put_gradients(site, all.gradients_at(site, &diagram.cell_of(site)));
        });
    }
}

/// Interpolates every cell by Laplace's weights, or where `gradients` is not null by Sibson's smooth
/// interpolant, without a circle; those for which a box does not do are put into a list, for
/// [`mod@weighted_left`].
///
/// Grid: one block for [`boxed_cells`], row by row of such tiles.
///
/// # Safety
/// As for [`query_boxed`](mod@super::query_boxed); `gradients` has two elements for each value of each pixel.
#[kernel(
    block = BLOCK,
    carve = |carver| Tile::<REACH>::carve(carver),
    instances(
        one_small: <1, SMALL>, resident = 3;
        two_small: <2, SMALL>, resident = 2;
        four_small: <4, SMALL>, resident = 2;
        one_medium: <1, MEDIUM>, resident = 2;
        two_medium: <2, MEDIUM>, resident = 2;
        four_medium: <4, MEDIUM>, resident = 2;
        one_large: <1, LARGE>, resident = 2;
        two_large: <2, LARGE>, resident = 2;
        four_large: <4, LARGE>, resident = 2;
    )
)]
pub unsafe fn weighted_boxed<const N: usize, const REACH: i32>(
    tallies: *const u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
    gradients: *mut f32,
    site_limit: u64,
    cell_columns: u32,
    cell_rows: u32,
    reciprocal: u64,
    supersample: u32,
    scales: *const f64,
    dem: *mut f32,
    left_counts: *mut u32,
    left: *mut u32,
) {
    let cells = [cell_columns, cell_rows];
    let values = Values::<N> { first: values, turned };
    let extent = cells.map(|side| (supersample * side) as i32);
    let of = Weighted { tallies, nearest, values, gradients, extent, reciprocal };
    let dem = Dem { of, site_limit, cells, supersample, scales: Scales(scales), dem };
    let left = Left { counts: left_counts, entries: left };
    // SAFETY: passed on to the caller.
    unsafe { dem.query_tile::<REACH>(thread::block_idx_x(), left) };
}

/// Interpolates the cells of a list by the same weights, row by row. Grid: any; warps take cells until none is left.
///
/// # Safety
/// As for [`mod@weighted_boxed`], which has made the list.
#[kernel(block = 128, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn weighted_left<const N: usize>(
    tallies: *const u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
    gradients: *mut f32,
    site_limit: u64,
    cell_columns: u32,
    cell_rows: u32,
    reciprocal: u64,
    supersample: u32,
    scales: *const f64,
    dem: *mut f32,
    left_counts: *mut u32,
    left: *mut u32,
) {
    let cells = [cell_columns, cell_rows];
    let values = Values::<N> { first: values, turned };
    let extent = cells.map(|side| (supersample * side) as i32);
    let of = Weighted { tallies, nearest, values, gradients, extent, reciprocal };
    let dem = Dem { of, site_limit, cells, supersample, scales: Scales(scales), dem };
    // SAFETY: passed on to the caller; the list names cells of the DEM, and the walk keeps within the raster.
    unsafe {
        Left { counts: left_counts, entries: left }.each(|cell| {
            let row = cell.checked_div(cell_columns).unwrap_or(0);
            let q = query_point(cell - row * cell_columns, row, supersample);
            let diagram = dem.of.diagram();
            dem.put(cell, dem.values_of(&diagram.stolen_by(q)));
        });
    }
}
