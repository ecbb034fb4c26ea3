//! Streams and events. A call that enqueues work on a stream does the work before it returns. While the stream
//! captures, the call records the work for a graph instead.

use super::context::{self, GREATEST_PRIORITY};
use super::recording::{Recording, free_now, in_order};
use super::{Code, Handles, Outcome, call_in_context, give};
use crate::failure::{self, Operation};
use crate::memory::{self, Used};
use crate::order::{self, Clock};
use cuda_driver::sys::{CUcontext, CUevent, CUstream};
use std::ffi::{c_int, c_uint};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The null stream, and the two other names it has.
const DEFAULT_STREAMS: [usize; 3] = [0, 1, 2];

const EVENT_DISABLE_TIMING: c_uint = 2;
const STREAM_NON_BLOCKING: c_uint = 1;

struct Stream {
    /// Its context's device.
    device: usize,
    flags: c_uint,
    priority: c_int,
    capture: Mutex<Capture>,
}

/// Whether a stream records its work.
#[derive(Default)]
enum Capture {
    #[default]
    None,
    Active(Recording),
    /// Something was asked of the stream that cannot be recorded.
    Invalidated,
}

#[derive(Default)]
struct Event {
    timed: bool,
    recorded: Mutex<Option<Instant>>,
    /// The stream's clock in the order of streams.
    clock: Mutex<Clock>,
}

static STREAMS: Handles<Stream> = Handles::new();
static EVENTS: Handles<Event> = Handles::new();

/// Fails for a stream that does not exist, or not in the current context.
pub(super) fn known(stream: usize) -> Outcome {
    if DEFAULT_STREAMS.contains(&stream) { Ok(()) } else { own(stream).map(|_| ()) }
}

/// A stream of the current context: on those of another no work can be enqueued.
fn own(stream: usize) -> Result<Arc<Stream>, Code> {
    let stream = STREAMS.get(stream)?;
    match stream.device == context::current()? {
        true => Ok(stream),
        false => Err(Code::CUDA_ERROR_INVALID_HANDLE),
    }
}

/// Calls `f` with what the stream has recorded, if it captures.
fn captured<R>(stream: usize, f: impl FnOnce(&mut Recording) -> R) -> Result<Option<R>, Code> {
    if DEFAULT_STREAMS.contains(&stream) {
        return Ok(None);
    }
    let stream = own(stream)?;
    match &mut *stream.lock() {
        Capture::None => Ok(None),
        Capture::Active(recording) => Ok(Some(f(recording))),
        Capture::Invalidated => Err(Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
    }
}

/// Does some work now, or records it. It is told the stream that it runs on: that of a graph's
/// launch, where it was recorded.
pub(super) fn enqueue(
    stream: usize,
    work: impl Fn(usize) -> Outcome + Clone + Send + Sync + 'static,
) -> Outcome {
    match captured(stream, |recording| recording.push(work.clone()))? {
        Some(()) => Ok(()),
        None => work(stream),
    }
}

/// Allocates memory now, or records that.
pub(super) fn allocate(stream: usize, size: usize) -> Result<u64, Code> {
    failure::check(Operation::Allocation)?;
    match captured(stream, |recording| recording.allocate(size))? {
        Some(address) => address,
        None => {
            let address = memory::allocate_from_pool(size, context::current()?)?;
            in_order(&Used::whole(address), stream, "an allocation")?;
            Ok(address)
        }
    }
}

/// Frees memory now, or records that.
pub(super) fn free(stream: usize, address: u64) -> Outcome {
    match captured(stream, |recording| recording.free(address))? {
        Some(outcome) => outcome,
        None => free_now(stream, address),
    }
}

/// The error of a call that a stream cannot record, while it captures: the capture is lost.
pub(super) fn cannot_be_captured(stream: usize) -> Outcome {
    match captured(stream, |_| ())? {
        None => Ok(()),
        Some(()) => {
            *STREAMS.get(stream)?.lock() = Capture::Invalidated;
            Err(Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        }
    }
}

/// From now on the stream's work is recorded.
pub(super) fn begin_capture(stream: usize) -> Outcome {
    if DEFAULT_STREAMS.contains(&stream) {
        return Err(Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    let stream = STREAMS.get(stream)?;
    let capture = &mut *stream.lock();
    if !matches!(capture, Capture::None) {
        return Err(Code::CUDA_ERROR_ILLEGAL_STATE);
    }
    *capture = Capture::Active(Recording::default());
    Ok(())
}

/// Returns the recording; from now on the stream does its work.
pub(super) fn end_capture(stream: usize) -> Result<Recording, Code> {
    known(stream)?;
    let stream = STREAMS.get(stream).map_err(|_| Code::CUDA_ERROR_ILLEGAL_STATE)?;
    let capture = std::mem::take(&mut *stream.lock());
    match capture {
        Capture::None => Err(Code::CUDA_ERROR_ILLEGAL_STATE),
        Capture::Active(recording) => Ok(recording),
        Capture::Invalidated => Err(Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
    }
}

impl Event {
    fn clock(&self) -> Clock {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Stream {
    fn lock(&self) -> MutexGuard<'_, Capture> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY (everywhere in this module): the driver's interface promises that a pointer which a
// caller passes is valid for what the function writes, or null, which `give` refuses.

pub(super) unsafe extern "C" fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> Code {
    let stream = stream.cast::<usize>();
    // SAFETY: as above.
    unsafe { cuStreamCreateWithPriority(stream, flags, 0) }
}

pub(super) unsafe extern "C" fn cuStreamCreateWithPriority(
    stream: *mut usize,
    flags: c_uint,
    priority: c_int,
) -> Code {
    call_in_context(|| {
        let priority = priority.clamp(GREATEST_PRIORITY, 0);
        let device = context::current()?;
        let new = STREAMS.insert(Stream { device, flags, priority, capture: Mutex::default() });
        order::created(new, flags & STREAM_NON_BLOCKING != 0);
        // SAFETY: as above.
        unsafe { give(stream, new) }
    })
}

pub(super) extern "C" fn cuStreamDestroy_v2(stream: CUstream) -> Code {
    let stream = stream.0.addr();
    call_in_context(|| {
        STREAMS.remove(stream)?;
        order::destroyed(stream);
        Ok(())
    })
}

pub(super) extern "C" fn cuStreamSynchronize(stream: CUstream) -> Code {
    let stream = stream.0.addr();
    call_in_context(|| {
        cannot_be_captured(stream)?;
        order::host_waited_for(stream);
        Ok(memory::check()?)
    })
}

/// All is done, so this is as good as a wait.
pub(super) extern "C" fn cuStreamQuery(stream: CUstream) -> Code {
    let stream = stream.0.addr();
    call_in_context(|| {
        cannot_be_captured(stream)?;
        order::host_waited_for(stream);
        Ok(())
    })
}

pub(super) extern "C" fn cuStreamWaitEvent(
    stream: CUstream,
    event: CUevent,
    _flags: c_uint,
) -> Code {
    let stream = stream.0.addr();
    let event = event.0.addr();
    call_in_context(|| {
        cannot_be_captured(stream)?;
        order::waits(stream, &EVENTS.get(event)?.clock());
        Ok(())
    })
}

/// The default streams are those of the current context.
pub(super) unsafe extern "C" fn cuStreamGetCtx(stream: CUstream, of: *mut CUcontext) -> Code {
    let stream = stream.0.addr();
    let of = of.cast::<usize>();
    call_in_context(|| {
        let default = DEFAULT_STREAMS.contains(&stream);
        let device = if default { context::current()? } else { STREAMS.get(stream)?.device };
        // SAFETY: as above.
        unsafe { give(of, context::primary(device)) }
    })
}

pub(super) unsafe extern "C" fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) -> Code {
    let stream = stream.0.addr();
    call_in_context(|| {
        let found = if DEFAULT_STREAMS.contains(&stream) { 0 } else { STREAMS.get(stream)?.flags };
        // SAFETY: as above.
        unsafe { give(flags, found) }
    })
}

pub(super) unsafe extern "C" fn cuStreamGetPriority(stream: usize, priority: *mut c_int) -> Code {
    call_in_context(|| {
        let default = DEFAULT_STREAMS.contains(&stream);
        let found = if default { 0 } else { STREAMS.get(stream)?.priority };
        // SAFETY: as above.
        unsafe { give(priority, found) }
    })
}

pub(super) unsafe extern "C" fn cuStreamIsCapturing(stream: CUstream, status: *mut c_int) -> Code {
    let stream = stream.0.addr();
    call_in_context(|| {
        let found = match captured(stream, |_| ()) {
            Ok(None) => 0,
            Ok(Some(())) => 1,
            Err(Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) => 2,
            Err(code) => return Err(code),
        };
        // SAFETY: as above.
        unsafe { give(status, found) }
    })
}

pub(super) unsafe extern "C" fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> Code {
    let event = event.cast::<usize>();
    call_in_context(|| {
        let timed = flags & EVENT_DISABLE_TIMING == 0;
        // SAFETY: as above.
        unsafe { give(event, EVENTS.insert(Event { timed, ..Event::default() })) }
    })
}

pub(super) extern "C" fn cuEventDestroy_v2(event: CUevent) -> Code {
    let event = event.0.addr();
    call_in_context(|| EVENTS.remove(event).map(|_| ()))
}

pub(super) extern "C" fn cuEventRecord(event: CUevent, stream: CUstream) -> Code {
    let event = event.0.addr();
    let stream = stream.0.addr();
    call_in_context(|| {
        cannot_be_captured(stream)?;
        let event = EVENTS.get(event)?;
        *event.recorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        *event.clock.lock().unwrap_or_else(PoisonError::into_inner) = order::recorded(stream);
        Ok(())
    })
}

pub(super) extern "C" fn cuEventQuery(event: CUevent) -> Code {
    let event = event.0.addr();
    call_in_context(|| {
        order::host_waited(&EVENTS.get(event)?.clock());
        Ok(())
    })
}

pub(super) extern "C" fn cuEventSynchronize(event: CUevent) -> Code {
    let event = event.0.addr();
    call_in_context(|| {
        order::host_waited(&EVENTS.get(event)?.clock());
        Ok(memory::check()?)
    })
}

pub(super) unsafe extern "C" fn cuEventElapsedTime(
    milliseconds: *mut f32,
    start: CUevent,
    end: CUevent,
) -> Code {
    let start = start.0.addr();
    let end = end.0.addr();
    call_in_context(|| {
        let (start, end) = (time_of(start)?, time_of(end)?);
        let elapsed = match end.checked_duration_since(start) {
            Some(later) => later.as_secs_f64(),
            None => -(start - end).as_secs_f64(),
        };
        // SAFETY: as above.
        unsafe { give(milliseconds, (elapsed * 1e3) as f32) }
    })
}

fn time_of(event: usize) -> Result<Instant, Code> {
    let event = EVENTS.get(event)?;
    let recorded = *event.recorded.lock().unwrap_or_else(PoisonError::into_inner);
    recorded.filter(|_| event.timed).ok_or(Code::CUDA_ERROR_INVALID_HANDLE)
}
