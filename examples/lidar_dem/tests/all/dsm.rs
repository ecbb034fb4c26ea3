//! `--dsm`: of each cell the highest point is a site, and no other.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use geo_io::{LasPoints, write_las};
use testing::tiles::make;

use crate::PROGRAM;
use crate::common::{are_same, bands, in_tiles, places};

const SIDE: usize = 60;
const BOUNDS: &str = "--bounds=0,0,60,60";

fn plane(x: f64, y: f64) -> f64 {
    200.0 + 0.3 * x + 0.2 * y
}

/// Four in five cells, none of them in a lake, with a roof on a plane and up to four points below it.
fn points() -> Vec<[f64; 3]> {
    let mut points = Vec::new();
    for column in -10..70 {
        for row in -10..70 {
            let (x, y) = (f64::from(column), f64::from(row));
            let number = (column + 10) * 80 + row + 10;
            if number % 5 == 2 || (x - 30.0).hypot(y - 25.0) < 14.0 {
                continue;
            }
            let of_cell = places(1 + number as usize % 5, [0.98, 0.98], 1000 + number as u64);
            for (k, [dx, dy]) in of_cell.into_iter().enumerate() {
                let (x, y) = (x + 0.01 + dx, y + 0.01 + dy);
                points.push([x, y, plane(x, y) - 3.0 * k as f64]);
            }
        }
    }
    // Not the highest first.
    points.reverse();
    points
}

/// The highest of each cell of a side, by brute force.
fn highest(points: &[[f64; 3]], side: f64) -> Vec<[f64; 3]> {
    let cell = |p: &[f64; 3]| [p[0], p[1]].map(|v| (v / side).floor() as i64);
    let mut best: HashMap<_, [f64; 3]> = HashMap::new();
    for point in points {
        let kept = best.entry(cell(point)).or_insert(*point);
        if point[2] > kept[2] {
            *kept = *point;
        }
    }
    points.iter().filter(|point| best[&cell(point)] == **point).copied().collect()
}

fn write(path: &Path, points: &[[f64; 3]]) {
    let mut text = "x,y,z\n".to_owned();
    points.iter().for_each(|[x, y, z]| writeln!(text, "{x},{y},{z}").unwrap());
    std::fs::write(path, text).unwrap();
}

#[test]
fn the_surface_is_that_of_the_highest_points_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let points = points();
    write(&at("all.csv"), &points);
    for side in ["1", "0.7", "2.5"] {
        let chosen = highest(&points, side.parse().unwrap());
        // The header's range of a table is that of all its rows, which heights are rounded by.
        let least = points.iter().map(|p| p[2]).fold(f64::MAX, f64::min);
        let ends = [[1000.0, 1000.0, least]];
        let far = points.iter().map(|p| p[2]).fold(f64::MIN, f64::max);
        write(&at("some.csv"), &[&chosen[..], &ends, &[[1001.0, 1000.0, far]]].concat());
        write(&at("all.csv"), &[&points[..], &ends, &[[1001.0, 1000.0, far]]].concat());
        for method in ["exact", "pixels"] {
            let common = [BOUNDS, "--method", method, "--resolution", side, "--overwrite"];
            let run = |input: &str, output: &str, more: &[&str]| {
                let files = [input, "-o", output];
                PROGRAM.succeeds(folder.path(), &[&files[..], &common, more].concat())
            };
            run("some.csv", "some.tif", &["--device", "cpu"]);
            let report = run("all.csv", "all.tif", &["--dsm", "--device", "cpu"]);
            let kept = chosen.len() + 1 + usize::from(side != "2.5");
            // On pixels far points are not read.
            let is_said = report.contains(&format!("the highest point counts: {kept} points"));
            assert!(is_said || method == "pixels", "{report}");
            run("all.csv", "device.tif", &["--dsm", "--device", "software"]);
            let bytes = |name: &str| std::fs::read(at(name)).unwrap();
            assert!(bytes("all.tif") == bytes("some.tif"), "{side} {method}");
            assert!(bytes("all.tif") == bytes("device.tif"), "{side} {method}");
        }
    }
    // Roofs alone lie on the plane, and cells without a point are filled by it.
    let run = ["all.csv", BOUNDS, "--max-distance", "20", "-o", "dsm.tif", "--device", "cpu"];
    PROGRAM.succeeds(folder.path(), &[&run[..], &["--dsm", "--layer", "count"]].concat());
    let found = bands(&at("dsm.tif")).0;
    for (cell, value) in found[0].iter().enumerate() {
        let (x, y) = ((cell % SIDE) as f64 + 0.5, (SIDE - 1 - cell / SIDE) as f64 + 0.5);
        assert!((f64::from(*value) - plane(x, y)).abs() < 1e-3, "{x} {y}: {value}");
    }
    assert!(found[1].iter().filter(|&&count| count == 0.0).count() > 600);
}

#[test]
fn the_layer_of_counts_has_all_points_of_a_cell_at_once_and_in_tiles() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let points = points();
    write(&at("all.csv"), &points);
    let mut wanted = vec![0.0_f32; SIDE * SIDE];
    let inside = |v: f64| (0.0..SIDE as f64).contains(&v).then_some(v as usize);
    for (column, south) in points.iter().filter_map(|p| inside(p[0]).zip(inside(p[1]))) {
        wanted[(SIDE - 1 - south) * SIDE + column] += 1.0;
    }
    assert!(wanted.contains(&5.0));
    for method in ["exact", "pixels"] {
        let common = ["all.csv", BOUNDS, "--dsm", "--layer", "count", "--method", method];
        let whole = ["-o", "dsm.tif", "--overwrite", "--device", "cpu"];
        PROGRAM.succeeds(folder.path(), &[&common[..], &whole].concat());
        assert_eq!(bands(&at("dsm.tif")).0[1], wanted, "{method}");
        let plan = [&common[..], &["--tile-size", "16"]].concat();
        let tiles = format!("tiles-{method}.tif");
        assert_eq!(in_tiles(folder.path(), &plan, "cpu", &tiles), 16);
        assert_eq!(bands(&at(&tiles)).0[1], wanted, "{method}");
    }
}

#[test]
fn tiles_and_parts_are_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let points = points();
    let column = |k: usize| points.iter().map(|p| p[k]).collect::<Vec<f64>>();
    let (x, y, z) = (column(0), column(1), column(2));
    let las = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
    write_las(&at("p.laz"), &las, None).unwrap();
    for method in ["exact", "pixels"] {
        let common = ["p.laz", "--dsm", "--method", method, "--max-distance", "4"];
        let name = format!("{method}.tif");
        let whole = [&common[..], &[BOUNDS, "-o", &name, "--device", "cpu"]].concat();
        PROGRAM.succeeds(folder.path(), &whole);
        let plan = [&common[..], &[BOUNDS, "--tile-size", "16"]].concat();
        let tiles = format!("tiles-{name}");
        assert_eq!(in_tiles(folder.path(), &plan, "cpu", &tiles), 16);
        let [a, b] = [&name, &tiles].map(|name| bands(&at(name)).0.remove(0));
        let same = |a: f32, b: f32| a.is_nan() && b.is_nan() || (a - b).abs() <= 2e-5;
        assert!(a.iter().zip(&b).all(|(a, b)| same(*a, *b)), "{method}");
        assert!(method == "exact" || are_same(&a, &b));
        PROGRAM.succeeds(folder.path(), &["bin", "plan.json"]);
        make(&PROGRAM, folder.path(), "software", &["-o", "binned.tif", "--overwrite"]);
        assert!(are_same(&bands(&at("binned.tif")).0[0], &b), "{method}");
        // A part that begins within no cell of another side.
        let part =
            [&common[..], &["--bounds=20,10,33,31", "-o", "part.tif", "--overwrite"]].concat();
        PROGRAM.succeeds(folder.path(), &[&part[..], &["--device", "cpu"]].concat());
        let part = bands(&at("part.tif")).0.remove(0);
        for (cell, value) in part.iter().enumerate() {
            let (column, row) = (20 + cell % 13, SIDE - 31 + cell / 13);
            assert!(same(*value, a[row * SIDE + column]), "{method} {column} {row}");
        }
    }
}

#[test]
fn a_policy_for_duplicates_is_refused_where_the_highest_point_counts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), "x,y,z\n0,0,1\n9,0,2\n0,9,3\n0,9,5\n").unwrap();
    let options = ["a.csv", "--resolution", "1", "--dsm", "--duplicates", "min"];
    for command in [&[][..], &["plan"]] {
        let run = [command, &options].concat();
        PROGRAM.fails(folder.path(), &run, &["--duplicates has no effect with --dsm"]);
    }
}
