//! A column's winners, by a stack of the candidates that win some row.
//!
//! Meijster, Roerdink and Hesselink (2000, doi:10.1007/0-306-47025-X_36); Felzenszwalb and
//! Huttenlocher (2012, doi:10.4086/toc.2012.v008a019).

use std::ops::Range;

use gpu_core::host_memory;

use super::outputs::{Sinks, Winner};
use super::rows::{Candidates, Column};
use crate::Result;
use crate::metric::Metric;

/// A site that is the nearest of its row to some column.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    row: u32,
    column: u32,
}

/// A candidate and the first row of the column where it beats those below it on the stack.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    candidate: Candidate,
}

/// The lower envelope of one column's candidates: a stack while it is built from north to south,
/// then read off in the same direction.
///
/// Starts grow strictly from the bottom, which starts at row 0; each entry holds to the start of
/// the next.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    entries: Vec<Entry>,
    cursor: usize,
}

impl Envelope {
    /// Writes a strip of columns.
    ///
    /// # Safety
    /// No other thread writes these columns of the sinks.
    pub unsafe fn strip<C: Column>(
        candidates: &Candidates<C>,
        columns: Range<usize>,
        metric: Metric,
        sinks: &Sinks<'_>,
        envelopes: &mut Vec<Envelope>,
    ) -> Result<()> {
        envelopes.resize_with(columns.len(), Envelope::default);
        for envelope in envelopes.iter_mut() {
            envelope.reset(candidates.rows.len())?;
        }
        for &row in &candidates.rows {
            for (x, envelope) in columns.clone().zip(envelopes.iter_mut()) {
                let candidate = Candidate { row, column: candidates.at(row, x).number() };
                envelope.push(metric, candidates.place(x), candidate, candidates.height);
            }
        }
        let mut winners = [Winner::NONE; super::STRIP];
        for y in 0..candidates.height {
            for ((x, envelope), winner) in columns.clone().zip(&mut *envelopes).zip(&mut winners) {
                *winner = match envelope.at(y) {
                    Some(Candidate { row, column }) => {
                        let x = candidates.place(x);
                        let cost = cost(metric, x, y, row, column);
                        let (columns, rows) = (x.abs_diff(column), y.abs_diff(row));
                        match metric.is_within(cost, columns, rows) {
                            true => Winner { row, column, cost },
                            false => Winner::NONE,
                        }
                    }
                    None => Winner::NONE,
                };
            }
            // SAFETY: passed on to the caller.
            unsafe { sinks.put(y, columns.start, &winners[..columns.len()]) };
        }
        Ok(())
    }

    /// Empties the envelope and makes room for `candidates`.
    fn reset(&mut self, candidates: usize) -> Result<()> {
        self.entries.clear();
        self.cursor = 0;
        if self.entries.capacity() < candidates {
            self.entries = host_memory::with_capacity(candidates)?;
        }
        Ok(())
    }

    /// Adds the candidate of a row south of all before, for the column at `x`.
    fn push(&mut self, metric: Metric, x: u32, candidate: Candidate, height: u32) {
        let mut start = 0;
        while let Some(top) = self.entries.last() {
            start = first_row_nearer(metric, x, top.candidate, candidate);
            if start > u64::from(top.start) {
                break;
            }
            // The top loses to the new one everywhere it beats those below.
            self.entries.pop();
            start = 0;
        }
        if start < u64::from(height) {
            self.entries.push(Entry { start: start as u32, candidate });
        }
    }

    /// The nearest candidate at row `y`; rows come in ascending order.
    fn at(&mut self, y: u32) -> Option<Candidate> {
        while self.entries.get(self.cursor + 1).is_some_and(|next| next.start <= y) {
            self.cursor += 1;
        }
        self.entries.get(self.cursor).map(|entry| entry.candidate)
    }
}

/// The squared distance between two pixels.
fn cost(metric: Metric, x: u32, y: u32, row: u32, column: u32) -> u64 {
    let square = |n: u32| u64::from(n) * u64::from(n);
    u64::from(metric.across) * square(x.abs_diff(column))
        + u64::from(metric.down) * square(y.abs_diff(row))
}

/// The first row, from 0, of the column at `x` where `south` is strictly nearer than `north`.
///
/// Let i < j be the rows, F and G the squared column distances of north and south, and a and b the squares of a step in
/// x and y. South is nearer at row y when b (y - j)^2 + a G < b (y - i)^2 + a F. This is 2 b (j - i) y > b (j^2 - i^2)
/// + a (G - F). Each of the two terms is below 2^62 in size, so their sum fits an `i64`.
fn first_row_nearer(metric: Metric, x: u32, north: Candidate, south: Candidate) -> u64 {
    let square = |a: u32| i64::from(a) * i64::from(a);
    let rows = square(south.row) - square(north.row);
    let columns = square(x.abs_diff(south.column)) - square(x.abs_diff(north.column));
    let (across, down) = (i64::from(metric.across), i64::from(metric.down));
    match u64::try_from(down * rows + across * columns) {
        Ok(bisector) => {
            bisector / (2 * u64::from(metric.down) * u64::from(south.row - north.row)) + 1
        }
        Err(_) => 0,
    }
}
