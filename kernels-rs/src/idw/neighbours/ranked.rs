//! The nearest points of a query by itself, or the nearest of each quadrant, kept in shared memory while they are
//! searched.

use device_std::real::Real;
use device_std::shared::Carver;
use device_std::thread;

use super::ranks::{Rank, Ranked, Ranks};
use super::results::Results;
use super::search::{ALL_QUADRANTS, Index, Query, Search, Start};
use super::turns::{by_turns, fewer, total};
use super::{Method, Wanted};
use crate::idw::BLOCK;

/// The most points that a kernel keeps, of all quadrants.
pub const MOST_RANKED: u32 = 64;

/// The most of each quadrant.
pub const MOST_OF_QUADRANT: u32 = MOST_RANKED / 4;

/// Keeps the nearest of all points, or with `G` of 4 of each quadrant.
pub struct Nearby<const G: usize>;

impl<const G: usize> Nearby<G> {
    /// Slots of each group.
    const ROOM: u32 = MOST_RANKED / G as u32;
}

/// The room of a block's threads.
#[inline(always)]
const fn ranks(carver: &mut Carver, thread: u32) -> Ranks {
    Ranks { positions: carver.array(MOST_RANKED * BLOCK), threads: BLOCK, thread }
}

impl<const G: usize> Method for Nearby<G> {
    const SHARED: u32 = {
        let mut carver = Carver::new();
        let _ = ranks(&mut carver, 0);
        carver.bytes()
    };

    #[inline(always)]
    unsafe fn interpolate<T: Real>(
        index: &Index,
        search: &Search,
        query: &Query,
        wanted: Wanted,
        results: &Results<T>,
    ) {
        let ranks = ranks(&mut Carver::new(), thread::thread_idx_x());
        // SAFETY: passed on to the caller.
        unsafe {
            let found = Self::find(ranks, index, search, query, wanted);
            results.interpolate(index, search, query, &found);
        }
    }
}

impl<const G: usize> Nearby<G> {
    /// Finds the neighbours of a query.
    ///
    /// # Safety
    /// The index and the query are as [`interpolate`](mod@super::interpolate) says.
    #[inline(always)]
    unsafe fn find(
        ranks: Ranks,
        index: &Index,
        search: &Search,
        query: &Query,
        wanted: Wanted,
    ) -> Ranked<G> {
        let room = Self::ROOM;
        // No neighbour at all is too few, whatever the least.
        let least = u32::max(1, wanted.min_points);
        // SAFETY: passed on to the caller; no group keeps more than it has room for.
        unsafe {
            let of_group = u32::min(wanted.of_group(), room);
            let start = index.first_radius(query, of_group * G as u32, search.is_sphere());
            // A byte for each group, so that none of an array need be found at run time.
            let (mut counts, mut group) = (0u32, 0);
            while group < G as u32 {
                let quadrant = if G == 1 { ALL_QUADRANTS } else { group };
                let slots = Slots { from: group * room, wanted: of_group };
                let found = nearest(ranks, index, search, query, slots, quadrant, true, start);
                counts |= found << (8 * group);
                group += 1;
            }
            let counts = [counts & 255, counts >> 8 & 255, counts >> 16 & 255, counts >> 24];
            let taken = by_turns(counts, wanted.max_per_quadrant, wanted.max_points);
            let is_full = G == 1 || fewer(counts, wanted.min_per_quadrant) == 0;
            let are_enough = is_full && total(taken) >= least;
            if are_enough || !wanted.falls_back {
                return Ranked { ranks, room, taken, are_enough };
            }
            // Without quadrants and without reach: one list over the room of all.
            let of_quadrants = if G == 1 { 0 } else { wanted.min_per_quadrant.saturating_mul(4) };
            let least_of_all = u32::min(u32::max(least, of_quadrants), MOST_RANKED);
            let slots = Slots { from: 0, wanted: least_of_all };
            let found = nearest(ranks, index, search, query, slots, ALL_QUADRANTS, false, start);
            let part = |group: u32| u32::min(found.saturating_sub(group * room), room);
            let taken = [part(0), part(1), part(2), part(3)];
            Ranked { ranks, room, taken, are_enough: found >= least }
        }
    }
}

/// Where neighbours go, and how many at most.
#[derive(Clone, Copy)]
struct Slots {
    from: u32,
    wanted: u32,
}

/// Keeps the nearest of a quadrant, or of all, `limited` by the search's reach; returns how many. It begins where
/// it is told.
///
/// # Safety
/// The index and the query are as [`interpolate`](mod@super::interpolate) says; there are such slots.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn nearest(
    ranks: Ranks,
    index: &Index,
    search: &Search,
    query: &Query,
    Slots { from, wanted }: Slots,
    quadrant: u32,
    limited: bool,
    start: Start,
) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe {
        let sphere = search.is_sphere();
        let most = if limited { search.reach[0] } else { f64::INFINITY };
        let mut radius = start.radius;
        loop {
            let (mut found, mut last) = (0, Rank::NONE);
            let reach = search.reach_within(radius, limited);
            let cells = index.cells_within(query, reach, sphere).quarter(index, query, quadrant);
            let is_all = cells.whole || (reach[0] < radius && reach[1] < radius);
            let of_circle = if is_all { most } else { f64::min(radius, most) };
            let cells = cells.round(of_circle, sphere);
            index.visit(&cells, query, search, limited, |candidate| {
                let new = Rank { squared: candidate.squared, position: candidate.at };
                let is_of_these = quadrant == ALL_QUADRANTS || candidate.quadrant == quadrant;
                if is_of_these && new.is_before(index, last) {
                    let others = u32::min(found, wanted - 1);
                    ranks.insert(index, query, from, others, new);
                    found = others + 1;
                    if found == wanted {
                        last = ranks.rank(index, query, from + others);
                    }
                }
            });
            let farthest = last.squared;
            if is_all || farthest <= search.certain(radius) {
                return found;
            }
            radius = if farthest < f64::INFINITY {
                f64::max(search.radius_of(farthest), radius * 1.01)
            } else {
                start.wider(radius)
            };
        }
    }
}
