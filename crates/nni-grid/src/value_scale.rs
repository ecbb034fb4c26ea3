//! Values as fixed-point integers.
//!
//! Sums of integers are exact, so they do not depend on the order of points, threads or blocks.

use gpu_core::ValueRange;

/// How values become 32-bit integers and back: `value = offset + integer * step`.
///
/// The step is the smallest power of two that lets the range fit in about 2^31 steps. So the resolution is between
/// range / 2^31 and range / 2^30: a micrometre over the relief of the Earth. One value far from the others reduces the
/// resolution of all values.
///
/// ```
/// use nni_grid::ValueScale;
///
/// let scale = ValueScale::of(&[0.0, 10.0]);
/// assert_eq!((scale.offset, scale.quantise(5.0)), (5.0, 0));
/// let sum = i64::from(scale.quantise(2.5)) + i64::from(scale.quantise(4.5));
/// assert_eq!(scale.mean(sum, 2), 3.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueScale {
    /// The middle of the range.
    pub offset: f64,
    /// A power of two.
    pub step: f64,
}

/// The most steps from the lowest value to the highest.
const STEPS: f64 = 2147483392.0;

/// The most steps from the offset to a value: the kernels shift values by 2^30 into 31 bits.
const FARTHEST: f64 = 1073741823.0;

impl ValueScale {
    /// The scale for finite values. Equal values come back exactly.
    pub fn of(values: &[f64]) -> Self {
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let widen = |(min, max): (f64, f64), &v: &f64| (min.min(v), max.max(v));
        let (min, max) = values.iter().fold(start, widen);
        Self::of_range(ValueRange { min, max })
    }

    /// Returns the scale for values in a range; an arbitrary scale if its ends are not finite, or the lower end is
    /// above the upper.
    pub fn of_range(ValueRange { min, max }: ValueRange) -> Self {
        let some = min <= max && min.is_finite() && max.is_finite();
        if !some || min == max {
            // One zero of two, as either may be the least.
            return Self { offset: if some { min + 0.0 } else { 0.0 }, step: 1.0 };
        }
        // Halves, since the range of finite values may be infinite.
        let half = max / 2.0 - min / 2.0;
        let mut step = 2f64.powi(((half / STEPS).log2().ceil() as i32 + 1).clamp(-1000, 1000));
        while 2.0 * (half / step) > STEPS {
            step *= 2.0;
        }
        while step > f64::MIN_POSITIVE && 2.0 * (half / (step / 2.0)) <= STEPS {
            step /= 2.0;
        }
        let offset = min + half;
        // The offset is rounded, which in a range of a few units in the last place may put one end
        // farther from it than half the range.
        while f64::max(offset - min, max - offset) / step > FARTHEST {
            step *= 2.0;
        }
        Self { offset, step }
    }

    /// The integer nearest to a value, ties to even.
    pub fn quantise(&self, value: f64) -> i32 {
        ((value - self.offset) * (1.0 / self.step)).round_ties_even() as i32
    }

    /// The mean of `count` integers with this sum, as a value; `count` is not 0.
    pub fn mean(&self, sum: i64, count: u32) -> f32 {
        (self.offset + sum as f64 / f64::from(count) * self.step) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_come_back_exactly() {
        for value in [0.0, -0.1, 1234.567, 1e300, 1e-300] {
            let scale = ValueScale::of(&[value; 3]);
            assert_eq!(scale.quantise(value), 0);
            assert_eq!(scale.mean(0, 3), value as f32);
        }
    }

    #[test]
    fn the_range_is_used_and_not_passed() {
        for (min, max) in [(0.0, 1.0), (-3.5, 8848.9), (1e-9, 2e-9), (-1e30, 1e30), (5.0, 5.1)] {
            let scale = ValueScale::of(&[max, min]);
            assert_eq!(scale.step.log2().fract(), 0.0, "{}", scale.step);
            let steps = (max - min) / scale.step;
            assert!(steps <= STEPS && steps > STEPS / 2.0 - 1.0, "{steps}");
            for value in [min, max, min + (max - min) * 0.3] {
                let back = scale.offset + f64::from(scale.quantise(value)) * scale.step;
                assert!((back - value).abs() <= scale.step, "{value} came back as {back}");
            }
        }
        assert_eq!(ValueScale::of(&[]), ValueScale { offset: 0.0, step: 1.0 });
    }

    #[test]
    fn every_value_fits_31_bits_however_narrow_the_range() {
        for min in [1.0f64, -1.0, 0.1, 1e300, 123456.789] {
            for ulps in 1..70u64 {
                let max = f64::from_bits((min.abs().to_bits()) + ulps).copysign(min);
                let (min, max) = (min.min(max), min.max(max));
                let scale = ValueScale::of(&[min, max]);
                for value in [min, max] {
                    let steps = scale.quantise(value);
                    assert!((-(1 << 30)..1 << 30).contains(&steps), "{steps} of {min} to {max}");
                    let back = scale.offset + f64::from(steps) * scale.step;
                    assert!((back - value).abs() <= max - min, "{value} came back as {back}");
                }
            }
        }
    }

    #[test]
    fn the_widest_range_is_finite() {
        let scale = ValueScale::of(&[f64::MIN, f64::MAX]);
        assert!(scale.step.is_finite() && scale.offset.is_finite());
        assert!(scale.quantise(f64::MAX) >= 1 << 29);
    }
}
