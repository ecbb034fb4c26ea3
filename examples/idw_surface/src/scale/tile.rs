//! The steps of a tile.
//!
//! **Within a radius** the halo is as wide, and one call makes the tile. **Where any point may count**, as in sums over all, all
//! are read, and one call makes it too; where they are more than memory holds, they are read in parts, and what each makes of
//! the cells is added up.
//!
//! **The nearest alone**: a cell that finds as many points as are wanted within the halo's width has its nearest, since
//! whatever was not read lies farther: one call with that radius gives the values, and the number of points of each
//! cell. Around cells that lack some, twice as much is read, and so on, until none lacks any or all points were read.

use anyhow::{Context, Result, ensure};
use gpu_core::{Bounds, Device, Progress};
use idw::{Input, Params, Points, Surface, Targets, Total};
use programs::cloud::Cloud;
use programs::scale::{bounds_of, read_parts, read_points};
use tile_plan::Tile;

use crate::scale::Planned;
use crate::scale::recipe::Reads;

/// The values of a tile.
pub fn values(
    planned: &Planned,
    tile: &Tile,
    cloud: Cloud,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Vec<f32>> {
    let centres = Centres::of(planned, tile);
    let surface = match planned.recipe.reads() {
        Reads::Nearest => return nearest(planned, tile, &centres, cloud, device, progress),
        Reads::Parts(most) => add_parts(planned, &centres, most, device, progress)?,
        Reads::Halo | Reads::All => {
            interpolate(planned, &cloud, &centres, &planned.recipe.params(), device, progress)?
        }
    };
    surface.values.into_iter().next().context("there are no values")
}

/// The centres of some cells.
#[derive(Default)]
struct Centres {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Centres {
    /// Those of a tile, where the whole has them to the last bit: a grid of the tile alone would round them anew.
    fn of(planned: &Planned, tile: &Tile) -> Self {
        let grid = planned.plan.grid();
        let rows = tile.row..tile.row + tile.height;
        let cells =
            rows.flat_map(|row| (tile.column..tile.column + tile.width).map(move |c| (c, row)));
        let (x, y) = cells.map(|(column, row)| grid.cell_centre(column, row)).unzip();
        Self { x, y }
    }

    fn some(&self, which: &[usize]) -> Self {
        Self {
            x: which.iter().map(|&i| self.x[i]).collect(),
            y: which.iter().map(|&i| self.y[i]).collect(),
        }
    }

    /// The ground around them.
    fn ground(&self, beyond: f64) -> Option<Bounds> {
        let Bounds { min_x, min_y, max_x, max_y } = Bounds::of(&self.x, &self.y)?;
        let (min_x, min_y) = (min_x - beyond, min_y - beyond);
        Some(Bounds { min_x, min_y, max_x: max_x + beyond, max_y: max_y + beyond })
    }
}

fn interpolate(
    planned: &Planned,
    cloud: &Cloud,
    centres: &Centres,
    params: &Params,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Surface<f32>> {
    require_within_range(planned, cloud)?;
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let targets = Targets::Points { x: &centres.x, y: &centres.y };
    Ok(idw::interpolate::<f32>(
        device.with_progress(progress),
        Input::new(points, targets),
        params,
    )?)
}

/// Refuses points that are not what the headers say.
fn require_within_range(planned: &Planned, cloud: &Cloud) -> Result<()> {
    let [low, high] = planned.recipe.range;
    let is_beyond = cloud.z.iter().any(|value| !(low..=high).contains(value));
    ensure!(
        !is_beyond,
        "a point lies outside the values {low} to {high} that the headers of the inputs state"
    );
    Ok(())
}

/// The values of cells from all points, so many at a time.
fn add_parts(
    planned: &Planned,
    centres: &Centres,
    most: u64,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Surface<f32>> {
    let (params, mut total) = (planned.recipe.params(), Total::new());
    read_parts(planned, most, progress, |cloud| {
        require_within_range(planned, cloud)?;
        let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
        let targets = Targets::Points { x: &centres.x, y: &centres.y };
        let part =
            idw::part::<f32>(device.with_progress(progress), Input::new(points, targets), &params)?;
        Ok(total.add(&part)?)
    })?;
    Ok(total.surface(&params)?)
}

/// The values of cells whose nearest points may lie beyond what was read.
fn nearest(
    planned: &Planned,
    tile: &Tile,
    centres: &Centres,
    mut cloud: Cloud,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Vec<f32>> {
    let (params, cell) = (planned.recipe.params(), planned.plan.grid().cell_size);
    let all = bounds_of(&planned.plan).context("this plan is damaged: no input has bounds")?;
    let mut values = vec![f32::NAN; centres.x.len()];
    let mut open: Vec<usize> = (0..values.len()).collect();
    let (mut ground, mut radius) = (tile.read, f64::from(planned.plan.halo().max(1)) * cell);
    loop {
        let is_all = holds(&ground, &all, cell);
        // Centres lie half a cell within their cells: what is not read is farther than the radius.
        let limited = params.radius(radius).statistics(true);
        let params = if is_all { &params } else { &limited };
        let surface = interpolate(planned, &cloud, &centres.some(&open), params, device, progress)?;
        let found = surface.statistics.map(|statistics| statistics.count);
        let is_certain =
            |i: usize| found.as_ref().is_none_or(|found| found[i] >= planned.recipe.max_points);
        let made = surface.values.first().context("there are no values")?;
        for (i, &cell) in open.iter().enumerate().filter(|&(i, _)| is_certain(i)) {
            values[cell] = made[i];
        }
        let mut number = 0..;
        open.retain(|_| number.next().is_some_and(|i| !is_certain(i)));
        let Some(wider) = centres.some(&open).ground(2.0 * radius + cell) else {
            return Ok(values);
        };
        (ground, radius) = (wider, 2.0 * radius);
        // The last points go before the next come.
        drop(std::mem::take(&mut cloud));
        cloud = read_points(planned, &ground, progress)?;
    }
}

/// Whether a ground holds all points, which may lie a rounding beyond their headers' bounds.
fn holds(ground: &Bounds, all: &Bounds, cell: f64) -> bool {
    ground.min_x <= all.min_x - cell
        && ground.min_y <= all.min_y - cell
        && ground.max_x >= all.max_x + cell
        && ground.max_y >= all.max_y + cell
}
