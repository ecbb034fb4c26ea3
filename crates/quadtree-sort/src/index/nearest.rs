//! The nearest points of places, on the CPU.
//!
//! The search takes places in the order of the curve, not in the order as given: neighbouring places visit the same
//! boxes, which the caches still hold. From a node the search goes to the nearest child first, so that the list soon
//! has near points, and the search can skip far nodes.

use std::ops::Range;

use kernels_rs::rtree::layout::FANOUT;
use kernels_rs::rtree::{Curve, MAX_REPEATED, is_repeated};

use super::{Index, sides};
use crate::Result;
use crate::queries::{NearestList, Neighbours, in_order};

const LEAF: usize = FANOUT as usize;

/// See [`Index::nearest`]; places are checked, and `k` is positive.
pub(super) fn nearest(index: &Index, x: &[f64], y: &[f64], k: usize) -> Result<Neighbours> {
    let mut all = Neighbours::none(x.len(), k)?;
    if index.is_empty() {
        return Ok(all);
    }
    let curve = Curve::over(sides(index.bounds));
    let order = in_order(x.len(), "places", |i| curve.code(x[i], y[i]).into())?;
    all.fill(order.into_iter().map(|i| i as usize), |i, indices, distances| {
        let hides = k <= MAX_REPEATED as usize;
        let list = NearestList::new(indices, distances);
        let mut search = Search { index, place: [x[i], y[i]], hides, list };
        let top = index.layout.top as usize;
        let count = index.layout.counts[top] as usize;
        // One group, unless the points are more than 32^6.
        for first in (0..count).step_by(LEAF) {
            search.visit(top, first..count.min(first + LEAF));
        }
        search.list.finish();
        distances.iter_mut().for_each(|distance| *distance = distance.sqrt());
    });
    Ok(all)
}

/// A search for the points nearest to a place.
struct Search<'a> {
    index: &'a Index,
    place: [f64; 2],
    /// Whether leaves that repeat a place are passed over.
    hides: bool,
    list: NearestList<'a>,
}

impl Search<'_> {
    /// Visits the boxes of a level that may hold a point that comes into the list, the nearest first.
    fn visit(&mut self, level: usize, boxes: Range<usize>) {
        let start = self.index.layout.starts[level] as usize;
        // NaN for none: the squared distance of a far box may overflow to infinity, and its points still count.
        let mut gaps = [f64::NAN; LEAF];
        for (gap, &bounds) in gaps.iter_mut().zip(&self.index.boxes[start..][boxes.clone()]) {
            *gap = self.gap(bounds);
        }
        // The children that are near enough, by insertion in the order of their distances: mostly few.
        let mut near = [(0.0, 0); LEAF];
        let mut count = 0;
        let reach = self.list.reach();
        for (i, &gap) in gaps.iter().enumerate() {
            if gap <= reach {
                let mut at = count;
                while at > 0 && near[at - 1].0 > gap {
                    near[at] = near[at - 1];
                    at -= 1;
                }
                near[at] = (gap, i);
                count += 1;
            }
        }
        for &(gap, i) in &near[..count] {
            if gap > self.list.reach() {
                return;
            }
            let first = (boxes.start + i) * LEAF;
            match level {
                0 => self.look(first..self.index.len().min(first + LEAF)),
                _ => {
                    let end = self.index.layout.counts[level - 1] as usize;
                    self.visit(level - 1, first..end.min(first + LEAF));
                }
            }
        }
    }

    /// The squared distance of a box; NaN for one that is passed over. Without a branch, so that the distances of
    /// several boxes are computed side by side.
    #[inline(always)]
    fn gap(&self, bounds: [[f64; 2]; 2]) -> f64 {
        let [[west, south], [east, north]] = bounds;
        let is_hidden = is_repeated(bounds);
        let north = if is_hidden { south } else { north };
        let [x, y] = self.place;
        let greater = |a: f64, b: f64| if a > b { a } else { b };
        let dx = greater(greater(west - x, x - east), 0.0);
        let dy = greater(greater(south - y, y - north), 0.0);
        if is_hidden & self.hides { f64::NAN } else { dx * dx + dy * dy }
    }

    /// Compares the points of a leaf.
    fn look(&mut self, points: Range<usize>) {
        let Index { x, y, order, .. } = self.index;
        // All squares first, side by side in vectors.
        let mut squares = [f64::INFINITY; LEAF];
        let places = x[points.clone()].iter().zip(&y[points.clone()]);
        for (square, (&x, &y)) in squares.iter_mut().zip(places) {
            let (dx, dy) = (x - self.place[0], y - self.place[1]);
            *square = dx * dx + dy * dy;
        }
        for (&square, &index) in squares.iter().zip(&order[points]) {
            self.list.offer((square, index));
        }
    }
}
