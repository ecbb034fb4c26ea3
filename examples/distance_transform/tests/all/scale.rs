//! Distances in tiles: planned, made in any order, killed and made again, put together, they are those of one run.

use std::path::Path;

use geo_io::{Crs, Georeference, write_georeferenced, write_npy};
use proptest::prelude::*;
use testing::program::is_same;
use testing::tiles::{Suite, folder_of, in_tiles, kill_at_random, number};
use testing::{Random, suite_of_tiles};

use crate::PROGRAM;

/// Runs the program, which must succeed.
fn succeeds(folder: &Path, parts: &[&[&str]]) -> String {
    PROGRAM.succeeds(folder, &parts.concat())
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

/// A raster of values from 0 to 4, most of them 0, some of them NaN.
fn values(random: &mut Random, count: usize, share: f64) -> Vec<f32> {
    let value = |random: &mut Random| match random.unit() {
        u if u < share => 1.0 + random.below(4) as f32,
        u if u > 0.98 => f32::NAN,
        _ => 0.0,
    };
    (0..count).map(|_| value(random)).collect()
}

/// An NPY file that is stored column by column.
fn write_by_columns(path: &Path, values: &[f32], width: usize, height: usize) {
    let header =
        format!("{{'descr': '<f4', 'fortran_order': True, 'shape': ({height}, {width}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let turned = (0..width).flat_map(|x| (0..height).map(move |y| values[y * width + x]));
    bytes.extend(turned.flat_map(f32::to_le_bytes));
    std::fs::write(path, bytes).unwrap();
}

/// Writes the same mask in one of several forms, and gives its name.
fn write_mask(
    folder: &Path,
    form: &str,
    values: &[f32],
    (width, height): (u32, u32),
) -> &'static str {
    let at = |name: &str| folder.join(name);
    let (columns, rows) = (width as usize, height as usize);
    match form {
        "npy" => write_npy(&at("mask.npy"), values, columns, rows).unwrap(),
        "bytes" => {
            let bytes: Vec<u8> = values.iter().map(|&v| v as u8).collect();
            write_npy(&at("mask.npy"), &bytes, columns, rows).unwrap();
        }
        "columns" => write_by_columns(&at("mask.npy"), values, columns, rows),
        _ => {
            let crs = Crs::parse("EPSG:26910").ok();
            let transform = [5e5 + 0.1, 30.0, 0.0, 4.6e6 + 0.7, 0.0, -40.0];
            let place = Georeference { transform, crs };
            write_georeferenced(&at("mask.tif"), &place, (width, height), values, -1.0).unwrap();
            return "mask.tif";
        }
    }
    "mask.npy"
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    size: (u32, u32),
    share: f64,
    form: &'static str,
    spacing: &'static str,
    /// The largest distance, if there is one.
    distance: Option<f64>,
    tile: u32,
    memory: u32,
    sites: &'static [&'static str],
    is_cog: bool,
    device: &'static str,
}

fn case() -> impl Strategy<Value = Case> {
    let side = || prop_oneof![1..40_u32, 60..130_u32, 250..300_u32];
    let share = prop_oneof![Just(0.0), 0.0001..0.01, 0.01..0.3, Just(0.97)];
    let forms = prop::sample::select(vec!["npy", "bytes", "columns", "tif"]);
    // Squares, whole ratios, and one whose numbers depend on the size of the raster.
    let spacings = vec!["1,1", "2.5,2.5", "3,4", "1,1.41421356237", "0.5,0.1"];
    let limit = prop_oneof![Just(0.0), 0.5..6.0, 6.0..60.0, Just(1e4)];
    let distance = prop_oneof![limit.prop_map(Some), Just(None)];
    let sites: Vec<&'static [&'static str]> =
        vec![&[], &["--invert"], &["--values", "2-3"], &["--values", "1,4", "--invert"]];
    let devices = if cfg!(feature = "cuda") {
        vec!["cpu", "cpu", "software:1", "software:3"]
    } else {
        vec!["cpu"]
    };
    let how = (
        forms,
        prop::sample::select(spacings),
        prop::sample::select(sites),
        any::<bool>(),
        prop::sample::select(devices),
    );
    (any::<u64>(), (side(), side()), share, distance, (16..130_u32, 70..90_u32), how).prop_map(
        |(seed, size, share, distance, (tile, memory), how)| {
            let (form, spacing, sites, is_cog, device) = how;
            Case { seed, size, share, form, spacing, distance, tile, memory, sites, is_cog, device }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: number("TESSERA_CASES", 40), failure_persistence: None, ..Default::default() })]

    #[test]
    fn tiles_have_the_bytes_of_one_run(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut random = Random::new(case.seed);
        let count = (case.size.0 * case.size.1) as usize;
        let mask = write_mask(folder, case.form, &values(&mut random, count, case.share), case.size);
        let distance = case.distance.map(|distance| distance.to_string());
        let limit = distance.as_ref().map(|distance| ["--max-distance", distance]);
        let limit = limit.as_ref().map_or(&[][..], |limit| limit);
        let words = [&[mask, "--spacing", case.spacing], limit, case.sites].concat();
        let cog: &[&str] = if case.is_cog { &["--cog"] } else { &[] };
        let plain = ["-o", "plain.tif", "-o", "plain.npy", "--nearest", "near-plain.npy"];
        let ground = ["--direction", "direction-plain.tif", "--nearest-x", "x-plain.npy", "--nearest-y", "y-plain.npy"];
        succeeds(folder, &[&words, &plain, &ground, cog, &["--device", "cpu"]]);
        let (tile, memory) = (case.tile.to_string(), format!("{}MiB", case.memory));
        let plan = [&words[..], &["--tile-size", &tile, "--memory", &memory]].concat();
        let plan = [&plan[..], &["--nearest"]].concat();
        let scan: &[&str] = if limit.is_empty() { &["scan"] } else { &[] };
        let merge = ["-o", "tiles.tif", "-o", "tiles.npy", "--nearest", "near.npy"];
        let ground = ["--direction", "direction.tif", "--nearest-x", "x.npy", "--nearest-y", "y.npy"];
        in_tiles(&PROGRAM, folder, &plan, scan, case.device, &[&merge[..], &ground, cog].concat());
        for (a, b) in [
            ("plain.tif", "tiles.tif"), ("plain.npy", "tiles.npy"), ("near-plain.npy", "near.npy"),
            ("direction-plain.tif", "direction.tif"), ("x-plain.npy", "x.npy"), ("y-plain.npy", "y.npy"),
        ] {
            prop_assert!(bytes(folder, a) == bytes(folder, b), "{} is not {}", b, a);
        }
    }
}

const SUITE: Suite = Suite {
    program: PROGRAM,
    write_inputs: |folder| {
        let values = values(&mut Random::new(4), 120_000, 0.002);
        write_mask(folder, "tif", &values, (400, 300));
    },
    input: "mask.tif",
    at_once: &["-o", "plain.tif", "--nearest", "near-plain.npy"],
    words: &["mask.tif", "--max-distance", "40", "--spacing", "georeference"],
    plan: &["--nearest"],
    sides: ["48", "150"],
    before: &[],
    merge: &["-o", "merged.tif", "--nearest", "near.npy"],
    same: &[["plain.tif", "merged.tif"], ["near-plain.npy", "near.npy"]],
    ends: &[".tif", ".nearest.npy"],
    damaged: &["tile 2 is damaged", "distance_transform run"],
    changed: ["\"invert\": false", "\"invert\": true"],
};

suite_of_tiles! { SUITE }

fn merged_is_plain(folder: &Path) {
    let merge = ["merge", "plan.json", "-o", "merged.tif", "--nearest", "near.npy", "--overwrite"];
    succeeds(folder, &[&merge]);
    assert!(bytes(folder, "plain.tif") == bytes(folder, "merged.tif"));
    assert!(bytes(folder, "near-plain.npy") == bytes(folder, "near.npy"));
}

/// The same mask without a largest distance: few sites, so that they are far.
fn folder_of_far_sites(height: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let size = (300, height);
    let values = values(&mut Random::new(6), 300 * height as usize, 2e-5);
    write_mask(folder.path(), "tif", &values, size);
    let plain = ["mask.tif", "-o", "plain.tif", "--nearest", "near-plain.npy", "--device", "cpu"];
    succeeds(folder.path(), &[&plain]);
    folder
}

/// The folder of what a scan has found.
fn rows_of(folder: &Path) -> std::path::PathBuf {
    let tiles = folder_of(folder, "plan.json");
    let name = tiles.file_name().unwrap().to_str().unwrap();
    tiles.with_file_name(name.replace("tiles-", "rows-"))
}

/// A raster of several bands: what of a scan is missing, damaged or another's is named and made again.
#[test]
fn a_scan_goes_on_and_what_it_lacks_is_named() {
    let folder = folder_of_far_sites(9000);
    let folder = folder.path();
    succeeds(folder, &[&["plan", "mask.tif", "--tile-size", "100", "--nearest"]]);
    let run = ["run", "plan.json", "--all", "--device", "cpu"];
    let words = ["distance_transform scan", "npy"];
    PROGRAM.fails(folder, &run, &words);
    let scan = || succeeds(folder, &[&["scan", "plan.json"]]);
    assert!(scan().contains("3 made, 0 were there"));
    assert!(scan().contains("0 made, 3 were there"));
    let rows = rows_of(folder);
    std::fs::remove_file(rows.join("1.npy")).unwrap();
    PROGRAM.fails(folder, &run, &words);
    let whole = std::fs::read(rows.join("2.npy")).unwrap();
    std::fs::write(rows.join("2.npy"), &whole[..whole.len() / 2]).unwrap();
    assert!(scan().contains("2 made, 1 were there"));
    // Of another plan, and what lies within the tile.
    std::fs::copy(rows.join("0.npy"), rows.join("2.npy")).unwrap();
    assert!(scan().contains("1 made"));
    assert!(std::fs::read(rows.join("2.npy")).unwrap() == whole);
    std::fs::create_dir(folder_of(folder, "plan.json")).unwrap();
    let words = ["2.npy is damaged", "distance_transform scan"];
    let end = whole.len();
    for (from, to, tile) in [(end - 100, end, "4"), (128, end, "2"), (500, 501, "0")] {
        let mut bad = whole.clone();
        bad[from..to].fill(0);
        std::fs::write(rows.join("2.npy"), &bad).unwrap();
        PROGRAM.fails(folder, &["run", "plan.json", "--tile", tile], &words);
        assert!(scan().contains("1 made, 2 were there"));
        assert!(std::fs::read(rows.join("2.npy")).unwrap() == whole);
    }
    succeeds(folder, &[&run]);
    merged_is_plain(folder);
    assert!(succeeds(folder, &[&["scan", "plan.json", "--remove"]]).contains("3 files"));
    assert!(!rows.exists());
    // Another mask of that name.
    write_mask(folder, "tif", &vec![1.0; 300 * 9000], (300, 9000));
    PROGRAM.fails(folder, &["scan", "plan.json"], &["mask.tif has changed"]);
}

/// Rows so wide that 256 of them do not fit the memory are read in parts, some tiles at a time.
#[test]
fn a_scan_of_wide_rows_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (width, height) = (6000, 300);
    write_mask(folder, "bytes", &values(&mut Random::new(9), 1_800_000, 1e-5), (width, height));
    let plain = ["mask.npy", "-o", "plain.tif", "--nearest", "near-plain.npy", "--device", "cpu"];
    succeeds(folder, &[&plain]);
    succeeds(folder, &[&["plan", "mask.npy", "--memory", "66MiB", "--nearest"]]);
    succeeds(folder, &[&["scan", "plan.json"]]);
    succeeds(folder, &[&["run", "plan.json", "--all", "--device", "cpu"]]);
    merged_is_plain(folder);
}

#[test]
fn a_scan_killed_at_random_and_run_again_is_the_same() {
    let folder = folder_of_far_sites(9000);
    let folder = folder.path();
    succeeds(folder, &[&["plan", "mask.tif", "--tile-size", "64", "--nearest"]]);
    let scan = ["scan", "plan.json"];
    kill_at_random(&PROGRAM, folder, &rows_of(folder), &scan);
    succeeds(folder, &[&scan]);
    succeeds(folder, &[&["run", "plan.json", "--all", "--device", "cpu"]]);
    merged_is_plain(folder);
}

#[test]
fn what_has_no_plan_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_mask(folder, "npy", &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], (3, 2));
    write_mask(folder, "tif", &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], (3, 2));
    for name in ["mask.npz", "mask.png", "mask.jpg"] {
        std::fs::write(folder.join(name), "x").unwrap();
    }
    std::fs::write(folder.join("short.npy"), &bytes(folder, "mask.npy")[..140]).unwrap();
    let most = ["--max-distance", "4"];
    let plan: [(&[&str], &[&str]); 8] = [
        (&["mask.npz", most[0], most[1]], &["mask.npz", ".npz", "part"]),
        (&["mask.png", most[0], most[1]], &["mask.png", "part"]),
        (&["mask.jpg", most[0], most[1]], &["mask.jpg", ".npy"]),
        (&["short.npy", most[0], most[1]], &["short.npy", "more than it has"]),
        (&["missing.tif", most[0], most[1]], &["missing.tif"]),
        (&["mask.npy", most[0], most[1], "--tile-size", "3"], &["--tile-size", "3", "16"]),
        (&["mask.npy", most[0], most[1], "--memory", "1MiB"], &["--memory", "1048576"]),
        (&["mask.npy", most[0], most[1], "--device-memory", "1"], &["--device-memory"]),
    ];
    for (more, words) in plan {
        PROGRAM.fails(folder, &[&["plan"], more].concat(), words);
    }
    succeeds(folder, &[&["plan", "mask.npy"], &most]);
    PROGRAM.fails(folder, &["scan", "plan.json"], &["--max-distance", "no scan"]);
    succeeds(folder, &[&["run", "plan.json", "--all", "--device", "cpu"]]);
    let nearest = ["merge", "plan.json", "--nearest", "n.npy"];
    PROGRAM.fails(folder, &nearest, &["--nearest n.npy", "lacks --nearest"]);
    PROGRAM.fails(folder, &["merge", "plan.json", "-o", "d.png"], &["d.png", ".npy"]);
    PROGRAM.fails(folder, &["run", "plan.json", "--tile", "7"], &["--tile 7", "0 to 0"]);
    // The mask is not what a merge may replace.
    succeeds(folder, &[&["plan", "mask.tif", "-o", "tif.json"], &most]);
    succeeds(folder, &[&["run", "tif.json", "--all", "--device", "cpu"]]);
    let over = ["merge", "tif.json", "--overwrite", "-o", "mask.tif"];
    PROGRAM.fails(folder, &over, &["mask.tif", "the same file"]);
}

/// The memory of a mask many times larger than the budget.
#[test]
#[cfg(target_os = "linux")]
fn tiles_in_work_keep_the_memory_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let side = 6000_u32;
    let mask: Vec<u8> = (0..side * side).map(|i| u8::from(i % 9973 == 0)).collect();
    write_npy(&folder.join("mask.npy"), &mask, side as usize, side as usize).unwrap();
    let plan = ["mask.npy", "--max-distance", "30", "--nearest"];
    testing::tiles::keeps_the_memory(&PROGRAM, folder, &plan, &[], (130, 7));
    let merge = ["merge", "plan.json", "--nearest", "n.npy"];
    let peak = testing::tiles::peak_memory(&PROGRAM, folder, &merge);
    assert!(peak <= 300 << 20, "{} MiB", peak >> 20);
    // Without a limit, in strips; the first pass too.
    let plan = ["mask.npy", "-o", "plan.json"];
    testing::tiles::keeps_the_memory(&PROGRAM, folder, &plan, &["scan"], (130, 7));
    succeeds(folder, &[&["scan", "plan.json", "--remove"]]);
    let peak = testing::tiles::peak_memory(&PROGRAM, folder, &["scan", "plan.json"]);
    assert!(peak <= 143 << 20, "scan: {} MiB", peak >> 20);
}

/// A mask that changed needs another plan, whatever is run again; and tiles that were merged are said to be there.
#[test]
fn a_changed_mask_needs_another_plan_and_tiles_that_stay_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mask: Vec<f32> = (0..40 * 40).map(|i| f32::from(u8::from(i % 97 == 0))).collect();
    write_npy(&folder.join("mask.npy"), &mask, 40, 40).unwrap();
    succeeds(folder, &[&["plan", "mask.npy", "--tile-size", "16"]]);
    succeeds(folder, &[&["scan", "plan.json"]]);
    succeeds(folder, &[&["run", "plan.json", "--all"]]);
    let report = succeeds(folder, &[&["merge", "plan.json"]]);
    for words in ["tiles stay in", "scan plan.json --remove"] {
        assert!(report.contains(words), "{report}");
    }
    succeeds(folder, &[&["scan", "plan.json", "--remove"]]);
    let report = succeeds(folder, &[&["merge", "plan.json", "--overwrite"]]);
    assert!(report.contains("tiles stay in") && !report.contains("--remove"), "{report}");
    succeeds(folder, &[&["plan", "mask.npy", "--max-distance", "5", "--overwrite"]]);
    write_npy(&folder.join("mask.npy"), &mask[..39 * 40], 40, 39).unwrap();
    let lines = PROGRAM.errors(folder, &["run", "plan.json", "--all"]);
    let last = lines.last().unwrap();
    assert!(last.contains("tiles failed") && last.contains("mask.npy has changed"), "{last}");
    assert!(last.contains("make the plan again") && !last.contains("run it again"), "{last}");
}

/// Tiles made before and after it would have other pixels without a value.
#[test]
fn nodata_stated_beside_a_mask_after_its_plan_needs_another_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mask: Vec<f32> = (0..40 * 40).map(|i| f32::from(u8::from(i % 97 == 0))).collect();
    let place = Georeference::north_up((0.0, 40.0), (1.0, 1.0));
    write_georeferenced(&folder.join("mask.tif"), &place, (40, 40), &mask, -1.0).unwrap();
    let plan = ["plan", "mask.tif", "--tile-size", "16", "--max-distance", "5"];
    succeeds(folder, &[&plan[..]]);
    succeeds(folder, &[&["run", "plan.json", "--tile", "0"]]);
    let aux = |band: &str| {
        let text =
            format!("<PAMDataset><PAMRasterBand band=\"1\">{band}</PAMRasterBand></PAMDataset>");
        std::fs::write(folder.join("mask.tif.aux.xml"), text).unwrap();
    };
    // Statistics, as `gdalinfo -stats` writes them, change nothing.
    aux("<Metadata><MDI key=\"STATISTICS_MAXIMUM\">1</MDI></Metadata>");
    succeeds(folder, &[&["run", "plan.json", "--tile", "1"]]);
    aux("<NoDataValue>1</NoDataValue>");
    PROGRAM.fails(folder, &["run", "plan.json", "--tile", "2"], &["mask.tif", "has changed"]);
}

/// Each tile writes its own chunks of one array, which has the values of one run and needs no merge.
#[test]
fn tiles_are_chunks_of_one_array() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let values: Vec<f32> = (0..100 * 70).map(|i| if i % 97 == 5 { 1.0 } else { 0.0 }).collect();
    let crs = Crs::parse("EPSG:32633").ok();
    let place = Georeference { crs, ..Georeference::north_up((5e5, 4e6), (2.0, 2.0)) };
    write_georeferenced(&at("mask.tif"), &place, (100, 70), &values, -1.0).unwrap();
    let spacing = ["--spacing", "georeference", "--max-distance", "9"];
    let line =
        [&["mask.tif", "-o", "d.tif", "-o", "d.zarr", "--device", "cpu"], &spacing[..]].concat();
    PROGRAM.succeeds(folder.path(), &line);
    let read = |name: &str| {
        let raster = geo_io::read_raster(&at(name), None).unwrap();
        let place = raster.georeference.unwrap();
        assert_eq!(place.crs.unwrap().epsg(), Some(32633), "{name}");
        (format!("{:?}", raster.values.to_floats(raster.nodata)), place.transform)
    };
    assert!(read("d.tif") == read("d.zarr"));
    let plan = ["plan", "mask.tif", "--tile-size", "32", "--zarr", "tiles.zarr"];
    PROGRAM.succeeds(folder.path(), &[&plan[..], &spacing].concat());
    PROGRAM.succeeds(folder.path(), &["run", "plan.json", "--tile", "3", "--device", "cpu"]);
    let error = PROGRAM.errors(folder.path(), &["merge", "plan.json", "-o", "m.tif"]).concat();
    assert!(error.contains("nothing to merge") && error.contains("tiles.zarr"), "{error}");
    PROGRAM.succeeds(folder.path(), &["run", "plan.json", "--all", "--device", "cpu"]);
    assert!(read("d.tif") == read("tiles.zarr"));
    // A chunk that is lost or cut short is made again, and nothing else is.
    let chunk = at("tiles.zarr/tiles/c/1/2");
    let bytes = std::fs::read(&chunk).unwrap();
    std::fs::write(&chunk, &bytes[..bytes.len() / 2]).unwrap();
    let report = PROGRAM.json(folder.path(), &["run", "plan.json", "--all", "--device", "cpu"]);
    assert_eq!(report["tiles"]["made"], 1);
    assert!(std::fs::read(&chunk).unwrap() == bytes && read("d.tif") == read("tiles.zarr"));
    let again = [&plan[..], &spacing, &["-o", "other.json"]].concat();
    PROGRAM.fails(folder.path(), &again, &["--zarr", "tiles.zarr", "exists already"]);
    // The array is a mask, a DEM, a raster of an index as well.
    PROGRAM.succeeds(folder.path(), &["tiles.zarr", "-o", "of-zarr.npy", "--device", "cpu"]);
    PROGRAM.succeeds(folder.path(), &["d.tif", "-o", "of-tif.npy", "--device", "cpu"]);
    assert!(is_same(folder.path(), "of-zarr.npy", "of-tif.npy"));
    let merged = ["plan", "d.zarr", "--tile-size", "64", "--overwrite"];
    PROGRAM.succeeds(folder.path(), &[&merged[..], &spacing].concat());
    PROGRAM.succeeds(folder.path(), &["run", "plan.json", "--all", "--device", "cpu"]);
    PROGRAM.succeeds(folder.path(), &["merge", "plan.json", "-o", "m.zarr", "-o", "m.tif"]);
    assert!(read("m.tif") == read("m.zarr"));
}

/// A merge says what a direct run says of the distances.
#[test]
fn a_merge_says_the_distances_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for site in [0, 1] {
        let mut mask = vec![0_u8; 40 * 30];
        mask[17] = site;
        geo_io::write_npy(&folder.join("mask.npy"), &mask, 40, 30).unwrap();
        let limit = ["--max-distance", "5"];
        let plain = ["mask.npy", "-o", "d.tif", "--device", "cpu", "--overwrite"];
        let plain = PROGRAM.json(folder, &[&plain[..], &limit].concat());
        let plan = ["plan", "mask.npy", "--tile-size", "16", "--overwrite"];
        PROGRAM.succeeds(folder, &[&plan[..], &limit].concat());
        PROGRAM.succeeds(folder, &["run", "plan.json", "--all", "--device", "cpu"]);
        let merge = ["merge", "plan.json", "-o", "m.npy", "-o", "m.tif", "--overwrite"];
        assert_eq!(PROGRAM.json(folder, &merge)["distances"], plain["distances"]);
        let said = PROGRAM.succeeds(folder, &merge);
        assert_eq!(said.contains("none: all 1200 pixels lack a site"), site == 0, "{said}");
    }
}

#[test]
fn a_catalogue_of_one_mask_has_its_plan() {
    use testing::files::catalogues::{Listed, tile_index};
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let place = geo_io::Georeference::north_up((4e5, 5e6), (2.0, 2.0));
    let place = geo_io::Georeference { crs: geo_io::Crs::parse("EPSG:32632").ok(), ..place };
    let values = values(&mut Random::new(5), 60 * 50, 0.1);
    geo_io::write_georeferenced(&here.join("mask.tif"), &place, (60, 50), &values, -1.0).unwrap();
    let index = tile_index(&[Listed::new("mask.tif", [4e5, 4_999_900.0, 400_120.0, 5e6])], 32632);
    std::fs::write(here.join("index.geojson"), index.to_string()).unwrap();
    let plan = |input: &str| {
        let words = ["plan", input, "--max-distance", "9", "--memory", "1GiB", "-o", "p.json"];
        succeeds(here, &[&words, &["--overwrite"]]);
        bytes(here, "p.json")
    };
    assert!(plan("mask.tif") == plan("index.geojson"));
}
