//! A k-d tree (Bentley 1975, doi:10.1145/361002.361007), which finds neighbours quickly wherever points lie.
//!
//! Plan: all points are the root. A node divides its points across the longest side of their box: the lower half
//! becomes one child, the upper half the other, down to leaves of a few points. The halves have equal numbers of
//! points, not equal lengths. So the tree is as deep for a cluster within a cluster, or beside a point at the other end
//! of the world, as for even points. The nodes that a search visits depend on how many neighbours it wants. On the
//! sphere places are unit vectors, for which neither pole nor date line is special.
//!
//! If points lie along an oblique line, boxes are a poor bound: their corners reach far beyond the points. So a node
//! also stores how near its points are to a diagonal of its box.
//!
//! No box separates points at one place. So they stay one leaf, in the order of their indices, and a search for a few
//! neighbours visits only the first of them.

use std::ops::Range;

use gpu_core::parallel::{self, FINE};

use crate::cpu::search::diagonal::Diagonal;
use crate::search::Ellipse;

/// The most points of a leaf, unless they lie in one place.
const LEAF: usize = 16;

/// A share of a diagonal's length: points nearer to it than this lie along it.
const THIN: f64 = 0.125;

/// A point of the tree.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub place: [f64; 3],
    /// Its index among the sorted points.
    pub sorted: u32,
}

/// A node: the box of its points, and where they are.
#[derive(Clone, Copy)]
pub(crate) struct Node {
    pub low: [f64; 3],
    pub high: [f64; 3],
    /// How far its points are from a diagonal of the box, at most.
    slack: f64,
    /// 1 / the square of its length, if the points lie along it; else 0.
    per_square: f64,
    points: [u32; 2],
    /// The second child; the first follows its parent. 0 in a leaf.
    second: u32,
    /// Which diagonal: a bit for each axis along which it falls.
    falls: u32,
}

/// The tree: each node before its first child's nodes, and these before those of its second.
pub(crate) struct Halves {
    nodes: Vec<Node>,
    points: Vec<Point>,
}

/// Nodes still to be visited, the next one last.
#[derive(Default)]
pub(crate) struct Way {
    nodes: Vec<u32>,
    /// The cost of searches: how many nodes and points they visited.
    pub looks: u64,
}

impl Halves {
    /// Builds the tree of places in the order of sorted points, whose indices are `order`.
    ///
    /// Work: O(n log n) for n points, on all cores except for the first halvings. Memory: 32 bytes a point, and 80
    /// bytes a node. There is at most about one node for four points.
    pub fn new(places: &[[f64; 3]], order: &[u32]) -> Self {
        let point = |i: usize| Point { place: places[i], sorted: i as u32 };
        let mut points = parallel::map(places.len(), FINE, point);
        let mut levels = 0;
        while points.len().div_ceil(1 << levels) > LEAF {
            levels += 1;
        }
        let empty = Node::of([[0.0; 3]; 2], [0; 2], 0);
        let mut nodes = vec![empty; (2 << levels) - 1];
        if !points.is_empty() {
            divide(&mut nodes, &mut points, order, [0; 2]);
        }
        Self { nodes, points }
    }

    pub fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    /// Returns the level at which nodes have at least `count` points, and at most twice as many.
    pub fn level_with(&self, count: usize) -> u32 {
        (self.points.len() / count).checked_ilog2().unwrap_or(0)
    }

    /// Goes down to a level, always to the child nearer to a place, and returns the node; or a leaf above the level.
    pub fn nearest_at(&self, level: u32, place: [f64; 3]) -> u32 {
        let (mut at, mut node) = (0, &self.nodes[0]);
        for _ in 0..level {
            if node.is_leaf() {
                break;
            }
            let children = [at + 1, node.second];
            let [a, b] = [self.node(children[0]), self.node(children[1])];
            let is_first = a.about(place) <= b.about(place);
            (at, node) = if is_first { (children[0], a) } else { (children[1], b) };
        }
        at
    }

    /// Returns the points of a node. If they share one place, returns only the first `most`, which have the lowest
    /// indices.
    #[inline(always)]
    pub fn points_of(&self, node: &Node, most: usize) -> &[Point] {
        let mut run = node.run();
        if run.len() > most && node.low == node.high {
            run.end = run.start + most;
        }
        &self.points[run]
    }
}

impl Node {
    fn of([low, high]: [[f64; 3]; 2], points: [u32; 2], second: u32) -> Self {
        Self { low, high, slack: 0.0, per_square: 0.0, points, second, falls: 0 }
    }

    fn run(&self) -> Range<usize> {
        self.points[0] as usize..self.points[1] as usize
    }

    /// Returns the square of a place's distance from the box. The arithmetic is the same as for distances of points, so
    /// rounding never makes it greater than the distance of a point in the box.
    #[inline(always)]
    pub fn squared(&self, at: [f64; 3]) -> f64 {
        let away = |axis: usize| beyond(self.low[axis], self.high[axis], at[axis]);
        let [dx, dy, dz] = [away(0), away(1), away(2)];
        dx * dx + dy * dy + dz * dz
    }

    /// Returns bounds of the number that separates eastern from western
    /// [quadrants](kernels_rs::spatial::sphere::quadrant) of a place on the sphere. The arithmetic is the same as for
    /// points, so rounding never brings a point's number beyond the bounds.
    pub fn turns_round(&self, at: [f64; 3]) -> [f64; 2] {
        let ([west, south, _], [east, north, _]) = (self.low, self.high);
        let ends = |by: f64, low: f64, high: f64| {
            if by >= 0.0 { [by * low, by * high] } else { [by * high, by * low] }
        };
        let (a, b) = (ends(at[0], south, north), ends(at[1], west, east));
        [a[0] - b[1], a[1] - b[0]]
    }

    /// Whether no point of the node is in the ellipse around any place of a box.
    pub fn misses(&self, ellipse: &Ellipse, [low, high]: [[f64; 3]; 2]) -> bool {
        ellipse
            .misses([0, 1].map(|axis| [self.low[axis] - high[axis], self.high[axis] - low[axis]]))
    }

    /// The square of the length of the box's diagonals.
    pub fn square(&self) -> f64 {
        let [dx, dy, dz] = [0, 1, 2].map(|axis| self.high[axis] - self.low[axis]);
        dx * dx + dy * dy + dz * dz
    }

    /// About the square of the distance of its points from a place.
    #[inline(always)]
    fn about(&self, at: [f64; 3]) -> f64 {
        self.diagonal().map_or(self.squared(at), |diagonal| diagonal.squared(at))
    }

    /// The diagonal that its points lie along, if they do.
    #[inline(always)]
    pub fn diagonal(&self) -> Option<Diagonal> {
        (self.per_square > 0.0).then(|| self.diagonal_by(self.falls, self.per_square))
    }

    #[inline(always)]
    fn diagonal_by(&self, falls: u32, per_square: f64) -> Diagonal {
        Diagonal::of([self.low, self.high], falls, per_square, self.slack)
    }

    /// Chooses the diagonal that all places lie nearest to, each with what it stands for around it.
    fn lean(&mut self, places: &[([f64; 3], f64)]) {
        let square = self.square();
        self.slack = f64::INFINITY;
        // Opposite diagonals are the same; in the plane nothing rises or falls along the last axis.
        let others = if self.low[2] < self.high[2] { [0, 2, 4, 6] } else { [0, 2, 2, 2] };
        for falls in others {
            let diagonal = self.diagonal_by(falls, 1.0 / square);
            let far = |&(place, more): &([f64; 3], f64)| diagonal.squared(place).sqrt() + more;
            let far = places.iter().map(far).fold(0.0, f64::max);
            let slack = far * (1.0 + 1e-9) + 1e-14 * square.sqrt();
            if slack < self.slack {
                (self.slack, self.falls) = (slack, falls);
            }
        }
        let is_thin = self.slack * self.slack < THIN * THIN * square;
        self.per_square = if is_thin { 1.0 / square } else { 0.0 };
    }

    /// The ends of its diagonal, each with what lies around it.
    fn ends(&self) -> [([f64; 3], f64); 2] {
        self.diagonal_by(self.falls, 0.0).ends().map(|end| (end, self.slack))
    }

    /// How many points it has.
    pub fn count(&self) -> usize {
        self.run().len()
    }

    pub fn is_leaf(&self) -> bool {
        self.second == 0
    }
}

/// How far a place is from an interval.
#[inline(always)]
pub(crate) fn beyond(low: f64, high: f64, at: f64) -> f64 {
    // As comparisons these become two operations of vectors.
    let (below, above) = (low - at, at - high);
    let far = if below > above { below } else { above };
    if far > 0.0 { far } else { 0.0 }
}

impl Way {
    /// Starts at the root.
    pub fn start(&mut self, tree: &Halves) {
        self.nodes.clear();
        self.nodes.extend((!tree.points.is_empty()).then_some(0));
    }

    /// The next node.
    #[inline(always)]
    pub fn next<'a>(&mut self, tree: &'a Halves) -> Option<(u32, &'a Node)> {
        let at = self.nodes.pop()?;
        self.looks += 1;
        Some((at, &tree.nodes[at as usize]))
    }

    /// Visits a node's children, the child nearer to a place first.
    #[inline(always)]
    pub fn open(&mut self, tree: &Halves, (at, node): (u32, &Node), place: [f64; 3]) {
        let [a, b] = [at + 1, node.second];
        let is_first = tree.node(a).about(place) <= tree.node(b).about(place);
        self.nodes.extend(if is_first { [b, a] } else { [a, b] });
    }
}

/// Makes the nodes of some points. The first of them are the `first[0]`th node and the `first[1]`th point of the tree.
fn divide(nodes: &mut [Node], points: &mut [Point], order: &[u32], first: [u32; 2]) {
    let [low, high] = box_of(points);
    let end = first[1] + points.len() as u32;
    let axis = (0..3).max_by(|&a, &b| (high[a] - low[a]).total_cmp(&(high[b] - low[b])));
    let axis = axis.unwrap_or(0);
    let (half, below) = (points.len() / 2, nodes.len() / 2);
    let is_leaf = below == 0 || low == high;
    let second = if is_leaf { 0 } else { first[0] + 1 + below as u32 };
    nodes[0] = Node::of([low, high], [first[1], end], second);
    if is_leaf {
        // Not as they are sorted: all longitudes are one place on a pole, and many cells.
        points.sort_unstable_by_key(|point| order[point.sorted as usize]);
        if low != high {
            let mut places = [([0.0; 3], 0.0); LEAF];
            places.iter_mut().zip(&*points).for_each(|(place, point)| place.0 = point.place);
            nodes[0].lean(&places[..points.len()]);
        }
        return;
    }
    points.select_nth_unstable_by(half, |a, b| a.place[axis].total_cmp(&b.place[axis]));
    let (of_first, of_second) = nodes[1..].split_at_mut(below);
    let (lower, upper) = points.split_at_mut(half);
    let mut of_lower = || divide(of_first, lower, order, [first[0] + 1, first[1]]);
    let to_upper = [second, first[1] + half as u32];
    if end - first[1] > FINE as u32 {
        parallel::join(of_lower, || divide(of_second, upper, order, to_upper));
    } else {
        of_lower();
        divide(of_second, upper, order, to_upper);
    }
    // No place around a line between two ends is farther from another line than what is around an end.
    let [a, b] = [nodes[1].ends(), nodes[1 + below].ends()];
    nodes[0].lean(&[a[0], a[1], b[0], b[1]]);
}

/// The box of points.
fn box_of(points: &[Point]) -> [[f64; 3]; 2] {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for Point { place, .. } in points {
        for axis in 0..3 {
            low[axis] = if place[axis] < low[axis] { place[axis] } else { low[axis] };
            high[axis] = if place[axis] > high[axis] { place[axis] } else { high[axis] };
        }
    }
    [low, high]
}

#[cfg(test)]
mod tests {
    use testing::Random;

    use super::*;

    /// The leaves of a tree, and how many nodes lie above the deepest.
    fn leaves(tree: &Halves) -> (Vec<Node>, usize) {
        let (mut found, mut deepest) = (Vec::new(), 0);
        let mut open = vec![(0, 0)];
        while let Some((at, above)) = open.pop() {
            let node = tree.nodes[at as usize];
            if node.is_leaf() {
                found.push(node);
                deepest = deepest.max(above);
            } else {
                open.extend([(node.second, above + 1), (at + 1, above + 1)]);
            }
        }
        (found, deepest)
    }

    #[test]
    fn leaves_are_small_and_in_boxes_wherever_points_lie() {
        let mut random = Random::new(5);
        for count in [1, 2, 7, 8, 9, 31, 32, 33, 4097, 20_000] {
            for scale in [1.0, 1e-9, 1e12] {
                let mut place = |i: usize| {
                    let at = [random.unit(), random.unit(), random.unit()];
                    at.map(|a| if i.is_multiple_of(3) { 0.25 } else { scale * a.powi(9) })
                };
                let places: Vec<_> = (0..count).map(&mut place).collect();
                let order: Vec<u32> = (0..count as u32).rev().collect();
                let tree = Halves::new(&places, &order);
                let (found, deepest) = leaves(&tree);
                assert!(count >> deepest <= LEAF && (count < 9 || count >> deepest >= LEAF / 2));
                let mut next = 0;
                for node in found {
                    let run = node.run();
                    assert_eq!(run.start, next);
                    next = run.end;
                    let points = &tree.points[run];
                    assert!(points.len() <= LEAF || node.low == node.high);
                    assert_eq!([node.low, node.high], box_of(points));
                    assert!(points.is_sorted_by_key(|point| order[point.sorted as usize]));
                    assert!(points.iter().all(|p| p.place == places[p.sorted as usize]));
                    assert_eq!(
                        tree.points_of(&node, 3).len() <= 3,
                        points.len() <= 3 || node.low == node.high
                    );
                }
                assert_eq!(next, count);
            }
        }
    }
}
