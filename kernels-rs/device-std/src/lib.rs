#![doc = include_str!("../README.md")]
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, core_float_math, link_llvm_intrinsics, stdarch_nvptx)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]
#![deny(missing_docs)]

extern crate self as device_std;

/// Declares a kernel: its PTX entry, the struct of its arguments, the constant that is launched, and
/// what the software device runs. The crate `device-macros` says all that can be declared.
///
/// ```
/// use device_std::host::PtxModule;
/// use device_std::{kernel, thread};
///
/// static MODULE: PtxModule = PtxModule { name: "maps", images: &[] };
///
/// /// `x[i] *= factor`. Grid: a thread for each element.
/// ///
/// /// # Safety
/// /// `x` has `len` elements.
/// #[kernel(block = 256, shared = 2 * size_of::<T>(), instances(f32: <f32>; f64: <f64>))]
/// pub unsafe fn scale<T: Copy + std::ops::Mul<Output = T>>(x: *mut T, factor: T, len: u64) {
///     let i = thread::index_1d();
///     if i < len {
///         // SAFETY: guarded.
///         unsafe { *x.add(i as usize) = *x.add(i as usize) * factor };
///     }
/// }
///
/// fn main() {
///     assert_eq!(scale::f64.host.entry_name(), "maps__scale_f64");
///     let arguments = scale::Args { x: std::ptr::null_mut(), factor: 2.0_f32, len: 0 };
///     let kernel = <f32 as scale::Instance>::KERNEL;
///     assert_eq!((kernel.host.block, kernel.shared_bytes(&arguments)), (256, 8));
/// }
/// ```
///
/// Arguments cannot change places, nor be forgotten:
///
/// ```compile_fail,E0063
/// # use device_std::{host::PtxModule, kernel};
/// # static MODULE: PtxModule = PtxModule { name: "maps", images: &[] };
/// #[kernel(block = 256)]
/// unsafe fn fill(x: *mut f32, len: u32, value: u32) {}
///
/// fn main() {
///     let _ = fill::Args { x: std::ptr::null_mut(), len: 1 };
/// }
/// ```
pub use device_macros::kernel;

/// Makes a struct one argument of a kernel: slices, options of slices, scalars, arrays of scalars, and other
/// such structs. The crate `device-macros` has the rules.
pub use device_macros::arguments;

#[doc(hidden)]
pub use device_macros::{arguments_of_structs, kernel_of_structs};

pub use slice::{In, Out};

pub mod atomic;
pub mod block;
pub mod global;
#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
pub mod lookback;
pub mod math;
mod module;
pub mod power;
pub mod real;
pub mod scalar;
pub mod search;
pub mod shared;
pub mod slice;
pub mod thread;
pub mod tile;
pub mod vector;
pub mod warp;
