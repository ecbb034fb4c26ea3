//! The totals of segments that offsets name: crate `gpu-scan`.
//!
//! Nothing that a segment's total depends on lies outside it, so segments need not wait for each
//! other. The plan:
//!
//! 1. A group of lanes, from one to a whole warp (so many as segments are long, in the mean), takes
//!    a segment. Each lane adds up every so-manieth element; then the lanes are combined pairwise.
//! 2. A segment that is much longer than the mean would keep its group busy while others rest: the
//!    group puts it on a list instead. Where an array could have such segments, a second kernel cuts
//!    what is on the list into chunks, and blocks reduce them.
//! 3. A third kernel combines the chunks of segments that have several.
//!
//! In which order segments come to the list is left to chance; their totals do not depend on it.
//!
//! Offsets are the caller's and may be anything: whoever reads them clamps them ([`bounds`]), so that a
//! segment has elements of the array alone. Segments that overlap may be more and longer than the list
//! and the counters have room for. Then some totals are of no use, but nothing else is read or written:
//! an entry of the list that was left out is zero, which is one of segment 0.

use device_std::scalar::Scalar;
use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, kernel, thread, warp};

pub use crate::block_reduce::BLOCK;
use crate::block_reduce::{WARPS, reduce_block};
use crate::operators::{Least, Operator, Sum};

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

/// Where a segment lies: offsets that do not rise, or beyond the array, name no element outside it.
#[inline(always)]
unsafe fn bounds(offsets: *const u64, segment: u64, len: u64) -> (u64, u64) {
    // SAFETY: passed on to the caller.
    let (begin, end) =
        unsafe { (*offsets.add(segment as usize), *offsets.add(segment as usize + 1)) };
    let end = u64::min(end, len);
    (u64::min(begin, end), end)
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
type Entry = [u64; 2];

/// Bytes of shared memory of the kernels over chunks.
#[cfg(not(target_arch = "nvptx64"))]
const fn shared_bytes<T: Scalar>() -> u32 {
    let mut carver = Carver::new();
    let _: SharedArray<T> = carver.array(WARPS as u32);
    carver.bytes()
}

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

/// Reduces a segment by each group of lanes, or puts it on the list.
#[inline(always)]
unsafe fn by_groups<T: Scalar, O: Operator<T>>(
    operator: O,
    (input, len): (*const T, u64),
    (offsets, segments): (*const u64, u64),
    lanes_log2: u32,
    (listed, list): (*mut u64, *mut Entry),
    totals: *mut T,
) {
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
    let (mut low, mut high) = (0, entries - 1);
    while low < high {
        let middle = high - (high - low) / 2;
        // SAFETY: the caller's list has so many entries.
        if unsafe { (*list.add(middle as usize))[1] } <= chunk {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Reduces the chunks of the segments on the list: to the total where a segment has one.
#[inline(always)]
unsafe fn by_chunks<T: Scalar, O: Operator<T>>(
    operator: O,
    (input, len, lanes_log2): (*const T, u64, u32),
    offsets: *const u64,
    (listed, list): (*const u64, *const Entry),
    partials: *mut T,
    totals: *mut T,
) {
    let values: SharedArray<T> = Carver::new().array(WARPS as u32);
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
            let sum = reduce_block(values, sum, operator.identity(), combine);
            if me == 0 && end - begin <= CHUNK {
                *totals.add(segment as usize) = operator.lower(sum);
            } else if me == 0 {
                *partials.add(chunk as usize) = sum;
            }
            chunk += thread::grid_dim_x() as u64;
        }
    }
}

/// Combines the chunks of the segments on the list that have several.
#[inline(always)]
unsafe fn join_chunks<T: Scalar, O: Operator<T>>(
    operator: O,
    (len, lanes_log2): (u64, u32),
    offsets: *const u64,
    (listed, list): (*const u64, *const Entry),
    partials: *const T,
    totals: *mut T,
) {
    let values: SharedArray<T> = Carver::new().array(WARPS as u32);
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
                let sum = reduce_block(values, sum, operator.identity(), combine);
                if me == 0 {
                    *totals.add(segment as usize) = operator.lower(sum);
                }
            }
            entry += thread::grid_dim_x() as u64;
        }
    }
}

/// The kernels that reduce segments.
#[cfg(not(target_arch = "nvptx64"))]
pub trait SegmentReduces<T: Copy>: Operator<T> {
    /// By groups of lanes.
    const BY_GROUPS: device_std::host::Kernel<GroupArguments<T>>;
    /// Chunks of the segments on the list.
    const BY_CHUNKS: device_std::host::Kernel<ChunkArguments<T>>;
    /// Puts the chunks together.
    const JOIN_CHUNKS: device_std::host::Kernel<JoinArguments<T>>;
    /// Bytes of shared memory of the kernels over chunks.
    const SHARED: u32;
}

/// What [`SegmentReduces::BY_GROUPS`] takes: input and length, offsets, segments, lanes of a group as a power
/// of two, the operator's parameters, what is listed, the list, totals.
#[cfg(not(target_arch = "nvptx64"))]
pub type GroupArguments<T> =
    (*const T, u64, *const u64, u64, u32, u64, u64, u64, u64, *mut u64, *mut Entry, *mut T);

/// What [`SegmentReduces::BY_CHUNKS`] takes: input and length, lanes of a group
/// as before, offsets, the operator's parameters, what is
/// listed, the list, totals of chunks, totals.
#[cfg(not(target_arch = "nvptx64"))]
pub type ChunkArguments<T> =
    (*const T, u64, u32, *const u64, u64, u64, u64, u64, *const u64, *const Entry, *mut T, *mut T);

/// What [`SegmentReduces::JOIN_CHUNKS`] takes: as the chunks, without the input.
#[cfg(not(target_arch = "nvptx64"))]
pub type JoinArguments<T> =
    (u64, u32, *const u64, u64, u64, u64, u64, *const u64, *const Entry, *const T, *mut T);

macro_rules! totals {
    ($($groups:ident, $chunks:ident, $join:ident: $type:ty, $operator:ty;)+) => {
        $(
            /// Reduces segments by groups of lanes. Grid: a thread for each lane.
            ///
            /// # Safety
            /// `input` has `len` elements, `offsets` `segments + 1`, whatever these are; `totals` has
            /// one for each segment. `listed` and `list` are zero, and `list` has the room that
            /// [`most_listed`] says; both may be null where it says none.
            #[kernel(block = 256, resident = 3)]
            pub unsafe fn $groups(
                input: *const $type,
                len: u64,
                offsets: *const u64,
                segments: u64,
                lanes_log2: u32,
                parameter_0: u64,
                parameter_1: u64,
                parameter_2: u64,
                parameter_3: u64,
                listed: *mut u64,
                list: *mut Entry,
                totals: *mut $type,
            ) {
                let parameters = [parameter_0, parameter_1, parameter_2, parameter_3];
                let operator = <$operator as Operator<$type>>::new(parameters);
                let (segments, list) = ((offsets, segments), (listed, list));
                // SAFETY: passed on to the caller.
                unsafe { by_groups(operator, (input, len), segments, lanes_log2, list, totals) }
            }
            /// Reduces the chunks of listed segments. Grid: any.
            ///
            /// # Safety
            /// After the kernel by groups, with its arrays; `partials` has an element for each chunk.
            #[kernel(block = 256, resident = 4)]
            pub unsafe fn $chunks(
                input: *const $type,
                len: u64,
                lanes_log2: u32,
                offsets: *const u64,
                parameter_0: u64,
                parameter_1: u64,
                parameter_2: u64,
                parameter_3: u64,
                listed: *const u64,
                list: *const Entry,
                partials: *mut $type,
                totals: *mut $type,
            ) {
                let parameters = [parameter_0, parameter_1, parameter_2, parameter_3];
                let operator = <$operator as Operator<$type>>::new(parameters);
                // SAFETY: passed on to the caller.
                unsafe {
                    let input = (input, len, lanes_log2);
                    by_chunks(operator, input, offsets, (listed, list), partials, totals)
                }
            }
            /// Combines the chunks of listed segments. Grid: any.
            ///
            /// # Safety
            /// After the kernel over chunks, with its arrays.
            #[kernel(block = 256, resident = 4)]
            pub unsafe fn $join(
                len: u64,
                lanes_log2: u32,
                offsets: *const u64,
                parameter_0: u64,
                parameter_1: u64,
                parameter_2: u64,
                parameter_3: u64,
                listed: *const u64,
                list: *const Entry,
                partials: *const $type,
                totals: *mut $type,
            ) {
                let parameters = [parameter_0, parameter_1, parameter_2, parameter_3];
                let operator = <$operator as Operator<$type>>::new(parameters);
                // SAFETY: passed on to the caller.
                unsafe {
                    let len = (len, lanes_log2);
                    join_chunks(operator, len, offsets, (listed, list), partials, totals)
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            impl SegmentReduces<$type> for $operator {
                const BY_GROUPS: device_std::host::Kernel<GroupArguments<$type>> = $groups;
                const BY_CHUNKS: device_std::host::Kernel<ChunkArguments<$type>> = $chunks;
                const JOIN_CHUNKS: device_std::host::Kernel<JoinArguments<$type>> = $join;
                const SHARED: u32 = shared_bytes::<$type>();
            }
        )+
        device_std::ptx_module! { "segment_totals": $($groups, $chunks, $join),+ }
    };
}

totals! {
    segment_sums_u8, chunk_sums_u8, join_sums_u8: u8, Sum;
    segment_sums_u16, chunk_sums_u16, join_sums_u16: u16, Sum;
    segment_sums_u32, chunk_sums_u32, join_sums_u32: u32, Sum;
    segment_sums_u64, chunk_sums_u64, join_sums_u64: u64, Sum;
    segment_sums_f32, chunk_sums_f32, join_sums_f32: f32, Sum;
    segment_sums_f64, chunk_sums_f64, join_sums_f64: f64, Sum;
    segment_leasts_u8, chunk_leasts_u8, join_leasts_u8: u8, Least<u8>;
    segment_leasts_u16, chunk_leasts_u16, join_leasts_u16: u16, Least<u16>;
    segment_leasts_u32, chunk_leasts_u32, join_leasts_u32: u32, Least<u32>;
    segment_leasts_u64, chunk_leasts_u64, join_leasts_u64: u64, Least<u64>;
}
