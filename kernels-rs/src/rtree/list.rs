//! Lists of the points that a search has found, in shared memory, and how a block divides that memory.
//!
//! ```text
//! of each warp:  K * 33 u32       the lists: entry i of lane l is element 33 i + l
//!                32 vectors       64 points that were seen last, two a vector; on the globe 16 more, for z
//!                16 * 33 u32      keys that wait to be merged, if K > 16
//!                512 u32          positions of the points that the warp has seen: the numbers in keys are indices here
//! ```
//!
//! A list holds positions in the tree, not distances: f64 distances are computed again where they are compared, since
//! most lists are compared once, when they are sorted.

use device_std::shared::{Carver, SharedArray};
use device_std::vector::Vector;
use device_std::{vector, warp};

use super::descent::{Tree, squared};
use super::layout::{FANOUT, MAX_LEVELS};
use crate::spatial::place::Place;

/// Threads of a block that searches.
pub const BLOCK: u32 = 64;

/// Elements between the entries of a list. With 33 the same entry of all lanes lies in 32 banks, and so do 32 entries of
/// one lane, which `nearest::write` reads.
pub const STRIDE: u32 = warp::SIZE + 1;

/// Bytes of shared memory of a block with lists of `K` entries.
pub const fn bytes_of_block<const K: usize, const D: usize>() -> u32 {
    let mut carver = Carver::new();
    let _ = rooms::<K, D>(&mut carver);
    carver.bytes()
}

/// The shared memory of all warps: for lists of `K` entries, points and batches; and for the positions of points seen.
#[inline(always)]
const fn rooms<const K: usize, const D: usize>(carver: &mut Carver) -> [SharedArray<Vector>; 2] {
    let warps = BLOCK / warp::SIZE;
    [carver.array(warps * vectors_of_warp::<K, D>()), carver.array(warps * SEEN / 4)]
}

/// The lists of the warp, of `K` entries each.
#[inline(always)]
pub fn lists_of_warp<const K: usize, const D: usize>() -> SharedArray<u32> {
    rooms::<K, D>(&mut Carver::new())[0]
        .skip(warp::warp_id() * vectors_of_warp::<K, D>())
        .as_elements()
}

/// The shared memory of the warp for staged points and batches of keys, beside lists of `K` entries.
#[inline(always)]
pub fn room_of_warp<const K: usize, const D: usize>() -> SharedArray<Vector> {
    let first = warp::warp_id() * vectors_of_warp::<K, D>() + vectors_of_lists::<K>();
    rooms::<K, D>(&mut Carver::new())[0].skip(first)
}

/// The shared memory of the warp for the positions of points that it has seen, beside lists of `K` entries.
#[inline(always)]
pub fn seen_of_warp<const K: usize, const D: usize>() -> SharedArray<u32> {
    rooms::<K, D>(&mut Carver::new())[1].skip(warp::warp_id() * SEEN / 4).as_elements()
}

/// The same memory for numbers of 64 bits: 32 of each level of a tree, for a walk that remembers no points.
#[inline(always)]
pub fn gaps_of_warp<const K: usize, const D: usize>() -> SharedArray<u64> {
    const { assert!(MAX_LEVELS as u32 * warp::SIZE * 2 <= SEEN, "there is room") }
    rooms::<K, D>(&mut Carver::new())[1].skip(warp::warp_id() * SEEN / 4).as_elements()
}

/// How many points a warp remembers. A power of two: the number of a point takes the lowest nine bits of a key.
pub const SEEN: u32 = 512;

/// Vectors of shared memory of a warp: its lists, the staged points, and the lanes' batches if lists are long.
const fn vectors_of_warp<const K: usize, const D: usize>() -> u32 {
    let batches = if K > BATCH { (BATCH as u32 * STRIDE).div_ceil(4) } else { 0 };
    vectors_of_lists::<K>() + vectors_of_staged::<D>() + batches
}

/// Vectors of the staged points of a warp: x and y side by side, then z of all.
pub const fn vectors_of_staged<const D: usize>() -> u32 {
    STAGED / 2 + if D > 2 { STAGED / 4 } else { 0 }
}

/// Vectors of the lists of a warp.
const fn vectors_of_lists<const K: usize>() -> u32 {
    (K as u32 * STRIDE).div_ceil(4)
}

/// How many points wait in shared memory at most: a leaf's, and seven of the leaves before. A power of two, so that a
/// point's number modulo this is its place.
pub const STAGED: u32 = 2 * FANOUT;

/// How many points are offered to a list at a time.
pub const EIGHT: usize = 8;

/// How many keys a lane of a long list collects before they are merged.
pub const BATCH: usize = 16;

/// A list of points: their positions in the order of the tree, at most `most`.
#[derive(Clone, Copy)]
pub struct List<const D: usize = 2> {
    /// The place that was searched from.
    pub place: [f64; D],
    /// The number of entries.
    pub count: u32,
    /// Shared memory of the warp; entry `i` of a lane is element `STRIDE i + lane`.
    pub positions: SharedArray<u32>,
}

impl<const D: usize> List<D> {
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
    /// The list belongs to a search in this tree.
    #[inline(always)]
    pub unsafe fn farthest<T: Place>(&self, tree: &Tree<'_, T, D>) -> ((f64, u32), u32) {
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
    /// The list belongs to a search in this tree.
    #[inline(always)]
    pub unsafe fn sort<T: Place>(&self, tree: &Tree<'_, T, D>) {
        // SAFETY: entries below the count were written.
        unsafe {
            if self.count == 0 {
                return;
            }
            let mut last = self.entry(tree, 0);
            let mut next = self.place_of(tree, u32::min(1, self.count - 1));
            let mut i = 1;
            while i < vector::unknown(self.count) {
                // The next place is on its way while this one is compared.
                let (place, position) = next;
                next = self.place_of(tree, u32::min(i + 1, self.count - 1));
                let entry = (squared(place, self.place), position);
                // An entry that moves leaves the last one where it was.
                if tree.is_before(entry, last) {
                    self.insert(tree, i, entry);
                } else {
                    last = entry;
                }
                i += 1;
            }
        }
    }

    /// The f64 square of entry `i`, and its position.
    ///
    /// # Safety
    /// It was written.
    #[inline(always)]
    unsafe fn entry<T: Place>(&self, tree: &Tree<'_, T, D>, i: u32) -> (f64, u32) {
        // SAFETY: passed on to the caller.
        let (place, position) = unsafe { self.place_of(tree, i) };
        (squared(place, self.place), position)
    }

    /// The place of entry `i`, and its position.
    ///
    /// # Safety
    /// It was written.
    #[inline(always)]
    pub unsafe fn place_of<T: Place>(&self, tree: &Tree<'_, T, D>, i: u32) -> ([f64; D], u32) {
        // SAFETY: passed on to the caller.
        let position = unsafe { self.position(i) };
        (tree.place(position), position)
    }

    /// Inserts a point among the first `count` entries, which are in order.
    ///
    /// # Safety
    /// The list has `count + 1` entries.
    #[inline(always)]
    unsafe fn insert<T: Place>(&self, tree: &Tree<'_, T, D>, count: u32, entry: (f64, u32)) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut to = count;
            while to > 0 {
                let before = self.entry(tree, to - 1);
                if !tree.is_before(entry, before) {
                    break;
                }
                self.set_position(to, before.1);
                to -= 1;
            }
            self.set_position(to, entry.1);
        }
    }
}

/// Whether one point comes before another: nearer, or as near with a lower index. No two points are equal, so the order
/// is total and results do not depend on the order of visits.
#[inline(always)]
pub fn is_before(a: (f64, u32), b: (f64, u32)) -> bool {
    a.0 < b.0 || a.0 == b.0 && a.1 < b.1
}
