//! Values and ends of ranges: numbers of any type, compared exactly.

use std::cmp::Ordering;
use std::fmt;

use gpu_core::Shortest;

/// A value, or an end of a range of values: an f64 or a whole number. Some whole numbers have no exact f64. Bounds
/// compare exactly.
///
/// ```
/// use ccq_tree::Bound;
///
/// // 2^53 + 1, which no float has.
/// let whole = Bound::from((1i64 << 53) + 1);
/// assert!(whole > Bound::from((1u64 << 53) as f64));
/// assert_eq!(Bound::from(3), Bound::from(3.0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bound(Form);

#[derive(Clone, Copy, Debug)]
enum Form {
    Real(f64),
    Whole(i128),
}

impl From<f64> for Bound {
    fn from(value: f64) -> Self {
        Self(Form::Real(value))
    }
}

macro_rules! from_integers {
    ($($type:ty),+) => {$(
        impl From<$type> for Bound {
            fn from(value: $type) -> Self {
                Self(Form::Whole(value.into()))
            }
        }
    )+};
}

from_integers!(u8, i16, u16, i32, u32, i64, u64, i128);

impl From<f32> for Bound {
    fn from(value: f32) -> Self {
        f64::from(value).into()
    }
}

impl Bound {
    /// Whether a range up to here is open: up to infinity, which it holds.
    pub(crate) fn is_open(self) -> bool {
        self.to_f64() == f64::INFINITY
    }

    /// Returns the nearest float.
    pub fn to_f64(self) -> f64 {
        match self.0 {
            Form::Real(value) => value,
            Form::Whole(value) => value as f64,
        }
    }
}

impl fmt::Display for Bound {
    /// In the fewest digits that give the number back; see [`Shortest`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Form::Real(value) => Shortest(value).fmt(f),
            Form::Whole(value) => value.fmt(f),
        }
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Bound {
    /// `None` where either is NaN.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.0, other.0) {
            (Form::Real(a), Form::Real(b)) => a.partial_cmp(&b),
            (Form::Whole(a), Form::Whole(b)) => Some(a.cmp(&b)),
            (Form::Whole(a), Form::Real(b)) => whole_to_real(a, b),
            (Form::Real(a), Form::Whole(b)) => whole_to_real(b, a).map(Ordering::reverse),
        }
    }
}

fn whole_to_real(whole: i128, real: f64) -> Option<Ordering> {
    if real.is_nan() {
        return None;
    }
    let floor = real.floor();
    // A conversion takes what lies beyond the type for its end.
    let below = match floor {
        _ if floor >= 2f64.powi(127) => Ordering::Less,
        _ if floor < -(2f64.powi(127)) => Ordering::Greater,
        _ => whole.cmp(&(floor as i128)),
    };
    // A number and another's floor compare as the two numbers do, unless the number equals the floor.
    Some(if below == Ordering::Equal && floor < real { Ordering::Less } else { below })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_and_floats_are_compared_exactly() {
        let big = (1i64 << 53) + 1;
        assert!(Bound::from(big) > Bound::from(2f64.powi(53)));
        assert!(Bound::from(big) < Bound::from(2f64.powi(53) + 2.0));
        assert!(Bound::from(u64::MAX) < Bound::from(2f64.powi(64)));
        assert!(Bound::from(i64::MIN) == Bound::from(-(2f64.powi(63))));
        assert!(Bound::from(3i64) < Bound::from(3.5) && Bound::from(-3i64) > Bound::from(-3.5));
        assert!(Bound::from(i128::MAX) < Bound::from(f64::INFINITY));
        assert!(Bound::from(i128::MIN) > Bound::from(f64::NEG_INFINITY));
        assert!(Bound::from(i128::MAX) < Bound::from(2f64.powi(127)));
        assert!(Bound::from(0i64) == Bound::from(-0.0));
        assert_eq!(Bound::from(1i64).partial_cmp(&Bound::from(f64::NAN)), None);
    }
}
