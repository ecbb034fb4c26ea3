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
/// use device_std::{Out, kernel, thread};
///
/// static MODULE: PtxModule = PtxModule { name: "maps", images: &[] };
///
/// /// `x[i] *= factor`. Grid: a thread for each element.
/// ///
/// /// # Safety
/// /// `x` has `len` elements.
/// #[kernel(block = 256, shared = 2 * size_of::<T>(), instances(f32: <f32>; f64: <f64>))]
/// pub unsafe fn scale<T: Copy + std::ops::Mul<Output = T>>(x: Out<'_, T>, factor: T, len: u64) {
///     let i = thread::index_1d();
///     if i < len {
///         x.set(i, x.get(i) * factor);
///     }
/// }
///
/// fn main() {
///     assert_eq!(scale::f64.host.entry_name(), "maps__scale_f64");
///     let mut column = [1.0_f32; 4];
///     // SAFETY: it has four elements, and nothing is launched.
///     let x = unsafe { Out::from_raw_parts(column.as_mut_ptr(), 4) };
///     let arguments = scale::Args { x, factor: 2.0_f32, len: 4 };
///     let kernel = <f32 as scale::Instance>::KERNEL;
///     assert_eq!((kernel.host.block, kernel.shared_bytes(&arguments)), (256, 8));
/// }
/// ```
///
/// Instances are found by what the declaration calls their key:
///
/// ```
/// # use device_std::{Out, host::PtxModule, kernel};
/// # static MODULE: PtxModule = PtxModule { name: "maps", images: &[] };
/// #[kernel(block = 64, key: [u32; 2] = [N, ROWS], instances(
///     small: <1, 8>; tall: <1, 32>; wide: <4, 8>
/// ))]
/// pub unsafe fn fill<const N: u32, const ROWS: u32>(out: Out<'_, u32>) {}
///
/// #[kernel(block = 64, key: u32 = KEPT, instances(
///     f32_8: <f32, 8>; f32_16: <f32, 16>; f64_8: <f64, 8>
/// ))]
/// pub unsafe fn nearest<T: Copy, const KEPT: u32>(out: Out<'_, T>) {}
///
/// fn main() {
///     let name = |kernel: device_std::host::Kernel<fill::Args>| kernel.host.name;
///     assert_eq!(fill::ALL.map(|(key, _)| key), [[1, 8], [1, 32], [4, 8]]);
///     assert_eq!(fill::find(|[n, rows]| *n >= 1 && *rows > 8).map(name), Some("fill_tall"));
///     assert!(fill::find(|[n, _]| *n > 4).is_none());
///
///     use nearest::Instances;
///     assert_eq!(f32::find(|kept| *kept >= 9).unwrap().host.name, "nearest_f32_16");
///     assert!(f64::find(|kept| *kept >= 9).is_none());
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
/// such structs. The crate `device-macros` has the rules and an example of a kernel with its launch.
///
/// ```
/// use device_std::host::PtxModule;
/// use device_std::{In, Out, arguments, kernel, thread};
///
/// static MODULE: PtxModule = PtxModule { name: "maps", images: &[] };
///
/// /// Heights, and which of them count.
/// #[arguments]
/// pub struct Heights<'a> {
///     /// `count` of them.
///     pub heights: In<'a, f32>,
///     /// As many; all count where there is none.
///     pub mask: Option<In<'a, u8>>,
///     /// How many there are.
///     pub count: u32,
/// }
///
/// /// Lifts every height that counts. Grid: a thread a height.
/// ///
/// /// # Safety
/// /// The slices have what [`struct@Heights`] says; `out` has as many elements.
/// #[kernel(block = 256)]
/// pub unsafe fn lift(heights: Heights<'_>, by: f32, out: Out<'_, f32>) {
///     let i = thread::index_1d();
///     let Heights { heights, mask, count } = heights;
///     if i < count as u64 && mask.is_none_or(|mask| mask.get(i) != 0) {
///         out.set(i, heights.get(i) + by);
///     }
/// }
///
/// // Passed as heights, mask, count, by and out: as five scalars.
/// fn main() {
///     assert_eq!(lift.host.parameters.len(), 5);
/// }
/// ```
pub use device_macros::arguments;

#[doc(hidden)]
pub use device_macros::{arguments_of_structs, kernel_of_structs};

pub use slice::{In, Out};

#[cfg(target_arch = "nvptx64")]
mod approximate;
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
