//! How far the discrete estimate is from exact Sibson interpolation (crate `spade`), on random and
//! on real points; and a real lake.
//!
//! `cargo test --package nni-grid --test all accuracy:: -- --nocapture` prints the table of
//! docs/internals/nni-grid.md.

use std::path::Path;

use crate::common::{Cloud, mesh, on_cpu, random};
use geo_io::{CsvColumns, Filter, read_points};
use gpu_core::{Bounds, GridSpec};
use nni_grid::{Dem, Params};
use spade::Point2;

/// Root mean square of the difference to exact Sibson, over the cells that `wanted` names, and how
/// many they are.
fn rmse(dem: &Dem, points: &Cloud, wanted: impl Fn(u32, u32) -> bool) -> (f64, usize) {
    let mesh = mesh(points);
    let exact = mesh.natural_neighbor();
    let (mut sum, mut cells) = (0.0, 0);
    for row in 0..dem.grid.height {
        for column in 0..dem.grid.width {
            let value = *dem.values[0].get(column, row).unwrap();
            let (x, y) = dem.grid.cell_centre(column, row);
            if !wanted(column, row) || value.is_nan() {
                continue;
            }
            if let Some(z) = exact.interpolate(|site| site.data().z, Point2::new(x, y)) {
                sum += (f64::from(value) - z).powi(2);
                cells += 1;
            }
        }
    }
    ((sum / cells as f64).sqrt(), cells)
}

/// The error at each supersampling, without radii.
fn errors(points: &Cloud, grid: GridSpec, wanted: impl Fn(u32, u32) -> bool + Copy) -> [f64; 4] {
    [1, 2, 4, 8].map(|supersample| {
        let params = Params::on_pixels().supersample(supersample).query_radius(f64::INFINITY);
        let params = params.region_of_influence(f64::INFINITY);
        let dem = on_cpu(points, grid, &params);
        let (error, cells) = rmse(&dem, points, wanted);
        assert!(cells > 500, "only {cells} cells are compared");
        error
    })
}

fn print_row(what: &str, [a, b, c, d]: [f64; 4]) {
    println!("| {what} | {a:.4} | {b:.4} | {c:.4} | {d:.4} |");
}

/// A smooth surface with a relief of about 20.
fn hills(x: f64, y: f64) -> f64 {
    10.0 * (x / 9.0).sin() * (y / 12.0).cos() + 0.05 * x
}

#[test]
fn random_points_against_exact_sibson() {
    for (count, bound) in [(125, 0.08), (500, 0.08), (2000, 0.08), (8000, 0.12)] {
        let cloud = random(count, 64.0, 1, hills);
        let grid = GridSpec::new(0.0, 64.0, 1.0, 64, 64).unwrap();
        let inside = |column, row| (12..52).contains(&column) && (12..52).contains(&row);
        let errors = errors(&cloud, grid, inside);
        print_row(&format!("{count} random points, 64 x 64 cells"), errors);
        assert!(errors.is_sorted_by(|a, b| a > b), "{errors:?}");
        assert!(errors[2] < bound && errors[3] < bound / 2.0, "{errors:?}");
    }
}

/// The ground points of the sample survey with a lake, if the data are there.
fn topography() -> Option<Cloud> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/topography.laz");
    if !Path::new(path).exists() {
        println!("skipped: {path} is not there");
        return None;
    }
    let ground = Filter { classes: Some(vec![2]), ..Filter::default() };
    let read =
        read_points(Path::new(path), &ground, &CsvColumns::default(), &gpu_core::Silent).unwrap();
    Some(Cloud { x: read.x, y: read.y, z: read.z, ..Cloud::default() })
}

#[test]
fn real_ground_against_exact_sibson() {
    let Some(cloud) = topography() else { return };
    let grid = GridSpec::covering(Bounds::of(&cloud.x, &cloud.y).unwrap(), 1.0).unwrap();
    let (width, height) = (grid.width, grid.height);
    // Every fifth cell, away from the border, where natural neighbours are one-sided.
    let sample = move |column: u32, row: u32| {
        let inside = (30..width - 30).contains(&column) && (30..height - 30).contains(&row);
        inside && column.is_multiple_of(5) && row.is_multiple_of(5)
    };
    let errors = errors(&cloud, grid, sample);
    print_row("ground of topography.laz, 1 m cells", errors);
    assert!(errors[2] < errors[0] && errors[2] < 0.1, "{errors:?}");
}

#[test]
fn a_lake_stays_empty_in_a_small_region_of_influence_and_fills_in_a_large_one() {
    let Some(cloud) = topography() else { return };
    let grid = GridSpec::covering(Bounds::of(&cloud.x, &cloud.y).unwrap(), 1.0).unwrap();
    let empty_cells = |radius| {
        let params = Params::on_pixels().region_of_influence(radius);
        on_cpu(&cloud, grid, &params).summary.nodata
    };
    let (small, large) = (empty_cells(3.0), empty_cells(f64::INFINITY));
    println!(
        "NODATA cells of {}: {small} in a region of influence of 3, {large} without limit",
        grid.cells()
    );
    assert!(small > grid.cells() / 50, "the lake is {small} cells");
    assert_eq!(large, 0);
}
