//! Rasters that a program reads in parts.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::input::is_url;
use crate::points::ending;
use crate::rasters::ascii_grid::AsciiGrid;
use crate::rasters::npy::parts::{ArrayFile, check_window};
use crate::rasters::tiff::samples::SampleFile;
use crate::rasters::virtual_raster::VirtualRaster;
use crate::rasters::windows::{Windows, parts};
use crate::rasters::zarr::is_zarr;
use crate::rasters::zarr::read::ZarrArray;
use crate::{ArrayData, Error, Georeference, Number, Result};

/// Opens a raster, which is a source of some virtual rasters.
fn open_within(path: &Path, within: &[PathBuf]) -> Result<Box<dyn Windows>> {
    if is_url(path) && !matches!(ending(path).as_str(), "tif" | "tiff") {
        let known = ".tif or .tiff, of which parts are read by their address";
        return Err(Error::unknown_ending(path, known));
    }
    Ok(match ending(path).as_str() {
        "npy" => Box::new(ArrayFile::open(path)?),
        "tif" | "tiff" => Box::new(SampleFile::open(path)?),
        "asc" => Box::new(AsciiGrid::open(path)?),
        "vrt" => Box::new(VirtualRaster::open(path, within, open_within)?),
        _ if is_zarr(path) => Box::new(ZarrArray::open(path)?),
        _ => {
            let known = ".npy, .tif, .tiff, .asc, .vrt or .zarr, of which a part can be read";
            return Err(Error::unknown_ending(path, known));
        }
    })
}

/// A raster that a program reads in parts, with values of any type: an NPY file, a TIFF, an ASCII grid, a Zarr array or
/// a virtual raster of these.
///
/// Each part equals the same part of [`read_raster`](crate::read_raster)'s raster. A window decompresses the blocks of
/// a TIFF that it touches, reads its rows of an array, and opens the sources of a virtual raster that it touches.
pub struct ValuesFile {
    path: PathBuf,
    source: Box<dyn Windows>,
}

impl ValuesFile {
    /// Opens a raster by its name's ending, and reads no values. Scans the text of an ASCII grid once.
    ///
    /// # Errors
    /// - [`Error::UnknownEnding`]: another format, whose files cannot be read in parts.
    /// - Any other error of the file.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), source: open_within(path, &[])? })
    }

    /// Its path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.source.size()
    }

    /// Returns how many metres a unit of its values has, if the raster or an `.aux.xml` beside it states a unit of length. A coordinate system may state another unit, of heights ([`Crs::metres_per_height`](crate::Crs::metres_per_height)).
    pub fn metres_per_value(&self) -> Option<f64> {
        self.source.metres()
    }

    /// Bytes of a value in memory.
    pub fn value_bytes(&self) -> u64 {
        self.source.value_bytes()
    }

    /// Returns how many bytes it takes to read a window, in addition to the window's values: for a TIFF, the bytes of a
    /// block.
    pub fn unpacking_bytes(&self) -> u64 {
        self.source.unpacking_bytes()
    }

    /// Where it lies on the ground, if the file or a file beside it says so.
    pub fn georeference(&self) -> Option<&Georeference> {
        self.source.place()
    }

    /// Returns the value that stands for NODATA. For a GeoTIFF, GDAL's `.aux.xml` beside it comes first, then its tag;
    /// other formats state NODATA in the file. `None` if the type of the values does not have that value.
    pub fn nodata(&self) -> Option<Number> {
        self.source.nodata()
    }

    /// Notes on the file for the user, such as a scale that is not applied, or control points that give no place.
    pub fn notes(&self) -> &[String] {
        self.source.notes()
    }

    /// Reads the values of a window, row by row, in the file's type. A window without cells returns no values, but
    /// their type.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a window beyond the raster and for a damaged file, [`Error::OutOfMemory`].
    pub fn window(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        check_window(&self.path, &rows, &columns, self.size())?;
        self.source.window(rows, columns)
    }

    /// Parts of some rows whose values are decoded together.
    pub(crate) fn parts(
        &self,
        rows: Range<usize>,
        columns: usize,
    ) -> impl Iterator<Item = Range<usize>> + use<> {
        parts(self.value_bytes(), self.source.block_rows(), rows, columns)
    }
}
