//! The neighbours of sixteen targets side by side, which share nearly all of their candidates.
//!
//! Plan: the points within a radius of the patch's middle are brought together once. Each of them gets a key for
//! each target, the square of the distance with the point's place among the candidates in its lowest bits; lists of
//! the least keys, one entry more than neighbours are wanted, are kept in vectors of targets (`least`). By the
//! triangle inequality a list is certain where its last neighbour lies nearer than the radius less the way from
//! target to middle; where one is not, it says what radius is enough. A patch begins with what sufficed for
//! the one before.
//!
//! Keys tell distances apart to 42 bits. Where two entries of a list, or its last neighbour and the next, agree in them,
//! as points of a lattice do and those in one place, the target's neighbours are chosen from the candidates by
//! their distances and indices, as in a search by itself. So both have the same neighbours in the same order.
#![expect(clippy::needless_range_loop, reason = "as loops over lanes they become vectors")]

use std::ops::Range;

use super::boxes::{CellBox, Place};
use super::index::Index;
use super::least::{LANES, LONGEST, Row, length, merge};
use super::neighbours::{Candidate, Scratch};
use crate::Below;
use crate::search::Search;

/// Room for candidates; with fewer there are not too many.
const MOST: usize = 1 << 10;

/// The bits of a key that say which candidate it is of.
const PLACE: u64 = MOST as u64 - 1;

/// The most points in the cells that candidates are sought in. Where a patch's have more, the targets are far from
/// each other beside the points, or the cells are crowded.
const MOST_IN_CELLS: usize = 4 * MOST;

/// Candidates whose keys are made before they are brought into the lists.
const BLOCK: usize = 32;

/// What distances are taken longer by, so that no rounding makes one too short.
const LONGER: f64 = 1.0 + 1e-9;

/// No point.
const NONE: u32 = u32::MAX;

/// Targets that are searched together; the lanes beyond their number repeat the last.
pub(super) struct Patch<'a, 'b> {
    middle: Place<'a, 'b>,
    lanes: Lanes,
    /// How far the targets are from the middle.
    apart: Row,
}

/// The places of a patch's targets, and the point that each leaves out.
#[derive(Clone, Copy, Default)]
struct Lanes {
    at: [Row; 3],
    left_out: [u32; LANES],
    /// Whether any leaves out a point.
    leave_out: bool,
}

/// Memory that searches of one thread share; after a search it holds what was found.
#[derive(Default)]
pub(super) struct Together {
    lanes: Lanes,
    near: Near,
    /// Entry j of each lane's list.
    lists: Vec<Row>,
    /// The radius that sufficed for the last patch.
    sufficed: Option<f64>,
}

/// The candidates of a patch: their places, and which of the sorted points they are.
struct Near {
    count: usize,
    at: Box<[[f64; MOST]; 3]>,
    sorted: Box<[u32; MOST]>,
}

impl Default for Near {
    fn default() -> Self {
        Self { count: 0, at: Box::new([[0.0; MOST]; 3]), sorted: Box::new([0; MOST]) }
    }
}

impl<'a, 'b> Patch<'a, 'b> {
    /// Of at least one target, each with the point that it leaves out.
    pub fn new(
        index: &'a Index<'b>,
        targets: impl Iterator<Item = ((f64, f64), Option<u32>)>,
    ) -> Self {
        let mut lanes = Lanes { left_out: [NONE; LANES], ..Lanes::default() };
        let [mut low, mut high] = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
        let mut count = 0;
        for ((x, y), left_out) in targets {
            low = [low[0].min(x), low[1].min(y)];
            high = [high[0].max(x), high[1].max(y)];
            lanes.set(count, Place::new(index, (x, y)).at, left_out.unwrap_or(NONE));
            count += 1;
        }
        for lane in count..LANES {
            lanes.set(lane, lanes.at.map(|axis| axis[count - 1]), NONE);
        }
        let middle = [0, 1].map(|axis| low[axis] / 2.0 + high[axis] / 2.0);
        let middle = Place::new(index, middle.into());
        let apart = std::array::from_fn(|lane| lanes.squared(lane, middle.at).sqrt() * LONGER);
        Self { middle, lanes, apart }
    }
}

impl Lanes {
    fn set(&mut self, lane: usize, at: [f64; 3], left_out: u32) {
        self.at.iter_mut().zip(at).for_each(|(axis, at)| axis[lane] = at);
        self.left_out[lane] = left_out;
        self.leave_out |= left_out != NONE;
    }

    /// The square of a target's distance from a place. (In the plane the last square is 0, and changes no bit.)
    #[inline(always)]
    fn squared(&self, lane: usize, place: [f64; 3]) -> f64 {
        let [x, y, z] = &self.at;
        let (dx, dy, dz) = (place[0] - x[lane], place[1] - y[lane], place[2] - z[lane]);
        dx * dx + dy * dy + dz * dz
    }
}

impl Together {
    /// Whether searches like this can be for targets together: by the number of neighbours, without quadrants.
    pub fn serves(search: &Search) -> bool {
        !search.quadrants && (search.max_points as usize) < LONGEST
    }

    /// Searches for the neighbours of a patch; false where its targets must be searched by themselves.
    pub fn find(&mut self, patch: &Patch, search: &Search) -> bool {
        let Patch { middle, lanes, apart } = patch;
        self.lanes = *lanes;
        let widest = apart.iter().copied().fold(0.0, f64::max);
        let limit = (search.reach.min(search.extent[0].hypot(search.extent[1])) + widest) * LONGER;
        let first = || middle.chord(middle.radius_of(f64::from(search.max_points))) + widest;
        let mut is_first = self.sufficed.is_none();
        let mut radius = self.sufficed.take().unwrap_or_else(first);
        loop {
            radius = radius.min(limit);
            let (cells, is_whole) = middle.box_of([middle.arc(radius); 2]);
            let most = if is_whole { f64::INFINITY } else { radius * radius };
            if !self.near.collect(middle, &cells, most) {
                if is_first {
                    return false;
                }
                (is_first, radius) = (true, first());
                continue;
            }
            self.list(&middle.index.order, search);
            let needed = self.needed(search, apart);
            if is_whole || radius >= limit || needed <= radius {
                self.sufficed = Some(needed).filter(|needed| needed.is_finite());
                return true;
            }
            // Among points in one place the last patch may have needed nothing.
            radius = if needed.is_finite() { needed } else { (2.0 * radius).max(first()) };
        }
    }
    /// Makes the lists of the least keys.
    fn list(&mut self, order: &[u32], search: &Search) {
        self.lists.clear();
        self.lists.resize(length(search.max_points as usize + 1), [f64::INFINITY; LANES]);
        let mut rows = [[0.0; LANES]; BLOCK];
        for first in (0..self.near.count).step_by(BLOCK) {
            let rows = &mut rows[..BLOCK.min(self.near.count - first)];
            keys(&self.lanes, &self.near, order, search, first, rows);
            merge(rows, &mut self.lists);
        }
    }

    /// How far from the middle the points lie at most that any target takes, by the lists; infinite where one is not
    /// full.
    fn needed(&self, search: &Search, apart: &Row) -> f64 {
        let last = &self.lists[search.max_points as usize - 1];
        let mut needed: f64 = 0.0;
        for lane in 0..LANES {
            let far = f64::from_bits(last[lane].to_bits() | PLACE).sqrt() + apart[lane];
            let far = if last[lane] < f64::INFINITY { far * LONGER } else { f64::INFINITY };
            needed = if far > needed { far } else { needed };
        }
        needed
    }

    /// Entry `j` of each list: the sorted point, and the square of its distance, infinite where there is none.
    #[inline(always)]
    pub fn entry(&self, j: usize) -> ([u32; LANES], Row) {
        // Loops over lanes become vectors, which `map` of arrays does not.
        let (mut sorted, mut at) = ([0; LANES], [[0.0; LANES]; 3]);
        for lane in 0..LANES {
            let place = (self.lists[j][lane].to_bits() & PLACE) as usize;
            sorted[lane] = self.near.sorted[place];
            for axis in 0..3 {
                at[axis][lane] = self.near.at[axis][place];
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

    /// Which targets have their neighbours, and as many as are wanted, in the first entries of their lists.
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

    /// Takes what was found for a target; false where it must be searched by itself.
    pub fn take(&self, index: &Index, search: &Search, lane: usize, scratch: &mut Scratch) -> bool {
        let candidates = &mut scratch.candidates;
        candidates.clear();
        let wanted = search.max_points as usize;
        let list = || self.lists.iter().map(|row| row[lane]).take_while(|key| key.is_finite());
        if list().zip(list().skip(1)).take(wanted).any(|(a, b)| prefix(a) == prefix(b)) {
            self.choose(index, search, lane, candidates);
        } else {
            let place = |key: f64| (key.to_bits() & PLACE) as usize;
            candidates.extend(list().take(wanted).map(|key| self.near(index, lane, place(key))));
        }
        scratch.enough = candidates.len() >= search.min_points.max(1) as usize;
        scratch.enough || search.below != Below::Nearest
    }

    /// Chooses a target's neighbours where keys do not tell them apart.
    fn choose(&self, index: &Index, search: &Search, lane: usize, candidates: &mut Vec<Candidate>) {
        let last = self.lists[search.max_points as usize - 1][lane];
        let far = if last.is_finite() { prefix(last) } else { u64::MAX };
        let most = search.reach * search.reach;
        for place in 0..self.near.count {
            let candidate = self.near(index, lane, place);
            let [dx, dy] = [0, 1].map(|axis| self.near.at[axis][place] - self.lanes.at[axis][lane]);
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

    /// What is at a place among the candidates, as a target sees it.
    fn near(&self, index: &Index, lane: usize, place: usize) -> Candidate {
        let at = [0, 1, 2].map(|axis| self.near.at[axis][place]);
        let (squared, sorted) = (self.lanes.squared(lane, at), self.near.sorted[place]);
        Candidate { squared, index: index.order[sorted as usize], sorted, quadrant: 0 }
    }
}

/// What of a key, or of the square of a distance, orders by distance.
fn prefix(key: f64) -> u64 {
    key.to_bits() & !PLACE
}

impl Near {
    /// Brings the points of cells whose distance from the middle has at most this square; false where there are too
    /// many.
    fn collect(&mut self, middle: &Place, cells: &CellBox, most: f64) -> bool {
        self.count = 0;
        let mut in_cells = 0;
        let mut is_little = |run: Range<usize>| {
            in_cells += run.len();
            in_cells <= MOST_IN_CELLS
        };
        // Counted before any is looked at: a patch of targets far from each other ends here.
        cells.runs(middle.index).all(&mut is_little)
            && cells.runs(middle.index).all(|run| self.extend(middle, run, most))
    }

    /// Brings those of a run of sorted points.
    fn extend(&mut self, middle: &Place, run: Range<usize>, most: f64) -> bool {
        let [x, y, z] = &mut *self.at;
        let mut count = self.count;
        for (sorted, &place) in run.clone().zip(&middle.index.places[run]) {
            let (dx, dy) = (place[0] - middle.at[0], place[1] - middle.at[1]);
            let dz = place[2] - middle.at[2];
            // Written in any case, and kept if it is near: no branch, which would be guessed wrongly.
            [x[count], y[count], z[count]] = place;
            self.sorted[count] = sorted as u32;
            let is_near = dx * dx + dy * dy + dz * dz <= most;
            count = (count + usize::from(is_near)).min(MOST - 1);
        }
        self.count = count;
        count < MOST - 1
    }
}

/// The keys of candidates from `first` on, for each target; infinite where the search does not want them. The same
/// operations on every processor: the wider instructions change no bit.
fn keys(
    lanes: &Lanes,
    near: &Near,
    order: &[u32],
    search: &Search,
    first: usize,
    rows: &mut [Row],
) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn widest(
            lanes: &Lanes,
            near: &Near,
            order: &[u32],
            search: &Search,
            first: usize,
            rows: &mut [Row],
        ) {
            keys_of(lanes, near, order, search, first, rows);
        }
        #[target_feature(enable = "avx2")]
        fn wide(
            lanes: &Lanes,
            near: &Near,
            order: &[u32],
            search: &Search,
            first: usize,
            rows: &mut [Row],
        ) {
            keys_of(lanes, near, order, search, first, rows);
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions: it was looked up.
            return unsafe { widest(lanes, near, order, search, first, rows) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { wide(lanes, near, order, search, first, rows) };
        }
    }
    keys_of(lanes, near, order, search, first, rows);
}

#[inline(always)]
fn keys_of(
    lanes: &Lanes,
    near: &Near,
    order: &[u32],
    search: &Search,
    first: usize,
    rows: &mut [Row],
) {
    let [x, y, z] = lanes.at;
    let most = search.reach * search.reach;
    for (place, row) in (first..).zip(rows) {
        let at = [near.at[0][place], near.at[1][place], near.at[2][place]];
        for lane in 0..LANES {
            let [dx, dy, dz] = [at[0] - x[lane], at[1] - y[lane], at[2] - z[lane]];
            let squared = dx * dx + dy * dy + dz * dz;
            let key = f64::from_bits(squared.to_bits() & !PLACE | place as u64);
            row[lane] = if squared <= most { key } else { f64::INFINITY };
        }
        if let Some(ellipse) = search.ellipse {
            for lane in 0..LANES {
                let inside = ellipse.holds(at[0] - x[lane], at[1] - y[lane]);
                row[lane] = if inside { row[lane] } else { f64::INFINITY };
            }
        }
        if lanes.leave_out {
            let of_point = order[near.sorted[place] as usize];
            for lane in 0..LANES {
                let is_left_out = of_point == lanes.left_out[lane];
                row[lane] = if is_left_out { f64::INFINITY } else { row[lane] };
            }
        }
    }
}
