//! Trees built with little device memory: the same ones.

use gpu_core::{Bounds, Device, Points};
use quadtree_sort::{Baseline, Error, Method, Outside, Params, PointsFile, build, build_within};
use testing::{Cloud, clouds, gpu};

const AREA: [f64; 4] = [-30.0, 40.0, 170.0, 110.0];

/// Builds under budgets from the least on, on both devices and by both methods, and compares with the plain build.
fn compare(cloud: &Cloud, params: &Params) {
    let points = Points::new(&cloud.x, &cloud.y);
    let wanted = build(&Device::Cpu, points, params).unwrap();
    let gpu = Device::Gpu(gpu());
    let Err(Error::Budget { least, .. }) = build_within(&gpu, points, params, 0) else {
        panic!("no bytes are enough")
    };
    for budget in [least, least + least / 4, 1 << 30] {
        for (device, method) in [
            (&gpu, Method::Morton),
            (&gpu, Method::Baseline(Baseline::LevelSort)),
            (&Device::Cpu, Method::Auto),
        ] {
            let params = params.method(method);
            let tree = build_within(device, points, &params, budget).unwrap();
            assert_eq!(tree, wanted, "{} points, {params:?}, {budget}", cloud.len());
        }
    }
}

#[test]
fn a_build_in_batches_gives_the_same_tree() {
    let bounds = Bounds { min_x: 0.0, min_y: 250.0, max_x: 800.0, max_y: 700.0 };
    for cloud in [
        Cloud::default(),
        Cloud::of([(3.0, 4.0, 0.0)]),
        clouds::uniform(9000, 51),
        clouds::heaps(9000, 52),
        clouds::lattice(4900, 53),
    ] {
        for params in [
            Params::new(),
            Params::new().threshold(3).max_level(12),
            Params::new().threshold(100).max_level(5),
            Params::new().max_level(0),
            Params::new().bounds(bounds).outside(Outside::Skip),
        ] {
            compare(&cloud, &params);
        }
    }
}

#[test]
fn a_leaf_of_the_deepest_level_may_have_more_points_than_a_batch() {
    let mut cloud = Cloud::of([(3.0, 60.0, 0.0); 5000]);
    compare(&cloud, &Params::new());
    compare(&cloud, &Params::new().threshold(10_000));
    // Beside others, so that batches begin and end in the middle of cells with few points of theirs.
    for (x, y, value) in [(3.0, 60.0 + 1e-7, 0.0), (3.1, 60.0, 0.0), (90.0, 1.0, 0.0)] {
        cloud.push((x, y, value));
    }
    compare(&cloud, &Params::new());
    compare(&cloud, &Params::new().max_level(9));
    compare(&cloud, &Params::new().threshold(1));
}

#[test]
fn cells_that_batches_share_are_divided_whatever_each_has_of_them() {
    // Heaps of some hundred points, each beside a few points that alone would be one leaf of a large cell.
    let mut cloud = Cloud::default();
    for heap in 0..12 {
        let (x, y) = (f64::from(heap % 4) * 16.0, f64::from(heap / 4) * 16.0);
        for i in 0..400 {
            let (dx, dy) = (f64::from(i % 20), f64::from(i / 20));
            cloud.push((x + dx * 1e-3, y + dy * 1e-3, 0.0));
        }
        for i in 0..4 {
            cloud.push((x + 8.0 + f64::from(i), y + 9.0, 0.0));
        }
    }
    for threshold in [1, 7, 20, 300, 2000] {
        compare(&cloud, &Params::new().threshold(threshold));
        compare(&cloud, &Params::new().threshold(threshold).max_level(16));
    }
}

#[test]
fn mapped_points_give_the_tree_of_points_in_memory() {
    let cloud = clouds::heaps(5000, 54);
    let file = tempfile::NamedTempFile::new().unwrap();
    let columns = [&cloud.x, &cloud.y].map(|column| column.iter().flat_map(|v| v.to_le_bytes()));
    std::fs::write(file.path(), columns.into_iter().flatten().collect::<Vec<u8>>()).unwrap();
    let mapped = PointsFile::open(file.path()).unwrap();
    let wanted = build(&Device::Cpu, Points::new(&cloud.x, &cloud.y), &Params::new()).unwrap();
    let device = Device::Gpu(gpu());
    let tree = build_within(&device, mapped.points(), &Params::new(), 1_300_000).unwrap();
    assert_eq!(tree, wanted);
}

#[test]
fn a_budget_too_small_for_anything_is_refused() {
    let device = Device::Gpu(gpu());
    let points = Points::new(&[1.0], &[2.0]);
    let error = build_within(&device, points, &Params::new(), 1000).unwrap_err();
    let Error::Budget { bytes: 1000, least } = error else { panic!("{error}") };
    assert!(build_within(&device, points, &Params::new(), least - 1).is_err());
    assert!(build_within(&device, points, &Params::new(), least).is_ok());
    let nan = Points::new(&[1.0, f64::NAN], &[2.0, 3.0]);
    let error = build_within(&device, nan, &Params::new(), least).unwrap_err().to_string();
    assert_eq!(error, "x 1 is NaN, not a finite number");
}

/// Runs only where device memory can be watched: on the software device.
#[test]
fn no_more_device_memory_is_held_than_the_budget() {
    let gpu = gpu();
    if !gpu.is_software() {
        println!("skipped: memory is counted on the software device");
        return;
    }
    let cloud = Cloud::uniform(20_000, AREA, 53, |_, _| 0.0);
    let points = Points::new(&cloud.x, &cloud.y);
    let budget = 1_600_000;
    let most = std::cell::Cell::new(0);
    struct Watch<'a>(&'a std::cell::Cell<i64>);
    impl gpu_core::Progress for Watch<'_> {
        fn report(&self, _: &'static str, _: f64) -> std::ops::ControlFlow<()> {
            self.0.set(self.0.get().max(software_gpu::bytes_of_thread()));
            std::ops::ControlFlow::Continue(())
        }
    }
    let before = software_gpu::bytes_of_thread();
    build_within(Device::Gpu(gpu).with_progress(&Watch(&most)), points, &Params::new(), budget)
        .unwrap();
    let held = most.get() - before;
    assert!(held > 200_000 && held <= budget as i64, "{held} bytes");
}
