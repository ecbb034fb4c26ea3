//! Rasters that are read in parts.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::points::ending;
use crate::rasters::npy::parts::{ArrayFile, check_window};
use crate::rasters::tiff::samples::SampleFile;
use crate::{ArrayData, Error, Georeference, Number, Result};

/// A raster that is read in parts: an NPY file, or a TIFF, of values of any type.
///
/// A part of [`read_raster`](crate::read_raster)'s raster, without the rest: of a TIFF the blocks that the window touches
/// are unpacked, of an array its rows are read.
pub struct ValuesFile {
    path: PathBuf,
    source: Source,
}

/// What the values come from.
pub(crate) enum Source {
    Array(ArrayFile),
    Tiff(Box<SampleFile>),
}

impl ValuesFile {
    /// Opens a raster by its name's ending, and reads no values.
    ///
    /// # Errors
    /// - [`Error::UnknownEnding`]: another format, whose files cannot be read in parts.
    /// - Any other error of the file.
    pub fn open(path: &Path) -> Result<Self> {
        let source = match ending(path).as_str() {
            "npy" => Source::Array(ArrayFile::open(path)?),
            "tif" | "tiff" => Source::Tiff(Box::new(SampleFile::open(path)?)),
            _ => {
                let known = ".npy, .tif or .tiff, of which a part can be read";
                return Err(Error::UnknownEnding { path: path.to_owned(), known });
            }
        };
        Ok(Self { path: path.to_owned(), source })
    }

    /// Its path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        match &self.source {
            Source::Array(array) => array.size(),
            Source::Tiff(image) => image.size,
        }
    }

    /// Bytes of a value in memory.
    pub fn value_bytes(&self) -> u64 {
        match &self.source {
            Source::Array(array) => array.element_bytes(),
            Source::Tiff(image) => image.sample_bytes() as u64,
        }
    }

    /// Bytes that reading a window takes beside those of its values: of a TIFF, those of a block.
    pub fn unpacking_bytes(&self) -> u64 {
        match &self.source {
            Source::Array(_) => 0,
            Source::Tiff(image) => image.unpacking_bytes(),
        }
    }

    /// Where it lies on the ground, if it is a TIFF that says so, or a file beside it does.
    pub fn georeference(&self) -> Option<&Georeference> {
        match &self.source {
            Source::Array(_) => None,
            Source::Tiff(image) => image.place.as_ref(),
        }
    }

    /// Returns the value that stands for NODATA. GDAL's `.aux.xml` beside a GeoTIFF counts first, then the
    /// GeoTIFF's tag. `None` where the values' type does not have the value.
    pub fn nodata(&self) -> Option<Number> {
        match &self.source {
            Source::Array(_) => None,
            Source::Tiff(image) => image.nodata(),
        }
    }

    /// What a user must be told of the file, such as a scale that is not applied, or control points that give no place.
    pub fn notes(&self) -> &[String] {
        match &self.source {
            Source::Array(_) => &[],
            Source::Tiff(image) => &image.notes,
        }
    }

    /// The values of a window, row by row, of the file's type; of one without cells their type alone.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a window beyond the raster and for what is wrong with the file, [`Error::OutOfMemory`].
    pub fn window(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        check_window(&self.path, &rows, &columns, self.size())?;
        match &self.source {
            Source::Array(array) => Ok(array.window(rows, columns)?.data),
            Source::Tiff(image) => image.window(rows, columns),
        }
    }
}
