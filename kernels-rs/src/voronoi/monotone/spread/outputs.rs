//! The values that the spreading kernels write for each pixel: indices, squared distances or distances.

use device_std::{Out, math};

/// The value that is written for a pixel.
pub trait Value<T>: Copy {
    /// Whether [`of`](Self::of) reads the column.
    const NEEDS_COLUMN: bool;

    /// The value if there is no site.
    const NONE: T;

    /// The value of a pixel whose nearest site is in `row` and `column`, at the squared distance `cost`.
    fn of(self, row: u32, column: u32, cost: u64) -> T;

    /// Whether [`of_short`](Self::of_short) is right for squared distances that have no bits set but these.
    #[inline(always)]
    fn is_short(self, _bits: u64) -> bool {
        true
    }

    /// As [`of`](Self::of), in less time, if the cost [is short](Self::is_short).
    #[inline(always)]
    fn of_short(self, row: u32, column: u32, cost: u64) -> T {
        self.of(row, column, cost)
    }
}

/// A pixel's place in the outputs, and the values that are written there.
pub trait Output: Copy {
    /// Whether [`put`](Self::put) reads the column. If not, the winner's candidate is not loaded.
    const NEEDS_COLUMN: bool;

    /// The same for the pixel `pixels` on.
    fn moved(self, pixels: u64) -> Self;

    /// Writes the pixel, whose nearest site is in `row` and `column`, at the squared distance `cost`.
    fn put(self, row: u32, column: u32, cost: u64);

    /// Whether [`put_short`](Self::put_short) is right for squared distances that have no bits set but these.
    fn is_short(self, bits: u64) -> bool;

    /// As [`put`](Self::put), in less time, if the cost [is short](Self::is_short).
    fn put_short(self, row: u32, column: u32, cost: u64);

    /// Writes the pixel, which has no nearest site.
    fn put_none(self);
}

/// A pixel: its array from the pixel on, and the value that is written there.
#[derive(Clone, Copy)]
pub struct Pixel<'a, T, V> {
    /// From the pixel on.
    pub out: Out<'a, T>,
    /// The value that is written.
    pub value: V,
}

impl<T: Copy, V: Value<T>> Output for Pixel<'_, T, V> {
    const NEEDS_COLUMN: bool = V::NEEDS_COLUMN;

    #[inline(always)]
    fn moved(self, pixels: u64) -> Self {
        Self { out: self.out.wrapping_from(pixels), ..self }
    }

    #[inline(always)]
    fn put(self, row: u32, column: u32, cost: u64) {
        self.out.set(0, self.value.of(row, column, cost));
    }

    #[inline(always)]
    fn is_short(self, bits: u64) -> bool {
        self.value.is_short(bits)
    }

    #[inline(always)]
    fn put_short(self, row: u32, column: u32, cost: u64) {
        self.out.set(0, self.value.of_short(row, column, cost));
    }

    #[inline(always)]
    fn put_none(self) {
        self.out.set(0, V::NONE);
    }
}

/// A value that is a number.
pub trait Numbers<T>: Value<T> {
    /// The value of a raster of `width` columns.
    fn new(width: u32) -> Self;
}

/// An unsigned number. All bits set stand for none.
pub trait Number: Copy + PartialEq {
    /// All bits set.
    const NONE: Self;
    /// As 64 bits.
    fn wide(self) -> u64;
    /// The low bits.
    fn of(number: u64) -> Self;
}

impl Number for u32 {
    const NONE: u32 = u32::MAX;
    #[inline(always)]
    fn wide(self) -> u64 {
        self as u64
    }
    #[inline(always)]
    fn of(number: u64) -> u32 {
        number as u32
    }
}

impl Number for u64 {
    const NONE: u64 = u64::MAX;
    #[inline(always)]
    fn wide(self) -> u64 {
        self
    }
    #[inline(always)]
    fn of(number: u64) -> u64 {
        number
    }
}

/// Linear indices: row * width + column.
#[derive(Clone, Copy)]
pub struct Indices {
    width: u32,
}

impl<T: Number> Numbers<T> for Indices {
    #[inline(always)]
    fn new(width: u32) -> Self {
        Self { width }
    }
}

impl<T: Number> Value<T> for Indices {
    const NEEDS_COLUMN: bool = true;
    const NONE: T = T::NONE;

    #[inline(always)]
    fn of(self, row: u32, column: u32, _cost: u64) -> T {
        T::of(row as u64 * self.width as u64 + column as u64)
    }
}

/// Squared distances.
#[derive(Clone, Copy)]
pub struct Squares;

impl<T: Number> Numbers<T> for Squares {
    #[inline(always)]
    fn new(_width: u32) -> Self {
        Self
    }
}

impl<T: Number> Value<T> for Squares {
    const NEEDS_COLUMN: bool = false;
    const NONE: T = T::NONE;

    #[inline(always)]
    fn of(self, _row: u32, _column: u32, cost: u64) -> T {
        T::of(cost)
    }
}

/// Distances, times a scale.
#[derive(Clone, Copy)]
pub struct Distances {
    /// Ground units of a distance of 1.
    pub scale: f64,
}

/// The root in `f64`, times the scale, as `f32`.
///
/// If `f32` holds the square exactly, its root in `f32` has the bits of the root in `f64` rounded to `f32`. For 53 bits
/// are at least twice 24 and two more (Figueroa 1995, doi:10.1145/221332.221334). The `f32` root takes a third of the
/// time.
impl Value<f32> for Distances {
    const NEEDS_COLUMN: bool = false;
    const NONE: f32 = f32::INFINITY;

    #[inline(always)]
    fn of(self, _row: u32, _column: u32, cost: u64) -> f32 {
        (math::sqrt(cost as f64) * self.scale) as f32
    }

    #[inline(always)]
    fn is_short(self, bits: u64) -> bool {
        (bits < 1 << 24) & (self.scale == 1.0)
    }

    #[inline(always)]
    fn of_short(self, _row: u32, _column: u32, cost: u64) -> f32 {
        // The root of 0 would take the instruction's slow path.
        let root = math::sqrt_f32(u32::max(cost as u32, 1) as f32);
        if cost == 0 { 0.0 } else { root }
    }
}
