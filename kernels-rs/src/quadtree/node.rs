//! A node, as it lies in memory.

use device_std::slice::Bytes;
use device_std::{In, Out};

/// A node in memory, as four words: its code, its first point, the number of its points, and a last one. The last word
/// has the first child (bits 0 to 31), the level (32 to 39) and which quadrants are children (40 to 43).
pub type Words = [u64; 4];

/// A node.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub code: u64,
    pub start: u64,
    pub count: u64,
    pub level: u32,
    pub quadrants: u32,
}

/// Where a node lies.
#[inline(always)]
fn place(index: u64) -> Bytes {
    Bytes(index as usize * size_of::<Words>())
}

impl Node {
    #[inline(always)]
    fn of_words([code, start, count, last]: Words) -> Self {
        Self {
            code,
            start,
            count,
            level: (last >> 32) as u32 & 0xff,
            quadrants: (last >> 40) as u32 & 15,
        }
    }

    /// Reads node `index`.
    #[inline(always)]
    pub fn load(nodes: In<Words>, index: u64) -> Self {
        Self::of_words(nodes.get(place(index)))
    }

    /// Reads node `index` and its first child.
    #[inline(always)]
    pub fn load_with_child(nodes: In<Words>, index: u64) -> (Self, u32) {
        let words = nodes.get(place(index));
        (Self::of_words(words), words[3] as u32)
    }

    /// Writes node `index`, with its first child.
    #[inline(always)]
    pub fn store(&self, nodes: Out<Words>, index: u64, first_child: u32) {
        nodes.set(place(index), [self.code, self.start, self.count, self.last_word(first_child)]);
    }

    /// The word with the first child.
    #[inline(always)]
    fn last_word(&self, first_child: u32) -> u64 {
        first_child as u64 | (self.level as u64) << 32 | (self.quadrants as u64) << 40
    }
}
