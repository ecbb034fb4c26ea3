//! Searches against a full scan of the raster, on the host and on the device.

use crate::common::{Made, fractal, noise, raster};
use ccq_tree::{
    Bound, Cell, CodedParams, Condition, Error, Params, Quadrant, Query, Tree, Window, build,
    build_coded, count, first_mismatch, mask, quadrants, runs, statistics, top_k,
};
use gpu_core::{Device, Grid};
use kernels_rs::spatial::morton;
use proptest::prelude::*;

/// A raster, its tree, and what is asked of it.
struct Asked<T: Cell> {
    raster: Grid<T>,
    tree: Tree<T>,
    range: Option<(f64, f64)>,
}

impl<T: Made> Asked<T> {
    fn new(raster: Grid<T>, params: &Params, range: Option<(f64, f64)>) -> Self {
        let tree = build(&Device::Cpu, raster.view(), params).unwrap();
        Self { raster, tree, range }
    }

    fn condition(&self) -> Condition<'_> {
        let condition = Condition::new(&self.tree).raster(self.raster.view());
        match self.range {
            Some((low, high)) => condition.range(low, high),
            None => condition,
        }
    }

    /// Whether a cell is to be found, by itself.
    fn wants(&self, column: u32, row: u32) -> bool {
        let value = self.raster.get(column, row).unwrap().to_f64();
        let is_value = !value.is_nan() && self.tree.params().nodata != Some(value);
        is_value && self.range.is_none_or(|(low, high)| low <= value && value < high)
    }
}

fn window_of(query: &Query, grid: &gpu_core::GridSpec) -> Window {
    query.window.unwrap_or(Window::of(grid))
}

/// All results of a query are those of a scan, in which `wants` says which cells are to be found.
fn check_results(
    conditions: &[Condition<'_>],
    query: &Query,
    grid: &gpu_core::GridSpec,
    wants: impl Fn(u32, u32) -> bool,
) -> Vec<Quadrant> {
    let window = window_of(query, grid);
    let inside =
        |c: u32, r: u32| window.holds(Window { row0: r, column0: c, row1: r + 1, column1: c + 1 });
    let cells = (0..grid.height).flat_map(|row| (0..grid.width).map(move |column| (column, row)));
    let expected: Vec<u8> = cells.map(|(c, r)| u8::from(inside(c, r) && wants(c, r))).collect();
    let found = mask(&Device::Cpu, conditions, query).unwrap();
    assert!(found.values() == expected, "the mask");

    let mut from_runs = vec![0u8; expected.len()];
    let found = runs(&Device::Cpu, conditions, query).unwrap();
    for pair in found.windows(2) {
        assert!(pair[0] < pair[1], "runs in order");
        assert!(pair[0].row < pair[1].row || pair[0].column1 < pair[1].column0, "runs apart");
    }
    for run in found {
        let line = (run.row * grid.width) as usize;
        from_runs[line + run.column0 as usize..line + run.column1 as usize].fill(1);
    }
    assert!(from_runs == expected, "the runs");

    let found = quadrants(&Device::Cpu, conditions, query).unwrap();
    let code = |q: &Quadrant| morton::encode(q.column, q.row);
    assert!(found.windows(2).all(|pair| code(&pair[0]) < code(&pair[1])), "quadrants in Z-order");
    let mut covered = vec![0u8; expected.len()];
    for quadrant in &found {
        let part = quadrant.cells(window).expect("a part in the window");
        for row in part.row0..part.row1.min(grid.height) {
            for column in part.column0..part.column1.min(grid.width) {
                let cell = (row * grid.width + column) as usize;
                assert_eq!(std::mem::replace(&mut covered[cell], 1), 0, "quadrants lie apart");
                assert!(quadrant.is_partly || expected[cell] == 1, "{quadrant:?}");
            }
        }
    }
    assert!(expected.iter().zip(&covered).all(|(e, c)| e <= c), "nothing is left out");
    let total = count(&Device::Cpu, conditions, query).unwrap();
    let cells = expected.iter().map(|&cell| u64::from(cell)).sum::<u64>();
    assert_eq!((total.quadrants, total.cells, total.unsure), (found.len() as u64, cells, 0));
    assert_eq!(total.area(2.0), 4.0 * cells as f64);
    found
}

#[cfg(feature = "cuda")]
mod on_device {
    use super::*;
    use ccq_tree::Cell;
    use ccq_tree::gpu::{self, DeviceTree, Workspace};
    use gpu_core::DeviceGrid;

    /// The same as on the host.
    pub fn check<T: Made + Cell>(asked: &[&Asked<T>], query: &Query, expected: &[Quadrant]) {
        let handle = testing::gpu();
        let mut workspace = Workspace::new(&handle).unwrap();
        let trees: Vec<_> =
            asked.iter().map(|a| DeviceTree::upload(&handle, &a.tree).unwrap()).collect();
        let rasters: Vec<_> =
            asked.iter().map(|a| DeviceGrid::upload(&handle, a.raster.view()).unwrap()).collect();
        let conditions: Vec<_> = (0..asked.len())
            .map(|i| {
                let condition = gpu::Condition::new(&trees[i]).raster(&rasters[i]);
                asked[i].range.map_or(condition.clone(), |(low, high)| condition.range(low, high))
            })
            .collect();
        let found = gpu::quadrants(&mut workspace, &conditions, query).unwrap();
        assert!(found == expected, "{:?}", found.iter().zip(expected).find(|(a, b)| a != b));
        let host: Vec<_> = asked.iter().map(|a| a.condition()).collect();
        let expected = count(&Device::Cpu, &host, query).unwrap();
        let found = gpu::count(&mut workspace, &conditions, query).unwrap().to_host().unwrap();
        assert_eq!(found, [expected.quadrants, expected.cells, expected.unsure]);
        let painted = gpu::mask(&mut workspace, &conditions, query).unwrap();
        let painted = painted.column().to_host().unwrap();
        assert!(painted == mask(&Device::Cpu, &host, query).unwrap().values(), "the mask");
        let found = gpu::runs(&mut workspace, &conditions, query).unwrap();
        assert!(found == runs(&Device::Cpu, &host, query).unwrap(), "the runs");
        let found = gpu::statistics(&mut workspace, &trees[0], query).unwrap();
        assert_eq!(found, statistics(&Device::Cpu, &asked[0].tree, query).unwrap());
        let device = Device::Gpu(handle);
        assert_eq!(count(&device, &host, query), Ok(expected));
        assert!(quadrants(&device, &host, query) == quadrants(&Device::Cpu, &host, query));
        assert!(mask(&device, &host, query).unwrap().values() == painted);
        assert!(runs(&device, &host, query) == runs(&Device::Cpu, &host, query));
        assert_eq!(statistics(&device, &asked[0].tree, query), Ok(found));
    }

    /// The greatest values are the same as on the host.
    pub fn check_greatest<T: Made + Cell>(tree: &Tree<T>, k: usize, query: &Query) {
        let handle = testing::gpu();
        let mut workspace = Workspace::new(&handle).unwrap();
        let resident = DeviceTree::upload(&handle, tree).unwrap();
        let found = gpu::top_k(&mut workspace, &resident, k, query);
        let expected = top_k(&Device::Cpu, tree, k, query);
        assert!(found == expected, "the greatest {k}");
        assert!(top_k(&Device::Gpu(handle), tree, k, query) == expected, "from the host, {k}");
    }
}

#[cfg(not(feature = "cuda"))]
mod on_device {
    pub fn check<T: super::Made>(_: &[&super::Asked<T>], _: &super::Query, _: &[super::Quadrant]) {}
    pub fn check_greatest<T: super::Made>(_: &super::Tree<T>, _: usize, _: &super::Query) {}
}

fn check<T: Made>(asked: &Asked<T>, query: &Query) {
    let conditions = [asked.condition()];
    let found = check_results(&conditions, query, asked.raster.grid(), |c, r| asked.wants(c, r));
    on_device::check(&[asked], query, &found);
}

fn windows(width: u32, height: u32) -> Vec<Option<Window>> {
    let part =
        Window { row0: height / 3, column0: width / 4, row1: height, column1: width.div_ceil(2) };
    let cell = Window { row0: height - 1, column0: width - 1, row1: height, column1: width };
    [None]
        .into_iter()
        .chain([part, cell].map(|w| (w.row0 < w.row1 && w.column0 < w.column1).then_some(w)))
        .collect()
}

#[test]
fn ranges_and_windows_give_what_a_scan_gives() {
    for (width, height) in [(1, 1), (1, 70), (33, 2), (64, 64), (130, 75), (200, 300)] {
        for window in windows(width, height) {
            let query = Query::new().window(window);
            for range in [None, Some((-30.0, 10.0)), Some((5.0, 6.0)), Some((900.0, 950.0))] {
                let smooth = fractal::<i16>(width, height, 3, 0.5);
                check(&Asked::new(smooth.clone(), &Params::new(), range), &query);
                let params = Params::new().bins([-35.0, -10.0, 10.0, 60.0]).nodata(0.0);
                check(&Asked::new(smooth, &params, range), &query);
            }
        }
    }
}

#[test]
fn all_types_give_what_a_scan_gives() {
    fn of<T: Made>(range: (f64, f64), bins: &[f64]) {
        let query = Query::new().window(Window { row0: 3, column0: 5, row1: 90, column1: 100 });
        let raster = fractal::<T>(140, 97, 8, 0.6);
        check(&Asked::new(raster.clone(), &Params::new().nodata(range.0), Some(range)), &query);
        check(&Asked::new(raster, &Params::new().bins(bins), Some(range)), &query);
    }
    of::<u8>((100.0, 140.0), &[90.0, 110.0, 140.0]);
    of::<i16>((-10.0, 20.5), &[-20.0, 0.0, 30.0]);
    of::<u16>((1100.0, f64::INFINITY), &[1110.0, 1200.0]);
    of::<i32>((f64::NEG_INFINITY, -69_870.0), &[-69_900.0, -69_850.0]);
    of::<u32>((3_000_000_100.0, 3_000_000_130.0), &[3_000_000_090.0, 3_000_000_120.0]);
    of::<f32>((99.75, 130.5), &[80.0, 99.75, 121.0]);
}

#[test]
fn extremes_give_what_a_scan_gives() {
    let board = raster(100, 70, |x, y| f32::from(((x + y) % 2) as u8));
    check(&Asked::new(board, &Params::new(), Some((1.0, 2.0))), &Query::new());
    let one = raster(100, 70, |_, _| 4u8);
    check(&Asked::new(one.clone(), &Params::new(), Some((4.0, 5.0))), &Query::new());
    check(&Asked::new(one, &Params::new(), Some((5.0, 9.0))), &Query::new());
    let holes = raster(90, 90, |x, y| if (x / 7 + y / 5) % 3 == 0 { f32::NAN } else { 1.0 });
    check(&Asked::new(holes, &Params::new(), None), &Query::new());
    let none = raster(90, 20, |_, _| f32::NAN);
    check(&Asked::new(none, &Params::new(), None), &Query::new());
    let same = Some((3.0, 3.0));
    check(&Asked::new(raster(9, 9, |_, _| 3u8), &Params::new(), same), &Query::new());
}

#[test]
fn several_rasters_together_give_what_a_scan_of_all_gives() {
    let params = Params::new().nodata(100.0);
    for (width, height) in [(65, 65), (190, 130)] {
        let asked: Vec<Asked<u8>> = [((60.0, 140.0), 1), ((90.0, 255.0), 2), ((0.0, 130.0), 3)]
            .map(|(range, seed)| {
                Asked::new(fractal(width, height, seed, 0.5), &params, Some(range))
            })
            .into();
        let binned = Params::new().bins([80.0, 120.0]).nodata(90.0);
        let other = Asked::new(fractal::<u8>(width, height, 4, 0.6), &binned, Some((70.0, 125.0)));
        let window = Window { row0: 1, column0: 2, row1: 60, column1: 64 };
        for query in [Query::new(), Query::new().window(window)] {
            for all in [
                vec![&asked[0], &asked[1]],
                vec![&asked[0], &asked[1], &asked[2]],
                vec![&other, &asked[0]],
                vec![&asked[0], &other, &asked[1], &asked[2]],
            ] {
                let conditions: Vec<_> = all.iter().map(|a| a.condition()).collect();
                let wants = |c, r| all.iter().all(|asked| asked.wants(c, r));
                let found = check_results(&conditions, &query, all[0].raster.grid(), wants);
                on_device::check(&all, &query, &found);
            }
        }
    }
}

#[test]
fn rasters_of_several_types_can_be_asked_together() {
    let rain = Asked::new(fractal::<i16>(100, 80, 1, 0.5), &Params::new(), Some((0.0, 40.0)));
    let heat = Asked::new(fractal::<f32>(100, 80, 2, 0.5), &Params::new(), Some((99.75, 140.0)));
    let conditions = [rain.condition(), heat.condition()];
    let wants = |c, r| rain.wants(c, r) && heat.wants(c, r);
    check_results(&conditions, &Query::new(), rain.raster.grid(), wants);
}

#[test]
fn one_thread_finds_the_same() {
    let asked = Asked::new(fractal::<i16>(700, 500, 3, 0.6), &Params::new(), Some((0.0, 12.0)));
    let all = quadrants(&Device::Cpu, &[asked.condition()], &Query::new()).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let alone =
        pool.install(|| quadrants(&Device::Cpu, &[asked.condition()], &Query::new()).unwrap());
    assert!(all == alone && all.len() > 1000);
}

#[test]
fn statistics_of_windows_are_those_of_a_scan() {
    let nan = f32::NAN;
    let raster =
        raster(150, 90, |x, y| if (x + 2 * y) % 11 == 0 { nan } else { (x * y % 97) as f32 });
    let tree = build(&Device::Cpu, raster.view(), &Params::new()).unwrap();
    for window in windows(150, 90) {
        let query = Query::new().window(window);
        let window = window.unwrap_or(Window::of(raster.grid()));
        let mut values = Vec::new();
        for row in window.row0..window.row1 {
            for column in window.column0..window.column1 {
                let value = f64::from(*raster.get(column, row).unwrap());
                if !value.is_nan() {
                    values.push((value, morton::encode(column, row), row, column));
                }
            }
        }
        values.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let found = statistics(&Device::Cpu, &tree, &query).unwrap();
        assert_eq!(found.cells, values.len() as u64);
        let [least, greatest] = [values.last(), values.first()].map(|v| v.map(|v| v.0));
        let bounds = (least.map(Bound::from), greatest.map(Bound::from));
        assert_eq!((found.min, found.max), bounds);
        for k in [0, 1, 5, 1000, 100_000] {
            let found = top_k(&Device::Cpu, &tree, k, &query).unwrap();
            let found: Vec<_> = found.iter().map(|p| (p.value, p.row, p.column)).collect();
            let expected = values.iter().take(k).map(|v| (Bound::from(v.0), v.2, v.3));
            let expected: Vec<_> = expected.collect();
            assert!(found == expected, "the greatest {k}");
            on_device::check_greatest(&tree, k, &query);
        }
    }
    let binned = build(&Device::Cpu, raster.view(), &Params::new().bins([5.0])).unwrap();
    assert!(matches!(top_k(&Device::Cpu, &binned, 3, &Query::new()), Err(Error::Binned { .. })));
    on_device::check_greatest(&binned, 3, &Query::new());
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let asked = Asked::new(raster(20, 10, |x, _| x as u8), &Params::new().bins([5.0]), None);
    let other = Asked::new(raster(10, 20, |x, _| x as u8), &Params::new(), None);
    let condition = Condition::new(&asked.tree);
    let refused = |conditions: &[Condition<'_>], query: &Query| {
        quadrants(&Device::Cpu, conditions, query).unwrap_err()
    };
    assert!(matches!(refused(&[], &Query::new()), Error::Conditions { conditions: 0, .. }));
    assert!(matches!(refused(&[condition; 9], &Query::new()), Error::Conditions { .. }));
    let apart = refused(&[condition, Condition::new(&other.tree)], &Query::new());
    assert!(matches!(apart, Error::Sides { width: 10, height: 20, .. }), "{apart}");
    let apart = refused(&[condition.raster(other.raster.view())], &Query::new());
    assert!(matches!(apart, Error::Sides { what: "a raster", .. }), "{apart}");
    for (low, high) in [(3.0, 2.0), (f64::NAN, 1.0), (1.0, f64::NAN)] {
        let error = refused(&[condition.range(low, high)], &Query::new());
        assert!(matches!(error, Error::Range { .. }), "{error}");
    }
    let outside = Window { row0: 0, column0: 0, row1: 11, column1: 20 };
    let error = refused(&[condition], &Query::new().window(outside));
    assert!(matches!(error, Error::Window { row1: 11, height: 10, .. }), "{error}");
    // A range through a bin, and no raster: the count says what is not sure, and runs cannot be had.
    let cut = [condition.range(3.0, 7.0)];
    let total = count(&Device::Cpu, &cut, &Query::new()).unwrap();
    assert_eq!((total.cells, total.unsure), (0, 200));
    assert_eq!(runs(&Device::Cpu, &cut, &Query::new()), Err(Error::NeedsRaster));
    assert_eq!(
        count(&Device::Cpu, &[condition.range(5.0, 300.0)], &Query::new()).unwrap().cells,
        150
    );
}

#[test]
fn a_tree_without_nodes_has_nothing_to_find() {
    let asked = Asked::new(
        Grid::new(Vec::<u8>::new(), gpu_core::GridSpec::of_pixels(0, 4)).unwrap(),
        &Params::new(),
        None,
    );
    assert_eq!(quadrants(&Device::Cpu, &[asked.condition()], &Query::new()), Ok(Vec::new()));
    on_device::check(&[&asked], &Query::new(), &[]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn random_queries_give_what_a_scan_gives(
        width in 1u32..140, height in 1u32..140, seed: u64, values in 1u64..9, nodata in 0u8..12,
        bins in proptest::collection::btree_set(0u8..9, 0..4), low in 0u8..9, more in 0u8..9,
        corners: [u32; 4],
    ) {
        let bins: Vec<f64> = bins.into_iter().map(f64::from).collect();
        let params = Params::new().nodata(f64::from(nodata)).bins(bins);
        let range = (f64::from(low), f64::from(low + more));
        let asked = Asked::new(noise::<u8>(width, height, seed, values), &params, Some(range));
        let (row0, column0) = (corners[0] % height, corners[1] % width);
        let (row1, column1) = (row0 + 1 + corners[2] % (height - row0), column0 + 1 + corners[3] % (width - column0));
        check(&asked, &Query::new().window(Window { row0, column0, row1, column1 }));
    }
}

/// A raster refines the bins of its own tree; of another the first cell that differs is named.
#[test]
fn a_raster_of_other_values_than_the_tree_is_noticed() {
    fn of<T: Made>() {
        let made = noise::<T>(70, 45, 5, 9);
        let nodata = T::made(4.0).to_f64();
        let params =
            Params::new().bins([T::made(3.0).to_f64(), T::made(6.0).to_f64()]).nodata(nodata);
        let tree = build(&Device::Cpu, made.view(), &params).unwrap();
        let found = |raster: &Grid<T>| {
            first_mismatch(&Condition::new(&tree).raster(raster.view())).unwrap()
        };
        assert_eq!(found(&made), None);
        for (cell, value) in made.values().iter().enumerate().step_by(83) {
            let mut other = made.clone().into_values();
            let place = Some([(cell / 70) as u32, (cell % 70) as u32]);
            for (number, is_same) in
                [(0.0, 0..3), (4.0, 4..5), (5.0, 3..6), (8.0, 6..9)].map(|(n, same)| {
                    let is_nodata = |v: T| v.to_f64() == nodata;
                    let is_in =
                        same.clone().any(|v| T::made(f64::from(v)).to_f64() == value.to_f64());
                    (n, is_in && is_nodata(*value) == is_nodata(T::made(n)))
                })
            {
                other[cell] = T::made(number);
                let other = Grid::new(other.clone(), *made.grid()).unwrap();
                assert_eq!(found(&other), if is_same { None } else { place }, "{number}");
            }
        }
        let wrong = noise::<T>(45, 70, 5, 9);
        assert!(first_mismatch(&Condition::new(&tree).raster(wrong.view())).is_err());
        // A tree of values needs no raster.
        let tree = build(&Device::Cpu, made.view(), &Params::new()).unwrap();
        let other = noise::<T>(70, 45, 6, 9);
        assert_eq!(first_mismatch(&Condition::new(&tree).raster(other.view())).unwrap(), None);
    }
    of::<u8>();
    of::<i16>();
    of::<u16>();
    of::<i32>();
    of::<u32>();
    of::<f32>();
    // Where no cell has a value the raster has none, too.
    let empty = raster(5, 3, |_, _| f32::NAN);
    let tree = build(&Device::Cpu, empty.view(), &Params::new().bins([1.0])).unwrap();
    let full = raster(5, 3, |column, row| if (column, row) == (3, 1) { 2.0 } else { f32::NAN });
    let found = |raster: &Grid<f32>| first_mismatch(&Condition::new(&tree).raster(raster.view()));
    assert_eq!((found(&empty), found(&full)), (Ok(None), Ok(Some([1, 3]))));
    let values = raster(33, 20, |column, row| i64::from(column * row) << 40);
    let params = CodedParams::new().bins([5i64 << 40, 100 << 40, 300 << 40]);
    let device = Device::open(gpu_core::DeviceChoice::Cpu).unwrap();
    let tree = build_coded(&device, values.view(), &params).unwrap();
    let condition =
        |raster: &Grid<i64>| first_mismatch(&Condition::of_coded(&tree).raster(raster.view()));
    assert_eq!(condition(&values), Ok(None));
    let moved = raster(33, 20, |column, row| {
        i64::from(column * row + u32::from(column * row == 299)) << 40
    });
    assert_eq!(condition(&moved), Ok(Some([13, 23])));
}
