//! The neighbours of targets: a warp takes 32 that lie side by side, as [`rtree`](crate::rtree) says.

use device_std::{Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::arguments::TargetPart;
use crate::rtree::Tree;
use crate::rtree::choice::{self, All, Choice};
use crate::rtree::few::Few;
use crate::rtree::group::Group;
use crate::rtree::layout::NONE;
use crate::rtree::list::{BLOCK, bytes_of_block};
use crate::rtree::patches::Target;

/// The most neighbours of a target.
pub const MAX_NEIGHBOURS: u32 = 64;

/// Writes the positions of the nearest points of each target of a part, at most `most`, within `reach`. Entry `i` of target
/// `t` is element `i * targets + t`; beyond the last one stands [`NONE`]. An instance takes up to as many as its name says;
/// `others` leaves out the point that has the target's index in the order of the tree. Grid: a thread for each of `targets`.
///
/// # Safety
/// The tree is whole, and has points. The targets' columns have what [`Patches`](crate::rtree::patches::Patches) says;
/// `targets` is a multiple of the block; `positions` has `most` for each. With `others` the targets are the tree's points.
#[kernel(block = BLOCK, shared = bytes_of_block::<K, 2>(), key: [usize; 2] = [<N as Neighbourhood>::LEAVES_OUT, K],
instances(
    all_8: <Everybody, 8, 9>, resident = 16, spills = 300;
    all_12: <Everybody, 12, 13>, resident = 16, spills = 300;
    all_16: <Everybody, 16, 17>, resident = 16, spills = 300;
    all_32: <Everybody, 32, 33>, resident = 8, spills = 200;
    all_64: <Everybody, 64, 65>, resident = 5, spills = 200;
    others_16: <Others, 16, 17>, resident = 10;
    others_64: <Others, 64, 65>;
))]
pub unsafe fn find_neighbours<N: Neighbourhood, const K: usize, const L: usize>(
    tree: Tree<'_, f64>,
    part: TargetPart<'_>,
    targets: u32,
    most: u32,
    reach: f64,
    positions: Out<'_, u32>,
) {
    let number = thread::index_1d();
    let target = part.target(number).unwrap_or(Target { index: 0, place: [f64::NAN; 2] });
    let is_place = target.is_place();
    let mut few = Few::<K, L, 1, K>::new(target.place, if is_place { most } else { 0 });
    let mut count = 0;
    // SAFETY: the whole warp comes here; entries below the count were written; the rest is passed on to the caller.
    unsafe {
        if let Some(group) = Group::new(target.place, is_place, tree.extent) {
            few.find(&tree, &group, &N::choice(&tree, &target), group.bound_of(reach * reach));
            let list = few.list(0);
            count = list.count;
            let squared = reach * reach;
            while count > 0 && tree.squared(list.position(count - 1), target.place) > squared {
                count -= 1;
            }
        }
        let mut i = 0;
        while i < most {
            let position = if i < count { few.list(0).position(i) } else { NONE };
            positions.set(i as u64 * targets as u64 + number, position);
            i += 1;
        }
    }
}

/// Which points count for a target.
pub trait Neighbourhood {
    /// 1 where a target's own point does not, else 0.
    const LEAVES_OUT: usize;

    /// The points that count for a target, as the search tests them.
    type Choice: Choice<1>;

    /// The choice of a target.
    fn choice(tree: &Tree<'_, f64>, target: &Target) -> Self::Choice;
}

/// All points.
pub struct Everybody;

impl Neighbourhood for Everybody {
    const LEAVES_OUT: usize = 0;
    type Choice = All;

    #[inline(always)]
    fn choice(_: &Tree<'_, f64>, _: &Target) -> All {
        All
    }
}

/// All but the target's own.
pub struct Others;

impl Neighbourhood for Others {
    const LEAVES_OUT: usize = 1;
    type Choice = choice::InEllipse;

    #[inline(always)]
    fn choice(tree: &Tree<'_, f64>, target: &Target) -> choice::InEllipse {
        let (place, except) = (target.place, tree.order.get(target.index));
        choice::InEllipse { place, ellipse: [0.0; 3], extent: [f32::INFINITY; 2], except }
    }
}
