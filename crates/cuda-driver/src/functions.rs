//! The list of the driver's functions that Tessera calls. Macros take it and make an item for each function.

/// The functions, handed to the macro that is named.
macro_rules! driver_functions {
    ($callback:ident) => {
        $callback! {
            fn cuCtxGetCurrent(context: *mut CUcontext);
            fn cuCtxGetDevice(device: *mut CUdevice);
            fn cuCtxSetCurrent(context: CUcontext);
            fn cuCtxSynchronize();
            fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
            fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice);
            fn cuDeviceGetCount(count: *mut c_int);
            fn cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice);
            fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
            fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
            fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
            fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
            fn cuDriverGetVersion(version: *mut c_int);
            fn cuEventCreate(event: *mut CUevent, flags: c_uint);
            fn cuEventDestroy_v2(event: CUevent);
            fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
            fn cuEventQuery(event: CUevent);
            fn cuEventRecord(event: CUevent, stream: CUstream);
            fn cuEventSynchronize(event: CUevent);
            fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction);
            fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int);
            fn cuGraphDestroy(graph: CUgraph);
            fn cuGraphExecDestroy(executable: CUgraphExec);
            fn cuGraphInstantiateWithFlags(
                executable: *mut CUgraphExec,
                graph: CUgraph,
                flags: c_ulonglong,
            );
            fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream);
            fn cuInit(flags: c_uint);
            fn cuLaunchKernel(
                function: CUfunction,
                grid_x: c_uint,
                grid_y: c_uint,
                grid_z: c_uint,
                block_x: c_uint,
                block_y: c_uint,
                block_z: c_uint,
                shared_bytes: c_uint,
                stream: CUstream,
                arguments: *mut *mut c_void,
                extra: *mut *mut c_void,
            );
            fn cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream);
            fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
            fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
            fn cuMemFreeHost(host: *mut c_void);
            fn cuMemFree_v2(address: CUdeviceptr);
            fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
            fn cuMemHostAlloc(host: *mut *mut c_void, bytes: usize, flags: c_uint);
            fn cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: c_int, value: *mut c_void);
            fn cuMemcpyDtoDAsync_v2(
                to: CUdeviceptr,
                from: CUdeviceptr,
                bytes: usize,
                stream: CUstream,
            );
            fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
            fn cuMemcpyDtoHAsync_v2(
                to: *mut c_void,
                from: CUdeviceptr,
                bytes: usize,
                stream: CUstream,
            );
            fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
            fn cuMemcpyHtoDAsync_v2(
                to: CUdeviceptr,
                from: *const c_void,
                bytes: usize,
                stream: CUstream,
            );
            fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
            fn cuMemsetD8Async(to: CUdeviceptr, byte: u8, bytes: usize, stream: CUstream);
            fn cuModuleGetFunction(
                function: *mut CUfunction,
                module: CUmodule,
                name: *const c_char,
            );
            fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
            fn cuModuleUnload(module: CUmodule);
            fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: CUdeviceptr);
            fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_int);
            fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
            fn cuStreamDestroy_v2(stream: CUstream);
            fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
            fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext);
            fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint);
            fn cuStreamIsCapturing(stream: CUstream, status: *mut c_int);
            fn cuStreamQuery(stream: CUstream);
            fn cuStreamSynchronize(stream: CUstream);
            fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
        }
    };
}
pub(crate) use driver_functions;
