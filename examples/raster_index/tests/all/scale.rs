//! An index in tiles: planned, made in any order, put together, it is the index of one run.

use std::path::Path;

use geo_io::{Cells, Georeference, TiffOptions, f16, write_npy, write_tiff};
use proptest::prelude::*;
use testing::files::tiff::{Field, Tiff};
use testing::program::is_same;
use testing::tiles::{Suite, in_tiles, number};
use testing::{Random, suite_of_tiles};

use crate::PROGRAM;

const MERGE: [&str; 2] = ["-o", "tiles.ccq"];

const SUITE: Suite = Suite {
    program: PROGRAM,
    write_inputs: |folder| {
        let values = values(&mut Random::new(3), 1500, 1100);
        write_array(&folder.join("raster.npy"), &values, 1500, "i16");
    },
    input: "raster.npy",
    at_once: &["build", "-o", "one.ccq"],
    words: &["raster.npy"],
    plan: &[],
    sides: ["128", "512"],
    before: &[],
    merge: &MERGE,
    same: &[["one.ccq", "tiles.ccq"]],
    ends: &[".ccq"],
    damaged: &["damaged"],
    changed: ["\"value_bytes\": 2", "\"value_bytes\": 4"],
};

suite_of_tiles! { SUITE }

/// Steps of different sides, of few values or of many, some of which are -9.
fn values(random: &mut Random, width: usize, height: usize) -> Vec<f64> {
    let (step, range) = (1_usize << random.below(7), 2_u64 << random.below(10));
    let seed = random.next_u64();
    let at = |row: usize, column: usize| {
        let place = ((row / step) as u64) << 32 | (column / step) as u64;
        let mut own = Random::new(seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if own.below(9) == 0 { -9.0 } else { own.below(range) as f64 }
    };
    (0..height).flat_map(|row| (0..width).map(move |column| at(row, column))).collect()
}

/// Writes an array of a type.
fn write_array(path: &Path, values: &[f64], width: usize, kind: &str) {
    let height = values.len() / width;
    macro_rules! write {
        ($type:ty) => {{
            let values: Vec<$type> = values.iter().map(|&v| v as $type).collect();
            write_npy(path, &values, width, height).unwrap()
        }};
    }
    match kind {
        "u8" => write!(u8),
        "i8" => write!(i8),
        "i16" => write!(i16),
        "u16" => write!(u16),
        "i32" => write!(i32),
        "u32" => write!(u32),
        "i64" => write!(i64),
        "u64" => write!(u64),
        "f64" => write!(f64),
        // Values that 32 bits do not hold, beside each other where floats are two apart.
        "long i64" => {
            let values: Vec<i64> = values.iter().map(|&v| (1 << 60) + v as i64).collect();
            write_npy(path, &values, width, height).unwrap()
        }
        "long u64" => {
            let values: Vec<u64> = values.iter().map(|&v| u64::MAX - 99 - v as u64).collect();
            write_npy(path, &values, width, height).unwrap()
        }
        "long f64" => {
            let values: Vec<f64> = values.iter().map(|&v| v + 0.1).collect();
            write_npy(path, &values, width, height).unwrap()
        }
        "f16" => {
            let halves: Vec<f16> = values.iter().map(|&v| f16::from_f64(v)).collect();
            write_npy(path, &halves, width, height).unwrap()
        }
        _ => write!(f32),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: number("TESSERA_CASES", 24), failure_persistence: None, ..Default::default() })]

    #[test]
    fn tiles_have_the_bytes_of_one_run(
        seed in any::<u64>(),
        (width, height) in (1..300_usize, 1..300_usize),
        kind in prop::sample::select(vec![
            "u8", "i8", "i16", "u16", "i32", "u32", "f32", "i64", "u64", "f64", "f16", "long i64", "long u64", "long f64",
        ]),
        bins in prop::sample::select(vec![
            None, Some("3,40,200.5"), Some("0"), Some("3,3.5,3.75,40"), Some("long"),
        ]),
        nodata in prop::sample::select(vec![None, Some("-9"), Some("0"), Some("12.5"), Some("3.1"), Some("1152921504606846978")]),
        tile in prop::sample::select(vec!["64", "100", "128", "512"]),
        on_device in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let device = if on_device && cfg!(feature = "cuda") { "software" } else { "cpu" };
        write_array(&folder.join("raster.npy"), &values(&mut Random::new(seed), width, height), width, kind);
        // Of other types no float tells these two from each other.
        let long = kind.starts_with("long").then_some("3,1152921504606846979,1152921504606846981");
        let bins = if bins == Some("long") { long } else { bins };
        let mut words = vec!["raster.npy"];
        for (option, value) in [("--bins", bins), ("--nodata", nodata)] {
            words.extend(value.into_iter().flat_map(|value| [option, value]));
        }
        PROGRAM.succeeds(folder, &[&["build", "-o", "one.ccq", "--device", device], &words[..]].concat());
        words.extend(["--tile-size", tile]);
        in_tiles(&PROGRAM, folder, &words, &[], device, &MERGE);
        prop_assert!(is_same(folder, "one.ccq", "tiles.ccq"));
    }

    /// GeoTIFFs beside each other, with gaps between them that are NODATA.
    #[test]
    fn rasters_beside_each_other_are_tiled_as_one(
        seed in any::<u64>(), tile in prop::sample::select(vec!["64", "128"]), binned: bool, is_wide: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut random = Random::new(seed);
        let mut names = Vec::new();
        for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            // One may be missing, but not the first.
            if (row, column) != (0, 0) && random.below(4) == 0 {
                continue;
            }
            let (width, height) = (90, 70);
            let values = values(&mut random, width as usize, height as usize);
            let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
            let corner = (500.0 + f64::from(column * 90) * 2.0, 900.0 - f64::from(row * 70) * 2.0);
            let place = Georeference::north_up(corner, (2.0, 2.0));
            let name = format!("{row}{column}.tif");
            let cells = Cells::Values { values: &values, nodata: -9999.0 };
            if is_wide && (row, column) != (0, 1) {
                // One file has values of 32 bits, the others of 64.
                let values: Vec<f64> = values.iter().map(|&v| f64::from(v) + 0.1).collect();
                let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
                let point = vec![0.0, 0.0, 0.0, corner.0, corner.1, 0.0];
                let tiff = Tiff::new(width as usize, &bits, (64, 3)).tag(33922, Field::Doubles(point));
                let scale = Field::Doubles(vec![2.0, 2.0, 0.0]);
                tiff.tag(33550, scale).nodata("-9999").write(&folder.join(&name));
            } else {
                write_tiff(&folder.join(&name), &place, (width, height), cells, &TiffOptions::default()).unwrap();
            }
            names.insert(random.below(names.len() as u64 + 1) as usize, name);
        }
        let mut words: Vec<&str> = names.iter().map(String::as_str).collect();
        if binned {
            words.extend(["--bins", "2,5,100"]);
        }
        PROGRAM.succeeds(folder, &[&["build", "-o", "one.ccq", "--device", "cpu"], &words[..]].concat());
        words.extend(["--tile-size", tile]);
        let tiles = in_tiles(&PROGRAM, folder, &words, &[], "cpu", &MERGE);
        prop_assert!(names.len() == 1 || tiles > 1);
        prop_assert!(is_same(folder, "one.ccq", "tiles.ccq"));
    }
}

/// A raster of eight times the memory beyond what the program takes itself: what is in work keeps what `--memory` says.
#[test]
#[cfg(target_os = "linux")]
fn tiles_in_work_keep_the_memory_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random::new(7);
    let values: Vec<i16> = (0..64 << 20).map(|_| random.next_u64() as i16).collect();
    write_npy(&folder.join("raster.npy"), &values, 8192, 8192).unwrap();
    drop(values);
    testing::tiles::keeps_the_memory(&PROGRAM, folder, &["raster.npy"], &[], (80, 4));
}

#[test]
fn what_has_no_plan_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let at = |name: &str| folder.join(name);
    write_array(&at("raster.npy"), &values(&mut Random::new(1), 200, 100), 200, "i16");
    write_npy::<f32>(&at("empty.npy"), &[], 0, 0).unwrap();
    write_npy(&at("float.npy"), &[1f32; 4], 2, 2).unwrap();
    std::fs::write(at("picture.png"), "none").unwrap();
    for (arguments, words) in [
        (&["empty.npy"][..], &["no cells"][..]),
        (&["picture.png"], &[".png", "a part"]),
        (&["raster.npy", "float.npy"], &["float.npy", "f32", "i16"]),
        (&["raster.npy", "raster.npy"], &["raster.npy", "overlaps"]),
        (&["raster.npy", "--bins", "3,2"], &["boundary 2", "2"]),
        (&["raster.npy", "--bins", "nan"], &["--bins", "boundary 1"]),
        (&["raster.npy", "--tile-size", "16"], &["64", "--tile-size"]),
        (&["raster.npy", "--memory", "1MiB"], &["--memory"]),
    ] {
        PROGRAM.fails(folder, &[&["plan"], arguments].concat(), words);
    }
    PROGRAM.succeeds(folder, &["plan", "raster.npy", "--tile-size", "64"]);
    PROGRAM.fails(folder, &["merge", "plan.json", "-o", "a.tif"], &["--output", ".ccq"]);
}

/// Tiles of 64 bits within the memory of the plan: codes are made by sorting the values.
#[test]
#[cfg(target_os = "linux")]
fn tiles_of_64_bits_keep_the_memory_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random::new(8);
    let values: Vec<i64> = (0..16 << 20).map(|_| random.next_u64() as i64).collect();
    write_npy(&folder.join("raster.npy"), &values, 4096, 4096).unwrap();
    drop(values);
    testing::tiles::keeps_the_memory(&PROGRAM, folder, &["raster.npy"], &[], (120, 4));
}
