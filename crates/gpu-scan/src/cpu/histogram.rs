//! Histograms.

use crate::Histogram;
use crate::error::Result;
use crate::histogram::{even, ranks};
use crate::number::{Direction, Number, total_order};
use gpu_core::parallel::map_ranges;

/// Elements that one task counts, if there are no more bins than that.
const CHUNK: usize = 1 << 16;

/// Counts in bin b the elements x with `bounds[b] <= x < bounds[b + 1]`. There is one bin less than bounds. Also counts
/// the elements in no bin.
///
/// Every bin is half open, even the last (unlike in numpy); -0.0 and +0.0 are equal. Bounds must not fall; a bin
/// between equal bounds is empty. Each element takes log2(bins) steps.
///
/// ```
/// let histogram = gpu_scan::cpu::histogram(&[0.0, 1.0, 10.0], &[0.5, 3.0, 10.0, f64::NAN])?;
/// assert_eq!(histogram.counts, [1, 1]);
/// assert_eq!((histogram.below, histogram.above, histogram.nan), (0, 1, 1));
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Bins`](crate::Error::Bins) for fewer than two bounds, for bounds that fall, and for NaN.
pub fn histogram<T: Number>(bounds: &[T], input: &[T]) -> Result<Histogram> {
    Ok(count(&ranks(bounds)?, input))
}

/// Counts like [`histogram`], in `bins` bins of equal width from `lower` up to `upper`.
///
/// Bound b is `lower + (upper - lower) * (b / bins)`. For floats, f64 computes it and rounds it to the type. For
/// integers it is exact: an element counts in the bin whose real bounds it lies between.
///
/// ```
/// // Two bins: from 0 up to 5, and from 5 up to 10.
/// let histogram = gpu_scan::cpu::histogram_even((0, 10), 2, &[-1, 0, 4, 5, 10])?;
/// assert_eq!(histogram.counts, [2, 1]);
/// assert_eq!((histogram.below, histogram.above), (1, 1));
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Bins`](crate::Error::Bins) for 0 bins, for bounds that are not finite, and unless `lower` is less than `upper`;
/// [`TooLarge`](crate::Error::TooLarge) for 2^32 - 3 bins and more.
pub fn histogram_even<T: Number>(
    (lower, upper): (T, T),
    bins: usize,
    input: &[T],
) -> Result<Histogram> {
    let even = even(lower, upper, bins)?;
    let order = total_order::<T>(Direction::Ascending);
    let ranks: Vec<T::Bits> = (0..=even.bins).map(|bound| even.rank(order, bound)).collect();
    Ok(count(&ranks, input))
}

/// Counts between bounds that are given as ranks.
fn count<T: Number>(ranks: &[T::Bits], input: &[T]) -> Histogram {
    let order = total_order::<T>(Direction::Ascending);
    let bins = ranks.len() - 1;
    let parts = map_ranges(input.len(), CHUNK.max(bins), &|range| {
        let mut counted = Histogram { counts: vec![0; bins], ..Histogram::default() };
        for x in &input[range] {
            let rank = order.rank(x.bits());
            let not_above = ranks.partition_point(|bound| *bound <= rank);
            let counter = match not_above.checked_sub(1) {
                _ if x.partial_cmp(x).is_none() => &mut counted.nan,
                None => &mut counted.below,
                Some(bin) => counted.counts.get_mut(bin).unwrap_or(&mut counted.above),
            };
            *counter += 1;
        }
        counted
    });
    let sum = |mut a: Histogram, b: Histogram| {
        a.counts.iter_mut().zip(&b.counts).for_each(|(a, b)| *a += b);
        a.below += b.below;
        a.above += b.above;
        a.nan += b.nan;
        a
    };
    let none = Histogram { counts: vec![0; bins], ..Histogram::default() };
    parts.into_iter().fold(none, sum)
}
