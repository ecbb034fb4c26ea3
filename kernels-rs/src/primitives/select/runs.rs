//! The lengths of runs: where the heads before are, and how far it is from one to the next.

use device_std::lookback::Lookback;
use device_std::warp;

use super::marks::Marks;
use super::{Mode, Place, Select, Target, WARPS};
use crate::primitives::operators::Bits;

impl<B: Bits, M: Mode, const ROWS: usize> Select<'_, B, M, ROWS> {
    /// Leaves the place after the warp's last head in shared memory.
    #[inline(always)]
    pub(super) unsafe fn note_last_head(&self, kept: &Marks<ROWS>) {
        let highest = 63 - (kept.bits | 1).leading_zeros();
        let (row, lane) = (highest / B::LANES as u32, highest % B::LANES as u32);
        let vector = warp::warp_id() * (ROWS * 32) as u32 + row * 32 + warp::lane_id();
        let after = vector * B::LANES as u32 + lane + 1;
        let after = if kept.bits == 0 { 0 } else { after };
        // SAFETY: the whole warp is here; the element is its own.
        unsafe {
            let last = warp::reduce(after, |a, b| if a > b { a } else { b });
            if warp::lane_id() == 0 {
                self.shared.after_heads.store(warp::warp_id(), last);
            }
        }
    }

    /// The place after the last head of the first `warps` warps in the array; 0 without one.
    #[inline(always)]
    pub(super) unsafe fn after_head(&self, start: u64, warps: u32) -> u64 {
        let mut last = 0;
        let mut warp = 0;
        while warp < WARPS {
            // SAFETY: noted by each warp before a barrier.
            let of_warp = unsafe { self.shared.after_heads.load(warp) };
            last = if warp < warps && of_warp != 0 { of_warp } else { last };
            warp += 1;
        }
        if last == 0 { 0 } else { start + last as u64 }
    }

    /// Finds where the last head before the tile is.
    #[inline(always)]
    pub(super) unsafe fn look_back_for_head(&self, lookback: Lookback, own: u64) {
        if warp::warp_id() == 1 {
            // SAFETY: the whole warp is here.
            unsafe {
                let last = |a: u64, b: u64| if b != 0 { b } else { a };
                let before = lookback.announced_prefix(own, own != 0, 0, last);
                if warp::lane_id() == 0 {
                    self.shared.after_head_before.store(0, before);
                }
            }
        }
    }

    /// Writes the lengths of the runs that end in the warp's part of the tile, and by the last
    /// warp of all that of the last run.
    #[inline(always)]
    pub(super) unsafe fn write_lengths(&self, count: u32, place: Place) {
        let Place { start, kept_before, before_warp, .. } = place;
        let positions = self.shared.positions;
        let part = warp::warp_id() * Self::PART;
        let first_run = kept_before + before_warp as u64;
        // SAFETY: the warp's positions are staged, the heads before noted.
        unsafe {
            let mut j = warp::lane_id();
            while j + 1 < count {
                let length = positions.load(part + j + 1) - positions.load(part + j);
                self.write_length(first_run + j as u64, length as u64);
                j += 32;
            }
            if warp::lane_id() != 0 {
                return;
            }
            let in_tile = self.after_head(start, warp::warp_id());
            let before_tile = self.shared.after_head_before.load(0);
            let before = if in_tile != 0 { in_tile } else { before_tile };
            if count > 0 && before > 0 {
                let head = start + positions.load(part) as u64;
                self.write_length(first_run - 1, head + 1 - before);
            }
            if start + Self::TILE >= self.len && warp::warp_id() == WARPS - 1 {
                let in_tile = self.after_head(start, WARPS);
                let last = if in_tile != 0 { in_tile } else { before_tile };
                let runs = kept_before + place.count as u64;
                self.write_length(runs - 1, self.len + 1 - last);
            }
        }
    }

    #[inline(always)]
    fn write_length(&self, run: u64, length: u64) {
        let Target { lengths, long_lengths, .. } = self.target;
        if let Some(lengths) = lengths {
            lengths.set(run, length as u32);
        }
        if let Some(lengths) = long_lengths {
            lengths.set(run, length);
        }
    }
}
