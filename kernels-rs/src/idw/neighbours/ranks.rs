//! Neighbours in shared memory. A slot holds only the neighbour's position in the sorted order, so that more neighbours
//! fit. Their distances are computed again when needed.

use device_std::shared::SharedArray;

use super::results::Neighbours;
use super::search::{Index, TargetPlace};

/// A neighbour: its position in the sorted order, and the square of its distance.
#[derive(Clone, Copy)]
pub struct Rank {
    pub squared: f64,
    pub position: u32,
}

impl Rank {
    /// Stands for no neighbour, behind all others.
    pub const NONE: Self = Self { squared: f64::INFINITY, position: u32::MAX };

    /// Whether it comes before another: it is nearer, or as near and of a lower index.
    #[inline(always)]
    pub fn is_before(self, index: &Index, other: Self) -> bool {
        if self.squared != other.squared || u32::max(self.position, other.position) == u32::MAX {
            return self.squared < other.squared;
        }
        index.point(self.position) < index.point(other.position)
    }
}

/// Slots for the neighbours of each of some threads.
#[derive(Clone, Copy)]
pub struct Ranks {
    /// The position of each in the sorted order.
    pub positions: SharedArray<u32>,
    /// How many threads have slots.
    pub threads: u32,
    /// Which of them this thread is.
    pub thread: u32,
}

impl Ranks {
    /// Keeps a position in slot `i`.
    ///
    /// # Safety
    /// There is a slot `i`.
    #[inline(always)]
    pub unsafe fn store(self, i: u32, position: u32) {
        // SAFETY: the slot is the thread's own.
        unsafe { self.positions.store(i * self.threads + self.thread, position) }
    }

    /// The position in slot `i`.
    ///
    /// # Safety
    /// There is a position in slot `i`.
    #[inline(always)]
    pub unsafe fn load(self, i: u32) -> u32 {
        // SAFETY: the slot is the thread's own.
        unsafe { self.positions.load(i * self.threads + self.thread) }
    }

    /// The neighbour in slot `i`.
    ///
    /// # Safety
    /// There is a neighbour in slot `i`, of this index and target.
    #[inline(always)]
    pub unsafe fn rank(self, index: &Index, target: &TargetPlace, i: u32) -> Rank {
        // SAFETY: there is a neighbour in the slot, as the caller says.
        let position = unsafe { self.load(i) };
        Rank { squared: index.squared(target, position), position }
    }

    /// Inserts a neighbour among the `found` ordered ones in the first slots.
    ///
    /// # Safety
    /// There is one more slot; all neighbours are of this index and target.
    #[inline(always)]
    pub unsafe fn insert(self, index: &Index, target: &TargetPlace, found: u32, new: Rank) {
        let (mut low, mut high) = (0, found);
        // SAFETY: slots below `found` hold neighbours, and there is one more, as the caller says.
        unsafe {
            // Neighbours often come nearly in order, so the search takes steps that double from the end, and then
            // halves.
            let mut step = 1;
            while low < high {
                let middle = u32::max(low, high.saturating_sub(step));
                if new.is_before(index, self.rank(index, target, middle)) {
                    high = middle;
                    step *= 2;
                } else {
                    low = middle + 1;
                    step = (high - low).div_ceil(2);
                }
            }
            let mut to = found;
            while to > low {
                self.store(to, self.load(to - 1));
                to -= 1;
            }
            self.store(low, new.position);
        }
    }
}

/// The neighbours in a thread's room.
#[derive(Clone, Copy)]
pub struct Ranked<'a> {
    pub ranks: Ranks,
    pub index: &'a Index<'a>,
    pub target: &'a TargetPlace,
    /// How many there are.
    pub found: u32,
    pub are_enough: bool,
}

impl Neighbours for Ranked<'_> {
    #[inline(always)]
    fn are_enough(&self) -> bool {
        self.are_enough
    }

    #[inline(always)]
    unsafe fn visit(&self, mut see: impl FnMut(f64, u32)) {
        let mut i = 0;
        while i < self.found {
            // SAFETY: slots below `found` hold neighbours, which are points of the index.
            unsafe {
                let Rank { squared, position } = self.ranks.rank(self.index, self.target, i);
                see(squared, self.index.point(position));
            }
            i += 1;
        }
    }
}
