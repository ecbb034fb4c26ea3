//! The elements up to the rank of the k-th, in the order of the array.

use device_std::atomic::Pair;
use device_std::block::BlockScan;
use device_std::lookback::{Lookback, Tickets};
use device_std::shared::{Carver, SharedArray};
use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{Out, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::search::SearchWords;
use super::{Input, MAX_K};
use crate::primitives::operators::{Bits, Order};

/// Threads of a block.
const BLOCK: usize = 256;

/// Elements of a tile: at most 16 a thread, which are all in registers.
#[cfg(not(target_arch = "nvptx64"))]
pub const fn tile_len<K: collect::Instance>() -> u64 {
    (BLOCK * K::ROWS * 16 / size_of::<K>()) as u64
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
