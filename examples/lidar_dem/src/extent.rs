//! Where the DEM lies, and how far around it points count.
//!
//! With `--bounds`, points outside the bounds count too, so that tiles have no seams: a cell has the same value as in
//! the DEM of the whole. With the exact method, these are the points that cells depend on ([`halo`](crate::halo)). With
//! the method on pixels, they are the points within reach; the program makes the DEM with a margin around the bounds,
//! and then cuts the margin off. If a radius is infinite, no margin is wide enough, and all points and their whole
//! ground count.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, Device, DeviceChoice, GridSpec, host_memory};
use nni_grid::Method;
use programs::args::PointArgs;
use programs::cloud::Cloud;
use programs::inputs::Files;
use programs::scale::joined;
use programs::units;

use crate::args::Args;
use crate::asked::Asked;
use crate::lattice::{Lattice, widened};
use crate::surface::SurfaceArgs;

/// The cells of the DEM, and the larger grid for which the program makes it.
#[derive(Clone, Copy)]
pub struct Extents {
    /// The DEM's.
    pub grid: GridSpec,
    /// The same cells, with a margin of more cells.
    pub with_margin: GridSpec,
    /// First column and row of the DEM in the grid with the margin.
    corner: (u32, u32),
    /// Where edges of cells lie.
    pub lattice: Lattice,
}

/// How far from the origin places can lie, in cells, so that they differ exactly.
pub const FARTHEST: f64 = (1_u64 << 30) as f64;

/// Which points are read.
pub enum Wanted {
    /// All of them.
    All,
    /// All points; some of them must lie within bounds.
    AllNear(Bounds),
    /// The points within bounds, for a ground with these cells.
    Within(Bounds, Lattice),
    /// The points that the cells of a grid depend on, among the points within bounds.
    Dependence { grid: GridSpec, lattice: Lattice, all: Bounds, halo: f64 },
}

/// The points that count.
pub fn wanted(args: &Args, asked: &Asked, inputs: &[PathBuf]) -> Result<Wanted> {
    let Some(bounds) = asked.bounds else { return Ok(Wanted::All) };
    let (first_halo, reach) = (args.surface.first_halo(), args.surface.reach_on_pixels());
    if first_halo.is_none() && (args.surface.method == Method::Exact || reach.is_infinite()) {
        return Ok(Wanted::All);
    }
    let headers = inputs.iter().map(|path| geo_io::read_header(path));
    let headers = headers.collect::<geo_io::Result<Vec<_>>>()?;
    let stated = headers.first().and_then(Option::as_ref);
    let crs = args.points.crs()?.or(stated.and_then(|header| header.crs.clone()));
    let lattice = asked.lattice(crs.as_ref())?;
    let cell = lattice.cell;
    let of_surface = |error| too_large(&args.surface, cell, error);
    let grid = lattice.snapped(&bounds).map_err(of_surface)?;
    let near = near(&args.surface, &grid).unwrap_or(grid.bounds());
    let Some(halo) = first_halo else { return Ok(Wanted::Within(near, lattice)) };
    // A table does not say where its points lie.
    let bounds = headers.into_iter().map(|header| header.and_then(|header| header.bounds));
    let Some(bounds) = bounds.collect::<Option<Vec<Bounds>>>() else {
        return Ok(Wanted::AllNear(near));
    };
    let all = bounds.into_iter().reduce(joined);
    Ok(all.map_or(Wanted::All, |all| Wanted::Dependence { grid, lattice, all, halo }))
}

/// The ground on which a DEM of these cells has a point, or no cell of it has a height; `None` for everywhere.
pub fn near(surface: &SurfaceArgs, grid: &GridSpec) -> Option<Bounds> {
    let on_pixels = || (surface.method == Method::Pixels).then(|| surface.reach_on_pixels());
    let reach = surface.first_halo().or_else(on_pixels).filter(|cells| cells.is_finite())?;
    Some(widened(&grid.bounds(), reach * grid.cell_size))
}

/// The files that the inputs name. From catalogues, it takes the files that overlap the ground of the DEM, widened by
/// the first halo, and by two cells for rounding.
pub fn files(points: &PointArgs, surface: &SurfaceArgs, asked: &Asked) -> Result<Files> {
    points.files(&|crs| {
        let Some(bounds) = asked.bounds else { return Ok(None) };
        // The default cell size is that of a system.
        if asked.lattice.is_none() && crs.is_none() {
            return Ok(None);
        }
        let lattice = asked.lattice(crs)?;
        let of_surface = |error| too_large(surface, lattice.cell, error);
        let grid = lattice.snapped(&bounds).map_err(of_surface)?;
        Ok(near(surface, &grid).map(|near| widened(&near, 2.0 * lattice.cell)))
    })
}

/// The DEM's cells: over `--bounds`, or over the points; edges on multiples of the resolution. If the cells do not fit
/// the memory, it fails before any allocation, and says which points make the grid so large.
pub fn extents(args: &Args, asked: &Asked, cloud: &Cloud, device: &Device) -> Result<Extents> {
    sized(args, asked, cloud, device).map_err(|error| match cloud.note_on_emptiness() {
        Some(note) if asked.bounds.is_none() => anyhow!("{error}; {note}"),
        _ => error,
    })
}

fn sized(args: &Args, asked: &Asked, cloud: &Cloud, device: &Device) -> Result<Extents> {
    let points = cloud.rectangle()?;
    let lattice = asked.lattice(cloud.crs.as_ref())?;
    let grid = match &asked.bounds {
        Some(bounds) => lattice.snapped(bounds),
        None => lattice.covering(&points),
    };
    let of_surface = |error| too_large(&args.surface, lattice.cell, error);
    let grid = grid.map_err(of_surface)?;
    if asked.lattice.is_none() && asked.bounds.is_none() {
        units::check_default(&grid, &points, cloud.x.len())?;
    }
    let extents = match asked.bounds {
        Some(_) if args.surface.method == Method::Pixels => {
            let (reach, view) = (args.surface.reach_on_pixels(), args.surface.view_on_pixels());
            let found = Extents::within((grid, lattice), (reach, view), &points);
            found.map_err(of_surface)?
        }
        _ => Extents { grid, with_margin: grid, corner: (0, 0), lattice },
    };
    require_memory(args, device, &extents.with_margin)?;
    Ok(extents)
}

impl Extents {
    /// The grid with a margin of cells around it: as wide as a point reaches. If points reach everywhere, the margin
    /// holds all points, and is at least as wide as a cell looks around.
    fn within(
        (grid, lattice): (GridSpec, Lattice),
        (reach, view): (f64, f64),
        points: &Bounds,
    ) -> gpu_core::Result<Self> {
        let (b, cell) = (grid.bounds(), grid.cell_size);
        let sides = if reach.is_finite() {
            [reach; 4]
        } else {
            let beyond = |distance: f64| ((distance / cell).ceil() + 1.0).max(view);
            [
                beyond(b.min_x - points.min_x),
                beyond(points.max_y - b.max_y),
                beyond(points.max_x - b.max_x),
                beyond(b.min_y - points.min_y),
            ]
        };
        Self::around((grid, lattice), sides)
    }

    /// With as many cells around in the west, north, east and south.
    pub fn around(
        (grid, lattice): (GridSpec, Lattice),
        [west, north, east, south]: [f64; 4],
    ) -> gpu_core::Result<Self> {
        let cell = grid.cell_size;
        let columns = west + f64::from(grid.width) + east;
        let rows = north + f64::from(grid.height) + south;
        let side = f64::from(u32::MAX);
        if !(columns <= side && rows <= side) {
            return Err(gpu_core::Error::GridTooLarge { columns, rows });
        }
        // Whole cells from the lattice's anchor, as the grid of the whole has them.
        let (left, top) = lattice.corner(&grid);
        let (x, y) = lattice.place(left - west, top + north);
        let with_margin = GridSpec::new(x, y, cell, columns as u32, rows as u32)?;
        Ok(Self { grid, with_margin, corner: (west as u32, north as u32), lattice })
    }

    /// The cells of the interpolation and the points, in the lattice's coordinates, where a cell is the unit of length.
    pub fn in_cells(&self, cloud: &mut Cloud) -> GridSpec {
        for (axis, column) in [&mut cloud.x, &mut cloud.y].into_iter().enumerate() {
            parallel::for_each(column, FINE, |_, x| *x = self.lattice.in_cells(axis, *x));
        }
        self.lattice.grid_in_cells(&self.with_margin)
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

/// Says which option makes the cells that are too many, and how to get fewer.
pub fn too_large(surface: &SurfaceArgs, cell: f64, error: gpu_core::Error) -> anyhow::Error {
    match error {
        gpu_core::Error::GridTooLarge { columns, rows } => {
            let why = format!("{columns:e} x {rows:e} cells are too many");
            anyhow!(surface.cells_by(cell).too_many(why))
        }
        other => anyhow!(surface.cells_by(cell).too_many(other)),
    }
}

/// Fails if the host lacks the memory of a grid. The first band takes its values, and as much again for the writer.
/// Each further band also takes its cells side by side. The CPU and the software device add the Voronoi raster: index,
/// height and distance of a pixel.
fn require_memory(args: &Args, device: &Device, grid: &GridSpec) -> Result<()> {
    let on_host = matches!(device, Device::Cpu) || args.run.device == DeviceChoice::Software;
    let pixels = f64::from(args.surface.supersample).powi(2);
    let further = 12.0 * (args.surface.bands().len() - 1) as f64;
    let a_cell = if on_host { 8.0 + 12.0 * pixels } else { 8.0 } + further;
    let needed = grid.cells() as f64 * a_cell;
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    let available = host_memory::available().map_or(f64::INFINITY, |bytes| bytes as f64);
    if needed > available {
        let (width, height, [needed, available]) =
            (grid.width, grid.height, [needed, available].map(gib));
        let pixels = match args.surface.supersample {
            1 => String::new(),
            side => format!(" of {side} x {side} pixels (--supersample)"),
        };
        let why = format!(
            "{width} x {height} cells{pixels} need {needed:.1} GiB of memory, {available:.1} GiB are available"
        );
        let error = args.surface.cells_by(grid.cell_size).too_many(why);
        bail!("{error}; or make tiles (lidar_dem plan)");
    }
    Ok(())
}
