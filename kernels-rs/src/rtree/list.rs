//! Lists of the points that a search has found, in shared memory, and how a block divides that memory.
//!
//! ```text
//! of each warp:  K * 33 u32       the lists: entry i of lane l is element 33 i + l
//!                17 vectors       the points of a leaf, two a vector, and one that pads an odd number
//!                16 * 33 u32      keys that wait to be merged, if K > 16
//!                512 u32          positions of the points that the warp has seen: the numbers in keys are indices here
//! ```
//!
//! A list holds positions in the tree, not distances: f64 distances are computed again where they are compared, since
//! most lists are compared once, when they are sorted.

use device_std::shared::{Carver, SharedArray};
use device_std::vector::Vector;
use device_std::{vector, warp};

use super::descent::Tree;
use super::layout::FANOUT;
use crate::spatial::keys::BATCH;
use crate::spatial::place::Place;

/// Threads of a block that searches.
pub const BLOCK: u32 = 64;

/// Elements between the entries of a list. With 33 the same entry of all lanes lies in 32 banks, and so do 32 entries of
/// one lane, which `nearest::write` reads.
pub const STRIDE: u32 = warp::SIZE + 1;

/// Bytes of shared memory of a block with lists of `K` entries.
pub const fn bytes_of_block<const K: usize>() -> u32 {
    let mut carver = Carver::new();
    let _ = rooms::<K>(&mut carver);
    carver.bytes()
}

/// The shared memory of all warps: for lists of `K` entries, points and batches; and for the positions of points seen.
#[inline(always)]
const fn rooms<const K: usize>(carver: &mut Carver) -> (SharedArray<Vector>, SharedArray<u32>) {
    let warps = BLOCK / warp::SIZE;
    (carver.array(warps * vectors_of_warp::<K>()), carver.array(warps * SEEN))
}

/// The lists of the warp, of `K` entries each.
#[inline(always)]
pub fn lists_of_warp<const K: usize>() -> SharedArray<u32> {
    rooms::<K>(&mut Carver::new()).0.skip(warp::warp_id() * vectors_of_warp::<K>()).as_elements()
}

/// The shared memory of the warp for the points of a leaf and batches of keys, beside lists of `K` entries.
#[inline(always)]
pub fn room_of_warp<const K: usize>() -> SharedArray<Vector> {
    let first = warp::warp_id() * vectors_of_warp::<K>() + vectors_of_lists::<K>();
    rooms::<K>(&mut Carver::new()).0.skip(first)
}

/// The shared memory of the warp for the positions of points that it has seen, beside lists of `K` entries.
#[inline(always)]
pub fn seen_of_warp<const K: usize>() -> SharedArray<u32> {
    rooms::<K>(&mut Carver::new()).1.skip(warp::warp_id() * SEEN)
}

/// How many points a warp remembers. A power of two: the number of a point takes the lowest nine bits of a key.
pub const SEEN: u32 = 512;

/// Vectors of shared memory of a warp: its lists, a leaf's points, and the lanes' batches if lists are long.
const fn vectors_of_warp<const K: usize>() -> u32 {
    let batches = if K > BATCH { (BATCH as u32 * STRIDE).div_ceil(4) } else { 0 };
    vectors_of_lists::<K>() + STAGED + batches
}

/// Vectors of the lists of a warp.
const fn vectors_of_lists<const K: usize>() -> u32 {
    (K as u32 * STRIDE).div_ceil(4)
}

/// Vectors of the points of a leaf: two points a vector, and one that pads an odd number.
pub const STAGED: u32 = FANOUT / 2 + 1;

/// A list of points: their positions in the order of the tree, at most `most`.
#[derive(Clone, Copy)]
pub struct List {
    /// The place that was searched from.
    pub place: [f64; 2],
    /// The number of entries.
    pub count: u32,
    /// Shared memory of the warp; entry `i` of a lane is element `STRIDE i + lane`.
    pub positions: SharedArray<u32>,
}

impl List {
    /// Entry `i`.
    ///
    /// # Safety
    /// It was written.
    #[inline(always)]
    pub unsafe fn position(&self, i: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe { self.positions.load(i * STRIDE + warp::lane_id()) }
    }

    /// Sets entry `i`.
    ///
    /// # Safety
    /// It is below the instance's number of neighbours.
    #[inline(always)]
    pub unsafe fn set_position(&self, i: u32, position: u32) {
        // SAFETY: passed on to the caller; the element is the lane's own.
        unsafe { self.positions.store(i * STRIDE + warp::lane_id(), position) }
    }

    /// Returns the farthest point of a list that is not sorted, and the entry where it stands. An empty list gives a
    /// point at a square of -1, before all others.
    ///
    /// # Safety
    /// The list is that of a search in this tree.
    #[inline(always)]
    pub unsafe fn farthest<T: Place>(&self, tree: &Tree<'_, T>) -> ((f64, u32), u32) {
        let (mut farthest, mut at) = ((-1.0, 0), 0);
        let mut i = 0;
        while i < vector::unknown(self.count) {
            // SAFETY: entries below the count were written.
            let point = tree.exact(unsafe { self.position(i) }, self.place);
            if is_before(farthest, point) {
                (farthest, at) = (point, i);
            }
            i += 1;
        }
        (farthest, at)
    }

    /// Sorts the list by f64 distance, then by index. By insertion: the list has the order of the f32 keys, so few
    /// entries move, and each entry is measured once.
    ///
    /// # Safety
    /// The list is that of a search in this tree.
    #[inline(always)]
    pub unsafe fn sort<T: Place>(&self, tree: &Tree<'_, T>) {
        // SAFETY: entries below the count were written.
        unsafe {
            if self.count == 0 {
                return;
            }
            let mut last = tree.exact(self.position(0), self.place);
            let mut i = 1;
            while i < vector::unknown(self.count) {
                let position = self.position(i);
                let point = tree.exact(position, self.place);
                // An entry that moves leaves the last one where it was.
                if is_before(point, last) {
                    self.insert(tree, i, position);
                } else {
                    last = point;
                }
                i += 1;
            }
        }
    }

    /// Inserts a point among the first `count` entries, which are in order.
    ///
    /// # Safety
    /// The list has `count + 1` entries.
    #[inline(always)]
    unsafe fn insert<T: Place>(&self, tree: &Tree<'_, T>, count: u32, position: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            let point = tree.exact(position, self.place);
            let mut to = count;
            while to > 0 {
                let before = self.position(to - 1);
                if !is_before(point, tree.exact(before, self.place)) {
                    break;
                }
                self.set_position(to, before);
                to -= 1;
            }
            self.set_position(to, position);
        }
    }
}

/// Whether one point comes before another: nearer, or as near with a lower index. No two points are equal, so the order
/// is total and results do not depend on the order of visits.
#[inline(always)]
pub fn is_before(a: (f64, u32), b: (f64, u32)) -> bool {
    a.0 < b.0 || a.0 == b.0 && a.1 < b.1
}
