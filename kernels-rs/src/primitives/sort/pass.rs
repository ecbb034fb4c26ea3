//! A pass: a stable sort by one digit. The plan is in `sort`.

use device_std::block::BlockScan;
use device_std::lookback::Tickets;
use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, global, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::digits::{BLOCK, DIGITS, Digit, Key, RADIX_BITS, tile_len};
use super::lookback::DigitLookback;
use super::part::{Packed, TilePart};
use crate::primitives::operators::Order;
use crate::primitives::value::Value;

const WARPS: u32 = BLOCK / 32;

/// In the word of a pass: the keys in memory are elements, to be ranked.
pub const RANK: u32 = 1 << 16;
/// In the word of a pass: the keys go to memory as elements.
pub const UNRANK: u32 = 1 << 17;
/// In the word of a pass: the value of a key is its index.
pub const INDEX: u32 = 1 << 18;

/// The word that tells a pass which bits are the digit, and [`RANK`], [`UNRANK`], [`INDEX`].
pub const fn pass_word(shift: u32, bits: u32, flags: u32) -> u32 {
    shift | bits << 8 | flags
}

/// The inputs and outputs of a pass; they do not overlap.
#[arguments]
pub struct Arrays<'a, K, V> {
    /// `len` of them.
    pub keys_in: In<'a, K>,
    /// `len` elements.
    pub keys_out: Out<'a, K>,
    /// `len` elements, if there are values that are not indices.
    pub values_in: In<'a, V>,
    /// `len` elements, if there are values.
    pub values_out: Out<'a, V>,
    /// How many keys there are.
    pub len: u64,
}

/// The shared memory of a block of a pass.
#[derive(Clone, Copy)]
struct Shared<K, V, const ITEMS: usize> {
    tickets: Tickets,
    /// The pass word, hidden from the compiler, which must not see that it is the same as before.
    word: SharedArray<u32>,
    scan: BlockScan<u64>,
    /// How many of each digit each warp has; then where its next key of that digit goes.
    counters: SharedArray<u32>,
    /// Where the sorted tile's element 0 would go, were it in the run of this digit: an address.
    targets: SharedArray<u64>,
    /// The sorted tile.
    keys: SharedArray<K>,
    values: SharedArray<V>,
}

impl<K: Key, V: Value, const ITEMS: usize> Shared<K, V, ITEMS> {
    /// Whether the sorted tile overlays the counters, so that keys go there only once all have their ranks. Tiles of
    /// pairs are faster when they are larger, and their threads have the registers to wait. Keys alone take their
    /// places one by one, beside the counters.
    const OVER_COUNTERS: bool = V::IS_THERE;

    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        let tickets = Tickets::new(carver);
        let word = carver.array(1);
        let scan = BlockScan::new(carver);
        let targets = carver.array(DIGITS);
        let counters = match Self::OVER_COUNTERS {
            true => carver.fork().array(WARPS * DIGITS),
            false => carver.array(WARPS * DIGITS),
        };
        // Or else bytes of counters would lie beyond what is carved.
        assert!(
            !Self::OVER_COUNTERS
                || tile_len(ITEMS) as usize * size_of::<K>() >= (WARPS * DIGITS) as usize * 4
        );
        let (keys, values) = carver.overlay(tile_len(ITEMS));
        Self { tickets, word, scan, counters, targets, keys, values }
    }
}

/// Everything that a block of a pass needs to know.
#[derive(Clone, Copy)]
struct Pass<K: Key, V, const ITEMS: usize> {
    shared: Shared<K::Register, V, ITEMS>,
    digit: Digit,
    order: Order<K>,
    flags: u32,
}

impl<K: Key, V: Value, const ITEMS: usize> Pass<K, V, ITEMS> {
    #[inline(always)]
    fn new(shared: Shared<K::Register, V, ITEMS>, order: Order<K>, word: u32) -> Self {
        Self { shared, digit: Digit::new(word & 0xff, word >> 8 & 0xff), order, flags: word }
    }

    /// The thread's keys as ranks; all ones, which come last, beyond the array.
    #[inline(always)]
    fn load_keys(&self, part: TilePart, array: In<K>) -> [K::Register; ITEMS] {
        let is_ranked = self.flags & RANK == 0;
        let fill = if is_ranked { K::ONES } else { self.order.element(K::ONES) };
        let mut keys: [K; ITEMS] = part.load(array, fill);
        if !is_ranked {
            let mut i = 0;
            while i < ITEMS {
                keys[i] = self.order.rank(keys[i]);
                i += 1;
            }
        }
        keys.map(K::widened)
    }

    /// The first counter of this thread's warp.
    #[inline(always)]
    fn counter(&self) -> u32 {
        warp::warp_id() * DIGITS
    }

    #[inline(always)]
    unsafe fn clear_counters(&self) {
        let mut i = 0;
        while i < DIGITS / 32 {
            // SAFETY: the warp's own counters.
            unsafe { self.shared.counters.store(self.counter() + i * 32 + warp::lane_id(), 0) };
            i += 1;
        }
    }

    /// Counts the digits of each warp's keys.
    #[inline(always)]
    unsafe fn count(&self, keys: &[K::Register; ITEMS]) {
        let mut i = 0;
        while i < ITEMS {
            // SAFETY: a digit is below DIGITS.
            unsafe { self.shared.counters.count(self.counter() + self.digit.of(keys[i])) };
            i += 1;
        }
    }

    /// How many keys of the tile have digit d, for thread d.
    #[inline(always)]
    unsafe fn sum_counters(&self) -> u32 {
        let mut sum = 0;
        let mut warp = 0;
        while warp < WARPS {
            // SAFETY: called by thread d for d < DIGITS.
            sum += unsafe { self.shared.counters.load(warp * DIGITS + thread::thread_idx_x()) };
            warp += 1;
        }
        sum
    }

    /// Turns the counters of digit d into where each warp's keys of that digit begin in the sorted
    /// tile.
    #[inline(always)]
    unsafe fn start_counters(&self, first: u32) {
        let mut next = first;
        let mut warp = 0;
        while warp < WARPS {
            let counter = warp * DIGITS + thread::thread_idx_x();
            // SAFETY: as above.
            unsafe {
                let count = self.shared.counters.load(counter);
                self.shared.counters.store(counter, next);
                next += count;
            }
            warp += 1;
        }
    }

    /// The ranks of the keys in the sorted tile. If the tile lies beside the counters, the keys are stored there, too.
    ///
    /// Each key's rank is known a step later than its counter moves on, so that the next key's
    /// ballots fill the wait.
    #[inline(always)]
    unsafe fn rank(&self, keys: &[K::Register; ITEMS]) -> Packed<ITEMS, 2> {
        let Shared { counters, keys: sorted, .. } = self.shared;
        let lane = warp::lane_id();
        let up_to_me = warp::lanes_below() | 1 << lane;
        let mut ranks = Packed::new();
        let mut before = [0; ITEMS];
        let mut leaders = [0; ITEMS];
        let mut among = [0; ITEMS];
        let mut i = 0;
        while i <= ITEMS {
            // SAFETY: the warp's own counters; ranks are below the tile's length, each once.
            unsafe {
                if i < ITEMS {
                    let digit = self.digit.of(keys[i]);
                    let peers = warp::match_bits::<RADIX_BITS>(warp::FULL, digit);
                    leaders[i] = 31 - peers.leading_zeros();
                    among[i] = (peers & up_to_me).count_ones();
                    let counter = self.counter() + digit;
                    if leaders[i] == lane {
                        before[i] = counters.atomic_add(counter, among[i]);
                    }
                }
                if i > 0 {
                    let j = i - 1;
                    let begin = warp::shuffle(warp::FULL, before[j], leaders[j]);
                    let rank = begin + among[j] - 1;
                    if !Shared::<K::Register, V, ITEMS>::OVER_COUNTERS {
                        sorted.store(rank, keys[j]);
                    }
                    ranks.set(j, rank);
                }
            }
            i += 1;
        }
        ranks
    }

    /// Puts the keys at their ranks in shared memory.
    #[inline(always)]
    unsafe fn place(&self, keys: &[K::Register; ITEMS], ranks: &Packed<ITEMS, 2>) {
        let mut i = 0;
        while i < ITEMS {
            // SAFETY: ranks are below the tile's length, each once.
            unsafe { self.shared.keys.store(ranks.get(i), keys[i]) };
            i += 1;
        }
    }

    /// The address of the sorted tile's key i of this thread, from a digit's target.
    #[inline(always)]
    fn address(target: u64, i: usize) -> u64 {
        let me = thread::thread_idx_x();
        match size_of::<K>() {
            // Two additions: a place that is an offset, too, stays in a register, and ptxas spills for sm_120.
            1 => target.wrapping_add(me as u64).wrapping_add(i as u64 * BLOCK as u64),
            size => target.wrapping_add((me + i as u32 * BLOCK) as u64 * size as u64),
        }
    }

    /// Writes the sorted keys to memory, and returns their digits.
    #[inline(always)]
    unsafe fn write_keys<const AS_ELEMENTS: bool>(
        &self,
        output: Out<K>,
        valid: u32,
    ) -> Packed<ITEMS, 4> {
        let me = thread::thread_idx_x();
        let mut digits = Packed::new();
        let mut i = 0;
        while i < ITEMS {
            let j = me + i as u32 * BLOCK;
            // SAFETY: below the tile's length; `targets` gives addresses in the output for those
            // that are in the array.
            unsafe {
                let key = self.shared.keys.load(j);
                let digit = self.digit.of(key);
                digits.set(i, digit);
                let target = self.shared.targets.load(digit);
                let key = match AS_ELEMENTS {
                    true => self.order.element(K::narrowed(key)),
                    false => K::narrowed(key),
                };
                if j < valid {
                    global::store(output.held(Self::address(target, i)), key);
                }
            }
            i += 1;
        }
        digits
    }

    /// Writes the values to memory, each where its key went.
    #[inline(always)]
    unsafe fn write_values(&self, output: Out<V>, valid: u32, digits: Packed<ITEMS, 4>) {
        let me = thread::thread_idx_x();
        let mut i = 0;
        while i < ITEMS {
            let j = me + i as u32 * BLOCK;
            // SAFETY: as for the keys.
            unsafe {
                let value = self.shared.values.load(j);
                let target = self.shared.targets.load(digits.get(i));
                if j < valid {
                    let address = target.wrapping_add(j as u64 * size_of::<V>() as u64);
                    value.store_at(output.held(address));
                }
            }
            i += 1;
        }
    }
}

/// Sorts stably by one digit; see the plan in [`sort`](super). Grid: one block a tile.
///
/// # Safety
/// The arrays are as [`Arrays`] says; `histogram` is that of the digit, `status` has 256 words for each block.
/// `control` is as [`Tickets::take`] asks.
#[kernel(block = BLOCK, carve = |carver| Shared::<<K as Key>::Register, V, ITEMS>::new(carver), instances(
    keys_u8: <(), u8, 22>, resident = 3;
    keys_u16: <(), u16, 22>, resident = 3;
    keys_u32: <(), u32, 22>, resident = 3;
    keys_u64: <(), u64, 11>, resident = 3;
    pairs_u8_u32: <u32, u8, 19>, resident = 2;
    pairs_u8_u64: <u64, u8, 14>, resident = 2;
    pairs_u16_u32: <u32, u16, 23>, resident = 2;
    pairs_u16_u64: <u64, u16, 15>, resident = 2;
    pairs_u32_u32: <u32, u32, 23>, resident = 2, spills = 16;
    pairs_u32_u64: <u64, u32, 15>, resident = 2;
    pairs_u64_u32: <u32, u64, 15>, resident = 2;
    pairs_u64_u64: <u64, u64, 15>, resident = 2;
))]
pub unsafe fn sort_by_digit<V: Value, K: Key, const ITEMS: usize>(
    arrays: Arrays<'_, K, V>,
    word: u32,
    parameters: [u64; 4],
    histogram: Out<'_, u64>,
    control: Out<'_, u64>,
    status: Out<'_, u64>,
) {
    let Arrays { keys_in, keys_out, values_in, values_out, len } = arrays;
    let order = Order::new(parameters);
    let shared = Shared::<K::Register, V, ITEMS>::new(&mut Carver::new());
    let pass = Pass::<K, V, ITEMS>::new(shared, order, word);
    let me = thread::thread_idx_x();
    let has_digit = me < DIGITS;
    // SAFETY: the whole block comes to each barrier, and barriers stand between the phases of the shared memory. Ranks
    // and digits are below the lengths of what they index.
    unsafe {
        pass.clear_counters();
        if me == 0 {
            shared.word.store(0, word);
        }
        let ticket = shared.tickets.take(control);
        let part = TilePart::new::<ITEMS>(ticket.tile, len);
        let keys = pass.load_keys(part, keys_in);
        pass.count(&keys);
        thread::sync_threads();

        let lookback = DigitLookback::new(status, ticket);
        let mut count = 0;
        let mut of_all = 0;
        if has_digit {
            count = pass.sum_counters();
            if ticket.tile == 0 {
                // Read for the last time: zero again for the next sort.
                of_all = histogram.get(me);
                histogram.set(me, 0);
            }
        }
        // One scan for both: counts of the tile are below 2^24, those of the array below 2^40.
        let both = of_all << 24 | count as u64;
        let (up_to, _) = shared.scan.inclusive(both, 0, |a, b| a + b);
        let before = up_to - both;
        let (first, before_digit) = (before as u32 & 0xff_ffff, before >> 24);
        if has_digit {
            lookback.announce(count, before_digit);
            pass.start_counters(first);
        }
        thread::sync_threads();

        // From here on digits are derived again: kept over the barriers, they would take a register for each key.
        let pass = Pass::<K, V, ITEMS>::new(shared, order, shared.word.load(0));
        let ranks = pass.rank(&keys);
        if Shared::<K::Register, V, ITEMS>::OVER_COUNTERS {
            thread::sync_threads();
            pass.place(&keys, &ranks);
        }
        let values = match word & INDEX != 0 {
            true => part.indices(),
            false if V::IS_THERE => part.load(values_in, V::of_index(0)),
            false => [V::of_index(0); ITEMS],
        };
        let mut target = 0;
        if has_digit {
            // Statuses are read while others bring their pairs to memory: few of them.
            let begin = match V::IS_THERE {
                true => lookback.begin::<2>(count, before_digit),
                false => lookback.begin::<4>(count, before_digit),
            };
            target = begin.wrapping_sub(first as u64);
            let bytes = target.wrapping_mul(size_of::<K>() as u64);
            shared.targets.store(me, (keys_out.start() as usize as u64).wrapping_add(bytes));
        }
        thread::sync_threads();

        let digits = match word & UNRANK != 0 {
            true => pass.write_keys::<true>(keys_out, part.valid),
            false => pass.write_keys::<false>(keys_out, part.valid),
        };
        if !V::IS_THERE {
            return;
        }
        thread::sync_threads();
        if has_digit {
            let bytes = target.wrapping_mul(size_of::<V>() as u64);
            shared.targets.store(me, (values_out.start() as usize as u64).wrapping_add(bytes));
        }
        let mut i = 0;
        while i < ITEMS {
            shared.values.store(ranks.get(i), values[i]);
            i += 1;
        }
        thread::sync_threads();
        pass.write_values(values_out, part.valid, digits);
    }
}

/// Keys of a tile, for keys of `K` that move values of `V`.
#[cfg(not(target_arch = "nvptx64"))]
pub const fn tile<K: sort_by_digit::Instance<V>, V>() -> u64 {
    tile_len(K::ITEMS) as u64
}
