//! A tree in tiles: planned, made in any order, put together, it is the tree of one run; and what is asked of a saved
//! tree.

use std::path::Path;

use geo_io::{LasPoints, write_las};
use proptest::prelude::*;
use testing::program::is_same;
use testing::tiles::{Suite, in_tiles, number};
use testing::{Random, suite_of_tiles};

use crate::PROGRAM;

const MERGE: [&str; 2] = ["-o", "tiles.qtree"];

const SUITE: Suite = Suite {
    program: PROGRAM,
    write_inputs: |folder| {
        write_points(folder, &mut Random::new(4), 60_000);
    },
    input: "0.laz",
    at_once: &["-o", "one.qtree"],
    words: &["[0-9].*", "--bounds=0,0,64,64"],
    plan: &[],
    sides: ["256", "2048"],
    before: &["bin"],
    merge: &MERGE,
    same: &[["one.qtree", "tiles.qtree"]],
    ends: &["-0.qtree"],
    damaged: &["not a quadtree"],
    changed: ["\"threshold\": 20", "\"threshold\": 21"],
};

suite_of_tiles! { SUITE }

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");

/// Points in one to three files, tables and surveys: even, in heaps, at one place, on a lattice that meets the cells'
/// edges.
fn write_points(folder: &Path, random: &mut Random, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    for file in 0..1 + random.below(3) {
        // One that no bounds leave out.
        let [mut x, mut y] = [vec![20.0], vec![20.0]];
        for _ in 0..count {
            let (a, b) = (random.unit(), random.unit());
            let (px, py) = match random.below(4) {
                0 => (64.0 * a, 64.0 * b),
                1 => (30.0 + a * a * a, 11.0 + b * b * b),
                2 => (7.0, 55.0),
                _ => ((64.0 * a).round(), (64.0 * b).round()),
            };
            x.push(px);
            y.push(py);
        }
        let is_table = random.below(2) == 0;
        let name = format!("{file}.{}", if is_table { "csv" } else { "laz" });
        if is_table {
            let rows = (0..x.len()).map(|i| {
                format!("{},{},{},{},{}\n", x[i], y[i], y[i] - x[i], i % 9, (7 * i) % 65_536)
            });
            let names = "x,y,z,class,intensity";
            std::fs::write(folder.join(&name), format!("{names}\n{}", rows.collect::<String>()))
                .unwrap();
        } else {
            let class: Vec<u8> = (0..x.len()).map(|i| (i % 9) as u8).collect();
            let points = LasPoints { x: &x, y: &y, z: &y, class: &class, ..Default::default() };
            write_las(&folder.join(&name), &points, None).unwrap();
        }
        names.push(name);
    }
    names
}

proptest! {
    #![proptest_config(ProptestConfig { cases: number("TESSERA_CASES", 24), failure_persistence: None, ..Default::default() })]

    #[test]
    fn tiles_have_the_bytes_of_one_run(
        seed in any::<u64>(),
        count in prop_oneof![1..60_usize, 300..2500_usize],
        threshold in prop_oneof![1..4_u32, 5..40_u32, 100..3000_u32],
        depth in prop_oneof![Just(31_u32), 0..12_u32],
        bounds in prop::sample::select(vec!["0,0,64,64", "-5,-7,80,70", "10.5,3.25,40,55"]),
        division in 0..4_u32,
        value in prop::sample::select(vec!["", "--value=z", "--value=class,z,intensity"]),
        on_device in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let names = write_points(folder, &mut Random::new(seed), count);
        let device = if on_device && cfg!(feature = "cuda") { "software" } else { "cpu" };
        // Of the grid's cells, which are those of a level.
        let tile = ((1 << depth.min(12)) >> division).max(16);
        let [threshold, depth, tile] = [threshold, depth, tile].map(|value: u32| value.to_string());
        let bounds = format!("--bounds={bounds}");
        let mut words: Vec<&str> = names.iter().map(String::as_str).collect();
        words.extend(["--threshold", &threshold, "--max-depth", &depth, &bounds]);
        words.extend(Some(value).filter(|value| !value.is_empty()));
        PROGRAM.succeeds(folder, &[&words[..], &["-o", "one.qtree", "--device", device]].concat());
        words.extend(["--tile-size", &tile]);
        in_tiles(&PROGRAM, folder, &words, &["bin"], device, &MERGE);
        prop_assert!(is_same(folder, "one.qtree", "tiles.qtree"));
    }
}

/// Without bounds the root of a table is that of its points; a header's bounds, which count noise too, may be wider.
#[test]
fn real_points_in_tiles_are_those_of_one_run() {
    for (name, columns, tile) in [("cities.csv", "lon,lat", "512"), ("autzen.laz", "x,y", "1024")] {
        let input = Path::new(DATA).join(name);
        if !input.is_file() {
            println!("skipped: {} is not there", input.display());
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let header = geo_io::read_header(&input).unwrap().and_then(|header| header.bounds);
        let bounds =
            header.map(|b| format!("--bounds={},{},{},{}", b.min_x, b.min_y, b.max_x, b.max_y));
        let mut words = vec![input.to_str().unwrap(), "--columns", columns];
        words.extend(bounds.as_deref());
        PROGRAM.succeeds(folder, &[&words[..], &["-o", "one.qtree", "--device", "cpu"]].concat());
        let tiles = in_tiles(
            &PROGRAM,
            folder,
            &[&words[..], &["--tile-size", tile]].concat(),
            &["bin"],
            "cpu",
            &MERGE,
        );
        println!("{name}: {tiles} tiles");
        assert!(tiles > 4 && is_same(folder, "one.qtree", "tiles.qtree"), "{name}");
    }
}

/// Reading the next tile and writing the last beside it keeps what `--memory` says.
#[test]
#[cfg(target_os = "linux")]
fn tiles_in_work_keep_the_memory_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random::new(7);
    let mut column =
        || -> Vec<f64> { (0..1_500_000).map(|_| random.between(0.0, 1000.0)).collect() };
    let (x, y) = (column(), column());
    let points = LasPoints { x: &x, y: &y, z: &x, ..Default::default() };
    write_las(&folder.join("points.laz"), &points, None).unwrap();
    testing::tiles::keeps_the_memory(&PROGRAM, folder, &["points.laz"], &["bin"], (110, 4));
}

#[test]
fn points_of_which_filters_keep_none_have_no_plan() {
    PROGRAM.plans_only_what_filters_keep(&[]);
}

#[test]
fn bounds_between_the_points_have_no_plan() {
    PROGRAM.plans_only_ground_with_points(&[]);
}

#[test]
fn what_has_no_plan_or_bins_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("points.csv"), "x,y\n1,1\n9,1\n1,9\n9,9\n5,5.5\n").unwrap();
    std::fs::write(folder.join("one.csv"), "x,y\n3,4\n3,4\n").unwrap();
    PROGRAM.fails(folder, &["plan", "one.csv"], &["one place"]);
    PROGRAM.fails(folder, &["plan", "-"], &["standard input"]);
    PROGRAM.fails(folder, &["plan", "points.csv", "--threshold", "0"], &["--threshold 0"]);
    PROGRAM.fails(folder, &["plan", "points.csv", "--tile-size", "3"], &["--tile-size", "16"]);
    PROGRAM.fails(folder, &["plan"], &["POINTS"]);
    let plan = ["plan", "points.csv", "--threshold", "1", "--tile-size", "2048"];
    PROGRAM.succeeds(folder, &plan);
    let run = ["run", "plan.json", "--all", "--device", "cpu"];
    let errors = PROGRAM.errors(folder, &run);
    assert!(errors.len() == 1 && errors[0].contains("point_quadtree bin"), "{errors:?}");
}

/// A tree that was saved answers as it did when it was built.
#[test]
fn a_saved_tree_is_asked_what_a_new_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let names = write_points(folder, &mut Random::new(9), 500);
    let mut words: Vec<&str> = names.iter().map(String::as_str).collect();
    let square = r#"{"type":"Polygon","coordinates":[[[5,5],[40,5],[40,50],[5,50],[5,5]]]}"#;
    std::fs::write(folder.join("areas.geojson"), square).unwrap();
    let questions =
        ["--window=3,3,20,30", "--nearest", "31,12,7", "--polygons", "areas.geojson", "--json"];
    let outputs = |name: &'static str| {
        let path = |end: &str| format!("{name}{end}");
        [path("-leaves.csv"), path("-points.csv")]
    };
    let ask = |name: &'static str, words: &[&str]| {
        let [leaves, found] = outputs(name);
        let more = ["--device", "cpu", "--leaves", &leaves, "--polygons-out", &found];
        let report = PROGRAM.succeeds(folder, &[words, &questions, &more].concat());
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        ["tree", "window", "nearest", "polygons"].map(|field| report[field].clone())
    };
    words.extend(["-o", "saved.qtree"]);
    let mut new = ask("new", &words);
    // Only who has the files knows the rows.
    for near in new[2].as_array_mut().unwrap() {
        assert!(near.as_object_mut().unwrap().remove("row").is_some());
    }
    let [_, found] = outputs("new").map(|name| folder.join(name));
    let table = std::fs::read_to_string(&found).unwrap();
    let without_row = |line: &str| {
        let fields: Vec<&str> = line.splitn(5, ',').collect();
        assert!(fields[4] == "row" || fields[4].contains("row ") || fields[4].contains("point "));
        fields[..4].join(",") + "\n"
    };
    std::fs::write(&found, table.lines().map(without_row).collect::<String>()).unwrap();
    assert!(new.iter().all(|answer| !answer.is_null()), "{new:?}");
    assert_eq!(new, ask("saved", &["ask", "saved.qtree"]));
    for (new, saved) in outputs("new").iter().zip(&outputs("saved")) {
        assert!(is_same(folder, new, saved), "{new}");
    }
    PROGRAM.fails(folder, &["ask", "areas.geojson"], &["areas.geojson"]);
    PROGRAM.fails(folder, &["ask", "nothing.qtree"], &["nothing.qtree"]);
}

/// A tile whose bins are damaged says what mends it, as those of other programs do.
#[test]
fn damaged_bins_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows: String = (0..4000).map(|i| format!("{},{}\n", i % 64, i / 64)).collect();
    std::fs::write(folder.join("points.csv"), format!("x,y\n{rows}")).unwrap();
    PROGRAM.succeeds(folder, &["plan", "points.csv", "--tile-size", "2048"]);
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    let bins = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let bins = bins.into_iter().find(|path| path.to_string_lossy().contains("bins-")).unwrap();
    let path = bins.join("0.points");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let errors = PROGRAM.errors(folder, &["run", "plan.json", "--all", "--device", "cpu"]);
    let mended = "make the bins again (point_quadtree bin --remove, point_quadtree bin)";
    assert!(
        errors.iter().any(|line| line.contains("0.points") && line.contains(mended)),
        "{errors:?}"
    );
}

/// Who removes the bins removes what tells how many points there are; bins that are damaged are no reason to look away.
#[test]
fn a_merge_says_that_lost_bins_tell_nothing_and_refuses_damaged_ones() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows: String = (0..4000).map(|i| format!("{},{}\n", i % 64, i / 64)).collect();
    std::fs::write(folder.join("points.csv"), format!("x,y\n{rows}")).unwrap();
    PROGRAM.succeeds(folder, &["plan", "points.csv", "--tile-size", "2048"]);
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    PROGRAM.succeeds(folder, &["run", "plan.json", "--all", "--device", "cpu"]);
    let merge = ["merge", "plan.json", "-o", "tree.qtree", "--overwrite"];
    let merged = || PROGRAM.succeeds(folder, &merge);
    assert!(!merged().contains("no bins"));
    let bins = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let bins = bins.into_iter().find(|path| path.to_string_lossy().contains("bins-")).unwrap();
    let mut last: Vec<_> =
        std::fs::read_dir(&bins).unwrap().map(|entry| entry.unwrap().path()).collect();
    last.sort();
    let sound: Vec<_> = last.iter().map(|path| std::fs::read(path).unwrap()).collect();
    last.iter().for_each(|path| std::fs::write(path, "damaged").unwrap());
    PROGRAM.fails(folder, &merge, &["bins-", "make the bins again"]);
    last.iter().zip(sound).for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    PROGRAM.succeeds(folder, &["bin", "plan.json", "--remove"]);
    assert!(merged().contains("the plan's bins are gone"), "{}", merged());
}

/// A header's bounds may be a rounding narrower than its points: none of these is lost without a word.
#[test]
fn points_a_rounding_outside_of_the_root_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (x, y) = ([1.0, 3.0, 5.0, 7.0, 9.0], [2.0, 4.0, 6.0, 8.0, 3.0]);
    let points = LasPoints { x: &x, y: &y, z: &x, ..Default::default() };
    write_las(&folder.join("points.las"), &points, None).unwrap();
    let mut bytes = std::fs::read(folder.join("points.las")).unwrap();
    // The greatest x.
    let greatest = f64::from_le_bytes(bytes[179..187].try_into().unwrap());
    assert_eq!(greatest, 9.0);
    bytes[179..187].copy_from_slice(&greatest.next_down().to_le_bytes());
    std::fs::write(folder.join("points.las"), bytes).unwrap();
    let plan = ["plan", "points.las", "--threshold", "1", "--tile-size", "2048"];
    PROGRAM.succeeds(folder, &plan);
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    let run = ["run", "plan.json", "--all", "--device", "cpu"];
    let errors = PROGRAM.errors(folder, &run).concat();
    assert!(errors.contains("(9, 3) lies outside") && errors.contains("--bounds"), "{errors}");
    // The same with bounds that hold all.
    let words = ["points.las", "--threshold", "1", "--bounds=0,0,10,10"];
    PROGRAM.succeeds(folder, &[&words[..], &["-o", "one.qtree", "--device", "cpu"]].concat());
    in_tiles(
        &PROGRAM,
        folder,
        &[&words[..], &["--tile-size", "2048"]].concat(),
        &["bin"],
        "cpu",
        &MERGE,
    );
    assert!(is_same(folder, "one.qtree", "tiles.qtree"));
}
