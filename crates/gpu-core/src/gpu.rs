//! The handle to a GPU: a device, a stream on it, and what was loaded there.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cust::CudaFlags;
use cust::context::{Context, CurrentContext};
use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::error::CudaResult;
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use cust::sys;

use crate::modules::Modules;
use crate::{DeviceChoice, Error, Result};

/// CUDA version that the driver must support: PTX 7.8, the version of the committed kernels.
const NEEDED_CUDA: (i32, i32) = (11, 8);

/// A GPU and one stream on it.
///
/// Work is enqueued on the handle's stream and runs in that order; a method that waits for it
/// says so. Clones share the stream. [`Gpu::fork`] gives a handle with a stream of its own, and so
/// does a second [`Gpu::open`]: such handles run side by side, from one thread or several.
#[derive(Clone)]
pub struct Gpu {
    pub(crate) stream: Arc<Stream>,
    pub(crate) opened: Arc<Opened>,
}

/// What the handles of one device share. A device once opened stays so until the process ends: its
/// modules are compiled once.
pub(crate) struct Opened {
    pub(crate) modules: Modules,
    pub(crate) properties: Properties,
    context: Context,
}

/// What is known of the device from the start.
pub(crate) struct Properties {
    pub(crate) name: String,
    pub(crate) total_memory: u64,
    pub(crate) compute_capability: (u32, u32),
    multiprocessors: u32,
}

impl Opened {
    /// The device with this ordinal, opened at the first call.
    fn get(ordinal: u32) -> Result<Arc<Self>> {
        static DEVICES: Mutex<BTreeMap<u32, Arc<Opened>>> = Mutex::new(BTreeMap::new());
        let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = devices.get(&ordinal) {
            return Ok(Arc::clone(opened));
        }
        let device = call("cuDeviceGet", CudaDevice::get_device(ordinal))?;
        let context = call("cuDevicePrimaryCtxRetain", Context::new(device))?;
        keep_freed_memory(device)?;
        let properties = call("cuDeviceGetAttribute", Properties::of(device))?;
        let opened = Arc::new(Self { modules: Modules::default(), properties, context });
        devices.insert(ordinal, Arc::clone(&opened));
        Ok(opened)
    }
}

impl Gpu {
    /// Opens the GPU that was asked for: an NVIDIA GPU or the software device.
    ///
    /// `auto` stands for `cuda:0` here; [`Device::open`](crate::Device::open) is what falls back
    /// to the CPU.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::DriverTooOld`], [`Error::NoDevice`], [`Error::OtherDriver`],
    /// [`Error::NotBuilt`] for `software` in a build without that feature, and
    /// [`Error::UnknownDevice`] for `cpu`.
    pub fn open(choice: DeviceChoice) -> Result<Self> {
        let ordinal = match choice {
            DeviceChoice::Software => 0,
            DeviceChoice::Cuda(ordinal) => ordinal,
            DeviceChoice::Auto => 0,
            DeviceChoice::Cpu => return Err(Error::UnknownDevice { name: choice.to_string() }),
        };
        load_driver(choice)?;
        call("cuInit", cust::init(CudaFlags::empty()))?;
        let count = call("cuDeviceGetCount", CudaDevice::num_devices())?;
        if ordinal >= count {
            return Err(Error::NoDevice { ordinal, count });
        }
        Self::with_new_stream(Opened::get(ordinal)?)
    }

    /// A handle to the same device with a stream of its own.
    ///
    /// Nothing orders the two streams but [`Gpu::wait_for`].
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn fork(&self) -> Result<Self> {
        Self::with_new_stream(Arc::clone(&self.opened))
    }

    fn with_new_stream(opened: Arc<Opened>) -> Result<Self> {
        let current = CurrentContext::set_current(&opened.context);
        call("cuCtxSetCurrent", current)?;
        let stream = call("cuStreamCreate", Stream::new(StreamFlags::DEFAULT, None))?;
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
        self.make_current()?;
        Ok(call("cuMemGetInfo", cust::memory::mem_get_info())?.0 as u64)
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
        cuda_driver::loaded() == Some(cuda_driver::Loaded::Software)
    }

    /// The cust stream beneath, for a caller who enqueues work of their own.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Waits until everything enqueued on this handle's stream is done.
    ///
    /// # Errors
    /// [`Error::Driver`] with what went wrong in a kernel since the last wait.
    pub fn synchronize(&self) -> Result<()> {
        self.make_current()?;
        // SAFETY: the stream is alive.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.stream.as_inner()) })
    }

    /// Lets the work enqueued here from now on wait for what is enqueued on `other` by now.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn wait_for(&self, other: &Gpu) -> Result<()> {
        self.make_current()?;
        let event = call("cuEventCreate", Event::new(EventFlags::DISABLE_TIMING))?;
        call("cuEventRecord", event.record(&other.stream))?;
        call("cuStreamWaitEvent", self.stream.wait_event(event, StreamWaitEventFlags::DEFAULT))
    }

    /// Enqueues work through `enqueue` and measures the time that the device spends on it, by
    /// events around it. Waits for the work.
    ///
    /// # Errors
    /// Those of `enqueue`, and [`Error::Driver`].
    pub fn time<R, E: From<Error>>(
        &self,
        enqueue: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, Duration), E> {
        self.make_current()?;
        let event = || call("cuEventCreate", Event::new(EventFlags::DEFAULT));
        let (start, end) = (event()?, event()?);
        call("cuEventRecord", start.record(&self.stream))?;
        let result = enqueue()?;
        self.make_current()?;
        call("cuEventRecord", end.record(&self.stream))?;
        call("cuEventSynchronize", end.synchronize())?;
        let milliseconds = call("cuEventElapsedTime", end.elapsed_time_f32(&start))?;
        Ok((result, Duration::from_secs_f64(f64::from(milliseconds) * 1e-3)))
    }

    /// Makes the device's context current on the calling thread: the driver's functions work on
    /// the current context, and any thread may hold a handle.
    pub(crate) fn make_current(&self) -> Result<()> {
        call("cuCtxSetCurrent", CurrentContext::set_current(&self.opened.context))
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Properties {
    fn of(device: CudaDevice) -> CudaResult<Self> {
        let attribute = |a| device.get_attribute(a).map(|value| value as u32);
        Ok(Self {
            name: device.name()?,
            total_memory: device.total_memory()? as u64,
            compute_capability: (
                attribute(DeviceAttribute::ComputeCapabilityMajor)?,
                attribute(DeviceAttribute::ComputeCapabilityMinor)?,
            ),
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        })
    }
}

/// Loads the driver that serves `choice`, and checks that it is new enough.
fn load_driver(choice: DeviceChoice) -> Result<()> {
    let loaded = match choice {
        #[cfg(feature = "software")]
        DeviceChoice::Software => software_gpu::load(),
        #[cfg(not(feature = "software"))]
        DeviceChoice::Software => return Err(Error::NotBuilt { name: choice.to_string() }),
        _ => cuda_driver::load_cuda(),
    };
    loaded.map_err(|error| match error {
        cuda_driver::LoadError::OtherDriver { loaded, .. } => {
            Error::OtherDriver { wanted: choice.to_string(), loaded: loaded.to_string() }
        }
        cuda_driver::LoadError::NoLibrary { reason } => Error::NoDriver { reason },
        other => Error::NoDriver { reason: other.to_string() },
    })?;
    let version = call("cuDriverGetVersion", cust::CudaApiVersion::get())?;
    let found = (version.major(), version.minor());
    if found < NEEDED_CUDA {
        return Err(Error::DriverTooOld {
            found_major: found.0,
            found_minor: found.1,
            needed_major: NEEDED_CUDA.0,
            needed_minor: NEEDED_CUDA.1,
        });
    }
    Ok(())
}

/// Lets the device's memory pool keep what is freed for the allocations to come: by default it
/// goes back to the system at each synchronisation, and allocating it again costs milliseconds.
fn keep_freed_memory(device: CudaDevice) -> Result<()> {
    let mut pool = std::ptr::null_mut();
    let mut threshold = u64::MAX;
    // SAFETY: the pointers are to live variables of the types that the driver documents.
    unsafe {
        check(
            "cuDeviceGetDefaultMemPool",
            sys::cuDeviceGetDefaultMemPool(&mut pool, device.as_raw()),
        )?;
        check(
            "cuMemPoolSetAttribute",
            sys::cuMemPoolSetAttribute(
                pool,
                sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                (&raw mut threshold).cast(),
            ),
        )
    }
}

/// Names the driver call that an error came from.
pub(crate) fn call<T>(call: &str, result: CudaResult<T>) -> Result<T> {
    result.map_err(|e| Error::Driver { call: call.to_owned(), message: e.to_string() })
}

/// The same for a call of the raw driver function.
pub(crate) fn check(name: &str, code: sys::CUresult) -> Result<()> {
    if code == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let message = match cuda_driver::error_text(code as u32) {
        Some(text) => text.description.to_string_lossy().into_owned(),
        None => format!("error {}", code as u32),
    };
    Err(Error::Driver { call: name.to_owned(), message })
}
