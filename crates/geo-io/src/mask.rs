//! Masks: rasters that say where the sites are.

use std::io::BufReader;
use std::path::Path;

use image::{DynamicImage, ImageFormat, ImageReader};

use tiff::decoder::{Decoder, DecodingResult, Limits};

use crate::error::unwinding;
use crate::points::{ending, open};
use crate::{Array, ArrayData, Error, Georeference, Result, npz_names, read_npy, read_npz};

/// A raster of sites: row-major, row 0 in the north.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// 1 for a site, 0 for none; `width * height` of them.
    pub sites: Vec<u8>,
    /// Where it lies on the ground, if it is a TIFF that says so.
    pub georeference: Option<Georeference>,
}

/// Reads a mask from NPY, NPZ, PNG or TIFF, by the name's ending. Whatever is not zero is a site.
///
/// Of an NPZ archive the array `mask` is read, or the only one. NaN counts as zero. A pixel of a
/// PNG is a site where any of its colours is not zero; its opacity does not count. Of a TIFF the first
/// image is read, which has one band.
///
/// # Errors
/// [`Error::UnknownEnding`]; what is wrong with the file; an array that is not two-dimensional.
pub fn read_mask(path: &Path) -> Result<Mask> {
    match ending(path).as_str() {
        "npy" => from_array(path, read_npy(path)?),
        "npz" => {
            let named = npz_names(path)?.iter().any(|n| n == "mask");
            from_array(path, read_npz(path, named.then_some("mask"))?)
        }
        "png" => from_png(path),
        "tif" | "tiff" => from_tiff(path),
        _ => {
            let known = ".npy, .npz, .png, .tif or .tiff";
            Err(Error::UnknownEnding { path: path.to_owned(), known })
        }
    }
}

fn from_array(path: &Path, array: Array) -> Result<Mask> {
    let &[height, width] = &array.shape[..] else {
        return Err(Error::malformed(path, "a mask has two dimensions, this array has one"));
    };
    let sites = match array.data {
        // These two have the size of a site: `collect` reuses their memory.
        ArrayData::U8(v) => v.into_iter().map(|v| u8::from(v != 0)).collect(),
        ArrayData::Bool(v) => v.into_iter().map(u8::from).collect(),
        ArrayData::F32(v) => v.iter().map(|v| u8::from(!v.is_nan() && *v != 0.0)).collect(),
        ArrayData::F64(v) => v.iter().map(|v| u8::from(!v.is_nan() && *v != 0.0)).collect(),
        ArrayData::I32(v) => v.iter().map(|&v| u8::from(v != 0)).collect(),
        ArrayData::U32(v) => v.iter().map(|&v| u8::from(v != 0)).collect(),
        ArrayData::I64(v) => v.iter().map(|&v| u8::from(v != 0)).collect(),
        ArrayData::U64(v) => v.iter().map(|&v| u8::from(v != 0)).collect(),
    };
    Ok(Mask { width, height, sites, georeference: None })
}

fn from_tiff(path: &Path) -> Result<Mask> {
    let (file, size) = open(path)?;
    let image = unwinding(|| -> tiff::TiffResult<_> {
        let mut limits = Limits::default();
        // A file of zeros packs well: a thousandfold is what Deflate can do.
        let most = usize::try_from(size.saturating_mul(1040).max(1 << 20)).unwrap_or(usize::MAX);
        limits.decoding_buffer_size = most;
        limits.intermediate_buffer_size = most;
        let mut decoder = Decoder::new(BufReader::new(file))?.with_limits(limits);
        let (sides, bands) = (decoder.dimensions()?, decoder.colortype()?.num_samples());
        let place = Georeference::of_tiff(&mut decoder);
        Ok((sides, bands, place, decoder.read_image()?))
    });
    let ((width, height), bands, place, data) = image
        .and_then(|image| image.map_err(|e| e.to_string()))
        .map_err(|reason| Error::malformed(path, reason))?;
    if bands != 1 {
        return Err(Error::malformed(path, format!("a mask has one band, this image has {bands}")));
    }
    fn sites<T: Copy + PartialEq + Default>(values: Vec<T>) -> Vec<u8> {
        values.into_iter().map(|v| u8::from(v != T::default())).collect()
    }
    let sites = match data {
        DecodingResult::U8(v) => sites(v),
        DecodingResult::U16(v) => sites(v),
        DecodingResult::U32(v) => sites(v),
        DecodingResult::U64(v) => sites(v),
        DecodingResult::I8(v) => sites(v),
        DecodingResult::I16(v) => sites(v),
        DecodingResult::I32(v) => sites(v),
        DecodingResult::I64(v) => sites(v),
        DecodingResult::F32(v) => v.iter().map(|v| u8::from(!v.is_nan() && *v != 0.0)).collect(),
        DecodingResult::F64(v) => v.iter().map(|v| u8::from(!v.is_nan() && *v != 0.0)).collect(),
        _ => return Err(Error::malformed(path, "its samples are of an unknown type")),
    };
    let (width, height) = (width as usize, height as usize);
    if sites.len() != width * height {
        return Err(Error::malformed(path, "its samples are packed below a byte"));
    }
    let georeference = place.map_err(|reason| Error::malformed(path, reason))?;
    Ok(Mask { width, height, sites, georeference })
}

fn from_png(path: &Path) -> Result<Mask> {
    let (file, _) = open(path)?;
    let reader = ImageReader::with_format(BufReader::new(file), ImageFormat::Png);
    let picture = unwinding(|| reader.decode())
        .and_then(|picture| picture.map_err(|e| e.to_string()))
        .map_err(|reason| Error::malformed(path, reason))?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let sites = match picture {
        DynamicImage::ImageLuma8(p) => p.into_raw().into_iter().map(|v| u8::from(v != 0)).collect(),
        // Sixteen bits a colour hold every other kind of pixel without loss.
        other => other.into_rgb16().pixels().map(|p| u8::from(p.0 != [0; 3])).collect(),
    };
    Ok(Mask { width, height, sites, georeference: None })
}
