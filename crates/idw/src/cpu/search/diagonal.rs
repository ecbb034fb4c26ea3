//! A diagonal of a box, and distances from points that lie along it.

/// A diagonal of a box, where points lie near it.
pub(crate) struct Diagonal {
    from: [f64; 3],
    along: [f64; 3],
    /// 1 / the square of its length.
    per_square: f64,
    /// How far points are from it at most, and rounding.
    slack: f64,
}

impl Diagonal {
    /// Returns the diagonal of a box from a lowest to a highest corner; `falls` has a bit for each axis along which the
    /// diagonal falls.
    #[inline(always)]
    pub fn of([low, high]: [[f64; 3]; 2], falls: u32, per_square: f64, slack: f64) -> Self {
        let (mut from, mut along) = (low, [0.0; 3]);
        for axis in 0..3 {
            let is_falling = falls >> axis & 1 == 1;
            let (start, end) = (low[axis], high[axis]);
            from[axis] = if is_falling { end } else { start };
            along[axis] = if is_falling { start - end } else { end - start };
        }
        Self { from, along, per_square, slack }
    }

    /// Where it begins and ends.
    pub fn ends(&self) -> [[f64; 3]; 2] {
        [self.from, [0, 1, 2].map(|axis| self.from[axis] + self.along[axis])]
    }

    /// The square of the distance of a place.
    #[inline(always)]
    pub fn squared(&self, [x, y, z]: [f64; 3]) -> f64 {
        let [dx, dy, dz] = [x - self.from[0], y - self.from[1], z - self.from[2]];
        let [ax, ay, az] = self.along;
        let share = (dx * ax + dy * ay + dz * az) * self.per_square;
        let share = if share < 0.0 { 0.0 } else { share };
        let share = if share > 1.0 { 1.0 } else { share };
        let [dx, dy, dz] = [dx - share * ax, dy - share * ay, dz - share * az];
        dx * dx + dy * dy + dz * dz
    }

    /// Whether points near the diagonal are farther than `reach`, by the square of its distance.
    #[inline(always)]
    pub fn is_beyond(&self, squared: f64, reach: f64) -> bool {
        let reach = reach + self.slack;
        squared > reach * reach * (1.0 + 1e-12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_as_far_as_from_the_segment() {
        // From (0, 2, 0) to (4, 0, 0).
        let diagonal = Diagonal::of([[0.0; 3], [4.0, 2.0, 0.0]], 2, 1.0 / 20.0, 0.5);
        assert_eq!(diagonal.ends(), [[0.0, 2.0, 0.0], [4.0, 0.0, 0.0]]);
        let cases = [
            ([2.0, 1.0, 0.0], 0.0),
            ([3.0, 3.0, 0.0], 5.0),
            ([0.0, 5.0, 4.0], 25.0),
            ([5.0, -1.0, 0.0], 2.0),
        ];
        for (place, wanted) in cases {
            let squared = diagonal.squared(place);
            assert!((squared - wanted).abs() < 1e-12, "{place:?}: {squared}");
        }
        assert!(diagonal.is_beyond(25.0, 4.4) && !diagonal.is_beyond(25.0, 4.5));
    }
}
