//! How points are sorted: along Hilbert's curve, by host and device, or on the host by the cells of a uniform grid, to
//! search neighbours among them. A run of points along the curve covers a small piece of ground.
//!
//! A few points far from all others must make neither the cells nor the curve's squares large. So both are laid over
//! the bulk of the points, which a sample tells. Points beyond belong to the nearest cell of an edge.

use crate::spatial::cells::Cells;
use crate::spatial::hilbert;
use device_std::math;

/// The most points that a sample has.
pub const SAMPLE: u64 = 4096;

/// In a smaller sample the bulk is the whole.
const LEAST_SAMPLE: u64 = 100;

/// Points of a cell, on average.
const POINTS_OF_CELL: f64 = 2.0;

/// The most cells in the bulk, about.
const MAX_CELLS: f64 = 4_194_304.0;

/// Bits of a place along each axis of the curve.
const CURVE_BITS: u32 = 16;

/// Elements of the sample of `count` places.
#[inline(always)]
pub fn sample_len(count: u64) -> u64 {
    u64::min(count, SAMPLE)
}

/// Returns the place, among `count`, that is element `k` of their sample. Multiples of the golden ratio spread the
/// elements evenly, since places may come from several regions in turn.
#[inline(always)]
pub fn sampled(k: u64, count: u64) -> u64 {
    if count <= SAMPLE {
        return k;
    }
    let spread = k.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((spread as u128 * count as u128) >> 64) as u64
}

/// Which elements of a sorted sample bound the bulk: those a hundredth from either end; in small samples the first and
/// the last. The sample is not empty.
#[inline(always)]
pub fn ranks(sample: u64) -> [u64; 2] {
    let last = sample - 1;
    if sample < LEAST_SAMPLE {
        return [0, last];
    }
    let at = |share: f64| (last as f64 * share) as u64;
    [at(0.01), at(0.99)]
}

/// The bulk along an axis: the range of the elements at the ranks, a quarter wider on each side, within the whole.
#[inline(always)]
pub fn bulk([low, high]: [f64; 2], sample: u64, [min, max]: [f64; 2]) -> [f64; 2] {
    let margin = if sample < LEAST_SAMPLE { 0.0 } else { (high - low) * 0.25 };
    [f64::max(min, low - margin), f64::min(max, high + margin)]
}

/// The squares that places are numbered by along Hilbert's curve: `2^16` by `2^16`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Curve {
    /// x of the western edge.
    pub west: f64,
    /// y of the southern edge.
    pub south: f64,
    /// 1 / side of a square; 0 for places without extent.
    pub per_unit: f64,
}

impl Curve {
    /// Over the bulk along x and y.
    #[inline(always)]
    pub fn over([west, east]: [f64; 2], [south, north]: [f64; 2]) -> Self {
        let per_unit = (1u32 << CURVE_BITS) as f64 / f64::max(east - west, north - south);
        let is_number = per_unit > 0.0 && per_unit < f64::INFINITY;
        Self { west, south, per_unit: if is_number { per_unit } else { 0.0 } }
    }

    /// How far along the curve a place lies.
    #[inline(always)]
    pub fn number(&self, x: f64, y: f64) -> u32 {
        let side = 1 << CURVE_BITS;
        let Self { west, south, per_unit } = *self;
        let cells = Cells { west, south, side: 0.0, per_unit, columns: side, rows: side };
        hilbert::number::<CURVE_BITS>(cells.column(x), cells.row(y)) as u32
    }
}

/// The most cells of a grid for `points` points.
#[inline(always)]
pub fn most_cells(points: u64) -> u64 {
    2 * cells_of(points) as u64 + 2
}

/// Cells in the bulk of `points` points, about.
#[inline(always)]
#[allow(clippy::manual_clamp)] // `clamp` has a panic path
fn cells_of(points: u64) -> f64 {
    f64::max(1.0, f64::min(points as f64 / POINTS_OF_CELL, MAX_CELLS))
}

/// The cells to search `points` points by, over their bulk along x and y.
#[inline(always)]
pub fn cells_over([west, east]: [f64; 2], [south, north]: [f64; 2], points: u64) -> Cells {
    let (width, height) = (east - west, north - south);
    let cells = cells_of(points);
    // On a line the area says nothing.
    let of_area = math::sqrt(width * height / cells);
    let side = f64::max(of_area, f64::max(width, height) / cells);
    let whole = Cells { west, south, side: 1.0, per_unit: 1.0, columns: 1, rows: 1 };
    if !(side > 0.0 && side < f64::INFINITY) {
        return whole;
    }
    let along = |length: f64| f64::min(math::floor(length / side) + 1.0, 2.0 * MAX_CELLS) as u32;
    let (columns, rows) = (along(width), along(height));
    if columns as u64 * rows as u64 > most_cells(points) {
        return whole;
    }
    Cells { west, south, side, per_unit: 1.0 / side, columns, rows }
}

/// The grid and the curve by which points are sorted and searched; it lies in device memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Plan {
    /// The curve.
    pub curve: Curve,
    west: f64,
    south: f64,
    side: f64,
    columns: u32,
    rows: u32,
}

impl Plan {
    /// For `points` points with this bulk; on the sphere columns go around it.
    #[inline(always)]
    pub fn new(x: [f64; 2], y: [f64; 2], points: u64, geographic: bool) -> Self {
        let around = if geographic { [-180.0, 180.0] } else { x };
        let Cells { west, south, side, columns, rows, .. } = cells_over(around, y, points);
        Self { curve: Curve::over(x, y), west, south, side, columns, rows }
    }

    /// The cells.
    #[inline(always)]
    pub fn cells(&self) -> Cells {
        let Self { west, south, side, columns, rows, .. } = *self;
        Cells { west, south, side, per_unit: 1.0 / side, columns, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_cells_than_there_is_room_for() {
        for points in [0, 1, 2, 3, 100, 10_001, 1 << 23, 1 << 30] {
            for (width, height) in
                [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (1e6, 1.0), (1e-300, 1e300), (1e308, 1e308)]
            {
                for (x, y) in [([0.0, width], [0.0, height]), ([-height, 0.0], [7.0, 7.0 + width])]
                {
                    let cells = cells_over(x, y, points);
                    assert!(cells.len() <= most_cells(points), "{points}: {cells:?}");
                    assert!(cells.columns > 0 && cells.rows > 0 && cells.side > 0.0);
                }
            }
        }
    }

    #[test]
    fn places_beyond_the_curve_belong_to_its_edge() {
        let curve = Curve::over([0.0, 10.0], [5.0, 5.0]);
        assert_eq!(curve.number(-1e300, 5.0), curve.number(0.0, 5.0));
        assert_eq!(curve.number(1e300, 5.0), curve.number(10.0, 5.0));
        assert_eq!(Curve::over([3.0, 3.0], [4.0, 4.0]).number(3.0, 4.0), 0);
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let _ = curve.number(x, x);
            let odd = Curve::over([x, 3.0], [x, x]);
            assert!(odd.per_unit.is_finite());
        }
    }
}
