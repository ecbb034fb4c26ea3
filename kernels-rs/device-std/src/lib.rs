#![doc = include_str!("../README.md")]
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, core_float_math, link_llvm_intrinsics, stdarch_nvptx)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]
#![deny(missing_docs)]

extern crate self as device_std;

pub use device_macros::kernel;

pub mod atomic;
pub mod block;
pub mod global;
#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
pub mod lookback;
pub mod math;
mod module;
pub mod real;
pub mod scalar;
pub mod shared;
pub mod thread;
pub mod tile;
pub mod vector;
pub mod warp;
