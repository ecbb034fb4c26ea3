//! What waiting costs, printed: `cargo test -p software-gpu --test speed -- --ignored --nocapture`.

mod common;

use common::context;
use common::host::{DeviceBuffer, Stream};
use device_std::host::{Kernel, PtxModule};
use device_std::{kernel, thread, warp};
use std::time::{Duration, Instant};

static MODULE: PtxModule = PtxModule { name: "speed", images: &[] };

/// What a thread costs by itself, one wait included.
#[kernel(block = 256)]
pub unsafe fn nothing(values: *mut u32, _rounds: u32) {
    // SAFETY: an element for each thread; all come to the barrier.
    unsafe {
        thread::sync_threads();
        *values.add(thread::index_1d() as usize) = 1;
    }
}

/// Shuffles, one after the other.
#[kernel(block = 256)]
pub unsafe fn shuffles(values: *mut u32, rounds: u32) {
    // SAFETY: as above.
    unsafe {
        let mut value = thread::thread_idx_x();
        for round in 0..rounds {
            value = value.wrapping_add(warp::shuffle_down(warp::FULL, value, round % 32));
        }
        *values.add(thread::index_1d() as usize) = value;
    }
}

/// Ballots, one after the other.
#[kernel(block = 256)]
pub unsafe fn ballots(values: *mut u32, rounds: u32) {
    // SAFETY: as above.
    unsafe {
        let mut value = thread::thread_idx_x();
        for _ in 0..rounds {
            value = value.wrapping_add(warp::ballot(warp::FULL, value & 1 == 1));
        }
        *values.add(thread::index_1d() as usize) = value;
    }
}

/// Barriers, one after the other.
#[kernel(block = 256)]
pub unsafe fn barriers(values: *mut u32, rounds: u32) {
    // SAFETY: as above.
    unsafe {
        for _ in 0..rounds {
            thread::sync_threads();
        }
        *values.add(thread::index_1d() as usize) = 1;
    }
}

const BLOCKS: u32 = 256;
const ROUNDS: u32 = 40;

/// The fastest of five launches.
fn time<A>(kernel: Kernel<A>, stream: &Stream) -> Duration {
    let values = DeviceBuffer::<u32>::zeroed(BLOCKS as usize * 256).unwrap();
    let once = || {
        let start = Instant::now();
        launch!(kernel, stream, BLOCKS, 0, values.address(), ROUNDS).unwrap();
        start.elapsed()
    };
    (0..5).map(|_| once()).min().unwrap()
}

#[test]
#[ignore = "measures, and tests nothing"]
fn waits() {
    let _context = context();
    let stream = Stream::new();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = BLOCKS * 256;
    println!("{threads} threads on {cores} cores; ns are of one core");
    let each = |time: Duration, waits: u32| {
        time.as_secs_f64() * 1e9 * cores as f64 / f64::from(threads * waits)
    };
    let alone = time(nothing, &stream);
    println!("{:>10}: {:6.1} ns a thread", "one wait", each(alone, 1));
    let times = [
        ("shuffle", time(shuffles, &stream)),
        ("ballot", time(ballots, &stream)),
        ("barrier", time(barriers, &stream)),
    ];
    for (name, time) in times {
        println!("{name:>10}: {:6.1} ns a thread and wait", each(time, ROUNDS));
    }
}
