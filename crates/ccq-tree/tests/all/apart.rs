//! Trees of rasters with cells of other sizes or other places, searched together, against a scan.

use ccq_tree::{
    Cell, Condition, Error, Params, Query, Tree, Window, build, count, mask, quadrants, regions,
    runs, search_grid,
};
use gpu_core::{Device, Grid, GridSpec};
use proptest::prelude::*;

use crate::common::{Made, fractal, noise};

struct Asked<T: Cell> {
    raster: Grid<T>,
    tree: Tree<T>,
    range: (f64, f64),
}

impl<T: Made> Asked<T> {
    /// A raster with its north-west corner at whole numbers, and cells of a whole side.
    fn new(
        raster: Grid<T>,
        (x, y, side): (i32, i32, u32),
        params: &Params,
        range: (f64, f64),
    ) -> Self {
        let GridSpec { width, height, .. } = *raster.grid();
        let place = GridSpec::new(x.into(), y.into(), side.into(), width, height).unwrap();
        let raster = Grid::new(raster.into_values(), place).unwrap();
        let tree = build(&Device::Cpu, raster.view(), params).unwrap();
        Self { raster, tree, range }
    }

    fn condition(&self) -> Condition<'_> {
        Condition::new(&self.tree).range(self.range.0, self.range.1).raster(self.raster.view())
    }

    /// Whether the cell at a place, in halves of units, is to be found.
    fn wants(&self, x: i64, y: i64) -> bool {
        let GridSpec { origin_x, origin_y, cell_size, width, height } = *self.raster.grid();
        let side = 2 * cell_size as i64;
        let column = (x - 2 * origin_x as i64).div_euclid(side);
        let row = (2 * origin_y as i64 - y).div_euclid(side);
        let is_there =
            (0..i64::from(width)).contains(&column) && (0..i64::from(height)).contains(&row);
        is_there && {
            let value = self.raster.get(column as u32, row as u32).unwrap().to_f64();
            let is_value = !value.is_nan() && self.tree.params().nodata != Some(value);
            is_value && self.range.0 <= value && value < self.range.1
        }
    }
}

fn check(conditions: &[Condition<'_>], windows: bool, wants: impl Fn(i64, i64) -> bool) -> u64 {
    let grid = search_grid(conditions).unwrap();
    let GridSpec { origin_x, origin_y, cell_size, width, height } = grid;
    let part =
        Window { row0: height / 3, column0: width / 4, row1: height, column1: width.div_ceil(2) };
    let mut all = 0;
    for window in [None, windows.then_some(part)] {
        let holds = window.unwrap_or(Window::of(&grid));
        let query = Query::new().window(window);
        let mut expected = Vec::new();
        for row in 0..height {
            for column in 0..width {
                let x = 2 * origin_x as i64 + (2 * i64::from(column) + 1) * cell_size as i64;
                let y = 2 * origin_y as i64 - (2 * i64::from(row) + 1) * cell_size as i64;
                let cell =
                    Window { row0: row, column0: column, row1: row + 1, column1: column + 1 };
                expected.push(u8::from(holds.holds(cell) && wants(x, y)));
            }
        }
        let found = mask(&Device::Cpu, conditions, &query).unwrap();
        assert_eq!(found.grid(), &grid);
        assert!(found.values() == expected, "the mask");
        let cells = expected.iter().map(|&cell| u64::from(cell)).sum::<u64>();
        let total = count(&Device::Cpu, conditions, &query).unwrap();
        let hits = quadrants(&Device::Cpu, conditions, &query).unwrap();
        assert_eq!((total.quadrants, total.cells, total.unsure), (hits.len() as u64, cells, 0));
        let found = runs(&Device::Cpu, conditions, &query).unwrap();
        assert_eq!(found.iter().map(|r| u64::from(r.column1 - r.column0)).sum::<u64>(), cells);
        let found = regions(&Device::Cpu, conditions, &query, Default::default()).unwrap();
        assert_eq!(found.regions().iter().map(|region| region.cells).sum::<u64>(), cells);
        all += cells;
    }
    all
}

#[test]
fn coarser_rasters_are_asked_where_their_cells_lie() {
    for (ratio, width, height) in
        [(2, 80, 64), (3, 90, 61), (5, 64, 64), (8, 130, 75), (16, 130, 75)]
    {
        let fine = Asked::new(
            fractal::<i16>(width, height, 3, 0.6),
            (40, 90, 1),
            &Params::new(),
            (-30.0, 60.0),
        );
        let (columns, rows) = (width.div_ceil(ratio), height.div_ceil(ratio));
        let coarse = |seed, params: &Params| {
            Asked::new(
                fractal::<f32>(columns, rows, seed, 0.7),
                (40, 90, ratio),
                params,
                (60.0, 150.5),
            )
        };
        let plain = coarse(1, &Params::new().nodata(110.75));
        let binned = coarse(2, &Params::new().bins([50.0, 100.0, 140.0]));
        for order in [[fine.condition(), plain.condition()], [plain.condition(), fine.condition()]]
        {
            assert_eq!(search_grid(&order).unwrap(), *fine.raster.grid());
            assert!(check(&order, true, |x, y| fine.wants(x, y) && plain.wants(x, y)) > 0);
        }
        let all = [binned.condition(), fine.condition(), plain.condition()];
        check(&all, true, |x, y| fine.wants(x, y) && plain.wants(x, y) && binned.wants(x, y));
    }
}

#[test]
fn rasters_that_overlap_are_asked_where_both_are() {
    let nan = Params::new();
    let a = Asked::new(fractal::<f32>(70, 50, 1, 0.6), (100, 200, 2), &nan, (40.0, 160.0));
    for place in
        [(90, 190, 3), (150, 230, 7), (101, 199, 2), (0, 400, 5), (239, 101, 4), (110, 180, 200)]
    {
        let b = Asked::new(
            fractal::<u8>(33, 41, 2, 0.7),
            place,
            &Params::new().nodata(100.0),
            (50.0, 200.0),
        );
        check(&[a.condition(), b.condition()], true, |x, y| a.wants(x, y) && b.wants(x, y));
    }
}

#[test]
fn rasters_without_common_ground_are_refused() {
    let params = Params::new();
    let at = |place| Asked::new(fractal::<u8>(20, 10, 1, 0.5), place, &params, (0.0, 300.0));
    let (here, far) = (
        at((0, 100, 1)),
        Asked::new(fractal::<u8>(9, 9, 1, 0.5), (20, 100, 1), &params, (0.0, 9.0)),
    );
    let refused = |a: Condition<'_>, b: Condition<'_>| {
        quadrants(&Device::Cpu, &[a, b], &Query::new()).unwrap_err()
    };
    let error = refused(here.condition(), far.condition());
    assert!(matches!(error, Error::Sides { width: 9, height: 9, .. }), "{error}");
    let nowhere = build(&Device::Cpu, fractal::<u8>(30, 30, 1, 0.5).view(), &params).unwrap();
    let error = refused(here.condition(), Condition::new(&nowhere));
    assert!(error.to_string().contains("do not overlap"), "{error}");
    assert_eq!(search_grid(&[]), Err(Error::Conditions { conditions: 0, most: 8 }));
}

#[cfg(feature = "cuda")]
#[test]
fn a_device_searches_rasters_whose_cells_are_put_together() {
    let device = Device::Gpu(testing::gpu());
    for (ratio, columns, rows) in [(2, 33, 20), (4, 33, 20), (16, 9, 13), (64, 2, 3), (128, 1, 1)] {
        let (width, height) = (columns * ratio, rows * ratio);
        let fine = Asked::new(
            fractal::<i16>(width, height, 3, 0.6),
            (40, 90, 1),
            &Params::new(),
            (-60.0, 60.0),
        );
        let nodata = Params::new().nodata(110.75);
        let coarse = |seed, params: &Params| {
            let cells = fractal::<f32>(columns, rows, seed, 0.7);
            Asked::new(cells, (40, 90, ratio), params, (60.0, 190.5))
        };
        let (plain, other) = (coarse(1, &nodata), coarse(2, &Params::new()));
        let mixed = Asked::new(
            noise::<u8>(columns, rows, 5, 3),
            (40, 90, ratio),
            &Params::new().nodata(1.0),
            (0.0, 9.0),
        );
        for asked in [
            vec![fine.condition(), plain.condition()],
            vec![plain.condition(), fine.condition()],
            vec![mixed.condition(), other.condition(), fine.condition(), plain.condition()],
        ] {
            same_on(&device, &asked);
        }
        // Ranges that cut bins, of rasters with larger cells and of the finest.
        let bins = Params::new().bins([50.0, 100.0, 140.0]).nodata(110.75);
        let binned = coarse(2, &bins);
        let bytes = Asked::new(
            fractal::<u8>(columns, rows, 8, 0.7),
            (40, 90, ratio),
            &Params::new().bins([40.0, 90.0]).nodata(97.0),
            (60.0, 200.0),
        );
        let words = Asked::new(
            fractal::<i32>(columns, rows, 8, 0.7),
            (40, 90, ratio),
            &Params::new().bins([-69_950.0]),
            (-69_960.0, -69_800.0),
        );
        let short = Asked::new(
            fractal::<u16>(width, height, 9, 0.6),
            (40, 90, 1),
            &Params::new().bins([1050.0, 1100.0]),
            (1060.0, 1190.0),
        );
        let wide = Grid::new(
            binned.raster.values().iter().map(|&value| f64::from(value) + 0.1).collect(),
            *binned.raster.grid(),
        );
        let wide = wide.unwrap();
        let coded = ccq_tree::CodedParams::new().bins([50.0, 140.0]);
        let coded = ccq_tree::build_coded(&Device::Cpu, wide.view(), &coded).unwrap();
        let of_codes = Condition::of_coded(&coded).range(60.6, 190.85).raster(wide.view());
        for asked in [
            vec![fine.condition(), binned.condition()],
            vec![words.condition(), fine.condition(), bytes.condition()],
            vec![short.condition(), bytes.condition(), plain.condition(), binned.condition()],
            vec![short.condition(), of_codes],
        ] {
            same_on(&device, &asked);
        }
        check(&[fine.condition(), binned.condition()], true, |x, y| {
            fine.wants(x, y) && binned.wants(x, y)
        });
        check(&[words.condition(), short.condition(), bytes.condition()], true, |x, y| {
            words.wants(x, y) && short.wants(x, y) && bytes.wants(x, y)
        });
    }
}

/// The results of a device are those of the CPU.
#[cfg(feature = "cuda")]
fn same_on(device: &Device, asked: &[Condition<'_>]) {
    let grid = search_grid(asked).unwrap();
    let (row0, column0) = (grid.height / 3, grid.width / 4);
    let part = Window { row0, column0, row1: grid.height, column1: grid.width };
    for query in [Query::new(), Query::new().window(part)] {
        let expected = mask(&Device::Cpu, asked, &query).unwrap();
        assert!(mask(device, asked, &query).unwrap() == expected, "the mask");
        assert_eq!(count(device, asked, &query), count(&Device::Cpu, asked, &query));
        assert!(quadrants(device, asked, &query) == quadrants(&Device::Cpu, asked, &query));
        assert!(runs(device, asked, &query) == runs(&Device::Cpu, asked, &query));
    }
}

#[cfg(feature = "cuda")]
#[test]
fn a_device_refuses_what_only_the_cpu_searches() {
    let params = Params::new();
    let fine = Asked::new(fractal::<u8>(20, 10, 1, 0.5), (0, 100, 1), &params, (0.0, 300.0));
    let coarse = Asked::new(fractal::<u8>(10, 6, 1, 0.5), (0, 100, 2), &params, (0.0, 300.0));
    let device = Device::Gpu(testing::gpu());
    let asked = [fine.condition(), coarse.condition()];
    let error = count(&device, &asked, &Query::new()).unwrap_err();
    assert!(matches!(error, Error::OnDevice { width: 10, first_width: 20, .. }), "{error}");
    // The finest ends at 20 90, the other at 20 88.
    for words in ["from 0 100 (north-west) to 20 88", "from 0 100 to 20 90"] {
        assert!(error.to_string().contains(words), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn random_grids_give_what_a_scan_gives(
        sides: [(u8, u8); 3], places: [(i8, i8, u8); 3], seed: u64, low in 0u8..6, more in 0u8..6, nodata in 0u8..9,
    ) {
        let params = Params::new().nodata(f64::from(nodata));
        let range = (f64::from(low), f64::from(low + more));
        let asked: Vec<Asked<u8>> = sides.iter().zip(places).enumerate().map(|(i, (&(w, h), (x, y, side)))| {
            let (width, height) = (1 + u32::from(w) % 40, 1 + u32::from(h) % 40);
            let cells = noise::<u8>(width, height, seed ^ i as u64, if i == 0 { 8 } else { 4 });
            Asked::new(cells, (i32::from(x) / 8, i32::from(y) / 8, 1 + u32::from(side) % 6), &params, range)
        }).collect();
        let conditions: Vec<_> = asked.iter().map(Asked::condition).collect();
        let alike = |a: &GridSpec, b: &GridSpec| (a.width, a.height) == (b.width, b.height);
        let grids: Vec<GridSpec> = asked.iter().map(|a| *a.raster.grid()).collect();
        // Equal sides are taken for the same ground.
        prop_assume!(!alike(&grids[0], &grids[1]) && !alike(&grids[1], &grids[2]) && !alike(&grids[0], &grids[2]));
        match quadrants(&Device::Cpu, &conditions, &Query::new()) {
            Err(error) => prop_assert!(matches!(error, Error::Sides { .. }), "{}", error),
            Ok(_) => {
                check(&conditions, false, |x, y| asked.iter().all(|a| a.wants(x, y)));
            }
        }
    }
}
