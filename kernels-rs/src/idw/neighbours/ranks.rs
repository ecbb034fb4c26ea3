//! Neighbours in shared memory, each by where it is in the sorted order alone: more than a few would not fit with
//! their distances, which are computed anew where they are asked for.

use device_std::shared::SharedArray;

use super::results::Neighbours;
use super::search::{Index, Query, Search};

/// A neighbour: where it is in the sorted order, and the square of its distance.
#[derive(Clone, Copy)]
pub struct Rank {
    pub squared: f64,
    pub position: u32,
}

impl Rank {
    /// What stands where there is none, behind all others.
    pub const NONE: Self = Self { squared: f64::INFINITY, position: u32::MAX };

    /// Whether it comes before another: it is nearer, or as near and of a lower index.
    ///
    /// # Safety
    /// Both are of the index, or none.
    #[inline(always)]
    pub unsafe fn is_before(self, index: &Index, other: Self) -> bool {
        if self.squared != other.squared || u32::max(self.position, other.position) == u32::MAX {
            return self.squared < other.squared;
        }
        // SAFETY: none is one, and both are points.
        unsafe {
            *index.order.add(self.position as usize) < *index.order.add(other.position as usize)
        }
    }
}

/// Room for neighbours of each of some threads.
#[derive(Clone, Copy)]
pub struct Ranks {
    /// Where each is in the sorted order.
    pub positions: SharedArray<u32>,
    /// How many threads have room.
    pub threads: u32,
    /// Which of them this is.
    pub thread: u32,
}

impl Ranks {
    /// Keeps a position in slot `i`.
    ///
    /// # Safety
    /// There is such a slot.
    #[inline(always)]
    pub unsafe fn store(self, i: u32, position: u32) {
        // SAFETY: the slot is the thread's own.
        unsafe { self.positions.store(i * self.threads + self.thread, position) }
    }

    /// The position in slot `i`.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    pub unsafe fn load(self, i: u32) -> u32 {
        // SAFETY: the slot is the thread's own.
        unsafe { self.positions.load(i * self.threads + self.thread) }
    }

    /// The neighbour in slot `i`.
    ///
    /// # Safety
    /// There is one, of this index and query.
    #[inline(always)]
    pub unsafe fn rank(self, index: &Index, query: &Query, i: u32) -> Rank {
        // SAFETY: passed on to the caller.
        unsafe {
            let position = self.load(i);
            Rank { squared: index.squared(query, position), position }
        }
    }

    /// Puts a neighbour among the `found` from slot `from` on, which are in order.
    ///
    /// # Safety
    /// There is a slot more; they are of this index and query.
    #[inline(always)]
    pub unsafe fn insert(self, index: &Index, query: &Query, from: u32, found: u32, new: Rank) {
        let (mut low, mut high) = (0, found);
        // SAFETY: passed on to the caller.
        unsafe {
            // They often come nearly in order: by steps that double from the end, and then by halves.
            let mut step = 1;
            while low < high {
                let middle = u32::max(low, high.saturating_sub(step));
                if new.is_before(index, self.rank(index, query, from + middle)) {
                    high = middle;
                    step *= 2;
                } else {
                    low = middle + 1;
                    step = (high - low).div_ceil(2);
                }
            }
            let mut to = found;
            while to > low {
                self.store(from + to, self.load(from + to - 1));
                to -= 1;
            }
            self.store(from + low, new.position);
        }
    }
}

/// The neighbours in a thread's room: one list, or with `G` groups one of each.
#[derive(Clone, Copy)]
pub struct Ranked<const G: usize> {
    pub ranks: Ranks,
    /// Slots of each group.
    pub room: u32,
    /// How many of each count.
    pub taken: [u32; 4],
    pub are_enough: bool,
}

impl<const G: usize> Neighbours for Ranked<G> {
    #[inline(always)]
    fn are_enough(&self) -> bool {
        self.are_enough
    }

    /// Merges the groups.
    #[inline(always)]
    unsafe fn visit(&self, index: &Index, query: &Query, mut see: impl FnMut(f64, u32)) {
        // SAFETY: slots below `taken` hold neighbours.
        unsafe {
            let head = |group: usize, i: u32| {
                if i < self.taken[group] {
                    self.ranks.rank(index, query, group as u32 * self.room + i)
                } else {
                    Rank::NONE
                }
            };
            let (mut heads, mut shown) = ([Rank::NONE; G], [0; G]);
            let mut group = 0;
            while group < G {
                heads[group] = head(group, 0);
                group += 1;
            }
            loop {
                let (mut next, mut of) = (heads[0], 0);
                let mut group = 1;
                while group < G {
                    if heads[group].is_before(index, next) {
                        (next, of) = (heads[group], group);
                    }
                    group += 1;
                }
                if next.position == u32::MAX {
                    return;
                }
                see(next.squared, *index.order.add(next.position as usize));
                let mut group = 0;
                while group < G {
                    if group == of {
                        shown[group] += 1;
                        heads[group] = head(group, shown[group]);
                    }
                    group += 1;
                }
            }
        }
    }
}

impl Ranks {
    /// Puts the `kept` positions from slot `from` on in order, but for those that do not count for `search`. Returns
    /// how many there are then.
    ///
    /// # Safety
    /// They are of this index; in the plane.
    #[inline(always)]
    pub unsafe fn decide(
        self,
        index: &Index,
        search: &Search,
        query: &Query,
        from: u32,
        kept: u32,
    ) -> u32 {
        let n = index.points as usize;
        let [reach, _] = search.reach;
        let reach = reach * reach;
        let (mut found, mut last, mut i) = (0, Rank::NONE, 0);
        // SAFETY: passed on to the caller; what is in order takes no more slots than what was read.
        unsafe {
            while i < kept {
                let position = self.load(from + i);
                let at = position as usize;
                let dx = *index.places.add(at) - query.place[0];
                let dy = *index.places.add(at + n) - query.place[1];
                let squared = dx * dx + dy * dy;
                let is_left_out = search.leaves_out && *index.order.add(at) as u64 == query.index;
                let counts = squared <= reach && !is_left_out && search.is_inside(dx, dy);
                // Among none but numbers there is an order.
                if counts && squared < f64::INFINITY {
                    let new = Rank { squared, position };
                    if found == 0 || last.is_before(index, new) {
                        self.store(from + found, position);
                        last = new;
                    } else {
                        self.insert(index, query, from, found, new);
                    }
                    found += 1;
                }
                i += 1;
            }
        }
        found
    }
}
