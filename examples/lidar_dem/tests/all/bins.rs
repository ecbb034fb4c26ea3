//! Bins of a plan: made in one pass, killed and made again, damaged, incomplete, removed; within the memory of the
//! plan.

use std::path::{Path, PathBuf};

use geo_io::{LasPoints, write_las};
use testing::Random;
use testing::program::files;
use testing::tiles::{bins_of, folder_of, kill_at_random};

use crate::PROGRAM;

const RUN: [&str; 5] = ["run", "plan.json", "--all", "--device", "cpu"];

/// A folder with a simulated survey, its DEM of one run as `plain.tif`, and a plan with so little memory that the bins
/// take several files.
fn planned() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let words = ["survey.laz", "--method", "pixels", "--max-distance", "6"];
    let simulate = ["--survey-points", "60000", "--device", "cpu"];
    PROGRAM.succeeds(folder.path(), &simulate);
    let plain = [&words[..], &["-o", "plain.tif", "--device", "cpu"]].concat();
    PROGRAM.succeeds(folder.path(), &plain);
    PROGRAM.succeeds(folder.path(), &[&["plan", "--memory", "65MiB"], &words[..]].concat());
    folder
}

fn bins(folder: &Path) -> PathBuf {
    bins_of(folder, "plan.json")
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn merged_is_plain(folder: &Path) {
    PROGRAM.succeeds(folder, &["merge", "plan.json", "-o", "merged.tif", "--overwrite"]);
    assert!(bytes(&folder.join("plain.tif")) == bytes(&folder.join("merged.tif")));
}

/// Standard error and the exit status of a run.
fn outcome(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = PROGRAM.command(folder, arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn killed_at_random_and_binned_again_it_is_the_same() {
    let folder = planned();
    let folder = folder.path();
    kill_at_random(&PROGRAM, folder, &bins(folder), &["bin", "plan.json"]);
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    let again = PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    assert!(again.contains("0 put into bins"), "{again}");
    PROGRAM.succeeds(folder, &RUN);
    merged_is_plain(folder);
}

#[test]
fn a_second_start_goes_on_where_the_first_ended() {
    let folder = planned();
    let folder = folder.path();
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    let runs = files(&bins(folder));
    let whole: Vec<Vec<u8>> = runs.iter().map(|path| bytes(path)).collect();
    assert!(runs.len() > 2, "{runs:?}");
    for left in 0..runs.len() {
        for path in &runs[left..] {
            std::fs::remove_file(path).unwrap();
        }
        let report = PROGRAM.json(folder, &["bin", "plan.json"]);
        assert_eq!(report["points"]["there"].as_u64().unwrap() > 0, left > 0, "{report}");
        let again: Vec<Vec<u8>> = runs.iter().map(|path| bytes(path)).collect();
        assert!(again == whole, "{left} were left");
    }
}

/// The CRC-32 of some bytes (IEEE 802.3).
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

/// A file of bins that says, with right checksums, that it ends behind inputs or points that the plan does not have.
#[test]
fn bins_that_end_behind_the_last_input_are_named() {
    let folder = planned();
    let folder = folder.path();
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    let runs = files(&bins(folder));
    runs[1..].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let mut run = bytes(&runs[0]);
    for input in [2, u64::MAX] {
        run[88..96].copy_from_slice(&input.to_le_bytes());
        run[96..104].copy_from_slice(&u64::MAX.to_le_bytes());
        let sum = crc(&run[..168]);
        run[168..172].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&runs[0], &run).unwrap();
        PROGRAM.fails(folder, &["bin", "plan.json"], &["bins-", "--remove"]);
    }
}

#[test]
fn bins_that_are_not_complete_are_passed_over() {
    let folder = planned();
    let folder = folder.path();
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    let runs = files(&bins(folder));
    std::fs::remove_file(runs.last().unwrap()).unwrap();
    let report = PROGRAM.succeeds(folder, &RUN);
    assert!(report.contains("is not complete") && report.contains("lidar_dem bin"), "{report}");
    merged_is_plain(folder);
}

#[test]
fn damaged_bins_are_named_and_can_be_made_again() {
    let folder = planned();
    let folder = folder.path();
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    let path = bins(folder).join("1.points");
    let whole = bytes(&path);

    // The points: the tiles that read them fail.
    let mut bad = whole.clone();
    bad[5000] ^= 1;
    std::fs::write(&path, &bad).unwrap();
    let (status, errors) = outcome(folder, &RUN);
    assert_eq!(status, Some(2), "{errors}");
    let lines: Vec<&str> = errors.lines().collect();
    let (last, tiles) = lines.split_last().unwrap();
    assert!(last.contains("tiles failed") && !tiles.is_empty(), "{errors}");
    for line in tiles {
        assert!(line.starts_with("lidar_dem: tile ") && line.contains("1.points"), "{line}");
        assert!(
            line.contains("make the bins again (lidar_dem bin --remove, lidar_dem bin)"),
            "{line}"
        );
    }
    assert!(!files(&folder_of(folder, "plan.json")).is_empty(), "the others are made");

    // The header: nothing begins.
    bad[50] ^= 1;
    std::fs::write(&path, &bad).unwrap();
    PROGRAM.fails(folder, &RUN, &["1.points", "bin --remove"]);
    PROGRAM.fails(folder, &["bin", "plan.json"], &["1.points", "bin --remove"]);

    PROGRAM.succeeds(folder, &["bin", "plan.json", "--remove"]);
    assert!(!bins(folder).exists());
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    assert!(bytes(&path) == whole);
    PROGRAM.succeeds(folder, &RUN);
    merged_is_plain(folder);
}

/// As where the disk is full: the file is named, nothing half done is left, and the next start goes on.
#[test]
#[cfg(unix)]
fn bins_that_cannot_be_written_are_named() {
    let folder = planned();
    let folder = folder.path();
    let mut command = std::process::Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 300; exec \"$0\" \"$@\"";
    command.current_dir(folder).args(["-c", script, PROGRAM.path, "bin", "plan.json"]);
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), errors.lines().count()), (Some(2), 1), "{errors}");
    assert!(errors.contains("cannot write") && errors.contains("0.points"), "{errors}");
    assert_eq!(files(&bins(folder)), Vec::<PathBuf>::new());
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    PROGRAM.succeeds(folder, &RUN);
    merged_is_plain(folder);
}

#[test]
fn an_input_that_changed_is_named_with_bins_and_without() {
    let folder = planned();
    let folder = folder.path();
    let input = folder.join("survey.laz");
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    let whole = bytes(&input);
    std::fs::write(&input, [&whole[..], b"more"].concat()).unwrap();
    let words = ["survey.laz has changed"];
    std::fs::create_dir(folder_of(folder, "plan.json")).unwrap();
    PROGRAM.fails(folder, &["run", "plan.json", "--tile", "0", "--device", "cpu"], &words);
    PROGRAM.succeeds(folder, &["bin", "plan.json", "--remove"]);
    std::fs::create_dir(bins(folder)).unwrap();
    PROGRAM.fails(folder, &["bin", "plan.json"], &words);
    std::fs::remove_file(&input).unwrap();
    PROGRAM.fails(folder, &["bin", "plan.json"], &["survey.laz", "No such file"]);
}

#[test]
fn only_bins_are_removed() {
    let folder = planned();
    let folder = folder.path();
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    std::fs::write(bins(folder).join("notes.txt"), "mine").unwrap();
    let before = files(folder);
    let report = PROGRAM.succeeds(folder, &["bin", "plan.json", "--remove"]);
    assert!(report.contains("files of bins"), "{report}");
    assert_eq!(files(folder), before);
    assert_eq!(files(&bins(folder)), [bins(folder).join("notes.txt")]);
    let report = PROGRAM.succeeds(folder, &["bin", "plan.json", "--remove", "--json"]);
    assert!(report.contains("\"removed\":0"), "{report}");
}

/// A cloud that would take four times the memory at once, as the plan counts it.
#[test]
#[cfg(target_os = "linux")]
fn binning_and_tiles_of_bins_keep_the_memory_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random::new(3);
    let memory = 110_u64 << 20;
    // Bytes of a point that is read and one that is made, on pixels.
    let (files, points) = (3, (4 * memory).div_ceil(60 + 80) / 3);
    for file in 0..files {
        let mut column = |low: f64, side: f64| -> Vec<f64> {
            (0..points).map(|_| random.between(low, low + side)).collect()
        };
        let (x, y, z) =
            (column(400.0 * f64::from(file), 700.0), column(0.0, 900.0), column(0.0, 50.0));
        let points = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
        write_las(&folder.join(format!("{file}.laz")), &points, None).unwrap();
    }
    let words = ["plan", ".", "--method", "pixels", "--max-distance", "8", "--query-radius", "3"];
    let budget = ["--memory", "110MiB", "--resolution", "1"];
    PROGRAM.succeeds(folder, &[&words[..], &budget].concat());
    for arguments in [&["bin", "plan.json"][..], &RUN] {
        let peak = testing::tiles::peak_memory(&PROGRAM, folder, arguments);
        println!("{}: {} MiB at the peak", arguments[0], peak >> 20);
        assert!(peak <= memory * 11 / 10, "{}: {} MiB", arguments[0], peak >> 20);
    }
}
