//! The driver's functions that Tessera calls, under the driver's own names and with its types.
//!
//! Each calls through a slot that [`load_cuda`](crate::load_cuda) or [`load_with`](crate::load_with) filled. Before
//! that it returns [`CUDA_ERROR_NOT_INITIALIZED`](Status::CUDA_ERROR_NOT_INITIALIZED), and
//! [`CUDA_ERROR_NOT_SUPPORTED`](Status::CUDA_ERROR_NOT_SUPPORTED) where the loaded driver lacks it. NVIDIA's *CUDA
//! Driver API* reference says what each function does and what it asks of a caller: pointers valid for what the
//! function reads or writes there, and handles alive. Calling them is as safe as the reference says.
#![allow(non_snake_case, non_camel_case_types, clippy::too_many_arguments)]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use crate::functions::driver_functions;
use crate::{Status, signatures, slots};

/// An address in device memory.
pub type CUdeviceptr = u64;
/// A device, by number.
pub type CUdevice = c_int;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub *mut c_void);

        impl $name {
            /// No handle.
            pub const NULL: Self = Self(std::ptr::null_mut());
        }

        // SAFETY: the driver's handles may be used from any thread.
        unsafe impl Send for $name {}
        // SAFETY: the driver does its own locking.
        unsafe impl Sync for $name {}
    )+};
}

handles! {
    /// A context: what a process has on a device.
    CUcontext;
    /// A stream: work that runs in order. Null is the legacy default stream.
    CUstream;
    /// A place in a stream's order of work.
    CUevent;
    /// A loaded module.
    CUmodule;
    /// A kernel of a loaded module, valid as long as the module is.
    CUfunction;
    /// A memory pool.
    CUmemoryPool;
    /// A graph as it was recorded.
    CUgraph;
    /// A graph that can be launched.
    CUgraphExec;
}

/// `CU_STREAM_NON_BLOCKING`: the stream and the legacy default stream do not wait for each other.
pub const CU_STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub const CU_EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, a `u64`.
pub const CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: c_int = 4;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, a `c_uint`.
pub const CU_POINTER_ATTRIBUTE_MEMORY_TYPE: c_int = 2;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
pub const CU_STREAM_CAPTURE_MODE_RELAXED: c_int = 2;
/// `CU_STREAM_CAPTURE_STATUS_NONE`.
pub const CU_STREAM_CAPTURE_STATUS_NONE: c_int = 0;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
pub const CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH: c_ulonglong = 1;

macro_rules! declare {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)+) => {$(
        #[doc = concat!("`", stringify!($name), "` of the driver.")]
        ///
        /// # Safety
        /// The driver's reference says what the arguments must be.
        pub unsafe fn $name($($argument: $type),*) -> Status {
            let function = slots::$name.get();
            type Function = signatures::$name;
            // SAFETY: the slot holds a function of this signature, or a stub that ignores its
            // arguments.
            let function = unsafe { std::mem::transmute::<*const c_void, Function>(function) };
            // SAFETY: the caller's promise.
            unsafe { function($($argument),*) }
        }
    )+

        pub(crate) mod all_signatures {
            use super::*;
            $(
                #[doc = concat!("The type of `", stringify!($name), "`.")]
                pub type $name = unsafe extern "C" fn($($type),*) -> Status;
            )+
        }
    };
}

driver_functions!(declare);
