//! Trees on a GPU, over device memory. The kernels are in `kernels_rs::ccq`.

mod build;
mod host;
mod merge;
mod query;
mod results;
mod tree;

pub use build::{Bounded, build, build_forest, build_with_capacity};
pub use gpu_scan::gpu::Workspace;
pub(crate) use host::{build_forest_host, build_host, build_tile_host};
pub use query::{Condition, MAX_CONDITIONS, count, quadrants};
pub use results::{mask, runs, statistics, top_k};
pub use tree::{DeviceForest, DeviceTree};

use crate::Cell;
use kernels_rs::ccq::build::{reduce, write};

/// A type of cells whose kernels this build has.
pub trait DeviceCell: Cell + reduce::Instance + write::Instance {}
impl<T: Cell + reduce::Instance + write::Instance> DeviceCell for T {}
