//! The nearest points of the parts that were found, for each of 32 queries.
//!
//! Points come into shared memory some at a time. A lane lets those in its circle wait in shared memory; once one lane has
//! no room left all lanes put theirs among their least [`Keys`], and the circles shrink.
//!
//! From far away all neighbours are nearly as far as each other, so that f32 would not tell them apart. A point p is
//! therefore seen from another of them, o, in f32: |p - o| is small where |p - q| is not. Of the query q is known in f64 how
//! far it is from o, and how far the nearest part is, b, and
//!
//! |p - q|^2 - b^2 = (p - o) (p - o - 2 (q - o)) + (|q - o|^2 - b^2)
//!
//! is off by a millionth of |p - o| |q - o| or so. Its bits, but for those of the point's number, are the key.

use device_std::shared::SharedArray;
use device_std::vector::Vector;
use device_std::{math, vector, warp};

use super::descent::{Crowded, Found, Parts};
use super::ground::{Frame, Outline};
use super::quarters::quadrant_of;
use super::ranks::Ranks;
use super::search::{ALL_QUADRANTS, Index, Query};
use crate::spatial::cells::Cells;
use crate::spatial::keys::{BATCH, ENDLESS, Keys};

/// Points in shared memory at a time.
const STAGED: u32 = 128;

/// The most points that are looked at: their numbers take 12 bits of a key.
const MOST_POINTS: u32 = 1 << 12;

/// Places farther from the others, in cells, have no part here: the squares of f32 end.
const FAR: f32 = 1e18;

/// The shared memory of a warp that chooses.
#[derive(Clone, Copy)]
pub struct Room {
    /// Coordinates of [`STAGED`] points, two in a vector.
    places: SharedArray<Vector>,
    /// Keys of the lanes that wait.
    waiting: SharedArray<u32>,
}

impl Room {
    /// Vectors of the coordinates.
    const OF_PLACES: u32 = STAGED / 2;
    /// Vectors of all.
    pub const VECTORS: u32 = Self::OF_PLACES + BATCH as u32 * warp::SIZE / 4;

    /// In some memory.
    #[inline(always)]
    pub fn new(memory: SharedArray<Vector>) -> Self {
        Self { places: memory, waiting: memory.skip(Self::OF_PLACES).as_elements() }
    }
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

/// How the lane's query is seen from the points, in cells.
#[derive(Clone, Copy)]
struct View {
    /// One of the points.
    origin: [f64; 2],
    per_unit: f64,
    /// The query.
    x: f32,
    y: f32,
    /// The square of how near the points are at least, and what the square of the query's distance from the origin has
    /// over it.
    base: f64,
    rest: f32,
}

impl View {
    /// Where there is nothing to see.
    const NONE: Self =
        Self { origin: [0.0; 2], per_unit: 0.0, x: 0.0, y: 0.0, base: 0.0, rest: 0.0 };

    /// That of the points found, from the first of them.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn of(sought: &Sought, found: &Found) -> Self {
        let &Sought { index, query, is_wanted, .. } = sought;
        let cells = &index.cells;
        // SAFETY: passed on to the caller.
        let origin = unsafe {
            let at = found.parts.position(0) as usize;
            [*index.places.add(at), *index.places.add(at + index.points as usize)]
        };
        let mut view =
            Self { origin, per_unit: cells.per_unit, x: 0.0, y: 0.0, base: 0.0, rest: 0.0 };
        if is_wanted {
            let [x, y] = [query.x - origin[0], query.y - origin[1]].map(|d| d * cells.per_unit);
            let nearest = f32::max(found.nearest, 0.0) as f64;
            (view.x, view.y) = (x as f32, y as f32);
            view.base = nearest * nearest;
            view.rest = (x * x + y * y - view.base) as f32;
        }
        view
    }

    /// A place as it is seen from the origin.
    #[inline(always)]
    fn place(&self, x: f64, y: f64) -> [f32; 2] {
        [x - self.origin[0], y - self.origin[1]].map(|along| (along * self.per_unit) as f32)
    }

    /// The square of the distance of a place from the query, less the base.
    #[inline(always)]
    fn square(&self, [x, y]: [f32; 2]) -> f32 {
        let of_y = math::mul_add_f32(y, math::mul_add_f32(-2.0, self.y, y), self.rest);
        math::mul_add_f32(x, math::mul_add_f32(-2.0, self.x, x), of_y)
    }

    /// By how much that may be wrong for places up to `width` from the origin.
    #[inline(always)]
    fn rounding(&self, width: f32) -> f32 {
        let away = f32::abs(self.x) + f32::abs(self.y);
        1e-6 * (width * (width + 2.0 * away) + f32::abs(self.rest)) + 1e-30
    }
}

/// The points that a lane has chosen.
pub struct Chosen<const L: usize> {
    keys: Keys<L>,
    /// The bits of a key that are a point's number.
    numbers: u32,
    view: View,
    /// How far the points are from the view's origin at most, along an axis.
    width: f32,
    /// Keys that are not below this are not kept.
    below: u32,
    /// How many wait.
    held: u32,
}

impl<const L: usize> Chosen<L> {
    /// The `L` least keys of the points found.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the points are of the index, and nobody else touches the room.
    #[inline(always)]
    pub unsafe fn of(sought: &Sought, found: &Found, room: Room) -> Result<Self, Crowded> {
        let (index, parts) = (sought.index, found.parts);
        if parts.points > MOST_POINTS {
            return Err(Crowded { is_wide: true });
        }
        // SAFETY: passed on to the caller; barriers stand between writes and reads of others.
        unsafe {
            let mut chosen = Self {
                keys: Keys::NONE,
                numbers: u32::MAX.checked_shr((parts.points | 1).leading_zeros()).unwrap_or(0),
                view: if parts.points > 0 { View::of(sought, found) } else { View::NONE },
                width: 0.0,
                below: 0,
                held: 0,
            };
            if sought.is_wanted {
                chosen.below = chosen.first_below(sought, found);
            }
            let mut first = 0;
            while first < parts.points {
                chosen.bring(index, parts, room, first);
                warp::sync_warp(warp::FULL);
                chosen.see(sought, parts, room, first);
                warp::sync_warp(warp::FULL);
                first += STAGED;
            }
            chosen.width = warp::reduce(chosen.width, f32::max);
            if chosen.width < FAR { Ok(chosen) } else { Err(Crowded { is_wide: true }) }
        }
    }

    /// What the keys of points that count, and are not beyond what was covered, are below.
    #[inline(always)]
    fn first_below(&self, sought: &Sought, found: &Found) -> u32 {
        let cells = &sought.index.cells;
        let covered = f64::max(found.covered as f64, 0.0);
        let most = f64::min(covered, sought.reach * cells.per_unit * (1.0 + 1e-6));
        // All of the ground's places are nearer than that, or farther from the query.
        let square = (most * most - self.view.base) as f32;
        let width = most as f32 + f32::abs(self.view.x) + f32::abs(self.view.y);
        let most = square * (1.0 + 1e-6) + self.view.rounding(width);
        if most.is_nan() {
            return ENDLESS;
        }
        // No number makes a key greater than that.
        u32::min(f32::max(most, 0.0).to_bits() | self.numbers, ENDLESS - 1) + 1
    }

    /// Brings points into shared memory, from number `first` on.
    ///
    /// # Safety
    /// As for [`of`](Self::of).
    #[inline(always)]
    unsafe fn bring(&mut self, index: &Index, parts: Parts, room: Room, first: u32) {
        let n = index.points as usize;
        // Four at a time are looked at.
        let end = u32::min(STAGED, (parts.points - first).next_multiple_of(4));
        let mut slot = warp::lane_id();
        // SAFETY: numbers are below that of the points; slots beyond the last get what no one keeps.
        unsafe {
            while slot < vector::unknown(end) {
                let mut place = [0.0; 2];
                if first + slot < parts.points {
                    let at = parts.position(first + slot) as usize;
                    place = self.view.place(*index.places.add(at), *index.places.add(at + n));
                    let [x, y] = place.map(f32::abs);
                    self.width = f32::max(self.width, f32::max(x, y));
                }
                let [x, y] = place.map(|along| along.to_bits() as u64);
                room.places.as_elements::<u64>().store(slot, x | y << 32);
                slot += warp::SIZE;
            }
        }
    }

    /// Goes through the points in shared memory, the first of which has number `first`. Afterwards nothing waits.
    ///
    /// # Safety
    /// As for [`of`](Self::of).
    #[inline(always)]
    unsafe fn see(&mut self, sought: &Sought, parts: Parts, room: Room, first: u32) {
        let staged = u32::min(parts.points - first, STAGED);
        let of = |x: u32, y: u32| [f32::from_bits(x), f32::from_bits(y)];
        // SAFETY: passed on to the caller.
        unsafe {
            let mut i = 0;
            while i < vector::unknown(staged) {
                let [ax, ay, bx, by] = room.places.load(i / 2);
                let [cx, cy, dx, dy] = room.places.load(i / 2 + 1);
                let places = [of(ax, ay), of(bx, by), of(cx, cy), of(dx, dy)];
                let View { x, y, .. } = self.view;
                let excluded = sought.outline.excluded(places.map(|p| [p[0] - x, p[1] - y]));
                let mut j = 0;
                while j < 4 {
                    let slot = i + j as u32;
                    let is_there = slot < staged && !excluded[j];
                    self.offer(sought, parts, room, places[j], first + slot, is_there);
                    j += 1;
                }
                i += 4;
                let most = if i >= staged { 0 } else { BATCH as u32 - 4 };
                if warp::any(warp::FULL, self.held > most) {
                    self.settle(room);
                }
            }
        }
    }

    /// Lets a point wait if it is near enough.
    ///
    /// # Safety
    /// As for [`see`](Self::see); there is room for a key.
    #[inline(always)]
    unsafe fn offer(
        &mut self,
        sought: &Sought,
        parts: Parts,
        room: Room,
        place: [f32; 2],
        number: u32,
        is_there: bool,
    ) {
        let square = f32::max(self.view.square(place), 0.0);
        let key = square.to_bits() & !self.numbers | number;
        let mut is_kept = is_there && key < self.below;
        // SAFETY: the lane's own slots; the rest is passed on to the caller.
        unsafe {
            if sought.quadrant != ALL_QUADRANTS && is_kept {
                let ([x, y], view) = (place, &self.view);
                let (dx, dy) = (x - view.x, y - view.y);
                let mut quadrant = (dx >= 0.0) as u32 | ((dy >= 0.0) as u32) << 1;
                // Differences beyond these have the sign of those in f64.
                let least = |place: f32, own: f32| 1e-6 * (f32::abs(place) + f32::abs(own)) + 1e-20;
                if f32::abs(dx) <= least(x, view.x) || f32::abs(dy) <= least(y, view.y) {
                    quadrant = quadrant_of(sought.index, sought.query, parts.position(number));
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

    /// Writes where the points chosen are, but for the last, into slots from `from` on. Returns how many.
    ///
    /// # Safety
    /// The parts are still in memory; there are `L - 1` such slots.
    #[inline(always)]
    pub unsafe fn write(&self, found: &Found, ranks: Ranks, from: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe {
            // Numbers first: what finds a position would be there once for each of the registers.
            let kept = self.keys.write_by(|number| number, self.numbers, ranks, from);
            let mut i = from;
            while i < vector::unknown(from + kept) {
                ranks.store(i, found.parts.position(ranks.load(i)));
                i += 1;
            }
            kept
        }
    }

    /// Whether rounding is much, beside a square of a distance of the lane's query on the ground.
    #[inline(always)]
    pub fn is_coarse(&self, cells: &Cells, squared: f64) -> bool {
        let square = squared * cells.per_unit * cells.per_unit;
        self.view.rounding(self.width) as f64 > 1e-3 * (square - self.view.base)
    }

    /// How near to the lane's query, on the ground, a point of the parts may be that was not chosen.
    #[inline(always)]
    pub fn least_distance(&self, cells: &Cells) -> f64 {
        let bound = self.keys.bound::<L>(self.numbers);
        if bound >= ENDLESS {
            return f64::INFINITY;
        }
        let square = f32::from_bits(bound) as f64 - self.view.rounding(self.width) as f64;
        math::sqrt(f64::max(self.view.base + square, 0.0)) * (1.0 - 1e-9) * cells.side
    }
}
