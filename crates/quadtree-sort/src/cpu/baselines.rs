//! The thesis's method (Gluck 2014, Fast GPGPU Based Quadtree Construction): level by level, a stable counting sort
//! moves the points of each node above the threshold into its four quadrants.
//!
//! The points of a level's nodes lie side by side, and the sort moves each node's points from one array into the other
//! and back. It counts and then writes pieces of large nodes in parallel, and sorts small nodes whole.

use gpu_core::Progress;
use rayon::prelude::*;

use super::{Coded, append_children, room, root};
use crate::tree::Node;
use crate::{Params, Result};

/// The nodes, and the points' indices in the order of the tree.
pub(super) fn level_sort(
    mut coded: Vec<Coded>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<(Vec<Node>, Vec<u32>)> {
    let mut nodes = root(coded.len());
    let mut scratch = room(coded.len())?;
    let mut level_start = 0;
    for level in 0..params.max_level {
        progress.at("sort", f64::from(level) / f64::from(params.max_level))?;
        let shift = 2 * (params.max_level - level - 1);
        let parts = cut(&nodes[level_start..], params.threshold, &mut coded, &mut scratch);
        let children: Vec<[u64; 4]> = parts
            .into_par_iter()
            .map(|part| part.map_or([0; 4], |part| part.divide(shift)))
            .collect();
        let next = nodes.len();
        if !append_children(&mut nodes, level_start, &children)? {
            break;
        }
        level_start = next;
    }
    Ok((nodes, coded.into_par_iter().map(|(_, index)| index).collect()))
}

/// The points of a node, and the same range of the other array.
struct Part<'a> {
    coded: &'a mut [Coded],
    scratch: &'a mut [Coded],
}

/// The parts of a level's nodes; none for those that are not divided.
fn cut<'a>(
    level: &[Node],
    threshold: u32,
    mut coded: &'a mut [Coded],
    mut scratch: &'a mut [Coded],
) -> Vec<Option<Part<'a>>> {
    let mut at = 0;
    let parts = level.iter().map(|node| {
        // Leaves of levels above lie between.
        let skipped = (node.start - at) as usize;
        at = node.start + node.count;
        let take = |rest: &mut &'a mut [Coded]| {
            let (_, after) = std::mem::take(rest).split_at_mut(skipped);
            let (part, after) = after.split_at_mut(node.count as usize);
            *rest = after;
            part
        };
        let part = Part { coded: take(&mut coded), scratch: take(&mut scratch) };
        (node.count > u64::from(threshold)).then_some(part)
    });
    parts.collect()
}

/// Points that one thread counts and writes.
const PIECE: usize = 1 << 16;

impl Part<'_> {
    /// Sorts the points by the two bits that stand `shift` places up; gives how many each quadrant has.
    fn divide(self, shift: u32) -> [u64; 4] {
        let Self { coded, scratch } = self;
        let counts: Vec<[usize; 4]> =
            coded.par_chunks(PIECE).map(|piece| count(piece, shift)).collect();
        let totals: [usize; 4] = std::array::from_fn(|q| counts.iter().map(|c| c[q]).sum());
        // Where each piece writes in each quadrant, quadrant after quadrant.
        let mut rest = &mut *scratch;
        let mut rooms: Vec<Vec<&mut [Coded]>> =
            counts.iter().map(|_| Vec::with_capacity(4)).collect();
        for quadrant in 0..4 {
            for (rooms, counts) in rooms.iter_mut().zip(&counts) {
                let (room, after) = std::mem::take(&mut rest).split_at_mut(counts[quadrant]);
                rest = after;
                rooms.push(room);
            }
        }
        let pieces = coded.par_chunks(PIECE).zip(rooms);
        pieces.for_each(|(piece, rooms)| write(piece, rooms, shift));
        coded.copy_from_slice(scratch);
        totals.map(|total| total as u64)
    }
}

fn quadrant(code: u64, shift: u32) -> usize {
    (code >> shift & 3) as usize
}

fn count(piece: &[Coded], shift: u32) -> [usize; 4] {
    let mut counts = [0; 4];
    piece.iter().for_each(|&(code, _)| counts[quadrant(code, shift)] += 1);
    counts
}

fn write(piece: &[Coded], mut rooms: Vec<&mut [Coded]>, shift: u32) {
    let mut written = [0; 4];
    for &point in piece {
        let quadrant = quadrant(point.0, shift);
        rooms[quadrant][written[quadrant]] = point;
        written[quadrant] += 1;
    }
}
