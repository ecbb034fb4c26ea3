//! The index of points on the CPU: by cells, or along a curve.

use std::f64::consts::PI;
use std::sync::OnceLock;

use gpu_core::Bounds;
use gpu_core::parallel::{self, FINE};

use crate::cpu::same_place::SamePlace;
use crate::cpu::search::kd_tree::Halves;
use crate::points::{Data, Range};
use kernels_rs::idw::plan::{self, Curve, Plan};
use kernels_rs::spatial::cells::Cells;
use kernels_rs::spatial::{hilbert, sphere};

/// Points sorted by cells, or along a curve, those of a cell by their indices.
pub(super) struct Index<'a> {
    pub data: &'a Data<'a>,
    pub cells: Cells,
    pub geographic: bool,
    /// Where each cell's points begin in the sorted order, and at last where they end; empty for tiles.
    pub starts: Vec<u32>,
    /// The index of each sorted point.
    pub order: Vec<u32>,
    /// Sorted places: x, y, and on the sphere z of the unit vectors.
    pub places: Vec<[f64; 3]>,
    /// Sorted values for searches, where neighbours lie near each other.
    pub values: Vec<Vec<f64>>,
    halves: OnceLock<Halves>,
    same_place: OnceLock<SamePlace>,
}

impl<'a> Index<'a> {
    /// Sorts points to search neighbours among them.
    pub fn to_search(data: &'a Data<'a>, geographic: bool) -> Self {
        let cells = plan_of(data).cells();
        let cell = |i: usize| cells.row(data.y[i]) * cells.columns + cells.column(data.x[i]);
        let keyed = |i: usize| u64::from(cell(i)) << 32 | i as u64;
        let mut keys = parallel::map(data.len(), FINE, keyed);
        parallel::sort(&mut keys);
        let mut starts = vec![0u32; cells.len() as usize + 1];
        for key in &keys {
            starts[(key >> 32) as usize + 1] += 1;
        }
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let order = parallel::map(keys.len(), FINE, |i| keys[i] as u32);
        drop(keys);
        let mut index = Self::in_order(data, geographic, cells, starts, order);
        let sorted = |v| parallel::map(index.len(), FINE, |i| index.value(v, i));
        index.values = (0..data.values.len()).map(sorted).collect();
        index
    }

    /// Sorts points to walk over all of them by tiles: along Hilbert's curve, without cells.
    pub fn to_tile(data: &'a Data<'a>, geographic: bool) -> Self {
        let plan = plan_of(data);
        let place = |i: usize| (data.x[i], data.y[i]);
        let order = match geographic {
            true => order_on_sphere(data.len(), place),
            false => order_along(&plan.curve, data.len(), place),
        };
        Self::in_order(data, geographic, plan.cells(), Vec::new(), order)
    }

    fn in_order(
        data: &'a Data<'a>,
        geographic: bool,
        cells: Cells,
        starts: Vec<u32>,
        order: Vec<u32>,
    ) -> Self {
        let place = |i: usize| match (data.x[i], data.y[i]) {
            (longitude, latitude) if geographic => sphere::unit_vector(longitude, latitude),
            (x, y) => [x, y, 0.0],
        };
        let places = parallel::map(order.len(), FINE, |i| place(order[i] as usize));
        let (values, halves, same_place) = (Vec::new(), OnceLock::new(), OnceLock::new());
        Self { data, cells, geographic, starts, order, places, values, halves, same_place }
    }

    /// Returns the tree of the points, for targets whose neighbours the cells do not find quickly. The first call makes
    /// it, on all cores. So no task of `parallel` may call it: a task that waits for others may begin another task,
    /// which waits for the first.
    pub fn halves(&self) -> &Halves {
        self.halves.get_or_init(|| Halves::new(&self.places, &self.order))
    }

    /// Returns what finds the points at a target's place. The first call sorts the points: as for
    /// [`halves`](Self::halves), no task of `parallel` may call it.
    pub fn same_place(&self) -> &SamePlace {
        self.same_place.get_or_init(|| SamePlace::of(&self.places))
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn range(&self, v: usize) -> Range {
        self.data.ranges[v]
    }

    /// Value `v` of a sorted point.
    pub fn value(&self, v: usize, sorted: usize) -> f64 {
        self.data.values[v][self.order[sorted] as usize]
    }
}

/// The plan that points are sorted by.
fn plan_of(data: &Data) -> Plan {
    let Some(bounds) = data.ground.bounds else { return Plan::new([0.0; 2], [0.0; 2], 0, false) };
    let [x, y] = bulk(&data.x, &data.y, bounds);
    Plan::new(x, y, data.len() as u64, data.ground.geographic)
}

/// The curve over places.
pub(super) fn curve_of(x: &[f64], y: &[f64]) -> Curve {
    let Some(bounds) = Bounds::of(x, y) else { return Curve::default() };
    let [x, y] = bulk(x, y, bounds);
    Curve::over(x, y)
}

/// Where most of some places lie, along x and along y.
fn bulk(x: &[f64], y: &[f64], bounds: Bounds) -> [[f64; 2]; 2] {
    let Bounds { min_x, min_y, max_x, max_y } = bounds;
    let (count, len) = (x.len() as u64, plan::sample_len(x.len() as u64));
    [(x, [min_x, max_x]), (y, [min_y, max_y])].map(|(column, whole)| {
        let sampled = (0..len).map(|k| column[plan::sampled(k, count) as usize]);
        let mut sample: Vec<f64> = sampled.collect();
        sample.sort_by(f64::total_cmp);
        plan::bulk(plan::ranks(len).map(|rank| sample[rank as usize]), len, whole)
    })
}

/// The indices of places in the order of a curve, stable.
pub(super) fn order_along(
    curve: &Curve,
    count: usize,
    place: impl Fn(usize) -> (f64, f64) + Sync,
) -> Vec<u32> {
    order_by(count, |i| {
        let (x, y) = place(i);
        curve.number(x, y)
    })
}

/// The same for longitudes and latitudes, along curves over the faces of a cube around the globe. So a run of places is
/// a compact piece of the sphere, near the poles too.
pub(super) fn order_on_sphere(
    count: usize,
    place: impl Fn(usize) -> (f64, f64) + Sync,
) -> Vec<u32> {
    order_by(count, |i| {
        let (longitude, latitude) = place(i);
        number_on_cube(sphere::unit_vector(longitude, latitude))
    })
}

/// Bits of a place along each side of a face.
const FACE_BITS: u32 = 14;

/// Where a unit vector comes along the curves. A face is divided by angles, which makes its cells nearly equal.
fn number_on_cube(vector: [f64; 3]) -> u32 {
    let of = |axis: usize| vector[axis].abs();
    let axis = (0..3).fold(0, |most, axis| if of(axis) > of(most) { axis } else { most });
    let face = 2 * axis as u32 + u32::from(vector[axis] < 0.0);
    let cell = |other: usize| {
        let share = (vector[other] / of(axis)).atan() * (2.0 / PI) + 0.5;
        ((share * f64::from(1 << FACE_BITS)) as u32).min((1 << FACE_BITS) - 1)
    };
    let along = hilbert::number::<FACE_BITS>(cell((axis + 1) % 3), cell((axis + 2) % 3));
    face << (2 * FACE_BITS) | along as u32
}

fn order_by(count: usize, number: impl Fn(usize) -> u32 + Sync) -> Vec<u32> {
    let keyed = |i: usize| u64::from(number(i)) << 32 | i as u64;
    let mut keys = parallel::map(count, FINE, keyed);
    parallel::sort(&mut keys);
    parallel::map(count, FINE, |i| keys[i] as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Points};

    fn cells(x: &[f64], y: &[f64]) -> Cells {
        let values = [x];
        let data = Data::of(Points { x, y, values: &values }, &Params::default()).unwrap();
        Index::to_search(&data, false).cells
    }

    #[test]
    fn an_outlier_does_not_make_the_cells_large() {
        let mut x: Vec<f64> = (0..10_000).map(|i| f64::from(i % 100)).collect();
        let mut y: Vec<f64> = (0..10_000).map(|i| f64::from(i / 100)).collect();
        (x[17], y[17]) = (1e9, -1e9);
        let cells = cells(&x, &y);
        assert!(cells.side < 3.0, "{cells:?}");
        assert_eq!(cells.column(1e9), cells.columns - 1);
        assert_eq!(cells.row(-1e9), 0);
    }

    #[test]
    fn points_that_come_in_turns_from_several_places_are_all_seen() {
        let x: Vec<f64> = (0..100_000).map(|i| f64::from(i % 64)).collect();
        let whole = Bounds { min_x: 0.0, min_y: 0.0, max_x: 63.0, max_y: 63.0 };
        assert_eq!(bulk(&x, &x, whole), [[0.0, 63.0]; 2]);
    }

    #[test]
    fn points_on_a_line_or_in_one_place_have_cells() {
        for (x, y) in
            [(vec![5.0; 9], vec![7.0; 9]), ((0..9).map(f64::from).collect(), vec![0.0; 9])]
        {
            let cells = cells(&x, &y);
            assert!(cells.side > 0.0 && cells.len() < 100, "{cells:?}");
        }
    }
}
