//! The nearest of each quadrant for 32 queries together: a short list for each.
//!
//! In which quadrant a point lies follows from its f32 place, unless that is so near to the query's axes that rounding
//! may have moved it across; then from its f64 place. Points of another quadrant than most lanes' are passed over by a
//! vote, so that a point costs the insertion into one list, or two.

use device_std::shared::SharedArray;
use device_std::vector::Vector;
use device_std::warp;

use super::Wanted;
use super::ground::{Frame, Ground, Outline, Stage, Viewer, key};
use super::ranks::{Ranked, Ranks};
use super::search::{Index, Query, Search};
use super::together::{Team, bytes_of_block, is_surely_within, room_of_warp};
use super::turns::{by_turns, fewer, total};
use crate::spatial::keys::Keys;

/// With the `L` least keys of each quadrant: for up to `L - 2` neighbours of each.
pub struct Quarters<const L: usize>;

/// The shared memory of a warp.
#[derive(Clone, Copy)]
struct Room {
    outline: SharedArray<Vector>,
    stage: Stage,
    /// In the place of the coordinates, once these are read.
    ranks: Ranks,
}

impl<const L: usize> Quarters<L> {
    /// Slots of each quadrant.
    const ROOM: u32 = L as u32 - 1;
    /// Vectors of a warp.
    const OF_WARP: u32 = {
        let ranks = 4 * Self::ROOM * warp::SIZE / 4;
        let places = Stage::OF_PLACES;
        1 + Stage::OF_POSITIONS + if places > ranks { places } else { ranks }
    };

    #[inline(always)]
    fn room() -> Room {
        let outline: SharedArray<Vector> = room_of_warp(Self::OF_WARP);
        let all = outline.skip(1);
        let places = all.skip(Stage::OF_POSITIONS);
        let positions = places.as_elements();
        Room {
            outline,
            stage: Stage { places, positions: all.as_elements() },
            ranks: Ranks { positions, threads: warp::SIZE, thread: warp::lane_id() },
        }
    }
}

impl<const L: usize> Team for Quarters<L> {
    const SHARED: u32 = bytes_of_block(Self::OF_WARP);

    // Four ways down the pyramid take longer than a few queries by themselves, as along the edges of the ground, where a
    // quadrant is a strip.
    const FEWEST: u32 = 24;

    type Found = Ranked<4>;

    #[inline(always)]
    unsafe fn find(
        index: &Index,
        search: &Search,
        query: &Query,
        is_place: bool,
        wanted: Wanted,
    ) -> Option<Ranked<4>> {
        let room = Self::room();
        // SAFETY: all lanes have the same block of cells, so they stay together; each quadrant has slots for what it
        // keeps.
        unsafe {
            let placed = warp::ballot(warp::FULL, is_place);
            if placed == 0 {
                return None;
            }
            let frame = Frame::new(&index.cells, query, is_place, placed)?;
            let ground = Ground::around(index, search, &frame, wanted.of_group(), 4)?;
            let outline = Outline::new(search, &frame, &index.cells, room.outline);
            let numbers = ground.numbers();
            let mut offered = ByQuadrants {
                lists: [const { Keys::<L>::NONE }; 4],
                numbers,
                index,
                query,
                outline: &outline,
                stage: room.stage,
                points: ground.points,
                least: [frame.x, frame.y].map(|along| 1e-6 * f32::abs(along) + 1e-20),
            };
            let are_near = room.stage.show(index, &frame, &ground, &mut offered);
            if !are_near || !is_place {
                return None;
            }
            let [a, b, c, d] = &offered.lists;
            let bounds = [a, b, c, d].map(|list| list.bound::<L>(numbers));
            let write = |list: &Keys<L>, quadrant: u32| {
                list.write(room.stage, numbers, room.ranks, quadrant * Self::ROOM)
            };
            // A byte for each quadrant, so that none of an array need be found at run time.
            let kept = write(a, 0) | write(b, 1) << 8 | write(c, 2) << 16 | write(d, 3) << 24;
            let (mut counts, mut is_certain, mut quadrant) = (0u32, true, 0);
            while quadrant < 4 {
                let (from, kept) = (quadrant * Self::ROOM, kept >> (8 * quadrant) & 255);
                let found = room.ranks.decide(index, search, query, from, kept);
                let found = u32::min(found, wanted.of_group());
                let bound = match quadrant {
                    0 => bounds[0],
                    1 => bounds[1],
                    2 => bounds[2],
                    _ => bounds[3],
                };
                // No point of the quadrant that counts and was not found is nearer than this.
                let edge = ground.reach_of(&index.cells, search, query, quadrant);
                let seen = frame.least_distance(f32::from_bits(bound), &index.cells);
                let least = f64::min(edge, seen);
                is_certain = is_certain
                    && if found < wanted.of_group() {
                        search.has_all_within(least)
                    } else {
                        let last = room.ranks.rank(index, query, from + found - 1);
                        is_surely_within(last.squared, least)
                    };
                counts |= found << (8 * quadrant);
                quadrant += 1;
            }
            let counts = [counts & 255, counts >> 8 & 255, counts >> 16 & 255, counts >> 24];
            let taken = by_turns(counts, wanted.max_per_quadrant, wanted.max_points);
            let are_enough = fewer(counts, wanted.min_per_quadrant) == 0
                && total(taken) >= u32::max(1, wanted.min_points);
            if !is_certain || (!are_enough && wanted.falls_back) {
                return None;
            }
            Some(Ranked { ranks: room.ranks, room: Self::ROOM, taken, are_enough })
        }
    }
}

/// Offers keys to the lists of their quadrants.
struct ByQuadrants<'a, const L: usize> {
    lists: [Keys<L>; 4],
    numbers: u32,
    index: &'a Index,
    query: &'a Query,
    outline: &'a Outline,
    stage: Stage,
    /// Points of the ground.
    points: u32,
    /// Differences beyond these have the sign of those in f64.
    least: [f32; 2],
}

impl<const L: usize> Viewer for ByQuadrants<'_, L> {
    #[inline(always)]
    unsafe fn see(&mut self, places: [[f32; 2]; 4], number: u32) {
        let [p, q, r, s] = places;
        // SAFETY: passed on to the caller.
        unsafe {
            let excluded = self.outline.excluded(places);
            self.offer(p, number, excluded[0]);
            self.offer(q, number + 1, excluded[1]);
            self.offer(r, number + 2, excluded[2]);
            self.offer(s, number + 3, excluded[3]);
        }
    }
}

impl<const L: usize> ByQuadrants<'_, L> {
    /// Offers a point, unless it is excluded.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn offer(&mut self, place: [f32; 2], number: u32, is_out: bool) {
        let [dx, dy] = place;
        let key = if is_out { u32::MAX } else { key(place, self.numbers, number) };
        let mut quadrant = (dx >= 0.0) as u32 | ((dy >= 0.0) as u32) << 1;
        let is_near_axis = f32::abs(dx) <= self.least[0] || f32::abs(dy) <= self.least[1];
        let [a, b, c, d] = &mut self.lists;
        // SAFETY: passed on to the caller.
        unsafe {
            if is_near_axis && number < self.points {
                let position = self.stage.positions.load(number);
                quadrant = quadrant_of(self.index, self.query, position);
            }
            let of = |q: u32| if quadrant == q { key } else { u32::MAX };
            a.offer(of(0));
            b.offer(of(1));
            c.offer(of(2));
            d.offer(of(3));
        }
    }
}

/// The quadrant of the point at a position of the sorted order.
///
/// # Safety
/// There is one; in the plane.
#[inline(always)]
pub unsafe fn quadrant_of(index: &Index, query: &Query, position: u32) -> u32 {
    let at = position as usize;
    // SAFETY: passed on to the caller.
    let [dx, dy] = unsafe {
        let y = *index.places.add(at + index.points as usize);
        [*index.places.add(at) - query.place[0], y - query.place[1]]
    };
    (dx >= 0.0) as u32 | ((dy >= 0.0) as u32) << 1
}
