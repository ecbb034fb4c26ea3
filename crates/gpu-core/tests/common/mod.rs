//! What the tests share: the process's GPU, and a kernel of their own.
#![allow(dead_code)]

use device_std::host::{PtxImage, PtxModule, PtxText};
use device_std::{kernel, thread};
use gpu_core::{Blocks, DeviceChoice, Gpu};

pub fn choice() -> DeviceChoice {
    DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software)
}

pub fn gpu() -> Gpu {
    Gpu::open(choice()).unwrap()
}

/// `x[i] = a * x[i] + i`.
///
/// # Safety
/// `x` has `n` elements.
#[kernel(block = 256)]
pub unsafe fn scale_and_add(x: *mut f32, a: f32, n: u32) {
    let i = thread::index_1d();
    if i < u64::from(n) {
        // SAFETY: `i < n`.
        unsafe { *x.add(i as usize) = a * *x.add(i as usize) + i as f32 };
    }
}

/// The module of this test's kernel: its PTX is written by hand.
static MODULE: PtxModule = PtxModule {
    name: "gpu_core_test",
    images: &[PtxImage { level: 75, text: PtxText::Plain(include_str!("../scale_and_add.ptx")) }],
};

pub fn run(gpu: &Gpu, host: &[f32], a: f32) -> Vec<f32> {
    let mut x = gpu.upload(host).unwrap();
    let n = x.len() as u32;
    let blocks = Blocks::for_each(&scale_and_add, u64::from(n)).unwrap();
    // SAFETY: `x` has `n` elements.
    unsafe {
        gpu.enqueue(scale_and_add, blocks, scale_and_add::Args { x: x.as_mut_ptr(), a, n }).unwrap()
    };
    x.to_host().unwrap()
}

pub fn expected(host: &[f32], a: f32) -> Vec<f32> {
    host.iter().enumerate().map(|(i, x)| a * x + i as f32).collect()
}
