//! Boxes of points, and the weights of the Chebyshev nodes that stand for sources in a box.

/// One source in f64, while weights are computed.
pub(crate) type Source = (f64, f64, [f64; 5]);

/// A box of points, in units.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub low: [f64; 2],
    pub high: [f64; 2],
    pub middle: [f64; 2],
    /// Half of each side.
    pub half: [f64; 2],
}

impl Item {
    fn new(low: [f64; 2], high: [f64; 2]) -> Self {
        let middle = [0, 1].map(|axis| low[axis] / 2.0 + high[axis] / 2.0);
        let half = [0, 1].map(|axis| (high[axis] - middle[axis]).max(middle[axis] - low[axis]));
        Self { low, high, middle, half }
    }

    pub fn around(places: impl Iterator<Item = ([f64; 2], [f64; 2])>) -> Self {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for (l, h) in places {
            low = [0, 1].map(|axis| low[axis].min(l[axis]));
            high = [0, 1].map(|axis| high[axis].max(h[axis]));
        }
        Self::new(low, high)
    }

    /// Whether the box is far from the box of the targets.
    pub fn is_far(&self, (low, high): &([f64; 2], [f64; 2]), separation: f64) -> bool {
        let gap = |axis: usize| {
            let middle = self.middle[axis];
            (low[axis] - middle).max(middle - high[axis]).max(0.0)
        };
        let (gx, gy) = (gap(0), gap(1));
        let reach = separation * self.half[0].max(self.half[1]);
        // An item without extent that a target lies on is not far.
        let squared = gx * gx + gy * gy;
        squared >= reach * reach && squared > 0.0
    }
}

/// The Chebyshev nodes of -1..1, and 1 / the product of each one's distances from the others.
pub(crate) struct Chebyshev<const N: usize> {
    pub nodes: [f64; N],
    factors: [f64; N],
}

impl<const N: usize> Chebyshev<N> {
    pub fn new() -> Self {
        let angle = |k: usize| (2 * k + 1) as f64 * std::f64::consts::PI / (2 * N) as f64;
        let nodes: [f64; N] = std::array::from_fn(|k| angle(k).cos());
        let others = |k: usize| (0..N).filter(move |&j| j != k);
        let factors =
            std::array::from_fn(|k| 1.0 / others(k).map(|j| nodes[k] - nodes[j]).product::<f64>());
        Self { nodes, factors }
    }

    /// The Lagrange polynomials at a place of -1..1.
    fn basis(&self, t: f64) -> [f64; N] {
        let mut all = self.factors;
        let mut below = 1.0;
        for (value, node) in all.iter_mut().zip(&self.nodes) {
            *value *= below;
            below *= t - node;
        }
        let mut above = 1.0;
        for (value, node) in all.iter_mut().zip(&self.nodes).rev() {
            *value *= above;
            above *= t - node;
        }
        all
    }
}

/// The weights, and weighted values, of the nodes that stand for sources in a box with these halves of sides.
pub(crate) fn weigh<const N: usize>(
    chebyshev: &Chebyshev<N>,
    half: [f64; 2],
    sources: impl IntoIterator<Item = Source>,
    columns: usize,
) -> Vec<[f64; 5]> {
    let mut all = vec![[0.0; 5]; N * N];
    // A box without extent has all its nodes in one place, and any basis will do.
    let [per_x, per_y] = half.map(|half| if half > 0.0 { 1.0 / half } else { 0.0 });
    for (x, y, of_source) in sources {
        let (across, up) = (chebyshev.basis(x * per_x), chebyshev.basis(y * per_y));
        for (row, a) in all.chunks_exact_mut(N).zip(across) {
            for (sums, b) in row.iter_mut().zip(up) {
                for (sum, source) in sums[..=columns].iter_mut().zip(of_source) {
                    *sum += a * b * source;
                }
            }
        }
    }
    all
}
