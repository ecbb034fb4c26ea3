//! Bounds as people would write them.

use gpu_core::Bounds;

/// Rounds bounds outwards to as few digits as people would write. On each side they grow by at most a hundredth of the
/// longer side. `None` if floats have no such bounds.
pub(crate) fn rounded(b: &Bounds) -> Option<Bounds> {
    let side = (b.max_x - b.min_x).max(b.max_y - b.min_y);
    let least =
        [b.min_x, b.min_y, b.max_x, b.max_y].map(f64::abs).into_iter().fold(1.0, f64::max) * 1e-12;
    let digits = 2 - side.max(least).log10().floor().clamp(-300.0, 300.0) as i32;
    // Tens to the power of 22 are exact, and so is a decimal that is their quotient.
    let step = 10_f64.powi(digits.clamp(0, 22));
    let of = |low: f64, high: f64| {
        let (low, high) = ((low * step).floor(), (high * step).ceil());
        (low / step, high.max(low + 1.0) / step)
    };
    let ((min_x, max_x), (min_y, max_y)) = (of(b.min_x, b.max_x), of(b.min_y, b.max_y));
    let is_some = |low: f64, high: f64| (high - low).is_finite() && low < high;
    (is_some(min_x, max_x) && is_some(min_y, max_y)).then_some(Bounds {
        min_x,
        min_y,
        max_x,
        max_y,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_beyond_floats_are_not_rounded() {
        let huge = Bounds { min_x: -1e308, min_y: 0.0, max_x: 1e308, max_y: 1.0 };
        assert_eq!(rounded(&huge), None);
    }
}
