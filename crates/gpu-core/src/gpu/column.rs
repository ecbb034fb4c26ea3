//! Typed device memory.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;
use cuda_driver::Status;
use cuda_driver::sys::{self, CUdeviceptr};

use crate::gpu::Gpu;
use crate::gpu::driver::check;
use crate::{Error, Result, Slice};

/// An element that device memory can hold: plain bytes, any bit pattern valid
/// ([`bytemuck::Pod`]).
pub trait Element: Pod {}

impl<T: Pod> Element for T {}

/// A typed array in device memory, from the stream-ordered pool of the handle that made it.
///
/// Dropping it enqueues the release on that handle's stream, after the work that uses it; the pool keeps the memory for
/// the next column. So a program in its steady state allocates nothing.
///
/// A column may be used through any handle of its device ([`Gpu::admit`] orders the streams); [`Column::move_to`] gives
/// it to another handle for good.
pub struct Column<T: Element> {
    start: CUdeviceptr,
    len: usize,
    pub(crate) owner: Owner,
    /// Whoever releases the memory, where it is not from the pool.
    foreign: Option<Box<dyn Any + Send + Sync>>,
    elements: PhantomData<T>,
}

/// Whose a column is, and whether it is there yet.
pub(crate) struct Owner {
    /// The handle on whose stream it lives.
    pub(crate) gpu: Gpu,
    /// For memory of a graph: whether the graph was launched.
    made_in: Option<Arc<AtomicBool>>,
}

impl Owner {
    /// The memory of a graph is there from its first launch on.
    pub(crate) fn check_launched(&self) -> Result<()> {
        match &self.made_in {
            Some(launched) if !launched.load(Ordering::Acquire) => Err(Error::NotLaunched),
            _ => Ok(()),
        }
    }

    /// Whether `gpu`'s stream records the graph to which the memory belongs.
    pub(crate) fn is_of_capture_on(&self, gpu: &Gpu) -> bool {
        let recorded = gpu.stream.recording();
        matches!((&self.made_in, &recorded), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
    }
}

impl<T: Element> Column<T> {
    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address, to read from in a kernel.
    pub fn as_ptr(&self) -> *const T {
        self.start as *const T
    }

    /// The device address, to write to in a kernel.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.start as *mut T
    }

    /// The handle on whose stream the column lives.
    pub fn gpu(&self) -> &Gpu {
        &self.owner.gpu
    }

    /// Memory that somebody else allocated on the device of `gpu` and releases when `foreign` is
    /// dropped.
    ///
    /// # Safety
    /// The `len` elements from `start` on are initialised, live as long as `foreign`, and are
    /// nobody else's; work on them that runs on other streams is ordered before `gpu`'s.
    #[cfg(any(feature = "cuda-core", feature = "cudarc", feature = "cust", feature = "dlpack"))]
    pub(crate) unsafe fn from_foreign(
        gpu: &Gpu,
        start: CUdeviceptr,
        len: usize,
        foreign: Box<dyn Any + Send + Sync>,
    ) -> Self {
        let owner = Owner { gpu: gpu.clone(), made_in: None };
        Self { start, len, owner, foreign: Some(foreign), elements: PhantomData }
    }

    /// Takes the memory out, to be released by whoever calls: its address, and whoever else
    /// releases it. Waits for the stream, so that nothing of ours uses it any more.
    #[cfg(any(feature = "cuda-core", feature = "cudarc", feature = "cust"))]
    pub(crate) fn into_foreign(self) -> Result<(CUdeviceptr, Option<Box<dyn Any + Send + Sync>>)> {
        self.owner.check_launched()?;
        self.owner.gpu.synchronize()?;
        let mut this = std::mem::ManuallyDrop::new(self);
        let foreign = this.foreign.take();
        // SAFETY: the owner is not used again: the value is not dropped.
        unsafe { std::ptr::drop_in_place(&raw mut this.owner) };
        Ok((this.start, foreign))
    }

    /// Hands the column over to another handle of its device, and so to that handle's stream. The new stream waits for
    /// the work that the old stream has by now.
    ///
    /// # Errors
    /// The column is lost then.
    ///
    /// - [`Error::OtherGpu`]: the handle is to another device.
    /// - [`Error::Captured`]: one of the streams is being captured.
    /// - [`Error::NotLaunched`], [`Error::Driver`].
    pub fn move_to(mut self, gpu: &Gpu) -> Result<Self> {
        self.owner.check_launched()?;
        gpu.wait_for(&self.owner.gpu)?;
        self.owner.gpu = gpu.clone();
        Ok(self)
    }

    /// Enqueues a copy of another column's elements on this column's stream: new input for a
    /// [`Graph`](crate::Graph), which works on the columns that it was captured with.
    ///
    /// # Errors
    /// [`Error::Length`] unless both have as many elements, [`Error::Driver`], and the errors of [`Gpu::admit`].
    pub fn copy_from<'a>(&mut self, other: impl Into<Slice<'a, T>>) -> Result<()> {
        let gpu = self.owner.gpu.clone();
        gpu.copy(other, self)
    }

    /// Copies the column to the host. Waits for the handle's stream.
    ///
    /// # Errors
    /// [`Error::Driver`], also if earlier work on the stream failed; [`Error::HostMemory`]; [`Error::NotLaunched`].
    pub fn to_host(&self) -> Result<Vec<T>> {
        self.first_to_host(self.len())
    }

    /// Copies the first `count` elements to the host: for a column of which a call wrote only the front. Waits for the
    /// handle's stream.
    ///
    /// # Errors
    /// The errors of [`Column::to_host`]; [`Error::OutOfBounds`] unless there are as many.
    pub fn first_to_host(&self, count: usize) -> Result<Vec<T>> {
        let (gpu, first) = (&self.owner.gpu, self.slice(0..count)?);
        let mut host = crate::host_memory::with_capacity::<T>(count)?;
        if !first.is_empty() {
            self.owner.check_launched()?;
            let (to, bytes) = (host.as_mut_ptr().cast(), count * size_of::<T>());
            // SAFETY: the vector has room for the elements, and lives until the stream is synchronised
            // below.
            unsafe { gpu.copy_out(self.start, std::slice::from_raw_parts_mut(to, bytes))? };
        }
        gpu.synchronize()?;
        // SAFETY: the copy has written all elements.
        unsafe { host.set_len(count) };
        Ok(host)
    }
}

impl<T: Element> Drop for Column<T> {
    fn drop(&mut self) {
        let gpu = &self.owner.gpu;
        // A graph that was never launched has not allocated what it would.
        let is_recorded = self.owner.is_of_capture_on(gpu);
        if self.start == 0 || !is_recorded && self.owner.check_launched().is_err() {
            return;
        }
        let Ok(_current) = gpu.make_current() else { return };
        // What was there before a capture is not the graph's to free.
        let stream = if is_recorded { gpu.stream.raw() } else { gpu.stream.own() };
        if self.foreign.is_some() {
            // Its owner knows nothing of our stream. An error here, and below, is an earlier one
            // of the stream, which the next wait reports.
            // SAFETY: the stream is alive.
            let _ = unsafe { sys::cuStreamSynchronize(stream) };
        } else {
            // SAFETY: the memory is this value's own and from the pool; what uses it is enqueued
            // before.
            let _ = unsafe { sys::cuMemFreeAsync(self.start, stream) };
        }
    }
}

impl<T: Element> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column<{}>[{}]", std::any::type_name::<T>(), self.len())
    }
}

impl Gpu {
    /// Returns a column whose elements must be written before they are read.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; nothing is leaked and the handle stays usable.
    ///
    /// # Safety
    /// No element is read before it is written.
    pub unsafe fn uninitialized<T: Element>(&self, len: usize) -> Result<Column<T>> {
        let bytes = len.checked_mul(size_of::<T>());
        let start = match bytes {
            Some(0) => 0,
            Some(bytes) => self.allocate(bytes)?,
            None => return Err(self.out_of_memory(u64::MAX)?),
        };
        let owner = Owner { gpu: self.clone(), made_in: self.stream.recording() };
        Ok(Column { start, len, owner, foreign: None, elements: PhantomData })
    }

    /// Memory from the pool.
    fn allocate(&self, bytes: usize) -> Result<CUdeviceptr> {
        let _current = self.make_current()?;
        let mut start = 0;
        // SAFETY: the stream is alive, the address a live variable.
        let mut allocate = || unsafe { sys::cuMemAllocAsync(&mut start, bytes, self.stream.raw()) };
        let mut answer = allocate();
        if answer == Status::CUDA_ERROR_OUT_OF_MEMORY {
            // Memory whose release is still enqueued comes back once the stream has run.
            self.synchronize()?;
            answer = allocate();
        }
        if answer == Status::CUDA_ERROR_OUT_OF_MEMORY {
            return Err(self.out_of_memory(bytes as u64)?);
        }
        check("cuMemAllocAsync", answer)?;
        Ok(start)
    }

    fn out_of_memory(&self, asked: u64) -> Result<Error> {
        let (free, total) = (self.free_memory()?, self.total_memory());
        Ok(Error::OutOfMemory { asked, free, total })
    }

    /// A column with every byte set to `byte`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn filled_with_byte<T: Element>(&self, byte: u8, len: usize) -> Result<Column<T>> {
        // SAFETY: written right below, which the stream orders before every use of the column.
        unsafe {
            let mut column = self.uninitialized(len)?;
            self.fill_with_byte::<T>(column.as_mut_ptr(), byte, len)?;
            Ok(column)
        }
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
        let _current = self.make_current()?;
        let (start, bytes) = (start as CUdeviceptr, len * size_of::<T>());
        // SAFETY: the range is device memory, by the caller's promise; the stream is alive.
        let answer = unsafe { sys::cuMemsetD8Async(start, byte, bytes, self.stream.raw()) };
        check("cuMemsetD8Async", answer)
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
            // SAFETY: both sides have `host.len()` elements; the host's stays, by the caller's
            // promise.
            unsafe { self.copy_in(column.start, bytemuck::cast_slice(host))? };
        }
        Ok(column)
    }
}
