//! Graphs: a sequence of work, recorded once and launched many times.
//!
//! A launch costs the host some microseconds, more than a small kernel takes. A graph launches a
//! whole sequence for little more than the price of one, with the arguments it was recorded with.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_driver::sys::{self, CUgraph, CUgraphExec};

use crate::gpu::driver::{check, given};
use crate::gpu::stream::{Stream, is_capturing};
use crate::{Error, Gpu, Result};

impl Gpu {
    /// Records what `enqueue` enqueues on this handle or its clones, instead of doing it.
    ///
    /// The graph records only the calling thread's work. Other threads may use the handle at the same time, and their
    /// work runs at once. The capture has its own stream. Inside `enqueue`, [`Gpu::raw_stream`] returns that stream,
    /// for work that the caller enqueues without the handle.
    ///
    /// A graph can hold launches, fills, copies on the device ([`Column::copy_from`](crate::Column::copy_from)), and
    /// the allocation and release of columns. It copies the arguments of launches, and loads modules as needed. A graph
    /// cannot hold:
    ///
    /// - waits for the stream,
    /// - copies from or to the host,
    /// - [`Gpu::time`],
    /// - work on memory of another stream.
    ///
    /// A function that needs one of these says so, and returns [`Error::Captured`]. [`Gpu::refuse_in_capture`] does
    /// that.
    ///
    /// Columns around a capture:
    /// - Made before the capture: the graph uses it where it lies. Keep it until after the last launch.
    /// - Made and dropped inside: it is scratch of the graph, which keeps the memory reserved.
    /// - Made inside and kept: it holds the result of the latest launch, since each launch makes it again. Keep it
    ///   until after the last launch. Reading it before the first launch is [`Error::NotLaunched`].
    ///
    /// # Errors
    /// After an error, there is no graph and the handle is unchanged.
    ///
    /// - The errors of `enqueue`.
    /// - [`Error::Captured`]: the call is inside another capture of the handle.
    /// - [`Error::Driver`]: the driver failed, or `enqueue` ignored an error of work that cannot be captured.
    pub fn capture<E: From<Error>>(
        &self,
        enqueue: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        let capture = Capture::begin(self)?;
        enqueue()?;
        Ok(Graph::instantiate(capture.end()?)?)
    }

    /// Fails if a graph records what the calling thread enqueues on the handle. Functions call it before work that a
    /// graph cannot hold, or for memory that must outlive the graph.
    ///
    /// # Errors
    /// [`Error::Captured`] with `what`.
    pub fn refuse_in_capture(&self, what: &'static str) -> Result<()> {
        if self.is_capturing()? { Err(Error::Captured { what }) } else { Ok(()) }
    }

    /// Whether a graph records what the calling thread enqueues on the handle.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn is_capturing(&self) -> Result<bool> {
        let _current = self.make_current()?;
        is_capturing(self.stream.raw())
    }
}

/// While this lives, everything that the calling thread enqueues on a handle is recorded.
struct Capture<'a> {
    gpu: &'a Gpu,
    /// The stream that records.
    on: Stream,
    launched: Arc<AtomicBool>,
    has_ended: bool,
}

impl<'a> Capture<'a> {
    fn begin(gpu: &'a Gpu) -> Result<Self> {
        if gpu.stream.recording().is_some() {
            return Err(Error::Captured { what: "a capture" });
        }
        let _current = gpu.make_current()?;
        let on = Stream::to_record(gpu.opened.context)?;
        // Relaxed: other threads, and the loading of modules on this one, are not disturbed.
        let mode = sys::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive.
        let status = unsafe { sys::cuStreamBeginCapture_v2(on.own(), mode) };
        check("cuStreamBeginCapture", status)?;
        let launched = Arc::new(AtomicBool::new(false));
        gpu.stream.begin_recording(&on, Arc::clone(&launched));
        Ok(Self { gpu, on, launched, has_ended: false })
    }

    fn end(mut self) -> Result<Recorded> {
        self.take()
    }

    /// Ends the recording.
    fn take(&mut self) -> Result<Recorded> {
        self.has_ended = true;
        self.gpu.stream.end_recording();
        let _current = self.gpu.make_current()?;
        // SAFETY: the stream is alive, and the function writes the graph.
        let raw = unsafe {
            given("cuStreamEndCapture", |graph| sys::cuStreamEndCapture(self.on.own(), graph))
        }?;
        Ok(Recorded { raw, gpu: self.gpu.clone(), launched: Arc::clone(&self.launched) })
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            // The caller has an error already; this one would say that the capture has failed.
            let _ = self.take();
        }
    }
}

/// A graph as the driver recorded it.
struct Recorded {
    raw: CUgraph,
    gpu: Gpu,
    /// Whether its memory is there.
    launched: Arc<AtomicBool>,
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if let Ok(_current) = self.gpu.make_current() {
            // SAFETY: the graph is this value's own. An error would be an earlier one's.
            let _ = unsafe { sys::cuGraphDestroy(self.raw) };
        }
    }
}

/// Work on a handle's stream, ready to be launched again and again: see [`Gpu::capture`].
///
/// Dropping it returns its reserved memory to the driver. Launches that still run finish first.
pub struct Graph {
    executable: CUgraphExec,
    /// The memory's addresses are the graph's, so it stays.
    recorded: Recorded,
}

impl Graph {
    fn instantiate(recorded: Recorded) -> Result<Self> {
        // What the last launch allocated and nobody freed does not forbid the next one.
        let _current = recorded.gpu.make_current()?;
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
    /// [`Error::Captured`] inside [`Gpu::capture`], [`Error::Driver`]. A later call that waits reports what fails
    /// while the graph runs.
    ///
    /// # Safety
    /// Columns that were made before the capture and are used in it stay allocated until the stream has passed the
    /// launch. Their contents must still satisfy what each captured call requires.
    pub unsafe fn launch(&self) -> Result<()> {
        let gpu = &self.recorded.gpu;
        if gpu.stream.recording().is_some() {
            return Err(Error::Captured { what: "the launch of a graph" });
        }
        let _current = gpu.make_current()?;
        // SAFETY: graph and stream are alive, and the columns are, by the caller's promise.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.executable, gpu.stream.raw()) })?;
        self.recorded.launched.store(true, Ordering::Release);
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Ok(_current) = self.recorded.gpu.make_current() {
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
