//! Trees on a GPU, over device memory. The kernels are in `kernels_rs::ccq`.
//!
//! # Examples
//!
//! The calls have the same form as on the host, with a workspace for the device. Calls that wait return results on the
//! host.
//!
//! ```
//! use ccq_tree::gpu::{Condition, Workspace, build, count, runs, statistics};
//! use ccq_tree::{Params, Query, Run};
//! use gpu_core::{DeviceChoice, DeviceGrid, Gpu, Grid, GridSpec};
//!
//! # fn main() -> Result<(), ccq_tree::Error> {
//! let gpu = Gpu::open(DeviceChoice::Software)?;
//! let mut workspace = Workspace::new(&gpu)?;
//! let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
//! let raster = DeviceGrid::upload(&gpu, raster.view())?;
//! let tree = build(&mut workspace, &raster, &Params::new())?;
//!
//! let high = [Condition::new(&tree).range(5, 8)]; // 5 and above, below 8
//! let counted = count(&mut workspace, &high, &Query::new())?; // in device memory
//! assert_eq!(counted.to_host()?[1], 3); // cells
//! let found = runs(&mut workspace, &high, &Query::new())?;
//! assert_eq!(found[1], Run { row: 1, column0: 2, column1: 4 });
//! let all = statistics(&mut workspace, &tree, &Query::new())?;
//! assert_eq!((all.min, all.max), (Some(1.into()), Some(7.into())));
//! # Ok(())
//! # }
//! ```

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
