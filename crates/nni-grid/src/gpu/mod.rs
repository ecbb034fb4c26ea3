//! Natural neighbour interpolation on a GPU.
//!
//! [`interpolate`] goes from device memory to device memory, [`interpolate_into`] from arrays of the caller's
//! to arrays of the caller's. The kernels, with the plan of the algorithms, are in `kernels_rs::nni::exact`,
//! `kernels_rs::nni::pixels` and `kernels_rs::voronoi`. By the method on pixels a call takes about 25 bytes of
//! scratch for each pixel of the Voronoi raster at its peak.

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
/// The call waits for the stream in two cases: with the exact method, for the numbers of sites and of their
/// neighbours; and on pixels with [`Params::hull`], for the sites. All else can be captured into a graph, after the
/// same call has run once outside.
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
