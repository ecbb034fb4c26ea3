//! What the tests share: the process's GPU, and a kernel of their own.
#![allow(dead_code)]

use device_std::host::{PtxImage, PtxModule, PtxText};
use device_std::{Out, arguments, kernel, thread};
use gpu_core::{Blocks, DeviceChoice, Gpu, Result, SliceMut};

pub fn choice() -> DeviceChoice {
    DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software)
}

pub fn gpu() -> Gpu {
    Gpu::open(choice()).unwrap()
}

/// A column and what it is scaled by.
#[arguments]
pub struct Scaled<'a> {
    /// `n` elements.
    pub x: Out<'a, f32>,
    pub a: f32,
    pub n: u32,
}

/// `x[i] = a * x[i] + i`.
///
/// # Safety
/// `x` has `n` elements.
#[kernel(block = 256)]
pub unsafe fn scale_and_add(scaled: Scaled<'_>) {
    let Scaled { x, a, n } = scaled;
    let i = thread::index_1d();
    if i < u64::from(n) {
        x.set(i, a * x.get(i) + i as f32);
    }
}

/// Enqueues the kernel on all of a slice.
pub fn enqueue<'a>(gpu: &Gpu, x: impl Into<SliceMut<'a, f32>>, a: f32) -> Result<()> {
    let x = x.into();
    let n = x.len() as u32;
    let blocks = Blocks::for_each(&scale_and_add, u64::from(n))?;
    let scaled = Scaled { x: x.output(), a, n };
    // SAFETY: `x` has `n` elements.
    unsafe { gpu.enqueue(scale_and_add, blocks, scale_and_add::Args { scaled }) }
}

/// The module of this test's kernel: its PTX is written by hand.
static MODULE: PtxModule = PtxModule {
    name: "gpu_core_test",
    images: &[PtxImage { level: 75, text: PtxText::Plain(include_str!("../scale_and_add.ptx")) }],
};

pub fn run(gpu: &Gpu, host: &[f32], a: f32) -> Vec<f32> {
    let mut x = gpu.upload(host).unwrap();
    enqueue(gpu, &mut x, a).unwrap();
    x.to_host().unwrap()
}

pub fn expected(host: &[f32], a: f32) -> Vec<f32> {
    host.iter().enumerate().map(|(i, x)| a * x + i as f32).collect()
}
