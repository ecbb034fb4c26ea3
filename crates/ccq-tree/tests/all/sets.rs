//! Searches for sets of classes against a scan of the raster, on every device.

use ccq_tree::gpu::{self, DeviceTree, Workspace};
use ccq_tree::{
    Bound, Classes, CodedParams, Condition, Error, Params, Query, Window, build, build_coded,
    count, cpu, mask, quadrants, runs,
};
use gpu_core::{Device, Grid, GridSpec};

use crate::common::{Made, fractal, noise, raster};

const SETS: [u64; 5] = [0, 1 << 1 | 1 << 5, 1 << 63 | 1 << 2, u64::MAX, u64::MAX << 3];

fn part_of(grid: &GridSpec) -> Window {
    let (width, height) = (grid.width, grid.height);
    Window {
        row0: height / 3,
        column0: width / 4,
        row1: height,
        column1: width / 4 + 1 + width / 2,
    }
}

/// 1 for each cell in a window whose value is of a class in a set.
fn scan<T: Copy>(cells: &Grid<T>, window: Window, is_found: impl Fn(T) -> bool) -> Vec<u8> {
    let mut found = Vec::new();
    for row in 0..cells.grid().height {
        for column in 0..cells.grid().width {
            let cell = Window { row0: row, column0: column, row1: row + 1, column1: column + 1 };
            found.push(u8::from(window.holds(cell) && is_found(*cells.get(column, row).unwrap())));
        }
    }
    found
}

fn is_in(set: u64, value: f64) -> bool {
    let class =
        if (0.0..63.0).contains(&value) && value.fract() == 0.0 { value as u32 } else { 63 };
    set >> class & 1 != 0
}

fn check<T: Made>(cells: &Grid<T>, nodata: f64) {
    let handle = testing::gpu();
    let mut workspace = Workspace::new(&handle).unwrap();
    let tree = build(&Device::Cpu, cells.view(), &Params::new().nodata(nodata)).unwrap();
    let fields = cpu::fields(&tree, Classes).unwrap();
    let there = DeviceTree::upload(&handle, &tree).unwrap();
    let of_device = gpu::fields(&mut workspace, &there, Classes).unwrap();
    for set in SETS {
        let own = fields.in_set(set).unwrap();
        let resident = of_device.in_set(&handle, set).unwrap();
        let part = part_of(cells.grid()).and(Window::of(cells.grid()));
        for window in [None, part] {
            let query = Query::new().window(window);
            let window = window.unwrap_or(Window::of(cells.grid()));
            let expected = scan(cells, window, |value| {
                let value = value.to_f64();
                !value.is_nan() && value != nodata && is_in(set, value)
            });
            let asked = [Condition::new(&tree), own.condition()];
            let found = quadrants(&Device::Cpu, &asked, &query).unwrap();
            for device in [Device::Cpu, Device::Gpu(handle.clone())] {
                assert!(mask(&device, &asked[1..], &query).unwrap().values() == expected);
                assert!(quadrants(&device, &asked, &query).unwrap() == found);
                let all = count(&device, &asked, &query).unwrap();
                let cells = expected.iter().map(|&cell| u64::from(cell)).sum::<u64>();
                assert_eq!((all.quadrants, all.cells, all.unsure), (found.len() as u64, cells, 0));
                let runs = runs(&device, &asked, &query).unwrap();
                assert_eq!(
                    runs.iter().map(|r| u64::from(r.column1 - r.column0)).sum::<u64>(),
                    cells
                );
            }
            let asked = [gpu::Condition::new(&there), resident.condition()];
            assert!(gpu::quadrants(&mut workspace, &asked, &query).unwrap() == found);
            let mask = gpu::mask(&mut workspace, &asked, &query).unwrap().to_host().unwrap();
            assert!(mask.values() == expected);
        }
        // The quadrants of a search by fields, which knows no window.
        let judged = fields.quadrants(|&classes| match (classes & set, classes & !set) {
            (0, _) => ccq_tree::Judgement::None,
            (_, 0) => ccq_tree::Judgement::All,
            _ => ccq_tree::Judgement::Some,
        });
        let asked = [Condition::new(&tree), own.condition()];
        assert!(quadrants(&Device::Cpu, &asked, &Query::new()).unwrap() == judged);
    }
}

#[test]
fn cells_of_a_set_of_classes_are_those_of_a_scan() {
    for (width, height) in [(1, 1), (33, 2), (64, 64), (75, 50), (130, 75)] {
        check(&noise::<u8>(width, height, 3, 8), 4.0);
        check(&raster(width, height, |x, y| (x / 20 + y / 13 * 2) as u8), 300.0);
        check(&raster(width, height, |x, y| (x / 9) as i16 - (y / 5) as i16), 1.0);
        check(
            &raster(width, height, |x, y| {
                [0.0, 1.0, 1.5, f32::NAN, 5.0][((x + y) / 3 % 5) as usize]
            }),
            0.0,
        );
        check(&fractal::<u32>(width, height, 4, 0.6), -1.0);
    }
}

#[test]
fn classes_of_64_bits_are_found() {
    let cells = raster(90, 70, |x, y| match (x / 7 + y / 5) % 4 {
        3 => (1i64 << 60) + i64::from(x),
        class => i64::from(class),
    });
    let tree = build_coded(&Device::Cpu, cells.view(), &CodedParams::new().nodata(0)).unwrap();
    let fields = cpu::fields(&tree, Classes).unwrap();
    for set in [1 << 1, 1 << 63 | 1 << 2, 1] {
        let own = fields.in_set(set).unwrap();
        let expected = scan(&cells, Window::of(cells.grid()), |value| {
            value != 0 && set >> value.min(63) & 1 != 0
        });
        for device in [Device::Cpu, Device::Gpu(testing::gpu())] {
            let found = mask(&device, &[own.condition()], &Query::new()).unwrap();
            assert!(found.values() == expected);
        }
    }
    let bins = CodedParams::new().bins([1, 5]);
    let binned = build_coded(&Device::Cpu, cells.view(), &bins).unwrap();
    let refused = cpu::fields(&binned, Classes).err();
    assert_eq!(refused, Some(Error::Binned { what: "a data field" }));
    // What is found has its bounds exactly.
    let low = (1i64 << 60) + 1;
    let asked = [Condition::of_coded(&tree).range(low, low + 80)];
    for device in [Device::Cpu, Device::Gpu(testing::gpu())] {
        let found = quadrants(&device, &asked, &Query::new()).unwrap();
        assert!(found.iter().any(|q| q.min == Bound::from(low) && q.size == 1), "{found:?}");
    }
}
