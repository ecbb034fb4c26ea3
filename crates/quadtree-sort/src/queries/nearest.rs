//! The nearest points of places.
//!
//! The search takes places in the order of codes, not in the order as given: neighbouring places visit the same nodes,
//! which the caches still hold. From a node, it goes first to the quadrant that holds the place or is nearest to it, so
//! that the list soon has near points.

use kernels_rs::quadtree::queries::ground::{Cell, Origin};

use super::{NearestList, Neighbours};
use crate::tree::Node;
use crate::{Quadtree, Result};

/// Nodes of at most this many points are not divided further: comparing all of them takes less time.
const FEW: u64 = 32;

/// See [`Quadtree::nearest`]; places are checked, and `k` is positive.
pub(super) fn nearest(tree: &Quadtree, x: &[f64], y: &[f64], k: usize) -> Result<Neighbours> {
    let mut all = Neighbours::none(x.len(), k)?;
    if tree.nodes.is_empty() {
        return Ok(all);
    }
    let order = super::in_order_of_codes(tree, x.len(), "places", |i| [x[i], y[i]])?;
    all.fill(order.into_iter().map(|i| i as usize), |i, indices, distances| {
        search(tree, [x[i], y[i]], indices, distances);
    });
    Ok(all)
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
