//! The nearest points of places whose warp would see too many points together: the warp takes one place after the
//! other, in f64, over [turned](super::turned) boxes.
//!
//! Seen from afar, thousands of points along a line are as far as each other to f32, and each place is nearest to others.
//! Together the 32 places come to all of these points. One place by itself comes to few, if f64 tells their boxes apart, and
//! if these lie along the points.
//!
//! ```text
//! for each place:
//!     bound = the greatest square of the points that the place before found
//!     down the tree, nearest child first, each lane a child: until the nearest child is beyond the bound
//!     a leaf: each lane a point; those within the bound enter the list, one after the other
//!     list full: its last square is the new bound
//! ```
//!
//! The list lies across the lanes, in order: entry `i` is that of lane `i % 32`.

use device_std::shared::SharedArray;
use device_std::warp;

use super::descent::Tree;
use super::layout::{FANOUT, NONE};
use super::list::STRIDE;
use crate::spatial::place::Place;

/// The bits of a gap of what is nowhere: above every number.
const NOWHERE: u64 = u64::MAX;

/// Entries of a lane, of lists of up to 64.
const ROWS: usize = 2;

/// Finds the nearest points of each lane that wants `most` of them, with squared distances of at most `limit`. Returns
/// how many the lane has; their positions are in `lists`, as [`List`](super::list::List) has them.
///
/// # Safety
/// The whole warp comes to the same call; the tree is whole and has points. `lists` has room for `most` entries of each
/// lane, `gaps` for 32 numbers of each level of the tree.
#[cold]
#[inline(never)]
pub unsafe fn find_alone<T: Place, const D: usize>(
    tree: Tree<'_, T, D>,
    (place, most, limit): ([f64; D], u32, f64),
    lists: SharedArray<u32>,
    gaps: SharedArray<u64>,
) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe {
        warp::sync_warp(warp::FULL);
        // More than what the limit, a square below normal numbers, may have lost.
        let limit = limit + 1e-290;
        let mut search = Search::new(place);
        let (mut found, mut i) = (0, 0);
        while i < warp::SIZE {
            // A patch of a grid has rows of eight cells: to and fro along them.
            let of = if i & 8 != 0 { i ^ 7 } else { i };
            i += 1;
            let most = warp::shuffle(warp::FULL, most, of);
            if most == 0 {
                continue;
            }
            let place = place.map(|along| warp::shuffle(warp::FULL, along, of));
            search.begin(&tree, place, most, limit);
            search.walk(&tree, gaps);
            let count = search.write(lists, of);
            found = if warp::lane_id() == of { count } else { found };
        }
        warp::sync_warp(warp::FULL);
        found
    }
}

/// The search of a warp from one place.
struct Search<const D: usize> {
    place: [f64; D],
    /// The length of the list.
    most: u32,
    /// Squares of the lane's entries, infinite for those that are free.
    squares: [f64; ROWS],
    /// Their positions in the tree, or [`NONE`].
    positions: [u32; ROWS],
    /// No more distant point is wanted.
    bound: f64,
}

impl<const D: usize> Search<D> {
    /// A search that has found nothing.
    #[inline(always)]
    fn new(place: [f64; D]) -> Self {
        Self { place, most: 0, squares: [0.0; ROWS], positions: [NONE; ROWS], bound: 0.0 }
    }

    /// Begins anew at another place.
    ///
    /// # Safety
    /// The whole warp comes to the same call; what was found before is of this tree.
    #[inline(always)]
    unsafe fn begin<T: Place>(
        &mut self,
        tree: &Tree<'_, T, D>,
        place: [f64; D],
        most: u32,
        limit: f64,
    ) {
        (self.place, self.bound) = (place, limit);
        if self.most == most {
            // As many points as are wanted now: none of the nearest is farther than all of these.
            let (mut farthest, mut row) = (0.0, 0);
            while row < ROWS {
                let position = self.positions[row];
                if warp::lane_id() + row as u32 * warp::SIZE < most {
                    let square = match position == NONE {
                        true => f64::INFINITY,
                        false => tree.squared(position, place),
                    };
                    farthest = f64::max(farthest, square);
                }
                row += 1;
            }
            // SAFETY: passed on to the caller.
            self.bound = f64::min(limit, unsafe { warp::reduce(farthest, f64::max) });
        }
        self.most = most;
        (self.squares, self.positions) = ([f64::INFINITY; ROWS], [NONE; ROWS]);
    }

    /// Walks down the tree.
    ///
    /// # Safety
    /// As [`find_alone`].
    #[inline(always)]
    unsafe fn walk<T: Place>(&mut self, tree: &Tree<'_, T, D>, gaps: SharedArray<u64>) {
        let (mut level, mut node) = (tree.top, 0);
        let mut gap = self.gap_of_child(tree, level, node);
        // SAFETY: passed on to the caller; each lane has its own gaps.
        unsafe {
            loop {
                let nearest = least(gap);
                if nearest <= self.bound.to_bits() {
                    let lane = warp::ballot(warp::FULL, gap == nearest).trailing_zeros();
                    // Each child is visited once.
                    gap = if warp::lane_id() == lane { NOWHERE } else { gap };
                    let child = node * FANOUT + lane;
                    if level == 0 {
                        self.visit(tree, child);
                        continue;
                    }
                    gaps.store(level * warp::SIZE + warp::lane_id(), gap);
                    (level, node) = (level - 1, child);
                    gap = self.gap_of_child(tree, level, node);
                } else if level < tree.top {
                    (level, node) = (level + 1, node / FANOUT);
                    gap = gaps.load(level * warp::SIZE + warp::lane_id());
                } else if node + 1 < tree.roots {
                    node += 1;
                    gap = self.gap_of_child(tree, level, node);
                } else {
                    return;
                }
            }
        }
    }

    /// The bits of the gap of the lane's child of a node; [`NOWHERE`] for one that is missing or repeats a place.
    #[inline(always)]
    fn gap_of_child<T: Place>(&self, tree: &Tree<'_, T, D>, level: u32, node: u32) -> u64 {
        let child = node * FANOUT + warp::lane_id();
        if child >= tree.boxes_of(level) {
            return NOWHERE;
        }
        let gap = tree.turned_box(level, child).gap(self.place);
        if gap.is_nan() { NOWHERE } else { gap.to_bits() }
    }

    /// Offers the points of a leaf that are within the bound.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the leaf is one of the tree.
    #[inline(always)]
    unsafe fn visit<T: Place>(&mut self, tree: &Tree<'_, T, D>, leaf: u32) {
        let own = leaf * FANOUT + warp::lane_id();
        let mut is_left = own < tree.points;
        let square = if is_left { tree.squared(own, self.place) } else { 0.0 };
        // SAFETY: passed on to the caller.
        unsafe {
            loop {
                let near = warp::ballot(warp::FULL, is_left && square <= self.bound);
                if near == 0 {
                    return;
                }
                let lane = near.trailing_zeros();
                is_left &= warp::lane_id() != lane;
                let square = warp::shuffle(warp::FULL, square, lane);
                self.insert(tree, (square, leaf * FANOUT + lane));
            }
        }
    }

    /// Inserts a point, if it is among the first of the list.
    ///
    /// # Safety
    /// The whole warp comes to the same call, with the same point, which is one of the tree.
    #[inline(always)]
    unsafe fn insert<T: Place>(&mut self, tree: &Tree<'_, T, D>, point: (f64, u32)) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (mut row, mut next, mut first) = (0, point, 0);
            while row < ROWS && first < self.most {
                let own = (self.squares[row], self.positions[row]);
                let is_before = own.1 != NONE && tree.is_before(own, next);
                let at = warp::ballot(warp::FULL, is_before).count_ones();
                if at < warp::SIZE {
                    // The entries from `at` on move by one; the last goes on to the next row.
                    let (lane, last) = (warp::lane_id(), warp::SIZE - 1);
                    let square = warp::shuffle_up(warp::FULL, own.0, 1);
                    let position = warp::shuffle_up(warp::FULL, own.1, 1);
                    let moved = if lane == at { next } else { (square, position) };
                    let pushed = warp::shuffle(warp::FULL, own.1, last);
                    next = (warp::shuffle(warp::FULL, own.0, last), pushed);
                    (self.squares[row], self.positions[row]) = if lane < at { own } else { moved };
                    if pushed == NONE {
                        break;
                    }
                }
                row += 1;
                first += warp::SIZE;
            }
            let last = self.most - 1;
            let squares = if last < warp::SIZE { self.squares[0] } else { self.squares[1] };
            let farthest = warp::shuffle(warp::FULL, squares, last % warp::SIZE);
            self.bound = f64::min(self.bound, farthest);
        }
    }

    /// Writes the positions into the list of a lane. Returns how many.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the list has room.
    #[inline(always)]
    unsafe fn write(&self, positions: SharedArray<u32>, of: u32) -> u32 {
        let (mut count, mut row) = (0, 0);
        while row < ROWS {
            let i = row as u32 * warp::SIZE + warp::lane_id();
            let is_there = i < self.most && self.positions[row] != NONE;
            // SAFETY: passed on to the caller.
            unsafe {
                if is_there {
                    positions.store(i * STRIDE + of, self.positions[row]);
                }
                count += warp::ballot(warp::FULL, is_there).count_ones();
            }
            row += 1;
        }
        count
    }
}

/// The least of the numbers of all lanes.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn least(number: u64) -> u64 {
    // SAFETY: passed on to the caller.
    unsafe {
        let high = warp::min((number >> 32) as u32);
        let low = if (number >> 32) as u32 == high { number as u32 } else { u32::MAX };
        (high as u64) << 32 | warp::min(low) as u64
    }
}
