//! Sorts by Morton codes, only as deep as the tree goes.
//!
//! A stable counting sort moves the points of a cell, in the order as given, into its cells some levels below, from one
//! array into another. The counts of these cells give the counts of the levels between.
//!
//! - A leaf between these levels was sorted by bits below its level, so its points go back into the order as given.
//! - If a cell at the last of these levels is above the threshold, it is sorted further, alone.
//!
//! All cores together sort a large cell, in pieces; one core sorts a small one.

use std::ops::Range;

use gpu_core::{host_memory, parallel};

use super::Coded;
use crate::array::take;
use crate::{Params, Result};

/// The most levels that are sorted at once: more cells would be more places to write to than caches hold.
const MAX_LEVELS: u32 = 5;

/// From how many points on a cell is sorted by all cores.
const LARGE: usize = 1 << 17;

/// The least points of a piece that a core counts and writes.
const PIECE: usize = 1 << 15;

/// The least points of cells that are worth a task.
const TASK: usize = 1 << 12;

/// The most points of a cell that are sorted by comparisons, where the codes decide to the end.
const SMALL: usize = 64;

/// Sorts points, in the order as given, into the order of a tree.
pub(super) fn sort(coded: &mut [Coded], params: &Params) -> Result<()> {
    let goal =
        Goal { threshold: params.threshold as usize, max_level: params.max_level, by_code: false };
    sort_to(coded, goal)
}

/// Sorts points, in the order as given, by their codes of `levels` levels.
pub(super) fn sort_by_code(coded: &mut [Coded], levels: u32) -> Result<()> {
    sort_to(coded, Goal { threshold: SMALL, max_level: levels, by_code: true })
}

/// How far points are sorted.
#[derive(Clone, Copy)]
struct Goal {
    /// The most points of a cell that is not divided.
    threshold: usize,
    max_level: u32,
    /// Whether the points of such a cell come into the order of their codes, rather than into the order as given.
    by_code: bool,
}

fn sort_to(coded: &mut [Coded], goal: Goal) -> Result<()> {
    let mut scratch = host_memory::filled((0, 0), coded.len())?;
    settle(Cell { here: coded, other: &mut scratch, is_swapped: false, level: 0 }, goal);
    Ok(())
}

/// The points of a cell.
#[derive(Default)]
struct Cell<'a> {
    /// The array that holds them.
    here: &'a mut [Coded],
    /// The same range of the other array.
    other: &'a mut [Coded],
    /// Whether the result belongs into the other.
    is_swapped: bool,
    level: u32,
}

impl Cell<'_> {
    /// Leaves the points as they are, where the result belongs.
    fn finish(self) {
        if self.is_swapped {
            self.other.copy_from_slice(self.here);
        }
    }
}

/// Sorts a cell's points.
fn settle(cell: Cell<'_>, goal: Goal) {
    let (len, threshold) = (cell.here.len(), goal.threshold);
    if cell.level == goal.max_level {
        return cell.finish();
    }
    if len <= threshold {
        if goal.by_code {
            cell.here.sort_unstable();
        }
        return cell.finish();
    }
    // Enough levels that most cells become leaves.
    let levels = ((len / threshold).ilog2() + 1).div_ceil(2);
    let levels = levels.min(MAX_LEVELS).min(goal.max_level - cell.level);
    let digits = Digits { shift: 2 * (goal.max_level - cell.level - levels), levels };
    let starts = digits.sort(cell.here, cell.other);
    if !goal.by_code {
        order_leaves(cell.other, &starts, 0..digits.count(), threshold);
    }
    let (mut here, mut other) = (cell.other, cell.here);
    let (is_swapped, level) = (!cell.is_swapped, cell.level + levels);
    let children = starts.windows(2).map(|pair| {
        let len = pair[1] - pair[0];
        Cell { here: take(&mut here, len), other: take(&mut other, len), is_swapped, level }
    });
    if len >= LARGE {
        settle_all(&mut children.collect::<Vec<_>>(), goal);
    } else {
        children.for_each(|child| settle(child, goal));
    }
}

/// Sorts the points of several cells: on several cores, unless they are few.
fn settle_all(cells: &mut [Cell<'_>], goal: Goal) {
    let points: usize = cells.iter().map(|cell| cell.here.len()).sum();
    if cells.len() < 2 || points < TASK {
        return cells.iter_mut().for_each(|cell| settle(std::mem::take(cell), goal));
    }
    let (some, others) = cells.split_at_mut(cells.len() / 2);
    parallel::join(|| settle_all(some, goal), || settle_all(others, goal));
}

/// Sorts the leaves between two levels back into the order as given. `cells` are the cells of the lower level within
/// one cell between the two.
fn order_leaves(points: &mut [Coded], starts: &[usize], cells: Range<usize>, threshold: usize) {
    if cells.len() == 1 {
        return;
    }
    let places = starts[cells.start]..starts[cells.end];
    if places.len() <= threshold {
        points[places].sort_unstable_by_key(|&(_, index)| index);
        return;
    }
    let quarter = cells.len() / 4;
    for quadrant in 0..4 {
        let first = cells.start + quadrant * quarter;
        order_leaves(points, starts, first..first + quarter, threshold);
    }
}

/// The bits of some levels.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    pub shift: u32,
    pub levels: u32,
}

impl Digits {
    /// The number of cells.
    fn count(self) -> usize {
        1 << (2 * self.levels)
    }

    fn of(self, (code, _): Coded) -> usize {
        (code >> self.shift) as usize & (self.count() - 1)
    }

    fn counts(self, points: &[Coded]) -> Vec<usize> {
        let mut counts = vec![0; self.count()];
        points.iter().for_each(|&point| counts[self.of(point)] += 1);
        counts
    }

    /// Sorts from one array into another; gives where each cell begins, and the end.
    pub fn sort(self, from: &[Coded], to: &mut [Coded]) -> Vec<usize> {
        if from.len() >= LARGE {
            return self.sort_on_all_cores(from, to);
        }
        let starts = starts_of(&self.counts(from));
        let mut next = starts.clone();
        for &point in from {
            let place = &mut next[self.of(point)];
            to[*place] = point;
            *place += 1;
        }
        starts
    }

    /// The same in pieces; each piece has its own range in every cell.
    fn sort_on_all_cores(self, from: &[Coded], to: &mut [Coded]) -> Vec<usize> {
        let pieces = parallel::map_ranges(from.len(), PIECE, &|range| {
            let piece = &from[range];
            (piece, self.counts(piece))
        });
        let total = |cell: usize| pieces.iter().map(|(_, counts)| counts[cell]).sum();
        let starts = starts_of(&(0..self.count()).map(total).collect::<Vec<usize>>());
        let mut rest = to;
        let mut rooms: Vec<Vec<&mut [Coded]>> =
            pieces.iter().map(|_| Vec::with_capacity(self.count())).collect();
        for cell in 0..self.count() {
            for (rooms, (_, counts)) in rooms.iter_mut().zip(&pieces) {
                rooms.push(take(&mut rest, counts[cell]));
            }
        }
        parallel::for_each(&mut rooms, 1, |piece, rooms| {
            let (rooms, mut written) = (&mut rooms[..], vec![0; self.count()]);
            for &point in pieces[piece].0 {
                let cell = self.of(point);
                rooms[cell][written[cell]] = point;
                written[cell] += 1;
            }
        });
        starts
    }
}

/// The sums of all counts before each, and of all.
fn starts_of(counts: &[usize]) -> Vec<usize> {
    let mut starts = Vec::with_capacity(counts.len() + 1);
    let mut total = 0;
    starts.push(0);
    starts.extend(counts.iter().map(|count| {
        total += count;
        total
    }));
    starts
}
