//! The weights of natural neighbours, and what is made of them: values and gradients.

use device_std::math;

use super::polygon::{Polygon, Slots, WINDOW};
use super::rings::Rings;
use super::search::{Index, Query};
use super::team::Team;
use super::walk::Walk;

/// Weights are the areas that the query point takes over.
pub const SIBSON: u32 = 0;
/// Weights are the lengths of the borders over the distances.
pub const LAPLACE: u32 = 1;
/// Sibson's smooth interpolant.
pub const SMOOTH: u32 = 2;

/// The natural neighbours of a place with their weights.
pub trait Natural {
    /// Calls `visit(site, weight, way to it)` for each; `false` where they are not all found.
    fn each(&self, visit: impl FnMut(u32, f64, [f64; 2])) -> bool;
}

/// The sites at the sides of a cell, weighed, that a team has clipped.
pub struct Clipped<'a, P, I, Q> {
    index: &'a Index<P, I>,
    query: &'a Query,
    slots: &'a Q,
    len: u32,
}

impl<'a, P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots> Clipped<'a, P, I, Q> {
    /// Weighs them, the team together.
    #[inline(always)]
    pub fn weigh(
        index: &'a Index<P, I>,
        query: &'a Query,
        polygon: &'a mut Polygon<'_, Q, impl Team>,
        weights: u32,
    ) -> Self {
        if weights == LAPLACE {
            borders(index, query, polygon);
        } else {
            polygon.share(|name| index.line(query, name));
        }
        Self { index, query, slots: &*polygon.slots, len: polygon.len }
    }
}

impl<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots> Natural for Clipped<'_, P, I, Q> {
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(u32, f64, [f64; 2])) -> bool {
        let mut i = 0;
        while i < self.len {
            let site = self.slots.line(i);
            if site < WINDOW {
                visit(site, self.slots.share(i), self.index.way(self.query, site));
            }
            i += 1;
        }
        true
    }
}

/// The sites that a walk over rings comes by, with Laplace's weights or the areas.
pub struct Walked<'a, P, I, R> {
    /// The walk.
    pub walk: Walk<'a, P, I, R>,
    /// [`LAPLACE`], or others.
    pub weights: u32,
}

impl<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, R: Rings> Natural for Walked<'_, P, I, R> {
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(u32, f64, [f64; 2])) -> bool {
        self.walk.each(|neighbour| {
            let (mut weight, [x, y]) = (neighbour.area, neighbour.way);
            if self.weights == LAPLACE {
                let [from, to] = neighbour.border;
                let border = [to[0] - from[0], to[1] - from[1]];
                let squared = border[0] * border[0] + border[1] * border[1];
                weight = math::sqrt(squared / (x * x + y * y));
            }
            visit(neighbour.site, weight, [x, y]);
        })
    }
}

/// Weighted sums over natural neighbours, of a value and of what goes with it. Only where it `BLENDS` can it be
/// asked for the smooth interpolant.
#[derive(Clone, Copy)]
pub struct Sums<const BLENDS: bool> {
    weights: u32,
    /// How many sites there are.
    pub count: u32,
    /// Of the weights.
    total: f64,
    /// Of the values.
    mean: f64,
    /// For the smooth interpolant: of 1 over the distance, of the sites' planes at the place by the same weights,
    /// of the distance, and of its square.
    inverse: f64,
    planes: f64,
    first_moment: f64,
    second_moment: f64,
}

impl<const BLENDS: bool> Sums<BLENDS> {
    /// No site yet.
    #[inline(always)]
    pub fn new(weights: u32) -> Self {
        let [total, mean, inverse, planes, first_moment, second_moment] = [0.0; 6];
        Self { weights, count: 0, total, mean, inverse, planes, first_moment, second_moment }
    }

    /// Adds a site.
    #[inline(always)]
    pub fn add(
        &mut self,
        weight: f64,
        way: [f64; 2],
        value: impl FnOnce() -> f64,
        gradient: impl FnOnce() -> [f32; 2],
    ) {
        let value = value();
        self.count += 1;
        self.total += weight;
        self.mean += weight * value;
        if BLENDS && self.weights == SMOOTH {
            let squared = way[0] * way[0] + way[1] * way[1];
            let away = math::sqrt(squared);
            let [east, north] = gradient();
            let rise = east as f64 * way[0] + north as f64 * way[1];
            let per_length = weight / away;
            self.inverse += per_length;
            self.first_moment += weight * away;
            self.second_moment += weight * squared;
            self.planes += per_length * (value - rise);
        }
    }

    /// The weighted mean; `None` where there is no site.
    #[inline(always)]
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0.0).then(|| self.mean / self.total)
    }

    /// The value at the place: the weighted mean, or Sibson's smooth (C1) interpolant (1981, A brief
    /// description of natural neighbour interpolation), a blend of the mean and of a mean of the sites'
    /// planes, by areas over distances. `None` where there is no site.
    #[inline(always)]
    pub fn value(&self) -> Option<f64> {
        let mean = self.mean()?;
        if !(BLENDS && self.weights == SMOOTH) {
            return Some(mean);
        }
        let (alpha, beta) = (self.first_moment / self.inverse, self.second_moment / self.total);
        Some((alpha * mean + beta * (self.planes / self.inverse)) / (alpha + beta))
    }
}

/// The sides of a site's Voronoi cell.
pub trait Sides {
    /// Calls `visit(site, border over distance, way to it)` for the site beyond each side.
    fn each(&self, visit: impl FnMut(u32, f64, [f64; 2]));
}

/// The sides of a clipped cell.
pub struct ClippedSides<'a, P, I, Q> {
    index: &'a Index<P, I>,
    query: &'a Query,
    slots: &'a Q,
    len: u32,
}

impl<'a, P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots> ClippedSides<'a, P, I, Q> {
    /// Measures them, the team together.
    #[inline(always)]
    pub fn measure(
        index: &'a Index<P, I>,
        query: &'a Query,
        polygon: &'a mut Polygon<'_, Q, impl Team>,
    ) -> Self {
        borders(index, query, polygon);
        Self { index, query, slots: &*polygon.slots, len: polygon.len }
    }
}

impl<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots> Sides for ClippedSides<'_, P, I, Q> {
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(u32, f64, [f64; 2])) {
        let mut i = 0;
        while i < self.len {
            let site = self.slots.line(i);
            if site < WINDOW {
                visit(site, self.slots.share(i), self.index.way(self.query, site));
            }
            i += 1;
        }
    }
}

/// Gives each side of a polygon Laplace's weight: its length over the distance of its site.
#[inline(always)]
fn borders<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots, T: Team>(
    index: &Index<P, I>,
    query: &Query,
    polygon: &mut Polygon<'_, Q, T>,
) {
    let mut i = polygon.team.rank();
    while i < polygon.len {
        let next = if i + 1 == polygon.len { 0 } else { i + 1 };
        let (a, b) = (polygon.slots.corner(i), polygon.slots.corner(next));
        let [x, y] = [b[0] - a[0], b[1] - a[1]];
        let normal = index.line(query, polygon.slots.line(i)).normal;
        let squared = normal[0] * normal[0] + normal[1] * normal[1];
        polygon.slots.set_share(i, math::sqrt((x * x + y * y) / squared));
        i += T::THREADS;
    }
    polygon.team.sync();
}

/// The most that a border counts in a gradient, in distances of its site: those of the outermost points
/// are endless.
const LONGEST: f64 = 2.0;

/// The gradients at a site: the planes through it that fit its neighbours best, by weighted least squares.
/// A neighbour's weight is Laplace's over the squared distance.
pub struct Planes<E> {
    sides: E,
    /// The matrix of the normal equations: xx, xy, yy.
    matrix: [f64; 3],
}

impl<E: Sides> Planes<E> {
    /// Weighs the neighbours.
    #[inline(always)]
    pub fn weigh(sides: E) -> Self {
        let mut all = Self { sides, matrix: [0.0; 3] };
        let [mut xx, mut xy, mut yy] = [0.0; 3];
        all.each(|_, weight, [x, y]| {
            xx += weight * x * x;
            xy += weight * x * y;
            yy += weight * y * y;
        });
        all.matrix = [xx, xy, yy];
        all
    }

    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(u32, f64, [f64; 2])) {
        self.sides.each(|site, border, [x, y]| {
            visit(site, f64::min(border, LONGEST) / (x * x + y * y), [x, y]);
        });
    }

    /// The gradient of a value, per unit to the east and to the north; 0 where the neighbours are in line.
    #[inline(always)]
    pub fn gradient(&self, own: i32, value: impl Fn(u32) -> i32) -> [f32; 2] {
        let [xx, xy, yy] = self.matrix;
        let (determinant, trace) = (xx * yy - xy * xy, xx + yy);
        // Below this the neighbours are in line but for rounding.
        if determinant <= 1e-9 * trace * trace {
            return [0.0; 2];
        }
        let (mut right_x, mut right_y) = (0.0, 0.0);
        self.each(|site, weight, [x, y]| {
            let rise = value(site) as f64 - own as f64;
            right_x += weight * x * rise;
            right_y += weight * y * rise;
        });
        let east = (yy * right_x - xy * right_y) / determinant;
        let north = (xx * right_y - xy * right_x) / determinant;
        [east as f32, north as f32]
    }
}
