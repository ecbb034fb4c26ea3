//! Neighbours of 32 targets that lie side by side. A warp walks down the R-tree of the points once for all of them:
//! [`rtree`](crate::rtree).
//!
//! 1. Each lane's lists fill with the nearest points, of all or of each quadrant: [`Few`]. If only points of an ellipse
//!    count, or quadrants are separate, a [`Part`] assigns the points.
//! 2. The lists are cut to the reach and, with quadrants, by turns.
//! 3. Values are added nearest first.
//!
//! Targets with too few neighbours may fall back on the nearest ones, however far. The kernel marks these targets, and
//! a second launch takes them alone.

use core::marker::PhantomData;

use device_std::{Out, thread, warp};

use super::Limits;
use super::results::{Neighbours, Results, Values};
use super::turns::{by_turns, fewer, total};
use super::weighing::Weights;
use crate::rtree::choice::{All, Choice};
use crate::rtree::descent::{Tree, squared};
use crate::rtree::few::Few;
use crate::rtree::group::Group;
use crate::rtree::layout::NONE;
use crate::rtree::list::{bytes_of_block, is_before};
use crate::rtree::patches::{Patches, Target};
use crate::spatial::place::Bounds;

/// The most neighbours of a target.
pub const MAX_LISTED: u32 = 64;

/// Interpolates at the targets of a warp.
///
/// # Safety
/// The whole warp comes to the same call; the rest as for the kernels of [`plane`](super::plane) and [`globe`](super::globe).
#[inline(always)]
pub unsafe fn interpolate<F: Finder<D>, const D: usize>(
    tree: &Tree<'_, f64, D>,
    patches: &Patches<'_>,
    values: &Values<'_>,
    weights: &Weights<'_>,
    limits: &Limits,
    results: &Results<'_>,
    too_few: Option<Out<'_, u32>>,
) {
    let given = patches.target();
    let target = given.unwrap_or(Target { index: 0, place: [f64::NAN; D] });
    let is_place = target.is_place();
    // SAFETY: passed on to the caller.
    unsafe {
        let mut is_too_few = false;
        if let Some(group) = Group::new(target.place, is_place, tree.extent) {
            let found = F::find(tree, &group, &target, is_place, limits);
            is_too_few = is_place && too_few.is_some() && !found.are_enough();
            let writes = is_place && !is_too_few;
            let weighing = weights.of_target(target.index, D > 2);
            results.interpolate(values, &weighing, writes.then_some(target.index), &found);
        }
        if given.is_some() && !is_place {
            results.put_nothing(values.columns, target.index);
        }
        let marked = warp::ballot(warp::FULL, is_too_few);
        if let Some(too_few) = too_few
            && warp::lane_id() == 0
        {
            too_few.set(thread::index_1d() / warp::SIZE as u64, marked);
        }
    }
}

/// How a warp finds neighbours.
pub trait Finder<const D: usize> {
    /// Bytes of shared memory of a block.
    const SHARED: u32;

    /// The neighbours of a lane's target.
    type Entries<'a>: Neighbours;

    /// Finds the neighbours of each lane's target that `is_place`.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the tree is whole and has points.
    unsafe fn find<'a>(
        tree: &'a Tree<'a, f64, D>,
        group: &'a Group<D>,
        target: &Target<D>,
        is_place: bool,
        limits: &Limits,
    ) -> Self::Entries<'a>;
}

/// The points that count for a target within limits.
pub trait Part<const D: usize>: Choice<1, D> + Choice<4, D> {
    /// The part of a target.
    fn of(target: &Target<D>, group: &Group<D>, limits: &Limits) -> Self;

    /// The list of all points of a box, by quadrants or one for all; 4 if the box does not tell.
    fn list_of_box(&self, group: &Group<D>, bounds: Bounds<f32, D>, by_quadrants: bool) -> u32;
}

/// The point that a target leaves out, or [`NONE`].
#[inline(always)]
pub fn except<const D: usize>(target: &Target<D>, limits: &Limits) -> u32 {
    if limits.leaves_out != 0 { target.index as u32 } else { NONE }
}

/// At most the `K` nearest of all points; `L` is `K + 1`.
pub struct Nearest<const K: usize, const L: usize>;

impl<const K: usize, const L: usize, const D: usize> Finder<D> for Nearest<K, L> {
    const SHARED: u32 = bytes_of_block::<K, D>();

    type Entries<'a> = Entries<'a, K, L, 1, K, D>;

    #[inline(always)]
    unsafe fn find<'a>(
        tree: &'a Tree<'a, f64, D>,
        group: &'a Group<D>,
        target: &Target<D>,
        is_place: bool,
        limits: &Limits,
    ) -> Entries<'a, K, L, 1, K, D> {
        // One more, in case it is the one to leave out.
        let most = limits.max_points + u32::from(limits.leaves_out != 0);
        let except = except(target, limits);
        let mut lists = Few::new(target.place, if is_place { most } else { 0 });
        // SAFETY: passed on to the caller.
        unsafe {
            lists.find(tree, group, &All, group.bound_of(limits.reach * limits.reach));
            Entries::new(tree, lists, limits, except)
        }
    }
}

/// At most the `K` nearest points of a part, of all or of each quadrant.
pub struct InPart<P, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize>(
    PhantomData<P>,
);

impl<P, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize, const D: usize>
    Finder<D> for InPart<P, K, L, LISTS, SLOTS>
where
    P: Part<D> + Choice<LISTS, D> + 'static,
{
    const SHARED: u32 = bytes_of_block::<SLOTS, D>();

    type Entries<'a> = Entries<'a, K, L, LISTS, SLOTS, D>;

    #[inline(always)]
    unsafe fn find<'a>(
        tree: &'a Tree<'a, f64, D>,
        group: &'a Group<D>,
        target: &Target<D>,
        is_place: bool,
        limits: &Limits,
    ) -> Entries<'a, K, L, LISTS, SLOTS, D> {
        let most = if is_place { limits.of_list() } else { 0 };
        let part = P::of(target, group, limits);
        let mut lists = Few::new(target.place, most);
        let widest = limits.widest();
        // SAFETY: passed on to the caller.
        unsafe {
            lists.find(tree, group, &part, group.bound_of(widest * widest));
            Entries::new(tree, lists, limits, NONE)
        }
    }
}

/// The neighbours of a lane's target: the first entries of its lists.
pub struct Entries<
    'a,
    const K: usize,
    const L: usize,
    const LISTS: usize,
    const SLOTS: usize,
    const D: usize,
> {
    tree: &'a Tree<'a, f64, D>,
    lists: Few<K, L, LISTS, SLOTS, D>,
    /// How many entries of each list count.
    taken: [u32; 4],
    /// The index of a point that does not count, or [`NONE`].
    except: u32,
    are_enough: bool,
}

impl<'a, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize, const D: usize>
    Entries<'a, K, L, LISTS, SLOTS, D>
{
    /// Takes the neighbours within reach. A point can be left out only if there is one list.
    ///
    /// # Safety
    /// The lists are those of a search in this tree.
    #[inline(always)]
    unsafe fn new(
        tree: &'a Tree<'a, f64, D>,
        lists: Few<K, L, LISTS, SLOTS, D>,
        limits: &Limits,
        except: u32,
    ) -> Self {
        let squared = limits.reach * limits.reach;
        // A byte for each list, so that no array is indexed at run time.
        let (mut within, mut i) = (0u32, 0);
        let mut is_excepted = false;
        // SAFETY: passed on to the caller; entries below the count are there.
        unsafe {
            while i < LISTS {
                let list = lists.list(i as u32);
                let mut count = list.count;
                while count > 0 && tree.squared(list.position(count - 1), list.place) > squared {
                    count -= 1;
                }
                let mut entry = 0;
                while except != NONE && entry < count {
                    is_excepted |= tree.order.get(list.position(entry)) == except;
                    entry += 1;
                }
                within |= count << (8 * i);
                i += 1;
            }
        }
        let counts = [0, 8, 16, 24].map(|shift| within >> shift & 255);
        let of_others = counts[0] - is_excepted as u32;
        let counts = if LISTS == 1 { [of_others, 0, 0, 0] } else { counts };
        let taken = by_turns(counts, limits.max_per_quadrant, limits.max_points);
        let are_full = LISTS == 1 || fewer(counts, limits.min_per_quadrant) == 0;
        let are_enough = are_full && total(taken) >= u32::max(1, limits.min_points);
        Self { tree, lists, taken, except, are_enough }
    }
}

impl<const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize, const D: usize>
    Neighbours for Entries<'_, K, L, LISTS, SLOTS, D>
{
    #[inline(always)]
    fn are_enough(&self) -> bool {
        self.are_enough
    }

    /// The visit begins with it.
    #[inline(always)]
    fn nearest(&self) -> Option<f64> {
        None
    }

    /// Nearest first; of equal distances the lower index comes first. Merges the lists.
    #[inline(always)]
    unsafe fn visit(&self, mut see: impl FnMut(f64, u32)) {
        let &Self { tree, lists, taken, except, .. } = self;
        // SAFETY: entries below `taken` are there; if the point to leave out is among them, there is one more.
        unsafe {
            if LISTS == 1 {
                let list = lists.list(0);
                if taken[0] == 0 {
                    return;
                }
                let (mut i, mut shown) = (0, 0);
                let mut next = list.place_of(tree, 0);
                while shown < taken[0] {
                    // The next place is on its way while this one is added.
                    let (place, position) = next;
                    i += 1;
                    next = list.place_of(tree, u32::min(i, list.count - 1));
                    if except == NONE || tree.order.get(position) != except {
                        see(squared(place, list.place), position);
                        shown += 1;
                    }
                }
                return;
            }
            // The point, and its position.
            let head = |of: usize, i: u32| {
                if i < taken[of] {
                    let list = lists.list(of as u32);
                    let position = list.position(i);
                    (tree.exact(position, list.place), position)
                } else {
                    ((f64::INFINITY, NONE), NONE)
                }
            };
            let (mut heads, mut shown) = ([((f64::INFINITY, NONE), NONE); LISTS], [0; LISTS]);
            let mut list = 0;
            while list < LISTS {
                heads[list] = head(list, 0);
                list += 1;
            }
            loop {
                let (mut next, mut of) = (heads[0], 0);
                let mut list = 1;
                while list < LISTS {
                    if is_before(heads[list].0, next.0) {
                        (next, of) = (heads[list], list);
                    }
                    list += 1;
                }
                if next.1 == NONE {
                    return;
                }
                see(next.0.0, next.1);
                let mut list = 0;
                while list < LISTS {
                    if list == of {
                        shown[list] += 1;
                        heads[list] = head(list, shown[list]);
                    }
                    list += 1;
                }
            }
        }
    }
}
