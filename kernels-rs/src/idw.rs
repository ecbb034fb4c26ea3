//! Inverse distance weighting: crate `idw`. A folder for each method, and what they share:
//!
//! - [`index`]: points sorted by cells or along a curve ([`plan`]).
//! - [`pairs`]: every pair of a point and a target, summed directly.
//! - [`tree`]: the same with far points expanded in nodes.
//! - [`neighbours`]: the points near each target.
//! - [`baselines`]: all pairs as in Mei (2014).
//!
//! All sums over points share [`points`], [`targets`], [`weights`], the inner loop (`staged`), and the test that sums a
//! group again in f64 (`error_bound`). [`part`] adds up the sums over parts of the points. [`pattern`] has the adaptive
//! power, and [`kernel_weights`] the kernel functions that weigh neighbours in place of powers.

#[cfg(feature = "idw_pairs")]
pub mod baselines;
#[cfg(any(feature = "idw_pairs", feature = "idw_tree"))]
mod error_bound;
#[cfg(feature = "idw_index")]
pub mod index;
pub mod kernel_weights;
#[cfg(any(feature = "idw_globe", feature = "idw_neighbours"))]
pub mod neighbours;
#[cfg(feature = "idw_pairs")]
pub mod pairs;
pub mod part;
pub mod pattern;
pub mod plan;
pub mod points;
#[cfg(any(feature = "idw_pairs", feature = "idw_tree"))]
mod staged;
pub mod targets;
#[cfg(feature = "idw_tree")]
pub mod tree;
#[cfg(any(feature = "idw_pairs", feature = "idw_tree"))]
pub mod weights;

/// Threads of a block of the kernels that sum.
pub const BLOCK: u32 = 128;

/// Data points of a tile, and of a leaf: what is staged, and summed in f32, together.
pub const TILE: u32 = 256;

/// Values a point in the kernels for several.
pub const SEVERAL: u32 = 4;

/// What tells apart the instances of a kernel that sums over all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summing {
    /// Whether the targets are a grid's cells.
    pub on_grid: bool,
    /// The power, 1 to 4; 0 for any.
    pub law: u32,
    /// The values of a point: 1, or [`SEVERAL`].
    pub values: usize,
    /// Whether targets have powers of their own, or leave points out.
    pub has_each: bool,
}

/// The columns of statistics that kernels write, each with one element a target.
pub mod statistic {
    /// How many neighbours.
    pub const COUNT: usize = 0;
    /// The lowest value.
    pub const MIN: usize = 1;
    /// The highest value.
    pub const MAX: usize = 2;
    /// The mean of the values.
    pub const MEAN: usize = 3;
    /// The standard deviation of the values, over their number.
    pub const DEVIATION: usize = 4;
    /// The distance to the nearest, on the ground.
    pub const NEAREST: usize = 5;
    /// The mean distance, on the ground.
    pub const DISTANCE: usize = 6;
    /// How many there are.
    pub const ALL: usize = 7;
}
