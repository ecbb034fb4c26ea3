//! Statistics of a window: the number of values, their bounds, the greatest values.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Condition, Keyed, Open, Search, Visit};
use crate::tree::Place;
use crate::{Bound, Cell, Error, Query, Result, Tree};

use kernels_rs::spatial::morton;

/// Statistics of the cells in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Cells that have a value.
    pub cells: u64,
    /// The least value, or number of a bin; `None` where no cell has one.
    pub min: Option<Bound>,
    /// The greatest.
    pub max: Option<Bound>,
}

/// [`statistics`](crate::statistics()) on the CPU.
pub(crate) fn statistics<T: Cell>(tree: &Tree<T>, query: &Query) -> Result<Statistics> {
    let conditions = [Condition::new(tree)];
    let mut found = Statistics { cells: 0, min: None, max: None };
    let Some(search) = Search::new(&conditions, query)? else { return Ok(found) };
    let mut bounds = (u32::MAX, 0);
    let take = &mut |hit: super::Hit| {
        let cells = hit.place.cells(search.bits, &search.grid).and_then(|c| search.window.and(c));
        found.cells += cells.map_or(0, |cells| cells.cells());
        bounds = (bounds.0.min(hit.min), bounds.1.max(hit.max));
    };
    search.visit(&Visit::ROOT, u32::MAX, take, &mut |_| ());
    if found.cells > 0 {
        let [min, max] = [bounds.0, bounds.1].map(|key| T::of_key(key).bound());
        (found.min, found.max) = (Some(min), Some(max));
    }
    Ok(found)
}

/// A cell among the greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// Its row.
    pub row: u32,
    /// Its column.
    pub column: u32,
    /// Its value.
    pub value: Bound,
}

/// [`top_k`](crate::top_k()) on the CPU: the search goes on where the greatest value may be.
pub(crate) fn top_k<T: Cell>(tree: &Tree<T>, k: usize, query: &Query) -> Result<Vec<Peak>> {
    if !tree.params.bins.is_empty() {
        return Err(Error::Binned { what: "a search for the greatest values" });
    }
    let conditions = [Condition::new(tree)];
    let Some(search) = Search::new(&conditions, query)? else { return Ok(Vec::new()) };
    let node = |visit: &Visit| conditions[0].tree.node(visit.nodes[0]);
    // The greatest first, then the first in Z-order.
    type Entry = (u32, Reverse<u64>, Reverse<u32>, u32);
    let entry = |visit: &Visit, node: Keyed| -> Entry {
        let Place { level, x, y } = visit.place;
        let code = morton::encode(x, y) << (2 * (search.bits - level));
        (node.max, Reverse(code), Reverse(level), visit.nodes[0])
    };
    let mut heap = BinaryHeap::new();
    heap.extend(node(&Visit::ROOT).map(|found| entry(&Visit::ROOT, found)));
    let mut peaks = Vec::new();
    while let Some((key, Reverse(code), Reverse(level), position)) = heap.pop() {
        if peaks.len() >= k {
            break;
        }
        let (x, y) = morton::decode(code >> (2 * (search.bits - level)));
        let mut visit = Visit { place: Place { level, x, y }, ..Visit::ROOT };
        visit.nodes[0] = position;
        let cells = visit.place.cells(search.bits, &search.grid);
        let Some(cells) = cells.and_then(|cells| search.window.and(cells)) else { continue };
        let Some(found) = node(&visit) else { continue };
        if level == search.bits {
            let value = T::of_key(key).bound();
            peaks.push(Peak { row: cells.row0, column: cells.column0, value });
        } else if found.has_children {
            let open = Open { trees: 1, is_inside: false };
            search.each_child(&visit, open, |child| {
                heap.extend(node(child).map(|found| entry(child, found)));
            });
        } else {
            // All of its cells have the value: the quadrants of a leaf are as the leaf.
            for corner in 0..4 {
                let child = Visit { place: visit.place.child(corner), ..visit };
                heap.push(entry(&child, found));
            }
        }
    }
    Ok(peaks)
}
