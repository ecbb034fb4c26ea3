//! Natural neighbour interpolation on the CPU, on all cores.
//!
//! Plan:
//!
//! 1. [`rasterise`]: points become the sites of the Voronoi raster, in input order, on one core.
//! 2. `pba_voronoi::cpu`: the nearest site of every pixel.
//! 3. The query, in parallel over rows of cells: where the circle is small a cell looks at each of
//!    its pixels, row by row of its spans, and sums the values of those that it steals; else it
//!    goes over the rows of what it steals, by the same functions as the kernels
//!    (`kernels_rs::nni::spans`).

use std::ops::ControlFlow;

use gpu_core::{GridSpec, Progress, host_memory};
use kernels_rs::nni::Areas;
use kernels_rs::nni::geometry::{Width, mean, squared};
use kernels_rs::nni::spans::Diagram;
use pba_voronoi::Outputs;
use rayon::prelude::*;

use crate::{
    Circle, Dem, Duplicates, Error, Params, Points, QueryLimits, Result, Summary, ValueScale,
};

/// The sites of a Voronoi raster.
#[derive(Clone, Debug, PartialEq)]
pub struct Sites {
    /// Byte mask of the raster, row-major: 1 at a site.
    pub mask: Vec<u8>,
    /// Value of each site, in the fixed point of a [`ValueScale`]; 0 elsewhere.
    pub values: Vec<i32>,
    /// Points outside the raster.
    pub outside: u64,
    /// Pixels with a point.
    pub occupied: u64,
}

/// [`interpolate`](crate::interpolate) on the CPU.
///
/// # Errors
/// As [`interpolate`](crate::interpolate).
pub fn interpolate(points: Points, params: &Params, progress: &dyn Progress) -> Result<Dem> {
    points.check()?;
    let limits = QueryLimits::of(params)?;
    let raster = params.raster()?;
    let cells = params.grid.cells();
    host_memory::require(raster.cells() * 21 + cells * 8)?;

    report(progress, "rasterise", 0.0)?;
    let scale = ValueScale::of(points.z);
    let sites = rasterise(points, &raster, scale, params.duplicates)?;
    report(progress, "rasterise", 1.0)?;

    let none = Outputs::default();
    let (width, height) = (raster.width, raster.height);
    let diagram = pba_voronoi::cpu::voronoi(&sites.mask, width, height, none, progress)?;
    let scene = Scene { nearest: &diagram.nearest, sites: &sites, raster, limits: &limits, scale };

    let (values, counts) = scene.query_cells(params, progress)?;
    let summary = Summary {
        points: points.z.len() as u64,
        outside: sites.outside,
        sites: sites.occupied,
        merged: points.z.len() as u64 - sites.outside - sites.occupied,
        nodata: values.iter().filter(|value| value.is_nan()).count() as u64,
    };
    Ok(Dem { grid: params.grid, values, counts: params.counts.then_some(counts), summary })
}

fn report(progress: &dyn Progress, stage: &'static str, fraction: f64) -> Result<()> {
    match progress.report(stage, fraction) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

/// Makes each pixel with points a site, its value merged by the policy.
///
/// # Errors
/// [`Error::Core`] where memory fails.
pub fn rasterise(
    points: Points,
    raster: &GridSpec,
    scale: ValueScale,
    policy: Duplicates,
) -> Result<Sites> {
    let pixels = raster.cells() as usize;
    let mut counts = host_memory::filled(0u32, pixels)?;
    let mut merged = host_memory::filled(0i64, pixels)?;
    let mut outside = 0;
    for ((&x, &y), &z) in points.x.iter().zip(points.y).zip(points.z) {
        let Some((column, row)) = raster.cell_of(x, y) else {
            outside += 1;
            continue;
        };
        let pixel = row as usize * raster.width as usize + column as usize;
        let value = i64::from(scale.quantise(z));
        let old = merged[pixel];
        merged[pixel] = match policy {
            _ if counts[pixel] == 0 => value,
            Duplicates::Mean => old + value,
            Duplicates::Min => old.min(value),
            Duplicates::Max => old.max(value),
            Duplicates::First => old,
            Duplicates::Last => value,
        };
        counts[pixel] += 1;
    }
    let finish = |(&merged, &count): (&i64, &u32)| match (policy, i64::from(count)) {
        (_, 0) => 0,
        // The nearest integer, halves upward.
        (Duplicates::Mean, n) => (2 * merged + n).div_euclid(2 * n) as i32,
        _ => merged as i32,
    };
    let values = merged.par_iter().zip(&counts).map(finish).collect();
    let mask: Vec<u8> = counts.par_iter().map(|&count| u8::from(count > 0)).collect();
    let occupied = mask.par_iter().map(|&site| u64::from(site)).sum();
    Ok(Sites { mask, values, outside, occupied })
}

/// What the queries look at.
struct Scene<'a> {
    nearest: &'a [u32],
    sites: &'a Sites,
    raster: GridSpec,
    limits: &'a QueryLimits,
    scale: ValueScale,
}

impl Scene<'_> {
    /// The value and the count of every cell.
    fn query_cells(
        &self,
        params: &Params,
        progress: &dyn Progress,
    ) -> Result<(Vec<f32>, Vec<u32>)> {
        let (width, height) = (params.grid.width as usize, params.grid.height as usize);
        let supersample = params.supersample;
        let mut values = host_memory::filled(f32::NAN, width * height)?;
        let mut counts = host_memory::filled(0u32, width * height)?;
        if self.sites.occupied == 0 || values.is_empty() {
            return Ok((values, counts));
        }
        let pixel_width = self.raster.width as usize;
        let spans = self.limits.circle.as_ref().map(|circle| &circle.spans[..]);
        let diagram = Diagram {
            nearest: |x: i32, y: i32| self.nearest[y as usize * pixel_width + x as usize],
            width: Width::new(self.raster.width, Width::reciprocal(self.raster.width)),
            extent: [self.raster.width as i32, self.raster.height as i32],
            circle_rows: spans.map_or(i32::MAX, |spans| spans.len() as i32),
            reach: |k: i32| spans.map_or(i32::MAX, |spans| spans[k as usize]),
        };
        let sums = match self.limits.small_circle() {
            None if self.limits.site_limit == u64::MAX => Some(self.sums_before()?),
            _ => None,
        };
        let query = |q: [i32; 2]| {
            let cell = diagram.stolen_by(q);
            let value = |site: u32| self.sites.values[site as usize];
            let areas = match self.limits.small_circle() {
                Some(circle) => match self.pixel_by_pixel(q, circle, diagram.width) {
                    (_, 0) => Areas::touching(&cell, self.limits.site_limit, value),
                    stolen => return stolen,
                },
                None => {
                    let before = sums.as_ref().map(|sums| |pixel: usize| sums[pixel]);
                    Areas::of(&cell, self.limits.site_limit, value, before)
                }
            };
            (areas.sum, areas.count)
        };
        // Bands of rows, so that progress is told of from this thread.
        let band = height.div_ceil(32);
        let cells = values.chunks_mut(width * band).zip(counts.chunks_mut(width * band));
        for (index, (values, counts)) in cells.enumerate() {
            let first = index * band;
            report(progress, "query", first as f64 / height as f64)?;
            let rows = values.par_chunks_mut(width).zip(counts.par_chunks_mut(width));
            rows.enumerate().for_each(|(row, (values, counts))| {
                let y = supersample * (2 * (first + row) as u32 + 1);
                for (column, (value, cell_count)) in values.iter_mut().zip(counts).enumerate() {
                    let x = supersample * (2 * column as u32 + 1);
                    let (sum, count) = query([x as i32, y as i32]);
                    *cell_count = count;
                    *value = mean(sum, count, self.scale.offset, self.scale.step);
                }
            });
        }
        report(progress, "query", 1.0)?;
        Ok((values, counts))
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

    /// The sum and the number of the pixels of a circle that a query point, in half pixels, steals.
    #[inline(always)]
    fn pixel_by_pixel(&self, q: [i32; 2], circle: &Circle, width: Width) -> (i64, u32) {
        let (mut sum, mut count) = (0, 0);
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
