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
//! **Rounding.** The winner is to be that of comparing the h of all sites as f64 rounds them. Let q lie after the last of `near`
//! and w be in it; then q is farther than w at m by more than `slack`, less the rounding. Northward the difference of their h is
//! part of a sine wave that is positive at m, and positive at the pole, where it is half the difference of the sines of the two latitudes;
//! so it is above the lesser of the two all the way (a sine wave is concave where it is positive). `slack` is many times what
//! rounding takes from any h of the raster, and so is the difference at the pole from those of candidates near it. So q loses
//! to w in f64 too in every row before m. Southward likewise.
//!
//! **Cost.** A level of the halving looks at each candidate about once, in vectors: some 15 candidates a pixel in a
//! column of 21,600. A candidate whose difference of latitudes alone is more than the h of another is left out.

use std::ops::Range;

use super::LANES;
use crate::NONE;
use crate::cpu::rows::{Candidates, Column};
use crate::globe::Tables;

/// Numbers that go together in vectors.
const VECTOR: usize = 8;

/// Candidates beyond which it is worth finding out which can win at all.
const MANY: usize = 48;

/// What a task keeps from group to group.
#[derive(Default)]
pub(super) struct Scratch {
    /// g, column by column.
    gaps: Vec<f64>,
    /// A of rows from the raster's last to its first, and back: that of a difference d of rows stands at `rows - 1 + d`.
    along: Vec<f64>,
    /// Winners of a column.
    winners: Vec<u32>,
    /// Parts to be solved: rows, and candidates.
    parts: Vec<[u32; 4]>,
}

/// Writes the winners of some columns, [`LANES`] a row.
pub(super) fn group<C: Column>(
    candidates: &Candidates<C>,
    tables: &Tables,
    columns: Range<usize>,
    winners: &mut [u32],
    scratch: &mut Scratch,
) {
    let height = candidates.height as usize;
    let (Some(&first), Some(&last)) = (candidates.rows.first(), candidates.rows.last()) else {
        winners.fill(NONE);
        return;
    };
    if scratch.along.is_empty() {
        let back = tables.along.iter().skip(1).rev();
        scratch.along.extend(back.chain(&tables.along));
    }
    scratch.gaps.clear();
    scratch.gaps.resize(height * LANES, f64::INFINITY);
    for &row in &candidates.rows {
        let cosine = tables.cosine[row as usize];
        for (lane, x) in columns.clone().enumerate() {
            let gap = candidates.at(row, x).number().abs_diff(x as u32);
            scratch.gaps[lane * height + row as usize] = cosine * tables.across[gap as usize];
        }
    }
    // At a pole all columns are one place.
    let poles = [0, candidates.height - 1].map(|row| tables.is_pole(row));
    let rows = u32::from(poles[0])..candidates.height - u32::from(poles[1] && height > 1);
    scratch.winners.resize(height, NONE);
    for lane in 0..columns.len() {
        let column = ColumnOf {
            gaps: &scratch.gaps[lane * height..][..height],
            along: &scratch.along,
            tables,
        };
        column.solve((rows.clone(), first..last + 1), &mut scratch.winners, &mut scratch.parts);
        if poles[0] {
            scratch.winners[0] = first;
        }
        if poles[1] && height > 1 {
            scratch.winners[height - 1] = last;
        }
        for (out, &winner) in winners[lane..].iter_mut().step_by(LANES).zip(&scratch.winners) {
            *out = winner;
        }
    }
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
        winners: &mut [u32],
        parts: &mut Vec<[u32; 4]>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.solve_avx2(whole, winners, parts) };
        }
        self.solve_by_halves(whole, winners, parts);
    }

    /// The same, compiled for wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn solve_avx2(
        &self,
        whole: (Range<u32>, Range<u32>),
        winners: &mut [u32],
        parts: &mut Vec<[u32; 4]>,
    ) {
        self.solve_by_halves(whole, winners, parts);
    }

    #[inline(always)]
    fn solve_by_halves(
        &self,
        (rows, candidates): (Range<u32>, Range<u32>),
        winners: &mut [u32],
        parts: &mut Vec<[u32; 4]>,
    ) {
        parts.clear();
        parts.push([rows.start, rows.end, candidates.start, candidates.end]);
        while let Some([start, end, low, high]) = parts.pop() {
            if start >= end {
                continue;
            }
            let middle = start + (end - start) / 2;
            let (winner, near) = self.row(middle as usize, low as usize..high as usize);
            winners[middle as usize] = winner as u32;
            parts.push([middle + 1, end, near.start as u32, high]);
            parts.push([start, middle, low, near.end as u32]);
        }
    }

    /// The winner of a row among candidates, and the range of those that are as near but for rounding.
    #[inline(always)]
    fn row(&self, row: usize, candidates: Range<usize>) -> (usize, Range<usize>) {
        let slack = self.tables.slack;
        let candidates = if candidates.len() > MANY || self.gaps[row] == 0.0 {
            self.within_reach(row, candidates)
        } else {
            candidates
        };
        let cosine = self.tables.cosine[row];
        let along = &self.along[self.gaps.len() - 1 - row..];
        let (along, gaps) = (&along[candidates.clone()], &self.gaps[candidates.clone()]);
        let least = least(along, gaps, cosine);
        let h = |place: usize| along[place] + cosine * gaps[place];
        let mut first = 0;
        while h(first) > least + slack {
            first += 1;
        }
        let mut end = gaps.len();
        while h(end - 1) > least + slack {
            end -= 1;
        }
        let mut winner = first;
        while h(winner) != least {
            winner += 1;
        }
        (candidates.start + winner, candidates.start + first..candidates.start + end)
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
