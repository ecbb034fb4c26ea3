//! Trees on the CPU, on all cores; in a pool of one thread, on one.

mod build;

pub(crate) use build::merge;
pub use build::{build, build_forest};
