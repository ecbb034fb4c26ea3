//! The links of a tree that comes from a file.
//!
//! Queries follow links without looking back. If two nodes shared children, a query would visit these once for each
//! path to them: up to four times as often with each level. So a file of a kilobyte could keep a query busy for ever.
//! So links must be as the builders write them. In each level, the children of the first node that has some begin the
//! next level. The children of every other node follow the children of the node before it, and the last children end
//! the next level. Then each node but the root is the child of one.

use gpu_core::parallel;

use crate::tree::{Place, Tree};
use crate::{Cell, Node};

/// Nodes that are worth a task of their own.
const TOGETHER: usize = 1 << 14;

/// A node whose square reaches beyond the raster. There are few, along two edges, and only of these must the place be known
/// to know their children.
struct Outer {
    position: usize,
    place: Place,
}

/// Where the children of some nodes begin and end, which follow each other.
#[derive(Clone, Copy)]
struct Run {
    first: u64,
    end: u64,
}

impl Run {
    /// Both, if the second follows the first.
    fn and(self, next: Self) -> Option<Self> {
        (self.end == next.first).then_some(Self { first: self.first, end: next.end })
    }
}

/// The children of some nodes of a level; the outer `None` if they do not follow each other.
type Runs = Option<Option<Run>>;

fn joined(runs: Runs, next: Runs) -> Runs {
    match (runs?, next?) {
        (Some(run), Some(next)) => Some(Some(run.and(next)?)),
        (one, other) => Some(one.or(other)),
    }
}

/// Checks that each node but the root is the child of one, on all cores.
pub(crate) fn check<T: Cell>(tree: &Tree<T>) -> Result<(), String> {
    let starts = &tree.starts;
    let bad = |level: usize| format!("the links of its level {level} are damaged");
    let has_cells = Place::ROOT.cells(tree.bits, &tree.grid).is_some();
    if starts[1] > u64::from(has_cells) {
        return Err(bad(0));
    }
    let is_outer = starts[1] == 1 && !Place::ROOT.is_whole(tree.bits, &tree.grid);
    let mut outer: Vec<Outer> =
        is_outer.then_some(Outer { position: 0, place: Place::ROOT }).into_iter().collect();
    for level in 0..=tree.bits as usize {
        let nodes = starts[level] as usize..starts[level + 1] as usize;
        let of_part = |part: std::ops::Range<usize>| {
            runs(tree, nodes.start + part.start..nodes.start + part.end, &outer)
        };
        let parts = parallel::map_ranges(nodes.len(), TOGETHER, &of_part);
        let run = parts.into_iter().fold(Some(None), joined).ok_or_else(|| bad(level))?;
        let next = starts.get(level + 2).map(|&end| (starts[level + 1], end));
        let is_sound = match (run, next) {
            (Some(run), Some(next)) => (run.first, run.end) == next,
            (None, Some((first, end))) => first == end,
            // Cells have no children.
            (run, None) => run.is_none(),
        };
        if !is_sound {
            return Err(bad(level));
        }
        outer = outer.iter().flat_map(|node| outer_children(tree, node)).collect();
    }
    Ok(())
}

/// The children of some nodes, by their positions.
fn runs<T: Cell>(tree: &Tree<T>, nodes: std::ops::Range<usize>, outer: &[Outer]) -> Runs {
    let mut outer = &outer[outer.partition_point(|node| node.position < nodes.start)..];
    let mut run: Option<Run> = None;
    for position in nodes {
        let mut corners = 0b1111;
        if let [first, rest @ ..] = outer
            && first.position == position
        {
            corners = first.place.corners(tree.bits, &tree.grid);
            outer = rest;
        }
        let Some((first, mask)) = children(tree, position, corners) else { continue };
        let first = u64::from(first);
        let next = Run { first, end: first + u64::from(mask.count_ones()) };
        if mask == 0 {
            return None;
        }
        run = Some(match run {
            None => next,
            Some(run) => run.and(next)?,
        });
    }
    Some(run)
}

/// The first child of a node and which it has, of some corners; `None` for a node without children.
fn children<T: Cell>(tree: &Tree<T>, position: usize, corners: u8) -> Option<(u32, u8)> {
    let node: &Node<T> = tree.nodes.get(position)?;
    let first = node.first_child()?;
    let flags =
        if node.is_mixed() { tree.presence.get(position).copied().unwrap_or(0) } else { 15 };
    Some((first, corners & flags))
}

/// The children of an outer node that are outer ones too.
fn outer_children<T: Cell>(tree: &Tree<T>, node: &Outer) -> Vec<Outer> {
    let corners = node.place.corners(tree.bits, &tree.grid);
    let Some((first, mask)) = children(tree, node.position, corners) else { return Vec::new() };
    let there =
        (0..4).filter(|corner| mask >> corner & 1 != 0).map(|corner| node.place.child(corner));
    let places = (first as usize..).zip(there);
    let outer = places.filter(|(_, place)| !place.is_whole(tree.bits, &tree.grid));
    outer.map(|(position, place)| Outer { position, place }).collect()
}
