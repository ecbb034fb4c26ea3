//! The exact method on a GPU, over device buffers.

use gpu_core::{Blocks, Bounds, Column, Gpu, Slice};
use gpu_scan::gpu::{Workspace, scan_in_place, sequence, sort_pairs};
use gpu_scan::{Scan, Sort, Sum};
use kernels_rs::cells::Cells;
use kernels_rs::nni::{self, SITES, TALLIES};
use kernels_rs::nni_exact as kernels;
use kernels_rs::nni_exact::index::PLACE_BITS;

use super::{Setup, policy_of, row_bounds};
use crate::gpu::put::{put_numbers, put_scales};
use crate::{Params, Result, ValueScale, Weights};

/// Sides of the polygons of the listed cells and sites, and how many of them are worked on at once: few
/// need more than the first.
const TIERS: [(u64, u64); 3] = [(64, 1 << 16), (512, 1 << 13), (4096, 512)];

/// Bytes of slots for polygons of any size.
const MOST_SLOTS: u64 = 64 << 20;

/// Points in device memory.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a> {
    pub x: Slice<'a, f64>,
    pub y: Slice<'a, f64>,
    /// The points' first value, then their second, and so on.
    pub z: Slice<'a, f64>,
    pub scales: &'a [ValueScale],
    pub bounds: Option<Bounds>,
}

/// What the exact method gives in device memory.
pub(crate) struct Layers {
    /// All cells' first value, then all cells' second, and so on.
    pub dem: Column<f32>,
    pub counts: Option<Column<u32>>,
    pub distances: Option<Column<f32>>,
    pub deviations: Option<Column<f32>>,
    pub tallies: Column<u64>,
}

/// Sites sorted by cells, with their values.
struct Table {
    starts: Column<u32>,
    places: Column<f64>,
    values: Column<i32>,
    /// How many sites come before each sorted point, and how many there are.
    sites_before: Column<u32>,
    scales: Column<f64>,
    setup: Column<f64>,
    value_count: u32,
    points: u32,
}

/// Interpolates all values of points, which the workspace's handle has admitted. Enqueues and returns; but
/// with the hull, or where points lie far from the grid, it waits for the points.
pub(crate) fn interpolate(
    workspace: &mut Workspace,
    points: Points,
    params: &Params,
    mask: *const u8,
) -> Result<Layers> {
    let gpu = &workspace.gpu().clone();
    let setup = Setup::of(params, points.bounds, points.x.len())?;
    let mut tallies = gpu.zeroed::<u64>(TALLIES)?;
    let table = Table::new(workspace, points, &setup, params, &mut tallies)?;
    let gradients = match params.weights {
        Weights::SibsonC1 => Some(table.gradients(gpu)?),
        _ => None,
    };
    let hull = params.hull.then(|| table.hull(gpu, params, &tallies)).transpose()?;
    table.cells(gpu, params, gradients.as_ref(), hull.as_ref(), mask, tallies)
}

/// The address of a column that may be missing.
fn address<T: gpu_core::Element>(column: Option<&Column<T>>) -> *const T {
    column.map_or(std::ptr::null(), Column::as_ptr)
}

/// The same, to be written to.
fn address_mut<T: gpu_core::Element>(column: Option<&mut Column<T>>) -> *mut T {
    column.map_or(std::ptr::null_mut(), Column::as_mut_ptr)
}

/// An empty list with room for so many entries.
fn list(gpu: &Gpu, entries: usize) -> Result<Column<u32>> {
    // SAFETY: kernels read as many entries as were counted; the count is written here.
    unsafe {
        let mut list = gpu.uninitialized::<u32>(entries + 1)?;
        gpu.fill_with_byte(list.as_mut_ptr(), 0, 1)?;
        Ok(list)
    }
}

impl Table {
    /// Sorts points by cells and merges those at the same place.
    fn new(
        workspace: &mut Workspace,
        points: Points,
        setup: &Setup,
        params: &Params,
        tallies: &mut Column<u64>,
    ) -> Result<Self> {
        let gpu = &workspace.gpu().clone();
        let within = match setup.has_far_points() {
            true => Some(count_within(gpu, points, setup.indexed)?),
            false => None,
        };
        let cells = setup.cells(within);
        let n = points.x.len();
        let value_count = points.scales.len();
        let in_memory =
            kernels::setup_in_memory(&cells, &setup.scene, params.grid.height, value_count as u32);
        let (x, y) = (points.x.as_ptr(), points.y.as_ptr());
        // SAFETY: columns have the lengths that the kernels ask for, and are written before they are
        // read; what is dropped here is released on the stream, after the launches.
        unsafe {
            let (keys, order) = sorted(gpu, workspace, points, &cells, params, tallies)?;
            let mut sites_before = gpu.uninitialized::<u32>(n + 1)?;
            gpu.launch(
                kernels::mark_first,
                Blocks::for_each(&kernels::mark_first, n as u64 + 1)?,
                0,
                (
                    keys.as_ptr(),
                    order.as_ptr(),
                    x,
                    y,
                    n as u32,
                    sites_before.as_mut_ptr(),
                    tallies.as_mut_ptr(),
                ),
            )?;
            scan_in_place(workspace, Sum, Scan::exclusive(0), &mut sites_before)?;
            let mut starts = gpu.uninitialized::<u32>(cells.len() as usize + 1)?;
            gpu.launch(
                kernels::find_starts,
                Blocks::for_each(&kernels::find_starts, cells.len() + 1)?,
                0,
                (
                    keys.as_ptr(),
                    n as u32,
                    sites_before.as_ptr(),
                    cells.len() as u32,
                    starts.as_mut_ptr(),
                ),
            )?;
            let mut table = Self {
                starts,
                places: gpu.uninitialized(2 * n)?,
                values: gpu.uninitialized(value_count * n)?,
                sites_before,
                scales: put_scales(gpu, points.scales.iter().copied())?,
                setup: put_numbers(gpu, &in_memory)?,
                value_count: value_count as u32,
                points: n as u32,
            };
            gpu.launch(
                kernels::make_sites,
                Blocks::for_each(&kernels::make_sites, n as u64)?,
                0,
                (
                    keys.as_ptr(),
                    order.as_ptr(),
                    x,
                    y,
                    points.z.as_ptr(),
                    n as u64,
                    n as u32,
                    table.sites_before.as_ptr(),
                    table.scales.as_ptr(),
                    table.value_count,
                    policy_of(params.duplicates),
                    table.places.as_mut_ptr(),
                    table.values.as_mut_ptr(),
                ),
            )?;
            Ok(table)
        }
    }

    /// The gradients of all values at all sites.
    fn gradients(&self, gpu: &Gpu) -> Result<Column<f32>> {
        let n = u64::from(self.points);
        let mut listed = list(gpu, n as usize)?;
        // SAFETY: as for the index; every gradient of a site is written by one of the launches.
        unsafe {
            let mut gradients = gpu.uninitialized::<f32>(2 * self.values.len())?;
            gpu.launch(
                kernels::exact_gradients,
                Blocks::for_each(&kernels::exact_gradients, n)?,
                kernels::SHARED,
                (
                    self.setup.as_ptr(),
                    self.starts.as_ptr(),
                    self.places.as_ptr(),
                    self.values.as_ptr(),
                    self.sites_before.as_ptr(),
                    self.points,
                    gradients.as_mut_ptr(),
                    listed.as_mut_ptr(),
                ),
            )?;
            for (sides, workers) in tiers(n, n) {
                let mut left = list(gpu, n as usize)?;
                let mut slots = gpu.uninitialized::<f64>(slots(sides, workers))?;
                gpu.launch(
                    kernels::exact_gradients_listed,
                    Blocks::for_each(&kernels::exact_gradients_listed, workers)?,
                    0,
                    (
                        self.setup.as_ptr(),
                        self.starts.as_ptr(),
                        self.places.as_ptr(),
                        self.values.as_ptr(),
                        gradients.as_mut_ptr(),
                        listed.as_ptr(),
                        left.as_mut_ptr(),
                        slots.as_mut_ptr(),
                        sides as u32,
                        workers as u32,
                    ),
                )?;
                listed = left;
            }
            Ok(gradients)
        }
    }

    /// The cells of each row that are in the hull of the sites. Waits for them.
    fn hull(&self, gpu: &Gpu, params: &Params, tallies: &Column<u64>) -> Result<Column<i32>> {
        gpu.refuse_in_capture("the hull of the sites")?;
        let sites = tallies.to_host()?[SITES] as usize;
        let places = self.places.to_host()?;
        let places = places.chunks_exact(2).take(sites).map(|place| [place[0], place[1]]);
        Ok(gpu.enqueue_upload(&row_bounds(places.collect(), &params.grid))?)
    }

    /// Interpolates the cells of the DEM.
    fn cells(
        &self,
        gpu: &Gpu,
        params: &Params,
        gradients: Option<&Column<f32>>,
        hull: Option<&Column<i32>>,
        mask: *const u8,
        tallies: Column<u64>,
    ) -> Result<Layers> {
        let (grid, cells) = (params.grid, params.grid.cells() as usize);
        // SAFETY: as for the index; every cell is written by one of the launches.
        unsafe {
            let layer = |wanted: bool| match wanted {
                true => gpu.uninitialized::<f32>(cells).map(Some),
                false => Ok(None),
            };
            let mut layers = Layers {
                dem: gpu.uninitialized(cells * self.value_count as usize)?,
                counts: params.counts.then(|| gpu.uninitialized(cells)).transpose()?,
                distances: layer(params.distances)?,
                deviations: layer(params.deviations)?,
                tallies,
            };
            let side = |cells: u32| cells.div_ceil(kernels::PATCH);
            let mut listed = list(gpu, cells)?;
            gpu.launch(
                kernels::exact_cells,
                Blocks::x(side(grid.width) * side(grid.height)),
                kernels::SHARED,
                (
                    self.setup.as_ptr(),
                    self.starts.as_ptr(),
                    self.places.as_ptr(),
                    self.values.as_ptr(),
                    address(gradients),
                    self.scales.as_ptr(),
                    address(hull),
                    mask,
                    layers.dem.as_mut_ptr(),
                    address_mut(layers.counts.as_mut()),
                    address_mut(layers.distances.as_mut()),
                    address_mut(layers.deviations.as_mut()),
                    listed.as_mut_ptr(),
                    layers.tallies.as_mut_ptr(),
                ),
            )?;
            for (sides, workers) in tiers(u64::from(self.points), cells as u64) {
                let mut left = list(gpu, cells)?;
                let mut slots = gpu.uninitialized::<f64>(slots(sides, workers))?;
                gpu.launch(
                    kernels::exact_cells_listed,
                    Blocks::for_each(&kernels::exact_cells_listed, workers)?,
                    0,
                    (
                        self.setup.as_ptr(),
                        self.starts.as_ptr(),
                        self.places.as_ptr(),
                        self.values.as_ptr(),
                        address(gradients),
                        self.scales.as_ptr(),
                        address(hull),
                        mask,
                        layers.dem.as_mut_ptr(),
                        address_mut(layers.counts.as_mut()),
                        address_mut(layers.distances.as_mut()),
                        address_mut(layers.deviations.as_mut()),
                        listed.as_ptr(),
                        left.as_mut_ptr(),
                        slots.as_mut_ptr(),
                        sides as u32,
                        workers as u32,
                        layers.tallies.as_mut_ptr(),
                    ),
                )?;
                listed = left;
            }
            Ok(layers)
        }
    }
}

/// For each launch over a list the sides of a polygon and the threads at work. The last takes polygons with
/// a side for each point.
fn tiers(points: u64, work: u64) -> Vec<(u64, u64)> {
    let all = points + 8;
    let mut tiers: Vec<(u64, u64)> = TIERS.into_iter().filter(|(sides, _)| *sides < all).collect();
    let (_, workers) = TIERS[tiers.len().min(TIERS.len() - 1)];
    tiers.push((all, (MOST_SLOTS / (all * kernels::SIDE_BYTES)).clamp(1, workers)));
    tiers.iter().map(|&(sides, workers)| (sides, workers.min(work).max(1))).collect()
}

/// The slots of so many threads for polygons with so many sides, in f64.
fn slots(sides: u64, workers: u64) -> usize {
    (sides * workers * kernels::SIDE_BYTES).div_ceil(8) as usize
}

/// Points within bounds. Waits for them.
fn count_within(gpu: &Gpu, points: Points, bounds: Bounds) -> Result<usize> {
    gpu.refuse_in_capture("an exact interpolation with points far from the grid")?;
    let (mut count, len) = (gpu.zeroed::<u64>(1)?, points.x.len() as u64);
    let arguments = nni::count_within::Args {
        x: points.x.as_ptr(),
        y: points.y.as_ptr(),
        points: len,
        min_x: bounds.min_x,
        min_y: bounds.min_y,
        max_x: bounds.max_x,
        max_y: bounds.max_y,
        count: count.as_mut_ptr(),
    };
    let blocks = Blocks::for_each(&nni::count_within, len)?;
    // SAFETY: lengths are as the kernel asks.
    unsafe { gpu.enqueue(nni::count_within, blocks, arguments)? };
    Ok(count.to_host()?[0] as usize)
}

/// The keys of points, sorted, and which point each is.
///
/// # Safety
/// The stream has the points written before.
unsafe fn sorted(
    gpu: &Gpu,
    workspace: &mut Workspace,
    points: Points,
    cells: &Cells,
    params: &Params,
    tallies: &mut Column<u64>,
) -> Result<(Column<u64>, Column<u32>)> {
    let (n, grid) = (points.x.len(), params.grid);
    // SAFETY: columns have the lengths that the kernel asks for, and are written before they are read.
    unsafe {
        let mut keys = gpu.uninitialized::<u64>(n)?;
        gpu.launch(
            kernels::key_points,
            Blocks::for_each(&kernels::key_points, n as u64)?,
            0,
            (
                points.x.as_ptr(),
                points.y.as_ptr(),
                n as u32,
                cells.west,
                cells.south,
                cells.side,
                cells.per_unit,
                cells.columns,
                cells.rows,
                grid.origin_x,
                grid.origin_y,
                grid.cell_size,
                grid.width,
                grid.height,
                keys.as_mut_ptr(),
                tallies.as_mut_ptr(),
            ),
        )?;
        let mut indices = gpu.uninitialized::<u32>(n)?;
        sequence(workspace, 0, 1, &mut indices)?;
        let mut sorted_keys = gpu.uninitialized::<u64>(n)?;
        let mut order = gpu.uninitialized::<u32>(n)?;
        let bits = PLACE_BITS + (u64::BITS - (cells.len() - 1).leading_zeros());
        let by = Sort::ascending().by_bits(0..bits);
        sort_pairs(workspace, by, &keys, &indices, &mut sorted_keys, &mut order)?;
        Ok((sorted_keys, order))
    }
}
