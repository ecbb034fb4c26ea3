//! Arrays that a tree owns, or borrows from its mapped file.

use std::fmt;
use std::ops::Deref;
#[cfg(feature = "files")]
use std::{marker::PhantomData, ops::Range, sync::Arc};

use bytemuck::Pod;
#[cfg(feature = "files")]
use memmap2::Mmap;

/// An array of plain elements, owned or mapped.
#[derive(Clone)]
pub(crate) struct Array<T: Pod>(Store<T>);

#[derive(Clone)]
enum Store<T: Pod> {
    Owned(Vec<T>),
    #[cfg(feature = "files")]
    Mapped {
        file: Arc<Mmap>,
        bytes: Range<usize>,
        element: PhantomData<T>,
    },
}

#[cfg(feature = "files")]
impl<T: Pod> Array<T> {
    /// A range of a file's bytes, if it is aligned and whole.
    pub fn mapped(file: &Arc<Mmap>, bytes: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, T>(file.get(bytes.clone())?).ok()?;
        Some(Self(Store::Mapped { file: Arc::clone(file), bytes, element: PhantomData }))
    }
}

impl<T: Pod> From<Vec<T>> for Array<T> {
    fn from(elements: Vec<T>) -> Self {
        Self(Store::Owned(elements))
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Store::Owned(elements) => elements,
            #[cfg(feature = "files")]
            Store::Mapped { file, bytes, .. } => bytemuck::cast_slice(&file[bytes.clone()]),
        }
    }
}

impl<T: Pod + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The first elements of what is left.
pub(crate) fn take<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (first, after) = std::mem::take(rest).split_at_mut(len);
    *rest = after;
    first
}
