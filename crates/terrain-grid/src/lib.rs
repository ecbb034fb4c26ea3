//! Terrain products of a DEM: slope, aspect, hillshade, curvature, ruggedness, position, roughness and contour lines.
//!
//! A DEM is row-major, row 0 in the north, NaN where there is no value; heights are in ground units, unless a
//! `z_factor` says otherwise. On a GPU ([`gpu`]), a DEM can stay in device memory from interpolation to product.
//!
//! ```
//! use gpu_core::{Device, DeviceChoice, GridSpec, GridView};
//! use terrain_grid::{ContourParams, Product, ProductParams, SlopeUnit, contours, product};
//!
//! # fn main() -> Result<(), terrain_grid::Error> {
//! // A plane that rises by 1 with each column.
//! let dem: Vec<f32> = (0..20).map(|cell| (cell % 5) as f32).collect();
//! let dem = GridView::new(&dem, GridSpec::new(0.0, 4.0, 1.0, 5, 4)?)?;
//! let device = Device::open(DeviceChoice::Cpu)?;
//! let slope = ProductParams::new(Product::Slope(SlopeUnit::Degrees));
//! let slopes = product(&device, dem, &slope)?.into_values();
//! assert!(slopes[0].is_nan() && (slopes[6] - 45.0).abs() < 1e-4); // the border has no slope
//! let lines = contours(&device, dem, &ContourParams::at([1.5]))?;
//! assert_eq!(lines[0].points, [[2.0, 0.5], [2.0, 1.5], [2.0, 2.5], [2.0, 3.5]]);
//! # Ok(())
//! # }
//! ```
//!
//! In degrees of longitude and latitude, where cells are not square on the ground:
//!
//! ```
//! use gpu_core::{Device, GridSpec, GridView};
//! use terrain_grid::{Ground, Product, ProductParams, SlopeUnit, product};
//!
//! # fn main() -> Result<(), terrain_grid::Error> {
//! // At 60 degrees north a degree of longitude has 55,800 m: a rise of 55.8 m over a thousandth is 45 degrees.
//! let dem: Vec<f32> = (0..15).map(|cell| 55.8 * (cell % 5) as f32).collect();
//! let grid = GridSpec::new(10.0, 60.0015, 0.001, 5, 3)?;
//! let slope = ProductParams::new(Product::Slope(SlopeUnit::Degrees)).ground(Ground::degrees_of(&grid));
//! let slopes = product(&Device::Cpu, GridView::new(&dem, grid)?, &slope)?;
//! assert!((slopes.values()[7] - 45.0).abs() < 0.01);
//! # Ok(())
//! # }
//! ```
//!
//! # Methods
//!
//! Gradients are Horn's or Zevenbergen and Thorne's. Horn's gradients are weighted differences over the 3 x 3
//! neighbourhood (Horn, B.K.P., 1981, Hill shading and the reflectance map, doi:10.1109/PROC.1981.11918). Zevenbergen
//! and Thorne's gradients are differences over the four neighbours beside a cell (1987, Quantitative analysis of land
//! surface topography, doi:10.1002/esp.3290120107). Zevenbergen and Thorne's curvatures are the second derivatives of
//! the polynomial through the nine heights. The light is Lambert's.
//!
//! Slopes, aspects, brightnesses, ruggedness, position and roughness agree with `gdaldem` within rounding. gdaldem
//! writes a brightness b as the byte 1 + 254 b. The file docs/internals/terrain-grid.md has all formulas and their
//! sources.
//!
//! Contour lines are by marching squares between cell centres, linear along the squares' sides. A value on the
//! level counts as high. In a saddle, where the two high corners of a square face each other, the corners are
//! joined if the mean of the four is high; else they are apart. Squares with a NaN have no line, so lines end
//! there, as at the border. Lines have the high ground on their right. A line whose points are all one place, as
//! around a single cell on the level, is left out.
//!
//! A DEM that is cut into parts has the same lines: [`contours_of_part`] finds the fragments of lines in each part, and
//! [`join`] joins them.
//!
//! CPU and GPU give the same bits.
#![deny(missing_docs)]

mod contour;
mod cpu;
mod error;
#[cfg(feature = "cuda")]
pub mod gpu;
mod ground;
mod params;
mod parts;
mod product;

use gpu_core::{Grid, GridView, On};
use kernels_rs::terrain::CellPlaces;

use contour::Found;

pub use contour::Contour;
pub use cpu::averaged;
pub use error::{Error, Result};
pub use ground::{Ground, metres_of_degree};
pub use params::{ContourParams, Levels, MAX_LEVELS};
pub use parts::{Fragment, JoinedLine, Part, contours_of_part, join};
pub use product::{
    Angle, Aspect, Curvature, Edges, Gradient, Light, Product, ProductParams, Ruggedness, Shading,
    SlopeUnit,
};

/// Computes a product of every cell of a DEM. The result is NaN where the cell is NODATA. [`Edges`] decides the result
/// of cells beside NODATA and at the border.
///
/// ```
/// use gpu_core::{Device, GridSpec, GridView};
/// use terrain_grid::{Product, ProductParams, product};
///
/// let dem = GridView::new(&[1.0, 1.0, 1.0, 1.0, 5.0, 1.0, 1.0, 1.0, 1.0], GridSpec::of_pixels(3, 3))?;
/// let found = product(&Device::Cpu, dem, &ProductParams::new(Product::Position))?;
/// assert_eq!(found.values()[4], 4.0); // a peak of 5, less the mean of its neighbours
/// assert!(found.values()[0].is_nan()); // at the border
/// # Ok::<(), terrain_grid::Error>(())
/// ```
///
/// # Errors
/// - [`Error::TooLarge`] for the DEM, and [`gpu_core::Error::Parameter`] for the parameters.
/// - [`Error::Cancelled`] where the caller's progress ends the call.
/// - [`Error::Core`] where the grid, memory or the device fails.
pub fn product<'on>(
    on: impl Into<On<'on>>,
    dem: GridView<'_, f32>,
    params: &ProductParams,
) -> Result<Grid<f32>> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::product(dem, params, progress),
        gpu => gpu::product_host(gpu, dem, params, progress),
    )
}

/// Returns the contour lines of a DEM, from the lowest level to the highest. Within a level the open lines come
/// first.
///
/// Work is proportional to the cells, plus the points of the lines.
///
/// ```
/// use gpu_core::{Device, GridSpec, GridView};
/// use terrain_grid::{ContourParams, contours};
///
/// // A peak of 2: the line of height 1 goes round it, halfway to its neighbours.
/// let dem = GridView::new(&[0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0], GridSpec::of_pixels(3, 3))?;
/// let lines = contours(&Device::Cpu, dem, &ContourParams::at([1.0]))?;
/// let (line, (east, north)) = (&lines[0], dem.grid().cell_centre(1, 1));
/// assert!(line.is_closed());
/// assert!(line.points.iter().all(|[x, y]| (x - east).abs() + (y - north).abs() == 0.5));
/// # Ok::<(), terrain_grid::Error>(())
/// ```
///
/// # Errors
/// - The errors of [`product()`].
/// - [`Error::Levels`] where levels do not rise, and [`Error::TooManyLevels`] beyond [`MAX_LEVELS`].
/// - [`gpu_core::Error::TooMany`] beyond 2^32 - 2 pieces.
pub fn contours<'on>(
    on: impl Into<On<'on>>,
    dem: GridView<'_, f32>,
    params: &ContourParams,
) -> Result<Vec<Contour>> {
    let lines = find_contours(on.into(), dem, params, contour::ground(dem.grid(), [0; 2]))?;
    Ok(contour::with_length(lines))
}

/// The contour lines of cells that lie somewhere, and where each begins.
fn find_contours(
    On { device, progress }: On<'_>,
    dem: GridView<'_, f32>,
    params: &ContourParams,
    ground: CellPlaces,
) -> Result<Vec<Found>> {
    gpu_core::on_device!(
        device,
        cpu => cpu::contours(dem, params, ground, progress),
        gpu => gpu::contours_host(gpu, dem, params, ground, progress),
    )
}
