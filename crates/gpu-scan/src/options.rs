//! The options of scans, sorts and merges.

use std::ops::Range;

#[cfg(feature = "cuda")]
use kernels_rs::primitives::operators as kernels;
use kernels_rs::primitives::operators::Order;

use crate::error::{Error, Result};
use crate::number::{order_of_bits, total_order};
use crate::{Direction, Key};

/// The options of a scan: whether a result includes its own element, and from which end it runs.
///
/// ```
/// use gpu_scan::{Scan, Sum, cpu};
///
/// let mut sums = [0; 3];
/// cpu::scan(Sum, Scan::inclusive(), &[1, 2, 3], &mut sums)?;
/// assert_eq!(sums, [1, 3, 6]);
/// cpu::scan(Sum, Scan::exclusive(100), &[1, 2, 3], &mut sums)?;
/// assert_eq!(sums, [100, 101, 103]);
/// cpu::scan(Sum, Scan::inclusive().backward(), &[1, 2, 3], &mut sums)?;
/// assert_eq!(sums, [6, 5, 3]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scan<T> {
    /// The value before the first element of an exclusive scan.
    pub initial: Option<T>,
    /// From the last element to the first.
    pub backward: bool,
}

impl<T> Scan<T> {
    /// Element i of the result combines the elements 0 to i.
    pub const fn inclusive() -> Self {
        Self { initial: None, backward: false }
    }

    /// Element i of the result combines `initial` and the elements before i.
    pub const fn exclusive(initial: T) -> Self {
        Self { initial: Some(initial), backward: false }
    }

    /// Runs from the last element to the first (of the array, or of each segment).
    pub fn backward(self) -> Self {
        Self { backward: true, ..self }
    }

    /// As the kernels know it.
    #[cfg(feature = "cuda")]
    pub(crate) fn mode(&self) -> u32 {
        let exclusive = if self.initial.is_some() { kernels::EXCLUSIVE } else { 0 };
        exclusive | if self.backward { kernels::BACKWARD } else { 0 }
    }
}

/// The options of a sort: the direction, and the bits of the keys that count.
///
/// ```
/// # use gpu_scan::Sort;
/// let by_cell = Sort::ascending().by_bits(0..24);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sort {
    /// Which end of the order comes first.
    pub direction: Direction,
    /// The bits of the key that count; all if this is `None`.
    pub bits: Option<Range<u32>>,
}

impl Sort {
    /// Returns the order from the least key to the greatest, with NaN last.
    pub const fn ascending() -> Self {
        Self { direction: Direction::Ascending, bits: None }
    }

    /// Returns the order from the greatest key to the least, with NaN first; equal keys stay in their order.
    pub const fn descending() -> Self {
        Self { direction: Direction::Descending, bits: None }
    }

    /// Sorts only by these bits of the keys; bit 0 is the lowest. Each 8 bits cost a pass over the array.
    ///
    /// For signed and floating keys, these are the bits of the key with its sign bit flipped; for negative floats all
    /// bits are flipped. So NaNs with the sign bit come before -inf, and other NaNs after +inf. All NaNs come last only
    /// if no bits are named.
    pub const fn by_bits(self, bits: Range<u32>) -> Self {
        Self { bits: Some(bits), ..self }
    }

    /// Returns the order that ranks keys. It is the total order, which turns all NaNs to one end. If bits of the rank
    /// are named, it leaves out that turn, which would change every bit.
    pub(crate) fn order<K: Key>(&self) -> Order<K::Bits> {
        match self.bits {
            None => total_order::<K>(self.direction),
            Some(_) => order_of_bits::<K>(self.direction),
        }
    }

    /// The bits of keys of a type.
    pub(crate) fn range<K: Key>(&self) -> Result<Range<u32>> {
        let all = 8 * size_of::<K>() as u32;
        let Some(range) = self.bits.clone() else {
            return Ok(0..all);
        };
        if range.is_empty() || range.end > all {
            return Err(Error::BitRange { begin: range.start, end: range.end, bits: all });
        }
        Ok(range)
    }
}

/// How sorted arrays are merged: in which direction they are sorted.
///
/// Example: see [`cpu::merge_keys`](crate::cpu::merge_keys).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merge {
    /// Which end of the order comes first.
    pub direction: Direction,
}

impl Merge {
    /// Returns the order from the least key to the greatest, with NaN last.
    pub const fn ascending() -> Self {
        Self { direction: Direction::Ascending }
    }

    /// The greatest key first, which makes NaN the first.
    pub const fn descending() -> Self {
        Self { direction: Direction::Descending }
    }
}

/// Which end of the order comes first.
///
/// Example: see [`cpu::top_k`](crate::cpu::top_k).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopK {
    /// Which end of the order comes first.
    pub direction: Direction,
}

impl TopK {
    /// The least; NaN last.
    pub const fn least() -> Self {
        Self { direction: Direction::Ascending }
    }

    /// The greatest; NaN last.
    pub const fn greatest() -> Self {
        Self { direction: Direction::Descending }
    }
}
