//! What `distance_transform` does to files: nothing is lost, and nothing unfinished is left.

use std::process::{Command, Stdio};

use geo_io::write_npy;
use tempfile::TempDir;
use testing::program::files;

use crate::PROGRAM;

fn folder_of_inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_npy(&folder.path().join("mask.npy"), &[1u8, 0, 0, 0], 2, 2).unwrap();
    folder
}

#[test]
fn an_existing_file_is_replaced_only_where_asked_for() {
    let outputs = ["mask.npy", "-o", "e.npy", "--nearest", "f.npy"];
    PROGRAM.replaces_only_where_asked(folder_of_inputs().path(), &outputs);
}

#[test]
fn no_output_replaces_an_input_or_another_output() {
    let cases: [&[&str]; 3] = [
        &["mask.npy", "-o", "mask.npy"],
        &["mask.npy", "-o", "d.npy", "--nearest", "mask.npy"],
        &["mask.npy", "-o", "d.npy", "--nearest", "./d.npy"],
    ];
    PROGRAM.refuses_one_file_twice(folder_of_inputs().path(), &cases);
}

/// Sides of a raster whose distances are written once they are there, and of one for which room is taken before.
#[cfg(unix)]
const SIDES: [usize; 2] = [4000, 4200];

/// A run that takes long enough to be interrupted while it has an unfinished file.
#[cfg(unix)]
fn ended_by(signal: &str, status: i32, side: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mask: Vec<u8> = (0..side * side).map(|i| u8::from(i % 9973 == 0)).collect();
    write_npy(&folder.path().join("mask.npy"), &mask, side, side).unwrap();
    let before = files(folder.path());
    let child = Command::new(PROGRAM.path)
        .current_dir(folder.path())
        .args(["mask.npy", "-o", "d.tif", "-o", "d.npy", "--device", "cpu", "--compress", "lzw"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // As soon as a part is there, the program is writing, or has taken room.
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
    SIDES.iter().for_each(|&side| ended_by("-INT", 130, side));
}

#[test]
#[cfg(unix)]
fn a_termination_leaves_no_part() {
    SIDES.iter().for_each(|&side| ended_by("-TERM", 2, side));
}

/// Whatever ends a program by default: processor time, a scheduler's warning, the terminal.
#[test]
#[cfg(unix)]
fn other_signals_leave_no_part() {
    ["-XCPU", "-USR1", "-QUIT"].iter().for_each(|signal| ended_by(signal, 2, SIDES[0]));
}

/// As `nohup` starts a program, whose terminal may then be closed.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_was_switched_off_stays_so() {
    let folder = folder_of_inputs();
    let script = "trap '' HUP; \"$0\" \"$@\" > report & \
        sleep 0.2; kill -HUP $!; wait $!";
    let side = 2000;
    let mask: Vec<u8> = (0..side * side).map(|i| u8::from(i % 9973 == 0)).collect();
    write_npy(&folder.path().join("mask.npy"), &mask, side, side).unwrap();
    let line =
        ["-c", script, PROGRAM.path, "mask.npy", "-o", "d.npy", "-o", "d.tif", "--device", "cpu"];
    let output = Command::new("sh").current_dir(folder.path()).args(line).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(folder.path().join("d.npy").exists() && folder.path().join("d.tif").exists());
}

/// Room is taken for what is large: its bytes are those of what is written without.
#[test]
fn large_arrays_are_the_same_beside_other_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (width, height) = (4200, 4100);
    let mask: Vec<u8> = (0..width * height).map(|i| u8::from(i % 9973 == 0)).collect();
    write_npy(&folder.join("mask.npy"), &mask, width, height).unwrap();
    let line =
        ["mask.npy", "-o", "a.npy", "-o", "d.tif", "-o", "b.npy", "--nearest", "n.npy", "--json"];
    let report = PROGRAM.succeeds(folder, &[&line[..], &["--device", "cpu"]].concat());
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["written"].as_array().map(Vec::len), Some(4));
    let pixels = gpu_core::GridSpec::of_pixels(width as u32, height as u32);
    let input = pba_voronoi::Input::new(pba_voronoi::Sites::Mask(&mask), pixels);
    let params = pba_voronoi::Params::new().distance().nearest();
    let expected = pba_voronoi::transform(&gpu_core::Device::Cpu, &input, &params).unwrap();
    let distances = geo_io::ArrayData::F32(expected.distance.unwrap().into_values());
    for name in ["a.npy", "b.npy"] {
        assert!(geo_io::read_npy(&folder.join(name)).unwrap().data == distances, "{name}");
    }
    let pba_voronoi::Integers::U32(nearest) = expected.nearest.unwrap() else {
        panic!("they are short")
    };
    let written = geo_io::read_npy(&folder.join("n.npy")).unwrap();
    assert!(written.data == geo_io::ArrayData::U32(nearest.into_values()));
    assert_eq!(written.shape, [height, width]);
    assert_eq!(files(folder).len(), 5);
}

/// If a report cannot be written, the run fails. If its reader has gone, the run succeeds.
#[test]
#[cfg(target_os = "linux")]
fn a_report_that_cannot_be_written_is_an_error() {
    let folder = folder_of_inputs();
    let full = || std::fs::File::create("/dev/full").unwrap();
    let lines: [&[&str]; 4] = [
        &["mask.npy", "-o", "d.npy", "--device", "cpu", "--overwrite"],
        &["mask.npy", "-o", "d.npy", "--device", "cpu", "--overwrite", "--json"],
        &["--completions", "bash"],
        &["--man"],
    ];
    for line in lines {
        let output = PROGRAM.command(folder.path(), line).stdout(full()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), errors.lines().count()),
            (Some(2), 1),
            "{line:?}: {errors}"
        );
        assert!(errors.contains("No space left"), "{errors}");
    }
    assert!(folder.path().join("d.npy").exists());
}

/// As where the disk is full: one line, before the mask is read, and no file.
#[test]
#[cfg(target_os = "linux")]
fn distances_without_room_are_named() {
    // By a limit of the user's, whose signal a shell may have switched off or not.
    for (side, limit) in [(4200, 40_000), (1000, 1000)] {
        let folder = tempfile::tempdir().unwrap();
        write_npy(&folder.path().join("mask.npy"), &vec![1_u8; side * side], side, side).unwrap();
        for trap in ["trap '' XFSZ; ", ""] {
            let script = format!("{trap}ulimit -f {limit}; exec \"$0\" \"$@\"");
            let line = ["-c", &script, PROGRAM.path, "mask.npy", "-o", "d.npy", "--device", "cpu"];
            let output = Command::new("sh").current_dir(folder.path()).args(line).output().unwrap();
            let errors = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), errors.lines().count()), (Some(2), 1), "{errors}");
            assert!(errors.contains("cannot write") && errors.contains("d.npy"), "{errors}");
            assert_eq!(files(folder.path()).len(), 1);
        }
    }
}

/// Calls of the system's library that say that the disk is full, by the name in `FAILS`, for files that were written.
#[cfg(target_os = "linux")]
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int fails(int file, const char *call) {
    struct stat about;
    const char *wanted = getenv("FAILS");
    return wanted && !strcmp(wanted, call) && !fstat(file, &about) && S_ISREG(about.st_mode)
        && (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

static int call(int file, const char *name) {
    int is_failing = fails(file, name);
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int result = real(file);
    if (!is_failing) return result;
    errno = ENOSPC;
    return -1;
}

int fsync(int file) { return call(file, "fsync"); }
int close(int file) { return call(file, "close"); }
"#;

/// Some file systems say only when a file is synced or closed that they had no room for it.
#[test]
#[cfg(target_os = "linux")]
fn what_a_file_system_says_at_the_end_is_heard() {
    let folder = folder_of_inputs();
    let folder = folder.path();
    std::fs::write(folder.join("shim.c"), SHIM).unwrap();
    let built = Command::new("cc")
        .current_dir(folder)
        .args(["-shared", "-fPIC", "-o", "shim.so", "shim.c", "-ldl"])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        println!("skipped: there is no C compiler");
        return;
    }
    std::fs::write(folder.join("old.npy"), "old").unwrap();
    let before = files(folder);
    let shim = folder.join("shim.so");
    for call in ["fsync", "close"] {
        for output in ["d.npy", "d.tif", "old.npy"] {
            let line = ["mask.npy", "-o", output, "--overwrite", "--device", "cpu"];
            let mut command = PROGRAM.command(folder, &line);
            let ended = command.env("LD_PRELOAD", &shim).env("FAILS", call).output().unwrap();
            let errors = String::from_utf8(ended.stderr).unwrap();
            assert_eq!(ended.status.code(), Some(2), "{call}, {output}: {errors}");
            assert!(errors.contains(output) && errors.contains("No space left"), "{errors}");
            assert_eq!(files(folder), before, "{call}, {output}");
        }
    }
    assert_eq!(std::fs::read(folder.join("old.npy")).unwrap(), b"old");
}

#[test]
fn a_dash_is_refused_where_an_argument_needs_a_file() {
    PROGRAM.refuses_streams(&[
        ("-", "<MASK>"),
        ("mask.npy -o -", "--output"),
        ("mask.npy --nearest -", "--nearest"),
        ("plan - --max-distance 5", "<MASK>"),
        ("plan mask.tif --max-distance 5 -o -", "--output"),
    ]);
}
