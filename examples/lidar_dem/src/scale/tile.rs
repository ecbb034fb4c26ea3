//! The steps of a tile.

use anyhow::{Context, Result, bail};
use gpu_core::{Device, Progress};
use nni_grid::Method;
use programs::cloud::Cloud;
use programs::ground::Ground;
use programs::scale::{bounds_of, read_points};
use tile_plan::Tile;

use crate::bands::{Ranges, leave_out, without_points};
use crate::dsm::WholeCells;
use crate::extent::Extents;
use crate::halo::read_dependence;
use crate::interpolate;
use crate::lattice::Lattice;
use crate::scale::Planned;

/// The points that count.
pub fn read(planned: &Planned, tile: &Tile, progress: &dyn Progress) -> Result<Cloud> {
    let (plan, surface) = (&planned.plan, planned.recipe.surface()?);
    planned.recipe.require_beside()?;
    if mask(planned, tile)?.is_some_and(|inside| !inside.contains(&1)) {
        return Ok(Cloud::default());
    }
    let read = |ground: &dyn Ground| read_points(planned, ground, progress);
    let mut cloud = match surface.method {
        Method::Pixels if surface.dsm => {
            read(&WholeCells { ground: &tile.read, lattice: lattice(planned) })?
        }
        Method::Pixels => read(&tile.read)?,
        Method::Exact => {
            let all = bounds_of(plan).context("this plan is damaged: no input has bounds")?;
            let (grid, lattice) = (plan.grid_of(tile), lattice(planned));
            read_dependence(&surface, (&grid, lattice), &all, plan.halo().into(), read)?
        }
    };
    cloud.range = planned.recipe.heights;
    cloud.ranges = planned.recipe.ranges.iter().copied().map(Some).collect();
    Ok(cloud)
}

/// The bands of a tile.
pub fn bands(
    planned: &Planned,
    tile: &Tile,
    mut cloud: Cloud,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Vec<Vec<f32>>> {
    let (surface, lattice) = (planned.recipe.surface()?, lattice(planned));
    planned.recipe.require_beside()?;
    if cloud.x.is_empty() {
        let mut bands = without_points(tile.width as usize * tile.height as usize, &surface)?;
        if let Some(inside) = mask(planned, tile)? {
            leave_out(&mut bands, &inside);
        }
        return Ok(bands);
    }
    surface.choose(&mut cloud, &lattice);
    let ranges = Ranges::settled(&mut cloud);
    if let Some(name) = ranges.unknown(&surface) {
        bail!(
            "{name} of a point lies outside of the range in the headers of the inputs: correct \
             the headers"
        );
    }
    let extents = Extents::around((planned.plan.grid_of(tile), lattice), margins(planned, tile))?;
    let floor = surface.floor()?;
    let how = (&surface, planned.recipe.area()?, floor.as_ref());
    Ok(interpolate(device, (cloud, 0), &ranges, extents, how, progress)?.bands)
}

/// Which cells of a tile may have a value, where not all may.
fn mask(planned: &Planned, tile: &Tile) -> Result<Option<Vec<u8>>> {
    let (grid, lattice) = (planned.plan.grid_of(tile), lattice(planned));
    planned.recipe.area()?.map(|area| area.mask(&grid, &lattice)).transpose()
}

/// Where edges of cells lie.
fn lattice(planned: &Planned) -> Lattice {
    planned.recipe.lattice(planned.plan.grid().cell_size)
}

/// Cells around a tile over which it is made: on pixels the halo, as far as there is ground.
fn margins(planned: &Planned, tile: &Tile) -> [f64; 4] {
    let (grid, halo) = (planned.plan.grid(), planned.plan.halo());
    if planned.recipe.is_exact() {
        return [0.0; 4];
    }
    let beyond = match planned.recipe.ends_at_grid {
        true => [
            tile.column,
            tile.row,
            grid.width - tile.column - tile.width,
            grid.height - tile.row - tile.height,
        ],
        false => [u32::MAX; 4],
    };
    beyond.map(|cells| f64::from(cells.min(halo)))
}
