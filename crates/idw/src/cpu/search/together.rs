//! The neighbours of sixteen targets side by side, which share nearly all of their candidates.
//!
//! Plan: gather the points within a radius of the patch's middle once. Each point gets a key for each target
//! (`candidates`). Vectors of targets keep lists of the least keys, one entry more than the number of neighbours
//! (`min_lists`). By the triangle inequality a list is certain if its last neighbour is nearer than the radius less the
//! distance from target to middle. A list that is not certain tells a radius that is enough. A patch begins with a
//! radius a little above what the previous patch needed. If the cells around hold too many points, or too few, the
//! patch searches the k-d tree instead (`descent`).
//!
//! Two entries of a list, or its last neighbour and the next, may have keys that differ only in the place. This happens
//! on a lattice, and for points at one place. Then the search chooses the target's neighbours among the candidates by
//! distance and index, like a single search. So all methods find the same neighbours in the same order.
#![expect(clippy::needless_range_loop, reason = "as loops over lanes they become vectors")]

use crate::TooFewPoints;
use crate::cpu::index::Index;
use crate::cpu::search::candidates::{Candidates, Seen, greatest, place, prefix};
use crate::cpu::search::kd_tree::Way;
use crate::cpu::search::min_lists::{LANES, LONGEST, Row, length, merge};
use crate::cpu::search::neighbours::{Candidate, Scratch};
use crate::cpu::search::patch::{LONGER, Lanes, Patch};
use crate::search::Search;

/// Candidates whose keys are made before they are brought into the lists.
const BLOCK: usize = 32;

/// How much more than a patch needed the next one begins with: of uniform points with 12 neighbours one patch in eleven is
/// then searched twice, of 46 candidates. With nothing more every second one is, of 39.
const WIDER: f64 = 1.1;

/// How often a radius is widened before cells are given up.
const MAX_TRIES: u32 = 6;

/// Memory that searches of one thread share; after a search it holds what was found.
#[derive(Default)]
pub(crate) struct Together {
    pub lanes: Lanes,
    pub candidates: Candidates,
    /// Entry j of the list of each lane.
    pub lists: Vec<Row>,
    /// The stack of a search of the tree.
    pub way: Way,
    /// The radius that the next patch begins with.
    radius: Option<f64>,
}

impl Together {
    /// Whether such a search can take targets together: if it is by number of neighbours, without quadrants.
    pub fn serves(search: &Search) -> bool {
        !search.quadrants && (search.max_points as usize) < LONGEST
    }

    /// Searches the cells for the neighbours of a patch; returns false if the patch needs the tree.
    pub fn find(&mut self, patch: &Patch, search: &Search) -> bool {
        let Patch { middle, lanes, apart } = patch;
        let widest = apart.iter().copied().fold(0.0, f64::max);
        let limit = (search.reach.min(search.extent[0].hypot(search.extent[1])) + widest) * LONGER;
        let wanted = f64::from(search.max_points);
        let first = || Some(middle.chord(middle.radius_of(wanted)?) + widest);
        let Some(mut radius) = self.radius.take().or_else(first) else { return false };
        for _ in 0..MAX_TRIES {
            radius = radius.min(limit);
            let (cells, is_whole) = middle.disc_of(middle.arc(radius));
            let most = if is_whole { f64::INFINITY } else { radius * radius };
            self.begin(*lanes, search);
            if !self.candidates.collect(middle, &cells, most) {
                return false;
            }
            self.list(&middle.index.order, search);
            let needed = self.needed(search, apart);
            if is_whole || radius >= limit || needed <= radius {
                // The next patch is about as far away as this one is wide, so this much more is enough.
                let wider = f64::min(needed * WIDER, needed + 2.0 * widest);
                self.radius = Some(wider).filter(|radius| radius.is_finite());
                return true;
            }
            // Among points in one place the last patch may have needed nothing.
            let wider = || Some(f64::max(2.0 * radius, first()?));
            let Some(next) = Some(needed).filter(|needed| needed.is_finite()).or_else(wider) else {
                return false;
            };
            radius = next;
        }
        false
    }

    /// Begins a search, with empty lists.
    pub fn begin(&mut self, lanes: Lanes, search: &Search) {
        (self.lanes, self.candidates.count) = (lanes, 0);
        self.lists.clear();
        self.lists.resize(length(search.max_points as usize + 1), [f64::INFINITY; LANES]);
    }

    /// Makes the lists of the least keys.
    fn list(&mut self, order: &[u32], search: &Search) {
        let Self { candidates, lanes, lists, .. } = self;
        let seen = Seen { candidates: &*candidates, lanes: &*lanes, search, order };
        let mut rows = [[0.0; LANES]; BLOCK];
        for first in (0..candidates.count).step_by(BLOCK) {
            let rows = &mut rows[..BLOCK.min(candidates.count - first)];
            seen.keys(first, rows);
            merge(rows, lists);
        }
    }

    /// How far from the middle the points lie at most that any target takes, by the lists; infinite where one is not
    /// full.
    fn needed(&self, search: &Search, apart: &Row) -> f64 {
        let last = &self.lists[search.max_points as usize - 1];
        let mut needed: f64 = 0.0;
        for lane in 0..LANES {
            let far = greatest(last[lane]).sqrt() + apart[lane];
            let far = if last[lane] < f64::INFINITY { far * LONGER } else { f64::INFINITY };
            needed = if far > needed { far } else { needed };
        }
        needed
    }

    /// Returns entry `j` of each list: the sorted point and its squared distance, which is infinite without a point.
    #[inline(always)]
    pub fn entry(&self, j: usize) -> ([u32; LANES], Row) {
        // Loops over lanes become vectors, which `map` of arrays does not.
        let (mut sorted, mut at) = ([0; LANES], [[0.0; LANES]; 3]);
        for lane in 0..LANES {
            let place = place(self.lists[j][lane]);
            sorted[lane] = self.candidates.sorted[place];
            for axis in 0..3 {
                at[axis][lane] = self.candidates.at[axis][place];
            }
        }
        let mut squared = [0.0; LANES];
        for lane in 0..LANES {
            let of_lane = self.lanes.squared(lane, [at[0][lane], at[1][lane], at[2][lane]]);
            let is_there = self.lists[j][lane] < f64::INFINITY;
            squared[lane] = if is_there { of_lane } else { f64::INFINITY };
        }
        (sorted, squared)
    }

    /// Tells which targets have all of their neighbours in the first entries of their lists.
    #[inline(always)]
    pub fn settled(&self, search: &Search) -> [bool; LANES] {
        let wanted = search.max_points as usize;
        let mut settled = [true; LANES];
        for (a, b) in self.lists.iter().zip(&self.lists[1..]).take(wanted) {
            for lane in 0..LANES {
                let is_told = prefix(a[lane]) != prefix(b[lane]) || a[lane] == f64::INFINITY;
                settled[lane] &= is_told;
            }
        }
        let least = &self.lists[search.min_points.max(1).min(search.max_points) as usize - 1];
        for lane in 0..LANES {
            settled[lane] &= least[lane] < f64::INFINITY;
        }
        settled
    }

    /// Takes the neighbours of a target from its list; returns false if the target needs a single search.
    pub fn take(&self, index: &Index, search: &Search, lane: usize, scratch: &mut Scratch) -> bool {
        let candidates = &mut scratch.candidates;
        candidates.clear();
        let wanted = search.max_points as usize;
        let list = || self.lists.iter().map(|row| row[lane]).take_while(|key| key.is_finite());
        if list().zip(list().skip(1)).take(wanted).any(|(a, b)| prefix(a) == prefix(b)) {
            self.choose(index, search, lane, candidates);
        } else {
            candidates.extend(list().take(wanted).map(|key| self.near(index, lane, place(key))));
        }
        scratch.enough = candidates.len() >= search.min_points.max(1) as usize;
        scratch.enough || search.too_few_points != TooFewPoints::Nearest
    }

    /// Chooses a target's neighbours where keys do not tell them apart.
    fn choose(&self, index: &Index, search: &Search, lane: usize, candidates: &mut Vec<Candidate>) {
        let last = self.lists[search.max_points as usize - 1][lane];
        let far = if last.is_finite() { prefix(last) } else { u64::MAX };
        let most = search.reach * search.reach;
        for place in 0..self.candidates.count {
            let candidate = self.near(index, lane, place);
            let [dx, dy] =
                [0, 1].map(|axis| self.candidates.at[axis][place] - self.lanes.at[axis][lane]);
            if candidate.squared <= most
                && prefix(candidate.squared) <= far
                && candidate.index != self.lanes.left_out[lane]
                && search.ellipse.is_none_or(|e| e.holds(dx, dy))
            {
                candidates.push(candidate);
            }
        }
        candidates.sort_unstable_by_key(Candidate::key);
        candidates.truncate(search.max_points as usize);
    }

    /// Returns the candidate at a place, as a target sees it.
    fn near(&self, index: &Index, lane: usize, place: usize) -> Candidate {
        let at = [0, 1, 2].map(|axis| self.candidates.at[axis][place]);
        let (squared, sorted) = (self.lanes.squared(lane, at), self.candidates.sorted[place]);
        Candidate { squared, index: index.order[sorted as usize], sorted, quadrant: 0 }
    }
}
