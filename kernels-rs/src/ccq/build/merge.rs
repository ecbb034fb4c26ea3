//! Moves the nodes of a forest into one tree.

use device_std::{In, Out, arguments, kernel, search, thread};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::ccq::summary::MIXED;

/// A level of a tile's tree that moves, as four words. Two are its first node among the nodes of all tiles, and the
/// place where that node goes (`u32::MAX` for none). The others are where the nodes of the level below begin in the
/// tile's tree, and in the tree of the whole.
pub type Move = [u32; 4];

/// The nodes of a forest, and where they go. A node is two words, or three where values have 32 bits.
#[arguments]
pub struct Moving<'a> {
    /// The words of the tiles' nodes, one tile after the other.
    pub nodes: In<'a, u32>,
    /// Which children each node has: a byte a node, unless `presence_room` is 0.
    pub presence: In<'a, u8>,
    /// How many nodes there are.
    pub len: u32,
    /// The moves in the order of the nodes: `moves_len`, at least one. The first begins at node 0.
    pub moves: In<'a, Move>,
    /// See above.
    pub moves_len: u32,
    /// The words of the tree's nodes: `room` nodes.
    pub out: Out<'a, u32>,
    /// See above.
    pub room: u32,
    /// Which children each node of the tree has: `presence_room` bytes.
    pub out_presence: Out<'a, u8>,
    /// How many nodes have such a byte: the first ones.
    pub presence_room: u32,
}

/// Moves the nodes of a forest into one tree, level by level of each tile. Grid: a thread for each node.
///
/// # Safety
/// The slices have what [`Moving`] says, the nodes `WORDS` words each.
#[kernel(block = BLOCK, key: usize = WORDS, instances(
    two: <2>;
    three: <3>;
))]
pub unsafe fn move_nodes<const WORDS: usize>(moving: Moving<'_>) {
    let Moving { nodes, presence, len, moves, moves_len, .. } = moving;
    let i = thread::index_1d() as u32;
    if i >= len {
        return;
    }
    let own = search::last(0, moves_len as u64 - 1, |of| moves.get(of)[0] <= i);
    let [first, to, below, to_below] = moves.get(own);
    let at = to.saturating_add(i - first);
    if at < moving.room {
        let from = nodes.from(WORDS * i as usize);
        let to = moving.out.from(WORDS * at as usize);
        let mut w = 0;
        while w < WORDS - 1 {
            to.set(w, from.get(w));
            w += 1;
        }
        let link = from.get(WORDS - 1);
        let child = link & !MIXED;
        let moved = if child == 0 { 0 } else { child.wrapping_sub(below).wrapping_add(to_below) };
        to.set(WORDS - 1, (moved & !MIXED) | (link & MIXED));
    }
    if at < moving.presence_room {
        moving.out_presence.set(at, presence.get(i));
    }
}
