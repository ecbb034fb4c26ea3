//! The transform on a GPU, over device memory.
//!
//! [`transform`] takes slices and returns rasters that stay on the device. It enqueues and returns. The kernels, with
//! the plans of both methods, are in `kernels_rs::voronoi`.
//!
//! # Examples
//!
//! The calls have the same form as on the host, with a handle for the device.
//!
//! ```
//! use gpu_core::{DeviceChoice, Gpu, GridSpec};
//! use pba_voronoi::Params;
//! use pba_voronoi::gpu::{Input, Sites, transform};
//!
//! # fn main() -> Result<(), pba_voronoi::Error> {
//! let gpu = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
//! let mask = gpu.upload(&[1u8, 0, 0, 0, 0, 1])?;
//! let input = Input::new(Sites::Mask((&mask).into()), GridSpec::of_pixels(6, 1));
//! let diagram = transform(&gpu, &input, &Params::new().distance())?; // in device memory
//! let distance = diagram.distance.unwrap().to_host()?;
//! assert_eq!(distance.values(), [0.0, 1.0, 2.0, 2.0, 1.0, 0.0]);
//! # Ok(())
//! # }
//! ```

mod baselines;
mod bits;
mod derived;
mod diagram;
mod globe;
mod host;
mod input;
mod outputs;
mod winners;

use device_std::host::Kernel;
use gpu_core::{Blocks, DeviceGrid, Gpu, GridSlice, GridSpec};

pub use diagram::{Diagram, Integers};
pub use globe::DeviceGlobe;
pub(crate) use host::{geodesic_host, transform_host};
pub use input::{Input, Sites, Strip};

use crate::limits::check_short;
use crate::metric::Metric;
use crate::{Error, Params, Result};
use bits::Bits;
use globe::OnGlobe;
use outputs::Sources;
use winners::Winners;

/// Computes the [transform](crate::transform) of a raster in device memory, with the same bits as on the CPU.
///
/// It enqueues on the handle and returns; after one call it can be captured. Scratch, beside the outputs:
///
/// - 2.2 bytes a pixel, or 4.2 beyond 60,000 columns or where pixels are not square.
/// - With [`Baseline::ScanPrune`](crate::Baseline::ScanPrune) 13 bytes a pixel.
/// - For the values of listed sites 12 bytes a pixel more.
///
/// The call ignores listed sites outside the raster. The same holds for sites of a [`Strip`] that do not lie beyond it.
/// The call cannot refuse such sites, since the host does not see them.
///
/// Example: see [the module](self#examples).
///
/// # Errors
/// - For the input: [`Error::TooLarge`], [`gpu_core::Error::Length`] and [`Error::Strip`].
/// - For the parameters: [`Error::Spacing`], [`gpu_core::Error::Parameter`], [`Error::Missing`] and
///   [`Error::Unsupported`].
/// - [`Error::Core`] where memory or the device fails.
pub fn transform(gpu: &Gpu, input: &Input<'_>, params: &Params) -> Result<Diagram> {
    let metric = params.check(&input.shape())?;
    let mut diagram = Diagram::new(input.grid, metric.scale * metric.scale);
    let sources = Sources::new(gpu, input, metric)?;
    sources.each_output(params, |output| {
        diagram.set(output);
        Ok(())
    })?;
    Ok(diagram)
}

/// Computes the transform of a raster in longitude and latitude in device memory, by great circles. The bits are the
/// same as from [`geodesic`](crate::geodesic()) on the CPU. The result's `square_unit` is 0.
///
/// It enqueues on the handle and returns; after one call it can be captured. Scratch, beside the outputs, is 16
/// bytes a pixel.
///
/// ```
/// use gpu_core::{DeviceChoice, Gpu, GridSpec};
/// use pba_voronoi::gpu::{DeviceGlobe, Input, Sites, geodesic};
/// use pba_voronoi::{Globe, Params};
///
/// # fn main() -> Result<(), pba_voronoi::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// // Three pixels of 90 degrees along the equator; the site is the western one.
/// let (mask, grid) = (gpu.upload(&[1u8, 0, 0])?, GridSpec::of_pixels(3, 1));
/// let globe = Globe::new([0.0, 45.0], [90.0, 90.0]);
/// let there = DeviceGlobe::new(&gpu, &globe, 3, 1)?;
/// let input = Input::new(Sites::Mask((&mask).into()), grid);
/// let diagram = geodesic(&gpu, &input, &there, &Params::new().distance_f64())?;
/// let metres = diagram.distance_f64.unwrap().to_host()?.into_values();
/// assert_eq!((metres[0], metres[2]), (0.0, std::f64::consts::PI * globe.radius));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::GlobeShape`] for a globe of another raster, [`Error::NotOnGlobe`] for squared distances, parts, a spacing, strips of a raster with a row at a pole
/// and [`Baseline::ScanPrune`](crate::Baseline::ScanPrune), and otherwise as [`transform`].
pub fn geodesic(
    gpu: &Gpu,
    input: &Input<'_>,
    globe: &DeviceGlobe,
    params: &Params,
) -> Result<Diagram> {
    params.check_on_globe(&input.shape())?;
    globe.check(&input.shape())?;
    let metric = Metric::pixels(input.grid.width, input.grid.height);
    let mut diagram = Diagram::new(input.grid, 0.0);
    let on_globe = OnGlobe::new(globe, input, params.max_distance);
    Sources::new(gpu, input, metric)?.on_globe(on_globe).each_output(params, |output| {
        diagram.set(output);
        Ok(())
    })?;
    Ok(diagram)
}

/// The nearest site's linear index (row * width + column) for each pixel of a mask in device memory, or
/// [`NONE`](crate::NONE). The bits are the same as on the CPU. Enqueues and returns.
///
/// ```
/// use gpu_core::{DeviceChoice, DeviceGrid, Gpu, GridSpec, GridView};
/// use pba_voronoi::gpu::nearest_sites;
///
/// # fn main() -> Result<(), pba_voronoi::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// let mask = GridView::new(&[1u8, 0, 0, 1], GridSpec::of_pixels(4, 1))?;
/// let nearest = nearest_sites(&gpu, &DeviceGrid::upload(&gpu, mask)?)?;
/// assert_eq!(nearest.to_host()?.values(), [0, 0, 3, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::TooLarge`], [`Error::Core`].
pub fn nearest_sites<'a>(
    gpu: &Gpu,
    sites: impl Into<GridSlice<'a, u8>>,
) -> Result<DeviceGrid<u32>> {
    let sites = sites.into();
    let GridSpec { width, height, .. } = *sites.grid();
    check_short(width, height)?;
    let bits = Bits::of(gpu, &sites.into())?;
    match Winners::find(gpu, &bits, Metric::pixels(width, height), None)?.indices(gpu)? {
        Integers::U32(nearest) => Ok(nearest),
        Integers::U64(_) => Err(Error::TooLarge { width, height }),
    }
}

/// Most blocks of a grid in y; the kernels stride over the rest.
const MAX_BLOCKS_Y: u32 = 65_535;

/// A row of blocks, if a grid can have as many.
fn blocks_x<A>(kernel: &Kernel<A>, blocks: u64) -> Result<Blocks> {
    match i32::try_from(blocks) {
        Ok(blocks) => Ok(Blocks::x(blocks as u32)),
        Err(_) => Err(gpu_core::Error::LaunchTooLarge { kernel: kernel.host.name, blocks }.into()),
    }
}
