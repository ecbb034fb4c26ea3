//! The queries of the cells.

use gpu_core::parallel::{self, FINE};
use gpu_core::{GridSpec, Progress, host_memory};
use kernels_rs::nni::pixels::geometry::{Width, mean, squared};
use kernels_rs::nni::pixels::region::{Bounds, Region};
use kernels_rs::nni::pixels::spans::Diagram;
use kernels_rs::nni::pixels::{Areas, deviation, united, weights};

use super::Sites;
use crate::params::OnGrid;
use crate::pixels::limits::QueryLimits;
use crate::{Error, Result, ValueScale, Weights};

/// The data that all queries read.
pub(super) struct Scene<'a, const N: usize> {
    pub nearest: &'a [u32],
    pub sites: &'a Sites<N>,
    pub raster: GridSpec,
    pub limits: &'a QueryLimits,
    /// The spans of the rows of the query circle.
    pub spans: &'a [i32],
    pub scales: [ValueScale; N],
    pub params: &'a OnGrid,
}

/// The results of the queries for each cell. `deviations` is empty unless the parameters want it.
pub(super) struct Layers<const N: usize> {
    pub values: [Vec<f32>; N],
    pub counts: Vec<u32>,
    pub deviations: Vec<f32>,
}

impl<const N: usize> Layers<N> {
    /// Averages the layers with those of the turned raster; of two counts, takes the greater.
    pub fn unite(&mut self, turned: &Self) {
        let floats = |layer: &mut Vec<f32>, other: &Vec<f32>| {
            let last = other.len().wrapping_sub(1);
            parallel::for_each(layer, FINE, |i, a| *a = united(*a, other[last - i]));
        };
        for (values, other) in self.values.iter_mut().zip(&turned.values) {
            floats(values, other);
        }
        floats(&mut self.deviations, &turned.deviations);
        let counts = self.counts.iter_mut().zip(turned.counts.iter().rev());
        counts.for_each(|(a, b)| *a = u32::max(*a, *b));
    }
}

/// The same for one cell.
struct Answer<const N: usize> {
    values: [f32; N],
    count: u32,
    deviation: f32,
}

impl<const N: usize> Scene<'_, N> {
    /// The Voronoi diagram in the form that the kernels' functions take, with or without the circle.
    pub fn diagram(
        &self,
        with_circle: bool,
    ) -> Diagram<impl Fn(i32, i32) -> u32 + Sync, impl Fn(i32) -> i32 + Sync> {
        let (nearest, width) = (self.nearest, self.raster.width as usize);
        let spans = self.limits.circle.filter(|_| with_circle).map(|_| self.spans);
        Diagram {
            nearest: move |x: i32, y: i32| nearest[y as usize * width + x as usize],
            width: Width::new(self.raster.width, Width::reciprocal(self.raster.width.max(1))),
            bounds: Bounds {
                extent: [self.raster.width as i32, self.raster.height as i32],
                circle_rows: spans.map_or(i32::MAX, |spans| spans.len() as i32),
                reach: move |k: i32| spans.map_or(i32::MAX, |spans| spans[k as usize]),
            },
        }
    }

    /// The values, the count and the deviation of every cell.
    pub fn query_cells(&self, progress: &dyn Progress) -> Result<Layers<N>> {
        let params = self.params;
        let cells = params.grid.cells() as usize;
        let mut layers = Layers {
            values: [const { Vec::new() }; N],
            counts: host_memory::filled(0u32, cells)?,
            deviations: host_memory::filled(f32::NAN, if params.deviations { cells } else { 0 })?,
        };
        for values in &mut layers.values {
            *values = host_memory::filled(f32::NAN, cells)?;
        }
        if self.sites.occupied == 0 || cells == 0 {
            return Ok(layers);
        }
        let diagram = self.diagram(params.weights == Weights::Sibson);
        let limit = self.limits.site_limit;
        match params.weights {
            Weights::Sibson => {
                let is_small = self.limits.small_circle().is_some() && !params.deviations;
                let has_sums = !is_small && !params.deviations && limit == u64::MAX;
                let sums = if has_sums { Some(self.sums_before()?) } else { None };
                self.each_cell(&mut layers, progress, |q| {
                    let areas = self.areas(&diagram.stolen_by(q), q, is_small, sums.as_deref());
                    let value = |k: usize| {
                        let ValueScale { offset, step } = self.scales[k];
                        mean(areas.sums[k], areas.count, offset, step)
                    };
                    Answer {
                        values: std::array::from_fn(value),
                        count: areas.count,
                        deviation: deviation(&areas, params.supersample),
                    }
                })?;
            }
            Weights::Laplace => self.each_cell(&mut layers, progress, |q| {
                let cell = diagram.stolen_by(q);
                self.weighted(&cell, || weights::laplace(&cell, limit, |site| self.values(site)))
            })?,
            Weights::SibsonC1 => {
                let gradients = self.gradients()?;
                self.each_cell(&mut layers, progress, |q| {
                    let cell = diagram.stolen_by(q);
                    let gradients = |site: u32| gradients[site as usize];
                    let values = |site| self.values(site);
                    self.weighted(&cell, || weights::smooth(&cell, limit, values, gradients))
                })?;
            }
            // The parameters were checked.
            Weights::Linear => return Err(Error::LinearOnPixels),
        }
        Ok(layers)
    }

    /// The values of a site.
    fn values(&self, site: u32) -> [i32; N] {
        self.sites.values[site as usize]
    }

    /// Fills the layers with the answers to the cells' query points, in half pixels.
    fn each_cell(
        &self,
        layers: &mut Layers<N>,
        progress: &dyn Progress,
        answer: impl Fn([i32; 2]) -> Answer<N> + Sync,
    ) -> Result<()> {
        let (width, height) = (self.params.grid.width as usize, self.params.grid.height as usize);
        let position = |i: usize| (self.params.supersample * (2 * i as u32 + 1)) as i32;
        // Bands of rows, so that this thread reports progress.
        let band = height.div_ceil(32);
        for first in (0..height).step_by(band) {
            progress.at("query", first as f64 / height as f64)?;
            let rows = height.min(first + band) - first;
            let answers_of = |row: usize| {
                let y = position(first + row);
                (0..width).map(|column| answer([position(column), y])).collect::<Vec<_>>()
            };
            let answers = parallel::map(rows, 1, answers_of);
            let range = first * width..(first + rows) * width;
            for (k, values) in layers.values.iter_mut().enumerate() {
                fill_rows(&mut values[range.clone()], &answers, |answer| answer.values[k]);
            }
            fill_rows(&mut layers.counts[range.clone()], &answers, |answer| answer.count);
            if self.params.deviations {
                let deviations = &mut layers.deviations[range];
                fill_rows(deviations, &answers, |answer| answer.deviation);
            }
        }
        Ok(progress.at("query", 1.0)?)
    }

    /// Sums what a query point steals: pixel by pixel in a small circle, else row by row.
    fn areas(
        &self,
        cell: &impl Region,
        q: [i32; 2],
        is_small: bool,
        sums: Option<&[[i64; N]]>,
    ) -> Areas<N> {
        let values = |site| self.values(site);
        let limit = self.limits.site_limit;
        match is_small.then(|| self.pixel_by_pixel(q)) {
            Some((_, 0)) => Areas::touching(cell, limit, values),
            Some((sums, count)) => Areas { count, sums, way: [0; 2] },
            None => {
                let before = sums.map(|sums| |pixel: usize| sums[pixel]);
                Areas::of(cell, limit, values, before)
            }
        }
    }

    /// The answer from weighted means.
    fn weighted(&self, cell: &impl Region, means: impl FnOnce() -> Option<[f64; N]>) -> Answer<N> {
        let limit = self.limits.site_limit;
        let mut values = [f32::NAN; N];
        if !cell.is_beyond(limit) {
            let scale = |k: usize| [self.scales[k].offset, self.scales[k].step];
            let of_site = |site| self.values(site);
            values = weights::weighted_values(means(), cell, limit, of_site, scale);
        }
        Answer { values, count: 0, deviation: f32::NAN }
    }

    /// The sums of the values of all pixels before each, and before the end.
    fn sums_before(&self) -> Result<Vec<[i64; N]>> {
        let mut all = host_memory::with_capacity(self.nearest.len() + 1)?;
        let mut sums = [0; N];
        all.push(sums);
        all.extend(self.nearest.iter().map(|&site| {
            for (sum, value) in sums.iter_mut().zip(self.values(site)) {
                *sum += i64::from(value);
            }
            sums
        }));
        Ok(all)
    }

    /// The gradients of each site, at its pixel.
    fn gradients(&self) -> Result<Vec<[[f32; 2]; N]>> {
        let mut gradients = host_memory::filled([[0.0; 2]; N], self.nearest.len())?;
        let diagram = self.diagram(false);
        parallel::for_each(&mut gradients, 256, |pixel, gradients| {
            if self.nearest[pixel] as usize == pixel {
                let (site, values) = (pixel as u32, |site| self.values(site));
                *gradients = weights::gradients(&diagram.cell_of(site), values(site), values);
            }
        });
        Ok(gradients)
    }

    /// The sums and the number of the pixels of the circle that a query point, in half pixels, steals.
    #[inline(always)]
    fn pixel_by_pixel(&self, q: [i32; 2]) -> ([i64; N], u32) {
        let (mut sums, mut count) = ([0; N], 0);
        let width = Width::new(self.raster.width, Width::reciprocal(self.raster.width));
        // The pixel under the query point; where that is a corner, the one to its lower right.
        let (base_x, base_y) = (q[0] >> 1, q[1] >> 1);
        let on_corner = 1 - (q[0] & 1);
        let top = base_y - (self.spans.len() / 2) as i32;
        for (y, &reach) in (top..).zip(self.spans) {
            if !(0..self.raster.height as i32).contains(&y) {
                continue;
            }
            let first = (base_x - reach).max(0);
            let last = (base_x + reach - on_corner).min(self.raster.width as i32 - 1);
            let row = y as usize * self.raster.width as usize;
            let sites = &self.nearest[row + first as usize..=row + last as usize];
            for (x, &site) in (first..).zip(sites) {
                let (site_x, site_y) = width.split(site);
                let own = 4 * squared(x - site_x, y - site_y);
                if squared(2 * x + 1 - q[0], 2 * y + 1 - q[1]) < own {
                    let influence = squared(2 * site_x + 1 - q[0], 2 * site_y + 1 - q[1]);
                    if influence < self.limits.site_limit {
                        for (sum, value) in sums.iter_mut().zip(self.values(site)) {
                            *sum += i64::from(value);
                        }
                        count += 1;
                    }
                }
            }
        }
        (sums, count)
    }
}

/// Fills rows of a layer with what answers have for it.
fn fill_rows<T: Send, const N: usize>(
    layer: &mut [T],
    rows: &[Vec<Answer<N>>],
    of: impl Fn(&Answer<N>) -> T + Sync,
) {
    let width = rows.first().map_or(1, Vec::len);
    parallel::for_chunks(layer, width, |row, cells| {
        for (cell, answer) in cells.iter_mut().zip(&rows[row]) {
            *cell = of(answer);
        }
    });
}
