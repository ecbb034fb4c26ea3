//! What a query takes from its natural neighbours, and what becomes of a cell of the DEM.

use device_std::math;

use super::polygon::{Polygon, Slots, WINDOW};
use super::search::{Index, Query};

/// Weights are the areas that the query point takes over.
pub const SIBSON: u32 = 0;
/// Weights are the lengths of the borders over the distances.
pub const LAPLACE: u32 = 1;
/// Sibson's smooth interpolant.
pub const SMOOTH: u32 = 2;

/// The natural neighbours of a query point with their weights, in the slots of its polygon.
pub struct Neighbours<'a, P, I, Q> {
    index: &'a Index<P, I>,
    query: &'a Query,
    slots: &'a Q,
    len: u32,
    /// Sites count whose squared distance is below this.
    site_limit: f64,
    /// The sum of the weights of the sites that count.
    total: f64,
    /// How many count.
    pub count: u32,
}

impl<'a, P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots> Neighbours<'a, P, I, Q> {
    /// Weighs the sites at the sides of a Voronoi cell.
    #[inline(always)]
    pub fn weigh(
        index: &'a Index<P, I>,
        query: &'a Query,
        polygon: &'a mut Polygon<'_, Q>,
        weights: u32,
        site_limit: f64,
    ) -> Self {
        if weights == LAPLACE {
            borders(index, query, polygon);
        } else {
            polygon.share(|name| index.line(query, name));
        }
        let (len, slots) = (polygon.len, &*polygon.slots);
        let mut all = Self { index, query, slots, len, site_limit, total: 0.0, count: 0 };
        let (mut total, mut count) = (0.0, 0);
        all.each(|_, weight, _| {
            total += weight;
            count += 1;
        });
        (all.total, all.count) = (total, count);
        all
    }

    /// Calls `visit(site, weight, way to it)` for every site that counts.
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(u32, f64, [f64; 2])) {
        let mut i = 0;
        while i < self.len {
            let site = self.slots.line(i);
            if site < WINDOW {
                let way = self.index.way(self.query, site);
                if way[0] * way[0] + way[1] * way[1] < self.site_limit {
                    visit(site, self.slots.share(i), way);
                }
            }
            i += 1;
        }
    }

    /// The weighted mean of the sites' values; `None` where none counts.
    #[inline(always)]
    pub fn mean(&self, value: impl Fn(u32) -> i32) -> Option<f64> {
        let mut sum = 0.0;
        self.each(|site, weight, _| sum += weight * value(site) as f64);
        (self.total > 0.0).then(|| sum / self.total)
    }

    /// Sibson's smooth (C1) interpolant (1981, A brief description of natural neighbour interpolation):
    /// a blend of the mean and of a mean of the sites' planes, by areas over distances.
    #[inline(always)]
    pub fn smooth(
        &self,
        value: impl Fn(u32) -> i32,
        gradient: impl Fn(u32) -> [f32; 2],
    ) -> Option<f64> {
        let (mut mean, mut planes, mut inverse) = (0.0, 0.0, 0.0);
        let (mut first_moment, mut second_moment) = (0.0, 0.0);
        self.each(|site, area, way| {
            let squared = way[0] * way[0] + way[1] * way[1];
            let away = math::sqrt(squared);
            let ([east, north], value) = (gradient(site), value(site) as f64);
            let rise = east as f64 * way[0] + north as f64 * way[1];
            let per_length = area / away;
            inverse += per_length;
            first_moment += area * away;
            second_moment += area * squared;
            mean += area * value;
            planes += per_length * (value - rise);
        });
        if self.total <= 0.0 {
            return None;
        }
        let (alpha, beta) = (first_moment / inverse, second_moment / self.total);
        Some((alpha * (mean / self.total) + beta * (planes / inverse)) / (alpha + beta))
    }

    /// How far the weighted mean of the sites' places is from the query point; 0 but for rounding where
    /// all sites count and the cell is bounded by sites alone.
    #[inline(always)]
    pub fn deviation(&self) -> f64 {
        let mut sum = [0.0; 2];
        self.each(|_, weight, way| {
            sum[0] += weight * way[0];
            sum[1] += weight * way[1];
        });
        math::sqrt(sum[0] * sum[0] + sum[1] * sum[1]) / self.total
    }
}

/// Gives each side of a polygon Laplace's weight: its length over the distance of its site.
#[inline(always)]
fn borders<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots>(
    index: &Index<P, I>,
    query: &Query,
    polygon: &mut Polygon<'_, Q>,
) {
    let mut i = 0;
    while i < polygon.len {
        let next = if i + 1 == polygon.len { 0 } else { i + 1 };
        let (a, b) = (polygon.slots.corner(i), polygon.slots.corner(next));
        let [x, y] = [b[0] - a[0], b[1] - a[1]];
        let normal = index.line(query, polygon.slots.line(i)).normal;
        let squared = normal[0] * normal[0] + normal[1] * normal[1];
        polygon.slots.set_share(i, math::sqrt((x * x + y * y) / squared));
        i += 1;
    }
}

/// The most that a border counts in a gradient, in distances of its site: those of the outermost points
/// are endless.
const LONGEST: f64 = 2.0;

/// The gradients at a site whose Voronoi cell the polygon is: the planes through the site that fit its
/// neighbours best, by weighted least squares. A neighbour's weight is Laplace's over the squared
/// distance.
pub struct Planes<'a, P, I, Q> {
    index: &'a Index<P, I>,
    query: &'a Query,
    polygon: &'a Polygon<'a, Q>,
    /// The matrix of the normal equations: xx, xy, yy.
    matrix: [f64; 3],
}

impl<'a, P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots> Planes<'a, P, I, Q> {
    /// Weighs the neighbours.
    #[inline(always)]
    pub fn weigh(
        index: &'a Index<P, I>,
        query: &'a Query,
        polygon: &'a mut Polygon<'a, Q>,
    ) -> Self {
        borders(index, query, polygon);
        let polygon = &*polygon;
        let mut all = Self { index, query, polygon, matrix: [0.0; 3] };
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
        let mut i = 0;
        while i < self.polygon.len {
            let site = self.polygon.slots.line(i);
            if site < WINDOW {
                let [x, y] = self.index.way(self.query, site);
                let border = f64::min(self.polygon.slots.share(i), LONGEST);
                visit(site, border / (x * x + y * y), [x, y]);
            }
            i += 1;
        }
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
