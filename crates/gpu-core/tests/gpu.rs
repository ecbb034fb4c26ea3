//! The GPU handle, on the process's GPU: the software device, or the card if `TESSERA_DEVICE` says
//! so.
#![cfg(feature = "cuda")]

mod common;

use common::{choice, enqueue, expected, gpu, run};
use gpu_core::{Device, DeviceChoice, DeviceGrid, Error, Gpu, GridSpec, SliceMut};

#[test]
fn a_launch_computes() {
    let gpu = gpu();
    for n in [0, 1, 31, 32, 33, 255, 256, 257, 10_000] {
        let host: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
        assert_eq!(run(&gpu, &host, 3.0), expected(&host, 3.0), "{n} elements");
    }
}

#[test]
fn copies_round_trip() {
    let gpu = gpu();
    for n in [0usize, 1, 1000, 100_003] {
        let bytes: Vec<u8> = (0..n).map(|i| (i * 7) as u8).collect();
        assert_eq!(gpu.upload(&bytes).unwrap().to_host().unwrap(), bytes);
        let doubles: Vec<f64> = (0..n).map(|i| i as f64 / 3.0).collect();
        assert_eq!(gpu.enqueue_upload(&doubles).unwrap().to_host().unwrap(), doubles);
        assert_eq!(gpu.zeroed::<i64>(n).unwrap().to_host().unwrap(), vec![0; n]);
        let filled = gpu.filled_with_byte::<u32>(0x7f, n).unwrap();
        assert_eq!(filled.to_host().unwrap(), vec![0x7f7f_7f7f; n]);
    }
}

#[test]
fn a_raster_has_the_length_of_its_sides() {
    let gpu = gpu();
    let grid = DeviceGrid::from_column(
        gpu.upload(&[1i32, 2, 3, 4, 5, 6]).unwrap(),
        GridSpec::of_pixels(3, 2),
    )
    .unwrap();
    assert_eq!((grid.width(), grid.height()), (3, 2));
    let error = DeviceGrid::from_column(grid.into_column(), GridSpec::of_pixels(4, 2)).unwrap_err();
    assert_eq!(error, Error::Length { what: "raster", expected: 8, found: 6 });
}

#[test]
fn out_of_memory_is_an_error_and_the_handle_goes_on() {
    let gpu = gpu();
    // SAFETY: nothing is read.
    let refused = unsafe { gpu.uninitialized::<u64>(1 << 50) };
    match refused {
        Err(Error::OutOfMemory { asked, total, .. }) => {
            assert_eq!(asked, 8 << 50);
            assert_eq!(total, gpu.total_memory());
        }
        other => panic!("expected an out-of-memory error, got {other:?}"),
    }
    assert_eq!(run(&gpu, &[1.0, 2.0], 2.0), [2.0, 5.0]);
}

#[test]
fn handles_of_several_threads_do_not_disturb_one_another() {
    std::thread::scope(|scope| {
        for worker in 0..8u32 {
            scope.spawn(move || {
                let own = if worker % 2 == 0 { gpu() } else { gpu().fork().unwrap() };
                for round in 0..10 {
                    let n = 500 + 131 * worker + 17 * round;
                    let host: Vec<f32> = (0..n).map(|i| (i + worker) as f32).collect();
                    let a = (worker + round) as f32;
                    assert_eq!(run(&own, &host, a), expected(&host, a));
                }
            });
        }
    });
}

#[test]
fn one_stream_can_wait_for_another() {
    let (producer, consumer) = (gpu(), gpu());
    let mut x = producer.upload(&vec![1.0f32; 4096]).unwrap();
    let start = x.as_mut_ptr();
    // SAFETY: the column has 4096 elements, and the second launch waits for the first.
    let all = || unsafe { SliceMut::from_raw_parts(start, 4096) };
    enqueue(&producer, all(), 2.0).unwrap();
    consumer.wait_for(&producer).unwrap();
    enqueue(&consumer, all(), 1.0).unwrap();
    consumer.synchronize().unwrap();
    let result = x.to_host().unwrap();
    assert!(result.iter().enumerate().all(|(i, &v)| v == 2.0 + 2.0 * i as f32));
}

#[test]
fn the_first_elements_come_to_the_host_without_the_others() {
    let gpu = gpu();
    let column = gpu.upload(&[1u32, 2, 3, 4, 5]).unwrap();
    for count in 0..=5 {
        assert_eq!(column.first_to_host(count).unwrap(), (1..=count as u32).collect::<Vec<_>>());
    }
    assert!(matches!(column.first_to_host(6), Err(Error::OutOfBounds { end: 6, len: 5, .. })));
}

#[test]
fn time_is_measured_around_the_work() {
    let gpu = gpu();
    let (result, time) = gpu.time(|| Ok::<_, Error>(run(&gpu, &[1.0], 1.0))).unwrap();
    assert_eq!(result, [1.0]);
    assert!(time.as_secs() < 60);
}

#[test]
fn the_device_is_described() {
    let device = Device::open(choice()).unwrap();
    let gpu = gpu();
    assert!(device.name().starts_with(gpu.name()), "{}", device.name());
    assert!(gpu.total_memory() >= gpu.free_memory().unwrap());
    assert!(gpu.multiprocessors() > 0);
    assert_eq!(gpu.is_software(), choice() == DeviceChoice::Software);
}

#[test]
fn the_other_driver_is_refused_in_words() {
    let _first = gpu();
    let other = match choice() {
        DeviceChoice::Software => DeviceChoice::Cuda(0),
        _ => DeviceChoice::Software,
    };
    let error = Gpu::open(other).unwrap_err();
    assert!(matches!(error, Error::OtherDriver { .. }), "{error}");
    assert!(matches!(Device::open(DeviceChoice::Cpu), Ok(Device::Cpu)));
}

#[test]
fn devices_beyond_the_last_are_named() {
    if choice() != DeviceChoice::Software {
        let error = Gpu::open(DeviceChoice::Cuda(4711)).unwrap_err();
        assert!(matches!(error, Error::NoDevice { ordinal: 4711, .. }), "{error}");
    }
}

#[test]
fn page_locked_memory_is_copied_in_parts() {
    let gpu = gpu();
    for n in [0usize, 1, 1000, 100_003] {
        let mut host = gpu.page_locked::<u32>(n).unwrap();
        assert!(host.iter().all(|&v| v == 0) && host.len() == n);
        host.iter_mut().enumerate().for_each(|(i, v)| *v = i as u32);
        let copies = gpu.fork().unwrap();
        let mut column = gpu.zeroed::<u32>(n).unwrap();
        let mut back = gpu.page_locked::<u32>(n).unwrap();
        copies.wait_for(&gpu).unwrap();
        let middle = n / 3;
        for part in [middle..n, 0..middle] {
            let to = column.slice_mut(part.clone()).unwrap();
            // SAFETY: `host` lives until the streams are synchronised below.
            unsafe { copies.enqueue_write(to, &host[part]).unwrap() };
        }
        gpu.wait_for(&copies).unwrap();
        for part in [0..middle, middle..n] {
            let from = column.slice(part.clone()).unwrap();
            // SAFETY: as above, and nobody touches `back` before.
            unsafe { gpu.enqueue_read(from, &mut back[part]).unwrap() };
        }
        gpu.synchronize().unwrap();
        assert_eq!(back[..], host[..]);
    }
    let mut column = gpu.zeroed::<u8>(4).unwrap();
    // SAFETY: nothing is copied.
    let error = unsafe { gpu.enqueue_write((&mut column).into(), &[1, 2, 3]) }.unwrap_err();
    assert_eq!(error, Error::Length { what: "host array", expected: 4, found: 3 });
}
