//! Points in a file, read or mapped into memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use gpu_core::{Points, files, host_memory};
use memmap2::Mmap;

use crate::array::Array;
use crate::{Error, Result};

/// Points of a file: all x, then all y, as little-endian f64 and nothing else. [`open`](Self::open) reads the file. A
/// file that is [mapped](Self::map) may be larger than memory, since the system loads only the pages that are read.
/// Needs the feature `files`.
///
/// ```
/// use quadtree_sort::PointsFile;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("points");
/// let numbers = [1.0f64, 2.0, 3.0, 7.0, 8.0, 9.0]; // three x, then three y
/// std::fs::write(&path, numbers.map(f64::to_le_bytes).concat())?;
/// let file = PointsFile::open(&path)?;
/// assert_eq!(file.points().x, [1.0, 2.0, 3.0]);
/// assert_eq!(file.points().y, [7.0, 8.0, 9.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PointsFile {
    numbers: Array<f64>,
}

impl PointsFile {
    /// Reads a file into memory.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read, or is not a whole number of points long; [`Error::Core`] where memory
    /// does not suffice.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (mut file, len) = of_points(path)?;
        host_memory::require(len)?;
        let mut numbers: Vec<f64> = host_memory::zeroed((len / 8) as usize)?;
        let read = file.read_exact(bytemuck::cast_slice_mut(&mut numbers));
        read.map_err(|error| Error::file(path, &error))?;
        Ok(Self { numbers: numbers.into() })
    }

    /// Maps a file.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    ///
    /// # Safety
    /// Nobody writes to the file or shortens it while this value lives. On a network file system nobody may rename or
    /// remove it either.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, len) = of_points(path)?;
        if len == 0 {
            // What no system maps.
            return Ok(Self { numbers: Vec::new().into() });
        }
        // SAFETY: the mapping is read only, and the caller has promised that nobody changes the file.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::file(path, &error))?;
        let map = std::sync::Arc::new(map);
        // A mapping begins at a page, so only a file that was changed meanwhile is not aligned.
        let numbers = Array::mapped(&map, 0..len as usize).ok_or_else(|| no_columns(path, len))?;
        Ok(Self { numbers })
    }

    /// The points.
    pub fn points(&self) -> Points<'_> {
        let (x, y) = self.numbers.split_at(self.numbers.len() / 2);
        Points::new(x, y)
    }
}

/// Opens a file whose length is one of points, and says that.
fn of_points(path: &Path) -> Result<(File, u64)> {
    let (file, len) = files::open(path).map_err(|error| Error::file(path, &error))?;
    if len.is_multiple_of(16) { Ok((file, len)) } else { Err(no_columns(path, len)) }
}

fn no_columns(path: &Path, len: u64) -> Error {
    let message = format!("{len} bytes are not columns of x and y, 16 bytes a point");
    Error::File { path: path.display().to_string(), message }
}
