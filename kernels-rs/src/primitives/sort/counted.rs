//! Keys of one byte, written from their histogram: a sort by counting.

use device_std::block::{BlockScan, LastBlock};
use device_std::shared::{Carver, SharedArray};
use device_std::tile::Tile;
use device_std::vector::{self, Vector};
use device_std::{Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::digits::DIGITS;
use crate::primitives::operators::Order;

/// Threads of a block: one for each rank.
const BLOCK: usize = DIGITS as usize;

/// Keys of a tile.
pub const COUNTED_TILE: u64 = BLOCK as u64 * 16;

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Shared {
    scan: BlockScan<u64>,
    last: LastBlock,
    /// Where the run of each rank ends in the sorted array.
    ends: SharedArray<u64>,
}

impl Shared {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        let (scan, last) = (BlockScan::new(carver), LastBlock::new(carver));
        Self { scan, last, ends: carver.array(DIGITS) }
    }

    /// The rank of the sorted array's element `at`; the last rank beyond the array.
    #[inline(always)]
    unsafe fn rank(&self, at: u64) -> u32 {
        let (mut rank, mut step) = (0, DIGITS / 2);
        while step > 0 {
            // SAFETY: the steps left add up to less than what is left of the ranks.
            if unsafe { self.ends.load(rank + step - 1) } <= at {
                rank += step;
            }
            step /= 2;
        }
        rank
    }

    /// The 16 sorted keys from element `first` on.
    #[inline(always)]
    unsafe fn keys(&self, first: u64, order: Order<u8>) -> Vector {
        // SAFETY: a rank is below DIGITS.
        unsafe {
            let mut rank = self.rank(first);
            let key = order.element(rank as u8) as u32 * 0x0101_0101;
            if self.ends.load(rank) > first + 15 {
                return [key; 4];
            }
            let mut keys = 0;
            let mut i = 0;
            while i < vector::unknown(16) {
                while rank < DIGITS - 1 && self.ends.load(rank) <= first + i as u64 {
                    rank += 1;
                }
                keys = keys >> 8 | (order.element(rank as u8) as u128) << 120;
                i += 1;
            }
            [keys as u32, (keys >> 32) as u32, (keys >> 64) as u32, (keys >> 96) as u32]
        }
    }
}

/// Writes the keys of each rank as often as `histogram` counts the rank, and leaves the histogram at zero. Grid: any
/// number of blocks.
///
/// # Safety
/// `output` has `len` elements, and `histogram` has 256 counts. `done` is as [`LastBlock::is_this`] asks.
#[kernel(block = BLOCK, resident = 4, carve = |carver| Shared::new(carver))]
pub unsafe fn write_counted(
    output: Out<'_, u8>,
    len: u64,
    parameters: [u64; 4],
    histogram: Out<'_, u64>,
    done: Out<'_, u32>,
) {
    let order = Order::<u8>::new(parameters);
    let shared = Shared::new(&mut Carver::new());
    let me = thread::thread_idx_x();
    // SAFETY: the whole block comes to each barrier. One of them stands between the ends' stores and their loads, and
    // all blocks have read the histogram before the last one clears it.
    unsafe {
        let (end, _) = shared.scan.inclusive(histogram.get(me), 0, |a, b| a + b);
        shared.ends.store(me, end);
        if shared.last.is_this(done, thread::grid_dim_x()) {
            histogram.set(me, 0);
        }
        let tiles = len.div_ceil(COUNTED_TILE);
        let mut index = thread::block_idx_x() as u64;
        while index < tiles {
            let tile = Tile::<u8, 1>::new::<BLOCK>(index, len, false);
            tile.store(output, 0, shared.keys(tile.element(0), order));
            index += thread::grid_dim_x() as u64;
        }
    }
}
