//! The order of places along Hilbert's curve, by which both back ends sort the points of a tile and the
//! targets of a block: what is near in the order is near on the ground.

use crate::cells::bulk;

/// Hilbert's curve over a square of `2^16` by `2^16` cells. Places beyond it belong to the nearest cell of
/// its edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    pub west: f64,
    pub south: f64,
    pub per_unit: f64,
}

/// Bits of a place along each axis.
const BITS: u32 = 16;

impl Curve {
    /// The curve for places. A few of them far from all others do not make the cells large.
    pub fn of(x: &[f64], y: &[f64]) -> Self {
        if x.is_empty() {
            return Self::default();
        }
        let (west, east) = bulk(x, lowest(x), -lowest_of(x, |x| -x));
        let (south, north) = bulk(y, lowest(y), -lowest_of(y, |y| -y));
        let per_unit = f64::from(1u32 << BITS) / f64::max(east - west, north - south);
        Self { west, south, per_unit: if per_unit.is_finite() { per_unit } else { 0.0 } }
    }

    /// Where a place comes along the curve.
    pub fn number(&self, x: f64, y: f64) -> u32 {
        let last = f64::from((1u32 << BITS) - 1);
        // As a cast does: what is below 0, or no number, becomes 0.
        let along = |offset: f64| (offset * self.per_unit).floor().clamp(0.0, last) as u32;
        hilbert(along(x - self.west), along(y - self.south))
    }

    /// The indices of places in the order of the curve, stable.
    pub fn order(&self, count: usize, place: impl Fn(usize) -> (f64, f64) + Sync) -> Vec<u32> {
        use rayon::prelude::*;
        let keyed = |i: usize| {
            let (x, y) = place(i);
            u64::from(self.number(x, y)) << 32 | i as u64
        };
        let mut keys: Vec<u64> = (0..count).into_par_iter().map(keyed).collect();
        keys.par_sort_unstable();
        keys.into_par_iter().map(|key| key as u32).collect()
    }
}

fn lowest(column: &[f64]) -> f64 {
    lowest_of(column, |x| x)
}

fn lowest_of(column: &[f64], of: fn(f64) -> f64) -> f64 {
    column.iter().fold(f64::INFINITY, |low, &x| low.min(of(x)))
}

/// The number of a cell: from the largest quarters down, two bits for the quarter in the order in which
/// the curve enters them, the square turned or mirrored so that its entry lies in the south-west.
fn hilbert(mut x: u32, mut y: u32) -> u32 {
    let mut number = 0;
    for bit in (0..BITS).rev() {
        let (right, upper) = (x >> bit & 1, y >> bit & 1);
        number = number << 2 | ((3 * right) ^ upper);
        if upper == 0 {
            if right == 1 {
                (x, y) = (!x, !y);
            }
            (x, y) = (y, x);
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_follow_each_other_touch() {
        // The first 32 x 32 cells of the curve.
        let mut cells: Vec<(u32, u32, u32)> =
            (0..32).flat_map(|x| (0..32).map(move |y| (hilbert(x, y), x, y))).collect();
        cells.sort_unstable();
        for (i, pair) in cells.windows(2).enumerate() {
            assert_eq!(pair[0].0, i as u32);
            assert_eq!(pair[0].1.abs_diff(pair[1].1) + pair[0].2.abs_diff(pair[1].2), 1);
        }
    }

    #[test]
    fn places_beyond_the_curve_belong_to_its_edge() {
        let curve = Curve::of(&[0.0, 10.0], &[5.0, 5.0]);
        assert_eq!(curve.number(-1e300, 5.0), curve.number(0.0, 5.0));
        assert_eq!(curve.number(1e300, 5.0), curve.number(10.0, 5.0));
        assert_eq!(Curve::of(&[3.0], &[4.0]).number(3.0, 4.0), 0);
        assert_eq!(Curve::of(&[], &[]).number(3.0, 4.0), 0);
    }
}
