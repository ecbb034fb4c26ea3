//! Sums of floats of 64 bits.

/// A sum of f64 numbers with twice their digits. It does not overflow unless the mean does.
///
/// Values from 2^900 on have a sum of their own, scaled by 2^-64. So 2^60 cells of either kind have a finite sum. Each
/// addition keeps its rounding error (Knuth's two-sum), so the sum is as exact as in arithmetic with 106 bits.
///
/// Example: see [`cpu::fields`](crate::cpu::fields).
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct WideSum {
    near: [f64; 2],
    /// In units of 2^64.
    far: [f64; 2],
}

/// Values from here on are summed in units of 2^64; and 2^64 itself.
const FAR: f64 = f64::from_bits((1023 + 900) << 52);
const UNIT: f64 = 18_446_744_073_709_551_616.0;

impl WideSum {
    /// Returns the sum of a value over `cells` cells.
    pub(super) fn of(value: f64, cells: u64) -> Self {
        let count = cells as f64;
        let times = |value: f64| {
            let high = value * count;
            let low = value.mul_add(count, -high);
            [high, if low.is_finite() { low } else { 0.0 }]
        };
        match value.abs() < FAR {
            true => Self { near: times(value), ..Self::default() },
            false => Self { far: times(value / UNIT), ..Self::default() },
        }
    }

    /// Returns the sum rounded to f64, which may be infinite.
    pub fn to_f64(self) -> f64 {
        let [far, near] = [self.far, self.near].map(|[high, low]| high + low);
        far * UNIT + near
    }

    /// Returns the mean of `cells` values with this sum, finite if they are.
    pub(super) fn over(self, cells: u64) -> f64 {
        let count = cells as f64;
        let part = |[high, low]: [f64; 2]| {
            let part = high / count;
            let rest = (-part).mul_add(count, high) + low;
            if rest.is_finite() { part + rest / count } else { part }
        };
        part(self.far) * UNIT + part(self.near)
    }
}

impl std::ops::Add for WideSum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { near: both(self.near, other.near), far: both(self.far, other.far) }
    }
}

impl std::fmt::Display for WideSum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_f64().fmt(f)
    }
}

/// The sum of two sums of a float and what it rounds off.
fn both([a, a_low]: [f64; 2], [b, b_low]: [f64; 2]) -> [f64; 2] {
    let [high, low] = two_sum(a, b);
    if !high.is_finite() {
        return [high, 0.0];
    }
    two_sum(high, low + a_low + b_low)
}

/// The sum of two floats, and what it rounds off (Knuth 1969, volume 2, 4.2.2).
fn two_sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let of_b = sum - a;
    [sum, (a - (sum - of_b)) + (b - of_b)]
}
