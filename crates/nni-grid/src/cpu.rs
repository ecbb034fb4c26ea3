//! Natural neighbour interpolation on the CPU, on all cores.
//!
//! Plan:
//!
//! 1. [`rasterise`]: points become the sites of the Voronoi raster, in input order, on one core.
//! 2. `pba_voronoi::cpu`: the nearest site of every pixel.
//! 3. The query, in parallel over rows of cells: a cell looks at the pixels of its circle, row by row
//!    of the [`QueryLimits`]' spans, and sums the values of those that it steals.
//!
//! The arithmetic is the kernels' (`kernels_rs::nni`), step by step.

use std::ops::ControlFlow;

use gpu_core::{GridSpec, Progress, host_memory};
use pba_voronoi::{NONE, Outputs};
use rayon::prelude::*;

use crate::{Dem, Duplicates, Error, Params, Points, QueryLimits, Result, Summary, ValueScale};

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

/// The running sum of a query.
#[derive(Clone, Copy, Default)]
struct Stolen {
    sum: i64,
    count: u32,
}

/// What the queries look at.
struct Scene<'a> {
    nearest: &'a [u32],
    sites: &'a Sites,
    raster: GridSpec,
    limits: &'a QueryLimits,
    scale: ValueScale,
}

/// A query point, in half pixels.
#[derive(Clone, Copy)]
struct Query {
    x: i64,
    y: i64,
}

impl Scene<'_> {
    /// The value and the count of every cell.
    fn query_cells(
        &self,
        params: &Params,
        progress: &dyn Progress,
    ) -> Result<(Vec<f32>, Vec<u32>)> {
        let (width, height) = (params.grid.width as usize, params.grid.height as usize);
        let supersample = i64::from(params.supersample);
        let mut values = host_memory::filled(f32::NAN, width * height)?;
        let mut counts = host_memory::filled(0u32, width * height)?;
        if self.sites.occupied == 0 || values.is_empty() {
            return Ok((values, counts));
        }
        // Bands of rows, so that progress is told of from this thread.
        let band = height.div_ceil(32);
        let cells = values.chunks_mut(width * band).zip(counts.chunks_mut(width * band));
        for (index, (values, counts)) in cells.enumerate() {
            let first = index * band;
            report(progress, "query", first as f64 / height as f64)?;
            let rows = values.par_chunks_mut(width).zip(counts.par_chunks_mut(width));
            rows.enumerate().for_each(|(row, (values, counts))| {
                let y = supersample * (2 * (first + row) as i64 + 1);
                for (column, (value, count)) in values.iter_mut().zip(counts).enumerate() {
                    let x = supersample * (2 * column as i64 + 1);
                    let stolen = self.query(Query { x, y });
                    *count = stolen.count;
                    if stolen.count > 0 {
                        *value = self.scale.mean(stolen.sum, stolen.count);
                    }
                }
            });
        }
        report(progress, "query", 1.0)?;
        Ok((values, counts))
    }

    /// What a query point steals within its circle. Where that is nothing the point is on a site, or
    /// amid four: then the sites among the pixels that touch it.
    fn query(&self, query: Query) -> Stolen {
        let mut stolen = Stolen::default();
        let spans = &self.limits.spans;
        // The pixel under the query point; where that is a corner, the one to its lower right.
        let (base_x, base_y) = (query.x >> 1, query.y >> 1);
        let on_corner = 1 - (query.x & 1);
        let top = base_y - (spans.len() / 2) as i64;
        for (y, &reach) in (top..).zip(spans) {
            if (0..i64::from(self.raster.height)).contains(&y) {
                let from = (base_x - i64::from(reach)).max(0);
                let to = (base_x + i64::from(reach) - on_corner).min(self.last_column());
                for x in from..=to {
                    self.steal(query, x, y, |away, own| away < own, &mut stolen);
                }
            }
        }
        if stolen.count == 0 {
            for y in base_y - on_corner..=base_y {
                for x in base_x - on_corner..=base_x {
                    self.steal(query, x, y, |_, own| own == 0, &mut stolen);
                }
            }
        }
        stolen
    }

    fn last_column(&self) -> i64 {
        i64::from(self.raster.width) - 1
    }

    /// Adds pixel (x, y) if `wanted` says so of its squared distances to the query point and to its
    /// own site, and if the query point is in that site's region of influence.
    #[inline(always)]
    fn steal(
        &self,
        query: Query,
        x: i64,
        y: i64,
        wanted: impl Fn(u64, u64) -> bool,
        stolen: &mut Stolen,
    ) {
        let width = i64::from(self.raster.width);
        let site = self.nearest[(y * width + x) as usize];
        debug_assert_ne!(site, NONE, "a raster with sites has a nearest one everywhere");
        let (site_x, site_y) = (i64::from(site) % width, i64::from(site) / width);
        let squared = |dx: i64, dy: i64| (dx * dx + dy * dy) as u64;
        let away = squared(2 * x + 1 - query.x, 2 * y + 1 - query.y);
        let own = 4 * squared(x - site_x, y - site_y);
        if wanted(away, own) {
            let influence = squared(2 * site_x + 1 - query.x, 2 * site_y + 1 - query.y);
            if influence < self.limits.site_limit {
                stolen.sum += i64::from(self.sites.values[site as usize]);
                stolen.count += 1;
            }
        }
    }
}
