//! Copies a few numbers from the arguments of a launch into memory, for kernels that take any number of them.
//!
//! A copy from the host would do the same, but a graph cannot hold a copy whose source is gone.

use device_std::{Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::pixels::MODULE;

/// The most numbers of a launch.
pub const MAX_PUT: usize = 16;

/// Writes `count` numbers. Grid: one block.
///
/// # Safety
/// `output` has `count` elements, of [`MAX_PUT`] at most.
#[kernel(block = 32)]
pub unsafe fn put_numbers(numbers: [f64; 16], count: u32, output: Out<'_, f64>) {
    let mut i = 0;
    while i < MAX_PUT {
        if i as u32 == thread::thread_idx_x() && (i as u32) < count {
            output.set(i, numbers[i]);
        }
        i += 1;
    }
}
