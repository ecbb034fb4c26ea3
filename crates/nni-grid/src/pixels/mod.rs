//! The method on pixels, as published: You and Zhang 2012.
//!
//! The plan, and what CPU and GPU share, are in `kernels_rs::nni::pixels`.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod gpu;
mod hull;
mod limits;
