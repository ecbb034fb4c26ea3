//! What the tests of Tessera's crates share. Not published.
//!
//! - [`devices`], and with the feature `software` `gpu`: the devices under test.
//! - [`Random`], [`Cloud`]: repeatable numbers and points; [`clouds`]: the list of clouds that every search must serve.
//! - [`sizes`]: the lengths at which kernels go wrong; [`is_slow`]: whether to do fewer and smaller cases.
//! - [`bits`], [`bits64`]: floats to compare bit by bit.
//! - [`program`]: a program as its users meet it, and what all programs do; [`tiles`]: what those do that work in tiles.
//! - [`damaged`]: files as they should not be; [`allocations`]: how much memory a call takes.
//! - `faults`, with the feature `software`: driver calls that fail, one after the other.
#![deny(missing_docs)]

pub mod allocations;
mod cloud;
pub mod clouds;
mod damage;
#[cfg(feature = "software")]
pub mod faults;
pub mod files;
pub mod program;
mod random;
pub mod tiles;

pub use cloud::Cloud;
pub use damage::damaged;
pub use random::Random;

use gpu_core::{Device, DeviceChoice};

/// The devices under test: the CPU, and where the build has GPUs the one that `TESSERA_DEVICE` names,
/// else the software device.
///
/// # Panics
/// Where that one cannot be opened: a missing GPU is a failure, not a skip.
pub fn devices() -> Vec<Device> {
    let mut devices = vec![Device::Cpu];
    devices.extend(second());
    devices
}

#[cfg(feature = "software")]
fn second() -> Option<Device> {
    Some(Device::Gpu(gpu()))
}

#[cfg(not(feature = "software"))]
fn second() -> Option<Device> {
    None
}

/// The GPU under test, on a stream of its own.
///
/// # Panics
/// Where it cannot be opened.
#[cfg(feature = "software")]
pub fn gpu() -> gpu_core::Gpu {
    let choice = choice();
    gpu_core::Gpu::open(choice).unwrap_or_else(|error| panic!("{choice}: {error}"))
}

/// What `TESSERA_DEVICE` names, else the software device.
///
/// # Panics
/// Panics if the name is not a device's.
pub fn choice() -> DeviceChoice {
    match DeviceChoice::from_env() {
        Ok(choice) => choice.unwrap_or(DeviceChoice::Software),
        Err(error) => panic!("{error}"),
    }
}

/// Whether kernels run slowly, so that tests do fewer and smaller cases. They do on the software device, and on a GPU
/// under a tool that checks every access, which `TESSERA_WATCHED` tells.
///
/// # Panics
/// Where `TESSERA_DEVICE` names no device.
pub fn is_slow() -> bool {
    choice() == DeviceChoice::Software || std::env::var_os("TESSERA_WATCHED").is_some()
}

/// Lengths around those at which a kernel with tiles of this many elements changes its way: none, one,
/// a warp, a tile, several tiles and a rest.
pub fn sizes(tile: usize) -> Vec<usize> {
    let mut sizes = vec![0, 1, 31, 32, 33, tile.saturating_sub(1), tile, tile + 1, 3 * tile + 7];
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The bits of values, all NaNs alike: their payload means nothing.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| if v.is_nan() { u32::MAX } else { v.to_bits() }).collect()
}

/// The bits of values, all NaNs alike.
pub fn bits64(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| if v.is_nan() { u64::MAX } else { v.to_bits() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_rise_and_hold_the_tile() {
        let sizes = sizes(256);
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
        assert!([0, 1, 32, 255, 256, 257, 775].iter().all(|size| sizes.contains(size)));
    }

    #[test]
    fn nans_of_any_payload_have_the_same_bits() {
        assert_eq!(bits(&[f32::from_bits(0x7fc0_0001)]), bits(&[f32::NAN]));
        assert_ne!(bits(&[0.0]), bits(&[-0.0]));
        assert_ne!(bits64(&[0.0]), bits64(&[-0.0]));
    }
}
