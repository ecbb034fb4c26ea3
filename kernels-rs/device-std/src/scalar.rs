//! The element types of columns, as they lie in a vector of 16 bytes.

use crate::shared::Plain;
use crate::vector::Vector;
use crate::warp::Word;

/// A number of 1, 2, 4 or 8 bytes.
pub trait Scalar: Plain + Word + PartialEq {
    /// Elements of a [`Vector`]: 16 over the size.
    const LANES: usize;

    /// Its bits, in the low end of 64.
    fn to_bits64(self) -> u64;

    /// Returns the number with these bits. Bits above the number's size are dropped.
    fn from_bits64(bits: u64) -> Self;

    /// Element `i` of a vector.
    fn lane(vector: Vector, i: usize) -> Self;

    /// Puts element `i` into a vector that is zero there.
    fn put(self, vector: &mut Vector, i: usize);
}

macro_rules! scalar {
    ($($type:ty, $lanes:literal, $to:expr, $from:expr;)+) => {$(
        impl Scalar for $type {
            const LANES: usize = $lanes;

            #[inline(always)]
            fn to_bits64(self) -> u64 {
                let to: fn(Self) -> u64 = $to;
                to(self)
            }

            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                let from: fn(u64) -> Self = $from;
                from(bits)
            }

            #[inline(always)]
            fn lane(vector: Vector, i: usize) -> Self {
                const BITS: usize = 128 / $lanes;
                if BITS == 64 {
                    let (low, high) = (vector[(i * 2) & 3], vector[(i * 2 + 1) & 3]);
                    return Self::from_bits64(low as u64 | (high as u64) << 32);
                }
                let first = i * BITS;
                Self::from_bits64((vector[(first / 32) & 3] >> (first % 32)) as u64)
            }

            #[inline(always)]
            fn put(self, vector: &mut Vector, i: usize) {
                const BITS: usize = 128 / $lanes;
                let bits = self.to_bits64();
                if BITS == 64 {
                    vector[(i * 2) & 3] = bits as u32;
                    vector[(i * 2 + 1) & 3] = (bits >> 32) as u32;
                    return;
                }
                let first = i * BITS;
                vector[(first / 32) & 3] |= (bits as u32) << (first % 32);
            }
        }
    )+};
}

scalar! {
    u8, 16, |x| x as u64, |b| b as u8;
    u16, 8, |x| x as u64, |b| b as u16;
    u32, 4, |x| x as u64, |b| b as u32;
    i32, 4, |x| x as u32 as u64, |b| b as i32;
    u64, 2, |x| x, |b| b;
    i64, 2, |x| x as u64, |b| b as i64;
    f32, 4, |x| x.to_bits() as u64, |b| f32::from_bits(b as u32);
    f64, 2, |x| x.to_bits(), |b| f64::from_bits(b);
}

/// Reverses the elements of a vector.
#[inline(always)]
pub fn reversed<T: Scalar>([a, b, c, d]: Vector) -> Vector {
    match T::LANES {
        2 => [c, d, a, b],
        4 => [d, c, b, a],
        8 => [d.rotate_left(16), c.rotate_left(16), b.rotate_left(16), a.rotate_left(16)],
        _ => [d.swap_bytes(), c.swap_bytes(), b.swap_bytes(), a.swap_bytes()],
    }
}
