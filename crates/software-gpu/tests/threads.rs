//! Many host threads at once, each with a stream and memory of its own.

mod common;

use common::context;
use common::host::{DeviceBuffer, Stream};
use cuda_driver::Status;
use device_std::host::PtxModule;
use device_std::shared::Carver;
use device_std::{kernel, thread, warp};

static MODULE: PtxModule = PtxModule { name: "threads", images: &[] };

/// Inclusive sums of each block's values.
#[kernel(block = 128)]
pub unsafe fn running_sum(values: *mut u32) {
    // SAFETY: all threads come to every call; one writer before the barrier, readers after.
    unsafe {
        let value = values.add(thread::index_1d() as usize);
        let totals = Carver::new().array::<u32>(4);
        let sum = warp::inclusive_scan(*value, |a, b| a + b);
        if warp::lane_id() == 31 {
            totals.store(warp::warp_id(), sum);
        }
        thread::sync_threads();
        *value = sum + (0..warp::warp_id()).map(|w| totals.load(w)).sum::<u32>();
    }
}

/// Writes past its array, on purpose.
#[kernel(block = 32)]
pub unsafe fn beside(values: *mut u32, n: u32) {
    if thread::index_1d() == 0 {
        // SAFETY: none, on purpose.
        unsafe { values.add(n as usize).write(1) };
    }
}

/// 8 host threads; one of them runs a faulty kernel again and again, and only it hears of it.
#[test]
fn host_threads_do_not_disturb_one_another() {
    let _context = context();
    std::thread::scope(|scope| {
        for host in 0..8_u32 {
            scope.spawn(move || {
                let _context = context();
                let stream = Stream::new();
                for round in 0..20 {
                    if host == 0 { fault(&stream) } else { sums(&stream, host, round) }
                }
            });
        }
    });
}

fn fault(stream: &Stream) {
    let values = DeviceBuffer::<u32>::zeroed(10).unwrap();
    let code = launch!(beside, stream, 1, 0, values.address(), 10_u32);
    assert_eq!(code, Err(Status::CUDA_ERROR_ILLEGAL_ADDRESS));
}

fn sums(stream: &Stream, host: u32, round: u32) {
    let blocks = 1 + (host + round) % 9;
    let numbers: Vec<u32> = (0..blocks * 128).map(|i| i % 7 + host).collect();
    let values = DeviceBuffer::from_slice(&numbers).unwrap();
    launch!(running_sum, stream, blocks, 16, values.address()).unwrap();
    stream.synchronize().unwrap();
    let sums = |block: &[u32]| {
        block
            .iter()
            .scan(0, |sum, v| {
                *sum += v;
                Some(*sum)
            })
            .collect::<Vec<u32>>()
    };
    let expected: Vec<u32> = numbers.chunks(128).flat_map(sums).collect();
    assert_eq!(values.to_host().unwrap(), expected);
}

/// What a large launch costs, printed: `cargo test --release -p software-gpu --test threads
/// million -- --nocapture`.
#[test]
fn a_million_threads() {
    let _context = context();
    let stream = Stream::new();
    let numbers = vec![1_u32; 1 << 20];
    let values = DeviceBuffer::from_slice(&numbers).unwrap();
    for _ in 0..2 {
        let start = std::time::Instant::now();
        launch!(running_sum, &stream, 1 << 13, 16, values.address()).unwrap();
        println!("1,048,576 threads, 5 shuffles and a barrier each: {:?}", start.elapsed());
        stream.synchronize().unwrap();
    }
    let sums = values.to_host().unwrap();
    let twice = |i: usize| ((i % 128 + 1) * (i % 128 + 2) / 2) as u32;
    assert!(sums.iter().enumerate().all(|(i, sum)| *sum == twice(i)));
}
