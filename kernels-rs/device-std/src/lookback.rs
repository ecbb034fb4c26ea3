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
                let epoch = word >> TICKET_BITS;
                let tile = word & MAX_TILES;
                if tile + 1 == thread::grid_dim_x() as u64 {
                    // Adds what is missing to the next epoch's ticket 0.
                    atomic::add_u64(control, (1 << TICKET_BITS) - (tile + 1));
                }
                self.taken.store(0, epoch << TICKET_BITS | tile);
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
            let prefix = if associative {
                self.look_back_in_any_order(identity, &combine)
            } else {
                self.look_back_in_order(identity, &combine)
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

    /// The statuses of the 32 tiles before `end`, the nearest in lane 0, once all that count are
    /// there: the lane's value, and which is the nearest lane with a prefix (32: none).
    #[inline(always)]
    unsafe fn window<T: Scalar>(&self, end: u64, identity: T) -> (T, u32) {
        let lane = warp::lane_id();
        let exists = (lane as u64) < end;
        loop {
            // SAFETY: `exists` guards the array; all lanes turn equally often.
            unsafe {
                let (mut value, mut state) = (identity, AGGREGATE);
                if exists {
                    let tile = end - 1 - lane as u64;
                    let [bits, tag] = atomic::load_pair(self.status.add(tile as usize));
                    value = T::from_bits64(bits);
                    state = if tag >> 2 == self.ticket.epoch { tag & 3 } else { 0 };
                }
                let prefixes = warp::ballot(warp::FULL, state == PREFIX);
                let missing = warp::ballot(warp::FULL, state == 0);
                // Missing tiles beyond the nearest prefix do not matter.
                if missing & (prefixes ^ prefixes.wrapping_sub(1)) == 0 {
                    return (value, prefixes.trailing_zeros());
                }
            }
            thread::pause();
        }
    }

    #[inline(always)]
    unsafe fn look_back_in_any_order<T: Scalar>(
        &self,
        identity: T,
        combine: &impl Fn(T, T) -> T,
    ) -> T {
        let mut end = self.ticket.tile;
        let mut after = identity;
        loop {
            // SAFETY: all lanes turn equally often: the nearest prefix is the same in all.
            let (value, nearest) = unsafe { self.window(end, identity) };
            let counts = warp::lane_id() <= nearest;
            let value = if counts { value } else { identity };
            // Lane 0 is the nearest tile, so the higher lane is the left operand.
            let sum = unsafe { warp::reduce(value, |near, far| combine(far, near)) };
            after = combine(sum, after);
            if nearest < warp::SIZE {
                return after;
            }
            end -= warp::SIZE as u64;
        }
    }

    #[inline(always)]
    unsafe fn look_back_in_order<T: Scalar>(&self, identity: T, combine: &impl Fn(T, T) -> T) -> T {
        loop {
            // SAFETY: as above.
            unsafe {
                let (value, nearest) = self.window(self.ticket.tile, identity);
                if nearest < warp::SIZE {
                    let mut sum = warp::shuffle(warp::FULL, value, nearest);
                    let mut lane = nearest;
                    while lane > 0 {
                        lane -= 1;
                        sum = combine(sum, warp::shuffle(warp::FULL, value, lane));
                    }
                    return sum;
                }
            }
            thread::pause();
        }
    }
}
