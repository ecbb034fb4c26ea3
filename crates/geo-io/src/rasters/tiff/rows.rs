//! GeoTIFF of a raster that is not in memory.
//!
//! The writer requests some rows at a time, from north to south: once, or three times if overviews and statistics come
//! before the raster in the file. The first pass gives the first overview, sums and extremes, the second the deviation
//! from the mean, the third the raster. Until the end, overviews lie in unnamed files beside the output. The bytes are
//! the same as from [`write_tiff`](crate::write_tiff).

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use bytemuck::cast_slice_mut;
use gpu_core::host_memory;

use crate::output::{Output, folder_of, write_atomic};
use crate::rasters::tiff::layout::{Block, Level, Rows, Sample, TILE, write_levels};
use crate::rasters::tiff::write::{
    Bands, Join, SUMMED, Statistics, halved, metadata_tag, nodata_tag,
};
use crate::{Error, Georeference, Result, TiffOptions};

/// Cells that are taken at once, about: some rows of tiles of a narrow raster, one of a wide one.
const AT_ONCE: usize = 64 * TILE * TILE;

/// Fills rows of a raster. The function gets the number of the first row, and a buffer for whole rows. It writes NaN
/// for a missing value, or 0 in bytes. The numbers of a cell, one for each band, follow each other. A writer may
/// request the same rows three times, and must get the same numbers each time.
pub type FillRows<'a, T = f32> = dyn FnMut(usize, &mut [T]) -> Result<()> + 'a;

/// Writes a raster of values as GeoTIFF. The values need not fit the memory: `fill` returns whole rows, from the first
/// on, in one pass; with [`TiffOptions::cloud_optimised`], in three passes. Values are f32 or f64, or bytes of one
/// band, whose NODATA is 0.
///
/// It takes the memory of a few times 256 rows, or of a few times 4 million numbers if that is more. Overviews take a
/// third of the raster's size in the output's folder while the file is written.
///
/// ```
/// use geo_io::{ArrayData, Bands, Georeference, TiffOptions, read_raster, write_tiff_rows};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("dem.tif");
/// let place = Georeference::north_up((100.0, 20.0), (10.0, 10.0));
/// let (bands, options) = (Bands::one(-9999.0), TiffOptions::default());
/// write_tiff_rows(&path, &place, (2, 2), &bands, &options, &mut |first, rows: &mut [f32]| {
///     for (i, row) in rows.chunks_mut(2).enumerate() {
///         row.fill((first + i) as f32); // the number of the row
///     }
///     Ok(())
/// })?;
/// assert_eq!(read_raster(&path, None)?.values, ArrayData::F32(vec![0.0, 0.0, 1.0, 1.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - The errors of `fill`.
/// - [`Error::BadValue`]: the raster has no cells or no bands. [`Error::NodataTaken`]: a value equals NODATA.
/// - The errors of writing.
pub fn write_tiff_rows<'a, T: Sample>(
    output: impl Into<Output<'a>>,
    place: &Georeference,
    (width, height): (u32, u32),
    bands: &Bands,
    options: &TiffOptions,
    fill: &mut FillRows<T>,
) -> Result<()> {
    let output = output.into();
    bands.check()?;
    let (count, expected) = (bands.names.len(), "1 of bytes");
    if count > T::MOST_BANDS {
        return Err(Error::BadValue { what: "number of bands", value: count as f64, expected });
    }
    write(output, place, (width, height), count, Stated { bands: Some(bands), options }, fill)
}

/// Writes colours as GeoTIFF. They need not fit the memory: `fill` returns whole rows of red, green, blue and opacity,
/// from the first row on, in one pass. With [`TiffOptions::cloud_optimised`], there are two passes.
///
/// ```
/// use geo_io::{Georeference, TiffOptions, read_place, write_tiff_colour_rows};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("relief.tif");
/// let place = Georeference::north_up((100.0, 20.0), (10.0, 10.0));
/// write_tiff_colour_rows(&path, &place, (2, 2), &TiffOptions::default(), &mut |_, rows| {
///     rows.chunks_mut(4).for_each(|pixel| pixel.copy_from_slice(&[255, 0, 0, 255])); // red
///     Ok(())
/// })?;
/// assert_eq!(read_place(&path)?.size, (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_tiff_rows`].
pub fn write_tiff_colour_rows<'a>(
    output: impl Into<Output<'a>>,
    place: &Georeference,
    size: (u32, u32),
    options: &TiffOptions,
    fill: &mut FillRows<u8>,
) -> Result<()> {
    write(output.into(), place, size, 4, Stated { bands: None, options }, fill)
}

/// The file's statements about its cells, and how it is written.
struct Stated<'a> {
    /// `None` for colours.
    bands: Option<&'a Bands<'a>>,
    options: &'a TiffOptions,
}

fn write<T: Sample>(
    output: Output,
    place: &Georeference,
    (width, height): (u32, u32),
    per_cell: usize,
    Stated { bands, options }: Stated,
    fill: &mut FillRows<T>,
) -> Result<()> {
    if width == 0 || height == 0 {
        return Err(Error::BadValue { what: "number of cells", value: 0.0, expected: "positive" });
    }
    let (size, nodata) = ((width as usize, height as usize), bands.map_or(0.0, |b| b.nodata));
    // Where each block lies and how long it is, here and in the directory; and the rows that are taken at once.
    let rows = at_once(size, per_cell, options).min(size.1);
    let numbers = (rows * size.0).saturating_mul(per_cell * size_of::<T>()) as u64;
    let asked = Block::of(size, options).count(size).saturating_mul(32).saturating_add(numbers);
    let path = output.path;
    host_memory::require(asked).map_err(|_| Error::OutOfMemory { path: path.to_owned(), asked })?;
    let mut raster =
        Made { path, width: size.0, per_cell, cells: Vec::new(), nodata, fill, failed: None };
    let mut tags = place.tags();
    tags.extend(bands.map(|bands| nodata_tag(bands.nodata)));
    let names = bands.map_or(&[][..], |bands| bands.names);
    let mut overviews = Vec::new();
    let mut stated = vec![None; names.len()];
    if options.cloud_optimised {
        let first;
        (first, stated) = survey(&mut raster, size, options.overviews.join(), !names.is_empty())?;
        overviews.extend(first);
        while let Some(last) = overviews.last_mut().filter(|o| o.size.0.max(o.size.1) > TILE) {
            let next = last.halved(output.path)?;
            overviews.push(next);
        }
    }
    tags.extend(metadata_tag(names, &stated));
    let written = write_atomic(output, |file| {
        let at_once = |size| at_once(size, per_cell, options);
        let raster = Level { size, rows: &mut raster, at_once: at_once(size) };
        let overviews = overviews.iter_mut().map(|overview| {
            let at_once = at_once(overview.size);
            Level { size: overview.size, rows: overview, at_once }
        });
        let mut levels: Vec<Level<T>> = std::iter::once(raster).chain(overviews).collect();
        let (padding, stored) = (T::NONE.stored(nodata), |v: T| v.stored(nodata));
        write_levels(file, &mut levels, per_cell, options, &tags, padding, stored)
            .map_err(|e| Error::write(output.path, e))
    });
    match raster.failed {
        Some(error) => Err(error),
        None => written,
    }
}

/// Whole rows of blocks that have about [`AT_ONCE`] numbers.
fn at_once(size: (usize, usize), per_cell: usize, options: &TiffOptions) -> usize {
    let rows = Block::of(size, options).height;
    (AT_ONCE / (size.0 * per_cell * rows)).max(1) * rows
}

/// The rows of the raster.
struct Made<'a, 'b, T> {
    path: &'a Path,
    width: usize,
    per_cell: usize,
    cells: Vec<T>,
    nodata: f32,
    fill: &'a mut FillRows<'b, T>,
    /// Why rows could not be had.
    failed: Option<Error>,
}

impl<T: Sample> Made<'_, '_, T> {
    fn fill(&mut self, rows: Range<usize>) -> Result<&[T]> {
        self.cells.resize(rows.len() * self.width * self.per_cell, T::NONE);
        (self.fill)(rows.start, &mut self.cells)?;
        match T::holds(&self.cells, self.nodata) {
            true => {
                let (path, value) = (self.path.to_owned(), self.nodata);
                Err(Error::NodataTaken { path, value })
            }
            false => Ok(&self.cells),
        }
    }
}

impl<T: Sample> Rows<T> for Made<'_, '_, T> {
    fn rows(&mut self, rows: Range<usize>) -> tiff_writer::Result<Cow<'_, [T]>> {
        if let Err(error) = self.fill(rows) {
            self.failed = Some(error);
            // Another error's place, which the one above takes.
            return Err(tiff_writer::Error::Other("its rows could not be had".to_owned()));
        }
        Ok(Cow::Borrowed(&self.cells))
    }
}

/// The first overview of a raster, and the statistics of each band, where there are such.
type Surveyed<T> = (Option<Overview<T>>, Vec<Option<Statistics>>);

/// Goes through the raster twice: its first overview, unless it is no larger than a tile, and the statistics of each band,
/// if it has a value. Once if there are no statistics.
fn survey<T: Sample>(
    raster: &mut Made<T>,
    (width, height): (usize, usize),
    join: Join<T>,
    has_statistics: bool,
) -> Result<Surveyed<T>> {
    let (per_cell, path) = (raster.per_cell, raster.path);
    let mut overview = match width.max(height) > TILE {
        true => {
            let half = (width.div_ceil(2), height.div_ceil(2));
            Some(Overview::new(half, per_cell, join, path)?)
        }
        false => None,
    };
    let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); per_cell];
    let mut sums = vec![Sum::default(); per_cell];
    for rows in strips(width * per_cell, height) {
        let count = rows.len();
        let cells = raster.fill(rows)?;
        for cell in cells.chunks_exact(per_cell).filter(|_| has_statistics) {
            for ((value, (low, high)), sum) in cell.iter().zip(&mut ends).zip(&mut sums) {
                let value = value.number().filter(|value| value.is_finite());
                if let Some(value) = value {
                    (*low, *high) = (low.min(value), high.max(value));
                }
                sum.add(value);
            }
        }
        if let Some(overview) = &mut overview {
            overview.append((width, count), cells, path)?;
        }
    }
    if !has_statistics {
        return Ok((overview, Vec::new()));
    }
    let sums: Vec<(f64, u64)> = sums.into_iter().map(Sum::end).collect();
    if sums.iter().all(|&(_, count)| count == 0) {
        return Ok((overview, vec![None; per_cell]));
    }
    let means: Vec<f64> = sums.iter().map(|&(sum, count)| sum / count as f64).collect();
    let mut squares = vec![Sum::default(); per_cell];
    for rows in strips(width * per_cell, height) {
        for cell in raster.fill(rows)?.chunks_exact(per_cell) {
            for ((value, mean), squares) in cell.iter().zip(&means).zip(&mut squares) {
                let value = value.number().filter(|value| value.is_finite());
                squares.add(value.map(|value| (value - mean).powi(2)));
            }
        }
    }
    let of_band = |(band, squares): (usize, Sum)| {
        let ((low, high), count) = (ends[band], sums[band].1);
        let deviation = (squares.end().0 / count as f64).sqrt();
        let percent = 100.0 * count as f64 / (width * height) as f64;
        (count > 0).then_some([low, high, means[band], deviation, percent])
    };
    Ok((overview, squares.into_iter().enumerate().map(of_band).collect()))
}

/// Divides the rows, each of `width` numbers, into ranges that are read at once.
fn strips(width: usize, height: usize) -> impl Iterator<Item = Range<usize>> {
    let step = (AT_ONCE / (width * TILE)).max(1) * TILE;
    (0..height).step_by(step).map(move |first| first..height.min(first + step))
}

/// A sum in the order of [`SUMMED`].
#[derive(Clone, Default)]
struct Sum {
    total: f64,
    part: f64,
    cells: usize,
    count: u64,
}

impl Sum {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.part += value;
            self.count += 1;
        }
        self.cells += 1;
        if self.cells == SUMMED {
            self.total += std::mem::take(&mut self.part);
            self.cells = 0;
        }
    }

    fn end(self) -> (f64, u64) {
        (self.total + self.part, self.count)
    }
}

/// An overview in a file without a name, which goes with the program, however that ends.
struct Overview<T> {
    size: (usize, usize),
    per_cell: usize,
    join: Join<T>,
    file: File,
    cells: Vec<T>,
}

impl<T: Sample> Overview<T> {
    fn new(size: (usize, usize), per_cell: usize, join: Join<T>, path: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder_of(path)).map_err(|e| Error::write(path, e))?;
        Ok(Self { size, per_cell, join, file, cells: Vec::new() })
    }

    /// Adds what some rows of the level before give: an even number of them, but for the last.
    fn append(&mut self, size: (usize, usize), cells: &[T], path: &Path) -> Result<()> {
        let (_, rows) = halved(size, cells, self.per_cell, T::NONE, self.join);
        let bytes = bytemuck::cast_slice(&rows);
        self.file.write_all(bytes).map_err(|e| Error::write(path, e))
    }

    fn read(&mut self, rows: Range<usize>) -> std::io::Result<&[T]> {
        let row = self.size.0 * self.per_cell;
        self.cells.resize(rows.len() * row, T::NONE);
        self.file.seek(SeekFrom::Start((rows.start * row * size_of::<T>()) as u64))?;
        self.file.read_exact(cast_slice_mut(&mut self.cells))?;
        Ok(&self.cells)
    }

    /// The next overview, of half the columns and rows.
    fn halved(&mut self, path: &Path) -> Result<Self> {
        let (width, height) = self.size;
        let half = (width.div_ceil(2), height.div_ceil(2));
        let mut next = Self::new(half, self.per_cell, self.join, path)?;
        for rows in strips(width * self.per_cell, height) {
            let count = rows.len();
            let cells = self.read(rows).map_err(|e| Error::write(path, e))?;
            next.append((width, count), cells, path)?;
        }
        Ok(next)
    }
}

impl<T: Sample> Rows<T> for Overview<T> {
    fn rows(&mut self, rows: Range<usize>) -> tiff_writer::Result<Cow<'_, [T]>> {
        Ok(Cow::Borrowed(self.read(rows)?))
    }
}
