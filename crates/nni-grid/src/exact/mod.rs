//! The exact method: what CPU and GPU share.
//!
//! The plan, and the geometry, are in `kernels_rs::nni::exact`.

pub(crate) mod cpu;
pub(crate) mod dependence;
#[cfg(feature = "cuda")]
pub(crate) mod gpu;
mod hull;

use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, GridSpec};
use kernels_rs::nni::exact::index::FARTHEST;
use kernels_rs::nni::exact::scene::Scene;
use kernels_rs::nni::exact::weights::{LAPLACE, SIBSON, SMOOTH};
use kernels_rs::nni::finish::{FILL_NEAREST, FILL_NOT, FILL_VALUE};
use kernels_rs::spatial::cells::Cells;

use crate::{Duplicates, Error, Fill, Params, Result, Weights};

use hull::{Hull, row_bounds};

/// Points of a cell of the index, about.
const POINTS_OF_CELL: f64 = 2.0;

/// Points of a cell of the DEM beyond which a query clips its own cell: rings of all sites would cost more.
const MOST_OF_CELL: u64 = 4;

/// Half the side of the window round a query point without a radius, in extents of the data: so far away
/// that it does not show, and near enough for exact arithmetic.
const FAR: f64 = (1 << 20) as f64;

/// The most points: indices are `u32`, and a few of them have a meaning of their own.
const MOST_POINTS: usize = u32::MAX as usize - 8;

/// The shortest side of a cell, 2^-200, and the longest of a grid, 2^200.
///
/// The times at which a line reaches a corner are quotients of sums of products of four lengths. The longest length
/// is the diagonal of the window, below 2^22 sides of the grid, so its fourth power is below 2^(4 x 222). The
/// shortest that is told apart is 2^-52 cells, and its fourth power is 2^(-4 x 252), a normal number. All other
/// products have fewer factors.
const LONGEST: f64 = LONGEST_OF_GRADIENTS * LONGEST_OF_GRADIENTS;

/// The longest side of a grid with gradients, 2^100, and one over the shortest of a cell: gradients are f32, values over
/// lengths.
const LONGEST_OF_GRADIENTS: f64 = (1_u128 << 100) as f64;

/// How far from the grid a point must lie where others are too far to count where they are.
const NEAR_ENOUGH: f64 = LONGEST;

/// Checks that products of lengths, and gradients, neither overflow nor vanish.
fn check_lengths(grid: &GridSpec, weights: Weights) -> Result<()> {
    let (cell_size, area) = (grid.cell_size, grid.bounds());
    let extent = (area.max_x - area.min_x).max(area.max_y - area.min_y);
    let longest = if weights == Weights::SibsonC1 { LONGEST_OF_GRADIENTS } else { LONGEST };
    let shortest = 1.0 / longest;
    match cell_size >= shortest && extent <= longest {
        true => Ok(()),
        false => Err(Error::Lengths { cell_size, extent, shortest, longest }),
    }
}

/// Where points lie that are indexed, and what is asked of the cells of the DEM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// What is asked.
    pub scene: Scene,
    /// Bounds of the points, where they count.
    bounds: Bounds,
    /// The middle of the grid, where some points are too far from it to count where they are ([`drawn_in`]).
    pub drawn_to: Option<[f64; 2]>,
    /// How far from the middle some point lies at most, in x or y.
    reach: f64,
    /// Bounds of the index: of the points that are not far from the grid.
    pub indexed: Bounds,
    /// Points.
    points: usize,
    /// Whether cells are interpolated by the rings of sites.
    pub has_rings: bool,
    /// Whether by wide ones, too: where the window is narrow nothing is far.
    pub has_wide_rings: bool,
}

impl Setup {
    /// Checks the parameters and lays out the index of points within `bounds`.
    pub fn of(params: &Params, bounds: Option<Bounds>, points: usize) -> Result<Self> {
        params.check()?;
        if points > MOST_POINTS {
            return Err(Error::TooManyPoints { points });
        }
        let grid = params.grid;
        let area = grid.bounds();
        check_lengths(&grid, params.weights)?;
        let (bounds, drawn_to, reach) = draw_in(bounds.unwrap_or(area), area);
        let united = Bounds {
            min_x: bounds.min_x.min(area.min_x),
            min_y: bounds.min_y.min(area.min_y),
            max_x: bounds.max_x.max(area.max_x),
            max_y: bounds.max_y.max(area.max_y),
        };
        let extent = (united.max_x - united.min_x).max(united.max_y - united.min_y);
        let half_extent = (extent * FAR).max(f64::MIN_POSITIVE);
        let squared = |cells: f64| (cells * grid.cell_size) * (cells * grid.cell_size);
        // Where there is no point at all, no cell looks for one.
        let max_squared = if points == 0 { 0.0 } else { squared(params.max_distance) };
        let needs_nearest = points > 0 && (params.distances || params.fill == Fill::Nearest);
        let (fill, fill_value) = match params.fill {
            Fill::Nodata => (FILL_NOT, 0.0),
            Fill::Nearest => (FILL_NEAREST, 0.0),
            Fill::Value(value) => (FILL_VALUE, value),
        };
        let scene = Scene {
            origin_x: grid.origin_x,
            origin_y: grid.origin_y,
            cell_size: grid.cell_size,
            columns: grid.width,
            half_window: (params.query_radius * grid.cell_size).min(half_extent),
            half_extent,
            // A site at the distance itself is near enough.
            give_up: if needs_nearest { f64::INFINITY } else { max_squared.next_up() },
            max_squared,
            weights: match params.weights {
                Weights::Sibson => SIBSON,
                Weights::Laplace => LAPLACE,
                Weights::SibsonC1 => SMOOTH,
            },
            fill,
            fill_value,
            has_deviations: params.deviations,
        };
        // The gradients want them anyway.
        let has_rings =
            params.weights == Weights::SibsonC1 || points as u64 <= MOST_OF_CELL * grid.cells();
        let has_wide_rings = has_rings && params.query_radius == f64::INFINITY;
        let indexed = near(bounds, area);
        Ok(Self { scene, bounds, drawn_to, reach, indexed, points, has_rings, has_wide_rings })
    }

    /// Where a point must lie, if some are drawn in, and what is to be said where none does.
    pub fn surroundings(&self, grid: &GridSpec) -> (Bounds, Error) {
        let area = grid.bounds();
        let around = Bounds {
            min_x: area.min_x - NEAR_ENOUGH,
            min_y: area.min_y - NEAR_ENOUGH,
            max_x: area.max_x + NEAR_ENOUGH,
            max_y: area.max_y + NEAR_ENOUGH,
        };
        (around, Error::FarPoints { reach: self.reach, most: FARTHEST, near: NEAR_ENOUGH })
    }

    /// Whether the cells of places have no limit, so that outside the hull they have no end.
    pub fn is_unlimited(&self) -> bool {
        self.scene.half_window >= self.scene.half_extent
    }

    /// The farthest that a cell of the DEM and a point, or two of these, are from each other.
    pub fn diagonal(&self) -> f64 {
        self.scene.half_extent / FAR * std::f64::consts::SQRT_2
    }

    /// Whether some points may lie beyond the index's bounds, so that those within must be counted.
    pub fn has_far_points(&self) -> bool {
        self.indexed != self.bounds
    }

    /// The cells of the index, for the number of points within its bounds, or for all.
    pub fn cells(&self, indexed: Option<usize>) -> Cells {
        let Bounds { min_x, min_y, max_x, max_y } = self.indexed;
        let (width, height) = (max_x - min_x, max_y - min_y);
        let wanted = (indexed.unwrap_or(self.points) as f64 / POINTS_OF_CELL).max(1.0);
        // Also where all points are in line.
        let side = ((width / wanted).sqrt() * height.sqrt()).max(width.max(height) / wanted);
        let side = if side > 0.0 && side.is_finite() { side } else { self.scene.cell_size };
        let count = |length: f64| ((length / side).ceil().max(1.0)) as u32;
        Cells {
            west: min_x,
            south: min_y,
            side,
            per_unit: 1.0 / side,
            columns: count(width),
            rows: count(height),
        }
    }
}

/// Bounds of the points where they count, the middle of the area if that is not where they are, and how far they reach
/// from there.
fn draw_in(bounds: Bounds, area: Bounds) -> (Bounds, Option<[f64; 2]>, f64) {
    let middle = [area.min_x.midpoint(area.max_x), area.min_y.midpoint(area.max_y)];
    let ways = [
        middle[0] - bounds.min_x,
        bounds.max_x - middle[0],
        middle[1] - bounds.min_y,
        bounds.max_y - middle[1],
    ];
    let reach = ways.into_iter().fold(0.0, f64::max);
    if reach <= FARTHEST {
        return (bounds, None, reach);
    }
    let [x, y] = middle;
    let drawn = Bounds {
        min_x: bounds.min_x.max(x - FARTHEST),
        min_y: bounds.min_y.max(y - FARTHEST),
        max_x: bounds.max_x.min(x + FARTHEST),
        max_y: bounds.max_y.min(y + FARTHEST),
    };
    (drawn, Some(middle), reach)
}

/// What of some bounds is not farther from an area than that is large; all where nothing is.
fn near(bounds: Bounds, area: Bounds) -> Bounds {
    let (width, height) = (area.max_x - area.min_x, area.max_y - area.min_y);
    let part = Bounds {
        min_x: bounds.min_x.max(area.min_x - width),
        min_y: bounds.min_y.max(area.min_y - height),
        max_x: bounds.max_x.min(area.max_x + width),
        max_y: bounds.max_y.min(area.max_y + height),
    };
    if part.min_x <= part.max_x && part.min_y <= part.max_y { part } else { bounds }
}

/// How many points lie within bounds.
pub(crate) fn count_within(x: &[f64], y: &[f64], b: Bounds) -> usize {
    let is_within =
        |i: usize| b.min_x <= x[i] && x[i] <= b.max_x && b.min_y <= y[i] && y[i] <= b.max_y;
    parallel::count(x.len(), FINE, is_within) as usize
}

/// The kernels' number of a policy.
pub(crate) fn policy_of(duplicates: Duplicates) -> u32 {
    use kernels_rs::nni::rasterise::{FIRST, LAST, MAX, MEAN, MIN};
    match duplicates {
        Duplicates::Mean => MEAN,
        Duplicates::Min => MIN,
        Duplicates::Max => MAX,
        Duplicates::First => FIRST,
        Duplicates::Last => LAST,
    }
}
