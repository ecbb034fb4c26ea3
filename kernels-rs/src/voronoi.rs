//! Exact discrete Voronoi diagrams and distance transforms: crate `pba-voronoi`.
//!
//! Two ways to the same bits:
//!
//! - [`monotone`], the fast one: candidates of the rows, and a search of each column's winners from coarse
//!   rows to fine ones;
//! - [`baselines`], the published one: scans of the rows, and pruning of each column's candidates.

#[cfg(feature = "voronoi")]
pub mod baselines;
#[cfg(feature = "monotone")]
pub mod monotone;

/// Threads of a block, in every kernel here.
pub const BLOCK: u32 = 256;
