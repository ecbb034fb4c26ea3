//! The queries of the cells.

use gpu_core::{GridSpec, Progress, host_memory};
use kernels_rs::nni::geometry::{Width, mean, squared};
use kernels_rs::nni::spans::{Cell, Diagram};
use kernels_rs::nni::{Areas, deviation, weighted_value, weights};
use rayon::prelude::*;

use super::{Sites, report};
use crate::{Circle, Params, QueryLimits, Result, ValueScale, Weights};

/// What the queries look at.
pub(super) struct Scene<'a> {
    pub nearest: &'a [u32],
    pub sites: &'a Sites,
    pub raster: GridSpec,
    pub limits: &'a QueryLimits,
    pub scale: ValueScale,
    pub params: &'a Params,
}

/// What the queries give for each cell. `deviations` is empty unless it is asked for.
pub(super) struct Layers {
    pub values: Vec<f32>,
    pub counts: Vec<u32>,
    pub deviations: Vec<f32>,
}

/// The same for one cell.
struct Answer {
    value: f32,
    count: u32,
    deviation: f32,
}

impl Scene<'_> {
    /// The Voronoi diagram as the kernels' functions take it, with the circle or without.
    pub fn diagram(
        &self,
        with_circle: bool,
    ) -> Diagram<impl Fn(i32, i32) -> u32 + Sync, impl Fn(i32) -> i32 + Sync> {
        let (nearest, width) = (self.nearest, self.raster.width as usize);
        let circle = self.limits.circle.as_ref().filter(|_| with_circle);
        let spans = circle.map(|circle| &circle.spans[..]);
        Diagram {
            nearest: move |x: i32, y: i32| nearest[y as usize * width + x as usize],
            width: Width::new(self.raster.width, Width::reciprocal(self.raster.width.max(1))),
            extent: [self.raster.width as i32, self.raster.height as i32],
            circle_rows: spans.map_or(i32::MAX, |spans| spans.len() as i32),
            reach: move |k: i32| spans.map_or(i32::MAX, |spans| spans[k as usize]),
        }
    }

    /// The value, the count and the deviation of every cell.
    pub fn query_cells(&self, progress: &dyn Progress) -> Result<Layers> {
        let params = self.params;
        let cells = params.grid.cells() as usize;
        let mut layers = Layers {
            values: host_memory::filled(f32::NAN, cells)?,
            counts: host_memory::filled(0u32, cells)?,
            deviations: host_memory::filled(f32::NAN, if params.deviations { cells } else { 0 })?,
        };
        if self.sites.occupied == 0 || cells == 0 {
            return Ok(layers);
        }
        let diagram = self.diagram(params.weights == Weights::Sibson);
        match params.weights {
            Weights::Sibson => {
                let small = self.limits.small_circle().filter(|_| !params.deviations);
                let has_sums = small.is_none() && !params.deviations;
                let sums = match has_sums && self.limits.site_limit == u64::MAX {
                    true => Some(self.sums_before()?),
                    false => None,
                };
                self.each_cell(&mut layers, progress, |q| {
                    let areas = self.areas(&diagram.stolen_by(q), q, small, sums.as_deref());
                    Answer {
                        value: mean(areas.sum, areas.count, self.scale.offset, self.scale.step),
                        count: areas.count,
                        deviation: deviation(&areas, params.supersample),
                    }
                })?;
            }
            Weights::Laplace => self.each_cell(&mut layers, progress, |q| {
                let cell = diagram.stolen_by(q);
                let value = |site: u32| self.sites.values[site as usize];
                self.weighted(weights::laplace(&cell, self.limits.site_limit, value), &cell)
            })?,
            Weights::SibsonC1 => {
                let gradients = self.gradients()?;
                self.each_cell(&mut layers, progress, |q| {
                    let cell = diagram.stolen_by(q);
                    let value = |site: u32| self.sites.values[site as usize];
                    let gradient = |site: u32| gradients[site as usize];
                    let limit = self.limits.site_limit;
                    self.weighted(weights::smooth(&cell, limit, value, gradient), &cell)
                })?;
            }
        }
        Ok(layers)
    }

    /// Fills the layers with the answers to the cells' query points, in half pixels.
    fn each_cell(
        &self,
        layers: &mut Layers,
        progress: &dyn Progress,
        answer: impl Fn([i32; 2]) -> Answer + Sync,
    ) -> Result<()> {
        let (width, height) = (self.params.grid.width as usize, self.params.grid.height as usize);
        let position = |i: usize| (self.params.supersample * (2 * i as u32 + 1)) as i32;
        // Bands of rows, so that progress is told of from this thread.
        let band = height.div_ceil(32);
        for first in (0..height).step_by(band) {
            report(progress, "query", first as f64 / height as f64)?;
            let range = first * width..height.min(first + band) * width;
            let values = layers.values[range.clone()].par_chunks_mut(width);
            let counts = layers.counts[range.clone()].par_chunks_mut(width);
            let answers = |row: usize| {
                let y = position(first + row);
                (0..width).map(|column| answer([position(column), y])).collect::<Vec<_>>()
            };
            let write = |values: &mut [f32], counts: &mut [u32], answers: &[Answer]| {
                for (i, answer) in answers.iter().enumerate() {
                    (values[i], counts[i]) = (answer.value, answer.count);
                }
            };
            if self.params.deviations {
                let deviations = layers.deviations[range].par_chunks_mut(width);
                let rows = values.zip(counts).zip(deviations).enumerate();
                rows.for_each(|(row, ((values, counts), deviations))| {
                    let answers = answers(row);
                    write(values, counts, &answers);
                    for (to, answer) in deviations.iter_mut().zip(&answers) {
                        *to = answer.deviation;
                    }
                });
            } else {
                let rows = values.zip(counts).enumerate();
                rows.for_each(|(row, (values, counts))| write(values, counts, &answers(row)));
            }
        }
        report(progress, "query", 1.0)
    }

    /// What a query point steals: pixel by pixel in a small circle, else row by row.
    fn areas<N: Fn(i32, i32) -> u32, R: Fn(i32) -> i32>(
        &self,
        cell: &Cell<'_, N, R>,
        q: [i32; 2],
        small: Option<&Circle>,
        sums: Option<&[i64]>,
    ) -> Areas {
        let value = |site: u32| self.sites.values[site as usize];
        let limit = self.limits.site_limit;
        match small.map(|circle| self.pixel_by_pixel(q, circle)) {
            Some((_, 0)) => Areas::touching(cell, limit, value),
            Some((sum, count)) => Areas { count, sum, way: [0; 2] },
            None => {
                let before = sums.map(|sums| |pixel: usize| sums[pixel]);
                Areas::of(cell, limit, value, before)
            }
        }
    }

    /// The answer from a weighted mean.
    fn weighted<N: Fn(i32, i32) -> u32, R: Fn(i32) -> i32>(
        &self,
        mean: Option<f64>,
        cell: &Cell<'_, N, R>,
    ) -> Answer {
        let value = |site: u32| self.sites.values[site as usize];
        let ValueScale { offset, step } = self.scale;
        let value = weighted_value(mean, cell, self.limits.site_limit, value, offset, step);
        Answer { value, count: 0, deviation: f32::NAN }
    }

    /// The sum of the values of all pixels before each, and before the end.
    fn sums_before(&self) -> Result<Vec<i64>> {
        let mut sums = host_memory::with_capacity(self.nearest.len() + 1)?;
        let mut sum = 0;
        sums.push(sum);
        sums.extend(self.nearest.iter().map(|&site| {
            sum += i64::from(self.sites.values[site as usize]);
            sum
        }));
        Ok(sums)
    }

    /// The gradient of each site, at its pixel.
    fn gradients(&self) -> Result<Vec<[f32; 2]>> {
        let mut gradients = host_memory::filled([0.0; 2], self.nearest.len())?;
        let diagram = self.diagram(false);
        gradients.par_iter_mut().enumerate().for_each(|(pixel, gradient)| {
            if self.nearest[pixel] as usize == pixel {
                let value = |site: u32| self.sites.values[site as usize];
                let own = self.sites.values[pixel];
                *gradient = weights::gradient(&diagram.cell_of(pixel as u32), own, value);
            }
        });
        Ok(gradients)
    }

    /// The sum and the number of the pixels of a circle that a query point, in half pixels, steals.
    #[inline(always)]
    fn pixel_by_pixel(&self, q: [i32; 2], circle: &Circle) -> (i64, u32) {
        let (mut sum, mut count) = (0, 0);
        let width = Width::new(self.raster.width, Width::reciprocal(self.raster.width));
        // The pixel under the query point; where that is a corner, the one to its lower right.
        let (base_x, base_y) = (q[0] >> 1, q[1] >> 1);
        let on_corner = 1 - (q[0] & 1);
        let top = base_y - (circle.spans.len() / 2) as i32;
        for (y, &reach) in (top..).zip(&circle.spans) {
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
                        sum += i64::from(self.sites.values[site as usize]);
                        count += 1;
                    }
                }
            }
        }
        (sum, count)
    }
}
