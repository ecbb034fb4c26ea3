//! What the handles of one device share.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cuda_driver::sys::{self, CUcontext, CUdevice, CUmemoryPool};

use crate::Result;
use crate::gpu::driver::{check, given, make_current};
use crate::gpu::modules::Modules;
use crate::gpu::properties::Properties;
use crate::gpu::staging::Staging;

/// A device that was opened. It stays so until the process ends: its modules are compiled once.
pub(crate) struct Opened {
    pub(crate) device: CUdevice,
    /// The primary context, which CUDA's runtime, cust and cudarc use too.
    pub(crate) context: CUcontext,
    pub(crate) modules: Modules,
    pub(crate) properties: Properties,
    staging: OnceLock<Option<Arc<Staging>>>,
}

impl Opened {
    /// The device with this ordinal, opened at the first call. The driver is loaded.
    pub(crate) fn get(ordinal: u32) -> Result<Arc<Self>> {
        static DEVICES: Mutex<BTreeMap<u32, Arc<Opened>>> = Mutex::new(BTreeMap::new());
        let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = devices.get(&ordinal) {
            return Ok(Arc::clone(opened));
        }
        let opened = Arc::new(Self::open(ordinal)?);
        devices.insert(ordinal, Arc::clone(&opened));
        Ok(opened)
    }

    fn open(ordinal: u32) -> Result<Self> {
        // SAFETY: the functions write what they are asked for.
        let (device, context): (CUdevice, CUcontext) = unsafe {
            let device = given("cuDeviceGet", |d| sys::cuDeviceGet(d, ordinal as c_int))?;
            let retain = |context| sys::cuDevicePrimaryCtxRetain(context, device);
            (device, given("cuDevicePrimaryCtxRetain", retain)?)
        };
        let _current = make_current(context)?;
        keep_freed_memory(device)?;
        let properties = Properties::of(device)?;
        Ok(Self {
            device,
            context,
            modules: Modules::default(),
            properties,
            staging: OnceLock::new(),
        })
    }

    /// Returns the staging of large copies; `None` if the system gives no page-locked memory. The context is current.
    pub(crate) fn staging(&self) -> Option<&Arc<Staging>> {
        self.staging.get_or_init(|| Staging::new(self.context).ok().map(Arc::new)).as_ref()
    }
}

/// Lets the device's memory pool keep freed memory for later allocations. By default the pool returns it to the system
/// at each synchronisation, and allocating it again costs milliseconds.
fn keep_freed_memory(device: CUdevice) -> Result<()> {
    let mut threshold = u64::MAX;
    let threshold_of = sys::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the function writes the pool; the attribute is a u64, and a live variable.
    unsafe {
        let pool: CUmemoryPool = given("cuDeviceGetDefaultMemPool", |pool| {
            sys::cuDeviceGetDefaultMemPool(pool, device)
        })?;
        let set = sys::cuMemPoolSetAttribute(pool, threshold_of, (&raw mut threshold).cast());
        check("cuMemPoolSetAttribute", set)
    }
}
