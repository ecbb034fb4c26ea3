//! The samples of a TIFF: of its first image, which has one band.
//!
//! Missing blocks (strips or tiles) of a sparse file are NODATA, as in GDAL, or 0 if the file states no NODATA.

use std::ops::Range;
use std::path::{Path, PathBuf};

use gpu_core::host_memory;
use tiff_reader::TiffFile;
use tiff_reader::ifd::{Ifd, RasterLayout};

use crate::rasters::band::Band;
use crate::rasters::georeference::Place;
use crate::rasters::nodata::{Sample, with_sample_type};
use crate::rasters::npy::parts::check_window;
use crate::rasters::tiff::gdal_tags::{GDAL_METADATA, GDAL_NODATA};
use crate::rasters::tiff::image::TiffImage;
use crate::rasters::windows::{Windows, parts};
use crate::{ArrayData, Error, Georeference, Number, Result, SampleType};

/// The first image of a TIFF, of one band, of which windows are read.
pub(crate) struct SampleFile {
    path: PathBuf,
    image: TiffImage,
    /// Columns and rows.
    pub size: (usize, usize),
    /// The type of its samples in memory.
    pub sample_type: SampleType,
    blocks: Blocks,
    /// NODATA as the file states it, whether or not the samples' type has it.
    stated: Option<Number>,
    /// Where it lies on the ground.
    pub place: Option<Georeference>,
    /// Metres of the unit of its values.
    metres: Option<f64>,
    /// Notes on the file for the user.
    pub notes: Vec<String>,
}

impl SampleFile {
    /// Opens a TIFF and reads no samples.
    ///
    /// # Errors
    /// An error that says what is wrong with the file, or a mask in it or beside it; several bands; samples of a type
    /// that geo-io does not read.
    pub fn open(path: &Path) -> Result<Self> {
        // Windows are of whole rows of blocks, so that hardly a block is wanted twice.
        let image = TiffImage::open(path, (1 << 20, 2))?;
        let (directory, layout) = (image.directory(), image.layout());
        let sample_type = sample_type(layout).ok_or_else(|| {
            let (format, bits) = (layout.sample_format, layout.bits_per_sample);
            Error::malformed(path, format!("samples of format {format} and {bits} bits"))
        })?;
        if layout.samples_per_pixel != 1 {
            let bands = layout.samples_per_pixel;
            let reason = format!(
                "a raster has one band, this image has {bands}: `gdal_translate -b 1` takes the first"
            );
            return Err(Error::malformed(path, reason));
        }
        require_no_mask(path, image.file())?;
        let place = Place::of_tiff(path, directory)?;
        let text = |tag| directory.tag(tag).and_then(|tag| tag.value.as_str());
        // What is said beside the file counts before what is said in it, as GDAL has it.
        let mut band =
            Band::beside(path, sample_type).or_of_metadata(text(GDAL_METADATA).unwrap_or(""));
        let tag = text(GDAL_NODATA).filter(|_| band.nodata.is_none()).unwrap_or_default();
        let stated = band.nodata.or_else(|| sample_type.number_of_tag(tag));
        band.is_no_number |= !tag.trim().is_empty();
        band.is_no_number &= stated.is_none();
        let notes = band.notes(path).into_iter().chain(place.notes);
        let notes = notes.chain(note_on_images(path, image.file())).collect();
        let place = place.georeference;
        let (size, blocks) = ((layout.width, layout.height), Blocks::of(directory, layout));
        let (path, metres) = (path.to_owned(), band.metres);
        Ok(Self { path, image, size, sample_type, blocks, stated, place, metres, notes })
    }

    fn samples<T: Sample>(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Vec<T>> {
        let width = columns.len();
        let parts = || parts(size_of::<T>() as u64, self.blocks.rows, rows.clone(), width);
        let most = parts().map(|part| part.len()).max().unwrap_or(0);
        // A sparse file of a few bytes may claim any size, so memory for the samples must be free first. One part is
        // held twice.
        let bytes =
            |rows: usize| (rows as u64 * width as u64).saturating_mul(size_of::<T>() as u64);
        let asked = bytes(rows.len()).saturating_add(bytes(most));
        let memory = |_| Error::OutOfMemory { path: self.path.clone(), asked };
        host_memory::require(asked).map_err(memory)?;
        let mut values = host_memory::with_capacity(rows.len() * width).map_err(memory)?;
        if width == 0 {
            return Ok(values);
        }
        let absent = T::fill(self.stated);
        for part in parts() {
            let start = values.len();
            values.resize(start + part.len() * width, absent);
            // The reader makes a whole block even of one that is absent, and a sparse file of a few bytes may state blocks
            // of any size. Where one block is there, the file's length bounds the size of all.
            if self.blocks.has_any(&part, &columns) {
                let bytes = self.image.window(part.clone(), columns.clone())?;
                bytemuck::cast_slice_mut(&mut values[start..]).copy_from_slice(&bytes);
                self.blocks.fill_absent(&mut values[start..], part, columns.clone(), absent);
            }
        }
        Ok(values)
    }
}

impl Windows for SampleFile {
    fn size(&self) -> (usize, usize) {
        self.size
    }

    fn value_bytes(&self) -> u64 {
        self.sample_type.bytes()
    }

    /// A block as it is packed and as it is not.
    fn unpacking_bytes(&self) -> u64 {
        self.image.unpacking_bytes()
    }

    fn block_rows(&self) -> usize {
        self.blocks.rows
    }

    fn place(&self) -> Option<&Georeference> {
        self.place.as_ref()
    }

    fn nodata(&self) -> Option<Number> {
        self.sample_type.value(self.stated?)
    }

    fn metres(&self) -> Option<f64> {
        self.metres
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn stored(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        check_window(&self.path, &rows, &columns, self.size)?;
        with_sample_type!(self.sample_type, T => Ok(T::array(self.samples(rows, columns)?)))
    }
}

/// The type in memory of samples of an image; those of fewer than 8 or 16 bits have that many there.
fn sample_type(layout: &RasterLayout) -> Option<SampleType> {
    Some(match (layout.sample_format, layout.bits_per_sample) {
        (1, 1..=8) => SampleType::U8,
        (1, 9..=16) => SampleType::U16,
        (1, 32) => SampleType::U32,
        (1, 64) => SampleType::U64,
        (2, 8) => SampleType::I8,
        (2, 16) => SampleType::I16,
        (2, 32) => SampleType::I32,
        (2, 64) => SampleType::I64,
        (3, 16) => SampleType::F16,
        (3, 32) => SampleType::F32,
        (3, 64) => SampleType::F64,
        _ => return None,
    })
}

/// The blocks of an image, and which of them its file does not have.
struct Blocks {
    /// Rows of a block.
    rows: usize,
    /// Columns of a block.
    columns: usize,
    /// Blocks beside each other.
    across: usize,
    /// Whether each block is absent; `None` where none is.
    absent: Option<Vec<bool>>,
}

impl Blocks {
    fn of(image: &Ifd, layout: &RasterLayout) -> Self {
        let (rows, columns) = match (image.tile_height(), image.tile_width()) {
            (Some(rows), Some(columns)) => (rows, columns),
            _ => (image.rows_per_strip(), u32::MAX),
        };
        let rows = (rows.max(1) as usize).min(layout.height.max(1));
        let columns = columns.max(1) as usize;
        let across = layout.width.div_ceil(columns).max(1);
        let (offsets, counts) = match image.is_tiled() {
            true => (image.tile_offsets(), image.tile_byte_counts()),
            false => (image.strip_offsets(), image.strip_byte_counts()),
        };
        let offsets = offsets.unwrap_or_default();
        // A block without a place or without bytes is not there.
        let is_absent = |(i, &offset): (usize, &u64)| {
            offset == 0 || counts.as_ref().and_then(|counts| counts.get(i)) == Some(&0)
        };
        let absent: Vec<bool> = offsets.iter().enumerate().map(is_absent).collect();
        let absent = absent.contains(&true).then_some(absent);
        Self { rows, columns, across, absent }
    }

    /// Whether the file has any of a window's blocks.
    fn has_any(&self, rows: &Range<usize>, columns: &Range<usize>) -> bool {
        let Some(absent) = &self.absent else { return true };
        let is_there = |block: usize| absent.get(block) != Some(&true);
        let mut lines = rows.start / self.rows..rows.end.div_ceil(self.rows);
        let blocks = columns.start / self.columns..columns.end.div_ceil(self.columns);
        lines.any(|line| blocks.clone().any(|block| is_there(line * self.across + block)))
    }

    /// Gives a value to the samples of a window that lie in absent blocks.
    fn fill_absent<T: Copy>(
        &self,
        samples: &mut [T],
        rows: Range<usize>,
        columns: Range<usize>,
        value: T,
    ) {
        let Some(absent) = &self.absent else { return };
        for (line, row) in samples.chunks_exact_mut(columns.len()).zip(rows) {
            let first = row / self.rows * self.across;
            for block in columns.start / self.columns..columns.end.div_ceil(self.columns) {
                if absent.get(first + block) == Some(&true) {
                    let from = (block * self.columns).max(columns.start) - columns.start;
                    let to = (block + 1).saturating_mul(self.columns).min(columns.end);
                    line[from..to - columns.start].fill(value);
                }
            }
        }
    }
}

/// Describes a file with further images, such as pages. Overviews and masks are not further images.
fn note_on_images(path: &Path, file: &TiffFile) -> Option<String> {
    const REDUCED_OR_MASK: u32 = 1 | 4;
    let kind = |image: &Ifd| image.tag(SUBFILE_TYPE).and_then(|tag| tag.value.as_u32());
    let is_further = |image: &&Ifd| kind(image).unwrap_or(0) & REDUCED_OR_MASK == 0;
    // The first is read, whatever it says that it is.
    let further = file.ifds().iter().skip(1).filter(is_further).count();
    (further > 0).then(|| {
        let path = path.display();
        format!(
            "{path}: it holds {} images, of which the first is read: `gdal_translate GTIFF_DIR:2:{path}` makes a file of the second",
            further + 1
        )
    })
}

/// The tag that says what an image is to the others of its file.
const SUBFILE_TYPE: u16 = 254;

/// What to do about a mask instead.
const INSTEAD: &str = "which pixels have a value, and geo-io reads NODATA instead: `gdalwarp -ot Float64 -dstnodata -9999` makes it of a mask (with -to SRC_METHOD=NO_GEOTRANSFORM -to DST_METHOD=NO_GEOTRANSFORM for a raster without a place)";

/// Refuses a file that says by a mask as GDAL writes it which pixels have a value: by an image beside the first, or by a
/// file beside it.
fn require_no_mask(path: &Path, file: &TiffFile) -> Result<()> {
    const TRANSPARENCY: u32 = 4;
    let kind = |image: &Ifd| image.tag(SUBFILE_TYPE).and_then(|tag| tag.value.as_u32());
    // The first image is read, whatever it says that it is: GDAL's own masks beside a file are such.
    match file.ifds().iter().skip(1).filter_map(kind).any(|kind| kind & TRANSPARENCY != 0) {
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
