//! The totals of segments that offsets name: crate `gpu-scan`.
//!
//! A segment's total depends on nothing outside the segment, so segments need not wait for each other. The plan:
//!
//! 1. A group of lanes takes a segment. The group has from one lane to a whole warp, more if the mean segment is
//!    longer. Each lane adds up every n-th element, where n is the number of lanes; then the lanes are combined
//!    pairwise.
//! 2. A segment that is much longer than the mean would keep its group busy while others rest. It counts as long, and
//!    is cut into chunks for blocks. The block that finishes the last chunk of a segment combines the segment's chunks.
//!
//! The number of segments decides how long ones are found. If segments are few, each block that takes chunks reads all
//! of their offsets and counts their chunks, so all blocks number the chunks in the same way. Groups and chunks then
//! run side by side, in one launch ([`mod@reduce_few`]). If segments are many, the groups list the long ones
//! ([`mod@by_groups`]), and a second kernel takes their chunks ([`mod@by_chunks`]). The order of the list is left to
//! chance; the totals do not depend on it.
//!
//! The caller's offsets may be anything. Every reader clamps them (`Offsets::bounds`), so a segment has elements of the
//! array alone. Segments that overlap may have more chunks than the arrays hold. Segments with chunks beyond that are
//! left out whole, and their totals stay as they were.

use device_std::block::{BlockReduce, BlockScan, LastBlock};
use device_std::scalar::Scalar;
use device_std::shared::{Carver, Plain, SharedArray};
use device_std::warp::Word;
use device_std::{In, Out, arguments, kernel, search, thread, warp};

use super::offsets::Offsets;
use super::operators::{Least, Operator, Sum};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Elements that a thread has in flight at once: of a chunk, or of one segment among many.
const READS: usize = 8;

/// The same for one segment among few, where threads are too few to hide the wait for memory.
const READS_OF_FEW: usize = 16;

/// The most elements of a lane: longer segments are cut into chunks.
const MAX_OF_LANE: u64 = 512;

/// Elements of a chunk of a long segment.
pub const CHUNK: u64 = 16_384;

/// The most segments that count as few: each block that takes chunks reads all of them.
pub const MAX_FEW: u64 = 4096;

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
    MAX_OF_LANE << lanes_log2
}

/// How many segments may be long, and how many chunks they have together.
pub const fn most_long(len: u64, lanes_log2: u32) -> (u64, u64) {
    let entries = len / (most_of_group(lanes_log2) + 1);
    (entries, if entries == 0 { 0 } else { entries + len / CHUNK })
}

/// The combination of the elements `first`, `first + step`, .. below `end`, one after the other.
#[inline(always)]
fn add_up<T: Scalar, O: Operator<T>, const READS: usize>(
    operator: O,
    input: In<T>,
    (first, end): (u64, u64),
    step: u64,
) -> T {
    let fill = operator.lower(operator.identity());
    let mut sum = operator.identity();
    let mut at = first;
    while at < end {
        let mut elements = [fill; READS];
        let mut i = 0;
        while i < READS {
            let next = at + i as u64 * step;
            if next < end {
                elements[i] = input.get(next);
            }
            i += 1;
        }
        let mut i = 0;
        while i < READS {
            // Elements beyond the end are the identity, which changes nothing.
            sum = operator.combine(sum, operator.lift(elements[i]));
            i += 1;
        }
        at += READS as u64 * step;
    }
    sum
}

/// The segments of an array.
#[arguments]
pub struct Input<'a, T> {
    /// `len` of them.
    pub elements: In<'a, T>,
    /// How many there are.
    pub len: u64,
    /// Where segments begin; these may be anything.
    pub offsets: Offsets<'a>,
    /// Lanes of a group, as a power of two.
    pub lanes_log2: u32,
    /// The parameters of the operator.
    pub parameters: [u64; 4],
}

/// The chunks of long segments.
#[arguments]
pub struct Chunks<'a, T> {
    /// The combination of each chunk's elements: one element for each chunk.
    pub partials: Out<'a, T>,
    /// How many chunks of a segment are done: all zero, before a launch and after it, and used by nobody but launches
    /// that follow each other.
    pub done: Out<'a, u32>,
}

/// The segments of an array, and where their totals go.
#[derive(Clone, Copy)]
struct Segments<'a, T, O> {
    operator: O,
    input: Input<'a, T>,
    totals: Out<'a, T>,
}

impl<'a, T: Scalar, O: Operator<T>> Segments<'a, T, O> {
    #[inline(always)]
    fn new(input: Input<'a, T>, totals: Out<'a, T>) -> Self {
        Self { operator: O::new(input.parameters), input, totals }
    }

    /// Where a segment lies.
    #[inline(always)]
    fn bounds(&self, segment: u64) -> (u64, u64) {
        self.input.offsets.bounds(segment, self.input.len)
    }

    /// Reduces one segment by each group of lanes, except long segments. Returns this group's segment and, if it is
    /// long, its number of chunks, else 0. `thread` counts from the first lane of segment 0 on.
    #[inline(always)]
    unsafe fn reduce_by_group<const READS: usize>(&self, thread: u64) -> (u64, u64) {
        let (operator, lanes_log2) = (self.operator, self.input.lanes_log2);
        let segment = thread >> lanes_log2;
        let lane = thread & ((1 << lanes_log2) - 1);
        let exists = segment < self.input.offsets.segments;
        let (mut begin, mut end) = (0, 0);
        if exists {
            (begin, end) = self.bounds(segment);
        }
        let chunks = chunks_of((begin, end), lanes_log2);
        let end_of_group = if chunks > 0 { begin } else { end };
        let of_lane = (begin + lane, end_of_group);
        let elements = self.input.elements;
        let mut sum = add_up::<T, O, READS>(operator, elements, of_lane, 1 << lanes_log2);
        // SAFETY: the whole warp comes to the shuffles, by the caller's promise.
        unsafe {
            warp::sync_warp(warp::FULL);
            let mut delta = 1;
            while delta < 1 << lanes_log2 {
                sum = operator.combine(sum, warp::shuffle_down(warp::FULL, sum, delta));
                delta *= 2;
            }
        }
        if exists && chunks == 0 && lane == 0 {
            self.totals.set(segment, operator.lower(sum));
        }
        (segment, chunks)
    }

    /// Reduces a chunk of a long segment; the block that finishes last with a chunk of the segment combines them. Does
    /// nothing if the segment has no such chunk, or has chunks beyond the `most` that the arrays hold.
    ///
    /// # Safety
    /// The whole block comes here with the same arguments. `done` counts the segment's chunks, and `partials` has an
    /// element for each chunk up to `most`.
    #[inline(always)]
    unsafe fn reduce_chunk(
        &self,
        (segment, first_chunk): (u64, u64),
        chunk: u64,
        (partials, most): (Out<T>, u64),
        done: Out<u32>,
        shared: Shared<T>,
    ) {
        let operator = self.operator;
        let me = thread::thread_idx_x() as u64;
        let combine = |a, b| operator.combine(a, b);
        // SAFETY: the whole block comes to each reduction, by the caller's promise.
        unsafe {
            let (begin, end) = self.bounds(segment);
            let chunks = chunks_of((begin, end), self.input.lanes_log2);
            let of_segment = chunk.wrapping_sub(first_chunk);
            if of_segment >= chunks || first_chunk.saturating_add(chunks) > most {
                return;
            }
            let first = begin + of_segment * CHUNK;
            let of_thread = (first + me, u64::min(first + CHUNK, end));
            let elements = self.input.elements;
            let sum = add_up::<T, O, READS>(operator, elements, of_thread, BLOCK as u64);
            let mut sum = shared.block.reduce(sum, operator.identity(), combine);
            if chunks > 1 {
                if me == 0 {
                    partials.set(chunk, sum);
                }
                if !shared.last.is_this(done, chunks as u32) {
                    return;
                }
                let partials = partials.from(first_chunk);
                let mut of_thread = operator.identity();
                let mut chunk = me;
                while chunk < chunks {
                    of_thread = operator.combine(of_thread, partials.get(chunk));
                    chunk += BLOCK as u64;
                }
                sum = shared.block.reduce(of_thread, operator.identity(), combine);
            }
            if me == 0 {
                self.totals.set(segment, operator.lower(sum));
            }
        }
    }
}

/// Chunks of a segment, if it is long; otherwise 0.
#[inline(always)]
fn chunks_of((begin, end): (u64, u64), lanes_log2: u32) -> u64 {
    let len = end - begin;
    if len > most_of_group(lanes_log2) { len.div_ceil(CHUNK) } else { 0 }
}

/// The shared memory of a block that takes chunks.
#[derive(Clone, Copy)]
struct Shared<T> {
    block: BlockReduce<T>,
    last: LastBlock,
    scan: BlockScan<u64>,
    /// With few segments, the number of the first chunk of those that each thread read.
    first_chunks: SharedArray<u64>,
}

impl<T: Plain + Word> Shared<T> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        let (block, last) = (BlockReduce::new(carver, BLOCK), LastBlock::new(carver));
        let scan = BlockScan::new(carver);
        Self { block, last, scan, first_chunks: carver.array(BLOCK as u32) }
    }
}

impl<T: Scalar, O: Operator<T>> Segments<'_, T, O> {
    /// Visits a thread's segments, which are as far apart as a block has threads. Calls `each` with each segment and
    /// its number of chunks, until `each` says that this is enough.
    /// `each` with them and the chunks that they have, until it says that this is enough.
    #[inline(always)]
    fn look_at(&self, thread: u64, mut each: impl FnMut(u64, u64) -> bool) {
        let mut segment = thread;
        while segment < self.input.offsets.segments {
            let chunks = chunks_of(self.bounds(segment), self.input.lanes_log2);
            if each(segment, chunks) {
                return;
            }
            segment += BLOCK as u64;
        }
    }

    /// Numbers the chunks of all long segments; gives how many there are. Two barriers.
    #[inline(always)]
    unsafe fn number_chunks(&self, shared: Shared<T>) -> u64 {
        let me = thread::thread_idx_x();
        let mut of_thread = 0;
        self.look_at(me as u64, |_, chunks| {
            of_thread += chunks;
            false
        });
        // SAFETY: the whole block comes to the scan, by the caller's promise; each thread has a number of its own.
        unsafe {
            let (up_to, all) = shared.scan.inclusive(of_thread, 0, |a, b| a + b);
            shared.first_chunks.store(me, up_to - of_thread);
            thread::sync_threads();
            all
        }
    }

    /// The segment that has a chunk, and the number of its first chunk.
    #[inline(always)]
    unsafe fn segment_of(&self, chunk: u64, shared: Shared<T>) -> (u64, u64) {
        let first_chunks = shared.first_chunks;
        // SAFETY: there is a number for each thread.
        unsafe {
            let begins = |thread| first_chunks.load(thread as u32) <= chunk;
            let thread = search::last(0, BLOCK as u64 - 1, begins);
            let mut first_chunk = first_chunks.load(thread as u32);
            let mut found = 0;
            self.look_at(thread, |segment, chunks| {
                found = segment;
                let is_found = chunk < first_chunk + chunks;
                first_chunk += if is_found { 0 } else { chunks };
                is_found
            });
            (found, first_chunk)
        }
    }
}

/// Reduces few segments. Grid: `of_chunks` blocks that share the chunks of long segments, and after them
/// a thread for each lane.
///
/// # Safety
/// The input is as [`Input`] says, and `totals` has an element for each segment. The chunks are as [`Chunks`] says, for
/// `most_chunks` chunks.
#[kernel(block = BLOCK, resident = 3, carve = |carver| Shared::<T>::new(carver), instances(
    sum_u8: <u8, Sum>; sum_u16: <u16, Sum>; sum_u32: <u32, Sum>; sum_u64: <u64, Sum>;
    sum_f32: <f32, Sum>; sum_f64: <f64, Sum>;
    least_u8: <u8, Least<u8>>, resident = 2; least_u16: <u16, Least<u16>>, resident = 2;
    least_u32: <u32, Least<u32>>, resident = 2; least_u64: <u64, Least<u64>>, resident = 2;
))]
pub unsafe fn reduce_few<T: Scalar, O: Operator<T>>(
    input: Input<'_, T>,
    of_chunks: u32,
    most_chunks: u64,
    chunks: Chunks<'_, T>,
    totals: Out<'_, T>,
) {
    let segments = Segments::<T, O>::new(input, totals);
    let Chunks { partials, done } = chunks;
    let shared = Shared::<T>::new(&mut Carver::new());
    let block = thread::block_idx_x();
    // SAFETY: the whole block takes the same branches. Every block numbers the chunks alike, so either all chunks of a
    // segment are done or, if the arrays do not hold them, none.
    unsafe {
        if block >= of_chunks {
            let first = (block - of_chunks) as u64 * BLOCK as u64;
            let thread = first + thread::thread_idx_x() as u64;
            segments.reduce_by_group::<READS_OF_FEW>(thread);
            return;
        }
        let chunks = u64::min(segments.number_chunks(shared), most_chunks);
        let mut chunk = block as u64;
        while chunk < chunks {
            let (segment, first_chunk) = segments.segment_of(chunk, shared);
            let done = done.wrapping_from(first_chunk);
            let to = (partials, most_chunks);
            segments.reduce_chunk((segment, first_chunk), chunk, to, done, shared);
            chunk += of_chunks as u64;
        }
    }
}

/// Long segments among many, and their chunks, are counted in one word, so that both counts rise together.
const ENTRIES: u32 = 32;

/// A long segment on the list: its number, and its first chunk among those of all.
pub type Entry = [u64; 2];

/// Reduces a segment by each group of lanes, or puts it on the list. Grid: a thread for each lane.
///
/// # Safety
/// The input is as [`Input`] says, and `totals` has an element for each segment. `listed` is one element; it and `list`
/// are zero. `list` has as many elements as [`most_long`] says; if that is none, neither is touched.
#[kernel(block = BLOCK, resident = 3, instances(
    sum_u8: <u8, Sum>; sum_u16: <u16, Sum>; sum_u32: <u32, Sum>; sum_u64: <u64, Sum>;
    sum_f32: <f32, Sum>; sum_f64: <f64, Sum>;
    least_u8: <u8, Least<u8>>; least_u16: <u16, Least<u16>>;
    least_u32: <u32, Least<u32>>; least_u64: <u64, Least<u64>>;
))]
pub unsafe fn by_groups<T: Scalar, O: Operator<T>>(
    input: Input<'_, T>,
    listed: Out<'_, u64>,
    list: Out<'_, Entry>,
    totals: Out<'_, T>,
) {
    let segments = Segments::<T, O>::new(input, totals);
    let Input { len, lanes_log2, .. } = input;
    let thread = thread::index_1d();
    // SAFETY: the whole warp comes here.
    let (segment, chunks) = unsafe { segments.reduce_by_group::<READS>(thread) };
    if chunks > 0 && thread & ((1 << lanes_log2) - 1) == 0 {
        let before = listed.fetch_add(0u32, 1 << ENTRIES | chunks);
        let first_chunk = before & ((1 << ENTRIES) - 1);
        if before >> ENTRIES < most_long(len, lanes_log2).0 {
            list.set(before >> ENTRIES, [segment, first_chunk]);
        }
    }
}

/// The entries on the list that fit it. More come only if offsets fall, perhaps so many that the counters wrapped.
#[inline(always)]
fn listed_in(listed: In<u64>, len: u64, lanes_log2: u32) -> (u64, u64) {
    let (entries, chunks) = most_long(len, lanes_log2);
    let listed = listed.get(0u32);
    let entries = u64::min(listed >> ENTRIES, entries);
    let chunks = u64::min(listed & ((1 << ENTRIES) - 1), chunks);
    (entries, if entries == 0 { 0 } else { chunks })
}

/// Reduces the chunks of the segments on the list. Grid: any.
///
/// # Safety
/// After [`mod@by_groups`], with its arrays. The chunks are as [`Chunks`] says; `done` has an element for each entry of
/// the list.
#[kernel(block = BLOCK, resident = 4, carve = |carver| Shared::<T>::new(carver), instances(
    sum_u8: <u8, Sum>; sum_u16: <u16, Sum>; sum_u32: <u32, Sum>; sum_u64: <u64, Sum>;
    sum_f32: <f32, Sum>; sum_f64: <f64, Sum>;
    least_u8: <u8, Least<u8>>, resident = 3, spills = 16; least_u16: <u16, Least<u16>>;
    least_u32: <u32, Least<u32>>; least_u64: <u64, Least<u64>>;
))]
pub unsafe fn by_chunks<T: Scalar, O: Operator<T>>(
    input: Input<'_, T>,
    listed: In<'_, u64>,
    list: In<'_, Entry>,
    chunks: Chunks<'_, T>,
    totals: Out<'_, T>,
) {
    let segments = Segments::<T, O>::new(input, totals);
    let Input { len, lanes_log2, .. } = input;
    let Chunks { partials, done } = chunks;
    let shared = Shared::<T>::new(&mut Carver::new());
    // SAFETY: the whole block turns as often.
    unsafe {
        let (entries, chunks) = listed_in(listed, len, lanes_log2);
        let most = most_long(len, lanes_log2).1;
        let mut chunk = thread::block_idx_x() as u64;
        while chunk < chunks {
            let begins = |entry: u64| list.get(entry)[1] <= chunk;
            let entry = search::last(0, entries - 1, begins);
            let [segment, first_chunk] = list.get(entry);
            let (to, done) = ((partials, most), done.from(entry));
            segments.reduce_chunk((segment, first_chunk), chunk, to, done, shared);
            chunk += thread::grid_dim_x() as u64;
        }
    }
}

/// The operators that segments are reduced by, over elements of one type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait SegmentReduces<T: Copy>:
    Operator<T> + reduce_few::Instance<T> + by_groups::Instance<T> + by_chunks::Instance<T>
{
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T: Copy, O> SegmentReduces<T> for O where
    O: Operator<T> + reduce_few::Instance<T> + by_groups::Instance<T> + by_chunks::Instance<T>
{
}

device_std::ptx_module! { "segment_totals" }
