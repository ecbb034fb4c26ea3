//! Draws the picture of docs/internals/nni-grid.md: one surface by exact Sibson interpolation, and by this
//! crate at supersample 1 and 4.
//!
//! `cargo run --release --package nni-grid --example side_by_side -- OUT.png`

use geo_io::write_relief;
use gpu_core::{Device, GridSpec, GridView, Points};
use nni_grid::{Input, Params, interpolate};
use spade::{DelaunayTriangulation, HasPosition, Point2, Triangulation};
use terrain_grid::{Edges, Light, Product, ProductParams, product};

/// Cells of a side of one picture, and of the ground.
const SIDE: u32 = 240;

struct Site(Point2<f64>, f64);

impl HasPosition for Site {
    type Scalar = f64;

    fn position(&self) -> Point2<f64> {
        self.0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: side_by_side OUT.png")?;
    let (x, y, z) = points(1500);
    let grid = GridSpec::new(0.0, f64::from(SIDE), 1.0, SIDE, SIDE)?;
    let mut pictures = vec![exact(&x, &y, &z, &grid)?];
    for supersample in [1, 4] {
        let params = Params::on_pixels().supersample(supersample).query_radius(24.0);
        let params = params.region_of_influence(f64::INFINITY);
        let points = Points { x: &x, y: &y, values: &[&z] };
        let dem = interpolate(&Device::Cpu, Input::new(points, grid), &params)?;
        pictures.extend(dem.values.into_iter().map(gpu_core::Grid::into_values));
    }
    let rows = (0..SIDE as usize).flat_map(|row| {
        let part = row * SIDE as usize..(row + 1) * SIDE as usize;
        pictures.iter().flat_map(move |p| p[part.clone()].iter().copied()).collect::<Vec<_>>()
    });
    let values: Vec<f32> = rows.collect();
    let picture = GridSpec { width: 3 * SIDE, ..grid };
    let light = ProductParams::new(Product::Hillshade(Light::new())).edges(Edges::Level);
    let brightness = product(&Device::Cpu, GridView::new(&values, picture)?, &light)?;
    let brightness = brightness.values();
    write_relief(std::path::Path::new(&path), &values, brightness, picture.width, picture.height)?;
    Ok(())
}

/// Repeatable points on hills.
fn points(count: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 * f64::from(SIDE)
    };
    let positions: Vec<(f64, f64)> = (0..count).map(|_| (next(), next())).collect();
    let z = positions.iter().map(|(x, y)| 20.0 * (x / 28.0).sin() * (y / 36.0).cos()).collect();
    let (x, y) = positions.into_iter().unzip();
    (x, y, z)
}

/// Exact Sibson interpolation; NaN outside the points' hull.
fn exact(
    x: &[f64],
    y: &[f64],
    z: &[f64],
    grid: &GridSpec,
) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
    let mut triangulation = DelaunayTriangulation::<Site>::new();
    for i in 0..z.len() {
        triangulation.insert(Site(Point2::new(x[i], y[i]), z[i]))?;
    }
    let neighbours = triangulation.natural_neighbor();
    let cells = (0..grid.height).flat_map(|row| (0..grid.width).map(move |column| (column, row)));
    let value = |(column, row)| {
        let (x, y) = grid.cell_centre(column, row);
        neighbours
            .interpolate(|site| site.data().1, Point2::new(x, y))
            .map_or(f32::NAN, |z| z as f32)
    };
    Ok(cells.map(value).collect())
}
