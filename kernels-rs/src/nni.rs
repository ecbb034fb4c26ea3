//! Natural neighbour interpolation onto a grid: crate `nni-grid`.
//!
//! 1. [`accumulate_points`], a thread a point: finds the point's pixel and merges its value into
//!    the pixel's accumulator by an atomic that does not depend on order.
//! 2. [`resolve_sites`], a thread a pixel: the site mask and the sites' values.
//! 3. The Voronoi diagram of the mask (module `voronoi`).
//! 4. [`gather_sites`], a thread a pixel: what a query asks of a pixel, in one 16-byte record.
//! 5. [`query_cells`], a thread a DEM cell: the grid query of You and Zhang, a sum over the pixels
//!    of the query circle that the cell's centre would steal from their sites.
//!
//! Values are fixed-point integers (`ValueScale` in nni-grid), so sums are exact and the result
//! does not depend on order. Positions in the query are in half pixels, which makes pixel centres
//! and query points integers at every supersampling.

use device_std::{atomic, kernel, math, thread, warp};

/// Threads of a block, in every kernel of this module.
pub const BLOCK: u32 = 256;

/// How points in one pixel merge: their mean.
pub const MEAN: u32 = 0;
/// How points in one pixel merge: the lowest value.
pub const MIN: u32 = 1;
/// How points in one pixel merge: the highest value.
pub const MAX: u32 = 2;
/// How points in one pixel merge: the value of the first point.
pub const FIRST: u32 = 3;
/// How points in one pixel merge: the value of the last point.
pub const LAST: u32 = 4;

/// The byte that fills the accumulators at first: with [`MEAN`] zeros, with [`MIN`] and [`FIRST`]
/// more than any value or index, with [`MAX`] and [`LAST`] less than any.
pub const fn neutral_byte(policy: u32) -> u8 {
    match policy {
        MEAN => 0x00,
        MIN | FIRST => 0x7f,
        _ => 0x80,
    }
}

/// `nearest` of a raster without sites, as module `voronoi` writes it.
const NONE: u32 = u32::MAX;

/// Squared distance, in half pixels, beyond that of any pixel that counts. It stands for longer
/// ones.
const FAR: u32 = u32::MAX;

/// The value of a point in fixed point: `(z - offset) / step`, where the step is a power of two.
#[inline(always)]
fn quantise(z: f64, offset: f64, reciprocal_step: f64) -> i32 {
    math::round_ties_even((z - offset) * reciprocal_step) as i32
}

/// Merges every point into its pixel, and counts the points outside the raster in `outside`.
///
/// `counts` starts at zero, `accumulators` filled with [`neutral_byte`]. Grid: one thread a point.
///
/// # Safety
/// `x`, `y`, `z` have `points` elements, `counts` and `accumulators` `width * height`.
#[kernel(block = 256)]
pub unsafe fn accumulate_points(
    x: *const f64,
    y: *const f64,
    z: *const f64,
    points: u64,
    origin_x: f64,
    origin_y: f64,
    pixel_size: f64,
    width: u32,
    height: u32,
    offset: f64,
    reciprocal_step: f64,
    policy: u32,
    counts: *mut u32,
    accumulators: *mut i64,
    outside: *mut u32,
) {
    let point = thread::index_1d();
    let mut is_outside = false;
    if point < points {
        let i = point as usize;
        // SAFETY: `point < points`; the pixel is checked against the raster.
        unsafe {
            let column = math::floor((*x.add(i) - origin_x) / pixel_size);
            let row = math::floor((origin_y - *y.add(i)) / pixel_size);
            is_outside =
                !(column >= 0.0 && row >= 0.0 && column < width as f64 && row < height as f64);
            if !is_outside {
                let pixel = row as u64 * width as u64 + column as u64;
                let accumulator = accumulators.add(pixel as usize);
                let value = quantise(*z.add(i), offset, reciprocal_step) as i64;
                match policy {
                    MEAN => atomic::add_i64(accumulator, value),
                    MIN => atomic::min_i64(accumulator, value),
                    MAX => atomic::max_i64(accumulator, value),
                    FIRST => atomic::min_i64(accumulator, point as i64),
                    _ => atomic::max_i64(accumulator, point as i64),
                };
                atomic::add_u32(counts.add(pixel as usize), 1);
            }
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_outside, outside) };
}

/// Writes the site mask, and the value of every site.
///
/// Counts the sites in `sites`. Grid: one thread a pixel.
///
/// # Safety
/// `counts`, `accumulators`, `mask`, `values` have `pixels` elements; with [`FIRST`] and [`LAST`]
/// the accumulators of occupied pixels are indices into `z`.
#[kernel(block = 256)]
pub unsafe fn resolve_sites(
    counts: *const u32,
    accumulators: *const i64,
    z: *const f64,
    offset: f64,
    reciprocal_step: f64,
    policy: u32,
    pixels: u32,
    mask: *mut u8,
    values: *mut i32,
    sites: *mut u32,
) {
    let pixel = thread::index_1d();
    let mut is_site = false;
    if pixel < pixels as u64 {
        let p = pixel as usize;
        // SAFETY: `pixel < pixels`; an index was merged from a point of `z`.
        unsafe {
            let count = *counts.add(p);
            is_site = count > 0;
            let mut value = 0;
            if is_site {
                let merged = *accumulators.add(p);
                value = match policy {
                    MEAN => rounded_mean(merged, count),
                    MIN | MAX => merged as i32,
                    _ => quantise(*z.add(merged as usize), offset, reciprocal_step),
                };
            }
            *mask.add(p) = is_site as u8;
            *values.add(p) = value;
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_site, sites) };
}

/// `sum / count` to the nearest integer, halves upward: `floor((2 sum + count) / (2 count))`.
///
/// The quotient is taken in f64, where it is off by one at most, and corrected.
#[inline(always)]
fn rounded_mean(sum: i64, count: u32) -> i32 {
    let numerator = 2 * sum + count as i64;
    let denominator = 2 * count as i64;
    let mut quotient = math::floor(numerator as f64 / denominator as f64) as i64;
    let rest = numerator - quotient * denominator;
    if rest < 0 {
        quotient -= 1;
    } else if rest >= denominator {
        quotient += 1;
    }
    quotient as i32
}

/// Adds the number of threads whose flag is set to `total`, with one atomic a warp.
///
/// # Safety
/// All threads of the block come to the same call.
#[inline(always)]
unsafe fn count_flags(flag: bool, total: *mut u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        let flags = warp::ballot(warp::FULL, flag);
        if flags != 0 && warp::lane_id() == 0 {
            atomic::add_u32(total, flags.count_ones());
        }
    }
}

/// What a query asks of a pixel.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct PixelSite {
    /// Squared distance from the pixel to its site, in half pixels; [`u32::MAX`] stands for that
    /// and more, 0 for a site itself.
    pub squared: u32,
    /// The site's value.
    pub value: i32,
    /// The site's column.
    pub column: i32,
    /// The site's row.
    pub row: i32,
}

/// Gathers the record of every pixel from the diagram and the sites' values.
///
/// The records of a diagram without sites mean nothing. Grid: one thread a pixel.
///
/// # Safety
/// `nearest`, `values`, `records` have `pixels` elements.
#[kernel(block = 256)]
pub unsafe fn gather_sites(
    nearest: *const u32,
    values: *const i32,
    records: *mut PixelSite,
    width: u32,
    pixels: u32,
) {
    let pixel = thread::index_1d();
    if pixel >= pixels as u64 {
        return;
    }
    // SAFETY: `pixel < pixels`, and `nearest` holds indices of pixels.
    unsafe {
        let site = *nearest.add(pixel as usize);
        let mut record = PixelSite { squared: FAR, value: 0, column: 0, row: 0 };
        if site != NONE {
            // `checked` only to keep the division's panic out; the width is not zero here.
            let split = |p: u32| {
                let row = p.checked_div(width).unwrap_or(0);
                (row as i64, (p - row * width) as i64)
            };
            let (row, column) = split(pixel as u32);
            let (site_row, site_column) = split(site);
            let (dy, dx) = (row - site_row, column - site_column);
            let squared = 4 * (dx * dx + dy * dy) as u64;
            record.squared = if squared < FAR as u64 { squared as u32 } else { FAR };
            record.value = *values.add(site as usize);
            record.column = site_column as i32;
            record.row = site_row as i32;
        }
        *records.add(pixel as usize) = record;
    }
}

/// A query point and what bounds it. Positions are in half pixels.
#[derive(Clone, Copy)]
struct Query {
    x: i32,
    y: i32,
    /// Pixels of the raster in x.
    width: i32,
    /// Pixels of the raster in y.
    height: i32,
    site_limit: u64,
}

/// The running sum of a query.
#[derive(Clone, Copy)]
struct Stolen {
    sum: i64,
    count: u32,
}

impl Query {
    /// Sums the pixels of the circle that the query point steals.
    ///
    /// # Safety
    /// `records` has `width * height` elements, `spans` has `span_rows`.
    #[inline(always)]
    unsafe fn circle(
        &self,
        records: *const PixelSite,
        spans: *const i32,
        span_rows: i32,
    ) -> Stolen {
        let mut stolen = Stolen { sum: 0, count: 0 };
        // The pixel under the query point; where that is a corner, the one to its lower right.
        let (base_x, base_y) = (self.x >> 1, self.y >> 1);
        let on_corner = 1 - (self.x & 1);
        let top = base_y - (span_rows >> 1);
        let mut k = i32::max(0, -top);
        let end = i32::min(span_rows, self.height - top);
        while k < end {
            let y = top + k;
            let dy = 2 * y + 1 - self.y;
            // SAFETY: `k` is in the spans, `y` and `x` are in the raster.
            unsafe {
                let reach = *spans.add(k as usize);
                let mut x = i32::max(0, base_x - reach);
                let last = i32::min(self.width - 1, base_x + reach - on_corner);
                let row = records.add((y as i64 * self.width as i64) as usize);
                while x <= last {
                    let dx = 2 * x + 1 - self.x;
                    let record = *row.add(x as usize);
                    let is_stolen = ((dx * dx + dy * dy) as u32) < record.squared;
                    if is_stolen && self.is_influenced_by(record) {
                        stolen.sum += record.value as i64;
                        stolen.count += 1;
                    }
                    x += 1;
                }
            }
            k += 1;
        }
        stolen
    }

    /// Sums the sites among the one pixel (odd `supersample`) or four pixels that touch the query
    /// point.
    ///
    /// # Safety
    /// `records` has `width * height` elements.
    #[inline(always)]
    unsafe fn touching_sites(&self, records: *const PixelSite, supersample: u32) -> Stolen {
        let mut stolen = Stolen { sum: 0, count: 0 };
        let on_corner = 1 - (supersample & 1) as i32;
        let mut y = (self.y >> 1) - on_corner;
        while y <= self.y >> 1 {
            let mut x = (self.x >> 1) - on_corner;
            while x <= self.x >> 1 {
                // SAFETY: a cell has `supersample` pixels a side, so these lie in the cell.
                let record =
                    unsafe { *records.add((y as i64 * self.width as i64 + x as i64) as usize) };
                if record.squared == 0 && self.is_influenced_by(record) {
                    stolen.sum += record.value as i64;
                    stolen.count += 1;
                }
                x += 1;
            }
            y += 1;
        }
        stolen
    }

    /// Whether the query point lies in the region of influence of a pixel's site.
    #[inline(always)]
    fn is_influenced_by(&self, record: PixelSite) -> bool {
        let dx = (2 * record.column + 1 - self.x) as i64;
        let dy = (2 * record.row + 1 - self.y) as i64;
        ((dx * dx + dy * dy) as u64) < self.site_limit
    }
}

/// Interpolates every cell of the DEM.
///
/// The cell (column, row) asks from `supersample * (2 column + 1, 2 row + 1)`, in half pixels.
/// `spans` holds for each of the `span_rows` rows of the query circle, from the top, how many of its
/// pixels lie to the left of the query point, and as many to the right. A pixel counts when it
/// is nearer to the query point than to its own site, and that site is nearer to the query point
/// than `site_limit` (squared, in half pixels). Where none counts the query point is on a site, or
/// amid four: then the sites among the pixels that touch it count. Where still none counts, and
/// everywhere if the raster has no `sites`, the cell is NaN. Grid: one thread a cell.
///
/// # Safety
/// `sites` points to the number of sites, `records` has `pixel_width * pixel_height` elements, `spans` `span_rows`, `dem` and (unless
/// null) `counts` `cells`; `pixel_width` is `supersample * cell_width`.
#[kernel(block = 256)]
pub unsafe fn query_cells(
    sites: *const u32,
    records: *const PixelSite,
    spans: *const i32,
    span_rows: u32,
    cell_width: u32,
    cells: u32,
    supersample: u32,
    pixel_height: u32,
    site_limit: u64,
    offset: f64,
    step: f64,
    dem: *mut f32,
    counts: *mut u32,
) {
    let cell = thread::index_1d();
    if cell >= cells as u64 {
        return;
    }
    let cell_row = (cell as u32).checked_div(cell_width).unwrap_or(0);
    let cell_column = cell as u32 - cell_row * cell_width;
    let query = Query {
        x: (supersample * (2 * cell_column + 1)) as i32,
        y: (supersample * (2 * cell_row + 1)) as i32,
        width: (supersample * cell_width) as i32,
        height: pixel_height as i32,
        site_limit,
    };
    // SAFETY: the query keeps within the raster, `cell < cells`.
    unsafe {
        let mut stolen = Stolen { sum: 0, count: 0 };
        if *sites > 0 {
            stolen = query.circle(records, spans, span_rows as i32);
            if stolen.count == 0 {
                stolen = query.touching_sites(records, supersample);
            }
        }
        *dem.add(cell as usize) = if stolen.count == 0 {
            f32::NAN
        } else {
            (offset + stolen.sum as f64 / stolen.count as f64 * step) as f32
        };
        if !counts.is_null() {
            *counts.add(cell as usize) = stolen.count;
        }
    }
}

device_std::ptx_module! {
    "nni": accumulate_points, resolve_sites, gather_sites, query_cells
}
