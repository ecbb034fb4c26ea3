//! The last step over cells, after the queries: layers of quality, and the control of NODATA.

use device_std::math;
#[cfg(feature = "nni")]
use device_std::{In, Out, kernel, thread, warp};

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
use super::NONE;
use super::geometry::{Width, mean};
use super::query::Lattice;
use super::region::{Bounds, Region};
use super::spans::Diagram;
use super::values::Scales;
use crate::nni::policies::{FILL_NEAREST, FILL_VALUE};
use crate::nni::tallies::{LEFT, SITES, count_flags};

/// Returns the site nearest to a query point among the sites of the pixels that touch the point: its squared distance
/// in half pixels, and its index. Among equally near sites, the lowest counts.
#[inline(always)]
pub fn nearest_touching(cell: &impl Region) -> (u64, u32) {
    let mut nearest = (u64::MAX, NONE);
    cell.touching(|_, site| {
        let squared = site.squared() as u64;
        if squared < nearest.0 || (squared == nearest.0 && site.site < nearest.1) {
            nearest = (squared, site.site);
        }
    });
    nearest
}

/// A squared length in half pixels, as a length in cells.
#[inline(always)]
pub fn in_cells(squared: u64, supersample: u32) -> f32 {
    (math::sqrt(squared as f64) / (2 * supersample) as f64) as f32
}

/// Returns a cell's final value. A cell outside the hull, farther from its nearest site than the limit, or masked has
/// none. Then cells without a value are filled, unless they are masked.
#[inline(always)]
pub fn finished(
    value: f32,
    x: i32,
    hull: [i32; 2],
    is_near: bool,
    is_masked: bool,
    fill: Option<f32>,
) -> f32 {
    if is_masked {
        return f32::NAN;
    }
    let is_inside = hull[0] <= x && x <= hull[1] && is_near;
    match fill {
        Some(fill) if !is_inside || value.is_nan() => fill,
        _ if is_inside => value,
        _ => f32::NAN,
    }
}

/// Writes the distance of every cell to its nearest site, in cells, if `distances` are wanted, and applies the control
/// of NODATA to `dem`.
///
/// `hull` has, for each row of cells, the first and the last position of a query point within the sites' convex hull,
/// in half pixels. Without `hull` all positions count. `mask` is not 0 where a cell may have a value. Cells without a
/// value in the end are counted once for all `value_count` values, since these are all there or all missing. Grid: one
/// thread a cell.
///
/// # Safety
/// `tallies`, `nearest` and `values` are as [`Sites`](super::values::Sites) has them, with `value_count` values for
/// each pixel, of a raster that is not turned. `scales` has a scale for each value, and `hull` two elements for each
/// row of the lattice. `mask` and `distances` have an element for each cell, and `dem` one for each value of each cell.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
pub unsafe fn finish_cells(
    tallies: Out<'_, u64>,
    nearest: In<'_, u32>,
    values: In<'_, i32>,
    value_count: u32,
    lattice: Lattice,
    hull: Option<In<'_, i32>>,
    max_squared: u64,
    mask: Option<In<'_, u8>>,
    fill: u32,
    fill_value: f32,
    scales: In<'_, f64>,
    dem: Out<'_, f32>,
    distances: Option<Out<'_, f32>>,
) {
    let Lattice { columns, rows, reciprocal, supersample } = lattice;
    let index = thread::index_1d();
    let mut is_empty = false;
    if index < columns as u64 * rows as u64 {
        let cell = index as usize;
        let row = (index as u32).checked_div(columns).unwrap_or(0);
        let column = index as u32 - row * columns;
        let extent = lattice.extent();
        let q = [column, row].map(|i| (supersample * (2 * i + 1)) as i32);
        let diagram = Diagram {
            nearest: |x: i32, y: i32| nearest.get(y as i64 * extent[0] as i64 + x as i64),
            width: Width::new(extent[0] as u32, reciprocal),
            bounds: Bounds::of_raster(extent),
        };
        let (mut squared, mut site) = (u64::MAX, NONE);
        if tallies.get(SITES) > 0 {
            (squared, site) = nearest_touching(&diagram.stolen_by(q));
        }
        if let Some(distances) = distances {
            let distance =
                if site == NONE { f32::INFINITY } else { in_cells(squared, supersample) };
            distances.set(cell, distance);
        }
        let mut bounds = [i32::MIN, i32::MAX];
        if let Some(hull) = hull {
            bounds = [hull.get(2 * row as usize), hull.get(2 * row as usize + 1)];
        }
        let is_masked = mask.is_some_and(|mask| mask.get(cell) == 0);
        let is_near = squared <= max_squared;
        let mut k = 0;
        while k < value_count as usize {
            let filling = match fill {
                FILL_NEAREST if site != NONE => {
                    let of_site = values.get(site as usize * value_count as usize + k);
                    let [offset, step] = Scales(scales).of(k);
                    Some(mean(of_site as i64, 1, offset, step))
                }
                FILL_VALUE => Some(fill_value),
                _ => None,
            };
            let at = k * (columns as usize * rows as usize) + cell;
            let value = finished(dem.get(at), q[0], bounds, is_near, is_masked, filling);
            dem.set(at, value);
            is_empty = value.is_nan();
            k += 1;
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_empty, tallies, LEFT) };
}

/// Writes the first and the last column with a site in every row of the raster, in pixels. In a row without a site the
/// first is greater than the last.
///
/// Grid: one warp-sized block a row.
///
/// # Safety
/// `tallies` has [`TALLIES`](crate::nni::tallies::TALLIES) elements, `nearest` has `width` for each block, `extremes`
/// has one for each block.
#[cfg(feature = "nni")]
#[kernel(block = 32)]
pub unsafe fn row_extremes(
    tallies: In<'_, u64>,
    nearest: In<'_, u32>,
    width: u32,
    extremes: Out<'_, [i32; 2]>,
) {
    let row = thread::block_idx_x();
    let start = row as usize * width as usize;
    let (mut first, mut last) = (i32::MAX, -1);
    if tallies.get(SITES) > 0 {
        let mut x = thread::thread_idx_x();
        while x < width {
            let pixel = start + x as usize;
            if nearest.get(pixel) as usize == pixel {
                first = i32::min(first, x as i32);
                last = i32::max(last, x as i32);
            }
            x += warp::SIZE;
        }
    }
    // SAFETY: the whole warp is here.
    let both = unsafe { [warp::reduce(first, i32::min), warp::reduce(last, i32::max)] };
    if warp::lane_id() == 0 {
        extremes.set(row, both);
    }
}
