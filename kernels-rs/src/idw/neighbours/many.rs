//! Any number of neighbours, without a list: the points within a distance that is found by counting.
//!
//! ```text
//! circle:  to the nearest leaf, and from its density so far beyond that the circle should hold enough points; count
//!          them roughly, boxes within the circle as a whole; 1.6 times as far beyond while the circle holds too few,
//!          and halfway back while it holds more than twice as many; then count exactly
//! limit:   if it holds too many: count them by 32 steps of distance, then by 32 steps of the step where the last
//!          neighbour lies, until a step ends with that neighbour; of points as near, the same by index
//! visit:   the points up to the limit, in the order of the tree
//! ```
//!
//! Each line is a walk down the tree for the 32 places of a warp, or a few. A walk measures points in f64 that f32 does not
//! exclude, so limits are exact. By quadrants each has its own limit.

mod steps;
mod visits;

use core::array;
use core::marker::PhantomData;

use device_std::{math, vector, warp};

use self::steps::Steps;
use self::visits::{Limit, NearestLeaf, Rough, Within};
use super::Limits;
use super::results::Neighbours;
use super::turns::{by_turns, fewer, total};
use super::warp_search::{Finder, Part};
use crate::rtree::choice::Choice;
use crate::rtree::descent::{Tree, walk};
use crate::rtree::group::Group;
use crate::rtree::patches::Target;
use crate::spatial::place::Bounds;

/// Quadrants, or one list for all points.
const LISTS: usize = 4;

/// How much farther the next circle reaches.
const FARTHER: f64 = 1.6;

/// How often a circle is made larger or smaller.
const ROUNDS: u32 = 64;

/// Any number of the nearest points of a part, of all or of each quadrant.
pub struct Many<P>(PhantomData<P>);

impl<P: Part<D> + 'static, const D: usize> Finder<D> for Many<P> {
    const SHARED: u32 = steps::SHARED;

    type Entries<'a> = Taken<'a, P, D>;

    #[inline(always)]
    unsafe fn find<'a>(
        tree: &'a Tree<'a, f64, D>,
        group: &'a Group<D>,
        target: &Target<D>,
        is_place: bool,
        limits: &Limits,
    ) -> Taken<'a, P, D> {
        let choice = P::of(target, group, limits);
        let by_quadrants = limits.by_quadrants != 0;
        let walks = Walks { tree, group, choice, place: target.place, by_quadrants };
        // SAFETY: passed on to the caller.
        unsafe {
            let circle = walks.circle(limits, is_place);
            let mut taken = by_turns(circle.counts, limits.max_per_quadrant, limits.max_points);
            if !is_place {
                taken = [0; LISTS];
            }
            let are_full = !by_quadrants || fewer(circle.counts, limits.min_per_quadrant) == 0;
            let are_enough = are_full && total(taken) >= u32::max(1, limits.min_points);
            let (mut last, mut nearest, mut i) = ([Last::NONE; LISTS], f64::INFINITY, 0);
            while i < LISTS {
                if taken[i] > 0 {
                    last[i] = Last { squared: circle.squared[i], index: u32::MAX };
                    nearest = f64::min(nearest, circle.nearest[i]);
                }
                i += 1;
            }
            // Not unrolled: a walk is a long piece of code.
            let mut list = 0;
            while list < vector::unknown(LISTS as u32) {
                let wanted = of_list(taken, list);
                let is_cut = wanted > 0 && wanted < of_list(circle.counts, list);
                if warp::any(warp::FULL, is_cut) {
                    let wanted = if is_cut { wanted } else { 0 };
                    let found = walks.last(list, wanted, of_list(circle.squared, list));
                    let mut i = 0;
                    while i < LISTS {
                        last[i] = if is_cut && list == i as u32 { found } else { last[i] };
                        i += 1;
                    }
                }
                list += 1;
            }
            Taken { walks, last, nearest, are_enough }
        }
    }
}

/// The element of a list, by comparisons: an index at run time would force the array from registers into local memory.
#[inline(always)]
fn of_list<T: Copy>(all: [T; LISTS], list: u32) -> T {
    let (mut found, mut i) = (all[0], 1);
    while i < LISTS {
        found = if list == i as u32 { all[i] } else { found };
        i += 1;
    }
    found
}

/// The squares of open lists; negative for others.
#[inline(always)]
fn of_open(is_open: [bool; LISTS], squared: [f64; LISTS]) -> [f64; LISTS] {
    array::from_fn(|i| if is_open[i] { squared[i] } else { -1.0 })
}

/// The last neighbour of a list: the points that are nearer count, and as near ones up to this index.
#[derive(Clone, Copy)]
struct Last {
    squared: f64,
    index: u32,
}

impl Last {
    /// No point counts.
    const NONE: Self = Self { squared: -1.0, index: 0 };
}

/// For each list a circle that holds enough of its points.
struct Circle {
    squared: [f64; LISTS],
    /// The list's points in it.
    counts: [u32; LISTS],
    /// The squared distance of the nearest of them.
    nearest: [f64; LISTS],
}

/// What all walks for a lane's target have in common.
#[derive(Clone, Copy)]
struct Walks<'a, P, const D: usize> {
    tree: &'a Tree<'a, f64, D>,
    group: &'a Group<D>,
    choice: P,
    place: [f64; D],
    by_quadrants: bool,
}

impl<P: Part<D>, const D: usize> Walks<'_, P, D> {
    /// Shows every point that counts and whose squared distance is at most that of its list: with its list, that square,
    /// and its position. A negative square shows none.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn each(&self, squared: [f64; LISTS], see: impl FnMut(u32, f64, u32)) {
        // Without quadrants the first list has the points of all.
        let squared = if self.by_quadrants { squared } else { [squared[0]; LISTS] };
        // SAFETY: passed on to the caller.
        unsafe {
            let limit = self.limit(squared);
            walk(self.tree, self.group, &mut Within { walks: self, squared, limit, see });
        }
    }

    /// How many points of each list are within its square, roughly: in f32.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn count(&self, squared: [f64; LISTS]) -> [u32; LISTS] {
        let squared = if self.by_quadrants { squared } else { [squared[0]; LISTS] };
        // SAFETY: passed on to the caller.
        unsafe {
            let limit = self.limit(squared);
            let mut rough = Rough { walks: self, limit, counts: [0; LISTS] };
            walk(self.tree, self.group, &mut rough);
            rough.counts
        }
    }

    /// The limits in f32 of squares; a negative one has no points.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn limit(&self, squared: [f64; LISTS]) -> Limit {
        let bits = |squared: f64| self.group.bound_of(squared).to_bits() + 1;
        let below = squared.map(|squared| if squared >= 0.0 { bits(squared) } else { 0 });
        let most = below.into_iter().fold(0, u32::max);
        // SAFETY: passed on to the caller.
        Limit { below, most, reach: unsafe { warp::max(most) } }
    }

    /// Whether a box may hold a point below a limit.
    #[inline(always)]
    fn wants(&self, [least, mut greatest]: Bounds<f32, D>, limit: &Limit) -> bool {
        // NaN marks a box that repeats a place, whose points count here.
        if greatest[D - 1].is_nan() {
            greatest[D - 1] = f32::INFINITY;
        }
        self.choice.wants(self.group, [least, greatest], limit.below)
    }

    /// The first circles that hold as many points of each list as are wanted, or all points within reach.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn circle(&self, limits: &Limits, is_place: bool) -> Circle {
        let wanted = limits.of_list();
        let reach = match limits.ellipse[0] > 0.0 {
            true => limits.widest() * limits.widest() * (1.0 + 1e-9),
            false => limits.reach * limits.reach,
        };
        let most = f64::min(reach, self.farthest());
        let mut circle =
            Circle { squared: [-1.0; LISTS], counts: [0; LISTS], nearest: [0.0; LISTS] };
        let mut is_open = [is_place; LISTS];
        if !self.by_quadrants {
            is_open = [is_place, false, false, false];
        }
        // SAFETY: passed on to the caller.
        unsafe {
            let mut squared = [most; LISTS];
            if wanted < self.tree.points {
                squared = self.rough_circle(wanted, most, is_open);
            }
            while warp::any(warp::FULL, is_open.contains(&true)) {
                let (mut counts, mut nearest) = ([0; LISTS], [f64::INFINITY; LISTS]);
                self.each(of_open(is_open, squared), |list, squared, _| {
                    let mut i = 0;
                    while i < LISTS {
                        if list == i as u32 {
                            counts[i] += 1;
                            nearest[i] = f64::min(nearest[i], squared);
                        }
                        i += 1;
                    }
                });
                let mut i = 0;
                while i < LISTS {
                    if is_open[i] && (counts[i] >= wanted || squared[i] >= most) {
                        circle.squared[i] = squared[i];
                        circle.counts[i] = counts[i];
                        circle.nearest[i] = nearest[i];
                        is_open[i] = false;
                    }
                    // At least what the rough count has seen.
                    squared[i] = f64::max(squared[i] * FARTHER, self.seen_within(squared[i]));
                    squared[i] = f64::min(squared[i], most);
                    i += 1;
                }
            }
        }
        circle
    }

    /// The squares of circles that hold, by a rough count, `wanted` to about twice as many points of each open list; at
    /// most `most`.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn rough_circle(
        &self,
        wanted: u32,
        most: f64,
        mut is_open: [bool; LISTS],
    ) -> [f64; LISTS] {
        let lists = if self.by_quadrants { LISTS } else { 1 };
        // SAFETY: passed on to the caller.
        let [gap, first] = unsafe { self.guess(wanted, lists) };
        let first = f64::min(first, math::sqrt(most));
        let square = |beyond: f64| f64::min((gap + beyond) * (gap + beyond), most);
        let (mut beyond, mut low, mut high) =
            ([first; LISTS], [0.0; LISTS], [f64::INFINITY; LISTS]);
        let mut round = 0;
        // SAFETY: passed on to the caller.
        while round < ROUNDS && unsafe { warp::any(warp::FULL, is_open.contains(&true)) } {
            let squared = beyond.map(square);
            // SAFETY: passed on to the caller.
            let counts = unsafe { self.count(of_open(is_open, squared)) };
            let mut i = 0;
            while i < LISTS {
                let are_few = counts[i] < wanted;
                let are_many = counts[i] / 2 > wanted.saturating_add(16);
                is_open[i] &= are_many || (are_few && squared[i] < most);
                if is_open[i] {
                    *(if are_few { &mut low[i] } else { &mut high[i] }) = beyond[i];
                    // What no circle separates stays together.
                    is_open[i] = high[i] > low[i] * 1.01;
                    beyond[i] = match (low[i] > 0.0, high[i] < f64::INFINITY) {
                        _ if !is_open[i] => high[i],
                        (true, true) => math::sqrt(low[i] * high[i]),
                        (true, false) => low[i] * FARTHER,
                        _ => high[i] / FARTHER,
                    };
                }
                i += 1;
            }
            round += 1;
        }
        beyond.map(square)
    }

    /// The list of a point, or `LISTS`.
    #[inline(always)]
    fn list(&self, position: u32) -> u32 {
        if self.by_quadrants {
            return <P as Choice<LISTS, D>>::list(&self.choice, self.tree, position);
        }
        match <P as Choice<1, D>>::list(&self.choice, self.tree, position) {
            0 => 0,
            _ => LISTS as u32,
        }
    }

    /// At least the squared distance of all points that a rough count within a square counts.
    #[inline(always)]
    fn seen_within(&self, squared: f64) -> f64 {
        let scale = self.group.origin.scale();
        self.group.bound(self.group.bound_of(squared)) as f64 / scale / scale
    }

    /// At least the squared distance of the farthest point.
    #[inline(always)]
    fn farthest(&self) -> f64 {
        let [least, greatest] = self.tree.extent;
        let (mut squared, mut axis) = (0.0, 0);
        while axis < D {
            let place = self.place[axis];
            let along = f64::max((place - least[axis]).abs(), (greatest[axis] - place).abs());
            squared += along * along;
            axis += 1;
        }
        squared * (1.0 + 1e-12)
    }

    /// The distance of the nearest leaf, and how far beyond a circle reaches that should hold `wanted` points of each of some
    /// lists.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn guess(&self, wanted: u32, lists: usize) -> [f64; 2] {
        let mut nearest = NearestLeaf { density: None, reach: f32::INFINITY.to_bits() };
        // SAFETY: passed on to the caller.
        unsafe { walk(self.tree, self.group, &mut nearest) };
        let Some(leaf) = nearest.density else { return [0.0, f64::INFINITY] };
        let squares = [self.group.gap_of_lane(leaf.bounds), leaf.circle_of(wanted, lists)];
        // Not 0, which would not grow: see `Group::bound`.
        squares.map(|squared| (math::sqrt_f32(squared) + 1e-18) as f64 / self.group.origin.scale())
    }

    /// The last of the nearest `wanted` points of a list, which has more within a square. A lane that wants none has no
    /// last point.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn last(&self, list: u32, wanted: u32, within: f64) -> Last {
        // The bits of numbers that are not negative have the order of the numbers. Most points of a circle are not very near
        // its centre.
        let first = f64::min(within, f64::MAX) * 0.125;
        let mut steps = Steps::new([first, within].map(f64::to_bits), wanted);
        let (mut last, mut by_index) = (Last { squared: within, index: u32::MAX }, false);
        // SAFETY: passed on to the caller.
        unsafe {
            while warp::any(warp::FULL, !steps.is_done) {
                let squared = if steps.is_done { -1.0 } else { last.squared };
                steps.begin();
                let within = of_open(array::from_fn(|i| list == i as u32), [squared; LISTS]);
                self.each(within, |_, squared, position| {
                    let number = match by_index {
                        false => squared.to_bits(),
                        true if squared < last.squared => 0,
                        true => self.tree.order.get(position) as u64,
                    };
                    steps.count(number);
                });
                steps.narrow();
                if by_index {
                    last.index = steps.last as u32;
                } else {
                    last.squared = f64::from_bits(steps.last);
                    if steps.is_done && !steps.is_whole {
                        // More points are as near as the last one than are wanted.
                        (steps, by_index) = (Steps::new([0, u32::MAX as u64], wanted), true);
                    }
                }
            }
        }
        last
    }
}

/// The neighbours of a lane's target.
pub struct Taken<'a, P, const D: usize> {
    walks: Walks<'a, P, D>,
    /// The last one of each list.
    last: [Last; LISTS],
    nearest: f64,
    are_enough: bool,
}

impl<P: Part<D>, const D: usize> Neighbours for Taken<'_, P, D> {
    #[inline(always)]
    fn are_enough(&self) -> bool {
        self.are_enough
    }

    #[inline(always)]
    fn nearest(&self) -> Option<f64> {
        Some(self.nearest)
    }

    /// In the order of the tree.
    #[inline(always)]
    unsafe fn visit(&self, mut see: impl FnMut(f64, u32)) {
        // SAFETY: passed on to the caller.
        unsafe {
            self.walks.each(self.last.map(|last| last.squared), |list, squared, position| {
                let last = of_list(self.last, list);
                let is_taken = squared < last.squared
                    || squared == last.squared
                        && (last.index == u32::MAX
                            || self.walks.tree.order.get(position) <= last.index);
                if is_taken {
                    see(squared, position);
                }
            });
        }
    }
}
