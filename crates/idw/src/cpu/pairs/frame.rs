//! What direct sums over all points share with expanded ones: scaled places, and the targets of a chunk.
//!
//! Places are not moved, only scaled by a power of two, so the difference of two places equals exactly the difference
//! of the given coordinates. Places relative to the middle of the points would have a rounding error in proportion to
//! the extent, and one outlier can make the extent any size.

use crate::cpu::index::Index;

/// Vectors of a chunk.
pub(crate) const VECTORS: usize = 4;

/// The most targets of a chunk.
pub(crate) const MOST: usize = VECTORS * 16;

/// Coordinates in units.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// The middle of the points, in units.
    middle: [f64; 2],
    /// Half the extent of the points along each axis, in units.
    pub half: [f64; 2],
    pub scale: f64,
}

impl Frame {
    pub fn of(index: &Index) -> Self {
        let scale = 1.0 / index.data.ground.unit();
        let b = index.data.ground.bounds;
        let half = |low: f64, high: f64| (high / 2.0 - low / 2.0) * scale;
        let middle = |low: f64, high: f64| (low / 2.0 + high / 2.0) * scale;
        Self {
            middle: b.map_or([0.0; 2], |b| [middle(b.min_x, b.max_x), middle(b.min_y, b.max_y)]),
            half: b.map_or([0.0; 2], |b| [half(b.min_x, b.max_x), half(b.min_y, b.max_y)]),
            scale,
        }
    }

    pub fn place(&self, x: f64, y: f64) -> [f64; 2] {
        [x * self.scale, y * self.scale]
    }

    /// Returns how far a scaled place is from the middle of the points along each axis, up to rounding: exact enough
    /// for bounds on distances.
    pub fn offset_from_middle(&self, x: f64, y: f64) -> [f64; 2] {
        [(x - self.middle[0]).abs(), (y - self.middle[1]).abs()]
    }
}

/// A chunk's places in units, and minus half its powers; the places beyond its end repeat its last.
pub(crate) struct Chunk {
    pub x: [f64; MOST],
    pub y: [f64; MOST],
    /// On the sphere, where places are unit vectors.
    pub z: [f64; MOST],
    pub exponents: [f64; MOST],
    pub same_row: bool,
    /// The sorted point that the first target leaves out, if each target leaves itself out; the next targets leave out
    /// the points behind it.
    pub left_out: Option<usize>,
}

impl Chunk {
    /// Sets the weight of a source to 0 for the target that leaves it out, if the source is a sorted point.
    #[inline(always)]
    pub fn leave_out(&self, sorted: Option<usize>, weights: &mut [f64; MOST]) {
        if let Some((point, first)) = sorted.zip(self.left_out)
            && let Some(weight) = weights.get_mut(point.wrapping_sub(first))
        {
            *weight = 0.0;
        }
    }

    /// Returns the box of the places: the lowest and the highest along each axis.
    pub fn bounds(&self) -> ([f64; 2], [f64; 2]) {
        let low = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = |all: &[f64]| all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        ([low(&self.x), low(&self.y)], [high(&self.x), high(&self.y)])
    }
}

/// The sums of a chunk: weights, then up to four weighted values.
pub(crate) type Sums = [[f64; MOST]; 5];

/// Columns that are summed together for up to four of them: one, two or four, the rest zeros. A width of three would be
/// compiled once more for each law of the weights and each kind of vector.
pub(crate) fn width(columns: usize) -> usize {
    columns.next_power_of_two()
}

/// Sums of nothing.
pub(crate) const NO_SUMS: Sums = [[0.0; MOST]; 5];
