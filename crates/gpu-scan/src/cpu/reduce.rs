//! Reductions to one value.

use bytemuck::{cast, cast_slice};
use device_std::scalar::Scalar;
use kernels_rs::primitives::operators::{Operator, Order};
use kernels_rs::primitives::reduce::{BLOCK, ROWS, chunks, tile_len};
use kernels_rs::primitives::segment_totals::{CHUNK as CHUNK_OF_SEGMENT, most_of_group};

use crate::number::{Direction, nan_last};
use crate::{Number, ReduceOperator};
use gpu_core::parallel::{map, map_ranges};

const LANES_OF_WARP: usize = 32;
const WARPS: usize = BLOCK / LANES_OF_WARP;

/// Elements that a thread takes at once where the order cannot show.
const CHUNK: usize = 1 << 14;

/// Returns the combination of all elements. The sum of no elements is 0; [`ReduceOperator`] says what their least and
/// greatest are. One read of each element.
///
/// ```
/// use gpu_scan::{Max, Sum, cpu};
///
/// assert_eq!(cpu::reduce(Sum, &[1u32, 2, 3]), 6);
/// assert_eq!(cpu::reduce(Max, &[1.5, f64::NAN, -2.0]), 1.5);
/// ```
pub fn reduce<T: Number, O: ReduceOperator<T>>(operator: O, input: &[T]) -> T {
    let elements: &[O::Element] = cast_slice(input);
    let operator = operator.kernel();
    let value = if O::Kernel::ASSOCIATIVE {
        reduce_in_any_order(operator, elements)
    } else {
        reduce_in_order(operator, elements)
    };
    cast(operator.lower(value))
}

/// Returns the index of the least element; of several equal ones the lowest index. `None` if all elements are NaN, or
/// there are none. NaN is ignored; -0.0 is less than +0.0.
///
/// ```
/// use gpu_scan::cpu::index_of_min;
///
/// assert_eq!(index_of_min(&[4.0, f64::NAN, 2.0, 2.0]), Some(2));
/// assert_eq!(index_of_min(&[f64::NAN]), None);
/// ```
pub fn index_of_min<T: Number>(input: &[T]) -> Option<u64> {
    index_of_first(Direction::Ascending, input)
}

/// Returns the index of the greatest element, under the rules of [`index_of_min`].
///
/// ```
/// assert_eq!(gpu_scan::cpu::index_of_max(&[4, 9, 2, 9]), Some(1));
/// ```
pub fn index_of_max<T: Number>(input: &[T]) -> Option<u64> {
    index_of_first(Direction::Descending, input)
}

fn index_of_first<T: Number>(direction: Direction, input: &[T]) -> Option<u64> {
    let order: Order<T::Bits> = nan_last::<T>(direction);
    let first = map_ranges(input.len(), CHUNK, &|range| {
        let numbers = range.filter(|&i| input[i].partial_cmp(&input[i]).is_some());
        numbers.map(|i| (order.rank(input[i].bits()).to_bits64(), i as u64)).min()
    });
    first.into_iter().flatten().min().map(|(_, index)| index)
}

fn reduce_in_any_order<E, P>(operator: P, elements: &[E]) -> E
where
    E: Scalar + Send + Sync,
    P: Operator<E> + Send + Sync,
{
    let sums =
        map_ranges(elements.len(), CHUNK, &|range| sum_of_vector(operator, &elements[range]));
    sums.into_iter().fold(operator.identity(), |a, b| operator.combine(a, b))
}

fn sum_of_vector<E: Scalar, P: Operator<E>>(operator: P, elements: &[E]) -> E {
    let mut lifted = elements.iter().map(|&element| operator.lift(element));
    let first = lifted.next().unwrap_or(operator.identity());
    lifted.fold(first, |sum, next| operator.combine(sum, next))
}

/// Reduces in the kernel's order (`kernels_rs::primitives::reduce`), with one thread a chunk. It adds up the elements
/// of each thread of a block, row by row; then rows, lanes and warps; then the chunks in the same way.
fn reduce_in_order<E, P>(operator: P, elements: &[E]) -> E
where
    E: Scalar + Send + Sync,
    P: Operator<E> + Send + Sync,
{
    let (tiles, _) = chunks(elements.len() as u64, size_of::<E>());
    let chunk_len = (tiles * tile_len(size_of::<E>())) as usize;
    let chunk = |i| &elements[i * chunk_len..elements.len().min((i + 1) * chunk_len)];
    let chunks = elements.len().div_ceil(chunk_len.max(1));
    let of_chunks = map(chunks, 1, |i| reduce_chunk(operator, chunk(i)));
    if let [of_chunk] = of_chunks[..] {
        return of_chunk;
    }
    let mut of_threads = [operator.identity(); BLOCK];
    for round in of_chunks.chunks(BLOCK) {
        add(operator, &mut of_threads, round.iter().copied());
    }
    reduce_block(operator, &of_threads)
}

fn reduce_chunk<E: Scalar, P: Operator<E>>(operator: P, elements: &[E]) -> E {
    let tile_len = tile_len(size_of::<E>()) as usize;
    let mut sums = [[operator.identity(); BLOCK]; ROWS];
    let mut add_tile = |tile: &[E]| {
        // A warp's rows follow each other.
        for (at, row) in tile.chunks_exact(LANES_OF_WARP * E::LANES).enumerate() {
            let (warp, row_of_warp) = (at / ROWS, at % ROWS);
            let threads = &mut sums[row_of_warp][warp * LANES_OF_WARP..][..LANES_OF_WARP];
            let vectors = row.chunks_exact(E::LANES);
            add(operator, threads, vectors.map(|vector| sum_of_vector(operator, vector)));
        }
    };
    let tiles = elements.chunks_exact(tile_len);
    let mut last = tiles.remainder().to_vec();
    tiles.for_each(&mut add_tile);
    if !last.is_empty() {
        last.resize(tile_len, operator.lower(operator.identity()));
        add_tile(&last);
    }
    let [mut of_threads, others @ ..] = sums;
    for row in others {
        add(operator, &mut of_threads, row.into_iter());
    }
    reduce_block(operator, &of_threads)
}

/// The combination of a segment's elements, in the order of the kernels (`kernels_rs::primitives::segment_totals`)
/// by groups of `lanes` lanes.
pub(super) fn reduce_segment<E, P>(operator: P, lanes: usize, elements: &[E]) -> E
where
    E: Scalar + Send + Sync,
    P: Operator<E> + Send + Sync,
{
    if P::ASSOCIATIVE {
        return match elements.len() > CHUNK {
            true => reduce_in_any_order(operator, elements),
            false => sum_of_vector(operator, elements),
        };
    }
    let strided = |elements: &[E], lane: usize, lanes: usize| {
        let lifted = elements.iter().skip(lane).step_by(lanes).map(|&e| operator.lift(e));
        lifted.fold(operator.identity(), |sum, next| operator.combine(sum, next))
    };
    if elements.len() as u64 <= most_of_group(lanes.ilog2()) {
        let mut sums: Vec<E> = (0..lanes).map(|lane| strided(elements, lane, lanes)).collect();
        return reduce_lanes(operator, &mut sums);
    }
    let of_threads = |elements: &[E]| -> [E; BLOCK] {
        std::array::from_fn(|thread| strided(elements, thread, BLOCK))
    };
    let chunk_len = CHUNK_OF_SEGMENT as usize;
    let chunk = |i| &elements[i * chunk_len..elements.len().min((i + 1) * chunk_len)];
    let chunks = elements.len().div_ceil(chunk_len);
    let partials = map(chunks, 1, |i| reduce_block(operator, &of_threads(chunk(i))));
    match partials[..] {
        [only] => only,
        // Partial results are lifted already, and lifting a sum's changes nothing.
        _ => reduce_block(operator, &of_threads(&partials)),
    }
}

/// Combines each sum with what comes after it.
fn add<E: Copy, P: Operator<E>>(operator: P, sums: &mut [E], next: impl Iterator<Item = E>) {
    for (sum, next) in sums.iter_mut().zip(next) {
        *sum = operator.combine(*sum, next);
    }
}

/// Lanes, then warps; lanes without a warp have the identity.
fn reduce_block<E: Copy, P: Operator<E>>(operator: P, of_threads: &[E; BLOCK]) -> E {
    let mut of_warps = [operator.identity(); LANES_OF_WARP];
    for (of_warp, lanes) in of_warps[..WARPS].iter_mut().zip(of_threads.chunks(LANES_OF_WARP)) {
        *of_warp = reduce_lanes(operator, &mut lanes.to_vec());
    }
    reduce_lanes(operator, &mut of_warps)
}

/// Pairs of lanes first, then pairs of pairs.
fn reduce_lanes<E: Copy, P: Operator<E>>(operator: P, sums: &mut [E]) -> E {
    let mut count = sums.len();
    while count > 1 {
        count /= 2;
        for i in 0..count {
            sums[i] = operator.combine(sums[2 * i], sums[2 * i + 1]);
        }
    }
    sums[0]
}
