//! How to compare distances in integers, for any sides of a pixel.
//!
//! For pixels that are not square, let `ratio` be the square of the ratio of the sides. Let `large` and `small` be the
//! weights of a step along the longer and the shorter side. The search compares `small a + large b`, where `a` and `b`
//! are squared numbers of steps. Two sites come in the true order if no fraction `a / b` of a difference of such
//! squares lies between `large / small` and `ratio`. This holds for a fraction on the way to `ratio` in the
//! Stern-Brocot tree once its numerator or its denominator exceeds every squared number of steps in the raster. So the
//! last such fraction on the way decides, on the side of the ratio where it exceeds the raster.

use crate::{Error, Result};

mod ratio;

/// Most columns of a raster whose candidates are kept in 16 bits. The rest of their range keeps the mark of a row
/// without a site farther off than any site near enough for unchecked comparisons.
pub(crate) const MAX_NARROW: u32 = 60_000;

/// The shortest side of a pixel, 2^-250, and the longest, 2^250: the square of the ratio of two sides, and squares
/// of distances, are then normal numbers.
pub(crate) const LEAST_SIDE: f64 = 1.0 / MAX_SIDE;
pub(crate) const MAX_SIDE: f64 = (1u128 << 125) as f64 * (1u128 << 125) as f64;

/// The sides of a pixel on the ground, in any unit; distances come in the same one. A side is between 2^-250 (5.5e-76)
/// and 2^250 (1.8e75), else the call returns [`Error::Spacing`](crate::Error::Spacing).
///
/// The search compares `across dx^2 + down dy^2`, where `across` and `down` are whole numbers, so that rounding decides
/// nothing.
///
/// The ratio of the sides may be a ratio of two whole numbers up to 4096, to the precision of `f64`. Examples are
/// 1 to 1, 1 to 2 and 0.3 to 0.1. Then `across` and `down` are the squares of these two numbers.
///
/// For any other ratio they are whole numbers below 2^32 that order the sites of the raster by their true distances, as
/// far as `f64` tells these apart. In a large raster there may be no such numbers; then the call takes the best
/// approximation. Then a site may count as nearer although it is farther, by at most a part in 10^6. In rasters of up
/// to a thousand million pixels, it is at most a part in 10^9. The call refuses a ratio whose error could be larger
/// ([`Error::SideRatio`](crate::Error::SideRatio)).
///
/// The distance is `sqrt((x dx)^2 + (y dy)^2)`, computed in `f64` from the sides x and y. For square pixels it is the
/// side times the root of `dx^2 + dy^2`.
///
/// Example: see [`Params`](crate::Params).
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
    /// The length on the ground, in ground units, for a squared distance of 1.
    pub scale: f64,
    /// The largest squared distance of a site; `u64::MAX` without a limit. For pixels that are not square it may be
    /// more, and [`Ground::most`] decides.
    pub limit: u64,
    /// Whether columns fit 16 bits and squared distances, of square pixels, 32.
    pub is_narrow: bool,
    /// The sides, unless pixels are square.
    pub ground: Option<Ground>,
}

/// The sides of pixels that are not square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ground {
    /// A pixel's width.
    pub x: f64,
    /// A pixel's height.
    pub y: f64,
    /// A power of two near the longer side: squares in this unit neither overflow nor vanish.
    pub unit: f64,
    /// The largest distance of a site; infinite without a limit.
    pub most: f64,
    /// Whether squared distances as whole numbers agree with the squares on the ground to a part in 10^9.
    pub has_squares: bool,
}

impl Ground {
    /// Returns the distance over `columns` columns and `rows` rows. The kernel `measure` computes the same.
    pub(crate) fn distance(&self, columns: u32, rows: u32) -> f64 {
        let (across, down) = (f64::from(columns) * self.x, f64::from(rows) * self.y);
        if down == 0.0 {
            return across;
        }
        if across == 0.0 {
            return down;
        }
        let (across, down) = (across / self.unit, down / self.unit);
        (across * across + down * down).sqrt() * self.unit
    }
}

/// A limit, and what a distance that is the limit may be more by its rounding.
fn reached(limit: f64) -> f64 {
    limit * (1.0 + 4.0 * f64::EPSILON)
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
        Self { across: 1, down: 1, scale, limit: u64::MAX, is_narrow, ground: None }
    }

    /// The metric of pixels with these sides.
    ///
    /// # Errors
    /// [`Error::Spacing`], [`Error::SideRatio`], [`gpu_core::Error::Parameter`].
    pub(crate) fn new(
        width: u32,
        height: u32,
        spacing: Spacing,
        max_distance: Option<f64>,
    ) -> Result<Self> {
        let Spacing { x, y } = spacing;
        let sides = LEAST_SIDE..=MAX_SIDE;
        if !sides.contains(&x) || !sides.contains(&y) {
            return Err(Error::Spacing { x, y });
        }
        if let Some(most) = max_distance {
            gpu_core::require_parameter(
                "largest distance",
                most,
                most >= 0.0,
                "a number from 0 up",
            )?;
        }
        let mut metric = if x == y {
            Self::squares(width, height, x)
        } else {
            Self::oblong(width, height, spacing)?
        };
        if let Some(most) = max_distance {
            metric.set_limit(reached(most));
        }
        Ok(metric)
    }

    /// The metric of pixels with two different sides.
    fn oblong(width: u32, height: u32, Spacing { x, y }: Spacing) -> Result<Self> {
        let weights = ratio::weights((width, height), (x, y));
        let unit = power_of_two(x.max(y));
        let ground = Ground { x, y, unit, most: f64::INFINITY, has_squares: false };
        let Some(ratio::Weights { across, down, error }) = weights else {
            let most = ratio::largest(if x < y { height } else { width });
            return Err(Error::SideRatio { x, y, width, height, most });
        };
        let (shorter, weight) = if x < y { (x, across) } else { (y, down) };
        let scale = shorter / f64::from(weight).sqrt();
        let ground = Some(Ground { has_squares: error <= 1e-9, ..ground });
        Ok(Self { across, down, scale, limit: u64::MAX, is_narrow: false, ground })
    }

    /// The distance on the ground of a squared distance, of square pixels.
    pub(crate) fn distance(&self, squared: u64) -> f64 {
        (squared as f64).sqrt() * self.scale
    }

    /// Whether a site is within the limit.
    pub(crate) fn is_within(&self, squared: u64, columns: u32, rows: u32) -> bool {
        let is_within = |ground: Ground| ground.distance(columns, rows) <= ground.most;
        squared <= self.limit && self.ground.is_none_or(is_within)
    }

    /// Leaves out sites that are farther than `most`.
    fn set_limit(&mut self, most: f64) {
        let Some(ground) = &mut self.ground else {
            self.limit = self.largest_square(most);
            return;
        };
        ground.most = most;
        // The most that `across dx^2 + down dy^2` can be within the limit; rounded up by more than its errors.
        let reach = most / ground.unit;
        let unit = ground.unit;
        let of = |weight: u32, side: f64| f64::from(weight) / (side / unit * (side / unit));
        let largest = of(self.across, ground.x).max(of(self.down, ground.y)) * reach * reach;
        self.limit = (largest * (1.0 + 1e-9)) as u64;
        self.limit = self.limit.saturating_add(2);
    }

    /// The largest squared distance of square pixels whose distance is at most `most`; `u64::MAX` where all are.
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

/// The power of two at or below a positive normal number.
fn power_of_two(of: f64) -> f64 {
    f64::from_bits(of.to_bits() & f64::INFINITY.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_whole_numbers_are_found() {
        for (x, y, p, q) in
            [(2.0, 1.0, 2, 1), (0.3, 0.1, 3, 1), (1.5, 2.5, 3, 5), (1e-3, 7e-3, 1, 7)]
        {
            let metric = Metric::new(500, 400, Spacing { x, y }, None).unwrap();
            assert_eq!((metric.across, metric.down), (p * p, q * q));
            let ground = metric.ground.unwrap();
            assert_eq!((ground.distance(3, 0), ground.distance(0, 3)), (3.0 * x, 3.0 * y));
            assert!((metric.scale * f64::from(p) / x - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn other_ratios_are_near_and_fit() {
        let spacing = Spacing { x: 1.0, y: 2f64.sqrt() };
        for (width, height) in [(1, 1), (1000, 10), (60_000, 60_000), (1 << 30, 1)] {
            let metric = Metric::new(width, height, spacing, None).unwrap();
            let (across, down) = (u128::from(metric.across), u128::from(metric.down));
            assert!(across * square(width) + down * square(height) < 1 << 63);
        }
        assert!(Metric::new(10, 10, Spacing { x: 1e-9, y: 1.0 }, None).is_ok());
        assert!(Metric::new(10, 10, Spacing { x: 1.0, y: f64::NAN }, None).is_err());
        assert!(Metric::new(10, 10, Spacing { x: 0.0, y: 1.0 }, None).is_err());
    }

    #[test]
    fn a_ratio_for_which_a_large_raster_has_no_room_is_refused_with_the_limit() {
        let new = |y| Metric::new(100_000, 100_000, Spacing { x: 1.0, y }, None);
        assert!(new(20_000.5).is_ok());
        let refused = new(30_000.5).unwrap_err().to_string();
        assert!(refused.contains("at most 21365 times"), "{refused}");
        assert!(Metric::new(100_000, 1, Spacing { x: 1.0, y: 30_000.5 }, None).is_ok());
    }

    #[test]
    fn sides_are_whole_in_their_unit() {
        for (side, unit) in [(1.0, 1.0), (3.0, 2.0), (0.3, 0.25), (LEAST_SIDE, LEAST_SIDE)] {
            assert_eq!(power_of_two(side), unit);
        }
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
        // 3 times 0.1 is a little more than 0.3.
        let tenths = Spacing { x: 0.1, y: 0.1 };
        assert_eq!(Metric::new(9, 9, tenths, Some(0.3)).unwrap().limit, 9);
        assert_eq!(limit(f64::INFINITY), u64::MAX);
        assert!(Metric::new(9, 9, Spacing { x: 1.0, y: 1.0 }, Some(-1.0)).is_err());
        assert!(Metric::new(9, 9, Spacing { x: 1.0, y: 1.0 }, Some(f64::NAN)).is_err());
        let metres = Metric::new(9, 9, Spacing { x: 30.0, y: 30.0 }, Some(60.0)).unwrap();
        assert_eq!(metres.limit, 4);
    }
}
