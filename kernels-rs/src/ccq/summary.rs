//! The range of keys of a quadrant.

use device_std::{arguments, vector};

use super::value::Value;

/// The bit of a node's link that says that some cells of the quadrant, and not all, are NODATA.
pub const MIXED: u32 = 1 << 31;

/// A flag of a [`Summary`]: a cell is NODATA.
pub const MISSING: u32 = 1;

/// The bits of a [`Summary`], from this one on, that say which of a whole square's four quadrants have values.
pub const QUADRANTS: u32 = 1;

/// The least and the greatest key of a quadrant's cells, and whether any of its cells is NODATA. Cells outside the
/// raster do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Summary {
    /// The least key.
    pub min: u32,
    /// The greatest key; below the least where no cell has a value.
    pub max: u32,
    /// [`MISSING`]; the bits above have a meaning only in the element that stands for a square.
    pub flags: u32,
}

impl Summary {
    /// A quadrant outside the raster.
    pub const OUTSIDE: Self = Self { min: u32::MAX, max: 0, flags: 0 };

    /// A cell that is NODATA.
    pub const MISSING: Self = Self { flags: MISSING, ..Self::OUTSIDE };

    /// A cell with a value.
    #[inline(always)]
    pub fn of(key: u32) -> Self {
        Self { min: key, max: key, flags: 0 }
    }

    /// Both quadrants together.
    #[inline(always)]
    pub fn and(self, other: Self) -> Self {
        Self {
            min: if other.min < self.min { other.min } else { self.min },
            max: if other.max > self.max { other.max } else { self.max },
            flags: self.flags | other.flags,
        }
    }

    /// Whether a cell has a value. An empty quadrant has the bounds `u32::MAX` and 0; cells with both these keys have
    /// them in the other order.
    #[inline(always)]
    pub fn has_values(self) -> bool {
        self.min <= self.max
    }

    /// Whether its cells differ: in their values, or in having one. Then its children are nodes.
    #[inline(always)]
    pub fn is_divided(self) -> bool {
        self.min < self.max || (self.min == self.max && self.is_missing())
    }

    /// Whether a cell is NODATA.
    #[inline(always)]
    pub fn is_missing(self) -> bool {
        self.flags & MISSING != 0
    }

    /// The element that stands for a square; `mask` says which of its four quadrants have values.
    #[inline(always)]
    pub fn of_square(self, mask: u32) -> Self {
        Self { flags: (self.flags & MISSING) | mask << QUADRANTS, ..self }
    }

    /// The mask that [`of_square`](Self::of_square) got.
    #[inline(always)]
    pub fn quadrants(self) -> u32 {
        self.flags >> QUADRANTS & 0xf
    }

    /// The link of its node, whose children begin at `first_child`.
    #[inline(always)]
    pub fn link(self, first_child: u32) -> u32 {
        if self.is_divided() { first_child | if self.is_missing() { MIXED } else { 0 } } else { 0 }
    }
}

/// How cells become keys: the value of NODATA, and the bins.
#[arguments]
pub struct Binning {
    /// The key of NODATA, if `has_nodata`.
    pub nodata: u32,
    /// 1 if a value stands for NODATA.
    pub has_nodata: u32,
    /// The number of the lowest bin; it is above 0 if boundaries below all values were dropped.
    pub first_bin: u32,
    /// Bits of the number of steps, or 0 without bins: there are `2^steps - 1` steps.
    pub steps: u32,
}

/// The summary of a cell before it is [`binned`].
#[inline(always)]
pub fn raw_cell<T: Value>(value: T, binning: Binning) -> Summary {
    let key = value.key();
    if !value.is_number() || (binning.has_nodata != 0 && key == binning.nodata) {
        return Summary::MISSING;
    }
    Summary::of(key)
}

/// The summary of cells of type `T` by their bins. Bins rise with the keys, so the least bin is that of the least key.
/// `step(i)` is the greatest key below boundary i, and `u32::MAX` beyond the last.
#[inline(always)]
pub fn binned<T: Value>(raw: Summary, binning: Binning, step: impl Fn(u32) -> u32) -> Summary {
    if binning.steps == 0 || !raw.has_values() {
        return raw;
    }
    let (mut least, mut greatest, mut half) = (0, 0, 1 << (binning.steps - 1));
    while half > 0 {
        // Keys above step i are in bin i + 1 or a higher one.
        least += if raw.min > step(least + half - 1) { half } else { 0 };
        greatest += if raw.max > step(greatest + half - 1) { half } else { 0 };
        half = vector::unknown(half >> 1);
    }
    let key = |bin: u32| T::of_bin(bin + binning.first_bin).key();
    Summary { min: key(least), max: key(greatest), flags: raw.flags }
}

/// Whether all of a node's classes are in a set, and whether one is.
#[inline(always)]
pub fn indicated(classes: u64, set: u64) -> [bool; 2] {
    [classes & !set == 0, classes & set != 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_found_at_and_beside_their_boundaries() {
        let steps = [9u32, 19, 29, u32::MAX, u32::MAX, u32::MAX, u32::MAX];
        let binning = Binning { nodata: 15, has_nodata: 1, first_bin: 2, steps: 3 };
        let bin =
            |value: u32| binned::<u32>(raw_cell(value, binning), binning, |i| steps[i as usize]);
        for (value, expected) in [(0, 2), (9, 2), (10, 3), (19, 3), (20, 4), (29, 4), (30, 5)] {
            assert_eq!(bin(value), Summary::of(expected), "{value}");
        }
        assert_eq!(bin(u32::MAX), Summary::of(5));
        assert_eq!(bin(15), Summary::MISSING);
        let both =
            binned::<u32>(Summary { min: 10, max: 30, flags: 1 }, binning, |i| steps[i as usize]);
        assert_eq!(both, Summary { min: 3, max: 5, flags: 1 });
    }

    #[test]
    fn empty_quadrants_add_nothing() {
        let some = Summary::of(7);
        assert_eq!(some.and(Summary::OUTSIDE), some);
        assert!(some.and(Summary::MISSING).is_divided());
        assert!(!Summary::MISSING.is_divided() && !Summary::MISSING.has_values());
        assert!(some.and(Summary::of(8)).is_divided() && !some.and(some).is_divided());
    }
}
