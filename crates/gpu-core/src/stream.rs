//! Streams and events of the driver, and the order between two streams.

use std::any::Any;
use std::ffi::c_int;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_driver::sys::{self, CUcontext, CUevent, CUstream};

use crate::driver::{check, given, make_current};
use crate::{Error, Result};

/// A stream: work that runs in the order in which it was enqueued.
pub(crate) struct Stream {
    pub(crate) raw: CUstream,
    context: CUcontext,
    /// Whoever destroys the stream, where it is not this value.
    owner: Option<Box<dyn Any + Send + Sync>>,
    /// While a graph records the stream's work: whether that graph was launched.
    pub(crate) recording: Mutex<Option<Arc<AtomicBool>>>,
}

impl Stream {
    /// A new stream in the context.
    pub(crate) fn new(context: CUcontext) -> Result<Self> {
        make_current(context)?;
        // SAFETY: the function writes the stream. Without flags it waits for the legacy default
        // stream, on which the synchronous copies of other libraries run.
        let raw = unsafe { given("cuStreamCreate", |stream| sys::cuStreamCreate(stream, 0)) }?;
        Ok(Self { raw, context, owner: None, recording: Mutex::default() })
    }

    /// A stream that somebody else made in the context and that lives as long as `owner`.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(crate) fn borrowed(
        context: CUcontext,
        raw: CUstream,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self { raw, context, owner: Some(owner), recording: Mutex::default() }
    }

    /// The flag of the graph that records the stream's work, if one does.
    pub(crate) fn recording(&self) -> Option<Arc<AtomicBool>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The last handle may go on a thread that never held a context.
        if self.owner.is_none() && make_current(self.context).is_ok() {
            // SAFETY: the stream is this value's own. Work on it still runs to its end. An error
            // would be an earlier one's.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.raw) };
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
pub(crate) struct Event(CUevent);

impl Event {
    /// An event in the current context.
    pub(crate) fn new(flags: u32) -> Result<Self> {
        // SAFETY: the function writes the event.
        unsafe { given("cuEventCreate", |event| sys::cuEventCreate(event, flags)) }.map(Self)
    }

    /// Puts it behind what is enqueued on the stream.
    pub(crate) fn record(&self, stream: CUstream) -> Result<()> {
        // SAFETY: event and stream are alive.
        check("cuEventRecord", unsafe { sys::cuEventRecord(self.0, stream) })
    }

    /// Lets the work enqueued on a stream from now on wait for it.
    pub(crate) fn order_before(&self, later: CUstream) -> Result<()> {
        // SAFETY: stream and event are alive; the driver keeps the event until it has passed.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(later, self.0, 0) })
    }

    /// Waits until the stream has come to it.
    pub(crate) fn synchronize(&self) -> Result<()> {
        // SAFETY: the event is alive.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.0) })
    }

    /// Milliseconds from `start` to this one; both have been passed.
    pub(crate) fn milliseconds_since(&self, start: &Self) -> Result<f32> {
        let ask = |time: *mut f32| {
            // SAFETY: the events are alive, the time a live variable.
            unsafe { sys::cuEventElapsedTime(time, start.0, self.0) }
        };
        // SAFETY: the function writes the time.
        unsafe { given("cuEventElapsedTime", ask) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is this value's own; what waits for it keeps it. An error would be an
        // earlier one's.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}
