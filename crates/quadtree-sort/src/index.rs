//! Indexes of points: packed Hilbert R-trees.

pub(crate) mod build;
mod nearest;

use gpu_core::Bounds;
use kernels_rs::rtree::layout::Layout;

use crate::queries::{Neighbours, check_k, check_places};
use crate::{Error, Result};

/// An index of points in the plane: a packed Hilbert R-tree (Kamel and Faloutsos 1994, "Hilbert R-tree: An improved R-tree
/// using fractals").
///
/// The points are sorted along Hilbert's curve. Each run of 32 points has a tight bounding box, and so has each run of
/// 32 boxes, level by level. So the cost of a search depends on its results, not on where the points lie: along lines,
/// in clusters, or all at one place.
///
/// The index is the same on every run and every device. Points at one place stay in the order in which they were given.
///
/// ```
/// # fn main() -> quadtree_sort::Result<()> {
/// use gpu_core::{Device, DeviceChoice, Points};
///
/// let (x, y) = ([0.5, 9.5, 1.0, 9.0, 5.0], [0.5, 0.5, 1.0, 9.0, 5.0]);
/// let device = Device::open(DeviceChoice::Cpu)?; // or Auto: a GPU where there is one
/// let index = quadtree_sort::index(&device, Points::new(&x, &y), None)?;
/// let near = index.nearest(&[8.0], &[8.0], 2)?;
/// assert_eq!(near.of(0).0, [3, 4]); // numbers of points as given, nearest first
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) order: Vec<u32>,
    pub(crate) boxes: Vec<[[f64; 2]; 2]>,
    pub(crate) layout: Layout,
    pub(crate) bounds: Bounds,
}

impl Index {
    /// The x of the points in the order of the index.
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// The y of the points in the order of the index.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// The indices of the points, as given, in the order of the index.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The boxes of all levels, each its least corner, then its greatest: for searches of other crates of Tessera.
    #[doc(hidden)]
    pub fn boxes(&self) -> &[[[f64; 2]; 2]] {
        &self.boxes
    }

    /// Where the boxes of each level lie.
    #[doc(hidden)]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether it has no points.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The given bounds, or the bounds of the points.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Finds the `k` nearest points of each place, on all cores. It compares squared distances, each operation rounded
    /// to f64. Among equally near points, the lower index comes first. Squares that overflow are infinite and equal: the
    /// [crate](crate#what-it-finds) names the range of coordinates without them.
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`], [`gpu_core::Error::NotFinite`] for a place, [`Error::NoNeighbours`] for k = 0,
    /// [`Error::Core`] where the result is larger than memory.
    pub fn nearest(&self, x: &[f64], y: &[f64], k: usize) -> Result<Neighbours> {
        check_places(x, y)?;
        check_k(k)?;
        nearest::nearest(self, x, y, k)
    }
}

/// The sides of a rectangle: the least x and y, then the greatest.
pub(crate) fn sides(bounds: Bounds) -> [f64; 4] {
    [bounds.min_x, bounds.min_y, bounds.max_x, bounds.max_y]
}

/// Refuses given bounds that are no rectangle.
pub(crate) fn check_bounds(bounds: Option<Bounds>) -> Result<()> {
    let is_length = |side: f64| side.is_finite() && side >= 0.0;
    match bounds {
        Some(bounds)
            if !(is_length(bounds.max_x - bounds.min_x)
                && is_length(bounds.max_y - bounds.min_y)) =>
        {
            Err(Error::Bounds { bounds })
        }
        _ => Ok(()),
    }
}

/// Whether an index needs a finer curve. The first count is of the points that share a cell of the curve with more than a leaf of
/// others. Searches among fewer cost little, and another sort is as much work as all the rest.
pub(crate) fn is_crowded(crowded: usize, points: usize) -> bool {
    crowded > points / 1000
}
