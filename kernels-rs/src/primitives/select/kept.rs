//! Which elements of a tile are kept.

use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::warp;

use super::marks::Marks;
use super::{Keeps, Mode, Rule, Select};
use crate::primitives::operators::Bits;

impl<B: Bits, M: Mode, const ROWS: usize> Select<'_, B, M, ROWS> {
    /// Marks the elements that the warp keeps.
    #[inline(always)]
    pub(super) unsafe fn keep(&self, tile: &Tile<B, ROWS>, flags: u64) -> Marks<ROWS> {
        let mut bits = flags;
        let mut row = 0;
        while row < ROWS && !matches!(M::KEEPS, Keeps::Flagged) {
            // SAFETY: the tile is stashed; the whole warp is here.
            unsafe {
                let vector = tile.stashed(self.shared.stash, row);
                let of_row = match M::KEEPS {
                    Keeps::Heads => self.heads(tile, row),
                    _ => self.in_range(vector),
                };
                bits |= (of_row as u64) << (row * B::LANES);
            }
            row += 1;
        }
        if !tile.is_whole() {
            bits &= self.present(tile);
        }
        // SAFETY: the whole warp is here.
        unsafe { Marks::new::<B>(bits) }
    }

    /// A bit for each of the thread's elements that is in the array.
    #[inline(always)]
    fn present(&self, tile: &Tile<B, ROWS>) -> u64 {
        let mut present = 0;
        let mut row = 0;
        while row < ROWS {
            let count = tile.valid(tile.element(row));
            present |= ((1 << count) - 1) << (row * B::LANES);
            row += 1;
        }
        present
    }

    /// Which elements of a vector have a rank in the range, or outside it.
    #[inline(always)]
    fn in_range(&self, vector: Vector) -> u32 {
        let Rule { low, span, outside, .. } = self.rule;
        let order = self.rule.order();
        let mut bits = 0;
        let mut i = 0;
        while i < B::LANES {
            let rank = order.rank(B::lane(vector, i));
            bits |= ((rank.minus(low) <= span) as u32) << i;
            i += 1;
        }
        if outside != 0 { bits ^ (u32::MAX >> (32 - B::LANES)) } else { bits }
    }

    /// Which elements of a thread's vector differ from the one before.
    #[inline(always)]
    unsafe fn heads(&self, tile: &Tile<B, ROWS>, row: usize) -> u32 {
        let first = tile.element(row);
        // SAFETY: the tile is stashed, the whole warp is here, and the element before the warp's
        // is in the array.
        unsafe {
            let vector = tile.stashed(self.shared.stash, row);
            let last = B::lane(vector, B::LANES - 1);
            let mut before = warp::shuffle_up(warp::FULL, last, 1);
            if warp::lane_id() == 0 && first > 0 && first < self.len {
                before = self.input.get(first - 1);
            }
            let mut bits = (first == 0) as u32;
            let mut i = 0;
            while i < B::LANES {
                let element = B::lane(vector, i);
                bits |= ((element != before) as u32) << i;
                before = element;
                i += 1;
            }
            bits
        }
    }

    /// Which of the thread's elements have a flag that is set.
    #[inline(always)]
    pub(super) fn flags(&self, tile: &Tile<B, ROWS>) -> u64 {
        let flags = self.rule.flags;
        let mut bits = 0;
        let by_words = B::LANES >= 4 && tile.is_whole() && (flags.start() as usize & 3) == 0;
        let mut i = 0;
        // The condition is the same in the whole block: the loads are in flight together.
        if by_words {
            while i < ROWS * B::LANES {
                let at = tile.element(i / B::LANES) as usize + i % B::LANES;
                // SAFETY: four flags from a multiple of four on, at an address that is one.
                let word = unsafe { flags.from(at).cast::<u32>() }.get(0u32);
                let mut j = 0;
                while j < 4 {
                    bits |= ((word >> (8 * j) & 0xff != 0) as u64) << (i + j);
                    j += 1;
                }
                i += 4;
            }
            return bits;
        }
        while i < ROWS * B::LANES {
            let at = tile.element(i / B::LANES).wrapping_add((i % B::LANES) as u64);
            if at < self.len {
                bits |= ((flags.get(at) != 0) as u64) << i;
            }
            i += 1;
        }
        bits
    }
}
