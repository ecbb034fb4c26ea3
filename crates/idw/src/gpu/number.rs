//! The kernels of each type of result, and of each number of neighbours.

use device_std::Out;
use device_std::host::Kernel;
use gpu_core::{Column, Element};
use kernels_rs::idw::index::scatter_values;
use kernels_rs::idw::neighbours::globe::interpolate_on_globe;
use kernels_rs::idw::neighbours::plane::{MAX_OF_QUADRANT, interpolate_in_plane};
use kernels_rs::idw::neighbours::warp_search::MAX_LISTED;
use kernels_rs::idw::pairs::combine::combine;
use kernels_rs::idw::pairs::rescue::rescue;
use kernels_rs::idw::pairs::total::{add_part, write_means};

use crate::Params;
use crate::search::Search;

/// The kernels of a type of results.
pub trait Kernels: Element {
    /// Computes results from sums over all points.
    const COMBINE: Kernel<combine::Args<'static, Self>>;
    /// Brings results of targets along a curve into the targets' own order.
    const SCATTER: Kernel<scatter_values::Args<'static, Self>>;
    /// Computes results anew.
    const RESCUE: Kernel<rescue::Args<'static, Self>>;
    /// Adds the means of a part to the total.
    const ADD_PART: Kernel<add_part::Args<'static, Self>>;
    /// Writes means over several parts as results.
    const WRITE_MEANS: Kernel<write_means::Args<'static, Self>>;
    /// A column of results as an argument of kernels, by its type.
    fn results(column: &mut Column<Self>) -> OfType<'_>;
}

/// A column of results: in f32, or in f64.
pub type OfType<'a> = (Option<Out<'a, f32>>, Option<Out<'a, f64>>);

/// The list that a search keeps for each target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListKind {
    /// The nearest points, this many.
    Nearest(u32),
    /// The nearest points of each quadrant, this many.
    OfQuadrants(u32),
    /// No list: there are too many points.
    Nothing,
}

impl ListKind {
    /// Returns the kind of list that a search needs; on the sphere, searches by quadrants have no list.
    pub fn of(params: &Params) -> Self {
        let search = Search::of(params);
        let wanted = search.max_points.min(search.max_per_quadrant).max(search.min_per_quadrant);
        // What a target falls back on must fit as well.
        let is_short = search.fallback() <= MAX_LISTED;
        match search.quadrants {
            false if is_short && wanted <= MAX_LISTED => Self::Nearest(wanted),
            true if is_short && wanted <= MAX_OF_QUADRANT && !params.geographic => {
                Self::OfQuadrants(wanted)
            }
            _ => Self::Nothing,
        }
    }

    /// The list of the nearest points of all.
    pub fn of_nearest(count: u32) -> Self {
        if count <= MAX_LISTED { Self::Nearest(count) } else { Self::Nothing }
    }

    /// Returns the kernel for the globe; `one_more` if the target leaves out one of the points found.
    pub fn on_globe<'a>(self, one_more: bool) -> Kernel<interpolate_on_globe::Args<'a>> {
        match self {
            Self::Nearest(wanted) => match wanted + u32::from(one_more) {
                0..=12 => interpolate_on_globe::nearest_12,
                13..=32 => interpolate_on_globe::nearest_32,
                33..=MAX_LISTED => interpolate_on_globe::nearest_64,
                _ => interpolate_on_globe::many,
            },
            _ => interpolate_on_globe::many,
        }
    }

    /// Returns the kernel for the plane: `in_part` if not all points count, `one_more` if the target leaves out one of the
    /// points found.
    pub fn in_plane<'a>(
        self,
        in_part: bool,
        one_more: bool,
    ) -> Kernel<interpolate_in_plane::Args<'a>> {
        match self {
            Self::Nothing => interpolate_in_plane::many,
            Self::Nearest(0..=16) if in_part => interpolate_in_plane::part_16,
            Self::Nearest(_) if in_part => interpolate_in_plane::part_64,
            Self::Nearest(wanted) => match wanted + u32::from(one_more) {
                0..=8 => interpolate_in_plane::nearest_8,
                9..=12 => interpolate_in_plane::nearest_12,
                13..=16 => interpolate_in_plane::nearest_16,
                17..=32 => interpolate_in_plane::nearest_32,
                33..=MAX_LISTED => interpolate_in_plane::nearest_64,
                _ => interpolate_in_plane::part_64,
            },
            Self::OfQuadrants(0..=4) => interpolate_in_plane::quadrants_4,
            Self::OfQuadrants(5..=8) => interpolate_in_plane::quadrants_8,
            Self::OfQuadrants(_) => interpolate_in_plane::quadrants_16,
        }
    }
}

impl Kernels for f32 {
    const COMBINE: Kernel<combine::Args<'static, Self>> = combine::f32;
    const SCATTER: Kernel<scatter_values::Args<'static, Self>> = scatter_values::f32;
    const RESCUE: Kernel<rescue::Args<'static, Self>> = rescue::f32;
    const ADD_PART: Kernel<add_part::Args<'static, Self>> = add_part::f32;
    const WRITE_MEANS: Kernel<write_means::Args<'static, Self>> = write_means::f32;

    fn results(column: &mut Column<Self>) -> OfType<'_> {
        (Some(column.output()), None)
    }
}

impl Kernels for f64 {
    const COMBINE: Kernel<combine::Args<'static, Self>> = combine::f64;
    const SCATTER: Kernel<scatter_values::Args<'static, Self>> = scatter_values::f64;
    const RESCUE: Kernel<rescue::Args<'static, Self>> = rescue::f64;
    const ADD_PART: Kernel<add_part::Args<'static, Self>> = add_part::f64;
    const WRITE_MEANS: Kernel<write_means::Args<'static, Self>> = write_means::f64;

    fn results(column: &mut Column<Self>) -> OfType<'_> {
        (None, Some(column.output()))
    }
}
