//! The winners of the columns of a group.
//!
//! The candidates of a column are an array by row, `g[i'] = c_i' B[gap]`, infinite where a row has no site; h at row i is
//! then `A[|i - i'|] + c_i g[i']`. The winner's row never goes back (`super`), so rows are halved:
//!
//! ```text
//! solve(rows, candidates):
//!     m = the middle row; least = the least h(m, i') of the candidates i'
//!     near = the candidates with h(m, i') <= least + slack
//!     the winner of m is the first of near whose h is least
//!     solve(the rows before m, the candidates up to the last of near)
//!     solve(the rows after m, the candidates from the first of near on)
//! ```
//!
//! **Rounding.** The winner must be the site that a comparison of all h, rounded to f64, would choose. Let q lie after
//! the last of `near`, and let w be in `near`. Then at m, q is farther than w by more than `slack`, up to rounding.
//! Northward, the difference of their h is part of a sine wave. It is positive at m, and at the pole, where it is half
//! the difference of the sines of the two latitudes. A sine wave is concave where it is positive, so on the whole way
//! the difference exceeds the smaller of its values at m and at the pole. `slack` is many times the rounding of any h
//! of the raster; so is the difference at the pole, even between candidates near it. So q loses to w in f64 too in
//! every row before m. Southward the same holds.
//!
//! **Sites divide a column.** A pixel that is a site is its own winner, and no other candidate is near it. In the rows
//! between two sites no candidate beyond either site wins. So each such run of rows is halved by itself. Once a run has
//! one candidate left, this wins all remaining rows.
//!
//! **Cost.** For land and oceans in 43200 x 21600 pixels, one row in 17 is compared with candidates, in vectors: 7
//! comparisons a pixel in all. A candidate is left out if its difference of latitudes alone exceeds the h of another.

use std::ops::Range;

use super::LANES;
use crate::NONE;
use crate::cpu::rows::{Candidates, Column};
use crate::globe::Tables;

/// Numbers that go together in vectors.
const VECTOR: usize = 8;

/// Candidates beyond which it is worth finding out which can win at all.
const MANY: usize = 48;

/// What a task keeps from group to group. A group's columns follow one another, each as tall as the raster.
pub(super) struct Scratch<C> {
    /// The columns of the candidates.
    pub candidates: Vec<C>,
    /// The rows of the winners, [`NONE`] where there is no site.
    pub winners: Vec<u32>,
    /// h between a column's pixels and their winners, which the next step converts to distances.
    pub squares: Vec<f64>,
    /// g of a column.
    pub gaps: Vec<f64>,
    /// The table A for differences of rows, negative and positive. The difference d has the index `rows - 1 + d`.
    pub along: Vec<f64>,
    /// Parts to be solved: rows, and candidates.
    parts: Vec<[u32; 4]>,
}

impl<C: Column> Scratch<C> {
    pub fn new(tables: &Tables) -> Self {
        let height = tables.along.len();
        let back = tables.along.iter().skip(1).rev();
        Self {
            candidates: vec![C::NONE; LANES * height],
            winners: vec![NONE; LANES * height],
            squares: vec![f64::INFINITY; height],
            gaps: vec![f64::INFINITY; height],
            along: back.chain(&tables.along).copied().collect(),
            parts: Vec::new(),
        }
    }

    /// Takes the candidates of some columns.
    pub fn take(&mut self, candidates: &Candidates<C>, columns: Range<usize>) {
        let height = candidates.height as usize;
        for (y, row) in candidates.columns.chunks_exact(candidates.pitch).enumerate() {
            for (lane, &column) in row[columns.clone()].iter().enumerate() {
                self.candidates[lane * height + y] = column;
            }
        }
    }

    /// Finds the winners of a column of the group, and their h. `rows` have sites.
    pub fn solve(&mut self, lane: usize, x: u32, rows: &[u32], tables: &Tables) {
        let height = self.gaps.len();
        let winners = &mut self.winners[lane * height..][..height];
        let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else {
            winners.fill(NONE);
            self.squares.fill(f64::INFINITY);
            return;
        };
        let candidates = &self.candidates[lane * height..][..height];
        for ((gap, &column), cosine) in self.gaps.iter_mut().zip(candidates).zip(&tables.cosine) {
            *gap = match column == C::NONE {
                true => f64::INFINITY,
                false => cosine * tables.across[column.number().abs_diff(x) as usize],
            };
        }
        let column = ColumnOf { gaps: &self.gaps, along: &self.along, tables };
        let mut found = ColumnOutput { winners, squares: &mut self.squares };
        let candidates = first..last + 1;
        // At a pole all columns are one place.
        let poles = [0, height - 1].map(|row| tables.is_pole(row as u32));
        let rows = u32::from(poles[0])..height as u32 - u32::from(poles[1] && height > 1);
        column.solve((rows, candidates), &mut found, &mut self.parts);
        if poles[0] {
            column.fill(0..1, first, &mut found);
        }
        if poles[1] && height > 1 {
            column.fill(height - 1..height, last, &mut found);
        }
    }
}

/// Where what is found of a column goes.
struct ColumnOutput<'a> {
    winners: &'a mut [u32],
    squares: &'a mut [f64],
}

/// The candidates of a column.
struct ColumnOf<'a> {
    gaps: &'a [f64],
    along: &'a [f64],
    tables: &'a Tables,
}

impl ColumnOf<'_> {
    /// The winners of rows among candidates, of which some are sites.
    fn solve(
        &self,
        whole: (Range<u32>, Range<u32>),
        found: &mut ColumnOutput<'_>,
        parts: &mut Vec<[u32; 4]>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.solve_avx2(whole, found, parts) };
        }
        self.solve_by_runs(whole, found, parts);
    }

    /// The same, compiled for wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn solve_avx2(
        &self,
        whole: (Range<u32>, Range<u32>),
        found: &mut ColumnOutput<'_>,
        parts: &mut Vec<[u32; 4]>,
    ) {
        self.solve_by_runs(whole, found, parts);
    }

    #[inline(always)]
    fn solve_by_runs(
        &self,
        (rows, candidates): (Range<u32>, Range<u32>),
        found: &mut ColumnOutput<'_>,
        parts: &mut Vec<[u32; 4]>,
    ) {
        // Where rows are so near that the slack spans several, those beside a site are as near as it.
        if self.tables.along.get(1).is_some_and(|&along| along <= self.tables.slack) {
            return self.solve_by_halves((rows, candidates), found, parts);
        }
        let is_site = |row: u32| self.gaps[row as usize] == 0.0;
        let (mut row, mut low) = (rows.start, candidates.start);
        while row < rows.end {
            if is_site(row) {
                found.winners[row as usize] = row;
                found.squares[row as usize] = 0.0;
                low = row;
                row += 1;
                continue;
            }
            let start = row;
            while row < rows.end && !is_site(row) {
                row += 1;
            }
            let high = if row < rows.end { row + 1 } else { candidates.end };
            self.solve_by_halves((start..row, low..high), found, parts);
        }
    }

    #[inline(always)]
    fn solve_by_halves(
        &self,
        (rows, candidates): (Range<u32>, Range<u32>),
        found: &mut ColumnOutput<'_>,
        parts: &mut Vec<[u32; 4]>,
    ) {
        parts.clear();
        parts.push([rows.start, rows.end, candidates.start, candidates.end]);
        while let Some([start, end, low, high]) = parts.pop() {
            if high - low == 1 {
                self.fill(start as usize..end as usize, low, found);
                continue;
            }
            if start >= end {
                continue;
            }
            let middle = start + (end - start) / 2;
            let near = self.row(middle as usize, low as usize..high as usize, found);
            parts.push([middle + 1, end, near.start as u32, high]);
            parts.push([start, middle, low, near.end as u32]);
        }
    }

    /// Gives rows to the only candidate that is left.
    #[inline(always)]
    fn fill(&self, rows: Range<usize>, winner: u32, found: &mut ColumnOutput<'_>) {
        let gap = self.gaps[winner as usize];
        found.winners[rows.clone()].fill(winner);
        // A by the row, which is the same to both sides.
        let along = &self.along[self.gaps.len() - 1 - winner as usize..];
        let squares = found.squares[rows.clone()].iter_mut();
        let numbers = along[rows.clone()].iter().zip(&self.tables.cosine[rows]);
        squares.zip(numbers).for_each(|(h, (along, cosine))| *h = along + cosine * gap);
    }

    /// Finds the winner of a row among candidates. Returns the range of those that are as near but for rounding.
    #[inline(always)]
    fn row(
        &self,
        row: usize,
        candidates: Range<usize>,
        found: &mut ColumnOutput<'_>,
    ) -> Range<usize> {
        let candidates = match candidates.len() > MANY {
            true => self.within_reach(row, candidates),
            false => candidates,
        };
        let cosine = self.tables.cosine[row];
        let along = &self.along[self.gaps.len() - 1 - row..];
        let (along, gaps) = (&along[candidates.clone()], &self.gaps[candidates.clone()]);
        let least = least(along, gaps, cosine);
        let most = least + self.tables.slack;
        let h = |place: usize| along[place] + cosine * gaps[place];
        // Whether one of a vector's candidates is near.
        let is_any = |place: usize| {
            let (along, gaps) = (&along[place..][..VECTOR], &gaps[place..][..VECTOR]);
            let pairs = along.iter().zip(gaps);
            pairs.fold(false, |any, (along, gap)| any | (along + cosine * gap <= most))
        };
        let mut first = 0;
        while first + VECTOR <= gaps.len() && !is_any(first) {
            first += VECTOR;
        }
        while h(first) > most {
            first += 1;
        }
        let mut end = gaps.len();
        while end >= VECTOR && !is_any(end - VECTOR) {
            end -= VECTOR;
        }
        while h(end - 1) > most {
            end -= 1;
        }
        let mut winner = first;
        while h(winner) != least {
            winner += 1;
        }
        found.winners[row] = (candidates.start + winner) as u32;
        found.squares[row] = least;
        candidates.start + first..candidates.start + end
    }

    /// The candidates that can be within the slack of the nearest, as far as their rows tell.
    #[inline(always)]
    fn within_reach(&self, row: usize, candidates: Range<usize>) -> Range<usize> {
        let cosine = self.tables.cosine[row];
        let along = &self.tables.along;
        let h = |other: usize| along[row.abs_diff(other)] + cosine * self.gaps[other];
        let own = row.clamp(candidates.start, candidates.end - 1);
        let known = f64::min(h(own), f64::min(h(candidates.start), h(candidates.end - 1)));
        let most = known + self.tables.slack;
        // A grows with the difference of rows.
        let reach = along.partition_point(|&along| along <= most);
        // One of the three is among these.
        let low = (row + 1).saturating_sub(reach).max(candidates.start);
        low..(row + reach).min(candidates.end)
    }
}

/// The least of h.
#[inline(always)]
fn least(along: &[f64], gaps: &[f64], cosine: f64) -> f64 {
    let less = |a: f64, b: f64| if a < b { a } else { b };
    let mut best = [f64::INFINITY; VECTOR];
    let (wholes, along_rest) = along.as_chunks::<VECTOR>();
    let (gap_wholes, gap_rest) = gaps.as_chunks::<VECTOR>();
    for (along, gaps) in wholes.iter().zip(gap_wholes) {
        for lane in 0..VECTOR {
            best[lane] = less(along[lane] + cosine * gaps[lane], best[lane]);
        }
    }
    let rest = along_rest.iter().zip(gap_rest);
    let rest = rest.fold(f64::INFINITY, |best, (along, gap)| less(along + cosine * gap, best));
    best.iter().fold(rest, |best, &other| less(other, best))
}
