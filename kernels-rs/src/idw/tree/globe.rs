//! The tree on the sphere, of radius 1: distances are arcs.
//!
//! Plan, where it differs from that of the plane:
//!
//! 1. A point is its unit vector relative to the leaf's origin, each coordinate in two numbers of f32: so places lose
//!    nothing, and no sum is in doubt. [`leaves`] writes them.
//! 2. An item has a chart around its middle (`spatial::chart`), its axes turned so that the item's box in it is small. An item above takes the
//!    nodes of its children as if they were points, and its box is that of these nodes: [`nodes`]. A node is a unit vector
//!    relative to the middle.
//! 3. As a function of a point's place the weight `arc^-p` is not smooth at the target, nor at the target's antipode,
//!    where it has a cone. So an item is far if it is far from both. What is near an antipode is seen from
//!    there: the arc is pi less that to the antipode, which f32 keeps.
//! 4. The square of an arc is a polynomial of that of the chord: of degree 3 where chords are short, else of degree 6 up
//!    to 90 degrees, and beyond by the antipode: [`sum`].
//! 5. A leaf that a target may be near to, and near to the antipode of, and one that holds a point which a target leaves
//!    out, is summed in f64.

pub mod leaves;
pub mod nodes;
pub mod sum;

use device_std::vector::Vector;
use device_std::{Out, arguments};

/// How far antipodes must be for an item to be far, in multiples of half the longer side of its box. The cone there is
/// faint: `docs/internals/idw.md`.
const FROM_ANTIPODE: f32 = 2.0;

/// The data points and the nodes, and the boxes of the items.
#[arguments]
pub struct Globe<'a> {
    /// Of each point, then of each node of each item, two vectors: the place relative to the middle of its item and the
    /// weighted value; what f32 leaves of the place, and the weight.
    pub sources: Out<'a, Vector>,
    /// Of each item: the unit vector to the middle and half of the longer side in the chart; then of each leaf: the
    /// origin of its points, and how far these are from it.
    pub boxes: Out<'a, Vector>,
    /// How many points there are.
    pub points: u32,
    /// How many items.
    pub items: u32,
}

impl Globe<'_> {
    /// An element of the boxes: a place, and half of the longer side or the reach.
    #[inline(always)]
    fn around(&self, at: u32) -> ([f32; 3], f32) {
        let [x, y, z, reach] = self.boxes.load(at);
        ([f32::from_bits(x), f32::from_bits(y), f32::from_bits(z)], f32::from_bits(reach))
    }

    /// Writes an element of the boxes; what it reaches is not rounded down.
    #[inline(always)]
    fn set_around(&self, at: u32, [x, y, z]: [f32; 3], reach: f64) {
        let reach = reach as f32 * 1.000_000_5;
        self.boxes.store(at, [x.to_bits(), y.to_bits(), z.to_bits(), reach.to_bits()]);
    }

    /// Writes a source.
    #[inline(always)]
    fn set_source(&self, at: usize, place: [f64; 3], [weight, value]: [f32; 2]) {
        let ([x, x_rest], [y, y_rest], [z, z_rest]) = parts(place);
        let first = [x.to_bits(), y.to_bits(), z.to_bits(), value.to_bits()];
        let second = [x_rest.to_bits(), y_rest.to_bits(), z_rest.to_bits(), weight.to_bits()];
        self.sources.store(2 * at, first);
        self.sources.store(2 * at + 1, second);
    }
}

/// The coordinates of a place relative to an origin, and what f32 leaves of each.
#[inline(always)]
fn parts([x, y, z]: [f64; 3]) -> ([f32; 2], [f32; 2], [f32; 2]) {
    use crate::idw::targets::split;
    (split(x), split(y), split(z))
}

/// A place relative to an origin.
#[inline(always)]
fn relative(place: [f64; 3], origin: [f32; 3]) -> [f64; 3] {
    [place[0] - origin[0] as f64, place[1] - origin[1] as f64, place[2] - origin[2] as f64]
}
