//! Points sorted along a curve, as `plan` says.
//!
//! 1. `find_bulk` and `make_curve`: where most of the points lie, and the curve there.
//! 2. `number_on_curve`: the key of each point.
//! 3. Keys are sorted by `gpu-scan`, stably, so that points of a key stay in the order of their indices.
//! 4. `gather_column`: the points' columns in the new order.
//!
//! On the sphere `place_on_sphere` comes first. `take_off` and `square_deviations` are for sums over
//! a column, `write_ranges` for what is known of the values.

use device_std::block::BlockScan;
use device_std::real::Real;
use device_std::shared::Carver;
use device_std::{In, Out, kernel, thread};

use super::plan::{self, Curve, SAMPLE};
use super::targets::Targets;
use crate::spatial::sphere;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Elements of the sample that a thread has.
const OF_THREAD: usize = (SAMPLE / BLOCK as u64) as usize;

/// Bits that have the order of the numbers; a NaN comes first or last.
#[inline(always)]
fn ordered(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The number with these [`ordered`] bits.
#[inline(always)]
fn unordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 0 { !bits } else { bits & !(1 << 63) })
}

/// The block's scan for counts.
#[inline(always)]
const fn room(carver: &mut Carver) -> BlockScan<u32> {
    BlockScan::new(carver)
}

/// Bytes of it.
const ROOM_BYTES: u32 = {
    let mut carver = Carver::new();
    let _ = room(&mut carver);
    carver.bytes()
};

/// Writes the bulk of places: west, east, south, north. It lies within `extent`, which has them in the same
/// order. Grid: 2 blocks, one an axis.
///
/// # Safety
/// `x` and `y` have `count` elements, which is not 0, and `bulk` has 4.
#[kernel(block = BLOCK, shared = ROOM_BYTES)]
pub unsafe fn find_bulk(
    x: In<'_, f64>,
    y: In<'_, f64>,
    count: u64,
    extent: [f64; 4],
    bulk: Out<'_, f64>,
) {
    let scan = room(&mut Carver::new());
    let is_y = thread::block_idx_x() == 1;
    let column = if is_y { y } else { x };
    let sample = plan::sample_len(count);
    let mut mine = [u64::MAX; OF_THREAD];
    let mut k = 0;
    while k < OF_THREAD {
        let element = k as u64 * BLOCK as u64 + thread::thread_idx_x() as u64;
        if element < sample {
            mine[k] = ordered(column.get(plan::sampled(element, count)));
        }
        k += 1;
    }
    let ranks = plan::ranks(sample);
    // SAFETY: the whole block comes to both calls.
    let (low, high) = unsafe {
        let low = unordered(of_rank(scan, &mine, ranks[0] as u32));
        (low, unordered(of_rank(scan, &mine, ranks[1] as u32)))
    };
    let whole = if is_y { [extent[2], extent[3]] } else { [extent[0], extent[1]] };
    if thread::thread_idx_x() == 0 {
        let [low, high] = plan::bulk([low, high], sample, whole);
        let to = bulk.from(if is_y { 2u32 } else { 0 });
        to.set(0u32, low);
        to.set(1u32, high);
    }
}

/// Returns the key of rank `rank` among the block's keys, where the least has rank 0, by bisection.
///
/// # Safety
/// The whole block comes to the same call.
#[inline(always)]
unsafe fn of_rank(scan: BlockScan<u32>, mine: &[u64; OF_THREAD], rank: u32) -> u64 {
    let (mut low, mut high) = (0, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        let mut count = 0;
        let mut k = 0;
        while k < OF_THREAD {
            count += (mine[k] <= middle) as u32;
            k += 1;
        }
        // SAFETY: every thread has the same bounds, since it has the same total.
        let (_, total) = unsafe { scan.inclusive(count, 0, |a, b| a + b) };
        if total > rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Writes the curve over a bulk. Grid: one block.
///
/// # Safety
/// `bulk` is what `find_bulk` writes, and `curve` has one element.
#[kernel(block = 32)]
pub unsafe fn make_curve(bulk: In<'_, f64>, curve: Out<'_, Curve>) {
    if thread::index_1d() == 0 {
        let (x, y) = ([bulk.get(0u32), bulk.get(1u32)], [bulk.get(2u32), bulk.get(3u32)]);
        curve.set(0u32, Curve::over(x, y));
    }
}

/// Writes where each place comes along a curve. Grid: a thread a place.
///
/// # Safety
/// `x`, `y`, `keys` have `places` elements, and `curve` one.
#[kernel(block = BLOCK)]
pub unsafe fn number_on_curve(
    x: In<'_, f64>,
    y: In<'_, f64>,
    places: u64,
    curve: In<'_, Curve>,
    keys: Out<'_, u32>,
) {
    let place = thread::index_1d();
    if place >= places {
        return;
    }
    keys.set(place, curve.get(0u32).number(x.get(place), y.get(place)));
}

/// Gathers a column: element `i` comes from `order[i]`, or from `i` where there is no order. Grid: a thread
/// an element.
///
/// # Safety
/// `order` has `len` elements below `len`, `from` and `to` have `len`.
#[kernel(block = BLOCK)]
pub unsafe fn gather_column(
    order: Option<In<'_, u32>>,
    len: u64,
    from: In<'_, f64>,
    to: Out<'_, f64>,
) {
    let i = thread::index_1d();
    if i >= len {
        return;
    }
    let source = order.map_or(i, |order| order.get(i) as u64);
    to.set(i, from.get(source));
}

/// Moves values to where they belong: element `i` of each column goes to `order[i]`. Grid: a thread an
/// element.
///
/// # Safety
/// `order` names each of `len` elements once; `from` and `to` have `columns * len` elements.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn scatter_values<T: Real>(
    order: In<'_, u32>,
    len: u64,
    columns: u32,
    from: In<'_, T>,
    to: Out<'_, T>,
) {
    let i = thread::index_1d();
    if i >= len {
        return;
    }
    let target = order.get(i) as u64;
    let mut column = 0;
    while column < columns as u64 {
        let start = column * len;
        to.set(start + target, from.get(start + i));
        column += 1;
    }
}

/// Writes longitudes between -180 and 180 and latitudes of targets, column after column, and their unit vectors. Grid:
/// a thread a target.
///
/// # Safety
/// The targets are as [`Targets`] says. `degrees` has two elements for each target, `vectors` has three.
#[kernel(block = BLOCK)]
pub unsafe fn place_on_sphere(targets: Targets<'_>, degrees: Out<'_, f64>, vectors: Out<'_, f64>) {
    let (i, n) = (thread::index_1d(), targets.count);
    if i >= n {
        return;
    }
    let [longitude, latitude] = targets.at(i);
    let longitude = sphere::normalised(longitude);
    degrees.set(i, longitude);
    degrees.set(i + n, latitude);
    let [a, b, c] = sphere::unit_vector(longitude, latitude);
    vectors.set(i, a);
    vectors.set(i + n, b);
    vectors.set(i + 2 * n, c);
}

/// Writes offset, lowest and highest of up to four values. Grid: one block.
///
/// # Safety
/// `to` has three elements for each of `values` values, which are 4 at most.
#[kernel(block = 32)]
pub unsafe fn write_ranges(ranges: [f64; 12], values: u32, to: Out<'_, f64>) {
    if thread::index_1d() != 0 {
        return;
    }
    let mut i = 0;
    while i < 12 {
        if i < 3 * values as usize {
            to.set(i, ranges[i]);
        }
        i += 1;
    }
}

/// Writes values less an offset. Grid: a thread a value.
///
/// # Safety
/// `values` and `to` have `len` elements.
#[kernel(block = BLOCK)]
pub unsafe fn take_off(values: In<'_, f64>, len: u64, offset: f64, to: Out<'_, f64>) {
    let i = thread::index_1d();
    if i < len {
        to.set(i, values.get(i) - offset);
    }
}

/// Replaces each number by the square of its deviation from the mean. `sum` is the sum of the numbers. Grid: a thread a
/// number.
///
/// # Safety
/// `numbers` has `len` elements, and `sum` has one.
#[kernel(block = BLOCK)]
pub unsafe fn square_deviations(numbers: Out<'_, f64>, len: u64, sum: In<'_, f64>) {
    let i = thread::index_1d();
    if i < len {
        let rest = numbers.get(i) - sum.get(0u32) / len as f64;
        numbers.set(i, rest * rest);
    }
}

device_std::ptx_module! { "idw_index" }
