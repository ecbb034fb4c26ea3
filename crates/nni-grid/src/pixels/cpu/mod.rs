//! The method on pixels on the CPU, on all cores.
//!
//! Plan:
//!
//! 1. [`rasterise`]: points become the sites of the Voronoi raster, in input order, on one core.
//! 2. `pba_voronoi::nearest_sites`: the nearest site of every pixel.
//! 3. The query runs in parallel over rows of cells. If its circle is small, a cell visits each of its pixels, row by
//!    row of its spans, and sums the values of the pixels that it steals. Otherwise it walks over the rows of stolen
//!    pixels, by the same functions as the kernels (`kernels_rs::nni::pixels::spans`).

mod finish;
mod query;

use gpu_core::parallel::{self, FINE};
use gpu_core::{Device, Extent, Grid, GridSpec, GridView, Progress, host_memory};
use kernels_rs::nni::pixels::values::MAX_VALUES;

use crate::params::OnGrid;
use crate::pixels::limits::QueryLimits;
use crate::{Dem, Duplicates, Input, Result, Summary, ValueScale};
use query::Scene;

/// The sites of a Voronoi raster, with `N` values each.
struct Sites<const N: usize> {
    /// Byte mask of the raster, row-major: 1 at a site.
    mask: Vec<u8>,
    /// Values of each site, each in the fixed point of a [`ValueScale`]; 0 elsewhere.
    values: Vec<[i32; N]>,
    /// Points outside the raster.
    outside: u64,
    /// Pixels with a point.
    occupied: u64,
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

/// Interpolates by the method on pixels.
pub(crate) fn interpolate(input: &Input, params: &OnGrid, progress: &dyn Progress) -> Result<Dem> {
    let limits = QueryLimits::of(params)?;
    let extent = input.check()?;
    let (raster, values) = (params.raster()?, input.points.values);
    let of_pixel = 30 + 16 * values.len().min(MAX_VALUES) as u64;
    let of_cell = 8 + 4 * values.len() as u64;
    host_memory::require(raster.cells() * of_pixel + params.grid.cells() * of_cell)?;
    let (dem, spans) = (Dem::without_values(params.grid), limits.spans());
    let mut run = Run {
        input,
        extent: &extent,
        params,
        limits: &limits,
        progress,
        spans,
        nearest: None,
        dem,
    };
    let mut first = 0;
    // The same steps for 4, 2 or 1 values at once, which know their number when they are compiled.
    while first < values.len() {
        first += match &values[first..] {
            [a, b, c, d, ..] => run.several(first, [a, b, c, d])?,
            [a, b, ..] => run.several(first, [a, b])?,
            rest => run.several(first, [rest[0]])?,
        };
    }
    Ok(run.dem)
}

/// The state of a call.
struct Run<'a> {
    input: &'a Input<'a>,
    extent: &'a Extent,
    params: &'a OnGrid,
    limits: &'a QueryLimits,
    progress: &'a dyn Progress,
    /// The spans of the rows of the query circle.
    spans: Vec<i32>,
    /// The diagram, and that of the turned raster, once they have been made.
    nearest: Option<[Vec<u32>; 2]>,
    /// The result so far.
    dem: Dem,
}

impl Run<'_> {
    /// Interpolates several columns of values, from the `first` on, in one pass; gives how many.
    fn several<const N: usize>(&mut self, first: usize, columns: [&[f64]; N]) -> Result<usize> {
        let (points, progress) = (&self.input.points, self.progress);
        // The layers beside the values are those of the first group.
        let params = &if first == 0 { *self.params } else { self.params.values_alone() };
        let raster = params.raster()?;
        progress.at("rasterise", 0.0)?;
        let scale = |k: usize| match self.extent.ranges.get(first + k) {
            Some(&range) => ValueScale::of_range(params.widened(range)),
            None => ValueScale::of(&[]),
        };
        let scales = std::array::from_fn(scale);
        let sites = rasterise(points.x, points.y, columns, &raster, scales, params.duplicates)?;
        progress.at("rasterise", 1.0)?;
        // Ties go to the lowest index in one diagram, and in the turned one the other way.
        let turned = sites.turned();
        let [nearest, turned_nearest] = match &mut self.nearest {
            Some(nearest) => nearest,
            None => {
                let nearest = nearest_sites(&sites.mask, &raster, progress)?;
                let turned = nearest_sites(&turned.mask, &raster, progress)?;
                self.nearest.insert([nearest, turned])
            }
        };
        let (limits, spans) = (self.limits, &self.spans[..]);
        let other = Scene {
            nearest: turned_nearest,
            sites: &turned,
            raster,
            limits,
            spans,
            scales,
            params,
        };
        let other = other.query_cells(progress)?;
        drop(turned);
        let scene = Scene { nearest, sites: &sites, raster, limits, spans, scales, params };
        let mut layers = scene.query_cells(progress)?;
        layers.unite(&other);
        let mask = self.input.mask.map(|mask| mask.values());
        let distances = scene.finish(&mut layers.values, mask)?;
        let (grid, dem) = (params.grid, &mut self.dem);
        if first == 0 {
            let points = points.len() as u64;
            dem.summary = Summary {
                points,
                outside: sites.outside,
                sites: sites.occupied,
                merged: points - sites.outside - sites.occupied,
                nodata: parallel::count(layers.values[0].len(), FINE, |i| {
                    layers.values[0][i].is_nan()
                }),
            };
            let counts = params.counts.then_some(layers.counts);
            let deviations = params.deviations.then_some(layers.deviations);
            dem.counts = counts.map(|layer| Grid::new(layer, grid)).transpose()?;
            dem.deviations = deviations.map(|layer| Grid::new(layer, grid)).transpose()?;
            dem.distances = distances.map(|layer| Grid::new(layer, grid)).transpose()?;
        }
        for values in layers.values {
            dem.values.push(Grid::new(values, grid)?);
        }
        Ok(N)
    }
}

/// The index of the nearest site of each pixel; of sites at one distance the lowest.
fn nearest_sites(mask: &[u8], raster: &GridSpec, progress: &dyn Progress) -> Result<Vec<u32>> {
    let mask = GridView::new(mask, GridSpec::of_pixels(raster.width, raster.height))?;
    Ok(pba_voronoi::nearest_sites(Device::Cpu.with_progress(progress), mask)?.into_values())
}

/// Makes each pixel with points a site, its values merged by the policy. `z` has a column for each
/// value.
fn rasterise<const N: usize>(
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
    let of_pixel = |i: usize| merged[i].map(|sum| finish(sum, counts[i]));
    let values = parallel::map(pixels, FINE, of_pixel);
    let mask = parallel::map(pixels, FINE, |i| u8::from(counts[i] > 0));
    let occupied = parallel::count(pixels, FINE, |i| counts[i] > 0);
    Ok(Sites { mask, values, outside, occupied })
}
