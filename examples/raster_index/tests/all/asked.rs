//! What queries find, refuse and write: rasters beside bins, windows, exact numbers, places of cells that are not
//! squares.

use std::path::Path;

use geo_io::{Cells, Crs, Georeference, TiffOptions, write_npy, write_tiff};
use serde_json::{Value, json};

use testing::program::json_of;

use crate::PROGRAM;

/// A raster of two columns, from a corner on, with cells of some sides.
fn write(folder: &Path, name: &str, (left, side): (f64, [f64; 2]), values: &[f32]) {
    let place = Georeference::north_up((left, 50.0), (side[0], side[1]));
    let cells = Cells::Values { values, nodata: -1.0 };
    let size = (2, values.len() as u32 / 2);
    write_tiff(&folder.join(name), &place, size, cells, &TiffOptions::default()).unwrap();
}

const SQUARE: [f64; 2] = [2.0, 2.0];

#[test]
fn a_raster_with_cells_in_other_bins_is_refused_by_file_and_cell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "own.tif", (100.0, SQUARE), &[1.0, 2.0, 3.0, 4.0]);
    write(path, "other.tif", (100.0, SQUARE), &[1.0, 2.0, 9.0, 4.0]);
    write(path, "gap.tif", (100.0, SQUARE), &[1.0, f32::NAN, 3.0, 4.0]);
    PROGRAM.succeeds(path, &["build", "own.tif", "-o", "own.ccq", "--bins", "2.5,5"]);
    let ask = ["query", "own.ccq", "--range", "2,4", "--raster"];
    assert_eq!(PROGRAM.json(path, &[&ask[..], &["own.tif"]].concat())["found"]["cells"], 2);
    for (name, cell) in
        [("other.tif", "in row 1, column 0 the value 9"), ("gap.tif", "row 0, column 1")]
    {
        let words = [name, cell, "own.ccq"];
        PROGRAM.fails(path, &[&ask[..], &[name]].concat(), &words);
    }
    // Within their bins values may be any: no index knows them.
    write(path, "near.tif", (100.0, SQUARE), &[1.0, 1.5, 3.0, 4.5]);
    PROGRAM.succeeds(path, &[&ask[..], &["near.tif"]].concat());
}

#[test]
fn several_rasters_refine_one_index_and_indices_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "west.tif", (100.0, SQUARE), &[1.0, 2.0, 3.0, 4.0]);
    write(path, "east.tif", (104.0, SQUARE), &[5.0, 6.0, 7.0, 8.0]);
    let both = ["west.tif", "east.tif"];
    PROGRAM.succeeds(path, &[&["build"], &both[..], &["-o", "a.ccq", "--bins", "4"]].concat());
    PROGRAM.succeeds(path, &[&["build"], &both[..], &["-o", "b.ccq", "--bins", "6"]].concat());
    let ask = ["query", "a.ccq", "--range", "2,6", "--raster", "east.tif", "--raster", "west.tif"];
    let found = |ask: &[&str]| PROGRAM.json(path, ask)["found"].clone();
    assert_eq!(found(&ask), json!({"quadrants": 4, "cells": 4, "unsure": 0}));
    PROGRAM.fails(path, &ask[..6], &["east.tif has 2 x 2 cells, but a.ccq has 4 x 2"]);
    let and = [&ask[..], &["--and", "b.ccq", "3,5"]].concat();
    assert_ne!(found(&and)["unsure"], 0);
    let words = ["--and b.ccq 3,5 cuts through bins of b.ccq", "--raster-of b.ccq"];
    PROGRAM.fails(path, &[&and[..], &["-o", "x.npy"]].concat(), &words);
    let of = ["--raster-of", "./b.ccq", "west.tif", "--raster-of", "b.ccq", "east.tif"];
    // 3 and 4.
    assert_eq!(found(&[&and[..], &of].concat()), json!({"quadrants": 2, "cells": 2, "unsure": 0}));
    write(path, "wrong.tif", (104.0, SQUARE), &[5.0, 6.0, 7.0, 1.0]);
    let of = ["--raster-of", "b.ccq", "west.tif", "--raster-of", "b.ccq", "wrong.tif"];
    let words = ["wrong.tif: in row 1, column 1 the value 1", "b.ccq"];
    PROGRAM.fails(path, &[&and[..], &of].concat(), &words);
    let of = [&ask[..], &["--raster-of", "a.ccq", "west.tif"]].concat();
    PROGRAM.fails(path, &of, &["--raster-of a.ccq west.tif", "--and"]);
    PROGRAM.fails(path, &["query", "a.ccq", "--nodata", "3"], &["--nodata belongs to --raster"]);
}

/// Of quadrants that reach out of the window the part within it.
#[test]
fn rows_and_polygons_end_at_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_npy(&path.join("flat.npy"), &[7u8; 64], 8, 8).unwrap();
    PROGRAM.succeeds(path, &["build", "flat.npy", "-o", "f.ccq"]);
    let out = ["-o", "q.csv", "-o", "q.geojson"];
    let ask = [&["query", "f.ccq", "--window", "1,2,4,7", "--sum"], &out[..]].concat();
    let report = PROGRAM.json(path, &ask);
    assert_eq!((&report["found"]["cells"], &report["sum"]["sum"]), (&15.into(), &105.into()));
    let rows = std::fs::read_to_string(path.join("q.csv")).unwrap();
    assert_eq!(rows, "row,col,rows,cols,min,max,partly\n1,2,3,5,7,7,0\n");
    let feature = json_of(&path.join("q.geojson"))["features"][0].clone();
    let expected = json!({"row": 1, "col": 2, "rows": 3, "cols": 5, "min": 7, "max": 7});
    assert_eq!(feature["properties"], expected);
    let ring = json!([[2.0, 4.0], [7.0, 4.0], [7.0, 7.0], [2.0, 7.0], [2.0, 4.0]]);
    assert_eq!(feature["geometry"]["coordinates"][0], ring);
    // With bounds, of bins that the range cuts.
    PROGRAM.succeeds(path, &["build", "flat.npy", "-o", "b.ccq", "--bins", "5"]);
    let ask = ["query", "b.ccq", "--range", "6,8", "--bounds", "0,0,2,1", "-o", "b.csv"];
    PROGRAM.succeeds(path, &ask);
    let rows = std::fs::read_to_string(path.join("b.csv")).unwrap();
    assert_eq!(rows, "row,col,rows,cols,min,max,partly\n7,0,1,2,1,1,1\n");
}

#[test]
fn json_has_all_digits_and_infinities() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let values = [f64::NEG_INFINITY, 1.5, f64::MAX, f64::INFINITY];
    write_npy(&path.join("f.npy"), &values, 4, 1).unwrap();
    write_npy(&path.join("u.npy"), &[u64::MAX, u64::MAX - 1, 5, u64::MAX], 4, 1).unwrap();
    for name in ["f", "u"] {
        let index = format!("{name}.ccq");
        PROGRAM.succeeds(path, &["build", &format!("{name}.npy"), "-o", &index]);
    }
    let sum =
        |ask: &[&str]| PROGRAM.json(path, &[&["query"], ask, &["--sum"]].concat())["sum"].clone();
    // Twice 2^64 - 1, and 2^64 - 2, by Python.
    let found = sum(&["u.ccq", "--range", "18446744073709551614,inf"]);
    assert_eq!(found["sum"], "55340232221128654844");
    let found = sum(&["u.ccq", "--range", "0,18446744073709551615"]);
    assert_eq!(found["sum"], "18446744073709551619");
    assert_eq!(sum(&["u.ccq", "--range", "6,18446744073709551615"])["sum"], json!(u64::MAX - 1));
    let found = sum(&["f.ccq", "--range", "1,inf"]);
    assert_eq!((&found["sum"], &found["mean"]), (&json!("inf"), &json!("inf")));
    // Of integers all digits, with no exponent; of floats a number, however large.
    for (name, values, expected) in [
        ("a", [1i64 << 62; 4], json!("18446744073709551616")),
        ("b", [1 << 53, 1, 0, 0], json!(9_007_199_254_740_993u64)),
        ("c", [i64::MIN, i64::MIN, 0, 0], json!("-18446744073709551616")),
    ] {
        write_npy(&path.join(format!("{name}.npy")), &values, 4, 1).unwrap();
        let index = format!("{name}.ccq");
        PROGRAM.succeeds(path, &["build", &format!("{name}.npy"), "-o", &index]);
        assert_eq!(sum(&[&index, "--range", "-inf,inf"])["sum"], expected, "{name}");
    }
    write_npy(&path.join("d.npy"), &[1e23, 2.0, 0.0, 0.0], 4, 1).unwrap();
    PROGRAM.succeeds(path, &["build", "d.npy", "-o", "d.ccq"]);
    let found = sum(&["d.ccq", "--range", "-inf,inf"]);
    assert_eq!(found["sum"].as_f64(), Some(1e23), "{found}");
    PROGRAM.succeeds(path, &["query", "f.ccq", "-o", "q.geojson"]);
    let json = json_of(&path.join("q.geojson"));
    let of = &json["features"][0]["properties"];
    assert_eq!((&of["min"], &of["max"]), (&json!("-inf"), &json!("inf")));
    PROGRAM
        .succeeds(path, &["build", "f.npy", "-o", "n.ccq", "--bins=-inf,2,inf", "--nodata", "inf"]);
    let tree = PROGRAM.json(path, &["info", "n.ccq"])["tree"].clone();
    assert_eq!((&tree["bins"], &tree["nodata"]), (&json!(["-inf", 2, "inf"]), &json!("inf")));
}

#[test]
fn decimals_between_integers_of_64_bits_are_compared_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let base = 1i64 << 53;
    write_npy(&path.join("i.npy"), &[base, base + 1, base + 2, -base - 1], 4, 1).unwrap();
    PROGRAM.succeeds(path, &["build", "i.npy", "-o", "i.ccq"]);
    let bins = ["build", "i.npy", "-o", "b.ccq", "--bins", "9007199254740992.5,9007199254740993.5"];
    PROGRAM.succeeds(path, &bins);
    for (range, cells) in [
        ("9007199254740992.5,inf", 2),
        ("-inf,9007199254740992.5", 2),
        ("-9007199254740993.5,9007199254740993.5", 3),
        ("-9007199254740992.5,9007199254740993.5", 2),
    ] {
        for index in ["i.ccq", "b.ccq"] {
            let ask = ["query", index, "--range", range, "--raster", "i.npy"];
            assert_eq!(PROGRAM.json(path, &ask)["found"]["cells"], cells, "{index} {range}");
        }
    }
    assert_eq!(PROGRAM.json(path, &["info", "b.ccq"])["tree"]["bins"], json!([base + 1, base + 2]));
}

#[test]
fn sums_and_windows_beside_finer_indices_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "coarse.tif", (100.0, [4.0, 4.0]), &[1.0, 2.0, 3.0, 4.0]);
    write(path, "fine.tif", (100.0, SQUARE), &[5.0, 6.0, 7.0, 8.0, 1.0, 2.0]);
    for name in ["coarse", "fine"] {
        let index = format!("{name}.ccq");
        PROGRAM.succeeds(path, &["build", &format!("{name}.tif"), "-o", &index]);
    }
    let ask = ["query", "coarse.ccq", "--and", "fine.ccq", "0,9"];
    let words = ["--sum", "coarse.ccq", "the smaller cells of fine.ccq", "give fine.ccq first"];
    PROGRAM.fails(path, &[&ask[..], &["--sum"]].concat(), &words);
    let words = ["--window 0,0,3,3: fine.ccq, the finest", "3 rows and 2 columns", "--bounds"];
    PROGRAM.fails(path, &[&ask[..], &["--window", "0,0,3,3"]].concat(), &words);
    let found = PROGRAM.succeeds(path, &[&ask[..], &["--window", "0,0,2,2"]].concat());
    assert!(found.contains("the query finds cells of fine.ccq, the finest"), "{found}");
}

/// Builds the index of 3 x 2 cells with a geotransform, in one go and by tiles, which must have the same bytes.
fn build_at(path: &Path, name: &str, transform: [f64; 6], code: Option<&str>) {
    let crs = code.map(|code| Crs::parse(code).unwrap());
    let cells = Cells::Values { values: &[1.0, 2.0, 3.0, 3.0, 3.0, 4.0], nodata: -1.0 };
    let place = Georeference { transform, crs };
    write_tiff(&path.join(name), &place, (3, 2), cells, &TiffOptions::default()).unwrap();
    PROGRAM.succeeds(path, &["build", name, "-o", "a.ccq", "--overwrite"]);
    let report = PROGRAM.succeeds(path, &["plan", name, "-o", "p.json", "--overwrite"]);
    assert!(!report.contains("note"), "{report}");
    PROGRAM.succeeds(path, &["run", "p.json", "--all"]);
    PROGRAM.succeeds(path, &["merge", "p.json", "-o", "b.ccq", "--overwrite"]);
    let bytes = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert!(bytes("a.ccq") == bytes("b.ccq"), "{name}");
    assert_eq!(PROGRAM.json(path, &["info", "a.ccq"])["geotransform"], json!(transform));
}

/// The area of the three cells of 3, which meet at sides and corners, and their file.
fn region(path: &Path) -> (f64, Value) {
    let ask = ["query", "a.ccq", "--range", "3,4", "--regions", "r.geojson", "--connectivity", "8"];
    let report = PROGRAM.json(path, &[&ask[..], &["--overwrite"]].concat());
    (report["regions"]["area"].as_f64().unwrap(), json_of(&path.join("r.geojson")))
}

/// The ring of the cell of 4.
fn ring_of_four(path: &Path) -> Value {
    let ask = ["query", "a.ccq", "--range", "4,5", "-o", "q.geojson", "--overwrite"];
    PROGRAM.succeeds(path, &ask);
    json_of(&path.join("q.geojson"))["features"][0]["geometry"]["coordinates"][0].clone()
}

fn cells_in(path: &Path, bounds: &str) -> Value {
    PROGRAM.json(path, &["query", "a.ccq", "--bounds", bounds])["found"]["cells"].clone()
}

#[test]
fn an_index_keeps_the_place_of_cells_that_are_no_squares() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    build_at(path, "oblong.tif", [10.0, 2.0, 0.0, 60.0, 0.0, -3.0], Some("EPSG:32633"));
    let (area, json) = region(path);
    assert_eq!(area, 18.0);
    assert_eq!(json["crs"]["properties"]["name"], "urn:ogc:def:crs:EPSG::32633");
    for (bounds, cells) in [("10,57,14,60", 2), ("12,54,13,60", 2), ("0,0,99,99", 6)] {
        assert_eq!(cells_in(path, bounds), cells, "{bounds}");
    }
    let ring = json!([[14.0, 54.0], [16.0, 54.0], [16.0, 57.0], [14.0, 57.0], [14.0, 54.0]]);
    assert_eq!(ring_of_four(path), ring);
    write(path, "squares.tif", (10.0, SQUARE), &[1.0, 2.0]);
    PROGRAM.succeeds(path, &["build", "squares.tif", "-o", "s.ccq"]);
    let words = ["a.ccq", "not square", "gdalwarp"];
    PROGRAM.fails(path, &["query", "s.ccq", "--and", "a.ccq", "0,9"], &words);
    let ask = ["query", "a.ccq", "--raster"];
    PROGRAM.succeeds(path, &[&ask[..], &["oblong.tif"]].concat());
    build_at(path, "other.tif", [10.0, 2.0, 0.0, 61.0, 0.0, -3.0], Some("EPSG:32633"));
    PROGRAM.fails(
        path,
        &[&ask[..], &["oblong.tif"]].concat(),
        &["oblong.tif", "do not lie at the same place"],
    );
}

/// Rows from south to north (their rings are counter-clockwise too), turned rows, and degrees.
#[test]
fn an_index_keeps_the_place_of_rows_that_run_any_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    build_at(path, "south.tif", [10.0, 2.0, 0.0, 54.0, 0.0, 3.0], None);
    let ring = json!([[14.0, 60.0], [14.0, 57.0], [16.0, 57.0], [16.0, 60.0], [14.0, 60.0]]);
    let places: Vec<[f64; 2]> = serde_json::from_value(ring_of_four(path)).unwrap();
    let area: f64 = places.windows(2).map(|w| w[0][0] * w[1][1] - w[1][0] * w[0][1]).sum();
    assert_eq!(area, 2.0 * 6.0, "{places:?}");
    assert!(places.iter().all(|place| ring.as_array().unwrap().contains(&json!(place))));
    assert_eq!(cells_in(path, "14,57,16,60"), 1);
    build_at(path, "turned.tif", [10.0, 2.0, 0.5, 60.0, 0.5, -2.0], None);
    assert_eq!(region(path).0, 3.0 * 4.25);
    let words = ["--bounds 0,0,1,1", "a.ccq", "do not run along an axis", "--window"];
    PROGRAM.fails(path, &["query", "a.ccq", "--bounds", "0,0,1,1"], &words);
    build_at(path, "degrees.tif", [10.0, 0.2, 0.0, 60.0, 0.0, -0.1], Some("EPSG:4326"));
    // A cell of 0.2 x 0.1 degrees between 59.8 and 60 degrees north, about 11.2 x 11.1 km.
    let share = region(path).0 / (3.0 * 11_200.0 * 11_140.0);
    assert!((share - 1.0).abs() < 0.01, "{share}");
}

#[test]
fn options_without_an_effect_are_refused_and_notes_on_rasters_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "a.tif", (100.0, SQUARE), &[1.0, 2.0, 3.0, 4.0]);
    let build = ["build", "a.tif", "-o", "a.ccq", "--bins", "2.5,5"];
    PROGRAM.succeeds(path, &build);
    for more in [&["--array", "mask"][..], &["--seed", "5"], &["--sample-side", "5"]] {
        PROGRAM.fails(path, &[&build[..], more].concat(), &[more[0]]);
    }
    let query = ["query", "a.ccq", "--range", "2,4"];
    PROGRAM.fails(path, &[&query[..], &["--array", "mask"]].concat(), &["--array", "NPZ"]);
    let text =
        "<PAMDataset><PAMRasterBand band=\"1\"><Scale>0.01</Scale></PAMRasterBand></PAMDataset>";
    std::fs::write(path.join("a.tif.aux.xml"), text).unwrap();
    let said = PROGRAM.succeeds(path, &[&query[..], &["--raster", "a.tif"]].concat());
    assert!(said.contains("a.tif: its scale 0.01 and offset 0 are not applied"), "{said}");
}

/// The other raster may have 3 as a value.
#[test]
fn rasters_of_two_nodata_are_refused_with_a_value_of_neither() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (name, left, nodata) in [("a.tif", 100.0, 3.0), ("b.tif", 104.0, 77.0)] {
        let place = Georeference::north_up((left, 50.0), (2.0, 2.0));
        let cells = Cells::Values { values: &[1.0, 2.0], nodata };
        write_tiff(&path.join(name), &place, (2, 1), cells, &TiffOptions::default()).unwrap();
    }
    PROGRAM.fails(path, &["build", "a.tif", "b.tif"], &["-dstnodata VALUE", "no cell of them has"]);
}

#[test]
fn a_dash_is_refused_where_an_argument_needs_a_file() {
    PROGRAM.refuses_streams(&[
        ("build -", "<RASTER>"),
        ("build a.tif -o -", "--output"),
        ("info -", "<TREE>"),
        ("query - --range 1,2", "<TREE>"),
        ("query a.ccq --range 1,2 --raster -", "--raster"),
        ("query a.ccq --range 1,2 --raster-of b.ccq -", "--raster-of"),
        ("query a.ccq --range 1,2 --and - 1,2", "--and"),
        ("query a.ccq --range 1,2 -o -", "--output"),
        ("plan -", "<RASTER>"),
        ("plan a.tif -o -", "--output"),
    ]);
}
