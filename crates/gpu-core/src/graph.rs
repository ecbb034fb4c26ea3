//! Graphs: a sequence of work, recorded once and launched many times.
//!
//! A launch costs the host some microseconds, more than a small kernel takes. A graph launches a
//! whole sequence for little more than the price of one, with the arguments it was recorded with.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use cuda_driver::sys::{self, CUgraph, CUgraphExec};

use crate::driver::{check, given};
use crate::stream::is_capturing;
use crate::{Error, Gpu, Result};

impl Gpu {
    /// Records what `enqueue` enqueues on this handle's stream, instead of doing it.
    ///
    /// A graph can hold launches (their arguments are copied, modules are loaded as needed),
    /// fills, copies on the device ([`Column::copy_from`](crate::Column::copy_from)), and the
    /// allocation and release of columns. It cannot hold what waits for the stream, copies from or
    /// to the host, [`Gpu::time`], or work on memory of another stream: a function that needs one of
    /// these says so and answers [`Error::Captured`], as [`Gpu::refuse_in_capture`] lets it.
    ///
    /// Columns around a capture:
    /// - One made before is used by the graph where it lies. It must not be dropped inside
    ///   `enqueue`: its memory would not come back.
    /// - One made and dropped inside is scratch of the graph, which keeps the memory reserved.
    /// - One made inside and kept holds the result of the latest launch. Before the first it is not
    ///   there, and to read it is [`Error::NotLaunched`]; each launch makes it anew: keep it until
    ///   after the last one.
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
        if is_capturing(self.stream.raw)? { Err(Error::Captured { what }) } else { Ok(()) }
    }
}

/// A stream that captures; dropped without [`Capture::end`], what was recorded is lost.
struct Capture<'a> {
    gpu: &'a Gpu,
    launched: Arc<AtomicBool>,
}

impl<'a> Capture<'a> {
    fn begin(gpu: &'a Gpu) -> Result<Self> {
        gpu.make_current()?;
        // Relaxed: other threads, and the loading of modules on this one, are not disturbed.
        let mode = sys::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive.
        let status = unsafe { sys::cuStreamBeginCapture_v2(gpu.stream.raw, mode) };
        check("cuStreamBeginCapture", status)?;
        let launched = Arc::new(AtomicBool::new(false));
        set_recording(gpu, Some(Arc::clone(&launched)));
        Ok(Self { gpu, launched })
    }

    fn end(self) -> Result<Recorded> {
        let (gpu, launched) = (self.gpu.clone(), Arc::clone(&self.launched));
        std::mem::forget(self);
        Recorded::take(gpu, launched)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // The caller has an error already; this one would say that the capture has failed.
        let _ = Recorded::take(self.gpu.clone(), Arc::clone(&self.launched));
    }
}

/// Says whose graph's the columns are that are made from now on.
fn set_recording(gpu: &Gpu, launched: Option<Arc<AtomicBool>>) {
    *gpu.stream.recording.lock().unwrap_or_else(PoisonError::into_inner) = launched;
}

/// A graph as the driver recorded it.
struct Recorded {
    raw: CUgraph,
    gpu: Gpu,
    /// Whether its memory is there.
    launched: Arc<AtomicBool>,
}

impl Recorded {
    /// Ends the capture on the handle's stream.
    fn take(gpu: Gpu, launched: Arc<AtomicBool>) -> Result<Self> {
        set_recording(&gpu, None);
        gpu.make_current()?;
        // SAFETY: the stream is alive, and the function writes the graph.
        let raw = unsafe {
            given("cuStreamEndCapture", |graph| sys::cuStreamEndCapture(gpu.stream.raw, graph))
        }?;
        Ok(Self { raw, gpu, launched })
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
    executable: CUgraphExec,
    /// The memory's addresses are the graph's, so it stays.
    recorded: Recorded,
}

impl Graph {
    fn instantiate(recorded: Recorded) -> Result<Self> {
        // What the last launch allocated and nobody freed does not forbid the next one.
        let flags = sys::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        // SAFETY: the graph is alive, and the function writes the executable one.
        let executable = unsafe {
            given("cuGraphInstantiate", |executable| {
                sys::cuGraphInstantiateWithFlags(executable, recorded.raw, flags)
            })
        }?;
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
        // SAFETY: graph and stream are alive, and the columns are, by the caller's promise.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.executable, gpu.stream.raw) })?;
        self.recorded.launched.store(true, Ordering::Release);
        Ok(())
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
