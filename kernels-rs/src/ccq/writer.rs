//! Where nodes are written.

use super::source::Source;
use super::summary::Summary;

/// Where a thread writes nodes.
#[derive(Clone, Copy)]
pub struct Writer {
    /// The nodes, with room for `room` of them.
    pub nodes: *mut u8,
    /// See above.
    pub room: u32,
    /// The type of their values.
    pub kind: u32,
    /// The flags that say which children there are, with room for `presence_room`.
    pub presence: *mut u8,
    /// See above.
    pub presence_room: u32,
    /// Where the tree's nodes begin, which links count from.
    pub base: u32,
}

impl Writer {
    /// Writes a node, whose children begin at `child`, counted from the first node of all trees; `mask` says which there
    /// are.
    ///
    /// # Safety
    /// The arrays have the rooms; the position is this thread's alone.
    #[inline(always)]
    pub unsafe fn put<E: Copy, S: Source<E>>(
        &self,
        at: u32,
        summary: Summary,
        child: u32,
        mask: u32,
    ) {
        if at < self.room {
            let link = summary.link(child.wrapping_sub(self.base));
            // SAFETY: guarded; positions are one thread's each.
            unsafe { S::store(self.nodes, self.kind, at, (summary.min, summary.max), link) };
        }
        if at < self.presence_room {
            // SAFETY: guarded, likewise.
            unsafe {
                *self.presence.add(at as usize) = if summary.is_divided() { mask as u8 } else { 0 }
            };
        }
    }
}
