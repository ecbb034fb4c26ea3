//! The neighbours of a target that is searched by itself.
//!
//! A search widens a box of cells, as the kernels do: from the points in the box it estimates a radius,
//! collects the points within, and is done when it has as many as are wanted within the radius that the
//! cells cover.

use kernels_rs::spatial::sphere;

use super::boxes::{ALL_QUADRANTS, CellBox, Place};
use super::index::Index;
use super::neighbours::{Candidate, Scratch};
use crate::Below;
use crate::search::Search;

/// A target as the search sees it.
struct Query<'a, 'b> {
    at: Place<'a, 'b>,
    search: &'a Search,
    left_out: Option<u32>,
    limited: bool,
}

/// Finds the neighbours of a target.
pub(super) fn find(
    index: &Index,
    search: &Search,
    target: (f64, f64),
    left_out: Option<u32>,
    scratch: &mut Scratch,
) {
    let mut query = Query { at: Place::new(index, target), search, left_out, limited: true };
    scratch.enough = query.take(scratch);
    if !scratch.enough && search.below == Below::Nearest {
        query.limited = false;
        let wanted = search.fallback();
        query.nearest(wanted, 1, scratch);
        keep_first(&mut scratch.candidates, wanted as usize);
        scratch.enough = scratch.candidates.len() >= search.min_points.max(1) as usize;
    }
    scratch.candidates.sort_unstable_by_key(Candidate::key);
}

/// Keeps the first in order, in any order.
fn keep_first(candidates: &mut Vec<Candidate>, most: usize) {
    if candidates.len() > most {
        candidates.select_nth_unstable_by_key(most, Candidate::key);
        candidates.truncate(most);
    }
}

impl Query<'_, '_> {
    /// Collects the neighbours that the search wants; tells whether there are enough.
    fn take(&self, scratch: &mut Scratch) -> bool {
        let s = self.search;
        let wanted = s.max_points.min(s.max_per_quadrant).max(s.min_per_quadrant);
        self.nearest(wanted, if s.quadrants { 4 } else { 1 }, scratch);
        let candidates = &mut scratch.candidates;
        if !s.quadrants {
            keep_first(candidates, s.max_points as usize);
            return candidates.len() >= s.min_points.max(1) as usize;
        }
        candidates.sort_unstable_by_key(Candidate::key);
        let mut counts = [0u32; 4];
        candidates.iter().for_each(|c| counts[usize::from(c.quadrant)] += 1);
        let of_each = by_turns(counts.map(|n| n.min(s.max_per_quadrant)), s.max_points);
        let mut taken = [0u32; 4];
        candidates.retain(|c| {
            let taken = &mut taken[usize::from(c.quadrant)];
            *taken += 1;
            *taken <= of_each[usize::from(c.quadrant)]
        });
        counts.iter().all(|&n| n >= s.min_per_quadrant)
            && candidates.len() >= s.min_points.max(1) as usize
    }

    /// Collects at least the `wanted` nearest candidates of each of `groups`, or all there are.
    fn nearest(&self, wanted: u32, groups: u32, scratch: &mut Scratch) {
        let candidates = &mut scratch.candidates;
        candidates.clear();
        if groups == 4 && !self.at.index.geographic {
            // Each by itself: beside the points one has none, however far it goes.
            (0..4).for_each(|quadrant| self.nearest_of(quadrant, wanted, 1, candidates));
        } else {
            self.nearest_of(ALL_QUADRANTS, wanted, groups, candidates);
        }
    }

    /// Adds at least the `wanted` nearest candidates of a quadrant, or of each of `groups`, or all there are.
    fn nearest_of(&self, quadrant: u8, wanted: u32, groups: u32, candidates: &mut Vec<Candidate>) {
        let before = candidates.len();
        // Of one quadrant the circle has a fourth.
        let parts = if quadrant == ALL_QUADRANTS { groups } else { 4 };
        let mut radius = match wanted {
            u32::MAX => f64::INFINITY,
            _ => self.at.radius_of(f64::from(wanted) * f64::from(parts)),
        };
        let mut is_exact = false;
        loop {
            let (cells, is_all) = self.cells_within(radius, quadrant);
            let certain = if is_all { f64::INFINITY } else { self.certain(radius) };
            candidates.truncate(before);
            self.collect(&cells, certain, quadrant, candidates);
            let least = if groups == 4 {
                let mut counts = [0; 4];
                candidates.iter().for_each(|c| counts[usize::from(c.quadrant)] += 1u32);
                counts.into_iter().min().unwrap_or(0)
            } else {
                (candidates.len() - before) as u32
            };
            if is_all || least >= wanted {
                return;
            }
            if is_exact || groups == 4 {
                radius *= 1.5;
                continue;
            }
            let (reach, more) = (self.most(), usize::from(self.left_out.is_some()));
            let limits = [radius, reach];
            let exact = self.at.radius_with(wanted as usize + more, quadrant, limits);
            (is_exact, radius) = (true, exact.max(radius * 1.001));
        }
    }

    /// The radius that nothing counts beyond.
    fn most(&self) -> f64 {
        match (self.limited, self.at.index.geographic) {
            (false, _) => f64::INFINITY,
            (true, true) => self.search.arc,
            (true, false) => self.search.reach,
        }
    }

    /// The square of the distance within which a radius holds every point.
    fn certain(&self, radius: f64) -> f64 {
        let geographic = self.at.index.geographic;
        if geographic { sphere::squared_chord_of_arc(radius) } else { radius * radius }
    }

    /// Pushes the candidates of cells that lie within `certain`.
    fn collect(&self, cells: &CellBox, certain: f64, wanted: u8, candidates: &mut Vec<Candidate>) {
        let (index, at) = (self.at.index, self.at.at);
        let reach = if self.limited { self.search.reach } else { f64::INFINITY };
        let most = certain.min(reach * reach);
        let ellipse = self.search.ellipse.filter(|_| self.limited);
        for run in cells.runs(index) {
            for i in run {
                let p = index.places[i];
                let [dx, dy, dz] = [p[0] - at[0], p[1] - at[1], p[2] - at[2]];
                let mut squared = dx * dx + dy * dy;
                if index.geographic {
                    squared += dz * dz;
                }
                if squared > most {
                    continue;
                }
                let index = index.order[i];
                let quadrant = u8::from(dx >= 0.0) | u8::from(dy >= 0.0) << 1;
                if wanted != ALL_QUADRANTS && wanted != quadrant {
                    continue;
                }
                if ellipse.is_none_or(|e| e.holds(dx, dy)) && Some(index) != self.left_out {
                    candidates.push(Candidate { squared, index, sorted: i as u32, quadrant });
                }
            }
        }
    }

    /// The cells within a radius, of a quadrant or all, and whether no other cell can hold a candidate.
    fn cells_within(&self, radius: f64, quadrant: u8) -> (CellBox, bool) {
        let [mut x, mut y] = [radius; 2];
        if self.limited && self.at.index.geographic {
            x = x.min(self.search.arc);
            y = x;
        } else if self.limited {
            (x, y) = (x.min(self.search.extent[0]), y.min(self.search.extent[1]));
        }
        let is_round = x == radius && y == radius;
        let (cells, is_whole) =
            if is_round { self.at.disc_of(radius) } else { self.at.box_of([x, y]) };
        let (cells, is_whole) = cells.part(is_whole, &self.at, quadrant);
        (cells, is_whole || (x < radius && y < radius))
    }
}

/// How many of each quadrant count: by turns, the nearest of each, then the second nearest of each, and
/// so on until `most`.
fn by_turns(counts: [u32; 4], most: u32) -> [u32; 4] {
    let total = |rounds: u32| counts.iter().map(|&n| u64::from(n.min(rounds))).sum::<u64>();
    if total(u32::MAX) <= u64::from(most) {
        return counts;
    }
    let rounds = (0..=most).take_while(|&r| total(r) <= u64::from(most)).last().unwrap_or(0);
    let mut rest = u64::from(most) - total(rounds);
    counts.map(|n| {
        let extra = u32::from(n > rounds && rest > 0);
        rest -= u64::from(extra);
        n.min(rounds) + extra
    })
}
