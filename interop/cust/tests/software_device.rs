//! cust, unmodified, on the software device: copies, modules, launches, streams, events.

mod common;

use common::{alone, context};
use cust::error::CudaError;
use cust::event::EventStatus;
use cust::memory::{CopyDestination, DeviceBuffer, LockedBuffer};
use cust::prelude::*;
use device_std::host::PtxModule;
use device_std::shared::Carver;
use device_std::{atomic, kernel, thread, warp};

static MODULE: PtxModule = PtxModule { name: "through_cust", images: &[] };

/// No thread of it ever waits.
#[kernel(block = 128)]
pub unsafe fn scale(x: *mut f32, n: u32, factor: f32) {
    let i = thread::index_1d();
    if i < u64::from(n) {
        // SAFETY: inside the array.
        unsafe { *x.add(i as usize) *= factor };
    }
}

/// One sum a block: in warps by shuffles, across warps through shared memory.
#[kernel(block = 256)]
pub unsafe fn block_sum(values: *const u32, n: u32, sums: *mut u32) {
    let i = thread::index_1d();
    // SAFETY: inside the array.
    let value = if i < u64::from(n) { unsafe { *values.add(i as usize) } } else { 0 };
    // SAFETY: all threads come to every call; each element has one writer before the barrier.
    unsafe {
        let partial = Carver::new().array::<u32>(8);
        let sum = warp::inclusive_scan(value, |a, b| a.wrapping_add(b));
        if warp::lane_id() == 31 {
            partial.store(warp::warp_id(), sum);
        }
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            let total = (0..8).fold(0_u32, |total, warp| total.wrapping_add(partial.load(warp)));
            *sums.add(thread::block_idx_x() as usize) = total;
        }
    }
}

/// Every thread draws a ticket.
#[kernel(block = 64)]
pub unsafe fn ticket(counter: *mut u32, drawn: *mut u32) {
    // SAFETY: each thread has a ticket, and so an element, of its own.
    unsafe { *drawn.add(atomic::add_u32(counter, 1) as usize) = thread::index_1d() as u32 };
}

/// Each block waits for the one before it, in the order of their tickets.
#[kernel(block = 32)]
pub unsafe fn chain(counter: *mut u32, passed: *mut u32, order: *mut u32) {
    // SAFETY: all lanes come to the calls; `order` has an element for each block.
    unsafe {
        let first = warp::lane_id() == 0;
        let mine = if first { atomic::add_u32(counter, 1) } else { 0 };
        let mine = warp::shuffle(warp::FULL, mine, 0);
        while atomic::add_u32(passed, 0) < mine {
            thread::pause();
        }
        warp::sync_warp(warp::FULL);
        if first {
            *order.add(mine as usize) = mine + 1;
            atomic::add_u32(passed, 1);
        }
    }
}

fn stream() -> Stream {
    Stream::new(StreamFlags::DEFAULT, None).unwrap()
}

#[test]
fn the_device_introduces_itself() {
    let _context = context();
    let device = Device::get_device(0).unwrap();
    assert_eq!(Device::num_devices(), Ok(1));
    assert_eq!(Device::get_device(1).unwrap_err(), CudaError::InvalidDevice);
    assert_eq!(device.name().unwrap(), "Tessera software device");
    assert!(device.total_memory().unwrap() > 1 << 20);
    let attribute = |a| device.get_attribute(a).unwrap();
    use cust::device::DeviceAttribute as Attribute;
    assert_eq!(attribute(Attribute::WarpSize), 32);
    assert_eq!(attribute(Attribute::MaxThreadsPerBlock), 1024);
    assert_eq!(attribute(Attribute::ComputeCapabilityMajor), 9);
    assert!(attribute(Attribute::MultiprocessorCount) >= 1);
    assert_eq!(cust::CudaApiVersion::get().unwrap().major(), 13);
    assert!(CudaError::OutOfMemory.to_string().contains("out of memory"));
}

#[test]
fn copies_come_back_as_they_went() {
    let _context = context();
    let stream = stream();
    for len in [1, 2, 3, 255, 4096, 100_001] {
        let numbers: Vec<u32> = (0..len).map(|i| i * 7 + 1).collect();
        let device = DeviceBuffer::from_slice(&numbers).unwrap();
        assert_eq!(device.as_host_vec().unwrap(), numbers);
        let mut second = DeviceBuffer::<u32>::zeroed(numbers.len()).unwrap();
        device.copy_to(&mut second).unwrap();
        let locked = second.as_host_vec().unwrap();
        assert_eq!(locked, numbers);
        let host = LockedBuffer::new(&5_u32, numbers.len()).unwrap();
        // SAFETY: the work is done, as the stream has been waited for.
        unsafe {
            let mut third =
                DeviceBuffer::<u32>::uninitialized_async(numbers.len(), &stream).unwrap();
            use cust::memory::AsyncCopyDestination;
            third.async_copy_from(&host, &stream).unwrap();
            stream.synchronize().unwrap();
            assert!(third.as_host_vec().unwrap().iter().all(|v| *v == 5));
            third.drop_async(&stream).unwrap();
        }
    }
}

#[test]
fn fresh_memory_is_not_a_number() {
    let _context = context();
    // SAFETY: that it is uninitialised is the point; any bits are a float.
    let fresh = unsafe { DeviceBuffer::<f64>::uninitialized(100) }.unwrap();
    assert!(fresh.as_host_vec().unwrap().iter().all(|v| v.is_nan()));
    // SAFETY: as above.
    let fresh = unsafe { DeviceBuffer::<f32>::uninitialized(101) }.unwrap();
    assert!(fresh.as_host_vec().unwrap().iter().all(|v| v.is_nan()));
}

#[test]
fn a_call_without_a_context_is_refused() {
    let _context = context();
    std::thread::spawn(|| {
        let refused = DeviceBuffer::<u32>::zeroed(4).unwrap_err();
        assert_eq!(refused, CudaError::InvalidContext);
    })
    .join()
    .unwrap();
}

#[test]
fn a_kernel_is_found_by_its_entry_in_the_text() {
    let _context = context();
    software_gpu::register(scale.host);
    software_gpu::register(ticket.host);
    let text = ".visible .entry through_cust__scale(\n.visible .entry through_cust__forgotten(\n";
    let module = Module::from_ptx(text, &[]).unwrap();
    assert!(module.get_function("through_cust__scale").is_ok());
    assert_eq!(module.get_function("nowhere").unwrap_err(), CudaError::NotFound);
    // In the text, but not compiled for the host.
    assert_eq!(module.get_function("through_cust__forgotten").unwrap_err(), CudaError::NotFound);
    // Registered, but not in the text.
    assert_eq!(module.get_function("through_cust__ticket").unwrap_err(), CudaError::NotFound);
    drop(module);

    let _turn = alone();
    assert_eq!(Module::from_ptx("no entry", &[]).unwrap_err(), CudaError::InvalidPtx);
    common::only_report();
}

#[test]
fn threads_that_never_wait_all_run() {
    let _context = context();
    let stream = stream();
    for n in [1_u32, 127, 128, 129, 50_000] {
        let x = DeviceBuffer::from_slice(&(0..n).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
        launch!(scale, &stream, n.div_ceil(128), 0, x.as_device_ptr(), n, 3.0_f32).unwrap();
        stream.synchronize().unwrap();
        let expected: Vec<_> = (0..n).map(|i| i as f32 * 3.0).collect();
        assert_eq!(x.as_host_vec().unwrap(), expected);
    }
}

#[test]
fn barriers_shuffles_and_shared_memory_add_up() {
    let _context = context();
    let stream = stream();
    for n in [1_u32, 31, 32, 33, 256, 257, 10_000] {
        let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let blocks = n.div_ceil(256);
        let input = DeviceBuffer::from_slice(&values).unwrap();
        let sums = DeviceBuffer::<u32>::zeroed(blocks as usize).unwrap();
        launch!(block_sum, &stream, blocks, 32, input.as_device_ptr(), n, sums.as_device_ptr())
            .unwrap();
        stream.synchronize().unwrap();
        let sum = |part: &[u32]| part.iter().fold(0_u32, |a, b| a.wrapping_add(*b));
        let expected: Vec<u32> = values.chunks(256).map(sum).collect();
        assert_eq!(sums.as_host_vec().unwrap(), expected);
    }
}

#[test]
fn blocks_and_threads_run_in_an_order_of_their_own() {
    let _context = context();
    let stream = stream();
    let counter = DeviceBuffer::<u32>::zeroed(1).unwrap();
    let drawn = DeviceBuffer::<u32>::zeroed(6400).unwrap();
    launch!(ticket, &stream, 100, 0, counter.as_device_ptr(), drawn.as_device_ptr()).unwrap();
    let mut drawn = drawn.as_host_vec().unwrap();
    assert!(!drawn.is_sorted());
    drawn.sort_unstable();
    assert!(drawn.into_iter().eq(0..6400));
}

#[test]
fn blocks_that_wait_for_one_another_get_on() {
    let _context = context();
    let stream = stream();
    let state = DeviceBuffer::<u32>::zeroed(2).unwrap();
    let order = DeviceBuffer::<u32>::zeroed(500).unwrap();
    let passed = state.as_device_ptr().wrapping_add(1);
    launch!(chain, &stream, 500, 0, state.as_device_ptr(), passed, order.as_device_ptr()).unwrap();
    assert!(order.as_host_vec().unwrap().into_iter().eq(1..=500));
}

#[test]
fn events_measure_and_streams_answer() {
    let _context = context();
    let stream = stream();
    let (start, end) =
        (Event::new(EventFlags::DEFAULT).unwrap(), Event::new(EventFlags::DEFAULT).unwrap());
    assert_eq!(end.elapsed_time_f32(&start), Err(CudaError::InvalidHandle));
    start.record(&stream).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    end.record(&stream).unwrap();
    assert_eq!(end.query(), Ok(EventStatus::Ready));
    end.synchronize().unwrap();
    let milliseconds = end.elapsed_time_f32(&start).unwrap();
    assert!((20.0..2000.0).contains(&milliseconds), "{milliseconds}");
    stream.wait_event(end, cust::stream::StreamWaitEventFlags::DEFAULT).unwrap();

    let (sender, receiver) = std::sync::mpsc::channel();
    stream.add_callback(Box::new(move || sender.send(42).unwrap())).unwrap();
    assert_eq!(receiver.recv(), Ok(42));
}

#[test]
fn managed_memory_is_not_supported() {
    let _context = context();
    assert_eq!(cust::memory::UnifiedBuffer::new(&0_u32, 4).unwrap_err(), CudaError::NotSupported);
}
