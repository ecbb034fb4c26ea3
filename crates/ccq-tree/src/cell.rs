//! The types of cells, and how a caller's numbers become keys.

use kernels_rs::ccq::value::Value;

use crate::Number;

/// A type of cells: `u8`, `i16`, `u16`, `i32`, `u32`, `f32`.
pub trait Cell: Value + Number + sealed::Sealed {
    /// The number of the type in kernels.
    #[doc(hidden)]
    const KIND: u32 = Self::TYPE;

    /// The value as a number; exact.
    fn to_f64(self) -> f64;
}

/// What no other crate implements, with the kernels of a type where this build has some.
mod sealed {
    #[cfg(feature = "cuda")]
    pub trait Sealed:
        kernels_rs::ccq::build::reduce::Instance + kernels_rs::ccq::build::write::Instance
    {
    }
    #[cfg(not(feature = "cuda"))]
    pub trait Sealed {}
}

macro_rules! cells {
    ($($type:ty),+) => {$(
        impl sealed::Sealed for $type {}

        impl Cell for $type {
            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    )+};
}

cells!(u8, i16, u16, i32, u32, f32);

/// The least and the greatest key of a type.
fn ends<T: Cell>() -> (u32, u32) {
    T::ENDS
}

/// The least key whose value is at least `bound`; one more than the greatest where none is.
pub(crate) fn first_key<T: Cell>(bound: f64) -> u64 {
    let (least, greatest) = ends::<T>();
    let (mut low, mut high) = (u64::from(least), u64::from(greatest) + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match T::of_key(middle as u32).to_f64() < bound {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// One more than the greatest key below the upper end of a range, which infinity leaves open: infinity is in it.
fn end_key<T: Cell>(high: f64) -> u64 {
    if high == f64::INFINITY { u64::from(T::ENDS.1) + 1 } else { first_key::<T>(high) }
}

/// The key of a number, if it is a value of the type.
pub(crate) fn exact_key<T: Cell>(number: f64) -> Option<u32> {
    let key = first_key::<T>(number);
    let is_key = key <= u64::from(ends::<T>().1) && T::of_key(key as u32).to_f64() == number;
    // The least key among +0 and -0 is that of -0, which no cell has.
    is_key.then(|| T::of_key(key as u32).key())
}

/// Keys from the first to the second, both included; none where the first is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys(pub u32, pub u32);

impl Keys {
    pub const ALL: Self = Self(0, u32::MAX);
    pub const NONE: Self = Self(1, 0);

    pub fn new(low: u64, end: u64) -> Self {
        if low < end { Self(low as u32, (end - 1) as u32) } else { Self::NONE }
    }

    pub fn contain(self, key: u32) -> bool {
        self.0 <= key && key <= self.1
    }
}

impl From<Keys> for [u32; 2] {
    fn from(Keys(first, last): Keys) -> Self {
        [first, last]
    }
}

/// A range of values, as ranges of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// If all of a node's values are in the range, all of its keys are in here.
    pub inside: Keys,
    /// If one of a node's values may be in the range, one of its keys is in here.
    pub touched: Keys,
    /// The keys of the raster's wanted cells.
    pub raw: Keys,
}

impl Ranges {
    /// No range: all values.
    pub const ALL: Self = Self { inside: Keys::ALL, touched: Keys::ALL, raw: Keys::ALL };

    /// Values from `low` up to, but without, `high`. If `high` is infinity, the range has no upper end and includes
    /// infinity.
    pub fn of<T: Cell>((low, high): (f64, f64), bins: &[f64]) -> Self {
        let (low, end) = (first_key::<T>(low), end_key::<T>(high));
        let raw = Keys::new(low, end);
        if bins.is_empty() {
            return Self { inside: raw, touched: raw, raw };
        }
        if raw == Keys::NONE {
            return Self { inside: raw, touched: raw, raw };
        }
        let (least, greatest) = ends::<T>();
        let edges: Vec<u64> = bins.iter().map(|&b| first_key::<T>(b)).collect();
        let bin_of = |key: u64| edges.partition_point(|&edge| edge <= key);
        let begin = |bin: usize| if bin == 0 { u64::from(least) } else { edges[bin - 1] };
        let end_of = |bin: usize| edges.get(bin).copied().unwrap_or(u64::from(greatest) + 1);
        let (first, last) = (bin_of(low), bin_of(end - 1));
        let from = if begin(first) == low { first } else { first + 1 };
        let to = if end_of(last) == end { last + 1 } else { last };
        let key = |bin: usize| T::of_bin(bin as u32).key();
        let inside = if from < to { Keys(key(from), key(to - 1)) } else { Keys::NONE };
        Self { inside, touched: Keys(key(first), key(last)), raw }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_become_the_first_key_at_or_above() {
        assert_eq!(first_key::<u8>(-3.0), 0);
        assert_eq!(first_key::<u8>(2.5), 3);
        assert_eq!(first_key::<u8>(255.5), 256);
        assert_eq!(first_key::<u32>(f64::INFINITY), 1 << 32);
        assert_eq!(first_key::<i16>(-1.0), u64::from((-1i16).key()));
        assert_eq!(first_key::<f32>(0.1), u64::from(f32::from_bits(0.1f32.to_bits()).key()));
        assert_eq!(first_key::<f32>(f64::INFINITY), u64::from(f32::INFINITY.key()));
        assert_eq!(exact_key::<u8>(3.5), None);
        assert_eq!(exact_key::<i16>(-9999.0), Some((-9999i16).key()));
        assert_eq!(exact_key::<f32>(-9999.5), Some((-9999.5f32).key()));
        assert_eq!(exact_key::<i16>(1e9), None);
        let zero = Some(0.0f32.key());
        assert_eq!((exact_key::<f32>(0.0), exact_key::<f32>(-0.0)), (zero, zero));
    }

    #[test]
    fn ranges_of_bins_are_inside_or_touched() {
        let of = |low, high| Ranges::of::<u8>((low, high), &[10.0, 20.0]);
        let key = |bin: u32| u8::of_bin(bin).key();
        let both = of(10.0, 20.0);
        assert_eq!((both.inside, both.touched), (Keys(key(1), key(1)), Keys(key(1), key(1))));
        let cut = of(9.0, 21.0);
        assert_eq!((cut.inside, cut.touched), (Keys(key(1), key(1)), Keys(key(0), key(2))));
        let within = of(12.0, 13.0);
        assert_eq!((within.inside, within.touched), (Keys::NONE, Keys(key(1), key(1))));
        assert_eq!(of(0.0, f64::INFINITY).inside, Keys(key(0), key(2)));
        assert_eq!(of(300.0, 400.0).touched, Keys::NONE);
    }
}
