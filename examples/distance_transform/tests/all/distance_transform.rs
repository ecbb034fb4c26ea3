//! The program `distance_transform` as its users meet it: exit codes, messages, files.

use std::path::Path;

use geo_io::{
    Array, ArrayData, Crs, Georeference, Mask, SiteValues, read_npy, write_georeferenced, write_npy,
};
use tempfile::TempDir;
use testing::files::png::{Colour, Png};
use testing::files::tiff::Tiff;

use crate::PROGRAM;

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    PROGRAM.succeeds(folder, arguments)
}

fn fails(folder: &Path, arguments: &[&str], words: &[&str]) {
    PROGRAM.fails(folder, arguments, words);
}

/// A row of six pixels with sites at both ends, and inputs that are wrong.
fn folder_of_inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_npy(&at("row.npy"), &[1u8, 0, 0, 0, 0, 9], 6, 1).unwrap();
    write_npy(&at("none.npy"), &[0u8; 6], 3, 2).unwrap();
    write_npy(&at("nothing.npy"), &[] as &[u8], 0, 0).unwrap();
    std::fs::write(at("empty.npy"), "").unwrap();
    std::fs::write(at("text.tif"), "this is not an image, whatever its name says").unwrap();
    std::fs::write(at("text.png"), "nor is this").unwrap();
    std::fs::write(at("mask.jpg"), "x").unwrap();
    folder
}

fn read_mask(path: &Path) -> Mask {
    geo_io::read_mask(path, &SiteValues::default()).unwrap()
}

fn floats(path: &Path) -> (Vec<usize>, Vec<f32>) {
    let Array { shape, data } = read_npy(path).unwrap();
    let ArrayData::F32(values) = data else { panic!("{data:?}") };
    (shape, values)
}

#[test]
fn distances_and_nearest_sites_are_written() {
    let folder = folder_of_inputs();
    let at = |name: &str| folder.path().join(name);
    for device in ["cpu", "software"] {
        let device = ["--overwrite", "--device", device];
        let write = ["row.npy", "-o", "d.npy", "--nearest", "n.npy"];
        let report = succeeds(folder.path(), &[&write[..], &device].concat());
        assert!(report.contains("6 x 1 pixels, 2 sites"), "{report}");
        assert_eq!(floats(&at("d.npy")), (vec![1, 6], vec![0.0, 1.0, 2.0, 2.0, 1.0, 0.0]));
        assert_eq!(read_npy(&at("n.npy")).unwrap().data, ArrayData::U32(vec![0, 0, 0, 5, 5, 5]));

        let inverted = ["row.npy", "-o", "d.npy", "--invert", "--spacing", "30,30"];
        succeeds(folder.path(), &[&inverted[..], &device].concat());
        assert_eq!(floats(&at("d.npy")).1, [30.0, 0.0, 0.0, 0.0, 0.0, 30.0]);

        let limited = ["row.npy", "-o", "d.npy", "--max-distance", "1"];
        let report = succeeds(folder.path(), &[&limited[..], &device].concat());
        assert!(report.contains("2 pixels without a site"), "{report}");
        let far = f32::INFINITY;
        assert_eq!(floats(&at("d.npy")).1, [0.0, 1.0, far, far, 1.0, 0.0]);
    }
}

#[test]
fn every_format_is_written_and_read_again() {
    let folder = folder_of_inputs();
    let all = ["row.npy", "-o", "d.tif", "-o", "d.npy", "-o", "d.png", "--device", "cpu"];
    succeeds(folder.path(), &all);
    assert_eq!(floats(&folder.path().join("d.npy")).1[2], 2.0);
    // The distances are zero at the sites alone: as a mask they are its complement.
    succeeds(folder.path(), &["d.tif", "--invert", "-o", "again.npy", "--device", "cpu"]);
    assert_eq!(floats(&folder.path().join("again.npy")).1, [0.0, 1.0, 2.0, 2.0, 1.0, 0.0]);
    // A picture in colours has not one value a pixel.
    fails(
        folder.path(),
        &["d.png", "-o", "e.npy"],
        &["d.png", "is coloured", "gdal_translate -b 1"],
    );
}

/// A mask's place and system reach the distances, which count in its pixels' sides where asked.
#[test]
fn a_georeference_is_carried() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let crs = Crs::parse("EPSG:26910").unwrap();
    let place =
        Georeference { transform: [5e5, 30.0, 0.0, 4.6e6, 0.0, -40.0], crs: Some(crs.clone()) };
    let mask = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    write_georeferenced(&at("mask.tif"), &place, (3, 2), &mask, -9999.0).unwrap();
    let run = |more: &[&str]| {
        let all = ["mask.tif", "-o", "d.tif", "-o", "d.npy", "--device", "cpu", "--overwrite"];
        let report = succeeds(folder.path(), &[&all[..], more].concat());
        assert!(report.contains("EPSG:26910"), "{report}");
        let found = read_mask(&at("d.tif")).georeference.unwrap();
        assert_eq!((found.transform, found.crs.unwrap().epsg()), (place.transform, crs.epsg()));
        floats(&at("d.npy")).1
    };
    assert_eq!(run(&["--spacing", "georeference"]), [0.0, 30.0, 60.0, 40.0, 50.0, 5200f32.sqrt()]);
    assert_eq!(run(&[])[..3], [0.0, 1.0, 2.0]);
    // Without a place: the sides given, from the corner on.
    write_npy(&at("row.npy"), &[1u8, 0, 0, 0], 2, 2).unwrap();
    succeeds(folder.path(), &["row.npy", "-o", "e.tif", "--spacing", "1,2", "--device", "cpu"]);
    let found = read_mask(&at("e.tif")).georeference.unwrap();
    assert_eq!((found.transform, found.crs), ([0.0, 1.0, 0.0, 4.0, 0.0, -2.0], None));
    // Pixels askew have no two sides.
    let askew = Georeference { transform: [0.0, 1.0, 0.5, 0.0, 0.0, -1.0], crs: None };
    write_georeferenced(&at("askew.tif"), &askew, (3, 2), &mask, -9999.0).unwrap();
    fails(folder.path(), &["askew.tif", "--spacing", "georeference"], &["askew", "right angles"]);
}

/// EPSG:2048 counts westings and southings, by the EPSG list.
#[test]
fn directions_are_refused_where_the_system_has_the_north_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let crs = Crs::parse("EPSG:2048").ok();
    let place = Georeference { transform: [5e5, 30.0, 0.0, 4e6, 0.0, -30.0], crs };
    let mask = [1.0, 0.0, 0.0, 0.0];
    write_georeferenced(&folder.path().join("m.tif"), &place, (2, 2), &mask, -1.0).unwrap();
    let words = ["--direction", "EPSG:2048", "x grows to the west and y to the south"];
    let run = ["m.tif", "-o", "d.tif", "--device", "cpu"];
    PROGRAM.fails(folder.path(), &[&run[..], &["--direction", "b.tif"]].concat(), &words);
    PROGRAM.succeeds(folder.path(), &run);
    PROGRAM.succeeds(folder.path(), &["plan", "m.tif", "--max-distance", "40", "--nearest"]);
    PROGRAM.succeeds(folder.path(), &["run", "plan.json", "--all", "--device", "cpu"]);
    let merge = ["merge", "plan.json", "-o", "t.tif", "--direction", "b.tif"];
    PROGRAM.fails(folder.path(), &merge, &words);
}

/// Directions are those of the raster's axes, coordinates those of its place, whatever device ran.
#[test]
fn directions_and_coordinates_of_nearest_sites_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let doubles = |name: &str| match read_npy(&at(name)).unwrap().data {
        ArrayData::F64(values) => values,
        other => panic!("{other:?}"),
    };
    let mask = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let north_up = [5e5, 30.0, 0.0, 4.6e6, 0.0, -40.0];
    let south_up = [5e5, 30.0, 0.0, 4.6e6, 0.0, 40.0];
    for device in ["cpu", "software"] {
        for (transform, below, y) in
            [(north_up, 360.0, 4.6e6 - 20.0), (south_up, 180.0, 4.6e6 + 20.0)]
        {
            let place = Georeference { transform, crs: Crs::parse("EPSG:26910").ok() };
            write_georeferenced(&at("mask.tif"), &place, (3, 2), &mask, -9999.0).unwrap();
            let line = ["mask.tif", "-o", "d.npy", "--direction", "b.tif"];
            let line = [&line[..], &["--nearest-x", "x.npy", "--nearest-y", "y.npy"]].concat();
            let more = ["--overwrite", "--device", device, "--spacing", "georeference"];
            let report = succeeds(folder.path(), &[&line[..], &more].concat());
            assert!(report.contains("b.tif") && report.contains("x.npy"), "{report}");
            let found = read_mask(&at("b.tif")).georeference.unwrap();
            assert_eq!(found.transform, place.transform);
            let again = ["mask.tif", "-o", "d.npy", "--direction", "b.npy"];
            succeeds(folder.path(), &[&again[..], &more].concat());
            let turned =
                270.0 + (below - 270.0) * f64::atan2(40.0, 30.0).to_degrees() as f32 / 90.0;
            let found = floats(&at("b.npy")).1;
            assert_eq!(found[..4], [0.0, 270.0, 270.0, below]);
            assert!((found[4] - turned).abs() < 1e-4, "{found:?}");
            assert_eq!(doubles("x.npy"), [5e5 + 15.0; 6]);
            assert_eq!(doubles("y.npy"), [y; 6]);
        }
    }
    // A pixel without a site within reach has no direction, and a raster without sites has none.
    write_npy(&at("row.npy"), &[1u8, 0, 0], 3, 1).unwrap();
    let line = ["row.npy", "-o", "d.npy", "--direction", "b.npy", "--nearest-x", "x.npy"];
    let more = ["--max-distance", "1", "--overwrite", "--device", "cpu"];
    succeeds(folder.path(), &[&line[..], &more].concat());
    let found = floats(&at("b.npy")).1;
    assert!(found[..2] == [0.0, 270.0] && found[2].is_nan(), "{found:?}");
    let found = doubles("x.npy");
    assert!(found[..2] == [0.5, 0.5] && found[2].is_nan(), "{found:?}");
}

#[test]
fn distances_in_degrees_are_said() {
    let folder = tempfile::tempdir().unwrap();
    for (system, spacing, is_said) in [
        ("EPSG:4326", "georeference", true),
        ("EPSG:4326", "1,1", false),
        ("EPSG:26910", "georeference", false),
    ] {
        let crs = Some(Crs::parse(system).unwrap());
        let place = Georeference { crs, ..Georeference::north_up((10.0, 60.0), (0.5, 0.5)) };
        let path = folder.path().join("mask.tif");
        write_georeferenced(&path, &place, (2, 1), &[1.0, 0.0], -9999.0).unwrap();
        let more = ["-o", "d.tif", "--device", "cpu", "--overwrite", "--spacing", spacing];
        let report = succeeds(folder.path(), &[&["mask.tif"][..], &more].concat());
        assert_eq!(report.contains("distances are in degrees"), is_said, "{system}: {report}");
    }
}

#[test]
fn without_a_site_everything_is_infinite() {
    let folder = folder_of_inputs();
    let report = succeeds(folder.path(), &["none.npy", "-o", "d.npy", "--device", "cpu"]);
    assert!(
        report.contains("0 sites") && report.contains("none: all 6 pixels lack a site"),
        "{report}"
    );
    assert_eq!(floats(&folder.path().join("d.npy")).1, [f32::INFINITY; 6]);
    succeeds(folder.path(), &["none.npy", "-o", "d.tif", "-o", "d.png", "--device", "cpu"]);
}

#[test]
fn sites_are_the_values_asked_for_and_never_those_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let place = Georeference::north_up((0.0, 1.0), (1.0, 1.0));
    let values = [f32::NAN, 1.0, 0.0, 5.0, f32::NAN, 6.0];
    for nodata in [-9999.0, 255.0, f32::NAN] {
        write_georeferenced(&at("mask.tif"), &place, (6, 1), &values, nodata).unwrap();
        for (more, expected) in [
            (&[][..], [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
            (&["--invert"], [2.0, 1.0, 0.0, 1.0, 2.0, 3.0]),
            (&["--values", "1,6-7"], [1.0, 0.0, 1.0, 2.0, 1.0, 0.0]),
            (&["--values", "0-5.5", "--invert"], [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]),
        ] {
            let base = ["mask.tif", "-o", "d.npy", "--device", "cpu", "--overwrite"];
            let report = succeeds(folder.path(), &[&base[..], more].concat());
            assert!(report.contains("2 pixels are NODATA"), "{report}");
            assert_eq!(floats(&at("d.npy")).1, expected, "{more:?} at NODATA {nodata}");
        }
    }
    fails(folder.path(), &["mask.tif", "--values", "7-4"], &["--values", "7-4", "1,4-7"]);
}

/// Ids above 2^53, decimals of float32, classes of a palette, blocks that are absent, NODATA beside the file.
#[test]
fn values_of_sites_are_those_that_the_file_has() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_npy(&at("ids.npy"), &[9007199254740992, 9007199254740993, u64::MAX], 3, 1).unwrap();
    write_npy(&at("tenths.npy"), &[0.1, 0.2, 0.3f32], 3, 1).unwrap();
    let palette = [[255, 0, 0], [128, 128, 0], [0, 255, 0], [0, 0, 255]];
    let classes = Png::new(3, &[1, 2, 3], Colour::Palette, 2).palette(&palette);
    classes.write(&at("classes.png"));
    Tiff::of_bytes(3, &[1; 6])
        .rows_per_strip(1)
        .without_block(0)
        .nodata("0")
        .write(&at("sparse.tif"));
    Tiff::of_bytes(3, &[200, 5, 0]).write(&at("beside.tif"));
    let beside = "<PAMDataset><PAMRasterBand band=\"1\"><NoDataValue>200</NoDataValue>\
        <Offset>5</Offset></PAMRasterBand></PAMDataset>";
    std::fs::write(at("beside.tif.aux.xml"), beside).unwrap();
    for (name, values, sites) in [
        ("ids.npy", "9007199254740993", 1),
        ("ids.npy", "9007199254740993-inf", 2),
        ("ids.npy", "18446744073709551615", 1),
        ("tenths.npy", "0.1", 1),
        ("tenths.npy", "0.1-0.3", 3),
        ("classes.png", "2", 1),
        ("classes.png", "1,3", 2),
        ("sparse.tif", "0", 0),
        ("sparse.tif", "1", 3),
        ("beside.tif", "1-255", 1),
    ] {
        let line = [name, "--values", values, "-o", "d.npy", "--overwrite", "--device", "cpu"];
        let report = succeeds(folder.path(), &line);
        assert!(report.contains(&format!(", {sites} sites")), "{name} {values}: {report}");
        assert_eq!(report.contains("offset 5"), name == "beside.tif", "{report}");
        if !name.ends_with("png") {
            let plan = ["plan", name, "--values", values, "--max-distance", "9", "--overwrite"];
            succeeds(folder.path(), &plan);
            succeeds(folder.path(), &["run", "plan.json", "--all", "--device", "cpu"]);
            succeeds(folder.path(), &["merge", "plan.json", "-o", "m.npy", "--overwrite"]);
            assert_eq!(floats(&at("m.npy")), floats(&at("d.npy")), "{name} {values}");
        }
    }
}

#[test]
fn bad_input_gets_one_line_and_leaves_nothing() {
    let folder = folder_of_inputs();
    let cases: [(&[&str], &[&str]); 24] = [
        (&[], &["MASK"]),
        (&["row.npy", "-o", "d.npy", "--cog"], &["--cog belongs to a GeoTIFF"]),
        (&["missing.npy"], &["missing.npy"]),
        (&["empty.npy"], &["empty.npy"]),
        (&["nothing.npy"], &["nothing.npy", "no pixels"]),
        (&["text.tif"], &["text.tif"]),
        (&["text.png"], &["text.png"]),
        (&["mask.jpg"], &["mask.jpg", ".npz"]),
        (&["row.npy", "-o", "d.jpg"], &["d.jpg", ".png"]),
        (&["row.npy", "-o", "nowhere/d.npy"], &["nowhere"]),
        (&["row.npy", "--nearest", "n.png"], &["--nearest", "n.png", ".npy"]),
        (&["row.npy", "-o", "d.npy", "-o", "d.npy"], &["d.npy", "same file"]),
        (&["row.npy", "--direction", "n.png"], &["--direction", "n.png", ".npy"]),
        (&["row.npy", "--nearest-x", "x.tif"], &["--nearest-x", "x.tif", ".npy"]),
        (&["row.npy", "--nearest-y", "distance.tif"], &["--nearest-y", ".npy"]),
        (&["row.npy", "--spacing", "0,1"], &["spacing", "0"]),
        (&["row.npy", "--spacing", "1"], &["two numbers"]),
        (&["row.npy", "--spacing", "1,1e-200"], &["--spacing 1,1e-200: pixels of 1 x 1e-200"]),
        (&["row.npy", "--geodesic", "--radius", "1e-200"], &["--radius", "from 1e-30 to 1e38"]),
        (&["row.npy", "--spacing", "georeference"], &["row.npy", "where it lies"]),
        (&["row.npy", "--max-distance", "-3"], &["--max-distance", "-3"]),
        (&["row.npy", "--max-distance", "nan"], &["--max-distance"]),
        (&["row.npy", "--compress", "zip"], &["zip", "deflate, zstd, lzw or none"]),
        (&["row.npy", "--device", "abacus"], &["abacus"]),
    ];
    for (arguments, words) in cases {
        fails(folder.path(), arguments, words);
    }
}

#[test]
fn version_completions_and_page_are_printed() {
    PROGRAM.prints_its_version_completions_and_page(tempfile::tempdir().unwrap().path());
}

#[test]
fn the_report_is_lines_or_an_object_or_nothing() {
    let folder = folder_of_inputs();
    let fields = ["raster", "distances", "device", "seconds"];
    let object = PROGRAM.reports(folder.path(), &["row.npy", "-o", "out.tif"], &fields);
    assert_eq!(object["written"], serde_json::json!(["out.tif"]));
}

#[test]
fn bad_numbers_are_refused_with_a_reason() {
    PROGRAM.refuses_numbers(&[
        ("a.tif --max-distance -1", "-1 is below 0"),
        ("a.tif --spacing -1,1", "\"-1\" is not a positive number"),
        ("a.tif --threads -1", "-1 is below 1"),
        ("plan a.tif --max-distance -1", "-1 is below 0"),
        ("run plan.json --tile -1", "-1 is below 0"),
    ]);
}
