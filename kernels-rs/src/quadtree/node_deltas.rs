//! Shortens nodes from 32 to 8 bytes, for a host that puts trees together: keeps only what does not follow from the
//! nodes before.
//!
//! ```text
//! node   code | first point | points | first child, level, quadrants         32 bytes
//! brief                       points << 4 | quadrants                         8 bytes
//! ```
//!
//! Nodes lie level after level, and by code within a level. So a walk over the briefs gives the rest. A child's code is
//! its parent's and two bits, its level is one more, and its first point is the end of the sibling before. First
//! children follow each other. The host writes each node once, at its place among the nodes of all batches.

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
