//! Catalogues of rasters in place of rasters.

use std::path::Path;

use geo_io::{Bands, Crs, Georeference, TiffOptions, write_georeferenced, write_zarr};
use testing::files::catalogues::{Listed, items, tile_index};
use testing::files::grid::{ascii_grid, virtual_raster};

use crate::PROGRAM;

const WIDTH: u32 = 70;
const HEIGHT: u32 = 50;

/// Rasters beside each other, with everything stated.
fn rasters(folder: &Path) -> Vec<Listed> {
    let raster = |i: u32| {
        let (west, north) = (f64::from(WIDTH * i) * 2.0 + 4e5, 5e6);
        let values: Vec<f32> = (0..WIDTH * HEIGHT).map(|k| ((k * 37 + i) % 91) as f32).collect();
        let place = Georeference::north_up((west, north), (2.0, 2.0));
        let place = Georeference { crs: Crs::parse("EPSG:32632").ok(), ..place };
        let name = format!("{i}.tif");
        write_georeferenced(&folder.join(&name), &place, (WIDTH, HEIGHT), &values, -1.0).unwrap();
        let east = west + 2.0 * f64::from(WIDTH);
        Listed::new(&name, [west, north - 2.0 * f64::from(HEIGHT), east, north])
            .states("proj:code", "EPSG:32632")
            .states("proj:shape", vec![HEIGHT, WIDTH])
            .states("proj:transform", vec![2.0, 0.0, west, 0.0, -2.0, north, 0.0, 0.0, 1.0])
    };
    (0..3).map(raster).collect()
}

#[test]
fn a_catalogue_gives_the_index_the_plan_and_the_answers_of_its_rasters_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let rasters = rasters(here);
    std::fs::write(here.join("items.json"), items(&rasters).to_string()).unwrap();
    std::fs::write(here.join("index.geojson"), tile_index(&rasters, 32632).to_string()).unwrap();
    let bytes = |name: &str| std::fs::read(here.join(name)).unwrap();
    let made = |inputs: &[&str]| {
        let always = ["--bins", "10,40,70", "--overwrite"];
        let build = [&["build"], inputs, &always, &["--device", "cpu", "-o", "a.ccq"]].concat();
        PROGRAM.succeeds(here, &build);
        let plan = [&["plan"], inputs, &always, &["--tile-size", "64", "-o", "p.json"]].concat();
        PROGRAM.succeeds(here, &plan);
        let rasters = inputs.iter().flat_map(|input| ["--raster", input]);
        let query: Vec<&str> =
            ["query", "a.ccq", "--range", "5,33"].into_iter().chain(rasters).collect();
        let query = [&query[..], &["-o", "cells.csv", "--overwrite", "--device", "cpu"]].concat();
        PROGRAM.succeeds(here, &query);
        ["a.ccq", "p.json", "cells.csv"].map(bytes)
    };
    let expected = made(&["0.tif", "1.tif", "2.tif"]);
    assert!(made(&["items.json"]) == expected);
    assert!(made(&["index.geojson"]) == expected);
}

#[test]
fn what_contradicts_a_raster_is_refused_with_both_values() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let rasters = rasters(here);
    let fails = |raster: Listed, words: &[&str]| {
        std::fs::write(here.join("a.json"), items(&[rasters[0].clone(), raster]).to_string())
            .unwrap();
        let named = ["a.json, item 1 (\"1\"): ", "1.tif"];
        PROGRAM.fails(here, &["build", "a.json", "-o", "x.ccq"], &[&named, words].concat());
    };
    let raster = || rasters[1].clone();
    let shape = raster().states("proj:shape", vec![WIDTH, HEIGHT]);
    fails(shape, &["proj:shape is 70 rows of 50 columns", "has 50 rows of 70"]);
    for shape in [serde_json::json!([50.5, 70]), serde_json::json!([-50, 70])] {
        let words = format!("proj:shape is {shape}: expected the numbers of rows and columns");
        let raster = raster().states("proj:shape", shape);
        std::fs::write(here.join("a.json"), items(&[raster]).to_string()).unwrap();
        PROGRAM.fails(here, &["build", "a.json", "-o", "x.ccq"], &["a.json", &words]);
    }
    let moved = raster().states("proj:transform", vec![2.0, 0.0, 4e5, 0.0, -2.0, 5e6]);
    fails(moved, &["proj:transform is [400000", "400140"]);
    fails(raster().states("proj:code", "EPSG:32633"), &["EPSG:32633", "is in EPSG:32632"]);
    let small = Listed { bounds: rasters[0].bounds, ..raster() };
    fails(small, &["its box (proj:bbox) is", "reaches beyond it"]);
}

/// Each is known by its ending, and held against what the catalogue states.
#[test]
fn grids_virtual_rasters_and_stores_are_rasters_of_a_catalogue() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let place = Georeference::north_up((4e5, 5e6), (2.0, 2.0));
    let values = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    write_georeferenced(&here.join("a.tif"), &place, (3, 2), &values, -1.0).unwrap();
    let grid = ascii_grid(3, &values, (4e5, 5e6 - 4.0), 2.0);
    std::fs::write(here.join("a.asc"), grid).unwrap();
    let transform = "<GeoTransform>400000, 2, 0, 5000000, 0, -2</GeoTransform>";
    let mosaic = virtual_raster((3, 2), transform, &[("a.tif", [0, 0, 3, 2])]);
    std::fs::write(here.join("a.vrt"), mosaic).unwrap();
    let (bands, options) = (Bands::one(-1.0), TiffOptions::default());
    write_zarr(&here.join("a.zarr"), &place, (3, 2), &[&values], &bands, &options).unwrap();
    for name in ["a.tif", "a.asc", "a.vrt", "a.zarr"] {
        let build = ["build", "a.json", "-o", "a.ccq", "--overwrite"];
        let catalogue = |shape: [u32; 2]| {
            let bounds = [4e5, 5e6 - 4.0, 4e5 + 6.0, 5e6];
            let listed = Listed::new(name, bounds).states("proj:code", serde_json::Value::Null);
            let listed = listed.states("proj:epsg", 32632.0).states("proj:shape", shape.to_vec());
            std::fs::write(here.join("a.json"), items(&[listed]).to_string()).unwrap();
        };
        catalogue([2, 3]);
        assert!(PROGRAM.succeeds(here, &build).contains("3 x 2 cells"), "{name}");
        catalogue([3, 2]);
        PROGRAM.fails(here, &build, &["a.json, item 0", "proj:shape is 3 rows of 2", name]);
    }
}
