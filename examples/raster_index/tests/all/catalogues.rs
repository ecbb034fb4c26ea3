//! Catalogues of rasters in place of rasters.

use std::path::Path;

use geo_io::{Crs, Georeference, write_georeferenced};
use testing::files::catalogues::{Listed, items, tile_index};

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
    let moved = raster().states("proj:transform", vec![2.0, 0.0, 4e5, 0.0, -2.0, 5e6]);
    fails(moved, &["proj:transform is [400000", "400140"]);
    fails(raster().states("proj:code", "EPSG:32633"), &["EPSG:32633", "is in EPSG:32632"]);
    let small = Listed { bounds: rasters[0].bounds, ..raster() };
    fails(small, &["its box (proj:bbox) is", "reaches beyond it"]);
}
