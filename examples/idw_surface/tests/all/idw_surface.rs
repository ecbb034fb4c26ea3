//! The program `idw_surface` as its users meet it: exit codes, messages, files.

use std::path::Path;

use geo_io::{ArrayData, read_npy};
use tempfile::TempDir;
use testing::program::contents;

use crate::PROGRAM;

const POINTS: &str = "x,y,z\n0.5,0.5,1\n9.5,0.5,2\n0.5,9.5,3\n9.5,9.5,4\n5.0,5.5,2.5\n";

const AIRPORTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/airports.csv");

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    PROGRAM.succeeds(folder, arguments)
}

fn fails(folder: &Path, arguments: &[&str], words: &[&str]) {
    PROGRAM.fails(folder, arguments, words);
}

fn with_points() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.csv"), POINTS).unwrap();
    folder
}

fn values(path: &Path) -> (Vec<usize>, Vec<f32>) {
    let array = read_npy(path).unwrap();
    match array.data {
        ArrayData::F32(values) => (array.shape, values),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_value_beyond_f32_is_refused_and_one_within_is_kept() {
    let folder = with_points();
    for (value, shown) in [("1e39", "1e39"), ("-3.5e38", "-3.5e38")] {
        std::fs::write(folder.path().join("far.csv"), format!("{POINTS}3,4,{value}\n")).unwrap();
        let words = [shown, "beyond the range of f32"];
        let run = ["far.csv", "-o", "far.npy", "--device", "cpu"];
        fails(folder.path(), &run, &[&words[..], &["far.csv: row"]].concat());
        fails(folder.path(), &[&run[..], &["--max-points", "3"]].concat(), &words);
        fails(folder.path(), &["plan", "far.csv", "--max-points", "3"], &words);
    }
    let most = f64::from(f32::MAX);
    std::fs::write(folder.path().join("most.csv"), format!("x,y,z\n0,0,{most:e}\n9,9,-{most:e}\n"))
        .unwrap();
    for more in [&[][..], &["--max-points", "1"], &["--radius", "20"]] {
        let run = ["most.csv", "--device", "cpu", "-o", "most.npy", "--overwrite"];
        succeeds(folder.path(), &[&run[..], more].concat());
        let (_, values) = values(&folder.path().join("most.npy"));
        assert!(values.iter().all(|value| value.is_finite()), "{more:?}");
    }
}

#[test]
fn a_surface_goes_through_its_points_on_every_device() {
    let folder = with_points();
    let mut surfaces = Vec::new();
    for device in ["cpu", "software"] {
        let out = format!("{device}.npy");
        let bounds = "--bounds=0,0,10,10";
        succeeds(
            folder.path(),
            &["points.csv", "--resolution", "1", bounds, "--device", device, "-o", &out],
        );
        let (shape, values) = values(&folder.path().join(out));
        assert_eq!(shape, [10, 10]);
        assert_eq!((values[0], values[9], values[90], values[99]), (3.0, 4.0, 1.0, 2.0));
        assert!(values.iter().all(|v| (1.0..=4.0).contains(v)));
        surfaces.push(values);
    }
    for (a, b) in surfaces[0].iter().zip(&surfaces[1]) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn neighbours_leave_nodata_and_every_format_is_written() {
    let folder = with_points();
    let base = ["points.csv", "--size", "20x20", "--bounds=0,0,10,10", "--device", "cpu"];
    let with = |more: &[&'static str]| [&base[..], more].concat();
    let report =
        succeeds(folder.path(), &with(&["--radius", "1", "--power", "3", "-o", "near.npy"]));
    assert!(report.contains("20 x 20 cells of 0.5"), "{report}");
    let (_, near) = values(&folder.path().join("near.npy"));
    let empty = near.iter().filter(|v| v.is_nan()).count();
    assert!(empty > 300 && empty < 400, "{empty}");
    succeeds(folder.path(), &with(&["--max-points", "1", "-o", "one.npy"]));
    let (_, one) = values(&folder.path().join("one.npy"));
    assert!(one.iter().all(|v| [1.0, 2.0, 2.5, 3.0, 4.0].contains(v)));
    let quadrants = ["--per-quadrant", "1,2", "--max-points", "5", "--min-points", "4"];
    succeeds(folder.path(), &with(&[&quadrants[..], &["-o", "surface.tif"]].concat()));
    succeeds(folder.path(), &with(&["--smoothing", "2", "-o", "surface.png"]));
    succeeds(folder.path(), &with(&["--adaptive", "--cross-validate", "--overwrite"]));
    for name in ["surface.tif", "surface.png"] {
        assert!(std::fs::metadata(folder.path().join(name)).unwrap().len() > 100);
    }
}

/// The local mean of the points within the bandwidth, beside the formula.
#[test]
fn a_kernel_function_smooths() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let mut random = testing::Random::new(3);
    let points: Vec<[f64; 3]> =
        (0..60).map(|_| [9.0 * random.unit(), 9.0 * random.unit(), random.unit()]).collect();
    let rows: String = points.iter().map(|[x, y, z]| format!("{x},{y},{z}\n")).collect();
    std::fs::write(here.join("p.csv"), format!("x,y,z\n{rows}")).unwrap();
    let base = ["p.csv", "--resolution", "1", "--bounds=-3,0,9,9", "--overwrite", "-o", "k.npy"];
    for device in ["cpu", "software"] {
        for (words, weight) in [
            (&["--kernel", "quartic", "--bandwidth", "2.5"][..], biweight as fn(f64) -> f64),
            (&["--kernel", "gaussian", "--bandwidth", "0.7", "--max-points", "60"], gaussian),
        ] {
            let report = PROGRAM.json(here, &[&base[..], words, &["--device", device]].concat());
            assert!(report["kernel"].as_str().unwrap().contains(", bandwidth "), "{report}");
            assert!(report["power"].is_null(), "{report}");
            let (_, values) = values(&here.join("k.npy"));
            for (cell, value) in values.into_iter().enumerate() {
                let at = [(cell % 12) as f64 - 2.5, 8.5 - (cell / 12) as f64];
                let of = |[x, y, _]: &[f64; 3]| weight((x - at[0]).hypot(y - at[1]));
                let weights: f64 = points.iter().map(of).sum();
                let sum: f64 = points.iter().map(|point| of(point) * point[2]).sum();
                let is_near = (f64::from(value) - sum / weights).abs() < 1e-6;
                assert!(if weights > 0.0 { is_near } else { value.is_nan() }, "{cell}: {value}");
            }
        }
    }
    let kernel = ["p.csv", "--kernel", "epanechnikov", "--bandwidth", "2", "--size", "4x4"];
    let report = succeeds(here, &[&kernel[..], &["--cross-validate"]].concat());
    assert!(report.contains("left out    epanechnikov, bandwidth 2: rmse"), "{report}");
    assert_eq!(report.matches("left out").count(), 1, "{report}");
    for (words, parts) in [
        (&["--kernel", "biweight"][..], &["--bandwidth"][..]),
        (&["--bandwidth", "3"], &["--kernel"]),
        (
            &["--kernel", "gaussian", "--bandwidth", "3"],
            &["gaussian reaches without limit", "--radius"],
        ),
        (&["--kernel", "cosine", "--bandwidth", "3"], &["cosine", "tricube"]),
        (&["--kernel", "uniform", "--bandwidth", "0"], &["--bandwidth", "above 0"]),
        (&["--kernel", "uniform", "--bandwidth", "1", "--power", "2"], &["--power"]),
        (&["--kernel", "uniform", "--bandwidth", "1", "--smoothing", "2"], &["--smoothing"]),
        (&["--kernel", "uniform", "--bandwidth", "1", "--variogram", "fit"], &["--variogram"]),
    ] {
        fails(here, &[&["p.csv"], words].concat(), parts);
    }
}

fn biweight(distance: f64) -> f64 {
    let rest = 1.0 - (distance / 2.5).powi(2);
    if rest > 0.0 { rest * rest } else { 0.0 }
}

fn gaussian(distance: f64) -> f64 {
    (-0.5 * (distance / 0.7).powi(2)).exp()
}

#[test]
fn cross_validation_reports_powers_and_takes_the_best() {
    let folder = tempfile::tempdir().unwrap();
    let base = ["--sample-points", "400", "--size", "16x16", "--device", "cpu", "--cross-validate"];
    let report = succeeds(folder.path(), &base);
    assert!(report.contains("a sample of 400 points"), "{report}");
    let errors: Vec<(f64, f64)> = report
        .lines()
        .filter_map(|line| {
            let (power, rest) = line.strip_prefix("left out    power ")?.split_once(": rmse ")?;
            Some((power.parse().ok()?, rest.split(',').next()?.parse().ok()?))
        })
        .collect();
    assert_eq!(errors.len(), 6, "{report}");
    let best = errors.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!(report.contains(&format!("power       {}\n", best.0)), "{report}");
    let report = succeeds(folder.path(), &[&base[..], &["--power", "2.2", "--overwrite"]].concat());
    assert_eq!(report.matches("left out").count(), 1, "{report}");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = with_points();
    let here = folder.path();
    std::fs::write(here.join("empty.csv"), "x,y,z\n").unwrap();
    std::fs::write(here.join("bad.csv"), "x,y,z\n1,2,NaN\n").unwrap();
    std::fs::write(here.join("pole.csv"), "lon,lat,z\n1,95,3\n").unwrap();
    fails(here, &["nowhere.csv"], &["nowhere.csv"]);
    fails(here, &["points.txt2"], &["points.txt2"]);
    fails(here, &["empty.csv"], &["no points"]);
    fails(here, &["bad.csv"], &["bad.csv", "NaN"]);
    fails(here, &["points.csv", "--columns", "a,b,c"], &["\"a\""]);
    fails(here, &["points.csv", "--z-facto", "2"], &["--z-facto", "tip", "--z-factor"]);
    fails(
        here,
        &["pole.csv", "--columns", "lon,lat,z", "--geographic", "--device", "cpu"],
        &["95"],
    );
    for (option, value) in [
        ("--power", "0"),
        ("--power", "-1"),
        ("--power", "nan"),
        ("--radius", "0"),
        ("--radius", "-3"),
        ("--smoothing", "-1"),
        ("--resolution", "0"),
        ("--size", "0x3"),
        ("--max-points", "0"),
        ("--per-quadrant", "3,2"),
        ("--bounds", "1,1,0,0"),
        ("--crs", "EPSG:1"),
        ("--device", "abacus"),
        ("-o", "surface.jpg"),
        ("-o", "nowhere/surface.tif"),
    ] {
        fails(here, &["points.csv", option, value], &[]);
    }
    let no_radius = |value, reason| {
        let words = ["--radius", reason, "leave out --radius to use all points"];
        fails(here, &["points.csv", "--radius", value], &words);
    };
    no_radius("inf", "inf is not a finite number");
    no_radius("0", "0 is not above 0");
    fails(here, &["points.csv", "--min-points", "5", "--max-points", "4"], &["--min-points 5"]);
    fails(here, &["points.csv", "--size", "3x3", "--resolution", "1"], &["--resolution"]);
    // Too many cells to count, and too many for any memory.
    for (option, value, advice) in [
        ("--resolution", "1e-9", "give a larger --resolution, or a smaller ground by --bounds"),
        ("--resolution", "1e-6", "give a larger --resolution, or a smaller ground by --bounds"),
        ("--size", "4000000x4000000", "give a smaller --size"),
    ] {
        let named = format!("{option} {value}: ");
        let run = ["points.csv", option, value, "--device", "cpu"];
        fails(here, &run, &[&named, "cells", advice]);
    }
    let beside = ["points.csv", "--bounds=0,0,100,100", "--size", "10x20"];
    fails(here, &beside, &["--size 10x20", "10 x 5", "10x10"]);
    fails(
        here,
        &["points.csv", "--geographic", "--resolution", "1000"],
        &["--resolution", "degrees"],
    );
}

#[test]
fn an_option_without_its_output_is_refused() {
    let folder = with_points();
    let here = folder.path();
    for option in ["--z-factor", "--azimuth", "--altitude"] {
        let words = [option, "belongs to a picture (.png) as --output"];
        fails(here, &["points.csv", option, "3"], &words);
    }
    fails(here, &["points.csv", "-o", "s.png", "--cog"], &["--cog belongs to a GeoTIFF"]);
    let lit = ["points.csv", "-o", "s.png", "--azimuth", "3", "--device", "cpu"];
    PROGRAM.succeeds(here, &lit);
}

/// By kriging, whose weights may be negative, in one run and in tiles.
#[test]
fn values_that_overshoot_f32_end_the_run_by_cell() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let row = |i: u32| {
        let (x, y) = (f64::from(i * 37 % 101) / 5.0, f64::from(i * 53 % 101) / 5.0);
        format!("{x},{y},{}\n", if x > 10.0 { "3.3e38" } else { "-3.3e38" })
    };
    let table = (0..100).map(row).collect::<String>();
    std::fs::write(here.join("large.csv"), format!("x,y,z\n{table}")).unwrap();
    let words = ["the value of the cell at", "beyond the range of f32"];
    let kriging = ["--resolution", "1", "--variogram", "gaussian:1,30"];
    fails(here, &[&["large.csv", "--device", "cpu"], &kriging[..]].concat(), &words);
    PROGRAM.succeeds(here, &[&["plan", "large.csv"], &kriging[..]].concat());
    let lines = PROGRAM.errors(here, &["run", "plan.json", "--all", "--device", "cpu"]);
    assert!(words.iter().all(|word| lines[0].contains(word)), "{lines:?}");
    // An error of predictions is a number of f32, though the range of values is not.
    std::fs::write(here.join("half.csv"), format!("x,y,z\n{}", table.replace("3.3e38", "1.8e38")))
        .unwrap();
    let errors = ["--prediction-error", "-o", "errors.tif"];
    PROGRAM.succeeds(here, &[&["half.csv", "--device", "cpu"], &errors[..]].concat());
}

#[test]
fn a_point_that_is_no_place_or_no_f32_is_named_by_file_and_row() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("good.csv"), "lon,lat,v\n2,48,5\n").unwrap();
    std::fs::write(here.join("pole.csv"), "lon,lat,v\n10,80,1\n11,90.0000001,2\n").unwrap();
    std::fs::write(here.join("east.csv"), "lon,lat,v\n5,0,1\n6,0,1\n540,0,1\n").unwrap();
    // A row of noise goes before, which is left out and counted all the same.
    std::fs::write(here.join("huge.csv"), "lon,lat,v,class\n5,0,1,7\n6,0,1e39,2\n").unwrap();
    let base = ["--columns", "lon,lat,v", "--geographic", "--device", "cpu"];
    let with = |name: &'static str| [&["good.csv", name], &base[..]].concat();
    fails(here, &with("pole.csv"), &["pole.csv: row 2", "latitude 90.0000001"]);
    fails(here, &with("east.csv"), &["east.csv: row 3", "longitude 540"]);
    fails(here, &with("huge.csv"), &["huge.csv: row 2", "1e39", "f32"]);
    std::fs::write(here.join("far.csv"), "x,y,z\n5,0,1\n6,1e160,2\n").unwrap();
    fails(here, &["far.csv", "--size", "2x2", "--device", "cpu"], &["far.csv: row 2", "1e150"]);
    fails(
        here,
        &[&["plan"], &with("pole.csv")[..4], &["--geographic"]].concat(),
        &["pole.csv", "90.0000001"],
    );
}

#[test]
fn values_of_any_size_are_told_with_digits() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("tiny.csv"), "x,y,z\n0,0,1.5e-6\n10,0,2.5e-6\n0,10,3e-6\n").unwrap();
    let report =
        succeeds(here, &["tiny.csv", "--cross-validate", "--size", "3x3", "--device", "cpu"]);
    assert!(report.contains("e-6 to ") && !report.contains("rmse 0.0000"), "{report}");
    assert!(!report.contains("note"), "{report}");
    // f32 has no such numbers.
    std::fs::write(here.join("none.csv"), "x,y,z\n0,0,1e-50\n10,0,2\n").unwrap();
    let report = succeeds(here, &["none.csv", "--size", "2x1", "--device", "cpu", "--overwrite"]);
    assert!(report.contains("values nearer to 0 than 1.2e-38: 1"), "{report}");
}

#[test]
fn errors_of_points_that_no_others_predict_are_unknown_and_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("one.csv"), "x,y,z\n5,6,7\n").unwrap();
    std::fs::write(here.join("apart.csv"), "x,y,z\n0,0,7\n9,0,8\n0,9,3\n").unwrap();
    let kriged = ["apart.csv", "--variogram", "spherical:1,5", "--radius", "3"];
    for arguments in [&["one.csv"][..], &["apart.csv", "--radius", "3"], &kriged] {
        let more = ["--cross-validate", "--size", "2x2", "--device", "cpu", "--overwrite"];
        let bounds = ["--bounds=0,0,9,9"];
        let report = succeeds(here, &[arguments, &more, &bounds].concat());
        assert!(report.contains("unknown, since no point gets a value"), "{report}");
        assert!(!report.contains("NaN"), "{report}");
    }
}

#[test]
fn the_system_takes_the_names_of_the_ogc_and_errors_name_the_option() {
    let folder = with_points();
    let here = folder.path();
    let base = ["points.csv", "--size", "2x2", "--device", "cpu", "--overwrite", "--crs"];
    for name in ["urn:ogc:def:crs:EPSG::26910", "http://www.opengis.net/def/crs/EPSG/0/26910"] {
        let report = succeeds(here, &[&base[..], &[name]].concat());
        assert!(report.contains("EPSG:26910"), "{report}");
    }
    for name in ["26910", "ESRI:102003", "system.prj"] {
        fails(here, &[&base[..], &[name]].concat(), &["--crs", name, "such as EPSG:26910"]);
    }
}

#[test]
fn a_table_of_xyz_has_all_cells_and_is_a_raster_to_gdal() {
    let folder = with_points();
    let here = folder.path();
    let base = ["points.csv", "--size", "4x4", "--bounds=0,0,10,10", "--radius", "2"];
    let mut counts = Vec::new();
    for name in ["some.csv", "all.xyz"] {
        succeeds(here, &[&base[..], &["--device", "cpu", "-o", name]].concat());
        let text = std::fs::read_to_string(here.join(name)).unwrap();
        let found = text.lines().filter(|line| line.ends_with(" -9999")).count();
        counts.push((text.lines().count(), found));
    }
    let [(with_value, 0), (16, empty)] = counts[..] else { panic!("{counts:?}") };
    assert!(with_value > 1 && with_value - 1 + empty == 16, "{counts:?}");
    // A value that a cell has stands for none of them.
    let ones = [&base[..], &["--device", "cpu", "--nodata", "1", "-o", "ones.xyz"]].concat();
    fails(here, &ones, &["choose another, by --nodata"]);
    // Read again, those rows are said to be what they are.
    let report = succeeds(here, &["all.xyz", "--size", "2x2", "--device", "cpu"]);
    assert!(
        report.contains(&format!("all.xyz: points with the value -9999: {empty};")),
        "{report}"
    );
    match std::process::Command::new("gdalinfo").arg(here.join("all.xyz")).output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.contains("Size is 4, 4"), "{text}");
        }
        Err(_) => println!("skipped: no gdalinfo"),
    }
}

#[test]
fn degrees_taken_for_a_plane_are_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.csv"), "x,y,z\n10,60,1\n11,61,2\n").unwrap();
    for (more, is_said) in [
        (&["--crs", "EPSG:4326"][..], true),
        (&["--crs", "EPSG:4326", "--geographic"], false),
        (&["--crs", "EPSG:26910"], false),
        (&[], false),
    ] {
        let base = ["points.csv", "--size", "2x2", "--device", "cpu", "--overwrite"];
        let report = succeeds(folder.path(), &[&base[..], more].concat());
        assert_eq!(report.contains("distances are in degrees"), is_said, "{more:?}: {report}");
    }
    // Great circles take degrees alone.
    let grads =
        ["points.csv", "--size", "2x2", "--device", "cpu", "--overwrite", "--crs", "EPSG:4807"];
    let report = succeeds(folder.path(), &grads);
    assert!(report.contains("distances are in grads, as on a plane"), "{report}");
    assert!(report.contains("; project the points first"), "{report}");
    fails(
        folder.path(),
        &[&grads[..], &["--geographic"]].concat(),
        &["--geographic", "0.9 degrees"],
    );
}

#[test]
fn distances_of_a_search_in_web_maps_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let points = "x,y,z\n0,8399000,1\n500,8400000,2\n900,8399500,3\n";
    std::fs::write(folder.path().join("points.csv"), points).unwrap();
    let note = "a metre of EPSG:3857 is 0.500 m on the ground here, and the search's distances take it for one";
    for (more, is_said) in [
        (&["--crs", "EPSG:3857", "--radius", "2000"][..], true),
        (&["--crs", "EPSG:3857", "--kernel", "tricube", "--bandwidth", "2000"], true),
        // How near points are to each other is the same in either length.
        (&["--crs", "EPSG:3857", "--max-points", "2"], false),
        (&["--crs", "EPSG:32633", "--radius", "2000"], false),
    ] {
        let base = ["points.csv", "--size", "2x2", "--overwrite"];
        for run in [&["--device", "cpu", "-o", "s.npy"][..], &[]] {
            let words = if run.is_empty() { &["plan"][..] } else { &[] };
            let report = succeeds(folder.path(), &[words, &base, run, more].concat());
            assert_eq!(report.contains(note), is_said, "{more:?}: {report}");
        }
    }
}

#[test]
fn the_airports_of_the_world_make_a_surface() {
    if !Path::new(AIRPORTS).exists() {
        println!("skipped: no {AIRPORTS}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let base = [AIRPORTS, "--columns", "lon,lat,elevation_ft", "--geographic", "--device", "cpu"];
    let few = ["--max-points", "12"];
    for (more, cells) in [
        (&["-o", "default.tif"][..], "720 x 346 cells of 0.5, 0.0% NODATA"),
        (&["--size", "360x180", "-o", "sized.tif"], "360 x 180 cells"),
        (
            &["--size", "360x180", "--bounds=-180,-90,180,90", "-o", "world.tif"],
            "360 x 180 cells of 1, 0.0% NODATA",
        ),
        (&["--resolution", "0.7", "-o", "odd.png"], "cells of 0.7, 0.0% NODATA"),
    ] {
        let report = succeeds(folder.path(), &[&base[..], &few, more].concat());
        assert!(report.contains(cells), "{report}");
        assert!(report.contains("EPSG:4326"), "{report}");
        assert!(folder.path().join(more[more.len() - 1]).exists());
    }
    for (bounds, words) in [
        ("--bounds=-180,-91,180,90", "latitude -91"),
        ("--bounds=-500,-90,180,90", "longitude -500"),
    ] {
        fails(folder.path(), &[&base[..], &[bounds]].concat(), &["--bounds", words]);
    }
    fails(folder.path(), &[&base[..], &["--size", "100x100"]].concat(), &["--size", "a pole"]);
    // All points of a coarse grid, without any option but what the table needs.
    let all = ["--size", "36x18", "-o", "coarse.npy"];
    succeeds(folder.path(), &[&base[..], &all].concat());
}

/// With a radius the surface of a part is that part of the surface, to the last bit.
#[test]
fn tiles_have_no_seams() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = "x,y,z\n".to_owned();
    let mut state = 7_u64;
    for _ in 0..4000 {
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64 / (1u64 << 24) as f64
        };
        let (x, y, z) = (unit() * 200.0, unit() * 100.0, unit());
        table.push_str(&format!("{x},{y},{z}\n"));
    }
    std::fs::write(folder.path().join("many.csv"), table).unwrap();
    let surface = |west: usize, east: usize, more: &[&str]| {
        let bounds = format!("--bounds={west},0,{east},100");
        let base = ["many.csv", "--resolution", "1", "--radius", "6", "-o", "part.npy", &bounds];
        let cpu = ["--device", "cpu", "--overwrite"];
        succeeds(folder.path(), &[&base[..], &cpu, more].concat());
        let (shape, values) = values(&folder.path().join("part.npy"));
        assert_eq!(shape, [100, east - west]);
        values
    };
    for more in [&[][..], &["--max-points", "5"], &["--per-quadrant", "1,2"]] {
        let whole = surface(0, 200, more);
        for (west, east) in [(0, 100), (100, 200), (37, 61)] {
            let expected = whole.chunks_exact(200).flat_map(|row| &row[west..east]);
            let part = surface(west, east, more);
            let same = part.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{more:?}: {west} to {east}");
        }
    }
}

#[test]
fn version_completions_and_page_are_printed() {
    PROGRAM.prints_its_version_completions_and_page(tempfile::tempdir().unwrap().path());
}

#[test]
fn inputs_and_outputs_are_under_no_other_heading() {
    PROGRAM.lists_under_headings(&[
        ["Arguments:", "[INPUT]..."],
        ["Options:", "--output"],
        ["Points:", "--columns"],
        ["Surface:", "--resolution"],
    ]);
}

#[test]
fn the_report_is_lines_or_an_object_or_nothing() {
    let folder = with_points();
    let fields = ["inputs", "crs", "device", "surface", "power", "seconds"];
    let object = PROGRAM.reports(folder.path(), &["points.csv", "-o", "out.tif"], &fields);
    assert_eq!(object["written"], serde_json::json!(["out.tif"]));
}

#[test]
fn folders_patterns_and_streams_are_the_same_points() {
    PROGRAM.takes_folders_patterns_and_streams(tempfile::tempdir().unwrap().path());
}

#[test]
fn no_file_is_lost() {
    let folder = with_points();
    PROGRAM.replaces_only_where_asked(folder.path(), &["points.csv", "-o", "d.tif"]);
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    let input: &[&str] = &["points.csv", "-o", "inner/../points.csv"];
    PROGRAM.refuses_one_file_twice(folder.path(), &[input]);
}

/// The sample is made again as it was; another one is not written over it.
#[test]
fn the_sample_repeats_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sample = ["--sample-points", "50", "--size", "8x8", "--device", "cpu"];
    succeeds(folder.path(), &sample);
    let before = contents(folder.path());
    succeeds(folder.path(), &sample);
    assert_eq!(contents(folder.path()), before);
    fails(folder.path(), &["--sample-points", "51", "--device", "cpu"], &["surface.tif"]);
}

#[test]
fn a_globe_that_cells_do_not_fill_is_noted_in_one_run_and_in_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let points = "lon,lat,z\n-179,-89,1\n10,20,2\n178,88.5,3\n";
    std::fs::write(folder.join("p.csv"), points).unwrap();
    let world = "--bounds=-180,-90,180,90";
    for (resolution, bounds, is_noted) in [("7", world, true), ("7", "", true), ("6", world, false)]
    {
        let run = ["p.csv", "--columns", "lon,lat,z", "--geographic", "--resolution", resolution];
        let bounds = Some(bounds).filter(|text| !text.is_empty());
        let run: Vec<&str> = run.into_iter().chain(bounds).collect();
        let once = succeeds(
            folder,
            &[&run[..], &["--device", "cpu", "-o", "s.tif", "--overwrite"]].concat(),
        );
        let plan = [&["plan"], &run[..], &["-o", "plan.json", "--overwrite"]].concat();
        for report in [once, succeeds(folder, &plan)] {
            let noted = report.contains("the surface ends at -175,-84,175,84");
            assert_eq!(noted, is_noted, "{resolution} {bounds:?}: {report}");
        }
    }
}

#[test]
fn a_stray_among_few_stations_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "x,y,z\n".to_owned();
    for i in 0..30 {
        text += &format!("{},{},{i}\n", 500_000 + i * 37 % 101, 4_000_000 + i * 53 % 97);
    }
    let run = ["p.csv", "--device", "cpu", "-o", "s.npy", "--overwrite"];
    std::fs::write(folder.path().join("p.csv"), &text).unwrap();
    let report = succeeds(folder.path(), &run);
    assert!(!report.contains("far from the others"), "{report}");
    std::fs::write(folder.path().join("p.csv"), text + "0,0,0\n").unwrap();
    for run in [&run[..], &["plan", "p.csv"]] {
        let report = succeeds(folder.path(), run);
        assert!(
            report.contains("1 of 31 points lies far from the others, the farthest at 0 0"),
            "{report}"
        );
    }
}

#[test]
fn names_of_columns_tell_degrees() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    at("p.csv", "Lat,Lon,z,x,y\n10,20,1,20,10\n11,22,2,22,11\n12,21,3,21,12\n");
    let run = |columns: &'static str| {
        ["p.csv", "--columns", columns, "--device", "cpu", "-o", "s.npy", "--overwrite"]
    };
    let plan = |columns: &'static str| {
        ["plan", "p.csv", "--columns", columns, "--max-points", "2", "--overwrite"]
    };
    for report in
        [succeeds(folder.path(), &run("lon,lat,z")), succeeds(folder.path(), &plan("lon,lat,z"))]
    {
        assert!(
            report.contains("distances are in degrees") && report.contains("--geographic"),
            "{report}"
        );
    }
    assert!(!succeeds(folder.path(), &run("x,y,z")).contains("degrees"));
    let words = ["'Lat,Lon,z'", "the longitude comes first", "--columns Lon,Lat,z"];
    fails(folder.path(), &run("Lat,Lon,z"), &words);
    fails(folder.path(), &plan("Lat,Lon,z"), &words);
}

#[test]
fn numbers_near_the_ends_of_f64_are_shown_in_few_digits() {
    let folder = with_points();
    std::fs::write(folder.path().join("low.csv"), "x,y,z\n1e-310,1,1\n2,2,2\n").unwrap();
    for (run, word) in [
        (&["points.csv", "--resolution", "1e300"][..], "--resolution 1e300: target 0: (5e299,"),
        (&["points.csv", "--resolution", "1e-300"], "--resolution 1e-300"),
        (&["points.csv", "--radius", "1e-300"], "1e-300 is not from 1e-130 to 1e150"),
        (&["low.csv"], "low.csv: row 1"),
    ] {
        let run = [run, &["--device", "cpu", "-o", "s.npy"]].concat();
        let error = PROGRAM.errors(folder.path(), &run).concat();
        assert!(error.contains(word) && error.len() < 200, "{error}");
    }
}

#[test]
fn bad_numbers_are_refused_with_a_reason() {
    PROGRAM.refuses_numbers(&[
        ("a.csv --power -1", "-1 is not above 0"),
        ("a.csv --smoothing -.5", "-.5 is below 0"),
        ("a.csv --z-factor -1", "-1 is not above 0"),
        ("a.csv --smoothing 1e-200", "1e-200 is not from 1e-130 to 1e150, and not 0"),
        (
            "a.csv --radius 1e-200",
            "1e-200 is not from 1e-130 to 1e150; leave out --radius to use all points",
        ),
        ("a.csv --kernel tricube --bandwidth 1e-200", "1e-200 is not from 1e-130 to 1e150"),
        ("a.csv --variogram fit --cutoff 1e200", "1e200 is not from 1e-130 to 1e150"),
        ("a.csv --max-points -1", "-1 is below 0"),
        ("a.csv --max-points 4294967296", "4294967296 is above 4294967295"),
        ("a.csv --min-points -1", "-1 is below 0"),
        ("a.csv --per-quadrant -1,4", "-1 is below 0"),
        ("a.csv --size 4294967296x1", "4294967296 is above 4294967295"),
        ("--sample-points -1", "-1 is below 0"),
        ("--seed -1", "-1 is below 0"),
        ("run plan.json --tile -1", "-1 is below 0"),
    ]);
}

#[test]
fn an_option_is_refused_beside_what_excludes_the_one_it_needs() {
    let folder = with_points();
    for options in [
        "--bandwidth 3 --power 2",
        "--bandwidth 3 --adaptive",
        "--bandwidth 3 --smoothing 2",
        "--bandwidth 3 --variogram nugget:1",
        "--cutoff 3 --power 2",
        "--cutoff 3 --geographic",
        "--variance --adaptive",
        "--variance --power 2",
        "--variance --kernel biweight --bandwidth 3",
        "--cutoff 3 --variogram spherical:1,5",
    ] {
        let option = options.split(' ').next().unwrap();
        let words: Vec<&str> = options.split(' ').collect();
        fails(folder.path(), &[&["points.csv"], &words[..], &["-o", "o.npy"]].concat(), &[option]);
        let plan = [&["plan", "points.csv"], &words[..], &["-o", "p.json"]].concat();
        fails(folder.path(), &plan, &[option]);
    }
}
