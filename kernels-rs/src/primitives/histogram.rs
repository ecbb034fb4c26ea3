//! Histograms: crate `gpu-scan`.
//!
//! Bins lie between bounds that rise. Elements and bounds are compared as ranks (see
//! [`Order`]); what is below the first bound, not below the last, or NaN has a slot of its own:
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
//! 1. A first kernel makes the ranks of the bounds, of given ones or of equal bins, and sets the
//!    counts to zero.
//! 2. Blocks take tiles in turn and count in shared memory, where the bounds lie too. There are
//!    several copies of the counters, so that warps seldom meet; lanes of a warp that meet count in
//!    one step. At the end each block adds its counts to the result.
//!
//! Between given bounds a slot is found by a binary search. Every search takes the same number of
//! steps, so a thread searches for several elements side by side. In equal bins it is
//! computed in f32; an element that is closer to a bound than rounding may have moved it is compared
//! with the bounds around it, and its slot moved until it lies between them: so bounds decide
//! alone, and rounding does not show. With more bins than shared memory holds, bounds are read from
//! global memory and counts added there at once; a thread that finds a slot several times in a row
//! counts first and adds once.
//!
//! Elements of one byte are counted by value, of which there are 256, and only the counts are
//! brought to bins.

#[cfg(not(target_arch = "nvptx64"))]
use device_std::host::Kernel;
use device_std::shared::{Carver, Plain, SharedArray};
use device_std::{kernel, thread};

use super::operators::{Bits, Order};

mod bounds;
mod counters;
mod methods;
mod slots;

pub use bounds::{Even, rank_of_bound};
use counters::Counts;
use methods::{Bytes, Call, EvenFloats, EvenIntegers, Global, Method, Search};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Rows of a tile: vectors that a thread loads at once.
const ROWS: usize = 2;

/// Elements of a tile.
pub const fn tile_len(element_size: usize) -> u64 {
    (BLOCK * ROWS * 16 / element_size) as u64
}

/// The most tiles of a block: its counters have 32 bits.
pub const MOST_TILES: u64 = (u32::MAX as u64) / tile_len(1);

/// Counters beyond those of the bins.
pub const OUTSIDE: u64 = 3;

/// The most bins: slots have 32 bits.
pub const MOST_BINS: u64 = u32::MAX as u64 - OUTSIDE;

/// Bytes of shared memory that counters and bounds may take: what every device gives a block.
const MOST_SHARED: u64 = 48 << 10;

/// Bytes of shared memory that copies of the counters may take: enough blocks still fit on a
/// multiprocessor that all its threads are busy.
const COPIES_SHARED: u64 = 16 << 10;

/// The values of a byte.
const BYTES: u32 = 256;

/// What a block keeps in shared memory.
#[derive(Clone, Copy)]
struct Shared<B> {
    /// The ranks of the bounds.
    ranks: SharedArray<B>,
    /// Copies of the counters: of the slots, or of the values of a byte.
    counters: SharedArray<u32>,
}

impl<B: Plain> Shared<B> {
    #[inline(always)]
    const fn new(carver: &mut Carver, bins: u32, copies: u32) -> Self {
        match size_of::<B>() {
            1 => Self { ranks: carver.array(0), counters: carver.array(copies * BYTES) },
            _ => Self {
                ranks: carver.array(bins + 1),
                counters: carver.array(copies * (bins + OUTSIDE as u32)),
            },
        }
    }
}

/// Bytes of shared memory.
const fn shared_bytes<B: Plain>(bins: u64, copies: u32) -> u32 {
    if copies == 0 {
        return 0;
    }
    let mut carver = Carver::new();
    let _ = Shared::<B>::new(&mut carver, bins as u32, copies);
    carver.bytes()
}

/// Copies of the counters in shared memory; 0 where they are in global memory.
pub const fn copies<B: Plain>(bins: u64) -> u32 {
    let most = (BLOCK / 32) as u32;
    if size_of::<B>() == 1 {
        return most;
    }
    if bins >= MOST_SHARED || shared_bytes::<B>(bins, 1) as u64 > MOST_SHARED {
        return 0;
    }
    let mut copies = 1;
    while copies < most && 2 * copies as u64 * (bins + OUTSIDE) * 4 <= COPIES_SHARED {
        copies *= 2;
    }
    // Should the bounds leave no room for them, there are fewer copies.
    while shared_bytes::<B>(bins, copies) as u64 > MOST_SHARED {
        copies /= 2;
    }
    copies
}

/// Makes the bounds, as ranks, and sets the counts to zero. Grid: a thread for each bound, and at
/// least [`OUTSIDE`].
///
/// # Safety
/// `thresholds` is null or has `bins + 1` elements, `ranks` has as many, the array of counts that is
/// not null `bins`, `outside` [`OUTSIDE`].
#[kernel(named, block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>))]
pub unsafe fn make_bounds<B: Bits>(
    thresholds: *const B,
    first: u64,
    quotient: u64,
    rest: u64,
    floats: u32,
    bins: u64,
    parameters: [u64; 4],
    ranks: *mut B,
    words: *mut u32,
    long_words: *mut u64,
    outside: *mut u64,
) {
    let order = Order::<B>::new(parameters);
    let even = Even { first, quotient, rest, bins, floats: floats != 0 };
    let i = thread::index_1d();
    // SAFETY: guarded by the lengths.
    unsafe {
        Counts { words, long_words, outside, bins }.clear(i);
        if i <= bins {
            let at = i as usize;
            *ranks.add(at) = match thresholds.is_null() {
                true => even.rank(order, i),
                false => rank_of_bound(order, *thresholds.add(at)),
            };
        }
    }
}

/// Counts by one of the methods; `lower` and `scale` are the bits of the lowest bound and bins per
/// unit, for equal bins. Grid: any number of blocks that leaves each at most [`MOST_TILES`].
///
/// # Safety
/// `input` has `len` elements, `ranks` `bins + 1`, the array of counts that is not null `bins`,
/// `outside` [`OUTSIDE`]. There are as many [`copies`] as fit, and none where the method uses none.
#[kernel(
    named,
    block = BLOCK,
    resident = 4,
    shared = |args| shared_bytes::<B>(args.bins, args.copies),
    instances(
        bytes: <Bytes, u8, 4>;
        search_u16: <Search, u16, 4>; search_u32: <Search, u32, 4>; search_u64: <Search, u64, 2>;
        even_u16: <EvenIntegers, u16, 4>; even_u32: <EvenIntegers, u32, 4>;
        even_u64: <EvenIntegers, u64, 2>;
        even_f32: <EvenFloats, u32, 4>; even_f64: <EvenFloats, u64, 2>;
        global_u16: <Global, u16, 4>; global_u32: <Global, u32, 4>; global_u64: <Global, u64, 2>;
    )
)]
pub unsafe fn count<M: Method<B>, B: Bits, const SIDE: usize>(
    input: *const B,
    len: u64,
    ranks: *const B,
    bins: u64,
    copies: u32,
    parameters: [u64; 4],
    lower: u64,
    scale: f32,
    words: *mut u32,
    long_words: *mut u64,
    outside: *mut u64,
) {
    let order = Order::<B>::new(parameters);
    let counts = Counts { words, long_words, outside, bins };
    let call = Call { input, len, ranks, copies, order, lower, scale, counts };
    // SAFETY: passed on to the caller.
    unsafe { M::count::<SIDE>(&call) }
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
    /// By a search among bounds in global memory.
    Global,
}

/// Elements of one size.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Histograms: Bits + make_bounds::Instance {
    /// The kernel that counts them.
    fn counting(how: How) -> Kernel<count::Args<Self>>;
}

/// Bytes are counted by value.
#[cfg(not(target_arch = "nvptx64"))]
impl Histograms for u8 {
    fn counting(_: How) -> Kernel<count::Args<u8>> {
        count::bytes
    }
}

/// There are no floats of two bytes.
#[cfg(not(target_arch = "nvptx64"))]
impl Histograms for u16 {
    fn counting(how: How) -> Kernel<count::Args<u16>> {
        match how {
            How::Search | How::EvenFloats => count::search_u16,
            How::EvenIntegers => count::even_u16,
            How::Global => count::global_u16,
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Histograms for u32 {
    fn counting(how: How) -> Kernel<count::Args<u32>> {
        match how {
            How::Search => count::search_u32,
            How::EvenIntegers => count::even_u32,
            How::EvenFloats => count::even_f32,
            How::Global => count::global_u32,
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Histograms for u64 {
    fn counting(how: How) -> Kernel<count::Args<u64>> {
        match how {
            How::Search => count::search_u64,
            How::EvenIntegers => count::even_u64,
            How::EvenFloats => count::even_f64,
            How::Global => count::global_u64,
        }
    }
}

device_std::ptx_module! { "histogram" }
