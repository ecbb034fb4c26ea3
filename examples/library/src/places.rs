//! Where is it between 420 and 430 metres high, and steeper than 5 degrees? And how far is it to such a place?
//!
//! 1. The slope of the DEM.
//! 2. An index of the heights, and one of the slopes.
//! 3. A mask of the cells that satisfy both: the search goes down the two indexes together.
//! 4. The distance of every cell to the nearest of these.

use ccq_tree::{Condition, Query, build, mask};
use gpu_core::{Device, Grid, GridView};
use pba_voronoi::{Input, Sites, transform};
use terrain_grid::{Product, ProductParams, SlopeUnit, product};

use crate::Result;

/// The places that the search is for.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Heights from the first on and below the second.
    pub heights: [f64; 2],
    /// The least slope in degrees.
    pub slope: f64,
}

/// The parameters of the slope.
pub fn slope_params() -> ProductParams {
    ProductParams::new(Product::Slope(SlopeUnit::Degrees))
}

/// Returns the distances to such places of a DEM, on the host; infinite if the DEM has none.
pub fn distance(dem: GridView<'_, f32>, asked: Asked) -> Result<Grid<f32>> {
    let device = Device::Cpu;
    let slope = product(&device, dem, &slope_params())?;
    let heights = build(&device, dem, &ccq_tree::Params::new())?;
    let slopes = build(&device, slope.view(), &ccq_tree::Params::new())?;
    let [low, high] = asked.heights;
    let conditions = [
        Condition::new(&heights).range(low, high),
        Condition::new(&slopes).range(asked.slope, f64::INFINITY),
    ];
    let found = mask(&device, &conditions, &Query::new())?;
    let input = Input::new(Sites::Mask(found.values()), *dem.grid());
    let diagram = transform(&device, &input, &pba_voronoi::Params::new().distance())?;
    Ok(diagram.distance.ok_or("a diagram without distances")?)
}

/// Works on a device, from device memory to device memory.
#[cfg(feature = "cuda")]
pub mod gpu {
    use ccq_tree::Query;
    use ccq_tree::gpu::{Condition, build, mask};
    use gpu_core::{DeviceGrid, GridSlice};
    use gpu_scan::gpu::Workspace;
    use pba_voronoi::gpu::transform;
    use terrain_grid::gpu::product;

    use super::{Asked, slope_params};
    use crate::Result;

    /// The [distances](super::distance) of a DEM in device memory. To the host comes how many nodes each level of the
    /// indexes has.
    pub fn distance(
        workspace: &mut Workspace,
        dem: GridSlice<'_, f32>,
        asked: Asked,
    ) -> Result<DeviceGrid<f32>> {
        let gpu = workspace.gpu().clone();
        let slope = product(&gpu, dem, &slope_params())?;
        let heights = build(workspace, dem, &ccq_tree::Params::new())?;
        let slopes = build(workspace, &slope, &ccq_tree::Params::new())?;
        let [low, high] = asked.heights;
        let conditions = [
            Condition::new(&heights).range(low, high),
            Condition::new(&slopes).range(asked.slope, f64::INFINITY),
        ];
        let found = mask(workspace, &conditions, &Query::new())?;
        let input = GridSlice::from(&found).into();
        let diagram = transform(&gpu, &input, &pba_voronoi::Params::new().distance())?;
        Ok(diagram.distance.ok_or("a diagram without distances")?)
    }
}
