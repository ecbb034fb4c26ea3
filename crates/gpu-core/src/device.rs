//! The device that a call runs on.

use crate::{DeviceChoice, Error, Result};

/// Where an algorithm runs.
#[derive(Clone, Debug)]
pub enum Device {
    /// The CPU versions of the algorithms, on all cores.
    Cpu,
    /// A GPU, or the software device.
    #[cfg(feature = "cuda")]
    Gpu(crate::Gpu),
}

impl Device {
    /// Opens the device that was asked for. `auto` takes the CPU where the first NVIDIA GPU
    /// cannot be used; [`Device::why_no_gpu`] says why.
    ///
    /// # Errors
    /// [`Error::NotBuilt`] where this build has no such device, and those of [`Gpu::open`] for a
    /// device asked for by name.
    ///
    /// [`Gpu::open`]: crate::Gpu::open
    pub fn open(choice: DeviceChoice) -> Result<Self> {
        match choice {
            DeviceChoice::Cpu => Ok(Self::Cpu),
            DeviceChoice::Auto => Ok(Self::open_gpu(choice).unwrap_or(Self::Cpu)),
            DeviceChoice::Software | DeviceChoice::Cuda(_) => Self::open_gpu(choice),
        }
    }

    #[cfg(feature = "cuda")]
    fn open_gpu(choice: DeviceChoice) -> Result<Self> {
        crate::Gpu::open(choice).map(Self::Gpu)
    }

    #[cfg(not(feature = "cuda"))]
    fn open_gpu(choice: DeviceChoice) -> Result<Self> {
        Err(Error::NotBuilt { name: choice.to_string(), feature: "cuda" })
    }

    /// Why `auto` does not take an NVIDIA GPU in this process; `None` where it does.
    pub fn why_no_gpu() -> Option<Error> {
        Self::open_gpu(DeviceChoice::Auto).err()
    }

    /// The device in words, for a log line.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu => {
                let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
                format!("CPU ({threads} threads)")
            }
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => {
                let (major, minor) = gpu.compute_capability();
                let gib = gpu.total_memory() as f64 / (1u64 << 30) as f64;
                format!("{} (compute {major}.{minor}, {gib:.1} GiB)", gpu.name())
            }
        }
    }
}
