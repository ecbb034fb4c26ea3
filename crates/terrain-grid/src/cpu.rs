//! The products on the CPU, on all cores, by the kernels' own functions of a cell and of a square.

use gpu_core::{GridSpec, host_memory};
use kernels_rs::terrain as kernels;
use kernels_rs::terrain::{Degrees, Percent, Piece, Product, product_of};
use rayon::prelude::*;

use crate::contours::{self, Contour, Pieces};
use crate::params::check;
use crate::{Edges, Levels, Light, Result, Slope, SlopeUnit};

/// [`slope`](crate::slope) on the CPU.
///
/// # Errors
/// As [`slope`](crate::slope).
pub fn slope(dem: &[f32], grid: &GridSpec, how: &Slope) -> Result<Vec<f32>> {
    check(dem, grid)?;
    let factor_squared = how.factor_squared(grid.cell_size)?;
    match how.unit {
        SlopeUnit::Degrees => each_cell(dem, grid, how.edges, Degrees { factor_squared }),
        SlopeUnit::Percent => each_cell(dem, grid, how.edges, Percent { factor_squared }),
    }
}

/// [`hillshade`](crate::hillshade) on the CPU.
///
/// # Errors
/// As [`hillshade`](crate::hillshade).
pub fn hillshade(dem: &[f32], grid: &GridSpec, light: &Light) -> Result<Vec<f32>> {
    check(dem, grid)?;
    each_cell(dem, grid, light.edges, light.shade(grid.cell_size)?)
}

/// A product of every cell.
fn each_cell<P: Product + Send + Sync>(
    dem: &[f32],
    grid: &GridSpec,
    edges: Edges,
    product: P,
) -> Result<Vec<f32>> {
    each_cell_of_rows(dem, grid, edges, |_| Ok(product))
}

/// A product of every cell, which each row has of its own.
pub(crate) fn each_cell_of_rows<P: Product + Send + Sync>(
    dem: &[f32],
    grid: &GridSpec,
    edges: Edges,
    of_row: impl Fn(usize) -> Result<P>,
) -> Result<Vec<f32>> {
    let products = (0..grid.height as usize).map(of_row).collect::<Result<Vec<P>>>()?;
    match edges {
        Edges::Nodata => {
            each_neighbourhood(dem, grid, |y, n| product_of::<P, false>(n, products[y]))
        }
        Edges::Level => each_neighbourhood(dem, grid, |y, n| product_of::<P, true>(n, products[y])),
    }
}

/// A raster of a function of each cell's row and neighbourhood, NaN beyond the DEM.
fn each_neighbourhood(
    dem: &[f32],
    grid: &GridSpec,
    of: impl Fn(usize, [f32; 9]) -> f32 + Sync,
) -> Result<Vec<f32>> {
    let mut out = host_memory::filled(f32::NAN, dem.len())?;
    if dem.is_empty() {
        return Ok(out);
    }
    let (width, height) = (grid.width as usize, grid.height as usize);
    out.par_chunks_mut(width).enumerate().for_each(|(y, line)| {
        for (x, cell) in line.iter_mut().enumerate() {
            *cell = of(
                y,
                std::array::from_fn(|i| {
                    // Offsets 0, 1, 2 stand for -1, 0, 1.
                    let (x, y) = ((x + i % 3).wrapping_sub(1), (y + i / 3).wrapping_sub(1));
                    if x < width && y < height { dem[y * width + x] } else { f32::NAN }
                }),
            );
        }
    });
    Ok(out)
}

/// [`contours`](fn@crate::contours) on the CPU.
///
/// # Errors
/// As [`contours`](fn@crate::contours).
pub fn contours(dem: &[f32], grid: &GridSpec, levels: &Levels) -> Result<Vec<Contour>> {
    check(dem, grid)?;
    levels.check()?;
    let (low, high) = if levels.needs_range() { range(dem) } else { (0.0, 0.0) };
    let levels = levels.within(low, high)?;
    contours::join(dem, grid, &levels, &pieces(dem, grid, &levels))
}

/// The lowest and the highest value; the wrong way round where there is none.
fn range(dem: &[f32]) -> (f64, f64) {
    let nothing = || (f32::INFINITY, f32::NEG_INFINITY);
    let (low, high) = dem
        .par_iter()
        .fold(nothing, |(low, high), &v| (low.min(v), high.max(v)))
        .reduce(nothing, |a, b| (a.0.min(b.0), a.1.max(b.1)));
    (low.into(), high.into())
}

/// The pieces of all lines, square by square.
fn pieces(dem: &[f32], grid: &GridSpec, levels: &[f64]) -> Pieces {
    let (width, height) = (grid.width as usize, grid.height as usize);
    let of_row = |y: usize| {
        let mut pieces = Vec::new();
        for x in 0..width.saturating_sub(1) {
            let north = y * width + x;
            let south = north + width;
            let corners = [dem[north], dem[north + 1], dem[south + 1], dem[south]];
            kernels::levels_of(
                corners,
                levels.len() as u32,
                |i| levels[i as usize],
                |level, height| {
                    let square = [x as u32, y as u32];
                    kernels::pieces(corners, height, |from, to| {
                        pieces.push(Piece { square, level, from, to });
                    });
                },
            );
        }
        pieces
    };
    let rows: Vec<Vec<Piece>> = (0..height.saturating_sub(1)).into_par_iter().map(of_row).collect();
    let mut starts = vec![0];
    starts.extend(rows.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    }));
    Pieces { all: rows.into_iter().flatten().collect(), starts }
}

/// Means over blocks of `factor` x `factor` cells, of the cells that are not NaN; the last blocks of
/// rows and columns may be smaller. For overviews. `factor` 0 counts as 1.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) unless there is a value for each cell, and
/// [`Error::Core`](crate::Error::Core) where memory fails.
pub fn averaged(dem: &[f32], grid: &GridSpec, factor: u32) -> Result<(Vec<f32>, GridSpec)> {
    check(dem, grid)?;
    let factor = factor.max(1);
    let (columns, rows) = (grid.width.div_ceil(factor), grid.height.div_ceil(factor));
    let cell_size = grid.cell_size * f64::from(factor);
    let coarse = GridSpec { cell_size, width: columns, height: rows, ..*grid };
    let mut out = host_memory::filled(f32::NAN, columns as usize * rows as usize)?;
    if out.is_empty() {
        return Ok((out, coarse));
    }
    let (factor, width, height) = (factor as usize, grid.width as usize, grid.height as usize);
    out.par_chunks_mut(columns as usize).enumerate().for_each(|(row, line)| {
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
    Ok((out, coarse))
}
