//! The condition of a search on a tree, and how the search reads the tree's nodes and the cells of its raster.

use device_std::{In, arguments};

use super::super::value::{Kind, Value, key_of};

/// The condition on one tree. A range of keys is its first key and its last.
#[arguments]
pub struct Condition<'a> {
    /// The type of the tree's values: a [`Kind`].
    pub kind: u32,
    /// The words of its nodes, one node after the other: two words a node for values of 8 and 16 bits, three for those
    /// of 32 bits.
    pub nodes: In<'a, u32>,
    /// How many nodes there are.
    pub nodes_len: u32,
    /// Which children each node has, a bit a child: `presence_len` bytes.
    pub presence: In<'a, u8>,
    /// How many nodes have such a byte: the first ones.
    pub presence_len: u32,
    /// The bytes of the raster's cells, row by row.
    pub raster: Option<In<'a, u8>>,
    /// If all values of a node satisfy the condition, both its keys are in this range.
    pub inside: [u32; 2],
    /// If a value of a node may satisfy the condition, a key of the node is in this range.
    pub touched: [u32; 2],
    /// The keys of cells of the raster that satisfy the condition.
    pub wanted: [u32; 2],
    /// 1 if a value of the raster stands for NODATA.
    pub has_nodata: u32,
    /// The key of that value.
    pub nodata: u32,
}

/// The conditions of a search. A kernel for `N` conditions ignores those after the `N`th.
#[arguments]
pub struct Conditions<'a> {
    /// The first, whose bounds a search reports.
    pub first: Condition<'a>,
    /// See above.
    pub second: Condition<'a>,
    /// See above.
    pub third: Condition<'a>,
    /// See above.
    pub fourth: Condition<'a>,
}

impl<'a> Conditions<'a> {
    /// The first `N`.
    #[inline(always)]
    pub fn first_of<const N: usize>(self) -> [Condition<'a>; N] {
        let mut conditions = [self.first; N];
        let mut i = 1;
        while i < N {
            conditions[i] = match i {
                1 => self.second,
                2 => self.third,
                _ => self.fourth,
            };
            i += 1;
        }
        conditions
    }
}

impl Condition<'_> {
    /// The node at a position; `None` beyond the last.
    #[inline(always)]
    pub fn node(&self, position: u32) -> Option<Node> {
        if position >= self.nodes_len {
            return None;
        }
        let i = position as usize;
        Some(if self.kind >= Kind::I32 as u32 {
            let words = self.nodes.from(3 * i);
            let (min, max, link) = (words.get(0u32), words.get(1u32), words.get(2u32));
            Node { min: key_of(self.kind, min), max: key_of(self.kind, max), link }
        } else {
            // SAFETY: the nodes of these types have 8 bytes each, and begin where memory was allocated.
            let word = unsafe { self.nodes.cast::<u64>() }.get(i);
            let bits = if self.kind == Kind::U8 as u32 { 8 } else { 16 };
            let max = word as u32 >> bits;
            let (min, link) = (word as u32, (word >> 32) as u32);
            Node { min: key_of(self.kind, min), max: key_of(self.kind, max), link }
        })
    }

    /// Whether a cell of a raster counts.
    #[inline(always)]
    pub fn wants(&self, raster: In<'_, u8>, cell: u64) -> bool {
        let bits = if self.kind >= Kind::I32 as u32 {
            // SAFETY: the raster's cells have 4 bytes, and are aligned to them.
            unsafe { raster.cast::<u32>() }.get(cell)
        } else if self.kind == Kind::U8 as u32 {
            raster.get(cell) as u32
        } else {
            // SAFETY: the raster's cells have 2 bytes, and are aligned to them.
            unsafe { raster.cast::<u16>() }.get(cell) as u32
        };
        let key = key_of(self.kind, bits);
        let is_number = self.kind != Kind::F32 as u32 || f32::of_bits(bits).is_number();
        let is_missing = self.has_nodata != 0 && key == self.nodata;
        is_number && !is_missing && self.wanted[0] <= key && key <= self.wanted[1]
    }

    /// Whether the range cuts through bins: then only the raster says which cells count.
    #[inline(always)]
    pub fn cuts_bins(&self) -> bool {
        self.inside[0] != self.touched[0] || self.inside[1] != self.touched[1]
    }
}

/// A node: its least key, its greatest key, and its link.
#[derive(Clone, Copy)]
pub struct Node {
    /// The least key.
    pub min: u32,
    /// The greatest key.
    pub max: u32,
    /// Where the children begin, 0 for none; and [`MIXED`](super::super::summary::MIXED).
    pub link: u32,
}
