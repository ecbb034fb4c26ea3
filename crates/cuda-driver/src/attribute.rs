//! The numbers of the attributes of devices and kernels.

/// What `cuDeviceGetAttribute` answers.
#[allow(missing_docs)]
pub mod device {
    use std::ffi::c_int;

    pub const MAX_THREADS_PER_BLOCK: c_int = 1;
    pub const MAX_BLOCK_DIM_X: c_int = 2;
    pub const MAX_BLOCK_DIM_Y: c_int = 3;
    pub const MAX_BLOCK_DIM_Z: c_int = 4;
    pub const MAX_GRID_DIM_X: c_int = 5;
    pub const MAX_GRID_DIM_Y: c_int = 6;
    pub const MAX_GRID_DIM_Z: c_int = 7;
    pub const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 8;
    pub const TOTAL_CONSTANT_MEMORY: c_int = 9;
    pub const WARP_SIZE: c_int = 10;
    pub const MAX_PITCH: c_int = 11;
    pub const MAX_REGISTERS_PER_BLOCK: c_int = 12;
    pub const CLOCK_RATE: c_int = 13;
    pub const TEXTURE_ALIGNMENT: c_int = 14;
    pub const GPU_OVERLAP: c_int = 15;
    pub const MULTIPROCESSOR_COUNT: c_int = 16;
    pub const INTEGRATED: c_int = 18;
    pub const CAN_MAP_HOST_MEMORY: c_int = 19;
    pub const CONCURRENT_KERNELS: c_int = 31;
    pub const MEMORY_CLOCK_RATE: c_int = 36;
    pub const GLOBAL_MEMORY_BUS_WIDTH: c_int = 37;
    pub const L2_CACHE_SIZE: c_int = 38;
    pub const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 39;
    pub const ASYNC_ENGINE_COUNT: c_int = 40;
    pub const UNIFIED_ADDRESSING: c_int = 41;
    pub const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    pub const COMPUTE_CAPABILITY_MINOR: c_int = 76;
    pub const STREAM_PRIORITIES_SUPPORTED: c_int = 78;
    pub const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: c_int = 81;
    pub const MAX_REGISTERS_PER_MULTIPROCESSOR: c_int = 82;
    pub const SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: c_int = 87;
    pub const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
    pub const MAX_BLOCKS_PER_MULTIPROCESSOR: c_int = 106;
    pub const RESERVED_SHARED_MEMORY_PER_BLOCK: c_int = 111;
    pub const MEMORY_POOLS_SUPPORTED: c_int = 115;
    /// One more than the number of the last attribute that the software device knows.
    pub const END: c_int = 120;
}

/// What `cuFuncGetAttribute` answers.
#[allow(missing_docs)]
pub mod function {
    use std::ffi::c_int;

    pub const MAX_THREADS_PER_BLOCK: c_int = 0;
    pub const NUM_REGS: c_int = 4;
    pub const PTX_VERSION: c_int = 5;
    pub const BINARY_VERSION: c_int = 6;
    pub const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
    pub const PREFERRED_SHARED_MEMORY_CARVEOUT: c_int = 9;
    /// One more than the number of the last attribute that the software device knows.
    pub const END: c_int = 10;
}
