//! The nearest points of one target, kept in shared memory during the search.

use device_std::shared::Carver;
use device_std::thread;

use super::ranks::{Rank, Ranked, Ranks};
use super::results::{Results, Values};
use super::search::{Index, Search, Start, TargetPlace};
use super::{Limits, Method};
use crate::idw::BLOCK;

/// The most points that a kernel keeps.
pub const MAX_RANKED: u32 = 64;

/// Keeps the nearest points.
pub struct Nearby;

/// The room of a block's threads.
#[inline(always)]
const fn ranks(carver: &mut Carver, thread: u32) -> Ranks {
    Ranks { positions: carver.array(MAX_RANKED * BLOCK), threads: BLOCK, thread }
}

impl Method for Nearby {
    const SHARED: u32 = {
        let mut carver = Carver::new();
        let _ = ranks(&mut carver, 0);
        carver.bytes()
    };

    #[inline(always)]
    unsafe fn interpolate(
        index: &Index,
        values: &Values<'_>,
        search: &Search,
        target: &TargetPlace,
        wanted: &Limits,
        results: &Results<'_>,
    ) {
        let ranks = ranks(&mut Carver::new(), thread::thread_idx_x());
        // SAFETY: the slots lie in the shared memory that the method asks for.
        unsafe {
            let found = find(ranks, index, search, target, wanted);
            results.interpolate(values, search, target.index, &found);
        }
    }
}

/// Finds the neighbours of a target.
///
/// # Safety
/// There are [`MAX_RANKED`] slots.
#[inline(always)]
unsafe fn find<'a>(
    ranks: Ranks,
    index: &'a Index,
    search: &Search,
    target: &'a TargetPlace,
    wanted: &Limits,
) -> Ranked<'a> {
    // No neighbour at all is too few, whatever the least.
    let least = u32::max(1, wanted.min_points);
    let (mut most, mut limited) = (u32::min(wanted.max_points, MAX_RANKED), true);
    loop {
        let start = index.first_radius(target, most, search.is_sphere());
        // SAFETY: `most` is no more than there are slots.
        let found = unsafe { nearest(ranks, index, search, target, most, limited, start) };
        if limited && found < least && wanted.falls_back != 0 {
            (most, limited) = (u32::min(least, MAX_RANKED), false);
            continue;
        }
        return Ranked { ranks, index, target, found, are_enough: found >= least };
    }
}

/// Keeps the `wanted` nearest points, `limited` by the search's reach; returns how many. The search begins at `start`.
///
/// # Safety
/// There are `wanted` slots.
#[inline(always)]
unsafe fn nearest(
    ranks: Ranks,
    index: &Index,
    search: &Search,
    target: &TargetPlace,
    wanted: u32,
    limited: bool,
    start: Start,
) -> u32 {
    let sphere = search.is_sphere();
    let most = if limited { search.reach[0] } else { f64::INFINITY };
    let mut radius = start.radius;
    loop {
        let (mut found, mut last) = (0, Rank::NONE);
        let reach = search.reach_within(radius, limited);
        let cells = index.cells_within(target, reach, sphere);
        let is_all = cells.whole || (reach[0] < radius && reach[1] < radius);
        let of_circle = if is_all { most } else { f64::min(radius, most) };
        let cells = cells.round(of_circle, sphere);
        index.visit(&cells, target, search, limited, |candidate| {
            let new = Rank { squared: candidate.squared, position: candidate.at };
            if new.is_before(index, last) {
                let others = u32::min(found, wanted - 1);
                // SAFETY: slots below `wanted` are the thread's own, and those up to `others` hold neighbours.
                unsafe {
                    ranks.insert(index, target, others, new);
                    found = others + 1;
                    if found == wanted {
                        last = ranks.rank(index, target, others);
                    }
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
