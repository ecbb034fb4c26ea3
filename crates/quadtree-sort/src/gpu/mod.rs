//! Quadtrees on a GPU, from device memory to device memory.
//!
//! Kernels and their plan are in `kernels_rs::quadtree`; the sort is gpu-scan's.
//!
//! [`build()`] waits for the device at these times, but never at each level:
//!
//! - for the bounds, unless [`Params::bounds`] gives them, and with [`Outside::Skip`](crate::Outside::Skip) for the
//!   number of points inside;
//! - after each round of sorting, for the number of points that need another round;
//! - at its end, since the number of nodes depends on the points.
//!
//! # Examples
//!
//! The calls have the form of those on the host, with a workspace for the device. Coordinates and results stay in its
//! memory.
//!
//! ```
//! use gpu_core::{DeviceChoice, Gpu};
//! use quadtree_sort::Params;
//! use quadtree_sort::gpu::{DeviceRegions, Workspace, build, count_in, list_in};
//!
//! # fn main() -> Result<(), quadtree_sort::Error> {
//! let gpu = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
//! let mut workspace = Workspace::new(&gpu)?;
//! let (x, y) = (gpu.upload(&[1.0f32, 2.0, 8.0])?, gpu.upload(&[1.0f32, 2.0, 8.0])?);
//! let tree = build(&mut workspace, &x, &y, &Params::new())?;
//!
//! let windows = gpu.upload(&[[0.0, 0.0, 2.0, 2.0]])?; // min_x, min_y, max_x, max_y
//! let windows = DeviceRegions::Windows((&windows).into());
//! assert_eq!(count_in(&mut workspace, &tree, windows)?.to_host()?, [2]);
//! let found = list_in(&mut workspace, &tree, windows)?; // in device memory
//! assert_eq!(found.to_host()?.of(0), [0, 1]);
//! # Ok(())
//! # }
//! ```

mod baselines;
mod bounds;
mod build;
mod coordinate;
mod globe;
pub(crate) mod host;
mod index;
mod nodes;
mod queries;
mod report;
pub(crate) mod stream;
mod tree;
mod values;

use gpu_core::{Bounds, Gpu, Points as HostPoints, Progress, Slice, UploadedPoints};
pub use gpu_scan::gpu::Workspace;

use crate::tree::Quadtree;
use crate::{MAX_POINTS, Params, Result};
use build::{Call, Share};
pub use coordinate::Coordinate;
#[doc(hidden)]
pub use globe::{GlobeIndex, globe_index};
#[doc(hidden)]
pub use index::order_of_places;
pub use index::{DeviceIndex, index, index_unchecked, nearest, nearest_in_order, nearest_of_own};
pub use queries::{
    DeviceLists, DeviceNeighbours, DevicePolygons, DeviceRegions, adjacent_leaves, count_in,
    leaves_of, list_in,
};
pub use tree::DeviceQuadtree;
pub use values::{DeviceValues, places_of};

/// The deepest level whose codes have 32 bits.
const SHORT_LEVEL: u32 = 16;

/// The most blocks that share points, the nodes of a level, or leaves.
const MAX_BLOCKS: u32 = 2048;

/// [`build`](crate::build) on a GPU, from host columns. Waits for the result.
pub(crate) fn build_of_host(
    gpu: &Gpu,
    points: HostPoints<'_>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Quadtree> {
    params.check()?;
    points.check_lengths()?;
    check_count(points.len())?;
    let places = HostPoints::new(points.x, points.y);
    progress.at("to the device", 0.0)?;
    let there = UploadedPoints::new(gpu, &places)?;
    let mut workspace = Workspace::new(gpu)?;
    let tree = progress.during("tree", || build(&mut workspace, there.x(), there.y(), params))?;
    progress.during("to the host", || tree.to_host())
}

fn check_count(points: usize) -> Result<()> {
    Ok(gpu_core::require_at_most("points", points as u64, MAX_POINTS)?)
}

/// Builds the tree of points in device memory, of f32 or f64, within the bounds in `params`, or the bounds of the
/// points. **Waits** for the device (see the [module](self)), so a graph cannot hold this call.
///
/// The tree is the same as from [`build`](crate::build), with coordinates of the given type.
///
/// Device memory in addition to the points and the tree:
///
/// - For each point 28 bytes for levels to 16, else 40; for f64 8 more.
/// - For each point that a second round sorts 12 bytes for levels to 16, else 20.
/// - Room for nodes, which the tree keeps: 192 bytes times the points, divided by the threshold.
///
/// Cost for levels to 16:
///
/// - The bounds read the coordinates twice, and the codes read them once.
/// - The sort reads and writes 8 bytes a point three times if points are uniform. Then it sorts again the cells that
///   are still above the threshold. For more levels it is 12 bytes a point.
/// - The coordinates are gathered once.
///
/// Example: see [the module](self#examples).
///
/// # Errors
/// The errors of [`build`](crate::build), and [`gpu_core::Error::Captured`].
pub fn build<'a, T: Coordinate>(
    workspace: &mut Workspace,
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'a, T>>,
    params: &Params,
) -> Result<DeviceQuadtree<T>> {
    params.check()?;
    let (x, y) = (x.into(), y.into());
    let (expected, found) = (x.len() as u64, y.len() as u64);
    if found != expected {
        return Err(gpu_core::Error::Length { what: "column of y", expected, found }.into());
    }
    check_count(x.len())?;
    let gpu = workspace.gpu().clone();
    gpu.refuse_in_capture("a quadtree, whose number of nodes the host waits for,")?;
    let nowhere = Bounds { min_x: 0.0, min_y: 0.0, max_x: 0.0, max_y: 0.0 };
    let inside = match params.bounds {
        Some(given) => given,
        None if x.is_empty() => nowhere,
        None => bounds::bounds(&gpu, x, y)?,
    };
    let (frame, bounds) = params.frame(inside)?;
    let call = Call { frame, bounds, inside, params, share: Share::all(x.len()) };
    if params.max_level <= SHORT_LEVEL {
        call.build::<T, u32>(workspace, x, y)
    } else {
        call.build::<T, u64>(workspace, x, y)
    }
}
