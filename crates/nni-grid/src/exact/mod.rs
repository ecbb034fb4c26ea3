//! The exact method: what CPU and GPU share.
//!
//! The plan, and the geometry, are in `kernels_rs::nni::exact`.

pub(crate) mod cpu;
pub(crate) mod dependence;
#[cfg(feature = "cuda")]
pub(crate) mod gpu;
mod stars;

use delaunay_stars::Scale;
use kernels_rs::nni::exact::scene::Scene;
use kernels_rs::nni::exact::weights::{LAPLACE, LINEAR, SIBSON, SMOOTH};
use kernels_rs::nni::policies::{FILL_NEAREST, FILL_NOT, FILL_VALUE};
use kernels_rs::stars::predicates::Predicates;

use crate::params::OnGrid;
use crate::{Duplicates, Fill, Weights};

/// Collects what the queries need to know of the DEM.
fn scene_of(params: &OnGrid, scale: Scale, predicates: Predicates) -> Scene {
    let grid = params.grid;
    let scaled = |length: f64| scale.apply(length);
    let cell_size = scaled(grid.cell_size);
    let reach = params.max_distance * cell_size;
    let (fill, fill_value) = match params.fill {
        Fill::Nodata => (FILL_NOT, 0.0),
        Fill::Nearest => (FILL_NEAREST, 0.0),
        Fill::Value(value) => (FILL_VALUE, value),
    };
    Scene {
        origin: [scaled(grid.origin_x), scaled(grid.origin_y)],
        cell_size,
        columns: grid.width,
        rows: grid.height,
        unit: predicates.unit(),
        max_squared: reach * reach,
        weights: match params.weights {
            Weights::Sibson => SIBSON,
            Weights::Laplace => LAPLACE,
            Weights::SibsonC1 => SMOOTH,
            Weights::Linear => LINEAR,
        },
        within_hull: params.hull.into(),
        fill,
        fill_value,
        has_distances: params.distances.into(),
    }
}

/// The kernels' number of a policy.
pub(crate) fn policy_of(duplicates: Duplicates) -> u32 {
    use kernels_rs::nni::policies::{FIRST, LAST, MAX, MEAN, MIN};
    match duplicates {
        Duplicates::Mean => MEAN,
        Duplicates::Min => MIN,
        Duplicates::Max => MAX,
        Duplicates::First => FIRST,
        Duplicates::Last => LAST,
    }
}
