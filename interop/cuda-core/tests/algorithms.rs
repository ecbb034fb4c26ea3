//! cuda-core's buffers in every algorithm crate. On a GPU alone: the tests say "skipped" where there is none.

#[path = "../../algorithms.rs"]
mod algorithms;

use std::sync::Arc;

use cuda_core::{Context, DeviceBuffer, DeviceCopy, Stream};
use gpu_core::{DeviceChoice, Gpu};

/// What makes buffers.
struct Host(Arc<Stream>);

impl Host {
    fn upload<T: DeviceCopy>(&self, numbers: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_host(&self.0, numbers).unwrap()
    }
}

/// Gives handles on a stream of cuda-core's and on one of their own to some work, and what makes buffers beside them.
fn with_handles(work: impl Fn(&Gpu, &Host)) {
    let own = match Gpu::open(DeviceChoice::Cuda(0)) {
        Ok(own) => own,
        Err(error) => return println!("skipped: {error}"),
    };
    let context = Context::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    for gpu in [Gpu::from_cuda_core(&stream).unwrap(), own] {
        work(&gpu, &Host(Arc::clone(&stream)));
    }
}
