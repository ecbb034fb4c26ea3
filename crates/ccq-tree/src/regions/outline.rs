//! The outlines of regions: polygons with holes, along the edges of cells.
//!
//! A polygon does not join cells that share only a corner. A region whose parts touch only at corners has a polygon for
//! each part.
//!
//! 1. Between two rows, the border of a part runs where one of the rows has cells of the part and the other does not. A
//!    walk follows the border with the part on its left.
//! 2. Pieces of the border end on a column in pairs, in order from north to south.
//! 3. Where the walk comes to a corner a second time, it closes a ring, so that no ring touches itself. Rings that turn
//!    counterclockwise, seen with north up, are outer ones: each part has one. The others are its holes.

use std::collections::HashMap;

use super::{Connectivity, Regions, roots};
use crate::{Result, Run};

/// A corner of cells: column and row of the cell whose north-west corner it is.
type Corner = [u32; 2];

/// The outline of a region: for each of its polygons, the outer ring and then the holes. A corner is a column and a row
/// of the raster; (0, 0) is the north-west corner of the first cell. Outer rings turn counterclockwise, with north up,
/// holes clockwise; the last corner of a ring is not its first again.
pub type Outline = Vec<Vec<Vec<Corner>>>;

/// A piece of the border between two rows.
#[derive(Clone, Copy)]
struct Piece {
    /// The row south of it.
    row: u32,
    column0: u32,
    column1: u32,
    /// Whether the part lies south of it: then it is gone along to the west.
    is_top: bool,
}

impl Regions {
    /// Returns the outlines, in the order of the regions.
    ///
    /// Work: O(n log n) for n runs.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) where memory does not suffice.
    pub fn outlines(&self) -> Result<Vec<Outline>> {
        let parts = roots(&self.runs, Connectivity::Four)?;
        let mut pieces: HashMap<u32, Vec<Piece>> = HashMap::new();
        self.each_piece(&parts, |part, piece| pieces.entry(part).or_default().push(piece));
        let mut outlines = vec![Outline::new(); self.regions.len()];
        for (i, &part) in parts.iter().enumerate() {
            // A part is named by its first run.
            if part as usize == i {
                let polygon = polygon(&pieces.remove(&part).unwrap_or_default());
                outlines[self.of_runs[i] as usize].push(polygon);
            }
        }
        Ok(outlines)
    }

    /// Returns the outline of each region as polygons on the ground of `grid`, with the corners of
    /// [`outlines`](Self::outlines). (Feature `geo`.)
    ///
    /// ```
    /// # fn main() -> ccq_tree::Result<()> {
    /// use ccq_tree::{Condition, Connectivity, Params, Query, build, regions};
    /// use gpu_core::{Device, GridSpec, GridView};
    ///
    /// let grid = GridSpec::new(100.0, 20.0, 10.0, 2, 2)?;
    /// let tree = build(&Device::Cpu, GridView::new(&[1.0_f32, 9.0, 1.0, 1.0], grid)?, &Params::new())?;
    /// let high = [Condition::new(&tree).range(5.0, 10.0)];
    /// let found = regions(&Device::Cpu, &high, &Query::new(), Connectivity::Four)?;
    /// let polygons = found.multi_polygons(&grid)?;
    /// let outer = polygons[0].0[0].exterior();
    /// assert_eq!(outer.0.len(), 5);
    /// assert!(outer.coords().all(|at| at.x >= 110.0 && at.y >= 10.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`outlines`](Self::outlines).
    #[cfg(feature = "geo")]
    pub fn multi_polygons(
        &self,
        grid: &gpu_core::GridSpec,
    ) -> Result<Vec<gpu_core::geo_types::MultiPolygon<f64>>> {
        let [left, width, _, top, _, height] = grid.geotransform();
        let place = |[column, row]: Corner| {
            (left + f64::from(column) * width, top + f64::from(row) * height)
        };
        let ring = |corners: Vec<Corner>| corners.into_iter().map(place).collect();
        let polygon = |rings: Vec<Vec<Corner>>| gpu_core::geo::polygon(rings.into_iter().map(ring));
        let outline = |outline: Outline| outline.into_iter().map(polygon).collect();
        Ok(self.outlines()?.into_iter().map(outline).collect())
    }

    /// Calls `take` with each piece of the borders of all parts.
    fn each_piece(&self, parts: &[u32], mut take: impl FnMut(u32, Piece)) {
        let rows: Vec<&[Run]> = self.runs.chunk_by(|a, b| a.row == b.row).collect();
        let (mut first, mut above): (usize, (usize, &[Run])) = (0, (0, &[]));
        for row in rows {
            let number = row[0].row;
            if above.1.first().is_some_and(|run| run.row + 1 != number) {
                // Nothing lies south of the row before.
                between(above, (0, &[]), |run, piece| take(parts[run], piece));
                above = (0, &[]);
            }
            between(above, (first, row), |run, piece| take(parts[run], piece));
            above = (first, row);
            first += row.len();
        }
        between(above, (0, &[]), |run, piece| take(parts[run], piece));
    }
}

/// Calls `take` with the pieces of the border between two rows, each with the run that it is the border of. Rows are the number of
/// their first run, and the runs.
fn between(above: (usize, &[Run]), below: (usize, &[Run]), mut take: impl FnMut(usize, Piece)) {
    let Some(row) = below.1.first().map(|run| run.row).or(above.1.first().map(|run| run.row + 1))
    else {
        return;
    };
    for ((first, runs), others, is_top) in [(above, below.1, false), (below, above.1, true)] {
        let mut next = 0;
        for (i, run) in runs.iter().enumerate() {
            while others.get(next).is_some_and(|other| other.column1 <= run.column0) {
                next += 1;
            }
            let mut column0 = run.column0;
            let mut put = |from: u32, to: u32| {
                if from < to {
                    take(first + i, Piece { row, column0: from, column1: to, is_top });
                }
            };
            for other in others[next..].iter().take_while(|other| other.column0 < run.column1) {
                put(column0, other.column0);
                column0 = column0.max(other.column1);
            }
            put(column0, run.column1);
        }
    }
}

/// The rings of a part, the outer one first.
fn polygon(pieces: &[Piece]) -> Vec<Vec<Corner>> {
    let after = following(pieces);
    let (mut outer, mut holes) = (Vec::new(), Vec::new());
    let mut seen = vec![false; pieces.len()];
    for start in 0..pieces.len() {
        let (mut way, mut at) = (Vec::new(), start);
        while !seen[at] {
            seen[at] = true;
            let Piece { row, column0, column1, is_top } = pieces[at];
            let [from, to] = if is_top { [column1, column0] } else { [column0, column1] };
            way.extend([[from, row], [to, row]]);
            at = after[at];
        }
        each_simple(&way, |ring| match area(&ring) > 0 {
            true => outer.push(ring),
            false => holes.push(ring),
        });
    }
    outer.append(&mut holes);
    outer
}

/// For each piece the one that follows it along the border.
fn following(pieces: &[Piece]) -> Vec<usize> {
    // Column, row, the piece, and whether the way leaves the piece there.
    let ends = pieces.iter().enumerate().flat_map(|(i, piece)| {
        let (west, east) = (piece.column0, piece.column1);
        [(west, piece.row, i, piece.is_top), (east, piece.row, i, !piece.is_top)]
    });
    let mut ends: Vec<(u32, u32, usize, bool)> = ends.collect();
    ends.sort_unstable();
    let mut after = vec![0; pieces.len()];
    for column in ends.chunk_by(|a, b| a.0 == b.0) {
        // What lies between the first and the second of a pair is border, and so is no end alone.
        for pair in column.as_chunks::<2>().0 {
            let [(.., a, leaves), (.., b, _)] = *pair;
            let (from, to) = if leaves { (a, b) } else { (b, a) };
            after[from] = to;
        }
    }
    after
}

/// Cuts a closed way into rings that come to no corner twice.
fn each_simple(way: &[Corner], mut take: impl FnMut(Vec<Corner>)) {
    let mut open: Vec<Corner> = Vec::new();
    let mut places: HashMap<Corner, usize> = HashMap::new();
    for &corner in way {
        if let Some(&first) = places.get(&corner) {
            let ring: Vec<Corner> = open.drain(first..).collect();
            ring.iter().for_each(|corner| {
                places.remove(corner);
            });
            if ring.len() > 2 {
                take(ring);
            }
        }
        places.insert(corner, open.len());
        open.push(corner);
    }
    if open.len() > 2 {
        take(open);
    }
}

/// Twice the area of a ring, positive where it turns counterclockwise with north up.
fn area(ring: &[Corner]) -> i128 {
    let next = ring.iter().cycle().skip(1);
    let of = |([x0, y0], [x1, y1]): (&Corner, &Corner)| {
        i128::from(*x1) * i128::from(*y0) - i128::from(*x0) * i128::from(*y1)
    };
    ring.iter().zip(next).map(of).sum()
}
