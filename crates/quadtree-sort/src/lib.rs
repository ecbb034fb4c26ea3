//! draft
mod cpu;
mod error;
mod params;
mod tree;
pub use error::{Error, Result};
pub use kernels_rs::spatial::morton::MAX_LEVEL;
pub use params::{Algorithm, Outside, Params};
pub use tree::{Node, Quadtree, Summary};
/// Builds.
pub fn build(
    device: &gpu_core::Device,
    points: gpu_core::Points<'_>,
    params: &Params,
    progress: &dyn gpu_core::Progress,
) -> Result<Quadtree> {
    match device {
        gpu_core::Device::Cpu => cpu::build(points, params, progress),
        #[allow(unreachable_patterns)]
        other => Err(gpu_core::Error::without_cuda(other).into()),
    }
}
