//! Stable sorts, on rayon's merge sort.

use bytemuck::{cast_slice, cast_slice_mut};
use kernels_rs::primitives::operators::{Bits, Order};
use rayon::prelude::*;

use super::segments::check_rising;
use crate::error::{Error, Result, same_len};
use crate::number::nan_last;
use crate::number::sealed::{Element, PayloadSize};
use crate::{Direction, Index, Key, Payload, Sort};

/// The keys in order: stable, and NaN last (first, if descending).
///
/// # Errors
/// [`BitRange`](crate::Error::BitRange).
pub fn sort<K: Key>(sort: Sort, keys: &[K]) -> Result<Vec<K>> {
    let mut sorted = keys.to_vec();
    sort_in_place(sort, &mut sorted)?;
    Ok(sorted)
}

/// As [`sort`], in place.
///
/// # Errors
/// As [`sort`].
pub fn sort_in_place<K: Key>(sort: Sort, keys: &mut [K]) -> Result<()> {
    sort_bits(Rank::new::<K>(&sort)?, cast_slice_mut(keys));
    Ok(())
}

/// The same over the bits of keys.
fn sort_bits<B: Bits + Send + Sync>(rank: Rank<B>, keys: &mut [B]) {
    keys.par_sort_by_key(|key| rank.of(*key));
}

/// The keys in order, and each key's value at the key's place.
///
/// # Errors
/// As [`sort`]; [`Length`](crate::Error::Length) unless there is a value for each key.
pub fn sort_pairs<K: Key, V: Payload>(
    sort: Sort,
    keys: &[K],
    values: &[V],
) -> Result<(Vec<K>, Vec<V>)> {
    let (mut keys, mut values) = (keys.to_vec(), values.to_vec());
    sort_pairs_in_place(sort, &mut keys, &mut values)?;
    Ok((keys, values))
}

/// As [`sort_pairs`], in place.
///
/// # Errors
/// As [`sort_pairs`].
pub fn sort_pairs_in_place<K: Key, V: Payload>(
    sort: Sort,
    keys: &mut [K],
    values: &mut [V],
) -> Result<()> {
    same_len("values", keys.len(), values.len())?;
    let (rank, keys) = (Rank::new::<K>(&sort)?, cast_slice_mut(keys));
    match V::SIZE {
        PayloadSize::Four => sort_bits_of_pairs::<_, u32>(rank, keys, cast_slice_mut(values)),
        PayloadSize::Eight => sort_bits_of_pairs::<_, u64>(rank, keys, cast_slice_mut(values)),
    }
    Ok(())
}

/// The same over the bits of keys and of values.
fn sort_bits_of_pairs<B, V>(rank: Rank<B>, keys: &mut [B], values: &mut [V])
where
    B: Bits + Send + Sync,
    V: Copy + Send + Sync,
{
    let mut pairs: Vec<(B, V)> = keys.par_iter().copied().zip(values.par_iter().copied()).collect();
    pairs.par_sort_by_key(|(key, _)| rank.of(*key));
    let places = keys.par_iter_mut().zip(values.par_iter_mut());
    places.zip(pairs).for_each(|((key, value), pair)| (*key, *value) = pair);
}

/// The indices of the keys in the order of the keys; equal keys by rising index.
///
/// # Errors
/// As [`sort`]; [`TooLarge`](crate::Error::TooLarge) where an index might not fit `I`.
pub fn argsort<K: Key, I: Index>(sort: Sort, keys: &[K]) -> Result<Vec<I>> {
    let rank = Rank::new::<K>(&sort)?;
    I::check(keys.len())?;
    Ok(argsort_bits(rank, cast_slice(keys)))
}

/// The same over the bits of keys.
fn argsort_bits<B: Bits + Send + Sync, I: Index>(rank: Rank<B>, keys: &[B]) -> Vec<I> {
    let mut indices: Vec<I> = (0..keys.len()).into_par_iter().map(I::at).collect();
    indices.par_sort_by_key(|i| rank.of(keys[i.position()]));
    indices
}

/// Each segment's keys in order, stably: those of segment s are `offsets[s]..offsets[s + 1]`.
///
/// # Errors
/// As [`sort`]; [`SegmentOffset`](crate::Error::SegmentOffset) unless offsets rise from 0 to the
/// number of keys, [`TooManySegments`](crate::Error::TooManySegments) for more segments than
/// elements.
pub fn segmented_sort<K: Key>(sort: Sort, offsets: &[u64], keys: &[K]) -> Result<Vec<K>> {
    check_rising(offsets, keys.len())?;
    let rank = Rank::new::<K>(&sort)?;
    let mut sorted = keys.to_vec();
    let segments = cut(offsets, cast_slice_mut::<K, K::Bits>(&mut sorted));
    segments.into_par_iter().for_each(|segment| segment.sort_by_key(|key| rank.of(*key)));
    Ok(sorted)
}

/// The segments of an array, between offsets that rise from 0 to its end.
fn cut<'a, T>(offsets: &[u64], mut rest: &'a mut [T]) -> Vec<&'a mut [T]> {
    let lengths = offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
    let segments = lengths.map(|length| {
        let (segment, after) = std::mem::take(&mut rest).split_at_mut(length);
        rest = after;
        segment
    });
    segments.collect()
}

/// Each segment's keys in order, and each key's value at the key's place.
///
/// # Errors
/// As [`segmented_sort`]; [`Length`](crate::Error::Length) unless there is a value for each key.
pub fn segmented_sort_pairs<K: Key, V: Payload>(
    sort: Sort,
    offsets: &[u64],
    keys: &[K],
    values: &[V],
) -> Result<(Vec<K>, Vec<V>)> {
    check_rising(offsets, keys.len())?;
    same_len("values", keys.len(), values.len())?;
    let rank = Rank::new::<K>(&sort)?;
    let (mut keys, mut values) = (keys.to_vec(), values.to_vec());
    let of_keys = cut(offsets, cast_slice_mut(&mut keys));
    match V::SIZE {
        PayloadSize::Four => {
            sort_segments::<_, u32>(rank, of_keys, cut(offsets, cast_slice_mut(&mut values)));
        }
        PayloadSize::Eight => {
            sort_segments::<_, u64>(rank, of_keys, cut(offsets, cast_slice_mut(&mut values)));
        }
    }
    Ok((keys, values))
}

/// Sorts the bits of each segment's keys, and those of their values with them.
fn sort_segments<B, V>(rank: Rank<B>, keys: Vec<&mut [B]>, values: Vec<&mut [V]>)
where
    B: Bits + Send + Sync,
    V: Copy + Send + Sync,
{
    keys.into_par_iter().zip(values).for_each(|(keys, values)| {
        let mut pairs: Vec<(B, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
        pairs.sort_by_key(|(key, _)| rank.of(*key));
        let places = keys.iter_mut().zip(values);
        places.zip(pairs).for_each(|((key, value), pair)| (*key, *value) = pair);
    });
}

/// The least (greatest) k elements in order, and their indices: of equal elements those with the
/// lowest indices. NaN comes last in either direction.
///
/// # Errors
/// [`Length`](crate::Error::Length) unless there are k elements.
pub fn top_k<K: Key>(direction: Direction, keys: &[K], k: usize) -> Result<(Vec<K>, Vec<u64>)> {
    if k > keys.len() {
        let (expected, found) = (k as u64, keys.len() as u64);
        return Err(Error::Length { what: "keys", expected, found });
    }
    let order = nan_last::<K>(direction);
    let rank = |index: &u64| (order.rank(keys[*index as usize].bits()), *index);
    let mut indices: Vec<u64> = (0..keys.len() as u64).collect();
    if (1..indices.len()).contains(&k) {
        indices.select_nth_unstable_by_key(k - 1, rank);
    }
    indices.truncate(k);
    indices.par_sort_by_key(rank);
    Ok((indices.iter().map(|index| keys[*index as usize]).collect(), indices))
}

/// What keys are sorted by: some bits of their ranks.
pub(super) struct Rank<B> {
    order: Order<B>,
    begin: u32,
    mask: u64,
}

impl<B: Bits> Rank<B> {
    pub(super) fn new<K: Key + Element<Bits = B>>(sort: &Sort) -> Result<Self> {
        let bits = sort.range::<K>()?;
        let mask = u64::MAX >> (64 - (bits.end - bits.start));
        Ok(Self { order: sort.order::<K>(), begin: bits.start, mask })
    }

    pub(super) fn of(&self, bits: B) -> u64 {
        self.order.rank(bits).to_bits64() >> self.begin & self.mask
    }
}
