//! The host crate `cudarc`: every function that takes a slice takes its buffers, and a handle can use its stream.
//! (Feature `cudarc`.)
//!
//! `cudarc` opens the driver's library itself, so this is for a real GPU: the software device does not serve it.
//! Tessera records the buffer's own events, so that `cudarc` orders streams with Tessera's work as with its own.

use cuda_driver::sys::{CUdevice, CUstream};
use cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice,
};

use crate::gpu::admit::Home;
use crate::gpu::driver;
use crate::gpu::foreign::{Buffer, Foreign, ForeignMut};
use crate::gpu::opened::Opened;
use crate::gpu::stream::Stream;
use crate::{Column, DeviceChoice, Element, Error, Gpu, Result, Slice, SliceMut};

impl Gpu {
    /// Makes a handle on a stream of the caller. Work that is enqueued on the handle and work that the caller
    /// enqueues on the stream run in the order of the calls. The handle keeps the stream and its context.
    ///
    /// # Errors
    /// - [`Error::ForeignContext`]: the stream's context is not the primary one of its device (`CudaContext::new`
    ///   makes such).
    /// - The errors of [`Gpu::open`].
    pub fn from_cudarc(stream: &std::sync::Arc<CudaStream>) -> Result<Self> {
        let context = stream.context();
        driver::load(DeviceChoice::Cuda(context.ordinal() as u32))?;
        let opened = Opened::get(context.ordinal() as u32)?;
        if context.cu_ctx().cast() != opened.context.0 {
            return Err(Error::ForeignContext { device: opened.device });
        }
        let raw = CUstream(stream.cu_stream().cast());
        let stream = Stream::borrowed(opened.context, raw, Box::new(stream.clone()));
        Ok(Self { stream: std::sync::Arc::new(stream), opened })
    }
}

/// The ways in for a buffer that can be read.
macro_rules! readable {
    ($($buffer:ty $(, $lifetime:lifetime)?;)+) => {$(
        impl<$($lifetime,)? T: Sync> Foreign for $buffer {
            fn stream(&self, _own: CUstream) -> CUstream {
                CUstream(DeviceSlice::stream(self).cu_stream().cast())
            }

            fn device(&self) -> Result<CUdevice> {
                Ok(DeviceSlice::stream(self).context().ordinal() as CUdevice)
            }

            /// `cudarc` frees on the buffer's stream, or after a wait for it.
            fn is_freed_at_once(&self) -> Result<bool> {
                Ok(false)
            }

            fn tell_read(&self) {
                drop(self.device_ptr(DeviceSlice::stream(self)));
            }
        }

        impl<'a, $($lifetime: 'a,)? T: Element + Sync> From<&'a $buffer> for Slice<'a, T> {
            fn from(buffer: &'a $buffer) -> Self {
                let (address, _) = buffer.device_ptr(DeviceSlice::stream(buffer));
                Self::new(address as *const T, DeviceSlice::len(buffer), Home::Foreign(Buffer::Shared(buffer)))
            }
        }
    )+};
}

readable! {
    CudaSlice<T>;
    CudaView<'b, T>, 'b;
    CudaViewMut<'b, T>, 'b;
}

/// The ways in for a buffer that can be written.
macro_rules! writable {
    ($($buffer:ty $(, $lifetime:lifetime)?;)+) => {$(
        impl<$($lifetime,)? T: Send + Sync> ForeignMut for $buffer {
            fn tell_write(&mut self) {
                written(self);
            }
        }

        impl<'a, $($lifetime: 'a,)? T: Element + Send + Sync> From<&'a mut $buffer> for SliceMut<'a, T> {
            fn from(buffer: &'a mut $buffer) -> Self {
                let len = DeviceSlice::len(buffer);
                let address = written(&mut *buffer);
                let buffer: &'a mut (dyn ForeignMut + 'a) = buffer;
                Self::new(address as *mut T, len, Home::Foreign(Buffer::Mutable(buffer.into())))
            }
        }
    )+};
}

writable! {
    CudaSlice<T>;
    CudaViewMut<'b, T>, 'b;
}

/// Notes in a buffer that its own stream writes to it; gives its address.
fn written<T, B: DevicePtrMut<T>>(buffer: &mut B) -> u64 {
    let stream = std::sync::Arc::clone(buffer.stream());
    let (address, _noted) = buffer.device_ptr_mut(&stream);
    address
}

impl<T: Element + Send + Sync> Column<T> {
    /// Takes a buffer of `cudarc` as a column, without a copy.
    ///
    /// # Errors
    /// [`Error::OtherGpu`] for a buffer on another device, [`Error::Driver`]. The buffer is dropped
    /// then.
    pub fn from_cuda_slice(gpu: &Gpu, buffer: CudaSlice<T>) -> Result<Self> {
        let len = buffer.len();
        let (address, _) = buffer.device_ptr(buffer.stream());
        // What is enqueued on the buffer's stream comes before our work.
        drop(gpu.admit(&buffer)?);
        // SAFETY: a buffer's elements are initialised by `cudarc`'s own rules; it is kept in the
        // column, and our stream comes after its.
        Ok(unsafe { Self::from_foreign(gpu, address, len, Box::new(buffer)) })
    }

    /// Turns the column into a buffer of `cudarc` on `stream`, without a copy. A column from
    /// [`Column::from_cuda_slice`] gives back the same buffer. Waits for the handle's stream. A buffer without elements
    /// has memory all the same, as `cudarc` frees whatever address a buffer has.
    ///
    /// # Errors
    /// [`Error::OtherGpu`] for a stream of another device, [`Error::NotLaunched`],
    /// [`Error::Driver`].
    pub fn into_cuda_slice(self, stream: &std::sync::Arc<CudaStream>) -> Result<CudaSlice<T>> {
        self.gpu().same_device(stream.context().ordinal() as CUdevice)?;
        let (gpu, len) = (self.gpu().clone(), self.len());
        let (mut start, foreign) = self.into_foreign()?;
        match foreign.map(|owner| owner.downcast::<CudaSlice<T>>()) {
            Some(Ok(buffer)) => Ok(*buffer),
            other => {
                std::mem::forget(other);
                if start == 0 {
                    start = gpu.zeroed::<u8>(1)?.into_foreign()?.0;
                }
                // SAFETY: the memory is the column's own, or new, has this many elements, and nobody frees it
                // but the buffer. (Memory of another crate's is leaked with its owner.)
                Ok(unsafe { stream.upgrade_device_ptr(start, len) })
            }
        }
    }
}
