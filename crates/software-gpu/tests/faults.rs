//! Kernels and launches that are wrong on purpose, each beside its corrected twin. The right check finds the wrong one,
//! and the right one is clean, in several orders of execution.

mod common;

use common::host::{DeviceBuffer, Stream};
use common::{SEEDS, alone, context, only_report};
use cuda_driver::Status;
use device_std::host::PtxModule;
use device_std::shared::{Carver, SharedArray};
use device_std::slice::Wire;
use device_std::tile::Tile;
use device_std::{In, Out, arguments, global, kernel, thread, warp};
use software_gpu::{Kind, Report};

static MODULE: PtxModule = PtxModule { name: "faults", images: &[] };

fn array() -> SharedArray<u32> {
    Carver::new().array(128)
}

/// Reverses a block's values through shared memory; wrong without the barrier.
#[kernel(block = 128)]
pub unsafe fn reverse(values: *mut u32, with_barrier: u32) {
    let i = thread::thread_idx_x();
    // SAFETY: inside the arrays; with the barrier, one writer before it and readers after.
    unsafe {
        let value = values.add(thread::index_1d() as usize);
        array().store(i, 0);
        thread::sync_threads();
        array().store(i, *value);
        if with_barrier != 0 {
            thread::sync_threads();
        }
        *value = array().load(127 - i);
    }
}

/// The same in each warp; wrong without the warp's barrier.
#[kernel(block = 128)]
pub unsafe fn warp_reverse(values: *mut u32, with_sync: u32) {
    let i = thread::thread_idx_x();
    // SAFETY: as above.
    unsafe {
        let value = values.add(thread::index_1d() as usize);
        array().store(i, 0);
        thread::sync_threads();
        array().store(i, *value);
        if with_sync != 0 {
            warp::sync_warp(warp::FULL);
        }
        *value = array().load(i / 32 * 32 + 31 - i % 32);
    }
}

/// Writes one element of an array, wherever that is.
#[kernel(block = 32)]
pub unsafe fn write_at(values: *mut u32, index: i64) {
    if thread::index_1d() == 7 {
        // SAFETY: none, on purpose: the test wants the write.
        unsafe { values.offset(index as isize).write(1) };
    }
}

/// What [`shift`] copies, and where.
#[arguments]
pub struct Shifted<'a> {
    input: In<'a, u32>,
    copy: Out<'a, u32>,
    more: Option<In<'a, u32>>,
}

/// Thread 7 copies the element at `from` to `to`, and adds the first of `more` if there are some.
#[kernel(block = 32)]
pub unsafe fn shift(shifted: Shifted<'_>, from: i64, to: u32) {
    let Shifted { input, copy, more } = shifted;
    if thread::index_1d() == 7 {
        copy.set(to, input.get(from) + more.map_or(0, |more| more.get(0)));
    }
}

/// Reads 16 bytes from an element of a part that begins at the fourth.
#[kernel(block = 32)]
pub unsafe fn sum_four(input: In<'_, u32>, sum: Out<'_, u32>, at: i32) {
    if thread::index_1d() == 31 {
        let four = input.from(4).get_vector(at);
        sum.fetch_add(0, four.iter().sum());
    }
}

/// Copies a tile of an array of `len` elements.
#[kernel(block = 32)]
pub unsafe fn copy_tile(input: In<'_, u32>, copy: Out<'_, u32>, len: u64) {
    let tile = Tile::<u32, 1>::new::<32>(0, len, false);
    let [row] = tile.load(input, 0);
    tile.store(copy, 0, row);
}

/// Writes at an address that is computed as a number, `bytes` from the first element's.
#[kernel(block = 32)]
pub unsafe fn write_held(copy: Out<'_, u32>, bytes: i64) {
    if thread::index_1d() == 3 {
        let address = (copy.start() as u64).wrapping_add_signed(bytes);
        // SAFETY: whether it is an element's, the test wants to know.
        unsafe { global::store(copy.held(address), 1_u32) };
    }
}

/// Writes through an address that it finds in memory.
#[kernel(block = 32)]
pub unsafe fn write_through(addresses: *const u64) {
    if thread::index_1d() == 0 {
        // SAFETY: none, on purpose: the test may have freed the memory.
        unsafe { (*addresses as *mut u32).write(1) };
    }
}

/// Touches one element of shared memory.
#[kernel(block = 128)]
pub unsafe fn shared_at(index: u32) {
    if thread::thread_idx_x() == 5 {
        // SAFETY: none, on purpose.
        unsafe { array().store(index, 1) };
    }
}

/// Sums the first `read` elements after `written` threads have each written theirs.
#[kernel(block = 128)]
pub unsafe fn sum_written(sum: *mut u32, written: u32, read: u32) {
    let i = thread::thread_idx_x();
    // SAFETY: inside the array; `read` may be more than was written, on purpose.
    unsafe {
        if i < written {
            array().store(i, i);
        }
        thread::sync_threads();
        if i == 0 && !sum.is_null() {
            *sum = (0..read).map(|k| array().load(k)).sum();
        }
    }
}

/// Threads from `n` on end without the barrier.
#[kernel(block = 128)]
pub unsafe fn early_end(n: u32) {
    if thread::thread_idx_x() < n {
        // SAFETY: none for `n` below 128, on purpose.
        unsafe { thread::sync_threads() };
    }
}

/// Threads from `n` on wait in a warp operation instead of the barrier.
#[kernel(block = 64)]
pub unsafe fn half_barrier(n: u32) {
    // SAFETY: none unless `n` is 64 or 0, on purpose.
    unsafe {
        if thread::thread_idx_x() < n {
            thread::sync_threads();
        } else {
            warp::sync_warp(warp::FULL);
        }
    }
}

/// Lane 3 of the first warp does `wrong`: 1 another operation, 2 another mask, 3 ends instead,
/// 4 names a mask in which it is not.
#[kernel(block = 64)]
pub unsafe fn vote(result: *mut u32, wrong: u32) {
    let i = thread::thread_idx_x();
    let wrong = if i == 3 { wrong } else { 0 };
    // SAFETY: none unless `wrong` is 0, on purpose.
    unsafe {
        let votes = match wrong {
            0 => warp::ballot(warp::FULL, i.is_multiple_of(2)),
            1 => warp::shuffle(warp::FULL, i, 0),
            2 => warp::ballot(0xff, true),
            3 => return,
            _ => warp::ballot(!8, true),
        };
        *result.add(i as usize) = votes;
    }
}

/// Panics in one thread.
#[kernel(block = 64)]
pub unsafe fn panics(index: u32, len: u32) {
    if thread::index_1d() == 70 {
        assert!(index < len, "index {index} of {len}");
    }
}

fn stream() -> Stream {
    Stream::new()
}

/// In each order: `wrong` fails with `error` and one report of `kind`, `right` with nothing.
fn find(
    error: Status,
    kind: Kind,
    wrong: impl Fn(&Stream) -> Result<(), Status>,
    right: impl Fn(&Stream) -> Result<(), Status>,
) -> Vec<Report> {
    let _turn = alone();
    let _context = context();
    let stream = stream();
    let _ = software_gpu::take_reports();
    SEEDS
        .into_iter()
        .map(|seed| {
            software_gpu::set_seed(seed);
            assert_eq!(wrong(&stream), Err(error));
            let report = only_report();
            assert_eq!(report.kind, kind, "{report}");
            assert_eq!(report.seed, seed);
            // Not sticky, and mended: the next work on the same stream is clean.
            right(&stream).unwrap();
            stream.synchronize().unwrap();
            assert_eq!(software_gpu::take_reports().len(), 0);
            report
        })
        .collect()
}

fn reversed<A>(
    kernel: device_std::host::Kernel<A>,
    stream: &Stream,
    ordered: u32,
    span: usize,
) -> Result<(), Status> {
    let numbers: Vec<u32> = (0..1280).collect();
    let values = DeviceBuffer::from_slice(&numbers)?;
    launch!(kernel, stream, 10, 512, values.address(), ordered)?;
    let expected: Vec<u32> = numbers.chunks(span).flat_map(|c| c.iter().rev().copied()).collect();
    assert_eq!(values.to_host()?, expected);
    Ok(())
}

#[test]
fn a_missing_barrier_is_a_race() {
    let reports = find(
        Status::CUDA_ERROR_LAUNCH_FAILED,
        Kind::SharedRace,
        |stream| reversed(reverse, stream, 0, 128),
        |stream| reversed(reverse, stream, 1, 128),
    );
    for report in reports {
        assert_eq!(report.kernel.as_deref(), Some("reverse"));
        assert!(report.thread.is_some() && report.message.contains("by thread"), "{report}");
    }
}

#[test]
fn a_missing_warp_barrier_is_a_race() {
    find(
        Status::CUDA_ERROR_LAUNCH_FAILED,
        Kind::SharedRace,
        |stream| reversed(warp_reverse, stream, 0, 32),
        |stream| reversed(warp_reverse, stream, 1, 32),
    );
}

fn written_at(stream: &Stream, index: i64) -> Result<(), Status> {
    let values = DeviceBuffer::<u32>::zeroed(100)?;
    launch!(write_at, stream, 1, 0, values.address(), index)
}

#[test]
fn a_write_past_the_end_hits_the_red_zone() {
    let wrong = |stream: &Stream| written_at(stream, 100);
    let found = find(Status::CUDA_ERROR_ILLEGAL_ADDRESS, Kind::RedZone, wrong, |stream| {
        written_at(stream, 99)
    });
    assert!(found[0].message.contains("0 bytes past the end"), "{}", found[0]);
    assert_eq!(found[0].kernel.as_deref(), Some("write_at"));
}

#[test]
fn a_write_before_the_start_hits_the_red_zone() {
    let wrong = |stream: &Stream| written_at(stream, -1);
    let found = find(Status::CUDA_ERROR_ILLEGAL_ADDRESS, Kind::RedZone, wrong, |stream| {
        written_at(stream, 0)
    });
    assert!(found[0].message.contains("bytes before the start"), "{}", found[0]);
}

/// A slice of this many elements as a launch takes it.
fn wire<P>(buffer: &DeviceBuffer<u32>, len: usize) -> Wire<*const P> {
    Wire { start: buffer.address() as *const P, len }
}

fn shifted(stream: &Stream, from: i64, to: u32) -> Result<(), Status> {
    let (input, copy) = (DeviceBuffer::from_slice(&[5_u32; 10])?, DeviceBuffer::<u32>::zeroed(10)?);
    let none = Wire { start: std::ptr::null::<u32>(), len: 0 };
    // The slices are parts of their memory: what lies behind them is there, and is none of theirs.
    let (input, copy) = (wire::<u32>(&input, 8), wire::<u32>(&copy, 6));
    launch!(shift, stream, 2, 0, input, copy, none, from, to)
}

/// The wrong launch, with what the report must say of it.
fn find_outside(found: &[Report], kernel: &str, thread: u32, message: &str) {
    for report in found {
        assert_eq!(report.kernel.as_deref(), Some(kernel));
        assert_eq!((report.block, report.thread), (Some([0; 3]), Some(thread)));
        assert_eq!(report.message, message);
    }
}

#[test]
fn a_read_outside_its_slice_names_kernel_thread_slice_and_index() {
    for (from, right) in [(8, 7), (-1, 0), (1 << 40, 3)] {
        let (error, kind) = (Status::CUDA_ERROR_ILLEGAL_ADDRESS, Kind::SliceBounds);
        let found = find(error, kind, |s| shifted(s, from, 0), |s| shifted(s, right, 0));
        let message = format!("read at index {from} of `input`, which has 8 elements");
        find_outside(&found, "shift", 7, &message);
    }
}

#[test]
fn a_write_outside_its_slice_names_kernel_thread_slice_and_index() {
    let (error, kind) = (Status::CUDA_ERROR_ILLEGAL_ADDRESS, Kind::SliceBounds);
    let found = find(error, kind, |s| shifted(s, 0, 6), |s| shifted(s, 0, 5));
    find_outside(&found, "shift", 7, "write at index 6 of `copy`, which has 6 elements");
}

#[test]
fn sixteen_bytes_of_a_part_lie_inside_the_whole_slice() {
    let summed = |stream: &Stream, at: i32| {
        let (input, sum) =
            (DeviceBuffer::from_slice(&[1_u32; 16])?, DeviceBuffer::<u32>::zeroed(1)?);
        let (input, sum) = (wire::<u32>(&input, 12), wire::<u32>(&sum, 1));
        launch!(sum_four, stream, 1, 0, input, sum, at)
    };
    for (at, right, message) in [
        (5, 4, "read at indices 9 to 12 of `input`, which has 12 elements"),
        (-8, -4, "read at indices -4 to -1 of `input`, which has 12 elements"),
    ] {
        let (error, kind) = (Status::CUDA_ERROR_ILLEGAL_ADDRESS, Kind::SliceBounds);
        let found = find(error, kind, |s| summed(s, at), |s| summed(s, right));
        find_outside(&found, "sum_four", 31, message);
    }
}

#[test]
fn tiles_stay_in_their_slices() {
    let copied = |stream: &Stream, to: usize, len: u64| {
        let (input, copy) =
            (DeviceBuffer::from_slice(&[1_u32; 200])?, DeviceBuffer::<u32>::zeroed(200)?);
        let (input, copy) = (wire::<u32>(&input, 131), wire::<u32>(&copy, to));
        launch!(copy_tile, stream, 1, 0, input, copy, len)
    };
    let (error, kind) = (Status::CUDA_ERROR_ILLEGAL_ADDRESS, Kind::SliceBounds);
    // By vectors, and element by element where the tile reaches beyond the array.
    for (to, len, right, thread, message) in [
        (124, 131, 124, 31, "write at indices 124 to 127 of `copy`, which has 124 elements"),
        (8, 10, 8, 2, "write at index 8 of `copy`, which has 8 elements"),
    ] {
        let found = find(error, kind, |s| copied(s, to, len), |s| copied(s, to, right));
        find_outside(&found, "copy_tile", thread, message);
    }
}

#[test]
fn an_address_that_was_computed_is_held_against_its_slice() {
    let written = |stream: &Stream, bytes: i64| {
        let copy = DeviceBuffer::<u32>::zeroed(10)?;
        launch!(write_held, stream, 1, 0, wire::<u32>(&copy, 6), bytes)
    };
    let (error, kind) = (Status::CUDA_ERROR_ILLEGAL_ADDRESS, Kind::SliceBounds);
    for (bytes, index, right) in [(24, 6, 20), (-4, -1, 0)] {
        let found = find(error, kind, |s| written(s, bytes), |s| written(s, right));
        let message = format!("write at index {index} of `copy`, which has 6 elements");
        find_outside(&found, "write_held", 3, &message);
    }
}

#[test]
fn a_slice_longer_than_its_memory_is_refused() {
    let launched = |stream: &Stream, len: usize| {
        let input = DeviceBuffer::from_slice(&[1_u32; 16])?;
        let sum = DeviceBuffer::<u32>::zeroed(1)?;
        launch!(sum_four, stream, 1, 0, wire::<u32>(&input, len), wire::<u32>(&sum, 1), 0_i32)
    };
    let (error, kind) = (Status::CUDA_ERROR_INVALID_VALUE, Kind::Launch);
    find(error, kind, |s| launched(s, 17), |s| launched(s, 16));
}

#[test]
fn a_write_beside_memory_the_launch_was_not_given_is_found_at_the_next_wait() {
    let write = |stream: &Stream, past: u64| {
        let victim = DeviceBuffer::<u32>::zeroed(8)?;
        let address = victim.address() + past;
        let addresses = DeviceBuffer::from_slice(&[address])?;
        launch!(write_through, stream, 1, 0, addresses.address())?;
        stream.synchronize()
    };
    find(Status::CUDA_ERROR_ILLEGAL_ADDRESS, Kind::RedZone, |s| write(s, 32), |s| write(s, 28));
}

#[test]
fn a_write_to_freed_memory_is_found_at_the_next_wait() {
    let write = |stream: &Stream, free: bool| {
        let mut victim = Some(DeviceBuffer::<u32>::zeroed(1000)?);
        let address = victim.as_ref().unwrap().address() + 400;
        let addresses = DeviceBuffer::from_slice(&[address])?;
        if free {
            victim = None;
        }
        launch!(write_through, stream, 1, 0, addresses.address())?;
        drop(victim);
        stream.synchronize()
    };
    let found = find(
        Status::CUDA_ERROR_ILLEGAL_ADDRESS,
        Kind::UseAfterFree,
        |stream| write(stream, true),
        |stream| write(stream, false),
    );
    assert!(found[0].message.contains("at byte 400"), "{}", found[0]);
}

#[test]
fn a_launch_with_a_freed_pointer_is_refused() {
    let launched = |stream: &Stream, free: bool| {
        let values = DeviceBuffer::<u32>::zeroed(100)?;
        let pointer = values.address();
        if free {
            drop(values);
            return launch!(write_at, stream, 1, 0, pointer, 0_i64);
        }
        launch!(write_at, stream, 1, 0, pointer, 0_i64)
    };
    find(
        Status::CUDA_ERROR_INVALID_VALUE,
        Kind::Launch,
        |s| launched(s, true),
        |s| launched(s, false),
    );
}

#[test]
fn a_launch_may_be_given_a_null_pointer() {
    let _turn = alone();
    let _context = context();
    launch!(sum_written, &stream(), 1, 512, 0_u64, 128_u32, 0_u32).unwrap();
}

#[test]
fn an_access_beyond_shared_memory_is_found() {
    let found = find(
        Status::CUDA_ERROR_ILLEGAL_ADDRESS,
        Kind::SharedBounds,
        |stream| launch!(shared_at, stream, 3, 512, 128_u32),
        |stream| launch!(shared_at, stream, 3, 512, 127_u32),
    );
    assert_eq!(found[0].thread, Some(5));
    assert!(found[0].message.contains("offset 512 of 512 bytes"), "{}", found[0]);
}

#[test]
fn a_read_of_unwritten_shared_memory_is_found() {
    let sum = |stream: &Stream, read: u32| {
        let sum = DeviceBuffer::<u32>::zeroed(1)?;
        launch!(sum_written, stream, 1, 512, sum.address(), 100_u32, read)?;
        assert_eq!(sum.to_host()?, [(0..read).sum::<u32>()]);
        Ok(())
    };
    let found = find(
        Status::CUDA_ERROR_LAUNCH_FAILED,
        Kind::SharedUninitialised,
        |s| sum(s, 101),
        |s| sum(s, 100),
    );
    assert!(found[0].message.contains("offset 400 "), "{}", found[0]);
}

#[test]
fn a_thread_that_ends_without_the_barrier_is_found() {
    let found = find(
        Status::CUDA_ERROR_LAUNCH_FAILED,
        Kind::Deadlock,
        |stream| launch!(early_end, stream, 5, 0, 127_u32),
        |stream| launch!(early_end, stream, 5, 0, 128_u32),
    );
    assert!(found[0].message.contains("thread 127 ended without the barrier"), "{}", found[0]);
}

#[test]
fn a_block_that_waits_for_two_things_is_found() {
    find(
        Status::CUDA_ERROR_LAUNCH_FAILED,
        Kind::Deadlock,
        |stream| launch!(half_barrier, stream, 2, 0, 50_u32),
        |stream| launch!(half_barrier, stream, 2, 0, 64_u32),
    );
}

#[test]
fn lanes_that_disagree_are_found() {
    for wrong in [1, 2, 3, 4_u32] {
        let voted = |stream: &Stream, wrong: u32| {
            let votes = DeviceBuffer::<u32>::zeroed(64)?;
            launch!(vote, stream, 1, 0, votes.address(), wrong)?;
            assert_eq!(votes.to_host()?, [0x5555_5555; 64]);
            Ok(())
        };
        let found = find(
            Status::CUDA_ERROR_LAUNCH_FAILED,
            Kind::Exchange,
            |s| voted(s, wrong),
            |s| voted(s, 0),
        );
        assert!(found[0].message.contains("ballot"), "{}", found[0]);
    }
}

#[test]
fn a_panic_is_a_report() {
    let found = find(
        Status::CUDA_ERROR_LAUNCH_FAILED,
        Kind::Panic,
        |stream| launch!(panics, stream, 2, 0, 5_u32, 5_u32),
        |stream| launch!(panics, stream, 2, 0, 4_u32, 5_u32),
    );
    assert_eq!((found[0].block, found[0].thread), (Some([1, 0, 0]), Some(6)));
    assert_eq!(found[0].message, "index 5 of 5");
}

#[test]
fn launches_that_cannot_be_are_refused() {
    let function = || common::function(early_end.host);
    let launched = |stream: &Stream, grid: (u32, u32), block: u32, shared: u32| {
        let n = 128_u32;
        let arguments = [std::ptr::from_ref(&n).cast_mut().cast()];
        // SAFETY: the argument is the kernel's.
        unsafe { stream.launch(function(), grid, block, shared, &arguments) }
    };
    let right = |stream: &Stream| launched(stream, (1, 65535), 128, 48 << 10);
    for (grid, block, shared) in [
        ((1, 1), 64, 0),
        ((1, 1), 0, 0),
        ((0, 1), 128, 0),
        ((1, 65536), 128, 0),
        ((1 << 31, 1), 128, 0),
        ((1, 1), 128, (48 << 10) + 1),
    ] {
        find(
            Status::CUDA_ERROR_INVALID_VALUE,
            Kind::Launch,
            |s| launched(s, grid, block, shared),
            |_| Ok(()),
        );
    }
    let _turn = alone();
    let _context = context();
    right(&stream()).unwrap();
}

#[test]
fn copies_outside_an_allocation_are_refused() {
    let copied = |len: usize| {
        let values = DeviceBuffer::<u32>::zeroed(10)?;
        values.copied(len).map(drop)
    };
    find(Status::CUDA_ERROR_INVALID_VALUE, Kind::Range, |_| copied(11), |_| copied(10));
}
