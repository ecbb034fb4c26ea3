//! `--layer` and `--fill`: what is told of cells beside their heights, and what cells without one hold.

use std::fmt::Write;
use std::path::Path;

use delaunay_stars::triangulate;
use gpu_core::Points;

use crate::PROGRAM;
use crate::common::{are_named, are_same, bands, in_tiles, places};

const SIDES: [f64; 2] = [40.0, 30.0];
const LAYERS: [&str; 2] = ["--layer", "count,distance,neighbours"];
/// A margin without points in the east and the north.
const BOUNDS: &str = "--bounds=0,0,52,44";
const COLUMNS: usize = 52;
const ROWS: usize = 44;

/// Writes points of a wavy surface, 1.5 to a cell in the west and none in a lake.
fn write_points(folder: &Path) -> Vec<[f64; 3]> {
    let mut points = Vec::new();
    for [x, y] in places(1800, SIDES, 5) {
        if (x - 20.0).hypot(y - 15.0) > 7.0 {
            points.push([x, y, 100.0 + (x * 0.4).sin() * 3.0 + y * 0.2]);
        }
    }
    let mut text = "x,y,z\n".to_owned();
    points.iter().for_each(|[x, y, z]| writeln!(text, "{x},{y},{z}").unwrap());
    std::fs::write(folder.join("p.csv"), text).unwrap();
    points
}

fn run(folder: &Path, name: &str, more: &[&str]) -> String {
    let base = ["p.csv", "-o", name, BOUNDS, "--max-distance", "3", "--nodata", "nan"];
    PROGRAM.succeeds(folder, &[&base[..], more].concat())
}

/// The centre of a cell.
fn centre(cell: usize) -> [f64; 2] {
    [(cell % COLUMNS) as f64 + 0.5, (ROWS - 1 - cell / COLUMNS) as f64 + 0.5]
}

#[test]
fn layers_are_what_brute_force_finds() {
    let folder = tempfile::tempdir().unwrap();
    let points = write_points(folder.path());
    let report = run(folder.path(), "a.tif", &[&LAYERS[..], &["--device", "cpu"]].concat());
    assert!(report.contains("neighbours") && report.contains("distance"), "{report}");
    run(folder.path(), "plain.tif", &["--device", "cpu"]);
    let (found, metadata) = bands(&folder.path().join("a.tif"));
    assert!(are_named(&metadata, &["z", "count", "distance", "neighbours"]), "{metadata}");
    let [heights, counts, distances, neighbours] = &found[..] else {
        panic!("{} bands", found.len())
    };
    let (plain, metadata) = bands(&folder.path().join("plain.tif"));
    assert!(are_same(heights, &plain[0]) && plain.len() == 1 && metadata.is_empty());
    let (mut empty, mut checked) = (0, 0);
    for cell in 0..COLUMNS * ROWS {
        let [x, y] = centre(cell);
        let is_in = |p: &&[f64; 3]| (p[0] - x).abs() < 0.5 && (p[1] - y).abs() < 0.5;
        assert_eq!(counts[cell], points.iter().filter(is_in).count() as f32, "{x} {y}");
        let nearest = points.iter().map(|p| (p[0] - x).hypot(p[1] - y)).fold(f64::MAX, f64::min);
        assert_eq!(heights[cell].is_nan(), nearest > 3.0, "{x} {y}");
        assert_eq!(distances[cell].is_nan(), nearest > 3.0, "{x} {y}");
        assert_eq!(neighbours[cell].is_nan(), nearest > 3.0, "{x} {y}");
        if nearest > 3.0 {
            empty += 1;
            continue;
        }
        // Places are rounded to 2^-22 of a cell.
        assert!((f64::from(distances[cell]) - nearest).abs() < 1e-6, "{x} {y}: {nearest}");
        // Inside, the natural neighbours are those of a point that joins the triangulation.
        let is_inside = (3.0..37.0).contains(&x) && (3.0..27.0).contains(&y);
        if is_inside && cell % 37 == 0 {
            let column = |k: usize| {
                let own = [x, y][k];
                points.iter().map(|p| p[k]).chain([own]).collect::<Vec<_>>()
            };
            let (xs, ys) = (column(0), column(1));
            let joined = triangulate(&gpu_core::Device::Cpu, Points::new(&xs, &ys)).unwrap();
            let expected = joined.star(points.len() as u32).len();
            assert_eq!(neighbours[cell] as usize, expected, "{x} {y}");
            checked += 1;
        }
    }
    assert!(empty > 300 && checked > 10, "{empty} {checked}");
}

#[test]
fn distances_are_in_the_units_of_the_coordinates() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.csv"), "x,y,z\n0.1,0.1,1\n9.9,9.9,2\n").unwrap();
    let base = ["p.csv", "-o", "a.tif", "--layer", "distance", "--device", "cpu"];
    let more = ["--bounds=0,0,10,10", "--resolution", "2.5", "--max-distance", "2"];
    PROGRAM.succeeds(folder.path(), &[&base[..], &more].concat());
    let (found, metadata) = bands(&folder.path().join("a.tif"));
    assert!(are_named(&metadata, &["z", "distance"]), "{metadata}");
    let expected = 1.15_f64.hypot(1.15) as f32;
    assert!((found[1][12] - expected).abs() < 1e-5, "{} {expected}", found[1][12]);
    // The other corner is 3 cells from both points.
    assert_eq!(found[1][0], -9999.0);
}

#[test]
fn both_devices_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    for fill in ["nodata", "nearest", "-5"] {
        for method in [&LAYERS[..], &["--method", "pixels", "--layer", "distance,count"]] {
            for device in ["cpu", "software"] {
                let fill = format!("--fill={fill}");
                let more = [method, &[&fill, "--device", device, "--overwrite"]].concat();
                run(folder.path(), &format!("{device}.tif"), &more);
            }
            let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
            assert!(bytes("cpu.tif") == bytes("software.tif"), "{fill} {method:?}");
        }
    }
}

#[test]
fn cells_without_a_height_are_filled() {
    let folder = tempfile::tempdir().unwrap();
    let points = write_points(folder.path());
    for method in ["exact", "pixels"] {
        let made = |fill: &str| {
            let fill = format!("--fill={fill}");
            let more = [&fill, "--method", method, "--device", "cpu", "--overwrite"];
            run(folder.path(), "a.tif", &more);
            bands(&folder.path().join("a.tif")).0.remove(0)
        };
        let [plain, value, nearest] = ["nodata", "-7.5", "nearest"].map(made);
        let filled: Vec<f32> = plain.iter().map(|v| if v.is_nan() { -7.5 } else { *v }).collect();
        assert!(are_same(&value, &filled));
        let mut count = 0;
        for cell in (0..plain.len()).filter(|&cell| plain[cell].is_nan()) {
            count += 1;
            let [x, y] = centre(cell);
            let distance = |p: &[f64; 3]| (p[0] - x).hypot(p[1] - y);
            let least = points.iter().map(distance).fold(f64::MAX, f64::min);
            // On pixels points lie in the middle of theirs, with others.
            let (reach, rounding) = if method == "exact" { (1e-6, 1e-4) } else { (1.5, 1e-4) };
            let near = points.iter().filter(|p| distance(p) <= least + reach).map(|p| p[2]);
            let (low, high) = near.fold((f64::MAX, f64::MIN), |(l, h), z| (l.min(z), h.max(z)));
            let value = f64::from(nearest[cell]);
            assert!((low - rounding..=high + rounding).contains(&value), "{method} {x} {y}");
        }
        assert!(count > 300, "{count}");
        let kept = |cell: &usize| !plain[*cell].is_nan();
        assert!((0..plain.len()).filter(kept).all(|cell| nearest[cell] == plain[cell]));
    }
}

#[test]
fn layers_and_fillings_have_no_seams_in_tiles() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    let common = ["p.csv", BOUNDS, "--max-distance", "3", "--fill", "12"];
    let pixels = ["--method", "pixels", "--layer", "distance,count"];
    for (name, more) in [("exact", &LAYERS[..]), ("pixels", &pixels)] {
        let whole = format!("{name}.tif");
        let options = [&common[..], more].concat();
        PROGRAM
            .succeeds(folder.path(), &[&options[..], &["-o", &whole, "--device", "cpu"]].concat());
        let plan = [&options[..], &["--tile-size", "16"]].concat();
        for device in ["cpu", "software"] {
            let tiles = format!("{name}-{device}.tif");
            assert!(in_tiles(folder.path(), &plan, device, &tiles) > 4);
            let [(a, names), (b, others)] =
                [&whole, &tiles].map(|name| bands(&folder.path().join(name)));
            assert_eq!(names, others);
            assert_eq!(a.len(), more.last().unwrap().split(',').count() + 1);
            // By the exact method a last bit of a height may differ.
            assert!(a[0].iter().zip(&b[0]).all(|(a, b)| (a - b).abs() < 1e-5), "{name}");
            assert!(a.iter().zip(&b).skip(1).all(|(a, b)| are_same(a, b)), "{name} {device}");
        }
    }
}

#[test]
fn bad_layers_and_fillings_are_named() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    let cases: [(&[&str], &[&str]); 8] = [
        (&["--layer", "depth"], &["depth", "count, distance or neighbours"]),
        (&["--layer", "count,count"], &["--layer", "count", "twice"]),
        (&["--layer", "neighbours", "--method", "pixels"], &["--layer neighbours", "exact"]),
        (&["--layer", "count", "-o", "a.npy"], &["a.npy", "z, count", ".tif"]),
        (&["--fill", "zero"], &["--fill", "zero", "nearest"]),
        (&["--fill", "inf"], &["--fill", "inf"]),
        (&["--fill", "1e39"], &["--fill", "1e39"]),
        (&["--fill", "-9999"], &["--fill -9999", "--nodata"]),
    ];
    for (options, words) in cases {
        PROGRAM.fails(folder.path(), &[&["p.csv", "--device", "cpu"], options].concat(), words);
    }
    let plan = ["plan", "p.csv", "--fill", "nearest"];
    PROGRAM.fails(folder.path(), &plan, &["--fill nearest", "--fill nodata"]);
}
