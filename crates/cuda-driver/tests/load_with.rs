//! Another driver in libcuda's place, arguments intact.

use cuda_driver::sys::{self, CUfunction, CUstream};
use cuda_driver::{LoadError, Loaded, Status};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Mutex;

static LAUNCHED: Mutex<Vec<u64>> = Mutex::new(Vec::new());

extern "C" fn init(flags: c_uint) -> c_int {
    if flags == 0 { 0 } else { 1 }
}

unsafe extern "C" fn device_count(count: *mut c_int) -> c_int {
    // SAFETY: the test passes a valid pointer.
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

#[test]
fn calls_go_to_the_functions_that_were_put_in() {
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

    let mut count = 0;
    // SAFETY: the functions take what they are given.
    unsafe {
        assert_eq!(sys::cuInit(0), Status::CUDA_SUCCESS);
        assert_eq!(sys::cuInit(7), Status::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(sys::cuDeviceGetCount(&mut count), Status::CUDA_SUCCESS);
        // What this driver lacks.
        assert_eq!(sys::cuDeviceGet(&mut 0, 0), Status::CUDA_ERROR_NOT_SUPPORTED);
    }
    assert_eq!(count, 5);
    assert_eq!(Status::CUDA_ERROR_NOT_SUPPORTED.to_string(), "operation not supported");

    let handle = |number: usize| number as *mut c_void;
    let (function, stream) = (CUfunction(handle(1)), CUstream(handle(usize::MAX)));
    let (arguments, extra) = (handle(10).cast(), handle(11).cast());
    // SAFETY: `launch` takes any values.
    let status =
        unsafe { sys::cuLaunchKernel(function, 2, 3, 4, 5, 6, 7, 8, stream, arguments, extra) };
    assert_eq!(status, Status::CUDA_ERROR_LAUNCH_FAILED);
    assert_eq!(*LAUNCHED.lock().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, u64::MAX, 10, 11]);
}
