//! Writes nodes.

use device_std::{Out, arguments};

use super::source::Source;
use super::summary::Summary;

/// The nodes of all trees, to be written.
#[arguments]
pub struct Nodes<'a> {
    /// The type of their values: a [`Kind`](super::value::Kind).
    pub kind: u32,
    /// The words of the nodes, one node after the other: two words a node for values of 8 and 16 bits, three for those
    /// of 32 bits.
    pub words: Out<'a, u32>,
    /// How many nodes fit.
    pub room: u32,
    /// Which children each node has, a bit a child: `presence_room` bytes.
    pub presence: Out<'a, u8>,
    /// How many nodes have such a byte: the first ones.
    pub presence_room: u32,
}

/// Where a thread writes nodes.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    /// The nodes.
    pub nodes: Nodes<'a>,
    /// Where the tree's nodes begin; links count from there.
    pub base: u32,
}

impl Writer<'_> {
    /// Writes a node, if it fits. Its children begin at `child`, counted from the first node of all trees; `mask` says
    /// which of them exist. No other thread writes at this position.
    #[inline(always)]
    pub fn put<S: Source>(&self, at: u32, summary: Summary, child: u32, mask: u32) {
        let nodes = &self.nodes;
        if at < nodes.room {
            let link = summary.link(child.wrapping_sub(self.base));
            S::store(nodes.words, nodes.kind, at, (summary.min, summary.max), link);
        }
        if at < nodes.presence_room {
            nodes.presence.set(at, if summary.is_divided() { mask as u8 } else { 0 });
        }
    }
}
