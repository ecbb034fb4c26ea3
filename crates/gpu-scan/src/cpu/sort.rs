//! Stable sorts, on rayon's merge sort.
//!
//! The sort sees keys and values as bits of each size. [`SortsBits`] compiles the sort once, in this crate, instead of
//! once for each type in each crate that sorts.

use bytemuck::{cast_slice, cast_slice_mut};
use device_std::scalar::Scalar;
use kernels_rs::primitives::operators::{Bits, Order};
use rayon::prelude::*;

use super::CHUNK;
use super::segments::check_rising;
use crate::error::{Result, length, same_len};
use crate::number::nan_last;
use crate::number::sealed::{Element, IndexSize, PayloadSize};
use crate::{Index, Key, Payload, Sort, TopK};
use gpu_core::parallel::{Parts, for_each, for_ranges, map};

/// Sorts the keys, stably, with NaN last (first, if descending).
///
/// ```
/// use gpu_scan::{Sort, cpu};
///
/// assert_eq!(cpu::sort(Sort::ascending(), &[3, -1, 2])?, [-1, 2, 3]);
/// // By bits 4 to 7 alone, equal keys stay in their order.
/// let by_tens = Sort::ascending().by_bits(4..8);
/// assert_eq!(cpu::sort(by_tens, &[0x21u32, 0x15, 0x11])?, [0x15, 0x11, 0x21]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`BitRange`](crate::Error::BitRange).
pub fn sort<K: Key>(sort: Sort, keys: &[K]) -> Result<Vec<K>> {
    let mut sorted = keys.to_vec();
    sort_in_place(sort, &mut sorted)?;
    Ok(sorted)
}

/// Sorts like [`sort`], in place.
///
/// ```
/// use gpu_scan::{Sort, cpu};
///
/// let mut keys = [2, 3, 1];
/// cpu::sort_in_place(Sort::descending(), &mut keys)?;
/// assert_eq!(keys, [3, 2, 1]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`sort`].
pub fn sort_in_place<K: Key>(sort: Sort, keys: &mut [K]) -> Result<()> {
    K::Bits::sort(Rank::new::<K>(&sort)?, cast_slice_mut(keys));
    Ok(())
}

/// Returns the sorted keys, and each key's value at the key's place.
///
/// ```
/// use gpu_scan::{Sort, cpu};
///
/// let (keys, values) = cpu::sort_pairs(Sort::ascending(), &[2.5, 0.5, 1.5], &[20u32, 0, 10])?;
/// assert_eq!((&keys[..], &values[..]), (&[0.5, 1.5, 2.5][..], &[0, 10, 20][..]));
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`sort`]; [`Length`](gpu_core::Error::Length) unless there is a value for each key.
pub fn sort_pairs<K: Key, V: Payload>(
    sort: Sort,
    keys: &[K],
    values: &[V],
) -> Result<(Vec<K>, Vec<V>)> {
    let (mut keys, mut values) = (keys.to_vec(), values.to_vec());
    sort_pairs_in_place(sort, &mut keys, &mut values)?;
    Ok((keys, values))
}

/// Sorts like [`sort_pairs`], in place.
///
/// ```
/// use gpu_scan::{Sort, cpu};
///
/// let (mut keys, mut values) = ([2, 0, 1], [20.0, 0.0, 10.0]);
/// cpu::sort_pairs_in_place(Sort::ascending(), &mut keys, &mut values)?;
/// assert_eq!((keys, values), ([0, 1, 2], [0.0, 10.0, 20.0]));
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`sort_pairs`].
pub fn sort_pairs_in_place<K: Key, V: Payload>(
    sort: Sort,
    keys: &mut [K],
    values: &mut [V],
) -> Result<()> {
    same_len("values", keys.len(), values.len())?;
    let (rank, keys) = (Rank::new::<K>(&sort)?, cast_slice_mut(keys));
    match V::SIZE {
        PayloadSize::Four => K::Bits::sort_with_words(rank, keys, cast_slice_mut(values)),
        PayloadSize::Eight => K::Bits::sort_with_long_words(rank, keys, cast_slice_mut(values)),
    }
    Ok(())
}

/// Returns the indices of the keys in the order of the keys; equal keys come by rising index.
///
/// ```
/// use gpu_scan::{Sort, cpu};
///
/// let order: Vec<u32> = cpu::argsort(Sort::ascending(), &[7.0, 5.0, 6.0, 5.0])?;
/// assert_eq!(order, [1, 3, 2, 0]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`sort`]; [`TooLarge`](crate::Error::TooLarge) where an index might not fit `I`.
pub fn argsort<K: Key, I: Index>(sort: Sort, keys: &[K]) -> Result<Vec<I>> {
    let rank = Rank::new::<K>(&sort)?;
    I::check(keys.len())?;
    let mut indices = map(keys.len(), CHUNK, I::at);
    match I::SIZE {
        IndexSize::Four => {
            K::Bits::sort_words(rank, cast_slice(keys), cast_slice_mut(&mut indices))
        }
        IndexSize::Eight => {
            K::Bits::sort_long_words(rank, cast_slice(keys), cast_slice_mut(&mut indices));
        }
    }
    Ok(indices)
}

/// Sorts the keys of each segment, stably; segment s is `offsets[s]..offsets[s + 1]`.
///
/// ```
/// use gpu_scan::{Sort, cpu};
///
/// // Two segments: three keys, and two.
/// let sorted = cpu::segmented_sort(Sort::ascending(), &[0, 3, 5], &[3, 1, 2, 9, 4])?;
/// assert_eq!(sorted, [1, 2, 3, 4, 9]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`sort`]; [`SegmentOffset`](crate::Error::SegmentOffset) unless offsets rise from 0 to the number of
/// keys.
pub fn segmented_sort<K: Key>(sort: Sort, offsets: &[u64], keys: &[K]) -> Result<Vec<K>> {
    check_rising(offsets, keys.len())?;
    let rank = Rank::new::<K>(&sort)?;
    let mut sorted = keys.to_vec();
    sort_each(rank, cut(offsets, cast_slice_mut(&mut sorted)));
    Ok(sorted)
}

/// Sorts the bits of each segment's keys.
fn sort_each<B: Bits + Send + Sync>(rank: Rank<B>, segments: Vec<&mut [B]>) {
    let segments = Parts::new(segments.into_iter());
    for_ranges(segments.len(), 1, &|range| {
        range.for_each(|s| segments.part(s).sort_by_key(|key| rank.of(*key)));
    });
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

/// Sorts each segment's keys, and puts each key's value at the key's place.
///
/// ```
/// use gpu_scan::{Sort, cpu};
///
/// let (keys, values) = ([3, 1, 9, 4], [30u32, 10, 90, 40]);
/// let sorted = cpu::segmented_sort_pairs(Sort::ascending(), &[0, 2, 4], &keys, &values)?;
/// assert_eq!(sorted, (vec![1, 3, 4, 9], vec![10, 30, 40, 90]));
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`segmented_sort`]; [`Length`](gpu_core::Error::Length) unless there is a value for each key.
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
    let (keys, values) = (Parts::new(keys.into_iter()), Parts::new(values.into_iter()));
    for_ranges(keys.len(), 1, &|segments| {
        for segment in segments {
            let (mut keys, mut values) = (keys.part(segment), values.part(segment));
            let mut pairs: Vec<(B, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
            pairs.sort_by_key(|(key, _)| rank.of(*key));
            let places = keys.iter_mut().zip(values.iter_mut());
            places.zip(pairs).for_each(|((key, value), pair)| (*key, *value) = pair);
        }
    });
}

/// Returns the first k elements of an order, in that order, and their indices. Among equal elements, the lowest indices
/// come first. NaN comes last in both orders.
///
/// ```
/// use gpu_scan::{TopK, cpu};
///
/// let (top, indices) = cpu::top_k(TopK::greatest(), &[5.0, f64::NAN, 8.0, 8.0, 1.0], 3)?;
/// assert_eq!(top, [8.0, 8.0, 5.0]);
/// assert_eq!(indices, [2, 3, 0]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there are k elements.
pub fn top_k<K: Key>(how: TopK, keys: &[K], k: usize) -> Result<(Vec<K>, Vec<u64>)> {
    if k > keys.len() {
        return Err(length("keys", k, keys.len()));
    }
    let order = nan_last::<K>(how.direction);
    let ranked = |i: usize| (order.rank(keys[i].bits()).to_bits64(), i as u64);
    let indices = first_ranked(map(keys.len(), CHUNK, ranked), k);
    Ok((indices.iter().map(|index| keys[*index as usize]).collect(), indices))
}

/// Returns the first k elements of each segment in order, and their indices in the array, segment after segment. Segment
/// s is `offsets[s]..offsets[s + 1]`. If it has fewer elements, zeros follow, with indices of [`u64::MAX`]. Equal elements
/// and NaN are treated as by [`top_k`].
///
/// ```
/// use gpu_scan::{TopK, cpu};
///
/// // Two segments: three keys, and one.
/// let offsets = [0, 3, 4];
/// let (top, indices) = cpu::segmented_top_k((TopK::least(), 2), &offsets, &[9, 4, 7, 5])?;
/// assert_eq!(top, [4, 7, 5, 0]);
/// assert_eq!(indices, [1, 2, 3, u64::MAX]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`SegmentOffset`](crate::Error::SegmentOffset) unless offsets rise from 0 to the number of keys.
pub fn segmented_top_k<K: Key>(
    (how, k): (TopK, usize),
    offsets: &[u64],
    keys: &[K],
) -> Result<(Vec<K>, Vec<u64>)> {
    check_rising(offsets, keys.len())?;
    let order = nan_last::<K>(how.direction);
    let of_segment = |s: usize| {
        let segment = offsets[s] as usize..offsets[s + 1] as usize;
        let ranked = |i: usize| (order.rank(keys[i].bits()).to_bits64(), i as u64);
        let mut indices = first_ranked(segment.map(ranked).collect(), k);
        indices.resize(k, u64::MAX);
        indices
    };
    let indices = map(offsets.len() - 1, 1, of_segment).concat();
    let key = |index: &u64| keys.get(*index as usize).copied().unwrap_or(K::zeroed());
    Ok((indices.iter().map(key).collect(), indices))
}

/// The indices of the first k of elements with their ranks, in order.
fn first_ranked(mut ranked: Vec<(u64, u64)>, k: usize) -> Vec<u64> {
    if (1..ranked.len()).contains(&k) {
        ranked.select_nth_unstable(k - 1);
    }
    ranked.truncate(k);
    ranked.par_sort_unstable();
    ranked.into_iter().map(|(_, index)| index).collect()
}

/// The order of a sort: by some bits of the keys' ranks.
pub struct Rank<B> {
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

/// Sorts of keys of one size.
pub trait SortsBits: Bits {
    /// The keys alone.
    fn sort(rank: Rank<Self>, keys: &mut [Self]);
    /// Sorts the keys, and moves values of 4 bytes with them.
    fn sort_with_words(rank: Rank<Self>, keys: &mut [Self], values: &mut [u32]);
    /// Sorts the keys, and moves values of 8 bytes with them.
    fn sort_with_long_words(rank: Rank<Self>, keys: &mut [Self], values: &mut [u64]);
    /// Sorts indices of 4 bytes by the keys at these indices.
    fn sort_words(rank: Rank<Self>, keys: &[Self], indices: &mut [u32]);
    /// Sorts indices of 8 bytes by the keys at these indices.
    fn sort_long_words(rank: Rank<Self>, keys: &[Self], indices: &mut [u64]);
}

macro_rules! sorts {
    ($($bits:ty)+) => {$(
        impl SortsBits for $bits {
            fn sort(rank: Rank<Self>, keys: &mut [Self]) {
                keys.par_sort_by_key(|key| rank.of(*key));
            }
            fn sort_with_words(rank: Rank<Self>, keys: &mut [Self], values: &mut [u32]) {
                sort_pairs_of_bits(rank, keys, values);
            }
            fn sort_with_long_words(rank: Rank<Self>, keys: &mut [Self], values: &mut [u64]) {
                sort_pairs_of_bits(rank, keys, values);
            }
            fn sort_words(rank: Rank<Self>, keys: &[Self], indices: &mut [u32]) {
                indices.par_sort_by_key(|i| rank.of(keys[*i as usize]));
            }
            fn sort_long_words(rank: Rank<Self>, keys: &[Self], indices: &mut [u64]) {
                indices.par_sort_by_key(|i| rank.of(keys[*i as usize]));
            }
        }
    )+};
}

sorts! { u8 u16 u32 u64 }

fn sort_pairs_of_bits<B, V>(rank: Rank<B>, keys: &mut [B], values: &mut [V])
where
    B: Bits + Send + Sync,
    V: Copy + Send + Sync,
{
    let mut pairs = map(keys.len(), CHUNK, |i| (keys[i], values[i]));
    pairs.par_sort_by_key(|(key, _)| rank.of(*key));
    for_each(keys, CHUNK, |i, key| *key = pairs[i].0);
    for_each(values, CHUNK, |i, value| *value = pairs[i].1);
}
