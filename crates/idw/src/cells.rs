//! The uniform grid of cells that both back ends search neighbours by.

use crate::points::Data;

/// Points of a cell, on average, where neighbours are searched.
const POINTS_TO_SEARCH: f64 = 2.0;

/// The most cells: their numbers are sorted by three digits of 8 bits.
const MOST_CELLS: f64 = 16_777_216.0;

/// Points that the extent is judged by.
const SAMPLE: usize = 4096;

/// A uniform grid of square cells, from the south-west. Points beyond it belong to the nearest cell of
/// its edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CellGrid {
    pub west: f64,
    pub south: f64,
    /// Side of a cell.
    pub cell: f64,
    pub columns: u32,
    pub rows: u32,
}

impl CellGrid {
    /// The grid to search neighbours by. A few points far from all others do not make the cells large.
    pub fn to_search(data: &Data, geographic: bool) -> Self {
        let lonely = Self { west: 0.0, south: 0.0, cell: 1.0, columns: 1, rows: 1 };
        let Some(b) = data.bounds else { return lonely };
        let (mut west, mut east) = bulk(&data.x, b.min_x, b.max_x);
        let (south, north) = bulk(&data.y, b.min_y, b.max_y);
        if geographic {
            (west, east) = (-180.0, 180.0);
        }
        let (width, height) = (east - west, north - south);
        let cells = (data.len() as f64 / POINTS_TO_SEARCH).clamp(1.0, MOST_CELLS / 4.0);
        // On a line the area says nothing.
        let cell = (width * height / cells).sqrt().max(width.max(height) / cells);
        if !(cell > 0.0 && cell.is_finite()) {
            return Self { west, south, ..lonely };
        }
        let along = |length: f64| ((length / cell).floor() + 1.0).min(MOST_CELLS) as u32;
        Self { west, south, cell, columns: along(width), rows: along(height) }
    }

    /// How many cells.
    pub fn len(&self) -> usize {
        self.columns as usize * self.rows as usize
    }

    /// The column of an x, brought into the grid.
    pub fn column(&self, x: f64) -> u32 {
        along((x - self.west) * self.per_unit(), self.columns)
    }

    /// The row of a y, brought into the grid.
    pub fn row(&self, y: f64) -> u32 {
        along((y - self.south) * self.per_unit(), self.rows)
    }

    /// The number of the cell of a point.
    pub fn number(&self, x: f64, y: f64) -> u32 {
        self.row(y) * self.columns + self.column(x)
    }

    /// 1 / side of a cell.
    pub fn per_unit(&self) -> f64 {
        1.0 / self.cell
    }
}

fn along(position: f64, cells: u32) -> u32 {
    position.floor().min(f64::from(cells) - 1.0).max(0.0) as u32
}

/// The extent without outliers: the middle 98% of a sample, a quarter wider on each side, within the
/// whole.
pub(crate) fn bulk(column: &[f64], min: f64, max: f64) -> (f64, f64) {
    // By multiples of the golden ratio: points may come in turns from several places.
    let spread = |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let index = |k: u64| ((u128::from(spread(k)) * column.len() as u128) >> 64) as usize;
    let mut sample: Vec<f64> = if column.len() <= SAMPLE {
        column.to_vec()
    } else {
        (0..SAMPLE as u64).map(|k| column[index(k)]).collect()
    };
    sample.sort_by(f64::total_cmp);
    let at = |share: f64| sample[((sample.len() - 1) as f64 * share) as usize];
    if sample.len() < 100 {
        return (min, max);
    }
    let (low, high) = (at(0.01), at(0.99));
    let margin = (high - low) * 0.25;
    (min.max(low - margin), max.min(high + margin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Points};

    #[test]
    fn an_outlier_does_not_make_the_cells_large() {
        let mut x: Vec<f64> = (0..10_000).map(|i| f64::from(i % 100)).collect();
        let mut y: Vec<f64> = (0..10_000).map(|i| f64::from(i / 100)).collect();
        (x[17], y[17]) = (1e9, -1e9);
        let values = [&x[..]];
        let points = Points { x: &x, y: &y, values: &values };
        let data = Data::of(points, &Params::default()).unwrap();
        let grid = CellGrid::to_search(&data, false);
        assert!(grid.cell < 3.0, "{grid:?}");
        assert_eq!(grid.column(1e9), grid.columns - 1);
        assert_eq!(grid.row(-1e9), 0);
    }

    #[test]
    fn points_that_come_in_turns_from_several_places_are_all_seen() {
        let x: Vec<f64> = (0..100_000).map(|i| f64::from(i % 64)).collect();
        assert_eq!(bulk(&x, 0.0, 63.0), (0.0, 63.0));
    }

    #[test]
    fn points_on_a_line_or_in_one_place_have_a_grid() {
        for (x, y) in
            [(vec![5.0; 9], vec![7.0; 9]), ((0..9).map(f64::from).collect(), vec![0.0; 9])]
        {
            let values = [&x[..]];
            let points = Points { x: &x, y: &y, values: &values };
            let data = Data::of(points, &Params::default()).unwrap();
            let grid = CellGrid::to_search(&data, false);
            assert!(grid.cell > 0.0 && grid.len() < 100, "{grid:?}");
        }
    }
}
