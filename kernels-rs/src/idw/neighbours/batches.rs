//! Keys of 32 queries together, in batches.
//!
//! To insert a key into a list costs more than to look at it, and nearly every point is near enough to one of the lanes
//! or another, whom all wait for. So a lane writes the keys that are below its last into shared memory, and once one of
//! the lanes has a batch of them all lanes merge theirs into their lists ([`Keys::merge`]): 64 entries cost 550
//! instructions a batch of 16 instead of 130 a point. For 12 neighbours that is no gain.

use device_std::shared::SharedArray;
use device_std::warp;

use super::ground::{Ground, Outline, Viewer, key};
use crate::spatial::keys::{BATCH, ENDLESS, Keys};

/// Vectors of the batches of a warp.
pub const OF_BATCHES: u32 = BATCH as u32 * warp::SIZE / 4;

/// Offers keys by batches, for the `K` least: the list has `L`.
pub struct ByBatches<'a, const K: usize, const L: usize> {
    pub keys: Keys<L>,
    numbers: u32,
    outline: &'a Outline,
    /// Batches of the lanes; this one holds so many keys.
    batches: SharedArray<u32>,
    held: u32,
    /// Keys that are not below this are not kept; nor are those not below `most`, whatever the list holds.
    below: u32,
    most: u32,
    /// Points of the ground.
    points: u32,
}

impl<const K: usize, const L: usize> Viewer for ByBatches<'_, K, L> {
    #[inline(always)]
    unsafe fn see(&mut self, places: [[f32; 2]; 4], number: u32) {
        // SAFETY: passed on to the caller.
        let excluded = unsafe { self.outline.excluded(places) };
        let mut i = 0;
        while i < 4 {
            let key = key(places[i], self.numbers, number + i as u32);
            if key < self.below && !excluded[i] {
                // SAFETY: the batch has room for four, of which this is one; slots are the lane's own.
                unsafe { self.batches.store(self.held * warp::SIZE + warp::lane_id(), key) };
                self.held += 1;
            }
            i += 1;
        }
        let is_last = number + 4 >= self.points;
        // SAFETY: passed on to the caller.
        unsafe {
            if is_last || warp::any(warp::FULL, self.held + 4 > BATCH as u32) {
                self.merge();
            }
        }
    }
}

impl<'a, const K: usize, const L: usize> ByBatches<'a, K, L> {
    /// For the points of the ground whose f32 squares do not exceed `most`, or none: what lies beyond is not certain in
    /// any case, or does not count.
    #[inline(always)]
    pub fn new(
        ground: &Ground,
        outline: &'a Outline,
        most: Option<f32>,
        batches: SharedArray<u32>,
    ) -> Self {
        let numbers = ground.numbers();
        // No number makes a key greater than that.
        let below = |most: f32| u32::min(most.to_bits() | numbers, ENDLESS - 1) + 1;
        let most = most.map_or(0, below);
        let keys = Keys::<L>::NONE;
        Self { keys, numbers, outline, batches, held: 0, below: most, most, points: ground.points }
    }

    /// Takes the batch into the list.
    ///
    /// # Safety
    /// The batch holds what it says.
    #[inline(always)]
    unsafe fn merge(&mut self) {
        let mut batch = [u32::MAX; BATCH];
        let mut i = 0;
        while i < BATCH {
            if (i as u32) < self.held {
                let slot = i as u32 * warp::SIZE + warp::lane_id();
                // SAFETY: passed on to the caller.
                batch[i] = unsafe { self.batches.load(slot) };
            }
            i += 1;
        }
        self.keys.merge(batch);
        (self.below, self.held) = (u32::min(self.most, self.keys.get(K - 1)), 0);
    }
}
