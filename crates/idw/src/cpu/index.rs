//! The index of points on the CPU: by cells, or along a curve.

use rayon::prelude::*;

use crate::cells::CellGrid;
use crate::curve::Curve;
use crate::points::{Data, Range};

/// Points sorted by cells, or along a curve, those of a cell by their indices.
pub(super) struct Index<'a> {
    pub data: &'a Data<'a>,
    pub cells: CellGrid,
    pub geographic: bool,
    /// Where each cell's points begin in the sorted order, and where the last one's end; empty for
    /// tiles.
    pub starts: Vec<u32>,
    /// The index of each sorted point.
    pub order: Vec<u32>,
    /// Sorted places: x, y, and on the sphere z of the unit vectors.
    pub places: Vec<[f64; 3]>,
}

impl<'a> Index<'a> {
    /// Sorts points to search neighbours among them.
    pub fn to_search(data: &'a Data<'a>, geographic: bool) -> Self {
        let cells = CellGrid::to_search(data, geographic);
        let keyed = |i: usize| u64::from(cells.number(data.x[i], data.y[i])) << 32 | i as u64;
        let mut keys: Vec<u64> = (0..data.len()).into_par_iter().map(keyed).collect();
        keys.par_sort_unstable();
        let mut starts = vec![0u32; cells.len() + 1];
        for key in &keys {
            starts[(key >> 32) as usize + 1] += 1;
        }
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let order: Vec<u32> = keys.par_iter().map(|&key| key as u32).collect();
        Self::in_order(data, geographic, cells, starts, order)
    }

    /// Sorts points to walk over all of them by tiles: along Hilbert's curve, without cells.
    pub fn to_tile(data: &'a Data<'a>, geographic: bool) -> Self {
        let curve = Curve::of(&data.x, &data.y);
        let order = curve.order(data.len(), |i| (data.x[i], data.y[i]));
        let cells = CellGrid::to_search(data, geographic);
        Self::in_order(data, geographic, cells, Vec::new(), order)
    }

    fn in_order(
        data: &'a Data<'a>,
        geographic: bool,
        cells: CellGrid,
        starts: Vec<u32>,
        order: Vec<u32>,
    ) -> Self {
        let place = |&i: &u32| match &data.vectors {
            Some(vectors) => [0, 1, 2].map(|axis| vectors[axis][i as usize]),
            None => [data.x[i as usize], data.y[i as usize], 0.0],
        };
        let places = order.par_iter().map(place).collect();
        Self { data, cells, geographic, starts, order, places }
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn area(&self) -> f64 {
        self.data.area(self.geographic)
    }

    pub fn range(&self, v: usize) -> Range {
        self.data.ranges[v]
    }

    /// Value `v` of a sorted point.
    pub fn value(&self, v: usize, sorted: usize) -> f64 {
        self.data.values[v][self.order[sorted] as usize]
    }
}
