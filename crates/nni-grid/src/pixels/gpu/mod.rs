//! The method on pixels on a GPU.

mod boxed;
mod finish;
mod group;
mod query;
mod rasterise;
pub(crate) mod streaming;
mod tie_balance;
mod weighted;

use gpu_core::{Column, DeviceGrid, DevicePoints, Slice};
use gpu_scan::gpu::Workspace;

use super::limits::QueryLimits;
use crate::gpu::dem::{Counted, DeviceDem, Tallies};
use crate::gpu::points::Part;
use crate::params::OnGrid;
use crate::{Result, ValueScale, Weights};
use group::Group;
use query::{Cells, Queries, Sites};
use rasterise::Pixels;
use tie_balance::Turned;

/// Interpolates by the method on pixels.
pub(crate) fn on_pixels(
    workspace: &mut Workspace,
    points: &DevicePoints<'_>,
    mask: Option<Slice<'_, u8>>,
    scales: &[ValueScale],
    params: &OnGrid,
) -> Result<DeviceDem> {
    let gpu = &workspace.gpu().clone();
    let limits = QueryLimits::of(params)?;
    let is_finished = params.needs_finish(mask.is_some());
    let counted = if is_finished { Counted::Finished } else { Counted::Queried };
    let mut dem = DeviceDem::new(params.grid, points.len(), counted, Tallies::new(gpu)?);
    let mut diagram = None;
    for group in group::groups(scales.len(), &limits, params) {
        // The layers beside the values are those of the first group.
        let is_first = group.start == 0;
        let params = if is_first { *params } else { params.values_alone() };
        let part = Part::of(points, group.clone());
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

/// Returns the sites of points and of the turned raster, with their diagrams: the given ones, or new ones if there are
/// none yet.
fn sites_of(
    workspace: &mut Workspace,
    points: Part,
    group: Group,
    params: &OnGrid,
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
            let turned_mask = tie_balance::mask(gpu, &mask)?;
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
    Ok(pba_voronoi::gpu::nearest_sites(workspace.gpu(), mask)?)
}

/// The cells of a diagram and the turned one, with all that the parameters want.
fn cells_of(
    workspace: &mut Workspace,
    sites: &mut Sites,
    turned: &mut Turned,
    limits: &QueryLimits,
    params: &OnGrid,
    mask: Option<Slice<'_, u8>>,
) -> Result<Cells> {
    let other = turned.instead(sites, |sites| query(workspace, sites, limits, params))?;
    let mut cells = query(workspace, sites, limits, params)?;
    let (gpu, all) = (workspace.gpu(), [0, params.grid.cells()]);
    let tallies = &mut sites.tallies.counts;
    tie_balance::unite(gpu, tallies, &mut cells, &other, &params.grid, all)?;
    finish::finish(gpu, sites, &mut cells, params, mask)?;
    Ok(cells)
}

/// The cells of a diagram, queried.
fn query(
    workspace: &mut Workspace,
    sites: &mut Sites,
    limits: &QueryLimits,
    params: &OnGrid,
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
