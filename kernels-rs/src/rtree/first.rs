//! The first walk of a search for few neighbours: how far they are, and nearly always which.
//!
//! A lane keeps the least keys of its place: the bits of the f32 square of a distance, whose lowest bits are the number of
//! the point among those that the warp has seen. So an insertion is a minimum and a maximum an entry.
//!
//! ```text
//! guess:  the first leaf tells how densely points lie, and so a distance within which there should be points enough
//! walk:   nearest box first; each lane takes in the keys of points within its distance
//! ```
//!
//! Without the guess the first leaves would fill the lists with points that later ones push out again. The first [`Guess`]
//! is that points lie around the places as densely as in the leaf. Lanes that find too few within it walk again, with a
//! farther one, and at last without.

use device_std::shared::SharedArray;
use device_std::vector::Vector;
use device_std::{math, vector, warp};

use super::choice::Choice;
use super::descent::{Tree, Visitor};
use super::group::Group;
use super::layout::FANOUT;
use super::list::{SEEN, STAGED, STRIDE};
use crate::spatial::keys::{BATCH, Keys};
use crate::spatial::place::Place;

/// The bits of an infinite f32.
const INFINITE: u32 = f32::INFINITY.to_bits();

/// The bits of a key that hold the number of the point.
pub const NUMBER: u32 = SEEN - 1;

/// How much denser the points of a leaf look than they are: their tight box leaves out the space around them.
const MORE: f32 = 1.0 / 0.88;

/// The least ratio of a leaf's sides when its density is judged: points along a line have a box without area.
const SLIMMEST: f32 = 0.25;

/// How far the first points are, as the first leaf tells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// Points lie around the place as densely as in the leaf.
    Around,
    /// They lie as densely, but no nearer to the place than the leaf.
    Beyond,
    /// Nothing is guessed.
    Nothing,
}

impl Guess {
    /// What to guess where this was too near.
    #[inline(always)]
    pub fn next(self) -> Self {
        if self == Self::Around { Self::Beyond } else { Self::Nothing }
    }
}

/// `LISTS` lists of the lane's place, each of the `L` least keys: one more than points are wanted, which tells whether the
/// keys can tell these apart from the others.
pub struct First<'a, const L: usize, const LISTS: usize, C> {
    /// The lists.
    pub keys: [Keys<L>; LISTS],
    choice: &'a C,
    /// The most points of a list.
    most: u32,
    /// What all keys of the lists are below: the limit of the search, or what was guessed.
    pub below: u32,
    /// What is to be guessed from the first leaf.
    guess: Guess,
    /// What of each list is still wanted is below this.
    wanted: [u32; LISTS],
    reach: u32,
    /// Of the warp: the points of a leaf, then the lanes' batches.
    room: SharedArray<Vector>,
    /// Of the warp: the positions of the points that were seen.
    seen: SharedArray<u32>,
    /// How many.
    pub count: u32,
    /// How many keys wait in the lane's batch.
    waiting: u32,
}

/// What a key of a point is below whose f32 square is at most `limit`.
#[inline(always)]
pub fn below(limit: f32) -> u32 {
    u32::min((limit.to_bits() | NUMBER) + 1, INFINITE)
}

impl<'a, const L: usize, const LISTS: usize, C: Choice<LISTS>> First<'a, L, LISTS, C> {
    /// Long lists take keys by batches: to merge 16 at a time takes a third of the instructions.
    const BY_BATCHES: bool = C::IS_ALL && L > BATCH + 1;

    /// Empty lists, of which at most `most` points are wanted each. Every key is to be below `below`.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn new(
        choice: &'a C,
        group: &Group,
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
            wanted,
            reach,
            room,
            seen,
            count: 0,
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
    unsafe fn begin(&mut self, group: &Group, below: u32) {
        self.below = below;
        let most = if self.most > 0 { self.most + 1 } else { 0 };
        let mut i = 0;
        while i < LISTS {
            self.keys[i] = Keys::at_most(most, below);
            i += 1;
        }
        // SAFETY: passed on to the caller.
        unsafe { self.set_reach(group) };
    }

    /// The key of the last point that is wanted of list `i`.
    #[inline(always)]
    fn last_wanted(&self, i: usize) -> u32 {
        self.keys[i].get(L - 2)
    }

    /// Whether list `i` has as many points as are wanted.
    #[inline(always)]
    pub fn is_full(&self, i: usize) -> bool {
        self.last_wanted(i) < self.below
    }

    /// The f32 square that no point exceeds which is as near as the last one wanted of list `i`, or nearer.
    #[inline(always)]
    pub fn bound(&self, group: &Group, i: usize) -> f32 {
        group.bound(f32::from_bits(self.last_wanted(i) | NUMBER))
    }

    /// Sets what is wanted still, and the reach.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn set_reach(&mut self, group: &Group) {
        let (mut farthest, mut i) = (0, 0);
        while i < LISTS {
            let mut wanted = self.keys[i].last();
            if self.is_full(i) && self.most > 0 {
                // Also what keys cannot tell from the last one wanted: f64 decides among the points that were seen.
                wanted = u32::min(self.below, self.bound(group, i).to_bits() + 1);
            }
            self.wanted[i] = wanted;
            farthest = u32::max(farthest, wanted);
            i += 1;
        }
        // SAFETY: passed on to the caller.
        self.reach = u32::min(unsafe { warp::max(farthest) }, INFINITE);
    }

    /// Begins the lists with the guess from the points of a leaf, of which the lane has one: at their density, its circle
    /// holds some standard deviations more points than are wanted.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn begin_with_guess(&mut self, group: &Group, is_there: bool, x: f32, y: f32) {
        // SAFETY: passed on to the caller.
        unsafe {
            let or = |along: f32, other: f32| if is_there { along } else { other };
            let bounds = [
                warp::reduce(or(x, f32::INFINITY), f32::min),
                warp::reduce(or(y, f32::INFINITY), f32::min),
                warp::reduce(or(x, f32::NEG_INFINITY), f32::max),
                warp::reduce(or(y, f32::NEG_INFINITY), f32::max),
            ];
            let count = warp::ballot(warp::FULL, is_there).count_ones() as f32;
            let sides = [bounds[2] - bounds[0], bounds[3] - bounds[1]];
            let long = f32::max(sides[0], sides[1]);
            let short = f32::max(f32::min(sides[0], sides[1]), SLIMMEST * long);
            let wanted = self.most as f32;
            // Of four quadrants one more often has few.
            let spread = if LISTS == 1 { 3.0 } else { 4.0 };
            let of_list = wanted + spread * (math::sqrt_f32(wanted) + 1.0);
            let within = of_list * LISTS as f32;
            let squared = within * long * short * (MORE / core::f32::consts::PI) / count;
            let gap = if self.guess == Guess::Beyond { group.gap_of_lane(bounds) } else { 0.0 };
            let radius = math::sqrt_f32(gap) + math::sqrt_f32(squared);
            // Points at one place tell nothing.
            let guessed = if long > 0.0 { below(radius * radius) } else { INFINITE };
            self.begin(group, u32::min(self.below, guessed));
        }
    }

    /// Takes the points of a leaf that are within reach into those that were seen; the lane's is one of them if it `is_near`.
    /// Returns the number of the first.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn see(&mut self, leaf: u32, near: u32, is_near: bool) -> u32 {
        let first = self.count;
        // SAFETY: passed on to the caller; numbers below `SEEN` have room.
        unsafe {
            let number = first + (near & warp::lanes_below()).count_ones();
            if is_near && number < SEEN {
                self.seen.store(number, leaf * FANOUT + warp::lane_id());
            }
        }
        self.count += near.count_ones();
        first
    }

    /// Whether the walk went far enough for the lane: every list has its points, and all that keys cannot tell from them are
    /// nearer than the guess; or there was none, and all keys are below `limit`.
    #[inline(always)]
    pub fn is_done(&self, group: &Group, limit: u32) -> bool {
        let (mut is_done, mut i) = (true, 0);
        while i < LISTS {
            is_done &= self.is_full(i) && self.bound(group, i).to_bits() < self.below;
            i += 1;
        }
        is_done || self.below == limit
    }

    /// Offers two keys of list 0, the last ones of a leaf or others. After the last none waits.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn offer(&mut self, keys: [u32; 2], is_last: bool) {
        let last = self.keys[0].last();
        // SAFETY: passed on to the caller; a batch with a free slot has room.
        unsafe {
            if !Self::BY_BATCHES {
                if warp::any(warp::FULL, u32::min(keys[0], keys[1]) < last) {
                    self.keys[0].insert(keys[0]);
                    self.keys[0].insert(keys[1]);
                }
                return;
            }
            let batch = self.room.skip(STAGED).as_elements::<u32>();
            let mut i = 0;
            while i < 2 {
                if keys[i] < last {
                    batch.store(self.waiting * STRIDE + warp::lane_id(), keys[i]);
                    self.waiting += 1;
                }
                i += 1;
            }
            let most = if is_last { 0 } else { BATCH as u32 - 2 };
            if warp::any(warp::FULL, self.waiting > most) {
                self.merge();
            }
        }
    }

    /// Takes in what waits.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn merge(&mut self) {
        let waiting = self.room.skip(STAGED).as_elements::<u32>();
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

    /// Offers the points of the lanes that are `near`, of which the first has number `first`. They go into shared memory,
    /// where all lanes read two at a time.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn offer_all(&mut self, group: &Group, near: u32, first: u32, [x, y]: [f32; 2]) {
        // SAFETY: passed on to the caller; a leaf's points are no more than there is room for.
        unsafe {
            let count = near.count_ones();
            let points = self.room.as_elements::<u64>();
            let pair = |x: f32, y: f32| x.to_bits() as u64 | (y.to_bits() as u64) << 32;
            if near >> warp::lane_id() & 1 != 0 {
                points.store((near & warp::lanes_below()).count_ones(), pair(x, y));
            }
            if warp::lane_id() == 0 {
                points.store(count, pair(f32::INFINITY, f32::INFINITY));
            }
            warp::sync_warp(warp::FULL);
            let (mut i, pairs) = (0, vector::unknown(count.div_ceil(2)));
            let mut number = first;
            while i < pairs {
                let [ax, ay, bx, by] = self.room.load(i).map(f32::from_bits);
                let keys =
                    [key(group.squared(ax, ay), number), key(group.squared(bx, by), number + 1)];
                (i, number) = (i + 1, number + 2);
                self.offer(keys, i == pairs);
            }
            warp::sync_warp(warp::FULL);
        }
    }

    /// Offers the points of the lanes that are `near`, one after the other, to the list that the choice says.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn offer_chosen<T: Place>(
        &mut self,
        (tree, group): (&Tree<'_, T>, &Group),
        (leaf, near): (u32, u32),
        first: u32,
        place: [f32; 2],
    ) {
        let (mut left, mut number) = (near, first);
        // SAFETY: passed on to the caller.
        unsafe {
            while left != 0 {
                let lane = left.trailing_zeros();
                left &= left - 1;
                let [x, y] = place.map(|along| warp::shuffle(warp::FULL, along, lane));
                let key = key(group.squared(x, y), number);
                number += 1;
                let (mut farthest, mut i) = (0, 0);
                while i < LISTS {
                    farthest = u32::max(farthest, self.keys[i].last());
                    i += 1;
                }
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

impl<T: Place, const L: usize, const LISTS: usize, C: Choice<LISTS>> Visitor<T>
    for First<'_, L, LISTS, C>
{
    const NEAREST_FIRST: bool = true;
    const SKIPS_REPEATED: bool = true;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.reach
    }

    #[inline(always)]
    fn wants(&self, group: &Group, bounds: [f32; 4]) -> bool {
        self.choice.wants(group, bounds, self.wanted)
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, T>, group: &Group, leaf: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (is_there, x, y) = tree.point(group, leaf);
            if self.guess != Guess::Nothing {
                self.begin_with_guess(group, is_there, x, y);
                self.guess = Guess::Nothing;
            }
            let is_near = is_there && group.gap([x, y, x, y]).to_bits() < self.reach;
            let near = warp::ballot(warp::FULL, is_near);
            let first = self.see(leaf, near, is_near);
            if C::IS_ALL {
                self.offer_all(group, near, first, [x, y]);
            } else {
                self.offer_chosen((tree, group), (leaf, near), first, [x, y]);
            }
            self.set_reach(group);
        }
    }
}
