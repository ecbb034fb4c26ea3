//! The driver's functions, under its names and with its signatures.
//!
//! Enumerations come in as plain integers, because a caller may send a number that the Rust
//! enumeration does not have.
#![allow(non_snake_case)]

mod context;
mod device;
mod graph;
mod launch;
mod memory;
mod module;
mod recording;
mod stream;

use crate::memory::Refused;
pub(crate) use cuda_driver::Status as Code;
use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

pub(crate) use table::lookup;

type Outcome = Result<(), Code>;

impl From<Refused> for Code {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::OutOfMemory => Code::CUDA_ERROR_OUT_OF_MEMORY,
            Refused::Invalid => Code::CUDA_ERROR_INVALID_VALUE,
            Refused::Damaged => Code::CUDA_ERROR_ILLEGAL_ADDRESS,
        }
    }
}

/// Runs the inside of a driver function; nothing unwinds into its caller.
fn call(inside: impl FnOnce() -> Outcome) -> Code {
    match catch_unwind(AssertUnwindSafe(inside)) {
        Ok(Ok(())) => Code::CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => Code::CUDA_ERROR_UNKNOWN,
    }
}

/// The same for a function that needs a current context.
fn call_in_context(inside: impl FnOnce() -> Outcome) -> Code {
    call(|| {
        context::current()?;
        inside()
    })
}

/// Writes a result through a caller's pointer.
///
/// # Safety
/// `to` is null or valid for a write.
unsafe fn give<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: not null, so valid by the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

/// The objects behind the program's opaque handles. A handle is a number that is never used again, so a stale one is
/// found.
struct Handles<T>(OnceLock<RwLock<HashMap<usize, Arc<T>>>>);

impl<T> Handles<T> {
    const fn new() -> Self {
        Self(OnceLock::new())
    }

    fn map(&self) -> &RwLock<HashMap<usize, Arc<T>>> {
        self.0.get_or_init(RwLock::default)
    }

    fn insert(&self, value: T) -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(0x1000);
        let handle = NEXT.fetch_add(16, Ordering::Relaxed);
        let mut map = self.map().write().unwrap_or_else(PoisonError::into_inner);
        map.insert(handle, Arc::new(value));
        handle
    }

    fn get(&self, handle: usize) -> Result<Arc<T>, Code> {
        let map = self.map().read().unwrap_or_else(PoisonError::into_inner);
        map.get(&handle).cloned().ok_or(Code::CUDA_ERROR_INVALID_HANDLE)
    }

    fn remove(&self, handle: usize) -> Result<Arc<T>, Code> {
        let mut map = self.map().write().unwrap_or_else(PoisonError::into_inner);
        map.remove(&handle).ok_or(Code::CUDA_ERROR_INVALID_HANDLE)
    }
}

mod table {
    use super::*;
    use cuda_driver::signatures;

    macro_rules! functions {
        (
            signed { $($module:ident: $($name:ident)+;)+ }
            others { $($other_module:ident: $($other:ident)+;)+ }
        ) => {
            /// The function that serves a symbol.
            pub(crate) fn lookup(name: &str) -> Option<*const c_void> {
                match name {
                    $($(stringify!($name) => {
                        let function: signatures::$name = $module::$name;
                        Some(function as *const c_void)
                    })+)+
                    $($(stringify!($other) => Some($other_module::$other as *const c_void),)+)+
                    _ => None,
                }
            }
        };
    }

    // The compiler checks those that cuda-driver declares, and calls through a pointer of its own type.
    functions! {
        signed {
            device:
                cuInit cuDriverGetVersion cuDeviceGetCount cuDeviceGet cuDeviceGetName
                cuDeviceTotalMem_v2 cuDeviceGetAttribute;
            context:
                cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuCtxGetCurrent
                cuCtxSetCurrent cuCtxGetDevice cuCtxSynchronize;
            memory:
                cuMemGetInfo_v2 cuMemAlloc_v2 cuMemAllocAsync cuMemFree_v2 cuMemFreeAsync
                cuMemHostAlloc cuMemFreeHost cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoH_v2
                cuMemcpyDtoHAsync_v2 cuMemcpyDtoD_v2 cuMemcpyDtoDAsync_v2 cuMemsetD8Async
                cuDeviceGetDefaultMemPool cuMemPoolSetAttribute cuPointerGetAttribute;
            module:
                cuModuleLoadData cuModuleUnload cuModuleGetFunction cuFuncGetAttribute
                cuFuncSetAttribute;
            stream:
                cuStreamCreate cuStreamDestroy_v2 cuStreamSynchronize cuStreamQuery
                cuStreamWaitEvent cuStreamGetCtx cuStreamGetFlags cuStreamIsCapturing cuEventCreate
                cuEventDestroy_v2 cuEventRecord cuEventQuery cuEventSynchronize cuEventElapsedTime;
            graph:
                cuStreamBeginCapture_v2 cuStreamEndCapture cuGraphInstantiateWithFlags cuGraphLaunch
                cuGraphExecDestroy cuGraphDestroy;
            launch:
                cuLaunchKernel;
        }
        others {
            device:
                cuGetErrorName cuGetErrorString cuDeviceGetUuid cuDeviceGetUuid_v2;
            context:
                cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxSetFlags_v2 cuCtxPushCurrent_v2
                cuCtxPopCurrent_v2 cuCtxGetFlags cuCtxGetApiVersion cuCtxGetStreamPriorityRange
                cuCtxGetCacheConfig cuCtxSetCacheConfig cuCtxGetSharedMemConfig
                cuCtxSetSharedMemConfig cuCtxGetLimit cuCtxSetLimit;
            memory:
                cuMemAllocHost_v2 cuMemcpy cuMemcpyAsync cuMemsetD8_v2 cuMemsetD16_v2 cuMemsetD32_v2
                cuMemsetD16Async cuMemsetD32Async cuDeviceGetMemPool cuMemPoolGetAttribute
                cuMemPoolTrimTo;
            module:
                cuModuleLoadDataEx cuModuleLoad cuFuncSetCacheConfig cuFuncSetSharedMemConfig
                cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize
                cuOccupancyAvailableDynamicSMemPerBlock;
            stream:
                cuStreamCreateWithPriority cuStreamGetPriority;
            launch:
                cuLaunchCooperativeKernel cuLaunchHostFunc;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_function_that_the_project_calls_is_there() {
        for symbol in cuda_driver::symbols() {
            assert!(super::lookup(symbol).is_some(), "{symbol}");
        }
    }
}
