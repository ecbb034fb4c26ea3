//! cust's buffers in every algorithm crate, on the software device or the one that `TESSERA_DEVICE` names.

#[path = "../../algorithms.rs"]
mod algorithms;

use std::sync::Arc;

use cust::context::Context;
use cust::device::Device;
use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::stream::{Stream, StreamFlags};
use gpu_core::{DeviceChoice, Gpu, cust_init};

/// What makes buffers: a context that is current.
struct Host(#[expect(dead_code)] Context);

impl Host {
    fn upload<T: DeviceCopy>(&self, numbers: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_slice(numbers).unwrap()
    }
}

/// Gives handles on a stream of cust's and on one of their own to some work, and what makes buffers beside them.
fn with_handles(work: impl Fn(&Gpu, &Host)) {
    let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
    cust_init(choice).unwrap();
    let context = Context::new(Device::get_device(0).unwrap()).unwrap();
    let stream = Arc::new(Stream::new(StreamFlags::NON_BLOCKING, None).unwrap());
    let handles = [Gpu::from_cust(&context, stream).unwrap(), Gpu::open(choice).unwrap()];
    let host = Host(context);
    handles.iter().for_each(|gpu| work(gpu, &host));
}
