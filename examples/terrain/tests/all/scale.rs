//! Products in tiles: planned, made in any order, killed and made again, put together, they are those of one run.

use std::path::Path;

use geo_io::{Crs, Georeference, write_georeferenced, write_npy};
use proptest::prelude::*;
use testing::program::is_same;
use testing::tiles::{Suite, in_tiles, number};
use testing::{Random, suite_of_tiles};

use crate::PROGRAM;
use crate::terrain::{DRAWN, TABLE, drawings, products};

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
        std::fs::write(folder.join("table.txt"), TABLE).unwrap();
        let plain = [products("-plain.tif").concat(), drawings("-plain")].concat();
        let mut words = [&[dem, "--device", "cpu"], &case.method[..], cog, &DRAWN].concat();
        words.extend(plain.iter().map(String::as_str));
        PROGRAM.succeeds(folder, &words);
        let tile = case.tile.to_string();
        let merged = [products(".tif").concat(), drawings("")].concat();
        let all: Vec<&str> = merged.iter().filter_map(|word| word.strip_prefix("--")).collect();
        let all = all.join(",");
        let plan = [&[dem, "--product", &all, "--tile-size", &tile], &case.method[..], &DRAWN].concat();
        let mut merge: Vec<&str> = merged.iter().map(String::as_str).collect();
        merge.extend(cog);
        in_tiles(&PROGRAM, folder, &plan, &[], case.device, &merge);
        for (a, b) in plain.iter().zip(&merged).filter(|(word, _)| !word.starts_with("--")) {
            prop_assert!(is_same(folder, a, b), "{} is not {}", b, a);
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
    at_once: &["--slope", "plain.tif", "--relief", "plain.png", "--contours", "plain.fgb"],
    words: &["dem.tif", "--gradient", "zevenbergen-thorne", "--contour-interval", "4"],
    plan: &["--product", "relief,contours,slope"],
    sides: ["48", "150"],
    before: &[],
    merge: &["--slope", "merged.tif", "--relief", "merged.png", "--contours", "merged.fgb"],
    same: &[["plain.tif", "merged.tif"], ["plain.png", "merged.png"], ["plain.fgb", "merged.fgb"]],
    ends: &[".slope.tif", ".relief.npy", ".contours.npy", ".fragments.npy"],
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
fn tiles_are_chunks_of_one_array() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, at) = (folder.path(), |name: &str| folder.path().join(name));
    write_dem(folder, "feet", &heights(&mut Random::new(7), (200, 130), 0.02), (200, 130));
    let one = ["dem.tif", "--slope", "slope.tif", "--tri", "tri.tif", "--device", "cpu"];
    PROGRAM.succeeds(folder, &one);
    let read = |name: &str| {
        let raster = geo_io::read_raster(&at(name), None).unwrap();
        let place = raster.georeference.unwrap();
        assert_eq!(place.crs.unwrap().epsg(), Some(2994), "{name}");
        (format!("{:?}", raster.values.to_floats(raster.nodata)), place.transform)
    };
    let plan = ["plan", "dem.tif", "--tile-size", "48", "--product"];
    PROGRAM.succeeds(folder, &[&plan[..], &["slope", "--zarr", "tiles.zarr"]].concat());
    PROGRAM.succeeds(folder, &["run", "plan.json", "--tile", "4", "--device", "software"]);
    let merge = ["merge", "plan.json", "--slope", "m.tif"];
    PROGRAM.fails(folder, &merge, &["nothing to merge", "tiles.zarr"]);
    PROGRAM.succeeds(folder, &["run", "plan.json", "--all", "--device", "cpu"]);
    assert!(read("slope.tif") == read("tiles.zarr"));
    // A chunk that is cut short is made again, and nothing else is.
    let chunk = at("tiles.zarr/tiles/c/1/2");
    let bytes = std::fs::read(&chunk).unwrap();
    std::fs::write(&chunk, &bytes[..bytes.len() / 2]).unwrap();
    let report = PROGRAM.json(folder, &["run", "plan.json", "--all", "--device", "cpu"]);
    assert_eq!(report["tiles"]["made"], 1);
    assert!(std::fs::read(&chunk).unwrap() == bytes);
    // Several products are bands of one array: each has the chunks that it has alone.
    let several = ["slope,tri", "--zarr", "both.zarr", "-o", "both.json"];
    PROGRAM.succeeds(folder, &[&plan[..], &several].concat());
    PROGRAM.succeeds(folder, &["run", "both.json", "--all", "--device", "cpu"]);
    assert!(std::fs::read(at("both.zarr/both/c/0/1/2")).unwrap() == bytes);
    let about = testing::program::json_of(&at("both.zarr/both/zarr.json"));
    assert_eq!(about["shape"], serde_json::json!([2, 130, 200]));
    assert_eq!(about["attributes"]["band_names"], serde_json::json!(["slope", "tri"]));
    for product in ["slope,relief", "contours", "color-relief"] {
        let words = [product, "--zarr", "no.zarr", "-o", "no.json"];
        let coloured = ["--colours", "table.txt"];
        std::fs::write(at("table.txt"), TABLE).unwrap();
        let more = if product == "color-relief" { &coloured[..] } else { &[] };
        let named = product.trim_start_matches("slope,");
        let parts = ["--zarr no.zarr", named, "not a raster of numbers"];
        PROGRAM.fails(folder, &[&plan[..], &words, more].concat(), &parts);
    }
    assert!(!at("no.zarr").exists() && !at("no.json").exists());
    let one = ["slope", "--zarr", "one.zarr", "-o", "one.zarr"];
    PROGRAM.fails(folder, &[&plan[..], &one].concat(), &["one.zarr", "the output"]);
    assert!(!at("one.zarr").exists());
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
    fails(&["plan", "dem.tif", "--product", "reliefs"], &["reliefs", "slope", "contours"]);
    std::fs::write(folder.join("table.txt"), "1 2 3\n").unwrap();
    let coloured = ["plan", "dem.tif", "--product", "color-relief", "--colours"];
    fails(&coloured[..4], &["--color-relief", "--colours"]);
    fails(&[&coloured[..], &["table.txt"]].concat(), &["table.txt", "line 1"]);
    fails(&[&coloured[..], &["missing.txt"]].concat(), &["missing.txt"]);
    fails(&["plan", "dem.tif", "--product", "slope", "--colours", "table.txt"], &["--colours"]);
    let interval = ["plan", "dem.tif", "--product", "contours", "--contour-interval"];
    fails(&[&interval[..], &["0"]].concat(), &["--contour-interval", "above 0"]);
    fails(&["plan", "dem.png", "--product", "slope"], &["dem.png", "is compressed as a whole"]);
    fails(&["plan", "dem.tif", "--product", "slope", "--azimuth", "inf"], &["--azimuth"]);
    fails(&["plan", "dem.tif", "--product", "tpi", "--flat", "0"], &["--flat", "--aspect"]);
    fails(&["plan", "dem.tif", "--product", "slope", "--cell-size", "1"], &["--cell-size"]);
    fails(&["plan", "dem.tif", "--product", "slope", "--memory", "1MiB"], &["--memory"]);
    fails(&["plan", "dem.tif", "--product", "slope", "--contours", "c.geojson"], &["--contours"]);
    PROGRAM.succeeds(folder, &["plan", "dem.tif", "--product", "slope,tri,slope"]);
    PROGRAM.succeeds(folder, &["run", "plan.json", "--all"]);
    fails(&["merge", "plan.json"], &["no product: give", "--slope, --tri"]);
    fails(
        &["merge", "plan.json", "--tpi", "t.tif"],
        &["--tpi", "does not have this product", "--slope, --tri"],
    );
    fails(&["merge", "plan.json", "--slope", "s.png"], &["--slope s.png", ".npy"]);
    fails(&["merge", "plan.json", "--contours", "c.shp"], &["--contours c.shp", ".fgb"]);
    fails(
        &["merge", "plan.json", "--relief", "r.tif"],
        &["--relief", "does not have this product"],
    );
    PROGRAM.succeeds(folder, &["merge", "plan.json", "--tri", "t.npy"]);
}

#[test]
fn a_plan_of_lines_without_end_or_number_is_refused_as_one_run_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut values = heights(&mut Random::new(4), (40, 30), 0.0);
    values[17 * 40 + 33] = f32::INFINITY;
    write_dem(folder, "feet", &values, (40, 30));
    let plan = ["plan", "dem.tif", "--product", "contours", "--tile-size", "16"];
    let one_run = ["dem.tif", "--contours", "lines.geojson"];
    for arguments in [&plan[..], &one_run] {
        let words = ["dem.tif", "--contours", "height inf in row 17, column 33"];
        PROGRAM.fails(folder, arguments, &words);
    }
    // Other products have infinite heights.
    PROGRAM.succeeds(folder, &["plan", "dem.tif", "--product", "slope", "--tile-size", "16"]);
    values[17 * 40 + 33] = 900.0;
    write_dem(folder, "feet", &values, (40, 30));
    for arguments in [&plan[..], &one_run] {
        let small = ["--contour-interval", "1e-300", "--overwrite"];
        let words = ["dem.tif", "--contour-interval", "every 1e-300"];
        PROGRAM.fails(folder, &[arguments, &small].concat(), &words);
    }
}

#[cfg(unix)]
#[test]
fn a_plan_behind_a_link_has_its_tiles_beside_its_file_by_either_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_dem(here, "feet", &heights(&mut Random::new(7), (40, 30), 0.0), (40, 30));
    std::fs::create_dir(here.join("disk")).unwrap();
    std::fs::write(here.join("disk/real.json"), "").unwrap();
    std::os::unix::fs::symlink("disk/real.json", here.join("plan.json")).unwrap();
    let plan = ["plan", "dem.tif", "--product", "slope", "--tile-size", "16", "--overwrite"];
    PROGRAM.succeeds(here, &plan);
    PROGRAM.succeeds(here, &["run", "plan.json", "--all", "--device", "cpu"]);
    PROGRAM.succeeds(here, &["merge", "disk/real.json", "--slope", "a.npy"]);
    PROGRAM.succeeds(here, &["merge", "plan.json", "--slope", "b.npy"]);
    assert!(is_same(here, "a.npy", "b.npy"));
    let folders = |at: &Path| {
        let entries = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_string_lossy().starts_with("tiles-")).count()
    };
    assert_eq!((folders(here), folders(&here.join("disk"))), (0, 1));
}

#[cfg(target_os = "linux")]
#[test]
fn tiles_keep_the_memory_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let size = (3000, 2500);
    let values = heights(&mut Random::new(9), size, 0.001);
    write_dem(folder.path(), "feet", &values, size);
    let plan = ["dem.tif", "--product", "slope,aspect,tpi,relief"];
    testing::tiles::keeps_the_memory(&PROGRAM, folder.path(), &plan, &[], (110, 4));
}

#[test]
fn a_catalogue_of_one_dem_has_its_plan_and_one_of_several_is_refused() {
    use testing::files::catalogues::{Listed, items};
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let values = heights(&mut Random::new(5), (60, 50), 0.0);
    let name = write_dem(here, "feet", &values, (60, 50));
    let dem = Listed::new(name, [4e5, 999_800.0, 400_181.0, 1_000_001.0]);
    let other = Listed::new("other.tif", [4e5, 999_800.0, 400_181.0, 1_000_001.0]);
    std::fs::copy(here.join(name), here.join("other.tif")).unwrap();
    std::fs::write(here.join("one.json"), items(std::slice::from_ref(&dem)).to_string()).unwrap();
    std::fs::write(here.join("two.json"), items(&[dem, other]).to_string()).unwrap();
    let plan = |input: &str| {
        let arguments = ["plan", input, "--product", "slope", "-o", "p.json", "--overwrite"];
        PROGRAM.succeeds(here, &[&arguments[..], &["--memory", "1GiB"]].concat());
        std::fs::read(here.join("p.json")).unwrap()
    };
    assert!(plan(name) == plan("one.json"));
    let two = ["plan", "two.json", "--product", "slope", "-o", "q.json"];
    PROGRAM.fails(here, &two, &["two.json lists 2 rasters, but this program takes one"]);
}
