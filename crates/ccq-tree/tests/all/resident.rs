//! Trees that are built and searched in device memory: captured, with too little capacity, and whatever lies there.

use crate::common::{Made, fractal, noise};
use ccq_tree::gpu::{self, Condition, DeviceCodedTree, DeviceTree, Workspace};
use ccq_tree::{CodedParams, Error, Node, Params, Query, build, build_coded, quadrants};
use gpu_core::{Device, DeviceGrid, Grid, GridSpec};
use testing::Random;

#[test]
fn resident_builds_give_the_host_s_bytes() {
    let handle = testing::gpu();
    let mut workspace = Workspace::new(&handle).unwrap();
    let raster = fractal::<i16>(300, 170, 2, 0.6);
    let params = Params::new().bins([-40.0, 0.0, 20.0]).nodata(3.0);
    let expected = build(&Device::Cpu, raster.view(), &params).unwrap();
    let resident = DeviceGrid::upload(&handle, raster.view()).unwrap();
    let tree = gpu::build(&mut workspace, &resident, &params).unwrap();
    assert_eq!(tree.level_starts(), expected.level_starts());
    assert!(tree.to_host().unwrap() == expected);
    let forest = gpu::build_forest(&mut workspace, &resident, 64, &params).unwrap();
    assert_eq!(forest.tiles(), (5, 3));
    let forest = forest.to_host().unwrap();
    let nodes: usize = forest.trees().iter().map(|tree| tree.nodes().len()).sum();
    assert!(nodes > 1000 && forest.merge().unwrap() == expected);
    // Elements that no vector can be loaded from.
    let mut odd = vec![0i16];
    odd.extend(raster.values());
    let odd = handle.upload(&odd).unwrap();
    let slice = odd.slice(1..odd.len()).unwrap();
    let slice = gpu_core::GridSlice::new(slice, *raster.grid()).unwrap();
    assert!(gpu::build(&mut workspace, slice, &params).unwrap().to_host().unwrap() == expected);
}

#[test]
fn a_captured_build_follows_its_raster() {
    let handle = testing::gpu();
    let mut workspace = Workspace::new(&handle).unwrap();
    let params = Params::new().bins([-20.0, 20.0]).nodata(0.0);
    let first = fractal::<i16>(200, 130, 1, 0.6);
    let mut resident = DeviceGrid::upload(&handle, first.view()).unwrap();
    let capacity = 200 * 130 * 2;
    // So that the workspace has grown.
    gpu::build_with_capacity(&mut workspace, &resident, &params, capacity)
        .unwrap()
        .finish()
        .unwrap();
    let refused = handle.capture(|| gpu::build(&mut workspace, &resident, &params).map(drop));
    assert!(matches!(refused.err(), Some(Error::Core(gpu_core::Error::Captured { .. }))));
    let mut bounded = None;
    let graph = handle.capture(|| {
        bounded = Some(gpu::build_with_capacity(&mut workspace, &resident, &params, capacity)?);
        Ok::<_, Error>(())
    });
    let graph = graph.unwrap();
    for seed in [5, 6] {
        let raster = fractal::<i16>(200, 130, seed, 0.6);
        resident.copy_from(&handle.upload(raster.values()).unwrap()).unwrap();
        // SAFETY: the raster is where it was, and as long.
        unsafe { graph.launch().unwrap() };
        let expected = build(&Device::Cpu, raster.view(), &params).unwrap();
        let total = expected.nodes().len() as u64;
        if seed == 5 {
            handle.synchronize().unwrap();
            assert!(total > 100);
            continue;
        }
        let found = bounded.take().unwrap().finish().unwrap();
        assert!(found.to_host().unwrap() == expected);
    }
}

#[test]
fn captured_counts_follow_their_tree() {
    let handle = testing::gpu();
    let mut workspace = Workspace::new(&handle).unwrap();
    let raster = fractal::<u8>(150, 100, 1, 0.5);
    let host = build(&Device::Cpu, raster.view(), &Params::new()).unwrap();
    let tree = DeviceTree::upload(&handle, &host).unwrap();
    let condition = [Condition::new(&tree).range(90.0, 120.0)];
    let plain = gpu::count(&mut workspace, &condition, &Query::new()).unwrap().to_host().unwrap();
    let mask = gpu::mask(&mut workspace, &condition, &Query::new()).unwrap();
    let (mut counted, mut painted) = (None, None);
    let graph = handle.capture(|| {
        counted = Some(gpu::count(&mut workspace, &condition, &Query::new())?);
        painted = Some(gpu::mask(&mut workspace, &condition, &Query::new())?);
        Ok::<_, Error>(())
    });
    // SAFETY: the tree is where it was.
    unsafe { graph.unwrap().launch().unwrap() };
    assert_eq!(counted.unwrap().to_host().unwrap(), plain);
    let painted = painted.unwrap().column().to_host().unwrap();
    assert!(painted == mask.column().to_host().unwrap());
    let scanned = raster.values().iter().filter(|v| (90..120).contains(*v)).count() as u64;
    assert_eq!((plain[1], plain[2]), (scanned, 0));
}

#[test]
fn forests_merge_on_the_device_into_the_bytes_of_one_build() {
    fn of<T: Made + ccq_tree::Cell>(raster: &Grid<T>, params: &Params) {
        let handle = testing::gpu();
        let mut workspace = Workspace::new(&handle).unwrap();
        let resident = DeviceGrid::upload(&handle, raster.view()).unwrap();
        let whole = build(&Device::Cpu, raster.view(), params).unwrap();
        for side in [64, 128, 256, 1024] {
            let forest = gpu::build_forest(&mut workspace, &resident, side, params).unwrap();
            let merged = forest.merge(&mut workspace).unwrap();
            assert!(merged.to_host().unwrap() == whole, "tiles of {side}");
        }
    }
    of(&fractal::<i16>(300, 200, 3, 0.5), &Params::new().bins([-20.0, 0.0, 30.0]));
    of(&fractal::<f32>(65, 260, 4, 0.6), &Params::new());
    of(&noise::<u8>(257, 129, 5, 3), &Params::new().nodata(1.0));
    let half = crate::common::raster(300, 300, |x, _| if x < 192 { 5u8 } else { 6 });
    of(&half, &Params::new().nodata(5.0));
    of(&crate::common::raster(200, 200, |_, _| 5u8), &Params::new().nodata(5.0));
    of(&crate::common::raster(200, 100, |_, _| 5i32), &Params::new());
}

#[test]
fn too_little_capacity_is_said_and_nothing_is_written_beyond() {
    let handle = testing::gpu();
    let mut workspace = Workspace::new(&handle).unwrap();
    let raster = noise::<u8>(130, 70, 1, 4);
    let resident = DeviceGrid::upload(&handle, raster.view()).unwrap();
    let params = Params::new().nodata(1.0);
    let whole = gpu::build(&mut workspace, &resident, &params).unwrap();
    let total = whole.nodes().len();
    for capacity in [0, 1, 100, total - 1] {
        let bounded =
            gpu::build_with_capacity(&mut workspace, &resident, &params, capacity).unwrap();
        let expected = Error::Capacity { nodes: total as u64, capacity: capacity as u64 };
        assert_eq!(bounded.finish().err(), Some(expected));
    }
    let found = gpu::build_with_capacity(&mut workspace, &resident, &params, total).unwrap();
    assert!(found.finish().unwrap().to_host().unwrap() == whole.to_host().unwrap());
}

/// Links, flags and bounds of all kinds: whatever is found, nothing is read or written outside, and the search ends. The
/// software device watches; on a card its sanitizer does.
#[test]
fn nodes_full_of_anything_lead_nowhere_outside() {
    let handle = testing::gpu();
    let mut workspace = Workspace::new(&handle).unwrap();
    let mut random = Random::new(77);
    for (width, height) in [(1, 1), (40, 40), (200, 129)] {
        let raster = noise::<i16>(width, height, 3, 9);
        let params = Params::new().nodata(-97.0);
        let tree = build(&Device::Cpu, raster.view(), &params).unwrap();
        let resident = DeviceGrid::upload(&handle, raster.view()).unwrap();
        for most in [u32::MAX, tree.nodes().len() as u32 * 2] {
            let words = tree.nodes().iter().map(|_| {
                let link =
                    random.below(u64::from(most)) as u32 | (random.next_u64() as u32 & 1 << 31);
                u64::from(link) << 32 | random.next_u64() >> 32
            });
            let words: Vec<u64> = words.collect();
            let nodes: &[Node<i16>] = bytemuck::cast_slice(&words);
            let flags: Vec<u8> = tree.presence().iter().map(|_| random.next_u64() as u8).collect();
            let columns = (handle.upload(nodes).unwrap(), handle.upload(&flags).unwrap());
            let starts = tree.level_starts().to_vec();
            let (nodes, flags) = columns;
            let hostile =
                DeviceTree::from_columns(*raster.grid(), &params, starts, nodes, flags).unwrap();
            let sound = DeviceTree::upload(&handle, &tree).unwrap();
            for range in [(-99.0, -93.0), (-30000.0, 30000.0)] {
                let condition = Condition::new(&hostile).raster(&resident).range(range.0, range.1);
                for conditions in [vec![condition.clone()], vec![Condition::new(&sound), condition]]
                {
                    let count = gpu::count(&mut workspace, &conditions, &Query::new()).unwrap();
                    let cells = count.to_host().unwrap()[1];
                    assert!(cells <= u64::from(width) * u64::from(height));
                    let found = gpu::quadrants(&mut workspace, &conditions, &Query::new()).unwrap();
                    assert!(found.iter().all(|q| q.row < height && q.column < width));
                    let runs = gpu::runs(&mut workspace, &conditions, &Query::new()).unwrap();
                    assert!(runs.iter().all(|run| run.row < height && run.column1 <= width));
                }
            }
            gpu::statistics(&mut workspace, &hostile, &Query::new()).unwrap();
            let peaks = gpu::top_k(&mut workspace, &hostile, 9, &Query::new()).unwrap();
            assert!(peaks.iter().all(|peak| peak.row < height && peak.column < width));
            handle.synchronize().unwrap();
        }
    }
    let grid = GridSpec::of_pixels(8, 8);
    let (nodes, flags) = (handle.zeroed::<Node<u8>>(3).unwrap(), handle.zeroed(0).unwrap());
    let short = DeviceTree::from_columns(grid, &Params::new(), vec![0, 1, 5, 9, 9], nodes, flags);
    assert!(matches!(short.err(), Some(Error::Core(gpu_core::Error::Length { expected: 9, .. }))));
}

#[test]
fn coded_trees_are_searched_where_they_lie() {
    let handle = testing::gpu();
    let mut workspace = Workspace::new(&handle).unwrap();
    let base = (1i64 << 60) + 1;
    let heights = fractal::<i16>(150, 90, 7, 0.6);
    let of = |value: i16| base + i64::from(value / 8);
    let ids = heights.values().iter().map(|&value| of(value)).collect();
    let ids = Grid::new(ids, *heights.grid()).unwrap();
    let there = DeviceGrid::upload(&handle, ids.view()).unwrap();
    let plain = build(&Device::Cpu, heights.view(), &Params::new()).unwrap();
    let beside = DeviceTree::upload(&handle, &plain).unwrap();
    for params in
        [CodedParams::new().nodata(base + 2), CodedParams::new().bins([base - 4, base + 3])]
    {
        let host = build_coded(&Device::Cpu, ids.view(), &params).unwrap();
        let tree = DeviceCodedTree::upload(&handle, &host).unwrap();
        assert_eq!((tree.grid(), tree.codes()), (host.grid(), host.codes()));
        let (low, high) = (base - 2, base + 5);
        let wants = |cell: usize| {
            let is_in = |value: i64| low <= value && value < high && params.nodata != Some(value);
            is_in(ids.values()[cell]) && heights.values()[cell] >= -30
        };
        let expected: Vec<u8> = (0..ids.values().len()).map(|i| u8::from(wants(i))).collect();
        let asked = [
            Condition::of_coded(&tree).range(low, high).raster(&there),
            Condition::new(&beside).range(-30, 1000),
        ];
        let found = gpu::mask(&mut workspace, &asked, &Query::new()).unwrap();
        assert!(found.to_host().unwrap().values() == expected);
        let on_host = [
            ccq_tree::Condition::of_coded(&host).range(low, high),
            ccq_tree::Condition::new(&plain).range(-30, 1000),
        ];
        let found = gpu::quadrants(&mut workspace, &asked, &Query::new()).unwrap();
        assert!(found == quadrants(&Device::Cpu, &on_host, &Query::new()).unwrap());
        // Once the workspace has grown, a search that makes marks can be captured.
        gpu::count(&mut workspace, &asked, &Query::new()).unwrap();
        let mut counted = None;
        let graph = handle.capture(|| {
            counted = Some(gpu::count(&mut workspace, &asked, &Query::new())?);
            Ok::<_, Error>(())
        });
        // SAFETY: everything is where it was.
        unsafe { graph.unwrap().launch().unwrap() };
        let cells = expected.iter().map(|&cell| u64::from(cell)).sum::<u64>();
        assert_eq!(counted.unwrap().to_host().unwrap()[1..], [cells, 0]);
    }
}

#[test]
fn a_raster_of_another_type_refines_a_search() {
    /// The same whole numbers as another type.
    fn of<T: ccq_tree::Number>(raster: &Grid<i16>, cast: impl Fn(i16) -> T) -> Grid<T> {
        let values = raster.values().iter().map(|&value| cast(value)).collect();
        Grid::new(values, *raster.grid()).unwrap()
    }
    let handle = testing::gpu();
    let mut workspace = Workspace::new(&handle).unwrap();
    let host = fractal::<i16>(130, 75, 4, 0.6);
    let resident = DeviceGrid::upload(&handle, host.view()).unwrap();
    let params = Params::new().bins([-20.0, 30.0]).nodata(7.0);
    let tree = gpu::build(&mut workspace, &resident, &params).unwrap();
    let expected: Vec<u8> =
        host.values().iter().map(|&v| u8::from((-3..45).contains(&v) && v != 7)).collect();
    macro_rules! check {
        ($type:ty) => {
            let there = of(&host, |value| value as $type);
            let there = DeviceGrid::upload(&handle, there.view()).unwrap();
            let condition = [Condition::new(&tree).raster(&there).range(-3.0, 45.0)];
            let found = gpu::mask(&mut workspace, &condition, &Query::new()).unwrap();
            assert!(found.to_host().unwrap().values() == expected, stringify!($type));
            let sums = gpu::count(&mut workspace, &condition, &Query::new()).unwrap();
            let cells = expected.iter().map(|&cell| u64::from(cell)).sum::<u64>();
            assert_eq!(sums.to_host().unwrap()[1..], [cells, 0]);
        };
    }
    check!(i16);
    check!(i32);
    check!(f32);
    check!(f64);
    check!(i64);
    let five = vec![Condition::new(&tree); 5];
    let refused = gpu::quadrants(&mut workspace, &five, &Query::new());
    assert_eq!(refused.err(), Some(Error::Conditions { conditions: 5, most: 4 }));
}
