//! Masks: rasters that say where the sites are.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use gpu_core::parallel::{self, FINE};

use crate::rasters::nodata::Sample;
use crate::rasters::raster::is_in_parts;
use crate::{
    ArrayData, Error, Georeference, MaskFile, Number, Raster, Result, npz_names, read_raster,
};

/// A raster of sites: row-major, row 0 in the north.
///
/// Example: see [`read_mask`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mask {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// 1 for a site, 0 for none; `width * height` of them.
    pub sites: Vec<u8>,
    /// Where it lies on the ground, if the file or a file beside it says so.
    pub georeference: Option<Georeference>,
    /// The number of pixels that are not sites because they have no value: NODATA by the file, or NaN.
    pub without_value: u64,
    /// Notes on the file for the user, such as a scale that is not applied.
    pub notes: Vec<String>,
}

/// Which pixels are sites, by their values. A pixel without a value (NODATA or NaN) is never a site.
///
/// Comparisons use the raster's own type. Whole numbers compare exactly; a decimal means the float of that type to
/// which it rounds, so `0.1` matches an f32 that stores 0.1. Both ends of a range belong to it.
///
/// Example: see [`read_mask`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteValues {
    /// The ranges whose values are sites; `None` means all values except 0.
    pub ranges: Option<Vec<RangeInclusive<Number>>>,
    /// Whether the pixels with all other values are the sites instead.
    pub inverted: bool,
}

impl SiteValues {
    /// The same among samples of a type, of which NODATA is one.
    pub(crate) fn among<T: Sample>(&self, nodata: Option<Number>) -> Chosen<T> {
        let of = |range: &RangeInclusive<Number>| {
            Some((T::at_least(*range.start())?, T::at_most(*range.end())?))
        };
        let ranges = self.ranges.as_ref().map(|ranges| ranges.iter().filter_map(of).collect());
        Chosen { ranges, inverted: self.inverted, nodata: nodata.and_then(T::of) }
    }
}

/// Which samples of a type are sites.
pub(crate) struct Chosen<T> {
    ranges: Option<Vec<(T, T)>>,
    inverted: bool,
    nodata: Option<T>,
}

impl<T: Sample> Chosen<T> {
    /// Whether a sample stands for no value.
    fn lack(&self, value: T) -> bool {
        value.is_nan() || self.nodata == Some(value)
    }

    /// Whether a sample that has a value is a site.
    fn contain(&self, value: T) -> bool {
        let within = match &self.ranges {
            None => value != T::default(),
            Some(ranges) => ranges.iter().any(|&(low, high)| low <= value && value <= high),
        };
        within != self.inverted
    }
}

impl FromStr for SiteValues {
    type Err = Error;

    /// Numbers and ranges with commas between, such as `1,4-7`, `-2--1,0.5` or `100-inf`.
    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::UnknownChoice {
            what: "values",
            text: text.to_owned(),
            known: "numbers and ranges from low to high, such as 1,4-7 or 100-inf",
        };
        let number = |word: &str| word.parse().ok().filter(|number: &Number| !number.is_nan());
        let range = |word: &str| {
            if let Some(value) = number(word) {
                return Some(value..=value);
            }
            // Any minus but a sign may be the dash between; only at the right one both sides are numbers.
            let word = word.trim();
            let dashes = word.char_indices().filter(|&(i, c)| i > 0 && c == '-').map(|(i, _)| i);
            let mut ranges =
                dashes.filter_map(|i| Some(number(&word[..i])?..=number(&word[i + 1..])?));
            ranges.next().filter(|range| range.start() <= range.end())
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        Ok(Self { ranges: Some(ranges.ok_or_else(unknown)?), inverted: false })
    }
}

impl fmt::Display for SiteValues {
    /// The ranges as [`SiteValues::from_str`] reads them; nothing for all but 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.ranges.iter().flatten().enumerate() {
            write!(f, "{}{}-{}", if i > 0 { "," } else { "" }, range.start(), range.end())?;
        }
        Ok(())
    }
}

/// Reads a mask from a file as [`read_raster`] does, by the name's ending. `values` says which pixels are sites.
///
/// In an NPZ archive the mask is the array `mask`, or the only one. It reads a PNG as [`read_raster`] does. In a TIFF
/// the mask is the first image, which must have one band; its compression may be Deflate, LZW, ZSTD, LERC or none.
///
/// ```
/// use geo_io::{SiteValues, read_mask, write_npy};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("mask.npy");
/// write_npy(&path, &[0u8, 7, 0, 9], 2, 2)?;
/// let mask = read_mask(&path, &SiteValues::default())?; // all but 0
/// assert_eq!(mask.sites, [0, 1, 0, 1]);
/// let nines = SiteValues { ranges: Some(vec![9.into()..=9.into()]), ..SiteValues::default() };
/// assert_eq!(read_mask(&path, &nines)?.sites, [0, 0, 0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`read_raster`].
pub fn read_mask(path: &Path, values: &SiteValues) -> Result<Mask> {
    if !is_in_parts(path) {
        let raster = read_raster(path, None)?;
        let Raster { width, height, values: samples, georeference, nodata, notes } = raster;
        let (sites, without_value) = sites(samples, values, nodata);
        return Ok(Mask { width, height, sites, georeference, without_value, notes });
    }
    // In parts: the values of all pixels may need more memory than the sites.
    let file = MaskFile::open(path)?;
    let (width, height) = file.size();
    let mut mask = file.window(0..height, 0..width, values)?;
    mask.georeference = file.georeference().cloned();
    mask.notes = file.notes().to_vec();
    Ok(mask)
}

/// Which array of an archive is the mask: the one of that name, or the only one.
pub(crate) fn mask_name(path: &Path) -> Result<Option<&'static str>> {
    Ok(npz_names(path)?.iter().any(|n| n == "mask").then_some("mask"))
}

/// Returns which of some values are sites, and how many are not for want of a value.
pub(crate) fn sites(
    values: ArrayData,
    rule: &SiteValues,
    nodata: Option<Number>,
) -> (Vec<u8>, u64) {
    match values {
        ArrayData::Bool(v) => sites_of_bytes(bytemuck::cast_vec(v), &rule.among(nodata)),
        ArrayData::U8(v) => sites_of_bytes(v, &rule.among(nodata)),
        ArrayData::I8(v) => sites_of(&v, &rule.among(nodata)),
        ArrayData::U16(v) => sites_of(&v, &rule.among(nodata)),
        ArrayData::I16(v) => sites_of(&v, &rule.among(nodata)),
        ArrayData::U32(v) => sites_of(&v, &rule.among(nodata)),
        ArrayData::I32(v) => sites_of(&v, &rule.among(nodata)),
        ArrayData::U64(v) => sites_of(&v, &rule.among(nodata)),
        ArrayData::I64(v) => sites_of(&v, &rule.among(nodata)),
        ArrayData::F16(v) => sites_of(&v, &rule.among(nodata)),
        ArrayData::F32(v) => sites_of(&v, &rule.among(nodata)),
        ArrayData::F64(v) => sites_of(&v, &rule.among(nodata)),
    }
}

fn sites_of<T: Sample>(values: &[T], chosen: &Chosen<T>) -> (Vec<u8>, u64) {
    let missing = parallel::count(values.len(), FINE, |i| chosen.lack(values[i]));
    let of = |i: usize| u8::from(!chosen.lack(values[i]) && chosen.contain(values[i]));
    (parallel::map(values.len(), FINE, of), missing)
}

/// The same of bytes, in place: there may be a billion of them.
fn sites_of_bytes(mut values: Vec<u8>, chosen: &Chosen<u8>) -> (Vec<u8>, u64) {
    let missing = match chosen.nodata {
        Some(nodata) => parallel::count(values.len(), FINE, |i| values[i] == nodata),
        None => 0,
    };
    let of = |value: usize| !chosen.lack(value as u8) && chosen.contain(value as u8);
    let table: [u8; 256] = std::array::from_fn(|value| u8::from(of(value)));
    parallel::for_each(&mut values, FINE, |_, value| *value = table[usize::from(*value)]);
    (values, missing)
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
            let contain = |values: &SiteValues| values.among::<f64>(None).contain(value);
            assert_eq!(contain(&values), expected, "{value}");
            assert_eq!(contain(&SiteValues { inverted: true, ..values.clone() }), !expected);
            assert_eq!(contain(&values.to_string().parse().unwrap()), expected);
        }
        for bad in ["", "1,", "a", "7-4", "1-", "-", "nan", "1-nan", "1-2-3"] {
            assert!(bad.parse::<SiteValues>().is_err(), "{bad:?} was taken");
        }
        let all_but_zero = SiteValues::default().among::<f32>(None);
        assert!(all_but_zero.contain(-0.5) && !all_but_zero.contain(0.0));
        assert!(!all_but_zero.contain(-0.0));
    }

    #[test]
    fn values_are_compared_in_the_type_of_the_samples() {
        fn chosen<T: Sample>(text: &str, values: &[T]) -> Vec<usize> {
            let chosen = text.parse::<SiteValues>().unwrap().among::<T>(None);
            (0..values.len()).filter(|&i| chosen.contain(values[i])).collect()
        }
        let ids = [9007199254740992, 9007199254740993, 9007199254740994u64, u64::MAX - 1, u64::MAX];
        assert_eq!(chosen("9007199254740993", &ids), [1]);
        assert_eq!(chosen("18446744073709551615", &ids), [4]);
        assert_eq!(chosen("9007199254740993-18446744073709551614", &ids), [1, 2, 3]);
        assert_eq!(chosen("9007199254740994-inf", &ids), [2, 3, 4]);
        assert!(chosen("-1", &ids).is_empty());
        let signed = [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX];
        assert_eq!(chosen("-9223372036854775808", &signed), [0]);
        assert_eq!(chosen("-inf--1", &signed), [0, 1, 2]);
        assert_eq!(chosen("-0.5-1e300", &signed), [3, 4]);
        let tenths: Vec<f32> = (1..=11).map(|i| i as f32 / 10.0).collect();
        assert_eq!(chosen("0.1", &tenths), [0]);
        assert_eq!(chosen("0.7-1.1", &tenths), [6, 7, 8, 9, 10]);
        let halves = [half::f16::from_f32(0.1), half::f16::from_f32(0.7)];
        assert_eq!(chosen("0.1", &halves), [0]);
        assert_eq!(chosen("0.1,0.7", &halves), [0, 1]);
        assert_eq!(chosen("0.5-2.5", &[0u8, 1, 2, 3]), [1, 2]);
    }
}
