//! Which points are the nearest, by f64, where the keys of the [first](super::first) walk cannot tell.

use device_std::shared::SharedArray;
use device_std::vector;

use super::choice::{Choice, NONE};
use super::descent::{Tree, Visitor};
use super::few::Few;
use super::group::Group;
use super::list::is_before;
use crate::spatial::place::Place;

/// Takes points into the lane's lists that lie within a bound of each. Where a list is full the farthest point leaves it.
pub struct Decider<'a, T, C, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize>
{
    tree: &'a Tree<'a, T>,
    choice: &'a C,
    lists: &'a mut Few<K, L, LISTS, SLOTS>,
    /// No point that is wanted of a list is farther than this square; negative for a list that has its points.
    bounds: [f64; LISTS],
    /// The last point of each full list, and the entry where it stands.
    last: [((f64, u32), u32); LISTS],
}

impl<'a, T, C, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize>
    Decider<'a, T, C, K, L, LISTS, SLOTS>
where
    T: Place,
    C: Choice<LISTS>,
{
    /// For the lists whose bound is not negative, which are empty.
    #[inline(always)]
    pub fn new(
        tree: &'a Tree<'a, T>,
        choice: &'a C,
        lists: &'a mut Few<K, L, LISTS, SLOTS>,
        bounds: [f64; LISTS],
    ) -> Self {
        let last = [((f64::INFINITY, NONE), 0); LISTS];
        Self { tree, choice, lists, bounds, last }
    }

    /// Offers the first `count` of some positions.
    ///
    /// # Safety
    /// There are so many positions, of points; the lists have room for at least one.
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
    /// The position is one of the tree; the lists have room for at least one.
    #[inline(always)]
    unsafe fn offer(&mut self, position: u32) {
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

/// A walk that offers every point whose f32 square is at most a bound of the lane.
pub struct Collector<
    'a,
    T,
    C,
    const K: usize,
    const L: usize,
    const LISTS: usize,
    const SLOTS: usize,
> {
    /// What the points are offered to.
    pub decider: Decider<'a, T, C, K, L, LISTS, SLOTS>,
    /// The bounds; negative for a list that has its points.
    pub bounds: [f32; LISTS],
    /// The bits of the squared distance from the group from which on no lane wants anything.
    pub reach: u32,
}

impl<T, C, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize> Visitor<T>
    for Collector<'_, T, C, K, L, LISTS, SLOTS>
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
        self.decider.choice.wants(group, bounds, below)
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, T>, group: &Group, leaf: u32) {
        let (mut most, mut i) = (-1.0, 0);
        while i < LISTS {
            most = f32::max(most, self.bounds[i]);
            i += 1;
        }
        // SAFETY: passed on to the caller.
        unsafe {
            tree.each_near(group, leaf, self.reach, |position, x, y| {
                if group.squared(x, y) <= most {
                    self.decider.offer(position);
                }
            });
        }
    }
}
