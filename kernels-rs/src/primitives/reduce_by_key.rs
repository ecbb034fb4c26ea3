//! Reduction by key in one pass: crate `gpu-scan`.
//!
//! One block a tile of keys and of values; each is read once, and each run's key and total written
//! once. The plan, with what `stretches` has of it:
//!
//! 1. Load: each warp has its part of the keys copied to shared memory.
//! 2. Heads: a thread marks the keys of its stretch that differ from the one before, and a warp scan of their number
//!    gives each head its slot. The warp that counts last publishes the number of the tile's heads. Then the block
//!    fetches the values; earlier, they would delay the look-back. While they are in flight, each warp moves the keys
//!    at its heads to the front of its part. Meanwhile one warp looks back for the number of runs that began in the
//!    tiles before.
//! 3. Walk: the thread adds up its values from head to head, and the warps exchange what they end
//!    with.
//! 4. Each thread completes its first total, and each warp writes its keys and totals, which follow
//!    each other in memory. One warp publishes what the tile ends with, and looks back for the total
//!    of the run that came in; it alone waits for that.
//!
//! Where run r + 1 begins, the total of run r is known. The end of the array is also a head, though of no run, so the
//! last total needs no rule of its own. If the array fills its tiles, this head takes one more tile.
//!
//! The order in which values are combined depends on their places alone: see `gpu-scan`'s documentation of it. A tile
//! that has a head publishes its end as final at once. So tiles wait for each other only where a run spans whole tiles.

use device_std::atomic::Pair;
#[cfg(not(target_arch = "nvptx64"))]
use device_std::host::Kernel;
use device_std::lookback::{Lookback, Ticket, Tickets};
use device_std::scalar::Scalar;
use device_std::shared::{Carver, SharedArray, wait_for_copies};
use device_std::{In, Out, arguments, kernel, thread, vector, warp};

use super::operators::{Bits, Least, Operator, Partial, Sum};

mod stretches;

pub use stretches::BLOCK;
use stretches::{Ends, Exchange, Place, Stash};

/// Elements of a thread's stretch, for keys and values of `bytes` bytes together. The shared memory of a block stays
/// below 48 KiB, which every GPU gives without a special request.
pub const fn stretch(bytes: usize) -> usize {
    match bytes {
        ..=8 => 20,
        9..=12 => 12,
        _ => 8,
    }
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Shared<K, T, const STRETCH: usize> {
    /// The keys; then those at the heads of each warp, at the front of its part.
    keys: Stash<K, STRETCH>,
    /// The values; then each warp's totals.
    values: Stash<T, STRETCH>,
    tickets: Tickets,
    exchange: Exchange<T>,
    heads_before: SharedArray<u64>,
}

impl<K: Scalar, T: Scalar, const STRETCH: usize> Shared<K, T, STRETCH> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            keys: Stash::new(carver),
            values: Stash::new(carver),
            tickets: Tickets::new(carver),
            heads_before: carver.array(1),
            exchange: Exchange::new(carver),
        }
    }
}

/// The arrays of a reduction.
#[arguments]
pub struct Arrays<'a, K, T> {
    /// `len` of them.
    pub keys: In<'a, K>,
    /// `len` elements.
    pub values: In<'a, T>,
    /// How many there are.
    pub len: u64,
    /// Where the key of each run goes: as many elements as there are keys.
    pub keys_out: Out<'a, K>,
    /// Where the total of each run goes: as many elements as there are keys.
    pub totals: Out<'a, T>,
    /// How many runs there are: one element.
    pub count: Out<'a, u64>,
}

/// A reduction by key.
#[derive(Clone, Copy)]
struct Reduce<'a, K, T, O, const STRETCH: usize> {
    arrays: Arrays<'a, K, T>,
    operator: O,
    shared: Shared<K, T, STRETCH>,
}

/// The heads of a thread's stretch.
#[derive(Clone, Copy)]
struct Heads {
    /// A bit an element.
    bits: u32,
    /// The slot of the first.
    slot: u32,
    /// How many the warp has.
    of_warp: u32,
}

impl<K: Bits + Default, T: Scalar + Default, O: Operator<T>, const STRETCH: usize>
    Reduce<'_, K, T, O, STRETCH>
{
    const PART: u32 = 32 * STRETCH as u32;
    const TILE: u64 = (BLOCK * STRETCH) as u64;

    /// The runs that begin, and those that end, in one tile.
    #[inline(always)]
    unsafe fn tile(&self, ticket: Ticket, status: Out<Pair>, count_status: Out<Pair>) {
        let Self { arrays, operator, shared } = *self;
        let lookback = Lookback::new(status, ticket);
        // SAFETY: the block's threads stay together, and barriers stand between writes and the reads by others.
        unsafe {
            shared.keys.fill(arrays.keys, ticket.tile, arrays.len, K::from_bits64(0));
            let before = self.key_before_part(ticket.tile);
            wait_for_copies();
            warp::sync_warp(warp::FULL);
            let heads = self.heads(ticket, before, count_status);
            wait_for_copies();
            warp::sync_warp(warp::FULL);
            let end = shared.values.walk(operator, heads.bits, heads.slot);
            let ends = Ends::scan_warp(operator, end, heads.bits != 0);
            let place = shared.exchange.take(operator, &ends);
            let has_first = warp::warp_id() == place.first_with_head;
            if has_first {
                lookback.announce(place.of_tile.value, place.of_tile.closed);
            }
            let before = place.before_thread(operator, &ends);
            shared.values.complete(operator, heads.bits, heads.slot, before);
            warp::sync_warp(warp::FULL);
            self.write(ticket.tile, &heads, &place);
            if has_first {
                let starts_with_head = warp::shuffle(warp::FULL, heads.bits, 0) & 1 == 1;
                let is_nothing = warp::warp_id() == 0 && starts_with_head;
                self.finish_first(lookback, &place, is_nothing);
            }
        }
    }

    /// The key before the warp's part of the tile, in lane 0.
    #[inline(always)]
    fn key_before_part(&self, tile: u64) -> K {
        let first = tile * Self::TILE + (warp::warp_id() * Self::PART) as u64;
        if warp::lane_id() == 0 && first > 0 && first <= self.arrays.len {
            return self.arrays.keys.get(first - 1);
        }
        K::from_bits64(0)
    }

    /// Finds the heads, and moves the warp's keys there to the front of its part. The warp that
    /// counts its heads last finds how many come before the tile.
    #[inline(always)]
    unsafe fn heads(&self, ticket: Ticket, before_part: K, status: Out<Pair>) -> Heads {
        let lookback = Lookback::new(status, ticket);
        // SAFETY: the whole warp is here, and its part is there. The warp has read it before keys
        // are put there; slots are distinct.
        unsafe {
            let bits = self.head_bits(ticket.tile, before_part);
            // Hidden from the compiler, which would keep each bit in a register.
            let bits = vector::unknown(bits);
            let count = bits.count_ones();
            let inclusive = warp::inclusive_scan(count, |a, b| a + b);
            let of_warp = warp::shuffle(warp::FULL, inclusive, 31);
            let slot = warp::warp_id() * Self::PART + inclusive - count;
            let of_tile = self.shared.exchange.count_heads(of_warp);
            if let Some(of_tile) = of_tile {
                lookback.announce(of_tile as u64, false);
            }
            let beyond = self.operator.lower(self.operator.identity());
            let Arrays { values, len, .. } = self.arrays;
            self.shared.values.fill(values, ticket.tile, len, beyond);
            // Read once more: kept in registers, they would cost too many.
            let keys = self.shared.keys.stretch();
            warp::sync_warp(warp::FULL);
            let mut to = slot;
            let mut i = 0;
            while i < STRETCH {
                if bits >> i & 1 == 1 {
                    self.shared.keys.store(to, keys[i]);
                }
                to += bits >> i & 1;
                i += 1;
            }
            if let Some(of_tile) = of_tile {
                let sum = |a: u64, b: u64| a + b;
                let before = lookback.announced_prefix(of_tile as u64, false, 0, sum);
                if warp::lane_id() == 0 {
                    self.shared.heads_before.store(0, before);
                }
            }
            Heads { bits: vector::unknown(bits), slot, of_warp }
        }
    }

    /// A bit for each key of the thread's stretch that differs from the one before.
    #[inline(always)]
    unsafe fn head_bits(&self, tile: u64, before_part: K) -> u32 {
        let first = tile * Self::TILE + thread::thread_idx_x() as u64 * STRETCH as u64;
        // SAFETY: the whole warp is here, and its part is there.
        let (keys, below) = unsafe {
            let keys = self.shared.keys.stretch();
            (keys, warp::shuffle_up(warp::FULL, keys[STRETCH - 1], 1))
        };
        let mut before = if warp::lane_id() == 0 { before_part } else { below };
        let mut bits = (first == 0) as u32;
        let mut i = 0;
        while i < STRETCH {
            bits |= ((keys[i] != before) as u32) << i;
            before = keys[i];
            i += 1;
        }
        // The last tile: what is in the array, and its end.
        if (tile + 1) * Self::TILE > self.arrays.len {
            let present = self.arrays.len.saturating_sub(first);
            let present = u64::min(present, STRETCH as u64) as u32;
            bits &= (1 << present) - 1;
            let end = self.arrays.len.wrapping_sub(first);
            bits |= if end < STRETCH as u64 { 1 << end as u32 } else { 0 };
        }
        bits
    }

    /// Writes the keys of the runs that begin in the warp's part, and the totals of those that end there, except the
    /// tile's first. The last tile also writes the number of runs.
    #[inline(always)]
    unsafe fn write(&self, tile: u64, heads: &Heads, place: &Place<T>) {
        let Arrays { len, keys_out, totals, count, .. } = self.arrays;
        let part = warp::warp_id() * Self::PART;
        // SAFETY: the heads before the tile are known; the warp's part has its keys and totals.
        unsafe {
            let before = self.shared.heads_before.load(0);
            let first = before + place.heads_before as u64;
            let is_last = (tile + 1) * Self::TILE > len;
            // The end of the array begins no run.
            let runs = if is_last { before + place.heads as u64 - 1 } else { u64::MAX };
            if is_last && thread::thread_idx_x() == 0 {
                count.set(0u32, runs);
            }
            let mut j = warp::lane_id();
            while j < heads.of_warp {
                let head = first + j as u64;
                if head < runs {
                    keys_out.set(head, self.shared.keys.load(part + j));
                }
                if place.heads_before + j > 0 {
                    let total = self.operator.lower(self.shared.values.load(part + j));
                    totals.set(head - 1, total);
                }
                j += 32;
            }
        }
    }

    /// Finds the prefix of the tile, in the warp that has the tile's first head, and writes the total of the run that
    /// came in. `is_nothing` says whether the tile has no element of that run.
    #[inline(always)]
    unsafe fn finish_first(&self, lookback: Lookback, place: &Place<T>, is_nothing: bool) {
        let operator = self.operator;
        let Partial { value, closed } = place.of_tile;
        let combine = |a, b| operator.combine(a, b);
        let identity = operator.identity();
        // SAFETY: the whole warp is here, and the heads before the tile are known.
        unsafe {
            let before = lookback.prefix_of_closed(value, closed, identity, combine);
            let heads_before = self.shared.heads_before.load(0);
            // No run ends where the first begins.
            if warp::lane_id() == 0 && place.heads > 0 && heads_before > 0 {
                let stands = self.shared.values.load(warp::warp_id() * Self::PART);
                let total = if is_nothing { before } else { operator.combine(before, stands) };
                self.arrays.totals.set(heads_before - 1, operator.lower(total));
            }
        }
    }
}

/// A reduction by key; see the module's plan. Grid: one block for every [`tile`] of the array with one
/// element more.
///
/// # Safety
/// The arrays are as [`Arrays`] says, and apart; the status arrays have an element for each block.
/// `control` and they are as [`Tickets::take`] and [`Lookback::exclusive_prefix`] ask.
#[kernel(block = BLOCK, carve = |carver| Shared::<K, T, STRETCH>::new(carver), instances(
    sums_u8_by_u8: <u8, u8, Sum, 20>, resident = 5;
    sums_u8_by_u16: <u16, u8, Sum, 20>, resident = 5;
    sums_u8_by_u32: <u32, u8, Sum, 20>, resident = 5;
    sums_u8_by_u64: <u64, u8, Sum, 12>, resident = 4;
    sums_u16_by_u8: <u8, u16, Sum, 20>, resident = 5;
    sums_u16_by_u16: <u16, u16, Sum, 20>, resident = 5;
    sums_u16_by_u32: <u32, u16, Sum, 20>, resident = 5;
    sums_u16_by_u64: <u64, u16, Sum, 12>, resident = 4;
    sums_u32_by_u8: <u8, u32, Sum, 20>, resident = 5;
    sums_u32_by_u16: <u16, u32, Sum, 20>, resident = 5;
    sums_u32_by_u32: <u32, u32, Sum, 20>, resident = 5;
    sums_u32_by_u64: <u64, u32, Sum, 12>, resident = 4;
    sums_u64_by_u8: <u8, u64, Sum, 12>, resident = 4;
    sums_u64_by_u16: <u16, u64, Sum, 12>, resident = 4;
    sums_u64_by_u32: <u32, u64, Sum, 12>, resident = 4;
    sums_u64_by_u64: <u64, u64, Sum, 8>, resident = 4;
    sums_f32_by_u8: <u8, f32, Sum, 20>, resident = 5;
    sums_f32_by_u16: <u16, f32, Sum, 20>, resident = 5;
    sums_f32_by_u32: <u32, f32, Sum, 20>, resident = 5;
    sums_f32_by_u64: <u64, f32, Sum, 12>, resident = 4;
    sums_f64_by_u8: <u8, f64, Sum, 12>, resident = 4;
    sums_f64_by_u16: <u16, f64, Sum, 12>, resident = 4;
    sums_f64_by_u32: <u32, f64, Sum, 12>, resident = 4;
    sums_f64_by_u64: <u64, f64, Sum, 8>, resident = 4;
    leasts_u8_by_u8: <u8, u8, Least<u8>, 20>, resident = 4;
    leasts_u8_by_u16: <u16, u8, Least<u8>, 20>, resident = 4;
    leasts_u8_by_u32: <u32, u8, Least<u8>, 20>, resident = 4;
    leasts_u8_by_u64: <u64, u8, Least<u8>, 12>, resident = 4;
    leasts_u16_by_u8: <u8, u16, Least<u16>, 20>, resident = 4;
    leasts_u16_by_u16: <u16, u16, Least<u16>, 20>, resident = 4;
    leasts_u16_by_u32: <u32, u16, Least<u16>, 20>, resident = 4;
    leasts_u16_by_u64: <u64, u16, Least<u16>, 12>, resident = 3;
    leasts_u32_by_u8: <u8, u32, Least<u32>, 20>, resident = 5;
    leasts_u32_by_u16: <u16, u32, Least<u32>, 20>, resident = 5;
    leasts_u32_by_u32: <u32, u32, Least<u32>, 20>, resident = 5;
    leasts_u32_by_u64: <u64, u32, Least<u32>, 12>, resident = 5;
    leasts_u64_by_u8: <u8, u64, Least<u64>, 12>, resident = 3;
    leasts_u64_by_u16: <u16, u64, Least<u64>, 12>, resident = 3;
    leasts_u64_by_u32: <u32, u64, Least<u64>, 12>, resident = 3;
    leasts_u64_by_u64: <u64, u64, Least<u64>, 8>, resident = 3;
))]
pub unsafe fn by_key<
    K: Bits + Default,
    T: Scalar + Default,
    O: Operator<T>,
    const STRETCH: usize,
>(
    arrays: Arrays<'_, K, T>,
    parameters: [u64; 4],
    control: Out<'_, u64>,
    status: Out<'_, Pair>,
    count_status: Out<'_, Pair>,
) {
    const { assert!(STRETCH == stretch(size_of::<K>() + size_of::<T>())) };
    let operator = O::new(parameters);
    let shared = Shared::<K, T, STRETCH>::new(&mut Carver::new());
    let reduce = Reduce { arrays, operator, shared };
    // SAFETY: the whole block comes here.
    unsafe {
        shared.exchange.begin();
        let ticket = shared.tickets.take(control);
        reduce.tile(ticket, status, count_status);
    }
}

/// Elements of a tile of keys and values of these types.
#[cfg(not(target_arch = "nvptx64"))]
pub const fn tile<K, T>() -> u64 {
    (BLOCK * stretch(size_of::<K>() + size_of::<T>())) as u64
}

/// The operators that reduce values of one type by keys of any size.
#[cfg(not(target_arch = "nvptx64"))]
pub trait ReducesByKey<T: Copy>:
    Operator<T>
    + by_key::Instance<u8, T>
    + by_key::Instance<u16, T>
    + by_key::Instance<u32, T>
    + by_key::Instance<u64, T>
{
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T: Copy, O> ReducesByKey<T> for O where
    O: Operator<T>
        + by_key::Instance<u8, T>
        + by_key::Instance<u16, T>
        + by_key::Instance<u32, T>
        + by_key::Instance<u64, T>
{
}

/// The bits of a key.
#[cfg(not(target_arch = "nvptx64"))]
pub trait RunKey: Copy {
    /// The kernel for keys of this size.
    fn reduction<T: Copy, O: ReducesByKey<T>>() -> Kernel<by_key::Args<'static, Self, T>>;
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! run_keys {
    ($($key:ty)+) => {$(
        impl RunKey for $key {
            fn reduction<T: Copy, O: ReducesByKey<T>>() -> Kernel<by_key::Args<'static, Self, T>> {
                <O as by_key::Instance<$key, T>>::KERNEL
            }
        }
    )+};
}

#[cfg(not(target_arch = "nvptx64"))]
run_keys! { u8 u16 u32 u64 }

device_std::ptx_module! { "reduce_by_key" }
