//! Rasters that a program reads in parts.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::input::is_url;
use crate::points::ending;
use crate::rasters::ascii_grid::AsciiGrid;
use crate::rasters::nodata::Sample;
use crate::rasters::npy::parts::{ArrayFile, check_window};
use crate::rasters::tiff::samples::SampleFile;
use crate::rasters::virtual_raster::VirtualRaster;
use crate::rasters::zarr::is_zarr;
use crate::rasters::zarr::read::ZarrArray;
use crate::{ArrayData, Error, Georeference, Number, Result};

/// Bytes of values that are decoded together.
pub(crate) const AT_ONCE: usize = 1 << 26;

/// A raster of one band, of whose values windows are read.
pub(crate) trait Windows: Send + Sync {
    /// Columns and rows.
    fn size(&self) -> (usize, usize);

    /// Bytes of a value in memory.
    fn value_bytes(&self) -> u64;

    /// Bytes that a window takes beside those of its values.
    fn unpacking_bytes(&self) -> u64 {
        0
    }

    /// Rows that are decoded together whatever part of them a window has.
    fn block_rows(&self) -> usize {
        1
    }

    /// Where it lies on the ground.
    fn place(&self) -> Option<&Georeference> {
        None
    }

    /// The value of its type that stands for NODATA.
    fn nodata(&self) -> Option<Number> {
        None
    }

    /// Metres of the unit of its values, if the file states a unit of length.
    fn metres(&self) -> Option<f64> {
        None
    }

    /// Notes on the file for the user.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// The values of a window that lies within it, row by row, as they are stored.
    fn stored(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData>;

    /// The values of a window that lies within it, row by row. Each that stands for NODATA is [`Windows::nodata`].
    fn window(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        let mut values = self.stored(rows, columns)?;
        if let Some(nodata) = self.nodata() {
            match &mut values {
                ArrayData::F32(values) => unify(values, nodata),
                ArrayData::F64(values) => unify(values, nodata),
                _ => {}
            }
        }
        Ok(values)
    }
}

/// Writes NODATA in place of the other value that stands for it.
fn unify<T: Sample>(values: &mut [T], nodata: Number) {
    let Some(other) = T::also(nodata) else { return };
    let nodata = T::fill(Some(nodata));
    values.iter_mut().filter(|value| **value == other).for_each(|value| *value = nodata);
}

impl Windows for ArrayFile {
    fn size(&self) -> (usize, usize) {
        self.size()
    }

    fn value_bytes(&self) -> u64 {
        self.element_bytes()
    }

    /// A window of an array is read at once.
    fn block_rows(&self) -> usize {
        usize::MAX
    }

    fn stored(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        Ok(self.window(rows, columns)?.data)
    }
}

/// Parts of some rows that are decoded together: whole rows of blocks, so that none is decoded twice.
pub(crate) fn parts(
    value_bytes: u64,
    block_rows: usize,
    rows: Range<usize>,
    columns: usize,
) -> impl Iterator<Item = Range<usize>> {
    let row = columns.saturating_mul(value_bytes as usize).max(1);
    let step = (AT_ONCE / row / block_rows).max(1).saturating_mul(block_rows);
    let mut top = rows.start;
    std::iter::from_fn(move || {
        let part = top..(top / step + 1).saturating_mul(step).min(rows.end);
        top = part.end;
        (!part.is_empty()).then_some(part)
    })
}

/// Opens a raster, which is a source of some virtual rasters.
pub(crate) fn open_within(path: &Path, within: &[PathBuf]) -> Result<Box<dyn Windows>> {
    if is_url(path) && !matches!(ending(path).as_str(), "tif" | "tiff") {
        let known = ".tif or .tiff, of which parts are read by their address";
        return Err(Error::UnknownEnding { path: path.to_owned(), known });
    }
    Ok(match ending(path).as_str() {
        "npy" => Box::new(ArrayFile::open(path)?),
        "tif" | "tiff" => Box::new(SampleFile::open(path)?),
        "asc" => Box::new(AsciiGrid::open(path)?),
        "vrt" => Box::new(VirtualRaster::open(path, within)?),
        _ if is_zarr(path) => Box::new(ZarrArray::open(path)?),
        _ => {
            let known = ".npy, .tif, .tiff, .asc, .vrt or .zarr, of which a part can be read";
            return Err(Error::UnknownEnding { path: path.to_owned(), known });
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

    /// Returns how many metres a unit of its values has, if a GeoTIFF, an `.aux.xml` or a virtual raster states a unit of
    /// length. A coordinate system may state another unit, of heights ([`Crs::metres_per_height`](crate::Crs::metres_per_height)).
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
