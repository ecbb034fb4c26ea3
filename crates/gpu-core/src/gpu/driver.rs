//! Calls of the driver, and their status.

use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;

use cuda_driver::sys::{self, CUcontext, CUdevice};
use cuda_driver::{Loaded, Status};

use crate::{DeviceChoice, Error, Result};

/// CUDA version that the driver must support: PTX 7.8, the version of the committed kernels.
const NEEDED_CUDA: (i32, i32) = (11, 8);

/// Names the driver's function, or the kernel, that an answer came from.
pub(crate) fn check(call: &str, status: Status) -> Result<()> {
    if status == Status::CUDA_SUCCESS {
        return Ok(());
    }
    Err(Error::Driver { call: call.to_owned(), code: status.0, message: status.to_string() })
}

/// The value that a driver's function writes through its first argument.
///
/// # Safety
/// `function` writes a value of this type before it answers with success.
pub(crate) unsafe fn given<T>(call: &str, function: impl FnOnce(*mut T) -> Status) -> Result<T> {
    let mut value = std::mem::MaybeUninit::uninit();
    check(call, function(value.as_mut_ptr()))?;
    // SAFETY: written, by the caller's promise.
    Ok(unsafe { value.assume_init() })
}

/// Loads and initialises the driver that serves `choice`, and checks that it is new enough.
pub(crate) fn load(choice: DeviceChoice) -> Result<()> {
    let loaded = match choice {
        DeviceChoice::Software | DeviceChoice::AllSoftware => load_software(choice)?,
        _ => cuda_driver::load_cuda(),
    };
    loaded.map_err(|error| match error {
        cuda_driver::LoadError::OtherDriver { loaded, .. } => {
            Error::OtherDriver { wanted: choice.to_string(), loaded: loaded.to_string() }
        }
        cuda_driver::LoadError::NoLibrary { reason } => Error::NoDriver { reason },
        other => Error::NoDriver { reason: other.to_string() },
    })?;
    // SAFETY: the function writes the version.
    let version =
        unsafe { given("cuDriverGetVersion", |v: *mut c_int| sys::cuDriverGetVersion(v)) }?;
    let found = (version / 1000, version % 1000 / 10);
    if found < NEEDED_CUDA {
        return Err(Error::DriverTooOld {
            found_major: found.0,
            found_minor: found.1,
            needed_major: NEEDED_CUDA.0,
            needed_minor: NEEDED_CUDA.1,
        });
    }
    // SAFETY: zero is the only flag there is.
    check("cuInit", unsafe { sys::cuInit(0) })
}

#[cfg(feature = "software")]
fn load_software(_: DeviceChoice) -> Result<std::result::Result<(), cuda_driver::LoadError>> {
    Ok(software_gpu::load())
}

#[cfg(not(feature = "software"))]
fn load_software(choice: DeviceChoice) -> Result<std::result::Result<(), cuda_driver::LoadError>> {
    Err(Error::NotBuilt { name: choice.to_string(), feature: "software" })
}

/// Whether the software device serves this process.
pub(crate) fn is_software() -> bool {
    cuda_driver::loaded() == Some(Loaded::Software)
}

/// Devices of the loaded driver.
pub(crate) fn device_count() -> Result<u32> {
    // SAFETY: the function writes the number.
    let count = unsafe { given("cuDeviceGetCount", |n: *mut c_int| sys::cuDeviceGetCount(n)) }?;
    Ok(count.max(0) as u32)
}

/// Returns a numeric attribute of a device.
pub(crate) fn attribute(device: CUdevice, attribute: c_int) -> Result<u32> {
    let ask = |value: *mut c_int| {
        // SAFETY: the pointer is to a live variable.
        unsafe { sys::cuDeviceGetAttribute(value, attribute, device) }
    };
    // SAFETY: the function writes the value.
    Ok(unsafe { given("cuDeviceGetAttribute", ask) }?.max(0) as u32)
}

/// The device's name.
pub(crate) fn device_name(device: CUdevice) -> Result<String> {
    let mut name: [c_char; 256] = [0; 256];
    // SAFETY: the buffer has the length that is stated.
    check("cuDeviceGetName", unsafe {
        sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device)
    })?;
    // SAFETY: the driver ends the name by a zero; the last byte is one in any case.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    Ok(name.to_string_lossy().into_owned())
}

/// Makes a context current on the calling thread, as long as the result lives: the driver's functions
/// work on the current context.
pub(crate) fn make_current(context: CUcontext) -> Result<Current> {
    // SAFETY: the function writes the context.
    let before = unsafe { given("cuCtxGetCurrent", |current| sys::cuCtxGetCurrent(current)) }?;
    if before == context {
        return Ok(Current { before: CUcontext::NULL, thread: PhantomData });
    }
    // SAFETY: gpu-core holds a reference to every context that it knows.
    check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(context) })?;
    Ok(Current { before, thread: PhantomData })
}

/// A context that is current; dropped, the one that the caller had chosen is current again. On a thread
/// that had chosen none the context stays, and the next call finds it.
#[must_use = "the context is current while this lives"]
pub(crate) struct Current {
    before: CUcontext,
    /// Each thread has a current context of its own, so this stays where it is.
    thread: PhantomData<*const ()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        if self.before != CUcontext::NULL {
            // SAFETY: the context was current, and only its owner could have destroyed it meanwhile: then
            // the driver answers with an error, and there is nothing to go back to.
            let _ = unsafe { sys::cuCtxSetCurrent(self.before) };
        }
    }
}
