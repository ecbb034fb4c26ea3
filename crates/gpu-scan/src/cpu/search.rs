//! Lower and upper bounds.

use bytemuck::cast_slice;
use kernels_rs::primitives::operators::{Bits, Order};

use crate::error::{Result, same_len};
use crate::number::{Direction, Number, total_order};
use gpu_core::parallel::for_chunks;

/// Returns, for each query, how many elements of `sorted` are less: the first place at which to insert the query.
///
/// Numbers are in their total order: -0.0 before +0.0, NaN last. Each query takes log2(n) reads.
///
/// ```
/// let mut places = [0; 3];
/// gpu_scan::cpu::lower_bound(&[10, 20, 20, 30], &[5, 20, 99], &mut places)?;
/// assert_eq!(places, [0, 1, 4]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is a result for each query.
pub fn lower_bound<T: Number>(sorted: &[T], queries: &[T], output: &mut [u64]) -> Result<()> {
    bounds(sorted, queries, output, false)
}

/// Returns, for each query, how many elements of `sorted` are less or equal: the last place at which to insert the
/// query. Otherwise as [`lower_bound`].
///
/// ```
/// let mut places = [0; 3];
/// gpu_scan::cpu::upper_bound(&[10, 20, 20, 30], &[5, 20, 99], &mut places)?;
/// assert_eq!(places, [0, 3, 4]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`lower_bound`].
pub fn upper_bound<T: Number>(sorted: &[T], queries: &[T], output: &mut [u64]) -> Result<()> {
    bounds(sorted, queries, output, true)
}

fn bounds<T: Number>(sorted: &[T], queries: &[T], output: &mut [u64], upper: bool) -> Result<()> {
    same_len("output", queries.len(), output.len())?;
    let order = total_order::<T>(Direction::Ascending);
    bounds_of_bits(order, cast_slice(sorted), cast_slice(queries), output, upper);
    Ok(())
}

/// Queries that a task takes at once.
const CHUNK: usize = 1 << 10;

/// The same over the bits of numbers.
fn bounds_of_bits<B: Bits + Send + Sync>(
    order: Order<B>,
    sorted: &[B],
    queries: &[B],
    output: &mut [u64],
    upper: bool,
) {
    for_chunks(output, CHUNK, |chunk, bounds| {
        for (bound, query) in bounds.iter_mut().zip(&queries[chunk * CHUNK..]) {
            let query = order.rank(*query);
            let is_before = |element: &B| {
                let rank = order.rank(*element);
                rank < query || (upper && rank == query)
            };
            *bound = sorted.partition_point(is_before) as u64;
        }
    });
}
