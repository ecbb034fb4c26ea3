//! The Morton codes of points.

use device_std::block::BlockReduce;
use device_std::shared::Carver;
use device_std::{atomic, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::spatial::frame::Frame;
use crate::spatial::place::Place;

/// A code: of 32 bits for trees down to level 16, of 64 for all.
pub trait Code: Copy + Ord {
    /// 0.
    const ZERO: Self;

    /// The code, if it fits.
    fn narrowed(code: u64) -> Self;

    /// Which quadrant of its level a code lies in: two bits that stand `shift` places up.
    fn quadrant(self, shift: u32) -> u32;
}

impl Code for u32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn narrowed(code: u64) -> Self {
        code as u32
    }

    #[inline(always)]
    fn quadrant(self, shift: u32) -> u32 {
        self >> shift & 3
    }
}

impl Code for u64 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn narrowed(code: u64) -> Self {
        code
    }

    #[inline(always)]
    fn quadrant(self, shift: u32) -> u32 {
        (self >> shift) as u32 & 3
    }
}

/// Threads of a block of [`mod@find_bounds`].
const BOUNDS_BLOCK: usize = 256;

/// What [`mod@find_bounds`] finds.
pub const FOUND: usize = 6;

/// The rank of a float: rises with it; that of -0 is one below that of 0.
#[inline(always)]
pub fn rank(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The float of a [`rank`].
pub fn of_rank(rank: i64) -> f64 {
    f64::from_bits((rank ^ ((rank >> 63) as u64 >> 1) as i64) as u64)
}

/// The bounds of points. Into `found`, whose [`FOUND`] elements are `i64::MAX` before: the [`rank`]s of the
/// least x and the least y, the complements of those of the greatest, and the first index of an x and of a
/// y that is not finite. Grid: any number of blocks.
///
/// # Safety
/// `x` and `y` have `len` elements.
#[kernel(
    block = BOUNDS_BLOCK,
    carve = |carver| BlockReduce::<i64>::new(carver, BOUNDS_BLOCK),
    instances(f32: <f32>; f64: <f64>)
)]
pub unsafe fn find_bounds<T: Place>(x: *const T, y: *const T, len: u64, found: *mut i64) {
    let blocks = BlockReduce::<i64>::new(&mut Carver::new(), BOUNDS_BLOCK);
    let mut mine = [i64::MAX; FOUND];
    let mut i = thread::index_1d();
    let step = thread::grid_dim_x() as u64 * BOUNDS_BLOCK as u64;
    while i < len {
        // SAFETY: guarded.
        let place = unsafe { [(*x.add(i as usize)).widened(), (*y.add(i as usize)).widened()] };
        let mut axis = 0;
        while axis < 2 {
            let rank = rank(place[axis]);
            mine[axis] = mine[axis].min(rank);
            mine[2 + axis] = mine[2 + axis].min(!rank);
            // The first of a thread comes first.
            if !place[axis].is_finite() {
                mine[4 + axis] = mine[4 + axis].min(i as i64);
            }
            axis += 1;
        }
        i += step;
    }
    let mut which = 0;
    while which < FOUND {
        // SAFETY: the whole block comes here; the least of all blocks is found by an atomic.
        unsafe {
            let least = blocks.reduce(mine[which], i64::MAX, i64::min);
            if thread::thread_idx_x() == 0 {
                atomic::min_i64(found.add(which), least);
            }
        }
        which += 1;
    }
}

/// The code of each point; its index, where `indices` is not null; whether it lies inside `bounds`, where `inside`
/// is not null; and x and y side by side, where `pairs` is not null, for `gather_places`.
/// In `bad`, whose elements are above all indices before, the least index of an x and of a y that is not finite,
/// and, where `inside` is null, of a point outside. Grid: a thread for each point.
///
/// # Safety
/// `x`, `y`, `codes` and, if they are not null, `indices` and `inside` have `len` elements, `pairs` room for as many
/// pairs; `bad` has three.
#[kernel(block = 256, instances(
    f32_u32: <f32, u32>; f32_u64: <f32, u64>; f64_u32: <f64, u32>; f64_u64: <f64, u64>;
))]
pub unsafe fn encode<T: Place, K: Code>(
    x: *const T,
    y: *const T,
    len: u64,
    corner: [f64; 2],
    per_unit: [f64; 2],
    level: u32,
    bounds: [f64; 4],
    codes: *mut K,
    indices: *mut u32,
    pairs: *mut u64,
    inside: *mut u8,
    bad: *mut i64,
) {
    let i = thread::index_1d();
    if i >= len {
        return;
    }
    let ([west, south], [columns_per_unit, rows_per_unit]) = (corner, per_unit);
    let frame = Frame { west, south, columns_per_unit, rows_per_unit, level };
    let [min_x, min_y, max_x, max_y] = bounds;
    // SAFETY: guarded; the least index is found by an atomic.
    unsafe {
        let place = [*x.add(i as usize), *y.add(i as usize)];
        if !pairs.is_null() {
            T::store_pair(pairs, i, place);
        }
        let [x, y] = [place[0].widened(), place[1].widened()];
        *codes.add(i as usize) = K::narrowed(frame.code(x, y));
        if !indices.is_null() {
            *indices.add(i as usize) = i as u32;
        }
        // False for NaN, too.
        let is_inside = x >= min_x && x <= max_x && y >= min_y && y <= max_y;
        if !inside.is_null() {
            *inside.add(i as usize) = is_inside as u8;
        } else if !is_inside {
            atomic::min_i64(bad.add(2), i as i64);
        }
        if !x.is_finite() {
            atomic::min_i64(bad, i as i64);
        }
        if !y.is_finite() {
            atomic::min_i64(bad.add(1), i as i64);
        }
    }
}
