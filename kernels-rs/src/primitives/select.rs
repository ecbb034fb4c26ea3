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
//! Run-length encoding keeps the first element of each run (a head). A run ends where the next begins, so a warp writes
//! the lengths of the runs that end in its part. Between two heads of the warp, the length comes from shared memory.
//! For the run that came in, the warp needs the position of the last head before. That head lies in the tile or in the
//! tiles before; warp 1 looks back for it meanwhile.

use core::marker::PhantomData;

use device_std::atomic::Pair;
use device_std::lookback::{Lookback, Ticket, Tickets};
use device_std::shared::{Carver, Plain, SharedArray, wait_for_copies};
use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{In, Out, arguments, kernel, thread, warp};

use super::operators::{Bits, Order};

mod compact;
mod kept;
mod marks;
mod runs;

/// Threads of a block.
pub const BLOCK: usize = 256;
const WARPS: u32 = BLOCK as u32 / 32;

/// A kind of selection.
pub trait Mode: Copy {
    /// What the selection keeps.
    const KEEPS: Keeps;
    /// Whether the lengths of runs are written.
    const LENGTHS: bool = false;
    /// Whether rejected elements may be written.
    const REJECTED: bool = !matches!(Self::KEEPS, Keeps::Heads);
}

/// What a selection keeps.
#[derive(Clone, Copy)]
pub enum Keeps {
    /// Elements whose rank is in a range, or out of it.
    Range,
    /// Elements whose flag is not zero.
    Flagged,
    /// The first of equal elements in a row.
    Heads,
}

/// Keeps elements whose rank is in a range, or out of it.
#[derive(Clone, Copy)]
pub struct If;
/// Keeps elements whose flag is not zero.
#[derive(Clone, Copy)]
pub struct Flagged;
/// Keeps the first of equal elements in a row.
#[derive(Clone, Copy)]
pub struct Unique;
/// Keeps the first of equal elements in a row, and writes the lengths of the runs.
#[derive(Clone, Copy)]
pub struct Runs;

impl Mode for If {
    const KEEPS: Keeps = Keeps::Range;
}
impl Mode for Flagged {
    const KEEPS: Keeps = Keeps::Flagged;
}
impl Mode for Unique {
    const KEEPS: Keeps = Keeps::Heads;
}
impl Mode for Runs {
    const KEEPS: Keeps = Keeps::Heads;
    const LENGTHS: bool = true;
}

/// The shared memory of a block.
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
    const fn new<M: Mode>(carver: &mut Carver, rows: usize) -> Self {
        let vectors = (BLOCK * rows) as u32;
        let tile = vectors * 16 / size_of::<B>() as u32;
        let stash = carver.array(vectors);
        Self {
            stash,
            elements: stash.as_elements(),
            positions: carver.array(if M::LENGTHS { tile } else { 0 }),
            rejected: carver.array(if M::REJECTED { tile / rows as u32 } else { 0 }),
            tickets: Tickets::new(carver),
            counts: carver.array(WARPS),
            after_heads: carver.array(if M::LENGTHS { WARPS } else { 0 }),
            kept_before: carver.array(1),
            after_head_before: carver.array(1),
        }
    }
}

/// Which elements a selection keeps.
#[arguments]
pub struct Rule<'a, B> {
    /// `magnitude` of the ascending [`Order`] of ranks.
    pub magnitude: B,
    /// See [`Order`].
    pub top: B,
    /// See [`Order`].
    pub shift: B,
    /// The least rank of the range.
    pub low: B,
    /// The greatest rank of the range, less the least.
    pub span: B,
    /// If not 0, keeps the elements outside the range instead.
    pub outside: u32,
    /// One flag for each element, for a selection by flags; otherwise not read.
    pub flags: In<'a, u8>,
}

impl<B: Bits> Rule<'_, B> {
    #[inline(always)]
    fn order(&self) -> Order<B> {
        let Self { magnitude, top, shift, .. } = *self;
        Order { magnitude, top, shift, flip: B::from_bits64(0) }
    }
}

/// Where a selection writes.
#[arguments]
pub struct Target<'a, B> {
    /// Where kept elements go.
    pub kept: Option<Out<'a, B>>,
    /// Where rejected elements go.
    pub rejected: Option<Out<'a, B>>,
    /// How many are kept: one element.
    pub count: Out<'a, u64>,
    /// Where the length of each run goes, unless `long_lengths` is given.
    pub lengths: Option<Out<'a, u32>>,
    /// Where the length of each run goes.
    pub long_lengths: Option<Out<'a, u64>>,
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
struct Select<'a, B, M, const ROWS: usize> {
    input: In<'a, B>,
    len: u64,
    rule: Rule<'a, B>,
    target: Target<'a, B>,
    shared: Shared<B>,
    mode: PhantomData<M>,
}

impl<B: Bits, M: Mode, const ROWS: usize> Select<'_, B, M, ROWS> {
    /// Elements of a warp's part of a tile, and of a tile.
    const PART: u32 = (32 * ROWS * B::LANES) as u32;
    const TILE: u64 = Self::PART as u64 * WARPS as u64;

    /// The selection from one tile.
    #[inline(always)]
    unsafe fn tile(&self, ticket: Ticket, status: Out<Pair>, heads_status: Out<Pair>) {
        let tile = Tile::<B, ROWS>::new::<BLOCK>(ticket.tile, self.len, false);
        let lookback = Lookback::new(status, ticket);
        let heads_lookback = Lookback::new(heads_status, ticket);
        let with_rejected = M::REJECTED && self.target.rejected.is_some();
        // SAFETY: the block's threads stay together, and barriers stand between the warps' writes and the reads by
        // others.
        unsafe {
            tile.stash(self.input, B::from_bits64(0), self.shared.stash);
            let flags = if matches!(M::KEEPS, Keeps::Flagged) { self.flags(&tile) } else { 0 };
            wait_for_copies();
            let kept = self.keep(&tile, flags);
            if M::LENGTHS {
                self.note_last_head(&kept);
            }
            let (before_warp, count) = self.scan_block(kept.count);
            if warp::warp_id() == 0 {
                lookback.announce(count as u64, false);
            }
            let start = ticket.tile * Self::TILE;
            let own_head = if M::LENGTHS { self.after_head(start, WARPS) } else { 0 };
            if M::LENGTHS && warp::warp_id() == 1 {
                heads_lookback.announce(own_head, own_head != 0);
            }
            if !with_rejected {
                self.compact(&tile, &kept, None);
            }
            self.look_back(lookback, count);
            if M::LENGTHS {
                self.look_back_for_head(heads_lookback, own_head);
            }
            thread::sync_threads();
            let kept_before = self.shared.kept_before.load(0);
            let place = Place { start, kept_before, before_warp, count };
            if with_rejected {
                self.compact(&tile, &kept, Some(place));
            }
            self.write(kept.count, place);
            if M::LENGTHS {
                self.write_lengths(kept.count, place);
            }
            let is_last = start + Self::TILE >= self.len;
            if is_last && thread::thread_idx_x() == 0 {
                self.target.count.set(0u32, kept_before + count as u64);
            }
        }
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

    #[inline(always)]
    unsafe fn look_back(&self, lookback: Lookback, count: u32) {
        if warp::warp_id() == 0 {
            // SAFETY: the whole warp is here.
            unsafe {
                let sum = |a: u64, b: u64| a + b;
                let before = lookback.announced_prefix(count as u64, false, 0, sum);
                if warp::lane_id() == 0 {
                    self.shared.kept_before.store(0, before);
                }
            }
        }
    }
}

/// A selection; see the module's plan. Grid: one block a tile, and there is a tile.
///
/// # Safety
/// `input` has `len` elements; the rest is as [`Rule`] and [`Target`] say; outputs are apart from each other and from
/// the input. `status` (and `heads_status`, for run lengths) has an element for each block. `control` and the status
/// arrays are as [`Tickets::take`] and [`Lookback::exclusive_prefix`] ask.
#[kernel(block = BLOCK, carve = |carver| Shared::<B>::new::<M>(carver, ROWS), instances(
    if_u8: <If, u8, 2>, resident = 4;
    if_u16: <If, u16, 4>, resident = 5;
    if_u32: <If, u32, 8>, resident = 5;
    if_u64: <If, u64, 8>, resident = 5;
    flagged_u8: <Flagged, u8, 2>, resident = 4;
    flagged_u16: <Flagged, u16, 4>, resident = 5;
    flagged_u32: <Flagged, u32, 8>, resident = 5;
    flagged_u64: <Flagged, u64, 8>, resident = 5;
    unique_u8: <Unique, u8, 2>, resident = 5;
    unique_u16: <Unique, u16, 4>, resident = 5;
    unique_u32: <Unique, u32, 8>, resident = 4;
    unique_u64: <Unique, u64, 8>, resident = 3;
    runs_u8: <Runs, u8, 2>, resident = 5;
    runs_u16: <Runs, u16, 4>, resident = 4;
    runs_u32: <Runs, u32, 6>, resident = 5;
    runs_u64: <Runs, u64, 8>, resident = 4;
))]
pub unsafe fn select<M: Mode, B: Bits, const ROWS: usize>(
    input: In<'_, B>,
    len: u64,
    rule: Rule<'_, B>,
    target: Target<'_, B>,
    control: Out<'_, u64>,
    status: Out<'_, Pair>,
    heads_status: Out<'_, Pair>,
) {
    // A thread's elements have a bit each in one word.
    const { assert!(ROWS * B::LANES <= 32) };
    let shared = Shared::<B>::new::<M>(&mut Carver::new(), ROWS);
    let select = Select::<B, M, ROWS> { input, len, rule, target, shared, mode: PhantomData };
    // SAFETY: the whole block comes here.
    unsafe {
        let ticket = shared.tickets.take(control);
        select.tile(ticket, status, heads_status);
    }
}

/// Elements of a tile.
#[cfg(not(target_arch = "nvptx64"))]
pub const fn tile<M: Mode, B: select::Instance<M>>() -> u64 {
    (BLOCK * B::ROWS * 16 / size_of::<B>()) as u64
}

device_std::ptx_module! { "select" }
