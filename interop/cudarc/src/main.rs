//! Buffers and a stream of `cudarc`'s in Tessera's functions: the prefix sums of a million numbers,
//! on the first NVIDIA GPU.

use std::error::Error;

use cudarc::driver::{CudaContext, CudaSlice};
use gpu_core::Gpu;
use gpu_scan::gpu::Workspace;
use gpu_scan::{Scan, Sum};

fn main() -> Result<(), Box<dyn Error>> {
    // cudarc ends the program where there is no driver; this says so first.
    drop(Gpu::open(gpu_core::DeviceChoice::Cuda(0))?);

    // What a program that uses cudarc has: a context, a stream, buffers.
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let numbers: CudaSlice<u32> = stream.clone_htod(&vec![1_u32; 1_000_000])?;
    let mut sums: CudaSlice<u32> = stream.alloc_zeros(numbers.len())?;

    // They go into Tessera's functions as they are.
    let gpu = Gpu::from_cudarc(&stream)?;
    let mut workspace = Workspace::new(&gpu)?;
    gpu_scan::gpu::scan(&mut workspace, Sum, Scan::inclusive(), &numbers, &mut sums)?;

    let host = stream.clone_dtoh(&sums)?; // ordered after the scan
    println!("on {}: the last sum is {}", gpu.name(), host[host.len() - 1]);
    assert!(host.iter().zip(1..).all(|(sum, expected)| *sum == expected));
    Ok(())
}
