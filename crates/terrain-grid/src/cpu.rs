//! The products on the CPU, on all cores, by the kernels' own functions of a cell and of a square.

mod contours;

use std::ops::Range;

use gpu_core::parallel;
use gpu_core::{Grid, GridSpec, GridView, Progress, host_memory};
use kernels_rs::terrain::{Degrees, Level, Nodata, Percent, Product, product_of};

pub use contours::contours;

use crate::params::check_grid;
use crate::{Edges, HillshadeParams, Result, SlopeParams, SlopeUnit};

/// How often a product reports its progress, at most.
const REPORTS: usize = 32;

/// [`slope`](crate::slope) on the CPU.
///
/// # Errors
/// As [`slope`](crate::slope).
pub fn slope(
    dem: GridView<'_, f32>,
    params: &SlopeParams,
    progress: &dyn Progress,
) -> Result<Grid<f32>> {
    let factor_squared = params.factor_squared(dem.grid().cell_size)?;
    let work = Work { dem, edges: params.edges, stage: "slope", progress };
    match params.unit {
        SlopeUnit::Degrees => work.each_cell(|_| Ok(Degrees { factor_squared })),
        SlopeUnit::Percent => work.each_cell(|_| Ok(Percent { factor_squared })),
    }
}

/// [`hillshade`](crate::hillshade) on the CPU.
///
/// # Errors
/// As [`hillshade`](crate::hillshade).
pub fn hillshade(
    dem: GridView<'_, f32>,
    params: &HillshadeParams,
    progress: &dyn Progress,
) -> Result<Grid<f32>> {
    let shade = params.shade(dem.grid().cell_size)?;
    Work { dem, edges: params.edges, stage: "hillshade", progress }.each_cell(|_| Ok(shade))
}

/// A product of every cell of a DEM.
pub(crate) struct Work<'a> {
    pub dem: GridView<'a, f32>,
    pub edges: Edges,
    pub stage: &'static str,
    pub progress: &'a dyn Progress,
}

impl Work<'_> {
    /// The raster of a product, which each row has of its own.
    pub fn each_cell<P: Product + Send + Sync>(
        &self,
        of_row: impl Fn(usize) -> Result<P>,
    ) -> Result<Grid<f32>> {
        check_grid(self.dem.grid())?;
        let rows = 0..self.dem.grid().height as usize;
        let products = rows.map(of_row).collect::<Result<Vec<P>>>()?;
        match self.edges {
            Edges::Nodata => {
                self.each_neighbourhood(|y, n| product_of::<P, Nodata>(n, products[y]))
            }
            Edges::Level => self.each_neighbourhood(|y, n| product_of::<P, Level>(n, products[y])),
        }
    }

    /// A raster of a function of each cell's row and neighbourhood, NaN beyond the DEM.
    fn each_neighbourhood(&self, of: impl Fn(usize, [f32; 9]) -> f32 + Sync) -> Result<Grid<f32>> {
        let (dem, grid) = (self.dem.values(), *self.dem.grid());
        let (width, height) = (grid.width as usize, grid.height as usize);
        let mut out = host_memory::filled(f32::NAN, dem.len())?;
        for band in bands(if width > 0 { height } else { 0 }) {
            report(self.progress, self.stage, band.start, height)?;
            let rows = &mut out[band.start * width..band.end * width];
            parallel::for_chunks(rows, width, |i, line| {
                let y = band.start + i;
                for (x, cell) in line.iter_mut().enumerate() {
                    let neighbour = |i: usize| {
                        // Offsets 0, 1, 2 stand for -1, 0, 1.
                        let (x, y) = ((x + i % 3).wrapping_sub(1), (y + i / 3).wrapping_sub(1));
                        if x < width && y < height { dem[y * width + x] } else { f32::NAN }
                    };
                    *cell = of(y, std::array::from_fn(neighbour));
                }
            });
        }
        report(self.progress, self.stage, 1, 1)?;
        Ok(Grid::new(out, grid)?)
    }
}

/// Rows cut into ranges, after each of which the caller is told.
fn bands(rows: usize) -> impl Iterator<Item = Range<usize>> {
    let length = rows.div_ceil(REPORTS).max(1);
    (0..rows).step_by(length).map(move |start| start..(start + length).min(rows))
}

/// Tells the caller that `done` of `count` parts of a stage are done.
fn report(progress: &dyn Progress, stage: &'static str, done: usize, count: usize) -> Result<()> {
    Ok(progress.at(stage, done as f64 / count.max(1) as f64)?)
}

/// Means over blocks of `factor` x `factor` cells, of the cells that are not NaN; the last blocks of
/// rows and columns may be smaller. For overviews. `factor` 0 counts as 1.
///
/// # Errors
/// [`Error::TooLarge`](crate::Error::TooLarge), [`Error::Cancelled`](crate::Error::Cancelled), and
/// [`Error::Core`](crate::Error::Core) where the grid or memory fails.
pub fn averaged(dem: GridView<'_, f32>, factor: u32, progress: &dyn Progress) -> Result<Grid<f32>> {
    let (grid, dem) = (dem.grid(), dem.values());
    check_grid(grid)?;
    let factor = factor.max(1);
    let (columns, rows) = (grid.width.div_ceil(factor), grid.height.div_ceil(factor));
    let cell_size = grid.cell_size * f64::from(factor);
    let coarse = GridSpec { cell_size, width: columns, height: rows, ..*grid };
    let mut out = host_memory::filled(f32::NAN, columns as usize * rows as usize)?;
    let (columns, rows) = (columns as usize, if columns > 0 { rows as usize } else { 0 });
    let (factor, width, height) = (factor as usize, grid.width as usize, grid.height as usize);
    for band in bands(rows) {
        report(progress, "average", band.start, rows)?;
        let lines = &mut out[band.start * columns..band.end * columns];
        parallel::for_chunks(lines, columns, |i, line| {
            let row = band.start + i;
            for (column, cell) in line.iter_mut().enumerate() {
                let (x0, x1) = (column * factor, width.min((column + 1) * factor));
                let block = (row * factor..height.min((row + 1) * factor))
                    .flat_map(|y| &dem[y * width + x0..y * width + x1])
                    .filter(|v| !v.is_nan());
                let (sum, count) = block.fold((0.0, 0_u32), |(s, n), &v| (s + f64::from(v), n + 1));
                if count > 0 {
                    *cell = (sum / f64::from(count)) as f32;
                }
            }
        });
    }
    report(progress, "average", 1, 1)?;
    Ok(Grid::new(out, coarse)?)
}
