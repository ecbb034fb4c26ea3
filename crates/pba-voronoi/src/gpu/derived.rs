//! Outputs that follow pixel by pixel from indices and squared distances; the kernels are in
//! `kernels_rs::voronoi::monotone::derived`.

use device_std::Out;
use device_std::host::Kernel;
use gpu_core::{Blocks, Column, DeviceGrid, Element, Gpu, GridSpec, Slice};
use kernels_rs::voronoi::monotone as kernels;

use super::Integers;
use crate::Result;
use crate::metric::{Ground, Metric};

/// Applies the expression to the raster, whatever its numbers have for bits.
macro_rules! of_either {
    ($integers:expr, $raster:ident => $of:expr) => {
        match $integers {
            Integers::U32($raster) => $of,
            Integers::U64($raster) => $of,
        }
    };
}

/// A raster that `launch` writes whole, given its elements, blocks and pixels.
///
/// # Safety
/// `launch` enqueues writing every pixel, or gives an error.
unsafe fn per_pixel<T: Element, A>(
    gpu: &Gpu,
    grid: GridSpec,
    kernel: Kernel<A>,
    launch: impl FnOnce(Out<'_, T>, Blocks, u64) -> gpu_core::Result<()>,
) -> Result<DeviceGrid<T>> {
    let pixels = grid.cells();
    // SAFETY: passed on to the caller.
    let mut out = unsafe { gpu.uninitialized(pixels as usize)? };
    launch(out.output(), Blocks::for_each(&kernel, pixels)?, pixels)?;
    Ok(DeviceGrid::from_column(out, grid)?)
}

/// The distances, as `f32`, of squared distances.
pub(super) fn distances(gpu: &Gpu, squares: &Integers, scale: f64) -> Result<DeviceGrid<f32>> {
    of_either!(squares, raster => roots(gpu, raster, scale, |out| (Some(out), None)))
}

/// The distances, as `f64`, of squared distances.
pub(super) fn distances_f64(gpu: &Gpu, squares: &Integers, scale: f64) -> Result<DeviceGrid<f64>> {
    of_either!(squares, raster => roots(gpu, raster, scale, |out| (None, Some(out))))
}

/// Roots into the output, which `outputs` gives as one of two.
fn roots<S, T>(
    gpu: &Gpu,
    squares: &DeviceGrid<S>,
    scale: f64,
    outputs: impl for<'a> FnOnce(Out<'a, T>) -> (Option<Out<'a, f32>>, Option<Out<'a, f64>>),
) -> Result<DeviceGrid<T>>
where
    S: Element + kernels::roots::Instance,
    T: Element,
{
    let kernel = <S as kernels::roots::Instance>::KERNEL;
    // SAFETY: the kernel writes every pixel of the output that is there; both have as many.
    unsafe {
        per_pixel(gpu, *squares.grid(), kernel, |out, blocks, pixels| {
            let (squares, (out, out_f64)) = (squares.column().input(), outputs(out));
            let arguments = kernels::roots::Args { squares, out, out_f64, scale, pixels };
            gpu.enqueue(kernel, blocks, arguments)
        })
    }
}

/// The outputs that are measured from indices for pixels that are not square; each if it is wanted.
pub(super) struct Measured {
    pub squares: Option<DeviceGrid<u64>>,
    pub distances: Option<DeviceGrid<f32>>,
    pub distances_f64: Option<DeviceGrid<f64>>,
}

/// Which of them are wanted.
#[derive(Clone, Copy, Default)]
pub(super) struct Wanted {
    pub squares: bool,
    pub distances: bool,
    pub distances_f64: bool,
}

/// Removes indices of sites beyond the limit, and measures the distances of the others. The raster's first column is
/// `first` of `whole`.
pub(super) fn measure(
    gpu: &Gpu,
    indices: &mut Integers,
    (metric, ground): (&Metric, &Ground),
    (first, whole): (u32, u32),
    wanted: Wanted,
) -> Result<Measured> {
    of_either!(indices, raster => measure_by(gpu, raster, (metric, ground), (first, whole), wanted))
}

fn measure_by<I: Element + kernels::measure::Instance>(
    gpu: &Gpu,
    indices: &mut DeviceGrid<I>,
    (metric, ground): (&Metric, &Ground),
    (first, whole): (u32, u32),
    wanted: Wanted,
) -> Result<Measured> {
    fn room<T: Element>(gpu: &Gpu, is_wanted: bool, pixels: u64) -> Result<Option<Column<T>>> {
        // SAFETY: the kernel writes every pixel.
        Ok(is_wanted.then(|| unsafe { gpu.uninitialized(pixels as usize) }).transpose()?)
    }
    let kernel = <I as kernels::measure::Instance>::KERNEL;
    let grid = *indices.grid();
    let pixels = grid.cells();
    let mut squares = room(gpu, wanted.squares, pixels)?;
    let mut distances = room(gpu, wanted.distances, pixels)?;
    let mut distances_f64 = room(gpu, wanted.distances_f64, pixels)?;
    let arguments = kernels::measure::Args {
        indices: indices.column_mut().output(),
        squares: squares.as_mut().map(Column::output),
        out: distances.as_mut().map(Column::output),
        out_f64: distances_f64.as_mut().map(Column::output),
        width: grid.width,
        first,
        whole,
        across: metric.across,
        down: metric.down,
        sides: kernels::Sides { x: ground.x, y: ground.y, unit: ground.unit },
        most: ground.most,
        pixels,
    };
    // SAFETY: indices and outputs have as many pixels, in rows of the grid's width.
    unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, pixels)?, arguments)? };
    fn raster<T: Element>(of: Option<Column<T>>, grid: GridSpec) -> Result<Option<DeviceGrid<T>>> {
        Ok(of.map(|column| DeviceGrid::from_column(column, grid)).transpose()?)
    }
    Ok(Measured {
        squares: raster(squares, grid)?,
        distances: raster(distances, grid)?,
        distances_f64: raster(distances_f64, grid)?,
    })
}

/// Columns and rows of indices of a raster of `width` columns.
pub(super) fn coordinates(
    gpu: &Gpu,
    indices: &Integers,
    width: u32,
) -> Result<DeviceGrid<[u32; 2]>> {
    fn of<I: Element + kernels::coordinates::Instance>(
        gpu: &Gpu,
        indices: &DeviceGrid<I>,
        width: u32,
    ) -> Result<DeviceGrid<[u32; 2]>> {
        let kernel = <I as kernels::coordinates::Instance>::KERNEL;
        // SAFETY: the kernel writes every pixel: a column in the low half of 8 bytes, a row in the high.
        unsafe {
            per_pixel(gpu, *indices.grid(), kernel, |out: Out<'_, [u32; 2]>, blocks, pixels| {
                let (indices, out) = (indices.column().input(), out.cast());
                let arguments = kernels::coordinates::Args { indices, out, width, pixels };
                gpu.enqueue(kernel, blocks, arguments)
            })
        }
    }
    of_either!(indices, raster => of(gpu, raster, width))
}

/// Gathers an array's elements, of 4 bytes, at the indices; `none` for a pixel without an index.
pub(super) fn gather<T: Element>(
    gpu: &Gpu,
    indices: &Integers,
    values: Slice<'_, T>,
    none: T,
) -> Result<DeviceGrid<T>> {
    of_either!(indices, raster => gather_by(gpu, raster, values, none))
}

fn gather_by<I: Element + kernels::gather::Instance, T: Element>(
    gpu: &Gpu,
    indices: &DeviceGrid<I>,
    values: Slice<'_, T>,
    none: T,
) -> Result<DeviceGrid<T>> {
    let kernel = <I as kernels::gather::Instance>::KERNEL;
    let none: u32 = bytemuck::cast(none);
    // SAFETY: the kernel writes every pixel and reads values below their number, of 4 bytes each, as
    // the cast has seen.
    unsafe {
        per_pixel(gpu, *indices.grid(), kernel, |out: Out<'_, T>, blocks, pixels| {
            let arguments = kernels::gather::Args {
                indices: indices.column().input(),
                values: values.input().cast(),
                len: values.len() as u64,
                out: out.cast(),
                none,
                pixels,
            };
            gpu.enqueue(kernel, blocks, arguments)
        })
    }
}

/// Makes one value a pixel from one value a listed site: the value of the first site listed there, else NaN.
pub(super) fn listed_values(
    gpu: &Gpu,
    (columns, rows): (Slice<'_, u32>, Slice<'_, u32>),
    values: Slice<'_, f32>,
    grid: &GridSpec,
) -> Result<Column<f32>> {
    /// Every byte of a number beyond every list.
    const BEYOND: u8 = 0x7f;
    let count = columns.len() as u64;
    let mut first = gpu.filled_with_byte::<u64>(BEYOND, grid.cells() as usize)?;
    // SAFETY: both lists have `count` elements, `first` one for each pixel; what it holds is not negative.
    unsafe {
        gpu.enqueue(
            kernels::find_first_sites,
            Blocks::for_each(&kernels::find_first_sites, count)?,
            kernels::find_first_sites::Args {
                sites: kernels::List { columns: columns.input(), rows: rows.input() },
                first: first.output().cast(),
                sides: [grid.width, grid.height],
                count,
            },
        )?;
    }
    let first = DeviceGrid::from_column(first, *grid)?;
    Ok(gather_by(gpu, &first, values, f32::NAN)?.into_column())
}

/// The same raster once more.
pub(super) fn copied<T: Element>(gpu: &Gpu, from: &DeviceGrid<T>) -> Result<DeviceGrid<T>> {
    // SAFETY: written right below.
    let mut copy = unsafe { gpu.uninitialized(from.column().len())? };
    gpu.copy(from.column(), &mut copy)?;
    Ok(DeviceGrid::from_column(copy, *from.grid())?)
}

/// Makes signed distances of those to the nearest site, given those to the nearest other pixel.
pub(super) fn sign(
    gpu: &Gpu,
    outside: &mut DeviceGrid<f32>,
    inside: &DeviceGrid<f32>,
) -> Result<()> {
    let pixels = inside.grid().cells();
    let (outside, inside) = (outside.column_mut().output(), inside.column().input());
    // SAFETY: both have as many pixels.
    unsafe {
        gpu.enqueue(
            kernels::sign_distances,
            Blocks::for_each(&kernels::sign_distances, pixels)?,
            kernels::sign_distances::Args { outside, inside, pixels },
        )?;
    }
    Ok(())
}

/// Writes `bits` into every pixel, of 4 or 8 bytes, where the mask is not zero.
pub(super) fn exclude<T: Element>(
    gpu: &Gpu,
    mask: Slice<'_, u8>,
    out: &mut DeviceGrid<T>,
    bits: u64,
) -> Result<()> {
    let pixels = out.grid().cells();
    let (mask, out) = (mask.input(), out.column_mut().output());
    // SAFETY: mask and output have as many pixels, and the branch chooses the kernel by the size of a pixel.
    unsafe {
        if size_of::<T>() == 8 {
            let kernel = kernels::exclude::u64;
            let (out, value) = (out.cast(), bits);
            let arguments = kernels::exclude::Args { mask, out, value, pixels };
            gpu.enqueue(kernel, Blocks::for_each(&kernel, pixels)?, arguments)?;
        } else {
            let kernel = kernels::exclude::u32;
            let (out, value) = (out.cast(), bits as u32);
            let arguments = kernels::exclude::Args { mask, out, value, pixels };
            gpu.enqueue(kernel, Blocks::for_each(&kernel, pixels)?, arguments)?;
        }
    }
    Ok(())
}
