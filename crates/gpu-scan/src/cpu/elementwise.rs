//! Elementwise primitives.

use kernels_rs::primitives::elementwise::Arithmetic;

use super::CHUNK;
use crate::error::{Result, same_len};
use crate::{Index, Number};
use gpu_core::parallel::for_chunks;

/// Sets every element to `value`.
///
/// ```
/// let mut column = [0.0; 3];
/// gpu_scan::cpu::fill(7.5, &mut column);
/// assert_eq!(column, [7.5, 7.5, 7.5]);
/// ```
pub fn fill<T: Number>(value: T, output: &mut [T]) {
    for_chunks(output, CHUNK, |_, chunk| chunk.fill(value));
}

/// Sets element i to `start + i * step`: wrapping for integers, two rounded operations for floats.
///
/// ```
/// let mut column = [0; 4];
/// gpu_scan::cpu::sequence(100, -10, &mut column);
/// assert_eq!(column, [100, 90, 80, 70]);
/// ```
pub fn sequence<T: Number>(start: T, step: T, output: &mut [T]) {
    let (start, step): (T::Sum, T::Sum) = (bytemuck::cast(start), bytemuck::cast(step));
    for_each(output, &|i, element| {
        *element = bytemuck::cast(T::Sum::step(start, step, i as u64));
    });
}

/// `output[i] = input[i] - input[i - 1]`, and the first element as it is; integers wrap.
///
/// ```
/// let mut steps = [0; 4];
/// gpu_scan::cpu::adjacent_difference(&[3, 4, 8, 6], &mut steps)?;
/// assert_eq!(steps, [3, 1, 4, -2]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length).
pub fn adjacent_difference<T: Number>(input: &[T], output: &mut [T]) -> Result<()> {
    same_len("output", input.len(), output.len())?;
    let element = |i: usize| -> T::Sum { bytemuck::cast(input[i]) };
    for_each(output, &|i, difference| {
        *difference = match i {
            0 => input[0],
            _ => bytemuck::cast(element(i).minus(element(i - 1))),
        };
    });
    Ok(())
}

/// `output[i] = input[indices[i]]`. If an index lies beyond the input, the call leaves the output's element unchanged.
///
/// ```
/// let mut output = [-1; 4];
/// gpu_scan::cpu::gather(&[2u32, 0, 9, 2], &[10, 20, 30], &mut output)?;
/// assert_eq!(output, [30, 10, -1, 30]); // there is no element 9
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is an index for each element of the output.
pub fn gather<T: Number, I: Index>(indices: &[I], input: &[T], output: &mut [T]) -> Result<()> {
    same_len("output", indices.len(), output.len())?;
    for_each(output, &|i, element| {
        if let Some(found) = input.get(indices[i].position()) {
            *element = *found;
        }
    });
    Ok(())
}

/// `output[indices[i]] = input[i]`. Indices should be distinct: if elements share an index, the call writes the last
/// one. The call ignores an element whose index lies beyond the output. It runs on one core.
///
/// ```
/// let mut output = [-1; 4];
/// gpu_scan::cpu::scatter(&[3u32, 0, 9], &[10, 20, 30], &mut output)?;
/// assert_eq!(output, [20, -1, -1, 10]); // there is no place 9
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is an index for each element of the input.
pub fn scatter<T: Number, I: Index>(indices: &[I], input: &[T], output: &mut [T]) -> Result<()> {
    same_len("indices", input.len(), indices.len())?;
    for (element, index) in input.iter().zip(indices) {
        if let Some(place) = output.get_mut(index.position()) {
            *place = *element;
        }
    }
    Ok(())
}

/// Transposes: `output[x * height + y] = input[y * width + x]`, where the height is the length divided by `width`.
///
/// ```
/// let mut output = [0; 6];
/// gpu_scan::cpu::transpose(3, &[1, 2, 3, 4, 5, 6], &mut output)?;
/// assert_eq!(output, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless the input consists of whole rows, and for another length of the output.
pub fn transpose<T: Number>(width: usize, input: &[T], output: &mut [T]) -> Result<()> {
    same_len("output", input.len(), output.len())?;
    let height = input.len().checked_div(width).unwrap_or(0);
    same_len("input", width * height, input.len())?;
    if !input.is_empty() {
        for_chunks(output, height, |x, column| {
            for (y, element) in column.iter_mut().enumerate() {
                *element = input[y * width + x];
            }
        });
    }
    Ok(())
}

/// Calls `work` with each element and its index.
fn for_each<T: Number>(array: &mut [T], work: &(impl Fn(usize, &mut T) + Sync)) {
    for_chunks(array, CHUNK, |chunk, part| {
        part.iter_mut().enumerate().for_each(|(i, element)| work(chunk * CHUNK + i, element));
    });
}
