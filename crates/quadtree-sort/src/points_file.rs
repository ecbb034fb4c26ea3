//! Points in a file that is mapped into memory.

use std::fs::File;
use std::path::Path;

use gpu_core::Points;
use memmap2::Mmap;

use crate::{Error, Result};

/// Points of a file: all x, then all y, as little-endian f64 and nothing else. More of them than memory holds can
/// be read, since the system brings in what is looked at.
#[derive(Debug)]
pub struct MappedPoints {
    /// None for a file without points.
    file: Option<Mmap>,
}

impl MappedPoints {
    /// Maps a file, which must stay as it is while this lives.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read, or is not a whole number of points long.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |error: std::io::Error| Error::file(path, &error);
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        if !len.is_multiple_of(16) {
            let message = format!("{len} bytes are no columns of x and y, 16 bytes a point");
            return Err(Error::File { path: path.display().to_string(), message });
        }
        if len == 0 {
            return Ok(Self { file: None });
        }
        // SAFETY: the mapping is read only; that nobody changes the file meanwhile is in the documentation, as
        // for every mapping.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        Ok(Self { file: Some(map) })
    }

    /// The points.
    pub fn points(&self) -> Points<'_> {
        let numbers: &[f64] = match &self.file {
            // A mapping begins at a page.
            Some(file) => bytemuck::cast_slice(file),
            None => &[],
        };
        let (x, y) = numbers.split_at(numbers.len() / 2);
        Points::new(x, y)
    }
}
