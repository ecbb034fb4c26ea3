//! The adaptive power: Lu and Wong, *An adaptive inverse-distance weighting spatial interpolation
//! technique* (Computers & Geosciences 34, 2008, doi:10.1016/j.cageo.2007.07.010).

use crate::{Adaptive, Params};

/// The search whose mean distance is the pattern's: among all points, whatever else is asked for.
pub(crate) fn search(how: Adaptive, params: &Params) -> Params {
    Params { max_points: how.neighbours, geographic: params.geographic, ..Params::default() }
}

/// The pattern of points that a power follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    how: Adaptive,
    /// The mean distance to the nearest point expected in a random pattern.
    expected: f64,
}

impl Pattern {
    pub fn new(how: Adaptive, points: usize, area: f64) -> Self {
        let area = if how.area > 0.0 { how.area } else { area };
        Self { how, expected: 0.5 * (area / points as f64).sqrt() }
    }

    /// The power where the mean distance to the neighbours is this.
    pub fn power(&self, distance: f64) -> f64 {
        let Adaptive { levels, r_min, r_max, .. } = self.how;
        // Points on a line, or in one place, have no area: as dispersed as can be.
        let ratio = if self.expected > 0.0 { distance / self.expected } else { f64::INFINITY };
        let membership = if ratio <= r_min {
            0.0
        } else if ratio >= r_max {
            1.0
        } else {
            0.5 - 0.5 * (std::f64::consts::PI * (ratio - r_min) / (r_max - r_min)).cos()
        };
        let place = ((membership - 0.1) / 0.2).clamp(0.0, 4.0);
        let low = (place.floor() as usize).min(3);
        let share = place - low as f64;
        levels[low] * (1.0 - share) + levels[low + 1] * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_rises_from_the_first_level_to_the_last() {
        let pattern = Pattern::new(Adaptive::default(), 100, 400.0);
        // Expected: 0.5 * sqrt(400 / 100) = 1.
        assert_eq!(pattern.power(0.0), 0.5);
        assert!((pattern.power(1.0) - 2.0).abs() < 1e-12);
        assert_eq!(pattern.power(2.0), 4.0);
        assert_eq!(pattern.power(50.0), 4.0);
        let powers: Vec<f64> = (0..200).map(|i| pattern.power(f64::from(i) / 100.0)).collect();
        assert!(powers.is_sorted());
    }
}
