//! How to build a tree: parameters and their checks.

use gpu_core::Bounds;
use kernels_rs::spatial::frame::Frame;
use kernels_rs::spatial::morton::MAX_LEVEL;

use crate::{Error, Result};

/// How a tree is built.
///
/// ```
/// use gpu_core::{Bounds, Device, Points};
/// use quadtree_sort::{Outside, Params, build};
///
/// let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 8.0, max_y: 8.0 };
/// let params = Params::new().threshold(1).max_level(1).bounds(bounds).outside(Outside::Skip);
/// let tree = build(&Device::Cpu, Points::new(&[1.0, 2.0, 6.0, 9.0], &[1.0; 4]), &params)?;
/// let summary = tree.summary();
/// assert_eq!((summary.leaves, summary.skipped), (2, 1));
/// assert_eq!(summary.overfull, 1); // level 1 is the deepest, so two points share a leaf
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// The most points of a leaf above the deepest level; positive.
    pub threshold: u32,
    /// The deepest level: 0 is the root alone, at most [`MAX_LEVEL`](crate::MAX_LEVEL). Leaves of this
    /// level hold any number of points.
    pub max_level: u32,
    /// The root's ground; `None` for the bounds of the points.
    pub bounds: Option<Bounds>,
    /// Whether cells are squares. If set, the root is a square: its shorter side grows from the south-west corner to
    /// the length of the longer side.
    pub square: bool,
    /// How to treat points beyond given bounds.
    pub outside: Outside,
    /// How points are sorted. Every method gives the same tree.
    pub method: Method,
}

/// How to treat points beyond given bounds.
///
/// Example: see [`Params`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outside {
    /// They are an error.
    #[default]
    Refuse,
    /// They are left out, and counted.
    Skip,
}

/// How points are sorted.
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::{Baseline, Method, Params, build};
///
/// let points = Points::new(&[0.5, 9.5, 1.0], &[0.5, 0.5, 1.0]);
/// let by_levels = Params::new().method(Method::Baseline(Baseline::LevelSort));
/// assert!(build(&Device::Cpu, points, &by_levels)? == build(&Device::Cpu, points, &Params::new())?);
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The faster one.
    #[default]
    Auto,
    /// Sorts once by Morton codes, and finds nodes by common prefixes.
    Morton,
    /// A published method, for comparison.
    Baseline(Baseline),
}

/// The published methods that [`Method`] is compared with.
///
/// Example: see [`Method`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Baseline {
    /// Sorts level by level into the four quadrants of each node: Gluck, *Fast GPGPU Based Quadtree Construction*
    /// (2014).
    LevelSort,
}

impl Default for Params {
    /// Leaves of at most 20 points, all levels, square cells over the bounds of the points.
    fn default() -> Self {
        Self {
            threshold: 20,
            max_level: MAX_LEVEL,
            bounds: None,
            square: true,
            outside: Outside::default(),
            method: Method::default(),
        }
    }
}

impl Params {
    /// As [`Params::default`].
    pub fn new() -> Self {
        Self::default()
    }

    gpu_core::builders! {
        threshold: u32;
        max_level: u32;
    }

    /// Sets [`bounds`](Self::bounds).
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = Some(bounds);
        self
    }

    gpu_core::builders! {
        square: bool;
        outside: Outside;
        method: Method;
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.threshold == 0 {
            return Err(Error::Threshold);
        }
        if self.max_level > MAX_LEVEL {
            return Err(Error::MaxLevel { level: self.max_level, most: MAX_LEVEL });
        }
        self.bounds.map_or(Ok(()), |bounds| sides(bounds).map(|_| ()))
    }

    /// The frame over the given bounds, or over those of the points.
    pub(crate) fn frame(&self, of_points: Bounds) -> Result<(Frame, Bounds)> {
        let given = self.bounds.unwrap_or(of_points);
        // So that zeros of both signs give the same bytes.
        let bounds = Bounds {
            min_x: given.min_x + 0.0,
            min_y: given.min_y + 0.0,
            max_x: given.max_x + 0.0,
            max_y: given.max_y + 0.0,
        };
        let [mut width, mut height] = sides(bounds)?;
        if self.square {
            width = width.max(height);
            height = width;
        }
        let cells = (1u64 << self.max_level) as f64;
        // If a side has no length, every place is in the first cell, whatever the factor.
        let per_unit = |side: f64| (cells / side).min(f64::MAX);
        let frame = Frame {
            west: bounds.min_x,
            south: bounds.min_y,
            columns_per_unit: per_unit(width),
            rows_per_unit: per_unit(height),
            level: self.max_level,
        };
        let (max_x, max_y) = (bounds.min_x + width, bounds.min_y + height);
        // A sum that is rounded down must not leave a point of the bounds outside.
        let bounds =
            Bounds { max_x: max_x.max(bounds.max_x), max_y: max_y.max(bounds.max_y), ..bounds };
        Ok((frame, bounds))
    }
}

/// The sides of a rectangle.
fn sides(bounds: Bounds) -> Result<[f64; 2]> {
    let sides = [bounds.max_x - bounds.min_x, bounds.max_y - bounds.min_y];
    let is_length = |side: f64| side.is_finite() && side >= 0.0;
    if sides.iter().all(|&side| is_length(side)) {
        Ok(sides)
    } else {
        Err(Error::Bounds { bounds })
    }
}
