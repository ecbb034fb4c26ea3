//! The few nearest points of places: lists of at most 64 entries. See [`rtree`](super).

use device_std::shared::SharedArray;
use device_std::{vector, warp};

use super::choice::Choice;
use super::descent::{Tree, Visitor, walk};
use super::first::{First, NUMBER, below};
use super::group::Group;
use super::list::{List, SEEN, STRIDE, room_of_warp, seen_of_warp};
use crate::spatial::place::Place;

/// `LISTS` lists of a lane's place, each of at most `K` entries; `L` is one more than `K`, and `SLOTS` are the entries of
/// all lists.
#[derive(Clone, Copy)]
pub struct Few<const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize> {
    place: [f64; 2],
    /// The most entries of a list.
    most: u32,
    /// The entries of each list, a byte each, so that no list is found by an index at run time.
    counts: u32,
    positions: SharedArray<u32>,
}

impl<const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize>
    Few<K, L, LISTS, SLOTS>
{
    /// Empty lists for the place of this lane, of at most `most` entries each.
    #[inline(always)]
    pub fn new(place: [f64; 2], most: u32) -> Self {
        const { assert!(K * LISTS == SLOTS && L == K + 1 && K <= 64, "there is room for these") };
        Self { place, most, counts: 0, positions: room_of_warp::<SLOTS>().as_elements() }
    }

    /// The entries of list `i`.
    #[inline(always)]
    pub fn count(&self, i: u32) -> u32 {
        self.counts >> (8 * i) & 255
    }

    /// List `i`.
    #[inline(always)]
    pub fn list(&self, i: u32) -> List {
        let positions = self.positions.skip(i * K as u32 * STRIDE);
        List { place: self.place, most: self.most, count: self.count(i), positions }
    }

    /// Fills the lists with the nearest points whose squared distance in f32 is at most `limit`: nearest first, of those
    /// as near the lower index first. Beyond a limit in f32 some points may be in the lists that lie a little farther.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the tree is whole and has points.
    #[inline(always)]
    pub unsafe fn find<T: Place, C: Choice<LISTS>>(
        &mut self,
        tree: &Tree<'_, T>,
        group: &Group,
        choice: &C,
        limit: f32,
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let first = self.walk_first(tree, group, choice, below(limit));
            // The lists lie where the points were.
            warp::sync_warp(warp::FULL);
            let mut bounds = [-1.0; LISTS];
            let (mut most, mut i) = (-1.0, 0);
            while i < LISTS {
                if self.most > 0 {
                    bounds[i] = self.take(&first, group, i, limit);
                }
                most = f32::max(most, bounds[i]);
                i += 1;
            }
            if warp::any(warp::FULL, most >= 0.0) {
                let reach = warp::max(if most < 0.0 { 0 } else { most.to_bits() + 1 });
                walk(tree, group, &mut Collector { lists: self, choice, bounds, most, reach });
            }
            let mut i = 0;
            while i < vector::unknown(LISTS as u32) {
                self.list(i).sort(tree);
                i += 1;
            }
        }
    }

    /// The first walk: once with a guess, and if that was too short for a lane once more without it.
    ///
    /// # Safety
    /// As [`find`](Self::find).
    #[inline(always)]
    unsafe fn walk_first<'a, T: Place, C: Choice<LISTS>>(
        &self,
        tree: &Tree<'_, T>,
        group: &Group,
        choice: &'a C,
        below: u32,
    ) -> First<'a, L, LISTS, C> {
        let room = (room_of_warp::<SLOTS>(), seen_of_warp::<SLOTS>());
        let mut guesses = tree.points > SEEN;
        loop {
            // SAFETY: passed on to the caller.
            unsafe {
                let mut first = First::new(choice, group, (self.most, below), guesses, room);
                walk(tree, group, &mut first);
                let (mut is_done, mut i) = (true, 0);
                while i < LISTS {
                    is_done &= first.last_wanted(i) < first.below;
                    i += 1;
                }
                is_done |= self.most == 0 || first.below == below;
                if warp::all(warp::FULL, is_done) {
                    return first;
                }
            }
            guesses = false;
        }
    }

    /// Takes the points of list `i` from the first walk, if their keys tell them apart from all others: then there is
    /// nothing more to do, and the result is negative. Else it is the bound within which they are.
    ///
    /// # Safety
    /// The first walk is that of this place.
    #[inline(always)]
    unsafe fn take<C: Choice<LISTS>>(
        &mut self,
        first: &First<'_, L, LISTS, C>,
        group: &Group,
        i: usize,
        limit: f32,
    ) -> f32 {
        let keys = &first.keys[i];
        let is_full = first.last_wanted(i) < first.below;
        let next = keys.last();
        let bound = if is_full { f32::min(first.bound(group, i), limit) } else { limit };
        let has_next = next < first.below;
        // What was not seen lies beyond what was wanted, or beyond what the lists were begun with.
        let others = if has_next { next & !NUMBER } else { first.below };
        let is_certain = bound.to_bits() < others || (!has_next && first.below == below(limit));
        if first.count > SEEN || !is_certain {
            return bound;
        }
        let seen = seen_of_warp::<SLOTS>();
        let unused = K as u32 - self.most;
        let (mut count, mut j) = (0, 0);
        while j < K {
            let key = keys.get(j);
            if j as u32 >= unused && key < first.below {
                let slot = (i * K) as u32 + count;
                // SAFETY: the key's number is that of a point that was seen; the slot is the lane's own.
                unsafe {
                    let position = seen.load(key & NUMBER);
                    self.positions.store(slot * STRIDE + warp::lane_id(), position);
                }
                count += 1;
            }
            j += 1;
        }
        self.counts |= count << (8 * i);
        -1.0
    }
}

/// The second walk: the points within the bound of each list.
struct Collector<'a, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize, C> {
    lists: &'a mut Few<K, L, LISTS, SLOTS>,
    choice: &'a C,
    /// Negative for a list that has its points.
    bounds: [f32; LISTS],
    /// The greatest of the bounds.
    most: f32,
    reach: u32,
}

impl<T, C, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize> Visitor<T>
    for Collector<'_, K, L, LISTS, SLOTS, C>
where
    T: Place,
    C: Choice<LISTS>,
{
    const NEAREST_FIRST: bool = false;
    const SKIPS_REPEATED: bool = true;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.reach
    }

    #[inline(always)]
    fn wants(&self, group: &Group, bounds: [f32; 4]) -> bool {
        let below = self.bounds.map(|bound| if bound < 0.0 { 0 } else { bound.to_bits() + 1 });
        self.choice.wants(group, bounds, below)
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, T>, group: &Group, leaf: u32) {
        // SAFETY: passed on to the caller; a list is one of these.
        unsafe {
            tree.each_near(group, leaf, self.reach, |position, x, y| {
                let squared = group.squared(x, y);
                if squared > self.most {
                    return;
                }
                let list = self.choice.list(tree, position);
                let mut is_within = false;
                let mut i = 0;
                while i < LISTS {
                    is_within |= list == i as u32 && squared <= self.bounds[i];
                    i += 1;
                }
                if is_within {
                    let mut of = self.lists.list(list);
                    let before = of.count;
                    of.add(tree, position);
                    self.lists.counts += (of.count - before) << (8 * list);
                }
            });
        }
    }
}
