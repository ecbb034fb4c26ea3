//! Rasters of values, as in their files.

use std::path::{Path, PathBuf};

use crate::input::is_url;
use crate::points::ending;
use crate::rasters::png;
use crate::rasters::tiff::samples::SampleFile;
use crate::rasters::windows::Windows;
use crate::rasters::zarr::is_zarr;
use crate::{
    Array, ArrayData, Error, Georeference, Number, Result, SampleType, ValuesFile, npz_names,
    read_npy, read_npz,
};

/// A raster with its file's values: row-major, row 0 in the north.
///
/// Example: see [`read_raster`].
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The values, `width * height` of them.
    pub values: ArrayData,
    /// Where it lies on the ground, if the file or a file beside it says so.
    pub georeference: Option<Georeference>,
    /// The value that stands for NODATA, by the file or GDAL's `.aux.xml` beside it, in the type of the values.
    pub nodata: Option<Number>,
    /// Notes on the file for the user, such as a scale that is not applied.
    pub notes: Vec<String>,
}

/// Reads a raster from NPY, NPZ, PNG, TIFF, an ASCII grid, GDAL's virtual raster or Zarr, by the name's ending. The
/// type of its values stays as it is.
///
/// From an NPZ archive, it reads the array named `array`; without a name, the array called `mask`, or the only one.
///
/// From a TIFF, it reads the first image, which must have one band. Its samples are unsigned integers of 1 to 16, 32 or
/// 64 bits, signed ones of 8 to 64, or floats of 16 to 64. Values are as stored: it applies no scale, and a palette
/// gives its indices. Missing blocks of a sparse file are NODATA, or 0 if the file states no NODATA.
///
/// A PNG gives the same values as a TIFF of the same picture: stored grey values of 1 to 16 bits, or the indices of a
/// palette. A value or a palette entry that is transparent is NODATA. It reads a picture with colour or opacity only if
/// all pixels are grey and opaque.
///
/// The values of an ASCII grid (`.asc`) are integers of 32 bits. They are f32 if a value or NODATA has a decimal point,
/// and f64 if an integer needs more than 32 bits. From a virtual raster (`.vrt`), it reads the only band. Sources must
/// lie on its pixels: a resampled, filtered or computed source is an error, which names it.
///
/// From Zarr (`.zarr`, version 3), it reads the array that the path names; without a name, the only array of two
/// dimensions, or of three with one band.
///
/// NODATA is as in GDAL. For a TIFF, `.aux.xml` beside it comes first, then its tag; for a PNG, the order is reversed.
///
/// ```
/// use geo_io::{ArrayData, read_raster, write_npy};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("dem.npy");
/// write_npy(&path, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2)?;
/// let raster = read_raster(&path, None)?;
/// assert_eq!((raster.width, raster.height), (3, 2));
/// assert_eq!(raster.values, ArrayData::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::UnknownEnding`]: the name has another ending.
/// - [`Error::OutOfMemory`]: memory does not hold the raster.
/// - An error of the file, or of a GDAL mask of valid pixels in it or beside it.
/// - The array is not two-dimensional, or the picture has coloured or transparent pixels.
pub fn read_raster(path: &Path, array: Option<&str>) -> Result<Raster> {
    match ending(path).as_str() {
        _ if is_in_parts(path) => of_file(&ValuesFile::open(path)?),
        "npy" => of_array(path, read_npy(path)?),
        "npz" => {
            let has_mask = array.is_none() && npz_names(path)?.iter().any(|name| name == "mask");
            of_array(path, read_npz(path, if has_mask { Some("mask") } else { array })?)
        }
        "png" => png::read(path),
        _ => {
            let known = ".npy, .npz, .png, .tif, .tiff, .asc, .vrt or .zarr";
            Err(Error::unknown_ending(path, known))
        }
    }
}

/// Whether a raster is of a format that is read in parts where memory asks for it, by its name.
pub(crate) fn is_in_parts(path: &Path) -> bool {
    is_url(path) || is_zarr(path) || ["tif", "tiff", "asc", "vrt"].contains(&&ending(path)[..])
}

/// All of a raster that may be read in parts.
fn of_file(file: &ValuesFile) -> Result<Raster> {
    let (width, height) = file.size();
    let values = file.window(0..height, 0..width)?;
    let (georeference, nodata) = (file.georeference().cloned(), file.nodata());
    let notes = file.notes().to_vec();
    Ok(Raster { width, height, values, georeference, nodata, notes })
}

/// A TIFF of f32 values, read in parts.
///
/// ```
/// use geo_io::{RasterFile, write_geotiff};
/// use gpu_core::GridSpec;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("dem.tif");
/// write_geotiff(&path, &GridSpec::of_pixels(2, 3), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], None, -9999.0)?;
/// let file = RasterFile::open(&path)?;
/// assert_eq!(file.size(), (2, 3));
/// assert_eq!(file.rows(1, 2)?, [3.0, 4.0, 5.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RasterFile {
    path: PathBuf,
    image: SampleFile,
}

impl RasterFile {
    /// Opens the first image of a TIFF, which has one band of f32, and reads no values.
    ///
    /// # Errors
    /// An error that says what is wrong with the file.
    pub fn open(path: &Path) -> Result<Self> {
        let image = SampleFile::open(path)?;
        if image.sample_type != SampleType::F32 {
            return Err(Error::malformed(path, "its image has not one band of f32"));
        }
        Ok(Self { path: path.to_owned(), image })
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.image.size
    }

    /// Where it lies on the ground, if it says so.
    pub fn georeference(&self) -> Option<&Georeference> {
        self.image.place.as_ref()
    }

    /// Reads the values of `count` rows from `first` on, as in the file.
    ///
    /// # Errors
    /// [`Error::Malformed`] for values that cannot be decompressed, and rows beyond the last.
    pub fn rows(&self, first: usize, count: usize) -> Result<Vec<f32>> {
        let rows = first..first.saturating_add(count);
        match self.image.window(rows, 0..self.image.size.0)? {
            ArrayData::F32(values) => Ok(values),
            _ => Err(Error::malformed(&self.path, "its image has not one band of f32")),
        }
    }
}

fn of_array(path: &Path, array: Array) -> Result<Raster> {
    let &[height, width] = &array.shape[..] else {
        return Err(Error::malformed(path, "a raster has two dimensions, this array has one"));
    };
    let (values, notes) = (array.data, Vec::new());
    Ok(Raster { width, height, values, georeference: None, nodata: None, notes })
}
