//! Where the DEM lies, and how far around it points count.
//!
//! With `--bounds` points outside them take part, so that tiles have no seams: a cell has the value that it has in the DEM
//! of the whole. By the exact method these are the points that cells depend on ([`halo`](crate::halo)). By the method on
//! pixels they are those within reach; the DEM is made over the bounds and a margin, and the margin is cut off again.
//! Where a radius is infinite there is no margin that would do, and all points and all of their ground take part.

use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, Device, DeviceChoice, GridSpec, host_memory};
use nni_grid::Method;
use programs::cloud::Cloud;
use programs::scale::joined;
use programs::{edges, units};

use crate::args::Args;

/// The cells of the DEM, and those over which it is made.
#[derive(Clone, Copy)]
pub struct Extents {
    /// The DEM's.
    pub grid: GridSpec,
    /// The same cells and more around them.
    pub with_margin: GridSpec,
    /// First column and row of the DEM in these.
    corner: (u32, u32),
}

/// How far from the origin places can lie, in cells, so that they differ exactly.
pub const FARTHEST: f64 = (1_u64 << 30) as f64;

/// Which points are read.
pub enum Wanted {
    /// All of them.
    All,
    /// All of them, some of which must lie within bounds.
    AllNear(Bounds),
    /// Those within bounds.
    Within(Bounds),
    /// Those that the cells of a grid depend on, of points within bounds.
    Dependence { grid: GridSpec, all: Bounds, halo: f64 },
}

/// The points that count.
pub fn wanted(args: &Args, inputs: &[PathBuf]) -> Result<Wanted> {
    let Some(extent) = args.points.bounds else { return Ok(Wanted::All) };
    let (first_halo, reach) = (args.surface.first_halo(), args.surface.reach_on_pixels());
    if first_halo.is_none() && (args.surface.method == Method::Exact || reach.is_infinite()) {
        return Ok(Wanted::All);
    }
    let headers = inputs.iter().map(|path| geo_io::read_header(path));
    let headers = headers.collect::<geo_io::Result<Vec<_>>>()?;
    let cell = match args.surface.resolution {
        Some(cell) => cell,
        None => {
            let stated = headers.first().and_then(Option::as_ref);
            let crs = args.points.crs()?.or(stated.and_then(|header| header.crs.clone()));
            units::default_resolution(crs.as_ref())?
        }
    };
    let grid = snapped(extent.0, cell).map_err(|error| too_large(cell, error))?;
    let Some(halo) = first_halo else {
        return Ok(Wanted::Within(widened(&grid.bounds(), reach * cell)));
    };
    // A table does not say where its points lie.
    let bounds = headers.into_iter().map(|header| header.and_then(|header| header.bounds));
    let Some(bounds) = bounds.collect::<Option<Vec<Bounds>>>() else {
        return Ok(Wanted::AllNear(widened(&grid.bounds(), halo * cell)));
    };
    let all = bounds.into_iter().reduce(joined);
    Ok(all.map_or(Wanted::All, |all| Wanted::Dependence { grid, all, halo }))
}

/// Bounds with so much more on each side.
pub fn widened(b: &Bounds, by: f64) -> Bounds {
    Bounds { min_x: b.min_x - by, min_y: b.min_y - by, max_x: b.max_x + by, max_y: b.max_y + by }
}

/// The DEM's cells: over `--bounds`, or over the points; edges on multiples of the resolution.
/// Fails before anything is allocated where they do not fit the memory, and says which points make them so many.
pub fn extents(args: &Args, cloud: &Cloud, device: &Device) -> Result<Extents> {
    sized(args, cloud, device).map_err(|error| match cloud.note_on_emptiness() {
        Some(note) if args.points.bounds.is_none() => anyhow!("{error}; {note}"),
        _ => error,
    })
}

fn sized(args: &Args, cloud: &Cloud, device: &Device) -> Result<Extents> {
    let count = cloud.x.len();
    let points = cloud.bounds().ok_or_else(|| anyhow!("none of {count} points is finite"))?;
    let cell = match args.surface.resolution {
        Some(cell) => cell,
        None => units::default_resolution(cloud.crs.as_ref())?,
    };
    let grid = match args.points.bounds {
        Some(extent) => snapped(extent.0, cell),
        None => covering(points, cell),
    };
    let grid = grid.map_err(|error| too_large(cell, error))?;
    if args.surface.resolution.is_none() && args.points.bounds.is_none() {
        units::check_default(&grid, &points, count)?;
    }
    let extents = match args.points.bounds {
        Some(_) if args.surface.method == Method::Pixels => {
            let (reach, radii) =
                (args.surface.reach_on_pixels(), args.surface.reach_within_radii());
            Extents::within(grid, (reach, radii), &points)?
        }
        _ => Extents { grid, with_margin: grid, corner: (0, 0) },
    };
    require_memory(args, device, &extents.with_margin)?;
    Ok(extents)
}

impl Extents {
    /// With as many cells around as points reach, or as the points take where they reach everywhere; then no fewer than
    /// a cell looks at by its radii, where these have an end.
    fn within(grid: GridSpec, (reach, radii): (f64, f64), points: &Bounds) -> Result<Self> {
        let (b, cell) = (grid.bounds(), grid.cell_size);
        let least = if radii.is_finite() { radii } else { 1.0 };
        let sides = if reach.is_finite() {
            [reach; 4]
        } else {
            let beyond = |distance: f64| ((distance / cell).ceil() + 1.0).max(least);
            [
                beyond(b.min_x - points.min_x),
                beyond(points.max_y - b.max_y),
                beyond(points.max_x - b.max_x),
                beyond(b.min_y - points.min_y),
            ]
        };
        Self::around(grid, sides)
    }

    /// With as many cells around in the west, north, east and south.
    pub fn around(grid: GridSpec, [west, north, east, south]: [f64; 4]) -> Result<Self> {
        let cell = grid.cell_size;
        let columns = west + f64::from(grid.width) + east;
        let rows = north + f64::from(grid.height) + south;
        let side = f64::from(u32::MAX);
        if !(columns <= side && rows <= side) {
            return Err(too_large(cell, gpu_core::Error::GridTooLarge { columns, rows }));
        }
        // Multiples of the cell size, as the grid of the whole has them.
        let corner = (
            ((grid.origin_x / cell).round() - west) * cell,
            ((grid.origin_y / cell).round() + north) * cell,
        );
        let with_margin = GridSpec::new(corner.0, corner.1, cell, columns as u32, rows as u32)?;
        Ok(Self { grid, with_margin, corner: (west as u32, north as u32) })
    }

    /// The cells over which the DEM is made, and the points, with a cell as the unit of length. Points move by
    /// 2^-23 of a cell at most.
    ///
    /// So the grid's corners are integers, and differences of places are exact, whatever the cell size: a cell gets
    /// the same bits in a tile as in the whole, whose corner is another.
    pub fn in_cells(&self, cloud: &mut Cloud) -> GridSpec {
        let cell_size = self.with_margin.cell_size;
        for column in [&mut cloud.x, &mut cloud.y] {
            parallel::for_each(column, FINE, |_, x| *x = edges::in_cells(*x, cell_size));
        }
        grid_in_cells(&self.with_margin)
    }

    /// The cells of a raster without its margin.
    pub fn cut<T: Copy>(&self, raster: Vec<T>) -> Vec<T> {
        if self.with_margin == self.grid {
            return raster;
        }
        let ((left, top), width) = (self.corner, self.grid.width as usize);
        let rows = raster.chunks_exact(self.with_margin.width.max(1) as usize);
        let rows = rows.skip(top as usize).take(self.grid.height as usize);
        rows.flat_map(|row| &row[left as usize..left as usize + width]).copied().collect()
    }
}

/// A grid with a cell as the unit of length: its corner is a multiple of that.
pub fn grid_in_cells(grid: &GridSpec) -> GridSpec {
    let corner = |place: f64| (place / grid.cell_size).round();
    let (origin_x, origin_y) = (corner(grid.origin_x), corner(grid.origin_y));
    GridSpec { origin_x, origin_y, cell_size: 1.0, ..*grid }
}

/// The grid over points, each of which lies in a cell where [`Extents::in_cells`] puts it.
pub fn covering(points: Bounds, cell: f64) -> gpu_core::Result<GridSpec> {
    let of_cells = GridSpec::covering(edges::bounds_in_cells(points, cell), 1.0)?;
    let corner = (of_cells.origin_x * cell, of_cells.origin_y * cell);
    GridSpec::new(corner.0, corner.1, cell, of_cells.width, of_cells.height)
}

/// The grid over bounds that were asked for. [`covering`] would add a column for points on their eastern edge.
pub fn snapped(b: Bounds, cell: f64) -> gpu_core::Result<GridSpec> {
    let b = edges::bounds_in_cells(b, cell);
    let (west, south) = (b.min_x.floor(), b.min_y.floor());
    let (columns, rows) = (b.max_x.ceil() - west, b.max_y.ceil() - south);
    let side = f64::from(u32::MAX);
    if !(columns <= side && rows <= side) {
        return Err(gpu_core::Error::GridTooLarge { columns, rows });
    }
    GridSpec::new(west * cell, (south + rows) * cell, cell, columns as u32, rows as u32)
}

/// The cell size, which is what a user would change.
pub fn too_large(cell: f64, error: gpu_core::Error) -> anyhow::Error {
    match error {
        gpu_core::Error::GridTooLarge { columns, rows } => {
            anyhow!("--resolution {cell}: {columns:e} x {rows:e} cells are too many")
        }
        other => anyhow!("--resolution {cell}: {other}"),
    }
}

/// Asks for the host memory of a grid: the values, once more for the writer, of further bands the cells side by side, too; and on the CPU and
/// the software device the Voronoi raster (index, height and distance of a pixel).
fn require_memory(args: &Args, device: &Device, grid: &GridSpec) -> Result<()> {
    let on_host = matches!(device, Device::Cpu) || args.run.device == DeviceChoice::Software;
    let pixels = f64::from(args.surface.supersample).powi(2);
    let further = 12.0 * (args.surface.bands().len() - 1) as f64;
    let a_cell = if on_host { 8.0 + 12.0 * pixels } else { 8.0 } + further;
    let needed = grid.cells() as f64 * a_cell;
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    let available = host_memory::available().map_or(f64::INFINITY, |bytes| bytes as f64);
    ensure!(
        needed <= available,
        "--resolution {}: {} x {} cells need {:.1} GiB of memory, {:.1} GiB are available",
        grid.cell_size,
        grid.width,
        grid.height,
        gib(needed),
        gib(available)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_on_edges_of_cells_are_kept() {
        let b = Bounds { min_x: 515368.6, min_y: 4918340.3, max_x: 515401.1, max_y: 4918381.2 };
        let grid = snapped(b, 0.1).unwrap();
        assert_eq!((grid.width, grid.height), (325, 409));
        // Points on the eastern and the southern edge are in the next cell.
        let grid = covering(b, 0.1).unwrap();
        assert_eq!((grid.width, grid.height), (326, 410));
        assert!(
            (grid.origin_x - 515368.6).abs() < 1e-6 && (grid.origin_y - 4918381.2).abs() < 1e-6
        );
    }
}
