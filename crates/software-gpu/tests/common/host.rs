//! A thin host side over the driver's functions: just what these tests call.

use cuda_driver::Status;
use cuda_driver::sys::{self, CUcontext, CUdevice, CUfunction, CUmodule, CUstream};
use std::ffi::{CString, c_void};
use std::marker::PhantomData;

/// A driver call's answer as a result.
pub fn check(status: Status) -> Result<(), Status> {
    if status == Status::CUDA_SUCCESS { Ok(()) } else { Err(status) }
}

/// What a driver function writes through its first argument.
pub fn given<T: Default>(call: impl FnOnce(*mut T) -> Status) -> Result<T, Status> {
    let mut value = T::default();
    check(call(&mut value)).map(|()| value)
}

/// The device's primary context, current on this thread.
pub struct Context(CUdevice);

impl Context {
    pub fn new() -> Self {
        Self::of(0)
    }

    /// The primary context of a device.
    pub fn of(ordinal: i32) -> Self {
        let mut context = CUcontext::NULL;
        // SAFETY: the pointers are to live variables.
        unsafe {
            check(sys::cuInit(0)).unwrap();
            let device = given(|d| sys::cuDeviceGet(d, ordinal)).unwrap();
            check(sys::cuDevicePrimaryCtxRetain(&mut context, device)).unwrap();
            check(sys::cuCtxSetCurrent(context)).unwrap();
            Self(device)
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained in `new`.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.0) };
    }
}

/// Free and total memory.
pub fn memory() -> (usize, usize) {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the pointers are to live variables.
    check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }).unwrap();
    (free, total)
}

/// A stream.
pub struct Stream(CUstream);

impl Stream {
    pub fn new() -> Self {
        let mut stream = CUstream::NULL;
        // SAFETY: the pointer is to a live variable.
        check(unsafe { sys::cuStreamCreate(&mut stream, 0) }).unwrap();
        Self(stream)
    }

    pub fn raw(&self) -> CUstream {
        self.0
    }

    pub fn synchronize(&self) -> Result<(), Status> {
        // SAFETY: the stream is alive.
        check(unsafe { sys::cuStreamSynchronize(self.0) })
    }

    /// # Safety
    /// The arguments are the function's.
    pub unsafe fn launch(
        &self,
        function: CUfunction,
        (x, y): (u32, u32),
        block: u32,
        shared: u32,
        arguments: &[*mut c_void],
    ) -> Result<(), Status> {
        let (arguments, none) = (arguments.as_ptr().cast_mut(), std::ptr::null_mut());
        // SAFETY: the caller's promise.
        check(unsafe {
            sys::cuLaunchKernel(function, x, y, 1, block, 1, 1, shared, self.0, arguments, none)
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is this value's own.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}

/// A module, never unloaded.
pub struct Module(CUmodule);

impl Module {
    pub fn from_ptx(text: &str) -> Self {
        let text = CString::new(text).unwrap();
        let mut module = CUmodule::NULL;
        // SAFETY: the text ends in a zero.
        check(unsafe { sys::cuModuleLoadData(&mut module, text.as_ptr().cast()) }).unwrap();
        Self(module)
    }

    pub fn function(&self, name: &str) -> Result<CUfunction, Status> {
        let name = CString::new(name).unwrap();
        let mut function = CUfunction::NULL;
        // SAFETY: the name ends in a zero.
        check(unsafe { sys::cuModuleGetFunction(&mut function, self.0, name.as_ptr()) })?;
        Ok(function)
    }
}

/// An array in device memory.
pub struct DeviceBuffer<T> {
    address: u64,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Copy + Default> DeviceBuffer<T> {
    fn allocate(len: usize) -> Result<Self, Status> {
        // SAFETY: the pointer is to a live variable.
        let address = given(|a| unsafe { sys::cuMemAlloc_v2(a, len * size_of::<T>()) })?;
        Ok(Self { address, len, elements: PhantomData })
    }

    pub fn from_slice(host: &[T]) -> Result<Self, Status> {
        let buffer = Self::allocate(host.len())?;
        let bytes = size_of_val(host);
        // SAFETY: both sides have this many bytes.
        check(unsafe { sys::cuMemcpyHtoD_v2(buffer.address, host.as_ptr().cast(), bytes) })?;
        Ok(buffer)
    }

    pub fn zeroed(len: usize) -> Result<Self, Status> {
        Self::from_slice(&vec![T::default(); len])
    }

    /// From the stream's pool, or, while it captures, the graph's: unwritten.
    pub fn uninitialized_async(len: usize, stream: &Stream) -> Result<Self, Status> {
        let bytes = len * size_of::<T>();
        // SAFETY: the pointer is to a live variable.
        let address = given(|a| unsafe { sys::cuMemAllocAsync(a, bytes, stream.0) })?;
        Ok(Self { address, len, elements: PhantomData })
    }

    pub fn from_raw_parts(address: u64, len: usize) -> Self {
        Self { address, len, elements: PhantomData }
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    /// The elements, or as many as `len` says, copied.
    pub fn copied(&self, len: usize) -> Result<Vec<T>, Status> {
        let mut host = vec![T::default(); len];
        let bytes = len * size_of::<T>();
        // SAFETY: the host has this many bytes; whether the device has them is the driver's to see.
        check(unsafe { sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), self.address, bytes) })?;
        Ok(host)
    }

    pub fn to_host(&self) -> Result<Vec<T>, Status> {
        self.copied(self.len)
    }

    pub fn drop_async(self, stream: &Stream) -> Result<(), Status> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the memory is this value's own.
        check(unsafe { sys::cuMemFreeAsync(this.address, stream.0) })
    }
}

impl<T> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's own.
        let _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}
