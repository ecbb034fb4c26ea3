//! The steps between bins.

use device_std::{Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;

/// Steps that a launch of [`put_steps`](const@put_steps) sets.
pub const STEPS: usize = 16;

/// Sets steps between bins. They come as arguments, since a call that works on the device copies nothing from the host.
/// Grid: one block.
///
/// # Safety
/// `out` has `STEPS` elements from `first` on.
#[kernel(block = 32)]
pub unsafe fn put_steps(out: Out<'_, u32>, first: u32, steps: [u32; STEPS]) {
    if thread::thread_idx_x() == 0 {
        let mut i = 0;
        while i < STEPS {
            out.set(first as usize + i, steps[i]);
            i += 1;
        }
    }
}
