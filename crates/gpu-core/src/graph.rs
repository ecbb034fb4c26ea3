//! Graphs: a sequence of work, recorded once and launched many times.
//!
//! A launch costs the host some microseconds, more than a small kernel takes. A graph launches a
//! whole sequence for little more than the price of one, with the arguments it was recorded with.

use std::fmt;

use cust::sys;

use crate::gpu::check;
use crate::{Error, Gpu, Result};

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`: what the last launch allocated and nobody
/// freed does not forbid the next one.
const AUTO_FREE_ON_LAUNCH: u64 = 1;

impl Gpu {
    /// Records what `enqueue` enqueues on this handle's stream, instead of doing it.
    ///
    /// A graph can hold launches (their arguments are copied, modules are loaded as needed),
    /// fills, copies on the device ([`Column::copy_from`](crate::Column::copy_from)), and the allocation and release of columns, so every function
    /// that says "enqueues and returns" can be captured. It cannot hold what waits for the
    /// stream, copies from or to the host, [`Gpu::time`], or [`Gpu::wait_for`] between this
    /// handle and another.
    ///
    /// Columns around a capture:
    /// - One made before is used by the graph where it lies. It must not be dropped inside
    ///   `enqueue`: its memory would not come back.
    /// - One made and dropped inside is scratch of the graph, which keeps the memory reserved.
    /// - One made inside and kept holds the result of the latest launch. It may be read, copied
    ///   from or dropped once the graph has been launched, and each launch makes it anew: keep it
    ///   until after the last one.
    ///
    /// Other threads must leave this handle and its clones alone meanwhile; what they enqueue
    /// would be recorded too.
    ///
    /// # Errors
    /// Those of `enqueue`, and [`Error::Driver`], also where `enqueue` passes over an error of
    /// something that cannot be captured. Then there is no graph, and the handle is as before.
    pub fn capture<E: From<Error>>(
        &self,
        enqueue: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        let capture = Capture::begin(self)?;
        enqueue()?;
        Ok(Graph::instantiate(capture.end()?)?)
    }

    /// An error if the handle's stream captures: for what a graph cannot hold, or what must outlive
    /// the graph.
    ///
    /// # Errors
    /// [`Error::Captured`] with `what`.
    pub fn refuse_in_capture(&self, what: &'static str) -> Result<()> {
        self.make_current()?;
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream is alive, and the status is written before it is read.
        let code = unsafe { sys::cuStreamIsCapturing(self.stream.as_inner(), &mut status) };
        check("cuStreamIsCapturing", code)?;
        match status {
            sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Ok(()),
            _ => Err(Error::Captured { what }),
        }
    }
}

/// A stream that captures; dropped without [`Capture::end`], what was recorded is lost.
struct Capture<'a> {
    gpu: &'a Gpu,
}

impl<'a> Capture<'a> {
    fn begin(gpu: &'a Gpu) -> Result<Self> {
        gpu.make_current()?;
        // Relaxed: other threads, and the loading of modules on this one, are not disturbed.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive.
        let code = unsafe { sys::cuStreamBeginCapture_v2(gpu.stream.as_inner(), mode) };
        check("cuStreamBeginCapture", code)?;
        Ok(Self { gpu })
    }

    fn end(self) -> Result<Recorded> {
        let gpu = self.gpu.clone();
        std::mem::forget(self);
        Recorded::take(gpu)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // The caller has an error already; this one would say that the capture has failed.
        let _ = Recorded::take(self.gpu.clone());
    }
}

/// A graph as the driver recorded it.
struct Recorded {
    raw: sys::CUgraph,
    gpu: Gpu,
}

impl Recorded {
    /// Ends the capture on the handle's stream.
    fn take(gpu: Gpu) -> Result<Self> {
        gpu.make_current()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the stream is alive, and the graph is given to a live variable.
        check("cuStreamEndCapture", unsafe {
            sys::cuStreamEndCapture(gpu.stream.as_inner(), &mut raw)
        })?;
        Ok(Self { raw, gpu })
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if self.gpu.make_current().is_ok() {
            // SAFETY: the graph is this value's own. An error would be an earlier one's.
            let _ = unsafe { sys::cuGraphDestroy(self.raw) };
        }
    }
}

/// Work on a handle's stream, ready to be launched again and again: see [`Gpu::capture`].
///
/// Dropping it gives the memory that it keeps reserved back to the driver. Launches that are under
/// way finish.
pub struct Graph {
    executable: sys::CUgraphExec,
    /// The memory's addresses are the graph's, so it stays.
    recorded: Recorded,
}

// SAFETY: the driver's graph objects may be used from any thread, by one at a time.
unsafe impl Send for Graph {}

impl Graph {
    fn instantiate(recorded: Recorded) -> Result<Self> {
        let mut executable = std::ptr::null_mut();
        // SAFETY: the graph is alive, and the result is given to a live variable.
        check("cuGraphInstantiate", unsafe {
            sys::cuGraphInstantiateWithFlags(&mut executable, recorded.raw, AUTO_FREE_ON_LAUNCH)
        })?;
        Ok(Self { executable, recorded })
    }

    /// Enqueues the whole graph on the stream of the handle that captured it.
    ///
    /// # Errors
    /// [`Error::Driver`]. What fails while it runs is reported by a later call that waits.
    ///
    /// # Safety
    /// The columns that were made before the capture and are used in it are still allocated and
    /// stay so until the stream has passed the launch, and what each captured call asked of their
    /// contents still holds.
    pub unsafe fn launch(&self) -> Result<()> {
        let gpu = &self.recorded.gpu;
        gpu.make_current()?;
        // SAFETY: graph and stream are alive; the rest is passed on to the caller.
        check("cuGraphLaunch", unsafe {
            sys::cuGraphLaunch(self.executable, gpu.stream.as_inner())
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.recorded.gpu.make_current().is_ok() {
            // SAFETY: the executable graph is this value's own. An error would be an earlier
            // one's.
            let _ = unsafe { sys::cuGraphExecDestroy(self.executable) };
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("gpu", &self.recorded.gpu).finish_non_exhaustive()
    }
}
