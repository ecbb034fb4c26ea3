//! Whole numbers that stand for the ratio of two sides.

/// Most of a numerator or denominator of a ratio of sides that counts as whole.
const MAX_RATIO: u32 = 4096;

/// Rows and columns beyond the raster that a search may look at.
const BEYOND: u32 = 512;

/// A part that the ratio of squared sides may be off, where the order of sites is not the true one: half of it
/// is the distance.
const MAX_ERROR: f64 = 2e-6;

/// A part by which a ratio is off that `f64` does not tell.
const SAME: f64 = f64::EPSILON / 2.0;

/// A ratio from here on has as many bits before the point as a fixed-point number holds.
const LARGEST: f64 = (1u64 << 63) as f64;

/// Weights of the squared numbers of columns and rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub across: u32,
    pub down: u32,
    /// The relative error of their ratio as a ratio of the squared sides.
    pub error: f64,
}

/// Returns the largest ratio of sides whose weights fit every raster with `steps` pixels along the longer one.
pub(super) fn largest(steps: u32) -> f64 {
    (room(steps) as f64).sqrt().floor()
}

/// The largest weight of the square of as many steps: the product stays below 2^62.
fn room(steps: u32) -> u128 {
    let steps = u128::from(steps) + u128::from(BEYOND);
    ((1 << 62) / (steps * steps)).clamp(1, u128::from(u32::MAX))
}

/// Returns the weights for pixels with two different sides, in a raster of `width` columns and `height` rows; `None` if
/// no weights that fit are good enough.
pub(super) fn weights((width, height): (u32, u32), (x, y): (f64, f64)) -> Option<Weights> {
    if let Some((p, q)) = whole_ratio(x / y) {
        let (across, down) = (p * p, q * q);
        if u128::from(across) <= room(width) && u128::from(down) <= room(height) {
            return Some(Weights { across, down, error: 0.0 });
        }
    }
    let is_wide = x > y;
    let (longer, shorter) = if is_wide { (width, height) } else { (height, width) };
    let (large, small, error) = fraction(squared_ratio(x.max(y), x.min(y)), longer, shorter)?;
    let (across, down) = if is_wide { (large, small) } else { (small, large) };
    Some(Weights { across, down, error })
}

/// Returns the weights of a step along the longer and the shorter side, for a raster of this many pixels along these
/// sides. Also returns the relative error of their ratio.
///
/// The search takes the nearer of the two fractions next to the ratio if sites come in the true order by it. Otherwise
/// it takes the other if sites come in the true order by that. No fraction of differences of squares then lies between
/// the two, but the nearer one may be such a fraction, and sites at different distances would tie.
///
/// If neither keeps the order, the relative error of the nearer one is at most 1 / N. Here N is the limit of its
/// numerator or denominator, and the two fractions differ by 1 / (q q'). In a raster of at most a thousand million
/// pixels this happens only with N = 2^32.
fn fraction(ratio: u128, longer: u32, shorter: u32) -> Option<(u32, u32, f64)> {
    // Differences of two squares of steps.
    let most = |steps: u32| u128::from(steps.saturating_sub(1)).pow(2);
    let (most_longer, most_shorter) = (most(longer), most(shorter));
    let error = |(large, small): (u128, u128)| {
        let off = (large << 64).abs_diff(small.saturating_mul(ratio));
        off as f64 / (small as f64 * ratio as f64)
    };
    let is_ordered = |fraction @ (large, small): (u128, u128)| {
        let is_beyond = large > most_shorter || small > most_longer;
        most_longer.min(most_shorter) == 0 || is_beyond || error(fraction) <= SAME
    };
    let [nearer, other] = around(ratio, room(longer), room(shorter));
    let ordered = [nearer, other].into_iter().find(|&fraction| is_ordered(fraction));
    // A ratio that does not fit at all has no fraction on its other side.
    let has_room = ratio >> 64 < room(longer);
    let near = Some(nearer).filter(|&nearer| has_room && error(nearer) <= MAX_ERROR);
    let fraction = ordered.or(near)?;
    Some((fraction.0 as u32, fraction.1 as u32, error(fraction)))
}

/// The square of a ratio of at least 1, with 64 bits after the point: exact to some 100 bits.
fn squared_ratio(longer: f64, shorter: f64) -> u128 {
    // To numbers near 1, whose products do not vanish.
    let unit = super::power_of_two(longer);
    let (longer, shorter) = (longer / unit, shorter / unit);
    let ratio = longer / shorter;
    if ratio * ratio >= LARGEST {
        return (LARGEST as u128) << 64;
    }
    // What rounding took from the ratio, and from its square.
    let rest = (-ratio).mul_add(shorter, longer) / shorter;
    let square = ratio * ratio;
    let rest = ratio.mul_add(ratio, -square) + (2.0 * ratio + rest) * rest;
    let fixed = |part: f64| (part * 2f64.powi(64)) as i128;
    ((square * 2f64.powi(64)) as u128).saturating_add_signed(fixed(rest)).max(1 << 64)
}

/// Returns the fractions on both sides of a ratio of at least 1, the nearer one first; if the ratio is a fraction,
/// returns it twice. They are the last ones on the way to the ratio in the Stern-Brocot tree whose numerators are at
/// most `most_above` and denominators at most `most_below`.
fn around(ratio: u128, most_above: u128, most_below: u128) -> [(u128, u128); 2] {
    let whole = ratio >> 64;
    if whole >= most_above {
        return [(most_above, 1); 2];
    }
    let (mut low, mut high) = ((whole, 1), (whole + 1, 1));
    // How far the ratio is from both, times the denominator.
    let above_low = |low: (u128, u128)| low.1 * ratio - (low.0 << 64);
    let below_high = |high: (u128, u128)| (high.0 << 64) - high.1 * ratio;
    if above_low(low) == 0 {
        return [low; 2];
    }
    // `from` and as many times `to` as stay on this side of the ratio, and as there is room for.
    let moved = |from: (u128, u128), to: (u128, u128), times: u128| {
        let room = ((most_above - from.0) / to.0).min((most_below - from.1) / to.1);
        let times = times.min(room);
        (from.0 + times * to.0, from.1 + times * to.1)
    };
    while low.0 + high.0 <= most_above && low.1 + high.1 <= most_below {
        high = moved(high, low, below_high(high) / above_low(low));
        if below_high(high) == 0 {
            return [high; 2];
        }
        low = moved(low, high, above_low(low) / below_high(high));
        if above_low(low) == 0 {
            return [low; 2];
        }
    }
    let (above, below) =
        (above_low(low) as f64 / low.1 as f64, below_high(high) as f64 / high.1 as f64);
    if above <= below { [low, high] } else { [high, low] }
}

/// Returns the ratio as one of two whole numbers up to [`MAX_RATIO`], if it is one to the precision of f64. The
/// convergents of its continued fraction are the best candidates. Never returns 0 to 1, to which sides may underflow.
fn whole_ratio(ratio: f64) -> Option<(u32, u32)> {
    if ratio < f64::MIN_POSITIVE {
        return None;
    }
    let (mut p, mut q) = ((1u64, 0u64), (0u64, 1u64));
    let mut rest = ratio;
    for _ in 0..32 {
        let whole = rest.floor();
        if whole > f64::from(MAX_RATIO) {
            return None;
        }
        p = (whole as u64 * p.0 + p.1, p.0);
        q = (whole as u64 * q.0 + q.1, q.0);
        if p.0.max(q.0) > u64::from(MAX_RATIO) {
            return None;
        }
        if (p.0 as f64 / q.0 as f64 - ratio).abs() <= 4.0 * f64::EPSILON * ratio {
            return Some((p.0 as u32, q.0 as u32));
        }
        rest = 1.0 / (rest - whole);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_whole_numbers_are_found() {
        for (x, y, p, q) in
            [(2.0, 1.0, 2, 1), (0.3, 0.1, 3, 1), (1.5, 2.5, 3, 5), (1e-3, 7e-3, 1, 7)]
        {
            assert_eq!(whole_ratio(x / y), Some((p, q)));
        }
        assert_eq!(whole_ratio(std::f64::consts::PI), None);
        assert_eq!(whole_ratio(1e-200 / 1e200), None);
    }

    #[test]
    fn squares_of_ratios_have_more_bits_than_an_f64() {
        assert_eq!(squared_ratio(5000.5, 1.0), 25_005_000 << 64 | 1 << 62);
        assert_eq!(squared_ratio(1e300, 1e300 / 1024.0), 1 << (20 + 64));
        assert_eq!(squared_ratio(1e300, 1e-300), 1 << (63 + 64));
        // 1 / 3 as an f64 is less than a third by 2^-54 / 3, so the square is more than 9 by 18 times 2^-54.
        assert_eq!((squared_ratio(1.0, 1.0 / 3.0) - (9 << 64)) >> 4, 18 << 6);
    }

    /// The order by the weights is that by the exact ratio, ties and all, for all squares of a small raster.
    #[test]
    fn weights_order_sites_as_the_ratio_does() {
        let mut random = 1_u64;
        let mut unit = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 11) as f64 / (1_u64 << 53) as f64
        };
        for round in 0..300 {
            let ratio = match round % 3 {
                0 => 10f64.powf(6.0 * unit()),
                1 => (2.0 + 400.0 * unit()).floor().sqrt(),
                _ => 1.0 + unit(),
            };
            let ratio = squared_ratio(ratio, 1.0);
            let (longer, shorter) = (2 + (20.0 * unit()) as u32, 2 + (60.0 * unit()) as u32);
            let (large, small, _) = fraction(ratio, longer, shorter).unwrap();
            for a in 0..longer.pow(2) {
                for b in (0..shorter.pow(2)).filter(|b| a % 7 == b % 7) {
                    let (of_a, of_b) = (u128::from(a) * ratio, u128::from(b) << 64);
                    // Beyond the precision of f64.
                    if of_a != of_b && of_a.abs_diff(of_b) < of_b >> 50 {
                        continue;
                    }
                    let exact = of_a.cmp(&of_b);
                    let found =
                        (u64::from(a) * u64::from(large)).cmp(&(u64::from(b) * u64::from(small)));
                    assert_eq!(found, exact, "{a} {b} in {longer} x {shorter}, {large} / {small}");
                }
            }
        }
    }

    /// Rasters of a thousand million pixels, whatever their sides and those of a pixel. Sites come in the true order,
    /// or within a part in 10^9; rasters whose sides differ most are refused.
    #[test]
    fn rasters_of_a_thousand_million_pixels_have_sites_in_the_true_order() {
        let mut random = 7_u64;
        let mut unit = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut worst, mut refused) = (0.0, 0);
        for _ in 0..20_000 {
            let along = 10f64.powf(9.0 * unit());
            let (longer, shorter) = (along as u32, (1e9 / along) as u32);
            let ratio = squared_ratio(10f64.powf(10.0 * unit() * unit()), 1.0);
            let Some((large, small, error)) = fraction(ratio, longer, shorter) else {
                refused += 1;
                continue;
            };
            let most = |steps: u32| u64::from(steps.saturating_sub(1)).pow(2);
            let (longer, shorter) = (most(longer), most(shorter));
            let is_beyond = u64::from(large) > shorter || u64::from(small) > longer;
            if !is_beyond && longer.min(shorter) > 0 && error > SAME {
                worst = f64::max(worst, error);
            }
        }
        assert!(worst < 1e-9 && refused < 2000, "{worst}, {refused} refused");
    }

    #[test]
    fn fractions_are_the_nearest_there_are() {
        for ratio in [std::f64::consts::PI, 1.000001, 99.99, 7.5] {
            let fixed = (ratio * 2f64.powi(64)) as u128;
            let off = |(p, q): (u128, u128)| (p as f64 / q as f64 - ratio).abs();
            for most in [(8, 8), (100, 7), (113, 113), (355, 113), (1000, 1)] {
                let all = (1..=most.1).map(|q| ((ratio * q as f64).round() as u128, q));
                let least = all.filter(|(p, _)| *p <= most.0).map(off).fold(f64::MAX, f64::min);
                let [found, _] = around(fixed, most.0, most.1);
                assert!(found.0 <= most.0 && found.1 <= most.1, "{ratio} {most:?} {found:?}");
                assert!(off(found) <= least || ratio > most.0 as f64, "{ratio} {most:?} {found:?}");
            }
        }
    }
}
