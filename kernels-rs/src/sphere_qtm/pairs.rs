//! The diagram by all pairs of a cell and a site, as the kernels of Wang et al. (2015,
//! doi:10.11772/j.issn.1001-9081.2015.06.1564) have it: a thread a cell with sites from global memory, from
//! shared memory by tiles, and from read-only memory; and several cells a thread, in registers.
//!
//! Where we differ from the paper:
//!
//! 1. A pair is a scalar product in f32 and a maximum, four instructions: which site the maximum is of is
//!    not followed. A thread remembers the group of [`GROUP`] sites that its maximum was in, and the
//!    greatest of all other groups.
//! 2. Where the latter is smaller by more than f32 can err ([`MARGIN`]), the nearest site is in that group, and
//!    is found there in f64 by the rule of [`super::nearest`]. The other cells are put on a list, and
//!    [`search_all`](const@search_all) looks at all sites for them, in f64. So the result is that of f64.
//! 3. The paper's constant memory, of 64 KB, filled anew by the host for each part of the sites, is here global
//!    memory read as read-only data by one address for a warp: the compiler's backend has no way to
//!    declare a constant bank. What was to be gained there, a broadcast of cached data, it has.
//! 4. The kernel with several cells a thread takes sites from shared memory.

use device_std::block::BlockReduce;
use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector as Four};
use device_std::{atomic, kernel, thread};

use super::cells_of;
use super::nearest::{Found, Place, Two, squared_chord};
use super::outputs::Outputs;
use super::triangle::{Triangle, Vector};

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// Sites whose greatest scalar product is remembered together.
pub const GROUP: u32 = 32;

/// Sites that a block has in shared memory; their array is padded to a multiple of it.
pub const TILE: u32 = 256;

/// Sites of a group that are looked at without a branch.
const STEP: u32 = 8;

/// Cells of a thread in the kernel with several.
pub const SEVERAL: u32 = 8;

/// Sites are read from global memory.
const GLOBAL: u32 = 0;
/// Sites are read as read-only data.
const READ_ONLY: u32 = 1;
/// Sites are staged in shared memory.
const SHARED: u32 = 2;

/// What the scalar product of a farther site may be greater by in f32. Two vectors rounded to f32 are off by
/// 2^-24 of their length each, the three operations by 2^-24 each: 3e-7 for a product, twice that for the
/// difference of two.
pub const MARGIN: f32 = 7e-7;

/// The sites in f32, four numbers each, of which the last is nothing; beyond their number NaN, which no maximum
/// takes. Grid: a thread for each of `padded`.
///
/// # Safety
/// `places` has `count` elements, `narrow` has `padded`.
#[kernel(block = BLOCK)]
pub unsafe fn narrow_sites(places: *const Place, count: u32, padded: u32, narrow: *mut u8) {
    let i = thread::index_1d();
    if i < padded as u64 {
        // SAFETY: guarded.
        unsafe {
            let place = if i < count as u64 { (*places.add(i as usize)).0 } else { [f64::NAN; 4] };
            let bits = |x: f64| (x as f32).to_bits();
            let four = [bits(place[0]), bits(place[1]), bits(place[2]), 0];
            vector::store(narrow.add(16 * i as usize), four);
        }
    }
}

/// What a block keeps in shared memory.
#[inline(always)]
const fn tile(carver: &mut Carver, memory: u32) -> SharedArray<Four> {
    carver.array(if memory == SHARED { TILE } else { 0 })
}

/// Bytes of it.
const fn tile_bytes(memory: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = tile(&mut carver, memory);
    carver.bytes()
}

/// What a thread knows of a cell's scalar products.
#[derive(Clone, Copy)]
struct Best {
    greatest: f32,
    /// The group that it is in.
    group: u32,
    /// The greatest of all other groups.
    other: f32,
}

impl Best {
    /// Below every scalar product.
    const NOTHING: Self = Self { greatest: -2.0, group: 0, other: -2.0 };

    /// With a group more.
    #[inline(always)]
    fn with(self, greatest: f32, group: u32) -> Self {
        Self {
            greatest: f32::max(self.greatest, greatest),
            group: if greatest > self.greatest { group } else { self.group },
            other: f32::max(self.other, f32::min(self.greatest, greatest)),
        }
    }
}

/// The nearest site of each cell of a level, or its place on the list of the doubtful ones. An instance's name
/// says where sites are read, and `registers` that a thread has [`SEVERAL`] cells. Grid: a block for each
/// `BLOCK * Q` cells.
///
/// # Safety
/// `places` has `count` elements; `narrow` has what [`narrow_sites`](const@narrow_sites) writes, `padded`, a multiple of [`TILE`];
/// outputs that are not null and `doubtful` have an element for each cell; `doubts` is zero. `sites_of_group` is
/// [`GROUP`]: an argument, so that no compiler makes one piece of code of a whole tile, which takes all registers.
#[kernel(block = BLOCK, shared = tile_bytes(MEMORY), instances(
    global: <GLOBAL, 1>, resident = 6;
    read_only: <READ_ONLY, 1>, resident = 6;
    shared: <SHARED, 1>, resident = 6;
    registers: <SHARED, { SEVERAL as usize }>, resident = 3;
))]
pub unsafe fn compare_all<const MEMORY: u32, const Q: usize>(
    places: *const Place,
    count: u32,
    narrow: *const u8,
    padded: u32,
    sites_of_group: u32,
    level: u32,
    nearest: *mut u32,
    distance: *mut f64,
    doubtful: *mut u64,
    doubts: *mut u64,
) {
    let shared = tile(&mut Carver::new(), MEMORY);
    let me = thread::thread_idx_x();
    let cells = cells_of(level);
    let first = thread::block_idx_x() as u64 * (BLOCK as u64 * Q as u64) + me as u64;
    let mut centres = [[0.0f32; 3]; Q];
    let mut best = [Best::NOTHING; Q];
    let mut q = 0;
    while q < Q {
        let cell = u64::min(first + q as u64 * BLOCK as u64, cells - 1);
        let [x, y, z] = Triangle::of_index(level, cell).centre();
        centres[q] = [x as f32, y as f32, z as f32];
        q += 1;
    }
    // SAFETY: sites are read below their padded number; the whole block comes to each barrier, for all
    // have the same tiles.
    unsafe {
        let mut start = 0;
        while start < padded {
            if MEMORY == SHARED {
                thread::sync_threads();
                let mut i = me;
                while i < TILE {
                    shared.store(i, vector::load(narrow.add(16 * (start + i) as usize)));
                    i += BLOCK;
                }
                thread::sync_threads();
            }
            let mut group = 0;
            while group < TILE {
                let greatest = greatest_of_group::<MEMORY, Q>(
                    &centres,
                    shared,
                    narrow,
                    start,
                    group,
                    sites_of_group,
                );
                let mut q = 0;
                while q < Q {
                    best[q] = best[q].with(greatest[q], start + group);
                    q += 1;
                }
                group += sites_of_group;
            }
            start += TILE;
        }
        let outputs = Outputs {
            nearest,
            second: core::ptr::null_mut(),
            distance,
            tie: core::ptr::null_mut(),
        };
        let mut q = 0;
        while q < Q {
            let cell = first + q as u64 * BLOCK as u64;
            if cell < cells {
                let Best { greatest, group, other } = best[q];
                if other < greatest - MARGIN {
                    let centre = Triangle::of_index(level, cell).centre();
                    outputs.write(cell, nearest_of_group(places, count, centre, group));
                } else {
                    *doubtful.add(atomic::add_u64(doubts, 1) as usize) = cell;
                }
            }
            q += 1;
        }
    }
}

/// The greatest scalar product of each centre with the sites of a group.
///
/// # Safety
/// As [`compare_all`] has them.
#[inline(always)]
unsafe fn greatest_of_group<const MEMORY: u32, const Q: usize>(
    centres: &[[f32; 3]; Q],
    shared: SharedArray<Four>,
    narrow: *const u8,
    start: u32,
    group: u32,
    sites_of_group: u32,
) -> [f32; Q] {
    let mut greatest = [-2.0; Q];
    let mut step = 0;
    while step < sites_of_group {
        let mut i = 0;
        while i < STEP {
            let at = group + step + i;
            // SAFETY: passed on to the caller.
            let [x, y, z, _] = unsafe {
                let global = narrow.wrapping_add(16 * (start + at) as usize);
                match MEMORY {
                    SHARED => shared.load(at),
                    READ_ONLY => vector::load_read_only(global),
                    _ => vector::load(global),
                }
            };
            let (x, y, z) = (f32::from_bits(x), f32::from_bits(y), f32::from_bits(z));
            let mut q = 0;
            while q < Q {
                let [a, b, c] = centres[q];
                let product = Real::mul_add(c, z, Real::mul_add(b, y, a * x));
                greatest[q] = f32::max(greatest[q], product);
                q += 1;
            }
            i += 1;
        }
        step += STEP;
    }
    greatest
}

/// The nearest site of a group, in f64.
///
/// # Safety
/// `places` has `count` elements.
#[inline(always)]
unsafe fn nearest_of_group(places: *const Place, count: u32, centre: Vector, group: u32) -> Two {
    let end = u32::min(group + GROUP, count);
    let mut two = Two::NOTHING;
    let mut site = group;
    while site < end {
        // SAFETY: below the number of sites.
        let Place([x, y, z, _]) = unsafe { *places.add(site as usize) };
        two = two.with(Found { squared: squared_chord(centre, [x, y, z]), site });
        site += vector::unknown(1);
    }
    two
}

/// Threads of a block that searches all sites.
pub const SEARCH_BLOCK: u32 = 256;

/// Finds the first of what a block found.
#[inline(always)]
const fn least(carver: &mut Carver) -> BlockReduce<(u64, u64)> {
    BlockReduce::new(carver, SEARCH_BLOCK as usize)
}

/// The nearest sites, in f64 among all, of the cells on a list; of all cells where `doubtful` is null. Grid: any
/// number of blocks, which take turns.
///
/// # Safety
/// `places` has `count` elements; `doubtful` has as many cells of the level as `doubts` says, and outputs that are
/// not null an element for each cell.
#[kernel(block = SEARCH_BLOCK, carve = |carver| least(carver))]
pub unsafe fn search_all(
    places: *const Place,
    count: u32,
    level: u32,
    doubtful: *const u64,
    doubts: *const u64,
    nearest: *mut u32,
    second: *mut u32,
    distance: *mut f64,
    tie: *mut u8,
) {
    let least = least(&mut Carver::new());
    let outputs = Outputs { nearest, second, distance, tie };
    // SAFETY: guarded; all threads of a block have the same cells.
    unsafe {
        let cells = if doubtful.is_null() { cells_of(level) } else { *doubts };
        let mut i = thread::block_idx_x() as u64;
        while i < cells {
            let cell = if doubtful.is_null() { i } else { *doubtful.add(i as usize) };
            let centre = Triangle::of_index(level, cell).centre();
            let mut two = Two::NOTHING;
            let mut site = thread::thread_idx_x();
            while site < count {
                let Place([x, y, z, _]) = *places.add(site as usize);
                two = two.with(Found { squared: squared_chord(centre, [x, y, z]), site });
                site += SEARCH_BLOCK;
            }
            let first = Found::first_of_block(least, two.first);
            let rest = if two.first.site == first.site { two.second } else { two.first };
            let second = Found::first_of_block(least, rest);
            if thread::thread_idx_x() == 0 {
                outputs.write(cell, Two { first, second });
            }
            i += thread::grid_dim_x() as u64;
        }
    }
}

device_std::ptx_module! { "sphere_pairs" }
