//! The data points along a curve, as the sums over all of them take them.

use device_std::{In, arguments};

/// Data points in device memory, in the order of a curve.
#[arguments]
pub struct Points<'a> {
    /// x of each, then y of each, on the ground; on the sphere x, y and z of the unit vectors.
    pub places: In<'a, f64>,
    /// The first value of each, then the second.
    pub values: In<'a, f64>,
    /// For each value three numbers: offset, lowest, highest. The offset is never farther from a value than 0 is.
    pub ranges: In<'a, f64>,
    /// How many points there are.
    pub count: u32,
}

impl Points<'_> {
    /// The offset of value `v`, which sums subtract.
    #[inline(always)]
    pub fn offset(&self, v: usize) -> f64 {
        self.ranges.get(3 * v)
    }

    /// Offset, lowest and highest of value `v`.
    #[inline(always)]
    pub fn range(&self, v: usize) -> [f64; 3] {
        range(self.ranges, v)
    }
}

/// Offset, lowest and highest of value `v`.
#[inline(always)]
pub fn range(ranges: In<'_, f64>, v: usize) -> [f64; 3] {
    let of_value = ranges.from(3 * v);
    [of_value.get(0u32), of_value.get(1u32), of_value.get(2u32)]
}
