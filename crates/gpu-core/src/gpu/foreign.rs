//! Buffers of other crates as memory of a slice.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cuda_driver::sys::{CUdevice, CUstream};
use device_std::host::Access;

use crate::{Error, Gpu, Result};

/// A buffer of another crate.
pub(crate) trait Foreign: Sync {
    /// The stream on which its owner's safe functions work on it; `own`, that of the handle which uses it, where it knows none.
    fn stream(&self, own: CUstream) -> CUstream;

    /// The device that it lies on. The handle's context is current.
    fn device(&self) -> Result<CUdevice>;

    /// Whether its owner frees it in no stream's order, so that a use of it is waited for.
    fn is_freed_at_once(&self) -> Result<bool>;

    /// Tells its owner that [`Foreign::stream`] reads it: what is enqueued there from now on comes after
    /// earlier writes, and later writes come after what is enqueued there by now.
    fn tell_read(&self);

    /// Reserves it for work on a handle's stream. The work is enqueued before the result is dropped.
    fn reserve(&self, _gpu: &Gpu, _access: Access) -> Result<Reserved> {
        Ok(None)
    }
}

/// Keeps a buffer reserved until work on it is enqueued, if its owner reserves buffers.
pub(crate) type Reserved = Option<Box<dyn Any + Send + Sync>>;

/// `CUDA_ERROR_NOT_READY`: an owner's answer while its buffer is reserved.
const NOT_READY: i32 = 600;

/// How often to ask again for a reserved buffer, a millisecond apart.
const TRIES: usize = 1000;

/// A buffer of another crate that can be written. Parts of it may go to other threads.
pub(crate) trait ForeignMut: Foreign + Send {
    /// As [`Foreign::tell_read`], of a write.
    fn tell_write(&mut self);
}

/// A borrowed buffer of another crate.
#[derive(Clone, Copy)]
pub(crate) enum Buffer<'a> {
    /// One that is read.
    Shared(&'a dyn Foreign),
    /// One that slices alone use for the lifetime: those that one mutable slice was split into, and what is
    /// borrowed from them, on any threads.
    Mutable(NonNull<dyn ForeignMut + 'a>),
}

// SAFETY: the buffer is `Sync`, and where it can be written `Send`; references to one that can be written
// are made by one thread at a time.
unsafe impl Send for Buffer<'_> {}
// SAFETY: as above.
unsafe impl Sync for Buffer<'_> {}

/// Where a buffer is.
pub(crate) struct Place {
    pub(crate) stream: CUstream,
    pub(crate) device: CUdevice,
    pub(crate) is_freed_at_once: bool,
}

impl Place {
    fn of(buffer: &dyn Foreign, own: CUstream) -> Result<Self> {
        let (stream, device) = (buffer.stream(own), buffer.device()?);
        Ok(Self { stream, device, is_freed_at_once: buffer.is_freed_at_once()? })
    }
}

/// Taken as long as there is a reference to a buffer that can be written: the slices that one was split
/// into all lead to it.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffer<'_> {
    /// Where it is. Its context is current.
    pub(crate) fn place(self, own: CUstream) -> Result<Place> {
        self.with(|buffer| Place::of(buffer, own))
    }

    /// Reserves it for work on a handle's stream.
    pub(crate) fn reserve(self, gpu: &Gpu, access: Access) -> Result<Reserved> {
        let mut tries = 0;
        loop {
            match self.with(|buffer| buffer.reserve(gpu, access)) {
                // Another thread is about to enqueue work on it. Here nobody has its turn.
                Err(Error::Driver { code: NOT_READY, .. }) if tries < TRIES => {
                    std::thread::sleep(Duration::from_millis(1));
                    tries += 1;
                }
                other => return other,
            }
        }
    }

    fn with<R>(self, work: impl FnOnce(&dyn Foreign) -> R) -> R {
        match self {
            Self::Shared(buffer) => work(buffer),
            Self::Mutable(buffer) => {
                let _turn = alone();
                // SAFETY: the buffer is borrowed for the lifetime by slices alone, and of their references
                // this is the only one, as the turn is ours until it has gone.
                work(unsafe { buffer.as_ref() })
            }
        }
    }

    /// Tells its owner that its stream uses it.
    pub(crate) fn tell(self, access: Access) {
        match (self, access) {
            (Self::Shared(buffer), _) => buffer.tell_read(),
            (Self::Mutable(buffer), Access::Read) => {
                let _turn = alone();
                // SAFETY: as above.
                unsafe { buffer.as_ref() }.tell_read();
            }
            (Self::Mutable(mut buffer), Access::Write | Access::Atomic) => {
                let _turn = alone();
                // SAFETY: as above.
                unsafe { buffer.as_mut() }.tell_write();
            }
        }
    }
}
