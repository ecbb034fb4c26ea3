//! The Quaternary Triangular Mesh and Voronoi diagrams on it: crate `sphere-qtm`.
//!
//! - [`triangle`]: the cells as triangles of unit vectors.
//! - [`locate`]: from a place to its cell. [`quick`]: the same by fewer operations, where the result is certain.
//! - [`places`]: both in device memory.
//! - [`nearest`]: the definition of "nearest", and which sites a triangle can leave out.
//! - [`prune`]: the diagram by lists of candidates, level by level.
//! - [`shapes`]: the same for arcs and polygons; [`shape_lists`]: in device memory.
//! - [`baselines`]: the diagram by all pairs, as in the paper's kernels. [`outputs`]: what both write.

#[cfg(feature = "sphere_pairs")]
pub mod baselines;
pub mod locate;
pub mod nearest;
pub mod outputs;
#[cfg(feature = "sphere_places")]
pub mod places;
#[cfg(feature = "sphere_prune")]
pub mod prune;
#[cfg(feature = "sphere_places")]
pub mod quick;
#[cfg(feature = "sphere_shapes")]
pub mod shape_lists;
pub mod shapes;
pub mod triangle;

/// The deepest level of the mesh.
pub const MAX_LEVEL: u32 = 29;

/// The number of cells of a level.
#[inline(always)]
pub const fn cells_of(level: u32) -> u64 {
    8 << (2 * level)
}
