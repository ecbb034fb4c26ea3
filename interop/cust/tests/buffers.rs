//! cust's buffers as slices and columns, in order with cust's own work.

use std::sync::Arc;

use cust::context::Context;
use cust::device::Device;
use cust::memory::DeviceBuffer;
use cust::stream::{Stream, StreamFlags};
use gpu_core::{Column, DeviceChoice, Error, Gpu, Slice, cust_init};
use gpu_scan::gpu::Workspace;
use gpu_scan::{Scan, Sum};

fn choice() -> DeviceChoice {
    DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software)
}

fn context() -> Context {
    cust_init(choice()).unwrap();
    Context::new(Device::get_device(0).unwrap()).unwrap()
}

/// Handles on a stream of cust's, of either kind, and one of our own.
fn handles(context: &Context) -> Vec<Gpu> {
    let on = |flags| {
        let stream = Arc::new(Stream::new(flags, None).unwrap());
        Gpu::from_cust(context, stream).unwrap()
    };
    vec![on(StreamFlags::DEFAULT), on(StreamFlags::NON_BLOCKING), Gpu::open(choice()).unwrap()]
}

fn numbers() -> Vec<u32> {
    (0..100_000).map(|i| i % 7).collect()
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
    let context = context();
    for gpu in handles(&context) {
        let mut workspace = Workspace::new(&gpu).unwrap();
        let input = DeviceBuffer::from_slice(&numbers()).unwrap();
        let mut output = DeviceBuffer::<u32>::zeroed(input.len()).unwrap();
        for _ in 0..3 {
            let how = Scan::inclusive();
            gpu_scan::gpu::scan(&mut workspace, Sum, how, &input, &mut output).unwrap();
            assert_eq!(output.as_host_vec().unwrap(), sums());
            // A safe copy of cust's comes after our work, and ours after it.
            output.set_8(7).unwrap();
        }
        let part = input.index(10..20);
        assert_eq!(Slice::from(&part).len(), 10);
        let empty = input.index(0..0);
        let (first, second) = (gpu.admit(&part).unwrap(), gpu.admit(&empty).unwrap());
        assert_eq!((first.len(), second.len()), (10, 0));
    }
}

#[test]
fn a_buffer_is_a_column_and_comes_back_without_a_copy() {
    let context = context();
    for gpu in handles(&context) {
        let buffer = DeviceBuffer::from_slice(&numbers()).unwrap();
        let address = buffer.as_device_ptr();
        let mut column = Column::from_device_buffer(&gpu, buffer).unwrap();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let how = Scan::inclusive();
        gpu_scan::gpu::scan_in_place(&mut workspace, Sum, how, &mut column).unwrap();
        let buffer = column.into_device_buffer().unwrap();
        assert_eq!(buffer.as_device_ptr(), address);
        assert_eq!(buffer.as_host_vec().unwrap(), sums());

        let column = gpu.upload(&numbers()).unwrap();
        let address = column.as_ptr();
        let mut buffer = column.into_device_buffer().unwrap();
        assert_eq!(buffer.as_device_ptr().as_ptr(), address);
        gpu_scan::gpu::scan_in_place(&mut workspace, Sum, how, &mut buffer).unwrap();
        // cust frees memory of the pool without a wait: the call above has waited.
        drop(buffer);
        let dropped = Column::from_device_buffer(&gpu, DeviceBuffer::from_slice(&[1u8]).unwrap());
        drop(dropped.unwrap());
        gpu.synchronize().unwrap();
    }
}

#[test]
fn without_a_driver_there_is_an_error_in_words() {
    let context = context();
    let stream = Arc::new(Stream::new(StreamFlags::DEFAULT, None).unwrap());
    // A driver is loaded by now; what is refused is the other one.
    let gpu = Gpu::from_cust(&context, stream).unwrap();
    let other = if gpu.is_software() { DeviceChoice::Cuda(0) } else { DeviceChoice::Software };
    assert!(matches!(cust_init(other), Err(Error::OtherDriver { .. })));
}
