//! Slope, hillshade and contour lines of a DEM: what people look at.
//!
//! A DEM is row-major, row 0 in the north, NaN where there is no value; heights are in ground units,
//! unless a `z_factor` says otherwise. On the GPU ([`gpu`]) a DEM stays in device memory from
//! interpolation to product.
//!
//! ```
//! use gpu_core::{Device, DeviceChoice, GridSpec, GridView};
//! use terrain_grid::{ContourParams, SlopeParams, contours, slope};
//!
//! # fn main() -> Result<(), terrain_grid::Error> {
//! // A plane that rises by 1 with each column.
//! let dem: Vec<f32> = (0..20).map(|cell| (cell % 5) as f32).collect();
//! let dem = GridView::new(&dem, GridSpec::new(0.0, 4.0, 1.0, 5, 4)?)?;
//! let device = Device::open(DeviceChoice::Cpu)?;
//! let slopes = slope(&device, dem, &SlopeParams::new())?.into_values();
//! assert!(slopes[0].is_nan() && (slopes[6] - 45.0).abs() < 1e-4); // the border has no slope
//! let lines = contours(&device, dem, &ContourParams::at([1.5]))?;
//! assert_eq!(lines[0].points, [[2.0, 0.5], [2.0, 1.5], [2.0, 2.5], [2.0, 3.5]]);
//! # Ok(())
//! # }
//! ```
//!
//! # Methods
//!
//! Gradients are Horn's: weighted differences over the 3 x 3 neighbourhood (Horn, B.K.P., 1981, Hill
//! shading and the reflectance map, doi:10.1109/PROC.1981.11918). The light is Lambert's. Slopes and
//! brightnesses agree with `gdaldem slope` and `gdaldem hillshade` within rounding (gdaldem writes a
//! brightness b as the byte 1 + 254 b).
//!
//! Contour lines are by marching squares between cell centres, linear along the squares' sides. A
//! value on the level counts as high. In a saddle, where the two high corners of a square face each
//! other, they are joined if the mean of the four is high; else they are apart. Squares with a NaN
//! have no line, so lines end there, as at the border. Lines have the high ground on their right.
//!
//! CPU and GPU give the same bits.
#![deny(missing_docs)]

mod contour;
pub mod cpu;
mod error;
pub mod geographic;
#[cfg(feature = "cuda")]
pub mod gpu;
mod params;

use gpu_core::{Grid, GridView, On};

pub use contour::Contour;
pub use error::{Error, Result};
pub use params::{
    ContourParams, Edges, HillshadeParams, Levels, MAX_LEVELS, SlopeParams, SlopeUnit,
};

/// The slope of every cell; NaN where the cell is NODATA and, by [`Edges`], beside NODATA and at the
/// border.
///
/// # Errors
/// [`Error::TooLarge`], [`gpu_core::Error::Parameter`], [`Error::Cancelled`], and [`Error::Core`] where the grid, memory
/// or the device fails.
pub fn slope<'on>(
    on: impl Into<On<'on>>,
    dem: GridView<'_, f32>,
    params: &SlopeParams,
) -> Result<Grid<f32>> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::slope(dem, params, progress),
        gpu => gpu::slope_host(gpu, dem, params, progress),
    )
}

/// The brightness of every cell, from 0 in shadow to 1 where the light falls at a right angle; NaN
/// as by [`slope`].
///
/// # Errors
/// As [`slope`].
pub fn hillshade<'on>(
    on: impl Into<On<'on>>,
    dem: GridView<'_, f32>,
    params: &HillshadeParams,
) -> Result<Grid<f32>> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::hillshade(dem, params, progress),
        gpu => gpu::hillshade_host(gpu, dem, params, progress),
    )
}

/// The contour lines of a DEM, from the lowest level to the highest; in a level the open lines
/// first.
///
/// Work is proportional to the cells, plus the points of the lines.
///
/// # Errors
/// As [`slope`], [`Error::Levels`] where levels do not rise, [`Error::TooManyLevels`] beyond
/// [`MAX_LEVELS`], and [`gpu_core::Error::TooMany`] beyond 2^32 - 2 pieces.
pub fn contours<'on>(
    on: impl Into<On<'on>>,
    dem: GridView<'_, f32>,
    params: &ContourParams,
) -> Result<Vec<Contour>> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::contours(dem, params, progress),
        gpu => gpu::contours_host(gpu, dem, params, progress),
    )
}
