//! The products on a GPU, in device memory. The kernels are in `kernels_rs::terrain`.
//!
//! # Examples
//!
//! The calls have the same form as on the host. Contour lines need a workspace for the device, and their result is on
//! the host.
//!
//! ```
//! use gpu_core::{DeviceChoice, DeviceGrid, Gpu, GridSpec, GridView};
//! use terrain_grid::gpu::{Workspace, contours, product};
//! use terrain_grid::{ContourParams, Product, ProductParams};
//!
//! # fn main() -> Result<(), terrain_grid::Error> {
//! let gpu = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
//! let dem = GridView::new(&[0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0], GridSpec::of_pixels(3, 3))?;
//! let dem = DeviceGrid::upload(&gpu, dem)?;
//! let position = product(&gpu, &dem, &ProductParams::new(Product::Position))?; // in device memory
//! assert_eq!(position.to_host()?.values()[4], 2.0); // a peak, less the mean of its neighbours
//! let lines = contours(&mut Workspace::new(&gpu)?, &dem, &ContourParams::at([1.0]))?;
//! assert!(lines.len() == 1 && lines[0].is_closed());
//! # Ok(())
//! # }
//! ```

mod contours;

use gpu_core::{Blocks, Column, DeviceGrid, Gpu, Grid, GridSlice, GridSpec, GridView, Progress};
use kernels_rs::terrain::{self as kernels, CellPlaces, Parallels, Recipe};

pub use contours::contours;
pub use gpu_scan::gpu::Workspace;

use crate::contour::Found;
use crate::ground::Scales;
use crate::params::check_grid;
use crate::{ContourParams, Edges, ProductParams, Result};

/// The [product](fn@crate::product) of every cell of a DEM in device memory. Enqueues and returns; after one call it
/// can be captured.
///
/// Kernels read a DEM faster if its elements begin at a multiple of 16 bytes and its width is a multiple of 4. On
/// [`Ground::Degrees`](crate::Ground), the call takes 20 bytes a row from the handle's pool.
///
/// Example: see [the module](self#examples).
///
/// # Errors
/// The errors of [`product`](fn@crate::product).
pub fn product<'a>(
    gpu: &Gpu,
    dem: impl Into<GridSlice<'a, f32>>,
    params: &ProductParams,
) -> Result<DeviceGrid<f32>> {
    let dem = dem.into();
    let grid = *dem.grid();
    check_grid(&grid)?;
    let (kind, is_horn, recipe, scales) = params.recipe(&grid)?;
    let is_level = params.edges == Edges::Level;
    let key = (kind, is_horn, is_level);
    let kernel = kernels::product::find(|&of| of == key).expect("an instance for each");
    let GridSpec { width, height, .. } = grid;
    let (scale, table) = match scales {
        Scales::Same(scale) => (scale, None),
        Scales::OfRows(parallels) => {
            // Each row has its own in the table.
            (recipe.scale([1.0; 2]), Some(table(gpu, parallels, recipe, height)?))
        }
    };
    // SAFETY: written whole by the work that is enqueued next. It starts at a multiple of 256 bytes.
    let mut out = unsafe { gpu.uninitialized::<f32>(dem.values().len())? };
    let dem = kernels::Dem { heights: dem.values().input(), width, height };
    let columns = kernels::columns_of_thread(dem, is_level);
    let blocks = width.div_ceil(kernels::BLOCK * columns) * height.div_ceil(kernels::ROWS);
    let table = table.as_ref().map(|table| table.input());
    let arguments = kernels::product::Args { dem, scale, table, out: out.output() };
    // SAFETY: `out` has an element for each cell, and the table a scale for each row.
    unsafe { gpu.enqueue(kernel, Blocks::x(blocks), arguments)? };
    Ok(DeviceGrid::from_column(out, grid)?)
}

/// The scales of rows in degrees.
fn table(gpu: &Gpu, parallels: Parallels, recipe: Recipe, rows: u32) -> Result<Column<f32>> {
    let numbers = rows as usize * kernels::NUMBERS as usize;
    // SAFETY: written whole by the work that is enqueued next.
    let mut table = unsafe { gpu.uninitialized::<f32>(numbers)? };
    let blocks = Blocks::for_each(&kernels::measure_rows, rows.into())?;
    let arguments = kernels::measure_rows::Args { parallels, recipe, rows, out: table.output() };
    // SAFETY: the table has room for each row.
    unsafe { gpu.enqueue(kernels::measure_rows, blocks, arguments)? };
    Ok(table)
}

/// [`product`](fn@crate::product) on a GPU. Waits for the result.
pub(crate) fn product_host(
    gpu: &Gpu,
    dem: GridView<'_, f32>,
    params: &ProductParams,
    progress: &dyn Progress,
) -> Result<Grid<f32>> {
    through(gpu, dem, progress, params.product.name(), |dem| {
        Ok(product(gpu, dem, params)?.to_host()?)
    })
}

/// [`contours`](fn@crate::contours) on a GPU, of cells that lie somewhere, and where each begins. Waits for the result.
pub(crate) fn contours_host(
    gpu: &Gpu,
    dem: GridView<'_, f32>,
    params: &ContourParams,
    ground: CellPlaces,
    progress: &dyn Progress,
) -> Result<Vec<Found>> {
    through(gpu, dem, progress, "contours", |dem| {
        contours::find(&mut Workspace::new(gpu)?, dem, params, ground)
    })
}

/// Copies a DEM to the device, lets `work` make something of it, and tells the caller of both.
fn through<T>(
    gpu: &Gpu,
    dem: GridView<'_, f32>,
    progress: &dyn Progress,
    stage: &'static str,
    work: impl FnOnce(GridSlice<'_, f32>) -> Result<T>,
) -> Result<T> {
    check_grid(dem.grid())?;
    progress.at("to the device", 0.0)?;
    let resident = DeviceGrid::upload(gpu, dem)?;
    progress.during(stage, || work((&resident).into()))
}
