//! Lower and upper bounds.

use rayon::prelude::*;

use crate::error::{Result, same_len};
use crate::number::{Direction, Number, total_order};

/// For each query the number of elements of `sorted` that are less: the first place where it could
/// be inserted.
///
/// Numbers are in their total order: -0.0 before +0.0, NaN last. Each query takes log2(n) reads.
///
/// # Errors
/// [`Length`](crate::Error::Length) unless there is a result for each query.
pub fn lower_bound<T: Number>(sorted: &[T], queries: &[T], output: &mut [u64]) -> Result<()> {
    bounds(sorted, queries, output, |element, query| element < query)
}

/// For each query the number of elements of `sorted` that are less or equal: the last place where
/// it could be inserted. Otherwise as [`lower_bound`].
///
/// # Errors
/// As [`lower_bound`].
pub fn upper_bound<T: Number>(sorted: &[T], queries: &[T], output: &mut [u64]) -> Result<()> {
    bounds(sorted, queries, output, |element, query| element <= query)
}

fn bounds<T: Number>(
    sorted: &[T],
    queries: &[T],
    output: &mut [u64],
    is_before: impl Fn(T::Bits, T::Bits) -> bool + Sync,
) -> Result<()> {
    same_len("output", queries.len(), output.len())?;
    let order = total_order::<T>(Direction::Ascending);
    let pairs = output.par_iter_mut().with_min_len(1 << 10).zip(queries);
    pairs.for_each(|(bound, query)| {
        let query = order.rank(query.bits());
        let before = |element: &T| is_before(order.rank(element.bits()), query);
        *bound = sorted.partition_point(before) as u64;
    });
    Ok(())
}
