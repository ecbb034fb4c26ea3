//! The k nearest points of places.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, math, thread, warp};

use crate::spatial::place::Place;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::ground::{Cell, Origin, Origins};
use super::leaf::NONE;
use super::walk::{Visit, Visitor, WarpPath, walk};
use crate::spatial::frame::Frame;

/// Threads of a block.
pub const BLOCK: usize = 128;

/// A point found: the square of its distance, and its index as given. Nearer ones come first, of those as near
/// the lower index.
pub type Found = (f64, u32);

/// What is farther than every point.
pub const FARTHEST: Found = (f64::INFINITY, NONE);

/// What nothing comes before.
const NEARER: Found = (-1.0, 0);

/// Whether one comes before another.
#[inline(always)]
pub fn is_before(a: Found, b: Found) -> bool {
    a.0 < b.0 || a.0 == b.0 && a.1 < b.1
}

/// The nearest points so far.
pub trait Best {
    /// The last of them, [`FARTHEST`] while there are fewer.
    fn worst(&self) -> Found;

    /// Puts one in, if it comes before the last.
    ///
    /// # Safety
    /// Whatever the list is made of is there.
    unsafe fn offer(&mut self, found: Found);
}

/// A list of at most `K` in registers. Shorter ones stand at its end; before them is what nothing comes before.
pub struct Registers<const K: usize>([Found; K]);

impl<const K: usize> Best for Registers<K> {
    #[inline(always)]
    fn worst(&self) -> Found {
        self.0[K - 1]
    }

    /// Without a branch: the lanes of a warp do it together.
    #[inline(always)]
    unsafe fn offer(&mut self, found: Found) {
        // From the last on: each moves up where the one before it is to come after the new one.
        let mut is_before_this = is_before(found, self.0[K - 1]);
        let mut i = K - 1;
        while i > 0 {
            let before = self.0[i - 1];
            let is_before_that = is_before(found, before);
            let new = choose(is_before_that, before, found);
            self.0[i] = choose(is_before_this, new, self.0[i]);
            is_before_this = is_before_that;
            i -= 1;
        }
        self.0[0] = choose(is_before_this, found, self.0[0]);
    }
}

/// One of two.
#[inline(always)]
fn choose(first: bool, a: Found, b: Found) -> Found {
    (if first { a.0 } else { b.0 }, if first { a.1 } else { b.1 })
}

/// A list of any length in memory.
pub struct Memory {
    distances: *mut f64,
    indices: *mut u32,
    k: u32,
    worst: Found,
}

impl Memory {
    /// A list whose `k` elements are [`FARTHEST`].
    ///
    /// # Safety
    /// Both arrays have `k` elements, at least one, which nobody else touches.
    #[inline(always)]
    pub unsafe fn new(distances: *mut f64, indices: *mut u32, k: u32) -> Self {
        let mut i = 0;
        while i < k as usize {
            // SAFETY: below the length.
            unsafe {
                *distances.add(i) = FARTHEST.0;
                *indices.add(i) = FARTHEST.1;
            }
            i += 1;
        }
        Self { distances, indices, k, worst: FARTHEST }
    }
}

impl Best for Memory {
    #[inline(always)]
    fn worst(&self) -> Found {
        self.worst
    }

    #[inline(always)]
    unsafe fn offer(&mut self, found: Found) {
        if !is_before(found, self.worst) {
            return;
        }
        let mut i = self.k as usize - 1;
        // SAFETY: all places are below the length.
        unsafe {
            while i > 0 {
                let before = (*self.distances.add(i - 1), *self.indices.add(i - 1));
                if !is_before(found, before) {
                    break;
                }
                *self.distances.add(i) = before.0;
                *self.indices.add(i) = before.1;
                i -= 1;
            }
            *self.distances.add(i) = found.0;
            *self.indices.add(i) = found.1;
            let last = self.k as usize - 1;
            self.worst = (*self.distances.add(last), *self.indices.add(last));
        }
    }
}

/// The points of a tree.
#[derive(Clone, Copy)]
pub struct Points<T> {
    /// Their x, in the order of the tree.
    pub x: *const T,
    /// Their y.
    pub y: *const T,
    /// Their indices as given.
    pub order: *const u32,
}

/// Points of a leaf that a warp looks at, in shared memory: x, y, and the index as given; and where from cells are
/// measured.
#[derive(Clone, Copy)]
struct Tile {
    x: SharedArray<f64>,
    y: SharedArray<f64>,
    origins: Origins,
    indices: SharedArray<u32>,
    /// The first of the warp's 32.
    first: u32,
}

impl Tile {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            x: carver.array(BLOCK as u32),
            y: carver.array(BLOCK as u32),
            origins: Origins::new(carver, BLOCK as u32),
            indices: carver.array(BLOCK as u32),
            first: 0,
        }
    }
}

/// A warp that looks for the points nearest to its lanes' places, on one way: to the cells that any lane wants. Places
/// side by side want nearly the same ones.
struct Group<'a, T, B> {
    points: Points<T>,
    /// The lane's own place.
    place: [f64; 2],
    /// Column and row of one of the places: quadrants near it come first.
    middle: [u32; 2],
    deepest: u32,
    tile: Tile,
    best: &'a mut B,
    /// A point that is to go into the list, [`FARTHEST`] if there is none. All lanes put theirs in when one has found
    /// another, which costs no more than for one.
    waiting: Found,
}

impl<T: Place, B: Best> Visitor for Group<'_, T, B> {
    #[inline(always)]
    fn wants(&self, cell: Cell) -> bool {
        // SAFETY: the whole warp goes the same way; its origins are there.
        unsafe {
            let origin = self.tile.origins.load(thread::thread_idx_x());
            let is_near = origin.gap_squared(cell, self.deepest) <= self.best.worst().0;
            warp::any(warp::FULL, is_near)
        }
    }

    #[inline(always)]
    unsafe fn visit(&mut self, node: &Visit) -> bool {
        if !node.is_leaf {
            return true;
        }
        let lane = warp::lane_id();
        let mut start = 0;
        while start < node.count {
            let count = u64::min(node.count - start, 32) as u32;
            // SAFETY: the node's points are the tree's; each lane brings one, and all look at them.
            unsafe {
                if lane < count {
                    let from = (node.start + start + lane as u64) as usize;
                    let to = self.tile.first + lane;
                    self.tile.x.store(to, (*self.points.x.add(from)).widened());
                    self.tile.y.store(to, (*self.points.y.add(from)).widened());
                    self.tile.indices.store(to, *self.points.order.add(from));
                }
                warp::sync_warp(warp::FULL);
                self.look(count);
                warp::sync_warp(warp::FULL);
            }
            start += 32;
        }
        false
    }

    #[inline(always)]
    fn first_quadrant(&self, cell: Cell) -> u32 {
        let half = self.deepest - cell.level - 1;
        let beyond = |axis: usize, number: u32| u32::from(self.middle[axis] >> half > 2 * number);
        beyond(0, cell.column) | beyond(1, cell.row) << 1
    }
}

impl<T: Place, B: Best> Group<'_, T, B> {
    /// Looks at the points that are in shared memory, two at a time, so that the one's distance is computed while the
    /// other's is waited for.
    ///
    /// # Safety
    /// The whole warp comes here, and there are `count` points.
    #[inline(always)]
    unsafe fn look(&mut self, count: u32) {
        let mut i = self.tile.first;
        let end = i + count;
        while i < end {
            // SAFETY: as the caller says.
            unsafe {
                let first = self.squared(i);
                let second = if i + 1 < end { self.squared(i + 1) } else { f64::INFINITY };
                if warp::any(warp::FULL, f64::min(first, second) <= self.best.worst().0) {
                    self.consider(first, i);
                    if i + 1 < end {
                        self.consider(second, i + 1);
                    }
                }
            }
            i += 2;
        }
    }

    /// The square of the distance of a point in shared memory.
    ///
    /// # Safety
    /// It is there.
    #[inline(always)]
    unsafe fn squared(&self, i: u32) -> f64 {
        // SAFETY: passed on to the caller.
        let (x, y) = unsafe { (self.tile.x.load(i), self.tile.y.load(i)) };
        let (dx, dy) = (x - self.place[0], y - self.place[1]);
        dx * dx + dy * dy
    }

    /// Lets a point wait if it is near enough, and puts in those that wait if one is in its way.
    ///
    /// # Safety
    /// The whole warp comes here, with one point.
    #[inline(always)]
    unsafe fn consider(&mut self, squared: f64, i: u32) {
        let is_near = squared <= self.best.worst().0;
        // SAFETY: passed on to the caller.
        unsafe {
            if warp::any(warp::FULL, is_near && self.waiting.1 != NONE) {
                self.put();
            }
            if is_near {
                self.waiting = (squared, self.tile.indices.load(i));
            }
        }
    }

    /// Puts what waits into the lists.
    ///
    /// # Safety
    /// As for [`Best::offer`].
    #[inline(always)]
    unsafe fn put(&mut self) {
        // SAFETY: passed on to the caller.
        unsafe { self.best.offer(self.waiting) };
        self.waiting = FARTHEST;
    }
}

/// Where what was found goes.
#[derive(Clone, Copy)]
pub struct Out {
    /// Indices as given.
    pub indices: *mut u32,
    /// Distances.
    pub distances: *mut f64,
}

/// How a kernel keeps what it found.
pub trait Keep {
    /// A list.
    type List: Best;

    /// A list for `k` neighbours, or one that nothing comes into.
    ///
    /// # Safety
    /// `k` is at least one, and not more than the list holds; unless nothing is to come in, the output has as many
    /// elements, which nobody else touches.
    unsafe fn list(k: u32, out: Out, is_wanted: bool) -> Self::List;

    /// Writes what a list has, with distances.
    ///
    /// # Safety
    /// It was made for this number of neighbours and this output.
    unsafe fn write(list: &Self::List, k: u32, out: Out);
}

/// Lists of at most `K` in registers.
pub struct Few<const K: usize>;

impl<const K: usize> Keep for Few<K> {
    type List = Registers<K>;

    #[inline(always)]
    unsafe fn list(k: u32, _: Out, is_wanted: bool) -> Registers<K> {
        let mut best = Registers([FARTHEST; K]);
        let unused = if is_wanted { K - k as usize } else { K };
        let mut i = 0;
        while i < K {
            if i < unused {
                best.0[i] = NEARER;
            }
            i += 1;
        }
        best
    }

    #[inline(always)]
    unsafe fn write(list: &Registers<K>, k: u32, out: Out) {
        let unused = K - k as usize;
        let mut i = 0;
        while i < K {
            if i >= unused {
                // SAFETY: below the length.
                unsafe {
                    *out.indices.add(i - unused) = list.0[i].1;
                    *out.distances.add(i - unused) = math::sqrt(list.0[i].0);
                }
            }
            i += 1;
        }
    }
}

/// Lists of any length, in the output itself.
pub struct Many;

impl Keep for Many {
    type List = Memory;

    #[inline(always)]
    unsafe fn list(k: u32, Out { indices, distances }: Out, is_wanted: bool) -> Memory {
        if is_wanted {
            // SAFETY: passed on to the caller.
            unsafe { Memory::new(distances, indices, k) }
        } else {
            Memory { distances, indices, k, worst: NEARER }
        }
    }

    #[inline(always)]
    unsafe fn write(_: &Memory, k: u32, out: Out) {
        let mut i = 0;
        while i < k as usize {
            // SAFETY: below the length.
            unsafe { *out.distances.add(i) = math::sqrt(*out.distances.add(i)) };
            i += 1;
        }
    }
}

/// Bytes of shared memory of a block.
const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = Tile::new(&mut carver);
    carver.bytes()
};

/// The `k` nearest points of each place, in rising distance, by their indices as given; where there are fewer,
/// [`NONE`] at an infinite distance, as for a place that is not finite. With `queries` thread `i` takes place
/// `queries[i]`; with `left` it does so only if that has the thread's bit. A warp searches for its 32 places
/// together. Grid: a thread for each.
///
/// # Safety
/// `nodes` are those of a tree over `px`, `py` and `order`, at least one. `x` and `y` have `count` elements,
/// `indices` and `distances` `k` for each; `queries` are below `count`, or null; `left` has a word for each warp, or is
/// null.
#[kernel(
    block = BLOCK,
    shared = SHARED,
    instances(
        f32_8: <f32, Few<8>>, resident = 6; f32_32: <f32, Few<32>>; f32_many: <f32, Many>;
        f64_8: <f64, Few<8>>, resident = 6; f64_32: <f64, Few<32>>; f64_many: <f64, Many>;
    )
)]
pub unsafe fn find_nearest<T: Place, L: Keep>(
    nodes: *const u64,
    corner: [f64; 2],
    per_unit: [f64; 2],
    level: u32,
    px: *const T,
    py: *const T,
    order: *const u32,
    x: *const T,
    y: *const T,
    queries: *const u32,
    left: *const u32,
    count: u64,
    k: u32,
    indices: *mut u32,
    distances: *mut f64,
) {
    let tile = Tile { first: thread::thread_idx_x() & !31, ..Tile::new(&mut Carver::new()) };
    let thread = thread::index_1d();
    let frame = Frame::new(corner, per_unit, level);
    // SAFETY: guarded; the rest is the caller's.
    unsafe {
        let mut is_there = thread < count;
        if is_there && !left.is_null() {
            let word = *left.add((thread / warp::SIZE as u64) as usize);
            is_there = word >> warp::lane_id() & 1 == 1;
        }
        let query = match (is_there, queries.is_null()) {
            (false, _) => 0,
            (true, true) => thread as usize,
            (true, false) => *queries.add(thread as usize) as usize,
        };
        let out = Out {
            indices: indices.add(query * k as usize),
            distances: distances.add(query * k as usize),
        };
        let place = match is_there {
            true => [(*x.add(query)).widened(), (*y.add(query)).widened()],
            false => [f64::NAN; 2],
        };
        let is_wanted = place[0].is_finite() && place[1].is_finite();
        let mut best = L::list(k, out, is_wanted);
        let wanted = warp::ballot(warp::FULL, is_wanted);
        if wanted != 0 {
            // Of half of the places; the first of those that are there.
            let half = if wanted >> 16 != 0 { wanted >> 16 << 16 } else { wanted };
            let middle = [frame.column(place[0]), frame.row(place[1])]
                .map(|number| warp::shuffle(warp::FULL, number, half.trailing_zeros()));
            tile.origins.store(thread::thread_idx_x(), Origin::new(&frame, place));
            let points = Points { x: px, y: py, order };
            let (best, waiting, deepest) = (&mut best, FARTHEST, frame.level);
            let mut group = Group { points, place, middle, deepest, tile, best, waiting };
            walk(nodes, &mut WarpPath::new(), &mut group);
            group.put();
        }
        if is_wanted {
            L::write(&best, k, out);
        } else if is_there {
            let mut i = 0;
            while i < k as usize {
                *out.indices.add(i) = FARTHEST.1;
                *out.distances.add(i) = FARTHEST.0;
                i += 1;
            }
        }
    }
}
