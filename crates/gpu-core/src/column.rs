//! Typed device memory: columns and grids.

use std::fmt;
use std::mem::ManuallyDrop;

use bytemuck::Pod;
use cust::error::CudaError;
use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::sys;

use crate::gpu::{Gpu, call, check};
use crate::{Error, Result};

/// An element that device memory can hold: plain bytes, any bit pattern valid.
pub trait Element: Pod + DeviceCopy {}

impl<T: Pod + DeviceCopy> Element for T {}

/// A typed array in device memory: a cust [`DeviceBuffer`] from the stream-ordered pool of the
/// handle that made it.
///
/// Dropping it enqueues the release on that handle's stream, after the work that uses it; the
/// pool keeps the memory for the next column, so steady state allocates nothing.
pub struct Column<T: Element> {
    buffer: ManuallyDrop<DeviceBuffer<T>>,
    gpu: Gpu,
}

impl<T: Element> Column<T> {
    /// Elements.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The device address, to read from in a kernel.
    pub fn as_ptr(&self) -> *const T {
        self.buffer.as_device_ptr().as_ptr()
    }

    /// The device address, to write to in a kernel.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.buffer.as_device_ptr().as_mut_ptr()
    }

    /// The cust buffer beneath.
    pub fn as_device_buffer(&self) -> &DeviceBuffer<T> {
        &self.buffer
    }

    /// The handle on whose stream the column lives.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Enqueues a copy of another column's elements on this column's stream: new input for a
    /// [`Graph`](crate::Graph), which works on the columns that it was captured with.
    ///
    /// # Errors
    /// [`Error::Length`] unless both have as many elements, [`Error::Driver`].
    pub fn copy_from(&mut self, other: &Column<T>) -> Result<()> {
        let (expected, found) = (self.len() as u64, other.len() as u64);
        if found != expected {
            return Err(Error::Length { what: "column", expected, found });
        }
        if self.is_empty() {
            return Ok(());
        }
        self.gpu.make_current()?;
        // SAFETY: both columns have so many bytes, and are two, as one is borrowed mutably.
        check("cuMemcpyDtoDAsync", unsafe {
            sys::cuMemcpyDtoDAsync_v2(
                self.buffer.as_device_ptr().as_raw(),
                other.buffer.as_device_ptr().as_raw(),
                self.len() * size_of::<T>(),
                self.gpu.stream.as_inner(),
            )
        })
    }

    /// Copies the column to the host. Waits for the handle's stream.
    ///
    /// # Errors
    /// [`Error::Driver`], also for what failed on the stream before; [`Error::HostMemory`].
    pub fn to_host(&self) -> Result<Vec<T>> {
        let mut host = crate::host_memory::filled(T::zeroed(), self.len())?;
        if !host.is_empty() {
            self.gpu.make_current()?;
            // SAFETY: both sides have as many elements; `host` lives until the stream is
            // synchronised below.
            let code = unsafe {
                sys::cuMemcpyDtoHAsync_v2(
                    host.as_mut_ptr().cast(),
                    self.buffer.as_device_ptr().as_raw(),
                    size_of_val(host.as_slice()),
                    self.gpu.stream.as_inner(),
                )
            };
            check("cuMemcpyDtoHAsync", code)?;
        }
        self.gpu.synchronize()?;
        Ok(host)
    }
}

impl<T: Element> Drop for Column<T> {
    fn drop(&mut self) {
        // SAFETY: the buffer is not used again.
        let buffer = unsafe { ManuallyDrop::take(&mut self.buffer) };
        if self.gpu.make_current().is_ok() {
            // An error here is an earlier one of the stream, which the next wait reports.
            let _ = buffer.drop_async(&self.gpu.stream);
        }
    }
}

impl<T: Element> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column<{}>[{}]", std::any::type_name::<T>(), self.len())
    }
}

impl Gpu {
    /// A column whose elements are to be written before they are read.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; nothing is leaked and the handle stays usable.
    ///
    /// # Safety
    /// No element is read before it is written.
    pub unsafe fn uninitialized<T: Element>(&self, len: usize) -> Result<Column<T>> {
        self.make_current()?;
        // SAFETY: passed on to the caller.
        let allocate = || unsafe { DeviceBuffer::uninitialized_async(len, &self.stream) };
        let buffer = allocate().or_else(|error| match error {
            // Memory whose release is still enqueued comes back once the stream has run.
            CudaError::OutOfMemory => self.stream.synchronize().and_then(|()| allocate()),
            error => Err(error),
        });
        match buffer {
            Ok(buffer) => Ok(Column { buffer: ManuallyDrop::new(buffer), gpu: self.clone() }),
            Err(CudaError::OutOfMemory) => Err(Error::OutOfMemory {
                asked: (len as u64).saturating_mul(size_of::<T>() as u64),
                free: self.free_memory()?,
                total: self.total_memory(),
            }),
            Err(error) => call("cuMemAllocAsync", Err(error)),
        }
    }

    /// A column with every byte set to `byte`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn filled_with_byte<T: Element>(&self, byte: u8, len: usize) -> Result<Column<T>> {
        // SAFETY: written right below.
        let mut column = unsafe { self.uninitialized(len)? };
        if len > 0 {
            let buffer: &mut DeviceBuffer<T> = &mut column.buffer;
            // SAFETY: the stream orders this before every use of the column.
            call("cuMemsetD8Async", unsafe { buffer.set_8_async(byte, &self.stream) })?;
        }
        Ok(column)
    }

    /// Enqueues setting every byte of `len` elements from `start` on.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The elements are device memory that nobody else touches until the work has run, and the
    /// bytes are a valid `T`.
    pub unsafe fn fill_with_byte<T>(&self, start: *mut T, byte: u8, len: usize) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        self.make_current()?;
        let (start, bytes) = (start as sys::CUdeviceptr, len * size_of::<T>());
        // SAFETY: passed on to the caller.
        let code = unsafe { sys::cuMemsetD8Async(start, byte, bytes, self.stream.as_inner()) };
        check("cuMemsetD8Async", code)
    }

    /// A column of zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn zeroed<T: Element>(&self, len: usize) -> Result<Column<T>> {
        self.filled_with_byte(0, len)
    }

    /// Copies a slice to the device. Waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn upload<T: Element>(&self, host: &[T]) -> Result<Column<T>> {
        // SAFETY: `host` is borrowed until the stream is synchronised.
        let column = unsafe { self.enqueue_copy(host)? };
        self.synchronize()?;
        Ok(column)
    }

    /// Copies a few elements to the device without waiting: a table for a kernel.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`], [`Error::Captured`] inside [`Gpu::capture`].
    pub fn enqueue_upload<T: Element>(&self, host: &[T]) -> Result<Column<T>> {
        self.refuse_in_capture("a copy from the host")?;
        // The driver takes what it copies from pageable memory before the call returns. Memory
        // just allocated here is pageable; the caller's might not be.
        let pageable = host.to_vec();
        // SAFETY: as said, `pageable` is not read after the call.
        unsafe { self.enqueue_copy(&pageable) }
    }

    /// A column filled by an enqueued copy.
    ///
    /// # Safety
    /// `host` stays valid until the driver has read it.
    unsafe fn enqueue_copy<T: Element>(&self, host: &[T]) -> Result<Column<T>> {
        // SAFETY: written right below.
        let column = unsafe { self.uninitialized(host.len())? };
        if !host.is_empty() {
            // SAFETY: both sides have `host.len()` elements; the rest is passed on to the caller.
            // (cust's own copy wants a mutable source.)
            let code = unsafe {
                sys::cuMemcpyHtoDAsync_v2(
                    column.buffer.as_device_ptr().as_raw(),
                    host.as_ptr().cast(),
                    size_of_val(host),
                    self.stream.as_inner(),
                )
            };
            check("cuMemcpyHtoDAsync", code)?;
        }
        Ok(column)
    }

    /// Copies a row-major raster to the device. Waits for the copy.
    ///
    /// # Errors
    /// [`Error::Length`] unless `host` has `width * height` elements, [`Error::OutOfMemory`],
    /// [`Error::Driver`].
    pub fn upload_grid<T: Element>(
        &self,
        host: &[T],
        width: u32,
        height: u32,
    ) -> Result<DeviceGrid<T>> {
        DeviceGrid::new(self.upload(host)?, width, height)
    }
}

/// A row-major raster in device memory.
#[derive(Debug)]
pub struct DeviceGrid<T: Element> {
    column: Column<T>,
    width: u32,
    height: u32,
}

impl<T: Element> DeviceGrid<T> {
    /// Takes a column of `width * height` elements as a raster.
    ///
    /// # Errors
    /// [`Error::Length`] where it has another length.
    pub fn new(column: Column<T>, width: u32, height: u32) -> Result<Self> {
        let expected = u64::from(width) * u64::from(height);
        let found = column.len() as u64;
        if found != expected {
            return Err(Error::Length { what: "raster", expected, found });
        }
        Ok(Self { column, width, height })
    }

    /// Columns of the raster.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows of the raster.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The elements, row by row.
    pub fn column(&self) -> &Column<T> {
        &self.column
    }

    /// The elements, row by row, to be written.
    pub fn column_mut(&mut self) -> &mut Column<T> {
        &mut self.column
    }

    /// The elements alone.
    pub fn into_column(self) -> Column<T> {
        self.column
    }
}
