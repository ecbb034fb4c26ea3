//! Copies between host and device that run beside other work, and host memory that makes them fast.

use std::ffi::c_uint;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use cuda_driver::Status;
use cuda_driver::sys::{self, CUdeviceptr};

use crate::gpu::driver::check;
use crate::gpu::staging::{self, Queue, Staged, Staging, Way};
use crate::gpu::stream::Event;
use crate::{Element, Error, Gpu, Result, Slice, SliceMut};

/// An array in page-locked host memory: the device copies it directly, two to five times as fast as
/// pageable memory, and without holding up the thread that enqueues the copy.
///
/// Such memory is slow to allocate (milliseconds for 100 MB), and all programs of the machine lack it: keep it and use
/// it again.
pub struct PageLocked<T: Element> {
    start: NonNull<T>,
    len: usize,
    gpu: Gpu,
}

// SAFETY: it owns its elements as a Vec does, and they are plain bytes.
unsafe impl<T: Element + Send> Send for PageLocked<T> {}
// SAFETY: as above.
unsafe impl<T: Element + Sync> Sync for PageLocked<T> {}

impl Gpu {
    /// Page-locked host memory of zeros.
    ///
    /// # Errors
    /// [`Error::Driver`] if the system has no more such memory.
    pub fn page_locked<T: Element>(&self, len: usize) -> Result<PageLocked<T>> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(Error::HostMemory {
            asked: u64::MAX,
            available: crate::host_memory::available().unwrap_or(0),
        })?;
        let mut start = std::ptr::null_mut();
        if bytes > 0 {
            let _current = self.make_current()?;
            // SAFETY: the address is given to a live variable.
            check("cuMemHostAlloc", unsafe { sys::cuMemHostAlloc(&mut start, bytes, 0) })?;
        }
        let start = NonNull::new(start.cast::<T>()).unwrap_or(NonNull::dangling());
        // SAFETY: the memory is ours, and zeros are a valid `T`.
        unsafe { start.as_ptr().write_bytes(0, len) };
        Ok(PageLocked { start, len, gpu: self.clone() })
    }

    /// Enqueues a copy from the host on this handle's stream. For pageable memory the call returns when the memory has
    /// been read; for [`PageLocked`] memory it returns at once.
    ///
    /// From 4 MiB on, rayon's threads copy pageable memory in pieces. They use 64 MiB of page-locked memory that the
    /// device keeps for such copies. With enough threads the rate is nearly as high as from page-locked memory.
    ///
    /// # Errors
    /// - [`Error::Length`]: the two sides differ in length.
    /// - [`Error::Captured`]: the call is inside [`Gpu::capture`].
    /// - [`Error::Driver`]: the driver failed.
    ///
    /// # Safety
    /// `host` stays unchanged until the stream has passed the copy. If earlier work on the column runs on other
    /// streams, the caller makes the stream wait for it first ([`Gpu::wait_for`]).
    pub unsafe fn enqueue_write<T: Element>(&self, mut to: SliceMut<T>, host: &[T]) -> Result<()> {
        if !self.is_copy(to.len(), host.len())? {
            return Ok(());
        }
        // SAFETY: both sides have as many elements; the rest is passed on to the caller.
        unsafe { self.copy_in(to.as_mut_ptr() as CUdeviceptr, bytemuck::cast_slice(host)) }
    }

    /// Enqueues a copy to the host on this handle's stream. For pageable memory the call returns when the copy is done,
    /// at the rate that [`Gpu::enqueue_write`] states; for [`PageLocked`] memory it returns at once.
    ///
    /// # Errors
    /// The errors of [`Gpu::enqueue_write`].
    ///
    /// # Safety
    /// Nobody touches `host` until the stream has passed the copy, and the stream passes it after
    /// all earlier work on the column that runs on other streams.
    pub unsafe fn enqueue_read<T: Element>(&self, from: Slice<T>, host: &mut [T]) -> Result<()> {
        if !self.is_copy(from.len(), host.len())? {
            return Ok(());
        }
        let (to, bytes) = (host.as_mut_ptr().cast(), size_of_val(host));
        // SAFETY: both sides have as many elements; bytes that are initialised stay so.
        unsafe {
            let host = std::slice::from_raw_parts_mut(to, bytes);
            self.copy_out(from.as_ptr() as CUdeviceptr, host)
        }
    }

    /// Begins a copy like [`Gpu::enqueue_write`], without waiting for it, from pageable memory too. Several such copies
    /// run beside each other. Other work on this handle's stream may run before the copy or after it;
    /// [`Copying::order_before`] makes a handle wait for it. From 128 KiB on, rayon's threads copy pageable memory;
    /// smaller copies end before the call returns.
    ///
    /// # Errors
    /// The errors of [`Gpu::enqueue_write`].
    ///
    /// # Safety
    /// The conditions of [`Gpu::enqueue_write`]. Also, `host` and `to` live until the caller has waited for the
    /// [`Copying`] or dropped it, and the caller does not forget it.
    pub unsafe fn begin_write<T: Element>(
        &self,
        mut to: SliceMut<T>,
        host: &[T],
    ) -> Result<Copying> {
        let is_copy = self.is_copy(to.len(), host.len())?;
        let (to, bytes): (_, &[u8]) = (to.as_mut_ptr() as CUdeviceptr, bytemuck::cast_slice(host));
        let _current = self.make_current()?;
        if let Some(staging) = self.staging(bytes.as_ptr(), bytes.len(), staging::LEAST) {
            let from = bytes.as_ptr().cast_mut();
            // SAFETY: both sides have as many bytes, of which the host's are only read; the rest is passed on to
            // the caller.
            let staged = unsafe { staging.begin(self.queue(), Way::In, to, from, bytes.len()) };
            return Ok(Copying(self.clone(), By::Threads(staged)));
        }
        if is_copy {
            // SAFETY: passed on to the caller.
            unsafe { self.copy_in(to, bytes)? };
        }
        self.copying()
    }

    /// Begins a copy like [`Gpu::enqueue_read`], without waiting for it, to pageable memory too. The copy comes after
    /// all work that `after` has by now.
    ///
    /// # Errors
    /// The errors of [`Gpu::enqueue_read`], and [`Error::OtherGpu`] for a handle to another device.
    ///
    /// # Safety
    /// Nobody touches `host` or writes to `from`, and both live, until the caller has waited for the [`Copying`] or
    /// dropped it. The caller does not forget it.
    pub unsafe fn begin_read<T: Element>(
        &self,
        after: &Gpu,
        from: Slice<T>,
        host: &mut [T],
    ) -> Result<Copying> {
        let is_copy = self.is_copy(from.len(), host.len())?;
        let (from, bytes) = (from.as_ptr() as CUdeviceptr, size_of_val(host));
        let to = host.as_mut_ptr().cast::<u8>();
        let _current = self.make_current()?;
        if let Some(staging) = self.staging(to, bytes, staging::LEAST) {
            self.same_device(after.opened.device)?;
            let ready = Event::new(sys::CU_EVENT_DISABLE_TIMING)?;
            ready.record(after.stream.raw())?;
            let way = Way::Out(Some(ready));
            // SAFETY: both sides have as many bytes; the rest is passed on to the caller.
            let staged = unsafe { staging.begin(self.queue(), way, from, to, bytes) };
            return Ok(Copying(self.clone(), By::Threads(staged)));
        }
        self.wait_for(after)?;
        if is_copy {
            // SAFETY: passed on to the caller; bytes that are initialised stay so.
            unsafe { self.copy_out(from, std::slice::from_raw_parts_mut(to.cast(), bytes))? };
        }
        self.copying()
    }

    /// A copy that is enqueued.
    fn copying(&self) -> Result<Copying> {
        let _current = self.make_current()?;
        let passed = Event::new(sys::CU_EVENT_DISABLE_TIMING)?;
        passed.record(self.stream.raw())?;
        Ok(Copying(self.clone(), By::Driver(passed)))
    }

    /// A copy to the device.
    ///
    /// # Safety
    /// As [`Gpu::enqueue_write`]; `to` is device memory of as many bytes.
    pub(crate) unsafe fn copy_in(&self, to: CUdeviceptr, host: &[u8]) -> Result<()> {
        let _current = self.make_current()?;
        if let Some(staging) = self.staging(host.as_ptr(), host.len(), staging::LARGE) {
            let from = host.as_ptr().cast_mut();
            // SAFETY: both sides have as many bytes, of which the host's are only read; they stay while this call
            // waits.
            let staged = unsafe { staging.begin(self.queue(), Way::In, to, from, host.len()) };
            return staging.end(&staged);
        }
        // SAFETY: both sides have as many bytes; the rest is passed on to the caller.
        check("cuMemcpyHtoDAsync", unsafe {
            sys::cuMemcpyHtoDAsync_v2(to, host.as_ptr().cast(), host.len(), self.stream.raw())
        })
    }

    /// A copy from the device.
    ///
    /// # Safety
    /// As [`Gpu::enqueue_read`]; `from` is device memory of as many initialised bytes.
    pub(crate) unsafe fn copy_out(
        &self,
        from: CUdeviceptr,
        host: &mut [MaybeUninit<u8>],
    ) -> Result<()> {
        let _current = self.make_current()?;
        if let Some(staging) = self.staging(host.as_ptr().cast(), host.len(), staging::LARGE) {
            let to = host.as_mut_ptr().cast();
            // SAFETY: as above.
            let staged =
                unsafe { staging.begin(self.queue(), Way::Out(None), from, to, host.len()) };
            return staging.end(&staged);
        }
        let to = host.as_mut_ptr().cast();
        // SAFETY: both sides have as many bytes; the rest is passed on to the caller.
        check("cuMemcpyDtoHAsync", unsafe {
            sys::cuMemcpyDtoHAsync_v2(to, from, host.len(), self.stream.raw())
        })
    }

    fn queue(&self) -> Queue {
        Queue(self.stream.raw())
    }

    /// Returns the staging for a copy of `bytes` bytes, if they are at least `least` and the host's memory is pageable.
    fn staging(&self, host: *const u8, bytes: usize, least: usize) -> Option<&Arc<Staging>> {
        if bytes < least || is_known(host) {
            return None;
        }
        self.opened.staging()
    }

    /// Whether there is something to copy.
    fn is_copy(&self, on_device: usize, on_host: usize) -> Result<bool> {
        if on_device != on_host {
            let (expected, found) = (on_device as u64, on_host as u64);
            return Err(Error::Length { what: "host array", expected, found });
        }
        self.refuse_in_capture("a copy between host and device")?;
        Ok(on_host > 0)
    }
}

/// A copy that was begun by [`Gpu::begin_write`] or [`Gpu::begin_read`]. Dropping it waits for the copy, or abandons a
/// copy that has hardly begun.
#[must_use = "dropped, the copy is given up"]
pub struct Copying(Gpu, By);

/// Who copies.
enum By {
    /// The driver; the event is behind the copy.
    Driver(Event),
    /// Threads, piece by piece.
    Threads(Arc<Staged>),
}

impl Copying {
    /// Makes work that is enqueued on `later` from now on wait for the copy. Waits until pageable memory has been read
    /// or written, and helps to copy it.
    ///
    /// # Errors
    /// The copy's error; [`Error::OtherGpu`] for a handle to another device; [`Error::Driver`].
    pub fn order_before(&self, later: &Gpu) -> Result<()> {
        let Self(gpu, by) = self;
        gpu.same_device(later.opened.device)?;
        let ended = self.end();
        let _current = gpu.make_current()?;
        match by {
            By::Driver(passed) => passed.order_before(later.stream.raw()),
            By::Threads(staged) => ended.and_then(|()| staged.order_before(later.stream.raw())),
        }
    }

    /// Waits for the copy.
    ///
    /// # Errors
    /// The error of the copy, or of earlier work on its stream.
    pub fn wait(self) -> Result<()> {
        let _current = self.0.make_current()?;
        self.end()?;
        match &self.1 {
            By::Driver(passed) => passed.synchronize(),
            By::Threads(staged) => staged.synchronize(),
        }
    }

    /// Waits for the threads.
    fn end(&self) -> Result<()> {
        let Self(gpu, by) = self;
        match (by, gpu.opened.staging()) {
            (By::Threads(staged), Some(staging)) => staging.end(staged),
            _ => Ok(()),
        }
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        if let By::Threads(staged) = &self.1 {
            staged.abandon();
        }
        // Errors here are those of the copy, which nobody wants any more.
        let _current = self.0.make_current();
        let _ = self.end().and_then(|()| match &self.1 {
            By::Driver(passed) => passed.synchronize(),
            By::Threads(staged) => staged.synchronize(),
        });
    }
}

impl fmt::Debug for Copying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Copying").finish_non_exhaustive()
    }
}

/// Whether the driver knows the memory, as it does page-locked memory.
fn is_known(host: *const u8) -> bool {
    let mut kind: c_uint = 0;
    let attribute = sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    // SAFETY: the kind is a live variable of the attribute's type; the address is only looked up.
    let answer = unsafe {
        sys::cuPointerGetAttribute((&raw mut kind).cast(), attribute, host as CUdeviceptr)
    };
    answer == Status::CUDA_SUCCESS && kind != 0
}

impl<T: Element> Deref for PageLocked<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialised elements that this value owns.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Element> DerefMut for PageLocked<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Element> Drop for PageLocked<T> {
    fn drop(&mut self) {
        if self.len * size_of::<T>() == 0 {
            return;
        }
        if let Ok(_current) = self.gpu.make_current() {
            // SAFETY: the memory is this value's own. An error would be an earlier one's.
            let _ = unsafe { sys::cuMemFreeHost(self.start.as_ptr().cast()) };
        }
    }
}

impl<T: Element> fmt::Debug for PageLocked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageLocked<{}>[{}]", std::any::type_name::<T>(), self.len)
    }
}
