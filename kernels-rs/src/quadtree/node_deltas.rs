//! What of each node does not follow from the nodes before it.

use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::node::{Node, Words};

/// Threads of a block.
const BLOCK: usize = 256;

/// The quadrants that are children (bits 0 to 3) and the points (from bit 4 on) of each node. Grid: a thread for each.
///
/// # Safety
/// There are `count` nodes, and `briefs` has as many elements.
#[kernel(block = BLOCK)]
pub unsafe fn shorten(nodes: In<'_, Words>, count: u64, briefs: Out<'_, u64>) {
    let i = thread::index_1d();
    if i < count {
        let node = Node::load(nodes, i);
        briefs.set(i, node.count << 4 | node.quadrants as u64);
    }
}
