//! Kriging: two bands, the same on every device and in tiles, by a variogram that is given or fitted.

use std::path::Path;

use testing::Random;
use testing::program::is_same;
use testing::tiles::in_tiles;
use tiff_reader::TiffFile;

use crate::PROGRAM;

const MERGE: [&str; 3] = ["-o", "tiles.tif", "--overwrite"];

/// Two files of points with a void between them, and values of a field with noise.
fn write_points(folder: &Path) {
    let mut random = Random::new(3);
    for (name, west) in [("a.csv", 0.0), ("b.csv", 130.0)] {
        let mut text = String::from("x,y,z\n");
        for _ in 0..1500 {
            let (x, y) = (west + 60.0 * random.unit(), 80.0 * random.unit());
            let z = 100.0 + 5.0 * (x / 9.0).sin() * (y / 11.0).cos() + random.unit();
            text += &format!("{x},{y},{z}\n");
        }
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// The numbers of each band.
pub(crate) fn bands(path: &Path) -> Vec<Vec<f32>> {
    let file = TiffFile::open(path).unwrap();
    let image = file.ifd(0).unwrap();
    let bytes = file.read_image_bytes(0).unwrap();
    let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|&b| f32::from_ne_bytes(b)).collect();
    let count = numbers.len() / (image.width() as usize * image.height() as usize);
    (0..count).map(|k| numbers.iter().skip(k).step_by(count).copied().collect()).collect()
}

#[test]
fn a_surface_has_values_and_variances_on_every_device() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let points = "x,y,z\n0.5,0.5,1\n9.5,0.5,2\n0.5,9.5,3\n9.5,9.5,4\n5.0,5.5,2.5\n";
    std::fs::write(folder.join("points.csv"), points).unwrap();
    for device in ["cpu", "software"] {
        let out = format!("{device}.tif");
        let run = ["points.csv", "--variogram", "nugget:0.1+exponential:2,8", "--variance"];
        let rest = ["--resolution", "1", "--bounds=0,0,10,10", "--device", device, "-o", &out];
        let report = PROGRAM.json(folder, &[&run[..], &rest].concat());
        assert_eq!(report["variogram"], "nugget:0.1+exponential:2.0,8.0", "{report}");
        assert!(report["variance"]["range"][1].as_f64().unwrap() > 0.5, "{report}");
        let found = bands(&folder.join(out));
        assert_eq!(found.len(), 2);
        for (cell, value) in [(0, 3.0), (9, 4.0), (90, 1.0), (99, 2.0)] {
            assert_eq!((found[0][cell], found[1][cell]), (value, 0.0));
        }
        assert!(found[1].iter().all(|variance| (0.0..4.2).contains(variance)));
    }
    assert!(is_same(folder, "cpu.tif", "software.tif"));
    let npy =
        ["points.csv", "--variogram", "spherical:1,20", "-o", "values.npy", "--device", "cpu"];
    PROGRAM.succeeds(folder, &npy);
}

#[test]
fn tiles_have_the_bytes_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_points(folder);
    let base = ["a.csv", "b.csv", "--resolution", "2", "--bounds=-10,5,210,75", "--variance"];
    for (device, more) in [
        ("cpu", &["--variogram", "fit"][..]),
        ("software:2", &["--variogram", "fit:exponential", "--cutoff", "40", "--max-points", "7"]),
        ("cpu", &["--variogram", "fit", "--radius", "12", "--min-points", "2"]),
        (
            "cpu",
            &["--variogram", "gaussian:12,15+nugget:1+anisotropy:40,0.5", "--max-points", "24"],
        ),
    ] {
        let words = [&base[..], more].concat();
        let device_of_one = device.split(':').next().unwrap();
        let one = ["-o", "plain.tif", "--overwrite", "--device", device_of_one];
        PROGRAM.succeeds(folder, &[&words[..], &one].concat());
        let words = [&words[..], &["--tile-size", "23"]].concat();
        for before in [&[][..], &["bin"]] {
            assert!(in_tiles(&PROGRAM, folder, &words, before, device, &MERGE) > 6);
            assert!(is_same(folder, "plain.tif", "tiles.tif"), "{more:?}, {before:?}");
        }
        assert_eq!(bands(&folder.join("tiles.tif")).len(), 2);
    }
}

#[test]
fn a_variogram_is_fitted_and_validated() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_points(folder);
    let run =
        ["a.csv", "--variogram", "fit", "--cutoff", "30", "--cross-validate", "--device", "cpu"];
    let report = PROGRAM.json(folder, &[&run[..], &["-o", "out.tif"]].concat());
    let found = &report["cross_validation"][0];
    let number = |name: &str| found[name].as_f64().unwrap();
    // The noise is uniform from 0 to 1.
    assert!(number("rmse") < 0.6 && number("bias").abs() < 0.05, "{report}");
    assert!((0.5..2.0).contains(&number("deviation_ratio")), "{report}");
    assert_eq!(report["fit"]["points"], 1500);
    assert_eq!(report["fit"]["lags"].as_array().unwrap().len(), 15);
    let planned = PROGRAM.json(folder, &["plan", "a.csv", "--variogram", "fit", "--cutoff", "30"]);
    assert_eq!(planned["variogram"], report["variogram"]);
}

#[test]
fn points_that_share_a_place_predict_each_other_and_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = ["--variogram", "spherical:1,20", "--cross-validate", "--bounds=0,0,9,9"];
    let validate = |rows: &str| {
        std::fs::write(folder.join("p.csv"), format!("x,y,z\n{rows}")).unwrap();
        let run = [&["p.csv"], &words[..], &["--resolution", "3", "--overwrite"]].concat();
        (PROGRAM.json(folder, &run)["cross_validation"][0].clone(), PROGRAM.succeeds(folder, &run))
    };
    let note = "points share a place with others";
    // The two at one place have errors of 2 and -2, the others those of the others' mean.
    let (found, text) = validate("0,0,1\n0,0,3\n9,0,2\n0,9,2\n");
    assert!(text.contains(&format!("2 of 4 {note}")), "{text}");
    let squares = 4.0 * found["rmse"].as_f64().unwrap().powi(2);
    assert!((squares - 8.0).abs() < 1e-9, "{found}");
    assert!(found["deviation_ratio"].as_f64().unwrap().abs() < 1e-9, "{found}");
    let (found, text) = validate("0,0,1\n0,0,1\n4,4,2\n4,4,2\n");
    assert!(text.contains(&format!("4 of 4 {note}")), "{text}");
    assert!(text.contains("mean squared deviation ratio unknown"), "{text}");
    assert!(found["deviation_ratio"].is_null() && found["rmse"] == 0.0, "{found}");
    let (_, text) = validate("0,0,1\n9,0,2\n0,9,2\n");
    assert!(!text.contains(note), "{text}");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_points(folder);
    let flat: String = (0..99).map(|i| format!("{},{},1\n", i % 10, i / 10)).collect();
    std::fs::write(folder.join("flat.csv"), format!("x,y,z\n{flat}")).unwrap();
    std::fs::write(folder.join("far.csv"), "x,y,z\n0,0,1\n1e200,0,1\n").unwrap();
    let spherical = ["--variogram", "spherical:1,9"];
    for (more, words) in [
        (&["--variogram", "linear:1,2"][..], &["linear"][..]),
        (&["--variogram", "spherical:-1,2"], &["sill -1"]),
        (&["--variogram", "fit:cubic"], &["cubic"]),
        (&["--variance"], &["--variogram"]),
        (&["--cutoff", "5"], &["--variogram"]),
    ] {
        PROGRAM.fails(folder, &[&["a.csv"], more].concat(), words);
    }
    for (more, words) in [
        (&["--power", "2"][..], &["--power"][..]),
        (&["--geographic"], &["--geographic"]),
        (&["--per-quadrant", "1,2"], &["--per-quadrant"]),
        (&["--max-points", "65"], &["--max-points 65", "64"]),
        (&["--min-points", "17"], &["--min-points 17", "16"]),
        (&["--variance", "-o", "out.npy"], &["--variance", ".tif"]),
        (&["--variance", "-o", "out.png"], &["--variance", ".tif"]),
    ] {
        PROGRAM.fails(folder, &[&["a.csv"], &spherical[..], more].concat(), words);
    }
    let cpu = ["--device", "cpu", "-o", "out.tif"];
    PROGRAM.fails(folder, &[&["flat.csv", "--variogram", "fit"], &cpu[..]].concat(), &["same"]);
    PROGRAM.fails(folder, &["plan", "flat.csv", "--variogram", "fit"], &["same"]);
    PROGRAM.fails(folder, &[&["far.csv", "--size", "3x3"], &spherical[..], &cpu].concat(), &[]);
}

/// The standard deviation of a cell's points, by inverse distances.
#[test]
fn the_deviation_of_the_points_is_a_second_band() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_points(folder);
    let base = ["a.csv", "b.csv", "--resolution", "2", "--bounds=-10,5,210,75", "--deviation"];
    for more in [
        &["--max-points", "7"][..],
        &["--radius", "9", "--max-points", "30"],
        &["--per-quadrant", "0,2"],
    ] {
        let words = [&base[..], more].concat();
        let one = ["-o", "plain.tif", "--overwrite", "--device", "cpu"];
        let report = PROGRAM.json(folder, &[&words[..], &one].concat());
        assert!(report["deviation"]["range"][0].as_f64().unwrap() >= 0.0, "{report}");
        let words = [&words[..], &["--tile-size", "23"]].concat();
        assert!(in_tiles(&PROGRAM, folder, &words, &[], "cpu", &MERGE) > 6);
        assert!(is_same(folder, "plain.tif", "tiles.tif"), "{more:?}");
        let found = bands(&folder.join("tiles.tif"));
        assert_eq!(found.len(), 2);
        // The values alone are those without the band.
        let without = words
            .iter()
            .copied()
            .filter(|&word| word != "--deviation" && word != "23" && word != "--tile-size");
        let without: Vec<&str> =
            without.chain(["-o", "values.tif", "--overwrite", "--device", "cpu"]).collect();
        PROGRAM.succeeds(folder, &without);
        let alone = bands(&folder.join("values.tif"));
        assert!(alone[0].iter().zip(&found[0]).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    // A cell without a value has none, whatever points were found.
    for more in
        [&["--radius", "9", "--min-points", "3"][..], &["--per-quadrant", "1,2", "--radius", "20"]]
    {
        let run = [
            "a.csv",
            "--deviation",
            "--size",
            "50x40",
            "--device",
            "cpu",
            "-o",
            "few.tif",
            "--overwrite",
        ];
        PROGRAM.succeeds(folder, &[&run[..], more].concat());
        let found = bands(&folder.join("few.tif"));
        let is_none = |value: &f32| *value == -9999.0 || value.is_nan();
        let without = found[0].iter().filter(|value| is_none(value)).count();
        assert!((1..2000).contains(&without), "{without}");
        let mut both = found[0].iter().zip(&found[1]);
        assert!(both.all(|(value, deviation)| is_none(value) == is_none(deviation)));
    }
    // One point has no deviation.
    let run = ["a.csv", "--max-points", "1", "--deviation", "--size", "9x9", "--device", "cpu"];
    PROGRAM.succeeds(folder, &[&run[..], &["-o", "one.tif"]].concat());
    assert!(bands(&folder.join("one.tif"))[1].iter().all(|&deviation| deviation == 0.0));
    PROGRAM.fails(folder, &["a.csv", "--deviation"], &["--deviation", "--max-points"]);
    let npy = ["a.csv", "--deviation", "--max-points", "5", "-o", "out.npy"];
    PROGRAM.fails(folder, &npy, &["--deviation", ".tif"]);
    let both = ["a.csv", "--deviation", "--max-points", "5", "--variogram", "spherical:1,9"];
    PROGRAM.fails(folder, &both, &["--variogram"]);
}

#[test]
fn what_cannot_be_fitted_is_refused_with_what_to_give() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("two.csv"), "x,y,z\n0,0,1\n3,4,2\n").unwrap();
    let words = ["fails for 2 points", "--cutoff", "--variogram spherical:1,250"];
    PROGRAM.fails(folder, &["two.csv", "--variogram", "fit"], &words);
    PROGRAM.fails(folder, &["plan", "two.csv", "--variogram", "fit"], &words);
    write_points(folder);
    let run = ["a.csv", "--variogram", "fit", "--cutoff", "1e-9"];
    PROGRAM.fails(folder, &run, &["up to 1.00e-9 (--cutoff)", "--variogram spherical:1,250"]);
}

/// EPSG:2048 counts westings and southings, by the EPSG list.
#[test]
fn directions_are_refused_where_the_system_has_the_north_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let text = "x,y,z\n1,1,1\n9,1,2\n1,9,3\n9,9,4\n5,5,2\n";
    std::fs::write(folder.path().join("p.csv"), text).unwrap();
    let common = ["p.csv", "--resolution", "1", "--crs", "EPSG:2048", "--device", "cpu"];
    let axes = "x grows to the west and y to the south";
    let anisotropic = ["--variogram", "spherical:1,9+anisotropy:40,0.5"];
    PROGRAM.fails(folder.path(), &[&common[..], &anisotropic].concat(), &["--variogram", axes]);
    PROGRAM.fails(folder.path(), &[&common[..], &["-o", "a.png"]].concat(), &[".png", axes]);
    PROGRAM.succeeds(folder.path(), &[&common[..], &["--variogram", "spherical:1,9"]].concat());
}
