//! Masks that a program reads in parts.

use std::ops::Range;
use std::path::Path;

use gpu_core::host_memory;

use crate::points::ending;
use crate::rasters::mask::{mask_name, sites};
use crate::rasters::npy::arrays::npz_size;
use crate::rasters::npy::parts::check_window;
use crate::{Error, Georeference, Mask, Result, SiteValues, ValuesFile};

/// Returns columns and rows of the mask that [`read_mask`](crate::read_mask) would read, from its file's header alone.
/// `None` means that the header does not say, as of a PNG, or that the file is damaged; then reading returns the error.
///
/// ```
/// use geo_io::{mask_size, write_npy};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("mask.npy");
/// write_npy(&path, &[0u8; 6], 3, 2)?;
/// assert_eq!(mask_size(&path), Some((3, 2))); // columns and rows
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mask_size(path: &Path) -> Option<(usize, usize)> {
    match ending(path).as_str() {
        "npz" => npz_size(path, mask_name(path).ok()?).ok()?,
        "png" => None,
        _ => MaskFile::open(path).ok().map(|file| file.size()),
    }
}

/// A mask that a program reads in parts, from the formats of [`ValuesFile`].
///
/// Each part equals the same part of [`read_mask`](crate::read_mask)'s mask.
pub struct MaskFile(ValuesFile);

impl MaskFile {
    /// Opens a mask by its name's ending, and reads no values.
    ///
    /// # Errors
    /// - [`Error::UnknownEnding`]: another format, whose files cannot be read in parts.
    /// - Any other error of the file.
    pub fn open(path: &Path) -> Result<Self> {
        ValuesFile::open(path).map(Self)
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.0.size()
    }

    /// Bytes of a value in memory.
    pub fn value_bytes(&self) -> u64 {
        self.0.value_bytes()
    }

    /// Returns how many bytes it takes to read a window, in addition to the window's values: for a TIFF, the bytes of a
    /// block.
    pub fn unpacking_bytes(&self) -> u64 {
        self.0.unpacking_bytes()
    }

    /// Where it lies on the ground, if the file or a file beside it says so.
    pub fn georeference(&self) -> Option<&Georeference> {
        self.0.georeference()
    }

    /// Notes on the file for the user, such as a scale that is not applied.
    pub fn notes(&self) -> &[String] {
        self.0.notes()
    }

    /// Reads a window of the mask, without place and notes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a window beyond the mask and for a damaged file, [`Error::OutOfMemory`].
    pub fn window(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        values: &SiteValues,
    ) -> Result<Mask> {
        let path = self.0.path();
        check_window(path, &rows, &columns, self.size())?;
        let (width, height) = (columns.len(), rows.len());
        let mut mask = Mask { width, height, ..Mask::default() };
        let mut parts = self.0.parts(rows.clone(), width);
        let first = parts.next().unwrap_or(rows);
        if first.len() == height {
            let window = self.0.window(first, columns)?;
            (mask.sites, mask.without_value) = sites(window, values, self.0.nodata());
            return Ok(mask);
        }
        // The values of all pixels may need more memory than the sites.
        let asked = width as u64 * height as u64;
        let memory = |_| Error::OutOfMemory { path: path.to_owned(), asked };
        host_memory::require(asked).map_err(memory)?;
        mask.sites = host_memory::with_capacity(asked as usize).map_err(memory)?;
        for part in std::iter::once(first).chain(parts) {
            let part = self.0.window(part, columns.clone())?;
            let (part, missing) = sites(part, values, self.0.nodata());
            mask.sites.extend(part);
            mask.without_value += missing;
        }
        Ok(mask)
    }
}
