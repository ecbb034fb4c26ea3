//! Contour lines on the CPU. On the GPU, the kernels of `kernels_rs::terrain` make the same lines in the same order.
//!
//! Plan:
//!
//! 1. Marching squares makes the pieces of the lines, in rows of squares on all cores.
//! 2. Each piece finds the next piece, in the square beyond the side at which it leaves.
//! 3. In each level, on all cores, open lines begin at the pieces without a predecessor. The remaining pieces make
//!    rings, which begin at their lowest piece.

use std::sync::atomic::{AtomicBool, Ordering};

use gpu_core::parallel::{self, FINE};
use gpu_core::{GridView, Progress, host_memory};
use kernels_rs::terrain::{CellPlaces, NONE, Piece, continuation, crossing, levels_of, pieces};

use super::{bands, report};
use crate::contour::{Contour, Found, check_count};
use crate::params::check_grid;
use crate::{ContourParams, Result};

/// Returns [`contours`](fn@crate::contours) on the CPU, for cells with a place on the ground, and the first piece of
/// each line.
///
/// # Errors
/// The errors of [`contours`](fn@crate::contours).
pub fn contours(
    dem: GridView<'_, f32>,
    params: &ContourParams,
    ground: CellPlaces,
    progress: &dyn Progress,
) -> Result<Vec<Found>> {
    check_grid(dem.grid())?;
    params.check()?;
    let (low, high) = if params.needs_range() { range(dem.values()) } else { (0.0, 0.0) };
    let levels = params.within(low, high)?;
    let pieces = Pieces::find(dem, &levels, progress)?;
    report(progress, "contour lines", 0, 1)?;
    let lines = join(dem, &levels, &pieces, ground)?;
    report(progress, "contour lines", 1, 1)?;
    Ok(lines)
}

/// The lowest and the highest value; the wrong way round where there is none.
fn range(dem: &[f32]) -> (f64, f64) {
    let nothing = (f32::INFINITY, f32::NEG_INFINITY);
    let of_parts = parallel::map_ranges(dem.len(), FINE, &|range| {
        dem[range].iter().fold(nothing, |(low, high), &v| (low.min(v), high.max(v)))
    });
    let (low, high) = of_parts.into_iter().fold(nothing, |a, b| (a.0.min(b.0), a.1.max(b.1)));
    (low.into(), high.into())
}

/// The pieces of contour lines, in the order of their squares and, in a square, of their levels.
struct Pieces {
    all: Vec<Piece>,
    /// The first of each row of squares, and the end.
    starts: Vec<usize>,
}

impl Pieces {
    /// All of a DEM, square by square.
    fn find(dem: GridView<'_, f32>, levels: &[f64], progress: &dyn Progress) -> Result<Self> {
        let rows = (dem.grid().height as usize).saturating_sub(1);
        let mut all = Self { all: Vec::new(), starts: vec![0] };
        for band in bands(rows) {
            report(progress, "contour pieces", band.start, rows)?;
            let of_row = |i: usize| pieces_of_row(dem, levels, band.start + i);
            let of_rows = parallel::map(band.len(), 1, of_row);
            for of_row in of_rows {
                all.all.extend(of_row);
                all.starts.push(all.all.len());
            }
        }
        Ok(all)
    }

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
        parallel::map(self.all.len(), FINE, |i| next(&self.all[i]))
    }
}

/// The pieces of a row of squares.
fn pieces_of_row(dem: GridView<'_, f32>, levels: &[f64], y: usize) -> Vec<Piece> {
    let (width, heights) = (dem.grid().width as usize, dem.values());
    let mut found = Vec::new();
    for x in 0..width.saturating_sub(1) {
        let north = y * width + x;
        let south = north + width;
        let corners = [heights[north], heights[north + 1], heights[south + 1], heights[south]];
        let square = [x as u32, y as u32];
        levels_of(
            corners,
            levels.len() as u32,
            |i| levels[i as usize],
            |level, height| {
                pieces(corners, height, |from, to| found.push(Piece { square, level, from, to }));
            },
        );
    }
    found
}

/// The lines, level by level; in a level the open ones first, each by the order of its first piece.
fn join(
    dem: GridView<'_, f32>,
    levels: &[f64],
    pieces: &Pieces,
    ground: CellPlaces,
) -> Result<Vec<Found>> {
    let (grid, dem) = (dem.grid(), dem.values());
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
    parallel::for_ranges(next.len(), FINE, &|range| {
        for &i in next[range].iter().filter(|&&i| i != NONE) {
            is_continued[i as usize].store(true, Ordering::Relaxed);
        }
    });
    let width = grid.width as usize;
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
        let (first, is_ring) = (pieces.all[first as usize], i == first);
        (!points.is_empty()).then_some(Found { line: Contour { level, points }, first, is_ring })
    };
    let lines = parallel::map(levels.len(), 1, |k| {
        let (of_level, level) = (&of_level[k], levels[k]);
        let is_start = |&&i: &&u32| !is_continued[i as usize].load(Ordering::Relaxed);
        let starts = of_level.iter().filter(is_start);
        starts.chain(of_level).filter_map(|&i| line(i, level)).collect::<Vec<_>>()
    });
    Ok(lines.into_iter().flatten().collect())
}
