//! How many copies go between host and device, and what they bring.

use std::cell::Cell;

thread_local! {
    static COPIES: Cell<u64> = const { Cell::new(0) };
    static BYTES_TO_HOST: Cell<u64> = const { Cell::new(0) };
}

/// Copies between host and device that this thread has asked for since it began; of those inside the
/// device, none.
pub fn copies() -> u64 {
    COPIES.get()
}

/// Bytes that these [`copies`] have brought to the host.
pub fn bytes_to_host() -> u64 {
    BYTES_TO_HOST.get()
}

/// Counts one more, which brings so many bytes to the host.
pub(crate) fn count(to_host: usize) {
    COPIES.set(COPIES.get() + 1);
    BYTES_TO_HOST.set(BYTES_TO_HOST.get() + to_host as u64);
}
