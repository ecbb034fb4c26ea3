//! Rasters that are read in parts.

use std::ops::Range;
use std::path::{Path, PathBuf};

use gpu_core::host_memory;
use tiff_reader::TiffFile;
use tiff_reader::ifd::{Ifd, RasterLayout};

use crate::georeference::Place;
use crate::mask::nodata;
use crate::npy::half;
use crate::npy_file::{ArrayFile, check_window};
use crate::points::ending;
use crate::tiff_image::TiffImage;
use crate::{ArrayData, Error, Georeference, Result};

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
    Tiff(Box<TiffSource>),
}

/// The first image of a TIFF.
pub(crate) struct TiffSource {
    pub image: TiffImage,
    pub nodata: Option<f64>,
    place: Option<Georeference>,
}

impl ValuesFile {
    /// Opens a raster by its name's ending, and reads no values.
    ///
    /// # Errors
    /// [`Error::UnknownEnding`] for another format, of which no part can be had alone; what is wrong with the file.
    pub fn open(path: &Path) -> Result<Self> {
        let source = match ending(path).as_str() {
            "npy" => Source::Array(ArrayFile::open(path)?),
            "tif" | "tiff" => Source::Tiff(Box::new(TiffSource::open(path)?)),
            _ => {
                let known = ".npy, .tif or .tiff, of which a part can be read";
                return Err(Error::UnknownEnding { path: path.to_owned(), known });
            }
        };
        Ok(Self { path: path.to_owned(), source })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        match &self.source {
            Source::Array(array) => array.size(),
            Source::Tiff(tiff) => (tiff.image.layout().width, tiff.image.layout().height),
        }
    }

    /// Bytes of a value in the file, unpacked.
    pub fn value_bytes(&self) -> u64 {
        match &self.source {
            Source::Array(array) => array.element_bytes(),
            Source::Tiff(tiff) => tiff.image.layout().bytes_per_sample as u64,
        }
    }

    /// Bytes that reading a window takes beside those of its values: of a TIFF, those of a block.
    pub fn unpacking_bytes(&self) -> u64 {
        match &self.source {
            Source::Array(_) => 0,
            Source::Tiff(tiff) => tiff.image.unpacking_bytes(),
        }
    }

    /// Where it lies on the ground, if it is a TIFF that says so, or a file beside it does.
    pub fn georeference(&self) -> Option<&Georeference> {
        match &self.source {
            Source::Array(_) => None,
            Source::Tiff(tiff) => tiff.place.as_ref(),
        }
    }

    /// The value that a GeoTIFF says stands for NODATA.
    pub fn nodata(&self) -> Option<f64> {
        match &self.source {
            Source::Array(_) => None,
            Source::Tiff(tiff) => tiff.nodata,
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
            Source::Tiff(tiff) => tiff.window(&self.path, rows, columns),
        }
    }
}

impl TiffSource {
    fn open(path: &Path) -> Result<Self> {
        let image = TiffImage::open(path, (1 << 20, 2))?;
        require_one_band(path, image.layout())?;
        require_no_mask(path, image.file())?;
        let place = Place::of_tiff(path, image.directory())?.georeference;
        let nodata = nodata(image.directory(), image.layout());
        Ok(Self { image, nodata, place })
    }

    fn window(&self, path: &Path, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        let (width, height) = (columns.len(), rows.len());
        let layout = self.image.layout();
        if width == 0 || height == 0 {
            return samples(path, Vec::new(), layout);
        }
        let asked = width as u64 * height as u64 * layout.bytes_per_sample as u64;
        let memory = |_| Error::OutOfMemory { path: path.to_owned(), asked };
        host_memory::require(asked.saturating_mul(2)).map_err(memory)?;
        samples(path, self.image.window(rows, columns)?, layout)
    }
}

/// Refuses an image of several bands.
pub(crate) fn require_one_band(path: &Path, layout: &RasterLayout) -> Result<()> {
    match layout.samples_per_pixel {
        1 => Ok(()),
        bands => {
            let reason = format!("a raster has one band, this image has {bands}");
            Err(Error::malformed(path, reason))
        }
    }
}

/// What is to be done about a mask.
const INSTEAD: &str = "which pixels have a value, and is not read: NODATA is, which `gdalwarp -dstnodata -9999` makes of it";

/// Refuses a file that says by a mask as GDAL writes it which pixels have a value: by an image beside the first, or by a
/// file beside it.
pub(crate) fn require_no_mask(path: &Path, file: &TiffFile) -> Result<()> {
    const SUBFILE_TYPE: u16 = 254;
    const TRANSPARENCY: u32 = 4;
    let kind = |image: &Ifd| image.tag(SUBFILE_TYPE).and_then(|tag| tag.value.as_u32());
    match file.ifds().iter().filter_map(kind).any(|kind| kind & TRANSPARENCY != 0) {
        false => require_no_mask_beside(path),
        true => Err(Error::malformed(path, format!("a mask within it says {INSTEAD}"))),
    }
}

/// Refuses a picture beside which a mask as GDAL writes it says which pixels have a value.
pub(crate) fn require_no_mask_beside(path: &Path) -> Result<()> {
    for ending in [".msk", ".MSK"] {
        let mut mask = path.as_os_str().to_owned();
        mask.push(ending);
        let mask = Path::new(&mask);
        if mask.is_file() {
            let reason = format!("the mask beside it, {}, says {INSTEAD}", mask.display());
            return Err(Error::malformed(path, reason));
        }
    }
    Ok(())
}

/// Samples of a TIFF in the machine's byte order as numbers.
pub(crate) fn samples(path: &Path, bytes: Vec<u8>, layout: &RasterLayout) -> Result<ArrayData> {
    macro_rules! of {
        ($variant:ident, $type:ty) => {{
            let samples = bytes.as_chunks::<{ size_of::<$type>() }>().0;
            ArrayData::$variant(samples.iter().map(|&b| <$type>::from_ne_bytes(b)).collect())
        }};
    }
    Ok(match (layout.sample_format, layout.bits_per_sample) {
        (1, 8) => ArrayData::U8(bytes),
        (1, 16) => of!(U16, u16),
        (1, 32) => of!(U32, u32),
        (1, 64) => of!(U64, u64),
        (2, 8) => of!(I8, i8),
        (2, 16) => of!(I16, i16),
        (2, 32) => of!(I32, i32),
        (2, 64) => of!(I64, i64),
        (3, 16) => {
            let halves = bytes.as_chunks::<2>().0.iter();
            ArrayData::F32(halves.map(|&bits| half(u16::from_ne_bytes(bits))).collect())
        }
        (3, 32) => of!(F32, f32),
        (3, 64) => of!(F64, f64),
        (format, bits) => {
            let reason = format!("samples of format {format} and {bits} bits are not read");
            return Err(Error::malformed(path, reason));
        }
    })
}
