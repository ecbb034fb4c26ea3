//! The nearest points of one target, kept in registers during the search.

use device_std::shared::Carver;
use device_std::thread;

use super::lists::Lists;
use super::results::{Results, Values};
use super::search::{Index, Search, TargetPlace};
use super::{Limits, Method};
use crate::idw::BLOCK;

/// The most points that a kernel keeps.
pub const MAX_KEPT: u32 = 24;

/// The nearest points found, nearest first; places beyond the number wanted hold -1, before all others.
pub struct Nearest<const K: usize> {
    squared: [f64; K],
    index: [u32; K],
    spare: u32,
}

impl<const K: usize> Nearest<K> {
    #[inline(always)]
    fn is_before(squared: f64, index: u32, other: f64, other_index: u32) -> bool {
        squared < other || (squared == other && index < other_index)
    }

    /// For `wanted` points, at most `K`.
    #[inline(always)]
    fn new(wanted: u32) -> Self {
        let spare = K as u32 - wanted;
        let mut squared = [f64::INFINITY; K];
        let mut i = 0;
        while i < K {
            if (i as u32) < spare {
                squared[i] = -1.0;
            }
            i += 1;
        }
        Self { squared, index: [u32::MAX; K], spare }
    }

    /// Puts a point in its place, if it is near enough.
    #[inline(always)]
    fn insert(&mut self, squared: f64, index: u32) {
        if !Self::is_before(squared, index, self.squared[K - 1], self.index[K - 1]) {
            return;
        }
        let (mut squared, mut index) = (squared, index);
        let mut i = 0;
        while i < K {
            let (other, other_index) = (self.squared[i], self.index[i]);
            let before = Self::is_before(squared, index, other, other_index);
            self.squared[i] = if before { squared } else { other };
            self.index[i] = if before { index } else { other_index };
            squared = if before { other } else { squared };
            index = if before { other_index } else { index };
            i += 1;
        }
    }

    /// How many were found.
    #[inline(always)]
    fn found(&self) -> u32 {
        let mut found = 0;
        let mut i = 0;
        while i < K {
            found += (self.squared[i] >= 0.0 && self.squared[i] < f64::INFINITY) as u32;
            i += 1;
        }
        found
    }

    /// The squared distance of the farthest; infinite while the list is not full.
    #[inline(always)]
    fn farthest(&self) -> f64 {
        self.squared[K - 1]
    }

    /// Calls `put` with place, squared distance and index of each. They are registers, where only constants
    /// can index.
    #[inline(always)]
    fn for_each(&self, mut put: impl FnMut(u32, f64, u32)) {
        let mut i = 0;
        while i < K {
            if i as u32 >= self.spare {
                put(i as u32 - self.spare, self.squared[i], self.index[i]);
            }
            i += 1;
        }
    }
}

/// The `wanted` nearest points of a target, `limited` by the search's reach.
#[inline(always)]
fn nearest_points<const K: usize>(
    index: &Index,
    search: &Search,
    target: &TargetPlace,
    wanted: u32,
    limited: bool,
) -> Nearest<K> {
    let sphere = search.is_sphere();
    let start = index.first_radius(target, wanted, sphere);
    let mut radius = start.radius;
    let most = if limited { search.reach[0] } else { f64::INFINITY };
    loop {
        let mut nearest = Nearest::<K>::new(wanted);
        let reach = search.reach_within(radius, limited);
        let cells = index.cells_within(target, reach, sphere);
        let is_all = cells.whole || (reach[0] < radius && reach[1] < radius);
        let of_circle = if is_all { most } else { f64::min(radius, most) };
        let cells = cells.round(of_circle, sphere);
        index.visit(&cells, target, search, limited, |candidate| {
            nearest.insert(candidate.squared, index.point(candidate.at));
        });
        let farthest = nearest.farthest();
        if is_all || farthest <= search.certain(radius) {
            return nearest;
        }
        radius = if farthest < f64::INFINITY {
            f64::max(search.radius_of(farthest), radius * 1.01)
        } else {
            start.wider(radius)
        };
    }
}

/// The lists of a block's threads, once they are complete.
#[inline(always)]
const fn lists(carver: &mut Carver, wanted: u32, thread: u32) -> Lists {
    let (squared, index) = (carver.array(wanted * BLOCK), carver.array(wanted * BLOCK));
    Lists { squared, index, threads: BLOCK, thread }
}

impl<const K: usize> Method for Nearest<K> {
    const SHARED: u32 = {
        let mut carver = Carver::new();
        let _ = lists(&mut carver, K as u32, 0);
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
        let lists = lists(&mut Carver::new(), K as u32, thread::thread_idx_x());
        // SAFETY: the lists lie in the shared memory that the method asks for, and have K slots a thread.
        unsafe {
            let found = find::<K>(lists, index, search, target, wanted);
            let found = lists.holding(found, wanted.min_points);
            results.interpolate(values, search, target.index, &found);
        }
    }
}

/// Leaves the neighbours of a target in the thread's list; returns how many.
///
/// # Safety
/// The list has `K` slots.
#[inline(always)]
unsafe fn find<const K: usize>(
    lists: Lists,
    index: &Index,
    search: &Search,
    target: &TargetPlace,
    wanted: &Limits,
) -> u32 {
    // No neighbour at all is too few, whatever the least.
    let least = u32::max(1, wanted.min_points);
    let (mut most, mut limited) = (wanted.max_points, true);
    loop {
        let nearest = nearest_points::<K>(index, search, target, most, limited);
        let found = nearest.found();
        if limited && found < least && wanted.falls_back != 0 {
            (most, limited) = (least, false);
            continue;
        }
        // SAFETY: the thread's list has K slots, and nobody else touches them.
        nearest.for_each(|i, squared, point| unsafe { lists.store(i, squared, point) });
        return found;
    }
}
