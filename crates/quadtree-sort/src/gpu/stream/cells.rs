//! Cells of few points, and the batches that they make.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use gpu_core::parallel::{self, Parts};
use gpu_core::{Points, Progress, host_memory};
use kernels_rs::spatial::frame::Frame;
use kernels_rs::spatial::morton;

use super::code::Coder;
use super::join::Brief;
use crate::{Outside, Params, Result, cpu};

/// The level whose cells all points are counted by first, and that a key is of.
const KEY_LEVEL: u32 = 7;

/// The cells that a later pass counts by, at most (a power of four), unless those to be divided are as many.
const COUNTED: usize = 1 << 16;

/// The least points of a piece.
const LEAST_PIECE: usize = 1 << 15;

/// A cell of the tree with its points. What is above it has more than the threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    code: u64,
    level: u32,
    points: u64,
}

/// The points, and a key of 16 bits for each: row and column of its cell of [`KEY_LEVEL`].
pub(super) struct Keys<'a> {
    points: Points<'a>,
    frame: &'a Frame,
    keys: Vec<u16>,
    /// How many points of each piece have each key.
    of_pieces: Vec<Vec<u32>>,
    /// The points of each cell of the keys' level, by code.
    counts: Vec<u64>,
}

impl<'a> Keys<'a> {
    /// Computes the codes of all points, and the ranges of x and y.
    pub fn of(
        points: Points<'a>,
        frame: &'a Frame,
        params: &Params,
    ) -> Result<(Self, [cpu::Range; 2])> {
        let inside = params.bounds.filter(|_| params.outside == Outside::Skip);
        let mut keys = host_memory::with_capacity(points.len())?;
        let pieces =
            keys.spare_capacity_mut()[..points.len()].chunks_mut(len_of_piece(points.len()));
        let pieces = Parts::new(pieces);
        let cells = 1 << (2 * key_level(frame));
        let coder = Coder { frame: *frame, level: key_level(frame), inside };
        let found = parallel::map(pieces.len(), 1, |piece| {
            let range = piece_of(points.len(), piece);
            coder.count(&mut pieces.part(piece), &points.x[range.clone()], &points.y[range], cells)
        });
        // SAFETY: the pieces are the whole of it, and each was written.
        unsafe { keys.set_len(points.len()) };
        let mut ranges = [cpu::Range::default(); 2];
        let mut of_keys = vec![0; cells];
        for (of_piece, of_axes) in &found {
            ranges = [0, 1].map(|axis| cpu::Range::join(ranges[axis], of_axes[axis]));
            of_keys.iter_mut().zip(of_piece).for_each(|(all, &count)| *all += u64::from(count));
        }
        let mut counts = vec![0; cells];
        for (key, count) in (0..).zip(of_keys) {
            counts[code_of(key, frame) as usize] = count;
        }
        let of_pieces = found.into_iter().map(|(counts, _)| counts).collect();
        Ok((Self { points, frame, keys, of_pieces, counts }, ranges))
    }

    /// The points' cells in the order of codes: each with at most `most` points, unless it is of the deepest level.
    pub fn cells(&self, most: u64, progress: &dyn Progress) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        let root = Cell { code: 0, level: 0, points: self.counts.iter().sum() };
        divide(root, &self.counts, most, &mut cells);
        let mut level = key_level(self.frame);
        while level < self.frame.level {
            let is_large = |cell: &Cell| cell.points > most;
            let large: Vec<u64> =
                cells.iter().filter(|cell| is_large(cell)).map(|cell| cell.code).collect();
            if large.is_empty() {
                break;
            }
            progress.at("count", f64::from(level) / f64::from(self.frame.level))?;
            let levels = ((COUNTED / large.len()).max(4).ilog2() / 2).min(self.frame.level - level);
            let counts = self.count_in(&large, level, levels);
            let mut counts = counts.chunks(1 << (2 * levels));
            let mut finer = Vec::with_capacity(cells.len());
            for cell in cells {
                match is_large(&cell) {
                    true => divide(cell, counts.next().unwrap_or_default(), most, &mut finer),
                    false => finer.push(cell),
                }
            }
            (cells, level) = (finer, level + levels);
        }
        Ok(cells)
    }

    /// The points of the cells some levels below each of a level's, which are sorted.
    fn count_in(&self, large: &[u64], level: u32, levels: u32) -> Vec<u64> {
        let below = 2 * (level - key_level(self.frame));
        // The range of the large cells in each cell of the keys' level.
        let among = |key| {
            let cell = code_of(key, self.frame);
            let first = |cell: u64| large.partition_point(|&code| code >> below < cell);
            first(cell)..first(cell + 1)
        };
        let among: Vec<Range<usize>> = (0..self.counts.len() as u32).map(among).collect();
        let (shift, mask) = (2 * (self.frame.level - level - levels), (1 << (2 * levels)) - 1);
        count_by(self.keys.len(), large.len() << (2 * levels), |range, counts| {
            for i in range {
                let Some(among) = among.get(usize::from(self.keys[i])).filter(|a| !a.is_empty())
                else {
                    continue;
                };
                let code = self.code(i) >> shift;
                if let Ok(which) = large[among.clone()].binary_search(&(code >> (2 * levels))) {
                    let cell = ((among.start + which) << (2 * levels)) + (code as usize & mask);
                    counts[cell] += 1;
                }
            }
        })
    }

    /// The code of a point's cell of the deepest level.
    fn code(&self, i: usize) -> u64 {
        self.frame.code(self.points.x[i], self.points.y[i])
    }

    /// Which batch every point is in.
    pub fn numbered(self, batches: &[Batch]) -> Numbered<'a> {
        let deepest = self.frame.level;
        let starts: Vec<u64> = batches.iter().map(|batch| batch.start(deepest)).collect();
        let batch_of = |code: u64| starts.partition_point(|&start| start <= code).saturating_sub(1);
        let shift = 2 * (deepest - key_level(self.frame));
        // The batch of a cell of the keys' level, if all of it is in one.
        let batch_of_key = |key: u32| {
            let cell = code_of(key, self.frame);
            let first = batch_of(cell << shift);
            (first == batch_of(((cell + 1) << shift) - 1)).then_some(first as u16)
        };
        let of_key: Vec<Option<u16>> = (0..self.counts.len() as u32).map(batch_of_key).collect();
        let Some(of_key) = of_key.iter().copied().collect::<Option<Vec<u16>>>() else {
            return self.numbered_one_by_one(batches.len(), &of_key, |code| batch_of(code) as u16);
        };
        let of_piece = |of_piece: &Vec<u32>| {
            let mut counts = vec![0; batches.len()];
            for (&batch, &count) in of_key.iter().zip(of_piece).filter(|&(_, &count)| count > 0) {
                counts[usize::from(batch)] += count as usize;
            }
            counts
        };
        let counts = parallel::map(self.of_pieces.len(), 1, |i| of_piece(&self.of_pieces[i]));
        Numbered { points: self.points, keys: self.keys, of_key, counts }
    }

    /// The same where cells of the keys' level are in several batches: the batches' numbers take the place of the keys.
    fn numbered_one_by_one(
        mut self,
        batches: usize,
        of_key: &[Option<u16>],
        batch_of: impl Fn(u64) -> u16 + Sync,
    ) -> Numbered<'a> {
        let (points, frame) = (self.points, self.frame);
        let len = len_of_piece(self.keys.len());
        let pieces = Parts::new(self.keys.chunks_mut(len));
        let counts = parallel::map(pieces.len(), 1, |piece| {
            let mut counts = vec![0; batches];
            for (i, key) in (piece * len..).zip(pieces.part(piece).iter_mut()) {
                if let Some(batch) = of_key.get(usize::from(*key)) {
                    *key = batch.unwrap_or_else(|| batch_of(frame.code(points.x[i], points.y[i])));
                    counts[usize::from(*key)] += 1;
                }
            }
            counts
        });
        Numbered { points, keys: self.keys, of_key: (0..batches as u16).collect(), counts }
    }
}

/// The points with their batches.
pub(super) struct Numbered<'a> {
    points: Points<'a>,
    keys: Vec<u16>,
    /// The batch of each key. Other keys mark points that are left out.
    pub of_key: Vec<u16>,
    /// How many points of each piece are in each batch.
    pub counts: Vec<Vec<usize>>,
}

impl Numbered<'_> {
    /// A piece of the points that was counted: keys, x and y, and the index of its first point.
    pub fn piece(&self, piece: usize) -> (&[u16], &[f64], &[f64], u32) {
        let Self { points: Points { x, y, .. }, keys, .. } = self;
        let range = piece_of(keys.len(), piece);
        (&keys[range.clone()], &x[range.clone()], &y[range.clone()], range.start as u32)
    }
}

/// The level of keys.
fn key_level(frame: &Frame) -> u32 {
    frame.level.min(KEY_LEVEL)
}

/// The code of the cell that has a key.
fn code_of(key: u32, frame: &Frame) -> u64 {
    let level = key_level(frame);
    morton::encode(key & ((1 << level) - 1), key >> level)
}

/// Points of each piece of `len` points, except the last.
fn len_of_piece(len: usize) -> usize {
    parallel::len_of_range(len, LEAST_PIECE)
}

/// The points of a piece of `len` points.
fn piece_of(len: usize, piece: usize) -> Range<usize> {
    let of_piece = len_of_piece(len);
    piece * of_piece..len.min((piece + 1) * of_piece)
}

/// Counts `len` elements by a number of cells. There are fewer than 2^32.
fn count_by(len: usize, cells: usize, count: impl Fn(Range<usize>, &mut [u32]) + Sync) -> Vec<u64> {
    // A task takes counts that no other task adds to now, so there are as many as threads. Their order does not matter.
    let idle = Mutex::new(Vec::new());
    parallel::for_ranges(len, LEAST_PIECE, &|range| {
        let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut counts = taken.unwrap_or_else(|| vec![0; cells]);
        count(range, &mut counts);
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(counts);
    });
    let all = idle.into_inner().unwrap_or_else(PoisonError::into_inner);
    parallel::map(cells, parallel::FINE, |cell| all.iter().map(|c| u64::from(c[cell])).sum())
}

/// Divides a cell into parts with at most `most` points each, by the counts of its cells some levels below. Those cells
/// are not divided further.
fn divide(cell: Cell, counts: &[u64], most: u64, cells: &mut Vec<Cell>) {
    if cell.points == 0 {
        return;
    }
    if cell.points <= most || counts.len() == 1 {
        return cells.push(cell);
    }
    for (quadrant, counts) in (0..).zip(counts.chunks(counts.len() / 4)) {
        let code = cell.code << 2 | quadrant;
        let child = Cell { code, level: cell.level + 1, points: counts.iter().sum() };
        divide(child, counts, most, cells);
    }
}

/// Cells that follow each other, and are complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    first: Cell,
    last: Cell,
    pub points: u64,
}

impl Batch {
    /// Its first code of the deepest level.
    pub fn start(&self, deepest: u32) -> u64 {
        self.first.code << (2 * (deepest - self.first.level))
    }

    /// Codes and levels of its first and its last cell.
    pub fn ends(&self) -> [(u64, u32); 2] {
        [(self.first.code, self.first.level), (self.last.code, self.last.level)]
    }

    /// Whether there is something to sort; a leaf needs no sort.
    pub fn needs_device(&self, params: &Params) -> bool {
        let is_one = self.first.points == self.points;
        let is_leaf =
            self.points <= u64::from(params.threshold) || self.first.level == params.max_level;
        !(is_one && is_leaf)
    }

    /// The nodes of a batch that is one leaf: its ancestors, and the leaf.
    pub fn chain(&self) -> Vec<Brief> {
        let Cell { code, level, points } = self.first;
        let quadrant = |at: u32| code >> (2 * (level - at - 1)) & 3;
        let above = (0..level).map(|at| Brief::new(points, 1 << quadrant(at)));
        above.chain([Brief::new(points, 0)]).collect()
    }
}

/// Batches of at most `capacity` points, unless a cell has more by itself.
pub(super) fn batches(cells: &[Cell], capacity: u64) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for &cell in cells {
        match batches.last_mut() {
            Some(batch) if batch.points + cell.points <= capacity => {
                batch.last = cell;
                batch.points += cell.points;
            }
            _ => batches.push(Batch { first: cell, last: cell, points: cell.points }),
        }
    }
    batches
}
