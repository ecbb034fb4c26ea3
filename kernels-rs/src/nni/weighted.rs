//! The queries by other [`weights`] than Sibson's areas, a thread a cell.

use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::geometry::Width;
use super::rasterise::{NODATA, SITES, count_flags};
use super::spans::Diagram;
use super::values::{Scales, Values};
use super::weights;

/// A raster, and what its weighted queries look at.
#[derive(Clone, Copy)]
struct Weighted<const N: usize> {
    tallies: *mut u64,
    nearest: *const u32,
    values: Values<N>,
    /// Null, or two for each value.
    gradients: *const f32,
    /// Columns and rows of the raster.
    extent: [i32; 2],
    reciprocal: u64,
}

impl<const N: usize> Weighted<N> {
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
            extent,
            circle_rows: i32::MAX,
            reach: |_| 0,
        }
    }

    /// Writes the gradients at this thread's pixel, if that is a site.
    ///
    /// # Safety
    /// As for `estimate_gradients`.
    #[inline(always)]
    unsafe fn estimate_gradients(&self, gradients: *mut f32) {
        let pixel = thread::index_1d();
        // SAFETY: the pixel is in the raster, and the walk keeps within it.
        unsafe {
            if pixel >= self.extent[0] as u64 * self.extent[1] as u64
                || *self.tallies.add(SITES) == 0
            {
                return;
            }
            if *self.nearest.add(pixel as usize) as u64 == pixel {
                let site = pixel as u32;
                let values = |site: u32| self.values.of(site);
                let diagram = self.diagram();
                let found = weights::gradients(&diagram.cell_of(site), values(site), values);
                let mut k = 0;
                while k < N {
                    let at = gradients.add(2 * (N * pixel as usize + k));
                    let [east, south] = found[k];
                    *at = east;
                    *at.add(1) = south;
                    k += 1;
                }
            }
        }
    }

    /// Interpolates this thread's cell.
    ///
    /// # Safety
    /// As for `query_weighted`.
    #[inline(always)]
    unsafe fn query(
        &self,
        site_limit: u64,
        [columns, rows]: [u32; 2],
        supersample: u32,
        scales: Scales,
        dem: *mut f32,
    ) {
        let index = thread::index_1d();
        let mut is_empty = false;
        if index < columns as u64 * rows as u64 {
            let row = (index as u32).checked_div(columns).unwrap_or(0);
            let column = index as u32 - row * columns;
            let q = [column, row].map(|i| (supersample * (2 * i + 1)) as i32);
            // SAFETY: the cell is in the DEM, and the walk keeps within the raster.
            unsafe {
                let mut result = [f32::NAN; N];
                let diagram = self.diagram();
                let cell = diagram.stolen_by(q);
                if *self.tallies.add(SITES) > 0 && !cell.is_beyond(site_limit) {
                    let values = |site: u32| self.values.of(site);
                    let means = if self.gradients.is_null() {
                        weights::laplace(&cell, site_limit, values)
                    } else {
                        let gradients = |site: u32| {
                            let mut all = [[0.0; 2]; N];
                            let mut k = 0;
                            while k < N {
                                let at = self.gradients.add(2 * (N * site as usize + k));
                                all[k] = [*at, *at.add(1)];
                                k += 1;
                            }
                            all
                        };
                        weights::smooth(&cell, site_limit, values, gradients)
                    };
                    let scale = |k: usize| scales.of(k);
                    result = weights::weighted_values(means, &cell, site_limit, values, scale);
                }
                let mut k = 0;
                while k < N {
                    *dem.add(k * (columns as usize * rows as usize) + index as usize) = result[k];
                    k += 1;
                }
                is_empty = result[0].is_nan();
            }
        }
        // SAFETY: all threads of the block come here.
        unsafe { count_flags(is_empty, self.tallies.add(NODATA)) };
    }
}

/// The gradients of every site, by [`gradients`](weights::gradients).
///
/// Grid: one thread a pixel.
///
/// # Safety
/// `tallies` has the number of sites, `nearest` an element for each pixel, `values` `N` for each, which lie as
/// [`Values`] says, `gradients`
/// two for each value.
#[kernel(block = 128, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn estimate_gradients<const N: usize>(
    tallies: *mut u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
    width: u32,
    height: u32,
    reciprocal: u64,
    gradients: *mut f32,
) {
    let values = Values::<N> { first: values, turned };
    let extent = [width as i32, height as i32];
    let of_cells = core::ptr::null();
    let all = Weighted { tallies, nearest, values, gradients: of_cells, extent, reciprocal };
    // SAFETY: passed on to the caller.
    unsafe { all.estimate_gradients(gradients) };
}

/// Interpolates every cell by Laplace's weights, or where `gradients` is not null by Sibson's smooth
/// interpolant, without a circle, and counts the cells without a value.
///
/// Grid: one thread a cell.
///
/// # Safety
/// As for [`query_spans`](mod@super::query_spans); `gradients` has two elements for each value of each pixel.
#[kernel(block = 128, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn query_weighted<const N: usize>(
    tallies: *mut u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
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
    let values = Values::<N> { first: values, turned };
    let extent = cells.map(|side| (supersample * side) as i32);
    let all = Weighted { tallies, nearest, values, gradients, extent, reciprocal };
    // SAFETY: passed on to the caller.
    unsafe { all.query(site_limit, cells, supersample, Scales(scales), dem) };
}
