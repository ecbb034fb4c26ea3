//! `--within`: polygons outside of which cells have no value.

use std::f64::consts::TAU;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use testing::Random;

use crate::PROGRAM;
use crate::common::{are_same, bands, in_tiles, places};

const SIDE: usize = 60;
const BOUNDS: &str = "--bounds=0,0,60,60";
const NODATA: f32 = -9999.0;

/// A ring around a place, whose vertices are as far from it as `scale` and a random number say.
fn ring(random: &mut Random, [x, y]: [f64; 2], scale: f64) -> String {
    let count = 3 + random.below(9);
    let place = |i: u64, far: f64| {
        let (sin, cos) = (i as f64 / count as f64 * TAU).sin_cos();
        format!("[{},{}]", x + far * cos, y + far * sin)
    };
    let far: Vec<f64> = (0..count).map(|_| scale * (0.7 + 0.3 * random.unit())).collect();
    let places: Vec<String> =
        (0..=count).map(|i| i % count).map(|i| place(i, far[i as usize])).collect();
    format!("[{}]", places.join(","))
}

fn polygons(folder: &Path, name: &str, coordinates: &[String]) {
    let feature = |c: &String| {
        format!(
            r#"{{"type": "Feature", "properties": {{}}, "geometry": {{"type": "Polygon", "coordinates": [{c}]}}}}"#
        )
    };
    let features: Vec<String> = coordinates.iter().map(feature).collect();
    let text = format!(r#"{{"type": "FeatureCollection", "features": [{}]}}"#, features.join(","));
    std::fs::write(folder.join(name), text).unwrap();
}

fn square(from: f64, to: f64) -> String {
    format!("[[{from},{from}],[{to},{from}],[{to},{to}],[{from},{to}],[{from},{from}]]")
}

/// A folder with points, and polygons in all of the ground, a few of them with a hole.
fn folder(seed: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "x,y,z,w\n".to_owned();
    for [x, y] in places(3000, [60.0, 60.0], seed) {
        writeln!(text, "{x},{y},{},{y}", 3.0 + 0.5 * x - 0.25 * y).unwrap();
    }
    std::fs::write(folder.path().join("p.csv"), text).unwrap();
    let mut random = Random::new(seed);
    let shape = |i: u32| {
        let centre = [random.unit() * 66.0 - 3.0, random.unit() * 66.0 - 3.0];
        let scale = 2.0 + 8.0 * random.unit();
        let outer = ring(&mut random, centre, scale);
        match i % 3 {
            // Of a triangle all of this is inside.
            0 => format!("{outer},{}", ring(&mut random, centre, scale * 0.3)),
            _ => outer,
        }
    };
    let all: Vec<String> = (0..12).map(shape).collect();
    polygons(folder.path(), "areas.geojson", &all);
    folder
}

/// Whether cells are within, by GDAL; `None` where it is not installed.
fn by_gdal(folder: &Path) -> Option<Vec<bool>> {
    let words = ["-q", "-burn", "1", "-init", "0", "-ot", "Float32", "-te", "0", "0", "60", "60"];
    let ran = Command::new("gdal_rasterize")
        .args(words)
        .args(["-tr", "1", "1", "areas.geojson", "gdal.tif"])
        .current_dir(folder)
        .status();
    match ran {
        Ok(status) => assert!(status.success()),
        Err(_) => {
            println!("skipped: no gdal_rasterize");
            return None;
        }
    }
    Some(bands(&folder.join("gdal.tif")).0[0].iter().map(|&v| v == 1.0).collect())
}

#[test]
fn cells_within_are_those_of_gdal_and_keep_their_values() {
    for seed in 0..6 {
        let folder = folder(seed);
        let folder = folder.path();
        let common = ["p.csv", BOUNDS, "--value", "z,w", "--layer", "count,distance,neighbours"];
        let dem = |name: &str, words: &[&str]| {
            let run = [&common[..], &["-o", name, "--overwrite", "--fill", "7"], words].concat();
            let report = PROGRAM.succeeds(folder, &run);
            (bands(&folder.join(name)).0, report)
        };
        let (all, _) = dem("all.tif", &["--device", "cpu"]);
        let within = ["--within", "areas.geojson", "--device"];
        let (found, report) = dem("cpu.tif", &[&within[..], &["cpu"]].concat());
        let (other, _) = dem("software.tif", &[&within[..], &["software"]].concat());
        assert!(found.iter().zip(&other).all(|(a, b)| are_same(a, b)), "{seed}");
        let inside: Vec<bool> = found[0].iter().map(|&v| v != NODATA).collect();
        let outside = inside.iter().filter(|&&is| !is).count();
        assert!(report.contains(&format!("{outside} cells, beyond the polygons")), "{report}");
        for (found, all) in found.iter().zip(&all) {
            let of = |(cell, &v): (usize, &f32)| if inside[cell] { v } else { NODATA };
            let expected: Vec<f32> = all.iter().enumerate().map(of).collect();
            assert!(are_same(found, &expected), "{seed}");
        }
        if let Some(expected) = by_gdal(folder) {
            assert!(inside == expected, "{seed}");
            assert!(outside > 1000 && outside < SIDE * SIDE - 500, "{outside}");
        }
    }
}

#[test]
fn tiles_are_the_whole_and_know_their_polygons() {
    let folder = folder(3);
    let folder = folder.path();
    polygons(folder, "areas.geojson", &[square(3.3, 22.2), square(18.5, 29.0)]);
    let common = ["p.csv", BOUNDS, "--within", "areas.geojson", "--layer", "count", "--fill", "7"];
    for method in ["pixels", "exact"] {
        let common = [&common[..], &["--method", method]].concat();
        let whole = [&common[..], &["-o", "whole.tif", "--overwrite", "--device", "cpu"]].concat();
        PROGRAM.succeeds(folder, &whole);
        std::fs::remove_file(folder.join("plan.json")).ok();
        std::fs::remove_file(folder.join("tiles.tif")).ok();
        let tiled = [&common[..], &["--tile-size", "16"]].concat();
        assert_eq!(in_tiles(folder, &tiled, "cpu", "tiles.tif"), 16);
        let [whole, tiles] = ["whole.tif", "tiles.tif"].map(|name| bands(&folder.join(name)).0);
        assert!(whole[0].contains(&NODATA) && whole[0].iter().any(|&v| v != NODATA));
        for (a, b) in whole.iter().flatten().zip(tiles.iter().flatten()) {
            assert!(a == b || method == "exact" && (a - b).abs() < 1e-4, "{a}, {b}");
        }
    }
    polygons(folder, "areas.geojson", &[square(3.0, 25.0)]);
    let run = ["run", "plan.json", "--tile", "15", "--device", "cpu"];
    let errors = PROGRAM.errors(folder, &run).concat();
    assert!(errors.contains("areas.geojson") && errors.contains("has changed"), "{errors}");
}

#[test]
fn a_cell_is_inside_if_its_centre_is() {
    let folder = folder(1);
    let folder = folder.path();
    // Western and southern edges hold the centres on them. A hole outside is a polygon of its own.
    let both = format!("{},{}", square(10.5, 13.5), square(30.4, 31.6));
    polygons(folder, "areas.geojson", &[both, square(200.0, 300.0)]);
    let run = ["p.csv", BOUNDS, "-o", "d.tif", "--within", "areas.geojson", "--device", "cpu"];
    let report = PROGRAM.succeeds(folder, &run);
    assert!(report.contains("a hole lies outside"), "{report}");
    let found = bands(&folder.join("d.tif")).0.remove(0);
    for (cell, value) in found.iter().enumerate() {
        let [x, y] = [cell % SIDE, SIDE - 1 - cell / SIDE];
        let is_inside = [x, y].iter().all(|i| (10..13).contains(i))
            || [x, y].iter().all(|i| (30..32).contains(i));
        assert_eq!(*value != NODATA, is_inside, "{x} {y}");
    }
}

#[test]
fn tables_of_polygons_give_the_same() {
    let folder = folder(5);
    let folder = folder.path();
    let dem = |name: &str| {
        let run = ["p.csv", BOUNDS, "-o", "d.tif", "--crs", "EPSG:32631", "--overwrite"];
        PROGRAM.succeeds(folder, &[&run[..], &["--within", name, "--device", "cpu"]].concat());
        std::fs::read(folder.join("d.tif")).unwrap()
    };
    let expected = dem("areas.geojson");
    for name in ["areas.fgb", "areas.gpkg", "areas.shp"] {
        let words = ["-a_srs", "EPSG:32631", name, "areas.geojson"];
        match Command::new("ogr2ogr").args(words).current_dir(folder).status() {
            Ok(status) => assert!(status.success(), "{name}"),
            Err(_) => return println!("skipped: no ogr2ogr"),
        }
        assert!(dem(name) == expected, "{name}");
    }
}

#[test]
fn what_is_no_area_is_refused() {
    let folder = folder(2);
    let folder = folder.path();
    polygons(folder, "none.geojson", &[]);
    polygons(folder, "far.geojson", &[square(500.0, 600.0)]);
    polygons(folder, "bad.geojson", &["[[1,2],[3,NaN],[4,4],[1,2]]".to_owned()]);
    let line = r#"{"type": "LineString", "coordinates": [[1, 2], [3, 4]]}"#;
    std::fs::write(folder.join("line.geojson"), line).unwrap();
    let utm = r#"{"type": "Polygon", "coordinates": [[[1, 2], [9, 9], [1, 9], [1, 2]]],
        "crs": {"type": "name", "properties": {"name": "EPSG:32632"}}}"#;
    std::fs::write(folder.join("utm.geojson"), utm).unwrap();
    std::fs::write(folder.join("empty.geojson"), "").unwrap();
    for (name, words) in [
        ("absent.geojson", &["absent.geojson"][..]),
        ("empty.geojson", &["empty.geojson", "empty"]),
        ("none.geojson", &["--within", "none.geojson", "no polygons"]),
        ("far.geojson", &["far.geojson", "none of its 1 polygons"]),
        ("bad.geojson", &["bad.geojson"]),
        ("line.geojson", &["line.geojson", "feature 0", "a line is not a polygon"]),
    ] {
        let words_of = ["p.csv", BOUNDS, "--within", name];
        let once = [&words_of[..], &["-o", "x.tif", "--device", "cpu"]].concat();
        PROGRAM.fails(folder, &once, words);
        PROGRAM.fails(folder, &[&["plan"][..], &words_of].concat(), words);
    }
    let words = ["p.csv", "--within", "utm.geojson", "--crs", "EPSG:32631"];
    let differ = ["--within utm.geojson", "32632", "32631", "project the polygons"];
    PROGRAM.fails(folder, &[&words[..], &["-o", "x.tif", "--device", "cpu"]].concat(), &differ);
    PROGRAM.fails(folder, &[&["plan"][..], &words].concat(), &differ);
    polygons(folder, "area.tif", &[square(3.0, 9.0)]);
    let twice = ["p.csv", "--within", "area.tif", "-o", "area.tif"];
    PROGRAM.refuses_one_file_twice(folder, &[&twice]);
    assert!(!folder.join("x.tif").exists());
}
