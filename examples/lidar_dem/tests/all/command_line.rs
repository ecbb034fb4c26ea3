//! The command line of `lidar_dem`, and that its options mean what they mean in all programs.

use std::process::Command;

use testing::program::PLANE;

use crate::PROGRAM;

#[test]
fn version_completions_and_page_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    PROGRAM.prints_its_version_completions_and_page(folder.path());
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
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.csv"), PLANE).unwrap();
    let fields = ["inputs", "crs", "device", "dem", "sites", "seconds"];
    let object = PROGRAM.reports(folder.path(), &["points.csv", "-o", "out.tif"], &fields);
    assert_eq!(object["written"], serde_json::json!(["out.tif"]));
}

#[test]
fn folders_patterns_and_streams_are_the_same_points() {
    PROGRAM.takes_folders_patterns_and_streams(tempfile::tempdir().unwrap().path());
}

#[test]
fn what_is_wrong_is_said_with_a_tip() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("points.csv", PLANE);
    write("other.csv", "lon,lat,height\n1,2,3\n");
    write("commas.csv", "x,y,z\n1,5,2,5,3,5\n");
    let pixels = ["points.csv", "--method", "pixels", "--weights", "c1", "--query-radius", "2"];
    let cases: [(&[&str], &[&str]); 8] = [
        (&["points.csv", "--resolution", "1m"], &["--resolution", "\"1m\" is not a number"]),
        (&["points.csv", "--res", "1"], &["--res", "tip", "--resolution"]),
        (&["other.csv"], &["lon, lat, height", "--columns"]),
        (&["commas.csv"], &["decimal commas"]),
        (&["missing.laz"], &["missing.laz: No such file or directory"]),
        (&pixels, &["--query-radius inf"]),
        (&["points.csv", "--threads", "0"], &["--threads", "0"]),
        (&["points.csv", "--threads", "100000"], &["--threads", "100000", "4096"]),
    ];
    for (arguments, words) in cases {
        PROGRAM.fails(folder.path(), arguments, words);
    }
    for arguments in
        [&["missing.laz"][..], &["plan", "missing.laz"], &["run", "missing.json", "--all"]]
    {
        let output = Command::new(PROGRAM.path).args(arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(errors.matches("No such file").count(), 1, "{errors}");
        assert!(!errors.contains("os error"), "{errors}");
    }
    // c1 alone has no limit.
    let c1 = ["points.csv", "--weights", "c1", "-o", "c1.npy", "--device", "cpu"];
    PROGRAM.succeeds(folder.path(), &c1);
}

#[test]
fn an_option_without_its_product_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.csv"), PLANE).unwrap();
    let cases: [(&[&str], &[&str]); 12] = [
        (&["--supersample", "3"], &["--supersample belongs to --method pixels"]),
        (&["--contour-interval", "3"], &["--contour-interval belongs to --contours"]),
        // Likewise at their default values.
        (&["--supersample", "1"], &["--supersample belongs to --method pixels"]),
        (&["--contour-interval", "5"], &["--contour-interval belongs to --contours"]),
        (&["-o", "o.csv", "--compress", "deflate"], &["--compress belongs to", "Zarr"]),
        (&["-o", "o.zarr", "--nodata", "-9999"], &["--nodata belongs to", ".xyz"]),
        (&["--azimuth", "3"], &["--azimuth belongs to --hillshade or --relief"]),
        (&["--altitude", "3", "--slope", "s.tif"], &["--altitude belongs to --hillshade"]),
        (&["--z-factor", "3"], &["--z-factor belongs to --slope, --hillshade or --relief"]),
        (&["-o", "o.npy", "--cog"], &["--cog belongs to a GeoTIFF (.tif)"]),
        (&["-o", "o.csv", "--compress", "none"], &["--compress belongs to", "Zarr"]),
        (&["-o", "o.zarr", "--nodata", "0"], &["--nodata belongs to", ".xyz"]),
    ];
    for (arguments, words) in cases {
        let arguments = [&["points.csv", "--device", "cpu"], arguments].concat();
        PROGRAM.fails(folder.path(), &arguments, words);
    }
    let used = [
        "points.csv",
        "-o",
        "o.npy",
        "--slope",
        "s.tif",
        "--z-factor",
        "2",
        "--cog",
        "--device",
        "cpu",
    ];
    PROGRAM.succeeds(folder.path(), &used);
}

#[test]
fn no_product_stays_where_one_fails() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.csv"), PLANE).unwrap();
    let products = ["--triangles", "t.ply", "-o", "dem.zarr", "--slope", "s.tif"];
    let lines = ["--contours", "c.geojson", "--contour-interval", "1e-300"];
    let words = [&["points.csv", "--device", "cpu"], &products[..], &lines].concat();
    PROGRAM.fails(folder.path(), &words, &["--contour-interval"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    PROGRAM.succeeds(folder.path(), &words[..words.len() - 2]);
    for name in ["t.ply", "dem.zarr", "s.tif", "c.geojson"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn heights_that_overshoot_f32_end_the_run_by_cell() {
    let folder = tempfile::tempdir().unwrap();
    let row = |i: u32| {
        let (x, y) = (f64::from(i * 37 % 101) / 5.0, f64::from(i * 53 % 101) / 5.0);
        format!("{x},{y},{}\n", if x > 10.0 { "3e38" } else { "-3e38" })
    };
    let table = (0..100).map(row).collect::<String>();
    std::fs::write(folder.path().join("large.csv"), format!("x,y,z\n{table}")).unwrap();
    let dem = ["large.csv", "--weights", "c1", "--device", "cpu"];
    PROGRAM.fails(folder.path(), &dem, &["the value of the cell at", "beyond the range of f32"]);
}

#[test]
fn bad_numbers_are_refused_with_a_reason() {
    PROGRAM.refuses_numbers(&[
        ("a.csv --z-factor -1", "-1 is not above 0"),
        ("a.csv --contour-interval -1", "-1 is not above 0"),
        ("a.csv --resolution -1", "-1 is not above 0"),
        ("a.csv --size -1x5", "-1 is below 1"),
        ("a.csv --size 5x4294967296", "4294967296 is above 4294967295"),
        ("a.csv --supersample -1", "-1 is below 0"),
        ("a.csv --supersample 1.5", "\"1.5\" is not a whole number"),
        ("a.csv --threads -1", "-1 is below 1"),
        ("a.csv --altitude -1", "-1 is not from 0 to 90 degrees"),
        ("a.csv --classes -1,2", "unknown class \"-1\": classes are 0 to 255"),
        ("a.csv --bounds -inf,0,1,1", "\"-inf\" is not finite"),
        ("--survey-points -1", "-1 is below 0"),
        ("plan a.csv --tile-size -1", "-1 is below 0"),
        ("plan a.csv --cards 0", "0 is below 1"),
        ("plan a.csv --memory -1GiB", "-1 is not above 0"),
        ("run plan.json --tile -1", "-1 is below 0"),
    ]);
}

#[test]
fn a_dash_is_refused_where_an_argument_needs_a_file() {
    PROGRAM.refuses_streams(&[
        ("p.las --above -", "--above"),
        ("p.las --template -", "--template"),
        ("p.las --within -", "--within"),
        ("p.las --breaklines -", "--breaklines"),
        ("p.las --hillshade -", "--hillshade"),
        ("p.las --contours -", "--contours"),
        ("p.las --triangles -", "--triangles"),
        ("plan p.las -o -", "--output"),
        ("run - --all", "<PLAN>"),
    ]);
}

#[test]
fn a_slope_on_standard_output_is_a_table_without_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let line = ["-", "--resolution", "1", "--slope", "-", "-o", "dem.npy", "--device", "cpu"];
    // A plane that rises by a third of a unit for each unit to the north.
    let plane = "x,y,z\n0.5,0.5,1\n9.5,0.5,1\n0.5,9.5,4\n9.5,9.5,4\n5.5,6.5,3\n";
    let output = PROGRAM.run_on(folder.path(), &line, plane.as_bytes());
    assert!(output.status.success());
    let degrees = (1.0_f64 / 3.0).atan().to_degrees();
    let table = String::from_utf8(output.stdout).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("x,y,z"));
    let slopes: Vec<f64> =
        lines.map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    // Of 10 x 10 cells those at the border have no slope.
    assert_eq!(slopes.len(), 64);
    assert!(slopes.iter().all(|slope| (slope - degrees).abs() < 1e-3), "{slopes:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("written"));
}
