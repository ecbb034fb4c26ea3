//! The settings in the environment: seed, devices, memory, and time limits.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const DEFAULT_SEED: u64 = 0x7e55_e11a;
const DEFAULT_PATIENCE: Duration = Duration::from_secs(20);
const FALLBACK_MEMORY: u64 = 4 << 30;

/// The most devices.
pub(crate) const MAX_DEVICES: usize = 64;

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    let value = text.trim().parse().ok();
    if value.is_none() {
        eprintln!(
            "software device: {name}={text:?} is not a number; the software device uses the default"
        );
    }
    value
}

fn seed_cell() -> &'static AtomicU64 {
    static SEED: OnceLock<AtomicU64> = OnceLock::new();
    SEED.get_or_init(|| AtomicU64::new(variable("TESSERA_SOFTWARE_SEED").unwrap_or(DEFAULT_SEED)))
}

/// The seed of the order in which threads and blocks run.
pub fn seed() -> u64 {
    seed_cell().load(Ordering::Relaxed)
}

/// Sets the seed for the launches of this process from now on, whatever the environment says.
pub fn set_seed(seed: u64) {
    seed_cell().store(seed, Ordering::Relaxed);
}

/// How long every thread of a launch may spin before that is called a deadlock
/// (`TESSERA_SOFTWARE_PATIENCE`, seconds).
pub(crate) fn patience() -> Duration {
    static PATIENCE: OnceLock<Duration> = OnceLock::new();
    *PATIENCE.get_or_init(|| {
        variable::<f64>("TESSERA_SOFTWARE_PATIENCE")
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(DEFAULT_PATIENCE)
    })
}

/// How many devices there are (`TESSERA_SOFTWARE_DEVICES`).
pub(crate) fn devices() -> usize {
    static DEVICES: OnceLock<usize> = OnceLock::new();
    *DEVICES.get_or_init(|| variable("TESSERA_SOFTWARE_DEVICES").unwrap_or(1).clamp(1, MAX_DEVICES))
}

/// A device that is lost, and after how many launches (`TESSERA_SOFTWARE_LOST`, as `1:40`).
pub(crate) fn lost() -> Option<(usize, u64)> {
    static LOST: OnceLock<Option<(usize, u64)>> = OnceLock::new();
    *LOST.get_or_init(|| {
        let text = std::env::var("TESSERA_SOFTWARE_LOST").ok()?;
        let (device, launches) = text.split_once(':')?;
        Some((device.trim().parse().ok()?, launches.trim().parse().ok()?))
    })
}

/// Bytes of memory of each device (`TESSERA_SOFTWARE_MEMORY`): three quarters of what the host had
/// available at the first question.
pub(crate) fn memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        variable("TESSERA_SOFTWARE_MEMORY")
            .unwrap_or_else(|| host_memory().map_or(FALLBACK_MEMORY, |bytes| bytes / 4 * 3))
    })
}

/// Returns how much memory could be allocated without swapping, by the kernel.
fn host_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
