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
    /// Opens the device of a choice. `auto` takes the CPU where the first NVIDIA GPU cannot be used;
    /// [`Device::why_no_gpu`] says why.
    ///
    /// # Errors
    /// [`Error::NotBuilt`] where this build has no such device, [`Error::SeveralDevices`] for `cuda:all` and
    /// `software:all`, and the errors of [`Gpu::open`] if the choice names a device.
    ///
    /// [`Gpu::open`]: crate::Gpu::open
    pub fn open(choice: DeviceChoice) -> Result<Self> {
        match choice {
            DeviceChoice::Cpu => Ok(Self::Cpu),
            DeviceChoice::Auto => Ok(Self::open_gpu(choice).unwrap_or(Self::Cpu)),
            _ => Self::open_gpu(choice),
        }
    }

    /// Opens every device that a choice names. `cuda:all` and `software:all` name several, in the order of their
    /// ordinals. Any other choice names one, as in [`Device::open`].
    ///
    /// A call works on one device. To use several, divide the work among them, with a thread for each; the programs do
    /// so with tiles. Results do not depend on which device made them.
    ///
    /// # Errors
    /// The errors of [`Device::open`], of the first device that cannot be opened; [`Error::NoDevice`] where there is
    /// none.
    pub fn open_all(choice: DeviceChoice) -> Result<Vec<Self>> {
        match choice {
            DeviceChoice::AllCuda | DeviceChoice::AllSoftware => Self::open_every(choice),
            _ => Self::open(choice).map(|device| vec![device]),
        }
    }

    /// Checks whether the device still answers, after all work that is enqueued on its handle. A fault of the
    /// hardware or in a kernel loses the device: then every call fails until the process ends. The CPU always
    /// answers.
    ///
    /// # Errors
    /// [`Error::Driver`] with what the driver says of the device.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Cpu => Ok(()),
            #[cfg(feature = "cuda")]
            Self::Gpu(gpu) => gpu.synchronize().and_then(|()| gpu.free_memory()).map(|_| ()),
        }
    }

    #[cfg(feature = "cuda")]
    fn open_gpu(choice: DeviceChoice) -> Result<Self> {
        crate::Gpu::open(choice).map(Self::Gpu)
    }

    #[cfg(feature = "cuda")]
    fn open_every(choice: DeviceChoice) -> Result<Vec<Self>> {
        Ok(crate::Gpu::open_all(choice)?.into_iter().map(Self::Gpu).collect())
    }

    #[cfg(not(feature = "cuda"))]
    fn open_every(choice: DeviceChoice) -> Result<Vec<Self>> {
        Err(Error::NotBuilt { name: choice.to_string(), feature: "cuda" })
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
