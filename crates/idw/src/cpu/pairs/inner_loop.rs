//! The inner loop of the sums over all points: a chunk of targets against points, or nodes with weights of
//! their own, in vectors of targets.

use crate::Number;
use crate::cpu::pairs::error_bound::Doubt;
use crate::cpu::pairs::frame::{Chunk, MOST, NO_SUMS, Sums, VECTORS};
use crate::cpu::pairs::lanes::Lanes;

/// A chunk near a tile.
pub(crate) struct Near<L> {
    pub x: [L; VECTORS],
    pub y: [L; VECTORS],
    pub exponents: [L; VECTORS],
    pub smoothing: L,
}

/// One point, in every lane.
#[derive(Clone, Copy)]
pub(crate) struct Point<L, const V: usize> {
    pub x: L,
    pub y: L,
    pub values: [L; V],
}

/// The sums of a tile.
pub(crate) struct TileSums<L, const V: usize> {
    pub weights: [L; VECTORS],
    pub values: [[L; VECTORS]; V],
}

/// Vectors of what each target of a chunk has, less a number. Without closures: what these call is no part of the function
/// around that is compiled for wide vectors.
#[inline(always)]
pub(crate) fn vectors<L: Lanes>(all: &[f64; MOST], less: f64) -> [L; VECTORS] {
    let mut lanes = [L::Scalar::from_f64(0.0); MOST];
    for (lane, x) in lanes.iter_mut().zip(all) {
        *lane = L::Scalar::from_f64(x - less);
    }
    let mut vectors = [L::splat(lanes[0]); VECTORS];
    for (q, vector) in vectors.iter_mut().enumerate() {
        *vector = L::load(&lanes[q * L::COUNT..(q + 1) * L::COUNT]);
    }
    vectors
}

impl<L: Lanes, const V: usize> TileSums<L, V> {
    /// Adds the sums over a tile or a leaf to the sums in f64. If the error bound of the sums is too large, f64
    /// computes them again first.
    #[inline(always)]
    pub fn add_to(
        &self,
        chunk: &Chunk,
        (doubt, tile, bounds): (Option<&Doubt>, usize, &([f64; 2], [f64; 2])),
        sums: &mut Sums,
    ) {
        match doubt.filter(|doubt| doubt.is_near(tile, bounds)) {
            None => self.add_up(sums),
            Some(doubt) => {
                let mut of_tile = NO_SUMS;
                self.add_up(&mut of_tile);
                doubt.add(tile, chunk, &mut of_tile, sums);
            }
        }
    }

    #[inline(always)]
    fn add_up(&self, sums: &mut Sums) {
        add_up(&self.weights, &mut sums[0]);
        for v in 0..V {
            add_up(&self.values[v], &mut sums[1 + v]);
        }
    }
}

/// Adds a tile's sums to those in f64.
#[inline(always)]
fn add_up<L: Lanes>(of_tile: &[L; VECTORS], sums: &mut [f64; MOST]) {
    let mut lanes = [L::Scalar::from_f64(0.0); 16];
    for (q, vector) in of_tile.iter().enumerate() {
        vector.store(&mut lanes[..L::COUNT]);
        let all = &mut sums[q * L::COUNT..(q + 1) * L::COUNT];
        for (sum, lane) in all.iter_mut().zip(&lanes) {
            *sum += lane.to_f64();
        }
    }
}

impl<L: Lanes> Near<L> {
    /// Returns the share of y and the smoothing in the square of the distance.
    #[inline(always)]
    fn of_y<const V: usize>(&self, q: usize, p: &Point<L, V>) -> L {
        let dy = p.y.sub(self.y[q]);
        dy.mul_add(dy, self.smoothing)
    }

    /// The square of a distance, `row` being the share of the targets' row.
    #[inline(always)]
    fn squared<const V: usize, const ROW: bool>(&self, q: usize, p: &Point<L, V>, row: L) -> L {
        let dx = p.x.sub(self.x[q]);
        dx.mul_add(dx, if ROW { row } else { self.of_y(q, p) })
    }

    /// The weight at the square of a distance.
    #[inline(always)]
    fn weight<const LAW: u32>(&self, q: usize, squared: L) -> L {
        match LAW {
            1 => squared.reciprocal_sqrt(),
            2 => squared.reciprocal(),
            3 => {
                let root = squared.reciprocal_sqrt();
                root.mul(root).mul(root)
            }
            4 => {
                let reciprocal = squared.reciprocal();
                reciprocal.mul(reciprocal)
            }
            _ => squared.power(self.exponents[q]),
        }
    }

    /// Adds a point.
    #[inline(always)]
    pub fn add_one<const V: usize, const LAW: u32, const ROW: bool>(
        &self,
        p: Point<L, V>,
        sums: &mut TileSums<L, V>,
    ) {
        let row = self.of_y(0, &p);
        for q in 0..VECTORS {
            let weight = self.weight::<LAW>(q, self.squared::<V, ROW>(q, &p, row));
            sums.weights[q] = sums.weights[q].add(weight);
            for v in 0..V {
                sums.values[v][q] = weight.mul_add(p.values[v], sums.values[v][q]);
            }
        }
    }

    /// Adds two points that share a reciprocal: 1/a + 1/b = (a + b) / (a b).
    #[inline(always)]
    pub fn add_two<const V: usize, const ROW: bool>(
        &self,
        p: Point<L, V>,
        r: Point<L, V>,
        sums: &mut TileSums<L, V>,
    ) {
        let rows = [self.of_y(0, &p), self.of_y(0, &r)];
        for q in 0..VECTORS {
            let a = self.squared::<V, ROW>(q, &p, rows[0]);
            let b = self.squared::<V, ROW>(q, &r, rows[1]);
            let reciprocal = a.mul(b).reciprocal();
            sums.weights[q] = a.add(b).mul_add(reciprocal, sums.weights[q]);
            for v in 0..V {
                let crossed = p.values[v].mul_add(b, r.values[v].mul(a));
                sums.values[v][q] = crossed.mul_add(reciprocal, sums.values[v][q]);
            }
        }
    }

    /// Adds a node, or a point with its weight.
    #[inline(always)]
    pub fn add_weighted<const V: usize, const LAW: u32>(
        &self,
        p: Point<L, V>,
        weight: L,
        sums: &mut TileSums<L, V>,
    ) {
        for q in 0..VECTORS {
            let kernel = self.weight::<LAW>(q, self.squared::<V, false>(q, &p, self.smoothing));
            sums.weights[q] = kernel.mul_add(weight, sums.weights[q]);
            for v in 0..V {
                sums.values[v][q] = kernel.mul_add(p.values[v], sums.values[v][q]);
            }
        }
    }

    /// Two sources that share a reciprocal: v/a + w/b = (v b + w a) / (a b).
    #[inline(always)]
    pub fn add_two_weighted<const V: usize>(
        &self,
        p: Point<L, V>,
        r: Point<L, V>,
        weights: [L; 2],
        sums: &mut TileSums<L, V>,
    ) {
        for q in 0..VECTORS {
            let a = self.squared::<V, false>(q, &p, self.smoothing);
            let b = self.squared::<V, false>(q, &r, self.smoothing);
            let reciprocal = a.mul(b).reciprocal();
            let crossed = weights[0].mul_add(b, weights[1].mul(a));
            sums.weights[q] = crossed.mul_add(reciprocal, sums.weights[q]);
            for v in 0..V {
                let crossed = p.values[v].mul_add(b, r.values[v].mul(a));
                sums.values[v][q] = crossed.mul_add(reciprocal, sums.values[v][q]);
            }
        }
    }
}
