//! The exclusive prefix of each tile in one launch: what a block must know about all tiles before its own.
//!
//! In: from each tile an aggregate (a sum, a count), once. Out: the combination of the aggregates of all tiles before
//! it, in every lane of one warp. `combine` is associative but for rounding, and need not be commutative.
//!
//! Decoupled look-back (Merrill and Garland 2016, *Single-pass Parallel Prefix Scan with Decoupled Look-back*, NVIDIA
//! NVR-2016-002). A tile publishes its aggregate as soon as it has it, and later tiles read it. Nobody waits for a
//! kernel to end. Here only the last tile of each group of 32 publishes an inclusive prefix:
//!
//! ```text
//! tile           0 ..  30   31 | 32 ..  62   63 | 64 ..  t - 1    t
//! its status     a ..  a    P  | a  ..  a    P  | a  ..  a       (this tile)
//!                           |    \_________/ |    \_______/
//!                   end - 32     prior group  end     own group
//! ```
//!
//! ```text
//! exclusive_prefix(t, aggregate):
//!     publish aggregate                                     A, or P if the tile is closed or is tile 0
//!     wait for A or P of the own group before t, and of the prior group       a lane a tile, both loads at once
//!     own = scan of the own group;  sum = sum of the prior group
//!     wait for P(end):       prefix = P(end)
//!        or    P(end - 32):  prefix = P(end - 32) + sum     whichever is there first
//!     if t ends a group: publish P(t) = prefix + own up to t
//!     return prefix + own before t
//! ```
//!
//! A tile is *closed* if nothing before it changes its prefix: a segment begins in it. A closed tile publishes P at
//! once, and the sums of later tiles begin there. A status is a [`Pair`]: the value's bits, and a tag with state and
//! epoch. The epoch counts the launches over one control word, so the statuses of earlier launches are void, and
//! nothing is cleared between launches.
//!
//! # Why it is right
//!
//! - Forward progress. A block takes its tile by an atomic ticket. So every earlier tile belongs to a block that runs
//!   already, in whatever order blocks start. Tile 0 waits for nobody, and each tile waits for earlier ones alone.
//! - A status is read and written whole, 16 bytes. Value and tag belong together, and no fence is needed.
//! - The same bits in every run, also if rounding makes `combine` not associative. What comes before tile 32 g + k is
//!
//!   ```text
//!   ((sum of group 0 + sum of group 1) + .. sum of group g - 1) + sum of the first k of group g
//!   ```
//!
//!   with a warp's scan within a group, and no term before the last closed tile. P(end) was computed as P(end - 32) +
//!   sum, by the same scan of the same values: whichever a tile meets first, it gets the same bits.
//!
//! # What it costs
//!
//! No barrier but the ticket's. Until the aggregates are there a warp polls 64 statuses, then two. The chain in which
//! tiles wait for each other has one `combine` for each group: 2048 in place of 65,536. The sum of 2^28 elements takes
//! 1.20 ms for f64 and 1.19 for u64 (one H200, docs/notes/gpu-scan.md).
//!
//! # Rejected
//!
//! - A prefix from each tile, as in the paper, with a window of 64 tiles: 1.45 and 1.27 ms.
//! - A third level, sums of groups looked back over by 32: slower.
//! - P(end - 32) read from the start: 1.28 and 1.27 ms; more registers, which spill.

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

/// A tile's aggregate is published.
const AGGREGATE: u32 = 1;
/// A tile's inclusive prefix is published.
const PREFIX: u32 = 2;

/// The tile of a block.
#[derive(Clone, Copy)]
pub struct Ticket {
    /// The tile.
    pub tile: u64,
    /// The launch's number in the status array: never 0.
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
    /// (Rejected: blocks that stay, and ask for the next ticket while they work on one. They took twice the time of
    /// 2^28 elements: a ticket that waits for its block holds up all tiles after it.)
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
                // The order of tickets is the order in which blocks run: see Forward progress in the head.
                let word = control.fetch_add(0u32, 1);
                let taken = (word & MAX_TILES) + 1;
                if taken == thread::grid_dim_x() as u64 {
                    // The last ticket of the launch: carry into the epoch, so that the next launch begins with ticket
                    // 0.
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

    /// Returns the tile's exclusive prefix: the combination of all tiles before this one, valid in every lane. For tile
    /// 0 it is `identity`. Publishes the tile's aggregate first, and at last its inclusive prefix if a group ends with
    /// the tile.
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

    /// Publishes the tile's aggregate: the first half of [`exclusive_prefix`](Self::exclusive_prefix), for a caller
    /// that has other work before the second half. The sooner this is called, the less later tiles wait. One warp calls
    /// it, once for a status array in a launch.
    #[inline(always)]
    pub fn announce<T: Scalar>(&self, aggregate: T, closed: bool) {
        // Nothing before a closed tile changes its aggregate, and nothing is before tile 0: the aggregate is the
        // prefix.
        let is_prefix = closed || self.ticket.tile == 0;
        self.publish(if is_prefix { PREFIX } else { AGGREGATE }, aggregate);
    }

    /// The second half of [`exclusive_prefix`](Self::exclusive_prefix), after [`announce`](Self::announce).
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
            // Lanes below `place` have the group's earlier tiles, lane `place` this tile: one scan gives both sums.
            let closed_before = own.prefixes();
            let sums = own.sums(closed_before | (closed as u32) << place, &combine);
            let before = || warp::shuffle(warp::FULL, sums, place.saturating_sub(1));
            let until = || warp::shuffle(warp::FULL, sums, place);
            // `announce` has published the prefix of a closed tile.
            let publishes = self.ends_group() && !closed;
            // A closed tile of the own group hides all groups before.
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

    /// As [`announced_prefix`](Self::announced_prefix), for calls in which nearly all tiles are closed. Then the tile
    /// before has a prefix as soon as it is announced, so its status alone is polled.
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
                // Lanes may have read at different times, before and after the store: lane 0's status counts for all.
                let tag = warp::shuffle(warp::FULL, tag, 0);
                let state = self.state([bits, tag]);
                if state == PREFIX {
                    let prefix = T::from_bits64(warp::shuffle(warp::FULL, bits, 0));
                    if !closed && self.ends_group() {
                        self.publish(PREFIX, combine(prefix, aggregate));
                    }
                    return prefix;
                }
                // The tile before is not closed: the whole look-back is needed.
                if state == AGGREGATE {
                    return self.announced_prefix(aggregate, closed, identity, combine);
                }
            }
            thread::pause();
        }
    }

    /// Stores the tile's status, value and tag at once: a reader that sees the tag has the value. No fence is needed.
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

    /// Waits for the statuses of the own group's tiles before this one, and of the group before. Does not wait for
    /// tiles before the last one that has a prefix. The sums of both are then ready when the prefix of a group arrives.
    #[inline(always)]
    unsafe fn look<T: Scalar>(&self, place: u32, aggregate: T) -> (Group<T>, Group<T>) {
        let start = self.ticket.tile - place as u64;
        let lane = warp::lane_id();
        loop {
            // SAFETY: the whole warp is here, and all lanes leave the loop together: votes decide. The tiles read are
            // before this one.
            unsafe {
                // Both loads are in flight at once.
                let (mut near, mut far) = ([0; 2], [0; 2]);
                if lane < place {
                    near = self.status_of(start + lane as u64);
                }
                if start > 0 {
                    far = self.status_of(start - GROUP + lane as u64);
                }
                let is_near = lane < place;
                // Lane `place` and those above stand for this tile, whose aggregate is known.
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

    /// Returns the prefix of the group before: read, or computed from the prefix of the group before that.
    #[inline(always)]
    unsafe fn prefix_of_groups<T: Scalar>(
        &self,
        prior: Group<T>,
        combine: &impl Fn(T, T) -> T,
    ) -> T {
        // SAFETY: as for `look`.
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
            // No tile of that group has a prefix, not even its first. Tile 0 always has one, so a group is before it.
            // Poll both ends: lane 1 the prefix of the group itself, the other lanes that of the group before it. Two
            // statuses at a time, since polling loads the cache that other tiles need.
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
