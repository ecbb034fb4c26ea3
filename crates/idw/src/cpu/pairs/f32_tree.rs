//! A tree of boxes of points. Each box has nodes that stand for its points if a target is far away: see
//! [`crate::expansion`].
//!
//! Plan:
//!
//! 1. Leaves are the runs of [`LEAF`] points along the curve. An item of each higher level stands for [`CHILDREN`]
//!    items of the level below, up to one root. Each item has the box of its points.
//! 2. A leaf's node (k, l) gets the weight `sum w L_k(x) L_l(y)` over its points, with the Lagrange
//!    polynomials of the Chebyshev nodes, and likewise the weighted values. An item above sums over the
//!    nodes of its children, as if they were points.
//! 3. A chunk of targets visits the items from the root. If an item is far from the box of the targets, its nodes enter
//!    the sum. If it is a near leaf, its points do. Otherwise the chunk visits its children.

use gpu_core::parallel::{self, FINE};

use crate::Params;
use crate::cpu::index::Index;
use crate::cpu::pairs::error_bound::Doubt;
use crate::cpu::pairs::f64_tree::Double;
use crate::cpu::pairs::frame::{Chunk, Frame, Sums, VECTORS, width};
use crate::cpu::pairs::inner_loop::{Near, Point, TileSums, vectors};
use crate::cpu::pairs::lanes::Lanes;
use crate::cpu::pairs::limit::Share;
use crate::cpu::pairs::nodes::{Chebyshev, Item, Source, weigh};
use crate::expansion::{self, CHILDREN, LEAF, NODES, SIDE, Visit};

/// Points and nodes that are summed over alike: places relative to the origin of their leaf or the middle
/// of their item, a weight, and weighted values less their offsets.
#[derive(Default)]
struct Sources {
    x: Vec<f32>,
    y: Vec<f32>,
    weights: Vec<f32>,
    values: Vec<Vec<f32>>,
}

/// The items, leaves first.
pub(crate) struct Tree<'a> {
    levels: Vec<u32>,
    items: Vec<Item>,
    /// The origin of each leaf's points.
    origins: Vec<[f64; 2]>,
    /// Tests sums over leaves; far items are expanded only where f32 loses nothing.
    doubt: Doubt<'a>,
    points: Sources,
    nodes: Sources,
    /// How far is far, in halves of the longer side.
    separation: f64,
    smoothing: f32,
    law: u32,
    /// The leaves in f64 with a limit, where one decides which points count; `None` for all points.
    limited: Option<Double>,
}

impl<'a> Tree<'a> {
    /// Takes columns `first..first + columns` of the points' values.
    pub fn new(
        index: &'a Index<'a>,
        params: &Params,
        frame: Frame,
        first: usize,
        columns: usize,
    ) -> Self {
        let n = index.len();
        let levels = expansion::levels(n);
        let place = |i: usize| frame.place(index.places[i][0], index.places[i][1]);
        let leaf = |l: usize| {
            Item::around((l * LEAF..n.min((l + 1) * LEAF)).map(place).map(|place| (place, place)))
        };
        let mut items = parallel::map(n.div_ceil(LEAF), 64, leaf);
        // The point in the middle of the order is where points are dense: f32 keeps most digits near it.
        let origin = |l: usize| place(l * LEAF + LEAF.min(n - l * LEAF) / 2);
        let origins: Vec<[f64; 2]> = (0..items.len()).map(origin).collect();
        let along = |axis: usize| {
            let relative = |i: usize| (place(i)[axis] - origins[i / LEAF][axis]) as f32;
            parallel::map(n, FINE, relative)
        };
        let column = |v: usize| {
            let offset = index.range(v).offset;
            parallel::map(n, FINE, |i| (index.value(v, i) - offset) as f32)
        };
        let mut values: Vec<Vec<f32>> = (first..first + columns).map(column).collect();
        values.resize(width(columns), vec![0.0; n]);
        let points = Sources { x: along(0), y: along(1), weights: vec![1.0; n], values };
        let mut tree = Self {
            levels,
            items: Vec::new(),
            doubt: Doubt::new(index, params, frame, (LEAF, origins.clone()), (first, columns)),
            origins,
            points,
            nodes: Sources { values: vec![Vec::new(); width(columns)], ..Sources::default() },
            separation: expansion::separation(params),
            smoothing: ((params.smoothing * frame.scale).powi(2)) as f32,
            law: params.law(),
            limited: None,
        };
        tree.add_nodes(&items, |tree, l| {
            let range = l * LEAF..n.min((l + 1) * LEAF);
            let from = [0, 1].map(|axis| tree.origins[l][axis] - items[l].middle[axis]);
            range.map(|i| tree.points.source(i, from)).collect()
        });
        for level in 1..tree.levels.len() - 1 {
            let (start, end) = (tree.levels[level - 1] as usize, tree.levels[level] as usize);
            let children = &tree.items[start..end];
            items = children
                .chunks(CHILDREN)
                .map(|four| Item::around(four.iter().map(|item| (item.low, item.high))))
                .collect();
            let parents = items.clone();
            tree.add_nodes(&items, |tree, parent| {
                let first = start + parent * CHILDREN;
                let nodes_of = |child: usize| {
                    let from = [0, 1]
                        .map(|axis| tree.items[child].middle[axis] - parents[parent].middle[axis]);
                    let nodes = child * NODES..(child + 1) * NODES;
                    nodes.map(move |i| tree.nodes.source(i, from))
                };
                (first..end.min(first + CHILDREN)).flat_map(nodes_of).collect()
            });
        }
        tree
    }

    /// Returns the tree for sums over the points within a limit, if there is one. `limited` has the leaves in f64, and
    /// the limit. It sums the leaves that lie within the limit in part, since only f64 decides which of their points
    /// count.
    pub fn within(self, limited: Option<Double>, separation: f64) -> Self {
        Self { limited, separation, ..self }
    }

    /// Adds items, with the nodes that stand for their sources.
    fn add_nodes(&mut self, items: &[Item], sources: impl Fn(&Self, usize) -> Vec<Source> + Sync) {
        let (chebyshev, columns) = (Chebyshev::<SIDE>::new(), self.nodes.values.len());
        let of_item = |i: usize| weigh(&chebyshev, items[i].half, sources(self, i), columns);
        let all = parallel::map(items.len(), 16, of_item);
        for (item, weights) in items.iter().zip(all) {
            self.items.push(*item);
            for (i, sums) in weights.iter().enumerate() {
                let [x, y] = [i / SIDE, i % SIDE].map(|k| chebyshev.nodes[k]);
                self.nodes.x.push((x * item.half[0]) as f32);
                self.nodes.y.push((y * item.half[1]) as f32);
                self.nodes.weights.push(sums[0] as f32);
                for (column, sum) in self.nodes.values.iter_mut().zip(&sums[1..]) {
                    column.push(*sum as f32);
                }
            }
        }
    }

    /// Adds the sums over all points for a chunk of targets.
    #[inline(always)]
    pub fn add<L: Lanes<Scalar = f32>>(&self, chunk: &Chunk, sums: &mut Sums) {
        match self.points.values.len() {
            1 => self.add_columns::<L, 1>(chunk, sums),
            2 => self.add_columns::<L, 2>(chunk, sums),
            _ => self.add_columns::<L, 4>(chunk, sums),
        }
    }

    #[inline(always)]
    fn add_columns<L: Lanes<Scalar = f32>, const V: usize>(&self, chunk: &Chunk, sums: &mut Sums) {
        match self.law {
            1 => self.walk::<L, V, 1>(chunk, sums),
            2 => self.walk::<L, V, 2>(chunk, sums),
            3 => self.walk::<L, V, 3>(chunk, sums),
            4 => self.walk::<L, V, 4>(chunk, sums),
            _ => self.walk::<L, V, 0>(chunk, sums),
        }
    }

    /// Visits the items from the root.
    #[inline(always)]
    fn walk<L: Lanes<Scalar = f32>, const V: usize, const LAW: u32>(
        &self,
        chunk: &Chunk,
        sums: &mut Sums,
    ) {
        let around = chunk.bounds();
        let mut visit = Visit::new(&self.levels);
        loop {
            let (item, at) = (visit.item(), visit.at);
            let far = self.items[item].is_far(&around, self.separation);
            let limited = self.limited.as_ref();
            let share = limited.map_or(Share::All, |all| all.share(&self.items[item], &around));
            if visit.level > 0 && (share == Share::Some || share == Share::All && !far) {
                visit.open();
                continue;
            }
            if let Some(limited) = limited.filter(|_| share != Share::All) {
                if share == Share::Some {
                    limited.add_leaf(at, share, chunk, sums);
                }
                if !visit.go_on() {
                    return;
                }
                continue;
            }
            let (sources, range, origin, doubt) = if far {
                (&self.nodes, item * NODES..(item + 1) * NODES, self.items[item].middle, None)
            } else {
                let points = at * LEAF..self.points.x.len().min((at + 1) * LEAF);
                (&self.points, points, self.origins[at], Some(&self.doubt))
            };
            let of_item = self.sum_item::<L, V, LAW>(sources, range, origin, chunk);
            of_item.add_to(chunk, (doubt, at, &around), sums);
            if !visit.go_on() {
                return;
            }
        }
    }

    /// The sums over sources relative to this place.
    #[inline(always)]
    fn sum_item<L: Lanes<Scalar = f32>, const V: usize, const LAW: u32>(
        &self,
        sources: &Sources,
        mut range: std::ops::Range<usize>,
        origin: [f64; 2],
        chunk: &Chunk,
    ) -> TileSums<L, V> {
        let zero = L::splat(0.0);
        let near = Near {
            x: vectors::<L>(&chunk.x, origin[0]),
            y: vectors::<L>(&chunk.y, origin[1]),
            // One of the simple powers needs none.
            exponents: if LAW == 0 { vectors(&chunk.exponents, 0.0) } else { [zero; VECTORS] },
            smoothing: L::splat(self.smoothing),
        };
        let mut of_item =
            TileSums::<L, V> { weights: [zero; VECTORS], values: [[zero; VECTORS]; V] };
        let load = |i: usize| Point::<L, V> {
            x: L::splat(sources.x[i]),
            y: L::splat(sources.y[i]),
            values: std::array::from_fn(|v| L::splat(sources.values[v][i])),
        };
        if LAW == 2 {
            while range.len() >= 2 {
                let i = range.start;
                let weights = [i, i + 1].map(|i| L::splat(sources.weights[i]));
                near.add_two_weighted(load(i), load(i + 1), weights, &mut of_item);
                range.start += 2;
            }
        }
        for i in range {
            let weight = L::splat(sources.weights[i]);
            near.add_weighted::<V, LAW>(load(i), weight, &mut of_item);
        }
        of_item
    }
}

impl Sources {
    /// A source, its place relative to a middle that lies so far from its own.
    fn source(&self, i: usize, from: [f64; 2]) -> Source {
        let mut sums = [f64::from(self.weights[i]), 0.0, 0.0, 0.0, 0.0];
        for (sum, column) in sums[1..].iter_mut().zip(&self.values) {
            *sum = f64::from(column[i]);
        }
        (f64::from(self.x[i]) + from[0], f64::from(self.y[i]) + from[1], sums)
    }
}
