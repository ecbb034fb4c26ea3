//! Typed kernel launches.

use std::ffi::c_void;

use cuda_driver::sys;
pub use device_std::host::Arguments;
use device_std::host::{HostKernel, Kernel};

use crate::gpu::driver::check;
use crate::{Error, Gpu, Result};

/// Blocks of a grid, in x and y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// At most 2^31 - 1.
    pub x: u32,
    /// At most 65,535.
    pub y: u32,
}

/// Most blocks of a grid in x.
const MAX_X: u64 = i32::MAX as u64;

impl Blocks {
    /// A row of blocks.
    pub fn x(x: u32) -> Self {
        Self { x, y: 1 }
    }

    /// Returns enough blocks for a thread for each of `items`.
    ///
    /// # Errors
    /// [`Error::LaunchTooLarge`] beyond 2^31 - 1 blocks.
    pub fn for_each<A>(kernel: &Kernel<A>, items: u64) -> Result<Self> {
        let blocks = items.div_ceil(u64::from(kernel.host.block));
        if blocks > MAX_X {
            return Err(Error::LaunchTooLarge { kernel: kernel.host.name, blocks });
        }
        Ok(Self::x(blocks as u32))
    }
}

impl Gpu {
    /// Enqueues a launch of `kernel`. Block size and shared memory come with its declaration, and `arguments` is
    /// the struct that the declaration made. Without blocks nothing is launched.
    ///
    /// Each slice among the arguments is admitted as by [`Gpu::admit`]: the launch is in order with the slice's own
    /// stream. If the owner of a buffer frees it without regard to streams, as `cust` does, each launch waits for the
    /// device.
    ///
    /// # Errors
    /// - [`Error::Driver`]: the driver refused the launch.
    /// - [`Error::Architecture`]: the device is too old for the kernel's module.
    /// - The errors of [`Gpu::admit`].
    ///
    /// A later call that waits reports what fails while the kernel runs.
    ///
    /// # Safety
    /// The arguments satisfy the kernel's own safety section. Memory behind raw pointers belongs to this handle's
    /// device, and is admitted. It stays allocated until the stream has passed the launch. A [`Column`](crate::Column)
    /// of this handle may be dropped after the call: its memory stays long enough.
    pub unsafe fn enqueue<A: Arguments>(
        &self,
        kernel: Kernel<A>,
        blocks: Blocks,
        arguments: A,
    ) -> Result<()> {
        let _orders = self.admit_all(&arguments)?;
        let shared_bytes = kernel.shared_bytes(&arguments);
        // SAFETY: the pointers are to values of the kernel's parameter types, in order; the rest is
        // passed on to the caller.
        arguments.with_pointers(|pointers| unsafe {
            self.launch(kernel.host, blocks, shared_bytes, pointers)
        })
    }

    /// What is the same for all types of arguments.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue); a pointer to each argument, in order.
    unsafe fn launch(
        &self,
        kernel: &'static HostKernel,
        blocks: Blocks,
        shared_bytes: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        if blocks.x == 0 || blocks.y == 0 {
            return Ok(());
        }
        let _current = self.make_current()?;
        let opened = &self.opened;
        let function = opened.modules.function(kernel, &opened.properties)?;
        // SAFETY: passed on to the caller.
        let code = unsafe {
            sys::cuLaunchKernel(
                function,
                blocks.x,
                blocks.y,
                1,
                kernel.block,
                1,
                1,
                shared_bytes,
                self.stream.raw(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check(kernel.name, code)
    }
}
