//! The nearest points of cells that were found, for each of 32 queries.
//!
//! Points come into shared memory some at a time, in f32 relative to one of the queries, but for those that are beyond all
//! lanes' circles. A lane lets those in its own circle wait in shared memory; once one lane has no room left all
//! lanes put theirs among their least [`Keys`], and the circles shrink.
//!
//! From far away all neighbours are nearly as far as each other. So a key has the square of the distance less that
//! of the nearest cell's, and the bits that the point's number leaves tell them apart.

use device_std::shared::SharedArray;
use device_std::{math, vector, warp};

use super::descent::{Crowded, Found};
use super::ground::{Frame, Outline, Stage};
use super::quarters::quadrant_of;
use super::search::{ALL_QUADRANTS, Index, Query};
use crate::spatial::keys::{BATCH, ENDLESS, Keys};
use crate::spatial::runs::Group;

/// Points in shared memory at a time.
pub const STAGED: u32 = 128;

/// The most points that are looked at; a power of two.
pub const MOST_POINTS: u32 = 512;

/// Places farther from the queries, in cells, have no part here: the squares of f32 end.
const FAR: f32 = 1e18;

/// The shared memory of a warp that chooses.
#[derive(Clone, Copy)]
pub struct Room {
    /// Coordinates of [`STAGED`] points, and where each of [`MOST_POINTS`] is in the sorted order.
    pub stage: Stage,
    /// Keys of the lanes that wait.
    pub waiting: SharedArray<u32>,
}

impl Room {
    /// Vectors of the coordinates.
    pub const OF_PLACES: u32 = STAGED / 2;
    /// Vectors of the positions.
    pub const OF_POSITIONS: u32 = MOST_POINTS / 4;
    /// Vectors of the keys that wait.
    pub const OF_WAITING: u32 = BATCH as u32 * warp::SIZE / 4;
}

/// The points that a lane has chosen.
pub struct Chosen<const L: usize> {
    pub keys: Keys<L>,
    /// The bits of a key that are a point's number.
    pub numbers: u32,
    /// What is taken off the squares of distances.
    base: f32,
    /// Keys that are not below this are not kept.
    below: u32,
    /// How many wait.
    held: u32,
}

/// What a warp looks for.
pub struct Sought<'a> {
    pub index: &'a Index,
    pub query: &'a Query,
    pub frame: &'a Frame,
    pub outline: &'a Outline,
    pub is_wanted: bool,
    pub quadrant: u32,
    /// The farthest that a neighbour may lie, on the ground.
    pub reach: f64,
}

impl<const L: usize> Chosen<L> {
    /// The `L` least keys of the points found.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the points are of the index, and nobody else touches the room.
    #[inline(always)]
    pub unsafe fn of(sought: &Sought, found: &Found, room: Room) -> Result<Self, Crowded> {
        let Sought { index, frame, .. } = *sought;
        let points = u32::min(found.points, MOST_POINTS);
        let nearest = f32::max(found.nearest, 0.0);
        let base = if nearest < FAR { nearest * nearest * (1.0 - 1e-5) } else { 0.0 };
        let mut chosen = Self {
            keys: Keys::NONE,
            numbers: u32::MAX.checked_shr((points | 1).leading_zeros()).unwrap_or(0),
            base,
            below: 0,
            held: 0,
        };
        if sought.is_wanted {
            let covered = found.covered as f64 * index.cells.side;
            let most = frame.most_squared(f64::min(covered, sought.reach));
            // No number makes a key greater than that.
            let most = f32::max(most * (1.0 + 1e-6) - base, 0.0).to_bits() | chosen.numbers;
            chosen.below = u32::min(most, ENDLESS - 1) + 1;
        }
        let n = index.points as usize;
        let (mut first, mut staged) = (0, 0);
        let (mut is_far, mut is_last) = (false, false);
        let (mut group, mut number, mut next) = (Group::EMPTY, 0, 0);
        // SAFETY: passed on to the caller; barriers stand between writes and reads of others.
        unsafe {
            let mut circle = chosen.widest(frame);
            while !is_last {
                if number >= group.points() {
                    is_last = next >= found.runs.count();
                    group = found.runs.group(next);
                    (number, next) = (0, next + warp::SIZE);
                }
                let position = group.position(number + warp::lane_id());
                let mut is_in = number + warp::lane_id() < group.points();
                let mut place = [0.0; 2];
                if is_in {
                    let at = position as usize;
                    place = frame.place(*index.places.add(at), *index.places.add(at + n));
                    let [x, y] = place;
                    is_far = is_far || !(f32::abs(x) < FAR && f32::abs(y) < FAR);
                    is_in = math::mul_add_f32(y, y, x * x) <= circle;
                }
                let lanes = warp::ballot(warp::FULL, is_in);
                let slot = staged + (lanes & warp::lanes_below()).count_ones();
                if first + staged + lanes.count_ones() > MOST_POINTS {
                    return Err(Crowded);
                }
                if is_in {
                    let [x, y] = place.map(|along| along.to_bits() as u64);
                    room.stage.places.as_elements::<u64>().store(slot, x | y << 32);
                    room.stage.positions.store(first + slot, position);
                }
                staged += lanes.count_ones();
                number += warp::SIZE;
                if is_last || staged > STAGED - warp::SIZE {
                    chosen.see(sought, room, first, staged);
                    circle = chosen.widest(frame);
                    first += staged;
                    staged = 0;
                }
            }
            if warp::any(warp::FULL, is_far) { Err(Crowded) } else { Ok(chosen) }
        }
    }

    /// The square of the distance from the frame's origin beyond which no point is in a lane's circle.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn widest(&self, frame: &Frame) -> f32 {
        let circle = match self.below {
            0 => 0.0,
            ENDLESS.. => f32::INFINITY,
            below => math::sqrt_f32(self.base + f32::from_bits(below)),
        };
        let away = math::sqrt_f32(math::mul_add_f32(frame.y, frame.y, frame.x * frame.x));
        let farthest = (circle + away) * (1.0 + 1e-5) + 1e-5;
        // SAFETY: passed on to the caller.
        let farthest = unsafe { warp::reduce(farthest, f32::max) };
        farthest * farthest
    }

    /// Goes through the points staged, the first of which has number `first`. Afterwards nothing waits.
    ///
    /// # Safety
    /// As for [`of`](Self::of); there is room for a multiple of four.
    #[inline(always)]
    unsafe fn see(&mut self, sought: &Sought, room: Room, first: u32, staged: u32) {
        let Sought { frame, outline, .. } = *sought;
        let from = |x: u32, y: u32| [f32::from_bits(x) - frame.x, f32::from_bits(y) - frame.y];
        // SAFETY: passed on to the caller.
        unsafe {
            // Beyond the last lie points at infinity.
            let end = staged.next_multiple_of(4);
            let beyond = staged + warp::lane_id();
            if beyond < end {
                let infinity = f32::INFINITY.to_bits() as u64;
                room.stage.places.as_elements::<u64>().store(beyond, infinity | infinity << 32);
            }
            warp::sync_warp(warp::FULL);
            let mut i = 0;
            while i < vector::unknown(end) {
                let [ax, ay, bx, by] = room.stage.places.load(i / 2);
                let [cx, cy, dx, dy] = room.stage.places.load(i / 2 + 1);
                let places = [from(ax, ay), from(bx, by), from(cx, cy), from(dx, dy)];
                let excluded = outline.excluded(places);
                let mut j = 0;
                while j < 4 {
                    let slot = i + j as u32;
                    let is_there = slot < staged && !excluded[j];
                    self.offer(sought, room, places[j], first + slot, is_there);
                    j += 1;
                }
                i += 4;
                if warp::any(warp::FULL, self.held + 4 > BATCH as u32) {
                    self.settle(room);
                }
            }
            if warp::any(warp::FULL, self.held > 0) {
                self.settle(room);
            }
            warp::sync_warp(warp::FULL);
        }
    }

    /// Lets a point wait if it is near enough.
    ///
    /// # Safety
    /// As for [`see`](Self::see); a point that is there was staged.
    #[inline(always)]
    unsafe fn offer(
        &mut self,
        sought: &Sought,
        room: Room,
        [dx, dy]: [f32; 2],
        number: u32,
        is_there: bool,
    ) {
        let square = math::mul_add_f32(dy, dy, math::mul_add_f32(dx, dx, -self.base));
        let key = f32::max(square, 0.0).to_bits() & !self.numbers | number;
        let mut is_kept = is_there && key < self.below;
        // SAFETY: the lane's own slots; the rest is passed on to the caller.
        unsafe {
            if sought.quadrant != ALL_QUADRANTS && is_kept {
                let mut quadrant = (dx >= 0.0) as u32 | ((dy >= 0.0) as u32) << 1;
                // Differences beyond these have the sign of those in f64.
                let least = |along: f32| 1e-6 * f32::abs(along) + 1e-20;
                let Frame { x, y, .. } = *sought.frame;
                if f32::abs(dx) <= least(x) || f32::abs(dy) <= least(y) {
                    let position = room.stage.positions.load(number);
                    quadrant = quadrant_of(sought.index, sought.query, position);
                }
                is_kept = quadrant == sought.quadrant;
            }
            if is_kept {
                room.waiting.store(self.held * warp::SIZE + warp::lane_id(), key);
                self.held += 1;
            }
        }
    }

    /// Puts what waits among the keys.
    ///
    /// # Safety
    /// As for [`see`](Self::see).
    #[inline(always)]
    unsafe fn settle(&mut self, room: Room) {
        let mut batch = [u32::MAX; BATCH];
        let mut i = 0;
        while i < BATCH {
            if (i as u32) < self.held {
                // SAFETY: the lane's own slots.
                batch[i] = unsafe { room.waiting.load(i as u32 * warp::SIZE + warp::lane_id()) };
            }
            i += 1;
        }
        self.keys.merge(batch);
        (self.below, self.held) = (u32::min(self.below, self.keys.last()), 0);
    }

    /// How near to the lane's query, on the ground, a point of the cells may be that was not chosen.
    #[inline(always)]
    pub fn least_distance(&self, sought: &Sought) -> f64 {
        let bound = self.keys.bound::<L>(self.numbers);
        if bound >= ENDLESS {
            return f64::INFINITY;
        }
        sought.frame.least_distance(self.base + f32::from_bits(bound), &sought.index.cells)
    }
}
