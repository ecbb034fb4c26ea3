//! The operators of reductions and scans.

use bytemuck::Pod;
use device_std::scalar::Scalar;
use kernels_rs::primitives::columns;
use kernels_rs::primitives::operators as kernels;
use kernels_rs::primitives::operators::Operator;
use kernels_rs::primitives::reduce::reduce;
use kernels_rs::primitives::reduce_by_key::ReducesByKey;
use kernels_rs::primitives::scan::Scans;
use kernels_rs::primitives::segment_totals::SegmentReduces;

use crate::number::{Direction, Number, nan_last};

/// The sum. Integers wrap; floats are added in the order that [the crate](crate#sums-of-floats)
/// documents, from +0.0 on.
///
/// Example: see [`cpu::reduce`](crate::cpu::reduce()).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum;

/// The least number. NaN is ignored; -0.0 is less than +0.0.
///
/// ```
/// assert_eq!(gpu_scan::cpu::reduce(gpu_scan::Min, &[3.0, f64::NAN, -2.0]), -2.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Min;

/// The greatest number. NaN is ignored; -0.0 is less than +0.0.
///
/// Example: see [`cpu::reduce`](crate::cpu::reduce()).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Max;

/// The last valid element. It fills gaps from the element before them (after them, if backward).
///
/// An element is invalid if it has the same bits as this value. If this value is a NaN, every NaN is invalid.
///
/// ```
/// use gpu_scan::{LastValid, Scan, cpu};
///
/// let mut heights = [2.0, f32::NAN, 7.0];
/// cpu::scan_in_place(LastValid(f32::NAN), Scan::inclusive(), &mut heights)?;
/// assert_eq!(heights, [2.0, 2.0, 7.0]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastValid<T>(
    /// The value that stands for a missing one.
    pub T,
);

/// An operator for scans over elements of type `T`: [`Sum`], [`Min`], [`Max`], [`LastValid`].
pub trait ScanOperator<T: Number>: Copy + Send + Sync + SealedScan<T> {}

/// An operator for reductions over elements of type `T`: [`Sum`], [`Min`], [`Max`].
pub trait ReduceOperator<T: Number>: ScanOperator<T> + SealedReduce<T> {}

/// The operator of a scan in kernels; for this crate's own use.
#[doc(hidden)]
pub trait SealedScan<T: Number> {
    /// The kernels' type for the elements, with the same bits.
    type Element: Scalar + Pod + Send + Sync;
    /// The operator in kernels.
    type Kernel: Scans<Self::Element>
        + columns::sums::Instance<Self::Element>
        + columns::scan::Instance<Self::Element>
        + Send
        + Sync;
    /// The operator's parameters.
    fn parameters(&self) -> [u64; 4];
    /// The operator in kernels.
    fn kernel(&self) -> Self::Kernel {
        Self::Kernel::new(self.parameters())
    }
}

/// The operator of a reduction in kernels; for this crate's own use.
#[doc(hidden)]
pub trait SealedReduce<T: Number>: SealedScan<T, Kernel = Self::Reduction> {
    /// The operator in kernels.
    type Reduction: reduce::Instance<Self::Element>
        + ReducesByKey<Self::Element>
        + SegmentReduces<Self::Element>
        + Send
        + Sync;
    /// The result of reducing nothing.
    fn empty(&self) -> T;
}

macro_rules! operators {
    ($($type:ty, $sum:ty, $bits:ty, $least:expr, $greatest:expr;)+) => {$(
        operators! { @scan $type, Sum, $sum, kernels::Sum, |_| [0; 4] }
        operators! { @scan $type, Min, $bits, kernels::Least<$bits>,
            |_| nan_last::<$type>(Direction::Ascending).parameters() }
        operators! { @scan $type, Max, $bits, kernels::Least<$bits>,
            |_| nan_last::<$type>(Direction::Descending).parameters() }
        operators! { @scan $type, LastValid<$type>, $bits, kernels::Last<$bits>,
            |operator| invalid(operator.0) }
        operators! { @reduce $type, Sum, kernels::Sum, 0 as $type }
        operators! { @reduce $type, Min, kernels::Least<$bits>, $greatest }
        operators! { @reduce $type, Max, kernels::Least<$bits>, $least }
    )+};
    (@scan $type:ty, $operator:ty, $element:ty, $kernel:ty, $parameters:expr) => {
        impl ScanOperator<$type> for $operator {}
        impl SealedScan<$type> for $operator {
            type Element = $element;
            type Kernel = $kernel;
            fn parameters(&self) -> [u64; 4] {
                let parameters: fn(&$operator) -> [u64; 4] = $parameters;
                parameters(self)
            }
        }
    };
    (@reduce $type:ty, $operator:ty, $kernel:ty, $empty:expr) => {
        impl ReduceOperator<$type> for $operator {}
        impl SealedReduce<$type> for $operator {
            type Reduction = $kernel;
            fn empty(&self) -> $type {
                $empty
            }
        }
    };
}

operators! {
    u8, u8, u8, u8::MIN, u8::MAX;
    u16, u16, u16, u16::MIN, u16::MAX;
    u32, u32, u32, u32::MIN, u32::MAX;
    i32, u32, u32, i32::MIN, i32::MAX;
    u64, u64, u64, u64::MIN, u64::MAX;
    i64, u64, u64, i64::MIN, i64::MAX;
    f32, f32, u32, f32::NEG_INFINITY, f32::INFINITY;
    f64, f64, u64, f64::NEG_INFINITY, f64::INFINITY;
}

/// The parameters of [`kernels::Last`]: which bits are invalid.
fn invalid<T: Number>(value: T) -> [u64; 4] {
    let bits = value.bits().to_bits64();
    if value.partial_cmp(&value).is_some() {
        return [u64::MAX, bits, 0, bits];
    }
    // Every NaN, whatever its sign: the bits after infinity up to the last.
    let first = T::MAGNITUDE - T::NANS + 1;
    [T::MAGNITUDE, first, T::NANS - 1, bits]
}
