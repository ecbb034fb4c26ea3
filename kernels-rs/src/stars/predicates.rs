//! Exact geometric predicates in the plane.
//!
//! Plan of each: compute the determinant in f64, with a bound of its rounding error. If the bound does not decide,
//! compute it exactly.
//!
//! 1. **The bound** is half an ulp times the sum of the absolute products, times the number of roundings that a product
//!    undergoes. (Shewchuk 1997, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates",
//!    doi:10.1007/PL00009321, section 4.3.)
//! 2. **Short numbers**: all coordinates are multiples of one unit. If the sum of the absolute products is below 2^52
//!    units to the power of the determinant's degree, every operation was exact, and so is the sign, or the zero.
//!    Lattices are such a case.
//! 3. **Exactly**: [`exact`](super::exact), in 256 bits if differences of coordinates are short, else in 2048.
//!
//! Coordinates are at most 2^250 in magnitude, and multiples of a unit of at least 2^-250 with at most
//! [`MAX_BITS`](super::exact::MAX_BITS) bits. Then no operation in f64 overflows, and none rounds a subnormal number.
//! Multiplication by a power of two makes most clouds such, without a change of any sign.
//!
//! # Sites on one circle
//!
//! [`is_inside`](Predicates::is_inside) never ties: the site that comes first by x, then by y, counts as moved inwards
//! by an amount that is less than any number. The Delaunay triangulation is the lower hull of the sites lifted to a
//! paraboloid. In these terms the rule lowers the first site's height by an infinitesimal, and the next site's by an
//! infinitely smaller one. (Devillers and Teillaud 2011, "Perturbations for Delaunay and weighted Delaunay 3D
//! triangulations", doi:10.1016/j.comgeo.2010.09.010.) Four sites on one circle are never on one line, so the first of
//! them always decides. So a polygon of sites on an empty circle is divided into a fan around its first corner.

use core::convert::Infallible;

use device_std::{math, vector};

use super::angles::{square, way};
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

/// Decides signs: always, as [`Predicates`] do, or only where f64 tells, as [`Quick`] does. Every decision is right.
///
/// Exact decisions are calls, and a GPU's thread saves its registers around each. A kernel without them keeps its
/// numbers in registers, and leaves what f64 does not decide to another kernel.
pub trait Decide: Copy {
    /// Why there may be no decision.
    type Undecided;
    /// Whether there always is one.
    const IS_EXACT: bool;

    /// The predicates for these coordinates.
    fn predicates(&self) -> &Predicates;

    /// Decides if f64 does not tell.
    fn settle(&self, exact: impl FnOnce(&Predicates) -> i32) -> Decided<f64, Self>;

    /// A number with the sign of [`Predicates::orientation`].
    #[inline(always)]
    fn side(&self, a: Place, b: Place, c: Place) -> Decided<f64, Self> {
        let (twice_area, sum) = area(a, b, c);
        match self.predicates().is_sure_of_area(twice_area, sum) {
            true => Ok(twice_area),
            false => self.settle(|exact| exact.exact_orientation(a, b, c)),
        }
    }

    /// A number with the sign of [`Predicates::in_circle`]. It takes three corners as seen from `d`, and the turns of
    /// their pairs: from `b` to `c`, from `c` to `a`, and from `a` to `b`. `places` gives all four.
    #[inline(always)]
    fn seen_in_circle(
        &self,
        corners: [&Seen; 3],
        turns: [Turn; 3],
        places: impl FnOnce() -> [Place; 4],
    ) -> Decided<f64, Self> {
        let (determinant, sum) = circle(corners, turns);
        match self.predicates().is_sure_of_circle(determinant, sum) {
            true => Ok(determinant),
            false => self.settle(|exact| exact.exact_in_circle(places())),
        }
    }

    /// A number with the sign of [`Predicates::in_circle`], for four sites.
    #[inline(always)]
    fn site_in_circle(&self, places: [Place; 4]) -> Decided<f64, Self> {
        let [a, b, c, d] = places;
        let [of_a, of_b, of_c] = [a, b, c].map(|corner| Seen::from(d, corner));
        let turns = [Turn::of(&of_b, &of_c), Turn::of(&of_c, &of_a), Turn::of(&of_a, &of_b)];
        let (determinant, sum) = circle([&of_a, &of_b, &of_c], turns);
        if self.predicates().is_sure_of_circle(determinant, sum) {
            return Ok(determinant);
        }
        match is_rectangle(places) {
            true => Ok(0.0),
            false => self.settle(|exact| exact.exact_in_circle(places)),
        }
    }

    /// As [`Predicates::is_inside`].
    #[inline(always)]
    fn is_within(&self, [a, b, c]: [Place; 3], d: Place) -> Decided<bool, Self> {
        let side = self.site_in_circle([a, b, c, d])?;
        if side != 0.0 {
            return Ok(side > 0.0);
        }
        let is_first = |p: Place, others: [Place; 3]| {
            is_before(p, others[0]) && is_before(p, others[1]) && is_before(p, others[2])
        };
        if is_first(d, [a, b, c]) {
            return Ok(true);
        }
        // How the determinant falls with a height is the orientation of the other three.
        let [p, q] = if is_first(a, [b, c, d]) {
            [b, c]
        } else if is_first(b, [a, c, d]) {
            [c, a]
        } else {
            [a, b]
        };
        Ok(self.side(p, q, d)? < 0.0)
    }

    /// A number with the sign of [`Predicates::nearer`], for two places as seen from `p`. `places` gives all three.
    #[inline(always)]
    fn seen_nearer(
        &self,
        a: &Seen,
        b: &Seen,
        places: impl FnOnce() -> [Place; 3],
    ) -> Decided<f64, Self> {
        let (difference, sum) = (b.squared - a.squared, a.squared + b.squared);
        match self.predicates().is_sure_of_nearer(difference, sum) {
            true => Ok(difference),
            false => self.settle(|exact| {
                let [p, a, b] = places();
                exact.exact_nearer(p, a, b)
            }),
        }
    }
}

/// The result of decisions, if there are any.
pub type Decided<T, D> = Result<T, <D as Decide>::Undecided>;

/// The result of exact decisions.
#[inline(always)]
pub fn sure<T>(decided: Decided<T, Predicates>) -> T {
    let Ok(value) = decided;
    value
}

impl Decide for Predicates {
    type Undecided = Infallible;
    const IS_EXACT: bool = true;

    #[inline(always)]
    fn predicates(&self) -> &Predicates {
        self
    }

    #[inline(always)]
    fn settle(&self, exact: impl FnOnce(&Predicates) -> i32) -> Decided<f64, Self> {
        Ok(exact(self) as f64)
    }
}

/// Decides where f64 tells.
#[derive(Clone, Copy, Debug)]
pub struct Quick(pub Predicates);

impl From<Predicates> for Quick {
    fn from(predicates: Predicates) -> Self {
        Self(predicates)
    }
}

/// A sign that f64 does not tell.
#[derive(Clone, Copy, Debug)]
pub struct Undecided;

impl Decide for Quick {
    type Undecided = Undecided;
    const IS_EXACT: bool = false;

    #[inline(always)]
    fn predicates(&self) -> &Predicates {
        &self.0
    }

    #[inline(always)]
    fn settle(&self, _: impl FnOnce(&Predicates) -> i32) -> Decided<f64, Self> {
        Err(Undecided)
    }
}

/// A place: x and y.
pub type Place = [f64; 2];

/// A site as it is seen from a place.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The vector to it.
    pub way: Place,
    /// The square of its distance.
    pub squared: f64,
}

impl Seen {
    /// A site that lies at `place`, seen from `at`.
    #[inline(always)]
    pub fn from(at: Place, place: Place) -> Self {
        let way = way(at, place);
        Self { way, squared: square(way) }
    }
}

/// The turn from one site to another, seen from a place: twice the signed area of their triangle, rounded.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    cross: f64,
    /// The sum of the products' magnitudes.
    sum: f64,
}

impl Turn {
    /// The turn from `a` to `b`.
    #[inline(always)]
    pub fn of(a: &Seen, b: &Seen) -> Self {
        let (left, right) = (a.way[0] * b.way[1], a.way[1] * b.way[0]);
        Self { cross: left - right, sum: left.abs() + right.abs() }
    }

    /// The turn back.
    #[inline(always)]
    pub fn back(self) -> Self {
        Self { cross: -self.cross, ..self }
    }
}

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
        sign(sure(self.side(a, b, c)))
    }

    /// Whether an area has the sign that f64 says.
    #[inline(always)]
    fn is_sure_of_area(&self, twice_area: f64, sum: f64) -> bool {
        // Two differences, a product and the last difference, each rounded, and the sum.
        twice_area.abs() > 4.0 * HALF_ULP * sum || sum < self.exact_areas
    }

    /// Whether `d` lies inside the circle through `a`, `b` and `c`, which turn counter-clockwise: 1 inside, -1 outside,
    /// 0 on it.
    #[inline(always)]
    pub fn in_circle(&self, a: Place, b: Place, c: Place, d: Place) -> i32 {
        sign(sure(self.site_in_circle([a, b, c, d])))
    }

    /// Whether the determinant of a circle has the sign that f64 says.
    #[inline(always)]
    fn is_sure_of_circle(&self, determinant: f64, sum: f64) -> bool {
        // Four differences, two squares or products with a sum or difference each, the product of both, and two sums:
        // 11.
        determinant.abs() > 16.0 * HALF_ULP * sum || sum < self.exact_circles
    }

    /// Whether `d` lies inside the circle through `a`, `b` and `c`, which turn counter-clockwise. Of four sites on one
    /// circle the first one by x, then by y, counts as moved inwards: see the [module](self). The four are different.
    #[inline(always)]
    pub fn is_inside(&self, a: Place, b: Place, c: Place, d: Place) -> bool {
        sure(self.is_within([a, b, c], d))
    }

    /// Which of `a` and `b` is nearer to `p`: 1 if `a` is, -1 if `b` is, 0 if both are as near.
    #[inline(always)]
    pub fn nearer(&self, p: Place, a: Place, b: Place) -> i32 {
        sign(sure(self.seen_nearer(&Seen::from(p, a), &Seen::from(p, b), || [p, a, b])))
    }

    /// Whether a difference of squared distances has the sign that f64 says.
    #[inline(always)]
    fn is_sure_of_nearer(&self, difference: f64, sum: f64) -> bool {
        // Two differences, a square and a sum, and the last difference: 5.
        difference.abs() > 8.0 * HALF_ULP * sum || sum < self.exact_areas
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
        // The determinant of four rows x, y, x^2 + y^2, 1, expanded by its third column. Each rotation of the rows
        // changes the sign.
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
            // For x, then for y: b^2 - 2 b p, then -a^2 + 2 a p.
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

/// The rounded determinant that tells whether a place is inside the circle of three corners, which are seen from it;
/// and the sum of its products' magnitudes.
#[inline(always)]
fn circle([a, b, c]: [&Seen; 3], [bc, ca, ab]: [Turn; 3]) -> (f64, f64) {
    let sum = |[of_a, of_b, of_c]: [f64; 3]| {
        let two = math::mul_add_relaxed(b.squared, of_b, a.squared * of_a);
        math::mul_add_relaxed(c.squared, of_c, two)
    };
    (sum([bc.cross, ca.cross, ab.cross]), sum([bc.sum, ca.sum, ab.sum]))
}

/// Whether four places are the corners of a rectangle along the axes: these lie on one circle, however many bits they have.
/// So do the corners of each cell of a grid, whose f64 rounds to no certain sign.
#[inline(always)]
fn is_rectangle([a, b, c, d]: [Place; 4]) -> bool {
    // No two of the places are the same, so both axes have other pairs.
    let has_pairs = |axis: usize| {
        let [a, b, c, d] = [a[axis], b[axis], c[axis], d[axis]];
        a == b && c == d || a == c && b == d || a == d && b == c
    };
    has_pairs(0) && has_pairs(1)
}

/// Whether a place comes before another one: by x, then by y.
#[inline(always)]
pub fn is_before(a: Place, b: Place) -> bool {
    a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

/// 2 to that power, or to the power of 1000 if that is less: a lower limit is always allowed.
const fn power_of_two(exponent: i32) -> f64 {
    let exponent = if exponent > 1000 { 1000 } else { exponent };
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[inline(always)]
fn sign(value: f64) -> i32 {
    (value > 0.0) as i32 - (value < 0.0) as i32
}

/// The vector from one place to another, if f64 holds it exactly.
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
