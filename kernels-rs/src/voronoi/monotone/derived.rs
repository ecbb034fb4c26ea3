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
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
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
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
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
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
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

/// What is known of pixels that are not square, beside their sides.
#[derive(Clone, Copy)]
struct Sides {
    x: f64,
    y: f64,
    unit: f64,
}

impl Sides {
    /// The distance of so many columns and rows. `Ground::distance` of the crate computes the same on the CPU.
    #[inline(always)]
    fn distance(self, columns: u64, rows: u64) -> f64 {
        let (across, down) = (columns as f64 * self.x, rows as f64 * self.y);
        if down == 0.0 {
            return across;
        }
        if across == 0.0 {
            return down;
        }
        let (across, down) = (across / self.unit, down / self.unit);
        math::sqrt(across * across + down * down) * self.unit
    }
}

/// Of pixels that are not square, with sides `x` and `y`, measured in a power of two, `unit`: forgets indices of sites that are farther than
/// `most`, and writes which of the outputs are not null: the squared distances `across dx^2 + down dy^2`, all bits
/// set where there is none; the distances as f32 and as f64, infinite where there is none. Of a strip of a wider raster,
/// whose column `first` is its first, indices are those of the whole, which has `whole` columns. Grid: one
/// thread a pixel.
///
/// # Safety
/// `indices` and the outputs that are not null have `pixels` elements, in rows of `width`.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn measure<I: Number>(
    indices: *mut I,
    squares: *mut u64,
    out: *mut f32,
    out_f64: *mut f64,
    width: u32,
    first: u32,
    whole: u32,
    across: u32,
    down: u32,
    x: f64,
    y: f64,
    unit: f64,
    most: f64,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`; an output that is not null is there.
        unsafe {
            let index = *indices.add(p as usize);
            let own_row = p / width.max(1) as u64;
            let own_column = p - own_row * width as u64 + first as u64;
            let row = index.wide() / whole.max(1) as u64;
            let column = index.wide() - row * whole as u64;
            let (columns, rows) = (own_column.abs_diff(column), own_row.abs_diff(row));
            let sides = Sides { x, y, unit };
            let mut distance = sides.distance(columns, rows);
            let squared = |steps: u64, weight: u32| {
                // Without a site it means nothing, and is not kept.
                steps.wrapping_mul(steps).wrapping_mul(weight as u64)
            };
            let mut square = squared(columns, across).wrapping_add(squared(rows, down));
            if index == I::NONE || distance > most {
                (distance, square) = (f64::INFINITY, u64::MAX);
                *indices.add(p as usize) = I::NONE;
            }
            if !squares.is_null() {
                *squares.add(p as usize) = square;
            }
            if !out.is_null() {
                *out.add(p as usize) = distance as f32;
            }
            if !out_f64.is_null() {
                *out_f64.add(p as usize) = distance;
            }
        }
    }
}

/// The distance outside less the distance inside, in place of the first. Grid: one thread a pixel.
///
/// # Safety
/// Both have `pixels` elements.
#[kernel(block = BLOCK)]
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
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
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
