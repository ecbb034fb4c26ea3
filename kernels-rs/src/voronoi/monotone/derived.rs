//! What follows, pixel by pixel, from indices and squared distances.

use device_std::{kernel, math, thread};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::spread::Number;

/// Column (low half) and row (high half) of every index; all bits set where there is none. Grid: one
/// thread a pixel.
///
/// # Safety
/// `indices` and `out` have `pixels` elements.
#[kernel(named, block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn coordinates<I: Number>(indices: *const I, out: *mut u64, width: u32, pixels: u64) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`.
        unsafe {
            let index = *indices.add(p as usize);
            let row = index.wide() / width.max(1) as u64;
            let column = index.wide() - row * width as u64;
            *out.add(p as usize) = if index == I::NONE { u64::MAX } else { column | row << 32 };
        }
    }
}

/// The 32-bit value at every index; `none` where the index is not below `len`. Grid: one thread a pixel.
///
/// # Safety
/// `indices` and `out` have `pixels` elements, `values` has `len`.
#[kernel(named, block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn gather<I: Number>(
    indices: *const I,
    values: *const u32,
    len: u64,
    out: *mut u32,
    none: u32,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`, and an index that is followed is below `len`.
        unsafe {
            let index = (*indices.add(p as usize)).wide();
            *out.add(p as usize) = if index < len { *values.add(index as usize) } else { none };
        }
    }
}

/// The root of every square times `scale`, infinite where there is none, as f32, or as f64 if `out` is null.
/// Grid: one thread a pixel.
///
/// # Safety
/// `squares` and the output that is not null have `pixels` elements.
#[kernel(named, block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn roots<S: Number>(
    squares: *const S,
    out: *mut f32,
    out_f64: *mut f64,
    scale: f64,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`; one of the outputs is there, the other null.
        unsafe {
            let square = *squares.add(p as usize);
            let root = if square == S::NONE {
                f64::INFINITY
            } else {
                math::sqrt(square.wide() as f64) * scale
            };
            if out.is_null() {
                *out_f64.add(p as usize) = root;
            } else {
                *out.add(p as usize) = root as f32;
            }
        }
    }
}

/// The distance outside less the distance inside, in place of the first. Grid: one thread a pixel.
///
/// # Safety
/// Both have `pixels` elements.
#[kernel(named, block = BLOCK)]
pub unsafe fn sign_distances(outside: *mut f32, inside: *const f32, pixels: u64) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`.
        unsafe { *outside.add(p as usize) -= *inside.add(p as usize) };
    }
}

/// Writes `value` where the mask is not zero. Grid: one thread a pixel.
///
/// # Safety
/// `mask` and `out` have `pixels` elements.
#[kernel(named, block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn exclude<T: Copy>(mask: *const u8, out: *mut T, value: T, pixels: u64) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`.
        unsafe {
            if *mask.add(p as usize) != 0 {
                *out.add(p as usize) = value;
            }
        }
    }
}
