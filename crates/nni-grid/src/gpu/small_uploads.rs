//! Writes a few numbers of the host to device memory without a copy, so that a graph can hold it.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::nni::pixels::values::Scales;
use kernels_rs::nni::small_uploads as kernels;

use crate::{Result, ValueScale};

/// Enqueues launches that write numbers, which are their arguments, into a new column.
pub(crate) fn put_numbers(gpu: &Gpu, numbers: &[f64]) -> Result<Column<f64>> {
    // SAFETY: the launches write every element; each has its part.
    unsafe {
        let mut column = gpu.uninitialized::<f64>(numbers.len())?;
        for (launch, part) in numbers.chunks(kernels::MAX_PUT).enumerate() {
            let mut padded = [0.0; kernels::MAX_PUT];
            padded[..part.len()].copy_from_slice(part);
            let (first, count) = (launch * kernels::MAX_PUT, part.len() as u32);
            let output = column.slice_mut(first..first + part.len())?.output();
            let arguments = kernels::put_numbers::Args { numbers: padded, count, output };
            gpu.enqueue(kernels::put_numbers, Blocks::x(1), arguments)?;
        }
        Ok(column)
    }
}

/// The same with the scales of values, as the kernels read them.
pub(crate) fn put_scales(
    gpu: &Gpu,
    scales: impl IntoIterator<Item = ValueScale>,
) -> Result<Column<f64>> {
    let in_memory = |scale: ValueScale| Scales::in_memory(scale.offset, scale.step);
    let numbers: Vec<f64> = scales.into_iter().flat_map(in_memory).collect();
    put_numbers(gpu, &numbers)
}
