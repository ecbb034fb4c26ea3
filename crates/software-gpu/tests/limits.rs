//! The limits that the environment sets: memory and patience.

mod common;

use common::host::{DeviceBuffer, Stream};
use common::{context, host, only_report};
use cuda_driver::Status;
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
    assert_eq!(host::memory(), (1_000_000, 1_000_000));

    let first = DeviceBuffer::<u8>::zeroed(600_000).unwrap();
    assert_eq!(DeviceBuffer::<u8>::zeroed(400_001).err(), Some(Status::CUDA_ERROR_OUT_OF_MEMORY));
    assert_eq!(host::memory().0, 400_000);
    let second = DeviceBuffer::<u8>::zeroed(400_000).unwrap();
    assert_eq!(DeviceBuffer::<u8>::zeroed(1).err(), Some(Status::CUDA_ERROR_OUT_OF_MEMORY));
    drop((first, second));
    assert_eq!(host::memory().0, 1_000_000);
    assert_eq!(software_gpu::take_reports().len(), 0);

    let stream = Stream::new();
    let flag = DeviceBuffer::<u32>::zeroed(1).unwrap();
    let stuck = launch!(wait_for, &stream, 2, 0, flag.address(), 2_u32);
    assert_eq!(stuck, Err(Status::CUDA_ERROR_LAUNCH_TIMEOUT));
    let report = only_report();
    assert_eq!(report.kind, Kind::NoProgress);
    assert_eq!(report.kernel.as_deref(), Some("wait_for"));

    launch!(wait_for, &stream, 2, 0, flag.address(), 1_u32).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(flag.to_host().unwrap(), [2]);
    assert_eq!(software_gpu::take_reports().len(), 0);
}
