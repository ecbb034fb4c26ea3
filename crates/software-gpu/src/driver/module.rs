//! Modules, functions and their attributes.

use super::device::{MAX_THREADS, SHARED_MEMORY, SHARED_MEMORY_OPT_IN};
use super::{Code, Handles, call_in_context, context, give};
use crate::failure::{self, Operation};
use crate::report::{Kind, Report};
use crate::{modules, scheduler};
use cuda_driver::attribute::function as attribute_of;
use cuda_driver::sys::{CUfunction, CUmodule};
use device_std::host::HostKernel;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

struct Module {
    /// Handle of each function, by name.
    functions: Vec<(String, usize)>,
}

/// A kernel of a loaded module.
pub(super) struct Function {
    pub kernel: &'static HostKernel,
    /// The device of the context that the module was loaded in.
    device: usize,
    /// The most dynamic shared memory that a launch of the function may have.
    pub max_shared: AtomicU32,
}

static MODULES: Handles<Module> = Handles::new();
static FUNCTIONS: Handles<Function> = Handles::new();

/// The function behind a handle, which must be of the current context.
pub(super) fn function(handle: usize) -> Result<std::sync::Arc<Function>, Code> {
    let function = FUNCTIONS.get(handle)?;
    match function.device == context::current()? {
        true => Ok(function),
        false => Err(Code::CUDA_ERROR_INVALID_HANDLE),
    }
}

// SAFETY (everywhere in this module): the driver's interface promises that a caller's pointer is valid for what the
// function reads or writes there. A pointer to a result may be null, which `give` refuses.

pub(super) unsafe extern "C" fn cuModuleLoadData(
    module: *mut CUmodule,
    image: *const c_void,
) -> Code {
    let module = module.cast::<usize>();
    call_in_context(|| {
        if image.is_null() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        failure::check(Operation::ModuleLoad)?;
        // SAFETY: as above; an image that is not PTX text is told from one by its first bytes.
        let text = unsafe { CStr::from_ptr(image.cast()) };
        let text = text.to_str().map_err(|_| Code::CUDA_ERROR_INVALID_IMAGE)?;
        let Some(kernels) = modules::kernels_of(text) else {
            let message = "the module's text declares no kernel (no line `.visible .entry`); \
                           is its PTX built?";
            Report::new(Kind::Launch, message.to_owned()).file();
            return Err(Code::CUDA_ERROR_INVALID_PTX);
        };
        let device = context::current()?;
        let insert = |(name, kernel): (String, &'static HostKernel)| {
            let max_shared = AtomicU32::new(SHARED_MEMORY);
            (name, FUNCTIONS.insert(Function { kernel, device, max_shared }))
        };
        let functions = kernels.into_iter().map(insert).collect();
        // SAFETY: as above.
        unsafe { give(module, MODULES.insert(Module { functions })) }
    })
}

/// The options are for the compiler, which has done its work.
pub(super) unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut CUmodule,
    image: *const c_void,
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> Code {
    // SAFETY: as above.
    unsafe { cuModuleLoadData(module, image) }
}

pub(super) unsafe extern "C" fn cuModuleLoad(module: *mut CUmodule, path: *const c_char) -> Code {
    if path.is_null() {
        return Code::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: as above.
    let path = unsafe { CStr::from_ptr(path) };
    let Ok(mut text) = std::fs::read(path.to_string_lossy().as_ref()) else {
        return Code::CUDA_ERROR_FILE_NOT_FOUND;
    };
    text.push(0);
    // SAFETY: the text ends in a zero.
    unsafe { cuModuleLoadData(module, text.as_ptr().cast()) }
}

pub(super) extern "C" fn cuModuleUnload(module: CUmodule) -> Code {
    let module = module.0.addr();
    call_in_context(|| {
        for (_, function) in &MODULES.remove(module)?.functions {
            FUNCTIONS.remove(*function)?;
        }
        Ok(())
    })
}

pub(super) unsafe extern "C" fn cuModuleGetFunction(
    function: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) -> Code {
    let function = function.cast::<usize>();
    let module = module.0.addr();
    call_in_context(|| {
        if name.is_null() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(name) };
        let module = MODULES.get(module)?;
        let found = module.functions.iter().find(|(known, _)| known.as_bytes() == name.to_bytes());
        let handle = found.ok_or(Code::CUDA_ERROR_NOT_FOUND)?.1;
        // SAFETY: as above.
        unsafe { give(function, handle) }
    })
}

pub(super) unsafe extern "C" fn cuFuncGetAttribute(
    value: *mut c_int,
    attribute: c_int,
    handle: CUfunction,
) -> Code {
    let handle = handle.0.addr();
    call_in_context(|| {
        let function = function(handle)?;
        let is = |a: c_int| attribute == a;
        let found = if is(attribute_of::MAX_THREADS_PER_BLOCK) {
            function.kernel.block
        } else if is(attribute_of::MAX_DYNAMIC_SHARED_SIZE_BYTES) {
            function.max_shared.load(Ordering::Relaxed)
        } else if is(attribute_of::NUM_REGS) {
            32
        } else if is(attribute_of::PTX_VERSION) || is(attribute_of::BINARY_VERSION) {
            90
        } else if (0..attribute_of::END).contains(&attribute) {
            0
        } else {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        };
        // SAFETY: as above.
        unsafe { give(value, found as c_int) }
    })
}

pub(super) extern "C" fn cuFuncSetAttribute(
    handle: CUfunction,
    attribute: c_int,
    value: c_int,
) -> Code {
    let handle = handle.0.addr();
    call_in_context(|| {
        let function = function(handle)?;
        if attribute == attribute_of::PREFERRED_SHARED_MEMORY_CARVEOUT {
            return Ok(());
        }
        let settable = attribute_of::MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = u32::try_from(value).ok().filter(|bytes| *bytes <= SHARED_MEMORY_OPT_IN);
        match bytes {
            Some(bytes) if attribute == settable => {
                function.max_shared.store(bytes, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(Code::CUDA_ERROR_INVALID_VALUE),
        }
    })
}

/// A preference, which a device is free not to follow.
pub(super) extern "C" fn cuFuncSetCacheConfig(handle: usize, _config: c_int) -> Code {
    call_in_context(|| function(handle).map(|_| ()))
}

/// A preference, as above.
pub(super) extern "C" fn cuFuncSetSharedMemConfig(handle: usize, _config: c_int) -> Code {
    call_in_context(|| function(handle).map(|_| ()))
}

pub(super) unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    handle: usize,
    block: c_int,
    shared: usize,
) -> Code {
    call_in_context(|| {
        let function = function(handle)?;
        let block = u32::try_from(block).ok().filter(|b| (1..=MAX_THREADS).contains(b));
        let block = block.ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        let fits = shared <= function.max_shared.load(Ordering::Relaxed) as usize;
        let resident = if fits { scheduler::window(block) } else { 0 };
        // SAFETY: as above.
        unsafe { give(blocks, resident as c_int) }
    })
}

pub(super) unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    handle: usize,
    _shared_of: *const c_void,
    _shared: usize,
    _limit: c_int,
) -> Code {
    call_in_context(|| {
        let size = function(handle)?.kernel.block;
        let blocks = scheduler::workers() as u32 * scheduler::window(size);
        // SAFETY: as above.
        unsafe {
            give(grid, blocks as c_int)?;
            give(block, size as c_int)
        }
    })
}

pub(super) unsafe extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    handle: usize,
    _blocks: c_int,
    _block: c_int,
) -> Code {
    call_in_context(|| {
        let max = function(handle)?.max_shared.load(Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { give(bytes, max as usize) }
    })
}
