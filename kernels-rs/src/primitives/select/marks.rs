//! Ranks of marked elements in a warp's part of a tile: what a compaction needs.

use device_std::scalar::Scalar;
use device_std::{vector, warp};

/// Which elements of a warp's part of a tile are marked.
#[derive(Clone, Copy)]
pub(super) struct Marks<const ROWS: usize> {
    /// A bit for each of the thread's elements, row after row.
    pub(super) bits: u64,
    /// How many of the warp's come before each of the thread's vectors: two rows in a word.
    ranks: [u32; ROWS],
    /// How many the warp has.
    pub(super) count: u32,
}

impl<const ROWS: usize> Marks<ROWS> {
    /// Ranks the marked elements: a warp scan over the counts of two rows at a time.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    pub(super) unsafe fn new<T: Scalar>(bits: u64) -> Self {
        let mut ranks = [0; ROWS];
        let mut count = 0;
        let mut row = 0;
        while row < ROWS {
            let counts =
                of_row::<T>(bits, row).count_ones() | of_row::<T>(bits, row + 1).count_ones() << 16;
            // SAFETY: the whole warp is here, by the caller's promise.
            let (inclusive, all) = unsafe {
                let inclusive = warp::inclusive_scan(counts, |a, b| a + b);
                (inclusive, warp::shuffle(warp::FULL, inclusive, 31))
            };
            let second = count + (all & 0xffff);
            ranks[row / 2] = inclusive - counts + (count | second << 16);
            count = second + (all >> 16);
            row += 2;
        }
        Self { bits, ranks, count }
    }

    /// The same marks, made opaque to the compiler, which would otherwise keep what it derived from single bits in
    /// registers across the barriers.
    #[inline(always)]
    pub(super) fn anew(&self) -> Self {
        Self { bits: vector::unknown_64(self.bits), ..*self }
    }

    /// The bits of the thread's vector in a row.
    #[inline(always)]
    pub(super) fn of_row<T: Scalar>(&self, row: usize) -> u32 {
        of_row::<T>(self.bits, row)
    }

    /// How many of the warp's come before the thread's vector.
    #[inline(always)]
    pub(super) fn rank(&self, row: usize) -> u32 {
        self.ranks[row / 2] >> (row % 2 * 16) & 0xffff
    }
}

#[inline(always)]
fn of_row<T: Scalar>(bits: u64, row: usize) -> u32 {
    (bits >> (row * T::LANES)) as u32 & (u32::MAX >> (32 - T::LANES))
}
