//! From the pieces of contour lines to whole lines.
//!
//! A piece goes from one side of a square to another with the high ground on its right. So in each
//! level every side is left by one piece at most and entered by one at most, and lines are chains:
//! those that begin at a side which no piece enters (at the border, or beside NODATA), then rings.

use std::collections::HashMap;

use gpu_core::GridSpec;
use rayon::prelude::*;

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

/// Pieces of contour lines: the index of the level, and the numbers of the sides at which a line
/// enters and leaves a square.
#[derive(Default)]
pub(crate) struct Segments {
    pub level: Vec<u32>,
    pub from: Vec<u64>,
    pub to: Vec<u64>,
}

/// The lines, level by level; in a level the open ones first, each by the order of its first piece.
pub(crate) fn join(
    dem: &[f32],
    grid: &GridSpec,
    levels: &[f64],
    segments: &Segments,
) -> Vec<Contour> {
    let mut of_level: Vec<Vec<usize>> = vec![Vec::new(); levels.len()];
    for (piece, &level) in segments.level.iter().enumerate() {
        of_level[level as usize].push(piece);
    }
    let lines = of_level.par_iter().zip(levels).flat_map_iter(|(pieces, &level)| {
        let chains = chains(segments, pieces);
        chains.into_iter().map(move |sides| {
            let point = |&side: &u64| crossing(dem, grid, level, side);
            Contour { level, points: sides.iter().map(point).collect() }
        })
    });
    lines.collect()
}

/// The sides that each line of a level crosses.
fn chains(segments: &Segments, pieces: &[usize]) -> Vec<Vec<u64>> {
    let mut leaving: HashMap<u64, usize> =
        pieces.iter().map(|&piece| (segments.from[piece], piece)).collect();
    let entered: std::collections::HashSet<u64> =
        pieces.iter().map(|&piece| segments.to[piece]).collect();
    let is_start = |&&piece: &&usize| !entered.contains(&segments.from[piece]);
    let starts: Vec<usize> = pieces.iter().filter(is_start).copied().collect();
    let mut chains = Vec::new();
    // After the open lines only rings are left, which may begin anywhere.
    for &start in starts.iter().chain(pieces) {
        let mut sides = vec![segments.from[start]];
        while let Some(piece) = sides.last().and_then(|side| leaving.remove(side)) {
            sides.push(segments.to[piece]);
        }
        if sides.len() > 1 {
            chains.push(sides);
        }
    }
    chains
}

/// Where a level crosses a side, between the centres of two cells.
fn crossing(dem: &[f32], grid: &GridSpec, level: f64, side: u64) -> [f64; 2] {
    let cell = (side / 2) as usize;
    let goes_south = side % 2 == 1;
    let width = grid.width as usize;
    let other = if goes_south { cell + width } else { cell + 1 };
    let (a, b) = (f64::from(dem[cell]), f64::from(dem[other]));
    let t = (level - a) / (b - a);
    let (column, row) = ((cell % width) as f64 + 0.5, (cell / width) as f64 + 0.5);
    let (column, row) = if goes_south { (column, row + t) } else { (column + t, row) };
    [grid.origin_x + column * grid.cell_size, grid.origin_y - row * grid.cell_size]
}
