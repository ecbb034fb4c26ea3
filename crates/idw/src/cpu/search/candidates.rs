//! The candidates of a patch, and their keys.
//!
//! A key is the square of a candidate's distance from a target, with the candidate's place among all in its lowest
//! bits. So the least key also tells which candidate has it. Squares keep 42 of 52 bits to tell them apart.
#![expect(clippy::needless_range_loop, reason = "as loops over lanes they become vectors")]

use std::ops::Range;

use crate::cpu::search::boxes::{CellBox, Place};
use crate::cpu::search::kd_tree::Point;
use crate::cpu::search::min_lists::{LANES, Row};
use crate::cpu::search::patch::Lanes;
use crate::search::Search;

/// The most candidates; the arrays hold this many.
pub(crate) const MOST: usize = 1 << 10;

/// The bits of a key that say which candidate it is of.
const PLACE: u64 = MOST as u64 - 1;

/// The most points in the cells that a patch searches for candidates. With more, either the targets are far apart
/// compared with the points, or the cells hold too many points.
const MAX_IN_CELLS: usize = 2 * MOST;

/// The candidates of a patch: their places, and which of the sorted points they are.
pub(crate) struct Candidates {
    pub count: usize,
    pub at: Box<[[f64; MOST]; 3]>,
    pub sorted: Box<[u32; MOST]>,
    /// The cost of searches: how many points of cells they compared.
    pub looks: u64,
}

impl Default for Candidates {
    fn default() -> Self {
        Self { count: 0, at: Box::new([[0.0; MOST]; 3]), sorted: Box::new([0; MOST]), looks: 0 }
    }
}

/// The candidates of a patch as a search sees them.
pub(crate) struct Seen<'a> {
    pub candidates: &'a Candidates,
    pub lanes: &'a Lanes,
    pub search: &'a Search,
    /// The index of each sorted point.
    pub order: &'a [u32],
}

/// Which candidate a key is of.
#[inline(always)]
pub(crate) fn place(key: f64) -> usize {
    (key.to_bits() & PLACE) as usize
}

/// Returns the bits of a key, or of the square of a distance, that order by distance.
#[inline(always)]
pub(crate) fn prefix(key: f64) -> u64 {
    key.to_bits() & !PLACE
}

/// The greatest square that has the prefix of a key.
#[inline(always)]
pub(crate) fn greatest(key: f64) -> f64 {
    f64::from_bits(key.to_bits() | PLACE)
}

/// The keys of a candidate that has another place now.
#[inline(always)]
pub(crate) fn renumbered(row: &Row, place: usize) -> Row {
    let mut keys = *row;
    for lane in 0..LANES {
        let key = f64::from_bits(prefix(row[lane]) | place as u64);
        keys[lane] = if row[lane] < f64::INFINITY { key } else { f64::INFINITY };
    }
    keys
}

impl Candidates {
    /// Stores points behind the candidates, without counting them.
    #[inline(always)]
    pub fn put(&mut self, points: &[Point]) {
        for (place, point) in (self.count..).zip(points) {
            (0..3).for_each(|axis| self.at[axis][place] = point.place[axis]);
            self.sorted[place] = point.sorted;
        }
    }

    /// Copies the candidate at one position to another.
    #[inline(always)]
    pub fn copy(&mut self, from: usize, to: usize) {
        (0..3).for_each(|axis| self.at[axis][to] = self.at[axis][from]);
        self.sorted[to] = self.sorted[from];
    }

    /// Gathers the points of cells whose squared distance from the middle is at most this; returns false if there are
    /// too many.
    pub fn collect(&mut self, middle: &Place, cells: &CellBox, most: f64) -> bool {
        self.count = 0;
        let mut in_cells = 0;
        let mut is_little = |run: Range<usize>| {
            in_cells += run.len();
            in_cells <= MAX_IN_CELLS
        };
        // Counts before it computes any distance: a patch of targets far from each other ends here.
        cells.are_few()
            && cells.runs(middle.index).all(&mut is_little)
            && cells.runs(middle.index).all(|run| self.extend(middle, run, most))
    }

    /// Adds the candidates of a run of sorted points.
    fn extend(&mut self, middle: &Place, run: Range<usize>, most: f64) -> bool {
        self.looks += run.len() as u64;
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

impl Seen<'_> {
    /// Computes the keys of the candidates from `first` on, for each target; infinite for candidates that do not count.
    /// Operations are the same on every processor: wider instructions change no bit.
    pub fn keys(&self, first: usize, rows: &mut [Row]) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f")]
            fn widest(seen: &Seen, first: usize, rows: &mut [Row]) {
                seen.make_keys(first, rows);
            }
            #[target_feature(enable = "avx2")]
            fn wide(seen: &Seen, first: usize, rows: &mut [Row]) {
                seen.make_keys(first, rows);
            }
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: a check has found these instructions on the processor.
                return unsafe { widest(self, first, rows) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                return unsafe { wide(self, first, rows) };
            }
        }
        self.make_keys(first, rows);
    }

    /// [`keys`](Self::keys), in what calls it.
    #[inline(always)]
    pub fn make_keys(&self, first: usize, rows: &mut [Row]) {
        let Self { candidates, lanes, search, order } = *self;
        let [x, y, z] = lanes.at;
        let most = search.reach * search.reach;
        for (place, row) in (first..).zip(rows) {
            let at = [candidates.at[0][place], candidates.at[1][place], candidates.at[2][place]];
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
                let of_point = order[candidates.sorted[place] as usize];
                for lane in 0..LANES {
                    let is_left_out = of_point == lanes.left_out[lane];
                    row[lane] = if is_left_out { f64::INFINITY } else { row[lane] };
                }
            }
        }
    }
}
