//! Another driver in libcuda's place: cust reaches it through the trampolines, arguments intact.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use cuda_driver::{LoadError, Loaded};
use cust::device::Device;
use cust::error::CudaError;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Mutex;

static LAUNCHED: Mutex<Vec<u64>> = Mutex::new(Vec::new());

extern "C" fn init(flags: c_uint) -> c_int {
    if flags == 0 { 0 } else { 1 }
}

unsafe extern "C" fn device_count(count: *mut c_int) -> c_int {
    // SAFETY: cust passes a valid pointer.
    unsafe { count.write(5) };
    0
}

/// Eleven arguments: some of them travel on the stack.
#[allow(clippy::too_many_arguments)]
extern "C" fn launch(
    function: u64,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: u64,
    parameters: u64,
    extra: u64,
) -> c_int {
    let numbers = [grid_x, grid_y, grid_z, block_x, block_y, block_z, shared].map(u64::from);
    let mut seen = LAUNCHED.lock().unwrap();
    seen.push(function);
    seen.extend(numbers);
    seen.extend([stream, parameters, extra]);
    719
}

unsafe extern "C" {
    #[allow(clashing_extern_declarations)]
    #[link_name = "cuLaunchKernel"]
    fn call_launch(
        function: u64,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: u64,
        parameters: u64,
        extra: u64,
    ) -> c_int;
}

#[test]
fn cust_calls_the_functions_that_were_put_in() {
    let lookup = |name: &str| match name {
        "cuInit" => Some(init as *const c_void),
        "cuDeviceGetCount" => Some(device_count as *const c_void),
        "cuLaunchKernel" => Some(launch as *const c_void),
        _ => None,
    };
    // SAFETY: the functions have the driver's signatures and live as long as the process.
    unsafe { cuda_driver::load_with(lookup) }.unwrap();
    assert_eq!(cuda_driver::loaded(), Some(Loaded::Software));
    assert_eq!(
        cuda_driver::load_cuda(),
        Err(LoadError::OtherDriver { loaded: Loaded::Software, wanted: Loaded::Cuda })
    );
    // SAFETY: as above; the table is filled already, so nothing is looked up.
    unsafe { cuda_driver::load_with(|_| unreachable!()) }.unwrap();

    cust::init(cust::CudaFlags::empty()).unwrap();
    assert_eq!(Device::num_devices(), Ok(5));

    // What this driver lacks.
    let error = Device::get_device(0).unwrap_err();
    assert_eq!(error, CudaError::NotSupported);
    assert!(error.to_string().contains("operation not supported"), "{error}");

    // SAFETY: `launch` takes any values.
    let code = unsafe { call_launch(1, 2, 3, 4, 5, 6, 7, 8, u64::MAX, 10, 11) };
    assert_eq!(code, 719);
    assert_eq!(*LAUNCHED.lock().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, u64::MAX, 10, 11]);
}
