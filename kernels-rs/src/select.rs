//! Selection with compaction in one pass: select if, flagged, unique, partition, run lengths.
//! Crate `gpu-scan`.
//!
//! A block does one [`Tile`], which lies in shared memory from its first moment, so that registers
//! are few and many tiles are under way:
//!
//! 1. Each thread marks the elements of its vectors that are kept, a bit each.
//! 2. The ranks of the kept ones among the warp's: a warp scan over the counts of two rows at a
//!    time, packed in one word; then rows, then warps. Warp 0 publishes the tile's count.
//! 3. Each warp moves its kept elements to the front of its own part of the shared memory, row by
//!    row: a row's elements go to places that were read already.
//! 4. Warp 0 looks back for the number that is kept in all tiles before.
//! 5. Each warp writes its elements, which follow each other in memory. A partition moves them only
//!    now, since the rejected elements of a row are written as soon as it is read.
//!
//! Run-length encoding keeps the first element of each run (a head). A run ends where the next
//! begins, so a warp writes the lengths of the runs that end in its part: between two heads of its
//! own from shared memory, and for the run that came in with the position of the last head before,
//! in the tile or in the tiles before, for which warp 1 looks back meanwhile.

use device_std::atomic::Pair;
use device_std::lookback::{Lookback, Ticket, Tickets};
use device_std::shared::{Carver, Plain, SharedArray, wait_for_copies};
use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{kernel, thread, warp};

use crate::compaction::Marks;
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
    /// The tile; then each warp's kept elements at the front of its part.
    stash: SharedArray<Vector>,
    elements: SharedArray<B>,
    /// Run lengths: where the kept elements were, in the same order.
    positions: SharedArray<u16>,
    /// A row of each warp.
    rejected: SharedArray<B>,
    tickets: Tickets,
    counts: SharedArray<u32>,
    /// The place after each warp's last head; 0 without one.
    after_heads: SharedArray<u32>,
    kept_before: SharedArray<u64>,
    /// The place after the last head before the tile; 0 before the first.
    after_head_before: SharedArray<u64>,
}

impl<B: Plain> Shared<B> {
    #[inline(always)]
    const fn new(carver: &mut Carver, rows: usize, mode: u32) -> Self {
        let vectors = (BLOCK * rows) as u32;
        let tile = vectors * 16 / size_of::<B>() as u32;
        let stash = carver.array(vectors);
        Self {
            stash,
            elements: stash.as_elements(),
            positions: carver.array(if mode == RUNS { tile } else { 0 }),
            rejected: carver.array(if mode <= FLAGGED { tile / rows as u32 } else { 0 }),
            tickets: Tickets::new(carver),
            counts: carver.array(WARPS),
            after_heads: carver.array(if mode == RUNS { WARPS } else { 0 }),
            kept_before: carver.array(1),
            after_head_before: carver.array(1),
        }
    }
}

const fn shared_bytes<B: Plain>(rows: usize, mode: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::<B>::new(&mut carver, rows, mode);
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
    lengths: *mut u32,
    long_lengths: *mut u64,
}

/// Where a warp's kept elements go.
#[derive(Clone, Copy)]
struct Place {
    /// The first element of the tile.
    start: u64,
    /// How many are kept before the tile.
    kept_before: u64,
    /// How many are kept in the tile before the warp.
    before_warp: u32,
    /// How many the tile keeps.
    count: u32,
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
    /// Elements of a warp's part of a tile, and of a tile.
    const PART: u32 = (32 * ROWS * B::LANES) as u32;
    const TILE: u64 = Self::PART as u64 * WARPS as u64;

    /// The selection from one tile.
    #[inline(always)]
    unsafe fn tile(&self, ticket: Ticket, status: *mut Pair, heads_status: *mut Pair) {
        let tile = Tile::<B, ROWS>::new::<BLOCK>(ticket.tile, self.len, false);
        let lookback = Lookback::new(status, ticket);
        let heads_lookback = Lookback::new(heads_status, ticket);
        let with_rejected = MODE <= FLAGGED && !self.target.rejected.is_null();
        // SAFETY: the caller's arrays are as long as said; the block's threads stay together, and
        // barriers stand between the warps' writes and the reads by others.
        unsafe {
            tile.stash(self.input, B::from_bits64(0), self.shared.stash);
            let flags = if MODE == FLAGGED { self.flags(&tile) } else { 0 };
            wait_for_copies();
            let kept = self.keep(&tile, flags);
            if MODE == RUNS {
                self.note_last_head(&kept);
            }
            let (before_warp, count) = self.scan_block(kept.count);
            if warp::warp_id() == 0 {
                lookback.announce(count as u64, false);
            }
            let start = ticket.tile * Self::TILE;
            let own_head = if MODE == RUNS { self.after_head(start, WARPS) } else { 0 };
            if MODE == RUNS && warp::warp_id() == 1 {
                heads_lookback.announce(own_head, own_head != 0);
            }
            if !with_rejected {
                self.compact(&tile, &kept, None);
            }
            self.look_back(lookback, count);
            if MODE == RUNS {
                self.look_back_for_head(heads_lookback, own_head);
            }
            thread::sync_threads();
            let kept_before = self.shared.kept_before.load(0);
            let place = Place { start, kept_before, before_warp, count };
            if with_rejected {
                self.compact(&tile, &kept, Some(place));
            }
            self.write(kept.count, place);
            if MODE == RUNS {
                self.write_lengths(kept.count, place);
            }
            let is_last = start + Self::TILE >= self.len;
            if is_last && thread::thread_idx_x() == 0 {
                *self.target.count = kept_before + count as u64;
            }
        }
    }

    /// What the warp keeps.
    #[inline(always)]
    unsafe fn keep(&self, tile: &Tile<B, ROWS>, flags: u64) -> Marks<ROWS> {
        let mut bits = flags;
        let mut row = 0;
        while row < ROWS && MODE != FLAGGED {
            // SAFETY: the tile is stashed; the whole warp is here.
            unsafe {
                let vector = tile.stashed(self.shared.stash, row);
                let of_row = if MODE == IF { self.in_range(vector) } else { self.heads(tile, row) };
                bits |= (of_row as u64) << (row * B::LANES);
            }
            row += 1;
        }
        if !tile.is_whole() {
            bits &= self.present(tile);
        }
        // SAFETY: the whole warp is here.
        unsafe { Marks::new::<B>(bits) }
    }

    /// A bit for each of the thread's elements that is in the array.
    #[inline(always)]
    fn present(&self, tile: &Tile<B, ROWS>) -> u64 {
        let mut present = 0;
        let mut row = 0;
        while row < ROWS {
            let count = tile.valid(tile.element(row));
            present |= ((1 << count) - 1) << (row * B::LANES);
            row += 1;
        }
        present
    }

    /// Which elements of a vector have a rank in the range, or out of it.
    #[inline(always)]
    fn in_range(&self, vector: Vector) -> u32 {
        let Rule { order, low, span, outside, .. } = self.rule;
        let mut bits = 0;
        let mut i = 0;
        while i < B::LANES {
            let rank = order.rank(B::lane(vector, i));
            bits |= ((rank.minus(low) <= span) as u32) << i;
            i += 1;
        }
        if outside { bits ^ (u32::MAX >> (32 - B::LANES)) } else { bits }
    }

    /// Which elements of a thread's vector differ from the one before.
    #[inline(always)]
    unsafe fn heads(&self, tile: &Tile<B, ROWS>, row: usize) -> u32 {
        let first = tile.element(row);
        // SAFETY: the tile is stashed, the whole warp is here, and the element before the warp's
        // is in the array.
        unsafe {
            let vector = tile.stashed(self.shared.stash, row);
            let last = B::lane(vector, B::LANES - 1);
            let mut before = warp::shuffle_up(warp::FULL, last, 1);
            if warp::lane_id() == 0 && first > 0 && first < self.len {
                before = *self.input.add(first as usize - 1);
            }
            let mut bits = (first == 0) as u32;
            let mut i = 0;
            while i < B::LANES {
                let element = B::lane(vector, i);
                bits |= ((element != before) as u32) << i;
                before = element;
                i += 1;
            }
            bits
        }
    }

    /// Which of the thread's elements have a flag that is set.
    #[inline(always)]
    unsafe fn flags(&self, tile: &Tile<B, ROWS>) -> u64 {
        let mut bits = 0;
        let by_words = B::LANES >= 4 && tile.is_whole() && (self.rule.flags as usize & 3) == 0;
        let mut i = 0;
        // SAFETY: guarded by the length; words are aligned.
        unsafe {
            // The condition is the same in the whole block: the loads are in flight together.
            if by_words {
                while i < ROWS * B::LANES {
                    let at = tile.element(i / B::LANES) as usize + i % B::LANES;
                    let word = *self.rule.flags.wrapping_add(at).cast::<u32>();
                    let mut j = 0;
                    while j < 4 {
                        bits |= ((word >> (8 * j) & 0xff != 0) as u64) << (i + j);
                        j += 1;
                    }
                    i += 4;
                }
                return bits;
            }
            while i < ROWS * B::LANES {
                let at = tile.element(i / B::LANES).wrapping_add((i % B::LANES) as u64);
                if at < self.len {
                    let is_set = *self.rule.flags.wrapping_add(at as usize) != 0;
                    bits |= (is_set as u64) << i;
                }
                i += 1;
            }
        }
        bits
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

    /// Moves the warp's kept elements to the front of its part of the tile; with a place, writes
    /// the rejected ones.
    #[inline(always)]
    unsafe fn compact(&self, tile: &Tile<B, ROWS>, kept: &Marks<ROWS>, place: Option<Place>) {
        let kept = kept.anew();
        let Shared { elements, positions, .. } = self.shared;
        let part = warp::warp_id() * Self::PART;
        let row_len = (32 * B::LANES) as u32;
        let mut row = 0;
        while row < ROWS {
            // SAFETY: the row is read by the whole warp before its elements are moved, to places
            // in rows that were read; ranks are distinct.
            unsafe {
                let vector = tile.stashed(self.shared.stash, row);
                warp::sync_warp(warp::FULL);
                let bits = kept.of_row::<B>(row);
                let at = part + row as u32 * row_len + warp::lane_id() * B::LANES as u32;
                let mut to = part + kept.rank(row);
                let mut i = 0;
                while i < B::LANES {
                    if bits >> i & 1 == 1 {
                        elements.store(to, B::lane(vector, i));
                        if MODE == RUNS {
                            positions.store(to, (at + i as u32) as u16);
                        }
                    }
                    to += bits >> i & 1;
                    i += 1;
                }
                if let Some(place) = place {
                    self.write_rejected(vector, bits, row, &kept, place);
                }
            }
            row += 1;
        }
        // SAFETY: the whole warp is here.
        unsafe { warp::sync_warp(warp::FULL) };
    }

    /// Writes the rejected elements of a row of the warp, by way of shared memory.
    #[inline(always)]
    unsafe fn write_rejected(
        &self,
        vector: Vector,
        bits: u32,
        row: usize,
        kept: &Marks<ROWS>,
        place: Place,
    ) {
        let row_len = (32 * B::LANES) as u32;
        let scratch = warp::warp_id() * row_len;
        let in_row = warp::lane_id() * B::LANES as u32;
        // SAFETY: the whole warp is here, and stays together between its writes and reads.
        unsafe {
            let before_row = warp::shuffle(warp::FULL, kept.rank(row), 0);
            let mut to = scratch + in_row - (kept.rank(row) - before_row);
            let mut i = 0;
            while i < B::LANES {
                if bits >> i & 1 == 0 {
                    self.shared.rejected.store(to, B::lane(vector, i));
                    to += 1;
                }
                i += 1;
            }
            let kept_in_row = kept.rank(row) - before_row + bits.count_ones();
            let kept_in_row = warp::shuffle(warp::FULL, kept_in_row, 31);
            warp::sync_warp(warp::FULL);
            let first = place.start + (warp::warp_id() * Self::PART + row as u32 * row_len) as u64;
            let kept_before = place.kept_before + (place.before_warp + before_row) as u64;
            // Beyond the array nothing is kept, nor rejected.
            let present = u64::min(self.len.saturating_sub(first), row_len as u64) as u32;
            let rejected = self.target.rejected.wrapping_add((first - kept_before) as usize);
            let count = present.saturating_sub(kept_in_row);
            let mut j = warp::lane_id();
            while j < count {
                *rejected.add(j as usize) = self.shared.rejected.load(scratch + j);
                j += 32;
            }
            warp::sync_warp(warp::FULL);
        }
    }

    #[inline(always)]
    unsafe fn look_back(&self, lookback: Lookback, count: u32) {
        if warp::warp_id() == 0 {
            // SAFETY: the whole warp is here.
            unsafe {
                let sum = |a: u64, b: u64| a + b;
                let before = lookback.announced_prefix(count as u64, false, 0, true, sum);
                if warp::lane_id() == 0 {
                    self.shared.kept_before.store(0, before);
                }
            }
        }
    }

    /// Leaves the place after the warp's last head in shared memory.
    #[inline(always)]
    unsafe fn note_last_head(&self, kept: &Marks<ROWS>) {
        let highest = 63 - (kept.bits | 1).leading_zeros();
        let (row, lane) = (highest / B::LANES as u32, highest % B::LANES as u32);
        let vector = warp::warp_id() * (ROWS * 32) as u32 + row * 32 + warp::lane_id();
        let after = vector * B::LANES as u32 + lane + 1;
        let after = if kept.bits == 0 { 0 } else { after };
        // SAFETY: the whole warp is here; the element is its own.
        unsafe {
            let last = warp::reduce(after, |a, b| if a > b { a } else { b });
            if warp::lane_id() == 0 {
                self.shared.after_heads.store(warp::warp_id(), last);
            }
        }
    }

    /// The place after the last head of the first `warps` warps in the array; 0 without one.
    #[inline(always)]
    unsafe fn after_head(&self, start: u64, warps: u32) -> u64 {
        let mut last = 0;
        let mut warp = 0;
        while warp < WARPS {
            // SAFETY: noted by each warp before a barrier.
            let of_warp = unsafe { self.shared.after_heads.load(warp) };
            last = if warp < warps && of_warp != 0 { of_warp } else { last };
            warp += 1;
        }
        if last == 0 { 0 } else { start + last as u64 }
    }

    /// Finds where the last head before the tile is.
    #[inline(always)]
    unsafe fn look_back_for_head(&self, lookback: Lookback, own: u64) {
        if warp::warp_id() == 1 {
            // SAFETY: the whole warp is here.
            unsafe {
                let last = |a: u64, b: u64| if b != 0 { b } else { a };
                let before = lookback.announced_prefix(own, own != 0, 0, true, last);
                if warp::lane_id() == 0 {
                    self.shared.after_head_before.store(0, before);
                }
            }
        }
    }

    /// Writes the warp's kept elements.
    #[inline(always)]
    unsafe fn write(&self, count: u32, place: Place) {
        let Target { kept, .. } = self.target;
        if kept.is_null() {
            return;
        }
        let part = warp::warp_id() * Self::PART;
        let to = kept.wrapping_add((place.kept_before + place.before_warp as u64) as usize);
        let mut j = warp::lane_id();
        while j < count {
            // SAFETY: the caller's array has room for what is kept.
            unsafe { *to.add(j as usize) = self.shared.elements.load(part + j) };
            j += 32;
        }
    }

    /// Writes the lengths of the runs that end in the warp's part of the tile, and by the last
    /// warp of all that of the last run.
    #[inline(always)]
    unsafe fn write_lengths(&self, count: u32, place: Place) {
        let Place { start, kept_before, before_warp, .. } = place;
        let positions = self.shared.positions;
        let part = warp::warp_id() * Self::PART;
        let first_run = kept_before + before_warp as u64;
        // SAFETY: the warp's positions are staged, the heads before noted.
        unsafe {
            let mut j = warp::lane_id();
            while j + 1 < count {
                let length = positions.load(part + j + 1) - positions.load(part + j);
                self.write_length(first_run + j as u64, length as u64);
                j += 32;
            }
            if warp::lane_id() != 0 {
                return;
            }
            let in_tile = self.after_head(start, warp::warp_id());
            let before_tile = self.shared.after_head_before.load(0);
            let before = if in_tile != 0 { in_tile } else { before_tile };
            if count > 0 && before > 0 {
                let head = start + positions.load(part) as u64;
                self.write_length(first_run - 1, head + 1 - before);
            }
            if start + Self::TILE >= self.len && warp::warp_id() == WARPS - 1 {
                let in_tile = self.after_head(start, WARPS);
                let last = if in_tile != 0 { in_tile } else { before_tile };
                let runs = kept_before + place.count as u64;
                self.write_length(runs - 1, self.len + 1 - last);
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
/// rank, the span, whether the outside is kept; flags; kept and rejected elements, count,
/// lengths in 32 and 64 bits; control word and status arrays, the second for run lengths.
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
    *mut u64,
    *mut u64,
    *mut Pair,
    *mut Pair,
);

macro_rules! selections {
    ($($type:ty, $rows:literal, $runs_rows:literal, $resident:literal, $resident_unique:literal,
        $resident_runs:literal:
        $if:ident, $flagged:ident, $unique:ident, $runs:ident;)+) => {
        $(
            selections! { @kernel $if, $type, $rows, $resident, IF }
            selections! { @kernel $flagged, $type, $rows, $resident, FLAGGED }
            selections! { @kernel $unique, $type, $rows, $resident_unique, UNIQUE }
            selections! { @kernel $runs, $type, $runs_rows, $resident_runs, RUNS }
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
        device_std::ptx_module! { "select" at 75 80: $($if, $flagged, $unique, $runs),+ }
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
            lengths: *mut u32,
            long_lengths: *mut u64,
            control: *mut u64,
            status: *mut Pair,
            heads_status: *mut Pair,
        ) {
            let shared = Shared::<$type>::new(&mut Carver::new(), $rows, $mode);
            let order = Order { magnitude, top, shift, flip: 0 };
            let rule = Rule { order, low, span, outside: outside != 0, flags };
            let target = Target { kept, rejected, count, lengths, long_lengths };
            let select = Select::<$type, $rows, $mode> { input, len, rule, target, shared };
            // SAFETY: passed on to the caller.
            unsafe {
                let ticket = shared.tickets.take(control);
                select.tile(ticket, status, heads_status);
            }
        }
    };
}

// Columns: type; rows of a tile, of run lengths; blocks on a multiprocessor, at least: of select,
// of unique, of run lengths; kernels. A thread has at most 32 elements.
selections! {
    u8, 2, 2, 4, 5, 5: select_if_u8, select_flagged_u8, unique_u8, runs_u8;
    u16, 4, 4, 5, 5, 4: select_if_u16, select_flagged_u16, unique_u16, runs_u16;
    u32, 8, 6, 5, 4, 5: select_if_u32, select_flagged_u32, unique_u32, runs_u32;
    u64, 8, 8, 5, 3, 4: select_if_u64, select_flagged_u64, unique_u64, runs_u64;
}
