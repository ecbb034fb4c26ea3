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
const AGGREGATE: u64 = 1;
/// A tile's inclusive prefix is there.
const PREFIX: u64 = 2;

/// Which tile a block does.
#[derive(Clone, Copy)]
pub struct Ticket {
    /// The tile.
    pub tile: u64,
    /// The launch, as the status array knows it: never 0.
    epoch: u64,
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
        let tile = self.ticket.tile;
        // SAFETY: passed on to the caller; conditions are the same in all lanes.
        unsafe {
            if tile == 0 {
                self.publish(PREFIX, aggregate);
                return identity;
            }
            self.publish(if closed { PREFIX } else { AGGREGATE }, aggregate);
            let window = self.window(identity);
            let prefix = if associative {
                window.sum(identity, &combine)
            } else {
                window.sum_in_order(identity, &combine)
            };
            if !closed {
                self.publish(PREFIX, combine(prefix, aggregate));
            }
            prefix
        }
    }

    #[inline(always)]
    unsafe fn publish<T: Scalar>(&self, state: u64, value: T) {
        if warp::lane_id() == 0 {
            let tag = self.ticket.epoch << 2 | state;
            // SAFETY: the tile's own status.
            unsafe {
                let status = self.status.add(self.ticket.tile as usize);
                atomic::store_pair(status, [value.to_bits64(), tag]);
            }
        }
    }

    /// The statuses of the [`WINDOW`] tiles before this one, once one of them has its prefix and
    /// all after it their aggregates.
    #[inline(always)]
    unsafe fn window<T: Scalar>(&self, identity: T) -> Window<T> {
        loop {
            // SAFETY: passed on to the caller; all lanes turn equally often.
            unsafe {
                if let Some(window) = self.look(identity) {
                    return window;
                }
            }
            thread::pause();
        }
    }

    /// One look at a window.
    #[inline(always)]
    unsafe fn look<T: Scalar>(&self, identity: T) -> Option<Window<T>> {
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
        let mut window = Window { values: [identity; LOOKS], look: LOOKS, lane: 0 };
        let mut complete = true;
        let mut i = 0;
        while i < LOOKS {
            let [bits, tag] = pairs[i];
            let state = if tag >> 2 == self.ticket.epoch { tag & 3 } else { 0 };
            // SAFETY: the whole warp is here.
            let (prefixes, missing) = unsafe {
                (warp::ballot(warp::FULL, state == PREFIX), warp::ballot(warp::FULL, state == 0))
            };
            if window.look == LOOKS {
                // What lies beyond the nearest prefix does not matter.
                let matter = prefixes ^ prefixes.wrapping_sub(1);
                complete &= missing & matter == 0;
                if matter >> warp::lane_id() & 1 == 1 {
                    window.values[i] = T::from_bits64(bits);
                }
                if prefixes != 0 {
                    window.look = i;
                    window.lane = prefixes.trailing_zeros();
                }
            }
            i += 1;
        }
        if complete && window.look < LOOKS { Some(window) } else { None }
    }
}

/// Statuses that a lane reads at once. A look takes as long as the way to the L2 cache and back,
/// and no prefix can travel further in that time than a window is long.
const LOOKS: usize = 1;

/// Tiles that a warp sees at once.
pub const WINDOW: u64 = LOOKS as u64 * warp::SIZE as u64;

/// What a lane sees of a window: look i, lane l is the tile 32 i + l + 1 before.
struct Window<T> {
    /// Aggregates up to the nearest prefix, and that; then the identity.
    values: [T; LOOKS],
    /// The look in which the nearest prefix is, the same in all lanes.
    look: usize,
    /// The lane in which it is, the same in all lanes.
    lane: u32,
}

impl<T: Scalar> Window<T> {
    /// The nearest prefix and the aggregates after it, combined in some grouping; valid in every
    /// lane.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn sum(&self, identity: T, combine: &impl Fn(T, T) -> T) -> T {
        let mut sum = identity;
        let mut i = LOOKS;
        while i > 0 {
            i -= 1;
            if i <= self.look {
                // Lane 0 has the nearest tile, so the higher lane is the left operand.
                // SAFETY: the condition is the same in all lanes.
                let of_look =
                    unsafe { warp::reduce(self.values[i], |near, far| combine(far, near)) };
                sum = combine(sum, of_look);
            }
        }
        sum
    }

    /// The nearest prefix and the aggregates after it, combined one by one; valid in every lane.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn sum_in_order(&self, identity: T, combine: &impl Fn(T, T) -> T) -> T {
        let mut sum = identity;
        let mut i = LOOKS;
        while i > 0 {
            i -= 1;
            // SAFETY: the conditions are the same in all lanes.
            unsafe {
                if i < self.look {
                    let mut lane = warp::SIZE;
                    while lane > 0 {
                        lane -= 1;
                        sum = combine(sum, warp::shuffle(warp::FULL, self.values[i], lane));
                    }
                } else if i == self.look {
                    let mut lane = self.lane;
                    sum = warp::shuffle(warp::FULL, self.values[i], lane);
                    while lane > 0 {
                        lane -= 1;
                        sum = combine(sum, warp::shuffle(warp::FULL, self.values[i], lane));
                    }
                }
            }
        }
        sum
    }
}
