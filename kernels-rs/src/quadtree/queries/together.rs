//! Nearest points of 32 places that lie side by side, which nearly the same points are near to: a warp looks for them
//! together.
//!
//! 1. Each lane goes down to the smallest cell around its place that holds points enough to tell how densely they lie
//!    there, and so how wide a circle nearly surely holds the neighbours: [`circle`].
//! 2. A turn begins. The first place that waits leads it, and those not far from it take part: [`View`]. The nodes whose
//!    cells meet their circles give runs of points in the order of the tree: [`find_runs`].
//! 3. The lanes bring the points that may lie in a circle into shared memory, in f32 relative to the leader: [`Ground`].
//! 4. Every lane goes through them. One that lies in the lane's circle waits in shared memory; when some lane has no room
//!    left all lanes put theirs among the least [`Keys`], in registers, and their circles shrink: [`Chosen`]. So
//!    what is done for every point is little, and what is done for few points is done for all lanes at once.
//! 5. Of the points kept, but for the last, the f64 distances decide, as everywhere. The answer is certain if the last
//!    neighbour is nearer than the last key, or the circle where it holds fewer, says that other points may be.
//! 6. A place whose circle held too few takes part in another turn with a wider one. What is left after some turns, and
//!    where it is not the circle (points as far as each other, far more points than elsewhere), is left to
//!    [`find_nearest`](mod@super::nearest).
//!
//! With 64 registers, what spills of them outside of the loops over points, and 6 KiB of shared memory a warp, 28 warps of
//! a multiprocessor work at once, with 80 and 8 KiB 21: the 8 nearest of each of 10,000,000 points take 4.5 and 5.1 ms on an
//! H200.

mod chosen;
mod circle;
mod ground;
mod room;

use device_std::{kernel, math, thread, warp};

use crate::spatial::place::Place;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::leaf::NONE;
use super::nearest::{FARTHEST, Out, Points};
use super::runs::{Group, Runs, find_runs};
use crate::spatial::frame::Frame;
use crate::spatial::keys::{ENDLESS, Keys};
use chosen::Chosen;
use circle::{even_radius, sure_radius};
use ground::{Ground, View};
use room::{Room, STAGED};

/// Threads of a block.
pub const TEAM: u32 = 64;

/// Turns of a warp.
const TURNS: u32 = 8;

/// How far from the leader a place may be that takes part in its turn, in radii of the leader's circle, at first.
const REACH: f32 = 6.0;

/// Places farther from the leader, in radii, have no part here: the squares of f32 end.
const FAR: f32 = 1e18;

/// Finds what [`find_nearest`](mod@super::nearest) does, but for the places that it leaves: the bits of word `w` of
/// `left` tell which lanes of warp `w` have one. Grid: a thread for each place.
///
/// # Safety
/// As for `find_nearest`; `k` is at most what the instance's name says, and `left` has a word for each warp of the
/// launch.
#[kernel(block = TEAM, shared = <S as Team>::SHARED, instances(
    f32_8: <f32, Least<10>>, resident = 16, spills = 784;
    f32_16: <f32, Least<18>>;
    f32_32: <f32, Least<34>>;
    f64_8: <f64, Least<10>>, resident = 16, spills = 784;
    f64_16: <f64, Least<18>>;
    f64_32: <f64, Least<34>>;
))]
pub unsafe fn find_nearest_together<T: Place, S: Team>(
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
    left: *mut u32,
) {
    let thread = thread::index_1d();
    let points = Points { x: px, y: py, order };
    let tree = Tree { nodes, frame: Frame::new(corner, per_unit, level), points };
    // SAFETY: guarded; the rest is the caller's. The warp stays together.
    unsafe {
        let is_there = thread < count;
        let query = match (is_there, queries.is_null()) {
            (false, _) => 0,
            (true, true) => thread as u32,
            (true, false) => *queries.add(thread as usize),
        };
        let place = match is_there {
            true => [(*x.add(query as usize)).widened(), (*y.add(query as usize)).widened()],
            false => [f64::NAN; 2],
        };
        let is_wanted = place[0].is_finite() && place[1].is_finite();
        let out = Out { indices, distances };
        if is_there && !is_wanted {
            put_nothing(query, k, out);
        }
        let is_left = S::find(&tree, place, is_wanted, query, k, out);
        let lanes = warp::ballot(warp::FULL, is_left);
        if warp::lane_id() == 0 {
            *left.add((thread / warp::SIZE as u64) as usize) = lanes;
        }
    }
}

/// Writes that a place has no neighbours.
///
/// # Safety
/// There is room for `k` of the query.
#[inline(always)]
unsafe fn put_nothing(query: u32, k: u32, out: Out) {
    let mut i = 0;
    while i < k as usize {
        let to = query as usize * k as usize + i;
        // SAFETY: passed on to the caller.
        unsafe {
            *out.indices.add(to) = FARTHEST.1;
            *out.distances.add(to) = FARTHEST.0;
        }
        i += 1;
    }
}

/// A tree, as a kernel sees it.
struct Tree<T> {
    nodes: *const u64,
    frame: Frame,
    points: Points<T>,
}

/// How a warp searches.
pub trait Team {
    /// Bytes of shared memory of a block.
    const SHARED: u32;

    /// Writes the neighbours of the places that are wanted; tells whether the lane's is left.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the rest is as for [`find_nearest_together`](mod@find_nearest_together).
    #[allow(private_interfaces)]
    unsafe fn find<T: Place>(
        tree: &Tree<T>,
        place: [f64; 2],
        is_wanted: bool,
        query: u32,
        k: u32,
        out: Out,
    ) -> bool;
}

/// With the `L` least keys of each lane: for up to `L - 2` neighbours.
pub struct Least<const L: usize>;

impl<const L: usize> Team for Least<L> {
    const SHARED: u32 = Room::<L>::BYTES;

    #[inline(always)]
    #[allow(private_interfaces)]
    unsafe fn find<T: Place>(
        tree: &Tree<T>,
        place: [f64; 2],
        is_wanted: bool,
        query: u32,
        k: u32,
        out: Out,
    ) -> bool {
        // Of points at random a circle that holds so many on average holds fewer than `k` three times in a
        // thousand.
        let aim = k as f32 + 3.0 * math::sqrt_f32(k as f32) + 2.0;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut search = Search::<T, L> { tree, place, room: Room::of_warp(), k, aim };
            // 0 where nothing is known of it.
            let mut radius = match is_wanted {
                true => even_radius(tree.nodes, &tree.frame, place, aim),
                false => 0.0,
            };
            let (mut waits, mut is_left) = (is_wanted, false);
            let (mut turn, mut reach) = (0, REACH);
            while turn < TURNS {
                let waiting = warp::ballot(warp::FULL, waits);
                if waiting == 0 {
                    break;
                }
                if waits && radius == 0.0 {
                    radius = sure_radius(tree.nodes, &tree.frame, place, k);
                }
                let answer = search.turn(waits, waiting, radius, reach);
                let done = warp::ballot(warp::FULL, answer == Answer::Certain);
                search.room.put(done, query, k, out);
                // The lists make room for the next turn.
                warp::sync_warp(warp::FULL);
                match answer {
                    // A leader that sees not even itself has lengths that no circle fits.
                    Answer::None if waiting.trailing_zeros() == warp::lane_id() => {
                        (waits, is_left) = (false, true);
                    }
                    Answer::None | Answer::Crowded => {}
                    Answer::Certain => waits = false,
                    Answer::Wider(Some(by)) => radius *= by as f64,
                    Answer::Wider(None) => radius = 0.0,
                    Answer::Left => (waits, is_left) = (false, true),
                }
                if warp::any(warp::FULL, answer == Answer::Crowded) {
                    reach *= 0.25;
                }
                turn += 1;
            }
            is_left || waits
        }
    }
}

/// What a turn has found for a lane.
#[derive(Clone, Copy, PartialEq)]
enum Answer {
    /// It took no part.
    None,
    /// Its neighbours are in its list.
    Certain,
    /// A circle wider by this will do, as far as its points tell.
    Wider(Option<f32>),
    /// There are too many points; with fewer places they are fewer.
    Crowded,
    /// No circle would do.
    Left,
}

/// The answer where there are too many points.
#[inline(always)]
fn crowded(view: &View, ground: &Ground) -> Answer {
    match (view.takes_part, ground.is_wide()) {
        (false, _) => Answer::None,
        (true, false) => Answer::Left,
        (true, true) => Answer::Crowded,
    }
}

/// What does not change from turn to turn.
struct Search<'a, T, const L: usize> {
    tree: &'a Tree<T>,
    /// The lane's own.
    place: [f64; 2],
    room: Room<L>,
    k: u32,
    /// Points that a circle is to hold.
    aim: f32,
}

impl<T: Place, const L: usize> Search<'_, T, L> {
    /// A turn for some of the places that wait, each of which has a circle of a radius. Leaves the neighbours of those
    /// whose answer is certain in the lists.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the rest is as for [`Team::find`].
    #[inline(always)]
    unsafe fn turn(&mut self, waits: bool, waiting: u32, radius: f64, reach: f32) -> Answer {
        // SAFETY: passed on to the caller; all lanes have the same box and the same runs.
        unsafe {
            let view = View::new(self.place, radius, waits, waiting, reach);
            let ground = Ground::new(&self.tree.frame, &view);
            let queues = self.room.queues();
            let Some(runs) = find_runs(self.tree.nodes, queues, |cell| ground.meets(cell)) else {
                return crowded(&view, &ground);
            };
            warp::sync_warp(warp::FULL);
            let limit = view.limit(&ground);
            let mut chosen = Chosen::<L> { keys: Keys::NONE, limit, waiting: 0 };
            if !self.look(&view, &ground, &runs, &mut chosen) {
                return crowded(&view, &ground);
            }
            warp::sync_warp(warp::FULL);
            if !view.takes_part {
                return Answer::None;
            }
            let found = self.decide(&chosen);
            let lists = self.room.lists();
            // No point that was not found is nearer than this.
            let least = chosen.least_distance(&view) * view.radius;
            let is_certain = if found < self.k {
                least == f64::INFINITY
            } else {
                let last = lists.squared.load(lists.slot(self.k - 1));
                least > 0.0 && last < least * least * (1.0 - 1e-9)
            };
            if is_certain {
                let mut i = found;
                while i < self.k {
                    lists.store(i, FARTHEST.0, NONE);
                    i += 1;
                }
                Answer::Certain
            } else if chosen.limit < limit {
                Answer::Left
            } else {
                let share = self.aim / f32::max(found as f32, 1.0);
                match 2 * found >= self.k {
                    true => Answer::Wider(Some(f32::max(1.1, math::sqrt_f32(share)))),
                    false => Answer::Wider(None),
                }
            }
        }
    }

    /// Brings the points on the ground into shared memory, and chooses from them. False where they are too many, or one
    /// lies too far away.
    ///
    /// # Safety
    /// As for [`turn`](Self::turn); the runs are those of the warp.
    #[inline(always)]
    unsafe fn look(
        &self,
        view: &View,
        ground: &Ground,
        runs: &Runs,
        chosen: &mut Chosen<L>,
    ) -> bool {
        let (room, points) = (self.room, &self.tree.points);
        let (mut first, mut staged) = (0, 0);
        let (mut is_far, mut is_last) = (false, false);
        let (mut group, mut number, mut next) = (Group::EMPTY, 0, 0);
        // SAFETY: the warp stays together; barriers stand between writes and reads of others.
        unsafe {
            while !is_last {
                if number >= group.points() {
                    is_last = next >= runs.count();
                    group = runs.group(next);
                    (number, next) = (0, next + warp::SIZE);
                }
                let position = group.position(number + warp::lane_id());
                let mut is_in = number + warp::lane_id() < group.points();
                let mut place = [0.0; 2];
                if is_in {
                    let at = position as usize;
                    place =
                        view.seen([(*points.x.add(at)).widened(), (*points.y.add(at)).widened()]);
                    is_in = ground.holds(place);
                }
                let lanes = warp::ballot(warp::FULL, is_in);
                let slot = staged + (lanes & warp::lanes_below()).count_ones();
                if first + staged + lanes.count_ones() > Room::<L>::MOST_POINTS {
                    return false;
                }
                if is_in {
                    let [x, y] = place;
                    is_far = is_far || !(f32::abs(x) < FAR && f32::abs(y) < FAR);
                    room.places().store(slot, x.to_bits() as u64 | (y.to_bits() as u64) << 32);
                    room.positions().store(first + slot, position);
                }
                staged += lanes.count_ones();
                number += warp::SIZE;
                if is_last || staged > STAGED - warp::SIZE {
                    chosen.take(room, view, first, staged, is_last);
                    first += staged;
                    staged = 0;
                }
            }
            !warp::any(warp::FULL, is_far)
        }
    }

    /// Brings the points chosen into the lane's list, in the order of their f64 distances. Returns how many.
    ///
    /// # Safety
    /// The keys are of points staged in this turn.
    #[inline(always)]
    unsafe fn decide(&self, chosen: &Chosen<L>) -> u32 {
        let (points, lists) = (&self.tree.points, self.room.lists());
        let mut found = 0;
        let mut last = FARTHEST;
        let mut first = 0;
        // SAFETY: positions are of points; slots are the lane's own.
        unsafe {
            while first < L - 1 {
                // Some at a time, so that the loads of all are under way before the first is waited for.
                let mut squared = [0.0; TOGETHER];
                let mut index = [NONE; TOGETHER];
                let mut i = 0;
                while i < TOGETHER {
                    if first + i < L - 1 {
                        let key = chosen.keys.get(first + i);
                        let number = if key < ENDLESS { key & Room::<L>::NUMBERS } else { 0 };
                        let at = if key < ENDLESS {
                            self.room.positions().load(number) as usize
                        } else {
                            0
                        };
                        let dx = (*points.x.add(at)).widened() - self.place[0];
                        let dy = (*points.y.add(at)).widened() - self.place[1];
                        squared[i] = dx * dx + dy * dy;
                        index[i] = *points.order.add(at);
                    }
                    i += 1;
                }
                let mut i = 0;
                while i < TOGETHER {
                    if first + i < L - 1 && chosen.keys.get(first + i) < ENDLESS {
                        let (squared, index) = (squared[i], index[i]);
                        // Keys are nearly in this order, so that few move.
                        let is_last =
                            found == 0 || last.0 < squared || (last.0 == squared && last.1 < index);
                        if is_last {
                            lists.store(found, squared, index);
                            last = (squared, index);
                        } else {
                            lists.insert(found, squared, index);
                        }
                        found += 1;
                    }
                    i += 1;
                }
                first += TOGETHER;
            }
        }
        u32::min(found, self.k)
    }
}

/// Points whose distances a lane computes at a time.
const TOGETHER: usize = 5;
