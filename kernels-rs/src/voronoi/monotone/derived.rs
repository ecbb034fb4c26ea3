//! Derives outputs pixel by pixel from indices and squared distances: coordinates, values, roots, signed distances. A
//! thread has a pixel; each kernel costs the bytes that it reads and writes.

use device_std::{In, Out, arguments, kernel, math, thread};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::spread::Number;

/// Writes column (low half) and row (high half) of every index; all bits set if there is none. Grid: one
/// thread a pixel.
///
/// # Safety
/// `indices` and `out` have `pixels` elements.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn coordinates<I: Number>(
    indices: In<'_, I>,
    out: Out<'_, u64>,
    width: u32,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        let index = indices.get(p);
        let row = index.wide() / width.max(1) as u64;
        let column = index.wide() - row * width as u64;
        out.set(p, if index == I::NONE { u64::MAX } else { column | row << 32 });
    }
}

/// Writes the 32-bit value at every index; `none` if the index is not below `len`. Grid: one thread a pixel.
///
/// # Safety
/// `indices` and `out` have `pixels` elements, `values` has `len`.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn gather<I: Number>(
    indices: In<'_, I>,
    values: In<'_, u32>,
    len: u64,
    out: Out<'_, u32>,
    none: u32,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        let index = indices.get(p).wide();
        out.set(p, if index < len { values.get(index) } else { none });
    }
}

/// Writes the root of every square times `scale`, as f32 or as f64; infinite if there is no site. Grid: one thread a
/// pixel.
///
/// # Safety
/// `squares` and the outputs that exist have `pixels` elements; one of the two exists.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn roots<S: Number>(
    squares: In<'_, S>,
    out: Option<Out<'_, f32>>,
    out_f64: Option<Out<'_, f64>>,
    scale: f64,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        let square = squares.get(p);
        let root = if square == S::NONE {
            f64::INFINITY
        } else {
            math::sqrt(square.wide() as f64) * scale
        };
        if let Some(out) = out {
            out.set(p, root as f32);
        } else if let Some(out) = out_f64 {
            out.set(p, root);
        }
    }
}

/// The sides of pixels that are not square, measured in a power of two.
#[arguments]
pub struct Sides {
    /// Across.
    pub x: f64,
    /// Down.
    pub y: f64,
    /// The power of two.
    pub unit: f64,
}

impl Sides {
    /// The distance across these columns and rows. `Ground::distance` of the crate computes the same on the CPU.
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

/// For pixels that are not square: erases indices of sites that are farther than `most`, and writes the outputs that
/// exist. These are the squared distances `across dx^2 + down dy^2`, all bits set without a site, and the distances as
/// f32 and as f64, infinite without a site. If the raster is a strip, its first column is column `first` of the whole,
/// which has `whole` columns, and indices are those of the whole. Grid: one thread a pixel.
///
/// # Safety
/// `indices` and the outputs that exist have `pixels` elements, in rows of `width`.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn measure<I: Number>(
    indices: Out<'_, I>,
    squares: Option<Out<'_, u64>>,
    out: Option<Out<'_, f32>>,
    out_f64: Option<Out<'_, f64>>,
    width: u32,
    first: u32,
    whole: u32,
    across: u32,
    down: u32,
    sides: Sides,
    most: f64,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        let index = indices.get(p);
        let own_row = p / width.max(1) as u64;
        let own_column = p - own_row * width as u64 + first as u64;
        let row = index.wide() / whole.max(1) as u64;
        let column = index.wide() - row * whole as u64;
        let (columns, rows) = (own_column.abs_diff(column), own_row.abs_diff(row));
        let mut distance = sides.distance(columns, rows);
        let squared = |steps: u64, weight: u32| {
            // Without a site the product may wrap: it is replaced below.
            steps.wrapping_mul(steps).wrapping_mul(weight as u64)
        };
        let mut square = squared(columns, across).wrapping_add(squared(rows, down));
        if index == I::NONE || distance > most {
            (distance, square) = (f64::INFINITY, u64::MAX);
            indices.set(p, I::NONE);
        }
        if let Some(squares) = squares {
            squares.set(p, square);
        }
        if let Some(out) = out {
            out.set(p, distance as f32);
        }
        if let Some(out) = out_f64 {
            out.set(p, distance);
        }
    }
}

/// Replaces the distance outside by the distance outside less the distance inside. Grid: one thread a pixel.
///
/// # Safety
/// Both have `pixels` elements.
#[kernel(block = BLOCK)]
pub unsafe fn sign_distances(outside: Out<'_, f32>, inside: In<'_, f32>, pixels: u64) {
    let p = thread::index_1d();
    if p < pixels {
        outside.set(p, outside.get(p) - inside.get(p));
    }
}

/// Writes `value` where the mask is not zero. Grid: one thread a pixel.
///
/// # Safety
/// `mask` and `out` have `pixels` elements.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn exclude<T: Copy>(mask: In<'_, u8>, out: Out<'_, T>, value: T, pixels: u64) {
    let p = thread::index_1d();
    if p < pixels && mask.get(p) != 0 {
        out.set(p, value);
    }
}
