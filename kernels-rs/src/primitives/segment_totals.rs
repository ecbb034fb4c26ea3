//! The totals of segments that offsets name: crate `gpu-scan`.
//!
//! Nothing that a segment's total depends on lies outside it, so segments need not wait for each
//! other. The plan:
//!
//! 1. A group of lanes, from one to a whole warp (the longer segments are in the mean, the more),
//!    takes a segment. Each lane adds up the elements that many apart; then the lanes are combined
//!    pairwise.
//! 2. A segment that is much longer than the mean would keep its group busy while others rest: the
//!    group puts it on a list instead. Where an array could have such segments, a second kernel cuts
//!    what is on the list into chunks, and blocks reduce them.
//! 3. A third kernel combines the chunks of segments that have several.
//!
//! In which order segments come to the list is left to chance; their totals do not depend on it.
//!
//! Offsets are the caller's and may be anything: whoever reads them clamps them (`offsets::bounds`), so that a
//! segment has elements of the array alone. Segments that overlap may be more and longer than the list
//! and the counters have room for. Then some totals are of no use, but nothing else is read or written:
//! an entry of the list that was left out is zero, which is one of segment 0.

use device_std::block::BlockReduce;
use device_std::scalar::Scalar;
use device_std::shared::Carver;
use device_std::{atomic, kernel, search, thread, warp};

use super::offsets::bounds;
use super::operators::{Least, Operator, Sum};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Elements that a thread reads side by side.
const READS: u64 = 8;

/// The most elements of a lane: longer segments come to the list.
const MOST_OF_LANE: u64 = 512;

/// Elements of a chunk of a segment on the list.
pub const CHUNK: u64 = 16_384;

/// Lanes of a group, as a power of two: a quarter of the mean length, at most a warp.
pub const fn lanes_log2(len: u64, segments: u64) -> u32 {
    let mut log2 = 0;
    while log2 < 5 && len > (segments << log2) * 4 {
        log2 += 1;
    }
    log2
}

/// The most elements of a segment that a group of lanes takes.
#[inline(always)]
pub const fn most_of_group(lanes_log2: u32) -> u64 {
    MOST_OF_LANE << lanes_log2
}

/// How many segments the list may have, and how many chunks they have together.
pub const fn most_listed(len: u64, lanes_log2: u32) -> (u64, u64) {
    let entries = len / (most_of_group(lanes_log2) + 1);
    (entries, entries + len / CHUNK)
}

/// What is on the list, as far as there is room: more comes only where offsets do not rise, so much
/// more perhaps that the counters went round.
#[inline(always)]
unsafe fn listed_in(listed: *const u64, len: u64, lanes_log2: u32) -> (u64, u64) {
    let (entries, chunks) = most_listed(len, lanes_log2);
    // SAFETY: passed on to the caller.
    let listed = unsafe { *listed };
    let entries = u64::min(listed >> ENTRIES, entries);
    let chunks = u64::min(listed & ((1 << ENTRIES) - 1), chunks);
    (entries, if entries == 0 { 0 } else { chunks })
}

/// The segments on the list and their chunks, counted in one word, so that they rise together.
const ENTRIES: u32 = 32;

/// A segment on the list: its number, and its first chunk among those of all.
pub type Entry = [u64; 2];

/// The combination of the elements `first`, `first + step`, .. below `end`, one after the other.
#[inline(always)]
unsafe fn add_up<T: Scalar, O: Operator<T>>(
    operator: O,
    input: *const T,
    (first, end): (u64, u64),
    step: u64,
) -> T {
    let fill = operator.lower(operator.identity());
    let mut sum = operator.identity();
    let mut at = first;
    while at < end {
        let mut elements = [fill; READS as usize];
        let mut i = 0;
        while i < READS {
            let next = at + i * step;
            if next < end {
                // SAFETY: passed on to the caller.
                elements[i as usize] = unsafe { *input.wrapping_add(next as usize) };
            }
            i += 1;
        }
        let mut i = 0;
        while i < READS {
            // What is beyond the end is the identity, which changes nothing.
            sum = operator.combine(sum, operator.lift(elements[i as usize]));
            i += 1;
        }
        at += READS * step;
    }
    sum
}

/// Reduces a segment by each group of lanes, or puts it on the list. Grid: a thread for each lane.
///
/// # Safety
/// `input` has `len` elements, `offsets` `segments + 1`, whatever these are; `totals` has one for each
/// segment. `listed` and `list` are zero, and `list` has the room that [`most_listed`] says; both may
/// be null where it says none.
#[kernel(block = BLOCK, resident = 3, instances(
    sum_u8: <u8, Sum>; sum_u16: <u16, Sum>; sum_u32: <u32, Sum>; sum_u64: <u64, Sum>;
    sum_f32: <f32, Sum>; sum_f64: <f64, Sum>;
    least_u8: <u8, Least<u8>>; least_u16: <u16, Least<u16>>;
    least_u32: <u32, Least<u32>>; least_u64: <u64, Least<u64>>;
))]
pub unsafe fn by_groups<T: Scalar, O: Operator<T>>(
    input: *const T,
    len: u64,
    offsets: *const u64,
    segments: u64,
    lanes_log2: u32,
    parameters: [u64; 4],
    listed: *mut u64,
    list: *mut Entry,
    totals: *mut T,
) {
    let operator = O::new(parameters);
    let segment = thread::index_1d() >> lanes_log2;
    let lane = thread::index_1d() & ((1 << lanes_log2) - 1);
    let exists = segment < segments;
    // SAFETY: the caller's arrays are as long as said; the whole warp comes to the shuffles.
    unsafe {
        let (mut begin, mut end) = (0, 0);
        if exists {
            (begin, end) = bounds(offsets, segment, len);
        }
        let is_long = end.saturating_sub(begin) > most_of_group(lanes_log2);
        if is_long && lane == 0 {
            let chunks = (end - begin).div_ceil(CHUNK);
            let before = atomic::add_u64(listed, 1 << ENTRIES | chunks);
            let first_chunk = before & ((1 << ENTRIES) - 1);
            if before >> ENTRIES < most_listed(len, lanes_log2).0 {
                *list.add((before >> ENTRIES) as usize) = [segment, first_chunk];
            }
        }
        let end_of_group = if is_long { begin } else { end };
        let mut sum = add_up(operator, input, (begin + lane, end_of_group), 1 << lanes_log2);
        warp::sync_warp(warp::FULL);
        let mut delta = 1;
        while delta < 1 << lanes_log2 {
            sum = operator.combine(sum, warp::shuffle_down(warp::FULL, sum, delta));
            delta *= 2;
        }
        if exists && !is_long && lane == 0 {
            *totals.add(segment as usize) = operator.lower(sum);
        }
    }
}

/// The entry of the list that has a chunk.
#[inline(always)]
unsafe fn entry_of(list: *const Entry, entries: u64, chunk: u64) -> u64 {
    // SAFETY: the caller's list has these entries.
    search::last(0, entries - 1, |entry| unsafe { (*list.add(entry as usize))[1] } <= chunk)
}

/// Reduces the chunks of the segments on the list: to the total where a segment has one. Grid: any.
///
/// # Safety
/// After [`mod@by_groups`], with its arrays; `partials` has an element for each chunk.
#[kernel(block = BLOCK, resident = 4, carve = |carver| BlockReduce::<T>::new(carver, BLOCK), instances(
    sum_u8: <u8, Sum>; sum_u16: <u16, Sum>; sum_u32: <u32, Sum>; sum_u64: <u64, Sum>;
    sum_f32: <f32, Sum>; sum_f64: <f64, Sum>;
    least_u8: <u8, Least<u8>>; least_u16: <u16, Least<u16>>;
    least_u32: <u32, Least<u32>>; least_u64: <u64, Least<u64>>;
))]
pub unsafe fn by_chunks<T: Scalar, O: Operator<T>>(
    input: *const T,
    len: u64,
    lanes_log2: u32,
    offsets: *const u64,
    parameters: [u64; 4],
    listed: *const u64,
    list: *const Entry,
    partials: *mut T,
    totals: *mut T,
) {
    let operator = O::new(parameters);
    let block = BlockReduce::<T>::new(&mut Carver::new(), BLOCK);
    let me = thread::thread_idx_x() as u64;
    // SAFETY: the caller's arrays are as long as said; the whole block turns as often.
    unsafe {
        let (entries, chunks) = listed_in(listed, len, lanes_log2);
        let mut chunk = thread::block_idx_x() as u64;
        while chunk < chunks {
            let [segment, first_chunk] = *list.add(entry_of(list, entries, chunk) as usize);
            let (begin, end) = bounds(offsets, segment, len);
            // Whatever the list holds, what is read lies before the end, and that in the array.
            let first = begin.wrapping_add(chunk.wrapping_sub(first_chunk).wrapping_mul(CHUNK));
            let of_chunk = (first.saturating_add(me), u64::min(first.saturating_add(CHUNK), end));
            let sum = add_up(operator, input, of_chunk, BLOCK as u64);
            let combine = |a, b| operator.combine(a, b);
            let sum = block.reduce(sum, operator.identity(), combine);
            if me == 0 && end - begin <= CHUNK {
                *totals.add(segment as usize) = operator.lower(sum);
            } else if me == 0 {
                *partials.add(chunk as usize) = sum;
            }
            chunk += thread::grid_dim_x() as u64;
        }
    }
}

/// Combines the chunks of the segments on the list that have several. Grid: any.
///
/// # Safety
/// After [`mod@by_chunks`], with its arrays.
#[kernel(block = BLOCK, resident = 4, carve = |carver| BlockReduce::<T>::new(carver, BLOCK), instances(
    sum_u8: <u8, Sum>; sum_u16: <u16, Sum>; sum_u32: <u32, Sum>; sum_u64: <u64, Sum>;
    sum_f32: <f32, Sum>; sum_f64: <f64, Sum>;
    least_u8: <u8, Least<u8>>; least_u16: <u16, Least<u16>>;
    least_u32: <u32, Least<u32>>; least_u64: <u64, Least<u64>>;
))]
pub unsafe fn join_chunks<T: Scalar, O: Operator<T>>(
    len: u64,
    lanes_log2: u32,
    offsets: *const u64,
    parameters: [u64; 4],
    listed: *const u64,
    list: *const Entry,
    partials: *const T,
    totals: *mut T,
) {
    let operator = O::new(parameters);
    let block = BlockReduce::<T>::new(&mut Carver::new(), BLOCK);
    let me = thread::thread_idx_x() as u64;
    // SAFETY: the caller's arrays are as long as said; the whole block turns as often.
    unsafe {
        let (entries, all_chunks) = listed_in(listed, len, lanes_log2);
        let mut entry = thread::block_idx_x() as u64;
        while entry < entries {
            let [segment, first_chunk] = *list.add(entry as usize);
            let (begin, end) = bounds(offsets, segment, len);
            let chunks = (end - begin).div_ceil(CHUNK);
            let chunks = u64::min(chunks, all_chunks.saturating_sub(first_chunk));
            if end - begin > CHUNK {
                let mut sum = operator.identity();
                let mut chunk = me;
                while chunk < chunks {
                    let partial = *partials.add((first_chunk + chunk) as usize);
                    sum = operator.combine(sum, partial);
                    chunk += BLOCK as u64;
                }
                let combine = |a, b| operator.combine(a, b);
                let sum = block.reduce(sum, operator.identity(), combine);
                if me == 0 {
                    *totals.add(segment as usize) = operator.lower(sum);
                }
            }
            entry += thread::grid_dim_x() as u64;
        }
    }
}

/// The operators that segments are reduced by, over elements of one type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait SegmentReduces<T: Copy>:
    Operator<T> + by_groups::Instance<T> + by_chunks::Instance<T> + join_chunks::Instance<T>
{
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T: Copy, O> SegmentReduces<T> for O where
    O: Operator<T> + by_groups::Instance<T> + by_chunks::Instance<T> + join_chunks::Instance<T>
{
}

device_std::ptx_module! { "segment_totals" }
