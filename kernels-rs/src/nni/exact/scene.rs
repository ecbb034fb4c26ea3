//! A DEM whose cells are interpolated one by one: what host and device do alike.

use device_std::{arguments, math};

use super::weights::{Fit, LAPLACE, LINEAR, Sums};
use crate::nni::policies::{FILL_NEAREST, FILL_NOT, FILL_VALUE};
use crate::stars::angles::{positive_cross, square, way};
use crate::stars::locate::{Located, OnHull, Query, Triangle};
use crate::stars::natural::Shares;
use crate::stars::neighbours::Stars;
use crate::stars::predicates::{Decide, Decided, is_before};

/// The DEM, and the options that hold for every cell. Lengths are the caller's times a power of two, as the sites'
/// coordinates are.
#[arguments]
pub struct Scene {
    /// x of the DEM's western edge, y of its northern edge.
    pub origin: [f64; 2],
    /// Side of a cell of the DEM.
    pub cell_size: f64,
    /// Columns of the DEM.
    pub columns: u32,
    /// Rows of the DEM.
    pub rows: u32,
    /// Coordinates of sites and of centres of cells are multiples of 2 to this power.
    pub unit: i32,
    /// The squared distance to the nearest site beyond which cells are left out.
    pub max_squared: f64,
    /// [`SIBSON`](super::weights::SIBSON) or another.
    pub weights: u32,
    /// 1 where cells outside the hull are left out, else 0.
    pub within_hull: u32,
    /// How cells without a value are filled.
    pub fill: u32,
    /// The value that fills them, if that is how.
    pub fill_value: f32,
    /// 1 where distances are wanted, else 0.
    pub has_distances: u32,
}

/// A cell of the DEM.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Its column.
    pub column: u32,
    /// Its row.
    pub row: u32,
    /// Whether it gets no value, whatever its sites are.
    pub is_masked: bool,
}

/// The results of a cell beside its values.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// How many natural neighbours it has; outside the hull, how many sites its value lies between.
    pub count: u32,
    /// The distance to the nearest site, in cells.
    pub distance: f32,
    /// The distance from the cell's centre to the weighted mean of the sites' places, in cells. Inside the hull it is 0
    /// but for rounding, outside it is the distance to the hull.
    pub deviation: f32,
}

impl Answer {
    /// The answer for a cell that is left out.
    pub const NONE: Self = Self { count: 0, distance: f32::INFINITY, deviation: f32::NAN };
}

/// The values and gradients of sites, and the scale by which values become those of the DEM.
pub trait Sites {
    /// How many values.
    fn values(&self) -> u32;
    /// Value `k` of a site.
    fn value(&self, site: u32, k: u32) -> i32;
    /// The gradient of value `k` at a site, per side of a cell.
    fn gradient(&self, site: u32, k: u32) -> [f32; 2];
    /// Offset and step of value `k`.
    fn scale(&self, k: u32) -> [f64; 2];
}

impl Scene {
    /// The centre of a cell.
    #[inline(always)]
    pub fn centre(&self, column: u32, row: u32) -> [f64; 2] {
        [
            self.origin[0] + (column as f64 + 0.5) * self.cell_size,
            self.origin[1] - (row as f64 + 0.5) * self.cell_size,
        ]
    }

    /// Interpolates a cell; `write(k, value)` gets its values. `hint` is a site, best one near the cell, and becomes
    /// one that is near; if there are no sites, it is not a site's number. `WEIGHTS` chooses the code:
    /// [`SMOOTH`](super::weights::SMOOTH), [`LINEAR`], or any other value for Sibson's and Laplace's weights, between
    /// which the scene chooses. If `D` leaves a decision open, nothing is written.
    #[inline(always)]
    pub fn interpolate<const WEIGHTS: u32, S: Stars, T: Sites, D: Decide>(
        &self,
        (stars, predicates): (&S, &D),
        sites: &T,
        cell: Cell,
        hint: &mut Option<u32>,
        write: impl FnMut(u32, f32),
    ) -> Decided<Answer, D> {
        let at = self.centre(cell.column, cell.row);
        let mut outcome = Outcome { scene: self, sites, nearest: None, cell, write };
        let wants_nearest = self.has_distances != 0;
        let mut from = match *hint {
            Some(hint) if !cell.is_masked || wants_nearest => hint,
            _ => {
                outcome.leave_out();
                return Ok(Answer::NONE);
            }
        };
        let query = Query { stars, predicates, at };
        let mut distance = f32::INFINITY;
        let located = loop {
            if outcome.nearest.is_some() || !wants_nearest {
                let located = query.locate(from)?;
                if outcome.nearest.is_some() || self.has_near_corner(&query, located) {
                    break located;
                }
            }
            // The nearest site tells whether the cell has a value. From there, places beyond the hull always find the
            // same side.
            from = query.nearest(from)?;
            (*hint, outcome.nearest) = (Some(from), Some(from));
            let squared = square(way(at, stars.place(from)));
            distance = (math::sqrt(squared) / self.cell_size) as f32;
            if cell.is_masked || squared > self.max_squared {
                outcome.leave_out();
                return Ok(Answer { distance, ..Answer::NONE });
            }
        };
        let (count, deviation) = match located {
            Located::OnSite(site) => {
                *hint = Some(site);
                outcome.on_site(site)
            }
            Located::Inside(triangle) => {
                *hint = Some(triangle.site);
                match WEIGHTS {
                    LINEAR => outcome.in_triangle(&query, triangle)?,
                    _ => outcome.among_neighbours::<WEIGHTS, S, D>(&query, triangle)?,
                }
            }
            Located::Side(side) => {
                let hull = query.project(side)?;
                if hull.is_outside && self.within_hull != 0 {
                    outcome.leave_out();
                    return Ok(Answer { distance, ..Answer::NONE });
                }
                outcome.on_hull::<WEIGHTS, S, D>(&query, hull)
            }
        };
        Ok(Answer { count, distance, deviation: (deviation / self.cell_size) as f32 })
    }

    /// Whether a corner of the triangle that holds a place is so near that the cell has a value.
    #[inline(always)]
    fn has_near_corner<S: Stars, D: Decide>(
        &self,
        query: &Query<'_, S, D>,
        located: Located,
    ) -> bool {
        let is_near =
            |site: u32| square(way(query.at, query.stars.place(site))) <= self.max_squared;
        match located {
            Located::OnSite(_) => true,
            Located::Inside(triangle) => {
                let [a, b, c] = query.corners(triangle);
                is_near(a) || is_near(b) || is_near(c)
            }
            Located::Side(_) => false,
        }
    }

    /// Estimates the gradients of all values at a site, per side of a cell; `write(k, gradient)` gets them.
    #[inline(always)]
    pub fn gradients<S: Stars>(
        &self,
        stars: &S,
        sites: &impl Sites,
        site: u32,
        mut write: impl FnMut(u32, [f32; 2]),
    ) {
        let fit = Fit::weigh(stars, site);
        let mut k = 0;
        while k < sites.values() {
            let gradient = fit.gradient(sites.value(site, k), |other| sites.value(other, k));
            write(k, gradient.map(|slope| (slope * self.cell_size) as f32));
            k += 1;
        }
    }
}

/// Where a cell's values go.
struct Outcome<'a, T, W> {
    scene: &'a Scene,
    sites: &'a T,
    nearest: Option<u32>,
    cell: Cell,
    write: W,
}

impl<T: Sites, W: FnMut(u32, f32)> Outcome<'_, T, W> {
    /// Writes the filling for a cell without a value.
    #[inline(always)]
    fn leave_out(&mut self) {
        let fill = if self.cell.is_masked { FILL_NOT } else { self.scene.fill };
        let mut k = 0;
        while k < self.sites.values() {
            let value = match (fill, self.nearest) {
                (FILL_NEAREST, Some(nearest)) => self.value_of(nearest, k),
                (FILL_VALUE, _) => self.scene.fill_value,
                _ => f32::NAN,
            };
            (self.write)(k, value);
            k += 1;
        }
    }

    #[inline(always)]
    fn value_of(&self, site: u32, k: u32) -> f32 {
        self.scaled(self.sites.value(site, k) as f64, k)
    }

    #[inline(always)]
    fn scaled(&self, value: f64, k: u32) -> f32 {
        let [offset, step] = self.sites.scale(k);
        (offset + value * step) as f32
    }

    /// The gradient at a site, per unit of length.
    #[inline(always)]
    fn gradient(&self, site: u32, k: u32) -> [f64; 2] {
        self.sites.gradient(site, k).map(|slope| slope as f64 / self.scene.cell_size)
    }

    /// Writes the values of a site; gives count and deviation.
    #[inline(always)]
    fn on_site(&mut self, site: u32) -> (u32, f64) {
        let mut k = 0;
        while k < self.sites.values() {
            let value = self.value_of(site, k);
            (self.write)(k, value);
            k += 1;
        }
        (1, 0.0)
    }

    /// Writes the weighted values at a place in a triangle; gives count and deviation.
    #[inline(always)]
    fn among_neighbours<const WEIGHTS: u32, S: Stars, D: Decide>(
        &mut self,
        query: &Query<'_, S, D>,
        triangle: Triangle,
    ) -> Decided<(u32, f64), D> {
        let begin = query.begin(triangle)?;
        let is_laplace = self.scene.weights == LAPLACE;
        let shares = if is_laplace { Shares::Borders } else { Shares::Areas };
        let (mut count, mut deviation, mut k) = (0, 0.0, 0);
        while k < self.sites.values() {
            let mut sums = Sums::<WEIGHTS>::NONE;
            query.each(begin, shares, |site, share, way| {
                let value = self.sites.value(site, k) as f64;
                sums.add(share, way, value, || self.gradient(site, k));
            })?;
            let value = match sums.value() {
                Some(value) => self.scaled(value, k),
                None => self.value_of(nearest_corner(query, triangle), k),
            };
            (self.write)(k, value);
            (count, deviation) = (sums.count, sums.deviation());
            k += 1;
        }
        Ok((count, deviation))
    }

    /// Writes the values of the plane through the corners of the triangle that holds the place; returns count and
    /// deviation.
    ///
    /// On an edge, only the edge's ends count, whichever of its two triangles is given. Sums begin at the first corner
    /// by x, then by y. So nothing depends on how the triangle was found.
    #[inline(always)]
    fn in_triangle<S: Stars, D: Decide>(
        &mut self,
        query: &Query<'_, S, D>,
        triangle: Triangle,
    ) -> Decided<(u32, f64), D> {
        let mut corners = query.corners(triangle);
        let mut places = corners.map(|corner| query.stars.place(corner));
        while is_before(places[1], places[0]) || is_before(places[2], places[0]) {
            corners = [corners[1], corners[2], corners[0]];
            places = [places[1], places[2], places[0]];
        }
        let [a, b, c] = corners;
        let side = |i: usize, j: usize| query.predicates.side(places[i], places[j], query.at);
        let (is_on_ab, is_on_ac) = (side(0, 1)? == 0.0, side(0, 2)? == 0.0);
        if is_on_ab || is_on_ac || side(1, 2)? == 0.0 {
            let ends = match (is_on_ab, is_on_ac) {
                (true, _) => [a, b],
                (_, true) => [a, c],
                _ if is_before(places[2], places[1]) => [c, b],
                _ => [b, c],
            };
            return Ok(self.on_hull::<LINEAR, S, D>(query, query.on_edge(ends)));
        }
        let [to_a, to_b, to_c] = places.map(|place| way(query.at, place));
        let weights =
            [positive_cross(to_b, to_c), positive_cross(to_c, to_a), positive_cross(to_a, to_b)];
        let (mut deviation, mut k) = (0.0, 0);
        while k < self.sites.values() {
            let mut sums = Sums::<LINEAR>::NONE;
            let mut add = |weight: f64, way: [f64; 2], site: u32| {
                sums.add(weight, way, self.sites.value(site, k) as f64, || [0.0; 2]);
            };
            add(weights[0], to_a, a);
            add(weights[1], to_b, b);
            add(weights[2], to_c, c);
            let value = match sums.value() {
                Some(value) => self.scaled(value, k),
                None => self.value_of(a, k),
            };
            (self.write)(k, value);
            deviation = sums.deviation();
            k += 1;
        }
        Ok((3, deviation))
    }

    /// Writes the values at a place of the hull, or of an edge; gives count and deviation.
    #[inline(always)]
    fn on_hull<const WEIGHTS: u32, S: Stars, D: Decide>(
        &mut self,
        query: &Query<'_, S, D>,
        hull: OnHull,
    ) -> (u32, f64) {
        let OnHull { ends: [a, b], part, .. } = hull;
        let [from, to] = [query.stars.place(a), query.stars.place(b)];
        if part <= 0.0 || part >= 1.0 {
            let (corner, place) = if part <= 0.0 { (a, from) } else { (b, to) };
            self.on_site(corner);
            return (1, math::sqrt(square(way(query.at, place))));
        }
        let [x, y] = way(from, to);
        let mut k = 0;
        while k < self.sites.values() {
            let mut sums = Sums::<WEIGHTS>::NONE;
            let values = [self.sites.value(a, k) as f64, self.sites.value(b, k) as f64];
            sums.add(1.0 - part, [-x * part, -y * part], values[0], || self.gradient(a, k));
            let onward = 1.0 - part;
            sums.add(part, [x * onward, y * onward], values[1], || self.gradient(b, k));
            let value = sums.value().unwrap_or(values[0]);
            let value = self.scaled(value, k);
            (self.write)(k, value);
            k += 1;
        }
        let [west, south] = way(query.at, from);
        (2, math::sqrt(square([west + x * part, south + y * part])))
    }
}

/// The corner of a triangle that is nearest to a place in it, but for rounding.
#[inline(always)]
fn nearest_corner<S: Stars, D>(query: &Query<'_, S, D>, triangle: Triangle) -> u32
where
    D: Decide,
{
    let [a, b, c] = query.corners(triangle);
    let squared = |site: u32| square(way(query.at, query.stars.place(site)));
    let nearer = |a: u32, b: u32| if squared(b) < squared(a) { b } else { a };
    nearer(nearer(a, b), c)
}
