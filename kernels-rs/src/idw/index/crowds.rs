//! The points of crowded cells in the order of a curve, and the boxes of their runs ([`crowd`](crate::idw::crowd)).
//!
//! A block takes one crowded cell after the other, which [`sum_cells`](mod@super::pyramid::sum_cells) has listed; launched for
//! none it ends at once.
//!
//! 1. Its points are numbered along Hilbert's curve over the box of them all. These numbers, and below them the indices,
//!    are keys, no two of which are equal: so their order is one, however they are sorted.
//! 2. Keys are divided by their first byte, the parts by the next, until at most a [`TILE`] is left, which is sorted in
//!    shared memory.
//! 3. A warp finds the box of a short run from its points, and that of a long one from those.

use device_std::block::{BlockReduce, BlockScan};
use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, kernel, thread, warp};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::idw::crowd::{LONG, Runs, SHORT, first_box};
use crate::idw::plan::Curve;

/// Blocks at most: those that large devices have at once, about.
pub const MOST_BLOCKS: u32 = 1024;

/// Words of the list of crowded cells before the first of them: how many there are, and how many were taken.
pub const LIST_HEAD: u32 = 2;

/// Keys that are sorted in shared memory.
const TILE: u32 = 1024;

/// Values of a byte, as many as there are threads.
const DIGITS: u32 = BLOCK;

/// Parts that wait to be sorted: of each byte of a key at most as many as it has values.
const MOST_PARTS: u32 = 8 * DIGITS;

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Room {
    scan: BlockScan<u32>,
    reduce: BlockReduce<f64>,
    tile: SharedArray<u64>,
    /// How many keys have each value of a byte, and where the next of them goes.
    counts: SharedArray<u32>,
    cursors: SharedArray<u32>,
    /// Of the parts that wait: where each begins, how many keys it has, and below which bit these differ.
    parts: [SharedArray<u32>; 3],
    /// How many of them wait; and which cell the block takes.
    waiting: SharedArray<u32>,
    taken: SharedArray<u32>,
}

#[inline(always)]
const fn room(carver: &mut Carver) -> Room {
    Room {
        tile: carver.array(TILE),
        reduce: BlockReduce::new(carver, BLOCK as usize),
        scan: BlockScan::new(carver),
        counts: carver.array(DIGITS),
        cursors: carver.array(DIGITS),
        parts: [carver.array(MOST_PARTS), carver.array(MOST_PARTS), carver.array(MOST_PARTS)],
        waiting: carver.array(1),
        taken: carver.array(1),
    }
}

/// Bytes of it.
const ROOM_BYTES: u32 = {
    let mut carver = Carver::new();
    let _ = room(&mut carver);
    carver.bytes()
};

/// Brings the points of every listed cell into the order of a curve, in `order`, where they follow each other in the
/// order of their indices, and writes the boxes of their runs. Grid: at most [`MOST_BLOCKS`].
///
/// # Safety
/// `starts` are those of the plan's cells and `list` names some of them behind its head; `x`, `y`, `order`, `keys` and `others` have
/// `points` elements, `boxes` four for each of [`most_boxes`](crate::idw::crowd::most_boxes).
#[kernel(block = BLOCK, shared = ROOM_BYTES)]
pub unsafe fn order_crowds(
    starts: *const u32,
    x: *const f64,
    y: *const f64,
    points: u32,
    list: *mut u32,
    order: *mut u32,
    keys: *mut u64,
    others: *mut u64,
    boxes: *mut f64,
) {
    let room = room(&mut Carver::new());
    // SAFETY: passed on to the caller; the whole block takes the same cell.
    unsafe {
        while let Some(cell) = next(room, list) {
            let start = *starts.add(cell as usize);
            let count = *starts.add(cell as usize + 1) - start;
            let at = start as usize;
            let crowd = Crowd {
                x,
                y,
                count,
                order: order.add(at),
                keys: keys.add(at),
                others: others.add(at),
            };
            crowd.number(room);
            crowd.sort(room);
            crowd.write_boxes(Runs::of(start, count, SHORT), boxes);
            let first = first_box(points, LONG);
            write_long_boxes(
                boxes,
                Runs::of(start, count, SHORT),
                Runs::of(start, count, LONG),
                first,
            );
            thread::sync_threads();
        }
    }
}

/// The next cell of the list.
///
/// # Safety
/// The whole block comes to the same call.
#[inline(always)]
unsafe fn next(room: Room, list: *mut u32) -> Option<u32> {
    // SAFETY: passed on to the caller; what was taken is counted behind the list's length.
    unsafe {
        if thread::thread_idx_x() == 0 {
            room.taken.store(0, atomic::add_u32(list.add(1), 1));
        }
        thread::sync_threads();
        let taken = room.taken.load(0);
        thread::sync_threads();
        if taken < *list { Some(*list.add((LIST_HEAD + taken) as usize)) } else { None }
    }
}

/// The points of a cell.
#[derive(Clone, Copy)]
struct Crowd {
    x: *const f64,
    y: *const f64,
    count: u32,
    /// Which they are.
    order: *mut u32,
    keys: *mut u64,
    others: *mut u64,
}

impl Crowd {
    /// Point `i` of the cell.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn place(&self, i: u32) -> [f64; 2] {
        // SAFETY: passed on to the caller.
        unsafe {
            let point = *self.order.add(i as usize) as usize;
            [*self.x.add(point), *self.y.add(point)]
        }
    }

    /// Writes the keys.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn number(&self, room: Room) {
        let me = thread::thread_idx_x();
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        // SAFETY: points are below their number.
        unsafe {
            let mut i = me;
            while i < self.count {
                let [x, y] = self.place(i);
                low = [f64::min(low[0], x), f64::min(low[1], y)];
                high = [f64::max(high[0], x), f64::max(high[1], y)];
                i += BLOCK;
            }
            let low = low.map(|along| room.reduce.reduce(along, f64::INFINITY, f64::min));
            let high = high.map(|along| room.reduce.reduce(along, f64::NEG_INFINITY, f64::max));
            let curve = Curve::over([low[0], high[0]], [low[1], high[1]]);
            let mut i = me;
            while i < self.count {
                let [x, y] = self.place(i);
                let point = *self.order.add(i as usize) as u64;
                *self.keys.add(i as usize) = (curve.number(x, y) as u64) << 32 | point;
                i += BLOCK;
            }
            thread::sync_threads();
        }
    }

    /// Sorts the keys, and writes the points in their order.
    ///
    /// # Safety
    /// As for [`number`](Self::number), which has come before.
    #[inline(always)]
    unsafe fn sort(&self, room: Room) {
        let me = thread::thread_idx_x();
        // SAFETY: parts are of the keys; the whole block takes the same part.
        unsafe {
            if me == 0 {
                push(room, 0, 0, self.count, 64);
            }
            thread::sync_threads();
            let mut waiting = room.waiting.load(0);
            while waiting > 0 {
                let [from, count, bits] = room.parts.map(|of_parts| of_parts.load(waiting - 1));
                thread::sync_threads();
                if count <= TILE {
                    if me == 0 {
                        room.waiting.store(0, waiting - 1);
                    }
                    self.sort_tile(room, from, count);
                } else {
                    self.divide(room, from, count, bits - 8);
                    if me == 0 {
                        push_parts(room, waiting - 1, from, bits - 8);
                    }
                }
                thread::sync_threads();
                waiting = room.waiting.load(0);
            }
            let mut i = me;
            while i < self.count {
                *self.order.add(i as usize) = *self.keys.add(i as usize) as u32;
                i += BLOCK;
            }
            thread::sync_threads();
        }
    }

    /// Sorts at most a tile of keys, from one on, in shared memory: the bitonic sort (Batcher 1968,
    /// doi:10.1145/1468075.1468121).
    ///
    /// # Safety
    /// As for [`sort`](Self::sort); there are such keys.
    #[inline(always)]
    unsafe fn sort_tile(&self, room: Room, from: u32, count: u32) {
        let me = thread::thread_idx_x();
        let whole = count.next_power_of_two();
        // SAFETY: passed on to the caller; barriers stand between the steps.
        unsafe {
            let mut i = me;
            while i < whole {
                let key = if i < count { *self.keys.add((from + i) as usize) } else { u64::MAX };
                room.tile.store(i, key);
                i += BLOCK;
            }
            thread::sync_threads();
            let mut size = 2;
            while size <= whole {
                let mut stride = size / 2;
                while stride > 0 {
                    let mut pair = me;
                    while pair < whole / 2 {
                        let low = 2 * pair - (pair & (stride - 1));
                        let (a, b) = (room.tile.load(low), room.tile.load(low + stride));
                        if (a > b) == (low & size == 0) {
                            room.tile.store(low, b);
                            room.tile.store(low + stride, a);
                        }
                        pair += BLOCK;
                    }
                    thread::sync_threads();
                    stride /= 2;
                }
                size *= 2;
            }
            let mut i = me;
            while i < count {
                *self.keys.add((from + i) as usize) = room.tile.load(i);
                i += BLOCK;
            }
        }
    }

    /// Brings keys into the order of the byte from bit `bit` on, and counts those of each value.
    ///
    /// # Safety
    /// As for [`sort_tile`](Self::sort_tile).
    #[inline(always)]
    unsafe fn divide(&self, room: Room, from: u32, count: u32, bit: u32) {
        let me = thread::thread_idx_x();
        let digit = |key: u64| (key >> bit) as u32 & (DIGITS - 1);
        // SAFETY: passed on to the caller; barriers stand between the steps.
        unsafe {
            room.counts.store(me, 0);
            thread::sync_threads();
            let mut i = me;
            while i < count {
                room.counts.atomic_add(digit(*self.keys.add((from + i) as usize)), 1);
                i += BLOCK;
            }
            thread::sync_threads();
            let mine = room.counts.load(me);
            let (up_to, _) = room.scan.inclusive(mine, 0, |a, b| a + b);
            room.cursors.store(me, from + up_to - mine);
            thread::sync_threads();
            let mut i = me;
            while i < count {
                let key = *self.keys.add((from + i) as usize);
                let to = room.cursors.atomic_add(digit(key), 1);
                *self.others.add(to as usize) = key;
                i += BLOCK;
            }
            thread::sync_threads();
            let mut i = me;
            while i < count {
                *self.keys.add((from + i) as usize) = *self.others.add((from + i) as usize);
                i += BLOCK;
            }
        }
    }

    /// Writes the boxes of runs.
    ///
    /// # Safety
    /// As for [`sort`](Self::sort), which has come before; there is room for the boxes.
    #[inline(always)]
    unsafe fn write_boxes(&self, runs: Runs, boxes: *mut f64) {
        let mut i = warp::warp_id();
        let [start, _] = runs.run(0);
        // SAFETY: passed on to the caller; the warp stays together.
        unsafe {
            while i < runs.count {
                let [from, points] = runs.run(i);
                let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
                let mut point = warp::lane_id();
                while point < points {
                    let [x, y] = self.place(from - start + point);
                    low = [f64::min(low[0], x), f64::min(low[1], y)];
                    high = [f64::max(high[0], x), f64::max(high[1], y)];
                    point += warp::SIZE;
                }
                write_box(boxes, runs.first + i, low, high);
                i += BLOCK / warp::SIZE;
            }
            thread::sync_threads();
        }
    }
}

/// Writes the boxes of long runs, of those of short ones.
///
/// # Safety
/// The whole block comes to the same call; there are such boxes, and room for the long runs' from the first on.
#[inline(always)]
unsafe fn write_long_boxes(boxes: *mut f64, short: Runs, long: Runs, first: u32) {
    let of_run = LONG / SHORT;
    let mut i = warp::warp_id();
    // SAFETY: passed on to the caller; the warp stays together.
    unsafe {
        while i < long.count {
            let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
            let end = if i + 1 == long.count { short.count } else { (i + 1) * of_run };
            let mut run = i * of_run + warp::lane_id();
            while run < end {
                let of_box = boxes.add(4 * (short.first + run) as usize);
                low = [f64::min(low[0], *of_box), f64::min(low[1], *of_box.add(1))];
                high = [f64::max(high[0], *of_box.add(2)), f64::max(high[1], *of_box.add(3))];
                run += warp::SIZE;
            }
            write_box(boxes, first + long.first + i, low, high);
            i += BLOCK / warp::SIZE;
        }
    }
}

/// Writes a box around those of the lanes.
///
/// # Safety
/// The whole warp comes to the same call; there is room for the box.
#[inline(always)]
unsafe fn write_box(boxes: *mut f64, number: u32, low: [f64; 2], high: [f64; 2]) {
    // SAFETY: passed on to the caller; one lane writes.
    unsafe {
        let low = low.map(|along| warp::reduce(along, f64::min));
        let high = high.map(|along| warp::reduce(along, f64::max));
        if warp::lane_id() == 0 {
            let to = boxes.add(4 * number as usize);
            (*to, *to.add(1)) = (low[0], low[1]);
            (*to.add(2), *to.add(3)) = (high[0], high[1]);
        }
    }
}

/// Lets a part wait behind `waiting` others.
///
/// # Safety
/// One thread comes here; there is room.
#[inline(always)]
unsafe fn push(room: Room, waiting: u32, from: u32, count: u32, bits: u32) {
    let [starts, counts, below] = room.parts;
    // SAFETY: passed on to the caller.
    unsafe {
        starts.store(waiting, from);
        counts.store(waiting, count);
        below.store(waiting, bits);
        room.waiting.store(0, waiting + 1);
    }
}

/// Lets the parts that [`Crowd::divide`] has made wait: small ones that follow each other as one.
///
/// # Safety
/// As for [`push`].
#[inline(always)]
unsafe fn push_parts(room: Room, waiting: u32, from: u32, bits: u32) {
    let (mut waiting, mut from, mut count, mut digit) = (waiting, from, 0, 0);
    // SAFETY: passed on to the caller.
    unsafe {
        while digit <= DIGITS {
            let of_digit = if digit < DIGITS { room.counts.load(digit) } else { TILE + 1 };
            if count + of_digit > TILE {
                if count > 0 {
                    push(room, waiting, from, count, bits);
                    waiting += 1;
                }
                from += count;
                count = 0;
            }
            if of_digit > TILE && digit < DIGITS {
                push(room, waiting, from, of_digit, bits);
                waiting += 1;
                from += of_digit;
            } else {
                count += of_digit;
            }
            digit += 1;
        }
        room.waiting.store(0, waiting);
    }
}
