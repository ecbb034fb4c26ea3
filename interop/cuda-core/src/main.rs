//! Buffers and a stream of `cuda-core`'s in Tessera's functions: the prefix sums of a million numbers,
//! on the first NVIDIA GPU.

use std::error::Error;

use cuda_core::{Context, DeviceBuffer};
use gpu_core::Gpu;
use gpu_scan::gpu::Workspace;
use gpu_scan::{Scan, Sum};

fn main() -> Result<(), Box<dyn Error>> {
    // What a program that uses cuda-core has: a context, a stream, buffers.
    let context = Context::new(0)?;
    let stream = context.new_stream()?;
    let numbers = DeviceBuffer::from_host(&stream, &vec![1_u32; 1_000_000])?;
    let mut sums = DeviceBuffer::<u32>::zeroed(&stream, numbers.len())?;

    // They go into Tessera's functions as they are.
    let gpu = Gpu::from_cuda_core(&stream)?;
    let mut workspace = Workspace::new(&gpu)?;
    gpu_scan::gpu::scan(&mut workspace, Sum, Scan::inclusive(), &numbers, &mut sums)?;

    let host = sums.to_host_vec(&stream)?; // ordered after the scan
    println!("on {}: the last sum is {}", gpu.name(), host[host.len() - 1]);
    assert!(host.iter().zip(1..).all(|(sum, expected)| *sum == expected));
    Ok(())
}
