//! Segments between offsets.

use device_std::search;

/// Segment offsets, one more than segments. They are the caller's and may be anything.
#[derive(Clone, Copy)]
pub(super) struct Offsets {
    start: *const u64,
    pub(super) segments: u64,
}

impl Offsets {
    #[inline(always)]
    pub(super) fn new(start: *const u64, segments: u64) -> Self {
        Self { start, segments }
    }

    /// The last segment between `low` and `high`, both included, that begins at or before an
    /// element: the one that has it. `low` does.
    ///
    /// # Safety
    /// There are offsets up to `high`.
    #[inline(always)]
    pub(super) unsafe fn segment(self, element: u64, low: u64, high: u64) -> u64 {
        // SAFETY: passed on to the caller.
        search::last(low, high, |s| unsafe { *self.start.add(s as usize) } <= element)
    }
}

/// Where a segment of an array of `len` elements lies: offsets that do not rise, or lie beyond the
/// array, name no element outside it.
///
/// # Safety
/// The segment is one of those that there are offsets for.
#[inline(always)]
pub(super) unsafe fn bounds(offsets: *const u64, segment: u64, len: u64) -> (u64, u64) {
    // SAFETY: passed on to the caller.
    let (begin, end) =
        unsafe { (*offsets.add(segment as usize), *offsets.add(segment as usize + 1)) };
    let end = u64::min(end, len);
    (u64::min(begin, end), end)
}
