//! The bounds of bins, for kernels and CPU alike.

use device_std::{In, arguments};

use crate::primitives::operators::{Bits, Order};

/// The bounds of bins of equal width.
///
/// For integers, `first` is the rank of the lowest bound, and bound `b` lies `ceil(span * b / bins)` above it, where
/// `span = quotient * bins + rest`. Rounding a real bound up does not change which integers lie below it.
///
/// For floats, `first` and `quotient` are the bits of the lowest and the highest bound as f64.
#[derive(Clone, Copy, Debug)]
pub struct Even {
    /// See [`Even`].
    pub first: u64,
    /// See [`Even`].
    pub quotient: u64,
    /// See [`Even`].
    pub rest: u64,
    /// Bins, at most [`MAX_BINS`](super::MAX_BINS).
    pub bins: u64,
    /// Whether elements are floats.
    pub floats: bool,
}

/// The bounds of bins: given ones, or those of equal bins.
#[arguments]
pub struct Bounds<'a, B> {
    /// One element more than bins; `None` for equal bins, which the other fields describe.
    pub thresholds: Option<In<'a, B>>,
    /// See [`Even`].
    pub first: u64,
    /// See [`Even`].
    pub quotient: u64,
    /// See [`Even`].
    pub rest: u64,
    /// Not 0: elements are floats.
    pub floats: u32,
    /// How many bins there are.
    pub bins: u64,
}

impl<B: Bits> Bounds<'_, B> {
    /// The rank of bound `b`, which is at most the number of bins.
    #[inline(always)]
    pub(super) fn rank(&self, order: Order<B>, b: u64) -> B {
        let Self { first, quotient, rest, bins, .. } = *self;
        match self.thresholds {
            None => Even { first, quotient, rest, bins, floats: self.floats != 0 }.rank(order, b),
            Some(thresholds) => rank_of_bound(order, thresholds.get(b)),
        }
    }
}

impl Even {
    /// The rank of bound `b`.
    #[inline(always)]
    pub fn rank<B: Bits>(&self, order: Order<B>, b: u64) -> B {
        if self.floats {
            return rank_of_bound(order, B::from_bits64(self.float::<B>(b)));
        }
        // Both factors are below 2^32.
        let product = self.rest * b;
        let quotient = product.checked_div(self.bins).unwrap_or(0);
        let up = (quotient * self.bins != product) as u64;
        B::from_bits64(self.first.wrapping_add(self.quotient * b + quotient + up))
    }

    /// The bits of bound `b` as a float of the elements' size.
    #[inline(always)]
    fn float<B>(&self, b: u64) -> u64 {
        let (first, last) = (f64::from_bits(self.first), f64::from_bits(self.quotient));
        let part = b as f64 / self.bins as f64;
        let span = last - first;
        // The span of two doubles may be beyond the greatest.
        let bound = if span <= f64::MAX {
            first + span * part
        } else {
            2.0 * (first / 2.0 + (last / 2.0 - first / 2.0) * part)
        };
        let bound = if b == self.bins || bound > last { last } else { bound };
        if size_of::<B>() == 4 { (bound as f32).to_bits() as u64 } else { bound.to_bits() }
    }
}

/// The rank of a bound. Zeros become -0.0, so that ranks compare as numbers do: +0.0 and -0.0 lie
/// in the bin that begins at a zero, whatever its sign.
#[inline(always)]
pub fn rank_of_bound<B: Bits>(order: Order<B>, bits: B) -> B {
    let is_float = order.magnitude != B::from_bits64(0);
    let is_zero = bits == B::from_bits64(0);
    order.rank(if is_float && is_zero { order.top } else { bits })
}

/// The greatest rank of a number: NaNs come after it.
#[inline(always)]
pub fn last_number<B: Bits>(order: Order<B>) -> B {
    // The shift of the ascending order is the number of NaNs of one sign.
    B::ONES.minus(order.shift).minus(order.shift)
}
