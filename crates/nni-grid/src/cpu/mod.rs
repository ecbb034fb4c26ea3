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

use gpu_core::{GridSpec, Progress, host_memory};
use pba_voronoi::Outputs;
use rayon::prelude::*;

use crate::{
    Dem, Duplicates, Error, Params, Points, QueryLimits, Request, Result, Summary, ValueScale,
};
use query::Scene;

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
    let limits = QueryLimits::of(params)?;
    request.check(params)?;
    let raster = params.raster()?;
    let of_pixel = 25 + 4 * request.values.len() as u64;
    host_memory::require(raster.cells() * of_pixel + params.grid.cells() * 8)?;
    let mut nearest: Option<Vec<u32>> = None;
    let of_column = |column: usize| -> Result<Dem> {
        let points = request.points(column);
        report(progress, "rasterise", 0.0)?;
        let scale = ValueScale::of(points.z);
        let sites = rasterise(points, &raster, scale, params.duplicates)?;
        report(progress, "rasterise", 1.0)?;
        let nearest = match &mut nearest {
            Some(nearest) => nearest,
            None => {
                let none = Outputs::default();
                let (width, height) = (raster.width, raster.height);
                let diagram =
                    pba_voronoi::cpu::voronoi(&sites.mask, width, height, none, progress)?;
                nearest.insert(diagram.nearest)
            }
        };
        let scene = Scene { nearest, sites: &sites, raster, limits: &limits, scale, params };
        let mut layers = scene.query_cells(progress)?;
        let distances = scene.finish(&mut layers.values, request.mask)?;
        let points = points.z.len() as u64;
        let summary = Summary {
            points,
            outside: sites.outside,
            sites: sites.occupied,
            merged: points - sites.outside - sites.occupied,
            nodata: layers.values.par_iter().filter(|value| value.is_nan()).count() as u64,
        };
        Ok(Dem {
            grid: params.grid,
            values: layers.values,
            counts: params.counts.then_some(layers.counts),
            distances,
            deviations: params.deviations.then_some(layers.deviations),
            summary,
        })
    };
    (0..request.values.len()).map(of_column).collect()
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
