//! Masks: rasters that say where the sites are.

use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use gpu_core::host_memory;
use gpu_core::parallel::{self, FINE};
use tiff_reader::ifd::{Ifd, RasterLayout};

use crate::georeference::Place;
use crate::npy::half;
use crate::points::ending;
use crate::tiff_image::TiffImage;
use crate::values_file::{require_no_mask, require_no_mask_beside};
use crate::{Array, ArrayData, Error, Georeference, Result, npz_names, png, read_npy, read_npz};

/// A raster of sites: row-major, row 0 in the north.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// 1 for a site, 0 for none; `width * height` of them.
    pub sites: Vec<u8>,
    /// Where it lies on the ground, if it is a TIFF or a PNG that says so, or a file beside it does.
    pub georeference: Option<Georeference>,
    /// Pixels that are no site because they have no value: NODATA of a GeoTIFF, or NaN.
    pub without_value: u64,
}

/// Which pixels are sites, by their values. A pixel without a value, NODATA or NaN, never is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteValues {
    /// Values in one of these ranges; `None` stands for all but 0.
    pub ranges: Option<Vec<RangeInclusive<f64>>>,
    /// Those that are not, instead.
    pub inverted: bool,
}

impl SiteValues {
    fn contain(&self, value: f64) -> bool {
        let within = match &self.ranges {
            None => value != 0.0,
            Some(ranges) => ranges.iter().any(|range| range.contains(&value)),
        };
        within != self.inverted
    }
}

impl FromStr for SiteValues {
    type Err = Error;

    /// Numbers and ranges with commas between, such as `1,4-7` or `-2--1,0.5`.
    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::UnknownChoice {
            what: "values",
            text: text.to_owned(),
            known: "numbers and ranges, such as 1,4-7",
        };
        let number = |word: &str| word.trim().parse().ok().filter(|v: &f64| v.is_finite());
        let range = |word: &str| {
            let word = word.trim();
            if let Some(value) = number(word) {
                return Some(value..=value);
            }
            // Any minus but a sign may be the dash between; only at the right one both sides are numbers.
            let dashes = word.char_indices().filter(|&(i, c)| i > 0 && c == '-').map(|(i, _)| i);
            let mut ranges =
                dashes.filter_map(|i| Some(number(&word[..i])?..=number(&word[i + 1..])?));
            ranges.next().filter(|range| !range.is_empty())
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        Ok(Self { ranges: Some(ranges.ok_or_else(unknown)?), inverted: false })
    }
}

/// Reads a mask from NPY, NPZ, PNG or TIFF, by the name's ending. `values` says which pixels are sites.
///
/// Of an NPZ archive the array `mask` is read, or the only one. A coloured pixel of a PNG has the value of
/// its largest colour; its opacity does not count. Of a TIFF the first image is read, which has one band;
/// its compression may be Deflate, LZW, ZSTD, LERC or none, its samples integers of 1 to 64 bits or floats
/// of 32 or 64.
///
/// # Errors
/// [`Error::UnknownEnding`]; what is wrong with the file, or a mask in it or beside it by which GDAL says which pixels have
/// a value; an array that is not two-dimensional;
/// [`Error::OutOfMemory`].
pub fn read_mask(path: &Path, values: &SiteValues) -> Result<Mask> {
    match ending(path).as_str() {
        "npy" => from_array(path, read_npy(path)?, values),
        "npz" => from_array(path, read_npz(path, mask_name(path)?)?, values),
        "png" => {
            require_no_mask_beside(path)?;
            let (width, height, pixels) = png::read_brightness(path)?;
            let (sites, _) = sites_of(pixels, values, None, f64::from);
            let georeference = Place::of_picture(path)?.georeference;
            Ok(Mask { width, height, sites, georeference, without_value: 0 })
        }
        "tif" | "tiff" => from_tiff(path, values),
        _ => {
            let known = ".npy, .npz, .png, .tif or .tiff";
            Err(Error::UnknownEnding { path: path.to_owned(), known })
        }
    }
}

/// Which array of an archive is the mask: the one of that name, or the only one.
pub(crate) fn mask_name(path: &Path) -> Result<Option<&'static str>> {
    Ok(npz_names(path)?.iter().any(|n| n == "mask").then_some("mask"))
}

pub(crate) fn from_array(path: &Path, array: Array, rule: &SiteValues) -> Result<Mask> {
    let &[height, width] = &array.shape[..] else {
        return Err(Error::malformed(path, "a mask has two dimensions, this array has one"));
    };
    let (sites, without_value) = match array.data {
        ArrayData::U8(v) => (sites_of_bytes(v, rule), 0),
        ArrayData::Bool(v) => (sites_of_bytes(bytemuck::cast_vec(v), rule), 0),
        ArrayData::F32(v) => sites_of(v, rule, None, f64::from),
        ArrayData::F64(v) => sites_of(v, rule, None, |v| v),
        ArrayData::I8(v) => sites_of(v, rule, None, f64::from),
        ArrayData::I16(v) => sites_of(v, rule, None, f64::from),
        ArrayData::U16(v) => sites_of(v, rule, None, f64::from),
        ArrayData::I32(v) => sites_of(v, rule, None, f64::from),
        ArrayData::U32(v) => sites_of(v, rule, None, f64::from),
        ArrayData::I64(v) => sites_of(v, rule, None, |v| v as f64),
        ArrayData::U64(v) => sites_of(v, rule, None, |v| v as f64),
    };
    Ok(Mask { width, height, sites, georeference: None, without_value })
}

/// Which of some values are sites, and how many are none for want of a value.
fn sites_of<T: Copy + Send + Sync>(
    values: Vec<T>,
    rule: &SiteValues,
    nodata: Option<f64>,
    number: impl Fn(T) -> f64 + Sync,
) -> (Vec<u8>, u64) {
    let is_missing = |value: f64| value.is_nan() || nodata == Some(value);
    let of = |i: usize| match number(values[i]) {
        value if is_missing(value) => 0,
        value => u8::from(rule.contain(value)),
    };
    let missing = parallel::count(values.len(), FINE, |i| is_missing(number(values[i])));
    (parallel::map(values.len(), FINE, of), missing)
}

/// The same of bytes that all have a value, in place: there may be a billion of them.
fn sites_of_bytes(mut values: Vec<u8>, rule: &SiteValues) -> Vec<u8> {
    let table: [u8; 256] = std::array::from_fn(|value| u8::from(rule.contain(value as f64)));
    parallel::for_each(&mut values, FINE, |_, value| *value = table[usize::from(*value)]);
    values
}

/// Bytes of samples that are decoded together.
pub(crate) const WINDOW: usize = 1 << 26;

fn from_tiff(path: &Path, rule: &SiteValues) -> Result<Mask> {
    let tiff = TiffImage::open(path, (WINDOW, 16))?;
    let layout = tiff.layout();
    let (width, height) = (layout.width, layout.height);
    if layout.samples_per_pixel != 1 {
        let bands = layout.samples_per_pixel;
        return Err(Error::malformed(path, format!("a mask has one band, this image has {bands}")));
    }
    require_no_mask(path, tiff.file())?;
    let georeference = Place::of_tiff(path, tiff.directory())?.georeference;
    let nodata = nodata(tiff.directory(), layout);
    let cells = width as u64 * height as u64;
    // A sparse file of a few bytes may have any size; what is asked for must be there.
    let memory = |_| Error::OutOfMemory { path: path.to_owned(), asked: cells };
    host_memory::require(cells).map_err(memory)?;
    let mut sites = host_memory::with_capacity(cells as usize).map_err(memory)?;
    let mut without_value = 0;

    // Whole rows of blocks at a time, so that none is unpacked twice.
    let block = tiff.block_rows();
    let row = width * layout.bytes_per_sample;
    let rows = (WINDOW / row.max(1) / block).max(1).saturating_mul(block);
    for top in (0..height).step_by(rows) {
        let bytes = tiff.window(top..height.min(top + rows), 0..width)?;
        let (part, missing) = window_sites(bytes, layout, rule, nodata)
            .ok_or_else(|| Error::malformed(path, "its samples are of an unknown type"))?;
        sites.extend(part);
        without_value += missing;
    }
    Ok(Mask { width, height, sites, georeference, without_value })
}

/// What a GeoTIFF says that its pixels without a value hold, as its samples can have it.
pub(crate) fn nodata(image: &Ifd, layout: &RasterLayout) -> Option<f64> {
    const GDAL_NODATA: u16 = 42113;
    let text = image.tag(GDAL_NODATA)?.value.as_str()?;
    let value: f64 = text.trim_matches(|c: char| c == '\0' || c.is_whitespace()).parse().ok()?;
    // The text may have more digits than a sample.
    let is_single = (layout.sample_format, layout.bits_per_sample) == (3, 32);
    Some(if is_single { f64::from(value as f32) } else { value })
}

/// The sites of samples in the machine's byte order.
pub(crate) fn window_sites(
    bytes: Vec<u8>,
    layout: &RasterLayout,
    rule: &SiteValues,
    nodata: Option<f64>,
) -> Option<(Vec<u8>, u64)> {
    macro_rules! of {
        ($type:ty, $number:expr) => {{
            const SIZE: usize = size_of::<$type>();
            let samples = bytes.as_chunks::<SIZE>().0.to_vec();
            sites_of(samples, rule, nodata, |b| $number(<$type>::from_ne_bytes(b)))
        }};
    }
    Some(match (layout.sample_format, layout.bytes_per_sample) {
        (1, 1) => sites_of(bytes, rule, nodata, f64::from),
        (1, 2) => of!(u16, f64::from),
        (1, 4) => of!(u32, f64::from),
        (1, 8) => of!(u64, |v| v as f64),
        (2, 1) => of!(i8, f64::from),
        (2, 2) => of!(i16, f64::from),
        (2, 4) => of!(i32, f64::from),
        (2, 8) => of!(i64, |v| v as f64),
        (3, 2) => of!(u16, |bits| f64::from(half(bits))),
        (3, 4) => of!(f32, f64::from),
        (3, 8) => of!(f64, |v| v),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_and_ranges() {
        let values: SiteValues = "1, 4-7,-2--1,1e-3".parse().unwrap();
        for (value, expected) in [
            (1.0, true),
            (2.0, false),
            (4.0, true),
            (6.5, true),
            (7.1, false),
            (-1.5, true),
            (1e-3, true),
        ] {
            assert_eq!(values.contain(value), expected, "{value}");
            let inverted = SiteValues { inverted: true, ..values.clone() };
            assert_eq!(inverted.contain(value), !expected);
        }
        for bad in ["", "1,", "a", "7-4", "1-", "-", "nan", "1-inf", "1-2-3"] {
            assert!(bad.parse::<SiteValues>().is_err(), "{bad:?} was taken");
        }
        assert!(SiteValues::default().contain(-0.5) && !SiteValues::default().contain(0.0));
    }
}
