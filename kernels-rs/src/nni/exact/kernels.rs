//! The kernels: see the [module](super) for the plan.

use core::marker::PhantomData;

use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, kernel, math, thread, vector};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::index::{Merge, Sorted, key};
use super::polygon::Slots;
use super::rings::{MOST_CLIPPED_SIDES, MOST_SIDES, MOST_WIDE_SIDES, Rings, few_ringless};
use super::scene::{Answer, Cell, Scene, Sites};
use super::search::Index;
use super::team::{Near, Team, Warp};
use crate::nni::rasterise::{LEFT, OUTSIDE, SITES, count_flags};
use crate::nni::values::Scales;
use crate::spatial::cells::Cells;

/// Threads of a block of the kernels over points, and of those over rings.
const BLOCK: u32 = 256;

/// Threads of a block of [`make_rings`].
const RING_BLOCK: u32 = 128;

/// Threads of a block of [`mod@walk_cells`].
const WALK_BLOCK: u32 = 64;

/// Threads of a block of the kernels that clip.
pub const CLIP_BLOCK: u32 = 64;

/// Cells of the DEM along each side of a patch: a warp or a block takes cells that lie together.
pub const PATCH: u32 = 8;

/// Cells of a patch.
const OF_PATCH: u32 = PATCH * PATCH;

/// Sides of a polygon in shared memory, of a thread's by itself and of a warp's.
pub const FEW_SIDES: u32 = 12;
/// See [`FEW_SIDES`].
pub const WARP_SIDES: u32 = MOST_CLIPPED_SIDES;

/// Bytes that a polygon's side takes in memory.
pub const SIDE_BYTES: u64 = 36;

/// Where the polygons of the teams lie: for each side four numbers and the name of a line.
pub trait Memory: Sized {
    /// Who clips a polygon.
    type Team: Team;
    /// Bytes of shared memory for a block.
    const SHARED: u32;
    /// The team of this thread.
    ///
    /// # Safety
    /// All its threads take the same way through whatever works with it.
    unsafe fn team() -> Self::Team;
    /// The slots of this team.
    ///
    /// # Safety
    /// `slots` has [`SIDE_BYTES`] for each of `capacity` sides of each of `workers` teams, of which this is
    /// one; shared memory takes nothing of it.
    unsafe fn slots(slots: *mut f64, capacity: u32, workers: u32) -> Strided<Self>;
    /// Number `at`.
    ///
    /// # Safety
    /// It is one of the team's own.
    unsafe fn number(&self, at: usize) -> f64;
    /// Sets number `at`.
    ///
    /// # Safety
    /// As for [`number`](Self::number).
    unsafe fn set_number(&mut self, at: usize, number: f64);
    /// Name `at`.
    ///
    /// # Safety
    /// As for [`number`](Self::number).
    unsafe fn name(&self, at: usize) -> u32;
    /// Sets name `at`.
    ///
    /// # Safety
    /// As for [`number`](Self::number).
    unsafe fn set_name(&mut self, at: usize, name: u32);
}

/// What [`Memory::SHARED`] says.
const fn shared_bytes<M: Memory>() -> u32 {
    M::SHARED
}

/// A team whose polygons fit shared memory.
pub trait FewSided: Team {
    /// The most sides of one.
    const SIDES: u32;
    /// As [`Memory::team`].
    ///
    /// # Safety
    /// As there.
    unsafe fn here() -> Self;
}

impl FewSided for Near {
    const SIDES: u32 = FEW_SIDES;
    #[inline(always)]
    unsafe fn here() -> Self {
        Self
    }
}

impl FewSided for Warp {
    const SIDES: u32 = WARP_SIDES;
    #[inline(always)]
    unsafe fn here() -> Self {
        // SAFETY: passed on to the caller.
        unsafe { Self::new() }
    }
}

/// Polygons of few sides in shared memory.
pub struct InShared<T> {
    numbers: SharedArray<f64>,
    names: SharedArray<u32>,
    team: PhantomData<T>,
}

impl<T: FewSided> InShared<T> {
    /// Teams of a block.
    const TEAMS: u32 = CLIP_BLOCK / T::THREADS;

    const fn carve(carver: &mut Carver) -> Self {
        Self {
            numbers: carver.array(4 * T::SIDES * Self::TEAMS),
            names: carver.array(T::SIDES * Self::TEAMS),
            team: PhantomData,
        }
    }

    const BYTES: u32 = {
        let mut carver = Carver::new();
        Self::carve(&mut carver);
        carver.bytes()
    };
}

// SAFETY (all): passed on to the caller.
impl<T: FewSided> Memory for InShared<T> {
    type Team = T;
    const SHARED: u32 = Self::BYTES;

    #[inline(always)]
    unsafe fn team() -> T {
        // SAFETY: as above.
        unsafe { T::here() }
    }

    #[inline(always)]
    unsafe fn slots(_: *mut f64, _: u32, _: u32) -> Strided<Self> {
        let me = (thread::thread_idx_x() / T::THREADS) as usize;
        let memory = Self::carve(&mut Carver::new());
        Strided::new(memory, T::SIDES, T::THREADS, Self::TEAMS as usize, me)
    }
    #[inline(always)]
    unsafe fn number(&self, at: usize) -> f64 {
        // SAFETY: as above.
        unsafe { self.numbers.load(at as u32) }
    }
    #[inline(always)]
    unsafe fn set_number(&mut self, at: usize, number: f64) {
        // SAFETY: as above.
        unsafe { self.numbers.store(at as u32, number) }
    }
    #[inline(always)]
    unsafe fn name(&self, at: usize) -> u32 {
        // SAFETY: as above.
        unsafe { self.names.load(at as u32) }
    }
    #[inline(always)]
    unsafe fn set_name(&mut self, at: usize, name: u32) {
        // SAFETY: as above.
        unsafe { self.names.store(at as u32, name) }
    }
}

/// Polygons of any number of sides in global memory.
pub struct InGlobal {
    numbers: *mut f64,
    names: *mut u32,
}

// SAFETY (all): passed on to the caller.
impl Memory for InGlobal {
    type Team = Warp;
    const SHARED: u32 = 0;

    #[inline(always)]
    unsafe fn team() -> Warp {
        // SAFETY: as above.
        unsafe { Warp::new() }
    }

    #[inline(always)]
    unsafe fn slots(slots: *mut f64, capacity: u32, workers: u32) -> Strided<Self> {
        let (teams, me) = (workers as usize, team_index::<Warp>() as usize);
        // SAFETY: as above.
        let names = unsafe { slots.add(4 * capacity as usize * teams).cast() };
        Strided::new(Self { numbers: slots, names }, capacity, Warp::THREADS, teams, me)
    }
    #[inline(always)]
    unsafe fn number(&self, at: usize) -> f64 {
        // SAFETY: as above.
        unsafe { *self.numbers.add(at) }
    }
    #[inline(always)]
    unsafe fn set_number(&mut self, at: usize, number: f64) {
        // SAFETY: as above.
        unsafe { *self.numbers.add(at) = number }
    }
    #[inline(always)]
    unsafe fn name(&self, at: usize) -> u32 {
        // SAFETY: as above.
        unsafe { *self.names.add(at) }
    }
    #[inline(always)]
    unsafe fn set_name(&mut self, at: usize, name: u32) {
        // SAFETY: as above.
        unsafe { *self.names.add(at) = name }
    }
}

/// The slots of a team.
pub struct Strided<M> {
    memory: M,
    capacity: u32,
    /// Between the slots of a team.
    stride: usize,
    /// Where its numbers begin, and its names.
    first: [usize; 2],
}

impl<M> Strided<M> {
    /// Those of team `me` of `teams`. What the threads of a warp want at once lies together: a slot of each where
    /// each has a polygon, the slots of one where they share it.
    #[inline(always)]
    fn new(memory: M, capacity: u32, threads: u32, teams: usize, me: usize) -> Self {
        let slots = capacity as usize;
        let (stride, first) =
            if threads == 1 { (teams, [me, me]) } else { (1, [4 * slots * me, slots * me]) };
        Self { memory, capacity, stride, first }
    }

    #[inline(always)]
    fn at(&self, number: u32, i: u32) -> usize {
        (number * self.capacity + i) as usize * self.stride + self.first[0]
    }

    #[inline(always)]
    fn name_at(&self, i: u32) -> usize {
        i as usize * self.stride + self.first[1]
    }
}

/// Which team of the grid this thread's is.
#[inline(always)]
fn team_index<T: Team>() -> u64 {
    thread::index_1d() / T::THREADS as u64
}

// SAFETY (all): indices are below the capacity, by the contract of `Slots`, and the slots are the
// team's own, of which one thread writes.
impl<M: Memory> Slots for Strided<M> {
    #[inline(always)]
    fn capacity(&self) -> u32 {
        self.capacity
    }
    #[inline(always)]
    fn corner(&self, i: u32) -> [f64; 2] {
        // SAFETY: as above.
        unsafe { [self.memory.number(self.at(0, i)), self.memory.number(self.at(1, i))] }
    }
    #[inline(always)]
    fn set_corner(&mut self, i: u32, [x, y]: [f64; 2]) {
        let (at_x, at_y) = (self.at(0, i), self.at(1, i));
        // SAFETY: as above.
        unsafe {
            self.memory.set_number(at_x, x);
            self.memory.set_number(at_y, y);
        }
    }
    #[inline(always)]
    fn line(&self, i: u32) -> u32 {
        // SAFETY: as above.
        unsafe { self.memory.name(self.name_at(i)) }
    }
    #[inline(always)]
    fn set_line(&mut self, i: u32, line: u32) {
        let at = self.name_at(i);
        // SAFETY: as above.
        unsafe { self.memory.set_name(at, line) }
    }
    #[inline(always)]
    fn share(&self, i: u32) -> f64 {
        // SAFETY: as above.
        unsafe { self.memory.number(self.at(2, i)) }
    }
    #[inline(always)]
    fn set_share(&mut self, i: u32, share: f64) {
        let at = self.at(2, i);
        // SAFETY: as above.
        unsafe { self.memory.set_number(at, share) }
    }
    #[inline(always)]
    fn time(&self, i: u32) -> f64 {
        // SAFETY: as above.
        unsafe { self.memory.number(self.at(3, i)) }
    }
    #[inline(always)]
    fn set_time(&mut self, i: u32, time: f64) {
        let at = self.at(3, i);
        // SAFETY: as above.
        unsafe { self.memory.set_number(at, time) }
    }
}

/// The rings of sites in memory: [`RING_NUMBERS`] for each, the corners, then the neighbours and the number of sides
/// in halves of numbers.
#[derive(Clone, Copy)]
struct InRecords(*const f64);

/// Numbers of a site's ring in memory: 256 bytes, so that a record begins with a line of the cache.
pub const RING_NUMBERS: usize = 32;

/// Where the neighbours begin, and where the number of sides is, in halves of numbers.
const NEIGHBOURS_AT: usize = 4 * MOST_SIDES as usize;
const SIDES_AT: usize = 5 * MOST_SIDES as usize;

impl InRecords {
    #[inline(always)]
    fn record(&self, site: u32) -> *const f64 {
        self.0.wrapping_add(RING_NUMBERS * site as usize)
    }
}

// SAFETY (all): sites and sides are below their counts, by the contract of the kernels.
impl Rings for InRecords {
    #[inline(always)]
    fn sides(&self, site: u32) -> u32 {
        // SAFETY: as above.
        unsafe { *self.record(site).cast::<u32>().add(SIDES_AT) }
    }
    #[inline(always)]
    fn neighbour(&self, site: u32, i: u32) -> u32 {
        // SAFETY: as above.
        unsafe { *self.record(site).cast::<u32>().add(NEIGHBOURS_AT + i as usize) }
    }
    #[inline(always)]
    fn corner(&self, site: u32, i: u32) -> [f64; 2] {
        // SAFETY: as above.
        unsafe { pair(self.record(site).add(2 * i as usize)) }
    }
}

/// The same with the wide rings, which lie behind in the same way, with more room: [`WIDE_RECORDS`] for each. A site's
/// record without sides has the record where its wide ring is, or 0.
#[derive(Clone, Copy)]
struct WithWide(InRecords);

/// Records that a wide ring takes.
pub const WIDE_RECORDS: usize = (5 * MOST_WIDE_SIDES as usize + 1).div_ceil(2 * RING_NUMBERS);

/// Where the neighbours of a wide ring begin, and where the number of sides is, in halves of numbers.
const WIDE_NEIGHBOURS_AT: usize = 4 * MOST_WIDE_SIDES as usize;
const WIDE_SIDES_AT: usize = 5 * MOST_WIDE_SIDES as usize;

/// Where a record tells of the wide ring, in halves of numbers.
const WIDE_AT: usize = SIDES_AT + 1;

impl WithWide {
    /// Where a site's ring is, and the most sides that its memory has room for.
    #[inline(always)]
    fn ring(&self, site: u32) -> (*const f64, usize) {
        let record = self.0.record(site);
        // SAFETY: sites are below their count, by the contract of the kernels; a record without sides tells of a
        // wide ring.
        let wide = unsafe {
            let halves = record.cast::<u32>();
            if *halves.add(SIDES_AT) > 0 { 0 } else { *halves.add(WIDE_AT) }
        };
        if wide == 0 {
            (record, MOST_SIDES as usize)
        } else {
            (self.0.record(wide), MOST_WIDE_SIDES as usize)
        }
    }
}

// SAFETY (all): as above.
impl Rings for WithWide {
    const ARE_WIDE: bool = true;
    #[inline(always)]
    fn sides(&self, site: u32) -> u32 {
        let (ring, most) = self.ring(site);
        // SAFETY: as above.
        unsafe { *ring.cast::<u32>().add(5 * most) }
    }
    #[inline(always)]
    fn neighbour(&self, site: u32, i: u32) -> u32 {
        let (ring, most) = self.ring(site);
        // SAFETY: as above.
        unsafe { *ring.cast::<u32>().add(4 * most + i as usize) }
    }
    #[inline(always)]
    fn corner(&self, site: u32, i: u32) -> [f64; 2] {
        let (ring, _) = self.ring(site);
        // SAFETY: as above.
        unsafe { pair(ring.add(2 * i as usize)) }
    }
}

/// Two numbers that lie together.
///
/// # Safety
/// Both are there, at a multiple of 16 bytes, and nobody writes them meanwhile.
#[inline(always)]
unsafe fn pair(at: *const f64) -> [f64; 2] {
    // SAFETY: passed on to the caller.
    let [a, b, c, d] = unsafe { vector::load(at.cast()) };
    let number = |low: u32, high: u32| f64::from_bits(low as u64 | (high as u64) << 32);
    [number(a, b), number(c, d)]
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
#[kernel(block = BLOCK)]
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
#[kernel(block = BLOCK)]
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
/// exclusive scan of what [`const@mark_first`] wrote. Grid: a thread a cell and one more.
///
/// # Safety
/// `keys` has `points` elements, `sites_before` one more; `starts` one more than `cells`.
#[kernel(block = BLOCK)]
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
/// As for [`const@mark_first`]; `sites_before` is its exclusive scan; `z` has `value_count` planes of
/// `plane` elements; `places` has two elements for each site, `values` `value_count`.
#[kernel(block = BLOCK)]
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
pub const SETUP: usize = 21;

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
        scene.has_deviations as u32 as f64,
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
            has_deviations: integer(20) != 0,
        };
        (cells, scene, integer(18), integer(19))
    }
}

/// The same address, of which the compiler does not know that it has read there.
#[inline(always)]
fn forgotten(setup: *const f64) -> *const f64 {
    vector::unknown_64(setup as u64) as *const f64
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
    // SAFETY: passed on to the caller.
    let place = move |site: u32| unsafe { pair(places.add(2 * site as usize)) };
    // SAFETY: passed on to the caller.
    Index { cells, place, start: move |cell: u32| unsafe { *starts.add(cell as usize) } }
}

/// Where the results of cells go.
#[derive(Clone, Copy)]
struct Results {
    /// Whether this thread is the one that writes those of its cells.
    writes: bool,
    rows: u32,
    hull: *const i32,
    mask: *const u8,
    dem: *mut f32,
    counts: *mut u32,
    distances: *mut f32,
    deviations: *mut f32,
}

/// What became of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    /// It has a value.
    Valued,
    /// It has none.
    Empty,
    /// The means did not suffice.
    Left,
}

impl Results {
    /// What is to be interpolated at a place of the DEM, and where its values go; `None` where there is nothing to
    /// interpolate, and that is written.
    ///
    /// # Safety
    /// As for [`mod@walk_cells`]; the cell is in the DEM.
    #[inline(always)]
    unsafe fn begin(
        &self,
        scene: &Scene,
        values: u32,
        [column, row]: [u32; 2],
    ) -> Option<(Cell, Writer)> {
        let at = row as usize * scene.columns as usize + column as usize;
        let cells = scene.columns as usize * self.rows as usize;
        // SAFETY: the cell is in the DEM; the rest is passed on to the caller.
        unsafe {
            let is_masked = !self.mask.is_null() && *self.mask.add(at) == 0;
            if is_masked {
                let mut k = 0;
                while self.writes && k < values as usize {
                    *self.dem.add(k * cells + at) = f32::NAN;
                    k += 1;
                }
                self.layers(at, Answer::NONE);
                if self.distances.is_null() {
                    return None;
                }
            }
            let mut hull = [i32::MIN, i32::MAX];
            if !self.hull.is_null() {
                hull = [*self.hull.add(2 * row as usize), *self.hull.add(2 * row as usize + 1)];
            }
            let (dem, is_silent) = (self.dem.add(at), is_masked || !self.writes);
            let writer = Writer { dem, stride: cells, at, is_masked, is_silent, has_value: false };
            Some((Cell { column, row, hull }, writer))
        }
    }

    /// Writes what belongs to a cell beside its values, and tells what became of it.
    ///
    /// # Safety
    /// As for [`mod@walk_cells`]; the writer is what [`begin`](Self::begin) gave.
    #[inline(always)]
    unsafe fn end(&self, writer: &Writer, answer: Option<Answer>) -> Done {
        let Some(mut answer) = answer else { return Done::Left };
        if writer.is_masked {
            answer = Answer { distance: answer.distance, ..Answer::NONE };
        }
        // SAFETY: passed on to the caller.
        unsafe { self.layers(writer.at, answer) };
        if writer.has_value { Done::Valued } else { Done::Empty }
    }

    /// # Safety
    /// As for [`mod@walk_cells`].
    #[inline(always)]
    unsafe fn layers(&self, cell: usize, answer: Answer) {
        if !self.writes {
            return;
        }
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

/// Writes the values of a cell, `stride` apart.
struct Writer {
    dem: *mut f32,
    stride: usize,
    /// The cell.
    at: usize,
    is_masked: bool,
    /// It writes nothing: the cell is masked, or another thread's to write.
    is_silent: bool,
    has_value: bool,
}

impl Writer {
    /// # Safety
    /// The cell has value `k`.
    #[inline(always)]
    unsafe fn write(&mut self, k: u32, value: f32) {
        if !self.is_silent {
            // SAFETY: passed on to the caller.
            unsafe { *self.dem.add(k as usize * self.stride) = value };
            self.has_value = !value.is_nan();
        }
    }
}

/// Adds to a list: the number of its entries, then they. Gives the entry's number.
///
/// # Safety
/// The list has room for one more.
#[inline(always)]
unsafe fn append(list: *mut u32, entry: u32) -> u32 {
    // SAFETY: passed on to the caller; the place is this thread's alone.
    unsafe {
        let at = atomic::add_u32(list, 1);
        *list.add(1 + at as usize) = entry;
        at
    }
}

/// The column and row of cell `i` of the DEM patch by patch; they may lie outside.
#[inline(always)]
fn in_patches(i: u32, columns: u32) -> [u32; 2] {
    let (patch, within) = (i / OF_PATCH, i % OF_PATCH);
    let patches = columns.div_ceil(PATCH);
    let patch_row = patch.checked_div(patches).unwrap_or(0);
    let patch_column = patch - patch_row * patches;
    [patch_column * PATCH + within % PATCH, patch_row * PATCH + within / PATCH]
}

/// Makes the ring of every site for which what is near suffices. Grid: a thread a point.
///
/// # Safety
/// As for [`mod@walk_cells`]; `sites_before` has the number of sites at `points`; `rings` has [`RING_NUMBERS`] for each
/// site, at a multiple of 16 bytes.
// With the registers that nothing spills for, four blocks fit, and the rings of 7,000,000 points take 8.8 ms in
// place of 8.1 on an H200.
#[kernel(block = RING_BLOCK, resident = 6, spills = 48)]
pub unsafe fn make_rings(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    sites_before: *const u32,
    points: u32,
    rings: *mut f64,
) {
    let site = thread::index_1d();
    // SAFETY: passed on to the caller; the site is below the count, and sides below the most.
    unsafe {
        if site >= *sites_before.add(points as usize) as u64 {
            return;
        }
        let (cells, ..) = read_setup(setup);
        let record = rings.add(RING_NUMBERS * site as usize);
        let halves = record.cast::<u32>();
        let index = index_of(cells, places, starts);
        *halves.add(SIDES_AT) = index.ring::<false>(site as u32, |i, neighbour, corner| {
            write_side(record, i, neighbour, corner);
        });
    }
}

/// Writes side `i` of a ring.
///
/// # Safety
/// The record is that of a site, and has room for the side.
#[inline(always)]
unsafe fn write_side(record: *mut f64, i: u32, neighbour: u32, [x, y]: [f64; 2]) {
    // SAFETY: passed on to the caller.
    unsafe {
        *record.add(2 * i as usize) = x;
        *record.add(2 * i as usize + 1) = y;
        *record.cast::<u32>().add(NEIGHBOURS_AT + i as usize) = neighbour;
    }
}

/// Lists the sites that have no ring: their number, then they; and notes that they have no wide one. Grid: a thread a
/// point.
///
/// # Safety
/// As for [`const@make_rings`], which wrote `rings`; `listed` has one element more than points, the first of them 0.
#[kernel(block = BLOCK)]
pub unsafe fn list_ringless(
    sites_before: *const u32,
    points: u32,
    rings: *mut f64,
    listed: *mut u32,
) {
    let site = thread::index_1d();
    // SAFETY: passed on to the caller; the site is below the count.
    unsafe {
        if site >= *sites_before.add(points as usize) as u64 {
            return;
        }
        if InRecords(rings).sides(site as u32) > 0 {
            return;
        }
        *rings.add(RING_NUMBERS * site as usize).cast::<u32>().add(WIDE_AT) = 0;
        append(listed, site as u32);
    }
}

/// Makes the rings of listed sites, unless they are [few](few_ringless), by whatever is far or crowded. Lists those that
/// have none then, as far as there is room for `most`, and counts them. Grid: a thread a worker; each takes sites in
/// turn.
///
/// # Safety
/// As for [`const@list_ringless`], which wrote `listed`; `left` has one element more than `most`, the first of them 0.
#[kernel(block = BLOCK)]
pub unsafe fn make_far_rings(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    listed: *const u32,
    points: u32,
    rings: *mut f64,
    most: u32,
    left: *mut u32,
    workers: u32,
) {
    // SAFETY: passed on to the caller; the list names sites.
    unsafe {
        let (cells, ..) = read_setup(setup);
        let index = index_of(cells, places, starts);
        let count = *listed as u64;
        let mut i = thread::index_1d();
        while i < count {
            let site = *listed.add(1 + i as usize);
            let record = rings.add(RING_NUMBERS * site as usize);
            let mut sides = 0;
            if count > few_ringless(points as u64) {
                sides = index.ring::<true>(site, |i, neighbour, corner| {
                    write_side(record, i, neighbour, corner);
                });
                *record.cast::<u32>().add(SIDES_AT) = sides;
            }
            if sides == 0 {
                let at = atomic::add_u32(left, 1);
                if at < most {
                    *left.add(1 + at as usize) = site;
                }
            }
            i += workers as u64;
        }
    }
}

/// Makes the wide rings of listed sites, unless they are more than `most`. Grid: a warp a worker; each takes sites in
/// turn.
///
/// # Safety
/// As for [`const@make_far_rings`], which wrote `listed` as `left`; `rings` has room for [`WIDE_RECORDS`] for each of
/// `most` behind one for each of `points`, of which there is one at least.
#[kernel(block = CLIP_BLOCK, shared = shared_bytes::<InShared<Warp>>(), resident = 4)]
pub unsafe fn clip_rings(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    listed: *const u32,
    most: u32,
    points: u32,
    rings: *mut f64,
    workers: u32,
) {
    // SAFETY: passed on to the caller; the list names sites, and polygons have at most as many sides as a wide ring.
    unsafe {
        let (cells, scene, ..) = read_setup(setup);
        let index = index_of(cells, places, starts);
        let count = if *listed <= most { *listed } else { 0 };
        let (team, worker) = (Warp::here(), team_index::<Warp>());
        let mut slots = InShared::<Warp>::slots(core::ptr::null_mut(), WARP_SIDES, workers);
        let mut i = worker;
        while i < count as u64 && worker < workers as u64 {
            let site = *listed.add(1 + i as usize);
            let at = points + WIDE_RECORDS as u32 * i as u32;
            let record = rings.add(RING_NUMBERS * at as usize);
            let halves = record.cast::<u32>();
            let write = |k: u32, neighbour: u32, [x, y]: [f64; 2]| {
                *record.add(2 * k as usize) = x;
                *record.add(2 * k as usize + 1) = y;
                *halves.add(WIDE_NEIGHBOURS_AT + k as usize) = neighbour;
            };
            let sides = index.ring_by_clipping(team, site, scene.half_extent, &mut slots, write);
            if team.leads() && sides > 0 {
                *halves.add(WIDE_SIDES_AT) = sides;
                let own = rings.add(RING_NUMBERS * site as usize).cast::<u32>();
                *own.add(WIDE_AT) = at;
            }
            i += workers as u64;
        }
    }
}

/// The most cells outside the hull that are told their window.
pub const MOST_WINDOWS: u32 = 1 << 18;

/// Interpolates listed cells by rings, wide ones among them. Cells that these do not tell go into `left`, and the
/// windows of the first [`MOST_WINDOWS`] of them ([`Scene::window_outside`]) into `windows`. Grid: a thread a worker;
/// each takes cells in turn.
///
/// # Safety
/// As for [`mod@walk_cells`], `left` as `listed` there; `listed` names cells; [`const@clip_rings`] has put wide rings
/// behind `rings`; `windows` has [`MOST_WINDOWS`] elements.
#[kernel(block = WALK_BLOCK, instances(mean: <false>; smooth: <true>))]
pub unsafe fn walk_far<const BLENDS: bool>(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    rings: *const f64,
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
    windows: *mut f64,
    workers: u32,
    tallies: *mut u64,
) {
    let worker = thread::index_1d();
    let mut i = worker;
    // SAFETY: passed on to the caller; the list names cells of the DEM.
    unsafe {
        while i < *listed as u64 && worker < workers as u64 {
            let (cells, scene, dem_rows, value_count) = read_setup(setup);
            let (writes, rows) = (true, dem_rows);
            let results = Results { writes, rows, hull, mask, dem, counts, distances, deviations };
            let sites = OnDevice { values, gradients, scales, value_count };
            let index = index_of(cells, places, starts);
            let rings = WithWide(InRecords(rings));
            let at = *listed.add(1 + i as usize);
            i += workers as u64;
            let row = at.checked_div(scene.columns).unwrap_or(0);
            let place = [at - row * scene.columns, row];
            if row >= dem_rows {
                continue;
            }
            let (mut done, mut window) = (Done::Empty, 0.0);
            if let Some((cell, mut writer)) = results.begin(&scene, value_count, place) {
                let write = |k, value| writer.write(k, value);
                let again = || read_setup(forgotten(setup)).1;
                let answer = scene
                    .cell_by_rings::<BLENDS, _, _, _>(cell, &index, rings, &sites, again, write);
                done = results.end(&writer, answer);
                if done == Done::Left {
                    window = scene.window_outside(cell, &index, rings);
                }
            }
            if done == Done::Left {
                let at = append(left, at);
                if at < MOST_WINDOWS {
                    *windows.add(at as usize) = window;
                }
            } else if done == Done::Empty {
                atomic::add_u64(tallies.add(LEFT), 1);
            }
        }
    }
}

/// Interpolates every cell of the DEM by rings. Cells that these do not tell go into `listed`: their number, then
/// they. Cells without a value in the end are counted.
///
/// Grid: a block for a patch of [`PATCH`] by [`PATCH`] cells of the DEM, row by row.
///
/// # Safety
/// `setup` has what [`setup_in_memory`] gave; `starts`, `places` and `values` what
/// [`const@find_starts`] and [`const@make_sites`] wrote, and `rings` what [`const@make_rings`] did; `gradients` has two elements
/// for each value, or is null unless
/// the weights want it; `scales` is for each value. `hull` is null, or has two elements for each row; `mask`, `counts`, `distances` and `deviations` are null, or have one for
/// each cell; `dem` has one for each value of each cell, one value after the other; `listed` one more
/// than there are cells, the first of them 0.
// Without spills eight blocks fit, and 25,000,000 cells take 10.7 ms in place of 9.1 on an H200.
#[kernel(
    block = WALK_BLOCK,
    resident = 10,
    instances(mean: <false>, spills = 144; smooth: <true>, spills = 208)
)]
pub unsafe fn walk_cells<const BLENDS: bool>(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    rings: *const f64,
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
        let [column, row] = in_patches(thread::index_1d() as u32, scene.columns);
        if column < scene.columns && row < dem_rows {
            let (writes, rows) = (true, dem_rows);
            let results = Results { writes, rows, hull, mask, dem, counts, distances, deviations };
            let sites = OnDevice { values, gradients, scales, value_count };
            let index = index_of(cells, places, starts);
            let mut done = Done::Empty;
            if let Some((cell, mut writer)) = results.begin(&scene, value_count, [column, row]) {
                let write = |k, value| writer.write(k, value);
                let again = || read_setup(forgotten(setup)).1;
                let rings = InRecords(rings);
                let answer = scene
                    .cell_by_rings::<BLENDS, _, _, _>(cell, &index, rings, &sites, again, write);
                done = results.end(&writer, answer);
            }
            is_empty = done == Done::Empty;
            if done == Done::Left {
                append(listed, row * scene.columns + column);
            }
        }
        // All threads of the block come here.
        count_flags(is_empty, tallies.add(LEFT));
    }
}

/// Interpolates listed cells by clipping, or all where `listed` is null: by polygons of up to `capacity` sides in
/// `slots`, or in shared memory. Cells for which that does not suffice go into `left`.
///
/// Grid: a team a worker; each takes cells in turn.
///
/// # Safety
/// As for [`mod@walk_cells`]; `slots` as for [`Memory::slots`]; `left` as `listed` there; `windows` is null, or
/// what [`mod@walk_far`] wrote beside `listed`.
#[kernel(
    block = CLIP_BLOCK,
    shared = shared_bytes::<M>(),
    instances(
        near: <InShared<Near>>, resident = 4;
        shared: <InShared<Warp>>, resident = 4;
        global: <InGlobal>, spills = 8
    )
)]
pub unsafe fn clip_cells<M: Memory>(
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
    windows: *const f64,
    left: *mut u32,
    slots: *mut f64,
    capacity: u32,
    workers: u32,
    tallies: *mut u64,
) {
    // SAFETY: passed on to the caller; the list names cells of the DEM.
    unsafe {
        let (_, scene, dem_rows, _) = read_setup(setup);
        let all = scene.columns.div_ceil(PATCH) * dem_rows.div_ceil(PATCH) * OF_PATCH;
        let count = if listed.is_null() { all } else { *listed };
        let (team, worker) = (M::team(), team_index::<M::Team>());
        let mut i = worker;
        while i < count as u64 && worker < workers as u64 {
            // Read anew for each cell: registers are short.
            let (cells, scene, dem_rows, value_count) = read_setup(setup);
            let (writes, rows) = (team.leads(), dem_rows);
            let results = Results { writes, rows, hull, mask, dem, counts, distances, deviations };
            let sites = OnDevice { values, gradients, scales, value_count };
            let index = index_of(cells, places, starts);
            let mut slots = M::slots(slots, capacity, workers);
            let (mut place, mut window) = (in_patches(i as u32, scene.columns), 0.0);
            if !windows.is_null() && i < MOST_WINDOWS as u64 {
                window = *windows.add(i as usize);
            }
            if !listed.is_null() {
                let cell = *listed.add(1 + i as usize);
                let row = cell.checked_div(scene.columns).unwrap_or(0);
                place = [cell - row * scene.columns, row];
            }
            i += workers as u64;
            let [column, row] = place;
            if column >= scene.columns || row >= dem_rows {
                continue;
            }
            let mut done = Done::Empty;
            if let Some((cell, mut writer)) = results.begin(&scene, value_count, place) {
                let write = |k, value| writer.write(k, value);
                let again = || read_setup(forgotten(setup)).1;
                let answer = scene
                    .cell_by_clipping(team, cell, window, &index, &mut slots, &sites, again, write);
                done = results.end(&writer, answer);
            }
            if !team.leads() {
                continue;
            }
            if done == Done::Left {
                append(left, row * scene.columns + column);
            } else if done == Done::Empty {
                atomic::add_u64(tallies.add(LEFT), 1);
            }
        }
    }
}

/// Estimates the gradients of every site that has a ring. The others go into `listed`: their number, then
/// they. Grid: a thread a point.
///
/// # Safety
/// As for [`const@make_rings`], which wrote `rings`; `gradients` has two elements for each value of a site, `listed` one
/// more than there are sites, the first of them 0.
#[kernel(block = BLOCK)]
pub unsafe fn fit_planes(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    rings: *const f64,
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
        let (rings, site) = (InRecords(rings), site as u32);
        if rings.sides(site) == 0 {
            append(listed, site);
            return;
        }
        let index = index_of(cells, places, starts);
        let sites = without_gradients(values, value_count);
        let gradients = Gradients { gradients, site, value_count };
        scene.gradients_by_ring(site, &index, &rings, &sites, |k, g| gradients.write(k, g));
    }
}

/// Estimates the gradients of listed sites by clipping, by polygons of up to `capacity` sides in `slots`, or in
/// shared memory. Sites for which that does not suffice go into `left` in the same way.
///
/// Grid: a team a worker; each takes sites in turn.
///
/// # Safety
/// As for [`const@fit_planes`]; `slots` as for [`Memory::slots`]; `left` as `listed`.
#[kernel(
    block = CLIP_BLOCK,
    shared = shared_bytes::<M>(),
    instances(shared: <InShared<Warp>>, resident = 4; global: <InGlobal>)
)]
pub unsafe fn clip_sites<M: Memory>(
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
        let sites = without_gradients(values, value_count);
        let mut slots = M::slots(slots, capacity, workers);
        let (team, worker) = (M::team(), team_index::<M::Team>());
        let mut i = worker;
        while i < *listed as u64 && worker < workers as u64 {
            let site = *listed.add(1 + i as usize);
            let gradients = Gradients { gradients, site, value_count };
            let write = |k, g| gradients.write(k, g);
            let is_done =
                scene.gradients_by_clipping(team, site, &index, &mut slots, &sites, write);
            if !is_done && team.leads() {
                append(left, site);
            }
            i += workers as u64;
        }
    }
}

/// Sites before their gradients are known.
fn without_gradients(values: *const i32, value_count: u32) -> OnDevice {
    OnDevice { values, gradients: core::ptr::null(), scales: core::ptr::null(), value_count }
}

/// Where the gradients of a site go.
#[derive(Clone, Copy)]
struct Gradients {
    gradients: *mut f32,
    site: u32,
    value_count: u32,
}

impl Gradients {
    /// # Safety
    /// The site and value `k` are below their counts.
    #[inline(always)]
    unsafe fn write(&self, k: u32, [east, north]: [f32; 2]) {
        let i = 2 * (self.site as usize * self.value_count as usize + k as usize);
        // SAFETY: passed on to the caller.
        unsafe {
            *self.gradients.add(i) = east;
            *self.gradients.add(i + 1) = north;
        }
    }
}
