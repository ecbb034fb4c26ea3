//! Trees over codes, against a scan of the raster, and against trees of cells that hold the same values.

use ccq_tree::{
    Bound, CodedParams, CodedTree, Condition, Error, FileKind, Number, Params, Query, Tree, Window,
    build, build_coded, count, kind_of_file, mask, quadrants, runs,
};
use gpu_core::{Device, Grid, GridSpec};
use testing::Random;

use crate::common::{fractal, raster};

fn devices() -> Vec<Device> {
    #[cfg(feature = "cuda")]
    return vec![Device::Cpu, Device::Gpu(testing::gpu())];
    #[cfg(not(feature = "cuda"))]
    vec![Device::Cpu]
}

/// Asks for values from the first on and below the second, by `is_in`, and compares with a scan.
fn check<T: Number>(
    raster: &Grid<T>,
    params: &CodedParams<T>,
    ask: impl Fn(Condition<'_>) -> Condition<'_>,
    is_in: impl Fn(T) -> bool,
) -> CodedTree<T> {
    let grid = *raster.grid();
    let trees: Vec<_> = devices()
        .iter()
        .map(|device| build_coded(device, raster.view(), params).unwrap())
        .collect();
    assert!(trees.windows(2).all(|pair| pair[0] == pair[1]));
    let tree = &trees[0];
    let part = Window {
        row0: grid.height / 3,
        column0: grid.width / 4,
        row1: grid.height,
        column1: grid.width.div_ceil(2),
    };
    for window in [None, (part.column0 < part.column1).then_some(part)] {
        let query = Query::new().window(window);
        let window = window.unwrap_or(Window::of(&grid));
        let holds = |column, row| {
            window.holds(Window { row0: row, column0: column, row1: row + 1, column1: column + 1 })
        };
        let mut expected = Vec::new();
        for row in 0..grid.height {
            for column in 0..grid.width {
                let value = *raster.get(column, row).unwrap();
                // Zeros of both signs are equal; NaN has no order.
                let is_value = !value.bound().to_f64().is_nan() && params.nodata != Some(value);
                expected.push(u8::from(holds(column, row) && is_value && is_in(value)));
            }
        }
        let asked = [ask(Condition::of_coded(tree)).raster(raster.view())];
        let own = quadrants(&Device::Cpu, &asked, &query).unwrap();
        for device in devices() {
            assert!(mask(&device, &asked, &query).unwrap().values() == expected, "the mask");
            assert!(quadrants(&device, &asked, &query).unwrap() == own, "the quadrants");
            let cells = expected.iter().map(|&cell| u64::from(cell)).sum::<u64>();
            let found = count(&device, &asked, &query).unwrap();
            assert_eq!((found.quadrants, found.cells, found.unsure), (own.len() as u64, cells, 0));
            let found = runs(&device, &asked, &query).unwrap();
            assert_eq!(found.iter().map(|r| u64::from(r.column1 - r.column0)).sum::<u64>(), cells);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("coded.ccq");
    tree.save(&path).unwrap();
    let kind = kind_of_file(&path).unwrap();
    assert_eq!((kind.values, kind.is_coded), (T::NAME, true));
    assert!(CodedTree::<T>::read(&path).unwrap() == *tree);
    // SAFETY: nobody writes to the file.
    assert!(unsafe { CodedTree::<T>::map(&path) }.unwrap() == *tree);
    trees.into_iter().next().unwrap()
}

#[test]
fn values_of_64_bits_give_what_a_scan_gives() {
    for (width, height) in [(1, 1), (33, 2), (64, 64), (130, 75)] {
        let floats = raster(width, height, |x, y| match (x * 7 + y * 3) % 11 {
            0 => f64::NAN,
            1 => -0.0,
            i => f64::from(i / 4) + 0.1 + f64::from(x / 16) * 1e-9,
        });
        for nodata in [None, Some(0.0), Some(9.0)] {
            let params = CodedParams::new().nodata(nodata);
            let of = |low: f64, high: f64| {
                check(&floats, &params, |c| c.range(low, high), |v| low <= v && v < high)
            };
            assert_eq!(of(0.1, 1.1).node_bytes(), 8);
            of(0.0, f64::INFINITY);
            of(5.0, 5.0);
        }
        // Beside each other where floats are two apart.
        let base = (1i64 << 60) + 1;
        let ids = raster(width, height, |x, y| base + i64::from((x / 8 + y / 8) % 5));
        for params in [CodedParams::new(), CodedParams::new().nodata(base + 2)] {
            let (low, high) = (base + 1, base + 3);
            check(&ids, &params, |c| c.range(low, high), |v| low <= v && v < high);
            let float = 2f64.powi(60);
            check(&ids, &params, |c| c.range(float, f64::INFINITY), |_| true);
        }
        let params = CodedParams::new().bins([base + 1, base + 3]);
        let (low, high) = (base + 2, base + 4);
        check(&ids, &params, |c| c.range(low, high), |v| low <= v && v < high);
        let params = CodedParams::new().bins([1u64, 1 << 63, u64::MAX]).nodata(7);
        let wide = raster(width, height, |x, y| {
            [0u64, 7, 1 << 63, u64::MAX - 1, u64::MAX][((x + y) / 3 % 5) as usize]
        });
        let low = u64::MAX - 1;
        check(&wide, &params, |c| c.range(low, 1i128 << 70), |v| low <= v);
    }
}

#[test]
fn codes_of_more_than_16_bits_give_what_a_scan_gives() {
    let mut random = Random::new(3);
    let values: Vec<f64> = (0..300 * 260).map(|_| random.between(-1.0, 1.0)).collect();
    let many = Grid::new(values, GridSpec::of_pixels(300, 260)).unwrap();
    let tree =
        check(&many, &CodedParams::new(), |c| c.range(-0.25, 0.5), |v| (-0.25..0.5).contains(&v));
    assert_eq!(tree.node_bytes(), 12);
    let least = many.values().iter().copied().fold(1.0, f64::min);
    let greatest = many.values().iter().copied().fold(-1.0, f64::max);
    assert_eq!(tree.bounds(), Some([least, greatest].map(Bound::from)));
    for device in devices() {
        let found = tree.statistics(&device, &Query::new()).unwrap();
        let bounds = [least, greatest].map(|end| Some(Bound::from(end)));
        assert_eq!((found.cells, [found.min, found.max]), (78_000, bounds));
        let mut sorted = many.values().to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let found = tree.top_k(&device, 20, &Query::new()).unwrap();
        assert!(found.iter().zip(&sorted).all(|(peak, &value)| peak.value == value.into()));
        assert!(
            found.iter().all(|peak| many.get(peak.column, peak.row).unwrap().bound() == peak.value)
        );
    }
}

#[test]
fn nodes_of_few_values_or_bins_take_8_bytes_and_say_the_same() {
    let cells = fractal::<f32>(190, 130, 5, 0.6);
    let plain = build(&Device::Cpu, cells.view(), &Params::new().nodata(60.0)).unwrap();
    let coded = build_coded(&Device::Cpu, cells.view(), &CodedParams::new().nodata(60.0)).unwrap();
    assert_eq!((size_of_val(&plain.nodes()[0]), coded.node_bytes()), (12, 8));
    assert_eq!((plain.nodes().len(), plain.levels()), (coded.node_count(), coded.levels()));
    let [a, b] = [Condition::new(&plain), Condition::of_coded(&coded)];
    let ask = |condition: Condition<'_>| {
        quadrants(&Device::Cpu, &[condition.range(80.0, 130.5)], &Query::new()).unwrap()
    };
    assert!(ask(a) == ask(b) && ask(a).len() > 50);
    let bins = [80.0f32, 99.75, 121.0];
    let params = Params::new().bins(bins.map(f64::from));
    let plain: Tree<f32> = build(&Device::Cpu, cells.view(), &params).unwrap();
    let coded = check(
        &cells,
        &CodedParams::new().bins(bins),
        |c| c.range(99.75, 130.5),
        |v| (99.75..130.5).contains(&v),
    );
    assert_eq!((plain.nodes().len(), coded.node_bytes()), (coded.node_count(), 8));
    let both =
        [Condition::new(&plain).range(80.0, 121.0), Condition::of_coded(&coded).range(80.0, 121.0)];
    let of =
        |conditions: &[Condition<'_>]| quadrants(&Device::Cpu, conditions, &Query::new()).unwrap();
    assert!(of(&both[..1]) == of(&both[1..]) && of(&both) == of(&both[..1]));
    // From a boundary at zero on, of either sign, no bin is cut.
    let around = raster(40, 30, |x, y| f64::from(x) - f64::from(y));
    let params = CodedParams::new().bins([-5.0, 0.0, 5.0]);
    for zero in [0.0, -0.0] {
        let tree = check(&around, &params, |c| c.range(zero, 5.0), |v| (0.0..5.0).contains(&v));
        let asked = [Condition::of_coded(&tree).range(zero, 5.0)];
        assert_eq!(count(&Device::Cpu, &asked, &Query::new()).unwrap().unsure, 0);
    }
    // With a raster that cuts bins and is not given.
    let cut = [Condition::of_coded(&coded).range(90.0, 121.0)];
    for device in devices() {
        assert_eq!(runs(&device, &cut, &Query::new()), Err(Error::NeedsRaster));
        assert!(count(&device, &cut, &Query::new()).unwrap().unsure > 0);
        assert!(matches!(coded.top_k(&device, 1, &Query::new()), Err(Error::Binned { .. })));
    }
}

/// Where a range has no upper end, infinity is in it.
#[test]
fn infinities_are_in_open_ranges() {
    let inf = f64::INFINITY;
    let of = |x: u32, y: u32| [-inf, -3.0, 0.5, inf, f64::NAN][((x / 3 + y / 5) % 5) as usize];
    let wide = raster(70, 40, of);
    let narrow = raster(70, 40, |x, y| of(x, y) as f32);
    let plain: Tree<f32> = build(&Device::Cpu, narrow.view(), &Params::new()).unwrap();
    let bins = Params::new().bins([0.0]);
    let binned = build(&Device::Cpu, narrow.view(), &bins).unwrap();
    for (low, high) in [(0.0, inf), (-inf, inf), (inf, inf), (-inf, 0.0), (-inf, 1e308), (0.7, inf)]
    {
        let is_in = |v: f64| low <= v && (v < high || high == inf && v == inf);
        for params in [CodedParams::new(), CodedParams::new().bins([0.0])] {
            check(&wide, &params, |c| c.range(low, high), is_in);
        }
        let expected: Vec<u8> =
            narrow.values().iter().map(|&v| u8::from(is_in(v.into()))).collect();
        for tree in [&plain, &binned] {
            let asked = [Condition::new(tree).range(low, high).raster(narrow.view())];
            for device in devices() {
                let found = mask(&device, &asked, &Query::new()).unwrap();
                assert!(found.values() == expected, "{low} {high}");
            }
        }
    }
}

#[test]
fn equal_boundaries_have_an_empty_bin_between_them() {
    let cells = raster(40, 30, |x, y| i64::from(x / 4 + y / 3));
    let tree = check(
        &cells,
        &CodedParams::new().bins([1i64, 2, 2, 5]),
        |c| c.range(2, 5),
        |v| (2..5).contains(&v),
    );
    assert_eq!(tree.bounds(), Some([Bound::from(0), Bound::from(4)]));
    let asked = [Condition::of_coded(&tree).range(2, 5)];
    assert_eq!(count(&Device::Cpu, &asked, &Query::new()).unwrap().unsure, 0);
    let found = quadrants(&Device::Cpu, &asked, &Query::new()).unwrap();
    assert!(found.iter().all(|q| [q.min, q.max] == [Bound::from(3); 2]));
}

#[test]
fn rasters_without_cells_or_values_have_no_codes() {
    let none = Grid::new(Vec::<f64>::new(), GridSpec::of_pixels(0, 3)).unwrap();
    let empty = raster(20, 9, |_, _| f64::NAN);
    for raster in [&none, &empty] {
        let tree = build_coded(&Device::Cpu, raster.view(), &CodedParams::new()).unwrap();
        assert_eq!((tree.node_count(), tree.codes().values().len(), tree.bounds()), (0, 0, None));
        let found = quadrants(&Device::Cpu, &[Condition::of_coded(&tree)], &Query::new());
        assert_eq!(found, Ok(Vec::new()));
    }
}

#[test]
fn wrong_bins_and_files_are_refused() {
    let cells = raster(9, 9, |x, _| f64::from(x));
    let of = |bins: &[f64]| {
        build_coded(&Device::Cpu, cells.view(), &CodedParams::new().bins(bins)).unwrap_err()
    };
    assert_eq!(of(&[2.0, 1.0]), Error::Boundary { index: 1, value: 1.0.into() });
    assert!(matches!(of(&[f64::NAN]), Error::Boundary { index: 0, .. }));
    let many: Vec<f64> = (0..65_535).map(f64::from).collect();
    assert_eq!(of(&many), Error::Bins { bins: 65_536, most: 65_535 });
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let coded = build_coded(&Device::Cpu, cells.view(), &CodedParams::new()).unwrap();
    let coded = coded.in_system(Some("EPSG:4326".to_owned()));
    coded.save(at("coded.ccq")).unwrap();
    assert_eq!(CodedTree::<f64>::read(at("coded.ccq")).unwrap().system(), Some("EPSG:4326"));
    let says = |error: Error, words: &str| assert!(error.to_string().contains(words), "{error}");
    says(Tree::<u16>::read(at("coded.ccq")).unwrap_err(), "codes of f64");
    says(CodedTree::<i64>::read(at("coded.ccq")).unwrap_err(), "values are f64, not i64");
    let plain = build(&Device::Cpu, raster(9, 9, |x, _| x as u16).view(), &Params::new()).unwrap();
    plain.save(at("plain.ccq")).unwrap();
    says(CodedTree::<f64>::read(at("plain.ccq")).unwrap_err(), "read it as a Tree");
    let FileKind { values, is_coded, .. } = kind_of_file(at("plain.ccq")).unwrap();
    assert_eq!((values, is_coded), ("u16", false));
    // Whatever byte is changed, the file is refused.
    let bytes = std::fs::read(at("coded.ccq")).unwrap();
    for i in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[i] ^= 1 << (i % 8);
        std::fs::write(at("damaged.ccq"), &damaged).unwrap();
        assert!(CodedTree::<f64>::read(at("damaged.ccq")).is_err(), "byte {i}");
        std::fs::write(at("damaged.ccq"), &bytes[..i]).unwrap();
        assert!(CodedTree::<f64>::read(at("damaged.ccq")).is_err(), "cut at {i}");
    }
}
