//! A DEM in tiles: planned, made in any order, killed and made again, put together, it is the DEM of one run.

use std::path::Path;

use geo_io::{Crs, LasPoints, RasterFile, write_las};
use proptest::prelude::*;
use testing::files::las::Las;
use testing::program::files;
use testing::tiles::{self, Suite, folder_of, number};
use testing::{Cloud, Random, suite_of_tiles};

use crate::PROGRAM;

/// Runs the program, which must succeed.
fn succeeds(folder: &Path, parts: &[&[&str]]) -> String {
    PROGRAM.succeeds(folder, &parts.concat())
}

/// Plans, makes all tiles and puts them together as `tiles.tif`; gives the number of tiles.
fn in_tiles(folder: &Path, plan: &[&str], merge: &[&str], device: &str) -> u64 {
    let merge = [&["-o", "tiles.tif"], merge].concat();
    tiles::in_tiles(&PROGRAM, folder, plan, &[], device, &merge)
}

/// The same tiles once more, of bins: `binned.tif` and the points that were binned.
fn again_of_bins(folder: &Path, merge: &[&str], device: &str) -> u64 {
    let report = PROGRAM.json(folder, &["bin", "plan.json"]);
    let device = if device.starts_with("software") { "software" } else { device };
    tiles::make(&PROGRAM, folder, device, &[&["-o", "binned.tif"], merge].concat());
    report["points"]["binned"].as_u64().unwrap()
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

fn values(folder: &Path, name: &str) -> Vec<f32> {
    let file = RasterFile::open(&folder.join(name)).unwrap();
    file.rows(0, file.size().1).unwrap()
}

/// Points of a survey in one to four files, some ground of which has none.
fn write_points(folder: &Path, random: &mut Random, cell: f64, count: usize) -> Vec<String> {
    let parts = 1 + random.below(4) as usize;
    let (west, south) = (random.between(-300.0, 300.0), random.between(-300.0, 300.0));
    let names: Vec<String> = (0..parts).map(|part| format!("{part}.las")).collect();
    for (part, name) in names.iter().enumerate() {
        let mut column = |low: f64, cells: f64| -> Vec<f64> {
            (0..count).map(|_| (low + random.unit() * cells) * cell).collect()
        };
        let x = off_the_edges(column(west + 40.0 * part as f64, 55.0), cell);
        let y = off_the_edges(column(south, 70.0), cell);
        let z = column(0.0, 60.0);
        let class = vec![2; count];
        let points = LasPoints { x: &x, y: &y, z: &z, class: &class, ..Default::default() };
        let crs = Crs::parse("EPSG:26910").unwrap();
        write_las(&folder.join(name), &points, Some(&crs)).unwrap();
    }
    names
}

/// Moves the points of the first and the last cell off the cells' edges. A header's bounds may lie one step of its
/// coordinates outside of its points. If that is in another cell, the plan's grid has one row or column more than a
/// single run's (docs/internals/tile-plan.md).
fn off_the_edges(mut column: Vec<f64>, cell: f64) -> Vec<f64> {
    let numbers: Vec<f64> = column.iter().map(|place| (place / cell).floor()).collect();
    let first = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let last = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (place, number) in column.iter_mut().zip(numbers) {
        if number == first || number == last {
            *place = (number + (*place / cell - number).clamp(0.2, 0.8)) * cell;
        }
    }
    column
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    points: usize,
    cell: f64,
    site: f64,
    query: f64,
    supersample: u32,
    tile: u32,
    memory: u32,
    duplicates: &'static str,
    has_bounds: bool,
    is_cog: bool,
    device: &'static str,
    device_memory: u32,
}

fn case() -> impl Strategy<Value = Case> {
    let cells = prop_oneof![Just(1.0), Just(0.1), Just(0.3048), Just(2.5), 0.01..30.0];
    let points = prop_oneof![1..60_usize, 500..3000_usize];
    // 12,000 points take 3 MiB beside the 64 that a process holds.
    let memory = (70..90_u32, 140..180_u32);
    let size = (16..90_u32, memory, prop::sample::select(vec!["mean", "max", "first"]));
    let several = vec!["software:1", "software:2", "software:3", "software:4"];
    let device = prop_oneof![Just("cpu"), Just("software"), prop::sample::select(several)];
    let radii = (0.6..12.0, 0.3..5.0, 1..4_u32);
    (any::<u64>(), points, cells, radii, size, any::<[bool; 2]>(), device).prop_map(
        |(seed, points, cell, radii, size, [has_bounds, is_cog], device)| {
            let (site, query, supersample) = radii;
            let (tile, (memory, device_memory), duplicates) = size;
            let device = if cfg!(feature = "cuda") { device } else { "cpu" };
            Case {
                seed,
                points,
                cell,
                site,
                query,
                supersample,
                tile,
                memory,
                duplicates,
                has_bounds,
                is_cog,
                device,
                device_memory,
            }
        },
    )
}

/// The DEM of one run and that in tiles, as files `plain.tif` and `tiles.tif`.
fn both(folder: &Path, case: &Case, method: &str) {
    let mut random = Random::new(case.seed);
    let names = write_points(folder, &mut random, case.cell, case.points);
    let [site, query, cell] = [case.site, case.query, case.cell].map(|value| value.to_string());
    let [supersample, tile] = [case.supersample, case.tile].map(|value| value.to_string());
    let mut words: Vec<&str> = names.iter().map(String::as_str).collect();
    words.extend(["--method", method, "--max-distance", &site]);
    if method == "pixels" {
        words.extend(["--query-radius", &query, "--supersample", &supersample]);
    }
    words.extend(["--resolution", &cell]);
    words.extend(["--duplicates", case.duplicates]);
    let header = geo_io::read_header(&folder.join(&names[0])).unwrap().unwrap();
    let b = header.bounds.unwrap();
    let (width, height) = (b.max_x - b.min_x + case.cell, b.max_y - b.min_y + case.cell);
    let (x, y) = (b.min_x + 0.2 * width, b.min_y - 0.1 * height);
    let bounds = format!("--bounds={x},{y},{},{}", x + width, y + 0.7 * height);
    if case.has_bounds {
        words.push(&bounds);
    }
    let cog: &[&str] = if case.is_cog { &["--cog"] } else { &[] };
    succeeds(folder, &[&words, cog, &["-o", "plain.tif", "--device", "cpu"]]);
    let memory = format!("{}MiB", case.memory);
    let on_device = format!("{}MiB", case.device_memory);
    words.extend(["--tile-size", &tile, "--memory", &memory, "--device-memory", &on_device]);
    in_tiles(folder, &words, cog, case.device);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: number("TESSERA_CASES", 24), failure_persistence: None, ..Default::default() })]

    #[test]
    fn tiles_on_pixels_have_the_bytes_of_one_run(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        both(folder.path(), &case, "pixels");
        prop_assert!(bytes(folder.path(), "plain.tif") == bytes(folder.path(), "tiles.tif"));
    }

    /// By either method: the points of a tile are the same in the same order.
    #[test]
    fn tiles_of_bins_have_the_bytes_of_tiles_that_read_the_inputs(case in case(), exact: bool) {
        let folder = tempfile::tempdir().unwrap();
        both(folder.path(), &case, if exact { "exact" } else { "pixels" });
        let cog: &[&str] = if case.is_cog { &["--cog"] } else { &[] };
        let binned = again_of_bins(folder.path(), cog, case.device);
        prop_assert!(binned as usize <= 4 * case.points);
        prop_assert!(bytes(folder.path(), "tiles.tif") == bytes(folder.path(), "binned.tif"));
    }

    /// By the exact method a last bit may differ, and by its definition no more.
    #[test]
    fn tiles_of_the_exact_method_have_the_heights_of_one_run(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let case = Case { is_cog: false, ..case };
        both(folder.path(), &case, "exact");
        let values = ["plain.tif", "tiles.tif"].map(|name| values(folder.path(), name));
        prop_assert_eq!(values[0].len(), values[1].len());
        for (a, b) in values[0].iter().zip(&values[1]) {
            // 2.4e-8 of the range is the method's accuracy; heights lie within 60 cells.
            prop_assert!((a - b).abs() as f64 <= 60.0 * case.cell * 1.2e-7, "{} and {}", a, b);
        }
    }
}

const SURVEY: [&str; 4] = ["--survey-points", "60000", "--device", "cpu"];
const RADII: [&str; 5] = ["survey.laz", "--method", "pixels", "--max-distance", "6"];

const SUITE: Suite = Suite {
    program: PROGRAM,
    write_inputs: |folder| {
        succeeds(folder, &[&SURVEY]);
    },
    input: "survey.laz",
    at_once: &["-o", "plain.tif", "--cog"],
    words: &RADII,
    plan: &[],
    sides: ["48", "150"],
    before: &[],
    merge: &["-o", "merged.tif", "--cog"],
    same: &[["plain.tif", "merged.tif"]],
    ends: &[".tif"],
    damaged: &["tile 2 is damaged", "lidar_dem run"],
    changed: ["\"supersample\": 1", "\"supersample\": 2"],
};

suite_of_tiles! { SUITE }

/// A folder with the simulated survey, and its DEM of one run as `plain.tif`.
fn survey() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    succeeds(folder.path(), &[&SURVEY]);
    succeeds(folder.path(), &[&RADII, &["-o", "plain.tif", "--cog", "--device", "cpu"]]);
    folder
}

fn merged_is_plain(folder: &Path) {
    succeeds(folder, &[&["merge", "plan.json", "-o", "merged.tif", "--cog", "--overwrite"]]);
    assert!(bytes(folder, "plain.tif") == bytes(folder, "merged.tif"));
}

/// A card may be lost after any number of launches. The run names its tile and gives it to another card, so nothing is
/// missing. If no card is left, the tiles that were not made are missing, and the next run makes them.
#[test]
#[cfg(feature = "cuda")]
fn the_tile_of_a_lost_card_is_made_by_another() {
    let folder = survey();
    let folder = folder.path();
    succeeds(folder, &[&["plan"], &RADII, &["--tile-size", "150"]]);
    let run = ["run", "plan.json", "--all", "--device", "software:all"];
    let with = |devices: &str, lost: &str| {
        let mut command = PROGRAM.command(folder, &run);
        command.env("TESSERA_SOFTWARE_DEVICES", devices).env("TESSERA_SOFTWARE_LOST", lost);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for lost in ["1:1", "1:7", "1:30"] {
        let (status, errors) = with("2", lost);
        assert_eq!(status, Some(0), "{lost}: {errors}");
        let lines: Vec<&str> = errors.lines().collect();
        // With two cards each has a tile before the other has made all.
        let [line] = lines[..] else { panic!("{lost}: {errors}") };
        for word in [
            "lidar_dem: tile ",
            "card 1, Tessera software",
            "fails every call",
            "another card makes it",
        ] {
            assert!(line.contains(word), "{lost}: no {word:?} in {errors}");
        }
        merged_is_plain(folder);
        std::fs::remove_dir_all(folder_of(folder, "plan.json")).unwrap();
    }
    let (status, errors) = with("1", "0:30");
    assert_eq!(status, Some(2), "{errors}");
    let lines: Vec<&str> = errors.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("card 0") && !lines[0].contains("another"));
    assert!(
        lines[1].contains("of 4 tiles failed") && lines[1].contains("run it again"),
        "{errors}"
    );
    assert_eq!(with("1", "0:1000000"), (Some(0), String::new()));
    merged_is_plain(folder);
    // From the start none is there.
    let (status, errors) = with("1", "0:0");
    assert_eq!((status, errors.lines().count()), (Some(2), 1), "{errors}");
}

/// A card with less memory free than a tile takes by the plan is refused, by a run that would make one.
#[test]
#[cfg(feature = "cuda")]
fn a_card_of_less_memory_than_planned_is_refused() {
    let folder = survey();
    let folder = folder.path();
    let plan = |most: &str| {
        let words = ["--device-memory", most, "--overwrite"];
        let report = PROGRAM.json(folder, &[&["plan"], &RADII[..], &words].concat());
        let tiles = &report["tiles"];
        (tiles["count"].as_u64().unwrap(), tiles["device_bytes"].as_u64().unwrap())
    };
    let (whole, parts) = (plan("1GiB"), plan("35MiB"));
    let is_cut = whole.0 == 1 && parts.0 > 1 && parts.1 <= 35 << 20 && whole.1 > parts.1;
    assert!(is_cut, "{whole:?} and {parts:?}");
    let with = |memory: u64, which: &[&str]| {
        let run = [&["run", "plan.json", "--device", "software"], which].concat();
        let mut command = PROGRAM.command(folder, &run);
        let output = command.env("TESSERA_SOFTWARE_MEMORY", memory.to_string()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for which in [&["--all"][..], &["--tile", "0"]] {
        let (status, errors) = with(10 << 20, which);
        assert_eq!((status, errors.lines().count()), (Some(2), 1), "{errors}");
        for word in ["Tessera software", "has 10 MiB free", "--device-memory"] {
            assert!(errors.contains(word), "no {word:?} in {errors}");
        }
    }
    assert_eq!(with(parts.1, &["--all"]), (Some(0), String::new()));
    merged_is_plain(folder);
    let least = ["plan", "survey.laz", "-o", "other.json"];
    let least = [&least[..], &["--device-memory", "1MiB"]].concat();
    PROGRAM.fails(folder, &least, &["--device-memory", "memory of a device", "1048576"]);
}

/// Reading the next tile and writing the last beside it, on several cards, keeps what `--memory` says.
#[test]
#[cfg(target_os = "linux")]
fn tiles_in_work_keep_the_memory_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeeds(folder, &[&["--survey-points", "400000", "--device", "cpu"]]);
    for (method, cell) in [("pixels", "0.4"), ("exact", "1")] {
        let plan = ["survey.laz", "--method", method, "--resolution", cell];
        tiles::keeps_the_memory(&PROGRAM, folder, &plan, &[], (110, 1));
    }
}

#[test]
fn a_tile_that_fails_is_named_and_the_others_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let grid = |west: f64| (0..2500).map(move |i| west + f64::from(i % 50)).collect::<Vec<f64>>();
    let y: Vec<f64> = (0..2500).map(|i| f64::from(i / 50)).collect();
    for (name, west) in [("west.laz", 0.0), ("east.laz", 100.0)] {
        let x = grid(west);
        let points = LasPoints { x: &x, y: &y, z: &y, ..Default::default() };
        write_las(&folder.join(name), &points, None).unwrap();
    }
    let radii = ["--method", "pixels", "--max-distance", "4", "--query-radius", "2"];
    succeeds(folder, &[&["west.laz", "east.laz", "-o", "plain.tif", "--cog"], &radii]);
    succeeds(folder, &[&["plan", "east.laz", "west.laz", "--tile-size", "50"], &radii]);
    let first = bytes(folder, "plan.json");
    let again = ["plan", "west.laz", "east.laz", "--tile-size", "50", "--overwrite"];
    succeeds(folder, &[&again, &radii]);
    assert!(first == bytes(folder, "plan.json"), "the order of inputs is of no account");

    std::fs::rename(folder.join("east.laz"), folder.join("away.laz")).unwrap();
    let errors = PROGRAM.errors(folder, &["run", "plan.json", "--all", "--device", "cpu"]);
    let (last, tiles) = errors.split_last().unwrap();
    assert!(!tiles.is_empty() && last.contains("tiles failed"), "{errors:?}");
    for line in tiles {
        assert!(line.starts_with("lidar_dem: tile ") && line.contains("east.laz"), "{line}");
    }
    assert!(!files(&folder_of(folder, "plan.json")).is_empty());
    std::fs::rename(folder.join("away.laz"), folder.join("east.laz")).unwrap();
    succeeds(folder, &[&["run", "plan.json", "--all", "--device", "cpu"]]);
    merged_is_plain(folder);
}

#[test]
fn points_of_which_filters_keep_none_have_no_plan() {
    PROGRAM.plans_only_what_filters_keep(&["--resolution", "1"]);
}

#[test]
fn bounds_between_the_points_have_no_plan() {
    PROGRAM.plans_only_ground_with_points(&["--resolution", "0.1", "--max-distance", "3"]);
    let pixels = ["--method", "pixels", "--resolution", "0.1"];
    PROGRAM.plans_only_ground_with_points(&pixels);
}

#[test]
fn what_has_no_plan_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeeds(folder, &[&["--survey-points", "3000", "--device", "cpu"]]);
    std::fs::write(folder.join("few.csv"), "x,y,z\n1,1,1\n9,9,2\n").unwrap();
    let plan: [&[&str]; 10] = [
        &["--max-distance", "inf"],
        &["--method", "pixels", "--query-radius", "inf"],
        &["--query-radius", "4"],
        &["--hull"],
        &["--weights", "c1"],
        &["--memory", "1MiB"],
        &["--memory", "much"],
        &["--tile-size", "3"],
        &["--resolution", "1e-9"],
        &["few.csv"],
    ];
    let words: [&[&str]; 10] = [
        &["--max-distance inf", "without limit"],
        &["--query-radius inf"],
        &["--query-radius 4 belongs to --method pixels"],
        &["--hull"],
        &["--weights c1"],
        &["--memory", "16 x 16 cells", "1048576"],
        &["--memory", "much"],
        &["--tile-size", "3", "16"],
        &["--resolution 1e-9", "cells are too many; give a larger --resolution"],
        &["EPSG:26910", "few.csv"],
    ];
    for (more, words) in plan.iter().zip(words) {
        PROGRAM.fails(folder, &[&["plan", "survey.laz"], *more].concat(), words);
    }
    let many = ["plan", "few.csv", "--resolution", "1e-4", "--tile-size", "16"];
    let words = ["--resolution 0.0001: ", "tiles are too many", "--tile-size; give a larger"];
    PROGRAM.fails(folder, &many, &words);
    // If options have no reach, the message names options that have one, and those options work.
    for (more, would_do) in [
        (&["--max-distance", "inf"][..], &["--max-distance 10"][..]),
        (&["--weights", "c1"], &["--weights sibson"]),
        (&["--method", "pixels", "--max-distance", "inf"], &["--max-distance 10"]),
        (&["--method", "pixels", "--query-radius", "inf"], &["--query-radius 4"]),
        (&["--method", "pixels", "--weights", "laplace"], &["--method exact"]),
        (&["--method", "pixels", "--weights", "c1"], &["--weights sibson"]),
    ] {
        let plan = ["plan", "survey.laz", "-o", "good.json", "--overwrite"];
        let words = format!("; {} would allow tiles", would_do.join(" "));
        PROGRAM.fails(folder, &[&plan[..], more].concat(), &[&words]);
        let mut all: Vec<&str> = more.to_vec();
        for (option, value) in would_do.iter().filter_map(|option| option.split_once(' ')) {
            match all.iter().position(|word| *word == option) {
                Some(place) => all[place + 1] = value,
                None => all.extend([option, value]),
            }
        }
        succeeds(folder, &[&plan, &all]);
        succeeds(folder, &[&["run", "good.json", "--tile", "0", "--device", "cpu"]]);
    }
    PROGRAM.fails(folder, &["plan", "-"], &["standard input"]);
    PROGRAM.fails(folder, &["plan"], &["point files"]);

    succeeds(folder, &[&["plan", "survey.laz"]]);
    PROGRAM.fails(folder, &["run", "plan.json", "--tile", "7"], &["--tile 7", "0 to 0"]);
    PROGRAM.fails(folder, &["merge", "plan.json", "-o", "dem.npy"], &["--output", ".tif"]);
}

/// A plan says of files that are cut short what a run says.
#[test]
fn a_plan_refuses_files_that_end_before_their_last_point() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let x: Vec<f64> = (0..120_000).map(|i| f64::from(i % 400)).collect();
    let y: Vec<f64> = (0..120_000).map(|i| f64::from(i / 400)).collect();
    let points = LasPoints { x: &x, y: &y, z: &x, ..Default::default() };
    for name in ["a.las", "a.laz"] {
        write_las(&folder.join(name), &points, None).unwrap();
        let bytes = bytes(folder, name);
        std::fs::write(folder.join(name), &bytes[..bytes.len() * 3 / 4]).unwrap();
        let said = PROGRAM.errors(folder, &[name, "--device", "cpu"]).concat();
        assert!(said.contains("its header promises 120000 points, it holds "), "{said}");
        assert_eq!(PROGRAM.errors(folder, &["plan", name]).concat(), said);
    }
}

/// Headers do not tell where most points lie: of a grid that is nearly empty a plan reads the points.
#[test]
fn a_plan_notes_strays() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |[x, y]: [f64; 2]| {
        let mut points = Las::lattice(0.0, 0.0, 20);
        points[0] = [x, y, 7.0];
        std::fs::write(folder.join("a.las"), Las::new(points).bytes()).unwrap();
    };
    write([3000.0, 900.0]);
    let said = succeeds(folder, &[&["plan", "a.las"]]);
    let note = "1 of 400 points lies far from the others, the farthest at 3000 900: ";
    assert!(said.contains(note), "{said}");
    // What the note names leaves the stray out.
    let bounds = said.split_whitespace().find(|word| word.starts_with("--bounds=")).unwrap();
    let said = succeeds(folder, &[&["plan", "a.las", "--overwrite", bounds]]);
    assert!(!said.contains("far from the others"), "{said}");
    let report = PROGRAM.json(folder, &["plan", "a.las", "--overwrite", bounds]);
    assert!(report["dem"]["width"].as_u64().unwrap() < 40, "{report}");
    write([0.5, 0.5]);
    let said = succeeds(folder, &[&["plan", "a.las", "--overwrite", "--resolution", "0.01"]]);
    assert!(!said.contains("far from the others"), "{said}");
}

/// Another tile would miss it: `plan` goes by headers, of which a sample of the points tells whether they are right.
#[test]
fn a_tile_refuses_a_file_with_a_point_outside_of_its_headers_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |side: u32, stray: usize| {
        let mut points = Las::lattice(0.0, 0.0, side);
        points[stray] = [700.0, 50.0, 7.0];
        let most = f64::from(side);
        let bounds = Some([[0.0, most], [0.0, most], [0.0, 2.0 * most]]);
        let las = Las { bounds, ..Las::new(points) };
        std::fs::write(folder.join("a.las"), las.bytes()).unwrap();
    };
    // The plan checks all points of a file of this length.
    write(100, 5001);
    let words = ["a.las", "the bounds of its header do not hold its points"];
    PROGRAM.fails(folder, &["plan", "a.las", "-o", "plan.json"], &words);
    // Of this longer file it checks runs of points, and the stray lies between two of them.
    write(500, 3000);
    succeeds(folder, &[&["plan", "a.las", "-o", "plan.json"]]);
    let run = ["run", "plan.json", "--tile", "0", "--device", "cpu"];
    let words = ["a.las", "lies outside of its header's bounds, from 700 50 to 700 50"];
    let said = PROGRAM.errors(folder, &run).concat();
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
}

/// Each band of a merge has its range in the report, and a band without values is said, as of a direct run.
#[test]
fn a_merge_says_the_range_of_each_band() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.las"), Las::new(Las::lattice(0.0, 0.0, 40)).bytes()).unwrap();
    // Far cells have no point within one cell, but points in their halo.
    for (bounds, is_nodata) in [("2,2,34,34", false), ("50,50,82,82", true)] {
        let bounds = format!("--bounds={bounds}");
        let surface = ["a.las", "--value", "z,intensity", "--max-distance", "1", &bounds];
        let plan = ["plan", "--tile-size", "16", "--overwrite"];
        succeeds(folder, &[&plan, &surface]);
        succeeds(folder, &[&["run", "plan.json", "--all", "--device", "cpu"]]);
        let merge = ["merge", "plan.json", "-o", "tiles.tif", "--overwrite"];
        let said = succeeds(folder, &[&merge]);
        let nothing = said.matches("none: every cell is NODATA").count();
        assert_eq!(nothing, if is_nodata { 2 } else { 0 }, "{said}");
        let report = PROGRAM.json(folder, &merge);
        for name in ["z", "intensity"] {
            assert_eq!(report[name]["range"].is_null(), is_nodata, "{report}");
        }
    }
}

/// Cells beside gaps depend on points beyond any halo of a fixed width, those on the border on points all along it.
#[test]
fn tiles_of_points_with_gaps_have_the_heights_of_one_run() {
    let height = |x: f64, y: f64| 10.0 * (x / 19.0).sin() * (y / 22.0).cos() + 0.05 * x;
    let mut clouds = Cloud::with_gaps(120.0, height);
    let strip = Cloud::uniform(6000, [0.0, 0.0, 400.0, 15.0], 7, |_, _| 0.0);
    let turned = (0..strip.len()).map(|i| {
        let (x, y) = (0.8 * strip.x[i] - 0.6 * strip.y[i], 0.6 * strip.x[i] + 0.8 * strip.y[i]);
        (x, y, height(x, y))
    });
    clouds.push(("a turned strip", Cloud::of(turned)));
    clouds.push(("few points", Cloud::uniform(25, [0.0, 0.0, 200.0, 150.0], 3, height)));
    for (what, Cloud { x, y, z, .. }) in clouds {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        // Every third point is in the second file.
        for (name, is_in) in [("a.laz", [true, true, false]), ("b.laz", [false, false, true])] {
            let of = |column: &[f64]| {
                (0..column.len()).filter(|i| is_in[i % 3]).map(|i| column[i]).collect::<Vec<_>>()
            };
            let (x, y, z) = (of(&x), of(&y), of(&z));
            let points = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
            write_las(&folder.join(name), &points, None).unwrap();
        }
        // All points lie within.
        let (width, height) = (344, 264);
        let all = ["a.laz", "b.laz", "--bounds=-12,-4,332,260"];
        succeeds(folder, &[&all, &["-o", "plain.tif", "--device", "cpu"]]);
        let plan = [&all[..], &["--tile-size", "40"]].concat();
        assert!(in_tiles(folder, &plan, &[], "cpu") > 60);
        let is_off = |(a, b): &(&f32, &f32)| (*a - *b).abs() > 26.0 * 1.2e-7;
        let (whole, made) = (values(folder, "plain.tif"), values(folder, "tiles.tif"));
        assert_eq!((whole.len(), made.len()), (width * height, width * height));
        let others = whole.iter().zip(&made).filter(|(a, b)| a.to_bits() != b.to_bits());
        println!("{what}: {} cells of {} have other bits", others.clone().count(), made.len());
        assert_eq!(others.clone().find(is_off), None, "{what}");
        again_of_bins(folder, &[], "cpu");
        assert!(bytes(folder, "tiles.tif") == bytes(folder, "binned.tif"), "{what}");
        // A part by itself: columns from 52, rows from 260 - 56.
        let part = ["a.laz", "b.laz", "--bounds=40,32,72,56", "-o", "part.tif", "--device", "cpu"];
        succeeds(folder, &[&part]);
        let rows = whole.chunks_exact(width).skip(204).take(24).flat_map(|row| &row[52..84]);
        let part = values(folder, "part.tif");
        assert_eq!(part.len(), 32 * 24);
        assert_eq!(rows.zip(&part).find(is_off), None, "{what}");
    }
}

/// A point beyond the region of influence takes ground within a cell's query radius away from the sites that count. The
/// last cell before a cut at column 16 lacks this point unless the halo is the region's radius and twice the query
/// radius.
#[test]
fn a_point_that_only_takes_ground_away_is_in_the_halo() {
    let folder = tempfile::tempdir().unwrap();
    let text = "x,y,z\n10,8.5,0\n11.5,11.5,10\n30,8.5,20\n";
    std::fs::write(folder.path().join("points.csv"), text).unwrap();
    let words = ["points.csv", "--method", "pixels", "--query-radius", "6"];
    let words = [&words[..], &["--region-of-influence", "6", "--bounds=0,0,32,16"]].concat();
    succeeds(folder.path(), &[&words, &["-o", "plain.tif", "--device", "cpu"]]);
    let plan = [&words[..], &["--tile-size", "16"]].concat();
    assert_eq!(in_tiles(folder.path(), &plan, &[], "cpu"), 2);
    assert!(bytes(folder.path(), "plain.tif") == bytes(folder.path(), "tiles.tif"));
}

/// Tables have no header: they are read for the plan.
#[test]
fn tables_are_planned_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(5);
    let mut text = String::from("east,north,height\n");
    for _ in 0..2000 {
        let [x, y, z] = [90.0, 70.0, 30.0].map(|side| random.between(0.0, side));
        text += &format!("{x},{y},{z}\n");
    }
    std::fs::write(folder.path().join("points.csv"), text).unwrap();
    let words = ["points.csv", "--columns", "east,north,height", "--method", "pixels"];
    succeeds(folder.path(), &[&words, &["-o", "plain.tif", "--device", "cpu"]]);
    let plan = [&words[..], &["--tile-size", "33"]].concat();
    assert!(in_tiles(folder.path(), &plan, &[], "cpu") > 6);
    assert!(bytes(folder.path(), "plain.tif") == bytes(folder.path(), "tiles.tif"));
    assert_eq!(again_of_bins(folder.path(), &[], "cpu"), 2000);
    assert!(bytes(folder.path(), "plain.tif") == bytes(folder.path(), "binned.tif"));
}

#[test]
fn real_surveys_in_tiles_are_those_of_one_run() {
    let data = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    for (name, cell, more) in [
        ("autzen.laz", "5", &["--classes", "2"][..]),
        ("topography.laz", "2", &["--max-distance", "20"]),
        ("lone-star.laz", "0.1", &["--supersample", "2"]),
    ] {
        let input = data.join(name);
        if !input.is_file() {
            println!("skipped: {} is not there", input.display());
            continue;
        }
        let header = geo_io::read_header(&input).unwrap().unwrap();
        let b = header.bounds.unwrap();
        let bounds = format!("--bounds={},{},{},{}", b.min_x, b.min_y, b.max_x, b.max_y);
        let folder = tempfile::tempdir().unwrap();
        let base = [input.to_str().unwrap(), "--method", "pixels", "--resolution", cell, &bounds];
        let words = [&base[..], more].concat();
        succeeds(folder.path(), &[&words, &["-o", "plain.tif", "--cog", "--device", "cpu"]]);
        let plan = [&words[..], &["--tile-size", "100"]].concat();
        let tiles = in_tiles(folder.path(), &plan, &["--cog"], "cpu");
        println!("{name}: {tiles} tiles");
        assert!(
            tiles > 3 && bytes(folder.path(), "plain.tif") == bytes(folder.path(), "tiles.tif")
        );
        let points = again_of_bins(folder.path(), &["--cog"], "cpu");
        println!("{name}: {points} points in bins");
        assert!(bytes(folder.path(), "plain.tif") == bytes(folder.path(), "binned.tif"));
    }
}
