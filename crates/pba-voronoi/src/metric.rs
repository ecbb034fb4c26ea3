//! How squared distances are counted: in integers, whatever the sides of a pixel.

use crate::{Error, Result};

/// Most columns of a raster whose candidates are kept in 16 bits; the rest of their range tells a
/// row without a site from every site near enough to be compared without care.
pub(crate) const MAX_NARROW: u32 = 60_000;

/// Most of a numerator or denominator of a ratio of sides that counts as whole.
const MAX_RATIO: u32 = 4096;

/// The sides of a pixel on the ground, in any unit; distances come in the same one.
///
/// Distances are compared as `across dx^2 + down dy^2` with whole numbers `across` and `down`, so
/// that no rounding ever decides which site is nearest. Where the ratio of the sides is that of two
/// whole numbers up to 4096, to the precision of `f64` (1 to 1, 1 to 2, 0.3 to 0.1 ..), the two are
/// their squares and the comparison is that of the true distances. Of any other ratio the square is
/// rounded to that of two whole numbers as large as fits: `across W^2 + down H^2` stays below 2^62 for
/// a raster of W x H pixels, and both below 2^32. The ratio of the squared sides is then off by at
/// most one part in twice the smaller of the two, which is 10^9 for sides of 2:1 and a raster of
/// 30,000 x 30,000.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacing {
    /// A pixel's width.
    pub x: f64,
    /// A pixel's height.
    pub y: f64,
}

/// The squares of a step in x and in y, and the squared distance beyond which there is no site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Metric {
    /// The square of a step in x.
    pub across: u32,
    /// The square of a step in y.
    pub down: u32,
    /// Ground units of the root of a squared distance of 1.
    pub scale: f64,
    /// Most squared distance of a site; `u64::MAX` without a limit.
    pub limit: u64,
    /// Whether columns fit 16 bits and squared distances, of square pixels, 32.
    pub is_narrow: bool,
}

impl Metric {
    /// Square pixels of side 1, no limit.
    #[cfg(feature = "cuda")]
    pub(crate) fn pixels(width: u32, height: u32) -> Self {
        Self::squares(width, height, 1.0)
    }

    fn squares(width: u32, height: u32, scale: f64) -> Self {
        let is_narrow =
            width <= MAX_NARROW && square(width) + square(height) < u128::from(u32::MAX);
        Self { across: 1, down: 1, scale, limit: u64::MAX, is_narrow }
    }

    /// The metric of pixels with these sides.
    ///
    /// # Errors
    /// [`Error::Spacing`], [`Error::MaxDistance`].
    pub(crate) fn new(
        width: u32,
        height: u32,
        spacing: Spacing,
        max_distance: Option<f64>,
    ) -> Result<Self> {
        let Spacing { x, y } = spacing;
        let is_side = |s: f64| s.is_finite() && s > 0.0;
        if !is_side(x) || !is_side(y) {
            return Err(Error::Spacing { x, y });
        }
        let mut metric = if x == y {
            Self::squares(width, height, x)
        } else {
            let (across, down, scale) = weights(width, height, spacing)?;
            Self { across, down, scale, limit: u64::MAX, is_narrow: false }
        };
        if metric.scale == 0.0 {
            return Err(Error::Spacing { x, y });
        }
        if let Some(most) = max_distance {
            if most.is_nan() || most < 0.0 {
                return Err(Error::MaxDistance { max_distance: most });
            }
            metric.limit = metric.largest_square(most);
        }
        Ok(metric)
    }

    /// The distance on the ground of a squared distance.
    pub(crate) fn distance(&self, squared: u64) -> f64 {
        (squared as f64).sqrt() * self.scale
    }

    /// The largest squared distance whose distance is at most `most`; `u64::MAX` where all are.
    fn largest_square(&self, most: f64) -> u64 {
        let root = most / self.scale;
        // Beyond every raster: no limit.
        if root >= 4e9 {
            return u64::MAX;
        }
        let mut squared = (root * root) as u64 + 2;
        while squared > 0 && self.distance(squared) > most {
            // A step of less than the precision of f64 would change nothing.
            squared -= 1 + (squared >> 54);
        }
        squared
    }

    /// The squared limit of a search `rows` rows away: it finds a site wherever one is within the
    /// limit of a row that is no farther.
    #[cfg(feature = "cuda")]
    pub(crate) fn limit_within(&self, rows: u32) -> u64 {
        if self.limit == u64::MAX {
            return u64::MAX;
        }
        let reach = (self.limit as f64).sqrt() + f64::from(rows) * f64::from(self.down).sqrt();
        // Rounded up by more than the errors of the roots; beyond every raster there is no limit.
        ((reach * reach * (1.0 + 1e-9)).ceil() as u64).saturating_add(1)
    }
}

fn square(n: u32) -> u128 {
    u128::from(n) * u128::from(n)
}

/// Whole numbers in the ratio of the squared sides, and the ground units of the root of 1.
fn weights(width: u32, height: u32, Spacing { x, y }: Spacing) -> Result<(u32, u32, f64)> {
    let room = ((1u128 << 62) / (square(width.max(1)) + square(height.max(1)))) as u64;
    let room = room.min(u64::from(u32::MAX));
    if let Some((p, q)) = whole_ratio(x / y) {
        let (across, down) = (square(p) as u64, square(q) as u64);
        if across.max(down) <= room {
            return Ok((across as u32, down as u32, y / f64::from(q)));
        }
    }
    let (small, large) = (x.min(y), x.max(y));
    let ratio = small / large;
    let lesser = (room as f64 * ratio * ratio).round() as u32;
    if lesser == 0 {
        return Err(Error::Spacing { x, y });
    }
    let (across, down) = if x < y { (lesser, room as u32) } else { (room as u32, lesser) };
    Ok((across, down, large / (room as f64).sqrt()))
}

/// The ratio as one of two whole numbers up to [`MAX_RATIO`], if it is one to the precision of f64: the
/// convergents of its continued fraction are the best there are. Not that of 0 and 1, to which sides
/// may underflow.
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
            let metric = Metric::new(500, 400, Spacing { x, y }, None).unwrap();
            assert_eq!((metric.across, metric.down), (p * p, q * q));
            assert!((metric.distance(u64::from(p * p)) / x - 1.0).abs() < 1e-15);
        }
        assert_eq!(whole_ratio(std::f64::consts::PI), None);
        assert_eq!(whole_ratio(1e-200 / 1e200), None);
    }

    #[test]
    fn other_ratios_are_near_and_fit() {
        let spacing = Spacing { x: 1.0, y: 2f64.sqrt() };
        for (width, height) in [(1, 1), (1000, 10), (60_000, 60_000), (1 << 30, 1)] {
            let metric = Metric::new(width, height, spacing, None).unwrap();
            let (across, down) = (u128::from(metric.across), u128::from(metric.down));
            assert!(across * square(width) + down * square(height) < 1 << 62);
            assert!((across as f64 / down as f64 - 0.5).abs() < 1.0 / across as f64);
        }
        assert!(Metric::new(10, 10, Spacing { x: 1e-9, y: 1.0 }, None).is_err());
        assert!(Metric::new(10, 10, Spacing { x: 1.0, y: f64::NAN }, None).is_err());
        assert!(Metric::new(10, 10, Spacing { x: 0.0, y: 1.0 }, None).is_err());
    }

    #[test]
    #[cfg(feature = "cuda")]
    fn limits_of_far_searches_are_none() {
        let spacing = Spacing { x: 1.0, y: 2f64.sqrt() };
        let metric = Metric::new(32, 33_000, spacing, Some(60_000.0)).unwrap();
        assert!(metric.limit < u64::MAX);
        assert_eq!(metric.limit_within(0) / metric.limit, 1);
        assert_eq!(metric.limit_within(u32::MAX), u64::MAX);
    }

    #[test]
    fn limits_are_the_last_square_within() {
        let limit = |most| Metric::new(9, 9, Spacing { x: 1.0, y: 1.0 }, Some(most)).unwrap().limit;
        assert_eq!(limit(0.0), 0);
        assert_eq!(limit(3.0), 9);
        assert_eq!(limit(2.999), 8);
        assert_eq!(limit(5f64.sqrt()), 5);
        assert_eq!(limit(f64::INFINITY), u64::MAX);
        assert!(Metric::new(9, 9, Spacing { x: 1.0, y: 1.0 }, Some(-1.0)).is_err());
        assert!(Metric::new(9, 9, Spacing { x: 1.0, y: 1.0 }, Some(f64::NAN)).is_err());
        let metres = Metric::new(9, 9, Spacing { x: 30.0, y: 30.0 }, Some(60.0)).unwrap();
        assert_eq!(metres.limit, 4);
    }
}
