//! The shared memory of a warp that searches for 32 places together.

use device_std::shared::{Carver, SharedArray};
use device_std::vector::Vector;
use device_std::{math, warp};

use super::super::nearest::Out;
use super::super::runs::{Queues, Runs};
use super::TEAM;

/// Points in shared memory at a time.
pub(super) const STAGED: u32 = 128;

/// Points of a lane that wait, before all lanes look at theirs.
pub(super) const WAITING: u32 = 16;

/// The shared memory of a warp. Where the points staged are in the tree; after that the queues of the way down and
/// the runs found, then with the runs the points staged and those that wait, and then the lists.
#[derive(Clone, Copy)]
pub(super) struct Room<const L: usize>(SharedArray<Vector>);

impl<const L: usize> Room<L> {
    /// The most points that a turn looks at: a power of two.
    pub(super) const MOST_POINTS: u32 = if L <= 10 { 512 } else { 1024 };
    /// The bits of a key that are a point's number.
    pub(super) const NUMBERS: u32 = Self::MOST_POINTS - 1;

    /// Vectors of the positions.
    const OF_POSITIONS: u32 = Self::MOST_POINTS / 4;
    /// Vectors of the points' coordinates, two points each.
    const OF_PLACES: u32 = STAGED / 2;
    /// Vectors of the squared distances of the lists.
    const OF_SQUARES: u32 = (L as u32 - 1) * Lists::LANES / 2;
    /// Vectors of a warp.
    const OF_WARP: u32 = {
        let points = Self::OF_PLACES + WAITING * warp::SIZE / 4 + Runs::VECTORS;
        let queues = Queues::VECTORS;
        let lists = Self::OF_SQUARES + (L as u32 - 1) * Lists::LANES / 4;
        let points = if points > queues { points } else { queues };
        Self::OF_POSITIONS + if points > lists { points } else { lists }
    };

    /// Bytes of a block.
    pub(super) const BYTES: u32 = {
        let mut carver = Carver::new();
        let _ = carver.array::<Vector>(TEAM / warp::SIZE * Self::OF_WARP);
        carver.bytes()
    };

    #[inline(always)]
    pub(super) fn of_warp() -> Self {
        let all = Carver::new().array::<Vector>(TEAM / warp::SIZE * Self::OF_WARP);
        Self(all.skip(warp::warp_id() * Self::OF_WARP))
    }

    /// Where each point is in the order of the tree.
    #[inline(always)]
    pub(super) fn positions(self) -> SharedArray<u32> {
        self.0.as_elements()
    }

    /// Runs, and queues of the way that finds them.
    #[inline(always)]
    pub(super) fn queues(self) -> Queues {
        Queues::new(self.0.skip(Self::OF_POSITIONS))
    }

    /// Coordinates of the points staged, two of them.
    #[inline(always)]
    pub(super) fn vectors(self) -> SharedArray<Vector> {
        self.0.skip(Self::OF_POSITIONS + Runs::VECTORS)
    }

    /// Coordinates of the points staged: bits of x, and above them those of y.
    #[inline(always)]
    pub(super) fn places(self) -> SharedArray<u64> {
        self.vectors().as_elements()
    }

    /// Keys that wait, of each lane.
    #[inline(always)]
    pub(super) fn waiting(self) -> SharedArray<u32> {
        self.vectors().skip(Self::OF_PLACES).as_elements()
    }

    /// Room for `L - 1` neighbours of each lane.
    #[inline(always)]
    pub(super) fn lists(self) -> Lists {
        let lists = self.0.skip(Self::OF_POSITIONS);
        Lists { squared: lists.as_elements(), index: lists.skip(Self::OF_SQUARES).as_elements() }
    }

    /// Writes the first `k` of the lists of some lanes, all lanes of the warp side by side.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the lists are full, and the output has room for `k` of each query.
    #[inline(always)]
    pub(super) unsafe fn put(self, done: u32, query: u32, k: u32, out: Out) {
        // SAFETY: passed on to the caller.
        unsafe {
            warp::sync_warp(warp::FULL);
            if done == 0 {
                return;
            }
            let lists = self.lists();
            let lane = warp::lane_id();
            // It is positive, which the compiler does not know.
            let each = u32::max(k, 1);
            let (mut row, mut column) = (lane / each, lane % each);
            let (rows, columns) = (warp::SIZE / each, warp::SIZE % each);
            let mut i = 0;
            while i < k {
                let query = warp::shuffle(warp::FULL, query, row);
                if done >> row & 1 == 1 {
                    let from = column * Lists::LANES + row;
                    let to = query as usize * k as usize + column as usize;
                    *out.indices.add(to) = lists.index.load(from);
                    *out.distances.add(to) = math::sqrt(lists.squared.load(from));
                }
                row += rows;
                column += columns;
                if column >= k {
                    (row, column) = (row + 1, column - k);
                }
                i += 1;
            }
        }
    }
}

/// Neighbours of the lanes of a warp, nearest first.
#[derive(Clone, Copy)]
pub(super) struct Lists {
    pub(super) squared: SharedArray<f64>,
    pub(super) index: SharedArray<u32>,
}

impl Lists {
    /// From one neighbour of a lane to the next: more than the lanes, so that what is written side by side lies in different banks.
    pub(super) const LANES: u32 = warp::SIZE + 4;

    /// Where the lane keeps neighbour `i`.
    #[inline(always)]
    pub(super) fn slot(self, i: u32) -> u32 {
        i * Self::LANES + warp::lane_id()
    }

    /// Keeps neighbour `i`.
    ///
    /// # Safety
    /// The list has room for it.
    #[inline(always)]
    pub(super) unsafe fn store(self, i: u32, squared: f64, index: u32) {
        // SAFETY: the slot is the lane's own, and passed on to the caller.
        unsafe {
            self.squared.store(self.slot(i), squared);
            self.index.store(self.slot(i), index);
        }
    }

    /// Puts a neighbour among the `found` that there are, which are in order.
    ///
    /// # Safety
    /// The list has room for it.
    #[inline(always)]
    pub(super) unsafe fn insert(self, found: u32, squared: f64, index: u32) {
        let mut to = found;
        // SAFETY: passed on to the caller; slots are the lane's own.
        unsafe {
            while to > 0 {
                let other = self.squared.load(self.slot(to - 1));
                let other_index = self.index.load(self.slot(to - 1));
                if other < squared || (other == squared && other_index < index) {
                    break;
                }
                self.store(to, other, other_index);
                to -= 1;
            }
            self.store(to, squared, index);
        }
    }
}
