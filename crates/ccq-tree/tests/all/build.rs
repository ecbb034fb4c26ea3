//! Trees against their definition, on every device.

use std::io::Cursor;

use crate::common::{ByDefinition, Made, fractal, noise, raster};
use ccq_tree::{
    Error, Forest, Params, Tree, build, build_forest, build_mosaic, build_tile, mosaic,
};
use gpu_core::{Device, Grid, GridSpec, GridView};
use proptest::prelude::*;
use testing::devices;

fn built<T: Made>(device: &Device, raster: &Grid<T>, params: &Params) -> Tree<T> {
    build(device, raster.view(), params).unwrap()
}

/// The tree of every device is the one by definition, and all have the same bytes.
fn check<T: Made>(raster: &Grid<T>, params: &Params, what: &str) {
    let expected = ByDefinition::of(raster, params);
    let first = built(&Device::Cpu, raster, params);
    expected.assert_is(&first, what);
    for device in &devices()[1..] {
        assert!(built(device, raster, params) == first, "{what} on {}", device.name());
    }
}

/// Figure 3 of the paper: of the four quadrants of the root the first is uniform, the others have four children each,
/// and two of those are divided in turn.
fn worked_example() -> Grid<u8> {
    #[rustfmt::skip]
    let cells = vec![
        0, 0, 0, 0,  1, 1, 2, 2,
        0, 0, 0, 0,  1, 1, 2, 2,
        0, 0, 0, 0,  2, 2, 3, 4,
        0, 0, 0, 0,  2, 2, 4, 3,
        1, 1, 2, 2,  3, 3, 2, 2,
        1, 1, 2, 2,  3, 3, 2, 2,
        0, 1, 3, 3,  4, 4, 1, 1,
        1, 0, 3, 3,  4, 4, 1, 1,
    ];
    Grid::new(cells, GridSpec::of_pixels(8, 8)).unwrap()
}

#[test]
fn the_papers_worked_example_comes_out_as_printed() {
    for device in devices() {
        let tree = built(&device, &worked_example(), &Params::new());
        // W = (1, 4, 12, 8), and its prefix sum 0, 1, 5, 17.
        assert_eq!(tree.level_starts(), [0, 1, 5, 17, 25]);
        let root = tree.nodes()[0];
        assert_eq!((root.min(), root.max(), root.first_child()), (0, 4, Some(1)));
        // C1 = (-1, 5, 9, 13): the children of the second element begin at 5.
        let level1: Vec<_> = tree.nodes()[1..5].iter().map(|node| node.first_child()).collect();
        assert_eq!(level1, [None, Some(5), Some(9), Some(13)]);
        assert_eq!(size_of_val(&tree.nodes()[0]), 8);
    }
    check(&worked_example(), &Params::new(), "the worked example");
}

#[test]
fn sides_of_every_kind_give_the_tree_by_definition() {
    for side in [1, 2, 3, 31, 63, 64, 65, 127, 130] {
        for (width, height) in [(side, side), (side, 1), (1, side), (side, 40)] {
            let what = format!("{width} x {height}");
            check(&fractal::<i16>(width, height, 1, 0.6), &Params::new(), &what);
            let params = Params::new().bins([-60.0, -20.0, 0.0, 30.0]).nodata(-7.0);
            check(&noise::<i16>(width, height, 2, 200), &params, &what);
        }
    }
}

#[test]
fn all_types_give_the_tree_by_definition() {
    fn of<T: Made>(nodata: f64, bins: &[f64]) {
        let smooth = fractal::<T>(150, 97, 5, 0.5);
        check(&smooth, &Params::new(), T::NAME);
        check(&smooth, &Params::new().nodata(nodata), T::NAME);
        check(&smooth, &Params::new().nodata(nodata).bins(bins), T::NAME);
    }
    of::<u8>(100.0, &[-5.0, 90.0, 100.5, 130.0, 400.0]);
    of::<i16>(0.0, &[-20.0, 10.0]);
    of::<u16>(1100.0, &[1090.0, 1150.0]);
    of::<i32>(-69_900.0, &[-69_850.0]);
    of::<u32>(3_000_000_100.0, &[3_000_000_090.0, 3_000_000_110.0]);
    of::<f32>(99.75, &[90.0, 100.0, 120.0]);
}

#[test]
fn constant_and_checkerboard_rasters_are_the_extremes() {
    for device in devices() {
        let tree = built(&device, &raster(100, 70, |_, _| 7i32), &Params::new());
        assert_eq!((tree.nodes().len(), tree.nodes()[0].first_child()), (1, None));
        let board = raster(64, 64, |x, y| ((x + y) % 2) as u8);
        let tree = built(&device, &board, &Params::new());
        assert_eq!(tree.nodes().len(), (0..=6).map(|level| 1 << (2 * level)).sum::<usize>());
    }
    check(&raster(70, 100, |x, y| ((x ^ y) & 1) as u16), &Params::new(), "a checkerboard");
    check(&raster(100, 70, |_, _| 7.5f32), &Params::new(), "one value");
}

#[test]
fn nodata_makes_no_nodes_and_flags_what_it_mixes_with() {
    let nan = f32::NAN;
    check(&raster(90, 90, |_, _| nan), &Params::new(), "all NaN");
    check(&raster(90, 90, |_, _| 3u8), &Params::new().nodata(3.0), "all NODATA");
    check(&raster(90, 70, |x, _| if x < 37 { nan } else { 1.0 }), &Params::new(), "a half");
    check(&raster(90, 70, |x, y| if x * y == 99 { nan } else { 1.0 }), &Params::new(), "a few");
    check(
        &raster(130, 70, |x, y| if x == 129 && y == 69 { 2.0 } else { nan }),
        &Params::new(),
        "one",
    );
    let zeros = raster(70, 70, |x, y| if (x + y) % 3 == 0 { -0.0f32 } else { 0.0 });
    check(&zeros, &Params::new(), "zeros of both signs are one value");
    let all = devices();
    let mixed = raster(4, 4, |x, y| if (x, y) == (3, 3) { 9u8 } else { 5 });
    for device in &all {
        let tree = built(device, &mixed, &Params::new().nodata(9.0));
        assert!(tree.nodes()[0].is_mixed());
        assert_eq!(tree.presence(), [0b1111, 0, 0, 0, 0b0111]);
        assert_eq!(tree.level_starts(), [0, 1, 5, 8]);
        let none = built(device, &raster(80, 3, |_, _| 9u8), &Params::new().nodata(9.0));
        assert_eq!((none.nodes().len(), none.presence().len()), (0, 0));
    }
}

#[test]
fn infinities_are_values() {
    let ends = raster(66, 66, |x, y| match (x * 7 + y * 3) % 5 {
        0 => f32::INFINITY,
        1 => f32::NEG_INFINITY,
        2 => f32::NAN,
        _ => 1.0,
    });
    check(&ends, &Params::new(), "infinities");
    check(&ends, &Params::new().bins([0.0, 1e30]), "bins of infinities");
}

#[test]
fn rasters_without_cells_have_trees_without_nodes() {
    for device in devices() {
        for (width, height) in [(0, 0), (0, 5), (5, 0)] {
            let grid = GridSpec::of_pixels(width, height);
            let tree = build::<u8>(&device, GridView::new(&[], grid).unwrap(), &Params::new());
            assert!(tree.unwrap().nodes().is_empty());
        }
        let one = built(&device, &raster(1, 1, |_, _| -5i16), &Params::new());
        assert_eq!((one.nodes().len(), one.nodes()[0].min(), one.levels()), (1, -5, 1));
    }
}

#[test]
fn bad_parameters_are_refused_before_work() {
    let raster = raster(4, 4, |x, _| x as u8);
    for device in devices() {
        let refused = |params: Params| build(&device, raster.view(), &params).unwrap_err();
        let error = refused(Params::new().bins([1.0, 3.0, 2.0]));
        assert_eq!(error, Error::Boundary { index: 2, value: 2.0.into() });
        assert_eq!(
            refused(Params::new().bins(vec![0.5; 256])),
            Error::Bins { bins: 257, most: 256 }
        );
        for side in [0, 32, 65, 96] {
            let refused = build_forest(&device, raster.view(), side, &Params::new());
            assert_eq!(refused.unwrap_err(), Error::TileSide { side });
        }
    }
}

#[test]
fn a_call_can_be_cancelled() {
    struct Never;
    impl gpu_core::Progress for Never {
        fn report(&self, _: &'static str, _: f64) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Break(())
        }
    }
    for device in devices() {
        let refused = build(
            device.with_progress(&Never),
            raster(4, 4, |x, _| x as u8).view(),
            &Params::new(),
        );
        assert!(matches!(refused, Err(Error::Cancelled(_))));
    }
}

/// Tiles that were built one by one are a forest, whose merged tree is written without being in memory.
#[test]
fn tiles_one_by_one_are_written_as_the_tree_of_one_build() {
    fn of<T: Made>(raster: &Grid<T>, params: &Params) {
        let mut whole = Vec::new();
        built(&Device::Cpu, raster, params).write_to(&mut whole).unwrap();
        let GridSpec { width, height, .. } = *raster.grid();
        // Larger tiles would have levels above the whole.
        let most = width.max(height).next_power_of_two();
        for device in devices() {
            for side in [64, 128, 256, 1024].into_iter().filter(|&side| side <= most) {
                let corners = (0..height).step_by(side as usize).flat_map(|row| {
                    (0..width).step_by(side as usize).map(move |column| (column, row))
                });
                let tile = |(column, row): (u32, u32)| {
                    let sides = ((width - column).min(side), (height - row).min(side));
                    let tile = cut(raster, (column, row), sides);
                    build_tile(&device, tile.view(), side, params).unwrap()
                };
                let trees = corners.map(tile).collect();
                let forest = Forest::of_trees(*raster.grid(), side, trees).unwrap();
                assert!(forest == build_forest(&device, raster.view(), side, params).unwrap());
                // Behind what is in the file already.
                let mut file = Cursor::new(b"before".to_vec());
                file.set_position(6);
                forest.merged().unwrap().write_to(&mut file).unwrap();
                assert_eq!(file.position(), file.get_ref().len() as u64);
                let what = format!("{width} x {height}, {side} on {}", device.name());
                assert!(file.get_ref()[6..] == whole, "{what}");
            }
        }
    }
    of(&fractal::<i16>(300, 200, 3, 0.5), &Params::new().bins([-20.0, 0.0, 30.0]));
    of(&fractal::<f32>(65, 260, 4, 0.6), &Params::new());
    of(&noise::<u8>(257, 129, 5, 3), &Params::new().nodata(1.0));
    of(&noise::<u32>(130, 500, 6, 9), &Params::new());
    of(&raster(300, 300, |x, _| if x < 192 { 5u8 } else { 6 }), &Params::new().nodata(5.0));
    of(&raster(200, 200, |_, _| 5u8), &Params::new().nodata(5.0));
    of(&raster(70, 7, |x, _| x as u16), &Params::new());
}

#[test]
fn trees_that_are_no_forest_are_refused() {
    let device = Device::Cpu;
    let tile = |width: u32, side: u32, params: &Params| {
        build_tile(&device, raster(width, 60, |x, _| x as u8).view(), side, params)
    };
    let (params, grid) = (Params::new(), GridSpec::of_pixels(100, 60));
    let of = |trees: Vec<Tree<u8>>| Forest::of_trees(grid, 64, trees).unwrap_err();
    let whole = || tile(64, 64, &params).unwrap();
    let bad = |tile| Error::Tiles { tile, tiles: 2 };
    assert_eq!(of(vec![whole()]), bad(1));
    assert_eq!(of(vec![whole(), tile(37, 64, &params).unwrap()]), bad(1));
    assert_eq!(of(vec![tile(64, 128, &params).unwrap(), tile(36, 64, &params).unwrap()]), bad(0));
    assert_eq!(of(vec![whole(), tile(36, 64, &Params::new().nodata(3.0)).unwrap()]), bad(1));
    assert_eq!(of(vec![whole(), tile(36, 64, &params).unwrap(), whole()]), bad(2));
    assert!(Forest::of_trees(grid, 64, vec![whole(), tile(36, 64, &params).unwrap()]).is_ok());
    for side in [0, 32, 65, 96] {
        assert_eq!(tile(64, side, &params).unwrap_err(), Error::TileSide { side });
    }
}

#[test]
fn forests_merge_into_the_bytes_of_one_build() {
    fn of<T: Made>(raster: &Grid<T>, params: &Params) {
        let whole = built(&Device::Cpu, raster, params);
        for device in devices() {
            for side in [64, 128, 256, 1024] {
                let forest = build_forest(&device, raster.view(), side, params).unwrap();
                let (columns, rows) = forest.tiles();
                assert_eq!(forest.trees().len() as u32, columns * rows);
                let what = format!("{side} on {}", device.name());
                assert!(forest.merge().unwrap() == whole, "{what}");
            }
        }
    }
    of(&fractal::<i16>(300, 200, 3, 0.5), &Params::new().bins([-20.0, 0.0, 30.0]));
    of(&fractal::<f32>(65, 260, 4, 0.6), &Params::new());
    of(&noise::<u8>(257, 129, 5, 3), &Params::new().nodata(1.0));
    of(&raster(300, 300, |x, _| if x < 192 { 5u8 } else { 6 }), &Params::new().nodata(5.0));
    of(&raster(200, 200, |_, _| 5u8), &Params::new().nodata(5.0));
    of(&raster(200, 100, |_, _| 5u8), &Params::new());
}

/// A part of a raster, where it lies.
fn cut<T: Made>(from: &Grid<T>, (column, row): (u32, u32), (width, height): (u32, u32)) -> Grid<T> {
    let cells = (row..row + height).flat_map(|y| (column..column + width).map(move |x| (x, y)));
    let values = cells.map(|(x, y)| *from.get(x, y).unwrap()).collect();
    let GridSpec { origin_x, origin_y, cell_size, .. } = *from.grid();
    let (x, y) = (f64::from(column) * cell_size, f64::from(row) * cell_size);
    let grid = GridSpec::new(origin_x + x, origin_y - y, cell_size, width, height).unwrap();
    Grid::new(values, grid).unwrap()
}

#[test]
fn rasters_beside_each_other_give_the_bytes_of_one_build() {
    let values = fractal::<i16>(300, 200, 3, 0.5).into_values();
    let whole = Grid::new(values, GridSpec::new(-20.5, 71.25, 0.25, 300, 200).unwrap()).unwrap();
    let params = Params::new().bins([-20.0, 0.0, 30.0]);
    let parts = [
        cut(&whole, (170, 90), (130, 110)),
        cut(&whole, (0, 0), (170, 90)),
        cut(&whole, (170, 0), (130, 90)),
        cut(&whole, (0, 90), (170, 110)),
    ];
    let views: Vec<_> = parts.iter().map(Grid::view).collect();
    for device in devices() {
        let expected = built(&device, &whole, &params);
        assert!(build_mosaic(&device, &views, &params).unwrap() == expected);
        // A gap is NODATA, where there is such a value.
        let three = [views[0], views[1], views[3]];
        let gap = build_mosaic(&device, &three, &params);
        assert_eq!(gap.unwrap_err(), Error::Gap { cells: 130 * 90 });
        let params = params.clone().nodata(-30_000.0);
        let holed = raster(300, 200, |x, y| match x >= 170 && y < 90 {
            true => -30_000,
            false => *whole.get(x, y).unwrap(),
        });
        let holed = Grid::new(holed.into_values(), *whole.grid()).unwrap();
        let expected = built(&device, &holed, &params);
        assert!(build_mosaic(&device, &three, &params).unwrap() == expected);
        assert!(build_mosaic::<i16>(&device, &[], &params).unwrap().nodes().is_empty());
    }
    let refused = |other: &Grid<i16>| mosaic(&[views[0], other.view()], None).unwrap_err();
    let reason = |error: Error| match error {
        Error::Part { index: 1, other: 0, reason } => reason,
        other => panic!("{other}"),
    };
    assert_eq!(reason(refused(&parts[0])), "overlaps");
    let moved = |x: f64, size: f64| {
        let grid = GridSpec::new(x, 71.25, size, 2, 2).unwrap();
        Grid::new(vec![0i16; 4], grid).unwrap()
    };
    assert_eq!(reason(refused(&moved(-20.4, 0.25))), "does not lie on the grid of");
    assert_eq!(reason(refused(&moved(-20.5, 0.5))), "has a cell size that differs from");
    assert_eq!(reason(refused(&moved(1e12, 0.25))), "lies too far from");
}

#[test]
fn one_thread_gives_the_same_bytes() {
    let raster = fractal::<u16>(500, 300, 9, 0.6);
    let params = Params::new().bins([1060.0, 1100.0, 1140.0]);
    let all = built(&Device::Cpu, &raster, &params);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert!(pool.install(|| built(&Device::Cpu, &raster, &params)) == all);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn random_rasters_give_the_tree_by_definition(
        width in 1u32..150, height in 1u32..150, seed: u64, values in 1u64..6, nodata in 0u8..8,
        bins in proptest::collection::btree_set(0u8..6, 0..4),
    ) {
        let raster = noise::<u8>(width, height, seed, values);
        let bins: Vec<f64> = bins.into_iter().map(f64::from).collect();
        check(&raster, &Params::new().nodata(f64::from(nodata)).bins(bins), "random");
    }
}
