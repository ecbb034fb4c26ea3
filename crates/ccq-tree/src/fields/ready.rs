//! Data fields that are often wanted, and that a device makes, too: sum and count, and the classes that occur.

use super::Aggregate;
use crate::Cell;

/// The number of cells with a value, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum;

/// Cells with a value, and the sum of these.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Total<S> {
    /// How many.
    pub cells: u64,
    /// Their sum: `i64` of whole numbers, which is exact below 2^63 (2^31 cells of the greatest `u32`), and `f64` of floats, each
    /// addition rounded.
    pub sum: S,
}

/// A type of cells and that of their sums.
pub trait Summed: Cell {
    /// `i64` or `f64`.
    type Sum: bytemuck::Pod
        + Default
        + std::ops::Add<Output = Self::Sum>
        + Send
        + Sync
        + std::fmt::Debug
        + PartialEq;

    /// So many times the value.
    #[doc(hidden)]
    fn times(self, cells: u64) -> Self::Sum;

    /// Both sums.
    #[doc(hidden)]
    fn plus(a: Self::Sum, b: Self::Sum) -> Self::Sum;
}

macro_rules! whole {
    ($($type:ty),+) => {$(
        impl Summed for $type {
            type Sum = i64;

            fn times(self, cells: u64) -> i64 {
                i64::from(self).wrapping_mul(cells as i64)
            }

            fn plus(a: i64, b: i64) -> i64 {
                a.wrapping_add(b)
            }
        }
    )+};
}

whole!(u8, i16, u16, i32, u32);

impl Summed for f32 {
    type Sum = f64;

    fn times(self, cells: u64) -> f64 {
        f64::from(self) * cells as f64
    }

    fn plus(a: f64, b: f64) -> f64 {
        a + b
    }
}

impl<T: Summed> Aggregate<T> for Sum {
    type Field = Total<T::Sum>;

    fn of_value(&self, value: T, cells: u64) -> Self::Field {
        Total { cells, sum: value.times(cells) }
    }

    fn combine(&self, a: Self::Field, b: Self::Field) -> Self::Field {
        Total { cells: a.cells + b.cells, sum: T::plus(a.sum, b.sum) }
    }
}

/// Which classes occur: bit `v` for the value `v` from 0 to 62, bit 63 for every other value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes;

impl<T: Cell> Aggregate<T> for Classes {
    type Field = u64;

    fn of_value(&self, value: T, _: u64) -> u64 {
        let number = value.to_f64();
        let is_class = (0.0..=62.0).contains(&number) && number.fract() == 0.0;
        1 << if is_class { number as u32 } else { 63 }
    }

    fn combine(&self, a: u64, b: u64) -> u64 {
        a | b
    }
}

/// A data field that a device makes, with the same bits: [`Sum`] and [`Classes`].
pub trait Resident<T>: Aggregate<T> + sealed::Sealed {
    /// The number by which kernels know it.
    #[doc(hidden)]
    const WHAT: u32;

    /// A field of the words that kernels write.
    #[doc(hidden)]
    fn of_words(words: [u64; 2]) -> Self::Field;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Sum {}
    impl Sealed for super::Classes {}
}

impl<T: Summed> Resident<T> for Sum {
    const WHAT: u32 = 0;

    fn of_words([cells, sum]: [u64; 2]) -> Self::Field {
        Total { cells, sum: bytemuck::cast(sum) }
    }
}

impl<T: Cell> Resident<T> for Classes {
    const WHAT: u32 = 1;

    fn of_words([classes, _]: [u64; 2]) -> u64 {
        classes
    }
}
