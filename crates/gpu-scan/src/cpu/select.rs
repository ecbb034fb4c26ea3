//! Selections and partitions: tasks select from chunks in parallel, and the results are joined in order.

use super::CHUNK;
use crate::error::{Result, same_len};
use crate::{Number, Predicate};
use gpu_core::parallel::map_ranges;

/// Returns the elements that satisfy a condition, in their order.
///
/// ```
/// use gpu_scan::{Predicate, cpu};
///
/// let heights = [3.0, f32::NAN, -1.0, 8.0];
/// assert_eq!(cpu::select_if(Predicate::at_least(0.0), &heights), [3.0, 8.0]);
/// ```
pub fn select_if<T: Number>(predicate: Predicate<T>, input: &[T]) -> Vec<T> {
    keep(input, |_, element| predicate.holds(element))
}

/// Returns the elements whose flag is not 0, in their order.
///
/// ```
/// assert_eq!(gpu_scan::cpu::select_flagged(&[1, 0, 0, 1], &[10, 20, 30, 40])?, [10, 40]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is a flag for each element.
pub fn select_flagged<T: Number>(flags: &[u8], input: &[T]) -> Result<Vec<T>> {
    same_len("flags", input.len(), flags.len())?;
    Ok(keep(input, |i, _| flags[i] != 0))
}

/// Returns the first element of each run of equal elements, compared by their bits.
///
/// ```
/// assert_eq!(gpu_scan::cpu::unique(&[1, 1, 2, 2, 2, 1]), [1, 2, 1]);
/// ```
pub fn unique<T: Number>(input: &[T]) -> Vec<T> {
    keep(input, |i, element| is_head(input, i, element))
}

/// Returns the elements that satisfy a condition, and the others, both in their order.
///
/// ```
/// use gpu_scan::{Predicate, cpu};
///
/// let (low, others) = cpu::partition(Predicate::less_than(3), &[5, 1, 4, 2]);
/// assert_eq!((low, others), (vec![1, 2], vec![5, 4]));
/// ```
pub fn partition<T: Number>(predicate: Predicate<T>, input: &[T]) -> (Vec<T>, Vec<T>) {
    (select_if(predicate, input), select_if(predicate.not(), input))
}

/// Returns three lists, each in the order of the elements: elements below `low`, elements from `low` to `high` (both
/// included), and all others, such as NaN.
///
/// ```
/// let [low, middle, high] = gpu_scan::cpu::partition_three((3, 5), &[9, 3, 1, 5, 2])?;
/// assert_eq!((low, middle, high), (vec![1, 2], vec![3, 5], vec![9]));
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Thresholds`](crate::Error::Thresholds) unless `low <= high`.
pub fn partition_three<T: Number>((low, high): (T, T), input: &[T]) -> Result<[Vec<T>; 3]> {
    Ok(Predicate::three(low, high)?.map(|class| select_if(class, input)))
}

pub(super) fn is_head<T: Number>(input: &[T], i: usize, element: T) -> bool {
    i == 0 || input[i - 1].bits() != element.bits()
}

fn keep<T: Number>(input: &[T], keep: impl Fn(usize, T) -> bool + Sync) -> Vec<T> {
    let parts = map_ranges(input.len(), CHUNK, &|range| {
        range.filter(|&i| keep(i, input[i])).map(|i| input[i]).collect::<Vec<T>>()
    });
    parts.concat()
}
