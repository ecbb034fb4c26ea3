//! The first few elements by one read of all: a threshold from a sample, what is below it, and the first of that.

use device_std::shared::{Carver, SharedArray};
use device_std::tile::Tile;
use device_std::{In, Out, arguments, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::elements::{Held, InMemory, Ranked};
use super::few::{FEW, Few};
use crate::primitives::operators::{Bits, Order};

/// Threads of a block that filters.
const BLOCK: usize = 256;
/// Threads of a block that samples or finishes.
const WIDE: usize = 1024;

/// Elements of a sample. If at most half as many are expected to be left, no other round follows.
pub const SAMPLE: u64 = 8192;

/// The elements of one round, and their order.
#[arguments]
pub struct Source<'a, K> {
    /// `len` of them, or as many as were taken.
    pub elements: In<'a, K>,
    /// Their indices; if empty, each has its own place.
    pub indices: In<'a, u64>,
    /// How many there are, or may be: fewer than 2^32.
    pub len: u64,
    /// One element, how many were taken; or empty.
    pub taken: In<'a, u64>,
    /// The parameters of the [`Order`].
    pub parameters: [u64; 4],
}

impl<'a, K: Bits> Source<'a, K> {
    /// How many elements there are. None if more were taken than there is room for.
    #[inline(always)]
    fn len(&self) -> u64 {
        if self.taken.is_missing() {
            return self.len;
        }
        let taken = self.taken.get(0u32);
        if taken > self.len { 0 } else { taken }
    }

    #[inline(always)]
    fn index(&self, place: u64) -> u64 {
        if self.indices.is_missing() { place } else { self.indices.get(place) }
    }

    /// Some of its elements.
    #[inline(always)]
    fn at<P: Fn(u32) -> u64>(&self, count: u32, place: P) -> InMemory<'a, K, P> {
        let Self { elements, parameters, .. } = *self;
        let indices = (!self.indices.is_missing()).then_some(self.indices);
        InMemory { keys: elements, indices, parameters, count, place }
    }
}

/// What a round leaves.
#[arguments]
pub struct Candidates<'a, K> {
    /// `room` of them.
    pub elements: Out<'a, K>,
    /// As many.
    pub indices: Out<'a, u64>,
    /// How many there may be.
    pub room: u64,
    /// Three elements: how many were taken, also beyond the room, the greatest rank that is taken, and the greatest index
    /// with that rank.
    pub words: Out<'a, u64>,
}

/// Elements of which each has one in the sample, and how many of the sample are taken, so that k of `len` elements are
/// among the taken.
///
/// The number of the sample's elements among the first k is a Poisson variable of mean m = k / step. Taken are four of its
/// deviations more, 4 sqrt(m) <= m / 3 + 12, from below.
#[inline(always)]
fn sampled(len: u64, k: u64) -> (u64, u64) {
    let step = len.div_ceil(SAMPLE);
    let mean = k.div_ceil(step);
    (step, mean + mean / 3 + 12)
}

/// How many of `len` elements are taken in the mean.
pub fn expected(len: u64, k: u64) -> u64 {
    let (step, taken) = sampled(len, k);
    step * taken
}

/// Chooses the greatest rank that is taken, and the greatest index with it. Grid: one block.
///
/// # Safety
/// The arguments are as [`Source`] and [`Candidates`] say; k is not 0.
#[kernel(
    block = WIDE,
    spills = 64,
    carve = |carver| Few::<<K as Ranked>::Entry, WIDE>::new(carver),
    instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>)
)]
pub unsafe fn threshold<K: Ranked>(
    source: Source<'_, K>,
    index_bits: u32,
    k: u64,
    candidates: Candidates<'_, K>,
) {
    let few = Few::<K::Entry, WIDE>::new(&mut Carver::new());
    let len = source.len();
    let mut greatest = (u64::MAX, u64::MAX);
    if len > k {
        let (step, wanted) = sampled(len, k);
        let count = len.div_ceil(step) as u32;
        let wanted = u32::min(wanted as u32, count);
        // One of each step, at places that follow no period: multiples of the golden ratio.
        let sample = source.at(count, |i| {
            let within = (i.wrapping_mul(0x9e37_79b9) as u64 * step) >> 32;
            u64::min(i as u64 * step + within, len - 1)
        });
        let sample = Held::new(sample);
        // SAFETY: the whole block comes here, and `len` is the same for all.
        let cut = unsafe { few.cut(&sample, (wanted, wanted + wanted / 4), index_bits) };
        greatest = cut.greatest();
    }
    if thread::thread_idx_x() == 0 {
        candidates.words.set(0u32, 0);
        candidates.words.set(1u32, greatest.0);
        candidates.words.set(2u32, greatest.1);
    }
}

/// The places of elements that a warp keeps until there are many: candidates are counted in one word, which takes few
/// additions at a time.
#[derive(Clone, Copy)]
struct Kept {
    places: SharedArray<u32>,
    /// How many there are.
    count: u32,
}

impl Kept {
    /// Places of a warp.
    const ROOM: u32 = 128;

    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self { places: carver.array(Self::ROOM * (BLOCK / 32) as u32), count: 0 }
    }

    /// Adds a thread's elements, a bit each.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn add<K: Bits>(
        &mut self,
        bits: u32,
        place: impl Fn(u32) -> u32,
        (source, candidates): (&Source<K>, &Candidates<K>),
    ) {
        let own = bits.count_ones();
        // SAFETY: the warp's own places; the whole warp is here, by the caller's promise.
        unsafe {
            let up_to = warp::inclusive_scan(own, |a, b| a + b);
            let all = warp::shuffle(warp::FULL, up_to, 31);
            if self.count + all > Self::ROOM {
                self.flush(source, candidates);
            }
            let (mut to, mut rest) = (up_to - own, bits);
            if all > Self::ROOM {
                let first = candidates.reserve(all);
                while rest != 0 {
                    candidates.set(first + to as u64, place(rest.trailing_zeros()), source);
                    rest &= rest - 1;
                    to += 1;
                }
                return;
            }
            while rest != 0 {
                let held = warp::warp_id() * Self::ROOM + self.count + to;
                self.places.store(held, place(rest.trailing_zeros()));
                rest &= rest - 1;
                to += 1;
            }
            self.count += all;
        }
    }

    /// Makes candidates of all.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn flush<K: Bits>(&mut self, source: &Source<K>, candidates: &Candidates<K>) {
        // SAFETY: as for `add`.
        unsafe {
            warp::sync_warp(warp::FULL);
            let first = candidates.reserve(self.count);
            let mut i = warp::lane_id();
            while i < self.count {
                let place = self.places.load(warp::warp_id() * Self::ROOM + i);
                candidates.set(first + i as u64, place, source);
                i += 32;
            }
            warp::sync_warp(warp::FULL);
        }
        self.count = 0;
    }
}

impl<K: Bits> Candidates<'_, K> {
    /// Places for so many. The whole warp comes here.
    #[inline(always)]
    unsafe fn reserve(&self, count: u32) -> u64 {
        let mut first = 0;
        if warp::lane_id() == 0 && count != 0 {
            first = self.words.fetch_add(0u32, count as u64);
        }
        // SAFETY: the whole warp is here, by the caller's promise.
        unsafe { warp::shuffle(warp::FULL, first, 0) }
    }

    /// Writes the element at a place of the source, if there is room.
    #[inline(always)]
    fn set(&self, to: u64, place: u32, source: &Source<K>) {
        if to < self.room {
            self.elements.set(to, source.elements.get(place));
            self.indices.set(to, source.index(place as u64));
        }
    }

    /// Whether an element up to the greatest rank is within the array, and up to the greatest index.
    #[inline(always)]
    fn takes(&self, place: u64, source: &Source<K>) -> bool {
        let (greatest, greatest_index) = (self.words.get(1u32), self.words.get(2u32));
        let rank = |place| {
            let order = Order::<K>::new(source.parameters);
            order.rank(source.elements.get(place)).to_bits64()
        };
        place < source.len()
            && (greatest_index == u64::MAX
                || rank(place) != greatest
                || source.index(place) <= greatest_index)
    }
}

/// Keeps the elements up to the greatest that is taken, in no order. Grid: any number of blocks.
///
/// # Safety
/// The arguments are as [`Source`] and [`Candidates`] say, after [`mod@threshold`].
#[kernel(
    block = BLOCK,
    resident = 4,
    carve = |carver| Kept::new(carver),
    instances(u8: <u8, 1>; u16: <u16, 1>; u32: <u32, 4>; u64: <u64, 4>)
)]
pub unsafe fn filter<K: Bits, const ROWS: usize>(
    source: Source<'_, K>,
    candidates: Candidates<'_, K>,
) {
    let mut all_kept = Kept::new(&mut Carver::new());
    let len = source.len();
    let order = Order::<K>::new(source.parameters);
    let greatest = K::from_bits64(candidates.words.get(1u32));
    let stride = thread::grid_dim_x() as u64;
    let tiles = len.div_ceil((BLOCK * ROWS * K::LANES) as u64);
    let mut index = thread::block_idx_x() as u64;
    if index >= tiles {
        return;
    }
    let at = |index| Tile::<K, ROWS>::new::<BLOCK>(index, len, false);
    let mut tile = at(index);
    let mut rows = tile.load(source.elements, K::from_bits64(0));
    while index < tiles {
        // The next tile is on its way meanwhile.
        let next = at(index + stride);
        let next_rows = next.load(source.elements, K::from_bits64(0));
        let mut kept = 0_u32;
        let mut i = 0;
        while i < ROWS * K::LANES {
            let is_kept = order.rank(K::lane(rows[i / K::LANES], i % K::LANES)) <= greatest;
            kept |= (is_kept as u32) << i;
            i += 1;
        }
        // SAFETY: the whole block goes over the same tiles.
        unsafe {
            if warp::any(warp::FULL, kept != 0) {
                let place = |i: u32| {
                    let (row, lane) = (i as usize / K::LANES, i as usize % K::LANES);
                    tile.element(row).wrapping_add(lane as u64)
                };
                let mut rest = kept;
                while rest != 0 {
                    let i = rest.trailing_zeros();
                    if !candidates.takes(place(i), &source) {
                        kept &= !(1 << i);
                    }
                    rest &= rest - 1;
                }
                all_kept.add(kept, |i| place(i) as u32, (&source, &candidates));
            }
        }
        (tile, rows) = (next, next_rows);
        index += stride;
    }
    // SAFETY: as above.
    unsafe { all_kept.flush(&source, &candidates) };
}

/// Writes the first k elements and their indices, in order: of the candidates, or, if these are too few or too many, of
/// all elements. Grid: one block.
///
/// # Safety
/// The sources are as [`Source`] says. `keys` and `indices` have `k` elements, at most [`FEW`] and as many as all, and lie
/// apart.
#[kernel(
    block = WIDE,
    spills = 64,
    carve = |carver| Few::<<K as Ranked>::Entry, WIDE>::new(carver),
    instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>)
)]
pub unsafe fn finish<K: Ranked>(
    candidates: Source<'_, K>,
    all: Source<'_, K>,
    index_bits: u32,
    k: u32,
    keys: Out<'_, K>,
    indices: Out<'_, u64>,
) {
    let few = Few::<K::Entry, WIDE>::new(&mut Carver::new());
    let order = Order::<K>::new(all.parameters);
    let source = if candidates.len() < k as u64 { all } else { candidates };
    let elements = source.at(source.len() as u32, |i| i as u64);
    // SAFETY: the whole block comes here, and goes the same way.
    unsafe {
        few.first(&elements, (k, FEW as u32), index_bits);
        let mut i = thread::thread_idx_x();
        while i < k {
            let (rank, index) = few.element(i);
            keys.set(i, order.element(K::from_bits64(rank)));
            indices.set(i, index);
            i += WIDE as u32;
        }
    }
}
