//! Compacts and writes kept elements, and writes rejected ones.

use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{Out, warp};

use super::marks::Marks;
use super::{Mode, Place, Select, Shared};
use crate::primitives::operators::Bits;

impl<B: Bits, M: Mode, const ROWS: usize> Select<'_, B, M, ROWS> {
    /// Moves the warp's kept elements to the front of its part of the tile; with a place, writes
    /// the rejected ones.
    #[inline(always)]
    pub(super) unsafe fn compact(
        &self,
        tile: &Tile<B, ROWS>,
        kept: &Marks<ROWS>,
        place: Option<Place>,
    ) {
        let kept = kept.anew();
        let Shared { elements, positions, .. } = self.shared;
        let part = warp::warp_id() * Self::PART;
        let row_len = (32 * B::LANES) as u32;
        let mut row = 0;
        while row < ROWS {
            // SAFETY: the row is read by the whole warp before its elements are moved, to places
            // in rows that were read; ranks are distinct.
            unsafe {
                let vector = tile.stashed(self.shared.stash, row);
                warp::sync_warp(warp::FULL);
                let bits = kept.of_row::<B>(row);
                let at = part + row as u32 * row_len + warp::lane_id() * B::LANES as u32;
                let mut to = part + kept.rank(row);
                let mut i = 0;
                while i < B::LANES {
                    if bits >> i & 1 == 1 {
                        elements.store(to, B::lane(vector, i));
                        if M::LENGTHS {
                            positions.store(to, (at + i as u32) as u16);
                        }
                    }
                    to += bits >> i & 1;
                    i += 1;
                }
                if let (Some(place), Some(rejected)) = (place, self.target.rejected) {
                    self.write_rejected(rejected, (vector, bits), row, &kept, place);
                }
            }
            row += 1;
        }
        // SAFETY: the whole warp is here.
        unsafe { warp::sync_warp(warp::FULL) };
    }

    /// Writes the rejected elements of a row of the warp, through shared memory.
    #[inline(always)]
    unsafe fn write_rejected(
        &self,
        output: Out<B>,
        (vector, bits): (Vector, u32),
        row: usize,
        kept: &Marks<ROWS>,
        place: Place,
    ) {
        let row_len = (32 * B::LANES) as u32;
        let scratch = warp::warp_id() * row_len;
        let in_row = warp::lane_id() * B::LANES as u32;
        // SAFETY: the whole warp is here, and stays together between its writes and reads.
        unsafe {
            let before_row = warp::shuffle(warp::FULL, kept.rank(row), 0);
            let mut to = scratch + in_row - (kept.rank(row) - before_row);
            let mut i = 0;
            while i < B::LANES {
                if bits >> i & 1 == 0 {
                    self.shared.rejected.store(to, B::lane(vector, i));
                    to += 1;
                }
                i += 1;
            }
            let kept_in_row = kept.rank(row) - before_row + bits.count_ones();
            let kept_in_row = warp::shuffle(warp::FULL, kept_in_row, 31);
            warp::sync_warp(warp::FULL);
            let first = place.start + (warp::warp_id() * Self::PART + row as u32 * row_len) as u64;
            let kept_before = place.kept_before + (place.before_warp + before_row) as u64;
            // Beyond the array nothing is kept, nor rejected.
            let present = u64::min(self.len.saturating_sub(first), row_len as u64) as u32;
            let output = output.wrapping_from(first - kept_before);
            let count = present.saturating_sub(kept_in_row);
            let mut j = warp::lane_id();
            while j < count {
                output.set(j, self.shared.rejected.load(scratch + j));
                j += 32;
            }
            warp::sync_warp(warp::FULL);
        }
    }

    /// Writes the warp's kept elements.
    #[inline(always)]
    pub(super) unsafe fn write(&self, count: u32, place: Place) {
        let Some(kept) = self.target.kept else { return };
        let part = warp::warp_id() * Self::PART;
        let to = kept.wrapping_from(place.kept_before + place.before_warp as u64);
        let mut j = warp::lane_id();
        while j < count {
            // SAFETY: the warp's own part, where its kept elements come first.
            to.set(j, unsafe { self.shared.elements.load(part + j) });
            j += 32;
        }
    }
}
