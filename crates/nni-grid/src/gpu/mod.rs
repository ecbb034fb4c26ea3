//! Natural neighbour interpolation on a GPU.
//!
//! [`interpolate`] goes from device memory to device memory, [`interpolate_into`] from the caller's arrays to the
//! caller's arrays. The kernels, with the plan of the algorithms, are in `kernels_rs::nni::exact`,
//! `kernels_rs::nni::pixels` and `kernels_rs::voronoi`. By the method on pixels a call takes about 25 bytes of scratch
//! for each pixel of the Voronoi raster at its peak.
//!
//! # Examples
//!
//! The call has the same form as on the host, with a workspace for the device.
//!
//! ```
//! use gpu_core::{DeviceChoice, Extent, Gpu, GridSpec, Points, UploadedPoints};
//! use nni_grid::Params;
//! use nni_grid::gpu::{Input, Workspace, interpolate};
//!
//! # fn main() -> Result<(), nni_grid::Error> {
//! let gpu = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
//! let mut workspace = Workspace::new(&gpu)?;
//! let (x, y) = ([0.0, 2.0, 0.0, 2.0], [0.0, 0.0, 2.0, 2.0]);
//! let points = Points { x: &x, y: &y, values: &[&[1.0, 2.0, 3.0, 4.0]] };
//! let uploaded = UploadedPoints::new(&gpu, &points)?;
//! let cell = GridSpec::new(0.5, 1.5, 1.0, 1, 1)?; // its centre is (1, 1)
//! let input = Input::new(uploaded.points(Extent::of(&points)?)?, cell);
//! let dem = interpolate(&mut workspace, &input, &Params::new())?; // in device memory
//! assert_eq!(dem.to_host()?.values[0].values(), [2.5]);
//! # Ok(())
//! # }
//! ```

pub(crate) mod dem;
mod host;
mod input;
pub(crate) mod points;
pub(crate) mod small_uploads;

use gpu_core::{Column, DeviceGrid, DevicePoints, Slice};
pub use gpu_scan::gpu::Workspace;

use crate::params::OnGrid;
use crate::pixels::gpu::on_pixels;
use crate::{Method, Params, Result, ValueScale, exact};
use dem::{Counted, Tallies};
use points::{scales_of, values_in_one};

pub use crate::pixels::gpu::streaming::interpolate_into;
pub use dem::DeviceDem;
pub(crate) use host::from_host;
pub use input::Input;

/// Interpolates points that are in device memory, with the bits of [`interpolate`](crate::interpolate). Enqueues
/// and returns, except in the cases below.
///
/// The exact method computes the geometry once for all columns of values. The method on pixels computes it once for
/// every four columns, which takes up to about twice the time of one.
///
/// The call waits for the stream in two cases: with the exact method, for the numbers of sites and of their neighbours;
/// and on pixels with [`Params::hull`], for the sites. In all other cases a graph can capture the call, after the same
/// call has run once outside.
///
/// Example: see [the module](self#examples).
///
/// # Errors
/// - For the parameters and the mask: the errors of [`interpolate`](crate::interpolate).
/// - [`Error::Core`](crate::Error::Core) for the device, and for bounds that are not finite.
/// - [`Error::Core`](crate::Error::Core) with [`Captured`](gpu_core::Error::Captured) where the call would have to
///   wait while the stream captures.
pub fn interpolate(workspace: &mut Workspace, input: &Input, params: &Params) -> Result<DeviceDem> {
    let params = &OnGrid::new(input.grid, params)?;
    input.check()?;
    enqueue(workspace, input, params)
}

/// The same of what was checked.
pub(crate) fn enqueue(
    workspace: &mut Workspace,
    input: &Input,
    params: &OnGrid,
) -> Result<DeviceDem> {
    let (points, mask) = (&input.points, input.mask.as_ref().map(|mask| mask.values()));
    let scales = scales_of(points, params);
    match params.method {
        Method::Exact => exactly(workspace, points, mask, &scales, params),
        Method::Pixels => on_pixels(workspace, points, mask, &scales, params),
    }
}

/// The exact method.
fn exactly(
    workspace: &mut Workspace,
    points: &DevicePoints<'_>,
    mask: Option<Slice<'_, u8>>,
    scales: &[ValueScale],
    params: &OnGrid,
) -> Result<DeviceDem> {
    let gpu = &workspace.gpu().clone();
    let grid = params.grid;
    let mut dem = DeviceDem::new(grid, points.len(), Counted::Exactly, Tallies::new(gpu)?);
    if scales.is_empty() {
        return Ok(dem);
    }
    let values = values_in_one(gpu, points)?;
    let (x, y, z) = (points.x(), points.y(), values.as_slice());
    let all = exact::gpu::Points { x, y, z, scales };
    let layers = exact::gpu::interpolate(workspace, all, params, mask)?;
    let floats = |layer: Option<Column<f32>>| layer.map(|l| DeviceGrid::from_column(l, grid));
    dem.rasters.push((layers.dem, scales.len()));
    dem.counts = layers.counts.map(|l| DeviceGrid::from_column(l, grid)).transpose()?;
    dem.distances = floats(layers.distances).transpose()?;
    dem.deviations = floats(layers.deviations).transpose()?;
    dem.tallies.counts = layers.tallies;
    Ok(dem)
}
