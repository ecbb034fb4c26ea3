//! Trees over points that lie on the device: f32 and f64, the same bytes every time, searches captured into graphs,
//! and nothing outside touched whatever lies in memory.

use gpu_core::{Bounds, Device, Points};
use quadtree_sort::gpu::{
    DeviceIndex, DeviceQuadtree, DeviceRegions, Workspace, adjacent_leaves, build, count_in,
    leaves_of, list_in, nearest, nearest_of_own,
};
use quadtree_sort::{Adjacency, Baseline, Error, Method, NONE, Outside, Params};
use testing::{Cloud, Random, clouds, gpu};

const AREA: [f64; 4] = [-30.0, 40.0, 170.0, 110.0];

fn in_f32(column: &[f64]) -> Vec<f32> {
    column.iter().map(|&value| value as f32).collect()
}

#[test]
fn trees_of_f32_are_those_of_the_same_numbers_in_f64() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let cloud = clouds::heaps(4000, 41);
    let (x, y) = (in_f32(&cloud.x), in_f32(&cloud.y));
    let wide = [&x, &y].map(|column| column.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>());
    let (x, y) = (gpu.upload(&x).unwrap(), gpu.upload(&y).unwrap());
    for method in [Method::Morton, Method::Baseline(Baseline::LevelSort)] {
        for max_level in [9, 16, 31] {
            for threshold in [20, 200, 2000, 5000] {
                let params = Params::new().max_level(max_level).threshold(threshold);
                let params = params.method(method);
                let tree = build(&mut workspace, &x, &y, &params).unwrap();
                let points = Points::new(&wide[0], &wide[1]);
                let wanted = quadtree_sort::build(&Device::Cpu, points, &params).unwrap();
                assert_eq!(tree.to_host().unwrap(), wanted, "{params:?}");
                let index = DeviceIndex::of_tree(&mut workspace, &tree).unwrap();
                let own = nearest_of_own(&mut workspace, &index, 3).unwrap().to_host().unwrap();
                let places = (index.x().to_host().unwrap(), index.y().to_host().unwrap());
                let widened =
                    |column: &[f32]| column.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
                let [x, y] = [widened(&places.0), widened(&places.1)];
                assert_eq!(own, wanted.nearest(&x, &y, 3).unwrap());
            }
        }
    }
}

/// How often a build is repeated: a thousand times on a card, fewer where that takes long.
fn repetitions() -> usize {
    if testing::is_slow() { 20 } else { 1000 }
}

#[test]
fn every_build_gives_the_same_bytes() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let cloud = clouds::heaps(3000, 42);
    let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
    for method in [Method::Morton, Method::Baseline(Baseline::LevelSort)] {
        let params = Params::new().method(method).max_level(12);
        let mut run = || build(&mut workspace, &x, &y, &params).unwrap().to_host().unwrap();
        let first = run();
        for _ in 0..repetitions() {
            assert_eq!(run(), first);
        }
    }
}

#[test]
fn more_nodes_than_points_usually_need_get_more_room() {
    // Pairs of points so close that each takes a way of 30 levels alone.
    let mut cloud = Cloud::default();
    for i in 0..300 {
        let (x, y) = (f64::from(i % 17), f64::from(i / 17));
        cloud.push((x, y, 0.0));
        cloud.push((x + 1e-8, y, 0.0));
    }
    cloud.push((20.0, 20.0, 0.0));
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
    for method in [Method::Morton, Method::Baseline(Baseline::LevelSort)] {
        let params = Params::new().threshold(1).method(method);
        let tree = build(&mut workspace, &x, &y, &params).unwrap();
        assert!(tree.node_count() > 6 * cloud.len() + 64 * 32, "{} nodes", tree.node_count());
        let points = Points::new(&cloud.x, &cloud.y);
        let wanted = quadtree_sort::build(&Device::Cpu, points, &params).unwrap();
        assert_eq!(tree.to_host().unwrap(), wanted);
    }
}

#[test]
fn captured_searches_take_what_is_there_when_they_are_launched() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let cloud = Cloud::uniform(500, AREA, 43, |_, _| 0.0);
    let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
    let tree = build(&mut workspace, &x, &y, &Params::new()).unwrap();
    let index = DeviceIndex::of_tree(&mut workspace, &tree).unwrap();
    let others = Cloud::uniform(40, AREA, 44, |_, _| 0.0);
    let (mut px, py) = (gpu.upload(&cloud.x[..40]).unwrap(), gpu.upload(&cloud.y[..40]).unwrap());
    let other = gpu.upload(&others.x).unwrap();
    let windows = gpu.upload(&[[0.0, 50.0, 90.0, 90.0]]).unwrap();
    // Everything once before, so that the workspace has grown.
    let run = |workspace: &mut Workspace, px: &gpu_core::Column<f64>| {
        let windows = DeviceRegions::Windows((&windows).into());
        Ok::<_, Error>((
            nearest(workspace, &index, px, &py, 3)?,
            leaves_of(workspace, &tree, px, &py)?,
            count_in(workspace, &tree, windows)?,
        ))
    };
    let first = run(&mut workspace, &px).unwrap();
    let second = run(&mut workspace, &other).unwrap();
    let mut captured = None;
    let graph = gpu.capture::<Error>(|| {
        captured = Some(run(&mut workspace, &px)?);
        Ok(())
    });
    let graph = graph.unwrap();
    let (near, leaves, counts) = captured.unwrap();
    px.copy_from(&other).unwrap();
    // SAFETY: what the graph uses is alive, and nothing else runs.
    unsafe { graph.launch().unwrap() };
    gpu.synchronize().unwrap();
    assert_eq!(near.to_host().unwrap(), second.0.to_host().unwrap());
    assert_ne!(near.to_host().unwrap(), first.0.to_host().unwrap());
    assert_eq!(leaves.to_host().unwrap(), second.1.to_host().unwrap());
    assert_eq!(counts.to_host().unwrap(), first.2.to_host().unwrap());

    let refused = gpu.capture::<Error>(|| {
        build(&mut workspace, &x, &y, &Params::new())?;
        Ok(())
    });
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("cannot be part of a graph"), "{error}");
}

/// Numbers of every kind.
fn anything(random: &mut Random, len: usize) -> Vec<f64> {
    let kinds = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e308, -1e308, 5e-324];
    (0..len)
        .map(|_| match random.below(3) {
            0 => kinds[random.below(kinds.len() as u64) as usize],
            1 => f64::from_bits(random.next_u64()),
            _ => random.between(-50.0, 200.0),
        })
        .collect()
}

#[test]
fn whatever_lies_in_memory_nothing_outside_is_touched() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let mut random = Random::new(45);
    let cloud = Cloud::uniform(400, AREA, 46, |_, _| 0.0);
    let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
    let tree = build(&mut workspace, &x, &y, &Params::new().threshold(3)).unwrap();
    let empty: DeviceQuadtree<f64> = {
        let none = gpu.upload::<f64>(&[]).unwrap();
        build(&mut workspace, &none, &none, &Params::new()).unwrap()
    };
    let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 100.0, max_y: 100.0 };
    for round in 0..6 {
        let columns = [200, 200].map(|len| gpu.upload(&anything(&mut random, len)).unwrap());
        let [ax, ay] = &columns;
        for method in [Method::Morton, Method::Baseline(Baseline::LevelSort)] {
            // Points that are none are found; those outside are left out.
            let params = Params::new().method(method);
            assert!(build(&mut workspace, ax, ay, &params).is_err());
            let params = params.bounds(bounds).max_level(if round % 2 == 0 { 12 } else { 31 });
            assert!(build(&mut workspace, ax, ay, &params).is_err());
            assert!(build(&mut workspace, ax, ay, &params.outside(Outside::Skip)).is_err());
        }
        let shapes = |size: usize, random: &mut Random| anything(random, 64 * size);
        let windows: Vec<[f64; 4]> = bytemuck::cast_slice(&shapes(4, &mut random)).to_vec();
        let discs: Vec<[f64; 3]> = bytemuck::cast_slice(&shapes(3, &mut random)).to_vec();
        let windows = gpu.upload(&windows).unwrap();
        let discs = gpu.upload(&discs).unwrap();
        let leaves: Vec<u32> =
            (0..50).map(|_| random.next_u64() as u32 >> random.below(32)).collect();
        let leaves = gpu.upload(&leaves).unwrap();
        for tree in [&tree, &empty] {
            for k in [2, 20, 40] {
                let index = DeviceIndex::of_tree(&mut workspace, tree).unwrap();
                let found = nearest(&mut workspace, &index, ax, ay, k).unwrap().to_host().unwrap();
                assert!(found.indices.iter().all(|&index| index < 400 || index == NONE));
            }
            leaves_of(&mut workspace, tree, ax, ay).unwrap();
            let windows = DeviceRegions::Windows((&windows).into());
            let discs = DeviceRegions::Discs((&discs).into());
            for regions in [windows, discs] {
                let lists = list_in(&mut workspace, tree, regions).unwrap().to_host().unwrap();
                assert!(lists.indices.iter().all(|&index| index < 400));
            }
            adjacent_leaves(&mut workspace, tree, &leaves, Adjacency::EdgesAndCorners).unwrap();
        }
    }
    gpu.synchronize().unwrap();
}

#[test]
fn bad_points_on_the_device_are_named() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let x = gpu.upload(&[1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let bad = gpu.upload(&[1.0f32, f32::INFINITY, f32::NAN, 2.0]).unwrap();
    let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 2.5, max_y: 9.0 };
    for params in [Params::new(), Params::new().bounds(bounds)] {
        let mut on = |x, y| build::<f32>(&mut workspace, x, y, &params).unwrap_err().to_string();
        assert_eq!(on(&x, &bad), "y 1 is inf, not a finite number");
        assert_eq!(on(&bad, &x), "x 1 is inf, not a finite number");
    }
    let error = build(&mut workspace, &x, &x, &Params::new().bounds(bounds)).unwrap_err();
    assert_eq!(error, Error::Outside { index: 2, x: 3.0, y: 3.0 });
    let short = gpu.upload(&[1.0f32]).unwrap();
    let error = build(&mut workspace, &x, &short, &Params::new()).unwrap_err().to_string();
    assert_eq!(error, "column of y has 1 elements, expected 4");
}
