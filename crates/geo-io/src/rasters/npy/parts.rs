//! NPY files in parts: reads windows of a file, and writes a file row by row.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use gpu_core::host_memory;
use npyz::{DType, Order, TypeStr, WriteOptions, WriterBuilder};

use crate::input::open;
use crate::output::{Output, write_atomic};
use crate::rasters::npy::arrays::{BEHIND, element, header, read_array};
use crate::rasters::npy::header::Header;
use crate::{Array, Error, NpyElement, Result};

/// Elements that are taken at once when an array is written, about.
const AT_ONCE: usize = 1 << 22;

/// An NPY file of two dimensions, read in parts.
pub struct ArrayFile {
    path: PathBuf,
    /// Where its elements begin.
    start: u64,
    element: TypeStr,
    /// Bytes of an element.
    bytes: u64,
    by_columns: bool,
    /// Columns and rows.
    size: (usize, usize),
}

impl ArrayFile {
    /// Opens an NPY file and reads no elements.
    ///
    /// # Errors
    /// An error that says what is wrong with the file; an array that is not two-dimensional.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, length) = open(path)?;
        let header = Header::read(path, &mut BufReader::new(file))?;
        let &[rows, columns] = &header.shape[..] else {
            return Err(Error::malformed(path, "it has 1 dimension, a raster has two"));
        };
        let there = length.saturating_sub(header.start);
        if header.bytes(path, there)? < there {
            return Err(Error::malformed(path, BEHIND));
        }
        let bytes = header.element_bytes();
        let Header { element, by_columns, start, .. } = header;
        Ok(Self { path: path.to_owned(), start, element, bytes, by_columns, size: (columns, rows) })
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Bytes of an element.
    pub fn element_bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads a window of the array, of any type.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a window beyond the array and for a damaged file, [`Error::OutOfMemory`].
    pub fn window(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Array> {
        check_window(&self.path, &rows, &columns, self.size)?;
        // The window as an array file of its own, which is read as any other.
        let shape = [rows.len() as u64, columns.len() as u64];
        let order = if self.by_columns { Order::Fortran } else { Order::C };
        let mut bytes = Vec::new();
        let options = WriteOptions::new_header_only().dtype(DType::Plain(self.element.clone()));
        let header = options.order(order).shape(&shape).writer(&mut bytes).write_header_only();
        header.map_err(|e| Error::malformed(&self.path, e))?;
        let (across, along) = if self.by_columns { (columns, rows) } else { (rows, columns) };
        let asked = (across.len() * along.len()) as u64 * self.bytes;
        let memory = |_| Error::OutOfMemory { path: self.path.clone(), asked };
        host_memory::require(asked.saturating_mul(2)).map_err(memory)?;
        bytes
            .try_reserve_exact(asked as usize)
            .map_err(|_| Error::OutOfMemory { path: self.path.clone(), asked })?;
        self.read(across, along, &mut bytes)?;
        let length = bytes.len() as u64;
        read_array(&self.path, &mut &bytes[..], length)
    }

    /// Reads whole rows of an array with elements of this type, as [`write_npy`](crate::write_npy) writes them.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an array of another type, and the errors of [`ArrayFile::window`].
    pub fn rows<T: NpyElement + Pod>(&self, first: usize, count: usize) -> Result<Vec<T>> {
        let rows = first..first.saturating_add(count);
        check_window(&self.path, &rows, &(0..self.size.0), self.size)?;
        if self.element != element::<T>(&self.path)? || self.by_columns {
            let reason = format!("its elements are {}, not {} by rows", self.element, T::TYPE);
            return Err(Error::malformed(&self.path, reason));
        }
        let length = count * self.size.0;
        let asked = (length * size_of::<T>()) as u64;
        let memory = |_| Error::OutOfMemory { path: self.path.clone(), asked };
        let mut values: Vec<T> = host_memory::with_capacity(length).map_err(memory)?;
        values.resize(length, T::zeroed());
        let mut file = self.at((first * self.size.0) as u64)?;
        let read = file.read_exact(bytemuck::cast_slice_mut(&mut values));
        read.map_err(|e| Error::read(&self.path, e))?;
        Ok(values)
    }

    /// The file, at an element.
    fn at(&self, element: u64) -> Result<File> {
        let (mut file, _) = open(&self.path)?;
        let place = SeekFrom::Start(self.start + element * self.bytes);
        file.seek(place).map_err(|e| Error::read(&self.path, e))?;
        Ok(file)
    }

    /// Appends the elements `along` each of the lines `across`, as they lie in the file.
    fn read(&self, across: Range<usize>, along: Range<usize>, to: &mut Vec<u8>) -> Result<()> {
        let line = if self.by_columns { self.size.1 } else { self.size.0 };
        let length = along.len() * self.bytes as usize;
        let mut file = self.at((across.start * line + along.start) as u64)?;
        let gap = ((line - along.len()) as u64 * self.bytes) as i64;
        for _ in across {
            let start = to.len();
            to.resize(start + length, 0);
            file.read_exact(&mut to[start..])
                .and_then(|()| file.seek(SeekFrom::Current(gap)))
                .map_err(|e| Error::read(&self.path, e))?;
        }
        Ok(())
    }
}

/// Refuses a window that is not within a raster of some columns and rows.
pub(crate) fn check_window(
    path: &Path,
    rows: &Range<usize>,
    columns: &Range<usize>,
    (width, height): (usize, usize),
) -> Result<()> {
    for (range, side) in [(rows, height), (columns, width)] {
        if range.start > range.end || range.end > side {
            let reason = format!("{}..{} is not within its {side}", range.start, range.end);
            return Err(Error::malformed(path, reason));
        }
    }
    Ok(())
}

/// Writes an array of two dimensions that need not fit the memory: `fill` returns whole rows, from the first on. The
/// bytes are the same as from [`write_npy`](crate::write_npy).
///
/// ```
/// use geo_io::{ArrayData, read_npy, write_npy_rows};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("rows.npy");
/// write_npy_rows(&path, (2, 2), &mut |first, rows: &mut [u32]| {
///     for (i, row) in rows.chunks_mut(2).enumerate() {
///         row.fill((first + i) as u32); // the number of the row
///     }
///     Ok(())
/// })?;
/// assert_eq!(read_npy(&path)?.data, ArrayData::U32(vec![0, 0, 1, 1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of `fill` and of writing.
pub fn write_npy_rows<'a, T: NpyElement + Pod>(
    output: impl Into<Output<'a>>,
    (width, height): (usize, usize),
    fill: &mut dyn FnMut(usize, &mut [T]) -> Result<()>,
) -> Result<()> {
    let output = output.into();
    let path = output.path;
    let head = header::<T>(path, &[height as u64, width as u64])?;
    write_atomic(output, |file| {
        file.write_all(&head).map_err(|e| Error::write(path, e))?;
        let step = (AT_ONCE / width.max(1)).max(1);
        let mut rows: Vec<T> = Vec::new();
        for first in (0..height).step_by(step) {
            rows.resize(step.min(height - first) * width, T::zeroed());
            fill(first, &mut rows)?;
            file.write_all(bytemuck::cast_slice(&rows)).map_err(|e| Error::write(path, e))?;
        }
        Ok(())
    })
}
