//! The winners of a group of columns by halving its rows, for sites that are far.
//!
//! Down a column a winner's row never decreases. So when the winners of two rows are known, only the candidates between
//! these two can win the rows between. The middle row compares all candidates, and each half compares only a part of
//! them. So a pixel compares about as many candidates as there are halvings, whatever the distance of the sites.
//! Vectors hold all columns of a group and compare every candidate that any of them needs: winners of neighbouring
//! columns lie near each other.

use super::outputs::{Sinks, Winner};
use super::rows::{Candidates, Column, LANES};
use crate::metric::Metric;

/// Rows of a block: what goes this way before a walk is tried again.
pub(super) const BLOCK: u32 = 1024;

/// The columns of a group, and which candidates can still win there.
pub(super) struct Block<'a, C> {
    candidates: &'a Candidates<C>,
    metric: Metric,
    /// The first column.
    x: usize,
    /// The first candidate, as a place among the rows with sites.
    first: usize,
    /// Squared gaps along the row, of the candidates from there on, as far as they were met.
    squares: Vec<[u32; LANES]>,
}

/// The winners of a row: squared distances, and places among the rows with sites.
#[derive(Clone, Copy)]
pub(super) struct Row {
    costs: [u32; LANES],
    places: [u32; LANES],
}

impl<'a, C: Column> Block<'a, C> {
    /// For the columns from `x` on, where no row north of `low` wins any more.
    pub fn new(candidates: &'a Candidates<C>, metric: Metric, x: usize, low: u32) -> Self {
        let first = candidates.rows.partition_point(|&row| row < low);
        Self { candidates, metric, x, first, squares: Vec::new() }
    }

    /// Writes rows `y..end`, and returns the winners of the last row: their rows and squared gaps; none without a site.
    ///
    /// # Safety
    /// No other thread writes these rows and columns of the sinks.
    #[inline(always)]
    pub unsafe fn write(
        mut self,
        y: u32,
        end: u32,
        lanes: usize,
        sinks: &Sinks<'_>,
    ) -> [Option<(u32, u32)>; LANES] {
        let last = self.last_row(end - 1);
        // SAFETY: passed on to the caller.
        unsafe { self.put(end - 1, &last, lanes, sinks) };
        // Rows to be written, and the candidates among which their winners are.
        let mut parts = vec![(y, end - 1, 0, last.southernmost())];
        while let Some((y, end, low, high)) = parts.pop() {
            if y == end {
                continue;
            }
            let middle = y + (end - y) / 2;
            let row = self.row(middle, low, high);
            // SAFETY: likewise.
            unsafe { self.put(middle, &row, lanes, sinks) };
            parts.push((middle + 1, end, row.northernmost(), high));
            parts.push((y, middle, low, row.southernmost()));
        }
        std::array::from_fn(|lane| {
            let place = last.places[lane] as usize;
            let row = self.candidates.rows.get(self.first + place)?;
            Some((*row, self.squares[place][lane]))
        })
    }

    /// The winners of row `y` among the candidates from `low` to `high`.
    #[inline(always)]
    fn row(&self, y: u32, low: u32, high: u32) -> Row {
        let mut row = Row::NONE;
        let rows = &self.candidates.rows[self.first..];
        if !self.squares.is_empty() {
            let range = low as usize..=high as usize;
            let candidates = rows[range.clone()].iter().zip(&self.squares[range]);
            for (place, (&other, squares)) in (low..).zip(candidates) {
                row.meet(squares, other.abs_diff(y), place);
            }
        }
        row
    }

    /// The winners of row `y` among all candidates: those met first say how far south others can win.
    #[inline(always)]
    fn last_row(&mut self, y: u32) -> Row {
        let mut row = Row::NONE;
        let rows = &self.candidates.rows[self.first..];
        for (place, &other) in (0..).zip(rows) {
            let columns = self.candidates.group(other, self.x);
            // Beyond the raster the last column stands again, so that squares fit.
            let squares: [u32; LANES] = std::array::from_fn(|lane| {
                let x = (self.x + lane).min(self.candidates.width as usize - 1);
                let gap = self.candidates.place(x).abs_diff(columns[lane].number());
                gap * gap
            });
            self.squares.push(squares);
            let gap = other.abs_diff(y);
            row.meet(&squares, gap, place);
            if other > y && place % 4 == 0 {
                let most = row.costs.iter().fold(0, |most, &cost| most.max(cost));
                if gap * gap >= most {
                    break;
                }
            }
        }
        row
    }

    #[inline(always)]
    unsafe fn put(&self, y: u32, row: &Row, lanes: usize, sinks: &Sinks<'_>) {
        let limit = u32::try_from(self.metric.limit).unwrap_or(u32::MAX);
        let squares = row.costs.map(|cost| if cost <= limit { cost } else { u32::MAX });
        let winner = |lane: usize| {
            if squares[lane] == u32::MAX {
                return Winner::NONE;
            }
            let other = self.candidates.rows[self.first + row.places[lane] as usize];
            let column = self.candidates.at(other, self.x + lane).number();
            Winner { row: other, column, cost: squares[lane].into() }
        };
        // SAFETY: passed on to the caller.
        unsafe { sinks.put_squares(y, self.x, lanes, &squares, winner) };
    }
}

impl Row {
    /// No candidate was met.
    const NONE: Self = Self { costs: [u32::MAX; LANES], places: [u32::MAX; LANES] };

    /// Compares a row's candidates, `gap` rows away, with the best so far; of equals the first stays.
    #[inline(always)]
    fn meet(&mut self, squares: &[u32; LANES], gap: u32, place: u32) {
        let down = gap * gap;
        let best = self.costs.iter_mut().zip(&mut self.places);
        for (square, (best, winner)) in squares.iter().zip(best) {
            let cost = square + down;
            let is_nearer = cost < *best;
            *winner = if is_nearer { place } else { *winner };
            *best = if is_nearer { cost } else { *best };
        }
    }

    #[inline(always)]
    fn northernmost(&self) -> u32 {
        self.places.iter().fold(u32::MAX, |low, &place| low.min(place))
    }

    #[inline(always)]
    fn southernmost(&self) -> u32 {
        self.places.iter().fold(0, |high, &place| high.max(place))
    }
}
