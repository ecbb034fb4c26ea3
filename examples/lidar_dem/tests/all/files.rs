//! What `lidar_dem` does to files: nothing is lost, and nothing unfinished is left.

use std::process::Command;

use geo_io::{LasPoints, write_las};
use tempfile::TempDir;
use testing::files::las::{Las, Record};
use testing::program::{PLANE, contents, files};

use crate::PROGRAM;

fn folder_of_inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.csv"), PLANE).unwrap();
    folder
}

#[test]
fn an_existing_file_is_replaced_only_where_asked_for() {
    let outputs = ["points.csv", "-o", "a.tif", "--slope", "b.npy", "--contours", "c.fgb"];
    PROGRAM.replaces_only_where_asked(folder_of_inputs().path(), &outputs);
}

#[test]
fn no_output_replaces_an_input_or_another_output() {
    let folder = folder_of_inputs();
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    let cases: [&[&str]; 4] = [
        &["points.csv", "-o", "./points.csv"],
        &["points.csv", "-o", "a.tif", "--slope", "inner/../a.tif"],
        &["points.csv", "-o", "a.tif", "--hillshade", "a.tif"],
        &["points.csv", "--relief", "r.png", "--hillshade", "./r.png"],
    ];
    PROGRAM.refuses_one_file_twice(folder.path(), &cases);
}

#[test]
#[cfg(unix)]
fn links_are_followed() {
    use std::os::unix::fs::symlink;
    let folder = folder_of_inputs();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("real")).unwrap();
    symlink("real/dem.npy", at("dem.npy")).unwrap();
    symlink("points.csv", at("alias.csv")).unwrap();
    let run = ["points.csv", "-o", "dem.npy", "--device", "cpu"];
    PROGRAM.succeeds(folder.path(), &run);
    assert!(at("dem.npy").is_symlink() && at("real/dem.npy").is_file());
    PROGRAM.fails(folder.path(), &run, &["exists"]);
    PROGRAM.fails(folder.path(), &["alias.csv", "-o", "points.csv"], &["same file", "alias.csv"]);
}

/// The first command of the README, again and again: its own files stay, others are not touched.
#[test]
fn the_simulated_survey_repeats_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let first = ["--survey-points", "3000", "--device", "cpu"];
    PROGRAM.succeeds(folder.path(), &first);
    let before = contents(folder.path());
    assert_eq!(before.len(), 3);
    PROGRAM.succeeds(folder.path(), &first);
    assert_eq!(contents(folder.path()), before);
    PROGRAM.fails(
        folder.path(),
        &[&first[..], &["--seed", "2"]].concat(),
        &["survey.laz", "differs"],
    );
    std::fs::write(folder.path().join("dem.tif"), "somebody's").unwrap();
    PROGRAM.fails(folder.path(), &first, &["dem.tif", "differs", "--overwrite"]);
    PROGRAM.succeeds(folder.path(), &[&first[..], &["--overwrite"]].concat());
    assert_eq!(contents(folder.path()), before);
}

/// Under a limit of memory that the points or their grid pass: code 2 and one line, whoever finds out.
#[test]
#[cfg(target_os = "linux")]
fn the_end_of_memory_is_one_line_and_leaves_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let x: Vec<f64> = (0..2_000_000).map(|i| f64::from(i % 1500)).collect();
    let y: Vec<f64> = (0..2_000_000).map(|i| f64::from(i / 1500)).collect();
    let points = LasPoints { x: &x, y: &y, z: &x, ..Default::default() };
    write_las(&folder.path().join("many.las"), &points, None).unwrap();
    let before = files(folder.path());
    let base = mebibytes_at_start();
    for more in [10, 25, 40, 55] {
        let limit = (base + more) * 1024;
        let script = format!("ulimit -v {limit}; exec \"$0\" \"$@\"");
        let output = Command::new("sh")
            .current_dir(folder.path())
            .args(["-c", &script, PROGRAM.path, "many.las", "--device", "cpu", "--threads", "1"])
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{more} MiB: {errors}");
        // Where std finds out, it adds a note on backtraces, which nothing stable switches off. Who finds out depends
        // on the room that the program itself takes.
        let is_note = |line: &&str| line.starts_with("note: run with `RUST_BACKTRACE=1`");
        let lines = errors.lines().filter(|line| !is_note(line));
        assert_eq!(lines.count(), 1, "{more} MiB: {errors:?}");
        assert!(errors.contains("memory"), "{more} MiB: {errors:?}");
        assert_eq!(files(folder.path()), before, "{more} MiB");
    }
}

/// The address space that the program takes before it reads anything, found by the limit that lets a small
/// run pass.
#[cfg(target_os = "linux")]
fn mebibytes_at_start() -> u64 {
    let folder = folder_of_inputs();
    let passes = |limit: &u64| {
        let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", limit * 1024);
        let mut command = Command::new("sh");
        command.current_dir(folder.path()).args(["-c", &script, PROGRAM.path, "points.csv"]);
        command.args(["--device", "cpu", "--threads", "1", "--overwrite"]);
        command.output().unwrap().status.success()
    };
    (16..4096).step_by(16).find(passes).expect("4 GiB are enough to start")
}

#[test]
fn a_system_that_a_zarr_store_cannot_name_is_noted_by_runs_and_plans() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let points = vec![[0.0, 0.0, 1.0], [9.0, 0.0, 2.0], [0.0, 9.0, 3.0], [9.0, 9.0, 4.0]];
    // A projected system in metres, of the user's own in keys alone, and UTM zone 32 N.
    for (system, is_named) in [(32_767, false), (32_632, true)] {
        let keys = Record::keys(&[(1024, 1), (3072, system), (3076, 9001)]);
        let las = Las { records: vec![keys], ..Las::new(points.clone()) };
        std::fs::write(here.join("a.las"), las.bytes()).unwrap();
        for (run, is_zarr) in [
            (&["a.las", "-o", "a.zarr"][..], true),
            (&["a.las", "-o", "a.tif", "--slope", "a.zarr"], true),
            (&["plan", "a.las", "--method", "pixels", "--zarr", "tiles.zarr"], true),
            (&["a.las", "-o", "a.tif"], false),
        ] {
            let run = [run, &["--resolution", "1", "--overwrite"]].concat();
            let report = PROGRAM.succeeds(here, &run);
            let is_noted = report.contains(".zarr names no coordinate system: ");
            assert_eq!(is_noted, is_zarr && !is_named, "{run:?}: {report}");
        }
        let store = geo_io::read_raster(&here.join("a.zarr"), None).unwrap();
        let code = store.georeference.unwrap().crs.and_then(|crs| crs.epsg());
        assert_eq!((code, store.notes), (is_named.then_some(system), vec![]));
    }
}
