//! The nodes of a tree from those of its batches.
//!
//! Of a batch's nodes, level after level, the device gives the points of each and which quadrants are its children: a
//! quarter of their bytes. All else follows from the nodes before: a child's code and first point from its parent and the
//! children before it, and its own first child from how many children the nodes of its level have before it. So each
//! piece of the tree is written once, in one pass, where it belongs; all cores take a piece after the other.
//!
//! A cell with points in several batches is a node of each of them: of one level after the other, down to where the last
//! cell of a batch and the first of the next part ways.

use bytemuck::{Pod, Zeroable};
use gpu_core::host_memory;
use kernels_rs::spatial::morton;
use rayon::prelude::*;

use crate::tree::Node;
use crate::{Error, Result};

/// What does not follow from other nodes; see `kernels_rs::quadtree::shorten`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Brief(u64);

impl Brief {
    pub fn new(points: u64, quadrants: u8) -> Self {
        Self(points << 4 | u64::from(quadrants))
    }

    fn points(self) -> u64 {
        self.0 >> 4
    }

    fn quadrants(self) -> u8 {
        self.0 as u8 & 15
    }

    fn children(self) -> usize {
        self.quadrants().count_ones() as usize
    }
}

/// The nodes over the points of a batch.
pub(super) struct Piece {
    /// Level after level.
    pub nodes: Vec<Brief>,
    /// The first of its points.
    pub start: u64,
    /// Codes and levels of its first and its last cell.
    pub ends: [(u64, u32); 2],
}

/// A level of a piece.
struct Level<'a> {
    briefs: &'a [Brief],
    /// Where its first node is among those of the tree.
    at: usize,
    /// Whether that is the last node of the piece before, too, with other points.
    is_shared: bool,
    /// The first node as this piece has it, if it is shared.
    first: Node,
    /// The other nodes.
    room: &'a mut [Node],
}

impl Level<'_> {
    fn node(&mut self, index: usize) -> &mut Node {
        match index.checked_sub(self.is_shared.into()) {
            Some(index) => &mut self.room[index],
            None => &mut self.first,
        }
    }
}

/// The nodes of the tree over the points of all pieces, which follow each other in the order of codes.
pub(super) fn join(pieces: Vec<Piece>) -> Result<Vec<Node>> {
    let counts: Vec<Vec<usize>> = pieces.par_iter().map(|piece| levels(&piece.nodes)).collect();
    let shared = shared(&pieces);
    let shared_nodes: usize = shared.iter().flatten().map(|&level| level as usize + 1).sum();
    let total = counts.iter().flatten().sum::<usize>() - shared_nodes;
    let most = u64::from(u32::MAX);
    if total as u64 > most {
        return Err(Error::TooManyNodes { nodes: total as u64, most });
    }
    let mut nodes = host_memory::zeroed::<Node>(total)?;
    let mut rooms = rooms(&pieces, &counts, &shared, &mut nodes);
    pieces.par_iter().zip(&mut rooms).for_each(|(piece, levels)| write(piece.start, levels));
    let of_shared = |level: Level<'_>| level.is_shared.then_some((level.at, level.first));
    let firsts: Vec<_> = rooms.into_iter().flatten().filter_map(of_shared).collect();
    for (at, first) in firsts {
        nodes[at].count += first.count;
        nodes[at].quadrants |= first.quadrants;
    }
    // To give memory back takes time, too.
    pieces.into_par_iter().for_each(drop);
    Ok(nodes)
}

/// How many of a piece's nodes each level has: as many as the one above has children.
fn levels(nodes: &[Brief]) -> Vec<usize> {
    let (mut rest, mut count) = (nodes, nodes.len().min(1));
    let mut counts = Vec::new();
    while count > 0 {
        let (level, below) = rest.split_at(count);
        counts.push(count);
        (rest, count) = (below, level.iter().map(|node| node.children()).sum());
    }
    counts
}

/// The deepest level of which each piece shares its first node with the piece before.
fn shared(pieces: &[Piece]) -> Vec<Option<u32>> {
    let with_before = |pair: &[Piece]| {
        let ([_, (last, of_last)], [(first, of_first), _]) = (pair[0].ends, pair[1].ends);
        let level = of_last.min(of_first);
        let (last, first) = (last >> (2 * (of_last - level)), first >> (2 * (of_first - level)));
        Some(morton::common_level(last, first, level))
    };
    pieces.first().map(|_| None).into_iter().chain(pieces.windows(2).map(with_before)).collect()
}

/// The levels of each piece, with room for their nodes.
fn rooms<'a>(
    pieces: &'a [Piece],
    counts: &[Vec<usize>],
    shared: &[Option<u32>],
    mut nodes: &'a mut [Node],
) -> Vec<Vec<Level<'a>>> {
    let deepest = counts.iter().map(Vec::len).max().unwrap_or(0);
    let mut rest: Vec<&[Brief]> = pieces.iter().map(|piece| &piece.nodes[..]).collect();
    let mut rooms: Vec<Vec<Level<'_>>> = counts.iter().map(|_| Vec::new()).collect();
    let mut end = 0;
    for level in 0..deepest {
        for (piece, counts) in counts.iter().enumerate() {
            let Some(&count) = counts.get(level) else { continue };
            let is_shared = shared[piece].is_some_and(|deepest| level <= deepest as usize);
            let (briefs, below) = rest[piece].split_at(count);
            rest[piece] = below;
            let at = end - usize::from(is_shared);
            let room = super::take(&mut nodes, at + count - end);
            rooms[piece].push(Level { briefs, at, is_shared, first: Node::zeroed(), room });
            end = at + count;
        }
    }
    rooms
}

/// Writes the nodes of a piece, whose first point is given.
fn write(start: u64, levels: &mut [Level<'_>]) {
    let places: Vec<usize> = levels.iter().map(|level| level.at).collect();
    let place = |level: usize| places.get(level).copied().unwrap_or(0);
    let node = |brief: Brief, code, start, level: usize, first_child| Node {
        code,
        start,
        count: brief.points(),
        first_child: if brief.quadrants() == 0 { 0 } else { first_child as u32 },
        level: level as u8,
        quadrants: brief.quadrants(),
        reserved: [0; 2],
    };
    if let Some(root) = levels.first_mut() {
        *root.node(0) = node(root.briefs[0], 0, start, 0, place(1));
    }
    for below in 1..levels.len() {
        let [above, level] = &mut levels[below - 1..=below] else { break };
        // Those of this level, and where the first child of the next one goes.
        let (mut number, mut first_child) = (0, place(below + 1));
        for parent in 0..above.briefs.len() {
            let Node { code, mut start, quadrants, .. } = *above.node(parent);
            for quadrant in (0..4).filter(|quadrant| quadrants >> quadrant & 1 == 1) {
                let brief = level.briefs[number];
                *level.node(number) = node(brief, code << 2 | quadrant, start, below, first_child);
                start += brief.points();
                first_child += brief.children();
                number += 1;
            }
        }
    }
}
