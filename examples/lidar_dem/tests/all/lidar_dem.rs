//! The program `lidar_dem` as its users meet it: exit codes, messages, files.

use std::path::Path;
use std::process::Command;

use geo_io::{Crs, LasPoints, write_las};
use serde_json::Value;
use tempfile::TempDir;
use testing::program::{files, json_of};

use crate::PROGRAM;

const PLANE: &str = "x,y,z\n0.5,0.5,1\n9.5,0.5,1\n0.5,9.5,4\n9.5,9.5,4\n5.5,5.5,2.5\n";

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    PROGRAM.succeeds(folder, arguments)
}

fn fails(folder: &Path, arguments: &[&str], words: &[&str]) {
    PROGRAM.fails(folder, arguments, words);
}

fn write_laz(path: &Path, heights: &[f64], crs: &str) {
    let n = heights.len();
    let across: Vec<f64> = (0..n).map(|i| 500_000.0 + i as f64).collect();
    let ones = vec![1; n];
    let points = LasPoints {
        x: &across,
        y: &across,
        z: heights,
        class: &vec![2; n],
        return_number: &ones,
        number_of_returns: &ones,
    };
    write_las(path, &points, Some(&Crs::parse(crs).unwrap())).unwrap();
}

/// A folder with one file of each kind, good and bad.
fn folder_of_inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("plane.csv"), PLANE).unwrap();
    std::fs::write(at("nan.csv"), "x,y,z\n1,1,1\n2,NaN,3\n").unwrap();
    std::fs::write(at("header.csv"), "x,y,z\n").unwrap();
    std::fs::write(at("empty.csv"), "").unwrap();
    std::fs::write(at("empty.laz"), "").unwrap();
    std::fs::write(at("text.laz"), "this is not a point file, whatever its name says\n").unwrap();
    std::fs::write(at("points.ply"), "1 2 3\n").unwrap();
    write_laz(&at("none.laz"), &[], "EPSG:26910");
    let heights: Vec<f64> = (0..20_000).map(|i| f64::from(i % 97)).collect();
    write_laz(&at("west.laz"), &heights, "EPSG:26910");
    write_laz(&at("east.laz"), &heights[..50], "EPSG:26911");
    let whole = std::fs::read(at("west.laz")).unwrap();
    for (name, keep) in [("half.laz", whole.len() / 2), ("head.laz", 300), ("short.laz", 100)] {
        std::fs::write(at(name), &whole[..keep]).unwrap();
    }
    folder
}

/// Points in space are not on a map, unless somebody knows better.
#[test]
fn geocentric_points_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let keys = geo_io::GeoKeys {
        directory: vec![1, 1, 0, 2, 1024, 0, 1, 3, 2048, 0, 1, 4978],
        ..Default::default()
    };
    let crs = Crs::from_geokeys(keys).unwrap();
    let across: Vec<f64> = (0..50).map(|i| 1000.0 + f64::from(i)).collect();
    let points = LasPoints { x: &across, y: &across, z: &across, ..Default::default() };
    write_las(&folder.join("space.laz"), &points, crs.as_ref()).unwrap();
    let words = ["space.laz", "EPSG:4978", "geocentric", "--crs"];
    fails(folder, &["space.laz", "--device", "cpu"], &words);
    fails(folder, &["plan", "space.laz"], &words);
    succeeds(folder, &["space.laz", "--device", "cpu", "--crs", "EPSG:32633"]);
    succeeds(folder, &["plan", "space.laz", "--crs", "EPSG:32633"]);
}

#[test]
fn bad_files_get_one_line_and_leave_nothing() {
    let folder = folder_of_inputs();
    let cases: [(&[&str], &[&str]); 13] = [
        (&["missing.laz"], &["missing.laz"]),
        (&["missing.csv"], &["missing.csv"]),
        (&["empty.laz"], &["empty.laz", "empty"]),
        (&["empty.csv"], &["empty.csv"]),
        (&["header.csv"], &["no points"]),
        (&["none.laz"], &["no points"]),
        (&["half.laz"], &["half.laz"]),
        (&["head.laz"], &["head.laz"]),
        (&["short.laz"], &["short.laz"]),
        (&["text.laz"], &["text.laz"]),
        (&["points.ply"], &["points.ply", ".laz"]),
        (&["nan.csv"], &["nan.csv", "row 2", "NaN"]),
        (&["plane.csv", "--columns", "x,y,height"], &["height", "x, y, z", "--columns"]),
    ];
    for (input, words) in cases {
        fails(folder.path(), &[input, &["--device", "cpu"]].concat(), words);
    }
    fails(folder.path(), &["west.laz", "east.laz"], &["EPSG:26910", "EPSG:26911", "west", "east"]);
    fails(folder.path(), &["west.laz", "plane.csv"], &["EPSG:26910", "plane.csv"]);
}

#[test]
fn bad_options_get_one_line_and_leave_nothing() {
    let folder = folder_of_inputs();
    let cases: [(&[&str], &[&str]); 39] = [
        (&["--resolution", "0"], &["resolution", "0"]),
        (&["--resolution", "-1"], &["resolution", "-1"]),
        (&["--resolution", "nan"], &["resolution"]),
        (&["--resolution", "fine"], &["resolution", "fine"]),
        (
            &["--resolution", "1e-5"],
            &[
                "--resolution 0.00001: ",
                "need",
                "GiB",
                "available; give a larger --resolution",
                "(lidar_dem plan)",
            ],
        ),
        (
            &["--resolution", "1e-12"],
            &["--resolution 1e-12", "cells are too many; give a larger --resolution", "--bounds"],
        ),
        (&["--site-radius", "4"], &["--site-radius 4", "no longer has", "--max-distance 4"]),
        (&["--query-radius", "3"], &["--query-radius 3", "--method pixels", "--max-distance"]),
        (&["--region-of-influence", "9"], &["--region-of-influence 9", "--method pixels"]),
        (&["--region-of-influence", "0", "--method", "pixels"], &["--region-of-influence", "0"]),
        (&["--query-radius", "nan"], &["query-radius"]),
        (&["--supersample", "9"], &["supersample", "9"]),
        (&["--classes", "256"], &["256"]),
        (&["--classes", "ground"], &["ground"]),
        (&["--returns", "second"], &["second"]),
        (&["--duplicates", "median"], &["median"]),
        (&["--bounds", "0,0,1"], &["bounds"]),
        (&["--bounds", "-999,-999,-998,-998"], &["--bounds"]),
        (&["--crs", "EPSG:1"], &["EPSG:1"]),
        (&["--crs", "UTM 10"], &["UTM 10"]),
        (&["--nodata", "none"], &["none"]),
        (&["-o", "nowhere/dem.tif"], &["nowhere", "does not exist"]),
        (&["-o", "dem.jpg"], &["dem.jpg", ".tif"]),
        (&["--hillshade", "nowhere/dem.png"], &["nowhere"]),
        (&["--hillshade", "dem.jpg"], &[".png", ".tif"]),
        (&["--slope", "slope.png"], &["--slope", ".tif"]),
        (&["--contours", "lines.shp"], &["--contours", ".geojson"]),
        (&["--triangles", "mesh.stl"], &["--triangles", ".ply"]),
        (&["--contours", "l.json", "--contour-interval", "0"], &["contour-interval", "0"]),
        (&["--weights", "cubic"], &["cubic", "laplace", "linear"]),
        (&["--weights", "linear", "--method", "pixels"], &["--weights linear", "exact"]),
        (
            &["--weights", "laplace", "--method", "pixels", "--query-radius", "3"],
            &["--query-radius inf"],
        ),
        (&["--method", "raster"], &["raster", "exact or pixels"]),
        (&["--max-distance", "-1"], &["--max-distance", "0 or more", "-1"]),
        (&["--max-distance=-1e300"], &["--max-distance", "0 or more; got -1e300"]),
        (&["--query-radius", "1e-300"], &["--query-radius 1e-300 belongs", "--method pixels"]),
        (&["--device", "gpu"], &["gpu"]),
        (&["--device", "cuda:4096"], &[]),
        (&["--res", "1"], &["--res", "tip", "--resolution"]),
    ];
    for (options, words) in cases {
        let device: &[&str] = if options[0] == "--device" { &[] } else { &["--device", "cpu"] };
        fails(folder.path(), &[&["plane.csv"], options, device].concat(), words);
    }
    fails(folder.path(), &["west.laz", "--classes", "9", "--device", "cpu"], &["class", "9"]);
    fails(folder.path(), &["plane.csv", "--nodata", "4", "--device", "cpu"], &["by --nodata"]);
}

#[test]
fn errors_of_points_name_their_file_and_row() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.csv", "x,y,z,w\n0,0,1,5\n4,0,2,5\n0,4,3,5\n");
    write("b.csv", "x,y,z,w\n1,1,2,5\n2,2,1e39,1e40\n");
    write("none.csv", "x,y,z\n");
    let beyond = ["b.csv: row 2", "1e39", "f32"];
    fails(folder.path(), &["a.csv", "b.csv", "-o", "d.npy", "--device", "cpu"], &beyond);
    let further = ["a.csv", "b.csv", "--value", "w", "-o", "d.npy", "--device", "cpu"];
    fails(folder.path(), &further, &["b.csv: row 2", "1e40"]);
    fails(folder.path(), &["none.csv", "--device", "cpu"], &["none.csv has no points"]);
}

#[test]
fn a_table_becomes_a_grid_of_its_heights() {
    let folder = folder_of_inputs();
    let arguments = ["plane.csv", "-o", "dem.npy", "--device", "cpu"];
    let report = succeeds(folder.path(), &arguments);
    for words in ["5 points read, 5 kept", "10 x 10 cells of 1", "1.00 to 4.00", "dem.npy"] {
        assert!(report.contains(words), "no {words:?} in {report}");
    }
    let values = floats_of_npy(&folder.path().join("dem.npy"));
    assert_eq!(values.len(), 100);
    assert_eq!((values[0], values[9], values[90], values[99]), (4.0, 4.0, 1.0, 1.0));
}

#[test]
fn contours_keep_the_vertical_system_or_a_note_says_that_they_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String =
        (0..100).map(|i| format!("{},{},{}\n", i % 10, i / 10, f64::from(i % 10) / 4.0)).collect();
    std::fs::write(folder.path().join("p.csv"), format!("x,y,z\n{rows}")).unwrap();
    for name in ["lines.geojson", "lines.fgb"] {
        for (crs, is_noted) in [("EPSG:26910", false), ("EPSG:26910+5703", true)] {
            let run = ["p.csv", "--crs", crs, "-o", "d.tif", "--contours", name, "--overwrite"];
            let report = succeeds(folder.path(), &[&run[..], &["--device", "cpu"]].concat());
            let note = format!("{name} names its horizontal system only: its elevations are in");
            let is_kept = name == "lines.geojson";
            assert_eq!(report.contains(&note), is_noted && !is_kept, "{report}");
            if is_kept {
                let features = geo_io::read_features(&folder.path().join(name)).unwrap();
                assert_eq!(features.crs.unwrap().to_string(), crs);
            }
            let dem = geo_io::read_raster(&folder.path().join("d.tif"), None).unwrap();
            let found = dem.georeference.unwrap().crs.unwrap();
            assert_eq!(found.vertical_epsg(), is_noted.then_some(5703));
        }
    }
}

#[test]
fn triangles_are_written_in_the_coordinates_of_the_points() {
    let folder = tempfile::tempdir().unwrap();
    // A square and its middle, which two points share.
    let rows = "5e5,54e5,1.1\n500010,54e5,2\n500010,5400010,3\n5e5,5400010,4\n500005,5400005,5\n500005,5400005,8\n";
    std::fs::write(folder.path().join("p.csv"), format!("x,y,z\n{rows}")).unwrap();
    for (name, policy, height) in [("m.obj", "mean", 6.5), ("n.obj", "max", 8.0)] {
        let run =
            ["p.csv", "-o", "d.npy", "--overwrite", "--triangles", name, "--duplicates", policy];
        let report = succeeds(folder.path(), &[&run[..], &["--device", "cpu"]].concat());
        assert!(report.contains("4 of 5 places"), "{report}");
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(text.contains(&format!("v 500005 5400005 {height}\n")), "{text}");
        // Heights have the digits of the file, which those that are interpolated need not.
        assert!(text.contains("v 500000 5400000 1.1\n"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("f ")).count(), 4);
    }
}

#[test]
fn slope_and_contours_are_written_beside_the_dem() {
    let folder = folder_of_inputs();
    let arguments = ["plane.csv", "-o", "dem.npy", "--device", "cpu"];
    let more = ["--slope", "slope.npy", "--contours", "lines.geojson", "--contour-interval", "0.5"];
    let report = succeeds(folder.path(), &[&arguments[..], &more].concat());
    for words in ["slope.npy", "lines.geojson", "one every 0.5"] {
        assert!(report.contains(words), "no {words:?} in {report}");
    }
    let slopes = floats_of_npy(&folder.path().join("slope.npy"));
    assert!(slopes[0].is_nan() && slopes[55] > 1.0 && slopes[55] < 89.0, "{}", slopes[55]);
    let lines = json_of(&folder.path().join("lines.geojson"));
    let features = lines["features"].as_array().unwrap();
    assert!(!features.is_empty());
    for feature in features {
        let elevation = feature["properties"]["elevation"].as_f64().unwrap();
        assert!((1.0..=4.0).contains(&elevation) && (elevation * 2.0).fract() == 0.0);
        assert_eq!(feature["geometry"]["type"], "LineString");
    }
}

#[test]
fn cells_outside_the_points_are_left_out_or_filled() {
    let folder = folder_of_inputs();
    let bounds = ["--bounds", "-5,-5,15,15"];
    let base =
        [&["plane.csv", "-o", "dem.npy", "--device", "cpu", "--overwrite"][..], &bounds].concat();
    let known_within = |distance: &str, more: &[&str]| {
        let report =
            succeeds(folder.path(), &[&base[..], &["--max-distance", distance], more].concat());
        let values = floats_of_npy(&folder.path().join("dem.npy"));
        assert_eq!(values.len(), 400);
        let count = values.iter().filter(|v| !v.is_nan()).count();
        let is_said = report.contains(&format!("{} cells, ", 400 - count));
        assert_eq!(is_said, count < 400, "{report}");
        (count, report)
    };
    let known = |more: &[&str]| known_within("inf", more).0;
    assert_eq!(known(&[]), 400);
    assert_eq!(known(&["--hull"]), 100);
    assert_eq!(known(&["--weights", "laplace"]), 400);
    assert_eq!(known(&["--weights", "c1", "--hull"]), 100);
    let (near, report) = known_within("2", &[]);
    assert!(near > 20 && near < 100, "{near}");
    assert!(report.contains("farther than 2 cells from every point"), "{report}");
}

#[test]
fn bounds_are_the_extent() {
    let folder = folder_of_inputs();
    let bounds = ["--bounds", "0,0,20,5", "-o", "dem.npy", "--device", "cpu"];
    let report = succeeds(folder.path(), &[&["plane.csv"][..], &bounds].concat());
    assert!(report.contains("20 x 5 cells of 1"), "{report}");
    assert!(report.contains("5 points; 0 merged into a shared place, 3 outside"), "{report}");
}

#[test]
fn the_first_command_leaves_a_picture_and_repeats() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [&a, &b] {
        let report = succeeds(folder.path(), &["--survey-points", "30000", "--device", "cpu"]);
        for name in ["survey.laz", "dem.tif", "dem.png", "EPSG:26910", "NODATA"] {
            assert!(report.contains(name), "no {name} in {report}");
        }
        let names: Vec<_> = files(folder.path());
        assert_eq!(names.len(), 3, "{names:?}");
    }
    for name in ["dem.tif", "dem.png"] {
        let read = |folder: &TempDir| std::fs::read(folder.path().join(name)).unwrap();
        assert!(read(&a) == read(&b), "{name} differs between two runs");
    }
}

#[test]
fn the_software_device_and_the_cpu_give_the_same_file() {
    if cfg!(not(feature = "cuda")) {
        println!("skipped: built without the feature cuda");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for device in ["cpu", "software"] {
        let output = format!("{device}.npy");
        let arguments = ["--survey-points", "4000", "--device", device, "-o", &output];
        succeeds(folder.path(), &arguments);
    }
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("cpu.npy") == read("software.npy"));
}

#[test]
fn gdal_reads_back_what_was_written() {
    let autzen = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/autzen.laz"));
    if !autzen.is_file() {
        println!("skipped: {} is not there", autzen.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    if Command::new("gdalinfo").arg("--version").output().is_err() {
        println!("skipped: gdalinfo is not on the PATH");
        return;
    }
    let options = ["--classes", "2", "--resolution", "5", "--device", "cpu", "-o"];
    for name in ["dem.tif", "dem.npy"] {
        let input = [autzen.to_str().unwrap()];
        succeeds(folder.path(), &[&input[..], &options, &[name]].concat());
    }

    let info: Value = serde_json::from_str(&gdal(folder.path(), "gdalinfo", &["-json", "dem.tif"]))
        .expect("gdalinfo prints JSON");
    let wkt = info["coordinateSystem"]["wkt"].as_str().expect("a coordinate system");
    assert!(wkt.contains("Lambert Conic Conformal") && wkt.contains("NAD"), "{wkt}");
    assert_eq!(info["bands"][0]["noDataValue"], -9999.0);
    assert_eq!(info["bands"][0]["type"], "Float32");
    let numbers: Vec<f64> =
        info["geoTransform"].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
    assert_eq!((numbers[1], numbers[5]), (5.0, -5.0));
    assert_eq!((numbers[0] % 5.0, numbers[3] % 5.0), (0.0, 0.0), "edges are on the grid");

    // The same values, in ENVI's raw floats.
    gdal(folder.path(), "gdal_translate", &["-q", "-of", "ENVI", "dem.tif", "dem.raw"]);
    let raw = std::fs::read(folder.path().join("dem.raw")).unwrap();
    let (chunks, rest) = raw.as_chunks::<4>();
    assert!(rest.is_empty());
    let from_tiff: Vec<f32> = chunks.iter().map(|c| f32::from_ne_bytes(*c)).collect();
    let from_npy = floats_of_npy(&folder.path().join("dem.npy"));
    assert_eq!(
        info["size"][0].as_u64().unwrap() * info["size"][1].as_u64().unwrap(),
        from_npy.len() as u64
    );
    assert_eq!(from_tiff.len(), from_npy.len());
    let expected = from_npy.iter().map(|v| if v.is_nan() { -9999.0 } else { *v });
    assert!(from_tiff.iter().copied().eq(expected), "the values differ");
    let heights = from_npy.iter().filter(|v| !v.is_nan()).count();
    assert!(heights > from_npy.len() / 2, "only {heights} heights");
}

fn gdal(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).current_dir(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The values of an NPY file of little-endian f32.
fn floats_of_npy(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(&bytes[..6], b"\x93NUMPY");
    let header_end = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
    let header = String::from_utf8_lossy(&bytes[10..header_end]);
    assert!(header.contains("<f4"), "{header}");
    bytes[header_end..].as_chunks::<4>().0.iter().map(|c| f32::from_le_bytes(*c)).collect()
}

/// The DEM of a part is that part of the DEM, to the last bit: points outside the bounds count as far as
/// they reach.
#[test]
fn tiles_have_no_seams() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = ["--device", "cpu", "--overwrite"];
    let survey = ["--survey-points", "60000", "-o", "all.npy"];
    succeeds(folder.path(), &[&survey[..], &cpu].concat());
    // The landscape's south-west corner, and rectangles from it.
    let (x, y) = (560_000, 5_120_000);
    let dem = |west: i32, south: i32, east: i32, north: i32, more: &[&str]| {
        let bounds = format!("--bounds={},{},{},{}", x + west, y + south, x + east, y + north);
        let base = ["survey.laz", "--classes", "2", "-o", "part.npy", &bounds];
        succeeds(folder.path(), &[&base[..], &cpu, more].concat());
        let values = floats_of_npy(&folder.path().join("part.npy"));
        assert_eq!(values.len(), ((east - west) * (north - south)) as usize);
        values
    };
    let same =
        |a: &[f32], b: &[f32]| a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()));
    let pixels = ["--method", "pixels"];
    let (near, narrow) = (["--max-distance", "4"], ["--max-distance", "4", "--query-radius", "6"]);
    for more in [
        &[][..],
        &near,
        &pixels,
        &[&pixels[..], &["--supersample", "2"]].concat(),
        &[&pixels[..], &narrow, &["--supersample", "3"]].concat(),
    ] {
        let whole = dem(0, 0, 240, 240, more);
        assert!(whole.iter().filter(|v| !v.is_nan()).count() > whole.len() / 2);
        let rows: Vec<&[f32]> = whole.chunks_exact(240).collect();
        for (west, south, east, north) in
            [(0, 0, 120, 240), (120, 0, 240, 240), (0, 0, 240, 101), (77, 60, 131, 90)]
        {
            let part = dem(west, south, east, north, more);
            let expected: Vec<f32> = rows[(240 - north) as usize..(240 - south) as usize]
                .iter()
                .flat_map(|row| &row[west as usize..east as usize])
                .copied()
                .collect();
            assert!(same(&part, &expected), "{more:?}: {west} {south} {east} {north}");
        }
    }
    // Farther points are left out while reading, and counted.
    let bounds = format!("--bounds={x},{y},{},{}", x + 50, y + 50);
    let report =
        succeeds(folder.path(), &[&["survey.laz", "-o", "p.npy", &bounds][..], &cpu].concat());
    assert!(report.contains("dropped out of reach of --bounds"), "{report}");
}

/// A plane that rises by one metre for each metre to the north, in the units of a coordinate system.
fn slope_of_plane(
    crs: &str,
    origin: (f64, f64),
    step: (f64, f64),
    rise: f64,
    more: &[&str],
) -> f32 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plane.laz");
    let at = |i: usize| (i % 40, i / 40);
    let x: Vec<f64> = (0..1600).map(|i| origin.0 + (at(i).0 as f64 + 0.5) * step.0).collect();
    let y: Vec<f64> = (0..1600).map(|i| origin.1 + (at(i).1 as f64 + 0.5) * step.1).collect();
    let z: Vec<f64> = (0..1600).map(|i| at(i).1 as f64 * rise).collect();
    let points = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
    write_las(&path, &points, Some(&Crs::parse(crs).unwrap())).unwrap();
    let resolution = step.0.max(step.1).to_string();
    let base = ["plane.laz", "-o", "dem.tif", "--slope", "slope.npy", "--device", "cpu"];
    let more = [&["--resolution", &resolution][..], more].concat();
    succeeds(folder.path(), &[&base[..], &more].concat());
    let values = floats_of_npy(&folder.path().join("slope.npy"));
    let known: Vec<f32> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    assert!(known.len() > values.len() / 2);
    known.iter().sum::<f32>() / known.len() as f32
}

#[test]
fn slopes_know_the_units_of_ground_and_heights() {
    let degree = 111_415.0;
    let feet = 0.3048;
    for (crs, origin, step, rise, more, expected) in [
        ("EPSG:26910", (5e5, 4e6), 1.0, 1.0, &[][..], 45.0),
        // At 60 degrees north a degree of latitude has 111,415 m.
        ("EPSG:4326", (10.0, 60.0), 1e-4, degree * 1e-4, &[], 45.0),
        ("EPSG:4326+8228", (10.0, 60.0), 1e-4, degree * 1e-4 / feet, &[], 45.0),
        ("EPSG:2994", (6e5, 8e5), 1.0, 1.0, &[], 45.0),
        ("EPSG:2994+5703", (6e5, 8e5), 1.0, feet, &[], 45.0),
        ("EPSG:26910", (5e5, 4e6), 1.0, 1.0 / feet, &["--z-factor", "0.3048"], 45.0),
        ("EPSG:26910", (5e5, 4e6), 1.0, 1.0, &["--z-factor", "2"], 2f32.atan().to_degrees()),
    ] {
        let found = slope_of_plane(crs, origin, (step, step), rise, more);
        assert!((found - expected).abs() < 0.05, "{crs} {more:?}: {found}, not {expected}");
    }
}

#[test]
fn a_default_resolution_that_makes_no_sense_is_refused_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let heights: Vec<f64> = (0..100).map(f64::from).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = (0..100)
        .map(|i| (10.0 + f64::from(i % 10) * 1e-4, 50.0 + f64::from(i / 10) * 1e-4))
        .unzip();
    let points = LasPoints { x: &x, y: &y, z: &heights, ..Default::default() };
    write_las(&at("degrees.laz"), &points, Some(&Crs::parse("EPSG:4326").unwrap())).unwrap();
    write_las(&at("unknown.laz"), &points, None).unwrap();
    let feet: Vec<f64> = (0..100).map(|i| f64::from(i) * 7.0).collect();
    let points = LasPoints { x: &feet, y: &feet, z: &heights, ..Default::default() };
    write_las(&at("feet.laz"), &points, Some(&Crs::parse("EPSG:2994").unwrap())).unwrap();
    let cpu = ["--device", "cpu"];
    fails(
        folder.path(),
        &[&["degrees.laz"][..], &cpu].concat(),
        &["degrees", "--resolution 0.0000"],
    );
    fails(
        folder.path(),
        &[&["unknown.laz"][..], &cpu].concat(),
        &["1 x 2", "100 points", "--resolution 0.0001"],
    );
    let report = succeeds(folder.path(), &[&["feet.laz"][..], &cpu].concat());
    assert!(report.contains("cells of 3,") && report.contains("feet"), "{report}");
}

#[test]
fn noise_and_strays_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let count = 400;
    let mut x: Vec<f64> = (0..count).map(|i| f64::from(i % 20)).collect();
    let mut y: Vec<f64> = (0..count).map(|i| f64::from(i / 20)).collect();
    let mut class = vec![2; count as usize];
    let z = vec![5.0; count as usize];
    (class[3], class[40], class[77]) = (7, 18, 18);
    let write = |x: &[f64], y: &[f64], class: &[u8]| {
        let points = LasPoints { x, y, z: &z, class, ..Default::default() };
        write_las(&folder.path().join("a.laz"), &points, None).unwrap();
    };
    write(&x, &y, &class);
    let cpu = ["a.laz", "--device", "cpu", "--overwrite"];
    let report = succeeds(folder.path(), &cpu);
    assert!(report.contains("397 kept, 3 dropped as noise"), "{report}");
    let report = succeeds(folder.path(), &[&cpu[..], &["--classes", "2,7,18"]].concat());
    assert!(report.contains("400 kept") && !report.contains("dropped"), "{report}");
    (x[0], y[0]) = (3000.0, 900.0);
    write(&x, &y, &class);
    let report = succeeds(folder.path(), &cpu);
    assert!(report.contains("1 of 397 points lies far from the others"), "{report}");
    // Where the cells are too many for the memory, or for any, the error says why.
    for (far, farthest) in [(2e6, "the farthest at 2000000 2000000: "), (1e10, "the farthest at ")]
    {
        (x[0], y[0]) = (far, far);
        write(&x, &y, &class);
        let words = ["cells", "1 of 397 points lies far from the others", farthest, "--bounds=-"];
        let cpu = ["a.laz", "--device", "cpu", "--overwrite", "--resolution", "1"];
        fails(folder.path(), &cpu, &words);
    }
}

#[test]
fn an_error_on_contour_lines_names_their_interval() {
    let folder = folder_of_inputs();
    let run = ["east.laz", "--device", "cpu", "--contours", "l.geojson"];
    let more = ["--contour-interval", "1e-9"];
    let error = PROGRAM.errors(folder.path(), &[&run[..], &more].concat()).concat();
    let words = ["--contour-interval: contour lines every 1e-9", "take a larger interval"];
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

#[test]
fn a_vertical_system_reaches_the_dem() {
    let folder = folder_of_inputs();
    let arguments = ["east.laz", "--crs", "EPSG:26910+5703", "--device", "cpu"];
    let report = succeeds(folder.path(), &arguments);
    assert!(report.contains("EPSG:26910+5703"), "{report}");
    if Command::new("gdalinfo").arg("--version").output().is_err() {
        println!("skipped: gdalinfo is not on the PATH");
        return;
    }
    let info = gdal(folder.path(), "gdalinfo", &["dem.tif"]);
    assert!(info.contains("COMPOUNDCRS") && info.contains("NAVD88"), "{info}");
}
