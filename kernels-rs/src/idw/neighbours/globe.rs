//! Neighbours on the globe: the search of [`warp_search`](super::warp_search) among unit vectors.

use device_std::{Out, kernel};

use super::Limits;
use super::many::Many;
use super::results::{Results, Values};
use super::warp_search::{Finder, Nearest, Part, except, interpolate};
use super::weighing::Weights;
use crate::rtree::choice::OnGlobe;
use crate::rtree::descent::Tree;
use crate::rtree::group::Group;
use crate::rtree::list::BLOCK;
use crate::rtree::patches::{Patches, Target};
use crate::spatial::place::Bounds;

/// As [`interpolate_in_plane`](mod@super::plane::interpolate_in_plane), on the globe: places are unit vectors. An
/// instance's name says how many points of a target it takes at most, one fewer if a point is left out. `many` takes any
/// number, of all or of each quadrant.
///
/// # Safety
/// As for `interpolate_in_plane`, with a z of all places.
#[kernel(block = BLOCK, shared = <F as Finder<3>>::SHARED, instances(
    nearest_12: <Nearest<12, 13>>, resident = 16, spills = 400;
    nearest_32: <Nearest<32, 33>>, resident = 10, spills = 400;
    nearest_64: <Nearest<64, 65>>, resident = 5, spills = 300;
    many: <Many<OnGlobe>>;
))]
pub unsafe fn interpolate_on_globe<F: Finder<3>>(
    tree: Tree<'_, f64, 3>,
    patches: Patches<'_>,
    values: Values<'_>,
    weights: Weights<'_>,
    limits: Limits,
    results: Results<'_>,
    too_few: Option<Out<'_, u32>>,
) {
    // SAFETY: passed on to the caller.
    unsafe { interpolate::<F, 3>(&tree, &patches, &values, &weights, &limits, &results, too_few) }
}

impl Part<3> for OnGlobe {
    #[inline(always)]
    fn of(target: &Target<3>, _: &Group<3>, limits: &Limits) -> Self {
        Self { place: target.place, except: except(target, limits) }
    }

    #[inline(always)]
    fn list_of_box(&self, _: &Group<3>, _: Bounds<f32, 3>, by_quadrants: bool) -> u32 {
        if by_quadrants { 4 } else { 0 }
    }
}

device_std::ptx_module! { "idw_globe" }
