//! Neighbours of 32 targets that lie side by side, in the plane. A warp walks down the R-tree of the points once for
//! all of them: [`rtree`](crate::rtree).
//!
//! 1. Each lane's lists fill with the nearest points, of all or of each quadrant: [`Few`]. If only points of an ellipse
//!    count, or quadrants are separate, [`InEllipse`] assigns the points.
//! 2. The lists are cut to the reach and, with quadrants, by turns.
//! 3. Values are added nearest first.
//!
//! Targets with too few neighbours may fall back on the nearest ones, however far. The kernel marks these targets, and
//! a second launch takes them alone.

use device_std::{Out, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::results::{Neighbours, Results, Values};
use super::turns::{by_turns, fewer, total};
use super::{Limits, Weights};
use crate::rtree::choice::{All, InEllipse, NONE};
use crate::rtree::descent::{Tree, squared};
use crate::rtree::few::Few;
use crate::rtree::group::Group;
use crate::rtree::list::{BLOCK, bytes_of_block, is_before};
use crate::rtree::patches::{Patches, Target};

/// The most neighbours of a target.
pub const MAX_LISTED: u32 = 64;

/// The most neighbours of each quadrant.
pub const MAX_OF_QUADRANT: u32 = MAX_LISTED / 4;

/// Interpolates over the nearest points of each target, in the plane. `too_few` has a word for each warp of the launch;
/// a bit of the word tells that the lane's target has too few neighbours. Without `too_few` these targets get no value.
/// An instance's name says how many points of a target it takes at most. `nearest` takes them from all points, and one
/// fewer if a point is left out; `part` from those in an ellipse; `quadrants` from each quadrant. Grid: a thread for
/// each target of the patches.
///
/// # Safety
/// The tree is complete and has points; the values are those of its points. The patches' columns have `count` elements,
/// and their order names as many. `wanted` and `too_few` have a word for each warp. Results have a row for each column
/// of values and statistic.
#[kernel(block = BLOCK, shared = <F as Finder>::SHARED, instances(
    nearest_8: <Nearest<8, 9>>, resident = 16, spills = 300;
    nearest_12: <Nearest<12, 13>>, resident = 16, spills = 300;
    nearest_16: <Nearest<16, 17>>, resident = 16, spills = 300;
    nearest_32: <Nearest<32, 33>>, resident = 8, spills = 200;
    nearest_64: <Nearest<64, 65>>, resident = 5, spills = 300;
    part_16: <InPart<16, 17, 1, 16>>, resident = 10, spills = 200;
    part_64: <InPart<64, 65, 1, 64>>;
    quadrants_4: <InPart<4, 5, 4, 16>>, resident = 10, spills = 240;
    quadrants_8: <InPart<8, 9, 4, 32>>, resident = 8, spills = 200;
    quadrants_16: <InPart<16, 17, 4, 64>>;
))]
pub unsafe fn interpolate_together<F: Finder>(
    tree: Tree<'_, f64>,
    patches: Patches<'_>,
    values: Values<'_>,
    weights: Weights<'_>,
    limits: Limits,
    results: Results<'_>,
    too_few: Option<Out<'_, u32>>,
) {
    let given = patches.target();
    let target = given.unwrap_or(Target { index: 0, place: [f64::NAN; 2] });
    let is_place = target.is_place();
    // SAFETY: the whole warp comes here; the rest is passed on to the caller.
    unsafe {
        let mut is_too_few = false;
        if let Some(group) = Group::new(target.place, is_place, tree.extent) {
            let found = F::find(&tree, &group, &target, is_place, &limits);
            is_too_few = is_place && too_few.is_some() && !found.are_enough();
            if is_place && !is_too_few {
                let mut search = limits.search();
                weights.weigh(&mut search, target.index);
                results.interpolate(&values, &search, target.index, &found);
            }
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
pub trait Finder {
    /// Bytes of shared memory of a block.
    const SHARED: u32;

    /// The neighbours of a lane's target.
    type Entries<'a>: Neighbours;

    /// Finds the neighbours of each lane's target that `is_place`.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the tree is whole and has points.
    unsafe fn find<'a>(
        tree: &'a Tree<'a, f64>,
        group: &Group,
        target: &Target,
        is_place: bool,
        limits: &Limits,
    ) -> Self::Entries<'a>;
}

/// At most the `K` nearest of all points; `L` is `K + 1`.
pub struct Nearest<const K: usize, const L: usize>;

impl<const K: usize, const L: usize> Finder for Nearest<K, L> {
    const SHARED: u32 = bytes_of_block::<K>();

    type Entries<'a> = Entries<'a, K, L, 1, K>;

    #[inline(always)]
    unsafe fn find<'a>(
        tree: &'a Tree<'a, f64>,
        group: &Group,
        target: &Target,
        is_place: bool,
        limits: &Limits,
    ) -> Entries<'a, K, L, 1, K> {
        // One more, in case it is the one to leave out.
        let most = limits.max_points + u32::from(limits.leaves_out != 0);
        let except = if limits.leaves_out != 0 { target.index as u32 } else { NONE };
        let mut lists = Few::new(target.place, if is_place { most } else { 0 });
        // SAFETY: passed on to the caller.
        unsafe {
            lists.find(tree, group, &All, group.bound_of(limits.reach * limits.reach));
            Entries::new(tree, lists, limits, except)
        }
    }
}

/// At most the `K` nearest points of an ellipse, of all or of each quadrant, without one point that is left out.
pub struct InPart<const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize>;

impl<const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize> Finder
    for InPart<K, L, LISTS, SLOTS>
{
    const SHARED: u32 = bytes_of_block::<SLOTS>();

    type Entries<'a> = Entries<'a, K, L, LISTS, SLOTS>;

    #[inline(always)]
    unsafe fn find<'a>(
        tree: &'a Tree<'a, f64>,
        group: &Group,
        target: &Target,
        is_place: bool,
        limits: &Limits,
    ) -> Entries<'a, K, L, LISTS, SLOTS> {
        let most = if is_place { limits.of_list() } else { 0 };
        let part = InEllipse {
            place: target.place,
            ellipse: limits.ellipse,
            extent: limits.extent.map(|along| group.reach_along(along)),
            except: if limits.leaves_out != 0 { target.index as u32 } else { NONE },
        };
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
pub struct Entries<'a, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize> {
    tree: &'a Tree<'a, f64>,
    lists: Few<K, L, LISTS, SLOTS>,
    /// How many entries of each list count.
    taken: [u32; 4],
    /// The index of a point that does not count, or [`NONE`].
    except: u32,
    are_enough: bool,
}

impl<'a, const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize>
    Entries<'a, K, L, LISTS, SLOTS>
{
    /// Takes the neighbours within reach. A point can be left out only if there is one list.
    ///
    /// # Safety
    /// The lists are those of a search in this tree.
    #[inline(always)]
    unsafe fn new(
        tree: &'a Tree<'a, f64>,
        lists: Few<K, L, LISTS, SLOTS>,
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

impl<const K: usize, const L: usize, const LISTS: usize, const SLOTS: usize> Neighbours
    for Entries<'_, K, L, LISTS, SLOTS>
{
    #[inline(always)]
    fn are_enough(&self) -> bool {
        self.are_enough
    }

    /// Merges the lists.
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
