//! What the tests share: points, and the comparison of devices.
#![allow(dead_code)]

use gpu_core::{Grid, GridSpec, GridView, Points};
use nni_grid::{Dem, Input, Params, Weights, interpolate};
use spade::{DelaunayTriangulation, HasPosition, Point2, Triangulation};
pub use testing::{Cloud, bits, devices};

/// Repeatable points in a square, with heights from a function.
pub fn random(count: usize, side: f64, seed: u64, height: impl Fn(f64, f64) -> f64) -> Cloud {
    Cloud::uniform(count, [0.0, 0.0, side, side], seed, height)
}

/// Columns of values as points have them.
pub fn slices(columns: &[Vec<f64>]) -> Vec<&[f64]> {
    columns.iter().map(|column| &column[..]).collect()
}

/// The mean of two values; of one, where only that is there.
pub fn united(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ => ((f64::from(a) + f64::from(b)) / 2.0) as f32,
    }
}

pub fn square(side: u32) -> GridSpec {
    GridSpec::new(0.0, f64::from(side), 1.0, side, side).unwrap()
}

/// The values of a DEM that has one raster.
pub fn only(dem: &Dem) -> &[f32] {
    assert_eq!(dem.values.len(), 1);
    dem.values[0].values()
}

/// The bits of a layer, if it is there.
pub fn layer_bits(layer: &Option<Grid<f32>>) -> Option<Vec<u32>> {
    layer.as_ref().map(|layer| bits(layer.values()))
}

/// Checks that two DEMs agree in all bits.
pub fn assert_same(found: &Dem, expected: &Dem, what: &str) {
    assert_eq!(found.grid, expected.grid, "{what}");
    assert_eq!(found.values.len(), expected.values.len(), "{what}");
    for (k, (a, b)) in found.values.iter().zip(&expected.values).enumerate() {
        assert_eq!(bits(a.values()), bits(b.values()), "value {k}, {what}");
    }
    assert_eq!(found.summary, expected.summary, "{what}");
    assert_eq!(found.counts, expected.counts, "{what}");
    assert_eq!(layer_bits(&found.distances), layer_bits(&expected.distances), "{what}");
    assert_eq!(layer_bits(&found.deviations), layer_bits(&expected.deviations), "{what}");
}

/// Interpolates on every device and checks that they agree in all bits; gives the DEM.
pub fn input_on_all(input: &Input, params: &Params) -> Dem {
    let mut dems = devices().into_iter().map(|device| {
        let dem = interpolate(&device, *input, params).unwrap();
        (device.name(), dem)
    });
    let (_, first) = dems.next().unwrap();
    dems.for_each(|(name, dem)| assert_same(&dem, &first, &name));
    first
}

/// The same of a cloud's points, with counts where there are any.
pub fn on_all(cloud: &Cloud, grid: GridSpec, params: &Params) -> Dem {
    let params = params.counts(params.counts || params.weights == Weights::Sibson);
    cloud.with(|points| input_on_all(&Input::new(points, grid), &params))
}

/// The DEM of a cloud on the CPU.
pub fn on_cpu(cloud: &Cloud, grid: GridSpec, params: &Params) -> Dem {
    let of = |points: Points| {
        interpolate(&gpu_core::Device::Cpu, Input::new(points, grid), params).unwrap()
    };
    cloud.with(of)
}

/// Points with a mask, if there is one.
pub fn masked<'a>(points: Points<'a>, mask: Option<&'a [u8]>, grid: GridSpec) -> Input<'a> {
    match mask {
        Some(mask) => Input::new(points, grid).mask(GridView::new(mask, grid).unwrap()),
        None => Input::new(points, grid),
    }
}

/// A point of the oracle.
pub struct Site {
    position: Point2<f64>,
    /// Its value.
    pub z: f64,
}

impl HasPosition for Site {
    type Scalar = f64;

    fn position(&self) -> Point2<f64> {
        self.position
    }
}

/// The Delaunay triangulation of points, by the crate `spade`.
pub fn mesh(cloud: &Cloud) -> DelaunayTriangulation<Site> {
    let mut mesh = DelaunayTriangulation::new();
    for i in 0..cloud.z.len() {
        let position = Point2::new(cloud.x[i], cloud.y[i]);
        mesh.insert(Site { position, z: cloud.z[i] }).unwrap();
    }
    mesh
}

/// Exact Sibson interpolation at the cells' centres; `None` outside the convex hull.
pub fn oracle(cloud: &Cloud, grid: &GridSpec) -> Vec<Option<f64>> {
    let mesh = mesh(cloud);
    let mesh = mesh.natural_neighbor();
    let centres = (0..grid.height).flat_map(|row| (0..grid.width).map(move |column| (column, row)));
    centres
        .map(|(column, row)| {
            let (x, y) = grid.cell_centre(column, row);
            mesh.interpolate(|site| site.data().z, Point2::new(x, y))
        })
        .collect()
}
