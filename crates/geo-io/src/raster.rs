//! Rasters of values, as their files have them.

use std::path::Path;

use gpu_core::host_memory;

use crate::georeference::Place;
use crate::mask::{WINDOW, nodata};
use crate::points::ending;
use crate::tiff_image::TiffImage;
use crate::values_file::{require_no_mask, require_no_mask_beside, require_one_band, samples};
use crate::{Array, ArrayData, Error, Georeference, Result, npz_names, png, read_npy, read_npz};

/// A raster as its file has it: row-major, row 0 in the north.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The values, `width * height` of them.
    pub values: ArrayData,
    /// Where it lies on the ground, if it is a TIFF or a PNG that says so, or a file beside it does.
    pub georeference: Option<Georeference>,
    /// The value that a GeoTIFF says stands for NODATA.
    pub nodata: Option<f64>,
}

/// Reads a raster from NPY, NPZ, PNG or TIFF, by the name's ending, without changing the type of its values.
///
/// Of an NPZ archive the array named `array` is read; without a name that called `mask`, or the only one. A pixel of a PNG
/// is the number of sixteen bits that [`read_mask`](crate::read_mask) takes it for. Of a TIFF the first image is
/// read, which has one band; its samples are integers of 8 to 64 bits or floats of 32 or 64.
///
/// # Errors
/// [`Error::UnknownEnding`]; what is wrong with the file, or a mask in it or beside it by which GDAL says which pixels have
/// a value; an array that is not two-dimensional;
/// [`Error::OutOfMemory`].
pub fn read_raster(path: &Path, array: Option<&str>) -> Result<Raster> {
    match ending(path).as_str() {
        "npy" => of_array(path, read_npy(path)?),
        "npz" => {
            let has_mask = array.is_none() && npz_names(path)?.iter().any(|name| name == "mask");
            of_array(path, read_npz(path, if has_mask { Some("mask") } else { array })?)
        }
        "png" => {
            require_no_mask_beside(path)?;
            let (width, height, pixels) = png::read_brightness(path)?;
            let values = ArrayData::U16(pixels);
            let georeference = Place::of_picture(path)?.georeference;
            Ok(Raster { width, height, values, georeference, nodata: None })
        }
        "tif" | "tiff" => of_tiff(path),
        _ => {
            let known = ".npy, .npz, .png, .tif or .tiff";
            Err(Error::UnknownEnding { path: path.to_owned(), known })
        }
    }
}

/// A TIFF of values of f32, read in parts.
pub struct RasterFile {
    tiff: TiffImage,
    size: (usize, usize),
    georeference: Option<Georeference>,
}

impl RasterFile {
    /// Opens the first image of a TIFF, which has one band of f32, and reads no values.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn open(path: &Path) -> Result<Self> {
        /// Bytes and blocks that are kept unpacked: rows of blocks are read whole.
        const CACHE: (usize, usize) = (1 << 20, 2);
        let tiff = TiffImage::open(path, CACHE)?;
        let layout = tiff.layout();
        let kind = (layout.samples_per_pixel, layout.sample_format, layout.bits_per_sample);
        if kind != (1, 3, 32) {
            return Err(Error::malformed(path, "its image has not one band of f32"));
        }
        let georeference = Place::of_tiff(path, tiff.directory())?.georeference;
        let size = (layout.width, layout.height);
        Ok(Self { tiff, size, georeference })
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Where it lies on the ground, if it says so.
    pub fn georeference(&self) -> Option<&Georeference> {
        self.georeference.as_ref()
    }

    /// The values of `count` rows from `first` on, as the file has them.
    ///
    /// # Errors
    /// [`Error::Malformed`] for values that cannot be unpacked, and rows beyond the last.
    pub fn rows(&self, first: usize, count: usize) -> Result<Vec<f32>> {
        let bytes = self.tiff.window(first..first.saturating_add(count), 0..self.size.0)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_ne_bytes(b)).collect())
    }
}

fn of_array(path: &Path, array: Array) -> Result<Raster> {
    let &[height, width] = &array.shape[..] else {
        return Err(Error::malformed(path, "a raster has two dimensions, this array has one"));
    };
    Ok(Raster { width, height, values: array.data, georeference: None, nodata: None })
}

fn of_tiff(path: &Path) -> Result<Raster> {
    let tiff = TiffImage::open(path, (WINDOW, 16))?;
    let layout = tiff.layout();
    let (width, height) = (layout.width, layout.height);
    require_one_band(path, layout)?;
    require_no_mask(path, tiff.file())?;
    let georeference = Place::of_tiff(path, tiff.directory())?.georeference;
    let row = width as u64 * layout.bytes_per_sample as u64;
    let asked = row.saturating_mul(height as u64);
    // A sparse file of a few bytes may have any size; what is asked for must be there, twice for the last copy.
    let memory = |_| Error::OutOfMemory { path: path.to_owned(), asked };
    host_memory::require(asked.saturating_mul(2)).map_err(memory)?;
    let mut bytes = host_memory::with_capacity(asked as usize).map_err(memory)?;
    // Whole rows of blocks at a time, so that none is unpacked twice.
    let block = tiff.block_rows();
    let rows = (WINDOW / (row as usize).max(1) / block).max(1).saturating_mul(block);
    for top in (0..height).step_by(rows) {
        bytes.extend(tiff.window(top..height.min(top + rows), 0..width)?);
    }
    let values = samples(path, bytes, layout)?;
    Ok(Raster { width, height, values, georeference, nodata: nodata(tiff.directory(), layout) })
}
