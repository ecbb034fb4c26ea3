//! The program `raster_index` as its users meet it: exit codes, messages, files.

use std::path::Path;

use geo_io::{
    Array, ArrayData, Cells, Georeference, Raster, TiffOptions, read_npy, read_raster, write_npy,
    write_tiff,
};
use tempfile::TempDir;
use testing::files::tiff::{Field, Tiff};

use testing::program::json_of;

use crate::PROGRAM;

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    PROGRAM.succeeds(folder, arguments)
}

fn fails(folder: &Path, arguments: &[&str], words: &[&str]) {
    PROGRAM.fails(folder, arguments, words);
}

/// Four columns and three rows of i16, of f32 another, and inputs that are wrong.
fn folder_of_inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let heights: [i16; 12] = [1, 1, 5, 6, 1, 1, 7, 8, -9, 2, 2, 2];
    write_npy(&at("heights.npy"), &heights, 4, 3).unwrap();
    let rain = heights.map(|h| f32::from(h) * 0.5);
    write_npy(&at("rain.npy"), &rain, 4, 3).unwrap();
    let place = Georeference::north_up((100.0, 50.0), (2.0, 2.0));
    // What is NaN is written as NODATA.
    let gaps = rain.map(|value| if value == 1.0 { f32::NAN } else { value });
    let cells = Cells::Values { values: &gaps, nodata: 1.0 };
    write_tiff(&at("rain.tif"), &place, (4, 3), cells, &TiffOptions::default()).unwrap();
    write_npy(&at("long.npy"), &[1i64, 2, 3, 1 << 32], 2, 2).unwrap();
    std::fs::write(at("text.ccq"), "this is not an index").unwrap();
    std::fs::write(at("text.tif"), "nor is this an image").unwrap();
    folder
}

#[test]
fn cells_and_quadrants_of_a_range_are_written() {
    let folder = folder_of_inputs();
    let at = |name: &str| folder.path().join(name);
    for device in ["cpu", "software"] {
        let report = succeeds(
            folder.path(),
            &["build", "heights.npy", "-o", "h.ccq", "--overwrite", "--device", device],
        );
        assert!(report.contains("4 x 3 cells of i16") && report.contains("-9 to 8"), "{report}");
        let out = ["-o", "m.npy", "-o", "q.csv", "-o", "q.geojson", "-o", "m.png", "--overwrite"];
        let ask = [&["query", "h.ccq", "--range", "1,6"], &out[..]].concat();
        let report = succeeds(folder.path(), &ask);
        assert!(report.contains("8 cells"), "{report}");
        let Array { shape, data } = read_npy(&at("m.npy")).unwrap();
        assert_eq!(shape, [3, 4]);
        assert_eq!(data, ArrayData::U8(vec![1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1]));
        let rows = std::fs::read_to_string(at("q.csv")).unwrap();
        let rows: Vec<&str> = rows.lines().collect();
        assert_eq!(
            rows,
            [
                "row,col,rows,cols,min,max,partly",
                "0,0,2,2,1,1,0",
                "0,2,1,1,5,5,0",
                "2,1,1,1,2,2,0",
                "2,2,1,2,2,2,0"
            ]
        );
        let json = json_of(&at("q.geojson"));
        let ring = &json["features"][3]["geometry"]["coordinates"][0];
        // The raster has three rows: of the last quadrant one is there.
        assert_eq!(ring.to_string(), "[[2.0,0.0],[4.0,0.0],[4.0,1.0],[2.0,1.0],[2.0,0.0]]");
        let expected =
            serde_json::json!({"row": 2, "col": 2, "rows": 1, "cols": 2, "min": 2, "max": 2});
        assert_eq!(json["features"][3]["properties"], expected);
    }
    let report = succeeds(folder.path(), &["query", "h.ccq", "--window", "1,2,3,4"]);
    assert!(report.contains("4 cells"), "{report}");
}

#[test]
fn several_indices_and_bins_are_asked_together() {
    let folder = folder_of_inputs();
    succeeds(folder.path(), &["build", "heights.npy", "-o", "h.ccq", "--bins", "2,6"]);
    succeeds(folder.path(), &["build", "rain.tif", "-o", "r.ccq"]);
    let report = succeeds(folder.path(), &["info", "r.ccq"]);
    assert!(report.contains("NODATA") && report.contains("100 50, cells of 2"), "{report}");
    let both = ["query", "h.ccq", "--range", "2,6", "--and", "r.ccq", "0,10"];
    // 5, and the three of 2 whose rain is NODATA.
    assert!(succeeds(folder.path(), &both).contains("1 cells in 1 quadrants"));
    let cut = ["query", "h.ccq", "--range", "3,7"];
    let report = succeeds(folder.path(), &cut);
    let words = "--range 3,7 cuts through bins of h.ccq, whose boundaries are 2, 6: --raster with";
    assert!(report.contains(words), "{report}");
    let by_raster = [&cut[..], &["--raster", "heights.npy", "-o", "x.csv"]].concat();
    let exact = succeeds(folder.path(), &by_raster);
    assert!(exact.contains("2 cells in 2 quadrants"), "{exact}");
    // The cells that the raster has told alone.
    let rows = std::fs::read_to_string(folder.path().join("x.csv")).unwrap();
    assert_eq!(rows.lines().skip(1).filter(|row| row.contains(",1,1,")).count(), 2, "{rows}");
    fails(folder.path(), &[&cut[..], &["-o", "x.npy"]].concat(), &[words]);
}

#[test]
fn queries_give_the_same_on_all_devices() {
    let folder = folder_of_inputs();
    let path = folder.path();
    succeeds(path, &["build", "--sample-side", "150", "-o", "a.ccq", "--quantiles", "5"]);
    succeeds(path, &["build", "--sample-side", "150", "--seed", "2", "-o", "b.ccq"]);
    let files = ["q.csv", "q.geojson", "q.npy", "q.png"];
    let mut all = Vec::new();
    for device in ["cpu", "software", "auto"] {
        let ask =
            ["query", "b.ccq", "--range", "200,900", "--window", "3,5,140,149", "--device", device];
        let and = ["--and", "a.ccq", "-inf,inf", "--and", "b.ccq", "300,inf", "--overwrite"];
        let out = files.map(|name| ["-o", name]);
        let report = PROGRAM.json(path, &[&ask[..], &and, out.as_flattened()].concat());
        let bytes = files.map(|name| std::fs::read(path.join(name)).unwrap());
        all.push((report["found"].clone(), bytes));
    }
    assert!(all[0].0["cells"].as_u64() > Some(100), "{:?}", all[0].0);
    assert!(all[0] == all[1] && all[0] == all[2]);
    let many: Vec<&str> = ["--and", "b.ccq", "0,1"].repeat(4);
    succeeds(path, &[&["query", "b.ccq"], &many[..]].concat());
    let ask = ["query", "b.ccq", "--device", "software"];
    fails(path, &[&ask[..], &many].concat(), &["5 conditions: a search takes 1 to 4"]);
}

#[test]
fn bounds_are_a_window_in_the_units_of_the_place() {
    let folder = folder_of_inputs();
    let path = folder.path();
    succeeds(path, &["build", "rain.tif", "-o", "r.ccq"]);
    let cells = |more: &[&str]| {
        PROGRAM.json(path, &[&["query", "r.ccq"], more].concat())["found"]["cells"].clone()
    };
    // Cells of 2 from (100, 50) on; of the window's six cells two are NODATA.
    for bounds in ["102,44,106,50", "102.5,44.1,105.9,49.9", "102,-1e9,106,1e9"] {
        assert_eq!(cells(&["--bounds", bounds]), cells(&["--window", "0,1,3,3"]), "{bounds}");
    }
    let outside = ["query", "r.ccq", "--bounds", "0,0,100,50"];
    fails(path, &outside, &["--bounds 0,0,100,50", "100,44,108,50"]);
    fails(path, &["query", "r.ccq", "--bounds", "1,2,3"], &["expected 4 numbers"]);
    let both = ["query", "r.ccq", "--bounds", "102,44,106,50", "--window", "0,1,3,3"];
    fails(path, &both, &["--window"]);
}

#[test]
fn rasters_beside_each_other_make_one_index() {
    let folder = folder_of_inputs();
    let path = folder.path();
    let write = |name: &str, left: f64, values: [f32; 4]| {
        let place = Georeference::north_up((left, 50.0), (2.0, 2.0));
        let cells = Cells::Values { values: &values, nodata: -1.0 };
        write_tiff(&path.join(name), &place, (2, 2), cells, &TiffOptions::default()).unwrap();
    };
    write("east.tif", 104.0, [3.0, 4.0, 7.0, 8.0]);
    write("west.tif", 100.0, [1.0, 2.0, 5.0, 6.0]);
    let report = succeeds(path, &["build", "east.tif", "west.tif", "-o", "both.ccq"]);
    assert!(report.contains("put together"), "{report}");
    let report = succeeds(path, &["info", "both.ccq"]);
    assert!(report.contains("4 x 2") && report.contains("100 50, cells of 2"), "{report}");
    succeeds(path, &["query", "both.ccq", "--range", "3,6", "-o", "q.csv"]);
    let rows = std::fs::read_to_string(path.join("q.csv")).unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let expected = ["1,0,1,1,5,5,0", "0,2,1,1,3,3,0", "0,3,1,1,4,4,0"];
    assert_eq!(rows[0], "row,col,rows,cols,min,max,partly");
    assert_eq!(rows[1..], expected);
    let twice = ["build", "east.tif", "east.tif", "-o", "x.ccq"];
    let place = "east.tif overlaps east.tif";
    fails(path, &twice, &[place]);
    let both = ["build", "east.tif", "rain.tif", "--nodata", "-1", "-o", "x.ccq"];
    fails(path, &both, &["rain.tif overlaps east.tif"]);
    let both = ["build", "east.tif", "heights.npy", "-o", "x.ccq"];
    fails(path, &both, &["heights.npy", "east.tif"]);
}

#[test]
fn squares_of_degrees_are_squares_and_other_cells_have_an_index_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, transform: [f64; 6]| {
        let place = Georeference { transform, crs: None };
        let cells = Cells::Values { values: &[3.0, 4.0, 7.0, 8.0], nodata: -1.0 };
        write_tiff(&path.join(name), &place, (2, 2), cells, &TiffOptions::default()).unwrap();
    };
    // Squares of a hundredth of a degree, by division of an extent.
    write("degrees.tif", [10.0, (13.31 - 10.0) / 331.0, 0.0, 60.0, 0.0, -0.01]);
    write("oblong.tif", [10.0, 2.0, 0.0, 60.0, 0.0, -3.0]);
    write("turned.tif", [10.0, 2.0, 0.5, 60.0, 0.5, -2.0]);
    for (command, out) in [("build", "x.ccq"), ("plan", "x.json")] {
        let report = succeeds(path, &[command, "degrees.tif", "-o", out]);
        assert!(!report.contains("note"), "{report}");
        for name in ["oblong.tif", "turned.tif"] {
            let alone = [command, name, "-o", out, "--overwrite"];
            assert!(!succeeds(path, &alone).contains("note"), "{name}");
            let both = [command, "degrees.tif", name, "-o", out, "--overwrite"];
            fails(path, &both, &[name, "mirrored or not square", "gdalwarp"]);
        }
        std::fs::remove_file(path.join(out)).unwrap();
    }
    succeeds(path, &["build", "degrees.tif"]);
    assert!(succeeds(path, &["info", "index.ccq"]).contains("north-west corner 10 60"));
}

#[test]
fn a_raster_that_the_index_is_not_of_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let values = [3.0f32, 4.0, 7.0, 8.0];
    for (name, left) in [("here.tif", 100.0), ("there.tif", 104.0)] {
        let place = Georeference::north_up((left, 50.0), (2.0, 2.0));
        let cells = Cells::Values { values: &values, nodata: -1.0 };
        write_tiff(&path.join(name), &place, (2, 2), cells, &TiffOptions::default()).unwrap();
    }
    write_npy(&path.join("same.npy"), &values, 2, 2).unwrap();
    write_npy(&path.join("bytes.npy"), &values.map(|v| v as u8), 2, 2).unwrap();
    write_npy(&path.join("longer.npy"), &[1f32; 6], 3, 2).unwrap();
    succeeds(path, &["build", "here.tif", "--bins", "5"]);
    let ask = ["query", "index.ccq", "--range", "4,8", "--raster"];
    for name in ["here.tif", "same.npy"] {
        let report = succeeds(path, &[&ask[..], &[name]].concat());
        assert!(report.contains("2 cells"), "{report}");
    }
    fails(path, &[&ask[..], &["there.tif"]].concat(), &["104 50", "100 50"]);
    fails(path, &[&ask[..], &["bytes.npy"]].concat(), &["u8", "f32"]);
    fails(path, &[&ask[..], &["longer.npy"]].concat(), &["3", "2"]);
}

#[test]
fn rasters_beside_each_other_have_one_nodata() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, left: f64, nodata: f32| {
        let place = Georeference::north_up((left, 50.0), (2.0, 2.0));
        let cells = Cells::Values { values: &[f32::NAN, 4.0, 7.0, 8.0], nodata };
        write_tiff(&path.join(name), &place, (2, 2), cells, &TiffOptions::default()).unwrap();
    };
    write("west.tif", 100.0, -9999.0);
    write("east.tif", 104.0, -32768.0);
    for (command, out) in [("build", "x.ccq"), ("plan", "x.json")] {
        let both = [command, "west.tif", "east.tif", "-o", out];
        fails(path, &both, &["west.tif", "-9999", "east.tif", "-32768"]);
        succeeds(path, &[&both[..], &["--nodata=-9999"]].concat());
        std::fs::remove_file(path.join(out)).unwrap();
    }
}

#[test]
fn the_nodata_of_one_raster_counts_in_those_that_state_none_and_a_note_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let header = |left: u32, nodata: &str| {
        format!("ncols 2\nnrows 1\nxllcorner {left}\nyllcorner 100\ncellsize 1\n{nodata}")
    };
    std::fs::write(path.join("a.asc"), header(100, "NODATA_value 3\n") + "1 3\n").unwrap();
    std::fs::write(path.join("b.asc"), header(102, "") + "3 4\n").unwrap();
    let words = "b.asc states no NODATA: its cells of 3 count as NODATA, which they are in a.asc";
    for (command, out) in [("build", "x.ccq"), ("plan", "x.json")] {
        let both = [command, "a.asc", "b.asc", "-o", out, "--overwrite"];
        assert!(succeeds(path, &both).contains(words));
        let report = succeeds(path, &[&both[..], &["--nodata", "3"]].concat());
        assert!(!report.contains("states no NODATA"), "{report}");
    }
    assert_eq!(cells_found(path, &["a.asc", "b.asc"], &[]), 2);
    std::fs::write(path.join("c.asc"), header(106, "") + "1 4\n").unwrap();
    for (command, out) in [("build", "x.ccq"), ("plan", "x.json")] {
        let gap = [command, "b.asc", "c.asc", "-o", out, "--overwrite"];
        fails(path, &gap, &["2 cells of the mosaic lie in no raster", "by --nodata"]);
    }
}

/// The number of cells that a query finds in the index of a raster that was built so.
fn cells_found(folder: &Path, build: &[&str], query: &[&str]) -> u64 {
    let start = ["build", "-o", "x.ccq", "--overwrite", "--device", "cpu"];
    succeeds(folder, &[&start[..], build].concat());
    let report = PROGRAM.json(folder, &[&["query", "x.ccq"], query].concat());
    report["found"]["cells"].as_u64().unwrap()
}

#[test]
fn zero_may_stand_for_nodata_among_floats() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    let values = [0.0, -0.0, 2.0, 3.0f32];
    Tiff::of_floats(2, &values).nodata("0").write(&at("zero.tif"));
    write_npy(&at("zero.npy"), &values, 2, 2).unwrap();
    for build in [
        &["zero.tif"][..],
        &["zero.npy", "--nodata", "0"],
        &["zero.npy", "--nodata", "-0"],
        &["zero.npy", "--nodata", "0.0", "--bins", "0.5,2.5"],
        &["zero.tif", "--quantiles", "2"],
    ] {
        assert_eq!(cells_found(path, build, &[]), 2, "{build:?}");
        let report = succeeds(path, &["info", "x.ccq"]);
        assert!(report.contains("NODATA"), "{report}");
    }
    // A gap between two is NODATA as well.
    let place = |left: f64| Georeference::north_up((left, 2.0), (1.0, 1.0));
    for (name, left) in [("left.tif", 0.0), ("right.tif", 5.0)] {
        let cells = Cells::Values { values: &[f32::NAN, 7.0, 7.0, f32::NAN], nodata: 0.0 };
        write_tiff(&at(name), &place(left), (2, 2), cells, &TiffOptions::default()).unwrap();
    }
    assert_eq!(cells_found(path, &["left.tif", "right.tif"], &[]), 4);
    assert_eq!(cells_found(path, &["left.tif", "right.tif"], &["--range", "0,1"]), 0);
}

#[test]
fn blocks_that_a_file_does_not_have_are_nodata() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let sparse = Tiff::of_bytes(4, &[1; 16]).rows_per_strip(1).without_block(2);
    sparse.clone().nodata("9").write(&path.join("sparse.tif"));
    assert_eq!(cells_found(path, &["sparse.tif"], &[]), 12);
    sparse.write(&path.join("zeros.tif"));
    assert_eq!(cells_found(path, &["zeros.tif"], &["--range", "0,1"]), 4);
}

#[test]
fn decimals_mean_the_float_that_they_round_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let tenths: Vec<f32> = (1..=10).map(|i| i as f32 / 10.0).collect();
    write_npy(&path.join("tenths.npy"), &tenths, 5, 2).unwrap();
    for (build, query, expected) in [
        (&[][..], "0.7,1", 3),
        (&[], "0.1,0.3", 2),
        (&[], "-1e300,1e300", 10),
        (&[], "0.95,inf", 1),
        (&["--bins", "0.3,0.7"], "0.3,0.7", 4),
        (&["--nodata", "0.7"], "0.7,1", 2),
    ] {
        let build = [&["tenths.npy"], build].concat();
        assert_eq!(cells_found(path, &build, &["--range", query]), expected, "{build:?} {query}");
    }
    succeeds(path, &["build", "tenths.npy", "-o", "b.ccq", "--bins", "0.3,0.7", "--nodata", "0.1"]);
    let report = succeeds(path, &["info", "b.ccq"]);
    assert!(report.contains("boundaries 0.3, 0.7"), "{report}");
}

/// What NumPy makes by default: 64 bits, in cells of 32 where these hold them.
#[test]
fn values_of_64_bits_are_indexed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    let huge = f64::MIN;
    write_npy(&at("floats.npy"), &[0.5, f64::NAN, huge, 3.0], 2, 2).unwrap();
    write_npy(&at("tenths.npy"), &[0.5, 0.1], 2, 1).unwrap();
    write_npy(&at("signed.npy"), &[-1, 2, i64::MIN, 3], 2, 2).unwrap();
    write_npy(&at("ids.npy"), &[1i64 << 31, 2, 3, 4], 2, 2).unwrap();
    write_npy(&at("long.npy"), &[1, 2, u64::MAX, 3], 2, 2).unwrap();
    let lowest = "-1.7976931348623157e+308";
    for (build, query, expected) in [
        (&["floats.npy", "--nodata", lowest][..], "-inf,inf", 2),
        (&["signed.npy", "--nodata", "-9223372036854775808"], "-1,3", 2),
        (&["ids.npy"], "2147483648,inf", 1),
        (&["long.npy", "--nodata", "18446744073709551615"], "0,inf", 3),
    ] {
        assert_eq!(cells_found(path, build, &["--range", query]), expected, "{build:?}");
        // The raster's NODATA is that of the index, by the same option.
        let raster = [&["--range", query, "--raster"], build].concat();
        assert_eq!(cells_found(path, build, &raster), expected, "{build:?}");
    }
    // `info` shows integers exactly even if no f64 has them, so that a user can query them.
    write_npy(&at("large.npy"), &[1i64 << 60, (1 << 60) + 1, i64::MAX, 1], 2, 2).unwrap();
    let build = ["build", "large.npy", "-o", "l.ccq", "--bins", "1152921504606846977"];
    succeeds(path, &build);
    assert!(succeeds(path, &["info", "l.ccq"]).contains("with boundaries 1152921504606846977"));
    succeeds(path, &["build", "large.npy", "-o", "l.ccq", "--nodata", "1", "--overwrite"]);
    let report = succeeds(path, &["info", "l.ccq"]);
    assert!(report.contains("1152921504606846976 to 9223372036854775807"), "{report}");
    fails(path, &["build", "large.npy", "-o", "n.ccq", "--bins=nan"], &["--bins", "boundary 1"]);
    let report = succeeds(path, &["build", "ids.npy", "-o", "i.ccq"]);
    assert!(report.contains("cells of i64"), "{report}");
    assert!(succeeds(path, &["info", "i.ccq"]).contains("cells of u32"));
    // In tiles they are the same index.
    for name in ["tenths.npy", "signed.npy", "long.npy", "large.npy"] {
        let out = ["-o", "p.json", "--overwrite"];
        succeeds(path, &[&["plan", name], &out[..]].concat());
        succeeds(path, &["run", "p.json", "--all"]);
        succeeds(path, &["merge", "p.json", "-o", "tiles.ccq", "--overwrite"]);
        succeeds(path, &["build", name, "-o", "one.ccq", "--overwrite"]);
        let [one, tiles] = ["one.ccq", "tiles.ccq"].map(|name| std::fs::read(at(name)).unwrap());
        assert!(one == tiles, "{name}");
    }
    for (build, query, expected) in [
        (&["tenths.npy"][..], "0.1,0.5", 1),
        (&["tenths.npy", "--bins", "0.1,0.3"], "0.1,0.3", 1),
        (&["tenths.npy", "--nodata", "0.1"], "-inf,inf", 1),
        (&["signed.npy"], "-9223372036854775808,-9223372036854775807", 1),
        (&["signed.npy", "--bins", "-9223372036854775807,0"], "-9223372036854775807,inf", 3),
        (&["long.npy"], "18446744073709551615,inf", 1),
        (&["long.npy"], "0,18446744073709551615", 3),
    ] {
        assert_eq!(cells_found(path, build, &["--range", query]), expected, "{build:?}");
        let (name, nodata) = (build[0], build.iter().position(|word| *word == "--nodata"));
        let raster = ["--range", query, "--raster", name, "--device", "software"];
        let raster = [&raster[..], nodata.map_or(&[][..], |at| &build[at..at + 2])].concat();
        assert_eq!(cells_found(path, build, &raster), expected, "{build:?}");
    }
    let report = succeeds(path, &["build", "tenths.npy", "-o", "t.ccq", "--bins", "0.1,0.3"]);
    assert!(report.contains("0.1, 0.3"), "{report}");
    assert!(succeeds(path, &["info", "t.ccq"]).contains("cells of f64"));
    // A range that cuts a bin.
    let cut = ["--range", "0.2,0.6", "--raster", "tenths.npy"];
    assert_eq!(cells_found(path, &["tenths.npy", "--bins", "0.1,0.3"], &cut), 1);
    // With several files the check covers each of them.
    let place = |name: &str, tags: [f64; 2], value: u64| {
        let scale = Field::Doubles(vec![1.0, 1.0, 0.0]);
        let point = Field::Doubles(vec![0.0, 0.0, 0.0, tags[0], tags[1], 0.0]);
        let tiff = Tiff::new(1, &[value], (64, 2)).tag(33550, scale).tag(33922, point);
        tiff.write(&at(name));
    };
    place("a.tif", [0.0, 1.0], 5);
    place("b.tif", [1.0, 1.0], 1 << 31);
    assert_eq!(cells_found(path, &["a.tif", "b.tif"], &["--range", "5,inf"]), 2);
}

/// Values that no f64 has are written as they are, in tables and in GeoJSON.
#[test]
fn what_is_found_has_its_values_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    let big = (1i64 << 60) + 1;
    write_npy(&at("large.npy"), &[big, big, 5, i64::MAX], 2, 2).unwrap();
    succeeds(path, &["build", "large.npy", "-o", "l.ccq"]);
    for device in ["cpu", "software"] {
        let out = ["-o", "q.csv", "-o", "q.geojson", "--overwrite", "--device", device];
        succeeds(path, &[&["query", "l.ccq", "--range", "6,inf"], &out[..]].concat());
        let rows = std::fs::read_to_string(at("q.csv")).unwrap();
        assert!(rows.contains("0,0,1,1,1152921504606846977,1152921504606846977"), "{rows}");
        assert!(rows.contains("1,1,1,1,9223372036854775807,9223372036854775807"), "{rows}");
        let text = std::fs::read_to_string(at("q.geojson")).unwrap();
        assert!(text.contains("\"min\":1152921504606846977"), "{text}");
    }
}

/// Boundaries between which no value lies leave an empty bin, of integers of any size.
#[test]
fn bins_of_integers_may_have_decimals_for_boundaries() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    write_npy(&at("i64.npy"), &[0i64, 1, 2, 1 << 40], 2, 2).unwrap();
    write_npy(&at("i32.npy"), &[0i32, 1, 2, 1 << 20], 2, 2).unwrap();
    write_npy(&at("i16.npy"), &[0i16, 1, 2, 1 << 10], 2, 2).unwrap();
    let mut all = Vec::new();
    for name in ["i64.npy", "i32.npy", "i16.npy"] {
        succeeds(path, &["build", name, "-o", "b.ccq", "--bins", "1,1.5,2", "--overwrite"]);
        let json = PROGRAM.json(path, &["info", "b.ccq"]);
        assert_eq!(
            (&json["tree"]["node_bytes"], json["tree"]["bins"].as_array().unwrap().len()),
            (&8.into(), 3)
        );
        succeeds(path, &["query", "b.ccq", "--range", "2,inf", "-o", "q.csv", "--overwrite"]);
        all.push(std::fs::read_to_string(at("q.csv")).unwrap());
    }
    assert_eq!(all[0], "row,col,rows,cols,min,max,partly\n1,0,1,1,3,3,0\n1,1,1,1,3,3,0\n");
    assert!(all[0] == all[1] && all[1] == all[2], "{all:?}");
}

/// Boundaries by quantiles, of values that no f64 has.
#[test]
fn quantiles_of_64_bits_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    let base = 1i64 << 60;
    let values: Vec<i64> = (0..60).map(|i| base + i * 7 % 60).collect();
    write_npy(&at("ids.npy"), &values, 10, 6).unwrap();
    let report = succeeds(path, &["build", "ids.npy", "-o", "q.ccq", "--quantiles", "4"]);
    let bins = [15, 30, 45].map(|i| (base + i).to_string()).join(", ");
    assert!(report.contains(&format!("4, with boundaries {bins}")), "{report}");
    let floats: Vec<f64> = (0..60).map(|i| f64::from(i * 7 % 60) + 0.1).collect();
    write_npy(&at("floats.npy"), &floats, 10, 6).unwrap();
    let report = succeeds(path, &["build", "floats.npy", "-o", "f.ccq", "--quantiles", "2"]);
    assert!(report.contains("2, with boundaries 30.1"), "{report}");
}

#[test]
fn infinities_are_in_ranges_without_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    let values = [f32::INFINITY, 1.0, f32::NEG_INFINITY, f32::NAN];
    write_npy(&at("f32.npy"), &values, 2, 2).unwrap();
    write_npy(&at("f64.npy"), &values.map(|v| if v == 1.0 { 0.1 } else { f64::from(v) }), 2, 2)
        .unwrap();
    for name in ["f32.npy", "f64.npy"] {
        for (build, query) in [(&[][..], &[][..]), (&["--bins", "0"], &["--raster", name])] {
            for (range, expected) in
                [("0,inf", 2), ("inf,inf", 1), ("-inf,inf", 3), ("-inf,0", 1), ("0,1e300", 1)]
            {
                let build = [&[name], build].concat();
                let query = [&["--range", range, "--device", "software"], query].concat();
                assert_eq!(cells_found(path, &build, &query), expected, "{name} {range}");
            }
        }
    }
}

/// A raster that is all NODATA shows that of its own type.
#[test]
fn a_raster_without_values_keeps_its_nodata() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    write_npy(&at("i64.npy"), &[i64::MIN; 6], 3, 2).unwrap();
    write_npy(&at("f64.npy"), &[f64::MIN; 6], 3, 2).unwrap();
    write_npy(&at("nine.npy"), &[-9i64; 6], 3, 2).unwrap();
    for (name, nodata, cells) in [
        ("i64.npy", "-9223372036854775808".to_owned(), "i64"),
        ("f64.npy", "-1.7976931348623157e308".to_owned(), "f64"),
        ("nine.npy", "-9".to_owned(), "i32"),
    ] {
        for command in [&["build", "-o", "a.ccq"][..], &["plan", "-o", "p.json"]] {
            let words = [command, &[name, "--nodata", &nodata, "--overwrite"]].concat();
            succeeds(path, &words);
        }
        succeeds(path, &["run", "p.json", "--all"]);
        succeeds(path, &["merge", "p.json", "-o", "t.ccq", "--overwrite"]);
        assert!(std::fs::read(at("a.ccq")).unwrap() == std::fs::read(at("t.ccq")).unwrap());
        let report = succeeds(path, &["info", "a.ccq"]);
        assert!(
            report.contains(&nodata) && report.contains(&format!("cells of {cells}")),
            "{report}"
        );
        assert!(report.contains("none"), "{report}");
    }
}

/// Bins make nodes of 8 bytes; an index of bins with nodes of 12, as older programs wrote it, is read and asked.
#[test]
fn bins_make_nodes_of_8_bytes_and_older_indices_are_read() {
    let folder = folder_of_inputs();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    let build = ["build", "rain.npy", "-o", "r.ccq", "--bins", "1,3"];
    succeeds(path, &build);
    assert!(succeeds(path, &["info", "r.ccq"]).contains("nodes of 8 bytes"));
    let rain = read_raster(&at("rain.npy"), None).unwrap();
    let ArrayData::F32(values) = rain.values else { panic!("floats") };
    let raster = gpu_core::Grid::new(values, gpu_core::GridSpec::of_pixels(4, 3)).unwrap();
    let params = ccq_tree::Params::new().bins([1.0, 3.0]);
    let old = ccq_tree::build(&gpu_core::Device::Cpu, raster.view(), &params).unwrap();
    old.save(at("old.ccq")).unwrap();
    let report = succeeds(path, &["info", "old.ccq"]);
    assert!(report.contains("nodes of 12 bytes") && report.contains("boundaries 1, 3"), "{report}");
    for query in [&["--range", "1,3"][..], &["--range", "0.7,2.7", "--raster", "rain.npy"], &[]] {
        for device in ["cpu", "software"] {
            let of = |name: &str| {
                let words = ["query", name, "--device", device, "-o", "m.npy", "--overwrite"];
                let json = PROGRAM.json(path, &[&words[..], query].concat());
                (json["found"].clone(), std::fs::read(at("m.npy")).unwrap())
            };
            assert!(of("r.ccq") == of("old.ccq"), "{query:?}");
        }
    }
    assert!(succeeds(path, &["build", "heights.npy", "-o", "v.ccq"]).contains("nodes of 8 bytes"));
    assert!(succeeds(path, &["build", "rain.npy", "-o", "w.ccq"]).contains("nodes of 12 bytes"));
}

/// Cells of several classes, of integers, floats and values of 64 bits, on every device.
#[test]
fn cells_of_classes_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    let cover: Vec<u8> = (0..90 * 70).map(|i| (i % 90 / 7 + i / 90 / 5) as u8 % 9).collect();
    write_npy(&at("u8.npy"), &cover, 90, 70).unwrap();
    let floats: Vec<f32> = cover.iter().map(|&class| f32::from(class)).collect();
    write_npy(&at("f32.npy"), &floats, 90, 70).unwrap();
    let ids: Vec<i64> = cover.iter().map(|&c| if c == 8 { 1 << 40 } else { c.into() }).collect();
    write_npy(&at("i64.npy"), &ids, 90, 70).unwrap();
    for name in ["u8.npy", "f32.npy", "i64.npy"] {
        succeeds(path, &["build", name, "-o", "c.ccq", "--nodata", "4", "--overwrite"]);
        for device in ["cpu", "software"] {
            let ask =
                ["query", "c.ccq", "--classes", "1,4,7", "--window", "10,5,60,80", "-o", "m.npy"];
            let more = ["-o", "q.csv", "--overwrite", "--device", device];
            let json = PROGRAM.json(path, &[&ask[..], &more].concat());
            let is_in = |i: usize| (10..60).contains(&(i / 90)) && (5..80).contains(&(i % 90));
            let expected =
                (0..cover.len()).map(|i| u8::from(is_in(i) && matches!(cover[i], 1 | 7)));
            let expected: Vec<u8> = expected.collect();
            let cells = expected.iter().map(|&cell| u64::from(cell)).sum::<u64>();
            assert_eq!(json["found"]["cells"], cells, "{name}");
            assert_eq!(read_npy(&at("m.npy")).unwrap().data, ArrayData::U8(expected));
            let rows = std::fs::read_to_string(at("q.csv")).unwrap();
            assert!(
                rows.lines().skip(1).all(|row| row.ends_with("1,1,0") || row.ends_with("7,7,0"))
            );
        }
    }
    // Together with a range of another index.
    let both = ["query", "c.ccq", "--classes", "1,7", "--range", "2,inf", "--and", "c.ccq", "0,99"];
    let sevens = cover.iter().filter(|&&class| class == 7).count();
    assert_eq!(PROGRAM.json(path, &both)["found"]["cells"], sevens);
}

/// Sums and means of what is found, against a scan.
#[test]
fn sums_of_what_is_found_are_those_of_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    let cells: Vec<i16> = (0..80 * 50).map(|i| (i % 80 / 9 * 7 - i / 80 / 4 * 3) as i16).collect();
    let base = 1i64 << 60;
    write_npy(&at("i16.npy"), &cells, 80, 50).unwrap();
    let ids: Vec<i64> = cells.iter().map(|&v| base + i64::from(v)).collect();
    write_npy(&at("i64.npy"), &ids, 80, 50).unwrap();
    let large: Vec<f64> = cells.iter().map(|&v| if v % 2 == 0 { f64::MAX } else { 0.1 }).collect();
    write_npy(&at("f64.npy"), &large, 80, 50).unwrap();
    for name in ["i16.npy", "i64.npy", "f64.npy"] {
        succeeds(path, &["build", name, "-o", &format!("{name}.ccq")]);
    }
    let inside = |i: &usize| (10..40).contains(&(i / 80)) && (5..70).contains(&(i % 80));
    let asked: Vec<i16> = (0..cells.len()).filter(inside).map(|i| cells[i]).collect();
    for device in ["cpu", "software"] {
        let words = ["--sum", "--window", "10,5,40,70", "--device", device];
        let of = |name: &str, range: &str| {
            PROGRAM.json(path, &[&["query", name, "--range", range], &words[..]].concat())["sum"]
                .clone()
        };
        let found: Vec<i128> =
            asked.iter().filter(|v| (3..30).contains(*v)).map(|&v| v.into()).collect();
        let (count, sum) = (found.len() as i128, found.iter().sum::<i128>());
        let json = of("i16.npy.ccq", "3,30");
        assert_eq!(
            (json["cells"].as_i64(), json["sum"].as_i64()),
            (Some(count as i64), Some(sum as i64))
        );
        assert_eq!(json["mean"], sum as f64 / count as f64);
        let ids = [
            &["query", "i64.npy.ccq", "--range", &format!("{},{}", base + 3, base + 30)],
            &words[..],
        ];
        let report = succeeds(path, &ids.concat());
        let expected = sum + count * i128::from(base);
        assert!(report.contains(&format!("{expected} of {count} cells")), "{report}");
        assert_eq!(of("f64.npy.ccq", "1,inf")["mean"], f64::MAX);
        assert_eq!(of("f64.npy.ccq", "0,1")["mean"], 0.1);
        assert!(of("f64.npy.ccq", "5,6").is_null());
    }
    succeeds(path, &["build", "i16.npy", "-o", "b.ccq", "--bins", "3"]);
    fails(path, &["query", "b.ccq", "--sum"], &["--sum", "b.ccq", "bins"]);
}

/// Several rasters and several indices whose values have 64 bits.
#[test]
fn rasters_and_indices_of_64_bits_go_together() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at) = (folder.path(), |name: &str| folder.path().join(name));
    let write = |name: &str, left: f64, values: [u64; 4], kind: (u16, u16)| {
        let scale = Field::Doubles(vec![1.0, 1.0, 0.0]);
        let point = Field::Doubles(vec![0.0, 0.0, 0.0, left, 2.0, 0.0]);
        Tiff::new(2, &values, kind).tag(33550, scale).tag(33922, point).write(&at(name));
    };
    let big = 1u64 << 60;
    write("a.tif", 0.0, [big + 1, big + 2, 7, big + 1], (64, 2));
    write("b.tif", 2.0, [5, big + 2, big + 3, u64::MAX], (64, 2)); // the last is -1
    write("c.tif", 4.0, [1, 2, 3, (1 << 31) + 1], (32, 1));
    let rasters = ["c.tif", "a.tif", "b.tif"];
    succeeds(path, &[&["build"], &rasters[..], &["-o", "all.ccq"]].concat());
    assert!(succeeds(path, &["info", "all.ccq"]).contains("6 x 2 cells of i64"));
    succeeds(path, &[&["plan"], &rasters[..], &["-o", "p.json"]].concat());
    succeeds(path, &["run", "p.json", "--all"]);
    succeeds(path, &["merge", "p.json", "-o", "t.ccq"]);
    assert!(std::fs::read(at("all.ccq")).unwrap() == std::fs::read(at("t.ccq")).unwrap());
    write_npy(&at("f.npy"), &(0..12).map(|i| f64::from(i) * 0.1).collect::<Vec<_>>(), 6, 2)
        .unwrap();
    succeeds(path, &["build", "f.npy", "-o", "f.ccq"]);
    for device in ["cpu", "software"] {
        let range = format!("{},{}", big + 1, big + 3);
        let ask = ["query", "all.ccq", "--range", &range, "--device", device];
        assert_eq!(PROGRAM.json(path, &ask)["found"]["cells"], 4, "{device}");
        // Of the columns 0, 1 and 3 of row 0 and 1 of row 1 those from 0.1 on and below 0.7.
        let both = [&ask[..], &["--and", "f.ccq", "0.1,0.7"]].concat();
        assert_eq!(PROGRAM.json(path, &both)["found"]["cells"], 2, "{device}");
    }
    write("d.tif", 6.0, [u64::MAX; 4], (64, 1));
    // Values up to 2^63 are i64 beside others; above them a negative one has no type.
    write("e.tif", 4.0, [big, 5, 6, 7], (64, 1));
    succeeds(path, &["build", "e.tif", "b.tif", "-o", "x.ccq"]);
    assert!(succeeds(path, &["info", "x.ccq"]).contains("cells of i64"));
    write("g.tif", 2.0, [u64::MAX; 4], (64, 1));
    succeeds(path, &["build", "a.tif", "g.tif", "-o", "y.ccq"]);
    assert!(succeeds(path, &["info", "y.ccq"]).contains("cells of u64"));
    for command in ["build", "plan"] {
        let both =
            [command, "b.tif", "d.tif", "-o", if command == "build" { "z.ccq" } else { "z.json" }];
        let words = [
            "b.tif: its value -1 in row 1, column 1 does not fit u64",
            "d.tif has values of type u64",
        ];
        fails(path, &both, &words);
    }
    let bytes = Tiff::of_bytes(2, &[1, 2, 3, 4]).tag(33550, Field::Doubles(vec![1.0, 1.0, 0.0]));
    bytes.tag(33922, Field::Doubles(vec![0.0, 0.0, 0.0, 8.0, 2.0, 0.0])).write(&at("f.tif"));
    let words = ["f.tif has values of type u8", "a.tif of type i64", "-ot Int64"];
    fails(path, &["build", "a.tif", "f.tif", "-o", "z.ccq"], &words);
}

#[test]
fn tiffs_of_any_depth_are_indexed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for bits in [1, 2, 4, 9, 12, 14, 16] {
        Tiff::new(4, &[0, 1, 1, 0], (bits, 1)).write(&path.join("r.tif"));
        assert_eq!(cells_found(path, &["r.tif"], &["--range", "1,2"]), 2, "{bits} bits");
    }
    // 0, 0.1 and 1 as floats of 16 bits.
    Tiff::new(3, &[0, 0x2e66, 0x3c00], (16, 3)).write(&path.join("r.tif"));
    assert_eq!(cells_found(path, &["r.tif"], &["--range", "0.05,2"]), 2);
}

#[test]
fn a_scale_is_noted_and_not_applied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    Tiff::of_bytes(2, &[0, 250]).write(&path.join("r.tif"));
    let beside =
        "<PAMDataset><PAMRasterBand band=\"1\"><Scale>0.1</Scale></PAMRasterBand></PAMDataset>";
    std::fs::write(path.join("r.tif.aux.xml"), beside).unwrap();
    for command in ["build", "plan"] {
        let report = succeeds(path, &[command, "r.tif"]);
        assert!(report.contains("r.tif") && report.contains("scale 0.1"), "{report}");
    }
    assert!(succeeds(path, &["info", "index.ccq"]).contains("0 to 250"));
}

#[test]
fn a_sample_is_made_where_there_is_no_raster() {
    let folder = tempfile::tempdir().unwrap();
    let build = ["build", "--sample-side", "100", "--quantiles", "8"];
    let report = succeeds(folder.path(), &build);
    assert!(report.contains("100 x 100 cells") && report.contains("index.ccq"), "{report}");
    // The same once more is no loss; another needs a word.
    succeeds(folder.path(), &build);
    fails(folder.path(), &[&build[..], &["--seed", "2"]].concat(), &["index.ccq", "--overwrite"]);
    let json = PROGRAM.json(folder.path(), &["info", "index.ccq"]);
    assert_eq!(json["tree"]["bins"].as_array().unwrap().len(), 7);
    assert_eq!(json["tree"]["width"], 100);
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let folder = folder_of_inputs();
    let path = folder.path();
    fails(path, &["build", "none.npy"], &["none.npy"]);
    fails(path, &["build", "text.tif"], &["text.tif"]);
    fails(path, &["build", "heights.npy", "--seed", "2"], &["--seed"]);
    fails(path, &["build", "heights.npy", "--array", "a"], &["--array belongs to an NPZ archive"]);
    fails(path, &["build", "heights.npy", "--sample-side", "9"], &["--sample-side"]);
    fails(path, &["build", "heights.npy", "-o", "h.tif"], &["must end in .ccq"]);
    fails(
        path,
        &["build", "heights.npy", "--bins", "3,2"],
        &["--bins: boundary 2, 2, is not above the previous one, 3"],
    );
    fails(path, &["build", "heights.npy", "--bins", "3", "--quantiles", "4"], &["--quantiles"]);
    fails(
        path,
        &["build", "heights.npy", "--quantiles", "300"],
        &["--quantiles 300: cells of i16", "300 bins", "256"],
    );
    fails(
        path,
        &["build", "long.npy", "--bins", "1,3,2.5"],
        &["boundary 3, 2.5", "previous one, 3"],
    );
    fails(path, &["info", "text.ccq"], &["text.ccq", "not a .ccq file"]);
    fails(path, &["info", "none.ccq"], &["none.ccq"]);
    succeeds(path, &["build", "heights.npy", "-o", "h.ccq"]);
    fails(path, &["build", "heights.npy", "-o", "h.ccq"], &["--overwrite"]);
    fails(path, &["query", "h.ccq", "--range", "5,1"], &["lower end 5 is above the upper end 1"]);
    fails(
        path,
        &["query", "h.ccq", "--window", "0,0,4,4"],
        &["--window 0,0,4,4", "h.ccq has 3 rows"],
    );
    fails(
        path,
        &["query", "h.ccq", "-o", "x.jpg"],
        &["must end in .geojson, .parquet, .csv, .npy or .png"],
    );
    fails(path, &["query", "h.ccq", "--raster", "long.npy"], &["long.npy"]);
    fails(path, &["query", "h.ccq", "--classes", "1,63"], &["63", "63 is above 62"]);
    succeeds(path, &["build", "heights.npy", "-o", "b.ccq", "--bins", "2"]);
    fails(path, &["query", "b.ccq", "--classes", "1"], &["--classes", "b.ccq", "bins"]);
    fails(path, &["query", "h.ccq", "--and", "h.ccq", "9,1"], &["--and h.ccq 9,1"]);
    fails(path, &["query", "h.ccq", "-o", "h.ccq"], &["h.ccq"]);
}

#[test]
fn rasters_of_files_are_read_as_they_are() {
    let folder = folder_of_inputs();
    let Raster { width, height, values, georeference, nodata, .. } =
        read_raster(&folder.path().join("rain.tif"), None).unwrap();
    assert_eq!((width, height, nodata), (4, 3, Some(1.into())));
    assert_eq!(georeference.unwrap().transform, [100.0, 2.0, 0.0, 50.0, 0.0, -2.0]);
    let ArrayData::F32(values) = values else { panic!("{values:?}") };
    assert_eq!(values[8], -4.5);
}

/// The land mask of the world, where it is.
#[test]
fn the_land_of_the_world_is_found() {
    let mask = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/land_mask_30s.npz");
    if !mask.exists() {
        println!("skipped: {} is not there", mask.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mask = mask.to_str().unwrap();
    let json = PROGRAM.json(folder.path(), &["build", mask, "--device", "cpu"]);
    let cells = json["tree"]["width"].as_u64().unwrap() * json["tree"]["height"].as_u64().unwrap();
    let count = |range: &str| {
        let json = PROGRAM.json(folder.path(), &["query", "index.ccq", "--range", range]);
        json["found"]["cells"].as_u64().unwrap()
    };
    let (land, sea) = (count("0,1"), count("1,2"));
    assert_eq!(land + sea, cells);
    let raster = read_raster(Path::new(mask), Some("mask")).unwrap();
    let ArrayData::Bool(values) = raster.values else { panic!("a mask of bits") };
    assert_eq!(values.iter().filter(|&&is_sea| is_sea).count() as u64, sea);
}

#[test]
fn version_completions_and_page_are_printed() {
    PROGRAM.prints_its_version_completions_and_page(tempfile::tempdir().unwrap().path());
}

#[test]
fn bad_numbers_are_refused_with_a_reason() {
    PROGRAM.refuses_numbers(&[
        ("build a.tif --quantiles -1", "-1 is below 1"),
        ("build --sample-side -1", "-1 is below 1"),
        ("build --seed -1", "-1 is below 0"),
        ("query a.ccq --classes -1", "-1 is below 0"),
        ("query a.ccq --classes 63", "63 is above 62"),
        ("query a.ccq --window -1,0,1,1", "-1 is below 0"),
        ("query a.ccq --window 0,0,1,4294967296", "4294967296 is above 4294967295"),
        ("query a.ccq --connectivity -4", "4 or 8"),
        ("run plan.json --tile -1", "-1 is below 0"),
    ]);
}
