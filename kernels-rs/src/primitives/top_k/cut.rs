//! A cut through elements in their order.

/// Up to which elements are taken: known are all bits but some low ones, of the rank first.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub(super) rank: u64,
    pub(super) unknown_of_rank: u32,
    index: u64,
    pub(super) unknown_of_index: u32,
}

/// The bits of a number above some low ones, of which there may be 64.
#[inline(always)]
fn above(x: u64, low: u32) -> u64 {
    if low < 64 { x >> low } else { 0 }
}

impl Cut {
    /// The cut after all elements, whose indices have so many bits.
    #[inline(always)]
    pub(super) const fn all(index_bits: u32) -> Self {
        Self { rank: 0, unknown_of_rank: 64, index: 0, unknown_of_index: index_bits }
    }

    #[inline(always)]
    pub(super) fn is_known(self) -> bool {
        self.unknown_of_rank == 0 && self.unknown_of_index == 0
    }

    /// The greatest rank that is taken, and the greatest index with that rank.
    #[inline(always)]
    pub(super) fn greatest(self) -> (u64, u64) {
        let filled = |x: u64, low: u32| x | !(above(u64::MAX, low) << (low & 63));
        let index = match self.unknown_of_rank {
            0 => filled(self.index, self.unknown_of_index),
            _ => u64::MAX,
        };
        (filled(self.rank, self.unknown_of_rank), index)
    }

    /// Whether an element is taken.
    #[inline(always)]
    pub(super) fn takes(self, rank: u64, index: impl Fn() -> u64) -> bool {
        let (own, cut) = (self.of_rank(rank), self.of_rank(self.rank));
        let all_equal = self.unknown_of_rank > 0;
        let is_in = || all_equal || self.of_index(index()) <= self.of_index(self.index);
        own < cut || (own == cut && is_in())
    }

    /// Whether an element has the known bits.
    #[inline(always)]
    pub(super) fn is_at(self, rank: u64, index: impl Fn() -> u64) -> bool {
        self.of_rank(rank) == self.of_rank(self.rank)
            && (self.unknown_of_rank > 0 || self.of_index(index()) == self.of_index(self.index))
    }

    /// Makes the next bits known, of the rank or of the index, and leaves so many unknown.
    #[inline(always)]
    pub(super) fn append(&mut self, digit: u64, bits: u32, unknown: u32) {
        if self.unknown_of_rank > 0 {
            self.rank = (self.of_rank(self.rank) << bits | digit) << unknown;
            self.unknown_of_rank = unknown;
        } else {
            self.index = (self.of_index(self.index) << bits | digit) << unknown;
            self.unknown_of_index = unknown;
        }
    }

    #[inline(always)]
    pub(super) fn of_rank(self, rank: u64) -> u64 {
        above(rank, self.unknown_of_rank)
    }

    #[inline(always)]
    fn of_index(self, index: u64) -> u64 {
        above(index, self.unknown_of_index)
    }
}
