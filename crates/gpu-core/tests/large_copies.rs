//! Copies of pageable memory that are large enough to be cut into pieces.
#![cfg(feature = "cuda")]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::gpu;
use gpu_core::{Copying, Error, Gpu};
use software_gpu::{Operation, bytes_of_thread, fail};

/// The threads of one test take pieces of another's copies, which the failures planned for a thread must not meet.
fn alone() -> MutexGuard<'static, ()> {
    static TESTS: Mutex<()> = Mutex::new(());
    TESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

const MIB: usize = 1 << 20;

/// Bytes that tell their places apart across pieces.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i ^ (i >> 8) ^ ((i >> 16) * 31)) as u8).collect()
}

#[test]
fn large_arrays_come_back_as_they_went_whatever_their_length() {
    let _alone = alone();
    let gpu = gpu();
    for len in [4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 6 * MIB - 1, 6 * MIB, 71 * MIB + 12_345] {
        let bytes = pattern(len);
        let column = gpu.upload(&bytes).unwrap();
        assert!(column.to_host().unwrap() == bytes, "{len} bytes");
        let mut read = vec![0; len - 3];
        // SAFETY: the copies below are waited for before the array is touched.
        unsafe { gpu.enqueue_read(column.slice(3..len).unwrap(), &mut read).unwrap() };
        gpu.synchronize().unwrap();
        assert!(read == bytes[3..], "{len} bytes but three");
    }
}

#[test]
fn a_large_copy_takes_its_turn_on_the_stream() {
    let _alone = alone();
    let gpu = gpu();
    let bytes = pattern(5 * MIB);
    let mut column = gpu.upload(&bytes).unwrap();
    for round in 0..5u8 {
        let other: Vec<u8> = bytes.iter().map(|b| b.wrapping_add(round)).collect();
        // SAFETY: the column is this stream's alone, and has as many elements; nobody changes `other`.
        unsafe {
            gpu.fill_with_byte(column.as_mut_ptr(), 0xee, column.len()).unwrap();
            gpu.enqueue_write((&mut column).into(), &other).unwrap();
        }
        assert!(column.to_host().unwrap() == other, "round {round}");
    }
}

#[test]
fn threads_with_handles_of_their_own_share_the_slots() {
    let _alone = alone();
    let gpu = gpu();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let gpu = gpu.fork().unwrap();
            scope.spawn(move || {
                let bytes: Vec<u8> = pattern(9 * MIB + thread).into_iter().rev().collect();
                for _ in 0..4 {
                    assert!(gpu.upload(&bytes).unwrap().to_host().unwrap() == bytes);
                }
            });
        }
    });
}

#[test]
fn page_locked_memory_is_copied_as_it_is() {
    let _alone = alone();
    let gpu = gpu();
    let mut locked = gpu.page_locked::<u8>(5 * MIB).unwrap();
    locked.copy_from_slice(&pattern(5 * MIB));
    let column = gpu.upload(&locked).unwrap();
    locked.fill(0);
    // SAFETY: waited for before the memory is touched.
    unsafe { gpu.enqueue_read((&column).into(), &mut locked).unwrap() };
    gpu.synchronize().unwrap();
    assert!(locked[..] == pattern(5 * MIB));
}

/// Copies to the device and back with the copy after `successes` failing, on this thread alone.
fn round_trip(gpu: &Gpu, bytes: &[u8], successes: u64) -> (Result<Vec<u8>, Error>, bool) {
    let failure = fail(Operation::Copy, successes);
    let result = gpu.upload(bytes).and_then(|column| column.to_host());
    (result, failure.happened())
}

#[test]
fn a_piece_that_cannot_be_copied_is_an_error_and_the_next_copy_is_right() {
    let _alone = alone();
    let gpu = gpu();
    if !gpu.is_software() {
        return;
    }
    // Failures are planned for a thread: a pool of this thread alone.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    pool.install(|| {
        let bytes = pattern(7 * MIB);
        let in_use = bytes_of_thread();
        for successes in 0.. {
            let (result, failed) = round_trip(&gpu, &bytes, successes);
            assert!(gpu.upload(&bytes).unwrap().to_host().unwrap() == bytes, "after {successes}");
            assert_eq!(bytes_of_thread(), in_use, "memory after {successes}");
            if !failed {
                assert!(result.unwrap() == bytes);
                assert_eq!(successes, 8, "four pieces each way");
                break;
            }
            assert!(matches!(result, Err(Error::Driver { .. })), "{result:?}");
        }
    });
}

#[test]
fn copies_begun_at_once_arrive_and_come_back() {
    let _alone = alone();
    let gpu = gpu();
    let copies = gpu.fork().unwrap();
    let host: Vec<Vec<u8>> = [9 * MIB, 4 * MIB, 1000, 0, 6 * MIB + 7].map(pattern).into();
    let mut locked = gpu.page_locked::<u8>(5 * MIB).unwrap();
    locked.copy_from_slice(&pattern(5 * MIB));
    let sources: Vec<&[u8]> = host.iter().map(|h| &h[..]).chain([&locked[..]]).collect();
    let mut columns: Vec<_> = sources.iter().map(|h| gpu.zeroed::<u8>(h.len()).unwrap()).collect();
    copies.wait_for(&gpu).unwrap();
    let begin = |(to, from): (&mut gpu_core::Column<u8>, &&[u8])| {
        // SAFETY: the arrays outlive the copies, which are waited for below.
        unsafe { copies.begin_write(to.into(), from).unwrap() }
    };
    let under_way: Vec<_> = columns.iter_mut().zip(&sources).map(begin).collect();
    for copy in &under_way {
        copy.order_before(&gpu).unwrap();
    }
    // Behind the copies on the other stream.
    let twins: Vec<_> = columns
        .iter()
        .map(|column| {
            let mut twin = gpu.zeroed::<u8>(column.len()).unwrap();
            twin.copy_from(column).unwrap();
            twin
        })
        .collect();
    let mut back: Vec<Vec<u8>> = sources.iter().map(|h| vec![0; h.len()]).collect();
    let begin = |(from, to): (&gpu_core::Column<u8>, &mut Vec<u8>)| {
        // SAFETY: as above.
        unsafe { copies.begin_read(&gpu, from.into(), to).unwrap() }
    };
    let under_way: Vec<_> = twins.iter().zip(&mut back).map(begin).collect();
    for copy in under_way {
        copy.wait().unwrap();
    }
    assert!(back.iter().zip(&sources).all(|(back, source)| back == source));
}

#[test]
fn a_begun_copy_that_fails_says_so_and_one_that_is_dropped_does_no_harm() {
    let _alone = alone();
    let gpu = gpu();
    if !gpu.is_software() {
        return;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    pool.install(|| {
        let (bytes, mut back) = (pattern(7 * MIB), vec![0; 7 * MIB]);
        let mut column = gpu.zeroed::<u8>(bytes.len()).unwrap();
        for dropped in [false, true] {
            let end = |copy: Copying| match dropped {
                true => {
                    drop(copy);
                    Ok(())
                }
                false => copy.wait(),
            };
            for successes in 0..9 {
                let failure = fail(Operation::Copy, successes);
                // SAFETY: the copies are waited for, or dropped, before the arrays or the column are touched.
                let copies = unsafe {
                    let write = gpu.begin_write((&mut column).into(), &bytes).unwrap();
                    let written = end(write);
                    let read = gpu.begin_read(&gpu, (&column).into(), &mut back).unwrap();
                    written.and(end(read))
                };
                let failed = failure.happened();
                assert_eq!(copies.is_err(), failed && !dropped, "after {successes}");
                assert_eq!(failed, !dropped && successes < 8, "after {successes}");
            }
            assert!(dropped || back == bytes);
            assert!(gpu.upload(&bytes).unwrap().to_host().unwrap() == bytes);
        }
    });
}
