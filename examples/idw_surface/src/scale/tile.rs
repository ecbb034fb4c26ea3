//! The steps of a tile.
//!
//! **With a radius** the halo is as wide as the radius, and one call makes the tile.
//!
//! **If any point may count**, as in sums over all points, the tile reads all points, and also takes one call. If
//! memory does not hold all points, the tile reads them in parts and adds up what each part gives the cells.
//!
//! **With the nearest points alone** one call with the halo's width as radius gives the values, and the number of
//! points of each cell. A cell that has as many points as are wanted has its nearest, since all points that were not
//! read lie farther. Around cells that lack some, the tile reads twice as far, and so on, until no cell lacks any or
//! all points were read.
//!
//! **Prediction errors** rest on two searches: a cell's points, and the neighbours of these. The halo is twice as wide,
//! and each search has half of it. A point within half of the halo's width has its neighbours within the other half,
//! and the tile has read these. So the same proof holds for it.

use anyhow::{Context, Result, ensure};
use gpu_core::{Bounds, Device, Progress};
use idw::{Input, Params, Points, Surface, Targets, Total};
use programs::cloud::Cloud;
use programs::products::require_finite;
use programs::scale::{SurfaceRecipe, bounds_of, read_parts, read_points};
use tile_plan::Tile;

use crate::kriging;
use crate::prediction::Errors;
use crate::scale::Planned;
use crate::scale::needs::Reads;
use crate::surface::bands_of;

/// The bands of a tile.
pub fn bands(
    planned: &Planned,
    tile: &Tile,
    cloud: Cloud,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Vec<Vec<f32>>> {
    let centres = Centres::of(planned, tile);
    let bands = Work { planned, device, progress }.bands(tile, &centres, cloud)?;
    require_finite(planned.recipe.bands()?.iter().zip(&bands), |i| (centres.x[i], centres.y[i]))?;
    Ok(bands)
}

/// What all steps of a tile have in common.
#[derive(Clone, Copy)]
struct Work<'a> {
    planned: &'a Planned,
    device: &'a Device,
    progress: &'a dyn Progress,
}

/// The centres of some cells.
#[derive(Default)]
struct Centres {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Centres {
    /// Returns the centres of a tile's cells, equal to the last bit to those of the whole grid. A grid of the tile
    /// alone would round them differently.
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

    fn targets(&self) -> Targets<'_> {
        Targets::Points { x: &self.x, y: &self.y }
    }

    /// The ground around them.
    fn ground(&self, beyond: f64) -> Option<Bounds> {
        let Bounds { min_x, min_y, max_x, max_y } = Bounds::of(&self.x, &self.y)?;
        let (min_x, min_y) = (min_x - beyond, min_y - beyond);
        Some(Bounds { min_x, min_y, max_x: max_x + beyond, max_y: max_y + beyond })
    }
}

impl Work<'_> {
    /// The bands, by the reads that they need.
    fn bands(&self, tile: &Tile, centres: &Centres, cloud: Cloud) -> Result<Vec<Vec<f32>>> {
        let reads = self.planned.recipe.reads();
        if let Some((params, variance)) = self.planned.recipe.kriging()? {
            return match reads {
                Reads::Nearest => self.nearest(tile, centres, cloud, |cloud, centres, limit| {
                    let limited =
                        |radius| params.clone().min_points(params.max_points).radius(radius);
                    self.krige(cloud, centres, &limit.map_or(params.clone(), limited), variance)
                }),
                _ => self.krige(&cloud, centres, &params, variance),
            };
        }
        let params = self.planned.recipe.params();
        match reads {
            Reads::Nearest => self.nearest(tile, centres, cloud, |cloud, centres, limit| {
                let limited = |radius| params.min_points(params.max_points).radius(radius);
                let how = limit.map_or(params, limited);
                self.interpolate(cloud, centres, &how, limit.is_some())
            }),
            Reads::Parts(most) => Ok(bands_of(self.add_parts(centres, most)?, false)),
            Reads::Halo | Reads::All => self.interpolate(&cloud, centres, &params, false),
        }
    }

    /// The bands of cells by inverse distances. With `is_limited` a search may lack points that were not read.
    fn interpolate(
        &self,
        cloud: &Cloud,
        centres: &Centres,
        params: &Params,
        is_limited: bool,
    ) -> Result<Vec<Vec<f32>>> {
        require_within_range(self.planned, cloud)?;
        let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
        let (on, targets) = (self.device.with_progress(self.progress), centres.targets());
        let surface = idw::interpolate::<f32>(on, Input::new(points, targets), params)?;
        let mut bands = bands_of(surface, params.statistics);
        if self.planned.recipe.prediction_error {
            let errors = Errors::of(on, points, params)?;
            bands.push(errors.around(on, (points, targets), params, is_limited)?);
        }
        Ok(bands)
    }

    /// The bands of cells by kriging.
    fn krige(
        &self,
        cloud: &Cloud,
        centres: &Centres,
        params: &::kriging::Params,
        variance: bool,
    ) -> Result<Vec<Vec<f32>>> {
        require_within_range(self.planned, cloud)?;
        let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
        let (how, targets) = ((params, variance), centres.targets());
        Ok(kriging::interpolate(self.device, points, targets, how, self.progress)?)
    }

    /// The values of cells from all points, so many at a time.
    fn add_parts(&self, centres: &Centres, most: u64) -> Result<Surface<f32>> {
        let &Self { planned, device, progress } = self;
        let (params, mut total) = (planned.recipe.params(), Total::new());
        read_parts(planned, most, progress, |cloud| {
            require_within_range(planned, cloud)?;
            let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
            let input = Input::new(points, centres.targets());
            let part = idw::part::<f32>(device.with_progress(progress), input, &params)?;
            Ok(total.add(&part)?)
        })?;
        Ok(total.surface(&params)?)
    }

    /// The bands of cells whose nearest points may lie beyond what was read. `make` gives the bands of cells: by searches
    /// within a limit, without a value if a search lacks a point, or by searches among all points.
    fn nearest(
        &self,
        tile: &Tile,
        centres: &Centres,
        mut cloud: Cloud,
        make: impl Fn(&Cloud, &Centres, Option<f64>) -> Result<Vec<Vec<f32>>>,
    ) -> Result<Vec<Vec<f32>>> {
        let (planned, cell) = (self.planned, self.planned.plan.grid().cell_size);
        let all = bounds_of(&planned.plan).context("this plan is damaged: no input has bounds")?;
        let count = centres.x.len();
        let mut bands = vec![vec![f32::NAN; count]; planned.recipe.bands()?.len()];
        let depth = f64::from(planned.recipe.depth());
        let mut open: Vec<usize> = (0..count).collect();
        let (mut ground, mut radius) = (tile.read, f64::from(planned.plan.halo().max(1)) * cell);
        loop {
            // Centres lie half a cell within their cells. So all points that were not read are farther than the radius,
            // and from a point that the first search finds farther than the rest of it.
            let limit = (!holds(&ground, &all, cell)).then_some(radius / depth);
            let made = make(&cloud, &centres.some(&open), limit)?;
            let is_certain =
                |i: usize| limit.is_none() || made.iter().all(|band| !band[i].is_nan());
            for (i, &cell) in open.iter().enumerate().filter(|&(i, _)| is_certain(i)) {
                bands.iter_mut().zip(&made).for_each(|(band, made)| band[cell] = made[i]);
            }
            let mut number = 0..;
            open.retain(|_| number.next().is_some_and(|i: usize| !is_certain(i)));
            let Some(wider) = centres.some(&open).ground(2.0 * radius + cell) else {
                return Ok(bands);
            };
            (ground, radius) = (wider, 2.0 * radius);
            // The last points go before the next come.
            drop(std::mem::take(&mut cloud));
            cloud = read_points(planned, &ground, self.progress)?;
        }
    }
}

/// Refuses points that are not what the headers say.
fn require_within_range(planned: &Planned, cloud: &Cloud) -> Result<()> {
    let [low, high] = planned.recipe.range;
    let is_beyond = cloud.z.iter().any(|value| !(low..=high).contains(value));
    ensure!(
        !is_beyond,
        "a point has a value outside of {low} to {high}, the range in the headers of the inputs"
    );
    Ok(())
}

/// Whether a ground holds all points, which may lie a rounding beyond their headers' bounds.
fn holds(ground: &Bounds, all: &Bounds, cell: f64) -> bool {
    ground.min_x <= all.min_x - cell
        && ground.min_y <= all.min_y - cell
        && ground.max_x >= all.max_x + cell
        && ground.max_y >= all.max_y + cell
}
