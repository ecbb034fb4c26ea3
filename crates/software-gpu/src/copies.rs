//! Counts copies between host and device, and their bytes.

use std::cell::Cell;

thread_local! {
    static COPIES: Cell<u64> = const { Cell::new(0) };
    static BYTES_TO_HOST: Cell<u64> = const { Cell::new(0) };
}

/// Returns how many copies between host and device this thread has made since it began; copies inside the device do not
/// count.
pub fn copies() -> u64 {
    COPIES.get()
}

/// Returns how many bytes these [`copies`] have brought to the host.
pub fn bytes_to_host() -> u64 {
    BYTES_TO_HOST.get()
}

/// Counts one more copy, which brings `to_host` bytes to the host.
pub(crate) fn count(to_host: usize) {
    COPIES.set(COPIES.get() + 1);
    BYTES_TO_HOST.set(BYTES_TO_HOST.get() + to_host as u64);
}
