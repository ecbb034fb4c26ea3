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
//! Where it differs from the paper: values are combined in one order, whichever prefix the look-back
//! met, so that the result has the same bits in every run also where `combine` is not associative
//! (floats). Tiles make groups of 32. What comes before tile 32 g + k is
//!
//! ```text
//! ((sum of group 0 + sum of group 1) + .. sum of group g - 1) + sum of the first k of group g
//! ```
//!
//! with the sums within a group by a warp's scan, and no term before the last tile that is closed. But
//! for tiles that are closed, only the last tile of a group publishes a prefix, that of all groups up to its own. A tile adds up the
//! aggregates of its own group and of the group before, and waits for the prefix of the group before, or
//! of the one before that: with that it is one operation away from its own.
//!
//! So a status is read until an aggregate is there, and after that two alone are looked at; and the chain
//! in which all tiles wait for those before has a link for a group, not for a tile. docs/notes/gpu-scan.md has
//! what that is worth.

mod group;

pub use group::GROUP;
use group::{Group, LAST};

use crate::atomic::{self, Pair};
use crate::scalar::Scalar;
use crate::shared::{Carver, SharedArray};
use crate::slice::Out;
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

/// The epoch of the next launch over a control word of [`Tickets::take`] that no launch is using now.
#[inline(always)]
pub fn next_epoch(control: Out<u64>) -> u64 {
    // SAFETY: the control word is in the slice, and touched by atomics alone.
    (unsafe { atomic::load_u64(control.address(0u32, 1)) } >> TICKET_BITS) + 1
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
    /// Every thread of the block comes here. `control` is the launch's control word, one element: zero at
    /// first, and used by nobody but launches that follow each other and take all their tickets.
    #[inline(always)]
    pub unsafe fn take(&self, control: Out<u64>) -> Ticket {
        // SAFETY: the barrier orders the store before the loads; the last ticket of a launch is
        // the last access to the control word in it.
        unsafe {
            if thread::thread_idx_x() == 0 {
                let word = control.fetch_add(0u32, 1);
                let taken = (word & MAX_TILES) + 1;
                if taken == thread::grid_dim_x() as u64 {
                    // Adds what is missing to the next epoch's ticket 0.
                    control.fetch_add(0u32, (1 << TICKET_BITS) - taken);
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
pub struct Lookback<'a> {
    status: Out<'a, Pair>,
    ticket: Ticket,
}

impl<'a> Lookback<'a> {
    /// Over a status array of this launch, which has an element for each tile.
    #[inline(always)]
    pub const fn new(status: Out<'a, Pair>, ticket: Ticket) -> Self {
        Self { status, ticket }
    }

    /// Publishes the tile's aggregate, looks back, publishes the inclusive prefix of a group that ends
    /// with the tile, and returns the tile's exclusive one: the combination of all tiles before this
    /// one, valid in every lane. For tile 0 it is `identity`.
    ///
    /// If the aggregate is `closed`, what comes before does not change it (a segment begins in
    /// the tile), and it is published as a prefix at once.
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
        combine: impl Fn(T, T) -> T,
    ) -> T {
        self.announce(aggregate, closed);
        // SAFETY: the whole warp is here, by the caller's promise.
        unsafe { self.announced_prefix(aggregate, closed, identity, combine) }
    }

    /// Publishes the tile's aggregate: the first half of
    /// [`exclusive_prefix`](Self::exclusive_prefix), for who has other work before the second. The
    /// sooner it is done, the less the tiles after this one wait. To be called once for a status array in a launch, by
    /// one warp.
    #[inline(always)]
    pub fn announce<T: Scalar>(&self, aggregate: T, closed: bool) {
        let is_prefix = closed || self.ticket.tile == 0;
        self.publish(if is_prefix { PREFIX } else { AGGREGATE }, aggregate);
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
        combine: impl Fn(T, T) -> T,
    ) -> T {
        let place = (self.ticket.tile % GROUP) as u32;
        // SAFETY: the whole warp is here; conditions are the same in all lanes.
        unsafe {
            if self.ticket.tile == 0 {
                return identity;
            }
            let (own, prior) = self.look(place, aggregate);
            let closed_before = own.prefixes();
            let sums = own.sums(closed_before | (closed as u32) << place, &combine);
            let before = || warp::shuffle(warp::FULL, sums, place.saturating_sub(1));
            let until = || warp::shuffle(warp::FULL, sums, place);
            // Of a closed tile the prefix is there.
            let publishes = self.ends_group() && !closed;
            if closed_before != 0 {
                if publishes {
                    self.publish(PREFIX, until());
                }
                return before();
            }
            let prefix = self.prefix_of_groups(prior, &combine);
            if publishes {
                self.publish(PREFIX, combine(prefix, until()));
            }
            if place == 0 { prefix } else { combine(prefix, before()) }
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
        combine: impl Fn(T, T) -> T,
    ) -> T {
        let tile = self.ticket.tile;
        loop {
            // SAFETY: the whole warp is here, by the caller's promise; conditions are the same in all lanes.
            unsafe {
                if tile == 0 {
                    return identity;
                }
                let [bits, tag] = self.status_of(tile - 1);
                // Each lane has read on its own: the first's counts.
                let tag = warp::shuffle(warp::FULL, tag, 0);
                let state = self.state([bits, tag]);
                if state == PREFIX {
                    let prefix = T::from_bits64(warp::shuffle(warp::FULL, bits, 0));
                    if !closed && self.ends_group() {
                        self.publish(PREFIX, combine(prefix, aggregate));
                    }
                    return prefix;
                }
                if state == AGGREGATE {
                    return self.announced_prefix(aggregate, closed, identity, combine);
                }
            }
            thread::pause();
        }
    }

    #[inline(always)]
    fn publish<T: Scalar>(&self, state: u32, value: T) {
        if warp::lane_id() == 0 {
            let tag = self.ticket.epoch << 2 | state as u64;
            let status = self.status.address(self.ticket.tile, 1);
            // SAFETY: the status is in the slice, and touched by atomics alone.
            unsafe { atomic::store_pair(status, [value.to_bits64(), tag]) };
        }
    }

    /// The status of a tile.
    #[inline(always)]
    fn status_of(&self, tile: u64) -> Pair {
        // SAFETY: as for `publish`.
        unsafe { atomic::load_pair(self.status.address(tile, 1)) }
    }

    /// The state in a status, 0 if this launch has none there.
    #[inline(always)]
    fn state(&self, [_, tag]: Pair) -> u32 {
        if tag >> 2 == self.ticket.epoch { tag as u32 & 3 } else { 0 }
    }

    /// Whether a group ends with the tile.
    #[inline(always)]
    const fn ends_group(&self) -> bool {
        self.ticket.tile % GROUP == GROUP - 1
    }

    /// Waits for the tile's own group up to it, and for the group before or its prefix, but for what lies
    /// before a tile that is closed: so much can be added up until that prefix, or the one before, comes.
    #[inline(always)]
    unsafe fn look<T: Scalar>(&self, place: u32, aggregate: T) -> (Group<T>, Group<T>) {
        let start = self.ticket.tile - place as u64;
        let lane = warp::lane_id();
        loop {
            // SAFETY: the whole warp is here, and all lanes turn equally often; the tiles looked at are
            // before this one.
            unsafe {
                // Both are on their way at a time.
                let (mut near, mut far) = ([0; 2], [0; 2]);
                if lane < place {
                    near = self.status_of(start + lane as u64);
                }
                if start > 0 {
                    far = self.status_of(start - GROUP + lane as u64);
                }
                let is_near = lane < place;
                let value = if is_near { T::from_bits64(near[0]) } else { aggregate };
                let own =
                    Group { value, state: if is_near { self.state(near) } else { AGGREGATE } };
                let prior = Group { value: T::from_bits64(far[0]), state: self.state(far) };
                if own.is_enough() && (own.prefixes() != 0 || prior.is_enough()) {
                    return (own, prior);
                }
            }
            thread::pause();
        }
    }

    /// The prefix of the group before.
    #[inline(always)]
    unsafe fn prefix_of_groups<T: Scalar>(
        &self,
        prior: Group<T>,
        combine: &impl Fn(T, T) -> T,
    ) -> T {
        // SAFETY: as above.
        unsafe {
            let closed = prior.prefixes();
            if closed >> LAST == 1 {
                return prior.value_of(LAST);
            }
            let sums = prior.sums(closed, combine);
            let sum = warp::shuffle(warp::FULL, sums, LAST);
            if closed != 0 {
                return sum;
            }
            // No tile of that group is closed, as tile 0 is, so another is before it. Lane 0 looks at that
            // one's prefix, lane 1 at that of the group itself.
            let end = self.ticket.tile / GROUP * GROUP - 1;
            loop {
                let tile = if warp::lane_id() == 1 { end } else { end - GROUP };
                let pair = self.status_of(tile);
                let last = Group { value: T::from_bits64(pair[0]), state: self.state(pair) };
                let there = last.prefixes();
                if there & 2 != 0 {
                    return last.value_of(1);
                }
                if there & 1 != 0 {
                    return combine(last.value_of(0), sum);
                }
                thread::pause();
            }
        }
    }
}
