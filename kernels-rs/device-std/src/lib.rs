#![doc = include_str!("../README.md")]
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_ptx, asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx)
)]

extern crate self as device_std;

pub use device_macros::kernel;

#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
pub mod shared;
pub mod thread;
pub mod warp;
