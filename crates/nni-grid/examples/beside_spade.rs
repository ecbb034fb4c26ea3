//! Times natural neighbour interpolation on the CPU beside exact Sibson interpolation (crate `spade`),
//! on the same points, the same cells and the same threads.
//!
//! `cargo run --release --package nni-grid --example beside_spade -- [POINTS] [SIDE]`

use std::time::Instant;

use gpu_core::{Device, GridSpec, Points};
use nni_grid::{Input, Params, interpolate};
use rayon::prelude::*;
use spade::{DelaunayTriangulation, HasPosition, Point2, Triangulation};

struct Site(Point2<f64>, f64);

impl HasPosition for Site {
    type Scalar = f64;

    fn position(&self) -> Point2<f64> {
        self.0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| arguments.next().map_or(Ok(default), |text| text.parse());
    let (count, side) = (number(250_000)?, number(1000)?);
    let extent = f64::from(side);
    let (x, y) = (random(count, extent, 3), random(count, extent, 5));
    let z: Vec<f64> = x.iter().zip(&y).map(|(x, y)| (x / 30.0).sin() * (y / 17.0).cos()).collect();
    let grid = GridSpec::new(0.0, extent, 1.0, side, side)?;
    println!("{count} points, {side} x {side} cells, {} threads", rayon::current_num_threads());

    let start = Instant::now();
    let sites = x.iter().zip(&y).zip(&z).map(|((&x, &y), &z)| Site(Point2::new(x, y), z)).collect();
    let triangulation = DelaunayTriangulation::<Site>::bulk_load(sites)?;
    let built = start.elapsed();
    let rows = (0..side).into_par_iter().flat_map_iter(|row| {
        let neighbours = triangulation.natural_neighbor();
        let value = move |column| {
            let (x, y) = grid.cell_centre(column, row);
            neighbours.interpolate(|site| site.data().1, Point2::new(x, y)).unwrap_or(f64::NAN)
        };
        (0..side).map(value).collect::<Vec<_>>()
    });
    let exact: Vec<f64> = rows.collect();
    let whole = start.elapsed();
    let per_query = |time: std::time::Duration| time.as_secs_f64() * 1e9 / grid.cells() as f64;
    println!(
        "spade: {:.0} ns a query, with the triangulation {:.0}",
        per_query(whole - built),
        per_query(whole)
    );
    for (name, radius) in [("query radius 3", 3.0), ("no radius", f64::INFINITY)] {
        let params = Params::on_pixels().query_radius(radius).region_of_influence(radius.max(10.0));
        let start = Instant::now();
        let dem = interpolate(
            &Device::Cpu,
            Input::new(Points { x: &x, y: &y, values: &[&z] }, grid),
            &params,
        )?;
        let time = start.elapsed();
        let differences =
            dem.values[0].values().iter().zip(&exact).map(|(a, b)| (f64::from(*a) - b).powi(2));
        let known: Vec<f64> = differences.filter(|d| !d.is_nan()).collect();
        let error = (known.iter().sum::<f64>() / known.len() as f64).sqrt();
        println!(
            "nni-grid, {name}: {:.0} ns a query, all included; RMSE {error:.4}",
            per_query(time)
        );
    }
    Ok(())
}

/// Repeatable numbers from 0 to `extent`.
fn random(count: u32, extent: f64, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 * extent
    };
    (0..count).map(next).collect()
}
