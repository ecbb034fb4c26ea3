//! Segments between offsets.

use device_std::{In, arguments, search};

/// Segment offsets. They are the caller's and may be anything.
#[arguments]
pub struct Offsets<'a> {
    /// One more than segments.
    pub offsets: In<'a, u64>,
    /// How many segments there are.
    pub segments: u64,
}

impl Offsets<'_> {
    /// The segment that has an element: the last from `low` to `high`, both included, that begins at or before the
    /// element. `low` does.
    #[inline(always)]
    pub(super) fn segment(self, element: u64, low: u64, high: u64) -> u64 {
        search::last(low, high, |s| self.offsets.get(s) <= element)
    }

    /// The range of a segment in an array of `len` elements. Offsets that do not rise, or lie beyond the array, give no
    /// element outside the array.
    #[inline(always)]
    pub(super) fn bounds(self, segment: u64, len: u64) -> (u64, u64) {
        let (begin, end) = (self.offsets.get(segment), self.offsets.get(segment + 1));
        let end = u64::min(end, len);
        (u64::min(begin, end), end)
    }
}
