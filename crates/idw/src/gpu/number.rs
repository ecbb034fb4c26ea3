//! The kernels of each type of result, and of each number of neighbours.

use device_std::Out;
use device_std::host::Kernel;
use gpu_core::{Column, Element};
use kernels_rs::idw::index::scatter_values;
use kernels_rs::idw::neighbours::interpolate;
use kernels_rs::idw::neighbours::nearest::MAX_KEPT;
use kernels_rs::idw::neighbours::ranked::MAX_RANKED;
use kernels_rs::idw::neighbours::warp_search::{MAX_LISTED, MAX_OF_QUADRANT, interpolate_together};
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

    /// Whether the tree of the points is searched, rather than their cells.
    pub fn is_in_tree(self, params: &Params) -> bool {
        !params.geographic && self != Self::Nothing
    }

    /// The kernel that searches the cells.
    pub fn by_cells<'a>(self) -> Kernel<interpolate::Args<'a>> {
        match self {
            Self::Nearest(0..=8) => interpolate::nearest_8,
            Self::Nearest(9..=MAX_KEPT) => interpolate::nearest_24,
            Self::Nearest(..=MAX_RANKED) => interpolate::nearest_64,
            _ => interpolate::any,
        }
    }

    /// Returns the kernel that searches the tree: `in_part` if not all points count, `one_more` if the target leaves
    /// out one of the points found.
    pub fn together<'a>(
        self,
        in_part: bool,
        one_more: bool,
    ) -> Kernel<interpolate_together::Args<'a>> {
        match self {
            Self::Nearest(0..=16) if in_part => interpolate_together::part_16,
            Self::Nearest(_) if in_part => interpolate_together::part_64,
            Self::Nearest(wanted) => match wanted + u32::from(one_more) {
                0..=8 => interpolate_together::nearest_8,
                9..=12 => interpolate_together::nearest_12,
                13..=16 => interpolate_together::nearest_16,
                17..=32 => interpolate_together::nearest_32,
                33..=MAX_LISTED => interpolate_together::nearest_64,
                _ => interpolate_together::part_64,
            },
            Self::OfQuadrants(0..=4) => interpolate_together::quadrants_4,
            Self::OfQuadrants(5..=8) => interpolate_together::quadrants_8,
            _ => interpolate_together::quadrants_16,
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
