//! cudarc's buffers in every algorithm crate. On a GPU alone: the tests say "skipped" where there is none.

#[path = "../../algorithms.rs"]
mod algorithms;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DeviceRepr};
use gpu_core::{DeviceChoice, Gpu};

/// What makes buffers.
struct Host(Arc<CudaStream>);

impl Host {
    fn upload<T: DeviceRepr>(&self, numbers: &[T]) -> CudaSlice<T> {
        self.0.clone_htod(numbers).unwrap()
    }
}

/// Gives handles on a stream of cudarc's and on one of their own to some work, and what makes buffers beside them.
fn with_handles(work: impl Fn(&Gpu, &Host)) {
    let own = match Gpu::open(DeviceChoice::Cuda(0)) {
        Ok(own) => own,
        Err(error) => return println!("skipped: {error}"),
    };
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    for gpu in [Gpu::from_cudarc(&stream).unwrap(), own] {
        work(&gpu, &Host(Arc::clone(&stream)));
    }
}
