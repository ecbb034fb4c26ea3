//! Neighbours of 32 queries that lie side by side, which nearly the same points are near to: a warp looks for
//! them together.
//!
//! 1. A block of cells around the queries is widened until it holds points enough to tell how densely they
//!    lie, and then becomes one that surely holds the neighbours of nearly all the queries: [`Ground`].
//! 2. The lanes bring its points into shared memory, in f32 relative to one of the queries: [`Stage`].
//! 3. Every lane goes through them, and keeps the least [`Keys`] of its own query: the f32 square of the
//!    distance, whose lowest bits are the point's number. Lists of up to 12 neighbours take them one by one, longer ones
//!    in [`batches`](super::batches); up to 24 are kept by [`Least`], up to 64 by [`Many`]. Of each quadrant there is a
//!    short list: [`Quarters`]. A point that is surely outside of the ellipse is passed over; lists of up to 12 are for
//!    circles alone.
//! 4. Of the points kept, but for the last, the f64 distances decide, as everywhere. The answer is certain if
//!    the last neighbour lies nearer than the block's edges, and nearer than the last key says that points
//!    which were not kept may be.
//! 5. Where it is not certain (points as far as each other, a query in a gap, far more points than elsewhere)
//!    the query is left to [`interpolate`](mod@super::interpolate).

use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::Vector;
use device_std::{atomic, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::Wanted;
use super::batches::{ByBatches, OF_BATCHES};
use super::far::LIST_HEAD;
use super::ground::{Frame, Ground, Outline, Stage, Viewer, key};
use super::lists::{Listed, Lists};
use super::many::Many;
use super::patches::Patches;
use super::quarters::Quarters;
use super::results::{Neighbours, Results};
use super::search::{Index, Query, Search};
use crate::idw::plan::Plan;
use crate::idw::targets::Targets;
use crate::spatial::keys::{BATCH, ENDLESS, Keys};

/// Threads of a block: with lists of 24 it has 19 KiB of shared memory, with those of 64 it has 25.
pub const TEAM: u32 = 64;

/// Interpolates as [`interpolate`](mod@super::interpolate) does, for queries by patches; the bits of word `w` of
/// `left` tell which lanes of warp `w` have a query that was left out, and `list` gets the numbers of warps
/// where these are not too few. In the plane. The instances `quadrants` keep so
/// many of each quadrant, the others so many in all. Blocks are resident by a count of
/// registers; what that gains, and what the declared spills cost, was not measured. Grid: a warp for each of the patches.
///
/// # Safety
/// As for `interpolate`. Where `x` is not null `target_order` has `count` elements, each below the count. `left`
/// has a word for each warp of the launch, and `list` as many behind [`LIST_HEAD`] others, which are zeros.
#[kernel(block = TEAM, shared = <S as Team>::SHARED, instances(
    f32_8: <f32, Least<10, 10>>, resident = 12;
    f32_12: <f32, Least<14, 14>>, resident = 12;
    f32_16: <f32, Least<18, 18>>, resident = 10, spills = 8;
    f32_24: <f32, Least<26, 26>>, resident = 10, spills = 40;
    f32_32: <f32, Many<34>>, resident = 10, spills = 56;
    f32_48: <f32, Many<50>>, resident = 8;
    f32_64: <f32, Many<66>>, resident = 8, spills = 64;
    f32_quadrants_4: <f32, Quarters<6>>, resident = 10;
    f32_quadrants_8: <f32, Quarters<10>>, resident = 8;
    f32_quadrants_16: <f32, Quarters<18>>;
    f64_8: <f64, Least<10, 10>>, resident = 12;
    f64_12: <f64, Least<14, 14>>, resident = 12;
    f64_16: <f64, Least<18, 18>>, resident = 10, spills = 8;
    f64_24: <f64, Least<26, 26>>, resident = 10, spills = 40;
    f64_32: <f64, Many<34>>, resident = 10, spills = 56;
    f64_48: <f64, Many<50>>, resident = 8;
    f64_64: <f64, Many<66>>, resident = 8, spills = 64;
    f64_quadrants_4: <f64, Quarters<6>>, resident = 10;
    f64_quadrants_8: <f64, Quarters<10>>, resident = 8;
    f64_quadrants_16: <f64, Quarters<18>>;
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
    extent: [f64; 2],
    ellipse: [f64; 3],
    leaves_out: u32,
    max_points: u32,
    min_points: u32,
    max_per_quadrant: u32,
    min_per_quadrant: u32,
    falls_back: u32,
    value_count: u32,
    values: *mut T,
    statistics: *mut T,
    left: *mut u32,
    list: *mut u32,
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
        (search.extent, search.ellipse) = (extent, ellipse);
        let wanted = Wanted {
            max_points,
            min_points,
            max_per_quadrant,
            min_per_quadrant,
            falls_back: falls_back != 0,
        };
        let found = S::find(&index, &search, &query, is_place, wanted);
        let is_left = warp::ballot(warp::FULL, is_place && found.is_none());
        if warp::lane_id() == 0 {
            let patch = (thread::index_1d() / warp::SIZE as u64) as u32;
            *left.add(patch as usize) = is_left;
            if is_left.count_ones() >= S::FEWEST {
                let slot = LIST_HEAD + atomic::add_u32(list, 1);
                *list.add(slot as usize) = patch;
            }
        }
        if let Some(found) = found {
            search.exponent =
                if exponents.is_null() { exponent } else { *exponents.add(query.index as usize) };
            results.interpolate(&index, &search, &query, &found);
        } else if !is_place && given.is_some() {
            results.put_nothing(query.index);
        }
    }
}

/// How a warp searches.
pub trait Team {
    /// Bytes of shared memory of a block.
    const SHARED: u32;

    /// The fewest queries left of a warp for which a second search together pays.
    const FEWEST: u32 = 1;

    /// The neighbours of a lane's query.
    type Found: Neighbours;

    /// Finds the neighbours of each lane's query; `None` where they are not known for certain.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the index is as [`interpolate`](mod@super::interpolate) says.
    unsafe fn find(
        index: &Index,
        search: &Search,
        query: &Query,
        is_place: bool,
        wanted: Wanted,
    ) -> Option<Self::Found>;
}

/// The shared memory of the warp, of so many vectors for each.
#[inline(always)]
pub fn room_of_warp(of_warp: u32) -> SharedArray<Vector> {
    Carver::new().array::<Vector>(TEAM / warp::SIZE * of_warp).skip(warp::warp_id() * of_warp)
}

/// Bytes of a block with so many vectors for each warp.
pub const fn bytes_of_block(of_warp: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = carver.array::<Vector>(TEAM / warp::SIZE * of_warp);
    carver.bytes()
}

/// With the `K` least keys of each lane, in a list of `L`: for up to `K - 2` neighbours. Short lists leave what an
/// ellipse limits to others.
pub struct Least<const K: usize, const L: usize>;

impl<const K: usize, const L: usize> Least<K, L> {
    /// Short lists take keys one by one.
    const HAS_BATCHES: bool = L > BATCH;
    /// Vectors of the squared distances of the lists.
    const OF_SQUARES: u32 = (K as u32 - 1) * warp::SIZE / 2;
    /// Vectors of a warp: points, and once they are searched the lists of its lanes.
    const OF_WARP: u32 = {
        let batches = if Self::HAS_BATCHES { OF_BATCHES } else { 0 };
        let points = Stage::OF_PLACES + Stage::OF_POSITIONS + batches + 1;
        let lists = Self::OF_SQUARES + (K as u32 - 1) * warp::SIZE / 4;
        if points > lists { points } else { lists }
    };

    /// The points.
    #[inline(always)]
    fn stage(room: SharedArray<Vector>) -> Stage {
        Stage { places: room, positions: room.skip(Stage::OF_PLACES).as_elements() }
    }

    /// The lanes' batches.
    #[inline(always)]
    fn batches(room: SharedArray<Vector>) -> SharedArray<u32> {
        room.skip(Stage::OF_PLACES + Stage::OF_POSITIONS).as_elements()
    }

    /// Room for `K - 1` neighbours of each lane.
    #[inline(always)]
    fn lists(room: SharedArray<Vector>) -> Lists {
        let squared = room.as_elements();
        let index = room.skip(Self::OF_SQUARES).as_elements();
        Lists { squared, index, threads: warp::SIZE, thread: warp::lane_id() }
    }
}

impl<const K: usize, const L: usize> Team for Least<K, L> {
    const SHARED: u32 = bytes_of_block(Self::OF_WARP);

    type Found = Listed;

    #[inline(always)]
    unsafe fn find(
        index: &Index,
        search: &Search,
        query: &Query,
        is_place: bool,
        wanted: Wanted,
    ) -> Option<Listed> {
        let room = room_of_warp(Self::OF_WARP);
        // SAFETY: all lanes have the same block of cells, so they stay together.
        unsafe {
            let placed = warp::ballot(warp::FULL, is_place);
            if placed == 0 {
                return None;
            }
            if !Self::HAS_BATCHES && search.ellipse[0] > 0.0 {
                return None;
            }
            // What short lists need not look at costs them registers, and with these warps.
            let circle = Search { ellipse: [0.0; 3], ..*search };
            let search = if Self::HAS_BATCHES { search } else { &circle };
            let frame = Frame::new(&index.cells, query, is_place, placed)?;
            let ground = Ground::around(index, search, &frame, wanted.max_points, 1)?;
            let (stage, numbers) = (Self::stage(room), ground.numbers());
            let kept = if Self::HAS_BATCHES {
                let last = room.skip(Self::OF_WARP - 1);
                let outline = Outline::new(search, &frame, &index.cells, last);
                let edge = ground.reach(&index.cells, search, query);
                let most = frame.most_squared(f64::min(edge, search.reach[0]));
                let (most, batches) = (is_place.then_some(most), Self::batches(room));
                let mut offered = ByBatches::<K, L>::new(&ground, &outline, most, batches);
                if !stage.show(index, &frame, &ground, &mut offered) {
                    return None;
                }
                Kept::<K>::of_keys(&offered.keys, numbers, stage)
            } else {
                let mut offered = OneByOne { keys: Keys::<L>::NONE, numbers };
                if !stage.show(index, &frame, &ground, &mut offered) {
                    return None;
                }
                Kept::<K>::of_keys(&offered.keys, numbers, stage)
            };
            if !is_place {
                return None;
            }
            let lists = Self::lists(room);
            let found = decide(index, search, query, &kept, lists);
            let taken = u32::min(found, wanted.max_points);
            if taken < u32::max(1, wanted.min_points) && wanted.falls_back {
                return None;
            }
            // No point that counts and was not found is nearer than this.
            let edge = ground.reach(&index.cells, search, query);
            let least = f64::min(edge, kept.least_distance(&frame, index));
            let is_certain = if taken < wanted.max_points {
                search.has_all_within(least)
            } else {
                let last = lists.squared.load(lists.slot(taken - 1));
                is_surely_within(last, least)
            };
            if is_certain { Some(lists.holding(taken, wanted.min_points)) } else { None }
        }
    }
}

/// Whether the square of a distance is surely below that of another distance.
#[inline(always)]
pub fn is_surely_within(squared: f64, distance: f64) -> bool {
    distance > 0.0 && squared < distance * distance * (1.0 - 1e-9)
}

/// Offers keys one by one: an insertion is two instructions an entry.
struct OneByOne<const L: usize> {
    keys: Keys<L>,
    numbers: u32,
}

impl<const L: usize> Viewer for OneByOne<L> {
    #[inline(always)]
    unsafe fn see(&mut self, places: [[f32; 2]; 4], number: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut i = 0;
            while i < 4 {
                self.keys.offer(key(places[i], self.numbers, number + i as u32));
                i += 1;
            }
        }
    }
}

/// The points that a lane keeps.
struct Kept<const K: usize> {
    /// Where each but the last is in the sorted order; `u32::MAX` where there is none.
    positions: [u32; K],
    /// The last key, but for the number in it.
    last: u32,
}

impl<const K: usize> Kept<K> {
    /// Those of the least keys.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the keys are of points that were shown from this stage.
    #[inline(always)]
    unsafe fn of_keys<const L: usize>(keys: &Keys<L>, numbers: u32, stage: Stage) -> Self {
        let mut positions = [u32::MAX; K];
        let mut i = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while i < K - 1 {
                let key = keys.get(i);
                if key < ENDLESS {
                    positions[i] = stage.positions.load(key & numbers);
                }
                i += 1;
            }
            // The lists take the place of what was read.
            warp::sync_warp(warp::FULL);
        }
        Self { positions, last: keys.bound::<K>(numbers) }
    }

    /// How near a point that is not kept may be.
    #[inline(always)]
    fn least_distance(&self, frame: &Frame, index: &Index) -> f64 {
        frame.least_distance(f32::from_bits(self.last), &index.cells)
    }
}

/// Brings the points kept into the lane's list, in the order of their f64 distances, but for those that do
/// not count. Returns how many.
///
/// # Safety
/// The positions are of points of the index; the lists have room for all of them.
#[inline(always)]
unsafe fn decide<const K: usize>(
    index: &Index,
    search: &Search,
    query: &Query,
    kept: &Kept<K>,
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
        while i < K - 1 {
            let is_there = kept.positions[i] != u32::MAX;
            let at = if is_there { kept.positions[i] as usize } else { 0 };
            let dx = *index.places.add(at) - query.place[0];
            let dy = *index.places.add(at + n) - query.place[1];
            let squared = dx * dx + dy * dy;
            let point = *index.order.add(at);
            let is_left_out = search.leaves_out && point as u64 == query.index;
            let counts = is_there && squared <= reach && !is_left_out && search.is_inside(dx, dy);
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
