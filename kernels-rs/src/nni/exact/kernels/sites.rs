//! Sites out of points.

use device_std::{kernel, math, thread};

use super::super::index::{Merge, Sorted, drawn_in, key};
use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::nni::rasterise::{OUTSIDE, SITES, count_flags};
use crate::nni::values::Scales;
use crate::spatial::cells::Cells;

/// The columns of points, sorted.
///
/// # Safety
/// `x` and `y` have an element for each point that `order` names, which has `points`, as `keys`.
#[inline(always)]
unsafe fn sorted(
    keys: *const u64,
    order: *const u32,
    x: *const f64,
    y: *const f64,
    points: u32,
) -> Sorted<impl Fn(usize) -> u64, impl Fn(usize) -> usize, impl Fn(usize) -> [f64; 2]> {
    // SAFETY (all): passed on to the caller.
    Sorted {
        len: points as usize,
        // SAFETY: passed on to the caller.
        key: move |i: usize| unsafe { *keys.add(i) },
        // SAFETY: passed on to the caller.
        point: move |i: usize| unsafe { *order.add(i) as usize },
        // SAFETY: passed on to the caller.
        place: move |i: usize| unsafe { [*x.add(i), *y.add(i)] },
    }
}

/// Writes where each point counts ([`drawn_in`]). Grid: a thread a point.
///
/// # Safety
/// All columns have `points` elements.
#[kernel(block = BLOCK)]
pub unsafe fn draw_in(
    x: *const f64,
    y: *const f64,
    points: u32,
    middle_x: f64,
    middle_y: f64,
    drawn_x: *mut f64,
    drawn_y: *mut f64,
) {
    let i = thread::index_1d() as usize;
    if i >= points as usize {
        return;
    }
    // SAFETY: the point is below the count.
    unsafe {
        let [x, y] = drawn_in([*x.add(i), *y.add(i)], [middle_x, middle_y]);
        *drawn_x.add(i) = x;
        *drawn_y.add(i) = y;
    }
}

/// Writes the key of each point, and counts those outside of the DEM. Grid: a thread a point.
///
/// # Safety
/// `x`, `y` and `keys` have `points` elements, `tallies` as many as the pixel method's.
#[kernel(block = BLOCK)]
pub unsafe fn key_points(
    x: *const f64,
    y: *const f64,
    points: u32,
    west: f64,
    south: f64,
    side: f64,
    per_unit: f64,
    columns: u32,
    rows: u32,
    origin_x: f64,
    origin_y: f64,
    cell_size: f64,
    dem_columns: u32,
    dem_rows: u32,
    keys: *mut u64,
    tallies: *mut u64,
) {
    let point = thread::index_1d();
    let mut is_outside = false;
    if point < points as u64 {
        let i = point as usize;
        // SAFETY: the point is below the count.
        unsafe {
            let (x, y) = (*x.add(i), *y.add(i));
            let cells = Cells { west, south, side, per_unit, columns, rows };
            *keys.add(i) = key(&cells, x, y);
            let column = math::floor((x - origin_x) / cell_size);
            let row = math::floor((origin_y - y) / cell_size);
            let is_inside =
                column >= 0.0 && row >= 0.0 && column < dem_columns as f64 && row < dem_rows as f64;
            is_outside = !is_inside;
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_outside, tallies.add(OUTSIDE)) };
}

/// Writes 1 for each sorted point that is the first at its place, 0 for others and for one more; and
/// counts the ones. Grid: a thread a point and one more.
///
/// # Safety
/// `keys` and `order` have `points` elements, `x` and `y` one for each that `order` names, `first` one
/// more.
#[kernel(block = BLOCK)]
pub unsafe fn mark_first(
    keys: *const u64,
    order: *const u32,
    x: *const f64,
    y: *const f64,
    points: u32,
    first: *mut u32,
    tallies: *mut u64,
) {
    let i = thread::index_1d();
    let mut is_first = false;
    if i <= points as u64 {
        // SAFETY: passed on to the caller; the element is below the count.
        unsafe {
            if i < points as u64 {
                is_first = sorted(keys, order, x, y, points).is_first(i as usize);
            }
            *first.add(i as usize) = is_first as u32;
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_first, tallies.add(SITES)) };
}

/// Writes the first site of each cell, and behind them the number of sites. `sites_before` is the
/// exclusive scan of what [`const@mark_first`] wrote. Grid: a thread a cell and one more.
///
/// # Safety
/// `keys` has `points` elements, `sites_before` one more; `starts` one more than `cells`.
#[kernel(block = BLOCK)]
pub unsafe fn find_starts(
    keys: *const u64,
    points: u32,
    sites_before: *const u32,
    cells: u32,
    starts: *mut u32,
) {
    let cell = thread::index_1d();
    if cell > cells as u64 {
        return;
    }
    // SAFETY: passed on to the caller; order and places are not asked for.
    unsafe {
        let null = core::ptr::null();
        let all = sorted(keys, core::ptr::null(), null, null, points);
        *starts.add(cell as usize) = *sites_before.add(all.first_of(cell));
    }
}

/// Writes the places and the merged values of sites. Grid: a thread a point.
///
/// # Safety
/// As for [`const@mark_first`]; `sites_before` is its exclusive scan; `z` has `value_count` planes of
/// `plane` elements; `places` has two elements for each site, `values` `value_count`.
#[kernel(block = BLOCK)]
pub unsafe fn make_sites(
    keys: *const u64,
    order: *const u32,
    x: *const f64,
    y: *const f64,
    z: *const f64,
    plane: u64,
    points: u32,
    sites_before: *const u32,
    scales: *const f64,
    value_count: u32,
    policy: u32,
    places: *mut f64,
    values: *mut i32,
) {
    let i = thread::index_1d() as usize;
    if i >= points as usize {
        return;
    }
    // SAFETY: passed on to the caller; the element is below the count.
    unsafe {
        let site = *sites_before.add(i) as usize;
        if *sites_before.add(i + 1) as usize == site {
            return;
        }
        let all = sorted(keys, order, x, y, points);
        let [x, y] = (all.place)((all.point)(i));
        *places.add(2 * site) = x;
        *places.add(2 * site + 1) = y;
        let mut k = 0;
        while k < value_count as usize {
            let [offset, reciprocal_step] = Scales(scales).inverse_of(k);
            let mut merge = Merge::new(policy);
            all.each_at(i, |point| {
                let z = *z.add(k * plane as usize + point);
                merge.add(math::round_ties_even((z - offset) * reciprocal_step) as i32);
            });
            *values.add(value_count as usize * site + k) = merge.value();
            k += 1;
        }
    }
}
