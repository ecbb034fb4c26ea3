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

/// A run that takes long enough to be interrupted while it writes.
#[cfg(unix)]
fn ended_by(signal: &str, status: i32) {
    let folder = tempfile::tempdir().unwrap();
    let side = 4000;
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
