//! Work that is captured once and launched again and again.
#![cfg(feature = "cuda")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{enqueue, expected, gpu, run};
use gpu_core::{Column, Error, Gpu};

/// The tests take turns, because one of them measures the free memory.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn numbers(n: u32, factor: f32) -> Vec<f32> {
    (0..n).map(|i| i as f32 * factor).collect()
}

/// The handle works, and does so at once.
fn assert_usable(gpu: &Gpu) {
    let host = numbers(1000, 0.25);
    assert_eq!(run(gpu, &host, 2.0), expected(&host, 2.0));
    assert_eq!(gpu.enqueue_upload(&host).unwrap().to_host().unwrap(), host);
}

#[test]
fn a_sequence_gives_the_right_result_for_every_input() {
    let (_turn, gpu) = (alone(), gpu());
    for n in [1, 33, 10_000] {
        let mut x = gpu.upload(&numbers(n, 1.0)).unwrap();
        let mut kept = None;
        let graph = gpu.capture(|| {
            enqueue(&gpu, &mut x, 2.0)?;
            let mut zeros = gpu.zeroed::<f32>(n as usize)?;
            enqueue(&gpu, &mut zeros, 5.0)?;
            let mut scratch = gpu.zeroed::<f32>(n as usize)?;
            scratch.copy_from(&x)?;
            enqueue(&gpu, &mut scratch, 0.5)?;
            x.copy_from(&scratch)?;
            kept = Some(zeros);
            Ok::<_, Error>(())
        });
        let (graph, kept) = (graph.unwrap(), kept.unwrap());
        assert_eq!(x.to_host().unwrap(), numbers(n, 1.0), "a capture does nothing by itself");

        for round in 0..3 {
            let host = numbers(n, 3.0 + round as f32);
            x.copy_from(&gpu.upload(&host).unwrap()).unwrap();
            // SAFETY: `x` is there, as long as it was.
            unsafe { graph.launch().unwrap() };
            assert_eq!(x.to_host().unwrap(), expected(&expected(&host, 2.0), 0.5));
            assert_eq!(kept.to_host().unwrap(), numbers(n, 1.0), "its zeros are made anew");
        }
        // SAFETY: as above; two launches in a row.
        unsafe {
            graph.launch().unwrap();
            graph.launch().unwrap();
        }
        drop((kept, graph));
        let host = numbers(n, 5.0);
        let once = |host: &[f32]| expected(&expected(host, 2.0), 0.5);
        assert_eq!(x.to_host().unwrap(), once(&once(&once(&host))));
    }
}

#[test]
fn an_empty_capture_is_an_empty_graph() {
    let (_turn, gpu) = (alone(), gpu());
    let graph = gpu.capture(|| Ok::<_, Error>(())).unwrap();
    // SAFETY: it uses nothing.
    unsafe { graph.launch().unwrap() };
    assert_usable(&gpu);
}

#[test]
fn an_error_inside_is_handed_on_and_nothing_was_done() {
    let (_turn, gpu) = (alone(), gpu());
    let host = numbers(100, 1.0);
    let mut x = gpu.upload(&host).unwrap();
    let own = Error::UnknownDevice { name: "on purpose".to_owned() };
    let failed = gpu.capture(|| {
        enqueue(&gpu, &mut x, 2.0)?;
        let _scratch = gpu.zeroed::<u64>(1000)?;
        Err(own.clone())
    });
    assert_eq!(failed.unwrap_err(), own);
    assert_eq!(x.to_host().unwrap(), host);
    assert_usable(&gpu);
}

#[test]
fn a_panic_inside_ends_the_capture() {
    let (_turn, gpu) = (alone(), gpu());
    let panics = || gpu.capture::<Error>(|| panic!("on purpose"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert_usable(&gpu);
}

#[test]
fn waiting_inside_is_an_error_in_words() {
    let (_turn, gpu) = (alone(), gpu());
    let host = numbers(100, 1.0);
    let mut x = gpu.upload(&host).unwrap();
    type Wait<'a> = &'a dyn Fn(&Column<f32>) -> Result<(), Error>;
    let waits: [(&str, Wait); 3] = [
        ("synchronize", &|_| gpu.synchronize()),
        ("to_host", &|x| x.to_host().map(drop)),
        ("upload", &|_| gpu.upload(&[1]).map(drop)),
    ];
    for (name, wait) in waits {
        let failed = gpu.capture(|| {
            enqueue(&gpu, &mut x, 2.0)?;
            wait(&x)
        });
        let error = failed.unwrap_err();
        assert!(matches!(&error, Error::Driver { .. }), "{name}: {error:?}");
        assert!(error.to_string().contains("capture"), "{name}: {error}");
        assert_eq!(x.to_host().unwrap(), host);
        assert_usable(&gpu);

        let passed_over = gpu.capture(|| {
            enqueue(&gpu, &mut x, 2.0)?;
            assert!(wait(&x).is_err(), "{name}");
            Ok::<_, Error>(())
        });
        assert!(matches!(passed_over, Err(Error::Driver { .. })), "{name}");
        assert_eq!(x.to_host().unwrap(), host);
    }
}

/// What was copied would be read from the host again at each launch, long after it is gone.
#[test]
fn a_table_from_the_host_is_refused() {
    let (_turn, gpu) = (alone(), gpu());
    let failed = gpu.capture(|| gpu.enqueue_upload(&[1, 2, 3]).map(drop));
    assert_eq!(failed.unwrap_err(), Error::Captured { what: "a copy from the host" });
    assert_usable(&gpu);
}

#[test]
fn a_capture_inside_a_capture_is_an_error() {
    let (_turn, gpu) = (alone(), gpu());
    let nested = gpu.capture(|| gpu.capture(|| Ok::<_, Error>(())).map(drop));
    assert!(matches!(nested, Err(Error::Captured { .. })), "{nested:?}");
    assert_usable(&gpu);
}

#[test]
fn the_launch_of_a_graph_is_refused_inside_a_capture() {
    let (_turn, gpu) = (alone(), gpu());
    let mut kept = None;
    let graph = gpu.capture(|| {
        kept = Some(gpu.zeroed::<u32>(8)?);
        Ok::<_, Error>(())
    });
    let (graph, kept) = (graph.unwrap(), kept.unwrap());
    // SAFETY: it uses its own memory only.
    let refused = gpu.capture(|| unsafe { graph.launch() });
    assert!(matches!(refused, Err(Error::Captured { .. })), "{refused:?}");
    assert_eq!(kept.to_host().unwrap_err(), Error::NotLaunched, "nothing made it");
}

/// Nothing of what one thread does with a handle gets into the graph that another one records on it, and the
/// graph has everything of its own thread's.
#[test]
fn other_threads_use_the_handle_while_a_graph_is_recorded() {
    let (_turn, gpu) = (alone(), gpu());
    let is_over = AtomicBool::new(false);
    let work = |made: &Mutex<Vec<Column<u8>>>| {
        while !is_over.load(Ordering::Relaxed) {
            assert_eq!(gpu.filled_with_byte::<u8>(7, 64).unwrap().to_host().unwrap(), [7; 64]);
            let uploaded = gpu.upload(&[9_u8; 100]).unwrap();
            let mut copied = gpu.zeroed(100).unwrap();
            copied.copy_from(&uploaded).unwrap();
            let other = gpu.fork().unwrap();
            drop(other.admit(&copied).unwrap());
            other.wait_for(&gpu).unwrap();
            assert_eq!(copied.to_host().unwrap(), [9; 100]);
            // Drops columns that the recording made: on the device they do not exist until the graph runs.
            made.lock().unwrap().clear();
        }
    };
    let record = || {
        let made = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| work(&made));
            for round in 0..300 {
                let mut kept = None;
                let graph = gpu.capture(|| {
                    let mut zeros = gpu.zeroed::<f32>(100)?;
                    enqueue(&gpu, &mut zeros, 5.0)?;
                    std::thread::yield_now();
                    made.lock().unwrap().push(gpu.filled_with_byte(round as u8, 64)?);
                    kept = Some(zeros);
                    Ok::<_, Error>(())
                });
                let (graph, kept) = (graph.unwrap(), kept.unwrap());
                assert_eq!(kept.to_host().unwrap_err(), Error::NotLaunched);
                made.lock().unwrap().clear();
                // SAFETY: it uses its own memory only.
                unsafe { graph.launch().unwrap() };
                assert_eq!(kept.to_host().unwrap(), numbers(100, 1.0));
            }
            is_over.store(true, Ordering::Relaxed);
        });
    };
    let two = std::thread::scope(|scope| {
        let first = scope.spawn(record);
        let second = scope.spawn(record);
        [first.join(), second.join()]
    });
    assert!(two.iter().all(Result::is_ok));
    gpu.synchronize().unwrap();
}

/// Its memory comes back at once, and the graph, which does not use it, is whole.
#[test]
fn a_column_from_before_can_be_dropped_inside_a_capture() {
    let (_turn, gpu) = (alone(), gpu());
    let before = gpu.free_memory().unwrap();
    let old = gpu.zeroed::<u8>(1 << 20).unwrap();
    let graph = gpu.capture(|| {
        drop(old);
        Ok::<_, Error>(())
    });
    // SAFETY: it uses nothing.
    unsafe { graph.unwrap().launch().unwrap() };
    gpu.synchronize().unwrap();
    assert!(!gpu.is_software() || gpu.free_memory().unwrap() == before);
}

#[test]
fn handles_capture_side_by_side() {
    let (_turn, first) = (alone(), gpu());
    let second = first.fork().unwrap();
    let mut x = first.upload(&[1.0; 64]).unwrap();
    let graph = first.capture(|| {
        enqueue(&first, &mut x, 2.0)?;
        assert_usable(&second);
        Ok::<_, Error>(())
    });
    // SAFETY: `x` is there.
    unsafe { graph.unwrap().launch().unwrap() };
    assert_eq!(x.to_host().unwrap(), expected(&[1.0; 64], 2.0));
}

/// On a card the driver keeps memory for what comes next, so there is nothing to count.
#[test]
fn what_a_graph_reserves_comes_back_with_its_end() {
    let (_turn, gpu) = (alone(), gpu());
    let before = gpu.free_memory().unwrap();
    let mut kept = None;
    let graph = gpu.capture(|| {
        drop(gpu.zeroed::<u8>(1 << 20)?);
        kept = Some(gpu.zeroed::<u8>(1 << 16)?);
        Ok::<_, Error>(())
    });
    let graph = graph.unwrap();
    // SAFETY: it uses its own memory only.
    unsafe { graph.launch().unwrap() };
    assert_eq!(kept.as_ref().unwrap().to_host().unwrap(), vec![0; 1 << 16]);
    let free = |expected: u64| {
        assert!(!gpu.is_software() || gpu.free_memory().unwrap() == expected);
    };
    free(before - (1 << 20) - (1 << 16));
    drop(graph);
    free(before - (1 << 16));
    drop(kept);
    free(before);
    assert_usable(&gpu);
}
