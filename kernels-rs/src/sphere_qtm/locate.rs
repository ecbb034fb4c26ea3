//! From a place to the cell that it lies in.
//!
//! A place `p` in a cell is `p = u a + v b + w c` with weights that are not negative; in an octant they are the
//! coordinates themselves. The plane through the midpoints of two edges holds `a + b` and `a + c`. So `p` lies in the
//! child at `a` exactly if `u > v + w`, whatever the lengths. The weights in a child follow from those in its parent by
//! the cosines of half its parent's edges, since the midpoint of `a` and `b` is `(a + b) / (2 cos(ab / 2))`. These
//! cosines follow from level to level too, so no vertex is computed.
//!
//! Below level [`FLAT`] a cell is so small that such a cosine differs from 1 by a quarter of its parent's difference,
//! to the last place.
//!
//! Work: some 65 operations in f64 a level above, 15 below.

use device_std::math;

use super::triangle::Vector;
use crate::spatial::sphere;

/// The level from which on cells are divided as if they were flat.
pub const FLAT: u32 = 13;

/// The result for coordinates that are not on the globe ([`is_on_globe`]).
pub const NOWHERE: u64 = u64::MAX;

/// A place within a cell.
#[derive(Clone, Copy)]
struct Within {
    /// The weights of the vertices.
    weights: Vector,
    /// The cosine of half of each edge, by the vertex that lies opposite.
    cosines: Vector,
}

/// The index, in its level, of the cell that a direction points to. The direction need not have length 1.
///
/// A place on the border of children belongs to the middle one. A place on the border of octants belongs to the
/// northern and the eastern one: longitude -180 is 180. A pole is in the first octant of its side.
#[inline(always)]
pub fn locate(direction: Vector, level: u32) -> u64 {
    let (octant, weights) = in_octant(direction);
    let mut within = Within { weights, cosines: OCTANT };
    let mut index = octant as u64;
    let mut step = 0;
    while step < level {
        let digit = within.digit();
        index = index << 2 | digit as u64;
        within = within.in_child(digit, step >= FLAT);
        step += 1;
    }
    index
}

/// The octant that a direction points to, and the weights of its vertices.
#[inline(always)]
pub fn in_octant([x, y, z]: Vector) -> (u32, Vector) {
    let quarter = quarter(x, y);
    let octant = quarter + if z < 0.0 { 4 } else { 0 };
    let (x, y, z) = (magnitude(x), magnitude(y), magnitude(z));
    (octant, if quarter & 1 == 0 { [z, x, y] } else { [z, y, x] })
}

/// The cosines of half the edges of an octant.
const OCTANT: Vector = [core::f64::consts::FRAC_1_SQRT_2; 3];

/// The cosines of half the edges of a cell `levels` below an octant, by its place in it.
#[inline(always)]
pub fn cosines(levels: u32, index: u32) -> Vector {
    let mut within = Within { weights: [0.0; 3], cosines: OCTANT };
    let mut left = levels;
    while left > 0 {
        left -= 1;
        within.cosines = within.finer(index >> (2 * left) & 3);
    }
    within.cosines
}

/// The quarter of the globe, from longitude 0 eastward; each has its western edge.
#[inline(always)]
fn quarter(x: f64, y: f64) -> u32 {
    if x > 0.0 && y >= 0.0 {
        0
    } else if x <= 0.0 && y > 0.0 {
        1
    } else if x < 0.0 {
        2
    } else if y < 0.0 {
        3
    } else {
        0
    }
}

#[inline(always)]
fn magnitude(x: f64) -> f64 {
    if x < 0.0 { -x } else { x }
}

impl Within {
    /// Which child the place is in.
    #[inline(always)]
    fn digit(&self) -> u32 {
        let [u, v, w] = self.weights;
        if u > v + w {
            1
        } else if v > w + u {
            2
        } else if w > u + v {
            3
        } else {
            0
        }
    }

    /// The same place within that child.
    #[inline(always)]
    fn in_child(&self, digit: u32, flat: bool) -> Self {
        let ([u, v, w], [p, q, r]) = (self.weights, self.cosines);
        // In a child at a corner, the corner's weight is its own less the two others'. The others double, times the
        // cosine of the edge to the corner. In the middle child a weight is the two others less its own, times the
        // cosine of the opposite edge.
        let at = |own: f64, others: f64, opposite: f64, corner: u32, to_corner: f64| {
            if digit == 0 {
                opposite * (others - own)
            } else if digit == corner {
                own - others
            } else {
                2.0 * to_corner * own
            }
        };
        let weights = [
            at(u, v + w, p, 1, if digit == 2 { r } else { q }),
            at(v, w + u, q, 2, if digit == 1 { r } else { p }),
            at(w, u + v, r, 3, if digit == 1 { q } else { p }),
        ];
        Self { weights, cosines: if flat { flatter(self.cosines) } else { self.finer(digit) } }
    }

    /// The cosines of half the edges of a child.
    #[inline(always)]
    fn finer(&self, digit: u32) -> Vector {
        let [p, q, r] = self.cosines;
        // The cosine of the arc between two midpoints is the scalar product of their sums, over the sums' lengths. The
        // parent's half-edge cosines give it.
        let share = (p * p + q * q + r * r - 1.0) * 0.5 / (p * q * r);
        let at = |own: f64, corner: u32| {
            let inner = digit == 0 || digit == corner;
            let cosine = if inner { share * own } else { own };
            math::sqrt(0.5 + 0.5 * cosine)
        };
        [at(p, 1), at(q, 2), at(r, 3)]
    }
}

/// The cosines of half the edges of a child whose parent's edges are short.
#[inline(always)]
fn flatter([p, q, r]: Vector) -> Vector {
    [1.0 - (1.0 - p) * 0.25, 1.0 - (1.0 - q) * 0.25, 1.0 - (1.0 - r) * 0.25]
}

/// The same for degrees; [`NOWHERE`] if they are not on the globe.
#[inline(always)]
pub fn locate_degrees(longitude: f64, latitude: f64, level: u32) -> u64 {
    if !is_on_globe(longitude, latitude) {
        return NOWHERE;
    }
    locate(sphere::unit_vector(longitude, latitude), level)
}

/// Whether degrees name a place: longitudes from -360 to 360, latitudes from -90 to 90. Greater longitudes are mostly
/// metres, given as degrees by mistake.
#[inline(always)]
pub fn is_on_globe(longitude: f64, latitude: f64) -> bool {
    (-360.0..=360.0).contains(&longitude) && (-90.0..=90.0).contains(&latitude)
}
