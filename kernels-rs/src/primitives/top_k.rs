//! The first k elements of an order, without sorting the others: crate `gpu-scan`.
//!
//! 1. The rank of the k-th element is found digit by digit, from the highest. [`mod@count`] takes the elements whose
//!    higher digits equal the known ones, and counts their next digit. The last block to finish appends the digit with
//!    which the count reaches k. Each digit costs one read of the keys.
//! 2. [`mod@collect`] copies the elements below that rank with their indices, then as many with that rank as are still
//!    wanted, the first in the array. A look-back over both counts gives their places. This costs one more read.
//!
//! Then [`mod@sort_few`] sorts them, if one block holds them; else the radix sort does (module `sort`).

use device_std::atomic::Pair;
use device_std::block::{BlockScan, LastBlock};
use device_std::lookback::{Lookback, Tickets};
use device_std::shared::{Carver, SharedArray};
use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{In, Out, arguments, atomic, kernel, thread, warp};

use super::operators::{Bits, Order};

/// Threads of a block.
const BLOCK: usize = 256;

/// Bits of a digit.
pub const RADIX_BITS: u32 = 11;
/// Digits.
pub const DIGITS: u32 = 1 << RADIX_BITS;
/// Digits of a thread, when the block goes over all.
const OWN: u32 = DIGITS / BLOCK as u32;

/// Elements of a tile: at most 16 a thread, which are all in registers.
#[cfg(not(target_arch = "nvptx64"))]
pub const fn tile_len<K: collect::Instance>() -> u64 {
    (BLOCK * K::ROWS * 16 / size_of::<K>()) as u64
}

/// The greatest k.
pub const MAX_K: u64 = 1 << 31;

/// Words of a search. The first three are the known bits of the k-th rank, how many of the first k elements have just
/// these bits, and the counter of finished blocks. The counts of the digits follow.
pub const WORDS: u64 = 3 + DIGITS as u64;

/// The words of a search.
#[derive(Clone, Copy)]
struct SearchWords<'a> {
    words: Out<'a, u64>,
}

impl<'a> SearchWords<'a> {
    #[inline(always)]
    fn known(self) -> u64 {
        self.words.get(0u32)
    }

    #[inline(always)]
    fn wanted(self) -> u64 {
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

/// The elements, and their order.
#[arguments]
pub struct Input<'a, K> {
    /// `len` of them.
    pub elements: In<'a, K>,
    /// How many there are.
    pub len: u64,
    /// The parameters of the [`Order`].
    pub parameters: [u64; 4],
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

/// The shared memory of a block of `collect`.
#[derive(Clone, Copy)]
struct CollectShared {
    tickets: Tickets,
    scan: BlockScan<u64>,
    before: SharedArray<u64>,
}

impl CollectShared {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            tickets: Tickets::new(carver),
            scan: BlockScan::new(carver),
            before: carver.array(1),
        }
    }
}

/// Adds pairs of counts that share a word: elements below the k-th rank, fewer than [`MAX_K`], and elements with that
/// rank. The second count saturates at `MAX_K`.
#[inline(always)]
fn add(a: u64, b: u64) -> u64 {
    let below = (a >> 32) + (b >> 32);
    let equal = u64::min((a & 0xffff_ffff) + (b & 0xffff_ffff), MAX_K);
    below << 32 | equal
}

/// Which of a thread's elements are below the k-th rank, and which have that rank: a bit each, row after row.
#[derive(Clone, Copy)]
struct Classes {
    below: u32,
    equal: u32,
}

impl Classes {
    #[inline(always)]
    fn new<K: Bits, const ROWS: usize>(
        tile: &Tile<K, ROWS>,
        rows: &[Vector; ROWS],
        len: u64,
        order: Order<K>,
        rank: K,
    ) -> Self {
        let (mut below, mut equal) = (0, 0);
        let mut i = 0;
        while i < ROWS * K::LANES {
            let (row, lane) = (i / K::LANES, i % K::LANES);
            let own = order.rank(K::lane(rows[row], lane));
            let is_in = tile.element(row).wrapping_add(lane as u64) < len;
            below |= ((is_in && own < rank) as u32) << i;
            equal |= ((is_in && own == rank) as u32) << i;
            i += 1;
        }
        Self { below, equal }
    }

    /// The classes of one row.
    #[inline(always)]
    fn of_row<K: Bits>(self, row: usize) -> Self {
        let (shift, mask) = (row * K::LANES, (1 << K::LANES) - 1);
        Self { below: self.below >> shift & mask, equal: self.equal >> shift & mask }
    }

    /// How many there are, for [`add`].
    #[inline(always)]
    fn counts(self) -> u64 {
        (self.below.count_ones() as u64) << 32 | self.equal.count_ones() as u64
    }
}

/// Collects the first k elements, those below the k-th rank before those with it. Grid: one block a
/// tile.
///
/// # Safety
/// The input is as [`Input`] says, `keys` and `indices` have `k` elements; `words` are those of a finished search;
/// `control` and `status` are as [`Tickets::take`] and [`Lookback::exclusive_prefix`] ask.
#[kernel(
    block = BLOCK,
    resident = 2,
    carve = |carver| CollectShared::new(carver),
    instances(u8: <u8, 1>; u16: <u16, 2>; u32: <u32, 4>; u64: <u64, 4>)
)]
pub unsafe fn collect<K: Bits, const ROWS: usize>(
    input: Input<'_, K>,
    k: u64,
    words: Out<'_, u64>,
    keys: Out<'_, K>,
    indices: Out<'_, u64>,
    control: Out<'_, u64>,
    status: Out<'_, Pair>,
) {
    let Input { elements, len, parameters } = input;
    let (order, search) = (Order::<K>::new(parameters), SearchWords { words });
    let shared = CollectShared::new(&mut Carver::new());
    // SAFETY: the whole block comes to each barrier.
    unsafe {
        let ticket = shared.tickets.take(control);
        let rank = K::from_bits64(search.known());
        let wanted = search.wanted();
        let tile = Tile::<K, ROWS>::new::<BLOCK>(ticket.tile, len, false);
        let rows = tile.load(elements, K::from_bits64(0));
        let classes = Classes::new(&tile, &rows, len, order, rank);
        let own = classes.counts();
        // The places of the warp's elements within a class are computed row by row below.
        let of_warp = warp::reduce(own, add);
        // All lanes of a warp bring its sum, but only the first counts.
        let brought = if warp::lane_id() == 0 { of_warp } else { 0 };
        let (up_to, all) = shared.scan.inclusive(brought, 0, add);
        let up_to_warp = warp::shuffle(warp::FULL, up_to, 0);
        if warp::warp_id() == 0 {
            let lookback = Lookback::new(status, ticket);
            let prefix = lookback.exclusive_prefix(all, false, 0, add);
            if warp::lane_id() == 0 {
                shared.before.store(0, prefix);
            }
        }
        thread::sync_threads();
        // Of many elements nearly all warps have none of the first k.
        if of_warp == 0 {
            return;
        }
        let mut before_row = add(shared.before.load(0), up_to_warp - of_warp);
        let mut row = 0;
        while row < ROWS {
            let classes = classes.of_row::<K>(row);
            let up_to = warp::inclusive_scan(classes.counts(), add);
            let before = add(before_row, up_to - classes.counts());
            before_row = add(before_row, warp::shuffle(warp::FULL, up_to, 31));
            let (mut of_below, mut of_equal) = (before >> 32, before & 0xffff_ffff);
            let mut i = 0;
            while i < K::LANES {
                let is_below = classes.below >> i & 1 == 1;
                let is_equal = classes.equal >> i & 1 == 1;
                let place = if is_below { of_below } else { k - wanted + of_equal };
                if is_below || (is_equal && of_equal < wanted) {
                    keys.set(place, K::lane(rows[row], i));
                    indices.set(place, tile.element(row) + i as u64);
                }
                of_below += is_below as u64;
                of_equal += is_equal as u64;
                i += 1;
            }
            row += 1;
        }
    }
}

/// Threads of a block of `sort_few`, and elements that it sorts.
const HALF: usize = 512;
/// The most elements that [`mod@sort_few`] sorts.
pub const FEW: u64 = 2 * HALF as u64;

/// The ranks and indices of a block of `sort_few`.
#[derive(Clone, Copy)]
struct Pairs {
    ranks: SharedArray<u64>,
    indices: SharedArray<u64>,
}

impl Pairs {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self { ranks: carver.array(FEW as u32), indices: carver.array(FEW as u32) }
    }

    /// Puts two pairs into an order: by rank, then by index.
    #[inline(always)]
    unsafe fn exchange(&self, low: u32, high: u32, rises: bool) {
        // SAFETY: both are below FEW, and no other thread has them, by the caller's promise.
        unsafe {
            let a = (self.ranks.load(low), self.indices.load(low));
            let b = (self.ranks.load(high), self.indices.load(high));
            let is_before = b.0 < a.0 || (b.0 == a.0 && b.1 < a.1);
            if is_before == rises {
                self.ranks.store(low, b.0);
                self.indices.store(low, b.1);
                self.ranks.store(high, a.0);
                self.indices.store(high, a.1);
            }
        }
    }
}

/// Sorts few elements and their indices, in place: by rank, then by index. Grid: one block.
///
/// A bitonic network (Batcher 1968, doi:10.1145/1468075.1468121) over as many elements as the next power of two. Those beyond
/// the array come last.
///
/// # Safety
/// `keys` and `indices` have `len` elements, at most [`FEW`], and are apart. No two indices are equal. `parameters` are
/// those of an [`Order`].
#[kernel(
    block = HALF,
    carve = |carver| Pairs::new(carver),
    instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>)
)]
pub unsafe fn sort_few<K: Bits>(
    keys: Out<'_, K>,
    indices: Out<'_, u64>,
    len: u32,
    parameters: [u64; 4],
) {
    let order = Order::<K>::new(parameters);
    let pairs = Pairs::new(&mut Carver::new());
    let me = thread::thread_idx_x();
    let own = [me, me + HALF as u32];
    // SAFETY: the whole block comes to each barrier; each thread has two places of its own between two of them.
    unsafe {
        let mut i = 0;
        while i < 2 {
            let is_in = own[i] < len;
            let rank = if is_in { order.rank(keys.get(own[i])).to_bits64() } else { u64::MAX };
            pairs.ranks.store(own[i], rank);
            pairs.indices.store(own[i], if is_in { indices.get(own[i]) } else { u64::MAX });
            i += 1;
        }
        thread::sync_threads();
        let all = len.next_power_of_two();
        let mut run = 2;
        while run <= all {
            let mut step = run / 2;
            while step > 0 {
                let low = 2 * me - (me & (step - 1));
                if low < all {
                    pairs.exchange(low, low + step, low & run == 0);
                }
                thread::sync_threads();
                step /= 2;
            }
            run *= 2;
        }
        let mut i = 0;
        while i < 2 {
            if own[i] < len {
                keys.set(own[i], order.element(K::from_bits64(pairs.ranks.load(own[i]))));
                indices.set(own[i], pairs.indices.load(own[i]));
            }
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

device_std::ptx_module! { "top_k" }
