//! Points and targets of the host, checked.

use gpu_core::parallel::{self, FINE};
use gpu_core::{GridSpec, Points, Targets, require_at_most};

use crate::{Error, Result};

/// The most points, and the most targets, of a call.
pub const MAX_POINTS: u64 = (1 << 31) - 1;

/// Coordinates and values are at most this: squares of their differences are numbers.
const MOST: f64 = 1e150;

/// Points, and where to interpolate them.
///
/// Example: see [`interpolate`](crate::interpolate).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The points, with one or more columns of values, interpolated in one pass.
    pub points: Points<'a>,
    /// Where to interpolate.
    pub targets: Targets<'a>,
}

impl<'a> Input<'a> {
    /// Points at targets: a [`GridSpec`], or [`Targets::Points`].
    pub fn new(points: Points<'a>, targets: impl Into<Targets<'a>>) -> Self {
        Self { points, targets: targets.into() }
    }

    pub(crate) fn check(&self) -> Result<()> {
        check_points(&self.points)?;
        check_targets(&self.targets)
    }
}

/// Refuses points that are not places with values.
pub(crate) fn check_points(points: &Points) -> Result<()> {
    points.check_lengths()?;
    require_at_most("points", points.len() as u64, MAX_POINTS)?;
    if points.values.is_empty() {
        return Err(Error::NoValues);
    }
    check_places("point", points.x, points.y)?;
    for column in points.values {
        let bad = parallel::first(column.len(), FINE, |i| !is_good(column[i]));
        if let Some((i, value)) = bad.map(|i| (i as u64, column[i])) {
            check_finite("value", i, value)?;
            return Err(Error::Value { index: i, value });
        }
    }
    Ok(())
}

fn check_targets(targets: &Targets) -> Result<()> {
    require_at_most("targets", targets.len(), MAX_POINTS)?;
    match *targets {
        Targets::Points { x, y } if x.len() != y.len() => {
            let (expected, found) = (x.len() as u64, y.len() as u64);
            let what = "column of targets' y";
            Err(gpu_core::Error::Length { what, expected, found }.into())
        }
        Targets::Points { x, y } => check_places("target", x, y),
        Targets::Grid(grid) => check_grid(grid),
    }
}

/// Refuses a grid whose cells are not places, or too many.
pub(crate) fn check_grid(grid: GridSpec) -> Result<()> {
    let GridSpec { origin_x, origin_y, cell_size, width, height } = grid;
    GridSpec::new(origin_x, origin_y, cell_size, width, height)?;
    require_at_most("targets", grid.cells(), MAX_POINTS)?;
    for (column, row) in [(0, 0), (width.saturating_sub(1), height.saturating_sub(1))] {
        let (x, y) = grid.cell_centre(column, row);
        check_places("target", &[x], &[y])?;
    }
    Ok(())
}

fn check_places(what: &'static str, x: &[f64], y: &[f64]) -> Result<()> {
    let Some(i) = parallel::first(x.len(), FINE, |i| !(is_good(x[i]) && is_good(y[i]))) else {
        return Ok(());
    };
    let (index, x, y) = (i as u64, x[i], y[i]);
    check_finite(if what == "point" { "x of point" } else { "x of target" }, index, x)?;
    check_finite(if what == "point" { "y of point" } else { "y of target" }, index, y)?;
    Err(Error::Place { what, index, x, y })
}

fn check_finite(what: &'static str, index: u64, value: f64) -> Result<()> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(gpu_core::Error::NotFinite { what, index, value }.into())
    }
}

fn is_good(number: f64) -> bool {
    number.abs() <= MOST
}
