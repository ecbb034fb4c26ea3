//! Neighbours in the plane: the search of [`warp_search`](super::warp_search) among all points, or those of an ellipse.

use device_std::{Out, kernel};

use super::Limits;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::many::Many;
use super::results::{Results, Values};
use super::warp_search::{Finder, InPart, MAX_LISTED, Nearest, Part, except, interpolate};
use super::weighing::Weights;
use crate::rtree::choice::InEllipse;
use crate::rtree::descent::Tree;
use crate::rtree::group::Group;
use crate::rtree::list::BLOCK;
use crate::rtree::patches::{Patches, Target};
use crate::spatial::place::Bounds;

/// The most neighbours of each quadrant in lists.
pub const MAX_OF_QUADRANT: u32 = MAX_LISTED / 4;

/// Interpolates over the nearest points of each target, in the plane. `too_few` has a word for each warp of the launch;
/// a bit of the word tells that the lane's target has too few neighbours. Without `too_few` these targets get no value.
/// An instance's name says how many points of a target it takes at most. `nearest` takes them from all points, and one
/// fewer if a point is left out; `part` from those in an ellipse; `quadrants` from each quadrant. `many` takes any number
/// of any of these. Grid: a thread for each target of the patches.
///
/// # Safety
/// The tree is complete and has points; the values are those of its points. The patches' columns have `count` elements,
/// and their order names as many. `wanted` and `too_few` have a word for each warp. Results have a row for each column
/// of values and statistic.
#[kernel(block = BLOCK, shared = <F as Finder<2>>::SHARED, instances(
    nearest_8: <Nearest<8, 9>>, resident = 18, spills = 350;
    nearest_12: <Nearest<12, 13>>, resident = 16, spills = 300;
    nearest_16: <Nearest<16, 17>>, resident = 16, spills = 350;
    nearest_32: <Nearest<32, 33>>, resident = 10, spills = 300;
    nearest_64: <Nearest<64, 65>>, resident = 5, spills = 300;
    part_16: <InPart<InEllipse, 16, 17, 1, 16>>, resident = 16, spills = 350;
    part_64: <InPart<InEllipse, 64, 65, 1, 64>>;
    quadrants_4: <InPart<InEllipse, 4, 5, 4, 16>>, resident = 16, spills = 1200;
    quadrants_8: <InPart<InEllipse, 8, 9, 4, 32>>, resident = 8, spills = 200;
    quadrants_16: <InPart<InEllipse, 16, 17, 4, 64>>;
    many: <Many<InEllipse>>;
))]
pub unsafe fn interpolate_in_plane<F: Finder<2>>(
    tree: Tree<'_, f64>,
    patches: Patches<'_>,
    values: Values<'_>,
    weights: Weights<'_>,
    limits: Limits,
    results: Results<'_>,
    too_few: Option<Out<'_, u32>>,
) {
    // SAFETY: passed on to the caller.
    unsafe { interpolate::<F, 2>(&tree, &patches, &values, &weights, &limits, &results, too_few) }
}

impl Part<2> for InEllipse {
    #[inline(always)]
    fn of(target: &Target, group: &Group, limits: &Limits) -> Self {
        Self {
            place: target.place,
            ellipse: limits.ellipse,
            extent: limits.extent.map(|along| group.reach_along(along)),
            except: except(target, limits),
        }
    }

    #[inline(always)]
    fn list_of_box(&self, group: &Group, bounds: Bounds<f32, 2>, by_quadrants: bool) -> u32 {
        if self.ellipse[0] > 0.0 {
            return 4;
        }
        if !by_quadrants {
            return 0;
        }
        let [least, greatest] = bounds;
        let (mut list, mut axis) = (0, 0);
        while axis < 2 {
            if least[axis] >= group.place[axis] {
                list |= 1 << axis;
            } else if greatest[axis] >= group.place[axis] {
                return 4;
            }
            axis += 1;
        }
        list
    }
}
