//! On which side of a line a place lies, exactly.
//!
//! Plan: twice the area of the triangle in f64, with a bound of its rounding error, decides nearly always. Else the six products of
//! the determinant are summed exactly. (Shewchuk 1997, "Adaptive Precision Floating-Point Arithmetic and Fast Robust
//! Geometric Predicates", doi:10.1007/PL00009321, sections 2.4 and 4.3.)

use device_std::math;

/// Half an ulp of 1.
const HALF_ULP: f64 = 1.0 / (1u64 << 53) as f64;

/// A sum of products below this may hide rounding errors below the least number.
const SMALL: f64 = 1e-120;
/// Numbers up to this have products that do not overflow.
const LARGE: f64 = 1e150;
/// A power of two, as large as `LARGE` and more.
const FACTOR: f64 =
    (1u128 << 127) as f64 * (1u128 << 127) as f64 * (1u128 << 127) as f64 * (1u128 << 127) as f64;

/// A place.
type Place = [f64; 2];

/// Whether `p` lies to the left of the way from `a` to `b`; false on the line. All are finite.
#[inline(always)]
pub fn is_left(a: Place, b: Place, p: Place) -> bool {
    let left = (b[0] - a[0]) * (p[1] - a[1]);
    let right = (b[1] - a[1]) * (p[0] - a[0]);
    let (twice_area, sum) = (left - right, left.abs() + right.abs());
    // Two differences, a product and the last difference, each rounded, and the sum.
    let is_sure = twice_area.abs() > 4.0 * HALF_ULP * sum && sum > SMALL && sum < f64::INFINITY;
    if is_sure { twice_area > 0.0 } else { is_left_exactly(a, b, p) }
}

#[cold]
#[inline(never)]
fn is_left_exactly(a: Place, b: Place, p: Place) -> bool {
    let most = f64::max(greatest(a), f64::max(greatest(b), greatest(p)));
    let scale = if most > LARGE {
        1.0 / FACTOR
    } else if most < 1.0 {
        FACTOR
    } else {
        1.0
    };
    let [a, b, p] = [scaled(a, scale), scaled(b, scale), scaled(p, scale)];
    let mut sum = Sum { parts: [0.0; 12], count: 0 };
    sum.add_product(b[0], p[1]);
    sum.add_product(-b[0], a[1]);
    sum.add_product(-a[0], p[1]);
    sum.add_product(-b[1], p[0]);
    sum.add_product(b[1], a[0]);
    sum.add_product(a[1], p[0]);
    sum.is_positive()
}

#[inline(always)]
fn greatest(a: Place) -> f64 {
    f64::max(a[0].abs(), a[1].abs())
}

#[inline(always)]
fn scaled(a: Place, scale: f64) -> Place {
    [a[0] * scale, a[1] * scale]
}

/// A sum of numbers without a rounding error: parts that do not overlap, by rising magnitude.
struct Sum {
    parts: [f64; 12],
    count: usize,
}

impl Sum {
    /// Adds a product: its rounded value and the error of that.
    #[inline(always)]
    fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        self.add(math::mul_add(a, b, -product));
        self.add(product);
    }

    #[inline(always)]
    fn add(&mut self, number: f64) {
        let (mut carried, mut i) = (number, 0);
        while i < self.count {
            let part = self.parts[i];
            let sum = carried + part;
            let of_part = sum - carried;
            self.parts[i] = (carried - (sum - of_part)) + (part - of_part);
            carried = sum;
            i += 1;
        }
        self.parts[self.count] = carried;
        self.count += 1;
    }

    /// The greatest part that is not 0 has the sign.
    #[inline(always)]
    fn is_positive(&self) -> bool {
        let mut i = self.count;
        while i > 0 {
            i -= 1;
            if self.parts[i] != 0.0 {
                return self.parts[i] > 0.0;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By whole numbers of 2^-60.
    fn exactly(a: Place, b: Place, p: Place) -> bool {
        let whole = |x: f64| (x * 2f64.powi(60)) as i128;
        let difference = |a: f64, b: f64| whole(a) - whole(b);
        difference(b[0], a[0]) * difference(p[1], a[1])
            > difference(b[1], a[1]) * difference(p[0], a[0])
    }

    #[test]
    fn sides_of_decimals_are_exact_at_every_magnitude() {
        let tenths =
            |i: u64| [f64::from(i as u32 % 10) / 10.0, f64::from(i as u32 / 10 % 10) / 10.0];
        let mut on_neither = 0;
        for i in 0..100_000u64 {
            let (a, b) = (tenths(i % 97), tenths(i / 7 % 89));
            let p = [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
            let right = [(a, b, p), (b, a, p), (a, b, tenths(i / 11 % 100))];
            for (a, b, p) in right {
                let expected = exactly(a, b, p);
                for scale in [1.0, 2f64.powi(500), 2f64.powi(-500)] {
                    let [a, b, p] = [a, b, p].map(|place| scaled(place, scale));
                    assert_eq!(is_left(a, b, p), expected, "{a:?} {b:?} {p:?}");
                }
                on_neither += u32::from(!expected);
            }
        }
        assert!(on_neither > 1000);
    }

    #[test]
    fn the_line_itself_is_not_to_the_left() {
        assert!(!is_left([0.0, 0.0], [3.0, 9.0], [1.0, 3.0]));
        assert!(!is_left([0.0; 2], [0.0; 2], [0.0; 2]));
        assert!(is_left([0.0, 0.0], [3.0, 9.0], [1.0, 3.0f64.next_up()]));
    }
}
