//! The layout of a TIFF: header, directories, tiles.
//!
//! The directories come first, the raster's before those of its overviews. Then come the tiles, the smallest overview's
//! first. This is the order of a cloud-optimised file (OGC 21-026), and any reader can read it. Tiles have 256 x 256
//! cells, floats with the floating-point predictor and bytes with the horizontal one. All cores compress some rows of
//! tiles at a time, while the rows before are written. A raster that is narrower or lower than a tile lies in strips of
//! whole rows; in a cloud-optimised file it lies in tiles as narrow or as low. Where the file may pass 4 GiB it is a
//! BigTIFF.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;

use bytemuck::Pod;
use gpu_core::parallel::{self, FINE};
use tiff_core::{ByteOrder, ExtraSample, PhotometricInterpretation, Predictor, Tag};
use tiff_writer::compress::{BlockEncodingOptions, compress_block};
use tiff_writer::encoder::{
    find_tag_value_offset, patch_block_byte_counts, patch_block_offsets, patch_first_ifd,
    patch_next_ifd, write_header, write_ifd,
};
use tiff_writer::{Error, ImageBuilder, Result, TiffWriteSample};

use crate::{Compression, TiffOptions};

/// The most columns and rows of a tile.
pub(crate) const TILE: usize = 256;

/// Deflate's level, chosen for speed: 6 packs terrain 4% smaller, and takes half as long again.
const DEFLATE_LEVEL: u32 = 3;

/// Tiles that are packed together, at least.
const BATCH: usize = 64;

/// Tells GDAL how the file is laid out (its documentation of the COG driver has the form). A tile's length stands
/// before it, and its last four bytes stand again behind it. So a reader that has one tile finds the next, and sees
/// whether the file was changed since.
const LAYOUT: &str = "LAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\n\
    BLOCK_LEADER=SIZE_AS_UINT4\nBLOCK_TRAILER=LAST_4_BYTES_REPEATED\n\
    KNOWN_INCOMPATIBLE_EDITION=NO\n ";

const ORDER: ByteOrder = ByteOrder::LittleEndian;

/// The type of a cell's numbers: 32 or 64 bits, where NaN means no value, or bytes, where 0 means no value.
pub trait Sample: TiffWriteSample + Pod + Send + Sync {
    /// The predictor: how earlier samples predict the next.
    const PREDICTOR: Predictor;
    /// No value.
    const NONE: Self;
    /// The most bands of numbers.
    const MOST_BANDS: usize;

    /// Returns the number, if it is a value.
    fn number(self) -> Option<f64>;

    /// Returns the number in the file.
    fn stored(self, nodata: f32) -> Self;

    /// Returns whether one of the values equals the file's mark for a missing value, and so would be lost.
    fn holds(values: &[Self], nodata: f32) -> bool;

    /// Writes the mean of some cells into a cell, band by band. Only cells with a value count; for colours (four
    /// bytes), only pixels that are not transparent.
    fn mean(cells: &[Self], out: &mut [Self]);

    /// Tells the meaning of several samples of a cell.
    fn named(image: ImageBuilder, per_cell: usize) -> ImageBuilder;
}

macro_rules! floats {
    ($($float:ty)+) => {$(
        impl Sample for $float {
            const PREDICTOR: Predictor = Predictor::FloatingPoint;
            const NONE: Self = <$float>::NAN;
            const MOST_BANDS: usize = u16::MAX as usize;

            fn number(self) -> Option<f64> {
                (!self.is_nan()).then_some(self.into())
            }

            fn stored(self, nodata: f32) -> Self {
                if self.is_nan() { nodata.into() } else { self }
            }

            fn holds(values: &[Self], nodata: f32) -> bool {
                parallel::first(values.len(), FINE, |i| values[i] == <$float>::from(nodata)).is_some()
            }

            fn mean(cells: &[Self], out: &mut [Self]) {
                let bands = out.len();
                for (band, out) in out.iter_mut().enumerate() {
                    let known = cells.iter().skip(band).step_by(bands).filter(|v| !v.is_nan());
                    let (sum, count) = known.fold((0.0, 0_u32), |(sum, n), &v| (sum + f64::from(v), n + 1));
                    *out = if count > 0 { (sum / f64::from(count)) as $float } else { <$float>::NAN };
                }
            }

            fn named(image: ImageBuilder, per_cell: usize) -> ImageBuilder {
                let further = vec![ExtraSample::Unspecified; per_cell - 1];
                image.photometric(PhotometricInterpretation::MinIsBlack).extra_samples(further)
            }
        }
    )+};
}

floats! { f32 f64 }

impl Sample for u8 {
    const PREDICTOR: Predictor = Predictor::Horizontal;
    const NONE: Self = 0;
    const MOST_BANDS: usize = 1;

    fn number(self) -> Option<f64> {
        (self != 0).then_some(self.into())
    }

    fn stored(self, _: f32) -> Self {
        self
    }

    fn holds(_: &[Self], _: f32) -> bool {
        false
    }

    fn mean(cells: &[Self], out: &mut [Self]) {
        let bands = out.len();
        // The last byte is the brightness, or the opacity.
        let known = || cells.chunks_exact(bands).filter(|cell| cell[bands - 1] != 0);
        for (band, out) in out.iter_mut().enumerate() {
            *out = rounded_mean(known().map(|cell| u32::from(cell[band])));
        }
    }

    /// Colours with opacity.
    fn named(image: ImageBuilder, _: usize) -> ImageBuilder {
        let opacity = vec![ExtraSample::UnassociatedAlpha];
        image.photometric(PhotometricInterpretation::Rgb).extra_samples(opacity)
    }
}

/// Returns the mean of bytes, rounded to the nearest; 0 for no bytes.
fn rounded_mean(values: impl Iterator<Item = u32>) -> u8 {
    let (sum, count) = values.fold((0, 0), |(sum, n), v| (sum + v, n + 1));
    (sum + count / 2).checked_div(count).unwrap_or(0) as u8
}

/// Rows of samples, which are there or are made.
pub(crate) trait Rows<T: Clone> {
    /// The samples of some rows.
    fn rows(&mut self, rows: Range<usize>) -> Result<Cow<'_, [T]>>;
}

/// All rows of a raster in memory: its samples, and those of a row.
pub(crate) struct Whole<'a, T>(pub &'a [T], pub usize);

impl<T: Clone> Rows<T> for Whole<'_, T> {
    fn rows(&mut self, rows: Range<usize>) -> Result<Cow<'_, [T]>> {
        Ok(Cow::Borrowed(&self.0[rows.start * self.1..rows.end * self.1]))
    }
}

/// A raster or an overview.
pub(crate) struct Level<'a, T: Clone> {
    /// Columns and rows.
    pub size: (usize, usize),
    /// Its samples.
    pub rows: &'a mut dyn Rows<T>,
    /// How many rows the writer takes at once: all, or a multiple of a [`Block`]'s rows.
    pub at_once: usize,
}

/// A part of a raster that is packed alone: a tile, or a strip of whole rows.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub width: usize,
    pub height: usize,
    is_strip: bool,
}

impl Block {
    /// Returns the block of a raster with these columns and rows.
    pub fn of((width, height): (usize, usize), options: &TiffOptions) -> Self {
        // Sides of tiles are multiples of 16. The tiles of a narrow raster share its length evenly: a nearly empty last
        // tile would double it.
        let is_narrow = width.min(height) < TILE;
        let side = |side: usize| match is_narrow {
            true => side.div_ceil(side.div_ceil(TILE).max(1)).next_multiple_of(16),
            false => TILE,
        };
        if options.cloud_optimised || width.min(height) >= TILE {
            return Self { width: side(width), height: side(height), is_strip: false };
        }
        let rows = (TILE * TILE / width).clamp(1, height);
        Self { width, height: rows, is_strip: true }
    }

    /// How many there are of a raster.
    pub fn count(self, (width, height): (usize, usize)) -> u64 {
        width.div_ceil(self.width) as u64 * height.div_ceil(self.height) as u64
    }

    /// The blocks of a raster, row by row: their first columns and rows.
    fn places(self, (width, height): (usize, usize)) -> Vec<(usize, usize)> {
        let rows = (0..height).step_by(self.height);
        rows.flat_map(|y| (0..width).step_by(self.width).map(move |x| (x, y))).collect()
    }
}

/// A directory that has been written and waits for its blocks' places.
struct Directory {
    offset: u64,
    tags: Vec<Tag>,
    /// The tags of the places and the lengths.
    codes: (u16, u16),
}

/// Writes a raster, the first of the levels, and its overviews. `per_cell` is 1, the number of bands of floats, or 4 for
/// colours with opacity; `stored` makes a sample what the file has; beyond the edge it is `padding`.
pub(crate) fn write_levels<T: Sample>(
    file: &mut BufWriter<File>,
    levels: &mut [Level<T>],
    per_cell: usize,
    options: &TiffOptions,
    tags: &[Tag],
    padding: T,
    stored: impl Fn(T) -> T + Sync,
) -> Result<()> {
    let bytes = |level: &Level<T>| {
        let block = Block::of(level.size, options);
        block.count(level.size) * (block.width * block.height * per_cell * size_of::<T>()) as u64
    };
    let bytes: u64 = levels.iter().map(bytes).sum();
    // What cannot be packed grows by a little; the directories are in the rest.
    let is_big = bytes > (u64::from(u32::MAX) / 64) * 63;
    write_header(file, ORDER, is_big)?;
    if options.cloud_optimised {
        // Its length is stated in a line of 43 bytes.
        write!(file, "GDAL_STRUCTURAL_METADATA_SIZE={:06} bytes\n{LAYOUT}", LAYOUT.len())?;
    }
    let directories = write_directories(file, levels, per_cell, options, tags, is_big)?;
    let is_framed = options.cloud_optimised;
    let pack = Packing { per_cell, compression: options.compression, is_framed, padding, stored };
    for (level, directory) in levels.iter_mut().zip(&directories).rev() {
        file.seek(SeekFrom::End(0))?;
        let places = pack.write_level(file, level, Block::of(level.size, options))?;
        let (offsets, counts): (Vec<u64>, Vec<u64>) = places.into_iter().unzip();
        let (offset_code, count_code) = directory.codes;
        let place = |code| {
            find_tag_value_offset(directory.offset, is_big, &directory.tags, code)
                .ok_or_else(|| Error::Other(format!("tag {code} is missing")))
        };
        patch_block_offsets(file, ORDER, is_big, place(offset_code)?, &offsets)?;
        patch_block_byte_counts(file, ORDER, is_big, place(count_code)?, &counts)?;
    }
    Ok(())
}

/// Writes the directories, each of which leads to the next.
fn write_directories<T: Sample>(
    file: &mut BufWriter<File>,
    levels: &[Level<T>],
    per_cell: usize,
    options: &TiffOptions,
    tags: &[Tag],
    is_big: bool,
) -> Result<Vec<Directory>> {
    let mut directories = Vec::new();
    let mut pointer = None;
    for (i, level) in levels.iter().enumerate() {
        let (width, height) = level.size;
        let mut image = ImageBuilder::new(width as u32, height as u32)
            .sample_type::<T>()
            .samples_per_pixel(per_cell as u16)
            .compression(codec(options.compression))
            .predictor(predictor::<T>(options.compression));
        let block = Block::of(level.size, options);
        image = match block.is_strip {
            true => image.strips(block.height as u32),
            false => image.tiles(block.width as u32, block.height as u32),
        };
        if per_cell > 1 {
            image = T::named(image, per_cell);
        }
        if i == 0 {
            image = tags.iter().cloned().fold(image, ImageBuilder::tag);
        } else {
            // Overviews say what NODATA is, too.
            let nodata = tags.iter().filter(|tag| tag.code == 42113).cloned();
            image = nodata.fold(image.overview(), ImageBuilder::tag);
        }
        let tags = image.checked_build_tags(is_big)?;
        // A directory begins at an even offset.
        if !file.stream_position()?.is_multiple_of(2) {
            file.write_all(&[0])?;
        }
        let codes = image.offset_tag_codes();
        let blocks = image.checked_block_count()?;
        let written = write_ifd(file, ORDER, is_big, &tags, codes.0, codes.1, blocks)?;
        match pointer {
            None => patch_first_ifd(file, 0, ORDER, is_big, written.ifd_offset)?,
            Some(at) => patch_next_ifd(file, ORDER, is_big, at, written.ifd_offset)?,
        }
        file.seek(SeekFrom::End(0))?;
        pointer = Some(written.next_ifd_pointer_offset);
        directories.push(Directory { offset: written.ifd_offset, tags, codes });
    }
    Ok(directories)
}

fn codec(compression: Compression) -> tiff_core::Compression {
    match compression {
        Compression::Deflate => tiff_core::Compression::Deflate,
        Compression::Zstd => tiff_core::Compression::Zstd,
        Compression::Lzw => tiff_core::Compression::Lzw,
        Compression::None => tiff_core::Compression::None,
    }
}

fn predictor<T: Sample>(compression: Compression) -> Predictor {
    if compression == Compression::None { Predictor::None } else { T::PREDICTOR }
}

/// How samples become blocks.
struct Packing<T, F> {
    per_cell: usize,
    compression: Compression,
    /// Whether lengths and last bytes stand around tiles, as [`LAYOUT`] has it.
    is_framed: bool,
    padding: T,
    stored: F,
}

impl<T: Sample, F: Fn(T) -> T + Sync> Packing<T, F> {
    /// Packs and writes all blocks of a level from where the file is; gives their places and lengths.
    fn write_level(
        &self,
        file: &mut BufWriter<File>,
        level: &mut Level<T>,
        block: Block,
    ) -> Result<Vec<(u64, u64)>> {
        let (width, height) = level.size;
        let mut places = Vec::new();
        for first in (0..height).step_by(level.at_once) {
            let count = level.at_once.min(height - first);
            let samples = level.rows.rows(first..first + count)?;
            places.extend(self.write_blocks(file, (width, count), &samples, block)?);
        }
        Ok(places)
    }

    /// The same of rows that begin with those of a block.
    fn write_blocks(
        &self,
        file: &mut BufWriter<File>,
        size: (usize, usize),
        samples: &[T],
        block: Block,
    ) -> Result<Vec<(u64, u64)>> {
        let tiles = block.places(size);
        let mut position = file.stream_position()?;
        let mut places = Vec::with_capacity(tiles.len());
        let mut packed: Vec<Vec<u8>> = Vec::new();
        // One batch is written while the next is packed; a last, empty one writes the last.
        for batch in tiles.chunks(BATCH).chain([&[][..]]) {
            let packed_of = |i: usize| self.packed(size, samples, batch[i], block);
            let pack = || parallel::map(batch.len(), 1, packed_of).into_iter().collect();
            let write = || packed.iter().try_for_each(|tile| self.write_tile(file, tile));
            let (next, written): (Result<Vec<Vec<u8>>>, _) = rayon::join(pack, write);
            written?;
            for tile in &packed {
                let (before, behind) = if self.is_framed { (4, tile.len().min(4)) } else { (0, 0) };
                places.push((position + before, tile.len() as u64));
                position += before + tile.len() as u64 + behind as u64;
            }
            packed = next?;
        }
        Ok(places)
    }

    fn write_tile(&self, file: &mut BufWriter<File>, tile: &[u8]) -> std::io::Result<()> {
        if !self.is_framed {
            return file.write_all(tile);
        }
        file.write_all(&(tile.len() as u32).to_le_bytes())?;
        file.write_all(tile)?;
        file.write_all(&tile[tile.len().saturating_sub(4)..])
    }

    /// One block in the form in which it lies in the file.
    fn packed(
        &self,
        (width, height): (usize, usize),
        samples: &[T],
        (x, y): (usize, usize),
        block: Block,
    ) -> Result<Vec<u8>> {
        let per_cell = self.per_cell;
        // The last strip ends with the raster, the last tiles do not.
        let rows = if block.is_strip { block.height.min(height - y) } else { block.height };
        let mut tile = vec![self.padding; block.width * rows * per_cell];
        for (line, y) in tile.chunks_exact_mut(block.width * per_cell).zip(y..height) {
            let start = (y * width + x) * per_cell;
            let end = (y * width + width.min(x + block.width)) * per_cell;
            for (cell, &value) in line.iter_mut().zip(&samples[start..end]) {
                *cell = (self.stored)(value);
            }
        }
        let compression = codec(self.compression);
        let options = BlockEncodingOptions {
            byte_order: ORDER,
            compression,
            predictor: predictor::<T>(self.compression),
            samples_per_pixel: per_cell as u16,
            row_width_pixels: block.width,
            jpeg_options: None,
            jpeg_sampling: None,
            deflate_level: (self.compression == Compression::Deflate).then_some(DEFLATE_LEVEL),
        };
        compress_block(&tile, options, 0)
    }
}
