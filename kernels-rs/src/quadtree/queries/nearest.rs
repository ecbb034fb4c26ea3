//! The k nearest points of places.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, math, thread};

use super::super::place::Place;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::ground::{Cell, Origin};
use super::leaf::NONE;
use super::walk::{SharedPath, Visit, Visitor, walk};
use crate::spatial::frame::Frame;

/// Threads of a block.
pub const BLOCK: usize = 128;

/// A point found: the square of its distance, and its index as given. Nearer ones come first, of those as near
/// the lower index.
pub type Found = (f64, u32);

/// What is farther than every point.
pub const FARTHEST: Found = (f64::INFINITY, NONE);

/// Whether one comes before another.
#[inline(always)]
pub fn is_before(a: Found, b: Found) -> bool {
    a.0 < b.0 || a.0 == b.0 && a.1 < b.1
}

/// The nearest points so far.
pub trait Best {
    /// The last of them, [`FARTHEST`] while there are fewer.
    fn worst(&self) -> Found;

    /// Puts in one that comes before the last.
    ///
    /// # Safety
    /// Whatever the list is made of is there.
    unsafe fn put(&mut self, found: Found);
}

/// A list of at most `K` in registers. Shorter ones stand at its end; before them is what nothing comes before.
pub struct Registers<const K: usize>([Found; K]);

impl<const K: usize> Best for Registers<K> {
    #[inline(always)]
    fn worst(&self) -> Found {
        self.0[K - 1]
    }

    #[inline(always)]
    unsafe fn put(&mut self, found: Found) {
        // From the last on: each moves up where the one before it is to come after the new one.
        let mut i = K - 1;
        while i > 0 {
            let before = self.0[i - 1];
            if is_before(found, before) {
                self.0[i] = before;
            } else if is_before(found, self.0[i]) {
                self.0[i] = found;
            }
            i -= 1;
        }
        if is_before(found, self.0[0]) {
            self.0[0] = found;
        }
    }
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
    unsafe fn put(&mut self, found: Found) {
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

/// Looks for the points nearest to a place.
pub struct Nearest<'a, T, B> {
    /// The points of the tree in its order, and their indices as given.
    pub points: Points<T>,
    /// The place.
    pub place: [f64; 2],
    /// The same, to measure cells from.
    pub origin: Origin,
    /// The deepest level.
    pub deepest: u32,
    /// What was found.
    pub best: &'a mut B,
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

impl<T: Place, B: Best> Visitor for Nearest<'_, T, B> {
    #[inline(always)]
    fn wants(&self, cell: Cell) -> bool {
        self.origin.gap_squared(cell, self.deepest) <= self.best.worst().0
    }

    #[inline(always)]
    unsafe fn visit(&mut self, node: &Visit) -> bool {
        if !node.is_leaf {
            return true;
        }
        let (mut i, end) = (node.start as usize, (node.start + node.count) as usize);
        while i < end {
            // SAFETY: the node's points are the tree's.
            unsafe {
                let dx = (*self.points.x.add(i)).widened() - self.place[0];
                let dy = (*self.points.y.add(i)).widened() - self.place[1];
                let squared = dx * dx + dy * dy;
                let worst = self.best.worst();
                // The index is looked at only where it may matter.
                if squared <= worst.0 {
                    let found = (squared, *self.points.order.add(i));
                    if is_before(found, worst) {
                        self.best.put(found);
                    }
                }
            }
            i += 1;
        }
        false
    }

    #[inline(always)]
    fn first_quadrant(&self, cell: Cell) -> u32 {
        self.origin.nearest_quadrant(cell, self.deepest)
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
    /// Looks for the `k` nearest points, and writes them and their distances.
    ///
    /// # Safety
    /// `nodes` are those of a tree over the points, at least one; the outputs have `k` elements, at least one,
    /// and not more than the list.
    unsafe fn search<T: Place>(
        nodes: *const u64,
        path: &mut SharedPath,
        frame: &Frame,
        points: Points<T>,
        place: [f64; 2],
        k: u32,
        out: Out,
    );
}

/// Lists of at most `K` in registers.
pub struct Few<const K: usize>;

impl<const K: usize> Keep for Few<K> {
    #[inline(always)]
    unsafe fn search<T: Place>(
        nodes: *const u64,
        path: &mut SharedPath,
        frame: &Frame,
        points: Points<T>,
        place: [f64; 2],
        k: u32,
        out: Out,
    ) {
        let mut best = Registers([FARTHEST; K]);
        let unused = K - k as usize;
        let mut i = 0;
        while i < K {
            if i < unused {
                best.0[i] = (-1.0, 0);
            }
            i += 1;
        }
        let (origin, deepest) = (Origin::new(frame, place), frame.level);
        // SAFETY: passed on to the caller.
        unsafe {
            walk(nodes, path, &mut Nearest { points, place, origin, deepest, best: &mut best });
            let mut i = 0;
            while i < K {
                if i >= unused {
                    *out.indices.add(i - unused) = best.0[i].1;
                    *out.distances.add(i - unused) = math::sqrt(best.0[i].0);
                }
                i += 1;
            }
        }
    }
}

/// Lists of any length, in the output itself.
pub struct Many;

impl Keep for Many {
    #[inline(always)]
    unsafe fn search<T: Place>(
        nodes: *const u64,
        path: &mut SharedPath,
        frame: &Frame,
        points: Points<T>,
        place: [f64; 2],
        k: u32,
        Out { indices, distances }: Out,
    ) {
        let (origin, deepest) = (Origin::new(frame, place), frame.level);
        // SAFETY: passed on to the caller.
        unsafe {
            let mut best = Memory::new(distances, indices, k);
            walk(nodes, path, &mut Nearest { points, place, origin, deepest, best: &mut best });
            let mut i = 0;
            while i < k as usize {
                *distances.add(i) = math::sqrt(*distances.add(i));
                i += 1;
            }
        }
    }
}

/// The `k` nearest points of each place, in rising distance, by their indices as given; where there are fewer,
/// [`NONE`] at an infinite distance, as for a place that is not finite. With `queries` thread `i` takes place
/// `queries[i]`. Grid: a thread for each.
///
/// # Safety
/// `nodes` are those of a tree over `px`, `py` and `order`, at least one. `x` and `y` have `count` elements,
/// `indices` and `distances` `k` for each; `queries` are below `count`, or null.
#[kernel(
    block = BLOCK,
    shared = |args| args.level.max(1) * BLOCK as u32 * 4,
    instances(
        f32_8: <f32, Few<8>>; f32_32: <f32, Few<32>>; f32_many: <f32, Many>;
        f64_8: <f64, Few<8>>; f64_32: <f64, Few<32>>; f64_many: <f64, Many>;
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
    count: u64,
    k: u32,
    indices: *mut u32,
    distances: *mut f64,
) {
    let firsts: SharedArray<u32> = Carver::new().array(level.max(1) * BLOCK as u32);
    let thread = thread::index_1d();
    if thread >= count {
        return;
    }
    let mut path = SharedPath::new(firsts, thread::thread_idx_x(), BLOCK as u32);
    let frame = Frame::new(corner, per_unit, level);
    // SAFETY: guarded; the rest is the caller's.
    unsafe {
        let query = match queries.is_null() {
            true => thread as usize,
            false => *queries.add(thread as usize) as usize,
        };
        let (indices, distances) =
            (indices.add(query * k as usize), distances.add(query * k as usize));
        let place = [(*x.add(query)).widened(), (*y.add(query)).widened()];
        if place[0].is_finite() && place[1].is_finite() {
            let points = Points { x: px, y: py, order };
            L::search(nodes, &mut path, &frame, points, place, k, Out { indices, distances });
        } else {
            let mut i = 0;
            while i < k as usize {
                *indices.add(i) = FARTHEST.1;
                *distances.add(i) = FARTHEST.0;
                i += 1;
            }
        }
    }
}
