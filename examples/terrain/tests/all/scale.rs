//! Products in tiles: planned, made in any order, killed and made again, put together, they are those of one run.

use std::path::Path;

use geo_io::{Crs, Georeference, write_georeferenced, write_npy};
use proptest::prelude::*;
use testing::program::is_same;
use testing::tiles::{Suite, in_tiles, number};
use testing::{Random, suite_of_tiles};

use crate::PROGRAM;
use crate::terrain::products;

/// Hills with holes.
fn heights(random: &mut Random, (width, height): (u32, u32), holes: f64) -> Vec<f32> {
    let cell = |i: u32| {
        let (x, y) = (f64::from(i % width), f64::from(i / width));
        match random.unit() {
            u if u < holes => f32::NAN,
            u => (900.0 + 30.0 * (x / 9.0).sin() * (y / 7.0).cos() + u) as f32,
        }
    };
    (0..width * height).map(cell).collect()
}

/// Writes a DEM in one of several forms, and gives its name.
fn write_dem(
    folder: &Path,
    form: &str,
    values: &[f32],
    (width, height): (u32, u32),
) -> &'static str {
    let (name, place) = match form {
        "npy" => {
            let path = folder.join("dem.npy");
            write_npy(&path, values, width as usize, height as usize).unwrap();
            return "dem.npy";
        }
        "degrees" => ("EPSG:4326", Georeference::north_up((9.3, 47.7), (0.0003, 0.0002))),
        _ => ("EPSG:2994+5703", Georeference::north_up((4e5 + 0.1, 1e6 + 0.7), (3.0, 4.0))),
    };
    let place = Georeference { crs: Crs::parse(name).ok(), ..place };
    write_georeferenced(&folder.join("dem.tif"), &place, (width, height), values, -1.0).unwrap();
    "dem.tif"
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    size: (u32, u32),
    holes: f64,
    form: &'static str,
    tile: u32,
    method: Vec<&'static str>,
    is_cog: bool,
    device: &'static str,
}

fn case() -> impl Strategy<Value = Case> {
    let side = || prop_oneof![1..40_u32, 60..130_u32, 250..300_u32];
    let methods: Vec<&'static [&'static str]> = vec![
        &[],
        &["--gradient", "zevenbergen-thorne", "--edges", "level"],
        &["--shading", "multidirectional", "--altitude", "30", "--slope-unit", "percent"],
        &["--aspect-angle", "trigonometric", "--flat", "0", "--tri-method", "wilson"],
        &["--edges", "level", "--z-factor", "2.5", "--azimuth", "10"],
    ];
    let devices = if cfg!(feature = "cuda") {
        vec!["cpu", "cpu", "software:1", "software:3"]
    } else {
        vec!["cpu"]
    };
    let how = (
        prop::sample::select(vec!["npy", "degrees", "feet"]),
        prop::sample::select(methods),
        any::<bool>(),
        prop::sample::select(devices),
    );
    (any::<u64>(), (side(), side()), prop_oneof![Just(0.0), 0.0..0.05], 16..130_u32, how).prop_map(
        |(seed, size, holes, tile, (form, method, is_cog, device))| Case {
            seed,
            size,
            holes,
            form,
            tile,
            method: method.to_vec(),
            is_cog,
            device,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: number("TESSERA_CASES", 20), failure_persistence: None, ..Default::default() })]

    #[test]
    fn tiles_have_the_bytes_of_one_run(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let heights = heights(&mut Random::new(case.seed), case.size, case.holes);
        let dem = write_dem(folder, case.form, &heights, case.size);
        let cog: &[&str] = if case.is_cog { &["--cog"] } else { &[] };
        let outputs = |ending: &str| products(ending).concat();
        let (plain, arrays) = (outputs("-plain.tif"), outputs("-plain.npy"));
        for outputs in [&plain, &arrays] {
            let mut words = [&[dem, "--device", "cpu"], &case.method[..], cog].concat();
            words.extend(outputs.iter().map(String::as_str));
            PROGRAM.succeeds(folder, &words);
        }
        let tile = case.tile.to_string();
        let all = products("").concat();
        let all: Vec<&str> = all.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
        let all = all.join(",");
        let plan = [&[dem, "--product", &all, "--tile-size", &tile], &case.method[..]].concat();
        let merged = outputs(".tif");
        let mut merge: Vec<&str> = merged.iter().map(String::as_str).collect();
        merge.extend(cog);
        in_tiles(&PROGRAM, folder, &plan, &[], case.device, &merge);
        for [_, stem] in products("") {
            let (a, b) = (format!("{stem}-plain.tif"), format!("{stem}.tif"));
            prop_assert!(is_same(folder, &a, &b), "{} is not {}", b, a);
        }
    }
}

const SUITE: Suite = Suite {
    program: PROGRAM,
    write_inputs: |folder| {
        let values = heights(&mut Random::new(4), (400, 300), 0.01);
        write_dem(folder, "feet", &values, (400, 300));
    },
    input: "dem.tif",
    at_once: &["--slope", "plain.tif", "--hillshade", "plain-shade.tif"],
    words: &["dem.tif", "--gradient", "zevenbergen-thorne"],
    plan: &["--product", "hillshade,slope"],
    sides: ["48", "150"],
    before: &[],
    merge: &["--slope", "merged.tif", "--hillshade", "merged-shade.tif"],
    same: &[["plain.tif", "merged.tif"], ["plain-shade.tif", "merged-shade.tif"]],
    ends: &[".slope.tif", ".hillshade.tif"],
    damaged: &["tile 2 is damaged", "terrain run"],
    changed: ["\"edges\": \"nodata\"", "\"edges\": \"level\""],
};

suite_of_tiles! { SUITE }

#[test]
fn a_picture_of_tiles_is_that_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_dem(folder, "feet", &heights(&mut Random::new(14), (200, 130), 0.01), (200, 130));
    for shading in ["lambert", "combined", "igor"] {
        let words = ["dem.tif", "--shading", shading];
        let one = ["--hillshade", "plain.png", "--overwrite", "--device", "cpu"];
        PROGRAM.succeeds(folder, &[&words[..], &one].concat());
        let plan = [&words[..], &["--product", "hillshade", "--tile-size", "48"]].concat();
        let merge = ["--hillshade", "tiles.png", "--overwrite"];
        in_tiles(&PROGRAM, folder, &plan, &[], "software", &merge);
        assert!(is_same(folder, "plain.png", "tiles.png"), "{shading}");
    }
}

#[test]
fn what_a_plan_cannot_have_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let values = heights(&mut Random::new(4), (40, 30), 0.0);
    write_dem(folder, "feet", &values, (40, 30));
    std::fs::write(folder.join("dem.png"), "x").unwrap();
    let fails = |words: &[&str], parts: &[&str]| PROGRAM.fails(folder, words, parts);
    fails(&["plan", "dem.tif"], &["--product"]);
    fails(&["plan", "dem.tif", "--product", "relief"], &["relief", "slope"]);
    fails(&["plan", "dem.png", "--product", "slope"], &["dem.png", "a part cannot be read alone"]);
    fails(&["plan", "dem.tif", "--product", "slope", "--azimuth", "inf"], &["--azimuth"]);
    fails(&["plan", "dem.tif", "--product", "tpi", "--flat", "0"], &["--flat", "--aspect"]);
    fails(&["plan", "dem.tif", "--product", "slope", "--cell-size", "1"], &["--cell-size"]);
    fails(&["plan", "dem.tif", "--product", "slope", "--memory", "1MiB"], &["--memory"]);
    fails(&["plan", "dem.tif", "--product", "slope", "--contours", "c.geojson"], &["--contours"]);
    PROGRAM.succeeds(folder, &["plan", "dem.tif", "--product", "slope,tri,slope"]);
    PROGRAM.succeeds(folder, &["run", "plan.json", "--all"]);
    fails(&["merge", "plan.json"], &["no product is asked for", "--slope, --tri"]);
    fails(
        &["merge", "plan.json", "--tpi", "t.tif"],
        &["--tpi", "no such product", "--slope, --tri"],
    );
    fails(&["merge", "plan.json", "--slope", "s.png"], &["--slope s.png", ".npy"]);
    PROGRAM.succeeds(folder, &["merge", "plan.json", "--tri", "t.npy"]);
}

#[cfg(target_os = "linux")]
#[test]
fn tiles_keep_the_memory_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let size = (3000, 2500);
    let values = heights(&mut Random::new(9), size, 0.001);
    write_dem(folder.path(), "feet", &values, size);
    let plan = ["dem.tif", "--product", "slope,aspect,tpi"];
    testing::tiles::keeps_the_memory(&PROGRAM, folder.path(), &plan, &[], (110, 4));
}
