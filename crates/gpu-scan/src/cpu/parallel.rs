//! Work on all cores.
//!
//! What calls rayon is here and knows no type of element: the functions of this crate are generic over
//! eight of them and several operators, and each would make rayon's iterators anew.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

/// Tasks of a core: several, so that none waits long for the slowest.
const TASKS_OF_CORE: usize = 4;

/// Calls `work` with ranges that together are `0..count`, each of at least `grain` numbers but the last.
pub(super) fn for_ranges(count: usize, grain: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    let len = len_of_range(count, grain);
    match count.div_ceil(len) {
        0 => {}
        1 => work(0..count),
        tasks => (0..tasks).into_par_iter().for_each(|task| {
            work(task * len..count.min((task + 1) * len));
        }),
    }
}

/// How many numbers a task takes.
fn len_of_range(count: usize, grain: usize) -> usize {
    count.div_ceil(TASKS_OF_CORE * rayon::current_num_threads()).max(grain).max(1)
}

/// What `work` gives for ranges that together are `0..count`, in their order.
pub(super) fn map_ranges<R: Send>(
    count: usize,
    grain: usize,
    work: &(dyn Fn(Range<usize>) -> R + Sync),
) -> Vec<R> {
    let len = len_of_range(count, grain);
    let results: Vec<_> = (0..count.div_ceil(len)).map(|_| Mutex::new(None)).collect();
    for_ranges(count, grain, &|range| {
        let task = range.start / len;
        let result = work(range);
        *locked(&results[task]) = Some(result);
    });
    let taken = |result: Mutex<_>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().filter_map(taken).collect()
}

/// What `work` gives for each number below `count`, in their order.
pub(super) fn map<R: Send>(
    count: usize,
    grain: usize,
    work: &(dyn Fn(usize) -> R + Sync),
) -> Vec<R> {
    let parts = map_ranges(count, grain, &|range| range.map(work).collect::<Vec<R>>());
    parts.into_iter().flatten().collect()
}

/// Calls `work` with each chunk of `len` elements, of which the last may be shorter, and its number.
pub(super) fn for_chunks<T: Send>(
    array: &mut [T],
    len: usize,
    work: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let parts = Parts::new(array.chunks_mut(len));
    for_ranges(parts.len(), 1, &|range| range.for_each(|i| work(i, &mut parts.part(i))));
}

/// Parts of an array, which tasks share out among them.
pub(super) struct Parts<'a, T>(Vec<Mutex<&'a mut [T]>>);

impl<'a, T> Parts<'a, T> {
    pub(super) fn new(parts: impl Iterator<Item = &'a mut [T]>) -> Self {
        Self(parts.map(Mutex::new).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A part, which one task works on.
    pub(super) fn part(&self, index: usize) -> MutexGuard<'_, &'a mut [T]> {
        locked(&self.0[index])
    }
}

/// A task that panicked ends all, so nobody sees what it left half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_the_whole_and_results_come_in_order() {
        for count in [0, 1, 2, 63, 64, 65, 1000, 12_345] {
            for grain in [1, 64, 5000] {
                let numbers = map(count, grain, &|i| i);
                assert!(numbers.into_iter().eq(0..count), "{count} by {grain}");
                let ranges = map_ranges(count, grain, &|range| range);
                assert!(ranges.iter().rev().skip(1).all(|range| range.len() >= grain));
            }
        }
    }

    #[test]
    fn every_chunk_is_visited_once() {
        let mut array = vec![0_usize; 10_007];
        for_chunks(&mut array, 100, &|chunk, part| part.iter_mut().for_each(|x| *x += chunk + 1));
        assert!(array.iter().enumerate().all(|(i, &x)| x == i / 100 + 1));
    }
}
