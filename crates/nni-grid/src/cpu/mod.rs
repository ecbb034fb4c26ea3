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

mod finish;
mod query;

use std::ops::ControlFlow;

use gpu_core::{GridSpec, GridView, Progress, host_memory};
use kernels_rs::nni::values::MOST_VALUES;
use rayon::prelude::*;

use crate::{
    Dem, Duplicates, Error, Method, Params, Points, QueryLimits, Request, Result, Summary,
    ValueScale, exact,
};
use query::Scene;

/// The sites of a Voronoi raster, with `N` values each.
#[derive(Clone, Debug, PartialEq)]
pub struct Sites<const N: usize> {
    /// Byte mask of the raster, row-major: 1 at a site.
    pub mask: Vec<u8>,
    /// Values of each site, each in the fixed point of a [`ValueScale`]; 0 elsewhere.
    pub values: Vec<[i32; N]>,
    /// Points outside the raster.
    pub outside: u64,
    /// Pixels with a point.
    pub occupied: u64,
}

impl<const N: usize> Sites<N> {
    /// The same on the raster turned by half a circle.
    fn turned(&self) -> Self {
        Self {
            mask: self.mask.iter().rev().copied().collect(),
            values: self.values.iter().rev().copied().collect(),
            ..*self
        }
    }
}

/// [`interpolate`](crate::interpolate) on the CPU.
///
/// # Errors
/// As [`interpolate`](crate::interpolate).
pub fn interpolate(points: Points, params: &Params, progress: &dyn Progress) -> Result<Dem> {
    points.check_lengths()?;
    let request = Request { x: points.x, y: points.y, values: &[points.z], mask: None };
    let mut dems = interpolate_all(&request, params, progress)?;
    Ok(dems.swap_remove(0))
}

/// [`interpolate_all`](crate::interpolate_all) on the CPU.
///
/// # Errors
/// As [`interpolate_all`](crate::interpolate_all).
pub fn interpolate_all(
    request: &Request,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Vec<Dem>> {
    if params.method == Method::Exact {
        return exact::cpu::interpolate_all(request, params, progress);
    }
    let limits = QueryLimits::of(params)?;
    request.check(params)?;
    let raster = params.raster()?;
    let of_pixel = 30 + 16 * request.values.len().min(MOST_VALUES) as u64;
    let of_cell = 8 + 4 * request.values.len() as u64;
    host_memory::require(raster.cells() * of_pixel + params.grid.cells() * of_cell)?;
    let mut run = Run { request, params, limits: &limits, progress, nearest: None };
    let mut dems = Vec::new();
    let mut rest = request.values;
    // The same steps for 4, 2 or 1 values at once, which know their number when they are compiled.
    while !rest.is_empty() {
        rest = match rest {
            [a, b, c, d, rest @ ..] => run.several([a, b, c, d], rest, &mut dems)?,
            [a, b, rest @ ..] => run.several([a, b], rest, &mut dems)?,
            [a, rest @ ..] => run.several([a], rest, &mut dems)?,
            [] => rest,
        };
    }
    Ok(dems)
}

/// What a call works on.
struct Run<'a> {
    request: &'a Request<'a>,
    params: &'a Params,
    limits: &'a QueryLimits,
    progress: &'a dyn Progress,
    /// The diagram, and that of the turned raster, once they have been made.
    nearest: Option<[Vec<u32>; 2]>,
}

impl Run<'_> {
    /// Interpolates several values in one pass, and gives back the rest.
    fn several<'r, const N: usize>(
        &mut self,
        columns: [&[f64]; N],
        rest: &'r [&'r [f64]],
        dems: &mut Vec<Dem>,
    ) -> Result<&'r [&'r [f64]]> {
        let (request, params, progress) = (self.request, self.params, self.progress);
        let raster = params.raster()?;
        report(progress, "rasterise", 0.0)?;
        let scales = columns.map(ValueScale::of);
        let sites = rasterise(request.x, request.y, columns, &raster, scales, params.duplicates)?;
        report(progress, "rasterise", 1.0)?;
        // Ties go to the lowest index in one diagram, and in the turned one the other way.
        let turned = sites.turned();
        let [nearest, turned_nearest] = match &mut self.nearest {
            Some(nearest) => nearest,
            None => {
                let diagram = |sites: &Sites<N>| {
                    let grid = GridSpec::of_pixels(raster.width, raster.height);
                    let mask = GridView::new(&sites.mask, grid)?;
                    pba_voronoi::cpu::nearest_sites(mask, progress)
                };
                self.nearest
                    .insert([diagram(&sites)?.into_values(), diagram(&turned)?.into_values()])
            }
        };
        let limits = self.limits;
        let other =
            Scene { nearest: turned_nearest, sites: &turned, raster, limits, scales, params };
        let other = other.query_cells(progress)?;
        drop(turned);
        let scene = Scene { nearest, sites: &sites, raster, limits, scales, params };
        let mut layers = scene.query_cells(progress)?;
        layers.unite(&other);
        let distances = scene.finish(&mut layers.values, request.mask)?;
        let points = request.x.len() as u64;
        for values in layers.values {
            let summary = Summary {
                points,
                outside: sites.outside,
                sites: sites.occupied,
                merged: points - sites.outside - sites.occupied,
                nodata: values.par_iter().filter(|value| value.is_nan()).count() as u64,
            };
            dems.push(Dem {
                grid: params.grid,
                values,
                counts: params.counts.then(|| layers.counts.clone()),
                distances: distances.clone(),
                deviations: params.deviations.then(|| layers.deviations.clone()),
                summary,
            });
        }
        Ok(rest)
    }
}

fn report(progress: &dyn Progress, stage: &'static str, fraction: f64) -> Result<()> {
    match progress.report(stage, fraction) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

/// Makes each pixel with points a site, its values merged by the policy. `z` has a column for each
/// value.
///
/// # Errors
/// [`Error::Core`] where memory fails.
pub fn rasterise<const N: usize>(
    x: &[f64],
    y: &[f64],
    z: [&[f64]; N],
    raster: &GridSpec,
    scales: [ValueScale; N],
    policy: Duplicates,
) -> Result<Sites<N>> {
    let pixels = raster.cells() as usize;
    let mut counts = host_memory::filled(0u32, pixels)?;
    let mut merged = host_memory::filled([0i64; N], pixels)?;
    let mut outside = 0;
    for (point, (&x, &y)) in x.iter().zip(y).enumerate() {
        let Some((column, row)) = raster.cell_of(x, y) else {
            outside += 1;
            continue;
        };
        let pixel = row as usize * raster.width as usize + column as usize;
        for k in 0..N {
            let value = i64::from(scales[k].quantise(z[k][point]));
            let old = merged[pixel][k];
            merged[pixel][k] = match policy {
                _ if counts[pixel] == 0 => value,
                Duplicates::Mean => old + value,
                Duplicates::Min => old.min(value),
                Duplicates::Max => old.max(value),
                Duplicates::First => old,
                Duplicates::Last => value,
            };
        }
        counts[pixel] += 1;
    }
    let finish = |merged: i64, count: u32| match (policy, i64::from(count)) {
        (_, 0) => 0,
        // The nearest integer, halves upward.
        (Duplicates::Mean, n) => (2 * merged + n).div_euclid(2 * n) as i32,
        _ => merged as i32,
    };
    let of_pixel = |(merged, &count): (&[i64; N], &u32)| merged.map(|sum| finish(sum, count));
    let values = merged.par_iter().zip(&counts).map(of_pixel).collect();
    let mask: Vec<u8> = counts.par_iter().map(|&count| u8::from(count > 0)).collect();
    let occupied = mask.par_iter().map(|&site| u64::from(site)).sum();
    Ok(Sites { mask, values, outside, occupied })
}
