//! GeoTIFF of a raster that is not in memory.
//!
//! Its rows are asked for some at a time, from north to south: once, or three times where overviews and statistics
//! come before the raster in the file. The first time gives the first overview, sums and extremes, the second the
//! deviation from the mean, the third the raster. Overviews lie in unnamed files beside the output meanwhile. The
//! file has the bytes that [`write_tiff`](crate::write_tiff) gives of the same values.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use bytemuck::cast_slice_mut;
use tiff_core::Tag;

use crate::geotiff::{SUMMED, check_nodata, halved, mean_of, nodata_tag, statistics_tag};
use crate::output::{Output, folder_of, write_atomic};
use crate::tiff_file::{Block, Level, Rows, TILE, write_levels};
use crate::{Error, Georeference, Result, TiffOptions};

/// Cells that are taken at once, about: some rows of tiles of a narrow raster, one of a wide one.
const AT_ONCE: usize = 64 * TILE * TILE;

/// What fills rows of a raster: it is told the first of them, and gives NaN where there is no value. The same rows
/// may be asked for thrice, and must be the same each time.
pub type FillRows<'a> = dyn FnMut(usize, &mut [f32]) -> Result<()> + 'a;

/// Writes a raster of values that need not fit the memory as GeoTIFF: `fill` gives whole rows, from the first on,
/// in one pass or with [`TiffOptions::cloud_optimised`] in three.
///
/// The memory is that of 256 rows, or of 4 million cells where that is more, a few times. Overviews take a third of
/// the raster's size in the output's folder while the file is written.
///
/// # Errors
/// What `fill` gives, [`Error::BadValue`] for a raster without cells or for a value that equals `nodata` and would be
/// lost, and those of writing.
pub fn write_tiff_rows<'a>(
    output: impl Into<Output<'a>>,
    place: &Georeference,
    (width, height): (u32, u32),
    nodata: f32,
    options: &TiffOptions,
    fill: &mut FillRows,
) -> Result<()> {
    let output = output.into();
    if width == 0 || height == 0 {
        return Err(Error::BadValue { what: "number of cells", value: 0.0, expected: "positive" });
    }
    let size = (width as usize, height as usize);
    let mut raster = Made { width: size.0, cells: Vec::new(), nodata, fill, failed: None };
    let mut tags = place.tags();
    tags.push(nodata_tag(nodata));
    let mut overviews = Vec::new();
    if options.cloud_optimised {
        let (first, statistics) = survey(&mut raster, size, output.path)?;
        tags.extend(statistics);
        overviews.extend(first);
        while let Some(last) = overviews.last_mut().filter(|o| o.size.0.max(o.size.1) > TILE) {
            let next = last.halved(output.path)?;
            overviews.push(next);
        }
    }
    let written = write_atomic(output, |file| {
        let raster = Level { size, rows: &mut raster, at_once: at_once(size, options) };
        let overviews = overviews.iter_mut().map(|overview| {
            let at_once = at_once(overview.size, options);
            Level { size: overview.size, rows: overview, at_once }
        });
        let mut levels: Vec<Level<f32>> = std::iter::once(raster).chain(overviews).collect();
        let stored = |v: f32| if v.is_nan() { nodata } else { v };
        write_levels(file, &mut levels, 1, options, &tags, nodata, stored)
            .map_err(|e| Error::write(output.path, e))
    });
    match raster.failed {
        Some(error) => Err(error),
        None => written,
    }
}

/// Whole rows of blocks that have about [`AT_ONCE`] cells.
fn at_once(size: (usize, usize), options: &TiffOptions) -> usize {
    let rows = Block::of(size, options).height;
    (AT_ONCE / (size.0 * rows)).max(1) * rows
}

/// The rows of the raster.
struct Made<'a, 'b> {
    width: usize,
    cells: Vec<f32>,
    nodata: f32,
    fill: &'a mut FillRows<'b>,
    /// Why rows could not be had.
    failed: Option<Error>,
}

impl Made<'_, '_> {
    fn fill(&mut self, rows: Range<usize>) -> Result<&[f32]> {
        self.cells.resize(rows.len() * self.width, f32::NAN);
        (self.fill)(rows.start, &mut self.cells)?;
        check_nodata(&self.cells, self.nodata)?;
        Ok(&self.cells)
    }
}

impl Rows<f32> for Made<'_, '_> {
    fn rows(&mut self, rows: Range<usize>) -> tiff_writer::Result<Cow<'_, [f32]>> {
        if let Err(error) = self.fill(rows) {
            self.failed = Some(error);
            // Another error's place, which the one above takes.
            return Err(tiff_writer::Error::Other("its rows could not be had".to_owned()));
        }
        Ok(Cow::Borrowed(&self.cells))
    }
}

/// Goes through the raster twice: its first overview, unless it is no larger than a tile, and its statistics, if it
/// has a value.
fn survey(
    raster: &mut Made,
    size: (usize, usize),
    path: &Path,
) -> Result<(Option<Overview>, Option<Tag>)> {
    let (width, height) = size;
    let mut overview = match width.max(height) > TILE {
        true => Some(Overview::new((width.div_ceil(2), height.div_ceil(2)), path)?),
        false => None,
    };
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut sum = Sum::default();
    for rows in strips(width, height) {
        let count = rows.len();
        let cells = raster.fill(rows)?;
        for value in cells.iter().map(|v| f64::from(*v)) {
            let is_known = value.is_finite();
            (low, high) = if is_known { (low.min(value), high.max(value)) } else { (low, high) };
            sum.add(is_known.then_some(value));
        }
        if let Some(overview) = &mut overview {
            overview.append((width, count), cells, path)?;
        }
    }
    let (sum, count) = sum.end();
    if count == 0 {
        return Ok((overview, None));
    }
    let mean = sum / count as f64;
    let mut squares = Sum::default();
    for rows in strips(width, height) {
        for value in raster.fill(rows)?.iter().map(|v| f64::from(*v)) {
            squares.add(value.is_finite().then(|| (value - mean).powi(2)));
        }
    }
    let deviation = (squares.end().0 / count as f64).sqrt();
    let percent = 100.0 * count as f64 / (width * height) as f64;
    Ok((overview, Some(statistics_tag([low, high, mean, deviation, percent]))))
}

/// Rows that are gone through at once.
fn strips(width: usize, height: usize) -> impl Iterator<Item = Range<usize>> {
    let step = (AT_ONCE / (width * TILE)).max(1) * TILE;
    (0..height).step_by(step).map(move |first| first..height.min(first + step))
}

/// A sum in the order of [`SUMMED`].
#[derive(Default)]
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
struct Overview {
    size: (usize, usize),
    file: File,
    cells: Vec<f32>,
}

impl Overview {
    fn new(size: (usize, usize), path: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder_of(path)).map_err(|e| Error::write(path, e))?;
        Ok(Self { size, file, cells: Vec::new() })
    }

    /// Adds what some rows of the level before give: an even number of them, but for the last.
    fn append(&mut self, size: (usize, usize), cells: &[f32], path: &Path) -> Result<()> {
        let mean = |cells: &[f32], out: &mut [f32]| out[0] = mean_of(cells).unwrap_or(f32::NAN);
        let (_, rows) = halved(size, cells, 1, f32::NAN, &mean);
        let bytes = bytemuck::cast_slice(&rows);
        self.file.write_all(bytes).map_err(|e| Error::write(path, e))
    }

    fn read(&mut self, rows: Range<usize>) -> std::io::Result<&[f32]> {
        let row = self.size.0;
        self.cells.resize(rows.len() * row, 0.0);
        self.file.seek(SeekFrom::Start((rows.start * row * size_of::<f32>()) as u64))?;
        self.file.read_exact(cast_slice_mut(&mut self.cells))?;
        Ok(&self.cells)
    }

    /// The next overview, of half the columns and rows.
    fn halved(&mut self, path: &Path) -> Result<Self> {
        let (width, height) = self.size;
        let mut next = Self::new((width.div_ceil(2), height.div_ceil(2)), path)?;
        for rows in strips(width, height) {
            let count = rows.len();
            let cells = self.read(rows).map_err(|e| Error::write(path, e))?;
            next.append((width, count), cells, path)?;
        }
        Ok(next)
    }
}

impl Rows<f32> for Overview {
    fn rows(&mut self, rows: Range<usize>) -> tiff_writer::Result<Cow<'_, [f32]>> {
        Ok(Cow::Borrowed(self.read(rows)?))
    }
}
