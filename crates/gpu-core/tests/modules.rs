//! Kernels are told apart by module and name.

mod common;

use device_std::host::{PtxImage, PtxModule, PtxText};
use gpu_core::{Blocks, Gpu, Result};

/// A module `$module` with the kernel `gather`, which writes `$value`.
macro_rules! module {
    ($module:ident, $value:literal) => {
        mod $module {
            use super::*;
            use device_std::kernel;

            static MODULE: PtxModule = PtxModule {
                name: stringify!($module),
                images: &[PtxImage {
                    level: 75,
                    text: PtxText::Plain(concat!(
                        ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry ",
                        stringify!($module),
                        "__gather(\n.param .u64 output\n)\n{\n.reg .b64 %o;\n",
                        "ld.param.u64 %o, [output];\ncvta.to.global.u64 %o, %o;\n",
                        "st.global.u32 [%o], ",
                        stringify!($value),
                        ";\nret;\n}\n",
                    )),
                }],
            };

            /// # Safety
            /// `output` has an element.
            #[kernel(block = 1)]
            pub unsafe fn gather(output: *mut u32) {
                // SAFETY: passed on to the caller.
                unsafe { *output = $value };
            }

            pub fn run(gpu: &Gpu) -> Result<u32> {
                let mut output = gpu.zeroed(1)?;
                let arguments = gather::Args { output: output.as_mut_ptr() };
                // SAFETY: the column has one element.
                unsafe { gpu.enqueue(gather, Blocks::x(1), arguments)? };
                Ok(output.to_host()?[0])
            }
        }
    };
}

module!(left, 7);
module!(right, 11);

#[test]
fn two_modules_may_have_a_kernel_of_the_same_name() {
    let gpu = common::gpu();
    for _ in 0..2 {
        assert_eq!((left::run(&gpu).unwrap(), right::run(&gpu).unwrap()), (7, 11));
    }
}
