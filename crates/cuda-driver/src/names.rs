//! Driver errors in words, and the functions behind a slot that no driver fills.

use std::ffi::{CStr, c_char, c_int, c_void};

/// A driver error code in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorText {
    /// The constant's name, as in `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: &'static CStr,
    /// A short sentence.
    pub description: &'static CStr,
}

const INVALID_VALUE: c_int = 1;
const NOT_INITIALIZED: c_int = 3;
const NOT_SUPPORTED: c_int = 801;

/// The name and meaning of a driver error code that the project meets; `None` for others.
pub fn error_text(code: u32) -> Option<ErrorText> {
    let (name, description) = match code {
        0 => (c"CUDA_SUCCESS", c"no error"),
        1 => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        2 => (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
        3 => (c"CUDA_ERROR_NOT_INITIALIZED", c"no driver was loaded, or it was not initialised"),
        4 => (c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down"),
        34 => (c"CUDA_ERROR_STUB_LIBRARY", c"the CUDA driver is a stub library"),
        100 => (c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
        101 => (c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
        200 => (c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid"),
        201 => (c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
        209 => (c"CUDA_ERROR_NO_BINARY_FOR_GPU", c"no kernel image is available for the device"),
        218 => (c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
        221 => (c"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", c"PTX JIT compiler library not found"),
        222 => (c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", c"the PTX is newer than the driver"),
        301 => (c"CUDA_ERROR_FILE_NOT_FOUND", c"file not found"),
        304 => (c"CUDA_ERROR_OPERATING_SYSTEM", c"OS call failed or not supported on this OS"),
        400 => (c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
        401 => (c"CUDA_ERROR_ILLEGAL_STATE", c"not permitted in the resource's current state"),
        500 => (c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
        600 => (c"CUDA_ERROR_NOT_READY", c"device not ready"),
        700 => (c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
        701 => (c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", c"too many resources requested for launch"),
        702 => (c"CUDA_ERROR_LAUNCH_TIMEOUT", c"the launch timed out and was terminated"),
        708 => (c"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", c"the primary context is in use"),
        709 => (c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"context is destroyed"),
        715 => (c"CUDA_ERROR_ILLEGAL_INSTRUCTION", c"an illegal instruction was encountered"),
        716 => (c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
        719 => (c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
        720 => (c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", c"too many blocks to run together"),
        800 => (c"CUDA_ERROR_NOT_PERMITTED", c"operation not permitted"),
        801 => (c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
        802 => (c"CUDA_ERROR_SYSTEM_NOT_READY", c"system not yet initialised"),
        803 => (c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", c"the driver's parts do not match"),
        900 => (c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", c"not permitted in stream capture"),
        901 => (c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", c"stream capture failed before"),
        905 => (c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", c"dependency on a stream not captured"),
        999 => (c"CUDA_ERROR_UNKNOWN", c"unknown error"),
        _ => return None,
    };
    Some(ErrorText { name, description })
}

/// The function that serves `symbol` when the loaded driver does not have it.
pub(crate) fn fallback(symbol: &str) -> *const c_void {
    match symbol {
        "cuGetErrorName" => get_error_name as *const c_void,
        "cuGetErrorString" => get_error_string as *const c_void,
        _ => not_supported as *const c_void,
    }
}

// The stubs ignore their arguments, so they serve every signature: in the C calling conventions
// of both architectures it is the caller who cleans up.

pub(crate) extern "C" fn not_initialized() -> c_int {
    NOT_INITIALIZED
}

extern "C" fn not_supported() -> c_int {
    NOT_SUPPORTED
}

pub(crate) unsafe extern "C" fn get_error_name(code: u32, text: *mut *const c_char) -> c_int {
    // SAFETY: passed on to the caller.
    unsafe { write_text(error_text(code).map(|t| t.name), text) }
}

pub(crate) unsafe extern "C" fn get_error_string(code: u32, text: *mut *const c_char) -> c_int {
    // SAFETY: passed on to the caller.
    unsafe { write_text(error_text(code).map(|t| t.description), text) }
}

/// # Safety
/// `to` must be null or writable.
unsafe fn write_text(text: Option<&'static CStr>, to: *mut *const c_char) -> c_int {
    if to.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, hence writable by the caller's promise.
    unsafe { to.write(text.map_or(std::ptr::null(), CStr::as_ptr)) };
    if text.is_some() { 0 } else { INVALID_VALUE }
}
