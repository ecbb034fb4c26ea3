//! Allocation, copies, fills, and the memory pool.
//!
//! A call on a stream does its work at once, or records it for a graph. Calls without a stream also synchronise, and so
//! check the memory.

use super::recording::{free_now, in_order};
use super::{Code, Outcome, call, call_in_context, context, device, give, stream};
use crate::copies;
use crate::failure::{self, Operation};
use crate::memory::{self, Used};
use crate::order::{self, Access};
use cuda_driver::sys::{CUmemoryPool, CUstream};
use std::ffi::{c_int, c_uint, c_void};

/// The handle of the first device's memory pool; those of the others follow.
const POOL: usize = 0xd00;
/// The legacy default stream, on which what names no stream runs.
const LEGACY: usize = 0;

// SAFETY (everywhere in this module): the driver's interface promises that a caller's host pointer is valid for what
// the function reads or writes there. A pointer to a result may be null, which `give` refuses. Device ranges are
// checked to be live memory.

pub(super) unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    call_in_context(|| {
        let (unused, in_all) = memory::free_and_total(context::current()?);
        // SAFETY: as above.
        unsafe {
            give(free, unused as usize)?;
            give(total, in_all as usize)
        }
    })
}

pub(super) unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, size: usize) -> Code {
    call_in_context(|| {
        failure::check(Operation::Allocation)?;
        // SAFETY: as above.
        unsafe { give(address, memory::allocate(size, context::current()?)?) }
    })
}

pub(super) unsafe extern "C" fn cuMemAllocAsync(
    address: *mut u64,
    size: usize,
    stream: CUstream,
) -> Code {
    let stream = stream.0.addr();
    // SAFETY: as above.
    call_in_context(|| unsafe { give(address, stream::allocate(stream, size)?) })
}

pub(super) extern "C" fn cuMemFree_v2(address: u64) -> Code {
    call_in_context(|| {
        if address == 0 {
            return Ok(());
        }
        // This waits for the device's work, but not where the memory is from the pool.
        if memory::is_pooled(address) {
            return free_now(LEGACY, address);
        }
        order::host_waited_for_all();
        Ok(memory::free(address)?)
    })
}

pub(super) extern "C" fn cuMemFreeAsync(address: u64, stream: CUstream) -> Code {
    let stream = stream.0.addr();
    call_in_context(|| stream::free(stream, address))
}

pub(super) unsafe extern "C" fn cuMemAllocHost_v2(memory: *mut *mut c_void, size: usize) -> Code {
    // SAFETY: the same function.
    unsafe { cuMemHostAlloc(memory, size, 0) }
}

pub(super) unsafe extern "C" fn cuMemHostAlloc(
    memory: *mut *mut c_void,
    size: usize,
    _flags: c_uint,
) -> Code {
    call_in_context(|| {
        let address = crate::memory::allocate_host(size)?;
        // SAFETY: as above.
        unsafe { give(memory, address as *mut c_void) }
    })
}

pub(super) extern "C" fn cuMemFreeHost(address: *mut c_void) -> Code {
    let address = address as u64;
    call_in_context(|| Ok(memory::free_host(address)?))
}

/// `CU_MEMORYTYPE_HOST`, which page-locked memory is.
const HOST_MEMORY: c_uint = 1;

/// `CU_MEMORYTYPE_DEVICE`.
const DEVICE_MEMORY: c_uint = 2;

/// Copies `len` bytes; the ranges may overlap.
///
/// # Safety
/// Both ranges are valid.
unsafe fn copy(to: u64, from: u64, len: usize) {
    if len > 0 {
        // SAFETY: passed on to the caller.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, len) };
    }
}

/// # Safety
/// The host's range is valid.
unsafe fn to_device(to: u64, from: u64, len: usize, stream: usize) -> Outcome {
    let what = "a copy to the device";
    copies::count(0);
    memory::check_range(to, len, what)?;
    in_order(&Used::new([(to, len, Access::Write)]), stream, what)?;
    // SAFETY: checked here, and by the caller.
    unsafe { copy(to, from, len) };
    Ok(())
}

/// # Safety
/// The host's range is valid.
unsafe fn to_host(to: u64, from: u64, len: usize, stream: usize) -> Outcome {
    let what = "a copy from the device";
    copies::count(len);
    memory::check_range(from, len, what)?;
    in_order(&Used::new([(from, len, Access::Read)]), stream, what)?;
    // SAFETY: checked here, and by the caller.
    unsafe { copy(to, from, len) };
    Ok(())
}

fn on_device(to: u64, from: u64, len: usize, stream: usize) -> Outcome {
    let used = Used::new([(from, len, Access::Read), (to, len, Access::Write)]);
    memory::check_range(to, len, "a copy on the device, to the range")?;
    memory::check_range(from, len, "a copy on the device, from the range")?;
    in_order(&used, stream, "a copy on the device")?;
    // SAFETY: checked here.
    unsafe { copy(to, from, len) };
    Ok(())
}

/// # Safety
/// Whichever range is not device memory is valid host memory.
unsafe fn anywhere(to: u64, from: u64, len: usize, stream: usize) -> Outcome {
    let used = Used::new([(from, len, Access::Read), (to, len, Access::Write)]);
    if !(memory::is_device(to) && memory::is_device(from)) {
        copies::count(if memory::is_device(to) { 0 } else { len });
    }
    for (address, what) in [(to, "a copy, to the range"), (from, "a copy, from the range")] {
        if memory::is_device(address) {
            memory::check_range(address, len, what)?;
        }
    }
    in_order(&used, stream, "a copy")?;
    // SAFETY: checked here, or by the caller.
    unsafe { copy(to, from, len) };
    Ok(())
}

pub(super) unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, len: usize) -> Code {
    let from = from as u64;
    call_in_context(|| {
        failure::check(Operation::Copy)?;
        memory::check()?;
        // SAFETY: as above.
        unsafe { to_device(to, from, len, LEGACY) }?;
        order::host_waited_for(LEGACY);
        Ok(())
    })
}

pub(super) unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    len: usize,
    stream: CUstream,
) -> Code {
    let from = from as u64;
    let stream = stream.0.addr();
    call_in_context(|| {
        failure::check(Operation::Copy)?;
        stream::cannot_be_captured(stream)?;
        // SAFETY: as above.
        unsafe { to_device(to, from, len, stream) }
    })
}

pub(super) unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, len: usize) -> Code {
    let to = to as u64;
    call_in_context(|| {
        failure::check(Operation::Copy)?;
        memory::check()?;
        // SAFETY: as above.
        unsafe { to_host(to, from, len, LEGACY) }?;
        order::host_waited_for(LEGACY);
        Ok(())
    })
}

pub(super) unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    len: usize,
    stream: CUstream,
) -> Code {
    let to = to as u64;
    let stream = stream.0.addr();
    call_in_context(|| {
        failure::check(Operation::Copy)?;
        stream::cannot_be_captured(stream)?;
        // SAFETY: as above.
        unsafe { to_host(to, from, len, stream) }
    })
}

pub(super) extern "C" fn cuMemcpyDtoD_v2(to: u64, from: u64, len: usize) -> Code {
    call_in_context(|| {
        failure::check(Operation::Copy)?;
        memory::check()?;
        on_device(to, from, len, LEGACY)?;
        order::host_waited_for(LEGACY);
        Ok(())
    })
}

pub(super) extern "C" fn cuMemcpyDtoDAsync_v2(
    to: u64,
    from: u64,
    len: usize,
    stream: CUstream,
) -> Code {
    let stream = stream.0.addr();
    call_in_context(|| {
        failure::check(Operation::Copy)?;
        stream::enqueue(stream, move |stream| on_device(to, from, len, stream))
    })
}

pub(super) unsafe extern "C" fn cuMemcpy(to: u64, from: u64, len: usize) -> Code {
    call_in_context(|| {
        failure::check(Operation::Copy)?;
        memory::check()?;
        // SAFETY: as above.
        unsafe { anywhere(to, from, len, LEGACY) }?;
        order::host_waited_for(LEGACY);
        Ok(())
    })
}

pub(super) unsafe extern "C" fn cuMemcpyAsync(
    to: u64,
    from: u64,
    len: usize,
    stream: usize,
) -> Code {
    call_in_context(|| {
        failure::check(Operation::Copy)?;
        if memory::is_device(to) && memory::is_device(from) {
            return stream::enqueue(stream, move |stream| on_device(to, from, len, stream));
        }
        stream::cannot_be_captured(stream)?;
        // SAFETY: as above.
        unsafe { anywhere(to, from, len, stream) }
    })
}

/// Fills `count` elements of device memory.
fn fill<T: Copy>(to: u64, value: T, count: usize, stream: usize) -> Outcome {
    let bytes = count.checked_mul(size_of::<T>()).ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
    if !to.is_multiple_of(align_of::<T>() as u64) {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    memory::check_range(to, bytes, "a fill")?;
    in_order(&Used::new([(to, bytes, Access::Write)]), stream, "a fill")?;
    if count > 0 {
        // SAFETY: the range is live device memory and aligned.
        unsafe { std::slice::from_raw_parts_mut(to as *mut T, count) }.fill(value);
    }
    Ok(())
}

macro_rules! fills {
    ($($name:ident $on_stream:ident $type:ty;)+) => {$(
        pub(super) extern "C" fn $name(to: u64, value: $type, count: usize) -> Code {
            call_in_context(|| {
                failure::check(Operation::Fill)?;
                fill(to, value, count, LEGACY)
            })
        }

        pub(super) extern "C" fn $on_stream(
            to: u64,
            value: $type,
            count: usize,
            stream: CUstream,
        ) -> Code {
            let stream = stream.0.addr();
            call_in_context(|| {
                failure::check(Operation::Fill)?;
                stream::enqueue(stream, move |stream| fill(to, value, count, stream))
            })
        }
    )+};
}

fills! {
    cuMemsetD8_v2 cuMemsetD8Async u8;
    cuMemsetD16_v2 cuMemsetD16Async u16;
    cuMemsetD32_v2 cuMemsetD32Async u32;
}

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL` and
/// `CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE`; the others are not supported.
pub(super) unsafe extern "C" fn cuPointerGetAttribute(
    value: *mut c_void,
    attribute: c_int,
    address: u64,
) -> Code {
    call_in_context(|| {
        let kind = match (memory::is_device(address), memory::is_page_locked(address)) {
            (true, _) => DEVICE_MEMORY,
            (_, true) => HOST_MEMORY,
            _ => return Err(Code::CUDA_ERROR_INVALID_VALUE),
        };
        let number = memory::device_of(address).unwrap_or(0);
        let pool = if memory::is_pooled(address) { POOL + number } else { 0 };
        // SAFETY: as above; the attributes are a number and a handle.
        unsafe {
            match attribute {
                2 => give(value.cast::<c_uint>(), kind),
                9 => give(value.cast::<c_int>(), number as c_int),
                17 => give(value.cast::<usize>(), pool),
                _ => Err(Code::CUDA_ERROR_NOT_SUPPORTED),
            }
        }
    })
}

pub(super) unsafe extern "C" fn cuDeviceGetDefaultMemPool(
    pool: *mut CUmemoryPool,
    number: c_int,
) -> Code {
    let pool = pool.cast::<usize>();
    call(|| {
        let number = device::known(number)?;
        // SAFETY: as above.
        unsafe { give(pool, POOL + number) }
    })
}

pub(super) unsafe extern "C" fn cuDeviceGetMemPool(pool: *mut CUmemoryPool, number: c_int) -> Code {
    // SAFETY: the same function.
    unsafe { cuDeviceGetDefaultMemPool(pool, number) }
}

fn known_pool(pool: usize) -> Outcome {
    let own = POOL + context::current()?;
    if pool == own { Ok(()) } else { Err(Code::CUDA_ERROR_INVALID_HANDLE) }
}

/// The pool keeps nothing, so its attributes change nothing.
pub(super) extern "C" fn cuMemPoolSetAttribute(
    pool: CUmemoryPool,
    _attribute: c_int,
    _value: *mut c_void,
) -> Code {
    let pool = pool.0.addr();
    call(|| known_pool(pool))
}

pub(super) extern "C" fn cuMemPoolGetAttribute(
    pool: usize,
    _attribute: c_int,
    _value: *mut c_void,
) -> Code {
    call(|| known_pool(pool).and(Err(Code::CUDA_ERROR_NOT_SUPPORTED)))
}

pub(super) extern "C" fn cuMemPoolTrimTo(pool: usize, _keep: usize) -> Code {
    call(|| known_pool(pool))
}
