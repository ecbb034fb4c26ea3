//! The input of an interpolation, and its checks.

use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, Extent, GridSpec, GridView, Points, ValueRange};

use crate::{Error, Result};

/// Points with any number of values each, which share the geometry; the cells of the DEM, and which of them may have a value.
///
/// Example: see [`interpolate`](crate::interpolate).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The points. Coordinates and values are finite, and values within what an f32 holds.
    pub points: Points<'a>,
    /// The cells of the DEM.
    pub grid: GridSpec,
    /// For each cell, whether it may have a value: 0 means no.
    pub mask: Option<GridView<'a, u8>>,
}

impl<'a> Input<'a> {
    /// Points, and the cells of the DEM; no mask.
    pub fn new(points: Points<'a>, grid: GridSpec) -> Self {
        Self { points, grid, mask: None }
    }

    /// Leaves out the cells where the mask is 0. With the feature `geo`, `gpu_core::geo::mask` makes a mask from
    /// polygons.
    pub fn mask(self, mask: impl Into<GridView<'a, u8>>) -> Self {
        Self { mask: Some(mask.into()), ..self }
    }

    /// Checks the mask and the points, and gives what these lie between.
    pub(crate) fn check(&self) -> Result<Extent> {
        if let Some(mask) = &self.mask {
            check_mask(mask.grid(), &self.grid)?;
        }
        extent_of(&self.points)
    }
}

/// Checks that a mask has the sides of the grid.
pub(crate) fn check_mask(mask: &GridSpec, grid: &GridSpec) -> Result<()> {
    if (mask.width, mask.height) != (grid.width, grid.height) {
        let (rows, columns) = (mask.height as usize, mask.width as usize);
        let (width, height) = (grid.width, grid.height);
        return Err(gpu_core::Error::Shape { rows, columns, width, height }.into());
    }
    Ok(())
}

/// The extent of points that can be interpolated, on all cores.
fn extent_of(points: &Points) -> Result<Extent> {
    points.check_lengths()?;
    if points.is_empty() {
        return Ok(Extent::default());
    }
    let (x, y) = (range_of("x", points.x)?, range_of("y", points.y)?);
    let bounds = Bounds { min_x: x.min, min_y: y.min, max_x: x.max, max_y: y.max };
    let mut ranges = Vec::new();
    for column in points.values {
        let range = range_of("value", column)?;
        if f64::max(-range.min, range.max) > f64::from(f32::MAX) {
            (0..column.len()).try_for_each(|index| check_value(index, column[index]))?;
        }
        ranges.push(range);
    }
    Ok(Extent { bounds: Some(bounds), ranges })
}

/// The range of values, of which there are some. Fails where one is not finite.
fn range_of(what: &'static str, values: &[f64]) -> Result<ValueRange> {
    let of_parts = parallel::map_ranges(values.len(), FINE, &|range| ends_of(&values[range]));
    let of_all = of_parts.into_iter().reduce(Ends::with).unwrap_or(Ends::NONE);
    if of_all.is_finite() {
        return Ok(of_all.range());
    }
    match parallel::first(values.len(), FINE, |i| !values[i].is_finite()) {
        Some(index) => {
            let (index, value) = (index as u64, values[index]);
            Err(gpu_core::Error::NotFinite { what, index, value }.into())
        }
        None => Ok(of_all.range()),
    }
}

/// The ends of some values.
#[derive(Clone, Copy)]
struct Ends {
    least: f64,
    greatest: f64,
    /// Zero times each value, added up: NaN where one is not finite.
    zeros: f64,
}

impl Ends {
    const NONE: Self = Self { least: f64::INFINITY, greatest: f64::NEG_INFINITY, zeros: 0.0 };

    fn with(self, other: Self) -> Self {
        Self {
            least: if other.least < self.least { other.least } else { self.least },
            greatest: if other.greatest > self.greatest { other.greatest } else { self.greatest },
            zeros: self.zeros + other.zeros,
        }
    }

    fn is_finite(self) -> bool {
        self.zeros == 0.0
    }

    fn range(self) -> ValueRange {
        // The positive one of two zeros, whichever came first.
        ValueRange { min: self.least + 0.0, max: self.greatest + 0.0 }
    }
}

/// The ends of a part, eight values at a time.
fn ends_of(values: &[f64]) -> Ends {
    let of = |value: f64| Ends { least: value, greatest: value, zeros: 0.0 * value };
    let (eights, rest) = values.as_chunks::<8>();
    let mut lanes = [Ends::NONE; 8];
    for eight in eights {
        for (lane, value) in lanes.iter_mut().zip(eight) {
            *lane = lane.with(of(*value));
        }
    }
    lanes.into_iter().chain(rest.iter().map(|value| of(*value))).fold(Ends::NONE, Ends::with)
}

fn check_value(index: usize, value: f64) -> Result<()> {
    match value.abs() > f64::from(f32::MAX) {
        true => Err(Error::Value { index: index as u64, value }),
        false => Ok(()),
    }
}

/// Why the point of an index cannot be interpolated.
#[cfg(feature = "cuda")]
pub(crate) fn check_point(points: &Points, index: usize) -> Result<()> {
    let check = |what, value: f64| match value.is_finite() {
        true => Ok(()),
        false => Err(gpu_core::Error::NotFinite { what, index: index as u64, value }),
    };
    check("x", points.x[index])?;
    check("y", points.y[index])?;
    points.values.iter().try_for_each(|column| {
        check("value", column[index])?;
        check_value(index, column[index])
    })
}
