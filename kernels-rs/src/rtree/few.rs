//! Lists of at most 64 entries, in shared memory: what a search fills. See [`rtree`](super) for the search.
//!
//! A lane has one list, or one for each quadrant. Entries are positions in the tree, in any order until [`List::sort`].
//! The counts of all lists share one register, a byte each: an array with an index at run time would lie in local
//! memory.

use device_std::shared::SharedArray;

use super::list::{List, STRIDE, lists_of_warp};

/// `LISTS` lists of a lane's place, each of at most `K` entries; `L` is one more than `K`, and `SLOTS` are the entries of
/// all lists.
#[derive(Clone, Copy)]
pub struct Few<
    const K: usize,
    const L: usize,
    const LISTS: usize,
    const SLOTS: usize,
    const D: usize = 2,
> {
    place: [f64; D],
    /// The most entries of a list.
    pub(super) most: u32,
    /// The number of entries of each list, a byte each; list 0 has the lowest byte.
    pub(super) counts: u32,
    positions: SharedArray<u32>,
}

impl<const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize, const D: usize>
    Few<K, L, LISTS, SLOTS, D>
{
    /// Empty lists for the place of this lane, of at most `most` entries each.
    #[inline(always)]
    pub fn new(place: [f64; D], most: u32) -> Self {
        const { assert!(K * LISTS == SLOTS && L == K + 1 && K <= 64, "there is room for these") };
        Self { place, most, counts: 0, positions: lists_of_warp::<SLOTS, D>() }
    }

    /// The number of entries of list `i`.
    #[inline(always)]
    pub fn count(&self, i: u32) -> u32 {
        self.counts >> (8 * i) & 255
    }

    /// List `i`.
    #[inline(always)]
    pub fn list(&self, i: u32) -> List<D> {
        let positions = self.positions.skip(i * K as u32 * STRIDE);
        List { place: self.place, count: self.count(i), positions }
    }

    /// The lane's place.
    #[inline(always)]
    pub fn place(&self) -> [f64; D] {
        self.place
    }

    /// Puts a point at the end of a list, or in place of entry `at` if the list is full. Returns whether the list is full
    /// now.
    ///
    /// # Safety
    /// Each list may have at least one entry, and a full one has entry `at`.
    #[inline(always)]
    pub unsafe fn put(&mut self, i: u32, position: u32, at: u32) -> bool {
        let list = self.list(i);
        let is_full = list.count == self.most;
        // SAFETY: passed on to the caller.
        unsafe { list.set_position(if is_full { at } else { list.count }, position) };
        // Below 65 entries, so a byte never carries into the next.
        self.counts += u32::from(!is_full) << (8 * i);
        self.count(i) == self.most
    }
}
