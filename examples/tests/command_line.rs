//! The command line of all programs: one set of options with one meaning.

mod program;

use std::io::Write;
use std::process::{Command, Stdio};

use program::Program;
use serde_json::Value;
use tempfile::TempDir;

const LIDAR: Program = Program { name: "lidar_dem", path: env!("CARGO_BIN_EXE_lidar_dem") };
const IDW: Program = Program { name: "idw_surface", path: env!("CARGO_BIN_EXE_idw_surface") };
const DISTANCE: Program =
    Program { name: "distance_transform", path: env!("CARGO_BIN_EXE_distance_transform") };
const ALL: [&Program; 3] = [&LIDAR, &IDW, &DISTANCE];

const PLANE: &str = "x,y,z\n0.5,0.5,1\n9.5,0.5,1\n0.5,9.5,4\n9.5,9.5,4\n5.5,5.5,2.5\n";

fn folder_of_inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("points.csv"), PLANE).unwrap();
    let (west, east) =
        (&PLANE.lines().collect::<Vec<_>>()[1..4], &PLANE.lines().collect::<Vec<_>>()[4..]);
    std::fs::create_dir(at("tiles")).unwrap();
    std::fs::write(at("tiles/a.xyz"), west.join("\n").replace(',', "  ")).unwrap();
    std::fs::write(at("tiles/b.xyz"), east.join("\n").replace(',', " ")).unwrap();
    geo_io::write_npy(&at("mask.npy"), &[1u8, 0, 0, 0], 2, 2).unwrap();
    folder
}

#[test]
fn every_program_prints_its_version_completions_and_page() {
    let folder = tempfile::tempdir().unwrap();
    for program in ALL {
        let name = program.name;
        let version = program.succeeds(folder.path(), &["--version"]);
        assert_eq!(version, format!("{name} {}\n", env!("CARGO_PKG_VERSION")));
        for shell in ["bash", "zsh", "fish"] {
            let script = program.succeeds(folder.path(), &["--completions", shell]);
            assert!(script.contains(name) && script.contains("overwrite"), "{name}, {shell}");
        }
        let page = program.succeeds(folder.path(), &["--man"]);
        assert!(page.contains(".TH") && page.contains("overwrite"), "{name}");
        program.fails(folder.path(), &["--completions", "csh"], &["csh", "bash"]);
        let help = program.succeeds(folder.path(), &["--help"]);
        for option in ["--overwrite", "--device", "--threads", "--quiet", "--json", "--compress"] {
            assert!(help.contains(option), "{name}: {option}");
        }
    }
}

#[test]
fn the_report_is_lines_or_an_object_or_nothing() {
    let folder = folder_of_inputs();
    for (program, input, fields) in [
        (
            &LIDAR,
            "points.csv",
            &["inputs", "crs", "device", "dem", "sites", "seconds", "written"][..],
        ),
        (
            &IDW,
            "points.csv",
            &["inputs", "crs", "device", "surface", "power", "seconds", "written"],
        ),
        (&DISTANCE, "mask.npy", &["raster", "distances", "device", "seconds", "written"]),
    ] {
        let base = [input, "--device", "cpu", "--threads", "1", "--overwrite", "-o", "out.tif"];
        let with = |more: &str| program.succeeds(folder.path(), &[&base[..], &[more]].concat());
        let text = program.succeeds(folder.path(), &base);
        assert!(text.contains("CPU (1 threads)"), "{text}");
        assert_eq!(with("--quiet"), "");
        let object: Value = serde_json::from_str(&with("--json")).unwrap();
        for field in fields {
            assert!(object.get(field).is_some(), "{}: no {field} in {object}", program.name);
        }
        assert_eq!(object["written"], serde_json::json!(["out.tif"]));
    }
}

#[test]
fn folders_patterns_and_streams_are_the_same_points() {
    let folder = folder_of_inputs();
    let values = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    for program in [&LIDAR, &IDW] {
        let run = |inputs: &[&str]| {
            let more = ["-o", "out.npy", "--device", "cpu", "--resolution", "1", "--overwrite"];
            program.succeeds(folder.path(), &[inputs, &more].concat());
            values("out.npy")
        };
        let expected = run(&["points.csv"]);
        assert!(run(&["tiles"]) == expected);
        assert!(run(&["tiles/*.xyz"]) == expected);
        assert!(run(&["tiles/a.xyz", "tiles", "tiles/b.xyz"]) == expected);
        let mut child = Command::new(program.path)
            .current_dir(folder.path())
            .args(["-", "-o", "-", "--device", "cpu", "--resolution", "1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(PLANE.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let table = String::from_utf8(output.stdout).unwrap();
        assert!(table.starts_with("x,y,z\n0.5,9.5,4\n"), "{table}");
        // The report gives way to the table.
        assert!(String::from_utf8_lossy(&output.stderr).contains("5 points read"));
        // What was written can be read.
        std::fs::write(folder.path().join("again.csv"), table).unwrap();
        let again = program.succeeds(
            folder.path(),
            &[
                "again.csv",
                "-o",
                "again.npy",
                "--device",
                "cpu",
                "--resolution",
                "1",
                "--overwrite",
            ],
        );
        assert!(again.contains("10 x 10 cells"), "{again}");
    }
    LIDAR.fails(folder.path(), &["tiles/*.las"], &["no file matches", "*.las"]);
}

#[test]
fn what_is_wrong_is_said_with_a_tip() {
    let folder = folder_of_inputs();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("other.csv"), "lon,lat,height\n1,2,3\n").unwrap();
    std::fs::write(at("commas.csv"), "x,y,z\n1,5,2,5,3,5\n").unwrap();
    let cases: [(&Program, &[&str], &[&str]); 9] = [
        (
            &LIDAR,
            &["points.csv", "--resolution", "1m"],
            &["--resolution", "\"1m\" is not a number"],
        ),
        (&LIDAR, &["points.csv", "--res", "1"], &["--res", "tip", "--resolution"]),
        (&IDW, &["points.csv", "--z-facto", "2"], &["--z-facto", "tip", "--z-factor"]),
        (&LIDAR, &["other.csv"], &["lon, lat, height", "--columns"]),
        (&LIDAR, &["commas.csv"], &["decimal commas"]),
        (&LIDAR, &["missing.laz"], &["missing.laz: No such file or directory"]),
        (
            &LIDAR,
            &["points.csv", "--method", "pixels", "--weights", "c1", "--query-radius", "2"],
            &["--query-radius inf"],
        ),
        (&DISTANCE, &["mask.npy", "--compress", "zip"], &["zip", "deflate, zstd, lzw or none"]),
        (&LIDAR, &["points.csv", "--threads", "0"], &["--threads", "0"]),
    ];
    for (program, arguments, words) in cases {
        program.fails(folder.path(), arguments, words);
    }
    let output = Command::new(LIDAR.path).arg("missing.laz").output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors.matches("No such file").count(), 1, "{errors}");
    // c1 alone has no limit.
    let c1 = ["points.csv", "--weights", "c1", "-o", "c1.npy", "--device", "cpu"];
    LIDAR.succeeds(folder.path(), &c1);
}
