//! The kernels: see the [module](super) for the plan.

mod cells;
mod given;
mod memory;
mod outside;
mod planes;
mod records;
mod results;
mod rings;
mod sites;

use device_std::atomic;

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;

pub use cells::*;
pub use given::{SETUP, setup_in_memory};
pub use memory::*;
pub use outside::*;
pub use planes::*;
pub use records::{RING_NUMBERS, WIDE_RECORDS};
pub use rings::*;
pub use sites::*;

/// Threads of a block of the kernels over points, and of those over rings.
const BLOCK: u32 = 256;

/// Adds to a list: the number of its entries, then they. Gives the entry's number.
///
/// # Safety
/// The list has room for one more.
#[inline(always)]
unsafe fn append(list: *mut u32, entry: u32) -> u32 {
    // SAFETY: passed on to the caller; the place is this thread's alone.
    unsafe {
        let at = atomic::add_u32(list, 1);
        *list.add(1 + at as usize) = entry;
        at
    }
}
