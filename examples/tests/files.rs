//! What the programs do to files: nothing is lost, and nothing unfinished is left.

mod program;

use std::path::Path;
use std::process::{Command, Stdio};

use geo_io::{LasPoints, write_las, write_npy};
use program::{Program, files};
use tempfile::TempDir;

const LIDAR: Program = Program { name: "lidar_dem", path: env!("CARGO_BIN_EXE_lidar_dem") };
const IDW: Program = Program { name: "idw_surface", path: env!("CARGO_BIN_EXE_idw_surface") };
const DISTANCE: Program =
    Program { name: "distance_transform", path: env!("CARGO_BIN_EXE_distance_transform") };

const PLANE: &str = "x,y,z\n0.5,0.5,1\n9.5,0.5,1\n0.5,9.5,4\n9.5,9.5,4\n5.5,5.5,2.5\n";

fn folder_of_inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.csv"), PLANE).unwrap();
    write_npy(&folder.path().join("mask.npy"), &[1u8, 0, 0, 0], 2, 2).unwrap();
    folder
}

/// The bytes of all files of a folder.
fn contents(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    files(folder).into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn an_existing_file_is_replaced_only_where_asked_for() {
    let folder = folder_of_inputs();
    let cpu = ["--device", "cpu"];
    for (program, arguments) in [
        (&LIDAR, &["points.csv", "-o", "a.tif", "--slope", "b.npy", "--contours", "c.fgb"][..]),
        (&IDW, &["points.csv", "-o", "d.tif"]),
        (&DISTANCE, &["mask.npy", "-o", "e.npy", "--nearest", "f.npy"]),
    ] {
        let once = [arguments, &cpu].concat();
        program.succeeds(folder.path(), &once);
        let before = contents(folder.path());
        program.fails(folder.path(), &once, &["exists", "--overwrite"]);
        assert_eq!(contents(folder.path()), before);
        program.succeeds(folder.path(), &[&once[..], &["--overwrite"]].concat());
    }
}

#[test]
fn no_output_replaces_an_input_or_another_output() {
    let folder = folder_of_inputs();
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    let before: Vec<_> = files(folder.path());
    for (program, arguments) in [
        (&LIDAR, &["points.csv", "-o", "./points.csv"][..]),
        (&LIDAR, &["points.csv", "-o", "a.tif", "--slope", "inner/../a.tif"]),
        (&LIDAR, &["points.csv", "-o", "a.tif", "--hillshade", "a.tif"]),
        (&LIDAR, &["points.csv", "--relief", "r.png", "--hillshade", "./r.png"]),
        (&IDW, &["points.csv", "-o", "inner/../points.csv"]),
        (&DISTANCE, &["mask.npy", "-o", "mask.npy"]),
        (&DISTANCE, &["mask.npy", "-o", "d.npy", "--nearest", "mask.npy"]),
        (&DISTANCE, &["mask.npy", "-o", "d.npy", "--nearest", "./d.npy"]),
    ] {
        for more in [&[][..], &["--overwrite"]] {
            let arguments = [arguments, more, &["--device", "cpu"]].concat();
            program.fails(folder.path(), &arguments, &["same file"]);
        }
    }
    assert_eq!(files(folder.path()), before);
    assert_eq!(std::fs::read_to_string(folder.path().join("points.csv")).unwrap(), PLANE);
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
    LIDAR.succeeds(folder.path(), &run);
    assert!(at("dem.npy").is_symlink() && at("real/dem.npy").is_file());
    LIDAR.fails(folder.path(), &run, &["exists"]);
    LIDAR.fails(folder.path(), &["alias.csv", "-o", "points.csv"], &["same file", "alias.csv"]);
}

/// The first command of the README, again and again: its own files stay, others are not touched.
#[test]
fn the_simulated_survey_repeats_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let first = ["--survey-points", "3000", "--device", "cpu"];
    LIDAR.succeeds(folder.path(), &first);
    let before = contents(folder.path());
    assert_eq!(before.len(), 3);
    LIDAR.succeeds(folder.path(), &first);
    assert_eq!(contents(folder.path()), before);
    LIDAR.fails(
        folder.path(),
        &[&first[..], &["--seed", "2"]].concat(),
        &["survey.laz", "differs"],
    );
    std::fs::write(folder.path().join("dem.tif"), "somebody's").unwrap();
    LIDAR.fails(folder.path(), &first, &["dem.tif", "differs", "--overwrite"]);
    LIDAR.succeeds(folder.path(), &[&first[..], &["--overwrite"]].concat());
    assert_eq!(contents(folder.path()), before);
    IDW.succeeds(folder.path(), &["--sample-points", "50", "--size", "8x8", "--device", "cpu"]);
    IDW.succeeds(folder.path(), &["--sample-points", "50", "--size", "8x8", "--device", "cpu"]);
    IDW.fails(folder.path(), &["--sample-points", "51", "--device", "cpu"], &["surface.tif"]);
}

/// A run that takes long enough to be interrupted while it writes.
#[cfg(unix)]
fn ended_by(signal: &str, status: i32) {
    let folder = tempfile::tempdir().unwrap();
    let side = 4000;
    let mask: Vec<u8> = (0..side * side).map(|i| u8::from(i % 9973 == 0)).collect();
    write_npy(&folder.path().join("mask.npy"), &mask, side, side).unwrap();
    let before = files(folder.path());
    let child = Command::new(DISTANCE.path)
        .current_dir(folder.path())
        .args(["mask.npy", "-o", "d.tif", "-o", "d.npy", "--device", "cpu", "--compress", "lzw"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // As soon as a part is there, the program is writing.
    let start = std::time::Instant::now();
    while files(folder.path()) == before && start.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{errors}");
    assert_eq!(errors.matches('\n').count(), 1, "{errors:?}");
    assert!(errors.starts_with("distance_transform: "), "{errors:?}");
    let left = files(folder.path());
    let parts = left.iter().filter(|path| path.extension().is_some_and(|e| e == "part"));
    assert_eq!(parts.count(), 0, "{left:?}");
}

#[test]
#[cfg(unix)]
fn an_interruption_leaves_no_part() {
    ended_by("-INT", 130);
}

#[test]
#[cfg(unix)]
fn a_termination_leaves_no_part() {
    ended_by("-TERM", 2);
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
            .args(["-c", &script, LIDAR.path, "many.las", "--device", "cpu", "--threads", "1"])
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{more} MiB: {errors}");
        assert_eq!(errors.matches('\n').count(), 1, "{more} MiB: {errors:?}");
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
        command.current_dir(folder.path()).args(["-c", &script, LIDAR.path, "points.csv"]);
        command.args(["--device", "cpu", "--threads", "1", "--overwrite"]);
        command.output().unwrap().status.success()
    };
    (16..4096).step_by(16).find(passes).expect("4 GiB are enough to start")
}
