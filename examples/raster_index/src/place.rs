//! Where rasters and their indices lie, and whether those that are taken together lie in one place.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use ccq_tree::mosaic_places;
use geo_io::{Crs, Georeference, Raster};
use gpu_core::{Bounds, GridSpec};

use crate::systems::{self, Kept};
use crate::trees::Index;

/// Where a raster's cells lie, and in which system.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The cells. If cells are not squares, or rows do not run east, this grid has no place on the ground.
    pub grid: GridSpec,
    /// The geotransform of such a raster.
    pub transform: Option<[f64; 6]>,
    pub crs: Option<Crs>,
    /// Whether it lies somewhere. An array lies nowhere: its grid is that of pixels.
    pub is_placed: bool,
}

impl Place {
    /// The place of a grid for which an index or a plan keeps this transform: [`Place::kept_transform`].
    pub fn new(grid: GridSpec, transform: Option<[f64; 6]>, crs: Option<Crs>) -> Self {
        let is_placed = transform.is_some() || !is_of_pixels(&grid) || crs.is_some();
        let transform = transform.filter(|transform| *transform != grid.geotransform());
        Self { grid, transform, crs, is_placed }
    }

    /// The geotransform, if the grid alone does not say where the raster lies: cells are not squares, or the raster lies
    /// where the grid of an array would.
    pub fn kept_transform(&self) -> Option<[f64; 6]> {
        let is_like_array = self.is_placed && is_of_pixels(&self.grid);
        self.transform.or_else(|| is_like_array.then(|| self.grid.geotransform()))
    }

    /// The place of cells that an index keeps.
    ///
    /// # Errors
    /// What it keeps is not a place.
    pub fn of_index(path: &Path, tree: &dyn Index) -> Result<Self> {
        let Kept { system, transform } = Kept::of_index(path, tree.system())?;
        let crs = system.map(|system| system.crs()).transpose();
        let crs =
            crs.with_context(|| format!("{}: its reference system is invalid", path.display()))?;
        Ok(Self::new(*tree.grid(), transform, crs))
    }

    /// What an index keeps of it beside the cells; a note says where the system has no form that gives it back.
    pub fn kept(&self, notes: &mut Vec<String>) -> Option<String> {
        let system = self.crs.as_ref().and_then(|crs| systems::kept_or_noted(crs, notes));
        Kept { system, transform: self.kept_transform() }.text()
    }

    /// GDAL's geotransform.
    pub fn geotransform(&self) -> [f64; 6] {
        self.transform.unwrap_or_else(|| self.grid.geotransform())
    }

    /// The north-west corner of a cell in the units of the place, or where a raster ends.
    pub fn corner(&self, column: u32, row: u32) -> [f64; 2] {
        let [left, ax, bx, top, ay, by] = self.geotransform();
        let (column, row) = (f64::from(column), f64::from(row));
        [left + column * ax + row * bx, top + column * ay + row * by]
    }

    /// Returns the ring through some corners, each a column and a row. The corners must be counter-clockwise if rows
    /// run from north to south. The ring is counter-clockwise whichever way the rows run.
    pub fn ring(&self, corners: &[[u32; 2]]) -> Vec<[f64; 2]> {
        let corners = corners.iter().chain(corners.first());
        let mut ring: Vec<_> = corners.map(|&[column, row]| self.corner(column, row)).collect();
        let [_, ax, bx, _, ay, by] = self.geotransform();
        if ax * by - bx * ay > 0.0 {
            ring.reverse();
        }
        ring
    }

    /// Whether columns run along the first axis and rows along the second, in either direction.
    pub fn is_along_axes(&self) -> bool {
        let [_, _, bx, _, ay, _] = self.geotransform();
        (bx, ay) == (0.0, 0.0)
    }

    /// The rectangle around all cells.
    pub fn bounds(&self) -> Bounds {
        let (width, height) = (self.grid.width, self.grid.height);
        let corners = [(0, 0), (width, 0), (0, height), (width, height)];
        let [xs, ys] =
            [0, 1].map(|axis| corners.map(|(column, row)| self.corner(column, row)[axis]));
        let least = |all: [f64; 4]| all.into_iter().fold(f64::INFINITY, f64::min);
        let most = |all: [f64; 4]| all.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Bounds { min_x: least(xs), min_y: least(ys), max_x: most(xs), max_y: most(ys) }
    }
}

/// Whether a grid is that of an array, which lies nowhere.
fn is_of_pixels(grid: &GridSpec) -> bool {
    *grid == GridSpec::of_pixels(grid.width, grid.height)
}

impl fmt::Display for Place {
    /// The corner and the cells, such as "north-west corner 100 50, cells of 2".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GridSpec { origin_x, origin_y, cell_size, .. } = self.grid;
        match self.transform {
            None => write!(f, "north-west corner {origin_x} {origin_y}, cells of {cell_size}"),
            Some([left, ax, 0.0, top, 0.0, by]) => {
                write!(f, "first corner {left} {top}, cells of {ax} x {by}")
            }
            Some(all) => write!(f, "geotransform {all:?}"),
        }
    }
}

/// Where a raster's cells lie.
///
/// # Errors
/// It has no cells, or too many.
pub fn place(
    path: &Path,
    (width, height): (usize, usize),
    place: Option<&Georeference>,
) -> Result<Place> {
    let name = path.display();
    let side = |side: usize| {
        u32::try_from(side).with_context(|| format!("{name}: a side of {side} cells"))
    };
    let (width, height) = (side(width)?, side(height)?);
    ensure!(width > 0 && height > 0, "{name} has no cells ({width} x {height})");
    let crs = place.and_then(|place| place.crs.clone());
    let transform = place.map(|place| place.transform);
    if let Some([left, size, 0.0, top, 0.0, down]) = transform {
        // Sides that were computed from an extent differ in their last digits. Nothing moves by a thousandth of a cell.
        let farthest = (down + size).abs() * f64::from(height);
        if size > 0.0 && farthest <= 1e-3 * size {
            let grid = GridSpec::new(left, top, size, width, height)?;
            return Ok(Place { grid, transform: None, crs, is_placed: true });
        }
    }
    let is_placed = transform.is_some();
    Ok(Place { grid: GridSpec::of_pixels(width, height), transform, crs, is_placed })
}

/// Where a raster that was read lies.
pub fn place_of(path: &Path, raster: &Raster) -> Result<Place> {
    place(path, (raster.width, raster.height), raster.georeference.as_ref())
}

/// Returns the place of rasters that lie beside each other.
///
/// # Errors
/// - The rasters do not lie beside each other, or lie in different systems.
/// - There are several, and one has cells that are turned, mirrored or no squares.
pub fn place_of_all(places: &[(&Path, &Place)]) -> Result<Place> {
    let all = places.iter().map(|(path, place)| (*path, place.crs.as_ref()));
    let crs = systems::of_all(all)?.cloned();
    let [(_, first)] = places else {
        if let Some((path, place)) = places.iter().find(|(_, place)| place.transform.is_some()) {
            bail!(
                "{}: its cells are turned, mirrored or not square ({place}): build an index of \
                 this raster alone, or merge all rasters with gdalwarp",
                path.display()
            );
        }
        let grids: Vec<GridSpec> = places.iter().map(|(_, place)| place.grid).collect();
        let (grid, _) = mosaic_places(&grids).map_err(|error| of_part(error, places))?;
        let is_placed = places.iter().any(|(_, place)| place.is_placed);
        return Ok(Place { grid, transform: None, crs, is_placed });
    };
    Ok(Place { crs, ..(*first).clone() })
}

/// Names the rasters that do not lie beside each other.
fn of_part(error: ccq_tree::Error, places: &[(&Path, &Place)]) -> anyhow::Error {
    match error {
        ccq_tree::Error::Part { index, other, reason } => {
            anyhow!("{} {reason} {}", places[index].0.display(), places[other].0.display())
        }
        _ => error.into(),
    }
}

/// A raster or an index: its name and its place.
pub type Lying<'a> = (&'a Path, &'a Place);

/// Refuses a second index of another system than the first, or without ground in common. If both have the same sides,
/// they must lie in the same place.
pub fn require_common_ground(first: Lying, second: Lying) -> Result<()> {
    let ((a, its), (b, place)) = (first, second);
    let sides = |place: &Place| (place.grid.width, place.grid.height);
    if sides(its) == sides(place) || !its.is_placed || !place.is_placed {
        return require_same_place(first, second);
    }
    systems::require_same((a, its.crs.as_ref()), (b, place.crs.as_ref()))?;
    for (path, place) in [first, second] {
        ensure!(
            place.transform.is_none(),
            "{}: its cells are turned, mirrored or not square ({place}): a query combines it \
             only with indices of the same cells; gdalwarp makes square cells",
            path.display()
        );
    }
    let (one, other) = (its.bounds(), place.bounds());
    let show = |b: &Bounds| format!("{},{},{},{}", b.min_x, b.min_y, b.max_x, b.max_y);
    ensure!(
        one.min_x < other.max_x
            && other.min_x < one.max_x
            && one.min_y < other.max_y
            && other.min_y < one.max_y,
        "{} lies at {}, but {} lies at {}: they do not overlap",
        b.display(),
        show(&other),
        a.display(),
        show(&one)
    );
    Ok(())
}

/// Refuses a second of other sides than the first, of another place or of another system. An array lies nowhere, and so
/// may its index: those will do, wherever the other lies.
pub fn require_same_place(first: Lying, second: Lying) -> Result<()> {
    let ((a, its), (b, place)) = (first, second);
    systems::require_same((a, its.crs.as_ref()), (b, place.crs.as_ref()))?;
    let (a, b) = (a.display(), b.display());
    let (GridSpec { width, height, .. }, own) = (place.grid, its.grid);
    ensure!(
        (width, height) == (own.width, own.height),
        "{b} has {width} x {height} cells, but {a} has {} x {}",
        own.width,
        own.height
    );
    let [_, ax, bx, _, ay, by] = its.geotransform();
    let most = 1e-3 * f64::min(ax.hypot(ay), bx.hypot(by));
    let is_near = |(column, row): (u32, u32)| {
        let [one, other] = [its, place].map(|place| place.corner(column, row));
        (one[0] - other[0]).hypot(one[1] - other[1]) <= most
    };
    let is_there = [(0, 0), (width, 0), (0, height)].into_iter().all(is_near);
    ensure!(
        is_there || !place.is_placed || !its.is_placed,
        "{b} has its {place}, but {a} has its {its}: they do not lie at the same place"
    );
    Ok(())
}
