//! Point quadtrees: an index of points in the plane, built by sorting, on all cores or on a GPU, with the same
//! bytes on every run and every device.
//!
//! A cell with more points than a threshold is divided into its four quadrants, down to a deepest level. Cells with
//! points are the tree's [`Node`]s; a leaf's points lie side by side in the order of the tree. Coordinates
//! are in any plane unit, f64 on the host, f32 or f64 on the device.
//!
//! ```
//! # fn main() -> quadtree_sort::Result<()> {
//! use gpu_core::{Bounds, Device, DeviceChoice, Points};
//! use quadtree_sort::{Params, Quadtree, Regions, build};
//!
//! let (x, y) = ([0.5, 9.5, 1.0, 9.0, 5.0], [0.5, 0.5, 1.0, 9.0, 5.0]);
//! let device = Device::open(DeviceChoice::Cpu)?; // or Auto: a GPU where there is one
//! let tree = build(&device, Points::new(&x, &y), &Params::new().threshold(2))?;
//! assert_eq!(tree.summary().leaves, 3);
//! let window = Bounds { min_x: 0.0, min_y: 0.0, max_x: 5.0, max_y: 5.0 };
//! let found = tree.list_in(Regions::Windows(&[window]))?;
//! assert_eq!(found.of(0), [0, 2, 4]); // indices as given
//! let near = tree.nearest(&[8.0], &[8.0], 2)?;
//! assert_eq!(near.of(0).0, [3, 4]);
//! # Ok(())
//! # }
//! ```
//!
//! # What it finds
//!
//! - Count ([`Quadtree::count_in`]) or list ([`Quadtree::list_in`]) the points in windows, discs and polygons.
//! - Find the k nearest points of places ([`Quadtree::nearest`]), on the globe along great circles
//!   ([`Quadtree::nearest_on_globe`]).
//! - Find the leaf of a place ([`Quadtree::leaves_of`]).
//! - List the leaves around a leaf, at all levels ([`Quadtree::adjacent_leaves`]).
//!
//! Each call answers a batch on all cores. Functions of the same names take a device ([`nearest()`]); the functions in
//! [`gpu`] take trees in device memory. The answers are the same.
//!
//! Discs and nearest points compare squares of distances. If coordinates are 0 or from 1e-130 to 1e150 in magnitude, no
//! square overflows or underflows, and every device finds the same points. Beyond, squares are infinite or 0 and count
//! as equal. The CPU then takes the lower index, and returns the infinite distance or 0; a GPU may find others.
//!
//! A program that needs only nearest points can make an [`Index`] by [`index()`]. It has no cells and no levels,
//! and stays fast for clusters, for points along lines and for many points at one place.
//!
//! # What points carry
//!
//! Points carry heights, classes or intensities. [`Quadtree::with_values`] gives the points of a tree a column of
//! numbers with a name. The tree keeps the column in its own order, beside x and y, and writes it to files.
//! [`Quadtree::places_of`] finds the values of the points that a search found:
//!
//! ```
//! # fn main() -> quadtree_sort::Result<()> {
//! # use gpu_core::{Device, DeviceChoice, Points};
//! # use quadtree_sort::{Params, build};
//! # let (x, y) = ([0.5, 9.5, 1.0, 9.0, 5.0], [0.5, 0.5, 1.0, 9.0, 5.0]);
//! let device = Device::open(DeviceChoice::Cpu)?;
//! let tree = build(&device, Points::new(&x, &y), &Params::new())?;
//! let tree = tree.with_values("z", &[7.5_f32, 8.0, 7.25, 9.0, 8.5])?;
//! let near = tree.nearest(&[8.0], &[8.0], 2)?;
//! let places = tree.places_of(near.of(0).0)?;
//! let z: &[f32] = tree.values_of("z").unwrap();
//! assert_eq!(places.iter().map(|&place| z[place as usize]).collect::<Vec<_>>(), [9.0, 8.5]);
//! # Ok(())
//! # }
//! ```
//!
//! An [`Index`] and [`build()`] ignore values: their answers are indices into what the caller holds.
//!
//! # Files
//!
//! Files need the feature `files`, which is off by default:
//! `quadtree-sort = { version = "..", features = ["files"] }`.
//!
//! [`Quadtree::save`] writes a tree to one file, which appears whole or not at all. [`Quadtree::open`] reads and checks
//! it. [`Quadtree::map`] maps it into memory and copies nothing. Mapping is `unsafe`, since nobody may change the file
//! while it is mapped. Coordinates larger than memory come from a mapped [`PointsFile`].
//!
//! Any number of programs can build a tree larger than memory in parts: each part has the points of one of the tree's
//! [`Cells`]. [`join`] then joins the parts into one file.
//!
//! # Method
//!
//! Two ways of sorting give the same tree. [`Method::Morton`] sorts once, by Morton codes (1966, A computer
//! oriented geodetic data base), and finds the nodes by common prefixes.
//!
//! [`Baseline::LevelSort`] is the method of Gluck, *Fast GPGPU Based Quadtree Construction* (2014). It goes level
//! by level: a stable counting sort moves the points of each node above the threshold into its four quadrants.
//! `docs/internals/quadtree-sort.md` has definitions, differences from the thesis, and the file's layout.
#![deny(missing_docs)]
// The page names items of files, which are not there without the feature.
#![cfg_attr(not(feature = "files"), allow(rustdoc::broken_intra_doc_links))]

mod array;
mod cells;
mod cpu;
mod error;
#[cfg(feature = "files")]
mod file;
#[cfg(feature = "cuda")]
pub mod gpu;
mod index;
mod params;
#[cfg(feature = "files")]
mod parts;
#[cfg(feature = "files")]
mod points_file;
mod polygons;
mod queries;
mod search;
mod tree;
mod values;

use gpu_core::{On, Points};

pub use cells::Cells;
pub use error::{Error, Result};
pub use index::Index;
pub use kernels_rs::spatial::morton::MAX_LEVEL;
pub use params::{Baseline, Method, Outside, Params};
#[cfg(feature = "files")]
pub use parts::{Joined, Part, join};
#[cfg(feature = "files")]
pub use points_file::PointsFile;
pub use polygons::Polygons;
pub use queries::{Adjacency, Disk, Lists, NONE, Neighbours, Regions};
pub use search::{adjacent_leaves, count_in, index, leaves_of, list_in, nearest};
pub use tree::{Node, Quadtree, Summary};
pub use values::{MAX_NAME, Value, ValueType, Values};

/// The most points of a tree: the permutation holds indices of 32 bits.
pub const MAX_POINTS: u64 = u32::MAX as u64;

/// Builds the tree of points. Values of points are ignored.
///
/// No points give a tree without nodes. Work: one sort of the points, and a few steps for each node.
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::{Params, build};
///
/// let points = Points::new(&[8.0, 0.0, 0.0], &[8.0, 8.0, 0.0]);
/// let tree = build(&Device::Cpu, points, &Params::new().threshold(1))?;
/// assert_eq!(tree.nodes()[0].count, 3); // the root has all
/// assert_eq!(tree.order(), [2, 1, 0]); // south-west, north-west, north-east
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
///
/// # Errors
/// - For the parameters: [`Error::Threshold`], [`Error::MaxLevel`] and [`Error::Bounds`].
/// - [`gpu_core::Error::Length`] for columns of different lengths.
/// - [`gpu_core::Error::NotFinite`] with the index of the point.
/// - [`Error::Outside`] for a point beyond given bounds, unless the parameters leave such points out.
/// - [`gpu_core::Error::TooMany`] for the points, and [`Error::TooManyNodes`] for the nodes.
/// - [`Error::Cancelled`] where the caller's progress ends the call.
/// - [`Error::Core`] where memory or the device fails.
pub fn build<'on>(on: impl Into<On<'on>>, points: Points<'_>, params: &Params) -> Result<Quadtree> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::build(points, params, progress),
        gpu => gpu::build_of_host(gpu, points, params, progress),
    )
}

/// Builds a tree like [`build`], with at most `budget` bytes of device memory for points and scratch. Ranges of
/// cells pass through that memory: one is copied in while another is built and a third is copied out. The tree is
/// the same, whatever [`Params::method`] says.
///
/// With mapped points (`PointsFile`, feature `files`) the points need not fit the host's memory either. The tree must
/// fit: 20 bytes a point, and its nodes. The build takes 2 more bytes a point and 8 more bytes a node.
///
/// A batch takes more than the budget if it needs more than six nodes for every `threshold` points.
///
/// On the CPU, which needs no device memory, this is [`build`].
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::{Params, build, build_within};
///
/// let (points, params) = (Points::new(&[8.0, 0.0, 0.0], &[8.0, 8.0, 0.0]), Params::new());
/// let device = Device::open(gpu_core::DeviceChoice::Auto)?;
/// let tree = build_within(&device, points, &params, 1 << 20)?; // at most a MiB of a GPU's memory
/// assert!(tree == build(&device, points, &params)?);
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
///
/// # Errors
/// The errors of [`build`]. [`Error::Budget`] for a budget that is too small for batches of 1024 points, or for batches
/// of a 16384th of all points.
#[cfg_attr(not(feature = "cuda"), expect(unused_variables))]
pub fn build_within<'on>(
    on: impl Into<On<'on>>,
    points: Points<'_>,
    params: &Params,
    budget: u64,
) -> Result<Quadtree> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::build(points, params, progress),
        gpu => gpu::stream::build(gpu, points, params, budget, progress),
    )
}
