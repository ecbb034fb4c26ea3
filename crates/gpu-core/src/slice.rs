//! Parts of columns, borrowed.

use std::marker::PhantomData;
use std::ops::Range;

use crate::{Column, Element, Error, Result};

/// Elements of a column that stay as they are while this lives: what `&[T]` is to `Vec<T>`, on the
/// device.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a, T> {
    start: *const T,
    len: usize,
    column: PhantomData<&'a T>,
}

/// Elements of a column that nobody else can touch while this lives: what `&mut [T]` is to
/// `Vec<T>`, on the device.
#[derive(Debug)]
pub struct SliceMut<'a, T> {
    start: *mut T,
    len: usize,
    column: PhantomData<&'a mut T>,
}

impl<T: Element> Column<T> {
    /// The elements in `range`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] unless the range lies in the column.
    pub fn slice(&self, range: Range<usize>) -> Result<Slice<'_, T>> {
        let len = checked_len(&range, self.len())?;
        Ok(Slice { start: self.as_ptr().wrapping_add(range.start), len, column: PhantomData })
    }

    /// The elements in `range`, to be written.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] unless the range lies in the column.
    pub fn slice_mut(&mut self, range: Range<usize>) -> Result<SliceMut<'_, T>> {
        let len = checked_len(&range, self.len())?;
        Ok(SliceMut {
            start: self.as_mut_ptr().wrapping_add(range.start),
            len,
            column: PhantomData,
        })
    }
}

fn checked_len(range: &Range<usize>, len: usize) -> Result<usize> {
    if range.start > range.end || range.end > len {
        return Err(Error::OutOfBounds {
            start: range.start as u64,
            end: range.end as u64,
            len: len as u64,
        });
    }
    Ok(range.end - range.start)
}

impl<T> Slice<'_, T> {
    /// A slice of device memory that no column of ours owns.
    ///
    /// # Safety
    /// The `len` elements from `start` on are device memory, aligned and initialised when the work
    /// that reads them runs, and nobody writes them until it has run.
    pub unsafe fn from_raw_parts(start: *const T, len: usize) -> Self {
        Self { start, len, column: PhantomData }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address of the first element.
    pub fn as_ptr(&self) -> *const T {
        self.start
    }
}

impl<T> SliceMut<'_, T> {
    /// A slice of device memory that no column of ours owns.
    ///
    /// # Safety
    /// The `len` elements from `start` on are device memory and aligned, and nobody else touches
    /// them until the work that uses the slice has run.
    pub unsafe fn from_raw_parts(start: *mut T, len: usize) -> Self {
        Self { start, len, column: PhantomData }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address of the first element.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.start
    }

    /// The same elements, for a shorter time.
    pub fn reborrow(&mut self) -> SliceMut<'_, T> {
        SliceMut { start: self.start, len: self.len, column: PhantomData }
    }

    /// The same elements, to be read.
    pub fn as_slice(&self) -> Slice<'_, T> {
        Slice { start: self.start, len: self.len, column: PhantomData }
    }
}

impl<'a, T: Element> From<&'a Column<T>> for Slice<'a, T> {
    fn from(column: &'a Column<T>) -> Self {
        Self { start: column.as_ptr(), len: column.len(), column: PhantomData }
    }
}

impl<'a, T: Element> From<&'a mut Column<T>> for SliceMut<'a, T> {
    fn from(column: &'a mut Column<T>) -> Self {
        let len = column.len();
        Self { start: column.as_mut_ptr(), len, column: PhantomData }
    }
}
