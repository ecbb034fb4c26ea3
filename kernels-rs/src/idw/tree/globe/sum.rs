//! The sums over points and nodes on the sphere.

use device_std::block::BlockReduce;
use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{In, Out, kernel, math, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::super::MODULE;
use super::super::sum::write_sums;
use super::super::visit::{SourceRun, Way};
use super::{FROM_ANTIPODE, Globe, parts, relative};
use crate::idw::staged::{GroupSums, MulAdd, slot};
use crate::idw::targets::Targets;
use crate::idw::weights::{Law, Power, Weighting};
use crate::idw::{BLOCK, TILE};
use crate::spatial::sphere::arc_of_squared_chord;

/// Targets of a thread.
pub const TARGETS: u32 = 4;

const Q: usize = TARGETS as usize;

/// Squared chords up to this, of 41 degrees, are short.
const SHORT: f32 = 0.5;

/// The squared chord of 90 degrees.
const RIGHT: f32 = 2.0;

/// A chord. Nearer to a target's antipode than this, f32 does not keep the distance to the antipode if it is measured
/// from the target's side.
const LEAST_FROM_OTHER: f32 = 0.25;

/// The distance of a square's corners from its middle, in halves of its side, rounded up.
const CORNER: f32 = 1.42;

/// The square of an arc over that of its chord: up to [`SHORT`] within 2e-7, and up to 2 within 3e-7. These polynomials
/// have the least maximum relative error.
const SHORT_ARC: [f32; 4] = [0.999_999_8, 0.083_345_59, 0.010_991_431, 0.002_151_400_3];
const ANY_ARC: [f32; 7] = [
    1.000_000_2,
    0.083_320_074,
    0.011_211_391,
    0.001_505_922_6,
    0.000_678_567_7,
    -0.000_165_595_44,
    7.201_241e-5,
];

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Shared {
    /// The targets' unit vectors.
    targets: SharedArray<f64>,
    /// Sums, as [`slot`] places them.
    sums: SharedArray<f64>,
    /// The sources, two vectors each.
    sources: SharedArray<Vector>,
}

#[inline(always)]
const fn shared(carver: &mut Carver) -> (Shared, BlockReduce<f64>) {
    let of_block = BLOCK * TARGETS;
    let room = Shared {
        targets: carver.array(3 * of_block),
        sums: carver.array(2 * of_block),
        sources: carver.array(2 * TILE),
    };
    (room, BlockReduce::new(carver, BLOCK as usize))
}

impl Shared {
    /// Target `j` of the thread.
    ///
    /// # Safety
    /// The thread has stored it.
    #[inline(always)]
    unsafe fn target(&self, j: u32) -> [f64; 3] {
        let at = |axis: u32| (axis * Q as u32 + j) * BLOCK + thread::thread_idx_x();
        // SAFETY: the slots are stored, as the caller says.
        unsafe { [self.targets.load(at(0)), self.targets.load(at(1)), self.targets.load(at(2))] }
    }
}

/// The targets of a block, as the test for far items sees them.
#[derive(Clone, Copy)]
struct Around {
    /// The box of their unit vectors, rounded outwards.
    low: [f32; 3],
    high: [f32; 3],
    /// The square of the least distance of a far item, in multiples of half the longer side of its box.
    separation: f32,
}

impl Around {
    /// The squares of the least and the greatest distance from a place to the box.
    #[inline(always)]
    fn distances(&self, place: [f32; 3]) -> [f32; 2] {
        let (mut least, mut greatest) = (0.0, 0.0);
        let mut axis = 0;
        while axis < 3 {
            let (below, above) = (self.low[axis] - place[axis], place[axis] - self.high[axis]);
            let gap = f32::max(f32::max(below, above), 0.0);
            let span = f32::max(f32::abs(below), f32::abs(above));
            (least, greatest) = (least + gap * gap, greatest + span * span);
            axis += 1;
        }
        [least, greatest]
    }

    /// Whether an item is far from the targets and from their antipodes.
    #[inline(always)]
    fn is_far(&self, (middle, half): ([f32; 3], f32)) -> bool {
        let ([gap, _], [other, _]) = (self.distances(middle), self.distances(opposite(middle)));
        let least = LEAST_FROM_OTHER + CORNER * half;
        // An item without extent that a target lies on is not far.
        gap >= self.separation * half * half
            && gap > 0.0
            && other >= FROM_ANTIPODE * FROM_ANTIPODE * half * half
            && f32::max(gap, other) >= least * least
    }
}

#[inline(always)]
fn opposite([x, y, z]: [f32; 3]) -> [f32; 3] {
    [-x, -y, -z]
}

/// A block, its targets and what their weights depend on.
#[derive(Clone, Copy)]
struct Block<'a> {
    room: Shared,
    targets: &'a Targets<'a>,
    weighting: Weighting<'a>,
    /// Whether target `i` leaves point `i` out.
    leaves_out: bool,
    around: Around,
}

/// How the square of an arc follows from that of a chord.
trait Arc: Copy {
    /// Smoothed.
    fn square(self, chord: f32, smoothing: f32) -> f32;
}

/// Short chords.
#[derive(Clone, Copy)]
struct Short;

impl Arc for Short {
    #[inline(always)]
    fn square(self, chord: f32, smoothing: f32) -> f32 {
        chord.mul_add_(polynomial(&SHORT_ARC, chord), smoothing)
    }
}

/// Chords of up to 90 degrees.
#[derive(Clone, Copy)]
struct Medium;

impl Arc for Medium {
    #[inline(always)]
    fn square(self, chord: f32, smoothing: f32) -> f32 {
        chord.mul_add_(polynomial(&ANY_ARC, chord), smoothing)
    }
}

/// Chords to antipodes of up to 90 degrees.
#[derive(Clone, Copy)]
struct Opposite;

impl Arc for Opposite {
    #[inline(always)]
    fn square(self, chord: f32, smoothing: f32) -> f32 {
        let rest = core::f32::consts::PI - Real::sqrt(chord * polynomial(&ANY_ARC, chord));
        rest.mul_add_(rest, smoothing)
    }
}

/// Any chords; if `from_antipode`, chords to antipodes in place of targets.
#[derive(Clone, Copy)]
struct Any {
    from_antipode: bool,
}

impl Arc for Any {
    #[inline(always)]
    fn square(self, chord: f32, smoothing: f32) -> f32 {
        let is_long = chord > RIGHT;
        let shorter = if is_long { 4.0 - chord } else { chord };
        match is_long != self.from_antipode {
            true => Opposite.square(shorter, smoothing),
            false => Medium.square(shorter, smoothing),
        }
    }
}

#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f32; N], x: f32) -> f32 {
    let mut sum = coefficients[N - 1];
    let mut k = N - 1;
    while k > 0 {
        k -= 1;
        sum = sum.mul_add_(x, coefficients[k]);
    }
    sum
}

/// A staged source.
#[derive(Clone, Copy)]
struct Source {
    place: [f32; 3],
    rest: [f32; 3],
    weight: f32,
    value: f32,
}

impl Source {
    /// # Safety
    /// `slot` holds a source.
    #[inline(always)]
    unsafe fn load(room: &Shared, slot: u32) -> Self {
        // SAFETY: the slot holds a source, as the caller says.
        unsafe {
            let (first, second) = (room.sources.load(2 * slot), room.sources.load(2 * slot + 1));
            let three =
                |v: Vector| [f32::from_bits(v[0]), f32::from_bits(v[1]), f32::from_bits(v[2])];
            Self {
                place: three(first),
                rest: three(second),
                weight: f32::from_bits(second[3]),
                value: f32::from_bits(first[3]),
            }
        }
    }
}

/// The targets of a thread, or their antipodes, relative to the origin of the staged sources.
#[derive(Clone, Copy)]
struct Near {
    x: [[f32; 2]; Q],
    y: [[f32; 2]; Q],
    z: [[f32; 2]; Q],
    smoothing: f32,
    exponents: [f32; Q],
}

impl Near {
    /// # Safety
    /// The thread has stored its targets.
    #[inline(always)]
    unsafe fn new(block: &Block<'_>, origin: [f32; 3], from_antipode: bool) -> Self {
        let smoothing = block.weighting.smoothing;
        let none = [[0.0; 2]; Q];
        let mut near =
            Self { x: none, y: none, z: none, smoothing: smoothing as f32, exponents: [0.0; Q] };
        let mut j = 0;
        while j < Q {
            near.exponents[j] = block.exponent(j as u32) as f32;
            // SAFETY: the thread has stored its targets, as the caller says.
            let [x, y, z] = unsafe { block.room.target(j as u32) };
            let place = if from_antipode { [-x, -y, -z] } else { [x, y, z] };
            (near.x[j], near.y[j], near.z[j]) = parts(relative(place, origin));
            j += 1;
        }
        near
    }

    /// The square of the chord to target `j`. With `REST` it includes the rests of the places after rounding to f32.
    #[inline(always)]
    fn chord<const REST: bool>(&self, j: usize, p: &Source) -> f32 {
        let along = |axis: usize, q: [f32; 2]| {
            let difference = p.place[axis] - q[0];
            if REST { difference + (p.rest[axis] - q[1]) } else { difference }
        };
        let (dx, dy, dz) = (along(0, self.x[j]), along(1, self.y[j]), along(2, self.z[j]));
        dx.mul_add_(dx, dy.mul_add_(dy, dz * dz))
    }

    /// The sums over the first `count` staged sources.
    ///
    /// # Safety
    /// They are staged.
    #[inline(always)]
    unsafe fn sum<L: Law, A: Arc, const REST: bool>(
        &self,
        room: &Shared,
        arc: A,
        count: u32,
    ) -> GroupSums<Q, 1> {
        let mut sums = GroupSums::NONE;
        let square = |j: usize, p: &Source| arc.square(self.chord::<REST>(j, p), self.smoothing);
        let mut slot = 0;
        // SAFETY: slots below the count are staged.
        unsafe {
            while L::SHARED && slot + 2 <= vector::unknown(count) {
                let (p, q) = (Source::load(room, slot), Source::load(room, slot + 1));
                let mut j = 0;
                while j < Q {
                    let squares = [square(j, &p), square(j, &q)];
                    sums.add_two::<true>(
                        j,
                        squares,
                        [p.weight, q.weight],
                        [&[p.value], &[q.value]],
                    );
                    j += 1;
                }
                slot += 2;
            }
            while slot < vector::unknown(count) {
                let p = Source::load(room, slot);
                let mut j = 0;
                while j < Q {
                    let weight = L::weight(square(j, &p), self.exponents[j]);
                    sums.add::<true>(j, weight, p.weight, &[p.value]);
                    j += 1;
                }
                slot += 1;
            }
        }
        sums
    }
}

/// Writes sums in f32 and f64, which `combine` of module `pairs` completes; an instance's name says by which power.
///
/// Grid in x: a block for each `BLOCK * Q` targets, which should lie near each other; in y: blocks that share the
/// items.
///
/// # Safety
/// The globe is as [`weigh_globe`](mod@super::nodes::weigh_globe) leaves it, up to the root of level `top`, and is not
/// written. `vectors` has x, y and z of the unit vectors of `count` targets, column after column; `count` is not 0. If
/// `leave_out` is not 0, the targets are the points in their order, and each leaves itself out. `partial` has `count`
/// elements for each sum and each row of blocks.
#[kernel(block = BLOCK, carve = |carver| shared(carver), instances(
    square: <2>, resident = 5;
    any: <0>, resident = 5;
))]
pub unsafe fn sum_globe<const LAW: u32>(
    globe: Globe<'_>,
    top: u32,
    separation: f64,
    vectors: In<'_, f64>,
    count: u64,
    weighting: Weighting<'_>,
    leave_out: u32,
    partial: Out<'_, f64>,
) {
    let targets = Targets { x: None, y: None, count, width: 1, height: 1, grid: [0.0; 3] };
    let (room, reduce) = shared(&mut Carver::new());
    // SAFETY: the whole block is here; slots are the thread's own.
    unsafe {
        let (low, high) = place_targets(&room, &targets, vectors, reduce);
        let block = Block {
            room,
            targets: &targets,
            weighting,
            leaves_out: leave_out != 0,
            around: Around { low, high, separation: (separation * separation) as f32 },
        };
        let mut c = 0;
        while c < 2 * TARGETS {
            room.sums.store(c * BLOCK + thread::thread_idx_x(), 0.0);
            c += 1;
        }
        let way = Way::new(globe.points, globe.items, top);
        let (rows, mine) = (thread::grid_dim_y(), thread::block_idx_y());
        let mut visit = way.start();
        let mut turn = 0;
        while visit.level <= way.top {
            let found = way.next(&mut visit, |item| block.around.is_far(globe.around(item)));
            if turn == mine {
                block.add_item::<Power<LAW>>(&globe, found);
            }
            turn = if turn + 1 == rows { 0 } else { turn + 1 };
        }
        write_sums::<false, Q, 1>(&targets, room.sums, partial);
    }
}

/// Puts the block's targets into shared memory; returns the box of their unit vectors, rounded outwards.
///
/// # Safety
/// The whole block comes to the same call.
#[inline(always)]
unsafe fn place_targets(
    room: &Shared,
    targets: &Targets<'_>,
    vectors: In<'_, f64>,
    reduce: BlockReduce<f64>,
) -> ([f32; 3], [f32; 3]) {
    let (me, n) = (thread::thread_idx_x(), targets.count);
    let (mut low, mut high) = ([0.0; 3], [0.0; 3]);
    let mut axis = 0;
    while axis < 3 {
        let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut j = 0;
        while j < Q {
            let target = u64::min(targets.target::<false, Q>(j), targets.count - 1);
            let x = vectors.get(axis as u64 * n + target);
            // SAFETY: slots are the thread's own.
            unsafe { room.targets.store((axis * Q + j) as u32 * BLOCK + me, x) };
            (least, greatest) = (f64::min(least, x), f64::max(greatest, x));
            j += 1;
        }
        // SAFETY: the whole block is here, as the caller says.
        unsafe {
            let down = |x: f64| x as f32 - 1.2e-7;
            low[axis] = down(reduce.reduce(least, f64::INFINITY, f64::min));
            high[axis] = -down(-reduce.reduce(greatest, f64::NEG_INFINITY, f64::max));
        }
        axis += 1;
    }
    (low, high)
}

impl Block<'_> {
    /// Minus half the power of target `j` of the thread.
    #[inline(always)]
    fn exponent(&self, j: u32) -> f64 {
        let Some(exponents) = self.weighting.exponents else {
            return self.weighting.exponent;
        };
        let target = self.targets.target::<false, Q>(j as usize);
        exponents.get(u64::min(target, self.targets.count - 1))
    }

    /// Adds an item's sources to the sums of the block's targets.
    ///
    /// # Safety
    /// The whole block comes to the same call, for an item with sources, and has stored its targets and begun its sums.
    #[inline(always)]
    unsafe fn add_item<L: Law>(&self, globe: &Globe<'_>, found: SourceRun) {
        let SourceRun { origin, first, count } = found;
        // SAFETY: the block is as the caller says; slots are the thread's own.
        unsafe {
            self.stage(globe, first, count);
            let (place, reach) = globe.around(origin);
            let is_leaf = first < globe.points;
            let reach = if is_leaf { reach } else { CORNER * reach };
            let [gap, farthest] = self.around.distances(place);
            let [other, farthest_other] = self.around.distances(opposite(place));
            let from_antipode = other < gap;
            let farthest = if from_antipode { farthest_other } else { farthest };
            let farthest = math::sqrt_f32(farthest) + reach;
            let is_medium = farthest * farthest <= RIGHT;
            let is_short = !from_antipode && farthest * farthest <= SHORT;
            let is_clear = math::sqrt_f32(f32::max(gap, other)) - reach >= LEAST_FROM_OTHER;
            if (is_leaf && self.may_leave_out(first, count)) || !(is_short || is_clear) {
                return self.add_in_f64::<L>(place, (first, count));
            }
            let near = Near::new(self, place, from_antipode);
            let sums = match (is_leaf, is_short, is_medium) {
                (true, true, _) => near.sum::<L, _, true>(&self.room, Short, count),
                (true, _, true) if from_antipode => {
                    near.sum::<L, _, true>(&self.room, Opposite, count)
                }
                (false, true, _) => near.sum::<L, _, false>(&self.room, Short, count),
                (false, _, true) if from_antipode => {
                    near.sum::<L, _, false>(&self.room, Opposite, count)
                }
                (false, _, true) => near.sum::<L, _, false>(&self.room, Medium, count),
                _ => near.sum::<L, _, true>(&self.room, Any { from_antipode }, count),
            };
            let mut j = 0;
            while j < Q {
                let mut c = 0;
                while c < 2 {
                    self.add_to(c, j as u32, sums.of(c, j) as f64);
                    c += 1;
                }
                j += 1;
            }
        }
    }

    /// Brings sources into shared memory.
    ///
    /// # Safety
    /// As for [`Self::add_item`].
    #[inline(always)]
    unsafe fn stage(&self, globe: &Globe<'_>, first: u32, count: u32) {
        // SAFETY: the whole block is here, as the caller says; slots are the thread's own between the barriers.
        unsafe {
            thread::sync_threads();
            let mut at = thread::thread_idx_x();
            while at < 2 * count {
                let source = 2 * first as usize + at as usize;
                self.room.sources.store(at, globe.sources.load(source));
                at += BLOCK;
            }
            thread::sync_threads();
        }
    }

    /// Whether a leaf holds points that targets of the block leave out.
    #[inline(always)]
    fn may_leave_out(&self, first: u32, count: u32) -> bool {
        let of_block = BLOCK as u64 * Q as u64;
        let start = thread::block_idx_x() as u64 * of_block;
        let overlaps = start < first as u64 + count as u64 && (first as u64) < start + of_block;
        self.leaves_out && overlaps
    }

    /// Adds to sum `c` of target `j` of the thread.
    ///
    /// # Safety
    /// The thread has begun its sums.
    #[inline(always)]
    unsafe fn add_to(&self, c: usize, j: u32, sum: f64) {
        let slot = slot::<Q>(c, j, thread::thread_idx_x());
        // SAFETY: slots are the thread's own.
        unsafe { self.room.sums.store(slot, self.room.sums.load(slot) + sum) };
    }

    /// Adds the staged sources from `first` on, in f64, without points that targets leave out.
    ///
    /// # Safety
    /// As for [`Self::add_item`]; the sources are staged.
    #[inline(always)]
    unsafe fn add_in_f64<L: Law>(&self, origin: [f32; 3], (first, count): (u32, u32)) {
        let whole = |high: f32, rest: f32| high as f64 + rest as f64;
        // SAFETY: the sources are staged and the targets stored, as the caller says.
        unsafe {
            let mut j = 0;
            while j < vector::unknown(Q as u32) {
                let exponent = self.exponent(j);
                let (x, y, z) = parts(relative(self.room.target(j), origin));
                let target = self.targets.target::<false, Q>(j as usize) as u32;
                let left_out = if self.leaves_out { target.wrapping_sub(first) } else { u32::MAX };
                let (mut weight, mut value) = (0.0, 0.0);
                let mut slot = 0;
                while slot < vector::unknown(count) {
                    let p = Source::load(&self.room, slot);
                    let along = |axis: usize, q: [f32; 2]| {
                        whole(p.place[axis], p.rest[axis]) - whole(q[0], q[1])
                    };
                    let (dx, dy, dz) = (along(0, x), along(1, y), along(2, z));
                    let arc = arc_of_squared_chord(dx * dx + dy * dy + dz * dz);
                    let mut of_source = L::weight(arc * arc + self.weighting.smoothing, exponent);
                    if slot == left_out {
                        of_source = 0.0;
                    }
                    weight += of_source * p.weight as f64;
                    value += of_source * p.value as f64;
                    slot += 1;
                }
                self.add_to(0, j, weight);
                self.add_to(1, j, value);
                j += 1;
            }
        }
    }
}
