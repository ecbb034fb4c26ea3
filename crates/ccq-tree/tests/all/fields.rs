//! Data fields of nodes against a scan of the raster.

use ccq_tree::{
    Aggregate, Cell, Classes, CodedParams, Condition, Error, Judgement, Params, Query, Sum, Tree,
    Window, build, build_coded, cpu,
};
use gpu_core::{Device, Grid, GridSpec};
use proptest::prelude::*;

use crate::common::{Made, fractal, noise, raster};

/// A field of the user's: count, sum and sum of squares of whole numbers.
struct Moments;

impl<T: Cell> Aggregate<T> for Moments {
    type Field = [i128; 3];

    fn of_value(&self, value: T, cells: u64) -> [i128; 3] {
        let (value, cells) = (value.to_f64() as i128, i128::from(cells));
        [cells, cells * value, cells * value * value]
    }

    fn combine(&self, a: [i128; 3], b: [i128; 3]) -> [i128; 3] {
        [0, 1, 2].map(|i| a[i] + b[i])
    }
}

fn window_of(grid: &GridSpec) -> Window {
    let (width, height) = (grid.width, grid.height);
    Window {
        row0: height / 3,
        column0: width / 4,
        row1: height,
        column1: width / 4 + 1 + width / 2,
    }
}

/// All fields of a tree of whole numbers are those of a scan: of each node, of the whole, of a window, of a range in it.
fn check<T: Made>(cells: &Grid<T>, nodata: f64, (low, high): (f64, f64)) {
    let tree = build(&Device::Cpu, cells.view(), &Params::new().nodata(nodata)).unwrap();
    let scan = |window: Window, low: f64, high: f64| {
        let mut all = [0i128; 3];
        let mut classes = 0u64;
        for row in window.row0..window.row1 {
            for column in window.column0..window.column1 {
                let value = cells.get(column, row).unwrap().to_f64();
                if value != nodata && low <= value && value < high {
                    let whole = value as i128;
                    all = [all[0] + 1, all[1] + whole, all[2] + whole * whole];
                    classes |= 1 << if (0..63).contains(&whole) { whole } else { 63 };
                }
            }
        }
        (all, classes)
    };
    let (moments, classes) =
        (cpu::fields(&tree, Moments).unwrap(), cpu::fields(&tree, Classes).unwrap());
    assert_eq!(moments.fields().len(), tree.nodes().len());
    let (all, of_classes) = scan(Window::of(cells.grid()), f64::MIN, f64::MAX);
    assert_eq!(moments.root().unwrap_or_default(), all);
    assert_eq!(classes.root().unwrap_or_default(), of_classes);
    let part = window_of(cells.grid()).and(Window::of(cells.grid()));
    for window in [None, part] {
        let query = Query::new().window(window);
        let window = window.unwrap_or(Window::of(cells.grid()));
        let (expected, of_classes) = scan(window, f64::MIN, f64::MAX);
        let total = moments.total(&[moments.condition()], &query).unwrap();
        assert_eq!(total.unwrap_or_default(), expected);
        assert_eq!(total.is_some(), expected[0] > 0);
        let total = classes.total(&[classes.condition()], &query).unwrap();
        assert_eq!(total.unwrap_or_default(), of_classes);
        let (expected, _) = scan(window, low, high);
        let asked = [moments.condition().range(low, high)];
        assert_eq!(moments.total(&asked, &query).unwrap().unwrap_or_default(), expected);
    }
}

/// The fields of a device are those of the CPU, bit for bit, and so are totals.
#[cfg(feature = "cuda")]
fn check_on_device<T: Made + ccq_tree::Summed>(
    cells: &Grid<T>,
    params: &Params,
    (low, high): (f64, f64),
) {
    use ccq_tree::gpu::{self, DeviceTree, Workspace};
    fn compare<T: Made, A: ccq_tree::Resident<T, Field: PartialEq + std::fmt::Debug> + Copy>(
        tree: &Tree<T>,
        aggregate: A,
        range: (f64, f64),
    ) {
        let handle = testing::gpu();
        let mut workspace = Workspace::new(&handle).unwrap();
        let there = DeviceTree::upload(&handle, tree).unwrap();
        let host = cpu::fields(tree, aggregate).unwrap();
        let device = gpu::fields(&mut workspace, &there, aggregate).unwrap();
        assert!(device.to_host().unwrap() == host.fields(), "the fields");
        let from_host = ccq_tree::fields(&Device::Gpu(handle.clone()), tree, aggregate).unwrap();
        assert!(from_host.fields() == host.fields(), "from the host");
        let part = window_of(tree.grid()).and(Window::of(tree.grid()));
        for query in [Query::new(), Query::new().window(part)] {
            let all = host.total(&[host.condition()], &query).unwrap();
            assert_eq!(device.total(&mut workspace, &[device.condition()], &query).unwrap(), all);
            let some = host.total(&[host.condition().range(range.0, range.1)], &query).unwrap();
            let asked = [device.condition().range(range.0, range.1)];
            assert_eq!(device.total(&mut workspace, &asked, &query).unwrap(), some);
        }
        let other = DeviceTree::upload(&handle, tree).unwrap();
        let asked = [gpu::Condition::new(&other)];
        assert_eq!(device.total(&mut workspace, &asked, &Query::new()), Err(Error::Fields));
    }
    let tree = build(&Device::Cpu, cells.view(), params).unwrap();
    compare(&tree, Sum, (low, high));
    compare(&tree, Classes, (low, high));
}

#[cfg(feature = "cuda")]
#[test]
fn fields_of_a_device_are_those_of_the_cpu() {
    for (width, height) in [(1, 1), (33, 2), (64, 64), (130, 75)] {
        let plain = Params::new();
        check_on_device(
            &fractal::<u8>(width, height, 3, 0.6),
            &plain.clone().nodata(120.0),
            (80.0, 140.0),
        );
        check_on_device(&noise::<u8>(width, height, 3, 70), &plain, (3.0, 62.0));
        check_on_device(&fractal::<i16>(width, height, 4, 0.7), &plain, (-30.0, 20.0));
        check_on_device(&fractal::<u16>(width, height, 4, 0.7), &plain, (1000.0, 1120.0));
        check_on_device(&fractal::<i32>(width, height, 4, 0.7), &plain, (-70000.0, -69900.0));
        check_on_device(&fractal::<u32>(width, height, 4, 0.7), &plain, (3e9, 3_000_000_120.0));
        check_on_device(
            &fractal::<f32>(width, height, 4, 0.7),
            &plain.clone().nodata(99.75),
            (80.0, 140.0),
        );
        let tenths = raster(width, height, |x, y| match (x * 7 + y) % 13 {
            0 => f32::NAN,
            i => i as f32 * 0.1,
        });
        check_on_device(&tenths, &plain, (0.3, 0.9));
        check_on_device(&raster(width, height, |_, _| f32::NAN), &plain, (0.0, 1.0));
    }
}

#[test]
fn fields_are_those_of_a_scan() {
    for (width, height) in [(1, 1), (33, 2), (64, 64), (70, 45), (130, 75)] {
        check(&fractal::<u8>(width, height, 3, 0.6), 120.0, (80.0, 140.0));
        check(&fractal::<i16>(width, height, 4, 0.7), 1e9, (-30.0, 20.0));
        check(&fractal::<u32>(width, height, 5, 0.6), 1e12, (3e9, 3_000_000_100.0));
        check(&noise::<u8>(width, height, 6, 70), 3.0, (5.0, 66.0));
        check(&raster(width, height, |_, _| 7u8), 7.0, (0.0, 9.0));
    }
}

#[test]
fn sums_of_floats_are_those_of_the_tree_in_its_order() {
    let cells = raster(90, 61, |x, y| match (x * 7 + y) % 13 {
        0 => f32::NAN,
        i => i as f32 * 0.1,
    });
    let tree = build(&Device::Cpu, cells.view(), &Params::new()).unwrap();
    let fields = cpu::fields(&tree, Sum).unwrap();
    let values: Vec<f64> =
        cells.values().iter().filter(|v| !v.is_nan()).map(|&v| f64::from(v)).collect();
    let root = fields.root().unwrap();
    assert_eq!(root.cells, values.len() as u64);
    assert!((root.sum - values.iter().sum::<f64>()).abs() < 1e-9 * root.sum);
    let whole =
        build(&Device::Cpu, raster(90, 61, |x, y| (x * y) as i16 - 900).view(), &Params::new())
            .unwrap();
    let sum = cpu::fields(&whole, Sum).unwrap().root().unwrap().sum;
    assert_eq!(sum, (0..90i64).map(|x| (0..61i64).map(|y| x * y - 900).sum::<i64>()).sum::<i64>());
    // The same whatever the number of threads.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let query = Query::new().window(window_of(cells.grid()));
    let total = || fields.total(&[fields.condition().range(0.3, 0.9)], &query).unwrap().unwrap();
    let alone = pool.install(total);
    assert_eq!(alone.sum.to_bits(), total().sum.to_bits());
}

/// Whole numbers of 64 bits are summed exactly, floats in twice their digits; no mean overflows.
#[test]
fn sums_of_64_bits_are_those_of_a_scan() {
    let query = Query::new().window(window_of(&GridSpec::of_pixels(90, 61)));
    let Window { row0, column0, row1, column1 } = query.window.unwrap();
    let places = || (row0..row1).flat_map(|row| (column0..column1).map(move |x| (x, row)));
    let ids = raster(90, 61, |x, y| i64::MAX - i64::from((x / 8 * 7 + y / 3) % 13));
    let tree = build_coded(&Device::Cpu, ids.view(), &CodedParams::new()).unwrap();
    let fields = cpu::fields(&tree, Sum).unwrap();
    let all = ids.values().iter().map(|&value| i128::from(value)).sum::<i128>();
    assert_eq!((fields.root().unwrap().cells, fields.root().unwrap().sum), (90 * 61, all));
    let low = i64::MAX - 5;
    let values: Vec<i64> =
        places().map(|(x, y)| *ids.get(x, y).unwrap()).filter(|&value| value >= low).collect();
    let found = fields.total(&[fields.condition().range(low, u64::MAX)], &query).unwrap().unwrap();
    let sum = values.iter().map(|&value| i128::from(value)).sum::<i128>();
    assert_eq!((found.cells, found.sum), (values.len() as u64, sum));
    // A field of the user's over values that no f64 has.
    let moments = cpu::fields(&tree, Least).unwrap();
    assert_eq!(moments.root(), ids.values().iter().copied().min());
    let wide = raster(90, 61, |x, y| u64::MAX - u64::from(x / 8 + y));
    let tree = build_coded(&Device::Cpu, wide.view(), &CodedParams::new()).unwrap();
    let root = cpu::fields(&tree, Sum).unwrap().root().unwrap();
    assert_eq!(root.sum, wide.values().iter().map(|&value| i128::from(value)).sum::<i128>());
    assert_eq!(root.mean::<u64>(), Some((root.sum / root.cells as i128) as f64));
    // Large ones of both signs and small ones, whose exact sum is that of the small ones.
    let mixed = raster(64, 64, |x, y| match (x / 4 + y / 2) % 4 {
        0 => 1e17,
        1 => -1e17,
        2 => 0.125,
        _ => f64::NAN,
    });
    let of = |cells: &Grid<f64>| {
        let tree = build_coded(&Device::Cpu, cells.view(), &CodedParams::new()).unwrap();
        cpu::fields(&tree, Sum).unwrap().root().unwrap()
    };
    let small = mixed.values().iter().filter(|&&value| value == 0.125).count() as f64;
    assert_eq!(of(&mixed).sum.to_f64(), 0.125 * small);
    for (a, b, mean) in [
        (f64::MAX, f64::MAX, f64::MAX),
        (f64::MAX, -f64::MAX, 0.0),
        (1.7e308, 1.5e308, 1.6e308),
        (f64::MIN, 0.0, f64::MIN / 2.0),
        (5e-324, 5e-324, 5e-324),
        (0.1, 0.1, 0.1),
        (1e300, 1.0, 5e299),
    ] {
        let half = raster(64, 64, |x, y| if (x + y) % 2 == 0 { a } else { b });
        assert_eq!(of(&half).mean::<f64>(), Some(mean), "{a} {b}");
    }
    assert_eq!(of(&raster(64, 64, |_, _| f64::INFINITY)).mean::<f64>(), Some(f64::INFINITY));
}

/// The least value, of any type of 64 bits.
struct Least;

impl Aggregate<i64> for Least {
    type Field = i64;

    fn of_value(&self, value: i64, _: u64) -> i64 {
        value
    }

    fn combine(&self, a: i64, b: i64) -> i64 {
        a.min(b)
    }
}

/// Cells of a mask by the quadrants of a search.
#[test]
fn classes_are_found_by_their_sets() {
    let cells = noise::<u8>(75, 50, 3, 6);
    let smooth = raster(75, 50, |x, y| (x / 20 + y / 13 * 2) as u8);
    for cells in [&cells, &smooth] {
        let tree = build(&Device::Cpu, cells.view(), &Params::new().nodata(4.0)).unwrap();
        let fields = cpu::fields(&tree, Classes).unwrap();
        // No range has these two and not what lies between.
        let wanted = 1u64 << 1 | 1 << 5;
        let found = fields.quadrants(|&classes| match (classes & wanted, classes & !wanted) {
            (0, _) => Judgement::None,
            (_, 0) => Judgement::All,
            _ => Judgement::Some,
        });
        let mut mask = vec![0u8; 75 * 50];
        for quadrant in &found {
            assert!(!quadrant.is_partly);
            let part = quadrant.cells(Window::of(cells.grid())).unwrap();
            for row in part.row0..part.row1 {
                for column in part.column0..part.column1 {
                    mask[(row * 75 + column) as usize] += 1;
                }
            }
        }
        let expected: Vec<u8> =
            cells.values().iter().map(|&v| u8::from(v == 1 || v == 5)).collect();
        assert!(mask == expected);
    }
}

#[test]
fn sums_where_other_rasters_are_in_a_range() {
    let params = Params::new();
    let population = fractal::<u8>(70, 50, 1, 0.6);
    let heights = fractal::<f32>(70, 50, 2, 0.6);
    let (a, b): (Tree<u8>, Tree<f32>) = (
        build(&Device::Cpu, population.view(), &params).unwrap(),
        build(&Device::Cpu, heights.view(), &params.clone().bins([100.0, 150.0])).unwrap(),
    );
    let fields = cpu::fields(&a, Sum).unwrap();
    let asked = [fields.condition(), Condition::new(&b).range(100.0, 150.0)];
    let total = fields.total(&asked, &Query::new()).unwrap().unwrap();
    let cells = population.values().iter().zip(heights.values());
    let both: Vec<i64> =
        cells.filter(|(_, h)| (100.0..150.0).contains(*h)).map(|(&p, _)| p.into()).collect();
    assert_eq!((total.cells, total.sum), (both.len() as u64, both.iter().sum::<i64>()));
    let cut = [fields.condition(), Condition::new(&b).range(100.0, 120.0)];
    assert_eq!(fields.total(&cut, &Query::new()), Err(Error::NeedsRaster));
    assert_eq!(fields.total(&asked[1..], &Query::new()), Err(Error::Fields));
    assert_eq!(fields.total(&[], &Query::new()), Err(Error::Fields));
    let empty = build(&Device::Cpu, raster(9, 9, |_, _| f32::NAN).view(), &params).unwrap();
    let fields = cpu::fields(&empty, Sum).unwrap();
    assert_eq!(
        (fields.root(), fields.total(&[fields.condition()], &Query::new())),
        (None, Ok(None))
    );
    assert!(fields.quadrants(|_| Judgement::All).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn random_rasters_have_the_fields_of_a_scan(
        width in 1u32..80, height in 1u32..80, seed: u64, values in 1u64..9, nodata in 0u8..10, low in 0u8..9, more in 0u8..9,
    ) {
        let range = (f64::from(low), f64::from(low + more));
        check(&noise::<u8>(width, height, seed, values), f64::from(nodata), range);
    }
}
