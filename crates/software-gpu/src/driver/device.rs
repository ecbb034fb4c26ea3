//! Initialisation, the device and its properties, errors in words.

use super::{Code, call, give};
use crate::settings::{self, MAX_DEVICES};
use crate::{memory, scheduler};
use cuda_driver::attribute::device as attribute_of;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const NAME: &CStr = c"Tessera software device";

/// The version of the driver interface that this one answers for.
pub(super) const VERSION: c_int = 13_000;
/// Most threads of a block.
pub(super) const MAX_THREADS: u32 = 1024;
/// Shared memory that any block may have, and that one may have whose function was allowed it.
pub(super) const SHARED_MEMORY: u32 = 48 << 10;
pub(super) const SHARED_MEMORY_OPT_IN: u32 = 227 << 10;
/// Limits of a grid.
pub(super) const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// The error of a call that comes before `cuInit`.
pub(super) fn initialised() -> Result<(), Code> {
    let done = INITIALISED.load(Ordering::Acquire);
    if done { Ok(()) } else { Err(Code::CUDA_ERROR_NOT_INITIALIZED) }
}

/// The device of a number, or the error of a number beyond the devices that there are.
pub(super) fn known(device: c_int) -> Result<usize, Code> {
    initialised()?;
    let number = usize::try_from(device).ok().filter(|number| *number < settings::devices());
    number.ok_or(Code::CUDA_ERROR_INVALID_DEVICE)
}

/// Launches on each device.
static LAUNCHES: [AtomicU64; MAX_DEVICES] = [const { AtomicU64::new(0) }; MAX_DEVICES];

/// Counts a launch.
pub(super) fn count_launch(device: usize) {
    LAUNCHES[device].fetch_add(1, Ordering::Relaxed);
}

/// The error of every call of a device that is lost (`TESSERA_SOFTWARE_LOST`).
pub(super) fn answers(device: usize) -> Result<(), Code> {
    let is_lost = |(lost, after): (usize, u64)| {
        lost == device && LAUNCHES[device].load(Ordering::Relaxed) >= after
    };
    match settings::lost().is_some_and(is_lost) {
        true => Err(Code::CUDA_ERROR_UNKNOWN),
        false => Ok(()),
    }
}

pub(super) extern "C" fn cuInit(flags: c_uint) -> Code {
    if flags != 0 {
        return Code::CUDA_ERROR_INVALID_VALUE;
    }
    INITIALISED.store(true, Ordering::Release);
    Code::CUDA_SUCCESS
}

// SAFETY (everywhere in this module): the driver's interface promises that a pointer which a
// caller passes is valid for what the function writes, or null, which `give` refuses.

pub(super) unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: as above.
    call(|| unsafe { give(version, VERSION) })
}

pub(super) unsafe extern "C" fn cuGetErrorName(code: c_int, text: *mut *const c_char) -> Code {
    // SAFETY: as above.
    unsafe { give_text(Code(code).text().map(|t| t.name), text) }
}

pub(super) unsafe extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> Code {
    // SAFETY: as above.
    unsafe { give_text(Code(code).text().map(|t| t.description), text) }
}

/// # Safety
/// `to` is null or valid for a write.
unsafe fn give_text(text: Option<&'static CStr>, to: *mut *const c_char) -> Code {
    call(|| {
        // SAFETY: passed on to the caller.
        unsafe { give(to, text.map_or(std::ptr::null(), CStr::as_ptr))? };
        text.map(|_| ()).ok_or(Code::CUDA_ERROR_INVALID_VALUE)
    })
}

pub(super) unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    call(|| {
        initialised()?;
        // SAFETY: as above.
        unsafe { give(count, settings::devices() as c_int) }
    })
}

pub(super) unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Code {
    call(|| {
        known(ordinal)?;
        // SAFETY: as above.
        unsafe { give(device, ordinal) }
    })
}

pub(super) unsafe extern "C" fn cuDeviceGetName(
    name: *mut c_char,
    len: c_int,
    device: c_int,
) -> Code {
    call(|| {
        known(device)?;
        let len = usize::try_from(len).ok().filter(|len| *len > 0);
        let len = len.ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        if name.is_null() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let text = NAME.to_bytes();
        let kept = text.len().min(len - 1);
        // SAFETY: as above; the buffer has `len` bytes, of which `kept + 1` are written.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), name, kept);
            name.add(kept).write(0);
        }
        Ok(())
    })
}

pub(super) unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) -> Code {
    call(|| {
        let mut name = *b"tessera-software";
        name[0] += known(device)? as u8;
        // SAFETY: as above.
        unsafe { give(uuid, name) }
    })
}

pub(super) unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> Code {
    // SAFETY: the same function.
    unsafe { cuDeviceGetUuid(uuid, device) }
}

pub(super) unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> Code {
    call(|| {
        let number = known(device)?;
        // SAFETY: as above.
        unsafe { give(bytes, memory::free_and_total(number).1 as usize) }
    })
}

pub(super) unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: c_int,
    device: c_int,
) -> Code {
    call(|| {
        known(device)?;
        let found = self::attribute(attribute).ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: as above.
        unsafe { give(value, found) }
    })
}

/// The value of an attribute: those of a GPU of compute capability 9.0 where a program sizes its work by them, zero for
/// what is not there. `None` for a number that is not an attribute.
fn attribute(number: c_int) -> Option<c_int> {
    let values = [
        (attribute_of::MAX_THREADS_PER_BLOCK, MAX_THREADS),
        (attribute_of::MAX_BLOCK_DIM_X, MAX_THREADS),
        (attribute_of::MAX_BLOCK_DIM_Y, 1),
        (attribute_of::MAX_BLOCK_DIM_Z, 1),
        (attribute_of::MAX_GRID_DIM_X, MAX_GRID[0]),
        (attribute_of::MAX_GRID_DIM_Y, MAX_GRID[1]),
        (attribute_of::MAX_GRID_DIM_Z, MAX_GRID[2]),
        (attribute_of::MAX_SHARED_MEMORY_PER_BLOCK, SHARED_MEMORY),
        (attribute_of::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, SHARED_MEMORY_OPT_IN),
        (attribute_of::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10),
        (attribute_of::RESERVED_SHARED_MEMORY_PER_BLOCK, 1 << 10),
        (attribute_of::TOTAL_CONSTANT_MEMORY, 64 << 10),
        (attribute_of::WARP_SIZE, 32),
        (attribute_of::MAX_PITCH, i32::MAX as u32),
        (attribute_of::MAX_REGISTERS_PER_BLOCK, 65536),
        (attribute_of::MAX_REGISTERS_PER_MULTIPROCESSOR, 65536),
        (attribute_of::CLOCK_RATE, 1_000_000),
        (attribute_of::MEMORY_CLOCK_RATE, 1_000_000),
        (attribute_of::GLOBAL_MEMORY_BUS_WIDTH, 64),
        (attribute_of::L2_CACHE_SIZE, 32 << 20),
        (attribute_of::TEXTURE_ALIGNMENT, 512),
        (attribute_of::MULTIPROCESSOR_COUNT, scheduler::workers() as u32),
        (attribute_of::MAX_THREADS_PER_MULTIPROCESSOR, 2048),
        (attribute_of::MAX_BLOCKS_PER_MULTIPROCESSOR, 4),
        (attribute_of::CAN_MAP_HOST_MEMORY, 1),
        (attribute_of::CONCURRENT_KERNELS, 1),
        (attribute_of::ASYNC_ENGINE_COUNT, 1),
        (attribute_of::GPU_OVERLAP, 1),
        (attribute_of::INTEGRATED, 1),
        (attribute_of::UNIFIED_ADDRESSING, 1),
        (attribute_of::COMPUTE_CAPABILITY_MAJOR, 9),
        (attribute_of::COMPUTE_CAPABILITY_MINOR, 0),
        (attribute_of::STREAM_PRIORITIES_SUPPORTED, 1),
        (attribute_of::MEMORY_POOLS_SUPPORTED, 1),
        (attribute_of::SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2),
    ];
    let valid = 1..attribute_of::END;
    let stated = values.iter().find(|(a, _)| *a == number).map(|(_, v)| *v as c_int);
    stated.or(valid.contains(&number).then_some(0))
}
