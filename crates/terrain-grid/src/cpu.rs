//! The products on the CPU, on all cores. The functions for a cell and for a square are the kernels' own.

mod contours;

use std::ops::Range;

use gpu_core::parallel;
use gpu_core::{Grid, GridSpec, GridView, Progress, host_memory};
use kernels_rs::terrain::{
    self as kernels, Edge, Level, Nodata, Product, Scale, Visitor, product_of,
};

pub use contours::contours;

use crate::ground::Scales;
use crate::params::check_grid;
use crate::{Edges, ProductParams, Result};

/// How often a product reports its progress, at most.
const REPORTS: usize = 32;

/// [`product`](crate::product()) on the CPU.
///
/// # Errors
/// The errors of [`product`](crate::product()).
pub fn product(
    dem: GridView<'_, f32>,
    params: &ProductParams,
    progress: &dyn Progress,
) -> Result<Grid<f32>> {
    check_grid(dem.grid())?;
    let (kind, is_horn, recipe, scales) = params.recipe(dem.grid())?;
    let scale_of = move |row: usize| match &scales {
        Scales::Same(scale) => *scale,
        Scales::OfRows(parallels) => recipe.scale(parallels.sides_of(row as u32)),
    };
    let (edges, stage) = (params.edges, params.product.name());
    kernels::visit(kind, is_horn, Rows { dem, scale_of: &scale_of, edges, stage, progress })
}

/// The rows of a product, to be made.
struct Rows<'a> {
    dem: GridView<'a, f32>,
    scale_of: &'a (dyn Fn(usize) -> Scale + Sync),
    edges: Edges,
    stage: &'static str,
    progress: &'a dyn Progress,
}

impl Visitor for Rows<'_> {
    type Output = Result<Grid<f32>>;

    fn visit<P: Product>(self) -> Result<Grid<f32>> {
        match self.edges {
            Edges::Nodata => self.make::<P, Nodata>(),
            Edges::Level => self.make::<P, Level>(),
        }
    }
}

impl Rows<'_> {
    fn make<P: Product, E: Edge>(&self) -> Result<Grid<f32>> {
        let (dem, grid) = (self.dem.values(), *self.dem.grid());
        let (width, height) = (grid.width as usize, grid.height as usize);
        let mut out = host_memory::filled(f32::NAN, dem.len())?;
        let are_large =
            if P::HAS_SIZE { self.rows_of_large_heights() } else { vec![false; height] };
        for band in bands(if width > 0 { height } else { 0 }) {
            report(self.progress, self.stage, band.start, height)?;
            let rows = &mut out[band.start * width..band.end * width];
            parallel::for_chunks(rows, width, |i, line| {
                let y = band.start + i;
                let (scale, size) = ((self.scale_of)(y), (width, height));
                match are_large[y.saturating_sub(1)..height.min(y + 2)].contains(&true) {
                    false => make_row::<P, E, true>(dem, size, y, &scale, line),
                    true => make_row::<P, E, false>(dem, size, y, &scale, line),
                }
            });
        }
        report(self.progress, self.stage, 1, 1)?;
        Ok(Grid::new(out, grid)?)
    }

    /// Which rows have a height with which a gradient might be too large for an ordinary product.
    fn rows_of_large_heights(&self) -> Vec<bool> {
        let (dem, rows) = (self.dem.values(), self.dem.grid().height as usize);
        let limits = (0..rows).map(|row| kernels::ordinary_height(&(self.scale_of)(row)));
        let (width, limit) = (dem.len() / rows.max(1), limits.fold(f32::INFINITY, f32::min));
        parallel::map(rows, 64, |row| {
            let heights = &dem[row * width..][..width];
            // A sum, unlike a search, takes several cells at once. NaN is not above.
            heights.iter().map(|height| u32::from(height.abs() > limit)).sum::<u32>() > 0
        })
    }
}

/// Makes a row of a product. Cells at the border of the raster have NaN beyond it.
fn make_row<P: Product, E: Edge, const IS_ORDINARY: bool>(
    dem: &[f32],
    (width, height): (usize, usize),
    y: usize,
    scale: &Scale,
    line: &mut [f32],
) {
    let at_border = |x: usize| {
        product_of::<P, E, IS_ORDINARY>(
            std::array::from_fn(|i| {
                // Offsets 0, 1, 2 stand for -1, 0, 1.
                let (x, y) = ((x + i % 3).wrapping_sub(1), (y + i / 3).wrapping_sub(1));
                if x < width && y < height { dem[y * width + x] } else { f32::NAN }
            }),
            scale,
        )
    };
    if y == 0 || y + 1 == height || width < 3 {
        return line.iter_mut().enumerate().for_each(|(x, cell)| *cell = at_border(x));
    }
    let [above, own, below] = [y - 1, y, y + 1].map(|row| dem[row * width..][..width].windows(3));
    let inner = line[1..width - 1].iter_mut().zip(above).zip(own).zip(below);
    for (((cell, a), b), c) in inner {
        let n = [a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]];
        *cell = product_of::<P, E, IS_ORDINARY>(n, scale);
    }
    (line[0], line[width - 1]) = (at_border(0), at_border(width - 1));
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

/// Returns the means over blocks of `factor` x `factor` cells. NaN cells do not count, and the last blocks of rows and
/// columns may be smaller. For overviews. `factor` 0 counts as 1.
///
/// ```
/// use gpu_core::{GridSpec, GridView, Silent};
/// use terrain_grid::averaged;
///
/// let dem = [1.0, 3.0, 5.0, f32::NAN, 1.0, 3.0, 5.0, 5.0];
/// let dem = GridView::new(&dem, GridSpec::of_pixels(4, 2))?;
/// assert_eq!(averaged(dem, 2, &Silent)?.values(), [2.0, 5.0]);
/// # Ok::<(), terrain_grid::Error>(())
/// ```
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
