//! NVIDIA's host crate `cuda-core`: every function that takes a slice takes its buffers, and a handle can use its
//! stream. (Feature `cuda-core`.)
//!
//! Its buffers know no stream. Instead, each buffer records the work in flight on it, and a stream gets an error while
//! conflicting work of another stream runs. So a launch of Tessera waits for conflicting work of other streams, and
//! then reserves the buffer for the handle's stream. Until the launch is done, the safe functions of `cuda-core` find
//! the buffer reserved.
//!
//! `cuda-core` opens the driver's library itself, so this is for a real GPU: the software device does not serve it.

use std::sync::Arc;

use cuda_core::{
    AllocationLease, DeviceBuffer, DeviceBufferView, DeviceCopy, DriverError, RawDeviceBuffer,
    Stream as CoreStream,
};
use cuda_driver::sys::{CUdevice, CUstream};
use device_std::host::Access;

use crate::gpu::admit::Home;
use crate::gpu::driver;
use crate::gpu::foreign::{Buffer, Foreign, ForeignMut, Reserved};
use crate::gpu::opened::Opened;
use crate::gpu::stream::Stream;
use crate::{Column, DeviceChoice, Element, Error, Gpu, Result, Slice, SliceMut};

impl Gpu {
    /// Makes a handle on a stream of the caller. Work enqueued on the handle and work enqueued on the stream run in the
    /// order of the calls. The handle keeps the stream and its context.
    ///
    /// # Errors
    /// [`Error::ForeignContext`] unless the stream's context is the primary one of its device (`cuda_core`'s
    /// `Context::new` makes such); the errors of [`Gpu::open`].
    pub fn from_cuda_core(stream: &Arc<CoreStream>) -> Result<Self> {
        let context = stream.context();
        driver::load(DeviceChoice::Cuda(context.ordinal() as u32))?;
        let opened = Opened::get(context.ordinal() as u32)?;
        if context.cu_ctx().cast() != opened.context.0 {
            return Err(Error::ForeignContext { device: opened.device });
        }
        let raw = CUstream(stream.cu_stream().cast());
        let stream = Stream::borrowed(opened.context, raw, Box::new(Arc::clone(stream)));
        Ok(Self { stream: Arc::new(stream), opened })
    }
}

/// A buffer that is reserved for a handle's stream, until the work that is enqueued when this is dropped is done.
struct Lease {
    lease: Option<AllocationLease>,
    stream: Arc<CoreStream>,
    /// Keeps the stream.
    _gpu: Gpu,
}

impl Lease {
    fn of(storage: &RawDeviceBuffer, gpu: &Gpu, access: Access) -> Result<Self> {
        gpu.refuse_in_capture("work on a buffer of cuda-core's")?;
        let raw = gpu.stream.own().0.cast();
        // SAFETY: the handle, which is kept, has a stream of this context.
        let stream = unsafe { CoreStream::borrow_raw(raw, storage.context()) };
        let acquire = || storage.acquire(&stream, access != Access::Read, false);
        let lease = acquire().or_else(|_| {
            // Work in flight is waited for.
            storage.context().synchronize()?;
            acquire()
        });
        Ok(Self { lease: Some(lease.map_err(failed)?), stream, _gpu: gpu.clone() })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            // Where the driver fails the buffer stays reserved.
            let _ = lease.retain_until_complete(&self.stream);
        }
    }
}

fn failed(DriverError(code): DriverError) -> Error {
    let message = DriverError(code).to_string();
    Error::Driver { call: "a buffer of cuda-core".to_owned(), code: code as i32, message }
}

/// The ways in for a buffer that can be read.
macro_rules! readable {
    ($($buffer:ty $(, $lifetime:lifetime)?;)+) => {$(
        impl<$($lifetime,)? T: Send + Sync> Foreign for $buffer {
            /// It knows none.
            fn stream(&self, own: CUstream) -> CUstream {
                own
            }

            fn device(&self) -> Result<CUdevice> {
                Ok(self.context().ordinal() as CUdevice)
            }

            /// It is freed after the work for which it is reserved.
            fn is_freed_at_once(&self) -> Result<bool> {
                Ok(false)
            }

            /// Its reservation says all.
            fn tell_read(&self) {}

            fn reserve(&self, gpu: &Gpu, access: Access) -> Result<Reserved> {
                Ok(Some(Box::new(Lease::of(self.storage(), gpu, access)?)))
            }
        }

        impl<'a, $($lifetime: 'a,)? T: Element + Send + Sync> From<&'a $buffer> for Slice<'a, T> {
            fn from(buffer: &'a $buffer) -> Self {
                let (start, len) = (buffer.cu_deviceptr() as *const T, buffer.len());
                Self::new(start, len, Home::Foreign(Buffer::Shared(buffer)))
            }
        }
    )+};
}

readable! {
    DeviceBuffer<T>;
    DeviceBufferView<'b, T>, 'b;
}

impl<T: Send + Sync> ForeignMut for DeviceBuffer<T> {
    /// Its reservation says all.
    fn tell_write(&mut self) {}
}

impl<'a, T: Element + Send + Sync> From<&'a mut DeviceBuffer<T>> for SliceMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        let (start, len) = (buffer.cu_deviceptr() as *mut T, buffer.len());
        let buffer: &'a mut (dyn ForeignMut + 'a) = buffer;
        Self::new(start, len, Home::Foreign(Buffer::Mutable(buffer.into())))
    }
}

/// A buffer that is a column.
struct Adopted<T> {
    buffer: DeviceBuffer<T>,
    lease: Reserved,
}

impl<T: Element + DeviceCopy + Send + Sync> Column<T> {
    /// Takes a buffer of `cuda-core` as a column, without a copy. The buffer is reserved for the handle's stream as
    /// long as the column lives.
    ///
    /// # Errors
    /// [`Error::OtherGpu`] for a buffer on another device; [`Error::Driver`], also if another stream keeps using the
    /// buffer. The buffer is dropped then.
    pub fn from_cuda_core(gpu: &Gpu, buffer: DeviceBuffer<T>) -> Result<Self> {
        gpu.same_device(buffer.context().ordinal() as CUdevice)?;
        let lease = Buffer::Shared(&buffer).reserve(gpu, Access::Write)?;
        let (start, len) = (buffer.cu_deviceptr(), buffer.len());
        let adopted = Box::new(Adopted { buffer, lease });
        // SAFETY: a buffer's elements are initialised by `cuda-core`'s own rules; it is kept in the column, and reserved for our
        // stream.
        Ok(unsafe { Self::from_foreign(gpu, start, len, adopted) })
    }

    /// Turns the column into a buffer of `cuda-core`, without a copy; `stream` frees it. A column from
    /// [`Column::from_cuda_core`] gives back the same buffer. Waits for the handle's stream.
    ///
    /// # Errors
    /// [`Error::OtherGpu`] for a stream of another device, [`Error::NotLaunched`], [`Error::Driver`].
    pub fn into_cuda_core(self, stream: &Arc<CoreStream>) -> Result<DeviceBuffer<T>> {
        self.gpu().same_device(stream.context().ordinal() as CUdevice)?;
        let len = self.len();
        let (start, foreign) = self.into_foreign()?;
        match foreign.map(|owner| owner.downcast::<Adopted<T>>()) {
            Some(Ok(adopted)) => {
                let Adopted { buffer, lease } = *adopted;
                if let Some(Ok(mut lease)) = lease.map(|lease| lease.downcast::<Lease>()) {
                    // The work is done: nothing to wait for.
                    drop(lease.lease.take());
                }
                Ok(buffer)
            }
            other => {
                std::mem::forget(other);
                let bytes = len * size_of::<T>();
                // SAFETY: the memory is the column's own, of the stream-ordered pool, has so many initialised elements, and nobody
                // frees it but the buffer. (Memory of another crate's is leaked with its owner.)
                unsafe {
                    let storage =
                        RawDeviceBuffer::from_raw_parts_async(start, bytes, Arc::clone(stream));
                    DeviceBuffer::from_storage_copy(storage, len).map_err(failed)
                }
            }
        }
    }
}
