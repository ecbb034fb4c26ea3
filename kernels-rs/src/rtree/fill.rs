//! Fills lists with the few nearest points of places. See [`rtree`](super).

use device_std::{vector, warp};

use super::alone::find_alone;
use super::choice::Choice;
use super::decide::{Collector, Decider};
use super::descent::{Tree, walk};
use super::few::Few;
use super::first::{First, Guess, NUMBER, below};
use super::group::Group;
use super::list::{SEEN, gaps_of_warp, room_of_warp, seen_of_warp};
use crate::spatial::place::Place;

impl<const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize, const D: usize>
    Few<K, L, LISTS, SLOTS, D>
{
    /// Fills the lists with the nearest points whose squared distance in f32 is at most `limit`: nearest first, of those
    /// as near the lower index first. Beyond a limit in f32 some points may be in the lists that lie a little farther.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the tree is whole and has points.
    #[inline(always)]
    pub unsafe fn find<T: Place, C: Choice<LISTS, D>>(
        &mut self,
        tree: &Tree<'_, T, D>,
        group: &Group<D>,
        choice: &C,
        limit: f32,
    ) {
        let room = (room_of_warp::<SLOTS, D>(), seen_of_warp::<SLOTS, D>());
        // A warp remembers all points of a small tree: a guess would save little.
        let mut guess = if tree.points > SEEN { Guess::Around } else { Guess::Nothing };
        let (mut part, mut most) = (*group, self.most);
        // SAFETY: passed on to the caller.
        unsafe {
            while warp::any(warp::FULL, most > 0) {
                let mut first = First::new(choice, &part, (most, below(limit)), guess, room);
                walk(tree, &part, &mut first);
                if first.is_given_up() {
                    // This leaves the loop for good: a call that may come back costs every walk its registers. Lengths
                    // in f32 have the group's unit.
                    let limit = limit as f64 / group.origin.scale() / group.origin.scale();
                    let (lists, gaps) = (self.list(0).positions, gaps_of_warp::<SLOTS, D>());
                    let found = find_alone(*tree, (self.place(), most, limit), lists, gaps);
                    self.counts = if most > 0 { found } else { self.counts };
                    break;
                }
                first.finish(&part);
                let mut bounds = [-1.0; LISTS];
                if most > 0 && first.is_done(&part, below(limit)) {
                    bounds = self.take_all(&first, (tree, &part), choice, limit);
                    most = 0;
                }
                if first.count > SEEN {
                    self.collect((tree, &part), choice, bounds);
                }
                // Lanes that found too few walk again, with a box around them alone. The third guess is none, so this
                // ends.
                guess = guess.next();
                part = group.of_lanes(most > 0);
            }
            let mut i = 0;
            while i < vector::unknown(LISTS as u32) {
                self.list(i).sort(tree);
                i += 1;
            }
        }
    }

    /// Fills the lists from the first walk. If the walk has seen more points than it remembers, returns the bounds of the
    /// lists, for a second walk; else negative numbers.
    ///
    /// # Safety
    /// The first walk is that of this place in this tree.
    #[inline(always)]
    unsafe fn take_all<T: Place, C: Choice<LISTS, D>>(
        &mut self,
        first: &First<'_, L, LISTS, D, C>,
        (tree, group): (&Tree<'_, T, D>, &Group<D>),
        choice: &C,
        limit: f32,
    ) -> [f32; LISTS] {
        let (mut bounds, mut squares) = ([-1.0; LISTS], [-1.0; LISTS]);
        let (mut are_certain, mut i) = (true, 0);
        // SAFETY: passed on to the caller; the first walk saw the points whose positions are read.
        unsafe {
            while i < LISTS {
                bounds[i] = self.take(first, group, i, limit);
                if bounds[i] >= 0.0 && first.count <= SEEN {
                    // The k points of a full list bound the k-th f64 distance: whichever k are the nearest, none is
                    // farther.
                    let (farthest, _) = self.list(i as u32).farthest(tree);
                    squares[i] = if first.is_full(i) { farthest.0 } else { f64::INFINITY };
                    are_certain = false;
                    self.counts &= !(255 << (8 * i));
                }
                i += 1;
            }
            if first.count > SEEN {
                return bounds;
            }
            if !are_certain {
                Decider::new(tree, choice, self, squares)
                    .choose(seen_of_warp::<SLOTS, D>(), first.count);
            }
        }
        [-1.0; LISTS]
    }

    /// Fills the lists whose bound is not negative by a second walk.
    ///
    /// # Safety
    /// As [`find`](Self::find).
    #[inline(always)]
    unsafe fn collect<T: Place, C: Choice<LISTS, D>>(
        &mut self,
        (tree, group): (&Tree<'_, T, D>, &Group<D>),
        choice: &C,
        bounds: [f32; LISTS],
    ) {
        let (mut most, mut i) = (-1.0, 0);
        while i < LISTS {
            most = f32::max(most, bounds[i]);
            i += 1;
        }
        let squares = bounds.map(|bound| if bound < 0.0 { -1.0 } else { f64::INFINITY });
        let decider = Decider::new(tree, choice, self, squares);
        // SAFETY: passed on to the caller.
        unsafe {
            let reach = warp::max(if most < 0.0 { 0 } else { most.to_bits() + 1 });
            walk(tree, group, &mut Collector { decider, bounds, reach });
        }
    }

    /// Takes the points of list `i` from the first walk, unless it has forgotten some. Returns a negative number if the
    /// keys tell these points apart from all others, else the bound that the k nearest lie within.
    ///
    /// # Safety
    /// The first walk is that of this place.
    #[inline(always)]
    unsafe fn take<C: Choice<LISTS, D>>(
        &mut self,
        first: &First<'_, L, LISTS, D, C>,
        group: &Group<D>,
        i: usize,
        limit: f32,
    ) -> f32 {
        let keys = &first.keys[i];
        let is_full = first.is_full(i);
        let next = keys.last();
        let bound = if is_full { f32::min(first.bound(group, i), limit) } else { limit };
        let has_next = next < first.below;
        // The least f32 square that another point may have: that of key k + 1, or, if there is none, what all keys are
        // below.
        let others = if has_next { next & !NUMBER } else { first.below };
        let is_certain = bound.to_bits() < others || (!has_next && first.below == below(limit));
        if first.count > SEEN {
            return bound;
        }
        let seen = seen_of_warp::<SLOTS, D>();
        // A list that wants fewer than K points begins with zeros, which are no keys.
        let unused = K as u32 - self.most;
        let mut j = 0;
        while j < K {
            let key = keys.get(j);
            if j as u32 >= unused && key < first.below {
                // SAFETY: the key's number is that of a point that was seen; the list has room.
                unsafe { self.put(i as u32, seen.load(key & NUMBER), 0) };
            }
            j += 1;
        }
        if is_certain { -1.0 } else { bound }
    }
}
