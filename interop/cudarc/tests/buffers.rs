//! cudarc's buffers as slices and columns, in order with cudarc's own work. On a GPU alone: the
//! tests say "skipped" where there is none.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use gpu_core::{Column, DeviceChoice, Error, Gpu, Slice, SliceMut};
use gpu_scan::gpu::Workspace;
use gpu_scan::{Scan, Sum};

/// The streams of a program: the default one, one of its own, and a handle on each and on neither.
fn streams() -> Option<(Arc<CudaContext>, Vec<Arc<CudaStream>>)> {
    if let Err(error) = Gpu::open(DeviceChoice::Cuda(0)) {
        println!("skipped: {error}");
        return None;
    }
    let context = CudaContext::new(0).unwrap();
    let streams = vec![context.default_stream(), context.new_stream().unwrap()];
    Some((context, streams))
}

fn handles(streams: &[Arc<CudaStream>]) -> Vec<Gpu> {
    let own = Gpu::open(DeviceChoice::Cuda(0)).unwrap();
    streams.iter().map(|stream| Gpu::from_cudarc(stream).unwrap()).chain([own]).collect()
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
    let Some((_context, streams)) = streams() else { return };
    for gpu in handles(&streams) {
        let mut workspace = Workspace::new(&gpu).unwrap();
        for stream in &streams {
            for other in &streams {
                let input: CudaSlice<u32> = stream.clone_htod(&numbers()).unwrap();
                let mut output: CudaSlice<u32> = other.alloc_zeros(input.len()).unwrap();
                let how = Scan::inclusive();
                gpu_scan::gpu::scan(&mut workspace, Sum, how, &input, &mut output).unwrap();
                drop(input);
                assert_eq!(stream.clone_dtoh(&output).unwrap(), sums());
                let part = output.slice(10..20);
                assert_eq!(Slice::from(&part).len(), 10);
                let mut part = output.slice_mut(0..1000);
                assert_eq!(SliceMut::from(&mut part).len(), 1000);
                gpu_scan::gpu::fill(&mut workspace, 7, &mut part).unwrap();
                assert_eq!(other.clone_dtoh(&output).unwrap()[..1001][999..], [7, sums()[1000]]);
            }
        }
    }
}

#[test]
fn a_buffer_is_a_column_and_comes_back_without_a_copy() {
    let Some((_context, streams)) = streams() else { return };
    for gpu in handles(&streams) {
        for stream in &streams {
            let mut workspace = Workspace::new(&gpu).unwrap();
            let buffer: CudaSlice<u32> = stream.clone_htod(&numbers()).unwrap();
            let mut column = Column::from_cuda_slice(&gpu, buffer).unwrap();
            let address = column.as_ptr();
            let how = Scan::inclusive();
            gpu_scan::gpu::scan_in_place(&mut workspace, Sum, how, &mut column).unwrap();
            let buffer = column.into_cuda_slice(stream).unwrap();
            assert_eq!(Slice::from(&buffer).as_ptr(), address);
            assert_eq!(stream.clone_dtoh(&buffer).unwrap(), sums());

            let column = gpu.upload(&numbers()).unwrap();
            let address = column.as_ptr();
            let mut buffer = column.into_cuda_slice(stream).unwrap();
            assert_eq!(Slice::from(&buffer).as_ptr(), address);
            gpu_scan::gpu::scan_in_place(&mut workspace, Sum, how, &mut buffer).unwrap();
            assert_eq!(stream.clone_dtoh(&buffer).unwrap(), sums());
        }
    }
}

#[test]
fn a_column_without_elements_is_a_buffer_whose_end_is_no_error() {
    let Some((context, streams)) = streams() else { return };
    for gpu in handles(&streams) {
        for stream in &streams {
            let buffer = gpu.zeroed::<u32>(0).unwrap().into_cuda_slice(stream).unwrap();
            assert_eq!(buffer.len(), 0);
            let column = Column::from_cuda_slice(&gpu, buffer).unwrap();
            assert_eq!(column.to_host().unwrap(), [0_u32; 0]);
            drop(column.into_cuda_slice(stream).unwrap());
            // cudarc keeps what goes wrong in a drop for a later call.
            context.check_err().unwrap();
        }
    }
}

#[test]
fn halves_of_a_buffer_are_written_by_two_threads() {
    let Some((_context, streams)) = streams() else { return };
    for stream in &streams {
        let mut buffer: CudaSlice<u8> = stream.alloc_zeros(200).unwrap();
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
        assert_eq!(stream.clone_dtoh(&buffer).unwrap(), [[1; 100], [2; 100]].concat());
    }
}

#[test]
fn a_context_that_is_not_the_primary_one_is_refused() {
    let Some(_) = streams() else { return };
    let Ok(context) = CudaContext::new_non_primary(0, 0) else { return };
    let refused = Gpu::from_cudarc(&context.default_stream());
    assert!(matches!(refused, Err(Error::ForeignContext { device: 0 })), "{refused:?}");
}
