//! Several crates in one program: what one leaves on the device the next one takes. Each composition has the bits of
//! its parts called one by one on the host, and no points, values or rasters go through the host, which is counted.

mod chain;
mod places;
mod regions;
mod segments;

/// What some work copies to the host, in bytes; 0 on a card, where nobody counts.
fn bytes_to_host<R>(gpu: &gpu_core::Gpu, work: impl FnOnce() -> R) -> (R, u64) {
    let before = software_gpu::bytes_to_host();
    let result = work();
    (result, if gpu.is_software() { software_gpu::bytes_to_host() - before } else { 0 })
}
