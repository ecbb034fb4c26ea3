//! The first walk of a search for few neighbours: how far they are, and nearly always which.
//!
//! A lane keeps the least keys of its place. A key is one u32, so an insertion is a minimum and a maximum an entry:
//!
//! ```text
//! bit 31        30 .. 23     22 .. 9                 8 .. 0
//! sign, 0       exponent     14 bits of the square   the point's number among those that the warp has seen
//! ```
//!
//! Keys compare as squares do, to 14 bits. Points that agree in these bits are put in order by f64 later.
//!
//! ```text
//! guess:  the first leaf tells how densely points lie, and so a distance within which there should be enough points
//! walk:   nearest box first; each lane takes in the keys of points within its distance, eight points at a time
//! finish: the last points, fewer than eight
//! ```
//!
//! Without the guess the first leaves would fill the lists with points that later leaves push out again. The first
//! [`Guess`] is that points lie around the places as densely as in the leaf. Lanes that find too few points walk again
//! with a farther guess, and at last without one. A wrong guess costs time alone: [`First::is_done`] tells whether it
//! was too near.

use core::array;

use device_std::shared::SharedArray;
use device_std::vector::Vector;
use device_std::{math, vector, warp};

use super::choice::Choice;
use super::density::Density;
use super::descent::{Tree, Visitor};
use super::group::Group;
use super::layout::FANOUT;
use super::list::{BATCH, EIGHT, SEEN, STAGED, STRIDE, vectors_of_staged};
use crate::spatial::keys::Keys;
use crate::spatial::place::{Bounds, Place};

/// The bits of an infinite f32.
const INFINITE: u32 = f32::INFINITY.to_bits();

/// The bits of a key that hold the number of the point.
pub const NUMBER: u32 = SEEN - 1;

/// How a first distance is guessed from the first leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// Points lie around the place as densely as in the leaf.
    Around,
    /// Points lie as densely, but none is nearer than the leaf: its distance is added.
    Beyond,
    /// Nothing is guessed.
    Nothing,
}

impl Guess {
    /// The guess after this one was too near.
    #[inline(always)]
    pub fn next(self) -> Self {
        if self == Self::Around { Self::Beyond } else { Self::Nothing }
    }
}

/// `LISTS` lists of the lane's place, each of the `L` least keys. `L` is one more than the points that are wanted: the
/// last key tells whether the points before it are certain.
pub struct First<'a, const L: usize, const LISTS: usize, const D: usize, C> {
    /// The lists.
    pub keys: [Keys<L>; LISTS],
    choice: &'a C,
    /// The most points of a list.
    most: u32,
    /// All keys of the lists are below this: the limit of the search, or the guess.
    pub below: u32,
    /// How to guess from the first leaf; `Nothing` once that is done.
    guess: Guess,
    /// Whether points may be far from the places: not in the walk that guesses them around these.
    is_far: bool,
    /// Each list wants points whose bits of the f32 square are below this.
    wanted: [u32; LISTS],
    reach: u32,
    /// Shared memory of the warp: points that were seen, the one with number `n` in element `n` modulo [`STAGED`]; then the
    /// lanes' batches.
    room: SharedArray<Vector>,
    /// Shared memory of the warp: the positions of the points that were seen.
    seen: SharedArray<u32>,
    /// How many points were seen. Beyond [`SEEN`] their positions are forgotten.
    pub count: u32,
    /// How many of them were offered to the lists: a multiple of eight, until the walk ends.
    offered: u32,
    /// How many keys wait in the lane's batch.
    waiting: u32,
}

/// Returns a number above the keys of all points whose f32 square is at most `limit`, whatever their numbers.
#[inline(always)]
pub fn below(limit: f32) -> u32 {
    u32::min((limit.to_bits() | NUMBER) + 1, INFINITE)
}

impl<'a, const L: usize, const LISTS: usize, const D: usize, C: Choice<LISTS, D>>
    First<'a, L, LISTS, D, C>
{
    /// Whether lanes collect keys that are less than their last one, and merge them by batches. For short lists it costs
    /// less to merge every eight keys.
    const BY_BATCHES: bool = L > BATCH + 1;

    /// Whether the search has another way if its places come to too many points together: [`alone`](super::alone).
    const GIVES_UP: bool = C::IS_ALL && LISTS == 1;

    /// With more points than this the walk ends. By measurement: 4,096 for 12 nearest cost three times as much along a
    /// zigzag, 1,024 a tenth more along contours (docs/notes/neighbours.md).
    const MANY: u32 = if L > 16 { 128 * (L as u32 - 1) } else { 2048 };

    /// Makes empty lists that want `most` points each. All keys are to be below `below`.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn new(
        choice: &'a C,
        group: &Group<D>,
        (most, below): (u32, u32),
        guess: Guess,
        (room, seen): (SharedArray<Vector>, SharedArray<u32>),
    ) -> Self {
        let keys = core::array::from_fn(|_| Keys::NONE);
        let (wanted, reach) = ([0; LISTS], 0);
        let mut first = Self {
            keys,
            choice,
            most,
            below,
            guess,
            is_far: guess != Guess::Around,
            wanted,
            reach,
            room,
            seen,
            count: 0,
            offered: 0,
            waiting: 0,
        };
        // SAFETY: passed on to the caller.
        unsafe { first.begin(group, below) };
        first
    }

    /// Empties the lists, whose keys are to be below `below`.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn begin(&mut self, group: &Group<D>, below: u32) {
        self.below = below;
        // A lane that wants nothing gets a list of zeros, which nothing enters.
        let most = if self.most > 0 { self.most + 1 } else { 0 };
        let mut i = 0;
        while i < LISTS {
            self.keys[i] = Keys::at_most(most, below);
            i += 1;
        }
        // SAFETY: passed on to the caller.
        unsafe { self.set_reach(group) };
    }

    /// The key of the last point that list `i` wants. The list ends with one key more.
    #[inline(always)]
    fn last_wanted(&self, i: usize) -> u32 {
        self.keys[i].get(L - 2)
    }

    /// Whether list `i` has as many points as it wants.
    #[inline(always)]
    pub fn is_full(&self, i: usize) -> bool {
        self.last_wanted(i) < self.below
    }

    /// Bounds the f32 square of every point that is, in truth, no farther than the last point that list `i` wants. The
    /// bits of the number are set, since the key does not tell what they were.
    #[inline(always)]
    pub fn bound(&self, group: &Group<D>, i: usize) -> f32 {
        group.bound(f32::from_bits(self.last_wanted(i) | NUMBER))
    }

    /// Sets what each list still wants, and the reach of the warp.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn set_reach(&mut self, group: &Group<D>) {
        let (mut farthest, mut i) = (0, 0);
        while i < LISTS {
            let mut wanted = self.keys[i].last();
            if self.is_full(i) && self.most > 0 {
                // Points up to the bound too: keys cannot tell them from the last one wanted, so they must be seen before
                // f64 decides.
                wanted = u32::min(self.below, self.bound(group, i).to_bits() + 1);
            }
            self.wanted[i] = wanted;
            farthest = u32::max(farthest, wanted);
            i += 1;
        }
        // SAFETY: passed on to the caller.
        self.reach = u32::min(unsafe { warp::max(farthest) }, INFINITE);
    }

    /// Begins the lists with a guess from the points of a leaf, of which the lane has one. If points lie as densely as in
    /// the leaf, the guessed circle holds more of them than are wanted, by three or four standard deviations.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn begin_with_guess(&mut self, group: &Group<D>, is_there: bool, point: [f32; D]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let leaf = Density::of(is_there, point);
            let squared = leaf.circle_of(self.most, LISTS);
            let gap =
                if self.guess == Guess::Beyond { group.gap_of_lane(leaf.bounds) } else { 0.0 };
            let radius = math::sqrt_f32(gap) + math::sqrt_f32(squared);
            self.begin(group, u32::min(self.below, below(radius * radius)));
        }
    }

    /// Remembers the points of a leaf that are within reach; the lane's is one of them if it `is_near`. Returns the
    /// number of the first one.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn see(&mut self, leaf: u32, near: u32, is_near: bool) -> u32 {
        let first = self.count;
        // SAFETY: passed on to the caller; numbers below `SEEN` have room.
        unsafe {
            let number = first + (near & warp::lanes_below()).count_ones();
            // Beyond that the count alone goes on: it tells that a second walk is needed.
            if is_near && number < SEEN {
                self.seen.store(number, leaf * FANOUT + warp::lane_id());
            }
        }
        self.count += near.count_ones();
        first
    }

    /// Whether the walk went far enough for the lane. Either every list has its points, and its bound lies within the
    /// guess. Or there was no guess, so that the walk went to the limit.
    #[inline(always)]
    pub fn is_done(&self, group: &Group<D>, limit: u32) -> bool {
        let (mut is_done, mut i) = (true, 0);
        while i < LISTS {
            is_done &= self.is_full(i) && self.bound(group, i).to_bits() < self.below;
            i += 1;
        }
        is_done || self.below == limit
    }

    /// Whether the walk ended because it saw too many points.
    #[inline(always)]
    pub fn is_given_up(&self) -> bool {
        Self::GIVES_UP && self.count > Self::MANY
    }

    /// Offers eight keys to list 0.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn offer(&mut self, mut keys: [u32; EIGHT]) {
        let last = self.keys[0].last();
        // SAFETY: passed on to the caller; a batch with a free slot has room.
        unsafe {
            if !Self::BY_BATCHES {
                let least = keys.into_iter().fold(u32::MAX, u32::min);
                if warp::any(warp::FULL, least < last) {
                    self.keys[0].merge(keys);
                }
                return;
            }
            let batch = self.room.skip(vectors_of_staged::<D>()).as_elements::<u32>();
            // Two keys a round, the first ones: an index at run time would force them into local memory. `last` may be
            // older than the batch: then a key enters that the merge drops.
            let mut left = vector::unknown(EIGHT as u32);
            while left > 0 {
                let mut i = 0;
                while i < 2 {
                    if keys[i] < last {
                        batch.store(self.waiting * STRIDE + warp::lane_id(), keys[i]);
                        self.waiting += 1;
                    }
                    i += 1;
                }
                // Every lane needs two free slots. All lanes merge if one must.
                if warp::any(warp::FULL, self.waiting > BATCH as u32 - 2) {
                    self.merge();
                }
                keys = core::array::from_fn(|i| keys[(i + 2) % EIGHT]);
                left -= 2;
            }
        }
    }

    /// Merges the keys that wait into list 0.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn merge(&mut self) {
        let waiting = self.room.skip(vectors_of_staged::<D>()).as_elements::<u32>();
        let mut batch = [u32::MAX; BATCH];
        let mut i = 0;
        while i < BATCH {
            if (i as u32) < self.waiting {
                // SAFETY: below the number that was stored.
                batch[i] = unsafe { waiting.load(i as u32 * STRIDE + warp::lane_id()) };
            }
            i += 1;
        }
        self.keys[0].merge(batch);
        self.waiting = 0;
    }

    /// Puts a point into shared memory, where all lanes read it: a broadcast, cheaper than two shuffles.
    ///
    /// # Safety
    /// All points with a number that is less by [`STAGED`] or more were offered, and every lane knows.
    #[inline(always)]
    unsafe fn stage(&mut self, number: u32, point: [f32; D]) {
        let pair = point[0].to_bits() as u64 | (point[1].to_bits() as u64) << 32;
        // SAFETY: passed on to the caller.
        unsafe {
            self.room.as_elements::<u64>().store(number % STAGED, pair);
            if D > 2 {
                let heights = self.room.skip(STAGED / 2).as_elements::<f32>();
                heights.store(number % STAGED, point[D - 1]);
            }
        }
    }

    /// Two staged points that follow each other.
    ///
    /// # Safety
    /// They were staged.
    #[inline(always)]
    unsafe fn staged(&self, pair: u32) -> [[f32; D]; 2] {
        // SAFETY: passed on to the caller.
        let pairs = unsafe { self.room.load(pair) }.map(f32::from_bits);
        let heights = self.room.skip(STAGED / 2).as_elements::<f32>();
        [0, 1].map(|i| {
            array::from_fn(|axis| match axis {
                0 | 1 => pairs[2 * i + axis],
                // SAFETY: as before.
                _ => unsafe { heights.load(2 * pair + i as u32) },
            })
        })
    }

    /// Offers the staged points with numbers below `end`, eight at a time: `end` is rounded down to a multiple of eight.
    ///
    /// # Safety
    /// The whole warp comes to the same call, with the same `end`; the points are staged.
    #[inline(always)]
    unsafe fn offer_until(&mut self, group: &Group<D>, end: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            warp::sync_warp(warp::FULL);
            while self.offered + EIGHT as u32 <= vector::unknown(end) {
                let first = self.offered;
                let mut keys = [0; EIGHT];
                let mut i = 0;
                while i < EIGHT {
                    // From 512 on numbers wrap around. Then keys still bound distances; their points are found by the
                    // second walk.
                    let number = first + i as u32;
                    let [one, next] = self.staged(first % STAGED / 2 + i as u32 / 2);
                    keys[i] = key(group.squared(one), number);
                    keys[i + 1] = key(group.squared(next), number + 1);
                    i += 2;
                }
                self.offer(keys);
                self.offered += EIGHT as u32;
            }
            // Later points overwrite these.
            warp::sync_warp(warp::FULL);
        }
    }

    /// Offers the points that were seen last and wait for others, after a walk.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn finish(&mut self, group: &Group<D>) {
        if !C::IS_ALL {
            return;
        }
        // SAFETY: passed on to the caller; fewer than eight points wait.
        unsafe {
            if self.count != self.offered {
                // Fills up to eight: a point at infinity has a key above all others.
                let number = self.count + warp::lane_id();
                if number < self.offered + EIGHT as u32 {
                    self.stage(number, [f32::INFINITY; D]);
                }
                self.offer_until(group, self.offered + EIGHT as u32);
            }
            if Self::BY_BATCHES && warp::any(warp::FULL, self.waiting > 0) {
                self.merge();
            }
        }
    }

    /// Offers the points of the lanes that are `near`, one after the other, to the list that the choice names.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn offer_chosen<T: Place>(
        &mut self,
        (tree, group): (&Tree<'_, T, D>, &Group<D>),
        (leaf, near): (u32, u32),
        first: u32,
        point: [f32; D],
    ) {
        let (mut left, mut number) = (near, first);
        // SAFETY: passed on to the caller.
        unsafe {
            while left != 0 {
                let lane = left.trailing_zeros();
                left &= left - 1;
                let point = point.map(|along| warp::shuffle(warp::FULL, along, lane));
                let key = key(group.squared(point), number);
                number += 1;
                let (mut farthest, mut i) = (0, 0);
                while i < LISTS {
                    farthest = u32::max(farthest, self.keys[i].last());
                    i += 1;
                }
                // The choice reads f64 coordinates: only for points that may enter a list.
                let mut list = LISTS as u32;
                if key < farthest {
                    list = self.choice.list(tree, leaf * FANOUT + lane);
                }
                let mut i = 0;
                while i < LISTS {
                    self.keys[i].offer(if list == i as u32 { key } else { u32::MAX });
                    i += 1;
                }
            }
        }
    }
}

/// The key of a point.
#[inline(always)]
fn key(squared: f32, number: u32) -> u32 {
    squared.to_bits() & !NUMBER | number & NUMBER
}

impl<T: Place, const L: usize, const LISTS: usize, const D: usize, C: Choice<LISTS, D>>
    Visitor<T, D> for First<'_, L, LISTS, D, C>
{
    const NEAREST_FIRST: bool = true;
    const SKIPS_REPEATED: bool = true;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.reach
    }

    #[inline(always)]
    fn wants(&self, group: &Group<D>, bounds: Bounds<f32, D>) -> bool {
        self.choice.wants(group, bounds, self.wanted)
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, T, D>, group: &Group<D>, leaf: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (is_there, point) = tree.point(group, leaf);
            // The first leaf is the nearest one, since the nearest box comes first.
            if self.guess != Guess::Nothing {
                self.begin_with_guess(group, is_there, point);
                self.guess = Guess::Nothing;
            }
            let mut is_near = is_there && group.gap([point; 2]).to_bits() < self.reach;
            // The lists of quadrants reach in all directions, so no line bounds them.
            if LISTS == 1 && self.is_far {
                let towards = point.map(|along| warp::shuffle(warp::FULL, along, 0));
                is_near &= group.is_within_a_circle(point, towards, self.wanted[0]);
            }
            let near = warp::ballot(warp::FULL, is_near);
            let first = self.see(leaf, near, is_near);
            if C::IS_ALL {
                if is_near {
                    self.stage(first + (near & warp::lanes_below()).count_ones(), point);
                }
                // The rest of fewer than eight waits for the next leaf.
                self.offer_until(group, self.count);
            } else {
                self.offer_chosen((tree, group), (leaf, near), first, point);
            }
            self.set_reach(group);
            if self.is_given_up() {
                self.reach = 0;
            }
        }
    }
}
