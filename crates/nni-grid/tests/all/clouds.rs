//! The exact method on every cloud of the list: heights beside those of a triangulation (crate `spade`), and planes, on the
//! CPU and on the process's GPU.

use crate::common::{on_all, only};
use crate::exact::{check, unlimited};
use gpu_core::{Device, GridSpec};
use nni_grid::Weights;
use testing::Cloud;
use testing::clouds::{self, SIDE};

/// Clouds whose hull has no area, so that no cell lies inside.
const FLAT: [&str; 3] = ["axis line", "oblique line", "one place"];

/// The list's clouds. Each cell within a circle has all its points as natural neighbours, so that work and memory grow with
/// the square of their number: it has fewer.
fn all(seed: u64) -> impl Iterator<Item = Cloud> {
    clouds::all(500, seed).map(move |cloud| match cloud.name {
        "circle" => clouds::circle(120, seed),
        _ => cloud,
    })
}

/// Two grids. The first covers the square. No centre of it lies on a point, where `spade` is off by a hundredth of the
/// range: the zigzag has points 1e-13 beside round places. The second lies around a point, as wide as a cluster of two.
pub fn grids(cloud: &Cloud) -> [GridSpec; 2] {
    let (middle, cell) = (cloud.len() / 2, 5e-8 * SIDE);
    let (west, north) = (cloud.x[middle] - 5.3 * cell, cloud.y[middle] + 6.1 * cell);
    let near = GridSpec::new(west, north, cell, 12, 12).unwrap();
    [GridSpec::new(0.013 * SIDE, 0.991 * SIDE, 0.049 * SIDE, 20, 20).unwrap(), near]
}

#[test]
fn heights_of_every_cloud_are_those_of_a_triangulation() {
    for cloud in all(1) {
        println!("{}", cloud.name);
        let compared: usize =
            grids(&cloud).into_iter().map(|grid| check(cloud.name, &cloud, grid)).sum();
        assert!(compared > 0 || FLAT.contains(&cloud.name), "{}", cloud.name);
    }
}

#[test]
fn planes_of_every_cloud_are_met_inside_the_hull() {
    let plane = |x: f64, y: f64| 0.2 * y - 0.1 * x;
    // A plane through a point at 1e12 has heights of which the others' are less than the step of values.
    let has_plane = |cloud: &Cloud| cloud.name != "stray" && !FLAT.contains(&cloud.name);
    for mut cloud in all(2).filter(has_plane) {
        cloud.z = cloud.x.iter().zip(&cloud.y).map(|(&x, &y)| plane(x, y)).collect();
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            // Within a cluster heights differ by less than f32 resolves of their range: slopes have no digits.
            if (cloud.name, weights) == ("two clusters", Weights::SibsonC1) {
                continue;
            }
            let grid = grids(&cloud)[0];
            let dem = on_all(&cloud, grid, &unlimited().weights(weights).hull(true));
            let mut worst = 0.0f64;
            for (cell, &value) in (0..).zip(only(&dem)).filter(|(_, value)| !value.is_nan()) {
                let (x, y) = grid.cell_centre(cell % grid.width, cell / grid.width);
                worst = worst.max((f64::from(value) - plane(x, y)).abs());
            }
            println!("{}, {weights:?}: off by at most {worst:.1e}", cloud.name);
            assert!(worst < 1e-5 * 0.3 * SIDE, "{}, {weights:?}: {worst}", cloud.name);
        }
    }
}

/// Sibson's smooth interpolant has the spherical quadrics (1981), where no neighbour is on the hull: such a site sees one
/// side alone. Of clouds in lines most borders are far longer than distances.
#[test]
fn spherical_quadrics_of_every_cloud_are_met_by_the_smooth_interpolant() {
    let quadric = |x: f64, y: f64| {
        let (u, v) = (x / SIDE, y / SIDE);
        3.0 + 0.7 * u - 0.4 * v + 1.5 * (u * u + v * v)
    };
    let grid = GridSpec::new(0.013 * SIDE, 0.991 * SIDE, 0.0246 * SIDE, 40, 40).unwrap();
    // All sites of a circle are on its hull, and few cells lie within clusters.
    let has_cells = |cloud: &Cloud| {
        !FLAT.contains(&cloud.name) && !["circle", "two clusters", "stray"].contains(&cloud.name)
    };
    let turned = clouds::lattice(500, 3);
    let turned = Cloud {
        name: "turned lattice",
        x: turned.x.iter().zip(&turned.y).map(|(x, y)| 0.8 * x - 0.6 * y + 500.0).collect(),
        y: turned.x.iter().zip(&turned.y).map(|(x, y)| 0.6 * x + 0.8 * y).collect(),
        ..turned
    };
    let all = all(3).filter(has_cells).chain([clouds::rounded_lattice(500, 3), turned]);
    let mut compared = 0;
    for mut cloud in all {
        cloud.z = cloud.x.iter().zip(&cloud.y).map(|(&x, &y)| quadric(x, y)).collect();
        let dem = on_all(&cloud, grid, &unlimited().weights(Weights::SibsonC1).hull(true));
        let stars = cloud.with(|points| delaunay_stars::triangulate(&Device::Cpu, points)).unwrap();
        let mut walk = stars.walk();
        let (mut worst, mut cells) = (0.0f64, 0);
        for (cell, &value) in (0..).zip(only(&dem)).filter(|(_, value)| !value.is_nan()) {
            let (x, y) = grid.cell_centre(cell % grid.width, cell / grid.width);
            let near = walk.natural_neighbours(x, y).unwrap().sites;
            if !near.iter().any(|&site| stars.is_on_hull(site)) {
                worst = worst.max((f64::from(value) - quadric(x, y)).abs());
                cells += 1;
            }
        }
        println!("{}: {cells} cells, off by at most {worst:.1e}", cloud.name);
        assert!(worst < 1e-5, "{}: {worst}", cloud.name);
        compared += cells;
    }
    assert!(compared > 9000, "{compared}");
}
