//! Selection with compaction in one pass: select if, flagged, unique, partition, run lengths.
//! Crate `gpu-scan`.
//!
//! A block does one [`Tile`]:
//!
//! 1. Each thread marks the elements of its vectors that are kept, a bit each.
//! 2. The ranks of the kept ones among the tile's: a warp scan over the counts of two rows at a
//!    time, packed in one word; then rows, then warps.
//! 3. Warp 0 looks back for the number that is kept in all tiles before.
//! 4. The kept elements are put into shared memory in the order of their ranks, the rejected ones
//!    behind them, and both are written from there without gaps.
//!
//! Run-length encoding keeps the first element of each run (a head). A run ends where the next
//! begins, so a tile writes the lengths of the runs that end in it: between two heads of its own
//! from shared memory, and for the run that came in from the tiles before with the position of
//! their last head, for which warp 1 looks back meanwhile.

use device_std::atomic::Pair;
use device_std::lookback::{Lookback, Ticket, Tickets};
use device_std::shared::{Carver, Plain, SharedArray};
use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{kernel, thread, warp};

use crate::operators::{Bits, Order};

/// Threads of a block.
pub const BLOCK: usize = 256;
const WARPS: u32 = BLOCK as u32 / 32;

/// Keeps elements whose rank is in a range.
const IF: u32 = 0;
/// Keeps elements whose flag is not zero.
const FLAGGED: u32 = 1;
/// Keeps the first of equal elements in a row.
const UNIQUE: u32 = 2;
/// The same, with the lengths of the runs.
const RUNS: u32 = 3;

/// What a block keeps in shared memory.
#[derive(Clone, Copy)]
struct Shared<B> {
    tickets: Tickets,
    counts: SharedArray<u32>,
    kept_before: SharedArray<u64>,
    /// Where the last head before the tile is, plus one; 0 before the first.
    head_before: SharedArray<u64>,
    elements: SharedArray<B>,
    positions: SharedArray<u32>,
}

impl<B: Plain> Shared<B> {
    #[inline(always)]
    const fn new(carver: &mut Carver, tile: u32, mode: u32) -> Self {
        Self {
            tickets: Tickets::new(carver),
            counts: carver.array(WARPS),
            kept_before: carver.array(1),
            head_before: carver.array(1),
            elements: carver.array(tile),
            positions: carver.array(if mode == RUNS { tile } else { 0 }),
        }
    }
}

const fn shared_bytes<B: Plain>(rows: usize, mode: u32) -> u32 {
    let mut carver = Carver::new();
    let tile = BLOCK * rows * 16 / size_of::<B>();
    let _ = Shared::<B>::new(&mut carver, tile as u32, mode);
    carver.bytes()
}

/// Which elements a selection keeps.
#[derive(Clone, Copy)]
struct Rule<B> {
    order: Order<B>,
    low: B,
    span: B,
    /// Keeps what is outside the range instead.
    outside: bool,
    flags: *const u8,
}

/// Where a selection writes; null where nothing is asked for.
#[derive(Clone, Copy)]
struct Target<B> {
    kept: *mut B,
    rejected: *mut B,
    count: *mut u64,
    heads: *mut u32,
    lengths: *mut u32,
    long_lengths: *mut u64,
}

/// A selection from an array.
#[derive(Clone, Copy)]
struct Select<B, const ROWS: usize, const MODE: u32> {
    input: *const B,
    len: u64,
    rule: Rule<B>,
    target: Target<B>,
    shared: Shared<B>,
}

impl<B: Bits, const ROWS: usize, const MODE: u32> Select<B, ROWS, MODE> {
    const TILE: u64 = (BLOCK * ROWS * B::LANES) as u64;

    /// The bits of the elements of a vector that are kept.
    #[inline(always)]
    unsafe fn keep(&self, vector: Vector, first: u64, before: B) -> u32 {
        // SAFETY: passed on to the caller.
        let flags = if MODE == FLAGGED { unsafe { self.flags(first) } } else { 0 };
        let mut kept = 0;
        let mut before = before;
        let mut i = 0;
        while i < B::LANES {
            let element = B::lane(vector, i);
            let at = first.wrapping_add(i as u64);
            let is_kept = match MODE {
                IF => {
                    let rank = self.rule.order.rank(element);
                    (rank.minus(self.rule.low) <= self.rule.span) != self.rule.outside
                }
                FLAGGED => flags >> i & 1 == 1,
                _ => at == 0 || element != before,
            };
            kept |= ((is_kept && at < self.len) as u32) << i;
            before = element;
            i += 1;
        }
        kept
    }

    /// Which flags of a vector are set, by four at once where they lie in one word.
    #[inline(always)]
    unsafe fn flags(&self, first: u64) -> u32 {
        let start = self.rule.flags.wrapping_add(first as usize);
        let mut flags = 0;
        let mut i = 0;
        // SAFETY: guarded by the length; words are aligned.
        unsafe {
            if B::LANES >= 4 && first + B::LANES as u64 <= self.len && (start as usize & 3) == 0 {
                while i < B::LANES {
                    let word = *start.add(i).cast::<u32>();
                    let mut j = 0;
                    while j < 4 {
                        flags |= ((word >> (8 * j) & 0xff != 0) as u32) << (i + j);
                        j += 1;
                    }
                    i += 4;
                }
                return flags;
            }
            while i < B::LANES {
                let is_set = first + (i as u64) < self.len && *start.add(i) != 0;
                flags |= (is_set as u32) << i;
                i += 1;
            }
        }
        flags
    }

    /// The element before each of the thread's vectors.
    #[inline(always)]
    unsafe fn before(&self, tile: &Tile<B, ROWS>, rows: &[Vector; ROWS]) -> [B; ROWS] {
        let mut before = [B::from_bits64(0); ROWS];
        let mut row = 0;
        while row < ROWS && MODE >= UNIQUE {
            let first = tile.element(row);
            // SAFETY: the whole warp is here; the element before is in the array.
            unsafe {
                let last = B::lane(rows[row], B::LANES - 1);
                before[row] = warp::shuffle_up(warp::FULL, last, 1);
                if warp::lane_id() == 0 && first > 0 && first < self.len {
                    before[row] = *self.input.add(first as usize - 1);
                }
            }
            row += 1;
        }
        before
    }

    /// How many elements of the warp are kept before each of the thread's vectors, and in all.
    #[inline(always)]
    unsafe fn ranks(kept: &[u32; ROWS]) -> ([u32; ROWS], u32) {
        let mut ranks = [0; ROWS];
        let mut count = 0;
        let mut row = 0;
        while row < ROWS {
            let counts = kept[row].count_ones() | kept[row + 1].count_ones() << 16;
            // SAFETY: the whole warp is here.
            let (inclusive, all) = unsafe {
                let inclusive = warp::inclusive_scan(counts, |a, b| a + b);
                (inclusive, warp::shuffle(warp::FULL, inclusive, 31))
            };
            let exclusive = inclusive - counts;
            ranks[row] = count + (exclusive & 0xffff);
            count += all & 0xffff;
            ranks[row + 1] = count + (exclusive >> 16);
            count += all >> 16;
            row += 2;
        }
        (ranks, count)
    }

    /// How many elements of the tile are kept before the thread's warp, and in all.
    #[inline(always)]
    unsafe fn scan_block(&self, of_warp: u32) -> (u32, u32) {
        let counts = self.shared.counts;
        // SAFETY: each warp writes its own count; the barrier stands between writes and reads.
        unsafe {
            if warp::lane_id() == 0 {
                counts.store(warp::warp_id(), of_warp);
            }
            thread::sync_threads();
            let (mut before, mut all) = (0, 0);
            let mut warp = 0;
            while warp < WARPS {
                let count = counts.load(warp);
                before += if warp < warp::warp_id() { count } else { 0 };
                all += count;
                warp += 1;
            }
            (before, all)
        }
    }

    /// The selection from one tile.
    #[inline(always)]
    unsafe fn tile(&self, ticket: Ticket, status: *mut Pair, heads_status: *mut Pair) {
        let tile = Tile::<B, ROWS>::new::<BLOCK>(ticket.tile, self.len, false);
        let start = ticket.tile * Self::TILE;
        // SAFETY: the caller's arrays are as long as said; the block's threads stay together.
        unsafe {
            let rows = tile.load(self.input, B::from_bits64(0));
            let before = self.before(&tile, &rows);
            let mut kept = [0; ROWS];
            let mut row = 0;
            while row < ROWS {
                kept[row] = self.keep(rows[row], tile.element(row), before[row]);
                row += 1;
            }
            if MODE == UNIQUE && !self.target.heads.is_null() {
                self.write_heads(&tile, &kept);
            }
            let (ranks, of_warp) = Self::ranks(&kept);
            let (warp_rank, count) = self.scan_block(of_warp);
            self.stage(&tile, start, &rows, &kept, ranks, warp_rank, count);
            if MODE == RUNS {
                thread::sync_threads();
                self.look_back_for_head(Lookback::new(heads_status, ticket), start, count);
            }
            self.look_back(Lookback::new(status, ticket), count);
            // Orders the staged elements, and the results of look-backs, before they are read.
            thread::sync_threads();
            let kept_before = self.shared.kept_before.load(0);
            self.write(start, kept_before, count);
            if MODE == RUNS {
                self.write_lengths(start, kept_before, count);
            }
            let is_last = start + Self::TILE >= self.len;
            if is_last && thread::thread_idx_x() == 0 {
                *self.target.count = kept_before + count as u64;
            }
        }
    }

    /// Writes a bit for each element: whether it is kept.
    #[inline(always)]
    unsafe fn write_heads(&self, tile: &Tile<B, ROWS>, kept: &[u32; ROWS]) {
        let lanes = 32 / B::LANES as u32;
        let mut row = 0;
        while row < ROWS {
            let first = tile.element(row);
            let mut word = kept[row] << (first % 32) as u32;
            let mut delta = 1;
            // SAFETY: the whole warp is here; the first lane of a word's writes it.
            unsafe {
                while delta < lanes {
                    word |= warp::shuffle_down(warp::FULL, word, delta);
                    delta *= 2;
                }
                if warp::lane_id() & (lanes - 1) == 0 && first < self.len {
                    *self.target.heads.add((first / 32) as usize) = word;
                }
            }
            row += 1;
        }
    }

    /// Puts the elements into shared memory: the kept ones by rank, the rejected ones behind them.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    unsafe fn stage(
        &self,
        tile: &Tile<B, ROWS>,
        start: u64,
        rows: &[Vector; ROWS],
        kept: &[u32; ROWS],
        ranks: [u32; ROWS],
        warp_rank: u32,
        count: u32,
    ) {
        let Shared { elements, positions, .. } = self.shared;
        let with_rejected = !self.target.rejected.is_null();
        let mut row = 0;
        while row < ROWS {
            let mut rank = warp_rank + ranks[row];
            let local = tile.element(row).wrapping_sub(start) as u32;
            let mut i = 0;
            while i < B::LANES {
                let element = B::lane(rows[row], i);
                let at = local + i as u32;
                // SAFETY: ranks are below the tile's length and distinct.
                unsafe {
                    if kept[row] >> i & 1 == 1 {
                        elements.store(rank, element);
                        if MODE == RUNS {
                            positions.store(rank, at);
                        }
                        rank += 1;
                    } else if with_rejected {
                        elements.store(count + at - rank, element);
                    }
                }
                i += 1;
            }
            row += 1;
        }
    }

    #[inline(always)]
    unsafe fn look_back(&self, lookback: Lookback, count: u32) {
        if warp::warp_id() == 0 {
            // SAFETY: the whole warp is here.
            unsafe {
                let sum = |a: u64, b: u64| a + b;
                let before = lookback.exclusive_prefix(count as u64, false, 0, true, sum);
                if warp::lane_id() == 0 {
                    self.shared.kept_before.store(0, before);
                }
            }
        }
    }

    /// Finds where the last head before the tile is.
    #[inline(always)]
    unsafe fn look_back_for_head(&self, lookback: Lookback, start: u64, count: u32) {
        let Shared { positions, head_before, .. } = self.shared;
        if warp::warp_id() == 1 {
            // SAFETY: the whole warp is here; positions below `count` are staged.
            unsafe {
                let own = if count > 0 { start + positions.load(count - 1) as u64 + 1 } else { 0 };
                let last = |a: u64, b: u64| if b != 0 { b } else { a };
                let before = lookback.exclusive_prefix(own, count > 0, 0, true, last);
                if warp::lane_id() == 0 {
                    head_before.store(0, before);
                }
            }
        }
    }

    /// Writes the staged elements.
    #[inline(always)]
    unsafe fn write(&self, start: u64, kept_before: u64, count: u32) {
        let Target { kept, rejected, .. } = self.target;
        let present = u64::min(self.len - start, Self::TILE) as u32;
        let mut j = thread::thread_idx_x();
        // SAFETY: the caller's arrays have room for what is kept and rejected.
        unsafe {
            if !kept.is_null() {
                let kept = kept.add(kept_before as usize);
                while j < count {
                    *kept.add(j as usize) = self.shared.elements.load(j);
                    j += BLOCK as u32;
                }
            }
            if !rejected.is_null() {
                let rejected = rejected.add((start - kept_before) as usize);
                let mut j = thread::thread_idx_x();
                while j < present - count {
                    *rejected.add(j as usize) = self.shared.elements.load(count + j);
                    j += BLOCK as u32;
                }
            }
        }
    }

    /// Writes the lengths of the runs that end in the tile.
    #[inline(always)]
    unsafe fn write_lengths(&self, start: u64, kept_before: u64, count: u32) {
        let Shared { positions, head_before, .. } = self.shared;
        // SAFETY: positions below `count` are staged; the block's threads stay together.
        unsafe {
            let mut j = thread::thread_idx_x();
            while j + 1 < count {
                let length = positions.load(j + 1) - positions.load(j);
                self.write_length(kept_before + j as u64, length as u64);
                j += BLOCK as u32;
            }
            if thread::thread_idx_x() == 0 {
                let before = head_before.load(0);
                if count > 0 && before > 0 {
                    let end = start + positions.load(0) as u64;
                    self.write_length(kept_before - 1, end - (before - 1));
                }
                if start + Self::TILE >= self.len {
                    let last = match count > 0 {
                        true => start + positions.load(count - 1) as u64,
                        false => before - 1,
                    };
                    self.write_length(kept_before + count as u64 - 1, self.len - last);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn write_length(&self, run: u64, length: u64) {
        let Target { lengths, long_lengths, .. } = self.target;
        // SAFETY: the caller's array has room for every run.
        unsafe {
            if !lengths.is_null() {
                *lengths.add(run as usize) = length as u32;
            }
            if !long_lengths.is_null() {
                *long_lengths.add(run as usize) = length;
            }
        }
    }
}

/// The kernels for elements of one size.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Selects: Bits {
    /// Keeps elements in a range of ranks.
    const SELECT_IF: Selection<Self>;
    /// Keeps flagged elements.
    const SELECT_FLAGGED: Selection<Self>;
    /// Keeps the first of equal elements in a row.
    const UNIQUE: Selection<Self>;
    /// The same, with run lengths.
    const RUNS: Selection<Self>;
}

/// A kernel with its tile and its shared memory.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy)]
pub struct Selection<B: Copy> {
    /// The kernel.
    pub kernel: device_std::host::Kernel<Arguments<B>>,
    /// Elements of a tile.
    pub tile: u64,
    /// Bytes of shared memory.
    pub shared: u32,
}

/// What the kernels take: input and length; the order's parameters but for the flip, the lowest
/// rank, the span, whether the outside is kept; flags; kept and rejected elements, count, head
/// bits, lengths in 32 and 64 bits; control word and status arrays, the second for run lengths.
#[cfg(not(target_arch = "nvptx64"))]
pub type Arguments<B> = (
    *const B,
    u64,
    B,
    B,
    B,
    B,
    B,
    u32,
    *const u8,
    *mut B,
    *mut B,
    *mut u64,
    *mut u32,
    *mut u32,
    *mut u64,
    *mut u64,
    *mut Pair,
    *mut Pair,
);

macro_rules! selections {
    ($($type:ty, $rows:literal, $runs_rows:literal, $resident:literal, $resident_unique:literal:
        $if:ident, $flagged:ident, $unique:ident, $runs:ident;)+) => {
        $(
            selections! { @kernel $if, $type, $rows, $resident, IF }
            selections! { @kernel $flagged, $type, $rows, $resident, FLAGGED }
            selections! { @kernel $unique, $type, $rows, $resident_unique, UNIQUE }
            selections! { @kernel $runs, $type, $runs_rows, $resident_unique, RUNS }
            #[cfg(not(target_arch = "nvptx64"))]
            impl Selects for $type {
                const SELECT_IF: Selection<$type> = selections! { @value $if, $type, $rows, IF };
                const SELECT_FLAGGED: Selection<$type> =
                    selections! { @value $flagged, $type, $rows, FLAGGED };
                const UNIQUE: Selection<$type> =
                    selections! { @value $unique, $type, $rows, UNIQUE };
                const RUNS: Selection<$type> = selections! { @value $runs, $type, $runs_rows, RUNS };
            }
        )+
        device_std::ptx_module! { "select": $($if, $flagged, $unique, $runs),+ }
    };
    (@value $name:ident, $type:ty, $rows:literal, $mode:ident) => {
        Selection {
            kernel: $name,
            tile: (BLOCK * $rows * 16 / size_of::<$type>()) as u64,
            shared: shared_bytes::<$type>($rows, $mode),
        }
    };
    (@kernel $name:ident, $type:ty, $rows:literal, $resident:literal, $mode:ident) => {
        /// A selection; see the module's plan. Grid: one block a tile, and there is a tile.
        ///
        /// # Safety
        /// `input` (and `flags`, where they count) has `len` elements; outputs that are not null
        /// have room for what is written; `status` (and `heads_status`, for run lengths) has an
        /// element for each block. `control` and the status arrays are as [`Tickets::take`] and
        /// [`Lookback::exclusive_prefix`] ask.
        #[kernel(block = 256, resident = $resident)]
        pub unsafe fn $name(
            input: *const $type,
            len: u64,
            magnitude: $type,
            top: $type,
            shift: $type,
            low: $type,
            span: $type,
            outside: u32,
            flags: *const u8,
            kept: *mut $type,
            rejected: *mut $type,
            count: *mut u64,
            heads: *mut u32,
            lengths: *mut u32,
            long_lengths: *mut u64,
            control: *mut u64,
            status: *mut Pair,
            heads_status: *mut Pair,
        ) {
            const TILE: u32 = (BLOCK * $rows * 16 / size_of::<$type>()) as u32;
            let shared = Shared::<$type>::new(&mut Carver::new(), TILE, $mode);
            let order = Order { magnitude, top, shift, flip: 0 };
            let rule = Rule { order, low, span, outside: outside != 0, flags };
            let target = Target { kept, rejected, count, heads, lengths, long_lengths };
            let select = Select::<$type, $rows, $mode> { input, len, rule, target, shared };
            // SAFETY: passed on to the caller.
            unsafe {
                let ticket = shared.tickets.take(control);
                select.tile(ticket, status, heads_status);
            }
        }
    };
}

selections! {
    u8, 2, 2, 3, 2: select_if_u8, select_flagged_u8, unique_u8, runs_u8;
    u16, 4, 2, 3, 2: select_if_u16, select_flagged_u16, unique_u16, runs_u16;
    u32, 6, 4, 4, 3: select_if_u32, select_flagged_u32, unique_u32, runs_u32;
    u64, 8, 6, 2, 2: select_if_u64, select_flagged_u64, unique_u64, runs_u64;
}
