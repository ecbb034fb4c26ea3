//! The program `raster_index` as its users meet it: exit codes, messages, files.

use std::path::Path;

use geo_io::{
    Array, ArrayData, Cells, Georeference, Raster, TiffOptions, read_npy, read_raster, write_npy,
    write_tiff,
};
use tempfile::TempDir;

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
    write_npy(&at("long.npy"), &[1i64; 4], 2, 2).unwrap();
    std::fs::write(at("text.ccq"), "this is no index").unwrap();
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
            ["row,col,size,min,max", "0,0,2,1,1", "0,2,1,5,5", "2,1,1,2,2", "2,2,2,2,2"]
        );
        let text = std::fs::read_to_string(at("q.geojson")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let ring = &json["features"][3]["geometry"]["coordinates"][0];
        // The raster has three rows: of the last quadrant one is there.
        assert_eq!(ring.to_string(), "[[2.0,0.0],[4.0,0.0],[4.0,1.0],[2.0,1.0],[2.0,0.0]]");
        assert_eq!(json["features"][3]["properties"]["size"], 2.0);
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
    assert!(report.contains("--raster says"), "{report}");
    let exact = succeeds(folder.path(), &[&cut[..], &["--raster", "heights.npy"]].concat());
    assert!(exact.contains("2 cells"), "{exact}");
    fails(folder.path(), &[&cut[..], &["-o", "x.npy"]].concat(), &["only the raster says"]);
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
    assert_eq!(rows, ["row,col,size,min,max", "1,0,1,5,5", "0,2,1,3,3", "0,3,1,4,4"]);
    let twice = ["build", "east.tif", "east.tif", "-o", "x.ccq"];
    let place = "east.tif has cells in the place of some of east.tif";
    fails(path, &twice, &[place]);
    let both = ["build", "east.tif", "rain.tif", "--nodata", "-1", "-o", "x.ccq"];
    fails(path, &both, &["rain.tif has cells in the place of some of east.tif"]);
    let both = ["build", "east.tif", "heights.npy", "-o", "x.ccq"];
    fails(path, &both, &["heights.npy", "east.tif"]);
}

#[test]
fn a_raster_keeps_its_place_or_a_note_says_that_it_has_none() {
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
            let report = succeeds(path, &[command, name, "-o", out, "--overwrite"]);
            assert!(report.contains(&format!("note        {name}")), "{report}");
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
fn a_sample_is_made_where_there_is_no_raster() {
    let folder = tempfile::tempdir().unwrap();
    let build = ["build", "--sample-side", "100", "--quantiles", "8"];
    let report = succeeds(folder.path(), &build);
    assert!(report.contains("100 x 100 cells") && report.contains("index.ccq"), "{report}");
    // The same once more is no loss; another needs a word.
    succeeds(folder.path(), &build);
    fails(folder.path(), &[&build[..], &["--seed", "2"]].concat(), &["index.ccq", "--overwrite"]);
    let json = succeeds(folder.path(), &["info", "index.ccq", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tree"]["bins"].as_array().unwrap().len(), 7);
    assert_eq!(json["tree"]["width"], 100);
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let folder = folder_of_inputs();
    let path = folder.path();
    fails(path, &["build", "none.npy"], &["none.npy"]);
    fails(path, &["build", "text.tif"], &["text.tif"]);
    fails(path, &["build", "long.npy"], &["i64"]);
    fails(path, &["build", "heights.npy", "-o", "h.tif"], &["must end in .ccq"]);
    fails(path, &["build", "heights.npy", "--bins", "3,2"], &["boundary 1", "2"]);
    fails(path, &["build", "heights.npy", "--bins", "3", "--quantiles", "4"], &["--quantiles"]);
    fails(path, &["build", "heights.npy", "--quantiles", "300"], &["300 bins"]);
    fails(path, &["info", "text.ccq"], &["text.ccq", "not a .ccq file"]);
    fails(path, &["info", "none.ccq"], &["none.ccq"]);
    succeeds(path, &["build", "heights.npy", "-o", "h.ccq"]);
    fails(path, &["build", "heights.npy", "-o", "h.ccq"], &["--overwrite"]);
    fails(path, &["query", "h.ccq", "--range", "5,1"], &["5 is above 1"]);
    fails(path, &["query", "h.ccq", "--window", "0,0,4,4"], &["window", "3 rows"]);
    fails(path, &["query", "h.ccq", "-o", "x.jpg"], &["must end in .geojson, .csv, .npy or .png"]);
    fails(path, &["query", "h.ccq", "--raster", "long.npy"], &["long.npy"]);
    fails(path, &["query", "h.ccq", "--and", "h.ccq", "9,1"], &["--and h.ccq 9,1"]);
    fails(path, &["query", "h.ccq", "-o", "h.ccq"], &["h.ccq"]);
}

#[test]
fn rasters_of_files_are_read_as_they_are() {
    let folder = folder_of_inputs();
    let Raster { width, height, values, georeference, nodata } =
        read_raster(&folder.path().join("rain.tif"), None).unwrap();
    assert_eq!((width, height, nodata), (4, 3, Some(1.0)));
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
    let report = succeeds(folder.path(), &["build", mask, "--device", "cpu", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&report).unwrap();
    let cells = json["tree"]["width"].as_u64().unwrap() * json["tree"]["height"].as_u64().unwrap();
    let count = |range: &str| {
        let report = succeeds(folder.path(), &["query", "index.ccq", "--range", range, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&report).unwrap();
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
