//! Streams and events. A stream's work is done before the call that enqueues it returns.

use super::{Code, Handles, Outcome, call_in_context, give};
use crate::memory;
use std::ffi::{c_int, c_uint};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Lower numbers are more urgent.
pub(super) const GREATEST_PRIORITY: c_int = -5;

/// The null stream, and the two other names it has.
const DEFAULT_STREAMS: [usize; 3] = [0, 1, 2];

const EVENT_DISABLE_TIMING: c_uint = 2;

struct Stream {
    flags: c_uint,
    priority: c_int,
}

struct Event {
    timed: bool,
    recorded: Mutex<Option<Instant>>,
}

static STREAMS: Handles<Stream> = Handles::new();
static EVENTS: Handles<Event> = Handles::new();

/// The error of a stream that is none.
pub(super) fn known(stream: usize) -> Outcome {
    if DEFAULT_STREAMS.contains(&stream) { Ok(()) } else { STREAMS.get(stream).map(|_| ()) }
}

// SAFETY (everywhere in this module): the driver's interface promises that a pointer which a
// caller passes is valid for what the function writes, or null, which `give` refuses.

pub(super) unsafe extern "C" fn cuStreamCreate(stream: *mut usize, flags: c_uint) -> Code {
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
        // SAFETY: as above.
        unsafe { give(stream, STREAMS.insert(Stream { flags, priority })) }
    })
}

pub(super) extern "C" fn cuStreamDestroy_v2(stream: usize) -> Code {
    call_in_context(|| STREAMS.remove(stream).map(|_| ()))
}

pub(super) extern "C" fn cuStreamSynchronize(stream: usize) -> Code {
    call_in_context(|| {
        known(stream)?;
        Ok(memory::check()?)
    })
}

pub(super) extern "C" fn cuStreamQuery(stream: usize) -> Code {
    call_in_context(|| known(stream))
}

pub(super) extern "C" fn cuStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) -> Code {
    call_in_context(|| {
        known(stream)?;
        EVENTS.get(event).map(|_| ())
    })
}

pub(super) unsafe extern "C" fn cuStreamGetFlags(stream: usize, flags: *mut c_uint) -> Code {
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

/// Never: there is no capture.
pub(super) unsafe extern "C" fn cuStreamIsCapturing(stream: usize, status: *mut c_int) -> Code {
    call_in_context(|| {
        known(stream)?;
        // SAFETY: as above.
        unsafe { give(status, 0) }
    })
}

pub(super) unsafe extern "C" fn cuEventCreate(event: *mut usize, flags: c_uint) -> Code {
    call_in_context(|| {
        let timed = flags & EVENT_DISABLE_TIMING == 0;
        // SAFETY: as above.
        unsafe { give(event, EVENTS.insert(Event { timed, recorded: Mutex::new(None) })) }
    })
}

pub(super) extern "C" fn cuEventDestroy_v2(event: usize) -> Code {
    call_in_context(|| EVENTS.remove(event).map(|_| ()))
}

pub(super) extern "C" fn cuEventRecord(event: usize, stream: usize) -> Code {
    call_in_context(|| {
        known(stream)?;
        let event = EVENTS.get(event)?;
        *event.recorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    })
}

pub(super) extern "C" fn cuEventQuery(event: usize) -> Code {
    call_in_context(|| EVENTS.get(event).map(|_| ()))
}

pub(super) extern "C" fn cuEventSynchronize(event: usize) -> Code {
    call_in_context(|| {
        EVENTS.get(event)?;
        Ok(memory::check()?)
    })
}

pub(super) unsafe extern "C" fn cuEventElapsedTime(
    milliseconds: *mut f32,
    start: usize,
    end: usize,
) -> Code {
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
