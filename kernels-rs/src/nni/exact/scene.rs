//! A DEM whose cells are interpolated one by one: what host and device do alike.

use device_std::math;

use super::polygon::{Polygon, Slots, WINDOW};
use super::rings::{Ring, RingSides, Rings};
use super::search::{End, Found, Index, NEAR, Query};
use super::team::Team;
use super::walk::Walk;
use super::weights::{self, Clipped, ClippedSides, Natural, Planes, Sums, Walked};
use crate::nni::finish::{FILL_NEAREST, FILL_NOT, FILL_VALUE};

/// Half the side of the window round a query point outside the hull, in distances of the nearest site.
///
/// There the cell has no end, and most of it would be so far away that all sites along the hull count
/// alike. The window keeps the estimate to what is near.
const OPEN_WINDOW: f64 = 8.0;

/// The least angle between the ends of a cell outside the hull: more than rounding makes of the cell of a place on it,
/// which has an end as wide as its beginning.
///
/// Where all sites of an edge are in line, and the place lies beyond by a thousandth of a cell, the angle is a millionth.
/// In the window of a cell with no end hundreds of sites along the edge would count alike.
pub const LEAST_ANGLE: f64 = 1e-12;

/// What is asked of every cell.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// x of the DEM's western edge.
    pub origin_x: f64,
    /// y of its northern edge.
    pub origin_y: f64,
    /// Side of a cell of the DEM.
    pub cell_size: f64,
    /// Its columns.
    pub columns: u32,
    /// Half the side of the window round a query point.
    pub half_window: f64,
    /// Half the side of the window round a site.
    pub half_extent: f64,
    /// The squared distance beyond which no site need be looked for.
    pub give_up: f64,
    /// The squared distance to the nearest site beyond which cells are left out.
    pub max_squared: f64,
    /// [`SIBSON`](super::weights::SIBSON) or another.
    pub weights: u32,
    /// What cells without a value take.
    pub fill: u32,
    /// The same as a value.
    pub fill_value: f32,
    /// Whether deviations are wanted.
    pub has_deviations: bool,
}

/// A cell of the DEM.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Its column.
    pub column: u32,
    /// Its row.
    pub row: u32,
    /// The first and the last column of the row that is inside the hull; for a masked cell [`NOWHERE`](Self::NOWHERE).
    pub hull: [i32; 2],
}

impl Cell {
    /// Every column of a row.
    pub const EVERYWHERE: [i32; 2] = [i32::MIN, i32::MAX];
    /// No column of a row.
    pub const NOWHERE: [i32; 2] = [1, 0];

    /// Whether the cell gets no value whatever its sites are: it is masked, or outside the hull.
    #[inline(always)]
    pub fn is_left_out(&self) -> bool {
        let column = self.column as i32;
        !(self.hull[0] <= column && column <= self.hull[1])
    }
}

/// What belongs to a cell beside its values.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Natural neighbours.
    pub count: u32,
    /// The distance to the nearest site, in cells.
    pub distance: f32,
    /// How far the weighted mean of the sites' places is from the cell's centre, in cells: 0 but for
    /// rounding where the cell is bounded by sites alone.
    pub deviation: f32,
}

impl Answer {
    /// That of a cell that is left out.
    pub const NONE: Self = Self { count: 0, distance: f32::INFINITY, deviation: f32::NAN };
}

/// What sites have: their values and gradients, and how those become values of the DEM.
pub trait Sites {
    /// How many values.
    fn values(&self) -> u32;
    /// Value `k` of a site.
    fn value(&self, site: u32, k: u32) -> i32;
    /// The gradient of value `k` at a site.
    fn gradient(&self, site: u32, k: u32) -> [f32; 2];
    /// Offset and step of value `k`.
    fn scale(&self, k: u32) -> [f64; 2];
}

impl Scene {
    /// The centre of a cell.
    #[inline(always)]
    pub fn centre(&self, column: u32, row: u32) -> [f64; 2] {
        [
            self.origin_x + (column as f64 + 0.5) * self.cell_size,
            self.origin_y - (row as f64 + 0.5) * self.cell_size,
        ]
    }

    /// What to look for from a place.
    #[inline(always)]
    pub fn query(&self, at: [f64; 2], most: u32) -> Query {
        let (half_window, give_up) = (self.half_window, self.give_up);
        Query { at, own: WINDOW, half_window, give_up, most }
    }

    /// Interpolates a cell by the rings of sites; `write(k, value)` gets its values. `None` where the rings do not
    /// tell them; only wide ones tell of what is far. Where it `BLENDS` it can do the smooth interpolant. `again` gives the scene once more: what is
    /// wanted only in the end then takes no registers before.
    #[inline(always)]
    pub fn cell_by_rings<
        const BLENDS: bool,
        P: Fn(u32) -> [f64; 2],
        I: Fn(u32) -> u32,
        R: Rings,
    >(
        &self,
        cell: Cell,
        index: &Index<P, I>,
        rings: R,
        sites: &impl Sites,
        again: impl Fn() -> Self,
        write: impl FnMut(u32, f32),
    ) -> Option<Answer> {
        let at = self.centre(cell.column, cell.row);
        let query = self.query(at, NEAR);
        let found =
            if R::ARE_WIDE { index.nearest_by_rings(&query, rings) } else { index.nearest(&query) };
        let mut result = Outcome { scene: again, cell, found, sites, write };
        if found.end == End::Exceeded {
            return None;
        }
        if self.is_without_weights(cell, found) {
            return Some(result.without_weights());
        }
        let walk = Walk::begin(index, rings, at, found.nearest, self.half_window)?;
        result.weighted::<BLENDS>(&Walked { walk, weights: self.weights })
    }

    /// Half the side of the window to clip a cell in whose centre lies clearly outside the hull: 0 where it does not,
    /// or the rings, with wide ones among them, do not tell. Without it the search finds out by itself, but must go
    /// through the rows of all sites for that.
    #[inline(always)]
    pub fn window_outside<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32>(
        &self,
        cell: Cell,
        index: &Index<P, I>,
        rings: impl Rings,
    ) -> f64 {
        let at = self.centre(cell.column, cell.row);
        let found = index.nearest_by_rings(&self.query(at, NEAR), rings);
        let near = self.open_window(found);
        let is_outside =
            near > 0.0 && Walk::opens(index, rings, at, found.nearest, 2.0 * LEAST_ANGLE);
        if is_outside { near } else { 0.0 }
    }

    /// Half the side of the window round a place outside the hull, of which the nearest site is known; 0 where that is not,
    /// or the window is no smaller than another's.
    #[inline(always)]
    pub fn open_window(&self, found: Found) -> f64 {
        let near = OPEN_WINDOW * math::sqrt(found.squared);
        let is_smaller = near < self.half_extent && self.half_window >= self.half_extent;
        if found.end == End::Found && is_smaller { near } else { 0.0 }
    }

    /// Interpolates a cell by clipping, a team together; the leader's `write(k, value)` gets its values, and its
    /// answer counts. `outside` is what [`window_outside`](Self::window_outside) gave, or 0. `None` where the slots do
    /// not suffice. `again` as above.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub fn cell_by_clipping<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots, T: Team>(
        &self,
        team: T,
        cell: Cell,
        outside: f64,
        index: &Index<P, I>,
        slots: &mut Q,
        sites: &impl Sites,
        again: impl Fn() -> Self,
        write: impl FnMut(u32, f32),
    ) -> Option<Answer> {
        let mut query = self.query(self.centre(cell.column, cell.row), T::MOST);
        if outside > 0.0 {
            query.half_window = outside;
        }
        let mut polygon = Polygon::new(slots, team);
        let mut found;
        // Goes round twice at most; a loop, so that the code for the search stands once.
        loop {
            if cell.is_left_out() {
                // Its nearest site is all that is asked.
                found = index.nearest_of_all(&query);
                break;
            }
            found = index.cell(&query, &mut polygon);
            let near = OPEN_WINDOW * math::sqrt(found.squared);
            let is_unlimited = query.half_window >= self.half_extent && near < self.half_extent;
            // On the hull a cell has no end either, but does not widen.
            let is_outside = || polygon.widens(LEAST_ANGLE, |name| index.line(&query, name));
            if self.is_without_weights(cell, found) || !(is_unlimited && is_outside()) {
                break;
            }
            query.half_window = near;
        }
        let mut result = Outcome { scene: again, cell, found, sites, write };
        if found.end == End::Exceeded {
            return None;
        }
        if self.is_without_weights(cell, found) {
            return Some(if team.leads() { result.without_weights() } else { Answer::NONE });
        }
        let clipped = Clipped::weigh(index, &query, &mut polygon, self.weights);
        if team.leads() { result.weighted::<true>(&clipped) } else { Some(Answer::NONE) }
    }

    /// Whether the search alone tells what becomes of a cell.
    #[inline(always)]
    fn is_without_weights(&self, cell: Cell, found: Found) -> bool {
        found.end != End::Found || found.squared > self.max_squared || cell.is_left_out()
    }

    /// The value of a cell that is left out, if neither that nor its distance takes a search for the nearest site. A masked
    /// one is not filled.
    #[inline(always)]
    pub fn value_left_out(&self, cell: Cell, is_masked: bool, has_distances: bool) -> Option<f32> {
        let fill = if is_masked { FILL_NOT } else { self.fill };
        let is_known = cell.is_left_out() && !has_distances && fill != FILL_NEAREST;
        is_known.then_some(if fill == FILL_VALUE { self.fill_value } else { f32::NAN })
    }

    /// Estimates the gradients at a site that has a ring; `write(k, gradient)` gets them.
    #[inline(always)]
    pub fn gradients_by_ring<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32>(
        &self,
        site: u32,
        index: &Index<P, I>,
        ring: impl Ring,
        sites: &impl Sites,
        write: impl FnMut(u32, [f32; 2]),
    ) {
        planes(Planes::weigh(RingSides { index, site, ring }), site, sites, write);
    }

    /// Estimates the gradients at a site, a team together; the leader's `write(k, gradient)` gets them. `false`
    /// where the slots do not suffice.
    #[inline(always)]
    pub fn gradients_by_clipping<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots, T: Team>(
        &self,
        team: T,
        site: u32,
        index: &Index<P, I>,
        slots: &mut Q,
        sites: &impl Sites,
        write: impl FnMut(u32, [f32; 2]),
    ) -> bool {
        let at = (index.place)(site);
        let half_window = self.half_extent;
        let (give_up, most) = (f64::INFINITY, T::MOST);
        let query = Query { at, own: site, half_window, give_up, most };
        let mut polygon = Polygon::new(slots, team);
        if index.cell(&query, &mut polygon).end == End::Exceeded {
            return false;
        }
        let sides = ClippedSides::measure(index, &query, &mut polygon);
        if team.leads() {
            planes(Planes::weigh(sides), site, sites, write);
        }
        true
    }
}

/// Gives the gradients of all values at a site.
#[inline(always)]
fn planes<E: weights::Sides>(
    planes: Planes<E>,
    site: u32,
    sites: &impl Sites,
    mut write: impl FnMut(u32, [f32; 2]),
) {
    let mut k = 0;
    while k < sites.values() {
        write(k, planes.gradient(sites.value(site, k), |other| sites.value(other, k)));
        k += 1;
    }
}

/// What becomes of a cell after the search.
struct Outcome<'a, T, C, W> {
    /// Gives the scene.
    scene: C,
    cell: Cell,
    found: Found,
    sites: &'a T,
    write: W,
}

impl<T: Sites, C: Fn() -> Scene, W: FnMut(u32, f32)> Outcome<'_, T, C, W> {
    /// Writes a value, or what fills its place where there is none.
    #[inline(always)]
    fn finish(&mut self, k: u32, mut value: f32) {
        if value.is_nan() {
            let scene = (self.scene)();
            value = match scene.fill {
                FILL_NEAREST if self.found.nearest < WINDOW => self.value_of(self.found.nearest, k),
                FILL_VALUE => scene.fill_value,
                _ => f32::NAN,
            };
        }
        (self.write)(k, value);
    }

    #[inline(always)]
    fn value_of(&self, site: u32, k: u32) -> f32 {
        let [offset, step] = self.sites.scale(k);
        (offset + self.sites.value(site, k) as f64 * step) as f32
    }

    #[inline(always)]
    fn answer(&self) -> Answer {
        let distance = (math::sqrt(self.found.squared) / (self.scene)().cell_size) as f32;
        Answer { count: 0, distance, deviation: f32::NAN }
    }

    /// Writes the values of a place at which a site lies, or that has no site near enough, or is left out.
    #[inline(always)]
    fn without_weights(&mut self) -> Answer {
        let is_on_site = self.found.end == End::OnSite && !self.cell.is_left_out();
        let mut k = 0;
        while k < self.sites.values() {
            let value = if is_on_site { self.value_of(self.found.nearest, k) } else { f32::NAN };
            self.finish(k, value);
            k += 1;
        }
        let mut answer = self.answer();
        if is_on_site {
            (answer.count, answer.deviation) = (1, 0.0);
        }
        answer
    }

    /// Writes the weighted values; `None` where neighbours are missing.
    #[inline(always)]
    fn weighted<const BLENDS: bool>(&mut self, neighbours: &impl Natural) -> Option<Answer> {
        let sites = self.sites;
        let values = sites.values();
        // For the deviation the ways to the sites are two values more. Each goes round by itself: that
        // takes the fewest registers.
        let all = if (self.scene)().has_deviations { values + 2 } else { values };
        let (mut count, mut way, mut k) = (0, [f64::NAN; 2], 0);
        while k < all {
            let scene = (self.scene)();
            let mut sums = Sums::<BLENDS>::new(scene.weights);
            let are_all = neighbours.each(|site, weight, way| {
                let value = || match k.wrapping_sub(values) {
                    0 => way[0],
                    1 => way[1],
                    _ => sites.value(site, k) as f64,
                };
                let gradient = || if k < values { sites.gradient(site, k) } else { [0.0; 2] };
                sums.add(weight, way, value, gradient);
            });
            if !are_all {
                return None;
            }
            count = sums.count;
            if k < values {
                let [offset, step] = sites.scale(k);
                let value = sums.value().map_or(f32::NAN, |value| (offset + value * step) as f32);
                self.finish(k, value);
            } else {
                let mean = sums.mean().unwrap_or(f64::NAN);
                way = if k == values { [mean, way[1]] } else { [way[0], mean] };
            }
            k += 1;
        }
        let away = math::sqrt(way[0] * way[0] + way[1] * way[1]);
        let deviation = (away / (self.scene)().cell_size) as f32;
        Some(Answer { count, deviation, ..self.answer() })
    }
}
