//! What the kernels for all pairs share, those of modules `idw` and `idw_tree`: targets, weights by the
//! power, and the numbers of a call.

use device_std::real::Real;
use device_std::shared::SharedArray;
use device_std::vector::Vector;
use device_std::{thread, vector, warp};

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// Threads of a block that share a row of a grid; each has every so-many-th cell.
pub const ROW_THREADS: u32 = 8;

/// Rows of a grid that a block serves.
pub const PATCH_ROWS: u32 = BLOCK / ROW_THREADS;

/// Where the numbers of [`Setup`] lie.
pub mod setup {
    /// 1 / unit of length, a power of two.
    pub const SCALE: usize = 0;
    /// The smoothing's square, in units.
    pub const SMOOTHING: usize = 1;
    /// Minus half the power.
    pub const EXPONENT: usize = 2;
    /// The middle of the data: x, y, and on a sphere z.
    pub const CENTRE: usize = 3;
    /// The grid: x of the west edge, y of the north edge, cell size.
    pub const GRID: usize = 6;
    /// Ground units of a unit of places: 1, on a sphere its radius; and the smoothing's square in ground
    /// units.
    pub const GROUND: usize = 9;
    /// Half the extent of the data along x and y, in units.
    pub const EXTENT: usize = 11;
    /// Of each value: offset, lowest, highest. The offset is never farther from a value than 0 is.
    pub const VALUES: usize = 13;
}

/// The numbers of a call, in f64, as [`setup`] says.
pub type Setup = *const f64;

/// How a weight follows from a squared distance.
pub trait Law {
    /// Whether two data points share a reciprocal.
    const SHARED: bool;

    /// The weight.
    fn weight<T: Real>(squared: T, exponent: T) -> T;
}

/// The powers 1 to 4.
pub struct Power<const P: u32>;

impl<const P: u32> Law for Power<P> {
    const SHARED: bool = P == 2;

    #[inline(always)]
    fn weight<T: Real>(squared: T, _: T) -> T {
        match P {
            1 => squared.reciprocal_sqrt(),
            2 => squared.reciprocal(),
            3 => {
                let root = squared.reciprocal_sqrt();
                root * root * root
            }
            _ => {
                let reciprocal = squared.reciprocal();
                reciprocal * reciprocal
            }
        }
    }
}

/// Any power.
pub struct AnyPower;

impl Law for AnyPower {
    const SHARED: bool = false;

    #[inline(always)]
    fn weight<T: Real>(squared: T, exponent: T) -> T {
        (exponent * squared.log2()).exp2()
    }
}

/// The query points: columns, or the cells of a grid.
#[derive(Clone, Copy)]
pub struct Targets {
    /// x of each, then y of each; null for a grid.
    pub places: *const f64,
    /// How many.
    pub count: u64,
    /// Columns of the grid.
    pub width: u32,
    /// Rows of the grid.
    pub height: u32,
}

impl Targets {
    /// The index of the thread's query `j`; beyond the queries, `count`.
    #[inline(always)]
    pub fn query<const ROW: bool, const Q: usize>(&self, j: usize) -> u64 {
        self.query_of::<ROW, Q>(thread::thread_idx_x(), j)
    }

    /// The index of query `j` of thread `me` of the block; beyond the queries, `count`.
    #[inline(always)]
    pub fn query_of<const ROW: bool, const Q: usize>(&self, me: u32, j: usize) -> u64 {
        let block = thread::block_idx_x();
        if !ROW {
            let first = block as u64 * (BLOCK as u64 * Q as u64);
            return u64::min(first + j as u64 * BLOCK as u64 + me as u64, self.count);
        }
        let (column, row) = self.cell::<Q>(block, me, j);
        if column < self.width && row < self.height {
            row as u64 * self.width as u64 + column as u64
        } else {
            self.count
        }
    }

    /// The cell of query `j` of thread `me`.
    #[inline(always)]
    pub fn cell<const Q: usize>(&self, block: u32, me: u32, j: usize) -> (u32, u32) {
        let across = self.width.div_ceil(ROW_THREADS * Q as u32);
        let patch_row = block.checked_div(across).unwrap_or(0);
        let patch_column = block - patch_row * across;
        let column = patch_column * (ROW_THREADS * Q as u32) + me % ROW_THREADS;
        (column + j as u32 * ROW_THREADS, patch_row * PATCH_ROWS + me / ROW_THREADS)
    }

    /// The place of a query, of so many dimensions.
    #[inline(always)]
    pub unsafe fn at(&self, setup: Setup, query: u64, dimensions: u32) -> [f64; 3] {
        // SAFETY: the query is below the count; the setup is whole.
        unsafe {
            if self.places.is_null() {
                let row = query.checked_div(self.width as u64).unwrap_or(0);
                let column = query - row * self.width as u64;
                let cell = *setup.add(setup::GRID + 2);
                let x = *setup.add(setup::GRID) + (column as f64 + 0.5) * cell;
                return [x, *setup.add(setup::GRID + 1) - (row as f64 + 0.5) * cell, 0.0];
            }
            let (i, n) = (query as usize, self.count as usize);
            let z = if dimensions > 2 { *self.places.add(i + 2 * n) } else { 0.0 };
            [*self.places.add(i), *self.places.add(i + n), z]
        }
    }

    /// The place of a cell's centre.
    ///
    /// # Safety
    /// The setup is whole.
    #[inline(always)]
    pub unsafe fn cell_place(setup: Setup, column: u32, row: u32) -> [f64; 2] {
        // SAFETY: passed on to the caller.
        unsafe {
            let cell = *setup.add(setup::GRID + 2);
            [
                *setup.add(setup::GRID) + (column as f64 + 0.5) * cell,
                *setup.add(setup::GRID + 1) - (row as f64 + 0.5) * cell,
            ]
        }
    }

    /// The place of query `j`, on the ground.
    #[inline(always)]
    pub unsafe fn place<const ROW: bool, const Q: usize>(
        &self,
        setup: Setup,
        j: usize,
    ) -> [f64; 2] {
        // SAFETY: passed on to the caller.
        unsafe { self.place_of::<ROW, Q>(setup, thread::thread_idx_x(), j) }
    }

    /// The place of query `j` of thread `me` of the block, on the ground.
    ///
    /// # Safety
    /// The setup is whole, and the count is not 0.
    #[inline(always)]
    pub unsafe fn place_of<const ROW: bool, const Q: usize>(
        &self,
        setup: Setup,
        me: u32,
        j: usize,
    ) -> [f64; 2] {
        // SAFETY: the index is brought below the count, which is not 0; the setup is whole.
        unsafe {
            if ROW {
                let (column, row) = self.cell::<Q>(thread::block_idx_x(), me, j);
                return Self::cell_place(setup, column, row);
            }
            let query = u64::min(self.query_of::<ROW, Q>(me, j), self.count - 1) as usize;
            [*self.places.add(query), *self.places.add(query + self.count as usize)]
        }
    }
}

/// A number and what f32 leaves of it.
#[inline(always)]
pub fn split(x: f64) -> [f32; 2] {
    let high = x as f32;
    [high, (x - high as f64) as f32]
}

/// The middle of the data and the scale.
#[derive(Clone, Copy)]
pub struct Frame {
    x: f64,
    y: f64,
    scale: f64,
}

impl Frame {
    /// With the middle at (`x`, `y`), and so many units in one of the ground's.
    #[inline(always)]
    pub fn of(x: f64, y: f64, scale: f64) -> Self {
        Self { x, y, scale }
    }

    /// That of a call.
    ///
    /// # Safety
    /// The setup is whole.
    #[inline(always)]
    pub unsafe fn new(setup: Setup) -> Self {
        // SAFETY: the setup is whole.
        unsafe {
            Self {
                x: *setup.add(setup::CENTRE),
                y: *setup.add(setup::CENTRE + 1),
                scale: *setup.add(setup::SCALE),
            }
        }
    }

    #[inline(always)]
    pub fn x(&self, x: f64) -> f64 {
        (x - self.x) * self.scale
    }

    #[inline(always)]
    pub fn y(&self, y: f64) -> f64 {
        (y - self.y) * self.scale
    }
}

/// `f32::mul_add` under a name that the inherent method of the host does not hide.
pub trait MulAdd {
    fn mul_add_(self, b: f32, c: f32) -> f32;
}

impl MulAdd for f32 {
    #[inline(always)]
    fn mul_add_(self, b: f32, c: f32) -> f32 {
        Real::mul_add(self, b, c)
    }
}

/// Data points that are summed together in f32, relative to an origin near them.
#[derive(Clone, Copy)]
pub struct Group {
    /// x of all data points, then y of each, on the ground.
    pub places: *const f64,
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
const MOST_DOUBT: f32 = 128.0;

/// The sums of a thread's queries over a group, in f32.
#[derive(Clone, Copy)]
pub struct GroupSums<const Q: usize, const V: usize> {
    pub weights: [f32; Q],
    pub values: [[f32; Q]; V],
}

impl<const Q: usize, const V: usize> GroupSums<Q, V> {
    /// None yet.
    pub const NONE: Self = Self { weights: [0.0; Q], values: [[0.0; Q]; V] };

    /// The sum of weights of query `j`, then those of weighted values.
    #[inline(always)]
    fn of(&self, c: usize, j: usize) -> f32 {
        if c == 0 { self.weights[j] } else { self.values[(c - 1) % V][j] }
    }

    /// The sums of a query that is not known to the compiler: these are registers.
    #[inline(always)]
    fn pick(&self, j: u32) -> (f32, [f32; V]) {
        let mut values = [0.0; V];
        let mut v = 0;
        while v < V {
            values[v] = pick(&self.values[v], j);
            v += 1;
        }
        (pick(&self.weights, j), values)
    }
}

/// The element of an array in registers that is not known to the compiler.
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

/// Where a thread keeps sum `c` (weights, then weighted values) of its query `j`.
#[inline(always)]
fn slot<const Q: usize>(c: usize, j: u32, thread: u32) -> u32 {
    (c as u32 * Q as u32 + j) * BLOCK + thread
}

/// The queries of a block, the sums of each, and what they follow from.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    /// Places relative to the middle of the data, in units: x and the rest that f32 leaves of it, y and
    /// the rest.
    pub queries: SharedArray<Vector>,
    pub sums: SharedArray<f64>,
    pub targets: &'a Targets,
    pub setup: Setup,
    /// Minus half the power of each query, or null.
    pub exponents: *const f64,
}

impl Block<'_> {
    /// Adds the sums of the thread's queries over a group to those before, or begins with them.
    ///
    /// A place relative to the group's origin is off by about `2^-24` of the group's reach `r`, and so a
    /// weight `d^-p` by the share `p 2^-24 r / d`. What is in doubt for that ([`Self::is_due`]) is summed
    /// anew, by distances in f64. A query farther from the group than it is large is at no such loss.
    ///
    /// # Safety
    /// The whole block comes to the same call; the group's points are data points; all that the block
    /// has is as the kernels ask. `near_x` and `near_y` are the queries' places relative to the group's
    /// origin; `points` has x and y of the group's points, before two other words, and
    /// `values` gives a point's values by its place in the group.
    #[inline(always)]
    pub unsafe fn add<L: Law, const ROW: bool, const Q: usize, const V: usize>(
        &self,
        group: Group,
        (near_x, near_y): (&[f32; Q], &[f32; Q]),
        of_group: &GroupSums<Q, V>,
        is_first: bool,
        points: SharedArray<Vector>,
        values: impl Fn(u32) -> [f32; V],
    ) {
        let me = thread::thread_idx_x();
        let mut near = 0u32;
        // SAFETY: slots are the thread's own; the rest is passed on to the caller.
        unsafe {
            let mut j = 0;
            while j < Q {
                let away = f32::max(f32::abs(near_x[j]), f32::abs(near_y[j]));
                let is_near = away <= 2.0 * group.reach;
                near |= (is_near as u32) << j;
                let mut c = 0;
                while c < 1 + V {
                    let slot = slot::<Q>(c, j as u32, me);
                    let before = if is_first { 0.0 } else { self.sums.load(slot) };
                    let sum = if is_near { 0.0 } else { of_group.of(c, j) };
                    self.sums.store(slot, before + sum as f64);
                    c += 1;
                }
                j += 1;
            }
            let mut doubtful = 0;
            while near != 0 {
                let j = near.trailing_zeros();
                near &= near - 1;
                let is_due = self.is_due::<ROW, Q, V>(&group, j, of_group.pick(j), points);
                doubtful |= (is_due as u32) << j;
            }
            self.add_doubtful::<L, ROW, Q, V>(doubtful, group, values);
        }
    }

    /// Adds the sums over a group that is near query `j`, unless they are in doubt: then returns true.
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
        group: &Group,
        j: u32,
        (weight, values): (f32, [f32; V]),
        points: SharedArray<Vector>,
    ) -> bool {
        let me = thread::thread_idx_x();
        // SAFETY: passed on to the caller.
        unsafe {
            // Unknown, so that nothing of this is kept in registers from group to group.
            let setup = self.setup.add(vector::unknown(0) as usize);
            let exponent = self.exponent::<ROW, Q>(setup, me, j) as f32;
            let known = f32::max(
                self.sums.load(slot::<Q>(0, j, me)) as f32 + weight,
                self.least_weight(group.points, setup, j, exponent),
            );
            let mut share = weight / known;
            let mut v = 0;
            while v < V {
                let of_value = setup.add(setup::VALUES + 3 * v);
                let [offset, low, high] =
                    [*of_value as f32, *of_value.add(1) as f32, *of_value.add(2) as f32];
                // Of values of both signs the sums do not tell the magnitudes: they may be all here.
                if low < 0.0 && high > 0.0 {
                    share = 1.0;
                } else {
                    let sum = f32::abs(values[v] + offset * weight);
                    let before = self.sums.load(slot::<Q>(0, j, me)) * *of_value
                        + self.sums.load(slot::<Q>(1 + v, j, me));
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
            if weight > 0.0 && !(rounding * inverse <= MOST_DOUBT) {
                let [x, x_rest, y, y_rest] = self.queries.load(j * BLOCK + me);
                let place = [
                    (f32::from_bits(x) - group.origin[0]) + f32::from_bits(x_rest),
                    (f32::from_bits(y) - group.origin[1]) + f32::from_bits(y_rest),
                ];
                let nearest = nearest_square(points.as_elements(), group.count, place);
                let nearest = nearest + *setup.add(setup::SMOOTHING) as f32;
                if !(rounding * Real::reciprocal_sqrt(nearest) <= MOST_DOUBT) {
                    return true;
                }
            }
            let mut c = 0;
            while c < 1 + V {
                let slot = slot::<Q>(c, j, me);
                let sum = if c == 0 { weight } else { values[(c - 1) % V] };
                self.sums.store(slot, self.sums.load(slot) + sum as f64);
                c += 1;
            }
            false
        }
    }

    /// Minus half the power of query `j` of thread `me`.
    #[inline(always)]
    unsafe fn exponent<const ROW: bool, const Q: usize>(
        &self,
        setup: Setup,
        me: u32,
        j: u32,
    ) -> f64 {
        // SAFETY: passed on to the caller; the index is brought below the count, which is not 0.
        unsafe {
            if self.exponents.is_null() {
                return *setup.add(setup::EXPONENT);
            }
            let query = self.targets.query_of::<ROW, Q>(me, j as usize);
            *self.exponents.add(u64::min(query, self.targets.count - 1) as usize)
        }
    }

    /// A weight that all data points together have at least, for query `j`.
    #[inline(always)]
    unsafe fn least_weight(&self, points: u32, setup: Setup, j: u32, exponent: f32) -> f32 {
        // SAFETY: passed on to the caller.
        unsafe {
            let [x, _, y, _] = self.queries.load(j * BLOCK + thread::thread_idx_x());
            let x = f32::abs(f32::from_bits(x)) + *setup.add(setup::EXTENT) as f32;
            let y = f32::abs(f32::from_bits(y)) + *setup.add(setup::EXTENT + 1) as f32;
            let squared = x * x + y * y + *setup.add(setup::SMOOTHING) as f32;
            points as f32 * AnyPower::weight(squared, exponent)
        }
    }

    /// Adds the sums over a group of those queries of the warp's threads that `doubtful` has a bit for,
    /// by distances in f64: one query after the other, the lanes sharing the group's points.
    ///
    /// # Safety
    /// As for [`Self::add`].
    #[inline(always)]
    unsafe fn add_doubtful<L: Law, const ROW: bool, const Q: usize, const V: usize>(
        &self,
        doubtful: u32,
        group: Group,
        values: impl Fn(u32) -> [f32; V],
    ) {
        // SAFETY: the warp stays together: votes are the same for all its lanes. The rest is passed on
        // to the caller.
        unsafe {
            if !warp::any(warp::FULL, doubtful != 0) {
                return;
            }
            let setup = self.setup.add(vector::unknown(0) as usize);
            let warp_start = thread::thread_idx_x() - warp::lane_id();
            let mut j = 0;
            while j < vector::unknown(Q as u32) {
                let mut lanes = warp::ballot(warp::FULL, doubtful >> j & 1 != 0);
                while lanes != 0 {
                    let owner = warp_start + lanes.trailing_zeros();
                    lanes &= lanes - 1;
                    let place = self.targets.place_of::<ROW, Q>(setup, owner, j as usize);
                    let exponent = self.exponent::<ROW, Q>(setup, owner, j) as f32;
                    let (weight, of_values) =
                        sum_in_f64::<L, V>(&group, place, (setup, exponent), &values);
                    if thread::thread_idx_x() == owner {
                        let mut c = 0;
                        while c < 1 + V {
                            let slot = slot::<Q>(c, j, owner);
                            let sum = if c == 0 { weight } else { of_values[(c - 1) % V] };
                            self.sums.store(slot, self.sums.load(slot) + sum);
                            c += 1;
                        }
                    }
                }
                j += 1;
            }
        }
    }
}

/// The square of the least distance of a place from staged points, which have four words each.
///
/// # Safety
/// So many points are staged.
#[inline(always)]
unsafe fn nearest_square(points: SharedArray<f32>, count: u32, [x, y]: [f32; 2]) -> f32 {
    let mut nearest = f32::INFINITY;
    let mut word = 0;
    while word < vector::unknown(4 * count) {
        // SAFETY: passed on to the caller.
        let (dx, dy) = unsafe { (points.load(word) - x, points.load(word + 1) - y) };
        nearest = f32::min(nearest, dx * dx + dy * dy);
        word += 4;
    }
    nearest
}

/// The sums of weights and of weighted values over a group for a query at `place`, in every lane.
///
/// # Safety
/// As for [`Block::add`].
#[inline(always)]
unsafe fn sum_in_f64<L: Law, const V: usize>(
    group: &Group,
    place: [f64; 2],
    (setup, exponent): (Setup, f32),
    values: impl Fn(u32) -> [f32; V],
) -> (f64, [f64; V]) {
    // SAFETY: passed on to the caller.
    unsafe {
        let (scale, smoothing) = (*setup.add(setup::SCALE), *setup.add(setup::SMOOTHING));
        let (mut weight, mut sums) = (0.0f32, [0.0f32; V]);
        let mut slot = warp::lane_id();
        while slot < vector::unknown(group.count) {
            let at = group.places.add((group.first + slot) as usize);
            // Differences before anything is rounded; the scale is a power of two.
            let dx = (*at - place[0]) * scale;
            let dy = (*at.add(group.points as usize) - place[1]) * scale;
            let squared = (dx * dx + dy * dy + smoothing) as f32;
            let of_point = L::weight(squared, exponent);
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
        while v < V {
            all[v] = warp::reduce(sums[v] as f64, |a, b| a + b);
            v += 1;
        }
        (warp::reduce(weight as f64, |a, b| a + b), all)
    }
}
