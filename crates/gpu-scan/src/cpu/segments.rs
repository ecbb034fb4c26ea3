//! Where segments begin, or end.

use std::ops::Range;

use bytemuck::cast_slice;

use crate::error::{Error, Result, check_offsets, length};
use crate::number::Number;

/// How an array is cut into segments.
#[derive(Clone, Copy)]
pub(super) enum Segments<'a> {
    /// Not at all.
    Whole,
    /// At changes of a key.
    Keys(Keys<'a>),
    /// At offsets, which rise from 0 to the length.
    Offsets(&'a [u64]),
    /// Into rows of this width.
    Rows(usize),
}

/// Keys as unsigned integers of their size: only their bits are compared, so that what works with them
/// need not be compiled for each type.
#[derive(Clone, Copy)]
pub(super) enum Keys<'a> {
    Bytes(&'a [u8]),
    ShortWords(&'a [u16]),
    Words(&'a [u32]),
    LongWords(&'a [u64]),
}

impl<'a> Keys<'a> {
    pub(super) fn new<K: Number>(keys: &'a [K]) -> Self {
        match size_of::<K>() {
            1 => Self::Bytes(cast_slice(keys)),
            2 => Self::ShortWords(cast_slice(keys)),
            4 => Self::Words(cast_slice(keys)),
            _ => Self::LongWords(cast_slice(keys)),
        }
    }
}

/// Checks that offsets rise from 0 to the number of elements.
pub(super) fn check_rising(offsets: &[u64], elements: usize) -> Result<()> {
    let segments = check_offsets(offsets.len())?;
    let elements = elements as u64;
    let mut least = 0;
    for (index, &offset) in offsets.iter().enumerate() {
        let is_wrong_end = (index == 0 && offset != 0) || (index == segments && offset != elements);
        if offset < least || offset > elements || is_wrong_end {
            return Err(Error::SegmentOffset { index: index as u64, offset, elements });
        }
        least = offset;
    }
    Ok(())
}

impl<'a> Segments<'a> {
    /// Segments at offsets, which are checked.
    pub(super) fn at(offsets: &'a [u64], elements: usize) -> Result<Self> {
        check_rising(offsets, elements)?;
        Ok(Self::Offsets(offsets))
    }

    /// Rows of `width` elements, which must fill the array.
    pub(super) fn rows(width: usize, elements: usize) -> Result<Self> {
        let rows = elements.checked_div(width).unwrap_or(0);
        if rows * width != elements {
            return Err(length("input (as whole rows)", rows * width, elements));
        }
        Ok(Self::Rows(width))
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// Sets `heads[j]` where element `range.start + j` is the first of a segment, or with `tails` the
    /// last; all are unset before.
    pub(super) fn mark(&self, range: Range<usize>, tails: bool, heads: &mut [bool]) {
        let shift = usize::from(tails);
        match self {
            Self::Whole => {}
            Self::Keys(Keys::Bytes(keys)) => mark_changes(keys, range, shift, heads),
            Self::Keys(Keys::ShortWords(keys)) => mark_changes(keys, range, shift, heads),
            Self::Keys(Keys::Words(keys)) => mark_changes(keys, range, shift, heads),
            Self::Keys(Keys::LongWords(keys)) => mark_changes(keys, range, shift, heads),
            Self::Offsets(offsets) => {
                let borders = (range.start + shift) as u64..(range.end + shift) as u64;
                let first = offsets.partition_point(|&offset| offset < borders.start);
                let inside = offsets[first..].iter().take_while(|&&offset| offset < borders.end);
                inside.for_each(|offset| heads[(offset - borders.start) as usize] = true);
            }
            Self::Rows(width) => {
                let first = (range.start + shift).next_multiple_of(*width) - shift - range.start;
                heads.iter_mut().skip(first).step_by(*width).for_each(|head| *head = true);
            }
        }
    }
}

/// Marks where keys change.
fn mark_changes<B: PartialEq>(keys: &[B], range: Range<usize>, shift: usize, heads: &mut [bool]) {
    for (head, at) in heads.iter_mut().zip(range) {
        // The border before element `border` belongs to it, or to the one before.
        let border = at + shift;
        *head = border == 0 || border == keys.len() || keys[border - 1] != keys[border];
    }
}
