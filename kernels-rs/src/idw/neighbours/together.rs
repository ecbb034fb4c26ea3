//! Neighbours of 32 queries that lie side by side, which nearly the same points are near to: a warp looks for
//! them together.
//!
//! 1. A block of cells around the queries is widened until it holds points enough to tell how densely they
//!    lie, and then becomes one that surely holds the neighbours of nearly all the queries: [`Ground`].
//! 2. The lanes bring its points into shared memory, in f32 relative to one of the queries: [`Room`].
//! 3. Every lane goes through them, and keeps the least [`Keys`] of its own query: the f32 square of the
//!    distance, whose lowest bits are the point's number. An insertion is two instructions an entry.
//! 4. Of the points kept, but for the last, the f64 distances decide, as everywhere. The answer is certain if
//!    the last neighbour lies nearer than the block's edges, and nearer than the last key says that points
//!    which were not kept may be.
//! 5. Where it is not certain (points as far as each other, a query in a gap, far more points than elsewhere)
//!    the query is left to [`interpolate`](mod@super::interpolate).

use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{kernel, math, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::Wanted;
use super::lists::Lists;
use super::patches::Patches;
use super::results::Results;
use super::search::{Index, Query, Search};
use crate::idw::plan::Plan;
use crate::idw::targets::Targets;
use crate::spatial::cells::{Block, Cells};
use crate::spatial::keys::{ENDLESS, Keys};

/// Threads of a block: with lists of 24 it has 19 KiB of shared memory.
pub const TEAM: u32 = 64;

/// Points in shared memory at a time.
const STAGED: u32 = 256;

/// The most points that a warp looks at.
const MOST_POINTS: u32 = 1024;

/// Places farther from the queries, in cells, have no part here: the squares of f32 end.
const FAR: f32 = 1e18;

/// Interpolates as [`interpolate`](mod@super::interpolate) does, for queries by patches; the bits of word `w` of
/// `left` tell which lanes of warp `w` have a query that was left out. In the plane, without quadrants and
/// ellipse. Grid: a warp for each of the patches.
///
/// # Safety
/// As for `interpolate`. Where `x` is not null `target_order` has `count` elements, each below the count. `left`
/// has a word for each warp of the launch.
#[kernel(block = TEAM, shared = <S as Team>::SHARED, instances(
    f32_8: <f32, Least<10>>;
    f32_12: <f32, Least<14>>;
    f32_16: <f32, Least<18>>;
    f32_24: <f32, Least<26>>;
    f64_8: <f64, Least<10>>;
    f64_12: <f64, Least<14>>;
    f64_16: <f64, Least<18>>;
    f64_24: <f64, Least<26>>;
))]
pub unsafe fn interpolate_together<T: Real, S: Team>(
    plan: *const Plan,
    starts: *const u32,
    order: *const u32,
    places: *const f64,
    point_values: *const f64,
    ranges: *const f64,
    points: u32,
    x: *const f64,
    y: *const f64,
    target_order: *const u32,
    count: u64,
    width: u32,
    grid: [f64; 3],
    law: u32,
    smoothing: f64,
    exponent: f64,
    exponents: *const f64,
    reach: f64,
    leaves_out: u32,
    max_points: u32,
    min_points: u32,
    falls_back: u32,
    value_count: u32,
    values: *mut T,
    statistics: *mut T,
    left: *mut u32,
) {
    let targets = Targets { x, y, count, width, height: 0, grid };
    let results = Results { values, value_count, statistics, count };
    // SAFETY: passed on to the caller; the warp stays together until its searches are done.
    unsafe {
        let index = Index::new(plan, (starts, order), (places, point_values, ranges), points);
        let given = Patches { targets, order: target_order }.query();
        let query = given.unwrap_or(Query::NOWHERE);
        let is_place = query.is_place();
        let mut search = Search::within(reach);
        (search.law, search.smoothing, search.leaves_out) = (law, smoothing, leaves_out != 0);
        let wanted = Wanted {
            max_points,
            min_points,
            max_per_quadrant: u32::MAX,
            min_per_quadrant: 0,
            falls_back: falls_back != 0,
        };
        let found = S::find(&index, &search, &query, is_place, wanted);
        let is_left = warp::ballot(warp::FULL, is_place && found.is_none());
        if warp::lane_id() == 0 {
            *left.add((thread::index_1d() / warp::SIZE as u64) as usize) = is_left;
        }
        if let Some(found) = found {
            search.exponent =
                if exponents.is_null() { exponent } else { *exponents.add(query.index as usize) };
            S::lists().interpolate(&index, &search, &query, found, min_points, &results);
        } else if !is_place && given.is_some() {
            results.put_nothing(query.index);
        }
    }
}

/// How a warp searches.
pub trait Team {
    /// Bytes of shared memory of a block.
    const SHARED: u32;

    /// Leaves the neighbours of a query in the lane's list; returns how many, or `None` where they are not
    /// known for certain.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the index is as [`interpolate`](mod@super::interpolate) says.
    unsafe fn find(
        index: &Index,
        search: &Search,
        query: &Query,
        is_place: bool,
        wanted: Wanted,
    ) -> Option<u32>;

    /// The lists of the warp's lanes.
    fn lists() -> Lists;
}

/// With the `L` least keys of each lane: for up to `L - 2` neighbours.
pub struct Least<const L: usize>;

impl<const L: usize> Team for Least<L> {
    const SHARED: u32 = Room::<L>::BYTES;

    #[inline(always)]
    unsafe fn find(
        index: &Index,
        search: &Search,
        query: &Query,
        is_place: bool,
        wanted: Wanted,
    ) -> Option<u32> {
        // SAFETY: passed on to the caller.
        unsafe { find(index, search, query, is_place, wanted, Room::<L>::of_warp()) }
    }

    #[inline(always)]
    fn lists() -> Lists {
        Room::<L>::of_warp().lists()
    }
}

/// The shared memory of a warp: points, and once they are searched the lists of its lanes.
#[derive(Clone, Copy)]
struct Room<const L: usize>(SharedArray<Vector>);

impl<const L: usize> Room<L> {
    /// Vectors of the points' coordinates, two points each.
    const OF_PLACES: u32 = STAGED / 2;
    /// Vectors of the squared distances of the lists.
    const OF_SQUARES: u32 = (L as u32 - 1) * warp::SIZE / 2;
    /// Vectors of a warp.
    const OF_WARP: u32 = {
        let points = Self::OF_PLACES + MOST_POINTS / 4;
        let lists = Self::OF_SQUARES + (L as u32 - 1) * warp::SIZE / 4;
        if points > lists { points } else { lists }
    };

    /// Bytes of a block.
    const BYTES: u32 = {
        let mut carver = Carver::new();
        let _ = carver.array::<Vector>(TEAM / warp::SIZE * Self::OF_WARP);
        carver.bytes()
    };

    #[inline(always)]
    fn of_warp() -> Self {
        let all = Carver::new().array::<Vector>(TEAM / warp::SIZE * Self::OF_WARP);
        Self(all.skip(warp::warp_id() * Self::OF_WARP))
    }

    /// Coordinates of the points staged: bits of x, and above them those of y.
    #[inline(always)]
    fn places(self) -> SharedArray<u64> {
        self.0.as_elements()
    }

    /// Where each point is in the sorted order.
    #[inline(always)]
    fn positions(self) -> SharedArray<u32> {
        self.0.skip(Self::OF_PLACES).as_elements()
    }

    /// Room for `L - 1` neighbours of each lane.
    #[inline(always)]
    fn lists(self) -> Lists {
        let squared = self.0.as_elements();
        let index = self.0.skip(Self::OF_SQUARES).as_elements();
        Lists { squared, index, threads: warp::SIZE, thread: warp::lane_id() }
    }
}

/// [`Team::find`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn find<const L: usize>(
    index: &Index,
    search: &Search,
    query: &Query,
    is_place: bool,
    wanted: Wanted,
    room: Room<L>,
) -> Option<u32> {
    // SAFETY: all lanes have the same block of cells, so they stay together.
    unsafe {
        let placed = warp::ballot(warp::FULL, is_place);
        if placed == 0 {
            return None;
        }
        let frame = Frame::new(&index.cells, query, is_place, placed)?;
        let ground = Ground::around(index, search, &frame, wanted.max_points)?;
        let kept = Keys::<L>::of_points(index, &frame, &ground, room)?;
        if !is_place {
            return None;
        }
        let found = decide(index, search, query, &kept, room.lists());
        let taken = u32::min(found, wanted.max_points);
        if taken < u32::max(1, wanted.min_points) && wanted.falls_back {
            return None;
        }
        // No point that counts and was not found is nearer than this.
        let edge = ground.reach(&index.cells, search, query);
        let least = f64::min(edge, kept.least_distance(&frame) * index.cells.side);
        let is_certain = if taken < wanted.max_points {
            least == f64::INFINITY || least > search.reach[0] * (1.0 + 1e-9)
        } else {
            let lists = room.lists();
            let last = lists.squared.load(lists.slot(taken - 1));
            least > 0.0 && last < least * least * (1.0 - 1e-9)
        };
        if is_certain { Some(taken) } else { None }
    }
}

/// Where the warp measures from: one of its queries. Lengths are in cells.
struct Frame {
    origin: [f64; 2],
    per_unit: f64,
    /// This lane's query.
    x: f32,
    y: f32,
    /// The box of the queries.
    low: [f32; 2],
    high: [f32; 2],
}

impl Frame {
    /// `None` where the queries lie too far from each other.
    ///
    /// # Safety
    /// The whole warp comes to the same call; some lane of `placed` has a place.
    #[inline(always)]
    unsafe fn new(cells: &Cells, query: &Query, is_place: bool, placed: u32) -> Option<Self> {
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

    /// A place as it is seen from the origin.
    #[inline(always)]
    fn place(&self, x: f64, y: f64) -> [f32; 2] {
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
struct Ground {
    block: Block,
    /// Where the lane's row begins in the sorted order, less the points of the rows before it.
    offset: u32,
    /// The points of the rows up to this lane's.
    up_to: u32,
    /// The points of all rows.
    points: u32,
}

impl Ground {
    /// The cells that hold the `wanted` nearest of nearly all the queries, as far as the density of points
    /// tells; `None` where they are too many.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the index is as for [`find`].
    #[inline(always)]
    unsafe fn around(index: &Index, search: &Search, frame: &Frame, wanted: u32) -> Option<Self> {
        // Of points at random a circle that holds so many on average holds fewer than those wanted once in a
        // thousand times.
        let wanted = wanted as f32;
        let aim = wanted + 3.0 * math::sqrt_f32(wanted) + 2.0;
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

    /// How near to a query a point that counts may lie and not be in the cells; infinite where none can.
    #[inline(always)]
    fn reach(&self, cells: &Cells, search: &Search, query: &Query) -> f64 {
        let place = [query.x, query.y];
        let [x, y] = cells.within(self.block, place);
        let [along_x, along_y] = search.extent;
        if x[0] < -along_x && x[1] > along_x && y[0] < -along_y && y[1] > along_y {
            return f64::INFINITY;
        }
        cells.reach(self.block, place)
    }
}

/// The points that a lane keeps.
struct Kept<const L: usize> {
    /// Where each but the last is in the sorted order; `u32::MAX` where there is none.
    positions: [u32; L],
    /// From below, the f32 square of the distance of every point that is not among these.
    squared: f32,
    /// Whether there is no such point.
    has_all: bool,
}

impl<const L: usize> Keys<L> {
    /// Those of all the points on the ground; `None` where one of them lies too far away.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the ground is the warp's.
    #[inline(always)]
    unsafe fn of_points(
        index: &Index,
        frame: &Frame,
        ground: &Ground,
        room: Room<L>,
    ) -> Option<Kept<L>> {
        let mut keys = Self::NONE;
        // As many of the lowest bits as the numbers of the points have.
        let numbers = u32::MAX.checked_shr((ground.points | 1).leading_zeros()).unwrap_or(0);
        let mut first = 0;
        let mut is_near = true;
        // SAFETY: the warp stays together; barriers stand between writes and reads of others.
        unsafe {
            while first < ground.points {
                let of_these = stage(index, frame, ground, room, first);
                is_near = is_near && of_these;
                warp::sync_warp(warp::FULL);
                let staged = u32::min(ground.points - first, STAGED);
                keys.offer_staged(frame, room, first, staged, numbers);
                warp::sync_warp(warp::FULL);
                first += STAGED;
            }
            if !warp::all(warp::FULL, is_near) {
                return None;
            }
            let mut positions = [u32::MAX; L];
            let mut i = 0;
            while i < L - 1 {
                let key = keys.get(i);
                if key < ENDLESS {
                    positions[i] = room.positions().load(key & numbers);
                }
                i += 1;
            }
            // The lists take the place of what was read.
            warp::sync_warp(warp::FULL);
            let has_all = keys.last() >= ENDLESS;
            let squared = f32::from_bits(u32::min(keys.last(), ENDLESS) & !numbers);
            Some(Kept { positions, squared, has_all })
        }
    }

    /// Offers what is staged, four at a time: beyond the last lie points at infinity.
    ///
    /// # Safety
    /// The whole warp comes to the same call; `staged` points are there, the first of which has number `first`.
    #[inline(always)]
    unsafe fn offer_staged(
        &mut self,
        frame: &Frame,
        room: Room<L>,
        first: u32,
        staged: u32,
        numbers: u32,
    ) {
        let key = |x: u32, y: u32, number: u32| {
            let (dx, dy) = (f32::from_bits(x) - frame.x, f32::from_bits(y) - frame.y);
            math::mul_add_f32(dy, dy, dx * dx).to_bits() & !numbers | number
        };
        let mut i = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while i < vector::unknown(staged) {
                let [ax, ay, bx, by] = room.0.load(i / 2);
                let [cx, cy, dx, dy] = room.0.load(i / 2 + 1);
                let number = first + i;
                self.offer(key(ax, ay, number));
                self.offer(key(bx, by, number + 1));
                self.offer(key(cx, cy, number + 2));
                self.offer(key(dx, dy, number + 3));
                i += 4;
            }
        }
    }
}

/// Brings points into shared memory, from number `first` on, and at least three at infinity after the last
/// of all. Tells whether those of this lane are near.
///
/// # Safety
/// The whole warp comes to the same call; the ground is the warp's.
#[inline(always)]
unsafe fn stage<const L: usize>(
    index: &Index,
    frame: &Frame,
    ground: &Ground,
    room: Room<L>,
    first: u32,
) -> bool {
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
                room.positions().store(number, position);
            }
            if slot < end {
                let [x, y] = place.map(|along| along.to_bits() as u64);
                room.places().store(slot, x | y << 32);
            }
            slot += warp::SIZE;
            begin += warp::SIZE;
        }
    }
    are_near
}

impl<const L: usize> Kept<L> {
    /// How near a point that is not kept may be, in cells: f32 rounds the coordinates of both, their
    /// differences and the square, each by less than a ten-millionth of itself.
    #[inline(always)]
    fn least_distance(&self, frame: &Frame) -> f64 {
        if self.has_all {
            return f64::INFINITY;
        }
        let rounding = 1e-6 * (f32::abs(frame.x) + f32::abs(frame.y)) + 1e-20;
        (math::sqrt_f32(self.squared) * (1.0 - 2e-6) - rounding) as f64
    }
}

/// Brings the points kept into the lane's list, in the order of their f64 distances, but for those that do
/// not count. Returns how many.
///
/// # Safety
/// The positions are of points of the index; the lists have room for all of them.
#[inline(always)]
unsafe fn decide<const L: usize>(
    index: &Index,
    search: &Search,
    query: &Query,
    kept: &Kept<L>,
    lists: Lists,
) -> u32 {
    let n = index.points as usize;
    let [reach, _] = search.reach;
    let reach = reach * reach;
    let mut found = 0;
    let mut last = (0.0, 0);
    // SAFETY: passed on to the caller; slots are the lane's own.
    unsafe {
        let mut i = 0;
        while i < L - 1 {
            let is_there = kept.positions[i] != u32::MAX;
            let at = if is_there { kept.positions[i] as usize } else { 0 };
            let dx = *index.places.add(at) - query.place[0];
            let dy = *index.places.add(at + n) - query.place[1];
            let squared = dx * dx + dy * dy;
            let point = *index.order.add(at);
            let is_left_out = search.leaves_out && point as u64 == query.index;
            let counts = is_there && squared <= reach && !is_left_out;
            if counts {
                // Keys are nearly in this order, so that few move.
                let is_last = last.0 < squared || (last.0 == squared && last.1 < point);
                if found == 0 || is_last {
                    lists.store(found, squared, point);
                    last = (squared, point);
                } else {
                    lists.insert(found, squared, point);
                }
                found += 1;
            }
            i += 1;
        }
    }
    found
}
