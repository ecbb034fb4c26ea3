//! draft
mod array;
mod cpu;
mod error;
#[cfg(feature = "cuda")]
pub mod gpu;
mod params;
mod polygons;
mod queries;
mod tree;
pub use error::{Error, Result};
pub use kernels_rs::spatial::morton::MAX_LEVEL;
pub use polygons::Polygons;
pub use queries::{Adjacency, Disk, Lists, NONE, Neighbours, Regions};
pub use params::{Algorithm, Outside, Params};
pub use tree::{Node, Quadtree, Summary};
/// The most points of a tree: the permutation holds indices of 32 bits.
pub const MOST_POINTS: u64 = u32::MAX as u64;
/// Builds.
pub fn build(
    device: &gpu_core::Device,
    points: gpu_core::Points<'_>,
    params: &Params,
    progress: &dyn gpu_core::Progress,
) -> Result<Quadtree> {
    match device {
        gpu_core::Device::Cpu => cpu::build(points, params, progress),
        #[cfg(feature = "cuda")]
        gpu_core::Device::Gpu(gpu) => gpu::build_of_host(gpu, points, params, progress),
        #[allow(unreachable_patterns)]
        other => Err(gpu_core::Error::without_cuda(other).into()),
    }
}
