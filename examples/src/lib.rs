//! What the example programs share.

pub mod point_args;
pub mod program;
pub mod report;
pub mod stages;
