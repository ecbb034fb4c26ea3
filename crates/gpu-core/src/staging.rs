//! Large copies between pageable host memory and a device, near the rate of page-locked memory.
//!
//! The driver copies pageable memory with one thread through a buffer of its own, at a fifth of what the
//! bus can carry. Here a copy is cut into pieces, and one queue holds the pieces of all copies that were
//! begun. Each thread of rayon's pool takes the first piece there and a slot of page-locked memory; to the
//! device it copies the piece into the slot and enqueues the slot's copy, from the device it enqueues the
//! copy into the slot, waits for it, and copies the slot out. So the bus and the threads work at the same
//! time, the pages of a new array are first touched by many threads, and where several copies were begun
//! no thread waits for the end of one to go on with the next.
//!
//! Whoever waits for a copy takes pieces too, as long as some of that copy wait: so copies come to their
//! end where all threads of the pool are busy, or wait for copies themselves.
//!
//! A slot may be taken again as soon as it is given back; whoever takes it waits for the slot's event,
//! behind the last copy that uses it. Slots wait in a queue, so that the one taken is the one whose copy
//! began first.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use cuda_driver::sys::{self, CUcontext, CUdeviceptr, CUstream};

use crate::driver::{check, given, make_current};
use crate::stream::Event;
use crate::{Error, Result};

/// Bytes of a slot: long enough that a piece's fixed cost does not count, which all threads pay on one stream; short
/// enough that the first pieces arrive soon.
const PIECE: usize = 2 << 20;

/// Slots of a device: threads at work, and as many copies again on their way.
const SLOTS: usize = 32;

/// From this many bytes on a copy is worth its pieces.
pub(crate) const LARGE: usize = 2 * PIECE;

/// From this many bytes on it is where the copy would hold up whoever begins it: the driver's copies of pageable memory
/// wait for what is on the stream before them.
pub(crate) const LEAST: usize = 128 << 10;

/// The queue of pieces and the slots of one device. They stay until the process ends.
pub(crate) struct Staging {
    /// What is to be copied.
    pieces: Mutex<VecDeque<Piece>>,
    slots: Mutex<VecDeque<Slot>>,
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

/// Which way a copy goes.
pub(crate) enum Way {
    /// To the device.
    In,
    /// From the device, behind the event if there is one.
    Out(Option<Event>),
}

/// A part of a copy, no longer than a slot.
struct Piece {
    of: Arc<Staged>,
    device: CUdeviceptr,
    host: *mut u8,
    bytes: usize,
}

// SAFETY: the host's memory lives until the copy has ended, and each piece of it is in one piece alone.
unsafe impl Send for Piece {}

/// A copy in pieces.
pub(crate) struct Staged {
    queue: Queue,
    way: Way,
    /// Pieces in the queue. Changes under its lock.
    waiting: AtomicUsize,
    /// The pieces that are left would be for nothing.
    is_over: AtomicBool,
    state: Mutex<State>,
    has_ended: Condvar,
}

struct State {
    /// Pieces that are not copied.
    left: usize,
    /// What went wrong first.
    error: Option<Error>,
    /// On the stream behind all pieces, once they are enqueued.
    passed: Option<Event>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
        let slots = (0..SLOTS).map(slot).collect::<Result<_>>();
        if slots.is_err() {
            // SAFETY: allocated above, and no slot is left.
            let _ = unsafe { sys::cuMemFreeHost(start.cast()) };
        }
        let (pieces, given_back) = (Mutex::default(), Condvar::new());
        Ok(Self { pieces, slots: Mutex::new(slots?), given_back })
    }

    /// Begins a copy of `bytes` between device and host, on the queue's stream.
    ///
    /// # Safety
    /// Both sides have as many bytes and live until the copy has ended: to the device, the stream may write
    /// to it when it comes to it, and nobody writes to `host`; from the device, its bytes are initialised,
    /// and nobody touches `host`.
    pub(crate) unsafe fn begin(
        self: &Arc<Self>,
        queue: Queue,
        way: Way,
        device: CUdeviceptr,
        host: *mut u8,
        bytes: usize,
    ) -> Arc<Staged> {
        let count = bytes.div_ceil(PIECE);
        let of = Arc::new(Staged {
            queue,
            way,
            waiting: AtomicUsize::new(count),
            is_over: AtomicBool::new(false),
            state: Mutex::new(State { left: count, error: None, passed: None }),
            has_ended: Condvar::new(),
        });
        let piece = |first: usize| Piece {
            of: Arc::clone(&of),
            device: device + first as CUdeviceptr,
            host: host.wrapping_add(first),
            bytes: PIECE.min(bytes - first),
        };
        lock(&self.pieces).extend((0..bytes).step_by(PIECE).map(piece));
        // Those for which nothing is left end at once.
        for _ in 0..count.min(rayon::current_num_threads()) {
            let staging = Arc::clone(self);
            rayon::spawn(move || staging.copy_while(|| true));
        }
        of
    }

    /// Copies one piece after the other, as long as there are any and the condition holds.
    fn copy_while(&self, goes_on: impl Fn() -> bool) {
        let first = || {
            let mut pieces = lock(&self.pieces);
            let piece = if goes_on() { pieces.pop_front()? } else { return None };
            piece.of.waiting.fetch_sub(1, Ordering::Relaxed);
            Some(piece)
        };
        while let Some(piece) = first() {
            piece.copy(self);
        }
    }

    /// Waits until all pieces of a copy are enqueued, to the device, or copied, from it. The caller's
    /// context may have changed then.
    pub(crate) fn end(&self, copy: &Staged) -> Result<()> {
        // The first piece is one of the copy's, or of one that was begun before.
        self.copy_while(|| copy.waiting.load(Ordering::Relaxed) > 0);
        let mut state = lock(&copy.state);
        while state.left > 0 {
            state = copy.has_ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match state.error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// A slot that no copy uses, for a thread on which the queue's context is current then.
    fn slot(&self, queue: Queue) -> Result<Taken<'_>> {
        make_current(queue.context)?;
        let mut slots = lock(&self.slots);
        let slot = loop {
            match slots.pop_front() {
                Some(slot) => break slot,
                None => {
                    let woken = self.given_back.wait(slots);
                    slots = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        drop(slots);
        let taken = Taken { staging: self, queue, slot: Some(slot) };
        taken.wait()?;
        Ok(taken)
    }
}

impl Staged {
    /// Leaves out what is not copied yet.
    pub(crate) fn abandon(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Waits for the device, once the copy has [ended](Staging::end). Its context is current.
    pub(crate) fn synchronize(&self) -> Result<()> {
        match &lock(&self.state).passed {
            Some(passed) => passed.synchronize(),
            None => Ok(()),
        }
    }

    /// Lets the work enqueued on a stream from now on wait for the copy, which has
    /// [ended](Staging::end). Their context is current.
    pub(crate) fn order_before(&self, later: CUstream) -> Result<()> {
        match &lock(&self.state).passed {
            Some(passed) => passed.order_before(later),
            None => Ok(()),
        }
    }

    /// Notes what became of a piece.
    fn note(&self, copied: Result<()>) {
        let mut state = lock(&self.state);
        if let Err(error) = copied {
            self.abandon();
            state.error.get_or_insert(error);
        }
        state.left -= 1;
        if state.left > 0 {
            return;
        }
        if matches!(self.way, Way::In) && state.error.is_none() {
            match self.mark() {
                Ok(passed) => state.passed = Some(passed),
                Err(error) => state.error = Some(error),
            }
        }
        drop(state);
        self.has_ended.notify_all();
    }

    /// An event behind the pieces.
    fn mark(&self) -> Result<Event> {
        make_current(self.queue.context)?;
        let passed = Event::new(sys::CU_EVENT_DISABLE_TIMING)?;
        passed.record(self.queue.stream)?;
        Ok(passed)
    }
}

impl Piece {
    /// Copies it, unless the copy is over.
    fn copy(self, staging: &Staging) {
        let is_over = self.of.is_over.load(Ordering::Relaxed);
        let copied = match &self.of.way {
            _ if is_over => Ok(()),
            Way::In => self.copy_in(staging),
            Way::Out(after) => self.copy_out(staging, after.as_ref()),
        };
        self.of.note(copied);
    }

    fn copy_in(&self, staging: &Staging) -> Result<()> {
        let slot = staging.slot(self.of.queue)?;
        // SAFETY: a slot has room for a piece, and no copy uses it any more; the host's memory is there.
        unsafe { slot.start().copy_from_nonoverlapping(self.host, self.bytes) };
        let from = slot.start().cast_const().cast();
        // SAFETY: the range is in the caller's; the slot is not touched before its event has passed.
        slot.enqueue("cuMemcpyHtoDAsync", || unsafe {
            sys::cuMemcpyHtoDAsync_v2(self.device, from, self.bytes, self.of.queue.stream)
        })
    }

    fn copy_out(&self, staging: &Staging, after: Option<&Event>) -> Result<()> {
        let slot = staging.slot(self.of.queue)?;
        if let Some(after) = after {
            after.order_before(self.of.queue.stream)?;
        }
        // SAFETY: as above.
        slot.enqueue("cuMemcpyDtoHAsync", || unsafe {
            let to = slot.start().cast();
            sys::cuMemcpyDtoHAsync_v2(to, self.device, self.bytes, self.of.queue.stream)
        })?;
        slot.wait()?;
        // SAFETY: the slot holds the piece, and no copy uses it any more; the host's memory is there.
        unsafe { slot.start().copy_to_nonoverlapping(self.host, self.bytes) };
        Ok(())
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
            lock(&self.staging.slots).push_back(slot);
            self.staging.given_back.notify_one();
        }
    }
}
