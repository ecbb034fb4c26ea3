//! Radix sort, least significant digit first, one launch a digit: crate `gpu-scan`.
//!
//! Onesweep (Adinets and Merrill 2022, *Onesweep: A Faster Least Significant Digit Radix Sort for
//! GPUs*, arXiv 2206.01784). The plan:
//!
//! 1. `histogram` reads the keys once and counts the digits of all passes.
//! 2. One `pass` for each digit of 8 bits, from the lowest, sorts stably by that digit. A block
//!    does one tile:
//!    - a warp loads a contiguous part of it, lane-striped, so that the order of (item, lane) is
//!      the order in memory, and each warp counts its digits in shared memory;
//!    - thread d sums up digit d over the warps and publishes the count; a scan over the digits
//!      gives where each begins in the sorted tile, and so each warp its counters' start;
//!    - the warps rank their keys: the lanes with the same digit find each other by ballots, the
//!      highest of them moves the counter on for all, and each puts its key at its rank in shared
//!      memory;
//!    - thread d looks back for how many keys with digit d the tiles before have;
//!    - the sorted tile goes out to where each digit's keys belong, in runs; then the values take
//!      the same way through the same shared memory.
//!
//! Keys are sorted by their rank in an [`Order`]: the first pass maps them as it reads them, the
//! last one maps them back.
//!
//! Where it differs from the paper: where the digits begin in the output is no array of its own,
//! tile 0 scans the histogram and publishes the sums as part of its prefix; a status word carries
//! an epoch, so that nothing is cleared between passes; and a look-back reads [`WINDOW`] tiles at
//! a time.

use device_std::block::BlockScan;
use device_std::lookback::{Ticket, Tickets, next_epoch};
use device_std::scalar::Scalar;
use device_std::shared::{Carver, SharedArray};
use device_std::tile::Tile;
use device_std::{atomic, global, kernel, thread, warp};

use crate::operators::{Bits, Order};

/// Threads of a block of a pass.
pub const BLOCK: u32 = 384;
const WARPS: u32 = BLOCK / 32;

/// Bits of a digit.
pub const RADIX_BITS: u32 = 8;
/// Digits.
pub const DIGITS: u32 = 1 << RADIX_BITS;

/// Keys of a tile of a pass, where a thread has `items`.
const fn tile_len(items: usize) -> u32 {
    BLOCK * items as u32
}

/// In `pass`: the keys in memory are elements, to be ranked.
pub const RANK: u32 = 1 << 16;
/// In `pass`: the keys go to memory as elements.
pub const UNRANK: u32 = 1 << 17;
/// In `pass`: the value of a key is its index.
pub const INDEX: u32 = 1 << 18;

/// The word `pass` that a kernel gets: which bits are the digit, and [`RANK`], [`UNRANK`],
/// [`INDEX`].
pub const fn pass_word(shift: u32, bits: u32, flags: u32) -> u32 {
    shift | bits << 8 | flags
}

/// A key as the sort sees it: unsigned bits.
pub trait Key: Bits {
    /// The low bits of `self >> shift`.
    fn shifted(self, shift: u32) -> u32;
}

macro_rules! keys {
    ($($type:ty;)+) => {$(
        impl Key for $type {
            #[inline(always)]
            fn shifted(self, shift: u32) -> u32 {
                self.wrapping_shr(shift) as u32
            }
        }
    )+};
}

keys! { u32; u64; }

/// Which bits of a key are the digit.
#[derive(Clone, Copy)]
struct Digit {
    shift: u32,
    mask: u32,
}

impl Digit {
    #[inline(always)]
    fn new(shift: u32, bits: u32) -> Self {
        Self { shift, mask: (1 << (bits & 31)) - 1 }
    }

    #[inline(always)]
    fn of<K: Key>(self, key: K) -> u32 {
        key.shifted(self.shift) & self.mask
    }
}

// ---------------------------------------------------------------------------------------------
// The look-back over digits

/// A tile's status for one digit is a word: state, epoch and count, from the highest bit down.
const COUNT_BITS: u32 = 40;
const EPOCH_BITS: u32 = 22;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The tile's own count is there.
const AGGREGATE: u64 = 1 << 62;
/// The count of the tiles up to and with this one is there.
const PREFIX: u64 = 2 << 62;
const STATE: u64 = 3 << 62;

/// Statuses that a thread reads at once.
const WINDOW: usize = 4;

/// The most passes of one sort.
pub const MOST_PASSES: u32 = 8;

/// The look-back of one tile, of which thread d does digit d.
#[derive(Clone, Copy)]
struct DigitLookback {
    status: *mut u64,
    tile: u64,
    tag: u64,
}

impl DigitLookback {
    #[inline(always)]
    fn new(status: *mut u64, ticket: Ticket) -> Self {
        let epoch = ticket.epoch & ((1 << EPOCH_BITS) - 1);
        Self { status, tile: ticket.tile, tag: epoch << COUNT_BITS }
    }

    /// The status of a tile for this thread's digit.
    #[inline(always)]
    fn status(&self, tile: u64) -> *mut u64 {
        let word = tile * DIGITS as u64 + thread::thread_idx_x() as u64;
        self.status.wrapping_add(word as usize)
    }

    #[inline(always)]
    unsafe fn publish(&self, state: u64, count: u64) {
        // SAFETY: the tile's own status.
        unsafe { atomic::store_u64(self.status(self.tile), state | self.tag | count) };
    }

    /// Publishes the tile's count, for tile 0 together with all that comes before digit d in the
    /// output.
    #[inline(always)]
    unsafe fn announce(&self, count: u32, before_digit: u64) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.tile {
                0 => self.publish(PREFIX, before_digit + count as u64),
                _ => self.publish(AGGREGATE, count as u64),
            }
        }
    }

    /// Where the tile's keys with digit d begin in the output.
    ///
    /// # Safety
    /// The status array has an element for each tile and digit, was zero at first or cleared by
    /// [`clear_stale`], and this tile was announced.
    #[inline(always)]
    unsafe fn begin(&self, count: u32, before_digit: u64) -> u64 {
        if self.tile == 0 {
            return before_digit;
        }
        let mut end = self.tile;
        let mut sum = 0;
        'look: loop {
            let mut words = [0; WINDOW];
            let mut i = 0;
            while i < WINDOW {
                // Before tile 0 comes nothing, and nobody looks there: tile 0 has a prefix.
                let tile = end.saturating_sub(1 + i as u64);
                // SAFETY: an earlier tile.
                words[i] = unsafe { atomic::load_u64(self.status(tile)) };
                i += 1;
            }
            let mut i = 0;
            while i < WINDOW {
                let word = words[i];
                let is_current = word & !(STATE | COUNT) == self.tag;
                if !is_current || word & STATE == 0 {
                    break;
                }
                sum += word & COUNT;
                end -= 1;
                if word & PREFIX != 0 {
                    break 'look;
                }
                i += 1;
            }
            if i < WINDOW {
                thread::pause();
            }
        }
        // SAFETY: as above.
        unsafe { self.publish(PREFIX, sum + count as u64) };
        sum
    }
}

/// Clears the statuses when epochs are about to repeat: `status[len]` is the number of the round of
/// epochs in which that was done. Called by one block before the passes of a sort.
///
/// The round changes with the first sort that might come to the end of a round of 2^[`EPOCH_BITS`]
/// epochs. So a sort whose first pass has the epoch e and that does not clear comes less than 2^22
/// epochs after the first pass of the one that did, and its first pass meets no status of an epoch
/// that only looks like e. Its other passes may: but what they look at was written by the pass before,
/// which has the same tiles.
///
/// # Safety
/// Every thread of the block comes here; `status` has `len + 1` words; no pass runs.
#[inline(always)]
unsafe fn clear_stale(control: *mut u64, status: *mut u64, len: u64) {
    // SAFETY: passed on to the caller; the barrier orders the reads before the write.
    unsafe {
        let round = (next_epoch(control) + MOST_PASSES as u64) >> EPOCH_BITS;
        let cleared = *status.add(len as usize);
        thread::sync_threads();
        if round == cleared {
            return;
        }
        let mut word = thread::thread_idx_x() as u64;
        while word < len {
            *status.add(word as usize) = 0;
            word += thread::block_dim_x() as u64;
        }
        if thread::thread_idx_x() == 0 {
            *status.add(len as usize) = round;
        }
    }
}

// ---------------------------------------------------------------------------------------------
// The histogram of all passes

/// Threads of a block of the histogram.
pub const HISTOGRAM_BLOCK: usize = 256;
const ROWS: usize = 4;

/// Keys of a tile of the histogram.
pub const fn histogram_tile(size: usize) -> u64 {
    (HISTOGRAM_BLOCK * ROWS * 16 / size) as u64
}

/// Blocks of the histogram that a multiprocessor holds.
pub const HISTOGRAM_RESIDENT: u32 = 4;

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
        // 32 KiB for either size of key.
        let copies = 32 / passes;
        Self { counts: carver.array(passes * DIGITS * copies), passes, copies }
    }
}

/// Bytes of shared memory of the histogram.
pub const fn histogram_shared(size: usize) -> u32 {
    let mut carver = Carver::new();
    let _ = Counters::new(size, &mut carver);
    carver.bytes()
}

/// Bits `begin..end` of the keys' ranks are sorted by.
#[derive(Clone, Copy)]
struct Range {
    begin: u32,
    end: u32,
}

impl Range {
    #[inline(always)]
    fn digit(self, pass: u32) -> Digit {
        let shift = self.begin + pass * RADIX_BITS;
        Digit::new(shift, u32::min(self.end - shift, RADIX_BITS))
    }

    #[inline(always)]
    fn passes(self) -> u32 {
        (self.end - self.begin).div_ceil(RADIX_BITS)
    }
}

#[inline(always)]
unsafe fn histogram<K: Key>(
    (input, len): (*const K, u64),
    range: Range,
    order: Order<K>,
    histogram: *mut u64,
    (control, status, status_len): (*mut u64, *mut u64, u64),
) {
    let counters = Counters::new(16 / K::LANES, &mut Carver::new());
    let Counters { counts, passes, copies } = counters;
    let me = thread::thread_idx_x();
    let fill = order.element(K::from_bits64(0));
    // SAFETY: the caller's arrays are as long as said; the whole block comes to each barrier.
    unsafe {
        let mut i = me;
        while i < passes * DIGITS * copies {
            counts.store(i, 0);
            i += HISTOGRAM_BLOCK as u32;
        }
        if thread::block_idx_x() == 0 {
            clear_stale(control, status, status_len);
        }
        thread::sync_threads();
        let tile_len = histogram_tile(16 / K::LANES);
        let tiles = len.div_ceil(tile_len);
        let mut index = thread::block_idx_x() as u64;
        while index < tiles {
            let tile = Tile::<K, ROWS>::new::<HISTOGRAM_BLOCK>(index, len, false);
            let rows = tile.load(input, fill);
            let mut pass = 0;
            while pass < passes {
                if pass < range.passes() {
                    let digit = range.digit(pass);
                    let mut i = 0;
                    while i < ROWS * K::LANES {
                        let key = order.rank(K::lane(rows[i / K::LANES], i % K::LANES));
                        let counter = pass * DIGITS + digit.of(key);
                        counts.count(counter * copies + me % copies);
                        i += 1;
                    }
                }
                pass += 1;
            }
            index += thread::grid_dim_x() as u64;
        }
        thread::sync_threads();
        // What fills the last tile was counted as rank 0.
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
                atomic::add_u64(histogram.add(digit as usize), sum as u64);
            }
            digit += HISTOGRAM_BLOCK as u32;
        }
    }
}

// ---------------------------------------------------------------------------------------------
// A pass

/// What a block of a pass keeps in shared memory.
#[derive(Clone, Copy)]
struct Shared<K, V, const ITEMS: usize> {
    tickets: Tickets,
    /// The pass word, for those who must not know that it is the same as before.
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

impl<K: Scalar, V: Scalar, const ITEMS: usize> Shared<K, V, ITEMS> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        let tickets = Tickets::new(carver);
        let word = carver.array(1);
        let scan = BlockScan::new(carver);
        let counters = carver.array(WARPS * DIGITS);
        let targets = carver.array(DIGITS);
        let (keys, values) = carver.overlay(tile_len(ITEMS));
        Self { tickets, word, scan, counters, targets, keys, values }
    }
}

/// Bytes of shared memory of a pass.
const fn pass_shared<K: Scalar, V: Scalar, const ITEMS: usize>() -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::<K, V, ITEMS>::new(&mut carver);
    carver.bytes()
}

/// A block's part of the arrays.
#[derive(Clone, Copy)]
struct Part {
    /// The first element of the tile.
    first: u64,
    /// Elements of the tile that are in the array.
    valid: u32,
    /// The thread's first element within the tile; the others follow each 32 later.
    mine: u32,
}

impl Part {
    #[inline(always)]
    fn new<const ITEMS: usize>(tile: u64, len: u64) -> Self {
        let tile_len = tile_len(ITEMS);
        let first = tile * tile_len as u64;
        let valid = u64::min(len - first, tile_len as u64) as u32;
        Self { first, valid, mine: warp::warp_id() * (ITEMS as u32 * 32) + warp::lane_id() }
    }

    /// The thread's elements; `fill` beyond the array.
    #[inline(always)]
    unsafe fn load<T: Scalar, const ITEMS: usize>(&self, array: *const T, fill: T) -> [T; ITEMS] {
        let mut elements = [fill; ITEMS];
        let start = array.wrapping_add((self.first + self.mine as u64) as usize);
        // The condition is the same in the whole block. Without a branch between them all loads
        // are in flight together.
        if self.valid == BLOCK * ITEMS as u32 {
            let mut i = 0;
            while i < ITEMS {
                // SAFETY: the tile is whole.
                elements[i] = unsafe { *start.add(i * 32) };
                i += 1;
            }
        } else {
            let mut i = 0;
            while i < ITEMS {
                if self.mine + (i as u32 * 32) < self.valid {
                    // SAFETY: guarded.
                    elements[i] = unsafe { *start.add(i * 32) };
                }
                i += 1;
            }
        }
        elements
    }
}

/// Small numbers, `PER` in a register: `set` once, in any order.
#[derive(Clone, Copy)]
struct Packed<const ITEMS: usize, const PER: usize>([u32; ITEMS]);

impl<const ITEMS: usize, const PER: usize> Packed<ITEMS, PER> {
    const BITS: usize = 32 / PER;

    #[inline(always)]
    fn new() -> Self {
        Self([0; ITEMS])
    }
    #[inline(always)]
    fn set(&mut self, i: usize, value: u32) {
        self.0[i / PER] |= value << (i % PER * Self::BITS);
    }
    #[inline(always)]
    fn get(&self, i: usize) -> u32 {
        self.0[i / PER] >> (i % PER * Self::BITS) & (u32::MAX >> (32 - Self::BITS))
    }
}

/// Everything that a block of a pass needs to know.
#[derive(Clone, Copy)]
struct Pass<K, V, const ITEMS: usize> {
    shared: Shared<K, V, ITEMS>,
    digit: Digit,
    order: Order<K>,
    flags: u32,
}

impl<K: Key, V: Scalar, const ITEMS: usize> Pass<K, V, ITEMS> {
    #[inline(always)]
    fn new(shared: Shared<K, V, ITEMS>, order: Order<K>, word: u32) -> Self {
        Self { shared, digit: Digit::new(word & 0xff, word >> 8 & 0xff), order, flags: word }
    }

    /// The thread's keys as ranks; all ones, which come last, beyond the array.
    #[inline(always)]
    unsafe fn load_keys(&self, part: Part, array: *const K) -> [K; ITEMS] {
        let is_ranked = self.flags & RANK == 0;
        let fill = if is_ranked { K::ONES } else { self.order.element(K::ONES) };
        // SAFETY: passed on to the caller.
        let mut keys: [K; ITEMS] = unsafe { part.load(array, fill) };
        if !is_ranked {
            let mut i = 0;
            while i < ITEMS {
                keys[i] = self.order.rank(keys[i]);
                i += 1;
            }
        }
        keys
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
    unsafe fn count(&self, keys: &[K; ITEMS]) {
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

    /// Puts the keys at their ranks in shared memory, and gives the ranks.
    ///
    /// Each key's place is stored a step later than its counter moves on, so that the next key's
    /// ballots fill the wait.
    #[inline(always)]
    unsafe fn rank(&self, keys: &[K; ITEMS]) -> Packed<ITEMS, 2> {
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
                    sorted.store(rank, keys[j]);
                    ranks.set(j, rank);
                }
            }
            i += 1;
        }
        ranks
    }

    /// Writes the sorted keys out, and gives their digits.
    #[inline(always)]
    unsafe fn write_keys<const AS_ELEMENTS: bool>(&self, valid: u32) -> Packed<ITEMS, 4> {
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
                let key = if AS_ELEMENTS { self.order.element(key) } else { key };
                if j < valid {
                    let address = target.wrapping_add(j as u64 * size_of::<K>() as u64);
                    global::store(address, key);
                }
            }
            i += 1;
        }
        digits
    }

    /// Writes the values out, each where its key went.
    #[inline(always)]
    unsafe fn write_values(&self, valid: u32, digits: Packed<ITEMS, 4>) {
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
                    global::store(address, value);
                }
            }
            i += 1;
        }
    }
}

/// The arrays of a pass.
#[derive(Clone, Copy)]
struct Arrays<K, V> {
    keys_in: *const K,
    keys_out: *mut K,
    values_in: *const V,
    values_out: *mut V,
    len: u64,
}

/// A pass, the body of every kernel that sorts by a digit.
#[inline(always)]
unsafe fn pass<K: Key, V: Scalar, const ITEMS: usize, const WITH_VALUES: bool>(
    arrays: Arrays<K, V>,
    word: u32,
    order: Order<K>,
    (histogram, control, status): (*mut u64, *mut u64, *mut u64),
) {
    let shared = Shared::<K, V, ITEMS>::new(&mut Carver::new());
    let pass = Pass::<K, V, ITEMS>::new(shared, order, word);
    let me = thread::thread_idx_x();
    let has_digit = me < DIGITS;
    // SAFETY: the caller's arrays are as long as said; the whole block comes to each barrier, and
    // barriers stand between the phases of the shared memory.
    unsafe {
        pass.clear_counters();
        if me == 0 {
            shared.word.store(0, word);
        }
        let ticket = shared.tickets.take(control);
        let part = Part::new::<ITEMS>(ticket.tile, arrays.len);
        let keys = pass.load_keys(part, arrays.keys_in);
        pass.count(&keys);
        thread::sync_threads();

        let lookback = DigitLookback::new(status, ticket);
        let mut count = 0;
        let mut of_all = 0;
        if has_digit {
            count = pass.sum_counters();
            if ticket.tile == 0 {
                // Read for the last time: zero again for the next sort.
                of_all = *histogram.add(me as usize);
                *histogram.add(me as usize) = 0;
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

        // From here on digits are derived anew: kept over the barriers, they would take a register
        // for each key.
        let pass = Pass::<K, V, ITEMS>::new(shared, order, shared.word.load(0));
        let ranks = pass.rank(&keys);
        let mut values = [V::from_bits64(0); ITEMS];
        if WITH_VALUES {
            values = load_values(part, arrays.values_in, word);
        }
        let mut target = 0;
        if has_digit {
            target = lookback.begin(count, before_digit).wrapping_sub(first as u64);
            let bytes = target.wrapping_mul(size_of::<K>() as u64);
            shared.targets.store(me, (arrays.keys_out as usize as u64).wrapping_add(bytes));
        }
        thread::sync_threads();

        let digits = match word & UNRANK != 0 {
            true => pass.write_keys::<true>(part.valid),
            false => pass.write_keys::<false>(part.valid),
        };
        if !WITH_VALUES {
            return;
        }
        thread::sync_threads();
        if has_digit {
            let bytes = target.wrapping_mul(size_of::<V>() as u64);
            shared.targets.store(me, (arrays.values_out as usize as u64).wrapping_add(bytes));
        }
        let mut i = 0;
        while i < ITEMS {
            shared.values.store(ranks.get(i), values[i]);
            i += 1;
        }
        thread::sync_threads();
        pass.write_values(part.valid, digits);
    }
}

/// The thread's values: from memory, or the indices.
#[inline(always)]
unsafe fn load_values<V: Scalar, const ITEMS: usize>(
    part: Part,
    array: *const V,
    word: u32,
) -> [V; ITEMS] {
    if word & INDEX == 0 {
        // SAFETY: passed on to the caller.
        return unsafe { part.load(array, V::from_bits64(0)) };
    }
    let mut values = [V::from_bits64(0); ITEMS];
    let first = part.first + part.mine as u64;
    let mut i = 0;
    while i < ITEMS {
        values[i] = V::from_bits64(first + i as u64 * 32);
        i += 1;
    }
    values
}

// ---------------------------------------------------------------------------------------------
// The kernels

/// The kernels for keys of one size.
#[cfg(not(target_arch = "nvptx64"))]
pub trait SortKeys: Key {
    /// The histogram of all passes.
    const HISTOGRAM: device_std::host::Kernel<HistogramArguments<Self>>;
    /// A pass without values.
    const PASS: device_std::host::Kernel<Arguments<Self, u32>>;
    /// Keys of a tile of [`PASS`](Self::PASS).
    const TILE: u64;
    /// Bytes of shared memory of [`PASS`](Self::PASS).
    const SHARED: u32;
}

/// The kernel for keys of one size and values of another.
#[cfg(not(target_arch = "nvptx64"))]
pub trait SortPairs<V>: SortKeys {
    /// A pass.
    const PASS: device_std::host::Kernel<Arguments<Self, V>>;
    /// Keys of a tile of [`PASS`](Self::PASS).
    const TILE: u64;
    /// Bytes of shared memory of [`PASS`](Self::PASS).
    const SHARED: u32;
}

/// What the histogram takes: keys and their number; the first bit and the one after the last, the
/// order's parameters; the histogram; control word, statuses and their number, one word less.
#[cfg(not(target_arch = "nvptx64"))]
pub type HistogramArguments<K> =
    (*const K, u64, u32, u32, u64, u64, u64, u64, *mut u64, *mut u64, *mut u64, u64);

/// What a pass takes: keys in and out, values in and out, their number; the pass word; the order's
/// parameters; the pass's histogram, control word, statuses.
#[cfg(not(target_arch = "nvptx64"))]
pub type Arguments<K, V> = (
    *const K,
    *mut K,
    *const V,
    *mut V,
    u64,
    u32,
    u64,
    u64,
    u64,
    u64,
    *mut u64,
    *mut u64,
    *mut u64,
);

macro_rules! sorts {
    (
        keys { $($histogram:ident, $keys:ident: $key:ty, $items:literal, $resident:literal;)+ }
        pairs { $($pairs:ident: $pair_key:ty, $value:ty, $pair_items:literal, $pair_resident:literal;)+ }
    ) => {
        $(
            /// Adds the digits of all passes to `counts`. Grid: any number of blocks.
            ///
            /// # Safety
            /// `input` has `len` elements, more than none; `counts` 256 for each pass; `status`
            /// `status_len + 1`. No pass over this control word and these statuses runs.
            #[kernel(block = 256, resident = 4)]
            pub unsafe fn $histogram(
                input: *const $key,
                len: u64,
                begin: u32,
                end: u32,
                parameter_0: u64,
                parameter_1: u64,
                parameter_2: u64,
                parameter_3: u64,
                counts: *mut u64,
                control: *mut u64,
                status: *mut u64,
                status_len: u64,
            ) {
                let order = Order::new([parameter_0, parameter_1, parameter_2, parameter_3]);
                let range = Range { begin, end };
                // SAFETY: passed on to the caller.
                unsafe {
                    histogram((input, len), range, order, counts, (control, status, status_len))
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            impl SortKeys for $key {
                const HISTOGRAM: device_std::host::Kernel<HistogramArguments<$key>> = $histogram;
                const PASS: device_std::host::Kernel<Arguments<$key, u32>> = $keys;
                const TILE: u64 = tile_len($items) as u64;
                const SHARED: u32 = pass_shared::<$key, u32, $items>();
            }
            sorts! { @pass $keys, $key, u32, $items, false, $resident }
        )+
        $(
            sorts! { @pass $pairs, $pair_key, $value, $pair_items, true, $pair_resident }
            #[cfg(not(target_arch = "nvptx64"))]
            impl SortPairs<$value> for $pair_key {
                const PASS: device_std::host::Kernel<Arguments<$pair_key, $value>> = $pairs;
                const TILE: u64 = tile_len($pair_items) as u64;
                const SHARED: u32 = pass_shared::<$pair_key, $value, $pair_items>();
            }
        )+
        device_std::ptx_module! { "sort": $($histogram, $keys,)+ $($pairs),+ }
    };
    (@pass $name:ident, $key:ty, $value:ty, $items:literal, $with_values:literal, $resident:literal) => {
        /// Sorts stably by one digit; see the module's plan. Grid: one block a tile.
        ///
        /// # Safety
        /// The arrays have `len` elements and are apart (those of values are not touched by a sort
        /// of keys alone); `counts` are the array's digits; `status` has 256 words for each block.
        #[kernel(block = 384, resident = $resident)]
        pub unsafe fn $name(
            keys_in: *const $key,
            keys_out: *mut $key,
            values_in: *const $value,
            values_out: *mut $value,
            len: u64,
            word: u32,
            parameter_0: u64,
            parameter_1: u64,
            parameter_2: u64,
            parameter_3: u64,
            counts: *mut u64,
            control: *mut u64,
            status: *mut u64,
        ) {
            let order = Order::new([parameter_0, parameter_1, parameter_2, parameter_3]);
            let arrays = Arrays { keys_in, keys_out, values_in, values_out, len };
            // SAFETY: passed on to the caller.
            unsafe {
                pass::<$key, $value, $items, $with_values>(
                    arrays, word, order, (counts, control, status),
                )
            }
        }
    };
}

// Columns: kernels; types; keys of a thread; blocks on a multiprocessor, at least.
sorts! {
    keys {
        sort_histogram_u32, sort_keys_u32: u32, 22, 3;
        sort_histogram_u64, sort_keys_u64: u64, 11, 3;
    }
    pairs {
        sort_pairs_u32_u32: u32, u32, 17, 2;
        sort_pairs_u32_u64: u32, u64, 11, 2;
        sort_pairs_u64_u32: u64, u32, 11, 2;
        sort_pairs_u64_u64: u64, u64, 11, 2;
    }
}
