//! The diagram by lists of candidates, level by level.
//!
//! 1. `place_sites` (module `places`): the unit vector of each site, in f64 and f32.
//! 2. [`tabulate_triangles`](const@tabulate_triangles): the triangles of an intermediate level, from which the
//!    triangles of deeper levels take fewer steps.
//! 3. [`first_lists`](const@first_lists), a block a cell of a coarse level: of all sites, those within the distance of
//!    its centre that pruning ([`super::nearest`]) allows, in f32.
//! 4. For each level after it, the sites of the parent's list that a cell cannot leave out.
//!    [`next_long_lists`](const@next_long_lists) has a block a cell, then [`mod@next_lists`] has fewer threads a cell,
//!    since lists get shorter.
//! 5. [`nearest_of_cells`](const@nearest_of_cells), a thread for four cells: the nearest of the list of the ancestor
//!    two levels above.
//!
//! Lists lie in one pool, and an atomic addition reserves the elements of a list. So where a list lies depends on
//! chance, but not what is in it. A cell keeps its parent's list if its own does not fit the pool, if it would leave
//! out nothing, or if the parent's list is short anyway. Results are the same: a list may always hold more than it
//! must.

use device_std::block::{BlockReduce, BlockScan};
use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::Vector as Four;
use device_std::warp::{self, Word};
use device_std::{In, Out, arguments, kernel, thread};

use super::nearest::{NONE, NearSite, Place, Pruning, Sites, Two, squared_chord};
use super::outputs::Outputs;
use super::triangle::{Triangle, Vector};

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// Threads of a block that makes one list.
pub const LONG_BLOCK: u32 = 256;

/// Threads of a block that makes lists from all sites.
pub const FIRST_BLOCK: u32 = 1024;

/// A parent's list of this many sites or fewer is not worth shortening.
const SHORT: u32 = 2;

/// The largest error of scalar products of vectors rounded to f32: 3e-7, and as much for the numbers that they are
/// compared with.
const NARROW_DOUBT: f64 = 6e-7;

/// The list of a cell.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct List {
    /// Its first element in the pool, or [`ALL`].
    pub first: u32,
    /// How many elements it has.
    pub count: u32,
}

/// The list of all sites, which is not in the pool.
pub const ALL: u32 = u32::MAX;

/// A table of triangles, from which deeper ones take fewer steps than from the octant down.
#[arguments]
pub struct Mesh<'a> {
    /// The triangles of a level, as [`tabulate_triangles`](const@tabulate_triangles) writes them. Kernels read them for
    /// that level and finer ones.
    pub table: In<'a, Triangle>,
    /// The level of the table.
    pub table_level: u32,
}

impl Mesh<'_> {
    /// [`Triangle::of_index`].
    #[inline(always)]
    fn triangle(&self, level: u32, index: u64) -> Triangle {
        if level < self.table_level {
            return Triangle::of_index(level, index);
        }
        let levels = level - self.table_level;
        self.table.get(index >> (2 * levels)).descendant(levels, index)
    }
}

/// The memory that all lists lie in.
#[arguments]
pub struct Pool<'a> {
    /// The sites of the lists: `capacity` elements.
    pub sites: Out<'a, u32>,
    /// The number of elements, at most 2^32 - 1.
    pub capacity: u64,
    /// How many elements are reserved: one number, which is zero before the first launch.
    pub used: Out<'a, u64>,
}

/// Writes the triangles of a level. Grid: a thread for each.
///
/// # Safety
/// `table` has an element for each.
#[kernel(block = BLOCK)]
pub unsafe fn tabulate_triangles(level: u32, table: Out<'_, Triangle>) {
    let cell = thread::index_1d();
    if cell < super::cells_of(level) {
        table.set(cell, Triangle::of_index(level, cell));
    }
}

/// Sites and lists of them.
#[derive(Clone, Copy)]
struct Listed<'a> {
    places: In<'a, Place>,
    pool: Out<'a, u32>,
}

impl Listed<'_> {
    /// The unit vector of a site.
    #[inline(always)]
    fn place(&self, site: u32) -> Vector {
        let Place([x, y, z, _]) = self.places.get(site);
        [x, y, z]
    }

    /// Element `i` of a list, below its length.
    #[inline(always)]
    fn site(&self, list: List, i: u32) -> u32 {
        if list.first == ALL { i } else { self.pool.get(list.first as usize + i as usize) }
    }

    /// The test by which a triangle leaves sites out, with two pivots.
    #[inline(always)]
    fn pruning(&self, triangle: Triangle, pivots: Pivots, wanted: u32) -> Pruning {
        let (first, second) = (pivots.first.found(), pivots.second.found());
        Pruning::new(triangle, Two { first, second }, |site| self.place(site), wanted)
    }
}

/// A site and its distance in f32, as one number that orders them. Pivots need not be the very nearest sites.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Key(u64);

impl Key {
    /// No site.
    const NOTHING: Self = Self::new(f32::INFINITY, NONE);

    /// The key for a distance, which is not negative.
    #[inline(always)]
    const fn new(far: f32, site: u32) -> Self {
        Self((far.to_bits() as u64) << 32 | site as u64)
    }

    #[inline(always)]
    fn of(found: NearSite) -> Self {
        Self::new(found.squared as f32, found.site)
    }

    /// The site; its distance only tells an order.
    #[inline(always)]
    fn found(self) -> NearSite {
        NearSite { squared: 0.0, site: self.0 as u32 }
    }
}

/// The pivots: the two sites nearest to a triangle's centre.
#[derive(Clone, Copy)]
struct Pivots {
    first: Key,
    second: Key,
}

impl Pivots {
    /// None.
    const NOTHING: Self = Self { first: Key::NOTHING, second: Key::NOTHING };

    /// The words by which a block or a warp exchanges them.
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

    /// Adds one more site.
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

    /// The nearest two of four different sites.
    #[inline(always)]
    fn nearer(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
        (u64::min(a.0, b.0), u64::min(u64::max(a.0, b.0), u64::min(a.1, b.1)))
    }
}

/// The part of a list that a thread reads: every `step`-th element.
#[derive(Clone, Copy)]
struct Share {
    list: List,
    first: u32,
    step: u32,
}

/// Which sites of its share a thread keeps.
#[derive(Clone, Copy)]
struct KeptSites {
    /// How many sites it keeps.
    count: u32,
    /// Which of the first 64 it keeps.
    which: u64,
}

impl Share {
    /// The two sites nearest to a place.
    #[inline(always)]
    fn nearest(&self, sites: Listed<'_>, centre: Vector) -> Two {
        let mut two = Two::NOTHING;
        let mut i = self.first;
        while i < self.list.count {
            let site = sites.site(self.list, i);
            two = two.with(NearSite { squared: squared_chord(centre, sites.place(site)), site });
            i += self.step;
        }
        two
    }

    /// The sites of the share that a triangle keeps.
    #[inline(always)]
    fn keep(&self, sites: Listed<'_>, keeps: impl Fn(u32) -> bool) -> KeptSites {
        let mut kept = KeptSites { count: 0, which: 0 };
        let (mut i, mut number) = (self.first, 0);
        while i < self.list.count {
            if keeps(sites.site(self.list, i)) {
                kept.count += 1;
                kept.which |= if number < 64 { 1 << (number & 63) } else { 0 };
            }
            (i, number) = (i + self.step, number + 1);
        }
        kept
    }

    /// Writes the sites that a triangle keeps to the pool, from element `to` on.
    #[inline(always)]
    fn write(
        &self,
        sites: Listed<'_>,
        kept: KeptSites,
        keeps: impl Fn(u32) -> bool,
        mut to: usize,
    ) {
        let end = to + kept.count as usize;
        let (mut i, mut number) = (self.first, 0);
        while to < end {
            // The loop finds as many as were counted, so it ends before the list does.
            let is_known = number < 64;
            if is_known && kept.which >> (number & 63) & 1 == 1
                || !is_known && keeps(sites.site(self.list, i))
            {
                sites.pool.set(to, sites.site(self.list, i));
                to += 1;
            }
            (i, number) = (i + self.step, number + 1);
        }
    }
}

/// The shared memory of a block that makes lists.
#[derive(Clone, Copy)]
struct Shared {
    pivots: BlockReduce<(u64, u64)>,
    scan: BlockScan<u32>,
    start: SharedArray<u64>,
}

impl Shared {
    #[inline(always)]
    const fn new(carver: &mut Carver, threads: u32) -> Self {
        Self {
            pivots: BlockReduce::new(carver, threads as usize),
            scan: BlockScan::new(carver),
            start: carver.array(1),
        }
    }

    /// The two nearest sites that any thread has found.
    ///
    /// # Safety
    /// The whole block is here.
    #[inline(always)]
    unsafe fn pivots(&self, own: Pivots) -> Pivots {
        // SAFETY: the whole block is here, as the caller sees to.
        let words =
            unsafe { self.pivots.reduce(own.words(), Pivots::NOTHING.words(), Pivots::nearer) };
        Pivots::of_words(words)
    }

    /// Reserves elements in the pool for the sites that all threads of the block keep, if that is worth it, and writes
    /// the list of the block's cell. Returns where the thread writes its own sites; `None` if nothing was reserved.
    ///
    /// # Safety
    /// The whole block is here.
    #[inline(always)]
    unsafe fn take(
        &self,
        own: u32,
        parent: List,
        pool: Pool<'_>,
        lists: Out<'_, List>,
    ) -> Option<usize> {
        let cell = thread::block_idx_x();
        // SAFETY: the whole block comes to the scan and the barrier, and a barrier lies between the store of the start
        // and its loads.
        unsafe {
            let (up_to, all) = self.scan.inclusive(own, 0, |a, b| a + b);
            let is_whole = is_short(parent) || all == parent.count;
            if thread::thread_idx_x() == 0 {
                let taken = if is_whole { 0 } else { all as u64 };
                self.start.store(0, pool.used.fetch_add(0u32, taken));
            }
            thread::sync_threads();
            let start = self.start.load(0);
            let fits = !is_whole && start + all as u64 <= pool.capacity;
            if thread::thread_idx_x() == 0 {
                let shorter = List { first: start as u32, count: all };
                lists.set(cell, if fits { shorter } else { parent });
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

/// Makes the lists of a level's cells from all sites. Grid: a block a cell.
///
/// # Safety
/// The slices have what [`Sites`] and [`Pool`] say. `narrow` has the bits of four numbers for each site: its unit
/// vector in f32, and one without a meaning. `lists` has an element for each cell of the level.
#[kernel(block = FIRST_BLOCK, carve = |carver| Shared::new(carver, FIRST_BLOCK))]
pub unsafe fn first_lists(
    sites: Sites<'_>,
    narrow: In<'_, Four>,
    level: u32,
    wanted: u32,
    pool: Pool<'_>,
    lists: Out<'_, List>,
) {
    let room = Shared::new(&mut Carver::new(), FIRST_BLOCK);
    let (cell, count) = (thread::block_idx_x(), sites.count);
    let sites = Listed { places: sites.places, pool: pool.sites };
    let triangle = Triangle::of_index(level, cell as u64);
    let centre = triangle.centre().map(|x| x as f32);
    let list = List { first: ALL, count };
    let share = Share { list, first: thread::thread_idx_x(), step: FIRST_BLOCK };
    let product = |site: u32| {
        let [x, y, z, _] = narrow.load(site).map(f32::from_bits);
        Real::mul_add(centre[2], z, Real::mul_add(centre[1], y, centre[0] * x))
    };
    let mut own = Pivots::NOTHING;
    let mut site = share.first;
    while site < count {
        // If rounding makes it negative, the order does not matter.
        own = own.with(Key::new(f32::max(0.0, 1.0 - product(site)), site));
        site += FIRST_BLOCK;
    }
    // SAFETY: the whole block is here.
    let pivots = unsafe { room.pivots(own) };
    let pruning = sites.pruning(triangle, pivots, wanted).with_reach();
    let least = (pruning.least_product() - NARROW_DOUBT) as f32;
    let keeps = |site| product(site) >= least;
    let kept = share.keep(sites, keeps);
    // SAFETY: the whole block is here.
    if let Some(to) = unsafe { room.take(kept.count, list, pool, lists) } {
        share.write(sites, kept, keeps, to);
    }
}

/// Makes the lists of a level's cells from those of the level above. Grid: a block a cell.
///
/// # Safety
/// The slices have what [`Mesh`] and [`Pool`] say. `places` has an element for each site on a list, `parents` the list
/// of each cell of the level above, and `lists` an element for each cell of the level.
#[kernel(block = LONG_BLOCK, carve = |carver| Shared::new(carver, LONG_BLOCK))]
pub unsafe fn next_long_lists(
    places: In<'_, Place>,
    mesh: Mesh<'_>,
    level: u32,
    wanted: u32,
    parents: In<'_, List>,
    pool: Pool<'_>,
    lists: Out<'_, List>,
) {
    let room = Shared::new(&mut Carver::new(), LONG_BLOCK);
    let (cell, sites) = (thread::block_idx_x(), Listed { places, pool: pool.sites });
    let triangle = mesh.triangle(level, cell as u64);
    let list = parents.get(cell as usize >> 2);
    let share = Share { list, first: thread::thread_idx_x(), step: LONG_BLOCK };
    let own = Pivots::of(share.nearest(sites, triangle.centre()));
    // SAFETY: the whole block is here.
    let pivots = unsafe { room.pivots(own) };
    let pruning = sites.pruning(triangle, pivots, wanted).with_reach();
    let keeps = |site| {
        let place = sites.place(site);
        pruning.reaches(place) && pruning.keeps(site, place)
    };
    let kept = share.keep(sites, keeps);
    // SAFETY: the whole block is here.
    if let Some(to) = unsafe { room.take(kept.count, list, pool, lists) } {
        share.write(sites, kept, keeps, to);
    }
}

/// The same with `LANES` threads a cell, a power of two, for shorter lists. Grid: `LANES` threads for each cell.
///
/// # Safety
/// As [`next_long_lists`](const@next_long_lists).
#[kernel(block = BLOCK, instances(of_2: <2>; of_8: <8>; of_32: <32>))]
pub unsafe fn next_lists<const LANES: u32>(
    places: In<'_, Place>,
    mesh: Mesh<'_>,
    level: u32,
    wanted: u32,
    parents: In<'_, List>,
    pool: Pool<'_>,
    lists: Out<'_, List>,
) {
    let index = thread::index_1d();
    let (cell, lane) = (index / LANES as u64, index as u32 % LANES);
    let is_cell = cell < super::cells_of(level);
    let sites = Listed { places, pool: pool.sites };
    // SAFETY: the whole warp comes to each of its operations, which stand outside of branches on data.
    unsafe {
        let none = List { first: 0, count: 0 };
        let parent = if is_cell { parents.get(cell as usize >> 2) } else { none };
        let list = if is_short(parent) { none } else { parent };
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
            start = pool.used.fetch_add(0u32, up_to);
        }
        let own_start = warp::shuffle(warp::FULL, start, warp::SIZE - 1) + up_to - taken;
        let start = warp::shuffle(warp::FULL, own_start, warp::lane_id() & !(LANES - 1));
        if !is_cell {
            return;
        }
        let fits = !is_whole && start + all as u64 <= pool.capacity;
        if lane == 0 {
            let shorter = List { first: start as u32, count: all };
            lists.set(cell, if fits { shorter } else { parent });
        }
        if fits {
            share.write(sites, kept, keeps, own_start as usize);
        }
    }
}

/// Combines the values of `LANES` neighbouring lanes; each of them gets the result.
///
/// # Safety
/// The whole warp is here.
#[inline(always)]
unsafe fn of_lanes<T: Word, const LANES: u32>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut all = value;
    let mut apart = 1;
    while apart < LANES {
        // SAFETY: the whole warp is here, as the caller sees to.
        let other = unsafe { warp::shuffle(warp::FULL, all, warp::lane_id() ^ apart) };
        all = combine(all, other);
        apart *= 2;
    }
    all
}

/// Writes the nearest sites of a level's cells, each from the list of its ancestor `up` levels above. Grid: a thread
/// for four siblings, or for an octant.
///
/// # Safety
/// The slices have what [`Mesh`] and [`Outputs`] say. `lists` has the list of each cell of that level, `pool` the
/// elements of the lists, and `places` an element for each site on a list. The pool is not written.
#[kernel(block = BLOCK)]
pub unsafe fn nearest_of_cells(
    places: In<'_, Place>,
    mesh: Mesh<'_>,
    level: u32,
    up: u32,
    lists: In<'_, List>,
    pool: Out<'_, u32>,
    outputs: Outputs<'_>,
) {
    let item = thread::index_1d();
    let sites = Listed { places, pool };
    if level == 0 {
        if item < 8 {
            let centre = Triangle::octant(item as u32).centre();
            outputs.write(item, nearest_of_list(sites, lists.get(item), centre));
        }
    } else if item < super::cells_of(level - 1) {
        let parent = mesh.triangle(level - 1, item);
        let mut digit = 0;
        while digit < 4 {
            let cell = item << 2 | digit as u64;
            let list = lists.get(cell >> (2 * up));
            // The midpoints of the parent's edges are the same for all four, and computed once.
            let centre = parent.child(digit).centre();
            outputs.write(cell, nearest_of_list(sites, list, centre));
            digit += 1;
        }
    }
}

/// The nearest of a list.
#[inline(always)]
fn nearest_of_list(sites: Listed<'_>, list: List, centre: Vector) -> Two {
    Share { list, first: 0, step: 1 }.nearest(sites, centre)
}

device_std::ptx_module! { "sphere_prune" }
