//! A tree of boxes.

use kernels_rs::sphere_qtm::triangle::Vector;

/// Boxes of a leaf.
const FEW: usize = 8;

/// A box in space.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub low: Vector,
    pub high: Vector,
}

impl Extent {
    pub fn meets(&self, other: &Self) -> bool {
        (0..3).all(|k| self.low[k] <= other.high[k] && other.low[k] <= self.high[k])
    }

    /// Whether the plane through the origin with this normal runs through it.
    pub fn is_cut_by(&self, normal: Vector) -> bool {
        let ends = |k: usize| [normal[k] * self.low[k], normal[k] * self.high[k]];
        let least: f64 = (0..3).map(ends).map(|[a, b]| a.min(b)).sum();
        let most: f64 = (0..3).map(ends).map(|[a, b]| a.max(b)).sum();
        least <= 0.0 && most >= 0.0
    }

    fn union(&self, other: &Self) -> Self {
        Self {
            low: std::array::from_fn(|k| self.low[k].min(other.low[k])),
            high: std::array::from_fn(|k| self.high[k].max(other.high[k])),
        }
    }

    fn middle(&self, axis: usize) -> f64 {
        0.5 * (self.low[axis] + self.high[axis])
    }
}

/// A tree of boxes: each node halves its boxes along the longest side, down to a few.
pub struct Boxes {
    nodes: Vec<Node>,
    /// The boxes and their numbers, those of a node side by side.
    items: Vec<(Extent, usize)>,
}

struct Node {
    extent: Extent,
    first: usize,
    end: usize,
    /// The second child; the first one follows the node. 0 for a leaf.
    second: usize,
}

impl Boxes {
    /// Makes a tree of at least one box.
    pub fn new(boxes: &[Extent]) -> Self {
        let items = boxes.iter().copied().zip(0..).collect();
        let mut tree = Self { nodes: Vec::new(), items };
        if !boxes.is_empty() {
            tree.divide(0, boxes.len());
        }
        tree
    }

    fn divide(&mut self, first: usize, end: usize) {
        let items = &mut self.items[first..end];
        let whole = items[1..].iter().fold(items[0].0, |all, (one, _)| all.union(one));
        let node = self.nodes.len();
        self.nodes.push(Node { extent: whole, first, end, second: 0 });
        if end - first <= FEW {
            return;
        }
        let side = |axis: &usize| whole.high[*axis] - whole.low[*axis];
        let axis = (0..3).max_by(|a, b| side(a).total_cmp(&side(b))).unwrap_or(0);
        let half = items.len() / 2;
        items.select_nth_unstable_by(half, |a, b| a.0.middle(axis).total_cmp(&b.0.middle(axis)));
        self.divide(first, first + half);
        self.nodes[node].second = self.nodes.len();
        self.divide(first + half, end);
    }

    /// Passes the numbers of all wanted boxes to `take`. If a box is wanted, every box around it must be wanted too.
    pub fn visit(&self, wanted: &dyn Fn(&Extent) -> bool, take: &mut dyn FnMut(usize)) {
        if !self.nodes.is_empty() {
            self.visit_node(0, wanted, take);
        }
    }

    fn visit_node(
        &self,
        node: usize,
        wanted: &dyn Fn(&Extent) -> bool,
        take: &mut dyn FnMut(usize),
    ) {
        let Node { extent, first, end, second } = &self.nodes[node];
        if !wanted(extent) {
            return;
        }
        if *second == 0 {
            let found = self.items[*first..*end].iter().filter(|(of, _)| wanted(of));
            return found.for_each(|&(_, number)| take(number));
        }
        self.visit_node(node + 1, wanted, take);
        self.visit_node(*second, wanted, take);
    }
}
