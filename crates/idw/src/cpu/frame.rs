//! What the sums over all points share, directly and with the expansion: places in units, and the targets
//! of a chunk.

use super::index::Index;

/// Vectors of a chunk.
pub(super) const VECTORS: usize = 4;

/// The most targets of a chunk.
pub(super) const MOST: usize = VECTORS * 16;

/// Coordinates in units.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    centre: [f64; 2],
    pub scale: f64,
}

impl Frame {
    /// Relative to the middle of the points, or, to lose nothing that f64 has, as they are.
    pub fn of(index: &Index, single: bool) -> Self {
        let centre =
            index.data.ground.bounds.filter(|_| single).map_or([0.0; 2], |b| {
                [b.min_x / 2.0 + b.max_x / 2.0, b.min_y / 2.0 + b.max_y / 2.0]
            });
        Self { centre, scale: 1.0 / index.data.ground.unit() }
    }

    pub fn place(&self, x: f64, y: f64) -> [f64; 2] {
        [(x - self.centre[0]) * self.scale, (y - self.centre[1]) * self.scale]
    }
}

/// A chunk's places in units, and minus half its powers; the places beyond its end repeat its last.
pub(super) struct Chunk {
    pub x: [f64; MOST],
    pub y: [f64; MOST],
    /// On the sphere, where places are unit vectors.
    pub z: [f64; MOST],
    pub exponents: [f64; MOST],
    pub same_row: bool,
    /// Where each target leaves out the sorted point that it is: that of the first.
    pub left_out: Option<usize>,
}

impl Chunk {
    /// The box of the places: lowest and highest along each axis.
    pub fn bounds(&self) -> ([f64; 2], [f64; 2]) {
        let low = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = |all: &[f64]| all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        ([low(&self.x), low(&self.y)], [high(&self.x), high(&self.y)])
    }
}

/// The sums of a chunk: weights, then up to four weighted values.
pub(super) type Sums = [[f64; MOST]; 5];

/// Columns that are summed together for up to four of them: one, two or four, the rest zeros. A width of three would be
/// compiled once more for each law of the weights and each kind of vector.
pub(super) fn width(columns: usize) -> usize {
    columns.next_power_of_two()
}

/// Sums of nothing.
pub(super) const NO_SUMS: Sums = [[0.0; MOST]; 5];
