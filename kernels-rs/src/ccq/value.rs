//! The types of cells.
//!
//! Values are compared by their *keys*: numbers of 32 bits that rise with them. So one body of code works for all
//! types. "No value" needs no key of its own: an empty quadrant has a least key above its greatest.

/// A node as it lies in memory: the least and the greatest value, and a [link](super::summary::MIXED).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct RawNode<T: Value> {
    /// The least value.
    pub min: T,
    /// The greatest value.
    pub max: T,
    /// Padding, for types whose link would not be aligned without it.
    pub padding: T::Padding,
    /// Where the children begin, 0 for none; and [`MIXED`](super::summary::MIXED).
    pub link: u32,
}

/// A cell's value.
pub trait Value: Copy + PartialEq + core::fmt::Debug + Send + Sync + 'static {
    /// Bytes between the values of a node and its link.
    type Padding: Copy + PartialEq + core::fmt::Debug + Default + Send + Sync + 'static;

    /// The least and the greatest key of a number.
    const ENDS: (u32, u32);

    /// A number that rises with the value. The floats -0 and +0 have the same key. The key of NaN means nothing.
    fn key(self) -> u32;

    /// The value of a key.
    fn of_key(key: u32) -> Self;

    /// Whether it is a number.
    fn is_number(self) -> bool;

    /// The number of a bin as a value.
    fn of_bin(bin: u32) -> Self;

    /// Its bits, in the low end of 32.
    fn bits(self) -> u32;

    /// The value with these bits; those above its size are dropped.
    fn of_bits(bits: u32) -> Self;
}

const SIGN: u32 = 1 << 31;

/// The highest bit of 64: flipping it turns the order of signed numbers into that of unsigned ones.
pub const WIDE_SIGN: u64 = 1 << 63;

/// The types, by the numbers that files and kernels know them by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// `u8`.
    U8 = 0,
    /// `i16`.
    I16 = 1,
    /// `u16`.
    U16 = 2,
    /// `i32`.
    I32 = 3,
    /// `u32`.
    U32 = 4,
    /// `f32`.
    F32 = 5,
    /// `f64`. No node holds one: codes stand for such values.
    F64 = 6,
    /// `i64`. No node holds one: codes stand for such values.
    I64 = 7,
    /// `u64`. No node holds one: codes stand for such values.
    U64 = 8,
}

macro_rules! integers {
    ($($type:ty, $unsigned:ty, $padding:ty, $ends:expr, $to:expr, $from:expr;)+) => {$(
        impl Value for $type {
            type Padding = $padding;
            const ENDS: (u32, u32) = $ends;

            #[inline(always)]
            fn key(self) -> u32 {
                let to: fn(Self) -> u32 = $to;
                to(self)
            }

            #[inline(always)]
            fn of_key(key: u32) -> Self {
                let from: fn(u32) -> Self = $from;
                from(key)
            }

            #[inline(always)]
            fn is_number(self) -> bool {
                true
            }

            #[inline(always)]
            fn of_bin(bin: u32) -> Self {
                bin as Self
            }

            #[inline(always)]
            fn bits(self) -> u32 {
                self as $unsigned as u32
            }

            #[inline(always)]
            fn of_bits(bits: u32) -> Self {
                bits as Self
            }
        }
    )+};
}

integers! {
    u8, u8, [u8; 2], (0, u8::MAX as u32), |v| v as u32, |k| k as u8;
    u16, u16, [u8; 0], (0, u16::MAX as u32), |v| v as u32, |k| k as u16;
    i16, u16, [u8; 0], (SIGN - (1 << 15), SIGN + (1 << 15) - 1), |v| v as i32 as u32 ^ SIGN, |k| (k ^ SIGN) as i16;
    u32, u32, [u8; 0], (0, u32::MAX), |v| v, |k| k;
    i32, u32, [u8; 0], (0, u32::MAX), |v| v as u32 ^ SIGN, |k| (k ^ SIGN) as i32;
}

impl Value for f32 {
    type Padding = [u8; 0];
    /// The keys of the infinities.
    const ENDS: (u32, u32) = (0x007f_ffff, 0xff80_0000);

    #[inline(always)]
    fn key(self) -> u32 {
        // Adding 0 turns -0 into +0, and changes no other number.
        let bits = (self + 0.0).to_bits();
        if bits & SIGN == 0 { bits | SIGN } else { !bits }
    }

    #[inline(always)]
    fn of_key(key: u32) -> Self {
        f32::from_bits(if key & SIGN == 0 { !key } else { key ^ SIGN })
    }

    #[inline(always)]
    fn is_number(self) -> bool {
        !self.is_nan()
    }

    #[inline(always)]
    fn of_bin(bin: u32) -> Self {
        bin as f32
    }

    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn of_bits(bits: u32) -> Self {
        f32::from_bits(bits)
    }
}

/// The key of a value of a [`Kind`] of at most 32 bits, by its bits; bits above its size are ignored.
#[inline(always)]
pub fn key_of(kind: u32, bits: u32) -> u32 {
    if kind == Kind::U8 as u32 {
        u8::of_bits(bits).key()
    } else if kind == Kind::I16 as u32 {
        i16::of_bits(bits).key()
    } else if kind == Kind::U16 as u32 {
        u16::of_bits(bits).key()
    } else if kind == Kind::I32 as u32 {
        i32::of_bits(bits).key()
    } else if kind == Kind::U32 as u32 {
        bits
    } else {
        f32::of_bits(bits).key()
    }
}

/// The rank of a value of any [`Kind`], by its bits: a number that rises with the value. For values of at most 32 bits
/// it is the key. `None` for NaN.
#[inline(always)]
pub fn rank_of(kind: u32, bits: u64) -> Option<u64> {
    if kind == Kind::F64 as u32 {
        return rank_of_f64(f64::from_bits(bits));
    }
    if kind == Kind::I64 as u32 {
        return Some(bits ^ WIDE_SIGN);
    }
    if kind == Kind::U64 as u32 {
        return Some(bits);
    }
    let is_number = kind != Kind::F32 as u32 || f32::of_bits(bits as u32).is_number();
    if is_number { Some(key_of(kind, bits as u32) as u64) } else { None }
}

/// The rank of a float: its bits, mapped so that they rise with it; -0 has the rank of 0. `None` for NaN.
#[inline(always)]
pub fn rank_of_f64(value: f64) -> Option<u64> {
    if value.is_nan() {
        return None;
    }
    // Adding 0 turns -0 into +0, and changes no other number.
    let bits = (value + 0.0).to_bits();
    Some(if bits & WIDE_SIGN == 0 { bits | WIDE_SIGN } else { !bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rises<T: Value + PartialOrd>(values: &[T]) {
        for pair in values.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].key() < pair[1].key(), "{pair:?}");
        }
        assert_eq!((values[0].key(), values[values.len() - 1].key()), T::ENDS);
        for &value in values {
            assert_eq!(T::of_key(value.key()), value);
        }
    }

    #[test]
    fn keys_rise_with_values_and_come_back() {
        rises(&[0u8, 1, 127, 128, 255]);
        rises(&[0u16, 1, 0x7fff, 0x8000, 0xffff]);
        rises(&[i16::MIN, -1, 0, 1, i16::MAX]);
        rises(&[0u32, 1, 1 << 31, u32::MAX]);
        rises(&[i32::MIN, -1, 0, 1, i32::MAX]);
        rises(&[f32::NEG_INFINITY, f32::MIN, -1.0, -1e-45, 0.0, 1e-45, 1.0, f32::INFINITY]);
        assert_eq!((-0.0f32).key(), 0.0f32.key());
        assert_eq!(f32::of_key((-0.0f32).key()).to_bits(), 0);
    }

    #[test]
    fn nodes_have_no_hidden_bytes() {
        assert_eq!([size_of::<RawNode<u8>>(), size_of::<RawNode<u16>>()], [8, 8]);
        assert_eq!([size_of::<RawNode<i16>>(), size_of::<RawNode<f32>>()], [8, 12]);
        assert_eq!([size_of::<RawNode<u32>>(), size_of::<RawNode<i32>>()], [12, 12]);
    }
}
