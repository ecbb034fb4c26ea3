//! Rasters that lie beside each other, put together.

use gpu_core::{Grid, GridSpec, GridView, host_memory};
use rayon::prelude::*;

use crate::cell::exact_key;
use crate::params::Window;
use crate::{Cell, Error, MAX_SIDE, Params, Result};

/// How far from a whole cell a raster's corner may lie: coordinates of files are rounded.
const TOLERANCE: f64 = 1e-3;

/// One raster of those that lie beside each other, in any order and of any sides. Where none has a cell, the
/// result has the parameters' NODATA, or NaN.
///
/// # Errors
/// [`Error::Part`] for a raster whose cells are of another size than the first's, or do not lie on its grid, or lie where
/// an earlier one's do; [`Error::Gap`] where cells are in none and no value stands for NODATA; [`Error::TooLarge`];
/// [`Error::Core`] where there is not the memory.
pub fn mosaic<T: Cell>(parts: &[GridView<'_, T>], params: &Params) -> Result<Grid<T>> {
    let parts: Vec<_> = parts.iter().filter(|part| part.grid().cells() > 0).collect();
    let Some(first) = parts.first() else {
        return Ok(Grid::new(Vec::new(), GridSpec::of_pixels(0, 0))?);
    };
    let cell_size = first.grid().cell_size;
    let mut corners = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let corner = corner_of(part.grid(), first.grid());
        corners.push(corner.map_err(|reason| Error::Part { index, reason })?);
    }
    let west = corners.iter().map(|corner| corner.0).min().unwrap_or(0);
    let north = corners.iter().map(|corner| corner.1).min().unwrap_or(0);
    let mut places: Vec<Window> = Vec::with_capacity(parts.len());
    for (index, (part, (column, row))) in parts.iter().zip(corners).enumerate() {
        // Both are below three times the largest side.
        let (column0, row0) = ((column - west) as u32, (row - north) as u32);
        let (column1, row1) = (column0 + part.grid().width, row0 + part.grid().height);
        let place = Window { row0, column0, row1, column1 };
        if places.iter().any(|earlier| earlier.and(place).is_some()) {
            return Err(Error::Part { index, reason: "lies where an earlier one does" });
        }
        places.push(place);
    }
    let origin_x = parts.iter().map(|part| part.grid().origin_x).fold(f64::INFINITY, f64::min);
    let origin_y = parts.iter().map(|part| part.grid().origin_y).fold(f64::NEG_INFINITY, f64::max);
    let width = places.iter().map(|place| place.column1).max().unwrap_or(0);
    let height = places.iter().map(|place| place.row1).max().unwrap_or(0);
    if width.max(height) > MAX_SIDE {
        return Err(Error::TooLarge { width, height });
    }
    let grid = GridSpec { origin_x, origin_y, cell_size, width, height };
    let covered: u64 = places.iter().map(|place| place.cells()).sum();
    let empty = params.nodata.and_then(exact_key::<T>).map(T::of_key).or(T::MISSING);
    let fill = match empty {
        Some(value) => value,
        None if covered == grid.cells() => T::of_key(T::ENDS.0),
        None => return Err(Error::Gap { cells: grid.cells() - covered }),
    };
    let mut values = host_memory::filled(fill, grid.cells() as usize)?;
    values.par_chunks_mut(width as usize).enumerate().for_each(|(row, line)| {
        for (place, part) in places.iter().zip(&parts) {
            let Some(row) = (row as u32).checked_sub(place.row0) else { continue };
            if let Some(from) =
                part.values().chunks_exact(part.grid().width as usize).nth(row as usize)
            {
                line[place.column0 as usize..place.column1 as usize].copy_from_slice(from);
            }
        }
    });
    Ok(Grid::new(values, grid)?)
}

/// The column and the row of a raster's corner, counted from the first raster's.
fn corner_of(grid: &GridSpec, first: &GridSpec) -> Result<(i64, i64), &'static str> {
    let cell_size = first.cell_size;
    let span = f64::from(grid.width.max(grid.height));
    if (grid.cell_size - cell_size).abs() * span > TOLERANCE * cell_size {
        return Err("has cells of another size");
    }
    let far = [grid.origin_x - first.origin_x, first.origin_y - grid.origin_y];
    let [column, row] = far.map(|far| far / cell_size);
    if grid.width.max(grid.height) > MAX_SIDE || column.abs().max(row.abs()) > f64::from(MAX_SIDE) {
        return Err("lies too far from the first one");
    }
    let on_grid = |at: f64| (at - at.round()).abs() <= TOLERANCE;
    if !on_grid(column) || !on_grid(row) {
        return Err("does not lie on the first one's grid");
    }
    Ok((column.round() as i64, row.round() as i64))
}
