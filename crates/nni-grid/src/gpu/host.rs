//! From host columns to host rasters, by either method.

use gpu_core::{Column, Extent, Gpu, Grid, GridSlice, Progress, UploadedPoints, host_memory};
use gpu_scan::gpu::Workspace;

use crate::params::OnGrid;
use crate::pixels::gpu::streaming::{beyond_streaming, interpolate_into};
use crate::{Dem, Input, Result};

/// [`interpolate`](crate::interpolate) on a GPU, from host to host. Waits for the result.
pub(crate) fn from_host(
    gpu: &Gpu,
    input: &Input,
    params: &OnGrid,
    progress: &dyn Progress,
) -> Result<Dem> {
    let mut workspace = Workspace::new(gpu)?;
    match beyond_streaming(input, params).is_none() {
        true => streamed(&mut workspace, *input, params, progress),
        false => at_once(&mut workspace, input, params, progress),
    }
}

/// By [`interpolate_into`].
fn streamed(
    workspace: &mut Workspace,
    input: Input<'_>,
    params: &OnGrid,
    progress: &dyn Progress,
) -> Result<Dem> {
    let (grid, cells) = (params.grid, params.grid.cells() as usize);
    let mut values = host_memory::zeroed(cells)?;
    let mut counts = match params.counts {
        true => Some(host_memory::zeroed(cells)?),
        false => None,
    };
    let into = counts.as_deref_mut();
    let summary = interpolate_into(workspace, input, params, &mut values, into, progress)?;
    let values = vec![Grid::new(values, grid)?];
    let counts = counts.map(|counts| Grid::new(counts, grid)).transpose()?;
    Ok(Dem { grid, values, counts, distances: None, deviations: None, summary })
}

/// By [`interpolate`](super::interpolate), between copies of everything.
fn at_once(
    workspace: &mut Workspace,
    input: &Input,
    params: &OnGrid,
    progress: &dyn Progress,
) -> Result<Dem> {
    let extent = input.check()?;
    progress.at("to the device", 0.0)?;
    let on_device = Uploaded::new(workspace.gpu(), input)?;
    progress.at("interpolate", 0.0)?;
    let dem = super::enqueue(workspace, &on_device.input(input, extent)?, params)?;
    drop(on_device);
    let dem = dem.to_host()?;
    progress.at("interpolate", 1.0)?;
    Ok(dem)
}

/// An input's columns on the device.
struct Uploaded {
    points: UploadedPoints,
    mask: Option<Column<u8>>,
}

impl Uploaded {
    fn new(gpu: &Gpu, input: &Input) -> Result<Self> {
        let mask = input.mask.map(|mask| gpu.upload(mask.values())).transpose()?;
        Ok(Self { points: UploadedPoints::new(gpu, &input.points)?, mask })
    }

    fn input(&self, host: &Input, extent: Extent) -> Result<super::Input<'_>> {
        let input = super::Input::new(self.points.points(extent)?, host.grid);
        Ok(match (&self.mask, &host.mask) {
            (Some(mask), Some(host)) => input.mask(GridSlice::new(mask, *host.grid())?),
            _ => input,
        })
    }
}
