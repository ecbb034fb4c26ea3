//! Scans: whole, by key, by offsets, along rows.
//!
//! The array is cut into tiles. First tasks sum all tiles in parallel; then one task scans the sums; then tasks scan
//! all tiles in parallel.

use std::ops::Range;

use bytemuck::{cast, cast_slice, cast_slice_mut};
use device_std::scalar::Scalar;
use kernels_rs::primitives::operators::Partial;
use kernels_rs::primitives::scan::Scans;

use super::segments::{Keys, Segments};
use super::tile::Tile;
use crate::error::{Result, same_len};
use crate::{Number, Scan, ScanOperator};
use gpu_core::parallel::{Parts, for_ranges, map_ranges};

/// Scans `input` into `output`; [`Scan`] defines the result. Two reads and one write of each element.
///
/// ```
/// use gpu_scan::{Scan, Sum, cpu};
///
/// let mut output = [0; 4];
/// cpu::scan(Sum, Scan::exclusive(10), &[1, 2, 3, 4], &mut output)?;
/// assert_eq!(output, [10, 11, 13, 16]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) for another length of the output.
pub fn scan<T: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    input: &[T],
    output: &mut [T],
) -> Result<()> {
    run(operator, how, Some(input), output, Segments::Whole)
}

/// Scans like [`scan`], in place: the result overwrites the input.
///
/// ```
/// use gpu_scan::{Max, Scan, cpu};
///
/// let mut data = [2, 1, 5, 3];
/// cpu::scan_in_place(Max, Scan::inclusive(), &mut data)?;
/// assert_eq!(data, [2, 2, 5, 5]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// None.
pub fn scan_in_place<T: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    data: &mut [T],
) -> Result<()> {
    run(operator, how, None, data, Segments::Whole)
}

/// Scans, and starts again wherever the key changes. Keys are compared by their bits.
///
/// ```
/// use gpu_scan::{Scan, Sum, cpu};
///
/// let mut sums = [0; 4];
/// cpu::scan_by_key(Sum, Scan::inclusive(), &[7, 7, 8, 8], &[1, 2, 3, 4], &mut sums)?;
/// assert_eq!(sums, [1, 3, 3, 7]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`scan`], also for another length of the keys.
pub fn scan_by_key<T: Number, K: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    keys: &[K],
    input: &[T],
    output: &mut [T],
) -> Result<()> {
    same_len("output", input.len(), output.len())?;
    same_len("keys", input.len(), keys.len())?;
    run(operator, how, Some(input), output, Segments::Keys(Keys::new(keys)))
}

/// Scans like [`scan_by_key`], in place: the result overwrites the input.
///
/// ```
/// use gpu_scan::{Scan, Sum, cpu};
///
/// // The number of each element in its group.
/// let mut data = [1, 1, 1, 1];
/// cpu::scan_by_key_in_place(Sum, Scan::exclusive(0), &[7, 7, 7, 8], &mut data)?;
/// assert_eq!(data, [0, 1, 2, 0]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) for another length of the keys.
pub fn scan_by_key_in_place<T: Number, K: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    keys: &[K],
    data: &mut [T],
) -> Result<()> {
    same_len("keys", data.len(), keys.len())?;
    run(operator, how, None, data, Segments::Keys(Keys::new(keys)))
}

/// Scans each segment: segment s is `offsets[s]..offsets[s + 1]`, and may be empty.
///
/// ```
/// use gpu_scan::{Scan, Sum, cpu};
///
/// let mut sums = [0; 4];
/// cpu::segmented_scan(Sum, Scan::inclusive(), &[0, 1, 4], &[10, 1, 2, 3], &mut sums)?;
/// assert_eq!(sums, [10, 1, 3, 6]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`scan`]; [`SegmentOffset`](crate::Error::SegmentOffset) unless the offsets rise from 0 to the number
/// of elements (which the GPU does not check).
pub fn segmented_scan<T: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    offsets: &[u64],
    input: &[T],
    output: &mut [T],
) -> Result<()> {
    same_len("output", input.len(), output.len())?;
    let segments = Segments::at(offsets, input.len())?;
    run(operator, how, Some(input), output, segments)
}

/// Scans like [`segmented_scan`], in place: the result overwrites the input.
///
/// ```
/// use gpu_scan::{Scan, Sum, cpu};
///
/// let mut data = [10, 1, 2, 3];
/// cpu::segmented_scan_in_place(Sum, Scan::inclusive().backward(), &[0, 1, 4], &mut data)?;
/// assert_eq!(data, [10, 6, 5, 3]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`segmented_scan`].
pub fn segmented_scan_in_place<T: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    offsets: &[u64],
    data: &mut [T],
) -> Result<()> {
    let segments = Segments::at(offsets, data.len())?;
    run(operator, how, None, data, segments)
}

/// Scans each row of a row-major grid of `width` elements a row.
///
/// ```
/// use gpu_scan::{Scan, Sum, cpu};
///
/// let mut sums = [0; 4];
/// cpu::scan_rows(Sum, Scan::inclusive(), 2, &[1, 2, 10, 20], &mut sums)?;
/// assert_eq!(sums, [1, 3, 10, 30]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`scan`], also for an input that does not consist of whole rows.
pub fn scan_rows<T: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    width: usize,
    input: &[T],
    output: &mut [T],
) -> Result<()> {
    let segments = Segments::rows(width, input.len())?;
    run(operator, how, Some(input), output, segments)
}

/// Scans like [`scan_rows`], in place: the result overwrites the input.
///
/// ```
/// use gpu_scan::{Min, Scan, cpu};
///
/// let mut grid = [4, 9, 8, 6];
/// cpu::scan_rows_in_place(Min, Scan::inclusive(), 2, &mut grid)?;
/// assert_eq!(grid, [4, 4, 8, 6]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) for an input that does not consist of whole rows.
pub fn scan_rows_in_place<T: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    width: usize,
    data: &mut [T],
) -> Result<()> {
    let segments = Segments::rows(width, data.len())?;
    run(operator, how, None, data, segments)
}

/// Tiles that a task takes, at least.
const TILES_OF_TASK: usize = 4;

/// Scans `input` into `data`, or `data` in place.
fn run<T: Number, O: ScanOperator<T>>(
    operator: O,
    how: Scan<T>,
    input: Option<&[T]>,
    data: &mut [T],
    segments: Segments<'_>,
) -> Result<()> {
    if let Some(input) = input {
        same_len("output", input.len(), data.len())?;
    }
    let tile = Tile::new(operator.kernel(), how.initial.map(cast::<T, O::Element>));
    run_tiles(tile, how.backward, input.map(cast_slice), cast_slice_mut(data), segments);
    Ok(())
}

/// The same over elements as kernels see them, of which there are fewer kinds.
fn run_tiles<E, P>(
    tile: Tile<E, P>,
    backward: bool,
    input: Option<&[E]>,
    data: &mut [E],
    segments: Segments<'_>,
) where
    E: Scalar + Send + Sync,
    P: Scans<E> + Send + Sync,
{
    if data.is_empty() {
        return;
    }
    let tiles = Tiles::new(tile, backward, data.len(), segments);
    let before = tiles.before_each(input.unwrap_or(data));
    let parts = Parts::new(tiles.cut(data).into_iter());
    for_ranges(parts.len(), TILES_OF_TASK, &|range| {
        let mut buffer = Buffer::default();
        for index in range {
            let part = &mut **parts.part(index);
            buffer.load(&tiles, index, input.map_or(&*part, |input| &input[tiles.range(index)]));
            tiles.tile.scan(&mut buffer.elements, &buffer.heads, before[index]);
            buffer.store(&tiles, index, part);
        }
    });
}

/// An array as the tiles of a scan, in its order.
struct Tiles<'a, E, P> {
    tile: Tile<E, P>,
    backward: bool,
    /// Elements of the array.
    len: usize,
    /// The same with the padding.
    padded: usize,
    segments: Segments<'a>,
}

impl<'a, E: Scalar + Send + Sync, P: Scans<E> + Send + Sync> Tiles<'a, E, P> {
    fn new(tile: Tile<E, P>, backward: bool, len: usize, segments: Segments<'a>) -> Self {
        Self { tile, backward, len, padded: len.next_multiple_of(tile.padded_to()), segments }
    }

    /// Where a tile lies in the array.
    fn range(&self, index: usize) -> Range<usize> {
        let tile = self.tile.len();
        if self.backward {
            let end = self.padded - index * tile;
            return end.saturating_sub(tile)..end.min(self.len);
        }
        index * tile..((index + 1) * tile).min(self.len)
    }

    /// Elements of padding in front of a tile.
    fn padding(&self, index: usize) -> usize {
        if self.backward && index == 0 { self.padded - self.len } else { 0 }
    }

    /// The array's parts.
    fn cut<'b>(&self, array: &'b mut [E]) -> Vec<&'b mut [E]> {
        let tile = self.tile.len();
        if !self.backward {
            return array.chunks_mut(tile).collect();
        }
        let (others, first) = array.split_at_mut(self.range(0).start);
        std::iter::once(first).chain(others.rchunks_mut(tile)).collect()
    }

    /// Returns the sum before each tile, from the last head on.
    fn before_each(&self, array: &[E]) -> Vec<E> {
        let last = self.padded.div_ceil(self.tile.len()) - 1;
        let sums = map_ranges(last, TILES_OF_TASK, &|range| {
            let mut buffer = Buffer::default();
            let sum = |index| {
                buffer.load(self, index, &array[self.range(index)]);
                self.tile.sum(&mut buffer.elements, &buffer.heads)
            };
            range.map(sum).collect::<Vec<Partial<E>>>()
        });
        let mut sums = sums.concat();
        self.tile.scan_sums(&mut sums);
        std::iter::once(self.tile.nothing()).chain(sums).map(|sum| sum.value).collect()
    }
}

/// A tile's elements in the order of the scan, and its heads if there are segments.
struct Buffer<E> {
    elements: Vec<E>,
    heads: Vec<bool>,
}

impl<E> Default for Buffer<E> {
    fn default() -> Self {
        Self { elements: Vec::new(), heads: Vec::new() }
    }
}

impl<E: Scalar + Send + Sync> Buffer<E> {
    /// Takes a tile out of its part of the array.
    fn load<P>(&mut self, tiles: &Tiles<'_, E, P>, index: usize, part: &[E])
    where
        P: Scans<E> + Send + Sync,
    {
        let Self { elements, heads } = self;
        let padding = tiles.padding(index);
        elements.clear();
        elements.resize(padding, tiles.tile.fill());
        elements.extend_from_slice(part);
        if tiles.backward {
            elements[padding..].reverse();
        }
        elements.resize(tiles.tile.len(), tiles.tile.fill());
        if tiles.segments.is_whole() {
            return;
        }
        heads.clear();
        heads.resize(padding + part.len(), false);
        let of_part = &mut heads[padding..];
        tiles.segments.mark(tiles.range(index), tiles.backward, of_part);
        if tiles.backward {
            of_part.reverse();
        }
        heads.resize(tiles.tile.len(), false);
    }

    /// Puts the results there.
    fn store<P>(&self, tiles: &Tiles<'_, E, P>, index: usize, part: &mut [E])
    where
        P: Scans<E> + Send + Sync,
    {
        part.copy_from_slice(&self.elements[tiles.padding(index)..][..part.len()]);
        if tiles.backward {
            part.reverse();
        }
    }
}
