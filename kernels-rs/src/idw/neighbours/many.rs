//! Lists of up to 64 neighbours for 32 queries together.
//!
//! As [`Least`](super::together::Least), but what is kept stays where it is in the sorted order ([`Ranks`]): with their
//! distances, lists of 64 would leave room for few warps.

use device_std::shared::SharedArray;
use device_std::vector::Vector;
use device_std::warp;

use super::Wanted;
use super::batches::{ByBatches, OF_BATCHES};
use super::ground::{Frame, Ground, Outline, Stage};
use super::ranks::{Ranked, Ranks};
use super::search::{Index, Query, Search};
use super::together::{Team, bytes_of_block, is_surely_within, room_of_warp};

/// With the `L` least keys of each lane, in batches: for up to `L - 2` neighbours.
pub struct Many<const L: usize>;

/// The shared memory of a warp.
#[derive(Clone, Copy)]
struct Room {
    outline: SharedArray<Vector>,
    stage: Stage,
    /// Batches of the lanes.
    batches: SharedArray<u32>,
    /// In the place of batches and coordinates, once these are read.
    ranks: Ranks,
}

impl<const L: usize> Many<L> {
    /// Vectors of a warp.
    const OF_WARP: u32 = {
        let points = Stage::OF_PLACES + OF_BATCHES;
        let ranks = (L as u32 - 1) * warp::SIZE / 4;
        1 + Stage::OF_POSITIONS + if points > ranks { points } else { ranks }
    };

    #[inline(always)]
    fn room() -> Room {
        let outline: SharedArray<Vector> = room_of_warp(Self::OF_WARP);
        let all = outline.skip(1);
        let places = all.skip(Stage::OF_POSITIONS);
        Room {
            outline,
            stage: Stage { places, positions: all.as_elements() },
            batches: places.skip(Stage::OF_PLACES).as_elements(),
            ranks: Ranks {
                positions: places.as_elements(),
                threads: warp::SIZE,
                thread: warp::lane_id(),
            },
        }
    }
}

impl<const L: usize> Team for Many<L> {
    const SHARED: u32 = bytes_of_block(Self::OF_WARP);

    type Found = Ranked<1>;

    #[inline(always)]
    unsafe fn find(
        index: &Index,
        search: &Search,
        query: &Query,
        is_place: bool,
        wanted: Wanted,
    ) -> Option<Ranked<1>> {
        let room = Self::room();
        // SAFETY: all lanes have the same block of cells, so they stay together; slots of ranks are below `L - 1`.
        unsafe {
            let placed = warp::ballot(warp::FULL, is_place);
            if placed == 0 {
                return None;
            }
            let frame = Frame::new(&index.cells, query, is_place, placed)?;
            let ground = Ground::around(index, search, &frame, wanted.max_points, 1)?;
            let outline = Outline::new(search, &frame, &index.cells, room.outline);
            let edge = ground.reach(&index.cells, search, query);
            let most = frame.most_squared(f64::min(edge, search.reach[0]));
            let numbers = ground.numbers();
            let mut offered =
                ByBatches::<L, L>::new(&ground, &outline, is_place.then_some(most), room.batches);
            let are_near = room.stage.show(index, &frame, &ground, &mut offered);
            if !are_near || !is_place {
                return None;
            }
            let keys = offered.keys;
            let kept = keys.write(room.stage, numbers, room.ranks, 0);
            let found = room.ranks.decide(index, search, query, 0, kept);
            let taken = u32::min(found, wanted.max_points);
            let are_enough = taken >= u32::max(1, wanted.min_points);
            if !are_enough && wanted.falls_back {
                return None;
            }
            // No point that counts and was not found is nearer than this.
            let bound = f32::from_bits(keys.bound::<L>(numbers));
            let least = f64::min(edge, frame.least_distance(bound, &index.cells));
            let is_certain = if taken < wanted.max_points {
                search.has_all_within(least)
            } else {
                is_surely_within(room.ranks.rank(index, query, taken - 1).squared, least)
            };
            let ranks = room.ranks;
            let taken = [taken, 0, 0, 0];
            if is_certain {
                Some(Ranked { ranks, room: L as u32 - 1, taken, are_enough })
            } else {
                None
            }
        }
    }
}
