//! Inclusive and exclusive scans in one pass: crate `gpu-scan`.
//!
//! A block does one [`Tile`]. The plan:
//!
//! 1. Load: each thread has `ROWS` vectors of 16 bytes copied to shared memory, for registers are
//!    too few to hold as many tiles as the memory needs under way, and sums each.
//! 2. Warp: a scan over the lanes for each row, then over the rows, one after the other.
//! 3. Block: the warps' sums go to shared memory, and every thread adds up those before its own.
//! 4. Device: warp 0 looks back for the sum of all tiles before.
//! 5. Every thread walks once more over its vectors, from the sum of all that comes before them,
//!    and stores them.
//!
//! So each element is read once and written once, by 16 bytes a thread. A thread touches its own
//! vectors only: there is no exchange through shared memory. The PTX of level 80 copies past the
//! registers. A segmented scan does the same with sums that begin anew at a head; a head is a
//! bit in an array with one bit an element, which the kernels of `flags` make. Backward, the tile
//! lies mirrored over the array, and its "head" is a segment's last element.
//!
//! The order in which elements are combined is fixed: see `gpu-scan`'s documentation of it.

use device_std::atomic::Pair;
use device_std::lookback::{Lookback, Ticket, Tickets};
use device_std::scalar::Scalar;
use device_std::shared::{Carver, Plain, SharedArray};
use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{kernel, thread, warp};

use crate::operators::{BACKWARD, EXCLUSIVE, Last, Least, Operator, Sum};

/// Threads of a block.
pub const BLOCK: usize = 256;
const WARPS: usize = BLOCK / 32;

/// A partial sum of a segmented scan: what was combined since the last head, and whether there
/// was one. Without segments `closed` is always false and costs nothing.
#[derive(Clone, Copy)]
struct Partial<T> {
    value: T,
    closed: bool,
}

impl<T: Scalar> Partial<T> {
    #[inline(always)]
    fn then<O: Operator<T>>(self, operator: O, next: Self) -> Self {
        Self {
            value: if next.closed { next.value } else { operator.combine(self.value, next.value) },
            closed: self.closed | next.closed,
        }
    }
}

/// What a block keeps in shared memory.
#[derive(Clone, Copy)]
struct Shared<T> {
    /// The threads' rows, while they wait for the tiles before: registers are few.
    stash: SharedArray<Vector>,
    tickets: Tickets,
    values: SharedArray<T>,
    closed: SharedArray<u32>,
    counts: SharedArray<u32>,
    prefix: SharedArray<T>,
    heads_before: SharedArray<u64>,
}

impl<T: Plain> Shared<T> {
    #[inline(always)]
    const fn new(carver: &mut Carver, rows: usize) -> Self {
        Self {
            stash: carver.array((rows * BLOCK) as u32),
            tickets: Tickets::new(carver),
            values: carver.array(WARPS as u32),
            closed: carver.array(WARPS as u32),
            counts: carver.array(WARPS as u32),
            prefix: carver.array(1),
            heads_before: carver.array(1),
        }
    }
}

/// Bytes of shared memory.
const fn shared_bytes<T: Plain>(rows: usize) -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::<T>::new(&mut carver, rows);
    carver.bytes()
}

/// Where a vector lies, and how many heads come before it.
#[derive(Clone, Copy)]
struct Place {
    first: u64,
    len: u64,
    rank: u64,
}

/// Where the totals of segments go.
#[derive(Clone, Copy)]
struct Totals<T> {
    totals: *mut T,
    /// Null if runs are counted.
    offsets: *const u64,
    segments: u64,
}

impl<T: Scalar> Totals<T> {
    /// Writes the total of the segment whose last element is `at`, the `rank`th that has one.
    #[inline(always)]
    unsafe fn write(&self, rank: u64, at: u64, total: T) {
        let mut segment = rank.wrapping_sub(1);
        if !self.offsets.is_null() {
            // The last segment that begins at or before the element.
            let (mut low, mut high) = (0, self.segments);
            while low + 1 < high {
                let middle = low + (high - low) / 2;
                // SAFETY: below the number of segments.
                let begins_before = unsafe { *self.offsets.add(middle as usize) } <= at;
                low = if begins_before { middle } else { low };
                high = if begins_before { high } else { middle };
            }
            segment = low;
        }
        // SAFETY: the caller's array has room for every segment.
        unsafe { *self.totals.add(segment as usize) = total };
    }
}

/// The head bits of a thread's vectors, row after row.
#[derive(Clone, Copy)]
struct Heads(u128);

impl Heads {
    #[inline(always)]
    fn of_row<T: Scalar>(self, row: usize) -> u32 {
        (self.0 >> (row * T::LANES)) as u32 & ((1 << T::LANES) - 1)
    }
}

/// What comes before each of a thread's vectors within its warp.
#[derive(Clone, Copy)]
struct Before<T, const ROWS: usize> {
    values: [T; ROWS],
    /// A bit for each row: whether the value begins at a head, so that nothing comes before it.
    closed: u32,
}

/// Everything a scan over one tile needs to know.
#[derive(Clone, Copy)]
struct Scan<T, O, const ROWS: usize, const SEGMENTED: bool> {
    operator: O,
    exclusive: bool,
    initial: T,
    shared: Shared<T>,
}

impl<T: Scalar, O: Operator<T>, const ROWS: usize, const SEGMENTED: bool>
    Scan<T, O, ROWS, SEGMENTED>
{
    #[inline(always)]
    fn is_head(heads: u32, i: usize) -> bool {
        SEGMENTED && heads >> i & 1 == 1
    }

    /// The scan of one tile.
    #[inline(always)]
    unsafe fn tile(
        &self,
        (input, output, len): (*const T, *mut T, u64),
        heads: *const u32,
        backward: bool,
        status: *mut Pair,
        ticket: Ticket,
    ) {
        let operator = self.operator;
        let stash = self.shared.stash;
        let tile = Tile::<T, ROWS>::new::<BLOCK>(ticket.tile, len, backward);
        // SAFETY: passed on to the caller.
        unsafe {
            tile.stash::<BLOCK>(input, operator.lower(operator.identity()), stash);
            let heads = if SEGMENTED { self.load_heads(&tile, heads) } else { Heads(0) };
            let (before, of_warp) = self.scan_warp(self.sums(&tile, heads), heads);
            let outer = self.scan_block(of_warp, Lookback::new(status, ticket), None).0;
            let mut row = 0;
            while row < ROWS {
                let before = self.before(outer, &before, row);
                let result =
                    self.finish(tile.stashed::<BLOCK>(stash, row), heads.of_row::<T>(row), before);
                tile.write::<BLOCK>(output, row, result, stash);
                row += 1;
            }
            tile.write_stashed::<BLOCK>(output, stash);
        }
    }

    /// The totals of the segments that end in one tile: of run r, counted over the whole array,
    /// to `totals[r]`; or, with `offsets`, of segment s to `totals[s]`.
    #[inline(always)]
    unsafe fn tile_totals(
        &self,
        (input, len): (*const T, u64),
        heads: *const u32,
        totals: Totals<T>,
        (status, head_status): (*mut Pair, *mut Pair),
        ticket: Ticket,
    ) {
        let operator = self.operator;
        let stash = self.shared.stash;
        let tile = Tile::<T, ROWS>::new::<BLOCK>(ticket.tile, len, false);
        // SAFETY: passed on to the caller.
        unsafe {
            tile.stash::<BLOCK>(input, operator.lower(operator.identity()), stash);
            let in_tile = self.load_heads(&tile, heads);
            let (before, of_warp) = self.scan_warp(self.sums(&tile, in_tile), in_tile);
            let (ranks, heads_of_warp) = Self::ranks(in_tile);
            let counts = Some((heads_of_warp, Lookback::new(head_status, ticket)));
            let (outer, rank) = self.scan_block(of_warp, Lookback::new(status, ticket), counts);
            let mut row = 0;
            while row < ROWS {
                let before = self.before(outer, &before, row);
                let in_row = in_tile.of_row::<T>(row);
                let first = tile.element(row);
                if first < len {
                    let next = first + T::LANES as u64;
                    let next_is_head = next >= len
                        || *heads.add((next / 32) as usize) >> (next % 32) as u32 & 1 == 1;
                    let tails = in_row >> 1 | (next_is_head as u32) << (T::LANES - 1);
                    let place = Place { first, len, rank: rank + ranks[row] as u64 };
                    self.write_totals(
                        tile.stashed::<BLOCK>(stash, row),
                        in_row,
                        tails,
                        before,
                        totals,
                        place,
                    );
                }
                row += 1;
            }
        }
    }

    /// Walks over a vector and writes a total at each tail.
    #[inline(always)]
    unsafe fn write_totals(
        &self,
        vector: Vector,
        heads: u32,
        tails: u32,
        before: T,
        totals: Totals<T>,
        place: Place,
    ) {
        let operator = self.operator;
        let mut rank = place.rank;
        let mut sum = before;
        let mut i = 0;
        while i < T::LANES {
            let element = operator.lift(T::lane(vector, i));
            let at = place.first + i as u64;
            let is_head = Self::is_head(heads, i);
            sum = if is_head { element } else { operator.combine(sum, element) };
            rank += is_head as u64;
            if at + 1 == place.len || (tails >> i & 1 == 1 && at < place.len) {
                // SAFETY: a tail ends a run, for which there is room.
                unsafe { totals.write(rank, at, operator.lower(sum)) };
            }
            i += 1;
        }
    }

    /// The head bits of the thread's vectors.
    #[inline(always)]
    unsafe fn load_heads(&self, tile: &Tile<T, ROWS>, heads: *const u32) -> Heads {
        let mut all = 0;
        let mut row = 0;
        while row < ROWS {
            // SAFETY: passed on to the caller.
            let bits = unsafe { tile.load_bits(heads, row) };
            all |= (bits as u128) << (row * T::LANES);
            row += 1;
        }
        Heads(all)
    }

    /// How many heads of the warp come before each of the thread's vectors, and all.
    #[inline(always)]
    unsafe fn ranks(heads: Heads) -> ([u32; ROWS], u32) {
        let mut ranks = [0; ROWS];
        let mut count = 0;
        let mut row = 0;
        while row < ROWS {
            let own = heads.of_row::<T>(row).count_ones();
            // SAFETY: the whole warp is here.
            unsafe {
                let inclusive = warp::inclusive_scan(own, |a, b| a + b);
                ranks[row] = count + inclusive - own;
                count += warp::shuffle(warp::FULL, inclusive, 31);
            }
            row += 1;
        }
        (ranks, count)
    }

    /// What comes before the thread's vector in a row, from the array's start or the last head.
    #[inline(always)]
    fn before(&self, outer: Partial<T>, before: &Before<T, ROWS>, row: usize) -> T {
        let closed = SEGMENTED && before.closed >> row & 1 == 1;
        outer.then(self.operator, Partial { value: before.values[row], closed }).value
    }

    /// The sum of a thread's vector.
    #[inline(always)]
    fn sum(&self, vector: Vector, heads: u32) -> T {
        let mut sum = self.operator.lift(T::lane(vector, 0));
        let mut i = 1;
        while i < T::LANES {
            let element = self.operator.lift(T::lane(vector, i));
            sum = match Self::is_head(heads, i) {
                true => element,
                false => self.operator.combine(sum, element),
            };
            i += 1;
        }
        sum
    }

    /// The sums of a thread's vectors.
    #[inline(always)]
    unsafe fn sums(&self, tile: &Tile<T, ROWS>, heads: Heads) -> [T; ROWS] {
        let mut sums = [self.operator.identity(); ROWS];
        let mut row = 0;
        while row < ROWS {
            // SAFETY: the tile is stashed.
            let vector = unsafe { tile.stashed::<BLOCK>(self.shared.stash, row) };
            sums[row] = self.sum(vector, heads.of_row::<T>(row));
            row += 1;
        }
        sums
    }

    /// For each row what comes before the thread's vector within the warp, and for the warp its
    /// sum.
    #[inline(always)]
    unsafe fn scan_warp(&self, sums: [T; ROWS], heads: Heads) -> (Before<T, ROWS>, Partial<T>) {
        let operator = self.operator;
        let mut carry = Partial { value: operator.identity(), closed: false };
        let mut before = Before { values: sums, closed: 0 };
        let mut row = 0;
        while row < ROWS {
            // SAFETY: the whole warp is here.
            unsafe {
                let has_head = SEGMENTED && heads.of_row::<T>(row) != 0;
                let with_head = if SEGMENTED { warp::ballot(warp::FULL, has_head) } else { 0 };
                let start = if SEGMENTED { warp::segment_start(with_head) } else { 0 };
                let combine = |a, b| operator.combine(a, b);
                let inclusive = warp::inclusive_scan_from(start, sums[row], combine);
                let below = warp::shuffle_up(warp::FULL, inclusive, 1);
                let in_row = Partial { value: below, closed: with_head & warp::lanes_below() != 0 };
                let own = if warp::lane_id() == 0 { carry } else { carry.then(operator, in_row) };
                before.values[row] = own.value;
                before.closed |= (own.closed as u32) << row;
                let all = warp::shuffle(warp::FULL, inclusive, 31);
                carry = carry.then(operator, Partial { value: all, closed: with_head != 0 });
            }
            row += 1;
        }
        (before, carry)
    }

    /// What comes before the thread's warp, from the array's start or the last head; and, if heads
    /// are counted, how many come before the warp.
    #[inline(always)]
    unsafe fn scan_block(
        &self,
        of_warp: Partial<T>,
        lookback: Lookback,
        heads: Option<(u32, Lookback)>,
    ) -> (Partial<T>, u64) {
        let Shared { values, closed, counts, prefix, heads_before, .. } = self.shared;
        let operator = self.operator;
        // SAFETY: each warp writes its own elements; barriers stand between writes and reads.
        unsafe {
            if warp::lane_id() == 0 {
                values.store(warp::warp_id(), of_warp.value);
                if SEGMENTED {
                    closed.store(warp::warp_id(), of_warp.closed as u32);
                }
                if let Some((count, _)) = heads {
                    counts.store(warp::warp_id(), count);
                }
            }
            thread::sync_threads();
            let mut sum = Partial { value: operator.identity(), closed: false };
            let mut before = sum;
            let (mut heads_of_tile, mut heads_in_tile) = (0, 0);
            let mut warp = 0;
            while warp < WARPS as u32 {
                if warp == warp::warp_id() {
                    before = sum;
                    heads_in_tile = heads_of_tile;
                }
                let closed = SEGMENTED && closed.load(warp) != 0;
                sum = sum.then(operator, Partial { value: values.load(warp), closed });
                heads_of_tile += if heads.is_some() { counts.load(warp) } else { 0 };
                warp += 1;
            }
            if warp::warp_id() == 0 {
                let before_tile = lookback.exclusive_prefix(
                    sum.value,
                    sum.closed,
                    operator.identity(),
                    O::ASSOCIATIVE,
                    |a, b| operator.combine(a, b),
                );
                if warp::lane_id() == 0 {
                    prefix.store(0, before_tile);
                }
            }
            if let Some((_, lookback)) = heads
                && warp::warp_id() == 1
            {
                let count = heads_of_tile as u64;
                let before = lookback.exclusive_prefix(count, false, 0, true, |a: u64, b| a + b);
                if warp::lane_id() == 0 {
                    heads_before.store(0, before);
                }
            }
            thread::sync_threads();
            let before = Partial { value: prefix.load(0), closed: false }.then(operator, before);
            let heads_before_tile = if heads.is_some() { heads_before.load(0) } else { 0 };
            (before, heads_before_tile + heads_in_tile as u64)
        }
    }

    /// The results for a thread's vector, after what comes before it.
    #[inline(always)]
    fn finish(&self, vector: Vector, heads: u32, before: T) -> Vector {
        let operator = self.operator;
        let mut result = [0; 4];
        let mut sum = before;
        let mut i = 0;
        while i < T::LANES {
            let element = operator.lift(T::lane(vector, i));
            if Self::is_head(heads, i) {
                sum = operator.identity();
            }
            let until = operator.combine(self.initial, sum);
            sum = match Self::is_head(heads, i) {
                true => element,
                false => operator.combine(sum, element),
            };
            let value = if self.exclusive { until } else { sum };
            operator.lower(value).put(&mut result, i);
            i += 1;
        }
        result
    }
}

/// The scan of an array, the body of every kernel here.
#[inline(always)]
unsafe fn scan<T: Scalar, O: Operator<T>, const ROWS: usize, const SEGMENTED: bool>(
    (input, output, len): (*const T, *mut T, u64),
    heads: *const u32,
    mode: u32,
    initial: T,
    operator: O,
    control: *mut u64,
    status: *mut Pair,
) {
    let shared = Shared::<T>::new(&mut Carver::new(), ROWS);
    let exclusive = mode & EXCLUSIVE != 0;
    let initial = operator.lift(initial);
    let scan = Scan::<T, O, ROWS, SEGMENTED> { operator, exclusive, initial, shared };
    // SAFETY: the caller gives arrays of `len` elements; the block's threads stay together.
    unsafe {
        let ticket = shared.tickets.take(control);
        scan.tile((input, output, len), heads, mode & BACKWARD != 0, status, ticket);
    }
}

/// The kernels of an operator over elements of one type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Scans<T: Copy>: Operator<T> {
    /// Rows of a tile.
    const ROWS: usize;
    /// The scan of the whole array.
    const WHOLE: device_std::host::Kernel<Arguments<T>>;
    /// The scan that begins anew at each head.
    const SEGMENTED: device_std::host::Kernel<Arguments<T>>;
    /// Bytes of shared memory.
    const SHARED: u32;
    /// Elements of a tile.
    const TILE: u64 = (BLOCK * Self::ROWS * 16 / size_of::<T>()) as u64;
}

/// The kernel that reduces segments.
#[cfg(not(target_arch = "nvptx64"))]
pub trait SegmentReduces<T: Copy>: Scans<T> {
    /// The totals of segments.
    const TOTALS: device_std::host::Kernel<TotalsArguments<T>>;
}

/// What the reductions of segments take: input and length, head bits, totals, offsets (null for
/// runs) and the number of segments, the operator's parameters, control word, status arrays of
/// values and of counts.
#[cfg(not(target_arch = "nvptx64"))]
pub type TotalsArguments<T> = (
    *const T,
    u64,
    *const u32,
    *mut T,
    *const u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    *mut u64,
    *mut Pair,
    *mut Pair,
);

/// What the kernels take: input, output and length, head bits, mode, initial value, the operator's
/// parameters, control word, status array.
#[cfg(not(target_arch = "nvptx64"))]
pub type Arguments<T> =
    (*const T, *mut T, u64, *const u32, u32, T, u64, u64, u64, u64, *mut u64, *mut Pair);

macro_rules! totals {
    ($($name:ident: $type:ty, $operator:ty, $rows:literal, $resident:literal;)+) => {
        $(
            /// The totals of segments. Grid: one block a tile, as large as a scan's.
            ///
            /// # Safety
            /// `input` has `len` elements, `heads` a bit for each, `totals` an element for each
            /// segment; `offsets` is null or has `segments + 1` elements; the status arrays have an
            /// element for each block. `control` and they are as [`Tickets::take`] and
            /// [`Lookback::exclusive_prefix`] ask.
            #[kernel(block = 256, resident = $resident)]
            pub unsafe fn $name(
                input: *const $type,
                len: u64,
                heads: *const u32,
                totals: *mut $type,
                offsets: *const u64,
                segments: u64,
                parameter_0: u64,
                parameter_1: u64,
                parameter_2: u64,
                parameter_3: u64,
                control: *mut u64,
                status: *mut Pair,
                head_status: *mut Pair,
            ) {
                let parameters = [parameter_0, parameter_1, parameter_2, parameter_3];
                let operator = <$operator as Operator<$type>>::new(parameters);
                let shared = Shared::<$type>::new(&mut Carver::new(), $rows);
                let initial = operator.identity();
                let scan =
                    Scan::<$type, $operator, $rows, true> { operator, exclusive: false, initial, shared };
                let totals = Totals { totals, offsets, segments };
                // SAFETY: passed on to the caller.
                unsafe {
                    let ticket = shared.tickets.take(control);
                    scan.tile_totals((input, len), heads, totals, (status, head_status), ticket);
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            impl SegmentReduces<$type> for $operator {
                const TOTALS: device_std::host::Kernel<TotalsArguments<$type>> = $name;
            }
        )+
    };
}

// Rows as those of the scans: a tile is the same.
totals! {
    segment_sums_u8: u8, Sum, 4, 2;
    segment_sums_u16: u16, Sum, 8, 1;
    segment_sums_u32: u32, Sum, 8, 2;
    segment_sums_u64: u64, Sum, 8, 2;
    segment_sums_f32: f32, Sum, 8, 2;
    segment_sums_f64: f64, Sum, 8, 2;
    segment_leasts_u8: u8, Least<u8>, 4, 2;
    segment_leasts_u16: u16, Least<u16>, 8, 1;
    segment_leasts_u32: u32, Least<u32>, 8, 2;
    segment_leasts_u64: u64, Least<u64>, 8, 2;
}

macro_rules! scans {
    ($($whole:ident, $segmented:ident: $type:ty, $operator:ty, $rows:literal,
        $resident:literal, $resident_segmented:literal;)+) => {
        $(
            scans! { @kernel $whole, $type, $operator, $rows, false, $resident }
            scans! { @kernel $segmented, $type, $operator, $rows, true, $resident_segmented }
            #[cfg(not(target_arch = "nvptx64"))]
            impl Scans<$type> for $operator {
                const ROWS: usize = $rows;
                const SHARED: u32 = shared_bytes::<$type>($rows);
                const WHOLE: device_std::host::Kernel<Arguments<$type>> = $whole;
                const SEGMENTED: device_std::host::Kernel<Arguments<$type>> = $segmented;
            }
        )+
    };
    (@kernel $name:ident, $type:ty, $operator:ty, $rows:literal, $is_segmented:literal, $resident:literal) => {
        /// A scan; see the module's plan. Grid: one block a tile.
        ///
        /// # Safety
        /// `input` and `output` have `len` elements and are the same array or apart; `heads` has a
        /// bit for each (segmented scans only); `status` an element for each block. `control` and
        /// `status` are as [`Tickets::take`] and [`Lookback::exclusive_prefix`] ask.
        #[kernel(block = 256, resident = $resident)]
        pub unsafe fn $name(
            input: *const $type,
            output: *mut $type,
            len: u64,
            heads: *const u32,
            mode: u32,
            initial: $type,
            parameter_0: u64,
            parameter_1: u64,
            parameter_2: u64,
            parameter_3: u64,
            control: *mut u64,
            status: *mut Pair,
        ) {
            let parameters = [parameter_0, parameter_1, parameter_2, parameter_3];
            let operator = <$operator as Operator<$type>>::new(parameters);
            let arrays = (input, output, len);
            // SAFETY: passed on to the caller.
            unsafe {
                scan::<$type, $operator, $rows, $is_segmented>(
                    arrays, heads, mode, initial, operator, control, status,
                )
            }
        }
    };
}

// Columns: kernels; type and operator; rows of a tile; blocks on a multiprocessor, at least.
scans! {
    scan_sum_u8, segmented_scan_sum_u8: u8, Sum, 4, 4, 2;
    scan_sum_u16, segmented_scan_sum_u16: u16, Sum, 8, 4, 3;
    scan_sum_u32, segmented_scan_sum_u32: u32, Sum, 8, 5, 4;
    scan_sum_u64, segmented_scan_sum_u64: u64, Sum, 8, 3, 2;
    scan_sum_f32, segmented_scan_sum_f32: f32, Sum, 8, 5, 4;
    scan_sum_f64, segmented_scan_sum_f64: f64, Sum, 8, 3, 2;
    scan_least_u8, segmented_scan_least_u8: u8, Least<u8>, 4, 3, 1;
    scan_least_u16, segmented_scan_least_u16: u16, Least<u16>, 8, 3, 2;
    scan_least_u32, segmented_scan_least_u32: u32, Least<u32>, 8, 5, 4;
    scan_least_u64, segmented_scan_least_u64: u64, Least<u64>, 8, 4, 2;
    scan_last_u8, segmented_scan_last_u8: u8, Last<u8>, 4, 4, 1;
    scan_last_u16, segmented_scan_last_u16: u16, Last<u16>, 8, 4, 2;
    scan_last_u32, segmented_scan_last_u32: u32, Last<u32>, 8, 4, 3;
    scan_last_u64, segmented_scan_last_u64: u64, Last<u64>, 8, 4, 3;
}

device_std::ptx_module! {
    "scan" at 75 80:
    scan_sum_u8, segmented_scan_sum_u8, scan_sum_u16, segmented_scan_sum_u16, scan_sum_u32,
    segmented_scan_sum_u32, scan_sum_u64, segmented_scan_sum_u64, scan_sum_f32,
    segmented_scan_sum_f32, scan_sum_f64, segmented_scan_sum_f64, scan_least_u8,
    segmented_scan_least_u8, scan_least_u16, segmented_scan_least_u16, scan_least_u32,
    segmented_scan_least_u32, scan_least_u64, segmented_scan_least_u64, scan_last_u8,
    segmented_scan_last_u8, scan_last_u16, segmented_scan_last_u16, scan_last_u32,
    segmented_scan_last_u32, scan_last_u64, segmented_scan_last_u64, segment_sums_u8,
    segment_sums_u16, segment_sums_u32, segment_sums_u64, segment_sums_f32, segment_sums_f64,
    segment_leasts_u8, segment_leasts_u16, segment_leasts_u32, segment_leasts_u64
}
