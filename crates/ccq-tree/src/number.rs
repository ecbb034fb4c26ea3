//! The types of values, compared by their ranks.

use kernels_rs::ccq::value::{Kind, Value, WIDE_SIGN, rank_of_f64};

use crate::{Bound, RasterRef};

/// A type of values: the types of cells ([`Cell`](crate::Cell)), and `f64`, `i64` and `u64`, which trees hold as codes
/// ([`CodedTree`](crate::CodedTree)).
pub trait Number:
    bytemuck::Pod + PartialEq + std::fmt::Debug + Send + Sync + sealed::Sealed
{
    /// The type's name.
    const NAME: &'static str;

    /// The type's number in a file.
    #[doc(hidden)]
    const TYPE: u32;

    /// A value that always stands for NODATA: NaN.
    #[doc(hidden)]
    const MISSING: Option<Self>;

    /// The least and the greatest rank.
    #[doc(hidden)]
    const RANKS: (u64, u64);

    /// Returns a number that rises with the value, and `None` for NaN. The values -0 and 0 have one number.
    #[doc(hidden)]
    fn rank(self) -> Option<u64>;

    /// The value of a rank.
    #[doc(hidden)]
    fn of_rank(rank: u64) -> Self;

    /// The value as an end of ranges; exact.
    fn bound(self) -> Bound;

    /// A raster of this type.
    #[doc(hidden)]
    fn raster(values: &[Self]) -> RasterRef<'_>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! of_cells {
    ($($type:ident, $variant:ident, $nan:expr;)+) => {$(
        impl sealed::Sealed for $type {}

        impl Number for $type {
            const NAME: &'static str = stringify!($type);
            const TYPE: u32 = Kind::$variant as u32;
            const MISSING: Option<Self> = $nan;
            const RANKS: (u64, u64) = (<$type as Value>::ENDS.0 as u64, <$type as Value>::ENDS.1 as u64);

            fn rank(self) -> Option<u64> {
                self.is_number().then(|| self.key().into())
            }

            fn of_rank(rank: u64) -> Self {
                Self::of_key(rank as u32)
            }

            fn bound(self) -> Bound {
                self.into()
            }

            fn raster(values: &[Self]) -> RasterRef<'_> {
                RasterRef::$variant(values)
            }
        }
    )+};
}

of_cells! {
    u8, U8, None; i16, I16, None; u16, U16, None; i32, I32, None; u32, U32, None; f32, F32, Some(f32::NAN);
}

macro_rules! of_64_bits {
    ($($type:ident, $variant:ident, $nan:expr, $ranks:expr, $rank:expr, $of_rank:expr;)+) => {$(
        impl sealed::Sealed for $type {}

        impl Number for $type {
            const NAME: &'static str = stringify!($type);
            const TYPE: u32 = Kind::$variant as u32;
            const MISSING: Option<Self> = $nan;
            const RANKS: (u64, u64) = $ranks;

            fn rank(self) -> Option<u64> {
                let rank: fn(Self) -> Option<u64> = $rank;
                rank(self)
            }

            fn of_rank(rank: u64) -> Self {
                let of_rank: fn(u64) -> Self = $of_rank;
                of_rank(rank)
            }

            fn bound(self) -> Bound {
                self.into()
            }

            fn raster(values: &[Self]) -> RasterRef<'_> {
                RasterRef::$variant(values)
            }
        }
    )+};
}

of_64_bits! {
    f64, F64, Some(f64::NAN), (!f64::NEG_INFINITY.to_bits(), f64::INFINITY.to_bits() | WIDE_SIGN), rank_of_f64,
        |rank| f64::from_bits(if rank & WIDE_SIGN == 0 { !rank } else { rank ^ WIDE_SIGN });
    i64, I64, None, (0, u64::MAX), |value| Some(value as u64 ^ WIDE_SIGN), |rank| (rank ^ WIDE_SIGN) as i64;
    u64, U64, None, (0, u64::MAX), Some, |rank| rank;
}

/// The least rank whose value is at least `bound`; one more than the greatest where none is.
pub(crate) fn first_rank<T: Number>(bound: Bound) -> u128 {
    let (mut low, mut high) = (u128::from(T::RANKS.0), u128::from(T::RANKS.1) + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match T::of_rank(middle as u64).bound() < bound {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    // The least among -0 and +0 is -0, which no value has.
    let own = u64::try_from(low).ok().filter(|&rank| rank <= T::RANKS.1);
    own.and_then(|rank| T::of_rank(rank).rank()).map_or(low, u128::from)
}

/// One more than the greatest rank below the upper end of a range. An end of infinity leaves the range open: infinity is in it.
pub(crate) fn end_rank<T: Number>(high: Bound) -> u128 {
    if high.is_open() { u128::from(T::RANKS.1) + 1 } else { first_rank::<T>(high) }
}

/// The rank of a number, if it is a value of the type.
pub(crate) fn exact_rank<T: Number>(number: Bound) -> Option<u64> {
    let rank = u64::try_from(first_rank::<T>(number)).ok()?;
    (rank <= T::RANKS.1 && T::of_rank(rank).bound() == number).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rises<T: Number>(values: &[T]) {
        let ranks: Vec<u64> = values.iter().map(|value| value.rank().unwrap()).collect();
        assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
        assert_eq!((ranks[0], ranks[ranks.len() - 1]), T::RANKS);
        for (&rank, &value) in ranks.iter().zip(values) {
            assert_eq!(T::of_rank(rank), value);
            assert_eq!(first_rank::<T>(value.bound()), u128::from(rank));
        }
    }

    #[test]
    fn ranks_rise_with_values_and_come_back() {
        rises(&[f64::NEG_INFINITY, f64::MIN, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::INFINITY]);
        rises(&[i64::MIN, -1, 0, 1, i64::MAX]);
        rises(&[0, 1, 1 << 63, u64::MAX]);
        rises(&[f32::NEG_INFINITY, -1.0, 0.0, f32::INFINITY]);
        rises(&[i16::MIN, 0, i16::MAX]);
        assert_eq!((-0.0f64).rank(), 0.0f64.rank());
        assert_eq!(f64::NAN.rank(), None);
        assert_eq!(first_rank::<u64>(2f64.powi(64).into()), 1 << 64);
        assert_eq!(
            first_rank::<i64>((2f64.powi(53)).into()),
            first_rank::<i64>((1i64 << 53).into())
        );
    }
}
