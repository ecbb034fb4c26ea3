//! Forests of coded trees: merged, and written, they are the tree of one build.

use std::io::Cursor;

use ccq_tree::{
    CodedForest, CodedParams, CodedTree, Error, Number, build_coded, build_coded_tile, mosaic,
};
use gpu_core::{Device, Grid, GridSpec};
use proptest::prelude::*;
use testing::Random;

use crate::common::raster;

/// The trees of the tiles of a raster, each built of its own cells.
fn tiles<T: Number>(
    device: &Device,
    whole: &Grid<T>,
    side: u32,
    params: &CodedParams<T>,
) -> Vec<CodedTree<T>> {
    let GridSpec { width, height, .. } = *whole.grid();
    let mut trees = Vec::new();
    for row in (0..height).step_by(side as usize) {
        for column in (0..width).step_by(side as usize) {
            let (width, height) = ((width - column).min(side), (height - row).min(side));
            let tile = raster(width, height, |x, y| *whole.get(column + x, row + y).unwrap());
            trees.push(build_coded_tile(device, tile.view(), side, params).unwrap());
        }
    }
    trees
}

/// The forest of a raster's tiles is its tree, in memory and as a file.
fn check<T: Number>(device: &Device, whole: &Grid<T>, side: u32, params: &CodedParams<T>) -> usize {
    let expected = build_coded(&Device::Cpu, whole.view(), params).unwrap();
    let expected = expected.in_system(Some("EPSG:4326".to_owned()));
    let side = side.min(whole.grid().width.max(whole.grid().height).next_power_of_two());
    let forest = |side: u32| {
        let trees = tiles(device, whole, side, params);
        CodedForest::of_trees(*whole.grid(), side.max(64), trees).unwrap()
    };
    let forest = forest(side);
    let mut file = Cursor::new(Vec::new());
    forest.merged().unwrap().in_system(Some("EPSG:4326".to_owned())).write_to(&mut file).unwrap();
    let mut bytes = Vec::new();
    expected.write_to(&mut bytes).unwrap();
    assert!(file.into_inner() == bytes, "the file");
    let merged = forest.merge().unwrap().in_system(Some("EPSG:4326".to_owned()));
    assert!(merged == expected, "the tree");
    merged.node_bytes()
}

#[test]
fn tiles_of_64_bits_merge_into_the_tree_of_the_whole() {
    let devices = [Device::Cpu, Device::Gpu(testing::gpu())];
    for device in &devices {
        for (width, height) in [(1, 1), (64, 64), (65, 64), (200, 130), (70, 260)] {
            // Each tile has values of its own, one has none.
            let floats = raster(width, height, |x, y| match (x * 7 + y * 3) % 11 {
                _ if x >= 64 && y < 64 => f64::NAN,
                0 => -0.0,
                i => f64::from(i / 4) + f64::from(x / 64) * 1e-9 - f64::from(y / 64) * 0.1,
            });
            for nodata in [None, Some(0.0)] {
                check(device, &floats, 64, &CodedParams::new().nodata(nodata));
                check(device, &floats, 128, &CodedParams::new().nodata(nodata).bins([0.0, 1.5]));
            }
            let ids = raster(width, height, |x, y| (1i64 << 60) + i64::from(x / 20 + y / 8 * 3));
            assert_eq!(check(device, &ids, 64, &CodedParams::new()), 8);
            check(device, &ids, 64, &CodedParams::new().nodata(1 << 60));
            let wide = raster(width, height, |x, y| u64::MAX - u64::from(x * 31 % 7 + y / 100));
            check(device, &wide, 128, &CodedParams::new());
            let rain = raster(width, height, |x, y| (x / 9 + y / 13) as f32 * 0.1);
            check(device, &rain, 64, &CodedParams::new().bins([0.5, 0.5, 2.0]));
        }
    }
    // Tiles of 16 bits, and a whole of 32: 300 x 260 values.
    let mut random = Random::new(3);
    let values: Vec<f64> = (0..300 * 260).map(|_| random.between(-1.0, 1.0)).collect();
    let many = Grid::new(values, GridSpec::of_pixels(300, 260)).unwrap();
    assert_eq!(check(&Device::Cpu, &many, 64, &CodedParams::new()), 12);
}

#[test]
fn tiles_that_are_not_of_one_raster_are_refused() {
    let cells = raster(128, 64, |x, y| f64::from(x % 5) + f64::from(y));
    let of = |params: &CodedParams<f64>| tiles(&Device::Cpu, &cells, 64, params);
    let refused = |trees| CodedForest::of_trees(*cells.grid(), 64, trees).unwrap_err();
    let plain = CodedParams::new();
    assert_eq!(
        refused(of(&plain).into_iter().take(1).collect()),
        Error::Tiles { tile: 1, tiles: 2 }
    );
    for other in [plain.clone().nodata(1.0), plain.clone().bins([2.0])] {
        let [a, b] = [of(&plain), of(&other)].map(|trees| trees.into_iter().next().unwrap());
        assert_eq!(refused(vec![a, b]), Error::Tiles { tile: 1, tiles: 2 });
    }
    let none = Grid::new(Vec::<i64>::new(), GridSpec::of_pixels(0, 0)).unwrap();
    let forest = CodedForest::<i64>::of_trees(*none.grid(), 64, Vec::new()).unwrap();
    assert_eq!(forest.merge().unwrap().node_count(), 0);
}

#[test]
fn rasters_of_64_bits_lie_beside_each_other() {
    let part = |left: f64, values: Vec<i64>| {
        Grid::new(values, GridSpec::new(left, 10.0, 1.0, 2, 1).unwrap()).unwrap()
    };
    let big = 1i64 << 60;
    let (west, east) = (part(0.0, vec![big, big + 1]), part(3.0, vec![big + 3, -1]));
    let both = mosaic(&[east.view(), west.view()], Some((big + 2).into())).unwrap();
    assert_eq!(both.values(), [big, big + 1, big + 2, big + 3, -1]);
    let gap = mosaic(&[east.view(), west.view()], Some((big as f64 + 0.5e30).into()));
    assert_eq!(gap.unwrap_err(), Error::Gap { cells: 1 });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn random_tiles_merge_into_the_tree_of_the_whole(
        width in 1u32..200, height in 1u32..200, seed: u64, step in 1u32..40, values in 1u64..400, bins: bool, nodata: bool,
    ) {
        let random = |x: u32, y: u32| {
            let place = u64::from(x / step) << 32 | u64::from(y / step);
            Random::new(seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).below(values)
        };
        let whole = raster(width, height, |x, y| (1i64 << 55) - 7 * random(x, y) as i64);
        let of = |k: i64| (1i64 << 55) - 7 * k;
        let params = CodedParams::new().nodata(nodata.then_some(of(1)));
        let params = if bins { params.bins([of(200), of(9), of(1)]) } else { params };
        check(&Device::Cpu, &whole, 64, &params);
    }
}
