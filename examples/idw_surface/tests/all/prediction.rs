//! The prediction error: against its definition, and in tiles with the bytes of one run.

use std::path::Path;

use proptest::prelude::*;
use testing::clouds::GENERATORS;
use testing::program::is_same;
use testing::tiles::{in_tiles, number};
use testing::{Cloud, Random};

use crate::PROGRAM;
use crate::kriging::bands;

/// The prediction error, beside the definition in f64: errors of leaving out, then the mean of their squares with the weights of the values.
#[test]
fn the_prediction_error_is_a_second_band() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random::new(21);
    let points: Vec<[f64; 3]> = (0..25)
        .map(|_| [10.0 * random.unit(), 10.0 * random.unit(), 5.0 * random.unit()])
        .collect();
    let mut text = String::from("x,y,z\n");
    points.iter().for_each(|[x, y, z]| text += &format!("{x},{y},{z}\n"));
    std::fs::write(folder.join("p.csv"), text).unwrap();
    // The weighted mean of numbers of the points but one.
    let mean = |at: [f64; 2], but: Option<usize>, of: &dyn Fn(usize) -> f64| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (i, [x, y, _]) in points.iter().enumerate().filter(|(i, _)| Some(*i) != but) {
            let weight = 1.0 / ((x - at[0]).powi(2) + (y - at[1]).powi(2));
            (sum, weights) = (sum + weight * of(i), weights + weight);
        }
        sum / weights
    };
    let squares: Vec<f64> = (0..points.len())
        .map(|i| {
            let predicted = mean([points[i][0], points[i][1]], Some(i), &|j| points[j][2]);
            (predicted - points[i][2]).powi(2)
        })
        .collect();
    let base = ["p.csv", "--resolution", "1", "--bounds=0,0,10,10", "--power", "2"];
    for device in ["cpu", "software"] {
        let run = ["--prediction-error", "--device", device, "-o", "e.tif", "--overwrite"];
        let report = PROGRAM.json(folder, &[&base[..], &run].concat());
        assert!(report["prediction-error"]["range"][1].as_f64().unwrap() > 0.0, "{report}");
        let found = bands(&folder.join("e.tif"));
        for (cell, (&value, &error)) in found[0].iter().zip(&found[1]).enumerate() {
            let at = [(cell % 10) as f64 + 0.5, 9.5 - (cell / 10) as f64];
            let expected = mean(at, None, &|i| points[i][2]);
            assert!((f64::from(value) - expected).abs() < 1e-4 * expected, "{cell}: {value}");
            let expected = mean(at, None, &|i| squares[i]).sqrt();
            assert!((f64::from(error) - expected).abs() < 1e-4 * expected, "{cell}: {error}");
        }
    }
    let npy = ["p.csv", "--prediction-error", "-o", "out.npy"];
    PROGRAM.fails(folder, &npy, &["--prediction-error", ".tif"]);
    let both = ["p.csv", "--prediction-error", "--variogram", "spherical:1,9"];
    PROGRAM.fails(folder, &both, &["--variogram"]);
    PROGRAM.fails(folder, &[&["plan"], &both[..]].concat(), &["--variogram"]);
    let both = ["p.csv", "--prediction-error", "--deviation", "--max-points", "5"];
    PROGRAM.fails(folder, &both, &["--deviation"]);
}

/// A point that no other predicts counts for values, and for no error.
#[test]
fn errors_are_of_the_points_of_the_values() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("p.csv"), "x,y,z\n0,0,5\n15,0,1\n20,0,3\n").unwrap();
    let of = |words: &str| {
        let base = "p.csv --prediction-error --resolution 2 --radius 10 -o e.tif --overwrite";
        PROGRAM.succeeds(folder, &format!("{base} {words}").split(' ').collect::<Vec<_>>());
        bands(&folder.join("e.tif"))
    };
    for device in ["cpu", "software"] {
        // The values of the cells at 5 and 7 are that of the first point, which has no error.
        let found = of(&format!("--bounds=4,0,12,2 --max-points 1 --device {device}"));
        assert_eq!(found[0], [5.0, 5.0, 1.0, 1.0]);
        assert_eq!(found[1], [-9999.0, -9999.0, 2.0, 2.0]);
        // Between both, the error of the second point alone.
        let found = of(&format!("--bounds=6,0,8,2 --power 1 --device {device}"));
        let (one, two) = (50_f32.sqrt(), 65_f32.sqrt());
        assert!((found[0][0] - (5.0 / one + 1.0 / two) / (1.0 / one + 1.0 / two)).abs() < 1e-5);
        assert!((found[1][0] - 2.0).abs() < 1e-5, "{:?}", found[1]);
    }
}

/// Points beyond `--bounds` count for cells within, and those farther off for the errors of these points.
#[test]
fn a_window_has_the_errors_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_points(folder, &testing::clouds::uniform(400, 3));
    let words = ["1.csv", "2.csv", "--prediction-error", "--radius", "90", "--size", "20x20"];
    let of = |bounds: &str, size: &str, output: &str| {
        let rest = [bounds, "--device", "cpu", "-o", output];
        let words = [&words[..6], &[size], &rest].concat();
        PROGRAM.succeeds(folder, &words);
        bands(&folder.join(output))
    };
    let whole = of("--bounds=0,0,1000,1000", "100x100", "whole.tif");
    let window = of("--bounds=400,300,600,500", "20x20", "window.tif");
    assert!(window[1].iter().any(|&error| error > 0.0));
    for (whole, window) in whole.iter().zip(&window) {
        for (row, cells) in window.chunks(20).enumerate() {
            assert_eq!(cells, &whole[(50 + row) * 100 + 40..][..20], "row {row}");
        }
    }
}

/// Errors keep their digits where their squares are beyond f32, or below it.
#[test]
fn errors_are_in_proportion_to_values_however_large() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let cloud = testing::clouds::uniform(60, 4);
    let mut found = Vec::new();
    for exponent in [0, 90, -90] {
        let scale = 2f64.powi(exponent);
        let z = cloud.z.iter().map(|z| z * scale).collect();
        write_points(folder, &Cloud { z, ..cloud.clone() });
        let words =
            ["1.csv", "2.csv", "--prediction-error", "--max-points", "5", "--device", "cpu"];
        let rest = ["--resolution", "50", "-o", "e.tif", "--overwrite"];
        PROGRAM.succeeds(folder, &[&words[..], &rest].concat());
        let errors = bands(&folder.join("e.tif")).swap_remove(1);
        found.push(errors.iter().map(|&error| f64::from(error) / scale).collect::<Vec<_>>());
    }
    assert!(found[0].iter().all(|&error| error > 0.0));
    assert!(found[0] == found[1] && found[0] == found[2]);
}

/// Writes a cloud as two tables, each with every second point.
fn write_points(folder: &Path, cloud: &Cloud) {
    for file in [1, 2] {
        let mut text = String::from("x,y,z\n");
        for i in (file - 1..cloud.len()).step_by(2) {
            text += &format!("{},{},{}\n", cloud.x[i], cloud.y[i], cloud.z[i]);
        }
        std::fs::write(folder.join(format!("{file}.csv")), text).unwrap();
    }
}

#[derive(Clone, Debug)]
struct Case {
    cloud: usize,
    seed: u64,
    points: usize,
    words: Vec<String>,
    tile: u32,
    has_bins: bool,
    device: &'static str,
}

/// A search, the most points that a test of it takes, and whether devices add its points in order.
fn search() -> impl Strategy<Value = (String, usize, bool)> {
    let nearest = (1..30_u32, 0..3_u32).prop_map(|(k, least)| {
        (format!("--max-points {k} --min-points {}", least.min(k)), 900, true)
    });
    let within = (20.0..250.0, 3..30_u32, 0..3_u32).prop_map(|(r, k, least)| {
        (format!("--radius {r} --max-points {k} --min-points {least}"), 900, true)
    });
    // More than 256 points within a radius alone may have other last bits.
    let radius = (20.0..400.0, 0..3_u32)
        .prop_map(|(r, least)| (format!("--radius {r} --min-points {least}"), 250, false));
    let quadrants = (20.0..300.0, 0..2_u32, 2..5_u32)
        .prop_map(|(r, a, b)| (format!("--radius {r} --per-quadrant {a},{b}"), 900, true));
    let far =
        ["", "--adaptive", "--max-points 9 --per-quadrant 1,3", "--geographic --max-points 7"];
    let far = prop::sample::select(far.to_vec()).prop_map(|far| (far.to_owned(), 200, false));
    prop_oneof![4 => nearest, 2 => within, 1 => radius, 2 => quadrants, 1 => far]
}

/// How points weigh.
fn law() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "--power 1",
        "--power 2.5",
        "--power 4 --smoothing 7",
        "--smoothing 20",
        "--kernel gaussian --bandwidth 60",
        "--kernel tricube --bandwidth 150",
    ])
}

fn case() -> impl Strategy<Value = Case> {
    let cloud = (0..GENERATORS.len(), any::<u64>(), prop_oneof![1..60_usize, 200..900_usize]);
    let tiles = (16..60_u32, any::<bool>(), any::<bool>());
    (cloud, search(), law(), 12.0..60.0, tiles).prop_map(
        |((cloud, seed, points), (search, most, is_ordered), law, cell, tiles)| {
            let (tile, has_bins, on_device) = tiles;
            // Sums over all points take no kernel function, and adaptive powers no law.
            let law = if ["", "--adaptive"].contains(&&search[..]) { "" } else { law };
            let words = format!("{search} {law} --resolution {cell}");
            let words = words.split_whitespace().map(str::to_owned).collect();
            let is_on_device = on_device && is_ordered && cfg!(feature = "cuda");
            let device = if is_on_device { "software" } else { "cpu" };
            Case { cloud, seed, points: points.min(most), words, tile, has_bins, device }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: number("TESSERA_CASES", 32), failure_persistence: None, ..Default::default() })]

    #[test]
    fn tiles_have_the_bytes_of_one_run(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let is_globe = case.words.iter().any(|word| word == "--geographic");
        let mut cloud = GENERATORS[case.cloud](case.points, case.seed);
        if is_globe {
            cloud = cloud.on_globe();
        }
        write_points(folder, &cloud);
        let bounds = if is_globe { "--bounds=-180,-90,180,90" } else { "--bounds=-150,200,1100,900" };
        let mut words = vec!["1.csv", "2.csv", "--prediction-error", bounds];
        words.extend(case.words.iter().map(String::as_str));
        PROGRAM.succeeds(folder, &[&words[..], &["-o", "plain.tif", "--device", case.device]].concat());
        let tile = case.tile.to_string();
        words.extend(["--tile-size", &tile]);
        let before = if case.has_bins { &["bin"][..] } else { &[] };
        in_tiles(&PROGRAM, folder, &words, before, case.device, &["-o", "tiles.tif"]);
        prop_assert!(is_same(folder, "plain.tif", "tiles.tif"));
    }
}
