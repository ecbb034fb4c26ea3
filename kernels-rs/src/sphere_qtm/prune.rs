//! The diagram by lists of candidates, level by level.
//!
//! 1. `place_sites` (module `places`): the unit vector of each site, in f64 and f32.
//! 2. [`tabulate_triangles`](const@tabulate_triangles): the triangles of a level on the way, from which deeper ones take
//!    fewer steps.
//! 3. [`first_lists`](const@first_lists), a block a cell of a coarse level: of all sites those as near to its centre as one
//!    can be that it cannot leave out ([`super::nearest`]), in f32.
//! 4. For each level after it, of the parent's list those that a cell cannot leave out:
//!    [`next_long_lists`](const@next_long_lists) with a block a cell, then [`mod@next_lists`] with
//!    fewer threads the shorter lists are.
//! 5. [`nearest_of_cells`](const@nearest_of_cells), a thread for four cells: the nearest of the list of the
//!    ancestor two levels above.
//!
//! Lists lie in one pool, whose room for them is taken by an atomic addition: where a list lies depends on chance,
//! what is in it does not. A cell for whose list no room is left has its parent's, and so has one that would
//! leave out nothing, or whose parent's list is short anyway. Results are the same: a list may always hold
//! more than it must.

use device_std::block::{BlockReduce, BlockScan};
use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector;
use device_std::warp::{self, Word};
use device_std::{atomic, kernel, thread};

use super::nearest::{Found, NONE, Place, Pruning, Two, squared_chord};
use super::outputs::Outputs;
use super::triangle::{Triangle, Vector};

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// Threads of a block that makes one list.
pub const LONG_BLOCK: u32 = 256;

/// Threads of a block that makes lists from all sites.
pub const FIRST_BLOCK: u32 = 1024;

/// A parent's list of so many sites is not worth shortening.
const SHORT: u32 = 2;

/// What scalar products of vectors rounded to f32 are off by, at most: 3e-7, and as much for what they are
/// compared with.
const NARROW_DOUBT: f64 = 6e-7;

/// The list of a cell.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct List {
    /// Its first element in the pool, or [`ALL`].
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// The list of all sites, which is not in the pool.
pub const ALL: u32 = u32::MAX;

/// Triangles that need not be made from the octant down.
#[derive(Clone, Copy)]
struct Mesh {
    /// The triangles of a level.
    table: *const Triangle,
    /// That level.
    level: u32,
}

impl Mesh {
    /// [`Triangle::of_index`].
    ///
    /// # Safety
    /// The table is there, if the level is no coarser than its.
    #[inline(always)]
    unsafe fn triangle(&self, level: u32, index: u64) -> Triangle {
        if level < self.level {
            return Triangle::of_index(level, index);
        }
        let levels = level - self.level;
        // SAFETY: passed on to the caller.
        let ancestor = unsafe { *self.table.add((index >> (2 * levels)) as usize) };
        ancestor.descendant(levels, index)
    }
}

/// Writes the triangles of a level. Grid: a thread for each.
///
/// # Safety
/// `table` has an element for each.
#[kernel(block = BLOCK)]
pub unsafe fn tabulate_triangles(level: u32, table: *mut Triangle) {
    let cell = thread::index_1d();
    if cell < super::cells_of(level) {
        // SAFETY: guarded.
        unsafe { *table.add(cell as usize) = Triangle::of_index(level, cell) };
    }
}

/// Sites and lists of them.
#[derive(Clone, Copy)]
struct Sites {
    places: *const Place,
    pool: *mut u32,
}

impl Sites {
    /// Where a site is.
    ///
    /// # Safety
    /// There is such a site.
    #[inline(always)]
    unsafe fn place(&self, site: u32) -> Vector {
        // SAFETY: passed on to the caller.
        let Place([x, y, z, _]) = unsafe { *self.places.add(site as usize) };
        [x, y, z]
    }

    /// Element `i` of a list.
    ///
    /// # Safety
    /// `i` is below the list's length.
    #[inline(always)]
    unsafe fn site(&self, list: List, i: u32) -> u32 {
        if list.first == ALL {
            i
        } else {
            // SAFETY: lists lie in the pool.
            unsafe { *self.pool.add(list.first as usize + i as usize) }
        }
    }

    /// What a triangle leaves out, by two sites.
    ///
    /// # Safety
    /// The sites are there.
    #[inline(always)]
    unsafe fn pruning(&self, triangle: Triangle, pivots: Pivots, wanted: u32) -> Pruning {
        let (first, second) = (pivots.first.found(), pivots.second.found());
        // SAFETY: passed on to the caller.
        Pruning::new(triangle, Two { first, second }, |site| unsafe { self.place(site) }, wanted)
    }
}

/// A site and how far it is, to f32, as one number in that order. Pivots need not be the very nearest.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Key(u64);

impl Key {
    /// No site.
    const NOTHING: Self = Self::new(f32::INFINITY, NONE);

    /// Of what is not negative.
    #[inline(always)]
    const fn new(far: f32, site: u32) -> Self {
        Self((far.to_bits() as u64) << 32 | site as u64)
    }

    #[inline(always)]
    fn of(found: Found) -> Self {
        Self::new(found.squared as f32, found.site)
    }

    /// How far is no more than an order.
    #[inline(always)]
    fn found(self) -> Found {
        Found { squared: 0.0, site: self.0 as u32 }
    }
}

/// The two sites that others are compared with: the nearest to a triangle's centre.
#[derive(Clone, Copy)]
struct Pivots {
    first: Key,
    second: Key,
}

impl Pivots {
    /// None.
    const NOTHING: Self = Self { first: Key::NOTHING, second: Key::NOTHING };

    /// As a block or a warp hands them on.
    #[inline(always)]
    const fn words(self) -> (u64, u64) {
        (self.first.0, self.second.0)
    }

    #[inline(always)]
    fn of(two: Two) -> Self {
        Self { first: Key::of(two.first), second: Key::of(two.second) }
    }

    #[inline(always)]
    fn of_words((first, second): (u64, u64)) -> Self {
        Self { first: Key(first), second: Key(second) }
    }

    /// These and one more.
    #[inline(always)]
    fn with(self, key: Key) -> Self {
        if key < self.first {
            Self { first: key, second: self.first }
        } else if key < self.second {
            Self { second: key, ..self }
        } else {
            self
        }
    }

    /// The nearest two of four different ones.
    #[inline(always)]
    fn nearer(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
        (u64::min(a.0, b.0), u64::min(u64::max(a.0, b.0), u64::min(a.1, b.1)))
    }
}

/// The part of a list that a thread looks at: every `step`-th element.
#[derive(Clone, Copy)]
struct Share {
    list: List,
    first: u32,
    step: u32,
}

/// What a thread keeps of its share.
#[derive(Clone, Copy)]
struct Kept {
    /// How many.
    count: u32,
    /// Which of the first 64.
    which: u64,
}

impl Share {
    /// The two sites nearest to a place.
    ///
    /// # Safety
    /// The list's sites are there.
    #[inline(always)]
    unsafe fn nearest(&self, sites: Sites, centre: Vector) -> Two {
        let mut two = Two::NOTHING;
        let mut i = self.first;
        while i < self.list.count {
            // SAFETY: below the list's length.
            unsafe {
                let site = sites.site(self.list, i);
                two = two.with(Found { squared: squared_chord(centre, sites.place(site)), site });
            }
            i += self.step;
        }
        two
    }

    /// Those that a triangle keeps.
    ///
    /// # Safety
    /// As [`Share::nearest`].
    #[inline(always)]
    unsafe fn keep(&self, sites: Sites, keeps: impl Fn(u32) -> bool) -> Kept {
        let mut kept = Kept { count: 0, which: 0 };
        let (mut i, mut number) = (self.first, 0);
        while i < self.list.count {
            // SAFETY: below the list's length.
            if keeps(unsafe { sites.site(self.list, i) }) {
                kept.count += 1;
                kept.which |= if number < 64 { 1 << (number & 63) } else { 0 };
            }
            (i, number) = (i + self.step, number + 1);
        }
        kept
    }

    /// Writes them to the pool, from an element on.
    ///
    /// # Safety
    /// As [`Share::nearest`]; the pool has room.
    #[inline(always)]
    unsafe fn write(&self, sites: Sites, kept: Kept, keeps: impl Fn(u32) -> bool, mut to: usize) {
        let end = to + kept.count as usize;
        let (mut i, mut number) = (self.first, 0);
        while to < end {
            // SAFETY: as many as were counted are found again, the last before the list's end.
            unsafe {
                let is_known = number < 64;
                if is_known && kept.which >> (number & 63) & 1 == 1
                    || !is_known && keeps(sites.site(self.list, i))
                {
                    *sites.pool.add(to) = sites.site(self.list, i);
                    to += 1;
                }
            }
            (i, number) = (i + self.step, number + 1);
        }
    }
}

/// What a block keeps that makes lists.
#[derive(Clone, Copy)]
struct Room {
    pivots: BlockReduce<(u64, u64)>,
    scan: BlockScan<u32>,
    start: SharedArray<u64>,
}

impl Room {
    #[inline(always)]
    const fn new(carver: &mut Carver, threads: u32) -> Self {
        Self {
            pivots: BlockReduce::new(carver, threads as usize),
            scan: BlockScan::new(carver),
            start: carver.array(1),
        }
    }

    /// The nearest of what the threads have found.
    ///
    /// # Safety
    /// The whole block is here.
    #[inline(always)]
    unsafe fn pivots(&self, own: Pivots) -> Pivots {
        // SAFETY: passed on to the caller.
        let words =
            unsafe { self.pivots.reduce(own.words(), Pivots::NOTHING.words(), Pivots::nearer) };
        Pivots::of_words(words)
    }

    /// Takes room in the pool for what all threads keep, where that is worth it, and says what the list is.
    /// Gives where the thread writes its own; nothing without room.
    ///
    /// # Safety
    /// The whole block is here; `list` is valid.
    #[inline(always)]
    unsafe fn take(&self, own: u32, parent: List, pool: Pool, list: *mut List) -> Option<usize> {
        // SAFETY: passed on to the caller; barriers lie between uses of the shared memory.
        unsafe {
            let (up_to, all) = self.scan.inclusive(own, 0, |a, b| a + b);
            let is_whole = is_short(parent) || all == parent.count;
            if thread::thread_idx_x() == 0 {
                let taken = if is_whole { 0 } else { all as u64 };
                self.start.store(0, atomic::add_u64(pool.used, taken));
            }
            thread::sync_threads();
            let start = self.start.load(0);
            let fits = !is_whole && start + all as u64 <= pool.capacity;
            if thread::thread_idx_x() == 0 {
                *list = if fits { List { first: start as u32, count: all } } else { parent };
            }
            if fits { Some(start as usize + (up_to - own) as usize) } else { None }
        }
    }
}

/// Whether a list is not worth shortening.
#[inline(always)]
fn is_short(list: List) -> bool {
    list.first != ALL && list.count <= SHORT
}

/// The room for lists.
#[derive(Clone, Copy)]
struct Pool {
    /// Elements.
    capacity: u64,
    /// Counts those that are taken.
    used: *mut u64,
}

/// The lists of a level's cells from all sites. Grid: a block a cell.
///
/// # Safety
/// `places` has `count` elements and `narrow` no fewer, `lists` one for each cell of the level, the pool
/// `capacity`, at most 2^32 - 1; `used` is zero before the first launch.
#[kernel(block = FIRST_BLOCK, carve = |carver| Room::new(carver, FIRST_BLOCK))]
pub unsafe fn first_lists(
    places: *const Place,
    narrow: *const u8,
    count: u32,
    level: u32,
    wanted: u32,
    pool: *mut u32,
    capacity: u64,
    used: *mut u64,
    lists: *mut List,
) {
    let room = Room::new(&mut Carver::new(), FIRST_BLOCK);
    let (cell, sites) = (thread::block_idx_x(), Sites { places, pool });
    let triangle = Triangle::of_index(level, cell as u64);
    let centre = triangle.centre().map(|x| x as f32);
    let list = List { first: ALL, count };
    let share = Share { list, first: thread::thread_idx_x(), step: FIRST_BLOCK };
    // SAFETY: sites are read below their number; the whole block comes to each barrier.
    unsafe {
        let product = |site: u32| {
            let [x, y, z, _] = vector::load(narrow.add(16 * site as usize)).map(f32::from_bits);
            Real::mul_add(centre[2], z, Real::mul_add(centre[1], y, centre[0] * x))
        };
        let mut own = Pivots::NOTHING;
        let mut site = share.first;
        while site < count {
            // Where rounding makes it negative, the order is of no consequence.
            own = own.with(Key::new(f32::max(0.0, 1.0 - product(site)), site));
            site += FIRST_BLOCK;
        }
        let pruning = sites.pruning(triangle, room.pivots(own), wanted).with_reach();
        let least = (pruning.least_product() - NARROW_DOUBT) as f32;
        let keeps = |site| product(site) >= least;
        let kept = share.keep(sites, keeps);
        let pool = Pool { capacity, used };
        if let Some(to) = room.take(kept.count, list, pool, lists.add(cell as usize)) {
            share.write(sites, kept, keeps, to);
        }
    }
}

/// The lists of a level's cells from those of the level above. Grid: a block a cell.
///
/// # Safety
/// As [`first_lists`](const@first_lists); `parents` are the lists of the level above, and `table` has the triangles
/// of `table_level`, if that is no finer.
#[kernel(block = LONG_BLOCK, carve = |carver| Room::new(carver, LONG_BLOCK))]
pub unsafe fn next_long_lists(
    places: *const Place,
    table: *const Triangle,
    table_level: u32,
    level: u32,
    wanted: u32,
    parents: *const List,
    pool: *mut u32,
    capacity: u64,
    used: *mut u64,
    lists: *mut List,
) {
    let room = Room::new(&mut Carver::new(), LONG_BLOCK);
    let (cell, sites) = (thread::block_idx_x(), Sites { places, pool });
    // SAFETY: indices are below the list's length; the whole block comes to each barrier.
    unsafe {
        let triangle = Mesh { table, level: table_level }.triangle(level, cell as u64);
        let list = *parents.add(cell as usize >> 2);
        let share = Share { list, first: thread::thread_idx_x(), step: LONG_BLOCK };
        let own = Pivots::of(share.nearest(sites, triangle.centre()));
        let pruning = sites.pruning(triangle, room.pivots(own), wanted).with_reach();
        let keeps = |site| {
            let place = sites.place(site);
            pruning.reaches(place) && pruning.keeps(site, place)
        };
        let kept = share.keep(sites, keeps);
        let pool = Pool { capacity, used };
        if let Some(to) = room.take(kept.count, list, pool, lists.add(cell as usize)) {
            share.write(sites, kept, keeps, to);
        }
    }
}

/// The same with `LANES` threads a cell, a power of two, for shorter lists. Grid: as many for each cell.
///
/// # Safety
/// As [`next_long_lists`](const@next_long_lists).
#[kernel(block = BLOCK, instances(of_2: <2>; of_8: <8>; of_32: <32>))]
pub unsafe fn next_lists<const LANES: u32>(
    places: *const Place,
    table: *const Triangle,
    table_level: u32,
    level: u32,
    wanted: u32,
    parents: *const List,
    pool: *mut u32,
    capacity: u64,
    used: *mut u64,
    lists: *mut List,
) {
    let index = thread::index_1d();
    let (cell, lane) = (index / LANES as u64, index as u32 % LANES);
    let is_cell = cell < super::cells_of(level);
    let sites = Sites { places, pool };
    // SAFETY: guarded; warp operations are outside of what depends on data.
    unsafe {
        let none = List { first: 0, count: 0 };
        let parent = if is_cell { *parents.add(cell as usize >> 2) } else { none };
        let list = if is_short(parent) { none } else { parent };
        let mesh = Mesh { table, level: table_level };
        let triangle = mesh.triangle(level, if is_cell { cell } else { 0 });
        let share = Share { list, first: lane, step: LANES };
        let own = Pivots::of(share.nearest(sites, triangle.centre()));
        let pivots = Pivots::of_words(of_lanes::<_, LANES>(own.words(), Pivots::nearer));
        let pruning = sites.pruning(triangle, pivots, wanted);
        let pruning = if LANES > 2 { pruning.with_reach() } else { pruning };
        let keeps = |site| {
            let place = sites.place(site);
            (LANES == 2 || pruning.reaches(place)) && pruning.keeps(site, place)
        };
        let kept = share.keep(sites, keeps);
        let all = of_lanes::<_, LANES>(kept.count, |a, b| a + b);
        let is_whole = list.count == 0 || all == list.count;
        let taken = if is_whole { 0 } else { kept.count as u64 };
        // One addition for the warp.
        let up_to = warp::inclusive_scan(taken, |a, b| a + b);
        let mut start = 0;
        if warp::lane_id() == warp::SIZE - 1 && up_to > 0 {
            start = atomic::add_u64(used, up_to);
        }
        let own_start = warp::shuffle(warp::FULL, start, warp::SIZE - 1) + up_to - taken;
        let start = warp::shuffle(warp::FULL, own_start, warp::lane_id() & !(LANES - 1));
        if !is_cell {
            return;
        }
        let fits = !is_whole && start + all as u64 <= capacity;
        if lane == 0 {
            let shorter = List { first: start as u32, count: all };
            *lists.add(cell as usize) = if fits { shorter } else { parent };
        }
        if fits {
            share.write(sites, kept, keeps, own_start as usize);
        }
    }
}

/// The combination of the values of lanes side by side, `LANES` of them; each gets it.
///
/// # Safety
/// The whole warp is here.
#[inline(always)]
unsafe fn of_lanes<T: Word, const LANES: u32>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut all = value;
    let mut apart = 1;
    while apart < LANES {
        // SAFETY: passed on to the caller.
        let other = unsafe { warp::shuffle(warp::FULL, all, warp::lane_id() ^ apart) };
        all = combine(all, other);
        apart *= 2;
    }
    all
}

/// The nearest sites of a level's cells, each from the list of its ancestor `up` levels above. Grid: a thread
/// for four siblings, or for an octant.
///
/// # Safety
/// `lists` are those of that level, of sites that are there; `table` has the triangles of `table_level`, if that is no
/// finer than the level above; outputs that are not null have an element for each cell.
#[kernel(block = BLOCK)]
pub unsafe fn nearest_of_cells(
    places: *const Place,
    table: *const Triangle,
    table_level: u32,
    level: u32,
    up: u32,
    lists: *const List,
    pool: *mut u32,
    nearest: *mut u32,
    second: *mut u32,
    distance: *mut f64,
    tie: *mut u8,
) {
    let item = thread::index_1d();
    let (sites, outputs) = (Sites { places, pool }, Outputs { nearest, second, distance, tie });
    // SAFETY: guarded.
    unsafe {
        if level == 0 {
            if item < 8 {
                let centre = Triangle::octant(item as u32).centre();
                let list = *lists.add(item as usize);
                outputs.write(item, nearest_of_list(sites, list, centre));
            }
        } else if item < super::cells_of(level - 1) {
            let mesh = Mesh { table, level: table_level };
            let parent = mesh.triangle(level - 1, item);
            let mut digit = 0;
            while digit < 4 {
                let cell = item << 2 | digit as u64;
                let list = *lists.add((cell >> (2 * up)) as usize);
                // The midpoints of the parent's edges are the same for all four, and computed once.
                let centre = parent.child(digit).centre();
                outputs.write(cell, nearest_of_list(sites, list, centre));
                digit += 1;
            }
        }
    }
}

/// The nearest of a list.
///
/// # Safety
/// The list's sites are there.
#[inline(always)]
unsafe fn nearest_of_list(sites: Sites, list: List, centre: Vector) -> Two {
    // SAFETY: passed on to the caller.
    unsafe { Share { list, first: 0, step: 1 }.nearest(sites, centre) }
}

device_std::ptx_module! { "sphere_prune" }
