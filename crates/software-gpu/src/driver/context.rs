//! Contexts: each device has its primary one, and each host thread has a stack of current ones.

use super::{Code, call, call_in_context, device, give};
use crate::settings::{self, MAX_DEVICES};
use crate::{memory, order};
use cuda_driver::sys::CUcontext;
use std::cell::RefCell;
use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The handle of the first device's primary context; those of the others follow.
const PRIMARY: usize = 0xc00;

/// The greatest priority of a stream: lower numbers are more urgent.
pub(super) const GREATEST_PRIORITY: c_int = -5;

/// The primary context of a device.
struct Primary {
    /// How often it is retained. Its memory, modules and streams outlive the last release: on a real
    /// device they would be destroyed.
    retained: AtomicUsize,
    flags: AtomicU32,
}

static PRIMARIES: [Primary; MAX_DEVICES] =
    [const { Primary { retained: AtomicUsize::new(0), flags: AtomicU32::new(0) } }; MAX_DEVICES];

thread_local! {
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The device of the thread's current context, or the error of a call on a thread that has none, or whose device
/// is lost.
pub(super) fn current() -> Result<usize, Code> {
    device::initialised()?;
    let context = STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0));
    let number = known(context)?;
    device::answers(number)?;
    Ok(number)
}

/// A device's context.
pub(super) fn primary(device: usize) -> usize {
    PRIMARY + device
}

/// The device of a context.
fn known(context: usize) -> Result<usize, Code> {
    device::initialised()?;
    let number = context.checked_sub(PRIMARY).filter(|number| *number < settings::devices());
    number
        .filter(|&number| PRIMARIES[number].retained.load(Ordering::Acquire) > 0)
        .ok_or(Code::CUDA_ERROR_INVALID_CONTEXT)
}

// SAFETY (everywhere in this module): the driver's interface promises that a pointer which a
// caller passes is valid for what the function writes, or null, which `give` refuses.

pub(super) unsafe extern "C" fn cuDevicePrimaryCtxRetain(
    context: *mut CUcontext,
    number: c_int,
) -> Code {
    let context = context.cast::<usize>();
    call(|| {
        let number = device::known(number)?;
        // SAFETY: as above.
        unsafe { give(context, primary(number))? };
        PRIMARIES[number].retained.fetch_add(1, Ordering::AcqRel);
        Ok(())
    })
}

pub(super) extern "C" fn cuDevicePrimaryCtxRelease_v2(number: c_int) -> Code {
    call(|| {
        let number = device::known(number)?;
        let less = |count: usize| count.checked_sub(1);
        let released =
            PRIMARIES[number].retained.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        released.map(|_| ()).map_err(|_| Code::CUDA_ERROR_INVALID_CONTEXT)
    })
}

/// Other handles to the primary context would lose everything, so this is refused.
pub(super) extern "C" fn cuDevicePrimaryCtxReset_v2(number: c_int) -> Code {
    call(|| device::known(number).and(Err(Code::CUDA_ERROR_NOT_SUPPORTED)))
}

pub(super) extern "C" fn cuDevicePrimaryCtxSetFlags_v2(number: c_int, flags: c_uint) -> Code {
    call(|| {
        let number = device::known(number)?;
        PRIMARIES[number].flags.store(flags, Ordering::Relaxed);
        Ok(())
    })
}

pub(super) unsafe extern "C" fn cuCtxGetCurrent(context: *mut CUcontext) -> Code {
    let context = context.cast::<usize>();
    call(|| {
        device::initialised()?;
        let top = STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0));
        // SAFETY: as above.
        unsafe { give(context, top) }
    })
}

pub(super) extern "C" fn cuCtxSetCurrent(context: CUcontext) -> Code {
    let context = context.0.addr();
    call(|| {
        if context != 0 {
            known(context)?;
        }
        STACK.with_borrow_mut(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        Ok(())
    })
}

pub(super) extern "C" fn cuCtxPushCurrent_v2(context: usize) -> Code {
    call(|| {
        known(context)?;
        STACK.with_borrow_mut(|stack| stack.push(context));
        Ok(())
    })
}

pub(super) unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut usize) -> Code {
    call(|| {
        device::initialised()?;
        let top = STACK.with_borrow_mut(Vec::pop).ok_or(Code::CUDA_ERROR_INVALID_CONTEXT)?;
        if context.is_null() {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { give(context, top) }
    })
}

pub(super) unsafe extern "C" fn cuCtxGetDevice(number: *mut c_int) -> Code {
    call_in_context(|| {
        let current = current()? as c_int;
        // SAFETY: as above.
        unsafe { give(number, current) }
    })
}

pub(super) unsafe extern "C" fn cuCtxGetFlags(flags: *mut c_uint) -> Code {
    call_in_context(|| {
        let found = PRIMARIES[current()?].flags.load(Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { give(flags, found) }
    })
}

pub(super) unsafe extern "C" fn cuCtxGetApiVersion(context: usize, version: *mut c_uint) -> Code {
    call(|| {
        known(context)?;
        // SAFETY: as above.
        unsafe { give(version, device::VERSION as c_uint) }
    })
}

/// Everything is done already; only the check of the memory is left.
pub(super) extern "C" fn cuCtxSynchronize() -> Code {
    call_in_context(|| {
        order::host_waited_for_all();
        Ok(memory::check()?)
    })
}

pub(super) unsafe extern "C" fn cuCtxGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> Code {
    call_in_context(|| {
        if !least.is_null() {
            // SAFETY: as above.
            unsafe { give(least, 0)? };
        }
        if !greatest.is_null() {
            // SAFETY: as above.
            unsafe { give(greatest, GREATEST_PRIORITY)? };
        }
        Ok(())
    })
}

pub(super) unsafe extern "C" fn cuCtxGetCacheConfig(config: *mut c_int) -> Code {
    // SAFETY: as above.
    call_in_context(|| unsafe { give(config, 0) })
}

/// A preference, which a device is free not to follow.
pub(super) extern "C" fn cuCtxSetCacheConfig(_config: c_int) -> Code {
    call_in_context(|| Ok(()))
}

pub(super) unsafe extern "C" fn cuCtxGetSharedMemConfig(config: *mut c_int) -> Code {
    // SAFETY: as above.
    call_in_context(|| unsafe { give(config, 1) })
}

/// A preference, as above.
pub(super) extern "C" fn cuCtxSetSharedMemConfig(_config: c_int) -> Code {
    call_in_context(|| Ok(()))
}

pub(super) unsafe extern "C" fn cuCtxGetLimit(_value: *mut usize, _limit: c_int) -> Code {
    call_in_context(|| Err(Code::CUDA_ERROR_UNSUPPORTED_LIMIT))
}

pub(super) extern "C" fn cuCtxSetLimit(_limit: c_int, _value: usize) -> Code {
    call_in_context(|| Err(Code::CUDA_ERROR_UNSUPPORTED_LIMIT))
}
