//! The types of coordinates.

use core::array;

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

/// A box: its least corner, then its greatest.
pub type Bounds<T, const D: usize> = [[T; D]; 2];

/// Whether two places are the same, by comparisons in registers: `==` of arrays takes them to local memory.
#[inline(always)]
pub fn are_same<T: Place, const D: usize>(a: [T; D], b: [T; D]) -> bool {
    let (mut are_same, mut axis) = (true, 0);
    while axis < D {
        are_same &= a[axis] == b[axis];
        axis += 1;
    }
    are_same
}

/// A coordinate: f32 or f64.
pub trait Place: Copy + PartialEq + Word {
    /// NaN.
    const NAN: Self;

    /// The lesser of two numbers.
    fn least(self, other: Self) -> Self;

    /// The greater of two numbers.
    fn greatest(self, other: Self) -> Self;

    /// Reads a box: its least corner, then its greatest.
    ///
    /// # Safety
    /// The box was written, is aligned to 16 bytes, and nobody writes it while the kernel runs. f32 has boxes in the plane
    /// alone.
    unsafe fn load_box<const D: usize>(from: *const [[Self; D]; 2]) -> [[Self; D]; 2];

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
    unsafe fn load_box<const D: usize>(from: *const [[Self; D]; 2]) -> [[Self; D]; 2] {
        const { assert!(D == 2, "one vector") }
        // SAFETY: passed on to the caller.
        let words: Vector = unsafe { vector::load_read_only(from.cast()) };
        [0, 1].map(|corner| array::from_fn(|axis| Self::from_bits(words[corner * D + axis])))
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
    unsafe fn load_box<const D: usize>(from: *const [[Self; D]; 2]) -> [[Self; D]; 2] {
        // Two numbers a vector, so as many vectors as coordinates.
        // SAFETY: passed on to the caller.
        let vectors: [Vector; D] = array::from_fn(|i| unsafe {
            vector::load_read_only(from.cast::<Vector>().add(i).cast())
        });
        let number = |i: usize| {
            let (vector, first) = (vectors[i / 2], i % 2 * 2);
            Self::from_bits(vector[first] as u64 | (vector[first + 1] as u64) << 32)
        };
        [0, 1].map(|corner| array::from_fn(|axis| number(corner * D + axis)))
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
