//! What the spreading kernels write for each pixel.

use device_std::math;

/// What is written for each pixel, and where: it moves along with the pixel.
pub trait Output: Copy {
    /// Whether [`put`](Self::put) looks at the column.
    const NEEDS_COLUMN: bool;

    /// The same for the pixel `pixels` on.
    fn moved(self, pixels: u64) -> Self;

    /// Writes the pixel, whose nearest site is in `row` and `column`, at the squared distance `cost`.
    ///
    /// # Safety
    /// The pixel is the raster's, and no other thread touches it.
    unsafe fn put(self, row: u32, column: u32, cost: u64);

    /// Whether [`put_short`](Self::put_short) serves squared distances with no bits but these.
    #[inline(always)]
    fn is_short(self, _bits: u64) -> bool {
        true
    }

    /// [`put`](Self::put) in less time.
    ///
    /// # Safety
    /// As [`put`](Self::put); the cost [is short](Self::is_short).
    #[inline(always)]
    unsafe fn put_short(self, row: u32, column: u32, cost: u64) {
        // SAFETY: passed on to the caller.
        unsafe { self.put(row, column, cost) }
    }

    /// Writes the pixel, which has no nearest site.
    ///
    /// # Safety
    /// As [`put`](Self::put).
    unsafe fn put_none(self);
}

/// An output of numbers: its array says all.
pub trait Numbers<T>: Output {
    /// The output into the array of a raster of `width` columns, at its first pixel.
    fn new(out: *mut T, width: u32) -> Self;
}

/// An unsigned number whose bits are all set where there is none.
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
pub struct Indices<T> {
    out: *mut T,
    width: u32,
}

impl<T: Number> Numbers<T> for Indices<T> {
    #[inline(always)]
    fn new(out: *mut T, width: u32) -> Self {
        Self { out, width }
    }
}

impl<T: Number> Output for Indices<T> {
    const NEEDS_COLUMN: bool = true;

    #[inline(always)]
    fn moved(mut self, pixels: u64) -> Self {
        self.out = self.out.wrapping_add(pixels as usize);
        self
    }

    #[inline(always)]
    unsafe fn put(self, row: u32, column: u32, _cost: u64) {
        // SAFETY: passed on to the caller.
        unsafe { *self.out = T::of(row as u64 * self.width as u64 + column as u64) }
    }

    #[inline(always)]
    unsafe fn put_none(self) {
        // SAFETY: passed on to the caller.
        unsafe { *self.out = T::NONE }
    }
}

/// Squared distances.
#[derive(Clone, Copy)]
pub struct Squares<T> {
    out: *mut T,
}

impl<T: Number> Numbers<T> for Squares<T> {
    #[inline(always)]
    fn new(out: *mut T, _width: u32) -> Self {
        Self { out }
    }
}

impl<T: Number> Output for Squares<T> {
    const NEEDS_COLUMN: bool = false;

    #[inline(always)]
    fn moved(mut self, pixels: u64) -> Self {
        self.out = self.out.wrapping_add(pixels as usize);
        self
    }

    #[inline(always)]
    unsafe fn put(self, _row: u32, _column: u32, cost: u64) {
        // SAFETY: passed on to the caller.
        unsafe { *self.out = T::of(cost) }
    }

    #[inline(always)]
    unsafe fn put_none(self) {
        // SAFETY: passed on to the caller.
        unsafe { *self.out = T::NONE }
    }
}

/// Distances, times a scale.
#[derive(Clone, Copy)]
pub struct Distances {
    /// The pixel.
    pub out: *mut f32,
    /// Ground units of a distance of 1.
    pub scale: f64,
}

/// The root in `f64`, times the scale, as `f32`.
///
/// Of a whole number that `f32` holds, the root rounded to `f64` and then to `f32` is the one rounded
/// to `f32` at once: 53 bits are no fewer than twice 24 and two (Figueroa 1995,
/// doi:10.1145/221332.221334). That takes a third of the time.
impl Output for Distances {
    const NEEDS_COLUMN: bool = false;

    #[inline(always)]
    fn moved(mut self, pixels: u64) -> Self {
        self.out = self.out.wrapping_add(pixels as usize);
        self
    }

    #[inline(always)]
    unsafe fn put(self, _row: u32, _column: u32, cost: u64) {
        // SAFETY: passed on to the caller.
        unsafe { *self.out = (math::sqrt(cost as f64) * self.scale) as f32 }
    }

    #[inline(always)]
    fn is_short(self, bits: u64) -> bool {
        (bits < 1 << 24) & (self.scale == 1.0)
    }

    #[inline(always)]
    unsafe fn put_short(self, _row: u32, _column: u32, cost: u64) {
        // The root of 0 would take the instruction's slow way.
        let root = math::sqrt_f32(u32::max(cost as u32, 1) as f32);
        // SAFETY: passed on to the caller.
        unsafe { *self.out = if cost == 0 { 0.0 } else { root } }
    }

    #[inline(always)]
    unsafe fn put_none(self) {
        // SAFETY: passed on to the caller.
        unsafe { *self.out = f32::INFINITY }
    }
}
