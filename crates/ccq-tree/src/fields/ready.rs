//! Ready-made data fields, which a device can compute too: sum and count, and the classes that occur.

use super::{Aggregate, WideSum};
use crate::{Bound, Cell, Number};

/// The number of cells with a value, and the sum of their values. [`Total::mean`] is the mean.
///
/// Example: see [`Total`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum;

/// The number of cells with a value, and the sum of their values.
///
/// ```
/// use ccq_tree::{Params, Sum, build, fields};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 2, 3, 4], GridSpec::of_pixels(2, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let total = fields(&Device::Cpu, &tree, Sum)?.root().expect("there are values");
/// assert_eq!((total.cells, total.sum, total.mean::<u8>()), (4, 10, Some(2.5)));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Total<S> {
    /// How many.
    pub cells: u64,
    /// Their sum. Sums of whole numbers are exact: `u64` for `u32`, `i64` for others of at most 32 bits, and `i128` for
    /// 64 bits. For `f32` the sum is an `f64`, with each addition rounded, in the order of the quadrants. For `f64` it
    /// is a [`WideSum`].
    pub sum: S,
}

impl<S: Copy> Total<S> {
    /// Returns the mean; `None` without cells.
    pub fn mean<T: Summed<Sum = S>>(&self) -> Option<f64> {
        (self.cells > 0).then(|| T::over(self.sum, self.cells))
    }
}

/// A type of values, and the type of their sums.
pub trait Summed: Number {
    /// `i64`, `u64`, `i128`, `f64` or [`WideSum`].
    type Sum: bytemuck::Pod
        + Default
        + std::ops::Add<Output = Self::Sum>
        + Send
        + Sync
        + std::fmt::Debug
        + std::fmt::Display
        + PartialEq;

    /// Returns the value times `cells`.
    #[doc(hidden)]
    fn times(self, cells: u64) -> Self::Sum;

    /// Both sums.
    #[doc(hidden)]
    fn plus(a: Self::Sum, b: Self::Sum) -> Self::Sum;

    /// Returns the mean of `cells` values with a sum.
    #[doc(hidden)]
    fn over(sum: Self::Sum, cells: u64) -> f64;
}

macro_rules! whole {
    ($($type:ty, $sum:ty;)+) => {$(
        impl Summed for $type {
            type Sum = $sum;

            fn times(self, cells: u64) -> $sum {
                <$sum>::from(self).wrapping_mul(cells as $sum)
            }

            fn plus(a: $sum, b: $sum) -> $sum {
                a.wrapping_add(b)
            }

            fn over(sum: $sum, cells: u64) -> f64 {
                // The quotient's whole part is exact, and so is the rest.
                let count = cells as $sum;
                (sum / count) as f64 + (sum % count) as f64 / cells as f64
            }
        }
    )+};
}

whole! { u8, i64; i16, i64; u16, i64; i32, i64; u32, u64; i64, i128; u64, i128; }

impl Summed for f64 {
    type Sum = WideSum;

    fn times(self, cells: u64) -> WideSum {
        WideSum::of(self, cells)
    }

    fn plus(a: WideSum, b: WideSum) -> WideSum {
        a + b
    }

    fn over(sum: WideSum, cells: u64) -> f64 {
        sum.over(cells)
    }
}

impl Summed for f32 {
    type Sum = f64;

    fn times(self, cells: u64) -> f64 {
        f64::from(self) * cells as f64
    }

    fn plus(a: f64, b: f64) -> f64 {
        a + b
    }

    fn over(sum: f64, cells: u64) -> f64 {
        sum / cells as f64
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
///
/// Example: see [`ClassSet`](crate::ClassSet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes;

impl<T: Number> Aggregate<T> for Classes {
    type Field = u64;

    fn of_value(&self, value: T, _: u64) -> u64 {
        let number = value.bound().to_f64();
        let is_class =
            (0.0..=62.0).contains(&number) && value.bound() == Bound::from(number.trunc());
        1 << if is_class { number as u32 } else { 63 }
    }

    fn combine(&self, a: u64, b: u64) -> u64 {
        a | b
    }
}

/// A data field that a device can compute, with the same bits as the CPU: [`Sum`] and [`Classes`].
pub trait Resident<T>: Aggregate<T> + sealed::Sealed {
    /// The field's number in kernels.
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

impl<T: Summed + Cell> Resident<T> for Sum {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_the_greatest_values_do_not_wrap() {
        let most = Sum.of_value(u32::MAX, 1 << 31);
        let both = Aggregate::<u32>::combine(&Sum, most, most);
        assert_eq!((both.cells, both.sum), (1 << 32, (1 << 32) * u64::from(u32::MAX)));
        assert_eq!(both.mean::<u32>(), Some(f64::from(u32::MAX)));
        let least = Sum.of_value(i32::MIN, 1 << 32);
        assert_eq!(least.mean::<i32>(), Some(f64::from(i32::MIN)));
    }
}
