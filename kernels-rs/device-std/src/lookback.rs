//! The device layer: what each block's tile needs to know of all tiles before it, in one launch.
//!
//! Decoupled look-back (Merrill and Garland 2016, *Single-pass Parallel Prefix Scan with Decoupled
//! Look-back*, NVIDIA NVR-2016-002): every tile publishes its own aggregate as soon as it has it,
//! and its inclusive prefix, the combination of all tiles up to it, once it has looked back over
//! the aggregates of the tiles before it to the nearest one that has published its prefix.
//!
//! A tile's status is a [`Pair`], read and written whole: the value's bits, and a tag with the
//! state and the epoch. The epoch counts the launches over one control word, so what earlier
//! launches left in the status array is void and nothing has to be cleared between launches.
//!
//! Forward progress: a block takes its tile by an atomic ticket, so the tiles before it were taken
//! by blocks that run already, whatever order blocks start in; and tile 0 waits for nobody.
//!
//! Where it differs from the paper: the value is combined in a fixed order also where `combine`
//! is not associative (floats). Then a tile's prefix is always
//! `((aggregate 0 + aggregate 1) + aggregate 2) + ..`, one tile after the other, whichever prefix
//! the look-back met: the result has the same bits in every run.

use crate::atomic::{self, Pair};
use crate::scalar::Scalar;
use crate::shared::{Carver, SharedArray};
use crate::{thread, warp};

/// Bits of the control word and of a tag that count launches: the others hold the ticket.
const TICKET_BITS: u32 = 26;

/// Most tiles of a launch.
pub const MAX_TILES: u64 = (1 << TICKET_BITS) - 1;

/// A tile's aggregate is there.
const AGGREGATE: u32 = 1;
/// A tile's inclusive prefix is there.
const PREFIX: u32 = 2;

/// Which tile a block does.
#[derive(Clone, Copy)]
pub struct Ticket {
    /// The tile.
    pub tile: u64,
    /// The launch, as the status array knows it: never 0.
    pub epoch: u64,
}

/// The epoch of the next launch over a control word that no launch is using now.
///
/// # Safety
/// `control` is a control word of [`Tickets::take`].
#[inline(always)]
pub unsafe fn next_epoch(control: *const u64) -> u64 {
    // SAFETY: passed on to the caller.
    (unsafe { atomic::load_u64(control) } >> TICKET_BITS) + 1
}

/// The shared memory in which a block learns its [`Ticket`].
#[derive(Clone, Copy)]
pub struct Tickets {
    taken: SharedArray<u64>,
}

impl Tickets {
    /// Takes its temporary storage from `carver`.
    #[inline(always)]
    pub const fn new(carver: &mut Carver) -> Self {
        Self { taken: carver.array(1) }
    }

    /// Takes the next tile of the launch, which has one block a tile. One barrier.
    ///
    /// (Blocks that stay and ask for the next ticket while they work on one were measured at twice
    /// the time of 2^28 elements: a ticket that waits for its block holds up all tiles after it.)
    ///
    /// # Safety
    /// Every thread of the block comes here. `control` is the launch's control word: zero at
    /// first, and used by nobody but launches that follow each other and take all their tickets.
    #[inline(always)]
    pub unsafe fn take(&self, control: *mut u64) -> Ticket {
        // SAFETY: the barrier orders the store before the loads; the last ticket of a launch is
        // the last access to the control word in it.
        unsafe {
            if thread::thread_idx_x() == 0 {
                let word = atomic::add_u64(control, 1);
                let taken = (word & MAX_TILES) + 1;
                if taken == thread::grid_dim_x() as u64 {
                    // Adds what is missing to the next epoch's ticket 0.
                    atomic::add_u64(control, (1 << TICKET_BITS) - taken);
                }
                self.taken.store(0, word);
            }
            thread::sync_threads();
            let word = self.taken.load(0);
            Ticket { tile: word & MAX_TILES, epoch: (word >> TICKET_BITS) + 1 }
        }
    }
}

/// The look-back of one tile over one status array.
#[derive(Clone, Copy)]
pub struct Lookback {
    status: *mut Pair,
    ticket: Ticket,
}

impl Lookback {
    /// Over a status array of this launch.
    #[inline(always)]
    pub const fn new(status: *mut Pair, ticket: Ticket) -> Self {
        Self { status, ticket }
    }

    /// Publishes the tile's aggregate, looks back, publishes the tile's inclusive prefix, and
    /// returns the exclusive one: the combination of all tiles before this one, valid in every
    /// lane. For tile 0 it is `identity`.
    ///
    /// If the aggregate is `closed`, what comes before does not change it (a segment begins in
    /// the tile), and it is published as a prefix at once.
    ///
    /// `associative`: whether the order in which values are combined may depend on timing without
    /// changing a bit.
    ///
    /// # Safety
    /// One whole warp of the block comes here, once for a status array in a launch. The array has
    /// an element for each tile, was zero at first, and is used by launches over the same control
    /// word only.
    #[inline(always)]
    pub unsafe fn exclusive_prefix<T: Scalar>(
        &self,
        aggregate: T,
        closed: bool,
        identity: T,
        associative: bool,
        combine: impl Fn(T, T) -> T,
    ) -> T {
        // SAFETY: passed on to the caller.
        unsafe {
            self.announce(aggregate, closed);
            self.announced_prefix(aggregate, closed, identity, associative, combine)
        }
    }

    /// Publishes the tile's aggregate: the first half of
    /// [`exclusive_prefix`](Self::exclusive_prefix), for who has other work before the second. The
    /// sooner it is done, the less the tiles after this one wait.
    ///
    /// # Safety
    /// As `exclusive_prefix`.
    #[inline(always)]
    pub unsafe fn announce<T: Scalar>(&self, aggregate: T, closed: bool) {
        let is_prefix = closed || self.ticket.tile == 0;
        // SAFETY: passed on to the caller.
        unsafe { self.publish(if is_prefix { PREFIX } else { AGGREGATE }, aggregate) };
    }

    /// The second half of [`exclusive_prefix`](Self::exclusive_prefix), after
    /// [`announce`](Self::announce).
    ///
    /// # Safety
    /// As `exclusive_prefix`.
    #[inline(always)]
    pub unsafe fn announced_prefix<T: Scalar>(
        &self,
        aggregate: T,
        closed: bool,
        identity: T,
        associative: bool,
        combine: impl Fn(T, T) -> T,
    ) -> T {
        // SAFETY: passed on to the caller; conditions are the same in all lanes.
        unsafe {
            if self.ticket.tile == 0 {
                return identity;
            }
            let prefix = if associative {
                self.look_back(identity, &combine)
            } else {
                self.look_back_in_order(identity, &combine)
            };
            if !closed {
                self.publish(PREFIX, combine(prefix, aggregate));
            }
            prefix
        }
    }

    /// [`announced_prefix`](Self::announced_prefix) where nearly all tiles are closed: the tile
    /// before has a prefix as soon as it is announced, so that this looks at it alone until then.
    ///
    /// # Safety
    /// As `exclusive_prefix`.
    #[inline(always)]
    pub unsafe fn prefix_of_closed<T: Scalar>(
        &self,
        aggregate: T,
        closed: bool,
        identity: T,
        associative: bool,
        combine: impl Fn(T, T) -> T,
    ) -> T {
        let tile = self.ticket.tile;
        loop {
            // SAFETY: passed on to the caller; conditions are the same in all lanes.
            unsafe {
                if tile == 0 {
                    return identity;
                }
                let [bits, tag] = atomic::load_pair(self.status.add(tile as usize - 1));
                // Each lane has read on its own: the first's counts.
                let tag = warp::shuffle(warp::FULL, tag, 0);
                let state = if tag >> 2 == self.ticket.epoch { tag as u32 & 3 } else { 0 };
                if state == PREFIX {
                    let prefix = T::from_bits64(warp::shuffle(warp::FULL, bits, 0));
                    if !closed {
                        self.publish(PREFIX, combine(prefix, aggregate));
                    }
                    return prefix;
                }
                if state == AGGREGATE {
                    return self.announced_prefix(
                        aggregate,
                        closed,
                        identity,
                        associative,
                        combine,
                    );
                }
            }
            thread::pause();
        }
    }

    #[inline(always)]
    unsafe fn publish<T: Scalar>(&self, state: u32, value: T) {
        if warp::lane_id() == 0 {
            let tag = self.ticket.epoch << 2 | state as u64;
            // SAFETY: the tile's own status.
            unsafe {
                let status = self.status.add(self.ticket.tile as usize);
                atomic::store_pair(status, [value.to_bits64(), tag]);
            }
        }
    }

    /// One look at the [`WINDOW`] tiles before this one.
    #[inline(always)]
    unsafe fn look<T: Scalar>(&self, identity: T) -> Window<T> {
        let tile = self.ticket.tile;
        let mut pairs = [[0; 2]; LOOKS];
        let mut i = 0;
        while i < LOOKS {
            let distance = (i as u32 * warp::SIZE + warp::lane_id()) as u64;
            if distance < tile {
                // SAFETY: the tile is in the array.
                unsafe {
                    let status = self.status.add((tile - 1 - distance) as usize);
                    pairs[i] = atomic::load_pair(status);
                }
            }
            i += 1;
        }
        let mut window = Window { values: [identity; LOOKS], states: [0; LOOKS] };
        let mut i = 0;
        while i < LOOKS {
            let [bits, tag] = pairs[i];
            window.values[i] = T::from_bits64(bits);
            window.states[i] = if tag >> 2 == self.ticket.epoch { tag as u32 & 3 } else { 0 };
            i += 1;
        }
        window
    }

    /// The tiles before, combined in any grouping.
    ///
    /// The aggregates of the nearest tiles are there long before a prefix is, and how fast the
    /// prefixes follow each other is what limits a large scan. So the aggregates are combined
    /// first, and when a prefix comes it is but one operation away from the result.
    #[inline(always)]
    unsafe fn look_back<T: Scalar>(&self, identity: T, combine: &impl Fn(T, T) -> T) -> T {
        let mut known = 0;
        let mut after = [identity; LOOKS];
        loop {
            // SAFETY: the whole warp is here, and all lanes turn equally often.
            unsafe {
                let window = self.look(identity);
                let nearest = window.nearest(PREFIX);
                if nearest < WINDOW as u32 && known < nearest {
                    // Prefixes this early: the aggregates before the nearest are there with it.
                    if window.count() > nearest {
                        return window.sum(nearest, identity, combine);
                    }
                } else if nearest < WINDOW as u32 {
                    let prefix = window.value(nearest);
                    let after = Window { values: after, states: [0; LOOKS] };
                    let near = after.value(nearest.wrapping_sub(1) & (WINDOW as u32 - 1));
                    return if nearest == 0 { prefix } else { combine(prefix, near) };
                } else if known < WINDOW as u32 && window.count() == WINDOW as u32 {
                    after = window.sums(combine);
                    known = WINDOW as u32;
                }
            }
            thread::pause();
        }
    }

    /// The tiles before, combined one by one.
    #[inline(always)]
    unsafe fn look_back_in_order<T: Scalar>(&self, identity: T, combine: &impl Fn(T, T) -> T) -> T {
        loop {
            // SAFETY: the whole warp is here, and all lanes turn equally often.
            unsafe {
                let window = self.look(identity);
                let nearest = window.nearest(PREFIX);
                if nearest < WINDOW as u32 && window.count() > nearest {
                    return window.sum_in_order(nearest, combine);
                }
            }
            thread::pause();
        }
    }
}

/// Statuses that a lane reads at once. A look takes as long as the way to the L2 cache and back,
/// and no prefix can travel further in that time than a window is long; but a longer window is
/// more work for the caches.
const LOOKS: usize = 2;

/// Tiles that a warp sees at once.
pub const WINDOW: u64 = LOOKS as u64 * warp::SIZE as u64;

/// What a lane sees of a window: look i, lane l is the tile at distance 32 i + l, 0 the nearest.
struct Window<T> {
    values: [T; LOOKS],
    states: [u32; LOOKS],
}

/// All functions are called by the whole warp, and what they return is the same in all lanes.
impl<T: Scalar> Window<T> {
    /// The distance of the nearest tile in this state; the window's length if none is.
    #[inline(always)]
    unsafe fn nearest(&self, state: u32) -> u32 {
        let mut nearest = WINDOW as u32;
        let mut i = LOOKS;
        while i > 0 {
            i -= 1;
            // SAFETY: the whole warp is here.
            let lanes = unsafe { warp::ballot(warp::FULL, self.states[i] == state) };
            if lanes != 0 {
                nearest = i as u32 * warp::SIZE + lanes.trailing_zeros();
            }
        }
        nearest
    }

    /// How many of the nearest tiles have a status.
    #[inline(always)]
    unsafe fn count(&self) -> u32 {
        // SAFETY: as above.
        unsafe { self.nearest(0) }
    }

    /// The value at a distance.
    #[inline(always)]
    unsafe fn value(&self, distance: u32) -> T {
        let mut value = self.values[0];
        let mut i = 1;
        while i < LOOKS {
            value = if distance / warp::SIZE == i as u32 { self.values[i] } else { value };
            i += 1;
        }
        // SAFETY: as above.
        unsafe { warp::shuffle(warp::FULL, value, distance & (warp::SIZE - 1)) }
    }

    /// For each tile the combination of it and those nearer.
    #[inline(always)]
    unsafe fn sums(&self, combine: &impl Fn(T, T) -> T) -> [T; LOOKS] {
        let mut sums = self.values;
        let mut i = 0;
        while i < LOOKS {
            // The higher lane is further, hence the left operand.
            // SAFETY: as above.
            unsafe {
                sums[i] = warp::inclusive_scan(self.values[i], |near, far| combine(far, near));
                if i > 0 {
                    let nearer = warp::shuffle(warp::FULL, sums[i - 1], warp::SIZE - 1);
                    sums[i] = combine(sums[i], nearer);
                }
            }
            i += 1;
        }
        sums
    }

    /// The combination of the tiles up to a distance.
    #[inline(always)]
    unsafe fn sum(&self, distance: u32, identity: T, combine: &impl Fn(T, T) -> T) -> T {
        let mut sum = identity;
        let mut i = LOOKS;
        while i > 0 {
            i -= 1;
            let counts = i as u32 * warp::SIZE + warp::lane_id() <= distance;
            let value = if counts { self.values[i] } else { identity };
            // SAFETY: as above.
            let of_look = unsafe { warp::reduce(value, |near, far| combine(far, near)) };
            sum = combine(sum, of_look);
        }
        sum
    }

    /// The same, combined one by one from the furthest to the nearest. All tiles after this one wait
    /// for it, so nothing but the combinations stands one after the other.
    #[inline(always)]
    unsafe fn sum_in_order(&self, distance: u32, combine: &impl Fn(T, T) -> T) -> T {
        // SAFETY: as above.
        let mut sum = unsafe { self.value(distance) };
        let mut i = LOOKS;
        while i > 0 {
            i -= 1;
            let mut group = warp::SIZE;
            while group > 0 {
                group -= GROUP;
                let first = i as u32 * warp::SIZE + group;
                // The conditions are the same in all lanes, and a group's shuffles do not wait for
                // its additions.
                if first < distance {
                    let mut lane = GROUP;
                    let mut values = [sum; GROUP as usize];
                    while lane > 0 {
                        lane -= 1;
                        // SAFETY: as above.
                        values[lane as usize] =
                            unsafe { warp::shuffle(warp::FULL, self.values[i], group + lane) };
                    }
                    sum = match first + GROUP <= distance {
                        true => combine_all(sum, values, GROUP, combine),
                        false => combine_all(sum, values, distance - first, combine),
                    };
                }
            }
        }
        sum
    }
}

/// `sum` and, one by one after it, the first `count` values, the last of them first. Where all count the
/// compiler knows it, and nothing is chosen.
#[inline(always)]
fn combine_all<T: Scalar>(
    sum: T,
    values: [T; GROUP as usize],
    count: u32,
    combine: &impl Fn(T, T) -> T,
) -> T {
    let mut sum = sum;
    let mut lane = GROUP;
    while lane > 0 {
        lane -= 1;
        let next = combine(sum, values[lane as usize]);
        sum = if lane < count { next } else { sum };
    }
    sum
}

/// Values that are shuffled together in [`Window::sum_in_order`].
const GROUP: u32 = 8;
