//! Building trees: crate `ccq-tree`.
//!
//! A block has a square of 64 x 64 elements, a thread a patch of 4 x 4 of them; threads are in Z-order, so that the
//! quadrants of a level are runs of threads. The plan:
//!
//! 1. [`reduce`], for each tier from the cells up: the summaries of a square's quadrants, level by level, in registers
//!    up to 4 x 4, by shuffles up to 16 x 16, and from there in each warp again from shared memory. Kept are
//!    the summary of the square, the element of the tier above, and how many nodes each level has.
//! 2. A scan of the counts, by gpu-scan.
//! 3. [`write`](mod@write), for each tier: the same reduction of the squares that are divided, a scan over the block for where each
//!    thread's nodes of each level go, and the nodes.
//!
//! So cells are read once, and those of divided squares twice; a square keeps 12 bytes and its counts, 24. The levels'
//! counts are packed into one word, so that one reduction or scan does for all.

use device_std::block::{BlockReduce, BlockScan};
use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, vector, warp};

use super::plan::Tier;
use super::summary::{Binning, Summary, of_cell};
use super::value::{Kind, Value};
use super::{LEVELS, SIDE};
use crate::spatial::morton;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Elements on a side of a thread's patch.
const PATCH: usize = 4;

/// The most steps between bins.
pub const MAX_STEPS: u32 = 255;

/// Steps that a launch of [`put_steps`](const@put_steps) sets.
pub const STEPS: usize = 16;

/// Sets steps between bins, which come as arguments: a call that works on the device copies nothing from the host. Grid:
/// one block.
///
/// # Safety
/// `out` has `STEPS` elements from `first` on.
#[kernel(block = 32)]
pub unsafe fn put_steps(out: *mut u32, first: u32, steps: [u32; STEPS]) {
    if thread::thread_idx_x() == 0 {
        let mut i = 0;
        while i < STEPS {
            // SAFETY: passed on to the caller.
            unsafe { *out.add(first as usize + i) = steps[i] };
            i += 1;
        }
    }
}

/// The most levels of a tree.
pub const MAX_LEVELS: usize = 31;

/// Where the levels of each tree begin, by the slots of their first squares in a tree's counts; after the last tree the
/// number of all nodes. Grid: a thread for each tree.
///
/// # Safety
/// `starts` has `end` elements and one more, and `stride` for each of `trees`; `out` has `trees * levels + 1`.
#[kernel(block = BLOCK)]
pub unsafe fn find_levels(
    starts: *const u32,
    end: u64,
    stride: u32,
    slots: [u32; MAX_LEVELS],
    levels: u32,
    trees: u32,
    out: *mut u32,
) {
    let tree = thread::index_1d();
    if tree >= trees as u64 {
        return;
    }
    // SAFETY: passed on to the caller.
    unsafe {
        let mut i = 0;
        while i < MAX_LEVELS {
            if (i as u32) < levels {
                let slot = tree * stride as u64 + slots[i] as u64;
                *out.add((tree * levels as u64) as usize + i) = *starts.add(slot as usize);
            }
            i += 1;
        }
        if tree == 0 {
            *out.add((trees * levels) as usize) = *starts.add(end as usize);
        }
    }
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Room {
    /// Steps between bins.
    steps: SharedArray<u32>,
    /// The quadrants of 16 x 16: their summaries, word by word.
    words: SharedArray<u32>,
    sums: BlockReduce<u64>,
    scan: BlockScan<u64>,
}

impl Room {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            steps: carver.array(MAX_STEPS),
            words: carver.array(4 * 16),
            sums: BlockReduce::new(carver, BLOCK),
            scan: BlockScan::new(carver),
        }
    }
}

/// Sixteen elements of a patch, in Z-order.
type Patch = [Summary; PATCH * PATCH];

/// What a tier is made of.
pub trait Source<E: Copy>: Copy {
    /// Whether they are cells, which have no children.
    const ARE_CELLS: bool;

    /// The summary of an element.
    ///
    /// # Safety
    /// The steps of `binning` are in shared memory.
    unsafe fn summary(element: E, binning: Binning, steps: SharedArray<u32>) -> Summary;

    /// Four elements in a row.
    ///
    /// # Safety
    /// They are there; `is_aligned` only if they begin at a multiple of their size, up to 16 bytes.
    unsafe fn four(from: *const E, is_aligned: bool) -> [E; PATCH];

    /// Writes a node by its keys. `kind` is the type of its cells.
    ///
    /// # Safety
    /// There is a node of that type at `index`, nobody else's.
    unsafe fn store(nodes: *mut u8, kind: u32, index: u32, keys: (u32, u32), link: u32);
}

/// Cells of a type.
#[derive(Clone, Copy)]
pub struct Cells<T>(core::marker::PhantomData<T>);

/// Elements that are squares of the tier below.
#[derive(Clone, Copy)]
pub struct Squares;

impl<T: Value> Source<T> for Cells<T> {
    const ARE_CELLS: bool = true;

    #[inline(always)]
    unsafe fn summary(element: T, binning: Binning, steps: SharedArray<u32>) -> Summary {
        // SAFETY: passed on to the caller.
        of_cell(element, binning, |i| unsafe { steps.load(i) })
    }

    #[inline(always)]
    unsafe fn four(from: *const T, is_aligned: bool) -> [T; PATCH] {
        // SAFETY: passed on to the caller.
        unsafe {
            if !is_aligned {
                return [*from, *from.add(1), *from.add(2), *from.add(3)];
            }
            if size_of::<T>() == 4 {
                return vector::load(from.cast()).map(T::of_bits);
            }
            let bits = 8 * size_of::<T>();
            let word = match size_of::<T>() {
                2 => *from.cast::<u64>(),
                _ => *from.cast::<u32>() as u64,
            };
            let lane = |i: usize| T::of_bits((word >> (i * bits)) as u32);
            [lane(0), lane(1), lane(2), lane(3)]
        }
    }

    #[inline(always)]
    unsafe fn store(nodes: *mut u8, _: u32, index: u32, (min, max): (u32, u32), link: u32) {
        // SAFETY: passed on to the caller.
        unsafe { store_node::<T>(nodes, index, (min, max), link) }
    }
}

/// Writes a node of a type.
///
/// # Safety
/// As [`Source::store`].
#[inline(always)]
unsafe fn store_node<T: Value>(nodes: *mut u8, index: u32, (min, max): (u32, u32), link: u32) {
    let (min, max) = (T::of_key(min).bits(), T::of_key(max).bits());
    // SAFETY: passed on to the caller.
    unsafe {
        if size_of::<T>() == 4 {
            let node = nodes.cast::<u32>().add(3 * index as usize);
            *node = min;
            *node.add(1) = max;
            *node.add(2) = link;
        } else {
            let values = min | max << (8 * size_of::<T>());
            *nodes.cast::<u64>().add(index as usize) = values as u64 | (link as u64) << 32;
        }
    }
}

impl Source<Summary> for Squares {
    const ARE_CELLS: bool = false;

    #[inline(always)]
    unsafe fn summary(element: Summary, _: Binning, _: SharedArray<u32>) -> Summary {
        element
    }

    #[inline(always)]
    unsafe fn four(from: *const Summary, _: bool) -> [Summary; PATCH] {
        // SAFETY: passed on to the caller.
        unsafe { [*from, *from.add(1), *from.add(2), *from.add(3)] }
    }

    #[inline(always)]
    unsafe fn store(nodes: *mut u8, kind: u32, index: u32, keys: (u32, u32), link: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            if kind == Kind::U8 as u32 {
                store_node::<u8>(nodes, index, keys, link)
            } else if kind == Kind::I16 as u32 {
                store_node::<i16>(nodes, index, keys, link)
            } else if kind == Kind::U16 as u32 {
                store_node::<u16>(nodes, index, keys, link)
            } else if kind == Kind::I32 as u32 {
                store_node::<i32>(nodes, index, keys, link)
            } else if kind == Kind::U32 as u32 {
                store_node::<u32>(nodes, index, keys, link)
            } else {
                store_node::<f32>(nodes, index, keys, link)
            }
        }
    }
}

/// A block's square, as each of its threads sees it.
struct Square {
    /// The thread's elements.
    patch: Patch,
    /// Its quadrants of 2 x 2, and which of their elements have values.
    twos: [Summary; 4],
    element_masks: [u32; 4],
    /// The thread's quadrant of 4 x 4, and those above it that it lies in.
    four: Summary,
    eight: Summary,
    sixteen: Summary,
    thirty_two: Summary,
    whole: Summary,
    /// Which of the warp's quadrants of 4 x 4 have values, by their threads' lanes.
    fours: u32,
    /// Which quadrants of 8 x 8 have values, by their first threads' lanes.
    eights: u32,
    /// Which quadrants of 16 x 16 have values.
    sixteens: u32,
    /// Which quadrants of 32 x 32 have values: every fourth bit.
    thirty_twos: u32,
    /// Which of those of 4 x 4 and 8 x 8 are nodes.
    is_four: bool,
    is_eight: bool,
    /// Those of 16 x 16 and 32 x 32 that are nodes, by bits as above.
    open_sixteens: u32,
    open_thirty_twos: u32,
}

#[inline(always)]
fn bit(condition: bool) -> u32 {
    condition as u32
}

/// The bits of four elements that have values.
#[inline(always)]
fn mask_of(four: [Summary; 4]) -> u32 {
    bit(four[0].has_values())
        | bit(four[1].has_values()) << 1
        | bit(four[2].has_values()) << 2
        | bit(four[3].has_values()) << 3
}

/// Whether the children of a quadrant are nodes: where it is divided, and above the root.
#[inline(always)]
fn divides(tier: &Tier, level: u32, summary: Summary) -> bool {
    if tier.is_top != 0 && level < tier.first_level {
        summary.has_values()
    } else {
        summary.is_divided()
    }
}

/// The summary of another lane.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn of_lane(summary: Summary, lane: u32) -> Summary {
    // SAFETY: passed on to the caller.
    unsafe {
        Summary {
            min: warp::shuffle(warp::FULL, summary.min, lane),
            max: warp::shuffle(warp::FULL, summary.max, lane),
            flags: warp::shuffle(warp::FULL, summary.flags, lane),
        }
    }
}

/// The summary of four quadrants beside each other, `step` lanes apart; in all of their lanes.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn together(summary: Summary, step: u32) -> Summary {
    let lane = warp::lane_id();
    // SAFETY: passed on to the caller.
    unsafe {
        let two = summary.and(of_lane(summary, lane ^ step));
        two.and(of_lane(two, lane ^ (2 * step)))
    }
}

impl Square {
    /// Reads and reduces a square.
    ///
    /// # Safety
    /// Every thread of the block comes here; `input` has the elements of the tier, `steps` the steps of the binning.
    #[inline(always)]
    unsafe fn new<E: Copy, S: Source<E>>(
        tier: &Tier,
        (column, row): (u32, u32),
        input: *const E,
        binning: Binning,
        steps: *const u32,
        room: &Room,
    ) -> Self {
        // SAFETY: passed on to the caller; barriers stand between what threads share.
        unsafe {
            if S::ARE_CELLS {
                let i = thread::thread_idx_x();
                if i < (1 << binning.steps) - 1 {
                    room.steps.store(i, *steps.add(i as usize));
                }
                thread::sync_threads();
            }
            let patch = load::<E, S>(tier, (column, row), input, binning, room.steps);
            Self::of_patch(tier, patch, room)
        }
    }

    /// # Safety
    /// Every thread of the block comes here.
    #[inline(always)]
    unsafe fn of_patch(tier: &Tier, patch: Patch, room: &Room) -> Self {
        let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
        let mut twos = [Summary::OUTSIDE; 4];
        let mut element_masks = [0; 4];
        let mut i = 0;
        while i < 4 {
            let of = [patch[4 * i], patch[4 * i + 1], patch[4 * i + 2], patch[4 * i + 3]];
            twos[i] = of[0].and(of[1]).and(of[2].and(of[3]));
            element_masks[i] = mask_of(of);
            i += 1;
        }
        let four = twos[0].and(twos[1]).and(twos[2].and(twos[3]));
        // SAFETY: the whole block is here.
        unsafe {
            let eight = together(four, 1);
            let sixteen = together(eight, 4);
            if lane & 15 == 0 {
                let place = t / 16;
                room.words.store(place, sixteen.min);
                room.words.store(16 + place, sixteen.max);
                room.words.store(32 + place, sixteen.flags);
            }
            let fours = warp::ballot(warp::FULL, four.has_values());
            let eights = warp::ballot(warp::FULL, lane & 3 == 0 && eight.has_values());
            thread::sync_threads();
            // Lanes 0 to 15, and again 16 to 31, have the quadrants of 16 x 16.
            let place = lane & 15;
            let own = Summary {
                min: room.words.load(place),
                max: room.words.load(16 + place),
                flags: room.words.load(32 + place),
            };
            let above = together(own, 1);
            let whole = together(above, 4);
            let low = |bits: u32| bits & 0xffff;
            let is_corner = lane & 3 == 0;
            let sixteens = low(warp::ballot(warp::FULL, own.has_values()));
            let thirty_twos = low(warp::ballot(warp::FULL, is_corner && above.has_values()));
            let is_open = own.has_values() && divides(tier, 1, above);
            let open_sixteens = low(warp::ballot(warp::FULL, is_open));
            let is_open = is_corner && above.has_values() && divides(tier, 0, whole);
            let open_thirty_twos = low(warp::ballot(warp::FULL, is_open));
            let thirty_two = of_lane(above, (t / 64) * 4);
            let is_four = four.has_values() && divides(tier, 3, eight);
            let is_eight = lane & 3 == 0 && eight.has_values() && divides(tier, 2, sixteen);
            Self {
                patch,
                twos,
                element_masks,
                four,
                eight,
                sixteen,
                thirty_two,
                whole,
                fours,
                eights,
                sixteens,
                thirty_twos,
                is_four,
                is_eight,
                open_sixteens,
                open_thirty_twos,
            }
        }
    }

    /// The thread's nodes of elements, of 2 x 2, of 4 x 4 and of 8 x 8, in one word.
    #[inline(always)]
    fn packed(&self, tier: &Tier) -> u64 {
        let mut elements = 0;
        let mut i = 0;
        while i < 4 {
            elements +=
                if divides(tier, 5, self.twos[i]) { self.element_masks[i].count_ones() } else { 0 };
            i += 1;
        }
        let twos = if divides(tier, 4, self.four) { mask_of(self.twos).count_ones() } else { 0 };
        elements as u64
            | (twos as u64) << AT[5]
            | (bit(self.is_four) as u64) << AT[4]
            | (bit(self.is_eight) as u64) << AT[3]
    }

    /// Which of its quadrants of 32 x 32 have values.
    #[inline(always)]
    fn quadrants(&self) -> u32 {
        gathered(self.thirty_twos)
    }
}

/// Every fourth bit of sixteen.
#[inline(always)]
fn gathered(bits: u32) -> u32 {
    (bits & 1) | (bits >> 3 & 2) | (bits >> 6 & 4) | (bits >> 9 & 8)
}

/// Where each level's count stands in a packed word: at most 4096 elements, 1024 of 2 x 2, 256 of 4 x 4, 64 of 8 x 8.
const AT: [u32; 7] = [0, 0, 0, 33, 24, 13, 0];
const WIDTH: [u32; 7] = [0, 0, 0, 7, 9, 11, 13];

/// The count of a level in a packed word.
#[inline(always)]
fn unpacked(word: u64, level: usize) -> u32 {
    (word >> AT[level]) as u32 & ((1 << WIDTH[level]) - 1)
}

/// The thread's elements.
///
/// # Safety
/// As [`Square::new`].
#[inline(always)]
unsafe fn load<E: Copy, S: Source<E>>(
    tier: &Tier,
    (column, row): (u32, u32),
    input: *const E,
    binning: Binning,
    steps: SharedArray<u32>,
) -> Patch {
    let (x, y) = morton::decode(thread::thread_idx_x() as u64);
    let (x, y) = (x * PATCH as u32, y * PATCH as u32);
    // Of a square shorter than 64 only the part before its end.
    let end = |at: u32, length: u32| u32::min(length - at * tier.side(), tier.side());
    let (width, height) = (end(column, tier.width), end(row, tier.height));
    let first =
        (row * tier.side() + y) as u64 * tier.width as u64 + (column * tier.side() + x) as u64;
    let bytes = u32::min(PATCH as u32 * size_of::<E>() as u32, vector::BYTES as u32);
    let is_aligned = tier.width & 3 == 0 && input as usize & (bytes as usize - 1) == 0;
    let mut patch = [Summary::OUTSIDE; PATCH * PATCH];
    let mut j = 0;
    while j < PATCH {
        let from = input.wrapping_add((first + j as u64 * tier.width as u64) as usize);
        // SAFETY: guarded by the part's sides; the steps are there, by the caller's promise.
        unsafe {
            if y + (j as u32) < height {
                if x + 4 <= width {
                    let four = S::four(from, is_aligned);
                    let mut i = 0;
                    while i < PATCH {
                        patch[place_in_patch(i, j)] = S::summary(four[i], binning, steps);
                        i += 1;
                    }
                } else {
                    let mut i = 0;
                    while i < PATCH {
                        if x + (i as u32) < width {
                            let element = *from.wrapping_add(i);
                            patch[place_in_patch(i, j)] = S::summary(element, binning, steps);
                        }
                        i += 1;
                    }
                }
            }
        }
        j += 1;
    }
    patch
}

/// The place in Z-order of an element of a patch.
#[inline(always)]
const fn place_in_patch(x: usize, y: usize) -> usize {
    (x & 1) | (y & 1) << 1 | (x & 2) << 1 | (y & 2) << 2
}

/// The column and row of the block's square.
#[inline(always)]
fn own_square(tier: &Tier) -> (u32, u32) {
    let (i, columns) = (thread::block_idx_x(), tier.grid().0);
    let row = i.checked_div(columns).unwrap_or(0);
    (i - row * columns, row)
}

/// Reduces each square of a tier to an element of the tier above, and counts its nodes. Grid: a block for each square,
/// row by row.
///
/// # Safety
/// `input` has the elements of the tier, `elements` room for one for each square; `counts` has the slots of the whole
/// plan. `binning` is [`Binning`]'s fields, and `steps` has `2^steps - 1` elements.
#[kernel(block = BLOCK, carve = |carver| Room::new(carver), instances(
    u8: <u8, Cells<u8>>;
    i16: <i16, Cells<i16>>;
    u16: <u16, Cells<u16>>;
    i32: <i32, Cells<i32>>;
    u32: <u32, Cells<u32>>;
    f32: <f32, Cells<f32>>;
    squares: <Summary, Squares>;
))]
pub unsafe fn reduce<E: Copy, S: Source<E>>(
    input: *const E,
    tier: [u32; 10],
    binning: [u32; 4],
    steps: *const u32,
    elements: *mut Summary,
    counts: *mut u32,
) {
    let room = Room::new(&mut Carver::new());
    let tier = Tier::of_words(tier);
    let place = own_square(&tier);
    // SAFETY: passed on to the caller; all threads of the block go the same way.
    unsafe {
        let square = Square::new::<E, S>(&tier, place, input, binning_of(binning), steps, &room);
        let nodes = room.sums.reduce(square.packed(&tier), 0, |a, b| a + b);
        if thread::thread_idx_x() == 0 {
            *elements.add(thread::block_idx_x() as usize) =
                square.whole.of_square(square.quadrants());
            let slots = tier.place(place.0, place.1);
            let count = |level: u32, count: u32| {
                if level >= tier.first_level {
                    *counts.add(tier.slot(slots, level) as usize) = count;
                }
            };
            count(0, bit(square.whole.has_values()));
            count(1, square.open_thirty_twos.count_ones());
            count(2, square.open_sixteens.count_ones());
            count(3, unpacked(nodes, 3));
            count(4, unpacked(nodes, 4));
            count(5, unpacked(nodes, 5));
            count(6, unpacked(nodes, 6));
        }
    }
}

#[inline(always)]
fn binning_of([nodata, has_nodata, first_bin, steps]: [u32; 4]) -> Binning {
    Binning { nodata, has_nodata, first_bin, steps }
}

/// Where a thread writes nodes.
struct Writer<E, S> {
    nodes: *mut u8,
    presence: *mut u8,
    kind: u32,
    room: u32,
    presence_room: u32,
    /// Where the tree's nodes begin, which links count from.
    base: u32,
    source: core::marker::PhantomData<(E, S)>,
}

impl<E: Copy, S: Source<E>> Writer<E, S> {
    /// Writes a node, whose children begin at `child`, counted from the first node of all trees; `mask` says which there
    /// are.
    #[inline(always)]
    unsafe fn put(&self, at: u32, summary: Summary, child: u32, mask: u32) {
        if at < self.room {
            let link = summary.link(child.wrapping_sub(self.base));
            // SAFETY: guarded; positions are one thread's each.
            unsafe { S::store(self.nodes, self.kind, at, (summary.min, summary.max), link) };
        }
        if at < self.presence_room {
            // SAFETY: guarded, likewise.
            unsafe {
                *self.presence.add(at as usize) = if summary.is_divided() { mask as u8 } else { 0 }
            };
        }
    }
}

/// Writes the nodes of each square of a tier that is divided; in the highest tier of all. Grid: a block for each square,
/// row by row.
///
/// # Safety
/// As for [`reduce`], which wrote `elements`; `starts` are the scanned counts, and `below` is the tier below, where
/// elements are squares. `nodes` has room for `room` nodes of cells of `kind`, `presence` for `presence_room` bytes.
#[kernel(block = BLOCK, carve = |carver| Room::new(carver), instances(
    u8: <u8, Cells<u8>>;
    i16: <i16, Cells<i16>>;
    u16: <u16, Cells<u16>>;
    i32: <i32, Cells<i32>>;
    u32: <u32, Cells<u32>>;
    f32: <f32, Cells<f32>>;
    squares: <Summary, Squares>;
))]
pub unsafe fn write<E: Copy, S: Source<E>>(
    input: *const E,
    tier: [u32; 10],
    below: [u32; 10],
    binning: [u32; 4],
    steps: *const u32,
    elements: *const Summary,
    starts: *const u32,
    kind: u32,
    nodes: *mut u8,
    room: u32,
    presence: *mut u8,
    presence_room: u32,
) {
    let shared = Room::new(&mut Carver::new());
    let (tier, below) = (Tier::of_words(tier), Tier::of_words(below));
    let (column, row) = own_square(&tier);
    // SAFETY: passed on to the caller; all threads of the block go the same way.
    unsafe {
        let own = *elements.add(thread::block_idx_x() as usize);
        if tier.is_top == 0 && !own.is_divided() {
            return;
        }
        let binning = binning_of(binning);
        let square = Square::new::<E, S>(&tier, (column, row), input, binning, steps, &shared);
        let slots = tier.place(column, row);
        let mut start = [0; LEVELS as usize + 1];
        let mut level = 0;
        while level <= LEVELS {
            if level >= tier.first_level {
                start[level as usize] = *starts.add(tier.slot(slots, level) as usize);
            }
            level += 1;
        }
        let base = *starts.add(slots.0 as usize * tier.tree_stride as usize);
        let writer = Writer::<E, S> {
            nodes,
            presence,
            kind,
            room,
            presence_room: if presence.is_null() { 0 } else { presence_room },
            base,
            source: core::marker::PhantomData,
        };
        let own = square.packed(&tier);
        let (until, _) = shared.scan.inclusive(own, 0, |a, b| a + b);
        let before = until - own;
        let child_of = |x: u32, y: u32| {
            let place = below.place(column * tier.side() + x, row * tier.side() + y);
            *starts.add(below.slot(place, 1) as usize)
        };
        square.write_patch(&tier, &writer, start, before, child_of);
        square.write_large(&tier, &writer, start, before);
    }
}

impl Square {
    /// Writes the thread's nodes of elements, of 2 x 2 and of 4 x 4.
    #[inline(always)]
    unsafe fn write_patch<E: Copy, S: Source<E>>(
        &self,
        tier: &Tier,
        writer: &Writer<E, S>,
        start: [u32; LEVELS as usize + 1],
        before: u64,
        child_of: impl Fn(u32, u32) -> u32,
    ) {
        let first = |level: usize| start[level] + unpacked(before, level);
        let (mut element, mut two) = (first(6), first(5));
        let (x0, y0) = morton::decode(thread::thread_idx_x() as u64);
        let writes = |level: u32| level >= tier.first_level;
        // SAFETY: the writer guards; places of elements are in the tier where these have values.
        unsafe {
            if self.is_four && writes(4) {
                writer.put(first(4), self.four, two, mask_of(self.twos));
            }
            let twos_are_nodes = divides(tier, 4, self.four);
            let mut i = 0;
            while i < 4 {
                let summary = self.twos[i];
                if twos_are_nodes && summary.has_values() {
                    if writes(5) {
                        writer.put(two, summary, element, self.element_masks[i]);
                    }
                    two += 1;
                }
                if divides(tier, 5, summary) {
                    let mut j = 0;
                    while j < 4 {
                        let own = self.patch[4 * i + j];
                        if own.has_values() {
                            let mut child = writer.base;
                            if !S::ARE_CELLS && own.is_divided() {
                                let (x, y) = ((i & 1) * 2 + (j & 1), (i & 2) + (j >> 1));
                                child = child_of(4 * x0 + x as u32, 4 * y0 + y as u32);
                            }
                            writer.put(element, own, child, own.quadrants());
                            element += 1;
                        }
                        j += 1;
                    }
                }
                i += 1;
            }
        }
    }

    /// Writes the nodes of 8 x 8 and larger, each by its first thread.
    #[inline(always)]
    unsafe fn write_large<E: Copy, S: Source<E>>(
        &self,
        tier: &Tier,
        writer: &Writer<E, S>,
        start: [u32; LEVELS as usize + 1],
        before: u64,
    ) {
        let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
        let first = |level: usize| start[level] + unpacked(before, level);
        let bits_before = |bits: u32, bit: u32| (bits & ((1 << bit) - 1)).count_ones();
        let writes = |level: u32| level >= tier.first_level;
        // SAFETY: the writer guards.
        unsafe {
            if self.is_eight && writes(3) {
                writer.put(first(3), self.eight, first(4), self.fours >> lane & 0xf);
            }
            let place = t / 16;
            if t & 15 == 0 && self.open_sixteens >> place & 1 != 0 && writes(2) {
                let at = start[2] + bits_before(self.open_sixteens, place);
                let mask = gathered(self.eights >> (lane & 16) & 0xffff);
                writer.put(at, self.sixteen, first(3), mask);
            }
            let place = t / 64 * 4;
            if t & 63 == 0 && self.open_thirty_twos >> place & 1 != 0 && writes(1) {
                let at = start[1] + bits_before(self.open_thirty_twos, place);
                let child = start[2] + bits_before(self.open_sixteens, place);
                writer.put(at, self.thirty_two, child, self.sixteens >> place & 0xf);
            }
            if t == 0 && tier.is_top != 0 && writes(0) && self.whole.has_values() {
                writer.put(start[0], self.whole, start[1], self.quadrants());
            }
        }
    }
}

const _: () = assert!(SIDE as usize == 16 * PATCH && BLOCK == 256);

device_std::ptx_module! { "ccq_build" }
