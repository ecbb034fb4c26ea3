//! The definition of "nearest", and which sites a triangle can leave out.
//!
//! The nearest site of a place has the smallest [`squared_chord`] in f64; among equally near sites, the lowest index
//! counts. So every back end and every method can give the same answer.
//!
//! **Pruning.** The difference of the squared chords from a place to two sites is linear in the place. So a site that
//! is farther than another from all three vertices of a triangle is farther from every place in the triangle. A
//! triangle takes two sites near its centre as *pivots*. It leaves out sites that these beat at all vertices, by more
//! than rounding can explain. Its children inherit the rest.

use device_std::{In, arguments, math};

use super::triangle::{Triangle, Vector};

/// No site.
pub const NONE: u32 = u32::MAX;

/// How much farther a site must be, as a squared chord, to be surely farther.
///
/// Rounding a squared chord, of at most 4, changes the difference of two by at most 4e-15. Vertices, centres and sites
/// have length 1 only within 3e-16, and centres are as inexact within their triangles: this may change it by as much
/// again.
pub const DOUBT: f64 = 1e-14;

/// The square of the straight distance between two places.
#[inline(always)]
pub fn squared_chord(u: Vector, v: Vector) -> f64 {
    let (x, y, z) = (u[0] - v[0], u[1] - v[1], u[2] - v[2]);
    x * x + y * y + z * z
}

/// A site's unit vector, and a number without a meaning: 32 bytes, which are read at once.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub struct Place(pub [f64; 4]);

/// Sites in device memory.
#[arguments]
pub struct Sites<'a> {
    /// The unit vector of each of `count` sites.
    pub places: In<'a, Place>,
    /// How many there are.
    pub count: u32,
}

impl Sites<'_> {
    /// The unit vector of a site.
    #[inline(always)]
    pub fn place(&self, site: u32) -> Vector {
        let Place([x, y, z, _]) = self.places.get(site);
        [x, y, z]
    }
}

/// A site, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearSite {
    /// The square of the straight distance.
    pub squared: f64,
    /// Its index, or [`NONE`].
    pub site: u32,
}

impl NearSite {
    /// No site.
    pub const NOTHING: Self = Self { squared: f64::INFINITY, site: NONE };

    /// Whether it comes before another. A NaN never does.
    #[inline(always)]
    pub fn is_before(self, other: Self) -> bool {
        self.squared < other.squared || self.squared == other.squared && self.site < other.site
    }
}

/// The nearest site, and the second nearest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Two {
    /// The nearest.
    pub first: NearSite,
    /// The one after it.
    pub second: NearSite,
}

impl Two {
    /// No sites.
    pub const NOTHING: Self = Self { first: NearSite::NOTHING, second: NearSite::NOTHING };

    /// Adds one more site.
    #[inline(always)]
    pub fn with(self, found: NearSite) -> Self {
        if found.is_before(self.first) {
            Self { first: found, second: self.first }
        } else if found.is_before(self.second) {
            Self { first: self.first, second: found }
        } else {
            self
        }
    }
}

#[inline(always)]
fn greatest([a, b, c]: Vector) -> f64 {
    f64::max(a, f64::max(b, c))
}

/// The test by which a triangle leaves sites out.
#[derive(Clone, Copy, Debug)]
pub struct Pruning {
    triangle: Triangle,
    first: Pivot,
    second: Pivot,
    /// How many pivots must beat a site before it is left out.
    wanted: u32,
    centre: Vector,
    /// Sites farther from the centre than this squared chord are left out.
    reach: f64,
}

/// A site that others are compared with.
#[derive(Clone, Copy, Debug)]
struct Pivot {
    place: Vector,
    site: u32,
    /// A site farther from every vertex than these is surely farther than the pivot.
    limits: Vector,
}

impl Pivot {
    #[inline(always)]
    fn new(triangle: &Triangle, site: u32, place: Vector) -> Self {
        let limit = |vertex| {
            if site == NONE { f64::INFINITY } else { squared_chord(vertex, place) + DOUBT }
        };
        Self { place, site, limits: [limit(triangle.a), limit(triangle.b), limit(triangle.c)] }
    }

    /// Whether it comes before a site everywhere in the triangle. It comes before a NaN.
    #[inline(always)]
    fn beats(&self, site: u32, place: Vector, squared: Vector) -> bool {
        let may_be_nearer = squared[0] <= self.limits[0]
            || squared[1] <= self.limits[1]
            || squared[2] <= self.limits[2];
        let is_twin = place[0] == self.place[0]
            && place[1] == self.place[1]
            && place[2] == self.place[2]
            && site > self.site;
        !may_be_nearer || is_twin
    }
}

impl Pruning {
    /// Takes two sites near the triangle's centre as pivots; `place` gives sites' unit vectors. `wanted` is how many
    /// nearest sites are to be found, 1 or 2.
    #[inline(always)]
    pub fn new(triangle: Triangle, two: Two, place: impl Fn(u32) -> Vector, wanted: u32) -> Self {
        let of = |found: NearSite| if found.site == NONE { [0.0; 3] } else { place(found.site) };
        let first = Pivot::new(&triangle, two.first.site, of(two.first));
        let second = Pivot::new(&triangle, two.second.site, of(two.second));
        Self { triangle, first, second, wanted, centre: triangle.centre(), reach: f64::INFINITY }
    }

    /// The same test, with the greatest distance from the triangle's centre of a site that it keeps. This takes square
    /// roots, which many sites repay.
    ///
    /// A site is kept only if it lies within the limit of a pivot at some vertex: of either pivot, or of both if
    /// beating one is enough. The chord from the centre is no longer than the way over this vertex.
    #[inline(always)]
    pub fn with_reach(self) -> Self {
        let Triangle { a, b, c } = self.triangle;
        let radius = greatest([a, b, c].map(|vertex| squared_chord(vertex, self.centre)));
        let (first, second) = (greatest(self.first.limits), greatest(self.second.limits));
        let limit = if self.wanted > 1 { f64::max(first, second) } else { f64::min(first, second) };
        let chord = math::sqrt(radius) + math::sqrt(limit);
        // Some units in the last place more than rounding takes.
        Self { reach: chord * chord * (1.0 + 1e-13) + DOUBT, ..self }
    }

    /// Whether a site may be near enough. A NaN may.
    #[inline(always)]
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "true of what is NaN")]
    pub fn reaches(&self, place: Vector) -> bool {
        !(squared_chord(self.centre, place) > self.reach)
    }

    /// The least scalar product with the centre that a near enough site has.
    #[inline(always)]
    pub fn least_product(&self) -> f64 {
        1.0 - 0.5 * self.reach
    }

    /// The centre of the triangle.
    #[inline(always)]
    pub fn centre(&self) -> Vector {
        self.centre
    }

    /// Whether a site may be among the nearest of some place in the triangle.
    #[inline(always)]
    pub fn keeps(&self, site: u32, place: Vector) -> bool {
        let Triangle { a, b, c } = self.triangle;
        let squared = [squared_chord(a, place), squared_chord(b, place), squared_chord(c, place)];
        let beaten = self.first.beats(site, place, squared) as u32
            + self.second.beats(site, place, squared) as u32;
        beaten < self.wanted
    }
}
