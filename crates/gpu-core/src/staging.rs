//! Large copies between pageable host memory and a device, near the rate of page-locked memory.
//!
//! The driver copies pageable memory with one thread through a buffer of its own, at a fifth of what the
//! bus can carry. Here a copy is cut into pieces. Each thread of rayon's pool takes a piece and a slot of
//! page-locked memory; to the device it copies the piece into the slot and enqueues the slot's copy, from
//! the device it enqueues the copy into the slot, waits for it, and copies the slot out. So the bus and
//! the threads work at the same time, and the pages of a new array are first touched by many threads.
//!
//! A slot may be taken again as soon as it is given back; whoever takes it waits for the slot's event,
//! behind the last copy that uses it. Slots wait in a queue, so that the one taken is the one whose copy
//! began first.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Condvar, Mutex, PoisonError};

use cuda_driver::sys::{self, CUcontext, CUdeviceptr, CUstream};
use rayon::prelude::*;

use crate::Result;
use crate::driver::{check, given, make_current};
use crate::stream::Event;

/// Bytes of a slot: long enough that a copy's fixed cost does not count, short enough for a cache.
const PIECE: usize = 2 << 20;

/// Slots of a device: threads at work, and as many copies again on their way.
const SLOTS: usize = 32;

/// From this many bytes on a copy is worth its pieces.
pub(crate) const LARGE: usize = 2 * PIECE;

/// The slots of one device. They stay until the process ends.
pub(crate) struct Staging {
    waiting: Mutex<VecDeque<Slot>>,
    given_back: Condvar,
}

/// Page-locked memory for one piece.
struct Slot {
    start: NonNull<u8>,
    /// Behind the last copy that was enqueued with the slot.
    passed: Event,
}

// SAFETY: the memory is the slot's own, and an event may be used by any thread.
unsafe impl Send for Slot {}

/// Where the pieces of a copy are enqueued.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) context: CUcontext,
    pub(crate) stream: CUstream,
}

// SAFETY: the driver takes contexts and streams from any thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Staging {
    /// Allocates the slots in the current context.
    pub(crate) fn new() -> Result<Self> {
        let allocate = |start| {
            // SAFETY: the address is given to a live variable.
            unsafe { sys::cuMemHostAlloc(start, SLOTS * PIECE, 0) }
        };
        // SAFETY: the function writes the address.
        let start = unsafe { given("cuMemHostAlloc", allocate) }?.cast::<u8>();
        let slot = |i: usize| {
            let start = NonNull::new(start.wrapping_add(i * PIECE)).expect("memory has an address");
            Ok(Slot { start, passed: Event::new(sys::CU_EVENT_DISABLE_TIMING)? })
        };
        let waiting = (0..SLOTS).map(slot).collect::<Result<_>>();
        if waiting.is_err() {
            // SAFETY: allocated above, and no slot is left.
            let _ = unsafe { sys::cuMemFreeHost(start.cast()) };
        }
        Ok(Self { waiting: Mutex::new(waiting?), given_back: Condvar::new() })
    }

    /// Copies `host` to the device; returns when it has been read. The caller's context may have
    /// changed then.
    ///
    /// # Safety
    /// `to` is device memory of as many bytes that the stream may write to when it comes to it.
    pub(crate) unsafe fn write(&self, queue: Queue, to: CUdeviceptr, host: &[u8]) -> Result<()> {
        host.par_chunks(PIECE).enumerate().try_for_each(|(i, piece)| {
            let slot = self.take(queue)?;
            // SAFETY: a slot has room for a piece, and no copy uses it any more.
            unsafe { slot.start().copy_from_nonoverlapping(piece.as_ptr(), piece.len()) };
            let to = to + (i * PIECE) as CUdeviceptr;
            let from = slot.start().cast_const().cast();
            // SAFETY: the range is in the caller's; the slot is not touched before its event has passed.
            slot.enqueue("cuMemcpyHtoDAsync", || unsafe {
                sys::cuMemcpyHtoDAsync_v2(to, from, piece.len(), queue.stream)
            })
        })
    }

    /// Copies from the device, behind what the stream does; returns when all of `host` is written. The
    /// caller's context may have changed then.
    ///
    /// # Safety
    /// `from` is device memory of as many initialised bytes.
    pub(crate) unsafe fn read(
        &self,
        queue: Queue,
        from: CUdeviceptr,
        host: &mut [MaybeUninit<u8>],
    ) -> Result<()> {
        host.par_chunks_mut(PIECE).enumerate().try_for_each(|(i, piece)| {
            let slot = self.take(queue)?;
            let from = from + (i * PIECE) as CUdeviceptr;
            // SAFETY: as above.
            slot.enqueue("cuMemcpyDtoHAsync", || unsafe {
                sys::cuMemcpyDtoHAsync_v2(slot.start().cast(), from, piece.len(), queue.stream)
            })?;
            slot.wait()?;
            let to = piece.as_mut_ptr().cast::<u8>();
            // SAFETY: the slot holds the piece, and no copy uses it any more.
            unsafe { slot.start().copy_to_nonoverlapping(to, piece.len()) };
            Ok(())
        })
    }

    /// A slot that no copy uses, for a thread on which the queue's context is current then.
    fn take(&self, queue: Queue) -> Result<Taken<'_>> {
        make_current(queue.context)?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = loop {
            match waiting.pop_front() {
                Some(slot) => break slot,
                None => {
                    let woken = self.given_back.wait(waiting);
                    waiting = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        drop(waiting);
        let taken = Taken { staging: self, queue, slot: Some(slot) };
        taken.wait()?;
        Ok(taken)
    }
}

/// A slot while a piece is copied; goes back when dropped.
struct Taken<'a> {
    staging: &'a Staging,
    queue: Queue,
    /// There until the value is dropped.
    slot: Option<Slot>,
}

impl Taken<'_> {
    fn slot(&self) -> &Slot {
        self.slot.as_ref().expect("there until the value is dropped")
    }

    fn start(&self) -> *mut u8 {
        self.slot().start.as_ptr()
    }

    /// Waits until no copy uses the slot.
    fn wait(&self) -> Result<()> {
        self.slot().passed.synchronize()
    }

    /// Enqueues a copy that uses the slot, and the slot's event behind it.
    fn enqueue(&self, call: &str, copy: impl FnOnce() -> cuda_driver::Status) -> Result<()> {
        check(call, copy())?;
        let recorded = self.slot().passed.record(self.queue.stream);
        if recorded.is_err() {
            // Nothing else tells when the slot is free again.
            // SAFETY: the stream is alive.
            let _ = unsafe { sys::cuStreamSynchronize(self.queue.stream) };
        }
        recorded
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            let mut waiting = self.staging.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push_back(slot);
            self.staging.given_back.notify_one();
        }
    }
}
