//! The types of coordinates.

use device_std::vector::{self, Vector};
use device_std::warp::Word;
use device_std::{In, Out, arguments};

/// Columns of coordinates.
#[arguments]
pub struct Places<'a, T> {
    /// `count` of them.
    pub x: In<'a, T>,
    /// As many.
    pub y: In<'a, T>,
    /// How many there are.
    pub count: u64,
}

/// A coordinate: f32 or f64.
pub trait Place: Copy + PartialEq + Word {
    /// NaN.
    const NAN: Self;

    /// The lesser of two numbers.
    fn least(self, other: Self) -> Self;

    /// The greater of two numbers.
    fn greatest(self, other: Self) -> Self;

    /// Reads a box: the least x and y, then the greatest.
    ///
    /// # Safety
    /// The box was written, is aligned to 16 bytes, and nobody writes it while the kernel runs.
    unsafe fn load_box(from: *const [Self; 4]) -> [Self; 4];

    /// Words of an x and a y side by side.
    const PAIR: usize;

    /// The same number.
    fn widened(self) -> f64;

    /// Writes pair `i`.
    fn store_pair(pairs: Out<u64>, i: u64, place: [Self; 2]);

    /// Reads pair `i`.
    fn load_pair(pairs: In<u64>, i: u64) -> [Self; 2];
}

impl Place for f32 {
    const NAN: Self = Self::NAN;

    #[inline(always)]
    fn least(self, other: Self) -> Self {
        Self::min(self, other)
    }

    #[inline(always)]
    fn greatest(self, other: Self) -> Self {
        Self::max(self, other)
    }

    #[inline(always)]
    unsafe fn load_box(from: *const [Self; 4]) -> [Self; 4] {
        // SAFETY: passed on to the caller.
        unsafe { vector::load_read_only(from.cast()) }.map(Self::from_bits)
    }

    const PAIR: usize = 1;

    #[inline(always)]
    fn widened(self) -> f64 {
        self as f64
    }

    #[inline(always)]
    fn store_pair(pairs: Out<u64>, i: u64, [x, y]: [Self; 2]) {
        pairs.set(i, x.to_bits() as u64 | (y.to_bits() as u64) << 32);
    }

    #[inline(always)]
    fn load_pair(pairs: In<u64>, i: u64) -> [Self; 2] {
        let pair = pairs.get(i);
        [f32::from_bits(pair as u32), f32::from_bits((pair >> 32) as u32)]
    }
}

impl Place for f64 {
    const NAN: Self = Self::NAN;

    #[inline(always)]
    fn least(self, other: Self) -> Self {
        Self::min(self, other)
    }

    #[inline(always)]
    fn greatest(self, other: Self) -> Self {
        Self::max(self, other)
    }

    #[inline(always)]
    unsafe fn load_box(from: *const [Self; 4]) -> [Self; 4] {
        // SAFETY: passed on to the caller.
        let halves = unsafe {
            [
                vector::load_read_only(from.cast()),
                vector::load_read_only(from.cast::<Vector>().add(1).cast()),
            ]
        };
        let [[a, b, c, d], [e, f, g, h]] = halves;
        [[a, b], [c, d], [e, f], [g, h]]
            .map(|[low, high]| Self::from_bits(low as u64 | (high as u64) << 32))
    }

    const PAIR: usize = 2;

    #[inline(always)]
    fn widened(self) -> f64 {
        self
    }

    #[inline(always)]
    fn store_pair(pairs: Out<u64>, i: u64, [x, y]: [Self; 2]) {
        let pair = pairs.from(2 * i as usize);
        pair.set(0u32, x.to_bits());
        pair.set(1u32, y.to_bits());
    }

    #[inline(always)]
    fn load_pair(pairs: In<u64>, i: u64) -> [Self; 2] {
        let pair = pairs.from(2 * i as usize);
        [f64::from_bits(pair.get(0u32)), f64::from_bits(pair.get(1u32))]
    }
}
