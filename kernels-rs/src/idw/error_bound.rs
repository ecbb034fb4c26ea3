//! What f32 may have taken from the sums over a group of points, and those sums anew in f64.
//!
//! Points are summed in groups, tiles or leaves, by places relative to an origin among them. A target near
//! the points of a group may lose by places in f32: where points crowd in a part of the group. The sums
//! tell ([`Block::add`]), and the warp sums the group anew for that target, by distances in f64.

use device_std::real::Real;
use device_std::shared::SharedArray;
use device_std::{In, thread, vector, warp};

use super::BLOCK;
use super::points::range;
use super::staged::{GroupSums, MulAdd, Shared, slot};
use super::targets::{Frame, Targets};
use super::weights::{Law, Weighting, any_power};

/// The same number, of which the compiler knows nothing: what follows from it is not computed ahead and kept
/// in registers from group to group.
#[inline(always)]
pub(super) fn unknown(x: f64) -> f64 {
    f64::from_bits(vector::unknown_64(x.to_bits()))
}

/// Data points that are summed together in f32, relative to an origin near them.
#[derive(Clone, Copy)]
pub struct Group<'a> {
    /// x of all data points, then y of each, on the ground.
    pub places: In<'a, f64>,
    /// How many there are in all.
    pub points: u32,
    /// The first of the group, and their number.
    pub first: u32,
    pub count: u32,
    /// What places are relative to: a place relative to the middle of the data, in units.
    pub origin: [f32; 2],
    /// How far its points are from its origin, along either axis, in units.
    pub reach: f32,
}

/// Above this, what f32 may have taken from the sums over a group is too much: the relative error of a
/// weight, in multiples of `2^-24`, times its share. See [`Block::add`].
const MAX_DOUBT: f32 = 128.0;

/// The targets of a block, the sums of each, and what they follow from.
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
    /// The values' ranges, as [`Points`](super::points::Points) has them.
    pub ranges: In<'a, f64>,
}

impl Block<'_> {
    /// Adds the sums of the thread's targets over a group to those before, or begins with them.
    ///
    /// A place relative to the group's origin is off by about `2^-24` of the group's reach `r`, and so a
    /// weight `d^-p` by the share `p 2^-24 r / d`. What is in doubt for that ([`Self::is_due`]) is summed
    /// anew, by distances in f64. A target farther from the group than it is large is at no such loss.
    ///
    /// # Safety
    /// The whole block comes to the same call; the threads have stored their targets, and the group is staged in the block's
    /// room. `near_x` and `near_y` are the targets' places relative to the group's origin, and `values` gives a point's values
    /// by its place in the group.
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

    /// Adds the sums over a group that is near target `j`, unless they are in doubt: then returns true.
    ///
    /// No distance in the group is known, but the sum `S` of its weights is, and `1 / d <= S^(1/p)`; where
    /// that does not settle it, the least distance is looked for. What
    /// a weight off by a share makes of the result is that share times `S / W`, `W` being the sum of all
    /// weights, and likewise with weighted values. Of `W` what was summed before is known, and that it
    /// is not less than if all points were as far as the farthest corner of their box.
    ///
    /// # Safety
    /// As for [`Self::add`].
    #[inline(always)]
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // what is not a number is in doubt
    unsafe fn is_due<const ROW: bool, const Q: usize, const V: usize>(
        &self,
        group: &Group<'_>,
        j: u32,
        (weight, values): (f32, [f32; V]),
    ) -> bool {
        let me = thread::thread_idx_x();
        // SAFETY: the thread has stored its targets and begun its sums; the group is staged.
        unsafe {
            // Unknown, so that nothing of this is kept in registers from group to group.
            let ranges = self.ranges.from(vector::unknown(0));
            let exponent = self.exponent::<ROW, Q>(me, j) as f32;
            let known = f32::max(
                self.room.sums.load(slot::<Q>(0, j, me)) as f32 + weight,
                self.least_weight(group.points, j, exponent),
            );
            let mut share = weight / known;
            let mut v = 0;
            while v < V {
                let of_value = range(ranges, v);
                let [offset, low, high] = of_value.map(|x| x as f32);
                // Of values of both signs the sums do not tell the magnitudes: they may be all here.
                if low < 0.0 && high > 0.0 {
                    share = 1.0;
                } else {
                    let sum = f32::abs(values[v] + offset * weight);
                    let before = self.room.sums.load(slot::<Q>(0, j, me)) * of_value[0]
                        + self.room.sums.load(slot::<Q>(1 + v, j, me));
                    let least = f32::min(f32::abs(low), f32::abs(high)) * known;
                    let of_sum = sum / f32::max(f32::abs(before as f32) + sum, least);
                    share = if sum > 0.0 { f32::max(share, of_sum) } else { share };
                }
                v += 1;
            }
            let inverse = Real::exp2(Real::log2(weight) * (-0.5 / exponent));
            // Above power 4 what is promised is in proportion to the power.
            let rounding = f32::min(-2.0 * exponent, 4.0) * group.reach * share;
            // What is not a number is in doubt too.
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

    /// The place in a group of the point that target `j` of thread `me` leaves out; beyond the group where it holds
    /// no such point.
    #[inline(always)]
    fn left_out<const ROW: bool, const Q: usize>(&self, group: &Group<'_>, me: u32, j: u32) -> u32 {
        if !self.leaves_out {
            return u32::MAX;
        }
        // Points and targets are fewer than 2^31.
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

    /// A weight that all data points together have at least, for target `j`.
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

    /// Adds the sums over a group of those targets of the warp's threads that `doubtful` has a bit for,
    /// by distances in f64: one target after the other, the lanes sharing the group's points.
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
        // SAFETY: the warp stays together: votes are the same for all its lanes. Without rows the targets are columns, and
        // there are some, as the caller of [`Self::add`] says; sums are stored by the thread that has them.
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

    /// The sums of weights and of weighted values over a group, without the point at `left_out`, for a target at
    /// `place`; in every lane.
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
            // Differences before anything is rounded; the scale is a power of two.
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

/// The square of the least distance of a place from staged points, which have four words each.
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
