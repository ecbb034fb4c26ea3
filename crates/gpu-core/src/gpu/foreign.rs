//! Buffers of other crates, as the home of a slice.

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_driver::sys::{CUdevice, CUstream};

use crate::Result;
use crate::gpu::admit::Use;

/// A buffer of another crate.
pub(crate) trait Foreign: Sync {
    /// The stream on which its owner's safe functions work on it.
    fn stream(&self) -> CUstream;

    /// The device that it lies on. The handle's context is current.
    fn device(&self) -> Result<CUdevice>;

    /// Whether its owner frees it in no stream's order, so that a use of it is waited for.
    fn is_freed_at_once(&self) -> Result<bool>;

    /// Tells its owner that [`Foreign::stream`] reads it: what is enqueued there from now on comes after
    /// earlier writes, and later writes come after what is enqueued there by now.
    fn tell_read(&self);
}

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
    fn of(buffer: &dyn Foreign) -> Result<Self> {
        let (stream, device) = (buffer.stream(), buffer.device()?);
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
    pub(crate) fn place(self) -> Result<Place> {
        match self {
            Self::Shared(buffer) => Place::of(buffer),
            Self::Mutable(buffer) => {
                let _turn = alone();
                // SAFETY: the buffer is borrowed for the lifetime by slices alone, and of their references
                // this is the only one, as the turn is ours until it has gone.
                Place::of(unsafe { buffer.as_ref() })
            }
        }
    }

    /// Tells its owner that its stream uses it.
    pub(crate) fn tell(self, use_: Use) {
        match (self, use_) {
            (Self::Shared(buffer), _) => buffer.tell_read(),
            (Self::Mutable(buffer), Use::Read) => {
                let _turn = alone();
                // SAFETY: as above.
                unsafe { buffer.as_ref() }.tell_read();
            }
            (Self::Mutable(mut buffer), Use::Write) => {
                let _turn = alone();
                // SAFETY: as above.
                unsafe { buffer.as_mut() }.tell_write();
            }
        }
    }
}

#[cfg(all(test, feature = "software"))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::gpu::admit::Home;
    use crate::{Column, DeviceChoice, Gpu, Slice, SliceMut};

    /// Counts what it is told, without an atomic: two threads at once would lose some.
    struct Counting {
        column: Column<u32>,
        reads: AtomicU32,
        writes: u32,
        is_borrowed: bool,
    }

    impl Foreign for Counting {
        fn stream(&self) -> CUstream {
            assert!(!self.is_borrowed, "two references, of which one can write");
            self.column.gpu().stream.own()
        }

        fn device(&self) -> Result<CUdevice> {
            Ok(self.column.gpu().opened.device)
        }

        fn is_freed_at_once(&self) -> Result<bool> {
            Ok(false)
        }

        fn tell_read(&self) {
            assert!(!self.is_borrowed, "two references, of which one can write");
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl ForeignMut for Counting {
        fn tell_write(&mut self) {
            assert!(!self.is_borrowed, "two references, of which one can write");
            self.is_borrowed = true;
            let writes = self.writes;
            std::thread::yield_now();
            self.writes = writes + 1;
            self.is_borrowed = false;
        }
    }

    fn slice(buffer: &mut Counting) -> SliceMut<'_, u32> {
        let (start, len) = (buffer.column.as_mut_ptr(), buffer.column.len());
        let buffer: &mut dyn ForeignMut = buffer;
        SliceMut::new(start, len, Home::Foreign(Buffer::Mutable(buffer.into())))
    }

    #[test]
    fn halves_of_a_buffer_are_written_by_two_threads_and_referred_to_by_one_at_a_time() {
        let gpu = Gpu::open(DeviceChoice::Software).unwrap();
        let (reads, writes, is_borrowed) = (AtomicU32::new(0), 0, false);
        let column = gpu.zeroed(200).unwrap();
        let mut buffer = Counting { column, reads, writes, is_borrowed };
        let (left, right) = slice(&mut buffer).split_at(100).unwrap();
        let write = |mut half: SliceMut<u32>| {
            let gpu = gpu.fork().unwrap();
            for _ in 0..200 {
                let mut half = gpu.admit_mut(half.reborrow()).unwrap();
                // SAFETY: the half is admitted, and has so many elements.
                unsafe { gpu.fill_with_byte(half.as_mut_ptr(), 1, half.len()).unwrap() };
                drop(gpu.admit(&*half).unwrap());
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| write(left));
            scope.spawn(|| write(right));
        });
        let shared = Home::Foreign(Buffer::Shared(&buffer));
        drop(gpu.admit(Slice::new(buffer.column.as_ptr(), 200, shared)).unwrap());
        assert_eq!(buffer.writes, 2 * 200 * 2, "as each use begins, and as it ends");
        assert_eq!(buffer.reads.into_inner(), 2 * 200 * 2 + 2);
        assert_eq!(buffer.column.to_host().unwrap(), vec![0x01010101; 200]);
    }
}
