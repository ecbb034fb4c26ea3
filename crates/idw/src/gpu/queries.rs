//! Targets as the kernels take them.

use gpu_core::{Blocks, Column, Gpu, GridSpec, Reading};
use kernels_rs::idw::index::place_on_sphere;

use super::{DeviceTargets, Workspace, sort};
use crate::Result;

/// Targets in device memory, in order with the handle's stream while this lives.
pub(super) struct Queries<'a> {
    pub count: u64,
    pub grid: Option<GridSpec>,
    /// x and y of each; null for a grid in the plane.
    pub x: *const f64,
    pub y: *const f64,
    /// On the sphere the unit vectors, else null.
    pub vectors: *const f64,
    /// What these point to.
    _columns: Vec<Column<f64>>,
    _order: Vec<Reading<'a, f64>>,
}

impl<'a> Queries<'a> {
    /// On the sphere longitudes are brought between -180 and 180, and vectors computed.
    pub fn new(gpu: &Gpu, targets: DeviceTargets<'a>, geographic: bool) -> Result<Self> {
        let null = std::ptr::null();
        let mut queries = Self {
            count: targets.len(),
            grid: None,
            x: null,
            y: null,
            vectors: null,
            _columns: Vec::new(),
            _order: Vec::new(),
        };
        match targets {
            DeviceTargets::Points { x, y } => {
                queries._order = vec![gpu.admit(x)?, gpu.admit(y)?];
                (queries.x, queries.y) = (x.as_ptr(), y.as_ptr());
            }
            DeviceTargets::Grid(grid) => queries.grid = Some(grid),
        }
        if geographic { queries.on_sphere(gpu) } else { Ok(queries) }
    }

    fn on_sphere(self, gpu: &Gpu) -> Result<Self> {
        let Self { count, x, y, .. } = self;
        // SAFETY: the targets have `count` places.
        let [degrees, vectors] =
            unsafe { on_sphere(gpu, (x, y), count, (self.width(), self.grid_numbers()))? };
        let x = degrees.as_ptr();
        Ok(Self {
            grid: None,
            x,
            y: x.wrapping_add(count as usize),
            vectors: vectors.as_ptr(),
            _columns: vec![degrees, vectors],
            ..self
        })
    }

    /// The order of places along a curve.
    pub fn order_along_curve(&self, workspace: &mut Workspace) -> Result<Column<u32>> {
        let (gpu, places) = (workspace.gpu().clone(), (self.x, self.y));
        // SAFETY: both columns have an element for each query.
        unsafe {
            let everywhere = [f64::MIN, f64::MAX, f64::MIN, f64::MAX];
            let plan = sort::plan(&gpu, places, self.count, everywhere, false)?;
            sort::along_curve(workspace, places, self.count as usize, &plan)
        }
    }

    /// The queries in an order, which names each once.
    pub fn in_order(&self, gpu: &Gpu, order: &Column<u32>) -> Result<Self> {
        let n = self.count as usize;
        let mut columns = vec![self.x, self.y];
        if !self.vectors.is_null() {
            columns.extend((0..3).map(|axis| self.vectors.wrapping_add(axis * n)));
        }
        // SAFETY: all columns have an element for each query.
        unsafe {
            let mut sorted = gpu.uninitialized::<f64>(columns.len() * n)?;
            for (i, from) in columns.into_iter().enumerate() {
                let to = sorted.as_mut_ptr().wrapping_add(i * n);
                sort::gather(gpu, Some(order), n, from, to)?;
            }
            let x = sorted.as_ptr();
            let vectors = if self.vectors.is_null() { self.vectors } else { x.wrapping_add(2 * n) };
            Ok(Self {
                x,
                y: x.wrapping_add(n),
                vectors,
                _columns: vec![sorted],
                _order: Vec::new(),
                ..*self
            })
        }
    }

    /// Columns of a grid.
    pub fn width(&self) -> u32 {
        self.grid.map_or(1, |grid| grid.width)
    }

    /// Rows of a grid.
    pub fn height(&self) -> u32 {
        self.grid.map_or(1, |grid| grid.height)
    }

    /// West and north edge and cell size of a grid, else zeros.
    pub fn grid_numbers(&self) -> [f64; 3] {
        self.grid.map_or([0.0; 3], |g| [g.origin_x, g.origin_y, g.cell_size])
    }
}

/// Longitudes and latitudes, and unit vectors, of columns or of a grid's cells.
///
/// # Safety
/// x and y have `count` elements, or are null for a grid of as many cells.
pub(super) unsafe fn on_sphere(
    gpu: &Gpu,
    (x, y): (*const f64, *const f64),
    count: u64,
    (width, grid): (u32, [f64; 3]),
) -> Result<[Column<f64>; 2]> {
    // SAFETY: passed on to the caller; every element is written.
    unsafe {
        let mut degrees = gpu.uninitialized(2 * count as usize)?;
        let mut vectors = gpu.uninitialized(3 * count as usize)?;
        let (to, vectors_to) = (degrees.as_mut_ptr(), vectors.as_mut_ptr());
        let arguments =
            place_on_sphere::Args { x, y, count, width, grid, degrees: to, vectors: vectors_to };
        gpu.enqueue(place_on_sphere, Blocks::for_each(&place_on_sphere, count)?, arguments)?;
        Ok([degrees, vectors])
    }
}
