//! Trees on the CPU, on all cores; in a pool of one thread, on one.

mod build;
mod merge;
mod merged;

pub(crate) use build::build_tile;
pub use build::{build, build_forest};
#[cfg(feature = "cuda")]
pub(crate) use merge::{Merging, of_root};
pub use merged::Merged;
