//! Defines the driver's symbols: each is a jump through its slot.
//!
//! The host crate `cust` calls the driver's C functions as ordinary external symbols. If a program links the driver the
//! usual way, by `-lcuda`, it does not even start on a machine without an NVIDIA driver. Nor can anything replace the
//! driver. With the feature `trampolines` this crate defines those symbols itself: each a naked function of one
//! instruction that jumps through its slot. A jump leaves registers and stack as the caller made them, so a trampoline
//! needs to know neither the number nor the types of the arguments.
//!
//! It costs one predicted indirect jump a call, about a nanosecond, where a driver call takes
//! hundreds.
#![allow(non_snake_case)]

use std::ffi::c_void;

use crate::functions::driver_functions;
use crate::slots::{self, Slot};
use crate::status;

/// One trampoline, through a slot.
macro_rules! trampoline {
    ($name:ident $slot:path) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!("jmp qword ptr [rip + {slot}]", slot = sym $slot);
            // x16 is the register that the procedure call standard leaves to such veneers.
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(
                "adrp x16, {slot}",
                "ldr x16, [x16, :lo12:{slot}]",
                "br x16",
                slot = sym $slot,
            );
        }
    };
}

/// Trampolines of the functions that Tessera calls itself.
macro_rules! of_typed {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)+) => {
        $(trampoline!($name slots::$name);)+
    };
}

driver_functions!(of_typed);

/// The other symbols that cust 0.3.2 refers to: a slot and a trampoline each.
macro_rules! rest {
    ($($name:ident $(= $before_load:expr)?,)+) => {
        #[allow(non_upper_case_globals)]
        mod rest_slots {
            use super::*;
            $(pub(super) static $name: Slot = slot!($($before_load)?);)+
        }

        /// The symbols with their slots.
        pub(crate) static REST: &[(&str, &Slot)] =
            &[$((stringify!($name), &rest_slots::$name)),+];

        $(trampoline!($name rest_slots::$name);)+
    };
}

macro_rules! slot {
    () => {
        Slot::empty()
    };
    ($before_load:expr) => {
        Slot::new($before_load)
    };
}

// A function here has the symbol's name in libcuda, which for many is that of a later version
// (`_v2`) of the documented one. The two that put errors into words work before a driver is loaded.
rest! {
    cuArray3DCreate_v2,
    cuArray3DGetDescriptor_v2,
    cuArrayDestroy,
    cuCtxCreate_v2,
    cuCtxDestroy_v2,
    cuCtxGetApiVersion,
    cuCtxGetCacheConfig,
    cuCtxGetFlags,
    cuCtxGetLimit,
    cuCtxGetSharedMemConfig,
    cuCtxGetStreamPriorityRange,
    cuCtxPopCurrent_v2,
    cuCtxPushCurrent_v2,
    cuCtxSetCacheConfig,
    cuCtxSetLimit,
    cuCtxSetSharedMemConfig,
    cuDestroyExternalMemory,
    cuDeviceGetMemPool,
    cuDeviceGetUuid,
    cuDeviceGetUuid_v2,
    cuDevicePrimaryCtxReset_v2,
    cuDevicePrimaryCtxSetFlags_v2,
    cuExternalMemoryGetMappedBuffer,
    cuFuncSetCacheConfig,
    cuFuncSetSharedMemConfig,
    cuGetErrorName = status::get_error_name as *const c_void,
    cuGetErrorString = status::get_error_string as *const c_void,
    cuGraphAddKernelNode,
    cuGraphCreate,
    cuGraphDebugDotPrint,
    cuGraphGetEdges,
    cuGraphGetNodes,
    cuGraphKernelNodeGetParams,
    cuGraphNodeGetType,
    cuImportExternalMemory,
    cuLaunchCooperativeKernel,
    cuLaunchHostFunc,
    cuLinkAddData_v2,
    cuLinkComplete,
    cuLinkCreate_v2,
    cuLinkDestroy,
    cuMemAdvise,
    cuMemAllocHost_v2,
    cuMemAllocManaged,
    cuMemHostRegister_v2,
    cuMemHostUnregister,
    cuMemPoolGetAttribute,
    cuMemPoolTrimTo,
    cuMemPrefetchAsync,
    cuMemcpy,
    cuMemcpy2D_v2,
    cuMemcpyAsync,
    cuMemcpyAtoH_v2,
    cuMemcpyHtoA_v2,
    cuMemsetD16Async,
    cuMemsetD16_v2,
    cuMemsetD32Async,
    cuMemsetD32_v2,
    cuMemsetD8_v2,
    cuModuleGetGlobal_v2,
    cuModuleLoad,
    cuModuleLoadDataEx,
    cuOccupancyAvailableDynamicSMemPerBlock,
    cuOccupancyMaxActiveBlocksPerMultiprocessor,
    cuOccupancyMaxPotentialBlockSize,
    cuStreamCreateWithPriority,
    cuStreamGetPriority,
    cuSurfObjectCreate,
    cuSurfObjectDestroy,
    cuSurfObjectGetResourceDesc,
    cuTexObjectCreate,
    cuTexObjectDestroy,
    cuTexObjectGetResourceDesc,
}
