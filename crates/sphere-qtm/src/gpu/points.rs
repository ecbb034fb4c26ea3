//! The cells of points in device memory.

use device_std::host::Kernel;
use gpu_core::{
    Blocks, Column, Element, Gpu, Points, Progress, Slice, UploadedPoints, host_memory,
};
use kernels_rs::sphere_qtm::places::{
    FIND_BLOCK, find_cells, find_cells_of_vectors, tabulate_quick,
};
use kernels_rs::sphere_qtm::{places, quick};

use crate::{Cell, Level, Result};

/// Blocks of a multiprocessor that find cells at once: as many as their tables fit.
const RESIDENT: u32 = 4;

/// A coordinate in device memory: `f32` or `f64`. Kernels compute with either in f64.
pub trait Coordinate: Element + Kernels {}

impl Coordinate for f32 {}
impl Coordinate for f64 {}

/// The kernels of a type, for this crate alone.
pub trait Kernels: Sized {
    /// From degrees.
    #[doc(hidden)]
    const CELLS: Kernel<find_cells::Args<'static, Self>>;
    /// From vectors.
    #[doc(hidden)]
    const CELLS_OF_VECTORS: Kernel<find_cells_of_vectors::Args<'static, Self>>;
}

impl Kernels for f32 {
    const CELLS: Kernel<find_cells::Args<'static, Self>> = find_cells::f32;
    const CELLS_OF_VECTORS: Kernel<find_cells_of_vectors::Args<'static, Self>> =
        find_cells_of_vectors::f32;
}

impl Kernels for f64 {
    const CELLS: Kernel<find_cells::Args<'static, Self>> = find_cells::f64;
    const CELLS_OF_VECTORS: Kernel<find_cells_of_vectors::Args<'static, Self>> =
        find_cells_of_vectors::f64;
}

/// Computes the [cells](crate::cells_of_points) of points in device memory: their ids, or 0 for points that are not on
/// the globe. Longitudes and latitudes are in degrees.
///
/// Enqueues and returns; after one call it can be captured. Scratch is 45 KB.
///
/// ```
/// use gpu_core::{DeviceChoice, Gpu};
/// use sphere_qtm::gpu::cells_of_points;
/// use sphere_qtm::{Cell, Level};
///
/// # fn main() -> Result<(), sphere_qtm::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// let (longitudes, latitudes) = (gpu.upload(&[135.0, 0.0])?, gpu.upload(&[30.0, 91.0])?);
/// let ids = cells_of_points(&gpu, &longitudes, &latitudes, Level::ZERO)?.to_host()?;
/// assert_eq!(Cell::from_id(ids[0])?, "2".parse()?); // the second octant
/// assert_eq!(ids[1], 0); // there is no latitude of 91 degrees
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`gpu_core::Error::Length`]; [`Error::Core`](crate::Error::Core) where memory or the device fails.
pub fn cells_of_points<'a, T: Coordinate>(
    gpu: &Gpu,
    longitudes: impl Into<Slice<'a, T>>,
    latitudes: impl Into<Slice<'a, T>>,
    level: Level,
) -> Result<Column<u64>> {
    let (longitudes, latitudes) = (longitudes.into(), latitudes.into());
    same_len("column of latitudes", longitudes.len(), latitudes.len())?;
    let count = longitudes.len() as u64;
    let tables = Tables::new(gpu)?;
    // SAFETY: the kernel writes all.
    let mut cells = unsafe { gpu.uninitialized(longitudes.len())? };
    let arguments = find_cells::Args {
        longitudes: longitudes.input(),
        latitudes: latitudes.input(),
        count,
        level: level.get(),
        tables: tables.input(),
        cells: cells.output(),
    };
    // SAFETY: all have as many elements.
    unsafe { gpu.enqueue(T::CELLS, blocks(gpu, count), arguments)? };
    Ok(cells)
}

/// Computes the cells of vectors of any length, as columns of x, y and z; 0 for a vector that is zero or not finite.
///
/// ```
/// use gpu_core::{DeviceChoice, Gpu};
/// use sphere_qtm::gpu::cells_of_vectors;
/// use sphere_qtm::{Cell, Level};
///
/// # fn main() -> Result<(), sphere_qtm::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// let (x, y, z) = (gpu.upload(&[-1.0])?, gpu.upload(&[1.0])?, gpu.upload(&[0.5])?);
/// let ids = cells_of_vectors(&gpu, [(&x).into(), (&y).into(), (&z).into()], Level::ZERO)?;
/// assert_eq!(Cell::from_id(ids.to_host()?[0])?, "2".parse()?); // longitude 135, in the north
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`cells_of_points`].
pub fn cells_of_vectors<'a, T: Coordinate>(
    gpu: &Gpu,
    [x, y, z]: [Slice<'a, T>; 3],
    level: Level,
) -> Result<Column<u64>> {
    same_len("column of y", x.len(), y.len())?;
    same_len("column of z", x.len(), z.len())?;
    let count = x.len() as u64;
    let tables = Tables::new(gpu)?;
    // SAFETY: the kernel writes all.
    let mut cells = unsafe { gpu.uninitialized(x.len())? };
    let arguments = find_cells_of_vectors::Args {
        x: x.input(),
        y: y.input(),
        z: z.input(),
        count,
        level: level.get(),
        tables: tables.input(),
        cells: cells.output(),
    };
    let kernel = T::CELLS_OF_VECTORS;
    // SAFETY: all have as many elements.
    unsafe { gpu.enqueue(kernel, blocks(gpu, count), arguments)? };
    Ok(cells)
}

/// The tables of `kernels_rs::sphere_qtm::quick`.
struct Tables {
    factors: Column<[f64; 3]>,
    depths: Column<[f32; 3]>,
}

impl Tables {
    fn new(gpu: &Gpu) -> Result<Self> {
        // SAFETY: the kernel writes all.
        let (mut factors, mut depths) = unsafe {
            (
                gpu.uninitialized::<[f64; 3]>(quick::FACTORS as usize)?,
                gpu.uninitialized::<[f32; 3]>(quick::DEPTHS as usize)?,
            )
        };
        let arguments = tabulate_quick::Args { factors: factors.output(), depths: depths.output() };
        let blocks = Blocks::for_each(&tabulate_quick, u64::from(quick::FACTORS))?;
        // SAFETY: three numbers for each.
        unsafe { gpu.enqueue(tabulate_quick, blocks, arguments)? };
        Ok(Self { factors, depths })
    }

    fn input(&self) -> places::Tables<'_> {
        // SAFETY: elements of three numbers are as many numbers.
        unsafe {
            places::Tables {
                factors: self.factors.input().cast(),
                depths: self.depths.input().cast(),
            }
        }
    }
}

/// Returns the blocks that share `count` points: no more than run at once, since each copies the tables.
fn blocks(gpu: &Gpu, count: u64) -> Blocks {
    let most = u64::from(RESIDENT * gpu.multiprocessors().max(1));
    Blocks::x(count.div_ceil(u64::from(FIND_BLOCK)).min(most) as u32)
}

fn same_len(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (expected as u64, found as u64);
    Err(gpu_core::Error::Length { what, expected, found }.into())
}

/// [`cells_of_points`](crate::cells_of_points) on a GPU; the points are known to be places. Waits for the result.
pub(crate) fn cells_of_points_host(
    gpu: &Gpu,
    points: &Points<'_>,
    level: Level,
    progress: &dyn Progress,
) -> Result<Vec<Cell>> {
    let places = Points::new(points.x, points.y);
    progress.at("to the device", 0.0)?;
    let there = UploadedPoints::new(gpu, &places)?;
    progress.during("cells", || {
        let ids = cells_of_points(gpu, there.x(), there.y(), level)?.to_host()?;
        let mut cells = host_memory::with_capacity(ids.len())?;
        for id in ids {
            cells.push(Cell::from_id(id)?);
        }
        Ok(cells)
    })
}
