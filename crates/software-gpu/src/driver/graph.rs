//! Graphs: work that a stream has recorded instead of doing it. A program can launch it any number of times.
//!
//! Memory that is allocated while a stream captures has its address from then on, and the graph keeps it reserved as
//! long as it lives. The memory becomes live when a launch of the graph reaches the allocation, and then has the
//! pattern of fresh memory. The graph frees it, or else the program may free it after the launch.

use super::recording::Recording;
use super::{Code, Handles, call_in_context, give, stream};
use cuda_driver::sys::{CUgraph, CUgraphExec, CUstream};
use std::ffi::{c_int, c_ulonglong};
use std::sync::{Arc, Mutex, PoisonError};

/// Memory that the program has not freed is freed by the next launch.
const AUTO_FREE_ON_LAUNCH: c_ulonglong = 1;
/// The capture mode that forbids only what the stream itself cannot do.
const RELAXED: c_int = 2;

/// A graph that can be launched.
struct Executable {
    recording: Arc<Recording>,
    auto_free: bool,
    /// One launch follows the other.
    turn: Mutex<()>,
}

static GRAPHS: Handles<Arc<Recording>> = Handles::new();
static EXECUTABLES: Handles<Executable> = Handles::new();

// SAFETY (everywhere in this module): the driver's interface promises that a pointer which a
// caller passes is valid for what the function writes, or null, which `give` refuses.

/// The other modes forbid calls that this driver need not forbid, so they are the same here.
pub(super) extern "C" fn cuStreamBeginCapture_v2(on_stream: CUstream, mode: c_int) -> Code {
    let on_stream = on_stream.0.addr();
    call_in_context(|| {
        if !(0..=RELAXED).contains(&mode) {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        stream::begin_capture(on_stream)
    })
}

pub(super) unsafe extern "C" fn cuStreamEndCapture(
    on_stream: CUstream,
    graph: *mut CUgraph,
) -> Code {
    let on_stream = on_stream.0.addr();
    let graph = graph.cast::<usize>();
    call_in_context(|| {
        // SAFETY: as above.
        unsafe { give(graph, 0)? };
        let recording = stream::end_capture(on_stream)?;
        // SAFETY: as above.
        unsafe { give(graph, GRAPHS.insert(Arc::new(recording))) }
    })
}

pub(super) unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut CUgraphExec,
    graph: CUgraph,
    flags: c_ulonglong,
) -> Code {
    let executable = executable.cast::<usize>();
    let graph = graph.0.addr();
    call_in_context(|| {
        if flags & !AUTO_FREE_ON_LAUNCH != 0 {
            return Err(Code::CUDA_ERROR_NOT_SUPPORTED);
        }
        let recording = Arc::clone(&*GRAPHS.get(graph)?);
        let auto_free = flags & AUTO_FREE_ON_LAUNCH != 0;
        let new = Executable { recording, auto_free, turn: Mutex::new(()) };
        // SAFETY: as above.
        unsafe { give(executable, EXECUTABLES.insert(new)) }
    })
}

pub(super) extern "C" fn cuGraphLaunch(executable: CUgraphExec, on_stream: CUstream) -> Code {
    let executable = executable.0.addr();
    let on_stream = on_stream.0.addr();
    call_in_context(|| {
        let executable = EXECUTABLES.get(executable)?;
        stream::cannot_be_captured(on_stream)?;
        let _turn = executable.turn.lock().unwrap_or_else(PoisonError::into_inner);
        executable.recording.run(on_stream, executable.auto_free)
    })
}

pub(super) extern "C" fn cuGraphExecDestroy(executable: CUgraphExec) -> Code {
    let executable = executable.0.addr();
    call_in_context(|| EXECUTABLES.remove(executable).map(|_| ()))
}

pub(super) extern "C" fn cuGraphDestroy(graph: CUgraph) -> Code {
    let graph = graph.0.addr();
    call_in_context(|| GRAPHS.remove(graph).map(|_| ()))
}
