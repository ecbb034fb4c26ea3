//! Several devices: what belongs to one is not another's, and one that is lost leaves the others alone.

mod common;

use common::host::{Context, DeviceBuffer, Module, Stream, check, given, memory};
use cuda_driver::{Status, sys};
use device_std::host::PtxModule;
use device_std::{kernel, thread};
use software_gpu::Kind;
use std::ffi::c_void;

static MODULE: PtxModule = PtxModule { name: "devices", images: &[] };

/// Writes each element's number.
#[kernel(block = 32)]
pub unsafe fn count(values: *mut u32) {
    let i = thread::index_1d() as u32;
    // SAFETY: the array has an element for each thread.
    unsafe { values.add(i as usize).write(i) };
}

/// The kernel's function in the current context.
fn function() -> sys::CUfunction {
    let name = count.host.entry_name();
    Module::from_ptx(&format!(".visible .entry {name}(")).function(&name).unwrap()
}

fn launch(function: sys::CUfunction, stream: &Stream, address: u64) -> Result<(), Status> {
    let arguments: [*mut c_void; 1] = [std::ptr::from_ref(&address).cast_mut().cast()];
    // SAFETY: the kernel takes a pointer.
    unsafe { stream.launch(function, (1, 1), 32, 0, &arguments) }
}

/// One test: the environment is set before anything else runs.
#[test]
fn devices_are_apart() {
    // SAFETY: no other thread of the process reads the environment now.
    unsafe {
        std::env::set_var("TESSERA_SOFTWARE_DEVICES", "3");
        std::env::set_var("TESSERA_SOFTWARE_MEMORY", "100000");
        std::env::set_var("TESSERA_SOFTWARE_LOST", "2:1");
    }
    software_gpu::load().unwrap();
    software_gpu::register(count.host);
    // SAFETY: the functions write a number.
    unsafe {
        check(sys::cuInit(0)).unwrap();
        assert_eq!(given(|n| sys::cuDeviceGetCount(n)), Ok(3));
        let beyond = given(|d| sys::cuDeviceGet(d, 3));
        assert_eq!(beyond, Err(Status::CUDA_ERROR_INVALID_DEVICE));
    }

    let first = Context::of(0);
    let (stream, kernel) = (Stream::new(), function());
    let values = DeviceBuffer::<u32>::zeroed(32).unwrap();
    launch(kernel, &stream, values.address()).unwrap();
    assert_eq!(memory(), (100_000 - 128, 100_000));

    let _second = Context::of(1);
    assert_eq!(memory(), (100_000, 100_000));
    let (other_stream, other_kernel) = (Stream::new(), function());
    let refused = Err(Status::CUDA_ERROR_INVALID_HANDLE);
    assert_eq!(launch(kernel, &other_stream, values.address()), refused);
    assert_eq!(launch(other_kernel, &stream, values.address()), refused);
    assert_eq!(software_gpu::take_reports().len(), 0);
    let foreign = launch(other_kernel, &other_stream, values.address());
    assert_eq!(foreign, Err(Status::CUDA_ERROR_INVALID_VALUE));
    let report = common::only_report();
    assert_eq!(report.kind, Kind::Launch);
    assert!(report.message.contains("memory of device 0, the launch is on 1"), "{report}");
    let own = DeviceBuffer::<u32>::zeroed(32).unwrap();
    launch(other_kernel, &other_stream, own.address()).unwrap();
    assert_eq!(own.to_host().unwrap(), values.to_host().unwrap());

    let _third = Context::of(2);
    let (lost_stream, lost_kernel) = (Stream::new(), function());
    let lost = DeviceBuffer::<u32>::zeroed(32).unwrap();
    launch(lost_kernel, &lost_stream, lost.address()).unwrap();
    let gone = Status::CUDA_ERROR_UNKNOWN;
    assert_eq!(launch(lost_kernel, &lost_stream, lost.address()), Err(gone));
    assert_eq!(lost_stream.synchronize(), Err(gone));
    assert_eq!(DeviceBuffer::<u32>::zeroed(1).err(), Some(gone));
    drop(first);
    let _again = Context::of(0);
    launch(kernel, &stream, values.address()).unwrap();
    stream.synchronize().unwrap();
}
