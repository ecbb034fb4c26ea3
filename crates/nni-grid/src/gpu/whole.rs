//! From host columns to host rasters, by either method.

use gpu_core::{
    Column, DevicePoints, Extent, Gpu, Grid, GridSlice, Points, Progress, Slice, host_memory,
};
use gpu_scan::gpu::Workspace;

use crate::pixels::gpu::streaming::{beyond_streaming, interpolate_into};
use crate::{Dem, Input, Params, Result};

/// [`interpolate`](crate::interpolate) on a GPU, from host to host. Waits for the result.
pub(crate) fn from_host(
    gpu: &Gpu,
    input: &Input,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Dem> {
    params.check()?;
    let mut workspace = Workspace::new(gpu)?;
    match input.mask.is_none() && beyond_streaming(&input.points, params).is_none() {
        true => streamed(&mut workspace, input.points, params, progress),
        false => at_once(&mut workspace, input, params, progress),
    }
}

/// By [`interpolate_into`].
fn streamed(
    workspace: &mut Workspace,
    points: Points,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Dem> {
    let (grid, cells) = (params.grid, params.grid.cells() as usize);
    let mut values = host_memory::zeroed(cells)?;
    let mut counts = match params.counts {
        true => Some(host_memory::zeroed(cells)?),
        false => None,
    };
    let into = counts.as_deref_mut();
    let summary = interpolate_into(workspace, points, params, &mut values, into, progress)?;
    let values = vec![Grid::new(values, grid)?];
    let counts = counts.map(|counts| Grid::new(counts, grid)).transpose()?;
    Ok(Dem { grid, values, counts, distances: None, deviations: None, summary })
}

/// By [`interpolate`](super::interpolate), between copies of everything.
fn at_once(
    workspace: &mut Workspace,
    input: &Input,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Dem> {
    let extent = input.check(&params.grid)?;
    progress.at("to the device", 0.0)?;
    let on_device = Uploaded::new(workspace.gpu(), input)?;
    progress.at("interpolate", 0.0)?;
    let dem = super::interpolate(workspace, &on_device.input(input, extent)?, params)?;
    drop(on_device);
    let dem = dem.to_host()?;
    progress.at("interpolate", 1.0)?;
    Ok(dem)
}

/// An input's columns on the device.
struct Uploaded {
    x: Column<f64>,
    y: Column<f64>,
    values: Vec<Column<f64>>,
    mask: Option<Column<u8>>,
}

impl Uploaded {
    fn new(gpu: &Gpu, input: &Input) -> Result<Self> {
        let values = input.points.values.iter().map(|column| gpu.upload(column));
        Ok(Self {
            x: gpu.upload(input.points.x)?,
            y: gpu.upload(input.points.y)?,
            values: values.collect::<Result<_, _>>()?,
            mask: input.mask.map(|mask| gpu.upload(mask.values())).transpose()?,
        })
    }

    fn input(&self, host: &Input, extent: Extent) -> Result<super::Input<'_>> {
        let values = self.values.iter().map(Slice::from);
        let input = super::Input::new(DevicePoints::new(&self.x, &self.y, values, extent)?);
        Ok(match (&self.mask, &host.mask) {
            (Some(mask), Some(host)) => input.mask(GridSlice::new(mask, *host.grid())?),
            _ => input,
        })
    }
}
