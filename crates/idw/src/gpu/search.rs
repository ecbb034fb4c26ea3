//! Neighbours: the kernels that a search takes, and their arguments.

use device_std::warp::SIZE;
use gpu_core::{Blocks, Column};
use kernels_rs::idw::neighbours::interpolate;
use kernels_rs::idw::neighbours::patches::threads_of_grid;
use kernels_rs::idw::neighbours::ranked::{MOST_OF_QUADRANT, MOST_RANKED};
use kernels_rs::idw::neighbours::together::{TEAM, interpolate_together};
use kernels_rs::idw::statistic;

use super::number::{DeviceNumber, Kept};
use super::{Call, Workspace};
use crate::ground::RADIUS;
use crate::search::Search;
use crate::{Below, Result};

/// Points of a query, on average, up to which queries side by side are searched together.
const POINTS_OF_QUERY: u64 = 8;

/// Scattered queries from which on it pays to sort them.
const LEAST_SORTED: u64 = 4096;

/// The queries that a search for 32 at a time left.
struct Left {
    threads: u64,
    /// A bit for each thread.
    words: Column<u32>,
    /// The order in which threads have the queries, unless they are a grid's.
    order: Option<Column<u32>>,
}

impl Left {
    fn threads(&self) -> u64 {
        self.threads
    }

    fn order(&self) -> *const u32 {
        self.order.as_ref().map_or(std::ptr::null(), Column::as_ptr)
    }
}

impl Call<'_> {
    /// The values of all queries from their neighbours, and statistics of those; `exponents`, where each
    /// query has a power of its own. Enqueues and returns.
    pub(super) fn search<T: DeviceNumber>(
        &self,
        workspace: &mut Workspace,
        exponents: Option<&Column<f64>>,
    ) -> Result<(Column<T>, Option<Column<T>>)> {
        let about = &self.index.about;
        let count = self.queries.count as usize;
        // SAFETY: every value of every query, and every statistic, is written, but for the columns that
        // only fill up.
        let (mut values, mut statistics) = unsafe {
            let values = self.gpu.uninitialized::<T>(about.padded() * count)?;
            let statistics = match self.params.statistics {
                true => Some(self.gpu.uninitialized::<T>(statistic::ALL * count)?),
                false => None,
            };
            (values, statistics)
        };
        let search = Search::of(self.params);
        let kernel = T::neighbours(self.kept(&search));
        let left =
            self.search_together(workspace, &search, exponents, &mut values, statistics.as_mut())?;
        let threads = left.as_ref().map_or(self.queries.count, Left::threads);
        let arguments =
            self.arguments(&search, left.as_ref(), exponents, &mut values, statistics.as_mut())?;
        // SAFETY: the index's columns and the queries' have the lengths that the kernel needs, and so has what
        // was left.
        unsafe {
            let blocks = Blocks::for_each(&kernel, threads)?;
            self.gpu.enqueue(kernel, blocks, arguments)?;
        }
        Ok((values, statistics))
    }

    /// What the kernels keep of each query in a list; on the sphere quadrants have none.
    fn kept(&self, search: &Search) -> Kept {
        let wanted = search.max_points.min(search.max_per_quadrant).max(search.min_per_quadrant);
        // What a query falls back on must fit as well.
        let is_short = search.fallback() <= MOST_RANKED;
        match search.quadrants {
            false if is_short && wanted <= MOST_RANKED => Kept::Nearest(wanted),
            true if is_short && wanted <= MOST_OF_QUADRANT && !self.params.geographic => {
                Kept::OfQuadrants(wanted)
            }
            _ => Kept::Nothing,
        }
    }

    /// Searches for 32 queries at a time, side by side, and gives what is left; `None` where it does nothing,
    /// since queries side by side have few points in common, or too many are wanted.
    fn search_together<T: DeviceNumber>(
        &self,
        workspace: &mut Workspace,
        search: &Search,
        exponents: Option<&Column<f64>>,
        values: &mut Column<T>,
        statistics: Option<&mut Column<T>>,
    ) -> Result<Option<Left>> {
        let &Self { index, queries, params, .. } = self;
        let is_dense = queries.count * POINTS_OF_QUERY >= index.len() as u64;
        let kernel = T::together(match self.kept(search) {
            // Shorter lists are for circles.
            Kept::Nearest(wanted) if search.ellipse.is_some() => Kept::Nearest(wanted.max(16)),
            kept => kept,
        });
        let (true, false, Some(kernel)) = (is_dense, index.about.ground.geographic, kernel) else {
            return Ok(None);
        };
        let order = match queries.grid {
            Some(_) => None,
            None if queries.count < LEAST_SORTED => return Ok(None),
            None => Some(queries.order_along_curve(workspace)?),
        };
        let threads = match queries.grid {
            Some(grid) => threads_of_grid(grid.width, grid.height),
            None => queries.count,
        };
        let (about, sorted) = (&index.about, index.searched()?);
        // SAFETY: the columns have the lengths that the kernel needs; it writes a word for each of its warps.
        unsafe {
            let blocks = Blocks::for_each(&kernel, threads)?;
            let words = threads.next_multiple_of(TEAM.into()) / u64::from(SIZE);
            let mut left = Left { threads, words: self.gpu.uninitialized(words as usize)?, order };
            let arguments = interpolate_together::Args {
                plan: index.plan.as_ptr(),
                starts: sorted.starts.as_ptr(),
                order: sorted.order.as_ptr(),
                places: sorted.places.as_ptr(),
                point_values: sorted.values.as_ptr(),
                ranges: index.ranges.as_ptr(),
                points: index.len() as u32,
                x: queries.x,
                y: queries.y,
                target_order: left.order(),
                count: queries.count,
                width: queries.width(),
                grid: queries.grid_numbers(),
                law: params.law(),
                smoothing: params.smoothing * params.smoothing,
                exponent: -0.5 * params.power,
                exponents: exponents.map_or(std::ptr::null(), Column::as_ptr),
                reach: search.reach,
                extent: search.extent,
                ellipse: search.ellipse.map_or([0.0; 3], |e| [e.xx, e.xy, e.yy]),
                leaves_out: u32::from(self.leave_out),
                max_points: search.max_points,
                min_points: search.min_points,
                max_per_quadrant: search.max_per_quadrant,
                min_per_quadrant: search.min_per_quadrant,
                falls_back: u32::from(search.below == Below::Nearest),
                value_count: about.ranges.len() as u32,
                values: values.as_mut_ptr(),
                statistics: statistics.map_or(std::ptr::null_mut(), Column::as_mut_ptr),
                left: left.words.as_mut_ptr(),
            };
            self.gpu.enqueue(kernel, blocks, arguments)?;
            Ok(Some(left))
        }
    }

    fn arguments<T: DeviceNumber>(
        &self,
        search: &Search,
        left: Option<&Left>,
        exponents: Option<&Column<f64>>,
        values: &mut Column<T>,
        statistics: Option<&mut Column<T>>,
    ) -> Result<interpolate::Args<T>> {
        let &Self { index, queries, params, .. } = self;
        let (about, sorted) = (&index.about, index.searched()?);
        Ok(interpolate::Args {
            plan: index.plan.as_ptr(),
            starts: sorted.starts.as_ptr(),
            order: sorted.order.as_ptr(),
            places: sorted.places.as_ptr(),
            point_values: sorted.values.as_ptr(),
            ranges: index.ranges.as_ptr(),
            points: index.len() as u32,
            x: queries.x,
            y: queries.y,
            vectors: queries.vectors,
            left: left.map_or(std::ptr::null(), |left| left.words.as_ptr()),
            target_order: left.map_or(std::ptr::null(), Left::order),
            count: queries.count,
            width: queries.width(),
            grid: queries.grid_numbers(),
            law: params.law(),
            smoothing: params.smoothing * params.smoothing,
            exponent: -0.5 * params.power,
            exponents: exponents.map_or(std::ptr::null(), Column::as_ptr),
            sphere: if about.ground.geographic { RADIUS } else { 0.0 },
            reach: [search.reach, search.arc],
            extent: search.extent,
            ellipse: search.ellipse.map_or([0.0; 3], |e| [e.xx, e.xy, e.yy]),
            leaves_out: u32::from(self.leave_out),
            by_quadrants: u32::from(search.quadrants),
            max_points: search.max_points,
            min_points: search.min_points,
            max_per_quadrant: search.max_per_quadrant,
            min_per_quadrant: search.min_per_quadrant,
            falls_back: u32::from(search.below == Below::Nearest),
            value_count: about.ranges.len() as u32,
            values: values.as_mut_ptr(),
            statistics: statistics.map_or(std::ptr::null_mut(), Column::as_mut_ptr),
        })
    }
}

#[cfg(test)]
mod tests {
    use gpu_core::{DevicePoints, Extent, GridSpec};

    use super::*;
    use crate::Params;
    use crate::gpu::{DeviceTargets, Index, Queries};

    /// How many queries of a search are left to the slower kernel.
    fn left(params: &Params) -> u32 {
        let gpu = testing::gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let mut random = testing::Random::new(91);
        let mut along = || (0..3000).map(|_| random.unit() * 100.0).collect::<Vec<f64>>();
        let cloud = testing::Cloud { x: along(), y: along(), z: along() };
        let [x, y, z] = [&cloud.x, &cloud.y, &cloud.z].map(|column| gpu.upload(column).unwrap());
        let extent = cloud.with(|points| Extent::of(&points)).unwrap();
        let points = DevicePoints::new(&x, &y, [(&z).into()], extent).unwrap();
        let index = Index::new(&mut workspace, &points, params).unwrap();
        let grid = GridSpec::new(10.0, 90.0, 2.0, 40, 40).unwrap();
        let queries = Queries::new(&gpu, DeviceTargets::Grid(grid), false).unwrap();
        let call = Call { gpu: &gpu, index: &index, queries: &queries, params, leave_out: false };
        let mut values = gpu.upload(&[0f64; 1600]).unwrap();
        let search = Search::of(params);
        let left = call.search_together(&mut workspace, &search, None, &mut values, None).unwrap();
        let words = left.expect("a search together").words.to_host().unwrap();
        words.iter().map(|word| word.count_ones()).sum()
    }

    #[test]
    fn nearly_all_queries_are_answered_together() {
        let quadrants = |most| Params::default().max_points_per_quadrant(most);
        let nearest = [1, 8, 12, 16, 24, 32, 48, 64].map(Params::nearest);
        let ellipse = Params::nearest(12).radius1(12.0).radius2(3.0).angle(30.0);
        let others = [ellipse, ellipse.max_points(40), Params::nearest(12).radius(4.0)];
        let all = nearest.into_iter().chain(others).chain([1, 3, 8, 16].map(quadrants));
        for params in all {
            let left = left(&params);
            assert!(left <= 16, "{left} of 1600 are left: {params:?}");
        }
        // Hundreds of neighbours within reach are not kept in lists of twelve, but they are not wanted either.
        assert_eq!(left(&Params::nearest(12).radius(40.0)), left(&Params::nearest(12)));
    }
}
