//! The device that a call runs on.

use crate::{DeviceChoice, Error, Result};

/// Where an algorithm runs.
#[derive(Clone, Debug)]
pub enum Device {
    /// The CPU versions of the algorithms, on all cores.
    Cpu,
}

impl Device {
    /// Opens the device that was asked for.
    ///
    /// # Errors
    /// [`Error::NotBuilt`] where this build has no such device.
    pub fn open(choice: DeviceChoice) -> Result<Self> {
        match choice {
            DeviceChoice::Auto | DeviceChoice::Cpu => Ok(Self::Cpu),
            DeviceChoice::Software | DeviceChoice::Cuda(_) => {
                Err(Error::NotBuilt { name: choice.to_string() })
            }
        }
    }

    /// The device in words, for a log line.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu => "CPU".to_owned(),
        }
    }
}
