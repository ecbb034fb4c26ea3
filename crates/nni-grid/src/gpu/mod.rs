//! Natural neighbour interpolation on a GPU.
//!
//! [`interpolate`] goes from device memory to device memory, [`interpolate_into`] from arrays of the caller's
//! to arrays of the caller's. The kernels, with the plan of the algorithms, are in `kernels_rs::nni::exact`,
//! `kernels_rs::nni` and `kernels_rs::voronoi`. By the method on pixels a call takes about 25 bytes of
//! scratch for each pixel of the Voronoi raster at its peak.

mod boxed;
mod dem;
mod finish;
mod group;
mod input;
mod points;
pub(crate) mod put;
mod query;
mod rasterise;
mod turned;
mod weighted;
mod whole;

use gpu_core::{Column, DeviceGrid};
pub use gpu_scan::gpu::Workspace;

use crate::limits::QueryLimits;
use crate::{Method, Params, Result, ValueScale, Weights, exact};
use dem::Counted;
use group::Group;
use points::{Admitted, Part, scales_of};
use query::{Cells, Queries, Sites};
use rasterise::{Pixels, Tallies};
use turned::Turned;

pub use dem::DeviceDem;
pub use input::Input;
pub(crate) use whole::from_host;
pub use whole::interpolate_into;

/// [`interpolate`](crate::interpolate) of points that are in device memory: the same bits. Enqueues and
/// returns, but as said below.
///
/// The geometry is worked out once for all columns of values, or with the method on pixels once for each four,
/// which takes up to about twice the time of one.
///
/// It waits for the stream in two cases: by the exact method, for the numbers of sites and of their neighbours; and on
/// pixels with [`Params::hull`], for the sites. All else can be captured into a graph, after the same call has run once
/// outside.
///
/// # Errors
/// As [`interpolate`](crate::interpolate) for the parameters and the mask; [`Error::Core`](crate::Error::Core)
/// for the device, for bounds that are not finite, and with [`Captured`](gpu_core::Error::Captured) where it
/// would have to wait while the stream captures.
pub fn interpolate(workspace: &mut Workspace, input: &Input, params: &Params) -> Result<DeviceDem> {
    params.check()?;
    input.check(&params.grid)?;
    let gpu = workspace.gpu().clone();
    let points = Admitted::new(&gpu, &input.points, input.mask.as_ref())?;
    let scales = scales_of(&input.points, params);
    match params.method {
        Method::Exact => exactly(workspace, &points, &scales, params),
        Method::Pixels => on_pixels(workspace, &points, &scales, params),
    }
}

/// The method on pixels.
fn on_pixels(
    workspace: &mut Workspace,
    points: &Admitted,
    scales: &[ValueScale],
    params: &Params,
) -> Result<DeviceDem> {
    let (gpu, mask) = (&workspace.gpu().clone(), points.mask());
    let limits = QueryLimits::of(params)?;
    let is_finished = params.needs_finish(!mask.is_null());
    let counted = if is_finished { Counted::Finished } else { Counted::Queried };
    let mut dem = DeviceDem::new(params.grid, points.x().len(), counted, Tallies::new(gpu)?);
    let mut diagram = None;
    for group in group::groups(scales.len(), &limits, params) {
        // The layers beside the values are those of the first group.
        let is_first = group.start == 0;
        let params = if is_first { *params } else { params.values_alone() };
        let part = points.part(group.clone());
        let group = Group::new(gpu, &scales[group])?;
        let (mut sites, mut turned) = sites_of(workspace, part, group, &params, &mut diagram)?;
        let cells = cells_of(workspace, &mut sites, &mut turned, &limits, &params, mask)?;
        dem.rasters.push((cells.dem, sites.group.len));
        if is_first {
            let grid = params.grid;
            dem.tallies = sites.tallies;
            // An empty DEM has empty layers.
            let distances = match cells.distances {
                None if params.distances => Some(gpu.zeroed(0)?),
                distances => distances,
            };
            let floats =
                |layer: Option<Column<f32>>| layer.map(|l| DeviceGrid::from_column(l, grid));
            dem.counts = cells.counts.map(|l| DeviceGrid::from_column(l, grid)).transpose()?;
            dem.distances = floats(distances).transpose()?;
            dem.deviations = floats(cells.deviations).transpose()?;
        }
        diagram = Some([sites.nearest, turned.0]);
    }
    Ok(dem)
}

/// The exact method.
fn exactly(
    workspace: &mut Workspace,
    points: &Admitted,
    scales: &[ValueScale],
    params: &Params,
) -> Result<DeviceDem> {
    let gpu = &workspace.gpu().clone();
    let grid = params.grid;
    let mut dem = DeviceDem::new(grid, points.x().len(), Counted::Exactly, Tallies::new(gpu)?);
    if scales.is_empty() {
        return Ok(dem);
    }
    let values = points.values_in_one(gpu)?;
    let (x, y, z) = (points.x(), points.y(), values.as_slice());
    let all = exact::gpu::Points { x, y, z, scales };
    let layers = exact::gpu::interpolate(workspace, all, params, points.mask_slice())?;
    let floats = |layer: Option<Column<f32>>| layer.map(|l| DeviceGrid::from_column(l, grid));
    dem.rasters.push((layers.dem, scales.len()));
    dem.counts = layers.counts.map(|l| DeviceGrid::from_column(l, grid)).transpose()?;
    dem.distances = floats(layers.distances).transpose()?;
    dem.deviations = floats(layers.deviations).transpose()?;
    dem.tallies.counts = layers.tallies;
    Ok(dem)
}

/// The sites of points and of the turned raster, with their diagrams: those given, or where there are none
/// yet new ones.
fn sites_of(
    workspace: &mut Workspace,
    points: Part,
    group: Group,
    params: &Params,
    diagram: &mut Option<[DeviceGrid<u32>; 2]>,
) -> Result<(Sites, Turned)> {
    let gpu = &workspace.gpu().clone();
    let (mut tallies, values) = (Tallies::new(gpu)?, group.instances.values());
    let mut pixels = Pixels::new(gpu, params, values)?;
    pixels.merge(gpu, points, &group, &mut tallies)?;
    let (mask, of_sites) = pixels.resolve(gpu, points, &group, &mut tallies)?;
    let [nearest, turned] = match diagram.take() {
        Some(nearest) => nearest,
        None => {
            let turned_mask = turned::mask(gpu, &mask)?;
            [nearest_sites(workspace, &mask)?, nearest_sites(workspace, &turned_mask)?]
        }
    };
    let sites = Sites {
        nearest,
        values: of_sites,
        is_turned: false,
        tallies,
        group,
        points: points.x.len(),
    };
    Ok((sites, Turned(turned)))
}

/// The index of the nearest site of each pixel; of sites at one distance the lowest.
fn nearest_sites(workspace: &mut Workspace, mask: &DeviceGrid<u8>) -> Result<DeviceGrid<u32>> {
    Ok(pba_voronoi::gpu::nearest_sites(workspace, mask)?)
}

/// The cells of a diagram and the turned one, with all that the parameters want.
fn cells_of(
    workspace: &mut Workspace,
    sites: &mut Sites,
    turned: &mut Turned,
    limits: &QueryLimits,
    params: &Params,
    mask: *const u8,
) -> Result<Cells> {
    let other = turned.instead(sites, |sites| query(workspace, sites, limits, params))?;
    let mut cells = query(workspace, sites, limits, params)?;
    let (gpu, all) = (workspace.gpu(), [0, params.grid.cells()]);
    let tallies = &mut sites.tallies.counts;
    turned::unite(gpu, tallies, &mut cells, &other, &params.grid, all)?;
    finish::finish(gpu, sites, &mut cells, params, mask)?;
    Ok(cells)
}

/// The cells of a diagram, queried.
fn query(
    workspace: &mut Workspace,
    sites: &mut Sites,
    limits: &QueryLimits,
    params: &Params,
) -> Result<Cells> {
    let gpu = &workspace.gpu().clone();
    let values = sites.group.instances.values();
    // SAFETY: the queries write every cell.
    let mut cells =
        unsafe { Cells::new(gpu, &params.grid, values, params.counts, params.deviations)? };
    match params.weights {
        Weights::Sibson => {
            let queries = Queries::new(gpu, limits, params, &sites.group, 1)?;
            queries.enqueue(workspace, sites, &mut cells, |_, _, _| Ok(()))?;
        }
        _ => weighted::query(gpu, sites, &mut cells, limits, params)?,
    }
    Ok(cells)
}
