//! The nearest points of places, on the CPU.
//!
//! Places are taken in the order of the curve, whatever the order in which they are given: those that follow each other meet
//! the same boxes, which the caches still hold. From a node the nearest child comes first, so that the list soon reaches no
//! farther than it must.

use gpu_core::host_memory;
use kernels_rs::rtree::layout::FANOUT;
use kernels_rs::rtree::{Curve, MAX_REPEATED, is_repeated};
use rayon::prelude::*;

use super::{Index, sides};
use crate::Result;
use crate::queries::{NONE, NearestList, Neighbours, in_order};

const LEAF: usize = FANOUT as usize;

/// Places that a thread takes at a time.
const PLACES: usize = 256;

/// See [`Index::nearest`]; places are checked, and `k` is positive.
pub(super) fn nearest(index: &Index, x: &[f64], y: &[f64], k: usize) -> Result<Neighbours> {
    let len = x.len().saturating_mul(k);
    let mut indices = host_memory::filled(NONE, len)?;
    let mut distances = host_memory::filled(f64::INFINITY, len)?;
    if index.is_empty() {
        return Ok(Neighbours { k, indices, distances });
    }
    let curve = Curve::over(sides(index.bounds));
    let order = in_order(x.len(), "places", |i| curve.code(x[i], y[i]))?;
    // The lists of each place, by the chunks in which places are searched for.
    let mut rows: Vec<_> = indices.chunks_mut(k).zip(distances.chunks_mut(k)).map(Some).collect();
    let chunks: Vec<Vec<_>> = order
        .chunks(PLACES)
        .map(|some| some.iter().map(|&i| (i as usize, rows[i as usize].take())).collect())
        .collect();
    chunks.into_par_iter().flatten_iter().for_each(|(i, row)| {
        if let Some((indices, distances)) = row {
            let hides = k <= MAX_REPEATED as usize;
            let list = NearestList::new(indices, distances);
            let mut search = Search { index, place: [x[i], y[i]], hides, list };
            search.visit(index.layout.top as usize, 0..index.layout.counts[index.layout.top as usize] as usize);
            distances.iter_mut().for_each(|distance| *distance = distance.sqrt());
        }
    });
    Ok(Neighbours { k, indices, distances })
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
    /// Visits some boxes of a level, the nearest first, as long as they may hold a point that comes into the list.
    fn visit(&mut self, level: usize, boxes: std::ops::Range<usize>) {
        let layout = &self.index.layout;
        let start = layout.starts[level] as usize;
        let mut gaps = [f64::INFINITY; 4 * LEAF];
        let count = boxes.len();
        for (gap, &bounds) in gaps.iter_mut().zip(&self.index.boxes[start + boxes.start..][..count]) {
            *gap = self.gap(bounds);
        }
        loop {
            let mut least = (f64::INFINITY, 0);
            for (i, &gap) in gaps[..count].iter().enumerate() {
                if gap < least.0 {
                    least = (gap, i);
                }
            }
            let (gap, i) = least;
            if gap == f64::INFINITY || gap > self.list.reach() {
                return;
            }
            gaps[i] = f64::INFINITY;
            let node = boxes.start + i;
            match level {
                0 => self.look(node * LEAF..self.index.len().min((node + 1) * LEAF)),
                _ => {
                    let end = (layout.counts[level - 1] as usize).min((node + 1) * LEAF);
                    self.visit(level - 1, node * LEAF..end);
                }
            }
        }
    }

    /// The squared distance of a box; infinite for one that is passed over.
    #[inline(always)]
    fn gap(&self, bounds: [f64; 4]) -> f64 {
        let [west, south, east, mut north] = bounds;
        if is_repeated(bounds) {
            if self.hides {
                return f64::INFINITY;
            }
            north = south;
        }
        let [x, y] = self.place;
        let along = |low: f64, high: f64| if low > high { low.max(0.0) } else { high.max(0.0) };
        let (dx, dy) = (along(west - x, x - east), along(south - y, y - north));
        dx * dx + dy * dy
    }

    /// Looks at the points of a leaf.
    fn look(&mut self, points: std::ops::Range<usize>) {
        let Index { x, y, order, .. } = self.index;
        for ((&x, &y), &index) in x[points.clone()].iter().zip(&y[points.clone()]).zip(&order[points]) {
            let (dx, dy) = (x - self.place[0], y - self.place[1]);
            self.list.offer((dx * dx + dy * dy, index));
        }
    }
}
