//! Streams and events of the driver, and the order between two streams.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cuda_driver::sys::{self, CUcontext, CUevent, CUstream};

use crate::gpu::driver::{check, given, make_current};
use crate::{Error, Result};

/// A stream: work that runs in the order in which it was enqueued.
pub(crate) struct Stream {
    own: CUstream,
    context: CUcontext,
    /// Whoever destroys the stream, where it is not this value.
    owner: Option<Box<dyn Any + Send + Sync>>,
}

/// A graph that the calling thread records, of what it enqueues on one stream.
#[derive(Clone)]
struct Recording {
    /// The stream, and its context: the driver's default stream has one name in all of them.
    of: (CUcontext, CUstream),
    /// The stream that records in its place.
    on: CUstream,
    /// Whether the graph was launched.
    launched: Arc<AtomicBool>,
}

thread_local! {
    /// The graphs that this thread records: other threads' calls cannot get into one of them.
    static RECORDINGS: RefCell<Vec<Recording>> = const { RefCell::new(Vec::new()) };
}

impl Stream {
    /// A new stream in the context.
    pub(crate) fn new(context: CUcontext) -> Result<Self> {
        // Without flags it waits for the legacy default stream, on which the synchronous copies of other
        // libraries run.
        Self::with_flags(context, 0)
    }

    /// A stream to record on. It has nothing to do with the legacy default stream: work of other libraries
    /// there would end the recording.
    pub(crate) fn to_record(context: CUcontext) -> Result<Self> {
        Self::with_flags(context, sys::CU_STREAM_NON_BLOCKING)
    }

    fn with_flags(context: CUcontext, flags: c_uint) -> Result<Self> {
        let _current = make_current(context)?;
        // SAFETY: the function writes the stream.
        let own = unsafe { given("cuStreamCreate", |stream| sys::cuStreamCreate(stream, flags)) }?;
        Ok(Self { own, context, owner: None })
    }

    /// A stream that somebody else made in the context and that lives as long as `owner`.
    #[cfg(any(feature = "cuda-core", feature = "cudarc", feature = "cust"))]
    pub(crate) fn borrowed(
        context: CUcontext,
        own: CUstream,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self { own, context, owner: Some(owner) }
    }

    /// The stream itself, on which work runs.
    pub(crate) fn own(&self) -> CUstream {
        self.own
    }

    /// Where the calling thread's work goes: to the stream itself, or to the one that records in its place.
    pub(crate) fn raw(&self) -> CUstream {
        self.recorded(|recording| recording.on).unwrap_or(self.own)
    }

    /// The flag of the graph that the calling thread records on this stream, if it does.
    pub(crate) fn recording(&self) -> Option<Arc<AtomicBool>> {
        self.recorded(|recording| Arc::clone(&recording.launched))
    }

    /// From now on what the calling thread enqueues here is recorded on `on`.
    pub(crate) fn begin_recording(&self, on: &Stream, launched: Arc<AtomicBool>) {
        let recording = Recording { of: self.name(), on: on.own, launched };
        RECORDINGS.with_borrow_mut(|all| all.push(recording));
    }

    /// What the calling thread enqueues here runs again.
    pub(crate) fn end_recording(&self) {
        RECORDINGS.with_borrow_mut(|all| all.retain(|recording| recording.of != self.name()));
    }

    fn recorded<R>(&self, of: impl FnOnce(&Recording) -> R) -> Option<R> {
        // Where a thread ends, it records nothing any more.
        let found = RECORDINGS.try_with(|all| {
            all.borrow().iter().find(|recording| recording.of == self.name()).map(of)
        });
        found.ok().flatten()
    }

    fn name(&self) -> (CUcontext, CUstream) {
        (self.context, self.own)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The last handle may go on a thread that never held a context.
        if self.owner.is_some() {
            return;
        }
        if let Ok(_current) = make_current(self.context) {
            // SAFETY: the stream is this value's own. Work on it still runs to its end. An error
            // would be an earlier one's.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.own) };
        }
    }
}

/// Whether a stream records its work for a graph. Its context is current.
pub(crate) fn is_capturing(stream: CUstream) -> Result<bool> {
    let ask = |status: *mut c_int| {
        // SAFETY: the stream is alive, the status a live variable.
        unsafe { sys::cuStreamIsCapturing(stream, status) }
    };
    // SAFETY: the function writes the status.
    let status = unsafe { given("cuStreamIsCapturing", ask) }?;
    Ok(status != sys::CU_STREAM_CAPTURE_STATUS_NONE)
}

/// Lets the work enqueued on `later` from now on wait for what is enqueued on `earlier` by now.
/// Their context is current.
pub(crate) fn order(earlier: CUstream, later: CUstream) -> Result<()> {
    let event = Event::new(sys::CU_EVENT_DISABLE_TIMING)?;
    event.record(earlier)?;
    event.order_before(later)
}

/// [`order`], refused where a graph records the work of either: it could not hold the other's.
pub(crate) fn order_outside_captures(earlier: CUstream, later: CUstream) -> Result<()> {
    if is_capturing(earlier)? || is_capturing(later)? {
        return Err(Error::Captured { what: "the order between two streams" });
    }
    order(earlier, later)
}

/// A place in a stream's order of work.
pub(crate) struct Event {
    raw: CUevent,
    context: CUcontext,
}

impl Event {
    /// An event in the current context.
    pub(crate) fn new(flags: u32) -> Result<Self> {
        // SAFETY: the functions write the context and the event.
        unsafe {
            let context = given("cuCtxGetCurrent", |current| sys::cuCtxGetCurrent(current))?;
            let raw = given("cuEventCreate", |event| sys::cuEventCreate(event, flags))?;
            Ok(Self { raw, context })
        }
    }

    /// Puts it behind what is enqueued on the stream.
    pub(crate) fn record(&self, stream: CUstream) -> Result<()> {
        // SAFETY: event and stream are alive.
        check("cuEventRecord", unsafe { sys::cuEventRecord(self.raw, stream) })
    }

    /// Lets the work enqueued on a stream from now on wait for it.
    pub(crate) fn order_before(&self, later: CUstream) -> Result<()> {
        // SAFETY: stream and event are alive; the driver keeps the event until it has passed.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(later, self.raw, 0) })
    }

    /// Waits until the stream has come to it.
    pub(crate) fn synchronize(&self) -> Result<()> {
        // SAFETY: the event is alive.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.raw) })
    }

    /// Milliseconds from `start` to this one; both have been passed.
    pub(crate) fn milliseconds_since(&self, start: &Self) -> Result<f32> {
        let ask = |time: *mut f32| {
            // SAFETY: the events are alive, the time a live variable.
            unsafe { sys::cuEventElapsedTime(time, start.raw, self.raw) }
        };
        // SAFETY: the function writes the time.
        unsafe { given("cuEventElapsedTime", ask) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_current) = make_current(self.context) {
            // SAFETY: the event is this value's own; what waits for it keeps it. An error would be an
            // earlier one's.
            let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}
