//! The tree on the sphere, of radius 1: distances are arcs.
//!
//! Plan, where it differs from the tree in the plane:
//!
//! 1. A point is its unit vector relative to the leaf's origin. Each coordinate is two numbers of f32, so places lose
//!    nothing and no error bound is tested. [`leaves`] writes them.
//! 2. An item has a chart around its middle (`spatial::chart`). The chart's axes are turned so that the item's box in
//!    it is small. An item above takes the nodes of its children as if they were points, and its box encloses these
//!    nodes: [`nodes`]. A node is a unit vector relative to the middle.
//! 3. As a function of a point's place, the weight `arc^-p` is not smooth at the target, nor at the target's antipode,
//!    where it has a cone. So an item is far if it is far from both. For places near an antipode, distances are
//!    measured from there: the arc is pi minus the arc to the antipode, which f32 keeps.
//! 4. The square of an arc is a polynomial of the square of the chord: of degree 3 for short chords, of degree 6 up to
//!    90 degrees. Longer arcs follow from the chord to the antipode: [`sum`].
//! 5. A leaf is summed in f64 if a target may be near it and also near its antipode, or if it holds a point that a
//!    target leaves out.

pub mod leaves;
pub mod nodes;
pub mod sum;

use device_std::vector::Vector;
use device_std::{Out, arguments};

/// The least distance of a far item from antipodes, in multiples of half the longer side of its box. The cone there is
/// faint: `docs/internals/idw.md`.
const FROM_ANTIPODE: f32 = 2.0;

/// The data points and the nodes, and the boxes of the items.
#[arguments]
pub struct Globe<'a> {
    /// Two vectors for each point, then for each node of each item. The first has the place relative to the middle of
    /// its item, and the weighted value. The second has the place's rest after rounding to f32, and the weight.
    pub sources: Out<'a, Vector>,
    /// For each item: the unit vector to the middle, and half of the longer side in the chart. Then for each leaf: the
    /// origin of its points, and the farthest distance of a point from it.
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

    /// Writes an element of the boxes; its reach is rounded up.
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

/// The coordinates of a place relative to an origin: each rounded to f32, and the rest.
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
