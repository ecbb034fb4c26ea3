//! Shortens nodes from 32 to 8 bytes, for a host that puts trees together: what does not follow from the nodes before.
//!
//! ```text
//! node   code | first point | points | first child, level, quadrants         32 bytes
//! brief                       points << 4 | quadrants                         8 bytes
//! ```
//!
//! Nodes stand level after level, those of a level by code. So the rest follows from a walk over the briefs: a child's
//! code is its parent's and two bits, its level one more, its first point the end of the sibling before; first children
//! follow each other. The host writes each node once, where it belongs among the nodes of all batches.

use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::node::{Node, Words};

/// Threads of a block.
const BLOCK: usize = 256;

/// Writes for each node which quadrants are children (bits 0 to 3) and how many points it has (from bit 4 on). Grid: a
/// thread for each.
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
