//! The kernels: see the [module](super) for the plan.

use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, kernel, math, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::index::{Merge, Sorted, key};
use super::polygon::Slots;
use super::scene::{Answer, Scene, Sites};
use super::search::{Index, NEAR};
use crate::cells::Cells;
use crate::nni::rasterise::{LEFT, OUTSIDE, SITES, count_flags};
use crate::nni::values::Scales;

/// Threads of a block of [`exact_cells`] and [`exact_gradients`].
pub const BLOCK: u32 = 64;

/// Cells of the DEM along each side of a block of [`exact_cells`].
pub const PATCH: u32 = 8;

/// Sides of a polygon in shared memory.
pub const FEW_SIDES: u32 = 12;

/// Threads of a block of the kernels that take a list.
pub const LISTED_BLOCK: u32 = 64;

/// Bytes that a polygon's side takes in memory.
pub const SIDE_BYTES: u64 = 36;

/// Shared memory of [`exact_cells`] and [`exact_gradients`].
pub const SHARED: u32 = FEW_SIDES * BLOCK * SIDE_BYTES as u32;

/// A polygon in shared memory: the slots of a thread lie [`BLOCK`] apart.
struct InShared {
    numbers: SharedArray<f64>,
    lines: SharedArray<u32>,
    me: u32,
}

impl InShared {
    /// The slots of this thread.
    #[inline(always)]
    fn new() -> Self {
        let mut carver = Carver::new();
        let numbers = carver.array(4 * FEW_SIDES * BLOCK);
        Self { numbers, lines: carver.array(FEW_SIDES * BLOCK), me: thread::thread_idx_x() }
    }

    #[inline(always)]
    fn at(&self, number: u32, i: u32) -> u32 {
        (number * FEW_SIDES + i) * BLOCK + self.me
    }
}

// SAFETY (all): indices are below the capacity, by the contract of `Slots`, and the slots are the
// thread's own.
impl Slots for InShared {
    #[inline(always)]
    fn capacity(&self) -> u32 {
        FEW_SIDES
    }
    #[inline(always)]
    fn corner(&self, i: u32) -> [f64; 2] {
        // SAFETY: as above.
        unsafe { [self.numbers.load(self.at(0, i)), self.numbers.load(self.at(1, i))] }
    }
    #[inline(always)]
    fn set_corner(&mut self, i: u32, [x, y]: [f64; 2]) {
        // SAFETY: as above.
        unsafe {
            self.numbers.store(self.at(0, i), x);
            self.numbers.store(self.at(1, i), y);
        }
    }
    #[inline(always)]
    fn line(&self, i: u32) -> u32 {
        // SAFETY: as above.
        unsafe { self.lines.load(i * BLOCK + self.me) }
    }
    #[inline(always)]
    fn set_line(&mut self, i: u32, line: u32) {
        // SAFETY: as above.
        unsafe { self.lines.store(i * BLOCK + self.me, line) }
    }
    #[inline(always)]
    fn share(&self, i: u32) -> f64 {
        // SAFETY: as above.
        unsafe { self.numbers.load(self.at(2, i)) }
    }
    #[inline(always)]
    fn set_share(&mut self, i: u32, share: f64) {
        // SAFETY: as above.
        unsafe { self.numbers.store(self.at(2, i), share) }
    }
    #[inline(always)]
    fn time(&self, i: u32) -> f64 {
        // SAFETY: as above.
        unsafe { self.numbers.load(self.at(3, i)) }
    }
    #[inline(always)]
    fn set_time(&mut self, i: u32, time: f64) {
        // SAFETY: as above.
        unsafe { self.numbers.store(self.at(3, i), time) }
    }
}

/// A polygon in global memory: the slots of a thread lie as far apart as there are workers.
struct InGlobal {
    numbers: *mut f64,
    lines: *mut u32,
    capacity: u32,
    threads: usize,
    me: usize,
}

impl InGlobal {
    /// The slots of this thread.
    ///
    /// # Safety
    /// `slots` has [`SIDE_BYTES`] for each of `capacity` sides of each of `workers` threads, of which this is
    /// one.
    #[inline(always)]
    unsafe fn new(slots: *mut f64, capacity: u32, workers: u32) -> Self {
        let (threads, me) = (workers as usize, thread::index_1d() as usize);
        // SAFETY: passed on to the caller.
        let lines = unsafe { slots.add(4 * capacity as usize * threads).cast() };
        Self { numbers: slots, lines, capacity, threads, me }
    }

    #[inline(always)]
    fn at(&self, number: u32, i: u32) -> usize {
        (number as usize * self.capacity as usize + i as usize) * self.threads + self.me
    }
}

// SAFETY (all): indices are below the capacity, by the contract of `Slots`, and the slots are the
// thread's own.
impl Slots for InGlobal {
    #[inline(always)]
    fn capacity(&self) -> u32 {
        self.capacity
    }
    #[inline(always)]
    fn corner(&self, i: u32) -> [f64; 2] {
        // SAFETY: as above.
        unsafe { [*self.numbers.add(self.at(0, i)), *self.numbers.add(self.at(1, i))] }
    }
    #[inline(always)]
    fn set_corner(&mut self, i: u32, [x, y]: [f64; 2]) {
        // SAFETY: as above.
        unsafe {
            *self.numbers.add(self.at(0, i)) = x;
            *self.numbers.add(self.at(1, i)) = y;
        }
    }
    #[inline(always)]
    fn line(&self, i: u32) -> u32 {
        // SAFETY: as above.
        unsafe { *self.lines.add(self.at(0, i)) }
    }
    #[inline(always)]
    fn set_line(&mut self, i: u32, line: u32) {
        // SAFETY: as above.
        unsafe { *self.lines.add(self.at(0, i)) = line }
    }
    #[inline(always)]
    fn share(&self, i: u32) -> f64 {
        // SAFETY: as above.
        unsafe { *self.numbers.add(self.at(2, i)) }
    }
    #[inline(always)]
    fn set_share(&mut self, i: u32, share: f64) {
        // SAFETY: as above.
        unsafe { *self.numbers.add(self.at(2, i)) = share }
    }
    #[inline(always)]
    fn time(&self, i: u32) -> f64 {
        // SAFETY: as above.
        unsafe { *self.numbers.add(self.at(3, i)) }
    }
    #[inline(always)]
    fn set_time(&mut self, i: u32, time: f64) {
        // SAFETY: as above.
        unsafe { *self.numbers.add(self.at(3, i)) = time }
    }
}

/// The columns of points, sorted.
///
/// # Safety
/// `x` and `y` have an element for each point that `order` names, which has `points`, as `keys`.
#[inline(always)]
unsafe fn sorted(
    keys: *const u64,
    order: *const u32,
    x: *const f64,
    y: *const f64,
    points: u32,
) -> Sorted<impl Fn(usize) -> u64, impl Fn(usize) -> usize, impl Fn(usize) -> [f64; 2]> {
    // SAFETY (all): passed on to the caller.
    Sorted {
        len: points as usize,
        // SAFETY: passed on to the caller.
        key: move |i: usize| unsafe { *keys.add(i) },
        // SAFETY: passed on to the caller.
        point: move |i: usize| unsafe { *order.add(i) as usize },
        // SAFETY: passed on to the caller.
        place: move |i: usize| unsafe { [*x.add(i), *y.add(i)] },
    }
}

/// Writes the key of each point, and counts those outside of the DEM. Grid: a thread a point.
///
/// # Safety
/// `x`, `y` and `keys` have `points` elements, `tallies` as many as the pixel method's.
#[kernel(block = 256)]
pub unsafe fn key_points(
    x: *const f64,
    y: *const f64,
    points: u32,
    west: f64,
    south: f64,
    side: f64,
    per_unit: f64,
    columns: u32,
    rows: u32,
    origin_x: f64,
    origin_y: f64,
    cell_size: f64,
    dem_columns: u32,
    dem_rows: u32,
    keys: *mut u64,
    tallies: *mut u64,
) {
    let point = thread::index_1d();
    let mut is_outside = false;
    if point < points as u64 {
        let i = point as usize;
        // SAFETY: the point is below the count.
        unsafe {
            let (x, y) = (*x.add(i), *y.add(i));
            let cells = Cells { west, south, side, per_unit, columns, rows };
            *keys.add(i) = key(&cells, x, y);
            let column = math::floor((x - origin_x) / cell_size);
            let row = math::floor((origin_y - y) / cell_size);
            let is_inside =
                column >= 0.0 && row >= 0.0 && column < dem_columns as f64 && row < dem_rows as f64;
            is_outside = !is_inside;
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_outside, tallies.add(OUTSIDE)) };
}

/// Writes 1 for each sorted point that is the first at its place, 0 for others and for one more; and
/// counts the ones. Grid: a thread a point and one more.
///
/// # Safety
/// `keys` and `order` have `points` elements, `x` and `y` one for each that `order` names, `first` one
/// more.
#[kernel(block = 256)]
pub unsafe fn mark_first(
    keys: *const u64,
    order: *const u32,
    x: *const f64,
    y: *const f64,
    points: u32,
    first: *mut u32,
    tallies: *mut u64,
) {
    let i = thread::index_1d();
    let mut is_first = false;
    if i <= points as u64 {
        // SAFETY: passed on to the caller; the element is below the count.
        unsafe {
            if i < points as u64 {
                is_first = sorted(keys, order, x, y, points).is_first(i as usize);
            }
            *first.add(i as usize) = is_first as u32;
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_first, tallies.add(SITES)) };
}

/// Writes the first site of each cell, and behind them the number of sites. `sites_before` is the
/// exclusive scan of what [`mark_first`] wrote. Grid: a thread a cell and one more.
///
/// # Safety
/// `keys` has `points` elements, `sites_before` one more; `starts` one more than `cells`.
#[kernel(block = 256)]
pub unsafe fn find_starts(
    keys: *const u64,
    points: u32,
    sites_before: *const u32,
    cells: u32,
    starts: *mut u32,
) {
    let cell = thread::index_1d();
    if cell > cells as u64 {
        return;
    }
    // SAFETY: passed on to the caller; order and places are not asked for.
    unsafe {
        let null = core::ptr::null();
        let all = sorted(keys, core::ptr::null(), null, null, points);
        *starts.add(cell as usize) = *sites_before.add(all.first_of(cell));
    }
}

/// Writes the places and the merged values of sites. Grid: a thread a point.
///
/// # Safety
/// As for [`mark_first`]; `sites_before` is its exclusive scan; `z` has `value_count` planes of
/// `plane` elements; `places` has two elements for each site, `values` `value_count`.
#[kernel(block = 256)]
pub unsafe fn make_sites(
    keys: *const u64,
    order: *const u32,
    x: *const f64,
    y: *const f64,
    z: *const f64,
    plane: u64,
    points: u32,
    sites_before: *const u32,
    scales: *const f64,
    value_count: u32,
    policy: u32,
    places: *mut f64,
    values: *mut i32,
) {
    let i = thread::index_1d() as usize;
    if i >= points as usize {
        return;
    }
    // SAFETY: passed on to the caller; the element is below the count.
    unsafe {
        let site = *sites_before.add(i) as usize;
        if *sites_before.add(i + 1) as usize == site {
            return;
        }
        let all = sorted(keys, order, x, y, points);
        let [x, y] = (all.place)((all.point)(i));
        *places.add(2 * site) = x;
        *places.add(2 * site + 1) = y;
        let mut k = 0;
        while k < value_count as usize {
            let [offset, reciprocal_step] = Scales(scales).inverse_of(k);
            let mut merge = Merge::new(policy);
            all.each_at(i, |point| {
                let z = *z.add(k * plane as usize + point);
                merge.add(math::round_ties_even((z - offset) * reciprocal_step) as i32);
            });
            *values.add(value_count as usize * site + k) = merge.value();
            k += 1;
        }
    }
}

/// What sites have, in device memory.
#[derive(Clone, Copy)]
struct OnDevice {
    values: *const i32,
    gradients: *const f32,
    scales: *const f64,
    value_count: u32,
}

// SAFETY (all): sites and values are below their counts, by the contract of the kernels.
impl Sites for OnDevice {
    #[inline(always)]
    fn values(&self) -> u32 {
        self.value_count
    }
    #[inline(always)]
    fn value(&self, site: u32, k: u32) -> i32 {
        // SAFETY: as above.
        unsafe { *self.values.add(site as usize * self.value_count as usize + k as usize) }
    }
    #[inline(always)]
    fn gradient(&self, site: u32, k: u32) -> [f32; 2] {
        let i = 2 * (site as usize * self.value_count as usize + k as usize);
        // SAFETY: as above.
        unsafe { [*self.gradients.add(i), *self.gradients.add(i + 1)] }
    }
    #[inline(always)]
    fn scale(&self, k: u32) -> [f64; 2] {
        // SAFETY: as above.
        unsafe { Scales(self.scales).of(k as usize) }
    }
}

/// Numbers of the setup.
pub const SETUP: usize = 20;

/// The cells and the scene, the rows of the DEM, and how many values a site has, as they lie in memory.
pub fn setup_in_memory(
    cells: &Cells,
    scene: &Scene,
    dem_rows: u32,
    value_count: u32,
) -> [f64; SETUP] {
    [
        cells.west,
        cells.south,
        cells.side,
        cells.per_unit,
        cells.columns as f64,
        cells.rows as f64,
        scene.origin_x,
        scene.origin_y,
        scene.cell_size,
        scene.columns as f64,
        scene.half_window,
        scene.half_extent,
        scene.site_limit,
        scene.give_up,
        scene.max_squared,
        scene.weights as f64,
        scene.fill as f64,
        scene.fill_value as f64,
        dem_rows as f64,
        value_count as f64,
    ]
}

/// The same from memory.
///
/// # Safety
/// `setup` has what [`setup_in_memory`] gave.
#[inline(always)]
unsafe fn read_setup(setup: *const f64) -> (Cells, Scene, u32, u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        let (float, integer) = (|k: usize| *setup.add(k), |k: usize| *setup.add(k) as u32);
        let cells = Cells {
            west: float(0),
            south: float(1),
            side: float(2),
            per_unit: float(3),
            columns: integer(4),
            rows: integer(5),
        };
        let scene = Scene {
            origin_x: float(6),
            origin_y: float(7),
            cell_size: float(8),
            columns: integer(9),
            half_window: float(10),
            half_extent: float(11),
            site_limit: float(12),
            give_up: float(13),
            max_squared: float(14),
            weights: integer(15),
            fill: integer(16),
            fill_value: float(17) as f32,
        };
        (cells, scene, integer(18), integer(19))
    }
}

/// The sites, sorted by cells.
///
/// # Safety
/// `starts` has an element for each cell and one more, `places` two for each site.
#[inline(always)]
unsafe fn index_of(
    cells: Cells,
    places: *const f64,
    starts: *const u32,
) -> Index<impl Fn(u32) -> [f64; 2], impl Fn(u32) -> u32> {
    // SAFETY (both): passed on to the caller.
    // SAFETY: passed on to the caller.
    let place = move |site: u32| unsafe {
        let at = places.add(2 * site as usize);
        [*at, *at.add(1)]
    };
    // SAFETY: passed on to the caller.
    Index { cells, place, start: move |cell: u32| unsafe { *starts.add(cell as usize) } }
}

/// Where the results of cells go.
#[derive(Clone, Copy)]
struct Results {
    rows: u32,
    hull: *const i32,
    mask: *const u8,
    dem: *mut f32,
    counts: *mut u32,
    distances: *mut f32,
    deviations: *mut f32,
}

impl Results {
    /// Interpolates a cell and writes what belongs to it: whether it has a value, and whether the slots and
    /// blocks sufficed.
    ///
    /// # Safety
    /// As for [`exact_cells`].
    #[inline(always)]
    unsafe fn cell<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots>(
        &self,
        scene: &Scene,
        index: &Index<P, I>,
        sites: &OnDevice,
        slots: &mut Q,
        [column, row]: [u32; 2],
        most: u32,
    ) -> (bool, bool) {
        let cell = row as usize * scene.columns as usize + column as usize;
        let cells = scene.columns as usize * self.rows as usize;
        // SAFETY: the cell is in the DEM; the rest is passed on to the caller.
        unsafe {
            let is_masked = !self.mask.is_null() && *self.mask.add(cell) == 0;
            if is_masked {
                let mut k = 0;
                while k < sites.value_count as usize {
                    *self.dem.add(k * cells + cell) = f32::NAN;
                    k += 1;
                }
                self.layers(cell, Answer::NONE);
                if self.distances.is_null() {
                    return (false, true);
                }
            }
            let mut hull = [i32::MIN, i32::MAX];
            if !self.hull.is_null() {
                hull = [*self.hull.add(2 * row as usize), *self.hull.add(2 * row as usize + 1)];
            }
            let mut has_value = false;
            let answer = scene.cell([column, row], index, sites, slots, most, hull, |k, value| {
                if !is_masked {
                    *self.dem.add(k as usize * cells + cell) = value;
                    has_value = !value.is_nan();
                }
            });
            if let Some(answer) = answer {
                let distance = answer.distance;
                self.layers(
                    cell,
                    if is_masked { Answer { distance, ..Answer::NONE } } else { answer },
                );
            }
            (has_value, answer.is_some())
        }
    }

    /// # Safety
    /// As for [`exact_cells`].
    #[inline(always)]
    unsafe fn layers(&self, cell: usize, answer: Answer) {
        // SAFETY: passed on to the caller.
        unsafe {
            if !self.counts.is_null() {
                *self.counts.add(cell) = answer.count;
            }
            if !self.distances.is_null() {
                *self.distances.add(cell) = answer.distance;
            }
            if !self.deviations.is_null() {
                *self.deviations.add(cell) = answer.deviation;
            }
        }
    }
}

/// Interpolates every cell of the DEM, by polygons of up to [`FEW_SIDES`] sides and blocks of up to
/// [`NEAR`] cells to each side. Cells for which these do not suffice go into `listed`: their number,
/// then they. Cells without a value in the end are counted.
///
/// Grid: a block for [`PATCH`] by [`PATCH`] cells of the DEM, row by row; [`SHARED`] bytes of shared
/// memory.
///
/// # Safety
/// `setup` has what [`setup_in_memory`] gave; `starts`, `places` and `values` what
/// [`find_starts`] and [`make_sites`] wrote, and `gradients` two elements for each value, or null unless
/// the weights want it; `scales` is for each value. `hull` is null, or has two elements for each row; `mask`, `counts`, `distances` and `deviations` are null, or have one for
/// each cell; `dem` has one for each value of each cell, one value after the other; `listed` one more
/// than there are cells, the first of them 0.
#[kernel(block = 64, resident = 6)]
pub unsafe fn exact_cells(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    values: *const i32,
    gradients: *const f32,
    scales: *const f64,
    hull: *const i32,
    mask: *const u8,
    dem: *mut f32,
    counts: *mut u32,
    distances: *mut f32,
    deviations: *mut f32,
    listed: *mut u32,
    tallies: *mut u64,
) {
    let mut is_empty = false;
    // SAFETY: passed on to the caller; the cell is checked against the DEM.
    unsafe {
        let (cells, scene, dem_rows, value_count) = read_setup(setup);
        let patches = scene.columns.div_ceil(PATCH);
        let patch_row = thread::block_idx_x().checked_div(patches).unwrap_or(0);
        let patch_column = thread::block_idx_x() - patch_row * patches;
        let me = thread::thread_idx_x();
        let column = patch_column * PATCH + me % PATCH;
        let row = patch_row * PATCH + me / PATCH;
        if column < scene.columns && row < dem_rows {
            let results =
                Results { rows: dem_rows, hull, mask, dem, counts, distances, deviations };
            let sites = OnDevice { values, gradients, scales, value_count };
            let index = index_of(cells, places, starts);
            let mut slots = InShared::new();
            let (has_value, suffices) =
                results.cell(&scene, &index, &sites, &mut slots, [column, row], NEAR);
            if suffices {
                is_empty = !has_value;
            } else {
                let at = atomic::add_u32(listed, 1) as usize;
                *listed.add(1 + at) = row * scene.columns + column;
            }
        }
        // All threads of the block come here.
        count_flags(is_empty, tallies.add(LEFT));
    }
}

/// As [`exact_cells`] for listed cells, by polygons of up to `capacity` sides in `slots`, and blocks of any
/// size. Cells for which that does not suffice go into `left` in the same way.
///
/// Grid: a thread a worker; each takes cells in turn.
///
/// # Safety
/// As for [`exact_cells`]; `slots` has [`SIDE_BYTES`] for each of `capacity` sides of each worker.
#[kernel(block = 64)]
pub unsafe fn exact_cells_listed(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    values: *const i32,
    gradients: *const f32,
    scales: *const f64,
    hull: *const i32,
    mask: *const u8,
    dem: *mut f32,
    counts: *mut u32,
    distances: *mut f32,
    deviations: *mut f32,
    listed: *const u32,
    left: *mut u32,
    slots: *mut f64,
    capacity: u32,
    workers: u32,
    tallies: *mut u64,
) {
    // SAFETY: passed on to the caller; the list names cells of the DEM.
    unsafe {
        let mut i = thread::index_1d();
        while i < *listed as u64 && thread::index_1d() < workers as u64 {
            // Read anew for each cell: registers are short, and the cells few.
            let (cells, scene, dem_rows, value_count) = read_setup(setup);
            let results =
                Results { rows: dem_rows, hull, mask, dem, counts, distances, deviations };
            let sites = OnDevice { values, gradients, scales, value_count };
            let index = index_of(cells, places, starts);
            let mut slots = InGlobal::new(slots, capacity, workers);
            let cell = *listed.add(1 + i as usize);
            let row = cell.checked_div(scene.columns).unwrap_or(0);
            let place = [cell - row * scene.columns, row];
            let most = u32::MAX / 4;
            let (has_value, suffices) =
                results.cell(&scene, &index, &sites, &mut slots, place, most);
            if !suffices {
                let at = atomic::add_u32(left, 1) as usize;
                *left.add(1 + at) = cell;
            } else if !has_value {
                atomic::add_u64(tallies.add(LEFT), 1);
            }
            i += workers as u64;
        }
    }
}

/// Estimates the gradients of every site, by polygons of up to [`FEW_SIDES`] sides and blocks of up to
/// [`NEAR`] cells to each side. Sites for which these do not suffice go into `listed`: their number, then
/// they.
///
/// Grid: a thread a point; [`SHARED`] bytes of shared memory.
///
/// # Safety
/// As for [`exact_cells`]; `sites_before` has the number of sites at `points`; `gradients` has two
/// elements for each value of a site, `listed` one more than there are sites, the first of them 0.
#[kernel(block = 64, resident = 8)]
pub unsafe fn exact_gradients(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    values: *const i32,
    sites_before: *const u32,
    points: u32,
    gradients: *mut f32,
    listed: *mut u32,
) {
    let site = thread::index_1d();
    // SAFETY: passed on to the caller; the site is below the count.
    unsafe {
        if site >= *sites_before.add(points as usize) as u64 {
            return;
        }
        let (cells, scene, _, value_count) = read_setup(setup);
        let index = index_of(cells, places, starts);
        let mut slots = InShared::new();
        let site = site as u32;
        if !estimate(site, &scene, &index, values, value_count, gradients, &mut slots, NEAR) {
            let at = atomic::add_u32(listed, 1) as usize;
            *listed.add(1 + at) = site;
        }
    }
}

/// As [`exact_gradients`] for listed sites, by polygons of up to `capacity` sides in `slots`, and blocks
/// of any size. Sites for which that does not suffice go into `left` in the same way.
///
/// Grid: a thread a worker; each takes sites in turn.
///
/// # Safety
/// As for [`exact_gradients`]; `slots` has [`SIDE_BYTES`] for each of `capacity` sides of each worker.
#[kernel(block = 64)]
pub unsafe fn exact_gradients_listed(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    values: *const i32,
    gradients: *mut f32,
    listed: *const u32,
    left: *mut u32,
    slots: *mut f64,
    capacity: u32,
    workers: u32,
) {
    // SAFETY: passed on to the caller; the list names sites.
    unsafe {
        let (cells, scene, _, value_count) = read_setup(setup);
        let index = index_of(cells, places, starts);
        let mut slots = InGlobal::new(slots, capacity, workers);
        let mut i = thread::index_1d();
        while i < *listed as u64 && thread::index_1d() < workers as u64 {
            let site = *listed.add(1 + i as usize);
            let most = u32::MAX / 4;
            if !estimate(site, &scene, &index, values, value_count, gradients, &mut slots, most) {
                let at = atomic::add_u32(left, 1) as usize;
                *left.add(1 + at) = site;
            }
            i += workers as u64;
        }
    }
}

/// Writes the gradients of a site; `false` where slots or blocks do not suffice.
///
/// # Safety
/// As for [`exact_gradients`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn estimate<P: Fn(u32) -> [f64; 2], I: Fn(u32) -> u32, Q: Slots>(
    site: u32,
    scene: &Scene,
    index: &Index<P, I>,
    values: *const i32,
    value_count: u32,
    gradients: *mut f32,
    slots: &mut Q,
    most: u32,
) -> bool {
    let null = core::ptr::null();
    let sites = OnDevice { values, gradients: null, scales: core::ptr::null(), value_count };
    scene.gradients(site, index, &sites, slots, most, |k, [east, north]| {
        let i = 2 * (site as usize * value_count as usize + k as usize);
        // SAFETY: the site and the value are below their counts.
        unsafe {
            *gradients.add(i) = east;
            *gradients.add(i + 1) = north;
        }
    })
}
