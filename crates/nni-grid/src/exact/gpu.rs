//! The exact method on a GPU, over device buffers.

use gpu_core::{Blocks, Bounds, Column, Gpu, Slice};
use gpu_scan::gpu::{Workspace, scan_in_place, sequence, sort_pairs};
use gpu_scan::{Scan, Sort, Sum};
use kernels_rs::nni::exact as kernels;
use kernels_rs::nni::exact::index::PLACE_BITS;
use kernels_rs::nni::exact::rings::most_wide;
use kernels_rs::nni::{self, SITES, TALLIES};
use kernels_rs::spatial::cells::Cells;

use super::{Setup, policy_of, row_bounds};
use crate::gpu::put::{put_numbers, put_scales};
use crate::{Params, Result, ValueScale, Weights};

/// Sides of the polygons of the listed cells and sites, and how many of them are worked on at once: few
/// need more than shared memory has.
const TIERS: [(u64, u64); 3] = [(512, 1 << 11), (2048, 1 << 10), (1 << 14, 1 << 7)];

/// Threads at work on polygons in shared memory.
const IN_SHARED: u64 = 1 << 18;

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
    /// Wide ones lie behind, if there are any.
    rings: Option<Column<f64>>,
    has_wide_rings: bool,
    /// Whether cells outside the hull have no end.
    is_unlimited: bool,
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
    let gradients = match (params.weights, &table.rings) {
        (Weights::SibsonC1, Some(rings)) => Some(table.gradients(gpu, rings)?),
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
        let drawn = setup.drawn_to.map(|to| draw_in(gpu, points, to, setup, params)).transpose()?;
        let points = match &drawn {
            Some([x, y]) => Points { x: x.into(), y: y.into(), ..points },
            None => points,
        };
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
            let (keys, order) = (keys.as_ptr(), order.as_ptr());
            let mut sites_before = gpu.uninitialized::<u32>(n + 1)?;
            let first = sites_before.as_mut_ptr();
            let tallies = tallies.as_mut_ptr();
            gpu.enqueue(
                kernels::mark_first,
                Blocks::for_each(&kernels::mark_first, n as u64 + 1)?,
                kernels::mark_first::Args { keys, order, x, y, points: n as u32, first, tallies },
            )?;
            scan_in_place(workspace, Sum, Scan::exclusive(0), &mut sites_before)?;
            let mut starts = gpu.uninitialized::<u32>(cells.len() as usize + 1)?;
            gpu.enqueue(
                kernels::find_starts,
                Blocks::for_each(&kernels::find_starts, cells.len() + 1)?,
                kernels::find_starts::Args {
                    keys,
                    points: n as u32,
                    sites_before: sites_before.as_ptr(),
                    cells: cells.len() as u32,
                    starts: starts.as_mut_ptr(),
                },
            )?;
            let mut table = Self {
                starts,
                places: gpu.uninitialized(2 * n)?,
                values: gpu.uninitialized(value_count * n)?,
                sites_before,
                rings: None,
                has_wide_rings: setup.has_wide_rings,
                is_unlimited: setup.is_unlimited(),
                scales: put_scales(gpu, points.scales.iter().copied())?,
                setup: put_numbers(gpu, &in_memory)?,
                value_count: value_count as u32,
                points: n as u32,
            };
            gpu.enqueue(
                kernels::make_sites,
                Blocks::for_each(&kernels::make_sites, n as u64)?,
                kernels::make_sites::Args {
                    keys,
                    order,
                    x,
                    y,
                    z: points.z.as_ptr(),
                    plane: n as u64,
                    points: n as u32,
                    sites_before: table.sites_before.as_ptr(),
                    scales: table.scales.as_ptr(),
                    value_count: table.value_count,
                    policy: policy_of(params.duplicates),
                    places: table.places.as_mut_ptr(),
                    values: table.values.as_mut_ptr(),
                },
            )?;
            if setup.has_rings {
                table.rings = Some(table.make_rings(gpu)?);
            }
            Ok(table)
        }
    }

    /// The rings of all sites, and behind them wide ones, if they are wanted, of sites that have none.
    fn make_rings(&self, gpu: &Gpu) -> Result<Column<f64>> {
        let n = self.points as usize;
        let wide = if self.has_wide_rings { most_wide(n as u64) as usize } else { 0 };
        // SAFETY: as for the index; every site's number of sides is written, and so are its sides.
        unsafe {
            let mut rings = gpu
                .uninitialized::<f64>(kernels::RING_NUMBERS * (n + kernels::WIDE_RECORDS * wide))?;
            gpu.enqueue(
                kernels::make_rings,
                Blocks::for_each(&kernels::make_rings, n as u64)?,
                kernels::make_rings::Args {
                    setup: self.setup.as_ptr(),
                    starts: self.starts.as_ptr(),
                    places: self.places.as_ptr(),
                    sites_before: self.sites_before.as_ptr(),
                    points: self.points,
                    rings: rings.as_mut_ptr(),
                },
            )?;
            let mut listed = list(gpu, n)?;
            gpu.enqueue(
                kernels::list_ringless,
                Blocks::for_each(&kernels::list_ringless, n as u64)?,
                kernels::list_ringless::Args {
                    sites_before: self.sites_before.as_ptr(),
                    points: self.points,
                    rings: rings.as_mut_ptr(),
                    listed: listed.as_mut_ptr(),
                },
            )?;
            let mut left = list(gpu, wide)?;
            let workers = IN_SHARED.min(n as u64);
            gpu.enqueue(
                kernels::make_far_rings,
                Blocks::for_each(&kernels::make_far_rings, workers)?,
                kernels::make_far_rings::Args {
                    setup: self.setup.as_ptr(),
                    starts: self.starts.as_ptr(),
                    places: self.places.as_ptr(),
                    listed: listed.as_ptr(),
                    points: self.points,
                    rings: rings.as_mut_ptr(),
                    most: wide as u32,
                    left: left.as_mut_ptr(),
                    workers: workers as u32,
                },
            )?;
            if wide > 0 {
                self.make_wide_rings(gpu, &mut rings, &left, wide)?;
            }
            Ok(rings)
        }
    }

    /// The wide rings of listed sites, `most` at most.
    fn make_wide_rings(
        &self,
        gpu: &Gpu,
        rings: &mut Column<f64>,
        listed: &Column<u32>,
        most: usize,
    ) -> Result<()> {
        let workers = (IN_SHARED / 32).min(most as u64);
        // SAFETY: as for the index; behind the rings there is room for as many wide ones.
        unsafe {
            gpu.enqueue(
                kernels::clip_rings,
                Blocks::for_each(&kernels::clip_rings, 32 * workers)?,
                kernels::clip_rings::Args {
                    setup: self.setup.as_ptr(),
                    starts: self.starts.as_ptr(),
                    places: self.places.as_ptr(),
                    listed: listed.as_ptr(),
                    most: most as u32,
                    points: self.points,
                    rings: rings.as_mut_ptr(),
                    workers: workers as u32,
                },
            )?;
        }
        Ok(())
    }

    /// The gradients of all values at all sites, which have rings.
    fn gradients(&self, gpu: &Gpu, rings: &Column<f64>) -> Result<Column<f32>> {
        let n = u64::from(self.points);
        let (setup, starts) = (self.setup.as_ptr(), self.starts.as_ptr());
        let (places, values) = (self.places.as_ptr(), self.values.as_ptr());
        let mut listed = list(gpu, n as usize)?;
        // SAFETY: as for the index; every gradient of a site is written by one of the launches.
        unsafe {
            let mut all = gpu.uninitialized::<f32>(2 * self.values.len())?;
            let gradients = all.as_mut_ptr();
            gpu.enqueue(
                kernels::fit_planes,
                Blocks::for_each(&kernels::fit_planes, n)?,
                kernels::fit_planes::Args {
                    setup,
                    starts,
                    places,
                    rings: rings.as_ptr(),
                    values,
                    sites_before: self.sites_before.as_ptr(),
                    points: self.points,
                    gradients,
                    listed: listed.as_mut_ptr(),
                },
            )?;
            for tier in tiers(n, n, false) {
                let mut left = list(gpu, n as usize)?;
                let mut slots = gpu.uninitialized::<f64>(tier.numbers())?;
                let kernel = match tier.by {
                    By::Global => kernels::clip_sites::global,
                    _ => kernels::clip_sites::shared,
                };
                gpu.enqueue(
                    kernel,
                    Blocks::for_each(&kernel, tier.threads())?,
                    kernels::clip_sites::Args {
                        setup,
                        starts,
                        places,
                        values,
                        gradients,
                        listed: listed.as_ptr(),
                        left: left.as_mut_ptr(),
                        slots: slots.as_mut_ptr(),
                        capacity: tier.sides as u32,
                        workers: tier.workers as u32,
                    },
                )?;
                listed = left;
            }
            Ok(all)
        }
    }

    /// The cells of each row that are in the hull of the sites. Waits for them.
    fn hull(&self, gpu: &Gpu, params: &Params, tallies: &Column<u64>) -> Result<Column<i32>> {
        gpu.refuse_in_capture("the hull of the sites")?;
        let sites = tallies.to_host()?[SITES] as usize;
        let places = self.places.first_to_host(2 * sites)?;
        let places = places.chunks_exact(2).map(|place| [place[0], place[1]]);
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
        let (setup, starts) = (self.setup.as_ptr(), self.starts.as_ptr());
        let (places, values) = (self.places.as_ptr(), self.values.as_ptr());
        let (gradients, scales) = (address(gradients), self.scales.as_ptr());
        let hull = address(hull);
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
            let dem = layers.dem.as_mut_ptr();
            let counts = address_mut(layers.counts.as_mut());
            let distances = address_mut(layers.distances.as_mut());
            let deviations = address_mut(layers.deviations.as_mut());
            let tallies = layers.tallies.as_mut_ptr();
            let patches = |cells: u32| u64::from(cells.div_ceil(kernels::PATCH));
            let in_patches =
                patches(grid.width) * patches(grid.height) * u64::from(kernels::PATCH).pow(2);
            let (mut listed, mut windows) = (None, None);
            if let Some(rings) = &self.rings {
                let listed = listed.insert(list(gpu, cells)?);
                let kernel = match gradients.is_null() {
                    true => kernels::walk_cells::mean,
                    false => kernels::walk_cells::smooth,
                };
                gpu.enqueue(
                    kernel,
                    Blocks::for_each(&kernel, in_patches)?,
                    kernels::walk_cells::Args {
                        setup,
                        starts,
                        places,
                        rings: rings.as_ptr(),
                        values,
                        gradients,
                        scales,
                        hull,
                        mask,
                        dem,
                        counts,
                        distances,
                        deviations,
                        listed: listed.as_mut_ptr(),
                        tallies,
                    },
                )?;
            }
            if let (Some(rings), Some(near), true) = (&self.rings, &listed, self.has_wide_rings) {
                let mut left = list(gpu, cells)?;
                let told = self.windows(gpu, near)?;
                let windows = windows.insert(gpu.uninitialized(told.len())?);
                let kernel = match gradients.is_null() {
                    true => kernels::walk_far::mean,
                    false => kernels::walk_far::smooth,
                };
                let workers = IN_SHARED.min(in_patches).max(1);
                gpu.enqueue(
                    kernel,
                    Blocks::for_each(&kernel, workers)?,
                    kernels::walk_far::Args {
                        setup,
                        starts,
                        places,
                        rings: rings.as_ptr(),
                        values,
                        gradients,
                        scales,
                        hull,
                        mask,
                        dem,
                        counts,
                        distances,
                        deviations,
                        listed: near.as_ptr(),
                        told: told.as_ptr(),
                        left: left.as_mut_ptr(),
                        windows: windows.as_mut_ptr(),
                        workers: workers as u32,
                        tallies,
                    },
                )?;
                listed = Some(left);
            }
            // What rings do not tell is far, but for windows that are narrow.
            let are_near = listed.is_none() || params.query_radius.is_finite();
            for mut tier in tiers(u64::from(self.points), in_patches, are_near) {
                if listed.is_none() {
                    tier.workers = in_patches;
                }
                let mut left = list(gpu, cells)?;
                let mut slots = gpu.uninitialized::<f64>(tier.numbers())?;
                // They belong to the first list of those that are not near.
                let told = windows.take();
                let kernel = match tier.by {
                    By::Near => kernels::clip_cells::near,
                    By::Shared => kernels::clip_cells::shared,
                    By::Global => kernels::clip_cells::global,
                };
                gpu.enqueue(
                    kernel,
                    Blocks::for_each(&kernel, tier.threads())?,
                    kernels::clip_cells::Args {
                        setup,
                        starts,
                        places,
                        values,
                        gradients,
                        scales,
                        hull,
                        mask,
                        dem,
                        counts,
                        distances,
                        deviations,
                        listed: address(listed.as_ref()),
                        windows: address(told.as_ref()),
                        left: left.as_mut_ptr(),
                        slots: slots.as_mut_ptr(),
                        capacity: tier.sides as u32,
                        workers: tier.workers as u32,
                        tallies,
                    },
                )?;
                if tier.by == By::Near && self.is_unlimited {
                    windows = Some(self.windows(gpu, &left)?);
                }
                listed = Some(left);
            }
            Ok(layers)
        }
    }

    /// The windows of listed cells, as far as they lie outside the hull.
    fn windows(&self, gpu: &Gpu, listed: &Column<u32>) -> Result<Column<f64>> {
        let cells = listed.len() - 1;
        let (setup, places) = (self.setup.as_ptr(), self.places.as_ptr());
        let (sites_before, points) = (self.sites_before.as_ptr(), self.points);
        let listed = listed.as_ptr();
        // SAFETY: as for the index; the outermost sites are written before they are read, or none is.
        unsafe {
            let mut outermost = gpu.uninitialized::<i64>(kernels::outside::DIRECTIONS as usize)?;
            gpu.fill_with_byte(outermost.as_mut_ptr(), kernels::NONE_OUTERMOST, outermost.len())?;
            let workers = (IN_SHARED / 32).min(u64::from(points)).max(1);
            gpu.enqueue(
                kernels::find_outermost,
                Blocks::for_each(&kernels::find_outermost, 32 * workers)?,
                kernels::find_outermost::Args {
                    setup,
                    places,
                    sites_before,
                    points,
                    listed,
                    outermost: outermost.as_mut_ptr(),
                    workers: workers as u32,
                },
            )?;
            let mut outer = list(gpu, points as usize)?;
            gpu.enqueue(
                kernels::list_outer,
                Blocks::for_each(&kernels::list_outer, u64::from(points).max(1))?,
                kernels::list_outer::Args {
                    places,
                    sites_before,
                    points,
                    listed,
                    outermost: outermost.as_ptr(),
                    outer: outer.as_mut_ptr(),
                },
            )?;
            let most = cells.clamp(1, kernels::MOST_WINDOWS as usize);
            let mut windows = gpu.uninitialized::<f64>(most)?;
            let workers = IN_SHARED.min(most as u64);
            gpu.enqueue(
                kernels::tell_windows,
                Blocks::for_each(&kernels::tell_windows, workers)?,
                kernels::tell_windows::Args {
                    setup,
                    starts: self.starts.as_ptr(),
                    places,
                    points,
                    listed,
                    outermost: outermost.as_ptr(),
                    outer: outer.as_ptr(),
                    windows: windows.as_mut_ptr(),
                    workers: workers as u32,
                },
            )?;
            Ok(windows)
        }
    }
}

/// A launch over what is left by those before it.
#[derive(Clone, Copy, Debug)]
struct Tier {
    by: By,
    /// The most sides of a polygon.
    sides: u64,
    /// Teams at work.
    workers: u64,
}

/// Who clips a polygon, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// A thread, in shared memory, from what is near.
    Near,
    /// A warp, in shared memory.
    Shared,
    /// A warp, in global memory.
    Global,
}

impl Tier {
    fn new(by: By, sides: u64, workers: u64) -> Self {
        Self { by, sides, workers }
    }

    /// Threads of the teams.
    fn threads(&self) -> u64 {
        if self.by == By::Near { self.workers } else { 32 * self.workers }
    }

    /// The slots of all teams in global memory, in f64.
    fn numbers(&self) -> usize {
        match self.by {
            By::Global => (self.sides * self.workers * kernels::SIDE_BYTES).div_ceil(8) as usize,
            _ => 0,
        }
    }
}

/// The launches over so many points for so many cells or sites, some of which may have all their neighbours near.
/// The last takes polygons with a side for each point.
fn tiers(points: u64, work: u64, are_near: bool) -> Vec<Tier> {
    let all = points + 8;
    let mut tiers = Vec::new();
    if are_near {
        tiers.push(Tier::new(By::Near, u64::from(kernels::FEW_SIDES), IN_SHARED));
    }
    tiers.push(Tier::new(By::Shared, u64::from(kernels::WARP_SIDES), IN_SHARED / 32));
    let mut workers = 1;
    for (sides, most) in TIERS {
        workers = most;
        if sides >= all {
            break;
        }
        tiers.push(Tier::new(By::Global, sides, workers));
    }
    let workers = (MOST_SLOTS / (all * kernels::SIDE_BYTES)).clamp(1, workers);
    tiers.push(Tier::new(By::Global, all, workers));
    for tier in &mut tiers {
        tier.workers = tier.workers.min(work).max(1);
    }
    tiers
}

/// Columns of where points count, some of which lie too far from the grid to count where they are. Waits for the points.
fn draw_in(
    gpu: &Gpu,
    points: Points,
    [middle_x, middle_y]: [f64; 2],
    setup: &Setup,
    params: &Params,
) -> Result<[Column<f64>; 2]> {
    let (around, error) = setup.surroundings(&params.grid);
    if count_within(gpu, points, around)? == 0 {
        return Err(error);
    }
    let n = points.x.len();
    // SAFETY: all columns have the length of the points; the new ones are written whole.
    unsafe {
        let mut drawn = [gpu.uninitialized::<f64>(n)?, gpu.uninitialized::<f64>(n)?];
        let [x, y] = &mut drawn;
        let arguments = kernels::draw_in::Args {
            x: points.x.as_ptr(),
            y: points.y.as_ptr(),
            points: n as u32,
            middle_x,
            middle_y,
            drawn_x: x.as_mut_ptr(),
            drawn_y: y.as_mut_ptr(),
        };
        gpu.enqueue(kernels::draw_in, Blocks::for_each(&kernels::draw_in, n as u64)?, arguments)?;
        Ok(drawn)
    }
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
        gpu.enqueue(
            kernels::key_points,
            Blocks::for_each(&kernels::key_points, n as u64)?,
            kernels::key_points::Args {
                x: points.x.as_ptr(),
                y: points.y.as_ptr(),
                points: n as u32,
                west: cells.west,
                south: cells.south,
                side: cells.side,
                per_unit: cells.per_unit,
                columns: cells.columns,
                rows: cells.rows,
                origin_x: grid.origin_x,
                origin_y: grid.origin_y,
                cell_size: grid.cell_size,
                dem_columns: grid.width,
                dem_rows: grid.height,
                keys: keys.as_mut_ptr(),
                tallies: tallies.as_mut_ptr(),
            },
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
