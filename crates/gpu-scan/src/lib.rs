//! Parallel primitives on typed device columns, and on the CPU: the same functions, the same
//! results, bit for bit.
#![deny(missing_docs)]

pub mod cpu;
mod error;
#[cfg(feature = "cuda")]
pub mod gpu;
mod number;
mod operators;
mod options;

pub use error::{Error, Result};
pub use number::{Direction, Number};
pub use operators::{LastValid, Max, Min, ReduceOperator, ScanOperator, Sum};
pub use options::Scan;
