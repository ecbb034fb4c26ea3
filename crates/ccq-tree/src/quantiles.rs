//! Boundaries of bins by quantiles.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use gpu_core::{GridView, host_memory, parallel};
use rayon::prelude::*;

use crate::cell::exact_key;
use crate::params::MAX_BINS;
use crate::{Cell, Error, Result};

/// Boundaries that cut the values of a raster into `bins` bins of about as many cells each, for
/// [`Params::bins`](crate::Params::bins).
///
/// Of n values in order, boundary i is the one before which `floor(i * n / bins)` stand. Where values repeat, boundaries
/// that would be equal are one, and the least value is none: then there are fewer bins. NaN and `nodata` do not count. On
/// all cores: values of 8 and 16 bits are counted, others sorted, in 4 bytes a cell.
///
/// # Errors
/// [`Error::Bins`] unless there are 1 to [`MAX_BINS`]; [`Error::Core`] where there is not the memory.
pub fn quantile_boundaries<T: Cell>(
    raster: GridView<'_, T>,
    nodata: Option<f64>,
    bins: usize,
) -> Result<Vec<f64>> {
    if bins == 0 || bins > MAX_BINS {
        return Err(Error::Bins { bins, most: MAX_BINS });
    }
    let nodata = nodata.and_then(exact_key::<T>);
    let key = |&value: &T| {
        let key = value.key();
        (value.is_number() && nodata != Some(key)).then_some(key)
    };
    let mut boundaries: Vec<u32> = match size_of::<T>() {
        1 | 2 => counted(raster.values(), T::ENDS.0, key, bins),
        _ => sorted(raster.values(), key, bins)?,
    };
    boundaries.dedup();
    Ok(boundaries.into_iter().map(|key| T::of_key(key).to_f64()).collect())
}

/// The ranks at which boundaries stand, of a number of values.
fn ranks(values: u64, bins: usize) -> impl Iterator<Item = u64> {
    let rank = move |i: usize| (u128::from(values) * i as u128 / bins as u128) as u64;
    (1..bins).map(rank).filter(move |&rank| rank > 0 && rank < values)
}

fn counted<T: Cell>(
    values: &[T],
    first: u32,
    key: impl Fn(&T) -> Option<u32> + Sync,
    bins: usize,
) -> Vec<u32> {
    let counts = Mutex::new(vec![0u64; 1 << 16]);
    parallel::for_ranges(values.len(), 1 << 20, &|range| {
        let mut own = vec![0u64; 1 << 16];
        values[range].iter().filter_map(&key).for_each(|key| own[(key - first) as usize] += 1);
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter_mut().zip(own).for_each(|(all, own)| *all += own);
    });
    let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    of_counts(&counts, first, bins)
}

/// The boundaries of keys that occur so often, from `first` on.
fn of_counts(counts: &[u64], first: u32, bins: usize) -> Vec<u32> {
    let total = counts.iter().sum();
    let least = counts.iter().position(|&count| count > 0).unwrap_or(0);
    let (mut at, mut until) = (0, counts[0]);
    let mut boundaries = Vec::new();
    for rank in ranks(total, bins) {
        while until <= rank {
            at += 1;
            until += counts[at];
        }
        if at > least {
            boundaries.push(at as u32 + first);
        }
    }
    boundaries
}

fn sorted<T: Cell>(
    values: &[T],
    key: impl Fn(&T) -> Option<u32> + Sync,
    bins: usize,
) -> Result<Vec<u32>> {
    host_memory::require(values.len() as u64 * 8)?;
    let of_range =
        |range: Range<usize>| values[range].iter().filter_map(&key).collect::<Vec<u32>>();
    let keys = parallel::map_ranges(values.len(), parallel::FINE, &of_range).concat();
    Ok(of_keys(keys, bins))
}

/// The boundaries of keys in any order.
fn of_keys(mut keys: Vec<u32>, bins: usize) -> Vec<u32> {
    keys.par_sort_unstable();
    let least = keys.first().copied();
    let at = ranks(keys.len() as u64, bins).map(|rank| keys[rank as usize]);
    at.filter(|&key| Some(key) != least).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_core::GridSpec;

    #[test]
    fn boundaries_part_the_values_evenly() {
        fn of<T: Cell>(values: &[T], bins: usize) -> Vec<f64> {
            let grid = GridSpec::of_pixels(values.len() as u32, 1);
            quantile_boundaries(GridView::new(values, grid).unwrap(), Some(9.0), bins).unwrap()
        }
        assert_eq!(of(&[3u8, 1, 2, 4, 9, 9], 4), [2.0, 3.0, 4.0]);
        assert_eq!(of(&[3i16, 1, 2, 4], 2), [3.0]);
        assert_eq!(of(&[-3.5f32, 1.0, f32::NAN, 2.0, 4.0], 2), [2.0]);
        assert_eq!(of(&[5i32, 5, 5, 5, 6, 6], 3), [6.0]);
        assert!(of(&[5u16, 5, 5], 8).is_empty());
        assert!(of::<u32>(&[], 8).is_empty());
        assert_eq!(of(&[7u32, u32::MAX], 2), [f64::from(u32::MAX)]);
        let many: Vec<f32> = (0..1000).map(|i| (i * 7 % 1000) as f32).collect();
        assert_eq!(of(&many, 4), [250.0, 500.0, 750.0].map(|b: f64| b + 0.0));
    }
}
