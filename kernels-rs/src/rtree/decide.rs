//! Decides by f64 which points are the nearest, if the keys of the [first](super::first) walk cannot tell.
//!
//! In: candidates that may be among the k nearest, and a bound for each list. Out: lists of the k nearest.
//!
//! ```text
//! offer(point):
//!     skip it if its f64 square is above the bound of every list
//!     list not full:  append it
//!     list full:      if it comes before the farthest entry, it takes that entry's place
//!     list full now:  find the farthest entry; its square is the new bound
//! ```
//!
//! The candidates are all points that the warp has seen, or those of a second walk within the proven bound: so the k
//! nearest are among them. (square, index) is a total order: the list is the same in whatever order candidates come. A
//! replacement costs one pass over the list; beyond the k points themselves few candidates lie within the bound.

use device_std::shared::SharedArray;
use device_std::vector;

use super::choice::Choice;
use super::descent::{Tree, Visitor};
use super::few::Few;
use super::group::Group;
use super::layout::NONE;
use super::list::is_before;
use crate::spatial::place::{Bounds, Place};

/// Takes points into the lane's lists that lie within the bound of a list. If a list is full, its farthest point leaves
/// it.
pub struct Decider<
    'a,
    T,
    C,
    const K: usize,
    const L: usize,
    const LISTS: usize,
    const SLOTS: usize,
    const D: usize,
> {
    tree: &'a Tree<'a, T, D>,
    choice: &'a C,
    lists: &'a mut Few<K, L, LISTS, SLOTS, D>,
    /// The greatest f64 square that a list wants; negative for a list that has its points already.
    bounds: [f64; LISTS],
    /// The farthest point of each full list, and the entry where it stands.
    last: [((f64, u32), u32); LISTS],
}

impl<
    'a,
    T,
    C,
    const K: usize,
    const L: usize,
    const LISTS: usize,
    const SLOTS: usize,
    const D: usize,
> Decider<'a, T, C, K, L, LISTS, SLOTS, D>
where
    T: Place,
    C: Choice<LISTS, D>,
{
    /// Makes a decider for the lists whose bound is not negative; these are empty.
    #[inline(always)]
    pub fn new(
        tree: &'a Tree<'a, T, D>,
        choice: &'a C,
        lists: &'a mut Few<K, L, LISTS, SLOTS, D>,
        bounds: [f64; LISTS],
    ) -> Self {
        // A list that is not full takes every point within its bound.
        let last = [((f64::INFINITY, NONE), 0); LISTS];
        Self { tree, choice, lists, bounds, last }
    }

    /// Offers the points at the first `count` positions.
    ///
    /// # Safety
    /// There are `count` positions, of points of the tree; each list may have at least one entry.
    #[inline(always)]
    pub unsafe fn choose(&mut self, positions: SharedArray<u32>, count: u32) {
        let mut i = 0;
        while i < vector::unknown(count) {
            // SAFETY: passed on to the caller.
            unsafe { self.offer(positions.load(i)) };
            i += 1;
        }
    }

    /// Offers a point.
    ///
    /// # Safety
    /// The position is one of the tree; each list may have at least one entry.
    #[inline(always)]
    unsafe fn offer(&mut self, position: u32) {
        // The square first: it rejects most points before their index is loaded and the choice is asked.
        let squared = self.tree.squared(position, self.lists.place());
        let (mut is_within, mut i) = (false, 0);
        while i < LISTS {
            is_within |= squared <= self.bounds[i];
            i += 1;
        }
        if !is_within {
            return;
        }
        let point = (squared, self.tree.order.get(position));
        let list = self.choice.list(self.tree, position);
        // Over all lists: `i` is a constant once the loop is unrolled, so that bounds and last points stay in registers.
        let mut i = 0;
        while i < LISTS {
            if list == i as u32 && squared <= self.bounds[i] && is_before(point, self.last[i].0) {
                // SAFETY: passed on to the caller; a full list has an entry that leaves it.
                unsafe {
                    if self.lists.put(i as u32, position, self.last[i].1) {
                        self.last[i] = self.lists.list(i as u32).farthest(self.tree);
                        self.bounds[i] = f64::min(self.bounds[i], self.last[i].0.0);
                    }
                }
            }
            i += 1;
        }
    }
}

/// The second walk: offers every point whose f32 square is at most the lane's bound. The order of visits does not matter,
/// since the bounds are fixed: so children come in their order, which saves the search for the nearest.
pub struct Collector<
    'a,
    T,
    C,
    const K: usize,
    const L: usize,
    const LISTS: usize,
    const SLOTS: usize,
    const D: usize,
> {
    /// Takes the points.
    pub decider: Decider<'a, T, C, K, L, LISTS, SLOTS, D>,
    /// The bounds; negative for a list that has its points.
    pub bounds: [f32; LISTS],
    /// The bits of a squared distance from the group's box: no lane wants anything at this distance or beyond.
    pub reach: u32,
}

impl<T, C, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize, const D: usize>
    Visitor<T, D> for Collector<'_, T, C, K, L, LISTS, SLOTS, D>
where
    T: Place,
    C: Choice<LISTS, D>,
{
    const NEAREST_FIRST: bool = false;
    const SKIPS_REPEATED: bool = true;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.reach
    }

    #[inline(always)]
    fn wants(&self, group: &Group<D>, bounds: Bounds<f32, D>) -> bool {
        let below = self.bounds.map(|bound| if bound < 0.0 { 0 } else { bound.to_bits() + 1 });
        self.decider.choice.wants(group, bounds, below)
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, T, D>, group: &Group<D>, leaf: u32) {
        let (mut most, mut i) = (-1.0, 0);
        while i < LISTS {
            most = f32::max(most, self.bounds[i]);
            i += 1;
        }
        // SAFETY: passed on to the caller.
        unsafe {
            tree.each_near(group, leaf, self.reach, |position, point| {
                if group.squared(point) <= most {
                    self.decider.offer(position);
                }
            });
        }
    }
}
