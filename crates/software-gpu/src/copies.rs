//! How many copies go between host and device.

use std::cell::Cell;

thread_local! {
    static COPIES: Cell<u64> = const { Cell::new(0) };
}

/// Copies between host and device that this thread has asked for since it began; of those inside the
/// device, none.
pub fn copies() -> u64 {
    COPIES.get()
}

/// Counts one more.
pub(crate) fn count() {
    COPIES.set(COPIES.get() + 1);
}
