//! Tensors of DLPack in device memory, as columns, slices and rasters, and back. (Feature `dlpack`.)
//!
//! A tensor knows no stream. A caller who takes a tensor promises by `unsafe` that it is ready. Python's
//! `__dlpack__(stream=..)` makes it ready on the stream that it gets ([`Gpu::raw_stream`]). A tensor that Tessera gives
//! is ready on every stream, and its release waits for all work that still uses it.
//!
//! The software device's memory is CPU memory, and its tensors say so.

use cuda_driver::sys;
use dlpark::ffi::DLDevice;
use dlpark::{DlpackElement, DlpackFlags, Managed, ManagedTensorBase, versioned};

use crate::dlpack::{checked, export};
use crate::error::unfit;
use crate::gpu::admit::Home;
use crate::raster::check_shape;
use crate::{Column, DeviceGrid, Element, Gpu, GridSpec, Result, Slice};

/// Returns the device that tensors of a handle's device name.
fn device_of(gpu: &Gpu) -> DLDevice {
    match gpu.is_software() {
        true => DLDevice::CPU,
        false => DLDevice::cuda(gpu.opened.device),
    }
}

/// Where the elements of a tensor begin on the handle's device, and its shape.
fn on_device<T: Element + DlpackElement, M: ManagedTensorBase, const N: usize>(
    gpu: &Gpu,
    tensor: &Managed<M>,
) -> Result<(*const T, [usize; N])> {
    let (start, shape) = checked::<T, M, N>(tensor, device_of(gpu))?;
    #[cfg(feature = "software")]
    if gpu.is_software() {
        software_gpu::lend(start.cast(), shape.iter().product::<usize>() * size_of::<T>());
    }
    Ok((start, shape))
}

/// A column that was handed out. Its holder may use it on any stream.
struct Exported<T: Element>(Column<T>);

impl<T: Element> Drop for Exported<T> {
    fn drop(&mut self) {
        let Ok(_current) = self.0.gpu().make_current() else { return };
        // An error is an earlier one, which the next wait reports.
        // SAFETY: the context is current.
        let _ = unsafe { sys::cuCtxSynchronize() };
    }
}

impl<'a, T: Element + DlpackElement> Slice<'a, T> {
    /// Borrows the elements of a tensor of one dimension on the device of `gpu`. (Feature `dlpack`.)
    ///
    /// # Errors
    /// [`Error::Unfit`](crate::Error::Unfit) for a tensor on another device, of other elements or dimensions, or with gaps between
    /// its elements.
    ///
    /// # Safety
    /// The memory is what the tensor's descriptor says, and is ready when the work that reads it runs; nobody writes to it until that
    /// work has run.
    pub unsafe fn from_dlpack<M: ManagedTensorBase>(
        gpu: &Gpu,
        tensor: &'a Managed<M>,
    ) -> Result<Self> {
        let (start, [len]) = on_device::<T, M, 1>(gpu, tensor)?;
        Ok(Self::new(start, len, Home::Promised))
    }
}

impl<T: Element + DlpackElement + Send> Column<T> {
    /// Takes a tensor of one dimension as a column, without a copy. The tensor is released once the handle's stream has
    /// passed the work on the column. (Feature `dlpack`.)
    ///
    /// # Errors
    /// The errors of [`Slice::from_dlpack`], and [`Error::Unfit`](crate::Error::Unfit) for a tensor that is read-only.
    ///
    /// # Safety
    /// The memory is as the tensor's descriptor says. It is ready for work that is enqueued on the handle's stream from
    /// now on. Nobody else uses it while the column lives.
    pub unsafe fn from_dlpack<M: ManagedTensorBase + 'static>(
        gpu: &Gpu,
        tensor: Managed<M>,
    ) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { adopt::<T, M, 1>(gpu, tensor) }.map(|(column, _)| column)
    }

    /// Turns the column into a tensor of one dimension, without a copy. Waits for the handle's stream; the tensor's
    /// release waits for the device. (Feature `dlpack`.)
    ///
    /// # Errors
    /// [`Error::NotLaunched`](crate::Error::NotLaunched), [`Error::Driver`](crate::Error::Driver).
    pub fn into_dlpack(self) -> Result<versioned::Dlpack> {
        let shape = [self.len()];
        give(self, shape)
    }
}

impl<T: Element + DlpackElement + Send> DeviceGrid<T> {
    /// Takes a tensor of `height` rows and `width` columns as the raster of `grid`, as [`Column::from_dlpack`] does. (Feature
    /// `dlpack`.)
    ///
    /// # Errors
    /// The errors of [`Column::from_dlpack`]; [`Error::Shape`](crate::Error::Shape) where the sides differ from the
    /// grid's.
    ///
    /// # Safety
    /// As [`Column::from_dlpack`].
    pub unsafe fn from_dlpack<M: ManagedTensorBase + 'static>(
        gpu: &Gpu,
        tensor: Managed<M>,
        grid: GridSpec,
    ) -> Result<Self> {
        // SAFETY: as the caller promises.
        let (values, [rows, columns]) = unsafe { adopt::<T, M, 2>(gpu, tensor) }?;
        check_shape((rows, columns), &grid)?;
        Self::from_column(values, grid)
    }

    /// Turns the raster into a tensor of `height` rows and `width` columns, as [`Column::into_dlpack`] does. (Feature
    /// `dlpack`.)
    ///
    /// # Errors
    /// The errors of [`Column::into_dlpack`].
    pub fn into_dlpack(self) -> Result<versioned::Dlpack> {
        let shape = [self.grid().height as usize, self.grid().width as usize];
        give(self.into_column(), shape)
    }
}

/// The column of a tensor, and the tensor's shape.
///
/// # Safety
/// As [`Column::from_dlpack`].
unsafe fn adopt<T, M, const N: usize>(
    gpu: &Gpu,
    tensor: Managed<M>,
) -> Result<(Column<T>, [usize; N])>
where
    T: Element + DlpackElement,
    M: ManagedTensorBase + 'static,
{
    let (start, shape) = on_device::<T, M, N>(gpu, &tensor)?;
    if tensor.flags().contains(DlpackFlags::READ_ONLY) {
        let expected = "one that may be written: take it as a slice";
        return Err(unfit("DLPack tensor", "a read-only one", expected));
    }
    let len = shape.iter().product();
    let start = if len == 0 { 0 } else { start as u64 };
    // SAFETY: the tensor, which the column keeps, owns this many elements; the rest is the caller's promise.
    Ok((unsafe { Column::from_foreign(gpu, start, len, Box::new(tensor)) }, shape))
}

/// A column as a tensor of a shape of as many elements.
fn give<T, const N: usize>(column: Column<T>, shape: [usize; N]) -> Result<versioned::Dlpack>
where
    T: Element + DlpackElement + Send,
{
    column.owner.check_launched()?;
    column.gpu().synchronize()?;
    let (start, device) = (column.as_ptr(), device_of(column.gpu()));
    // SAFETY: the column has this many elements on its device, and is kept.
    unsafe { export(Box::new(Exported(column)), start, device, shape) }
}
