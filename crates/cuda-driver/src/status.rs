//! What a driver function returns, as a number and in words.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

/// What a driver function returns (`CUresult`). It is a number, not an enum, since a driver may return one that is
/// newer than this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[must_use]
pub struct Status(pub c_int);

macro_rules! statuses {
    ($($code:literal $name:ident $description:literal;)+) => {
        #[allow(missing_docs)]
        impl Status {
            $(
                #[doc = $description]
                pub const $name: Self = Self($code);
            )+

            /// Returns its name and meaning; `None` for a number that this crate does not know.
            pub fn text(self) -> Option<StatusText> {
                // Built by the compiler, so that the driver's functions can hand out C strings.
                let (name, description) = match self.0 {
                    $($code => (concat!(stringify!($name), "\0"), concat!($description, "\0")),)+
                    _ => return None,
                };
                let c = |text: &'static str| CStr::from_bytes_with_nul(text.as_bytes()).ok();
                Some(StatusText { name: c(name)?, description: c(description)? })
            }
        }
    };
}

statuses! {
    0 CUDA_SUCCESS "no error";
    1 CUDA_ERROR_INVALID_VALUE "invalid argument";
    2 CUDA_ERROR_OUT_OF_MEMORY "out of memory";
    3 CUDA_ERROR_NOT_INITIALIZED "no driver was loaded, or it was not initialised";
    4 CUDA_ERROR_DEINITIALIZED "driver shutting down";
    34 CUDA_ERROR_STUB_LIBRARY "the CUDA driver is a stub library";
    100 CUDA_ERROR_NO_DEVICE "no CUDA-capable device is detected";
    101 CUDA_ERROR_INVALID_DEVICE "invalid device ordinal";
    200 CUDA_ERROR_INVALID_IMAGE "device kernel image is invalid";
    201 CUDA_ERROR_INVALID_CONTEXT "invalid device context";
    209 CUDA_ERROR_NO_BINARY_FOR_GPU "no kernel image is available for the device";
    215 CUDA_ERROR_UNSUPPORTED_LIMIT "the device has no such limit";
    218 CUDA_ERROR_INVALID_PTX "a PTX JIT compilation failed";
    221 CUDA_ERROR_JIT_COMPILER_NOT_FOUND "PTX JIT compiler library not found";
    222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION "the PTX is newer than the driver";
    301 CUDA_ERROR_FILE_NOT_FOUND "file not found";
    304 CUDA_ERROR_OPERATING_SYSTEM "OS call failed or not supported on this OS";
    400 CUDA_ERROR_INVALID_HANDLE "invalid resource handle";
    401 CUDA_ERROR_ILLEGAL_STATE "not permitted in the resource's current state";
    500 CUDA_ERROR_NOT_FOUND "named symbol not found";
    600 CUDA_ERROR_NOT_READY "device not ready";
    700 CUDA_ERROR_ILLEGAL_ADDRESS "an illegal memory access was encountered";
    701 CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES "too many resources requested for launch";
    702 CUDA_ERROR_LAUNCH_TIMEOUT "the launch timed out and was terminated";
    708 CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE "the primary context is in use";
    709 CUDA_ERROR_CONTEXT_IS_DESTROYED "context is destroyed";
    715 CUDA_ERROR_ILLEGAL_INSTRUCTION "an illegal instruction was encountered";
    716 CUDA_ERROR_MISALIGNED_ADDRESS "misaligned address";
    719 CUDA_ERROR_LAUNCH_FAILED "unspecified launch failure";
    720 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE "too many blocks to run together";
    800 CUDA_ERROR_NOT_PERMITTED "operation not permitted";
    801 CUDA_ERROR_NOT_SUPPORTED "operation not supported";
    802 CUDA_ERROR_SYSTEM_NOT_READY "system not yet initialised";
    803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH "the driver's parts do not match";
    900 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED "not permitted in stream capture";
    901 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED "stream capture failed before";
    905 CUDA_ERROR_STREAM_CAPTURE_ISOLATION "dependency on a stream not captured";
    999 CUDA_ERROR_UNKNOWN "unknown error";
}

/// A [`Status`] in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusText {
    /// The constant's name, as in `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: &'static CStr,
    /// A short sentence.
    pub description: &'static CStr,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => f.write_str(&text.description.to_string_lossy()),
            None => write!(f, "error {}", self.0),
        }
    }
}

// What stands behind a slot that no driver fills. The stubs ignore their arguments, so they serve
// every signature: in the C calling conventions of the platforms it is the caller who cleans up.

pub(crate) extern "C" fn not_initialized() -> Status {
    Status::CUDA_ERROR_NOT_INITIALIZED
}

pub(crate) extern "C" fn not_supported() -> Status {
    Status::CUDA_ERROR_NOT_SUPPORTED
}

/// `cuGetErrorName`, as it works before a driver is loaded.
///
/// # Safety
/// `text` is null or valid for a write.
pub(crate) unsafe extern "C" fn get_error_name(code: c_int, text: *mut *const c_char) -> Status {
    // SAFETY: the caller's promise is the callee's.
    unsafe { write_text(Status(code).text().map(|t| t.name), text) }
}

/// `cuGetErrorString`, as it works before a driver is loaded.
///
/// # Safety
/// `text` is null or valid for a write.
pub(crate) unsafe extern "C" fn get_error_string(code: c_int, text: *mut *const c_char) -> Status {
    // SAFETY: the caller's promise is the callee's.
    unsafe { write_text(Status(code).text().map(|t| t.description), text) }
}

/// # Safety
/// `to` is null or valid for a write.
unsafe fn write_text(text: Option<&'static CStr>, to: *mut *const c_char) -> Status {
    if to.is_null() {
        return Status::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: not null, hence writable by the caller's promise.
    unsafe { to.write(text.map_or(std::ptr::null(), CStr::as_ptr)) };
    if text.is_some() { Status::CUDA_SUCCESS } else { Status::CUDA_ERROR_INVALID_VALUE }
}
