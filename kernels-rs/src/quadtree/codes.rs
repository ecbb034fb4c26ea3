//! The Morton codes of points.

use device_std::{atomic, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::spatial::frame::Frame;

/// A coordinate: f32 or f64.
pub trait Place: Copy {
    /// The same number.
    fn widened(self) -> f64;
}

impl Place for f32 {
    #[inline(always)]
    fn widened(self) -> f64 {
        self as f64
    }
}

impl Place for f64 {
    #[inline(always)]
    fn widened(self) -> f64 {
        self
    }
}

/// A code: of 32 bits for trees down to level 16, of 64 for all.
pub trait Code: Copy + Ord {
    /// The code, if it fits.
    fn narrowed(code: u64) -> Self;

    /// Which quadrant of its level a code lies in: two bits that stand `shift` places up.
    fn quadrant(self, shift: u32) -> u32;
}

impl Code for u32 {
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
    #[inline(always)]
    fn narrowed(code: u64) -> Self {
        code
    }

    #[inline(always)]
    fn quadrant(self, shift: u32) -> u32 {
        (self >> shift) as u32 & 3
    }
}

/// The code and the index of each point; where `inside` is not null whether it lies inside `bounds`; and in
/// `bad` the least index of one that does not, or is not finite. Grid: a thread for each point.
///
/// # Safety
/// `x`, `y`, `codes`, `indices` and, if it is not null, `inside` have `len` elements; `bad` has one.
#[kernel(named, block = 256, instances(
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
        let (x, y) = ((*x.add(i as usize)).widened(), (*y.add(i as usize)).widened());
        *codes.add(i as usize) = K::narrowed(frame.code(x, y));
        *indices.add(i as usize) = i as u32;
        // False for NaN, too.
        let is_inside = x >= min_x && x <= max_x && y >= min_y && y <= max_y;
        if !inside.is_null() {
            *inside.add(i as usize) = is_inside as u8;
        }
        if !is_inside {
            atomic::min_i64(bad, i as i64);
        }
    }
}
