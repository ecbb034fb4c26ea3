//! `--breaklines`, `--weights linear` and the mesh as FlatGeobuf.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::PROGRAM;
use crate::common::{are_same, bands, in_tiles, places};

const SIDE: usize = 30;
const BOUNDS: &str = "--bounds=0,0,30,30";

/// The east of a wall.
const WALL: f64 = 13.2;

/// Points on both sides of a wall: 0 in the west, 10 in the east. None lies near the wall.
fn folder_with_wall() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "x,y,z\n".to_owned();
    for [x, y] in places(700, [30.0, 30.0], 4) {
        if (x - WALL).abs() > 0.3 {
            let z = if x < WALL { 0.0 } else { 10.0 };
            writeln!(text, "{x},{y},{z}").unwrap();
        }
    }
    std::fs::write(folder.path().join("p.csv"), text).unwrap();
    let line = |x: f64, z: f64| format!("[[{x}, -1, {z}], [{x}, 31, {z}]]");
    lines(folder.path(), "wall.geojson", &[&line(WALL - 0.05, 0.0), &line(WALL + 0.05, 10.0)]);
    folder
}

/// Writes lines as GeoJSON.
fn lines(folder: &Path, name: &str, coordinates: &[&str]) {
    let feature = |c: &&str| {
        format!(
            r#"{{"type": "Feature", "properties": {{}}, "geometry": {{"type": "LineString", "coordinates": {c}}}}}"#
        )
    };
    let features: Vec<String> = coordinates.iter().map(feature).collect();
    let text = format!(r#"{{"type": "FeatureCollection", "features": [{}]}}"#, features.join(","));
    std::fs::write(folder.join(name), text).unwrap();
}

fn dem(folder: &Path, words: &[&str]) -> Vec<f32> {
    let base = ["p.csv", BOUNDS, "-o", "d.tif", "--overwrite", "--max-distance", "inf"];
    PROGRAM.succeeds(folder, &[&base[..], words].concat());
    bands(&folder.join("d.tif")).0.remove(0)
}

#[test]
fn heights_do_not_leak_across_a_wall() {
    let folder = folder_with_wall();
    let folder = folder.path();
    for weights in ["linear", "sibson", "laplace", "c1"] {
        let of = |words: &[&str]| dem(folder, &[&["--weights", weights][..], words].concat());
        let leaks = |dem: &[f32]| {
            let wrong = |(cell, z): (usize, &f32)| {
                let x = (cell % SIDE) as f64 + 0.5;
                let expected = if x < WALL { 0.0 } else { 10.0 };
                // Nearer than half a cell natural neighbours may lie across.
                (x - WALL).abs() > 0.55 && (f64::from(*z) - expected).abs() > 1e-5
            };
            dem.iter().enumerate().filter(|&cell| wrong(cell)).count()
        };
        let with = of(&["--breaklines", "wall.geojson", "--device", "cpu"]);
        // The smooth interpolant has gradients at the wall, which are of sites on both sides.
        assert!(leaks(&with) == 0 || weights == "c1", "{weights}");
        assert!(leaks(&of(&["--device", "cpu"])) > 20, "{weights}");
        let elsewhere = of(&["--breaklines", "wall.geojson", "--device", "software"]);
        assert!(are_same(&with, &elsewhere), "{weights}");
    }
}

#[test]
fn lines_without_heights_take_those_of_the_points() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut text = "x,y,z\n".to_owned();
    for [x, y] in places(900, [30.0, 30.0], 8) {
        writeln!(text, "{x},{y},{}", 3.0 + 0.5 * x - 0.25 * y).unwrap();
    }
    std::fs::write(folder.join("p.csv"), text).unwrap();
    lines(folder, "lines.geojson", &["[[2, 3], [28, 20], [3, 27]]", "[[5, 25], [25, 4]]"]);
    let run = ["p.csv", BOUNDS, "-o", "d.tif", "--layer", "count", "--breaklines", "lines.geojson"];
    let report = PROGRAM.succeeds(folder, &[&run[..], &["--device", "cpu"]].concat());
    assert!(report.contains("2 lines"), "{report}");
    let (bands, _) = bands(&folder.join("d.tif"));
    for row in 3..27 {
        for column in 3..27 {
            let (x, y) = (column as f64 + 0.5, (SIDE - 1 - row) as f64 + 0.5);
            let off = f64::from(bands[0][row * SIDE + column]) - (3.0 + 0.5 * x - 0.25 * y);
            assert!(off.abs() < 1e-4, "{off} at {x}, {y}");
        }
    }
    // What was measured is counted, and no vertices.
    assert_eq!(bands[1].iter().sum::<f32>(), 900.0);
}

#[test]
fn what_is_no_breakline_is_refused() {
    let folder = folder_with_wall();
    let folder = folder.path();
    lines(folder, "none.geojson", &[]);
    lines(folder, "far.geojson", &["[[500, 500], [600, 600]]"]);
    lines(folder, "bad.geojson", &["[[1, 2], [3, 4]]", "[[1, 2], [3, NaN]]"]);
    lines(folder, "some.geojson", &["[[1, 2], [3, 4]]", "[[1, 2, 3], [3, 4]]"]);
    let point = r#"{"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}}"#;
    std::fs::write(folder.join("point.geojson"), point).unwrap();
    let utm = r#"{"type": "LineString", "coordinates": [[1, 2], [9, 9]],
        "crs": {"type": "name", "properties": {"name": "EPSG:32632"}}}"#;
    std::fs::write(folder.join("utm.geojson"), utm).unwrap();
    for (name, words) in [
        ("absent.geojson", &["absent.geojson"][..]),
        ("none.geojson", &["--breaklines", "none.geojson", "no lines"]),
        ("far.geojson", &["far.geojson", "none of its 1 lines"]),
        ("bad.geojson", &["bad.geojson"]),
        ("some.geojson", &["some.geojson", "feature 1", "height"]),
        ("point.geojson", &["point.geojson", "feature 0", "a point is not a line"]),
    ] {
        let run = ["p.csv", "-o", "x.tif", "--device", "cpu", "--breaklines", name];
        PROGRAM.fails(folder, &run, words);
    }
    let line = ["--breaklines", "utm.geojson", "--crs", "EPSG:32631", "--device", "cpu"];
    PROGRAM.fails(
        folder,
        &[&["p.csv", "-o", "x.tif"][..], &line].concat(),
        &["32632", "32631", "utm.geojson"],
    );
    let wall = ["p.csv", "--breaklines", "wall.geojson"];
    PROGRAM.fails(folder, &[&["plan"][..], &wall].concat(), &["--breaklines", "plan"]);
    let on_pixels = ["--method", "pixels", "-o", "x.tif"];
    PROGRAM.fails(folder, &[&wall[..], &on_pixels].concat(), &["--breaklines", "exact"]);
    assert!(!folder.join("x.tif").exists());
}

#[test]
fn lines_that_cross_and_lines_outside_are_said() {
    let folder = folder_with_wall();
    let folder = folder.path();
    let all = ["[[2, 2, 1], [28, 28, 2]]", "[[2, 28, 5], [28, 2, 5]]", "[[90, 0], [99, 9]]"];
    lines(folder, "lines.geojson", &all);
    let run = ["p.csv", "-o", "d.tif", "--json", "--device", "cpu", "--breaklines"];
    let report = PROGRAM.succeeds(folder, &[&run[..], &["lines.geojson"]].concat());
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let found = &report["breaklines"];
    assert_eq!((found["lines"].as_u64(), found["ignored"].as_u64()), (Some(2), Some(1)));
    assert!(found["open"].as_u64().unwrap() < 4, "{found}");
    assert!(report.to_string().contains("1 lines do not reach"), "{report}");
}

#[test]
fn tiles_of_linear_weights_are_the_whole() {
    let folder = folder_with_wall();
    let folder = folder.path();
    let words = ["p.csv", BOUNDS, "--weights", "linear"];
    let whole = ["-o", "whole.tif", "--device", "cpu", "--layer", "neighbours"];
    PROGRAM.succeeds(folder, &[&words[..], &whole].concat());
    let tiled = ["--layer", "neighbours", "--tile-size", "16"];
    let tiles = in_tiles(folder, &[&words[..], &tiled].concat(), "cpu", "tiles.tif");
    assert!(tiles >= 4, "{tiles}");
    let [whole, tiles] = ["whole.tif", "tiles.tif"].map(|name| bands(&folder.join(name)).0);
    assert!(whole[1].contains(&3.0));
    for (a, b) in whole.iter().zip(&tiles) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-5 || a.is_nan() && b.is_nan(), "{a}, {b}");
        }
    }
}

#[test]
fn the_mesh_is_read_by_gdal() {
    let folder = folder_with_wall();
    let folder = folder.path();
    let run = ["p.csv", "-o", "d.tif", "--crs", "EPSG:32631", "--triangles", "mesh.fgb"];
    let report = PROGRAM.succeeds(folder, &[&run[..], &["--json", "--device", "cpu"]].concat());
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    match Command::new("ogrinfo").args(["-al", "-so"]).arg(folder.join("mesh.fgb")).output() {
        Ok(ran) => {
            let said = String::from_utf8_lossy(&ran.stdout).into_owned();
            let count = format!("Feature Count: {}", report["triangles"]["triangles"]);
            for words in ["Geometry: 3D Polygon", "ID[\"EPSG\",32631]", &count] {
                assert!(said.contains(words), "no {words:?} in {said}");
            }
        }
        Err(_) => println!("skipped: no ogrinfo"),
    }
}
