//! The grid query, in bands of rows.

use std::ops::Range;

use device_std::Out;
use gpu_core::{Blocks, Column, DeviceGrid, Gpu, GridSpec};
use gpu_scan::gpu::{Workspace, scan_in_place};
use gpu_scan::{Scan, Sum};
use kernels_rs::nni::pixels as kernels;
use kernels_rs::nni::pixels::geometry::Width;
use kernels_rs::nni::pixels::{Lattice, Limits, NearShape, Results, values};

use super::boxed::{Boxes, Left};
use super::group::{Group, NearKernel};
use crate::Result;
use crate::gpu::dem::Tallies;
use crate::params::OnGrid;
use crate::pixels::limits::QueryLimits;

/// The Voronoi diagram of the points, and the values of its sites.
pub(super) struct Sites {
    pub nearest: DeviceGrid<u32>,
    /// The values of all pixels; only elements of sites are written.
    pub values: Column<i32>,
    /// Whether `nearest` belongs to the raster turned by 180 degrees; the values do not turn.
    pub is_turned: bool,
    pub tallies: Tallies,
    pub group: Group,
    /// The points that were given.
    pub points: usize,
}

impl Sites {
    /// The boxes that suffice for nearly all cells of these points.
    pub fn boxes(&self) -> Boxes {
        Boxes::of(self.points as u64, self.nearest.column().len() as u64)
    }

    /// The sites as arguments of kernels.
    pub fn input(&self) -> values::Sites<'_> {
        values::Sites {
            tallies: self.tallies.counts.input(),
            nearest: self.nearest.column().input(),
            values: self.values.input(),
            turned: if self.is_turned { self.nearest.column().len() as u32 } else { 0 },
        }
    }

    /// How the cells of a DEM lie over the raster.
    pub fn lattice(&self, params: &OnGrid) -> Lattice {
        Lattice {
            columns: params.grid.width,
            rows: params.grid.height,
            reciprocal: Width::reciprocal(self.nearest.width()),
            supersample: params.supersample,
        }
    }
}

/// The results of the queries, one element a cell.
pub(super) struct Cells {
    /// All cells' first value, then all cells' second, and so on for each that the kernels have.
    pub dem: Column<f32>,
    pub counts: Option<Column<u32>>,
    pub deviations: Option<Column<f32>>,
    pub distances: Option<Column<f32>>,
}

impl Cells {
    /// Cells to be written.
    ///
    /// # Safety
    /// As [`Gpu::uninitialized`].
    pub unsafe fn new(
        gpu: &Gpu,
        grid: &GridSpec,
        values: usize,
        counts: bool,
        deviations: bool,
    ) -> Result<Self> {
        let cells = grid.cells() as usize;
        // SAFETY: the caller writes all elements before they are read.
        unsafe {
            let dem = gpu.uninitialized(cells * values)?;
            let counts = if counts { Some(gpu.uninitialized(cells)?) } else { None };
            let deviations = if deviations { Some(gpu.uninitialized(cells)?) } else { None };
            Ok(Self { dem, counts, deviations, distances: None })
        }
    }

    /// Where queries of a group write, and where their deviations go.
    fn results<'a>(&'a mut self, group: &'a Group) -> (Results<'a>, Option<Out<'a, f32>>) {
        let counts = self.counts.as_mut().map(Column::output);
        let results = Results { scales: group.scales.input(), dem: self.dem.output(), counts };
        (results, self.deviations.as_mut().map(Column::output))
    }
}

/// The queries of a DEM, ready to be enqueued.
pub(super) struct Queries<'a> {
    gpu: &'a Gpu,
    limits: &'a QueryLimits,
    params: &'a OnGrid,
    /// The spans of the rows of the query circle; without one nothing.
    spans: Column<i32>,
    /// The kernel for small circles, if it is one, and its list of tiles for each band.
    near: Option<(NearShape, NearKernel, Column<u32>)>,
    bands: u32,
}

impl<'a> Queries<'a> {
    /// Prepares the queries of a group, in at most a number of bands of rows.
    pub fn new(
        gpu: &'a Gpu,
        limits: &'a QueryLimits,
        params: &'a OnGrid,
        group: &Group,
        bands: u32,
    ) -> Result<Self> {
        let spans = spans(gpu, limits)?;
        let mut queries = Self { gpu, limits, params, spans, near: None, bands: bands.max(1) };
        if let Some((shape, kernel)) = group.instances.near(limits, params) {
            let rows = queries.units(shape.rows).div_ceil(queries.bands);
            let tiles = params.grid.width.div_ceil(shape.columns) as usize * rows as usize;
            let list = gpu.zeroed((tiles + 1) * queries.bands as usize)?;
            queries.near = Some((shape, kernel, list));
        }
        Ok(queries)
    }

    /// The part of the raster that queries read.
    fn query_limits(&self) -> Limits<'_> {
        let rows = self.limits.circle.map_or(i32::MAX as u32, |_| self.spans.len() as u32);
        let (spans, site_limit) = (self.spans.input(), self.limits.site_limit);
        Limits { spans, span_rows: rows, site_limit }
    }

    /// How many blocks or tiles the DEM has from north to south, each of a number of rows.
    fn units(&self, rows: u32) -> u32 {
        self.params.grid.height.div_ceil(rows)
    }

    /// Enqueues the queries; calls `done` with the rows of each band after it.
    pub fn enqueue(
        mut self,
        workspace: &mut Workspace,
        sites: &mut Sites,
        cells: &mut Cells,
        mut done: impl FnMut(&mut Sites, &mut Cells, Range<u32>) -> Result<()>,
    ) -> Result<()> {
        let grid = self.params.grid;
        if grid.cells() == 0 {
            return Ok(());
        }
        let sums = match self.near {
            None if self.limits.site_limit == u64::MAX && cells.deviations.is_none() => {
                Some(sums_before(workspace, sites)?)
            }
            _ => None,
        };
        let boxes = sites.boxes();
        let unit = match &self.near {
            Some((shape, ..)) => shape.rows,
            None => boxes.cells(self.params.supersample)[1],
        };
        let step = self.units(unit).div_ceil(self.bands);
        for (band, first) in (0..self.units(unit)).step_by(step as usize).enumerate() {
            let units = first..(first + step).min(self.units(unit));
            let rows = units.start * unit..(units.end * unit).min(grid.height);
            // SAFETY: the sites are those of the grid's raster, and the cells the grid's.
            unsafe {
                match self.near.take() {
                    Some(mut near) => {
                        self.near_band(&mut near, band, units, sites, cells)?;
                        self.near = Some(near);
                    }
                    None => self.boxed_band(boxes, rows.clone(), sites, cells, sums.as_ref())?,
                }
            }
            done(sites, cells, rows)?;
        }
        Ok(())
    }

    /// Rows of tiles by the kernel for small circles, and what that leaves to the other.
    ///
    /// # Safety
    /// `sites` are those of the grid's raster, `cells` the grid's.
    unsafe fn near_band(
        &self,
        (shape, kernel, list): &mut (NearShape, NearKernel, Column<u32>),
        band: usize,
        rows: Range<u32>,
        sites: &mut Sites,
        cells: &mut Cells,
    ) -> Result<()> {
        let grid = self.params.grid;
        let tiles_x = grid.width.div_ceil(shape.columns);
        let list_len = list.len() / self.bands as usize;
        let mut listed = list.slice_mut(band * list_len..(band + 1) * list_len)?;
        let limit = self.limits.circle.map_or(0, |circle| circle.limit);
        let lattice = sites.lattice(self.params);
        let (results, _) = cells.results(&sites.group);
        let near = kernels::query_near::Args {
            sites: sites.input(),
            circle_limit: limit as u32,
            site_limit: self.limits.site_limit,
            cells: [grid.width, grid.height],
            reciprocal: lattice.reciprocal,
            first_tile: tiles_x * rows.start,
            results,
            listed: listed.reborrow().output(),
        };
        // SAFETY: lengths are as the kernel asks; the list has room for the band's tiles.
        unsafe { self.gpu.enqueue(*kernel, Blocks::x(tiles_x * rows.len() as u32), near)? };
        // Without a limit no tile is left over.
        if self.limits.site_limit == u64::MAX {
            return Ok(());
        }
        use kernels::query_listed as query;
        let left = query::Args {
            sites: sites.input(),
            limits: self.query_limits(),
            lattice,
            listed: listed.as_slice().input(),
            tile: [shape.columns, shape.rows],
            results,
        };
        let kernel = sites.group.instances.of([query::one, query::two, query::four]);
        let blocks = Blocks::x(self.gpu.multiprocessors() * 2);
        // SAFETY: as above; the list names tiles of the DEM.
        unsafe { self.gpu.enqueue(kernel, blocks, left)? };
        Ok(())
    }

    /// Rows of cells in boxes, and those for which these do not do row by row.
    ///
    /// # Safety
    /// As [`near_band`](Self::near_band); the rows begin with a tile.
    unsafe fn boxed_band(
        &self,
        boxes: Boxes,
        rows: Range<u32>,
        sites: &mut Sites,
        cells: &mut Cells,
        sums: Option<&Column<i64>>,
    ) -> Result<()> {
        let (grid, supersample) = (self.params.grid, self.params.supersample);
        let tiles = boxes.tiles([grid.width, rows.len() as u32], supersample);
        let first_tile = boxes.tiles([grid.width, rows.start], supersample);
        let (lattice, instances) = (sites.lattice(self.params), sites.group.instances);
        let mut left = Left::new(self.gpu, grid.width as usize * rows.len())?;
        use kernels::{query_boxed, query_left};
        let key = boxes.key(instances.values());
        let in_boxes = query_boxed::find(|of| *of == key).expect("an instance for each");
        let by_rows = instances.of([query_left::one, query_left::two, query_left::four]);
        let (results, deviations) = cells.results(&sites.group);
        let (sites, limits, left) = (sites.input(), self.query_limits(), left.output());
        let in_boxes_of =
            query_boxed::Args { sites, limits, lattice, first_tile, results, deviations, left };
        let sums = sums.map(Column::input);
        let by_rows_of =
            query_left::Args { sites, limits, lattice, results, sums, deviations, left };
        // SAFETY: lengths are as the kernels demand; the list holds all cells.
        unsafe {
            self.gpu.enqueue(in_boxes, Blocks::x(tiles), in_boxes_of)?;
            self.gpu.enqueue(by_rows, Left::blocks(self.gpu), by_rows_of)?;
        }
        Ok(())
    }
}

/// The spans of the rows of the query circle; nothing without one.
fn spans(gpu: &Gpu, limits: &QueryLimits) -> Result<Column<i32>> {
    let Some(circle) = limits.circle else { return Ok(gpu.zeroed(0)?) };
    let rows = circle.rows();
    // SAFETY: the kernel writes every row.
    unsafe {
        let mut spans = gpu.uninitialized(rows as usize)?;
        gpu.enqueue(
            kernels::write_spans,
            Blocks::for_each(&kernels::write_spans, rows.into())?,
            kernels::write_spans::Args {
                limit: circle.limit,
                supersample: circle.supersample,
                spans: spans.output(),
            },
        )?;
        Ok(spans)
    }
}

/// For each value the sums of all pixels before each, and before the end.
fn sums_before(workspace: &mut Workspace, sites: &Sites) -> Result<Column<i64>> {
    let (pixels, values) = (sites.nearest.column().len(), sites.group.instances.values());
    let (gpu, plane) = (workspace.gpu().clone(), kernels::sum_plane(pixels));
    // SAFETY: the kernel writes every element that is read; lengths are as it asks.
    let mut sums = unsafe {
        let mut sums = gpu.uninitialized::<i64>(values * plane)?;
        gpu.enqueue(
            kernels::gather_sums,
            Blocks::for_each(&kernels::gather_sums, pixels as u64 + 1)?,
            kernels::gather_sums::Args {
                sites: sites.input(),
                value_count: values as u32,
                sums: sums.output(),
                pixels: pixels as u64,
            },
        )?;
        sums
    };
    for value in 0..values {
        let of_value = value * plane..value * plane + pixels + 1;
        scan_in_place(workspace, Sum, Scan::exclusive(0), sums.slice_mut(of_value)?)?;
    }
    Ok(sums)
}
