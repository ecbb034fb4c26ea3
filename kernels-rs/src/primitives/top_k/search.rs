//! The rank of the k-th element, digit by digit: one read of all elements for each.

use device_std::block::{BlockScan, LastBlock};
use device_std::shared::{Carver, SharedArray};
use device_std::tile::Tile;
use device_std::{Out, atomic, kernel, thread};

use super::Input;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::primitives::operators::{Bits, Order};

/// Threads of a block.
const BLOCK: usize = 256;

/// Bits of a digit.
pub const RADIX_BITS: u32 = 11;
/// Digits.
const DIGITS: u32 = 1 << RADIX_BITS;
/// Digits of a thread, when the block goes over all.
const OWN: u32 = DIGITS / BLOCK as u32;

/// Words of a search. The first three are the known bits of the k-th rank, how many of the first k elements have just
/// these bits, and the counter of finished blocks. The counts of the digits follow.
pub const WORDS: u64 = 3 + DIGITS as u64;

/// The words of a search.
#[derive(Clone, Copy)]
pub(super) struct SearchWords<'a> {
    pub(super) words: Out<'a, u64>,
}

impl<'a> SearchWords<'a> {
    #[inline(always)]
    pub(super) fn known(self) -> u64 {
        self.words.get(0u32)
    }

    #[inline(always)]
    pub(super) fn wanted(self) -> u64 {
        self.words.get(1u32)
    }

    #[inline(always)]
    fn set(self, known: u64, wanted: u64) {
        self.words.set(0u32, known);
        self.words.set(1u32, wanted);
    }

    #[inline(always)]
    fn done(self) -> Out<'a, u32> {
        // SAFETY: half of a word, of any bits.
        unsafe { self.words.from(2u32).cast() }
    }

    /// One for each digit.
    #[inline(always)]
    fn counts(self) -> Out<'a, u64> {
        self.words.from(3u32)
    }
}

/// The shared memory of a block of `count`.
#[derive(Clone, Copy)]
struct CountShared {
    counts: SharedArray<u32>,
    scan: BlockScan<u64>,
    last: LastBlock,
}

impl CountShared {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            counts: carver.array(DIGITS),
            scan: BlockScan::new(carver),
            last: LastBlock::new(carver),
        }
    }
}

/// Finds the next digit of the k-th rank. Grid: any number of blocks.
///
/// # Safety
/// The input is as [`Input`] says. `words` are those of a search ([`WORDS`]): at first all 0 except the number wanted,
/// which is from 1 up to the number of elements.
#[kernel(
    block = BLOCK,
    resident = 4,
    carve = |carver| CountShared::new(carver),
    instances(u8: <u8, 1>; u16: <u16, 2>; u32: <u32, 4>; u64: <u64, 4>)
)]
pub unsafe fn count<K: Bits, const ROWS: usize>(
    input: Input<'_, K>,
    shift: u32,
    bits: u32,
    words: Out<'_, u64>,
) {
    let Input { elements, len, parameters } = input;
    let (order, search) = (Order::<K>::new(parameters), SearchWords { words });
    let shared = CountShared::new(&mut Carver::new());
    let me = thread::thread_idx_x();
    let mask = (1 << bits) - 1;
    // SAFETY: the whole block comes to each barrier; digits are below their number.
    unsafe {
        let mut i = 0;
        while i < OWN {
            shared.counts.store(i * BLOCK as u32 + me, 0);
            i += 1;
        }
        let known = search.known();
        thread::sync_threads();
        let tiles = len.div_ceil((BLOCK * ROWS * K::LANES) as u64);
        let mut index = thread::block_idx_x() as u64;
        while index < tiles {
            let tile = Tile::<K, ROWS>::new::<BLOCK>(index, len, false);
            let rows = tile.load(elements, K::from_bits64(0));
            let mut i = 0;
            while i < ROWS * K::LANES {
                let (row, lane) = (i / K::LANES, i % K::LANES);
                let rank = order.rank(K::lane(rows[row], lane)).to_bits64();
                let is_in = tile.element(row).wrapping_add(lane as u64) < len;
                // Two shifts: one by all bits would be none.
                if is_in && (rank ^ known) >> shift >> bits == 0 {
                    shared.counts.count((rank >> shift) as u32 & mask);
                }
                i += 1;
            }
            index += thread::grid_dim_x() as u64;
        }
        thread::sync_threads();
        let mut i = 0;
        while i < OWN {
            let digit = i * BLOCK as u32 + me;
            let count = shared.counts.load(digit);
            if count != 0 {
                search.counts().fetch_add(digit, count as u64);
            }
            i += 1;
        }
        thread::sync_threads();
        if shared.last.is_this(search.done(), thread::grid_dim_x()) {
            choose(shared.scan, search, known, shift);
        }
    }
}

/// Appends to the known bits the digit with which the count reaches the number wanted. The whole last block calls it.
#[inline(always)]
unsafe fn choose(scan: BlockScan<u64>, search: SearchWords, known: u64, shift: u32) {
    let me = thread::thread_idx_x();
    // SAFETY: the whole block comes to the scan, by the caller's promise; its barriers stand between the reads of a
    // word and the writes. All other blocks are done; their counts, made by atomics, are read past the caches.
    unsafe {
        let wanted = search.wanted();
        let mut own = [0; OWN as usize];
        let mut sum = 0;
        let mut i = 0;
        while i < OWN as usize {
            let place = me as usize * OWN as usize + i;
            own[i] = atomic::load_u64(search.counts().address(place, 1));
            search.counts().set(place, 0);
            sum += own[i];
            i += 1;
        }
        let (up_to, _) = scan.inclusive(sum, 0, |a, b| a + b);
        let mut before = up_to - sum;
        let mut i = 0;
        while i < OWN as usize {
            if before < wanted && wanted <= before + own[i] {
                let known = known | ((me * OWN) as u64 + i as u64) << shift;
                search.set(known, wanted - before);
            }
            before += own[i];
            i += 1;
        }
    }
}

/// Writes the words of a search for k elements. Grid: one block.
///
/// # Safety
/// `words` has [`WORDS`] elements.
#[kernel(block = BLOCK)]
pub unsafe fn begin_search(words: Out<'_, u64>, k: u64) {
    let mut i = thread::thread_idx_x() as u64;
    while i < WORDS {
        words.set(i, if i == 1 { k } else { 0 });
        i += BLOCK as u64;
    }
}
