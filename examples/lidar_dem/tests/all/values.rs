//! `--value`: fields of LAS files and columns of tables as bands.

use std::fmt::Write;
use std::path::Path;

use las::{Color, Point};
use testing::tiles::make;

use crate::PROGRAM;
use crate::common::{are_named, are_same, bands, in_tiles, places, write_points};

const SIDE: usize = 40;
const BOUNDS: &str = "--bounds=0,0,40,40";

/// A name, and what it is at a place: a plane.
type Plane = (&'static str, fn(f64, f64) -> f64);

const PLANES: [Plane; 4] = [
    ("z", |x, y| 50.0 + 0.5 * x - 0.25 * y),
    ("intensity", |x, y| 100.0 + 16.0 * x + 8.0 * y),
    ("red", |x, y| 65_000.0 - 4.0 * x - 40.0 * y),
    ("gps_time", |x, y| 1000.0 + 0.5 * x + 0.25 * y),
];

const NAMES: [&str; 4] = ["z", "intensity", "red", "gps_time"];

/// Places at quarters, where all planes have values that fields can hold; two to a cell, and beyond the bounds.
fn quarters() -> Vec<[f64; 2]> {
    let quarter = |v: f64| (v * 4.0).round() / 4.0 - 5.0;
    places(5000, [50.0, 50.0], 9).into_iter().map(|place| place.map(quarter)).collect()
}

fn write_las(path: &Path, format: u8) {
    let points = quarters().into_iter().map(|[x, y]| {
        let at = |k: usize| PLANES[k].1(x, y);
        Point {
            x,
            y,
            z: at(0),
            intensity: at(1) as u16,
            color: Some(Color::new(at(2) as u16, 1, 2)),
            gps_time: Some(at(3)),
            ..Point::default()
        }
    });
    write_points(path, format, points);
}

fn write_csv(path: &Path) {
    let mut text = "x,y,z,temp,rain\n".to_owned();
    for [x, y] in quarters() {
        let [z, temp, rain] = [0, 3, 1].map(|k| PLANES[k].1(x, y));
        writeln!(text, "{x},{y},{z},{temp},{rain}").unwrap();
    }
    std::fs::write(path, text).unwrap();
}

fn is_plane(values: &[f32], plane: usize, tolerance: f64) {
    assert_eq!(values.len(), SIDE * SIDE);
    for (cell, value) in values.iter().enumerate() {
        let (x, y) = ((cell % SIDE) as f64 + 0.5, (SIDE - 1 - cell / SIDE) as f64 + 0.5);
        let expected = PLANES[plane].1(x, y);
        let name = PLANES[plane].0;
        assert!((f64::from(*value) - expected).abs() < tolerance, "{name} {x} {y}: {value}");
    }
}

#[test]
fn fields_are_bands_that_meet_their_planes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (input, format) in [("long.laz", 7), ("short.las", 3)] {
        write_las(&at(input), format);
        for device in ["cpu", "software"] {
            let output = format!("{device}.tif");
            let run = [input, BOUNDS, "--value", "z,intensity,red,gps_time", "-o", &output];
            let report = PROGRAM.succeeds(
                folder.path(),
                &[&run[..], &["--device", device, "--overwrite"]].concat(),
            );
            assert!(report.contains("intensity") && report.contains("gps_time"), "{report}");
        }
        let bytes = |name: &str| std::fs::read(at(name)).unwrap();
        assert!(bytes("cpu.tif") == bytes("software.tif"));
        let (found, metadata) = bands(&at("cpu.tif"));
        assert!(are_named(&metadata, &NAMES), "{metadata}");
        for (plane, values) in found.iter().enumerate() {
            // To the digits that f32 has, and the thousandths that the file has.
            is_plane(values, plane, 6e-7 * PLANES[plane].1(0.0, 0.0) + 6e-4);
        }
        // Heights have the bits that they have alone, whatever is beside them.
        let plain = [input, BOUNDS, "-o", "plain.tif", "--device", "cpu", "--overwrite"];
        PROGRAM.succeeds(folder.path(), &plain);
        let (plain, metadata) = bands(&at("plain.tif"));
        assert!(metadata.is_empty() && are_same(&plain[0], &found[0]));
        let one = ["--value", "red", "-o", "red.tif", "--device", "cpu", "--overwrite"];
        PROGRAM.succeeds(folder.path(), &[&[input, BOUNDS][..], &one].concat());
        let (red, metadata) = bands(&at("red.tif"));
        assert!(are_named(&metadata, &["red"]) && are_same(&red[0], &found[2]), "{metadata}");
    }
}

#[test]
fn columns_of_tables_are_values_by_name_and_by_number() {
    let folder = tempfile::tempdir().unwrap();
    write_csv(&folder.path().join("t.csv"));
    let run = ["t.csv", BOUNDS, "--value", "temp,z,5", "--layer", "count", "--device", "cpu"];
    PROGRAM.succeeds(folder.path(), &[&run[..], &["-o", "a.tif"]].concat());
    let (found, metadata) = bands(&folder.path().join("a.tif"));
    assert!(are_named(&metadata, &["temp", "z", "5", "count"]), "{metadata}");
    for (values, plane) in found.iter().zip([3, 0, 1]) {
        is_plane(values, plane, 1e-3);
    }
    // One band needs no GeoTIFF.
    let run = ["t.csv", BOUNDS, "--value", "temp", "--device", "cpu", "-o", "a.xyz"];
    PROGRAM.succeeds(folder.path(), &run);
    let text = std::fs::read_to_string(folder.path().join("a.xyz")).unwrap();
    let first: Vec<f64> =
        text.lines().next().unwrap().split(' ').map(|w| w.parse().unwrap()).collect();
    assert!((first[2] - PLANES[3].1(0.5, 39.5)).abs() < 1e-3, "{first:?}");
}

#[test]
fn bands_of_tiles_are_those_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_las(&at("p.laz"), 7);
    write_csv(&at("t.csv"));
    for (input, value) in [("p.laz", "intensity,z,red"), ("t.csv", "temp,rain")] {
        for method in ["exact", "pixels"] {
            let name = format!("{method}-{input}.tif");
            let common = [input, BOUNDS, "--value", value, "--method", method, "--cog"];
            PROGRAM.succeeds(
                folder.path(),
                &[&common[..], &["-o", &name, "--device", "cpu"]].concat(),
            );
            let tiles = format!("tiles-{name}");
            let plan = [&common[..6], &["--tile-size", "16"]].concat();
            assert_eq!(in_tiles(folder.path(), &plan, "software", &tiles), 9);
            let [(a, names), (b, others)] = [&name, &tiles].map(|name| bands(&at(name)));
            // Statistics are of files that are cloud-optimised.
            assert!(are_named(&names, &value.split(',').collect::<Vec<_>>()), "{names}");
            assert!(are_named(&others, &value.split(',').collect::<Vec<_>>()), "{others}");
            assert_eq!(a.len(), b.len());
            for (a, b) in a.iter().zip(&b) {
                assert!(method == "exact" || are_same(a, b), "{name}");
                assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6 * a.abs()), "{name}");
            }
            // Of bins the tiles are the same.
            PROGRAM.succeeds(folder.path(), &["bin", "plan.json"]);
            make(&PROGRAM, folder.path(), "cpu", &["-o", "binned.tif", "--overwrite"]);
            let bytes = |name: &str| std::fs::read(at(name)).unwrap();
            assert!(bytes("binned.tif") == bytes(&tiles), "{name}");
        }
    }
}

#[test]
fn values_that_are_none_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_las(&at("six.laz"), 6);
    write_csv(&at("t.csv"));
    std::fs::write(at("word.csv"), "x,y,z,temp\n1,2,3,4\n2,3,4,warm\n").unwrap();
    let cases: [(&[&str], &[&str]); 9] = [
        (&["six.laz", "--value", "redd"], &["six.laz", "\"redd\"", "intensity"]),
        (&["six.laz", "--value", "z,red"], &["six.laz", "\"red\"", "gps_time"]),
        (&["six.laz", "--value", "temp"], &["six.laz", "\"temp\""]),
        (&["t.csv", "--value", "z,wind"], &["t.csv", "\"wind\"", "temp, rain"]),
        (&["t.csv", "--value", "9"], &["t.csv", "\"9\""]),
        (&["word.csv", "--value", "temp"], &["word.csv", "row 2", "warm"]),
        (&["t.csv", "--value", "z,temp,z"], &["--value", "z twice"]),
        (&["t.csv", "--value", "z,,temp"], &["--value", "empty name"]),
        (&["t.csv", "--value", "z,temp", "-o", "a.csv"], &["a.csv", "z, temp", ".tif"]),
    ];
    for (options, words) in cases {
        PROGRAM.fails(folder.path(), &[options, &["--device", "cpu"]].concat(), words);
        if !options.contains(&"-o") {
            PROGRAM.fails(folder.path(), &[&["plan"], options].concat(), words);
        }
    }
    let plan = ["plan", "six.laz", "--value", "z,gps_time"];
    PROGRAM.fails(folder.path(), &plan, &["gps_time", "a tile cannot know"]);
}

/// A field that holds no number, and values that f32 cannot tell apart.
#[test]
fn what_a_band_cannot_hold_is_refused_or_noted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, time: fn(usize) -> f64| {
        let points = quarters().into_iter().take(300).enumerate();
        let points = points.map(|(i, [x, y])| Point {
            x,
            y,
            z: 5.0,
            gps_time: Some(time(i)),
            ..Point::default()
        });
        write_points(&at(name), 1, points);
    };
    write("nan.las", |i| if i == 7 { f64::NAN } else { 1.0 });
    let run = ["--value", "gps_time", "--device", "cpu", "--overwrite"];
    let words = ["nan.las: point 8", "NaN", "not a finite number"];
    PROGRAM.fails(folder.path(), &[&["nan.las"], &run[..]].concat(), &words);
    // Seconds of a minute since 1970.
    write("seconds.las", |i| 1.7e9 + i as f64 / 5.0);
    let report = PROGRAM.succeeds(folder.path(), &[&["seconds.las"], &run[..]].concat());
    assert!(report.contains("steps of 128"), "{report}");
    write("minutes.las", |i| i as f64 / 5.0);
    let report = PROGRAM.succeeds(folder.path(), &[&["minutes.las"], &run[..]].concat());
    assert!(!report.contains("steps of"), "{report}");
}

#[test]
fn an_error_says_why_no_point_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, change: fn(usize, &mut Point)| {
        let points = quarters().into_iter().take(40).enumerate().map(|(i, [x, y])| {
            let mut point = Point { x, y, z: 5.0, ..Point::default() };
            change(i, &mut point);
            point
        });
        write_points(&folder.path().join(name), 0, points);
    };
    write("withheld.las", |_, point| point.is_withheld = true);
    PROGRAM.fails(folder.path(), &["withheld.las"], &["none of the 40 points", "40 withheld"]);
    write("noise.las", |i, point| {
        point.is_withheld = i % 4 == 0;
        point.classification = las::point::Classification::LowPoint;
    });
    let words = ["30 as noise (classes 7 and 18)", "10 withheld"];
    PROGRAM.fails(folder.path(), &["noise.las"], &words);
}

/// A column may have the name of any member of the report.
#[test]
fn names_of_values_replace_no_member_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let text = "x,y,z,height,dem\n0,0,1,5,7\n9,0,2,6,8\n0,9,3,7,9\n9,9,4,8,9\n";
    std::fs::write(folder.path().join("h.csv"), text).unwrap();
    let run =
        ["h.csv", "--value", "height,dem", "--resolution", "1", "-o", "h.tif", "--device", "cpu"];
    let report = PROGRAM.json(folder.path(), &run);
    assert!(report["dem"]["height"].is_number() && report["dem"]["width"].is_number(), "{report}");
    assert!(report["dem"]["values"]["height"].is_array(), "{report}");
    assert!(report["values"]["dem"]["range"].is_array(), "{report}");
}
