//! Mosaics: adjacent rasters, joined into one.

use gpu_core::{Grid, GridSpec, GridView, host_memory, parallel};

use crate::number::exact_rank;
use crate::params::Window;
use crate::{Bound, Error, MAX_SIDE, Number, Result};

/// How far from a whole cell a raster's corner may lie: coordinates of files are rounded.
const TOLERANCE: f64 = 1e-3;

/// Returns where the rasters of a mosaic lie, in any order and of any sides. The result is the grid of all rasters, and
/// the part of it that each raster covers. A raster without cells covers no part, and may lie anywhere.
///
/// ```
/// use ccq_tree::{Window, mosaic_places};
/// use gpu_core::GridSpec;
///
/// // The second grid begins two columns to the east of the first, and a row to the south.
/// let grids = [GridSpec::new(0.0, 2.0, 1.0, 2, 2)?, GridSpec::new(2.0, 1.0, 1.0, 2, 2)?];
/// let (whole, places) = mosaic_places(&grids)?;
/// assert_eq!((whole.width, whole.height), (4, 3));
/// assert_eq!(places[1], Window { row0: 1, column0: 2, row1: 3, column1: 4 });
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Part`]: the cells of a raster differ in size from the first raster's, are not on its grid, or overlap
///   an earlier raster's.
/// - [`Error::TooLarge`]: the grid of all rasters is too large.
pub fn mosaic_places(grids: &[GridSpec]) -> Result<(GridSpec, Vec<Window>)> {
    let Some(other) = grids.iter().position(|grid| grid.cells() > 0) else {
        return Ok((GridSpec::of_pixels(0, 0), vec![Window::default(); grids.len()]));
    };
    let first = &grids[other];
    let mut corners = Vec::with_capacity(grids.len());
    for (index, grid) in grids.iter().enumerate().filter(|(_, grid)| grid.cells() > 0) {
        let corner = corner_of(grid, first);
        corners.push((index, corner.map_err(|reason| Error::Part { index, other, reason })?));
    }
    let west = corners.iter().map(|(_, corner)| corner.0).min().unwrap_or(0);
    let north = corners.iter().map(|(_, corner)| corner.1).min().unwrap_or(0);
    let mut places = vec![Window::default(); grids.len()];
    for &(index, (column, row)) in &corners {
        // Both are below three times the largest side.
        let (column0, row0) = ((column - west) as u32, (row - north) as u32);
        let (column1, row1) = (column0 + grids[index].width, row0 + grids[index].height);
        let place = Window { row0, column0, row1, column1 };
        let other = places[..index].iter().position(|earlier| earlier.and(place).is_some());
        if let Some(other) = other {
            return Err(Error::Part { index, other, reason: "overlaps" });
        }
        places[index] = place;
    }
    let filled = || grids.iter().filter(|grid| grid.cells() > 0);
    let origin_x = filled().map(|grid| grid.origin_x).fold(f64::INFINITY, f64::min);
    let origin_y = filled().map(|grid| grid.origin_y).fold(f64::NEG_INFINITY, f64::max);
    let width = places.iter().map(|place| place.column1).max().unwrap_or(0);
    let height = places.iter().map(|place| place.row1).max().unwrap_or(0);
    if width.max(height) > MAX_SIDE {
        return Err(Error::TooLarge { width, height });
    }
    let cell_size = first.cell_size;
    Ok((GridSpec { origin_x, origin_y, cell_size, width, height }, places))
}

/// Returns the value of a mosaic's cells that lie in none of the rasters: NODATA.
///
/// ```
/// use ccq_tree::{Error, mosaic_fill, mosaic_places};
/// use gpu_core::GridSpec;
///
/// // Two cells, and a cell between them that neither grid has.
/// let grids = [GridSpec::new(0.0, 1.0, 1.0, 1, 1)?, GridSpec::new(2.0, 1.0, 1.0, 1, 1)?];
/// let (whole, places) = mosaic_places(&grids)?;
/// assert_eq!(mosaic_fill::<i16>(&whole, &places, Some((-9999).into()))?, -9999);
/// assert_eq!(mosaic_fill::<i16>(&whole, &places, None), Err(Error::Gap { cells: 1 }));
/// assert!(mosaic_fill::<f32>(&whole, &places, None)?.is_nan());
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Window`]: a place is not a part of the grid, or its end comes before its beginning.
/// - [`Error::Gap`]: the mosaic has such cells, and no value stands for NODATA.
/// - [`Error::Part`]: places have more cells than the grid, so that some overlap, and no value stands for NODATA. Fewer
///   cells are not compared: the places are those of [`mosaic_places`], or do not overlap either.
pub fn mosaic_fill<T: Number>(
    grid: &GridSpec,
    places: &[Window],
    nodata: Option<Bound>,
) -> Result<T> {
    // A raster without cells has a place without any.
    let is_empty = |place: &Window| place.row0 == place.row1 || place.column0 == place.column1;
    let filled = || places.iter().filter(|place| !is_empty(place));
    filled().try_for_each(|place| place.check(grid).map(drop))?;
    if let Some(value) = nodata.and_then(exact_rank::<T>).map(T::of_rank).or(T::MISSING) {
        return Ok(value);
    }
    // The sum is exact: the loop ends before it is above twice the grid's cells.
    let mut covered = 0;
    for (index, place) in places.iter().enumerate() {
        covered += place.cells();
        // The places lie in the grid, so some overlap, of which one comes before this one.
        if covered > grid.cells() {
            return Err(overlap(&places[..=index]));
        }
    }
    match grid.cells() - covered {
        0 => Ok(T::of_rank(T::RANKS.0)),
        cells => Err(Error::Gap { cells }),
    }
}

/// The first place that overlaps an earlier one.
fn overlap(places: &[Window]) -> Error {
    let earlier = |index: usize| {
        let is_common = |other: &Window| other.and(places[index]).is_some();
        Some((index, places[..index].iter().position(is_common)?))
    };
    let (index, other) = (0..places.len()).find_map(earlier).unwrap_or_default();
    Error::Part { index, other, reason: "overlaps" }
}

/// Joins adjacent rasters into one, in any order and of any sides. Cells that no raster has become `nodata`, or NaN.
///
/// ```
/// use ccq_tree::mosaic;
/// use gpu_core::{Grid, GridSpec};
///
/// let west = Grid::new(vec![1i16], GridSpec::new(0.0, 1.0, 1.0, 1, 1)?)?;
/// let east = Grid::new(vec![3i16], GridSpec::new(2.0, 1.0, 1.0, 1, 1)?)?;
/// let whole = mosaic(&[east.view(), west.view()], Some((-9999).into()))?;
/// assert_eq!(whole.values(), [1, -9999, 3]);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`mosaic_places`] and [`mosaic_fill`]; [`Error::Core`] where memory does not suffice.
pub fn mosaic<T: Number>(parts: &[GridView<'_, T>], nodata: Option<Bound>) -> Result<Grid<T>> {
    let parts: Vec<_> = parts.iter().filter(|part| part.grid().cells() > 0).collect();
    let grids: Vec<GridSpec> = parts.iter().map(|part| *part.grid()).collect();
    let (grid, places) = mosaic_places(&grids)?;
    if parts.is_empty() {
        return Ok(Grid::new(Vec::new(), grid)?);
    }
    let fill = mosaic_fill::<T>(&grid, &places, nodata)?;
    let mut values = host_memory::filled(fill, grid.cells() as usize)?;
    parallel::for_chunks(&mut values, grid.width as usize, |row, line| {
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
        return Err("has a cell size that differs from");
    }
    let far = [grid.origin_x - first.origin_x, first.origin_y - grid.origin_y];
    let [column, row] = far.map(|far| far / cell_size);
    if grid.width.max(grid.height) > MAX_SIDE || column.abs().max(row.abs()) > f64::from(MAX_SIDE) {
        return Err("lies too far from");
    }
    let on_grid = |at: f64| (at - at.round()).abs() <= TOLERANCE;
    if !on_grid(column) || !on_grid(row) {
        return Err("does not lie on the grid of");
    }
    Ok((column.round() as i64, row.round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_beyond_the_grid_or_with_swapped_ends_have_no_fill() {
        let grid = GridSpec::of_pixels(4, 3);
        let whole = Window::of(&grid);
        let west = Window { column1: 2, ..whole };
        assert_eq!(mosaic_fill::<u8>(&grid, &[whole, Window::default()], None), Ok(0));
        assert_eq!(mosaic_fill::<u8>(&grid, &[west], None), Err(Error::Gap { cells: 6 }));
        for bad in [Window { row1: 4, ..whole }, Window { column0: 3, column1: 2, ..whole }] {
            for nodata in [None, Some(9.into())] {
                let error = mosaic_fill::<u8>(&grid, &[west, bad], nodata).unwrap_err();
                assert!(matches!(error, Error::Window { .. }), "{error}");
            }
        }
        let overlaps = Err(Error::Part { index: 1, other: 0, reason: "overlaps" });
        assert_eq!(mosaic_fill::<u8>(&grid, &[west, whole], None), overlaps);
        assert_eq!(mosaic_fill::<u8>(&grid, &[west, whole], Some(9.into())), Ok(9));
    }
}
