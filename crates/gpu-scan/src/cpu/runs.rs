//! Runs of equal keys and segments.

use bytemuck::{cast, cast_slice};
use device_std::scalar::Scalar;
use kernels_rs::primitives::operators::Operator;
use kernels_rs::primitives::reduce_by_key;
use kernels_rs::primitives::segment_totals::lanes_log2;

use super::CHUNK;
use super::reduce::reduce_segment;
use super::segments::{Keys, Segments, check_rising};
use super::select::{is_head, unique};
use super::stretches::totals;
use crate::error::{Result, same_len};
use crate::{Number, ReduceOperator};
use gpu_core::parallel::{map, map_ranges};

/// Returns the first element and the length of each run of elements with equal bits.
///
/// ```
/// let (values, lengths) = gpu_scan::cpu::run_lengths(&[7, 7, 7, 4, 7]);
/// assert_eq!(values, [7, 4, 7]);
/// assert_eq!(lengths, [3, 1, 1]);
/// ```
pub fn run_lengths<T: Number>(input: &[T]) -> (Vec<T>, Vec<u64>) {
    let heads = heads(input);
    let end = |run: usize| heads.get(run + 1).copied().unwrap_or(input.len());
    let lengths = heads.iter().enumerate().map(|(run, head)| (end(run) - head) as u64).collect();
    (heads.iter().map(|&head| input[head]).collect(), lengths)
}

/// Returns the key of each run of keys with equal bits, and the combination of the run's values.
///
/// ```
/// use gpu_scan::{Max, cpu};
///
/// let (keys, greatest) = cpu::reduce_by_key(Max, &[1, 1, 2], &[3.0, 9.0, 5.0])?;
/// assert_eq!((keys, greatest), (vec![1, 2], vec![9.0, 5.0]));
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is a value for each key.
pub fn reduce_by_key<K: Number, T: Number, O: ReduceOperator<T>>(
    operator: O,
    keys: &[K],
    values: &[T],
) -> Result<(Vec<K>, Vec<T>)> {
    same_len("values", keys.len(), values.len())?;
    let stretch = reduce_by_key::stretch(size_of::<K>() + size_of::<T>());
    let elements: &[O::Element] = cast_slice(values);
    let totals = totals(operator.kernel(), stretch, elements, Segments::Keys(Keys::new(keys)));
    Ok((unique(keys), totals.into_iter().map(cast).collect()))
}

/// Combines the elements of each segment; segment s is `offsets[s]..offsets[s + 1]`. An empty segment has the result of
/// [`reduce`](super::reduce) for no elements.
///
/// ```
/// use gpu_scan::{Sum, cpu};
///
/// // Three segments: the first two elements, none, the last.
/// assert_eq!(cpu::segmented_reduce(Sum, &[0, 2, 2, 3], &[10, 20, 5])?, [30, 0, 5]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`segmented_scan`](super::segmented_scan).
pub fn segmented_reduce<T: Number, O: ReduceOperator<T>>(
    operator: O,
    offsets: &[u64],
    values: &[T],
) -> Result<Vec<T>> {
    check_rising(offsets, values.len())?;
    let (kernel, elements): (_, &[O::Element]) = (operator.kernel(), cast_slice(values));
    let lanes = 1 << lanes_log2(values.len() as u64, offsets.len().saturating_sub(1) as u64);
    let totals = reduce_segments(kernel, lanes, offsets, elements);
    Ok(totals.into_iter().map(cast).collect())
}

/// The same over elements as kernels see them, of which there are fewer kinds.
fn reduce_segments<E, P>(kernel: P, lanes: usize, offsets: &[u64], elements: &[E]) -> Vec<E>
where
    E: Scalar + Send + Sync,
    P: Operator<E> + Send + Sync,
{
    map(offsets.len().saturating_sub(1), 1, |s| {
        let segment = &elements[offsets[s] as usize..offsets[s + 1] as usize];
        kernel.lower(reduce_segment(kernel, lanes, segment))
    })
}

/// Where the runs of elements with equal bits begin.
fn heads<T: Number>(input: &[T]) -> Vec<usize> {
    let heads = map_ranges(input.len(), CHUNK, &|range| {
        range.filter(|&i| is_head(input, i, input[i])).collect::<Vec<usize>>()
    });
    heads.concat()
}
