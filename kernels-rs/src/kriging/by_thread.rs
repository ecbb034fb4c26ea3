//! A system a thread, for up to 16 neighbours.
//!
//! The factor L of each lane lies in shared memory, element after element, so that lanes use different banks; the row under
//! way is in registers. When an element of the row is known, its products are subtracted from all elements after it: these do
//! not wait for each other. Loops over rows and elements are unrolled, for registers have no index.
//!
//! ```text
//! row 0     d0                    d: the reciprocal of a pivot's root; before that x of the place
//! row 1     L10 d1
//! row 2     L20 L21 d2
//! ..
//! row K     r0  r1  r2 ..         in turns y of the places, c, and z of each column of values
//! ```
//!
//! A row that has no neighbour is 0 with d = 0, as that of a neighbour that is left out.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::arguments::{Law, Neighbours, Points, Results, TargetPart};
use super::system::{Products, pivot};

/// Threads of a block: one warp, since shared memory is what bounds how many there are.
const BLOCK: u32 = warp::SIZE;

/// The most neighbours of an instance.
const MOST: usize = 16;

/// Correlations that are computed side by side.
const LANES: usize = 4;

/// Writes the value of each target of a part, for each column of values, and its variance; NaN where it has too few
/// neighbours. An instance takes up to as many as its name says. Grid: a thread for each target that there is room for.
///
/// # Safety
/// The points' columns have `count` elements each, and the positions name points. The targets' columns have what
/// [`Patches`](crate::rtree::patches::Patches) says; results have an element for each target, values for each column.
#[kernel(block = BLOCK, shared = bytes_of_block::<K>(), key: usize = K, instances(
    up_to_8: <8>; up_to_12: <12>; up_to_16: <16>;
))]
pub unsafe fn solve_by_thread<const K: usize>(
    points: Points<'_>,
    part: TargetPart<'_>,
    neighbours: Neighbours<'_>,
    law: Law,
    results: Results<'_>,
) {
    let number = thread::index_1d();
    let Some(target) = part.target(number) else { return };
    let (mut positions, count) = neighbours.all::<K, MOST>(number);
    if count == 0 || count < law.least {
        results.set_nothing(points.columns, &target);
        return;
    }
    // What is not a neighbour repeats the nearest, so that no load depends on a branch.
    let (mut places, mut i) = ([[0.0; 2]; MOST], 0);
    while i < K {
        positions[i] = if (i as u32) < count { positions[i] } else { positions[0] };
        places[i] = [points.x.get(positions[i]), points.y.get(positions[i])];
        i += 1;
    }
    let system = System::<K> { room: room_of_lane::<K>(), count };
    // SAFETY: the elements are the thread's own, and each is written before it is read.
    unsafe {
        let mut i = 0;
        while i < K {
            let place = law.place(places[i], target.place);
            system.set(i as u32, i as u32, place[0]);
            system.set(K as u32, i as u32, place[1]);
            i += 1;
        }
        system.correlate(&law);
        let has_all = system.factorise();
        let u = system.solve([1.0; MOST]);
        let v = system.solve(system.row());
        let (mut products, mut i) = (Products::default(), 0);
        while i < K {
            products.add(u[i], v[i]);
            i += 1;
        }
        results.variances.set(target.index, products.variance(law.sill));
        let mut column = 0;
        while column < points.columns {
            let (mut values, mut i) = ([0.0; MOST], 0);
            while i < K {
                values[i] = points.value(column, positions[i]);
                i += 1;
            }
            if !has_all {
                let position = |i: u32| neighbours.position(number, i);
                let is_left_out = |i: u32| system.get(i, i) == 0.0;
                let mut i = 0;
                while i < vector::unknown(count) {
                    let mean = points.mean(column, i..count, position, is_left_out);
                    system.set(K as u32, i, mean);
                    i += 1;
                }
                values = system.row();
            }
            let (nearest, mut row, mut i) = (values[0], [0.0; MOST], 0);
            while i < K {
                row[i] = values[i] - nearest;
                i += 1;
            }
            let w = system.solve(row);
            let (mut uw, mut vw, mut i) = (0.0, 0.0, 0);
            while i < K {
                uw += u[i] * w[i];
                vw += v[i] * w[i];
                i += 1;
            }
            results.set(column, &target, products.value(nearest, uw, vw));
            column += 1;
        }
    }
}

/// Elements of a lane: the rows of the factor, and one more.
const fn elements<const K: usize>() -> u32 {
    (K * (K + 1) / 2 + K) as u32
}

/// Bytes of shared memory of a block.
const fn bytes_of_block<const K: usize>() -> u32 {
    let mut carver = Carver::new();
    let _: SharedArray<f64> = carver.array(BLOCK * elements::<K>());
    carver.bytes()
}

/// The elements of the lane, of which the next is [`BLOCK`] further.
#[inline(always)]
fn room_of_lane<const K: usize>() -> SharedArray<f64> {
    Carver::new().array(BLOCK * elements::<K>()).skip(thread::thread_idx_x())
}

/// The system of a lane.
#[derive(Clone, Copy)]
struct System<const K: usize> {
    room: SharedArray<f64>,
    /// How many neighbours.
    count: u32,
}

impl<const K: usize> System<K> {
    /// An element.
    ///
    /// # Safety
    /// It was written.
    #[inline(always)]
    unsafe fn get(&self, row: u32, column: u32) -> f64 {
        // SAFETY: passed on to the caller.
        unsafe { self.room.load((row * (row + 1) / 2 + column) * BLOCK) }
    }

    /// Sets an element.
    ///
    /// # Safety
    /// The row is at most `K`, and the column at most the row, of the last row less.
    #[inline(always)]
    unsafe fn set(&self, row: u32, column: u32, value: f64) {
        // SAFETY: passed on to the caller; the element is the thread's own.
        unsafe { self.room.store((row * (row + 1) / 2 + column) * BLOCK, value) }
    }

    /// The last row; 0 beyond the neighbours.
    ///
    /// # Safety
    /// It was written.
    #[inline(always)]
    unsafe fn row(&self) -> [f64; MOST] {
        let (mut row, mut i) = ([0.0; MOST], 0);
        while i < K {
            if (i as u32) < self.count {
                // SAFETY: passed on to the caller.
                row[i] = unsafe { self.get(K as u32, i as u32) };
            }
            i += 1;
        }
        row
    }

    /// Replaces the places by correlations, but x of each, which stay until the factor takes their room: first those among
    /// neighbours, then those with the target in the last row.
    ///
    /// # Safety
    /// The places were written.
    #[inline(always)]
    unsafe fn correlate(&self, law: &Law) {
        let mut row = 1;
        while row <= self.count {
            let is_target = row == self.count;
            let (to, mut first) = (if is_target { K as u32 } else { row }, 0);
            // SAFETY: passed on to the caller. The last row loses y of a place only when no correlation needs it any more.
            unsafe {
                let place = match is_target {
                    true => [0.0; 2],
                    false => [self.get(row, row), self.get(K as u32, row)],
                };
                while first < row {
                    let (mut dx, mut dy, mut lane) = ([0.0; LANES], [0.0; LANES], 0);
                    while lane < LANES {
                        let i = u32::min(first + lane as u32, row - 1);
                        dx[lane] = self.get(i, i) - place[0];
                        dy[lane] = self.get(K as u32, i) - place[1];
                        lane += 1;
                    }
                    let correlations = law.correlation.of(dx, dy);
                    let mut lane = 0;
                    while lane < LANES {
                        let i = first + lane as u32;
                        if i < row {
                            self.set(to, i, correlations[lane]);
                        }
                        lane += 1;
                    }
                    first += LANES as u32;
                }
            }
            row += 1;
        }
    }

    /// Replaces the correlations among neighbours by the factor; returns whether none is left out.
    ///
    /// # Safety
    /// The correlations were written.
    #[inline(always)]
    unsafe fn factorise(&self) -> bool {
        let mut has_all = true;
        macro_rules! rows {
            ($($row:literal)+) => {$(
                if $row < K {
                    // SAFETY: passed on to the caller; the rows before are done.
                    has_all &= unsafe { self.factorise_row::<$row>() };
                }
            )+};
        }
        rows! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 }
        has_all
    }

    /// A row of the factor; returns whether its neighbour counts, or there is none.
    ///
    /// # Safety
    /// Its correlations were written, and the rows before are done.
    #[inline(always)]
    unsafe fn factorise_row<const ROW: usize>(&self) -> bool {
        let row = ROW as u32;
        let (mut elements, mut rest, mut i) = ([0.0; MOST], 1.0, 0);
        // SAFETY: passed on to the caller.
        unsafe {
            if row >= self.count {
                while i <= ROW {
                    self.set(row, i as u32, 0.0);
                    i += 1;
                }
                return true;
            }
            while i < ROW {
                elements[i] = self.get(row, i as u32);
                i += 1;
            }
            let mut column = 0;
            while column < ROW {
                let element = elements[column] * self.get(column as u32, column as u32);
                rest -= element * element;
                self.set(row, column as u32, element);
                let mut next = column + 1;
                while next < ROW {
                    elements[next] -= element * self.get(next as u32, column as u32);
                    next += 1;
                }
                column += 1;
            }
            let reciprocal = pivot(rest);
            self.set(row, row, reciprocal);
            reciprocal > 0.0
        }
    }

    /// Solves for a row.
    ///
    /// # Safety
    /// The factor is done.
    #[inline(always)]
    unsafe fn solve(&self, mut row: [f64; MOST]) -> [f64; MOST] {
        let mut column = 0;
        while column < K {
            // SAFETY: passed on to the caller.
            unsafe {
                row[column] *= self.get(column as u32, column as u32);
                let mut next = column + 1;
                while next < K {
                    row[next] -= row[column] * self.get(next as u32, column as u32);
                    next += 1;
                }
            }
            column += 1;
        }
        row
    }
}
