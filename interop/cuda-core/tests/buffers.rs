//! cuda-core's buffers as slices and columns, in order with cuda-core's own work. On a GPU alone: the
//! tests say "skipped" where there is none.

use std::sync::Arc;

use cuda_core::{Context, DeviceBuffer, Stream};
use gpu_core::{Column, DeviceChoice, Error, Gpu, Slice, SliceMut};
use gpu_scan::gpu::Workspace;
use gpu_scan::{Scan, Sum};

/// The streams of a program: the default one, and one of its own.
fn streams() -> Option<Vec<Arc<Stream>>> {
    if let Err(error) = Gpu::open(DeviceChoice::Cuda(0)) {
        println!("skipped: {error}");
        return None;
    }
    let context = Context::new(0).unwrap();
    Some(vec![context.default_stream(), context.new_stream().unwrap()])
}

/// A handle on each stream, and on none of them.
fn handles(streams: &[Arc<Stream>]) -> Vec<Gpu> {
    let own = Gpu::open(DeviceChoice::Cuda(0)).unwrap();
    streams.iter().map(|stream| Gpu::from_cuda_core(stream).unwrap()).chain([own]).collect()
}

fn numbers() -> Vec<u32> {
    (0..1_000_000).map(|i| i % 7).collect()
}

fn sums() -> Vec<u32> {
    let add = |sum: &mut u32, x| {
        *sum += x;
        Some(*sum)
    };
    numbers().into_iter().scan(0, add).collect()
}

#[test]
fn buffers_go_into_functions_that_take_slices() {
    let Some(streams) = streams() else { return };
    for gpu in handles(&streams) {
        let mut workspace = Workspace::new(&gpu).unwrap();
        for stream in &streams {
            let input = DeviceBuffer::from_host(stream, &numbers()).unwrap();
            let mut output = DeviceBuffer::<u32>::zeroed(stream, input.len()).unwrap();
            let how = Scan::inclusive();
            gpu_scan::gpu::scan(&mut workspace, Sum, how, &input, &mut output).unwrap();
            drop(input); // freed after the scan
            gpu.synchronize().unwrap();
            assert_eq!(output.to_host_vec(stream).unwrap(), sums());
            let part = output.slice(10..20).unwrap();
            assert_eq!(Slice::from(&part).len(), 10);
            let mut total = gpu.zeroed::<u32>(1).unwrap();
            gpu_scan::gpu::reduce(&mut workspace, Sum, &part, &mut total).unwrap();
            assert_eq!(total.to_host().unwrap(), [sums()[10..20].iter().sum::<u32>()]);
            drop(part);
            let part = SliceMut::from(&mut output).slice(0..1000).unwrap();
            gpu_scan::gpu::fill(&mut workspace, 7, part).unwrap();
            gpu.synchronize().unwrap();
            let found = output.to_host_vec(stream).unwrap();
            assert_eq!(found[..1001][999..], [7, sums()[1000]]);
        }
    }
}

#[test]
fn work_in_flight_comes_first_and_keeps_other_streams_out() {
    let Some(streams) = streams() else { return };
    let gpu = Gpu::open(DeviceChoice::Cuda(0)).unwrap();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let stream = &streams[1];
    let many = 1 << 27;
    let mut buffer = DeviceBuffer::from_host(stream, &vec![1_u32; many]).unwrap();
    for round in 0..3 {
        buffer.zero_async(stream).unwrap(); // not waited for
        let fives = gpu.upload(&vec![5_u32; 1000]).unwrap();
        let tail = SliceMut::from(&mut buffer).slice(many - 1000..many).unwrap();
        gpu.copy(&fives, tail).unwrap(); // after the zeros
        // The copy may be done by now, or it keeps the buffer from the stream.
        let found = match buffer.to_host_vec(stream) {
            Ok(found) => found,
            Err(_) => {
                gpu.synchronize().unwrap();
                buffer.to_host_vec(stream).unwrap()
            }
        };
        assert!(found[..many - 1000].iter().all(|&number| number == 0), "round {round}");
        assert!(found[many - 1000..].iter().all(|&number| number == 5), "round {round}");
    }
    let mut total = gpu.zeroed::<u32>(1).unwrap();
    gpu_scan::gpu::reduce(&mut workspace, Sum, &buffer, &mut total).unwrap();
    assert_eq!(total.to_host().unwrap(), [5000]);
}

#[test]
fn a_buffer_is_a_column_and_comes_back_without_a_copy() {
    let Some(streams) = streams() else { return };
    for gpu in handles(&streams) {
        for stream in &streams {
            let mut workspace = Workspace::new(&gpu).unwrap();
            let buffer = DeviceBuffer::from_host(stream, &numbers()).unwrap();
            let mut column = Column::from_cuda_core(&gpu, buffer).unwrap();
            let address = column.as_ptr();
            let how = Scan::inclusive();
            gpu_scan::gpu::scan_in_place(&mut workspace, Sum, how, &mut column).unwrap();
            let buffer = column.into_cuda_core(stream).unwrap();
            assert_eq!(Slice::from(&buffer).as_ptr(), address);
            assert_eq!(buffer.to_host_vec(stream).unwrap(), sums());

            let column = gpu.upload(&numbers()).unwrap();
            let address = column.as_ptr();
            let mut buffer = column.into_cuda_core(stream).unwrap();
            assert_eq!(Slice::from(&buffer).as_ptr(), address);
            gpu_scan::gpu::scan_in_place(&mut workspace, Sum, how, &mut buffer).unwrap();
            gpu.synchronize().unwrap();
            assert_eq!(buffer.to_host_vec(stream).unwrap(), sums());
        }
    }
}

#[test]
fn a_column_without_elements_is_a_buffer_whose_end_is_no_error() {
    let Some(streams) = streams() else { return };
    for gpu in handles(&streams) {
        for stream in &streams {
            let buffer = gpu.zeroed::<u32>(0).unwrap().into_cuda_core(stream).unwrap();
            assert_eq!(buffer.len(), 0);
            let column = Column::from_cuda_core(&gpu, buffer).unwrap();
            assert_eq!(column.to_host().unwrap(), [0_u32; 0]);
            drop(column.into_cuda_core(stream).unwrap());
            // cuda-core keeps what goes wrong in a drop for a later call.
            stream.context().check_err().unwrap();
        }
    }
}

#[test]
fn halves_of_a_buffer_are_written_by_two_threads() {
    let Some(streams) = streams() else { return };
    for stream in &streams {
        let mut buffer = DeviceBuffer::<u8>::zeroed(stream, 200).unwrap();
        let (left, right) = SliceMut::from(&mut buffer).split_at(100).unwrap();
        let write = |half: SliceMut<u8>, byte| {
            let gpu = Gpu::open(DeviceChoice::Cuda(0)).unwrap();
            let mut half = gpu.admit_mut(half).unwrap();
            // SAFETY: the half is admitted, and has so many elements.
            unsafe { gpu.fill_with_byte(half.as_mut_ptr(), byte, half.len()).unwrap() };
        };
        std::thread::scope(|scope| {
            scope.spawn(|| write(left, 1));
            scope.spawn(|| write(right, 2));
        });
        stream.context().synchronize().unwrap();
        assert_eq!(buffer.to_host_vec(stream).unwrap(), [[1; 100], [2; 100]].concat());
    }
}

#[test]
fn a_capture_refuses_a_buffer() {
    let Some(streams) = streams() else { return };
    let gpu = Gpu::open(DeviceChoice::Cuda(0)).unwrap();
    let mut buffer = DeviceBuffer::<u8>::zeroed(&streams[1], 200).unwrap();
    let captured = gpu.capture(|| gpu.admit_mut(&mut buffer).map(drop));
    assert!(matches!(captured, Err(Error::Captured { .. })), "{:?}", captured.err());
}
