//! `--above`: heights above a raster of the ground.

use std::fmt::Write;
use std::path::Path;

use geo_io::{Cells, Crs, Georeference, TiffOptions, read_raster, write_npy, write_tiff};
use gpu_core::GridSpec;

use crate::PROGRAM;
use crate::common::{are_named, are_same, bands, in_tiles, places};

const SIDE: usize = 40;
const BOUNDS: &str = "--bounds=0,0,40,40";

fn surface(x: f64, y: f64) -> f64 {
    130.0 + 0.5 * x - 0.25 * y
}

fn ground(x: f64, y: f64) -> f64 {
    100.0 + 0.125 * x + 0.0625 * y
}

fn write_points(folder: &Path) {
    let mut text = "x,y,z,w\n".to_owned();
    for [x, y] in places(4000, [50.0, 50.0], 17) {
        let (x, y) = (x - 5.0, y - 5.0);
        writeln!(text, "{x},{y},{},{x}", surface(x, y)).unwrap();
    }
    std::fs::write(folder.join("p.csv"), text).unwrap();
}

/// A ground whose cells are others than the result's, with a hole.
fn write_ground(folder: &Path, crs: Option<&str>) -> GridSpec {
    let grid = GridSpec::new(-1.3, 41.7, 0.8, 55, 60).unwrap();
    let mut values = Vec::new();
    for row in 0..grid.height {
        for column in 0..grid.width {
            let (x, y) = grid.cell_centre(column, row);
            let is_hole = (x - 12.0).hypot(y - 9.0) < 3.0;
            values.push(if is_hole { f32::NAN } else { ground(x, y) as f32 });
        }
    }
    let crs = crs.map(|text| Crs::parse(text).unwrap());
    let place = Georeference::of_grid(&grid, crs.as_ref());
    let cells = Cells::Values { values: &values, nodata: -1.0 };
    let options = TiffOptions::default();
    write_tiff(&folder.join("g.tif"), &place, (grid.width, grid.height), cells, &options).unwrap();
    grid
}

#[test]
fn the_ground_is_taken_off_between_its_centres() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_points(folder.path());
    write_ground(folder.path(), None);
    let common = ["p.csv", BOUNDS, "--above", "g.tif", "--value", "z,w"];
    for device in ["cpu", "software"] {
        let output = format!("{device}.tif");
        let run = [&common[..], &["-o", &output, "--device", device]].concat();
        let report = PROGRAM.succeeds(folder.path(), &run);
        assert!(report.contains("no ground") && report.contains("g.tif"), "{report}");
    }
    let bytes = |name: &str| std::fs::read(at(name)).unwrap();
    assert!(bytes("cpu.tif") == bytes("software.tif"));
    let (found, metadata) = bands(&at("cpu.tif"));
    assert!(are_named(&metadata, &["height", "w"]), "{metadata}");
    let mut holes = 0;
    for (cell, value) in found[0].iter().enumerate() {
        let (x, y) = ((cell % SIDE) as f64 + 0.5, (SIDE - 1 - cell / SIDE) as f64 + 0.5);
        let from_hole = (x - 12.0).hypot(y - 9.0);
        if from_hole < 3.0 + 2.0 {
            assert!(from_hole > 2.0 || *value == -9999.0, "{x} {y}: {value}");
            holes += usize::from(*value == -9999.0);
            continue;
        }
        let expected = surface(x, y) - ground(x, y);
        assert!((f64::from(*value) - expected).abs() < 1e-3, "{x} {y}: {value}");
        assert!((f64::from(found[1][cell]) - x).abs() < 1e-3);
    }
    assert!(holes > 20, "{holes}");
    // Ground that is not there has no height, but may be filled.
    let run = [&common[..], &["-o", "filled.tif", "--fill", "0", "--device", "cpu"]].concat();
    PROGRAM.succeeds(folder.path(), &run);
    let filled = bands(&at("filled.tif")).0.remove(0);
    let expected: Vec<f32> = found[0].iter().map(|&v| if v == -9999.0 { 0.0 } else { v }).collect();
    assert!(are_same(&filled, &expected));
}

/// One run and the plan say what the ground's file has that does not count.
#[test]
fn notes_on_the_raster_of_the_ground_are_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    write_ground(folder.path(), None);
    let text =
        "<PAMDataset><PAMRasterBand band=\"1\"><Scale>0.01</Scale></PAMRasterBand></PAMDataset>";
    std::fs::write(folder.path().join("g.tif.aux.xml"), text).unwrap();
    let base = ["p.csv", BOUNDS, "--resolution", "1", "--above", "g.tif"];
    for (start, end) in
        [(&[][..], &["-o", "a.tif", "--device", "cpu"][..]), (&["plan"], &["-o", "plan.json"])]
    {
        let report = PROGRAM.succeeds(folder.path(), &[start, &base, end].concat());
        let note = "--above g.tif: its scale 0.01 and offset 0 are not applied";
        assert!(report.contains(note), "{report}");
    }
}

#[test]
fn of_the_same_cells_the_difference_is_that_of_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_points(folder.path());
    for resolution in ["1", "0.3"] {
        let base = ["p.csv", BOUNDS, "--resolution", resolution, "--device", "cpu", "--overwrite"];
        PROGRAM.succeeds(folder.path(), &[&base[..], &["-o", "dem.tif"]].concat());
        let more = ["--above", "dem.tif", "-o", "above.tif"];
        PROGRAM.succeeds(folder.path(), &[&base[..], &more].concat());
        assert!(bands(&at("above.tif")).0[0].iter().all(|&height| height == 0.0), "{resolution}");
    }
}

/// Of whole numbers, of which one stands for no value.
#[test]
fn a_ground_of_bytes_is_taken_off_too() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    let bytes: Vec<u8> = (0..1600).map(|cell| if cell == 5 { 0 } else { 100 }).collect();
    let grid = GridSpec::new(0.0, 40.0, 1.0, 40, 40).unwrap();
    let place = Georeference::of_grid(&grid, None);
    let path = folder.path().join("b.tif");
    write_tiff(&path, &place, (40, 40), Cells::Grey(&bytes), &TiffOptions::default()).unwrap();
    let run = ["p.csv", BOUNDS, "--above", "b.tif", "-o", "a.tif", "--device", "cpu"];
    PROGRAM.succeeds(folder.path(), &run);
    let found = bands(&folder.path().join("a.tif")).0.remove(0);
    assert_eq!(found.iter().filter(|&&v| v == -9999.0).count(), 1);
    assert_eq!(found[5], -9999.0);
    assert!((f64::from(found[0]) - (surface(0.5, 39.5) - 100.0)).abs() < 1e-3, "{}", found[0]);
}

#[test]
fn tiles_are_the_whole_and_know_their_ground() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_points(folder.path());
    write_ground(folder.path(), None);
    let common = ["p.csv", BOUNDS, "--above", "g.tif", "--method", "pixels", "--dsm"];
    let whole = [&common[..], &["-o", "whole.tif", "--device", "cpu"]].concat();
    PROGRAM.succeeds(folder.path(), &whole);
    let plan = [&common[..], &["--tile-size", "16"]].concat();
    assert_eq!(in_tiles(folder.path(), &plan, "cpu", "tiles.tif"), 9);
    assert!(std::fs::read(at("whole.tif")).unwrap() == std::fs::read(at("tiles.tif")).unwrap());
    // The ground is an input, which no output replaces.
    let merge = ["merge", "plan.json", "-o", "g.tif", "--overwrite"];
    PROGRAM.fails(folder.path(), &merge, &["g.tif is the same file as the input"]);
    // Another ground is not the plan's.
    std::fs::write(at("g.tif"), "other").unwrap();
    let run = ["run", "plan.json", "--tile", "0", "--device", "cpu"];
    let errors = PROGRAM.errors(folder.path(), &run).concat();
    assert!(errors.contains("g.tif") && errors.contains("has changed"), "{errors}");
}

#[test]
fn values_that_are_no_heights_have_the_system_without_its_heights() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    let base = ["p.csv", BOUNDS, "--resolution", "1", "--crs", "EPSG:26910+5703", "--overwrite"];
    for (values, vertical) in [("w", None), ("z,w", Some(5703)), ("z", Some(5703))] {
        let more = ["--value", values, "-o", "v.tif", "--device", "cpu"];
        PROGRAM.succeeds(folder.path(), &[&base[..], &more].concat());
        let place = geo_io::read_place(&folder.path().join("v.tif")).unwrap();
        let crs = place.georeference.unwrap().crs.unwrap();
        assert_eq!((crs.epsg(), crs.vertical_epsg()), (Some(26910), vertical), "{values}");
    }
}

/// GDAL says that a slope is in the vertical system's unit.
#[test]
fn slopes_and_pictures_have_the_system_without_its_heights() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    let base = ["p.csv", BOUNDS, "--resolution", "1", "--crs", "EPSG:26910+6360"];
    let others = ["--slope", "s.tif", "--hillshade", "h.tif", "--relief", "r.tif", "-o", "z.tif"];
    PROGRAM.succeeds(folder.path(), &[&base[..], &others].concat());
    for (name, vertical) in
        [("z.tif", Some(6360)), ("s.tif", None), ("h.tif", None), ("r.tif", None)]
    {
        let place = geo_io::read_place(&folder.path().join(name)).unwrap();
        let crs = place.georeference.unwrap().crs.unwrap();
        assert_eq!((crs.epsg(), crs.vertical_epsg()), (Some(26910), vertical), "{name}");
        assert_eq!(crs.has_heights(), vertical.is_some(), "{name}");
    }
}

/// GDAL is the oracle, where it is installed: it takes a system with heights for a compound one.
#[test]
fn heights_above_a_ground_have_its_system_without_the_vertical_datum() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_points(folder.path());
    for (system, unit) in [("EPSG:26910+5703", None), ("EPSG:26910+8228", Some("foot"))] {
        write_ground(folder.path(), Some(system));
        let points = ["p.csv", BOUNDS, "--resolution", "1", "--crs", system];
        let common = [&points[..], &["--above", "g.tif"]].concat();
        let run = ["-o", "a.tif", "--slope", "s.tif", "--device", "cpu", "--overwrite"];
        PROGRAM.succeeds(folder.path(), &[&common[..], &run].concat());
        let plan = [&common[..], &["--tile-size", "16"]].concat();
        in_tiles(folder.path(), &plan, "cpu", "t.tif");
        for name in ["a.tif", "t.tif"] {
            let crs = read_raster(&at(name), None).unwrap().georeference.unwrap().crs.unwrap();
            assert_eq!((crs.epsg(), crs.vertical_epsg()), (Some(26910), None), "{name}");
            assert_eq!(crs.metres_per_height(), unit.map(|_| 0.3048), "{name}");
            match std::process::Command::new("gdalinfo").arg(at(name)).output() {
                Ok(about) => {
                    let about = String::from_utf8(about.stdout).unwrap();
                    assert!(about.contains("NAD83 / UTM zone 10N"), "{about}");
                    assert!(!about.contains("NAVD88"), "{about}");
                    assert_eq!(about.contains("COMPOUNDCRS"), unit.is_some(), "{about}");
                    let is_in_unit =
                        unit.is_some_and(|unit| about.contains(&format!("Unit Type: {unit}")));
                    assert_eq!(is_in_unit, unit.is_some(), "{about}");
                }
                Err(_) => println!("skipped: no gdalinfo"),
            }
        }
        // A cell is a metre, and heights may be feet.
        let slope = bands(&at("s.tif")).0[0][SIDE * SIDE / 2 + 30];
        let rise = (0.375_f64).hypot(0.3125) * unit.map_or(1.0, |_| 0.3048);
        assert!((f64::from(slope) - rise.atan().to_degrees()).abs() < 0.01, "{slope}");
        for file in ["plan.json", "t.tif"] {
            std::fs::remove_file(at(file)).unwrap();
        }
    }
}

#[test]
fn what_is_no_ground_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_points(folder.path());
    write_ground(folder.path(), Some("EPSG:26911"));
    std::fs::write(at("text.tif"), "no raster").unwrap();
    write_npy(&at("bare.npy"), &[1.0_f32; 4], 2, 2).unwrap();
    let turned = Georeference { transform: [0.0, 1.0, 0.2, 9.0, 0.2, -1.0], crs: None };
    let cells = Cells::Values { values: &[1.0; 4], nodata: -1.0 };
    write_tiff(&at("turned.tif"), &turned, (2, 2), cells, &TiffOptions::default()).unwrap();
    let far = Georeference { transform: [900.0, 1.0, 0.0, 9.0, 0.0, -1.0], crs: None };
    write_tiff(&at("far.tif"), &far, (2, 2), cells, &TiffOptions::default()).unwrap();
    let area = r#"{"type": "Polygon", "coordinates": [[[1, 2], [9, 9], [1, 9], [1, 2]]],
        "crs": {"type": "name", "properties": {"name": "EPSG:26910"}}}"#;
    std::fs::write(at("area.geojson"), area).unwrap();
    let cases: [(&[&str], &[&str]); 8] = [
        (
            // The points name no system.
            &["--above", "g.tif", "--within", "area.geojson"],
            &["--above g.tif is in EPSG:26911", "--within area.geojson is in EPSG:26910"],
        ),
        (
            &["--above", "far.tif", BOUNDS],
            &["--above far.tif: it lies in 900 7 to 902 9, and the result in 0 0 to 40 40"],
        ),
        (&["--above", "missing.tif"], &["--above", "missing.tif"]),
        (&["--above", "text.tif"], &["--above", "text.tif"]),
        (&["--above", "bare.npy"], &["--above bare.npy", "where it lies"]),
        (&["--above", "turned.tif"], &["--above turned.tif", "north"]),
        (
            &["--above", "g.tif", "--crs", "EPSG:26910"],
            &["--above g.tif", "EPSG:26911", "EPSG:26910"],
        ),
        (&["--above", "g.tif", "--value", "w"], &["--above g.tif", "--value"]),
    ];
    for (options, words) in cases {
        PROGRAM.fails(folder.path(), &[&["p.csv", "--device", "cpu"], options].concat(), words);
        PROGRAM.fails(folder.path(), &[&["plan", "p.csv"], options].concat(), words);
    }
    let run = ["p.csv", "--above", "g.tif", "-o", "g.tif", "--device", "cpu"];
    PROGRAM.fails(folder.path(), &run, &["same file", "g.tif"]);
}

#[test]
fn a_ground_that_says_more_or_less_than_the_points_is_noted_and_another_unit_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_points(folder.path());
    write_ground(folder.path(), Some("EPSG:26910+5703"));
    let base = ["p.csv", BOUNDS, "--resolution", "1", "--above", "g.tif", "--device", "cpu"];
    let base = [&base[..], &["--overwrite", "-o", "a.tif"]].concat();
    let said = PROGRAM.succeeds(folder.path(), &[&base[..], &["--crs", "EPSG:26910"]].concat());
    assert!(said.contains("g.tif: one of them states EPSG:5703 for heights"), "{said}");
    let said = PROGRAM.succeeds(folder.path(), &base);
    assert!(said.contains("g.tif: it is in EPSG:26910+5703, and the points name no"), "{said}");
    write_ground(folder.path(), Some("EPSG:26910"));
    let unit = "<PAMDataset><PAMRasterBand band=\"1\"><UnitType>ft</UnitType></PAMRasterBand></PAMDataset>";
    std::fs::write(folder.path().join("g.tif.aux.xml"), unit).unwrap();
    let words = ["--above g.tif", "0.3048 m", "1 m"];
    PROGRAM.fails(folder.path(), &[&base[..], &["--crs", "EPSG:26910+5703"]].concat(), &words);
    // Heights without a unit of their own are in that of the ground.
    PROGRAM.fails(folder.path(), &[&base[..], &["--crs", "EPSG:26910"]].concat(), &words);
    write_ground(folder.path(), Some("EPSG:2263"));
    let feet = [&base[..], &["--crs", "EPSG:2263"]].concat();
    PROGRAM.succeeds(folder.path(), &feet);
    let metres = unit.replace(">ft<", ">m<");
    std::fs::write(folder.path().join("g.tif.aux.xml"), metres).unwrap();
    PROGRAM.fails(folder.path(), &feet, &["--above g.tif", "heights is 1 m", "points' 0.3048"]);
}
