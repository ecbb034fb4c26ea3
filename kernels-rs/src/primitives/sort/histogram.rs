//! The histogram of all passes: the keys are read once and the digits of each pass counted.

use device_std::shared::{Carver, SharedArray};
use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::digits::{DIGITS, Key, Range};
use super::lookback::clear_stale;
use crate::primitives::operators::Order;

/// Threads of a block.
const BLOCK: usize = 256;
/// The most keys of a thread that are in registers at once.
const MAX_KEYS: usize = 16;

/// Keys of a tile of the histogram.
#[cfg(not(target_arch = "nvptx64"))]
pub const fn histogram_tile<K: count_digits::Instance>() -> u64 {
    (BLOCK * K::ROWS * 16 / size_of::<K>()) as u64
}

/// Blocks that a multiprocessor holds.
pub const RESIDENT: u32 = 4;

/// Counters of a block for keys of a size: each digit of each pass has some, so that the lanes of
/// a warp seldom meet in one bank.
#[derive(Clone, Copy)]
struct Counters {
    counts: SharedArray<u32>,
    passes: u32,
    copies: u32,
}

impl Counters {
    #[inline(always)]
    const fn new(size: usize, carver: &mut Carver) -> Self {
        let passes = size as u32;
        // 32 KiB for every size of key.
        let copies = 32 / passes;
        Self { counts: carver.array(passes * DIGITS * copies), passes, copies }
    }
}

/// The ranks of a thread's keys, which come first in the array.
#[inline(always)]
fn ranks<K: Key, const ROWS: usize>(rows: [Vector; ROWS], order: Order<K>) -> [K; MAX_KEYS] {
    let mut ranks = [K::ONES; MAX_KEYS];
    let mut i = 0;
    while i < ROWS * K::LANES {
        ranks[i] = order.rank(K::lane(rows[i / K::LANES], i % K::LANES));
        i += 1;
    }
    ranks
}

/// Adds the digits of all passes to `histogram`, where bits `begin..end` of the keys' ranks are sorted by. Grid: any
/// number of blocks.
///
/// # Safety
/// `input` has `len` elements, more than none; `histogram` has 256 elements for each pass; `status` has
/// `status_len + 1`. No pass over this control word and these statuses runs.
#[kernel(
    block = BLOCK,
    resident = RESIDENT,
    carve = |carver| Counters::new(size_of::<K>(), carver),
    instances(u8: <u8, 1>; u16: <u16, 2>; u32: <u32, 4>; u64: <u64, 4>)
)]
pub unsafe fn count_digits<K: Key, const ROWS: usize>(
    input: In<'_, K>,
    len: u64,
    begin: u32,
    end: u32,
    parameters: [u64; 4],
    histogram: Out<'_, u64>,
    control: Out<'_, u64>,
    status: Out<'_, u64>,
    status_len: u64,
) {
    let (order, range) = (Order::<K>::new(parameters), Range { begin, end });
    let counters = Counters::new(16 / K::LANES, &mut Carver::new());
    let Counters { counts, passes, copies } = counters;
    let me = thread::thread_idx_x();
    let fill = order.element(K::from_bits64(0));
    // SAFETY: the whole block comes to each barrier; counters are below their number.
    unsafe {
        let mut i = me;
        while i < passes * DIGITS * copies {
            counts.store(i, 0);
            i += BLOCK as u32;
        }
        if thread::block_idx_x() == 0 {
            clear_stale(control, status, status_len);
        }
        thread::sync_threads();
        let tile_len = (BLOCK * ROWS * K::LANES) as u64;
        let tiles = len.div_ceil(tile_len);
        let mut index = thread::block_idx_x() as u64;
        while index < tiles {
            let tile = Tile::<K, ROWS>::new::<BLOCK>(index, len, false);
            let keys = ranks(tile.load(input, fill), order);
            let mut pass = 0;
            while pass < passes {
                if pass < range.passes() {
                    let digit = range.digit(pass);
                    let mut i = 0;
                    while i < ROWS * K::LANES {
                        let counter = pass * DIGITS + digit.of(keys[i]);
                        counts.count(counter * copies + me % copies);
                        i += 1;
                    }
                }
                pass += 1;
            }
            index += thread::grid_dim_x() as u64;
        }
        thread::sync_threads();
        // The padding of the last tile was counted as rank 0.
        let holds_last = (tiles - 1).checked_rem(thread::grid_dim_x() as u64).unwrap_or(0);
        let padding = tiles * tile_len - len;
        let mut digit = me;
        while digit < range.passes() * DIGITS {
            let mut sum = 0;
            let mut copy = 0;
            while copy < copies {
                sum += counts.load(digit * copies + copy);
                copy += 1;
            }
            if digit.is_multiple_of(DIGITS) && thread::block_idx_x() as u64 == holds_last {
                sum -= padding as u32;
            }
            if sum != 0 {
                histogram.fetch_add(digit, sum as u64);
            }
            digit += BLOCK as u32;
        }
    }
}
