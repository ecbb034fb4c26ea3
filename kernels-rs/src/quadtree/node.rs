//! A node, as it lies in memory.

/// Words of a node: its code; its first point; its points; and its first child (bits 0 to 31), its level
/// (32 to 39) and which quadrants are children (40 to 43).
pub const WORDS: usize = 4;

/// A node.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub code: u64,
    pub start: u64,
    pub count: u64,
    pub level: u32,
    pub quadrants: u32,
}

impl Node {
    /// Reads node `index`.
    ///
    /// # Safety
    /// `nodes` has that node.
    #[inline(always)]
    pub unsafe fn load(nodes: *const u64, index: u64) -> Self {
        // SAFETY: passed on to the caller.
        let [code, start, count, last] = unsafe {
            let node = nodes.add(index as usize * WORDS);
            [*node, *node.add(1), *node.add(2), *node.add(3)]
        };
        Self {
            code,
            start,
            count,
            level: (last >> 32) as u32 & 0xff,
            quadrants: (last >> 40) as u32 & 15,
        }
    }

    /// Reads node `index` and its first child.
    ///
    /// # Safety
    /// `nodes` has that node.
    #[inline(always)]
    pub unsafe fn load_with_child(nodes: *const u64, index: u64) -> (Self, u32) {
        // SAFETY: passed on to the caller.
        unsafe { (Self::load(nodes, index), *nodes.add(index as usize * WORDS + 3) as u32) }
    }

    /// Writes node `index`, with its first child.
    ///
    /// # Safety
    /// `nodes` has room for that node, which nobody else touches.
    #[inline(always)]
    pub unsafe fn store(&self, nodes: *mut u64, index: u64, first_child: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            let node = nodes.add(index as usize * WORDS);
            *node = self.code;
            *node.add(1) = self.start;
            *node.add(2) = self.count;
            *node.add(3) = self.last_word(first_child);
        }
    }

    /// The word with the first child.
    #[inline(always)]
    pub fn last_word(&self, first_child: u32) -> u64 {
        first_child as u64 | (self.level as u64) << 32 | (self.quadrants as u64) << 40
    }
}
