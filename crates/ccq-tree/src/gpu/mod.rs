//! Trees on a GPU, over device memory. The kernels are in `kernels_rs::ccq`.

mod build;
mod coded;
mod fields;
mod host;
pub(crate) mod host_search;
mod merge;
mod query;
mod regions;
mod results;
mod tree;

pub use build::{Bounded, build, build_forest, build_with_capacity};
pub use coded::DeviceCodedTree;
pub use fields::{DeviceClassSet, DeviceFields, fields};
pub use gpu_scan::gpu::Workspace;
pub(crate) use host::{build_forest_host, build_host, build_tile_host};
pub use query::{Condition, MAX_CONDITIONS, count, quadrants};
pub(crate) use query::{Looked, Searched};
pub use regions::regions;
pub use results::{mask, runs, statistics, top_k};
pub use tree::{DeviceForest, DeviceTree};
