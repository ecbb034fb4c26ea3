//! Where rasters and their indices lie, and whether those that are taken together lie in one place.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use geo_io::{Crs, Georeference, Raster};
use gpu_core::{Bounds, GridSpec};

use crate::systems;

/// Where a raster's cells lie, and in which system.
pub struct Place {
    pub grid: GridSpec,
    pub crs: Option<Crs>,
}

/// Where a raster's cells lie; one that is turned, or whose cells are no squares, lies nowhere, which a note says.
pub fn place(
    path: &Path,
    (width, height): (usize, usize),
    place: Option<&Georeference>,
    notes: &mut Vec<String>,
) -> Result<Place> {
    let name = path.display();
    let side = |side: usize| {
        u32::try_from(side).with_context(|| format!("{name}: a side of {side} cells"))
    };
    let (width, height) = (side(width)?, side(height)?);
    ensure!(width > 0 && height > 0, "{name} has no cells ({width} x {height})");
    if let Some([left, size, 0.0, top, 0.0, down]) = place.map(|place| place.transform) {
        // Sides that were computed from an extent differ in their last digits. Nothing moves by a thousandth of a cell.
        let farthest = (down + size).abs() * f64::from(height);
        if size > 0.0 && farthest <= 1e-3 * size {
            let grid = GridSpec::new(left, top, size, width, height)?;
            return Ok(Place { grid, crs: place.and_then(|place| place.crs.clone()) });
        }
    }
    notes.extend(place.map(|_| {
        let why = "its cells are turned, mirrored or no squares";
        format!("{name}: {why}, so the index has no place on the ground")
    }));
    Ok(Place { grid: GridSpec::of_pixels(width, height), crs: None })
}

/// Where a raster that was read lies.
pub fn place_of(path: &Path, raster: &Raster, notes: &mut Vec<String>) -> Result<Place> {
    place(path, (raster.width, raster.height), raster.georeference.as_ref(), notes)
}

/// Names the rasters that do not lie beside each other.
pub fn of_part(error: ccq_tree::Error, paths: &[PathBuf]) -> anyhow::Error {
    match error {
        ccq_tree::Error::Part { index, other, reason } => {
            anyhow!("{} {reason} {}", paths[index].display(), paths[other].display())
        }
        _ => error.into(),
    }
}

/// A raster or an index: its name, its cells, its system.
pub type Lying<'a> = (&'a Path, GridSpec, Option<&'a Crs>);

/// Refuses a second index of another system than the first, or without ground in common. Of the same sides it is to lie in the
/// same place.
pub fn require_common_ground(first: Lying, second: Lying) -> Result<()> {
    let ((a, its, of_a), (b, grid, of_b)) = (first, second);
    let is_nowhere = |grid: &GridSpec| *grid == GridSpec::of_pixels(grid.width, grid.height);
    let is_alike = (grid.width, grid.height) == (its.width, its.height);
    if is_alike || is_nowhere(&its) || is_nowhere(&grid) {
        return require_same_place(first, second);
    }
    systems::require_same((a, of_a), (b, of_b))?;
    let (one, other) = (its.bounds(), grid.bounds());
    let show = |b: &Bounds| format!("{},{},{},{}", b.min_x, b.min_y, b.max_x, b.max_y);
    ensure!(
        one.min_x < other.max_x
            && other.min_x < one.max_x
            && one.min_y < other.max_y
            && other.min_y < one.max_y,
        "{} lies at {}, {} at {}: they have no ground in common",
        b.display(),
        show(&other),
        a.display(),
        show(&one)
    );
    Ok(())
}

/// Refuses a second of other sides than the first, of another place or of another system. An array lies nowhere, and so may
/// its index: those will do, wherever the other lies.
pub fn require_same_place(first: Lying, second: Lying) -> Result<()> {
    let ((a, its, of_a), (b, grid, of_b)) = (first, second);
    systems::require_same((a, of_a), (b, of_b))?;
    let (a, b) = (a.display(), b.display());
    let sides = |grid: &GridSpec| (grid.width, grid.height);
    let ((width, height), (its_width, its_height)) = (sides(&grid), sides(&its));
    ensure!(
        (width, height) == (its_width, its_height),
        "{b} has {width} x {height} cells, {a} {its_width} x {its_height}"
    );
    let is_nowhere = |grid: &GridSpec| *grid == GridSpec::of_pixels(width, height);
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * its.cell_size;
    let span = f64::from(width.max(height));
    let is_there = is_near(grid.origin_x, its.origin_x)
        && is_near(grid.origin_y, its.origin_y)
        && is_near(grid.cell_size * span, its.cell_size * span);
    let place = |grid: &GridSpec| {
        format!("at {} {} with cells of {}", grid.origin_x, grid.origin_y, grid.cell_size)
    };
    ensure!(
        is_there || is_nowhere(&grid) || is_nowhere(&its),
        "{b} has its north-west corner {}, {a} {}: they lie elsewhere",
        place(&grid),
        place(&its)
    );
    Ok(())
}
