//! Masks that are read in parts.

use std::ops::Range;
use std::path::Path;

use gpu_core::host_memory;

use crate::mask::{WINDOW, from_array, mask_name, window_sites};
use crate::npy::npz_size;
use crate::npy_file::check_window;
use crate::points::ending;
use crate::values_file::{Source, TiffSource, ValuesFile};
use crate::{Error, Georeference, Mask, Result, SiteValues};

/// Columns and rows of the mask that [`read_mask`](crate::read_mask) would read, from its file's header alone; none where
/// that does not say, as of a PNG, or where something is wrong, which reading says.
pub fn mask_size(path: &Path) -> Option<(usize, usize)> {
    match ending(path).as_str() {
        "npz" => npz_size(path, mask_name(path).ok()?).ok()?,
        "png" => None,
        _ => MaskFile::open(path).ok().map(|file| file.size()),
    }
}

/// A mask that is read in parts: an NPY file, or a TIFF.
///
/// A part of [`read_mask`](crate::read_mask)'s mask, without the rest: of a TIFF the blocks that the window touches are
/// unpacked, of an array its rows are read.
pub struct MaskFile(ValuesFile);

impl MaskFile {
    /// Opens a mask by its name's ending, and reads no values.
    ///
    /// # Errors
    /// [`Error::UnknownEnding`] for another format, of which no part can be had alone; what is wrong with the file.
    pub fn open(path: &Path) -> Result<Self> {
        ValuesFile::open(path).map(Self)
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.0.size()
    }

    /// Bytes of a value in the file, unpacked.
    pub fn value_bytes(&self) -> u64 {
        self.0.value_bytes()
    }

    /// Bytes that reading a window takes beside those of its values: of a TIFF, those of a block.
    pub fn unpacking_bytes(&self) -> u64 {
        self.0.unpacking_bytes()
    }

    /// Where it lies on the ground, if it is a TIFF that says so, or a file beside it does.
    pub fn georeference(&self) -> Option<&Georeference> {
        self.0.georeference()
    }

    /// A window of the mask; it carries no place.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a window beyond the mask and for what is wrong with the file, [`Error::OutOfMemory`].
    pub fn window(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        values: &SiteValues,
    ) -> Result<Mask> {
        let path = self.0.path();
        check_window(path, &rows, &columns, self.size())?;
        match self.0.source() {
            Source::Array(array) => from_array(path, array.window(rows, columns)?, values),
            Source::Tiff(tiff) => self.tiff_window(tiff, rows, columns, values),
        }
    }

    fn tiff_window(
        &self,
        tiff: &TiffSource,
        rows: Range<usize>,
        columns: Range<usize>,
        values: &SiteValues,
    ) -> Result<Mask> {
        let path = self.0.path();
        let (width, height) = (columns.len(), rows.len());
        let asked = width as u64 * height as u64;
        let memory = |_| Error::OutOfMemory { path: path.to_owned(), asked };
        host_memory::require(asked).map_err(memory)?;
        let mut sites = host_memory::with_capacity(asked as usize).map_err(memory)?;
        let mut without_value = 0;
        // As many whole rows of blocks at a time as make a window of unpacked samples.
        let (layout, block) = (tiff.image.layout(), tiff.image.block_rows());
        let row = (width * layout.bytes_per_sample).max(1);
        let step = (WINDOW / row / block).max(1).saturating_mul(block);
        let mut top = rows.start;
        while top < rows.end {
            let end = (top / step + 1).saturating_mul(step).min(rows.end);
            let bytes = tiff.image.window(top..end, columns.clone())?;
            let (part, missing) = window_sites(bytes, layout, values, tiff.nodata)
                .ok_or_else(|| Error::malformed(path, "its samples are of an unknown type"))?;
            sites.extend(part);
            without_value += missing;
            top = end;
        }
        Ok(Mask { width, height, sites, georeference: None, without_value })
    }
}
