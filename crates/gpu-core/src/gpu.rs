//! The handle to a GPU: a device, a stream on it, and the modules that it has loaded.

pub(crate) mod admit;
pub(crate) mod column;
pub(crate) mod device_grid;
pub(crate) mod device_points;
pub(crate) mod driver;
#[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
pub(crate) mod foreign;
#[cfg(feature = "cuda-core")]
pub(crate) mod foreign_cuda_core;
#[cfg(feature = "cudarc")]
pub(crate) mod foreign_cudarc;
#[cfg(feature = "cust")]
pub(crate) mod foreign_cust;
#[cfg(feature = "dlpack")]
pub(crate) mod foreign_dlpack;
pub(crate) mod graph;
pub(crate) mod host_copy;
pub(crate) mod launch;
pub(crate) mod modules;
pub(crate) mod opened;
pub(crate) mod properties;
pub(crate) mod slice;
pub(crate) mod staging;
pub(crate) mod stream;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cuda_driver::sys;

use crate::{DeviceChoice, Error, Result};
use driver::{Current, check};
use opened::Opened;
use stream::{Event, Stream};

/// A GPU and one stream on it.
///
/// Calls enqueue work on the handle's stream, and it runs in that order. The documentation of a method that waits says
/// so. Clones share the stream. [`Gpu::fork`] and a second [`Gpu::open`] return a handle with its own stream. The work
/// of such handles runs side by side, whether one thread uses them or several.
///
/// [`Gpu::admit`] orders work on a column of another handle of the same device. Every function of Tessera that takes a
/// slice calls it.
#[derive(Clone)]
pub struct Gpu {
    pub(crate) stream: Arc<Stream>,
    pub(crate) opened: Arc<Opened>,
}

impl Gpu {
    /// Opens the GPU of a choice: an NVIDIA GPU or the software device.
    ///
    /// `auto` means `cuda:0` here; only [`Device::open`](crate::Device::open) falls back to the CPU.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::DriverTooOld`], [`Error::NoDevice`], [`Error::OtherDriver`],
    /// [`Error::NotBuilt`] for the software device without the feature `software`,
    /// [`Error::UnknownDevice`] for `cpu`, and [`Error::SeveralDevices`] for `cuda:all` and `software:all`.
    pub fn open(choice: DeviceChoice) -> Result<Self> {
        let ordinal = match choice {
            DeviceChoice::Software => 0,
            DeviceChoice::Cuda(ordinal) => ordinal,
            DeviceChoice::Auto => 0,
            DeviceChoice::Cpu => return Err(Error::UnknownDevice { name: choice.to_string() }),
            DeviceChoice::AllCuda | DeviceChoice::AllSoftware => {
                return Err(Error::SeveralDevices { name: choice.to_string() });
            }
        };
        driver::load(choice)?;
        let count = driver::device_count()?;
        if ordinal >= count {
            return Err(Error::NoDevice { ordinal, count });
        }
        Self::with_new_stream(Opened::get(ordinal)?)
    }

    /// Opens every device of `cuda:all` or `software:all`, in the order of their ordinals. Another choice names one
    /// device.
    ///
    /// # Errors
    /// The errors of [`Gpu::open`], of the first that cannot be opened; [`Error::NoDevice`] where there is none.
    pub fn open_all(choice: DeviceChoice) -> Result<Vec<Self>> {
        if !matches!(choice, DeviceChoice::AllCuda | DeviceChoice::AllSoftware) {
            return Ok(vec![Self::open(choice)?]);
        }
        driver::load(choice)?;
        let count = driver::device_count()?;
        if count == 0 {
            return Err(Error::NoDevice { ordinal: 0, count });
        }
        (0..count).map(|ordinal| Self::with_new_stream(Opened::get(ordinal)?)).collect()
    }

    /// A handle to the same device with a stream of its own.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn fork(&self) -> Result<Self> {
        Self::with_new_stream(Arc::clone(&self.opened))
    }

    fn with_new_stream(opened: Arc<Opened>) -> Result<Self> {
        let stream = Stream::new(opened.context)?;
        Ok(Self { stream: Arc::new(stream), opened })
    }

    /// The device's name, as the driver gives it.
    pub fn name(&self) -> &str {
        &self.opened.properties.name
    }

    /// Bytes of memory on the device.
    pub fn total_memory(&self) -> u64 {
        self.opened.properties.total_memory
    }

    /// Bytes of memory that are free now. Memory that this process freed and keeps for its next
    /// allocations counts as used.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn free_memory(&self) -> Result<u64> {
        let _current = self.make_current()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are to live variables.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok(free as u64)
    }

    /// Compute capability, major and minor.
    pub fn compute_capability(&self) -> (u32, u32) {
        self.opened.properties.compute_capability
    }

    /// Multiprocessors of the device.
    pub fn multiprocessors(&self) -> u32 {
        self.opened.properties.multiprocessors
    }

    /// Whether this is the software device.
    pub fn is_software(&self) -> bool {
        driver::is_software()
    }

    /// Returns the driver's stream (a `CUstream`), for callers who enqueue their own work.
    ///
    /// It lives as long as the handle and its clones. Inside [`Gpu::capture`], on the thread that captures, it is the
    /// stream that records, which lives as long as the capture.
    pub fn raw_stream(&self) -> *mut std::ffi::c_void {
        self.stream.raw().0
    }

    /// Returns the driver's context (a `CUcontext`): the primary context of the device.
    pub fn raw_context(&self) -> *mut std::ffi::c_void {
        self.opened.context.0
    }

    /// Waits until everything enqueued on this handle's stream is done.
    ///
    /// # Errors
    /// [`Error::Driver`] with the error of a kernel since the last wait.
    pub fn synchronize(&self) -> Result<()> {
        let _current = self.make_current()?;
        // SAFETY: the stream is alive.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.stream.raw()) })
    }

    /// Makes later work on this handle wait for all work that `other` has by now.
    ///
    /// # Errors
    /// [`Error::OtherGpu`] for a handle to another device, [`Error::Captured`] inside
    /// [`Gpu::capture`], [`Error::Driver`].
    pub fn wait_for(&self, other: &Gpu) -> Result<()> {
        self.same_device(other.opened.device)?;
        if self.stream.own() == other.stream.own() {
            return Ok(());
        }
        let _current = self.make_current()?;
        stream::order_outside_captures(other.stream.raw(), self.stream.raw())
    }

    /// Enqueues work through `enqueue`, and measures by events the time that the device spends on it. Waits for the
    /// work.
    ///
    /// # Errors
    /// The errors of `enqueue`, and [`Error::Driver`].
    pub fn time<R, E: From<Error>>(
        &self,
        enqueue: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, Duration), E> {
        let (start, end) = {
            let _current = self.make_current()?;
            let start = Event::new(0)?;
            start.record(self.stream.raw())?;
            (start, Event::new(0)?)
        };
        let result = enqueue()?;
        let _current = self.make_current()?;
        end.record(self.stream.raw())?;
        end.synchronize()?;
        let milliseconds = end.milliseconds_since(&start)?;
        Ok((result, Duration::from_secs_f64(f64::from(milliseconds) * 1e-3)))
    }

    /// Makes the device's context current on the calling thread, as long as the result lives: the driver's
    /// functions work on the current context, and any thread may hold a handle.
    pub(crate) fn make_current(&self) -> Result<Current> {
        driver::make_current(self.opened.context)
    }

    /// An error unless this handle's device has the number.
    pub(crate) fn same_device(&self, device: sys::CUdevice) -> Result<()> {
        let own = self.opened.device;
        if device == own { Ok(()) } else { Err(Error::OtherGpu { handle: own, memory: device }) }
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("name", &self.name()).finish_non_exhaustive()
    }
}
