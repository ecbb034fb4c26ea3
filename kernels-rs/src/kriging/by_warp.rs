//! A system a warp, for up to 64 neighbours.
//!
//! The factor lies in shared memory, row after row, and below it v and u. The lanes take the rows below a pivot in turns and
//! fill one column after the other. An element is its correlation less the products of the columns before. Each lane
//! computes the pivot itself.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::arguments::{Law, Neighbours, Points, Results, TargetPart};
use super::system::{Products, pivot};

/// Threads of a block: a warp, and so a target.
const BLOCK: u32 = warp::SIZE;

/// Writes the value of each target of a part, for each column of values, and its variance; NaN where it has too few
/// neighbours. An instance takes up to as many as its name says. Grid: a block for each target that there is room for.
///
/// # Safety
/// As for [`solve_by_thread`](mod@super::by_thread::solve_by_thread).
#[kernel(block = BLOCK, shared = bytes_of_block::<K>(), key: usize = K, instances(
    up_to_32: <32>; up_to_64: <64>;
))]
pub unsafe fn solve_by_warp<const K: usize>(
    points: Points<'_>,
    part: TargetPart<'_>,
    neighbours: Neighbours<'_>,
    law: Law,
    results: Results<'_>,
) {
    let number = thread::block_idx_x() as u64;
    let Some(target) = part.target(number) else { return };
    let count = neighbours.count(number);
    let lane = warp::lane_id();
    if count == 0 || count < law.least {
        if lane == 0 {
            results.set_nothing(points.columns, &target);
        }
        return;
    }
    let system = System { shared: shared::<K>(&mut Carver::new()), count };
    let position = |i: u32| neighbours.position(number, i);
    // SAFETY: the whole warp comes here, since a block has one target. A barrier stands between each write and the reads of
    // other lanes, so that each element is written before it is read.
    unsafe {
        let mut i = lane;
        while i < count {
            let at = position(i);
            let place = law.place([points.x.get(at), points.y.get(at)], target.place);
            system.shared.places.store(2 * i, place[0]);
            system.shared.places.store(2 * i + 1, place[1]);
            i += BLOCK;
        }
        warp::sync_warp(warp::FULL);
        system.correlate(&law);
        let has_all = system.factorise();
        let (mut products, mut i) = (Products::default(), 0);
        while i < vector::unknown(count) {
            products.add(system.get(count + 1, i), system.get(count, i));
            i += 1;
        }
        if lane == 0 {
            results.variances.set(target.index, products.variance(law.sill));
        }
        let mut column = 0;
        while column < points.columns {
            let value = |i: u32| match has_all {
                true => points.value(column, position(i)),
                false => points.mean(column, i..count, position, |i| system.get(i, i) == 0.0),
            };
            let nearest = value(0);
            let (uw, vw) = system.products_of(|i| value(i) - nearest);
            if lane == 0 {
                results.set(column, &target, products.value(nearest, uw, vw));
            }
            column += 1;
        }
    }
}

/// The shared memory of a warp.
#[derive(Clone, Copy)]
struct Shared {
    /// The rows of the factor, each with the reciprocal of its pivot's root, then v, and u.
    rows: SharedArray<f64>,
    /// x and y of each place; then a column of values.
    places: SharedArray<f64>,
}

#[inline(always)]
const fn shared<const K: usize>(carver: &mut Carver) -> Shared {
    let rows = K + 2;
    let elements = (rows * (rows + 1) / 2) as u32;
    Shared { rows: carver.array(elements), places: carver.array(2 * K as u32) }
}

/// Bytes of shared memory of a block.
const fn bytes_of_block<const K: usize>() -> u32 {
    let mut carver = Carver::new();
    let _ = shared::<K>(&mut carver);
    carver.bytes()
}

/// The system of a warp.
#[derive(Clone, Copy)]
struct System {
    shared: Shared,
    /// How many neighbours.
    count: u32,
}

/// The first element of a row.
#[inline(always)]
fn start(row: u32) -> u32 {
    row * (row + 1) / 2
}

impl System {
    /// An element: row `count` is v, and the next u.
    ///
    /// # Safety
    /// It was written, and no lane writes it now.
    #[inline(always)]
    unsafe fn get(&self, row: u32, column: u32) -> f64 {
        // SAFETY: passed on to the caller.
        unsafe { self.shared.rows.load(start(row) + column) }
    }

    /// Sets an element.
    ///
    /// # Safety
    /// The column is at most the row, and no other lane touches it now.
    #[inline(always)]
    unsafe fn set(&self, row: u32, column: u32, value: f64) {
        // SAFETY: passed on to the caller.
        unsafe { self.shared.rows.store(start(row) + column, value) }
    }

    /// Writes the correlations of each neighbour with those before it, of the target with all, and ones.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the places were written.
    #[inline(always)]
    unsafe fn correlate(&self, law: &Law) {
        let place = |i: u32| {
            // SAFETY: passed on to the caller.
            unsafe { [self.shared.places.load(2 * i), self.shared.places.load(2 * i + 1)] }
        };
        let mut row = 1;
        // SAFETY: passed on to the caller; each element has one lane.
        unsafe {
            while row <= vector::unknown(self.count) {
                let [x, y] = if row < self.count { place(row) } else { [0.0; 2] };
                let mut i = warp::lane_id();
                while i < row {
                    let other = place(i);
                    let [correlation] = law.correlation.of([other[0] - x], [other[1] - y]);
                    self.set(row, i, correlation);
                    i += BLOCK;
                }
                row += 1;
            }
            let mut i = warp::lane_id();
            while i < self.count {
                self.set(self.count + 1, i, 1.0);
                i += BLOCK;
            }
            warp::sync_warp(warp::FULL);
        }
    }

    /// Replaces the correlations by the factor, and solves for v and u; returns whether no neighbour is left out.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the correlations were written.
    #[inline(always)]
    unsafe fn factorise(&self) -> bool {
        let (mut has_all, mut column) = (true, 0);
        // SAFETY: passed on to the caller; a column is read by others after the barrier only.
        unsafe {
            while column < vector::unknown(self.count) {
                let (mut rest, mut i) = (1.0, 0);
                while i < vector::unknown(column) {
                    let element = self.get(column, i);
                    rest -= element * element;
                    i += 1;
                }
                let reciprocal = pivot(rest);
                has_all &= reciprocal > 0.0;
                let mut row = column + 1 + warp::lane_id();
                while row < self.count + 2 {
                    let (mut element, mut i) = (self.get(row, column), 0);
                    while i < vector::unknown(column) {
                        element -= self.get(row, i) * self.get(column, i);
                        i += 1;
                    }
                    self.set(row, column, element * reciprocal);
                    row += BLOCK;
                }
                if warp::lane_id() == 0 {
                    self.set(column, column, reciprocal);
                }
                warp::sync_warp(warp::FULL);
                column += 1;
            }
        }
        has_all
    }

    /// Solves for a column of values w, and returns `u'w` and `v'w`.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the factor is done.
    #[inline(always)]
    unsafe fn products_of(&self, value: impl Fn(u32) -> f64) -> (f64, f64) {
        let (row, lane) = (self.shared.places, warp::lane_id());
        let (mut uw, mut vw, mut column) = (0.0, 0.0, 0);
        // SAFETY: passed on to the caller; the places are not needed any more, and each element has one lane.
        unsafe {
            warp::sync_warp(warp::FULL);
            let mut i = lane;
            while i < self.count {
                row.store(i, value(i));
                i += BLOCK;
            }
            while column < vector::unknown(self.count) {
                warp::sync_warp(warp::FULL);
                let element = row.load(column) * self.get(column, column);
                uw += self.get(self.count + 1, column) * element;
                vw += self.get(self.count, column) * element;
                let mut i = lane;
                while i < self.count {
                    if i > column {
                        row.store(i, row.load(i) - element * self.get(i, column));
                    }
                    i += BLOCK;
                }
                column += 1;
            }
        }
        (uw, vw)
    }
}
