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

use device_std::shared::{Carver, SharedArray};
use device_std::tile::Tile;
use device_std::{atomic, kernel, thread, warp};

use crate::operators::{Bits, Order};

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

/// Bytes of shared memory that copies of the counters may take: so many blocks still fit on a
/// multiprocessor that all its threads are busy.
const COPIES_SHARED: u64 = 16 << 10;

/// The values of a byte.
const BYTES: u32 = 256;

/// What the kernels are launched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Copies of the counters in shared memory; 0 where they are in global memory.
    pub copies: u32,
    /// Bytes of shared memory.
    pub shared: u32,
}

/// How elements of a size are counted in so many bins.
pub const fn plan(element_size: usize, bins: u64) -> Plan {
    if element_size == 1 {
        let copies = (BLOCK / 32) as u32;
        return Plan { copies, shared: copies * BYTES * 4 };
    }
    if bins >= MOST_SHARED {
        return Plan { copies: 0, shared: 0 };
    }
    // The counters after them are aligned.
    let bounds = ((bins + 1) * element_size as u64).next_multiple_of(4);
    let counters = (bins + OUTSIDE) * 4;
    if bounds + counters > MOST_SHARED {
        return Plan { copies: 0, shared: 0 };
    }
    let mut copies = 1;
    while copies < (BLOCK / 32) as u64 && 2 * copies * counters <= COPIES_SHARED {
        copies *= 2;
    }
    // Should the bounds leave no room for them, there are fewer copies.
    while bounds + copies * counters > MOST_SHARED {
        copies /= 2;
    }
    Plan { copies: copies as u32, shared: (bounds + copies * counters) as u32 }
}

/// The bounds of bins of equal width.
///
/// Of integers: `first` is the rank of the lowest bound, and bound `b` lies
/// `ceil(span * b / bins)` above it, where `span = quotient * bins + rest`: an integer lies between
/// two real bounds exactly if it lies between the same rounded up.
///
/// Of floats: `first` and `quotient` are the bits of the lowest and the highest bound as f64.
#[derive(Clone, Copy, Debug)]
pub struct Even {
    /// See [`Even`].
    pub first: u64,
    /// See [`Even`].
    pub quotient: u64,
    /// See [`Even`].
    pub rest: u64,
    /// Bins, at most [`MOST_BINS`].
    pub bins: u64,
    /// Whether elements are floats.
    pub floats: bool,
}

impl Even {
    /// The rank of bound `b`.
    #[inline(always)]
    pub fn rank<B: Bits>(&self, order: Order<B>, b: u64) -> B {
        if self.floats {
            return rank_of_bound(order, B::from_bits64(self.float::<B>(b)));
        }
        // Both factors are below 2^32.
        let product = self.rest * b;
        let quotient = product.checked_div(self.bins).unwrap_or(0);
        let up = (quotient * self.bins != product) as u64;
        B::from_bits64(self.first.wrapping_add(self.quotient * b + quotient + up))
    }

    /// The bits of bound `b` as a float of the elements' size.
    #[inline(always)]
    fn float<B>(&self, b: u64) -> u64 {
        let (first, last) = (f64::from_bits(self.first), f64::from_bits(self.quotient));
        let part = b as f64 / self.bins as f64;
        let span = last - first;
        // The span of two doubles may be beyond the greatest.
        let bound = if span <= f64::MAX {
            first + span * part
        } else {
            2.0 * (first / 2.0 + (last / 2.0 - first / 2.0) * part)
        };
        let bound = if b == self.bins || bound > last { last } else { bound };
        if size_of::<B>() == 4 { (bound as f32).to_bits() as u64 } else { bound.to_bits() }
    }
}

/// The rank of a bound. Zeros become -0.0, so that ranks compare as numbers do: +0.0 and -0.0 lie
/// in the bin that begins at a zero, whatever its sign.
#[inline(always)]
pub fn rank_of_bound<B: Bits>(order: Order<B>, bits: B) -> B {
    let is_float = order.magnitude != B::from_bits64(0);
    let is_zero = bits == B::from_bits64(0);
    order.rank(if is_float && is_zero { order.top } else { bits })
}

/// The greatest rank of a number: NaNs come after it.
#[inline(always)]
pub fn last_number<B: Bits>(order: Order<B>) -> B {
    // The shift of the ascending order is the number of NaNs of one sign.
    B::ONES.minus(order.shift).minus(order.shift)
}

/// Where the counts go: of the two arrays for the bins one is null.
#[derive(Clone, Copy)]
struct Counts {
    words: *mut u32,
    long_words: *mut u64,
    outside: *mut u64,
    bins: u64,
}

impl Counts {
    /// Adds to a slot.
    #[inline(always)]
    unsafe fn add(&self, slot: u32, count: u64) {
        let (bins, bin) = (self.bins as u32, slot.wrapping_sub(1));
        // SAFETY: the caller's arrays have a counter for each slot, and are added to only.
        unsafe {
            if bin < bins {
                if self.long_words.is_null() {
                    atomic::add_u32(self.words.add(bin as usize), count as u32);
                } else {
                    atomic::add_u64(self.long_words.add(bin as usize), count);
                }
            } else {
                let which = if slot == 0 { 0 } else { slot - bins };
                atomic::add_u64(self.outside.add(which as usize), count);
            }
        }
    }

    /// Sets counter `i` of the bins and of the others to zero.
    #[inline(always)]
    unsafe fn clear(&self, i: u64) {
        // SAFETY: guarded by the lengths.
        unsafe {
            if i < self.bins && self.long_words.is_null() {
                *self.words.add(i as usize) = 0;
            } else if i < self.bins {
                *self.long_words.add(i as usize) = 0;
            }
            if i < OUTSIDE {
                *self.outside.add(i as usize) = 0;
            }
        }
    }
}

/// Counts a slot that comes again and again.
struct Run {
    slot: u32,
    count: u32,
}

impl Run {
    const NO_SLOT: u32 = u32::MAX;

    #[inline(always)]
    fn new() -> Self {
        Self { slot: Self::NO_SLOT, count: 0 }
    }

    /// One more for `slot`; another's count is added to its counter first.
    #[inline(always)]
    fn count(&mut self, slot: u32, add: &impl Fn(u32, u32)) {
        if slot != self.slot {
            self.flush(add);
            *self = Self { slot, count: 0 };
        }
        self.count += 1;
    }

    #[inline(always)]
    fn flush(&self, add: &impl Fn(u32, u32)) {
        if self.slot != Self::NO_SLOT {
            add(self.slot, self.count);
        }
    }
}

/// Elements of a vector whose slots a thread looks for side by side.
const fn side_by_side(element_size: usize) -> usize {
    if element_size == 8 { 2 } else { 4 }
}

/// Calls `count` with the slot of each element in the tiles of this block: `slots_of` gives the slots
/// of some of a vector's elements.
#[inline(always)]
unsafe fn count_tiles<B: Bits, const SIDE: usize>(
    input: *const B,
    len: u64,
    slots_of: impl Fn([B; SIDE]) -> [u32; SIDE],
    mut count: impl FnMut(u32),
) {
    let tiles = len.div_ceil(tile_len(size_of::<B>()));
    let mut index = thread::block_idx_x() as u64;
    while index < tiles {
        let tile = Tile::<B, ROWS>::new::<BLOCK>(index, len, false);
        // SAFETY: passed on to the caller.
        let rows = unsafe { tile.load(input, B::ONES) };
        let mut row = 0;
        while row < ROWS {
            let present = tile.valid(tile.element(row));
            let mut lane = 0;
            while lane < B::LANES {
                let mut elements = [B::ONES; SIDE];
                let mut i = 0;
                while i < SIDE {
                    elements[i] = B::lane(rows[row], lane + i);
                    i += 1;
                }
                let slots = slots_of(elements);
                let mut i = 0;
                while i < SIDE {
                    if ((lane + i) as u32) < present {
                        count(slots[i]);
                    }
                    i += 1;
                }
                lane += SIDE;
            }
            row += 1;
        }
        index += thread::grid_dim_x() as u64;
    }
}

/// The slots of some elements, by a search in the `bins + 1` bounds.
#[inline(always)]
fn search<B: Bits, const SIDE: usize>(
    order: Order<B>,
    elements: [B; SIDE],
    bounds: impl Fn(u32) -> B,
    bins: u32,
) -> [u32; SIDE] {
    let ranks = ranks_of(order, elements);
    // Bounds known not to be above the element; what is undecided are the `rest` after them.
    let mut found = [0; SIDE];
    let mut rest = bins + 1;
    while rest > 0 {
        let half = rest.div_ceil(2);
        let mut i = 0;
        while i < SIDE {
            let below = bounds(found[i] + half - 1) <= ranks[i];
            found[i] += if below { half } else { 0 };
            i += 1;
        }
        rest -= half;
    }
    let mut i = 0;
    while i < SIDE {
        found[i] += (ranks[i] > last_number(order)) as u32;
        i += 1;
    }
    found
}

/// From here on floats are whole numbers.
const WHOLE: f32 = 8_388_608.0;

/// Equal bins: where elements lie among them.
#[derive(Clone, Copy)]
struct Places<F> {
    /// The place of an element in bins from the lowest bound on.
    place: F,
    bins: u32,
    /// A place so close to the middle of a bin, in bins, is certainly in that bin.
    near: f32,
}

impl<F> Places<F> {
    /// With places that `place` gives up to `error` bins, apart from a few roundings.
    #[inline(always)]
    fn new(place: F, bins: u32, error: f32) -> Self {
        // A difference, a scale and a product are rounded, each by 2^-24 of the place.
        const ROUNDINGS: f32 = 1.0 / (1 << 19) as f32;
        Self { place, bins, near: 0.5 - bins as f32 * ROUNDINGS - error }
    }

    /// The slots of some elements: computed, and where the place is close to a bound, compared.
    #[inline(always)]
    fn slots<B: Bits, const SIDE: usize>(
        &self,
        order: Order<B>,
        elements: [B; SIDE],
        bounds: impl Fn(u32) -> B,
    ) -> [u32; SIDE]
    where
        F: Fn(B) -> f32,
    {
        let mut slots = [0; SIDE];
        let mut certain = true;
        let mut i = 0;
        while i < SIDE {
            let place = (self.place)(elements[i]);
            // The middle of a slot is a whole number; what is outside lies in the middle of its slot.
            let above = f32::min(f32::max(place + 0.5, 0.0), (self.bins + 1) as f32);
            let rounded = above + WHOLE;
            slots[i] = rounded.to_bits().wrapping_sub(WHOLE.to_bits());
            let from_middle = above - (rounded - WHOLE);
            certain &= !place.is_nan() & (from_middle < self.near) & (from_middle > -self.near);
            i += 1;
        }
        let mut i = 0;
        while i < SIDE && !certain {
            slots[i] = self.compare(order.rank(elements[i]), slots[i], order, &bounds);
            i += 1;
        }
        slots
    }

    /// Moves to the slot that has a rank between its bounds.
    #[inline(always)]
    fn compare<B: Bits>(
        &self,
        rank: B,
        slot: u32,
        order: Order<B>,
        bounds: &impl Fn(u32) -> B,
    ) -> u32 {
        let mut slot = u32::min(slot, self.bins + 1);
        while slot <= self.bins && rank >= bounds(slot) {
            slot += 1;
        }
        while slot > 0 && rank < bounds(slot - 1) {
            slot -= 1;
        }
        slot + (rank > last_number(order)) as u32
    }
}

/// The ranks of some elements.
#[inline(always)]
fn ranks_of<B: Bits, const SIDE: usize>(order: Order<B>, mut elements: [B; SIDE]) -> [B; SIDE] {
    let mut i = 0;
    while i < SIDE {
        elements[i] = order.rank(elements[i]);
        i += 1;
    }
    elements
}

/// Sets some counters in shared memory to zero.
#[inline(always)]
unsafe fn clear(counters: SharedArray<u32>, len: u32) {
    let mut i = thread::thread_idx_x();
    while i < len {
        // SAFETY: guarded by the length; the caller's barrier comes before any other access.
        unsafe { counters.store(i, 0) };
        i += BLOCK as u32;
    }
}

/// The sum of a counter's copies.
#[inline(always)]
unsafe fn total(counters: SharedArray<u32>, counter: u32, (copies, of_copy): (u32, u32)) -> u64 {
    let mut sum = 0;
    let mut copy = 0;
    while copy < copies {
        // SAFETY: the caller's array has so many copies; a barrier came after the last addition.
        sum += unsafe { counters.load(copy * of_copy + counter) } as u64;
        copy += 1;
    }
    sum
}

/// Counts in shared memory; `slots_of` finds slots among bounds there.
#[inline(always)]
unsafe fn in_shared<B: Bits, const SIDE: usize>(
    (input, len): (*const B, u64),
    (bounds, copies): (*const B, u32),
    counts: Counts,
    slots_of: impl Fn([B; SIDE], SharedArray<B>) -> [u32; SIDE],
) {
    let bins = counts.bins as u32;
    let slots = bins + OUTSIDE as u32;
    let mut carver = Carver::new();
    let ranks: SharedArray<B> = carver.array(bins + 1);
    let counters: SharedArray<u32> = carver.array(copies * slots);
    // SAFETY: indices stay below the arrays' lengths; barriers stand between the phases.
    unsafe {
        let mut i = thread::thread_idx_x();
        while i < bins + 1 {
            ranks.store(i, *bounds.add(i as usize));
            i += BLOCK as u32;
        }
        clear(counters, copies * slots);
        thread::sync_threads();
        // Copies are a power of two.
        let mine = (warp::warp_id() & (copies - 1)) * slots;
        count_tiles::<B, SIDE>(
            input,
            len,
            |elements| slots_of(elements, ranks),
            |slot| counters.count(mine + slot),
        );
        thread::sync_threads();
        let mut slot = thread::thread_idx_x();
        while slot < slots {
            let sum = total(counters, slot, (copies, slots));
            if sum != 0 {
                counts.add(slot, sum);
            }
            slot += BLOCK as u32;
        }
    }
}

#[inline(always)]
unsafe fn in_global<B: Bits, const SIDE: usize>(
    (input, len): (*const B, u64),
    bounds: *const B,
    order: Order<B>,
    counts: Counts,
) {
    let mut run = Run::new();
    // SAFETY: indices of bounds stay at most at the number of bins, and slots are counters.
    unsafe {
        let add = |slot, count| counts.add(slot, count as u64);
        count_tiles::<B, SIDE>(
            input,
            len,
            |elements| search(order, elements, |i| *bounds.add(i as usize), counts.bins as u32),
            |slot| run.count(slot, &add),
        );
        run.flush(&add);
    }
}

/// What makes the bounds takes: thresholds, or null and [`Even`]'s `first`, `quotient`, `rest`,
/// and whether elements are floats; bins; the order's parameters; the ranks; counts of 32 or of 64
/// bits, one of them null; counts of what is outside.
#[cfg(not(target_arch = "nvptx64"))]
pub type BoundsArguments<B> =
    (*const B, u64, u64, u64, u32, u64, u64, u64, u64, u64, *mut B, *mut u32, *mut u64, *mut u64);

/// What the counting kernels take: input and length, bounds (as ranks), bins, copies of the
/// counters, the order's parameters; the lowest bound and bins per unit, for equal bins; counts of
/// 32 or of 64 bits, one of them null; counts of what is outside.
#[cfg(not(target_arch = "nvptx64"))]
pub type Arguments<B> =
    (*const B, u64, *const B, u64, u32, u64, u64, u64, u64, u64, f32, *mut u32, *mut u64, *mut u64);

/// The kernels that count elements of one size.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Histograms: Bits {
    /// Makes the bounds.
    const BOUNDS: device_std::host::Kernel<BoundsArguments<Self>>;
    /// Counts in shared memory, by a search.
    const SEARCH: device_std::host::Kernel<Arguments<Self>>;
    /// Counts in shared memory, integers in equal bins.
    const EVEN: device_std::host::Kernel<Arguments<Self>>;
    /// Counts in shared memory, floats in equal bins.
    const EVEN_FLOATS: device_std::host::Kernel<Arguments<Self>>;
    /// Counts in global memory.
    const GLOBAL: device_std::host::Kernel<Arguments<Self>>;
}

macro_rules! bounds {
    ($($name:ident: $type:ty;)+) => {$(
        /// Makes the bounds, as ranks, and sets the counts to zero. Grid: a thread for each bound,
        /// and at least [`OUTSIDE`].
        ///
        /// # Safety
        /// `thresholds` is null or has `bins + 1` elements, `ranks` has as many, the array of
        /// counts that is not null `bins`, `outside` [`OUTSIDE`].
        #[kernel(block = 256)]
        pub unsafe fn $name(
            thresholds: *const $type,
            first: u64,
            quotient: u64,
            rest: u64,
            floats: u32,
            bins: u64,
            parameter_0: u64,
            parameter_1: u64,
            parameter_2: u64,
            parameter_3: u64,
            ranks: *mut $type,
            words: *mut u32,
            long_words: *mut u64,
            outside: *mut u64,
        ) {
            let order = Order::<$type>::new([parameter_0, parameter_1, parameter_2, parameter_3]);
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
    )+};
}

bounds! {
    histogram_bounds_u8: u8;
    histogram_bounds_u16: u16;
    histogram_bounds_u32: u32;
    histogram_bounds_u64: u64;
}

/// Declares a kernel that counts.
macro_rules! counting {
    ($(#[$about:meta])+ $name:ident: $type:ty,
        |$arrays:ident, $bounds:ident, $order:ident, $lower:ident, $scale:ident, $counts:ident|
        $body:expr) => {
        $(#[$about])+
        /// Grid: any number of blocks that leaves each at most [`MOST_TILES`].
        ///
        /// # Safety
        /// `input` has `len` elements, `ranks` `bins + 1`, the array of counts that is not null
        /// `bins`, `outside` [`OUTSIDE`]. Shared memory and copies are those of [`plan`].
        #[kernel(block = 256, resident = 4)]
        pub unsafe fn $name(
            input: *const $type,
            len: u64,
            ranks: *const $type,
            bins: u64,
            copies: u32,
            parameter_0: u64,
            parameter_1: u64,
            parameter_2: u64,
            parameter_3: u64,
            lower: u64,
            scale: f32,
            words: *mut u32,
            long_words: *mut u64,
            outside: *mut u64,
        ) {
            let $order = Order::<$type>::new([parameter_0, parameter_1, parameter_2, parameter_3]);
            let $counts = Counts { words, long_words, outside, bins };
            let ($arrays, $bounds) = ((input, len), (ranks, copies));
            let ($lower, $scale) = (lower, scale);
            // SAFETY: passed on to the caller.
            unsafe { $body }
        }
    };
}

counting! {
    /// Counts bytes by value, then brings the counts to bins.
    histogram_u8: u8, |arrays, bounds, order, _lower, _scale, counts| {
        let (bounds, copies) = bounds;
        let counters: SharedArray<u32> = Carver::new().array(copies * BYTES);
        clear(counters, copies * BYTES);
        thread::sync_threads();
        let mine = (warp::warp_id() & (copies - 1)) * BYTES;
        count_tiles::<u8, 4>(
            arrays.0,
            arrays.1,
            |elements| elements.map(u32::from),
            |value| counters.count(mine + value),
        );
        thread::sync_threads();
        // A thread for each value.
        let value = thread::thread_idx_x();
        let sum = total(counters, value, (copies, BYTES));
        let [slot] = search(order, [value as u8], |i| *bounds.add(i as usize), counts.bins as u32);
        if sum != 0 {
            counts.add(slot, sum);
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Histograms for u8 {
    const BOUNDS: device_std::host::Kernel<BoundsArguments<u8>> = histogram_bounds_u8;
    const SEARCH: device_std::host::Kernel<Arguments<u8>> = histogram_u8;
    const EVEN: device_std::host::Kernel<Arguments<u8>> = histogram_u8;
    const EVEN_FLOATS: device_std::host::Kernel<Arguments<u8>> = histogram_u8;
    const GLOBAL: device_std::host::Kernel<Arguments<u8>> = histogram_u8;
}

macro_rules! histograms {
    ($($bounds:ident, $search:ident, $even:ident, $even_floats:ident, $global:ident: $type:ty;)+)
    => {$(
        counting! {
            /// Counts in shared memory, by a search.
            $search: $type, |arrays, bounds, order, _lower, _scale, counts| {
                in_shared::<$type, { side_by_side(size_of::<$type>()) }>(
                    arrays,
                    bounds,
                    counts,
                    |elements, ranks| {
                        search(order, elements, |i| ranks.load(i), counts.bins as u32)
                    },
                )
            }
        }
        counting! {
            /// Counts integers in equal bins in shared memory.
            $even: $type, |arrays, bounds, order, lower, scale, counts| {
                let lower = order.rank(lower as $type);
                let place = |element| {
                    let rank = order.rank(element);
                    let above = (rank.wrapping_sub(lower)) as f32 * scale;
                    if rank < lower { -1.0 } else { above }
                };
                // Bounds are rounded up to integers.
                let places = Places::new(place, counts.bins as u32, 2.0 * scale);
                in_shared::<$type, { side_by_side(size_of::<$type>()) }>(
                    arrays,
                    bounds,
                    counts,
                    |elements, ranks| places.slots(order, elements, |i| ranks.load(i)),
                )
            }
        }
        counting! {
            /// Counts in global memory.
            $global: $type, |arrays, bounds, order, _lower, _scale, counts| {
                in_global::<$type, { side_by_side(size_of::<$type>()) }>(arrays, bounds.0, order, counts)
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        impl Histograms for $type {
            const BOUNDS: device_std::host::Kernel<BoundsArguments<$type>> = $bounds;
            const SEARCH: device_std::host::Kernel<Arguments<$type>> = $search;
            const EVEN: device_std::host::Kernel<Arguments<$type>> = $even;
            const EVEN_FLOATS: device_std::host::Kernel<Arguments<$type>> = $even_floats;
            const GLOBAL: device_std::host::Kernel<Arguments<$type>> = $global;
        }
    )+};
}

// There are no floats of two bytes: the kernel in their column is never launched.
histograms! {
    histogram_bounds_u16, histogram_u16, histogram_even_u16, histogram_even_u16,
        histogram_global_u16: u16;
    histogram_bounds_u32, histogram_u32, histogram_even_u32, histogram_even_f32,
        histogram_global_u32: u32;
    histogram_bounds_u64, histogram_u64, histogram_even_u64, histogram_even_f64,
        histogram_global_u64: u64;
}

macro_rules! even_floats {
    ($($name:ident: $bits:ty, $float:ty;)+) => {$(
        counting! {
            /// Counts floats in equal bins in shared memory.
            $name: $bits, |arrays, bounds, order, lower, scale, counts| {
                let lower = <$float>::from_bits(lower as $bits);
                let place = |bits| (<$float>::from_bits(bits) - lower) as f32 * scale;
                // Bounds are rounded to floats: by 2^-24 of the greater end, which is at most so
                // many bins from the lower one and that from zero.
                let from_zero = f32::max(lower as f32, -lower as f32) * scale;
                let error = from_zero / (1 << 21) as f32;
                let places = Places::new(place, counts.bins as u32, error);
                in_shared::<$bits, { side_by_side(size_of::<$bits>()) }>(
                    arrays,
                    bounds,
                    counts,
                    |elements, ranks| places.slots(order, elements, |i| ranks.load(i)),
                )
            }
        }
    )+};
}

even_floats! {
    histogram_even_f32: u32, f32;
    histogram_even_f64: u64, f64;
}

device_std::ptx_module! {
    "histogram":
    histogram_bounds_u8, histogram_bounds_u16, histogram_bounds_u32, histogram_bounds_u64,
    histogram_u8, histogram_u16, histogram_u32, histogram_u64, histogram_even_u16,
    histogram_even_u32, histogram_even_u64, histogram_even_f32, histogram_even_f64,
    histogram_global_u16, histogram_global_u32, histogram_global_u64
}
