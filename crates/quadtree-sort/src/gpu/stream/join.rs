//! The nodes of a tree from those of its batches.

use std::mem::MaybeUninit;
use std::ops::Range;

use gpu_core::host_memory;
use rayon::prelude::*;

use crate::tree::Node;
use crate::{Error, Result};

/// The nodes over the points of a batch, and the first of its points.
pub(super) struct Piece {
    pub nodes: Vec<Node>,
    pub start: u64,
}

/// The nodes of a level of a piece.
struct Segment {
    piece: usize,
    /// Among those of the piece.
    nodes: Range<usize>,
    /// Where they go among those of the tree.
    at: usize,
    /// Whether the first of them is the last of the segment before, with other points.
    is_shared: bool,
}

/// The nodes of the tree over the points of all pieces, which follow each other in the order of codes.
pub(super) fn join(pieces: Vec<Piece>) -> Result<Vec<Node>> {
    let (levels, total) = segments(&pieces);
    let most = u64::from(u32::MAX);
    if total as u64 > most {
        return Err(Error::TooManyNodes { nodes: total as u64, most });
    }
    let mut nodes = host_memory::with_capacity(total)?;
    write(&pieces, &levels, &mut nodes.spare_capacity_mut()[..total]);
    // SAFETY: the segments, but for the first nodes of shared ones, are the whole of the tree's nodes.
    unsafe { nodes.set_len(total) };
    for segment in levels.iter().flatten().filter(|segment| segment.is_shared) {
        let (more, node) =
            (&pieces[segment.piece].nodes[segment.nodes.start], &mut nodes[segment.at]);
        node.count += more.count;
        node.quadrants |= more.quadrants;
    }
    // To give memory back takes time, too.
    pieces.into_par_iter().for_each(drop);
    Ok(nodes)
}

/// The segments of each level in the order of codes, and the number of the tree's nodes.
fn segments(pieces: &[Piece]) -> (Vec<Vec<Segment>>, usize) {
    let mut ends = vec![0; pieces.len()];
    let (mut levels, mut total) = (Vec::new(), 0);
    loop {
        let mut level = Vec::new();
        let mut last = None;
        for (number, (Piece { nodes, .. }, end)) in pieces.iter().zip(&mut ends).enumerate() {
            let start = *end;
            *end += nodes[start..].partition_point(|node| usize::from(node.level) == levels.len());
            if start == *end {
                continue;
            }
            let is_shared = last == Some(nodes[start].code);
            let at = total - usize::from(is_shared);
            level.push(Segment { piece: number, nodes: start..*end, at, is_shared });
            last = Some(nodes[*end - 1].code);
            total = at + (*end - start);
        }
        if level.is_empty() {
            return (levels, total);
        }
        levels.push(level);
    }
}

/// Writes the nodes of all segments, but for the first ones of those that are shared.
fn write(pieces: &[Piece], levels: &[Vec<Segment>], mut room: &mut [MaybeUninit<Node>]) {
    // Where the children of a segment's nodes go, by those of its piece, as they are one level below.
    let mut tasks = Vec::new();
    for (number, level) in levels.iter().enumerate() {
        let mut below = levels.get(number + 1).into_iter().flatten().peekable();
        for segment in level {
            while below.next_if(|child| child.piece < segment.piece).is_some() {}
            let child = below.peek().filter(|child| child.piece == segment.piece);
            let nodes = segment.nodes.start + usize::from(segment.is_shared)..segment.nodes.end;
            let room = super::take(&mut room, nodes.len());
            tasks.push((
                segment.piece,
                nodes,
                child.map(|child| (child.nodes.start, child.at)),
                room,
            ));
        }
    }
    tasks.into_par_iter().for_each(|(piece, nodes, child, room)| {
        let Piece { nodes: all, start } = &pieces[piece];
        for (node, room) in all[nodes].iter().zip(room) {
            let mut node = Node { start: node.start + start, ..*node };
            if let Some((from, to)) = child.filter(|_| !node.is_leaf()) {
                node.first_child = (node.first_child as usize - from + to) as u32;
            }
            room.write(node);
        }
    });
}
