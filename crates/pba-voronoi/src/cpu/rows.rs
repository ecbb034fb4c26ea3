//! The row pass: in every row, for every column, the nearest site.

use std::ops::Range;

use gpu_core::parallel::{Parts, for_chunks_init};
use gpu_core::{GridSpec, Progress, host_memory};

use super::{bands, report};
use crate::{Input, NONE, Result, Sites, Strip};

/// Columns that are searched together.
pub(super) const LANES: usize = 16;

/// A type that holds a column.
pub(super) trait Column: bytemuck::Pod + Send + Sync + PartialEq {
    /// No site in the row.
    const NONE: Self;
    /// Whether the numbers have 16 bits.
    const NARROW: bool;
    /// As a column; the caller knows that it fits.
    fn new(column: usize) -> Self;
    /// As a number.
    fn number(self) -> u32;
}

impl Column for u16 {
    const NONE: u16 = u16::MAX;
    const NARROW: bool = true;
    fn new(column: usize) -> u16 {
        column as u16
    }
    fn number(self) -> u32 {
        self.into()
    }
}

impl Column for u32 {
    const NONE: u32 = u32::MAX;
    const NARROW: bool = false;
    fn new(column: usize) -> u32 {
        column as u32
    }
    fn number(self) -> u32 {
        self
    }
}

/// In every row and column the site of the row that is nearest to the column, the left one of two.
pub(super) struct Candidates<C> {
    /// The candidates row by row; a row without a site has only [`Column::NONE`].
    pub columns: Vec<C>,
    /// The number of elements of a row, from [`pitch`].
    pub pitch: usize,
    /// Columns of the raster.
    pub width: u32,
    /// The number of the first column in the wider raster, if this raster is a strip; else 0.
    pub first: u32,
    /// Rows of the raster.
    pub height: u32,
    /// The rows with sites.
    pub rows: Vec<u32>,
}

impl<C: Column> Candidates<C> {
    /// Finds them.
    pub fn find(input: &Input<'_>, progress: &dyn Progress) -> Result<Self> {
        let (width, height) = (input.grid.width as usize, input.grid.height as usize);
        let pitch = pitch::<C>(width);
        let mut columns = host_memory::zeroed(pitch * height)?;
        let mut occupied = host_memory::filled(false, height)?;
        let listed = listed_bits(input)?;
        let first = input.strip.map_or(0, |strip| strip.first);
        for band in bands(height) {
            report(progress, "voronoi rows", band.start, height)?;
            let occupied = Parts::new(occupied[band.clone()].chunks_mut(1));
            let columns = &mut columns[band.start * pitch..band.end * pitch];
            for_chunks_init(columns, pitch, Vec::new, |words, row, columns| {
                let y = band.start + row;
                row_bits(input, listed.as_deref(), y, words);
                let mut has_sites = fill_row(words, columns);
                if !has_sites {
                    columns.fill(C::NONE);
                }
                if let Some(strip) = &input.strip {
                    has_sites |= reach_beyond(columns, strip, y);
                }
                occupied.part(row)[0] = has_sites;
            });
        }
        report(progress, "voronoi rows", height, height)?;
        let mut rows = host_memory::with_capacity(occupied.iter().filter(|&&o| o).count())?;
        rows.extend((0..).zip(&occupied).filter(|(_, o)| **o).map(|(row, _): (u32, _)| row));
        let GridSpec { width, height, .. } = input.grid;
        Ok(Self { columns, pitch, width, height, first, rows })
    }

    /// Returns the number of the raster's column `x` in the whole raster.
    pub fn place(&self, x: usize) -> u32 {
        self.first + x as u32
    }

    /// Returns the candidates of a row from column `x` on, as many as a vector holds.
    pub fn group(&self, row: u32, x: usize) -> &[C; LANES] {
        let start = row as usize * self.pitch + x;
        self.columns[start..].first_chunk().expect("a row is a multiple of these long")
    }

    /// The candidate of a row and column.
    pub fn at(&self, row: u32, x: usize) -> C {
        self.columns[row as usize * self.pitch + x]
    }
}

/// Returns the elements of a row of candidates: the width, rounded up to the walk's vectors. The column pass reads one
/// strip of row after row. Rows at a distance of a multiple of 512 bytes would share a few sets of a cache, so such
/// rows get one cache line more between them.
fn pitch<C>(width: usize) -> usize {
    let pitch = width.next_multiple_of(LANES);
    let is_unlucky = (pitch * size_of::<C>()).is_multiple_of(512);
    pitch + if is_unlucky { 64 / size_of::<C>() } else { 0 }
}

/// A listed input as bits.
fn listed_bits(input: &Input<'_>) -> Result<Option<Vec<u32>>> {
    let Sites::List { columns, rows } = input.sites else { return Ok(None) };
    let words = input.words();
    let mut bits = host_memory::filled(0u32, words * input.grid.height as usize)?;
    for (&x, &y) in columns.iter().zip(rows) {
        bits[y as usize * words + x as usize / 32] |= 1 << (x % 32);
    }
    Ok(Some(bits))
}

/// The sites of row `y` as bits, 64 a word; bits beyond the width are 0.
fn row_bits(input: &Input<'_>, listed: Option<&[u32]>, y: usize, words: &mut Vec<u64>) {
    let width = input.grid.width as usize;
    words.clear();
    let of_words = |bits: &[u32], words: &mut Vec<u64>| {
        let row = &bits[y * input.words()..][..input.words()];
        let pair =
            |two: &[u32]| u64::from(two[0]) | u64::from(two.get(1).copied().unwrap_or(0)) << 32;
        words.extend(row.chunks(2).map(pair));
    };
    match (input.sites, listed) {
        (Sites::Mask(mask), _) => {
            words.extend(mask[y * width..][..width].chunks(64).map(packed_bytes))
        }
        (Sites::Labels(labels), _) => {
            let pack = |part: &[u32]| {
                part.iter().rev().fold(0, |word, &label| word << 1 | u64::from(label != 0))
            };
            words.extend(labels[y * width..][..width].chunks(64).map(pack));
        }
        (Sites::Bits(bits), _) => of_words(bits, words),
        (Sites::List { .. }, bits) => of_words(bits.unwrap_or(&[]), words),
    }
    if input.inverted {
        words.iter_mut().for_each(|word| *word = !*word);
    }
    if let (Some(last), used @ 1..) = (words.last_mut(), width % 64) {
        *last &= (1 << used) - 1;
    }
}

/// One bit for each of up to 64 bytes, set where it is not zero.
fn packed_bytes(bytes: &[u8]) -> u64 {
    let eight = |part: &[u8; 8]| {
        const LOW_7: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let bytes = u64::from_le_bytes(*part);
        // The top bit of each byte, moved side by side into the top byte of the product.
        let tops = ((((bytes & LOW_7) + LOW_7) | bytes) & !LOW_7) >> 7;
        tops.wrapping_mul(0x0102_0408_1020_4080) >> 56
    };
    let (whole, rest) = bytes.as_chunks::<8>();
    let high = rest.iter().rev().fold(0, |word, &byte| word << 1 | u64::from(byte != 0));
    let shift = 8 * whole.len() as u32;
    let high = if rest.is_empty() { 0 } else { high << shift };
    whole.iter().rev().fold(0, |word, part| word << 8 | eight(part)) | high
}

/// Fills a row with its nearest sites; false, and nothing written, where it has none.
fn fill_row<C: Column>(words: &[u64], columns: &mut [C]) -> bool {
    let mut row = RowFill { columns, last: None, start: 0 };
    for (first, &word) in (0..).step_by(64).zip(words) {
        if word == u64::MAX {
            row.meet_all(first..first + 64);
            continue;
        }
        let mut bits = word;
        while bits != 0 {
            row.meet(first + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
    row.end()
}

/// Makes a row's candidates in a strip those that its columns have in the whole; whether there are any.
fn reach_beyond<C: Column>(columns: &mut [C], strip: &Strip<'_>, y: usize) -> bool {
    let &Strip { first, .. } = strip;
    let beyond = |x: u32| (x != NONE).then_some(x);
    let (before, after) = (beyond(strip.before[y]), beyond(strip.after[y]));
    for (x, column) in (first..).zip(&mut *columns) {
        let own = (*column != C::NONE).then(|| first + column.number());
        let sites = [before, own, after].into_iter().flatten();
        // The western one of two that tie.
        let nearest = sites.min_by_key(|&site| (site.abs_diff(x), site));
        *column = nearest.map_or(C::NONE, |column| C::new(column as usize));
    }
    columns.first().is_some_and(|&column| column != C::NONE)
}

/// A row whose sites are met from the left. Between two sites a and b the pixels up to (a + b) / 2 belong to a.
struct RowFill<'a, C> {
    columns: &'a mut [C],
    /// The last site.
    last: Option<usize>,
    /// The first pixel that is not filled.
    start: usize,
}

impl<C: Column> RowFill<'_, C> {
    fn meet(&mut self, site: usize) {
        if let Some(last) = self.last {
            let end = (last + site) / 2 + 1;
            self.columns[self.start..end].fill(C::new(last));
            self.start = end;
        }
        self.last = Some(site);
    }

    /// Sites side by side: each pixel is its own.
    fn meet_all(&mut self, sites: Range<usize>) {
        self.meet(sites.start);
        self.columns[self.start..sites.start].fill(C::new(sites.start));
        for (column, site) in self.columns[sites.clone()].iter_mut().zip(sites.clone()) {
            *column = C::new(site);
        }
        (self.last, self.start) = (Some(sites.end - 1), sites.end);
    }

    fn end(self) -> bool {
        if let Some(last) = self.last {
            self.columns[self.start..].fill(C::new(last));
        }
        self.last.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_packed_in_order() {
        for length in 0..=64 {
            let bytes: Vec<u8> = (0..length as u32)
                .map(|i| (i.wrapping_mul(0x9e37_79b1) >> 24) as u8 & 0x81)
                .collect();
            let expected =
                bytes.iter().enumerate().fold(0, |w, (i, &b)| w | u64::from(b != 0) << i);
            assert_eq!(packed_bytes(&bytes), expected, "{length}");
        }
    }

    #[test]
    fn each_column_has_the_nearest_site_of_its_row() {
        let words = [u64::MAX, 0, u64::MAX, 1 << 40, 0, 1, u64::MAX, u64::MAX - 8, u64::MAX];
        for skip in 0..words.len() {
            let words = &words[skip..];
            let is_site = |x: usize| words[x / 64] >> (x % 64) & 1 != 0;
            let sites: Vec<usize> = (0..64 * words.len()).filter(|&x| is_site(x)).collect();
            let nearest = |x: usize| sites.iter().copied().min_by_key(|site| site.abs_diff(x));
            let mut columns = vec![u16::MAX; 64 * words.len()];
            assert!(fill_row(words, &mut columns));
            for (x, &column) in columns.iter().enumerate() {
                assert_eq!(Some(usize::from(column)), nearest(x), "column {x} of {words:x?}");
            }
        }
    }

    #[test]
    fn the_left_of_two_wins_a_tie() {
        let mut columns = [u16::MAX; 8];
        assert!(fill_row(&[0b100_0001], &mut columns));
        assert_eq!(columns, [0, 0, 0, 0, 6, 6, 6, 6]);
        assert!(!fill_row(&[0], &mut columns));
    }
}
