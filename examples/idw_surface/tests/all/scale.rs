//! A surface in tiles: planned, made in any order, of the inputs or of bins, put together, it is the surface of one
//! run.

use std::path::Path;

use geo_io::{LasPoints, write_las};
use proptest::prelude::*;
use testing::program::is_same;
use testing::tiles::{Suite, bins_of, folder_of, in_tiles, kill_at_random, number};
use testing::{Random, suite_of_tiles};

use crate::PROGRAM;

const MERGE: [&str; 3] = ["-o", "tiles.tif", "--overwrite"];

const SUITE: Suite = Suite {
    program: PROGRAM,
    write_inputs: |folder| {
        write_points(folder, &mut Random::new(4), 20_000);
    },
    input: "0.laz",
    at_once: &["-o", "plain.tif"],
    words: &["[0-9].*", "--max-points", "6", "--resolution", "0.5", "--bounds=0,0,90,80"],
    plan: &[],
    sides: ["32", "100"],
    before: &["bin"],
    merge: &["-o", "merged.tif"],
    same: &[["plain.tif", "merged.tif"]],
    ends: &[".tif"],
    damaged: &["tile 2 is damaged", "idw_surface run"],
    changed: ["\"power\": 2.0", "\"power\": 3.0"],
};

suite_of_tiles! { SUITE }

/// The command that comes before `run`, where tiles are made of bins.
fn bins(has_bins: bool) -> &'static [&'static str] {
    if has_bins { &["bin"] } else { &[] }
}

#[test]
fn a_radius_beyond_all_points_has_a_plan_whose_tiles_are_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("p.csv"), "x,y,z\n0,0,1\n30,2,5\n7,28,3\n20,20,2\n").unwrap();
    for radius in ["100", "1e12", "1e150"] {
        let surface = ["p.csv", "--radius", radius, "--resolution", "1", "--overwrite"];
        PROGRAM.succeeds(here, &[&surface[..], &["-o", "one.tif"]].concat());
        let plan = [&["plan"], &surface[..], &["--tile-size", "20", "-o", "plan.json"]].concat();
        PROGRAM.succeeds(here, &plan);
        PROGRAM.succeeds(here, &["run", "plan.json", "--all"]);
        PROGRAM.succeeds(here, &[&["merge", "plan.json"], &MERGE[..]].concat());
        assert!(is_same(here, "one.tif", "tiles.tif"), "{radius}");
    }
}

/// Around a tile lie points that it reads, and no cells that it holds.
#[test]
fn few_points_over_many_cells_are_planned_within_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(11);
    let rows: String =
        (0..50).map(|i| format!("{},{},{i}\n", 1e6 * random.unit(), 1e6 * random.unit())).collect();
    std::fs::write(folder.path().join("gauges.csv"), format!("x,y,z\n{rows}")).unwrap();
    for (more, cell) in [(&[][..], "100"), (&[], "10"), (&["--radius", "300000"], "10")] {
        let plan = ["plan", "gauges.csv", "--max-points", "12", "--memory", "8GiB"];
        let rest = ["--resolution", cell, "--overwrite"];
        let planned = PROGRAM.json(folder.path(), &[&plan[..], &rest, more].concat());
        assert!(planned["tiles"]["count"].as_u64().unwrap() < 10_000, "{planned}");
    }
}

/// Writes points in one to three files: some at one place, some on a lattice whose distances are equal, and none in a
/// void. In about every second survey one file is a table.
fn write_points(folder: &Path, random: &mut Random, count: usize) -> Vec<String> {
    let files = 1 + random.below(3) as usize;
    let is_table = random.below(2) == 0;
    let mut names = Vec::new();
    for file in 0..files {
        let [mut x, mut y, mut z] = [vec![], vec![], vec![]];
        for _ in 0..count {
            let west = 40.0 * file as f64;
            let (mut px, mut py) = (west + 60.0 * random.unit(), 80.0 * random.unit());
            if random.below(3) == 0 {
                (px, py) = (px.round(), py.round());
            }
            let is_void = (px - 50.0).hypot(py - 30.0) < 18.0;
            if !is_void || x.is_empty() || random.below(100) == 0 {
                x.push(px);
                y.push(py);
                z.push(random.between(100.0, 160.0));
            }
        }
        let name = if is_table && file == 0 { "0.csv".to_owned() } else { format!("{file}.laz") };
        if name.ends_with("csv") {
            let rows = (0..x.len()).map(|i| format!("{},{},{}\n", x[i], y[i], z[i]));
            let text = format!("x,y,z\n{}", rows.collect::<String>());
            std::fs::write(folder.join(&name), text).unwrap();
        } else {
            let points = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
            write_las(&folder.join(&name), &points, None).unwrap();
        }
        names.push(name);
    }
    names
}

/// Weights that have no end, and some that end farther than a radius, or nearer.
const GAUSSIAN: [&str; 4] = ["--kernel", "gaussian", "--bandwidth", "4"];
const TRICUBE: [&str; 4] = ["--kernel", "tricube", "--bandwidth", "7"];

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    points: usize,
    cell: f64,
    /// `None` for points however far.
    radius: Option<f64>,
    nearest: Option<u32>,
    quadrants: Option<&'static str>,
    /// Another option of the search.
    more: &'static [&'static str],
    least: u32,
    power: f64,
    tile: u32,
    memory: u32,
    has_bins: bool,
    device: &'static str,
}

fn case() -> impl Strategy<Value = Case> {
    type Search = (Option<f64>, Option<u32>, Option<&'static str>);
    let near = prop_oneof![
        (0.5..15.0, prop::option::of(1..40_u32), Just(None)).prop_map(|(r, k, q)| (Some(r), k, q)),
        (
            2.0..15.0,
            prop::option::of(4..24_u32),
            prop::sample::select(vec![Some("1,3"), Some("0,2")])
        )
            .prop_map(|(r, k, q)| (Some(r), k, q)),
        (1..40_u32).prop_map(|k| (None, Some(k), None)),
    ];
    // Points anywhere: all pairs, adaptive powers, quadrants without a radius, the sphere.
    let far: Vec<(Search, &'static [&'static str])> = vec![
        ((None, None, None), &[]),
        ((None, None, None), &["--adaptive"]),
        ((None, Some(9), Some("1,3")), &[]),
        ((None, None, None), &["--geographic"]),
        ((Some(9e5), None, None), &["--geographic"]),
        ((None, Some(7), None), &["--geographic"]),
    ];
    let search = prop_oneof![
        2 => (near, prop::sample::select(vec![&[][..], &[], &GAUSSIAN, &TRICUBE])),
        1 => prop::sample::select(far),
    ];
    let cells = prop_oneof![Just(1.0), Just(0.7), Just(3.0), 0.5..4.0];
    let points = prop_oneof![1..80_usize, 300..1500_usize];
    let size = (16..70_u32, 66..90_u32, any::<bool>(), any::<bool>());
    let power = prop_oneof![Just(2.0), Just(1.0), Just(2.5)];
    (any::<u64>(), points, cells, search, 0..3_u32, power, size).prop_map(
        |(seed, points, cell, ((radius, nearest, quadrants), more), least, power, size)| {
            let (tile, memory, has_bins, on_device) = size;
            // A device adds what is not a short list in the order of its index.
            let is_near = more.is_empty() || more.contains(&"--kernel");
            let is_short = quadrants.is_none() && nearest.is_some_and(|k| k <= 24) && is_near;
            let device = match on_device && is_short && cfg!(feature = "cuda") {
                true => "software",
                false => "cpu",
            };
            let least = nearest.map_or(least, |most| least.min(most));
            Case {
                seed,
                points,
                cell,
                radius,
                nearest,
                quadrants,
                more,
                least,
                power,
                tile,
                memory,
                has_bins,
                device,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: number("TESSERA_CASES", 24), failure_persistence: None, ..Default::default() })]

    #[test]
    fn tiles_have_the_bytes_of_one_run(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let names = write_points(folder, &mut Random::new(case.seed), case.points);
        let [cell, power] = [case.cell, case.power].map(|value| value.to_string());
        let [least, tile] = [case.least, case.tile].map(|value| value.to_string());
        let (radius, nearest) = (case.radius.map(|r| r.to_string()), case.nearest.map(|k| k.to_string()));
        let mut words: Vec<&str> = names.iter().map(String::as_str).collect();
        words.extend(["--resolution", &cell, "--min-points", &least]);
        if !case.more.contains(&"--adaptive") && !case.more.contains(&"--kernel") {
            words.extend(["--power", &power]);
        }
        words.extend(case.more);
        // Beyond the points on one side, within them on another: a header's bounds may be a rounding wider than its
        // points'.
        words.push("--bounds=-20,5,90,70");
        for (option, value) in [
            ("--radius", radius.as_deref()),
            ("--max-points", nearest.as_deref()),
            ("--per-quadrant", case.quadrants),
        ] {
            words.extend(value.into_iter().flat_map(|value| [option, value]));
        }
        PROGRAM.succeeds(folder, &[&words[..], &["-o", "plain.tif", "--device", case.device]].concat());
        let memory = format!("{}MiB", case.memory);
        words.extend(["--tile-size", &tile, "--memory", &memory]);
        in_tiles(&PROGRAM, folder, &words, bins(case.has_bins), case.device, &MERGE);
        prop_assert!(is_same(folder, "plain.tif", "tiles.tif"));
    }
}

/// A cell in the middle of a void has its nearest far beyond the ground that its tile was planned with.
#[test]
fn the_nearest_are_found_across_a_void() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random::new(8);
    let mut text = String::from("x,y,z\n");
    // Two heaps, 4000 apart; one point between.
    for i in 0..3000 {
        let west = if i % 2 == 0 { 0.0 } else { 4000.0 };
        let [x, y, z] = [40.0, 40.0, 30.0].map(|side| random.between(0.0, side));
        text += &format!("{},{y},{z}\n", west + x);
    }
    text += "1500,20,77\n";
    std::fs::write(folder.join("points.csv"), text).unwrap();
    let words = ["points.csv", "--max-points", "9", "--resolution", "10", "--prediction-error"];
    for (has_bins, words) in [(false, &words[..5]), (true, &words[..5]), (true, &words)] {
        let run = ["-o", "plain.tif", "--device", "cpu", "--overwrite"];
        PROGRAM.succeeds(folder, &[words, &run].concat());
        let plan = [words, &["--tile-size", "32"]].concat();
        assert!(in_tiles(&PROGRAM, folder, &plan, bins(has_bins), "cpu", &MERGE) > 8);
        assert!(is_same(folder, "plain.tif", "tiles.tif"), "{words:?}, bins: {has_bins}");
    }
    // Fewer points than are wanted: all of them count everywhere, also on ground beside them.
    std::fs::write(folder.join("few.csv"), "x,y,z\n1,1,5\n300,2,6\n4,200,9\n").unwrap();
    for bounds in ["--bounds=0,0,300,200", "--bounds=5000,-900,5200,-800"] {
        let words = ["few.csv", "--max-points", "9", "--resolution", "5", bounds];
        let run = ["-o", "few.tif", "--device", "cpu", "--overwrite"];
        PROGRAM.succeeds(folder, &[&words[..], &run].concat());
        let plan = [&words[..], &["--tile-size", "16"]].concat();
        in_tiles(&PROGRAM, folder, &plan, &[], "cpu", &MERGE);
        assert!(is_same(folder, "few.tif", "tiles.tif"), "{bounds}");
    }
}

/// There are so many points that one run expands far ones in groups. The tiles have fewer cells, so they do not.
#[test]
fn sums_over_very_many_points_agree_to_what_is_promised() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random::new(12);
    let mut column = |low: f64, high: f64| -> Vec<f64> {
        (0..9000).map(|_| random.between(low, high)).collect()
    };
    let (x, y, z) = (column(0.0, 300.0), column(0.0, 200.0), column(100.0, 160.0));
    let points = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
    write_las(&folder.join("points.laz"), &points, None).unwrap();
    let words = ["points.laz", "--resolution", "1", "--bounds=0,0,300,200"];
    PROGRAM.succeeds(folder, &[&words[..], &["-o", "plain.tif", "--device", "cpu"]].concat());
    let plan = [&words[..], &["--tile-size", "64"]].concat();
    assert!(in_tiles(&PROGRAM, folder, &plan, &["bin"], "cpu", &MERGE) > 8);
    let [plain, tiles] = ["plain.tif", "tiles.tif"]
        .map(|name| geo_io::RasterFile::open(&folder.join(name)).unwrap().rows(0, 200).unwrap());
    assert_eq!(plain.len(), 60_000);
    let error = |(a, b): (&f32, &f32)| ((a - b) / a).abs();
    let most = plain.iter().zip(&tiles).map(error).fold(0.0, f32::max);
    assert!(most > 0.0 && most < 2e-5, "{most}");
}

/// A survey in two files, and the words of a plan whose memory holds a few parts of it, but not all.
fn write_survey(folder: &Path, points: usize) -> Vec<&'static str> {
    let mut random = Random::new(21);
    for (name, west) in [("east.laz", 100.0), ("west.laz", 0.0)] {
        let mut column = |low: f64, high: f64| -> Vec<f64> {
            (0..points / 2).map(|_| random.between(low, high)).collect()
        };
        let (x, y, z) = (column(west, west + 120.0), column(0.0, 90.0), column(100.0, 160.0));
        let points = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
        write_las(&folder.join(name), &points, None).unwrap();
    }
    vec!["east.laz", "west.laz", "--resolution", "4", "--bounds=0,0,220,90"]
}

/// The most that two surfaces differ by, as a share.
fn difference(folder: &Path, names: [&str; 2], rows: usize) -> f32 {
    let [a, b] = names
        .map(|name| geo_io::RasterFile::open(&folder.join(name)).unwrap().rows(0, rows).unwrap());
    assert!(a.len() == b.len() && !a.is_empty());
    a.iter().zip(&b).map(|(a, b)| ((a - b) / a).abs()).fold(0.0, f32::max)
}

/// Points that do not fit beside the smallest tile are read in parts, which add up to what one run makes of all.
#[test]
fn points_that_memory_does_not_hold_are_added_up_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = write_survey(folder, 150_000);
    for (more, device) in [
        (&[][..], "cpu"),
        (&["--power", "3.5"], "cpu"),
        (&["--smoothing", "2", "--power", "6", "--resolution", "10"], "cpu"),
        (&["--geographic"], "cpu"),
        (&["--resolution", "10"], "software"),
    ] {
        // The last resolution counts.
        let given = if more.contains(&"--resolution") { &[0, 1, 4][..] } else { &[0, 1, 2, 3, 4] };
        let words: Vec<&str> =
            given.iter().map(|&i| words[i]).chain(more.iter().copied()).collect();
        let run = [&words[..], &["-o", "plain.tif", "--device", device, "--overwrite"]].concat();
        PROGRAM.succeeds(folder, &run);
        let plan =
            [&words[..], &["--memory", "72MiB", "--tile-size", "32", "--overwrite"]].concat();
        let report = PROGRAM.json(folder, &[&["plan"], &plan[..]].concat());
        assert!(report["parts"]["count"].as_u64().unwrap() > 2, "{report}");
        let mut made = Vec::new();
        for (output, has_bins) in [("inputs.tif", false), ("bins.tif", true)] {
            if has_bins {
                PROGRAM.succeeds(folder, &["bin", "plan.json"]);
                std::fs::remove_dir_all(folder_of(folder, "plan.json")).unwrap();
            }
            PROGRAM.succeeds(folder, &["run", "plan.json", "--all", "--device", device]);
            PROGRAM.succeeds(folder, &["merge", "plan.json", "-o", output, "--overwrite"]);
            made.push(std::fs::read(folder.join(output)).unwrap());
        }
        assert!(made[0] == made[1], "{more:?}");
        let header = geo_io::RasterFile::open(&folder.join("plain.tif")).unwrap();
        let most = difference(folder, ["plain.tif", "bins.tif"], header.size().1);
        let share = if more.contains(&"6") { 3e-5 } else { 2e-5 };
        println!("{more:?} on {device}: {most:e}");
        assert!(most < share, "{more:?} on {device}: {most}");
    }
}

/// Points that a card does not hold come in parts as well, which take no more of it than the plan says.
#[test]
fn parts_keep_the_memory_of_a_card() {
    const CARD: u64 = 44 << 20;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = write_survey(folder, 300_000);
    let words = [&words[..2], &["--resolution", "20", words[4]]].concat();
    let report =
        PROGRAM.json(folder, &[&["plan", "--device-memory", "44MiB"], &words[..]].concat());
    assert!(report["parts"]["count"].as_u64().unwrap() > 3, "{report}");
    assert!(report["tiles"]["device_bytes"].as_u64().unwrap() <= CARD, "{report}");
    let run = ["run", "plan.json", "--all", "--device", "software"];
    PROGRAM.succeeds_with(folder, &run, &[("TESSERA_SOFTWARE_MEMORY", &CARD.to_string())]);
    PROGRAM.succeeds(folder, &["merge", "plan.json", "-o", "tiles.tif"]);
    let plain = [&words[..], &["-o", "plain.tif", "--device", "cpu"]].concat();
    PROGRAM.succeeds(folder, &plain);
    assert!(difference(folder, ["plain.tif", "tiles.tif"], 5) < 2e-5);
}

/// A tile of parts is a job like any other: made again it is the same, and what is wrong with its points is named.
#[test]
fn tiles_of_parts_are_made_again_and_name_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = write_survey(folder, 100_000);
    let plan = [&["plan", "--memory", "70MiB", "--tile-size", "16"], &words[..]].concat();
    PROGRAM.succeeds(folder, &plan);
    let run = ["run", "plan.json", "--all", "--device", "cpu"];
    PROGRAM.succeeds(folder, &run);
    let tiles = folder_of(folder, "plan.json");
    let before = testing::program::contents(&tiles);
    let is_sums = |path: &std::path::Path| path.extension().is_some_and(|ending| ending == "sums");
    let parts: Vec<_> = before.iter().filter(|(path, _)| !is_sums(path)).collect();
    assert!(parts.len() > 4);
    std::fs::remove_file(&parts[0].0).unwrap();
    std::fs::write(&parts[1].0, &parts[1].1[..parts[1].1.len() / 2]).unwrap();
    PROGRAM.succeeds(folder, &["run", "plan.json", "--tile", "0", "--device", "cpu"]);
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    PROGRAM.succeeds(folder, &run);
    assert!(testing::program::contents(&tiles) == before);
    // A part of the bins is damaged.
    std::fs::remove_file(&parts[2].0).unwrap();
    let bins = bins_of(folder, "plan.json").join("1.points");
    let mut bytes = std::fs::read(&bins).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&bins, bytes).unwrap();
    let run = ["run", "plan.json", "--tile", "2", "--device", "cpu"];
    PROGRAM.fails(folder, &run, &["1.points"]);
    PROGRAM.succeeds(folder, &["bin", "plan.json", "--remove"]);
    let laz = std::fs::read(folder.join("west.laz")).unwrap();
    std::fs::write(folder.join("west.laz"), &laz[..laz.len() - 1]).unwrap();
    PROGRAM.fails(folder, &run, &["west.laz"]);
}

#[test]
fn fewer_points_than_are_asked_for_in_all_parts_are_no_value() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = write_survey(folder, 100_000);
    for (least, is_nodata) in [("100001", true), ("100000", false)] {
        let plan = ["plan", "--memory", "70MiB", "--min-points", least, "--overwrite"];
        PROGRAM.succeeds(folder, &[&plan[..], &words].concat());
        PROGRAM.succeeds(folder, &["run", "plan.json", "--all", "--device", "cpu"]);
        let merge = ["merge", "plan.json", "-o", "tiles.tif", "--overwrite"];
        let report = PROGRAM.succeeds(folder, &merge);
        // As a direct run says it.
        assert_eq!(report.contains("none: every cell is NODATA"), is_nodata, "{report}");
        let report = PROGRAM.json(folder, &merge);
        assert_eq!(report["values"]["range"].is_null(), is_nodata, "{report}");
        let file = geo_io::RasterFile::open(&folder.join("tiles.tif")).unwrap();
        let values = file.rows(0, file.size().1).unwrap();
        assert!(values.iter().all(|&value| (value == -9999.0) == is_nodata), "{least}");
    }
}

/// Points whose coordinates and values alone are four times the memory of the plan.
#[test]
#[cfg(target_os = "linux")]
fn parts_keep_the_memory_of_the_plan() {
    const MEMORY: u64 = 72 << 20;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let count = (4 * MEMORY / 24) as usize;
    let mut random = Random::new(23);
    let mut column =
        |side: f64| -> Vec<f64> { (0..count / 4).map(|_| random.between(0.0, side)).collect() };
    for file in 0..4 {
        let (x, y, z) = (column(1000.0), column(1000.0), column(50.0));
        let points = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
        write_las(&folder.join(format!("{file}.laz")), &points, None).unwrap();
    }
    let words = ["plan", "*.laz", "--resolution", "40", "--memory", "72MiB"];
    let report = PROGRAM.json(folder, &words);
    assert!(report["parts"]["count"].as_u64().unwrap() > 100, "{report}");
    for has_bins in [false, true] {
        if has_bins {
            let peak = testing::tiles::peak_memory(&PROGRAM, folder, &["bin", "plan.json"]);
            assert!(peak <= MEMORY / 10 * 11, "bin: {} MiB", peak >> 20);
            std::fs::remove_dir_all(folder_of(folder, "plan.json")).unwrap();
        }
        let run = ["run", "plan.json", "--all", "--device", "cpu"];
        let peak = testing::tiles::peak_memory(&PROGRAM, folder, &run);
        println!("bins {has_bins}: {} MiB at the peak", peak >> 20);
        assert!(peak <= MEMORY / 10 * 11, "bins {has_bins}: {} MiB", peak >> 20);
    }
}

#[test]
fn real_surveys_in_tiles_are_those_of_one_run() {
    let data = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    for (name, cell, search) in
        [("autzen.laz", "4", ["--radius", "25"]), ("topography.laz", "0.5", ["--max-points", "12"])]
    {
        let input = data.join(name);
        if !input.is_file() {
            println!("skipped: {} is not there", input.display());
            continue;
        }
        let header = geo_io::read_header(&input).unwrap().unwrap();
        let b = header.bounds.unwrap();
        let bounds = format!("--bounds={},{},{},{}", b.min_x, b.min_y, b.max_x, b.max_y);
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let base = [input.to_str().unwrap(), "--classes", "2", "--resolution", cell, &bounds];
        let words = [&base[..], &search].concat();
        PROGRAM.succeeds(folder, &[&words[..], &["-o", "plain.tif", "--device", "cpu"]].concat());
        let plan = [&words[..], &["--tile-size", "100"]].concat();
        let tiles = in_tiles(&PROGRAM, folder, &plan, &["bin"], "cpu", &MERGE);
        println!("{name}: {tiles} tiles");
        assert!(tiles > 1 && is_same(folder, "plain.tif", "tiles.tif"), "{name}");
    }
}

/// The same of points in parts, read of the inputs, and what is left in the end of bins.
#[test]
fn parts_killed_at_random_and_run_again_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = write_survey(folder, 100_000);
    PROGRAM.succeeds(
        folder,
        &[&["plan", "--memory", "70MiB", "--tile-size", "16"], &words[..]].concat(),
    );
    let run = ["run", "plan.json", "--all", "--device", "cpu"];
    let tiles = folder_of(folder, "plan.json");
    PROGRAM.succeeds(folder, &run);
    let wanted = testing::program::contents(&tiles);
    std::fs::remove_dir_all(&tiles).unwrap();
    kill_at_random(&PROGRAM, folder, &tiles, &run);
    PROGRAM.succeeds(folder, &["bin", "plan.json"]);
    PROGRAM.succeeds(folder, &run);
    for (path, bytes) in wanted {
        assert!(std::fs::read(&path).unwrap() == bytes, "{}", path.display());
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
        |side: f64| -> Vec<f64> { (0..1_500_000).map(|_| random.between(0.0, side)).collect() };
    let (x, y, z) = (column(1000.0), column(1000.0), column(50.0));
    let points = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
    write_las(&folder.join("points.laz"), &points, None).unwrap();
    let searches = [
        &["--radius", "1.5"][..],
        &["--max-points", "4"],
        &["--max-points", "4", "--prediction-error"],
    ];
    for search in searches {
        let plan = [&["points.laz", "--resolution", "2"], search].concat();
        testing::tiles::keeps_the_memory(&PROGRAM, folder, &plan, &["bin"], (110, 4));
    }
}

#[test]
fn points_of_which_filters_keep_none_have_no_plan() {
    PROGRAM.plans_only_what_filters_keep(&["--radius", "9"]);
}

#[test]
fn bounds_between_the_points_have_no_plan() {
    PROGRAM.plans_only_ground_with_points(&["--radius", "1"]);
    PROGRAM.plans_only_ground_with_points(&["--radius", "1", "--variogram", "fit"]);
    PROGRAM.plans_only_ground_with_points(&["--kernel", "uniform", "--bandwidth", "1"]);
}

#[test]
fn what_has_no_plan_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("points.csv"), testing::program::PLANE).unwrap();
    for (more, words) in [
        (&["--max-points", "0"][..], &["--max-points 0"][..]),
        (&["--memory", "1MiB"], &["--memory", "1048576"]),
        (
            &["--adaptive", "--memory", "1MiB"],
            &["each tile reads all points", "--memory", "1048576"],
        ),
        (&["--radius", "3", "--memory", "1MiB"], &["--memory", "1048576"]),
        (&["--radius", "3", "--tile-size", "3"], &["--tile-size", "16"]),
        (&["--radius", "1e300"], &["--radius"]),
        (
            &["--radius", "5", "--resolution", "1e-7"],
            &[
                "--resolution 1e-7: ",
                "tiles are too many",
                "--tile-size; give a larger --resolution",
            ],
        ),
        (&["--radius", "3", "--cross-validate"], &["--cross-validate"]),
    ] {
        PROGRAM.fails(folder, &[&["plan", "points.csv"], more].concat(), words);
    }
    PROGRAM.fails(folder, &["plan", "-", "--radius", "4"], &["standard input"]);
    PROGRAM.fails(folder, &["plan", "--radius", "4"], &["point files"]);
    PROGRAM.succeeds(folder, &["plan", "points.csv", "--radius", "4"]);
    PROGRAM.fails(folder, &["merge", "plan.json", "-o", "a.npy"], &["--output", ".tif"]);
}
