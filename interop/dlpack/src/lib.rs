//! What a binding to Python needs of Tessera: arrays of NumPy, PyTorch and CuPy as columns, and columns as arrays, without a
//! copy. `check.py` calls it.

use std::ffi::c_void;

use gpu_core::dlpark::ffi::DLManagedTensorVersioned;
use gpu_core::dlpark::versioned;
use gpu_core::{Column, DeviceChoice, Gpu};
use gpu_scan::gpu::{Workspace, scan_in_place};
use gpu_scan::{Scan, Sum};

type Failure = Box<dyn std::error::Error>;

/// Opens a CUDA device, or with -1 the software device. Prints why it cannot be opened, and returns null.
#[unsafe(no_mangle)]
pub extern "C" fn open(device: i32) -> *mut Gpu {
    let choice = u32::try_from(device).map_or(DeviceChoice::Software, DeviceChoice::Cuda);
    let opened = Gpu::open(choice).map(|gpu| Box::into_raw(Box::new(gpu)));
    opened.unwrap_or_else(|error| report(error.into()))
}

/// The stream on which an array must be ready: what `__dlpack__(stream=..)` takes.
///
/// # Safety
/// `open` returned the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stream(gpu: *const Gpu) -> *mut c_void {
    // SAFETY: by the caller's promise.
    unsafe { (*gpu).raw_stream() }
}

/// Replaces the numbers of a tensor by their running sums and returns it. Prints why the tensor does not fit, and returns null;
/// the tensor is released.
///
/// # Safety
/// `open` returned the handle. The tensor is the caller's, who gives it away; it is ready on the handle's stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn running_sums(
    gpu: *const Gpu,
    tensor: *mut DLManagedTensorVersioned,
) -> *mut DLManagedTensorVersioned {
    // SAFETY: by the caller's promise.
    let sums = unsafe { versioned::Dlpack::from_raw(tensor) }
        .map_err(Failure::from)
        .and_then(|tensor| unsafe { sums(&*gpu, tensor) });
    sums.map_or_else(report, versioned::Dlpack::into_raw)
}

/// # Safety
/// Nobody else uses the tensor, which is ready on the handle's stream.
unsafe fn sums(gpu: &Gpu, tensor: versioned::Dlpack) -> Result<versioned::Dlpack, Failure> {
    // SAFETY: by the caller's promise.
    let mut column = unsafe { Column::<f64>::from_dlpack(gpu, tensor) }?;
    scan_in_place(&mut Workspace::new(gpu)?, Sum, Scan::inclusive(), &mut column)?;
    Ok(column.into_dlpack()?)
}

/// Prints an error, and returns null for Python.
fn report<T>(error: Failure) -> *mut T {
    eprintln!("{error}");
    std::ptr::null_mut()
}
