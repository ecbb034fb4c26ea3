//! Contour lines, and how the CPU joins them from pieces; the GPU does it by the kernels of
//! `kernels_rs::terrain::lines`, with the same lines in the same order.
//!
//! Plan:
//!
//! 1. Each piece finds the one after it, in the square beyond the side at which it leaves.
//! 2. In each level, on all cores, lines are followed from the pieces that none comes before; what is
//!    left are rings, which begin at their lowest piece.

use std::sync::atomic::{AtomicBool, Ordering};

use gpu_core::{GridSpec, host_memory};
use kernels_rs::terrain::{Ground, NONE, Piece, continuation, crossing};
use rayon::prelude::*;

use crate::{Error, Result};

/// The line of one height, with the high ground on its right.
#[derive(Clone, Debug, PartialEq)]
pub struct Contour {
    /// Its height.
    pub level: f64,
    /// Its points in ground coordinates (x, y); a ring ends at the point at which it begins.
    pub points: Vec<[f64; 2]>,
}

impl Contour {
    /// Whether it is a ring.
    pub fn is_closed(&self) -> bool {
        self.points.len() > 2 && self.points.first() == self.points.last()
    }
}

/// The pieces of contour lines, in the order of their squares and, in a square, of their levels.
pub(crate) struct Pieces {
    pub all: Vec<Piece>,
    /// The first of each row of squares, and the end.
    pub starts: Vec<usize>,
}

impl Pieces {
    /// The pieces of a square.
    fn of_square(&self, [column, row]: [u32; 2]) -> std::ops::Range<usize> {
        let start = self.starts[row as usize];
        let row = &self.all[start..self.starts[row as usize + 1]];
        let first = start + row.partition_point(|piece| piece.square[0] < column);
        let last = start + row.partition_point(|piece| piece.square[0] <= column);
        first..last
    }

    /// The piece after each.
    fn links(&self, squares: [u32; 2]) -> Vec<u32> {
        let next = |piece: &Piece| match piece.square_beyond(squares) {
            Some(square) => {
                let there = self.of_square(square);
                continuation(*piece, there.start, there.end, |i| self.all[i])
            }
            None => NONE,
        };
        self.all.par_iter().map(next).collect()
    }
}

/// Checks that pieces can be numbered.
pub(crate) fn check_count(pieces: u64) -> Result<()> {
    if pieces < u64::from(NONE) { Ok(()) } else { Err(Error::TooManyPieces { pieces }) }
}

/// Where a grid's cells lie on the ground.
pub(crate) fn ground(grid: &GridSpec) -> Ground {
    Ground { x: grid.origin_x, y: grid.origin_y, cell_size: grid.cell_size }
}

/// The lines, level by level; in a level the open ones first, each by the order of its first piece.
pub(crate) fn join(
    dem: &[f32],
    grid: &GridSpec,
    levels: &[f64],
    pieces: &Pieces,
) -> Result<Vec<Contour>> {
    check_count(pieces.all.len() as u64)?;
    let mut of_level: Vec<Vec<u32>> = vec![Vec::new(); levels.len()];
    for (piece, i) in pieces.all.iter().zip(0..) {
        of_level[piece.level as usize].push(i);
    }
    let next = pieces.links([grid.width.saturating_sub(1), grid.height.saturating_sub(1)]);
    // Levels share no piece, so that each flag is one thread's own once links are known.
    let flags = || -> Result<Vec<AtomicBool>> {
        let mut flags = host_memory::with_capacity(next.len())?;
        flags.resize_with(next.len(), || AtomicBool::new(false));
        Ok(flags)
    };
    let (is_continued, is_done) = (flags()?, flags()?);
    next.par_iter().filter(|&&i| i != NONE).for_each(|&i| {
        is_continued[i as usize].store(true, Ordering::Relaxed);
    });
    let (ground, width) = (ground(grid), grid.width as usize);
    let height = |column: u32, row: u32| dem[row as usize * width + column as usize];
    // The points of the line from a piece on, if it has not been followed.
    let line = |first: u32, level: f64| {
        let mut points = Vec::new();
        let mut i = first;
        while i != NONE && !is_done[i as usize].swap(true, Ordering::Relaxed) {
            let piece = pieces.all[i as usize];
            points.push(crossing(piece.square, piece.from, level, ground, height));
            i = next[i as usize];
            if i == NONE || i == first {
                points.push(crossing(piece.square, piece.to, level, ground, height));
            }
        }
        (!points.is_empty()).then_some(Contour { level, points })
    };
    let lines = of_level.par_iter().zip(levels).flat_map_iter(|(of_level, &level)| {
        let is_start = |&&i: &&u32| !is_continued[i as usize].load(Ordering::Relaxed);
        let starts = of_level.iter().filter(is_start);
        starts.chain(of_level).filter_map(|&i| line(i, level)).collect::<Vec<_>>()
    });
    Ok(lines.collect())
}
