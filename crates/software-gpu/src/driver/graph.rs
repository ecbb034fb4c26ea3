//! Graphs: work that a stream recorded instead of doing it, to be done as often as one likes.
//!
//! Memory that is allocated while a stream captures has its address from then on, and the graph
//! keeps it reserved as long as it lives. It comes into being when a launch of the graph comes to
//! the allocation, with the pattern of fresh memory, and is gone again where the graph frees it;
//! what the graph does not free, the program may free after the launch.

use super::{Code, Handles, Outcome, call_in_context, context, give, stream};
use crate::memory::{self, Used};
use crate::report::{Kind, Report};
use cuda_driver::sys::{CUgraph, CUgraphExec, CUstream};
use std::ffi::{c_int, c_ulonglong};
use std::sync::{Arc, Mutex, PoisonError};

/// Memory that the program has not freed is freed by the next launch.
const AUTO_FREE_ON_LAUNCH: c_ulonglong = 1;
/// Of capture modes: the one that forbids nothing but what the stream itself cannot do.
const RELAXED: c_int = 2;

/// One piece of work, told the stream that it runs on; it does the same on every call.
type Node = Box<dyn Fn(usize) -> Outcome + Send + Sync>;

/// What was enqueued on a stream while it captured, in order.
#[derive(Default)]
pub(super) struct Recording {
    nodes: Vec<Node>,
    /// What was allocated, and whether that was freed again.
    memory: Vec<(u64, bool)>,
}

impl Recording {
    pub(super) fn push(&mut self, node: impl Fn(usize) -> Outcome + Send + Sync + 'static) {
        self.nodes.push(Box::new(node));
    }

    /// Records an allocation.
    pub(super) fn allocate(&mut self, size: usize) -> Result<u64, Code> {
        let address = memory::reserve(size, context::current()?)?;
        self.memory.push((address, false));
        self.push(move |stream| {
            memory::revive(address)?;
            stream::in_order(&Used::whole(address), stream, "an allocation of a graph")
        });
        Ok(address)
    }

    /// Records a free, which must be of memory allocated in the same recording.
    pub(super) fn free(&mut self, address: u64) -> Outcome {
        let Some((_, freed)) = self.memory.iter_mut().find(|m| **m == (address, false)) else {
            let message = format!(
                "a free of {address:#x} while the stream captures, where no memory begins that \
                 the capture has allocated and not freed"
            );
            Report::new(Kind::Range, message).file();
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        };
        *freed = true;
        self.push(move |stream| stream::free_now(stream, address));
        Ok(())
    }

    /// Does everything, in order, up to the first fault.
    fn run(&self, stream: usize, auto_free: bool) -> Outcome {
        for (address, _) in &self.memory {
            if memory::is_device(*address) {
                if !auto_free {
                    return Err(Code::CUDA_ERROR_INVALID_VALUE);
                }
                stream::free_now(stream, *address)?;
            }
        }
        self.nodes.iter().try_for_each(|node| node(stream))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.memory.iter().for_each(|(address, _)| memory::unreserve(*address));
    }
}

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
