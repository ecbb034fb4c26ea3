//! The element types, and their types in kernels.

use bytemuck::Pod;
use device_std::Out;
use device_std::scalar::Scalar;
use kernels_rs::primitives::elementwise::{Arithmetic, Moves, difference, sequence};
use kernels_rs::primitives::flags::key_bits;
use kernels_rs::primitives::histogram::Histograms;
use kernels_rs::primitives::merge::{find_splits, merge};
use kernels_rs::primitives::operators::Order;
use kernels_rs::primitives::reduce::index_of_least;
use kernels_rs::primitives::reduce_by_key::RunKey;
use kernels_rs::primitives::search::{bounds, sample};
use kernels_rs::primitives::select::{Flagged, If, Runs, Unique, select};
use kernels_rs::primitives::sort::{self, count_digits, sort_by_digit};
use kernels_rs::primitives::top_k::{collect, count, filter, finish, of_segments, threshold};

#[cfg(not(feature = "cuda"))]
use bytemuck::Pod as Storable;
#[cfg(feature = "cuda")]
use gpu_core::Element as Storable;

/// An element of a column: `u8`, `u16`, `u32`, `i32`, `u64`, `i64`, `f32`, `f64`.
pub trait Number: Storable + PartialOrd + Send + Sync + std::fmt::Debug + sealed::Element {}

/// An index into a column: `u32`, or `u64` for columns of 2^32 elements and more.
pub trait Index: Number + sealed::Index {}

impl Index for u32 {}
impl Index for u64 {}

/// A type of keys to sort by: every [`Number`].
pub trait Key: Number {}

impl<T: Number> Key for T {}

/// A type of values that move with their keys: a number of 4 or 8 bytes.
pub trait Payload: Number + sealed::Payload {}

impl<T: Number + sealed::Payload> Payload for T {}

/// A type that counts elements and measures runs: `u32`, or `u64` for columns of 2^32 elements and more.
pub trait Count: Number + sealed::Count {}

impl Count for u32 {}
impl Count for u64 {}

/// The type of the elements in kernels; for this crate's own use.
#[doc(hidden)]
pub mod sealed {
    use super::*;

    /// Bytes of an index.
    pub enum IndexSize {
        /// `u32`.
        Four,
        /// `u64`.
        Eight,
    }

    /// How kernels see an index.
    pub trait Index: Sized {
        /// Its size.
        const SIZE: IndexSize;
        /// The most elements that indices of this type can number.
        const MOST: u64;
        /// The index of a position below [`MOST`](Self::MOST).
        fn at(position: usize) -> Self;
        /// The position.
        fn position(self) -> usize;

        /// Checks that there is an index for each of `len` elements.
        fn check(len: usize) -> crate::Result<()> {
            let elements = len as u64;
            match elements <= Self::MOST {
                true => Ok(()),
                false => Err(crate::Error::TooLarge { elements, most: Self::MOST }),
            }
        }
    }

    macro_rules! indices {
        ($($type:ty, $size:ident, $most:expr;)+) => {$(
            impl Index for $type {
                const SIZE: IndexSize = IndexSize::$size;
                const MOST: u64 = $most;
                fn at(position: usize) -> Self {
                    position as Self
                }
                fn position(self) -> usize {
                    self as usize
                }
            }
        )+};
    }

    indices! { u32, Four, 1 << 32; u64, Eight, u64::MAX; }

    /// Bytes of a payload.
    pub enum PayloadSize {
        /// 4.
        Four,
        /// 8.
        Eight,
    }

    /// How kernels see a payload.
    pub trait Payload {
        /// Its size.
        const SIZE: PayloadSize;
    }

    macro_rules! payloads {
        ($($type:ty, $size:ident;)+) => {$(
            impl Payload for $type {
                const SIZE: PayloadSize = PayloadSize::$size;
            }
        )+};
    }

    payloads! { u32, Four; i32, Four; f32, Four; u64, Eight; i64, Eight; f64, Eight; }

    /// Unsigned integers that all kernels are built for.
    pub trait KernelBits:
        Storable
        + crate::cpu::SortsBits
        + sort::Key
        + count_digits::Instance
        + sort_by_digit::Instance<()>
        + sort_by_digit::Instance<u32>
        + sort_by_digit::Instance<u64>
        + count::Instance
        + collect::Instance
        + threshold::Instance
        + filter::Instance
        + finish::Instance
        + of_segments::Instance
        + key_bits::Instance
        + RunKey
        + index_of_least::Instance
        + Moves
        + select::Instance<If>
        + select::Instance<Flagged>
        + select::Instance<Unique>
        + select::Instance<Runs>
        + Histograms
        + bounds::Instance
        + sample::Instance
        + find_splits::Instance
        + merge::Instance<()>
        + merge::Instance<u32>
        + merge::Instance<u64>
    {
    }

    impl KernelBits for u8 {}
    impl KernelBits for u16 {}
    impl KernelBits for u32 {}
    impl KernelBits for u64 {}

    /// The type of count arrays in kernels.
    pub trait Count: Sized {
        /// The most that it can count to.
        const MOST: u64;
        /// The 32-bit or the 64-bit array.
        fn arrays(counts: Out<'_, Self>) -> (Option<Out<'_, u32>>, Option<Out<'_, u64>>);
    }

    impl Count for u32 {
        const MOST: u64 = u32::MAX as u64;
        fn arrays(counts: Out<'_, Self>) -> (Option<Out<'_, u32>>, Option<Out<'_, u64>>) {
            (Some(counts), None)
        }
    }

    impl Count for u64 {
        const MOST: u64 = u64::MAX;
        fn arrays(counts: Out<'_, Self>) -> (Option<Out<'_, u32>>, Option<Out<'_, u64>>) {
            (None, Some(counts))
        }
    }

    /// The types with the same bits that kernels are built for.
    pub trait Element: Copy {
        /// The type that sums are taken in.
        type Sum: Scalar
            + Arithmetic
            + sequence::Instance
            + difference::Instance
            + Pod
            + Send
            + Sync;
        /// Unsigned integers of the same size.
        type Bits: KernelBits + Pod + Send + Sync;
        /// Bits below the sign in a float; 0 for integers.
        const MAGNITUDE: u64;
        /// The sign bit; 0 for unsigned integers.
        const TOP: u64;
        /// How many negative NaNs there are; 0 for integers.
        const NANS: u64;
        /// The bits.
        fn bits(self) -> Self::Bits;
        /// The element with these bits.
        fn from_bits(bits: Self::Bits) -> Self;
    }
}

macro_rules! numbers {
    ($($type:ty, $sum:ty, $bits:ty, $magnitude:expr, $top:expr, $nans:expr;)+) => {$(
        impl Number for $type {}
        impl sealed::Element for $type {
            type Sum = $sum;
            type Bits = $bits;
            const MAGNITUDE: u64 = $magnitude;
            const TOP: u64 = $top;
            const NANS: u64 = $nans;
            fn bits(self) -> $bits {
                bytemuck::cast(self)
            }
            fn from_bits(bits: $bits) -> Self {
                bytemuck::cast(bits)
            }
        }
    )+};
}

numbers! {
    u8, u8, u8, 0, 0, 0;
    u16, u16, u16, 0, 0, 0;
    u32, u32, u32, 0, 0, 0;
    i32, u32, u32, 0, 1 << 31, 0;
    u64, u64, u64, 0, 0, 0;
    i64, u64, u64, 0, 1 << 63, 0;
    f32, f32, u32, (1 << 31) - 1, 1 << 31, (1 << 23) - 1;
    f64, f64, u64, (1 << 63) - 1, 1 << 63, (1 << 52) - 1;
}

/// Which end of the order comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The least first.
    #[default]
    Ascending,
    /// The greatest first.
    Descending,
}

/// The total order of numbers: -inf < .. < -0.0 < +0.0 < .. < +inf < NaN, or its reverse.
pub(crate) fn total_order<T: Number>(direction: Direction) -> Order<T::Bits> {
    order::<T>(direction, true)
}

/// The order in which a NaN is last whatever the direction: it is never the least or greatest of
/// numbers.
pub(crate) fn nan_last<T: Number>(direction: Direction) -> Order<T::Bits> {
    order::<T>(direction, direction == Direction::Ascending)
}

/// The order of the bits, the sign bit flipped, of negative floats all: as the total order, but for
/// negative NaNs, which come before minus infinity. Or its reverse.
pub(crate) fn order_of_bits<T: Number>(direction: Direction) -> Order<T::Bits> {
    turned::<T>(direction, 0)
}

fn order<T: Number>(direction: Direction, nans_on_top: bool) -> Order<T::Bits> {
    // Negative NaNs lie below minus infinity: turned down by their number, they go to the top;
    // turned up by the number of the positive ones, those go to the bottom.
    turned::<T>(direction, if nans_on_top { T::NANS } else { T::NANS.wrapping_neg() })
}

/// The order of the bits, turned down by `shift`.
fn turned<T: Number>(direction: Direction, shift: u64) -> Order<T::Bits> {
    let flip = if direction == Direction::Ascending { 0 } else { u64::MAX };
    Order::new([T::MAGNITUDE, T::TOP, shift, flip])
}

#[cfg(test)]
mod tests {
    use super::*;
    use device_std::scalar::Scalar;

    fn check<T: Number>(in_order: &[T], order: Order<T::Bits>) {
        let ranks: Vec<u64> = in_order.iter().map(|x| order.rank(x.bits()).to_bits64()).collect();
        assert!(ranks.is_sorted(), "{in_order:?}: {ranks:x?}");
        for x in in_order {
            assert!(order.element(order.rank(x.bits())) == x.bits(), "{x:?}");
        }
    }

    #[test]
    fn ranks_are_in_order_and_come_back() {
        let up = Direction::Ascending;
        check(&[0u8, 1, 127, 128, 255], total_order::<u8>(up));
        check(&[i32::MIN, -1, 0, 1, i32::MAX], total_order::<i32>(up));
        check(&[i64::MAX, 1, 0, -1, i64::MIN], total_order::<i64>(Direction::Descending));
        let nan = f32::from_bits(0xffc0_0000);
        let floats = [f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1e-40, 1.0, f32::INFINITY, f32::NAN, nan];
        check(&floats, total_order::<f32>(up));
        let reversed: Vec<f32> = floats.iter().rev().copied().collect();
        check(&reversed, total_order::<f32>(Direction::Descending));
        let doubles = [f64::INFINITY, 1.0, 0.0, -0.0, f64::NEG_INFINITY];
        let with_nan: Vec<f64> = doubles.into_iter().chain([-f64::NAN, f64::NAN]).collect();
        check(&with_nan, nan_last::<f64>(Direction::Descending));
    }
}
