//! What a caller gives to be interpolated, checked.

use gpu_core::{Extent, GridSpec, GridView, Points};

use crate::{Error, Result};

/// Points with any number of values each, which share the geometry, and which cells may have a value.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The points. Coordinates and values are finite, and values within what an f32 holds.
    pub points: Points<'a>,
    /// For each cell, whether it may have a value: not 0.
    pub mask: Option<GridView<'a, u8>>,
}

impl<'a> Input<'a> {
    /// Points, and no mask.
    pub fn new(points: Points<'a>) -> Self {
        Self { points, mask: None }
    }

    /// Leaves out the cells where the mask is 0.
    pub fn mask(self, mask: impl Into<GridView<'a, u8>>) -> Self {
        Self { mask: Some(mask.into()), ..self }
    }

    /// Checks the mask and the points, and gives what these lie between.
    pub(crate) fn check(&self, grid: &GridSpec) -> Result<Extent> {
        if let Some(mask) = &self.mask {
            check_mask(mask.grid(), grid)?;
        }
        extent_of(&self.points)
    }
}

impl<'a> From<Points<'a>> for Input<'a> {
    fn from(points: Points<'a>) -> Self {
        Self::new(points)
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

/// The extent of points that can be interpolated.
fn extent_of(points: &Points) -> Result<Extent> {
    let extent = Extent::of(points)?;
    for (column, range) in points.values.iter().zip(&extent.ranges) {
        if f64::max(-range.min, range.max) > f64::from(f32::MAX) {
            (0..column.len()).try_for_each(|index| check_value(index, column[index]))?;
        }
    }
    Ok(extent)
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
