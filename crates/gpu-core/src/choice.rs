//! The user's choice of a device.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The device that a user, a program or a test chooses.
///
/// Parsed from `auto`, `cpu`, `software`, `cuda`, `cuda:N`, `cuda:all` or `software:all`. The last two mean several
/// devices; only [`Device::open_all`](crate::Device::open_all) takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first NVIDIA GPU where a usable driver is found, else the CPU.
    #[default]
    Auto,
    /// The CPU versions of the algorithms, on all cores.
    Cpu,
    /// The software device: the GPU kernels, run on the CPU. For tests and debugging.
    Software,
    /// The NVIDIA GPU with this ordinal.
    Cuda(u32),
    /// Every NVIDIA GPU of this machine.
    AllCuda,
    /// Every software device: one, or as many as `TESSERA_SOFTWARE_DEVICES` says.
    AllSoftware,
}

impl DeviceChoice {
    /// The environment variable that [`DeviceChoice::from_env`] reads.
    pub const VARIABLE: &str = "TESSERA_DEVICE";

    /// The choice in `TESSERA_DEVICE`, or `None` where it is not set.
    ///
    /// # Errors
    /// [`Error::UnknownDevice`] if its value is not a known name.
    pub fn from_env() -> Result<Option<Self>> {
        match std::env::var(Self::VARIABLE) {
            Ok(value) => value.parse().map(Some),
            Err(_) => Ok(None),
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "software" => Ok(Self::Software),
            "cuda" => Ok(Self::Cuda(0)),
            "cuda:all" => Ok(Self::AllCuda),
            "software:all" => Ok(Self::AllSoftware),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|n| n.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| Error::UnknownDevice { name: text.to_owned() }),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Software => f.write_str("software"),
            Self::Cuda(n) => write!(f, "cuda:{n}"),
            Self::AllCuda => f.write_str("cuda:all"),
            Self::AllSoftware => f.write_str("software:all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["auto", "cpu", "software", "cuda:0", "cuda:3", "cuda:all", "software:all"] {
            assert_eq!(name.parse::<DeviceChoice>().unwrap().to_string(), name);
        }
        assert_eq!("cuda".parse::<DeviceChoice>().unwrap(), DeviceChoice::Cuda(0));
        for bad in ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "CPU", "all", "cpu:all"] {
            assert!(bad.parse::<DeviceChoice>().is_err(), "{bad:?} was taken");
        }
    }
}
