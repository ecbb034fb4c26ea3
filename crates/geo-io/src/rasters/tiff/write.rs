//! GeoTIFF, readable by GDAL and everything built on it: values of float32, grey and coloured pictures.
//!
//! [`crate::rasters::tiff::layout`] lays out the file, and compresses it on all cores. A cloud-optimised file has
//! overviews beside the raster, each half the size of the previous one, down to a tile. Their cells are means of the
//! cells that have a value. It also has the raster's statistics as GDAL states them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gpu_core::parallel;
use gpu_core::{GridSpec, Shortest, host_memory};
use tiff_core::{Tag, TagValue};

use crate::output::{Output, write_atomic};
use crate::rasters::tiff::gdal_tags::{GDAL_METADATA, GDAL_NODATA};
use crate::rasters::tiff::layout::{Level, Sample, TILE, Whole, write_levels};
use crate::{Crs, Error, Georeference, Result, RowMajor};

/// The lossless compression of the tiles of a GeoTIFF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Deflate, which every reader knows.
    #[default]
    Deflate,
    /// Zstandard.
    Zstd,
    /// Lempel, Ziv and Welch.
    Lzw,
    /// Not at all.
    None,
}

impl Compression {
    const ALL: [(&str, Self); 4] = [
        ("deflate", Self::Deflate),
        ("zstd", Self::Zstd),
        ("lzw", Self::Lzw),
        ("none", Self::None),
    ];
}

impl FromStr for Compression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
        found.map(|(_, compression)| *compression).ok_or_else(|| Error::UnknownChoice {
            what: "compression",
            text: text.to_owned(),
            known: "deflate, zstd, lzw or none",
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, other)| other == self);
        f.pad(name.map_or("", |(name, _)| name))
    }
}

/// What a cell of an overview has of the four cells below it.
///
/// Example: see [`write_tiff`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overviews {
    /// The mean of those with a value.
    #[default]
    Means,
    /// The first with a value, row by row: for angles, and for other numbers whose mean says nothing.
    First,
}

impl Overviews {
    /// Returns what writes a cell from up to four cells, which lie one behind the other.
    pub(crate) fn join<T: Sample>(self) -> Join<T> {
        match self {
            Self::Means => T::mean,
            Self::First => |cells, out| {
                let mut all = cells.chunks_exact(out.len());
                let first =
                    all.clone().find(|cell| cell.iter().any(|value| value.number().is_some()));
                out.copy_from_slice(first.or_else(|| all.next()).unwrap_or(cells));
            },
        }
    }
}

/// Writes a cell of an overview from cells.
pub(crate) type Join<T> = fn(&[T], &mut [T]);

/// How a GeoTIFF is written.
///
/// Example: see [`write_tiff`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TiffOptions {
    /// How its tiles are packed.
    pub compression: Compression,
    /// Whether to write a cloud-optimised file: with overviews and statistics, in an order for reading parts over a
    /// network.
    pub cloud_optimised: bool,
    /// What the overviews of a cloud-optimised file have.
    pub overviews: Overviews,
}

/// The cells of a raster: row-major, row 0 in the north.
///
/// Example: see [`write_tiff`].
#[derive(Clone, Copy, Debug)]
pub enum Cells<'a> {
    /// One number a cell; NaN is written as `nodata`, which may be NaN too.
    Values {
        /// The numbers.
        values: &'a [f32],
        /// The file's mark for a missing value.
        nodata: f32,
    },
    /// Several numbers a cell; NaN is written as NODATA.
    Bands {
        /// The numbers of each band.
        values: &'a [&'a [f32]],
        /// What the file says of them: a name for each.
        bands: Bands<'a>,
    },
    /// One byte a cell: 0 for NODATA, brightness from 1 to 255.
    Grey(&'a [u8]),
    /// Four bytes a cell: red, green, blue and opacity, which is 0 or 255.
    Colours(&'a [u8]),
}

/// The metadata of a GeoTIFF's bands of numbers; there is at least one band.
///
/// Example: see [`write_tiff_rows`](crate::write_tiff_rows).
#[derive(Clone, Copy, Debug)]
pub struct Bands<'a> {
    /// The description of each band, as in GDAL; empty for none.
    pub names: &'a [&'a str],
    /// The number that marks a missing value in the file; it may be NaN.
    pub nodata: f32,
}

impl Bands<'static> {
    /// One band without a description.
    pub fn one(nodata: f32) -> Self {
        Self { names: &[""], nodata }
    }
}

impl Bands<'_> {
    /// Refuses names of no band, and of more than a file can state.
    pub(crate) fn check(&self) -> Result<()> {
        let bands = self.names.len();
        if !(1..=usize::from(u16::MAX)).contains(&bands) {
            let (value, expected) = (bands as f64, "from 1 to 65535");
            return Err(Error::BadValue { what: "number of bands", value, expected });
        }
        Ok(())
    }
}

/// Writes a raster as GeoTIFF. `values` are row-major, row 0 in the north; NaN becomes `nodata`.
///
/// The file states `nodata`, the grid's place on the ground (a pixel is an area) and, where
/// given, the reference system. A `nodata` of NaN is allowed.
///
/// ```
/// use geo_io::{ArrayData, Crs, read_raster, write_geotiff};
/// use gpu_core::GridSpec;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("dem.tif");
/// let grid = GridSpec::new(100.0, 20.0, 10.0, 2, 1)?;
/// write_geotiff(&path, &grid, &[5.5, f32::NAN], Some(&Crs::parse("EPSG:32632")?), -9999.0)?;
/// let raster = read_raster(&path, None)?;
/// assert_eq!(raster.values, ArrayData::F32(vec![5.5, -9999.0])); // as stored
/// assert_eq!(raster.nodata, Some((-9999.0).into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_tiff`].
pub fn write_geotiff<'a>(
    output: impl Into<Output<'a>>,
    grid: &GridSpec,
    values: &(impl RowMajor<f32> + ?Sized),
    crs: Option<&Crs>,
    nodata: f32,
) -> Result<()> {
    let place = Georeference::of_grid(grid, crs);
    write_georeferenced(output, &place, (grid.width, grid.height), values, nodata)
}

/// Writes like [`write_geotiff`] a raster of `width` columns and `height` rows at any place, also with pixels that are
/// rotated, mirrored or not square.
///
/// Example: see [`read_place`](crate::read_place).
///
/// # Errors
/// The errors of [`write_tiff`].
pub fn write_georeferenced<'a>(
    output: impl Into<Output<'a>>,
    place: &Georeference,
    size: (u32, u32),
    values: &(impl RowMajor<f32> + ?Sized),
    nodata: f32,
) -> Result<()> {
    let values = values.row_major((size.0 as usize, size.1 as usize))?;
    write_tiff(output, place, size, Cells::Values { values, nodata }, &TiffOptions::default())
}

/// Writes a raster of `width` columns and `height` rows as GeoTIFF.
///
/// Numbers of several bands lie in the file cell by cell.
///
/// ```
/// use geo_io::{ArrayData, Cells, Georeference, TiffOptions, read_raster, write_tiff};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("shade.tif");
/// let place = Georeference::north_up((100.0, 20.0), (10.0, 10.0));
/// let grey = Cells::Grey(&[0, 1, 255]); // 0 is NODATA
/// write_tiff(&path, &place, (3, 1), grey, &TiffOptions::default())?;
/// assert_eq!(read_raster(&path, None)?.values, ArrayData::U8(vec![0, 1, 255]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::Shape`]: a band does not have a value for each cell, or not every band has a name.
/// - [`Error::BadValue`]: the raster has no cells or no bands. [`Error::NodataTaken`]: a value equals `nodata`.
/// - The errors of writing.
pub fn write_tiff<'a>(
    output: impl Into<Output<'a>>,
    place: &Georeference,
    (width, height): (u32, u32),
    cells: Cells,
    options: &TiffOptions,
) -> Result<()> {
    let output = output.into();
    let expected = u64::from(width) * u64::from(height);
    let check = |found: usize| match found as u64 {
        found if found != expected => Err(Error::Shape { what: "raster", expected, found }),
        0 => Err(Error::BadValue { what: "number of cells", value: 0.0, expected: "positive" }),
        _ => Ok(()),
    };
    let (size, mut tags) = ((width as usize, height as usize), place.tags());
    match cells {
        Cells::Values { values, nodata } => {
            check(values.len())?;
            write_bands(output, size, (&[values], Bands::one(nodata)), tags, options)
        }
        Cells::Bands { values, bands } => {
            let (expected, found) = (values.len() as u64, bands.names.len() as u64);
            if expected != found {
                return Err(Error::Shape { what: "names of bands", expected, found });
            }
            bands.check()?;
            values.iter().try_for_each(|band| check(band.len()))?;
            write_bands(output, size, (values, bands), tags, options)
        }
        Cells::Grey(bytes) => {
            check(bytes.len())?;
            tags.push(nodata_tag(0.0));
            tags.extend(metadata_tag(&[""], &[statistics(options, bytes)]));
            let levels = Levels { size, cells: bytes, per_cell: 1, padding: 0 };
            write(output, levels, options, tags, |v| v)
        }
        Cells::Colours(bytes) => {
            check(bytes.len() / 4)?;
            let levels = Levels { size, cells: bytes, per_cell: 4, padding: 0 };
            write(output, levels, options, tags, |v| v)
        }
    }
}

/// Writes bands of numbers, cell by cell.
fn write_bands(
    output: Output,
    size: (usize, usize),
    (values, bands): (&[&[f32]], Bands),
    mut tags: Vec<Tag>,
    options: &TiffOptions,
) -> Result<()> {
    let nodata = bands.nodata;
    if values.iter().any(|band| f32::holds(band, nodata)) {
        return Err(Error::NodataTaken { path: output.path.to_owned(), value: nodata });
    }
    tags.push(nodata_tag(nodata));
    let stated: Vec<_> = values.iter().map(|band| statistics(options, band)).collect();
    tags.extend(metadata_tag(bands.names, &stated));
    let per_cell = values.len();
    let cells = match values {
        [band] => Cow::Borrowed(*band),
        _ => {
            let numbers = per_cell * values[0].len();
            let mut cells = host_memory::filled(nodata, numbers).map_err(|_| {
                let asked = (numbers * size_of::<f32>()) as u64;
                Error::OutOfMemory { path: output.path.to_owned(), asked }
            })?;
            parallel::for_chunks(&mut cells, per_cell, |i, cell| {
                cell.iter_mut().zip(values).for_each(|(out, band)| *out = band[i]);
            });
            Cow::Owned(cells)
        }
    };
    let levels = Levels { size, cells: &cells[..], per_cell, padding: nodata };
    write(output, levels, options, tags, |v: f32| v.stored(nodata))
}

/// Returns the tag that states the mark for a missing value.
pub(crate) fn nodata_tag(nodata: f32) -> Tag {
    let text = if nodata.is_nan() { "nan".to_owned() } else { nodata.to_string() };
    Tag::new(GDAL_NODATA, TagValue::Ascii(text))
}

/// A raster whose overviews are to be made.
struct Levels<'a, T> {
    size: (usize, usize),
    cells: &'a [T],
    per_cell: usize,
    padding: T,
}

/// Makes the overviews, if they are asked for, and writes all levels.
fn write<T: Sample>(
    output: Output,
    raster: Levels<T>,
    options: &TiffOptions,
    tags: Vec<Tag>,
    stored: impl Fn(T) -> T + Sync,
) -> Result<()> {
    let Levels { size, cells, per_cell, padding } = raster;
    let mut overviews: Vec<((usize, usize), Vec<T>)> = Vec::new();
    if options.cloud_optimised {
        loop {
            let (size, cells) =
                overviews.last().map_or((size, cells), |(size, cells)| (*size, &cells[..]));
            if size.0.max(size.1) <= TILE {
                break;
            }
            let next = halved(size, cells, per_cell, padding, options.overviews.join());
            overviews.push(next);
        }
    }
    let all = std::iter::once((size, cells))
        .chain(overviews.iter().map(|(size, cells)| (*size, &cells[..])));
    let mut all: Vec<_> =
        all.map(|(size, cells)| (size, Whole(cells, size.0 * per_cell))).collect();
    let levels = all.iter_mut().map(|(size, rows)| Level { size: *size, rows, at_once: size.1 });
    let mut levels: Vec<Level<T>> = levels.collect();
    write_atomic(output, |file| {
        write_levels(file, &mut levels, per_cell, options, &tags, padding, stored)
            .map_err(|e| Error::write(output.path, e))
    })
}

/// A raster of half the columns and half the rows, rounded up.
pub(crate) fn halved<T: Sample>(
    (width, height): (usize, usize),
    cells: &[T],
    per_cell: usize,
    padding: T,
    join: Join<T>,
) -> ((usize, usize), Vec<T>) {
    let (columns, rows) = (width.div_ceil(2), height.div_ceil(2));
    let mut out = vec![padding; columns * rows * per_cell];
    parallel::for_chunks(&mut out, columns * per_cell, |row, line| {
        let mut four = Vec::with_capacity(4 * per_cell);
        for (column, cell) in line.chunks_exact_mut(per_cell).enumerate() {
            four.clear();
            for y in 2 * row..height.min(2 * row + 2) {
                let start = (y * width + 2 * column) * per_cell;
                let end = (y * width + width.min(2 * column + 2)) * per_cell;
                four.extend_from_slice(&cells[start..end]);
            }
            join(&four, cell);
        }
    });
    ((columns, rows), out)
}

/// Cells that are summed in order before their sum is added to that of those before.
pub(crate) const SUMMED: usize = 1 << 16;

/// What a file states of a band: lowest and highest value, mean, standard deviation and percentage of cells with a value.
pub(crate) type Statistics = [f64; 5];

/// The statistics of a band, where they are asked for and there is a value. Sums over rows of a stated length are added in
/// order, so that the text does not depend on the number of cores.
fn statistics<T: Sample>(options: &TiffOptions, values: &[T]) -> Option<Statistics> {
    if !options.cloud_optimised {
        return None;
    }
    let rows: Vec<&[T]> = values.chunks(SUMMED).collect();
    let finite = |row: usize| -> Vec<f64> {
        rows[row].iter().filter_map(|v| v.number()).filter(|v| v.is_finite()).collect()
    };
    let sums = |of: &(dyn Fn(f64) -> f64 + Sync)| {
        let of_row = |row: usize| {
            let numbers = finite(row);
            (numbers.iter().map(|v| of(*v)).sum::<f64>(), numbers.len() as u64)
        };
        let of_rows = parallel::map(rows.len(), 1, of_row);
        of_rows.iter().fold((0.0, 0), |(sum, n), row| (sum + row.0, n + row.1))
    };
    let (sum, count) = sums(&|v| v);
    if count == 0 {
        return None;
    }
    let mean = sum / count as f64;
    let deviation = (sums(&|v| (v - mean).powi(2)).0 / count as f64).sqrt();
    let ends = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
    let nothing = (f64::INFINITY, f64::NEG_INFINITY);
    let ends_of = |row: usize| finite(row).into_iter().map(|v| (v, v)).fold(nothing, ends);
    let (low, high) = parallel::map(rows.len(), 1, ends_of).into_iter().fold(nothing, ends);
    let percent = 100.0 * count as f64 / values.len() as f64;
    Some([low, high, mean, deviation, percent])
}

/// GDAL's tag of the descriptions and the statistics of bands; none where there is neither.
pub(crate) fn metadata_tag(names: &[&str], stated: &[Option<Statistics>]) -> Option<Tag> {
    const NAMES: [&str; 5] = ["MINIMUM", "MAXIMUM", "MEAN", "STDDEV", "VALID_PERCENT"];
    let mut items = String::new();
    for (band, (name, stated)) in names.iter().zip(stated).enumerate() {
        for (name, value) in NAMES.iter().zip(stated.iter().flatten().copied().map(Shortest)) {
            items +=
                &format!("  <Item name=\"STATISTICS_{name}\" sample=\"{band}\">{value}</Item>\n");
        }
        if !name.is_empty() {
            // GDAL writes its values escaped twice, and reads them so.
            let name = escaped(&escaped(name));
            items += &format!(
                "  <Item name=\"DESCRIPTION\" sample=\"{band}\" role=\"description\">{name}</Item>\n"
            );
        }
    }
    let text = format!("<GDALMetadata>\n{items}</GDALMetadata>\n");
    (!items.is_empty()).then(|| Tag::new(GDAL_METADATA, TagValue::Ascii(text)))
}

/// A text as XML has it, without what XML has no form for.
fn escaped(text: &str) -> String {
    let of = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        c if c.is_control() => String::new(),
        c => c.to_string(),
    };
    text.chars().map(of).collect()
}
