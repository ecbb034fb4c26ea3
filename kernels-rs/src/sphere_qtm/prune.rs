//! The diagram by lists of candidates, level by level.
//!
//! 1. `place_sites` (module `places`): the unit vector of each site, in f64.
//! 2. [`first_lists`](const@first_lists), a block a cell of a coarse level: of all sites those that the cell cannot
//!    leave out ([`super::nearest`]).
//! 3. For each level after it [`next_lists`](const@next_lists), or where lists are still long
//!    [`next_long_lists`](const@next_long_lists): of the parent's list the same.
//! 4. [`nearest_of_cells`](const@nearest_of_cells), a thread for four cells: the nearest of the list of the
//!    ancestor two levels above.
//!
//! Lists lie in one pool, whose room for them is taken by an atomic addition: where a list lies depends on chance,
//! what is in it does not. A cell for whose list no room is left has its parent's, and so has one that would
//! leave out nothing, or whose parent's list is short anyway. Results are the same: a list may always hold
//! more than it must.

use device_std::block::{BlockReduce, BlockScan};
use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, kernel, thread, warp};

use super::nearest::{Found, Place, Pruning, Two, squared_chord};
use super::outputs::Outputs;
use super::triangle::{Triangle, Vector};

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// Threads of a block that makes one list.
pub const LONG_BLOCK: u32 = 256;

/// A parent's list of so many sites is not worth shortening.
const SHORT: u32 = 2;

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

    /// What a triangle leaves out, by the sites of a list nearest to its centre.
    ///
    /// # Safety
    /// The sites found are there.
    #[inline(always)]
    unsafe fn pruning(&self, triangle: Triangle, two: Two, wanted: u32) -> Pruning {
        // SAFETY: passed on to the caller.
        Pruning::new(triangle, two, |site| unsafe { self.place(site) }, wanted)
    }
}

/// What a block keeps that makes one list.
#[derive(Clone, Copy)]
struct Room {
    least: BlockReduce<(u64, u64)>,
    scan: BlockScan<u32>,
    start: SharedArray<u64>,
}

impl Room {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            least: BlockReduce::new(carver, LONG_BLOCK as usize),
            scan: BlockScan::new(carver),
            start: carver.array(1),
        }
    }
}

/// Makes the list of the block's cell from its parent's.
///
/// # Safety
/// The whole block is here. `parent` is a list of sites that are there; the pool has `capacity` elements,
/// of which `used` counts those that are taken; `lists` has an element for the cell.
#[inline(always)]
unsafe fn make_list_together(
    sites: Sites,
    parent: List,
    triangle: Triangle,
    wanted: u32,
    capacity: u64,
    used: *mut u64,
    list: *mut List,
) {
    let room = Room::new(&mut Carver::new());
    let me = thread::thread_idx_x();
    // SAFETY: indices are below the list's length, and what depends on data has no barrier.
    unsafe {
        let centre = triangle.centre();
        let mut two = Two::NOTHING;
        let mut i = me;
        while i < parent.count {
            let site = sites.site(parent, i);
            two = two.with(Found { squared: squared_chord(centre, sites.place(site)), site });
            i += LONG_BLOCK;
        }
        let first = Found::first_of_block(room.least, two.first);
        let rest = if two.first.site == first.site { two.second } else { two.first };
        let second = Found::first_of_block(room.least, rest);
        let pruning = sites.pruning(triangle, Two { first, second }, wanted);
        let mut own = 0;
        let mut i = me;
        while i < parent.count {
            let site = sites.site(parent, i);
            own += pruning.keeps(site, sites.place(site)) as u32;
            i += LONG_BLOCK;
        }
        let (up_to, all) = room.scan.inclusive(own, 0, |a, b| a + b);
        let is_short = parent.first != ALL && parent.count <= SHORT;
        let is_whole = is_short || all == parent.count;
        if me == 0 && !is_whole {
            room.start.store(0, atomic::add_u64(used, all as u64));
        }
        thread::sync_threads();
        let start = if is_whole { capacity } else { room.start.load(0) };
        if start + all as u64 > capacity {
            if me == 0 {
                *list = parent;
            }
            return;
        }
        if me == 0 {
            *list = List { first: start as u32, count: all };
        }
        let mut to = start as usize + (up_to - own) as usize;
        let mut i = me;
        while i < parent.count {
            let site = sites.site(parent, i);
            if pruning.keeps(site, sites.place(site)) {
                *sites.pool.add(to) = site;
                to += 1;
            }
            i += LONG_BLOCK;
        }
    }
}

/// The lists of a level's cells from all sites. Grid: a block a cell.
///
/// # Safety
/// `places` has `count` elements, `lists` one for each cell of the level, the pool `capacity`, at most
/// 2^32 - 1; `used` is zero before the first launch.
#[kernel(block = LONG_BLOCK, carve = |carver| Room::new(carver))]
pub unsafe fn first_lists(
    places: *const Place,
    count: u32,
    level: u32,
    wanted: u32,
    pool: *mut u32,
    capacity: u64,
    used: *mut u64,
    lists: *mut List,
) {
    let cell = thread::block_idx_x();
    let triangle = Triangle::of_index(level, cell as u64);
    // SAFETY: passed on to the caller.
    unsafe {
        let (parent, list) = (List { first: ALL, count }, lists.add(cell as usize));
        let sites = Sites { places, pool };
        make_list_together(sites, parent, triangle, wanted, capacity, used, list);
    }
}

/// The lists of a level's cells from those of the level above. Grid: a block a cell.
///
/// # Safety
/// As [`first_lists`](const@first_lists); `parents` are the lists of the level above.
#[kernel(block = LONG_BLOCK, carve = |carver| Room::new(carver))]
pub unsafe fn next_long_lists(
    places: *const Place,
    level: u32,
    wanted: u32,
    parents: *const List,
    pool: *mut u32,
    capacity: u64,
    used: *mut u64,
    lists: *mut List,
) {
    let cell = thread::block_idx_x();
    let triangle = Triangle::of_index(level, cell as u64);
    // SAFETY: passed on to the caller.
    unsafe {
        let (parent, list) = (*parents.add(cell as usize >> 2), lists.add(cell as usize));
        let sites = Sites { places, pool };
        make_list_together(sites, parent, triangle, wanted, capacity, used, list);
    }
}

/// The same, for short lists. Grid: a thread a cell.
///
/// # Safety
/// As [`next_long_lists`](const@next_long_lists).
#[kernel(block = BLOCK)]
pub unsafe fn next_lists(
    places: *const Place,
    level: u32,
    wanted: u32,
    parents: *const List,
    pool: *mut u32,
    capacity: u64,
    used: *mut u64,
    lists: *mut List,
) {
    let cell = thread::index_1d();
    let is_cell = cell < super::cells_of(level);
    let sites = Sites { places, pool };
    // SAFETY: guarded; warp operations are outside of what depends on data.
    unsafe {
        let parent =
            if is_cell { *parents.add(cell as usize >> 2) } else { List { first: 0, count: 0 } };
        let looked_at = if parent.count <= SHORT { 0 } else { parent.count };
        let triangle = Triangle::of_index(level, if is_cell { cell } else { 0 });
        let centre = triangle.centre();
        let mut two = Two::NOTHING;
        let mut i = 0;
        while i < looked_at {
            let site = sites.site(parent, i);
            two = two.with(Found { squared: squared_chord(centre, sites.place(site)), site });
            i += 1;
        }
        let pruning = sites.pruning(triangle, two, wanted);
        let mut own = 0;
        let mut i = 0;
        while i < looked_at {
            let site = sites.site(parent, i);
            own += pruning.keeps(site, sites.place(site)) as u32;
            i += 1;
        }
        let is_whole = looked_at == 0 || own == parent.count;
        let taken = if is_whole { 0 } else { own as u64 };
        // One addition for the warp.
        let up_to = warp::inclusive_scan(taken, |a, b| a + b);
        let mut start = 0;
        if warp::lane_id() == warp::SIZE - 1 && up_to > 0 {
            start = atomic::add_u64(used, up_to);
        }
        let start = warp::shuffle(warp::FULL, start, warp::SIZE - 1) + up_to - taken;
        if !is_cell {
            return;
        }
        let list = lists.add(cell as usize);
        if is_whole || start + taken > capacity {
            *list = parent;
            return;
        }
        *list = List { first: start as u32, count: own };
        let mut to = start as usize;
        let mut i = 0;
        while i < looked_at {
            let site = sites.site(parent, i);
            if pruning.keeps(site, sites.place(site)) {
                *pool.add(to) = site;
                to += 1;
            }
            i += 1;
        }
    }
}

/// The nearest sites of a level's cells, each from the list of its ancestor `up` levels above. Grid: a thread
/// for four siblings, or for an octant.
///
/// # Safety
/// `lists` are those of that level, of sites that are there; outputs that are not null have an element
/// for each cell.
#[kernel(block = BLOCK)]
pub unsafe fn nearest_of_cells(
    places: *const Place,
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
            let parent = Triangle::of_index(level - 1, item);
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
    let mut two = Two::NOTHING;
    let mut i = 0;
    while i < list.count {
        // SAFETY: `i` is below the list's length.
        unsafe {
            let site = sites.site(list, i);
            two = two.with(Found { squared: squared_chord(centre, sites.place(site)), site });
        }
        i += 1;
    }
    two
}

device_std::ptx_module! { "sphere_prune" }
