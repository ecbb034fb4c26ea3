//! Typed kernel launches.

use std::ffi::c_void;

use cuda_driver::sys;
use device_std::host::Kernel;

use crate::driver::check;
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

    /// Blocks enough that each of `items` gets a thread.
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
    /// Enqueues a launch of `kernel`. Its block size comes with its declaration, and `arguments`
    /// is a tuple of exactly the parameters' types. No blocks: nothing happens.
    ///
    /// # Errors
    /// [`Error::Driver`] where the launch is refused, [`Error::Architecture`] where the device is
    /// too old for the kernel's module. What fails while the kernel runs is reported by a later
    /// call that waits.
    ///
    /// # Safety
    /// The arguments meet the kernel's own safety section, and the device memory that they point
    /// to stays allocated until the stream has passed the launch (a [`Column`](crate::Column) of
    /// this handle that is dropped after the call does).
    pub unsafe fn launch<A: Arguments>(
        &self,
        kernel: Kernel<A>,
        blocks: Blocks,
        shared_bytes: u32,
        arguments: A,
    ) -> Result<()> {
        if blocks.x == 0 || blocks.y == 0 {
            return Ok(());
        }
        self.make_current()?;
        let opened = &self.opened;
        let function = opened.modules.function(kernel.module(), kernel.host, &opened.properties)?;
        arguments.with_pointers(|pointers| {
            // SAFETY: the pointers are to values of the kernel's parameter types, in order; the
            // rest is passed on to the caller.
            let code = unsafe {
                sys::cuLaunchKernel(
                    function,
                    blocks.x,
                    blocks.y,
                    1,
                    kernel.host.block,
                    1,
                    1,
                    shared_bytes,
                    self.stream.raw,
                    pointers.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            };
            check(kernel.host.name, code)
        })
    }
}

/// A tuple of kernel arguments: scalars and raw pointers.
pub trait Arguments {
    /// Calls `f` with a pointer to each argument.
    fn with_pointers<R>(self, f: impl FnOnce(&mut [*mut c_void]) -> R) -> R;
}

macro_rules! arguments {
    ($($name:ident)+) => {
        impl<$($name: Copy),+> Arguments for ($($name,)+) {
            #[allow(non_snake_case)]
            fn with_pointers<R>(self, f: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
                let ($(mut $name,)+) = self;
                f(&mut [$((&raw mut $name).cast()),+])
            }
        }
    };
}

arguments!(A);
arguments!(A B);
arguments!(A B C);
arguments!(A B C D);
arguments!(A B C D E);
arguments!(A B C D E F);
arguments!(A B C D E F G);
arguments!(A B C D E F G H);
arguments!(A B C D E F G H I);
arguments!(A B C D E F G H I J);
arguments!(A B C D E F G H I J K);
arguments!(A B C D E F G H I J K L);
arguments!(A B C D E F G H I J K L M);
arguments!(A B C D E F G H I J K L M N);
arguments!(A B C D E F G H I J K L M N O);
arguments!(A B C D E F G H I J K L M N O P);
arguments!(A B C D E F G H I J K L M N O P Q);
arguments!(A B C D E F G H I J K L M N O P Q S);
