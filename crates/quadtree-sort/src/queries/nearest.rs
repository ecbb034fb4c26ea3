//! The nearest points of places.
//!
//! The search takes places in the order of codes, not in the order as given: neighbouring places visit the same nodes,
//! which the caches still hold. From a node, it goes first to the quadrant that holds the place or is nearest to it, so
//! that the list soon has near points.

use gpu_core::host_memory;
use kernels_rs::quadtree::queries::ground::{Cell, Origin};
use rayon::prelude::*;

use super::{NONE, NearestList, Neighbours};
use crate::tree::Node;
use crate::{Quadtree, Result};

/// Nodes of at most this many points are not divided further: comparing all of them takes less time.
const FEW: u64 = 32;

/// Places that a thread takes at a time.
const PLACES: usize = 256;

/// See [`Quadtree::nearest`]; places are checked, and `k` is positive.
pub(super) fn nearest(tree: &Quadtree, x: &[f64], y: &[f64], k: usize) -> Result<Neighbours> {
    let len = x.len().saturating_mul(k);
    let mut indices = host_memory::filled(NONE, len)?;
    let mut distances = host_memory::filled(f64::INFINITY, len)?;
    if tree.nodes.is_empty() {
        return Ok(Neighbours { k, indices, distances });
    }
    let order = super::in_order_of_codes(tree, x.len(), "places", |i| [x[i], y[i]])?;
    // The lists of each place, by the chunks in which places are searched for.
    let mut rooms: Vec<_> = indices.chunks_mut(k).zip(distances.chunks_mut(k)).map(Some).collect();
    let chunks: Vec<Vec<_>> = order
        .chunks(PLACES)
        .map(|some| some.iter().map(|&i| (i as usize, rooms[i as usize].take())).collect())
        .collect();
    chunks.into_par_iter().flatten_iter().for_each(|(i, room)| {
        if let Some((indices, distances)) = room {
            search(tree, [x[i], y[i]], indices, distances);
        }
    });
    Ok(Neighbours { k, indices, distances })
}

/// The nearest points of a place, as many as there is room for.
fn search(tree: &Quadtree, place: [f64; 2], indices: &mut [u32], distances: &mut [f64]) {
    let list = NearestList::new(indices, distances);
    let origin = Origin::new(&tree.frame, place);
    let mut search = Search { tree, nodes: &tree.nodes, place, origin, list };
    search.visit(&tree.nodes[0], Cell::ROOT);
    search.list.finish();
    distances.iter_mut().for_each(|distance| *distance = distance.sqrt());
}

struct Search<'a> {
    tree: &'a Quadtree,
    nodes: &'a [Node],
    place: [f64; 2],
    origin: Origin,
    list: NearestList<'a>,
}

impl Search<'_> {
    fn visit(&mut self, node: &Node, cell: Cell) {
        if node.is_leaf() || node.count <= FEW {
            return self.look(node);
        }
        let (gaps, first) = self.origin.of_quadrants(cell, self.tree.frame.level);
        for turn in 0..4 {
            let quadrant = turn ^ first;
            let bit = 1u8 << quadrant;
            if node.quadrants & bit != 0 && gaps[quadrant as usize] <= self.list.reach() {
                let before = (node.quadrants & (bit - 1)).count_ones();
                let child = &self.nodes[(node.first_child + before) as usize];
                self.visit(child, cell.child(quadrant));
            }
        }
    }

    /// Compares all points of a node.
    fn look(&mut self, node: &Node) {
        let places = node.points();
        let (x, y) = (&self.tree.x[places.clone()], &self.tree.y[places.clone()]);
        for ((&x, &y), index) in x.iter().zip(y).zip(&self.tree.order[places]) {
            let (dx, dy) = (x - self.place[0], y - self.place[1]);
            self.list.offer((dx * dx + dy * dy, *index));
        }
    }
}
