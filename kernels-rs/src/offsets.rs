//! The segment of an element, from the offsets of segments.

/// Segment offsets, one more than segments.
#[derive(Clone, Copy)]
pub(crate) struct Offsets {
    start: *const u64,
    pub(crate) segments: u64,
}

impl Offsets {
    #[inline(always)]
    pub(crate) fn new(start: *const u64, segments: u64) -> Self {
        Self { start, segments }
    }

    /// The last segment between `low` and `high`, both included, that begins at or before an
    /// element: the one that has it. `low` does.
    #[inline(always)]
    pub(crate) unsafe fn segment(self, element: u64, low: u64, high: u64) -> u64 {
        let (mut low, mut high) = (low, high);
        while low < high {
            let middle = high - (high - low) / 2;
            // SAFETY: segment numbers are below that of segments.
            if unsafe { *self.start.add(middle as usize) } <= element {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }
}
