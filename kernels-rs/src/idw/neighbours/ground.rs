//! The ground around 32 queries that lie side by side: the cells that hold their neighbours, and the points of
//! these in shared memory, in f32 relative to one of the queries.

use device_std::shared::SharedArray;
use device_std::vector::{self, Vector};
use device_std::{math, warp};

use super::ranks::Ranks;
use super::search::{Index, Query, Search};
use crate::spatial::cells::{Block, Cells};
use crate::spatial::keys::{ENDLESS, Keys};

/// Points in shared memory at a time.
pub const STAGED: u32 = 256;

/// The most points that a warp looks at.
pub const MOST_POINTS: u32 = 1024;

/// Places farther from the queries, in cells, have no part here: the squares of f32 end.
const FAR: f32 = 1e18;

/// Where the warp measures from: one of its queries. Lengths are in cells.
#[derive(Clone, Copy)]
pub struct Frame {
    pub origin: [f64; 2],
    per_unit: f64,
    /// This lane's query.
    pub x: f32,
    pub y: f32,
    /// The box of the queries.
    pub low: [f32; 2],
    pub high: [f32; 2],
}

impl Frame {
    /// `None` where the queries lie too far from each other.
    ///
    /// # Safety
    /// The whole warp comes to the same call; some lane of `placed` has a place.
    #[inline(always)]
    pub unsafe fn new(cells: &Cells, query: &Query, is_place: bool, placed: u32) -> Option<Self> {
        // SAFETY: passed on to the caller.
        unsafe {
            let leader = placed.trailing_zeros();
            let origin = [query.x, query.y].map(|along| warp::shuffle(warp::FULL, along, leader));
            let mut frame = Self {
                origin,
                per_unit: cells.per_unit,
                x: 0.0,
                y: 0.0,
                low: [0.0; 2],
                high: [0.0; 2],
            };
            let [x, y] = frame.place(query.x, query.y);
            // The lanes without one stand at the origin.
            (frame.x, frame.y) = if is_place { (x, y) } else { (0.0, 0.0) };
            if !warp::all(warp::FULL, is_near([frame.x, frame.y])) {
                return None;
            }
            let along = [frame.x, frame.y];
            frame.low = along.map(|along| warp::reduce(along, f32::min));
            frame.high = along.map(|along| warp::reduce(along, f32::max));
            Some(frame)
        }
    }

    /// By how much f32 may be wrong about the distance of a point from the lane's query, beside two millionths of it:
    /// it rounds the coordinates of both, their differences and the square, each by less than a ten-millionth.
    #[inline(always)]
    pub fn rounding(&self) -> f32 {
        1e-6 * (f32::abs(self.x) + f32::abs(self.y)) + 1e-20
    }

    /// How near to the lane's query, on the ground, a point may be whose f32 square, in cells, is not below this.
    #[inline(always)]
    pub fn least_distance(&self, squared: f32, cells: &Cells) -> f64 {
        (math::sqrt_f32(squared) * (1.0 - 2e-6) - self.rounding()) as f64 * cells.side
    }

    /// What f32 squares of points up to a distance from the lane's query do not exceed.
    #[inline(always)]
    pub fn most_squared(&self, distance: f64) -> f32 {
        let most = f64::max(distance * self.per_unit, 0.0) as f32 * (1.0 + 4e-6) + self.rounding();
        most * most * (1.0 + 4e-6)
    }

    /// A place as it is seen from the origin.
    #[inline(always)]
    pub fn place(&self, x: f64, y: f64) -> [f32; 2] {
        [
            ((x - self.origin[0]) * self.per_unit) as f32,
            ((y - self.origin[1]) * self.per_unit) as f32,
        ]
    }
}

/// Whether squares of distances from a place are numbers.
#[inline(always)]
fn is_near([x, y]: [f32; 2]) -> bool {
    f32::abs(x) < FAR && f32::abs(y) < FAR
}

/// The cells around a warp's queries: a row of them for each lane.
pub struct Ground {
    pub block: Block,
    /// Where the lane's row begins in the sorted order, less the points of the rows before it.
    offset: u32,
    /// The points of the rows up to this lane's.
    up_to: u32,
    /// The points of all rows.
    pub points: u32,
}

impl Ground {
    /// The cells that hold the `wanted` nearest of nearly all the queries, or of each of their quadrants, as far as the
    /// density of points tells; `None` where they are too many.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the index is as for
    /// [`interpolate`](mod@super::interpolate).
    #[inline(always)]
    pub unsafe fn around(
        index: &Index,
        search: &Search,
        frame: &Frame,
        wanted: u32,
        quadrants: u32,
    ) -> Option<Self> {
        // Of points at random a circle that holds so many on average holds fewer than those wanted once in a
        // thousand times.
        let wanted = wanted as f32;
        let aim = (wanted + 3.0 * math::sqrt_f32(wanted) + 2.0) * quadrants as f32;
        let mut half = 2.0;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut ground = Self::within(index, search, frame, half)?;
            let mut widened = 0;
            while (ground.points as f32) < aim && !index.cells.is_whole(ground.block) && widened < 5
            {
                half *= 2.0;
                ground = Self::within(index, search, frame, half)?;
                widened += 1;
            }
            let Block { columns, rows } = ground.block;
            let cells = (columns[1] - columns[0] + 1) as f32 * (rows[1] - rows[0] + 1) as f32;
            let share = aim * cells / (core::f32::consts::PI * f32::max(ground.points as f32, 1.0));
            let half = f32::min(math::sqrt_f32(share), 2.0 * half);
            // Of a circle that is wider than the ellipse that part counts which holds an ellipse as wide as the circle
            // and as high as that.
            let least = least_half_axis(search, &index.cells);
            let half = if half > least { half * half / least } else { half };
            let ground = Self::within(index, search, frame, half)?;
            if ground.points <= MOST_POINTS { Some(ground) } else { None }
        }
    }

    /// The cells within `half` cells of the queries, and within the search's reach; `None` where they have
    /// more rows than there are lanes.
    ///
    /// # Safety
    /// As for [`around`](Self::around).
    #[inline(always)]
    unsafe fn within(index: &Index, search: &Search, frame: &Frame, half: f32) -> Option<Self> {
        let cells = &index.cells;
        let half = search.extent.map(|most| f64::min(half as f64, most * cells.per_unit + 0.01));
        let [west, south] =
            [0, 1].map(|a| frame.origin[a] + (frame.low[a] as f64 - half[a]) * cells.side);
        let [east, north] =
            [0, 1].map(|a| frame.origin[a] + (frame.high[a] as f64 + half[a]) * cells.side);
        let columns = [cells.column(west), cells.column(east)];
        let rows = [cells.row(south), cells.row(north)];
        if rows[1] - rows[0] >= warp::SIZE {
            return None;
        }
        let (lane, mut start, mut points) = (warp::lane_id(), 0, 0);
        // SAFETY: rows and columns of a block are in the index, whose `starts` have one more than the cells.
        unsafe {
            if rows[0] + lane <= rows[1] {
                let row = (rows[0] + lane) as usize * cells.columns as usize;
                start = *index.starts.add(row + columns[0] as usize);
                points = *index.starts.add(row + columns[1] as usize + 1) - start;
            }
            let up_to = warp::inclusive_scan(points, |a, b| a + b);
            let all = warp::shuffle(warp::FULL, up_to, warp::SIZE - 1);
            let offset = start.wrapping_sub(up_to - points);
            Some(Self { block: Block { columns, rows }, offset, up_to, points: all })
        }
    }

    /// Where point `number` is in the sorted order.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn position(&self, number: u32) -> u32 {
        // How many rows end before it.
        let mut row = 0;
        let mut step = warp::SIZE / 2;
        // SAFETY: passed on to the caller.
        unsafe {
            while step > 0 {
                let up_to = warp::shuffle(warp::FULL, self.up_to, row + step - 1);
                row += if up_to <= number { step } else { 0 };
                step /= 2;
            }
            warp::shuffle(warp::FULL, self.offset, row).wrapping_add(number)
        }
    }

    /// As many of the lowest bits as the numbers of the points have.
    #[inline(always)]
    pub fn numbers(&self) -> u32 {
        u32::MAX.checked_shr((self.points | 1).leading_zeros()).unwrap_or(0)
    }

    /// How near to a query a point that counts may lie and not be in the cells; infinite where none can.
    #[inline(always)]
    pub fn reach(&self, cells: &Cells, search: &Search, query: &Query) -> f64 {
        let place = [query.x, query.y];
        let [x, y] = cells.within(self.block, place);
        let [along_x, along_y] = search.extent;
        if x[0] < -along_x && x[1] > along_x && y[0] < -along_y && y[1] > along_y {
            return f64::INFINITY;
        }
        cells.reach(self.block, place)
    }

    /// The same of the points of a quadrant.
    #[inline(always)]
    pub fn reach_of(&self, cells: &Cells, search: &Search, query: &Query, quadrant: u32) -> f64 {
        let [x, y] = cells.within(self.block, [query.x, query.y]);
        let across = if quadrant & 1 != 0 { x[1] } else { -x[0] };
        let along = if quadrant & 2 != 0 { y[1] } else { -y[0] };
        let [most_across, most_along] = search.extent;
        if across > most_across && along > most_along {
            return f64::INFINITY;
        }
        f64::min(across, along)
    }
}

/// The lesser half-axis of the search's ellipse, in cells; infinite where there is none.
#[inline(always)]
pub fn least_half_axis(search: &Search, cells: &Cells) -> f32 {
    let [xx, xy, yy] = search.ellipse;
    if xx <= 0.0 {
        return f32::INFINITY;
    }
    let (half, across) = (0.5 * (xx - yy), 0.5 * xy);
    let greatest = 0.5 * (xx + yy) + math::sqrt(half * half + across * across);
    (cells.per_unit / math::sqrt(greatest)) as f32
}

/// The search's ellipse around the queries, in f32 and in cells.
#[derive(Clone, Copy)]
pub struct Outline {
    /// Whether there is one.
    is_there: bool,
    /// In shared memory, since few searches have it: the form, and what the form of a place inside does not exceed,
    /// however f32 rounds.
    numbers: SharedArray<Vector>,
}

impl Outline {
    /// Of a search around the frame's queries, in a vector of shared memory.
    ///
    /// # Safety
    /// The whole warp comes to the same call; there is such a vector, and nobody reads or writes it.
    #[inline(always)]
    pub unsafe fn new(
        search: &Search,
        frame: &Frame,
        cells: &Cells,
        numbers: SharedArray<Vector>,
    ) -> Self {
        let outline = Self { is_there: search.ellipse[0] > 0.0, numbers };
        if !outline.is_there {
            return outline;
        }
        let side = cells.side;
        let [xx, xy, yy] = search.ellipse.map(|of| (of * side * side) as f32);
        let [x, y] = search.extent.map(|half| (half * cells.per_unit) as f32);
        // Inside, no term exceeds its share of the first, and no slope the second.
        let terms = xx * x * x + f32::abs(xy) * x * y + yy * y * y;
        let slope = (2.0 * xx + f32::abs(xy)) * x + (2.0 * yy + f32::abs(xy)) * y;
        let most = |a: usize| f32::max(f32::abs(frame.low[a]), f32::abs(frame.high[a]));
        let moved = 1e-6 * (most(0) + most(1) + x + y) + 1e-20;
        let most = 1.0 + 1e-5 * (1.0 + terms) + slope * moved;
        // SAFETY: passed on to the caller.
        unsafe {
            if warp::lane_id() == 0 {
                numbers.store(0, [xx, xy, yy, most].map(f32::to_bits));
            }
            warp::sync_warp(warp::FULL);
        }
        outline
    }

    /// Which of four places, seen from the query, are surely not inside. Where f32 has no numbers for the ellipse none
    /// is.
    ///
    /// # Safety
    /// The vector is as it was.
    #[inline(always)]
    pub unsafe fn excluded(&self, places: [[f32; 2]; 4]) -> [bool; 4] {
        if !self.is_there {
            return [false; 4];
        }
        // SAFETY: passed on to the caller.
        let [xx, xy, yy, most] = unsafe { self.numbers.load(0) }.map(f32::from_bits);
        places.map(|[dx, dy]| (xx * dx + xy * dy) * dx + yy * dy * dy > most)
    }
}

/// What a lane makes of the points that it is shown. A trait, since a closure need not become a part of its caller.
pub trait Viewer {
    /// Sees four points: how they lie from the lane's query, and the number of the first.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    unsafe fn see(&mut self, places: [[f32; 2]; 4], number: u32);
}

/// The points of the ground in shared memory.
#[derive(Clone, Copy)]
pub struct Stage {
    /// Coordinates of [`STAGED`] points, two points each: bits of x, then those of y.
    pub places: SharedArray<Vector>,
    /// Where each of [`MOST_POINTS`] points is in the sorted order.
    pub positions: SharedArray<u32>,
}

impl Stage {
    /// Vectors of the coordinates.
    pub const OF_PLACES: u32 = STAGED / 2;
    /// Vectors of the positions.
    pub const OF_POSITIONS: u32 = MOST_POINTS / 4;

    /// Shows every lane all points of the ground; beyond the last lie points at infinity. Tells whether none lies too
    /// far away.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the ground is the warp's.
    #[inline(always)]
    pub unsafe fn show(
        self,
        index: &Index,
        frame: &Frame,
        ground: &Ground,
        viewer: &mut impl Viewer,
    ) -> bool {
        let from = |x: u32, y: u32| [f32::from_bits(x) - frame.x, f32::from_bits(y) - frame.y];
        let (mut first, mut are_near) = (0, true);
        // SAFETY: the warp stays together; barriers stand between writes and reads of others.
        unsafe {
            while first < ground.points {
                let of_these = self.bring(index, frame, ground, first);
                are_near = are_near && of_these;
                warp::sync_warp(warp::FULL);
                let staged = u32::min(ground.points - first, STAGED);
                let mut i = 0;
                while i < vector::unknown(staged) {
                    let [ax, ay, bx, by] = self.places.load(i / 2);
                    let [cx, cy, dx, dy] = self.places.load(i / 2 + 1);
                    let places = [from(ax, ay), from(bx, by), from(cx, cy), from(dx, dy)];
                    viewer.see(places, first + i);
                    i += 4;
                }
                warp::sync_warp(warp::FULL);
                first += STAGED;
            }
            warp::all(warp::FULL, are_near)
        }
    }

    /// Brings points into shared memory, from number `first` on, and at least three at infinity after the last
    /// of all. Tells whether those of this lane are near.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the ground is the warp's.
    #[inline(always)]
    unsafe fn bring(self, index: &Index, frame: &Frame, ground: &Ground, first: u32) -> bool {
        let words = self.places.as_elements::<u64>();
        let n = index.points as usize;
        let mut are_near = true;
        let mut slot = warp::lane_id();
        let end = u32::min(STAGED, (ground.points - first).next_multiple_of(4));
        // SAFETY: positions are of points; slots are below the room's.
        unsafe {
            let mut begin = 0;
            while begin < vector::unknown(end) {
                let number = first + slot;
                let position = ground.position(number);
                let mut place = [f32::INFINITY; 2];
                if number < ground.points {
                    let i = position as usize;
                    place = frame.place(*index.places.add(i), *index.places.add(i + n));
                    are_near = are_near && is_near(place);
                    self.positions.store(number, position);
                }
                if slot < end {
                    let [x, y] = place.map(|along| along.to_bits() as u64);
                    words.store(slot, x | y << 32);
                }
                slot += warp::SIZE;
                begin += warp::SIZE;
            }
        }
        are_near
    }
}

impl<const L: usize> Keys<L> {
    /// Writes where the points of the keys are, but for the last key, into slots from `from` on. Returns how many.
    ///
    /// # Safety
    /// The keys are of points that were shown from this stage; there are `L - 1` such slots.
    #[inline(always)]
    pub unsafe fn write(&self, stage: Stage, numbers: u32, ranks: Ranks, from: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe { self.write_by(|number| stage.positions.load(number), numbers, ranks, from) }
    }

    /// The same, where `position` tells where a point is by its number.
    ///
    /// # Safety
    /// There are `L - 1` such slots, in memory that `position` does not read.
    #[inline(always)]
    pub unsafe fn write_by(
        &self,
        position: impl Fn(u32) -> u32 + Copy,
        numbers: u32,
        ranks: Ranks,
        from: u32,
    ) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe {
            // By parts, as keys are merged.
            self.write_from::<0>(position, numbers, ranks, from)
                + self.write_from::<16>(position, numbers, ranks, from)
                + self.write_from::<32>(position, numbers, ranks, from)
                + self.write_from::<48>(position, numbers, ranks, from)
                + self.write_from::<64>(position, numbers, ranks, from)
        }
    }

    /// The same for 16 keys.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn write_from<const FROM: usize>(
        &self,
        position: impl Fn(u32) -> u32,
        numbers: u32,
        ranks: Ranks,
        from: u32,
    ) -> u32 {
        let (mut written, mut i) = (0, FROM);
        while i < L - 1 && i < FROM + 16 {
            let key = self.get(i);
            if key < ENDLESS {
                // SAFETY: passed on to the caller.
                unsafe { ranks.store(from + i as u32, position(key & numbers)) };
                written += 1;
            }
            i += 1;
        }
        written
    }

    /// What no key that was offered and is not among the first `K - 1` is below, but for the numbers; [`ENDLESS`] where
    /// there is no such key.
    #[inline(always)]
    pub fn bound<const K: usize>(&self, numbers: u32) -> u32 {
        let key = self.get(K - 1);
        if key >= ENDLESS { ENDLESS } else { key & !numbers }
    }
}

/// The key of a point: the f32 square of its distance, whose lowest bits are its number.
#[inline(always)]
pub fn key([dx, dy]: [f32; 2], numbers: u32, number: u32) -> u32 {
    math::mul_add_f32(dy, dy, dx * dx).to_bits() & !numbers | number
}
