//! Boxes of the index's cells around a place. They tell which points may lie within a distance, and which distance may
//! hold enough points. Searches use them where points are about as dense as elsewhere, and the tree in other places.

use std::ops::Range;

use kernels_rs::spatial::cells::Cells;
use kernels_rs::spatial::sphere;

use crate::cpu::f64_value;
use crate::cpu::index::Index;

/// A place, as the index has places.
pub(crate) struct Place<'a, 'b> {
    pub index: &'a Index<'b>,
    x: f64,
    y: f64,
    /// Its coordinates, or on the sphere its unit vector.
    pub at: [f64; 3],
}

/// Cells from one row and column to another, both inclusive.
pub(crate) struct CellBox {
    rows: [u32; 2],
    columns: [Option<[u32; 2]>; 2],
    /// A circle, if there is one: x, y and radius. Then only the part of each row within the circle counts.
    disc: Option<[f64; 3]>,
}

/// The most rows of cells that a search visits. If they hold too few points, the search does not use cells.
const MAX_ROWS: u32 = 64;

impl<'a, 'b> Place<'a, 'b> {
    pub fn new(index: &'a Index<'b>, (x, y): (f64, f64)) -> Self {
        let x = if index.geographic { sphere::normalised(x) } else { x };
        Self { index, x, y, at: f64_value::place(index.geographic, (x, y)) }
    }

    /// Converts a radius to a distance: on the sphere, where a radius is an angle, to its chord.
    pub fn chord(&self, radius: f64) -> f64 {
        let geographic = self.index.geographic;
        if geographic { sphere::squared_chord_of_arc(radius).sqrt() } else { radius }
    }

    /// Converts a distance to a radius, rounded up.
    pub fn arc(&self, chord: f64) -> f64 {
        if !self.index.geographic {
            return chord;
        }
        sphere::arc_of_squared_chord(chord.min(2.0).powi(2)) * (1.0 + 1e-9)
    }

    /// Estimates the radius that holds about `wanted` points (on the sphere an angle); `None` where points lie too far
    /// apart for cells.
    pub fn radius_of(&self, wanted: f64) -> Option<f64> {
        let cell = self.index.cells.side;
        let cell = if self.index.geographic { cell.to_radians() } else { cell };
        let mut half = cell;
        loop {
            let (cells, _) = self.box_of([half; 2]);
            if !cells.are_few() {
                return None;
            }
            let count: usize = cells.runs(self.index).map(|run| run.len()).sum();
            if count as f64 >= wanted || cells.is_whole(self.index) {
                let wanted = wanted + 2.0 * wanted.sqrt() + 1.0;
                let share = wanted / (count.max(1) as f64 * std::f64::consts::PI);
                return Some(((2.0 * half + cell) * share.sqrt()).min(half * 2.0));
            }
            half *= 2.0;
        }
    }

    /// Returns the cells within a radius of the place (on the sphere an angle), and whether every point of the index
    /// counts as within. In the plane this is false for a finite radius: even if the box covers the whole index, the
    /// circle may not.
    pub fn disc_of(&self, radius: f64) -> (CellBox, bool) {
        let (cells, is_whole) = self.box_of([radius; 2]);
        let is_round = !self.index.geographic && radius < f64::INFINITY;
        let disc = is_round.then_some([self.x, self.y, radius]);
        (CellBox { disc, ..cells }, is_whole && !is_round)
    }

    /// Returns the cells of a box around the place, and whether the box covers the whole index.
    pub fn box_of(&self, [x, y]: [f64; 2]) -> (CellBox, bool) {
        let c = &self.index.cells;
        // A little more than that, so that no rounding leaves out a point on the edge.
        let slack = c.side * 0.001;
        let up = if self.index.geographic { y.to_degrees() } else { y } + slack;
        let rows = [c.row(self.y - up), c.row(self.y + up)];
        let columns = if self.index.geographic {
            self.columns_of_cap(x, up, slack)
        } else {
            [Some([c.column(self.x - x - slack), c.column(self.x + x + slack)]), None]
        };
        let found = CellBox { rows, columns, disc: None };
        let whole = found.is_whole(self.index);
        (found, whole)
    }

    /// The columns that a cap of the sphere touches: two runs where it passes the date line.
    fn columns_of_cap(&self, arc: f64, up: f64, slack: f64) -> [Option<[u32; 2]>; 2] {
        let c = &self.index.cells;
        let all = [Some([0, c.columns - 1]), None];
        let cosine = self.at[0].hypot(self.at[1]);
        // Over a pole, or from a right angle on, every column.
        if up + self.y.abs() >= 89.999 || arc >= 1.5 || arc.sin() >= 0.999 * cosine {
            return all;
        }
        // The widest longitude of a cap: sin(dlon) = sin(arc) / cos(latitude).
        let half = (arc.sin() / cosine).asin().to_degrees() + slack;
        let (from, to) = (self.x - half, self.x + half);
        let runs = if from < -180.0 {
            [[0, c.column(to)], [c.column(from + 360.0), c.columns - 1]]
        } else if to > 180.0 {
            [[0, c.column(to - 360.0)], [c.column(from), c.columns - 1]]
        } else {
            return [Some([c.column(from), c.column(to)]), None];
        };
        // Two runs that meet would visit a cell twice.
        if runs[0][1] >= runs[1][0] { all } else { runs.map(Some) }
    }
}

impl CellBox {
    pub fn is_whole(&self, index: &Index) -> bool {
        let c = &index.cells;
        self.rows == [0, c.rows - 1] && self.columns[0] == Some([0, c.columns - 1])
    }

    /// Whether the box has few enough rows for a search.
    pub fn are_few(&self) -> bool {
        self.rows[1] - self.rows[0] < MAX_ROWS
    }

    /// Whether the cells hold many more points than the same number of cells elsewhere.
    pub fn are_crowded(&self, index: &Index) -> bool {
        let across = |[from, to]: [u32; 2]| f64::from(to - from + 1);
        let columns: f64 = self.columns.into_iter().flatten().map(across).sum();
        let share = columns * across(self.rows) / index.cells.len() as f64;
        let whole = Self { disc: None, ..*self };
        let count: usize = whole.runs(index).map(|run| run.len()).sum();
        count as f64 > 4.0 * share * index.len() as f64 + 64.0
    }

    /// Returns the sorted points of the cells: one or two runs for each row.
    pub fn runs<'a>(&self, index: &'a Index) -> impl Iterator<Item = Range<usize>> + 'a {
        let ([first, last], columns, disc) = (self.rows, self.columns, self.disc);
        (first..=last).flat_map(move |row| {
            let start = row as usize * index.cells.columns as usize;
            columns.into_iter().flatten().map(move |[from, to]| {
                let (from, to) = match disc {
                    Some(disc) => within_disc(&index.cells, row, [from, to], disc),
                    None => (from, to + 1),
                };
                index.starts[start + from as usize] as usize
                    ..index.starts[start + to as usize] as usize
            })
        })
    }
}

/// Returns those columns of a row that reach into a disc: the first, and the one behind the last.
fn within_disc(c: &Cells, row: u32, [from, to]: [u32; 2], [x, y, radius]: [f64; 3]) -> (u32, u32) {
    let [low, high] = c.strip(row);
    // The slack of a box.
    let slack = c.side * 0.001;
    let away = f64::max(c.south + low - y, y - (c.south + high)) - slack;
    let away = f64::max(away, 0.0);
    if away > radius {
        return (from, from);
    }
    let half = f64::max(radius * radius - away * away, 0.0).sqrt() + slack;
    let (first, last) = (from.max(c.column(x - half)), to.min(c.column(x + half)));
    (first.min(last + 1), last + 1)
}
