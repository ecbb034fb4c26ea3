//! Buffers and a stream of `cust`'s in Tessera's functions: the prefix sums of a million numbers.
//!
//! ```text
//! cargo run                      # on the first NVIDIA GPU
//! cargo run -- software          # on the software device
//! ```

use std::error::Error;
use std::sync::Arc;

use gpu_core::cust::context::Context;
use gpu_core::cust::device::Device;
use gpu_core::cust::memory::{CopyDestination, DeviceBuffer};
use gpu_core::cust::stream::{Stream, StreamFlags};
use gpu_core::{DeviceChoice, Gpu, cust_init};
use gpu_scan::gpu::Workspace;
use gpu_scan::{Scan, Sum};

fn main() -> Result<(), Box<dyn Error>> {
    let choice = std::env::args().nth(1).map_or(Ok(DeviceChoice::Cuda(0)), |name| name.parse())?;

    // What a program that uses cust has: a context, a stream, buffers.
    cust_init(choice)?; // instead of cust::init: finds the driver first
    let context = Context::new(Device::get_device(0)?)?;
    let stream = Arc::new(Stream::new(StreamFlags::NON_BLOCKING, None)?);
    let numbers = DeviceBuffer::from_slice(&vec![1_u32; 1_000_000])?;
    let mut sums = DeviceBuffer::<u32>::zeroed(numbers.len())?;

    // They go into Tessera's functions as they are.
    let gpu = Gpu::from_cust(&context, Arc::clone(&stream))?;
    let mut workspace = Workspace::new(&gpu)?;
    gpu_scan::gpu::scan(&mut workspace, Sum, Scan::inclusive(), &numbers, &mut sums)?;

    let mut host = vec![0; sums.len()];
    sums.copy_to(&mut host)?; // ordered after the scan
    println!("on {}: the last sum is {}", gpu.name(), host[host.len() - 1]);
    assert!(host.iter().zip(1..).all(|(sum, expected)| *sum == expected));
    Ok(())
}
