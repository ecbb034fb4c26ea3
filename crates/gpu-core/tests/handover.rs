//! Columns handed from thread to thread. A test binary of its own, since it measures the free memory.
#![cfg(feature = "cuda")]

mod common;

use common::{enqueue, expected, gpu};
use gpu_core::{Column, Gpu};

/// `x[i] = 2 x[i] + i`, on the stream of `gpu`.
fn work(gpu: &Gpu, x: &mut Column<f32>) {
    enqueue(gpu, x, 2.0).unwrap();
}

#[test]
fn two_threads_hand_columns_to_one_another_and_back() {
    let rounds = if gpu().is_software() { 200 } else { 10_000 };
    let (to_second, from_first) = std::sync::mpsc::channel::<Column<f32>>();
    let (to_first, from_second) = std::sync::mpsc::channel::<Column<f32>>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let own = gpu();
            for x in from_first {
                let mut x = x.move_to(&own).unwrap();
                work(&own, &mut x);
                to_first.send(x).unwrap();
            }
        });
        let own = gpu();
        let (mut least_free, mut host) = (None, vec![1.0f32; 300]);
        for round in 0..rounds {
            // New input from time to time, so that the memory of others comes and goes too.
            let x = own.upload(&host).unwrap();
            to_second.send(x).unwrap();
            let x = from_second.recv().unwrap().move_to(&own).unwrap();
            host = expected(&host, 2.0).iter().map(|v| v % 1024.0).collect();
            let found: Vec<f32> = x.to_host().unwrap().iter().map(|v| v % 1024.0).collect();
            assert_eq!(found, host, "round {round}");
            // The first rounds fill the pool; from then on it is enough.
            if round >= rounds / 10 {
                let now = own.free_memory().unwrap();
                assert!(now >= *least_free.get_or_insert(now), "round {round}");
            }
        }
        drop(to_second);
    });
}
