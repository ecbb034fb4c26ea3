//! Far points expanded in nodes on the sphere, in f64: see [`crate::expansion`], and `kernels_rs::idw::tree::globe` for
//! what differs from the plane. In f64 places have no rounding error that matters, and antipodes are simply far.

use gpu_core::parallel;
use kernels_rs::spatial::chart::Chart;
use kernels_rs::spatial::sphere::arc_of_squared_chord;

use crate::Params;
use crate::cpu::index::Index;
use crate::cpu::pairs::frame::{Chunk, MOST, Sums};
use crate::cpu::pairs::lanes::power;
use crate::cpu::pairs::limit::{Limit, Share};
use crate::cpu::pairs::nodes::{Chebyshev, weigh};
use crate::expansion::{self, CHILDREN, LEAF, NODES, SIDE, Visit};
use crate::ground::RADIUS;

/// How far antipodes must be for an item to be far, in multiples of half the longer side of its box.
const FROM_ANTIPODE: f64 = 2.0;

/// How many charts with turned axes are tried: a run of points along a curve has a box of any shape.
const TURNS: u32 = 4;

/// A point or a node: its unit vector, weight and weighted values.
#[derive(Clone, Copy)]
struct Source {
    place: [f64; 3],
    sums: [f64; 5],
}

/// A box of points in the chart around its middle.
struct Item {
    middle: [f64; 3],
    /// Half of the longer side.
    half: f64,
    /// Between which unit vectors its points lie.
    low: [f64; 3],
    high: [f64; 3],
}

/// The items, leaves first.
pub(crate) struct Globe {
    levels: Vec<u32>,
    items: Vec<Item>,
    points: Vec<Source>,
    nodes: Vec<Source>,
    columns: usize,
    separation: f64,
    smoothing: f64,
    law: u32,
    /// Whether powers are those of f32, which vectors have: not for results in f64.
    single: bool,
    /// Which points count; `None` for all.
    limit: Option<Limit>,
}

/// The box of a chunk's unit vectors.
struct Around {
    low: [f64; 3],
    high: [f64; 3],
}

impl Around {
    fn new(chunk: &Chunk) -> Self {
        let axes = [&chunk.x, &chunk.y, &chunk.z];
        Self {
            low: axes.map(|all| all.iter().copied().fold(f64::INFINITY, f64::min)),
            high: axes.map(|all| all.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        }
    }

    /// The square of the least distance from a place.
    fn gap(&self, place: [f64; 3]) -> f64 {
        let along = |axis: usize| {
            (self.low[axis] - place[axis]).max(place[axis] - self.high[axis]).max(0.0).powi(2)
        };
        along(0) + along(1) + along(2)
    }

    /// Whether an item is far from the targets, and from their antipodes.
    fn is_far(&self, &Item { middle, half, .. }: &Item, separation: f64) -> bool {
        let (gap, other) = (self.gap(middle), self.gap(middle.map(|x| -x)));
        // An item without extent that a target lies on is not far.
        gap >= (separation * half).powi(2) && gap > 0.0 && other >= (FROM_ANTIPODE * half).powi(2)
    }
}

impl Globe {
    /// Takes columns `first..first + columns` of the points' values.
    pub fn new(index: &Index, params: &Params, first: usize, columns: usize) -> Self {
        let point = |i: usize| {
            let mut sums = [1.0, 0.0, 0.0, 0.0, 0.0];
            for (sum, v) in sums[1..].iter_mut().zip(first..first + columns) {
                *sum = index.value(v, i) - index.range(v).offset;
            }
            Source { place: index.places[i], sums }
        };
        let mut globe = Self {
            levels: expansion::levels(index.len()),
            items: Vec::new(),
            points: parallel::map(index.len(), parallel::FINE, point),
            nodes: Vec::new(),
            columns,
            separation: expansion::separation(params),
            smoothing: (params.smoothing / RADIUS).powi(2),
            law: params.law(),
            single: true,
            limit: None,
        };
        let chebyshev = Chebyshev::new();
        for level in 0..globe.levels.len() - 1 {
            let len = expansion::items_of(&globe.levels, level);
            let made = parallel::map(len, 16, |at| {
                let bounds = globe.bounds_of(level, at);
                stand_for(&chebyshev, globe.sources_of(level, at), bounds, globe.columns)
            });
            for (item, nodes) in made {
                globe.items.push(item);
                globe.nodes.extend(nodes);
            }
        }
        globe
    }

    /// Returns the tree for sums over the points within a limit, if there is one, for results in f32 or f64.
    pub fn within(self, limit: Option<Limit>, separation: f64, single: bool) -> Self {
        Self { limit, separation, single, ..self }
    }

    /// The box of an item's points, from that of the items below.
    fn bounds_of(&self, level: usize, at: usize) -> [[f64; 3]; 2] {
        let around = |boxes: &mut dyn Iterator<Item = [[f64; 3]; 2]>| {
            let empty = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
            boxes.fold(empty, |[low, high], [l, h]| {
                [[0, 1, 2].map(|k| low[k].min(l[k])), [0, 1, 2].map(|k| high[k].max(h[k]))]
            })
        };
        match level {
            0 => around(&mut self.sources_of(0, at).iter().map(|point| [point.place; 2])),
            _ => around(&mut self.items[self.below(level, at)].iter().map(|i| [i.low, i.high])),
        }
    }

    /// The items below one that is not a leaf.
    fn below(&self, level: usize, at: usize) -> std::ops::Range<usize> {
        let first = self.levels[level - 1] as usize + at * CHILDREN;
        first..(first + CHILDREN).min(self.levels[level] as usize)
    }

    /// How much of an item counts for the targets around.
    fn share(&self, item: usize, around: &Around) -> Share {
        let Some(limit) = &self.limit else { return Share::All };
        let Item { low, high, .. } = &self.items[item];
        limit.share([0, 1, 2].map(|k| [low[k] - around.high[k], high[k] - around.low[k]]))
    }

    /// Returns the sources of an item: points, or the nodes of the items below.
    fn sources_of(&self, level: usize, at: usize) -> &[Source] {
        if level == 0 {
            return &self.points[at * LEAF..self.points.len().min((at + 1) * LEAF)];
        }
        let items = self.below(level, at);
        &self.nodes[items.start * NODES..items.end * NODES]
    }

    /// Adds the sums over all points for a chunk of targets, whose places are unit vectors. Operations are the same on
    /// every processor: wider instructions change no bit.
    pub fn add(&self, chunk: &Chunk, sums: &mut Sums) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f")]
            fn widest(globe: &Globe, chunk: &Chunk, sums: &mut Sums) {
                globe.walk(chunk, sums);
            }
            #[target_feature(enable = "avx2")]
            fn wide(globe: &Globe, chunk: &Chunk, sums: &mut Sums) {
                globe.walk(chunk, sums);
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
        let around = Around::new(chunk);
        let mut visit = Visit::new(&self.levels);
        loop {
            let (item, at) = (visit.item(), visit.at);
            let far = around.is_far(&self.items[item], self.separation);
            let share = self.share(item, &around);
            if visit.level > 0 && (share == Share::Some || share == Share::All && !far) {
                visit.open();
                continue;
            }
            match share {
                Share::Nothing => {}
                Share::All if far => {
                    let nodes = &self.nodes[item * NODES..(item + 1) * NODES];
                    self.add_sources(nodes, None, None, chunk, sums);
                }
                _ => {
                    let limit = self.limit.filter(|_| share == Share::Some);
                    let leaf = self.sources_of(0, at);
                    self.add_sources(leaf, Some(at * LEAF), limit, chunk, sums);
                }
            }
            if !visit.go_on() {
                return;
            }
        }
    }

    /// Adds sources, those within a limit if there is one; of a leaf `first` is the number of the first.
    #[inline(always)]
    fn add_sources(
        &self,
        sources: &[Source],
        first: Option<usize>,
        limit: Option<Limit>,
        chunk: &Chunk,
        sums: &mut Sums,
    ) {
        for (i, source) in sources.iter().enumerate() {
            let mut weights = [0.0; MOST];
            let [x, y, z] = source.place;
            for (k, weight) in weights.iter_mut().enumerate() {
                let [dx, dy, dz] = [x - chunk.x[k], y - chunk.y[k], z - chunk.z[k]];
                *weight = dx * dx + dy * dy + dz * dz;
            }
            if let Some(limit) = limit {
                limit.clear(source.place, [&chunk.x, &chunk.y, &chunk.z], &mut weights);
            }
            match self.single {
                true => self.weigh_chords_in_f32(&mut weights, &chunk.exponents),
                false => self.weigh_chords(&mut weights, &chunk.exponents),
            }
            chunk.leave_out(first.map(|first| first + i), &mut weights);
            for (sums, of_source) in sums[..=self.columns].iter_mut().zip(source.sums) {
                for (sum, weight) in sums.iter_mut().zip(&weights) {
                    *sum += weight * of_source;
                }
            }
        }
    }
}

impl Globe {
    /// Weights in place of squares of chords; of an infinite one none.
    #[inline(always)]
    fn weigh_chords(&self, squares: &mut [f64; MOST], exponents: &[f64; MOST]) {
        for square in squares.iter_mut() {
            let arc = arc_of_squared_chord(*square);
            *square = if *square < f64::INFINITY { arc * arc + self.smoothing } else { *square };
        }
        weigh_squares(self.law, squares, exponents);
    }

    /// The same for results in f32: an arc in f32 loses no more than these have, and takes a fourth of the time.
    #[inline(always)]
    fn weigh_chords_in_f32(&self, squares: &mut [f64; MOST], exponents: &[f64; MOST]) {
        let smoothing = self.smoothing as f32;
        let mut arcs = [0.0f32; MOST];
        for (arc, square) in arcs.iter_mut().zip(squares.iter()) {
            *arc = *square as f32;
        }
        for arc in &mut arcs {
            let angle = arc_of_squared_chord(*arc);
            *arc = if *arc < f32::INFINITY { angle * angle + smoothing } else { *arc };
        }
        match self.law {
            1 => arcs.iter_mut().for_each(|s| *s = 1.0 / s.sqrt()),
            2 => arcs.iter_mut().for_each(|s| *s = 1.0 / *s),
            3 => arcs.iter_mut().for_each(|s| *s = 1.0 / (*s * s.sqrt())),
            4 => arcs.iter_mut().for_each(|s| *s = 1.0 / (*s * *s)),
            _ => arcs.iter_mut().zip(exponents).for_each(|(s, e)| *s = power(*s, *e as f32)),
        }
        for (weight, arc) in squares.iter_mut().zip(&arcs) {
            *weight = f64::from(*arc);
        }
    }
}

/// Weights in place of squared distances.
#[inline(always)]
pub(crate) fn weigh_squares(law: u32, squares: &mut [f64; MOST], exponents: &[f64; MOST]) {
    match law {
        1 => squares.iter_mut().for_each(|s| *s = 1.0 / s.sqrt()),
        2 => squares.iter_mut().for_each(|s| *s = 1.0 / *s),
        3 => squares.iter_mut().for_each(|s| *s = 1.0 / (*s * s.sqrt())),
        4 => squares.iter_mut().for_each(|s| *s = 1.0 / (*s * *s)),
        _ => squares.iter_mut().zip(exponents).for_each(|(s, exponent)| *s = s.powf(*exponent)),
    }
}

/// A chart, the sources' places in it, and half of the sides of their box.
fn in_chart(chart: Chart, sources: &[Source]) -> (Chart, Vec<[f64; 2]>, [f64; 2]) {
    let places: Vec<[f64; 2]> = sources.iter().map(|source| chart.place(source.place)).collect();
    let half = [0, 1].map(|axis| places.iter().fold(0.0, |far, p| f64::max(far, p[axis].abs())));
    (chart, places, half)
}

/// The item of some sources, and its nodes.
fn stand_for(
    chebyshev: &Chebyshev<SIDE>,
    sources: &[Source],
    [low_of_points, high_of_points]: [[f64; 3]; 2],
    columns: usize,
) -> (Item, Vec<Source>) {
    let bound = |axis: usize| {
        let along = || sources.iter().map(|source| source.place[axis]);
        along().fold(f64::INFINITY, f64::min) + along().fold(f64::NEG_INFINITY, f64::max)
    };
    let chart = Chart::around([bound(0), bound(1), bound(2)]);
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for place in sources.iter().map(|source| chart.place(source.place)) {
        low = [0, 1].map(|axis| f64::min(low[axis], place[axis]));
        high = [0, 1].map(|axis| f64::max(high[axis], place[axis]));
    }
    let straight = Chart::around(chart.vector([0, 1].map(|axis| (low[axis] + high[axis]) / 2.0)));
    let (chart, places, half) = (0..TURNS)
        .map(|turn| in_chart(straight.turned(turn * (8 / TURNS)), sources))
        .min_by(|(.., a), (.., b)| a[0].max(a[1]).total_cmp(&b[0].max(b[1])))
        .unwrap_or_else(|| in_chart(straight, sources));
    let sources = places.iter().zip(sources).map(|(&[u, v], source)| (u, v, source.sums));
    let weights = weigh(chebyshev, half, sources, columns);
    let node = |(i, sums): (usize, [f64; 5])| {
        let [u, v] = [i / SIDE, i % SIDE].map(|k| chebyshev.nodes[k]);
        Source { place: chart.vector([u * half[0], v * half[1]]), sums }
    };
    let nodes = weights.into_iter().enumerate().map(node).collect();
    let half = half[0].max(half[1]);
    (Item { middle: chart.middle, half, low: low_of_points, high: high_of_points }, nodes)
}
