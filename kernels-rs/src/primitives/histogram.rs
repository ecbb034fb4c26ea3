//! Histograms: crate `gpu-scan`.
//!
//! Bins lie between rising bounds. Elements and bounds are compared as ranks (see [`Order`]). Elements in no bin have
//! slots of their own:
//!
//! | slot | counts |
//! |---|---|
//! | 0 | what is below the first bound |
//! | 1 to bins | the bins |
//! | bins + 1 | what is not below the last bound |
//! | bins + 2 | NaN |
//!
//! The plan:
//!
//! 1. Blocks take tiles in turn and count in shared memory, where each has made the ranks of the bounds,
//!    of given ones or of equal bins. There are several copies of the counters, so that warps seldom
//!    meet; lanes of a warp that meet count in one step.
//! 2. At the end each block adds its counts to the result. The block with the first ticket has set these to zero, and
//!    the other blocks wait for it; so there is only one launch.
//!
//! Between given bounds, a binary search finds the slot. Every search takes the same number of steps, so a thread
//! searches for several elements side by side.
//!
//! In equal bins the slot is computed in f32. An element closer to a bound than the rounding error is compared with the
//! bounds around it, and its slot moves until it lies between them. So the bounds alone decide, and rounding does not
//! show.
//!
//! If shared memory does not hold all bins, a first launch makes the bounds in global memory and sets the counts to
//! zero. The second launch reads these bounds and adds to these counts. A thread that finds the same slot several times
//! in a row counts first and adds once.
//!
//! Elements of one byte are counted by their 256 values, and only the counts are assigned to bins. Each lane has its
//! own counters, in a bank of their own, so that no lane ever waits for another.

#[cfg(not(target_arch = "nvptx64"))]
use device_std::host::Kernel;
use device_std::lookback::Tickets;
use device_std::shared::{Carver, Plain, SharedArray};
use device_std::{In, Out, kernel, thread};

use super::operators::{Bits, Order};

mod bounds;
mod counters;
mod methods;
mod slots;

pub use bounds::{Bounds, Even, rank_of_bound};
pub use counters::Counted;
use counters::{Clearing, Counts, Run};
use methods::{Bytes, Call, EvenFloats, EvenIntegers, Method, Search};
pub use methods::{Line, Tiles};
use slots::search;

/// Threads of a block.
pub const BLOCK: usize = 512;

/// Blocks of a multiprocessor that share the tiles: as many as it holds, of most kernels.
pub const RESIDENT: u32 = 3;

/// Rows of a tile: vectors that a thread loads at once.
const ROWS: usize = 2;

/// Elements of a tile.
pub const fn tile_len(element_size: usize) -> u64 {
    (BLOCK * ROWS * 16 / element_size) as u64
}

/// The most tiles of a block: its counters have 32 bits.
pub const MAX_TILES: u64 = (u32::MAX as u64) / tile_len(1);

/// Counters beyond those of the bins.
pub const OUTSIDE: u64 = 3;

/// The most bins: slots have 32 bits.
pub const MAX_BINS: u64 = u32::MAX as u64 - OUTSIDE;

/// Bytes of shared memory that counters and bounds may take: what every device gives a block.
const MAX_SHARED: u64 = 48 << 10;

/// Bytes of shared memory that copies of the counters may take, so that enough blocks still fit on a multiprocessor to
/// keep all its threads busy.
const COPIES_SHARED: u64 = 16 << 10;

/// The values of a byte.
const BYTES: u32 = 256;

/// Copies of the counters of bytes: one for each lane.
const COPIES_OF_BYTES: u32 = 32;

/// Byte histograms with fewer bins than this have their bounds in shared memory: there are rarely more bins than
/// values.
const BOUNDS_OF_BYTES: u32 = 1024;

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Shared<B> {
    tickets: Tickets,
    /// The ranks of the bounds, if they are few.
    ranks: SharedArray<B>,
    /// Copies of the counters: of the slots, or of the values of a byte.
    counters: SharedArray<u32>,
}

impl<B: Plain> Shared<B> {
    #[inline(always)]
    const fn new(carver: &mut Carver, bins: u32, copies: u32) -> Self {
        let tickets = Tickets::new(carver);
        match size_of::<B>() {
            1 => Self {
                tickets,
                ranks: carver.array(if bins < BOUNDS_OF_BYTES { bins + 1 } else { 0 }),
                counters: carver.array(COPIES_OF_BYTES * BYTES),
            },
            _ => Self {
                tickets,
                ranks: carver.array(bins + 1),
                counters: carver.array(copies * (bins + OUTSIDE as u32)),
            },
        }
    }
}

/// Bytes of shared memory.
const fn shared_bytes<B: Plain>(bins: u64, copies: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::<B>::new(&mut carver, bins as u32, copies);
    carver.bytes()
}

/// Copies of the counters in shared memory; 0 where they are in global memory.
pub const fn copies<B: Plain>(bins: u64) -> u32 {
    let most = (BLOCK / 32) as u32;
    if size_of::<B>() == 1 {
        return COPIES_OF_BYTES;
    }
    if bins >= MAX_SHARED || shared_bytes::<B>(bins, 1) as u64 > MAX_SHARED {
        return 0;
    }
    let mut copies = 1;
    while copies < most && 2 * copies as u64 * (bins + OUTSIDE) * 4 <= COPIES_SHARED {
        copies *= 2;
    }
    // If the bounds leave too little memory, there are fewer copies.
    while shared_bytes::<B>(bins, copies) as u64 > MAX_SHARED {
        copies /= 2;
    }
    copies
}

/// Makes the bounds, as ranks, and sets the counts to zero: before [`mod@count_in_global`]. Grid: a thread
/// for each bound, and at least [`OUTSIDE`].
///
/// # Safety
/// The bounds and the counts are as [`Bounds`] and [`Counted`] say; `ranks` has an element for each bound.
#[kernel(block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>))]
pub unsafe fn make_bounds<B: Bits>(
    bounds: Bounds<'_, B>,
    parameters: [u64; 4],
    ranks: Out<'_, B>,
    counted: Counted<'_>,
) {
    let order = Order::<B>::new(parameters);
    let i = thread::index_1d();
    Counts { counted, bins: bounds.bins }.clear(i);
    if i <= bounds.bins {
        ranks.set(i, bounds.rank(order, i));
    }
}

/// Counts in shared memory by one of the methods. Grid: any number of blocks that leaves each at most [`MAX_TILES`].
///
/// # Safety
/// The input, the bounds and the counts are as [`Tiles`], [`Bounds`] and [`Counted`] say. There are as many [`copies`]
/// as fit, and at least one. `control` is as [`Tickets::take`] asks, and `cleared` is one element, zero at first and
/// used by launches over it alone.
#[kernel(
    block = BLOCK,
    shared = |args| shared_bytes::<B>(args.bounds.bins, args.copies),
    instances(
        bytes: <Bytes, u8, 4>, resident = RESIDENT, spills = 52;
        search_u16: <Search, u16, 4>, resident = 2, spills = 12;
        search_u32: <Search, u32, 4>, resident = RESIDENT, spills = 8;
        search_u64: <Search, u64, 2>, resident = RESIDENT;
        even_u16: <EvenIntegers, u16, 4>, resident = 2;
        even_u32: <EvenIntegers, u32, 4>, resident = RESIDENT, spills = 8;
        even_u64: <EvenIntegers, u64, 2>, resident = RESIDENT;
        even_f32: <EvenFloats, u32, 4>, resident = RESIDENT, spills = 8;
        even_f64: <EvenFloats, u64, 2>, resident = RESIDENT;
    )
)]
pub unsafe fn count<M: Method<B>, B: Bits, const SIDE: usize>(
    tiles: Tiles<'_, B>,
    bounds: Bounds<'_, B>,
    copies: u32,
    parameters: [u64; 4],
    line: Line,
    counted: Counted<'_>,
    control: Out<'_, u64>,
    cleared: Out<'_, u64>,
) {
    let order = Order::<B>::new(parameters);
    let counts = Counts { counted, bins: bounds.bins };
    let shared = Shared::<B>::new(&mut Carver::new(), bounds.bins as u32, copies);
    // SAFETY: the whole block comes here.
    unsafe {
        // These loads are in flight while the block prepares.
        let first = tiles.load(thread::block_idx_x() as u64);
        let clearing = Clearing { cleared, ticket: shared.tickets.take(control) };
        clearing.begin(&counts);
        M::count::<SIDE>(&Call {
            tiles,
            first,
            bounds,
            copies,
            order,
            line,
            counts,
            clearing,
            shared,
        })
    }
}

/// Counts in global memory, by a search. A thread that finds a slot several times in a row counts first
/// and adds once. Grid: as for [`mod@count`].
///
/// # Safety
/// As for [`mod@count`]; `ranks`, one more than `bins`, and the counts are as [`mod@make_bounds`] left them.
#[kernel(block = BLOCK, resident = 2, instances(u16: <u16, 4>; u32: <u32, 4>; u64: <u64, 2>))]
pub unsafe fn count_in_global<B: Bits, const SIDE: usize>(
    tiles: Tiles<'_, B>,
    ranks: In<'_, B>,
    bins: u64,
    parameters: [u64; 4],
    counted: Counted<'_>,
) {
    let order = Order::<B>::new(parameters);
    let counts = Counts { counted, bins };
    let mut run = Run::new();
    let add = |slot, count| counts.add(slot, count as u64);
    tiles.for_each_slot::<SIDE>(
        tiles.load(thread::block_idx_x() as u64),
        |elements| search(order, elements, |i| ranks.get(i), bins as u32),
        |slot| run.count(slot, &add),
    );
    run.flush(&add);
}

/// How the bins of elements are found.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By a search among bounds in shared memory.
    Search,
    /// Computed, for integers in equal bins.
    EvenIntegers,
    /// Computed, for floats in equal bins.
    EvenFloats,
}

/// Elements of one size.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Histograms: Bits + make_bounds::Instance {
    /// The kernel that counts them in shared memory.
    fn counting(how: How) -> Kernel<count::Args<'static, Self>>;
    /// The kernel that counts them in global memory; none, where they always fit the other.
    fn counting_in_global() -> Option<Kernel<count_in_global::Args<'static, Self>>>;
}

/// Bytes are counted by value.
#[cfg(not(target_arch = "nvptx64"))]
impl Histograms for u8 {
    fn counting(_: How) -> Kernel<count::Args<'static, u8>> {
        count::bytes
    }
    fn counting_in_global() -> Option<Kernel<count_in_global::Args<'static, u8>>> {
        None
    }
}

/// There are no floats of two bytes.
#[cfg(not(target_arch = "nvptx64"))]
impl Histograms for u16 {
    fn counting(how: How) -> Kernel<count::Args<'static, u16>> {
        match how {
            How::Search | How::EvenFloats => count::search_u16,
            How::EvenIntegers => count::even_u16,
        }
    }
    fn counting_in_global() -> Option<Kernel<count_in_global::Args<'static, u16>>> {
        Some(count_in_global::u16)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Histograms for u32 {
    fn counting(how: How) -> Kernel<count::Args<'static, u32>> {
        match how {
            How::Search => count::search_u32,
            How::EvenIntegers => count::even_u32,
            How::EvenFloats => count::even_f32,
        }
    }
    fn counting_in_global() -> Option<Kernel<count_in_global::Args<'static, u32>>> {
        Some(count_in_global::u32)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Histograms for u64 {
    fn counting(how: How) -> Kernel<count::Args<'static, u64>> {
        match how {
            How::Search => count::search_u64,
            How::EvenIntegers => count::even_u64,
            How::EvenFloats => count::even_f64,
        }
    }
    fn counting_in_global() -> Option<Kernel<count_in_global::Args<'static, u64>>> {
        Some(count_in_global::u64)
    }
}

device_std::ptx_module! { "histogram" }
