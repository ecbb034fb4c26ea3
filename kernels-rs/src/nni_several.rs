//! Natural neighbour interpolation of several values of a point in one pass: see [`nni`](crate::nni).

mod two {
    #[cfg(not(target_arch = "nvptx64"))]
    use super::MODULE;
    use crate::nni::kernels::*;

    kernels_of! {
        TWO, 2, 2:
        accumulate_points_2, resolve_sites_2, query_spans_2, query_listed_2, estimate_gradients_2,
        query_weighted_2;
        query_near_1_36_2: 1, 36, 32, 3;
        query_near_1_100_2: 1, 100, 16, 4;
        query_near_2_64_2: 2, 64, 16, 4;
        query_near_2_144_2: 2, 144, 8, 4;
    }
}

mod four {
    #[cfg(not(target_arch = "nvptx64"))]
    use super::MODULE;
    use crate::nni::kernels::*;

    kernels_of! {
        FOUR, 4, 2:
        accumulate_points_4, resolve_sites_4, query_spans_4, query_listed_4, estimate_gradients_4,
        query_weighted_4;
        query_near_1_36_4: 1, 36, 16, 3;
        query_near_1_100_4: 1, 100, 8, 4;
        query_near_2_64_4: 2, 64, 8, 4;
    }
}

pub use four::*;
pub use two::*;

device_std::ptx_module! {
    "nni_several": accumulate_points_2, resolve_sites_2, query_spans_2, query_listed_2,
        estimate_gradients_2, query_weighted_2, query_near_1_36_2, query_near_1_100_2,
        query_near_2_64_2, query_near_2_144_2, accumulate_points_4, resolve_sites_4, query_spans_4,
        query_listed_4, estimate_gradients_4, query_weighted_4, query_near_1_36_4,
        query_near_1_100_4, query_near_2_64_4
}
