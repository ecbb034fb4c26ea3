//! Masks that are read in parts.

use std::ops::Range;
use std::path::{Path, PathBuf};

use gpu_core::host_memory;
use tiff_reader::ifd::RasterLayout;
use tiff_reader::{OpenOptions, TiffFile};

use crate::error::unwinding;
use crate::mask::{WINDOW, from_array, nodata, window_sites};
use crate::npy_file::{ArrayFile, check_window};
use crate::points::{ending, open};
use crate::{Error, Georeference, Mask, Result, SiteValues};

/// A mask that is read in parts: an NPY file, or a TIFF.
///
/// A part of [`read_mask`](crate::read_mask)'s mask, without the rest: of a TIFF the blocks that the window touches are
/// unpacked, of an array its rows are read.
pub struct MaskFile {
    path: PathBuf,
    source: Source,
}

enum Source {
    Array(ArrayFile),
    Tiff {
        file: Box<TiffFile>,
        layout: RasterLayout,
        block: usize,
        nodata: Option<f64>,
        place: Option<Georeference>,
    },
}

impl MaskFile {
    /// Opens a mask by its name's ending, and reads no values.
    ///
    /// # Errors
    /// [`Error::UnknownEnding`] for another format, of which no part can be had alone; what is wrong with the file.
    pub fn open(path: &Path) -> Result<Self> {
        let source = match ending(path).as_str() {
            "npy" => Source::Array(ArrayFile::open(path)?),
            "tif" | "tiff" => {
                open(path)?;
                unwinding(|| tiff(path)).map_err(|reason| Error::malformed(path, reason))??
            }
            _ => {
                let known = ".npy, .tif or .tiff, of which a part can be read";
                return Err(Error::UnknownEnding { path: path.to_owned(), known });
            }
        };
        Ok(Self { path: path.to_owned(), source })
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        match &self.source {
            Source::Array(array) => array.size(),
            Source::Tiff { layout, .. } => (layout.width, layout.height),
        }
    }

    /// Bytes of a value in the file, unpacked.
    pub fn value_bytes(&self) -> u64 {
        match &self.source {
            Source::Array(array) => array.element_bytes(),
            Source::Tiff { layout, .. } => layout.bytes_per_sample as u64,
        }
    }

    /// Where it lies on the ground, if it is a TIFF that says so.
    pub fn georeference(&self) -> Option<&Georeference> {
        match &self.source {
            Source::Array(_) => None,
            Source::Tiff { place, .. } => place.as_ref(),
        }
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
        check_window(&self.path, &rows, &columns, self.size())?;
        match &self.source {
            Source::Array(array) => from_array(&self.path, array.window(rows, columns)?, values),
            Source::Tiff { .. } => unwinding(|| self.tiff_window(rows, columns, values))
                .map_err(|reason| Error::malformed(&self.path, reason))?,
        }
    }

    fn tiff_window(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        values: &SiteValues,
    ) -> Result<Mask> {
        let Source::Tiff { file, layout, block, nodata, .. } = &self.source else {
            return Err(Error::malformed(&self.path, "it is no TIFF"));
        };
        let (width, height) = (columns.len(), rows.len());
        let asked = width as u64 * height as u64;
        let memory = |_| Error::OutOfMemory { path: self.path.clone(), asked };
        host_memory::require(asked).map_err(memory)?;
        let mut sites = host_memory::with_capacity(asked as usize).map_err(memory)?;
        let mut without_value = 0;
        // As many whole rows of blocks at a time as make a window of unpacked samples.
        let row = (width * layout.bytes_per_sample).max(1);
        let step = (WINDOW / row / block).max(1).saturating_mul(*block);
        let mut top = rows.start;
        while top < rows.end {
            let end = (top / step + 1).saturating_mul(step).min(rows.end);
            let bytes = file
                .read_window_bytes(0, top, columns.start, end - top, width)
                .map_err(|e| Error::malformed(&self.path, e))?;
            let (part, missing) =
                window_sites(bytes, layout, values, *nodata).ok_or_else(|| {
                    Error::malformed(&self.path, "its samples are of an unknown type")
                })?;
            sites.extend(part);
            without_value += missing;
            top = end;
        }
        Ok(Mask { width, height, sites, georeference: None, without_value })
    }
}

fn tiff(path: &Path) -> Result<Source> {
    let bad = |e: tiff_reader::error::Error| Error::malformed(path, e);
    let options =
        OpenOptions { block_cache_bytes: 1 << 20, block_cache_slots: 2, ..Default::default() };
    let file = TiffFile::open_with_options(path, options).map_err(bad)?;
    let image = file.ifd(0).map_err(bad)?;
    let layout = image.raster_layout().map_err(bad)?;
    if layout.samples_per_pixel != 1 {
        let bands = layout.samples_per_pixel;
        return Err(Error::malformed(path, format!("a mask has one band, this image has {bands}")));
    }
    let place = Georeference::of_tiff(image).map_err(|reason| Error::malformed(path, reason))?;
    let nodata = nodata(image, &layout);
    let block = image.tile_height().unwrap_or(image.rows_per_strip()).max(1) as usize;
    let block = block.min(layout.height.max(1));
    Ok(Source::Tiff { file: Box::new(file), layout, block, nodata, place })
}
