//! Targets as arguments of kernels.

use device_std::In;
use gpu_core::{Blocks, Column, Gpu, GridSpec, Slice};
use kernels_rs::idw::index::place_on_sphere;
use kernels_rs::idw::targets::Targets;

use super::sort::{self, Places};
use super::{DeviceTargets, Workspace};
use crate::Result;

/// The targets of a call in device memory.
pub(super) struct OnDevice<'a> {
    pub count: u64,
    /// The grid whose cells are the targets, unless these are places.
    pub grid: Option<GridSpec>,
    /// The caller's places.
    given: Option<Places<'a>>,
    /// Places of our own, in place of the caller's: x of each, then y.
    own: Option<Column<f64>>,
    /// On the sphere the unit vectors: x of each, then y, then z.
    vectors: Option<Column<f64>>,
}

impl<'a> OnDevice<'a> {
    /// On the sphere, it brings longitudes to the range -180 to 180 and computes unit vectors.
    pub fn new(gpu: &Gpu, targets: DeviceTargets<'a>, geographic: bool) -> Result<Self> {
        let (given, grid) = match targets {
            DeviceTargets::Points { x, y } => (Some((x, y)), None),
            DeviceTargets::Grid(grid) => (None, Some(grid)),
        };
        let all = Self { count: targets.len(), grid, given, own: None, vectors: None };
        if !geographic {
            return Ok(all);
        }
        let [degrees, vectors] = on_sphere(gpu, all.argument()?)?;
        Ok(Self { grid: None, own: Some(degrees), vectors: Some(vectors), ..all })
    }

    /// The places, unless the targets are a grid's cells.
    fn places(&self) -> Result<Option<Places<'_>>> {
        match &self.own {
            Some(own) => Ok(Some(Slice::from(own).split_at(self.count as usize)?)),
            None => Ok(self.given.filter(|_| self.grid.is_none())),
        }
    }

    /// The targets as an argument of a kernel.
    pub fn argument(&self) -> Result<Targets<'_>> {
        let places = self.places()?;
        Ok(Targets {
            x: places.map(|(x, _)| x.input()),
            y: places.map(|(_, y)| y.input()),
            count: self.count,
            width: self.grid.map_or(1, |grid| grid.width),
            height: self.grid.map_or(1, |grid| grid.height),
            grid: self.grid.map_or([0.0; 3], |g| [g.origin_x, g.origin_y, g.cell_size]),
        })
    }

    /// On the sphere the unit vectors.
    pub fn vectors(&self) -> Option<In<'_, f64>> {
        self.vectors.as_ref().map(Column::input)
    }

    /// The order of places along a curve. A grid's cells have none.
    pub fn order_along_curve(&self, workspace: &mut Workspace) -> Result<Option<Column<u32>>> {
        let Some(places) = self.places()? else { return Ok(None) };
        let gpu = workspace.gpu().clone();
        let everywhere = [f64::MIN, f64::MAX, f64::MIN, f64::MAX];
        let plan = sort::plan(&gpu, places, everywhere, false)?;
        Ok(Some(sort::along_curve(workspace, places, &plan)?))
    }

    /// The targets in an order, which names each once.
    pub fn in_order(&self, gpu: &Gpu, order: &Column<u32>) -> Result<Self> {
        let own = match self.places()? {
            Some((x, y)) => Some(sort::in_order(gpu, order, &[x, y])?),
            None => None,
        };
        let vectors = match &self.vectors {
            Some(vectors) => Some(sort::in_order(gpu, order, &sort::columns(vectors, 3)?)?),
            None => None,
        };
        Ok(Self { own, vectors, given: None, ..*self })
    }
}

/// Longitudes and latitudes, and unit vectors, of targets.
pub(super) fn on_sphere(gpu: &Gpu, targets: Targets<'_>) -> Result<[Column<f64>; 2]> {
    let count = targets.count;
    // SAFETY: every element is written; the targets have what their struct says, and the columns are as long as the kernel
    // asks.
    unsafe {
        let mut degrees = gpu.uninitialized(2 * count as usize)?;
        let mut vectors = gpu.uninitialized(3 * count as usize)?;
        let arguments =
            place_on_sphere::Args { targets, degrees: degrees.output(), vectors: vectors.output() };
        gpu.enqueue(place_on_sphere, Blocks::for_each(&place_on_sphere, count)?, arguments)?;
        Ok([degrees, vectors])
    }
}
