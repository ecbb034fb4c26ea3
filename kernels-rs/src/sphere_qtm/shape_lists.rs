//! The diagram of shapes in device memory, by lists that cells inherit ([`super::shapes`]).
//!
//! 1. [`make_lists`](const@make_lists), a thread a cell, for each intermediate level: the list of a cell from that of
//!    its parent, or from all elements. Lists lie in one pool as those of `prune`. A cell whose list does not fit has
//!    its parent's.
//! 2. [`nearest_of_shapes`](const@nearest_of_shapes), a thread a cell: the nearest of the list of its ancestor, or of
//!    all.

use device_std::{In, Out, arguments, kernel, thread, warp};

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
    /// How many entries it has.
    pub count: u32,
    /// The level of the cell that it was made for, or [`ALL`].
    pub level: u32,
}

/// The level of the list of all elements, which is not in the pool.
pub const ALL: u32 = u32::MAX;

/// The elements of shapes in device memory.
#[arguments]
pub struct Elements<'a> {
    /// `count` of them.
    pub all: In<'a, Element>,
    /// How many there are.
    pub count: u32,
}

impl Elements<'_> {
    /// The list of all elements.
    #[inline(always)]
    fn list(&self) -> List {
        List { first: 0, count: self.count, level: ALL }
    }
}

/// The memory that all lists lie in.
#[arguments]
pub struct Pool<'a> {
    /// The entries of the lists: `capacity` elements.
    pub entries: Out<'a, u32>,
    /// The number of elements, at most 2^32 - 1.
    pub capacity: u64,
    /// How many elements are reserved: one number, which is zero before the first launch.
    pub used: Out<'a, u64>,
}

/// A list, and the elements that its entries name.
#[derive(Clone, Copy)]
struct Entered<'a> {
    elements: In<'a, Element>,
    pool: Out<'a, u32>,
    list: List,
}

impl Entries for Entered<'_> {
    #[inline(always)]
    fn len(&self) -> u32 {
        self.list.count
    }

    #[inline(always)]
    fn entry(&self, i: u32) -> u32 {
        if self.list.level == ALL {
            return i;
        }
        self.pool.get(self.list.first as usize + i as usize)
    }

    #[inline(always)]
    fn element(&self, index: u32) -> Element {
        self.elements.get(index)
    }
}

impl Entered<'_> {
    /// The squared chord within which the list has all elements around the places of a cell.
    #[inline(always)]
    fn sure(&self, level: u32, cell: u64) -> f64 {
        if self.list.level == ALL {
            return SURE;
        }
        let up = level - self.list.level;
        sure(&Triangle::of_index(self.list.level, cell >> (2 * up)))
    }
}

/// Makes the lists of a level's cells, from those of the level above, or without `parents` from all elements. Grid: a
/// thread a cell.
///
/// # Safety
/// The slices have what [`Elements`] and [`Pool`] say; `lists` has an element for each cell of the level, and `parents`
/// for each of the level above.
#[kernel(block = BLOCK)]
pub unsafe fn make_lists(
    elements: Elements<'_>,
    level: u32,
    wanted: u32,
    parents: Option<In<'_, List>>,
    pool: Pool<'_>,
    lists: Out<'_, List>,
) {
    let index = thread::index_1d();
    let is_cell = index < super::cells_of(level);
    let cell = if is_cell { index } else { 0 };
    let parent = parents.map_or(elements.list(), |parents| parents.get(cell as usize >> 2));
    let entered = Entered { elements: elements.all, pool: pool.entries, list: parent };
    let (triangle, sure) = (Triangle::of_index(level, cell), entered.sure(level, cell));
    let mut own = 0u32;
    if is_cell {
        keep(&triangle, &entered, sure, wanted, |_| own += 1);
    }
    // SAFETY: the whole warp is here.
    let start = unsafe {
        // One addition for the warp.
        let up_to = warp::inclusive_scan(own as u64, |a, b| a + b);
        let mut start = 0;
        if warp::lane_id() == warp::SIZE - 1 {
            start = pool.used.fetch_add(0u32, up_to);
        }
        warp::shuffle(warp::FULL, start, warp::SIZE - 1) + up_to - own as u64
    };
    if !is_cell {
        return;
    }
    if start + own as u64 > pool.capacity {
        lists.set(cell, parent);
        return;
    }
    lists.set(cell, List { first: start as u32, count: own, level });
    let mut to = start as usize;
    keep(&triangle, &entered, sure, wanted, |entry| {
        pool.entries.set(to, entry);
        to += 1;
    });
}

/// Writes the nearest sites of a level's cells, each from the list of its ancestor `up` levels above, or without
/// `lists` from all elements. Grid: a thread a cell.
///
/// # Safety
/// The slices have what [`Elements`] and [`Outputs`] say; `lists` has the list of each cell of that level, and `pool`
/// the entries of the lists. The pool is not written.
#[kernel(block = BLOCK)]
pub unsafe fn nearest_of_shapes(
    elements: Elements<'_>,
    level: u32,
    up: u32,
    lists: Option<In<'_, List>>,
    pool: Out<'_, u32>,
    outputs: Outputs<'_>,
) {
    let cell = thread::index_1d();
    if cell < super::cells_of(level) {
        let list = lists.map_or(elements.list(), |lists| lists.get(cell >> (2 * up)));
        let entered = Entered { elements: elements.all, pool, list };
        let centre = Triangle::of_index(level, cell).centre();
        let two = nearest(&entered, centre, entered.sure(level, cell));
        outputs.write(cell, two);
    }
}

device_std::ptx_module! { "sphere_shapes" }
