//! The totals of segments, in one pass: crate `gpu-scan`.
//!
//! A tile is scanned as in `scan`, in the same order; but what is written is the sum at the last
//! element of each segment (its tail), as soon as the sum of all that comes before is known:
//!
//! - of run r, counted over the whole array, to `totals[r]`: a warp moves its totals to the front
//!   of its part of the shared memory, row by row, and writes them from there without gaps. How
//!   many tails come before the tile is found by a look-back of warp 1.
//! - or, with offsets, of segment s to `totals[s]`, at the tail itself: which segment that is, is
//!   found by a search in the offsets. A tile's elements lie in few segments as a rule, so a warp
//!   first finds those of its part's ends.
//!
//! Heads are bits in an array with one bit an element, which the kernels of `flags` and `select`
//! make. A tail is what stands before a head.

use device_std::atomic::Pair;
use device_std::lookback::{Lookback, Ticket};
use device_std::scalar::Scalar;
use device_std::shared::{Carver, SharedArray, wait_for_copies};
use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{kernel, thread, warp};

use crate::compaction::Marks;
use crate::offsets::Offsets;
use crate::operators::{Least, Operator, Sum};
use crate::tile_scan::{self, BLOCK, Heads, Scan};

const WARPS: u32 = BLOCK as u32 / 32;

/// What a block keeps in shared memory.
#[derive(Clone, Copy)]
struct Shared<T> {
    scan: tile_scan::Shared<T>,
    counts: SharedArray<u32>,
    tails_before: SharedArray<u64>,
}

impl<T: Scalar> Shared<T> {
    #[inline(always)]
    const fn new(carver: &mut Carver, rows: usize) -> Self {
        Self {
            scan: tile_scan::Shared::new(carver, rows),
            counts: carver.array(WARPS),
            tails_before: carver.array(1),
        }
    }
}

/// Bytes of shared memory.
const fn shared_bytes<T: Scalar>(rows: usize) -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::<T>::new(&mut carver, rows);
    carver.bytes()
}

/// Segments, and where their totals go.
#[derive(Clone, Copy)]
struct Segments<T> {
    /// A bit for each element.
    heads: *const u32,
    totals: *mut T,
    /// Null where runs are counted.
    offsets: *const u64,
    segments: u64,
}

/// What is needed to know the totals of one tile.
#[derive(Clone, Copy)]
struct Totals<T, O, const ROWS: usize, const BY_OFFSETS: bool> {
    scan: Scan<T, O, ROWS, true>,
    shared: Shared<T>,
    input: *const T,
    len: u64,
    segments: Segments<T>,
}

impl<T: Scalar, O: Operator<T>, const ROWS: usize, const BY_OFFSETS: bool>
    Totals<T, O, ROWS, BY_OFFSETS>
{
    /// Elements of a warp's part of a tile.
    const PART: u32 = (32 * ROWS * T::LANES) as u32;

    /// The totals of the segments that end in one tile.
    #[inline(always)]
    unsafe fn tile(&self, ticket: Ticket, status: *mut Pair, tail_status: *mut Pair) {
        let operator = self.scan.operator;
        let stash = self.shared.scan.stash;
        let tile = Tile::<T, ROWS>::new::<BLOCK>(ticket.tile, self.len, false);
        let lookback = Lookback::new(status, ticket);
        let tail_lookback = Lookback::new(tail_status, ticket);
        // SAFETY: the caller's arrays are as long as said; the block's threads stay together, and
        // barriers stand between the warps' writes and the reads by others.
        unsafe {
            tile.stash(self.input, operator.lower(operator.identity()), stash);
            let (heads, tails) = self.load_marks(&tile);
            wait_for_copies();
            let heads_in_tile = Heads(heads);
            let sums = self.scan.sums(&tile, heads_in_tile);
            let (before, of_warp) = self.scan.scan_warp(sums, heads_in_tile);
            let tails = Marks::<ROWS>::new::<T>(tails);
            if !BY_OFFSETS && warp::lane_id() == 0 {
                self.shared.counts.store(warp::warp_id(), tails.count);
            }
            let (before_warp, of_tile) = self.scan.scan_warps(of_warp);
            let (tails_before_warp, tails_of_tile) =
                if BY_OFFSETS { (0, 0) } else { self.count_tails() };
            if warp::warp_id() == 0 {
                lookback.announce(of_tile.value, of_tile.closed);
            }
            if warp::warp_id() == 1 && !BY_OFFSETS {
                tail_lookback.announce(tails_of_tile as u64, false);
            }
            self.scan.look_back(of_tile, lookback);
            if !BY_OFFSETS {
                self.look_back_for_tails(tail_lookback, tails_of_tile);
            }
            thread::sync_threads();
            let outer = self.scan.outer(before_warp);
            let tails = tails.anew();
            let mut row = 0;
            while row < ROWS {
                let before = self.scan.before(outer, &before, row);
                self.finish_row(&tile, row, before, heads_in_tile, &tails);
                row += 1;
            }
            warp::sync_warp(warp::FULL);
            if !BY_OFFSETS {
                self.write(tails.count, tails_before_warp);
            }
        }
    }

    /// The head and the tail bits of the thread's elements.
    ///
    /// A lane reads whole words of the warp's, and the thread's bits come by shuffles. Element i is
    /// a tail if element i + 1 is a head, or beyond the array.
    #[inline(always)]
    unsafe fn load_marks(&self, tile: &Tile<T, ROWS>) -> (u64, u64) {
        let words = self.len.div_ceil(32);
        let lanes = T::LANES as u32;
        let first_word = (tile.element(0) - (warp::lane_id() * lanes) as u64) / 32;
        let word = |i: u64| {
            let at = first_word + i;
            // SAFETY: guarded.
            if at < words { unsafe { *self.segments.heads.add(at as usize) } } else { 0 }
        };
        // A row has as many words as a vector has elements.
        let groups = (ROWS * T::LANES).div_ceil(32);
        let mut heads = [0; 2];
        let mut group = 0;
        while group < groups {
            heads[group] = word(group as u64 * 32 + warp::lane_id() as u64);
            group += 1;
        }
        let beyond = word(groups as u64 * 32);
        let last = ((self.len - 1) / 32).wrapping_sub(first_word);
        let mut tails = [0; 2];
        let mut group = 0;
        while group < groups {
            // SAFETY: the whole warp is here.
            unsafe {
                let after = if group + 1 < groups { heads[1] } else { beyond };
                let after = warp::shuffle(warp::FULL, after, 0);
                let next = warp::shuffle_down(warp::FULL, heads[group], 1);
                let next = if warp::lane_id() == 31 { after } else { next };
                tails[group] = heads[group] >> 1 | next << 31;
            }
            if last == group as u64 * 32 + warp::lane_id() as u64 {
                tails[group] |= 1 << ((self.len - 1) % 32);
            }
            group += 1;
        }
        // SAFETY: the whole warp is here.
        unsafe { (Self::own_bits(heads), Self::own_bits(tails)) }
    }

    /// The bits of the thread's elements out of the words of the warp's.
    #[inline(always)]
    unsafe fn own_bits(words: [u32; 2]) -> u64 {
        let lanes = T::LANES as u32;
        let mut bits = 0;
        let mut row = 0;
        while row < ROWS {
            let at = row as u32 * lanes + warp::lane_id() * lanes / 32;
            // SAFETY: the whole warp is here.
            let word = unsafe { warp::shuffle(warp::FULL, words[row * T::LANES / 32], at % 32) };
            let shift = warp::lane_id() * lanes % 32;
            let of_row = word >> shift & (u32::MAX >> (32 - lanes));
            bits |= (of_row as u64) << (row * T::LANES);
            row += 1;
        }
        bits
    }

    /// How many tails come before the thread's warp in the tile, and how many there are.
    #[inline(always)]
    unsafe fn count_tails(&self) -> (u32, u32) {
        let (mut before, mut all) = (0, 0);
        let mut warp = 0;
        while warp < WARPS {
            // SAFETY: each warp has stored its count before a barrier.
            let count = unsafe { self.shared.counts.load(warp) };
            before += if warp < warp::warp_id() { count } else { 0 };
            all += count;
            warp += 1;
        }
        (before, all)
    }

    #[inline(always)]
    unsafe fn look_back_for_tails(&self, lookback: Lookback, count: u32) {
        if warp::warp_id() == 1 {
            // SAFETY: the whole warp is here.
            unsafe {
                let sum = |a: u64, b: u64| a + b;
                let before = lookback.announced_prefix(count as u64, false, 0, true, sum);
                if warp::lane_id() == 0 {
                    self.shared.tails_before.store(0, before);
                }
            }
        }
    }

    /// Walks over the thread's vector in a row and leaves a total at each tail: in the stash, or
    /// where the offsets say.
    #[inline(always)]
    unsafe fn finish_row(
        &self,
        tile: &Tile<T, ROWS>,
        row: usize,
        before: T,
        heads: Heads,
        tails: &Marks<ROWS>,
    ) {
        let operator = self.scan.operator;
        let elements = self.shared.scan.stash.as_elements::<T>();
        // SAFETY: the row is read by the whole warp before totals are put there; ranks are
        // distinct.
        unsafe {
            let vector: Vector = tile.stashed(self.shared.scan.stash, row);
            warp::sync_warp(warp::FULL);
            let in_row = heads.of_row::<T>(row);
            let tails_in_row = tails.of_row::<T>(row);
            let mut to = warp::warp_id() * Self::PART + tails.rank(row);
            let mut sum = before;
            let mut i = 0;
            while i < T::LANES {
                let element = operator.lift(T::lane(vector, i));
                let is_head = in_row >> i & 1 == 1;
                sum = if is_head { element } else { operator.combine(sum, element) };
                if tails_in_row >> i & 1 == 1 {
                    match BY_OFFSETS {
                        true => self.write_to_segment(tile.element(row) + i as u64, sum),
                        false => elements.store(to, operator.lower(sum)),
                    }
                    to += 1;
                }
                i += 1;
            }
        }
    }

    /// Writes the total of the segment whose last element is `at`.
    #[inline(always)]
    unsafe fn write_to_segment(&self, at: u64, total: T) {
        let Segments { totals, offsets, segments, .. } = self.segments;
        // SAFETY: the caller's arrays are as long as said.
        unsafe {
            let segment = Offsets::new(offsets, segments).segment(at, 0, segments - 1);
            *totals.add(segment as usize) = self.scan.operator.lower(total);
        }
    }

    /// Writes the warp's totals of runs.
    #[inline(always)]
    unsafe fn write(&self, count: u32, tails_before_warp: u32) {
        let part = warp::warp_id() * Self::PART;
        let elements = self.shared.scan.stash.as_elements::<T>();
        // SAFETY: the look-back is done; the caller's array has room for every run.
        unsafe {
            let before = self.shared.tails_before.load(0) + tails_before_warp as u64;
            let to = self.segments.totals.add(before as usize);
            let mut j = warp::lane_id();
            while j < count {
                *to.add(j as usize) = elements.load(part + j);
                j += 32;
            }
        }
    }
}

/// The kernel that reduces segments.
#[cfg(not(target_arch = "nvptx64"))]
pub trait SegmentReduces<T: Copy>: Operator<T> {
    /// The totals of runs.
    const OF_RUNS: device_std::host::Kernel<Arguments<T>>;
    /// The totals of segments with offsets.
    const BY_OFFSETS: device_std::host::Kernel<Arguments<T>>;
    /// Elements of a tile.
    const TILE: u64;
    /// Bytes of shared memory.
    const SHARED: u32;
}

/// What the kernels take: input and length, head bits, totals, offsets (null for runs) and the
/// number of segments, the operator's parameters, control word, status arrays of values and of
/// counts.
#[cfg(not(target_arch = "nvptx64"))]
pub type Arguments<T> = (
    *const T,
    u64,
    *const u32,
    *mut T,
    *const u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    *mut u64,
    *mut Pair,
    *mut Pair,
);

macro_rules! totals {
    ($($of_runs:ident, $by_offsets:ident: $type:ty, $operator:ty, $rows:literal,
        $resident:literal, $resident_by_offsets:literal;)+) => {
        $(
            totals! { @kernel $of_runs, $type, $operator, $rows, false, $resident }
            totals! { @kernel $by_offsets, $type, $operator, $rows, true, $resident_by_offsets }
            #[cfg(not(target_arch = "nvptx64"))]
            impl SegmentReduces<$type> for $operator {
                const OF_RUNS: device_std::host::Kernel<Arguments<$type>> = $of_runs;
                const BY_OFFSETS: device_std::host::Kernel<Arguments<$type>> = $by_offsets;
                const TILE: u64 = (BLOCK * $rows * 16 / size_of::<$type>()) as u64;
                const SHARED: u32 = shared_bytes::<$type>($rows);
            }
        )+
        device_std::ptx_module! { "segment_totals" at 75 80: $($of_runs, $by_offsets),+ }
    };
    (@kernel $name:ident, $type:ty, $operator:ty, $rows:literal, $by_offsets:literal, $resident:literal) => {
        /// The totals of segments. Grid: one block a tile, as large as a scan's.
        ///
        /// # Safety
        /// `input` has `len` elements, `heads` a bit for each, `totals` an element for each
        /// segment; `offsets`, if they count, has `segments + 1` elements; the status arrays have
        /// an element for each block. `control` and they are as
        /// [`Tickets::take`](device_std::lookback::Tickets::take) and
        /// [`Lookback::exclusive_prefix`] ask.
        #[kernel(block = 256, resident = $resident)]
        pub unsafe fn $name(
            input: *const $type,
            len: u64,
            heads: *const u32,
            totals: *mut $type,
            offsets: *const u64,
            segments: u64,
            parameter_0: u64,
            parameter_1: u64,
            parameter_2: u64,
            parameter_3: u64,
            control: *mut u64,
            status: *mut Pair,
            tail_status: *mut Pair,
        ) {
            let parameters = [parameter_0, parameter_1, parameter_2, parameter_3];
            let operator = <$operator as Operator<$type>>::new(parameters);
            let shared = Shared::<$type>::new(&mut Carver::new(), $rows);
            let scan = Scan::<$type, $operator, $rows, true> {
                operator,
                exclusive: false,
                initial: operator.identity(),
                shared: shared.scan,
            };
            let segments = Segments { heads, totals, offsets, segments };
            let totals = Totals::<$type, $operator, $rows, $by_offsets> {
                scan, shared, input, len, segments,
            };
            // SAFETY: passed on to the caller.
            unsafe {
                let ticket = shared.scan.tickets.take(control);
                totals.tile(ticket, status, tail_status);
            }
        }
    };
}

// Columns: kernels; type and operator; rows, as those of the scans: a tile is the same; blocks on
// a multiprocessor, at least.
totals! {
    run_sums_u8, segment_sums_u8: u8, Sum, 4, 2, 2;
    run_sums_u16, segment_sums_u16: u16, Sum, 8, 2, 2;
    run_sums_u32, segment_sums_u32: u32, Sum, 8, 3, 3;
    run_sums_u64, segment_sums_u64: u64, Sum, 8, 2, 2;
    run_sums_f32, segment_sums_f32: f32, Sum, 8, 3, 2;
    run_sums_f64, segment_sums_f64: f64, Sum, 8, 2, 2;
    run_leasts_u8, segment_leasts_u8: u8, Least<u8>, 4, 2, 2;
    run_leasts_u16, segment_leasts_u16: u16, Least<u16>, 8, 2, 2;
    run_leasts_u32, segment_leasts_u32: u32, Least<u32>, 8, 3, 3;
    run_leasts_u64, segment_leasts_u64: u64, Least<u64>, 8, 2, 2;
}
