//! Large copies between pageable host memory and a device, near the rate of page-locked memory.
//!
//! The driver copies pageable memory with one thread through a buffer of its own, at a fifth of what the bus can carry.
//! Here a copy is cut into pieces. Two queues, one for each direction, hold the pieces of all copies that have begun. A
//! piece goes through a slot of page-locked memory:
//!
//! - To the device, a thread copies the piece into the slot, and the slot's copy is enqueued.
//! - From the device, a thread enqueues the copy into the slot and waits for it; then a thread copies the piece out of
//!   the slot.
//!
//! These steps are the jobs of rayon's threads ([`work`]), so the bus and the threads work at the same time. Many
//! threads share the first touch of a new array's pages. If several copies have begun, no thread waits for the end of
//! one before it works on the next.
//!
//! One thread at a time calls the driver to enqueue, and one thread for each stream waits for its copies. The driver's
//! calls share a lock: when each thread made its own calls, a build in batches waited for that lock longer than it
//! copied. A thread that finds no job keeps looking for a while, since waking it takes as long as a job.
//!
//! A thread that waits for a copy takes jobs too, as long as that copy has pieces that no thread has taken. So copies
//! end even where all threads of the pool are busy or wait for copies themselves.

mod work;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cuda_driver::sys::{self, CUcontext, CUdeviceptr, CUstream};

use self::work::{Done, Job, Route, Sent, Work};
use crate::gpu::driver::{check, given, make_current};
use crate::gpu::stream::Event;
use crate::{Error, Result};

/// Bytes of a slot: long enough that a piece's fixed cost does not count; short enough that the first pieces arrive soon.
const PIECE: usize = 2 << 20;

/// Slots of a device: threads at work, and as many copies again on their way.
const SLOTS: usize = 32;

/// From this many bytes on a copy is worth its pieces.
pub(crate) const LARGE: usize = 2 * PIECE;

/// The least number of bytes to copy in pieces. A larger copy by the driver would hold up its caller: the driver's
/// copies of pageable memory wait for the stream's earlier work.
pub(crate) const LEAST: usize = 128 << 10;

/// How long a thread looks for jobs when there are none.
const SOON: Duration = Duration::from_micros(100);

/// The pieces and the slots of one device, in its context. They stay until the process ends.
pub(crate) struct Staging {
    context: CUcontext,
    work: Mutex<Work>,
    /// Whoever waits for a copy is to look again.
    changed: Condvar,
    /// How many jobs there were when somebody looked last.
    jobs: AtomicUsize,
}

// SAFETY: the driver takes contexts from any thread.
unsafe impl Send for Staging {}
// SAFETY: as above.
unsafe impl Sync for Staging {}

/// Page-locked memory for one piece.
struct Slot {
    start: NonNull<u8>,
    /// Behind the last copy that was enqueued with the slot.
    passed: Event,
}

// SAFETY: the memory is the slot's own, and an event may be used by any thread.
unsafe impl Send for Slot {}

/// The stream that the pieces of a copy are enqueued on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Queue(pub(crate) CUstream);

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

/// A piece with its slot.
struct Loaded {
    piece: Piece,
    slot: Slot,
}

/// A copy in pieces.
pub(crate) struct Staged {
    queue: Queue,
    way: Way,
    /// Pieces that are in nobody's hands, and not done. Changes under the lock of all work.
    open: AtomicUsize,
    /// The pieces that are left would be for nothing.
    is_over: AtomicBool,
    /// All pieces are done.
    has_ended: AtomicBool,
    /// The stream waits for what the copy goes after.
    is_ordered: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// Pieces that are not done.
    left: usize,
    /// The first error.
    error: Option<Error>,
    /// On the stream behind all pieces, once they are enqueued.
    passed: Option<Event>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Staging {
    /// Allocates the slots in a context, which is current.
    pub(crate) fn new(context: CUcontext) -> Result<Self> {
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
        let (changed, jobs) = (Condvar::new(), AtomicUsize::new(0));
        Ok(Self { context, work: Mutex::new(Work::new(slots?)), changed, jobs })
    }

    /// Begins a copy of `bytes` between device and host, on the queue's stream.
    ///
    /// # Safety
    /// Both sides have `bytes` bytes and live until the copy has ended. To the device: the stream may write to the
    /// device's side when it gets there, and nobody writes to `host`. From the device: its bytes are initialised, and
    /// nobody touches `host`.
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
            open: AtomicUsize::new(count),
            is_over: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            is_ordered: AtomicBool::new(false),
            state: Mutex::new(State { left: count, error: None, passed: None }),
        });
        let piece = |first: usize| Piece {
            of: Arc::clone(&of),
            device: device + first as CUdeviceptr,
            host: host.wrapping_add(first),
            bytes: PIECE.min(bytes - first),
        };
        let mut work = lock(&self.work);
        work.add(&of.way, (0..bytes).step_by(PIECE).map(piece));
        if work.hands == 0 {
            // Tasks of a pool that has ended never run.
            work.called = 0;
        }
        self.call(work, count);
        of
    }

    /// Lets some threads look for jobs, or as many as there are jobs.
    fn call(self: &Arc<Self>, mut work: MutexGuard<'_, Work>, least: usize) {
        let jobs = work.jobs();
        self.jobs.store(jobs, Ordering::Relaxed);
        if jobs > 0 && work.hands == 0 && work.resting > 0 {
            self.changed.notify_all();
        }
        let room = rayon::current_num_threads().saturating_sub(work.hands + work.called);
        let more = jobs.max(least).saturating_sub(work.idle + work.called).min(room);
        work.called += more;
        drop(work);
        for _ in 0..more {
            let staging = Arc::clone(self);
            rayon::spawn(move || staging.help());
        }
    }

    /// Does one job after the other, as long as there are any or more may come soon.
    fn help(self: &Arc<Self>) {
        let mut work = lock(&self.work);
        work.called = work.called.saturating_sub(1);
        work.hands += 1;
        // Where that fails, so do the driver's calls, which the copies are told.
        let _current = make_current(self.context);
        loop {
            while let Some(job) = work.next() {
                work = self.do_job(work, job);
            }
            if work.hands == work.idle + 1 {
                break;
            }
            work = self.linger(work, || self.jobs.load(Ordering::Relaxed) > 0);
            if work.jobs() == 0 {
                break;
            }
        }
        work.hands -= 1;
    }

    /// Waits for something that may happen soon, without sleeping: to be woken takes longer than most jobs.
    fn linger<'a>(
        &'a self,
        mut work: MutexGuard<'a, Work>,
        until: impl Fn() -> bool,
    ) -> MutexGuard<'a, Work> {
        work.idle += 1;
        drop(work);
        let begin = Instant::now();
        while !until() && begin.elapsed() < SOON {
            std::thread::yield_now();
        }
        let mut work = lock(&self.work);
        work.idle -= 1;
        work
    }

    /// Waits until all pieces of a copy are enqueued, to the device, or copied, from it.
    pub(crate) fn end(self: &Arc<Self>, copy: &Staged) -> Result<()> {
        // Where that fails, so do the driver's calls; and nobody may touch the host's memory before the copy has ended.
        let _current = make_current(self.context);
        let mut work = lock(&self.work);
        work.hands += 1;
        let is_open = || copy.open.load(Ordering::Relaxed) > 0;
        let may_go_on = || copy.has_ended() || is_open() && self.jobs.load(Ordering::Relaxed) > 0;
        while !copy.has_ended() {
            // Nobody else might do what others wait for.
            let is_alone = work.hands == work.idle + 1;
            if let Some(job) = if is_open() || is_alone { work.next() } else { None } {
                work = self.do_job(work, job);
                continue;
            }
            // All that is left is in others' hands.
            work = self.linger(work, may_go_on);
            if !may_go_on() {
                work.hands -= 1;
                work.resting += 1;
                work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
                work.resting -= 1;
                work.hands += 1;
            }
        }
        work.hands -= 1;
        self.call(work, 0);
        match lock(&copy.state).error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Does a job without the lock, and notes what became of it.
    fn do_job<'a>(
        self: &'a Arc<Self>,
        work: MutexGuard<'a, Work>,
        job: Job,
    ) -> MutexGuard<'a, Work> {
        self.call(work, 0);
        let post = job.post();
        let note = |done, has_ended| {
            let mut work = lock(&self.work);
            work.note(done);
            if has_ended {
                self.changed.notify_all();
            }
            self.call(work, 0);
        };
        match job {
            Job::Enqueue(all) => {
                for loaded in all {
                    let (done, has_ended) = loaded.enqueue();
                    note(done, has_ended);
                }
            }
            Job::Await(Sent(_, slot)) => {
                // What went wrong with it, went wrong with its copy.
                let _ = slot.passed.synchronize();
                note(Done::Free(slot, Route::In), false);
            }
            Job::Receive(loaded) => {
                let (done, has_ended) = loaded.receive();
                note(done, has_ended);
            }
            Job::Fill(loaded) => {
                loaded.fill();
                note(Done::Filled(loaded), false);
            }
            Job::Drain(Loaded { piece, slot }) => {
                piece.drain(&slot);
                let has_ended = piece.of.note(Ok(()));
                note(Done::Free(slot, Route::Out), has_ended);
            }
        }
        let mut work = lock(&self.work);
        if let Some(post) = post {
            work.leave(post);
        }
        work
    }
}

impl Staged {
    /// Leaves out what is not copied yet.
    pub(crate) fn abandon(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
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

    /// Notes what became of a piece; gives whether it was the last.
    fn note(&self, copied: Result<()>) -> bool {
        let mut state = lock(&self.state);
        if let Err(error) = copied {
            self.abandon();
            state.error.get_or_insert(error);
        }
        if state.left == 1 && matches!(self.way, Way::In) && state.error.is_none() {
            match self.mark() {
                Ok(passed) => state.passed = Some(passed),
                Err(error) => state.error = Some(error),
            }
        }
        state.left -= 1;
        self.has_ended.store(state.left == 0, Ordering::Release);
        state.left == 0
    }

    /// An event behind the pieces.
    fn mark(&self) -> Result<Event> {
        let passed = Event::new(sys::CU_EVENT_DISABLE_TIMING)?;
        passed.record(self.queue.0)?;
        Ok(passed)
    }
}

impl Loaded {
    /// Enqueues the slot's copy, unless the copy is over. Returns what to do with the slot, and whether the whole copy
    /// has ended.
    fn enqueue(self) -> (Done, bool) {
        let Self { piece, slot } = &self;
        let is_over = piece.of.is_over();
        match &piece.of.way {
            Way::In => {
                let sent = if is_over { Ok(()) } else { piece.send(slot) };
                let has_ended = piece.of.note(sent);
                (Done::Sent(Sent(piece.of.queue, self.slot)), has_ended)
            }
            Way::Out(after) => {
                let asked = if is_over { Ok(()) } else { piece.ask(slot, after.as_ref()) };
                if !is_over && asked.is_ok() {
                    return (Done::Asked(self), false);
                }
                let has_ended = piece.of.note(asked);
                (Done::Free(self.slot, Route::Out), has_ended)
            }
        }
    }

    /// Waits for the slot's copy, from the device.
    fn receive(self) -> (Done, bool) {
        match self.slot.passed.synchronize() {
            Ok(()) => (Done::Arrived(self), false),
            Err(error) => {
                let has_ended = self.piece.of.note(Err(error));
                (Done::Free(self.slot, Route::Out), has_ended)
            }
        }
    }

    fn fill(&self) {
        let Self { piece, slot } = self;
        if !piece.of.is_over() {
            // SAFETY: a slot has room for a piece, and no copy uses it; the host's memory is there.
            unsafe { slot.start().copy_from_nonoverlapping(piece.host, piece.bytes) };
        }
    }
}

impl Piece {
    fn send(&self, slot: &Slot) -> Result<()> {
        let (stream, from) = (self.of.queue.0, slot.start().cast_const().cast());
        // SAFETY: the range is in the caller's; the slot is not touched before its event has passed.
        slot.enqueue(stream, "cuMemcpyHtoDAsync", || unsafe {
            sys::cuMemcpyHtoDAsync_v2(self.device, from, self.bytes, stream)
        })
    }

    fn ask(&self, slot: &Slot, after: Option<&Event>) -> Result<()> {
        let stream = self.of.queue.0;
        if let Some(after) = after.filter(|_| !self.of.is_ordered.load(Ordering::Relaxed)) {
            after.order_before(stream)?;
            self.of.is_ordered.store(true, Ordering::Relaxed);
        }
        // SAFETY: as above.
        slot.enqueue(stream, "cuMemcpyDtoHAsync", || unsafe {
            let to = slot.start().cast();
            sys::cuMemcpyDtoHAsync_v2(to, self.device, self.bytes, stream)
        })
    }

    fn drain(&self, slot: &Slot) {
        if !self.of.is_over() {
            // SAFETY: the slot holds the piece, and no copy uses it any more; the host's memory is there.
            unsafe { slot.start().copy_to_nonoverlapping(self.host, self.bytes) };
        }
    }
}

impl Slot {
    fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Enqueues a copy that uses the slot, and the slot's event behind it.
    fn enqueue(
        &self,
        stream: CUstream,
        call: &str,
        copy: impl FnOnce() -> cuda_driver::Status,
    ) -> Result<()> {
        check(call, copy())?;
        let recorded = self.passed.record(stream);
        if recorded.is_err() {
            // Nothing else tells when the slot is free again.
            // SAFETY: the stream is alive.
            let _ = unsafe { sys::cuStreamSynchronize(stream) };
        }
        recorded
    }
}
