//! The surface of the objects on the ground: the highest point of each cell.
//!
//! In each cell, only the highest point counts, at its own place. So a part of a DEM has the same sites as the whole if
//! it reads all points of each cell that it touches ([`WholeCells`]).

use gpu_core::Bounds;
use gpu_core::parallel::{self, FINE};
use programs::cloud::Cloud;
use programs::ground::Ground;

use crate::lattice::{Lattice, widened};

/// The cell that holds a place: its column to the east and its row to the south of the lattice's anchor. Its northern
/// and western edges belong to it. What is farther than 2^31 cells counts as in the last.
fn cell_of(lattice: &Lattice, x: f64, y: f64) -> [i32; 2] {
    // A cast from what is beyond gives the end of the range.
    [lattice.in_cells(0, x), -lattice.in_cells(1, y)].map(|place| place.floor() as i32)
}

/// Keeps the highest point of each cell. Among equally high points it keeps the westernmost, then the southernmost,
/// then the first. If the points of cells are to be counted, each point that stays stands for its cell's.
pub fn keep_highest(cloud: &mut Cloud, lattice: &Lattice, is_counted: bool) {
    let keyed = |i: usize| {
        let [column, row] = cell_of(lattice, cloud.x[i], cloud.y[i]);
        (u64::from(column.cast_unsigned()) << 32 | u64::from(row.cast_unsigned()), i as u32)
    };
    let mut points = parallel::map(cloud.x.len(), FINE, keyed);
    parallel::sort_pairs(&mut points);
    let mut stays = vec![false; cloud.x.len()];
    if is_counted && cloud.counts.is_none() {
        cloud.counts = Some(vec![1; cloud.x.len()]);
    }
    let rank =
        |&(_, i): &(u64, u32)| (-cloud.z[i as usize], cloud.x[i as usize], cloud.y[i as usize]);
    for of_cell in points.chunk_by(|a, b| a.0 == b.0) {
        let first = of_cell.iter().reduce(|best, next| {
            let ((a, b, c), (d, e, f)) = (rank(best), rank(next));
            let order = d.total_cmp(&a).then(e.total_cmp(&b)).then(f.total_cmp(&c));
            // Points of a cell come in their order.
            if order.is_lt() { next } else { best }
        });
        let Some(&(_, highest)) = first else { continue };
        stays[highest as usize] = true;
        if let Some(counts) = &mut cloud.counts {
            let all = of_cell.iter().map(|&(_, i)| counts[i as usize]);
            counts[highest as usize] = all.fold(0, u32::saturating_add);
        }
    }
    cloud.keep(|_, i| stays[i]);
}

/// A ground, widened to whole cells.
pub struct WholeCells<'a> {
    /// The ground.
    pub ground: &'a dyn Ground,
    /// Where edges of cells lie.
    pub lattice: Lattice,
}

impl Ground for WholeCells<'_> {
    fn bounds(&self) -> Bounds {
        // A cell, and what rounding may take of it.
        widened(&self.ground.bounds(), 2.0 * self.lattice.cell)
    }

    fn touches(&self, area: &Bounds) -> bool {
        self.ground.touches(&widened(area, 2.0 * self.lattice.cell))
    }

    fn holds(&self, x: f64, y: f64) -> bool {
        let [column, row] = cell_of(&self.lattice, x, y).map(f64::from);
        let cell = Bounds { min_x: column, max_x: column + 1.0, min_y: -row - 1.0, max_y: -row };
        self.ground.touches(&self.lattice.bounds(&cell))
    }

    fn strips(&self) -> u32 {
        self.ground.strips()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_of_each_cell_stays_where_it_is() {
        let mut cloud = Cloud {
            x: vec![0.1, 0.9, 1.0, 0.5, 7.5, 0.2],
            y: vec![0.1, 0.9, 0.5, 1.0, 7.5, 0.3],
            z: vec![1.0, 3.0, 2.0, 9.0, 0.0, 3.0],
            ..Cloud::default()
        };
        // A second call changes nothing.
        for _ in 0..2 {
            keep_highest(&mut cloud, &Lattice::of_multiples(1.0), true);
            // A point on an edge is in the cell to the east or to the south: 9 at (0.5, 1) is above the two of 3.
            assert_eq!((&cloud.x[..], &cloud.z[..]), (&[1.0, 0.5, 7.5][..], &[2.0, 9.0, 0.0][..]));
            assert_eq!(cloud.counts, Some(vec![1, 4, 1]));
        }
    }

    #[test]
    fn of_points_as_high_one_stays_whatever_their_order() {
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let of = |column: [f64; 3]| order.map(|i| column[i]).to_vec();
            let (x, y) = (of([0.3, 0.2, 0.2]), of([0.1, 0.8, 0.4]));
            let mut cloud = Cloud { x, y, z: vec![5.0; 3], ..Cloud::default() };
            keep_highest(&mut cloud, &Lattice::of_multiples(1.0), false);
            assert_eq!((cloud.x, cloud.y), (vec![0.2], vec![0.4]));
        }
    }

    #[test]
    fn whole_cells_are_held_or_not() {
        let ground = Bounds { min_x: 2.5, min_y: 2.5, max_x: 4.0, max_y: 4.2 };
        let whole = WholeCells { ground: &ground, lattice: Lattice::of_multiples(1.0) };
        assert!(whole.holds(2.01, 2.01) && whole.holds(3.99, 4.99) && !whole.holds(1.99, 3.0));
        assert!(whole.holds(4.5, 3.5) && !whole.holds(5.01, 3.5) && !whole.holds(3.0, 5.01));
        let all = whole.bounds();
        assert!(all.min_x <= 2.0 && all.max_y >= 5.0);
    }
}
