//! Stable sorts, on rayon's merge sort.

use kernels_rs::operators::{Bits, Order};
use rayon::prelude::*;

use super::segments::check_rising;
use crate::error::{Error, Result, same_len};
use crate::number::nan_last;
use crate::number::sealed::Element;
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
    let rank = Rank::new::<K>(&sort)?;
    keys.par_sort_by_key(|key| rank.of(key.bits()));
    Ok(())
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
    let rank = Rank::new::<K>(&sort)?;
    let mut pairs: Vec<(K, V)> = keys.par_iter().copied().zip(values.par_iter().copied()).collect();
    pairs.par_sort_by_key(|(key, _)| rank.of(key.bits()));
    let places = keys.par_iter_mut().zip(values.par_iter_mut());
    places.zip(pairs).for_each(|((key, value), pair)| (*key, *value) = pair);
    Ok(())
}

/// The indices of the keys in the order of the keys; equal keys by rising index.
///
/// # Errors
/// As [`sort`]; [`TooLarge`](crate::Error::TooLarge) where an index might not fit `I`.
pub fn argsort<K: Key, I: Index>(sort: Sort, keys: &[K]) -> Result<Vec<I>> {
    let rank = Rank::new::<K>(&sort)?;
    I::check(keys.len())?;
    let mut indices: Vec<I> = (0..keys.len()).into_par_iter().map(I::at).collect();
    indices.par_sort_by_key(|i| rank.of(keys[i.position()].bits()));
    Ok(indices)
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
    let sorted = offsets.par_windows(2).flat_map_iter(|ends| {
        let mut keys = keys[ends[0] as usize..ends[1] as usize].to_vec();
        keys.sort_by_key(|key| rank.of(key.bits()));
        keys
    });
    Ok(sorted.collect())
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
    let sorted = offsets.par_windows(2).flat_map_iter(|ends| {
        let segment = ends[0] as usize..ends[1] as usize;
        let mut pairs: Vec<(K, V)> =
            keys[segment.clone()].iter().copied().zip(values[segment].iter().copied()).collect();
        pairs.sort_by_key(|(key, _)| rank.of(key.bits()));
        pairs
    });
    Ok(sorted.unzip())
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
