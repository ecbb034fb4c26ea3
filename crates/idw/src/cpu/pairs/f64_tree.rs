//! Far points expanded in nodes in f64, for results in f64: see [`crate::expansion`] and
//! `kernels_rs::idw::tree::f64_tree`.

use gpu_core::parallel::{self, FINE};

use crate::Params;
use crate::cpu::index::Index;
use crate::cpu::pairs::frame::{Chunk, Frame, MOST, Sums};
use crate::cpu::pairs::globe_tree::weigh_squares;
use crate::cpu::pairs::limit::{Limit, Share};
use crate::cpu::pairs::nodes::{Chebyshev, Item, weigh};
use crate::expansion::{self, CHILDREN, LEAF, NODES_IN_F64 as NODES, SIDE_IN_F64, Visit};

/// A point, or a node relative to the middle of its item: its place, weight and weighted values.
#[derive(Clone, Copy)]
struct Source {
    place: [f64; 2],
    sums: [f64; 5],
}

/// The items, leaves first. Leaves have no nodes, since they would have as many as points.
pub(crate) struct Double {
    levels: Vec<u32>,
    items: Vec<Item>,
    points: Vec<Source>,
    nodes: Vec<Source>,
    columns: usize,
    separation: f64,
    smoothing: f64,
    law: u32,
    /// Which points count; `None` for all.
    limit: Option<Limit>,
}

impl Double {
    /// Takes only the leaves, with columns `first..first + columns` of the points' values.
    pub fn leaves(
        index: &Index,
        params: &Params,
        frame: Frame,
        first: usize,
        columns: usize,
    ) -> Self {
        let point = |i: usize| {
            let mut sums = [1.0, 0.0, 0.0, 0.0, 0.0];
            for (sum, v) in sums[1..].iter_mut().zip(first..first + columns) {
                *sum = index.value(v, i) - index.range(v).offset;
            }
            Source { place: frame.place(index.places[i][0], index.places[i][1]), sums }
        };
        let points = parallel::map(index.len(), FINE, point);
        let around = |leaf: &[Source]| Item::around(leaf.iter().map(|p| (p.place, p.place)));
        Self {
            levels: expansion::levels(index.len()),
            items: points.chunks(LEAF).map(around).collect(),
            points,
            nodes: Vec::new(),
            columns,
            separation: expansion::separation_in_f64(params),
            smoothing: (params.smoothing * frame.scale).powi(2),
            law: params.law(),
            limit: None,
        }
    }

    /// All items.
    pub fn new(index: &Index, params: &Params, frame: Frame, first: usize, columns: usize) -> Self {
        let mut tree = Self::leaves(index, params, frame, first, columns);
        let chebyshev = Chebyshev::new();
        for level in 1..tree.levels.len() - 1 {
            let made = parallel::map(expansion::items_of(&tree.levels, level), 4, |at| {
                tree.stand_for(&chebyshev, level, at)
            });
            for (item, nodes) in made {
                tree.items.push(item);
                tree.nodes.extend(nodes);
            }
        }
        tree
    }

    /// Returns the tree for sums over the points within a limit, in the frame's units, if there is one.
    pub fn within(self, limit: Option<Limit>, separation: f64) -> Self {
        Self { limit, separation, ..self }
    }

    /// The points of a leaf.
    fn leaf(&self, at: usize) -> &[Source] {
        &self.points[at * LEAF..self.points.len().min((at + 1) * LEAF)]
    }

    /// The nodes of an item above the leaves.
    fn nodes(&self, item: usize) -> &[Source] {
        let at = item - self.levels[1] as usize;
        &self.nodes[at * NODES..(at + 1) * NODES]
    }

    /// An item above the leaves, and its nodes.
    fn stand_for(
        &self,
        chebyshev: &Chebyshev<SIDE_IN_F64>,
        level: usize,
        at: usize,
    ) -> (Item, Vec<Source>) {
        let below = self.levels[level - 1] as usize;
        let children =
            at * CHILDREN..expansion::items_of(&self.levels, level - 1).min((at + 1) * CHILDREN);
        let boxes = &self.items[below + children.start..below + children.end];
        let item = Item::around(boxes.iter().map(|child| (child.low, child.high)));
        let sources = children.flat_map(|child| {
            let (sources, from) = match level {
                1 => (self.leaf(child), [0.0; 2]),
                _ => (self.nodes(below + child), self.items[below + child].middle),
            };
            let from = [0, 1].map(|axis| from[axis] - item.middle[axis]);
            sources.iter().map(move |s| (s.place[0] + from[0], s.place[1] + from[1], s.sums))
        });
        let weights = weigh(chebyshev, item.half, sources, self.columns);
        let node = |(i, sums): (usize, [f64; 5])| {
            let [x, y] = [i / SIDE_IN_F64, i % SIDE_IN_F64].map(|k| chebyshev.nodes[k]);
            Source { place: [x * item.half[0], y * item.half[1]], sums }
        };
        (item, weights.into_iter().enumerate().map(node).collect())
    }

    /// Adds the sums over all points for a chunk of targets. Operations are the same on every processor: wider
    /// instructions change no bit.
    pub fn add(&self, chunk: &Chunk, sums: &mut Sums) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f")]
            fn widest(tree: &Double, chunk: &Chunk, sums: &mut Sums) {
                tree.walk(chunk, sums);
            }
            #[target_feature(enable = "avx2")]
            fn wide(tree: &Double, chunk: &Chunk, sums: &mut Sums) {
                tree.walk(chunk, sums);
            }
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: a check has found these instructions on the processor.
                return unsafe { widest(self, chunk, sums) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: a check has found these instructions on the processor.
                return unsafe { wide(self, chunk, sums) };
            }
        }
        self.walk(chunk, sums);
    }

    /// Visits the items from the root.
    #[inline(always)]
    fn walk(&self, chunk: &Chunk, sums: &mut Sums) {
        let around = chunk.bounds();
        let mut visit = Visit::new(&self.levels);
        loop {
            let (item, at) = (visit.item(), visit.at);
            let share = self.share(&self.items[item], &around);
            let far = visit.level > 0 && self.items[item].is_far(&around, self.separation);
            if visit.level > 0 && (share == Share::Some || share == Share::All && !far) {
                visit.open();
                continue;
            }
            match share {
                Share::Nothing => {}
                Share::All if far => {
                    let nodes = (self.nodes(item), self.items[item].middle);
                    self.add_sources(nodes, None, None, chunk, sums);
                }
                _ => self.add_leaf(at, share, chunk, sums),
            }
            if !visit.go_on() {
                return;
            }
        }
    }

    /// Adds the points of a leaf; `share` says how much of it counts.
    #[inline(always)]
    pub fn add_leaf(&self, at: usize, share: Share, chunk: &Chunk, sums: &mut Sums) {
        // Points by their own coordinates: differences of these lose nothing.
        let leaf = (self.leaf(at), [0.0; 2]);
        let limit = self.limit.filter(|_| share == Share::Some);
        self.add_sources(leaf, Some(at * LEAF), limit, chunk, sums);
    }

    /// How much of an item counts for targets in a box.
    pub fn share(&self, item: &Item, (low, high): &([f64; 2], [f64; 2])) -> Share {
        let Some(limit) = &self.limit else { return Share::All };
        let [x, y] = [0, 1].map(|k| [item.low[k] - high[k], item.high[k] - low[k]]);
        limit.share([x, y, [0.0; 2]])
    }

    /// Adds sources relative to an origin, those within a limit if there is one; of a leaf `first` is the number of the first.
    #[inline(always)]
    fn add_sources(
        &self,
        (sources, origin): (&[Source], [f64; 2]),
        first: Option<usize>,
        limit: Option<Limit>,
        chunk: &Chunk,
        sums: &mut Sums,
    ) {
        let (mut x, mut y) = (chunk.x, chunk.y);
        x.iter_mut().for_each(|x| *x -= origin[0]);
        y.iter_mut().for_each(|y| *y -= origin[1]);
        for (i, source) in sources.iter().enumerate() {
            let mut weights = [0.0; MOST];
            for (k, weight) in weights.iter_mut().enumerate() {
                let (dx, dy) = (source.place[0] - x[k], source.place[1] - y[k]);
                *weight = dx * dx + dy * dy + self.smoothing;
            }
            if let Some(limit) = limit {
                let [px, py] = source.place;
                limit.clear([px, py, 0.0], [&x, &y, &[0.0; MOST]], &mut weights);
            }
            weigh_squares(self.law, &mut weights, &chunk.exponents);
            chunk.leave_out(first.map(|first| first + i), &mut weights);
            for (sums, of_source) in sums[..=self.columns].iter_mut().zip(source.sums) {
                for (sum, weight) in sums.iter_mut().zip(&weights) {
                    *sum += weight * of_source;
                }
            }
        }
    }
}
