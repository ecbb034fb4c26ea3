//! The host crate `cust`: every function that takes a slice takes its buffers, and a handle can use its context and
//! stream. (Feature `cust`.)
//!
//! `cust` 0.3.2 calls the driver's functions as external symbols, and its build script asks for a CUDA installation.
//! This feature answers both. The feature defines the symbols (see the crate `cuda-driver`), so that `cust` uses the
//! driver that was loaded, also the software device. Where there is no CUDA toolkit, `CUDA_LIBRARY_PATH` may point the
//! build at a folder with an empty `lib64/libcuda.a`.
//!
//! Load the driver first, then initialise `cust`: [`cust_init`](crate::cust_init) does both.

use cuda_driver::sys::{self, CUcontext, CUdevice, CUstream};
use cust::context::Context;
use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice};
use cust::stream::Stream as CustStream;

use crate::gpu::admit::Home;
use crate::gpu::driver::{self, check, given};
use crate::gpu::foreign::{Buffer, Foreign, ForeignMut};
use crate::gpu::opened::Opened;
use crate::gpu::stream::Stream;
use crate::{Column, DeviceChoice, Element, Error, Gpu, Result, Slice, SliceMut};

/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL` and `CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE`.
const DEVICE_ORDINAL: i32 = 9;
const MEMPOOL_HANDLE: i32 = 17;

/// Loads the driver that serves `choice` and initialises it, so that `cust` can be used.
///
/// # Errors
/// The errors of [`Gpu::open`].
pub fn cust_init(choice: DeviceChoice) -> Result<()> {
    driver::load(choice)
}

impl Gpu {
    /// Makes a handle on a context and a stream of the caller. Work that is enqueued on the handle and work that
    /// the caller enqueues on the stream run in the order of the calls.
    ///
    /// The context is the primary one of its device, as every `cust::context::Context` is. The handle keeps both.
    ///
    /// # Errors
    /// - [`Error::OtherGpu`]: the stream belongs to another device than the context.
    /// - [`Error::ForeignContext`]: the stream belongs to another context.
    /// - [`Error::NoDriver`]: no driver was loaded ([`cust_init`]).
    /// - [`Error::Driver`]: the driver failed.
    pub fn from_cust(context: &Context, stream: std::sync::Arc<CustStream>) -> Result<Self> {
        if cuda_driver::loaded().is_none() {
            return Err(Error::NoDriver {
                reason: "this process has loaded none: call cust_init".to_owned(),
            });
        }
        let raw = CUcontext(context.as_raw().cast());
        // A context of `cust`'s makes itself current as it is cloned.
        let _current = driver::make_current(raw)?;
        let (context, device) = (context.clone(), device_of(raw)?);
        let opened = Opened::get(device as u32)?;
        let raw = CUstream(stream.as_inner().cast());
        // SAFETY: the stream is alive, and the function writes its context.
        let of = unsafe { given("cuStreamGetCtx", |context| sys::cuStreamGetCtx(raw, context)) }?;
        if of != opened.context {
            return Err(match device_of(of)? {
                memory if memory != device => Error::OtherGpu { handle: device, memory },
                device => Error::ForeignContext { device },
            });
        }
        let stream = Stream::borrowed(opened.context, raw, Box::new((stream, context)));
        Ok(Self { stream: std::sync::Arc::new(stream), opened })
    }
}

/// The device of a context that is alive.
fn device_of(context: CUcontext) -> Result<CUdevice> {
    let _current = driver::make_current(context)?;
    // SAFETY: the function writes the device.
    unsafe { given("cuCtxGetDevice", |device| sys::cuCtxGetDevice(device)) }
}

impl<T: DeviceCopy + Sync> Foreign for DeviceSlice<T> {
    /// Safe functions of `cust` wait, or run on the legacy default stream.
    fn stream(&self, _own: CUstream) -> CUstream {
        CUstream::NULL
    }

    fn device(&self) -> Result<CUdevice> {
        pointer_attribute(self.as_device_ptr().as_raw(), DEVICE_ORDINAL, 0)
    }

    /// `cuMemFree`, which is how `cust` frees, waits for the device's work; but not where the memory
    /// is from a pool.
    fn is_freed_at_once(&self) -> Result<bool> {
        let pool: usize = pointer_attribute(self.as_device_ptr().as_raw(), MEMPOOL_HANDLE, 0)?;
        Ok(pool != 0)
    }

    /// It notes nothing.
    fn tell_read(&self) {}
}

impl<T: DeviceCopy + Send + Sync> ForeignMut for DeviceSlice<T> {
    /// It notes nothing.
    fn tell_write(&mut self) {}
}

/// An attribute of device memory.
fn pointer_attribute<A>(address: u64, attribute: i32, mut value: A) -> Result<A> {
    // SAFETY: the value is a live variable of the attribute's type.
    check("cuPointerGetAttribute", unsafe {
        sys::cuPointerGetAttribute((&raw mut value).cast(), attribute, address)
    })?;
    Ok(value)
}

impl<'a, T: Element + DeviceCopy + Sync> From<&'a DeviceSlice<T>> for Slice<'a, T> {
    fn from(buffer: &'a DeviceSlice<T>) -> Self {
        let start = buffer.as_device_ptr().as_ptr();
        if buffer.is_empty() {
            return Self::new(start, 0, Home::Promised);
        }
        Self::new(start, buffer.len(), Home::Foreign(Buffer::Shared(buffer)))
    }
}

impl<'a, T: Element + DeviceCopy + Send + Sync> From<&'a mut DeviceSlice<T>> for SliceMut<'a, T> {
    fn from(buffer: &'a mut DeviceSlice<T>) -> Self {
        let (start, len) = (buffer.as_device_ptr().as_mut_ptr(), buffer.len());
        if len == 0 {
            return Self::new(start, 0, Home::Promised);
        }
        let buffer: &'a mut (dyn ForeignMut + 'a) = buffer;
        Self::new(start, len, Home::Foreign(Buffer::Mutable(buffer.into())))
    }
}

impl<'a, T: Element + DeviceCopy + Sync> From<&'a DeviceBuffer<T>> for Slice<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        let slice: &DeviceSlice<T> = buffer;
        slice.into()
    }
}

impl<'a, T: Element + DeviceCopy + Send + Sync> From<&'a mut DeviceBuffer<T>> for SliceMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        let slice: &mut DeviceSlice<T> = buffer;
        slice.into()
    }
}

impl<T: Element + DeviceCopy + Send + Sync> Column<T> {
    /// Takes a buffer of `cust` as a column, without a copy.
    ///
    /// # Errors
    /// [`Error::OtherGpu`] for a buffer on another device, [`Error::Driver`]. The buffer is dropped
    /// then.
    pub fn from_device_buffer(gpu: &Gpu, buffer: DeviceBuffer<T>) -> Result<Self> {
        let len = buffer.len();
        if len == 0 {
            return gpu.zeroed(0);
        }
        // What `cust` has enqueued on the legacy default stream comes before our work.
        drop(gpu.admit(&buffer)?);
        let start = buffer.as_device_ptr().as_raw();
        // SAFETY: a buffer's elements are initialised by `cust`'s own rules; it is kept in the
        // column, and our stream comes after its.
        Ok(unsafe { Self::from_foreign(gpu, start, len, Box::new(buffer)) })
    }

    /// Turns the column into a buffer of `cust`, without a copy. Waits for the handle's stream.
    ///
    /// A buffer from [`Column::from_device_buffer`] comes back as it was. Any other buffer lies in memory of the
    /// stream-ordered pool. If a later call takes the buffer as a slice, that call waits for its own work, since
    /// `cust` frees buffers without regard to streams.
    ///
    /// # Errors
    /// [`Error::NotLaunched`], [`Error::Driver`].
    pub fn into_device_buffer(self) -> Result<DeviceBuffer<T>> {
        let len = self.len();
        let (start, foreign) = self.into_foreign()?;
        match foreign.map(|owner| owner.downcast::<DeviceBuffer<T>>()) {
            Some(Ok(buffer)) => Ok(*buffer),
            // SAFETY: the memory is the column's own, has this many elements, and nobody frees it
            // but the buffer. (Memory of another crate's is leaked with its owner.)
            other => {
                std::mem::forget(other);
                Ok(unsafe { DeviceBuffer::from_raw_parts(DevicePointer::from_raw(start), len) })
            }
        }
    }
}
