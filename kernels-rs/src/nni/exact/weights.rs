//! Weighted sums over natural neighbours: values, and gradients at the sites.

use device_std::{math, vector};

use crate::stars::angles::{cotangent, positive_cross, square, way};
use crate::stars::neighbours::Stars;
use crate::stars::predicates::is_before;

/// Weights are the areas that the query point takes over.
pub const SIBSON: u32 = 0;
/// Weights are the lengths of the borders over the distances.
pub const LAPLACE: u32 = 1;
/// Sibson's smooth interpolant.
pub const SMOOTH: u32 = 2;
/// Weights are the parts of the triangle that holds the query point: the surface is a TIN.
pub const LINEAR: u32 = 3;

/// Weighted sums over natural neighbours. Only with weights [`SMOOTH`] they give the smooth interpolant.
#[derive(Clone, Copy)]
pub struct Sums<const WEIGHTS: u32> {
    /// How many sites there are.
    pub count: u32,
    /// The sum of the weights.
    total: f64,
    /// The sum of the weighted values.
    mean: f64,
    /// The weighted sum of the vectors to the sites.
    way: [f64; 2],
    /// The weighted sums of the smooth interpolant: of 1 over the distance, of the sites' planes at the place by that
    /// weight, of the distance, and of its square.
    inverse: f64,
    planes: f64,
    first_moment: f64,
    second_moment: f64,
}

impl<const WEIGHTS: u32> Sums<WEIGHTS> {
    /// No site yet.
    pub const NONE: Self = Self {
        count: 0,
        total: 0.0,
        mean: 0.0,
        way: [0.0; 2],
        inverse: 0.0,
        planes: 0.0,
        first_moment: 0.0,
        second_moment: 0.0,
    };

    /// Adds a site.
    #[inline(always)]
    pub fn add(
        &mut self,
        weight: f64,
        way: [f64; 2],
        value: f64,
        gradient: impl FnOnce() -> [f64; 2],
    ) {
        self.count += 1;
        self.total += weight;
        self.mean = math::mul_add(weight, value, self.mean);
        self.way = [0, 1].map(|axis| math::mul_add(weight, way[axis], self.way[axis]));
        if WEIGHTS == SMOOTH {
            let squared = square(way);
            let away = math::sqrt(squared);
            let [east, north] = gradient();
            let rise = east * way[0] + north * way[1];
            let per_length = weight / away;
            self.inverse += per_length;
            self.first_moment += weight * away;
            self.second_moment += weight * squared;
            self.planes += per_length * (value - rise);
        }
    }

    /// The value at the place: the weighted mean, or Sibson's smooth (C1) interpolant (1981, A brief description of
    /// natural neighbour interpolation). The latter blends the mean with a mean of the sites' planes, by areas over
    /// distances. `None` if rounding has left no weight.
    #[inline(always)]
    pub fn value(&self) -> Option<f64> {
        if !(self.total > 0.0 && self.total < f64::INFINITY) {
            return None;
        }
        let mean = self.mean / self.total;
        if WEIGHTS != SMOOTH {
            return Some(mean);
        }
        let (alpha, beta) = (self.first_moment / self.inverse, self.second_moment / self.total);
        Some((alpha * mean + beta * (self.planes / self.inverse)) / (alpha + beta))
    }

    /// How far the weighted mean of the sites' places is from the place.
    #[inline(always)]
    pub fn deviation(&self) -> f64 {
        math::sqrt(square([self.way[0] / self.total, self.way[1] / self.total]))
    }
}

/// The longest border that a gradient counts, in distances of its site. The borders of the outermost sites are endless.
/// Sites that lie nearly on the hull have borders so long that no other neighbour would count beside them.
const LONGEST: f64 = 2.0;

/// Below this part of the squared trace, a determinant is that of neighbours in line, but for rounding.
const IN_LINE: f64 = 1e-9;

/// The gradients at a site, by weighted least squares: those of the bowls through the site that fit its neighbours
/// best. A bowl is a plane and a multiple of the squared distance from the site. A site on the hull has neighbours on
/// one side alone, which tell little of a bowl: there it is a plane.
///
/// A neighbour's weight is Laplace's over the squared distance. Laplace's weights of a closed cell have their sites'
/// mean at the site: then bowls and planes have the same gradients (Sibson 1981). Bowls also have the gradients of all
/// spherical quadrics where [`LONGEST`] cuts borders, as of sites in lines.
pub struct Fit<'a, S> {
    stars: &'a S,
    site: u32,
    at: [f64; 2],
    /// Where sums begin in the star, so that they do not depend on the numbers of sites. That is the first neighbour by
    /// x, then by y; on the hull, the star's first.
    start: u32,
    /// The matrix of the normal equations, after the bowl's multiple is eliminated: xx, xy, yy.
    matrix: [f64; 3],
    /// How far the elimination moves a neighbour, for each of its squared distance; 0 for a plane.
    shift: [f64; 2],
}

impl<'a, S: Stars> Fit<'a, S> {
    /// Weighs the neighbours of a site.
    #[inline(always)]
    pub fn weigh(stars: &'a S, site: u32) -> Self {
        let start = start_of(stars, site);
        let (at, matrix, shift) = (stars.place(site), [0.0; 3], [0.0; 2]);
        let mut all = Self { stars, site, at, start, matrix, shift };
        let [mut xx, mut xy, mut yy] = [0.0; 3];
        // Of the squared distance with x, y and itself.
        let [mut bowl_x, mut bowl_y, mut bowl] = [0.0; 3];
        all.each(|_, border, [x, y]| {
            let squared = square([x, y]);
            let weight = border / squared;
            xx += weight * x * x;
            xy += weight * x * y;
            yy += weight * y * y;
            bowl_x += border * x;
            bowl_y += border * y;
            bowl += border * squared;
        });
        all.matrix = [xx, xy, yy];
        let shift = [bowl_x / bowl, bowl_y / bowl];
        let of_bowl = [xx - bowl_x * shift[0], xy - bowl_x * shift[1], yy - bowl_y * shift[1]];
        let trace = xx + yy;
        // Neighbours on a circle through the site, but for rounding, do not tell bowls from planes.
        let tells = determinant(of_bowl) > IN_LINE * trace * trace;
        if tells && !stars.is_on_hull(site) {
            (all.matrix, all.shift) = (of_bowl, shift);
        }
        all
    }

    /// Shows each neighbour: the site, the length of the border over the distance, and the vector to it.
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(u32, f64, [f64; 2])) {
        let [first, end] = self.stars.star(self.site);
        let is_on_hull = self.stars.is_on_hull(self.site);
        let to = |slot: u32| way(self.at, self.stars.place(self.stars.neighbour(slot)));
        let mut at = self.start;
        let mut left = end - first;
        while left > vector::unknown(0) {
            let next = if at + 1 == end { first } else { at + 1 };
            let here = to(at);
            let mut border = LONGEST;
            if !(is_on_hull && (at == first || at + 1 == end)) {
                let before = to(if at == first { end - 1 } else { at - 1 });
                let after = to(next);
                let angles = cotangent(here, before) / positive_cross(before, here)
                    + cotangent(here, after) / positive_cross(here, after);
                // Below 0 is rounding.
                let length = f64::max(0.5 * angles, 0.0);
                border = f64::min(length, LONGEST);
            }
            visit(self.stars.neighbour(at), border, here);
            at = next;
            left -= 1;
        }
    }

    /// The gradient of a value, per unit to the east and to the north. If the neighbours lie on a line, it goes along
    /// the line.
    #[inline(always)]
    pub fn gradient(&self, own: i32, value: impl Fn(u32) -> i32) -> [f64; 2] {
        let [xx, xy, yy] = self.matrix;
        let (determinant, trace) = (determinant(self.matrix), xx + yy);
        let (mut right_x, mut right_y) = (0.0, 0.0);
        self.each(|site, border, [x, y]| {
            let rise = value(site) as f64 - own as f64;
            let squared = square([x, y]);
            let weight = border / squared * rise;
            right_x += weight * (x - self.shift[0] * squared);
            right_y += weight * (y - self.shift[1] * squared);
        });
        // Then the least gradient that fits the neighbours.
        if determinant <= IN_LINE * trace * trace {
            return if trace > 0.0 { [right_x / trace, right_y / trace] } else { [0.0; 2] };
        }
        let east = (yy * right_x - xy * right_y) / determinant;
        let north = (xx * right_y - xy * right_x) / determinant;
        [east, north]
    }
}

/// The determinant of a symmetric matrix: xx, xy, yy.
#[inline(always)]
fn determinant([xx, xy, yy]: [f64; 3]) -> f64 {
    xx * yy - xy * xy
}

/// Where the sums over a star begin.
#[inline(always)]
fn start_of(stars: &impl Stars, site: u32) -> u32 {
    let [first, end] = stars.star(site);
    if stars.is_on_hull(site) {
        return first;
    }
    let (mut start, mut at) = (first, first + 1);
    let mut least = stars.place(stars.neighbour(first));
    while at < vector::unknown(end) {
        let place = stars.place(stars.neighbour(at));
        if is_before(place, least) {
            (start, least) = (at, place);
        }
        at += 1;
    }
    start
}
