//! The inner loop of the sums over all points: the targets of a thread against the sources that a block
//! has staged in shared memory.
//!
//! A source is a data point, or a node that stands for several points and has a weight of its own. A pair costs 4 f32
//! operations for the distance, 2 if the targets of a thread lie in one row of a grid. The sums cost 2 more, and the
//! weight a reciprocal, a reciprocal square root, or a logarithm and a power. At power 2, two sources share a
//! reciprocal: v / a + w / b = (v b + w a) / (a b).

use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};

use super::weights::Law;
use super::{BLOCK, TILE};

/// `f32::mul_add` under a name that the inherent method of the host does not hide.
pub trait MulAdd {
    /// `self * b + c`, rounded once.
    fn mul_add_(self, b: f32, c: f32) -> f32;
}

impl MulAdd for f32 {
    #[inline(always)]
    fn mul_add_(self, b: f32, c: f32) -> f32 {
        Real::mul_add(self, b, c)
    }
}

/// The shared memory of a block that sums.
#[derive(Clone, Copy)]
pub struct Shared {
    /// The targets' places relative to the middle of the data, in units: x and its rest after rounding to f32, y and
    /// its rest.
    pub targets: SharedArray<Vector>,
    /// Sums: weights, then weighted values, of each target of each thread.
    pub sums: SharedArray<f64>,
    /// The sources: x, y, then for a node its weight, then the value if there is one.
    pub sources: SharedArray<Vector>,
    /// Their values, where there are several.
    pub values: SharedArray<Vector>,
}

impl Shared {
    /// For `targets` targets of a thread and `values` values of a point. Whatever lies before the vectors has whole
    /// vectors, so they begin at multiples of 16.
    #[inline(always)]
    pub const fn new(carver: &mut Carver, targets: u32, values: u32) -> Self {
        let of_block = BLOCK * targets;
        Self {
            targets: carver.array(of_block),
            sums: carver.array(of_block * (1 + values)),
            sources: carver.array(TILE),
            values: carver.array(if values > 1 { TILE } else { 0 }),
        }
    }

    /// The place of the thread's target `j` relative to an origin.
    ///
    /// # Safety
    /// The thread has stored its targets.
    #[inline(always)]
    pub unsafe fn place_from(&self, slot: u32, origin: [f32; 2]) -> [f32; 2] {
        // SAFETY: the slot is stored, as the caller says.
        let [x, x_rest, y, y_rest] = unsafe { self.targets.load(slot) };
        [
            (f32::from_bits(x) - origin[0]) + f32::from_bits(x_rest),
            (f32::from_bits(y) - origin[1]) + f32::from_bits(y_rest),
        ]
    }
}

/// Where a thread keeps sum `c` (weights, then weighted values) of its target `j`.
#[inline(always)]
pub fn slot<const Q: usize>(c: usize, j: u32, thread: u32) -> u32 {
    (c as u32 * Q as u32 + j) * BLOCK + thread
}

/// The sums of a thread's targets over what is staged, in f32.
#[derive(Clone, Copy)]
pub struct GroupSums<const Q: usize, const V: usize> {
    /// Of weights.
    pub weights: [f32; Q],
    /// Of weighted values.
    pub values: [[f32; Q]; V],
}

impl<const Q: usize, const V: usize> GroupSums<Q, V> {
    /// Empty sums.
    pub const NONE: Self = Self { weights: [0.0; Q], values: [[0.0; Q]; V] };

    /// The sum of weights of target `j`, then those of weighted values.
    #[inline(always)]
    pub fn of(&self, c: usize, j: usize) -> f32 {
        if c == 0 { self.weights[j] } else { self.values[(c - 1) % V][j] }
    }

    /// Adds a source; `weight` is that of its distance from target `j`. With `W`, the source has its own weight.
    #[inline(always)]
    pub fn add<const W: bool>(
        &mut self,
        j: usize,
        of_distance: f32,
        weight: f32,
        values: &[f32; V],
    ) {
        if W {
            self.weights[j] = of_distance.mul_add_(weight, self.weights[j]);
        } else {
            self.weights[j] += of_distance;
        }
        let mut v = 0;
        while v < V {
            self.values[v][j] = of_distance.mul_add_(values[v], self.values[v][j]);
            v += 1;
        }
    }

    /// Adds two sources at these squared distances from target `j`, at power 2.
    #[inline(always)]
    pub fn add_two<const W: bool>(
        &mut self,
        j: usize,
        [a, b]: [f32; 2],
        weights: [f32; 2],
        values: [&[f32; V]; 2],
    ) {
        let reciprocal = (a * b).reciprocal();
        let crossed = if W { weights[0].mul_add_(b, weights[1] * a) } else { a + b };
        self.weights[j] = crossed.mul_add_(reciprocal, self.weights[j]);
        let mut v = 0;
        while v < V {
            let crossed = values[0][v].mul_add_(b, values[1][v] * a);
            self.values[v][j] = crossed.mul_add_(reciprocal, self.values[v][j]);
            v += 1;
        }
    }

    /// The sums of target `j`. The sums are registers and the compiler does not know `j`, so each is compared.
    #[inline(always)]
    pub fn pick(&self, j: u32) -> (f32, [f32; V]) {
        let mut values = [0.0; V];
        let mut v = 0;
        while v < V {
            values[v] = pick(&self.values[v], j);
            v += 1;
        }
        (pick(&self.weights, j), values)
    }
}

/// Element `j` of an array in registers; the compiler does not know `j`.
#[inline(always)]
fn pick<const Q: usize>(all: &[f32; Q], j: u32) -> f32 {
    let mut picked = 0.0;
    let mut k = 0;
    while k < Q {
        if k as u32 == j {
            picked = all[k];
        }
        k += 1;
    }
    picked
}

/// A staged source, with a weight of its own where `WEIGHTED`.
#[derive(Clone, Copy)]
pub struct Source<const WEIGHTED: bool, const V: usize> {
    x: f32,
    y: f32,
    weight: f32,
    /// The values; those of a node are weighted.
    pub values: [f32; V],
}

impl<const WEIGHTED: bool, const V: usize> Source<WEIGHTED, V> {
    /// The source in a slot.
    ///
    /// # Safety
    /// `slot` holds a source.
    #[inline(always)]
    pub unsafe fn load(room: &Shared, slot: u32) -> Self {
        // SAFETY: the slot holds a source, as the caller says.
        unsafe {
            let [x, y, third, fourth] = room.sources.load(slot);
            let value = if WEIGHTED { fourth } else { third };
            let all = if V > 1 { room.values.load(slot) } else { [value, 0, 0, 0] };
            let mut values = [0.0; V];
            let mut v = 0;
            while v < V {
                values[v] = f32::from_bits(all[v]);
                v += 1;
            }
            let weight = if WEIGHTED { f32::from_bits(third) } else { 1.0 };
            Self { x: f32::from_bits(x), y: f32::from_bits(y), weight, values }
        }
    }
}

/// The targets of a thread, relative to the origin of the staged sources, and what weights depend on.
#[derive(Clone, Copy)]
pub struct Near<const Q: usize> {
    /// x of each.
    pub x: [f32; Q],
    /// y of each.
    pub y: [f32; Q],
    /// The smoothing's square, in units.
    pub smoothing: f32,
    /// Minus half the power of each.
    pub exponents: [f32; Q],
}

impl<const Q: usize> Near<Q> {
    /// Takes the thread's targets relative to an origin.
    ///
    /// # Safety
    /// The thread has stored its targets.
    #[inline(always)]
    pub unsafe fn place(&mut self, room: &Shared, me: u32, origin: [f32; 2]) {
        let mut j = 0;
        while j < Q {
            // SAFETY: the thread has stored its targets, as the caller says.
            [self.x[j], self.y[j]] = unsafe { room.place_from(j as u32 * BLOCK + me, origin) };
            j += 1;
        }
    }

    /// The squared distance of target `j` to a source. `row` is the part of it that all targets of a row share.
    #[inline(always)]
    fn squared<const ROW: bool, const W: bool, const V: usize>(
        &self,
        j: usize,
        p: &Source<W, V>,
        row: f32,
    ) -> f32 {
        let dx = p.x - self.x[j];
        dx.mul_add_(dx, if ROW { row } else { self.of_y(j, p) })
    }

    /// The part of the squared distance that y and the smoothing give.
    #[inline(always)]
    fn of_y<const W: bool, const V: usize>(&self, j: usize, p: &Source<W, V>) -> f32 {
        let dy = p.y - self.y[j];
        dy.mul_add_(dy, self.smoothing)
    }

    /// Adds one source.
    #[inline(always)]
    fn add<L: Law, const ROW: bool, const W: bool, const V: usize>(
        &self,
        p: Source<W, V>,
        sums: &mut GroupSums<Q, V>,
    ) {
        let row = self.of_y(0, &p);
        let mut j = 0;
        while j < Q {
            let weight = L::weight(self.squared::<ROW, W, V>(j, &p, row), self.exponents[j]);
            sums.add::<W>(j, weight, p.weight, &p.values);
            j += 1;
        }
    }

    /// Adds two sources that share a reciprocal.
    #[inline(always)]
    fn add_two<const ROW: bool, const W: bool, const V: usize>(
        &self,
        p: Source<W, V>,
        q: Source<W, V>,
        sums: &mut GroupSums<Q, V>,
    ) {
        let (row_p, row_q) = (self.of_y(0, &p), self.of_y(0, &q));
        let mut j = 0;
        while j < Q {
            let a = self.squared::<ROW, W, V>(j, &p, row_p);
            let b = self.squared::<ROW, W, V>(j, &q, row_q);
            sums.add_two::<W>(j, [a, b], [p.weight, q.weight], [&p.values, &q.values]);
            j += 1;
        }
    }
}

/// The sums over staged sources, in f32.
///
/// # Safety
/// `count` sources are staged.
#[inline(always)]
pub unsafe fn sum_staged<L: Law, const ROW: bool, const W: bool, const Q: usize, const V: usize>(
    room: &Shared,
    near: &Near<Q>,
    count: u32,
) -> GroupSums<Q, V> {
    let mut sums = GroupSums::NONE;
    let mut slot = 0;
    // SAFETY: slots below the count are staged.
    unsafe {
        while slot + 4 <= vector::unknown(count) {
            let a = Source::<W, V>::load(room, slot);
            let b = Source::load(room, slot + 1);
            let c = Source::load(room, slot + 2);
            let d = Source::load(room, slot + 3);
            if L::SHARED {
                near.add_two::<ROW, W, V>(a, b, &mut sums);
                near.add_two::<ROW, W, V>(c, d, &mut sums);
            } else {
                near.add::<L, ROW, W, V>(a, &mut sums);
                near.add::<L, ROW, W, V>(b, &mut sums);
                near.add::<L, ROW, W, V>(c, &mut sums);
                near.add::<L, ROW, W, V>(d, &mut sums);
            }
            slot += 4;
        }
        while slot < vector::unknown(count) {
            near.add::<L, ROW, W, V>(Source::load(room, slot), &mut sums);
            slot += 1;
        }
    }
    sums
}
