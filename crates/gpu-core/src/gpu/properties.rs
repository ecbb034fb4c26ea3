//! The properties of a device, which never change.

use cuda_driver::attribute::device as attribute_of;
use cuda_driver::sys::{self, CUdevice};

use crate::Result;
use crate::gpu::driver::{attribute, device_name, given};

/// Properties of a device that are read once.
pub(crate) struct Properties {
    pub(crate) name: String,
    pub(crate) total_memory: u64,
    pub(crate) compute_capability: (u32, u32),
    pub(crate) multiprocessors: u32,
}

impl Properties {
    pub(crate) fn of(device: CUdevice) -> Result<Self> {
        // SAFETY: the function writes the size.
        let total_memory: usize =
            unsafe { given("cuDeviceTotalMem", |bytes| sys::cuDeviceTotalMem_v2(bytes, device)) }?;
        Ok(Self {
            name: device_name(device)?,
            total_memory: total_memory as u64,
            compute_capability: (
                attribute(device, attribute_of::COMPUTE_CAPABILITY_MAJOR)?,
                attribute(device, attribute_of::COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(device, attribute_of::MULTIPROCESSOR_COUNT)?,
        })
    }
}
