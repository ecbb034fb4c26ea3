//! The limits that the environment sets: memory and patience.

mod common;

use common::{context, only_report};
use cust::error::CudaError;
use cust::memory::DeviceBuffer;
use cust::prelude::*;
use device_std::host::PtxModule;
use device_std::{atomic, kernel, thread};
use software_gpu::Kind;

static MODULE: PtxModule = PtxModule { name: "limits", images: &[] };

/// Waits until `*flag` is at least `value`; the grid's first thread adds 1.
#[kernel(block = 32)]
pub unsafe fn wait_for(flag: *mut u32, value: u32) {
    // SAFETY: an atomic on live memory.
    unsafe {
        if thread::index_1d() == 0 {
            atomic::add_u32(flag, 1);
        }
        while atomic::add_u32(flag, 0) < value {
            thread::pause();
        }
    }
}

/// One test: the environment is set before anything else runs.
#[test]
fn memory_and_patience_end() {
    // SAFETY: no other thread of the process reads the environment now.
    unsafe {
        std::env::set_var("TESSERA_SOFTWARE_MEMORY", "1000000");
        std::env::set_var("TESSERA_SOFTWARE_PATIENCE", "0.2");
    }
    let _context = context();
    assert_eq!(cust::memory::mem_get_info(), Ok((1_000_000, 1_000_000)));

    let first = DeviceBuffer::<u8>::zeroed(600_000).unwrap();
    assert_eq!(DeviceBuffer::<u8>::zeroed(400_001).unwrap_err(), CudaError::OutOfMemory);
    assert_eq!(cust::memory::mem_get_info().unwrap().0, 400_000);
    let second = DeviceBuffer::<u8>::zeroed(400_000).unwrap();
    assert_eq!(DeviceBuffer::<u8>::zeroed(1).unwrap_err(), CudaError::OutOfMemory);
    drop((first, second));
    assert_eq!(cust::memory::mem_get_info().unwrap().0, 1_000_000);
    assert_eq!(software_gpu::take_reports().len(), 0);

    let stream = Stream::new(StreamFlags::DEFAULT, None).unwrap();
    let flag = DeviceBuffer::<u32>::zeroed(1).unwrap();
    let stuck = launch!(wait_for, &stream, 2, 0, flag.as_device_ptr(), 2_u32);
    assert_eq!(stuck, Err(CudaError::LaunchTimeout));
    let report = only_report();
    assert_eq!(report.kind, Kind::NoProgress);
    assert_eq!(report.kernel.as_deref(), Some("wait_for"));

    launch!(wait_for, &stream, 2, 0, flag.as_device_ptr(), 1_u32).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(flag.as_host_vec().unwrap(), [2]);
    assert_eq!(software_gpu::take_reports().len(), 0);
}
