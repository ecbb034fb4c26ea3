//! Bounds the rounding error of an f32 sum over a group of points, and sums again with f64 distances if the bound is
//! too large.
//!
//! In: for each target of a thread, the f32 sums of weights and weighted values over a *group*. A group is a tile or a
//! leaf of at most 256 points, whose places are f32 relative to an origin among them. Out: f64 running sums, to which
//! the group is added such that the result keeps 1e-5 (docs/internals/idw.md, Accuracy).
//!
//! # Idea
//!
//! A place relative to the origin is rounded by `2^-24 r`, with the group's reach `r`. For a target at distance d from
//! a point, this changes the weight `d^-p` by the share `p 2^-24 r / d`. That is too much if the points cluster in a
//! small part of the group and the target is among them.
//!
//! ```text
//!    |<------------- r ------------>o                    steps of places: 2^-24 r everywhere
//!    .  :.:            .        .   origin     x:|  .
//!      ::.::  cluster                           target x, d << r from its nearest point
//! ```
//!
//! The inner loop keeps no distance. But the sum S of the group's weights tells how near the nearest point can be.
//!
//! ```text
//! for each group and target:
//!     away from the origin > 2 r:                          add the f32 sums      one comparison, nearly always
//!     p r S^(1/p) * share <= 128:                          add the f32 sums
//!     p r / d_min * share <= 128, d_min over the points:   add the f32 sums
//!     else:                                                the warp sums the group again, by f64 differences
//! share = the greatest part that the group has in W, the sum of all weights, or in a sum of weighted values;
//!         at least 2^-9 / p
//! ```
//!
//! # Why it is right
//!
//! - `S >= d_min^-p`, so `1 / d <= S^(1/p)` for every point of the group: no weight is off by a larger share than about
//!   `p 2^-24 r S^(1/p)`.
//! - If the weights of a group are off by a share e, the result is off by at most `e S / W`; likewise with weighted
//!   values. Two lower bounds of W are known: the sum so far, and the sum with all points in the farthest corner of
//!   their box. They make the error bound larger, never too small. 128 multiples of 2^-24 are 7.6e-6.
//! - Values of both signs may cancel, so that sums do not bound magnitudes: their share is 1.
//! - Groups farther than 2 r have all distances above r. Their shares of W are 1 at most, so together they add less
//!   than p 2^-24.
//!
//! - S is a sum over rounded distances: a distance below 2^-24 r may come out as large as that, and then the share is
//!   too small. So groups whose nearest distance may be below 2^-16 r are summed again, whatever their share seems to
//!   be.
//!
//! One thing is measured, not proven (`crates/idw/tests/all/accuracy.rs`): the errors of several near groups stay small
//! together.
//!
//! # What it costs
//!
//! The inner loop does not change. A group costs each target one comparison; a near one some tens of operations; a
//! failed one 256 distances in f64, shared by 32 lanes. With all tests a sum over 2^20 x 2^20 pairs takes 3 to 13% more
//! (docs/notes/idw.md). Nodes of an expansion have reach -1: their targets are far by construction
//! ([`tree`](super::tree)).
//!
//! # Rejected
//!
//! - f64 throughout: f64 is slower on every GPU.
//! - The least distance in the inner loop: it takes a minimum and a register for every pair, and S tells nearly as
//!   much.
//! - f32 sums without a test: off by 2.4e-5 beside clustered points at p = 1.

use device_std::real::Real;
use device_std::shared::SharedArray;
use device_std::{In, thread, vector, warp};

use super::BLOCK;
use super::points::range;
use super::staged::{GroupSums, MulAdd, Shared, slot};
use super::targets::{Frame, Targets};
use super::weights::{Law, Weighting, any_power};

/// Returns the same number, hidden from the compiler. So what follows from it is not computed ahead and kept in
/// registers from group to group.
#[inline(always)]
pub(super) fn unknown(x: f64) -> f64 {
    f64::from_bits(vector::unknown_64(x.to_bits()))
}

/// Data points that are summed together in f32, relative to an origin near them.
#[derive(Clone, Copy)]
pub struct Group<'a> {
    /// x of all data points, then y of each, on the ground.
    pub places: In<'a, f64>,
    /// The number of all data points.
    pub points: u32,
    /// The first of the group, and their number.
    pub first: u32,
    pub count: u32,
    /// The origin that the group's places are relative to. It is itself relative to the middle of the data, in units.
    pub origin: [f32; 2],
    /// How far its points are from its origin along either axis, in units; negative for nodes, to which no target is
    /// near.
    pub reach: f32,
}

/// The largest error of the result that one group may cause, in multiples of `2^-24`: 128 of them are 7.6e-6, below the
/// 1e-5 that is promised.
const MAX_DOUBT: f32 = 128.0;

/// The least of a group's share times the power, in the test of the error: `MAX_DOUBT * 2^-16`. So the nearest distance
/// of a group whose f32 sums are taken is `2^-16 r` or more. That is 256 times its rounding, and the share is true to
/// 2%.
const LEAST_SHARE: f32 = MAX_DOUBT / 65_536.0;

/// The targets of a block, their sums, and how weights follow from distances.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    /// Its shared memory.
    pub room: Shared,
    /// The targets.
    pub targets: &'a Targets<'a>,
    /// The middle of the data and the unit.
    pub frame: Frame,
    /// How weights follow from distances, in units.
    pub weighting: Weighting<'a>,
    /// Whether target `i` leaves data point `i` out: then the targets are the points, in their order.
    pub leaves_out: bool,
    /// Half the extent of the data along x and y, in units.
    pub extent: [f64; 2],
    /// The values' ranges, in the form of [`Points`](super::points::Points).
    pub ranges: In<'a, f64>,
}

impl Block<'_> {
    /// Adds the sums of the thread's targets over a group to the sums before, or begins with them. Sums that may be too
    /// wrong ([`Self::is_due`]) are replaced by sums over f64 distances.
    ///
    /// # Safety
    /// The whole block comes to the same call; the threads have stored their targets, and the group is staged in the
    /// block's room. `near_x` and `near_y` are the targets' places relative to the group's origin, and `values` gives a
    /// point's values by its place in the group.
    #[inline(always)]
    pub unsafe fn add<L: Law, const ROW: bool, const Q: usize, const V: usize>(
        &self,
        group: Group<'_>,
        (near_x, near_y): (&[f32; Q], &[f32; Q]),
        of_group: &GroupSums<Q, V>,
        is_first: bool,
        values: impl Fn(u32) -> [f32; V],
    ) {
        let me = thread::thread_idx_x();
        let mut near = 0u32;
        // SAFETY: slots are the thread's own; the block is whole and the group staged, as the caller says.
        unsafe {
            let mut j = 0;
            while j < Q {
                let away = f32::max(f32::abs(near_x[j]), f32::abs(near_y[j]));
                // Beyond twice the reach every distance is above r, and a weight's error below p 2^-24: no test is
                // needed.
                let is_near = away <= 2.0 * group.reach;
                near |= (is_near as u32) << j;
                let mut c = 0;
                while c < 1 + V {
                    let slot = slot::<Q>(c, j as u32, me);
                    let before = if is_first { 0.0 } else { self.room.sums.load(slot) };
                    let sum = if is_near { 0.0 } else { of_group.of(c, j) };
                    self.room.sums.store(slot, before + sum as f64);
                    c += 1;
                }
                j += 1;
            }
            // A target that leaves a point of the group out has the group summed again without that point.
            let mut doubtful = 0;
            while near != 0 {
                let j = near.trailing_zeros();
                near &= near - 1;
                let is_due = self.left_out::<ROW, Q>(&group, me, j) < group.count
                    || self.is_due::<ROW, Q, V>(&group, j, of_group.pick(j));
                doubtful |= (is_due as u32) << j;
            }
            self.add_doubtful::<L, ROW, Q, V>(doubtful, group, values);
        }
    }

    /// Adds the sums over a group that is near target `j`, unless they may be too wrong: then returns true and adds
    /// nothing.
    ///
    /// First `1 / d` is bounded by `S^(1/p)`. Only if that bound is above [`MAX_DOUBT`], the least distance is computed
    /// from the staged points.
    ///
    /// # Safety
    /// As for [`Self::add`].
    #[inline(always)]
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // what is not a number fails the test
    unsafe fn is_due<const ROW: bool, const Q: usize, const V: usize>(
        &self,
        group: &Group<'_>,
        j: u32,
        (weight, values): (f32, [f32; V]),
    ) -> bool {
        let me = thread::thread_idx_x();
        // SAFETY: the thread has stored its targets and begun its sums; the group is staged.
        unsafe {
            // Hidden, so that the ranges are loaded again here and keep no registers in the inner loop.
            let ranges = self.ranges.from(vector::unknown(0));
            let exponent = self.exponent::<ROW, Q>(me, j) as f32;
            // A lower bound of W: what is summed so far, or all points in the farthest corner of their box.
            let known = f32::max(
                self.room.sums.load(slot::<Q>(0, j, me)) as f32 + weight,
                self.least_weight(group.points, j, exponent),
            );
            let mut share = weight / known;
            let mut v = 0;
            while v < V {
                let of_value = range(ranges, v);
                let [offset, low, high] = of_value.map(|x| x as f32);
                // Values of both signs may cancel: the sums do not tell the magnitudes, and this group may have them
                // all.
                if low < 0.0 && high > 0.0 {
                    share = 1.0;
                } else {
                    // Values are summed less their offset; the promise is about the values themselves.
                    let sum = f32::abs(values[v] + offset * weight);
                    let before = self.room.sums.load(slot::<Q>(0, j, me)) * of_value[0]
                        + self.room.sums.load(slot::<Q>(1 + v, j, me));
                    let least = f32::min(f32::abs(low), f32::abs(high)) * known;
                    let of_sum = sum / f32::max(f32::abs(before as f32) + sum, least);
                    share = if sum > 0.0 { f32::max(share, of_sum) } else { share };
                }
                v += 1;
            }
            // S^(1/p), since the exponent is -p / 2.
            let inverse = Real::exp2(Real::log2(weight) * (-0.5 / exponent));
            // Above power 4 the promise itself is in proportion to the power, so p counts as 4.
            // A share that was summed over rounded distances is true only where these are far above their rounding.
            let share = f32::max(f32::min(-2.0 * exponent, 4.0) * share, LEAST_SHARE);
            let rounding = group.reach * share;
            // `!(..)`: an infinite or undefined bound counts as too large.
            if weight > 0.0 && !(rounding * inverse <= MAX_DOUBT) {
                let place = self.room.place_from(j * BLOCK + me, group.origin);
                let points = self.room.sources.as_elements();
                let nearest = nearest_square(points, group.count, place);
                let nearest = nearest + unknown(self.weighting.smoothing) as f32;
                if !(rounding * Real::reciprocal_sqrt(nearest) <= MAX_DOUBT) {
                    return true;
                }
            }
            let mut c = 0;
            while c < 1 + V {
                let slot = slot::<Q>(c, j, me);
                let sum = if c == 0 { weight } else { values[(c - 1) % V] };
                self.room.sums.store(slot, self.room.sums.load(slot) + sum as f64);
                c += 1;
            }
            false
        }
    }

    /// The place in a group of the point that target `j` of thread `me` leaves out; beyond the group if the group does
    /// not hold it.
    #[inline(always)]
    fn left_out<const ROW: bool, const Q: usize>(&self, group: &Group<'_>, me: u32, j: u32) -> u32 {
        if !self.leaves_out {
            return u32::MAX;
        }
        // Points and targets are fewer than 2^31: before the group the difference wraps to a number beyond it.
        (self.targets.target_of::<ROW, Q>(me, j as usize) as u32).wrapping_sub(group.first)
    }

    /// Minus half the power of target `j` of thread `me`.
    #[inline(always)]
    pub fn exponent<const ROW: bool, const Q: usize>(&self, me: u32, j: u32) -> f64 {
        let Some(exponents) = self.weighting.exponents else {
            return unknown(self.weighting.exponent);
        };
        let target = self.targets.target_of::<ROW, Q>(me, j as usize);
        exponents.get(u64::min(target, self.targets.count - 1))
    }

    /// A lower bound of the weight of all data points together, for target `j`: all in the farthest corner of their
    /// box.
    ///
    /// # Safety
    /// The thread has stored its targets.
    #[inline(always)]
    unsafe fn least_weight(&self, points: u32, j: u32, exponent: f32) -> f32 {
        // SAFETY: the slot is stored, as the caller says.
        let [x, _, y, _] = unsafe { self.room.targets.load(j * BLOCK + thread::thread_idx_x()) };
        let x = f32::abs(f32::from_bits(x)) + unknown(self.extent[0]) as f32;
        let y = f32::abs(f32::from_bits(y)) + unknown(self.extent[1]) as f32;
        let squared = x * x + y * y + unknown(self.weighting.smoothing) as f32;
        points as f32 * any_power(squared, exponent)
    }

    /// Sums a group again, over f64 distances, for those targets of the warp's threads that `doubtful` has a bit for.
    /// One target comes after the other, and the lanes share the group's points: such targets are few, and a lane alone
    /// would hold up 31.
    ///
    /// # Safety
    /// As for [`Self::add`].
    #[inline(always)]
    unsafe fn add_doubtful<L: Law, const ROW: bool, const Q: usize, const V: usize>(
        &self,
        doubtful: u32,
        group: Group<'_>,
        values: impl Fn(u32) -> [f32; V],
    ) {
        // SAFETY: the warp stays together: votes are the same for all its lanes. Without rows the targets are columns,
        // and there are some, as the caller of [`Self::add`] says; sums are stored by the thread that has them.
        unsafe {
            if !warp::any(warp::FULL, doubtful != 0) {
                return;
            }
            let warp_start = thread::thread_idx_x() - warp::lane_id();
            let mut j = 0;
            while j < vector::unknown(Q as u32) {
                let mut lanes = warp::ballot(warp::FULL, doubtful >> j & 1 != 0);
                while lanes != 0 {
                    let owner = warp_start + lanes.trailing_zeros();
                    lanes &= lanes - 1;
                    let place = self.targets.place_of::<ROW, Q>(owner, j as usize);
                    let exponent = self.exponent::<ROW, Q>(owner, j) as f32;
                    let left_out = self.left_out::<ROW, Q>(&group, owner, j);
                    let (weight, of_values) =
                        self.sum_in_f64::<L, V>(&group, place, exponent, left_out, &values);
                    if thread::thread_idx_x() == owner {
                        let mut c = 0;
                        while c < 1 + V {
                            let slot = slot::<Q>(c, j, owner);
                            let sum = if c == 0 { weight } else { of_values[(c - 1) % V] };
                            self.room.sums.store(slot, self.room.sums.load(slot) + sum);
                            c += 1;
                        }
                    }
                }
                j += 1;
            }
        }
    }

    /// Returns the sums of weights and of weighted values over a group, without the point at `left_out`, for a target
    /// at `place`; in every lane.
    ///
    /// # Safety
    /// As for [`Self::add`].
    #[inline(always)]
    unsafe fn sum_in_f64<L: Law, const V: usize>(
        &self,
        group: &Group<'_>,
        place: [f64; 2],
        exponent: f32,
        left_out: u32,
        values: impl Fn(u32) -> [f32; V],
    ) -> (f64, [f64; V]) {
        let (scale, smoothing) = (self.frame.scale, self.weighting.smoothing);
        let (mut weight, mut sums) = (0.0f32, [0.0f32; V]);
        let mut slot = warp::lane_id();
        while slot < vector::unknown(group.count) {
            let at = group.places.from(group.first + slot);
            // Differences of f64 coordinates, before anything is rounded to f32. The scale is a power of two, hence
            // exact. Weights may be f32: each is then off by some 2^-24 of itself, whatever the distance.
            let dx = (at.get(0u32) - place[0]) * scale;
            let dy = (at.get(group.points) - place[1]) * scale;
            let squared = (dx * dx + dy * dy + smoothing) as f32;
            let mut of_point = L::weight(squared, exponent);
            if self.leaves_out && slot == left_out {
                of_point = 0.0;
            }
            weight += of_point;
            let values = values(slot);
            let mut v = 0;
            while v < V {
                sums[v] = of_point.mul_add_(values[v], sums[v]);
                v += 1;
            }
            slot += warp::SIZE;
        }
        let mut all = [0.0; V];
        let mut v = 0;
        // SAFETY: the whole warp is here, as the caller says.
        unsafe {
            while v < V {
                all[v] = warp::reduce(sums[v] as f64, |a, b| a + b);
                v += 1;
            }
            (warp::reduce(weight as f64, |a, b| a + b), all)
        }
    }
}

/// Returns the square of the least distance of a place from staged points, which have four words each: x, y, and two
/// more.
///
/// # Safety
/// `count` points are staged.
#[inline(always)]
unsafe fn nearest_square(points: SharedArray<f32>, count: u32, [x, y]: [f32; 2]) -> f32 {
    let mut nearest = f32::INFINITY;
    let mut word = 0;
    while word < vector::unknown(4 * count) {
        // SAFETY: the points are staged, as the caller says.
        let (dx, dy) = unsafe { (points.load(word) - x, points.load(word + 1) - y) };
        nearest = f32::min(nearest, dx * dx + dy * dy);
        word += 4;
    }
    nearest
}
