//! A DEM whose cells are interpolated one by one: what host and device do alike.

use device_std::math;

use super::polygon::{Polygon, Slots, WINDOW};
use super::search::{End, Index, Query};
use super::weights::{Neighbours, Planes, SMOOTH};
use crate::nni::finish::{FILL_NEAREST, FILL_VALUE, finished};

/// Half the side of the window round a query point outside the hull, in distances of the nearest site.
///
/// There the cell has no end, and most of it would be so far away that all sites along the hull count
/// alike. The window keeps the estimate to what is near.
const OPEN_WINDOW: f64 = 8.0;

/// The least angle between the ends of a cell outside the hull.
const LEAST_ANGLE: f64 = 1.0 / 1024.0;

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
    /// Sites count whose squared distance is below this.
    pub site_limit: f64,
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
}

/// What belongs to a cell beside its values.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Sites that count.
    pub count: u32,
    /// The distance to the nearest site, in cells.
    pub distance: f32,
    /// The local-coordinates deviation, in cells.
    pub deviation: f32,
}

impl Answer {
    /// That of a masked cell.
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

    /// Interpolates a cell; `write(k, value)` gets its values. `hull` has the first and the last column of the row that is
    /// inside the hull. `None` where the slots, or blocks of `most` cells to each side, do not suffice.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub fn cell<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots>(
        &self,
        [column, row]: [u32; 2],
        index: &Index<P, I>,
        sites: &impl Sites,
        slots: &mut Q,
        most: u32,
        hull: [i32; 2],
        mut write: impl FnMut(u32, f32),
    ) -> Option<Answer> {
        let at = self.centre(column, row);
        let (half_window, give_up) = (self.half_window, self.give_up);
        let mut query = Query { at, own: WINDOW, half_window, give_up, most };
        let mut polygon = Polygon { slots, len: 0 };
        let mut found;
        // Goes round twice at most; a loop, so that the code for the search stands once.
        loop {
            found = index.cell(&query, &mut polygon);
            let near = OPEN_WINDOW * math::sqrt(found.squared);
            let is_unlimited = query.half_window >= self.half_extent && near < self.half_extent;
            // On the hull a cell has no end either, but does not widen.
            let is_outside = polygon.open_border() > LEAST_ANGLE * query.half_window;
            if !(found.end == End::Found && is_unlimited && is_outside) {
                break;
            }
            query.half_window = near;
        }
        if found.end == End::Exceeded {
            return None;
        }
        let is_near = found.squared <= self.max_squared;
        let mut out = |k: u32, value: f32| {
            let fill = match self.fill {
                FILL_NEAREST if found.nearest < WINDOW => {
                    let [offset, step] = sites.scale(k);
                    Some((offset + sites.value(found.nearest, k) as f64 * step) as f32)
                }
                FILL_VALUE => Some(self.fill_value),
                _ => None,
            };
            write(k, finished(value, column as i32, hull, is_near, false, fill));
        };
        let distance = (math::sqrt(found.squared) / self.cell_size) as f32;
        let mut answer = Answer { count: 0, distance, deviation: f32::NAN };
        if found.end != End::Found || found.squared >= self.site_limit {
            let is_on_site = found.end == End::OnSite;
            let mut k = 0;
            while k < sites.values() {
                let mut value = f32::NAN;
                if is_on_site {
                    let [offset, step] = sites.scale(k);
                    value = (offset + sites.value(found.nearest, k) as f64 * step) as f32;
                }
                out(k, value);
                k += 1;
            }
            if is_on_site {
                (answer.count, answer.deviation) = (1, 0.0);
            }
            return Some(answer);
        }
        let all = Neighbours::weigh(index, &query, &mut polygon, self.weights, self.site_limit);
        let mut k = 0;
        while k < sites.values() {
            let value = |site: u32| sites.value(site, k);
            let mean = match self.weights {
                SMOOTH => all.smooth(value, |site| sites.gradient(site, k)),
                _ => all.mean(value),
            };
            let [offset, step] = sites.scale(k);
            out(k, mean.map_or(f32::NAN, |mean| (offset + mean * step) as f32));
            k += 1;
        }
        answer.count = all.count;
        answer.deviation = (all.deviation() / self.cell_size) as f32;
        Some(answer)
    }

    /// Estimates the gradients at a site; `write(k, gradient)` gets them. `false` where the slots, or
    /// blocks of `most` cells to each side, do not suffice.
    #[inline(always)]
    pub fn gradients<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots>(
        &self,
        site: u32,
        index: &Index<P, I>,
        sites: &impl Sites,
        slots: &mut Q,
        most: u32,
        mut write: impl FnMut(u32, [f32; 2]),
    ) -> bool {
        let at = (index.place)(site);
        let half_window = self.half_extent;
        let query = Query { at, own: site, half_window, give_up: f64::INFINITY, most };
        let mut polygon = Polygon { slots, len: 0 };
        if index.cell(&query, &mut polygon).end == End::Exceeded {
            return false;
        }
        let planes = Planes::weigh(index, &query, &mut polygon);
        let mut k = 0;
        while k < sites.values() {
            write(k, planes.gradient(sites.value(site, k), |other| sites.value(other, k)));
            k += 1;
        }
        true
    }
}
