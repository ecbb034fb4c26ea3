//! What follows pixel by pixel from indices and squared distances, on the device.

use gpu_core::{Blocks, Column, DeviceGrid, Element, Gpu};
use kernels_rs::monotone as kernels;

use crate::{Integers, Result};

/// [`Integers`] on the device.
#[derive(Debug)]
pub enum DeviceIntegers {
    /// 32 bits.
    U32(DeviceGrid<u32>),
    /// 64 bits.
    U64(DeviceGrid<u64>),
}

impl DeviceIntegers {
    /// Copies them to the host. Waits.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<Integers> {
        Ok(match self {
            Self::U32(grid) => Integers::U32(grid.column().to_host()?),
            Self::U64(grid) => Integers::U64(grid.column().to_host()?),
        })
    }

    /// Columns and rows of the raster.
    fn sides(&self) -> (u32, u32) {
        match self {
            Self::U32(grid) => (grid.width(), grid.height()),
            Self::U64(grid) => (grid.width(), grid.height()),
        }
    }

    /// The distances, as `f32`, of squared distances.
    pub(super) fn distances(&self, gpu: &Gpu, scale: f64) -> Result<DeviceGrid<f32>> {
        let launch = |out, blocks, pixels| {
            let (out, none) = (out, std::ptr::null_mut());
            // SAFETY: sizes are as the kernels ask.
            unsafe {
                match self {
                    Self::U32(from) => {
                        let from = gpu.admit(from.column())?;
                        let from = from.as_ptr();
                        gpu.launch(kernels::roots, blocks, 0, (from, out, none, scale, pixels))
                    }
                    Self::U64(from) => {
                        let from = gpu.admit(from.column())?;
                        let from = from.as_ptr();
                        gpu.launch(kernels::roots_long, blocks, 0, (from, out, none, scale, pixels))
                    }
                }
            }
        };
        // SAFETY: the kernels write every pixel.
        unsafe { self.per_pixel(gpu, launch) }
    }

    /// The distances, as `f64`, of squared distances.
    pub(super) fn distances_f64(&self, gpu: &Gpu, scale: f64) -> Result<DeviceGrid<f64>> {
        let launch = |out, blocks, pixels| {
            let (out, none) = (out, std::ptr::null_mut());
            // SAFETY: sizes are as the kernels ask.
            unsafe {
                match self {
                    Self::U32(from) => {
                        let from = gpu.admit(from.column())?;
                        let from = from.as_ptr();
                        gpu.launch(kernels::roots, blocks, 0, (from, none, out, scale, pixels))
                    }
                    Self::U64(from) => {
                        let from = gpu.admit(from.column())?;
                        let from = from.as_ptr();
                        gpu.launch(kernels::roots_long, blocks, 0, (from, none, out, scale, pixels))
                    }
                }
            }
        };
        // SAFETY: the kernels write every pixel.
        unsafe { self.per_pixel(gpu, launch) }
    }

    /// Columns (low half) and rows (high half) of indices.
    pub(super) fn coordinates(&self, gpu: &Gpu) -> Result<DeviceGrid<u64>> {
        let (width, _) = self.sides();
        let launch = |out, blocks, pixels| {
            // SAFETY: sizes are as the kernels ask.
            unsafe {
                match self {
                    Self::U32(from) => {
                        let from = gpu.admit(from.column())?;
                        let from = from.as_ptr();
                        gpu.launch(kernels::coordinates, blocks, 0, (from, out, width, pixels))
                    }
                    Self::U64(from) => {
                        let from = gpu.admit(from.column())?;
                        let from = from.as_ptr();
                        gpu.launch(kernels::coordinates_long, blocks, 0, (from, out, width, pixels))
                    }
                }
            }
        };
        // SAFETY: the kernels write every pixel.
        unsafe { self.per_pixel(gpu, launch) }
    }

    /// What a raster holds at the indices; `none` where there is none.
    pub(super) fn gather(
        &self,
        gpu: &Gpu,
        values: &Column<u32>,
        none: u32,
    ) -> Result<DeviceGrid<u32>> {
        let values = gpu.admit(values)?;
        let launch = |out, blocks, pixels| {
            // SAFETY: sizes are as the kernels ask.
            unsafe {
                match self {
                    Self::U32(from) => {
                        let from = gpu.admit(from.column())?;
                        let arguments = (from.as_ptr(), values.as_ptr(), out, none, pixels);
                        gpu.launch(kernels::gather, blocks, 0, arguments)
                    }
                    Self::U64(from) => {
                        let from = gpu.admit(from.column())?;
                        let arguments = (from.as_ptr(), values.as_ptr(), out, none, pixels);
                        gpu.launch(kernels::gather_long, blocks, 0, arguments)
                    }
                }
            }
        };
        // SAFETY: the kernels write every pixel.
        unsafe { self.per_pixel(gpu, launch) }
    }

    /// A raster that `launch` writes whole, given where it is, blocks and pixels.
    ///
    /// # Safety
    /// `launch` enqueues writing every pixel, or gives an error.
    unsafe fn per_pixel<T: Element>(
        &self,
        gpu: &Gpu,
        launch: impl FnOnce(*mut T, Blocks, u64) -> gpu_core::Result<()>,
    ) -> Result<DeviceGrid<T>> {
        let (width, height) = self.sides();
        let pixels = u64::from(width) * u64::from(height);
        // SAFETY: passed on to the caller.
        let mut out = unsafe { gpu.uninitialized(pixels as usize)? };
        let blocks = Blocks::for_each(&kernels::roots, pixels)?;
        launch(out.as_mut_ptr(), blocks, pixels)?;
        Ok(DeviceGrid::new(out, width, height)?)
    }
}

/// Makes signed distances of those to the nearest site, given those to the nearest other pixel.
pub(super) fn sign(
    gpu: &Gpu,
    outside: &mut DeviceGrid<f32>,
    inside: &DeviceGrid<f32>,
) -> Result<()> {
    let pixels = inside.column().len() as u64;
    let blocks = Blocks::for_each(&kernels::signed_distances, pixels)?;
    let (inside, mut to) = (gpu.admit(inside.column())?, gpu.admit_mut(outside.column_mut())?);
    // SAFETY: both have as many pixels.
    unsafe {
        gpu.launch(
            kernels::signed_distances,
            blocks,
            0,
            (to.as_mut_ptr(), inside.as_ptr(), pixels),
        )?;
    }
    Ok(())
}

/// Writes `bits` into every excluded pixel of an output.
pub(super) fn exclude<T: Element>(
    gpu: &Gpu,
    mask: Option<&Column<u8>>,
    out: &mut DeviceGrid<T>,
    bits: u64,
) -> Result<()> {
    let Some(mask) = mask else { return Ok(()) };
    let pixels = mask.len() as u64;
    let blocks = Blocks::for_each(&kernels::exclude, pixels)?;
    let (mask, mut to) = (gpu.admit(mask)?, gpu.admit_mut(out.column_mut())?);
    let to = to.as_mut_ptr();
    // SAFETY: both have as many pixels, of 4 or 8 bytes.
    unsafe {
        if size_of::<T>() == 8 {
            gpu.launch(kernels::exclude_long, blocks, 0, (mask.as_ptr(), to.cast(), bits, pixels))?;
        } else {
            let arguments = (mask.as_ptr(), to.cast(), bits as u32, pixels);
            gpu.launch(kernels::exclude, blocks, 0, arguments)?;
        }
    }
    Ok(())
}
