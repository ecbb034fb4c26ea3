//! The adaptive power: Lu and Wong, *An adaptive inverse-distance weighting spatial interpolation
//! technique* (2008, doi:10.1016/j.cageo.2007.07.010).

use crate::spatial::sphere::sine_cosine;

/// The pattern of points, from which powers follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pattern {
    /// The mean distance to the nearest point expected in a random pattern.
    pub expected: f64,
    /// The powers, from a clustered pattern to a dispersed one.
    pub levels: [f64; 5],
    /// The ratios of the distance to the expected one at and below which a pattern counts as clustered,
    /// and at and above which as dispersed.
    pub bounds: [f64; 2],
}

impl Pattern {
    /// The power where the mean distance to the neighbours is this.
    #[inline(always)]
    #[allow(clippy::manual_clamp)] // `clamp` has a panic path, and keeps what is not a number
    pub fn power(&self, distance: f64) -> f64 {
        let [clustered, dispersed] = self.bounds;
        // Points on a line, or in one place, have no area: as dispersed as can be.
        let ratio = if self.expected > 0.0 { distance / self.expected } else { f64::INFINITY };
        let membership = if ratio <= clustered {
            0.0
        } else if ratio >= dispersed {
            1.0
        } else {
            let [_, cosine] = sine_cosine(180.0 * (ratio - clustered) / (dispersed - clustered));
            0.5 - 0.5 * cosine
        };
        let place = f64::max(0.0, f64::min((membership - 0.1) / 0.2, 4.0));
        let (mut low, mut high, mut start) = (self.levels[0], self.levels[1], 0.0);
        let mut level = 1;
        while level < 4 {
            if place >= level as f64 {
                (low, high, start) = (self.levels[level], self.levels[level + 1], level as f64);
            }
            level += 1;
        }
        let share = place - start;
        low * (1.0 - share) + high * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_rises_from_the_first_level_to_the_last() {
        let levels = [0.5, 1.0, 2.0, 3.0, 4.0];
        let pattern = Pattern { expected: 1.0, levels, bounds: [0.0, 2.0] };
        assert_eq!(pattern.power(0.0), 0.5);
        assert!((pattern.power(1.0) - 2.0).abs() < 1e-12);
        assert_eq!(pattern.power(2.0), 4.0);
        assert_eq!(pattern.power(50.0), 4.0);
        let powers: Vec<f64> = (0..200).map(|i| pattern.power(f64::from(i) / 100.0)).collect();
        assert!(powers.is_sorted());
        assert!(pattern.power(f64::NAN).is_finite());
    }
}
