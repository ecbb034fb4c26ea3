//! The neighbours of a target that is searched by itself: in the cells around it, or in the k-d tree.
//!
//! Where points are about as dense as elsewhere, the search estimates a radius that holds enough points, and visits the
//! points of the cells within. In other places, and for searches by quadrants, it goes down the tree to the nearest
//! leaves first, and keeps the nearest points that it visits. It skips a node that is farther than the last of these
//! points, and one that lies outside the quadrant or the ellipse.

use kernels_rs::spatial::sphere;

use crate::TooFewPoints;
use crate::cpu::index::Index;
use crate::cpu::search::boxes::Place;
use crate::cpu::search::diagonal::Diagonal;
use crate::cpu::search::kd_tree::{Halves, Node, Point};
use crate::cpu::search::neighbours::{Candidate, Scratch};
use crate::cpu::search::patch::LONGER;
use crate::search::Search;

/// Which points count: all, or those of one of the quadrants around a place.
const ALL_QUADRANTS: u8 = 4;

/// How often a radius is widened before cells are given up.
const MAX_TRIES: u32 = 4;

/// The most points to visit for each that may be listed, before the search leaves the cells for the tree.
const MAX_LOOKS: usize = 8;

/// A target as the search sees it.
struct Target<'a, 'b> {
    at: Place<'a, 'b>,
    search: &'a Search,
    left_out: Option<u32>,
    limited: bool,
}

/// Finds the neighbours of a target, in the tree or without one in the cells; false where these do not serve.
pub(crate) fn find(
    (index, tree): (&Index, Option<&Halves>),
    search: &Search,
    target: (f64, f64),
    left_out: Option<u32>,
    scratch: &mut Scratch,
) -> bool {
    let at = Place::new(index, target);
    let mut target = Target { at, search, left_out, limited: true };
    scratch.many = false;
    let Some(tree) = tree else { return target.take_from_cells(scratch) };
    scratch.enough = target.take(tree, scratch);
    if scratch.many {
        return true;
    }
    if !scratch.enough && search.too_few_points == TooFewPoints::Nearest {
        target.limited = false;
        let wanted = search.fallback();
        target.nearest(tree, wanted, false, scratch);
        keep_first(&mut scratch.candidates, wanted as usize);
        scratch.enough = scratch.candidates.len() >= search.min_points.max(1) as usize;
    }
    scratch.candidates.sort_unstable_by_key(Candidate::key);
    true
}

/// Keeps the first in order, in any order.
fn keep_first(candidates: &mut Vec<Candidate>, most: usize) {
    if candidates.len() > most {
        candidates.select_nth_unstable_by_key(most, Candidate::key);
        candidates.truncate(most);
    }
}

impl Target<'_, '_> {
    /// Takes the neighbours that the search wants from the cells around; false where these do not serve.
    fn take_from_cells(&self, scratch: &mut Scratch) -> bool {
        let (s, wanted) = (self.search, self.search.max_points as usize);
        let limit = match self.at.index.geographic {
            true => s.arc,
            false => s.reach.min(s.extent[0].hypot(s.extent[1])),
        } * LONGER;
        let first = match s.max_points {
            u32::MAX => Some(limit),
            most => self.at.radius_of(f64::from(most)),
        };
        let Some(mut radius) = first.filter(|_| !s.quadrants) else { return false };
        if self.has_many(limit) {
            return scratch.sum_without_list();
        }
        for _ in 0..MAX_TRIES {
            radius = radius.min(limit);
            if !self.collect(radius, scratch) {
                return false;
            }
            if scratch.candidates.len() > s.many {
                return scratch.sum_without_list();
            }
            if scratch.candidates.len() >= wanted || radius >= limit {
                keep_first(&mut scratch.candidates, wanted);
                scratch.candidates.sort_unstable_by_key(Candidate::key);
                scratch.enough = scratch.candidates.len() >= s.min_points.max(1) as usize;
                return scratch.enough || s.too_few_points != TooFewPoints::Nearest;
            }
            radius *= 1.5;
        }
        false
    }

    /// Whether the cells within a square around the place, which a circle of this radius holds, have more points than are
    /// listed. They are counted until they are enough.
    fn has_many(&self, radius: f64) -> bool {
        let (s, index) = (self.search, self.at.index);
        if s.many == usize::MAX || index.geographic || s.ellipse.is_some() || radius.is_infinite() {
            return false;
        }
        // The search leaves out one point. Cells between those of two sides lie between the sides.
        let (cells, half, mut wanted) = (&index.cells, 0.7 * radius, s.many + 2);
        let [x, y, _] = self.at.at;
        let (first, end) = (cells.column(x - half) + 1, cells.column(x + half));
        for row in cells.row(y - half) + 1..cells.row(y + half) {
            let start = (row * cells.columns) as usize;
            let [from, to] =
                [first, end.max(first)].map(|column| index.starts[start + column as usize]);
            match wanted.checked_sub((to - from) as usize) {
                Some(rest) if rest > 0 => wanted = rest,
                _ => return true,
            }
        }
        false
    }

    /// Collects all candidates within a radius, or more than are listed; false where the cells do not serve.
    fn collect(&self, radius: f64, scratch: &mut Scratch) -> bool {
        let Scratch { candidates, way, .. } = scratch;
        candidates.clear();
        let (index, chord) = (self.at.index, self.at.chord(radius));
        let (cells, _) = match self.search.max_points {
            u32::MAX => self.at.box_of([radius; 2]),
            _ => self.at.disc_of(radius),
        };
        if !cells.are_few() || cells.are_crowded(index) {
            return false;
        }
        // Cells at the edge hold what lies beyond it, and one cell may hold all points: the tree tells such apart.
        let looks = || cells.runs(index).map(|run| run.len()).sum::<usize>();
        if self.search.many < usize::MAX && looks() > MAX_LOOKS * self.search.many {
            return false;
        }
        let most = f64::min(chord * chord, self.search.reach.powi(2));
        for run in cells.runs(index) {
            way.looks += run.len() as u64;
            for (sorted, &place) in (run.start as u32..).zip(&index.places[run]) {
                if let Some(c) = self.candidate(&Point { place, sorted }, ALL_QUADRANTS, most) {
                    candidates.push(c);
                    // At once: all points may lie in one cell.
                    if candidates.len() > self.search.many {
                        return true;
                    }
                }
            }
        }
        true
    }

    /// Collects the neighbours that the search wants; tells whether there are enough.
    fn take(&self, tree: &Halves, scratch: &mut Scratch) -> bool {
        let s = self.search;
        let wanted = s.max_points.min(s.max_per_quadrant).max(s.min_per_quadrant);
        self.nearest(tree, wanted, s.quadrants, scratch);
        if scratch.many || scratch.candidates.len() > s.many {
            return scratch.sum_without_list();
        }
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

    /// Collects at least the `wanted` nearest candidates, or those of each quadrant, or all there are.
    fn nearest(&self, tree: &Halves, wanted: u32, by_quadrants: bool, scratch: &mut Scratch) {
        scratch.candidates.clear();
        let quadrants = if by_quadrants { 0..ALL_QUADRANTS } else { ALL_QUADRANTS..5 };
        quadrants.for_each(|quadrant| self.nearest_of(tree, quadrant, wanted as usize, scratch));
    }

    /// Adds at least the `wanted` nearest candidates of a quadrant, or all there are.
    fn nearest_of(&self, tree: &Halves, quadrant: u8, wanted: usize, scratch: &mut Scratch) {
        let Scratch { candidates, way, many, .. } = scratch;
        let (at, before) = (self.at.at, candidates.len());
        // The square beyond which nothing counts any more.
        let mut most = if self.limited { self.search.reach.powi(2) } else { f64::INFINITY };
        way.start(tree);
        while let Some((number, node)) = way.next(tree) {
            if node.squared(at) > most || self.passes(node, quadrant) {
                continue;
            }
            let is_beyond =
                |diagonal: &Diagonal| diagonal.is_beyond(diagonal.squared(at), most.sqrt());
            if node.diagonal().is_some_and(|diagonal| is_beyond(&diagonal)) {
                continue;
            }
            // One may be left out.
            let has_many = |node: &Node| node.count() > self.search.many.saturating_add(1);
            let is_full = candidates.len() > self.search.many;
            if self.limited && (is_full || has_many(node) && self.holds_all(node)) {
                *many = true;
                return;
            }
            if !node.is_leaf() {
                way.open(tree, (number, node), at);
                continue;
            }
            // The first points in one place are enough, and one more for the point that is left out.
            let points = tree.points_of(node, wanted.saturating_add(1));
            way.looks += points.len() as u64;
            for point in points {
                let Some(candidate) = self.candidate(point, quadrant, most) else { continue };
                candidates.push(candidate);
                if candidates.len() - before == wanted.saturating_mul(2) {
                    let so_far = &mut candidates[before..];
                    let (_, last, _) =
                        so_far.select_nth_unstable_by_key(wanted - 1, Candidate::key);
                    most = last.squared;
                    candidates.truncate(before + wanted);
                }
            }
        }
    }

    /// A point as the target sees it, if it counts.
    #[inline(always)]
    fn candidate(&self, point: &Point, wanted: u8, most: f64) -> Option<Candidate> {
        let ([x, y, z], at) = (point.place, self.at.at);
        let [dx, dy, dz] = [x - at[0], y - at[1], z - at[2]];
        let squared = dx * dx + dy * dy + dz * dz;
        if squared > most {
            return None;
        }
        let quadrant = match self.at.index.geographic {
            true => sphere::quadrant(point.place, at) as u8,
            false => u8::from(dx >= 0.0) | u8::from(dy >= 0.0) << 1,
        };
        if wanted != ALL_QUADRANTS && wanted != quadrant {
            return None;
        }
        let (sorted, index) = (point.sorted, self.at.index.order[point.sorted as usize]);
        let ellipse = self.search.ellipse.filter(|_| self.limited);
        let counts = ellipse.is_none_or(|e| e.holds(dx, dy)) && Some(index) != self.left_out;
        counts.then_some(Candidate { squared, index, sorted, quadrant })
    }

    /// Whether all points of a node lie within the circle, or the ellipse.
    fn holds_all(&self, node: &Node) -> bool {
        let at = self.at.at;
        let [x, y, z] = [0, 1, 2].map(|k| [node.low[k] - at[k], node.high[k] - at[k]]);
        let [dx, dy, dz] = [x, y, z].map(|[low, high]| f64::max(-low, high));
        let ellipse = self.search.ellipse;
        self.limited
            && dx * dx + dy * dy + dz * dz <= self.search.reach.powi(2)
            && ellipse.is_none_or(|ellipse| ellipse.covers([x, y]))
    }

    /// Whether no point of a node lies in a quadrant, or in the ellipse.
    #[inline(always)]
    fn passes(&self, node: &Node, quadrant: u8) -> bool {
        let at = self.at.at;
        if quadrant != ALL_QUADRANTS {
            let (is_east, is_north) = (quadrant & 1 != 0, quadrant & 2 != 0);
            // A point of the node lies to the east where a number that is in an interval is no less than a limit; the
            // same to the north.
            let is_beside = |wanted: bool, [low, high]: [f64; 2], limit: f64| match wanted {
                true => high < limit,
                false => low >= limit,
            };
            let along = |axis: usize| [node.low[axis], node.high[axis]];
            let (east, north) = match self.at.index.geographic {
                true => ((node.turns_round(at), -sphere::WEST), (along(2), at[2])),
                false => ((along(0), at[0]), (along(1), at[1])),
            };
            if is_beside(is_east, east.0, east.1) || is_beside(is_north, north.0, north.1) {
                return true;
            }
        }
        let ellipse = self.search.ellipse.filter(|_| self.limited);
        ellipse.is_some_and(|e| node.misses(&e, [at, at]))
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
