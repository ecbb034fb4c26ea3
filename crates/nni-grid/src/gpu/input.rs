//! The input of an interpolation on the device.

use gpu_core::{DevicePoints, GridSlice, GridSpec};

use crate::Result;
use crate::input::check_mask;

/// Points in device memory, with any number of values each; the cells of the DEM, and a mask of cells that may have
/// a value.
///
/// The fixed-point scale of the values follows from their ranges in the points' extent. Whatever the device memory
/// holds, a call reads and writes nothing outside of it:
///
/// - A place outside the extent's bounds counts like any other place. With the exact method, coordinates that need too
///   many bits together are an error: [`Error::Range`](crate::Error::Range).
/// - A place that is not finite does not count. (With the exact method the summary counts it as merged.)
/// - With the method on pixels, a value beyond its range is clamped: to at most half of the range beyond the range's
///   end. A point whose value is not finite, or too large for an f32, does not count.
/// - With the exact method, the cells around such a point get values without meaning.
///
/// Example: see [the module](crate::gpu#examples).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The points.
    pub points: DevicePoints<'a>,
    /// The cells of the DEM.
    pub grid: GridSpec,
    /// For each cell, whether it may have a value: 0 means no.
    pub mask: Option<GridSlice<'a, u8>>,
}

impl<'a> Input<'a> {
    /// Points, and the cells of the DEM; no mask.
    pub fn new(points: DevicePoints<'a>, grid: GridSpec) -> Self {
        Self { points, grid, mask: None }
    }

    /// Leaves out the cells where the mask is 0.
    pub fn mask(self, mask: impl Into<GridSlice<'a, u8>>) -> Self {
        Self { mask: Some(mask.into()), ..self }
    }

    /// Checks what the host can know.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(mask) = &self.mask {
            check_mask(mask.grid(), &self.grid)?;
        }
        let bounds = self.points.extent().bounds;
        let ends = bounds.map(|b| [b.min_x, b.min_y, b.max_x, b.max_y]).unwrap_or_default();
        match ends.iter().position(|end| !end.is_finite()) {
            Some(index) => {
                let (what, value) = ("bound", ends[index]);
                Err(gpu_core::Error::NotFinite { what, index: index as u64, value }.into())
            }
            None => Ok(()),
        }
    }
}
