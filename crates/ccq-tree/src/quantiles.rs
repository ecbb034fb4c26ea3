//! Boundaries of bins by quantiles.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use gpu_core::{GridView, host_memory, parallel};
use rayon::prelude::*;

use crate::coded::MAX_CODED_BINS;
use crate::number::exact_rank;
use crate::params::MAX_BINS;
use crate::{Bound, Error, Number, Result};

/// Boundaries that cut the values of a raster into `bins` bins of about as many cells each, for
/// [`Params::bins`](crate::Params::bins) or [`CodedParams::bins`](crate::CodedParams::bins).
///
/// With n values in order, `floor(i * n / bins)` values stand before boundary i. If values repeat, equal boundaries
/// become one, and the least value is never a boundary. So there may be fewer bins. NaN and `nodata` do not count. On
/// all cores, the call counts values of 8 and 16 bits, and sorts a copy of other values.
///
/// ```
/// use ccq_tree::quantile_boundaries;
/// use gpu_core::{Grid, GridSpec};
///
/// // Four bins of one value each; 9 is NODATA.
/// let raster = Grid::new(vec![3u8, 1, 2, 4, 9, 9], GridSpec::of_pixels(6, 1))?;
/// assert_eq!(quantile_boundaries(raster.view(), Some(9.into()), 4)?, [2, 3, 4]);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// [`Error::Bins`] unless there are 1 to [`MAX_BINS`] bins, or 1 to [`MAX_CODED_BINS`] for values of 32 and 64 bits;
/// [`Error::Core`] where memory does not suffice.
pub fn quantile_boundaries<T: Number>(
    raster: GridView<'_, T>,
    nodata: Option<Bound>,
    bins: usize,
) -> Result<Vec<T>> {
    let most = if size_of::<T>() <= 2 { MAX_BINS } else { MAX_CODED_BINS };
    if bins == 0 || bins > most {
        return Err(Error::Bins { bins, most });
    }
    let nodata = nodata.and_then(exact_rank::<T>);
    let rank = |value: &T| value.rank().filter(|&rank| Some(rank) != nodata);
    let values = raster.values();
    let mut boundaries: Vec<u64> = match size_of::<T>() {
        1 | 2 => counted(values, T::RANKS.0, rank, bins),
        4 => sorted(values, |value| rank(value).map(|rank| rank as u32), bins)?,
        _ => sorted(values, rank, bins)?,
    };
    boundaries.dedup();
    Ok(boundaries.into_iter().map(T::of_rank).collect())
}

/// The places in order at which boundaries stand, of a number of values.
fn places(values: u64, bins: usize) -> impl Iterator<Item = u64> {
    let place = move |i: usize| (u128::from(values) * i as u128 / bins as u128) as u64;
    (1..bins).map(place).filter(move |&place| place > 0 && place < values)
}

fn counted<T: Number>(
    values: &[T],
    first: u64,
    rank: impl Fn(&T) -> Option<u64> + Sync,
    bins: usize,
) -> Vec<u64> {
    let counts = Mutex::new(vec![0u64; 1 << 16]);
    parallel::for_ranges(values.len(), 1 << 20, &|range| {
        let mut own = vec![0u64; 1 << 16];
        values[range].iter().filter_map(&rank).for_each(|rank| own[(rank - first) as usize] += 1);
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter_mut().zip(own).for_each(|(all, own)| *all += own);
    });
    let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    of_counts(&counts, first, bins)
}

/// The boundaries among ranks that occur so often, from `first` on.
fn of_counts(counts: &[u64], first: u64, bins: usize) -> Vec<u64> {
    let total = counts.iter().sum();
    let least = counts.iter().position(|&count| count > 0).unwrap_or(0);
    let (mut at, mut until) = (0, counts[0]);
    let mut boundaries = Vec::new();
    for place in places(total, bins) {
        while until <= place {
            at += 1;
            until += counts[at];
        }
        if at > least {
            boundaries.push(at as u64 + first);
        }
    }
    boundaries
}

fn sorted<T: Number, K: Ord + Copy + Send + Into<u64>>(
    values: &[T],
    key: impl Fn(&T) -> Option<K> + Sync,
    bins: usize,
) -> Result<Vec<u64>> {
    // Parts, and all of them.
    host_memory::require(values.len() as u64 * 2 * size_of::<K>() as u64)?;
    let of_range = |range: Range<usize>| values[range].iter().filter_map(&key).collect::<Vec<K>>();
    let mut keys = parallel::map_ranges(values.len(), parallel::FINE, &of_range).concat();
    keys.par_sort_unstable();
    let least = keys.first().copied();
    let at = places(keys.len() as u64, bins).map(|place| keys[place as usize]);
    Ok(at.filter(|&key| Some(key) != least).map(Into::into).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_core::GridSpec;

    #[test]
    fn boundaries_part_the_values_evenly() {
        fn of<T: Number>(values: &[T], bins: usize) -> Vec<T> {
            let grid = GridSpec::of_pixels(values.len() as u32, 1);
            let nodata = Some(9.0.into());
            quantile_boundaries(GridView::new(values, grid).unwrap(), nodata, bins).unwrap()
        }
        assert_eq!(of(&[3u8, 1, 2, 4, 9, 9], 4), [2, 3, 4]);
        assert_eq!(of(&[3i16, 1, 2, 4], 2), [3]);
        assert_eq!(of(&[-3.5f32, 1.0, f32::NAN, 2.0, 4.0], 2), [2.0]);
        assert_eq!(of(&[5i32, 5, 5, 5, 6, 6], 3), [6]);
        assert!(of(&[5u16, 5, 5], 8).is_empty());
        assert!(of::<u32>(&[], 8).is_empty());
        assert_eq!(of(&[7u32, u32::MAX], 2), [u32::MAX]);
        let many: Vec<f32> = (0..1000).map(|i| (i * 7 % 1000) as f32).collect();
        assert_eq!(of(&many, 4), [250.0, 500.0, 750.0]);
        // Beside each other where floats are two apart.
        let base = 1i64 << 60;
        assert_eq!(of(&[base + 3, base, 9, base + 1, base + 2], 2), [base + 2]);
        assert_eq!(of(&[u64::MAX, u64::MAX - 1, 0, 1], 4), [1, u64::MAX - 1, u64::MAX]);
        assert_eq!(of(&[0.1, -0.0, f64::NAN, 0.0, 1e-300], 4), [1e-300, 0.1]);
    }
}
