//! Writes the k nearest points of places: the kernel `find_nearest`.
//!
//! ```text
//! k <= 64   lists in registers and shared memory (Few); at the end the lanes of a warp write all rows together
//! any k     the list is the row of the result itself, in order of (f64 square, index); each point that the walk
//!           reaches is measured in f64 and inserted: k moves a point at worst
//! ```

use device_std::{In, Out, arguments, kernel, math, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::choice::All;
use super::descent::{Tree, Visitor, walk};
use super::few::Few;
use super::group::Group;
use super::layout::{FANOUT, NONE};
use super::list::{BLOCK, List, STRIDE, bytes_of_block, is_before};
use crate::spatial::place::{Bounds, Place};

/// The bits of an infinite f32.
const INFINITE: u32 = f32::INFINITY.to_bits();

/// Places to search from.
#[arguments]
pub struct Targets<'a, T> {
    /// x of each place.
    pub x: In<'a, T>,
    /// y of each place.
    pub y: In<'a, T>,
    /// The order in which threads take the places; `None` for the order as given.
    pub order: Option<In<'a, u32>>,
    /// The number of places.
    pub count: u32,
}

/// Writes the `k` nearest points of each place: their indices as given, nearest first, and their distances. Of points at
/// the same distance, the one with the lower index comes first. If there are fewer points, or if the place is not finite,
/// the rest of a row is [`u32::MAX`] at an infinite distance. An instance takes up to as many neighbours as its name
/// says, `many` any number. Grid: a thread for each place.
///
/// # Safety
/// The tree is whole, and has points. The places' columns have `count` elements, and so has their order, a permutation;
/// `indices` and `distances` have `k` for each.
#[kernel(block = BLOCK, shared = <L as Lists>::SHARED, key: u32 = <L as Lists>::MAX, instances(
    f32_8: <f32, UpTo<8, 9>>, resident = 18, spills = 300;
    f32_12: <f32, UpTo<12, 13>>, resident = 18, spills = 300;
    f32_16: <f32, UpTo<16, 17>>, resident = 16, spills = 300;
    f32_32: <f32, UpTo<32, 33>>, resident = 10, spills = 300;
    f32_64: <f32, UpTo<64, 65>>, resident = 8, spills = 300;
    f32_many: <f32, Many>;
    f64_8: <f64, UpTo<8, 9>>, resident = 18, spills = 300;
    f64_12: <f64, UpTo<12, 13>>, resident = 18, spills = 300;
    f64_16: <f64, UpTo<16, 17>>, resident = 16, spills = 300;
    f64_32: <f64, UpTo<32, 33>>, resident = 10, spills = 300;
    f64_64: <f64, UpTo<64, 65>>, resident = 8, spills = 300;
    f64_many: <f64, Many>;
))]
pub unsafe fn find_nearest<T: Place, L: Lists>(
    tree: Tree<'_, T>,
    targets: Targets<'_, T>,
    k: u32,
    indices: Out<'_, u32>,
    distances: Out<'_, f64>,
) {
    let target = targets.of_thread();
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        let group = Group::new(target.place, target.is_place, tree.extent);
        L::find(&tree, &target, group.as_ref(), k, Rows { indices, distances });
    }
}

/// How a kernel keeps the neighbours of its places.
pub trait Lists {
    /// The most neighbours of a place.
    const MAX: u32;

    /// Bytes of shared memory of a block.
    const SHARED: u32;

    /// Writes the `k` nearest points of the lane's place. Without a group no lane has a place.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the tree is whole and has points; the rows have `k` elements.
    unsafe fn find<T: Place>(
        tree: &Tree<'_, T>,
        target: &Target,
        group: Option<&Group>,
        k: u32,
        rows: Rows<'_>,
    );
}

/// Lists of at most `K`; `L` is one more.
pub struct UpTo<const K: usize, const L: usize>;

impl<const K: usize, const L: usize> Lists for UpTo<K, L> {
    const MAX: u32 = K as u32;
    const SHARED: u32 = bytes_of_block::<K, 2>();

    #[inline(always)]
    unsafe fn find<T: Place>(
        tree: &Tree<'_, T>,
        target: &Target,
        group: Option<&Group>,
        k: u32,
        rows: Rows<'_>,
    ) {
        let mut few = Few::<K, L, 1, K>::new(target.place, if target.is_place { k } else { 0 });
        // SAFETY: passed on to the caller.
        unsafe {
            if let Some(group) = group {
                few.find(tree, group, &All, f32::INFINITY);
            }
            write(few.list(0), tree, target, k, rows);
        }
    }
}

/// Lists of any length, in the results.
pub struct Many;

impl Lists for Many {
    const MAX: u32 = u32::MAX;
    const SHARED: u32 = 0;

    #[inline(always)]
    unsafe fn find<T: Place>(
        tree: &Tree<'_, T>,
        target: &Target,
        group: Option<&Group>,
        k: u32,
        rows: Rows<'_>,
    ) {
        let bound = if target.is_place { f32::INFINITY } else { -1.0 };
        let row = rows.row(target.number, k);
        let mut list =
            LongList { row, place: target.place, most: k, count: 0, bound, reach: INFINITE };
        if let Some(group) = group {
            // SAFETY: passed on to the caller.
            unsafe { walk(tree, group, &mut list) };
        }
        if target.is_there {
            row.finish(list.count, k);
        }
    }
}

/// The place of a thread.
pub struct Target {
    /// Its number, 0 where there is none.
    number: u64,
    /// x and y, NaN where there is none.
    place: [f64; 2],
    is_there: bool,
    /// Whether it is there and finite.
    is_place: bool,
}

impl<T: Place> Targets<'_, T> {
    /// The place of this thread.
    #[inline(always)]
    fn of_thread(&self) -> Target {
        let thread = thread::index_1d();
        let is_there = thread < self.count as u64;
        let number = match (is_there, self.order) {
            (false, _) => 0,
            (true, None) => thread,
            (true, Some(order)) => order.get(thread) as u64,
        };
        let place = match is_there {
            true => [self.x.get(number), self.y.get(number)].map(Place::widened),
            false => [f64::NAN; 2],
        };
        let is_place = place[0].is_finite() && place[1].is_finite();
        Target { number, place, is_there, is_place }
    }
}

/// Writes the lists of the warp's lanes, a row each. The lanes take the elements of all rows in turn: neighbouring lanes
/// write neighbouring elements, so that stores coalesce. A row a lane took 13.9 ms in place of 11.4
/// (docs/notes/neighbours.md).
///
/// # Safety
/// The whole warp comes to the same call; the rows have `k` elements.
#[inline(always)]
unsafe fn write<T: Place>(list: List, tree: &Tree<'_, T>, target: &Target, k: u32, rows: Rows<'_>) {
    let lane = warp::lane_id();
    let parts = |elements: u32| {
        let rows = elements.checked_div(k).unwrap_or(0);
        (rows, elements - rows * k)
    };
    // Element number `lane + 32 step` of all rows is entry `i` of lane `of`: found by additions, not by a division a
    // step.
    let ((mut of, mut i), (rows_of_step, rest)) = (parts(lane), parts(warp::SIZE));
    // SAFETY: passed on to the caller; an entry below the count was written.
    unsafe {
        // Lanes read each other's lists from here on.
        warp::sync_warp(warp::FULL);
        // 32 rows of k elements are k steps of 32 lanes.
        let mut step = 0;
        while step < vector::unknown(k) {
            let is_there = warp::shuffle(warp::FULL, target.is_there as u32, of) != 0;
            let number = warp::shuffle(warp::FULL, target.number as u32, of);
            let count = warp::shuffle(warp::FULL, list.count, of);
            let place = target.place.map(|along| warp::shuffle(warp::FULL, along, of));
            if is_there {
                let mut found = (f64::INFINITY, NONE);
                if i < count {
                    found = tree.exact(list.positions.load(i * STRIDE + of), place);
                }
                rows.row(number as u64, k).set(i, (math::sqrt(found.0), found.1));
            }
            of += rows_of_step;
            i += rest;
            // `rest` is below k: one row at most is to be carried.
            if i >= k {
                (of, i) = (of + 1, i - k);
            }
            step += 1;
        }
    }
}

/// The results of all places: a row for each.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    indices: Out<'a, u32>,
    distances: Out<'a, f64>,
}

impl<'a> Rows<'a> {
    /// The row of a place, of `k` elements.
    #[inline(always)]
    fn row(&self, number: u64, k: u32) -> Row<'a> {
        let first = number * k as u64;
        Row { indices: self.indices.from(first), distances: self.distances.from(first) }
    }
}

/// The results of a place.
#[derive(Clone, Copy)]
struct Row<'a> {
    indices: Out<'a, u32>,
    /// Squares of distances until the search ends, then distances.
    distances: Out<'a, f64>,
}

impl Row<'_> {
    /// Element `i`.
    #[inline(always)]
    fn get(&self, i: u32) -> (f64, u32) {
        (self.distances.get(i), self.indices.get(i))
    }

    /// Sets element `i`.
    #[inline(always)]
    fn set(&self, i: u32, (distance, index): (f64, u32)) {
        self.distances.set(i, distance);
        self.indices.set(i, index);
    }

    /// Inserts a point among the `count` that are there.
    #[inline(always)]
    fn insert(&self, count: u32, point: (f64, u32)) {
        let mut i = count;
        while i > 0 && is_before(point, self.get(i - 1)) {
            self.set(i, self.get(i - 1));
            i -= 1;
        }
        self.set(i, point);
    }

    /// Takes the roots of the `count` squares, and fills the rest of the `k` elements.
    #[inline(always)]
    fn finish(&self, count: u32, k: u32) {
        let mut i = 0;
        while i < vector::unknown(k) {
            if i < count {
                self.distances.set(i, math::sqrt(self.distances.get(i)));
            } else {
                self.set(i, (f64::INFINITY, NONE));
            }
            i += 1;
        }
    }
}

/// A list in the results, of any length: f64 squares decide at once, so nothing is left to a second walk.
struct LongList<'a> {
    row: Row<'a>,
    place: [f64; 2],
    most: u32,
    count: u32,
    /// The greatest f32 square of a point that the lane wants; negative for a lane without a place.
    bound: f32,
    reach: u32,
}

impl<T: Place> Visitor<T> for LongList<'_> {
    const NEAREST_FIRST: bool = true;
    const SKIPS_REPEATED: bool = false;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.reach
    }

    #[inline(always)]
    fn wants(&self, group: &Group, bounds: Bounds<f32, 2>) -> bool {
        group.gap_of_lane(bounds) <= self.bound
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, T>, group: &Group, leaf: u32) {
        let mut i = 0;
        while i < vector::unknown(FANOUT) {
            let position = leaf * FANOUT + i;
            if position < tree.points && self.bound >= 0.0 {
                let point = tree.exact(position, self.place);
                if self.count < self.most {
                    self.row.insert(self.count, point);
                    self.count += 1;
                } else if is_before(point, self.row.get(self.most - 1)) {
                    self.row.insert(self.most - 1, point);
                }
            }
            i += 1;
        }
        // Only a full list limits what is wanted. The bound is in f32, as the walk's gaps are.
        if self.count == self.most && self.bound >= 0.0 {
            self.bound = group.bound_of(self.row.get(self.most - 1).0);
        }
        // One above the bound's bits: a point exactly at the bound is wanted. A negative number's bits would be the
        // greatest.
        let bits = if self.bound < 0.0 { 0 } else { self.bound.to_bits() + 1 };
        // SAFETY: passed on to the caller.
        self.reach = u32::min(unsafe { warp::max(bits) }, INFINITE);
    }
}
