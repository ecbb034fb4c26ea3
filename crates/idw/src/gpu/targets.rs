//! Targets as arguments of kernels.

use device_std::In;
use gpu_core::{Blocks, Column, Gpu, GridSpec, Slice};
use kernels_rs::idw::index::place_on_sphere;
use kernels_rs::idw::targets::Targets;
use kernels_rs::rtree::patches::{Patches, threads_of_grid};

use super::sort::{self, Places};
use super::{DeviceTargets, Workspace};
use crate::Result;

/// The targets of a call in device memory.
pub(super) struct OnDevice<'a> {
    pub count: u64,
    /// The grid whose cells are the targets, unless these are places; in the plane.
    pub grid: Option<GridSpec>,
    /// Columns of the grid, on the globe too; 0 for places.
    width: u32,
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
        let width = grid.map_or(0, |grid| grid.width);
        let all = Self { count: targets.len(), grid, width, given, own: None, vectors: None };
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

    /// The order of places along a curve. A grid's cells in the plane have none.
    pub fn order_along_curve(&self, workspace: &mut Workspace) -> Result<Option<Column<u32>>> {
        let Some(places) = self.places()? else { return Ok(None) };
        let everywhere = [f64::MIN, f64::MAX, f64::MIN, f64::MAX];
        Ok(Some(sort::along_curve(workspace, places, everywhere)?))
    }

    /// The targets as a search takes them: a grid's cells by patches, places in an order.
    pub fn patches<'b>(
        &'b self,
        order: Option<&'b Column<u32>>,
        wanted: Option<&'b Column<u32>>,
    ) -> Result<Patches<'b>> {
        let Targets { x, y, count, grid, .. } = self.argument()?;
        let (wanted, order) = (wanted.map(Column::input), order.map(Column::input));
        let mut patches = Patches { x, y, z: None, order, count, width: self.width, grid, wanted };
        if let Some(vectors) = &self.vectors {
            let all = sort::columns(vectors, 3)?;
            [patches.x, patches.y, patches.z] = [0, 1, 2].map(|axis| Some(all[axis].input()));
        }
        Ok(patches)
    }

    /// The order in which a search takes places along a curve. A grid's cells have none.
    pub fn order_of_search(&self, workspace: &mut Workspace) -> Result<Option<Column<u32>>> {
        match self.width {
            0 => self.order_along_curve(workspace),
            _ => Ok(None),
        }
    }

    /// Threads of a search.
    pub fn threads(&self) -> u64 {
        let height = self.count.checked_div(self.width.into());
        height.map_or(self.count, |height| threads_of_grid(self.width, height as u32))
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
        Ok(Self { own, vectors, given: None, width: 0, ..*self })
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
