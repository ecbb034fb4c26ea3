//! Joins the nodes of batches into the nodes of a tree.
//!
//! For each node of a batch, level after level, the device returns its points and which quadrants are its children: a
//! quarter of the node's bytes. The rest follows from earlier nodes. A child's code and first point follow from its
//! parent and the children before it. A node's first child follows from how many children the nodes of its level have
//! before it. So the host writes each piece of the tree once, in one pass, at its final place.
//!
//! A piece is cut into parts at the first of its levels with some hundred nodes. A part is what lies below some of
//! these nodes, and on each level its nodes follow each other. The level above tells how many they are. First the
//! pieces' nodes down to that level are written; then all cores take one part after the other.
//!
//! A cell with points in several batches is a node of each of them. This holds level after level, down to where the
//! last cell of a batch and the first of the next differ.

use bytemuck::{Pod, Zeroable};
use gpu_core::{host_memory, parallel};
use kernels_rs::spatial::morton;

use crate::array::take;
use crate::tree::Node;
use crate::{Error, Result};

/// The part of a node that does not follow from other nodes; see `kernels_rs::quadtree::shorten`.
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

    /// From a table in a word: not all processors count bits.
    fn children(self) -> usize {
        (0x4332_3221_3221_2110_u64 >> (4 * self.quadrants()) & 15) as usize
    }

    fn node(self, code: u64, start: u64, level: usize, first_child: usize) -> Node {
        Node {
            code,
            start,
            count: self.points(),
            first_child: if self.quadrants() == 0 { 0 } else { first_child as u32 },
            level: level as u8,
            quadrants: self.quadrants(),
            reserved: [0; 2],
        }
    }
}

/// Where a piece's nodes are on the host, level after level.
pub(super) enum Briefs<'a> {
    /// In a part of the memory for all pieces' nodes: a few large pages, which the system maps and unmaps fast.
    Shared(&'a mut [Brief]),
    /// In memory of its own.
    Own(Vec<Brief>),
}

impl Briefs<'_> {
    fn as_slice(&self) -> &[Brief] {
        match self {
            Self::Shared(nodes) => nodes,
            Self::Own(nodes) => nodes,
        }
    }

    pub fn as_mut_slice(&mut self) -> &mut [Brief] {
        match self {
            Self::Shared(nodes) => nodes,
            Self::Own(nodes) => nodes,
        }
    }
}

/// The nodes over the points of a batch.
pub(super) struct Piece<'a> {
    pub nodes: Briefs<'a>,
    /// The first of its points.
    pub start: u64,
    /// Codes and levels of its first and its last cell.
    pub ends: [(u64, u32); 2],
}

/// A piece's parts begin at its first level with this many nodes.
const CUT: usize = 256;

/// Parts of a piece, at most.
const PARTS: usize = 16;

/// A level of a piece, or of a part.
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

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        let first = self.is_shared.then_some(&self.first);
        first.into_iter().chain(self.room.iter())
    }

    /// Writes the nodes, which are of a level, from those that they are the children of; theirs begin at `first_child`.
    fn write<'b>(
        &mut self,
        level: usize,
        parents: impl Iterator<Item = &'b Node>,
        mut first_child: usize,
    ) {
        let first = self.is_shared.then_some(&mut self.first).into_iter();
        let mut children = first.chain(self.room.iter_mut()).zip(self.briefs);
        for &Node { code, mut start, mut quadrants, .. } in parents {
            while quadrants != 0 {
                let quadrant = u64::from(quadrants.trailing_zeros());
                let Some((node, brief)) = children.next() else { return };
                *node = brief.node(code << 2 | quadrant, start, level, first_child);
                start += brief.points();
                first_child += brief.children();
                quadrants &= quadrants - 1;
            }
        }
    }
}

/// The arrays of a piece that one step writes.
#[derive(Default)]
struct Rooms<'a> {
    /// The levels down to the one that parts begin below.
    trunk: Vec<Level<'a>>,
    /// The nodes of its last level, once it is written.
    above: Vec<Node>,
    /// The levels below it of each part.
    parts: Vec<Vec<Level<'a>>>,
}

impl<'a> Rooms<'a> {
    /// Writes the trunk of a piece, whose first point is given.
    fn write_trunk(&mut self, start: u64) {
        let below = self.parts.first().map_or(0, |part| part[0].at);
        let Some((root, levels)) = self.trunk.split_first_mut() else { return };
        let first_child = levels.first().map_or(below, |level| level.at);
        let first = root.briefs[0].node(0, start, 0, first_child);
        *root.node(0) = first;
        write(1, &[first], levels, below);
        self.above = self.trunk.last().into_iter().flat_map(Level::nodes).copied().collect();
    }

    /// The parts, each with the number of its first level and the nodes above it.
    fn parts<'b>(&'b mut self) -> impl Iterator<Item = (usize, &'b [Node], &'b mut [Level<'a>])> {
        let mut above = &self.above[..];
        let (level, counts) = (self.trunk.len(), cut(above.len()));
        let part = move |(levels, count): (&'b mut Vec<Level<'a>>, usize)| {
            let (of_part, rest) = above.split_at(count);
            above = rest;
            (level, of_part, &mut levels[..])
        };
        self.parts.iter_mut().zip(counts).map(part)
    }
}

/// The nodes of the tree over the points of all pieces, which follow each other in the order of codes.
pub(super) fn join(pieces: &[Piece<'_>]) -> Result<Vec<Node>> {
    let counts = parallel::map(pieces.len(), 1, |piece| levels(pieces[piece].nodes.as_slice()));
    let shared = shared(pieces);
    let shared_nodes: usize = shared.iter().flatten().map(|&level| level as usize + 1).sum();
    let total = counts.iter().flatten().flatten().sum::<usize>() - shared_nodes;
    let most = u64::from(u32::MAX);
    if total as u64 > most {
        return Err(Error::TooManyNodes { nodes: total as u64, most });
    }
    let mut nodes = host_memory::zeroed::<Node>(total)?;
    let mut rooms = rooms(pieces, &counts, &shared, &mut nodes);
    parallel::for_each(&mut rooms, 1, |piece, rooms| rooms.write_trunk(pieces[piece].start));
    let mut parts: Vec<_> = rooms.iter_mut().flat_map(Rooms::parts).collect();
    parallel::for_each(&mut parts, 1, |_, (level, above, part)| write(*level, above, part, 0));
    let of_shared = |level: Level<'_>| level.is_shared.then_some((level.at, level.first));
    let levels = rooms
        .into_iter()
        .flat_map(|rooms| rooms.trunk.into_iter().chain(rooms.parts.into_iter().flatten()));
    let firsts: Vec<_> = levels.filter_map(of_shared).collect();
    for (at, first) in firsts {
        nodes[at].count += first.count;
        nodes[at].quadrants |= first.quadrants;
    }
    Ok(nodes)
}

/// How many of a piece's nodes each level has, which is how many children the level above has. Counts all nodes down to
/// the level below which parts begin, and then those of each part.
fn levels(nodes: &[Brief]) -> Vec<Vec<usize>> {
    let (mut rest, mut count) = (nodes, vec![nodes.len().min(1)]);
    let mut counts = Vec::new();
    while count.iter().any(|&count| count > 0) {
        let parts = if count.len() == 1 { cut(count[0]) } else { count.clone() };
        let children = |&count: &usize| {
            let (part, below) = rest.split_at(count);
            rest = below;
            part.iter().map(|node| node.children()).sum()
        };
        counts.push(std::mem::replace(&mut count, parts.iter().map(children).collect()));
    }
    counts
}

/// How many of a level's nodes each part begins with; the level is not cut where they are few.
fn cut(nodes: usize) -> Vec<usize> {
    if nodes < CUT {
        return vec![nodes];
    }
    let end = |part: usize| part * nodes / PARTS;
    (0..PARTS).map(|part| end(part + 1) - end(part)).collect()
}

/// For each piece, the deepest level at which it shares its first node with the piece before.
fn shared(pieces: &[Piece<'_>]) -> Vec<Option<u32>> {
    let with_before = |pair: &[Piece<'_>]| {
        let ([_, (last, of_last)], [(first, of_first), _]) = (pair[0].ends, pair[1].ends);
        let level = of_last.min(of_first);
        let (last, first) = (last >> (2 * (of_last - level)), first >> (2 * (of_first - level)));
        Some(morton::common_level(last, first, level))
    };
    pieces.first().map(|_| None).into_iter().chain(pieces.windows(2).map(with_before)).collect()
}

/// The levels of each piece and of its parts, with room for their nodes.
fn rooms<'a>(
    pieces: &'a [Piece<'_>],
    counts: &[Vec<Vec<usize>>],
    shared: &[Option<u32>],
    mut nodes: &'a mut [Node],
) -> Vec<Rooms<'a>> {
    let deepest = counts.iter().map(Vec::len).max().unwrap_or(0);
    let mut rest: Vec<&[Brief]> = pieces.iter().map(|piece| piece.nodes.as_slice()).collect();
    let mut rooms: Vec<Rooms<'_>> = counts.iter().map(|_| Rooms::default()).collect();
    let mut end = 0;
    for level in 0..deepest {
        for (piece, counts) in counts.iter().enumerate() {
            let Some(counts) = counts.get(level) else { continue };
            let rooms = &mut rooms[piece];
            if counts.len() > 1 {
                rooms.parts.resize_with(counts.len(), Vec::new);
            }
            for (part, &count) in counts.iter().enumerate() {
                let is_shared =
                    part == 0 && shared[piece].is_some_and(|deepest| level <= deepest as usize);
                let (briefs, below) = rest[piece].split_at(count);
                rest[piece] = below;
                let at = end - usize::from(is_shared);
                let room = take(&mut nodes, at + count - end);
                let levels =
                    if counts.len() == 1 { &mut rooms.trunk } else { &mut rooms.parts[part] };
                levels.push(Level { briefs, at, is_shared, first: Node::zeroed(), room });
                end = at + count;
            }
        }
    }
    rooms
}

/// Writes levels. The nodes above the first are `above`; the level below the last begins at `below`.
fn write(first: usize, above: &[Node], levels: &mut [Level<'_>], below: usize) {
    for number in 0..levels.len() {
        let first_child = levels.get(number + 1).map_or(below, |level| level.at);
        let (before, after) = levels.split_at_mut(number);
        match before.last() {
            None => after[0].write(first, above.iter(), first_child),
            Some(above) => after[0].write(first + number, above.nodes(), first_child),
        }
    }
}
