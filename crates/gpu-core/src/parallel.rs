//! Loops on all cores of the host, for the CPU code of Tessera's crates.
//!
//! Only [`for_ranges`], [`join`] and the sorts call rayon, and none of them is generic in its elements or in the loops of
//! callers. Each use of rayon's own iterators compiles their splitting, stealing and joining again, which took half of
//! the build time of some crates. Here a use compiles only its own loop.
//!
//! `grain` is the least count of numbers that is worth a task: thousands if a number means an addition, one if it means
//! a row of a raster. Results do not depend on it, nor on the number of threads.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::large_pages::prefer_large_pages;

/// Tasks of a core: several, so that none waits long for the slowest.
const TASKS_OF_CORE: usize = 8;

/// A grain for loops of a few operations on each number.
pub const FINE: usize = 4096;

/// Calls `work` with ranges that together make up `0..count`. Each has at least `grain` numbers, except the last.
pub fn for_ranges(count: usize, grain: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    let len = len_of_range(count, grain);
    match count.div_ceil(len) {
        0 => {}
        1 => work(0..count),
        tasks => (0..tasks).into_par_iter().for_each(|task| {
            work(task * len..count.min((task + 1) * len));
        }),
    }
}

/// Returns how many numbers each range of [`for_ranges`] has, except the last: for work on several arrays.
#[must_use]
pub fn len_of_range(count: usize, grain: usize) -> usize {
    count.div_ceil(TASKS_OF_CORE * rayon::current_num_threads()).max(grain).max(1)
}

/// Returns the results of `work` for ranges that together make up `0..count`, in order.
pub fn map_ranges<R: Send>(
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

/// Returns the results of `work` for the numbers below `count`, in order.
pub fn map<R: Send>(count: usize, grain: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    map_init(count, grain, || (), |(), i| work(i))
}

/// Maps like [`map`], with a state of its own for each range of numbers.
pub fn map_init<R: Send, S>(
    count: usize,
    grain: usize,
    init: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> R + Sync,
) -> Vec<R> {
    let mut all = Vec::with_capacity(count);
    prefer_large_pages(&all);
    extend(&mut all, count, grain, init, work);
    all
}

/// Adds what [`map_init`] returns to a vector that has room for it.
pub(crate) fn extend<R: Send, S>(
    vec: &mut Vec<R>,
    count: usize,
    grain: usize,
    init: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> R + Sync,
) {
    let len = vec.len();
    let room: &mut [MaybeUninit<R>] = &mut vec.spare_capacity_mut()[..count];
    for_parts(room, 1, grain, &|first, part| {
        let mut own = init();
        for (i, element) in part.iter_mut().enumerate() {
            element.write(work(&mut own, first + i));
        }
    });
    // SAFETY: `for_parts` came back, so every part was written to its end, and the parts cover all of the new elements.
    // If a task panics, this line is not reached, and what the task wrote is forgotten.
    unsafe { vec.set_len(len + count) };
}

/// Calls both functions, at the same time if a core is free.
pub fn join(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
    rayon::join(a, b);
}

/// Sorts numbers.
pub fn sort(numbers: &mut [u64]) {
    numbers.par_sort_unstable();
}

/// Sorts keys, each with the index of its element.
pub fn sort_pairs(pairs: &mut [(u64, u32)]) {
    pairs.par_sort_unstable();
}

/// Returns bits in the order of the numbers, the same for both zeros: keys for [`sort_pairs`].
#[must_use]
pub fn ordered_bits(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Returns the numbers below `count` that satisfy a condition, in order.
pub fn filter(count: u32, grain: usize, is: impl Fn(u32) -> bool + Sync) -> Vec<u32> {
    let parts = map_ranges(count as usize, grain, &|range| {
        (range.start as u32..range.end as u32).filter(|&i| is(i)).collect::<Vec<u32>>()
    });
    parts.concat()
}

/// Returns how many numbers below `count` satisfy a condition.
pub fn count(count: usize, grain: usize, is: impl Fn(usize) -> bool + Sync) -> u64 {
    let total = AtomicU64::new(0);
    for_ranges(count, grain, &|range| {
        total.fetch_add(range.filter(|&i| is(i)).count() as u64, Ordering::Relaxed);
    });
    total.into_inner()
}

/// Returns the first number below `count` that satisfies a condition.
pub fn first(count: usize, grain: usize, is: impl Fn(usize) -> bool + Sync) -> Option<usize> {
    let least = AtomicUsize::new(usize::MAX);
    for_ranges(count, grain, &|mut range| {
        // Behind a number that was found none is the first.
        if range.start < least.load(Ordering::Relaxed)
            && let Some(i) = range.find(|&i| is(i))
        {
            least.fetch_min(i, Ordering::Relaxed);
        }
    });
    Some(least.into_inner()).filter(|&i| i < usize::MAX)
}

/// Calls `work` with each element and its number.
pub fn for_each<T: Send>(array: &mut [T], grain: usize, work: impl Fn(usize, &mut T) + Sync) {
    for_parts(array, 1, grain, &|first, part| {
        part.iter_mut().enumerate().for_each(|(i, element)| work(first + i, element));
    });
}

/// Calls `work` with each chunk of `len` elements and its number. The last chunk may be shorter.
///
/// # Panics
/// Panics if `len` is 0.
pub fn for_chunks<T: Send>(array: &mut [T], len: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    for_chunks_init(array, len, || (), |(), i, chunk| work(i, chunk));
}

/// Calls `work` like [`for_chunks`], with a state of its own for each range of chunks.
///
/// # Panics
/// Panics if `len` is 0.
pub fn for_chunks_init<T: Send, S>(
    array: &mut [T],
    len: usize,
    init: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, &mut [T]) + Sync,
) {
    assert!(len > 0, "chunks have at least one element");
    for_parts(array, len, 1, &|first, part| {
        let mut own = init();
        let chunks = (first / len..).zip(part.chunks_mut(len));
        chunks.for_each(|(i, chunk)| work(&mut own, i, chunk));
    });
}

/// Calls `work` with parts that together are the array, and where they begin: each of whole chunks of `len`
/// elements, but the last, and of at least `grain` chunks.
fn for_parts<T: Send>(
    array: &mut [T],
    len: usize,
    grain: usize,
    work: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let of_part = len * len_of_range(array.len().div_ceil(len), grain);
    let parts = Parts::new(array.chunks_mut(of_part));
    for_ranges(parts.len(), 1, &|range| {
        range.for_each(|part| work(part * of_part, &mut parts.part(part)));
    });
}

/// Parts of an array, one for each task.
pub struct Parts<'a, T>(Vec<Mutex<&'a mut [T]>>);

impl<'a, T> Parts<'a, T> {
    /// These.
    pub fn new(parts: impl Iterator<Item = &'a mut [T]>) -> Self {
        Self(parts.map(Mutex::new).collect())
    }

    /// Their number.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "parts are counted, not looked for")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns a part, for one task alone.
    pub fn part(&self, index: usize) -> MutexGuard<'_, &'a mut [T]> {
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
                let numbers = map(count, grain, |i| i.to_string());
                assert!(numbers.into_iter().eq((0..count).map(|i| i.to_string())));
                let ranges = map_ranges(count, grain, &|range| range);
                let len = len_of_range(count, grain);
                assert!(len >= grain && ranges.iter().rev().skip(1).all(|r| r.len() == len));
                let odd = filter(count as u32, grain, |i| i % 2 == 1);
                assert!(odd.into_iter().eq((1..count as u32).step_by(2)));
            }
        }
    }

    #[test]
    fn every_element_and_chunk_is_visited_once() {
        let mut array = vec![0_usize; 10_007];
        for_chunks(&mut array, 100, |chunk, part| part.iter_mut().for_each(|x| *x += chunk + 1));
        assert!(array.iter().enumerate().all(|(i, &x)| x == i / 100 + 1));
        for_each(&mut array, 64, |i, x| *x += i);
        assert!(array.iter().enumerate().all(|(i, &x)| x == i / 100 + 1 + i));
        for_chunks(&mut [0_u8; 0], 3, |_, _| panic!("there is none"));
    }

    #[test]
    #[should_panic(expected = "chunks have at least one element")]
    fn chunks_of_no_elements_panic() {
        for_chunks(&mut [0_u8; 0], 0, |_, _| ());
    }

    #[test]
    fn what_is_wanted_is_counted_and_the_first_is_found() {
        for at in [0, 1, 4999, 9999] {
            assert_eq!(first(10_000, 1, |i| i >= at), Some(at));
            assert_eq!(count(10_000, 16, |i| i >= at), 10_000 - at as u64);
        }
        assert_eq!(first(10_000, 7, |_| false), None);
    }

    #[test]
    fn a_panic_comes_through_and_leaves_nothing_to_drop_twice() {
        let run = || map(1000, 1, |i| if i == 500 { panic!("no") } else { vec![i] });
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
