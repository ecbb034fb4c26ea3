//! The k nearest points of places.

use device_std::shared::{Carver, SharedArray};
use device_std::vector::Vector;
use device_std::{In, Out, arguments, kernel, math, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::descent::{Tree, Visitor, walk};
use super::group::Group;
use super::layout::FANOUT;
use crate::spatial::keys::{BATCH, Keys};
use crate::spatial::place::Place;

/// Threads of a block.
pub const BLOCK: u32 = 64;

/// Stands for a point where there is none.
const NONE: u32 = u32::MAX;

/// The bits of an infinite f32.
const INFINITE: u32 = f32::INFINITY.to_bits();

/// Places to search from, and what is found.
#[arguments]
pub struct Targets<'a, T> {
    /// x of each place.
    pub x: In<'a, T>,
    /// y of each place.
    pub y: In<'a, T>,
    /// The order in which threads take the places; `None` for the order as given.
    pub order: Option<In<'a, u32>>,
    /// How many.
    pub count: u32,
}

/// Writes the `k` nearest points of each place, by their indices as given, nearest first, and their distances. Of points as
/// near, the one with the lower index comes first. Where there are fewer points, [`u32::MAX`] stands at an infinite
/// distance, and so it does for a place that is not finite. An instance takes up to as many neighbours as its name says,
/// `many` any number. Grid: a thread for each place.
///
/// # Safety
/// The tree is whole, and has points. The places' columns have `count` elements, and so has their order, a permutation;
/// `indices` and `distances` have `k` for each.
#[kernel(block = BLOCK, shared = <L as Lists>::SHARED, key: u32 = <L as Lists>::MAX, instances(
    f32_8: <f32, Few<8>>, resident = 14, spills = 200;
    f32_16: <f32, Few<16>>, resident = 12, spills = 200;
    f32_32: <f32, Few<32>>, resident = 10, spills = 200;
    f32_64: <f32, Few<64>>, resident = 8, spills = 200;
    f32_many: <f32, Many>;
    f64_8: <f64, Few<8>>, resident = 14, spills = 200;
    f64_16: <f64, Few<16>>, resident = 12, spills = 200;
    f64_32: <f64, Few<32>>, resident = 10, spills = 200;
    f64_64: <f64, Few<64>>, resident = 8, spills = 200;
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

/// Lists of at most `K`, a power of two from 8 to 64.
pub struct Few<const K: usize>;

impl<const K: usize> Lists for Few<K> {
    const MAX: u32 = K as u32;
    const SHARED: u32 = {
        let mut carver = Carver::new();
        let _ = carver.array::<Vector>(BLOCK / warp::SIZE * vectors_of_warp::<K>());
        carver.bytes()
    };

    #[inline(always)]
    unsafe fn find<T: Place>(
        tree: &Tree<'_, T>,
        target: &Target,
        group: Option<&Group>,
        k: u32,
        rows: Rows<'_>,
    ) {
        let mut list = List::of_lane::<K>(target.place, if target.is_place { k } else { 0 });
        // SAFETY: passed on to the caller.
        unsafe {
            if let Some(group) = group {
                list.search::<T, K>(tree, group);
                list.sort::<T, K>(tree);
            }
            list.write(tree, target, k, rows);
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

/// The bits of a key that hold the entry.
const fn slots<const K: usize>() -> u32 {
    K.next_power_of_two() as u32 - 1
}

/// Elements between the entries of a list: entries of lanes side by side, and of one lane, lie in different banks.
const STRIDE: u32 = warp::SIZE + 1;

/// Vectors of shared memory of a warp: a leaf's points first, then the lanes' lists.
const fn vectors_of_warp<const K: usize>() -> u32 {
    let of_lists = (K as u32 * STRIDE).div_ceil(4);
    if of_lists > STAGED { of_lists } else { STAGED }
}

/// Vectors of the points of a leaf, two of each, and one for an odd one.
const STAGED: u32 = FANOUT / 2 + 1;

/// The list of a lane's place: positions of points in the order of the tree, at most `most`.
struct List {
    place: [f64; 2],
    most: u32,
    count: u32,
    /// Of the warp; entry `i` of a lane is element `STRIDE i + lane`.
    positions: SharedArray<u32>,
}

impl List {
    /// An empty list for the place of this lane.
    #[inline(always)]
    fn of_lane<const K: usize>(place: [f64; 2], most: u32) -> Self {
        let of_warp = vectors_of_warp::<K>();
        let room = Carver::new().array::<Vector>(BLOCK / warp::SIZE * of_warp);
        let positions = room.skip(warp::warp_id() * of_warp).as_elements();
        Self { place, most, count: 0, positions }
    }

    /// Finds the nearest points, in any order.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the tree is whole and has points.
    #[inline(always)]
    unsafe fn search<T: Place, const K: usize>(&mut self, tree: &Tree<'_, T>, group: &Group) {
        // SAFETY: passed on to the caller.
        unsafe {
            let room = Carver::new().array::<Vector>(BLOCK / warp::SIZE * vectors_of_warp::<K>());
            let room = room.skip(warp::warp_id() * vectors_of_warp::<K>());
            let mut least = Least::<K>::new(self.most, room);
            walk(tree, group, &mut least);
            let bound = match least.last() {
                // What is not wanted, by a lane without a place.
                0 if self.most == 0 => -1.0,
                last if last >= INFINITE => f32::INFINITY,
                last => group.bound(f32::from_bits(last)),
            };
            // The lists lie where the points were.
            warp::sync_warp(warp::FULL);
            let reach = warp::max(if bound < 0.0 { 0 } else { bound.to_bits() + 1 });
            walk(tree, group, &mut Collector { list: self, bound, reach });
        }
    }

    /// Entry `i`.
    ///
    /// # Safety
    /// It was written.
    #[inline(always)]
    unsafe fn position(&self, i: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe { self.positions.load(i * STRIDE + warp::lane_id()) }
    }

    /// Sets entry `i`.
    ///
    /// # Safety
    /// It is below the instance's number of neighbours.
    #[inline(always)]
    unsafe fn set_position(&self, i: u32, position: u32) {
        // SAFETY: passed on to the caller; the element is the lane's own.
        unsafe { self.positions.store(i * STRIDE + warp::lane_id(), position) }
    }

    /// Takes a point in. Where the list is full the farthest leaves it, the new one or another.
    ///
    /// # Safety
    /// The point is one of the tree.
    #[inline(always)]
    unsafe fn add<T: Place>(&mut self, tree: &Tree<'_, T>, position: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            if self.count < self.most {
                self.set_position(self.count, position);
                self.count += 1;
            } else {
                self.replace_farthest(tree, position);
            }
        }
    }

    /// Puts a point in the place of the farthest, unless it is farther itself. This happens where f32 cannot tell the k-th
    /// point from the next, as where several are as far.
    ///
    /// # Safety
    /// As [`add`](Self::add); the list is full.
    #[inline(always)]
    unsafe fn replace_farthest<T: Place>(&mut self, tree: &Tree<'_, T>, position: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut farthest = tree.exact(position, self.place);
            let mut at = self.most;
            let mut i = 0;
            while i < vector::unknown(self.most) {
                let other = tree.exact(self.position(i), self.place);
                if is_before(farthest, other) {
                    (farthest, at) = (other, i);
                }
                i += 1;
            }
            if at < self.most {
                self.set_position(at, position);
            }
        }
    }

    /// Writes the lists of the warp's lanes, a row each: the lanes take the elements of all rows in turn, so that neighbouring
    /// elements are written together.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the rows have `k` elements.
    #[inline(always)]
    unsafe fn write<T: Place>(&self, tree: &Tree<'_, T>, target: &Target, k: u32, rows: Rows<'_>) {
        let lane = warp::lane_id();
        let parts = |elements: u32| {
            let rows = elements.checked_div(k).unwrap_or(0);
            (rows, elements - rows * k)
        };
        let ((mut of, mut i), (rows_of_step, rest)) = (parts(lane), parts(warp::SIZE));
        // SAFETY: passed on to the caller; an entry below the count was written.
        unsafe {
            warp::sync_warp(warp::FULL);
            let mut step = 0;
            while step < vector::unknown(k) {
                let is_there = warp::shuffle(warp::FULL, target.is_there as u32, of) != 0;
                let number = warp::shuffle(warp::FULL, target.number as u32, of);
                let count = warp::shuffle(warp::FULL, self.count, of);
                let place = target.place.map(|along| warp::shuffle(warp::FULL, along, of));
                if is_there {
                    let mut found = (f64::INFINITY, NONE);
                    if i < count {
                        found = tree.exact(self.positions.load(i * STRIDE + of), place);
                    }
                    rows.row(number as u64, k).set(i, (math::sqrt(found.0), found.1));
                }
                of += rows_of_step;
                i += rest;
                if i >= k {
                    (of, i) = (of + 1, i - k);
                }
                step += 1;
            }
        }
    }

    /// Sorts the list by the upper halves of the f64 squares, but for their lowest bits, which hold the entry: a network
    /// of few instructions. Where it cannot tell two entries apart, the squares and the indices decide.
    ///
    /// # Safety
    /// The list is that of a search in this tree.
    #[inline(always)]
    unsafe fn sort<T: Place, const K: usize>(&self, tree: &Tree<'_, T>) {
        // SAFETY: passed on to the caller.
        unsafe {
            if K <= 16 {
                let mut keys = Keys::<16>::NONE;
                keys.merge(self.keys::<T, K>(tree, 0));
                self.put_in_order::<T, K, 16>(tree, &keys);
            } else {
                let mut keys = Keys::<K>::NONE;
                let mut from = 0;
                while from < vector::unknown(self.count) {
                    keys.merge(self.keys::<T, K>(tree, from));
                    from += BATCH as u32;
                }
                self.put_in_order::<T, K, K>(tree, &keys);
            }
        }
    }

    /// Puts the entries in the order of their keys.
    ///
    /// # Safety
    /// The keys are those of the list.
    #[inline(always)]
    unsafe fn put_in_order<T: Place, const K: usize, const L: usize>(
        &self,
        tree: &Tree<'_, T>,
        keys: &Keys<L>,
    ) {
        let slots = slots::<K>();
        let mut sorted = [0; K];
        let mut is_unsure = false;
        // SAFETY: entries below the count were written; the sorted ones are as many.
        unsafe {
            let mut i = 0;
            while i < K {
                if (i as u32) < self.count {
                    sorted[i] = self.position(keys.get(i) & slots);
                    is_unsure |= i > 0 && keys.get(i) | slots == keys.get(i - 1) | slots;
                }
                i += 1;
            }
            let mut i = 0;
            while i < K {
                if (i as u32) < self.count {
                    self.set_position(i as u32, sorted[i]);
                }
                i += 1;
            }
            if is_unsure {
                self.sort_exactly(tree);
            }
        }
    }

    /// Sorts the list by insertion.
    ///
    /// # Safety
    /// As [`sort`](Self::sort).
    #[inline(always)]
    unsafe fn sort_exactly<T: Place>(&self, tree: &Tree<'_, T>) {
        let mut i = 1;
        // SAFETY: entries below the count were written.
        unsafe {
            while i < vector::unknown(self.count) {
                let position = self.position(i);
                let point = tree.exact(position, self.place);
                let mut to = i;
                while to > 0 {
                    let before = self.position(to - 1);
                    if !is_before(point, tree.exact(before, self.place)) {
                        break;
                    }
                    self.set_position(to, before);
                    to -= 1;
                }
                self.set_position(to, position);
                i += 1;
            }
        }
    }

    /// The keys of 16 entries, from one on.
    ///
    /// # Safety
    /// As [`sort`](Self::sort).
    #[inline(always)]
    unsafe fn keys<T: Place, const K: usize>(&self, tree: &Tree<'_, T>, from: u32) -> [u32; BATCH] {
        let mut batch = [u32::MAX; BATCH];
        let mut i = 0;
        while i < BATCH && i < K {
            let entry = from + i as u32;
            if entry < self.count {
                // SAFETY: the entry was written.
                let (squared, _) = unsafe { tree.exact(self.position(entry), self.place) };
                batch[i] = (squared.to_bits() >> 32) as u32 & !slots::<K>() | entry;
            }
            i += 1;
        }
        batch
    }
}

/// Where the neighbours of all places go: a row for each.
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

/// Where the neighbours of a place go.
#[derive(Clone, Copy)]
struct Row<'a> {
    indices: Out<'a, u32>,
    /// Squares of distances, until all are there.
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

    /// Takes the roots of the `count` squares, and fills what is left of `k`.
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

/// Whether one point comes before another.
#[inline(always)]
fn is_before(a: (f64, u32), b: (f64, u32)) -> bool {
    a.0 < b.0 || a.0 == b.0 && a.1 < b.1
}

/// The first walk: each lane's least squared distances, as bits of f32, in order.
struct Least<const K: usize> {
    squares: Keys<K>,
    reach: u32,
    /// Of the warp: the points of a leaf, then the lanes' batches.
    room: SharedArray<Vector>,
    /// How many keys wait in the lane's batch.
    waiting: u32,
}

impl<const K: usize> Least<K> {
    /// Long lists take squares by batches: to merge 16 at a time takes a third of the instructions.
    const BY_BATCHES: bool = K > BATCH;

    #[inline(always)]
    fn new(most: u32, room: SharedArray<Vector>) -> Self {
        Self { squares: Keys::at_most(most), reach: INFINITE, room, waiting: 0 }
    }

    /// The last of the list.
    #[inline(always)]
    fn last(&self) -> u32 {
        self.squares.last()
    }

    /// Offers two squares, the last ones of a leaf or others. After the last none waits.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn offer(&mut self, squares: [u32; 2], is_last: bool) {
        let is_less = |square: u32, list: &Self| square < list.last();
        // SAFETY: passed on to the caller; a batch with a free slot has room.
        unsafe {
            if !Self::BY_BATCHES {
                if warp::any(warp::FULL, is_less(u32::min(squares[0], squares[1]), self)) {
                    self.squares.insert(squares[0]);
                    self.squares.insert(squares[1]);
                }
                return;
            }
            let batch = self.room.skip(STAGED).as_elements::<u32>();
            let mut i = 0;
            while i < 2 {
                if is_less(squares[i], self) {
                    batch.store(self.waiting * STRIDE + warp::lane_id(), squares[i]);
                    self.waiting += 1;
                }
                i += 1;
            }
            let most = if is_last { 0 } else { BATCH as u32 - 2 };
            if warp::any(warp::FULL, self.waiting > most) {
                self.merge();
            }
        }
    }

    /// Takes in what waits.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn merge(&mut self) {
        let waiting = self.room.skip(STAGED).as_elements::<u32>();
        let mut batch = [u32::MAX; BATCH];
        let mut i = 0;
        while i < BATCH {
            if (i as u32) < self.waiting {
                // SAFETY: below the number that was stored.
                batch[i] = unsafe { waiting.load(i as u32 * STRIDE + warp::lane_id()) };
            }
            i += 1;
        }
        self.squares.merge(batch);
        self.waiting = 0;
    }
}

impl<T: Place, const K: usize> Visitor<T> for Least<K> {
    const NEAREST_FIRST: bool = true;
    const SKIPS_REPEATED: bool = true;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.reach
    }

    #[inline(always)]
    fn wants(&self, squared: f32) -> bool {
        squared.to_bits() < self.last()
    }

    /// The points within reach go into shared memory, where all lanes read two at a time.
    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, T>, group: &Group, leaf: u32) {
        // SAFETY: passed on to the caller; a leaf's points are no more than there is room for.
        unsafe {
            let (is_there, x, y) = tree.point(group, leaf);
            let is_near = is_there && group.gap([x, y, x, y]).to_bits() < self.reach;
            let near = warp::ballot(warp::FULL, is_near);
            let count = near.count_ones();
            let points = self.room.as_elements::<u64>();
            let pair = |x: f32, y: f32| x.to_bits() as u64 | (y.to_bits() as u64) << 32;
            if is_near {
                points.store((near & warp::lanes_below()).count_ones(), pair(x, y));
            }
            if warp::lane_id() == 0 {
                points.store(count, pair(f32::INFINITY, f32::INFINITY));
            }
            warp::sync_warp(warp::FULL);
            let (mut i, pairs) = (0, vector::unknown(count.div_ceil(2)));
            while i < pairs {
                let [ax, ay, bx, by] = self.room.load(i).map(f32::from_bits);
                let squares = [group.squared(ax, ay), group.squared(bx, by)].map(f32::to_bits);
                i += 1;
                self.offer(squares, i == pairs);
            }
            warp::sync_warp(warp::FULL);
            self.reach = u32::min(warp::max(self.last()), INFINITE);
        }
    }
}

/// The second walk: the points within each lane's bound.
struct Collector<'a> {
    list: &'a mut List,
    bound: f32,
    reach: u32,
}

impl<T: Place> Visitor<T> for Collector<'_> {
    const NEAREST_FIRST: bool = false;
    const SKIPS_REPEATED: bool = true;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.reach
    }

    #[inline(always)]
    fn wants(&self, squared: f32) -> bool {
        squared <= self.bound
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, T>, group: &Group, leaf: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (is_there, x, y) = tree.point(group, leaf);
            let is_near = is_there && group.gap([x, y, x, y]).to_bits() < self.reach;
            let mut near = warp::ballot(warp::FULL, is_near);
            while near != 0 {
                let lane = near.trailing_zeros();
                near &= near - 1;
                let [x, y] = [x, y].map(|along| warp::shuffle(warp::FULL, along, lane));
                if group.squared(x, y) <= self.bound {
                    self.list.add(tree, leaf * FANOUT + lane);
                }
            }
        }
    }
}

/// A list in the results: the squares of f64 decide at once.
struct LongList<'a> {
    row: Row<'a>,
    place: [f64; 2],
    most: u32,
    count: u32,
    /// What the f32 square of a point that is wanted does not exceed.
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
    fn wants(&self, squared: f32) -> bool {
        squared <= self.bound
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
        if self.count == self.most && self.bound >= 0.0 {
            self.bound = group.bound_of(self.row.get(self.most - 1).0);
        }
        let bits = if self.bound < 0.0 { 0 } else { self.bound.to_bits() + 1 };
        // SAFETY: passed on to the caller.
        self.reach = u32::min(unsafe { warp::max(bits) }, INFINITE);
    }
}
