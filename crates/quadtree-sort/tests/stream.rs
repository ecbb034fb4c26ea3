//! Trees built with little device memory: the same ones.
#![cfg(feature = "cuda")]

use gpu_core::{Bounds, Device, Points};
use quadtree_sort::{Error, Outside, Params, build, build_within};
use testing::{Cloud, gpu};

const AREA: [f64; 4] = [-30.0, 40.0, 170.0, 110.0];

#[test]
fn a_build_in_chunks_gives_the_same_tree() {
    let device = Device::Gpu(gpu());
    let bounds = Bounds { min_x: 0.0, min_y: 50.0, max_x: 100.0, max_y: 80.0 };
    let clouds = [
        Cloud::default(),
        Cloud::of([(3.0, 4.0, 0.0)]),
        Cloud::of([(3.0, 60.0, 0.0); 3000]),
        Cloud::uniform(6000, AREA, 51, |_, _| 0.0),
        Cloud::clustered(6000, 4, 1e-3, AREA, 52, |_, _| 0.0),
        Cloud::lattice(70, |_, _| 0.0),
    ];
    for cloud in &clouds {
        let points = Points::new(&cloud.x, &cloud.y);
        for params in [
            Params::new(),
            Params::new().threshold(100).max_level(5),
            Params::new().max_level(0),
            Params::new().bounds(bounds).outside(Outside::Skip),
        ] {
            let wanted = build(&Device::Cpu, points, &params, &()).unwrap();
            // Chunks of 1024 points, of some more, and all at once.
            for budget in [1_300_000, 1_700_000, 1 << 30] {
                for device in [&device, &Device::Cpu] {
                    let tree = build_within(device, points, &params, budget, &()).unwrap();
                    assert_eq!(tree, wanted, "{} points, {params:?}, {budget}", cloud.len());
                }
            }
        }
    }
}

#[test]
fn a_budget_too_small_for_anything_is_refused() {
    let device = Device::Gpu(gpu());
    let points = Points::new(&[1.0], &[2.0]);
    let error = build_within(&device, points, &Params::new(), 1000, &()).unwrap_err();
    let Error::Budget { bytes: 1000, least } = error else { panic!("{error}") };
    assert!(build_within(&device, points, &Params::new(), least - 1, &()).is_err());
    assert!(build_within(&device, points, &Params::new(), least, &()).is_ok());
    let nan = Points::new(&[1.0, f64::NAN], &[2.0, 3.0]);
    let error = build_within(&device, nan, &Params::new(), least, &()).unwrap_err().to_string();
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
    build_within(&Device::Gpu(gpu), points, &Params::new(), budget, &Watch(&most)).unwrap();
    let held = most.get() - before;
    assert!(held > 200_000 && held <= budget as i64, "{held} bytes");
}
