//! Where pixels and query points lie, and what a cell's value is.

use device_std::math;

/// The width of a raster, with the reciprocal that gives `index / width` without a division.
///
/// The reciprocal is Lemire, Kaser and Kurz's (2019, doi:10.1002/spe.2689): exact for every 32-bit
/// index.
#[derive(Clone, Copy)]
pub struct Width {
    width: u32,
    reciprocal: u64,
}

impl Width {
    /// The reciprocal that [`Width::new`] takes beside the width, which is not 0.
    pub const fn reciprocal(width: u32) -> u64 {
        // 2^64 / width, rounded up; for a width of 1 it wraps to 0.
        (u64::MAX / width as u64).wrapping_add(1)
    }

    /// A width that is not 0, with its [`reciprocal`](Self::reciprocal).
    #[inline(always)]
    pub fn new(width: u32, reciprocal: u64) -> Self {
        Self { width, reciprocal }
    }

    /// The pixel (column, row) of an index.
    #[inline(always)]
    pub fn split(self, index: u32) -> (i32, i32) {
        let quotient = ((self.reciprocal as u128 * index as u128) >> 64) as u32;
        let row = if self.width == 1 { index } else { quotient };
        ((index - row * self.width) as i32, row as i32)
    }
}

/// The squared length of a difference.
#[inline(always)]
pub fn squared(dx: i32, dy: i32) -> u64 {
    let (dx, dy) = (dx as i64, dy as i64);
    (dx * dx + dy * dy) as u64
}

/// The value of a cell: the mean of `count` fixed-point values with this sum; NaN of none.
#[inline(always)]
pub fn mean(sum: i64, count: u32, offset: f64, step: f64) -> f32 {
    if count == 0 { f32::NAN } else { (offset + sum as f64 / count as f64 * step) as f32 }
}

/// The values of a cell: [`mean`] of each sum. `scale` gives the offset and the step of each.
///
/// On the device one division serves all values. The quotient of two integers by the correctly rounded reciprocal is
/// off by less than 1.5 units in the last place. Its remainder is exact, being a small multiple of that unit, and
/// corrects the quotient to the result of division (Markstein 1990, doi:10.1147/rd.341.0111). The correction's own
/// rounding does not matter: no quotient by such a divisor is that near to the middle between two numbers.
#[inline(always)]
pub fn means<const N: usize>(
    sums: [i64; N],
    count: u32,
    scale: impl Fn(usize) -> [f64; 2],
) -> [f32; N] {
    let divisor = count as f64;
    let reciprocal = 1.0 / divisor;
    let mut values = [f32::NAN; N];
    let mut k = 0;
    while k < N {
        let [offset, step] = scale(k);
        if N == 1 || cfg!(not(target_arch = "nvptx64")) {
            values[k] = mean(sums[k], count, offset, step);
        } else if count > 0 {
            let quotient = quotient_by(sums[k] as f64, divisor, reciprocal);
            values[k] = (offset + quotient * step) as f32;
        }
        k += 1;
    }
    values
}

/// `a / b` for integers, by the correctly rounded reciprocal of `b`.
#[inline(always)]
fn quotient_by(a: f64, b: f64, reciprocal: f64) -> f64 {
    let near = a * reciprocal;
    let rest = math::mul_add(-near, b, a);
    math::mul_add(rest, reciprocal, near)
}

#[cfg(test)]
mod tests {
    use super::{Width, quotient_by};

    #[test]
    fn quotients_by_a_reciprocal_are_those_of_division() {
        let mut state = 1u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for i in 0..4_000_000 {
            let b = match i % 3 {
                0 => next() % 128 + 1,
                1 => next() % (1 << 32) + 1,
                _ => (next() % (1 << 16) + 1) << (next() % 16),
            } as f64;
            let a = (next() as i64 >> (next() % 60)) as f64;
            assert_eq!(quotient_by(a, b, 1.0 / b), a / b, "{a} by {b}");
            // Exact quotients, and those beside them.
            let product = (a as i64 >> 34).wrapping_mul(b as i64) + (next() % 3) as i64 - 1;
            let a = product as f64;
            assert_eq!(quotient_by(a, b, 1.0 / b), a / b, "{a} by {b}");
        }
    }

    #[test]
    fn indices_split_as_by_division() {
        for width in [1, 2, 3, 7, 641, 5000, 65_535, 65_536, (1 << 29) - 1, u32::MAX] {
            let fast = Width::new(width, Width::reciprocal(width));
            let near = |n: u64| [n.saturating_sub(1), n, n + 1];
            let rows = [0, 1, 2, 1000, u64::from(u32::MAX / width)];
            for index in rows.iter().flat_map(|row| near(row * u64::from(width))) {
                let Ok(index) = u32::try_from(index) else { continue };
                let expected = ((index % width) as i32, (index / width) as i32);
                assert_eq!(fast.split(index), expected, "{index} by {width}");
            }
        }
    }
}
