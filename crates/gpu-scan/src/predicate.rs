//! Which elements a selection keeps.

use device_std::scalar::Scalar;

use crate::error::{Error, Result};
use crate::number::{Direction, Number, total_order};

/// A condition on one element, by the type's own comparisons: NaN satisfies only [`not_equal_to`](Self::not_equal_to)
/// and [`is_nan`](Self::is_nan), and -0.0 equals +0.0.
///
/// ```
/// use gpu_scan::Predicate;
///
/// let ground = Predicate::within(0.0, 9000.0);
/// assert!(ground.holds(0.0) && ground.holds(9000.0));
/// assert!(!ground.holds(-0.5) && !ground.holds(f64::NAN));
/// assert!(ground.not().holds(f64::NAN));
/// assert!(Predicate::is_nan().holds(f64::NAN));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicate<T: Number> {
    /// The lowest rank that satisfies it, in ascending order.
    pub(crate) low: T::Bits,
    /// The distance to the highest.
    pub(crate) span: T::Bits,
    /// Whether the range is what does not satisfy it.
    pub(crate) outside: bool,
}

impl<T: Number> Predicate<T> {
    /// `x < value`.
    pub fn less_than(value: T) -> Self {
        match lowest(value) {
            Some(rank) if rank > 0 => Self::ranks(0, rank - 1),
            _ => Self::never(),
        }
    }

    /// `x <= value`.
    pub fn at_most(value: T) -> Self {
        highest(value).map_or(Self::never(), |rank| Self::ranks(0, rank))
    }

    /// `x > value`.
    pub fn greater_than(value: T) -> Self {
        match highest(value) {
            Some(rank) if rank < last_number::<T>() => Self::ranks(rank + 1, last_number::<T>()),
            _ => Self::never(),
        }
    }

    /// `x >= value`.
    pub fn at_least(value: T) -> Self {
        lowest(value).map_or(Self::never(), |rank| Self::ranks(rank, last_number::<T>()))
    }

    /// `x == value`.
    pub fn equal_to(value: T) -> Self {
        Self::within(value, value)
    }

    /// `x != value`.
    pub fn not_equal_to(value: T) -> Self {
        Self::equal_to(value).not()
    }

    /// `least <= x && x <= most`.
    pub fn within(least: T, most: T) -> Self {
        match (lowest(least), highest(most)) {
            (Some(low), Some(high)) if low <= high => Self::ranks(low, high),
            _ => Self::never(),
        }
    }

    /// `x.is_nan()`; never for integers.
    pub fn is_nan() -> Self {
        match last_number::<T>() < ones::<T>() {
            true => Self::ranks(last_number::<T>() + 1, ones::<T>()),
            false => Self::never(),
        }
    }

    /// The opposite condition.
    #[allow(clippy::should_implement_trait)]
    pub fn not(self) -> Self {
        Self { outside: !self.outside, ..self }
    }

    /// Whether an element satisfies it.
    pub fn holds(&self, element: T) -> bool {
        let rank = total_order::<T>(Direction::Ascending).rank(element.bits()).to_bits64();
        (rank.wrapping_sub(self.low.to_bits64()) & ones::<T>() <= self.span.to_bits64())
            != self.outside
    }

    /// The classes of a three-way partition, of which every element satisfies one.
    pub(crate) fn three(low: T, high: T) -> Result<[Self; 3]> {
        if !low.partial_cmp(&high).is_some_and(std::cmp::Ordering::is_le) {
            let (low, high) = (format!("{low:?}"), format!("{high:?}"));
            return Err(Error::Thresholds { low, high });
        }
        Ok([Self::less_than(low), Self::within(low, high), Self::at_most(high).not()])
    }

    fn never() -> Self {
        Self::ranks(0, ones::<T>()).not()
    }

    fn ranks(low: u64, high: u64) -> Self {
        let (low, span) = (T::Bits::from_bits64(low), T::Bits::from_bits64(high - low));
        Self { low, span, outside: false }
    }
}

/// The highest bit pattern.
fn ones<T: Number>() -> u64 {
    u64::MAX >> (64 - 8 * size_of::<T>())
}

/// The rank of the last element that is a number.
fn last_number<T: Number>() -> u64 {
    ones::<T>() - 2 * T::NANS
}

/// The ranks of elements equal to `value`; none for NaN.
fn equal_ranks<T: Number>(value: T) -> Option<(u64, u64)> {
    value.partial_cmp(&value)?;
    let rank = |value: T| total_order::<T>(Direction::Ascending).rank(value.bits()).to_bits64();
    // The two zeros of a float differ in the sign bit alone.
    let is_float = T::MAGNITUDE != 0;
    let zero = T::from_bits(T::Bits::from_bits64(0));
    if is_float && value == zero {
        return Some((rank(T::from_bits(T::Bits::from_bits64(T::TOP))), rank(zero)));
    }
    Some((rank(value), rank(value)))
}

fn lowest<T: Number>(value: T) -> Option<u64> {
    equal_ranks(value).map(|ranks| ranks.0)
}

fn highest<T: Number>(value: T) -> Option<u64> {
    equal_ranks(value).map(|ranks| ranks.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Number>(values: &[T]) {
        for &v in values {
            for &x in values {
                assert_eq!(Predicate::less_than(v).holds(x), x < v, "{x:?} < {v:?}");
                assert_eq!(Predicate::at_most(v).holds(x), x <= v, "{x:?} <= {v:?}");
                assert_eq!(Predicate::greater_than(v).holds(x), x > v, "{x:?} > {v:?}");
                assert_eq!(Predicate::at_least(v).holds(x), x >= v, "{x:?} >= {v:?}");
                assert_eq!(Predicate::equal_to(v).holds(x), x == v, "{x:?} == {v:?}");
                assert_eq!(Predicate::not_equal_to(v).holds(x), x != v, "{x:?} != {v:?}");
                assert_eq!(Predicate::<T>::is_nan().holds(x), x.partial_cmp(&x).is_none());
                for &w in values {
                    assert_eq!(Predicate::within(v, w).holds(x), v <= x && x <= w);
                }
            }
        }
    }

    #[test]
    fn predicates_are_the_comparisons_of_the_type() {
        check(&[0u8, 1, 100, 255]);
        check(&[i32::MIN, -7, 0, 3, i32::MAX]);
        check(&[i64::MIN, -1, 0, i64::MAX]);
        let f =
            [f32::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-44, 2.0, f32::INFINITY, f32::NAN, -f32::NAN];
        check(&f);
        check(&f.map(f64::from));
    }
}
