//! GeoTIFF, readable by GDAL and everything built on it: values of float32, grey and coloured pictures.
//!
//! How the file is laid out, and packed on all cores, is [`crate::tiff_file`]'s. Cloud-optimised, it has
//! smaller and smaller copies beside the raster, each half the size of the one before down to a tile (means
//! of the cells that have a value), and the raster's statistics as GDAL states them.

use std::fmt;
use std::str::FromStr;

use gpu_core::GridSpec;
use gpu_core::parallel::{self, FINE};
use tiff_core::{Tag, TagValue};

use crate::output::{Output, write_atomic};
use crate::tiff_file::{Level, Sample, TILE, Whole, write_levels};
use crate::{Crs, Error, Georeference, Result};

const GDAL_METADATA: u16 = 42112;
const GDAL_NODATA: u16 = 42113;

/// How the tiles of a GeoTIFF are packed; all of it comes back.
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

/// How a GeoTIFF is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TiffOptions {
    /// How its tiles are packed.
    pub compression: Compression,
    /// With overviews and statistics, in the order that is read in parts over a network.
    pub cloud_optimised: bool,
}

/// The cells of a raster: row-major, row 0 in the north.
#[derive(Clone, Copy, Debug)]
pub enum Cells<'a> {
    /// One number a cell; NaN is written as `nodata`, which may be NaN too.
    Values {
        /// The numbers.
        values: &'a [f32],
        /// What the file holds where there is none.
        nodata: f32,
    },
    /// One byte a cell: 0 for NODATA, brightness from 1 to 255.
    Grey(&'a [u8]),
    /// Four bytes a cell: red, green, blue and opacity, which is 0 or 255.
    Colours(&'a [u8]),
}

/// Writes a raster as GeoTIFF. `values` are row-major, row 0 in the north; NaN becomes `nodata`.
///
/// The file states `nodata`, the grid's place on the ground (a pixel is an area) and, where
/// given, the reference system. A `nodata` of NaN is allowed.
///
/// # Errors
/// As [`write_tiff`].
pub fn write_geotiff<'a>(
    output: impl Into<Output<'a>>,
    grid: &GridSpec,
    values: &[f32],
    crs: Option<&Crs>,
    nodata: f32,
) -> Result<()> {
    let place = Georeference::of_grid(grid, crs);
    write_georeferenced(output, &place, (grid.width, grid.height), values, nodata)
}

/// [`write_geotiff`] of a raster of `width` columns and `height` rows, wherever it lies: pixels that are
/// not square, turned or mirrored.
///
/// # Errors
/// As [`write_tiff`].
pub fn write_georeferenced<'a>(
    output: impl Into<Output<'a>>,
    place: &Georeference,
    size: (u32, u32),
    values: &[f32],
    nodata: f32,
) -> Result<()> {
    write_tiff(output, place, size, Cells::Values { values, nodata }, &TiffOptions::default())
}

/// Writes a raster of `width` columns and `height` rows as GeoTIFF.
///
/// # Errors
/// [`Error::Shape`] unless there is one cell for each place, [`Error::BadValue`] for a raster without
/// cells or for a value that equals `nodata` and would be lost, and those of writing.
pub fn write_tiff<'a>(
    output: impl Into<Output<'a>>,
    place: &Georeference,
    (width, height): (u32, u32),
    cells: Cells,
    options: &TiffOptions,
) -> Result<()> {
    let output = output.into();
    let bytes = match cells {
        Cells::Values { values, .. } => values.len(),
        Cells::Grey(bytes) => bytes.len(),
        Cells::Colours(bytes) => bytes.len() / 4,
    };
    let (found, expected) = (bytes as u64, u64::from(width) * u64::from(height));
    if found != expected {
        return Err(Error::Shape { what: "raster", expected, found });
    }
    if found == 0 {
        return Err(Error::BadValue { what: "number of cells", value: 0.0, expected: "positive" });
    }
    let mut tags = place.tags();
    match cells {
        Cells::Values { nodata, .. } => tags.push(nodata_tag(nodata)),
        Cells::Grey(_) => tags.push(nodata_tag(0.0)),
        Cells::Colours(_) => {}
    }
    let size = (width as usize, height as usize);
    match cells {
        Cells::Values { values, nodata } => {
            check_nodata(values, nodata)?;
            let number = |v: &f32| (!v.is_nan()).then_some(f64::from(*v));
            tags.extend(statistics(options, values, number));
            let value = |v: f32| if v.is_nan() { nodata } else { v };
            let mean = |cells: &[f32]| mean_of(cells).unwrap_or(f32::NAN);
            let levels = Levels { size, cells: values, per_cell: 1, padding: nodata };
            write(output, levels, options, tags, value, |cells, out| out[0] = mean(cells))
        }
        Cells::Grey(bytes) => {
            let number = |v: &u8| (*v != 0).then_some(f64::from(*v));
            tags.extend(statistics(options, bytes, number));
            let levels = Levels { size, cells: bytes, per_cell: 1, padding: 0 };
            write(
                output,
                levels,
                options,
                tags,
                |v| v,
                |cells, out| {
                    let known = cells.iter().filter(|v| **v != 0).map(|v| u32::from(*v));
                    out[0] = rounded_mean(known);
                },
            )
        }
        Cells::Colours(bytes) => {
            let levels = Levels { size, cells: bytes, per_cell: 4, padding: 0 };
            write(
                output,
                levels,
                options,
                tags,
                |v| v,
                |cells, out| {
                    for (colour, out) in out.iter_mut().enumerate() {
                        let opaque = cells.as_chunks::<4>().0.iter().filter(|cell| cell[3] != 0);
                        *out = rounded_mean(opaque.map(|cell| u32::from(cell[colour])));
                    }
                },
            )
        }
    }
}

/// What a file says stands for no value.
pub(crate) fn nodata_tag(nodata: f32) -> Tag {
    let text = if nodata.is_nan() { "nan".to_owned() } else { nodata.to_string() };
    Tag::new(GDAL_NODATA, TagValue::Ascii(text))
}

/// Refuses values of which one would be lost.
pub(crate) fn check_nodata(values: &[f32], nodata: f32) -> Result<()> {
    match parallel::first(values.len(), FINE, |i| values[i] == nodata) {
        Some(_) => {
            let expected = "usable as NODATA: a cell has that value; choose another";
            Err(Error::BadValue { what: "the value", value: nodata.into(), expected })
        }
        None => Ok(()),
    }
}

/// A raster whose overviews are to be made.
struct Levels<'a, T> {
    size: (usize, usize),
    cells: &'a [T],
    per_cell: usize,
    padding: T,
}

/// Makes the overviews, if they are asked for, and writes all levels. `mean` puts the mean of up to four
/// cells, one behind the other, into a cell.
fn write<T: Sample>(
    output: Output,
    raster: Levels<T>,
    options: &TiffOptions,
    tags: Vec<Tag>,
    stored: impl Fn(T) -> T + Sync,
    mean: impl Fn(&[T], &mut [T]) + Sync,
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
            let next = halved(size, cells, per_cell, padding, &mean);
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
    mean: &(impl Fn(&[T], &mut [T]) + Sync),
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
            mean(&four, cell);
        }
    });
    ((columns, rows), out)
}

pub(crate) fn mean_of(cells: &[f32]) -> Option<f32> {
    let known = cells.iter().filter(|v| !v.is_nan());
    let (sum, count) = known.fold((0.0, 0_u32), |(sum, n), &v| (sum + f64::from(v), n + 1));
    (count > 0).then(|| (sum / f64::from(count)) as f32)
}

fn rounded_mean(values: impl Iterator<Item = u32>) -> u8 {
    let (sum, count) = values.fold((0, 0), |(sum, n), v| (sum + v, n + 1));
    (sum + count / 2).checked_div(count).unwrap_or(0) as u8
}

/// Cells that are summed in order before their sum is added to that of those before.
pub(crate) const SUMMED: usize = 1 << 16;

/// GDAL's tag of lowest and highest value, mean and standard deviation, where they are asked for and there
/// is a value. Sums over rows of a stated length are added in order, so that the text does not depend on the
/// number of cores.
fn statistics<T: Sync>(
    options: &TiffOptions,
    values: &[T],
    number: impl Fn(&T) -> Option<f64> + Sync,
) -> Option<Tag> {
    if !options.cloud_optimised {
        return None;
    }
    let rows: Vec<&[T]> = values.chunks(SUMMED).collect();
    let finite = |row: usize| -> Vec<f64> {
        rows[row].iter().filter_map(&number).filter(|v| v.is_finite()).collect()
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
    Some(statistics_tag([low, high, mean, deviation, percent]))
}

/// Lowest and highest value, mean, standard deviation and percentage of cells with a value, as GDAL has them.
pub(crate) fn statistics_tag(values: [f64; 5]) -> Tag {
    let names = ["MINIMUM", "MAXIMUM", "MEAN", "STDDEV", "VALID_PERCENT"];
    let items: String = names
        .iter()
        .zip(values)
        .map(|(name, value)| {
            format!("  <Item name=\"STATISTICS_{name}\" sample=\"0\">{value}</Item>\n")
        })
        .collect();
    let text = format!("<GDALMetadata>\n{items}</GDALMetadata>\n");
    Tag::new(GDAL_METADATA, TagValue::Ascii(text))
}
