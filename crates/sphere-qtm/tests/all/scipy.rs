//! Areas of regions against `scipy.spatial.SphericalVoronoi` (1.17), whose numbers `scipy/make.py` wrote.
//!
//! A cell on a border belongs whole to one side. So the error of a region's area is the sum of those of its border
//! cells, of both signs. This is about the root of their number times a third of a cell's area. Each level has twice as
//! many cells on a border, of a quarter of the area. So the error falls by 2.8 on average, as
//! docs/internals/sphere-qtm.md says.

use std::f64::consts::PI;

use gpu_core::{Device, Points};
use sphere_qtm::{Level, Params, region_areas, voronoi};

fn check(bytes: &[u8]) {
    let numbers: Vec<f64> =
        bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let column = |k: usize| -> Vec<f64> { numbers.iter().skip(k).step_by(3).copied().collect() };
    let (x, y, expected) = (column(0), column(1), column(2));
    // Root of the mean square of the error, in mean areas of a cell.
    let error = |level: u32| {
        let params = Params::new(Level::new(level).unwrap());
        let diagram = voronoi(&Device::Cpu, &Points::new(&x, &y), &params).unwrap();
        let areas = region_areas(&diagram, x.len()).unwrap();
        let squares = areas.iter().zip(&expected).map(|(a, b)| (a - b) * (a - b));
        (squares.sum::<f64>() / x.len() as f64).sqrt()
    };
    let errors = [4, 5, 6, 7, 8, 9].map(error);
    println!(
        "{} sites, root mean square error in steradians at levels 4 to 9: {errors:?}",
        x.len()
    );
    // Between the first and the last 2.8^5, with room for chance.
    assert!(errors[0] / errors[5] > 2.3f64.powi(5), "{errors:?}");
    assert!(errors.windows(2).all(|pair| pair[1] < pair[0]), "{errors:?}");
    // The comment above in numbers. A region is about as round as a square, and an edge as long as a cell is wide meets
    // one and a half cells. Each of these is wrong by a third of its area.
    let (mean, cell) = (4.0 * PI / x.len() as f64, 4.0 * PI / f64::from(8 << 18));
    let on_border = 1.5 * 4.0 * mean.sqrt() / (2.0 * cell).sqrt();
    assert!(errors[5] < 1.5 * on_border.sqrt() * cell / 3.0, "{errors:?}");
}

#[test]
fn areas_of_uniform_sites_converge_to_those_of_scipy() {
    check(include_bytes!("../scipy/uniform.areas"));
}

#[test]
fn areas_of_crowded_sites_converge_to_those_of_scipy() {
    check(include_bytes!("../scipy/crowded.areas"));
}
