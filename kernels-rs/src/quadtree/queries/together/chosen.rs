//! The nearest of the points that a warp looks at, for each lane.

use device_std::{math, vector, warp};

use super::ground::View;
use super::room::{Room, WAITING};
use crate::spatial::keys::{ENDLESS, Keys};

/// The points that a lane has chosen.
pub(super) struct Chosen<const L: usize> {
    pub(super) keys: Keys<L>,
    /// No point with a lower key was passed over.
    pub(super) limit: u32,
    /// How many wait.
    pub(super) waiting: u32,
}

impl<const L: usize> Chosen<L> {
    /// Goes through the points staged, four at a time, the first of which has number `first`. After the last of all
    /// nothing waits.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub(super) unsafe fn take(
        &mut self,
        room: Room<L>,
        view: &View,
        first: u32,
        staged: u32,
        is_last: bool,
    ) {
        let key = |x: u32, y: u32, number: u32| {
            let (dx, dy) = (f32::from_bits(x) - view.x, f32::from_bits(y) - view.y);
            math::mul_add_f32(dy, dy, dx * dx).to_bits() & !Room::<L>::NUMBERS | number
        };
        // SAFETY: the room has places for a multiple of four.
        unsafe {
            // Beyond the last lie points at infinity.
            let end = u32::max(4, staged.next_multiple_of(4));
            let beyond = staged + warp::lane_id();
            if beyond < end {
                let infinity = f32::INFINITY.to_bits() as u64;
                room.places().store(beyond, infinity | infinity << 32);
            }
            warp::sync_warp(warp::FULL);
            let mut i = 0;
            while i < vector::unknown(end) {
                let [ax, ay, bx, by] = room.vectors().load(i / 2);
                let [cx, cy, dx, dy] = room.vectors().load(i / 2 + 1);
                let number = first + i;
                self.see(room, key(ax, ay, number));
                self.see(room, key(bx, by, number + 1));
                self.see(room, key(cx, cy, number + 2));
                self.see(room, key(dx, dy, number + 3));
                i += 4;
                let most = if is_last && i >= end { 0 } else { WAITING - 4 };
                if warp::any(warp::FULL, self.waiting > most) {
                    self.settle(room);
                }
            }
            warp::sync_warp(warp::FULL);
        }
    }

    /// Lets a point wait if it is near enough.
    ///
    /// # Safety
    /// There is room.
    #[inline(always)]
    pub(super) unsafe fn see(&mut self, room: Room<L>, key: u32) {
        if key < self.limit {
            // SAFETY: the lane's own slots.
            unsafe { room.waiting().store(self.waiting * warp::SIZE + warp::lane_id(), key) };
            self.waiting += 1;
        }
    }

    /// Puts what waits among the keys.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub(super) unsafe fn settle(&mut self, room: Room<L>) {
        // SAFETY: the lane's own slots.
        unsafe {
            let mut i = 0;
            while warp::any(warp::FULL, i < self.waiting) {
                let slot = i * warp::SIZE + warp::lane_id();
                let key = if i < self.waiting { room.waiting().load(slot) } else { u32::MAX };
                self.keys.offer(key);
                i += 1;
            }
        }
        self.waiting = 0;
        self.limit = u32::min(self.limit, self.keys.last());
    }

    /// How near a point that was not chosen may be, in radii: f32 rounds the coordinates of both, their
    /// differences and the square, each by less than a ten-millionth of itself.
    #[inline(always)]
    pub(super) fn least_distance(&self, view: &View) -> f64 {
        if self.limit >= ENDLESS {
            return f64::INFINITY;
        }
        let squared = f32::from_bits(self.limit & !Room::<L>::NUMBERS);
        let rounding = 1e-6 * (f32::abs(view.x) + f32::abs(view.y)) + 1e-20;
        (math::sqrt_f32(squared) * (1.0 - 2e-6) - rounding) as f64
    }
}
