//! Exact geometric predicates in the plane.
//!
//! Plan of each: compute the determinant in f64, with a bound of its rounding error; where the bound does not decide,
//! compute it exactly.
//!
//! 1. **The bound** is half an ulp times the sum of the absolute products, times a count of the roundings that a product
//!    goes through (Shewchuk 1997, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates",
//!    doi:10.1007/PL00009321, section 4.3).
//! 2. **Short numbers**: all coordinates are multiples of one unit. Where the sum of the absolute products is below 2^52
//!    units to the power of the determinant's degree, every operation was exact, and so is the sign, or the zero. So it is
//!    on lattices.
//! 3. **Exactly**: [`exact`](super::exact), in 256 bits where differences of coordinates are short, else in 2048.
//!
//! Coordinates are at most 2^250 in magnitude, and multiples of a unit of at least 2^-250 with at most
//! [`MAX_BITS`](super::exact::MAX_BITS) bits. Then no operation in f64 overflows, and none rounds a number below the normal
//! ones. Multiplication by a power of two brings most clouds there, without a change of any sign.
//!
//! # Sites on one circle
//!
//! [`is_inside`](Predicates::is_inside) never ties: the site that comes first by x, then by y, counts as moved inwards by an
//! amount that is less than any number. In terms of the sites' heights on a paraboloid, whose lower hull is the Delaunay
//! triangulation, its height is lowered by an infinitesimal, the next site's by one that is infinitely less (Devillers and
//! Teillaud 2011, "Perturbations for Delaunay and weighted Delaunay 3D triangulations", doi:10.1016/j.comgeo.2010.09.010).
//! Four sites on one circle are never in line, so the first of them always decides. So a polygon of sites on an empty
//! circle is divided into a fan around its first corner.

use device_std::vector;

use super::exact::{Factor, Short, Sum};

/// Half an ulp of 1.
const HALF_ULP: f64 = 1.0 / (1u64 << 53) as f64;

/// Decides for coordinates of one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicates {
    /// The exponent of the unit.
    unit: i32,
    /// Sums of absolute products of two coordinates below this are exact.
    exact_areas: f64,
    /// Sums of absolute products of four.
    exact_circles: f64,
}

/// A place: x and y.
pub type Place = [f64; 2];

impl Predicates {
    /// For coordinates that are multiples of `2^unit`, with `unit` from -250 to 250.
    pub const fn new(unit: i32) -> Self {
        Self {
            unit,
            exact_areas: power_of_two(52 + 2 * unit),
            exact_circles: power_of_two(52 + 4 * unit),
        }
    }

    /// The exponent of the unit.
    pub const fn unit(&self) -> i32 {
        self.unit
    }

    /// On which side of the line from `a` to `b` the place `c` lies: 1 on the left, -1 on the right, 0 on the line.
    #[inline(always)]
    pub fn orientation(&self, a: Place, b: Place, c: Place) -> i32 {
        let (twice_area, sum) = area(a, b, c);
        if self.is_sure_of_area(twice_area, sum) {
            return sign(twice_area);
        }
        self.exact_orientation(a, b, c)
    }

    /// As [`orientation`](Self::orientation), if f64 tells.
    #[inline(always)]
    pub fn quick_orientation(&self, a: Place, b: Place, c: Place) -> Option<i32> {
        let (twice_area, sum) = area(a, b, c);
        self.is_sure_of_area(twice_area, sum).then(|| sign(twice_area))
    }

    /// Whether an area has the sign that f64 says.
    #[inline(always)]
    fn is_sure_of_area(&self, twice_area: f64, sum: f64) -> bool {
        // Two differences, a product and the last difference, each rounded, and the sum.
        twice_area.abs() > 4.0 * HALF_ULP * sum || sum < self.exact_areas
    }

    /// Whether `d` lies inside the circle through `a`, `b` and `c`, which turn counter-clockwise: 1 inside, -1 outside, 0 on
    /// it.
    #[inline(always)]
    pub fn in_circle(&self, a: Place, b: Place, c: Place, d: Place) -> i32 {
        let (determinant, sum) = circle(a, b, c, d);
        if self.is_sure_of_circle(determinant, sum) {
            return sign(determinant);
        }
        self.exact_in_circle([a, b, c, d])
    }

    /// As [`in_circle`](Self::in_circle), if f64 tells.
    #[inline(always)]
    pub fn quick_in_circle(&self, a: Place, b: Place, c: Place, d: Place) -> Option<i32> {
        let (determinant, sum) = circle(a, b, c, d);
        self.is_sure_of_circle(determinant, sum).then(|| sign(determinant))
    }

    /// Whether the determinant of a circle has the sign that f64 says.
    #[inline(always)]
    fn is_sure_of_circle(&self, determinant: f64, sum: f64) -> bool {
        // Four differences, two squares or products with a sum or difference each, the product of both, and two sums: 11.
        determinant.abs() > 16.0 * HALF_ULP * sum || sum < self.exact_circles
    }

    /// Whether `d` lies inside the circle through `a`, `b` and `c`, which turn counter-clockwise. Of four sites on one circle
    /// the first one by x, then by y, counts as moved inwards: see the [module](self). The four are different.
    #[inline(always)]
    pub fn is_inside(&self, a: Place, b: Place, c: Place, d: Place) -> bool {
        match self.in_circle(a, b, c, d) {
            0 => self.is_inside_if_first_moves(a, b, c, d),
            side => side > 0,
        }
    }

    /// Which of `a` and `b` is nearer to `p`: 1 if `a` is, -1 if `b` is, 0 if both are as near.
    #[inline(always)]
    pub fn nearer(&self, p: Place, a: Place, b: Place) -> i32 {
        let square = |q: Place| {
            let [x, y] = [q[0] - p[0], q[1] - p[1]];
            x * x + y * y
        };
        let (of_a, of_b) = (square(a), square(b));
        let (difference, sum) = (of_b - of_a, of_a + of_b);
        // Two differences, a square and a sum, and the last difference: 5.
        if difference.abs() > 8.0 * HALF_ULP * sum || sum < self.exact_areas {
            return sign(difference);
        }
        self.exact_nearer(p, a, b)
    }

    /// [`is_inside`](Self::is_inside) for four places on one circle.
    #[inline(always)]
    fn is_inside_if_first_moves(&self, a: Place, b: Place, c: Place, d: Place) -> bool {
        let is_first = |p: Place, others: [Place; 3]| {
            is_before(p, others[0]) && is_before(p, others[1]) && is_before(p, others[2])
        };
        if is_first(d, [a, b, c]) {
            return true;
        }
        // How the determinant falls with a height is the orientation of the other three.
        let [p, q] = if is_first(a, [b, c, d]) {
            [b, c]
        } else if is_first(b, [a, c, d]) {
            [c, a]
        } else {
            [a, b]
        };
        self.orientation(p, q, d) < 0
    }

    #[cold]
    #[inline(never)]
    fn exact_orientation(&self, a: Place, b: Place, c: Place) -> i32 {
        if let (Some(b), Some(c)) = (exact_way(a, b), exact_way(a, c))
            && let Some(short) = Short::of([b, c])
        {
            return short.side();
        }
        let mut sum = Sum::zero();
        let places = [self.factors(a), self.factors(b), self.factors(c)];
        add_triangle(&mut sum, places, [Factor::ONE, Factor::ONE]);
        sum.sign()
    }

    #[cold]
    #[inline(never)]
    fn exact_in_circle(&self, places: [Place; 4]) -> i32 {
        let [a, b, c, d] = places;
        let [a, b, c, d] = match (exact_way(d, a), exact_way(d, b), exact_way(d, c)) {
            (Some(a), Some(b), Some(c)) => {
                if let Some(short) = Short::of([a, b, c]) {
                    return short.in_circle();
                }
                // Relative to `d` most products are 0, and cost nothing.
                [a, b, c, [0.0; 2]]
            }
            _ => places,
        };
        let mut rows = [self.factors(a), self.factors(b), self.factors(c), self.factors(d)];
        // The determinant of four rows x, y, x^2 + y^2, 1, by its third column. Each turn of the rows changes the sign.
        let mut sum = Sum::zero();
        let mut i = 0;
        while i < vector::unknown(4) {
            let [lifted, p, q, r] = rows;
            let mut k = 0;
            while k < vector::unknown(2) {
                let length = if k == 0 { lifted[0] } else { lifted[1] };
                let signed = if i % 2 == 0 { length } else { length.negated() };
                add_triangle(&mut sum, [p, q, r], [length, signed]);
                k += 1;
            }
            rows = [p, q, r, lifted];
            i += 1;
        }
        sum.sign()
    }

    #[cold]
    #[inline(never)]
    fn exact_nearer(&self, p: Place, a: Place, b: Place) -> i32 {
        if let (Some(a), Some(b)) = (exact_way(p, a), exact_way(p, b))
            && let Some(short) = Short::of([a, b])
        {
            return short.nearer();
        }
        let mut sum = Sum::zero();
        let [p, a, b] = [self.factors(p), self.factors(a), self.factors(b)];
        let mut i = 0;
        while i < vector::unknown(4) {
            // Of x, then of y: b^2 - 2 b p, then -a^2 + 2 a p.
            let of = |place: [Factor; 2]| if i % 2 == 0 { place[0] } else { place[1] };
            let (p, place) = (of(p), of(if i < 2 { b } else { a }));
            let (plus, minus) = (place, place.negated());
            let (square, product) = if i < 2 { (plus, minus) } else { (minus, plus) };
            let mut k = 0;
            while k < vector::unknown(2) {
                let [first, second, factor] =
                    if k == 0 { [square, place, Factor::ONE] } else { [product, p, Factor::TWO] };
                sum.add([first, second, factor, Factor::ONE]);
                k += 1;
            }
            i += 1;
        }
        sum.sign()
    }

    #[inline(always)]
    fn factors(&self, [x, y]: Place) -> [Factor; 2] {
        [Factor::of(x, self.unit), Factor::of(y, self.unit)]
    }
}

/// Twice the area of a triangle, rounded, and the sum of its products' magnitudes.
#[inline(always)]
fn area(a: Place, b: Place, c: Place) -> (f64, f64) {
    let left = (a[0] - c[0]) * (b[1] - c[1]);
    let right = (a[1] - c[1]) * (b[0] - c[0]);
    (left - right, left.abs() + right.abs())
}

/// The determinant that tells whether `d` is inside the circle of the others, rounded, and the sum of its products' magnitudes.
#[inline(always)]
fn circle(a: Place, b: Place, c: Place, d: Place) -> (f64, f64) {
    let [ax, ay] = [a[0] - d[0], a[1] - d[1]];
    let [bx, by] = [b[0] - d[0], b[1] - d[1]];
    let [cx, cy] = [c[0] - d[0], c[1] - d[1]];
    let lifts = [ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy];
    let left = [bx * cy, cx * ay, ax * by];
    let right = [by * cx, cy * ax, ay * bx];
    let term = |i: usize| lifts[i] * (left[i] - right[i]);
    let size = |i: usize| lifts[i] * (left[i].abs() + right[i].abs());
    (term(0) + term(1) + term(2), size(0) + size(1) + size(2))
}

/// Whether a place comes before another one: by x, then by y.
#[inline(always)]
pub fn is_before(a: Place, b: Place) -> bool {
    a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

/// 2 to that power, or to the power of 1000 where that is less: a lower limit is always allowed.
const fn power_of_two(exponent: i32) -> f64 {
    let exponent = if exponent > 1000 { 1000 } else { exponent };
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[inline(always)]
fn sign(value: f64) -> i32 {
    (value > 0.0) as i32 - (value < 0.0) as i32
}

/// The way from one place to another, where f64 has it exactly.
#[inline(always)]
fn exact_way(from: Place, to: Place) -> Option<Place> {
    let [x, error_x] = difference(to[0], from[0]);
    let [y, error_y] = difference(to[1], from[1]);
    (error_x == 0.0 && error_y == 0.0).then_some([x, y])
}

/// The difference of two numbers, rounded, and what rounding left out (Knuth 1969, "Seminumerical algorithms", 4.2.2).
#[inline(always)]
fn difference(a: f64, b: f64) -> [f64; 2] {
    let rounded = a - b;
    let of_b = a - rounded;
    let of_a = rounded + of_b;
    [rounded, (a - of_a) + (of_b - b)]
}

/// Adds twice the area of a triangle, times two factors. The loops stay loops on a GPU: their body is long.
#[inline(always)]
fn add_triangle(sum: &mut Sum, mut corners: [[Factor; 2]; 3], [s, t]: [Factor; 2]) {
    let mut i = 0;
    while i < vector::unknown(3) {
        let [p, q, r] = corners;
        let mut k = 0;
        while k < vector::unknown(2) {
            let [u, v] = if k == 0 { [p[0], q[1]] } else { [p[1].negated(), q[0]] };
            sum.add([u, v, s, t]);
            k += 1;
        }
        corners = [q, r, p];
        i += 1;
    }
}
