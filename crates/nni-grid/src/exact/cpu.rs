//! The exact method on the CPU, on all cores.

use std::ops::Range;

use delaunay_stars::SiteStars;
use gpu_core::parallel::{self, FINE};
use gpu_core::{Extent, Grid, Progress, fused, host_memory};
use kernels_rs::nni::exact::merge::Merge;
use kernels_rs::nni::exact::scene::{Answer, Cell, Scene, Sites};
use kernels_rs::nni::exact::weights::{LINEAR, SIBSON, SMOOTH};
use kernels_rs::stars::predicates::{Predicates, sure};

use super::stars::{Members, site_near, stars_of_finite};
use super::{policy_of, scene_of};
use crate::params::OnGrid;
use crate::{Dem, Input, Result, Summary, ValueScale, Weights};

/// The values of sites, and if they are wanted their gradients.
struct Table {
    values: Vec<i32>,
    gradients: Vec<[f32; 2]>,
    scales: Vec<ValueScale>,
}

impl Table {
    /// Merges the values of points at one place.
    fn new(input: &Input, extent: &Extent, members: &Members, params: &OnGrid) -> Result<Self> {
        let columns = input.points.values;
        let scales = scales_of(extent, columns.len(), params);
        let count = scales.len();
        let mut values = host_memory::filled(0i32, (members.firsts.len() - 1) * count)?;
        let policy = policy_of(params.duplicates);
        parallel::for_chunks(&mut values, count.max(1), |site, values| {
            let points = members.firsts[site] as usize..members.firsts[site + 1] as usize;
            for (k, value) in values.iter_mut().enumerate() {
                let mut merge = Merge::new(policy);
                for &point in &members.points[points.clone()] {
                    merge.add(scales[k].quantise(columns[k][point as usize]));
                }
                *value = merge.value();
            }
        });
        Ok(Self { values, gradients: Vec::new(), scales })
    }

    /// Estimates the gradients of all values at all sites.
    fn estimate_gradients(&mut self, stars: &SiteStars, scene: &Scene) -> Result<()> {
        let count = self.scales.len();
        let mut gradients = host_memory::filled([0.0f32; 2], self.values.len())?;
        parallel::for_chunks(&mut gradients, count.max(1), |site, gradients| {
            let write = |k: u32, gradient| gradients[k as usize] = gradient;
            fused(
                #[inline(always)]
                || scene.gradients(stars, self, site as u32, write),
            );
        });
        self.gradients = gradients;
        Ok(())
    }
}

impl Sites for Table {
    fn values(&self) -> u32 {
        self.scales.len() as u32
    }
    fn value(&self, site: u32, k: u32) -> i32 {
        self.values[site as usize * self.scales.len() + k as usize]
    }
    fn gradient(&self, site: u32, k: u32) -> [f32; 2] {
        self.gradients[site as usize * self.scales.len() + k as usize]
    }
    fn scale(&self, k: u32) -> [f64; 2] {
        let ValueScale { offset, step } = self.scales[k as usize];
        [offset, step]
    }
}

/// The results and the scratch of a row of cells.
struct Row {
    /// All cells' first value, then all cells' second.
    values: Vec<f32>,
    answers: Vec<Answer>,
}

/// As [`interpolate`](crate::interpolate).
pub(crate) fn interpolate(input: &Input, params: &OnGrid, progress: &dyn Progress) -> Result<Dem> {
    let extent = input.check()?;
    let (x, y, values) = (input.points.x, input.points.y, input.points.values.len());
    if values == 0 {
        return Ok(Dem::without_values(params.grid));
    }
    let (points, cells) = (x.len() as u64, params.grid.cells());
    // What a triangulation takes while it runs; less stays of it, with the points of sites and their values.
    let of_point = 136 + 4 * values as u64;
    let of_cell = 12 + 4 * values as u64;
    host_memory::require(points * of_point + cells * of_cell)?;
    let (stars, kept) = stars_of_finite(x, y, &params.grid, progress)?;
    let scene = scene_of(params, stars.scale, stars.predicates);
    let mut table = Table::new(input, &extent, &Members::of(&stars, kept.as_deref())?, params)?;
    if params.weights == Weights::SibsonC1 {
        progress.at("gradients", 0.0)?;
        table.estimate_gradients(&stars, &scene)?;
    }
    let mut layers = Layers::new(params, values)?;
    let mask = input.mask.map(|mask| mask.values());
    let work = Work { stars: &stars, table: &table, scene: &scene, mask };
    match params.weights {
        Weights::Sibson | Weights::Laplace => layers.fill::<SIBSON>(&work, progress)?,
        Weights::SibsonC1 => layers.fill::<SMOOTH>(&work, progress)?,
        Weights::Linear => layers.fill::<LINEAR>(&work, progress)?,
    }
    let inside = |i: usize| params.grid.cell_of(x[i], y[i]).is_some();
    let outside = parallel::count(x.len(), FINE, |i| !inside(i));
    let sites = stars.len() as u64;
    let first = &layers.values[0];
    let nodata = parallel::count(first.len(), FINE, |i| first[i].is_nan());
    let summary = Summary { points, outside, sites, merged: points - sites, nodata };
    layers.into_dem(params, summary)
}

/// The data that cells are interpolated from.
struct Work<'a> {
    stars: &'a SiteStars,
    table: &'a Table,
    scene: &'a Scene,
    mask: Option<&'a [u8]>,
}

impl Work<'_> {
    /// Interpolates a row of cells, each from the site that is nearest to the one before.
    fn row<const WEIGHTS: u32>(&self, row: usize) -> Row {
        fused(
            #[inline(always)]
            || self.row_inlined::<WEIGHTS>(row),
        )
    }

    #[inline(always)]
    fn row_inlined<const WEIGHTS: u32>(&self, row: usize) -> Row {
        let width = self.scene.columns as usize;
        let mut values = vec![f32::NAN; width * self.table.scales.len()];
        let mut answers = Vec::with_capacity(width);
        let mut hint = site_near(self.stars, self.scene.centre(0, row as u32));
        let predicates = Predicates::new(self.scene.unit);
        for column in 0..width {
            let is_masked = self.mask.is_some_and(|mask| mask[row * width + column] == 0);
            let cell = Cell { column: column as u32, row: row as u32, is_masked };
            let write = |k: u32, value| values[k as usize * width + column] = value;
            let (stars, sites) = ((self.stars, &predicates), self.table);
            let answer =
                self.scene.interpolate::<WEIGHTS, _, _, _>(stars, sites, cell, &mut hint, write);
            answers.push(sure(answer));
        }
        Row { values, answers }
    }
}

/// The scales of the columns of values.
fn scales_of(extent: &Extent, columns: usize, params: &OnGrid) -> Vec<ValueScale> {
    let of = |k: usize| match extent.ranges.get(k) {
        Some(&range) => ValueScale::of_range(params.widened(range)),
        None => ValueScale::of(&[]),
    };
    (0..columns).map(of).collect()
}

/// The results of a call, cell by cell.
struct Layers {
    values: Vec<Vec<f32>>,
    counts: Option<Vec<u32>>,
    distances: Option<Vec<f32>>,
    deviations: Option<Vec<f32>>,
}

impl Layers {
    /// Layers to be filled.
    fn new(params: &OnGrid, values: usize) -> Result<Self> {
        let cells = params.grid.cells() as usize;
        let layer = |wanted: bool, value: f32| match wanted {
            true => host_memory::filled(value, cells).map(Some),
            false => Ok(None),
        };
        let filled = (0..values).map(|_| host_memory::filled(f32::NAN, cells));
        Ok(Self {
            values: filled.collect::<Result<_, _>>()?,
            counts: params.counts.then(|| host_memory::filled(0u32, cells)).transpose()?,
            distances: layer(params.distances, f32::INFINITY)?,
            deviations: layer(params.deviations, f32::NAN)?,
        })
    }

    /// Fills them, in bands of rows, so that this thread reports progress.
    fn fill<const WEIGHTS: u32>(&mut self, work: &Work, progress: &dyn Progress) -> Result<()> {
        let (width, height) = (work.scene.columns as usize, work.scene.rows as usize);
        let band = height.div_ceil(32).max(1);
        for first in (0..height).step_by(band) {
            progress.at("query", first as f64 / height as f64)?;
            let last = height.min(first + band);
            let rows = parallel::map(last - first, 1, |row| work.row::<WEIGHTS>(first + row));
            for (row, done) in (first..last).zip(rows) {
                self.put(row * width..(row + 1) * width, done);
            }
        }
        Ok(progress.at("query", 1.0)?)
    }

    /// Takes over the cells of a row.
    fn put(&mut self, cells: Range<usize>, row: Row) {
        for (layer, values) in self.values.iter_mut().zip(row.values.chunks(cells.len().max(1))) {
            layer[cells.clone()].copy_from_slice(values);
        }
        for (cell, answer) in cells.zip(row.answers) {
            self.counts.iter_mut().for_each(|counts| counts[cell] = answer.count);
            self.distances.iter_mut().for_each(|all| all[cell] = answer.distance);
            self.deviations.iter_mut().for_each(|all| all[cell] = answer.deviation);
        }
    }

    fn into_dem(self, params: &OnGrid, summary: Summary) -> Result<Dem> {
        let grid = params.grid;
        let floats = |layer: Option<Vec<f32>>| layer.map(|layer| Grid::new(layer, grid));
        Ok(Dem {
            grid,
            values: self
                .values
                .into_iter()
                .map(|layer| Grid::new(layer, grid))
                .collect::<Result<_, _>>()?,
            counts: self.counts.map(|layer| Grid::new(layer, grid)).transpose()?,
            distances: floats(self.distances).transpose()?,
            deviations: floats(self.deviations).transpose()?,
            summary,
        })
    }
}
