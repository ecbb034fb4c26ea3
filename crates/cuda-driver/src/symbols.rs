//! The driver's symbols: one slot and one trampoline each.

use crate::names;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Whether this platform has trampolines.
pub(crate) const SUPPORTED: bool =
    cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));

/// The pointer that a trampoline jumps through.
#[repr(transparent)]
pub(crate) struct Slot(AtomicPtr<c_void>);

impl Slot {
    const fn new(function: *const c_void) -> Self {
        Self(AtomicPtr::new(function.cast_mut()))
    }

    /// Makes `function` serve the symbol from now on.
    pub(crate) fn set(&self, function: *const c_void) {
        self.0.store(function.cast_mut(), Ordering::Release);
    }
}

/// From the list of symbols: the slots, the table of them, and the trampolines.
macro_rules! driver_symbols {
    ($($name:ident $(= $before_load:expr)?,)*) => {
        #[allow(non_upper_case_globals)]
        mod slots {
            use super::*;
            $(pub(super) static $name: Slot = Slot::new(first!($($before_load,)? names::not_initialized as *const c_void));)*
        }

        /// How many symbols there are.
        pub(crate) const COUNT: usize = [$(stringify!($name)),*].len();

        /// Every symbol with its slot.
        pub(crate) static TABLE: [(&str, &Slot); COUNT] =
            [$((stringify!($name), &slots::$name)),*];

        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        #[allow(non_snake_case)]
        mod trampolines {
            $(
                #[unsafe(naked)]
                #[unsafe(no_mangle)]
                extern "C" fn $name() {
                    std::arch::naked_asm!(
                        "jmp qword ptr [rip + {slot}]",
                        slot = sym super::slots::$name,
                    )
                }
            )*
        }

        // x16 is the register that the procedure call standard leaves to such veneers.
        #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
        #[allow(non_snake_case)]
        mod trampolines {
            $(
                #[unsafe(naked)]
                #[unsafe(no_mangle)]
                extern "C" fn $name() {
                    std::arch::naked_asm!(
                        "adrp x16, {slot}",
                        "ldr x16, [x16, :lo12:{slot}]",
                        "br x16",
                        slot = sym super::slots::$name,
                    )
                }
            )*
        }
    };
}

macro_rules! first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

// What cust 0.3.2 refers to, and what gpu-core calls beyond it. A function here has the symbol's
// name in libcuda, which for many is that of a later version (`_v2`) of the documented one.
driver_symbols! {
    cuArray3DCreate_v2,
    cuArray3DGetDescriptor_v2,
    cuArrayDestroy,
    cuCtxCreate_v2,
    cuCtxDestroy_v2,
    cuCtxGetApiVersion,
    cuCtxGetCacheConfig,
    cuCtxGetCurrent,
    cuCtxGetDevice,
    cuCtxGetFlags,
    cuCtxGetLimit,
    cuCtxGetSharedMemConfig,
    cuCtxGetStreamPriorityRange,
    cuCtxPopCurrent_v2,
    cuCtxPushCurrent_v2,
    cuCtxSetCacheConfig,
    cuCtxSetCurrent,
    cuCtxSetLimit,
    cuCtxSetSharedMemConfig,
    cuCtxSynchronize,
    cuDestroyExternalMemory,
    cuDeviceGet,
    cuDeviceGetAttribute,
    cuDeviceGetCount,
    cuDeviceGetDefaultMemPool,
    cuDeviceGetMemPool,
    cuDeviceGetName,
    cuDeviceGetUuid,
    cuDeviceGetUuid_v2,
    cuDevicePrimaryCtxRelease_v2,
    cuDevicePrimaryCtxReset_v2,
    cuDevicePrimaryCtxRetain,
    cuDevicePrimaryCtxSetFlags_v2,
    cuDeviceTotalMem_v2,
    cuDriverGetVersion,
    cuEventCreate,
    cuEventDestroy_v2,
    cuEventElapsedTime,
    cuEventQuery,
    cuEventRecord,
    cuEventSynchronize,
    cuExternalMemoryGetMappedBuffer,
    cuFuncGetAttribute,
    cuFuncSetAttribute,
    cuFuncSetCacheConfig,
    cuFuncSetSharedMemConfig,
    cuGetErrorName = names::get_error_name as *const c_void,
    cuGetErrorString = names::get_error_string as *const c_void,
    cuGraphAddKernelNode,
    cuGraphCreate,
    cuGraphDebugDotPrint,
    cuGraphDestroy,
    cuGraphExecDestroy,
    cuGraphGetEdges,
    cuGraphGetNodes,
    cuGraphInstantiateWithFlags,
    cuGraphKernelNodeGetParams,
    cuGraphLaunch,
    cuGraphNodeGetType,
    cuImportExternalMemory,
    cuInit,
    cuLaunchCooperativeKernel,
    cuLaunchHostFunc,
    cuLaunchKernel,
    cuLinkAddData_v2,
    cuLinkComplete,
    cuLinkCreate_v2,
    cuLinkDestroy,
    cuMemAdvise,
    cuMemAllocAsync,
    cuMemAllocHost_v2,
    cuMemAllocManaged,
    cuMemAlloc_v2,
    cuMemFreeAsync,
    cuMemFreeHost,
    cuMemFree_v2,
    cuMemGetInfo_v2,
    cuMemHostAlloc,
    cuMemHostRegister_v2,
    cuMemHostUnregister,
    cuMemPoolGetAttribute,
    cuMemPoolSetAttribute,
    cuMemPoolTrimTo,
    cuMemPrefetchAsync,
    cuMemcpy,
    cuMemcpy2D_v2,
    cuMemcpyAsync,
    cuMemcpyAtoH_v2,
    cuMemcpyDtoDAsync_v2,
    cuMemcpyDtoD_v2,
    cuMemcpyDtoHAsync_v2,
    cuMemcpyDtoH_v2,
    cuMemcpyHtoA_v2,
    cuMemcpyHtoDAsync_v2,
    cuMemcpyHtoD_v2,
    cuMemsetD16Async,
    cuMemsetD16_v2,
    cuMemsetD32Async,
    cuMemsetD32_v2,
    cuMemsetD8Async,
    cuMemsetD8_v2,
    cuModuleGetFunction,
    cuModuleGetGlobal_v2,
    cuModuleLoad,
    cuModuleLoadData,
    cuModuleLoadDataEx,
    cuModuleUnload,
    cuOccupancyAvailableDynamicSMemPerBlock,
    cuOccupancyMaxActiveBlocksPerMultiprocessor,
    cuOccupancyMaxPotentialBlockSize,
    cuPointerGetAttribute,
    cuStreamBeginCapture_v2,
    cuStreamCreate,
    cuStreamCreateWithPriority,
    cuStreamDestroy_v2,
    cuStreamEndCapture,
    cuStreamGetFlags,
    cuStreamGetPriority,
    cuStreamIsCapturing,
    cuStreamQuery,
    cuStreamSynchronize,
    cuStreamWaitEvent,
    cuSurfObjectCreate,
    cuSurfObjectDestroy,
    cuSurfObjectGetResourceDesc,
    cuTexObjectCreate,
    cuTexObjectDestroy,
    cuTexObjectGetResourceDesc,
}
