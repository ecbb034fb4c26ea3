//! Parts of columns, borrowed.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use cuda_driver::sys;

use crate::gpu::admit::Home;
use crate::gpu::driver::check;
use crate::{Column, Element, Error, Gpu, Result};

/// Borrowed elements of a column, as `&[T]` borrows from `Vec<T>`, but on the device.
///
/// It knows the column's device and stream: [`Gpu::admit`] puts work on it in order. `&Column<T>`
/// becomes a slice by itself where a function takes `impl Into<Slice<T>>`, and so do the buffers of
/// other host crates (features `cust` and `cudarc`).
pub struct Slice<'a, T> {
    start: *const T,
    len: usize,
    pub(crate) home: Home<'a>,
    elements: PhantomData<&'a T>,
}

/// Mutably borrowed elements of a column, as `&mut [T]` borrows from `Vec<T>`, but on the device.
pub struct SliceMut<'a, T> {
    start: *mut T,
    len: usize,
    pub(crate) home: Home<'a>,
    elements: PhantomData<&'a mut T>,
}

impl<T> Clone for Slice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slice<'_, T> {}

// SAFETY: as `&[T]`; the home goes to other threads by itself (`homes_go_to_other_threads`).
unsafe impl<T: Sync> Send for Slice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Slice<'_, T> {}
// SAFETY: as `&mut [T]`.
unsafe impl<T: Send> Send for SliceMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for SliceMut<'_, T> {}

/// What the slices leave to their home.
const fn homes_go_to_other_threads<T: Send + Sync>() {}
const _: () = homes_go_to_other_threads::<Home<'_>>();

impl<T: Element> Column<T> {
    /// The elements in `range`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] unless the range lies in the column.
    pub fn slice(&self, range: Range<usize>) -> Result<Slice<'_, T>> {
        Slice::from(self).slice(range)
    }

    /// Returns the elements in `range` for writing.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] unless the range lies in the column.
    pub fn slice_mut(&mut self, range: Range<usize>) -> Result<SliceMut<'_, T>> {
        SliceMut::from(self).slice(range)
    }
}

fn check_range(range: &Range<usize>, len: usize) -> Result<()> {
    if range.start > range.end || range.end > len {
        return Err(Error::OutOfBounds {
            start: range.start as u64,
            end: range.end as u64,
            len: len as u64,
        });
    }
    Ok(())
}

impl<'a, T> Slice<'a, T> {
    pub(crate) fn new(start: *const T, len: usize, home: Home<'a>) -> Self {
        Self { start, len, home, elements: PhantomData }
    }

    /// Returns a slice of device memory that no [`Column`] owns.
    ///
    /// # Safety
    /// The `len` elements from `start` on are device memory, aligned and initialised when the work
    /// that reads them runs, and nobody writes them until it has run.
    pub unsafe fn from_raw_parts(start: *const T, len: usize) -> Self {
        Self::new(start, len, Home::Promised)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address of the first element. Before it goes into a launch as a raw pointer, [`Gpu::admit`]
    /// puts the launch in order; [`input`](Self::input) needs no such care.
    pub fn as_ptr(&self) -> *const T {
        self.start
    }

    /// The elements in `range`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] unless the range lies in the slice.
    pub fn slice(self, range: Range<usize>) -> Result<Self> {
        check_range(&range, self.len)?;
        let start = self.start.wrapping_add(range.start);
        Ok(Self::new(start, range.end - range.start, self.home))
    }

    /// Returns the elements before `at`, and the elements from `at` on.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] where `at` lies beyond the end.
    pub fn split_at(self, at: usize) -> Result<(Self, Self)> {
        Ok((self.slice(0..at)?, self.slice(at..self.len)?))
    }
}

impl<'a, T: Element> Slice<'a, T> {
    /// The same memory as elements of another type of the same size.
    ///
    /// # Panics
    /// Panics if the sizes differ, or `U` has a greater alignment.
    pub fn cast<U: Element>(self) -> Slice<'a, U> {
        check_cast::<T, U>();
        Slice::new(self.start.cast(), self.len, self.home)
    }
}

impl<'a, T: Element> SliceMut<'a, T> {
    /// The same memory as elements of another type of the same size.
    ///
    /// # Panics
    /// As [`Slice::cast`].
    pub fn cast<U: Element>(self) -> SliceMut<'a, U> {
        check_cast::<T, U>();
        SliceMut::new(self.start.cast(), self.len, self.home)
    }
}

/// Checks that a `T` can be taken for a `U`: any bits are a value of either, as both are [`Element`]s, so size and
/// alignment alone decide.
fn check_cast<T: Element, U: Element>() {
    let fits = size_of::<T>() == size_of::<U>() && align_of::<T>() >= align_of::<U>();
    let [from, to] = [std::any::type_name::<T>(), std::any::type_name::<U>()];
    assert!(fits, "a slice of {from} cannot be cast to {to}: size or alignment differ");
}

impl<'a, T> SliceMut<'a, T> {
    pub(crate) fn new(start: *mut T, len: usize, home: Home<'a>) -> Self {
        Self { start, len, home, elements: PhantomData }
    }

    /// Returns a slice of device memory that no [`Column`] owns.
    ///
    /// # Safety
    /// The `len` elements from `start` on are device memory and aligned, and nobody else touches
    /// them until the work that uses the slice has run.
    pub unsafe fn from_raw_parts(start: *mut T, len: usize) -> Self {
        Self::new(start, len, Home::Promised)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address of the first element. Before it goes into a launch as a raw pointer,
    /// [`Gpu::admit_mut`] puts the launch in order; [`output`](Self::output) needs no such care.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.start
    }

    /// Returns the same elements, borrowed for a shorter time.
    pub fn reborrow(&mut self) -> SliceMut<'_, T> {
        SliceMut::new(self.start, self.len, self.home)
    }

    /// Returns the same elements for reading.
    pub fn as_slice(&self) -> Slice<'_, T> {
        Slice::new(self.start, self.len, self.home)
    }

    /// The elements in `range`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] unless the range lies in the slice.
    pub fn slice(self, range: Range<usize>) -> Result<Self> {
        check_range(&range, self.len)?;
        let start = self.start.wrapping_add(range.start);
        Ok(Self::new(start, range.end - range.start, self.home))
    }

    /// Returns the elements before `at`, and the elements from `at` on.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] where `at` lies beyond the end.
    pub fn split_at(self, at: usize) -> Result<(Self, Self)> {
        check_range(&(at..self.len), self.len)?;
        let (start, home) = (self.start, self.home);
        let rest = Self::new(start.wrapping_add(at), self.len - at, home);
        Ok((Self::new(start, at, home), rest))
    }
}

impl Gpu {
    /// Enqueues a copy on the device, on this handle's stream.
    ///
    /// # Errors
    /// [`Error::Length`] unless both have as many elements, [`Error::Driver`], and the errors of [`Gpu::admit`].
    pub fn copy<'a, 'b, T: Element>(
        &self,
        from: impl Into<Slice<'a, T>>,
        to: impl Into<SliceMut<'b, T>>,
    ) -> Result<()> {
        let (from, to) = (from.into(), to.into());
        let (expected, found) = (to.len as u64, from.len as u64);
        if found != expected {
            return Err(Error::Length { what: "column", expected, found });
        }
        if from.is_empty() {
            return Ok(());
        }
        let (from, mut to) = (self.admit(from)?, self.admit_mut(to)?);
        let (to, bytes) = (to.as_mut_ptr(), from.len() * size_of::<T>());
        let _current = self.make_current()?;
        // SAFETY: both have this many bytes, and are two, as one is borrowed mutably; the handle has
        // admitted them.
        check("cuMemcpyDtoDAsync", unsafe {
            sys::cuMemcpyDtoDAsync_v2(to as u64, from.as_ptr() as u64, bytes, self.stream.raw())
        })
    }
}

impl<'a, T: Element> From<&'a Column<T>> for Slice<'a, T> {
    fn from(column: &'a Column<T>) -> Self {
        Self::new(column.as_ptr(), column.len(), Home::Column(&column.owner))
    }
}

impl<'a, T: Element> From<&'a mut Column<T>> for SliceMut<'a, T> {
    fn from(column: &'a mut Column<T>) -> Self {
        let (start, len) = (column.as_mut_ptr(), column.len());
        Self::new(start, len, Home::Column(&column.owner))
    }
}

impl<'a, T> From<&'a SliceMut<'_, T>> for Slice<'a, T> {
    fn from(slice: &'a SliceMut<'_, T>) -> Self {
        slice.as_slice()
    }
}

impl<'a, T> From<&'a mut SliceMut<'_, T>> for SliceMut<'a, T> {
    fn from(slice: &'a mut SliceMut<'_, T>) -> Self {
        slice.reborrow()
    }
}

impl<T> fmt::Debug for Slice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slice<{}>[{}]", std::any::type_name::<T>(), self.len)
    }
}

impl<T> fmt::Debug for SliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SliceMut<{}>[{}]", std::any::type_name::<T>(), self.len)
    }
}
