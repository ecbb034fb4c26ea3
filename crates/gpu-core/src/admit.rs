//! Work on memory of another stream, put in order.
//!
//! A column lives on one stream: there it was written, and there it will be freed. Work of another
//! stream on it must come after what that stream has enqueued by now, and before what it enqueues
//! later. So a function that takes slices admits each to the handle that it enqueues on, and keeps
//! what it gets until its work is enqueued:
//!
//! 1. At the admission the handle's stream waits for the memory's.
//! 2. When the admission goes, the memory's stream waits for the handle's.
//!
//! Where both are one stream, as nearly always, this costs a comparison.

use std::fmt;
use std::ops::{Deref, DerefMut};
#[cfg(any(feature = "cust", feature = "cudarc"))]
use std::ptr::NonNull;

#[cfg(any(feature = "cust", feature = "cudarc"))]
use cuda_driver::sys::CUdevice;
use cuda_driver::sys::CUstream;

use crate::column::Owner;
use crate::stream::order_outside_captures;
use crate::{Gpu, Result, Slice, SliceMut};

/// Where memory lives.
#[derive(Clone, Copy)]
pub(crate) enum Home<'a> {
    /// On the stream of a column's handle.
    Column(&'a Owner),
    /// Whoever made the slice from raw parts has promised the order.
    Promised,
    /// On the stream of a buffer of another crate, which is read.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    Foreign(&'a dyn Foreign),
    /// The same, borrowed mutably for as long as the slice: a [`SliceMut`] alone has it, or what is
    /// borrowed from one.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    ForeignMut(NonNull<dyn ForeignMut + 'a>),
}

/// A buffer of another crate.
#[cfg(any(feature = "cust", feature = "cudarc"))]
pub(crate) trait Foreign: Sync {
    /// The stream on which its owner's safe functions work on it.
    fn stream(&self) -> CUstream;

    /// The device that it lies on. The handle's context is current.
    fn device(&self) -> Result<CUdevice>;

    /// Whether its owner frees it in no stream's order, so that a use of it is waited for.
    fn is_freed_at_once(&self) -> Result<bool>;

    /// Tells the owner of a read on [`Foreign::stream`] that begins here and ends where the result
    /// is dropped.
    fn lease(&self) -> Option<Box<dyn Lease + '_>>;
}

/// A buffer of another crate that can be written.
#[cfg(any(feature = "cust", feature = "cudarc"))]
pub(crate) trait ForeignMut: Foreign {
    /// As [`Foreign::lease`], of a write.
    fn lease_mut(&mut self) -> Option<Box<dyn Lease + '_>>;
}

/// The use of a buffer of another crate, until it is dropped.
pub(crate) trait Lease {}

impl<T> Lease for T {}

/// What is to be done with a slice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

impl Gpu {
    /// Puts the work that is enqueued on this handle while the result lives in order with the
    /// slice's own stream. To be called by every function that reads a slice in a launch.
    ///
    /// # Errors
    /// [`Error::OtherGpu`](crate::Error::OtherGpu) for memory of another device; [`Error::Captured`](crate::Error::Captured) for memory of another
    /// stream while either captures; [`Error::NotLaunched`](crate::Error::NotLaunched) for memory of a graph that was never
    /// launched; [`Error::Driver`](crate::Error::Driver).
    pub fn admit<'a, T>(&self, slice: impl Into<Slice<'a, T>>) -> Result<Reading<'a, T>> {
        let slice = slice.into();
        Ok(Reading { _order: self.order(slice.home, Use::Read)?, slice })
    }

    /// The same for a slice that is written.
    ///
    /// # Errors
    /// As [`Gpu::admit`].
    pub fn admit_mut<'a, T>(&self, slice: impl Into<SliceMut<'a, T>>) -> Result<Writing<'a, T>> {
        let slice = slice.into();
        Ok(Writing { _order: self.order(slice.home, Use::Write)?, slice })
    }

    #[cfg_attr(not(any(feature = "cust", feature = "cudarc")), expect(unused_variables))]
    fn order<'a>(&self, home: Home<'a>, use_: Use) -> Result<Option<Order<'a>>> {
        match home {
            Home::Promised => Ok(None),
            Home::Column(owner) => {
                if !owner.is_of_capture_on(self) {
                    owner.check_launched()?;
                }
                self.same_device(owner.gpu.opened.device)?;
                self.order_after(owner.gpu.stream.raw, None)
            }
            #[cfg(any(feature = "cust", feature = "cudarc"))]
            Home::Foreign(buffer) => self.order_foreign(buffer, || buffer.lease()),
            #[cfg(any(feature = "cust", feature = "cudarc"))]
            Home::ForeignMut(buffer) => {
                // SAFETY: the buffer is borrowed mutably for 'a by the slice that was admitted, or
                // by the one that this was borrowed from, of which nobody else uses it meanwhile.
                let lease = || unsafe {
                    match use_ {
                        Use::Read => (*buffer.as_ptr()).lease(),
                        Use::Write => (*buffer.as_ptr()).lease_mut(),
                    }
                };
                // SAFETY: as above; the reference is not used after the lease is taken.
                let shared: &dyn Foreign = unsafe { buffer.as_ref() };
                self.order_foreign(shared, lease)
            }
        }
    }

    /// The order with a buffer of another crate.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    fn order_foreign<'a>(
        &self,
        buffer: &dyn Foreign,
        lease: impl FnOnce() -> Option<Box<dyn Lease + 'a>>,
    ) -> Result<Option<Order<'a>>> {
        self.make_current()?;
        self.same_device(buffer.device()?)?;
        let (stream, waits) = (buffer.stream(), buffer.is_freed_at_once()?);
        let mut order = self.order_after(stream, lease())?;
        if waits {
            self.refuse_in_capture("memory that its owner frees in no stream's order")?;
            let none = Order { gpu: self.clone(), elsewhere: None, waits, lease: None };
            order.get_or_insert(none).waits = true;
        }
        Ok(order)
    }

    /// Lets this handle's stream wait for the memory's, if they are two.
    fn order_after<'a>(
        &self,
        memory: CUstream,
        lease: Option<Box<dyn Lease + 'a>>,
    ) -> Result<Option<Order<'a>>> {
        let elsewhere = (memory != self.stream.raw).then_some(memory);
        if elsewhere.is_some() {
            self.make_current()?;
            order_outside_captures(memory, self.stream.raw)?;
        }
        if elsewhere.is_none() && lease.is_none() {
            return Ok(None);
        }
        Ok(Some(Order { gpu: self.clone(), elsewhere, waits: false, lease }))
    }
}

/// What is to be done once the work on a slice is enqueued.
struct Order<'a> {
    gpu: Gpu,
    /// The memory's stream, where it is another than the handle's.
    elsewhere: Option<CUstream>,
    /// Whether the work is waited for.
    waits: bool,
    lease: Option<Box<dyn Lease + 'a>>,
}

impl Drop for Order<'_> {
    fn drop(&mut self) {
        let ordered = self.gpu.make_current().and_then(|()| match self.elsewhere {
            Some(memory) => order_outside_captures(self.gpu.stream.raw, memory),
            None => Ok(()),
        });
        if self.waits || ordered.is_err() {
            // An error of the wait is reported by the next one.
            let _ = self.gpu.synchronize();
        }
        // The buffer's owner is told after its stream waits for the work.
        self.lease = None;
    }
}

/// A [`Slice`] that a handle may read: see [`Gpu::admit`].
#[must_use = "the order holds while this lives"]
pub struct Reading<'a, T> {
    slice: Slice<'a, T>,
    _order: Option<Order<'a>>,
}

/// A [`SliceMut`] that a handle may write: see [`Gpu::admit_mut`].
#[must_use = "the order holds while this lives"]
pub struct Writing<'a, T> {
    slice: SliceMut<'a, T>,
    _order: Option<Order<'a>>,
}

impl<'a, T> Deref for Reading<'a, T> {
    type Target = Slice<'a, T>;

    fn deref(&self) -> &Slice<'a, T> {
        &self.slice
    }
}

impl<'a, T> Deref for Writing<'a, T> {
    type Target = SliceMut<'a, T>;

    fn deref(&self) -> &SliceMut<'a, T> {
        &self.slice
    }
}

impl<'a, T> DerefMut for Writing<'a, T> {
    fn deref_mut(&mut self) -> &mut SliceMut<'a, T> {
        &mut self.slice
    }
}

impl<T> fmt::Debug for Reading<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slice.fmt(f)
    }
}

impl<T> fmt::Debug for Writing<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slice.fmt(f)
    }
}
