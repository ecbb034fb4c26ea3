//! The diagram of shapes in device memory, by lists that are handed down ([`super::shapes`]).
//!
//! 1. [`make_lists`](const@make_lists), a thread a cell, for each level on the way: the list of a cell from that of its parent, or
//!    from all elements. Lists lie in one pool as those of `prune`; a cell for which there is no room has
//!    its parent's.
//! 2. [`nearest_of_shapes`](const@nearest_of_shapes), a thread a cell: the nearest of the list of its ancestor, or of all.

use device_std::{atomic, kernel, thread, warp};

use super::outputs::Outputs;
use super::shapes::{Element, Entries, SURE, keep, nearest, sure};
use super::triangle::Triangle;

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// The list of a cell.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct List {
    /// Its first entry in the pool.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// The level of the cell that it was made for, or [`ALL`].
    pub level: u32,
}

/// The level of the list of all elements, which is not in the pool.
pub const ALL: u32 = u32::MAX;

/// A list, and what its entries name.
#[derive(Clone, Copy)]
struct Entered {
    elements: *const Element,
    pool: *const u32,
    list: List,
}

impl Entries for Entered {
    #[inline(always)]
    fn len(&self) -> u32 {
        self.list.count
    }

    #[inline(always)]
    fn entry(&self, i: u32) -> u32 {
        if self.list.level == ALL {
            return i;
        }
        // SAFETY: lists lie in the pool, and nobody asks beyond their length.
        unsafe { *self.pool.add(self.list.first as usize + i as usize) }
    }

    #[inline(always)]
    fn element(&self, index: u32) -> Element {
        // SAFETY: entries name elements that are there.
        unsafe { *self.elements.add(index as usize) }
    }
}

impl Entered {
    /// Within which squared chord it has all elements around the places of a cell.
    #[inline(always)]
    fn sure(&self, level: u32, cell: u64) -> f64 {
        if self.list.level == ALL {
            return SURE;
        }
        let up = level - self.list.level;
        sure(&Triangle::of_index(self.list.level, cell >> (2 * up)))
    }
}

/// The lists of a level's cells, from those of the level above; from all elements where `parents` is null. Grid: a thread a cell.
///
/// # Safety
/// There are `count` elements, `lists` has one for each cell of the level and `parents` for each of the level above, the
/// pool `capacity`, at most 2^32 - 1; `used` counts those that are taken.
#[kernel(block = BLOCK)]
pub unsafe fn make_lists(
    elements: *const Element,
    count: u32,
    level: u32,
    wanted: u32,
    parents: *const List,
    pool: *mut u32,
    capacity: u64,
    used: *mut u64,
    lists: *mut List,
) {
    let index = thread::index_1d();
    let is_cell = index < super::cells_of(level);
    let cell = if is_cell { index } else { 0 };
    // SAFETY: guarded; warp operations are outside of what depends on data.
    unsafe {
        let all = List { first: 0, count, level: ALL };
        let parent = if parents.is_null() { all } else { *parents.add(cell as usize >> 2) };
        let entered = Entered { elements, pool, list: parent };
        let (triangle, sure) = (Triangle::of_index(level, cell), entered.sure(level, cell));
        let mut own = 0u32;
        if is_cell {
            keep(&triangle, &entered, sure, wanted, |_| own += 1);
        }
        // One addition for the warp.
        let up_to = warp::inclusive_scan(own as u64, |a, b| a + b);
        let mut start = 0;
        if warp::lane_id() == warp::SIZE - 1 {
            start = atomic::add_u64(used, up_to);
        }
        let start = warp::shuffle(warp::FULL, start, warp::SIZE - 1) + up_to - own as u64;
        if !is_cell {
            return;
        }
        if start + own as u64 > capacity {
            *lists.add(cell as usize) = parent;
            return;
        }
        *lists.add(cell as usize) = List { first: start as u32, count: own, level };
        let mut to = start as usize;
        keep(&triangle, &entered, sure, wanted, |entry| {
            *pool.add(to) = entry;
            to += 1;
        });
    }
}

/// The nearest sites of a level's cells, each from the list of its ancestor `up` levels above; from all elements where
/// `lists` is null. Grid: a thread a cell.
///
/// # Safety
/// There are `count` elements; `lists` are those of that level; outputs that are not null have an element for each
/// cell.
#[kernel(block = BLOCK)]
pub unsafe fn nearest_of_shapes(
    elements: *const Element,
    count: u32,
    level: u32,
    up: u32,
    lists: *const List,
    pool: *const u32,
    nearest_sites: *mut u32,
    second: *mut u32,
    distance: *mut f64,
    tie: *mut u8,
) {
    let cell = thread::index_1d();
    if cell < super::cells_of(level) {
        // SAFETY: guarded.
        unsafe {
            let all = List { first: 0, count, level: ALL };
            let list = if lists.is_null() { all } else { *lists.add((cell >> (2 * up)) as usize) };
            let entered = Entered { elements, pool, list };
            let centre = Triangle::of_index(level, cell).centre();
            let two = nearest(&entered, centre, entered.sure(level, cell));
            Outputs { nearest: nearest_sites, second, distance, tie }.write(cell, two);
        }
    }
}

device_std::ptx_module! { "sphere_shapes" }
