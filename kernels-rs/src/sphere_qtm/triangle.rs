//! The cells of the mesh as spherical triangles, in f64 with the same bits on every back end.
//!
//! Level 0 has the eight faces of the octahedron. A cell `(a, b, c)` has four children. Digit 0 is the middle one, of
//! the midpoints of its edges; digits 1, 2 and 3 are those at `a`, `b` and `c`. A vertex of a child has the position
//! (first, second or third) of the parent's vertex that it is, or lies opposite to.

use device_std::math;

/// A vector of length 1: x towards longitude 0, y towards 90 degrees east, z towards the north pole.
pub type Vector = [f64; 3];

/// A cell: its vertices, counterclockwise from outside in the north, clockwise in the south.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Triangle {
    /// In an octant the pole.
    pub a: Vector,
    /// In an octant the western vertex.
    pub b: Vector,
    /// In an octant the eastern vertex.
    pub c: Vector,
}

/// The scalar product.
#[inline(always)]
pub fn dot(u: Vector, v: Vector) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}

/// The vector product.
#[inline(always)]
pub fn cross(u: Vector, v: Vector) -> Vector {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

/// The sum.
#[inline(always)]
pub fn add(u: Vector, v: Vector) -> Vector {
    [u[0] + v[0], u[1] + v[1], u[2] + v[2]]
}

/// The vector of length 1 in this direction.
#[inline(always)]
pub fn unit(v: Vector) -> Vector {
    let scale = 1.0 / math::sqrt(dot(v, v));
    [v[0] * scale, v[1] * scale, v[2] * scale]
}

/// The middle of the arc between two places. Swapping them changes no bit, so cells that share an edge share its
/// middle.
#[inline(always)]
pub fn midpoint(u: Vector, v: Vector) -> Vector {
    unit(add(u, v))
}

#[inline(always)]
fn choose(condition: bool, u: Vector, v: Vector) -> Vector {
    [
        if condition { u[0] } else { v[0] },
        if condition { u[1] } else { v[1] },
        if condition { u[2] } else { v[2] },
    ]
}

impl Triangle {
    /// A face of the octahedron: 0 to 3 are those of the north from longitude 0 eastward, 4 to 7 those
    /// of the south.
    #[inline(always)]
    pub fn octant(octant: u32) -> Self {
        let pole = if octant < 4 { 1.0 } else { -1.0 };
        Self { a: [0.0, 0.0, pole], b: equator(octant), c: equator(octant + 1) }
    }

    /// The child with this digit.
    #[inline(always)]
    pub fn child(&self, digit: u32) -> Self {
        let Self { a, b, c } = *self;
        let (bc, ca, ab) = (midpoint(b, c), midpoint(c, a), midpoint(a, b));
        Self {
            a: choose(digit == 1, a, choose(digit == 2, ab, choose(digit == 3, ca, bc))),
            b: choose(digit == 2, b, choose(digit == 1, ab, choose(digit == 3, bc, ca))),
            c: choose(digit == 3, c, choose(digit == 1, ca, choose(digit == 2, bc, ab))),
        }
    }

    /// The four children, by digit.
    #[inline(always)]
    pub fn children(&self) -> [Self; 4] {
        let Self { a, b, c } = *self;
        let (bc, ca, ab) = (midpoint(b, c), midpoint(c, a), midpoint(a, b));
        [
            Self { a: bc, b: ca, c: ab },
            Self { a, b: ab, c: ca },
            Self { a: ab, b, c: bc },
            Self { a: ca, b: bc, c },
        ]
    }

    /// The cell with index `index` in its level.
    #[inline(always)]
    pub fn of_index(level: u32, index: u64) -> Self {
        Self::octant((index >> (2 * level)) as u32).descendant(level, index)
    }

    /// The descendant `levels` below, by the digits that its index ends with.
    #[inline(always)]
    pub fn descendant(self, levels: u32, index: u64) -> Self {
        let mut triangle = self;
        let mut left = levels;
        while left > 0 {
            left -= 1;
            triangle = triangle.child((index >> (2 * left)) as u32 & 3);
        }
        triangle
    }

    /// Its centre: the direction of the sum of its vertices.
    #[inline(always)]
    pub fn centre(&self) -> Vector {
        unit(add(add(self.a, self.b), self.c))
    }
}

/// The vertex of the octahedron on the equator at 90 degrees times `quarter`.
#[inline(always)]
fn equator(quarter: u32) -> Vector {
    let turn = quarter & 3;
    let x = if turn == 0 { 1.0 } else { -1.0 };
    let y = if turn == 1 { 1.0 } else { -1.0 };
    if turn & 1 == 0 { [x, 0.0, 0.0] } else { [0.0, y, 0.0] }
}
